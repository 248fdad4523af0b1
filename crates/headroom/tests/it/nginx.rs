//! nginx with each kind of listener that tests need. Its access log shows independently what was sent.

use crate::certificates::Certificates;
use crate::peers::peer;
use crate::programs::{Server, free_addresses};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

/// A running nginx.
pub struct Nginx {
    pub certificates: Certificates,
    /// HTTP/1.1 in clear text.
    pub plain: SocketAddr,
    /// TLS, with HTTP/2 if the client asks for it.
    pub tls: SocketAddr,
    /// TLS without HTTP/2, only for clients with a certificate.
    pub clients: SocketAddr,
    /// TLS with a certificate that has expired.
    pub expired: SocketAddr,
    /// TLS with the certificate of somebody else.
    pub other: SocketAddr,
    _server: Server,
}

impl Nginx {
    /// Starts it; `None`, said out loud, where nginx or openssl is missing.
    pub fn start() -> Option<Self> {
        let nginx = peer("nginx")?;
        let certificates = Certificates::make()?;
        let [plain, tls, clients, expired, other] = free_addresses();
        let secure = |address: SocketAddr, more: &str, certificate: &str| {
            format!(
                "server {{ listen {address} ssl{more}; ssl_certificate {certificate}.pem; \
                 ssl_certificate_key {certificate}.key; ssl_protocols TLSv1.2 TLSv1.3; include answer; }}\n"
            )
        };
        let folder = certificates.folder();
        let servers = [
            format!(
                "server {{ listen {plain}; listen unix:{}; include answer; }}\n",
                folder.join("socket").display()
            ),
            secure(tls, " http2", "good"),
            secure(clients, "", "good")
                .replace("include", "ssl_verify_client on; ssl_client_certificate ca.pem; include"),
            secure(expired, "", "expired"),
            secure(other, "", "other"),
        ];
        let answer = "location / { default_type text/plain; return 200 \"hello\\n\"; }\n\
                      location = /moved { return 302 /moved; }\n";
        std::fs::write(folder.join("answer"), answer).unwrap();
        let configuration = CONFIGURATION.replace("SERVERS", &servers.concat());
        std::fs::write(folder.join("nginx.conf"), configuration).unwrap();
        let mut command = Command::new(nginx);
        command.arg("-p").arg(folder).args(["-e", "error.log", "-c", "nginx.conf"]);
        let _server = Server::start(command, plain);
        Some(Nginx { certificates, plain, tls, clients, expired, other, _server })
    }

    /// The socket in the file system that leads to the same as `plain`.
    pub fn unix_socket(&self) -> PathBuf {
        self.certificates.file("socket")
    }

    /// How many requests nginx answered on a port since the last call, by HTTP version, TLS version (- without) and
    /// status; waits a moment for `expected` of them, since they are written after the answers.
    pub fn answered(&self, at: SocketAddr, expected: u64) -> BTreeMap<String, u64> {
        let (log, port) = (self.certificates.file("access.log"), at.port().to_string());
        let begun = Instant::now();
        loop {
            let text = std::fs::read_to_string(&log).unwrap_or_default();
            let mut counts = BTreeMap::new();
            for (_, form) in
                text.lines().filter_map(|line| line.split_once(' ')).filter(|(to, _)| *to == port)
            {
                *counts.entry(form.to_owned()).or_insert(0) += 1;
            }
            if counts.values().sum::<u64>() >= expected || begun.elapsed() > Duration::from_secs(2) {
                // nginx appends, so that what is written next begins the file anew.
                std::fs::write(&log, "").unwrap();
                return counts;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

const CONFIGURATION: &str = "\
worker_processes 1;
daemon off;
master_process off;
pid nginx.pid;
events { worker_connections 1024; }
http {
    log_format account '$server_port $server_protocol $ssl_protocol $status';
    access_log access.log account;
    keepalive_requests 1000000;
    client_body_temp_path body;
    proxy_temp_path proxy;
    fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi;
    scgi_temp_path scgi;
    SERVERS
}
";
