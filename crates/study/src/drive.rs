//! One plan of load, checked at equal intervals while it runs: the loop of every procedure.

use ::load::{Plan, Progress, Running, StartError, Watch, start_watched};
use measure::Measurement;
use std::time::{Duration, Instant};

/// A running plan.
#[derive(Debug)]
pub(crate) struct Drive {
    running: Running,
    begun: Instant,
    every: Duration,
    number: u32,
}

/// The state of a plan at a check.
#[derive(Debug)]
pub(crate) struct Look {
    /// The number of the check, from 1.
    pub(crate) number: u32,
    /// The progress of the run; the recent part counts from the previous check.
    pub(crate) now: Progress,
    /// Whether the run was over before the check.
    pub(crate) finished: bool,
}

impl Drive {
    /// Starts a plan that is checked once every [`Watch::every`].
    ///
    /// # Errors
    /// As for [`start_watched`].
    pub(crate) fn start(plan: Plan, watch: &Watch) -> Result<Self, StartError> {
        let running = start_watched(plan, watch)?;
        Ok(Drive { running, begun: Instant::now(), every: watch.every, number: 0 })
    }

    /// Waits for the next check.
    ///
    /// # Errors
    /// The result of `halted`; it is called at least once, and every 25 ms during the wait.
    pub(crate) fn look<H>(&mut self, mut halted: impl FnMut(&Running) -> Option<H>) -> Result<Look, H> {
        self.number += 1;
        // The workers report in step with their own beginning; a little later their reports have arrived.
        let due = self.every * self.number + self.every / 8;
        loop {
            // Called at every check, even if checks come late.
            if let Some(halt) = halted(&self.running) {
                return Err(halt);
            }
            match due.checked_sub(self.begun.elapsed()) {
                Some(left) if !left.is_zero() => std::thread::sleep(left.min(NAP)),
                _ => break,
            }
        }
        let finished = self.running.is_finished();
        Ok(Look { number: self.number, now: self.running.progress(), finished })
    }

    /// The run itself.
    pub(crate) fn running(&self) -> &Running {
        &self.running
    }

    /// Waits for the end of the run and returns the measurement.
    ///
    /// # Errors
    /// A worker ended before its work was done.
    pub(crate) fn finish(self) -> Result<Measurement, StartError> {
        self.running.finish()
    }
}

/// An interruption, and the end of a run, are detected within this time.
const NAP: Duration = Duration::from_millis(25);
