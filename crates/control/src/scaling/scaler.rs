//! The scaler of one service: evaluates alarms, computes each policy's capacity, and selects the largest.

mod ask;

use super::cooldown::{Activity, Cooldowns, Direction};
use super::predictive::{Needed, PredictiveScaling};
use super::settings::Platform;
use super::{
    AlarmId, Cause, Decision, NotScaled, Outcome, Policy, PolicyId, ScalerSettings, ScalingError, Scheduled,
    Source,
};
use crate::alarm::{Alarm, Evaluation, State};
use crate::metric::Series;
use alloc::vec::Vec;
use ask::{Ask, largest};
use core::time::Duration;
use units::Timestamp;

/// The state of the instances when a scaler is stepped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Facts {
    /// Running instances: ECS's running tasks, EC2's instances in service.
    pub running: u32,
    /// The desired number.
    pub desired: u32,
    /// Instances that were launched and have not yet run for [`ScalerSettings::warm_up`]. EC2 only.
    pub warming_up: u32,
    /// Instances that are draining or terminating. EC2 only.
    pub terminating: u32,
    /// Whether a deployment is in progress. ECS only.
    pub deploying: bool,
}

/// Decides how many instances a service should have.
///
/// Stepped each minute (or more often, where alarms have periods below a minute). After its creation it allocates only
/// if one step has more decisions than any step before.
///
/// ```
/// use control::alarm::{AlarmSettings, Comparison};
/// use control::metric::{Detail, MetricId, Series, SeriesSettings, Statistic};
/// use control::scaling::{AlarmId, Facts, Platform, Policy, Scaler, ScalerSettings, StepScaling};
/// use std::time::Duration;
/// use units::Timestamp;
///
/// let (cpu, minute) = (MetricId(0), Duration::from_secs(60));
/// let mut settings = ScalerSettings::new(Platform::Ecs, 2, 10);
/// settings.alarms.push(AlarmSettings::new(cpu, Statistic::Average, minute, Comparison::GreaterThan, 60.0));
/// settings.policies.push(Policy::Step(StepScaling::of(vec![AlarmId(0)], 1)));
///
/// let history = settings.history(cpu);
/// let mut scaler = Scaler::new(settings).unwrap();
/// let detail = Detail::Summary;
/// let mut series = [Series::new(SeriesSettings { resolution: minute, history, delay: minute, detail })?];
///
/// series[0].record(Timestamp::from_secs(0), 75.0);
/// let facts = Facts { running: 4, desired: 4, ..Facts::default() };
/// let decisions = scaler.step(Timestamp::from_secs(120), &series, &facts);
/// assert_eq!((decisions[0].from, decisions[0].to), (4, 5));
/// assert_eq!(
///     decisions[0].to_string(),
///     "monitor alarm 0 in state ALARM triggered policy 0 (75 is +15 past 60: +1), changing the desired capacity \
///      from 4 to 5"
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Scaler {
    settings: ScalerSettings,
    min: u32,
    max: u32,
    alarms: Vec<Alarm>,
    /// The last evaluation of each alarm.
    evaluations: Vec<Option<Evaluation>>,
    /// The first of each target tracking policy's two alarms.
    tracked: Vec<usize>,
    cooldowns: Cooldowns,
    /// What predictive scaling needs now.
    foreseen: Option<(PolicyId, Needed)>,
    /// The last simple scaling, until its cooldown is over.
    simple: Option<Settling>,
    /// The scheduled actions in the order of time, with their index in the settings.
    agenda: Vec<(u16, Scheduled)>,
    next_scheduled: usize,
    stepped: Option<Timestamp>,
    asks: Vec<Ask>,
    decisions: Vec<Decision>,
}

/// A simple scaling that is not over.
#[derive(Debug, Clone, Copy)]
struct Settling {
    in_progress: bool,
    /// When an instance last started or ended.
    last: Timestamp,
    cooldown: Duration,
}

