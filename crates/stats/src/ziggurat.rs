//! Exponential and normal draws by the ziggurat method: one table look-up and one multiplication for 99 of 100.
//!
//! ## Why not the inverse
//! A simulation draws tens of millions of times a second; a logarithm for each would be a sixth of its time.
//!
//! ## Why the tables are constants
//! They are computed by the compiler from arithmetic that is exact everywhere, so there is nothing to initialise and
//! the digits are the same on every machine.
//!
//! Marsaglia and Tsang, "The ziggurat method for generating random variables", 2000: the area under the density is
//! covered by 256 layers of equal area; a point of a layer that is inside the next one is under the density.

/// Layers.
const LAYERS: usize = 256;

/// Where a layer ends, and the density there; the base comes first.
struct Table {
    x: [f64; LAYERS + 1],
    f: [f64; LAYERS + 1],
}

/// Where the tail of the exponential density begins, and the area of a layer.
const EXPONENTIAL_TAIL: f64 = 7.697_117_470_131_05;
const EXPONENTIAL_AREA: f64 = 3.949_659_822_581_572e-3;
/// The same of the normal density (without its factor).
const NORMAL_TAIL: f64 = 3.654_152_885_361_009;
const NORMAL_AREA: f64 = 4.928_673_233_974_655e-3;

static EXPONENTIAL: Table = exponential_table();
static NORMAL: Table = normal_table();

/// Exponentially distributed with mean 1.
#[inline]
pub(crate) fn exponential(mut bits: impl FnMut() -> u64) -> f64 {
    let word = bits();
    let layer = (word & 0xff) as usize;
    let x = unit(word) * EXPONENTIAL.x[layer];
    if x < EXPONENTIAL.x[layer + 1] { x } else { exponential_slowly(layer, x, bits) }
}

#[cold]
fn exponential_slowly(mut layer: usize, mut x: f64, mut bits: impl FnMut() -> u64) -> f64 {
    // The tail has the same distribution as the whole.
    let mut beyond = 0.0;
    loop {
        if x < EXPONENTIAL.x[layer + 1] {
            return beyond + x;
        }
        if layer == 0 {
            beyond += EXPONENTIAL_TAIL;
        } else {
            let (below, above) = (EXPONENTIAL.f[layer], EXPONENTIAL.f[layer + 1]);
            if below + (above - below) * unit(bits()) < libm::exp(-x) {
                return beyond + x;
            }
        }
        let word = bits();
        layer = (word & 0xff) as usize;
        x = unit(word) * EXPONENTIAL.x[layer];
    }
}

/// Normally distributed with mean 0 and standard deviation 1.
#[inline]
pub(crate) fn normal(mut bits: impl FnMut() -> u64) -> f64 {
    let word = bits();
    let layer = (word & 0xff) as usize;
    let x = (2.0 * unit(word) - 1.0) * NORMAL.x[layer];
    if x.abs() < NORMAL.x[layer + 1] { x } else { normal_slowly(layer, x, bits) }
}

#[cold]
fn normal_slowly(mut layer: usize, mut x: f64, mut bits: impl FnMut() -> u64) -> f64 {
    loop {
        if x.abs() < NORMAL.x[layer + 1] {
            return x;
        }
        if layer == 0 {
            loop {
                let far = -libm::log1p(-unit(bits())) / NORMAL_TAIL;
                let high = -libm::log1p(-unit(bits()));
                if 2.0 * high > far * far {
                    return if x < 0.0 { -NORMAL_TAIL - far } else { NORMAL_TAIL + far };
                }
            }
        }
        let (below, above) = (NORMAL.f[layer], NORMAL.f[layer + 1]);
        if below + (above - below) * unit(bits()) < libm::exp(-0.5 * x * x) {
            return x;
        }
        let word = bits();
        layer = (word & 0xff) as usize;
        x = (2.0 * unit(word) - 1.0) * NORMAL.x[layer];
    }
}

