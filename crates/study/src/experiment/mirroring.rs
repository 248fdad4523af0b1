//! What do the copies of a gateway cost? The gateway is compared with itself, with its mirrors and its capture (the
//! candidate) and without them (the control), in time slices under the traffic that is there.
//!
//! ```text
//! Mirroring file, Live (the gateway, the clock) → run → Events meanwhile → documents::experiment::Experiment
//!
//! reading   what a gateway has counted, and what of it is new
//! stage     watching, noise floor, plan, blocks, and the end of the pause
//! document  the outcome, with the cost in cores and milliseconds
//! ```
//!
//! ## Why a pause and not a reload
//! A pause is a lease: whatever becomes of this program, the gateway copies again when it ends ([`LEASE`]). It leaves the
//! queues, connections and counters of mirrors as they are, so that both arms are the same process in the same state.
//!
//! ## Why responses and not arrivals
//! Processor time is divided by the responses that the gateway has timed: their counters grow with each response. Those of
//! arrivals are published ten times a second, which would add its chance to each block.

mod document;
mod reading;
mod stage;
#[cfg(test)]
mod tests;

pub use crate::squeeze::{LEASE, Lost, Times};
pub use reading::{Copied, Processor, Reading};

use super::Event;
use documents::experiment::Experiment;
use host::{Disturbance, Throttling};
use std::time::Duration;

/// The gateway and the clock of an experiment.
pub trait Live {
    /// Time since any beginning.
    fn now(&self) -> Duration;

    /// Waits.
    fn sleep(&mut self, time: Duration);

    /// Whether to end now.
    fn is_interrupted(&self) -> bool;

    /// The name under which copies are paused.
    fn holder(&self) -> &str;

    /// What the gateway has counted.
    ///
    /// # Errors
    /// It does not answer, or is none.
    fn read(&mut self) -> Result<Reading, Lost>;

    /// Pauses all copies for [`LEASE`].
    ///
    /// # Errors
    /// It does not answer, or refuses.
    fn pause(&mut self) -> Result<(), Lost>;

    /// Ends the pause.
    ///
    /// # Errors
    /// It does not answer.
    fn resume(&mut self) -> Result<(), Lost>;

    /// What disturbed the gateway's machine, and how often a quota made the gateway wait, since the last call; nothing where
    /// it is not known.
    fn disturbance(&mut self) -> (Disturbance, Throttling);
}

/// What is compared, and how.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// The experiment file.
    pub file: &'a config::experiment::Mirroring,
    /// Whether to end when the plan is made.
    pub only_plan: bool,
    /// The seed of the order of the arms.
    pub seed: u64,
    /// The version of headroom.
    pub version: &'static str,
}

/// Why nothing was compared.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Failed {
    /// The gateway does not answer, or refuses.
    #[error(transparent)]
    Gateway(#[from] Lost),
    /// The gateway copies nothing.
    #[error(
        "the gateway on {gateway} has no mirror and no capture: name a mirror in a route of its file, or start it with `--capture FILE`"
    )]
    NoMirror {
        /// Its admin listener.
        gateway: String,
    },
    /// Somebody else pauses the copies.
    #[error("the copies of the gateway are paused by {holder} already; wait for its end")]
    Held {
        /// By whom.
        holder: String,
    },
    /// There is too little traffic to measure with.
    #[error(
        "the gateway sent {responses} responses in {}, and each block needs {least}; the experiment uses the traffic that is there: \
         wait for more, send load to the gateway with `headroom load`, or make `block` longer",
        units::show_duration(*.time)
    )]
    NoTraffic {
        /// How many.
        responses: u64,
        /// In which time.
        time: Duration,
        /// How many a part of a block needs.
        least: u64,
    },
    /// Of the traffic, nothing is copied.
    #[error(
        "none of {requests} requests was copied in {}: check `fraction`, `methods` and the breaker of the mirrors (headroom_mirror_dropped_total \
         has the reasons)",
        units::show_duration(*.time)
    )]
    NothingCopied {
        /// How many requests there were.
        requests: u64,
        /// In which time.
        time: Duration,
    },
    /// The gateway does not know its processor time.
    #[error(
        "the gateway does not know its processor time (Linux without schedstat): choose another measure, such as `primary: p50`"
    )]
    NoProcessorTime,
    /// The settings of the trial contradict each other.
    #[error(transparent)]
    Trial(#[from] control::trial::TrialError),
    /// Somebody asked for the end before anything was compared.
    #[error("interrupted before anything was compared")]
    Interrupted,
}

/// Compares the gateway with and without its copies. It copies again when this returns, whatever it returns, or at the latest
/// [`LEASE`] later if it does not answer.
///
/// # Errors
/// Nothing was compared. An experiment that ends early is no error: its result says why.
pub fn run(
    live: &mut dyn Live,
    wanted: &Wanted<'_>,
    events: &mut dyn FnMut(Event<'_>),
) -> Result<Experiment, Failed> {
    stage::run(live, wanted, events)
}
