//! When a target that is reached over a network is asked, and how long a size is tried.
//!
//! A state is read at intervals. After a failure nothing is asked for a while, which grows. A higher size is tried until it is
//! set. A lower one is withdrawn after ten seconds, because the decision is old by then.

use crate::target::{Event, RemoteTarget, Snapshot, Target, TargetError};
use std::time::{Duration, Instant};

/// A target over a network.
pub struct Remote {
    target: Box<dyn RemoteTarget>,
    last: Option<(Instant, Snapshot)>,
    /// The last problem, how many there were in a row, and until when nothing is tried.
    failed: Option<(TargetError, u32, Instant)>,
    /// The size to set, and since when.
    pending: Option<(u32, Instant)>,
    events: Vec<Event>,
}

impl Remote {
    /// Nothing was attempted yet.
    pub fn new(target: Box<dyn RemoteTarget>) -> Self {
        Remote { target, last: None, failed: None, pending: None, events: Vec::new() }
    }

    /// See [`RemoteTarget::check`].
    ///
    /// # Errors
    /// Something is wrong.
    pub fn check(&mut self, apply: bool) -> Result<(), TargetError> {
        self.target.check(apply)
    }

    /// See [`RemoteTarget::lead`].
    ///
    /// # Errors
    /// It is not known who leads.
    pub fn lead(&mut self) -> Result<Option<String>, TargetError> {
        self.target.lead()
    }
}

impl Target for Remote {
    fn work(&mut self, set: Option<u32>) -> Result<Snapshot, TargetError> {
        if self.target.lost_lead() {
            return Err(TargetError("another scaler leads".to_owned()));
        }
        let now = Instant::now();
        if set != self.pending.map(|(size, _)| size) {
            self.pending = set.map(|size| (size, now));
        }
        if let Some((error, _, until)) = &self.failed
            && now < *until
        {
            return Err(error.clone());
        }
        if let Some((read, snapshot)) = &self.last
            && self.failed.is_none()
            && self.pending.is_none()
            && now.duration_since(*read) < self.target.each()
        {
            return Ok(snapshot.clone());
        }
        let last = self.last.as_ref().map(|(_, snapshot)| snapshot);
        let told = last.map(|snapshot| snapshot.size);
        // An old decision to remove instances is none.
        let lower = self.pending.filter(|(size, _)| told.is_some_and(|told| *size < told));
        let withdrawn = lower.filter(|(_, since)| since.elapsed() >= WITHDRAWN_AFTER).map(|(size, _)| size);
        if withdrawn.is_some() {
            self.pending = None;
        }
        match self.target.attempt(self.pending.map(|(size, _)| size), last) {
            Ok(mut snapshot) => {
                if !snapshot.stale && self.failed.take().is_some() {
                    self.events.push(Event(format!("`{}` is read again", self.target.name())));
                }
                self.last = Some((now, snapshot.clone()));
                self.pending = None;
                if let Some(size) = withdrawn {
                    let text =
                        format!("the size {size} could not be set for {WITHDRAWN_AFTER:?}, and is withdrawn");
                    self.events.push(Event(text));
                    snapshot.withdrawn = true;
                }
                Ok(snapshot)
            }
            Err(error) => {
                if let Some(size) = withdrawn {
                    // It stays withdrawn: it is as old as it was.
                    self.pending = now.checked_sub(WITHDRAWN_AFTER).map(|since| (size, since));
                }
                let failures = self.failed.as_ref().map_or(0, |(_, failures, _)| *failures);
                let wait = FIRST_WAIT.saturating_mul(1 << failures.min(2));
                self.failed = Some((error.clone(), failures + 1, Instant::now() + wait));
                Err(error)
            }
        }
    }

    fn events(&mut self) -> Vec<Event> {
        let mut events = self.target.events();
        events.append(&mut self.events);
        events
    }

    fn lost_lead(&self) -> bool {
        self.target.lost_lead()
    }
}

/// The wait after the first failure; it doubles twice.
const FIRST_WAIT: Duration = Duration::from_millis(500);

/// A lower size that could not be set for this long is withdrawn.
pub const WITHDRAWN_AFTER: Duration = Duration::from_secs(10);
