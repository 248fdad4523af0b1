//! Tables of counts over time, as `import` reads them.

use import::{Rows, Traffic};
use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::time::Duration;

/// Counts in bins of equal width, without gaps.
pub(super) struct Counts {
    pub(super) counts: Vec<u64>,
    pub(super) bin: Duration,
    /// Microseconds since 1970, where the table has times.
    pub(super) start: Option<i64>,
    /// What was done to it.
    pub(super) notes: Vec<String>,
}

/// Reads a table.
///
/// # Errors
/// What is wrong, in a line.
pub(super) fn read(path: &Path, bin: Option<Duration>) -> Result<Counts, String> {
    let shown = path.display();
    let file = File::open(path).map_err(|error| format!("cannot read `{shown}`: {error}"))?;
    let mut rows = Vec::new();
    for row in Rows::new(BufReader::new(file)) {
        rows.push(row.map_err(|error| format!("`{shown}`: {error}"))?);
    }
    let Traffic { start, bin, counts } =
        Traffic::from_rows(rows, bin).map_err(|error| format!("`{shown}`: {error}"))?;
    Ok(Counts { counts, bin, start, notes: Vec::new() })
}
