//! What the workers and the rest of the gateway tell each other: the configuration that is in force, the counts, the
//! end. Nothing here is touched for each request.

use crate::admin::History;
use crate::metrics::Counts;
use crate::shared::{Shared, lock};
use control::policy::Transition;
use rule::RuleError;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
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
    draining: AtomicBool,
    counts: Mutex<Vec<Counts>>,
    changes: Mutex<Changes>,
    reloads: Mutex<VecDeque<Reload>>,
    history: History,
    rule_error: Mutex<Option<RuleError>>,
    log_reopenings: AtomicU64,
}

impl ControlRoom {
    pub(crate) fn new(shared: Shared, workers: usize) -> Self {
        ControlRoom {
            version: AtomicU64::new(0),
            shared: Mutex::new(Arc::new(shared)),
            draining: AtomicBool::new(false),
            counts: Mutex::new(vec![Counts::default(); workers]),
            changes: Mutex::default(),
            reloads: Mutex::default(),
            history: History::default(),
            rule_error: Mutex::new(None),
            log_reopenings: AtomicU64::new(0),
        }
    }

    /// The configuration in force, with its version.
    pub(crate) fn current(&self) -> (u64, Arc<Shared>) {
        let shared = lock(&self.shared);
        (self.version.load(Ordering::Relaxed), Arc::clone(&shared))
    }

    /// Puts another configuration in force; each worker takes it over at its next tick.
    pub(crate) fn replace(&self, new: Shared) {
        let mut shared = lock(&self.shared);
        *shared = Arc::new(new);
        self.version.fetch_add(1, Ordering::Relaxed);
    }

    /// No more clients; the requests in flight are answered.
    pub(crate) fn drain(&self) {
        self.draining.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }

    pub(crate) fn publish(&self, worker: usize, counts: &Counts) {
        lock(&self.counts)[worker].clone_from(counts);
    }

    /// The counts of all workers for a configuration, as of the middle of their times.
    pub(crate) fn counts(&self, shared: &Arc<Shared>) -> Counts {
        let mut all = Counts::default();
        let workers = lock(&self.counts);
        workers.iter().for_each(|counts| all.add(&counts.of(shared)));
        let nanos: u128 = workers.iter().map(|counts| u128::from(counts.at.as_nanos())).sum();
        all.at = Timestamp::from_nanos((nanos / workers.len().max(1) as u128) as u64);
        all
    }

    /// The last second of the counts.
    pub(crate) fn history(&self) -> &History {
        &self.history
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

    /// Keeps the last error of a rule for whoever watches; all are counted.
    pub(crate) fn note_rule_error(&self, error: RuleError) {
        *lock(&self.rule_error) = Some(error);
    }

    /// The last error of a rule since this was last asked.
    pub(crate) fn take_rule_error(&self) -> Option<RuleError> {
        lock(&self.rule_error).take()
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

/// Changes kept for somebody who asks; the oldest goes first.
const CHANGES_KEPT: usize = 1_000;

/// Reloads that may wait; whoever runs the gateway looks ten times a second.
const RELOADS_KEPT: usize = 16;
