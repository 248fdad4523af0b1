//! What a trial compares: a measure of a route, the unit of its effect, and which differences matter.

use core::fmt;
use libm::{expm1, log};
use stats::Interval;
use units::Quantile;

/// Identifies a route: a small, dense number from the reader of the configuration, which also keeps the names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct RouteId(pub u16);

/// What is measured in a block. Values have any unit; it is the same for all arms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Figure {
    /// A quantile of the response time.
    ResponseTime(Quantile),
    /// The mean time in which a request waits for a worker of the service or for a core, in seconds.
    QueueTime,
    /// The share (0 to 1) of requests without a good response. It is 1 if no request had a response.
    Errors,
    /// Processor time of a request.
    ProcessorTime,
    /// Memory of the service.
    Memory,
    /// Anything else; the caller knows what it is.
    Other(u16),
}

/// How the values of two arms are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// By the logarithm of their ratio, for values above 0. The effect is relative: 0.03 is 3 % more than the control.
    Ratio,
    /// By their difference, in the unit of the values: for shares, which may be 0.
    Difference,
}

/// Which values are better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// Lower ones.
    Lower,
    /// Higher ones.
    Higher,
}

/// A measure of a trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measure {
    /// What is measured.
    pub figure: Figure,
    /// The route; `None` for all of them together.
    pub route: Option<RouteId>,
    /// How arms are compared.
    pub effect: Effect,
    /// Which values are better.
    pub better: Better,
    /// Effects up to this are called the same (in the unit of the effect, above 0).
    pub margin: f64,
    /// Whether only an effect beyond the margin is one. A process has its memory for as long as it lives, and blocks of the same
    /// processes then repeat one comparison; and a time in a queue within the margin matters to nobody.
    pub beyond_margin: bool,
    /// A candidate that is worse by more than this is stopped; `None` for a measure that stops none.
    pub harm: Option<f64>,
}

impl Measure {
    /// A measure of all routes with the defaults: margins of 1 % for ratios, 0.1 percentage points for errors and 1 ms for
    /// times in a queue, which may be 0; errors guard with a harm of 1 percentage point.
    pub fn new(figure: Figure) -> Self {
        let errors = figure == Figure::Errors;
        Measure {
            figure,
            route: None,
            effect: match figure {
                Figure::Errors | Figure::QueueTime => Effect::Difference,
                _ => Effect::Ratio,
            },
            better: Better::Lower,
            margin: if errors || figure == Figure::QueueTime { 0.001 } else { 0.01 },
            beyond_margin: false,
            harm: errors.then_some(0.01),
        }
    }

    /// The distance that [`stats::Centre`] adds up: `None` where one of the values is missing or has no logarithm.
    pub(super) fn difference(&self, control: Option<f64>, candidate: Option<f64>) -> Option<f64> {
        let difference = self.distance(candidate?)? - self.distance(control?)?;
        difference.is_finite().then_some(difference)
    }

    /// Where a value lies on the scale of distances; `None` where it has no logarithm.
    pub fn distance(&self, value: f64) -> Option<f64> {
        let at = if self.effect == Effect::Ratio { log(value) } else { value };
        at.is_finite().then_some(at)
    }

    /// A distance in the unit of the effect.
    pub(super) fn shown(&self, distance: f64) -> f64 {
        match self.effect {
            Effect::Ratio => expm1(distance),
            Effect::Difference => distance,
        }
    }

    /// The margin as distances.
    pub(super) fn margins(&self) -> Interval {
        match self.effect {
            Effect::Ratio => {
                Interval { low: libm::log1p(-self.margin.min(ALMOST_ALL)), high: libm::log1p(self.margin) }
            }
            Effect::Difference => Interval { low: -self.margin, high: self.margin },
        }
    }

    /// Distances that may be no effect.
    pub(super) fn without_effect(&self) -> Interval {
        if self.beyond_margin { self.margins() } else { Interval { low: 0.0, high: 0.0 } }
    }

    /// By how much the candidate is worse at least, in the unit of the effect; negative if it may be better.
    pub(super) fn worse_by(&self, distances: Interval) -> f64 {
        match self.better {
            Better::Lower => self.shown(distances.low),
            Better::Higher => -self.shown(distances.high),
        }
    }

    /// Distances below this are nearly ties, in blocks of this many requests.
    pub(super) fn resolution(&self, requests: u64) -> f64 {
        match (self.effect, self.figure) {
            (Effect::Ratio, _) => FINEST_RATIO,
            (Effect::Difference, Figure::QueueTime) => FINEST_SECONDS,
            // One request.
            (Effect::Difference, _) => 1.0 / requests.max(1) as f64,
        }
    }
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.figure {
            Figure::ResponseTime(quantile) => write!(f, "response time {quantile}"),
            Figure::QueueTime => f.write_str("queue time"),
            Figure::Errors => f.write_str("errors"),
            Figure::ProcessorTime => f.write_str("processor time"),
            Figure::Memory => f.write_str("memory"),
            Figure::Other(number) => write!(f, "measure {number}"),
        }
    }
}

/// Equal ratios to the sixth digit are equal.
const FINEST_RATIO: f64 = 1e-6;
/// Equal times to the microsecond are equal.
const FINEST_SECONDS: f64 = 1e-6;
/// A relative margin of 1 and more has no lower end.
const ALMOST_ALL: f64 = 0.999;
