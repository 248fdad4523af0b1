//! The distribution of a minute's times, as a few of its quantiles.

use stats::Sketch;

/// Parts of a distribution: the share at which each ends, and the quantile that stands for it. The usual quantiles
/// (50, 75, 90, 95, 99) stand for the parts that they lie in, so that they come out as they went in.
const PARTS: [(f64, f64); 13] = [
    (0.10, 0.05),
    (0.30, 0.20),
    (0.45, 0.375),
    (0.55, 0.50),
    (0.70, 0.625),
    (0.80, 0.75),
    (0.87, 0.835),
    (0.93, 0.90),
    (0.97, 0.95),
    (0.985, 0.978),
    (0.995, 0.99),
    (0.999, 0.997),
    (1.0, 0.9995),
];

/// Times in seconds, one for each part.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Shape([f32; PARTS.len()]);

impl Shape {
    /// That of a sketch; nothing where it is empty.
    pub(super) fn of(sketch: &Sketch) -> Self {
        Shape(PARTS.map(|(_, share)| sketch.quantile(share).unwrap_or(0.0) as f32))
    }

    /// Between two: `towards` 0 is this one, 1 the other.
    pub(super) fn between(self, other: Shape, towards: f32) -> Self {
        let mut between = self;
        for (mine, theirs) in between.0.iter_mut().zip(other.0) {
            *mine += towards * (theirs - *mine);
        }
        between
    }

    /// Counts so many requests, each later by `delay` seconds, but none later than `longest`. Parts of requests are
    /// kept in `rest` until they are whole: a share of 0.1 % of ten requests is one of every thousand.
    pub(super) fn fill(
        self,
        sketch: &mut Sketch,
        requests: f64,
        delay: f64,
        longest: f64,
        rest: &mut [f64; PARTS.len()],
    ) {
        let mut from = 0.0;
        for (((up_to, _), time), rest) in PARTS.into_iter().zip(self.0).zip(rest) {
            let part = requests * (up_to - from) + *rest;
            from = up_to;
            // Which requests of a part come first is chance; this is as good as any.
            let whole = (part + 0.5).floor().max(0.0);
            *rest = part - whole;
            sketch.record_many((f64::from(time) + delay).min(longest), whole as u32);
        }
    }
}

/// Of each part of a [`Shape`], what was not counted yet.
pub(super) type Rest = [f64; PARTS.len()];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_quantiles_come_out_as_they_went_in() {
        let mut rng = stats::Rng::new(5, "shape");
        let mut sketch = Sketch::new();
        (0..20_000).for_each(|_| sketch.record(0.1 * rng.exponential()));
        let mut filled = Sketch::new();
        // In pieces, which must add up to the same.
        let mut rest = Rest::default();
        for requests in [3.3, 12_000.0, 41.7, 300.0] {
            Shape::of(&sketch).fill(&mut filled, requests, 0.0, f64::INFINITY, &mut rest);
        }
        assert!(filled.count().abs_diff(12_345) <= 6, "{}", filled.count());
        for share in [0.5, 0.75, 0.9, 0.95, 0.99] {
            let (found, expected) = (filled.quantile(share), sketch.quantile(share));
            let (found, expected) = (found.expect("values"), expected.expect("values"));
            assert!((found / expected - 1.0).abs() < 0.009, "p{share}: {found} for {expected}");
        }
    }
}
