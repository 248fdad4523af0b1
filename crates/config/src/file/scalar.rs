//! Single values that only gateway files have.

use control::Statuses as StatusSet;
use fields::{Scalar, scalar};
use gateway::settings::{Network, NetworkError};

/// A status, or a class of them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StatusWord(pub(crate) StatusSet);
scalar!(StatusWord, {
    "type": ["integer", "string"], "minimum": 200, "maximum": 599, "pattern": "^([2-5][0-9][0-9]|[2-5][xX][xX])$"
});

impl Scalar for StatusWord {
    const EXPECTED: &'static str = "a status from 200 to 599 or a class of them, such as `429` or `5xx`";
    fn parse(text: &str) -> Option<Self> {
        (!text.contains(',')).then(|| text.parse().ok().map(StatusWord)).flatten()
    }
}

/// A range of addresses, or one. Its bits are checked later, where the message can be more specific.
#[derive(Debug, Clone)]
pub(crate) struct Range(pub(crate) String);
scalar!(Range, { "type": "string", "pattern": "^[0-9A-Fa-f:.]+(/[0-9]{1,3})?$" });

impl Scalar for Range {
    const EXPECTED: &'static str = "an IP address or a range of them, such as `10.0.0.0/8` or `::1`";
    fn parse(text: &str) -> Option<Self> {
        let unknown = text.parse::<Network>() == Err(NetworkError::Address);
        (!unknown).then(|| Range(text.to_owned()))
    }
}
