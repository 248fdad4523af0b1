//! Trials: is a candidate better or worse than the control, on blocks of time?
//!
//! ```text
//! plan        which difference can be found in which time, and with which design?
//!   design    both at once, alternating blocks, time slices, or restarts
//!   noise     how much equal arms differ
//! run         the trial: what to run next, when to stop, and the verdicts
//!   settings  measures, risk, limits
//!   measure   what is compared, in which unit, and which differences matter
//!   block     what was observed in one block
//!   void      which blocks do not count, and why
//!   probes    do the arms disturb each other?
//!   verdict   better, worse, same, or cannot tell yet
//!   ended     why it ended, or a candidate was stopped
//! answers     do candidates answer as the control does?
//! elimination the best of many values of one variable
//! factorial   several variables at once, and their interactions
//! beside      measures beside the primary one of the two
//! ```
//!
//! All of them are state machines: the caller runs the blocks (or a simulation) and reports what it measured.
//!
//! ## Why blocks and not requests
//! Requests of the same seconds share their queue, their pauses and their neighbors, so thousands of requests are worth a
//! few independent observations. The block is the unit: each gives one difference for each measure and candidate.
//!
//! ## What is assumed
//! In a block without a difference of the arms, each arm is equally likely to be the one with the larger value: arms that
//! run at once are exchangeable, and arms that run in turns are in random order. Nothing is assumed about the spread, its
//! drift or its tails. Intervals around an effect assume in addition that the effect moves the difference and does not make
//! its distribution lopsided. [`stats::Centre`] has the mathematics.
//!
//! All arms serve the same routes. Not here: who sends requests, and how arms are started.

pub mod answers;
pub mod beside;
mod block;
mod design;
mod elimination;
mod ended;
mod factorial;
mod measure;
mod noise;
mod plan;
mod probes;
mod run;
mod settings;
mod verdict;
mod void;

pub use block::{Arm, Assignment, Block, Purpose, Seen};
pub use design::{Design, Why};
pub use elimination::{Elimination, Failing, Found, Round, Standing};
pub use ended::{Ended, Stopped, mostly_void};
pub use factorial::{Contrast, FactorEffect, Factorial};
pub use measure::{Better, Effect, Figure, Measure, RouteId};
pub use noise::{NoiseFloor, Restarts};
pub use plan::{Known, Plan, PlanError, RoundsPlan, Shared, Wanted, plan, plan_rounds};
pub use probes::{Probes, Probing};
pub use run::{Looked, Step, Trial};
pub use settings::{Ends, Settings, TrialError};
pub use verdict::{Finding, Verdict};
pub use void::{Conditions, Limits, Void};
