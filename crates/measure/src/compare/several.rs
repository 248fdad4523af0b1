//! Comparison of runs with the noise between equal runs.
//!
//! Each run is one observation of each figure. Times and rates are compared as logarithms, because a cause that makes a
//! run slow makes all of its times longer by the same factor; shares, which may be zero, are compared directly. The
//! error of a run is never taken to be less than its own seconds show: two runs that happen to agree to the microsecond
//! do not prove a machine without noise. [`stats::half_widths`] judges all figures jointly.

use super::numbers::{Numbers, Point, time};
use super::{Difference, Quantity, Row};
use crate::histogram::Value;
use crate::interval::{Interval, Refusal};
use stats::{Contrast, half_widths, student_t, student_t_beyond};
use std::time::Duration;

/// The sets of `history` that can be used for the noise: all figures are judged in the same runs, so a run that lacks a
/// compared figure is left out, and so is a set of one run.
pub(super) fn telling<'a>(
    a: &[Numbers],
    b: &[Numbers],
    history: &'a [Vec<Numbers>],
) -> Vec<Vec<&'a Numbers>> {
    let compared = |at: &usize| a.iter().chain(b).all(|run| run.points[*at].is_ok());
    let compared: Vec<usize> = (0..Quantity::ALL.len()).filter(compared).collect();
    let whole = |run: &&Numbers| compared.iter().all(|&at| run.points[at].is_ok());
    let sets = history.iter().map(|set| set.iter().filter(whole).collect::<Vec<_>>());
    sets.filter(|set| set.len() > 1).collect()
}

/// One row for each figure that is not zero in all runs. The sides, or `history`, have at least one repetition.
pub(super) fn rows(a: &[Numbers], b: &[Numbers], history: &[Vec<&Numbers>], risk: f64) -> Vec<Row> {
    let judged: Vec<Judged> = (0..Quantity::ALL.len()).map(|at| Judged::of(at, a, b)).collect();
    let judged: Vec<Judged> = judged.into_iter().filter(|judged| !judged.is_zero()).collect();
    let mut contrasts = Vec::new();
    for each in &judged {
        if let Ok(sides) = &each.sides {
            contrasts.push(sides.contrast(each.at, history));
        }
    }
    let mut widths = half_widths(&contrasts, risk).into_iter().zip(contrasts);
    judged.iter().map(|each| each.row(&mut widths, risk)).collect()
}

struct Judged {
    at: usize,
    sides: Result<Sides, Refusal>,
    /// The numbers of the sides without intervals: what is shown where they are not compared.
    shown: [Result<Interval, Refusal>; 2],
}

struct Sides {
    quantity: Quantity,
    a: Vec<Point>,
    b: Vec<Point>,
}

impl Judged {
    fn of(at: usize, a: &[Numbers], b: &[Numbers]) -> Judged {
        let shown = [shown(at, a), shown(at, b)];
        let side = |side: &[Numbers]| side.iter().map(|run| run.points[at]).collect::<Result<Vec<_>, _>>();
        let (a, b) = (side(a), side(b));
        let sides = match (a, b) {
            (Ok(a), Ok(b)) => Ok(Sides { quantity: Quantity::ALL[at], a, b }),
            (Err(refusal), _) | (_, Err(refusal)) => Err(refusal),
        };
        Judged { at, sides, shown }
    }

    fn is_zero(&self) -> bool {
        let Ok(Sides { quantity, a, b }) = &self.sides else { return false };
        quantity.is_share() && a.iter().chain(b).all(|point| point.value == 0.0)
    }

    fn row(&self, widths: &mut impl Iterator<Item = (f64, Contrast)>, risk: f64) -> Row {
        let quantity = Quantity::ALL[self.at];
        let refused = |refusal| Row {
            quantity,
            a: self.shown[0],
            b: self.shown[1],
            noise: None,
            difference: Err(refusal),
        };
        match &self.sides {
            Err(refusal) => refused(*refusal),
            // There is one contrast for each figure that has sides.
            Ok(sides) => match widths.next() {
                Some((half, contrast)) => sides.row(half, &contrast, risk),
                None => refused(Refusal::Nothing),
            },
        }
    }
}

