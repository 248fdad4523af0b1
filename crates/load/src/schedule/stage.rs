//! A span of time in which the arrival rate changes linearly, and how many arrivals it has.

use std::sync::Arc;
use std::time::Duration;
use units::Rate;

/// A part of a profile in which the rate changes linearly.
#[derive(Debug, Clone, PartialEq)]
pub struct Stage {
    /// How long it lasts, above zero.
    pub length: Duration,
    /// The rate at its beginning.
    pub from: Rate,
    /// The rate at its end.
    pub to: Rate,
    /// Its name in results.
    pub name: Arc<str>,
}

impl Stage {
    /// A constant rate.
    pub fn hold(rate: Rate, length: Duration) -> Self {
        Stage::ramp(rate, rate, length)
    }

    /// From one rate to another, linearly.
    pub fn ramp(from: Rate, to: Rate, length: Duration) -> Self {
        let name = if from == to { format!("{length:?}:{to}") } else { format!("{length:?}:{from}..{to}") };
        Stage { length, from, to, name: name.into() }
    }

    /// The same stage with another name.
    pub fn named(mut self, name: &str) -> Self {
        self.name = name.into();
        self
    }

    /// The arrivals in the whole stage.
    pub(super) fn count(&self) -> f64 {
        self.count_after(self.length.as_secs_f64())
    }

    /// The arrivals in its first `t` seconds: `from·t + (to − from)·t² / (2·length)`.
    pub(super) fn count_after(&self, t: f64) -> f64 {
        self.from.per_second() * t + self.slope() * t * t / 2.0
    }

    /// The seconds after which `count` arrivals have come: the inverse of [`Stage::count_after`].
    pub(super) fn seconds_to(&self, count: f64) -> f64 {
        let from = self.from.per_second();
        if self.from == self.to {
            return count / from;
        }
        // The form of the root without a subtraction: also exact for slopes near zero.
        let root = (from * from + 2.0 * self.slope() * count).max(0.0).sqrt();
        if count <= 0.0 { 0.0 } else { 2.0 * count / (from + root) }
    }

    /// The change of the rate, per second and second.
    pub(super) fn slope(&self) -> f64 {
        (self.to.per_second() - self.from.per_second()) / self.length.as_secs_f64()
    }
}
