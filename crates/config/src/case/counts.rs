//! Tables of counts over time, as `import` reads them.

use import::{Gaps, Hourly, Notice, Traffic, TrafficOptions, TrafficReader, hourly};
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
    let (traffic, notices) = traffic(path, TrafficOptions::default())?;
    hourly(&traffic, &notices).map_err(|error| vec![error.to_string()])
}

fn with(path: &Path, options: TrafficOptions) -> Result<Counts, Vec<String>> {
    let (Traffic { start, bin, counts }, notices) = traffic(path, options)?;
    Ok(Counts { counts, bin, start, notes: notices.iter().map(ToString::to_string).collect() })
}

fn traffic(path: &Path, options: TrafficOptions) -> Result<(Traffic, Vec<Notice>), Vec<String>> {
    let mut reader = TrafficReader::new(options);
    reader.add_file(path);
    reader.finish().map_err(|errors| errors.iter().map(ToString::to_string).collect())
}
