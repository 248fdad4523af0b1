//! One connection: the bytes that have arrived, and its state.
//!
//! ## Why it never waits for bytes
//! A handler thread reads what has arrived; if a request is not complete, the connection is returned to the poller. So
//! neither an idle connection nor a client that sends a byte a second holds a thread, as in gunicorn's threaded worker
//! and in Puma's reactor.

use crate::request::{LARGEST_HEAD, Refusal, Request, parse};
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) stream: TcpStream,
    /// The number of the connection, in the order of acceptance.
    pub(crate) number: u64,
    /// Whether the poller has seen it before.
    pub(crate) registered: bool,
    /// When the poller closes it.
    pub(crate) deadline: Instant,
    /// When its current request arrived.
    pub(crate) arrival: Instant,
    /// How many requests were in the service then, including this one.
    pub(crate) in_flight: usize,
    /// Counts it as a request in flight while it is in the accept queue or with a thread.
    pub(crate) presence: Option<Counted>,
    /// Counts it as an open connection.
    _open: Counted,
    buffer: Vec<u8>,
    phase: Phase,
}

#[derive(Debug)]
enum Phase {
    /// Waiting for the head of a request.
    Head,
    /// The head has arrived; this many bytes of the body are missing.
    Body { request: Request, missing: u64 },
    /// The last response is sent; further bytes are discarded so that the client can read that response.
    Closing,
}

/// The next step of a thread for a connection.
#[derive(Debug)]
pub(crate) enum Step {
    /// A request is complete.
    Serve(Request),
    /// The client waits for `100 Continue`; call again after it was sent.
    Continue,
    /// More bytes are needed.
    Wait,
    /// It cannot be served.
    Refuse(Refusal),
    /// The client is gone.
    Gone,
}

/// An item that is counted as long as it exists.
#[derive(Debug)]
pub(crate) struct Counted(Arc<AtomicUsize>);

impl Counted {
    /// Counts one more; returns the new count.
    pub(crate) fn new(counter: &Arc<AtomicUsize>) -> (Self, usize) {
        let count = counter.fetch_add(1, Ordering::Relaxed) + 1;
        (Counted(Arc::clone(counter)), count)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Connection {
    pub(crate) fn new(stream: TcpStream, number: u64, open: Counted) -> Self {
        let now = Instant::now();
        Connection {
            stream,
            number,
            registered: false,
            deadline: now,
            arrival: now,
            in_flight: 0,
            presence: None,
            _open: open,
            buffer: Vec::new(),
            phase: Phase::Head,
        }
    }

    /// Whether no byte of the next request has been read.
    pub(crate) fn is_between_requests(&self) -> bool {
        matches!(self.phase, Phase::Head) && self.buffer.is_empty()
    }

    pub(crate) fn is_closing(&self) -> bool {
        matches!(self.phase, Phase::Closing)
    }

    /// Whether there are bytes to read, without reading them; `Gone` if the client has closed.
    pub(crate) fn peek(&self) -> Result<bool, Gone> {
        match recv(&self.stream, &mut [0_u8; 1], RecvFlags::PEEK | RecvFlags::DONTWAIT) {
            Ok((0, _)) => Err(Gone),
            Ok(_) => Ok(true),
            Err(Errno::AGAIN | Errno::INTR) => Ok(false),
            Err(_) => Err(Gone),
        }
    }

    /// Reads what has arrived, and returns the next step.
    pub(crate) fn receive(&mut self) -> Step {
        let mut chunk = [0_u8; CHUNK];
        match recv(&self.stream, &mut chunk, RecvFlags::DONTWAIT) {
            Ok((0, _)) => return Step::Gone,
            Ok((count, _)) => self.buffer.extend_from_slice(&chunk[..count]),
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(_) => return Step::Gone,
        }
        self.next()
    }

    /// The next step with the bytes that were read already.
    pub(crate) fn next(&mut self) -> Step {
        if matches!(self.phase, Phase::Head) {
            if self.buffer.is_empty() {
                return Step::Wait;
            }
            match parse(&self.buffer) {
                Err(refusal) => return Step::Refuse(refusal),
                Ok(None) => return Step::Wait,
                Ok(Some((mut request, length))) => {
                    self.buffer.drain(..length);
                    let missing = request.body;
                    let ask = std::mem::take(&mut request.awaits_continue) && missing > 0;
                    self.phase = Phase::Body { request, missing };
                    if ask && self.buffer.is_empty() {
                        return Step::Continue;
                    }
                }
            }
        }
        match std::mem::replace(&mut self.phase, Phase::Head) {
            Phase::Body { request, missing } => {
                let here = self.buffer.len().min(usize::try_from(missing).unwrap_or(usize::MAX));
                self.buffer.drain(..here);
                let missing = missing - here as u64;
                if missing == 0 {
                    return Step::Serve(request);
                }
                self.phase = Phase::Body { request, missing };
            }
            other => self.phase = other,
        }
        Step::Wait
    }

    /// After the last response: sends no more, and waits a moment for the client to close.
    ///
    /// Closing with unread bytes would reset the connection, and the client might never see the response.
    pub(crate) fn close_gently(&mut self) {
        let _ = self.stream.shutdown(Shutdown::Write);
        self.buffer = Vec::new();
        self.phase = Phase::Closing;
        self.deadline = Instant::now() + FAREWELL;
    }

    /// Reads what has arrived and discards it.
    pub(crate) fn discard(&self) -> Result<(), Gone> {
        let mut chunk = [0_u8; CHUNK];
        match recv(&self.stream, &mut chunk, RecvFlags::DONTWAIT) {
            Ok((0, _)) => Err(Gone),
            Ok(_) | Err(Errno::AGAIN | Errno::INTR) => Ok(()),
            Err(_) => Err(Gone),
        }
    }
}

/// The client has closed, or the connection is broken.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Gone;

/// One read takes at most a whole head, which bounds the buffer.
const CHUNK: usize = LARGEST_HEAD;
/// How long a client has to close after the last response.
const FAREWELL: Duration = Duration::from_secs(1);
