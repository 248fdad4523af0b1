//! The whole search, in the order of the account: is it there, how much comes out, which rate holds, what happens above
//! it, does it come back.
//!
//! ```text
//! probe → closed loop → open trials (bracket, narrow, verify, confirm) → overload at the high end → recovery
//! ```
//!
//! ## Why the overload is proved once more
//! The search ends trials as early as it can, most of them before anything is visible. The proof lets requests wait for
//! longer than the goal allows, so that what follows is a recovery and not a calm.
//!
//! ## Why the recovery is measured below the low end
//! The low end of a steady service lies within one percent of its capacity, and a rate that near drains no queue. What
//! an operator needs to know is whether the limit that is written into the gateway file brings the service back.

use super::drive::{Driver, Halt, Recovery};
use super::limits::{protected, usual_bound};
use super::outcome::{Ended, Outcome, Proof, Tried, so_far};
use super::peak::Peak;
use super::story::Story;
use crate::recorder::{About, Begun, Recorder};
use crate::summary::rate;
use control::search::closed_loop::{ClosedLoop, Knee, Measured, Next};
use control::search::{
    CapacitySearch, Condition, Found, Goal, Interval, Purpose, Report, Settings, Step, Trial, TrialOutcome,
};
use ledger::WallTime;
use measure::Measurement;
use serde_json::{Value as Json, json};
use std::time::Duration;
use units::{Quantile, Rate, Ratio, show_duration};

/// What is searched for.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// What must hold; `None` where it follows from the calm response time.
    pub goal: Option<Goal>,
    /// Load time of all trials together; `None` where it follows from how fast the service is.
    pub budget: Option<Duration>,
    /// No rate above this is tried.
    pub highest: Option<Rate>,
    /// The most connections of the closed loop.
    pub concurrency_max: u32,
    /// Whether the service may be overloaded on purpose at the end.
    pub prove_overload: bool,
    /// What has to be carried.
    pub peak: Option<Peak>,
    /// Whether the other paths of the service get no limit.
    pub only_path: bool,
}

/// There is nothing to search at.
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    /// No request was answered.
    #[error("{target} does not answer: {what}; is the service there? try `curl -v '{target}'`")]
    Silent {
        /// The URL.
        target: String,
        /// What came instead.
        what: String,
    },
    /// It answers that something is wrong.
    #[error(
        "{target} answers {status} to a single request; the rate of such answers says nothing, give a URL (and -H, -m, --data) that is answered with 2xx or 3xx"
    )]
    Refuses {
        /// The URL.
        target: String,
        /// The status.
        status: u16,
    },
    /// The load could not be made, or the user ended it before anything was known.
    #[error(transparent)]
    Halt(#[from] Halt),
}

/// A search under way.
pub struct Search<'a> {
    driver: &'a Driver<'a>,
    recorder: &'a mut Recorder,
    run: Begun,
    story: &'a Story,
    trials: Vec<Tried>,
}

impl<'a> Search<'a> {
    /// A search that has not begun; its parts belong to `run`.
    pub fn new(driver: &'a Driver<'a>, recorder: &'a mut Recorder, run: Begun, story: &'a Story) -> Self {
        Search { driver, recorder, run, story, trials: Vec::new() }
    }

    /// Runs it to its end, or until the user ends it.
    ///
    /// # Errors
    /// Where the target does not answer as a service does, or load cannot be made.
    pub fn run(mut self, wanted: Wanted) -> Result<Outcome, SearchError> {
        let date = WallTime::now().to_string();
        let first = self.first_answers()?;
        let mut outcome = Outcome {
            target: self.driver.target.url.clone(),
            goal: wanted.goal.clone().unwrap_or_else(|| goal_of(first)),
            calm: first,
            knee: None,
            found: so_far(&[]),
            trials: Vec::new(),
            proof: None,
            ended: Ended::Done,
            peak: wanted.peak,
            run: self.run.name(),
            only_path: wanted.only_path,
            date: date.split('T').next().unwrap_or_default().to_owned(),
            elapsed: Duration::ZERO,
        };
        outcome.ended = match self.search(&wanted, &mut outcome) {
            Ok(ended) => ended,
            Err(SearchError::Halt(Halt::Interrupted)) => Ended::Interrupted,
            Err(other) => return Err(other),
        };
        if outcome.ended != Ended::Done && outcome.interval().is_none() {
            outcome.found = so_far(&self.trials);
        }
        outcome.trials = self.trials;
        outcome.elapsed = self.story.elapsed();
        Ok(outcome)
    }

