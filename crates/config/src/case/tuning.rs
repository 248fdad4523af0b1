//! `tune` of a case file: what `headroom tune` leaves as it is, and the values that it tries.

use super::file::TuneTable;
use super::space::{Choice, Dimension};
use super::vary::Edit;
use super::{Also, Case};
use fields::{At, Report, Text, suggestion};

/// What a search may not do.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Tuning {
    keep: Vec<String>,
    values: Vec<(String, Vec<String>)>,
}

impl Tuning {
    pub(super) fn of(table: Option<&At<TuneTable>>) -> Self {
        let Some(At { value: table, .. }) = table else { return Tuning::default() };
        let keep = table.keep.iter().flatten().map(|at| at.value.0.clone()).collect();
        let values = table.values.iter().flatten().map(|at| {
            let values = at.value.values.value.iter().map(|at| at.value.0.clone()).collect();
            (at.value.key.value.0.clone(), values)
        });
        Tuning { keep, values: values.collect() }
    }

    /// The dimensions that are left, with their values.
    pub(super) fn narrowed(&self, mut dimensions: Vec<Dimension>) -> Vec<Dimension> {
        // Conditions name dimensions by their place, so that none is taken out: one with a single value is fixed.
        for dimension in &mut dimensions {
            if let Some((_, values)) = self.values.iter().find(|(key, _)| *key == dimension.key) {
                narrow(dimension, values);
            }
            // Another kind of policies would take out an alarm that is kept.
            let today = dimension.today;
            let is_kept = |key: &String| {
                let mut others = dimension.choices.iter().enumerate().filter(|(place, _)| *place != today);
                is_below(&dimension.key, key) || others.any(|(_, choice)| replaces(choice, key))
            };
            if self.keep.iter().any(is_kept) {
                let today = dimension.choices.swap_remove(dimension.today);
                (dimension.choices, dimension.today) = (vec![today], 0);
            }
        }
        dimensions
    }
}

/// Today's value and the given ones, in the order of the file.
fn narrow(dimension: &mut Dimension, values: &[String]) {
    let Some(path) = path_of(dimension) else { return };
    let today = dimension.choices.swap_remove(dimension.today);
    let choice = |text: &String| {
        let known = dimension.choices.iter().find(|choice| choice.text.as_ref() == Some(text));
        known.cloned().unwrap_or_else(|| Choice {
            text: Some(text.clone()),
            edits: vec![Edit { path: path.clone(), value: Some(text.clone()) }],
        })
    };
    let mut choices: Vec<Choice> = values.iter().map(choice).collect();
    let place = choices.iter().position(|choice| choice.text == today.text).unwrap_or_else(|| {
        choices.push(today);
        choices.len() - 1
    });
    (dimension.choices, dimension.today) = (choices, place);
}

/// The path of the key that all choices are values of; `None` if they are of several keys.
fn path_of(dimension: &Dimension) -> Option<Vec<String>> {
    dimension.choices[dimension.today].edits.first().map(|edit| edit.path.clone())
}

/// Whether a choice sets what a key is below.
fn replaces(choice: &Choice, key: &str) -> bool {
    choice.edits.iter().any(|edit| is_below(key, &edit.path.join(".")))
}

