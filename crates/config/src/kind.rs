//! What kind of file a file is: its keys tell.
//!
//! ## Why keys and not the name
//! Gateway, scenario, case, experiment and squeeze files are all YAML, and their users name them. Each kind has keys that no other kind
//! has, such as `listen`, `flows` and `case`. A file with such keys of one kind is of that kind, and its reader says
//! what is wrong with the others.

use crate::case::file::CaseTable;
use crate::experiment::file::ExperimentTable;
use crate::file::File;
use crate::scenario::file::ScenarioTable;
use crate::squeeze::file::SqueezeTable;
use fields::{Keys, Place, Problem, Problems, Report};
use std::path::Path;
use yaml::Key;

/// A kind of file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Routes, pools and limits of a gateway.
    Gateway,
    /// Requests of users, for load.
    Scenario,
    /// A fleet with its traffic and scaling policies, for the simulator.
    Case,
    /// A control and candidates that are compared.
    Experiment,
    /// More load on a few instances of a pool.
    Squeeze,
}

impl Kind {
    const ALL: [Kind; 5] = [Kind::Gateway, Kind::Scenario, Kind::Case, Kind::Experiment, Kind::Squeeze];

    /// What a user calls it.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Gateway => "gateway file",
            Kind::Scenario => "scenario file",
            Kind::Case => "case file",
            Kind::Experiment => "experiment file",
            Kind::Squeeze => "squeeze file",
        }
    }

    fn keys(self) -> Vec<&'static str> {
        match self {
            Kind::Gateway => File::keys(),
            Kind::Scenario => ScenarioTable::keys(),
            Kind::Case => CaseTable::keys(),
            Kind::Experiment => ExperimentTable::keys(),
            Kind::Squeeze => SqueezeTable::keys(),
        }
    }

    /// Whether a key is of this kind and of no other.
    fn alone_has(self, key: &str) -> bool {
        Kind::ALL.iter().all(|kind| kind.keys().contains(&key) == (*kind == self))
    }
}

/// The kind of a file.
///
/// # Errors
/// Where it cannot be read or is not YAML, and where its keys are those of no kind, or of several.
pub fn kind(path: &Path) -> Result<Kind, Problems> {
    let text = fields::text_of(
        path,
        "give a gateway, scenario, case, experiment or squeeze file, which are UTF-8 text",
    )?;
    kind_of(&path.display().to_string(), &text)
}

/// The kind of the text of a file. `name` is what messages call it.
///
/// # Errors
/// As [`kind`].
pub fn kind_of(name: &str, text: &str) -> Result<Kind, Problems> {
    let mut report = Report::new(name, text);
    let wrong = |report: Report| Problems::new(report.problems);
    let Some(node) = fields::read_tree(text, &mut report) else { return Err(wrong(report)) };
    let keys: &[(Key, yaml::Node)] = match &node.kind {
        yaml::Kind::Table(entries) => entries,
        _ => &[],
    };
    let of = |kind: &Kind| keys.iter().map(|(key, _)| key).find(|key| kind.alone_has(&key.name));
    let found: Vec<(Kind, &Key)> = Kind::ALL.iter().filter_map(|kind| Some((*kind, of(kind)?))).collect();
    match found.as_slice() {
        [(kind, _)] => return Ok(*kind),
        [] => {
            let place =
                Place { path: String::new(), span: keys.first().map_or(0..0, |(key, _)| key.span.clone()) };
            let keys: Vec<String> = keys.iter().map(|(key, _)| format!("`{}`", key.name)).collect();
            let message = match keys.as_slice() {
                [] => {
                    "a file without keys is no gateway, scenario, case, experiment or squeeze file".to_owned()
                }
                keys => format!(
                    "the keys of this file ({}) do not tell whether it is a gateway, scenario, case, experiment or squeeze file",
                    keys.join(", ")
                ),
            };
            report.wrong(&place, message, "no key that only one kind of file has", HELP.to_owned());
        }
        several => {
            let mut problems = Vec::new();
            let named: Vec<String> =
                several.iter().map(|(kind, key)| format!("`{}` of a {}", key.name, kind.name())).collect();
            let message = format!("this file has keys of {} kinds: {}", several.len(), named.join(", "));
            for (kind, key) in several.iter().skip(1) {
                let place = Place { path: key.name.clone(), span: key.span.clone() };
                let problem = Problem::error(&report.source, &place, message.clone());
                problems.push(problem.label(format!("a key of a {}", kind.name())).help(HELP));
            }
            report.problems.append(&mut problems);
        }
    }
    Err(wrong(report))
}

const HELP: &str = "a gateway file has `listen`, `pools` and `routes`; a scenario file has `scenario` and `flows`; a \
                    case file has `case`, `traffic` and `services`; an experiment file has `experiment`, `control` and \
                    `candidates`; a squeeze file has `squeeze`, `pool` and `guards`";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_own_keys_tell_the_kind() {
        for (text, kind) in [
            ("listen: 127.0.0.1:1\npools: {}", Kind::Gateway),
            ("routes: []", Kind::Gateway),
            ("base: http://127.0.0.1:1\nflows: []", Kind::Scenario),
            ("thresholds: {}", Kind::Scenario),
            ("about: x\ncase: y\npools: {}", Kind::Case),
            ("  case: indented\n", Kind::Case),
            ("experiment: x\nload: { rate: 1/s }", Kind::Experiment),
            ("squeeze: x\ngateway: y\npool: z", Kind::Squeeze),
            ("\"listen\": quoted\nunknown: 1", Kind::Gateway),
            // A value is no key.
            ("listen: |\n  case:\n", Kind::Gateway),
        ] {
            assert_eq!(kind_of("file.yaml", text).map_err(|wrong| wrong.plain()), Ok(kind), "{text}");
        }
    }

    #[test]
    fn keys_of_no_kind_and_of_several_are_named() {
        let said =
            ["hello: 1\nworld: 2\n", "pools: {}\n", "", "- a\n", "listen: 1\nflows: 2\ncase: 3\n", "a: [\n"]
                .map(|text| kind_of("file.yaml", text).unwrap_err().plain());
        insta::assert_snapshot!(said.join("\n---\n"));
    }
}
