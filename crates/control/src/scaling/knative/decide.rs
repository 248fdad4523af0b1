//! How many pods the averages require, and whether it is a panic.
//!
//! ## The formulas
//! ```text
//! ready' = max(1, ready)
//! most   = ⌈max_scale_up_rate × ready'⌉
//! least  = ⌊ready' / max_scale_down_rate⌋, 0 where no route leads to the revision
//! stable = ⌈stable average / target⌉ and panic = ⌈panic average / target⌉, both within [least, most]
//! panic begins, or continues, where the unbounded panic count is at least panic_threshold × ready'
//! panic ends a stable window after that was last true
//! burst  = ⌊ready × total − target_burst_capacity − panic average⌋
//! ```
//! In a panic the wanted count is the larger of both, and never lower than before in the same panic.

use super::delay::LargestOf;
use super::settings::KnativeSettings;
use crate::scaling::amd64;
use core::fmt;
use units::{InstanceCount, Timestamp};

/// The decision from the averages.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Decision {
    /// The wanted number of pods.
    pub wanted: InstanceCount,
    /// The additional requests that the ready pods can accept at once, beyond those in flight and the target burst
    /// capacity; below zero the activator stays in the path. −1 for an unlimited target burst capacity.
    pub excess_burst_capacity: i32,
    /// Which window counted.
    pub mode: Mode,
    /// A change of the window.
    pub turn: Option<Turn>,
    /// The reason for the wanted number.
    pub reason: Reason,
    /// The pods required by the stable average, before bounds.
    pub stable_pods: f64,
    /// The pods required by the panic average, before bounds.
    pub panic_pods: f64,
}

/// Which window counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// The stable one.
    Stable,
    /// The larger of both.
    Panic,
}

/// A change of the mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// It begins.
    Panicking,
    /// It ends.
    UnPanicking,
}

impl fmt::Display for Turn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Turn::Panicking => "PANICKING.",
            Turn::UnPanicking => "Un-panicking.",
        })
    }
}

/// The reason for the wanted number of pods, in Knative's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// By the stable window.
    Stable,
    /// By the panic, unchanged.
    Panic,
    /// More than before in the same panic.
    Increasing {
        /// The ready pods.
        from: InstanceCount,
        /// The new count.
        to: InstanceCount,
    },
    /// Fewer, which a panic does not allow.
    SkippingDecrease {
        /// The count of the panic.
        from: InstanceCount,
        /// The required count.
        to: InstanceCount,
    },
    /// Fewer, but the delay is not over.
    Delaying {
        /// The required count.
        to: InstanceCount,
        /// The largest count of the delay.
        staying: InstanceCount,
    },
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Stable => f.write_str("Operating in stable mode."),
            Reason::Panic => f.write_str("Operating in panic mode."),
            Reason::Increasing { from, to } => write!(f, "Increasing pods count from {from} to {to}."),
            Reason::SkippingDecrease { from, to } => {
                write!(f, "Skipping pod count decrease from {from} to {to}.")
            }
            Reason::Delaying { to, staying } => write!(f, "Delaying scale to {to}, staying at {staying}"),
        }
    }
}

/// Decides from averages.
#[derive(Debug, Clone)]
pub struct Decider {
    settings: KnativeSettings,
    /// When the panic threshold was last reached in this panic.
    panic: Option<Timestamp>,
    /// The largest wanted count in this panic.
    panic_most: u32,
    delay: Option<LargestOf>,
}

impl Decider {
    /// Starts with this many ready pods: in a panic where there is more than one, so that a restarted autoscaler does
    /// not scale down before it has data for a window.
    pub fn new(now: Timestamp, settings: KnativeSettings, ready: InstanceCount) -> Self {
        let delay = (!settings.scale_down_delay.is_zero()).then(|| LargestOf::new(settings.scale_down_delay));
        Decider { settings, panic: (ready.get() > 1).then_some(now), panic_most: ready.get(), delay }
    }

    /// As in a panic whose threshold was last reached at the given time.
    #[must_use]
    pub fn with_panic_since(self, since: Timestamp) -> Self {
        Decider { panic: Some(since), ..self }
    }

    /// As if this had been the largest wanted count; a panic does not remove pods.
    #[must_use]
    pub fn with_most_in_panic(self, most: InstanceCount) -> Self {
        Decider { panic_most: most.get(), ..self }
    }

    /// Its settings.
    pub fn settings(&self) -> &KnativeSettings {
        &self.settings
    }

    /// Uses other settings from now on; the window of the delay is unchanged.
    pub fn update(&mut self, settings: KnativeSettings) {
        self.settings = settings;
    }

    /// Decides from the averages of both windows.
    pub fn decide(
        &mut self,
        now: Timestamp,
        ready: InstanceCount,
        stable_average: f64,
        panic_average: f64,
    ) -> Decision {
        let settings = self.settings;
        let at_least_one = f64::from(ready.get()).max(1.0);
        let most = libm::ceil(settings.max_scale_up_rate * at_least_one);
        let least =
            if settings.reachable { libm::floor(at_least_one / settings.max_scale_down_rate) } else { 0.0 };
        let stable_pods = libm::ceil(stable_average / settings.target);
        let panic_pods = libm::ceil(panic_average / settings.target);
        let bounded = |pods: f64| {
            let activation = settings.activation_scale.get();
            let bounded = pods.max(least).min(most) as u32;
            if activation > 1 && pods > 0.0 { bounded.max(activation) } else { bounded }
        };
        let (stable, panic) = (bounded(stable_pods), bounded(panic_pods));
        let turn = self.turn(now, panic_pods / at_least_one >= settings.panic_threshold);

        let count = InstanceCount::new;
        let (mut wanted, mut reason) = (stable, Reason::Stable);
        if self.panic.is_some() {
            wanted = stable.max(panic);
            reason = Reason::Panic;
            if wanted > self.panic_most {
                reason = Reason::Increasing { from: ready, to: count(wanted) };
                self.panic_most = wanted;
            } else if wanted < self.panic_most {
                reason = Reason::SkippingDecrease { from: count(self.panic_most), to: count(wanted) };
            }
            wanted = self.panic_most;
        }
        if settings.reachable
            && let Some(delay) = &mut self.delay
        {
            let staying = delay.with(now, wanted);
            if staying != wanted {
                reason = Reason::Delaying { to: count(wanted), staying: count(staying) };
                wanted = staying;
            }
        }
        let excess_burst_capacity = match settings.target_burst_capacity {
            None => -1,
            Some(0.0) => 0,
            Some(capacity) => {
                let excess = f64::from(ready.get()) * settings.total - capacity - panic_average;
                amd64::int32(libm::floor(excess))
            }
        };
        let mode = if self.panic.is_some() { Mode::Panic } else { Mode::Stable };
        let wanted = count(wanted);
        Decision { wanted, excess_burst_capacity, mode, turn, reason, stable_pods, panic_pods }
    }

    fn turn(&mut self, now: Timestamp, over: bool) -> Option<Turn> {
        match self.panic {
            None if over => {
                self.panic = Some(now);
                Some(Turn::Panicking)
            }
            Some(_) if over => {
                self.panic = Some(now);
                None
            }
            Some(since) if since + self.settings.stable_window < now => {
                self.panic = None;
                self.panic_most = 0;
                Some(Turn::UnPanicking)
            }
            _ => None,
        }
    }
}
