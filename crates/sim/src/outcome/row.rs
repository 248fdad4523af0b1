//! One row: a minute, unless settings say another length.

use super::Clock;
use crate::cloud::Counts;
use std::time::Duration;
use units::Timestamp;

/// Quantiles of times, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Quantiles {
    /// The mean.
    pub mean: f64,
    /// Half are below.
    pub p50: f64,
    /// Three of four are below.
    pub p75: f64,
    /// Nine of ten are below.
    pub p90: f64,
    /// 19 of 20 are below.
    pub p95: f64,
    /// 99 of 100 are below.
    pub p99: f64,
}

impl Quantiles {
    /// The quantiles of a sketch; none where it is empty.
    pub fn of(sketch: &stats::Sketch) -> Option<Self> {
        let [p50, p75, p90, p95, p99] = sketch.quantiles([0.5, 0.75, 0.9, 0.95, 0.99])?;
        Some(Quantiles { mean: sketch.mean()?, p50, p75, p90, p95, p99 })
    }
}

/// The data of a row at a service: of a minute, unless settings say another length.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The end of the row, from the beginning of the simulated time.
    pub at: Timestamp,
    /// Its length.
    pub span: Duration,
    /// Instances at its end.
    pub counts: Counts,
    /// Running instances in each zone at its end; empty without zones.
    pub zones: Vec<u32>,
    /// The highest number of instances that scaling allowed in it; none without scaling.
    pub max: Option<u32>,
    /// Processor use of the running instances as published by the cloud, 0 to 1: the mean over instances.
    pub cpu_average: Option<f64>,
    /// That of the busiest instance.
    pub cpu_maximum: Option<f64>,
    /// True processor utilisation, 0 to 1: over all instances, relative to what they could have used. Above
    /// `cpu_average` where credits are spent or neighbours take time.
    pub busy_average: Option<f64>,
    /// That of the busiest instance.
    pub busy_maximum: Option<f64>,
    /// Mean credit balance of an instance at the last publication (every five minutes).
    pub credits: Option<f64>,
    /// Instances limited to about their credit baseline.
    pub held_back: u32,
    /// Requests that arrived.
    pub arrived: u64,
    /// Requests with a good response.
    pub answered: u64,
    /// Requests with a server error.
    pub errors: u64,
    /// Refused for load.
    pub refused: u64,
    /// Requests whose client timed out.
    pub timed_out: u64,
    /// Broken connections.
    pub failed: u64,
    /// Attempts after the first.
    pub retried: u64,
    /// New connections between balancer and instances.
    pub connections: u64,
    /// Response time at the balancer; none without traffic.
    pub balancer: Option<Quantiles>,
    /// Response time inside the application; none without traffic.
    pub application: Option<Quantiles>,
    /// Mean time between balancer and thread, in seconds.
    pub queued: Option<f64>,
    /// Requests in the service, on average.
    pub in_system: f64,
    /// Cost in US dollars.
    pub cost: f64,
    /// Whether the goal was met; none without a goal or without traffic.
    pub within_goal: Option<bool>,
    /// The response time that the goal is about, as a share of its bound: the goal is met below 1. Infinite if the requests without
    /// a good response miss it whatever the bound; none without a goal or without traffic.
    pub of_goal: Option<f64>,
}

impl Row {
    /// Requests a second.
    pub fn rate(&self) -> f64 {
        self.arrived as f64 / self.span.as_secs_f64()
    }

    /// Requests without a good response.
    pub fn bad(&self) -> u64 {
        self.errors + self.refused + self.timed_out + self.failed
    }

    /// Requests a second with a good response.
    pub fn answered_rate(&self) -> f64 {
        self.answered as f64 / self.span.as_secs_f64()
    }

    /// Cost in US dollars an hour.
    pub fn cost_per_hour(&self) -> f64 {
        self.cost * (3600.0 / self.span.as_secs_f64())
    }

    /// The time of day at the beginning of the row, since midnight.
    pub fn time_of_day(&self, clock: &Clock) -> Duration {
        clock.of_day(Duration::from_nanos(self.at.as_nanos()).saturating_sub(self.span))
    }
}

#[cfg(test)]
pub(crate) mod testing {
    use super::*;

    /// A minute within the goal, with this rate in requests a second and this many instances.
    pub(crate) fn row(rate: u64, serving: u32) -> Row {
        Row {
            at: Timestamp::ZERO,
            span: Duration::from_secs(60),
            counts: Counts { desired: serving, running: serving, serving, ..Counts::default() },
            zones: Vec::new(),
            max: None,
            cpu_average: Some(0.5),
            cpu_maximum: Some(0.5),
            busy_average: Some(0.5),
            busy_maximum: Some(0.5),
            credits: None,
            held_back: 0,
            arrived: rate * 60,
            answered: rate * 60,
            errors: 0,
            refused: 0,
            timed_out: 0,
            failed: 0,
            retried: 0,
            connections: 0,
            balancer: Some(Quantiles::default()),
            application: Some(Quantiles::default()),
            queued: Some(0.0),
            in_system: 1.0,
            cost: 0.0,
            within_goal: Some(true),
            of_goal: Some(0.5),
        }
    }
}
