//! The load of the next two days, hour by hour, from the hours so far.
//!
//! ## Why many small models
//! Which model of a season is right depends on the service and changes with it: a day's shape or a week's, one that
//! adds or one that multiplies, one that follows quickly or slowly. So each of a grid of exponential smoothings, and
//! the same hour of yesterday and of last week, forecasts every hour; each is weighted by how far off it was lately, for
//! each distance ahead on its own. The bands come from the forecasts' own errors and are widened and narrowed until they
//! hold as often as they should (adaptive conformal inference: Gibbs and Candès, 2021). No model of the errors is assumed.
//!
//! A gap gives no information. An outlier moves a model by a bounded amount. A holiday is both an outlier and, in the weights,
//! a reason to follow what happens now in place of last week.

use super::smoothing::{Scale, Smoothing, Speed, damped};
use alloc::vec::Vec;
use libm::{fabs, floor};

/// Hours of history from which on there are forecasts.
pub const LEAST_HISTORY: usize = DAY;
/// The most hours that are forecast ahead.
pub const MOST_AHEAD: usize = 48;

const DAY: usize = 24;
const WEEK: usize = 168;

/// The distances ahead, in hours, whose errors are kept: another has those of the next longer one.
const TRACKED: [usize; 8] = [1, 2, 3, 6, 12, 24, 36, MOST_AHEAD];
/// An error of an hour ago has this weight.
const MEMORY: f64 = 0.985;
/// Errors of the newest two weeks make the band.
const KEPT: usize = 2 * WEEK;
/// With fewer errors, the band is from half of the forecast to twice it.
const FEWEST: usize = 12;
/// The share of loads on each side of the band.
const TAIL: f64 = 0.05;
/// How quickly the band adapts.
const ADAPTS: f64 = 0.02;

/// The load of an hour that is to come.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Expected {
    /// The load expected.
    pub load: f64,
    /// It is at least this with a probability of 95 %.
    pub low: f64,
    /// It is at most this with a probability of 95 %.
    pub high: f64,
}

/// Forecasts a load whose season is the day, the week or both.
///
/// Its input is the load of each hour in a unit of which an hour has many, such as requests: a load below 1 counts as 1
/// in the models that multiply.
///
/// ```
/// use control::scaling::predictive::Forecaster;
///
/// let mut forecaster = Forecaster::new();
/// for hour in 0..72 {
///     forecaster.observe(Some(if hour % 24 < 12 { 1000.0 } else { 3000.0 }));
/// }
/// let (night, day) = (forecaster.expect(6).unwrap(), forecaster.expect(18).unwrap());
/// assert!((night.load - 1000.0).abs() < 10.0 && (day.load - 3000.0).abs() < 30.0);
/// ```
#[derive(Debug, Clone)]
pub struct Forecaster {
    /// The loads of the newest week, gaps filled; by hour modulo a week.
    recent: Vec<f64>,
    /// Hours so far.
    hours: usize,
    /// Whether one of them was measured.
    is_measured: bool,
    models: Vec<Model>,
    /// By distance, as [`TRACKED`].
    distances: Vec<Distance>,
}

#[derive(Debug, Clone)]
enum Model {
    /// The same hour so many hours before.
    Same(usize),
    Smooth(Smoothing),
}

/// Forecasts of one distance ahead.
#[derive(Debug, Clone)]
struct Distance {
    ahead: usize,
    /// Forecasts of each model that wait for their hour, by hour modulo the distance; NaN for none.
    waiting: Vec<f64>,
    /// The forecasts and bands that wait for their hour.
    combined: Vec<Option<Expected>>,
    /// The discounted sum of absolute errors of each model, and of their count.
    errors: Vec<(f64, f64)>,
    /// Load divided by forecast, newest last in the sense of `next`.
    ratios: Vec<f64>,
    next: usize,
    /// The quantiles, counted from their ends, that hold [`TAIL`] on each side.
    tails: (f64, f64),
}

impl Default for Forecaster {
    fn default() -> Self {
        Self::new()
    }
}

