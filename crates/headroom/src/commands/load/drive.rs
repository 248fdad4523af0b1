//! Runs a plan, once or several times, and prints the results: for `load` and `replay`.

use super::listener::Listener;
use crate::descriptors;
use crate::exit::Exit;
use crate::ledger_file::LedgerArgs;
use crate::live::Interrupts;
use crate::output::{complain, fail};
use crate::outputs::OutputArgs;
use ::load::Plan;
use ::load::threshold::Threshold;
use measure::Measurement;
use std::num::NonZeroU32;
use study::load::{Load, repeat};

/// What is run, and how it is shown.
pub struct Run<'a> {
    /// The command.
    pub command: &'static str,
    /// What is sent, when and for how long.
    pub plan: Plan,
    /// Conditions that the run must meet.
    pub thresholds: Vec<Threshold>,
    /// The number of runs.
    pub repeat: NonZeroU32,
    /// Whether the result is JSON.
    pub json: bool,
    /// Whether lines are printed instead of the live screen.
    pub plain: bool,
    /// The files to write.
    pub outputs: &'a OutputArgs,
    /// The ledger that it is recorded in.
    pub ledger: &'a LedgerArgs,
    /// The next sensible command.
    pub next: fn(&Plan, &Measurement, Option<&str>) -> String,
}

/// Runs it. The exit code of several runs is that of the first one that was not successful.
pub fn run(mut run: Run<'_>) -> Exit {
    let beside = match run.outputs.check() {
        Ok(beside) => beside,
        Err(error) => return complain(&error, Exit::Usage),
    };
    run.plan.request_log = beside.request_log;
    let interrupts = match Interrupts::listen() {
        Ok(interrupts) => interrupts,
        Err(error) => return fail(&error),
    };
    // If that is not enough, the run counts the connections that it could not open.
    descriptors::raise_limit();
    let load = Load {
        plan: run.plan.clone(),
        thresholds: run.thresholds.clone(),
        watching: beside.watching,
        interrupted: &|| interrupts.came(),
    };
    let mut listener = Listener::new(&run, beside.remote);
    let series = repeat(&load, run.repeat, &mut |event| listener.hear(event));
    listener.conclude(series)
}
