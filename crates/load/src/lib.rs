//! Drives load at a service and records what came of every arrival.
//!
//! A [`Plan`] says what to send, when and for how long. [`start`] runs it on one event loop a worker and gives a
//! [`Running`], whose progress can be watched and which can be stopped at any moment; [`Running::finish`] gives the
//! [`measure::Measurement`].
#![warn(missing_docs)]

mod exchange;
mod plan;
mod record;
mod run;
pub mod scenario;
mod schedule;
mod target;
mod validity;
mod worker;

pub use plan::{Arrivals, Model, Plan};
pub use run::{Progress, Running, StartError, Watch, start, start_watched};
pub use schedule::Schedule;
pub use target::{Target, TargetError};
