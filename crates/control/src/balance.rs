//! Balancing: which instance gets the next request?
//!
//! ## Why incremental
//! A balancer is told of every change and every request, so that a pick is not a walk over all instances: the
//! simulator makes ten million picks a second, and a gateway should not pay for the size of its fleet.
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
//! [`Available`] goes around each of them: draining, ejection, checks, slow start. [`Affinity`] goes between the two
//! where clients stay with their instance. [`ejection`], [`HealthState`] and [`RetryBudget`] decide beside them.

mod affinity;
mod available;
mod consistent_hash;
pub mod ejection;
mod health;
mod heap;
mod least_outstanding;
mod members;
mod peak_ewma;
mod penalty;
mod retry_budget;
mod round_robin;
mod slow_start;
mod weighted_round_robin;

pub use affinity::{Affinity, Placed};
pub use available::{Availability, Available, Panic};
pub use consistent_hash::ConsistentHash;
pub use health::{HealthChange, HealthState};
pub use least_outstanding::LeastOutstanding;
pub use peak_ewma::PeakEwma;
pub use retry_budget::{BudgetSpent, RetryBudget};
pub use round_robin::RoundRobin;
pub use slow_start::SlowStart;
pub use weighted_round_robin::WeightedRoundRobin;

use core::fmt;
use core::num::NonZeroU32;
use core::time::Duration;
use stats::Rng;
use units::Timestamp;

/// Names an instance: small, dense, given out by whoever adds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InstanceId(pub u32);

impl fmt::Display for InstanceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// How large an instance's share is beside the others; an instance that should get nothing is removed instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Weight(NonZeroU32);

impl Weight {
    /// The usual weight.
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

/// What became of a request, as far as it says something about the instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// A response that is neither of the two below.
    Answered {
        /// From sending the request to the first byte of the response.
        first_byte: Duration,
    },
    /// A response of the 5xx kind, other than 503.
    ServerError {
        /// From sending the request to the first byte of the response.
        first_byte: Duration,
    },
    /// The instance refused this client, for its own rate: 429.
    Limited,
    /// The instance refused for load: 503.
    Refused {
        /// What it said about coming back.
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
    /// An instance may be picked from now on; where it could be before, only its weight changes.
    fn added(&mut self, id: InstanceId, weight: Weight);

    /// An instance may not be picked any more. Its requests in flight are still reported.
    fn removed(&mut self, id: InstanceId);

    /// The instance for the next request; `None` where there is none. Counts nothing: say [`sent`](Self::sent).
    fn pick(&mut self, now: Timestamp, rng: &mut Rng) -> Option<InstanceId>;

    /// A request goes to an instance.
    fn sent(&mut self, now: Timestamp, to: InstanceId);

    /// A request that was sent has ended.
    fn answered(&mut self, now: Timestamp, from: InstanceId, outcome: Outcome);
}
