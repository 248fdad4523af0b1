//! The summary of a table of traffic that was imported.

use import::Traffic;
use report::grouped;

/// The rows of a table of traffic, its busiest row, and the commands that read it at `path`, which is quoted for a
/// shell where it needs to be.
pub fn summary(traffic: &Traffic, path: &str) -> String {
    let total = traffic.counts.iter().fold(0_u64, |sum, count| sum.saturating_add(*count));
    let peak = traffic.counts.iter().copied().max().unwrap_or(0);
    let place = traffic.counts.iter().position(|count| *count == peak).unwrap_or(0);
    let row = import::width(traffic.bin);
    let rows = traffic.counts.len() as u64;
    let at = |row: u64| {
        let micros = i64::try_from(traffic.bin.as_micros()).unwrap_or(i64::MAX);
        let after = micros.saturating_mul(i64::try_from(row).unwrap_or(i64::MAX));
        traffic.start.map(|start| import::shown_time(start.saturating_add(after)))
    };
    let mut text = match (at(0), at(rows)) {
        (Some(first), Some(end)) => format!("{} rows of {row}, from {first} to {end}\n", grouped(rows)),
        _ => format!("{} rows of {row}\n", grouped(rows)),
    };
    let mean = total as f64 / (rows as f64 * traffic.bin.as_secs_f64());
    let peak_rate = peak as f64 / traffic.bin.as_secs_f64();
    let when = at(place as u64).map_or_else(String::new, |at| format!(", at {at}"));
    text += &format!(
        "{} requests: {mean:.1}/s on average, {peak_rate:.1}/s in the busiest row{when}\n",
        grouped(total)
    );
    text + &format!(
        "next: write `traffic: {{ file: {path} }}` into a case file, then headroom simulate CASE.yaml; or headroom load URL --trace {path}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn the_summary_names_the_busiest_row_and_the_next_command() {
        let traffic = Traffic {
            start: Some(1_772_366_400_000_000),
            bin: Duration::from_secs(60),
            counts: vec![600, 1_200_000, 60],
        };
        insta::assert_snapshot!(summary(&traffic, "traffic.csv"));
        let without_times = Traffic { start: None, ..traffic };
        insta::assert_snapshot!(summary(&without_times, "traffic.csv"));
    }
}
