//! Policy: limits that apply only while a service level class is not conforming.
//!
//! ## Why the limits remain for a full window without refusals
//! The account's rule lifts its limit with the last late response of the window. Under a long overload, that alternates
//! between ten good seconds and a collapse, because the limit itself made the responses good. While it refuses
//! requests, the overload is not over: so the limits are lifted only after a window in which nothing was shed.
//!
//! ## Why separate from the limits
//! A gate decides *when*, a limit decides *how much*. One owner calls the gate every 100 ms (a simulator may at each
//! event) and passes its transitions to [`Admission`](crate::admission::Admission), which all cores share.
//!
//! Follows the search-cgi account: limit while `slm.conforming < 100`.

use crate::SettingsError;
use crate::service_level::ServiceLevel;
use core::time::Duration;
use units::{Ratio, Timestamp};

/// When a policy's limits apply, and when they are lifted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PolicySettings {
    /// The limits apply once the conforming share is below this; above zero.
    pub enter: Ratio,
    /// The limits are lifted once the share is at least this over the whole window; at least `enter`.
    pub leave: Ratio,
    /// Fewer responses than this in the window are not judged; at least 1.
    pub min_samples: u64,
}

impl Default for PolicySettings {
    /// The account's rule: one late response is enough to engage, and all have to conform before it is lifted.
    fn default() -> Self {
        PolicySettings { enter: Ratio::ONE, leave: Ratio::ONE, min_samples: 1 }
    }
}

/// Why the limits apply: the measured share, and the bound.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Breach {
    /// The share that conformed.
    pub conforming: Ratio,
    /// The number of responses in the window.
    pub samples: u64,
    /// The share below which the limits apply.
    pub enter: Ratio,
}

/// Whether the limits apply.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Gate {
    /// They do not.
    #[default]
    Lifted,
    /// They do.
    Engaged {
        /// From when on.
        since: Timestamp,
        /// Why.
        reason: Breach,
    },
}

/// A change of the gate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Transition {
    /// The limits apply from now on.
    Engaged {
        /// Why.
        reason: Breach,
    },
    /// The limits are lifted: the class conformed for its window, and nothing was shed in it.
    Lifted {
        /// How long they applied.
        engaged_for: Duration,
        /// The share that conformed; `None` where there were no responses.
        conforming: Option<Ratio>,
    },
}

/// The gate of one policy, with the conditions that change it.
///
/// ```
/// use control::policy::{Policy, PolicySettings, Transition};
/// use control::service_level::{ServiceLevel, ServiceLevelSettings};
/// use std::time::Duration;
/// use units::Timestamp;
///
/// let target = Duration::from_millis(50);
/// let mut class = ServiceLevel::new(ServiceLevelSettings::within(target))?;
/// let mut policy = Policy::new(PolicySettings::default())?;
///
/// class.record(Timestamp::ZERO, 200, Duration::from_millis(51));
/// assert!(matches!(policy.tick(Timestamp::ZERO, &class), Some(Transition::Engaged { .. })));
/// assert!(matches!(policy.tick(Timestamp::from_secs(10), &class), Some(Transition::Lifted { .. })));
/// # Ok::<(), control::SettingsError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Policy {
    settings: PolicySettings,
    gate: Gate,
}

impl Policy {
    /// A policy whose limits do not apply yet.
    ///
    /// # Errors
    /// Conditions that contradict each other, never hold, or need no samples.
    pub fn new(settings: PolicySettings) -> Result<Self, SettingsError> {
        let PolicySettings { enter, leave, min_samples } = settings;
        if enter == Ratio::ZERO {
            return Err(SettingsError::NeverEnters);
        }
        if leave < enter {
            return Err(SettingsError::LeaveBelowEnter { enter, leave });
        }
        if min_samples == 0 {
            return Err(SettingsError::ZeroMinSamples);
        }
        Ok(Policy { settings, gate: Gate::Lifted })
    }