    fn search(&mut self, wanted: &Wanted, outcome: &mut Outcome) -> Result<Ended, SearchError> {
        let knee = self.closed_loop(outcome.calm, wanted.concurrency_max)?;
        outcome.calm = knee.calm;
        if wanted.goal.is_none() {
            outcome.goal = goal_of(knee.calm);
        }
        let settings = settings(wanted, knee.best);
        outcome.knee = Some(knee);
        self.story.tell(&format!("the goal: {}", outcome.goal));
        let (goal, calm) = (outcome.goal.clone(), outcome.calm);
        if !self.calm_again(calm)? {
            return Ok(Ended::NotCalm);
        }
        let mut search = CapacitySearch::new(goal.clone(), settings);
        for proofs in 0.. {
            let Some(report) = self.open_trials(&mut search, &goal, calm)? else {
                return Ok(Ended::NotCalm);
            };
            outcome.found = report.found;
            let Found::Within(interval) = report.found else { return Ok(Ended::Done) };
            if !wanted.prove_overload || proofs == PROOFS_MAX {
                return Ok(Ended::Done);
            }
            if !self.calm_again(calm)? {
                return Ok(Ended::NotCalm);
            }
            let length = search.length_at(interval.high);
            let trial = Trial { rate: interval.high, length, purpose: Purpose::Confirm };
            let tried = self.trial(&goal, trial, true)?;
            let missed = tried.is_bad();
            outcome.proof = Some(Proof { rate: interval.high, missed, recovery: None });
            if missed {
                let recovery = self.recovery(&goal, &interval)?;
                outcome.proof = Some(Proof { rate: interval.high, missed, recovery: Some(recovery) });
                return Ok(Ended::Done);
            }
            // It held where it should not have: that is evidence too.
            search.observe(tried);
        }
        Ok(Ended::Done)
    }

    /// A few requests: is there a service, and how fast is it?
    fn first_answers(&mut self) -> Result<Duration, SearchError> {
        let measured = self.driver.probe(FIRST)?;
        let target = || self.driver.target.url.clone();
        if let Some((&status, _)) = measured.statuses.iter().find(|(status, _)| !(200..400).contains(*status))
        {
            return Err(SearchError::Refuses { target: target(), status });
        }
        match measured.response.quantile(Quantile::P50).filter(|_| measured.accounting.answered > 0) {
            Some(median) => Ok(median.at),
            None => {
                let failures = measured.failures.keys().map(ToString::to_string).collect::<Vec<_>>();
                let timed_out = format!("no answer within {}", show_duration(self.driver.timeout));
                let what = if failures.is_empty() { timed_out } else { failures.join(", ") };
                Err(SearchError::Silent { target: target(), what })
            }
        }
    }

    fn closed_loop(&mut self, first: Duration, concurrency_max: u32) -> Result<Knee, SearchError> {
        let mut closed = ClosedLoop::new(concurrency_max);
        let length = (first * STEP_ANSWERS).clamp(STEP_MIN, STEP_MAX);
        let mut best = Rate::ZERO;
        loop {
            let concurrency = match closed.next() {
                Next::Measure(concurrency) => concurrency,
                Next::Done(knee) => {
                    self.story.tell(&format!(
                        "the knee: {} in flight; at best {}; {}",
                        knee.knee,
                        rate(knee.best),
                        knee.stopped
                    ));
                    return Ok(knee);
                }
                Next::NothingAnswered => {
                    return Err(SearchError::Silent {
                        target: self.driver.target.url.clone(),
                        what: "single requests were answered, but none under load".to_owned(),
                    });
                }
            };
            let name = format!("closed loop, {concurrency} in flight");
            let begun = self.begin(&name, json!({ "purpose": "closed loop", "connections": concurrency }));
            let ran = self.driver.closed_step(concurrency, length, best, |now| self.story.show(&name, now));
            let (measured, whole) = self.note(
                begun,
                ran,
                |measured: &Measured| json!({ "throughput_per_second": measured.throughput.per_second() }),
            )?;
            self.story.tell(&format!(
                "{name}: {}, p50 {}",
                rate(measured.throughput),
                whole.response.quantile(Quantile::P50).map_or("-".to_owned(), crate::summary::time)
            ));
            if measured.throughput > best {
                best = measured.throughput;
            }
            closed.observe(measured);
        }
    }

    /// `None` where the service did not become calm again.
    fn open_trials(
        &mut self,
        search: &mut CapacitySearch,
        goal: &Goal,
        calm: Duration,
    ) -> Result<Option<Report>, SearchError> {
        loop {
            match search.next() {
                Step::CoolDown if self.calm_again(calm)? => search.cooled_down(),
                Step::CoolDown => return Ok(None),
                Step::Trial(trial) => {
                    let tried = self.trial(goal, trial, false)?;
                    search.observe(tried);
                }
                Step::Done(report) => return Ok(Some(report)),
            }
        }
    }

    fn trial(&mut self, goal: &Goal, trial: Trial, prove: bool) -> Result<TrialOutcome, SearchError> {
        let purpose = if prove { "show the overload".to_owned() } else { trial.purpose.to_string() };
        let name = format!("{} ({purpose})", rate(trial.rate));
        let begun = self.begin(&name, json!({ "purpose": purpose, "rate": trial.rate.per_second() }));
        let ran = self.driver.trial(goal, trial, prove, |now| self.story.show(&name, now));
        let (outcome, measured) = self.note(begun, ran, |outcome: &TrialOutcome| {
            json!({ "verdict": outcome.verdict.to_string(), "ran_s": outcome.ran.as_secs_f64() })
        })?;
        self.story.tell(&format!("{name}: {}; {} of load", outcome.verdict, show_duration(outcome.ran)));
        self.trials.push(Tried::of(outcome, &measured));
        Ok(outcome)
    }

