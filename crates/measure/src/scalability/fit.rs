//! The law fitted to measured points, with the errors of its parameters, and its refusals.

use super::law::{Law, Peak};
use super::solve::{Best, Three, best, slopes, times};
use libm::{exp, sqrt};
use stats::student_t;
use std::fmt;
use units::Ratio;

/// The throughput measured at a concurrency.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Requests in flight, users or processors; above 0.
    pub concurrency: f64,
    /// Responses a second.
    pub throughput: f64,
}

/// The law fitted to measured points.
#[derive(Debug, Clone, PartialEq)]
pub struct Fit {
    law: Law,
    free: [bool; 3],
    /// For residuals of variance 1.
    covariance: Option<[Three; 3]>,
    residuals: Vec<f64>,
    /// Sum of squared residuals.
    squares: f64,
    /// Sum of squared distances from the mean.
    spread: f64,
    levels: usize,
    /// The highest concurrency, and the highest throughput, which may be from different points.
    highest: Point,
    /// Mean throughput at the highest concurrency.
    last: f64,
}

/// A parameter of the law, with its error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The value.
    pub value: f64,
    /// Its standard error; `None` at a bound, and if there are only as many points as parameters.
    pub standard_error: Option<f64>,
    freedom: u32,
}

/// The concurrency with the highest throughput, as far as the points show it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PeakEstimate {
    /// Requests in flight.
    pub concurrency: f64,
    /// Responses a second.
    pub throughput: f64,
    /// Standard error of the logarithm of `concurrency`.
    log_error: f64,
    freedom: u32,
}

/// The law cannot be fitted to these points.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum FitError {
    /// A point that is not a possible measurement.
    #[error(
        "point {place}: {concurrency} in flight and {throughput} responses a second; the first has to be above 0, the second 0 or more"
    )]
    Point {
        /// Counted from 1.
        place: usize,
        /// Its concurrency.
        concurrency: f64,
        /// Its throughput.
        throughput: f64,
    },
    /// Three parameters need three different concurrencies.
    #[error(
        "{found} concurrencies were measured; the scalability law has three numbers and needs at least {LEAST_LEVELS}"
    )]
    TooFewLevels {
        /// How many there are.
        found: usize,
    },
    /// All throughputs are zero.
    #[error("no point has a response")]
    NothingCameOut,
}

/// Why a fit gives no parameters, or no peak.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Refusal {
    /// Three parameters fit almost any few points.
    TooFewPoints {
        /// Different concurrencies.
        found: usize,
        /// How many are needed.
        needed: usize,
    },
    /// Throughput does not fall, so the law has no peak.
    CoherencyAtBound,
    /// The peak would be an extrapolation.
    BeyondRange {
        /// Where the peak would be.
        peak: f64,
        /// The highest measured concurrency.
        highest: f64,
    },
    /// Throughput at the end is no lower than at its best, so the bend is a plateau: a service with a fixed number of
    /// slots, or a generator at its limit.
    LevelsOff {
        /// The highest throughput.
        best: f64,
        /// The throughput at the highest concurrency.
        last: f64,
    },
    /// The points deviate too far from any such law.
    PoorFit {
        /// Standard error of the residuals over the highest throughput.
        error: f64,
        /// The largest accepted value.
        bound: f64,
    },
    /// The points do not determine the parameters.
    Undetermined,
}

