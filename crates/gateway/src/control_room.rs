//! The state that the workers and the rest of the gateway share: the configuration in force, the counts, the shutdown.
//! Nothing here is used per request.

use crate::admin::Flows;
use crate::clients::Clients;
use crate::metrics::{Counts, Published, RouteTable, Totals};
use crate::mirror::{Ends, Pause};
use crate::shared::{Shared, lock};
use crate::worker::crowd::{ASKED_MAX, Seen, Whom};
use control::policy::Transition;
use http::reactor::Waker;
use rule::RuleError;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};
use tokio::sync::oneshot;
use units::Timestamp;

/// A change of a policy, for observers.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// When, since the start of the gateway.
    pub at: Timestamp,
    /// The policy's name.
    pub policy: String,
    /// What changed, and why.
    pub transition: Transition,
}

/// A change of an adaptive concurrency limit, for observers.
#[derive(Debug, Clone, PartialEq)]
pub struct LimitChange {
    /// The limit's name.
    pub limit: String,
    /// When, since the start of the gateway, what changed, and why.
    pub change: control::concurrency::Change,
}

/// A response of an instance that violated HTTP: the last of several, for observers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MalformedAnswer {
    /// The instance that sent it.
    pub instance: SocketAddr,
    /// The name of the rule that it violated, as in the access log.
    pub rule: &'static str,
    /// The rule in a sentence.
    pub detail: String,
    /// How many there were, from all instances, since the last call.
    pub count: u64,
}

/// A request to reload the configuration.
///
/// If it is dropped without a reply, the gateway is ending.
#[derive(Debug)]
pub struct Reload(oneshot::Sender<Result<(), String>>);

impl Reload {
    /// Replies with the outcome; the error is a sentence for people.
    pub fn answer(self, outcome: Result<(), String>) {
        // The requester may have stopped waiting.
        let _ = self.0.send(outcome);
    }
}

/// The changes of policies that are kept.
#[derive(Debug, Default)]
struct Changes {
    kept: VecDeque<Change>,
    /// How many of the last ones were not taken yet.
    untold: usize,
}

#[derive(Debug)]
pub(crate) struct ControlRoom {
    version: AtomicU64,
    shared: Mutex<Arc<Shared>>,
    /// Replaced configurations. Freeing one with thousands of routes takes milliseconds, which would delay a worker.
    replaced: Mutex<Vec<Arc<Shared>>>,
    /// Held while a new configuration is derived from the one in force.
    changing: Mutex<()>,
    draining: AtomicBool,
    /// Client connections of all workers.
    connections: AtomicU64,
    /// Client connections by address, where they are bounded.
    pub(crate) clients: Clients,
    /// What workers know of each other's connections.
    pub(crate) crowds: Vec<Seen>,
    /// Wakes the workers.
    pub(crate) wakers: OnceLock<Vec<Arc<Waker>>>,
    /// By worker.
    counts: Vec<Mutex<Published>>,
    changes: Mutex<Changes>,
    limit_changes: Mutex<VecDeque<LimitChange>>,
    reloads: Mutex<VecDeque<Reload>>,
    rule_notes: Mutex<RuleNotes>,
    malformed: Mutex<Option<MalformedAnswer>>,
    log_reopenings: AtomicU64,
    /// Where workers put copies.
    pub(crate) mirror: Ends,
    /// While it is in force, nothing is copied.
    pub(crate) pause: Pause,
}

/// Messages of rules since the last call: the last error, and lines that they logged.
#[derive(Debug, Default)]
pub(crate) struct RuleNotes {
    pub(crate) error: Option<RuleError>,
    pub(crate) lines: Vec<String>,
}

impl ControlRoom {
    pub(crate) fn new(shared: Shared, workers: usize) -> Self {
        ControlRoom {
            version: AtomicU64::new(0),
            shared: Mutex::new(Arc::new(shared)),
            replaced: Mutex::default(),
            changing: Mutex::new(()),
            draining: AtomicBool::new(false),
            connections: AtomicU64::new(0),
            clients: Clients::default(),
            crowds: (0..workers).map(|_| Seen::default()).collect(),
            wakers: OnceLock::new(),
            counts: (0..workers).map(|_| Mutex::default()).collect(),
            changes: Mutex::default(),
            limit_changes: Mutex::new(VecDeque::new()),
            reloads: Mutex::default(),
            rule_notes: Mutex::default(),
            malformed: Mutex::default(),
            log_reopenings: AtomicU64::new(0),
            mirror: Ends::default(),
            pause: Pause::default(),
        }
    }

