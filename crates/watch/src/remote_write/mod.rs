//! Sends the run's figures to a Prometheus during the run, for an existing dashboard.
//!
//! ## Why a bounded queue that drops
//! The receiver may be slow or unavailable, and the run must not wait for it. Samples that do not fit are dropped,
//! counted and reported at the end; the run's own record is complete in any case.
//!
//! Follows Prometheus' remote write specification 1.0: a `WriteRequest` in protobuf, compressed as a snappy block;
//! status 5xx and 429 are retried, any other 4xx is not.

mod load;
mod protobuf;

pub use load::{LoadSeries, Now};

use crate::endpoint::{Client, Endpoint};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// One value of one series at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// The metric.
    pub name: &'static str,
    /// The labels of its series, without the name.
    pub labels: Vec<(&'static str, String)>,
    /// Milliseconds since 1970, as in the protocol.
    pub at_ms: i64,
    /// The value.
    pub value: f64,
}

/// A receiver, and its queue.
#[derive(Debug)]
pub struct RemoteWrite {
    queue: SyncSender<Vec<Sample>>,
    counts: Arc<Counts>,
    ended: Receiver<()>,
}

#[derive(Debug, Default)]
struct Counts {
    pushed: AtomicU64,
    sent: AtomicU64,
    /// Why the first sample was not sent.
    reason: Mutex<Option<String>>,
}

/// The outcome of the samples.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Written {
    /// Accepted by the receiver.
    pub sent: u64,
    /// Not accepted, or not sent in time.
    pub dropped: u64,
    /// Why the first of them was dropped.
    pub reason: Option<String>,
}

impl RemoteWrite {
    /// Starts to send to an endpoint, such as `http://127.0.0.1:9090/api/v1/write`.
    pub fn new(endpoint: Endpoint) -> Self {
        let (queue, waiting) = sync_channel(QUEUE);
        let (end, ended) = channel();
        let counts = Arc::new(Counts::default());
        let shared = Arc::clone(&counts);
        let spawned = thread::Builder::new().name("remote-write".to_owned()).spawn(move || {
            let client = Client::new(TIMEOUT);
            while let Ok(samples) = waiting.recv() {
                send(&client, &endpoint, gather(samples, &waiting), &shared);
            }
            drop(end);
        });
        if let Err(error) = spawned {
            counts.because(|| format!("no thread to send from: {error}"));
        }
        RemoteWrite { queue, counts, ended }
    }

    /// Queues samples, or drops them if the queue is full; never waits.
    pub fn push(&self, samples: Vec<Sample>) {
        if samples.is_empty() {
            return;
        }
        self.counts.pushed.fetch_add(samples.len() as u64, Ordering::Relaxed);
        if self.queue.try_send(samples).is_err() {
            self.counts.because(|| "the receiver is slower than the run: the queue was full".to_owned());
        }
    }

    /// Sends the queued samples, for at most `within`, and returns the outcome of all.
    pub fn close(self, within: Duration) -> Written {
        let RemoteWrite { queue, counts, ended } = self;
        drop(queue);
        if let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(within) {
            counts.because(|| "the run had ended before the receiver took it".to_owned());
        }
        let sent = counts.sent.load(Ordering::Relaxed);
        let dropped = counts.pushed.load(Ordering::Relaxed).saturating_sub(sent);
        let reason = counts.reason.lock().unwrap_or_else(PoisonError::into_inner).take();
        Written { sent, dropped, reason: reason.filter(|_| dropped > 0) }
    }
}

impl Counts {
    fn because(&self, reason: impl FnOnce() -> String) {
        self.reason.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(reason);
    }
}

/// Queued samples are sent together, so that a receiver that was unavailable catches up.
fn gather(mut samples: Vec<Sample>, waiting: &Receiver<Vec<Sample>>) -> Vec<Sample> {
    while samples.len() < TOGETHER
        && let Ok(more) = waiting.try_recv()
    {
        samples.extend(more);
    }
    samples
}

fn send(client: &Client, endpoint: &Endpoint, samples: Vec<Sample>, counts: &Counts) {
    let body = match snap::raw::Encoder::new().compress_vec(&protobuf::write_request(&samples)) {
        Ok(body) => body,
        Err(error) => return counts.because(|| error.to_string()),
    };
    let give_up = Instant::now() + PATIENCE;
    let mut pause = PAUSE;
    loop {
        let (again, reason) = match client.post(endpoint, &HEADERS, &body) {
            Ok(answer) if (200..300).contains(&answer.status) => {
                counts.sent.fetch_add(samples.len() as u64, Ordering::Relaxed);
                return;
            }
            Ok(answer) => {
                let said: String = answer.body.trim().chars().take(DETAIL).collect();
                (answer.status >= 500 || answer.status == 429, format!("status {}: {said}", answer.status))
            }
            Err(error) => (true, error),
        };
        if !again || Instant::now() + pause > give_up {
            return counts.because(|| reason);
        }
        thread::sleep(pause);
        pause *= 2;
    }
}

const HEADERS: [(&str, &str); 3] = [
    ("Content-Encoding", "snappy"),
    ("Content-Type", "application/x-protobuf"),
    ("X-Prometheus-Remote-Write-Version", "0.1.0"),
];

/// Pushes that may wait: one a second, so a receiver may be unavailable for half a minute.
const QUEUE: usize = 30;

/// Samples in one request; Prometheus' own default.
const TOGETHER: usize = 2_000;

/// For one attempt.
const TIMEOUT: Duration = Duration::from_secs(5);

/// After this time for the same samples, the next ones are tried.
const PATIENCE: Duration = Duration::from_secs(10);

/// Before the first retry.
const PAUSE: Duration = Duration::from_millis(100);

/// The length to which a receiver's message is cut.
const DETAIL: usize = 200;