/// Whether a key is this one or below it.
fn is_below(key: &str, above: &str) -> bool {
    key.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

/// Reports keys that no stage has.
pub(super) fn check(table: Option<&At<TuneTable>>, case: &Case, report: &mut Report) {
    let Some(At { value: table, .. }) = table else { return };
    let all = [Also::Server, Also::Balancing, Also::Hosts];
    let dimensions: Vec<Dimension> =
        (0..case.stages.len()).flat_map(|stage| case.dimensions(stage, &all)).collect();
    let keys: Vec<&str> = dimensions.iter().map(|dimension| dimension.key.as_str()).collect();
    let mut check = |at: &At<Text>, is_it: &dyn Fn(&str) -> bool| {
        if !keys.iter().any(|key| is_it(key)) {
            let message = format!("no key that can be tuned is `{}`", at.value.0);
            let help = suggestion(&at.value.0, keys.iter().copied());
            report.wrong(&at.place, message, "not a key of a stage", help);
        }
    };
    for at in table.keep.iter().flatten() {
        check(at, &|key| is_below(key, &at.value.0));
    }
    for at in table.values.iter().flatten() {
        check(&at.value.key, &|key| key == at.value.key.value.0);
    }
    for at in table.values.iter().flatten() {
        let key = &at.value.key;
        let without_path = |one: &&Dimension| one.key == key.value.0 && path_of(one).is_none();
        if let Some(dimension) = dimensions.iter().find(without_path) {
            let message = format!("`{}` has no values of its own: it stands for several keys", dimension.key);
            let help = "name it in `keep`, or give the values of keys below it".to_owned();
            report.wrong(&key.place, message, "not one key", help);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::case::{Given, parse};
    use std::path::Path;

    const CASE: &str = "\
case: shop
traffic: { rate: 5/s }
services:
  web:
    endpoints: { page: { cpu: 10ms } }
    server: { threads: 4 }
    hosts: { small: { cores: 2 } }
    scaling: { min: 2, max: 9, hpa: { cpu: 50%, behavior: true } }
";

    #[test]
    fn what_a_team_does_not_change_has_one_value() {
        let tune = "tune:\n  keep: [services.web.scaling.max]\n  values:\n    - { key: services.web.scaling.hpa.cpu, values: [40%, 60%] }\n";
        let case = parse("a.yaml", &format!("{CASE}{tune}"), Path::new(""), Given::default())
            .unwrap_or_else(|problems| panic!("{problems}"));
        let dimensions = case.dimensions(0, &[]);
        let texts = |end: &str| -> Vec<&str> {
            let found =
                dimensions.iter().find(|dimension| dimension.key.ends_with(end)).expect("a dimension");
            assert!(found.today < found.choices.len());
            found.choices.iter().filter_map(|choice| choice.text.as_deref()).collect()
        };
        assert_eq!(texts("scaling.max"), ["9"]);
        assert_eq!(texts("hpa.cpu"), ["40%", "60%", "50%"]);
        assert!(texts("scaling.min").len() > 2);
    }

    /// Another kind of policies would replace it.
    #[test]
    fn the_kind_of_policies_is_kept_with_an_alarm() {
        let scaling = "scaling:\n      min: 2\n      max: 9\n      alarms: { slow: { metric: cpu, above: 60%, period: 1m, datapoints: 2 } }\n      \
                       policies: { out: { alarms: [slow], change: +1, cooldown: 300s } }\n";
        let aws = CASE.replace("scaling: { min: 2, max: 9, hpa: { cpu: 50%, behavior: true } }\n", scaling);
        let kinds = |tune: &str| {
            let case = parse("a.yaml", &format!("{aws}{tune}"), Path::new(""), Given::default())
                .unwrap_or_else(|problems| panic!("{problems}"));
            let dimensions = case.dimensions(0, &[]);
            let kind = dimensions.iter().find(|dimension| dimension.key.ends_with("scaling.policies"));
            kind.expect("a kind").choices.len()
        };
        assert_eq!(kinds(""), 3);
        assert_eq!(kinds("tune: { keep: [services.web.scaling.alarms.slow] }\n"), 1);
        assert_eq!(kinds("tune: { keep: [services.web.scaling.policies.out] }\n"), 1);
        assert_eq!(kinds("tune: { keep: [services.web.scaling.max] }\n"), 3);
        let values = "tune: { values: [{ key: services.web.scaling.policies, values: [a] }] }\n";
        let problems =
            parse("a.yaml", &format!("{aws}{values}"), Path::new(""), Given::default()).unwrap_err();
        assert!(problems.plain().contains("stands for several keys"), "{}", problems.plain());
    }

    #[test]
    fn keys_that_cannot_be_tuned_are_refused() {
        let tune = "tune: { keep: [services.web.scaling.maxx] }\n";
        let problems =
            parse("a.yaml", &format!("{CASE}{tune}"), Path::new(""), Given::default()).unwrap_err();
        let text = problems.plain();
        assert!(text.contains("services.web.scaling.max"), "{text}");
    }
}
