//! The loop of KEDA: activation and deactivation.
//!
//! Follows `pkg/scaling/executor/scale_scaledobjects.go` of KEDA, in the order of its cases.

use super::{Keda, Observation, Read, Trigger, whole_seconds};
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use units::{InstanceCount, Timestamp};

/// The result of one poll.
#[derive(Debug, Clone, PartialEq)]
pub struct Poll {
    /// The replicas before.
    pub from: InstanceCount,
    /// The replicas from now on; the same where nothing changes.
    pub to: InstanceCount,
    /// What was done, or why nothing was.
    pub action: Action,
    /// The triggers that are active, by their place in the settings.
    pub active: Vec<usize>,
    /// Whether a trigger has the value of the fallback.
    pub fallback: bool,
}

/// What a poll did, or why it did nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// A trigger is active: from zero or idle to at least the minimum.
    Activated,
    /// The same, because of an annotation.
    ForcedActivation,
    /// No trigger is active, and the cooldown is over: to idle or zero.
    Deactivated,
    /// No trigger is active, and there are fewer replicas than the minimum.
    RaisedToMinimum,
    /// Scaling is paused with a number of replicas.
    SetToPausedReplicas,
    /// Scaling is paused.
    Paused,
    /// It would be activated, but scaling out is paused.
    ScaleOutPaused,
    /// It would be deactivated, but scaling in is paused.
    ScaleInPaused,
    /// A trigger is active, and there is nothing to do.
    Active,
    /// A trigger is active and another one failed. The cooldown is not restarted.
    PartialTriggerError,
    /// No trigger is active, one failed, and there is no fallback: nothing changes.
    TriggerError,
    /// No trigger is active and one failed: nothing changes until the fallback.
    AwaitsFallback,
    /// No trigger is active, and the cooldown is not over.
    CoolingDown,
    /// No trigger is active, and there is nothing to do.
    Inactive,
}

impl Action {
    /// The reason in the words of KEDA's events and conditions where it has one.
    pub fn reason(self) -> &'static str {
        match self {
            Action::Activated | Action::ForcedActivation => "KEDAScaleTargetActivated",
            Action::Deactivated => "KEDAScaleTargetDeactivated",
            Action::RaisedToMinimum => "RaisedToMinReplicaCount",
            Action::SetToPausedReplicas | Action::Paused => "ScaledObjectPaused",
            Action::ScaleOutPaused => "ScaleOutPaused",
            Action::ScaleInPaused => "ScaleInPaused",
            Action::Active => "ScalerActive",
            Action::PartialTriggerError => "PartialTriggerError",
            Action::TriggerError => "TriggerError",
            Action::AwaitsFallback => "AwaitsFallback",
            Action::CoolingDown => "ScalerCooldown",
            Action::Inactive => "ScalerNotActive",
        }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Action::Activated => "triggers are active",
            Action::ForcedActivation => "activation is forced by annotation",
            Action::Deactivated => "no trigger is active, and the cooldown period is over",
            Action::RaisedToMinimum => {
                "no trigger is active, but there are fewer replicas than minReplicaCount"
            }
            Action::SetToPausedReplicas | Action::Paused => "scaling is paused by annotation",
            Action::ScaleOutPaused => "triggers are active, but scaling out is paused by annotation",
            Action::ScaleInPaused => "no trigger is active, but scaling in is paused by annotation",
            Action::Active => "triggers are active",
            Action::PartialTriggerError => "some triggers are active, and some failed",
            Action::TriggerError => "no trigger is active, and some failed; there is no fallback",
            Action::AwaitsFallback => "no trigger is active, and some failed; the fallback has not begun",
            Action::CoolingDown => "no trigger is active, and the cooldown period is not over",
            Action::Inactive => "no trigger is active",
        })
    }
}

impl Keda {
    /// Runs one poll; to be called each [`KedaSettings::polling_interval`](super::KedaSettings::polling_interval).
    ///
    /// The caller applies [`Poll::to`]: it is assumed to have been applied.
    pub fn poll(&mut self, now: Timestamp, seen: &Observation<'_>) -> Poll {
        let from = seen.spec_replicas;
        let mut poll = Poll { from, to: from, action: Action::Paused, active: Vec::new(), fallback: false };
        if let super::Pause::At(replicas) = self.settings.pause {
            poll.to = replicas;
            if replicas != from {
                poll.action = Action::SetToPausedReplicas;
            }
        }
        if self.settings.pause.is_whole() {
            return poll;
        }
        let mut failed = false;
        for trigger in 0..self.settings.triggers.len() {
            match self.read(now, trigger, seen) {
                Read::Value { active: true, .. } => poll.active.push(trigger),
                Read::Fallback(_) => {
                    poll.active.push(trigger);
                    poll.fallback = true;
                }
                Read::Failed => failed = true,
                Read::Value { active: false, .. } | Read::OfResource => {}
            }
        }
        // Without a trigger that KEDA reads, only the autoscaler decides.
        let only_resources = !self.settings.triggers.iter().any(Trigger::is_external);
        let active = !poll.active.is_empty() || only_resources;
        (poll.action, poll.to) = if active || self.settings.force_activation {
            self.activate(now, from, failed)
        } else {
            self.deactivate(now, from, failed)
        };
        poll
    }

    fn activate(&mut self, now: Timestamp, from: InstanceCount, failed: bool) -> (Action, InstanceCount) {
        let min = self.settings.active_min();
        if from.get() == 0 || self.settings.idle.is_some() && from < min {
            if self.settings.pause.scale_out() {
                return (Action::ScaleOutPaused, from);
            }
            self.last_active = Some(whole_seconds(now));
            let forced = self.settings.force_activation;
            let action = if forced { Action::ForcedActivation } else { Action::Activated };
            return (action, min.max(InstanceCount::new(1)));
        }
        if failed {
            return (Action::PartialTriggerError, from);
        }
        self.last_active = Some(whole_seconds(now));
        (Action::Active, from)
    }

    fn deactivate(&mut self, now: Timestamp, from: InstanceCount, failed: bool) -> (Action, InstanceCount) {
        let (idle, min) = (self.settings.idle, self.settings.active_min());
        match self.settings.fallback {
            Some(fallback) if failed && fallback.replicas != 0 => return (Action::AwaitsFallback, from),
            None if failed => return (Action::TriggerError, from),
            _ => {}
        }
        if idle.is_some_and(|idle| from > idle) || from.get() > 0 && min.get() == 0 {
            if self.settings.pause.scale_in() {
                (Action::ScaleInPaused, from)
            } else if self.has_cooled_down(now) {
                (Action::Deactivated, idle.unwrap_or(min))
            } else {
                (Action::CoolingDown, from)
            }
        } else if idle.is_none() && from < min {
            (Action::RaisedToMinimum, min)
        } else {
            (Action::Inactive, from)
        }
    }

    fn has_cooled_down(&self, now: Timestamp) -> bool {
        self.cools_down_until() < now
    }

    /// The reason of a poll in words, with the active triggers by their names in the autoscaler.
    pub fn poll_words(&self, poll: &Poll) -> String {
        let mut words = alloc::format!("{}: {}", poll.action.reason(), poll.action);
        let names: Vec<String> = (self.order.iter().zip(&self.hpa.settings().metrics))
            .filter(|(trigger, _)| poll.active.contains(trigger))
            .map(|(_, metric)| metric.name.to_string())
            .collect();
        if poll.action == Action::Activated {
            words += &alloc::format!(" ({})", names.join(", "));
        }
        words
    }
}
