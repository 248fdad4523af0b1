//! Predictive scaling: instances for a load that is forecast, before it comes.
//!
//! Each six hours it forecasts the next 48 hours, hour by hour, from the load so far. Some minutes before an hour it
//! scales out to what that hour needs, and until its end no other policy scales in below that. It never scales in. So
//! the larger of forecast and reactive policies holds.
//!
//! Follows the user guide of Amazon EC2 Auto Scaling, *Predictive scaling*. The vendor's model is not published:
//! [`Forecaster`] is ours.

mod forecast;
mod smoothing;

pub use forecast::{Expected, Forecaster, LEAST_HISTORY, MOST_AHEAD};

use super::PolicyProblem;
use crate::assumption::Assumption;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;
use units::Timestamp;

/// A policy of predictive scaling.
#[derive(Debug, Clone, PartialEq)]
pub struct PredictiveScaling {
    /// The load.
    pub load: Load,
    /// Load that an instance is to have: percent of its processors, or requests a minute; above 0.
    pub target: f64,
    /// Whether it scales (`Mode`).
    pub mode: Mode,
    /// How long before an hour its instances are launched (`SchedulingBufferTime`): below an hour; AWS's default is
    /// five minutes.
    pub buffer: Duration,
    /// What happens where a forecast is above the maximum (`MaxCapacityBreachBehavior`).
    pub above_max: AboveMax,
    /// The load of the whole hours before the controller begins, oldest first: sums over an hour of what
    /// [`Load`] has in a minute. None for hours that were not measured.
    pub history: Arc<[Option<f64>]>,
    /// How far the controller begins into an hour of the clock.
    pub into_hour: Duration,
}

/// The load of a service in a minute, over all its instances.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Load {
    /// Processor use of its instances, added, in percent of one (`ASGTotalCPUUtilization`).
    Cpu,
    /// Requests (`ALBTargetGroupRequestCount`).
    Requests,
}

impl Load {
    /// AWS's name of the pair of load and target.
    pub const fn name(self) -> &'static str {
        match self {
            Load::Cpu => "ASGCPUUtilization",
            Load::Requests => "ALBRequestCount",
        }
    }
}

/// Whether a policy scales.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// It forecasts and does nothing: AWS's default.
    #[default]
    ForecastOnly,
    /// It forecasts and scales out.
    ForecastAndScale,
}

/// What happens where a forecast is above the maximum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AboveMax {
    /// The maximum holds (`HonorMaxCapacity`).
    #[default]
    Honor,
    /// The maximum is raised for that time (`IncreaseMaxCapacity`): to the forecast and this many percent of it, from 0
    /// to 100 (`MaxCapacityBuffer`).
    Increase {
        /// Percent.
        percent: u8,
    },
}

impl PredictiveScaling {
    /// A policy with AWS's defaults, but one that scales.
    pub fn new(load: Load, target: f64) -> Self {
        PredictiveScaling {
            load,
            target,
            mode: Mode::ForecastAndScale,
            buffer: super::settings::FIVE_MINUTES,
            above_max: AboveMax::default(),
            history: Arc::from([]),
            into_hour: Duration::ZERO,
        }
    }

    /// How the load is forecast.
    pub const FORECAST: Assumption = Assumption {
        name: "forecast",
        text: "predictive scaling forecasts with a mean of exponential smoothings and of the same hour of yesterday and \
               last week, each weighted by its errors so far; the vendor does not publish its model",
    };

    /// That nothing scales in below a forecast during its hour.
    pub const FLOOR: Assumption = Assumption {
        name: "forecast as minimum",
        text: "until the end of an hour, other policies do not scale in below its forecast; the vendor publishes that \
               the larger of both holds",
    };

    /// What is wrong with it.
    pub(super) fn problems(&self, mut wrong: impl FnMut(PolicyProblem)) {
        if !(self.target.is_finite() && self.target > 0.0) {
            wrong(PolicyProblem::Target { found: self.target });
        }
        if self.buffer >= HOUR {
            wrong(PolicyProblem::Buffer { found: self.buffer.into() });
        }
        if let AboveMax::Increase { percent } = self.above_max
            && percent > 100
        {
            wrong(PolicyProblem::MaxBuffer { found: percent });
        }
    }
}

/// The capacity that a forecast needs now.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Needed {
    /// Instances.
    pub capacity: u32,
    /// The load forecast, as a mean over the hour of what [`Load`] has in a minute.
    pub load: f64,
    /// What the maximum is raised to; none where it is not.
    pub raised_max: Option<u32>,
}

