//! The history of an autoscaler: recommendations and scalings.
//!
//! ## Why recommendations and not sizes
//! A window contains what the metrics requested before windows, rates and bounds. If it contained its own results, a
//! single peak would keep a fleet large forever.
//!
//! ## Why an old entry is overwritten
//! Upstream puts a new entry into the place of the last one that no window covers any more. So memory is bounded by the
//! longest window, and nothing is allocated once it is full.

use super::version::Version;
use alloc::vec::Vec;
use core::time::Duration;
use units::Timestamp;

/// The stabilisation windows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Windows {
    /// The lowest recommendation in this window limits scaling up.
    pub up: Duration,
    /// The highest recommendation in this window limits scaling down.
    pub down: Duration,
}

/// What the metrics requested, and when.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Recommendations(Vec<(Timestamp, i32)>);

impl Recommendations {
    /// Recommendations that were made before.
    pub fn of(made: impl IntoIterator<Item = (Timestamp, i32)>) -> Self {
        Recommendations(made.into_iter().collect())
    }

    /// All entries, in the order of their places.
    pub fn values(&self) -> impl Iterator<Item = i32> + '_ {
        self.0.iter().map(|(_, value)| *value)
    }

    /// Records the first observed size as a recommendation, so that a restarted controller does not scale down at once.
    pub(super) fn begin(&mut self, now: Timestamp, current: i32) {
        if self.0.is_empty() {
            self.0.push((now, current));
        }
    }

    /// Without behavior: the highest recommendation of the window.
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

    /// With behavior: the current size, changed only as far as the recommendations of both windows require.
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
            // `lowest` is at most `highest`: both include `desired`.
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

/// The scalings in one direction, and when they happened.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ScaleEvents(Vec<ScaleEvent>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ScaleEvent {
    at: Timestamp,
    change: i32,
    /// No policy covers it any more.
    outdated: bool,
}

impl ScaleEvents {
    /// Earlier scalings.
    pub fn of(done: impl IntoIterator<Item = (Timestamp, i32)>) -> Self {
        let event = |(at, change)| ScaleEvent { at, change, outdated: false };
        ScaleEvents(done.into_iter().map(event).collect())
    }

    /// All entries, in the order of their places, and whether they are outdated.
    pub fn values(&self) -> impl Iterator<Item = (i32, bool)> + '_ {
        self.0.iter().map(|event| (event.change, event.outdated))
    }

    /// The sum of the changes within a period until now.
    pub fn within(&self, now: Timestamp, period: Duration) -> i32 {
        let recent = self.0.iter().filter(|event| now.since(event.at) < period);
        recent.fold(0, |sum: i32, event| sum.wrapping_add(event.change))
    }

    /// Records a scaling, in the place of one that is older than the longest period of a policy.
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
