//! Guard rails: what of a policy's decision is carried out.
//!
//! A policy that was simulated may still meet metrics that stop, a person who changes the size by hand, or a goal that
//! is missed with fewer instances than the model needed. The guard stands between the [`Verdict`](super::controller::Verdict)
//! of a controller and the target. It never adds an opinion of its own, with two exceptions: the bounds, and the way
//! back from a scale-in that turned out to be too much.
//!
//! ## The order
//! Kill switch, pause, a size that was set by hand, the way back (rollback); then the policy's request, limited by
//! missing data, the bounds, the size of a step and the rate of change. The first rule that applies is the reason.

mod reason;
mod rollback;

pub use reason::Reason;

use alloc::collections::VecDeque;
use core::time::Duration;
use rollback::Rollback;
use units::Timestamp;

/// The settings of a guard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuardSettings {
    /// Never fewer instances.
    pub min: u32,
    /// Never more instances; at least the minimum.
    pub max: u32,
    /// The most instances that one decision adds; none: no bound.
    pub step_out: Option<u32>,
    /// The most instances that one decision removes; none: no bound.
    pub step_in: Option<u32>,
    /// The most changes within a time; none: no bound.
    pub rate: Option<ChangeRate>,
    /// Whether a policy may remove instances while its metrics are stale, missing or contradicting.
    pub scale_in_without_data: bool,
    /// How long a size that somebody else set is left as it is.
    pub by_hand: Duration,
    /// The least time from one rollback to the next, in which nothing is removed; none: no rollback.
    pub rollback: Option<Duration>,
}

/// A bound on the instances that are added and removed within a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChangeRate {
    /// Instances, added and removed ones together.
    pub instances: u32,
    /// The time.
    pub within: Duration,
}

impl GuardSettings {
    /// Bounds, a rollback at most every ten minutes, 15 minutes for sizes set by hand, and no other limit.
    pub const fn new(min: u32, max: u32) -> Self {
        GuardSettings {
            min,
            max,
            step_out: None,
            step_in: None,
            rate: None,
            scale_in_without_data: false,
            by_hand: Duration::from_secs(15 * 60),
            rollback: Some(Duration::from_secs(10 * 60)),
        }
    }
}

/// Whether the metrics of a decision can be relied on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Data {
    /// All of them are of the last step.
    #[default]
    Fresh,
    /// The newest are older than they may be.
    Stale,
    /// A source has none.
    Missing,
    /// Two sources say what cannot both be true, or a counter runs backwards.
    Contradicting,
}

/// The facts of a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    /// When.
    pub now: Timestamp,
    /// The size of the target as it is.
    pub size: u32,
    /// The size that the policy requests, if it requests one.
    pub asked: Option<u32>,
    /// The quality of the metrics.
    pub data: Data,
    /// Whether the goal was held in the period that ended now; none: no period ended, or nothing was measured.
    pub goal_held: Option<bool>,
    /// Somebody paused the scaler.
    pub paused: bool,
    /// Somebody used the kill switch.
    pub killed: bool,
}

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ruling {
    /// The size as it is.
    pub from: u32,
    /// The size that the target is to have; the same where nothing changes.
    pub to: u32,
    /// The size that the policy requested.
    pub asked: Option<u32>,
    /// Why.
    pub reason: Reason,
}

impl Ruling {
    /// Whether the size changes.
    pub fn changes(&self) -> bool {
        self.from != self.to
    }

    /// Whether it is worth a line: it changes the size, or it keeps a policy's request from being carried out.
    pub fn is_told(&self) -> bool {
        self.changes()
            || (self.asked.is_some_and(|asked| asked != self.from) && self.reason != Reason::Policy)
    }
}

/// The guard of one target.
#[derive(Debug, Clone)]
pub struct Guard {
    settings: GuardSettings,
    /// The size that we set last; none until we set one.
    ours: Option<u32>,
    /// Since when the size is one that somebody else set, and which.
    by_hand: Option<(Timestamp, u32)>,
    /// Our changes within the time of the rate.
    changes: VecDeque<(Timestamp, u32)>,
    rollback: Rollback,
}

impl Guard {
    /// A guard without history. The bounds are put in order: a maximum below the minimum counts as the minimum.
    pub fn new(settings: GuardSettings) -> Self {
        let max = settings.max.max(settings.min);
        let rollback = Rollback::new(settings.rollback);
        let settings = GuardSettings { max, ..settings };
        Guard { settings, ours: None, by_hand: None, changes: VecDeque::new(), rollback }
    }

    /// Its settings.
    pub fn settings(&self) -> &GuardSettings {
        &self.settings
    }

