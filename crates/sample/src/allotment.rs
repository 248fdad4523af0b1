//! A virtual processor: an allotment of cores that the requests in progress share.
//!
//! ## Why virtual
//! Many instances on one machine cannot each have a core. With an allotment, the CPU work of a request takes the time
//! that it would take on that share of a processor, and uses none of the machine's: instances behave as in a fleet of
//! small containers, as long as the machine has time to serve their requests at all.
//!
//! ## How it is shared
//! Processor sharing: n bursts of work each proceed at `min(1, cores / n)`, without the periods of a kernel's quota. In
//! virtual time, a burst of work w that joins at v ends at v + w whatever joins or leaves later:
//!
//! ```text
//! dv/dt = min(1, cores / n)      used = ∫ n dv
//! v:      virtual time, in seconds of a core
//! n:      bursts in progress
//! ```
//!
//! ## Why ends are planned
//! A thread that sleeps wakes late. So the state advances from one planned end to the next, never from the time at which
//! a thread happened to wake, and a burst is told its planned end: lateness delays single responses and does not add up.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// The processor of a service.
#[derive(Debug)]
pub(crate) struct VirtualProcessor {
    cores: f64,
    state: Mutex<State>,
    /// The first end has changed, or it is closed.
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    cores: f64,
    running: BinaryHeap<Reverse<Burst>>,
    sequence: u64,
    virtual_time: f64,
    /// When the state was last brought up to date.
    advanced: Instant,
    /// Core seconds that bursts have used.
    used: f64,
    closed: bool,
}

#[derive(Debug)]
struct Burst {
    /// The virtual time at which it ends.
    ends: f64,
    sequence: u64,
    /// Gets the planned end.
    ended: SyncSender<Instant>,
}

impl VirtualProcessor {
    pub(crate) fn new(cores: f64) -> Self {
        let state = State {
            cores,
            running: BinaryHeap::new(),
            sequence: 0,
            virtual_time: 0.0,
            advanced: Instant::now(),
            used: 0.0,
            closed: false,
        };
        VirtualProcessor { cores, state: Mutex::new(state), changed: Condvar::new() }
    }

    /// Cores that it has.
    pub(crate) fn cores(&self) -> f64 {
        self.cores
    }

    /// Does this much work; returns when it was planned to end, or `None` if the service stops.
    pub(crate) fn work(&self, amount: Duration) -> Option<Instant> {
        self.join(amount)?.recv().ok()
    }

    fn join(&self, amount: Duration) -> Option<Receiver<Instant>> {
        let mut state = self.state();
        if state.closed {
            return None;
        }
        state.advance(Instant::now());
        let (ended, end) = sync_channel(1);
        if state.join(amount.as_secs_f64(), ended) {
            self.changed.notify_one();
        }
        Some(end)
    }

    /// Ends bursts on time, until it is closed: the work of one thread.
    pub(crate) fn run(&self) {
        let mut state = self.state();
        while !state.closed {
            let now = Instant::now();
            state.advance(now);
            state = match state.next_end() {
                None => self.changed.wait(state).expect(UNPOISONED),
                Some(at) => {
                    let left = at.saturating_duration_since(now).max(SHORTEST);
                    self.changed.wait_timeout(state, left).expect(UNPOISONED).0
                }
            };
        }
    }

    /// Core seconds that were used so far.
    pub(crate) fn used(&self) -> f64 {
        let mut state = self.state();
        state.advance(Instant::now());
        state.used
    }

    /// Ends all bursts without a result, now and from now on.
    pub(crate) fn close(&self) {
        let mut state = self.state();
        state.closed = true;
        state.running.clear();
        self.changed.notify_all();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect(UNPOISONED)
    }
}

impl State {
    /// Virtual time that passes in a second.
    fn pace(&self) -> f64 {
        (self.cores / self.running.len().max(1) as f64).min(1.0)
    }

    /// The planned end of the first burst, if nothing changes.
    fn next_end(&self) -> Option<Instant> {
        let Reverse(first) = self.running.peek()?;
        let left = (first.ends - self.virtual_time).max(0.0) / self.pace();
        Some(self.advanced + Duration::try_from_secs_f64(left).unwrap_or(LONGEST).min(LONGEST))
    }

    /// Ends the bursts that are planned to end until now, in order, each at its own time.
    fn advance(&mut self, now: Instant) {
        while let Some(at) = self.next_end().filter(|at| *at <= now) {
            let n = self.running.len() as f64;
            let Some(Reverse(burst)) = self.running.pop() else { return };
            self.used += n * (burst.ends - self.virtual_time).max(0.0);
            (self.virtual_time, self.advanced) = (burst.ends, at);
            // A burst whose thread is gone has used its time all the same.
            let _ = burst.ended.send(at);
        }
        if now <= self.advanced {
            return;
        }
        let passed = self.pace() * (now - self.advanced).as_secs_f64();
        self.used += self.running.len() as f64 * passed;
        self.virtual_time = if self.running.is_empty() { 0.0 } else { self.virtual_time + passed };
        self.advanced = now;
    }

