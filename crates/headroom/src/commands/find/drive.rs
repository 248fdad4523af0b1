//! Pieces of load and what came of each: a probe, a closed-loop step, a trial, a cool-down, a recovery.
//!
//! ## Why a disturbed trial is known only at its end
//! On a shared machine any loop is late once in a while. What counts is whether the lateness could have made the
//! verdict: the share of late looks over the whole trial against the goal's own bound, not the first one seen.

use super::story::Story;
use super::watched::{Looks, held_between, seen};
use crate::commands::load::workers;
use crate::live::Interrupts;
use ::load::{Arrivals, Connecting, Model, Plan, Progress, StartError, Target, Watch, start_watched};
use control::search::closed_loop::Measured;
use control::search::rhythm::{
    CALM_LOOK, CALM_MAX, CalmLook, CalmShare, CalmWatch, Rhythm, calm_rate, late_after,
};
use control::search::{Condition, Goal, Judge, Trial, TrialOutcome, Verdict};
use host::Processes;
use measure::{Measurement, Reason, Validity};
use std::num::NonZeroU32;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};
use units::{Quantile, Rate, show_duration};

/// Why the search cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum Halt {
    /// The user wants it to end.
    #[error("interrupted")]
    Interrupted,
    /// The time that the whole search may take is over.
    #[error("the time of the search is over")]
    OutOfTime,
    /// The load could not be made.
    #[error(transparent)]
    Start(#[from] StartError),
}

/// Drives load at one target.
#[derive(Debug)]
pub struct Driver<'a> {
    /// Where to, and the request.
    pub target: &'a Target,
    /// How connections are made.
    pub connecting: &'a Connecting,
    /// Whether a connection carries more than one request.
    pub keep_alive: bool,
    /// How arrivals are spaced.
    pub arrivals: Arrivals,
    /// The most connections at a time.
    pub connections: Option<NonZeroU32>,
    /// When a request is given up.
    pub timeout: Duration,
    /// Whether the user wants it to end.
    pub interrupts: &'a Interrupts,
    /// What it is told to, and how much time is left.
    pub story: &'a Story,
}

/// A calm service.
#[derive(Debug, Clone, PartialEq)]
pub struct Calm {
    /// The median response time.
    pub median: Duration,
    /// Whether late answers come in clusters.
    pub rhythm: Rhythm,
    /// Misses of each condition of the goal.
    pub shares: Vec<CalmShare>,
}

/// How the service came back after an overload.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Recovery {
    /// The rate that it was offered meanwhile.
    pub rate: Rate,
    /// When the goal held again; `None` where it did not within the limit.
    pub after: Option<Duration>,
    /// How long it was waited for.
    pub limit: Duration,
}