impl Scaler {
    /// A scaler without history.
    ///
    /// # Errors
    /// Every problem of the settings.
    pub fn new(settings: ScalerSettings) -> Result<Self, Vec<ScalingError>> {
        let problems = settings.problems();
        if !problems.is_empty() {
            return Err(problems);
        }
        let all = settings.all_alarms();
        let mut first = settings.alarms.len();
        let tracked = settings.policies.iter().map(|policy| {
            let mine = first;
            first += if matches!(policy, Policy::TargetTracking(_)) { 2 } else { 0 };
            mine
        });
        let tracked = tracked.collect();
        let mut alarms = Vec::with_capacity(all.len());
        for alarm in &all {
            alarms.push(Alarm::new(*alarm).map_err(|error| {
                let alarm = AlarmId(alarms.len() as u16);
                alloc::vec![ScalingError::Alarm { alarm, error }]
            })?);
        }
        let mut agenda: Vec<(u16, Scheduled)> = (0..).zip(settings.scheduled.iter().copied()).collect();
        agenda.sort_by_key(|(_, scheduled)| scheduled.at);
        let policies = settings.policies.len();
        Ok(Scaler {
            min: settings.min,
            max: settings.max,
            evaluations: alloc::vec![None; alarms.len()],
            alarms,
            tracked,
            cooldowns: Cooldowns::new(settings.cooldown_scope, settings.cooldown_from, policies),
            foreseen: None,
            simple: None,
            agenda,
            next_scheduled: 0,
            stepped: None,
            asks: Vec::with_capacity(policies),
            decisions: Vec::with_capacity(policies + 2),
            settings,
        })
    }

    /// Its settings.
    pub fn settings(&self) -> &ScalerSettings {
        &self.settings
    }

    /// The current minimum and maximum: scheduled actions change them, and forecasts raise them.
    pub fn bounds(&self) -> (u32, u32) {
        let Some((_, needed)) = self.foreseen else { return (self.min, self.max) };
        let max = self.max.max(needed.raised_max.unwrap_or(0));
        (self.min.max(needed.capacity.min(max)), max)
    }

    /// What the forecasts of its predictive policies need from now on: the largest of all.
    pub fn foresee(&mut self, needed: impl IntoIterator<Item = (PolicyId, Needed)>) {
        let needed = needed.into_iter();
        self.foreseen =
            needed.reduce(|one, other| if other.1.capacity > one.1.capacity { other } else { one });
    }

    /// The state of an alarm.
    ///
    /// # Panics
    /// If there is no such alarm.
    pub fn alarm(&self, id: AlarmId) -> &Alarm {
        &self.alarms[usize::from(id.0)]
    }

    /// The alarms of a policy, including those that target tracking creates.
    pub fn alarms_of(&self, id: PolicyId) -> impl Iterator<Item = AlarmId> {
        let policy = self.settings.policies.get(usize::from(id.0));
        let first = self.tracked.get(usize::from(id.0)).copied().unwrap_or(0) as u16;
        let (own, made) = match policy {
            Some(Policy::TargetTracking(_)) => (&[][..], first..first + 2),
            Some(policy) => (policy.alarms(), 0..0),
            None => (&[][..], 0..0),
        };
        own.iter().copied().chain(made.map(AlarmId))
    }

    /// The directions in which a policy is held back, each with the end of that time; none while its change is in
    /// progress.
    pub fn cooldowns_of(&self, id: PolicyId) -> impl Iterator<Item = (&'static str, Option<Timestamp>)> {
        let simple = matches!(self.settings.policies.get(usize::from(id.0)), Some(Policy::Simple(_)));
        let settling = self.simple.filter(|_| simple).map(|settling| {
            let until = (!settling.in_progress).then_some(settling.last + settling.cooldown);
            ("simple scaling", until)
        });
        let of = |name, direction| self.cooldowns.holding(id, direction).map(|held| (name, held.ends));
        [of("scale out", Direction::Out), of("scale in", Direction::In), settling].into_iter().flatten()
    }

    /// The scheduled actions that are still to come, the next one first, with their index in the settings.
    pub fn upcoming(&self) -> impl Iterator<Item = (u16, Scheduled)> {
        let suspended = self.settings.suspended.scheduled_scaling;
        self.agenda.iter().skip(self.next_scheduled).copied().filter(move |_| !suspended)
    }

    /// The alarms that were evaluated in the last step.
    pub fn evaluations(&self) -> impl Iterator<Item = (AlarmId, &Evaluation)> {
        let fresh = |found: &&Evaluation| Some(found.at) == self.stepped;
        (0..)
            .map(AlarmId)
            .zip(&self.evaluations)
            .filter_map(move |(id, found)| found.as_ref().filter(fresh).map(|found| (id, found)))
    }

