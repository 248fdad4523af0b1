//! Cooldowns of Application Auto Scaling: the time after a scaling in which a policy is held back.
//!
//! ## Scaling out
//! The last scale-out counts: during its cooldown, changes are relative to the capacity before it. So the same step
//! again requests the present capacity, and a larger step adds the difference. A scale-in in between does not end the
//! cooldown: only a capacity above that of the last scale-out is larger.
//!
//! ## Scaling in
//! No scale-in happens during a scale-in cooldown; a scale-out ends the cooldown at once.
//!
//! Follows the user guide, *Step scaling policies: cooldown period*.

use super::PolicyId;
use super::settings::{CooldownFrom, CooldownScope};
use alloc::vec;
use alloc::vec::Vec;
use core::time::Duration;
use units::Timestamp;

/// A direction of scaling.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Out,
    In,
}

/// A change with a cooldown that is not over.
#[derive(Debug, Clone, Copy)]
pub(super) struct Activity {
    /// The capacity before it.
    pub(super) base: u32,
    /// The capacity that it set.
    pub(super) to: u32,
    pub(super) decided: Timestamp,
    pub(super) cooldown: Duration,
    /// When its cooldown ends; none while it is in progress.
    pub(super) ends: Option<Timestamp>,
}

#[derive(Debug, Clone)]
pub(super) struct Cooldowns {
    from: CooldownFrom,
    /// One for all policies, or one for each.
    slots: Vec<Slot>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Slot {
    out: Option<Activity>,
    into: Option<Activity>,
}

impl Cooldowns {
    pub(super) fn new(scope: CooldownScope, from: CooldownFrom, policies: usize) -> Self {
        let slots = if scope == CooldownScope::Target { 1 } else { policies.max(1) };
        Cooldowns { from, slots: vec![Slot::default(); slots] }
    }

    /// Ends cooldowns that are over, and starts the cooldown of fulfilled changes.
    pub(super) fn observe(&mut self, now: Timestamp, running: u32) {
        for slot in &mut self.slots {
            let Slot { out, into } = slot;
            for (activity, done) in [
                (out, (|running, to| running >= to) as fn(u32, u32) -> bool),
                (into, |running, to| running <= to),
            ] {
                let Some(found) = activity else { continue };
                let overdue = now.since(found.decided) >= FULFILLED_WITHIN;
                if found.ends.is_none() && (done(running, found.to) || overdue) {
                    found.ends = Some(now + found.cooldown);
                }
                if found.ends.is_some_and(|ends| ends <= now) {
                    *activity = None;
                }
            }
        }
    }

    /// The change that holds a policy back in a direction.
    pub(super) fn holding(&self, policy: PolicyId, direction: Direction) -> Option<Activity> {
        let slot = &self.slots[usize::from(policy.0).min(self.slots.len() - 1)];
        match direction {
            Direction::Out => slot.out,
            Direction::In => slot.into,
        }
    }

    /// The capacity that was decided now was not set, but this one: the capacity before it, or one in between.
    pub(super) fn was_limited(&mut self, decided: Timestamp, from: u32, to: u32) {
        for slot in &mut self.slots {
            for activity in [&mut slot.out, &mut slot.into] {
                match activity.as_mut().filter(|found| found.decided == decided) {
                    Some(_) if from == to => *activity = None,
                    Some(found) => found.to = to,
                    None => {}
                }
            }
        }
    }

    /// A policy scaled.
    pub(super) fn scaled(&mut self, policy: PolicyId, direction: Direction, mut activity: Activity) {
        if self.from == CooldownFrom::Decision {
            activity.ends = Some(activity.decided + activity.cooldown);
        }
        for slot in &mut self.slots {
            match direction {
                Direction::Out => slot.into = None,
                // It does not end the other cooldown; a change that was still in progress is overridden.
                Direction::In => {
                    if let Some(out) = &mut slot.out {
                        out.ends.get_or_insert(activity.decided + out.cooldown);
                    }
                }
            }
        }
        let place = usize::from(policy.0).min(self.slots.len() - 1);
        let slot = &mut self.slots[place];
        match direction {
            Direction::Out => slot.out = Some(activity),
            Direction::In => slot.into = Some(activity),
        }
    }
}

/// See [`ScalerSettings::FULFILLED_WITHIN`](super::ScalerSettings::FULFILLED_WITHIN).
const FULFILLED_WITHIN: Duration = Duration::from_secs(600);
