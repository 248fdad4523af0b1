//! Pieces of load and what came of each: a probe, a closed-loop step, a trial, a cool-down, a recovery.
//!
//! ## Why a disturbed trial is known only at its end
//! On a shared machine any loop is late once in a while. What counts is whether the lateness could have made the
//! verdict: the share of late looks over the whole trial against the goal's own bound, not the first one seen.

use super::watched::{Looks, held_between, seen};
use crate::commands::load::workers;
use crate::live::Interrupts;
use ::load::{Arrivals, Connecting, Model, Plan, Progress, StartError, Target, Watch, start_watched};
use control::search::closed_loop::Measured;
use control::search::{Goal, Judge, Trial, TrialOutcome, Verdict};
use measure::{Measurement, Reason, Validity};
use std::num::NonZeroU32;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};
use units::{Quantile, Rate};

/// Why the search cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum Halt {
    /// The user wants it to end.
    #[error("interrupted")]
    Interrupted,
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

    /// A few requests one after the other.
    pub fn probe(&self, requests: u64) -> Result<Measurement, Halt> {
        let model = Model::closed(NonZeroU32::MIN);
        let plan = Plan { requests: Some(requests), ..self.plan(model, None) };
        let every = Watch { every: PROBE_LOOK, ..Watch::default() };
        self.run(
            plan,
            &every,
            |_, _, finished| {
                if finished { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            },
        )
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
    ) -> Result<(TrialOutcome, Measurement), Halt> {
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
        if disturbed(goal, &trial, verdict, &last, &measured) {
            verdict = Verdict::Disturbed;
        }
        // A proof goes on after the verdict.
        let ran = measured.elapsed.min(trial.length);
        Ok((TrialOutcome { ran, ..TrialOutcome::of(trial, &judge, verdict) }, measured))
    }

    /// Waits until a few lone requests are answered in calm time again; says whether they were.
    pub fn cool_down(&self, calm: Duration) -> Result<bool, Halt> {
        let begun = Instant::now();
        let band = calm * 3 / 2 + CALM_SLACK;
        while begun.elapsed() < COOL_DOWN_MAX {
            let measured = self.probe(PROBES)?;
            let median = measured.response.quantile(Quantile::P50).filter(|median| !median.censored);
            if measured.accounting.answered == PROBES && median.is_some_and(|median| median.at <= band) {
                return Ok(true);
            }
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

/// Whether the generator's own machine may have made this verdict.
///
/// Being late only makes a service look worse: response times count from when requests were due, and those that leave
/// late leave together. A good trial is good all the same, unless some of its requests were never sent.
fn disturbed(goal: &Goal, trial: &Trial, verdict: Verdict, last: &Progress, measured: &Measurement) -> bool {
    let reasons = &measured.validity.reasons;
    let unsent = reasons.iter().any(|reason| matches!(reason, Reason::OutOfResources { .. }));
    if matches!(verdict, Verdict::Good(_)) {
        return unsent;
    }
    let bound = goal.shortest_bound().unwrap_or(LAG_FLOOR);
    let busy = reasons.iter().any(|reason| matches!(reason, Reason::GeneratorBusy { .. }));
    let stalled = last.longest_stall > bound.max(trial.length / STALL);
    unsent || busy || stalled || last.lag > LAG_FLOOR.max(bound / LAG)
}

/// Ctrl-C is noticed within this time.
const NAP: Duration = Duration::from_millis(25);
/// Looks at a probe are short: it is over as soon as it is answered.
const PROBE_LOOK: Duration = Duration::from_millis(5);
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
    use units::Ratio;

    #[test]
    fn what_only_makes_a_service_look_worse_disturbs_no_good_trial() {
        let condition = Condition::ResponseTime { quantile: Quantile::P95, below: Duration::from_millis(50) };
        let goal = Goal::new(vec![condition]).unwrap();
        let trial = Trial {
            rate: Rate::per_second_of(100.0),
            length: Duration::from_secs(10),
            purpose: Purpose::Narrow,
        };
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
            let of = |verdict| disturbed(&goal, &trial, verdict, &last, &measured);
            assert_eq!((of(good), of(bad)), (disturbs_good, disturbs_bad), "{what}");
        }
    }
}
