//! The measures of rows.

use units::Unit;

/// A measure of a stage's service. Means and shares are over the measured time or a window of the day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// The fewest running instances.
    InstancesLowest,
    /// Mean running instances.
    InstancesMean,
    /// The most running instances.
    InstancesHighest,
    /// The median of the counts per minute.
    InstancesMedian,
    /// The share of the minutes at the scaling maximum.
    AtMax,
    /// Mean of the published average processor use.
    Cpu,
    /// The highest of the published maxima.
    CpuHighest,
    /// Mean of the true processor use of instances.
    CpuTrue,
    /// Mean of the per-minute quantiles of the response time, in percent.
    Quantile(Part, u8),
    /// The quantile of all response times, in percent.
    WholeQuantile(Part, u8),
    /// Mean response time at the balancer.
    Mean,
    /// Mean time between balancer and thread.
    Queued,
    /// Arrived requests per second.
    Offered,
    /// Requests with a good response, per second.
    Answered,
    /// The same per instance.
    AnsweredPerInstance,
    /// Share of the requests that ended with an error, were refused, timed out or failed.
    Bad,
    /// Share of the requests that were refused.
    Refused,
    /// US dollars.
    Cost,
    /// US dollars per hour.
    CostPerHour,
    /// US dollars per million requests with a good response.
    CostPerMillion,
    /// Minutes that missed the goal.
    OutsideGoal,
    /// Changes of the number of instances by a policy.
    Actions,
    /// Changes that added instances.
    ScaleOuts,
    /// Changes that removed instances.
    ScaleIns,
    /// Changes that soon reverse another one.
    Flaps,
    /// Launches that a quota refused.
    Unfulfilled,
}

/// Where a response time is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// At the balancer.
    Balancer,
    /// Inside the application: from when a thread took the request.
    Application,
}

impl Measure {
    const ALL: [(&'static str, Measure); 44] = [
        ("instances_lowest", Measure::InstancesLowest),
        ("instances_mean", Measure::InstancesMean),
        ("instances_highest", Measure::InstancesHighest),
        ("instances_median", Measure::InstancesMedian),
        ("at_max", Measure::AtMax),
        ("cpu", Measure::Cpu),
        ("cpu_highest", Measure::CpuHighest),
        ("cpu_true", Measure::CpuTrue),
        ("p50", Measure::Quantile(Part::Balancer, 50)),
        ("p75", Measure::Quantile(Part::Balancer, 75)),
        ("p90", Measure::Quantile(Part::Balancer, 90)),
        ("p95", Measure::Quantile(Part::Balancer, 95)),
        ("p99", Measure::Quantile(Part::Balancer, 99)),
        ("app_p50", Measure::Quantile(Part::Application, 50)),
        ("app_p75", Measure::Quantile(Part::Application, 75)),
        ("app_p90", Measure::Quantile(Part::Application, 90)),
        ("app_p95", Measure::Quantile(Part::Application, 95)),
        ("app_p99", Measure::Quantile(Part::Application, 99)),
        ("whole_p50", Measure::WholeQuantile(Part::Balancer, 50)),
        ("whole_p75", Measure::WholeQuantile(Part::Balancer, 75)),
        ("whole_p90", Measure::WholeQuantile(Part::Balancer, 90)),
        ("whole_p95", Measure::WholeQuantile(Part::Balancer, 95)),
        ("whole_p99", Measure::WholeQuantile(Part::Balancer, 99)),
        ("whole_app_p50", Measure::WholeQuantile(Part::Application, 50)),
        ("whole_app_p75", Measure::WholeQuantile(Part::Application, 75)),
        ("whole_app_p90", Measure::WholeQuantile(Part::Application, 90)),
        ("whole_app_p95", Measure::WholeQuantile(Part::Application, 95)),
        ("whole_app_p99", Measure::WholeQuantile(Part::Application, 99)),
        ("mean", Measure::Mean),
        ("queued", Measure::Queued),
        ("offered", Measure::Offered),
        ("answered", Measure::Answered),
        ("answered_per_instance", Measure::AnsweredPerInstance),
        ("bad", Measure::Bad),
        ("refused", Measure::Refused),
        ("cost", Measure::Cost),
        ("cost_per_hour", Measure::CostPerHour),
        ("cost_per_million", Measure::CostPerMillion),
        ("outside_goal", Measure::OutsideGoal),
        ("actions", Measure::Actions),
        ("scale_outs", Measure::ScaleOuts),
        ("scale_ins", Measure::ScaleIns),
        ("flaps", Measure::Flaps),
        ("unfulfilled", Measure::Unfulfilled),
    ];

    /// Their names in rows.
    pub fn names() -> impl Iterator<Item = &'static str> {
        Measure::ALL.iter().map(|(name, _)| *name)
    }

    pub(super) fn named(text: &str) -> Option<Measure> {
        Measure::ALL.iter().find(|(name, _)| *name == text).map(|(_, measure)| *measure)
    }

    /// The unit of its values.
    pub fn unit(self) -> Unit {
        match self {
            Measure::AtMax
            | Measure::Cpu
            | Measure::CpuHighest
            | Measure::CpuTrue
            | Measure::Bad
            | Measure::Refused => Unit::Share,
            Measure::Quantile(..) | Measure::WholeQuantile(..) | Measure::Mean | Measure::Queued => {
                Unit::Time
            }
            Measure::Offered | Measure::Answered | Measure::AnsweredPerInstance => Unit::Rate,
            Measure::Cost | Measure::CostPerHour | Measure::CostPerMillion => Unit::Money,
            Measure::InstancesLowest
            | Measure::InstancesMean
            | Measure::InstancesHighest
            | Measure::InstancesMedian
            | Measure::OutsideGoal
            | Measure::Actions
            | Measure::ScaleOuts
            | Measure::ScaleIns
            | Measure::Flaps
            | Measure::Unfulfilled => Unit::Number,
        }
    }

    /// Whether it exists for a window of the day.
    pub fn by_minute(self) -> bool {
        matches!(
            self,
            Measure::InstancesLowest
                | Measure::InstancesMean
                | Measure::InstancesHighest
                | Measure::InstancesMedian
                | Measure::AtMax
                | Measure::Cpu
                | Measure::CpuHighest
                | Measure::CpuTrue
                | Measure::Quantile(..)
                | Measure::Offered
                | Measure::Answered
                | Measure::OutsideGoal
        )
    }
}
