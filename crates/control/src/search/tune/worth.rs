//! What a candidate is worth, and by what candidates are ordered.
//!
//! ## Why aims
//! Beside the best within the bounds, a reader wants to see what more minutes outside the goal would save, and what faster
//! responses would cost. A weighted sum of the objectives finds no points in a hollow of that curve, and its weights have
//! no meaning. So each point of the curve is a search of its own: the lowest cost with at most so many minutes outside the
//! goal and at most this response time.
//!
//! The method of bounded objectives: Haimes, Lasdon and Wismer, *On a Bicriterion Formulation of the Problems of Integrated
//! System Identification and System Optimization*, 1971.

use core::cmp::Ordering;

/// The value of a candidate: lower is better.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Worth {
    /// How far it is beyond the bounds; 0 if it is within all of them, infinite if it is not possible.
    pub excess: f64,
    /// What it costs; above 0.
    pub cost: f64,
    /// Minutes outside the goal; infinite if it is no point that a reader would want.
    pub outside: f64,
    /// Its response time, in seconds.
    pub p95: f64,
}

/// A point of the frontier to look for: the lowest cost within this.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Aim {
    /// Minutes outside the goal.
    pub outside: f64,
    /// The response time, in seconds.
    pub p95: f64,
}

/// By what candidates are ordered.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Order {
    /// The excess first, then the cost.
    Strict,
    /// What is missed of an aim first, then the cost.
    Aimed(Aim),
}

impl Worth {
    /// Whether it is no worse than another, as far as simulations can show.
    pub(super) fn is_as_good_as(self, other: Worth) -> bool {
        self.excess <= other.excess + 1e-9 && self.cost <= other.cost * (1.0 + NOTHING)
    }
}

impl Aim {
    /// The share by which a candidate misses it.
    pub(super) fn missed(self, worth: &Worth) -> f64 {
        let over = |found: f64, bound: f64, scale: f64| match bound.is_finite() {
            true => (found - bound).max(0.0) / (bound + scale),
            false if found.is_finite() => 0.0,
            false => f64::INFINITY,
        };
        let missed = over(worth.outside, self.outside, 1.0) + over(worth.p95, self.p95, 1e-3);
        if worth.excess.is_finite() { missed } else { f64::INFINITY }
    }
}

impl Order {
    pub(super) fn compare(self, one: &Worth, other: &Worth) -> Ordering {
        let first = |worth: &Worth| match self {
            Order::Strict => worth.excess,
            Order::Aimed(aim) => aim.missed(worth),
        };
        first(one).total_cmp(&first(other)).then_with(|| one.cost.total_cmp(&other.cost))
    }
}

/// What saves less than this share of the cost brings nothing.
pub(super) const NOTHING: f64 = 0.003;