impl Forecaster {
    /// Without history.
    pub fn new() -> Self {
        let mut models = alloc::vec![Model::Same(DAY), Model::Same(WEEK)];
        for level in [0.05, 0.2, 0.5, 0.9] {
            for season in [0.02, 0.1, 0.3] {
                for trend in [0.0, 0.1] {
                    for period in [DAY, WEEK] {
                        let speed = Speed { level, trend, season };
                        for scale in [Scale::Linear, Scale::Logarithmic] {
                            models.push(Model::Smooth(Smoothing::new(period, scale, speed)));
                        }
                    }
                }
            }
        }
        let distances = TRACKED.map(|ahead| Distance::new(ahead, models.len()));
        let recent = alloc::vec![0.0; WEEK];
        Forecaster { recent, hours: 0, is_measured: false, models, distances: Vec::from(distances) }
    }

    /// Hours so far.
    pub fn hours(&self) -> usize {
        self.hours
    }

    /// Takes the load of the next hour; none where it was not measured. A load that is negative or no number is none.
    pub fn observe(&mut self, load: Option<f64>) {
        let load = load.filter(|load| load.is_finite() && *load >= 0.0);
        let hour = self.hours;
        if let (Some(load), false) = (load, self.is_measured) {
            // Hours before the first one that was measured are not hours without load.
            self.recent[..hour.min(WEEK)].fill(load);
            self.is_measured = true;
        }
        if let Some(load) = load {
            for distance in &mut self.distances {
                distance.score(hour, load);
            }
        }
        let filled = load.or_else(|| self.same(hour, WEEK)).or_else(|| self.same(hour, DAY));
        let filled = filled.or_else(|| self.same(hour, 1)).unwrap_or(0.0);
        self.hours += 1;
        let recent = &mut self.recent;
        recent[hour % WEEK] = filled;
        for model in &mut self.models {
            let Model::Smooth(smoothing) = model else { continue };
            if self.hours == smoothing.period {
                smoothing.begin(&recent[..smoothing.period]);
            } else if let Some(load) = load {
                smoothing.observe(hour, load);
            }
        }
        for index in 0..self.distances.len() {
            let ahead = self.distances[index].ahead;
            let forecasts = self.of_models(ahead);
            let distance = &mut self.distances[index];
            let combined = distance.combine(&forecasts).map(|load| distance.with_band(load));
            distance.wait(hour + ahead, &forecasts, combined);
        }
    }

    /// What is expected `ahead` hours after the newest one, from 1 to [`MOST_AHEAD`]; none with less than
    /// [`LEAST_HISTORY`] or beyond that.
    pub fn expect(&self, ahead: usize) -> Option<Expected> {
        if ahead == 0 {
            return None;
        }
        let distance = self.distances.iter().find(|distance| distance.ahead >= ahead)?;
        let forecasts = self.of_models(ahead);
        Some(distance.with_band(distance.combine(&forecasts)?))
    }

    /// The forecast of each model; NaN without one.
    fn of_models(&self, ahead: usize) -> Vec<f64> {
        let (hour, damped) = ((self.hours + ahead).saturating_sub(1), damped(ahead));
        let of = |model: &Model| match model {
            // Two days ahead, yesterday is not known yet: the day before is.
            Model::Same(period) => self.same(hour, period * ahead.div_ceil(*period)),
            Model::Smooth(smoothing) => smoothing.expect(hour, damped),
        };
        self.models.iter().map(|model| of(model).unwrap_or(f64::NAN)).collect()
    }

    /// The load so many hours before this one, where it is among the recent ones.
    fn same(&self, hour: usize, before: usize) -> Option<f64> {
        let then = hour.checked_sub(before)?;
        (then < self.hours && self.hours - then <= WEEK).then(|| self.recent[then % WEEK])
    }
}

impl Distance {
    fn new(ahead: usize, models: usize) -> Self {
        Distance {
            ahead,
            waiting: alloc::vec![f64::NAN; ahead * models],
            combined: alloc::vec![None; ahead],
            errors: alloc::vec![(0.0, 0.0); models],
            ratios: Vec::new(),
            next: 0,
            tails: (TAIL, TAIL),
        }
    }