    fn recovery(&mut self, goal: &Goal, interval: &Interval) -> Result<Recovery, SearchError> {
        let back = protected(interval.low);
        let name = format!("{} (recovery)", rate(back));
        let begun = self.begin(&name, json!({ "purpose": "recovery", "rate": back.per_second() }));
        let ran = self.driver.recovery(goal, back, |now| self.story.show(&name, now));
        let (recovery, _) = self.note(
            begun,
            ran,
            |recovery: &Recovery| json!({ "after_s": recovery.after.map(|after| after.as_secs_f64()) }),
        )?;
        let what = match recovery.after {
            Some(after) => format!("the goal holds again after {}", show_duration(after)),
            None => format!("the goal does not hold again within {}", show_duration(recovery.limit)),
        };
        self.story.tell(&format!("{name}: {what}"));
        Ok(recovery)
    }

    fn calm_again(&mut self, calm: Duration) -> Result<bool, SearchError> {
        let begun = self.story.elapsed();
        let calm = self.driver.cool_down(calm)?;
        let took = self.story.elapsed().saturating_sub(begun);
        if !calm {
            self.story.tell(&format!("not calm again after {}", show_duration(took)));
        } else if took >= WORTH_TELLING {
            self.story.tell(&format!("calm again after {}", show_duration(took)));
        }
        Ok(calm)
    }

    fn begin(&mut self, name: &str, config: Json) -> Begun {
        let (target, parent) = (&self.driver.target.url, Some(self.run));
        let command = format!("find: {name}");
        self.recorder.begin(About { command: &command, target, config: config.to_string(), parent })
    }

    /// Notes in the ledger what came of a part.
    fn note<T>(
        &mut self,
        begun: Begun,
        ran: Result<(T, Measurement), Halt>,
        result: impl FnOnce(&T) -> Json,
    ) -> Result<(T, Measurement), SearchError> {
        match ran {
            Ok((came, measured)) => {
                self.recorder.finish(begun, Some(&measured), Some(result(&came).to_string()));
                Ok((came, measured))
            }
            Err(halt) => {
                self.recorder.fail(begun, &halt.to_string());
                Err(halt.into())
            }
        }
    }
}

/// How the search goes about a service whose best throughput is known.
fn settings(wanted: &Wanted, best: Rate) -> Settings {
    // A slow service needs more time for as many requests.
    let slow = (ENOUGH_A_SECOND / best.per_second().max(1e-3)).clamp(1.0, SLOWEST);
    let usual = Settings::default();
    Settings {
        hint: Some(best),
        highest: wanted.highest.unwrap_or(usual.highest),
        lowest: if usual.lowest < best * FAR_BELOW_BEST { usual.lowest } else { best * FAR_BELOW_BEST },
        length_min: TRIAL_MIN,
        length_max: usual.length_max.mul_f64(slow),
        precision: PRECISION,
        acceptable: PRECISION,
        budget: wanted.budget.unwrap_or(BUDGET.mul_f64(slow)),
        ..usual
    }
}

/// The goal where none was given: p95 below 2.5 times the calm median.
fn goal_of(calm: Duration) -> Goal {
    Goal::new(vec![Condition::ResponseTime { quantile: Quantile::P95, below: usual_bound(calm) }])
        .expect("one condition with a bound above zero is a goal")
}

/// Requests that say whether there is a service at all.
const FIRST: u64 = 5;
/// A closed-loop step is as long as so many calm answers, within bounds.
const STEP_ANSWERS: u32 = 40;
const STEP_MIN: Duration = Duration::from_secs(2);
const STEP_MAX: Duration = Duration::from_secs(10);
/// The shortest full length of a trial. Real services are faster in some seconds than in others, and a rate that is
/// one percent too high for a queue of a few milliseconds needs seconds to show it.
const TRIAL_MIN: Duration = Duration::from_secs(10);
/// Load time of all trials of a service that is not slow, so that a whole search stays below two minutes.
const BUDGET: Duration = Duration::from_secs(75);
/// The interval is narrowed to this width as long as there is load time left: the limits that follow are set by it.
const PRECISION: Ratio = Ratio::new(0.01).expect("a share");
/// From so many requests a second on, a trial of the usual length has enough of them.
const ENOUGH_A_SECOND: f64 = 100.0;
/// No service gets more than this many times the usual load time, unless asked for.
const SLOWEST: f64 = 3.0;
/// A goal that does not hold at this share of the best throughput holds at no useful rate.
const FAR_BELOW_BEST: f64 = 0.1;
/// How often a high end that held after all is searched for again.
const PROOFS_MAX: u32 = 2;
/// Shorter waits are part of every trial.
const WORTH_TELLING: Duration = Duration::from_secs(2);
