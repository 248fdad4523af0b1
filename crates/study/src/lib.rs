//! Procedures: they generate load under the decisions of `control`, and return a typed outcome and a stream of typed
//! events. They print nothing, and are independent of the command line and the ledger.
//!
//! ```text
//! load   a plan, run once or several times, with thresholds and metrics beside it
//! find   the search for the highest rate that holds a goal
//! doctor what limits a service on this machine, from what the kernel shows of it while it works
//! experiment  a control against candidates: which is better, worse or the same
//! squeeze  what an instance behind a gateway carries, under the traffic that is there
//! forecast  the next two days of a load, with how good such forecasts were so far
//! plan   capacity: replicas for a load, the bottleneck, and what one more of each part brings
//! tune   cheaper settings of a case that keep its goal: the search, the frontier, what each change saves
//! simulate  stages and seeds of a case, on all cores
//! parts  a closed-loop step, a trial, a cool-down: what procedures like the search are made of
//! launch a service that is started by a command, and stopped with all that it started
//! drive  the loop that looks at a running plan, below all of them
//! ```
#![warn(missing_docs)]

pub mod calibrate;
pub mod doctor;
mod drive;
pub mod experiment;
pub mod find;
pub mod forecast;
mod launch;
pub mod load;
mod parts;
pub mod plan;
pub mod simulate;
pub mod squeeze;
pub mod tune;

pub use launch::{Launched, NoLaunch, Output};
