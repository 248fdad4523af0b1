//! Sends load to a service and records the outcome of every arrival.
//!
//! A [`Plan`] describes what to send, when and for how long. [`start`] runs it on one event loop per worker and returns
//! a [`Running`], whose progress can be watched and which can be stopped at any moment; [`Running::finish`] returns the
//! [`measure::Measurement`].
#![warn(missing_docs)]

mod agenda;
mod alone;
mod collect;
mod connecting;
mod connection;
mod exchange;
mod head;
mod layout;
mod plan;
mod record;
mod recorded;
mod request_log;
mod run;
pub mod scenario;
mod schedule;
mod streams;
mod target;
pub mod threshold;
mod user;
mod validity;
mod wire;
mod worker;

pub use alone::Endpoint;
pub use collect::{Collected, Collector};
pub use connecting::{Connecting, Protocol, Server, Servers};
pub use plan::{Arrivals, Course, Model, Plan, Targets, Users, Work};
pub use recorded::{Base, Recorded};
pub use request_log::RequestLog;
pub use run::{Progress, Running, StartError, Watch, start, start_watched};
pub use schedule::{
    Level, NotAscending, Profile, ProfileError, Schedule, Stage, StageError, StageText, Stages, StagesError,
    Trace, TraceError, UserProfile, UserSpan, UserStage,
};
pub use target::{Target, TargetError};
