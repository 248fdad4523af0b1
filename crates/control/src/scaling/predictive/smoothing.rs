//! Exponential smoothing with a season and a damped trend, robust against outliers.
//!
//! The additive form of Holt and Winters with a damped trend (Gardner and McKenzie, 1985); an error beyond some typical
//! errors counts as that many (Gelper, Fried and Croux, *Robust forecasting with exponential and Holt-Winters
//! smoothing*, 2010), so that a flash crowd or an outage does not become part of the season.

use alloc::vec::Vec;
use libm::{exp, fabs, log};

/// How quickly a smoothing follows the load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Speed {
    /// Share of an error that moves the level.
    pub(super) level: f64,
    /// Share of the level's movement that moves the trend.
    pub(super) trend: f64,
    /// Share of the rest of an error that moves the season.
    pub(super) season: f64,
}

/// What is smoothed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scale {
    /// The load: the season adds to it.
    Linear,
    /// Its logarithm: the season multiplies it. Loads below 1 count as 1.
    Logarithmic,
}

/// One smoothing.
#[derive(Debug, Clone)]
pub(super) struct Smoothing {
    speed: Speed,
    scale: Scale,
    /// The length of the season in hours.
    pub(super) period: usize,
    state: Option<State>,
}

#[derive(Debug, Clone)]
struct State {
    level: f64,
    trend: f64,
    /// By hour since the beginning of the history, modulo the period.
    season: Vec<f64>,
    /// A smoothed absolute error.
    error: f64,
}

/// The trend loses this share of itself each hour.
const DAMPING: f64 = 0.98;
/// Errors beyond this many typical ones count as that many.
const CLIP: f64 = 4.0;
/// The share of a new error in the typical one.
const ERROR_SPEED: f64 = 0.02;
/// From a mean absolute error to a standard deviation of the normal distribution: the square root of pi / 2.
const MEAN_TO_DEVIATION: f64 = 1.253_314_137_315_5;

impl Smoothing {
    pub(super) fn new(period: usize, scale: Scale, speed: Speed) -> Self {
        Smoothing { speed, scale, period, state: None }
    }

    /// Begins with the first period of the history.
    pub(super) fn begin(&mut self, first: &[f64]) {
        let values: Vec<f64> = first.iter().map(|load| self.scale.of(*load)).collect();
        let level = values.iter().sum::<f64>() / values.len().max(1) as f64;
        let season: Vec<f64> = values.iter().map(|value| value - level).collect();
        let mut distances: Vec<f64> = season.iter().map(|distance| fabs(*distance)).collect();
        distances.sort_unstable_by(f64::total_cmp);
        let error = distances.get(distances.len() / 2).copied().unwrap_or(0.0) + f64::EPSILON;
        self.state = Some(State { level, trend: 0.0, season, error });
    }

    /// Takes the load of the hour of this index.
    pub(super) fn observe(&mut self, hour: usize, load: f64) {
        let value = self.scale.of(load);
        let Speed { level, trend, season } = self.speed;
        let Some(state) = &mut self.state else { return };
        let slot = &mut state.season[hour % self.period];
        let moved = DAMPING * state.trend;
        let error = value - (state.level + moved + *slot);
        let bound = CLIP * state.error;
        let counted = error.clamp(-bound, bound);
        state.error = (1.0 - ERROR_SPEED) * state.error
            + ERROR_SPEED * MEAN_TO_DEVIATION * fabs(error).min(3.0 * bound);
        state.level += moved + level * counted;
        state.trend = moved + level * trend * counted;
        *slot += season * (1.0 - level) * counted;
    }

    /// The load expected in the hour of this index, which is as far ahead of the newest one as [`damped`] was told.
    pub(super) fn expect(&self, hour: usize, damped: f64) -> Option<f64> {
        let state = self.state.as_ref()?;
        let value = state.level + state.trend * damped + state.season[hour % self.period];
        Some(self.scale.back(value))
    }
}

/// How many times the trend adds to the level until so many hours ahead.
pub(super) fn damped(ahead: usize) -> f64 {
    DAMPING * (1.0 - libm::pow(DAMPING, ahead as f64)) / (1.0 - DAMPING)
}

impl Scale {
    fn of(self, load: f64) -> f64 {
        match self {
            Scale::Linear => load,
            Scale::Logarithmic => log(load.max(1.0)),
        }
    }

    fn back(self, value: f64) -> f64 {
        match self {
            Scale::Linear => value.max(0.0),
            // Beyond any load, and below what overflows.
            Scale::Logarithmic => exp(value.min(60.0)),
        }
    }
}
