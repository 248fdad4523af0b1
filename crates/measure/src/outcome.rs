//! The outcome of an arrival that was sent, for grouping its times.
//!
//! Errors are often faster than successful responses, or much slower; a distribution that mixes them describes neither.
//! So times are kept separately by outcome, and added where a reader needs all of them.

use std::ops::Range;

/// The statuses of a request that succeeded; any other status is a failure, 429 and 503 too. The goals of `find`, the
/// thresholds of `load` and the good share of a run use it, as in k6.
pub const SUCCEEDED: Range<u16> = 200..400;

/// The outcome of an arrival that was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Outcome {
    /// A status from 200 to 299.
    Success,
    /// A status from 300 to 399 that was not followed.
    Redirect,
    /// A status from 400 to 499 other than 429.
    ClientError,
    /// A status of 500 or more other than 503.
    ServerError,
    /// 429 or 503: refused on purpose.
    Shed,
    /// No response within the time-out; its time is censored.
    TimedOut,
    /// No response; its time is the time to the failure.
    Failed,
}

impl Outcome {
    /// The outcomes in the order in which they are shown.
    pub const ALL: [Outcome; 7] = [
        Outcome::Success,
        Outcome::Redirect,
        Outcome::ClientError,
        Outcome::ServerError,
        Outcome::Shed,
        Outcome::TimedOut,
        Outcome::Failed,
    ];

    /// The outcome of an arrival whose response has this status.
    pub fn of_status(status: u16) -> Self {
        match status {
            429 | 503 => Outcome::Shed,
            0..300 => Outcome::Success,
            300..400 => Outcome::Redirect,
            400..500 => Outcome::ClientError,
            _ => Outcome::ServerError,
        }
    }

    /// Its index in [`Outcome::ALL`].
    pub fn index(self) -> usize {
        self as usize
    }

    /// The name in JSON, CSV and the ledger.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Success => "success",
            Outcome::Redirect => "redirect",
            Outcome::ClientError => "client_error",
            Outcome::ServerError => "server_error",
            Outcome::Shed => "shed",
            Outcome::TimedOut => "timed_out",
            Outcome::Failed => "failed",
        }
    }

    /// The outcome with this name.
    pub fn named(name: &str) -> Option<Self> {
        Outcome::ALL.into_iter().find(|outcome| outcome.name() == name)
    }

    /// Whether its times count as response times: responses except shed ones, and time-outs.
    pub fn is_response(self) -> bool {
        !matches!(self, Outcome::Shed | Outcome::Failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_places_lead_back() {
        for (place, outcome) in Outcome::ALL.into_iter().enumerate() {
            assert_eq!((outcome.index(), Outcome::named(outcome.name())), (place, Some(outcome)));
        }
    }

    #[test]
    fn a_refusal_is_no_error_of_the_server() {
        for (status, outcome) in [
            (204, Outcome::Success),
            (302, Outcome::Redirect),
            (404, Outcome::ClientError),
            (429, Outcome::Shed),
            (500, Outcome::ServerError),
            (503, Outcome::Shed),
            (999, Outcome::ServerError),
        ] {
            assert_eq!(Outcome::of_status(status), outcome, "{status}");
        }
    }
}
