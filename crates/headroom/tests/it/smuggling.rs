//! The gateway passes no request that the server reads differently: a corpus of such requests, with widely used servers.
//!
//! ## How it is told
//! Each server answers with how it read the request, `<<POST / 5>>`. A tap between gateway and server collects these:
//! they are all that the server ever read. They must be what the case says, and as many as the gateway's log has sent
//! on. Behind each case a plain request takes the same connections and must be read as it is.

mod cases;

use crate::peers::peer;
use crate::programs::{Server, free_address};
use cases::{Case, cases};
use gateway::settings::{AccessLog, ConnectionLimits, PathMatch, Pool, Route, Settings};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const APPS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/servers");

/// Hands bytes on both ways, and keeps those that come from the server.
struct Tap {
    address: SocketAddr,
    kept: Arc<Mutex<Vec<u8>>>,
}

impl Tap {
    fn before(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let tap = Tap { address: listener.local_addr().unwrap(), kept: Arc::default() };
        let kept = Arc::clone(&tap.kept);
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let (client, server) = (client.unwrap(), TcpStream::connect(server).unwrap());
                for stream in [&client, &server] {
                    stream.set_nodelay(true).unwrap();
                }
                let (from, to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
                std::thread::spawn(move || hand_on(from, to, |_| {}));
                let kept = Arc::clone(&kept);
                std::thread::spawn(move || {
                    hand_on(server, client, |bytes| kept.lock().unwrap().extend_from_slice(bytes));
                });
            }
        });
        tap
    }

    /// How the server read the requests since the last call.
    fn take(&self) -> Vec<String> {
        let text = String::from_utf8_lossy(&std::mem::take(&mut *self.kept.lock().unwrap())).into_owned();
        text.split("<<").skip(1).filter_map(|rest| Some(rest.split_once(">>")?.0.to_owned())).collect()
    }
}

fn hand_on(mut from: TcpStream, mut to: TcpStream, mut keep: impl FnMut(&[u8])) {
    let mut buffer = [0; 16 * 1024];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        keep(&buffer[..count]);
        if to.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}

/// Sends, and reads until the connection ends or so many answers have come.
fn ask(gateway: SocketAddr, parts: impl Iterator<Item = Vec<u8>>, answers: usize) -> String {
    let mut stream = TcpStream::connect(gateway).unwrap();
    stream.set_nodelay(true).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    for part in parts {
        // It may have been refused by now.
        if stream.write_all(&part).is_err() {
            break;
        }
    }
    let (mut got, mut buffer) = (Vec::new(), [0; 16 * 1024]);
    loop {
        let text = String::from_utf8_lossy(&got);
        if answers > 0 && text.matches(">>").count() >= answers {
            return text.into_owned();
        }
        match stream.read(&mut buffer) {
            Ok(0) => return text.into_owned(),
            Ok(count) => got.extend_from_slice(&buffer[..count]),
            Err(error) => {
                assert!(
                    error.kind() != std::io::ErrorKind::WouldBlock,
                    "neither answered nor closed: {text}"
                );
                return text.into_owned();
            }
        }
    }
}

