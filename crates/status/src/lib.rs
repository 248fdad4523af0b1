//! The configuration and the state of a gateway as one document: `GET /status`, `headroom top`, `headroom explain`. The
//! gateway fills it in; displays of a gateway need only this document.
//!
//! Keys contain names and units; unknown values are absent. Readers ignore unknown keys, so that keys can be added.
//!
//! The crate also has the names that a gateway uses in this document, its metrics, its log and its responses:
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
pub mod scaler;
mod shed_answer;
pub mod state;
mod version;

pub use document::{
    Adaptive, Change, Connections, CopiesPaused, Counters, Flow, Instance, Limit, LimitKind, Policy, Pool,
    PriorityShare, Provenance, Route, ServiceLevel, Squeeze, Status,
};
pub use shed_answer::ShedAnswer;
pub use version::{set_version, version};
