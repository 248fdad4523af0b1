//! The admin interface of a gateway that counts requests, in place of one that has them. A part of each test that needs one.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// It ends with the process of the test.
pub struct Gateway {
    pub address: SocketAddr,
    count: Arc<Mutex<Count>>,
}

#[derive(Clone, Copy)]
struct Count {
    /// Requests until the last change, when that was, and requests a second since.
    before: u64,
    since: Instant,
    rate: u64,
    in_flight: u64,
}

impl Gateway {
    /// Without requests, and with so many in flight.
    pub fn start(in_flight: u64) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let first = Count { before: 0, since: Instant::now(), rate: 0, in_flight };
        let count = Arc::new(Mutex::new(first));
        let of_thread = Arc::clone(&count);
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
                while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
                let count = *of_thread.lock().unwrap();
                let (arrived, in_flight) = (count.total(), count.in_flight);
                let body = format!(r#"{{"arrived":{arrived},"answered":{arrived},"in_flight":{in_flight}}}"#);
                let length = body.len();
                let head = format!(
                    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
                );
                let _ = stream.write_all((head + &body).as_bytes());
            }
        });
        Gateway { address, count }
    }

    /// Requests a second from now on.
    pub fn rate(&self, rate: u64) {
        let mut count = self.count.lock().unwrap();
        *count = Count { before: count.total(), since: Instant::now(), rate, ..*count };
    }
}

impl Count {
    fn total(self) -> u64 {
        self.before + (self.since.elapsed().as_secs_f64() * self.rate as f64) as u64
    }
}