    /// Counts a client connection, if there are fewer than `most`.
    pub(crate) fn connection_opened(&self, most: u32) -> bool {
        let more = |open| (open < u64::from(most)).then_some(open + 1);
        self.connections.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
    }

    /// Asks another worker to close a connection, and before that counts a client of this worker.
    pub(crate) fn ask_for_place(&self, worker: usize, whom: Whom, most: u32) -> bool {
        for (other, seen) in self.crowds.iter().enumerate().filter(|&(other, _)| other != worker) {
            let (has, first) = seen.ask(whom);
            if let (true, Some(waker)) = (first, self.wakers.get().and_then(|wakers| wakers.get(other))) {
                // A worker that cannot be woken looks at its next tick.
                let _ = waker.wake();
            }
            if has {
                return self.connection_opened(most.saturating_add(ASKED_MAX));
            }
        }
        false
    }

    pub(crate) fn connection_closed(&self) {
        self.connections.fetch_sub(1, Ordering::Relaxed);
    }

    /// The configuration in force, with its version.
    pub(crate) fn current(&self) -> (u64, Arc<Shared>) {
        let shared = lock(&self.shared);
        (self.version.load(Ordering::Relaxed), Arc::clone(&shared))
    }

    /// Locks the configuration against other changes, so that none is lost to a concurrent one.
    pub(crate) fn alone(&self) -> MutexGuard<'_, ()> {
        lock(&self.changing)
    }

    /// Puts another configuration in force; each worker begins to take it over at its next tick, and uses it once it
    /// has loaded the rules.
    pub(crate) fn replace(&self, new: Shared) {
        let mut shared = lock(&self.shared);
        let old = std::mem::replace(&mut *shared, Arc::new(new));
        self.version.fetch_add(1, Ordering::Relaxed);
        drop(shared);
        lock(&self.replaced).push(old);
    }

    /// Frees the replaced configurations that no worker uses any more.
    pub(crate) fn free_replaced(&self) {
        let mut replaced = lock(&self.replaced);
        // A configuration without another owner can no longer be reached.
        let unused: Vec<_> = replaced.extract_if(.., |old| Arc::strong_count(old) == 1).collect();
        drop(replaced);
        drop(unused);
    }

    /// Accepts no more clients; the requests in flight still get their responses.
    pub(crate) fn drain(&self) {
        self.draining.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }

    /// Publishes a worker's counts. If they are being read, the worker does not wait: the next call publishes them too.
    pub(crate) fn publish(&self, worker: usize, counts: &Counts, routes: &mut RouteTable) {
        match self.counts[worker].try_lock() {
            Ok(mut published) => published.publish(counts, routes),
            Err(TryLockError::Poisoned(error)) => error.into_inner().publish(counts, routes),
            Err(TryLockError::WouldBlock) => {}
        }
    }

    /// The sum of the counts of all workers for a configuration; its time is the mean of their publication times.
    pub(crate) fn counts(&self, shared: &Arc<Shared>) -> Counts {
        sum(self.counts.iter().map(|published| lock(published).counts()), shared)
    }

    /// The same, with the growth of each route's counts in the last second.
    ///
    /// A rate that a reader computes from two reads of counters depends on when it read them; here all readers get the
    /// same rate, even with one read.
    pub(crate) fn counts_and_flows(&self, shared: &Arc<Shared>) -> (Counts, Vec<Flows>) {
        let mut flows: Vec<Flows> = Vec::new();
        flows.resize_with(shared.settings.routes.len(), Flows::default);
        let of_worker = |published: &Mutex<Published>| {
            let (counts, seconds, before) = lock(published).with_before();
            let places = counts.view.as_ref().map_or_else(Vec::new, |view| shared.places_of(view));
            for (index, (route, place)) in counts.routes.iter().zip(places).enumerate() {
                let (Some(route), Some(place)) = (route, place) else { continue };
                flows[place].add(before.get(&index), &Totals::of(route), seconds);
            }
            counts
        };
        let all = sum(self.counts.iter().map(of_worker), shared);
        (all, flows)
    }

    /// Asks for a reload of the configuration.
    pub(crate) fn ask_reload(&self) -> oneshot::Receiver<Result<(), String>> {
        let (answer, answered) = oneshot::channel();
        let mut reloads = lock(&self.reloads);
        if reloads.len() == RELOADS_KEPT {
            // The oldest waiting request is dropped.
            reloads.pop_front();
        }
        reloads.push_back(Reload(answer));
        answered
    }

    /// A pending request to reload the configuration.
    pub(crate) fn take_reload(&self) -> Option<Reload> {
        lock(&self.reloads).pop_front()
    }

    pub(crate) fn note(&self, shared: &Shared, at: Timestamp, transitions: Vec<(usize, Transition)>) {
        if transitions.is_empty() {
            return;
        }
        let mut changes = lock(&self.changes);
        for (policy, transition) in transitions {
            if changes.kept.len() == CHANGES_KEPT {
                changes.kept.pop_front();
            }
            let policy = shared.settings.policies[policy].name.clone();
            changes.kept.push_back(Change { at, policy, transition });
            changes.untold = (changes.untold + 1).min(CHANGES_KEPT);
        }
    }

    /// Makes each worker reopen the access log at its next tick.
    pub(crate) fn reopen_logs(&self) {
        self.log_reopenings.fetch_add(1, Ordering::Relaxed);
    }

    /// How often reopening the access log was requested.
    pub(crate) fn log_reopenings(&self) -> u64 {
        self.log_reopenings.load(Ordering::Relaxed)
    }

    pub(crate) fn note_limits(&self, shared: &Shared, changes: Vec<(usize, control::concurrency::Change)>) {
        if changes.is_empty() {
            return;
        }
        let mut kept = lock(&self.limit_changes);
        for (limit, change) in changes {
            if kept.len() == CHANGES_KEPT {
                kept.pop_front();
            }
            let limit = shared.settings.concurrency_limits[limit].name.clone();
            kept.push_back(LimitChange { limit, change });
        }
    }

    /// The changes of adaptive limits since the last call.
    pub(crate) fn take_limit_changes(&self) -> Vec<LimitChange> {
        lock(&self.limit_changes).drain(..).collect()
    }

    /// Keeps the messages of a worker's rules for observers; all of them are counted as well.
    pub(crate) fn note_rules(&self, notes: &mut RuleNotes) {
        let mut all = lock(&self.rule_notes);
        if let Some(error) = notes.error.take() {
            all.error = Some(error);
        }
        let room = RULE_LINES_KEPT.saturating_sub(all.lines.len());
        all.lines.extend(notes.lines.drain(..).take(room));
    }

    /// The last error of a rule since the last call.
    pub(crate) fn take_rule_error(&self) -> Option<RuleError> {
        lock(&self.rule_notes).error.take()
    }

    /// Lines that rules have logged since the last call.
    pub(crate) fn take_rule_lines(&self) -> Vec<String> {
        std::mem::take(&mut lock(&self.rule_notes).lines)
    }

    /// Keeps a worker's last malformed response for observers.
    pub(crate) fn note_malformed(&self, new: MalformedAnswer) {
        let mut kept = lock(&self.malformed);
        let before = kept.take().map_or(0, |old| old.count);
        *kept = Some(MalformedAnswer { count: before + new.count, ..new });
    }

    /// The last malformed response since the last call.
    pub(crate) fn take_malformed(&self) -> Option<MalformedAnswer> {
        lock(&self.malformed).take()
    }

    /// The changes of policies since the last call.
    pub(crate) fn take_changes(&self) -> Vec<Change> {
        let mut changes = lock(&self.changes);
        let told = changes.kept.len() - std::mem::take(&mut changes.untold);
        changes.kept.iter().skip(told).cloned().collect()
    }

    /// The recent changes of policies, taken or not, the latest last.
    pub(crate) fn recent_changes(&self) -> Vec<Change> {
        lock(&self.changes).kept.iter().cloned().collect()
    }
}

/// The counts of all workers together.
fn sum(workers: impl ExactSizeIterator<Item = Counts>, shared: &Arc<Shared>) -> Counts {
    let (mut all, mut nanos, count) = (Counts::default(), 0, workers.len().max(1) as u128);
    for counts in workers {
        nanos += u128::from(counts.at.as_nanos());
        all.add(&counts.of(shared));
    }
    all.at = Timestamp::from_nanos((nanos / count) as u64);
    all
}

/// The most lines of rules that are kept for observers; later ones are only counted.
const RULE_LINES_KEPT: usize = 100;

/// The most changes that are kept for observers; the oldest is dropped first.
const CHANGES_KEPT: usize = 1_000;

/// The most reload requests that may wait; the gateway's runner looks ten times a second.
const RELOADS_KEPT: usize = 16;
