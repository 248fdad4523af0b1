//! What the workers and the rest of the gateway tell each other: the configuration that is in force, the counts, the
//! end. Nothing here is touched for each request.

use crate::admin::Flows;
use crate::clients::Clients;
use crate::metrics::{Counts, Published, RouteTable, Totals};
use crate::mirror::Ends;
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

/// A change of a policy, for whoever watches.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// When, since the gateway began.
    pub at: Timestamp,
    /// The policy's name.
    pub policy: String,
    /// What changed, and why.
    pub transition: Transition,
}

/// A change of an adaptive concurrency limit, for whoever watches.
#[derive(Debug, Clone, PartialEq)]
pub struct LimitChange {
    /// The limit's name.
    pub limit: String,
    /// When, since the gateway began, what changed, and why.
    pub change: control::concurrency::Change,
}

/// An instance's answer that broke HTTP: the last of several, for whoever watches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MalformedAnswer {
    /// The instance that gave it.
    pub instance: SocketAddr,
    /// The name of the rule that it broke, as in the access log.
    pub rule: &'static str,
    /// The rule in a sentence.
    pub detail: String,
    /// How many there were, of all instances, since this was last asked.
    pub count: u64,
}

/// Somebody wants the configuration read anew.
///
/// Dropped without an answer, it tells that the gateway ends.
#[derive(Debug)]
pub struct Reload(oneshot::Sender<Result<(), String>>);

impl Reload {
    /// Tells what came of it; the error is a sentence for people.
    pub fn answer(self, outcome: Result<(), String>) {
        // Who does not wait any more does not want to know.
        let _ = self.0.send(outcome);
    }
}

/// The changes of policies that are kept.
#[derive(Debug, Default)]
struct Changes {
    kept: VecDeque<Change>,
    /// How many of the last ones nobody has taken yet.
    untold: usize,
}

#[derive(Debug)]
pub(crate) struct ControlRoom {
    version: AtomicU64,
    shared: Mutex<Arc<Shared>>,
    /// Configurations that were replaced. To free one of thousands of routes takes milliseconds, which no worker has.
    replaced: Mutex<Vec<Arc<Shared>>>,
    /// Held by whoever makes a new configuration out of the one in force.
    changing: Mutex<()>,
    draining: AtomicBool,
    /// Client connections of all workers.
    connections: AtomicU64,
    /// Client connections by address, where that has a bound.
    pub(crate) clients: Clients,
    /// What workers know of each other's connections.
    pub(crate) crowds: Vec<Seen>,
    /// What wakes the workers.
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
}

