//! Numbers with units in rising order, with today's among them.

/// The values of a dimension.
pub(super) struct Ladder {
    /// In rising order.
    pub(super) values: Vec<String>,
    /// The place of today's.
    pub(super) today: usize,
}

/// Values with today's among them; none if today's is not a number.
pub(super) fn ladder(today: &str, values: Vec<String>) -> Option<Ladder> {
    let now = magnitude(today)?;
    let mut all: Vec<(f64, String)> =
        values.into_iter().filter_map(|text| Some((magnitude(&text)?, text))).collect();
    all.retain(|(value, _)| !is_same(*value, now));
    all.push((now, today.to_owned()));
    all.sort_by(|one, other| one.0.total_cmp(&other.0));
    all.dedup_by(|one, other| is_same(one.0, other.0));
    let today = all.iter().position(|(value, _)| *value == now)?;
    Some(Ladder { values: all.into_iter().map(|(_, text)| text).collect(), today })
}

fn is_same(one: f64, other: f64) -> bool {
    (one - other).abs() <= 1e-9 * one.abs().max(other.abs())
}

/// The number in a text: seconds of a span, hundredths of a percentage.
pub(super) fn magnitude(text: &str) -> Option<f64> {
    let (number, unit) = parts(text)?;
    let scale = match unit {
        "" | "s" => 1.0,
        "%" => 0.01,
        "us" => 1e-6,
        "ms" => 1e-3,
        "m" => 60.0,
        "h" => 3600.0,
        "d" => 86_400.0,
        _ => return None,
    };
    Some(number * scale)
}

/// Its number and its unit.
pub(super) fn parts(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let end = text.find(|c: char| c.is_ascii_alphabetic() || c == '%').unwrap_or(text.len());
    Some((text[..end].trim().parse().ok()?, text[end..].trim()))
}

/// Texts of these values.
pub(super) fn texts(values: &[&str]) -> Vec<String> {
    values.iter().map(|text| (*text).to_owned()).collect()
}

/// Percentages in steps of five.
pub(super) fn percentages(from: u32, to: u32) -> Vec<String> {
    (from..=to).step_by(5).map(|share| format!("{share}%")).collect()
}

/// Multiples of today's value, in its unit, with two digits.
pub(super) fn multiples(today: &str) -> Vec<String> {
    let Some((number, unit)) = parts(today) else { return Vec::new() };
    let (number, unit) = match unit {
        "s" => (number * 1e3, "ms"),
        other => (number, other),
    };
    let of = |factor: f64| {
        let value = number * factor;
        let step = 10_f64.powf(value.abs().log10().floor() - 1.0);
        let rounded = (value / step).round() * step;
        let text = format!("{rounded:.6}");
        format!("{}{unit}", text.trim_end_matches('0').trim_end_matches('.'))
    };
    MULTIPLES.into_iter().filter(|_| number > 0.0).map(of).collect()
}

/// Whole multiples of a number of instances, and the smallest numbers.
pub(super) fn counts(today: &str) -> Vec<String> {
    let Ok(now) = today.parse::<f64>() else { return Vec::new() };
    let multiple = |factor: f64| (now * factor).round().max(1.0) as u32;
    let mut counts: Vec<u32> = COUNTS.into_iter().map(multiple).chain(1..=4.min(now as u32)).collect();
    counts.sort_unstable();
    counts.dedup();
    counts.into_iter().map(|count| count.to_string()).collect()
}

const MULTIPLES: [f64; 11] = [0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 1.1, 1.25, 1.5, 2.0, 3.0];
const COUNTS: [f64; 12] = [0.2, 0.25, 0.33, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.15, 1.3, 1.5];
