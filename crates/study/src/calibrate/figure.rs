//! An estimate with its interval.

use stats::{LongRun, student_t};

/// The confidence of every interval of a calibration.
pub const CONFIDENCE: f64 = 0.90;
/// A figure whose interval is wider than this share of it, to either side, is unknown.
pub const WIDEST: f64 = 0.25;

/// An estimate with its interval of 90 %, in the unit of the figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Figure {
    /// The estimate.
    pub value: f64,
    /// The lower limit.
    pub low: f64,
    /// The upper limit.
    pub high: f64,
}

impl Figure {
    /// An estimate with an interval to both sides.
    pub fn new(value: f64, half_width: f64) -> Self {
        Figure { value, low: value - half_width, high: value + half_width }
    }

    /// Whether the interval is narrow enough for the figure to be used: at most [`WIDEST`] to either side.
    pub fn is_known(&self) -> bool {
        self.value > 0.0 && (self.high - self.value).max(self.value - self.low) <= WIDEST * self.value
    }

    /// Half the width of the interval.
    pub fn half_width(&self) -> f64 {
        (self.high - self.low) / 2.0
    }

    /// The difference of two estimates that vary independently.
    pub fn minus(&self, other: &Figure) -> Self {
        Figure::new(self.value - other.value, self.half_width().hypot(other.half_width()))
    }

    /// The ratio of two sums over consecutive spans, such as processor time a request. Its error is that of the residuals
    /// of the spans, correlated as they are (ratio estimator: Cochran, *Sampling Techniques*, chapter 6).
    pub fn ratio(spans: &[(f64, f64)]) -> Option<Self> {
        let (above, below) = spans.iter().fold((0.0, 0.0), |sum, span| (sum.0 + span.0, sum.1 + span.1));
        if below <= 0.0 {
            return None;
        }
        let value = above / below;
        let mean = below / spans.len() as f64;
        let residuals: Vec<f64> = spans.iter().map(|span| (span.0 - value * span.1) / mean).collect();
        let run = LongRun::of(&residuals)?;
        Some(Figure::new(value, student_t(1.0 - CONFIDENCE, run.freedom) * run.variance.sqrt()))
    }
}