/// What rules have to say since somebody asked: the last error, and lines that they logged.
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
        }
    }

    /// Counts a client connection in, where there are fewer than so many.
    pub(crate) fn connection_opened(&self, most: u32) -> bool {
        let more = |open| (open < u64::from(most)).then_some(open + 1);
        self.connections.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
    }

    /// Has another worker give up a connection, and counts a client of this worker's in before that.
    pub(crate) fn ask_for_place(&self, worker: usize, whom: Whom, most: u32) -> bool {
        for (other, seen) in self.crowds.iter().enumerate().filter(|&(other, _)| other != worker) {
            let (has, first) = seen.ask(whom);
            if let (true, Some(waker)) = (first, self.wakers.get().and_then(|wakers| wakers.get(other))) {
                // One that cannot be woken looks at its next tick.
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

    /// Keeps others from changing the configuration, so that no change is lost to one made at the same time.
    pub(crate) fn alone(&self) -> MutexGuard<'_, ()> {
        lock(&self.changing)
    }

    /// Puts another configuration in force; each worker begins to take it over at its next tick, and uses
    /// it once it has loaded the rules.
    pub(crate) fn replace(&self, new: Shared) {
        let mut shared = lock(&self.shared);
        let old = std::mem::replace(&mut *shared, Arc::new(new));
        self.version.fetch_add(1, Ordering::Relaxed);
        drop(shared);
        lock(&self.replaced).push(old);
    }

    /// Frees the configurations that were replaced and that no worker uses any more.
    pub(crate) fn free_replaced(&self) {
        let mut replaced = lock(&self.replaced);
        // Nobody can get at a configuration again that has no other owner.
        let unused: Vec<_> = replaced.extract_if(.., |old| Arc::strong_count(old) == 1).collect();
        drop(replaced);
        drop(unused);
    }

    /// No more clients; the requests in flight are answered.
    pub(crate) fn drain(&self) {
        self.draining.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }

    /// Publishes what a worker counted. Where somebody reads that just now, the worker does not wait: the next time
    /// publishes it too.
    pub(crate) fn publish(&self, worker: usize, counts: &Counts, routes: &mut RouteTable) {
        match self.counts[worker].try_lock() {
            Ok(mut published) => published.publish(counts, routes),
            Err(TryLockError::Poisoned(error)) => error.into_inner().publish(counts, routes),
            Err(TryLockError::WouldBlock) => {}
        }
    }

    /// The counts of all workers for a configuration, as of the middle of their times.
    pub(crate) fn counts(&self, shared: &Arc<Shared>) -> Counts {
        sum(self.counts.iter().map(|published| lock(published).counts()), shared)
    }

    /// The same, with how each route's counts grew in the last second.
    ///
    /// A rate that a reader makes of two looks at counters depends on when it looked; here all readers see the same,
    /// also one that looks once.
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

    /// Asks whoever runs the gateway to read its configuration anew.
    pub(crate) fn ask_reload(&self) -> oneshot::Receiver<Result<(), String>> {
        let (answer, answered) = oneshot::channel();
        let mut reloads = lock(&self.reloads);
        if reloads.len() == RELOADS_KEPT {
            // Who has waited longest has waited in vain.
            reloads.pop_front();
        }
        reloads.push_back(Reload(answer));
        answered
    }

    /// Somebody wants the configuration read anew.
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

    /// Has each worker open the access log anew at its next tick.
    pub(crate) fn reopen_logs(&self) {
        self.log_reopenings.fetch_add(1, Ordering::Relaxed);
    }

    /// How often the access log was to be opened anew.
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

    /// The changes of adaptive limits since this was last asked.
    pub(crate) fn take_limit_changes(&self) -> Vec<LimitChange> {
        lock(&self.limit_changes).drain(..).collect()
    }

    /// Keeps what the rules of a worker have to say for whoever watches; all of it is counted as well.
    pub(crate) fn note_rules(&self, notes: &mut RuleNotes) {
        let mut all = lock(&self.rule_notes);
        if let Some(error) = notes.error.take() {
            all.error = Some(error);
        }
        let room = RULE_LINES_KEPT.saturating_sub(all.lines.len());
        all.lines.extend(notes.lines.drain(..).take(room));
    }

    /// The last error of a rule since this was last asked.
    pub(crate) fn take_rule_error(&self) -> Option<RuleError> {
        lock(&self.rule_notes).error.take()
    }

    /// Lines that rules have logged since this was last asked.
    pub(crate) fn take_rule_lines(&self) -> Vec<String> {
        std::mem::take(&mut lock(&self.rule_notes).lines)
    }

    /// Keeps a worker's last malformed answer for whoever watches.
    pub(crate) fn note_malformed(&self, new: MalformedAnswer) {
        let mut kept = lock(&self.malformed);
        let before = kept.take().map_or(0, |old| old.count);
        *kept = Some(MalformedAnswer { count: before + new.count, ..new });
    }

    /// The last malformed answer since this was last asked.
    pub(crate) fn take_malformed(&self) -> Option<MalformedAnswer> {
        lock(&self.malformed).take()
    }

    /// The changes of policies since this was last asked.
    pub(crate) fn take_changes(&self) -> Vec<Change> {
        let mut changes = lock(&self.changes);
        let told = changes.kept.len() - std::mem::take(&mut changes.untold);
        changes.kept.iter().skip(told).cloned().collect()
    }

    /// The recent changes of policies, told or not, the latest last.
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

/// Lines of rules kept for somebody who asks; later ones are only counted.
const RULE_LINES_KEPT: usize = 100;

/// Changes kept for somebody who asks; the oldest goes first.
const CHANGES_KEPT: usize = 1_000;

/// Reloads that may wait; whoever runs the gateway looks ten times a second.
const RELOADS_KEPT: usize = 16;
