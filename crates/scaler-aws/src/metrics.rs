//! The processor use of a fleet, as CloudWatch has it.
//!
//! ## What CloudWatch knows
//! The average and the maximum over the instances of a fleet, a minute long in ECS and five in EC2, some minutes late. So one
//! instance has the maximum here, and the others share the rest: policies on the average or on the maximum read the same as in
//! AWS. A period that has not ended may lack instances, and is not read. Old values are none.

use crate::client::{Client, Refused};
use crate::rights::{METRICS, any};
use aws_sdk_cloudwatch::primitives::DateTime;
use aws_sdk_cloudwatch::types::{Dimension, Metric, MetricDataQuery, MetricStat, ScanBy};
use scaler::settings::AwsFleet;
use scaler::{Instance, Phase, Usage};
use std::time::{Duration, Instant, SystemTime};

/// The processor use as it was read last.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    read: Option<Instant>,
    /// Shares of the allotted processor time, 0 to 1.
    newest: Option<Shares>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Shares {
    average: f64,
    maximum: f64,
}

impl Metrics {
    /// Reads the newest values, if the last reading is not of this half minute; whether there are some.
    pub(crate) fn read(&mut self, client: &Client, fleet: &AwsFleet) -> Result<bool, Refused> {
        if self.read.is_some_and(|read| read.elapsed() < EACH) {
            return Ok(self.newest.is_some());
        }
        // Also without an answer: a reading costs money.
        self.read = Some(Instant::now());
        self.newest = None;
        let (period, oldest) = period_of(fleet);
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
        let at = |seconds: u64| DateTime::from_secs(i64::try_from(seconds).unwrap_or(i64::MAX));
        let call = client
            .metrics
            .get_metric_data()
            .start_time(at(now.saturating_sub(oldest)))
            .end_time(at(now - now % period))
            .scan_by(ScanBy::TimestampDescending)
            .metric_data_queries(query(fleet, "average", "Average"))
            .metric_data_queries(query(fleet, "maximum", "Maximum"));
        let found = client.call(&any(METRICS), call.send())?;
        let newest = |id: &str| {
            let result = found.metric_data_results().iter().find(|result| result.id() == Some(id))?;
            result.values().first().map(|percent| percent / 100.0)
        };
        let newest = newest("average").zip(newest("maximum"));
        self.newest = newest.map(|(average, maximum)| Shares { average, maximum });
        Ok(self.newest.is_some())
    }

    /// Why there is no processor use.
    pub(crate) fn missing(fleet: &AwsFleet) -> String {
        let (_, oldest) = period_of(fleet);
        format!(
            "CloudWatch has no processor use ({}) of the last {} minutes, which a policy on `cpu` needs; nothing is removed",
            named(fleet),
            oldest / 60
        )
    }

    /// Tells the instances that are ready their use, of which each has so many cores.
    pub(crate) fn divide(&self, instances: &mut [Instance], cores: Option<f64>) {
        let ready = instances.iter().filter(|one| one.phase == Phase::Ready).count();
        let mut of_each = self.newest.map(|shares| shares.of(ready)).unwrap_or_default().into_iter();
        for one in instances {
            let share = if one.phase == Phase::Ready { of_each.next() } else { None };
            let used = share.map(|share| share * cores.unwrap_or(1.0));
            one.usage = Some(Usage { used, allotted: Some(cores.unwrap_or(1.0)), memory: None });
        }
    }
}

impl Shares {
    /// The share of each of so many instances.
    fn of(self, count: usize) -> Vec<f64> {
        let Shares { average, maximum } = self;
        let others = count.saturating_sub(1);
        if others == 0 {
            return vec![average; count];
        }
        let rest = ((average * count as f64 - maximum) / others as f64).max(0.0);
        let mut all = vec![rest; count];
        all[0] = maximum;
        all
    }
}

fn query(fleet: &AwsFleet, id: &str, statistic: &str) -> MetricDataQuery {
    let dimension = |name: &str, value: &str| Dimension::builder().name(name).value(value).build();
    let metric = Metric::builder().metric_name(METRIC);
    let metric = match fleet {
        AwsFleet::Ecs { cluster, service } => metric
            .namespace("AWS/ECS")
            .dimensions(dimension("ClusterName", cluster))
            .dimensions(dimension("ServiceName", service)),
        AwsFleet::Group { name } => {
            metric.namespace("AWS/EC2").dimensions(dimension("AutoScalingGroupName", name))
        }
    };
    let statistic = MetricStat::builder()
        .metric(metric.build())
        .period(period_of(fleet).0 as i32)
        .stat(statistic)
        .build();
    MetricDataQuery::builder().id(id).metric_stat(statistic).build()
}

fn named(fleet: &AwsFleet) -> String {
    match fleet {
        AwsFleet::Ecs { cluster, service } => {
            format!("AWS/ECS {METRIC}, ClusterName {cluster}, ServiceName {service}")
        }
        AwsFleet::Group { name } => format!("AWS/EC2 {METRIC}, AutoScalingGroupName {name}"),
    }
}

const METRIC: &str = "CPUUtilization";

/// Values come once a minute at the most, and each reading costs money.
const EACH: Duration = Duration::from_secs(30);

/// The length of a value, and how long ago the oldest may begin that is used, in seconds: each instance of ECS has one a minute, and
/// of EC2 one in five minutes without detailed monitoring.
const fn period_of(fleet: &AwsFleet) -> (u64, u64) {
    match fleet {
        AwsFleet::Ecs { .. } => (60, 6 * 60),
        AwsFleet::Group { .. } => (300, 16 * 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn average_and_maximum_are_those_of_cloudwatch() {
        let shares = Shares { average: 0.5, maximum: 0.9 };
        let of_each = shares.of(4);
        assert!((of_each.iter().sum::<f64>() / 4.0 - 0.5).abs() < 1e-9);
        assert_eq!(of_each.iter().copied().fold(0.0, f64::max), 0.9);
        assert_eq!(shares.of(1), [0.5], "one instance");
        assert!(shares.of(0).is_empty());
        // The metrics are older than the last change of the fleet.
        assert_eq!(Shares { average: 0.1, maximum: 0.9 }.of(3), [0.9, 0.0, 0.0]);
    }
}
