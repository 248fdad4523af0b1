//! The whole search, in the order of the account: is it there, how much comes out, which rate holds, what happens above
//! it, does it come back.
//!
//! ```text
//! probe → calm → closed loop → open trials (bracket, narrow, verify, confirm) → overload at the high end → recovery
//! ```
//!
//! ## Why the overload is proved once more
//! The search ends trials as early as it can, most of them before anything is visible. The proof lets requests wait for
//! longer than the goal allows, so that what follows is a recovery and not a calm.
//!
//! ## Why the recovery is measured below the low end
//! The low end of a steady service lies within one percent of its capacity, and a rate that near drains no queue. What
//! an operator needs to know is whether the limit that is written into the gateway file brings the service back.

use super::drive::{Calm, Driver, Halt, Judged, Recovery};
use super::limits::{protected, usual_bound};
use super::outcome::{Ended, Outcome, Proof, Tried, so_far};
use super::peak::Peak;
use super::story::Story;
use crate::recorder::{About, Begun, Recorder};
use crate::summary::rate;
use control::search::closed_loop::{ClosedLoop, Knee, Measured, Next};
use control::search::rhythm::{Rhythm, missed_when_calm};
use control::search::time_bound::{load_time, step_length, whole_time};
use control::search::{
    CapacitySearch, Condition, Found, Goal, Interval, Purpose, Report, Settings, Step, Trial, TrialOutcome,
};
use ledger::WallTime;
use measure::Measurement;
use serde_json::{Value as Json, json};
use std::time::Duration;
use units::{Quantile, Rate, show_duration};

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
            rhythm: Rhythm::default(),
            verification: None,
            time_limit: Duration::ZERO,
        };
        outcome.ended = match self.search(&wanted, &mut outcome) {
            Ok(ended) => ended,
            Err(SearchError::Halt(Halt::Interrupted)) => Ended::Interrupted,
            // Before the first trial: later ones are ended by the search.
            Err(SearchError::Halt(Halt::OutOfTime)) => Ended::Done,
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
        let step = step_length(outcome.calm);
        // A service that is fast, and has no clusters of late answers, takes the least.
        let fast = Rate::per_second_of(f64::MAX);
        let at_most = |best, rhythm: &Rhythm| {
            whole_time(step, wanted.budget.unwrap_or_else(|| load_time(best, rhythm)))
        };
        self.story.ends_after(at_most(fast, &Rhythm::default()));
        let calm = self.watch_calm(outcome.calm, wanted.goal.as_ref())?;
        (outcome.calm, outcome.rhythm) = (calm.median, calm.rhythm);
        if wanted.goal.is_none() {
            outcome.goal = goal_of(calm.median);
        }
        self.story.tell(&format!("the goal: {}", outcome.goal));
        if let Some(binding) = missed_when_calm(&outcome.goal, calm.median, &calm.shares) {
            outcome.found = Found::MissedWhenCalm { binding, calm: calm.median };
            return Ok(Ended::Done);
        }
        self.story.ends_after(at_most(fast, &calm.rhythm));
        let knee = self.closed_loop(step, wanted.concurrency_max)?;
        let settings = Settings::for_service(knee.best, calm.rhythm, wanted.budget);
        outcome.time_limit = at_most(knee.best, &calm.rhythm);
        self.story.ends_after(outcome.time_limit);
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
            let room = self.story.left().is_none_or(|left| left > length + PROOF_ROOM);
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

    /// Watches the calm service: how fast it is, and whether late answers come in clusters.
    fn watch_calm(&mut self, first: Duration, goal: Option<&Goal>) -> Result<Calm, SearchError> {
        let name = "calm";
        let begun = self.begin(name, json!({ "purpose": "calm" }));
        let ran = self.driver.watch_calm(first, goal, |now| self.story.show(name, now));
        let (calm, _) = self.note(
            begun,
            ran,
            |calm: &Calm| json!({ "clusters": calm.rhythm.clusters, "gap_s": calm.rhythm.gap.map(|gap| gap.as_secs_f64()) }),
        )?;
        let rhythm = match (calm.rhythm.clusters, calm.rhythm.gap) {
            (0, _) => "no clusters of late answers".to_owned(),
            (_, Some(gap)) => format!(
                "late answers in clusters, one every {}, so a full trial lasts at least {}",
                show_duration(gap),
                show_duration(calm.rhythm.shortest_trial())
            ),
            (_, None) => "one cluster of late answers".to_owned(),
        };
        self.story.tell(&format!("{name}: {} at the median; {rhythm}", show_duration(calm.median)));
        Ok(calm)
    }

    /// A few requests: is there a service, and how fast is it?
    fn first_answers(&mut self) -> Result<Duration, SearchError> {
        let measured = self.driver.probe(FIRST, FIRST_MAX)?;
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

    fn closed_loop(&mut self, length: Duration, concurrency_max: u32) -> Result<Knee, SearchError> {
        let mut closed = ClosedLoop::new(concurrency_max);
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
                Step::CoolDown => match self.calm_again(calm, search.waiting_left())? {
                    (true, took) => search.cooled_down(took),
                    (false, _) => return Ok(None),
                },
                Step::Trial(trial) if self.story.left().is_some_and(|left| left < trial.length) => {
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
        let purpose = if prove { "show the overload".to_owned() } else { trial.purpose.to_string() };
        let name = format!("{} ({purpose})", rate(trial.rate));
        let begun = self.begin(&name, json!({ "purpose": purpose, "rate": trial.rate.per_second() }));
        let ran = self.driver.trial(goal, trial, prove, |now| self.story.show(&name, now));
        let (judged, measured) = self.note(begun, ran, |judged: &Judged| {
            json!({ "verdict": judged.verdict(), "ran_s": judged.outcome.ran.as_secs_f64() })
        })?;
        let outcome = judged.outcome;
        self.story.tell(&format!("{name}: {}; {} of load", judged.verdict(), show_duration(outcome.ran)));
        self.trials.push(Tried::of(judged, &measured));
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

    /// Whether it became calm within `most`, and after how long.
    fn calm_again(&mut self, calm: Duration, most: Duration) -> Result<(bool, Duration), SearchError> {
        let begun = self.story.elapsed();
        let calm = self.driver.cool_down(calm, most)?;
        let took = self.story.elapsed().saturating_sub(begun);
        if !calm {
            self.story.tell(&format!("not calm again after {}", show_duration(took)));
        } else if took >= WORTH_TELLING {
            self.story.tell(&format!("calm again after {}", show_duration(took)));
        }
        Ok((calm, took))
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

/// The goal where none was given: p95 below 2.5 times the calm median.
fn goal_of(calm: Duration) -> Goal {
    Goal::new(vec![Condition::ResponseTime { quantile: Quantile::P95, below: usual_bound(calm) }])
        .expect("one condition with a bound above zero is a goal")
}

/// Requests that say whether there is a service at all.
const FIRST: u64 = 5;
/// They are waited for no longer than this.
const FIRST_MAX: Duration = Duration::from_secs(20);
/// Time for the overload's answers and the recovery; without it none is shown.
const PROOF_ROOM: Duration = Duration::from_secs(10);
/// How often a high end that held after all is searched for again.
const PROOFS_MAX: u32 = 2;
/// Shorter waits are part of every trial.
const WORTH_TELLING: Duration = Duration::from_secs(2);
