//! Simulates a fleet with the same balancers, admission, alarms and policies that run live.
//!
//! ## Structure
//! A [`plant`] processes requests: instances, hosts, balancers, clients. The cloud around it starts, drains and stops
//! instances, publishes metrics with the delay of the real one, evaluates alarms and policies, and charges. The cloud
//! is written once; there are two plants: request by request (the reference) and minute by minute (from recordings of
//! the reference, for searching).
//!
//! The crate has no file and no wire formats: [`settings`] are plain values.
#![warn(missing_docs)]

pub mod cloud;
pub mod credits;
pub mod lint;
pub mod minutes;
pub mod outcome;
pub mod plant;
mod requests;
mod run;
pub mod settings;
mod traffic;

pub use lint::lint;
pub use outcome::Outcome;
pub use requests::{Arrival, Requests};
pub use run::{Fidelity, run, run_many, run_on, run_parallel};
