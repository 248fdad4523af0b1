//! The state of one instance.

use super::{Availability, SlowStart, Weight};
use core::time::Duration;
use units::Timestamp;

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Entry {
    /// `None` where it was removed.
    pub(super) weight: Option<Weight>,
    pub(super) draining: bool,
    pub(super) unhealthy: bool,
    /// When its ejection ends.
    pub(super) ejected: Option<Timestamp>,
    /// When its slow start began.
    pub(super) warm_from: Option<Timestamp>,
    /// The weight that the inner balancer has.
    pub(super) given: Option<Weight>,
    /// Whether it is in the list of changing instances.
    pub(super) changing: bool,
    pub(super) in_flight: u32,
}

impl Entry {
    /// A new instance keeps nothing but its requests in flight.
    pub(super) fn start(&mut self, warm_from: Option<Timestamp>) {
        let Entry { given, changing, in_flight, .. } = *self;
        *self = Entry { warm_from, given, changing, in_flight, ..Entry::default() };
    }

    pub(super) fn is_known(&self) -> bool {
        self.weight.is_some() && !self.draining
    }

    pub(super) fn is_usable(&self) -> bool {
        self.is_known() && !self.unhealthy && self.ejected.is_none()
    }

    pub(super) fn availability(&self) -> Option<Availability> {
        self.weight?;
        Some(match self {
            Entry { draining: true, .. } => Availability::Draining,
            Entry { unhealthy: true, .. } => Availability::Unhealthy,
            Entry { ejected: Some(until), .. } => Availability::Ejected { until: *until },
            Entry { warm_from: Some(_), .. } => Availability::Warming,
            _ => Availability::Available,
        })
    }

    /// In 64ths of the weight; at least one of them.
    pub(super) fn effective_weight(&self, now: Timestamp, slow_start: Option<&SlowStart>) -> Option<Weight> {
        let full = u64::from(self.weight?.get()) * u64::from(STEPS);
        let share = match (slow_start, self.warm_from) {
            (Some(slow_start), Some(from)) => slow_start.share(now.since(from)).get(),
            _ => 1.0,
        };
        let weight = (full as f64 * share + 0.5) as u64;
        Weight::new(weight.clamp(1, u64::from(u32::MAX)) as u32)
    }

    /// Ends what is over.
    pub(super) fn pass(&mut self, now: Timestamp, slow_start: Option<&SlowStart>) {
        if let Some(until) = self.ejected.filter(|&until| until <= now) {
            self.ejected = None;
            // In a panic it has its whole weight already.
            if self.given.is_none() {
                self.warm_from = Some(until);
            }
        }
        let span = slow_start.map_or(Duration::ZERO, SlowStart::span);
        self.warm_from = self.warm_from.filter(|&from| now < from + span);
    }

    /// When its next change is due.
    pub(super) fn next_change(&self, now: Timestamp, slow_start: Option<&SlowStart>) -> Option<Timestamp> {
        self.weight?;
        let step = match (slow_start, self.warm_from) {
            (Some(slow_start), Some(_)) => Some(now + (slow_start.span() / STEPS).max(LEAST_STEP)),
            _ => None,
        };
        match (self.ejected, step) {
            (Some(until), Some(step)) => Some(until.min(step)),
            (until, step) => until.or(step),
        }
    }
}

/// The number of steps in which a weight grows.
pub(super) const STEPS: u32 = 64;

/// The number of changes at one time has to be finite.
const LEAST_STEP: Duration = Duration::from_micros(1);
