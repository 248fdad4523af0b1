//! What a gateway is and does, as one document: `GET /status`, `headroom top`, `headroom explain`. The gateway fills it
//! in; whatever shows a gateway reads it and needs nothing else of it.
//!
//! Names and units are in the keys; what is unknown is absent. Readers ignore keys that they do not know, so that the
//! document may grow.
#![warn(missing_docs)]

mod document;
mod lookup;
#[cfg(feature = "sample")]
pub mod sample;

pub use document::{
    Adaptive, Change, Connections, Counters, Flow, Instance, Limit, LimitKind, Policy, Pool, PriorityShare,
    Provenance, Route, ServiceLevel, Status,
};
