//! Reads a source ten times a second on a thread of its own, so that a source that hangs delays nothing.
//!
//! Requests in flight are averaged over these readings: policies on concurrency read an average, and a single reading a
//! step would be a sample of one.

use crate::source::{Source, Totals};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A source that is read.
#[derive(Debug)]
pub(crate) struct Poller {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    ends: AtomicBool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    latest: Option<(Instant, Totals)>,
    readings: u32,
    in_flight: u64,
    error: Option<String>,
}

/// The readings since the last call.
#[derive(Debug)]
pub(crate) struct Taken {
    /// The newest, however old it is, and when it was read.
    pub(crate) latest: Option<(Instant, Totals)>,
    /// The average number of requests in flight and waiting.
    pub(crate) in_flight: f64,
    /// Whether there was one.
    pub(crate) is_new: bool,
    /// Why the last reading failed.
    pub(crate) error: Option<String>,
}

impl Poller {
    pub(crate) fn start(mut source: Box<dyn Source>) -> std::io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let of_thread = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("source".to_owned()).spawn(move || {
            while !of_thread.ends.load(Ordering::Relaxed) {
                let begun = Instant::now();
                let read = source.read();
                {
                    let mut state = of_thread.state.lock().unwrap_or_else(PoisonError::into_inner);
                    match read {
                        Ok(totals) => {
                            state.readings += 1;
                            state.in_flight += totals.in_flight + totals.waiting;
                            state.latest = Some((Instant::now(), totals));
                            state.error = None;
                        }
                        Err(error) => state.error = Some(with_causes(&error)),
                    }
                }
                std::thread::sleep(EACH.saturating_sub(begun.elapsed()));
            }
        })?;
        Ok(Poller { shared, thread: Some(thread) })
    }

    pub(crate) fn take(&self) -> Taken {
        let mut state = self.shared.state.lock().unwrap_or_else(PoisonError::into_inner);
        let latest = state.latest.clone();
        let last = latest.as_ref().map_or(0, |(_, totals)| totals.in_flight + totals.waiting);
        let is_new = state.readings > 0;
        let in_flight = match std::mem::take(&mut state.readings) {
            0 => last as f64,
            readings => state.in_flight as f64 / f64::from(readings),
        };
        state.in_flight = 0;
        Taken { latest, in_flight, is_new, error: state.error.clone() }
    }
}

impl Drop for Poller {
    fn drop(&mut self) {
        self.shared.ends.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// An error and all its causes in a line, each once.
pub fn with_causes(error: &dyn std::error::Error) -> String {
    let mut message = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        if !message.contains(&text) {
            message.push_str(&format!(": {text}"));
        }
        cause = error.source();
    }
    message
}

/// As often as a gateway publishes its counts.
const EACH: Duration = Duration::from_millis(100);
