//! Writes responses, and sends them to clients that may be slow or gone.
//!
//! Deliberately absent: `Date` and `Server`; no measurement depends on them.

use crate::pace::Stop;
use crate::request::{Refusal, Request};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{SendFlags, send};
use std::io;
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// The time spent in each part of a request.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Spent {
    /// In the accept queue.
    pub(crate) queue: Duration,
    /// CPU time of the handler, without that of others.
    pub(crate) cpu: Duration,
    /// Waiting for something that is not shared.
    pub(crate) wait: Duration,
    /// Waiting for a slot of the pool.
    pub(crate) pool: Duration,
    /// Holding the slot.
    pub(crate) hold: Duration,
}

impl Refusal {
    /// The status of the response.
    pub(crate) fn status(self) -> u16 {
        match self {
            Refusal::Bad => 400,
            Refusal::LengthRequired => 411,
            Refusal::BodyTooLarge => 413,
            Refusal::HeadTooLarge => 431,
            Refusal::Busy => 503,
        }
    }

    /// The whole response; the connection is closed after it.
    pub(crate) fn answer(self) -> Vec<u8> {
        let (reason, text) = match self {
            Refusal::Bad => ("Bad Request", "this is no HTTP/1.1 request that can be read in one way only\n"),
            Refusal::LengthRequired => {
                ("Length Required", "send a Content-Length instead of a transfer coding\n")
            }
            Refusal::BodyTooLarge => ("Content Too Large", "the body is larger than 64 MiB\n"),
            Refusal::HeadTooLarge => (
                "Request Header Fields Too Large",
                "the head is larger than 16 KiB or has more than 100 fields\n",
            ),
            Refusal::Busy => ("Service Unavailable", "the accept queue is full\n"),
        };
        let (status, length) = (self.status(), text.len());
        format!(
            "HTTP/1.1 {status} {reason}\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\n\
             Connection: close\r\n\r\n{text}"
        )
        .into_bytes()
    }
}

/// The response to a request that was served.
pub(crate) fn served(request: &Request, spent: &Spent, body: &[u8]) -> Vec<u8> {
    let ms = |span: Duration| span.as_secs_f64() * 1e3;
    let connection = match (request.keep_alive, request.minor) {
        (false, _) => "Connection: close\r\n",
        (true, 0) => "Connection: keep-alive\r\n",
        (true, _) => "",
    };
    let mut answer = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {}\r\nServer-Timing: queue;dur={:.3}, \
         cpu;dur={:.3}, wait;dur={:.3}, pool;dur={:.3}, hold;dur={:.3}\r\n{connection}\r\n",
        body.len(),
        ms(spent.queue),
        ms(spent.cpu),
        ms(spent.wait),
        ms(spent.pool),
        ms(spent.hold),
    )
    .into_bytes();
    if !request.head_only {
        answer.extend_from_slice(body);
    }
    answer
}

/// A body of this many bytes.
pub(crate) fn body(size: usize) -> Vec<u8> {
    b"headroom sample service\n".iter().copied().cycle().take(size).collect()
}

/// Sends everything, or fails if the client does not receive it within the time or the service stops.
pub(crate) fn send_all(
    stream: &TcpStream,
    mut bytes: &[u8],
    within: Duration,
    stop: &Stop,
) -> io::Result<()> {
    let deadline = Instant::now() + within;
    while !bytes.is_empty() {
        match send(stream, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
            Ok(sent) => bytes = &bytes[sent..],
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) if stop.is_asked() || Instant::now() >= deadline => {
                return Err(io::ErrorKind::TimedOut.into());
            }
            Err(Errno::AGAIN) => {
                let tick = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
                match poll(&mut [PollFd::new(stream, PollFlags::OUT)], Some(&tick)) {
                    Ok(_) | Err(Errno::INTR) => {}
                    Err(error) => return Err(error.into()),
                }
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
