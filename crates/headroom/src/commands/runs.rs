//! `headroom runs`: the latest runs, one line each.

use crate::exit::Exit;
use crate::ledger_file::{Error, LedgerArgs};
use crate::output;
use ledger::{Filter, Run, State};
use measure::Value;
use report::{Align, Table};
use serde_json::Value as Json;
use units::{Quantile, Rate, show_duration};

/// List the runs that the ledger keeps, the latest first
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    ledger: LedgerArgs,

    /// At most so many
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: u32,

    /// As JSON: an array with an object for each run
    #[arg(long)]
    json: bool,
}

/// Prints the list.
pub fn run(args: &Args) -> Exit {
    let runs = match read(args) {
        Ok(runs) => runs,
        Err(error) => return output::fail(&error),
    };
    if args.json {
        let all: Json = runs.iter().map(super::show::json).collect();
        return output::print(&format!("{all:#}\n"));
    }
    let Some(latest) = runs.first() else {
        eprintln!("{EMPTY}");
        return Exit::Done;
    };
    let exit = output::print(&report::text(&table(&runs), output::width()));
    eprintln!("\nMore about one: headroom show {}", latest.id);
    exit
}

/// What is said where no run is kept yet.
pub const EMPTY: &str =
    "The ledger is empty. A run enters it by itself: headroom load URL, or headroom demo.";

/// The runs as a table; also that of the parts of a run.
pub fn table(runs: &[Run]) -> Table {
    use Align::{Left, Right};
    let mut table = Table::new(&[
        ("id", Left),
        ("began", Right),
        ("command", Left),
        ("target", Left),
        ("load", Right),
        ("answered", Right),
        ("shed", Right),
        ("failed", Right),
        ("p50", Right),
        ("p95", Right),
        ("verdict", Left),
    ]);
    for run in runs {
        let counts = match &run.recorded {
            Some(recorded) => {
                let dense = recorded.response.dense();
                let quantile = |quantile| dense.quantile(quantile).map_or(String::new(), show_value);
                [
                    recorded.accounting.answered.to_string(),
                    recorded.accounting.shed.to_string(),
                    (recorded.accounting.failed + recorded.accounting.timed_out).to_string(),
                    quantile(Quantile::P50),
                    quantile(Quantile::P95),
                ]
            }
            None => Default::default(),
        };
        let identity = [
            run.id.to_string(),
            run.begun.started.to_string(),
            run.begun.command.clone(),
            run.begun.target.clone(),
        ];
        let cells = identity.into_iter().chain([load(&run.begun.config)]).chain(counts);
        table.row(cells.chain([verdict(run).to_owned()]));
    }
    table
}

/// A quantile; one that lies among requests that were given up is a lower bound.
pub fn show_value(value: Value) -> String {
    let more = if value.censored { "> " } else { "" };
    format!("{more}{}", show_duration(value.at))
}

/// How far to believe a run, or why there is nothing to believe.
pub fn verdict(run: &Run) -> &'static str {
    match (&run.state, &run.recorded) {
        (State::Done, Some(recorded)) => recorded.verdict.name(),
        (state, _) => state.name(),
    }
}

/// The rate or the connections out of the configuration, where it has one of them.
fn load(config: &str) -> String {
    let config: Json = serde_json::from_str(config).unwrap_or_default();
    match (&config["rate"], &config["connections"]) {
        (Json::String(rate), _) => rate.clone(),
        (Json::Number(rate), _) => {
            rate.as_f64().and_then(Rate::try_per_second).map_or(String::new(), |rate| rate.to_string())
        }
        (_, Json::Number(connections)) => format!("c={connections}"),
        _ => String::new(),
    }
}

fn read(args: &Args) -> Result<Vec<Run>, Error> {
    match args.ledger.open_existing()? {
        Some(ledger) => Ok(ledger.runs(Filter::TopLevel, args.limit)?),
        None => Ok(Vec::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_load_is_read_from_the_configuration() {
        assert_eq!(load(r#"{"rate": 100.0, "connections": 64}"#), "100/s");
        assert_eq!(load(r#"{"rate": "5k/s"}"#), "5k/s");
        assert_eq!(load(r#"{"rate": null, "connections": 64}"#), "c=64");
        assert_eq!(load(r#"{"rate": -1}"#), "");
        assert_eq!(load("no JSON"), "");
    }
}
