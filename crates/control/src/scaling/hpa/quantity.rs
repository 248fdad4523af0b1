//! Quantities as Kubernetes writes them: `500m`, `2`, `1.5Gi`, `3e2`.
//!
//! ## Why exact
//! A target is compared in thousandths; `0.1` is exactly a hundred of them, but has no exact binary fraction. Values
//! finer than a thousandth, or for a share finer than a billionth, are rounded away from zero, as upstream does.
//!
//! ## Why not simply a floating-point number
//! A tolerance of `0.7` is stored as `700m`, and the controller computes 700 × 10⁻³ in floating point, which is
//! 0.7000000000000001. So the last bit decides whether a ratio exactly at a tolerance is inside or outside.
//!
//! Follows `pkg/api/resource` of k8s.io/apimachinery: `ParseQuantity` and `AsApproximateFloat64`.

use super::metric::Milli;
use alloc::format;
use core::fmt;

/// A decimal number with nine places, as the API server keeps it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Quantity {
    nanos: i128,
    milli: Milli,
}

impl Quantity {
    /// Parses a quantity; `None` where the text is not a quantity or has more than 2⁶³ − 1 thousandths.
    pub fn parse(text: &str) -> Option<Self> {
        let (negative, text) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (number, suffix) = text.split_at(end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if whole.is_empty() && fraction.is_empty() || fraction.contains('.') {
            return None;
        }
        let mantissa: i128 = format!("{whole}{fraction}").parse().ok()?;
        let (ten, two) = scale(suffix)?;
        // In billionths: nine powers of ten more, and one less for each digit after the point.
        let power = ten.checked_add(9)?.checked_sub(i32::try_from(fraction.len()).ok()?)?;
        let scaled = mantissa.checked_mul(1_i128.checked_shl(two)?)?;
        let size = match 10_i128.checked_pow(power.unsigned_abs()) {
            Some(factor) if power >= 0 => scaled.checked_mul(factor)?,
            Some(divisor) => ceil(scaled, divisor),
            // Smaller values still count as something.
            None if power < 0 => scaled.signum(),
            None => return None,
        };
        let nanos = if negative { -size } else { size };
        let milli = i64::try_from(ceil(size, NANOS_A_MILLI)).ok()?;
        Some(Quantity { nanos, milli: Milli(if negative { -milli } else { milli }) })
    }

    /// In thousandths.
    pub fn milli(self) -> Milli {
        self.milli
    }

    /// The value that the controller computes with: value × 10^scale of the canonical form. This is
    /// `Quantity.AsApproximateFloat64`; it can differ in the last bit from the nearest floating-point number.
    ///
    /// ```
    /// use control::scaling::hpa::Quantity;
    ///
    /// assert_eq!(Quantity::parse("0.7").unwrap().approximate(), 0.7000000000000001);
    /// ```
    pub fn approximate(self) -> f64 {
        let (value, thousands) = self.canonical();
        value as f64 * [1e-9, 1e-6, 1e-3, 1.0, 1e3, 1e6, 1e9, 1e12, 1e15, 1e18][(thousands + 3) as usize]
    }

    /// The value and its power of a thousand, such that the value is whole and the power as large as possible.
    fn canonical(self) -> (i128, i32) {
        let (mut value, mut thousands) = (self.nanos, -3);
        if value == 0 {
            return (0, 0);
        }
        while value % 1_000 == 0 && thousands < 6 {
            value /= 1_000;
            thousands += 1;
        }
        (value, thousands)
    }
}

/// The canonical form with decimal suffixes: `700m`.
impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (value, thousands) = self.canonical();
        let suffix = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"][(thousands + 3) as usize];
        write!(f, "{value}{suffix}")
    }
}

/// Rounded up, for numbers from 0 on.
fn ceil(size: i128, divisor: i128) -> i128 {
    size / divisor + i128::from(size % divisor != 0)
}

