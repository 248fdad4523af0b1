//! Does a service recover from an overload by itself, and how soon?
//!
//! Right after the overload it gets the rate that the limits would let pass ([`protected`]), and is watched until the
//! goal holds again for a window of some requests.
//!
//! ## Why below the low end
//! The low end of a steady service is within one percent of its capacity, and such a rate drains no queue. An operator
//! needs to know whether the limit in the gateway file lets the service recover.

use super::goal::Goal;
use super::judge::Progress;
use super::limits::protected;
use alloc::vec::Vec;
use core::time::Duration;
use units::Rate;

/// How the service recovered from an overload.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Recovery {
    /// The offered rate during the recovery.
    pub rate: Rate,
    /// When the goal held again; `None` where it did not within the limit.
    pub after: Option<Duration>,
    /// How long the recovery was watched.
    pub limit: Duration,
}

/// Watches a service right after an overload.
#[derive(Debug, Clone)]
pub struct RecoveryWatch {
    goal: Goal,
    rate: Rate,
    /// The state at each look so far, from the beginning on.
    looks: Vec<Progress>,
    after: Option<Duration>,
}

impl RecoveryWatch {
    /// Starts after the overload of a service that sustains `low`.
    pub fn new(goal: &Goal, low: Rate) -> Self {
        RecoveryWatch {
            goal: goal.clone(),
            rate: protected(low),
            looks: Vec::from([Progress::default()]),
            after: None,
        }
    }

    /// The rate to offer, from the end of the overload on.
    pub fn rate(&self) -> Rate {
        self.rate
    }

    /// The time between two looks.
    pub fn look_every(&self) -> Duration {
        let window = self.rate.interval().map_or(RECOVERY_MAX, |gap| gap * WINDOW_REQUESTS);
        window.clamp(Duration::from_secs(1), RECOVERY_MAX / 4) / WINDOW_LOOKS
    }

    /// Records the state at the next look; returns whether the watch is over.
    pub fn observe(&mut self, progress: &Progress) -> bool {
        if let Some(before) = self.looks.len().checked_sub(WINDOW_LOOKS as usize)
            && held_between(&self.goal, &self.looks[before], progress)
        {
            self.after = Some(self.looks[before].elapsed);
            return true;
        }
        self.looks.push(*progress);
        progress.elapsed >= RECOVERY_MAX
    }

    /// The result so far.
    pub fn recovery(&self) -> Recovery {
        Recovery { rate: self.rate, after: self.after, limit: RECOVERY_MAX }
    }
}

/// Whether the goal held for the requests that ended between two looks.
fn held_between(goal: &Goal, before: &Progress, after: &Progress) -> bool {
    goal.conditions().iter().enumerate().all(|(at, condition)| {
        let missed = |seen: &Progress| seen.missed[at] + seen.overdue[at];
        // A request that was overdue at the first look may have ended in time since then.
        let missed = missed(after).saturating_sub(missed(before));
        let held = after.held[at].saturating_sub(before.held[at]);
        held > 0 && missed as f64 <= condition.allowed() * (missed + held) as f64
    })
}

/// The longest watch of a recovery.
pub const RECOVERY_MAX: Duration = Duration::from_secs(20);
/// Requests in the window in which the goal must hold again.
const WINDOW_REQUESTS: u32 = 40;
/// Looks in that window.
const WINDOW_LOOKS: u32 = 4;

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    fn goal() -> Goal {
        Goal::new(vec!["p(95)<50ms".parse().unwrap()]).unwrap()
    }

    fn at(held: u64, missed: u64) -> Progress {
        let (held, missed) = ([held, held + missed, 0, 0], [missed, 0, 0, 0]);
        Progress { held, missed, ..Progress::default() }
    }

    #[test]
    fn the_goal_holds_again_when_what_is_new_holds_it() {
        assert!(held_between(&goal(), &at(0, 500), &at(40, 501)));
        assert!(!held_between(&goal(), &at(0, 500), &at(40, 510)));
        assert!(!held_between(&goal(), &at(0, 0), &at(0, 0)), "nothing is known");
    }

    #[test]
    fn it_ends_with_the_first_window_that_holds_the_goal() {
        let mut watch = RecoveryWatch::new(&goal(), Rate::per_second_of(105.92));
        assert_eq!(
            (watch.rate(), watch.look_every()),
            (Rate::per_second_of(100.0), Duration::from_millis(250))
        );
        let mut over = Vec::new();
        // 25 requests a look; those of the first second are late.
        for look in 1..=8_u32 {
            let (held, missed) = (25 * u64::from(look.saturating_sub(4)), 25 * u64::from(look.min(4)));
            over.push(watch.observe(&Progress { elapsed: watch.look_every() * look, ..at(held, missed) }));
        }
        assert_eq!(over, [false, false, false, false, false, false, false, true]);
        assert_eq!(watch.recovery().after, Some(Duration::from_secs(1)));
    }

    #[test]
    fn a_service_that_does_not_come_back_is_waited_for_so_long() {
        let mut watch = RecoveryWatch::new(&goal(), Rate::per_second_of(1.0));
        assert_eq!(
            watch.look_every(),
            Duration::from_millis(1_250),
            "rare requests: not longer than a quarter of it"
        );
        let mut looks = 1;
        while !watch.observe(&Progress { elapsed: watch.look_every() * looks, ..at(0, looks.into()) }) {
            looks += 1;
        }
        assert_eq!((looks, watch.recovery().after), (16, None));
    }
}
