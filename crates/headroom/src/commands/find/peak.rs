//! The peak that a service has to carry, from a file.
//!
//! A traffic file is what `headroom import traffic` reads without options: a table, CloudWatch's JSON, an access log.
//! Rows without times, and a single row, are of a minute. The peak is the busiest row, as long as it is: of a row of an
//! hour, the mean rate of that hour.

use import::{Notice, TrafficOptions, TrafficReader};
use std::path::Path;
use std::time::Duration;
use units::Rate;

/// The traffic file says no peak: all problems.
#[derive(Debug, thiserror::Error)]
#[error("{}; `headroom import traffic` makes a table of other files", all(.0))]
pub struct TrafficError(Vec<import::TrafficError>);

fn all(errors: &[import::TrafficError]) -> String {
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// The busiest row of a traffic file, as a rate, and what was assumed of the file.
///
/// # Errors
/// Where the file cannot be read, or can be read in two ways.
pub fn of_traffic(path: &Path) -> Result<(Rate, Vec<Notice>), TrafficError> {
    let mut reader = TrafficReader::new(TrafficOptions { usual_row: Some(MINUTE), ..Default::default() });
    reader.add_file(path);
    let (traffic, mut notices) = reader.finish().map_err(TrafficError)?;
    let busiest = traffic.counts.iter().copied().max().unwrap_or(0);
    // Times in another zone have the same peak.
    notices.retain(|notice| !matches!(notice, Notice::AssumedUtc { .. }));
    Ok((Rate::per_second_of(busiest as f64 / traffic.bin.as_secs_f64()), notices))
}

const MINUTE: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<(f64, Vec<Notice>), String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("day.csv");
        std::fs::write(&path, text).unwrap();
        match of_traffic(&path) {
            Ok((rate, notices)) => Ok((rate.per_second() * 60.0, notices)),
            Err(error) => Err(error.to_string().replace(&format!("{}", folder.path().display()), "")),
        }
    }

    #[test]
    fn the_peak_is_the_busiest_row() {
        for (text, a_minute) in [
            ("minute_utc,requests\n1998-04-30 21:31:00,60\n1998-04-30 21:32:00,4320\n", 4320.0),
            // The column is found by its name, wherever it stands.
            ("requests;minute\n10;2026-03-01T12:00:00Z\n30;2026-03-01T12:01:00Z\n", 30.0),
            ("timestamp,value\n2014-04-10 00:00:00,94.0\n", 94.0),
            ("# one a line\n\n5\n9\n3\n", 9.0),
            // An hour, and ten seconds, are no minutes.
            ("time,requests\n2026-03-01T12:00:00Z,600\n2026-03-01T13:00:00Z,1200\n", 20.0),
            ("time,requests\n2026-03-01T12:00:00Z,6\n2026-03-01T12:00:10Z,12\n", 72.0),
        ] {
            assert_eq!(read(text).map(|(peak, _)| peak.round()), Ok(a_minute), "{text}");
        }
    }

    #[test]
    fn what_can_be_read_in_two_ways_is_refused() {
        for (text, part) in [
            (
                "minute,requests\n2026-03-01T12:00:00Z,5\n2026-03-01T12:01:00Z,many\n",
                "day.csv: line 3, column 22",
            ),
            // The last column of several, and times without a date, were taken before.
            ("2026-03-01T12:00:00Z,5,6\n", "3 columns without names"),
            ("12:00,5\n12:01,7\n", "cannot tell how it is written"),
            ("5\n-5\n", "line 2"),
            ("minute,requests\n", "no row with a count"),
            ("time,latency_ms\n2026-03-01T12:00:00Z,5\n2026-03-01T12:01:00Z,5\n", "is a time"),
        ] {
            let error = read(text).unwrap_err();
            assert!(
                error.contains(part) && error.contains("`headroom import traffic` makes"),
                "{text}\n{error}"
            );
        }
    }

    #[test]
    fn what_was_assumed_is_told() {
        let (_, notices) = read("time,rps\n2026-03-01 12:00:00,5\n2026-03-01 12:01:00,7\n").unwrap();
        assert!(matches!(notices.as_slice(), [Notice::WasRate { .. }]), "{notices:?}");
    }
}
