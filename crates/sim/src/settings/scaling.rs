//! The autoscaler of a service, its metrics, and the goal.

use control::scaling::controller::Policy;
use std::time::Duration;
use units::Quantile;

/// How a service is scaled and judged.
#[derive(Debug, Clone)]
pub struct Scaling {
    /// The policy.
    pub policy: Policy,
    /// Which instances end when there are too many.
    pub ends: Ends,
    /// The goal for response times; none: no goal.
    pub goal: Option<Goal>,
    /// The capacity of one instance within the goal, in requests a second, for the elasticity scores; none: derived
    /// from the run (see [`crate::outcome::Scores`]).
    pub capacity: Option<f64>,
}

impl Default for Scaling {
    /// No scaling, no goal.
    fn default() -> Self {
        Scaling { policy: Policy::None, ends: Ends::Oldest, goal: None, capacity: None }
    }
}

/// Which instances end first when there are too many; those that do not serve yet always end before others. ECS and
/// Auto Scaling groups first balance zones, which are not modelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ends {
    /// Those that were launched first.
    #[default]
    Oldest,
    /// Those that were launched last.
    Newest,
}

/// A goal for the response times at the balancer, minute by minute: `p(95)<300ms`. A request without a good response
/// counts as too slow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Goal {
    /// Which quantile.
    pub quantile: Quantile,
    /// The bound.
    pub below: Duration,
}
