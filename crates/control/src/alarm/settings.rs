//! The settings of an alarm: its metric, and how missing data is treated.

use super::evaluation::Rule;
use super::{AlarmError, MINUTE, SECOND, TEN_SECONDS};
use crate::assumption::Assumption;
use crate::error::Span;
use crate::metric::{MetricId, Statistic};
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

/// The settings of an alarm, by CloudWatch's names.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AlarmSettings {
    /// The metric.
    pub metric: MetricId,
    /// How the samples of a period are combined.
    pub statistic: Statistic,
    /// The period, one that the grid allows.
    pub period: Duration,
    /// N: the number of newest datapoints that are evaluated.
    pub evaluation_periods: u32,
    /// M: how many of them have to breach, consecutive or not.
    pub datapoints_to_alarm: u32,
    /// How a datapoint breaches: the datapoint is the first operand.
    pub comparison: Comparison,
    /// The second operand, in the unit of the metric.
    pub threshold: f64,
    /// How a missing datapoint is treated.
    pub missing: Missing,
    /// How a percentile with few samples is treated.
    pub few_samples: FewSamples,
    /// The number of datapoints that are fetched, so that missing ones can be skipped. None: N plus two, see
    /// [`EVALUATION_RANGE`](Self::EVALUATION_RANGE).
    pub evaluation_range: Option<u32>,
    /// Where the periods end.
    pub windows: Windows,
    /// How often the actions of a state are invoked while it lasts.
    pub repeat: Repeat,
    /// Which periods are allowed. A scaler sets that of its platform.
    pub grid: Grid,
}

/// Which periods are allowed, and how often alarms with periods below a minute are evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Grid {
    /// 10, 20 or 30 s, or whole minutes; evaluated every 10 s.
    #[default]
    CloudWatch,
    /// Whole seconds that divide a minute, or whole minutes; evaluated every second. For metrics that an autoscaler
    /// reads from its instances itself.
    Local,
}

impl Grid {
    /// The evaluation interval of alarms whose period is below a minute.
    const fn step(self) -> Duration {
        match self {
            Grid::CloudWatch => TEN_SECONDS,
            Grid::Local => SECOND,
        }
    }

    fn has(self, period: Duration) -> bool {
        let whole = |unit: Duration| period.as_nanos().is_multiple_of(unit.as_nanos());
        let fine = match self {
            Grid::CloudWatch => whole(TEN_SECONDS) && period.as_secs() <= 30,
            Grid::Local => whole(SECOND) && MINUTE.as_nanos().is_multiple_of(period.as_nanos().max(1)),
        };
        !period.is_zero() && (whole(MINUTE) || period < MINUTE && fine)
    }

    fn refused(self, period: Duration) -> AlarmError {
        match self {
            Grid::CloudWatch => AlarmError::Period { found: Span(period) },
            Grid::Local => AlarmError::LocalPeriod { found: Span(period) },
        }
    }
}

/// How a datapoint breaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// At or above the threshold.
    GreaterThanOrEqualTo,
    /// Above it.
    GreaterThan,
    /// Below it.
    LessThan,
    /// At or below it.
    LessThanOrEqualTo,
}

/// How a missing datapoint is treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Missing {
    /// Not counted: if all are missing, the state is `INSUFFICIENT_DATA`. CloudWatch's default.
    #[default]
    Missing,
    /// Not counted; if all are missing, the state is kept.
    Ignore,
    /// As breaching.
    Breaching,
    /// As not breaching.
    NotBreaching,
}

/// How a percentile with too few samples is treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum FewSamples {
    /// It is evaluated like any other. CloudWatch's default.
    #[default]
    Evaluate,
    /// The state is kept.
    Ignore,
}

/// Where the periods end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Windows {
    /// At the newest minute, so that the periods of consecutive evaluations overlap. CloudWatch's default.
    #[default]
    Sliding,
    /// At multiples of the period.
    WallClock,
}

/// How often the actions of a state are invoked while it lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Repeat {
    /// When the state begins, and once a minute from then on: CloudWatch's behaviour for Auto Scaling.
    #[default]
    EachMinute,
    /// When the state begins, and once each period of the alarm from then on, and each minute if its period is longer:
    /// for an autoscaler that reads its instances more often than every minute.
    EachPeriod,
    /// Only when the state begins: CloudWatch's behaviour for all other actions.
    OnTransition,
}

