//! The tables within a pool: its instances and balancing.

use super::FileKey;
use fields::{
    Address, At, Count, Frequency, Read, Report, Scalar, Share, Span, Switch, Text, place, scalar,
    schema_of_word_or_table, tables,
};
use std::ops::RangeInclusive;
use yaml::{Kind, Node};

tables! {
    /// One instance.
    FileInstanceTable {
        /// Its IP address and port.
        address: At<Address>,
        /// Its share relative to the others. Default: 1.
        weight: Option<At<Count>>,
        /// Sends it no new requests, except those of clients with an affinity cookie for it. Default: false.
        drain: Option<At<Switch>>,
    }

    /// Balancing by a part of the request.
    FileHash {
        /// The hash key: `client` (the address), `{ header: … }` or `{ cookie: … }`. A request without it goes to any
        /// instance.
        hash: At<FileKey>,
    }

    /// Session affinity: clients stay with their instance.
    FileAffinity {
        /// The name of the affinity cookie.
        cookie: At<Text>,
    }

    /// Active health checks: each instance gets periodic requests for a path.
    FileHealth {
        /// The path, requested with GET.
        path: At<Text>,
        /// Between two checks of an instance. Default: 2s.
        interval: Option<At<Span>>,
        /// A check that takes longer has failed. Default: 1s.
        timeout: Option<At<Span>>,
        /// Number of consecutive successful checks after which an instance is used again. Default: 2.
        healthy_after: Option<At<Count>>,
        /// Number of consecutive failed checks after which an instance is removed. Default: 3.
        unhealthy_after: Option<At<Count>>,
        /// The statuses of a successful check. Default: 200..399.
        status: Option<At<Statuses>>,
    }

    /// Ejection: an instance that fails requests gets none for some time. `{}` for the defaults, which are Envoy's.
    FileEjection {
        /// Number of consecutive failures (5xx other than 503, no response) that ejects at once. Default: 5.
        consecutive_failures: Option<At<Count>>,
        /// How often the instances' success rates are compared. Default: 10s.
        interval: Option<At<Span>>,
        /// Only instances with at least this many requests in the interval are compared. Default: 100.
        min_requests: Option<At<Count>>,
        /// Minimum number of such instances for a comparison. Default: 5.
        min_instances: Option<At<Count>>,
        /// The length of the first ejection; the second is twice as long. Default: 30s.
        base: Option<At<Span>>,
        /// The longest ejection. Default: 5m.
        longest: Option<At<Span>>,
        /// Maximum share of the instances that is ejected at once, but at least one. Default: 10%.
        max_share: Option<At<Share>>,
    }

    /// Retries of failed requests.
    FileRetries {
        /// Maximum share of retries in all requests of the last ten seconds. Default: 20%.
        budget: Option<At<Share>>,
        /// Retries that are allowed in addition. Default: 3/s.
        least: Option<At<Frequency>>,
        /// Maximum number of attempts of a request, including the first; 1 disables retries of requests that were sent.
        /// Default: 2.
        tries: Option<At<Count>>,
    }
}

/// An instance: its address, or a table.
#[derive(Debug)]
pub(crate) enum FileInstance {
    Address(At<Address>),
    Table(FileInstanceTable),
}

impl FileInstance {
    pub(crate) fn address(&self) -> &At<Address> {
        match self {
            FileInstance::Address(address) => address,
            FileInstance::Table(table) => &table.address,
        }
    }
}

impl Read for FileInstance {
    fn read(node: &Node, path: &str, report: &mut Report) -> Option<Self> {
        match &node.kind {
            Kind::Table(_) => FileInstanceTable::read(node, path, report).map(FileInstance::Table),
            _ => At::read(node, path, report).map(FileInstance::Address),
        }
    }
}

/// A balancing algorithm by its name, or a table.
#[derive(Debug)]
pub(crate) enum FileBalance {
    LeastOutstanding,
    RoundRobin,
    PeakEwma,
    Hash(FileHash),
}

impl Read for FileBalance {
    fn read(node: &Node, path: &str, report: &mut Report) -> Option<Self> {
        let Kind::Scalar(word) = &node.kind else {
            return FileHash::read(node, path, report).map(FileBalance::Hash);
        };
        match word.as_str() {
            "least_outstanding" => return Some(FileBalance::LeastOutstanding),
            "round_robin" => return Some(FileBalance::RoundRobin),
            "peak_ewma" => return Some(FileBalance::PeakEwma),
            _ => {}
        }
        let message = format!("expected a way of balancing, found `{word}`");
        let help = "write `least_outstanding`, `round_robin`, `peak_ewma`, or `{ hash: client }`".to_owned();
        report.wrong(&place(node, path), message, "this value", help);
        None
    }
}

schema_of_word_or_table!(FileInstance, { "type": "string", "pattern": "^(.+):[0-9]{1,5}$" }, FileInstanceTable);
schema_of_word_or_table!(FileBalance, { "enum": ["least_outstanding", "round_robin", "peak_ewma"] }, FileHash);

/// HTTP statuses, from one to another.
#[derive(Debug, Clone)]
pub(crate) struct Statuses(pub(crate) RangeInclusive<u16>);
scalar!(Statuses, { "type": ["integer", "string"], "pattern": "^[1-5][0-9]{2}(\\.\\.[1-5][0-9]{2})?$" });

impl Scalar for Statuses {
    const EXPECTED: &'static str = "a status or a range of them, such as `200` or `200..399` (100 to 599)";
    fn parse(text: &str) -> Option<Self> {
        let (first, last) = text.split_once("..").unwrap_or((text, text));
        let status = |text: &str| text.parse().ok().filter(|status: &u16| (100..=599).contains(status));
        let (first, last) = (status(first)?, status(last)?);
        (first <= last).then_some(Statuses(first..=last))
    }
}
