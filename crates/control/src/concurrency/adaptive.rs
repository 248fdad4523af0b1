//! Adaptive concurrency limit: as many in flight as the service can process, plus a little room, without ever lowering
//! the limit to probe.
//!
//! ## The law
//! Up to a knee the response time of a service does not depend on the number of requests in flight; beyond it they
//! queue, and by Little's law the response time grows with concurrency. So the baseline (the response time far below
//! the knee) and the present response time show how far beyond the knee the limit is:
//!
//! `next = limit · min(1, 1.25 · baseline / response time) · (1 − refused share) + √limit`
//!
//! Each step moves the limit a fifth of the way. The response time is that of requests which found the limit (nearly)
//! full, so that the result does not depend on how often it is full; if none did, the limit may fall but not grow,
//! because the clients send too few requests. If all n slots of a service are busy, the limit settles at `limit = 1.25
//! · n + √limit`: the slots, a quarter, and room for a small burst.
//!
//! ## Why the baseline comes from the least loaded samples
//! Limiters that lower their limit from time to time to measure the baseline refuse healthy traffic for it, and in
//! between, their baseline drifts up under a long overload until nothing is refused any more. Here response times are
//! recorded by concurrency, and the baseline is read from the lowest concurrencies that have enough samples and are at
//! or below *half* the limit. Under a long overload there are none, and the baseline does not change.
//!
//! Half makes this stable. If the baseline were too high by a factor b, the limit would settle near 1.25 · b · n, and a
//! request that finds half of that is slowed by at most 1.25 · b / 2: each iteration lowers the baseline by three
//! eighths. (If the slots share a processor, later requests slow it further; a burst would have to follow every calm
//! request for that to matter.)
//!
//! ## Why a descent without effect raises the baseline
//! A deployment that makes the service slower during an overload leaves no calm samples. But with a queue, a lower
//! limit shortens the response time. If the limit has fallen by a fifth and the response time has not, nothing is
//! queueing, so the measured response time *is* the baseline.
//!
//! ## How long it takes
//! The memory is ten seconds, or a hundred samples where they take longer. After a change of the service, three
//! memories of calm samples bring the baseline within 5 % of the new one. Under a long overload a slower service is
//! detected when the limit has fallen by a fifth and the slope is known: after four steps (200 samples) of a service
//! without noise, usually after 4,000 samples of one with exponential times, with half of the throughput left. By
//! chance this may look like a queue once or twice, at the cost of a third of the limit each time, so the measured
//! floor of a prior is useful. A *faster* service is detected only in the first calm period: until then the limit is
//! too high, and response times are at most as before.
//!
//! ## Scope
//! The requests in flight are counted by [`Concurrency`](super::Concurrency), which all cores share; one owner calls
//! this object every 100 ms and sets the limit. Requests of different kinds (a search, a login) need separate limits,
//! because a change of the mix changes the mean. Priority classes with a share below three quarters never fill the
//! limit alone, so it does not grow for them.
//!
//! Related: Netflix's Gradient2 (the form, no growth while the application is the limit), Envoy's adaptive concurrency
//! (√limit as room), Uber's Cinnamon (in flight against throughput).

mod curve;
mod descent;
mod origin;
#[cfg(test)]
mod tests;

pub use curve::Samples;
pub use origin::{Change, Origin, Why};

use crate::SettingsError;
use core::time::Duration;
use curve::{Curve, Full};
use descent::{Descends, Descent, Step};
use units::{Rate, Timestamp};

/// The bounds of an adaptive limit, and prior measurements.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AdaptiveSettings {
    /// The initial limit. Without a prior, choose it too low rather than too high: it grows quickly, but until the
    /// first calm period a response time under overload is taken as the baseline.
    pub initial: u32,
    /// The lower bound, besides the floor of the prior; at least 1.
    pub least: u32,
    /// The upper bound.
    pub most: u32,
    /// The prior measurement.
    pub prior: Option<Prior>,
}

/// A measurement of the service by `find`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prior {
    /// The sustainable rate; above zero.
    pub rate: Rate,
    /// The typical response time in calm; above zero.
    pub response_time: Duration,
    /// How many samples it counts for; each later calm sample replaces one.
    pub weight: u32,
}

impl Prior {
    /// The measured floor: by Little's law fewer than rate × response time in flight cannot carry the rate.
    pub fn floor(&self) -> u32 {
        // A value slightly below a whole number is rounded to it.
        libm::ceil(self.rate * self.response_time - 1e-6).max(1.0) as u32
    }
}

