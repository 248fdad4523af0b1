//! Parts of load and their results: a probe, a closed-loop step, a trial, a cool-down, a recovery.
//!
//! Each part is one plan that is watched while it runs and ends as soon as its question is answered. A procedure runs
//! them in its own order. What a part decides is in [`control::search`].
//!
//! ```text
//! load     how load is generated, and why a part ends early
//! watched  the judge's view of a run
//! ```

mod load;
mod watched;

pub(crate) use load::Time;
pub use load::{Halt, Load};

use crate::drive::{Drive, Look};
use ::load::{Model, Plan, Progress, Watch};
use control::search::calm::{CALM_AGAIN_MAX, CALM_PAUSE, LONE_REQUESTS, Lone};
use control::search::closed_loop::{Measured, StepWatch};
use control::search::disturbance::{Disturbance, Generator};
use control::search::recovery::{RECOVERY_MAX, Recovery, RecoveryWatch};
use control::search::rhythm::{
    CALM_LOOK, CALM_MAX, CalmLook, CalmShare, CalmWatch, Rhythm, calm_rate, late_after,
};
use control::search::{Condition, Goal, Judge, Trial, TrialOutcome, Verdict};
use documents::find::Judged;
use host::Processes;
use measure::{Measurement, Reason, SUCCEEDED, Validity};
use std::num::NonZeroU32;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};
use units::{Quantile, Rate};
use watched::{Looks, seen};

/// Drives load at one target.
pub(crate) struct Driver<'a> {
    /// How the load is generated.
    pub(crate) load: &'a Load<'a>,
    /// How much time is left.
    pub(crate) time: &'a Time,
}

/// The state of a calm service.
#[derive(Debug, Clone, PartialEq)]
pub struct Calm {
    /// The median response time.
    pub median: Duration,
    /// Whether late responses come in clusters.
    pub rhythm: Rhythm,
    /// Misses of each condition of the goal.
    pub shares: Vec<CalmShare>,
}

