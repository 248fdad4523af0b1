//! The bounds, and when the last pod may be removed.
//!
//! ```text
//! activating   pods are wanted, and not enough are ready
//! active       enough are ready; after a stable window, a wanted count of zero makes it inactive
//! inactive     the activator takes the requests; after the grace period (and the retention) the last pod is removed
//! ```
//! A revision that just became active keeps one pod for the rest of its stable window, regardless of the wanted count.

use super::settings::KnativeSettings;
use core::fmt;
use units::{InstanceCount, Timestamp};

/// The state of a revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activity {
    /// It starts.
    Activating,
    /// It serves, since this time.
    Active(Timestamp),
    /// It gets no traffic, since this time.
    Inactive(Timestamp),
}

/// The count to apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Applied {
    /// The number of pods before.
    pub from: InstanceCount,
    /// The number of pods from now on.
    pub to: InstanceCount,
    /// Why it differs from the wanted count; `None` where it does not.
    pub hold: Option<Hold>,
    /// The state of the revision afterwards.
    pub activity: Activity,
}

/// Why a count differs from the wanted one, in Knative's words where it has any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hold {
    /// There was no data.
    NoData,
    /// The bounds.
    Bounds {
        /// What was wanted.
        wanted: InstanceCount,
        /// What the bounds allow.
        to: InstanceCount,
    },
    /// None is wanted, but the last pod is never removed.
    ScaleToZeroDisabled,
    /// None is wanted, but the revision is still starting.
    Activating,
    /// None is wanted, but it has not been active for a stable window.
    Sleeping,
    /// None is wanted, and it becomes inactive.
    Deactivating,
    /// None is wanted, but the grace period or the retention is not over.
    Grace,
}

impl fmt::Display for Hold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Hold::NoData => f.write_str("No data to scale on yet"),
            Hold::Bounds { wanted, to } => write!(
                f,
                "Adjusting desiredScale to meet the min and max bounds before applying: {wanted} -> {to}"
            ),
            Hold::ScaleToZeroDisabled => f.write_str("enable-scale-to-zero is false"),
            Hold::Activating => {
                f.write_str("Requests to the target are being buffered as resources are provisioned.")
            }
            Hold::Sleeping => f.write_str("Sleeping additionally before can scale to 0"),
            Hold::Deactivating => f.write_str("Can deactivate PA"),
            Hold::Grace => f.write_str("The target is not receiving traffic."),
        }
    }
}

#[derive(Debug, Clone)]
pub(super) struct Zero {
    applied: InstanceCount,
    activity: Activity,
    /// Whether the initial scale was reached once.
    initialized: bool,
}

impl Zero {
    pub(super) fn new(now: Timestamp, ready: InstanceCount) -> Self {
        let activity = if ready.get() > 0 { Activity::Active(now) } else { Activity::Activating };
        Zero { applied: ready, activity, initialized: false }
    }

    pub(super) fn at_zero(&self) -> bool {
        self.applied.get() == 0
    }

    pub(super) fn apply(
        &mut self,
        now: Timestamp,
        settings: &KnativeSettings,
        ready: InstanceCount,
        wanted: Option<InstanceCount>,
    ) -> Applied {
        let from = self.applied;
        let (to, hold) = match wanted {
            None => (from, Some(Hold::NoData)),
            Some(wanted) => self.within(now, settings, ready, wanted),
        };
        self.applied = to;
        self.note(now, settings, ready, hold);
        Applied { from, to, hold, activity: self.activity }
    }

    fn within(
        &mut self,
        now: Timestamp,
        settings: &KnativeSettings,
        ready: InstanceCount,
        wanted: InstanceCount,
    ) -> (InstanceCount, Option<Hold>) {
        let mut min = settings.min;
        self.initialized |= ready >= settings.initial_scale;
        if settings.initial_scale.get() > 1 && !self.initialized && settings.reachable {
            min = min.max(settings.initial_scale);
        }
        let mut to = wanted.max(min);
        if let Some(max) = settings.max {
            // A revision that starts may be above its bound, as upstream.
            to = to.min(max.max(min));
        }
        let bounds = (to != wanted).then_some(Hold::Bounds { wanted, to });
        if to.get() > 0 {
            return (to, bounds);
        }
        let one = InstanceCount::new(1);
        let Some(zero) = settings.scale_to_zero else { return (one, Some(Hold::ScaleToZeroDisabled)) };
        match self.activity {
            Activity::Activating => (self.applied, Some(Hold::Activating)),
            Activity::Active(since) if now.since(since) < settings.stable_window => {
                (one, Some(Hold::Sleeping))
            }
            Activity::Active(_) => (self.applied, Some(Hold::Deactivating)),
            Activity::Inactive(since) if now.since(since) < zero.grace.max(zero.retention) => {
                (self.applied, Some(Hold::Grace))
            }
            Activity::Inactive(_) => (to, bounds),
        }
    }

    /// Updates the state of the revision after a decision.
    fn note(&mut self, now: Timestamp, settings: &KnativeSettings, ready: InstanceCount, hold: Option<Hold>) {
        if let Some(Hold::NoData) = hold {
            return;
        }
        let nothing_wanted =
            self.applied.get() == 0 || matches!(hold, Some(Hold::Deactivating | Hold::Grace));
        let enough = ready >= settings.min.max(InstanceCount::new(1));
        self.activity = match self.activity {
            inactive @ Activity::Inactive(_) if nothing_wanted => inactive,
            _ if nothing_wanted => Activity::Inactive(now),
            active @ Activity::Active(_) if enough => active,
            _ if enough => Activity::Active(now),
            _ => Activity::Activating,
        };
    }
}