/// The powers of ten and of two of a suffix.
fn scale(suffix: &str) -> Option<(i32, u32)> {
    const SUFFIXES: [(&str, i32, u32); 16] = [
        ("", 0, 0),
        ("n", -9, 0),
        ("u", -6, 0),
        ("m", -3, 0),
        ("k", 3, 0),
        ("M", 6, 0),
        ("G", 9, 0),
        ("T", 12, 0),
        ("P", 15, 0),
        ("E", 18, 0),
        ("Ki", 0, 10),
        ("Mi", 0, 20),
        ("Gi", 0, 30),
        ("Ti", 0, 40),
        ("Pi", 0, 50),
        ("Ei", 0, 60),
    ];
    if let Some((_, ten, two)) = SUFFIXES.iter().find(|(known, ..)| *known == suffix) {
        return Some((*ten, *two));
    }
    let exponent = suffix.strip_prefix(['e', 'E'])?;
    Some((exponent.parse().ok()?, 0))
}

const NANOS_A_MILLI: i128 = 1_000_000;

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    fn milli(text: &str) -> Option<i64> {
        Quantity::parse(text).map(|quantity| quantity.milli().0)
    }

    #[test]
    fn quantities_are_exact() {
        for (text, expected) in [
            ("1", 1_000),
            ("500m", 500),
            ("0.1", 100),
            (".5", 500),
            ("1.", 1_000),
            ("+2", 2_000),
            ("-1.5", -1_500),
            ("10k", 10_000_000),
            ("1Ki", 1_024_000),
            ("1.5Gi", 1_610_612_736_000),
            ("100u", 1),
            ("1n", 1),
            ("-1n", -1),
            ("1e-40", 1),
            ("3e2", 300_000),
            ("3E-1", 300),
            ("15.0", 15_000),
        ] {
            assert_eq!(milli(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_quantity_is_none() {
        for text in [
            "",
            "m",
            ".",
            "1.2.3",
            "1 m",
            "1x",
            "1e",
            "e3",
            "--1",
            "1e99",
            "1e9999999999",
            "9999999999999999999",
            "8Ei",
            "1E",
        ] {
            assert_eq!(milli(text), None, "{text}");
        }
    }

    #[test]
    fn the_canonical_form_is_the_shortest_with_a_suffix() {
        for (text, expected) in [
            ("0.7", "700m"),
            ("0.0005", "500u"),
            ("0.05", "50m"),
            ("1.20", "1200m"),
            ("2000", "2k"),
            ("0", "0"),
            ("-0.1", "-100m"),
            ("0.1234567891", "123456790n"),
            ("7e-1", "700m"),
        ] {
            assert_eq!(Quantity::parse(text).unwrap().to_string(), expected, "{text}");
        }
    }

    /// The results of `AsApproximateFloat64` for the canonical form, in whole hundredths: from apimachinery 0.33.4.
    #[test]
    fn hundredths_are_off_by_a_bit_where_upstream_is() {
        let off = |hundredths: &u32| {
            let text = format!("0.{hundredths:02}");
            Quantity::parse(&text).unwrap().approximate() != text.parse().unwrap()
        };
        let found: alloc::vec::Vec<u32> = (1..100).filter(off).collect();
        assert_eq!(found, OFF);
    }

    const OFF: [u32; 10] = [35, 41, 47, 57, 69, 70, 82, 83, 94, 95];

    #[test]
    fn an_approximation_is_value_times_power() {
        for (text, expected) in [
            ("0.7", 0.700_000_000_000_000_1),
            ("700m", 0.700_000_000_000_000_1),
            ("0.05", 0.05),
            ("0.0005", 0.0005),
            ("1", 1.0),
            ("2k", 2_000.0),
            ("-0.7", -0.700_000_000_000_000_1),
            ("0", 0.0),
        ] {
            assert_eq!(Quantity::parse(text).unwrap().approximate(), expected, "{text}");
        }
    }
}
