//! What a rule sees of the gateway.
//!
//! ## Why a trait that is lent for one activation
//! Every host function of a rule hands control back to [`Machine`](crate::Machine), which then asks the `Host`.
//! So no callback inside Luau holds on to the gateway, the trait may borrow whatever it likes, and a hundred
//! suspended rules hold nothing of their requests.

use crate::classes::{RateClassId, ServiceLevelId};
use std::borrow::Cow;
use std::net::IpAddr;
use units::Ratio;

/// One request and the classes of the gateway, lent to the rule for one activation.
///
/// The time spent in these functions counts against the rule's time limit.
pub trait Host {
    /// The path of the request target without the query, in its normal form: escapes resolved, no empty or dot
    /// segments, so that a rule cannot be passed by spelling the path another way.
    fn path(&self) -> &[u8];

    /// The request method, such as `GET`.
    fn method(&self) -> &[u8];

    /// The query of the request target as it was sent, without the question mark; `None` where there is none.
    fn query(&self) -> Option<&str>;

    /// Host and optional port that the request is for.
    fn host(&self) -> Option<&str>;

    /// The first value of a request header field; `name` is compared without regard to case.
    fn header(&self, name: &[u8]) -> Option<&[u8]>;

    /// All Cookie fields of the request as one.
    fn cookies(&self) -> Cow<'_, [u8]>;

    /// Who sent the request.
    fn client(&self) -> IpAddr;

    /// Takes a line for whoever watches the gateway: printable, at most some 300 characters.
    fn log(&mut self, line: &str);

    /// Times this request with a service level class, in place of the one that its route names.
    fn set_service_level(&mut self, class: ServiceLevelId);

    /// The part of recent requests that met the target of the class; one where there were none.
    fn conforming(&self, class: ServiceLevelId) -> Ratio;

    /// How many requests wait for the rate class, or for one key of it.
    fn backlog(&self, class: RateClassId, key: Option<&[u8]>) -> u32;

    /// Asks for a place at the rate class, in its backlog where need be.
    fn claim(&mut self, class: RateClassId, key: Option<&[u8]>) -> Claim;

    /// Asks for a place at the rate class now or never; true where the request is admitted.
    fn claim_at_once(&mut self, class: RateClassId, key: Option<&[u8]>) -> bool;
}

/// The head of an instance's answer, lent to a response rule.
pub trait Answer {
    /// The status, from 200 on.
    fn status(&self) -> u16;

    /// The first value of a header field; `name` is compared without regard to case.
    fn header(&self, name: &[u8]) -> Option<&[u8]>;
}

/// What the rate class says to a request that may wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claim {
    /// The rate allows it: the rule goes on.
    Now,
    /// It waits in the backlog: the rule is suspended until [`Machine::resume`](crate::Machine::resume).
    Wait,
    /// The backlog is full: the rule ends and the gateway answers as its rate class says.
    Shed,
}
