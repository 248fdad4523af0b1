//! The peak that a service has to carry, from a file.
//!
//! A traffic file is a CSV with one row a minute. Its column of requests per minute is named `requests` (or
//! `requests_per_minute`, `count`, `value`) in a header; without a header it is the last column. Empty lines and lines
//! that begin with `#` are left out. The peak is the highest minute.

use std::path::{Path, PathBuf};
use units::Rate;

/// The traffic file says no peak.
#[derive(Debug, thiserror::Error)]
pub enum TrafficError {
    /// It cannot be read.
    #[error("cannot read the traffic file {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A row without a number.
    #[error(
        "{}, line {line}: `{found}` is no number of requests; expected rows such as `2026-03-01T12:00:00Z,4321`, with the requests of one minute in the column `requests` or the last one",
        path.display()
    )]
    Row {
        /// The file.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
        /// What stands there.
        found: String,
    },
    /// No row at all.
    #[error("{} has no row with the requests of a minute", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
}

/// The highest minute of a traffic file, as a rate.
///
/// # Errors
/// Where the file cannot be read, or a row has no number.
pub fn of_traffic(path: &Path) -> Result<Rate, TrafficError> {
    let text = std::fs::read_to_string(path)
        .map_err(|source| TrafficError::Read { path: path.to_owned(), source })?;
    highest(path, &text).map(|requests| Rate::per_second_of(requests / 60.0))
}

fn highest(path: &Path, text: &str) -> Result<f64, TrafficError> {
    let mut column = None;
    let mut first = true;
    let mut highest: Option<f64> = None;
    for (index, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let cells: Vec<&str> =
            line.split([',', ';', '\t']).map(|cell| cell.trim().trim_matches('"')).collect();
        if std::mem::take(&mut first) {
            column = cells.iter().position(|cell| NAMES.contains(&cell.to_lowercase().as_str()));
            if column.is_some() || number(cells.last().copied()).is_none() {
                continue;
            }
        }
        let cell = column.map_or(cells.last(), |column: usize| cells.get(column)).copied();
        let requests = number(cell).ok_or_else(|| TrafficError::Row {
            path: path.to_owned(),
            line: index + 1,
            found: cell.unwrap_or(line).to_owned(),
        })?;
        highest = Some(highest.map_or(requests, |before| before.max(requests)));
    }
    highest.ok_or_else(|| TrafficError::Empty { path: path.to_owned() })
}

fn number(cell: Option<&str>) -> Option<f64> {
    cell?.parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0)
}

const NAMES: [&str; 4] = ["requests", "requests_per_minute", "count", "value"];

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<f64, String> {
        highest(Path::new("day.csv"), text).map_err(|error| error.to_string())
    }

    #[test]
    fn the_peak_is_the_highest_minute() {
        for (text, peak) in [
            ("minute_utc,requests\n1998-04-30 21:31,60\n1998-04-30 21:32,4320\n", 4320.0),
            // The column is found by its name, wherever it stands.
            ("requests;minute\n10;12:00\n30;12:01\n", 30.0),
            ("timestamp,value\n2014-04-10 00:00:00,94.0\n", 94.0),
            // Without a header the last column counts.
            ("12:00,5\n12:01,7\n", 7.0),
            ("# one a line\n\n5\n9\n3\n", 9.0),
            ("\u{feff}time,load\n12:00,8\n", 8.0),
        ] {
            assert_eq!(read(text), Ok(peak), "{text}");
        }
    }

    #[test]
    fn a_row_without_a_number_is_named() {
        let error = read("minute,requests\n12:00,5\n12:01,many\n").unwrap_err();
        assert!(error.starts_with("day.csv, line 3: `many` is no number of requests; expected"), "{error}");
        assert!(read("5\n-5\n").unwrap_err().contains("line 2"), "nobody sends less than nothing");
        assert!(read("minute,requests\n").unwrap_err().contains("has no row"));
        assert!(read("requests,minute\n5\n").is_ok());
    }
}
