//! Knative's pod autoscaler: the number of pods from requests in flight (or requests a second), every 2 s, with a
//! second, shorter window.
//!
//! ```text
//! average   requests in flight over a minute, and over the last six seconds   → two averages
//! decide    how many pods are needed, and is it a panic?                       → a wanted count, burst capacity
//! delay     the largest wanted count of a period, if configured
//! zero      the bounds, and when may the last pod be removed?                          → the count to apply
//! ```
//!
//! ## Why two windows
//! A window of a minute is stable enough for scaling down and too slow for a burst. The short window may only add pods,
//! and only while it measures at least twice the target load of the ready pods; after a whole stable window without
//! that the panic ends. No pod is removed during a panic.
//!
//! Follows `pkg/autoscaler` and `pkg/reconciler/autoscaling/kpa` of knative/serving. Deliberately absent: the sampling
//! of pods by the scraper (recorded values are exact), and revisions that fail to start.

mod average;
mod decide;
mod delay;
mod settings;
#[cfg(test)]
mod tests;
mod zero;

pub use average::{Aggregation, Average};
pub use decide::{Decider, Decision, Mode, Reason, Turn};
pub use settings::{KnativeSettings, KnativeSettingsError, ScaleToZero, ScalingMetric};
pub use zero::{Activity, Applied, Hold};

use crate::assumption::Assumption;
use core::time::Duration;
use units::{InstanceCount, Timestamp};
use zero::Zero;

/// How often the autoscaler decides.
pub const TICK: Duration = Duration::from_secs(2);

/// Behaviour that Knative does not publish and that decisions of this module depend on.
pub const ASSUMPTIONS: &[Assumption] = &[
    Assumption {
        name: "knative_activator_at_once",
        text: "the activator is in the path the moment a revision becomes inactive, so the grace period begins then; \
               the real one is probed first",
    },
    Assumption {
        name: "knative_exact_scrape",
        text: "what is recorded is the sum over all pods; the real scraper asks a sample of them and scales it up",
    },
    Assumption {
        name: "knative_starts_succeed",
        text: "pods become ready sooner or later: a revision is never given up for being slow to start",
    },
];

/// The load of a revision in one second.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Load {
    /// Requests in flight on average, over all pods, including those that wait in the activator.
    pub concurrency: f64,
    /// Requests that ended in this second.
    pub requests: f64,
}

/// The result of one tick.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tick {
    /// The decision from the averages; `None` where there was no data yet.
    pub decision: Option<Decision>,
    /// What to apply.
    pub applied: Applied,
}

/// The autoscaler of one revision, with its history.
///
/// ```
/// use control::scaling::knative::*;
/// use units::{InstanceCount, Timestamp};
///
/// let settings = KnativeSettings::concurrency(10.0);
/// let mut knative = Knative::new(Timestamp::ZERO, settings, InstanceCount::new(1))?;
/// for second in 0..=60 {
///     let now = Timestamp::from_secs(second);
///     knative.record(now, Load { concurrency: 21.0, requests: 0.0 });
/// }
/// let tick = knative.tick(Timestamp::from_secs(60), InstanceCount::new(1));
/// // 70 % of 10 in flight a pod: three pods.
/// assert_eq!(tick.applied.to, InstanceCount::new(3));
/// # Ok::<(), KnativeSettingsError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Knative {
    decider: Decider,
    stable: Average,
    panic: Average,
    zero: Zero,
}

impl Knative {
    /// The autoscaler of a revision with this many ready pods.
    ///
    /// # Errors
    /// The first of [`KnativeSettings::problems`].
    pub fn new(
        now: Timestamp,
        settings: KnativeSettings,
        ready: InstanceCount,
    ) -> Result<Self, KnativeSettingsError> {
        if let Some(problem) = settings.problems().into_iter().next() {
            return Err(problem);
        }
        let stable = Average::new(settings.stable_window, settings.aggregation);
        let panic = Average::new(settings.panic_window(), settings.aggregation);
        let zero = Zero::new(now, ready);
        Ok(Knative { decider: Decider::new(now, settings, ready), stable, panic, zero })
    }

    /// Its settings.
    pub fn settings(&self) -> &KnativeSettings {
        self.decider.settings()
    }

    /// Records the load of the second that ends now; to be called each second, also without load: a second without a
    /// record is not a second without requests.
    ///
    /// Returns whether to tick at once: a revision without pods does not wait for the next tick when a request arrives.
    pub fn record(&mut self, now: Timestamp, load: Load) -> bool {
        let value = match self.settings().metric {
            ScalingMetric::Concurrency => load.concurrency,
            ScalingMetric::RequestsPerSecond => load.requests,
        };
        if value.is_finite() {
            self.stable.record(now, value);
            self.panic.record(now, value);
        }
        self.zero.at_zero() && load.concurrency != 0.0
    }

    /// Runs one tick; to be called each [`TICK`] with the number of ready pods.
    ///
    /// The caller applies [`Applied::to`]: it is assumed to have been applied.
    pub fn tick(&mut self, now: Timestamp, ready: InstanceCount) -> Tick {
        let decision = (!self.stable.is_empty(now)).then(|| {
            let (stable, panic) = (self.stable.at(now), self.panic.at(now));
            self.decider.decide(now, ready, stable, panic)
        });
        let wanted = decision.map(|decision| decision.wanted);
        let applied = self.zero.apply(now, self.decider.settings(), ready, wanted);
        Tick { decision, applied }
    }
}
