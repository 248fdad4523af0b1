//! Variables with several values: every combination of them is a service.

use super::check::{PORT, arm_of};
use super::file::{ExperimentTable, ServiceTable};
use super::{Arm, Find};
use fields::yaml::{Kind, Node};
use fields::{At, Names, Place, Read, Report, place, word};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The values of a variable: a list, or the whole numbers of `4..20`.
#[derive(Debug, Clone)]
pub(crate) struct Values(pub(crate) Vec<String>);

/// Services for all combinations, the first one as the control.
pub(super) struct Varied {
    pub(super) variable: String,
    pub(super) control: Arm,
    pub(super) candidates: Vec<Arm>,
    pub(super) find: Find,
}

impl Read for Values {
    fn read(node: &Node, path: &str, report: &mut Report) -> Option<Self> {
        let wrong = |found: String, report: &mut Report| {
            let message = format!("expected values, found {found}");
            let help = format!(
                "write a list such as `[1, 2, 4]`, or up to {COMBINATIONS_MAX} whole numbers such as `4..20`"
            );
            report.wrong(&place(node, path), message, "these values", help);
        };
        match &node.kind {
            Kind::List(items) => {
                let text = |item: &Node| match &item.kind {
                    Kind::Scalar(text) => Some(text.clone()),
                    _ => None,
                };
                let values: Option<Vec<String>> = items.iter().map(text).collect();
                if values.is_none() {
                    wrong("a list with something else in it".to_owned(), report);
                }
                values.map(Values)
            }
            Kind::Scalar(text) => {
                let ends = text.split_once("..").and_then(|(first, last)| {
                    Some((first.trim().parse::<u32>().ok()?, last.trim().parse::<u32>().ok()?))
                });
                match ends.filter(|(first, last)| first < last && last - first < COMBINATIONS_MAX as u32) {
                    Some((first, last)) => {
                        Some(Values((first..=last).map(|value| value.to_string()).collect()))
                    }
                    None => {
                        wrong(format!("`{text}`"), report);
                        None
                    }
                }
            }
            other => {
                wrong(other.shown().to_owned(), report);
                None
            }
        }
    }
}

impl JsonSchema for Values {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Values".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [
            { "type": "array", "items": { "type": ["string", "number", "boolean"] } },
            { "type": "string", "pattern": "^[0-9]+ *[.][.] *[0-9]+$" },
        ] })
    }
}

/// The services of a file with `vary`.
pub(super) fn varied(
    file: &ExperimentTable,
    vary: &At<Names<At<Values>>>,
    report: &mut Report,
) -> Option<Varied> {
    let others = [
        ("variable", file.variable.as_ref().map(|at| &at.place)),
        ("control", file.control.as_ref().map(|at| &at.place)),
        ("candidates", file.candidates.as_ref().map(|at| &at.place)),
        ("second_control", file.second_control.as_ref().map(|at| &at.place)),
        ("shared", file.shared.as_ref().map(|at| &at.place)),
        ("design", file.design.as_ref().map(|at| &at.place)),
        ("hypothesis", file.hypothesis.as_ref().map(|at| &at.place)),
    ];
    for (name, place) in others {
        if let Some(place) = place {
            let message = format!("`{name}` beside `vary`");
            let help = "remove it: with `vary`, the services of `service` run one after the other, each started anew";
            report.wrong(place, message, "no effect", help.to_owned());
        }
    }
    let goals = [("best", Find::Best), ("effects", Find::Effects { variables: vary.value.iter().count() })];
    let find = word(file.find.as_ref(), &goals, report);
    let Some(service) = &file.service else {
        if !report.knows_of("service") {
            let help = "add `service: { command: … }`, with the variables in braces".to_owned();
            report.wrong(&vary.place, "`service` is missing".to_owned(), "of this service", help);
        }
        return None;
    };
    let base = base(service, report)?;
    let variables: Vec<(&str, &Place, &[String])> = vary
        .value
        .iter()
        .filter_map(|named| {
            Some((named.name.as_str(), &named.place, named.value.as_ref()?.value.0.as_slice()))
        })
        .collect();
    let problems = report.problems.len();
    check(&variables, &base, find, &vary.place, report);
    if report.problems.len() > problems || variables.len() < vary.value.iter().count() {
        return None;
    }
    let mut arms = combinations(&variables).into_iter().map(|values| filled(&base, &values));
    let names: Vec<&str> = variables.iter().map(|(name, ..)| *name).collect();
    Some(Varied { variable: names.join(", "), control: arms.next()?, candidates: arms.collect(), find })
}

