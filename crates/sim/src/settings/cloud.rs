//! The cloud: starting and ending instances, quotas, prices.

use std::time::Duration;

/// The times and costs of starting and ending an instance.
#[derive(Debug, Clone, PartialEq)]
pub struct Start {
    /// From the decision until the instance's processes start: billed, without metrics.
    pub provision: Duration,
    /// The time from then until it serves.
    pub boot: Duration,
    /// Processor use while it boots, as a share of its cores; the metrics include it.
    pub boot_cpu: f64,
    /// How long requests cost more on a new instance (empty caches, code that is not compiled yet), with a linear
    /// decrease. Instances that serve from the beginning are not new.
    pub warm_up: Duration,
    /// The factor of processor times at the beginning of the warm-up, at least 1.
    pub warm_up_factor: f64,
    /// The longest time for draining an instance; then its connections are closed.
    pub drain: Duration,
    /// Maximum launches in a second; none: no bound.
    pub launches_per_second: Option<f64>,
    /// Launches that may happen at once before that rate applies.
    pub launch_burst: u32,
}

impl Default for Start {
    /// Every phase takes no time.
    fn default() -> Self {
        Start {
            provision: Duration::ZERO,
            boot: Duration::ZERO,
            boot_cpu: 0.0,
            warm_up: Duration::ZERO,
            warm_up_factor: 1.0,
            drain: Duration::ZERO,
            launches_per_second: None,
            launch_burst: 1,
        }
    }
}

/// The quotas of an account.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Quotas {
    /// Addresses in the subnets; each instance takes one.
    pub addresses: Option<u32>,
    /// Virtual processors in total.
    pub vcpus: Option<u32>,
    /// Instances in total.
    pub instances: Option<u32>,
}

/// The price of an instance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Price {
    /// US dollars an hour.
    pub per_hour: f64,
    /// The minimum billed time.
    pub minimum: Duration,
}

/// A rolling deployment: every instance is replaced.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Deployment {
    /// When, from the beginning of the simulated time.
    pub at: Duration,
    /// Minimum share of the desired count that must serve at all times, 0 to 1 (ECS's minimum healthy percent).
    pub least_healthy: f64,
    /// Maximum share of the desired count that may run at once, 1 or more (ECS's maximum percent).
    pub most: f64,
}

/// Instances that fail, with their requests.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Failure {
    /// When, from the beginning of the simulated time.
    pub at: Duration,
    /// How many.
    pub instances: u32,
    /// How long the balancer continues to send to them, until its health checks detect the failure.
    pub noticed_after: Duration,
}
