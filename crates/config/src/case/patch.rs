//! The changes of a stage as changes of the objects of AWS that its settings came from.

mod manifests;

pub use manifests::{Manifest, Manifests};

use super::Case;
use super::tree::{at, key_of};
use super::vary::{Edit, edited, flow, value_of};
use control::alarm::AlarmSettings;
use control::scaling::{Policy as Rule, SimpleScaling, StepScaling, TargetTracking};
use import::aws::patch::{self, Change, Settings};
use sim::settings::{AwsScaling, Metric, Policy};
use yaml::{Kind, Node};

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
            self.service_patch(stage, &path, edits, (from, to), &mut patch);
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
        path: &[String],
        edits: &[Edit],
        (from, to): (&AwsScaling, &AwsScaling),
        patch: &mut Patch,
    ) {
        let set = |from, to| patch::Edit::Set { from, to };
        let scaling = key_of(path);
        let (before, after) = (self.tree(stage), edited(self.tree(stage), edits));
        // An object of the same name with another origin, or with none, is another object.
        let is_same = |of: &str, name: &str| {
            let path: Vec<&str> = path.iter().map(String::as_str).chain([of, name, "origin"]).collect();
            let [before, after] = [at(before, &path), at(&after, &path)].map(|origin| origin.map(flow));
            before == after
        };
        let kept = |of: &str, names: &[String], name: &String| {
            names.iter().position(|other| other == name).filter(|_| is_same(of, name))
        };
        // First what is added: in between, both hold, and the larger capacity wins.
        for (name, rule) in to.names.policies.iter().zip(&to.scaler.policies) {
            if kept("policies", &from.names.policies, name).is_none() {
                self.add(stage, scaling.clone(), patch::Edit::Add(name.clone(), rule.clone()), patch);
            }
        }
        for (place, (name, alarm)) in to.names.alarms.iter().zip(&to.scaler.alarms).enumerate() {
            if kept("alarms", &from.names.alarms, name).is_some() {
                continue;
            }
            let invokes = |rule: &Rule| match rule {
                Rule::Step(StepScaling { alarms, .. }) | Rule::Simple(SimpleScaling { alarms, .. }) => {
                    alarms.iter().any(|alarm| usize::from(alarm.0) == place)
                }
                Rule::TargetTracking(_) | Rule::Predictive(_) => false,
            };
            let policies = to.names.policies.iter().zip(&to.scaler.policies);
            let policies: Vec<String> =
                policies.filter(|(_, rule)| invokes(rule)).map(|(name, _)| name.clone()).collect();
            let of_cpu = to.metrics.get(usize::from(alarm.metric.0));
            let is_new = |name: &String| kept("policies", &from.names.policies, name).is_none();
            if of_cpu.is_some_and(|found| found.metric == Metric::CpuUtilization)
                && policies.iter().all(is_new)
            {
                let edit = patch::Edit::AddAlarm { name: name.clone(), settings: *alarm, policies };
                self.add(stage, scaling.clone(), edit, patch);
            } else {
                patch.elsewhere.push(format!("{scaling}.alarms.{name}"));
            }
        }
        for (name, alarm) in from.names.alarms.iter().zip(&from.scaler.alarms) {
            let now = kept("alarms", &to.names.alarms, name);
            let edit = match now.and_then(|place| to.scaler.alarms.get(place)) {
                // Metrics are numbered in the order of their use.
                Some(now) if (AlarmSettings { metric: alarm.metric, ..*now }) == *alarm => continue,
                Some(now) => set(Settings::Alarm(*alarm), Settings::Alarm(*now)),
                None => patch::Edit::Disable,
            };
            self.add(stage, format!("{scaling}.alarms.{name}"), edit, patch);
        }
        for (name, rule) in from.names.policies.iter().zip(&from.scaler.policies) {
            let now = kept("policies", &to.names.policies, name);
            let edit = match (now.and_then(|place| to.scaler.policies.get(place)), rule) {
                (Some(now), _) if same(now, rule) => continue,
                (Some(now), _) => set(Settings::Policy(rule.clone()), Settings::Policy(now.clone())),
                // Its alarms no longer invoke it.
                (None, Rule::Step(_) | Rule::Simple(_)) => continue,
                (None, Rule::TargetTracking(_) | Rule::Predictive(_)) => patch::Edit::Remove,
            };
            self.add(stage, format!("{scaling}.policies.{name}"), edit, patch);
        }
    }

    /// The scheduled actions of a service that has none.
    fn new_schedule(&self, stage: usize, path: &[String], edits: &[Edit], patch: &mut Patch) {
        let (before, after) = (self.tree(stage), edited(self.tree(stage), edits));
        let [_, service, ..] = path else { return };
        let mut services = self.stages[stage].system.services.iter();
        let is_aws =
            |of: &sim::settings::Service| of.name == *service && matches!(of.scaling.policy, Policy::Aws(_));
        if at(before, path).is_some() || !services.any(is_aws) {
            patch.elsewhere.push(key_of(path));
            return;
        }
        for place in 0.. {
            let action = [path, &[format!("[{place}]")]].concat();
            let ([min, max, _], Some(at)) = scheduled(&after, &action) else { break };
            let edit = patch::Edit::AddScheduled { name: format!("schedule-{}", place + 1), min, max, at };
            self.add(stage, key_of(&path[..path.len() - 1]), edit, patch);
        }
    }

    /// Scheduled actions are places in a list; what they set is in their keys.
    fn scheduled_patch(&self, stage: usize, edits: &[Edit], patch: &mut Patch) {
        let mut done: Vec<Vec<String>> = Vec::new();
        let is_whole = |edit: &&Edit| edit.path.last().is_some_and(|key| key == "schedule");
        for edit in edits.iter().filter(is_whole) {
            self.new_schedule(stage, &edit.path, edits, patch);
        }
        let is_new = |action: &[String]| edits.iter().any(|edit| edit.path == action[..action.len() - 1]);
        for edit in edits {
            let [.., list, _, _] = &edit.path[..] else { continue };
            let action = edit.path[..edit.path.len() - 1].to_vec();
            if list != "schedule" || is_new(&action) || done.contains(&action) {
                continue;
            }
            let with = |edits: &[Edit]| {
                let ([min, max, desired], at) = scheduled(&edited(self.tree(stage), edits), &action);
                Settings::Scheduled { min, max, desired, at }
            };
            let edit = patch::Edit::Set { from: with(&[]), to: with(edits) };
            self.add(stage, key_of(&action), edit, patch);
            done.push(action);
        }
    }
}