fn base(at: &At<ServiceTable>, report: &mut Report) -> Option<Arm> {
    let ServiceTable { command, env, url, own_store } = &at.value;
    let command = command.0.as_ref()?;
    Some(arm_of(
        String::new(),
        Some(command),
        env.as_ref(),
        url.as_ref(),
        own_store.as_ref(),
        &at.place,
        report,
    ))
}

fn check(variables: &[(&str, &Place, &[String])], base: &Arm, find: Find, all: &Place, report: &mut Report) {
    for (name, place, values) in variables {
        let mut wrong = |message: String, label: &str, help: &str| {
            report.wrong(place, message, label, help.to_owned());
        };
        let again = values.iter().enumerate().find(|(at, value)| values[..*at].contains(value));
        match again {
            _ if values.len() < 2 => {
                wrong(
                    format!("`{name}` has no other value"),
                    "nothing to compare",
                    "give it two values or more",
                );
            }
            Some((_, value)) => {
                wrong(format!("`{name}` has the value `{value}` twice"), "again", "remove one of them");
            }
            None if matches!(find, Find::Effects { .. }) && values.len() != 2 => wrong(
                format!("`{name}` has {} values, and effects are found between two", values.len()),
                "too many",
                "keep a low and a high value, or write `find: best`",
            ),
            None => (),
        }
        let written = format!("{{{name}}}");
        if format!("{{{name}}}") == PORT {
            wrong(format!("`{name}` is the free port"), "this name", "give the variable another name");
        } else if !texts(base).any(|text| text.contains(&written)) {
            wrong(
                format!("`service` does not have `{written}`"),
                "changes nothing",
                "write it where its value belongs, in `command`, `env` or `url`",
            );
        }
    }
    let count = variables.iter().fold(1_usize, |count, (_, _, values)| count.saturating_mul(values.len()));
    if count > COMBINATIONS_MAX || variables.is_empty() {
        let message = format!("{count} combinations of values; there may be 2 to {COMBINATIONS_MAX}");
        let help = "each is started and measured in every round: give fewer values".to_owned();
        report.wrong(all, message, "these values", help);
    } else if matches!(find, Find::Effects { .. }) && variables.len() > FACTORS_MAX {
        let message = format!("{} variables; effects are found of up to {FACTORS_MAX}", variables.len());
        report.wrong(all, message, "too many", "leave out those that matter least".to_owned());
    }
}

fn texts(arm: &Arm) -> impl Iterator<Item = &str> {
    arm.command.as_deref().into_iter().chain(arm.env.values().map(String::as_str)).chain([arm.url.as_str()])
}

/// All combinations; the first variable changes fastest, as the lowest bit of [`control::trial::Factorial`] does.
fn combinations<'a>(variables: &[(&'a str, &Place, &'a [String])]) -> Vec<Vec<(&'a str, &'a str)>> {
    let mut all: Vec<Vec<(&str, &str)>> = vec![Vec::new()];
    for (name, _, values) in variables {
        all = values
            .iter()
            .flat_map(|value| {
                all.iter().map(|before| [before.as_slice(), &[(*name, value.as_str())]].concat())
            })
            .collect();
    }
    all
}

/// The service with the values of its variables.
fn filled(base: &Arm, values: &[(&str, &str)]) -> Arm {
    let fill = |text: &String| {
        values.iter().fold(text.clone(), |text, (name, value)| text.replace(&format!("{{{name}}}"), value))
    };
    let value = match values {
        [(_, value)] => (*value).to_owned(),
        several => {
            several.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
        }
    };
    Arm {
        value,
        command: base.command.as_ref().map(fill),
        env: base.env.iter().map(|(name, text)| (name.clone(), fill(text))).collect::<BTreeMap<_, _>>(),
        url: fill(&base.url),
        ..base.clone()
    }
}

/// A round of a hundred services takes minutes.
const COMBINATIONS_MAX: usize = 100;
/// Sixteen combinations.
const FACTORS_MAX: usize = 4;
