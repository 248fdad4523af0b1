//! Which crate may know which other, and why. ARCHITECTURE.md shows the table; `cargo xtask tidy` holds both to it.

use crate::tidy::names_in;
use anyhow::{Context, Result};
use std::fmt::Write;
use std::fs;

/// A crate, and the crates of this workspace that it may use, each with the reason.
type Uses = (&'static str, &'static [(&'static str, &'static str)]);

/// What the crates themselves use.
const TABLE: [Uses; 30] = [
    ("units", &[]),
    ("stats", &[]),
    ("control", &[("stats", "random streams, intervals, drift"), ("units", QUANTITIES)]),
    ("measure", &[("stats", "intervals and sketches"), ("units", QUANTITIES)]),
    (
        "sim",
        &[
            ("control", "every decision"),
            ("stats", "random streams, distributions, sketches"),
            ("units", QUANTITIES),
        ],
    ),
    ("http", &[("stats", "random streams of the virtual network"), ("units", QUANTITIES)]),
    (
        "load",
        &[
            ("capture", "the form of a log of requests"),
            ("control", "the grammar of goals"),
            ("host", "what this machine can send"),
            ("http", "messages and sockets"),
            ("measure", "what it records into"),
            ("stats", "random streams of schedules and users"),
            ("units", QUANTITIES),
        ],
    ),
    ("rule", &[("units", QUANTITIES)]),
    ("capture", &[]),
    ("status", &[("control", "the names of reasons")]),
    ("listener", &[]),
    (
        "gateway",
        &[
            ("capture", "the form of captures"),
            ("control", "every decision"),
            ("http", "messages and sockets"),
            ("listener", "the admin listener"),
            ("rule", "rules in Luau"),
            ("stats", "random streams"),
            ("status", "the document that it fills in"),
            ("units", QUANTITIES),
        ],
    ),
    (
        "import",
        &[
            ("capture", "requests, and headroom's own form of them"),
            ("control", "the settings of autoscalers and alarms, which it fills"),
            ("stats", "random streams of replays"),
            ("units", QUANTITIES),
            ("yaml", "manifests, with places"),
        ],
    ),
    ("fields", &[("units", QUANTITIES), ("yaml", "trees, with places")]),
    (
        "config",
        &[
            ("control", "asks it what it refuses"),
            ("fields", "tables, problems, schemas"),
            ("gateway", "the settings of gateway files"),
            ("http", "what a token is"),
            ("import", "traffic of case files, and what it writes into them"),
            ("load", "the plan of scenario files"),
            ("rule", "finds mistakes in rules"),
            ("scaler", "the settings of live sections"),
            ("sim", "the system of case files"),
            ("units", QUANTITIES),
            ("yaml", "trees, with places"),
        ],
    ),
    ("host", &[("units", QUANTITIES)]),
    (
        "scaler",
        &[
            ("control", "every decision"),
            ("host", "processes, their processor time and memory"),
            ("http", "messages of the admin interface"),
            ("stats", "sketches of response times"),
            ("status", "the document that it fills in"),
            ("units", QUANTITIES),
            ("watch", "queries of a Prometheus"),
        ],
    ),
    (
        "scaler-api",
        &[("listener", "where it listens, and who has access"), ("status", "the document that it serves")],
    ),
    ("scaler-aws", &[("scaler", "targets, and their settings")]),
    ("scaler-kube", &[("control", "quantities of Kubernetes"), ("scaler", "targets, and their settings")]),
    (
        "ledger",
        &[
            ("host", "whether the process of a run is there"),
            ("measure", "histograms and series, which it keeps"),
            ("units", QUANTITIES),
        ],
    ),
    ("report", &[("measure", "what it shows"), ("units", QUANTITIES)]),
    ("sample", &[("stats", "random streams of service times"), ("units", QUANTITIES)]),
    ("watch", &[("measure", "the numbers of a run"), ("units", QUANTITIES)]),
    ("yaml", &[]),
    ("conformance", &[("control", "every decision"), ("units", QUANTITIES)]),
    (
        "documents",
        &[
            ("conformance", "the cases that it shows"),
            ("control", "what was searched for and found, the names of reasons"),
            ("import", "what was read of others' files"),
            ("measure", "what was measured"),
            ("report", "tables and numbers in text"),
            ("sim", "the outcomes that it shows"),
            ("stats", "intervals of differences"),
            ("status", "the gateway that top and explain show"),
            ("units", QUANTITIES),
        ],
    ),
    (
        "study",
        &[
            ("config", "the case file of a calibration, which it writes, and experiment files"),
            ("control", "every decision"),
            ("documents", "the outcomes, which it fills"),
            ("gateway", "the settings of the file that a search writes"),
            ("host", "preflight, and what else was busy"),
            ("load", "drives it"),
            ("measure", "what was measured"),
            ("sim", "the model of a calibration, which it simulates"),
            ("stats", "intervals"),
            ("units", QUANTITIES),
            ("watch", "metrics beside a run"),
        ],
    ),
    (
        "agent",
        &[
            ("host", "the services that it examines"),
            ("listener", "where it listens, and who has access"),
            ("study", "the examination"),
        ],
    ),
    (
        "headroom",
        &[
            ("agent", WIRES),
            ("capture", WIRES),
            ("config", WIRES),
            ("conformance", WIRES),
            ("control", WIRES),
            ("documents", WIRES),
            ("fields", WIRES),
            ("gateway", WIRES),
            ("host", WIRES),
            ("http", WIRES),
            ("import", WIRES),
            ("ledger", WIRES),
            ("listener", WIRES),
            ("load", WIRES),
            ("measure", WIRES),
            ("report", WIRES),
            ("sample", WIRES),
            ("scaler", WIRES),
            ("scaler-api", WIRES),
            ("scaler-aws", WIRES),
            ("scaler-kube", WIRES),
            ("sim", WIRES),
            ("stats", WIRES),
            ("study", WIRES),
            ("status", WIRES),
            ("units", WIRES),
            ("watch", WIRES),
        ],
    ),
];

