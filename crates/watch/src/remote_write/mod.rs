//! Sends the run's numbers to a Prometheus while the run lasts, for a dashboard that is already there.
//!
//! ## Why a bounded queue that drops
//! The receiver may be slow or away, and the run must not wait for it. What does not fit is dropped, counted and said
//! at the end; the run's own record is complete in any case.
//!
//! Follows Prometheus' remote write specification 1.0: a `WriteRequest` in protobuf, compressed as a snappy block;
//! status 5xx and 429 are tried again, any other 4xx is not.

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
    /// What tells its series from others, without the name.
    pub labels: Vec<(&'static str, String)>,
    /// Milliseconds since 1970, as the protocol has it.
    pub at_ms: i64,
    /// The value.
    pub value: f64,
}

/// A receiver, and the queue before it.
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

/// What became of the samples.
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

    /// Puts samples into the queue, or drops them where it is full; never waits.
    pub fn push(&self, samples: Vec<Sample>) {
        if samples.is_empty() {
            return;
        }
        self.counts.pushed.fetch_add(samples.len() as u64, Ordering::Relaxed);
        if self.queue.try_send(samples).is_err() {
            self.counts.because(|| "the receiver is slower than the run: the queue was full".to_owned());
        }
    }

    /// Sends what waits, for as long as `within`, and says what became of all of it.
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

/// What waits is sent together, so that a receiver that was away is caught up with.
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

/// Pushes that may wait: one a second, so a receiver may be away for half a minute.
const QUEUE: usize = 30;

/// Samples in one request; Prometheus' own default.
const TOGETHER: usize = 2_000;

/// For one attempt.
const TIMEOUT: Duration = Duration::from_secs(5);

/// After this time for the same samples, the next ones have their turn.
const PATIENCE: Duration = Duration::from_secs(10);

/// Before the first repetition.
const PAUSE: Duration = Duration::from_millis(100);

/// Of what a receiver says, so much is enough to know it by.
const DETAIL: usize = 200;
