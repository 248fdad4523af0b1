//! `headroom forecast`: the load of the next hours from a traffic file or the traffic of a case.

use super::import::instant;
use super::simulate;
use crate::exit::Exit;
use crate::{output, output_file};
use ::import::{TrafficOptions, TrafficReader, hourly};
use config::case::Given;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};
use std::time::Duration;
use study::forecast::{Asked, Trial, forecast};
use units::parse_duration;

/// Forecast the traffic of the next two days
///
/// FILE is traffic as `headroom import traffic` reads it, or a case file (.yaml), whose traffic is the history. A mean of
/// exponential smoothings and of the same hour of yesterday and last week, each weighted by its errors so far, gives the
/// load of each hour with a band of 90 %. The backtest shows how good such forecasts were on the history itself, beside
/// the load of the same hour a week (with less than four weeks: a day) before. At least a day of history is needed;
/// weekdays are told apart from two weeks on.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Traffic, or a case file; - for standard input
    file: PathBuf,

    /// Number of hours to forecast
    #[arg(long, value_name = "COUNT", default_value = "48", value_parser = clap::value_parser!(u8).range(1..=48))]
    hours: u8,

    /// Time covered by a row, if the file does not say, such as 1h
    #[arg(long, value_name = "SPAN", value_parser = parse_duration, help_heading = "Reading")]
    row: Option<Duration>,

    /// Start of the first row of a table without times: 2026-03-01T00:00:00Z
    #[arg(long, value_name = "TIME", value_parser = instant, help_heading = "Reading")]
    start: Option<i64>,

    /// Column of a table, id of a CloudWatch result, or labels of a Prometheus series
    #[arg(long, value_name = "NAME", help_heading = "Reading")]
    pick: Option<String>,

    /// Write each forecast of the backtest beside what came, as CSV; - for standard output
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    backtest: Option<PathBuf>,

    /// Print the result as JSON; the schema is schemas/forecast.schema.json
    #[arg(long, help_heading = "Output")]
    json: bool,
}

/// Runs the command.
pub fn run(args: &Args) -> Exit {
    if let Some(Err(error)) = args.backtest.as_deref().map(output_file::check_or_stdout) {
        return output::complain(&error, Exit::Usage);
    }
    let (start, loads) = match history(args) {
        Ok(history) => history,
        Err(exit) => return exit,
    };
    let source = args.file.display().to_string();
    let ahead = usize::from(args.hours);
    match forecast(&Asked { source, start, loads, ahead, version: status::version() }) {
        Err(error) => output::complain(&error, Exit::Usage),
        Ok((found, trials)) => {
            let file = args.backtest.as_deref();
            if let Some(Err(error)) = file.map(|file| write(file, &trials)) {
                return output::complain(&error, Exit::Failed);
            }
            match file.is_some_and(output_file::is_stdout) {
                true => Exit::Done,
                false if args.json => output::print(&format!("{:#}\n", found.json())),
                false => output::print(&found.text(output::terminal())),
            }
        }
    }
}

/// The beginning of the history and its hours; where there is none, the reason has been told.
fn history(args: &Args) -> Result<(Option<i64>, Vec<Option<f64>>), Exit> {
    if args.file.extension().is_some_and(|found| found == "yaml" || found == "yml") {
        let case = simulate::read(&args.file, Given::default()).map_err(|error| simulate::refuse(&error))?;
        return study::forecast::history_of(&case).map_err(|error| output::complain(&error, Exit::Usage));
    }
    let (row, start, pick) = (args.row, args.start, args.pick.clone());
    let mut reader = TrafficReader::new(TrafficOptions { row, start, pick, ..TrafficOptions::default() });
    match args.file.to_str() {
        Some("-") => reader.add("standard input", BufReader::new(io::stdin().lock())),
        _ => reader.add_file(&args.file),
    }
    let (traffic, notices) = reader.finish().map_err(|errors| super::import::refuse(&errors))?;
    for notice in &notices {
        output::note(&notice.to_string());
    }
    let hours = hourly(&traffic, &notices).map_err(|error| output::complain(&error, Exit::Usage))?;
    Ok((hours.start, hours.loads))
}

fn write(file: &Path, trials: &[Trial]) -> Result<(), output_file::WriteError> {
    output_file::write_or_stdout(file, |out| {
        writeln!(out, "known_hours,ahead_hours,expected,low,high,requests")?;
        trials.iter().try_for_each(|Trial { origin, ahead, expected, low, high, load, .. }| {
            writeln!(out, "{origin},{ahead},{expected:.1},{low:.1},{high:.1},{load}")
        })
    })
}

const EXAMPLES: &str = "\
Examples:
  The next two days, from requests a minute of the last weeks:
      headroom forecast traffic.csv
  One count an hour in each line, without times:
      headroom forecast hourly.txt --row 1h
  As JSON, and each forecast of the backtest:
      headroom forecast traffic.csv --json --backtest backtest.csv

Exit codes:
  0   the forecast was made
  2   wrong usage, or a history that is too short";