    /// Reads the metrics and decides. `series` are the metrics in the order of their ids.
    ///
    /// Decisions that scaled are to be applied in their order; the last one is final.
    pub fn step(&mut self, now: Timestamp, series: &[Series], facts: &Facts) -> &[Decision] {
        self.stepped = Some(now);
        self.decisions.clear();
        self.cooldowns.observe(now, facts.running);
        self.settle(now, facts);
        let scheduled = self.happens(now, facts.desired);
        let foreseen = self.follow_forecast(now, scheduled);
        let desired = self.keep_within_bounds(now, foreseen);
        for (alarm, last) in self.alarms.iter_mut().zip(&mut self.evaluations) {
            if let Some(series) = series.get(usize::from(alarm.settings().metric.0))
                && let Some(found) = alarm.evaluate(now, series)
            {
                *last = Some(found);
            }
        }
        self.run_policies(now, &Facts { desired, ..*facts });
        &self.decisions
    }

    /// The desired count that the last step decided was not set, but `to`: somebody else limited it. With `to` as `from` nothing
    /// was scaled, and no cooldown runs for it.
    pub fn was_limited(&mut self, from: u32, to: u32) {
        let Some(decided) = self.stepped else { return };
        self.cooldowns.was_limited(decided, from, to);
        if from == to {
            self.simple = self.simple.filter(|settling| settling.last != decided);
        }
    }

    /// Scales out to what a forecast needs; returns the desired count after it.
    fn follow_forecast(&mut self, now: Timestamp, desired: u32) -> u32 {
        let Some((policy, needed)) = self.foreseen else { return desired };
        let to = needed.capacity.min(self.bounds().1);
        let Policy::Predictive(PredictiveScaling { target, .. }) =
            self.settings.policies[usize::from(policy.0)]
        else {
            return desired;
        };
        if to <= desired {
            return desired;
        }
        self.decisions.push(Decision {
            at: now,
            from: desired,
            to,
            asked: Some(i64::from(needed.capacity)),
            source: Source::Policy(policy),
            alarm: None,
            cause: Cause::Forecast { load: needed.load, target },
            outcome: Outcome::Scaled,
        });
        to
    }

    /// Whether the last simple scaling is still in progress or in its cooldown.
    fn settle(&mut self, now: Timestamp, facts: &Facts) {
        let Some(settling) = &mut self.simple else { return };
        settling.in_progress = facts.running != facts.desired || facts.terminating > 0;
        if settling.in_progress {
            settling.last = now;
        } else if now.since(settling.last) >= settling.cooldown {
            self.simple = None;
        }
    }

    /// Runs the scheduled actions whose time has come; returns the desired count after them.
    fn happens(&mut self, now: Timestamp, mut desired: u32) -> u32 {
        while let Some((index, action)) = self.agenda.get(self.next_scheduled).copied() {
            if action.at > now {
                break;
            }
            self.next_scheduled += 1;
            if self.settings.suspended.scheduled_scaling {
                continue;
            }
            (self.min, self.max) = action.bounds((self.min, self.max));
            let to = action.desired.unwrap_or(desired).clamp(self.min, self.max);
            let outcome = if to == desired {
                Outcome::NotScaled(NotScaled::AlreadyAtDesiredCapacity)
            } else {
                Outcome::Scaled
            };
            self.decisions.push(Decision {
                at: now,
                from: desired,
                to,
                asked: action.desired.map(i64::from),
                source: Source::Scheduled(index),
                alarm: None,
                cause: Cause::Scheduled { min: self.min, max: self.max },
                outcome,
            });
            desired = to;
        }
        desired
    }

    /// A group of EC2 is kept within its bounds at all times; Application Auto Scaling waits for an alarm.
    fn keep_within_bounds(&mut self, now: Timestamp, desired: u32) -> u32 {
        let (min, max) = self.bounds();
        let to = desired.clamp(min, max);
        if to != desired && self.is_ec2() {
            self.decisions.push(Decision {
                at: now,
                from: desired,
                to,
                asked: None,
                source: Source::Bounds,
                alarm: None,
                cause: Cause::Bounds { min, max },
                outcome: Outcome::Scaled,
            });
            return to;
        }
        desired
    }

