//! What a gateway is and does, as one document: `GET /status`, `headroom top`, `headroom explain`. The gateway fills it
//! in; whatever shows a gateway reads it and needs nothing else of it.
//!
//! Names and units are in the keys; what is unknown is absent. Readers ignore keys that they do not know, so that the
//! document may grow.
//!
//! The names that a gateway uses everywhere, in this document, its metrics, its log and its answers, are here too:
//! [`reason`], [`metric`] and [`state`].
#![warn(missing_docs)]

#[macro_use]
mod names;

mod document;
mod lookup;
pub mod metric;
pub mod reason;
#[cfg(feature = "sample")]
pub mod sample;
mod shed_answer;
pub mod state;
mod version;

pub use document::{
    Adaptive, Change, Connections, Counters, Flow, Instance, Limit, LimitKind, Policy, Pool, PriorityShare,
    Provenance, Route, ServiceLevel, Status,
};
pub use shed_answer::ShedAnswer;
pub use version::{set_version, version};
