//! Runs a scaling policy on a real fleet.
//!
//! ```text
//! sources --> Sample --> Brain (control's shell, controller and guard) --> Target
//!               |          |
//!               +----------+--> record (JSON lines), which `replay` decides again
//! ```
//!
//! ## What is decided here: nothing
//! Readings are turned into a [`Sample`] a step. [`Brain`] is pure: it folds samples as the simulator folds its windows,
//! asks the controller of `control`, and lets `control`'s guard rule on the decision. Everything else in this crate
//! reads or acts. So a record of samples gives the same decisions again ([`replay`]).
//!
//! ## Threads
//! The loop wakes at each step and never waits for a socket: a source has a thread that polls it, a target has one that
//! works towards the wanted size. A target that responds slowly delays its own actions and nothing else.
#![warn(missing_docs)]

mod admin;
mod brain;
mod drive;
mod meter;
mod poller;
pub mod processes;
mod prometheus;
mod record;
mod remote;
mod replay;
mod report;
mod sample;
pub mod settings;
mod source;
mod switches;
mod target;

pub use admin::{Admin, AdminError};
pub use brain::{Brain, Decided, Goal};
pub use drive::{Ended, Listener, Options, PeriodSeen, Plan, ScaleError, Told, now_us, run};
pub use poller::with_causes;
pub use prometheus::PrometheusSource;
pub use record::{Begin, DecisionLine, Line, Record};
pub use remote::{Remote, WITHDRAWN_AFTER};
pub use replay::{ReplayError, Replayed, begin, replay};
pub use sample::{Counts, InstanceSample, Quality, Sample};
pub use source::{FileSource, GatewaySource, Source, SourceError, Totals, pool_path};
pub use switches::switch;
pub use target::{Event, Instance, Phase, RemoteTarget, Snapshot, Target, TargetError, Usage};
