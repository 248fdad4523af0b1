//! Numbers for people; all texts of results use the same formats.

use measure::{Histogram, Refusal, Value};
use std::time::Duration;
use units::{Quantile, Rate, show_duration};

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

/// A time of a distribution; `> 3.00 s` if it is among requests that were given up.
pub fn time(value: Value) -> String {
    // The histograms count whole microseconds, and less than one as one.
    if value.at <= Duration::from_micros(1) && !value.censored {
        return "≤ 1 µs".to_owned();
    }
    let more = if value.censored { "> " } else { "" };
    format!("{more}{}", show_duration(value.at))
}

/// A quantile, if enough samples are above it.
pub fn quantile(histogram: &Histogram, quantile: Quantile) -> String {
    match histogram.supported(quantile) {
        Ok(value) => time(value),
        Err(Refusal::Nothing) => "-".to_owned(),
        Err(refusal) => refusal.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_digits_by_three() {
        for (number, text) in [(0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(grouped(number), text);
        }
    }

    #[test]
    fn a_quantile_needs_thirty_samples_beyond_it() {
        let mut histogram = Histogram::new();
        assert_eq!(quantile(&histogram, Quantile::P95), "-");
        for _ in 0..599 {
            histogram.record(Duration::from_millis(10));
        }
        assert_eq!(quantile(&histogram, Quantile::P95), "too few samples");
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
