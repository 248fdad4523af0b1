//! What is scaled: something with a wanted size that works towards it.
//!
//! ## Why the wanted size is the target's
//! A person, another scaler or a deployment may change it too. So a target tells the size as it is, and a scaler that
//! reads another size than the one that it set knows that somebody else decided.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A target.
pub trait Target: Send {
    /// Sets the wanted size, if there is a new one, works towards it for a moment, and tells the state. Called several
    /// times a second, on a thread of its own; it may wait for some seconds.
    ///
    /// # Errors
    /// The target did not take the size, or its state is not known.
    fn work(&mut self, set: Option<u32>) -> Result<Snapshot, TargetError>;

    /// What happened since the last call.
    fn events(&mut self) -> Vec<Event>;

    /// Whether another scaler has the lead now; then nothing is to be set any more.
    fn lost_lead(&self) -> bool {
        false
    }
}

/// A target that is reached over a network, and that scalers of several machines share.
pub trait RemoteTarget: Send {
    /// What it is, such as `deployments.apps/web`.
    fn name(&self) -> String;

    /// How often it is read.
    fn each(&self) -> Duration;

    /// Finds what is wrong before anything is changed: names, rights, others that set the size. With `apply` sizes will
    /// be set.
    ///
    /// # Errors
    /// Something is.
    fn check(&mut self, apply: bool) -> Result<(), TargetError>;

    /// Tries to take the lead; gives who has it otherwise. It is kept by [`RemoteTarget::attempt`].
    ///
    /// # Errors
    /// It is not known who leads.
    fn lead(&mut self) -> Result<Option<String>, TargetError>;

    /// Sets a size, if there is one, and reads the state. `last` is the state that was read before. A size that somebody
    /// else set since then is not overwritten.
    ///
    /// # Errors
    /// The target did not take the size, or its state is not known.
    fn attempt(&mut self, set: Option<u32>, last: Option<&Snapshot>) -> Result<Snapshot, TargetError>;

    /// What happened since the last call.
    fn events(&mut self) -> Vec<Event>;

    /// Whether another scaler has the lead now; then nothing is to be set any more.
    fn lost_lead(&self) -> bool;
}

/// Why a target is not changed, in words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct TargetError(pub String);

/// Something that happened at a target, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event(pub String);

/// The state of a target.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Snapshot {
    /// The wanted size.
    pub size: u32,
    /// All instances that were started and are not gone.
    pub instances: Vec<Instance>,
    /// The size that was set last could not be set in time, and will not be any more.
    pub withdrawn: bool,
    /// The size is known, and the instances are those of before.
    pub stale: bool,
}

/// The phase of an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Its process runs and is not ready yet.
    Starting,
    /// It gets requests.
    Ready,
    /// It gets no new requests, or it is being stopped.
    Ending,
}

/// An instance.
#[derive(Debug, Clone, PartialEq)]
pub struct Instance {
    /// Its number, which is never reused.
    pub id: u64,
    /// The id of its process; none where that is not known.
    pub process: Option<u32>,
    /// The port of this machine; none where it runs elsewhere.
    pub port: Option<u16>,
    /// Its phase.
    pub phase: Phase,
    /// When it was started; none: before this scaler began.
    pub started: Option<Instant>,
    /// Since when it is ready; none: it is not, or was before this scaler began.
    pub ready: Option<Instant>,
    /// Its use, where the target says it; otherwise it is read of its process or port.
    pub usage: Option<Usage>,
}

/// What an instance uses.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Usage {
    /// Cores that it uses; none: nothing was measured of it yet.
    pub used: Option<f64>,
    /// Cores that it has requested; none: those of the case file.
    pub allotted: Option<f64>,
    /// Memory in use, in bytes.
    pub memory: Option<u64>,
}

/// A target that works on a thread of its own.
#[derive(Debug)]
pub(crate) struct Worker {
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
    set: Option<u32>,
    snapshot: Snapshot,
    error: Option<String>,
    events: Vec<Event>,
    /// When the state was told last.
    told: Option<Instant>,
    withdrawn: bool,
    lost_lead: bool,
}

