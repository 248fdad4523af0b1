//! A small web server for tests: responds from a function, records its requests.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// A received request.
#[derive(Debug, Clone)]
pub struct Request {
    pub target: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Request {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }
}

/// A server for as long as the test runs.
pub struct Fake {
    pub address: SocketAddr,
    pub asked: Arc<Mutex<Vec<Request>>>,
}

/// Starts a server that responds to the n-th request with a status and a body.
pub fn start(answer: impl Fn(usize, &Request) -> (u16, String) + Send + Sync + 'static) -> Fake {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let (shared, answer) = (Arc::clone(&asked), Arc::new(answer));
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (asked, answer) = (Arc::clone(&shared), Arc::clone(&answer));
            thread::spawn(move || serve(stream, &asked, &*answer));
        }
    });
    Fake { address, asked }
}

fn serve(stream: TcpStream, asked: &Mutex<Vec<Request>>, answer: &dyn Fn(usize, &Request) -> (u16, String)) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut writer = stream;
    while let Some(request) = read(&mut reader) {
        let number = {
            let mut asked = asked.lock().unwrap();
            asked.push(request.clone());
            asked.len() - 1
        };
        let (status, body) = answer(number, &request);
        let head = format!("HTTP/1.1 {status} Status\r\nContent-Length: {}\r\n\r\n", body.len());
        if writer.write_all(head.as_bytes()).and_then(|()| writer.write_all(body.as_bytes())).is_err() {
            return;
        }
    }
}

fn read(reader: &mut impl BufRead) -> Option<Request> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|&read| read > 0)?;
    let target = line.split(' ').nth(1)?.to_owned();
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        headers.push((name.to_ascii_lowercase(), value.to_owned()));
    }
    let mut request = Request { target, headers, body: Vec::new() };
    let length = request.header("content-length").map_or(0, |length| length.parse().unwrap());
    request.body.resize(length, 0);
    reader.read_exact(&mut request.body).ok()?;
    Some(request)
}
