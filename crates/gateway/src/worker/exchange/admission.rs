//! What the limits of its route know of a request, and how long it has waited for them.

use crate::worker::claims::Claims;
use control::admission::{Admitted, Watched};
use control::concurrency::Priority;
use control::rate::RateClass;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;
use units::Timestamp;

/// What the limits of its route know of a request.
#[derive(Debug, Default)]
pub(in crate::worker) struct Admission {
    /// What the limits gave it when they counted it.
    admitted: Option<Admitted>,
    /// Since when.
    at: Timestamp,
    claims: Claims,
    /// What the shadow limits recorded for it.
    watched: [Option<Watched>; 2],
    waited: Duration,
}

impl Admission {
    /// Sets the values in its head that limits beyond the plain ones need.
    pub(in crate::worker) fn claim(&mut self, claims: Claims) {
        self.claims = claims;
    }

    /// The rate class of one of its keys; each is taken once.
    pub(in crate::worker) fn take_class(&mut self, number: usize) -> Option<Arc<RateClass<AtomicU64>>> {
        self.claims.take_class(number)
    }

    /// Adds the time that it has waited for a rate class or a slot.
    #[inline]
    pub(in crate::worker) fn add_wait(&mut self, waited: Duration) {
        self.waited += waited;
    }

    /// Its limits admit it, and count it.
    #[inline]
    pub(in crate::worker) fn admit(&mut self, admitted: Admitted, now: Timestamp) {
        self.waited += admitted.waited();
        self.admitted = Some(admitted);
        self.at = now;
    }

    /// A shadow limit has seen it admitted.
    pub(in crate::worker) fn watch(&mut self, number: usize, watched: Watched) {
        self.watched[number] = Some(watched);
    }

    /// What the shadow limits recorded for it, to be returned to them.
    pub(in crate::worker) fn take_watched(&mut self) -> [Option<Watched>; 2] {
        std::mem::take(&mut self.watched)
    }

    /// It is no longer counted: returns what the limits gave it, if they did.
    #[inline]
    pub(in crate::worker) fn leave(&mut self) -> Option<Admitted> {
        self.admitted.take()
    }

    #[inline]
    pub(in crate::worker) fn is_admitted(&self) -> bool {
        self.admitted.is_some()
    }

    /// When it was admitted.
    pub(in crate::worker) fn admitted_at(&self) -> Timestamp {
        self.at
    }

    #[inline]
    pub(in crate::worker) fn priority(&self) -> Priority {
        self.claims.priority()
    }

    /// When its client will have given up.
    #[inline]
    pub(in crate::worker) fn deadline(&self) -> Timestamp {
        self.claims.deadline()
    }

    /// How long it has waited for rate classes and slots.
    #[inline]
    pub(in crate::worker) fn waited(&self) -> Duration {
        self.waited
    }
}