impl Repeat {
    /// The time between two invocations by an alarm with this period; none: there is no second one.
    pub fn interval(self, period: Duration) -> Option<Duration> {
        match self {
            Repeat::EachMinute => Some(MINUTE),
            Repeat::EachPeriod => Some(period.min(MINUTE)),
            Repeat::OnTransition => None,
        }
    }
}

impl AlarmSettings {
    /// CloudWatch publishes its evaluation range for one example only.
    pub const EVALUATION_RANGE: Assumption = Assumption {
        name: "evaluation range",
        text: "an alarm fetches two datapoints more than its evaluation periods, to pass over what is missing; the \
               vendor publishes that it fetches more, and five for three in its examples",
    };

    /// The state that an alarm keeps when all visible datapoints breach, but there are too few.
    pub const KEPT_STATE: Assumption = Assumption {
        name: "kept state",
        text: "where fewer datapoints exist than have to breach, all of them breach and the oldest is too young, the \
               state stays; the vendor publishes only that it does not become ALARM",
    };

    /// Over which span the samples of a percentile are counted.
    pub const FEW_SAMPLES: Assumption = Assumption {
        name: "samples of a percentile",
        text: "whether a percentile has enough samples is counted over all evaluation periods together",
    };

    /// Where the newest period ends.
    pub const NEWEST_PERIOD: Assumption = Assumption {
        name: "newest period",
        text: "the newest period ends with the newest minute whose publication is due, so a delay shifts the periods \
               and is not seen as missing data",
    };

    /// An alarm on a single datapoint, with CloudWatch's defaults for the rest.
    pub const fn new(
        metric: MetricId,
        statistic: Statistic,
        period: Duration,
        comparison: Comparison,
        threshold: f64,
    ) -> Self {
        AlarmSettings {
            metric,
            statistic,
            period,
            evaluation_periods: 1,
            datapoints_to_alarm: 1,
            comparison,
            threshold,
            missing: Missing::Missing,
            few_samples: FewSamples::Evaluate,
            evaluation_range: None,
            windows: Windows::Sliding,
            repeat: Repeat::EachMinute,
            grid: Grid::CloudWatch,
        }
    }

    /// Every problem of the settings.
    pub fn problems(&self) -> Vec<AlarmError> {
        let mut problems = Vec::new();
        let (periods, datapoints) = (self.evaluation_periods, self.datapoints_to_alarm);
        let period_fits = self.grid.has(self.period);
        if !period_fits {
            problems.push(self.grid.refused(self.period));
        }
        for (field, count) in [("evaluation_periods", periods), ("datapoints_to_alarm", datapoints)] {
            if count == 0 {
                problems.push(AlarmError::ZeroCount { field });
            }
        }
        if datapoints > periods {
            problems.push(AlarmError::DatapointsAbovePeriods { datapoints, periods });
        }
        let most = if self.period < HOUR { DAY } else { 7 * DAY };
        let found = self.period.saturating_mul(periods);
        if period_fits && found > most {
            let most_periods = most.as_secs() / self.period.as_secs();
            problems.push(AlarmError::TooLong { found: Span(found), most: Span(most), most_periods });
        }
        if !self.threshold.is_finite() {
            problems.push(AlarmError::Threshold { found: self.threshold });
        }
        if let Some(range) = self.evaluation_range.filter(|range| *range < periods) {
            problems.push(AlarmError::RangeBelowPeriods { range, periods });
        }
        problems
    }

    /// The evaluation interval: a minute, or the grid's for periods shorter than a minute.
    pub fn step(&self) -> Duration {
        if self.period < MINUTE { self.grid.step() } else { MINUTE }
    }

    /// How many datapoints are fetched.
    pub fn range(&self) -> u32 {
        self.evaluation_range.unwrap_or(self.evaluation_periods.saturating_add(2))
    }

    /// How much history it needs: what a series has to keep, before its delay.
    pub fn history(&self) -> Duration {
        self.period.saturating_mul(self.range()).saturating_add(self.step())
    }

