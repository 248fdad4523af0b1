//! The capacity that each policy requests, before the policies are compared.

use super::super::cooldown::Direction;
use super::super::settings::Platform;
use super::super::{
    Adjustment, AlarmId, Cause, NotScaled, Policy, PolicyId, ScaleIn, SimpleScaling, StepScaling,
    TargetTracking,
};
use super::{Facts, Scaler, Settling};
use crate::alarm::State;
use units::Timestamp;

/// The request of a policy.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ask {
    pub(super) policy: PolicyId,
    pub(super) alarm: AlarmId,
    pub(super) cause: Cause,
    pub(super) asked: Option<i64>,
    /// The capacity that the change is relative to.
    pub(super) base: u32,
    pub(super) direction: Direction,
    pub(super) answer: Result<u32, NotScaled>,
}

impl Scaler {
    pub(super) fn ask_step(&self, id: PolicyId, step: &StepScaling, alarm: AlarmId, facts: &Facts) -> Ask {
        let settings = self.alarm(alarm).settings();
        let breaching = self.last(alarm).and_then(|found| found.reason.breaching());
        let value = breaching.map(|breaching| step.aggregation.of(breaching));
        let past = value.map_or(0.0, |value| value - settings.threshold);
        let found = step.find(past, settings.comparison);
        let chosen = found.map(|index| (index as u16, step.steps[index].change));
        let (threshold, adjustment) = (settings.threshold, step.adjustment);
        let cause = Cause::Step { value, threshold, step: chosen, adjustment };
        let Some((_, change)) = chosen else {
            let answer = Err(NotScaled::NoStep);
            return Ask { policy: id, alarm, cause, asked: None, base: 0, direction: Direction::In, answer };
        };
        let exact = step.adjustment == Adjustment::ExactCapacity;
        let direction = match exact {
            true if i64::from(change) > i64::from(facts.desired) => Direction::Out,
            false if change > 0 => Direction::Out,
            _ => Direction::In,
        };
        let base = self.base(id, direction, facts);
        let asked = step.apply(base, change);
        self.answer(
            Ask { policy: id, alarm, cause, asked: Some(asked), base, direction, answer: Ok(0) },
            facts,
        )
    }

    pub(super) fn ask_simple(
        &self,
        id: PolicyId,
        simple: &SimpleScaling,
        alarm: AlarmId,
        facts: &Facts,
    ) -> Ask {
        let base = facts.desired;
        let asked = simple.adjustment.apply(base, simple.change, simple.min_adjustment_magnitude);
        let direction = if asked > i64::from(base) { Direction::Out } else { Direction::In };
        let cause = Cause::Simple { change: simple.change, adjustment: simple.adjustment };
        let ask = Ask { policy: id, alarm, cause, asked: Some(asked), base, direction, answer: Ok(0) };
        match self.simple {
            Some(Settling { in_progress: true, .. }) => Ask { answer: Err(NotScaled::InProgress), ..ask },
            Some(Settling { last, cooldown, .. }) => {
                Ask { answer: Err(NotScaled::Cooldown { until: Some(last + cooldown) }), ..ask }
            }
            None => self.answer(ask, facts),
        }
    }

    pub(super) fn ask_tracking(
        &self,
        now: Timestamp,
        id: PolicyId,
        tracking: &TargetTracking,
        facts: &Facts,
    ) -> Option<Ask> {
        let first = self.tracked[usize::from(id.0)] as u16;
        let (high, low) = (AlarmId(first), AlarmId(first + 1));
        let (alarm, direction) = if self.is_invoked(high, now) {
            (high, Direction::Out)
        } else if self.is_invoked(low, now) && tracking.scale_in == ScaleIn::Enabled {
            (low, Direction::In)
        } else {
            return None;
        };
        let metric = self.newest(alarm);
        let cause = Cause::TargetTracking { metric, target: tracking.target };
        let base = self.base(id, direction, facts);
        let ask =
            Ask { policy: id, alarm, cause, asked: None, base, direction, answer: Err(NotScaled::NoData) };
        let Some(metric) = metric else { return Some(ask) };
        let asked = match direction {
            Direction::Out => Ok(tracking.capacity(base, metric)),
            Direction::In => self.all_scale_in(base),
        };
        Some(match asked {
            Err(reason) => Ask { answer: Err(reason), ..ask },
            Ok(asked) if direction == Direction::In && asked >= i64::from(base) => {
                Ask { asked: Some(asked), answer: Err(NotScaled::AnticipatedFlapping), ..ask }
            }
            Ok(asked) => self.answer(Ask { asked: Some(asked), ..ask }, facts),
        })
    }

