//! A run of load, once or several times: the preflight, the run, and the metrics that are recorded with it.
//!
//! ```text
//! Load → run or repeat → Events during the run → Outcome
//!
//! asked    the facts of a plan that results show
//! needs    the resources of this machine that a plan needs
//! outcome  the outcome of a run
//! ```
//!
//! Every command that sends a plan unchanged calls this: `load`, `replay`, each phase of `demo`. A procedure that
//! decides during a run when to end it has its own loop ([`crate::find`]); both check a run in the same way.

mod asked;
mod needs;
mod outcome;
#[cfg(test)]
mod tests;

pub use asked::asked;
pub use needs::needs;
pub use outcome::{Outcome, Verdict};

use crate::doctor::Attendance;
use crate::drive::{Drive, Look};
use ::load::threshold::{Judged, Threshold, evaluate};
use ::load::{Arrivals, Model, Plan, Progress, Running, StartError, Watch as Looks};
use documents::run::{Asked, Ended};
use host::{Finding, Service, preflight};
use measure::Measurement;
use outcome::said;
use std::num::NonZeroU32;
use std::thread;
use std::time::{Duration, Instant};
use watch::{Source, Watcher};

/// The run.
pub struct Load<'a> {
    /// What is sent, when and for how long.
    pub plan: Plan,
    /// Conditions that the run must meet.
    pub thresholds: Vec<Threshold>,
    /// Metrics that are recorded with the run.
    pub watching: Watching,
    /// Whether the run is to end now; called many times a second.
    pub interrupted: &'a (dyn Fn() -> bool + Sync),
}

/// Metrics that are recorded with a run.
#[derive(Debug, Clone, Default)]
pub struct Watching {
    /// The sources to read; none by default.
    pub sources: Vec<Source>,
    /// The interval between two readings; at least [`Watcher::FASTEST`].
    pub every: Duration,
    /// Whether the service is examined, if it is on this machine ([`crate::doctor`]).
    pub doctor: bool,
}

/// One run of several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repetition {
    /// The number of the run, from 1.
    pub number: u32,
    /// The number of runs.
    pub of: u32,
}

/// The events of a run. All events of a run come between its [`Event::Preflight`] and its [`Event::Ended`] or
/// [`Event::Failed`].
pub enum Event<'a> {
    /// The machine was checked; the run begins whatever the result.
    Preflight {
        /// The run that follows.
        repetition: Repetition,
        /// The resources that may be short on this machine; empty if none.
        findings: &'a [Finding],
    },
    /// A run begins.
    Begins {
        /// Its number.
        repetition: Repetition,
        /// The facts of its plan.
        asked: &'a Asked,
    },
    /// The progress of the run, ten times a second.
    Runs {
        /// The plan.
        plan: &'a Plan,
        /// The progress.
        now: &'a Progress,
        /// The measurements so far.
        so_far: SoFar<'a>,
        /// Whether it was interrupted.
        stopping: bool,
    },
    /// The run has ended.
    Ended(&'a Outcome),
    /// The run could not start, or ended without a measurement.
    Failed(&'a StartError),
}

/// Receives the events of a run. They come from another thread, one at a time.
pub type Events<'a> = dyn FnMut(Event<'_>) + Send + 'a;

/// The measurements so far. They cost the workers time only if they are read.
pub struct SoFar<'a>(&'a Running);

impl SoFar<'_> {
    /// The measurement; `None` before each worker has reported for the first time. See [`Running::so_far`].
    pub fn measurement(&self) -> Option<Measurement> {
        self.0.so_far()
    }
}

/// Several runs of one plan.
#[derive(Debug)]
pub struct Series {
    /// The runs with a measurement, in order. An interrupted one is the last.
    pub runs: Vec<Outcome>,
    /// Why the next one has no measurement.
    pub failed: Option<StartError>,
}

/// Runs the plan once.
///
/// # Errors
/// The plan never ends or sends nothing, the system provides no thread or descriptor, or a worker ended before its work
/// was done.
pub fn run(load: &Load<'_>, events: &mut Events<'_>) -> Result<Outcome, StartError> {
    load.once(&load.plan, Repetition { number: 1, of: 1 }, events)
}

/// Runs the plan `times` times, one run after the other. Ends early if a run fails or is interrupted.
///
/// Each repetition has the next seed: with one seed for all, the random arrivals would be the same in each run, and
/// their effect would look like a property of the service.
pub fn repeat(load: &Load<'_>, times: NonZeroU32, events: &mut Events<'_>) -> Series {
    let mut runs = Vec::new();
    for number in 0..times.get() {
        let repetition = Repetition { number: number + 1, of: times.get() };
        match load.once(&with_seed(&load.plan, number), repetition, events) {
            Ok(outcome) => {
                let interrupted = outcome.ended == Ended::Interrupted;
                runs.push(outcome);
                if interrupted {
                    break;
                }
            }
            Err(error) => return Series { runs, failed: Some(error) },
        }
    }
    Series { runs, failed: None }
}

