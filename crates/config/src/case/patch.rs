//! The changes of a stage as changes of the objects of AWS that its settings came from.

mod manifests;

pub use manifests::{Manifest, Manifests};

use super::Case;
use super::tree::key_of;
use super::vary::{Edit, value_of};
use control::alarm::AlarmSettings;
use control::scaling::{Policy as Rule, SimpleScaling, StepScaling, TargetTracking};
use import::aws::patch::{self, Change, Settings};
use sim::settings::{AwsScaling, Policy};

/// What a patch consists of.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Patch {
    /// Changes of objects, in the order in which they are to be applied.
    pub changes: Vec<Change>,
    /// Changed keys that are of no object of AWS, or of one that the case does not name.
    pub elsewhere: Vec<String>,
}

impl Case {
    /// The objects that the edits of a stage change. Without `origin` keys there are none.
    ///
    /// # Errors
    /// The problems of the stage with the edits, a line each.
    pub fn patch(&self, stage: usize, edits: &[Edit]) -> Result<Patch, Vec<String>> {
        let after = self.varied(stage, edits)?;
        let before = &self.stages[stage].system;
        let mut patch = Patch::default();
        for (place, (from, to)) in before.services.iter().zip(&after.services).enumerate() {
            let (Policy::Aws(from), Policy::Aws(to)) = (&from.scaling.policy, &to.scaling.policy) else {
                continue;
            };
            let path = ["services", &before.services[place].name, "scaling"].map(str::to_owned);
            self.bounds_patch(stage, &path, edits, &mut patch);
            self.service_patch(stage, &key_of(&path), (from, to), &mut patch);
        }
        self.scheduled_patch(stage, edits, &mut patch);
        let elsewhere = |edit: &&Edit| edit.path.get(2).is_none_or(|key| key != "scaling");
        patch.elsewhere.extend(edits.iter().filter(elsewhere).map(|edit| key_of(&edit.path)));
        Ok(patch)
    }

    /// Adds a change of the object that a place of the file came from.
    fn add(&self, stage: usize, path: String, edit: patch::Edit, patch: &mut Patch) {
        let origins = &self.stages[stage].origins;
        match origins.iter().find(|found| found.path == path) {
            Some(found) => patch.changes.push(Change { origin: found.origin.clone(), edit }),
            None => patch.elsewhere.push(path),
        }
    }

    /// The bounds as the file has them: a schedule may have changed them before the run begins.
    fn bounds_patch(&self, stage: usize, path: &[String], edits: &[Edit], patch: &mut Patch) {
        let with = |edits: &[Edit]| {
            let count = |key: &str| {
                let path: Vec<String> = path.iter().cloned().chain([key.to_owned()]).collect();
                value_of(self.tree(stage), edits, &path)?.parse().ok()
            };
            Some(Settings::Bounds { min: count("min")?, max: count("max")? })
        };
        let (Some(from), Some(to)) = (with(&[]), with(edits)) else { return };
        if from != to {
            self.add(stage, key_of(path), patch::Edit::Set { from, to }, patch);
        }
    }

    fn service_patch(
        &self,
        stage: usize,
        path: &str,
        (from, to): (&AwsScaling, &AwsScaling),
        patch: &mut Patch,
    ) {
        let set = |from, to| patch::Edit::Set { from, to };
        // First what is added: in between, both hold, and the larger capacity wins.
        for (name, rule) in to.names.policies.iter().zip(&to.scaler.policies) {
            if from.names.policies.contains(name) {
                continue;
            }
            self.add(stage, path.to_owned(), patch::Edit::Add(name.clone(), rule.clone()), patch);
        }
        for (name, alarm) in from.names.alarms.iter().zip(&from.scaler.alarms) {
            let now = to.names.alarms.iter().position(|other| other == name);
            let edit = match now.and_then(|place| to.scaler.alarms.get(place)) {
                // Metrics are numbered in the order of their use.
                Some(now) if (AlarmSettings { metric: alarm.metric, ..*now }) == *alarm => continue,
                Some(now) => set(Settings::Alarm(*alarm), Settings::Alarm(*now)),
                None => patch::Edit::Disable,
            };
            self.add(stage, format!("{path}.alarms.{name}"), edit, patch);
        }
        for (name, rule) in from.names.policies.iter().zip(&from.scaler.policies) {
            let now = to.names.policies.iter().position(|other| other == name);
            let edit = match (now.and_then(|place| to.scaler.policies.get(place)), rule) {
                (Some(now), _) if same(now, rule) => continue,
                (Some(now), _) => set(Settings::Policy(rule.clone()), Settings::Policy(now.clone())),
                // Its alarms no longer invoke it.
                (None, Rule::Step(_) | Rule::Simple(_)) => continue,
                (None, Rule::TargetTracking(_) | Rule::Predictive(_)) => patch::Edit::Remove,
            };
            self.add(stage, format!("{path}.policies.{name}"), edit, patch);
        }
    }