    /// Compares the forecasts of this hour with its load.
    fn score(&mut self, hour: usize, load: f64) {
        let slot = hour % self.ahead;
        let models = self.errors.len();
        let waiting = &self.waiting[slot * models..(slot + 1) * models];
        for ((sum, count), forecast) in self.errors.iter_mut().zip(waiting) {
            if !forecast.is_nan() {
                *sum = MEMORY * *sum + fabs(forecast - load);
                *count = MEMORY * *count + 1.0;
            }
        }
        let Some(combined) = self.combined[slot] else { return };
        if self.ratios.len() >= FEWEST {
            let adapted = |tail: f64, missed: bool| tail + ADAPTS * (TAIL - f64::from(u8::from(missed)));
            self.tails.0 = adapted(self.tails.0, load < combined.low).clamp(-0.5, 0.5);
            self.tails.1 = adapted(self.tails.1, load > combined.high).clamp(-0.5, 0.5);
        }
        let ratio = load / combined.load.max(1.0);
        if self.ratios.len() < KEPT {
            self.ratios.push(ratio);
        } else {
            self.ratios[self.next] = ratio;
            self.next = (self.next + 1) % KEPT;
        }
    }

    /// Keeps the forecasts of an hour until it has passed.
    fn wait(&mut self, hour: usize, forecasts: &[f64], combined: Option<Expected>) {
        let slot = hour % self.ahead;
        self.waiting[slot * forecasts.len()..(slot + 1) * forecasts.len()].copy_from_slice(forecasts);
        self.combined[slot] = combined;
    }

    /// The mean of the forecasts, weighted by how small the errors of their models are against the smallest. None
    /// without a forecast.
    fn combine(&self, forecasts: &[f64]) -> Option<f64> {
        let known = || forecasts.iter().zip(&self.errors).filter(|(forecast, _)| !forecast.is_nan());
        let mean = |(sum, count): (f64, f64)| sum / count;
        let scored = |(_, error): &(&f64, &(f64, f64))| error.1 > 0.0;
        let best = known().filter(scored).map(|(_, error)| mean(*error)).reduce(f64::min);
        let longest = self.errors.iter().map(|(_, count)| *count).fold(0.0, f64::max);
        let weight = |(sum, count): (f64, f64)| match best {
            None => 1.0,
            Some(_) if count <= 0.0 => 0.0,
            Some(best) => {
                let share = (best + f64::MIN_POSITIVE) / (mean((sum, count)) + f64::MIN_POSITIVE);
                // The eighth power: twice the error, a 256th of the weight.
                let fourth = share * share * share * share;
                fourth * fourth * (count / longest)
            }
        };
        let (total, weights) = known().fold((0.0, 0.0), |(total, weights), (forecast, error)| {
            let weight = weight(*error);
            (total + weight * forecast, weights + weight)
        });
        (weights > 0.0).then(|| total / weights)
    }

    /// A forecast with its band.
    fn with_band(&self, load: f64) -> Expected {
        if self.ratios.len() < FEWEST {
            return Expected { load, low: load / 2.0, high: load * 2.0 };
        }
        let mut ratios = self.ratios.clone();
        ratios.sort_unstable_by(f64::total_cmp);
        let base = load.max(1.0);
        let (low, high) = (quantile(&ratios, self.tails.0), quantile(&ratios, 1.0 - self.tails.1));
        Expected { load, low: (low * base).clamp(0.0, load), high: (high * base).max(load) }
    }
}

/// The quantile of sorted values, interpolated. Beyond both ends it goes on from 1 by as many times the outermost value's
/// distance to 1 as the share is beyond the end.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let (Some(first), Some(last)) = (sorted.first(), sorted.last()) else { return 1.0 };
    if share <= 0.0 {
        return 1.0 - (1.0 - first) * (1.0 - share * BEYOND);
    }
    if share >= 1.0 {
        return 1.0 + (last - 1.0) * (1.0 + (share - 1.0) * BEYOND);
    }
    let place = share * (sorted.len() - 1) as f64;
    let below = floor(place) as usize;
    let next = sorted[(below + 1).min(sorted.len() - 1)];
    sorted[below] + (next - sorted[below]) * (place - below as f64)
}

/// How far a band goes beyond all errors so far where even these did not hold.
const BEYOND: f64 = 10.0;