/// A limit that adapts to the service. One owner; see the module's header.
///
/// ```
/// use control::concurrency::{AdaptiveLimit, AdaptiveSettings, Prior, Samples};
/// use std::time::Duration;
/// use units::{Rate, Timestamp};
///
/// // Measured: 107/s at 18.6 ms, so two in flight are the floor.
/// let response_time = Duration::from_micros(18_600);
/// let prior = Some(Prior { rate: Rate::per_second_of(107.0), response_time, weight: 500 });
/// let mut limit = AdaptiveLimit::new(AdaptiveSettings { initial: 12, least: 1, most: 100, prior })?;
///
/// // Twelve in flight, and each takes six times as long: they queue.
/// let mut samples = Samples::default();
/// (0..60).for_each(|_| samples.record(12, Duration::from_millis(112)));
/// let change = limit.step(Timestamp::from_millis(600), &samples).expect("the limit falls");
/// assert!(change.to < 12, "{change}");
/// # Ok::<(), control::SettingsError>(())
/// ```
#[derive(Debug, Clone)]
pub struct AdaptiveLimit {
    least: f64,
    most: f64,
    prior: Option<Prior>,
    /// How many samples the prior still counts for.
    prior_left: f64,
    limit: f64,
    baseline: Option<Baseline>,
    curve: Curve,
    descent: Descent,
    /// Samples since the last step.
    recent: Samples,
    stepped_at: Timestamp,
    seen_at: Timestamp,
    changed: Option<Change>,
}

#[derive(Debug, Clone, Copy)]
struct Baseline {
    seconds: f64,
    /// Whether it is based on calm samples or on a measurement; otherwise on the fastest step so far.
    is_calm: bool,
}

impl AdaptiveLimit {
    /// A limit at its initial value.
    ///
    /// # Errors
    /// Bounds in the wrong order, or a prior without rate or response time.
    pub fn new(settings: AdaptiveSettings) -> Result<Self, SettingsError> {
        let AdaptiveSettings { initial, least, most, prior } = settings;
        if prior.is_some_and(|prior| prior.rate == Rate::ZERO || prior.response_time.is_zero()) {
            return Err(SettingsError::EmptyPrior);
        }
        let floor = prior.map_or(least, |prior| prior.floor().max(least));
        if least == 0 || floor > initial || initial > most {
            return Err(SettingsError::AdaptiveBounds { least: floor, initial, most });
        }
        let seconds = prior.map(|prior| prior.response_time.as_secs_f64());
        Ok(AdaptiveLimit {
            least: f64::from(floor),
            most: f64::from(most),
            prior,
            prior_left: prior.map_or(0.0, |prior| f64::from(prior.weight)),
            limit: f64::from(initial),
            baseline: seconds.map(|seconds| Baseline { seconds, is_calm: true }),
            curve: Curve::default(),
            descent: Descent::default(),
            recent: Samples::default(),
            stepped_at: Timestamp::ZERO,
            seen_at: Timestamp::ZERO,
            changed: None,
        })
    }

    /// Adds the cores' samples since the last call, and changes the limit if there are enough of them. Every 100 ms is
    /// usual; more often is harmless.
    pub fn step(&mut self, now: Timestamp, samples: &Samples) -> Option<Change> {
        self.curve.absorb(now.since(self.seen_at), samples);
        self.seen_at = self.seen_at.max(now);
        self.recent += samples;
        let full = self.recent.full(FULL * self.limit);
        let telling = full.map_or(0, |full| full.count) + self.recent.refused();
        let heard = self.recent.heard();
        let is_long = heard >= LONGEST_STEP_SAMPLES || now.since(self.stepped_at) >= LONGEST_STEP;
        if telling < STEP_SAMPLES && (heard == 0 || !is_long) {
            return None;
        }
        let recent = core::mem::take(&mut self.recent);
        self.stepped_at = now;
        self.learn(&recent);
        let (telling, seen) = match full {
            Some(full) if full.count >= STEP_SAMPLES / 5 => (telling, Some((full, true))),
            _ => (heard, recent.full(0.0).map(|all| (all, false))),
        };
        let (target, why) = match seen {
            Some((seen, is_full)) => self.target(seen, is_full, 1.0 - recent.refused_share()),
            None => (self.limit * (1.0 - recent.refused_share()), Why::Refused),
        };
        let gain = GAIN * (telling as f64 / STEP_SAMPLES as f64).min(1.0);
        let from = self.limit();
        self.limit = (self.limit + (target - self.limit) * gain).clamp(self.least, self.most);
        let to = self.limit();
        if from == to {
            return None;
        }
        let response_time = seen.map_or(Duration::ZERO, |(seen, _)| Duration::from_secs_f64(seen.mean));
        let change = Change { at: now, from, to, why, response_time, baseline: self.baseline() };
        self.changed = Some(change);
        Some(change)
    }

