//! Passive ejection: which instances fail more often than the others, judged by live requests?
//!
//! Two criteria, as in Envoy's outlier detection:
//! - *consecutive failures*: a number of failures in a row ejects at once;
//! - *success rate*: at each interval, an instance whose success rate is more than a number of standard deviations
//!   below the mean of all instances. It is compared with its peers, so a failing database behind all of them ejects
//!   none.
//!
//! An instance is ejected for the base time × its number of ejections; each interval without a new ejection reduces
//! that number by one.
//!
//! ## Limits
//! At most a share of the instances is ejected (but at least one of a small fleet), and never the last one. A refusal
//! (429, 503) counts neither for nor against: ejecting an overloaded instance moves its load to the next one. The
//! balancers' penalty handles refusals.

mod settings;
#[cfg(test)]
mod tests;

pub use settings::Settings;

use super::{InstanceId, Outcome};
use alloc::vec::Vec;
use core::fmt;
use units::{Ratio, Timestamp};

/// Decides which instances to eject; apply it with [`Available::eject`](super::Available::eject).
#[derive(Debug, Clone)]
pub struct Ejection {
    settings: Settings,
    slots: Vec<Slot>,
    present: u32,
    ejected: Vec<InstanceId>,
    next_check: Timestamp,
}

#[derive(Debug, Clone, Copy, Default)]
struct Slot {
    present: bool,
    /// Failures since the last success.
    failures: u32,
    /// In this interval.
    requests: u32,
    succeeded: u32,
    /// The number of ejections that determines the length of the next one.
    times: u32,
    /// When its ejection ends; in the past where it is not ejected.
    until: Timestamp,
    /// Whether it is in the list of ejected instances.
    ejected: bool,
    ejected_in_interval: bool,
}

/// The outcomes of an instance that one of many observers has counted since its last report: counted without locking,
/// and reported periodically by [`Ejection::absorb`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Seen {
    succeeded: u32,
    failed: u32,
    /// Failures since the last success.
    run: u32,
    /// The most failures between two successes.
    longest: u32,
}

impl Seen {
    /// Counts the outcome of a request.
    #[inline]
    pub fn count(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Cancelled | Outcome::Limited | Outcome::Refused { .. } => {}
            Outcome::Answered { .. } => {
                self.succeeded += 1;
                self.run = 0;
            }
            Outcome::ServerError { .. } | Outcome::Failed | Outcome::TimedOut => {
                self.failed += 1;
                self.run += 1;
                self.longest = self.longest.max(self.run);
            }
        }
    }

    /// Failures since the last success: an observer with many in a row should report at once.
    pub const fn run(&self) -> u32 {
        self.run
    }

    /// Whether there is nothing to report.
    pub const fn is_empty(&self) -> bool {
        self.succeeded == 0 && self.failed == 0
    }
}

/// The decision about an instance that meets a criterion.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Decision {
    /// Eject it.
    Eject {
        /// The instance.
        id: InstanceId,
        /// Until when.
        until: Timestamp,
        /// Which ejection in a row this is, from 1.
        times: u32,
        /// Why.
        reason: Reason,
    },
    /// Keep it, although it meets a criterion.
    Spare {
        /// The instance.
        id: InstanceId,
        /// The criterion.
        reason: Reason,
        /// Why it is not ejected.
        because: Spared,
    },
}

/// Which criterion an instance met.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Reason {
    /// Consecutive failures.
    ConsecutiveFailures {
        /// How many.
        failures: u32,
    },
    /// A success rate below that of the others.
    SuccessRate {
        /// Its success rate in the interval.
        found: Ratio,
        /// The lowest success rate that would have been accepted.
        least: f64,
    },
}

/// Why a failing instance is not ejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spared {
    /// It is the last one that is not ejected.
    LastOne,
    /// The maximum number of instances is ejected.
    Full {
        /// How many are.
        ejected: u32,
        /// How many may be.
        most: u32,
    },
}

impl Reason {
    /// The name in metrics and logs. It is stable.
    pub const fn name(&self) -> &'static str {
        match self {
            Reason::ConsecutiveFailures { .. } => "consecutive_failures",
            Reason::SuccessRate { .. } => "success_rate",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::ConsecutiveFailures { failures } => write!(f, "{failures} failures in a row"),
            Reason::SuccessRate { found, least } => {
                write!(
                    f,
                    "{found} of its requests succeeded, in line with the others were {:.2} %",
                    least * 100.0
                )
            }
        }
    }
}

impl fmt::Display for Spared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Spared::LastOne => f.write_str("it is the only one left"),
            Spared::Full { ejected, most } => write!(f, "{ejected} are ejected and {most} may be"),
        }
    }
}

impl Ejection {
    /// Starts without instances.
    pub fn new(settings: Settings) -> Self {
        let next_check = Timestamp::ZERO + settings.interval;
        Ejection { settings, slots: Vec::new(), present: 0, ejected: Vec::new(), next_check }
    }

