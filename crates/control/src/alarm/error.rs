//! Settings of an alarm that CloudWatch would refuse, or that could never alarm.

use crate::error::Span;

/// Why an alarm cannot be: the field, what was found, the bound and the way out.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum AlarmError {
    /// A period that no datapoint has.
    #[error("`period` is {found}, but CloudWatch folds to 10s, 20s, 30s or whole minutes: 60s is usual")]
    Period {
        /// What was found.
        found: Span,
    },
    /// The same, of a local fleet.
    #[error(
        "`period` is {found}, but `platform` is local, which folds to whole seconds that divide a minute, or to whole \
         minutes: 10s is usual"
    )]
    LocalPeriod {
        /// What was found.
        found: Span,
    },
    /// Nothing to look at.
    #[error("`{field}` is 0, but one is the least that can breach: 1 alarms on a single datapoint")]
    ZeroCount {
        /// `evaluation_periods` or `datapoints_to_alarm`.
        field: &'static str,
    },
    /// More datapoints than are looked at.
    #[error(
        "`datapoints_to_alarm` is {datapoints}, but {datapoints} of the last {periods} can never breach: raise \
         `evaluation_periods` to {datapoints}, or lower `datapoints_to_alarm`"
    )]
    DatapointsAbovePeriods {
        /// What has to breach.
        datapoints: u32,
        /// What is looked at.
        periods: u32,
    },
    /// Looks back further than CloudWatch does.
    #[error(
        "`evaluation_periods` times `period` is {found}, above the bound of {most} ({most_periods} periods): lower \
         one of them"
    )]
    TooLong {
        /// Their product.
        found: Span,
        /// A day, or seven where the period is an hour or longer.
        most: Span,
        /// So many periods fit.
        most_periods: u64,
    },
    /// A threshold that is no number.
    #[error("`threshold` is {found}, which nothing crosses: set a finite number")]
    Threshold {
        /// What was found.
        found: f64,
    },
    /// A range that has no room for what is looked at.
    #[error(
        "`evaluation_range` is {range}, below `evaluation_periods` at {periods}: raise it to at least {periods}, or \
         leave it out for {periods} and two more"
    )]
    RangeBelowPeriods {
        /// What was found.
        range: u32,
        /// What is looked at.
        periods: u32,
    },
}