/// What their tests use besides.
const TESTS: [Uses; 9] = [
    ("documents", &[("status", SAMPLES)]),
    ("gateway", &[("http", "the virtual network"), ("sim", "every decision beside the simulator's")]),
    ("headroom", &[("status", SAMPLES)]),
    ("http", &[("stats", "random streams")]),
    ("load", &[("http", "the virtual network")]),
    ("scaler-api", &[("status", "a scaler to show")]),
    ("scaler-aws", &[("config", "case files")]),
    ("scaler-kube", &[("config", "case files")]),
    ("study", &[("sample", "a service to send load to")]),
];

const QUANTITIES: &str = "quantities with their units";
const SAMPLES: &str = "gateways to show";
const WIRES: &str = "the binary wires";

const BEGIN: &str = "<!-- from the table of `cargo xtask tidy`; `cargo xtask tidy write` writes it -->\n";
const END: &str = "<!-- end of the table -->\n";

/// Whether crates use what the table allows, no less and no more, and whether ARCHITECTURE.md shows it.
pub fn check(wrong: &mut Vec<String>) -> Result<()> {
    let crates = names_in("crates", "")?;
    for name in &crates {
        let manifest = fs::read_to_string(format!("crates/{name}/Cargo.toml"))?;
        for (section, table) in [("dependencies", &TABLE[..]), ("dev-dependencies", &TESTS)] {
            let allowed = table.iter().find(|(of, _)| of == name).map_or(&[][..], |(_, uses)| uses);
            let found = used(&manifest, section, &crates);
            for one in found.iter().filter(|one| allowed.iter().all(|(name, _)| name != *one)) {
                wrong.push(format!(
                    "crates/{name}/Cargo.toml: `{one}` in [{section}] is not in the table of xtask/src/dependencies.rs; \
                     add it with its reason, or do without"
                ));
            }
            for (one, _) in allowed.iter().filter(|(one, _)| !found.iter().any(|found| found == one)) {
                wrong.push(format!(
                    "crates/{name}/Cargo.toml: no `{one}` in [{section}], which the table of xtask/src/dependencies.rs \
                     has; remove it there"
                ));
            }
        }
    }
    let text = fs::read_to_string(FILE).with_context(|| format!("cannot read {FILE}"))?;
    if !text.contains(&shown()) {
        wrong.push(format!("{FILE}: does not show the table of dependencies: `cargo xtask tidy write`"));
    }
    Ok(())
}

/// Writes the table into ARCHITECTURE.md, in the place of the one that stands there.
pub fn write() -> Result<()> {
    let text = fs::read_to_string(FILE).with_context(|| format!("cannot read {FILE}"))?;
    let (before, rest) = text.split_once(BEGIN).with_context(|| format!("{FILE} has no line {BEGIN}"))?;
    let (_, after) = rest.split_once(END).with_context(|| format!("{FILE} has no line {END}"))?;
    fs::write(FILE, format!("{before}{}{after}", shown())).with_context(|| format!("cannot write {FILE}"))
}

/// The members of the workspace that a section of a manifest names.
fn used(manifest: &str, section: &str, crates: &[String]) -> Vec<String> {
    let header = format!("[{section}]");
    let lines = manifest.lines().skip_while(|line| line.trim() != header).skip(1);
    let names =
        lines.take_while(|line| !line.starts_with('[')).filter_map(|line| line.split(['.', ' ', '=']).next());
    names.filter(|name| crates.iter().any(|known| known == name)).map(str::to_owned).collect()
}

fn shown() -> String {
    let mut text = format!("{BEGIN}\n| crate | uses |\n|---|---|\n");
    for (name, uses) in TABLE {
        let tests = TESTS.iter().find(|(of, _)| *of == name).map_or(&[][..], |(_, uses)| uses);
        let mut row: Vec<String> = match uses.iter().all(|(_, why)| *why == WIRES) && !uses.is_empty() {
            true => {
                let others = TABLE.iter().map(|(other, _)| *other).filter(|other| *other != name);
                let without: Vec<_> =
                    others.filter(|other| uses.iter().all(|(used, _)| used != other)).collect();
                vec![format!("all but `{}` ({WIRES})", without.join("` and `"))]
            }
            false => uses.iter().map(|(name, why)| format!("`{name}` ({why})")).collect(),
        };
        row.extend(tests.iter().map(|(name, why)| format!("in tests `{name}` ({why})")));
        let row = if row.is_empty() { "nothing".to_owned() } else { row.join(", ") };
        let _ = writeln!(text, "| `{name}` | {row} |");
    }
    text + "\n" + END
}

const FILE: &str = "ARCHITECTURE.md";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_members_of_the_workspace_and_of_the_section_count() {
        let manifest = "[package]\nname = \"gateway\"\n[dependencies]\naxum.workspace = true\ncontrol.workspace = true\n\
                        http = { workspace = true }\n\n[dev-dependencies]\nsim.workspace = true\n";
        let crates = ["control", "http", "sim"].map(str::to_owned);
        assert_eq!(used(manifest, "dependencies", &crates), ["control", "http"]);
        assert_eq!(used(manifest, "dev-dependencies", &crates), ["sim"]);
        assert!(used(manifest, "build-dependencies", &crates).is_empty());
    }
}
