//! An experiment: is a candidate better or worse than the control?
//!
//! ```text
//! Wanted → start → warm-up → noise floor → plan → blocks → documents::experiment
//!
//! answers   responses of the arms to the same requests, compared between the blocks
//! contents  the contents of a response as fields
//! arms      the services: started, asked whether they respond, stopped
//! block     load on some arms at once, and what was observed
//! measures  what is compared, chosen by how many requests a block has
//! planning  the noise floor, the plan and the end, as all comparisons have them
//! stage     the steps of an experiment, in their order
//! started   how services that run were started, and what differs between two of them
//! document  the outcome
//! traffic   requests with times of their own
//! search    many values of one variable, or several variables: each service in turn, started anew
//! mirroring  a gateway with its copies and without them, under the traffic that is there
//! ```
//!
//! [`control::trial`] decides which block is next, which blocks count, when to stop, and what the verdicts are. This module
//! sends the load, reads processor time and memory, and examines what limits each service ([`crate::doctor`]).
//!
//! ## Why load in both arms at once comes from one process
//! Both arms get the same requests at the same instants from one plan with one seed, so that what differs is the arms. Two
//! loads in one process share its disturbances; with one after the other, each would have its own.
//!
//! ## Why the noise floor is measured in the design of the experiment
//! Arms that run at once differ less than arms that run in turns. A noise floor of another design would promise too much or too
//! little.

mod answers;
mod arms;
mod block;
mod contents;
mod data;
mod document;
mod measures;
pub mod mirroring;
mod planning;
mod restarts;
mod search;
mod stage;
mod started;
mod traffic;

pub use started::{Differs, Started};
pub use traffic::{OTHER, Recording, part};

use crate::launch::NoLaunch;
use ::load::{Connecting, StartError, Work};
use config::experiment::Find;
use control::trial::{Stopped, Verdict, Void};
use documents::experiment::Experiment;
use host::Service;
use std::collections::BTreeMap;
use std::time::Duration;

/// What is compared, and how.
pub struct Wanted<'a> {
    /// The experiment file.
    pub file: &'a config::experiment::Experiment,
    /// The control.
    pub control: Arm,
    /// The control once more, if there is a second one.
    pub second_control: Option<Arm>,
    /// The candidates, in the order of the file.
    pub candidates: Vec<Arm>,
    /// The requests, if they have times of their own.
    pub recording: Option<&'a dyn Recording>,
    /// How connections are opened.
    pub connecting: &'a Connecting,
    /// Whether to end when the plan is made.
    pub only_plan: bool,
    /// Whether to examine the services whose processes are known while they get load.
    pub doctor: bool,
    /// The seed of arrivals and of the order of arms.
    pub seed: u64,
    /// The version of headroom.
    pub version: &'static str,
    /// Whether to end now; asked many times a second.
    pub interrupted: &'a dyn Fn() -> bool,
}

/// A service that is compared.
#[derive(Debug, Clone)]
pub struct Arm {
    /// What messages call it.
    pub name: String,
    /// The command that starts it, with its port; `None` if it runs already.
    pub command: Option<String>,
    /// Variables of the environment of the command.
    pub env: BTreeMap<String, String>,
    /// Its scheme, host and port.
    pub url: String,
    /// The requests and where they go; of a recording, all of them or an example.
    pub work: Work,
    /// Its processes, if it runs already and they are known.
    pub service: Option<Service>,
}

impl Arm {
    /// The processes of a service that runs already: those that were named, or what listens at its address on this machine.
    pub fn runs(&self) -> Option<Service> {
        let listens =
            || self.work.only_address().filter(|_| self.command.is_none()).and_then(Service::listening_at);
        self.service.clone().or_else(listens)
    }
}

/// What happens during an experiment.
#[derive(Debug)]
pub enum Event<'a> {
    /// A command is started.
    Starts(&'a str),
    /// It had a good response.
    Started {
        /// The name of the arm.
        name: &'a str,
        /// From the start of the command.
        after: Duration,
    },
    /// A candidate is not compared, and why.
    LeftOut {
        /// Its name.
        name: &'a str,
        /// Why.
        why: &'a str,
    },
    /// All arms get load that is not measured.
    WarmUp(Duration),
    /// Blocks for the noise floor begin.
    NoiseFloor {
        /// The number of blocks.
        blocks: usize,
    },
    /// The control and the second control are restarted several times.
    Restarts {
        /// How many times each.
        occasions: usize,
    },
    /// The plan is made, or why there is none.
    Planned(Result<&'a control::trial::Plan, &'a str>),
    /// A block has ended.
    Block {
        /// Blocks that count.
        counted: usize,
        /// Blocks that are planned.
        planned: usize,
        /// Why this one does not count.
        void: Option<Void>,
        /// The verdict on the primary measure of the first candidate; `None` while the noise floor is measured.
        primary: Option<&'a Verdict>,
    },
    /// Each value that remains was measured once more.
    Round {
        /// Rounds so far.
        rounds: usize,
        /// How many values remain.
        remaining: usize,
        /// Of how many.
        of: usize,
        /// The best value so far; `None` if effects are found.
        best: Option<&'a str>,
        /// Parts of this round that do not count.
        void: usize,
    },
    /// A candidate was stopped.
    Stopped {
        /// Its name.
        name: &'a str,
        /// Why.
        why: Stopped,
    },
    /// The design changed, and why.
    Changed {
        /// The new design.
        design: control::trial::Design,
        /// Why.
        why: control::trial::Why,
    },
}

/// Why nothing was compared.
#[derive(Debug, thiserror::Error)]
pub enum Failed {
    /// The control did not start.
    #[error("the control cannot be measured: {0}")]
    Control(NoLaunch),
    /// It has no good response.
    #[error("the control cannot be measured: {0}")]
    NoGoodResponse(String),
    /// The load could not be generated.
    #[error(transparent)]
    Load(#[from] StartError),
    /// The recording cannot be used any more.
    #[error("the recorded requests cannot be sent: {0}")]
    Recording(String),
    /// The settings of the trial contradict each other.
    #[error(transparent)]
    Trial(#[from] control::trial::TrialError),
    /// A candidate differs from the control in more than one place.
    #[error(transparent)]
    Differs(#[from] Differs),
    /// Somebody asked for the end before anything was compared.
    #[error("interrupted before anything was compared")]
    Interrupted,
}

/// Runs an experiment. What it starts is stopped when it ends, however it ends.
///
/// # Errors
/// The control does not respond, or the load cannot be generated. A candidate that does not respond is no error: the
/// others are compared.
pub fn run(wanted: &Wanted<'_>, events: &mut dyn FnMut(Event<'_>)) -> Result<Experiment, Failed> {
    match wanted.file.find {
        Find::Differences => stage::run(wanted, events),
        Find::Best => search::best(wanted, events),
        Find::Effects { variables } => search::effects(wanted, variables, events),
    }
}
