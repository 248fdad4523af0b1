//! Tables of counts over time, as `import` reads them.

use import::{Gaps, Hourly, Traffic, TrafficError, TrafficOptions, TrafficReader, hourly};
use std::path::Path;
use std::time::Duration;

/// Counts in bins of equal width, without gaps.
pub(super) struct Counts {
    pub(super) counts: Vec<u64>,
    pub(super) bin: Duration,
    /// Microseconds since 1970, if the table has times.
    pub(super) start: Option<i64>,
    /// Assumptions and changes.
    pub(super) notes: Vec<String>,
}

/// Reads a table, CloudWatch's JSON or an access log.
///
/// # Errors
/// All problems, one per line.
pub(super) fn read(path: &Path, bin: Option<Duration>) -> Result<Counts, Vec<String>> {
    with(path, TrafficOptions { bin, ..TrafficOptions::default() })
}

/// Reads values at times, in thousandths; a gap has the value before it. `row` is the width of a row without a time.
///
/// # Errors
/// All problems, one per line.
pub(super) fn read_values(path: &Path, row: Option<Duration>) -> Result<Counts, Vec<String>> {
    with(path, TrafficOptions { row, values: true, gaps: Gaps::Hold, ..TrafficOptions::default() })
}

/// Reads a table, CloudWatch's JSON or an access log, hour by hour.
///
/// # Errors
/// All problems, one per line.
pub(super) fn read_hours(path: &Path) -> Result<Hourly, Vec<String>> {
    let mut reader = TrafficReader::new(TrafficOptions::default());
    reader.add_file(path);
    let told = |errors: Vec<TrafficError>| errors.iter().map(ToString::to_string).collect::<Vec<_>>();
    let (traffic, notices) = reader.finish().map_err(told)?;
    hourly(&traffic, &notices).map_err(|error| told(vec![error]))
}

fn with(path: &Path, options: TrafficOptions) -> Result<Counts, Vec<String>> {
    let mut reader = TrafficReader::new(options);
    reader.add_file(path);
    match reader.finish() {
        Ok((Traffic { start, bin, counts }, notices)) => {
            Ok(Counts { counts, bin, start, notes: notices.iter().map(ToString::to_string).collect() })
        }
        Err(errors) => Err(errors.iter().map(ToString::to_string).collect()),
    }
}