/// The mean of a number over the runs of a side, marked where a run has few samples above it.
fn shown(at: usize, side: &[Numbers]) -> Result<Interval, Refusal> {
    let quantity = Quantity::ALL[at];
    let mut points = Vec::new();
    let mut fewest = None;
    for run in side {
        points.push(match run.points[at] {
            Err(Refusal::FewSamples(value)) => {
                fewest = std::cmp::min(fewest.or(value.few_above), value.few_above);
                time(value)
            }
            other => other?,
        });
    }
    let estimate = quantity.unscaled(quantity.mean(&points));
    let lower_bound = points.iter().any(|point| point.lower_bound);
    match fewest {
        None => Ok(Point { value: estimate, error: 0.0, lower_bound, of: 0 }.alone()),
        few_above => {
            let at = Duration::try_from_secs_f64(estimate).unwrap_or_default();
            Err(Refusal::FewSamples(Value { at, censored: lower_bound, few_above }))
        }
    }
}

impl Quantity {
    fn scaled(self, value: f64) -> f64 {
        if self.is_share() { value } else { value.max(LEAST).ln() }
    }

    fn unscaled(self, value: f64) -> f64 {
        if self.is_share() { value } else { value.exp() }
    }

    fn mean(self, side: &[Point]) -> f64 {
        side.iter().map(|point| self.scaled(point.value)).sum::<f64>() / side.len() as f64
    }
}

impl Sides {
    fn contrast(&self, at: usize, history: &[Vec<&Numbers>]) -> Contrast {
        let difference = self.quantity.mean(&self.b) - self.quantity.mean(&self.a);
        let mut contrast = Contrast::new(difference, [self.a.len(), self.b.len()], self.floor());
        for side in [&self.a, &self.b] {
            contrast
                .repetitions(&side.iter().map(|point| self.quantity.scaled(point.value)).collect::<Vec<_>>());
        }
        for set in history {
            let values = set.iter().filter_map(|run| run.points[at].ok());
            contrast.repetitions(&values.map(|point| self.quantity.scaled(point.value)).collect::<Vec<_>>());
        }
        contrast
    }

    /// The variation within a run, over all runs together: for a share, the variation due to chance alone.
    fn floor(&self) -> f64 {
        let all = || self.a.iter().chain(&self.b);
        let count = all().count() as f64;
        if !self.quantity.is_share() {
            return (all().map(|point| point.error * point.error).sum::<f64>() / count).sqrt();
        }
        let arrivals: f64 = all().map(|point| point.of as f64).sum();
        let share = all().map(|point| point.value * point.of as f64).sum::<f64>() / arrivals.max(1.0);
        (share * (1.0 - share) * count / arrivals.max(1.0)).sqrt()
    }

    fn row(&self, half: f64, contrast: &Contrast, risk: f64) -> Row {
        let freedom = contrast.freedom() as f64;
        let t = student_t(risk, freedom);
        let deviation = contrast.deviation().max(self.floor());
        let (a, b) = (self.quantity.mean(&self.a), self.quantity.mean(&self.b));
        let [bound_a, bound_b] = [&self.a, &self.b].map(|side| side.iter().any(|point| point.lower_bound));
        let side = |mean: f64, runs: usize, lower_bound: bool| {
            let half = t * deviation / (runs as f64).sqrt();
            let high = if lower_bound { f64::INFINITY } else { self.limit(mean + half) };
            Ok(Interval {
                estimate: self.quantity.unscaled(mean),
                low: self.limit(mean - half),
                high,
                lower_bound,
            })
        };
        // As the limits of a ratio, times the first side's number.
        let first = self.quantity.unscaled(a);
        let apart = |difference: f64| match self.quantity.is_share() {
            true => difference,
            false => first * difference.exp_m1(),
        };
        let interval = Interval {
            estimate: apart(b - a),
            low: if bound_a { f64::NEG_INFINITY } else { apart(b - a - half) },
            high: if bound_b { f64::INFINITY } else { apart(b - a + half) },
            lower_bound: bound_b,
        };
        let ratio = (first > 0.0 && !bound_a && !bound_b).then(|| self.quantity.unscaled(b) / first);
        let difference = Difference {
            interval,
            ratio,
            confidence: 1.0 - student_t_beyond(half / contrast.error().max(f64::MIN_POSITIVE), freedom),
            finding: self.quantity.finding(&interval),
            too_small: false,
        };
        Row {
            quantity: self.quantity,
            a: side(a, self.a.len(), bound_a),
            b: side(b, self.b.len(), bound_b),
            noise: Some(contrast.deviation()),
            difference: Ok(difference),
        }
    }

    fn limit(&self, value: f64) -> f64 {
        if self.quantity.is_share() { value.clamp(0.0, 1.0) } else { self.quantity.unscaled(value) }
    }
}

/// A time below a microsecond, and a rate of zero, have no logarithm.
const LEAST: f64 = 1e-6;
