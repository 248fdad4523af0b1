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
    /// CPU time of the handler, without that of others; of the virtual processor if there is one.
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
    let connection = connection(request);
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

/// What a service with a virtual processor answers itself.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Own {
    /// It is ready.
    Ready,
    /// It is not ready yet.
    Booting,
    /// Its metrics.
    Metrics {
        /// Virtual processor time, in core seconds.
        used: f64,
        /// Cores of the virtual processor.
        cores: f64,
        /// Requests in progress.
        in_flight: usize,
        /// Requests that were served.
        served: u64,
        /// Since the start.
        up: Duration,
    },
}

impl Own {
    /// The whole response.
    pub(crate) fn bytes(self, request: &Request) -> Vec<u8> {
        let (status, content, text) = match self {
            Own::Ready => ("200 OK", "text/plain", "ready\n".to_owned()),
            Own::Booting => ("503 Service Unavailable", "text/plain", "the service is starting\n".to_owned()),
            Own::Metrics { used, cores, in_flight, served, up } => (
                "200 OK",
                "text/plain; version=0.0.4",
                format!(
                    "# HELP process_cpu_seconds_total Virtual processor time used, in core seconds.\n\
                     # TYPE process_cpu_seconds_total counter\n\
                     process_cpu_seconds_total {used:.9}\n\
                     # HELP sample_cpu_limit_cores Cores of the virtual processor.\n\
                     # TYPE sample_cpu_limit_cores gauge\n\
                     sample_cpu_limit_cores {cores}\n\
                     # HELP sample_requests_in_flight Requests in the accept queue or with a thread.\n\
                     # TYPE sample_requests_in_flight gauge\n\
                     sample_requests_in_flight {in_flight}\n\
                     # HELP sample_requests_total Requests that were served.\n\
                     # TYPE sample_requests_total counter\n\
                     sample_requests_total {served}\n\
                     # HELP sample_uptime_seconds Time since the start.\n\
                     # TYPE sample_uptime_seconds gauge\n\
                     sample_uptime_seconds {:.6}\n",
                    up.as_secs_f64()
                ),
            ),
        };
        let connection = connection(request);
        let mut answer = format!(
            "HTTP/1.1 {status}\r\nContent-Type: {content}\r\nContent-Length: {}\r\n{connection}\r\n",
            text.len()
        );
        if !request.head_only {
            answer.push_str(&text);
        }
        answer.into_bytes()
    }
}

/// The field that says whether the connection is kept, where the version does not.
fn connection(request: &Request) -> &'static str {
    match (request.keep_alive, request.minor) {
        (false, _) => "Connection: close\r\n",
        (true, 0) => "Connection: keep-alive\r\n",
        (true, _) => "",
    }
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
