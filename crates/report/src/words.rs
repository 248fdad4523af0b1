//! Numbers for people; all texts of results use the same formats.

use measure::{Histogram, Value};
use units::{Quantile, Rate};

/// `1,234,567`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `30,980/s`; with decimals if it is small.
pub fn rate(rate: Rate) -> String {
    let whole = rate.per_second().round();
    if whole < 1_000.0 { rate.to_string() } else { format!("{}/s", grouped(whole as u64)) }
}

/// A time of a distribution, as [`Value`] writes it; `-` if nothing was recorded.
pub fn time(value: Option<Value>) -> String {
    value.map_or("-".to_owned(), |value| value.to_string())
}

/// A quantile, marked if few samples are above it: `~155 ms, 4 above`.
pub fn quantile(histogram: &Histogram, quantile: Quantile) -> String {
    time(histogram.quantile(quantile))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn groups_digits_by_three() {
        for (number, text) in [(0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(grouped(number), text);
        }
    }

    #[test]
    fn a_quantile_with_few_samples_above_it_is_marked() {
        let mut histogram = Histogram::new();
        assert_eq!(quantile(&histogram, Quantile::P95), "-");
        for _ in 0..599 {
            histogram.record(Duration::from_millis(10));
        }
        assert_eq!(quantile(&histogram, Quantile::P95), "~10.0 ms, 29 above");
        histogram.record(Duration::from_millis(10));
        assert_eq!(quantile(&histogram, Quantile::P95), "10.0 ms");
    }

    #[test]
    fn a_quantile_among_the_given_up_is_a_lower_bound() {
        let mut histogram = Histogram::new();
        for _ in 0..1_000 {
            histogram.record_censored(Duration::from_secs(3));
        }
        assert_eq!(quantile(&histogram, Quantile::P50), "> 3.00 s");
    }
}
