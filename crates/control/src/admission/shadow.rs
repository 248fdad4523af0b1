//! Limits in shadow: they decide and count what they would have shed, and let every request pass.
//!
//! ## Why separate limits
//! A limit that is tried out must not affect the live one. So a shadow has its own limits, receives the requests that
//! the live limits admitted, and reports what it would have decided.
//!
//! ## What its result means
//! A request that the shadow would have shed does not count as in flight for it and consumes no turn: otherwise the
//! first excess would keep it full forever. But response times are those of a service that received all requests, so
//! under an overload the shadow of a concurrency limit sheds more than the limit would.

use super::{Limits, Reason};
use crate::Word;
use crate::concurrency::Priority;
use crate::policy::Transition;
use core::time::Duration;
use units::Timestamp;

/// Limits that only observe, shared by all cores.
#[derive(Debug)]
#[repr(align(64))]
pub struct Shadow<W> {
    admit: W,
    wait: W,
    shed: W,
    limits: Limits<W>,
}

/// What a shadow has counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ShadowTally {
    /// Requests that would have passed, including those that would have waited.
    pub would_admit: u64,
    /// Requests that would have waited first.
    pub would_wait: u64,
    /// Requests that would have been refused.
    pub would_shed: u64,
}

/// The shadow's decision about a request. It is passed back to [`Shadow::finished`].
#[derive(Debug, PartialEq)]
#[must_use = "a request that is observed counts as in flight until it is given to `finished`"]
pub struct Observed {
    decided: Result<Duration, Reason>,
    /// In flight for the shadow, including this request; zero where it would have been refused or no limit counts.
    in_flight: u32,
}

/// The part of an [`Observed`] that is kept after it was counted: how many requests were in flight for the shadow,
/// including this one. It is passed back to [`Shadow::left`] and keeps a request's memory small.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a request that is watched counts as in flight until it is given to `left`"]
pub struct Watched {
    in_flight: u32,
}

impl Watched {
    /// How many requests were in flight for the shadow's concurrency limit when this one passed, including itself: the
    /// input of an [adaptive limit](crate::concurrency::AdaptiveLimit). Zero where it would have been refused, or where
    /// there is no such limit.
    pub fn in_flight(&self) -> u32 {
        self.in_flight
    }
}

impl Observed {
    /// What has to be kept until the request ends.
    pub fn watched(self) -> Watched {
        Watched { in_flight: self.in_flight }
    }

    /// Why the request would have been refused; `None` where it would have passed.
    pub fn would_shed(&self) -> Option<Reason> {
        self.decided.err()
    }

    /// How long it would have waited for its turn; zero where it would have been refused.
    pub fn would_wait(&self) -> Duration {
        self.decided.unwrap_or_default()
    }
}

impl<W: Word> Shadow<W> {
    /// A shadow with limits that nothing else uses.
    pub fn new(limits: Limits<W>) -> Self {
        Shadow { admit: W::new(0), wait: W::new(0), shed: W::new(0), limits }
    }

    /// Decides about a request that was admitted now, and which passes in any case.
    #[inline]
    pub fn arrive(&self, now: Timestamp, priority: Priority) -> Observed {
        let (decided, in_flight) = match self.decide(now, priority) {
            Ok((wait, in_flight)) => (Ok(wait), in_flight),
            Err(reason) => (Err(reason), 0),
        };
        let one_more = |word: &W| {
            let _ = word.update(|count| Some(count + 1));
        };
        match decided {
            Ok(wait) => {
                one_more(&self.admit);
                if !wait.is_zero() {
                    one_more(&self.wait);
                }
            }
            Err(_) => one_more(&self.shed),
        }
        Observed { decided, in_flight }
    }

    /// A request passes while the limits do not apply: it is counted, so that they are up to date when they apply.
    #[inline]
    pub fn pass(&self) -> Observed {
        let in_flight = self.limits.concurrency.as_ref().map_or(0, |limit| limit.enter_unbounded());
        Observed { decided: Ok(Duration::ZERO), in_flight }
    }

    /// As [`arrive`](Self::arrive) if the limits apply, else as [`pass`](Self::pass).
    #[inline]
    pub fn observe(&self, now: Timestamp, priority: Priority, applies: bool) -> Observed {
        if applies { self.arrive(now, priority) } else { self.pass() }
    }

    /// Applies a transition of the policy whose limits these are, as [`Admission::apply`](super::Admission::apply).
    pub fn apply(&self, now: Timestamp, transition: &Transition) {
        if let (Transition::Engaged { .. }, Some(class)) = (transition, &self.limits.rate) {
            class.empty(now);
        }
    }

    /// An observed request has ended: with a response, a failure or a client that left.
    #[inline]
    pub fn finished(&self, observed: Observed) {
        self.left(observed.watched());
    }

    /// A watched request has ended: with a response, a failure or a client that left.
    #[inline]
    pub fn left(&self, watched: Watched) {
        if let (1.., Some(limit)) = (watched.in_flight, &self.limits.concurrency) {
            limit.leave();
        }
    }

