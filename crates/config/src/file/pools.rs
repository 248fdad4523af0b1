//! The tables below a pool: its instances and how requests are spread over them.

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
        /// Where it listens, as an IP address with a port.
        address: At<Address>,
        /// How large its share is beside the others. Default: 1.
        weight: Option<At<Count>>,
        /// It gets no new requests, except those of clients that a cookie keeps with it. Default: false.
        drain: Option<At<Switch>>,
    }

    /// Balancing by a part of the request.
    FileHash {
        /// What is hashed: `client` (the address), `{ header: … }` or `{ cookie: … }`. A request without it goes
        /// anywhere.
        hash: At<FileKey>,
    }

    /// Clients stay with the instance that they were given.
    FileAffinity {
        /// The name of the cookie that the gateway sets for that.
        cookie: At<Text>,
    }

    /// Active checks: each instance is asked for a path, whatever its requests say.
    FileHealth {
        /// What is asked for, with GET.
        path: At<Text>,
        /// Between two checks of an instance. Default: 2s.
        interval: Option<At<Span>>,
        /// A check that takes longer has failed. Default: 1s.
        timeout: Option<At<Span>>,
        /// So many passed checks in a row bring an instance back. Default: 2.
        healthy_after: Option<At<Count>>,
        /// So many failed checks in a row take an instance out. Default: 3.
        unhealthy_after: Option<At<Count>>,
        /// The statuses that pass. Default: 200..399.
        status: Option<At<Statuses>>,
    }

    /// When an instance that fails requests gets none for a while. `{}` for the defaults, which are Envoy's.
    FileEjection {
        /// So many failures in a row (5xx other than 503, no answer) eject at once. Default: 5.
        consecutive_failures: Option<At<Count>>,
        /// The instances' success rates are compared once in so long. Default: 10s.
        interval: Option<At<Span>>,
        /// Only instances with so many requests in the interval are compared. Default: 100.
        min_requests: Option<At<Count>>,
        /// Only so many such instances are compared at all. Default: 5.
        min_instances: Option<At<Count>>,
        /// How long the first ejection lasts; the second twice as long. Default: 30s.
        base: Option<At<Span>>,
        /// No ejection lasts longer. Default: 5m.
        longest: Option<At<Span>>,
        /// No more than this share of the instances is ejected at once, but one may be. Default: 10%.
        max_share: Option<At<Share>>,
    }

    /// How often requests that failed may be sent again.
    FileRetries {
        /// As a share of all requests of the last ten seconds. Default: 20%.
        budget: Option<At<Share>>,
        /// What is allowed besides. Default: 3/s.
        least: Option<At<Frequency>>,
        /// How often one request is sent at most, the first time included; 1 repeats nothing that was sent.
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

/// A way of balancing by its name, or a table.
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

/// Statuses of HTTP, from one to another.
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
