//! A percentile of a mixture of points of which only a few quantiles are known.
//!
//! A point's distribution is interpolated linearly between its minimum, its known quantiles and its maximum. The
//! mixture's quantile is the value at which the counts below it, summed over the points, reach its share: found by
//! bisection, because the sum is monotone.

use super::Point;
use units::Quantile;

/// One point.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part<'a> {
    pub(super) point: Point,
    /// The values at the known quantiles.
    pub(super) values: &'a [f64],
}

/// The quantile of all samples together.
pub(super) fn quantile<'a>(
    wanted: Quantile,
    known: &[Quantile],
    parts: impl Iterator<Item = Part<'a>> + Clone,
    all: Point,
) -> f64 {
    let mut rest = parts.clone();
    if let (Some(only), None) = (rest.next(), rest.next()) {
        return only.quantile(known, wanted.get());
    }
    let (mut low, mut high) = (all.least, all.most);
    for _ in 0..HALVINGS {
        let middle = 0.5 * (low + high);
        let below: f64 = parts.clone().map(|part| part.point.count * part.share_below(known, middle)).sum();
        if below < wanted.get() * all.count { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

impl Part<'_> {
    /// The value at a share.
    fn quantile(&self, known: &[Quantile], wanted: f64) -> f64 {
        let (mut share, mut at) = (0.0, self.point.least);
        for (next_share, next) in self.knots(known) {
            let next = next.max(at);
            if wanted <= next_share {
                return at + (next - at) * (wanted - share) / (next_share - share);
            }
            (share, at) = (next_share, next);
        }
        self.point.most
    }

    /// The share of the samples that are not above `value`.
    fn share_below(&self, known: &[Quantile], value: f64) -> f64 {
        let (mut share, mut at) = (0.0, self.point.least);
        if value < at {
            return 0.0;
        }
        for (next_share, next) in self.knots(known) {
            let next = next.max(at);
            if value < next {
                return share + (next_share - share) * (value - at) / (next - at);
            }
            (share, at) = (next_share, next);
        }
        1.0
    }

    /// Shares and values, up to the maximum. Values that were measured separately may not be in rising order: the
    /// caller takes at least the previous one.
    fn knots(&self, known: &[Quantile]) -> impl Iterator<Item = (f64, f64)> {
        let inner = known.iter().map(|quantile| quantile.get()).zip(self.values.iter().copied());
        inner.chain(core::iter::once((1.0, self.point.most)))
    }
}

/// Enough for 12 digits.
const HALVINGS: u32 = 40;
