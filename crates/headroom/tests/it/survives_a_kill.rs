//! One of three instances is killed under load: only requests in flight on it that may not be repeated are lost.

use crate::programs::{Server, free_addresses, headroom};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

#[test]
fn kill_9_loses_only_what_may_not_be_repeated() {
    let [one, two, three, listen, admin] = free_addresses();
    let sample = |address: SocketAddr| {
        let listen = address.to_string();
        let flags = ["sample-service", "--listen", &listen, "--threads", "64", "--wait", "10ms"];
        Server::start(headroom(&flags), address)
    };
    let (mut victim, _second, _third) = (sample(one), sample(two), sample(three));
    for balance in ["least_outstanding", "round_robin"] {
        let file = tempfile::NamedTempFile::new().unwrap();
        let text = format!(
            "listen: {listen}\nadmin: {admin}\npools:\n  service: {{ instances: ['{one}', '{two}', '{three}'], \
             balance: {balance} }}\nroutes: [{{ path_prefix: /, pool: service }}]\n"
        );
        std::fs::write(file.path(), text).unwrap();
        let gateway = Server::start(headroom(&["gateway", file.path().to_str().unwrap()]), listen);
        let gets = Load::start(listen, "GET", 8);
        let posts = Load::start(listen, "POST", 8);
        let before = (gets.asked(), posts.asked());
        gets.goes_on(100);
        posts.goes_on(100);
        // SIGKILL: no connection is closed in an orderly way by the service itself.
        victim.kill();
        gets.goes_on(300);
        posts.goes_on(300);
        let (gets, posts) = (gets.end(), posts.end());
        assert!(gets.is_empty(), "{balance}: {} of the GETs since {before:?} failed: {gets:?}", gets.len());
        // One of each client; and one more, as a process that is killed may take connections while it dies.
        assert!(posts.len() <= 16, "{balance}: {} POSTs of 8 clients failed: {posts:?}", posts.len());
        assert!(posts.iter().all(|failure| failure.contains(" 502 ")), "{balance}: {posts:?}");
        drop(gateway);
        victim = sample(one);
    }
}

/// Clients that ask one after the other, and keep every failure.
struct Load {
    stop: Arc<AtomicBool>,
    asked: Arc<AtomicUsize>,
    clients: Vec<JoinHandle<Vec<String>>>,
}

impl Load {
    fn start(address: SocketAddr, method: &'static str, clients: usize) -> Self {
        let (stop, asked) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let client = |_| {
            let (stop, asked) = (Arc::clone(&stop), Arc::clone(&asked));
            std::thread::spawn(move || {
                let mut stream = BufReader::new(TcpStream::connect(address).unwrap());
                let mut failures = Vec::new();
                while !stop.load(Ordering::Relaxed) {
                    match ask(&mut stream, method) {
                        Ok(line) if line.contains(" 200 ") => {}
                        Ok(line) => failures.push(line),
                        Err(error) => {
                            failures.push(error.to_string());
                            stream = BufReader::new(TcpStream::connect(address).unwrap());
                        }
                    }
                    asked.fetch_add(1, Ordering::Relaxed);
                }
                failures
            })
        };
        let clients = (0..clients).map(client).collect();
        Load { stop, asked, clients }
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }

    fn goes_on(&self, requests: usize) {
        let (until, end) = (self.asked() + requests, Instant::now() + Duration::from_secs(60));
        while self.asked() < until {
            assert!(Instant::now() < end, "{} requests of {until}", self.asked());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn end(self) -> Vec<String> {
        self.stop.store(true, Ordering::Relaxed);
        self.clients.into_iter().flat_map(|client| client.join().unwrap()).collect()
    }
}

/// The status line of the answer.
fn ask(stream: &mut BufReader<TcpStream>, method: &str) -> std::io::Result<String> {
    write!(stream.get_mut(), "{method} / HTTP/1.1\r\nHost: test\r\nContent-Length: 0\r\n\r\n")?;
    let (mut status, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line)? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        if status.is_empty() {
            status.clone_from(&line);
        }
        if let Some(found) = line.to_ascii_lowercase().strip_prefix("content-length: ") {
            length = found.trim().parse().unwrap();
        }
        if line == "\r\n" {
            let mut body = vec![0; length];
            stream.read_exact(&mut body)?;
            return Ok(status);
        }
    }
}
