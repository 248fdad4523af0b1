//! Capacity planning: how many replicas for a load, which part limits it, and what one more of something brings.
//!
//! ```text
//! case file → System ─┬→ parts (demands) → formulas ─┐
//!                     └→ trials (simulations) → law ─┴→ trust → documents::plan
//! runs, table → Point → law, network, interpolation ─┘
//! ```
//!
//! ## Why several methods
//! Each has a limit that the others lack. Formulas know means and no distributions, the scalability law knows no
//! bounds on response times, and simulations know only what the case file describes. Where they agree, the answer does
//! not depend on the method. Where they disagree, the document says which one is trusted, and why.
//!
//! Interactive response time law and bounds: Denning and Buzen, *The Operational Analysis of Queueing Network Models*,
//! Computing Surveys 10, 1978.

mod bottleneck;
mod case;
mod changes;
mod formulas;
mod parts;
mod points;
mod response;
mod runs;
mod search;
#[cfg(test)]
mod tests;
mod trial;

pub use case::{NoPlan, of_case};
pub use points::{Axis, NoPoints, Point, Points, of_points, table};
pub use runs::{NotPoints, from_runs};

use std::time::Duration;
use units::{Quantile, Ratio};

/// What is planned for.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    /// The load, without growth; `None`: that of the case file.
    pub load: Option<Load>,
    /// Growth of the load, as a share: 0.2 is 20 % more.
    pub growth: f64,
    /// The goal for response times; `None`: that of the case file, or the load has only to be carried.
    pub goal: Option<Goal>,
    /// The version of headroom.
    pub version: &'static str,
}

/// A load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Load {
    /// Requests a second, in the open model.
    Rate(f64),
    /// Users who wait for each response and then think.
    Users {
        /// How many.
        users: u32,
        /// Mean think time.
        think: Duration,
    },
}

/// A bound on a quantile of response times.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Goal {
    /// Which quantile.
    pub quantile: Quantile,
    /// The bound.
    pub below: Duration,
}

impl Load {
    /// This much more of it.
    fn grown(self, growth: f64) -> Self {
        match self {
            Load::Rate(rate) => Load::Rate(rate * (1.0 + growth)),
            Load::Users { users, think } => {
                Load::Users { users: (f64::from(users) * (1.0 + growth)).ceil() as u32, think }
            }
        }
    }

    /// Requests a second when a response takes this many seconds on average: the interactive response time law.
    fn per_second(self, response: f64) -> f64 {
        match self {
            Load::Rate(rate) => rate,
            Load::Users { users, think } => {
                f64::from(users) / (response + think.as_secs_f64()).max(f64::MIN_POSITIVE)
            }
        }
    }

    fn document(self, growth: f64, response: Option<f64>) -> documents::plan::Load {
        let (users, think) = match self {
            Load::Rate(_) => (None, None),
            Load::Users { users, think } => (Some(users), Some(think.as_secs_f64() * 1e3)),
        };
        let per_second = match self {
            Load::Rate(rate) => Some(rate),
            Load::Users { .. } => response.map(|response| self.per_second(response)),
        };
        documents::plan::Load { users, think_ms: think, per_second, growth_percent: growth * 100.0 }
    }
}

impl Goal {
    fn seconds(&self) -> f64 {
        self.below.as_secs_f64()
    }

    fn text(&self) -> String {
        control::search::Condition::ResponseTime { quantile: self.quantile, below: self.below }.to_string()
    }
}

/// The most replicas that are considered.
const REPLICAS_MAX: u32 = 1000;
/// The confidence of intervals.
const CONFIDENCE: Ratio = Ratio::new(0.95).expect("a share");