    /// Scheduled actions are places in a list; what they set is in their keys.
    fn scheduled_patch(&self, stage: usize, edits: &[Edit], patch: &mut Patch) {
        let mut done: Vec<Vec<String>> = Vec::new();
        for edit in edits {
            let [.., list, _, _] = &edit.path[..] else { continue };
            let action = edit.path[..edit.path.len() - 1].to_vec();
            if list != "schedule" || done.contains(&action) {
                continue;
            }
            let with = |edits: &[Edit]| {
                let count = |key: &str| {
                    let path: Vec<String> = action.iter().cloned().chain([key.to_owned()]).collect();
                    value_of(self.tree(stage), edits, &path)?.parse().ok()
                };
                Settings::Scheduled { min: count("min"), max: count("max"), desired: count("desired") }
            };
            let edit = patch::Edit::Set { from: with(&[]), to: with(edits) };
            self.add(stage, key_of(&action), edit, patch);
            done.push(action);
        }
    }
}

/// Whether two rules are the same but for the numbers of their alarms and metrics.
fn same(one: &Rule, other: &Rule) -> bool {
    match (one, other) {
        (Rule::Step(one), Rule::Step(other)) => {
            StepScaling { alarms: one.alarms.clone(), ..other.clone() } == *one
        }
        (Rule::Simple(one), Rule::Simple(other)) => {
            SimpleScaling { alarms: one.alarms.clone(), ..other.clone() } == *one
        }
        (Rule::TargetTracking(one), Rule::TargetTracking(other)) => {
            TargetTracking { metric: one.metric, ..*other } == *one
        }
        (one, other) => one == other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::{Given, parse, write};
    use import::aws::terraform::patch::{Override, overrides};
    use serde_json::Value;
    use std::path::Path;

    /// 2026-07-01T12:00:00Z.
    const NOON: i64 = 1_782_907_200_000_000;
    const ECS: [&str; 4] = ["targets.json", "policies.json", "scheduled.json", "alarms.json"];
    const GROUP: [&str; 4] =
        ["groups.json", "group-policies.json", "group-alarms.json", "group-scheduled.json"];

    fn files(names: &[&str]) -> Vec<(String, String)> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../import/tests/aws");
        let read = |name: &&str| ((*name).to_owned(), std::fs::read_to_string(folder.join(name)).unwrap());
        names.iter().map(read).collect()
    }

    fn named(files: &[(String, String)]) -> Vec<(&str, &str)> {
        files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect()
    }

    /// The case of the files, with what users fill in.
    fn case(files: &[(String, String)]) -> Case {
        filled(&write::aws(&import::aws::read(named(files)).unwrap(), NOON).text)
    }

    fn filled(draft: &str) -> Case {
        let values =
            [("rate", "50/s"), ("cpu", "5ms"), ("wait", "20ms"), ("provision", "30s"), ("boot", "10s")];
        let filled = values.iter().fold(draft.to_owned(), |text, (key, value)| {
            text.replace(&format!(" {key}: TODO"), &format!(" {key}: {value}"))
        });
        let text = format!("measured: 5m\n{}", filled.replace(": TODO", ": 1"));
        parse("case.yaml", &text, Path::new(""), Given::default())
            .unwrap_or_else(|problems| panic!("{problems}\n{text}"))
    }

    fn policies<'a>(services: impl Iterator<Item = &'a sim::settings::Service>) -> String {
        let said: String = services.map(|service| format!("{:#?}\n", service.scaling.policy)).collect();
        // It is for percentiles, and CloudWatch refuses it beside another statistic.
        said.replace("few_samples: Ignore", "few_samples: Evaluate")
    }

    /// The files after the calls: each object has the fields of its input.
    fn applied(files: &[(String, String)], calls: &[patch::Call], undo: bool) -> Vec<(String, String)> {
        let apply = |value: &mut Value, call: &patch::Call| {
            let (input, before) = if undo { (&call.undo, &call.input) } else { (&call.input, &call.undo) };
            visit(value, &mut |object| {
                let known =
                    ["AlarmName", "PolicyName", "ScheduledActionName", "ResourceId", "AutoScalingGroupName"];
                let identity = known.into_iter().filter(|key| input.get(*key).is_some());
                let all = [
                    "AlarmArn",
                    "PolicyARN",
                    "ScheduledActionARN",
                    "ScalableTargetARN",
                    "AutoScalingGroupARN",
                ];
                let kind = all.into_iter().find(|key| object.contains_key(*key));
                let wanted = match call.command[1] {
                    "put-metric-alarm" => "AlarmArn",
                    "put-scaling-policy" => "PolicyARN",
                    "register-scalable-target" => "ScalableTargetARN",
                    "update-auto-scaling-group" => "AutoScalingGroupARN",
                    _ => "ScheduledActionARN",
                };
                if kind == Some(wanted) && identity.into_iter().all(|key| object.get(key) == input.get(key)) {
                    for key in before.as_object().unwrap().keys() {
                        object.remove(key);
                    }
                    object.extend(input.as_object().unwrap().clone());
                }
            });
        };
        let of = |(name, text): &(String, String)| {
            let mut document: Value = serde_json::from_str(text).unwrap();
            calls.iter().for_each(|call| apply(&mut document, call));
            (name.clone(), document.to_string())
        };
        files.iter().map(of).collect()
    }

    fn visit(value: &mut Value, with: &mut dyn FnMut(&mut serde_json::Map<String, Value>)) {
        match value {
            Value::Array(items) => items.iter_mut().for_each(|item| visit(item, with)),
            Value::Object(object) => {
                with(object);
                object.values_mut().for_each(|item| visit(item, with));
            }
            _ => {}
        }
    }

    /// What is applied and imported again is the changed case, and undone it is the case.
    #[test]
    fn every_change_of_one_key_comes_back_by_an_import() {
        for names in [ECS, GROUP] {
            let files = files(&names);
            let case = case(&files);
            let before = policies(case.stages[0].system.services.iter());
            let mut tried = 0;
            for dimension in case.dimensions(0, &[]) {
                // Another kind of policies is a matter of its own.
                if dimension.when.is_some_and(|(_, place)| place != 0) || dimension.key.ends_with("policies")
                {
                    continue;
                }
                for choice in &dimension.choices {
                    let Ok(wanted) = case.varied(0, &choice.edits) else { continue };
                    let patch = case.patch(0, &choice.edits).unwrap();
                    let calls = patch::calls(named(&files), &patch.changes).unwrap();
                    let wanted = policies(wanted.services.iter());
                    assert!(wanted == before || calls.is_empty() != patch.elsewhere.is_empty(), "{choice:?}");
                    // The actions of the group's file have no ARN.
                    if wanted != before && calls.is_empty() {
                        let of_action = |path: &String| path.starts_with("services.my-asg.scaling.schedule[");
                        assert!(patch.elsewhere.iter().all(of_action), "{choice:?}");
                        continue;
                    }
                    let changed = applied(&files, &calls, false);
                    let found = policies(self::case(&changed).stages[0].system.services.iter());
                    assert!(found == wanted, "{} {choice:?}: {calls:#?}\n{found}", dimension.key);
                    let undone = applied(&changed, &calls, true);
                    assert!(
                        policies(self::case(&undone).stages[0].system.services.iter()) == before,
                        "{choice:?}"
                    );
                    tried += 1;
                }
            }
            assert!(tried > 50, "{tried}");
        }
    }

    #[test]
    fn another_kind_of_policies_is_added_and_the_old_alarms_rest() {
        let files = files(&ECS);
        let case = case(&files);
        let dimensions = case.dimensions(0, &[]);
        let kind = dimensions.iter().find(|dimension| dimension.key.ends_with("policies")).unwrap();
        let patch = case.patch(0, &kind.choices[1].edits).unwrap();
        let calls = patch::calls(named(&files), &patch.changes).unwrap();
        let said: String = calls
            .iter()
            .map(|call| {
                format!(
                    "{} {}\n{:#}\nundo {}\n{:#}\n",
                    call.command.join(" "),
                    call.name,
                    call.input,
                    call.undo_command.join(" "),
                    call.undo
                )
            })
            .collect();
        insta::assert_snapshot!(said);
        // Steps need alarms that name a policy which does not exist yet.
        let patch = case.patch(0, &kind.choices[2].edits).unwrap();
        insta::assert_snapshot!(patch::calls(named(&files), &patch.changes).unwrap_err()[0].to_string());
    }

    #[test]
    fn an_object_that_no_file_has_is_named() {
        let files = files(&ECS);
        let case = case(&files);
        let dimensions = case.dimensions(0, &[]);
        let min = dimensions.iter().find(|dimension| dimension.key.ends_with("scaling.min")).unwrap();
        let other = (min.today + 1) % min.choices.len();
        let patch = case.patch(0, &min.choices[other].edits).unwrap();
        let alarms = [("alarms.json", files[3].1.as_str())];
        let errors = patch::calls(alarms, &patch.changes).unwrap_err();
        assert!(errors[0].to_string().starts_with("no file has arn:aws:"), "{errors:?}");
        let errors = patch::calls([("targets.json", "{")], &patch.changes).unwrap_err();
        assert!(errors[0].to_string().starts_with("targets.json is not JSON: "), "{errors:?}");
    }

    /// Overrides of every change of one key are written, and those of a few are as they were last read.
    #[test]
    fn changes_of_resources_of_terraform_are_override_files() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../import/tests/terraform");
        let mut said = String::new();
        for name in ["state.json", "plan.json"] {
            let text = std::fs::read_to_string(folder.join(name)).unwrap();
            let case =
                filled(&write::terraform(&import::aws::terraform::read(name, &text).unwrap(), NOON).text);
            let today = policies(case.stages[0].system.services.iter());
            let (dimensions, mut tried) = (case.dimensions(0, &[]), 0);
            for dimension in dimensions.iter().filter(|one| one.when.is_none_or(|(_, place)| place == 0)) {
                for (place, choice) in dimension.choices.iter().enumerate() {
                    let Ok(wanted) = case.varied(0, &choice.edits) else { continue };
                    let patch = case.patch(0, &choice.edits).unwrap();
                    let found = overrides(name, &text, &patch.changes);
                    let changed = policies(wanted.services.iter()) != today;
                    let found = match found {
                        Ok(found) => found,
                        // Two steps need new alarms.
                        Err(errors) => {
                            assert!(dimension.key.ends_with("policies") && place == 2, "{errors:?}");
                            continue;
                        }
                    };
                    assert!(!changed || !found.is_empty() || !patch.elsewhere.is_empty(), "{choice:?}");
                    tried += 1;
                    if place == (dimension.today + 1) % dimension.choices.len() {
                        let of = |one: &Override| {
                            format!(
                                "-- {} {:?} in {:?}\n{}",
                                dimension.key, choice.text, one.module, one.text
                            )
                        };
                        said.extend(found.iter().map(of));
                    }
                }
            }
            assert!(tried > 20, "{tried}");
        }
        insta::assert_snapshot!(said);
    }
}
