//! Settings of an alarm that CloudWatch would refuse, or that could never alarm.

use crate::Refusal;
use crate::error::Span;
use alloc::format;
use core::fmt;

/// Why an alarm's settings are invalid: the field, what was found, the bound and the way out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum AlarmError {
    /// A period that CloudWatch does not support.
    Period {
        /// What was found.
        found: Span,
    },
    /// The same for a local fleet.
    LocalPeriod {
        /// What was found.
        found: Span,
    },
    /// A count of zero.
    ZeroCount {
        /// `evaluation_periods` or `datapoints_to_alarm`.
        field: &'static str,
    },
    /// More datapoints to alarm than evaluation periods.
    DatapointsAbovePeriods {
        /// Datapoints to alarm.
        datapoints: u32,
        /// Evaluation periods.
        periods: u32,
    },
    /// An evaluation interval longer than CloudWatch's.
    TooLong {
        /// Period times evaluation periods.
        found: Span,
        /// A day, or seven where the period is an hour or longer.
        most: Span,
        /// The number of periods that fit.
        most_periods: u64,
    },
    /// A threshold that is not a number.
    Threshold {
        /// What was found.
        found: f64,
    },
    /// An evaluation range shorter than the evaluation periods.
    RangeBelowPeriods {
        /// What was found.
        range: u32,
        /// The evaluation periods.
        periods: u32,
    },
}

impl AlarmError {
    /// What is wrong, and the way out.
    pub fn refusal(&self) -> Refusal {
        match self {
            AlarmError::Period { found } => Refusal::new(
                format!("`period` is {found}, but CloudWatch folds to 10s, 20s, 30s or whole minutes"),
                "60s is usual",
            ),
            AlarmError::LocalPeriod { found } => Refusal::new(
                format!(
                    "`period` is {found}, but `platform` is local, which folds to whole seconds that \
                     divide a minute, or to whole minutes"
                ),
                "10s is usual",
            ),
            AlarmError::ZeroCount { field } => Refusal::new(
                format!("`{field}` is 0, but one is the least that can breach"),
                "1 alarms on a single datapoint",
            ),
            AlarmError::DatapointsAbovePeriods { datapoints, periods } => Refusal::new(
                format!(
                    "`datapoints_to_alarm` is {datapoints}, but {datapoints} of the last {periods} can \
                     never breach"
                ),
                format!("raise `evaluation_periods` to {datapoints}, or lower `datapoints_to_alarm`"),
            ),
            AlarmError::TooLong { found, most, most_periods } => Refusal::new(
                format!(
                    "`evaluation_periods` times `period` is {found}, above the bound of {most} \
                     ({most_periods} periods)"
                ),
                "lower one of them",
            ),
            AlarmError::Threshold { found } => {
                Refusal::new(format!("`threshold` is {found}, which nothing crosses"), "set a finite number")
            }
            AlarmError::RangeBelowPeriods { range, periods } => Refusal::new(
                format!("`evaluation_range` is {range}, below `evaluation_periods` at {periods}"),
                format!("raise it to at least {periods}, or leave it out for {periods} and two more"),
            ),
        }
    }
}

impl fmt::Display for AlarmError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.refusal().fmt(f)
    }
}

impl core::error::Error for AlarmError {}