    /// Adds a burst; returns whether it is the first to end.
    fn join(&mut self, work: f64, ended: SyncSender<Instant>) -> bool {
        self.sequence += 1;
        let (ends, sequence) = (self.virtual_time + work, self.sequence);
        self.running.push(Reverse(Burst { ends, sequence, ended }));
        self.running.peek().is_some_and(|Reverse(first)| first.sequence == sequence)
    }
}

impl Ord for Burst {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.ends.total_cmp(&other.ends).then(self.sequence.cmp(&other.sequence))
    }
}

impl PartialOrd for Burst {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Burst {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Burst {}

const UNPOISONED: &str = "nothing panics while it holds the processor's state";
/// Keeps instants in the range of the clock; no burst of a test lasts longer.
const LONGEST: Duration = Duration::from_secs(86_400);
/// So that an end that is due within the resolution of a timer does not become a busy loop.
const SHORTEST: Duration = Duration::from_micros(1);

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    fn at(state: &State, seconds: f64) -> Instant {
        state.advanced + Duration::from_secs_f64(seconds)
    }

    fn processor(cores: f64) -> State {
        VirtualProcessor::new(cores).state.into_inner().unwrap()
    }

    /// Joins these amounts of work at these times; returns when each ends, in seconds since the beginning.
    fn ends(cores: f64, work: &[(f64, f64)]) -> (Vec<f64>, f64) {
        let mut state = processor(cores);
        let began = state.advanced;
        let mut found = Vec::new();
        for (joins, amount) in work {
            let when = began + Duration::from_secs_f64(*joins);
            state.advance(when);
            let (ended, end) = sync_channel(1);
            state.join(*amount, ended);
            found.push(end);
        }
        let last = at(&state, 1000.0);
        state.advance(last);
        let since = |end: Receiver<Instant>| end.recv().unwrap().duration_since(began).as_secs_f64();
        (found.into_iter().map(since).collect(), state.used)
    }

    #[test]
    fn work_takes_as_long_as_its_share_of_the_allotment() {
        for (cores, work, expected) in [
            // Alone on half a core.
            (0.5, vec![(0.0, 1.0)], vec![2.0]),
            // Two on half a core: each has a quarter until the shorter one ends at 4 s; then the other has a half.
            (0.5, vec![(0.0, 1.0), (0.0, 2.0)], vec![4.0, 6.0]),
            // The second joins after a second, in which the first had the core for itself.
            (1.0, vec![(0.0, 2.0), (1.0, 2.0)], vec![3.0, 4.0]),
            // Two cores: two bursts do not share, three do.
            (2.0, vec![(0.0, 1.0), (0.0, 1.0)], vec![1.0, 1.0]),
            (2.0, vec![(0.0, 1.0), (0.0, 1.0), (0.0, 1.0)], vec![1.5, 1.5, 1.5]),
            // It is idle in between.
            (1.0, vec![(0.0, 1.0), (5.0, 1.0)], vec![1.0, 6.0]),
        ] {
            let (found, used) = ends(cores, &work);
            for (found, expected) in found.iter().zip(&expected) {
                assert!((found - expected).abs() < 1e-6, "{cores} {work:?}: {found} and not {expected}");
            }
            let all: f64 = work.iter().map(|(_, amount)| amount).sum();
            assert!((used - all).abs() < 1e-6, "{cores} {work:?}: {used} of {all} core seconds");
        }
    }

    #[test]
    fn a_late_look_changes_no_end() {
        // Looked at each 0.1 s or only at the end: the same ends.
        let mut often = processor(0.5);
        let began = often.advanced;
        let mut found = Vec::new();
        for place in 0..50_u32 {
            often.advance(began + Duration::from_millis(100) * place);
            if place % 5 == 0 {
                let (ended, end) = sync_channel(1);
                often.join(0.2, ended);
                found.push(end);
            }
        }
        often.advance(began + Duration::from_secs(100));
        let (once, _) = ends(0.5, &(0..10).map(|place| (0.5 * f64::from(place), 0.2)).collect::<Vec<_>>());
        for (end, expected) in found.into_iter().zip(once) {
            let found = end.recv().unwrap().duration_since(began).as_secs_f64();
            assert!((found - expected).abs() < 1e-6, "{found} and not {expected}");
        }
    }

    #[test]
    fn threads_wait_for_their_end_and_no_longer_when_it_closes() {
        let processor = VirtualProcessor::new(0.5);
        thread::scope(|scope| {
            scope.spawn(|| processor.run());
            let begin = Instant::now();
            let end = processor.work(Duration::from_millis(20)).unwrap();
            assert!(begin.elapsed() >= Duration::from_millis(39), "{:?}", begin.elapsed());
            assert!(end.duration_since(begin) < Duration::from_millis(45), "planned late");
            assert!((processor.used() - 0.02).abs() < 1e-3, "{}", processor.used());
            let waits = scope.spawn(|| processor.work(Duration::from_secs(60)));
            thread::sleep(Duration::from_millis(20));
            processor.close();
            assert_eq!(waits.join().unwrap(), None);
            assert_eq!(processor.work(Duration::from_millis(1)), None);
        });
    }
}
