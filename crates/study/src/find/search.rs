//! The whole search, in order: is the service there, how much throughput does it reach, which rate holds, what happens
//! above it, does it recover.
//!
//! ```text
//! probe → calm → closed loop → open trials (bracket, narrow, verify, confirm) → overload at the high end → recovery
//! ```
//!
//! ## Why the overload is proved once more
//! The search ends trials as early as it can, most of them before anything is visible. The proof lets requests wait for
//! longer than the goal allows, so that a recovery follows and not a calm service.

use super::{Came, Event, Events, Part, Wanted};
use crate::doctor::{Attendance, Interval as Times};
use crate::parts::{Calm, Driver, Halt, Load, Time};
use control::search::closed_loop::{ClosedLoop, Knee, Next};
use control::search::limits::{protected, usual_bound};
use control::search::recovery::Recovery;
use control::search::rhythm::{Rhythm, missed_when_calm};
use control::search::time_bound::{load_time, step_length, whole_time};
use control::search::{
    CapacitySearch, Condition, Found, Goal, Interval, Loaded, Purpose, Report, Settings, Step, Trial,
    TrialOutcome,
};
use documents::find::{Ended, Outcome, Proof, Tried, so_far};
use host::Service;
use load::Progress;
use measure::{Measurement, SUCCEEDED};
use std::time::{Duration, Instant};
use units::{Quantile, Rate, show_duration};

/// The target cannot be searched.
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    /// No request got a response.
    #[error("{target} does not respond: {what}; is the service running? try `curl -v '{target}'`")]
    Silent {
        /// The URL.
        target: String,
        /// What happened instead.
        what: String,
    },
    /// The response has an error status.
    #[error(
        "{target} responds with {status} to a single request, so its capacity cannot be measured; give a URL (and -H, -m, --data) that gets 2xx or 3xx"
    )]
    Refuses {
        /// The URL.
        target: String,
        /// The status.
        status: u16,
    },
    /// The load could not be generated, or the user ended it before anything was known.
    #[error(transparent)]
    Halt(#[from] Halt),
}

/// The state of a search.
pub(super) struct Search<'a> {
    driver: Driver<'a>,
    events: &'a mut Events<'a>,
    trials: Vec<Tried>,
    /// The parts that put load on the service, with their times.
    loaded: Vec<(Loaded, Times)>,
}

impl<'a> Search<'a> {
    /// A search that has not begun.
    pub(super) fn new(load: &'a Load<'a>, time: &'a Time, events: &'a mut Events<'a>) -> Self {
        Search { driver: Driver { load, time }, events, trials: Vec::new(), loaded: Vec::new() }
    }

    /// Runs it to its end, or until it is interrupted.
    ///
    /// # Errors
    /// The target does not respond like a service, or load cannot be generated.
    pub(super) fn run(mut self, wanted: Wanted) -> Result<Outcome, SearchError> {
        let first = self.first_answers()?;
        let attendance = wanted.doctor.then(|| self.attend()).flatten();
        let mut outcome = Outcome {
            target: self.driver.load.target.url.clone(),
            goal: wanted.goal.clone().unwrap_or_else(|| goal_of(first)),
            calm: first,
            knee: None,
            found: so_far(&[]),
            trials: Vec::new(),
            proof: None,
            ended: Ended::Done,
            peak: wanted.peak,
            run: wanted.run.clone(),
            only_path: wanted.only_path,
            date: wanted.date.clone(),
            elapsed: Duration::ZERO,
            rhythm: Rhythm::default(),
            verification: None,
            time_limit: Duration::ZERO,
            findings: Vec::new(),
        };
        outcome.ended = match self.search(&wanted, &mut outcome) {
            Ok(ended) => ended,
            Err(SearchError::Halt(Halt::Interrupted)) => Ended::Interrupted,
            // Before the first trial: the search itself ends later ones.
            Err(SearchError::Halt(Halt::OutOfTime)) => Ended::Done,
            Err(other) => return Err(other),
        };
        if outcome.ended != Ended::Done && outcome.interval().is_none() {
            outcome.found = so_far(&self.trials);
        }
        let best_at = outcome.knee.as_ref().map(|knee| knee.best_at);
        let at_limit = self.loaded.iter().filter(|(loaded, _)| loaded.is_at_limit(best_at));
        let at_limit: Vec<Times> = at_limit.map(|(_, interval)| *interval).collect();
        let examined = attendance.and_then(|attendance| attendance.end_of(&at_limit));
        outcome.findings = examined.map(|examined| examined.findings()).unwrap_or_default();
        outcome.trials = self.trials;
        outcome.elapsed = self.driver.time.elapsed();
        Ok(outcome)
    }

    /// Begins to examine the service, if it is on this machine.
    fn attend(&self) -> Option<Attendance> {
        let address = self.driver.load.target.socket_address()?;
        Some(Attendance::begin(move || Service::listening_at(address)))
    }