    /// What it has counted.
    pub fn tally(&self) -> ShadowTally {
        let (would_admit, would_wait) = (self.admit.load(), self.wait.load());
        ShadowTally { would_admit, would_wait, would_shed: self.shed.load() }
    }

    /// The limits of this shadow.
    pub fn limits(&self) -> &Limits<W> {
        &self.limits
    }

    /// How long it would have waited, and how many requests are in flight including it.
    fn decide(&self, now: Timestamp, priority: Priority) -> Result<(Duration, u32), Reason> {
        let Limits { rate, concurrency } = &self.limits;
        let in_flight = match concurrency {
            Some(limit) => {
                limit.enter_as(priority).map_err(|full| Reason::concurrency(limit.id(), priority, full))?
            }
            None => 0,
        };
        let Some(rate) = rate else { return Ok((Duration::ZERO, in_flight)) };
        let wait = rate.watch(now).inspect_err(|_| concurrency.iter().for_each(|limit| limit.leave()))?;
        Ok((wait, in_flight))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ClassId;
    use crate::concurrency::Concurrency;
    use crate::rate::{Claim, Limit, RateClass, RateSettings, Turn};
    use core::sync::atomic::AtomicU64;
    use proptest::prelude::*;
    use std::sync::Arc;
    use std::vec::Vec;
    use units::Rate;

    fn settings(rate: f64, burst: u32, backlog: u32, longest_ms: u64) -> RateSettings {
        let per_second = Some(Limit { rate: Rate::per_second_of(rate), burst });
        let longest_wait = Duration::from_millis(longest_ms);
        RateSettings { per_second, per_minute: None, backlog, longest_wait }
    }

    #[test]
    fn a_request_that_the_rate_would_shed_is_not_in_flight() {
        let limits = Limits {
            rate: Some(Arc::new(RateClass::new(ClassId(1), settings(1.0, 1, 0, 0)).unwrap())),
            concurrency: Some(Arc::new(Concurrency::new(ClassId(2), 2).unwrap())),
        };
        let shadow = Shadow::<AtomicU64>::new(limits);
        let observed = [(); 3].map(|()| shadow.arrive(Timestamp::ZERO, Priority::HIGHEST));
        let in_flight = || shadow.limits().concurrency.as_ref().unwrap().in_flight();
        assert_eq!(in_flight(), 1);
        assert!(matches!(observed[2].would_shed(), Some(Reason::RateClass { class: ClassId(1), .. })));
        observed.into_iter().for_each(|one| shadow.finished(one));
        assert_eq!(in_flight(), 0);
        assert_eq!(shadow.tally(), ShadowTally { would_admit: 1, would_wait: 0, would_shed: 2 });
    }

    #[test]
    fn what_passed_before_it_applied_is_in_flight() {
        let limits =
            Limits { rate: None, concurrency: Some(Arc::new(Concurrency::new(ClassId(2), 1).unwrap())) };
        let shadow = Shadow::<AtomicU64>::new(limits);
        let before = shadow.pass();
        let after = shadow.arrive(Timestamp::ZERO, Priority::HIGHEST);
        assert!(after.would_shed().is_some());
        [before, after].into_iter().for_each(|one| shadow.finished(one));
        assert_eq!(shadow.limits().concurrency.as_ref().unwrap().in_flight(), 0);
        assert_eq!(shadow.tally(), ShadowTally { would_admit: 0, would_wait: 0, would_shed: 1 });
    }

    proptest! {
        /// The same class in force decides the same: the same requests pass, wait and are shed.
        #[test]
        fn decides_as_the_rate_class_in_force(
            rate in 1.0..200.0_f64,
            burst in 1_u32..4,
            backlog in 0_u32..5,
            longest_ms in 1_u64..100,
            gaps in proptest::collection::vec(0_u64..20_000_000, 1..300),
        ) {
            let settings = settings(rate, burst, backlog, longest_ms);
            let live = RateClass::<AtomicU64>::new(ClassId(1), settings).unwrap();
            let watching = RateClass::<AtomicU64>::new(ClassId(1), settings).unwrap();
            let shadow = Shadow::new(Limits { rate: Some(Arc::new(watching)), concurrency: None });
            let (mut now, mut waiting) = (Timestamp::ZERO, Vec::<Turn>::new());
            for gap in gaps {
                now += Duration::from_nanos(gap);
                for turn in waiting.extract_if(.., |turn| turn.at() <= now) {
                    live.turn_came(turn);
                }
                let observed = shadow.arrive(now, Priority::HIGHEST);
                match live.claim(now) {
                    Claim::Now => prop_assert_eq!(observed.decided, Ok(Duration::ZERO)),
                    Claim::At(turn) => {
                        prop_assert_eq!(observed.decided, Ok(turn.at().since(now)));
                        waiting.push(turn);
                    }
                    Claim::Shed(_) => prop_assert!(observed.would_shed().is_some()),
                }
                shadow.finished(observed);
            }
        }
    }
}
