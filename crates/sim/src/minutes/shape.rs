//! The distribution of a minute's times, as a few quantiles.

use stats::{Rng, Sketch};

/// Parts of a distribution: the share at which each ends, and the quantile that represents it. The usual quantiles (50,
/// 75, 90, 95, 99) represent the parts that contain them, so that they are preserved.
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
    /// The shape of a sketch; zero where it is empty.
    pub(super) fn of(sketch: &Sketch) -> Self {
        Shape(PARTS.map(|(_, share)| sketch.quantile(share).unwrap_or(0.0) as f32))
    }

    /// Interpolates: `towards` 0 is this one, 1 the other.
    pub(super) fn between(self, other: Shape, towards: f32) -> Self {
        let mut between = self;
        for (mine, theirs) in between.0.iter_mut().zip(other.0) {
            *mine += towards * (theirs - *mine);
        }
        between
    }

    /// With the times of these parts.
    pub(super) fn from_parts(time: impl Fn(usize) -> f32) -> Self {
        Shape(std::array::from_fn(time))
    }

    /// The time of a part.
    pub(super) fn part(self, part: usize) -> f32 {
        self.0[part]
    }

    /// Each time changes by the factor between two others.
    pub(super) fn scaled(self, from: Shape, to: Shape) -> Self {
        Shape(std::array::from_fn(|part| self.0[part] * ratio(from.0[part], to.0[part])))
    }

    /// Counts this many requests, each later by `delay` seconds, but none later than `longest`. Fractions of requests
    /// are kept in `rest` until they are whole.
    ///
    /// Each part of the distribution gets its share, as far as whole requests permit. With `chance` each request is
    /// drawn independently, so that the quantiles of few requests vary as they should.
    pub(super) fn fill(
        self,
        sketch: &mut Sketch,
        requests: f64,
        delay: f64,
        longest: f64,
        rest: &mut Rest,
        chance: Option<&mut Rng>,
    ) {
        let count = whole(requests, &mut rest.requests);
        let mut record = |time: f32, count: u64| {
            sketch.record_many((f64::from(time) + delay).min(longest), count as u32);
        };
        if let Some(rng) = chance.filter(|_| count <= MOST_DRAWN) {
            for _ in 0..count {
                let drawn = rng.uniform();
                let part = PARTS.iter().position(|(up_to, _)| drawn < *up_to).unwrap_or(PARTS.len() - 1);
                record(self.0[part], 1);
            }
            return;
        }
        // The position of the first request among equal steps: all positions in turn.
        rest.phase = (rest.phase + GOLDEN).fract();
        let mut before = 0;
        for ((up_to, _), time) in PARTS.into_iter().zip(self.0) {
            let up_to = (up_to * count as f64 + rest.phase) as u64;
            if up_to > before {
                record(time, up_to - before);
                before = up_to;
            }
        }
    }
}

/// The factor between two extrapolated values, within bounds.
pub(super) fn ratio(from: f32, to: f32) -> f32 {
    if from > 0.0 { (to / from).clamp(0.25, 4.0) } else { 1.0 }
}

/// The rest that one [`Shape::fill`] passes to the next.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Rest {
    /// The fraction of a request that was not counted yet.
    requests: f64,
    phase: f64,
}

/// The whole requests of this number; the rest counts with the next.
pub(super) fn whole(requests: f64, rest: &mut f64) -> u64 {
    let all = requests + *rest;
    *rest = all.fract();
    all as u64
}

/// With more requests than this, each part gets its share anyway.
const MOST_DRAWN: u64 = 200;
/// The fraction of the golden ratio: its multiples fill the unit interval most evenly.
const GOLDEN: f64 = 0.618_033_988_749_894_9;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_quantiles_come_out_as_they_went_in() {
        let mut rng = Rng::new(5, "shape");
        let mut sketch = Sketch::new();
        (0..20_000).for_each(|_| sketch.record(0.1 * rng.exponential()));
        let mut filled = Sketch::new();
        // In pieces, which must add up to the same.
        let mut rest = Rest::default();
        for requests in [3.3, 12_000.0, 41.7, 300.0] {
            Shape::of(&sketch).fill(&mut filled, requests, 0.0, f64::INFINITY, &mut rest, None);
        }
        assert!(filled.count().abs_diff(12_345) <= 1, "{}", filled.count());
        for share in [0.5, 0.75, 0.9, 0.95, 0.99] {
            let (found, expected) = (filled.quantile(share), sketch.quantile(share));
            let (found, expected) = (found.expect("values"), expected.expect("values"));
            assert!((found / expected - 1.0).abs() < 0.009, "p{share}: {found} for {expected}");
        }
    }

    #[test]
    fn as_many_are_counted_as_there_were_however_few_at_a_time() {
        let mut rng = Rng::new(5, "shape");
        let mut sketch = Sketch::new();
        (0..20_000).for_each(|_| sketch.record(0.1 * rng.exponential()));
        let shape = Shape::of(&sketch);
        let drawn = &mut Rng::new(6, "few");
        for mut chance in [None, Some(drawn)] {
            let (mut filled, mut rest) = (Sketch::new(), Rest::default());
            for piece in 1..=40_000_u64 {
                let chance = chance.as_deref_mut();
                shape.fill(&mut filled, 0.7, 0.0, f64::INFINITY, &mut rest, chance);
                assert!((filled.count() as f64 - 0.7 * piece as f64).abs() <= 1.0, "{piece}");
            }
            for share in [0.5, 0.95, 0.99] {
                let (found, expected) = (filled.quantile(share), sketch.quantile(share));
                let (found, expected) = (found.expect("values"), expected.expect("values"));
                assert!((found / expected - 1.0).abs() < 0.03, "p{share}: {found} for {expected}");
            }
        }
    }
}
