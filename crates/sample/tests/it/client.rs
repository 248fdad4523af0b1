//! Raw sockets, and a tiny open-loop client with a thread for each arrival.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

/// A received response.
#[derive(Debug)]
pub struct Response {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

/// A connection of a test.
pub struct Client(pub BufReader<TcpStream>);

impl Client {
    pub fn connect(to: SocketAddr) -> Self {
        let stream = TcpStream::connect(to).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        Client(BufReader::new(stream))
    }

    pub fn send(&mut self, bytes: &str) {
        self.0.get_mut().write_all(bytes.as_bytes()).unwrap();
    }

    /// The next response; `None` if the connection is closed without one.
    pub fn response(&mut self) -> Option<Response> {
        self.response_to("GET")
    }

    pub fn response_to(&mut self, method: &str) -> Option<Response> {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if self.0.read_line(&mut head).ok()? == 0 {
                return None;
            }
        }
        let status = head.split(' ').nth(1)?.parse().ok()?;
        let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: ")?.parse().ok());
        let mut body = vec![0; if method == "HEAD" { 0 } else { length.unwrap_or(0) }];
        self.0.read_exact(&mut body).ok()?;
        Some(Response { status, head, body })
    }

    pub fn get(&mut self, path: &str) -> Option<Response> {
        self.send(&format!("GET {path} HTTP/1.1\r\nHost: sample\r\n\r\n"));
        self.response()
    }

    /// Whether the other side closes, with or without a reset.
    pub fn is_closed(&mut self) -> bool {
        !matches!(self.0.read(&mut [0]), Ok(count) if count > 0)
    }
}

/// The result of an arrival.
#[derive(Debug, Clone, Copy)]
pub struct Arrival {
    /// Intended start, since the start of the run.
    pub start: Duration,
    /// From the intended start to the complete response, if it was 200 and in time.
    pub good: Option<Duration>,
}

/// Evenly spaced arrivals, each on a connection of its own, given up after `patience`.
pub fn open_loop(to: SocketAddr, path: &str, rate: f64, span: Duration, patience: Duration) -> Vec<Arrival> {
    let begin = Instant::now();
    let count = (rate * span.as_secs_f64()) as u32;
    let arrivals: Vec<_> = (0..count)
        .map(|number| {
            let start = Duration::from_secs_f64(f64::from(number) / rate);
            thread::sleep((begin + start).saturating_duration_since(Instant::now()));
            let request =
                format!("GET {path} HTTP/1.1\r\nHost: sample\r\nX-Headroom-Arrival: {number}\r\n\r\n");
            let attempt = move || {
                let left = (begin + start + patience).checked_duration_since(Instant::now())?;
                let mut stream = TcpStream::connect_timeout(&to, left).ok()?;
                stream.set_read_timeout(Some(left)).ok()?;
                stream.write_all(request.as_bytes()).ok()?;
                let answered = Client(BufReader::new(stream)).response()?.status == 200;
                let taken = begin.elapsed().saturating_sub(start);
                (answered && taken <= patience).then_some(taken)
            };
            let thread = thread::Builder::new().stack_size(128 << 10);
            (start, thread.spawn(attempt).unwrap())
        })
        .collect();
    let ended = arrivals.into_iter().map(|(start, thread)| Arrival { start, good: thread.join().unwrap() });
    ended.collect()
}

/// The quantile of the good responses.
pub fn quantile(arrivals: &[Arrival], quantile: f64) -> Option<Duration> {
    let mut good: Vec<Duration> = arrivals.iter().filter_map(|arrival| arrival.good).collect();
    good.sort_unstable();
    good.get((quantile * good.len() as f64) as usize).copied()
}
