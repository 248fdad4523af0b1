//! Reads `Server-Timing`: `db;dur=53.2, cache;desc="hit, warm";dur=0.1`, with durations in milliseconds.
//!
//! Source: W3C Server Timing. Invalid metrics are skipped: the field is informative and does not affect the message.

use std::time::Duration;

/// Passes each metric with a duration to `found`.
pub(crate) fn read(value: &[u8], mut found: impl FnMut(&str, Duration)) {
    let Ok(text) = std::str::from_utf8(value) else { return };
    for metric in split(text, ',') {
        let mut parts = split(metric, ';').map(str::trim);
        let name = parts.next().unwrap_or_default();
        let duration = parts.find_map(|part| {
            let (key, value) = part.split_once('=')?;
            key.trim().eq_ignore_ascii_case("dur").then(|| value.trim().trim_matches('"'))
        });
        let millis = duration.and_then(|text| text.parse::<f64>().ok());
        if let Some(millis) = millis.filter(|millis| (0.0..=MILLIS_MAX).contains(millis)) {
            found(name, Duration::from_secs_f64(millis / 1e3));
        }
    }
}

/// Splits at separators outside quotes.
fn split(text: &str, separator: char) -> impl Iterator<Item = &str> {
    let (mut quoted, mut escaped) = (false, false);
    text.split(move |character| {
        if std::mem::take(&mut escaped) {
            return false;
        }
        match character {
            '"' => quoted = !quoted,
            '\\' => escaped = quoted,
            _ => return character == separator && !quoted,
        }
        false
    })
}

/// A day: a longer duration is a mistake of the unit, and would distort the sum.
const MILLIS_MAX: f64 = 86_400_000.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_found_by_name() {
        for (value, expected) in [
            ("db;dur=53.2", vec![("db", 53_200)]),
            ("miss, db;dur=53, app;dur=47.2", vec![("db", 53_000), ("app", 47_200)]),
            ("cache;desc=\"Cache, \\\"Read;\";dur=23.2", vec![("cache", 23_200)]),
            ("a ; DUR = \"5\" , b;dur=0", vec![("a", 5_000), ("b", 0)]),
            ("a;dur=-1, b;dur=NaN, c;dur=inf, d;dur=1e99, e;dur=, f;dur, ;dur=1", vec![("", 1_000)]),
            ("\"", vec![]),
            ("", vec![]),
        ] {
            let mut found = Vec::new();
            read(value.as_bytes(), |name, took| found.push((name.to_owned(), took.as_micros())));
            let found: Vec<_> = found.iter().map(|(name, took)| (name.as_str(), *took)).collect();
            assert_eq!(found, expected, "{value}");
        }
    }
}
