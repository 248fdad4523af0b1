//! Stored runs, a line each.

use super::Run;
use measure::Value;
use report::{Align, Table};
use serde_json::Value as Json;
use units::{Quantile, Rate, show_duration};

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
                let quantile = |quantile| dense.quantile(quantile).map_or(String::new(), bound);
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
        let identity = [run.id.clone(), run.started.second.clone(), run.command.clone(), run.target.clone()];
        let cells = identity.into_iter().chain([load(&run.config)]).chain(counts);
        table.row(cells.chain([run.verdict().to_owned()]));
    }
    table
}

/// A quantile; one that lies among requests that were given up is a lower bound.
pub(super) fn bound(value: Value) -> String {
    let more = if value.censored { "> " } else { "" };
    format!("{more}{}", show_duration(value.at))
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
