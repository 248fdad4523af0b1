//! Measured points from a CSV table.

use super::{Axis, NoPoints, Point, Points};

/// Reads a table: `concurrency` (also `users`, `connections`) or `replicas`, `throughput`, optionally response times. The
/// first line has the names of the columns; empty lines and lines that begin with # are left out.
///
/// # Errors
/// The first line that cannot be read.
pub fn table(name: &str, text: &str) -> Result<Points, NoPoints> {
    let lines =
        text.lines().zip(1..).map(|(line, number)| (line.trim().trim_start_matches('\u{feff}'), number));
    let mut lines = lines.filter(|(line, _)| !line.is_empty() && !line.starts_with('#'));
    let wrong = |line, message: String| NoPoints::Line { line, message };
    let (head, number) = lines.next().ok_or_else(|| wrong(1, format!("the table is empty; {COLUMNS}")))?;
    let names: Vec<String> = head.split(',').map(|name| name.trim().to_ascii_lowercase()).collect();
    let axis = match names.first().map(String::as_str) {
        Some("concurrency" | "users" | "connections" | "in_flight") => Axis::Concurrency,
        Some("replicas" | "instances" | "nodes") => Axis::Replicas,
        found => {
            return Err(wrong(
                number,
                format!("the first column is `{}`; {COLUMNS}", found.unwrap_or_default()),
            ));
        }
    };
    if !(2..=3).contains(&names.len()) {
        return Err(wrong(number, format!("{} columns; {COLUMNS}", names.len())));
    }
    let mut points = Vec::new();
    for (line, number) in lines {
        let cells: Vec<&str> = line.split(',').map(str::trim).collect();
        if cells.len() != names.len() {
            let message = format!("{} cells, but the first line has {} names", cells.len(), names.len());
            return Err(wrong(number, message));
        }
        let above = |place: usize| match cells[place].trim_end_matches("/s").parse::<f64>() {
            Ok(value) if value > 0.0 && value.is_finite() => Ok(value),
            _ => Err(wrong(
                number,
                format!("`{}` in column `{}` is not a number above 0", cells[place], names[place]),
            )),
        };
        let (at, per_second) = (above(0)?, above(1)?);
        let time = cells.get(2).map(|text| {
            seconds(text).ok_or_else(|| {
                wrong(
                    number,
                    format!(
                        "`{text}` in column `{}` is not a time above 0, such as 120ms or 120 (milliseconds)",
                        names[2]
                    ),
                )
            })
        });
        let time = time.transpose()?;
        // Users wait for their responses, so their mean follows from Little's law.
        let mean = time.filter(|_| axis == Axis::Replicas);
        points.push(Point { at, per_second, mean, quantile: time });
    }
    Ok(Points { kind: "table", name: name.to_owned(), axis, points, notes: Vec::new() })
}

fn seconds(text: &str) -> Option<f64> {
    let time = match text.parse::<f64>() {
        Ok(ms) => ms / 1e3,
        Err(_) => units::parse_duration(text).ok()?.as_secs_f64(),
    };
    (time > 0.0 && time.is_finite()).then_some(time)
}

const COLUMNS: &str =
    "the first line names the columns: concurrency (or replicas), throughput, and optionally response_time";
