//! Traffic hour by hour, with its gaps, for forecasts.

use super::{Notice, Traffic, TrafficError};
use std::ops::Range;
use std::time::Duration;

/// Requests of whole hours.
#[derive(Debug, Clone, PartialEq)]
pub struct Hourly {
    /// The beginning of the first hour in microseconds since 1970; a whole hour UTC. `None` if the table has no times.
    pub start: Option<i64>,
    /// Requests of each hour; `None` if less than half of it was measured.
    pub loads: Vec<Option<f64>>,
}

/// Sums traffic over hours. Of an hour with missing rows, the others stand for all, if they are at least half of it.
/// The notices are those of the same reading: they say which rows were missing. Hours begin with whole hours UTC; those
/// of a table without times begin with its first row.
///
/// # Errors
/// If rows are wider than an hour, or an hour is not made of whole ones.
pub fn hourly(traffic: &Traffic, notices: &[Notice]) -> Result<Hourly, TrafficError> {
    let Traffic { start, bin, counts } = traffic;
    let rows = HOUR.as_micros() / bin.as_micros().max(1);
    if rows == 0 || !HOUR.as_micros().is_multiple_of(bin.as_micros().max(1)) {
        return Err(TrafficError::NotHourly { bin: *bin });
    }
    let rows = usize::try_from(rows).unwrap_or(usize::MAX);
    let missing = missing(notices);
    let row = i64::try_from(bin.as_micros()).unwrap_or(i64::MAX);
    // Rows of the first hour before the table.
    let hour = i64::try_from(HOUR.as_micros()).unwrap_or(i64::MAX);
    let before = start.map_or(0, |start| start.rem_euclid(hour) / row);
    let before = usize::try_from(before).unwrap_or(0);
    let mut loads: Vec<Option<f64>> = Vec::new();
    let (mut sum, mut measured, mut place) = (0.0, 0_usize, before);
    let of_hour = |sum: f64, measured: usize| {
        (2 * measured >= rows && measured > 0).then(|| sum * rows as f64 / measured as f64)
    };
    let mut gaps = missing.iter().peekable();
    for (index, count) in (0_u64..).zip(counts) {
        while gaps.next_if(|gap| gap.end <= index).is_some() {}
        if !gaps.peek().is_some_and(|gap| gap.contains(&index)) {
            sum += *count as f64;
            measured += 1;
        }
        place += 1;
        if place == rows {
            loads.push(of_hour(sum, measured));
            (sum, measured, place) = (0.0, 0, 0);
        }
    }
    loads.extend(of_hour(sum, measured).map(Some));
    let start = start.map(|start| start - start.rem_euclid(hour));
    // A first hour of which little was measured is no gap.
    let first = usize::from(before > 0 && loads.first() == Some(&None));
    loads.drain(..first);
    Ok(Hourly { start: start.map(|start| start + hour * i64::from(first as u8)), loads })
}

fn missing(notices: &[Notice]) -> Vec<Range<u64>> {
    let gaps = notices.iter().filter_map(|notice| match notice {
        Notice::Gaps { missing, .. } => Some(missing.clone()),
        _ => None,
    });
    gaps.flatten().collect()
}

const HOUR: Duration = Duration::from_secs(3600);

#[cfg(test)]
mod tests {
    use super::*;

    fn traffic(start: Option<i64>, minutes: u64, counts: &[u64]) -> Traffic {
        Traffic { start, bin: Duration::from_secs(60 * minutes), counts: counts.to_vec() }
    }

    fn gaps(missing: Vec<Range<u64>>) -> Vec<Notice> {
        vec![Notice::Gaps { gaps: Vec::new(), count: 1, rows: 1, filled: super::super::Gaps::Zero, missing }]
    }

    #[test]
    fn rows_are_added_and_the_last_part_of_an_hour_counts_from_half_of_it_on() {
        let found = hourly(&traffic(None, 15, &[1, 2, 3, 4, 10, 10, 10, 10, 5, 5]), &[]).unwrap();
        assert_eq!(found, Hourly { start: None, loads: vec![Some(10.0), Some(40.0), Some(20.0)] });
        let found = hourly(&traffic(None, 15, &[1, 2, 3, 4, 10]), &[]).unwrap();
        assert_eq!(found.loads, [Some(10.0)]);
    }

    #[test]
    fn an_hour_with_missing_rows_is_scaled_or_a_gap() {
        let counts = [5, 0, 5, 5, 5, 0, 0, 0, 5, 5, 5, 5];
        let found = hourly(&traffic(None, 15, &counts), &gaps(vec![1..2, 5..8])).unwrap();
        assert_eq!(found.loads, [Some(20.0), None, Some(20.0)]);
    }

    #[test]
    fn hours_begin_with_those_of_the_clock() {
        let hour = 3_600_000_000;
        let found = hourly(&traffic(Some(10 * hour + hour / 2), 30, &[4, 1, 2, 3, 4]), &[]).unwrap();
        assert_eq!(found, Hourly { start: Some(10 * hour), loads: vec![Some(8.0), Some(3.0), Some(7.0)] });
        let found = hourly(&traffic(Some(10 * hour + 3 * hour / 4), 15, &[9, 1, 1, 1, 1]), &[]).unwrap();
        assert_eq!(found, Hourly { start: Some(11 * hour), loads: vec![Some(4.0)] });
    }

    #[test]
    fn rows_of_a_day_are_refused() {
        let problem = hourly(&traffic(None, 24 * 60, &[1, 2]), &[]).unwrap_err().to_string();
        assert_eq!(
            problem,
            "the rows are 24.0 h wide, but a forecast needs rows of an hour or of a part of it"
        );
    }
}
