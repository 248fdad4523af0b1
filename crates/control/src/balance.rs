//! Balancing: which instance gets the next request?
//!
//! ## Why incremental
//! A balancer is notified of every change and every request, so that a pick does not iterate over all instances: the
//! simulator makes ten million picks a second, and the cost in a gateway should not grow with its fleet.
//!
//! ## Which one
//!
//! | balancer | use it where | a pick takes |
//! |---|---|---|
//! | [`RoundRobin`] | requests and instances are alike | constant time |
//! | [`WeightedRoundRobin`] | weights differ or change | O(log n) |
//! | [`LeastOutstanding`] | requests differ, instances stall: the usual choice | constant time (up to 16 looked at) |
//! | [`PeakEwma`] | instances differ in speed | constant time |
//! | [`ConsistentHash`] | instances cache, so a key should stay | constant time (expected) |
//!
//! [`Available`] wraps each of them: draining, ejection, checks, slow start. [`Affinity`] goes between the two for
//! sticky clients, and [`Picker`] combines the three. [`FixedShare`] overrides the method for a time. [`ejection`], [`HealthState`] and [`RetryBudget`] make related
//! decisions.

mod affinity;
mod available;
mod consistent_hash;
pub mod ejection;
mod fixed_share;
mod health;
mod heap;
mod least_outstanding;
mod members;
mod peak_ewma;
mod penalty;
mod picker;
mod retry_budget;
mod round_robin;
mod slow_start;
mod weighted_round_robin;

pub use affinity::{Affinity, Placed};
pub use available::{Availability, Available, Panic};
pub use consistent_hash::ConsistentHash;
pub use fixed_share::FixedShare;
pub use health::{HealthChange, HealthState};
pub use least_outstanding::LeastOutstanding;
pub use peak_ewma::PeakEwma;
pub use picker::{Method, Picker};
pub use retry_budget::{BudgetSpent, RetryBudget};
pub use round_robin::RoundRobin;
pub use slow_start::SlowStart;
pub use weighted_round_robin::WeightedRoundRobin;

use core::fmt;
use core::num::NonZeroU32;
use core::time::Duration;
use stats::Rng;
use units::Timestamp;

/// Identifies an instance: a small, dense number from the caller that adds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InstanceId(pub u32);

impl fmt::Display for InstanceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// An instance's share relative to the others; an instance that should get no requests is removed instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Weight(NonZeroU32);

impl Weight {
    /// The default weight.
    pub const ONE: Weight = Weight(NonZeroU32::MIN);

    /// A weight, or `None` at zero.
    pub const fn new(weight: u32) -> Option<Self> {
        match NonZeroU32::new(weight) {
            Some(weight) => Some(Weight(weight)),
            None => None,
        }
    }

    /// The number.
    pub const fn get(self) -> u32 {
        self.0.get()
    }
}

impl Default for Weight {
    fn default() -> Self {
        Weight::ONE
    }
}

/// The outcome of a request, as far as it says something about the instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// A response other than the two kinds below.
    Answered {
        /// From sending the request to the first byte of the response.
        first_byte: Duration,
    },
    /// A response of the 5xx kind, other than 503.
    ServerError {
        /// From sending the request to the first byte of the response.
        first_byte: Duration,
    },
    /// The instance refused this client for its rate: 429.
    Limited,
    /// The instance refused for load: 503.
    Refused {
        /// Its `Retry-After`.
        retry_after: Option<Duration>,
    },
    /// No connection, or one that broke before the response.
    Failed,
    /// No response in time.
    TimedOut,
    /// The client left first, which says nothing about the instance.
    Cancelled,
}

/// Picks instances.
pub trait Balancer {
    /// Adds an instance; for a known one, only changes its weight.
    fn added(&mut self, id: InstanceId, weight: Weight);

    /// Removes an instance. Its requests in flight are still reported.
    fn removed(&mut self, id: InstanceId);

    /// The instance for the next request; `None` where there is none. Counts nothing: call [`sent`](Self::sent).
    fn pick(&mut self, now: Timestamp, rng: &mut Rng) -> Option<InstanceId>;

    /// A request was sent to an instance.
    fn sent(&mut self, now: Timestamp, to: InstanceId);

    /// A request that was sent has ended.
    fn answered(&mut self, now: Timestamp, from: InstanceId, outcome: Outcome);
}
