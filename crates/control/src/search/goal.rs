//! What a service must hold: quantiles of response time below a bound, a share of failures below a ratio.
//!
//! ## Why every condition is an allowed share of misses
//! `p(95)<100ms` is the same as "at most 5 % of the responses take 100 ms or longer". In this form, conditions of both
//! kinds are counted, budgeted and compared in the same way, and a count of misses is exact, unlike a quantile read
//! from a histogram.
//!
//! A condition on response time counts responses except shed ones (429 and 503), and requests without a response in
//! time; a condition on failures counts all arrivals. A run's thresholds mean the same.

mod parse;

pub use parse::{ConditionError, bound_named, quantile_named};

use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;
use units::{Quantile, Ratio};

/// One condition of a goal.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Condition {
    /// This quantile of the response times (from the intended start) lies below the bound.
    ResponseTime {
        /// Which quantile.
        quantile: Quantile,
        /// The bound, above zero.
        below: Duration,
    },
    /// The share of arrivals without a response with a status from 200 to 399 lies below this. Unsent ones have none.
    Failed {
        /// The bound, above 0 and below 1.
        below: Ratio,
    },
}

impl Condition {
    /// The share of requests that may miss the condition, from 0 to 1.
    pub fn allowed(&self) -> f64 {
        match self {
            Condition::ResponseTime { quantile, .. } => 1.0 - quantile.get(),
            Condition::Failed { below } => below.get(),
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Condition::ResponseTime { quantile, below } => {
                let name = alloc::format!("{quantile}");
                write!(f, "p({})<{below:?}", name.trim_start_matches('p'))
            }
            Condition::Failed { below } => write!(f, "failed<{below}"),
        }
    }
}

/// Conditions that must all hold.
#[derive(Debug, Clone, PartialEq)]
pub struct Goal {
    conditions: Vec<Condition>,
}

/// Why a list of conditions is not a valid goal.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum GoalError {
    /// No condition at all.
    #[error("a goal has no condition; give at least one, such as p(95)<100ms")]
    Empty,
    /// More conditions than can be counted.
    #[error(
        "a goal has {found} conditions (with the default on failures), at most {CONDITIONS_MAX} are counted"
    )]
    TooMany {
        /// How many there were.
        found: usize,
    },
    /// A bound that no response meets, or that every response meets.
    #[error(
        "the condition `{0}` has a bound of zero or of the whole; a time must be above 0, a share within 0 % to 100 %"
    )]
    Bound(Condition),
}

/// The maximum number of conditions of a goal.
pub const CONDITIONS_MAX: usize = 4;

impl Goal {
    /// A goal with these conditions. If none is about failures, `failed<1%` is added, because a service that refuses
    /// every request at once would meet every bound on response time.
    ///
    /// # Errors
    /// No condition, more than [`CONDITIONS_MAX`], or a bound that no response or every response meets.
    pub fn new(mut conditions: Vec<Condition>) -> Result<Self, GoalError> {
        if conditions.is_empty() {
            return Err(GoalError::Empty);
        }
        if !conditions.iter().any(|condition| matches!(condition, Condition::Failed { .. })) {
            conditions.push(Condition::Failed { below: FAILED_BY_DEFAULT });
        }
        if conditions.len() > CONDITIONS_MAX {
            return Err(GoalError::TooMany { found: conditions.len() });
        }
        let senseless = |condition: &&Condition| match condition {
            Condition::ResponseTime { below, .. } => below.is_zero(),
            Condition::Failed { below } => below.get() <= 0.0 || below.get() >= 1.0,
        };
        match conditions.iter().find(senseless) {
            Some(wrong) => Err(GoalError::Bound(*wrong)),
            None => Ok(Goal { conditions }),
        }
    }

    /// The conditions, in the order in which misses are counted.
    pub fn conditions(&self) -> &[Condition] {
        &self.conditions
    }

    /// The shortest bound on response time, if there is one.
    pub fn shortest_bound(&self) -> Option<Duration> {
        let bounds = self.conditions.iter().filter_map(|condition| match condition {
            Condition::ResponseTime { below, .. } => Some(*below),
            Condition::Failed { .. } => None,
        });
        bounds.min()
    }

    /// The longest bound on response time, if there is one.
    pub fn longest_bound(&self) -> Option<Duration> {
        let bounds = self.conditions.iter().filter_map(|condition| match condition {
            Condition::ResponseTime { below, .. } => Some(*below),
            Condition::Failed { .. } => None,
        });
        bounds.max()
    }
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, condition) in self.conditions.iter().enumerate() {
            let before = if at == 0 { "" } else { " and " };
            write!(f, "{before}{condition}")?;
        }
        Ok(())
    }
}

const FAILED_BY_DEFAULT: Ratio = Ratio::new(0.01).expect("one percent is a share");

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use std::string::ToString;

    fn p95(below_ms: u64) -> Condition {
        Condition::ResponseTime { quantile: Quantile::P95, below: Duration::from_millis(below_ms) }
    }

    #[test]
    fn counts_failures_unless_told_how() {
        let goal = Goal::new(vec![p95(100)]).unwrap();
        assert_eq!(goal.to_string(), "p(95)<100ms and failed<1 %");
        let own = Condition::Failed { below: Ratio::new(0.2).unwrap() };
        assert_eq!(Goal::new(vec![own]).unwrap().to_string(), "failed<20 %");
    }

    #[test]
    fn refuses_what_nothing_or_everything_meets() {
        assert_eq!(Goal::new(vec![]), Err(GoalError::Empty));
        assert_eq!(Goal::new(vec![p95(1); 4]), Err(GoalError::TooMany { found: 5 }));
        assert_eq!(Goal::new(vec![p95(0)]), Err(GoalError::Bound(p95(0))));
        let none = Condition::Failed { below: Ratio::ZERO };
        assert_eq!(Goal::new(vec![none]), Err(GoalError::Bound(none)));
    }
}
