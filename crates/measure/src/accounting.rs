//! The account of every scheduled arrival.
//!
//! A generator that reports only responses hides the worst seconds of a service. So each scheduled arrival has exactly
//! one fate, and the fates add up to the schedule.

use std::fmt;
use std::ops::AddAssign;

/// The fate of one scheduled arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// An HTTP response with any status other than 429 and 503.
    Answered,
    /// Refused on purpose: 429 or 503.
    Shed,
    /// No response, and why.
    Failed(Failure),
    /// No response within the time-out.
    TimedOut,
    /// The generator could not send it before the run ended.
    Unsent,
    /// Sent, without a response or a time-out when the run ended.
    InFlight,
}

impl Fate {
    /// The fate of an arrival whose response has this status.
    pub fn of_status(status: u16) -> Self {
        if matches!(status, 429 | 503) { Fate::Shed } else { Fate::Answered }
    }
}

/// Why a request got no response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Failure {
    /// No process listens there.
    ConnectionRefused,
    /// No route, or no reply to the attempt to connect.
    Unreachable,
    /// The other side reset the connection.
    Reset,
    /// The other side closed the connection before the response was complete.
    ClosedEarly,
    /// A kept connection ended before any byte of the response, and the request was not to be sent again.
    KeptClosed,
    /// The response was not HTTP/1.1, or its framing was invalid.
    Malformed,
    /// The host name cannot be resolved.
    NameNotResolved,
    /// The server's certificate has expired.
    CertificateExpired,
    /// The server's certificate is not accepted, for another reason.
    Certificate,
    /// Both sides could not agree on a TLS version or cipher.
    Tls,
    /// The other side ended the HTTP/2 stream.
    StreamReset,
    /// The other side reported that it had not processed the HTTP/2 request, and it was not sent again.
    StreamRefused,
    /// A public address that the run was not allowed to load.
    HostNotAllowed,
    /// This machine had no local port left: a problem of the generator, not of the service.
    NoPorts,
    /// This machine had no descriptor left: a problem of the generator, not of the service.
    NoDescriptors,
    /// This machine had no memory left: a problem of the generator, not of the service.
    OutOfResources,
    /// Any other error of the operating system.
    Other,
}

impl Failure {
    /// The failures in the order in which they are shown.
    pub const ALL: [Failure; 17] = [
        Failure::ConnectionRefused,
        Failure::Unreachable,
        Failure::Reset,
        Failure::ClosedEarly,
        Failure::KeptClosed,
        Failure::Malformed,
        Failure::NameNotResolved,
        Failure::CertificateExpired,
        Failure::Certificate,
        Failure::Tls,
        Failure::StreamReset,
        Failure::StreamRefused,
        Failure::HostNotAllowed,
        Failure::NoPorts,
        Failure::NoDescriptors,
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
            Failure::KeptClosed => "kept_connection_closed",
            Failure::Malformed => "malformed",
            Failure::NameNotResolved => "name_not_resolved",
            Failure::CertificateExpired => "certificate_expired",
            Failure::Certificate => "certificate",
            Failure::Tls => "tls",
            Failure::StreamReset => "stream_reset",
            Failure::StreamRefused => "stream_refused",
            Failure::HostNotAllowed => "host_not_allowed",
            Failure::NoPorts => "no_ports",
            Failure::NoDescriptors => "no_descriptors",
            Failure::OutOfResources => "out_of_resources",
            Failure::Other => "other",
        }
    }

    /// Whether a resource of this machine, not of the service, was used up.
    pub fn is_ours(self) -> bool {
        matches!(self, Failure::NoPorts | Failure::NoDescriptors | Failure::OutOfResources)
    }

    /// What to do about it, if known.
    pub fn remedy(self) -> Option<&'static str> {
        Some(match self {
            Failure::ConnectionRefused => "no process listens there, or its accept queue is full",
            Failure::NameNotResolved => {
                "check the name, or give its address with --resolve HOST:PORT:ADDRESS"
            }
            Failure::HostNotAllowed => "name it with --allow-host, if it is yours",
            Failure::NoPorts => {
                "give more local addresses (--local-address), keep connections open, or widen net.ipv4.ip_local_port_range"
            }
            Failure::NoDescriptors => "raise `ulimit -n`, or allow fewer connections (-c)",
            _ => return None,
        })
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
            Failure::ClosedEarly => "closed before the response was complete",
            Failure::KeptClosed => "kept connection closed before the response",
            Failure::Malformed => "malformed response",
            Failure::NameNotResolved => "the name leads to no address",
            Failure::CertificateExpired => "certificate expired",
            Failure::Certificate => "certificate not accepted",
            Failure::Tls => "TLS handshake failed",
            Failure::StreamReset => "stream reset",
            Failure::StreamRefused => "stream refused",
            Failure::HostNotAllowed => "a public address that was not allowed",
            Failure::NoPorts => "this machine had no local port left",
            Failure::NoDescriptors => "this machine had no descriptor left",
            Failure::OutOfResources => "this machine had no memory left",
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
    /// How many times a request was sent again because its connection or stream ended before any byte of the response.
    /// This is not a fate: each arrival has one of the six whether it was resent or not. The server may have received
    /// this many requests more than were scheduled.
    pub resent: u64,
}

impl Accounting {
    /// Enters one fate. `scheduled` is counted separately, when the arrival is due.
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

    /// The six fates in the order in which they are shown, each with its name for people.
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
        self.resent += other.resent;
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