/// Uniform from 0 (inclusive) to 1 (exclusive), of the upper 53 bits; the lower eight choose the layer.
#[inline]
fn unit(word: u64) -> f64 {
    (word >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
}

const fn exponential_table() -> Table {
    let mut table = Table { x: [0.0; LAYERS + 1], f: [1.0; LAYERS + 1] };
    table.f[1] = exp(-EXPONENTIAL_TAIL);
    table.x[0] = EXPONENTIAL_AREA / table.f[1];
    table.f[0] = exp(-table.x[0]);
    table.x[1] = EXPONENTIAL_TAIL;
    let mut at = 2;
    while at < LAYERS {
        let density = EXPONENTIAL_AREA / table.x[at - 1] + table.f[at - 1];
        table.x[at] = -ln(density);
        table.f[at] = density;
        at += 1;
    }
    table
}

const fn normal_table() -> Table {
    let mut table = Table { x: [0.0; LAYERS + 1], f: [1.0; LAYERS + 1] };
    table.f[1] = exp(-0.5 * NORMAL_TAIL * NORMAL_TAIL);
    table.x[0] = NORMAL_AREA / table.f[1];
    table.f[0] = exp(-0.5 * table.x[0] * table.x[0]);
    table.x[1] = NORMAL_TAIL;
    let mut at = 2;
    while at < LAYERS {
        let density = NORMAL_AREA / table.x[at - 1] + table.f[at - 1];
        table.x[at] = sqrt(-2.0 * ln(density));
        table.f[at] = density;
        at += 1;
    }
    table
}

/// For the compiler only: `libm` is not constant.
const fn ln(x: f64) -> f64 {
    let bits = x.to_bits();
    let exponent = ((bits >> 52) as i64 - 1023) as f64;
    let mantissa = f64::from_bits((bits & ((1 << 52) - 1)) | (1023 << 52));
    let part = (mantissa - 1.0) / (mantissa + 1.0);
    let (mut term, mut sum, mut n) = (part, 0.0, 1);
    while n < 80 {
        sum += term / n as f64;
        term *= part * part;
        n += 2;
    }
    exponent * core::f64::consts::LN_2 + 2.0 * sum
}

const fn exp(x: f64) -> f64 {
    let halvings = (x / core::f64::consts::LN_2) as i64;
    let rest = x - halvings as f64 * core::f64::consts::LN_2;
    let (mut term, mut sum, mut n) = (1.0, 0.0, 1);
    while n < 30 {
        sum += term;
        term *= rest / n as f64;
        n += 1;
    }
    sum * f64::from_bits(((1023 + halvings) as u64) << 52)
}

const fn sqrt(x: f64) -> f64 {
    let mut root = if x > 1.0 { x } else { 1.0 };
    let mut n = 0;
    while n < 60 {
        root = 0.5 * (root + x / root);
        n += 1;
    }
    root
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rng;

    #[test]
    fn the_layers_close_at_the_top() {
        for (table, area) in [(&EXPONENTIAL, EXPONENTIAL_AREA), (&NORMAL, NORMAL_AREA)] {
            let last = table.x[LAYERS - 1];
            let top = area / last + table.f[LAYERS - 1];
            assert!((top - 1.0).abs() < 1e-9, "the uppermost layer ends at {top}");
            assert!(table.x.is_sorted_by(|a, b| a > b) && table.f.is_sorted_by(|a, b| a < b));
        }
    }

    #[test]
    fn exponential_draws_have_the_right_distribution() {
        let mut rng = Rng::new(5, "ziggurat");
        let n = 2_000_000;
        let (mut sum, mut squares, mut beyond) = (0.0, 0.0, [0_u32; 11]);
        for _ in 0..n {
            let draw = rng.exponential_fast();
            assert!(draw >= 0.0);
            sum += draw;
            squares += draw * draw;
            beyond.iter_mut().enumerate().for_each(|(at, count)| *count += u32::from(draw > at as f64));
        }
        let n = f64::from(n);
        assert!((sum / n - 1.0).abs() < 0.003, "mean {}", sum / n);
        assert!((squares / n - 2.0).abs() < 0.01, "second moment {}", squares / n);
        for (at, count) in beyond.iter().enumerate() {
            let expected = libm::exp(-(at as f64)) * n;
            let off = (f64::from(*count) - expected) / libm::sqrt(expected);
            assert!(off.abs() < 4.5, "{count} beyond {at}, {expected} expected");
        }
    }

    #[test]
    fn normal_draws_have_the_right_distribution() {
        let mut rng = Rng::new(6, "ziggurat");
        let n = 2_000_000;
        let (mut sum, mut squares, mut fourth, mut beyond) = (0.0, 0.0, 0.0, [0_u32; 5]);
        for _ in 0..n {
            let draw = rng.normal_fast();
            sum += draw;
            squares += draw * draw;
            fourth += draw * draw * draw * draw;
            beyond.iter_mut().enumerate().for_each(|(at, count)| *count += u32::from(draw.abs() > at as f64));
        }
        let n = f64::from(n);
        assert!((sum / n).abs() < 0.003, "mean {}", sum / n);
        assert!((squares / n - 1.0).abs() < 0.005, "variance {}", squares / n);
        assert!((fourth / n - 3.0).abs() < 0.04, "fourth moment {}", fourth / n);
        for (at, count) in beyond.iter().enumerate().skip(1) {
            let expected = libm::erfc(at as f64 / core::f64::consts::SQRT_2) * n;
            let off = (f64::from(*count) - expected) / libm::sqrt(expected);
            assert!(off.abs() < 4.5, "{count} beyond {at}, {expected} expected");
        }
    }
}
