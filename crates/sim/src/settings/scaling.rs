//! Who decides how many instances there are, on which metrics, and what is asked of the result.

use control::scaling::controller::Policy;
use std::time::Duration;
use units::Quantile;

/// How a service is scaled and judged.
#[derive(Debug, Clone)]
pub struct Scaling {
    /// Who decides.
    pub policy: Policy,
    /// Which instances end when there are too many.
    pub ends: Ends,
    /// What is asked of the response times; none: nothing.
    pub goal: Option<Goal>,
    /// Requests a second that one instance carries within the goal, against which supply is scored; none: taken from
    /// the run itself (see [`crate::outcome::Scores`]).
    pub capacity: Option<f64>,
}

impl Default for Scaling {
    /// Nothing scales, nothing is asked.
    fn default() -> Self {
        Scaling { policy: Policy::None, ends: Ends::Oldest, goal: None, capacity: None }
    }
}

/// Which instances end first when there are too many; those that do not serve yet always go before. ECS and Auto
/// Scaling groups balance zones first, which are not modelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ends {
    /// Those that were launched first.
    #[default]
    Oldest,
    /// Those that were launched last.
    Newest,
}

/// What is asked of the response times at the balancer, minute by minute: `p(95)<300ms`. A request that is not
/// answered well is one that is too slow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Goal {
    /// Which quantile.
    pub quantile: Quantile,
    /// It must be below this.
    pub below: Duration,
}
