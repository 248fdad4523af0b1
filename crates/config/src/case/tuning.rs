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
            if self.keep.iter().any(|key| is_below(&dimension.key, key)) {
                let today = dimension.choices.swap_remove(dimension.today);
                (dimension.choices, dimension.today) = (vec![today], 0);
            }
        }
        dimensions
    }
}

/// Today's value and the given ones, in the order of the file.
fn narrow(dimension: &mut Dimension, values: &[String]) {
    let today = dimension.choices.swap_remove(dimension.today);
    let Some(path) = today.edits.first().map(|edit| edit.path.clone()) else {
        dimension.choices.push(today);
        dimension.today = dimension.choices.len() - 1;
        return;
    };
    let choice = |text: &String| Choice {
        text: Some(text.clone()),
        edits: vec![Edit { path: path.clone(), value: Some(text.clone()) }],
    };
    let mut choices: Vec<Choice> = values.iter().map(choice).collect();
    let place = choices.iter().position(|choice| choice.text == today.text).unwrap_or_else(|| {
        choices.push(today);
        choices.len() - 1
    });
    (dimension.choices, dimension.today) = (choices, place);
}

/// Whether a key is this one or below it.
fn is_below(key: &str, above: &str) -> bool {
    key.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

/// Reports keys that no stage has.
pub(super) fn check(table: Option<&At<TuneTable>>, case: &Case, report: &mut Report) {
    let Some(At { value: table, .. }) = table else { return };
    let all = [Also::Server, Also::Balancing, Also::Hosts];
    let keys: Vec<String> = (0..case.stages.len())
        .flat_map(|stage| case.dimensions(stage, &all))
        .map(|dimension| dimension.key)
        .collect();
    let mut check = |at: &At<Text>, is_it: &dyn Fn(&str) -> bool| {
        if !keys.iter().any(|key| is_it(key)) {
            let message = format!("no key that can be tuned is `{}`", at.value.0);
            let help = suggestion(&at.value.0, keys.iter().map(String::as_str));
            report.wrong(&at.place, message, "not a key of a stage", help);
        }
    };
    for at in table.keep.iter().flatten() {
        check(at, &|key| is_below(key, &at.value.0));
    }
    for at in table.values.iter().flatten() {
        check(&at.value.key, &|key| key == at.value.key.value.0);
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

    #[test]
    fn keys_that_cannot_be_tuned_are_refused() {
        let tune = "tune: { keep: [services.web.scaling.maxx] }\n";
        let problems =
            parse("a.yaml", &format!("{CASE}{tune}"), Path::new(""), Given::default()).unwrap_err();
        let text = problems.plain();
        assert!(text.contains("services.web.scaling.max"), "{text}");
    }
}