    /// Evaluates the class and changes the gate if the conditions hold.
    pub fn tick(&mut self, now: Timestamp, class: &ServiceLevel) -> Option<Transition> {
        let tally = class.tally(now);
        let share = tally.share();
        match self.gate {
            Gate::Lifted => {
                let conforming = share?;
                let enough = tally.total >= self.settings.min_samples;
                if !enough || conforming >= self.settings.enter {
                    return None;
                }
                let reason = Breach { conforming, samples: tally.total, enter: self.settings.enter };
                self.gate = Gate::Engaged { since: now, reason };
                Some(Transition::Engaged { reason })
            }
            Gate::Engaged { since, .. } => {
                let engaged_for = now.since(since);
                let conforms = share.is_none_or(|share| share >= self.settings.leave);
                if engaged_for < class.settings().window || tally.shed > 0 || !conforms {
                    return None;
                }
                self.gate = Gate::Lifted;
                Some(Transition::Lifted { engaged_for, conforming: share })
            }
        }
    }

    /// Whether the limits apply.
    pub fn gate(&self) -> Gate {
        self.gate
    }

    /// The conditions.
    pub fn settings(&self) -> &PolicySettings {
        &self.settings
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service_level::ServiceLevelSettings;
    use std::string::ToString;

    const GOOD: Duration = Duration::from_millis(20);
    const LATE: Duration = Duration::from_millis(51);

    fn class() -> ServiceLevel {
        ServiceLevel::new(ServiceLevelSettings::within(Duration::from_millis(50))).unwrap()
    }

    fn engaged(policy: &Policy) -> bool {
        matches!(policy.gate(), Gate::Engaged { .. })
    }

    #[test]
    fn one_late_response_engages_and_says_why() {
        let (mut class, mut policy) = (class(), Policy::new(PolicySettings::default()).unwrap());
        let now = Timestamp::from_secs(1);
        assert_eq!(policy.tick(now, &class), None, "no samples say nothing");
        (0..3).for_each(|_| class.record(now, 200, GOOD));
        assert_eq!(policy.tick(now, &class), None);
        class.record(now, 200, LATE);
        let reason = Breach { conforming: Ratio::new(0.75).unwrap(), samples: 4, enter: Ratio::ONE };
        assert_eq!(policy.tick(now, &class), Some(Transition::Engaged { reason }));
        assert_eq!(policy.gate(), Gate::Engaged { since: now, reason });
    }

    #[test]
    fn few_samples_do_not_engage() {
        let settings = PolicySettings { min_samples: 3, ..PolicySettings::default() };
        let (mut class, mut policy) = (class(), Policy::new(settings).unwrap());
        for expected in [false, false, true] {
            class.record(Timestamp::ZERO, 200, LATE);
            policy.tick(Timestamp::ZERO, &class);
            assert_eq!(engaged(&policy), expected);
        }
    }

    #[test]
    fn lifts_after_a_window_without_late_responses_and_without_shedding() {
        let (mut class, mut policy) = (class(), Policy::new(PolicySettings::default()).unwrap());
        class.record(Timestamp::ZERO, 200, LATE);
        policy.tick(Timestamp::ZERO, &class);
        // The last refusal, at 5 s, keeps the limit until 15 s.
        class.record_shed(Timestamp::from_secs(5));
        assert_eq!(policy.tick(Timestamp::from_millis(14_900), &class), None);
        let lifted = policy.tick(Timestamp::from_secs(15), &class);
        let expected = Transition::Lifted { engaged_for: Duration::from_secs(15), conforming: None };
        assert_eq!(lifted, Some(expected));
    }

    #[test]
    fn never_lifts_before_a_full_window() {
        let settings = PolicySettings { enter: Ratio::new(0.5).unwrap(), ..PolicySettings::default() };
        let (mut class, mut policy) = (class(), Policy::new(settings).unwrap());
        class.record(Timestamp::from_millis(50), 200, LATE);
        let engaged_at = Timestamp::from_secs(9);
        policy.tick(engaged_at, &class);
        assert!(engaged(&policy));
        assert_eq!(policy.tick(Timestamp::from_secs(18), &class), None, "clean, but not for a window");
        assert!(policy.tick(Timestamp::from_secs(19), &class).is_some());
    }

    #[test]
    fn contradictions_are_refused_with_the_way_out() {
        let default = PolicySettings::default();
        let half = Ratio::new(0.5).unwrap();
        for (settings, part) in [
            (PolicySettings { leave: half, ..default }, "raise `leave` to at least 100 %"),
            (PolicySettings { enter: Ratio::ZERO, ..default }, "raise `enter`"),
            (PolicySettings { min_samples: 0, ..default }, "1 is the least"),
        ] {
            let message = Policy::new(settings).unwrap_err().to_string();
            assert!(message.contains(part), "{message}");
        }
    }
}
