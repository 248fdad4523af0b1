//! Writes a table in this project's form, which is read without options.

use super::Traffic;
use super::table::ROW_WIDTH;
use jiff::Timestamp;
use std::io::{self, Write};
use std::time::Duration;

/// Writes `time,requests` rows, or one column if there are no times, after a comment with the width of a row.
///
/// # Errors
/// Those of `out`.
pub fn write_traffic(traffic: &Traffic, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "# {ROW_WIDTH} {}", width(traffic.bin))?;
    let step = i64::try_from(traffic.bin.as_micros()).unwrap_or(i64::MAX);
    let Some(start) = traffic.start else {
        writeln!(out, "requests")?;
        for count in &traffic.counts {
            writeln!(out, "{count}")?;
        }
        return Ok(());
    };
    writeln!(out, "time,requests")?;
    let mut at = start;
    for count in &traffic.counts {
        let time = Timestamp::from_microsecond(at).map_err(io::Error::other)?;
        writeln!(out, "{time},{count}")?;
        at = at.saturating_add(step);
    }
    Ok(())
}

/// A width without rounding, in the largest unit that fits: `1h`, `5m`, `90s`.
pub fn width(span: Duration) -> String {
    let micros = span.as_micros();
    let units = [
        ("d", 86_400_000_000),
        ("h", 3_600_000_000),
        ("m", 60_000_000),
        ("s", 1_000_000),
        ("ms", 1_000),
        ("us", 1),
    ];
    let fits = units.into_iter().find(|(_, unit)| micros >= *unit && micros.is_multiple_of(*unit));
    let (name, unit) = fits.unwrap_or(("us", 1));
    format!("{}{name}", micros / unit)
}
