//! What the cloud does: starting and ending instances, quotas, prices.

use std::time::Duration;

/// What it takes for an instance to start and to end.
#[derive(Debug, Clone, PartialEq)]
pub struct Start {
    /// From the decision until the instance's processes start: billed, without metrics.
    pub provision: Duration,
    /// From there until it serves.
    pub boot: Duration,
    /// Processor use while it boots, as a share of its cores; it is in the metrics.
    pub boot_cpu: f64,
    /// For how long requests cost more on a new instance (empty caches, code not compiled yet), falling evenly. Those
    /// that serve from the beginning are not new.
    pub warm_up: Duration,
    /// What processor times are multiplied by at the beginning of the warm-up, at least 1.
    pub warm_up_factor: f64,
    /// The longest that a draining instance is waited for; then its connections are cut.
    pub drain: Duration,
    /// Most launches in a second; none: no bound.
    pub launches_per_second: Option<f64>,
    /// Launches that may come at once before that rate holds.
    pub launch_burst: u32,
}

impl Default for Start {
    /// Everything takes no time.
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

/// What an account allows in all.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Quotas {
    /// Addresses in the subnets; each instance takes one.
    pub addresses: Option<u32>,
    /// Virtual processors in all.
    pub vcpus: Option<u32>,
    /// Instances in all.
    pub instances: Option<u32>,
}

/// What an instance costs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Price {
    /// US dollars an hour.
    pub per_hour: f64,
    /// Billed for at least so long.
    pub minimum: Duration,
}

/// A rolling deployment: every instance is replaced.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Deployment {
    /// When, from the beginning of the simulated time.
    pub at: Duration,
    /// Share of the desired count that must serve all the time, 0 to 1 (ECS's minimum healthy percent).
    pub least_healthy: f64,
    /// Share of the desired count that may run at once, 1 or more (ECS's maximum percent).
    pub most: f64,
}

/// Instances that fail: their requests fail with them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Failure {
    /// When, from the beginning of the simulated time.
    pub at: Duration,
    /// How many.
    pub instances: u32,
    /// For how long the balancer goes on sending to them, until its health checks notice.
    pub noticed_after: Duration,
}