/// Runs the corpus; `lengths` where the server says how long bodies are.
fn agrees(name: &str, server: SocketAddr, lengths: bool) {
    let tap = Tap::before(server);
    let log = tempfile::NamedTempFile::new().unwrap();
    let limits = ConnectionLimits {
        head_timeout: Duration::from_millis(1_500),
        idle_timeout: Duration::from_millis(1_500),
        ..Default::default()
    };
    let settings = Settings {
        access_log: AccessLog::File(log.path().to_owned()),
        limits,
        pools: vec![Pool::new("server", vec![tap.address])],
        routes: vec![Route::new("all", PathMatch::Prefix("/".to_owned()), 0)],
        ..Settings::new("127.0.0.1:0".parse().unwrap())
    };
    let gateway = gateway::start(settings).unwrap();
    let cases = cases();
    assert!(cases.len() >= 60, "{}", cases.len());
    let mut reached = 0;
    let shown = |read: &[String]| -> Vec<String> {
        let cut = |text: &String| text.rsplit_once(' ').unwrap_or_default().0.to_owned();
        read.iter().map(|text| if lengths { text.clone() } else { cut(text) }).collect()
    };
    for (number, Case { bytes, read }) in cases.iter().enumerate() {
        let said = format!("{name}, case {number}: {bytes:?}");
        let expected: Vec<String> =
            read.iter().map(|(method, target, length)| format!("{method} {target} {length}")).collect();
        let answer = ask(gateway.address(), std::iter::once(bytes.clone().into_bytes()), expected.len());
        let refusal =
            ["HTTP/1.1 4", "HTTP/1.1 501", "HTTP/1.1 505"].iter().any(|line| answer.starts_with(line));
        assert_eq!(refusal, expected.is_empty(), "{said}: {answer}");
        let seen = tap.take();
        assert_eq!(shown(&seen), shown(&expected), "{said}");
        reached += seen.len();
        let canary = format!("GET /canary-{number} HTTP/1.1\r\nHost: a\r\n\r\n");
        let answer = ask(gateway.address(), std::iter::once(canary.into_bytes()), 1);
        assert!(answer.contains(&format!("<<GET /canary-{number} ")), "behind {said}: {answer}");
        reached += tap.take().len();
    }
    let whole = sent_on(log.path(), reached);
    assert_eq!(whole, reached, "{name}: requests that the gateway has sent on, and that the server has read");
    // A byte at a time, so that what is wrong behind the head shows only when the head has been sent on.
    for (number, Case { bytes, read }) in cases.iter().enumerate() {
        let said = format!("{name}, case {number}, byte by byte: {bytes:?}");
        let answer = ask(gateway.address(), bytes.bytes().map(|byte| vec![byte]), read.len());
        let canary = format!("GET /canary-{number} HTTP/1.1\r\nHost: a\r\n\r\n");
        let second = ask(gateway.address(), std::iter::once(canary.into_bytes()), 1);
        assert!(second.contains(&format!("<<GET /canary-{number} ")), "behind {said}: {second}");
        let seen = tap.take();
        assert!(!seen.iter().any(|read| read.contains("smuggled")), "{said}: {seen:?}");
        for (method, target, _) in *read {
            assert!(answer.contains(&format!("<<{method} {target} ")), "{said}: {answer}");
        }
    }
    gateway.drain();
    println!("{name}: {} cases, {reached} requests", cases.len());
}

/// Requests that the gateway's log says were answered by the server; waits for the log to be written.
fn sent_on(log: &std::path::Path, expected: usize) -> usize {
    let begun = Instant::now();
    loop {
        let text = std::fs::read_to_string(log).unwrap();
        let count = text.lines().filter(|line| line.contains(" upstream_us=")).count();
        if count >= expected || begun.elapsed() > Duration::from_secs(10) {
            return count;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn nginx_and_the_gateway_read_the_same() {
    let (Some(nginx), address) = (peer("nginx"), free_address()) else { return };
    let folder = tempfile::tempdir().unwrap();
    let configuration = NGINX.replace("ADDRESS", &address.to_string());
    std::fs::write(folder.path().join("nginx.conf"), configuration).unwrap();
    let mut command = Command::new(nginx);
    command.arg("-p").arg(folder.path()).args(["-e", "error.log", "-c", "nginx.conf"]);
    let _server = Server::start(command, address);
    agrees("nginx", address, false);
}

const NGINX: &str = "\
worker_processes 1;
daemon off;
master_process off;
pid nginx.pid;
events { worker_connections 256; }
http {
    access_log off;
    client_body_temp_path body;
    proxy_temp_path proxy;
    fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi;
    scgi_temp_path scgi;
    server { listen ADDRESS; location / { return 200 \"<<$request_method $request_uri ?>>\"; } }
}
";

#[test]
fn haproxy_and_the_gateway_read_the_same() {
    let (Some(haproxy), address) = (peer("haproxy"), free_address()) else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("haproxy.cfg");
    std::fs::write(&file, HAPROXY.replace("ADDRESS", &address.to_string())).unwrap();
    let mut command = Command::new(haproxy);
    command.arg("-db").arg("-f").arg(file);
    let _server = Server::start(command, address);
    agrees("HAProxy", address, true);
}

const HAPROXY: &str = "\
global
    maxconn 256
defaults
    mode http
    timeout client 10s
    timeout connect 10s
    timeout server 10s
frontend all
    bind ADDRESS
    http-request wait-for-body time 5s
    http-request return status 200 content-type text/plain lf-string \"<<%[method] %[pathq] %[req.body_len]>>\"
";

#[test]
fn gunicorn_and_the_gateway_read_the_same() {
    let (Some(gunicorn), address) = (peer("gunicorn"), free_address()) else { return };
    let mut command = Command::new(gunicorn);
    command.args(["-b", &address.to_string(), "-w", "1", "--threads", "4", "--keep-alive", "75", "echo:app"]);
    command.current_dir(APPS).env("PYTHONDONTWRITEBYTECODE", "1");
    let _server = Server::start(command, address);
    agrees("gunicorn", address, true);
}

#[test]
fn node_and_the_gateway_read_the_same() {
    let (Some(node), address) = (peer("node"), free_address()) else { return };
    let mut command = Command::new(node);
    command.args(["echo.js", &address.port().to_string()]).current_dir(APPS);
    let _server = Server::start(command, address);
    agrees("node", address, true);
}