    /// Adds an instance.
    pub fn added(&mut self, id: InstanceId) {
        let index = id.0 as usize;
        if index >= self.slots.len() {
            self.slots.resize_with(index + 1, Slot::default);
        }
        if !self.slots[index].present {
            self.slots[index] = Slot { present: true, ..Slot::default() };
            self.present += 1;
        }
    }

    /// Removes an instance.
    pub fn removed(&mut self, id: InstanceId) {
        if let Some(slot) = self.slots.get_mut(id.0 as usize)
            && slot.present
        {
            *slot = Slot::default();
            self.present -= 1;
            self.ejected.retain(|&other| other != id);
        }
    }

    /// Counts the outcome of a request; returns a decision where it is one failure too many.
    #[inline]
    pub fn ended(&mut self, now: Timestamp, id: InstanceId, outcome: Outcome) -> Option<Decision> {
        let mut seen = Seen::default();
        seen.count(outcome);
        self.absorb(now, id, seen)
    }

    /// Adds what an observer has counted since its last report; returns a decision where that is one failure too many.
    ///
    /// With several observers, failures count as if one observer had seen the failures of the others first: a run of
    /// failures continues where the other saw no success.
    pub fn absorb(&mut self, now: Timestamp, id: InstanceId, seen: Seen) -> Option<Decision> {
        let slot = self.slots.get_mut(id.0 as usize)?;
        // Outcomes of requests that were sent before its ejection are ignored.
        if !slot.present || now < slot.until {
            return None;
        }
        slot.requests += seen.succeeded + seen.failed;
        slot.succeeded += seen.succeeded;
        slot.failures = if seen.succeeded == 0 { slot.failures + seen.run } else { seen.run };
        let failures = slot.failures.max(seen.longest);
        if failures < self.settings.consecutive_failures {
            return None;
        }
        slot.failures = 0;
        Some(self.decide(now, id, Reason::ConsecutiveFailures { failures }))
    }

    /// Compares the instances, once an interval; does nothing in between. To be called periodically.
    pub fn check(&mut self, now: Timestamp, mut decided: impl FnMut(Decision)) {
        if now < self.next_check {
            return;
        }
        self.next_check = now + self.settings.interval;
        self.end_ejections(now);
        if let Some(least) = self.least_success_rate() {
            for index in 0..self.slots.len() {
                if let Some(found) = self.success_rate(index)
                    && found < least
                    && let Some(found) = Ratio::new(found)
                {
                    let reason = Reason::SuccessRate { found, least };
                    decided(self.decide(now, InstanceId(index as u32), reason));
                }
            }
        }
        for slot in &mut self.slots {
            let ejected = core::mem::take(&mut slot.ejected_in_interval) || slot.ejected;
            slot.times = slot.times.saturating_sub(u32::from(!ejected));
            (slot.requests, slot.succeeded) = (0, 0);
        }
    }

    /// The number of ejected instances.
    pub fn ejected(&mut self, now: Timestamp) -> u32 {
        self.end_ejections(now);
        self.ejected.len() as u32
    }

    /// In this interval; `None` where there were too few requests.
    fn success_rate(&self, index: usize) -> Option<f64> {
        let slot = &self.slots[index];
        let enough = slot.present && !slot.ejected && slot.requests >= self.settings.min_requests;
        enough.then(|| f64::from(slot.succeeded) / f64::from(slot.requests))
    }

    /// The mean minus the number of standard deviations; `None` where too few instances can be compared.
    fn least_success_rate(&self) -> Option<f64> {
        let rates = || (0..self.slots.len()).filter_map(|index| self.success_rate(index));
        let (count, sum) = rates().fold((0_u32, 0.0), |(count, sum), rate| (count + 1, sum + rate));
        if count < self.settings.min_instances {
            return None;
        }
        let mean = sum / f64::from(count);
        let squares: f64 = rates().map(|rate| (rate - mean) * (rate - mean)).sum();
        Some(mean - self.settings.deviations * libm::sqrt(squares / f64::from(count)))
    }

    fn decide(&mut self, now: Timestamp, id: InstanceId, reason: Reason) -> Decision {
        self.end_ejections(now);
        let ejected = self.ejected.len() as u32;
        if ejected + 1 >= self.present {
            return Decision::Spare { id, reason, because: Spared::LastOne };
        }
        let most = self.settings.most_of(self.present);
        if ejected >= most {
            return Decision::Spare { id, reason, because: Spared::Full { ejected, most } };
        }
        let slot = &mut self.slots[id.0 as usize];
        slot.times += 1;
        slot.failures = 0;
        (slot.ejected, slot.ejected_in_interval) = (true, true);
        slot.until = now + (self.settings.base * slot.times).min(self.settings.longest);
        self.ejected.push(id);
        Decision::Eject { id, until: slot.until, times: slot.times, reason }
    }

    fn end_ejections(&mut self, now: Timestamp) {
        let slots = &mut self.slots;
        self.ejected.retain(|id| {
            let slot = &mut slots[id.0 as usize];
            slot.ejected = now < slot.until;
            slot.ejected
        });
    }
}
