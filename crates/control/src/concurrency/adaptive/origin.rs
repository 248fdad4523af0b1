//! The origin of a limit's value, which `explain` shows.
//!
//! The run behind a measured value has a name, a date and a target; the reader of the configuration file keeps those.
//! This is the part that a decision knows: whether the value is still the given one, and otherwise what changed it.

use super::Prior;
use core::fmt;
use core::time::Duration;
use units::{Timestamp, show_duration};

/// The origin of a limit's value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Origin {
    /// Written by an operator.
    Written,
    /// Measured, and unchanged since.
    Measured(Prior),
    /// Adapted to the service.
    Adapted(Change),
}

/// A step of an adaptive limit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Change {
    /// When.
    pub at: Timestamp,
    /// The limit before.
    pub from: u32,
    /// The limit after.
    pub to: u32,
    /// Why.
    pub why: Why,
    /// The mean response time of the step; zero where there was no response.
    pub response_time: Duration,
    /// The baseline that it was compared with.
    pub baseline: Option<Duration>,
}

/// Why an adaptive limit changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// Response times were above the baseline: requests queue in the service.
    Queueing,
    /// Response times are good, and the requests in flight need the room.
    Room,
    /// The service itself refused requests.
    Refused,
    /// A lower limit did not shorten response times: the service has become slower, and the baseline was raised.
    Slower,
}

impl Why {
    /// The name in metrics and logs. It is stable.
    pub const fn name(self) -> &'static str {
        match self {
            Why::Queueing => "queueing",
            Why::Room => "room",
            Why::Refused => "refused",
            Why::Slower => "slower",
        }
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Why::Queueing => "requests queue in the service",
            Why::Room => "response times leave room",
            Why::Refused => "the service refuses requests",
            Why::Slower => "the service has become slower",
        })
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Change { at, from, to, why, response_time, baseline } = *self;
        write!(f, "{from} to {to} at {at}: {why}; response time {}", show_duration(response_time))?;
        match baseline {
            Some(baseline) => write!(f, ", baseline {}", show_duration(baseline)),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Written => f.write_str("as written in the file"),
            Origin::Measured(Prior { rate, response_time, .. }) => {
                write!(f, "as measured: {rate} at {} in calm", show_duration(*response_time))
            }
            Origin::Adapted(change) => change.fmt(f),
        }
    }
}