    /// The limit now.
    pub fn limit(&self) -> u32 {
        libm::round(self.limit) as u32
    }

    /// The response time far below the knee, if known.
    pub fn baseline(&self) -> Option<Duration> {
        self.baseline.map(|baseline| Duration::from_secs_f64(baseline.seconds))
    }

    /// The lower bound.
    pub fn least(&self) -> u32 {
        self.least as u32
    }

    /// The origin of the limit's value; [`Origin::Written`] until it has changed.
    pub fn origin(&self) -> Origin {
        match (self.changed, self.prior) {
            (Some(change), _) => Origin::Adapted(change),
            (None, Some(prior)) => Origin::Measured(prior),
            (None, None) => Origin::Written,
        }
    }

    fn learn(&mut self, recent: &Samples) {
        let calm = self.curve.least_loaded(self.limit / 2.0);
        self.prior_left = (self.prior_left - recent.count_up_to(self.limit / 2.0) as f64).max(0.0);
        let measured = self.prior.map_or(0.0, |prior| prior.response_time.as_secs_f64());
        let weight = calm.weight + self.prior_left;
        if weight >= ENOUGH {
            let seconds = (calm.seconds + self.prior_left * measured) / weight;
            self.baseline = Some(Baseline { seconds, is_calm: true });
            return;
        }
        let Some(mean) = recent.full(0.0).map(|all| all.mean) else { return };
        match self.baseline {
            Some(known) if known.is_calm => {}
            Some(known) if known.seconds <= mean => {}
            _ => self.baseline = Some(Baseline { seconds: mean, is_calm: false }),
        }
    }

    /// The target of the limit, and why: from the requests that found the limit (nearly) full, otherwise from all.
    /// `kept` is the share that was not refused.
    fn target(&mut self, seen: Full, is_full: bool, kept: f64) -> (f64, Why) {
        let room = libm::sqrt(self.limit);
        let Some(baseline) = self.baseline else { return (self.limit * kept, Why::Refused) };
        let gradient = |seconds: f64| (TOLERANCE * seconds / seen.mean).min(1.0) * kept;
        let mut lowest = 0.0;
        if !is_full || gradient(baseline.seconds) >= 1.0 {
            self.descent = Descent::default();
        } else {
            match self.descent.take(Step { limit: self.limit, in_flight: seen.in_flight, mean: seen.mean }) {
                Descends::To(limit) => lowest = limit.min(self.limit),
                Descends::InVain(seconds) => {
                    let seconds = seconds.clamp(baseline.seconds, baseline.seconds * HIGHEST_RAISE);
                    self.baseline = Some(Baseline { seconds, is_calm: baseline.is_calm });
                    // Calm samples from before the change are no longer valid.
                    (self.curve, self.prior_left) = (Curve::default(), 0.0);
                    return (self.limit * gradient(seconds) + room, Why::Slower);
                }
            }
        }
        let target = (self.limit * gradient(baseline.seconds) + room).max(lowest);
        if target >= self.limit {
            return (if is_full { target } else { self.limit }, Why::Room);
        }
        (target, if gradient(baseline.seconds) < kept { Why::Queueing } else { Why::Refused })
    }
}

/// Response times up to this multiple of the baseline are not queueing.
const TOLERANCE: f64 = 1.25;
/// The share of the way to its target that the limit moves in one step.
const GAIN: f64 = 0.2;
/// A step waits for this many samples at a full limit; the error of a mean of exponential times is then 14 %.
const STEP_SAMPLES: u64 = 50;
/// If the limit is not full, a step waits for at most this many of the other samples.
const LONGEST_STEP_SAMPLES: u64 = 250;
/// The longest wait of a step; with few samples, its weight is lower.
const LONGEST_STEP: Duration = Duration::from_secs(5);
/// The number of samples that a baseline needs.
const ENOUGH: f64 = 50.0;
/// One descent without effect raises the baseline by at most this.
const HIGHEST_RAISE: f64 = 4.0;
/// The limit counts as full from this share of it on.
const FULL: f64 = 0.75;
