//! The gateway as a rule sees it.
//!
//! ## Why a trait that is borrowed for one activation
//! Every host function of a rule yields to [`Machine`](crate::Machine), which then calls the `Host`. So no callback
//! inside Luau holds a reference to the gateway, an implementation may borrow anything, and a hundred suspended rules
//! hold nothing of their requests.

use crate::classes::{RateClassId, ServiceLevelId};
use std::borrow::Cow;
use std::net::IpAddr;
use units::Ratio;

/// One request and the classes of the gateway, borrowed by the rule for one activation.
///
/// The time spent in these functions counts against the rule's time limit.
pub trait Host {
    /// The path of the request target without the query, in its normal form: escapes resolved, no empty or dot
    /// segments, so that another spelling of the path does not bypass a rule.
    fn path(&self) -> &[u8];

    /// The request method, such as `GET`.
    fn method(&self) -> &[u8];

    /// The query of the request target as it was sent, without the question mark; `None` if there is none.
    fn query(&self) -> Option<&str>;

    /// Host and optional port of the request.
    fn host(&self) -> Option<&str>;

    /// The first value of a request header field; `name` is not case-sensitive.
    fn header(&self, name: &[u8]) -> Option<&[u8]>;

    /// All Cookie fields of the request as one.
    fn cookies(&self) -> Cow<'_, [u8]>;

    /// The client address.
    fn client(&self) -> IpAddr;

    /// Takes a log line: printable, at most some 300 characters.
    fn log(&mut self, line: &str);

    /// Times this request with a service level class, in place of the one of its route.
    fn set_service_level(&mut self, class: ServiceLevelId);

    /// The share of recent requests that met the target of the class; one if there were none.
    fn conforming(&self, class: ServiceLevelId) -> Ratio;

    /// How many requests wait for the rate class, or for one key of it.
    fn backlog(&self, class: RateClassId, key: Option<&[u8]>) -> u32;

    /// Requests a place at the rate class, in its backlog if necessary.
    fn claim(&mut self, class: RateClassId, key: Option<&[u8]>) -> Claim;

    /// Requests a place at the rate class without waiting; true if the request is admitted.
    fn claim_at_once(&mut self, class: RateClassId, key: Option<&[u8]>) -> bool;
}

/// The head of an instance's response, borrowed by a response rule.
pub trait Answer {
    /// The status, from 200 on.
    fn status(&self) -> u16;

    /// The first value of a header field; `name` is not case-sensitive.
    fn header(&self, name: &[u8]) -> Option<&[u8]>;
}

/// The decision of a rate class on a request that may wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claim {
    /// The rate allows it: the rule continues.
    Now,
    /// It waits in the backlog: the rule is suspended until [`Machine::resume`](crate::Machine::resume).
    Wait,
    /// The backlog is full: the rule ends and the gateway sends the response of its rate class.
    Shed,
}