    /// What is to be done. The caller calls [`Guard::applied`] once the target accepted it.
    pub fn rule(&mut self, facts: &Facts) -> Ruling {
        let Facts { now, size, asked, .. } = *facts;
        let to = |to: u32, reason: Reason| Ruling { from: size, to, asked, reason };
        self.look_for_hands(now, size);
        self.rollback.saw(facts);
        if facts.killed {
            return to(size, Reason::Killed);
        }
        if facts.paused {
            return to(size, Reason::Paused);
        }
        if let Some((since, _)) = self.by_hand {
            return to(size, Reason::ByHand { until: since + self.settings.by_hand });
        }
        if let Some(back) = self.rollback.wanted(now, size) {
            return to(self.bounded(back), Reason::RolledBack { held: back });
        }
        let wanted = asked.unwrap_or(size);
        let (wanted, mut reason) = match wanted.cmp(&size) {
            core::cmp::Ordering::Less => self.inwards(facts, wanted),
            core::cmp::Ordering::Greater => self.outwards(size, wanted),
            core::cmp::Ordering::Equal => (size, Reason::Policy),
        };
        let mut next = self.bounded(wanted);
        if next != wanted
            || (reason == Reason::Policy
                && next == size
                && asked.is_some_and(|asked| self.bounded(asked) != asked))
        {
            let GuardSettings { min, max, .. } = self.settings;
            let above = asked.unwrap_or(wanted) > max || wanted > max;
            reason = if above { Reason::Maximum { max } } else { Reason::Minimum { min } };
        }
        if let Some(left) = self.left(now).filter(|left| *left < next.abs_diff(size) && self.is_inside(size))
        {
            next = if next > size { size + left } else { size - left };
            reason = Reason::Rate { left };
        }
        to(next, reason)
    }

    /// What it holds back for a time, each with the end of that time.
    pub fn cooldowns(&self, now: Timestamp) -> impl Iterator<Item = (&'static str, Timestamp)> {
        let by_hand = self.by_hand.map(|(since, _)| ("any change", since + self.settings.by_hand));
        let after_rollback = self.rollback.holds_until(now).map(|until| ("scale in", until));
        [by_hand, after_rollback].into_iter().flatten()
    }

    /// The target accepted a change of its size.
    pub fn applied(&mut self, now: Timestamp, from: u32, to: u32) {
        self.ours = Some(to);
        self.by_hand = None;
        self.changes.push_back((now, from.abs_diff(to)));
        self.rollback.applied(now, from, to);
    }

    /// A size that we did not set is somebody's decision.
    fn look_for_hands(&mut self, now: Timestamp, size: u32) {
        let Some(ours) = self.ours else { return };
        match self.by_hand {
            Some((_, seen)) if seen == size => {}
            _ if size == ours => self.by_hand = None,
            _ => {
                self.by_hand = Some((now, size));
                self.rollback.forget();
            }
        }
        let respected = self.settings.by_hand;
        if self.by_hand.is_some_and(|(since, _)| now.since(since) >= respected) {
            (self.ours, self.by_hand) = (Some(size), None);
        }
    }

    fn inwards(&self, facts: &Facts, wanted: u32) -> (u32, Reason) {
        if facts.data != Data::Fresh && !self.settings.scale_in_without_data {
            return (facts.size, Reason::Data(facts.data));
        }
        if let Some(until) = self.rollback.holds_until(facts.now) {
            return (facts.size, Reason::AfterRollback { until });
        }
        match self.settings.step_in {
            Some(step) if facts.size - wanted > step => (facts.size - step, Reason::Step { most: step }),
            _ => (wanted, Reason::Policy),
        }
    }

    fn outwards(&self, size: u32, wanted: u32) -> (u32, Reason) {
        match self.settings.step_out {
            Some(step) if wanted - size > step => (size.saturating_add(step), Reason::Step { most: step }),
            _ => (wanted, Reason::Policy),
        }
    }

    fn bounded(&self, size: u32) -> u32 {
        size.clamp(self.settings.min, self.settings.max)
    }

    fn is_inside(&self, size: u32) -> bool {
        self.bounded(size) == size
    }

    /// How many instances may still be added or removed within the time of the rate.
    fn left(&mut self, now: Timestamp) -> Option<u32> {
        let ChangeRate { instances, within } = self.settings.rate?;
        while self.changes.front().is_some_and(|(at, _)| now.since(*at) >= within) {
            self.changes.pop_front();
        }
        Some(instances.saturating_sub(self.changes.iter().map(|(_, many)| *many).sum()))
    }
}

#[cfg(test)]
mod tests;
