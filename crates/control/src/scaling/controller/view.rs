//! What a controller can tell between its decisions: the state of each policy, and the changes that it knows of.
//!
//! ## Why a view
//! Most of the time an autoscaler does nothing, and its decisions do not say why. A screen shows this instead. It is read
//! from the state that decides, and decides nothing.

use alloc::string::String;
use alloc::vec::Vec;
use units::Timestamp;

/// The state of a controller.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct View {
    /// Its policies.
    pub policies: Vec<PolicyView>,
    /// The changes that are known beforehand, the next one first.
    pub upcoming: Vec<Upcoming>,
}

/// The state of a policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyView {
    /// Its name, as decisions have it.
    pub policy: String,
    /// The size that its last evaluation computed; none where it computes changes, or had no metrics.
    pub computed: Option<u32>,
    /// Its state, in the vendor's words.
    pub state: String,
    /// What it waits for.
    pub cooldowns: Vec<Cooldown>,
}

/// A time in which a policy does not change the size in a direction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cooldown {
    /// What it holds back, such as `scale out`.
    pub of: &'static str,
    /// Its end; none while its change is still in progress.
    pub until: Option<Timestamp>,
}

/// A change that is known beforehand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upcoming {
    /// When.
    pub at: Timestamp,
    /// The action or policy, by its name.
    pub policy: String,
    /// How it is known.
    pub kind: UpcomingKind,
    /// The minimum from then on, if it changes.
    pub min: Option<u32>,
    /// The maximum from then on, if it changes.
    pub max: Option<u32>,
    /// The size at that time, if it is set or predicted.
    pub size: Option<u32>,
}

/// How a change is known beforehand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UpcomingKind {
    /// By a schedule.
    Scheduled,
    /// By a forecast.
    Predicted,
}

impl UpcomingKind {
    /// A word for programs.
    pub const fn name(self) -> &'static str {
        match self {
            UpcomingKind::Scheduled => "scheduled",
            UpcomingKind::Predicted => "predicted",
        }
    }
}

#[cfg(test)]
mod tests;