    fn search(&mut self, wanted: &Wanted, outcome: &mut Outcome) -> Result<Ended, SearchError> {
        let step = step_length(outcome.calm);
        // A fast service without clusters of late responses needs the least.
        let fast = Rate::per_second_of(f64::MAX);
        let at_most = |best, rhythm: &Rhythm| {
            whole_time(step, wanted.budget.unwrap_or_else(|| load_time(best, rhythm)))
        };
        self.ends_after(at_most(fast, &Rhythm::default()));
        let calm = self.watch_calm(outcome.calm, wanted.goal.as_ref())?;
        (outcome.calm, outcome.rhythm) = (calm.median, calm.rhythm);
        if wanted.goal.is_none() {
            outcome.goal = goal_of(calm.median);
        }
        (self.events)(Event::Goal(&outcome.goal));
        if let Some(binding) = missed_when_calm(&outcome.goal, calm.median, &calm.shares) {
            outcome.found = Found::MissedWhenCalm { binding, calm: calm.median };
            return Ok(Ended::Done);
        }
        self.ends_after(at_most(fast, &calm.rhythm));
        let knee = self.closed_loop(step, wanted.concurrency_max)?;
        let settings = Settings::for_service(knee.best, calm.rhythm, wanted.budget);
        outcome.time_limit = at_most(knee.best, &calm.rhythm);
        self.ends_after(outcome.time_limit);
        let settings = Settings { highest: wanted.highest.unwrap_or(settings.highest), ..settings };
        outcome.knee = Some(knee);
        let (goal, calm) = (outcome.goal.clone(), outcome.calm);
        if !self.calm_again(calm, settings.waiting)?.0 {
            return Ok(Ended::NotCalm);
        }
        let mut search = CapacitySearch::new(goal.clone(), settings);
        for proofs in 0.. {
            let Some(report) = self.open_trials(&mut search, &goal, calm)? else {
                return Ok(Ended::NotCalm);
            };
            (outcome.found, outcome.verification) = (report.found, Some(report.full_length));
            let Found::Within(interval) = report.found else { return Ok(Ended::Done) };
            let length = search.length_at(interval.high);
            let room = self.driver.time.left().is_none_or(|left| left > length + PROOF_ROOM);
            if !wanted.prove_overload || !interval.verified || proofs == PROOFS_MAX || !room {
                return Ok(Ended::Done);
            }
            if !self.calm_again(calm, search.waiting_left().max(PROOF_ROOM))?.0 {
                return Ok(Ended::NotCalm);
            }
            let trial = Trial::new(interval.high, length, Purpose::Confirm);
            let tried = match self.trial(&goal, trial, true) {
                Err(SearchError::Halt(Halt::OutOfTime)) => return Ok(Ended::Done),
                tried => tried?,
            };
            let (missed, disturbed) = (tried.is_bad(), tried.is_disturbed());
            let proof = Proof { rate: interval.high, missed, disturbed, recovery: None };
            outcome.proof = Some(proof);
            if missed {
                outcome.proof = match self.recovery(&goal, &interval) {
                    Err(SearchError::Halt(Halt::OutOfTime)) => Some(proof),
                    recovery => Some(Proof { recovery: Some(recovery?), ..proof }),
                };
                return Ok(Ended::Done);
            }
            // It held where it should not have: that is evidence too.
            search.observe(tried);
        }
        Ok(Ended::Done)
    }

    /// Watches the calm service: how fast it is, and whether late responses come in clusters.
    fn watch_calm(&mut self, first: Duration, goal: Option<&Goal>) -> Result<Calm, SearchError> {
        let (calm, _) = self.part(
            Part::Calm,
            |calm| Came::Calm(calm),
            |driver, show| driver.watch_calm(first, goal, show),
        )?;
        Ok(calm)
    }

    /// Sends a few requests: is there a service, and how fast is it?
    fn first_answers(&mut self) -> Result<Duration, SearchError> {
        let measured = self.driver.probe(FIRST, FIRST_MAX)?;
        let target = || self.driver.load.target.url.clone();
        if let Some((&status, _)) = measured.statuses.iter().find(|(status, _)| !SUCCEEDED.contains(*status))
        {
            return Err(SearchError::Refuses { target: target(), status });
        }
        match measured.response.quantile(Quantile::P50).filter(|_| measured.accounting.answered > 0) {
            Some(median) => Ok(median.at),
            None => {
                let failures = measured.failures.keys().map(ToString::to_string).collect::<Vec<_>>();
                let timed_out = format!("no response within {}", show_duration(self.driver.load.timeout));
                let what = if failures.is_empty() { timed_out } else { failures.join(", ") };
                Err(SearchError::Silent { target: target(), what })
            }
        }
    }