    /// The capacity for scaling in on which all target tracking policies that may scale in agree: the largest that one
    /// of them needs.
    fn all_scale_in(&self, base: u32) -> Result<i64, NotScaled> {
        let mut most = 0;
        for (index, policy) in self.settings.policies.iter().enumerate() {
            let Policy::TargetTracking(tracking) = policy else { continue };
            if tracking.scale_in == ScaleIn::Disabled {
                continue;
            }
            let low = AlarmId(self.tracked[index] as u16 + 1);
            if self.alarm(low).state() != State::Alarm {
                return Err(NotScaled::NotReady { policy: PolicyId(index as u16) });
            }
            let metric = self.newest(low).ok_or(NotScaled::NoData)?;
            most = most.max(tracking.capacity(base, metric));
        }
        Ok(most)
    }

    /// The capacity that a change is relative to.
    fn base(&self, policy: PolicyId, direction: Direction, facts: &Facts) -> u32 {
        let Facts { running, desired, warming_up, terminating, .. } = *facts;
        let present = match (self.settings.platform, direction) {
            (Platform::Ecs, _) => running,
            (Platform::Application | Platform::Local, _) => desired,
            // Instances that are warming up were added already and are not in the metric yet.
            (Platform::Ec2 { .. }, Direction::Out) => desired.saturating_sub(warming_up),
            // Terminating instances still exist, so that a repeated step does not terminate more than it specifies.
            (Platform::Ec2 { .. }, Direction::In) => desired.saturating_add(terminating),
        };
        match direction {
            Direction::Out => self.cooldowns.holding(policy, direction).map_or(present, |held| held.base),
            Direction::In => present,
        }
    }

    /// The result for a requested capacity.
    fn answer(&self, ask: Ask, facts: &Facts) -> Ask {
        let Facts { desired, warming_up, deploying, .. } = *facts;
        let (min, max) = self.bounds();
        let asked = ask.asked.unwrap_or(i64::from(desired));
        let within = asked.clamp(i64::from(min), i64::from(max)) as u32;
        let held = self.cooldowns.holding(ask.policy, ask.direction);
        let cooling = held.map(|held| NotScaled::Cooldown { until: held.ends });
        let warming =
            (self.is_ec2() && warming_up > 0).then_some(NotScaled::WarmingUp { instances: warming_up });
        let simple = matches!(ask.cause, Cause::Simple { .. });
        let to_bounds = Ask { cause: Cause::Bounds { min, max }, ..ask };
        let no = |reason| Ask { answer: Err(reason), ..ask };
        match ask.direction {
            Direction::Out if self.settings.suspended.dynamic_scaling_out => no(NotScaled::Suspended),
            Direction::In if self.settings.suspended.dynamic_scaling_in => no(NotScaled::Suspended),
            Direction::Out if desired < min => Ask { answer: Ok(min), ..to_bounds },
            Direction::Out if within > desired && held.is_none_or(|held| within > held.to) => {
                Ask { answer: Ok(within), ..ask }
            }
            Direction::Out if desired >= max => no(NotScaled::AlreadyAtMaxCapacity { max }),
            Direction::Out => no(cooling.or(warming).unwrap_or(NotScaled::AlreadyAtDesiredCapacity)),
            Direction::In if desired < min => no(NotScaled::AlreadyAtMinCapacity { min }),
            Direction::In if deploying && self.settings.platform == Platform::Ecs => {
                no(NotScaled::Unscalable)
            }
            Direction::In if desired > max => Ask { answer: Ok(max), ..to_bounds },
            Direction::In if asked >= i64::from(desired) => no(NotScaled::AlreadyAtDesiredCapacity),
            Direction::In if within >= desired => no(NotScaled::AlreadyAtMinCapacity { min }),
            Direction::In => match cooling.or(warming.filter(|_| !simple)) {
                Some(reason) => no(reason),
                None => Ask { answer: Ok(within), ..ask },
            },
        }
    }
}

impl Ask {
    /// The capacity that counts when several policies are compared; none where it requests nothing.
    pub(super) fn vote(&self, desired: u32) -> Option<u32> {
        use NotScaled::{AlreadyAtDesiredCapacity, AlreadyAtMaxCapacity, Cooldown, WarmingUp};
        match (self.answer, self.direction) {
            (Ok(to), _) => Some(to),
            (
                Err(
                    AlreadyAtMaxCapacity { .. }
                    | AlreadyAtDesiredCapacity
                    | Cooldown { .. }
                    | WarmingUp { .. },
                ),
                Direction::Out,
            ) => Some(desired),
            (Err(_), _) => None,
        }
    }
}

/// For a policy with several alarms, the request with the largest capacity.
pub(super) fn largest(asks: impl Iterator<Item = Ask>) -> Option<Ask> {
    asks.reduce(|best, next| if next.asked > best.asked { next } else { best })
}