/// Fits the law to points: least squares of throughput, contention from 0 to 1, coherency 0 or more.
///
/// Several points at one concurrency are allowed. Points may be in any order.
///
/// # Errors
/// An invalid point, fewer than three different concurrencies, or no response at all.
pub fn fit(points: &[Point]) -> Result<Fit, FitError> {
    for (place, &Point { concurrency, throughput }) in points.iter().enumerate() {
        let possible = concurrency > 0.0 && throughput >= 0.0 && (concurrency + throughput).is_finite();
        if !possible {
            return Err(FitError::Point { place: place + 1, concurrency, throughput });
        }
    }
    let levels = levels(points);
    if levels < LEAST_LEVELS {
        return Err(FitError::TooFewLevels { found: levels });
    }
    let most = |of: fn(&Point) -> f64| points.iter().map(of).fold(0.0, f64::max);
    let highest =
        Point { concurrency: most(|point| point.concurrency), throughput: most(|point| point.throughput) };
    if highest.throughput == 0.0 {
        return Err(FitError::NothingCameOut);
    }
    let Best { law, free, squares, covariance } = best(points);
    let mean = points.iter().map(|point| point.throughput).sum::<f64>() / points.len() as f64;
    let off =
        |from: &dyn Fn(&Point) -> f64| points.iter().map(|point| point.throughput - from(point)).collect();
    let residuals: Vec<f64> = off(&|point| law.throughput(point.concurrency));
    let from_mean: Vec<f64> = off(&|_| mean);
    let spread = from_mean.iter().map(|off| off * off).sum();
    let last: Vec<f64> = points
        .iter()
        .filter(|point| point.concurrency == highest.concurrency)
        .map(|point| point.throughput)
        .collect();
    let last = last.iter().sum::<f64>() / last.len() as f64;
    Ok(Fit { law, free, covariance, residuals, squares, spread, levels, highest, last })
}

fn levels(points: &[Point]) -> usize {
    let mut all: Vec<f64> = points.iter().map(|point| point.concurrency).collect();
    all.sort_by(f64::total_cmp);
    all.dedup();
    all.len()
}

impl Fit {
    /// The law that fits best. Beyond the measured points it is an extrapolation; see [`Fit::peak`].
    pub fn law(&self) -> &Law {
        &self.law
    }

    /// Contention.
    pub fn alpha(&self) -> Estimate {
        self.estimate(0, self.law.alpha())
    }

    /// Coherency.
    pub fn beta(&self) -> Estimate {
        self.estimate(1, self.law.beta())
    }

    /// Responses a second at a concurrency of one.
    pub fn gamma(&self) -> Estimate {
        self.estimate(2, self.law.gamma())
    }

    /// The highest concurrency that was measured.
    pub fn highest_concurrency(&self) -> f64 {
        self.highest.concurrency
    }

    /// The number of points minus the number of free parameters.
    pub fn degrees_of_freedom(&self) -> u32 {
        let numbers = self.free.iter().filter(|free| **free).count();
        self.residuals.len().saturating_sub(numbers) as u32
    }

    /// Measured minus fitted throughput, in the order of the points.
    pub fn residuals(&self) -> &[f64] {
        &self.residuals
    }

    /// Standard error of the residuals, in responses a second; `None` without degrees of freedom.
    pub fn residual_standard_error(&self) -> Option<f64> {
        let freedom = self.degrees_of_freedom();
        (freedom > 0).then(|| sqrt(self.squares / f64::from(freedom)))
    }

    /// Share of the variance of throughput that the law explains, at most 1.
    pub fn r_squared(&self) -> f64 {
        if self.spread == 0.0 { 1.0 } else { 1.0 - self.squares / self.spread }
    }

    /// The confidence interval of the law's throughput at a concurrency (confidence between 0 and 1); first-order error
    /// propagation. `None` if the errors are not known.
    pub fn throughput_interval(&self, concurrency: f64, confidence: Ratio) -> Option<(f64, f64)> {
        let variance = self.variance(&slopes(&self.law, concurrency))?;
        let value = self.law.throughput(concurrency);
        let freedom = self.degrees_of_freedom();
        Estimate { value, standard_error: Some(sqrt(variance)), freedom }.interval(confidence)
    }

    /// Whether the parameters describe the service.
    ///
    /// # Errors
    /// Too few points, points that follow no such law, or that do not determine its parameters.
    pub fn trusted(&self) -> Result<(), Refusal> {
        if self.levels < LEAST_POINTS {
            return Err(Refusal::TooFewPoints { found: self.levels, needed: LEAST_POINTS });
        }
        let known = self.residual_standard_error().filter(|_| self.covariance.is_some());
        let error = known.ok_or(Refusal::Undetermined)? / self.highest.throughput;
        if error > POOR { Err(Refusal::PoorFit { error, bound: POOR }) } else { Ok(()) }
    }