    fn closed_loop(&mut self, length: Duration, concurrency_max: u32) -> Result<Knee, SearchError> {
        let mut closed = ClosedLoop::new(concurrency_max);
        let mut best = Rate::ZERO;
        loop {
            let concurrency = match closed.next() {
                Next::Measure(concurrency) => concurrency,
                Next::Done(knee) => {
                    (self.events)(Event::Knee(&knee));
                    return Ok(knee);
                }
                Next::NothingAnswered => {
                    return Err(SearchError::Silent {
                        target: self.driver.load.target.url.clone(),
                        what: "single requests got responses, but none under load".to_owned(),
                    });
                }
            };
            let part = Part::ClosedStep { connections: concurrency };
            let begun = Instant::now();
            let (measured, _) = self.part(
                part,
                |step| Came::Step(step),
                |driver, show| driver.closed_step(concurrency, length, best, show),
            )?;
            self.loaded.push((Loaded::Step { connections: concurrency }, (begun, Instant::now())));
            if measured.throughput > best {
                best = measured.throughput;
            }
            closed.observe(measured);
        }
    }

    /// `None` if the service did not become calm again.
    fn open_trials(
        &mut self,
        search: &mut CapacitySearch,
        goal: &Goal,
        calm: Duration,
    ) -> Result<Option<Report>, SearchError> {
        loop {
            match search.next() {
                Step::CoolDown => match self.calm_again(calm, search.waiting_left())? {
                    (true, took) => search.cooled_down(took),
                    (false, _) => return Ok(None),
                },
                Step::Trial(trial) if self.driver.time.left().is_some_and(|left| left < trial.length) => {
                    search.stop()
                }
                Step::Trial(trial) => match self.trial(goal, trial, false) {
                    Err(SearchError::Halt(Halt::OutOfTime)) => search.stop(),
                    tried => search.observe(tried?),
                },
                Step::Done(report) => return Ok(Some(report)),
            }
        }
    }

    fn trial(&mut self, goal: &Goal, trial: Trial, prove: bool) -> Result<TrialOutcome, SearchError> {
        let begun = Instant::now();
        let (judged, measured) = self.part(
            Part::Trial { trial, prove },
            |judged| Came::Trial(judged),
            |driver, show| driver.trial(goal, trial, prove, show),
        )?;
        let outcome = judged.outcome;
        self.loaded.push((Loaded::Trial { missed: outcome.is_bad() }, (begun, Instant::now())));
        self.trials.push(Tried::of(judged, &measured));
        Ok(outcome)
    }

    fn recovery(&mut self, goal: &Goal, interval: &Interval) -> Result<Recovery, SearchError> {
        let part = Part::Recovery { rate: protected(interval.low) };
        let (recovery, _) = self.part(
            part,
            |recovery| Came::Recovery(recovery),
            |driver, show| driver.recovery(goal, interval.low, show),
        )?;
        Ok(recovery)
    }

    /// Whether it became calm within `most`, and after how long.
    fn calm_again(&mut self, calm: Duration, most: Duration) -> Result<(bool, Duration), SearchError> {
        let begun = self.driver.time.elapsed();
        let calm = self.driver.cool_down(calm, most, || (self.events)(Event::Waits))?;
        let after = self.driver.time.elapsed().saturating_sub(begun);
        (self.events)(Event::CalmAgain { calm, after });
        Ok((calm, after))
    }

    fn ends_after(&mut self, whole: Duration) {
        self.driver.time.ends_after(whole);
        (self.events)(Event::TimeLimit(whole));
    }

    /// Runs a part, and reports its progress and its result.
    fn part<T>(
        &mut self,
        part: Part,
        came: impl FnOnce(&T) -> Came<'_>,
        run: impl FnOnce(&Driver<'_>, &mut dyn FnMut(&Progress)) -> Result<(T, Measurement), Halt>,
    ) -> Result<(T, Measurement), SearchError> {
        (self.events)(Event::Begins(&part));
        match run(&self.driver, &mut |now| (self.events)(Event::Runs(&part, now))) {
            Ok((found, measured)) => {
                (self.events)(Event::Ended { part: &part, came: came(&found), measured: &measured });
                Ok((found, measured))
            }
            Err(halt) => {
                (self.events)(Event::Halted { part: &part, halt: &halt });
                Err(halt.into())
            }
        }
    }
}

/// The default goal: p95 below 2.5 times the calm median.
fn goal_of(calm: Duration) -> Goal {
    Goal::new(vec![Condition::ResponseTime { quantile: Quantile::P95, below: usual_bound(calm) }])
        .expect("one condition with a bound above zero is a goal")
}

/// Requests that show whether there is a service at all.
const FIRST: u64 = 5;
/// The longest wait for their responses.
const FIRST_MAX: Duration = Duration::from_secs(20);
/// Time for the overload's responses and the recovery; without it no overload is shown.
const PROOF_ROOM: Duration = Duration::from_secs(10);
/// How often a high end that held in the proof is searched for again.
const PROOFS_MAX: u32 = 2;