/// A policy with its forecasts.
#[derive(Debug)]
pub struct Predictive {
    settings: PredictiveScaling,
    forecaster: Forecaster,
    /// The hour of the clock that is measured, its load so far and its minutes.
    hour: u64,
    sum: f64,
    minutes: u32,
    /// The forecast of each hour from this one on.
    made: Option<(u64, Vec<Expected>)>,
}

impl Predictive {
    /// With the history of the settings.
    pub fn new(settings: &PredictiveScaling) -> Self {
        let mut forecaster = Forecaster::new();
        for load in settings.history.iter() {
            forecaster.observe(*load);
        }
        let mut policy =
            Predictive { settings: settings.clone(), forecaster, hour: 0, sum: 0.0, minutes: 0, made: None };
        policy.forecast();
        policy
    }

    /// Takes the load of the minute that ends now.
    pub fn read(&mut self, now: Timestamp, load: Option<f64>) {
        self.pass(self.clock(now - MINUTE));
        if let Some(load) = load {
            self.sum += load;
            self.minutes += 1;
        }
        self.pass(self.clock(now));
    }

    /// The capacity that the hour of `now` needs, or the next one where it begins within the buffer: the larger. None
    /// without a forecast.
    pub fn needed(&self, now: Timestamp) -> Option<Needed> {
        if self.settings.mode == Mode::ForecastOnly {
            return None;
        }
        let (first, forecasts) = self.made.as_ref()?;
        let of = |at: Timestamp| {
            let place = usize::try_from(self.clock(at).checked_sub(*first)?).ok()?;
            forecasts.get(place)
        };
        let loads = [now, now + self.settings.buffer].into_iter().filter_map(of);
        let hourly = loads.map(|expected| expected.load).reduce(f64::max)?;
        let load = hourly / MINUTES;
        let capacity = libm::ceil(load / self.settings.target - TINY).clamp(0.0, f64::from(u32::MAX)) as u32;
        let raised_max = match self.settings.above_max {
            AboveMax::Honor => None,
            AboveMax::Increase { percent } => {
                let extra = u64::from(capacity) * u64::from(percent);
                Some(capacity.saturating_add(u32::try_from(extra.div_ceil(100)).unwrap_or(u32::MAX)))
            }
        };
        Some(Needed { capacity, load, raised_max })
    }

    /// The next time at which the capacity that it needs changes, as far as it is forecast, with that capacity.
    pub fn upcoming(&self, now: Timestamp) -> Option<(Timestamp, u32)> {
        let present = self.needed(now)?.capacity;
        let hour = self.clock(now);
        let begins = |hour: u64| {
            let begin = HOUR.as_nanos() as u64 * hour;
            let early = begin.saturating_sub(self.settings.into_hour.as_nanos() as u64);
            Timestamp::from_nanos(early.saturating_sub(self.settings.buffer.as_nanos() as u64))
        };
        // More is needed some minutes before its hour, less only when the hour before it is over.
        let later = |hour: u64| [begins(hour), begins(hour) + self.settings.buffer];
        let mut times = (hour..hour + MOST_AHEAD as u64).flat_map(later).filter(|at| *at > now);
        times.find_map(|at| {
            let needed = self.needed(at)?.capacity;
            (needed != present).then_some((at, needed))
        })
    }

    /// Its settings.
    pub fn settings(&self) -> &PredictiveScaling {
        &self.settings
    }

    /// The hour of the clock, from that in which the controller begins.
    fn clock(&self, at: Timestamp) -> u64 {
        (at + self.settings.into_hour).as_nanos() / HOUR.as_nanos() as u64
    }

    /// Hours that ended are observed.
    fn pass(&mut self, hour: u64) {
        while self.hour < hour {
            // An hour of which less than half was measured is a gap.
            let load = (self.minutes >= 30).then(|| self.sum / f64::from(self.minutes) * MINUTES);
            self.forecaster.observe(load);
            (self.sum, self.minutes) = (0.0, 0);
            self.hour += 1;
            self.forecast();
        }
    }

    /// Forecasts where there is none, or the last one is six hours old.
    fn forecast(&mut self) {
        if self.made.as_ref().is_some_and(|(first, _)| self.hour - first < REFRESHED) {
            return;
        }
        if self.forecaster.hours() < LEAST_HISTORY {
            return;
        }
        let forecasts: Vec<Expected> =
            (1..=MOST_AHEAD).map_while(|ahead| self.forecaster.expect(ahead)).collect();
        self.made = (!forecasts.is_empty()).then_some((self.hour, forecasts));
    }
}

const MINUTE: Duration = Duration::from_secs(60);
const MINUTES: f64 = 60.0;
const HOUR: Duration = Duration::from_secs(3600);
/// Hours between two forecasts.
const REFRESHED: u64 = 6;
/// A capacity is not rounded up for a rounding error.
const TINY: f64 = 1e-9;

#[cfg(test)]
mod tests;
