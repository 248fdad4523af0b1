//! Resolves names during a run, on a thread of its own.
//!
//! ## Why one thread
//! The system's lookup blocks, and an event loop must not block. One thread per loop keeps the order and takes no lock;
//! if lookups are slower than connections are opened, requests queue, and the wait is part of the result. A client with
//! one resolver would see the same.

use super::{Address, Origin, ResolveError, Resolver};
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

/// A thread that resolves names. When this is dropped, it ends after its current lookup.
#[derive(Debug)]
pub struct Lookup {
    questions: SyncSender<Question>,
    answers: Receiver<Answer>,
}

/// The result of a lookup.
#[derive(Debug)]
pub struct Answer {
    /// The number given with the request.
    pub id: u64,
    /// The addresses in the order in which to try them, at least one; or why there is none.
    pub addresses: Result<Vec<Address>, ResolveError>,
    /// How long the request waited for those before it.
    pub waited: Duration,
    /// How long the lookup itself took.
    pub took: Duration,
}

/// The queue is full: ask again after a result, or count it as a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("too many names wait to be looked up")]
pub struct Full;

struct Question {
    id: u64,
    origin: Arc<Origin>,
    asked: Instant,
}

impl Lookup {
    /// Starts the thread. At most `bound` requests wait, and at most `bound` results. `wake` is called on the thread
    /// after each result, to end the wait of the requesting loop.
    ///
    /// # Errors
    /// The system has no thread left.
    pub fn start(resolver: Resolver, bound: usize, wake: impl Fn() + Send + 'static) -> io::Result<Self> {
        let (questions, asked) = sync_channel::<Question>(bound);
        let (answer, answers) = sync_channel(bound);
        thread::Builder::new().name("lookup".to_owned()).spawn(move || {
            for question in asked {
                let started = Instant::now();
                let addresses = resolver.addresses(&question.origin);
                let found = Answer {
                    id: question.id,
                    addresses,
                    waited: started.duration_since(question.asked),
                    took: started.elapsed(),
                };
                if answer.send(found).is_err() {
                    return;
                }
                wake();
            }
        })?;
        Ok(Lookup { questions, answers })
    }

    /// Requests the addresses of an origin; the result carries `id`. Never waits.
    ///
    /// # Errors
    /// The queue is full.
    pub fn ask(&self, id: u64, origin: Arc<Origin>) -> Result<(), Full> {
        match self.questions.try_send(Question { id, origin, asked: Instant::now() }) {
            Ok(()) => Ok(()),
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => Err(Full),
        }
    }

    /// The next result, if there is one. Never waits.
    pub fn poll(&self) -> Option<Answer> {
        self.answers.try_recv().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    fn origin(url: &str) -> Arc<Origin> {
        Arc::new(Origin::of_url(url).unwrap().0)
    }

    #[test]
    fn answers_come_in_order_and_wake_the_loop() {
        let (woken, waking) = channel();
        let lookup = Lookup::start(Resolver::default(), 8, move || woken.send(()).unwrap()).unwrap();
        assert!(lookup.poll().is_none());
        for (id, url) in [(1, "http://localhost/"), (2, "http://nowhere.invalid/"), (3, "http://[::1]/")] {
            lookup.ask(id, origin(url)).unwrap();
        }
        for (id, found) in [(1, true), (2, false), (3, true)] {
            waking.recv_timeout(Duration::from_secs(30)).unwrap();
            let answer = lookup.poll().unwrap();
            assert_eq!((answer.id, answer.addresses.is_ok()), (id, found), "{answer:?}");
        }
        assert!(lookup.poll().is_none());
    }

    #[test]
    fn questions_beyond_the_bound_are_refused_and_the_thread_ends() {
        let (woken, waking) = channel();
        let lookup = Lookup::start(Resolver::default(), 2, move || woken.send(()).unwrap_or(())).unwrap();
        let one = origin("http://127.0.0.1/");
        // Two wait as results, one is in progress, and two wait as requests.
        let asked = (0..1000).take_while(|&id| {
            thread::sleep(Duration::from_millis(1));
            lookup.ask(id, Arc::clone(&one)).is_ok()
        });
        let asked = asked.count();
        assert!((2..=5).contains(&asked), "{asked}");
        drop(lookup);
        // The thread holds the other end until it ends.
        while waking.recv_timeout(Duration::from_secs(30)).is_ok() {}
        assert_eq!(waking.try_recv(), Err(std::sync::mpsc::TryRecvError::Disconnected));
    }
}
