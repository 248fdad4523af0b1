//! Stored runs, a line each.

use super::{Run, Said};
use crate::find::Kept;
use report::Align::{self, Left, Right};
use report::{Table, Tone, quantile};
use serde_json::Value as Json;
use units::{Quantile, Rate};

/// The runs as a table.
pub fn table(runs: &[Run]) -> Table {
    let mut names = vec![("id", Left), ("began (UTC)", Left), ("command", Left), ("target", Left)];
    // A column that is empty in most ledgers takes no room.
    let has = |of: fn(&Said) -> bool| runs.iter().any(|run| of(&run.said));
    let (has_names, has_tags) = (has(|said| said.name.is_some()), has(|said| !said.tags.is_empty()));
    if has_names {
        names.insert(1, ("name", Left));
    }
    if has_tags {
        names.push(("tags", Left));
    }
    let mut table = columns(&names, "load or found rate");
    for run in runs {
        let began = run.started.second.replace('T', " ").replace('Z', "");
        let target = match &run.said.deleted {
            Some(_) => "(deleted)".to_owned(),
            None => run.target.clone(),
        };
        let mut identity = vec![run.id.clone(), began, run.command.clone(), target];
        if has_names {
            identity.insert(1, run.said.name.clone().unwrap_or_default());
        }
        if has_tags {
            let tags: Vec<String> =
                run.said.tags.iter().map(|(key, value)| format!("{key}={value}")).collect();
            identity.push(tags.join(" "));
        }
        let search = run.search();
        let found = search.as_ref().map(Kept::found);
        row(&mut table, &identity, found, run);
        if let Some(search) = search {
            table.stress(identity.len(), if search.has_rate() { Tone::Good } else { Tone::Bad });
        }
    }
    table
}

/// The parts of a run as a table: all have its target.
pub(super) fn parts(runs: &[Run]) -> Table {
    let mut table = columns(&[("id", Left), ("part", Left)], "load");
    for run in runs {
        let name = run.command.split_once(": ").map_or(run.command.as_str(), |(_, part)| part);
        row(&mut table, &[run.id.clone(), name.to_owned()], None, run);
    }
    table
}

/// A table of runs, with these columns first.
fn columns(identity: &[(&str, Align)], load: &str) -> Table {
    let numbers = ["answered", "shed", "failed", "p50", "p95"].map(|name| (name, Right));
    let columns = identity.iter().copied().chain([(load, Left)]).chain(numbers).chain([("verdict", Left)]);
    let mut table = Table::new(&columns.collect::<Vec<_>>());
    table.dispensable(&["answered", "shed", "p50"]);
    table
}

/// Adds a run after what identifies it; what a search found takes the place of its load.
fn row(table: &mut Table, identity: &[String], found: Option<String>, run: &Run) {
    let counts = match &run.recorded {
        Some(recorded) => {
            let dense = recorded.response.dense();
            [
                recorded.accounting.answered.to_string(),
                recorded.accounting.shed.to_string(),
                (recorded.accounting.failed + recorded.accounting.timed_out).to_string(),
                quantile(&dense, Quantile::P50),
                quantile(&dense, Quantile::P95),
            ]
        }
        None => Default::default(),
    };
    let load = found.unwrap_or_else(|| load(&run.config));
    let cells = identity.iter().cloned().chain([load]).chain(counts);
    let cells: Vec<String> = cells.chain([run.verdict().to_owned()]).collect();
    let verdict = cells.len() - 1;
    table.row(cells);
    table.stress(verdict, run.tone());
}

/// The rate or the connections out of the configuration, where it has one of them.
pub(super) fn load(config: &str) -> String {
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
