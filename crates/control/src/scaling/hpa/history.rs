//! What an autoscaler remembers: what was recommended, and what was scaled.
//!
//! ## Why recommendations and not sizes
//! A window looks at what the metrics asked for before windows, rates and bounds. Were it fed with its own results, a
//! single peak would hold a fleet up for ever.
//!
//! ## Why an old entry is overwritten
//! Upstream puts a new entry into the place of the last one that no window reaches any more. So memory stays as long
//! as the longest window, and nothing is allocated once it is full.

use super::version::Version;
use alloc::vec::Vec;
use core::time::Duration;
use units::Timestamp;

/// The stabilisation windows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Windows {
    /// The least recommendation of this window bounds the way up.
    pub up: Duration,
    /// The largest recommendation of this window bounds the way down.
    pub down: Duration,
}

/// What the metrics asked for, and when.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Recommendations(Vec<(Timestamp, i32)>);

impl Recommendations {
    /// Recommendations that were made before.
    pub fn of(made: impl IntoIterator<Item = (Timestamp, i32)>) -> Self {
        Recommendations(made.into_iter().collect())
    }

    /// All that are remembered, in the order of their places.
    pub fn values(&self) -> impl Iterator<Item = i32> + '_ {
        self.0.iter().map(|(_, value)| *value)
    }

    /// Takes the first size that is seen for a recommendation, so that a controller that starts does not scale down
    /// at once.
    pub(super) fn begin(&mut self, now: Timestamp, current: i32) {
        if self.0.is_empty() {
            self.0.push((now, current));
        }
    }

    /// Without behavior: the largest recommendation of the window.
    pub fn highest(&mut self, now: Timestamp, desired: i32, window: Duration) -> i32 {
        let mut highest = desired;
        let mut old = None;
        for (index, (at, value)) in self.0.iter().enumerate() {
            if now.since(*at) > window {
                old = Some(index);
            } else {
                highest = highest.max(*value);
            }
        }
        self.note(now, desired, old);
        highest
    }

    /// With behavior: the current size, moved no further than the recommendations of both windows force it.
    pub fn stabilize(
        &mut self,
        now: Timestamp,
        current: i32,
        desired: i32,
        windows: Windows,
        version: Version,
    ) -> i32 {
        let mut lowest = desired;
        let mut highest = desired;
        let mut old = None;
        for (index, (at, value)) in self.0.iter().enumerate() {
            let age = now.since(*at);
            if age < windows.up {
                lowest = lowest.min(*value);
            }
            if age < windows.down {
                highest = highest.max(*value);
            }
            if age > windows.up && age > windows.down {
                old = Some(index);
            }
        }
        self.note(now, desired, old);
        match version.both_windows() {
            // `lowest` is at most `highest`: both have seen `desired`.
            true => current.clamp(lowest, highest),
            false if desired >= current => lowest,
            false => highest,
        }
    }

    fn note(&mut self, now: Timestamp, desired: i32, old: Option<usize>) {
        match old.and_then(|index| self.0.get_mut(index)) {
            Some(place) => *place = (now, desired),
            None => self.0.push((now, desired)),
        }
    }
}

/// By how much was scaled one way, and when.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ScaleEvents(Vec<ScaleEvent>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ScaleEvent {
    at: Timestamp,
    change: i32,
    /// No policy reaches it any more.
    outdated: bool,
}

impl ScaleEvents {
    /// Scalings that were done before.
    pub fn of(done: impl IntoIterator<Item = (Timestamp, i32)>) -> Self {
        let event = |(at, change)| ScaleEvent { at, change, outdated: false };
        ScaleEvents(done.into_iter().map(event).collect())
    }

    /// All that are remembered, in the order of their places, and whether they are outdated.
    pub fn values(&self) -> impl Iterator<Item = (i32, bool)> + '_ {
        self.0.iter().map(|event| (event.change, event.outdated))
    }

    /// By how much was scaled within a period until now.
    pub fn within(&self, now: Timestamp, period: Duration) -> i32 {
        let recent = self.0.iter().filter(|event| now.since(event.at) < period);
        recent.fold(0, |sum: i32, event| sum.wrapping_add(event.change))
    }

    /// Remembers a scaling, in the place of one that is older than the longest period of a policy.
    pub fn store(&mut self, now: Timestamp, change: i32, longest_period: Duration) {
        let event = ScaleEvent { at: now, change, outdated: false };
        let mut old = None;
        for (index, event) in self.0.iter_mut().enumerate() {
            event.outdated |= now.since(event.at) > longest_period;
            if event.outdated {
                old = Some(index);
            }
        }
        match old.and_then(|index| self.0.get_mut(index)) {
            Some(place) => *place = event,
            None => self.0.push(event),
        }
    }
}
