//! Samples in, decisions out: `control` with the memory that it needs. No clock, no socket, no file.

use crate::sample::{InstanceSample, Sample, Window};
use control::scaling::controller::{
    self, Controller, Fleet, Instances, Part as _, Policy, Shell, Span, Verdict, View, common_step, is_due,
};
use control::scaling::goal::{self, Period};
use control::scaling::guard::{Data, Facts, Guard, GuardSettings, Reason, Ruling};
use std::collections::BTreeMap;
use std::time::Duration;
use units::{InstanceCount, Quantile, Timestamp};

/// The goal of a period.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Goal {
    /// Which quantile.
    pub quantile: Quantile,
    /// The bound.
    pub below: Duration,
}

/// The decision of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decided {
    /// When.
    pub at: Timestamp,
    /// The policy's decision; empty where none was due.
    pub verdict: Verdict,
    /// What is to be done.
    pub ruling: Ruling,
    /// Whether the goal was held in the period that ended; none: no period ended, or nothing was measured.
    pub goal_held: Option<bool>,
}

impl Decided {
    /// Whether there is something to tell: a policy has decided or refused, or the guard has.
    pub fn is_told(&self) -> bool {
        !self.verdict.decisions.is_empty() || self.ruling.is_told()
    }
}

/// Controller and guard of one service.
#[derive(Debug)]
pub struct Brain {
    shell: Shell<Window>,
    metered: Metered,
    guard: Guard,
    goal: Option<Goal>,
    period: Duration,
    of_period: Window,
    step: Duration,
    /// The size that the service is to have.
    wanted: u32,
}

impl Brain {
    /// A brain at time zero with this many instances that serve.
    pub fn new(
        policy: &Policy,
        size: u32,
        guard: GuardSettings,
        goal: Option<Goal>,
        period: Duration,
    ) -> Self {
        let shell: Shell<Window> = Shell::new(Controller::new(policy, InstanceCount::new(size)));
        let step = common_step(common_step(shell.step(), period), LONGEST_STEP);
        Brain {
            shell,
            metered: Metered::default(),
            guard: Guard::new(guard),
            goal,
            period,
            of_period: Window::default(),
            step,
            wanted: size,
        }
    }

    /// The time from one sample to the next.
    pub fn step(&self) -> Duration {
        self.step
    }

    /// Why the policy decides nothing; empty if it does.
    pub fn refused(&self) -> &[String] {
        self.shell.controller().refused()
    }

    /// The size that the service is to have, for others that set it.
    ///
    /// It is kept until another one is decided, because they may take some time. While changes are stopped or a request is
    /// held back it stays as it is, and it does not fall while metrics are not reliable.
    pub fn wanted(&self) -> u32 {
        self.wanted
    }

    /// The state of the policies and the changes that they know of.
    pub fn view(&self, now: Timestamp) -> View {
        self.shell.controller().view(now)
    }

    /// What the guard holds back, each with its end.
    pub fn guard_cooldowns(&self, now: Timestamp) -> impl Iterator<Item = (&'static str, Timestamp)> {
        self.guard.cooldowns(now)
    }

    /// The bounds in force: those of the guard, and the policy's own maximum where that is lower.
    pub fn bounds(&self) -> (u32, u32) {
        let GuardSettings { min, max, .. } = *self.guard.settings();
        (min, self.shell.controller().max().map_or(max, |of_policy| of_policy.clamp(min, max)))
    }

    /// What the policies read, with the newest value of each.
    pub fn watched(&self) -> Vec<(String, Option<f64>)> {
        let names = self.shell.controller().watched();
        let mut values = Vec::with_capacity(names.len());
        self.shell.controller().seen(&mut values);
        let values = values.into_iter().chain(std::iter::repeat(None));
        names.into_iter().zip(values).collect()
    }

