//! The host of an instance.

use std::time::Duration;
use units::Bytes;

/// The machine, container or task of a single instance.
#[derive(Debug, Clone, PartialEq)]
pub struct Host {
    /// Name of the kind, such as `c4.large` or `fargate 1 vCPU 2 GB`.
    pub name: String,
    /// Processors that it can run on at once.
    pub cores: u32,
    /// Speed of a core: 1 is the core on which the processor times of the endpoints were measured.
    pub speed: f64,
    /// Processor quota, if it is less than its cores.
    pub quota: Option<Quota>,
    /// Memory; none if it does not matter.
    pub memory: Option<Bytes>,
    /// Processor use that is not caused by requests, in cores (0.04 is 4 % of one); requests share the rest.
    pub background: f64,
    /// Credits of a burstable type, for use above its baseline.
    pub credits: Option<Credits>,
    /// Processor time that neighbours take, if any.
    pub steal: Option<Steal>,
}

impl Host {
    /// Cores of speed 1, and nothing else.
    pub fn new(name: impl Into<String>, cores: u32) -> Self {
        Host {
            name: name.into(),
            cores,
            speed: 1.0,
            quota: None,
            memory: None,
            background: 0.0,
            credits: None,
            steal: None,
        }
    }

    /// The cores that it may use: those of its quota, if they are fewer than it has.
    pub fn allotted(&self) -> f64 {
        let cores = f64::from(self.cores);
        self.quota.map_or(cores, |quota| quota.cores.min(cores))
    }
}

/// A processor quota by period, as the Linux kernel enforces it (CFS bandwidth control): once the quota of a period is
/// used, all processes in the group stop until the period ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quota {
    /// Cores on average: 0.05 is 50 millicores.
    pub cores: f64,
    /// Period: 100 ms unless set otherwise.
    pub period: Duration,
}

/// Processor credits of a burstable type. One credit is one core for one minute.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Credits {
    /// Earned in an hour.
    pub earned_per_hour: f64,
    /// The highest balance; launch credits do not count.
    pub most: f64,
    /// The balance at the start.
    pub at_start: f64,
    /// Share of each core that it may use without credits, 0 to 1.
    pub baseline: f64,
    /// Whether it may exceed the baseline without credits, at a price.
    pub unlimited: bool,
    /// That price: US dollars for an hour of a core.
    pub surplus_per_hour: f64,
}

/// Processor time taken by neighbours.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Steal {
    /// Share of each core that is taken, 0 to 1.
    pub share: f64,
}
