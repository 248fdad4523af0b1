//! Who decides how many instances there are, on which metrics, and what is asked of the result.

use std::time::Duration;
use units::{InstanceCount, Quantile};

/// How a service is scaled and judged.
#[derive(Debug, Clone)]
pub struct Scaling {
    /// Who decides.
    pub policy: Policy,
    /// The fewest instances that a policy may ask for.
    pub min: InstanceCount,
    /// The most instances that a policy may ask for.
    pub max: InstanceCount,
    /// Which instances end when there are too many.
    pub ends: Ends,
    /// From the end of a period until alarms see its datapoint.
    pub publication_delay: Duration,
    /// What is asked of the response times; none: nothing.
    pub goal: Option<Goal>,
    /// Requests a second that one instance carries within the goal, against which supply is scored; none: taken from
    /// the run itself (see [`crate::outcome::Scores`]).
    pub capacity: Option<f64>,
}

impl Default for Scaling {
    /// Nothing scales; metrics are one minute late.
    fn default() -> Self {
        Scaling {
            policy: Policy::None,
            min: InstanceCount::new(0),
            max: InstanceCount::new(u32::MAX),
            ends: Ends::Oldest,
            publication_delay: Duration::from_secs(60),
            goal: None,
            capacity: None,
        }
    }
}

/// Who decides how many instances there are. One for each service.
#[derive(Debug, Clone, Default)]
pub enum Policy {
    /// Nobody: the count stays as it is.
    #[default]
    None,
    /// Somebody by hand, at these times from the beginning of the simulated time, in order.
    Manual(Vec<(Duration, InstanceCount)>),
}

/// Which instances end first when there are too many; those that do not run yet always go before. ECS and Auto Scaling
/// groups balance zones first, which are not modelled.
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