    /// Takes the sample of the next step.
    pub fn take(&mut self, sample: &Sample) -> Decided {
        let now = Timestamp::from_nanos(sample.at_ns);
        self.metered.take(sample);
        if sample.withdrawn {
            // Nobody else has changed it.
            self.guard.applied(now, sample.size, sample.size);
        }
        let mut window = Window::from(&sample.requests);
        let share = self.step.as_secs_f64() / self.period.as_secs_f64();
        self.of_period.add(&window, share);
        self.shell.add(&mut window, self.step);
        self.shell.read_fine(now, &mut self.metered);
        if Shell::<Window>::ends_minute(now) {
            self.shell.read_minute(now, &mut self.metered);
        }
        let verdict = self.shell.decide(now, &mut self.metered).map(|(_, verdict)| verdict);
        let goal_held = is_due(now, self.period).then(|| self.goal_held()).flatten();
        let facts = Facts {
            now,
            size: sample.size,
            asked: verdict.as_ref().and_then(|verdict| verdict.desired),
            data: sample.quality.into(),
            goal_held,
            paused: sample.paused,
            killed: sample.killed,
        };
        let (verdict, ruling) = (verdict.unwrap_or_default(), self.guard.rule(&facts));
        if facts.asked.is_some_and(|asked| asked != ruling.to) {
            self.shell.was_limited(ruling.from, ruling.to);
        }
        if let Some(wanted) = self.wants(&facts, &verdict, &ruling) {
            self.wanted = wanted;
        }
        Decided { at: now, verdict, ruling, goal_held }
    }

    /// Another size to have; none: that of before.
    fn wants(&self, facts: &Facts, verdict: &Verdict, ruling: &Ruling) -> Option<u32> {
        let Ruling { from, to, asked, reason } = *ruling;
        let bounded = matches!(reason, Reason::Minimum { .. } | Reason::Maximum { .. });
        let to = match asked {
            _ if ruling.changes() || verdict.keeps || bounded || asked == Some(to) => to,
            // Held back on the way out: at least those that are there are needed.
            Some(asked) if asked > from => to.max(self.wanted),
            _ => return None,
        };
        let unreliable = facts.data != Data::Fresh && !self.guard.settings().scale_in_without_data;
        let stays = facts.killed || facts.paused || unreliable && to < self.wanted;
        (!stays).then_some(to)
    }

    /// The target accepted a change of its size.
    pub fn applied(&mut self, at: Timestamp, from: u32, to: u32) {
        self.guard.applied(at, from, to);
    }

    fn goal_held(&mut self) -> Option<bool> {
        let Window { arrived, answered, errors, lost, in_flight, ref times, .. } = self.of_period;
        let period = Period { arrived, answered, errors, lost, in_system: in_flight, times };
        let held = self.goal.and_then(|goal| goal::is_held(goal.quantile, goal.below, &period));
        self.of_period.clear();
        held
    }
}

/// The instances with their meters.
#[derive(Debug, Default)]
struct Metered {
    size: u32,
    instances: Vec<InstanceSample>,
    /// By the number of the instance: fine, minute, coarse.
    meters: BTreeMap<u64, [Meter; 3]>,
    observed: Vec<controller::Instance>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Meter {
    used: f64,
    allotted: f64,
}

impl Metered {
    fn take(&mut self, sample: &Sample) {
        self.size = sample.size;
        self.instances.clone_from(&sample.instances);
        self.meters.retain(|id, _| sample.instances.iter().any(|one| one.id == *id));
        for one in &sample.instances {
            for meter in self.meters.entry(one.id).or_default() {
                meter.used += one.used;
                meter.allotted += one.allotted;
            }
        }
    }
}

impl Instances for Metered {
    fn fleet(&mut self, span: Span) -> Fleet<'_> {
        let Metered { size, instances, meters, observed } = self;
        observed.clear();
        observed.extend(instances.iter().map(|one| {
            let Meter { used, allotted } =
                meters.get(&one.id).map_or(Meter::default(), |meters| meters[place(span)]);
            controller::Instance {
                started: one.started_ns.map(Timestamp::from_nanos),
                ready_since: one.ready_ns.map(Timestamp::from_nanos),
                ending: one.ending,
                cores: one.cores,
                used,
                allotted,
                credits: None,
            }
        }));
        Fleet { desired: *size, deploying: false, instances: observed }
    }

    fn reset(&mut self, span: Span) {
        for meters in self.meters.values_mut() {
            meters[place(span)] = Meter::default();
        }
    }
}

const fn place(span: Span) -> usize {
    match span {
        Span::Fine => 0,
        Span::Minute => 1,
        Span::Coarse => 2,
    }
}

/// A size that was set by hand, a pause and a kill switch are seen at the next step.
const LONGEST_STEP: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests;