impl Worker {
    /// Starts the thread; `first` is the state that the target has told before.
    pub(crate) fn start<T: Target + ?Sized + 'static>(
        mut target: Box<T>,
        first: Snapshot,
    ) -> std::io::Result<Self> {
        let shared = Arc::new(Shared::default());
        lock(&shared).snapshot = first;
        lock(&shared).told = Some(Instant::now());
        let of_thread = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("target".to_owned()).spawn(move || {
            while !of_thread.ends.load(Ordering::Relaxed) {
                let set = lock(&of_thread).set;
                let worked = target.work(set);
                let mut state = lock(&of_thread);
                match worked {
                    Ok(snapshot) => {
                        // A newer size may have been set meanwhile.
                        if state.set == set {
                            state.set = None;
                        }
                        state.withdrawn |= snapshot.withdrawn;
                        state.snapshot = snapshot;
                        if !state.snapshot.stale {
                            state.told = Some(Instant::now());
                        }
                        state.error = None;
                    }
                    Err(error) => {
                        if state.error.as_ref() != Some(&error.0) {
                            state.events.push(Event(error.0.clone()));
                        }
                        state.error = Some(error.0);
                    }
                }
                state.events.extend(target.events());
                state.lost_lead = target.lost_lead();
                let excess = state.events.len().saturating_sub(EVENTS_KEPT);
                state.events.drain(..excess);
                drop(state);
                std::thread::sleep(EACH);
            }
            // A size of the last step was told as set.
            let set = lock(&of_thread).set;
            if set.is_some() {
                let _ = target.work(set);
            }
        })?;
        Ok(Worker { shared, thread: Some(thread) })
    }

    /// Sets the size; the last one counts.
    pub(crate) fn set(&self, size: u32) {
        lock(&self.shared).set = Some(size);
    }

    /// The last known state. A size that was set counts at once, and one that was withdrawn is told once.
    pub(crate) fn snapshot(&self) -> Snapshot {
        let mut state = lock(&self.shared);
        let mut snapshot = state.snapshot.clone();
        snapshot.size = state.set.unwrap_or(snapshot.size);
        snapshot.withdrawn = std::mem::take(&mut state.withdrawn);
        snapshot
    }

    /// The time since the target has told its state.
    pub(crate) fn age(&self) -> Duration {
        lock(&self.shared).told.map_or(Duration::MAX, |told| told.elapsed())
    }

    /// Whether another scaler leads.
    pub(crate) fn lost_lead(&self) -> bool {
        lock(&self.shared).lost_lead
    }

    /// What happened since the last call.
    pub(crate) fn events(&self) -> Vec<Event> {
        std::mem::take(&mut lock(&self.shared).events)
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.shared.ends.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn lock(shared: &Shared) -> std::sync::MutexGuard<'_, State> {
    shared.state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How often a target works.
const EACH: Duration = Duration::from_millis(100);

/// Events that nobody has taken; the oldest is dropped first.
const EVENTS_KEPT: usize = 1_000;

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{Sender, channel};

    /// Tells the sizes that it is given.
    struct Told(Sender<u32>);

    impl Target for Told {
        fn work(&mut self, set: Option<u32>) -> Result<Snapshot, TargetError> {
            set.map(|size| self.0.send(size));
            Ok(Snapshot { size: set.unwrap_or(1), ..Snapshot::default() })
        }

        fn events(&mut self) -> Vec<Event> {
            Vec::new()
        }
    }

    #[test]
    fn a_size_that_is_set_last_is_carried_out() {
        for _ in 0..5 {
            let (told, sizes) = channel();
            let worker = Worker::start(Box::new(Told(told)), Snapshot::default()).unwrap();
            worker.set(7);
            drop(worker);
            assert_eq!(sizes.iter().collect::<Vec<_>>(), [7]);
            let (told, sizes) = channel();
            let worker = Worker::start(Box::new(Told(told)), Snapshot::default()).unwrap();
            // It waits for its next turn now.
            std::thread::sleep(Duration::from_millis(20));
            worker.set(7);
            worker.set(8);
            drop(worker);
            assert_eq!(sizes.iter().collect::<Vec<_>>(), [8]);
        }
    }
}
