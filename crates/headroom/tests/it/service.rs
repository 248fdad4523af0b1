//! A small service with threads and blocking sockets, which ends with the test.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// What the service does with a request.
#[derive(Clone, Copy)]
pub enum Answer {
    /// 200 with a short body.
    Ok,
    /// 503.
    Shed,
    /// This status without a body.
    Status(u16),
    /// Nothing, ever.
    Silence,
    /// 200 after a while.
    After(Duration),
    /// 200 with the whole request as its body.
    Echo,
}

/// Starts a service; each of its requests gets the same answer.
pub fn start(answer: Answer) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || serve(stream, answer));
        }
    });
    address
}

fn serve(mut stream: TcpStream, answer: Answer) {
    let (mut buffer, mut pending) = ([0; 4096], Vec::new());
    while let Ok(count @ 1..) = stream.read(&mut buffer) {
        pending.extend_from_slice(&buffer[..count]);
        while let Some(end) = pending.windows(4).position(|four| four == b"\r\n\r\n") {
            let request: Vec<u8> = pending.drain(..end + 4).collect();
            let written = match answer {
                Answer::Silence => Ok(()),
                Answer::Shed => stream.write_all(b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"),
                Answer::Status(status) => {
                    write!(stream, "HTTP/1.1 {status} Told\r\nContent-Length: 0\r\n\r\n")
                }
                Answer::Ok => ok(&mut stream, b"ok"),
                Answer::After(delay) => {
                    std::thread::sleep(delay);
                    ok(&mut stream, b"ok")
                }
                Answer::Echo => ok(&mut stream, &request),
            };
            if written.is_err() {
                return;
            }
        }
    }
}

/// Starts a service that answers 200 with what `body` makes of the head and the body of each request.
pub fn respond(body: impl Fn(&str, &[u8]) -> String + Send + Sync + 'static) -> SocketAddr {
    answer(move |head, sent| (String::new(), body(head, sent)))
}

/// Starts a service that answers 200 with the fields, as lines, that `fields` makes of the head of each request.
pub fn with_fields(fields: impl Fn(&str) -> String + Send + Sync + 'static) -> SocketAddr {
    answer(move |head, _| (fields(head), "ok".to_owned()))
}

/// Starts a service that answers 200 with the body that `body` makes of the head of each request.
pub fn with_bodies(body: impl Fn(&str) -> String + Send + Sync + 'static) -> SocketAddr {
    answer(move |head, _| (String::new(), body(head)))
}

fn answer(body: impl Fn(&str, &[u8]) -> (String, String) + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let body = Arc::new(body);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let body = Arc::clone(&body);
            std::thread::spawn(move || while let Some(()) = respond_once(&stream, &*body) {});
        }
    });
    address
}

/// Starts a service that answers at once, and with this status what comes above so many requests a second.
pub fn refusing_above(per_second: f64, status: u16) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    // A bucket of a tenth of a second: what is in it, and when that was.
    let most = per_second / 10.0;
    let bucket = Arc::new(Mutex::new((most, Instant::now())));
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let bucket = Arc::clone(&bucket);
            std::thread::spawn(move || {
                let takes_one = || {
                    let mut bucket = bucket.lock().unwrap();
                    let left = (bucket.0 + bucket.1.elapsed().as_secs_f64() * per_second).min(most);
                    let passes = left >= 1.0;
                    *bucket = (if passes { left - 1.0 } else { left }, Instant::now());
                    passes
                };
                let refusal = format!("HTTP/1.1 {status} No\r\nContent-Length: 0\r\n\r\n");
                let (mut stream, mut buffer, mut pending) = (stream, [0; 4096], Vec::new());
                while let Ok(count @ 1..) = stream.read(&mut buffer) {
                    pending.extend_from_slice(&buffer[..count]);
                    while let Some(end) = pending.windows(4).position(|four| four == b"\r\n\r\n") {
                        pending.drain(..end + 4);
                        let written = match takes_one() {
                            true => ok(&mut stream, b"ok"),
                            false => stream.write_all(refusal.as_bytes()),
                        };
                        if written.is_err() {
                            return;
                        }
                    }
                }
            });
        }
    });
    address
}

fn respond_once(mut stream: &TcpStream, body: &impl Fn(&str, &[u8]) -> (String, String)) -> Option<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).ok()?;
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap().to_ascii_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let mut sent = vec![0; length.map_or(0, |length| length.parse().unwrap())];
    stream.read_exact(&mut sent).ok()?;
    let (fields, body) = body(&head, &sent);
    // In one write: otherwise the second part waits for an acknowledgement.
    let length = body.len();
    let whole = format!("HTTP/1.1 200 OK\r\n{fields}Content-Length: {length}\r\n\r\n{body}");
    stream.write_all(whole.as_bytes()).ok()
}

fn ok(stream: &mut impl Write, body: &[u8]) -> std::io::Result<()> {
    let mut answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len()).into_bytes();
    answer.extend_from_slice(body);
    stream.write_all(&answer)
}