impl Driver<'_> {
    fn plan(&self, model: Model, duration: Option<Duration>) -> Plan {
        Plan {
            duration,
            timeout: self.load.timeout,
            good_within: self.load.timeout,
            workers: model.workers(),
            connecting: self.load.connecting.clone(),
            keep_alive: self.load.keep_alive,
            ..Plan::new(self.load.target.clone(), model)
        }
    }

    fn open(&self, rate: Rate, duration: Duration) -> Plan {
        let model = Model::open(rate, self.load.arrivals, self.load.connections);
        self.plan(model, Some(duration))
    }

    /// Runs a plan, and checks it at equal intervals until a check ends it.
    fn run(
        &self,
        plan: Plan,
        watch: &Watch,
        mut look: impl FnMut(u32, &Progress, bool) -> ControlFlow<()>,
    ) -> Result<Measurement, Halt> {
        let mut drive = Drive::start(plan, watch)?;
        loop {
            let Look { number, now, finished } = drive.look(|_| self.halt())?;
            if look(number, &now, finished).is_break() {
                break;
            }
        }
        let early = !drive.running().is_finished();
        drive.running().stop();
        let mut measured = drive.finish()?;
        if early {
            // Requests that were unsent because the run was stopped do not count.
            let reasons = measured.validity.reasons;
            measured.validity = Validity::of(
                reasons.into_iter().filter(|reason| !matches!(reason, Reason::Unsent { .. })).collect(),
            );
        }
        Ok(measured)
    }

    /// Why the procedure ends now, if it does.
    fn halt(&self) -> Option<Halt> {
        let over = || self.time.left().is_some_and(|left| left.is_zero());
        if (self.load.interrupted)() { Some(Halt::Interrupted) } else { over().then_some(Halt::OutOfTime) }
    }

    /// A few requests one after the other, within `most`.
    pub(crate) fn probe(&self, requests: u64, most: Duration) -> Result<Measurement, Halt> {
        let model = Model::closed(NonZeroU32::MIN);
        let plan = Plan { requests: Some(requests), ..self.plan(model, None) };
        let every = Watch { every: PROBE_LOOK, ..Watch::default() };
        self.run(plan, &every, |number, _, finished| {
            let over = finished || PROBE_LOOK * number >= most;
            if over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
    }

    /// Watches the calm service until it is known whether late responses come in clusters.
    pub(crate) fn watch_calm(
        &self,
        first: Duration,
        goal: Option<&Goal>,
        mut show: impl FnMut(&Progress),
    ) -> Result<(Calm, Measurement), Halt> {
        let late = late_after(first, goal);
        let bound = |condition: &Condition| match condition {
            Condition::ResponseTime { below, .. } => Some(*below),
            Condition::Failed { .. } => None,
        };
        let conditions = goal.map(Goal::conditions).unwrap_or_default();
        let bounds = conditions.iter().filter_map(bound).chain([late]).collect();
        let watch = Watch { bounds, every: CALM_LOOK };
        let mut calm = CalmWatch::new();
        let (mut ended_before, mut late_before, mut stall_before) = (0, 0, Duration::ZERO);
        let mut last = Progress::default();
        let plan = self.open(calm_rate(first), CALM_MAX);
        let measured = self.run(plan, &watch, |number, now, finished| {
            show(now);
            // Failed requests were not late.
            let within = now.within.last().copied().unwrap_or(0);
            let overdue = now.overdue.last().copied().unwrap_or(0);
            let late_now = now.succeeded.saturating_sub(within) + overdue;
            let stalled = now.longest_stall > stall_before && now.longest_stall > late / 2;
            calm.observe(&CalmLook {
                elapsed: CALM_LOOK * number,
                ended: now.succeeded.saturating_sub(ended_before),
                late: late_now.saturating_sub(late_before),
                disturbed: stalled,
            });
            (ended_before, stall_before) = (now.succeeded, now.longest_stall);
            late_before = late_before.max(late_now);
            last = now.clone();
            if calm.is_over() || finished { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        let median = measured.response.quantile(Quantile::P50).map_or(first, |median| median.at);
        let mut within = last.within.iter();
        let shares = conditions.iter().map(|condition| {
            let held = bound(condition).map_or(last.succeeded, |_| within.next().copied().unwrap_or(0));
            CalmShare { missed: last.succeeded.saturating_sub(held), of: last.succeeded }
        });
        let shares = shares.collect();
        Ok((Calm { median, rhythm: calm.rhythm(), shares }, measured))
    }

    /// A number of connections, each of which sends its next request after a response. A step with far less throughput
    /// than `best` ends early.
    pub(crate) fn closed_step(
        &self,
        concurrency: u32,
        length: Duration,
        best: Rate,
        mut show: impl FnMut(&Progress),
    ) -> Result<(Measured, Measurement), Halt> {
        let connections = NonZeroU32::new(concurrency).unwrap_or(NonZeroU32::MIN);
        let every = StepWatch::look_every(length);
        let watch = Watch { every, ..Watch::default() };
        let plan = self.plan(Model::closed(connections), Some(length));
        let mut step = StepWatch::new(best);
        let measured = self.run(plan, &watch, |number, now, finished| {
            show(now);
            // Results after the end do not count.
            let over = finished || step.observe(number, now.at, now.succeeded);
            if over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        let response_time =
            measured.response.quantile(Quantile::P50).map_or(Duration::ZERO, |median| median.at);
        Ok((Measured { concurrency, throughput: step.throughput(), response_time }, measured))
    }

    /// Runs a trial until its judge decides. To prove an overload it continues until requests wait for longer than the
    /// goal's bound, or its length is over.
    pub(crate) fn trial(
        &self,
        goal: &Goal,
        trial: Trial,
        prove: bool,
        mut show: impl FnMut(&Progress),
    ) -> Result<(Judged, Measurement), Halt> {
        let before = Processes::now();
        let mut judge = Judge::new(goal, &trial);
        let looks = Looks::new(goal, judge.look_every());
        let longest = goal.longest_bound().unwrap_or_default();
        let mut verdict = Verdict::Undecided;
        let mut last = Progress::default();
        let measured = self.run(self.open(trial.rate, trial.length), &looks.watch, |number, now, _| {
            show(now);
            let progress = seen(goal, &looks, number, now);
            verdict = judge.observe(&progress);
            last = now.clone();
            let more = prove && matches!(verdict, Verdict::Bad(_)) && progress.elapsed < trial.length;
            if verdict == Verdict::Undecided || (more && progress.oldest < longest) {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        })?;
        let generator = generator(&last, &measured);
        let disturbed_by = generator.disturbance(goal, &trial, verdict).map(|what| {
            verdict = Verdict::Disturbed;
            let what = in_words(what, &measured);
            let busy = Processes::now().busiest_since(&before, BUSY_NAMED);
            let busy: Vec<String> = busy.iter().map(ToString::to_string).collect();
            if busy.is_empty() { what } else { format!("{what}; meanwhile {}", busy.join(", ")) }
        });
        // A proof continues after the verdict.
        let ran = measured.elapsed.min(trial.length);
        let outcome = TrialOutcome { ran, ..TrialOutcome::of(trial, &judge, verdict) };
        Ok((Judged { outcome, disturbed_by }, measured))
    }

    /// Waits until a few single requests are successful and as fast as on the calm service, for at most `most`; returns
    /// whether they were.
    pub(crate) fn cool_down(
        &self,
        calm: Duration,
        most: Duration,
        mut waiting: impl FnMut(),
    ) -> Result<bool, Halt> {
        let begun = Instant::now();
        while begun.elapsed() < most.min(CALM_AGAIN_MAX) {
            let measured = self.probe(LONE_REQUESTS, CALM_AGAIN_MAX)?;
            let median = measured.response.quantile(Quantile::P50).filter(|median| !median.censored);
            let lone = Lone {
                answered: measured.accounting.answered,
                well: measured.statuses.keys().all(|status| SUCCEEDED.contains(status)),
                median: median.map(|median| median.at),
            };
            if lone.is_calm(calm) {
                return Ok(true);
            }
            waiting();
            std::thread::sleep(CALM_PAUSE);
        }
        Ok(false)
    }

    /// Offers the rate below `low` at once, and measures when the goal holds again.
    pub(crate) fn recovery(
        &self,
        goal: &Goal,
        low: Rate,
        mut show: impl FnMut(&Progress),
    ) -> Result<(Recovery, Measurement), Halt> {
        let mut recovery = RecoveryWatch::new(goal, low);
        let looks = Looks::new(goal, recovery.look_every());
        let plan = self.open(recovery.rate(), RECOVERY_MAX);
        let measured = self.run(plan, &looks.watch, |number, now, finished| {
            show(now);
            let over = recovery.observe(&seen(goal, &looks, number, now)) || finished;
            if over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        Ok((recovery.recovery(), measured))
    }
}

/// The load engine's data on the generator's own part in a trial.
fn generator(last: &Progress, measured: &Measurement) -> Generator {
    let reasons = &measured.validity.reasons;
    Generator {
        out_of_resources: reasons.iter().any(is_out_of_resources),
        busy: reasons.iter().any(is_busy),
        longest_stall: last.longest_stall,
        lag: last.lag,
        scheduled: last.accounting.scheduled,
        answered: last.accounting.answered + last.accounting.shed,
        succeeded: last.succeeded,
    }
}

/// The disturbance of a trial, in the words of the run if it has any.
fn in_words(what: Disturbance, measured: &Measurement) -> String {
    let is: fn(&Reason) -> bool = match what {
        Disturbance::OutOfResources => is_out_of_resources,
        Disturbance::Busy => is_busy,
        Disturbance::Stall(_) | Disturbance::Lag(_) => |_| false,
    };
    let reason = measured.validity.reasons.iter().find(|reason| is(reason));
    reason.map_or_else(|| what.to_string(), ToString::to_string)
}

fn is_out_of_resources(reason: &Reason) -> bool {
    matches!(reason, Reason::OutOfResources { .. })
}

fn is_busy(reason: &Reason) -> bool {
    matches!(reason, Reason::GeneratorBusy { .. })
}

/// The interval of checks of a probe is short: it ends at the last response.
const PROBE_LOOK: Duration = Duration::from_millis(5);
/// The most processes that are named if one of them may have disturbed a trial.
const BUSY_NAMED: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;
    use control::search::Purpose;
    use measure::Accounting;

    #[test]
    fn refusals_with_429_are_evidence_on_a_busy_machine() {
        let goal = Goal::new(vec!["failed<1%".parse().unwrap()]).unwrap();
        let trial = Trial::new(Rate::per_second_of(100.0), Duration::from_secs(10), Purpose::Narrow);
        let accounting = Accounting { scheduled: 500, answered: 480, shed: 20, ..Accounting::default() };
        let lag = Duration::from_millis(4);
        let last = Progress { accounting, succeeded: 480, lag, ..Progress::default() };
        let generator = generator(&last, &Measurement::default());
        assert_eq!(generator.disturbance(&goal, &trial, Verdict::Undecided), None);
    }
}