impl Driver<'_> {
    fn plan(&self, model: Model, duration: Option<Duration>) -> Plan {
        Plan {
            duration,
            timeout: self.timeout,
            good_within: self.timeout,
            workers: workers(&model),
            connecting: self.connecting.clone(),
            keep_alive: self.keep_alive,
            ..Plan::new(self.target.clone(), model)
        }
    }

    fn open(&self, rate: Rate, duration: Duration) -> Plan {
        let model = Model::open(rate, self.arrivals, self.connections);
        self.plan(model, Some(duration))
    }

    /// Runs a plan, and looks at it at equal intervals until a look says that it is enough.
    fn run(
        &self,
        plan: Plan,
        watch: &Watch,
        mut look: impl FnMut(u32, &Progress, bool) -> ControlFlow<()>,
    ) -> Result<Measurement, Halt> {
        let running = start_watched(plan, watch)?;
        let begun = Instant::now();
        for number in 1_u32.. {
            // The workers report in step with their own beginning; a little later their reports are there.
            let due = watch.every * number + watch.every / 8;
            while let Some(left) = due.checked_sub(begun.elapsed()).filter(|left| !left.is_zero()) {
                if self.interrupts.came() {
                    return Err(Halt::Interrupted);
                }
                if self.story.left().is_some_and(|left| left.is_zero()) {
                    return Err(Halt::OutOfTime);
                }
                std::thread::sleep(left.min(NAP));
            }
            let finished = running.is_finished();
            if look(number, &running.progress(), finished).is_break() {
                break;
            }
        }
        let early = !running.is_finished();
        running.stop();
        let mut measured = running.finish()?;
        if early {
            // What was not sent because we stopped says nothing.
            let reasons = measured.validity.reasons;
            measured.validity = Validity::of(
                reasons.into_iter().filter(|reason| !matches!(reason, Reason::Unsent { .. })).collect(),
            );
        }
        Ok(measured)
    }

    /// A few requests one after the other, within `most`.
    pub fn probe(&self, requests: u64, most: Duration) -> Result<Measurement, Halt> {
        let model = Model::closed(NonZeroU32::MIN);
        let plan = Plan { requests: Some(requests), ..self.plan(model, None) };
        let every = Watch { every: PROBE_LOOK, ..Watch::default() };
        self.run(plan, &every, |number, _, finished| {
            let over = finished || PROBE_LOOK * number >= most;
            if over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
    }

    /// Watches the calm service until it is known whether late answers come in clusters.
    pub fn watch_calm(
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
            // What failed was not late.
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

    /// So many connections, each as fast as it is answered. A step that brings far less than `best` ends early.
    pub fn closed_step(
        &self,
        concurrency: u32,
        length: Duration,
        best: Rate,
        mut show: impl FnMut(&Progress),
    ) -> Result<(Measured, Measurement), Halt> {
        let connections = NonZeroU32::new(concurrency).unwrap_or(NonZeroU32::MIN);
        let every = length / CLOSED_LOOKS;
        let watch = Watch { every, ..Watch::default() };
        let plan = self.plan(Model::closed(connections), Some(length));
        let mut from = None;
        let mut throughput = Rate::ZERO;
        let measured = self.run(plan, &watch, |number, now, finished| {
            show(now);
            if number <= CLOSED_LOOKS && !finished {
                if number == CLOSED_WARM_UP {
                    from = Some((now.at, now.succeeded));
                } else if let Some((since, before)) = from {
                    throughput = Rate::of(now.succeeded - before, now.at.since(since));
                    if number >= CLOSED_ENOUGH && throughput < best * FAR_BELOW {
                        return ControlFlow::Break(());
                    }
                }
            }
            // Answers that come after the end would only prolong the step.
            if number >= CLOSED_LOOKS || finished {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        })?;
        let response_time =
            measured.response.quantile(Quantile::P50).map_or(Duration::ZERO, |median| median.at);
        Ok((Measured { concurrency, throughput, response_time }, measured))
    }

    /// Runs a trial until its judge decides. To prove an overload it goes on until requests wait for longer than the
    /// goal's bound, or its length is over.
    pub fn trial(
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
        let disturbed_by = disturbance(goal, &trial, verdict, &last, &measured).map(|what| {
            verdict = Verdict::Disturbed;
            let busy = Processes::now().busiest_since(&before, BUSY_NAMED);
            let busy: Vec<String> = busy.iter().map(ToString::to_string).collect();
            if busy.is_empty() { what } else { format!("{what}; meanwhile {}", busy.join(", ")) }
        });
        // A proof goes on after the verdict.
        let ran = measured.elapsed.min(trial.length);
        let outcome = TrialOutcome { ran, ..TrialOutcome::of(trial, &judge, verdict) };
        Ok((Judged { outcome, disturbed_by }, measured))
    }

    /// Waits until a few lone requests are answered well and in calm time again, for at most `most`; says whether they
    /// were.
    pub fn cool_down(&self, calm: Duration, most: Duration) -> Result<bool, Halt> {
        let begun = Instant::now();
        let band = calm * 3 / 2 + CALM_SLACK;
        while begun.elapsed() < most.min(COOL_DOWN_MAX) {
            let measured = self.probe(PROBES, COOL_DOWN_MAX)?;
            let median = measured.response.quantile(Quantile::P50).filter(|median| !median.censored);
            let well = measured.statuses.keys().all(|status| (200..400).contains(status));
            if well
                && measured.accounting.answered == PROBES
                && median.is_some_and(|median| median.at <= band)
            {
                return Ok(true);
            }
            self.story.waiting("waiting until the service is calm");
            std::thread::sleep(COOL_DOWN_PAUSE);
        }
        Ok(false)
    }

    /// Offers `rate` at once, and measures when the goal holds again.
    pub fn recovery(
        &self,
        goal: &Goal,
        rate: Rate,
        mut show: impl FnMut(&Progress),
    ) -> Result<(Recovery, Measurement), Halt> {
        let window = rate.interval().map_or(RECOVERY_MAX, |gap| gap * RECOVERY_REQUESTS);
        let window = window.clamp(Duration::from_secs(1), RECOVERY_MAX / 4);
        let looks = Looks::new(goal, window / RECOVERY_LOOKS);
        let mut after = None;
        let mut history: Vec<control::search::Progress> = vec![Default::default()];
        let plan = self.open(rate, RECOVERY_MAX);
        let measured = self.run(plan, &looks.watch, |number, now, finished| {
            show(now);
            let progress = seen(goal, &looks, number, now);
            if let Some(before) = history.len().checked_sub(RECOVERY_LOOKS as usize)
                && held_between(goal, &history[before], &progress)
            {
                after = Some(history[before].elapsed);
                return ControlFlow::Break(());
            }
            history.push(progress);
            if finished || progress.elapsed >= RECOVERY_MAX {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        })?;
        Ok((Recovery { rate, after, limit: RECOVERY_MAX }, measured))
    }
}

/// What came of a trial.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    /// The verdict.
    pub outcome: TrialOutcome,
    /// What disturbed it; `None` where nothing did.
    pub disturbed_by: Option<String>,
}

impl Judged {
    /// The verdict in words, with what disturbed it.
    pub fn verdict(&self) -> String {
        match &self.disturbed_by {
            Some(what) => format!("disturbed: {what}"),
            None => self.outcome.verdict.to_string(),
        }
    }
}

/// How the generator's own machine may have made this verdict; `None` where it did not.
///
/// Being late only makes a service look worse: response times count from when requests were due, and those that leave
/// late leave together. A good trial is good all the same, unless some of its requests were never sent. And where answers
/// with 4xx and 5xx alone are too many, some milliseconds made none of them.
fn disturbance(
    goal: &Goal,
    trial: &Trial,
    verdict: Verdict,
    last: &Progress,
    measured: &Measurement,
) -> Option<String> {
    let reasons = &measured.validity.reasons;
    let unsent = reasons.iter().find(|reason| matches!(reason, Reason::OutOfResources { .. }));
    if let Some(reason) = unsent {
        return Some(reason.to_string());
    }
    if matches!(verdict, Verdict::Good(_)) {
        return None;
    }
    let bound = goal.shortest_bound().unwrap_or(LAG_FLOOR);
    if let Some(reason) = reasons.iter().find(|reason| matches!(reason, Reason::GeneratorBusy { .. })) {
        return Some(reason.to_string());
    }
    if last.longest_stall > bound.max(trial.length / STALL) {
        return Some(format!("this machine stood still for {}", show_duration(last.longest_stall)));
    }
    let all = (trial.rate * trial.length).max(last.accounting.scheduled as f64);
    let refused = last.accounting.answered.saturating_sub(last.succeeded) as f64;
    let mut conditions = goal.conditions().iter();
    if conditions.any(|each| matches!(each, Condition::Failed { .. }) && refused > each.allowed() * all) {
        return None;
    }
    (last.lag > LAG_FLOOR.max(bound / LAG))
        .then(|| format!("requests left up to {} late at p99", show_duration(last.lag)))
}

/// Ctrl-C is noticed within this time.
const NAP: Duration = Duration::from_millis(25);
/// Looks at a probe are short: it is over as soon as it is answered.
const PROBE_LOOK: Duration = Duration::from_millis(5);
/// So many processes are named where one of them may have disturbed a trial.
const BUSY_NAMED: usize = 3;
/// Looks in a closed-loop step.
const CLOSED_LOOKS: u32 = 40;
/// Looks in which connections are opened and queues fill up, before throughput counts.
const CLOSED_WARM_UP: u32 = 8;
/// Looks after which a step that brings far less may end.
const CLOSED_ENOUGH: u32 = 20;
/// A step that brings less than this share of the best is on its way down.
const FAR_BELOW: f64 = 0.75;
/// Probes in a row.
const PROBES: u64 = 3;
/// A calm service may be slower than its median by half of it and this.
const CALM_SLACK: Duration = Duration::from_millis(5);
/// Between two attempts to find the service calm.
const COOL_DOWN_PAUSE: Duration = Duration::from_millis(100);
/// A service that is not calm after this will not become so by itself.
const COOL_DOWN_MAX: Duration = Duration::from_secs(60);
/// How long a recovery is waited for.
const RECOVERY_MAX: Duration = Duration::from_secs(20);
/// Requests in the window in which the goal must hold again.
const RECOVERY_REQUESTS: u32 = 40;
/// Looks in that window.
const RECOVERY_LOOKS: u32 = 4;
/// A loop that is up to this late at p99 is on time.
const LAG_FLOOR: Duration = Duration::from_millis(2);
/// A loop that is late by a tenth of the bound at p99 cannot make the verdict.
const LAG: u32 = 10;
/// A machine that stood still for a fiftieth of the trial can.
const STALL: u32 = 50;

#[cfg(test)]
mod tests {
    use super::*;
    use control::search::{Bad, Condition, Good, Purpose, Share};
    use measure::Accounting;
    use units::Ratio;

    #[test]
    fn refusals_of_the_service_are_not_made_by_requests_that_leave_a_little_late() {
        let goal = Goal::new(vec!["failed<1%".parse().unwrap()]).unwrap();
        let trial = Trial::new(Rate::per_second_of(100.0), Duration::from_secs(10), Purpose::Narrow);
        let share = Share { condition: goal.conditions()[0], missed: 11, of: 100 };
        let disturbed = |refused: u64, longest_stall| {
            let accounting = Accounting { scheduled: 100, answered: 100, ..Accounting::default() };
            let (lag, succeeded) = (Duration::from_millis(8), 100 - refused);
            let last = Progress { lag, longest_stall, accounting, succeeded, ..Progress::default() };
            let verdict = Verdict::Bad(Bad::BudgetSpent(share));
            disturbance(&goal, &trial, verdict, &last, &Measurement::default()).is_some()
        };
        assert!(!disturbed(11, Duration::from_millis(20)), "11 of 1,000 that may be sent, 10 may fail");
        assert!(disturbed(2, Duration::from_millis(20)), "the others failed otherwise");
        assert!(disturbed(11, Duration::from_millis(201)), "what waited so long comes in one heap");
    }

    #[test]
    fn what_only_makes_a_service_look_worse_disturbs_no_good_trial() {
        let condition = Condition::ResponseTime { quantile: Quantile::P95, below: Duration::from_millis(50) };
        let goal = Goal::new(vec![condition]).unwrap();
        let trial = Trial::new(Rate::per_second_of(100.0), Duration::from_secs(10), Purpose::Narrow);
        let share = Share { condition, missed: 0, of: 1_000 };
        let (good, bad) = (Verdict::Good(Good::FullLength(share)), Verdict::Bad(Bad::FullLength(share)));
        let ms = Duration::from_millis;
        let busy = Reason::GeneratorBusy { busy: Ratio::ONE };
        for (what, lag, longest_stall, reason, disturbs_good, disturbs_bad) in [
            ("nothing", ms(1), ms(20), None, false, false),
            ("late by more than a tenth of the bound", ms(6), ms(20), None, false, true),
            ("stood still for more than a fiftieth of the trial", ms(1), ms(201), None, false, true),
            ("no processor time left", ms(1), ms(20), Some(busy), false, true),
            (
                "requests that were not sent",
                ms(1),
                ms(20),
                Some(Reason::OutOfResources { count: 1 }),
                true,
                true,
            ),
        ] {
            let last = Progress { lag, longest_stall, ..Progress::default() };
            let validity = Validity::of(reason.into_iter().collect());
            let measured = Measurement { validity, ..Measurement::default() };
            let of = |verdict| disturbance(&goal, &trial, verdict, &last, &measured).is_some();
            assert_eq!((of(good), of(bad)), (disturbs_good, disturbs_bad), "{what}");
        }
    }
}