/// What a scheduled action of a case sets (`min`, `max` and `desired`), and when.
fn scheduled(tree: &Node, action: &[String]) -> ([Option<u32>; 3], Option<String>) {
    let text = |key: &str| {
        let path: Vec<&str> = action.iter().map(String::as_str).chain([key]).collect();
        match &at(tree, &path)?.kind {
            Kind::Scalar(text) => Some(text.clone()),
            _ => None,
        }
    };
    let counts = ["min", "max", "desired"].map(|key| text(key)?.parse().ok());
    (counts, text("at"))
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
    use serde_json::{Map, Value};
    use std::fs;
    use std::path::Path;

    /// 2026-07-01T12:00:00Z.
    const NOON: i64 = 1_782_907_200_000_000;
    const ECS: [&str; 4] = ["targets.json", "policies.json", "scheduled.json", "alarms.json"];
    const GROUP: [&str; 4] =
        ["groups.json", "group-policies.json", "group-alarms.json", "group-scheduled.json"];

    fn files(names: &[&str]) -> Vec<(String, String)> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../import/tests/aws");
        let read = |name: &&str| ((*name).to_owned(), fs::read_to_string(folder.join(name)).unwrap());
        names.iter().map(read).collect()
    }

    fn named(files: &[(String, String)]) -> Vec<(&str, &str)> {
        files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect()
    }

    /// The case of the files, with what users fill in.
    fn case(files: &[(String, String)]) -> Case {
        case_from(&long(&write::aws(&import::aws::read(named(files)).unwrap(), NOON).text))
    }

    fn filled(draft: &str) -> Case {
        case_from(&format!("measured: 5m\n{draft}"))
    }

    fn case_from(draft: &str) -> Case {
        let values =
            [("rate", "50/s"), ("cpu", "5ms"), ("wait", "20ms"), ("provision", "30s"), ("boot", "10s")];
        let filled = values.iter().fold(draft.to_owned(), |text, (key, value)| {
            text.replace(&format!(" {key}: TODO"), &format!(" {key}: {value}"))
        });
        let text = filled.replace(": TODO", ": 1");
        parse("case.yaml", &text, Path::new(""), Given::default())
            .unwrap_or_else(|problems| panic!("{problems}\n{text}"))
    }

    fn policies<'a>(services: impl Iterator<Item = &'a sim::settings::Service>) -> String {
        let said: String = services.map(|service| format!("{:#?}\n", service.scaling.policy)).collect();
        // It is for percentiles, and CloudWatch refuses it beside another statistic.
        said.replace("few_samples: Ignore", "few_samples: Evaluate")
    }

    /// The files after the calls, as AWS would describe what they made.
    fn applied(files: &[(String, String)], calls: &[patch::Call], undo: bool) -> Vec<(String, String)> {
        let mut documents: Vec<Value> =
            files.iter().map(|(_, text)| serde_json::from_str(text).unwrap()).collect();
        let mut numbered: Vec<(usize, &patch::Call)> = calls.iter().enumerate().collect();
        if undo {
            numbered.reverse();
        }
        for (_, call) in numbered {
            let (command, input, other) = match undo {
                true => (call.undo_command[1], &call.undo, &call.input),
                false => (call.command[1], &call.input, &call.undo),
            };
            let mut input = input.as_object().unwrap().clone();
            if !call.invokes.is_empty() {
                let arn = |place: &usize| arn_of(calls[*place].name.as_str());
                input.insert("AlarmActions".to_owned(), call.invokes.iter().map(arn).collect());
            }
            perform(&mut documents, command, &input, other);
        }
        files
            .iter()
            .zip(documents)
            .map(|((name, _), document)| (name.clone(), document.to_string()))
            .collect()
    }

    fn arn_of(policy: &str) -> Value {
        format!("arn:aws:autoscaling:eu-west-1:123456789012:scalingPolicy:1:policyName/{policy}").into()
    }

    fn perform(documents: &mut [Value], command: &str, input: &Map<String, Value>, other: &Value) {
        let (arn, list) = match command {
            "put-metric-alarm" | "delete-alarms" | "disable-alarm-actions" | "enable-alarm-actions" => {
                ("AlarmArn", "MetricAlarms")
            }
            "put-scaling-policy" | "delete-policy" | "delete-scaling-policy" => {
                ("PolicyARN", "ScalingPolicies")
            }
            "register-scalable-target" => ("ScalableTargetARN", "ScalableTargets"),
            "update-auto-scaling-group" => ("AutoScalingGroupARN", "AutoScalingGroups"),
            "put-scheduled-action" | "put-scheduled-update-group-action" | "delete-scheduled-action" => {
                let of_group = input.contains_key("AutoScalingGroupName");
                (
                    "ScheduledActionARN",
                    if of_group { "ScheduledUpdateGroupActions" } else { "ScheduledActions" },
                )
            }
            other => panic!("{other}"),
        };
        let known = ["AlarmName", "PolicyName", "ScheduledActionName", "ResourceId", "AutoScalingGroupName"];
        let is_it = |object: &Map<String, Value>| match input.get("AlarmNames") {
            Some(names) => object.contains_key(arn) && names[0] == object["AlarmName"],
            None => {
                let mut identity = known.iter().filter(|key| input.contains_key(**key));
                object.contains_key(arn) && identity.all(|key| object.get(*key) == input.get(*key))
            }
        };
        let mut found = false;
        for document in documents.iter_mut() {
            visit(document, &mut |object| {
                if !is_it(object) {
                    return;
                }
                found = true;
                match command {
                    "disable-alarm-actions" | "enable-alarm-actions" => {
                        object
                            .insert("ActionsEnabled".to_owned(), (command == "enable-alarm-actions").into());
                    }
                    "delete-alarms"
                    | "delete-policy"
                    | "delete-scaling-policy"
                    | "delete-scheduled-action" => {
                        object.clear();
                    }
                    _ => {
                        other.as_object().unwrap().keys().for_each(|key| drop(object.remove(key)));
                        object.extend(input.clone());
                    }
                }
            });
            if let Some(items) = document.get_mut(list).and_then(Value::as_array_mut) {
                items.retain(|item| item.as_object().is_some_and(|object| !object.is_empty()));
                if !found && command.starts_with("put-") {
                    found = true;
                    let mut new = input.clone();
                    let names = ["PolicyName", "AlarmName", "ScheduledActionName"];
                    let name = names.iter().find_map(|key| input.get(*key)).unwrap();
                    let name = name.as_str().unwrap();
                    let value = match arn {
                        "AlarmArn" => {
                            format!("arn:aws:cloudwatch:eu-west-1:123456789012:alarm:{name}").into()
                        }
                        _ => arn_of(name),
                    };
                    new.insert(arn.to_owned(), value);
                    items.push(new.into());
                }
            }
        }
        assert!(found, "{command} {input:?}");
    }

    fn visit(value: &mut Value, with: &mut dyn FnMut(&mut Map<String, Value>)) {
        match value {
            Value::Array(items) => items.iter_mut().for_each(|item| visit(item, with)),
            Value::Object(object) => {
                with(object);
                object.values_mut().for_each(|item| visit(item, with));
            }
            _ => {}
        }
    }

    /// The edits of each choice, with those of the choice that it depends on.
    fn edits_of(dimensions: &[crate::case::Dimension]) -> Vec<(&str, Vec<Edit>)> {
        let mut found = Vec::new();
        for dimension in dimensions {
            let condition =
                dimension.when.map(|(other, place)| dimensions[other].choices[place].edits.clone());
            for choice in &dimension.choices {
                let edits = [condition.clone().unwrap_or_default(), choice.edits.clone()].concat();
                found.push((dimension.key.as_str(), edits));
            }
        }
        found
    }

    /// Alarms and policies by what they do, whatever their names and their order.
    fn sorted(services: &[sim::settings::Service]) -> String {
        let mut all = String::new();
        for service in services {
            let Policy::Aws(aws) = &service.scaling.policy else { continue };
            let metric = |id: control::metric::MetricId| aws.metrics[usize::from(id.0)].metric;
            let alarm = |alarm: &AlarmSettings| {
                let words = AlarmSettings {
                    metric: control::metric::MetricId(0),
                    // It is for percentiles, and CloudWatch refuses it beside another statistic.
                    few_samples: control::alarm::FewSamples::Evaluate,
                    ..*alarm
                };
                format!("{:?} {words:?}", metric(alarm.metric))
            };
            let alarms = |ids: &[control::scaling::AlarmId]| {
                let mut words: Vec<String> =
                    ids.iter().map(|id| alarm(&aws.scaler.alarms[usize::from(id.0)])).collect();
                words.sort();
                words.join("\n  ")
            };
            let rule = |rule: &Rule| match rule {
                Rule::Step(step) => {
                    format!(
                        "{:?}\n  {}",
                        StepScaling { alarms: Vec::new(), ..step.clone() },
                        alarms(&step.alarms)
                    )
                }
                Rule::Simple(one) => {
                    format!(
                        "{:?}\n  {}",
                        SimpleScaling { alarms: Vec::new(), ..one.clone() },
                        alarms(&one.alarms)
                    )
                }
                Rule::TargetTracking(found) => {
                    let same = TargetTracking { metric: control::metric::MetricId(0), ..*found };
                    format!("{:?} {same:?}", metric(found.metric))
                }
                Rule::Predictive(found) => format!("{found:?}"),
            };
            let mut rules: Vec<String> = aws.scaler.policies.iter().map(rule).collect();
            rules.sort();
            let scaler = &aws.scaler;
            all +=
                &format!("{} to {}, {:?}\n{}\n", scaler.min, scaler.max, scaler.scheduled, rules.join("\n"));
        }
        all
    }

    /// A forecast begins after a day.
    fn long(draft: &str) -> String {
        draft.replacen("case: ", "measured: 2d\ncase: ", 1)
    }

    /// What is applied and imported again is the changed case, and undone it is the case: for every key that `tune` can
    /// change.
    #[test]
    fn every_change_of_one_key_comes_back_by_an_import() {
        let mut keys = std::collections::BTreeSet::new();
        for names in [ECS, GROUP] {
            let files = files(&names);
            let case = case(&files);
            let decisive = |text: &str| sorted(&case_from(text).stages[0].system.services);
            let draft = |files: &[(String, String)]| {
                long(&write::aws(&import::aws::read(named(files)).unwrap(), NOON).text)
            };
            let before = decisive(&draft(&files));
            for (key, edits) in edits_of(&case.dimensions(0, &[])) {
                let Ok(wanted) = case.varied(0, &edits) else { continue };
                let wanted = sorted(&wanted.services);
                let patch = case.patch(0, &edits).unwrap();
                let calls = patch::calls(named(&files), &patch.changes).unwrap();
                assert!(wanted == before || calls.is_empty() != patch.elsewhere.is_empty(), "{edits:?}");
                // The actions of the group's file have no ARN.
                if wanted != before && calls.is_empty() {
                    let of_action = |path: &String| path.starts_with("services.my-asg.scaling.schedule[");
                    assert!(patch.elsewhere.iter().all(of_action), "{edits:?}");
                    continue;
                }
                let changed = applied(&files, &calls, false);
                let found = decisive(&draft(&changed));
                assert!(found == wanted, "{key} {edits:?}: {calls:#?}\n{found}\n-- but not\n{wanted}");
                let undone = applied(&changed, &calls, true);
                assert!(decisive(&draft(&undone)) == before, "{key} {edits:?}: {calls:#?}");
                if wanted != before {
                    keys.insert(key.to_owned());
                }
            }
        }
        insta::assert_snapshot!(keys.into_iter().collect::<Vec<_>>().join("\n"));
    }

    /// A minimum by the time of day for a service without scheduled actions.
    #[test]
    fn new_scheduled_actions_come_back_by_an_import() {
        for names in [ECS, GROUP] {
            let mut files = files(&names);
            let place = names.iter().position(|name| name.contains("scheduled")).unwrap();
            let mut scheduled: Value = serde_json::from_str(&files[place].1).unwrap();
            for list in ["ScheduledActions", "ScheduledUpdateGroupActions"] {
                scheduled.get_mut(list).and_then(Value::as_array_mut).into_iter().for_each(Vec::clear);
            }
            files[place].1 = scheduled.to_string();
            let case = case(&files);
            let system = &case.stages[0].system;
            let service =
                system.services.iter().find(|of| matches!(of.scaling.policy, Policy::Aws(_))).unwrap();
            let path = ["services", &service.name, "scaling", "schedule"].map(str::to_owned).to_vec();
            let at = [path.clone(), vec!["[1]".to_owned(), "at".to_owned()]].concat();
            let edit = |path: Vec<String>, value: &str| Edit { path, value: Some(value.to_owned()) };
            let edits = [
                edit(path, "[{ at: '07:00', min: 3 }, { at: '22:00', min: 2, max: 9 }]"),
                edit(at, "'21:30'"),
            ];
            let wanted = sorted(&case.varied(0, &edits).unwrap().services);
            let patch = case.patch(0, &edits).unwrap();
            assert_eq!(patch.elsewhere, Vec::<String>::new());
            let calls = patch::calls(named(&files), &patch.changes).unwrap();
            assert_eq!(calls.len(), 2, "{calls:#?}");
            let draft = |files: &[(String, String)]| {
                long(&write::aws(&import::aws::read(named(files)).unwrap(), NOON).text)
            };
            let of = |files: &[(String, String)]| sorted(&case_from(&draft(files)).stages[0].system.services);
            let changed = applied(&files, &calls, false);
            let found = of(&changed);
            assert!(found == wanted, "{calls:#?}\n{found}\n-- but not\n{wanted}");
            assert!(of(&applied(&changed, &calls, true)) == of(&files), "{calls:#?}");
        }
    }

    #[test]
    fn another_kind_of_policies_is_added_and_the_old_alarms_rest() {
        let files = files(&ECS);
        let case = case(&files);
        let dimensions = case.dimensions(0, &[]);
        let kind = dimensions.iter().find(|dimension| dimension.key.ends_with("policies")).unwrap();
        let said = |calls: Vec<patch::Call>| -> String {
            let of = |call: &patch::Call| {
                format!(
                    "{} {}, invokes {:?}\n{:#}\nundo {}\n{:#}\n",
                    call.command.join(" "),
                    call.name,
                    call.invokes,
                    call.input,
                    call.undo_command.join(" "),
                    call.undo
                )
            };
            calls.iter().map(of).collect()
        };
        for choice in [&kind.choices[1], &kind.choices[2]] {
            let patch = case.patch(0, &choice.edits).unwrap();
            insta::assert_snapshot!(said(patch::calls(named(&files), &patch.changes).unwrap()));
        }
    }

    #[test]
    fn an_alarm_that_tells_somebody_too_goes_on_doing_that() {
        let mut files = files(&ECS);
        let case = case(&files);
        let pager = "arn:aws:sns:eu-west-1:123456789012:pager";
        files[3].1 =
            files[3].1.replace("\"AlarmActions\": [\n", &format!("\"AlarmActions\": [\"{pager}\",\n"));
        let dimensions = case.dimensions(0, &[]);
        let kind = dimensions.iter().find(|dimension| dimension.key.ends_with("policies")).unwrap();
        let patch = case.patch(0, &kind.choices[1].edits).unwrap();
        let calls = patch::calls(named(&files), &patch.changes).unwrap();
        let tells = |call: &&patch::Call| call.input.get("AlarmActions") == Some(&serde_json::json!([pager]));
        assert!(calls.iter().filter(tells).count() > 0, "{calls:?}");
        assert!(calls.iter().all(|call| call.command[1] != "disable-alarm-actions"), "{calls:?}");
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
            let text = fs::read_to_string(folder.join(name)).unwrap();
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
                    let found = found.unwrap_or_else(|errors| panic!("{choice:?}: {errors:?}"));
                    assert!(!changed || !found.is_empty() || !patch.elsewhere.is_empty(), "{choice:?}");
                    tried += 1;
                    if place == (dimension.today + 1) % dimension.choices.len()
                        || dimension.key.ends_with("policies")
                    {
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

    #[test]
    fn new_scheduled_actions_are_resources_of_terraform() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../import/tests/terraform");
        let mut said = String::new();
        for name in ["state.json", "plan.json"] {
            let text = fs::read_to_string(folder.join(name)).unwrap();
            let mut document: Value = serde_json::from_str(&text).unwrap();
            without_schedules(&mut document);
            let text = document.to_string();
            let case =
                filled(&write::terraform(&import::aws::terraform::read(name, &text).unwrap(), NOON).text);
            for service in &case.stages[0].system.services {
                let path = ["services", &service.name, "scaling", "schedule"].map(str::to_owned).to_vec();
                let words: Vec<&str> = path.iter().map(String::as_str).collect();
                if !matches!(service.scaling.policy, Policy::Aws(_)) || at(case.tree(0), &words).is_some() {
                    continue;
                }
                let value = Some("[{ at: '07:00', min: 3 }, { at: '22:00', min: 2 }]".to_owned());
                let patch = case.patch(0, &[Edit { path, value }]).unwrap();
                let found = overrides(name, &text, &patch.changes).unwrap();
                said.extend(found.iter().map(|one| format!("-- new {}\n{}", one.is_new, one.text)));
            }
        }
        insta::assert_snapshot!(said);
    }

    fn without_schedules(value: &mut Value) {
        let is_other = |item: &Value| !item["type"].as_str().is_some_and(|kind| kind.contains("schedule"));
        match value {
            Value::Array(items) => {
                items.retain(is_other);
                items.iter_mut().for_each(without_schedules);
            }
            Value::Object(object) => object.values_mut().for_each(without_schedules),
            _ => {}
        }
    }
}
