//! A model of a service from measured load: how much processor time a request takes, how long it waits, and what limits
//! how many are served at once.
//!
//! ```text
//! Level (users, seconds, response times) ─┐
//! Known (cores, processes, threads, lock) ─┴→ fit → Fitted { figures, bound, model } → predict → compared with trials
//! ```
//!
//! ## Why by simulation
//! Each figure that one level shows by itself (processor time, waiting time, throughput) is estimated from it, with an
//! interval. The number of places that limits the service is not: processor and waits overlap, so that Little's law over
//! the unloaded response time gives too few. It is the number with which the simulated service has the throughput
//! that was measured; its interval follows from that of the throughput.
//!
//! ## What one service cannot show
//! With one core, a global lock makes no difference, and the fit says so. With unknown threads, a limit on threads
//! and a shared pool behind them look the same: [`Bound::Places`].
//!
//! Operational laws: Denning and Buzen, *The Operational Analysis of Queueing Network Models*, Computing Surveys 10, 1978.

mod backtest;
mod case;
mod document;
mod endpoints;
mod figure;
mod fit;
mod heads;
mod measure;
mod metered;
mod model;
mod seen;
mod start;
mod stored;
#[cfg(test)]
mod tests;
mod unfit;

pub use backtest::{Compared, Stopped, What, backtest};
pub use case::case_file;
pub use document::{Asked, Given, MixSource, Origin, document};
pub use endpoints::{Cost, Single};
pub use figure::{CONFIDENCE, Figure, WIDEST};
pub use fit::{Bound, Fitted, NoFit, fit, fit_measured};
pub(crate) use heads::changed as changed_server;
pub use heads::{PartSource, PartTime, parts};
pub use measure::{Event, Failed, Measured, Trial, Wanted, measure};
pub use metered::{Metered, NotMetered};
pub use model::{Kind, Load, Model, Pool, Predicted, predict};
pub use seen::{Seen, lock_of};
pub use start::{StartUp, launch};
pub use stored::{FromRuns, NotUsable, Wish, from_runs};
pub(crate) use stored::{same, usable};

use ::measure::Histogram;
use std::time::Duration;

/// What was measured in the closed model with so many users and no think time.
#[derive(Debug, Clone)]
pub struct Level {
    /// Users.
    pub users: u32,
    /// Equal spans of it, in their order.
    pub slices: Vec<Slice>,
    /// Response times of all of it.
    pub times: Histogram,
    /// What its spans do not show, because there are too few of them or the load was open; none: they do.
    pub known: Option<KnownOfLevel>,
}

/// Figures of a level that do not come from its spans.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KnownOfLevel {
    /// Responses a second.
    pub throughput: Figure,
    /// The mean response time, in seconds.
    pub mean: Figure,
}

/// A span of a level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Slice {
    /// Its length, in seconds; above 0.
    pub seconds: f64,
    /// Responses in it.
    pub responses: u64,
    /// Processor time that the service used in it, in seconds; `None` without a process to look at.
    pub cpu_seconds: Option<f64>,
}

/// What is known of the service without load.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Known {
    /// Cores that it may use (affinity and quota); `None` for a service elsewhere.
    pub cores: Option<f64>,
    /// Processor time that it uses without requests, in cores.
    pub idle_cores: f64,
    /// Processes that serve requests.
    pub processes: Option<u32>,
    /// Threads of each process that serve requests.
    pub threads: Option<u32>,
    /// Whether one thread of a process runs at a time; `None` where it is not known.
    pub lock: Option<Lock>,
    /// Whether each process has a queue of its own, as gunicorn's workers with threads have.
    pub queue_per_process: bool,
    /// Whether no load came near the limit, so that only a request alone can be described.
    pub below_limit: bool,
    /// Whether a thread stays on a kept connection after a response and serves no other, as Puma's do.
    pub stays_on_connection: bool,
    /// Without a load of one user: the shortest mean time that was measured, in seconds, which a request alone does not
    /// exceed.
    pub alone_at_most: Option<f64>,
}

/// A global lock of a runtime, as in [`sim::settings::Server`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lock {
    /// There is none.
    Free,
    /// A thread gives it up after this much processor time if another one waits.
    After(Duration),
    /// It is never taken away: an event loop.
    Held,
}

impl Lock {
    /// As the simulator has it.
    pub fn quantum(self) -> Option<Duration> {
        match self {
            Lock::Free => None,
            Lock::After(time) => Some(time),
            Lock::Held => Some(Duration::MAX),
        }
    }
}
