//! The forecast of a load, with how good such forecasts were so far.

use crate::words::{Rows, counted};
use report::Align::{Left, Right};
use report::{Table, Terminal};
use serde::Serialize;

/// The schema of the JSON.
pub const SCHEMA: &str = include_str!("../schemas/forecast.schema.json");

/// What `headroom forecast --json` prints.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Forecast {
    /// The version of headroom.
    pub version: &'static str,
    /// Where the history is from.
    pub source: String,
    /// Hours of history.
    pub hours: usize,
    /// Hours of it of which less than half was measured.
    pub missing_hours: usize,
    /// The period of the naive forecast that the backtest compares with: 24 or 168 hours.
    pub season_hours: usize,
    /// The forecast, hour by hour.
    pub points: Vec<Point>,
    /// Forecasts that were possible on the history, beside what came.
    pub backtest: Vec<Backtest>,
    /// What the reader has to know.
    pub notes: Vec<String>,
}

/// The forecast of an hour.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Point {
    /// When the hour begins: a time, or hours from the end of the history such as `+1h` where it has no times.
    pub at: String,
    /// Requests a second expected, as a mean over the hour.
    pub rate_per_second: f64,
    /// The lower end of the band of 90 %.
    pub low: f64,
    /// The upper end of the band of 90 %.
    pub high: f64,
}

/// The errors of forecasts of one distance ahead.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Backtest {
    /// Hours from the newest known hour to the one that was forecast.
    pub ahead_hours: usize,
    /// How many forecasts were checked.
    pub forecasts: usize,
    /// The sum of absolute errors over the sum of loads, in percent.
    pub error_percent: f64,
    /// The mean absolute error over that of the seasonal naive forecast; `None` where that has no error.
    pub scaled_error: Option<f64>,
    /// Loads inside the band of 90 %, in percent.
    pub inside_percent: f64,
}

/// The name of an hour: its time, or its distance from the end of a history without times.
pub fn hour_name(start: Option<i64>, hour: usize, ahead: usize) -> String {
    let micros =
        |start: i64| start.saturating_add(i64::try_from(hour).unwrap_or(i64::MAX).saturating_mul(HOUR));
    start.map_or_else(|| format!("+{ahead}h"), |start| import::shown_time(micros(start)))
}

impl Forecast {
    /// The JSON.
    pub fn json(&self) -> serde_json::Value {
        serde_json::to_value(self).expect("a document of numbers and texts")
    }

    /// For people.
    pub fn text(&self, terminal: Terminal) -> String {
        let mut rows = Rows::default();
        let missing = match self.missing_hours {
            0 => String::new(),
            hours => format!(", {} of them not measured", counted(hours as u64, "hour")),
        };
        rows.row("history", format!("{}: {}{missing}", self.source, counted(self.hours as u64, "hour")));
        let peak =
            self.points.iter().max_by(|one, other| one.rate_per_second.total_cmp(&other.rate_per_second));
        if let Some(peak) = peak {
            rows.row(
                "peak",
                format!(
                    "{}/s at {}, {} to {}/s",
                    rate(peak.rate_per_second),
                    peak.at,
                    rate(peak.low),
                    rate(peak.high)
                ),
            );
        }
        for (place, note) in self.notes.iter().enumerate() {
            rows.row(if place == 0 { "notes" } else { "" }, format!("- {note}"));
        }
        let mut text = rows.text(terminal);
        if !self.backtest.is_empty() {
            text += &format!(
                "\nBacktest: forecasts that were possible on the history\n{}",
                report::text(&self.backtest_table(), terminal)
            );
        }
        text + &format!("\nForecast, means of hours\n{}", report::text(&self.points_table(), terminal))
    }

    fn backtest_table(&self) -> Table {
        let naive = match self.season_hours {
            24 => "of that of yesterday",
            _ => "of that of last week",
        };
        let mut table = Table::new(&[
            ("ahead", Right),
            ("checked", Right),
            ("mean error", Right),
            (naive, Right),
            ("inside the band", Right),
        ]);
        for found in &self.backtest {
            table.row([
                format!("{}h", found.ahead_hours),
                found.forecasts.to_string(),
                format!("{:.1} %", found.error_percent),
                found.scaled_error.map_or("-".to_owned(), |ratio| format!("{:.0} %", 100.0 * ratio)),
                format!("{:.0} %", found.inside_percent),
            ]);
        }
        table
    }

    fn points_table(&self) -> Table {
        let most = self.points.iter().map(|point| point.rate_per_second).fold(f64::MIN_POSITIVE, f64::max);
        let mut table =
            Table::new(&[("hour", Left), ("requests/s", Right), ("low", Right), ("high", Right), ("", Left)]);
        table.dispensable(&[""]);
        for point in &self.points {
            let bar = (BAR * point.rate_per_second / most).round() as usize;
            table.row([
                point.at.clone(),
                rate(point.rate_per_second),
                rate(point.low),
                rate(point.high),
                "#".repeat(bar),
            ]);
        }
        table
    }
}

fn rate(per_second: f64) -> String {
    match per_second {
        rate if rate >= 100.0 => report::grouped(rate.round() as u64),
        rate if rate >= 1.0 => format!("{rate:.1}"),
        rate => format!("{rate:.3}"),
    }
}

/// The length of the longest bar.
const BAR: f64 = 24.0;
/// Microseconds.
const HOUR: i64 = 3_600_000_000;