impl Load<'_> {
    fn once(
        &self,
        plan: &Plan,
        repetition: Repetition,
        events: &mut Events<'_>,
    ) -> Result<Outcome, StartError> {
        events(Event::Preflight { repetition, findings: &preflight(&needs(plan)) });
        let asked = asked(plan);
        events(Event::Begins { repetition, asked: &asked });
        let watcher = self.watching.start();
        let attendance = self.watching.doctor.then(|| attend(plan)).flatten();
        let driven = self.apart(plan, events);
        let watched = watcher.map(Watcher::stop).unwrap_or_default();
        match driven {
            Ok((mut measured, ended)) => {
                let judged = evaluate(&self.thresholds, &measured);
                measured.validity.add(judged.iter().filter_map(Judged::suspect));
                let thresholds = judged.iter().map(said).collect();
                let rate = measured.achieved().per_second();
                let examined = attendance.and_then(|attendance| attendance.end(Some(rate)));
                let findings = examined.map(|examined| examined.findings()).unwrap_or_default();
                let outcome = Outcome { asked, measured, ended, thresholds, watched, findings };
                events(Event::Ended(&outcome));
                Ok(outcome)
            }
            Err(error) => {
                events(Event::Failed(&error));
                Err(error)
            }
        }
    }

    /// Drives the plan in a thread of its own: it lowers its priority, which the workers of a later run must not
    /// inherit.
    fn apart(&self, plan: &Plan, events: &mut Events<'_>) -> Result<(Measurement, Ended), StartError> {
        thread::scope(|scope| {
            let named = thread::Builder::new().name("looks".to_owned());
            let looks = named.spawn_scoped(scope, || self.drive(plan, events));
            let looks = looks.map_err(|source| StartError::Worker { worker: 0, source })?;
            looks.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    fn drive(&self, plan: &Plan, events: &mut Events<'_>) -> Result<(Measurement, Ended), StartError> {
        let mut drive = Drive::start(plan.clone(), &Looks { every: LOOK_EVERY, ..Looks::default() })?;
        // Checking must not delay a worker that shares its core. Only this thread is affected; if that is refused, it
        // runs at normal priority.
        let _ = rustix::process::setpriority_process(None, PRIORITY);
        let aborting = self.thresholds.iter().any(|threshold| threshold.abort_on_fail);
        let mut ended = Ended::Planned;
        loop {
            let look = drive.look(|running| {
                if ended != Ended::Interrupted && (self.interrupted)() {
                    ended = Ended::Interrupted;
                    running.stop();
                }
                running.is_finished().then_some(())
            });
            let Ok(Look { number, now, .. }) = look else { break };
            let due = aborting && ended == Ended::Planned && number.is_multiple_of(LOOKS_A_SECOND);
            if due && self.misses(drive.running(), &now) {
                ended = Ended::Aborted;
                drive.running().stop();
            }
            let so_far = SoFar(drive.running());
            events(Event::Runs { plan, now: &now, so_far, stopping: ended != Ended::Planned });
        }
        Ok((drive.finish()?, ended))
    }

    /// Whether a threshold that ends the run is missed.
    fn misses(&self, running: &Running, now: &Progress) -> bool {
        let aborts = |so_far| evaluate(&self.thresholds, &so_far).iter().any(|judged| judged.aborts(now.at));
        running.so_far().is_some_and(aborts)
    }
}

impl Watching {
    fn start(&self) -> Option<Watcher> {
        let sources = self.sources.clone();
        (!sources.is_empty()).then(|| Watcher::start(sources, self.every, Instant::now()))
    }
}

/// Begins to examine the service, if it is on this machine and one process with its descendants.
fn attend(plan: &Plan) -> Option<Attendance> {
    let address = plan.work.only_address()?;
    Some(Attendance::begin(move || Service::listening_at(address)))
}

/// The plan with the seed of its repetition, counted from 0; the first has the plan's seed.
fn with_seed(plan: &Plan, number: u32) -> Plan {
    let mut plan = plan.clone();
    plan.seed = plan.seed.wrapping_add(u64::from(number));
    if let Model::Open { arrivals: Arrivals::Poisson { seed }, .. } = &mut plan.model {
        *seed = seed.wrapping_add(u64::from(number));
    }
    plan
}

/// A nice value below the priority of workers, which still leaves a tenth of a core on a busy machine.
const PRIORITY: i32 = 10;

/// Often enough for a live view; the workers report no more often.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Thresholds that end a run are evaluated once a second.
const LOOKS_A_SECOND: u32 = 10;