    /// How many samples a percentile needs, so that ten are beyond it; none for other statistics.
    pub fn samples_needed(&self) -> Option<f64> {
        let Statistic::Percentile(quantile) = self.statistic else { return None };
        let share = quantile.get();
        // Rounded to whole samples: ten over one hundredth is not exactly a thousand in binary.
        Some(libm::round(if share < 0.5 { 10.0 / share } else { 10.0 / (1.0 - share) }))
    }

    /// The assumptions that these settings depend on.
    pub fn assumptions(&self) -> impl Iterator<Item = Assumption> {
        let keeps =
            matches!(self.missing, Missing::Missing | Missing::Ignore) && self.datapoints_to_alarm > 1;
        let few = self.few_samples == FewSamples::Ignore && self.samples_needed().is_some();
        [
            Some(Self::NEWEST_PERIOD),
            self.evaluation_range.is_none().then_some(Self::EVALUATION_RANGE),
            keeps.then_some(Self::KEPT_STATE),
            few.then_some(Self::FEW_SAMPLES),
        ]
        .into_iter()
        .flatten()
    }

    pub(super) fn rule(&self) -> Rule {
        Rule {
            evaluation_periods: self.evaluation_periods,
            datapoints_to_alarm: self.datapoints_to_alarm,
            missing: self.missing,
        }
    }
}

impl Comparison {
    /// All of them.
    pub const ALL: [Comparison; 4] = [
        Comparison::GreaterThanOrEqualTo,
        Comparison::GreaterThan,
        Comparison::LessThan,
        Comparison::LessThanOrEqualTo,
    ];

    /// The key of a threshold in case files: `at_least`.
    pub const fn name(self) -> &'static str {
        match self {
            Comparison::GreaterThanOrEqualTo => "at_least",
            Comparison::GreaterThan => "above",
            Comparison::LessThan => "below",
            Comparison::LessThanOrEqualTo => "at_most",
        }
    }

    /// As CloudWatch's API writes it: `GreaterThanOrEqualToThreshold`.
    pub const fn api_name(self) -> &'static str {
        match self {
            Comparison::GreaterThanOrEqualTo => "GreaterThanOrEqualToThreshold",
            Comparison::GreaterThan => "GreaterThanThreshold",
            Comparison::LessThan => "LessThanThreshold",
            Comparison::LessThanOrEqualTo => "LessThanOrEqualToThreshold",
        }
    }

    /// Whether a datapoint breaches.
    pub fn holds(self, value: f64, threshold: f64) -> bool {
        match self {
            Comparison::GreaterThanOrEqualTo => value >= threshold,
            Comparison::GreaterThan => value > threshold,
            Comparison::LessThan => value < threshold,
            Comparison::LessThanOrEqualTo => value <= threshold,
        }
    }

    /// Whether it breaches upwards.
    pub const fn is_upward(self) -> bool {
        matches!(self, Comparison::GreaterThan | Comparison::GreaterThanOrEqualTo)
    }
}

impl Missing {
    /// All of them.
    pub const ALL: [Missing; 4] =
        [Missing::Missing, Missing::Ignore, Missing::Breaching, Missing::NotBreaching];

    /// As case files write it: `not-breaching`.
    pub const fn name(self) -> &'static str {
        match self {
            Missing::Missing => "missing",
            Missing::Ignore => "ignore",
            Missing::Breaching => "breaching",
            Missing::NotBreaching => "not-breaching",
        }
    }

    /// As CloudWatch's API writes it: `notBreaching`.
    pub const fn api_name(self) -> &'static str {
        match self {
            Missing::NotBreaching => "notBreaching",
            other => other.name(),
        }
    }
}

impl FewSamples {
    /// All of them.
    pub const ALL: [FewSamples; 2] = [FewSamples::Evaluate, FewSamples::Ignore];

    /// As CloudWatch's API and case files write it: `evaluate`.
    pub const fn name(self) -> &'static str {
        match self {
            FewSamples::Evaluate => "evaluate",
            FewSamples::Ignore => "ignore",
        }
    }
}

impl fmt::Display for Comparison {
    /// As in CloudWatch's reasons: `greater than or equal to`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Comparison::GreaterThanOrEqualTo => "greater than or equal to",
            Comparison::GreaterThan => "greater than",
            Comparison::LessThan => "less than",
            Comparison::LessThanOrEqualTo => "less than or equal to",
        })
    }
}

const HOUR: Duration = Duration::from_secs(3_600);
const DAY: Duration = Duration::from_secs(86_400);