    fn run_policies(&mut self, now: Timestamp, facts: &Facts) {
        let mut asks = core::mem::take(&mut self.asks);
        asks.clear();
        for (index, policy) in self.settings.policies.iter().enumerate() {
            let id = PolicyId(index as u16);
            match policy {
                Policy::Step(step) => {
                    let of = |alarm| self.ask_step(id, step, alarm, facts);
                    asks.extend(largest(self.triggering(&step.alarms, now).map(of)));
                }
                Policy::Simple(simple) => {
                    let of = |alarm| self.ask_simple(id, simple, alarm, facts);
                    asks.extend(largest(self.triggering(&simple.alarms, now).map(of)));
                }
                Policy::TargetTracking(tracking) => asks.extend(self.ask_tracking(now, id, tracking, facts)),
                // It has no alarm: see `follow_forecast`.
                Policy::Predictive(_) => {}
            }
        }
        let winner = asks
            .iter()
            .filter_map(|ask| ask.vote(facts.desired).map(|vote| (vote, ask)))
            .reduce(|best, next| if next.0 > best.0 { next } else { best })
            .map(|(_, ask)| *ask);
        for ask in &asks {
            let outcome = match (ask.answer, winner) {
                (Err(reason), _) => Outcome::NotScaled(reason),
                (Ok(_), Some(winner)) if winner.policy != ask.policy => {
                    Outcome::NotScaled(NotScaled::Outvoted { by: winner.policy })
                }
                (Ok(_), _) => Outcome::Scaled,
            };
            let to =
                if outcome == Outcome::Scaled { ask.answer.unwrap_or(facts.desired) } else { facts.desired };
            self.decisions.push(Decision {
                at: now,
                from: facts.desired,
                to,
                asked: ask.asked,
                source: Source::Policy(ask.policy),
                alarm: Some(ask.alarm),
                cause: ask.cause,
                outcome,
            });
        }
        if let Some(Ask { policy, direction, base, answer: Ok(to), cause, .. }) = winner {
            self.scaled(now, policy, direction, base, to, cause);
        }
        self.asks = asks;
    }

    /// Records the start of a cooldown.
    fn scaled(
        &mut self,
        now: Timestamp,
        policy: PolicyId,
        direction: Direction,
        base: u32,
        to: u32,
        cause: Cause,
    ) {
        let cooldown = match (&self.settings.policies[usize::from(policy.0)], direction) {
            (Policy::Simple(simple), _) => {
                let Platform::Ec2 { default_cooldown, .. } = self.settings.platform else { return };
                let cooldown = simple.cooldown.unwrap_or(default_cooldown);
                self.simple = Some(Settling { in_progress: true, last: now, cooldown });
                return;
            }
            (Policy::Predictive(_), _) => return,
            (Policy::Step(step), _) => step.cooldown(),
            (Policy::TargetTracking(tracking), Direction::Out) => tracking.scale_out_cooldown(),
            (Policy::TargetTracking(tracking), Direction::In) => tracking.scale_in_cooldown(),
        };
        // A change to the bounds is not a scaling of the policy: the policy continues from there at once.
        let to_bounds = matches!(cause, Cause::Bounds { .. });
        if !self.is_ec2() && !to_bounds {
            self.cooldowns.scaled(
                policy,
                direction,
                Activity { base, to, decided: now, cooldown, ends: None },
            );
        }
    }

    /// The alarms of a policy whose actions are invoked now.
    fn triggering<'a>(&'a self, alarms: &'a [AlarmId], now: Timestamp) -> impl Iterator<Item = AlarmId> + 'a {
        alarms.iter().copied().filter(move |alarm| self.is_invoked(*alarm, now))
    }

    fn is_invoked(&self, alarm: AlarmId, now: Timestamp) -> bool {
        self.last(alarm).is_some_and(|found| found.at == now && found.invoked && found.new == State::Alarm)
    }

    fn last(&self, alarm: AlarmId) -> Option<&Evaluation> {
        self.evaluations[usize::from(alarm.0)].as_ref()
    }

    fn newest(&self, alarm: AlarmId) -> Option<f64> {
        self.last(alarm)?.reason.newest().map(|datapoint| datapoint.value)
    }

    fn is_ec2(&self) -> bool {
        matches!(self.settings.platform, Platform::Ec2 { .. })
    }
}