    /// The concurrency with the highest throughput.
    ///
    /// # Errors
    /// The parameters are not [trusted](Fit::trusted), or the points do not show a peak, and why.
    pub fn peak(&self) -> Result<PeakEstimate, Refusal> {
        self.trusted()?;
        let Some(Peak { concurrency, throughput }) = self.law.peak() else {
            return Err(Refusal::CoherencyAtBound);
        };
        if concurrency > self.highest.concurrency {
            return Err(Refusal::BeyondRange { peak: concurrency, highest: self.highest.concurrency });
        }
        let (best, last) = (self.highest.throughput, self.last);
        if self.residual_standard_error().is_none_or(|error| best - last <= error) {
            return Err(Refusal::LevelsOff { best, last });
        }
        // Of ln N = (ln (1 − α) − ln β) / 2.
        let slopes = [-0.5 / (1.0 - self.law.alpha()), -0.5 / self.law.beta(), 0.0];
        let log_error = self.variance(&slopes).map(sqrt).filter(|error| error.is_finite());
        let log_error = log_error.ok_or(Refusal::Undetermined)?;
        Ok(PeakEstimate { concurrency, throughput, log_error, freedom: self.degrees_of_freedom() })
    }

    fn estimate(&self, place: usize, value: f64) -> Estimate {
        let mut along = [0.0; 3];
        along[place] = 1.0;
        let standard_error = self.variance(&along).filter(|_| self.free[place]).map(sqrt);
        Estimate { value, standard_error, freedom: self.degrees_of_freedom() }
    }

    /// The variance of a quantity that depends on the three parameters with these slopes.
    fn variance(&self, slopes: &Three) -> Option<f64> {
        let error = self.residual_standard_error()?;
        let turned = times(&self.covariance?, slopes);
        let scaled: f64 = turned.iter().zip(slopes).map(|(one, other)| one * other).sum();
        Some(scaled.max(0.0) * error * error)
    }
}

impl Estimate {
    /// The confidence interval of the value (confidence above 0, below 1), for normal errors; `None` if its error is
    /// not known.
    pub fn interval(&self, confidence: Ratio) -> Option<(f64, f64)> {
        let t = student_t(1.0 - confidence.get(), f64::from(self.freedom));
        self.standard_error.map(|error| (self.value - t * error, self.value + t * error))
    }
}

impl PeakEstimate {
    /// The confidence interval of the peak's concurrency (confidence above 0, below 1). First-order error propagation
    /// of its logarithm, so that it stays above 0.
    pub fn interval(&self, confidence: Ratio) -> (f64, f64) {
        let factor = exp(student_t(1.0 - confidence.get(), f64::from(self.freedom)) * self.log_error);
        (self.concurrency / factor, self.concurrency * factor)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::TooFewPoints { found, needed } => {
                write!(f, "{found} concurrencies were measured, and the scalability law needs {needed}")
            }
            Refusal::CoherencyAtBound => f.write_str("throughput did not fall, so no peak can be seen"),
            Refusal::BeyondRange { peak, highest } => {
                write!(f, "the peak would lie at {peak:.0}, beyond the {highest:.0} that were measured")
            }
            Refusal::LevelsOff { .. } => {
                f.write_str("throughput levels off and does not fall, so no peak can be seen")
            }
            Refusal::PoorFit { error, bound } => write!(
                f,
                "the points are {:.0} % off the scalability law, and more than {:.0} % is no fit",
                error * 100.0,
                bound * 100.0
            ),
            Refusal::Undetermined => f.write_str("the points do not tell contention from coherency"),
        }
    }
}

/// The law has three parameters.
const LEAST_LEVELS: usize = 3;
/// Different concurrencies needed for a peak. With three parameters to find, fewer leave less than half of the points
/// to contradict them; usl4j requires as many before it fits at all.
pub const LEAST_POINTS: usize = 6;
/// A larger residual error, as a share of the highest throughput, is not a fit. The published ones are at 5 % and
/// below.
const POOR: f64 = 0.1;
