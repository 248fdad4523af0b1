//! Where every scheduled arrival went.
//!
//! A generator that reports only what was answered makes the worst seconds of a service vanish. So each scheduled
//! arrival meets exactly one fate, and the fates add up to the schedule.

use std::fmt;
use std::ops::AddAssign;

/// What became of one scheduled arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// An HTTP answer of any status other than 429 and 503.
    Answered,
    /// Refused on purpose: 429 or 503.
    Shed,
    /// No answer, and why.
    Failed(Failure),
    /// No answer within the time-out.
    TimedOut,
    /// The generator could not send it before the run ended.
    Unsent,
    /// Sent, and neither answered nor timed out when the run ended.
    InFlight,
}

impl Fate {
    /// The fate of an arrival that was answered with this status.
    pub fn of_status(status: u16) -> Self {
        if matches!(status, 429 | 503) { Fate::Shed } else { Fate::Answered }
    }
}

/// Why a request got no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Failure {
    /// Nobody listens there.
    ConnectionRefused,
    /// No route, or no answer to the attempt to connect.
    Unreachable,
    /// The other side reset the connection.
    Reset,
    /// The other side closed the connection before the answer was whole.
    ClosedEarly,
    /// The answer was not HTTP/1.1, or broke its framing.
    Malformed,
    /// This machine had no descriptor, port or memory left: ours, not the service's.
    OutOfResources,
    /// Any other error of the operating system.
    Other,
}

impl Failure {
    /// The failures in the order in which they are shown.
    pub const ALL: [Failure; 7] = [
        Failure::ConnectionRefused,
        Failure::Unreachable,
        Failure::Reset,
        Failure::ClosedEarly,
        Failure::Malformed,
        Failure::OutOfResources,
        Failure::Other,
    ];

    /// The name in JSON and in the ledger.
    pub fn name(self) -> &'static str {
        match self {
            Failure::ConnectionRefused => "connection_refused",
            Failure::Unreachable => "unreachable",
            Failure::Reset => "reset",
            Failure::ClosedEarly => "closed_early",
            Failure::Malformed => "malformed",
            Failure::OutOfResources => "out_of_resources",
            Failure::Other => "other",
        }
    }

    /// The failure with this name.
    pub fn named(name: &str) -> Option<Self> {
        Failure::ALL.into_iter().find(|failure| failure.name() == name)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Failure::ConnectionRefused => "connection refused",
            Failure::Unreachable => "unreachable",
            Failure::Reset => "connection reset",
            Failure::ClosedEarly => "closed before the answer was whole",
            Failure::Malformed => "malformed answer",
            Failure::OutOfResources => "this machine ran out of descriptors, ports or memory",
            Failure::Other => "other error",
        })
    }
}

/// The account of all scheduled arrivals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub struct Accounting {
    pub scheduled: u64,
    pub answered: u64,
    pub shed: u64,
    pub failed: u64,
    pub timed_out: u64,
    pub unsent: u64,
    pub in_flight: u64,
}

impl Accounting {
    /// Enters one fate. `scheduled` is counted apart, when the arrival is due.
    pub fn enter(&mut self, fate: Fate) {
        match fate {
            Fate::Answered => self.answered += 1,
            Fate::Shed => self.shed += 1,
            Fate::Failed(_) => self.failed += 1,
            Fate::TimedOut => self.timed_out += 1,
            Fate::Unsent => self.unsent += 1,
            Fate::InFlight => self.in_flight += 1,
        }
    }

    /// The six fates in the order in which they are shown, each with its name for a person.
    pub fn fates(&self) -> [(&'static str, u64); 6] {
        [
            ("answered", self.answered),
            ("shed", self.shed),
            ("failed", self.failed),
            ("timed out", self.timed_out),
            ("unsent", self.unsent),
            ("in flight", self.in_flight),
        ]
    }

    /// The sum of the six fates.
    pub fn sum(&self) -> u64 {
        self.fates().iter().map(|(_, count)| count).sum()
    }

    /// Whether every scheduled arrival is accounted for.
    pub fn balances(&self) -> bool {
        self.scheduled == self.sum()
    }
}

impl AddAssign for Accounting {
    fn add_assign(&mut self, other: Self) {
        self.scheduled += other.scheduled;
        self.answered += other.answered;
        self.shed += other.shed;
        self.failed += other.failed;
        self.timed_out += other.timed_out;
        self.unsent += other.unsent;
        self.in_flight += other.in_flight;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fate_has_one_column() {
        let fates = [
            Fate::of_status(200),
            Fate::of_status(500),
            Fate::of_status(503),
            Fate::of_status(429),
            Fate::Failed(Failure::Reset),
            Fate::TimedOut,
            Fate::Unsent,
            Fate::InFlight,
        ];
        let mut accounting = Accounting { scheduled: fates.len() as u64, ..Accounting::default() };
        for fate in fates {
            accounting.enter(fate);
        }
        assert!(accounting.balances());
        assert_eq!((accounting.answered, accounting.shed, accounting.failed), (2, 2, 1));
    }

    #[test]
    fn names_lead_back() {
        for failure in Failure::ALL {
            assert_eq!(Failure::named(failure.name()), Some(failure));
        }
    }
}
