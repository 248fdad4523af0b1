//! The model against trials that were kept out of the fit.
//!
//! ## What the interval is made of
//! The prediction is simulated many times, each time with other random numbers, for the length of the trial, and with
//! figures drawn from their intervals: so it has the chance of the trial and the errors of the figures in it. What the
//! model leaves out is added as a floor.
//!
//! A prediction whose interval is wider than 25 % to either side on average is unknown: a trial with so few requests
//! cannot tell a right model from a wrong one.

use super::figure::{Figure, WIDEST};
use super::fit::Fitted;
use super::measure::Trial;
use super::model::{Load, Model, predict};
use stats::Rng;
use units::Quantile;

/// What is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// Responses a second.
    Throughput,
    /// The median of response times, in milliseconds.
    P50,
    /// The 95th percentile, in milliseconds.
    P95,
    /// The 99th percentile, in milliseconds.
    P99,
    /// Processor use, in cores.
    Cpu,
}

/// A figure of a trial, predicted and measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Compared {
    /// The figure.
    pub what: What,
    /// The rate of the trial, in requests a second.
    pub rate: f64,
    /// Its load.
    pub load: Load,
    /// What the model predicts, with an interval of 90 %.
    pub predicted: Figure,
    /// What was measured.
    pub measured: f64,
}

impl Compared {
    /// The prediction, if its interval is narrow enough to say something; `None`: it is unknown.
    pub fn known(&self) -> Option<Figure> {
        Some(self.predicted).filter(|figure| figure.half_width() <= WIDEST * figure.value)
    }

    /// How far the prediction is off, as a share of what was measured.
    pub fn off(&self) -> f64 {
        self.predicted.value / self.measured - 1.0
    }

    /// Whether the interval holds what was measured.
    pub fn holds(&self) -> bool {
        (self.predicted.low..=self.predicted.high).contains(&self.measured)
    }
}

/// The comparison was ended by the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stopped;

/// Predicts each trial, and sets what was measured beside it. `progress` gets the share that is done, many times, and
/// returns whether to go on.
///
/// # Errors
/// If `progress` ends it; the trials until then are in `compared`.
pub fn backtest(
    fitted: &Fitted,
    trials: &[Trial],
    compared: &mut Vec<Compared>,
    progress: &mut dyn FnMut(f64) -> bool,
) -> Result<(), Stopped> {
    let work: Vec<f64> = trials.iter().map(|trial| Effort::of(trial).requests()).collect();
    let whole = work.iter().sum::<f64>().max(f64::MIN_POSITIVE);
    let mut done = 0.0;
    for (trial, work) in trials.iter().zip(work) {
        let found = compare(fitted, trial, &mut |share| progress((done + share * work) / whole))?;
        compared.extend(found);
        done += work;
    }
    Ok(())
}

/// How much of a trial is simulated.
struct Effort {
    seconds: f64,
    rate: f64,
    /// Simulations of its length.
    runs: u64,
    /// The length of the prediction itself, in seconds.
    long: f64,
}

impl Effort {
    /// At high rates, fewer simulations and a shorter prediction are as exact: they have more requests.
    fn of(trial: &Trial) -> Self {
        let seconds = trial.slices.iter().map(|slice| slice.seconds).sum::<f64>().max(1.0);
        let rate = trial.rate.max(f64::MIN_POSITIVE);
        let requests = seconds * rate;
        let runs = ((ENOUGH / requests) as u64).clamp(RUNS_LEAST, RUNS);
        Effort { seconds, rate, runs, long: (seconds * LONGER).min((ENOUGH / 2.0 / rate).max(seconds)) }
    }

    fn requests(&self) -> f64 {
        self.rate * (self.seconds * self.runs as f64 + self.long)
    }
}

fn compare(
    fitted: &Fitted,
    trial: &Trial,
    progress: &mut dyn FnMut(f64) -> bool,
) -> Result<Vec<Compared>, Stopped> {
    let effort = Effort::of(trial);
    let mut rng = Rng::new(1, "backtest");
    let load = trial.load;
    let share = effort.rate * effort.seconds / effort.requests();
    let mut runs: Vec<[f64; 5]> = Vec::new();
    for run in 0..effort.runs {
        if !progress(run as f64 * share) {
            return Err(Stopped);
        }
        runs.push(figures(&drawn(fitted, &mut rng), load, effort.seconds, run));
    }
    let long = figures(&fitted.model, load, effort.long, RUNS + 1);
    let quantile = |at: Quantile| trial.times.quantile(at).map(|value| 1e3 * value.at.as_secs_f64());
    let quantile = |at: Quantile| quantile(at).filter(|_| !trial.at_limit);
    let measured = [
        (What::Throughput, trial.throughput().map(|figure| figure.value)),
        (What::P50, quantile(Quantile::P50)),
        (What::P95, quantile(Quantile::P95)),
        (What::P99, quantile(Quantile::P99)),
        (What::Cpu, trial.cores().map(|figure| figure.value)),
    ];
    let compared = measured.into_iter().enumerate().filter_map(|(place, (what, measured))| {
        let mut found: Vec<f64> = runs.iter().map(|run| run[place]).collect();
        found.sort_by(f64::total_cmp);
        // A model that predicts no response has no times.
        let value = Some(long[place]).filter(|value| value.is_finite())?;
        let floor = FLOOR * value;
        let end = |share: f64| found[(share * (found.len() - 1) as f64).round() as usize];
        let (below, above) =
            ((value - end(0.05)).max(0.0).hypot(floor), (end(0.95) - value).max(0.0).hypot(floor));
        let predicted = Figure { value, low: value - below, high: value + above };
        Some(Compared { what, rate: trial.rate, load, predicted, measured: measured? })
    });
    Ok(compared.collect())
}

fn figures(model: &Model, load: Load, seconds: f64, seed: u64) -> [f64; 5] {
    let found = predict(model, load, seconds, seed);
    let quantile = |share| found.times.quantile(share).map_or(f64::NAN, |time| 1e3 * time);
    [found.per_second, quantile(0.50), quantile(0.95), quantile(0.99), found.cores]
}

/// A model with figures drawn from their intervals.
fn drawn(fitted: &Fitted, rng: &mut Rng) -> Model {
    let mut factor = |figure: Figure| {
        let deviation = figure.half_width() / NORMAL_90 / figure.value.max(f64::MIN_POSITIVE);
        (1.0 + deviation * rng.normal()).clamp(0.5, 2.0)
    };
    let cpu = fitted.cpu.map_or(1.0, &mut factor);
    let wait = factor(fitted.wait);
    fitted.model.scaled(cpu, wait)
}

/// Simulations of a trial.
const RUNS: u64 = 60;
/// The fewest, at high rates.
const RUNS_LEAST: u64 = 20;
/// Requests of all simulations of a trial after which more of them add little.
const ENOUGH: f64 = 4e6;
/// The prediction itself is simulated for so many times the length.
const LONGER: f64 = 10.0;
/// What the model leaves out, as a share of the prediction.
const FLOOR: f64 = 0.03;
/// The half-width of a normal distribution's interval of 90 %, in standard deviations.
const NORMAL_90: f64 = 1.645;
