//! The way back from a scale-in of our own after which the goal is missed.
//!
//! ## Why two periods, and once a cooldown
//! One bad period after a scale-in is often the scale-in itself: connections move, caches are cold. Two are a size that
//! is too small. A rollback that could repeat at once would alternate with a policy that keeps removing, so nothing is
//! removed for the cooldown after it.

use super::Facts;
use core::time::Duration;
use units::Timestamp;

#[derive(Debug, Clone)]
pub(super) struct Rollback {
    /// None: never.
    cooldown: Option<Duration>,
    /// The last size with which a period held the goal.
    held: Option<u32>,
    /// The scale-in that is being watched: the size before it, and missed periods since.
    watched: Option<(u32, u32)>,
    last: Option<Timestamp>,
}

impl Rollback {
    pub(super) fn new(cooldown: Option<Duration>) -> Self {
        Rollback { cooldown, held: None, watched: None, last: None }
    }

    /// A period may have ended.
    pub(super) fn saw(&mut self, facts: &Facts) {
        match facts.goal_held {
            Some(true) => {
                self.held = Some(facts.size);
                self.watched = None;
            }
            Some(false) => {
                if let Some((_, missed)) = &mut self.watched {
                    *missed += 1;
                }
            }
            None => {}
        }
    }

    /// The size to go back to.
    pub(super) fn wanted(&self, now: Timestamp, size: u32) -> Option<u32> {
        self.cooldown?;
        let (before, missed) = self.watched?;
        let back = self.held.unwrap_or(before).max(before);
        (missed >= PERIODS && back > size && self.holds_until(now).is_none()).then_some(back)
    }

    /// Until when nothing is removed.
    pub(super) fn holds_until(&self, now: Timestamp) -> Option<Timestamp> {
        let until = self.last? + self.cooldown?;
        (now < until).then_some(until)
    }

    pub(super) fn applied(&mut self, now: Timestamp, from: u32, to: u32) {
        if to < from {
            // Several in a row go back to the size before the first.
            let before = self.watched.map_or(from, |(before, _)| before.max(from));
            self.watched = Some((before, 0));
        } else if let Some((_, missed)) = self.watched.take()
            && missed >= PERIODS
        {
            self.last = Some(now);
        }
    }

    /// Somebody else decides now.
    pub(super) fn forget(&mut self) {
        self.watched = None;
    }
}

/// Missed periods before the size is set back.
const PERIODS: u32 = 2;
