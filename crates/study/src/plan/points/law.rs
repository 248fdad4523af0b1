//! The scalability law of points: replicas that it gives, and its document.

use crate::plan::search::fewest;
use crate::plan::{CONFIDENCE, REPLICAS_MAX};
use documents::plan::{Interval, Law};
use measure::scalability::{Estimate, Fit, Refusal};

/// Replicas by the law: the fewest that are plausible, those of the curve, and the most; none if the curve does not
/// reach the rate.
pub(in crate::plan) fn by_law(fit: &Fit, rate: f64) -> (Option<u32>, Option<u32>, Option<u32>) {
    // Beyond the peak, more replicas carry less.
    let most = fit.law().peak().map_or(f64::from(REPLICAS_MAX), |peak| peak.concurrency.ceil());
    let most = (most as u32).clamp(1, REPLICAS_MAX);
    let within = |of: &dyn Fn(f64) -> Option<f64>| {
        fewest(1, most, |replicas| of(f64::from(replicas)).is_some_and(|found| found >= rate))
    };
    let ends = |replicas: f64| fit.throughput_interval(replicas, CONFIDENCE);
    match within(&|replicas| Some(fit.law().throughput(replicas))) {
        None => (None, None, None),
        some => (
            within(&|replicas| ends(replicas).map(|(_, high)| high)),
            some,
            within(&|replicas| ends(replicas).map(|(low, _)| low)),
        ),
    }
}

/// The fitted law as a document.
pub(in crate::plan) fn law(fit: &Fit, of: &'static str) -> Law {
    let interval = |found: Estimate| {
        let ends = found.interval(CONFIDENCE);
        Interval {
            value: found.value,
            low: ends.map(|(low, _)| low.max(0.0)),
            high: ends.map(|(_, high)| high),
        }
    };
    let share = |found: Estimate| {
        let found = interval(found);
        Interval { high: found.high.map(|high| high.min(1.0)), ..found }
    };
    let peak = fit.peak().map_err(|refusal| refused(&refusal, of)).and_then(|peak| {
        let (low, high) = peak.interval(CONFIDENCE);
        let found = Interval { value: peak.concurrency, low: Some(low), high: Some(high) };
        if high <= WIDEST * low {
            Ok(found)
        } else {
            Err("the points do not determine where it is".to_owned())
        }
    });
    Law {
        of,
        contention: share(fit.alpha()),
        coherency: share(fit.beta()),
        alone_per_second: interval(fit.gamma()),
        peak: peak.as_ref().ok().copied(),
        refused: peak.err(),
    }
}

/// Why the law is not trusted, or has no peak.
pub(super) fn refused(refusal: &Refusal, of: &str) -> String {
    match refusal {
        Refusal::TooFewPoints { found, needed } => {
            format!("{found} points differ in {of}, and the law needs {needed} to be trusted")
        }
        other => other.to_string(),
    }
}

/// A peak whose interval is wider than this factor is not shown.
const WIDEST: f64 = 4.0;
