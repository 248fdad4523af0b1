//! Changed settings as calls of the AWS CLI, with the calls that undo them.
//!
//! ## Why the files are needed again
//! `put-metric-alarm` and `put-scaling-policy` replace the whole object: an alarm without its actions or dimensions would no
//! longer do anything. So the input of each call is the object as the files have it, with the changed fields, and the
//! input of the undoing call is the object as it is.
//!
//! Shapes: the API references of Amazon CloudWatch, Application Auto Scaling and Amazon EC2 Auto Scaling.

use crate::origin::Origin;
use control::alarm::AlarmSettings;
use control::metric::Statistic;
use control::scaling::predictive::{AboveMax, Load, Mode};
use control::scaling::{Policy, ScaleIn, Step};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::time::Duration;

/// New settings of an object that the files have.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// The object.
    pub origin: Origin,
    /// What is done to it.
    pub edit: Edit,
}

/// What is done to an object.
#[derive(Debug, Clone, PartialEq)]
pub enum Edit {
    /// Other settings, of the same kind.
    Set {
        /// Those that it has.
        from: Settings,
        /// Those that it is to have.
        to: Settings,
    },
    /// An alarm no longer invokes its policies. It is kept: a policy that is made again has another ARN, and the actions of
    /// the alarm would not find it.
    Disable,
    /// A policy is removed.
    Remove,
    /// A scalable target or an Auto Scaling group gets another policy of this name.
    Add(String, Policy),
    /// It gets an alarm on its processor use.
    AddAlarm {
        /// The name in the case file; that in AWS begins with the name of the service.
        name: String,
        /// Its settings.
        settings: AlarmSettings,
        /// The policies that it invokes: added ones of the same service, before it.
        policies: Vec<String>,
    },
    /// It gets a scheduled action.
    AddScheduled {
        /// The name; that in AWS begins with `headroom`.
        name: String,
        /// The minimum that it sets; `None` as it is.
        min: Option<u32>,
        /// The maximum.
        max: Option<u32>,
        /// When, as the case file says it, in UTC.
        at: String,
    },
}

/// Settings of an object.
#[derive(Debug, Clone, PartialEq)]
pub enum Settings {
    /// Those of an alarm.
    Alarm(AlarmSettings),
    /// Those of a scaling policy.
    Policy(Policy),
    /// The bounds of a scalable target or of an Auto Scaling group.
    Bounds {
        /// The minimum.
        min: u32,
        /// The maximum.
        max: u32,
    },
    /// What a scheduled action sets; `None` as it is.
    Scheduled {
        /// The minimum.
        min: Option<u32>,
        /// The maximum.
        max: Option<u32>,
        /// The desired count (EC2).
        desired: Option<u32>,
        /// When, as the case file says it.
        at: Option<String>,
    },
}

/// A call of the AWS CLI with its input, and the call that undoes it.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// The service and the operation as the CLI names them: `cloudwatch put-metric-alarm`.
    pub command: [&'static str; 2],
    /// The name of the object.
    pub name: String,
    /// What `--cli-input-json` reads.
    pub input: Value,
    /// The undoing operation of the same service.
    pub undo_command: [&'static str; 2],
    /// What it reads.
    pub undo: Value,
    /// For a new alarm: the places of the calls whose `PolicyARN` it invokes (`--alarm-actions`).
    pub invokes: Vec<usize>,
}

/// A change for which there is no call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatchError {
    /// No file has the object.
    #[error("no file has {0}: give the files that the case was imported from")]
    Absent(String),
    /// A file is not JSON.
    #[error("{file} is not JSON: {problem}")]
    Broken {
        /// Its name.
        file: String,
        /// What is wrong.
        problem: String,
    },
    /// The object is of another kind than its settings.
    #[error("{0}: there is no call for this change: the object is of another kind than in the case file")]
    Kind(String),
}

/// The calls for some changes, in their order; changes of resources of Terraform have none (see
/// [`overrides`](super::terraform::patch::overrides)). The files are names and texts of what the AWS CLI printed.
///
/// # Errors
/// All changes without a call.
pub fn calls<'a>(
    files: impl IntoIterator<Item = (&'a str, &'a str)>,
    changes: &[Change],
) -> Result<Vec<Call>, Vec<PatchError>> {
    let (mut objects, mut errors) = (Vec::new(), Vec::new());
    for (file, text) in files {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        for document in serde_json::Deserializer::from_str(text).into_iter::<Value>() {
            match document {
                Ok(document) => objects.push(document),
                Err(error) => {
                    errors.push(PatchError::Broken { file: file.to_owned(), problem: error.to_string() });
                    break;
                }
            }
        }
    }
    let (mut calls, mut added): (Vec<Call>, Vec<(&Origin, &String, usize)>) = (Vec::new(), Vec::new());
    let mut names: BTreeSet<String> = BTreeSet::new();
    objects.iter().for_each(|document| collect_names(document, &mut names));
    for Change { origin, edit } in changes.iter().filter(|change| matches!(change.origin, Origin::Arn(_))) {
        let arn = origin.to_string();
        let Some(object) = objects.iter().find_map(|document| find(document, &arn)) else {
            errors.push(PatchError::Absent(arn));
            continue;
        };
        let Some(mut call) = call(object, edit, &names) else {
            errors.push(PatchError::Kind(arn));
            continue;
        };
        match edit {
            Edit::Add(name, _) => added.push((origin, name, calls.len())),
            Edit::AddAlarm { policies, .. } => {
                let is_it =
                    |(of, name, _): &&(&Origin, &String, usize)| *of == origin && policies.contains(name);
                call.invokes = added.iter().filter(is_it).map(|(_, _, place)| *place).collect();
            }
            Edit::Set { .. } | Edit::Disable | Edit::Remove | Edit::AddScheduled { .. } => {}
        }
        calls.push(call);
    }
    if errors.is_empty() { Ok(calls) } else { Err(errors) }
}

/// The object with this ARN. Policies name the ARNs of their alarms, which are not those alarms.
fn find<'a>(value: &'a Value, arn: &str) -> Option<&'a Map<String, Value>> {
    match value {
        Value::Array(items) => items.iter().find_map(|item| find(item, arn)),
        Value::Object(object) => {
            let is_it = |key: &str| object.get(key).and_then(Value::as_str) == Some(arn);
            if ARNS.iter().any(|key| is_it(key)) {
                return Some(object);
            }
            object.values().find_map(|item| find(item, arn))
        }
        _ => None,
    }
}

/// The names of policies, alarms and scheduled actions: one of another object would be replaced by a new one of this name.
fn collect_names(value: &Value, names: &mut BTreeSet<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| collect_names(item, names)),
        Value::Object(object) => {
            let of = |key: &str| object.get(key).and_then(Value::as_str).map(str::to_owned);
            names.extend(["PolicyName", "AlarmName", "ScheduledActionName"].into_iter().filter_map(of));
            object.values().for_each(|item| collect_names(item, names));
        }
        _ => {}
    }
}

/// A name that nothing has.
pub(super) fn free_name(wanted: &str, names: &BTreeSet<String>) -> String {
    let numbered = (2..).map(|number| format!("{wanted}-{number}"));
    let mut all = std::iter::once(wanted.to_owned()).chain(numbered);
    all.find(|name| !names.contains(name)).unwrap_or_default()
}

/// The call for a change of an object; `names` are those that a new object cannot have.
pub(super) fn call(object: &Map<String, Value>, edit: &Edit, names: &BTreeSet<String>) -> Option<Call> {
    let text = |key: &str| object.get(key).and_then(Value::as_str).map(str::to_owned);
    let of_group = object.contains_key("AutoScalingGroupName");
    let policies = if of_group { "autoscaling" } else { "application-autoscaling" };
    let put = [policies, "put-scaling-policy"];
    let delete = [policies, if of_group { "delete-policy" } else { "delete-scaling-policy" }];
    let (from, to) = match edit {
        Edit::Set { from, to } => (from, to),
        Edit::Disable => {
            let name = text("AlarmName")?;
            if let Some(left) = other_actions(object) {
                // It tells somebody, too, and goes on doing that.
                let undo = picked(object, ALARM);
                let mut input = undo.clone();
                left.into_iter().for_each(|(key, actions)| set(&mut input, key, Value::Array(actions)));
                let command = ["cloudwatch", "put-metric-alarm"];
                let (input, undo) = (Value::Object(input), Value::Object(undo));
                return Some(Call { command, name, input, undo_command: command, undo, invokes: Vec::new() });
            }
            let input = json!({ "AlarmNames": [name.clone()] });
            let (command, undo_command) =
                (["cloudwatch", "disable-alarm-actions"], ["cloudwatch", "enable-alarm-actions"]);
            return Some(Call {
                command,
                name,
                input: input.clone(),
                undo_command,
                undo: input,
                invokes: Vec::new(),
            });
        }
        Edit::Remove => {
            let fields = if of_group { GROUP_POLICY } else { POLICY };
            let (input, undo) = (picked(object, IDENTITY), picked(object, fields));
            let (name, input, undo) = (text("PolicyName")?, Value::Object(input), Value::Object(undo));
            return Some(Call { command: delete, name, input, undo_command: put, undo, invokes: Vec::new() });
        }
        Edit::AddAlarm { name, settings, .. } => {
            let (of, dimensions) = dimensions(object)?;
            let name = free_name(&format!("headroom-{of}-{name}"), names);
            let undo = json!({ "AlarmNames": [name.clone()] });
            let mut input = added_alarm(settings, of_group);
            set(&mut input, "AlarmName", json!(name));
            set(&mut input, "Dimensions", dimensions);
            let (command, undo_command) =
                (["cloudwatch", "put-metric-alarm"], ["cloudwatch", "delete-alarms"]);
            return Some(Call {
                command,
                name,
                input: Value::Object(input),
                undo_command,
                undo,
                invokes: Vec::new(),
            });
        }
        Edit::AddScheduled { name, min, max, at } => {
            let mut identity = picked(object, IDENTITY);
            let name = free_name(&format!("headroom-{name}"), names);
            set(&mut identity, "ScheduledActionName", json!(name));
            let mut input = identity.clone();
            input.extend(added_scheduled(*min, *max, at, of_group)?);
            let put = if of_group { "put-scheduled-update-group-action" } else { "put-scheduled-action" };
            let (input, undo) = (Value::Object(input), Value::Object(identity));
            let (command, undo_command) = ([policies, put], [policies, "delete-scheduled-action"]);
            return Some(Call { command, name, input, undo_command, undo, invokes: Vec::new() });
        }
        Edit::Add(name, policy) => {
            let mut identity = picked(object, IDENTITY);
            let name = free_name(name, names);
            set(&mut identity, "PolicyName", json!(name));
            let mut input = identity.clone();
            added(&mut input, policy, of_group)?;
            let (input, undo) = (Value::Object(input), Value::Object(identity));
            return Some(Call { command: put, name, input, undo_command: delete, undo, invokes: Vec::new() });
        }
    };
    let (fields, name, command): (&[&str], _, _) = match to {
        Settings::Alarm(_) => (ALARM, text("AlarmName")?, ["cloudwatch", "put-metric-alarm"]),
        Settings::Policy(_) => (if of_group { GROUP_POLICY } else { POLICY }, text("PolicyName")?, put),
        Settings::Bounds { .. } if of_group => {
            (GROUP, text("AutoScalingGroupName")?, ["autoscaling", "update-auto-scaling-group"])
        }
        Settings::Bounds { .. } => {
            (TARGET, text("ResourceId")?, ["application-autoscaling", "register-scalable-target"])
        }
        Settings::Scheduled { .. } if of_group => (
            GROUP_SCHEDULED,
            text("ScheduledActionName")?,
            ["autoscaling", "put-scheduled-update-group-action"],
        ),
        Settings::Scheduled { .. } => {
            (SCHEDULED, text("ScheduledActionName")?, ["application-autoscaling", "put-scheduled-action"])
        }
    };
    let before = picked(object, fields);
    let mut after = before.clone();
    match (from, to) {
        (Settings::Alarm(from), Settings::Alarm(to)) => set_alarm(&mut after, from, to),
        (Settings::Policy(from), Settings::Policy(to)) => set_policy(&mut after, from, to, of_group)?,
        (_, Settings::Bounds { min, max }) => {
            let keys = if of_group { ["MinSize", "MaxSize"] } else { ["MinCapacity", "MaxCapacity"] };
            set(&mut after, keys[0], json!(min));
            set(&mut after, keys[1], json!(max));
        }
        (Settings::Scheduled { at: before, .. }, Settings::Scheduled { min, max, desired, at })
            if of_group =>
        {
            if at != before {
                let (key, when) = group_time(at.as_deref()?)?;
                set(&mut after, key, json!(when));
            }
            for (key, count) in [("MinSize", min), ("MaxSize", max), ("DesiredCapacity", desired)] {
                set_some(&mut after, key, count.map(|count| json!(count)));
            }
        }
        (Settings::Scheduled { at: before, .. }, Settings::Scheduled { min, max, at, .. }) => {
            if at != before {
                set(&mut after, "Schedule", json!(application_time(at.as_deref()?)?));
            }
            let action = after.entry("ScalableTargetAction").or_insert_with(|| json!({})).as_object_mut()?;
            for (key, count) in [("MinCapacity", min), ("MaxCapacity", max)] {
                set_some(action, key, count.map(|count| json!(count)));
            }
        }
        _ => return None,
    }
    let (input, undo) = (Value::Object(after), Value::Object(before));
    Some(Call { command, name, input, undo_command: command, undo, invokes: Vec::new() })
}

/// The actions of an alarm without those that scale, by key; `None` if it has no others, so that it can be disabled.
pub(super) fn other_actions(alarm: &Map<String, Value>) -> Option<Vec<(&'static str, Vec<Value>)>> {
    // An ARN, or a reference of Terraform.
    let names = [":scalingPolicy:", "aws_appautoscaling_policy.", "aws_autoscaling_policy."];
    let scales =
        |action: &Value| action.as_str().is_some_and(|action| names.iter().any(|name| action.contains(name)));
    let left = |key: &'static str| {
        let actions = alarm.get(key)?.as_array()?;
        let others: Vec<Value> = actions.iter().filter(|action| !scales(action)).cloned().collect();
        (!actions.is_empty()).then_some((key, others))
    };
    let all: Vec<_> =
        ["AlarmActions", "OKActions", "InsufficientDataActions"].into_iter().filter_map(left).collect();
    all.iter().any(|(_, others)| !others.is_empty()).then_some(all)
}

/// When a scheduled action of Application Auto Scaling happens, of what a case file says.
fn application_time(at: &str) -> Option<String> {
    if ["cron(", "rate(", "at("].iter().any(|kind| at.starts_with(kind)) {
        return Some(at.to_owned());
    }
    if let Some((hour, minute)) = time_of_day(at) {
        return Some(format!("cron({minute} {hour} * * ? *)"));
    }
    // An import writes a date in UTC.
    at.strip_suffix('Z').filter(|date| date.contains('T')).map(|date| format!("at({date})"))
}

/// The same of an Auto Scaling group, with the field.
fn group_time(at: &str) -> Option<(&'static str, String)> {
    if let Some((hour, minute)) = time_of_day(at) {
        return Some(("Recurrence", format!("{minute} {hour} * * *")));
    }
    if at.split_whitespace().count() == CRON_FIELDS {
        return Some(("Recurrence", at.to_owned()));
    }
    (at.ends_with('Z') && at.contains('T')).then(|| ("StartTime", at.to_owned()))
}

/// Hour and minute of `07:30`.
fn time_of_day(at: &str) -> Option<(u8, u8)> {
    let (hour, minute) = at.split_once(':')?;
    Some((hour.parse().ok()?, minute.parse().ok()?))
}

/// The name of a service and the dimensions of its processor use.
fn dimensions(object: &Map<String, Value>) -> Option<(&str, Value)> {
    let text = |key: &str| object.get(key).and_then(Value::as_str);
    if let Some(group) = text("AutoScalingGroupName") {
        return Some((group, json!([{ "Name": "AutoScalingGroupName", "Value": group }])));
    }
    let (cluster, service) = text("ResourceId")?.strip_prefix("service/")?.split_once('/')?;
    let of = |name: &str, value: &str| json!({ "Name": name, "Value": value });
    Some((service, json!([of("ClusterName", cluster), of("ServiceName", service)])))
}

/// A new alarm on processor use, but for its name, its dimensions and what it invokes.
pub(super) fn added_alarm(settings: &AlarmSettings, of_group: bool) -> Map<String, Value> {
    let mut input = Map::new();
    set(&mut input, "Namespace", json!(if of_group { "AWS/EC2" } else { "AWS/ECS" }));
    set(&mut input, "MetricName", json!("CPUUtilization"));
    set(&mut input, "Statistic", json!(settings.statistic.to_string()));
    set(&mut input, "Period", seconds(settings.period));
    set(&mut input, "EvaluationPeriods", json!(settings.evaluation_periods));
    set(&mut input, "DatapointsToAlarm", json!(settings.datapoints_to_alarm));
    set(&mut input, "ComparisonOperator", json!(settings.comparison.api_name()));
    set(&mut input, "Threshold", json!(settings.threshold));
    set(&mut input, "TreatMissingData", json!(settings.missing.api_name()));
    input
}

/// What a new scheduled action sets, and when; `None` if it has no such time.
pub(super) fn added_scheduled(
    min: Option<u32>,
    max: Option<u32>,
    at: &str,
    of_group: bool,
) -> Option<Map<String, Value>> {
    let mut input = Map::new();
    let [min, max] = [min, max].map(|count| count.map(|count| json!(count)));
    if of_group {
        let (key, when) = group_time(at)?;
        set(&mut input, key, json!(when));
        set_some(&mut input, "MinSize", min);
        set_some(&mut input, "MaxSize", max);
    } else {
        set(&mut input, "Schedule", json!(application_time(at)?));
        let mut action = Map::new();
        set_some(&mut action, "MinCapacity", min);
        set_some(&mut action, "MaxCapacity", max);
        set(&mut input, "ScalableTargetAction", Value::Object(action));
    }
    Some(input)
}

/// Sets what differs: what a case file leaves to a default is left so.
fn set_alarm(object: &mut Map<String, Value>, from: &AlarmSettings, to: &AlarmSettings) {
    if from.statistic != to.statistic {
        let simple = matches!(
            to.statistic,
            Statistic::Average
                | Statistic::Minimum
                | Statistic::Maximum
                | Statistic::Sum
                | Statistic::SampleCount
        );
        // One of them, never both.
        let (key, other) =
            if simple { ("Statistic", "ExtendedStatistic") } else { ("ExtendedStatistic", "Statistic") };
        object.remove(other);
        if simple {
            // It is for percentiles.
            object.remove("EvaluateLowSampleCountPercentile");
        }
        set(object, key, json!(to.statistic.to_string()));
    }
    if from.period != to.period {
        set(object, "Period", seconds(to.period));
    }
    if (from.evaluation_periods, from.datapoints_to_alarm) != (to.evaluation_periods, to.datapoints_to_alarm)
    {
        set(object, "EvaluationPeriods", json!(to.evaluation_periods));
        set(object, "DatapointsToAlarm", json!(to.datapoints_to_alarm));
    }
    if from.comparison != to.comparison {
        set(object, "ComparisonOperator", json!(to.comparison.api_name()));
    }
    if from.threshold != to.threshold {
        set(object, "Threshold", json!(to.threshold));
    }
    if from.missing != to.missing {
        set(object, "TreatMissingData", json!(to.missing.api_name()));
    }
}

/// None if it is another kind of policy.
fn set_policy(object: &mut Map<String, Value>, from: &Policy, to: &Policy, of_group: bool) -> Option<()> {
    let changed = |from: Option<Duration>, to: Option<Duration>| to.filter(|_| from != to).map(seconds);
    match (from, to) {
        (Policy::Step(from), Policy::Step(to)) => {
            let warm_up = changed(from.warm_up, to.warm_up);
            let settings = match of_group {
                true => object,
                false => object.get_mut("StepScalingPolicyConfiguration")?.as_object_mut()?,
            };
            if (from.adjustment, &from.steps) != (to.adjustment, &to.steps) {
                set(settings, "AdjustmentType", json!(to.adjustment.api_name()));
                set(settings, "StepAdjustments", Value::Array(to.steps.iter().map(step).collect()));
            }
            if from.aggregation != to.aggregation {
                set(settings, "MetricAggregationType", json!(to.aggregation.api_name()));
            }
            if from.min_adjustment_magnitude != to.min_adjustment_magnitude {
                set_some(
                    settings,
                    "MinAdjustmentMagnitude",
                    to.min_adjustment_magnitude.map(|least| json!(least)),
                );
            }
            match of_group {
                true => set_some(settings, "EstimatedInstanceWarmup", warm_up),
                false => set_some(settings, "Cooldown", changed(from.cooldown, to.cooldown)),
            }
        }
        (Policy::Simple(from), Policy::Simple(to)) => {
            set(object, "AdjustmentType", json!(to.adjustment.api_name()));
            set(object, "ScalingAdjustment", json!(to.change));
            if from.min_adjustment_magnitude != to.min_adjustment_magnitude {
                set_some(
                    object,
                    "MinAdjustmentMagnitude",
                    to.min_adjustment_magnitude.map(|least| json!(least)),
                );
            }
            set_some(object, "Cooldown", changed(from.cooldown, to.cooldown));
        }
        (Policy::TargetTracking(from), Policy::TargetTracking(to)) => {
            if of_group {
                set_some(object, "EstimatedInstanceWarmup", changed(from.warm_up, to.warm_up));
            }
            let key = if of_group {
                "TargetTrackingConfiguration"
            } else {
                "TargetTrackingScalingPolicyConfiguration"
            };
            let settings = object.get_mut(key)?.as_object_mut()?;
            if from.target != to.target {
                set(settings, "TargetValue", json!(to.target));
            }
            if from.scale_in != to.scale_in {
                set(settings, "DisableScaleIn", json!(to.scale_in == ScaleIn::Disabled));
            }
            if !of_group {
                set_some(
                    settings,
                    "ScaleOutCooldown",
                    changed(from.scale_out_cooldown, to.scale_out_cooldown),
                );
                set_some(settings, "ScaleInCooldown", changed(from.scale_in_cooldown, to.scale_in_cooldown));
            }
        }
        (Policy::Predictive(from), Policy::Predictive(to)) => {
            let settings = object.get_mut(predictive_key(of_group))?.as_object_mut()?;
            if from.target != to.target {
                let metric = settings.get_mut("MetricSpecifications")?.get_mut(0)?.as_object_mut()?;
                set(metric, "TargetValue", json!(to.target));
            }
            if from.mode != to.mode {
                set(settings, "Mode", json!(mode(to.mode)));
            }
            if from.buffer != to.buffer {
                set(settings, "SchedulingBufferTime", seconds(to.buffer));
            }
            if from.above_max != to.above_max {
                set_above_max(settings, to.above_max);
            }
        }
        _ => return None,
    }
    Some(())
}

fn step(step: &Step) -> Value {
    let mut found = Map::new();
    set_some(&mut found, "MetricIntervalLowerBound", step.lower.map(|bound| json!(bound)));
    set_some(&mut found, "MetricIntervalUpperBound", step.upper.map(|bound| json!(bound)));
    set(&mut found, "ScalingAdjustment", json!(step.change));
    Value::Object(found)
}

/// The settings of a new policy: by steps, or on processor use.
pub(super) fn added(input: &mut Map<String, Value>, policy: &Policy, of_group: bool) -> Option<()> {
    match policy {
        Policy::TargetTracking(tracking) => {
            let mut settings = Map::new();
            let metric =
                if of_group { "ASGAverageCPUUtilization" } else { "ECSServiceAverageCPUUtilization" };
            let metric = json!({ "PredefinedMetricType": metric });
            set(&mut settings, "PredefinedMetricSpecification", metric);
            set(&mut settings, "TargetValue", json!(tracking.target));
            set(&mut settings, "DisableScaleIn", json!(tracking.scale_in == ScaleIn::Disabled));
            if of_group {
                // Otherwise it is that of the group.
                set_some(input, "EstimatedInstanceWarmup", tracking.warm_up.map(seconds));
            } else {
                set_some(&mut settings, "ScaleOutCooldown", tracking.scale_out_cooldown.map(seconds));
                set_some(&mut settings, "ScaleInCooldown", tracking.scale_in_cooldown.map(seconds));
            }
            set(input, "PolicyType", json!("TargetTrackingScaling"));
            let key = if of_group {
                "TargetTrackingConfiguration"
            } else {
                "TargetTrackingScalingPolicyConfiguration"
            };
            set(input, key, Value::Object(settings));
        }
        Policy::Predictive(predictive) => {
            let pair = if of_group { "ASGCPUUtilization" } else { "ECSServiceCPUUtilization" };
            if predictive.load != Load::Cpu {
                return None;
            }
            let mut settings = Map::new();
            let metric = json!({
                "TargetValue": predictive.target,
                "PredefinedMetricPairSpecification": { "PredefinedMetricType": pair },
            });
            set(&mut settings, "MetricSpecifications", json!([metric]));
            set(&mut settings, "Mode", json!(mode(predictive.mode)));
            set(&mut settings, "SchedulingBufferTime", seconds(predictive.buffer));
            set_above_max(&mut settings, predictive.above_max);
            set(input, "PolicyType", json!("PredictiveScaling"));
            set(input, predictive_key(of_group), Value::Object(settings));
        }
        Policy::Step(found) => {
            let mut settings = Map::new();
            set(&mut settings, "AdjustmentType", json!(found.adjustment.api_name()));
            set(&mut settings, "StepAdjustments", Value::Array(found.steps.iter().map(step).collect()));
            set(&mut settings, "MetricAggregationType", json!(found.aggregation.api_name()));
            let least = found.min_adjustment_magnitude.map(|least| json!(least));
            set_some(&mut settings, "MinAdjustmentMagnitude", least);
            set(input, "PolicyType", json!("StepScaling"));
            if of_group {
                // Step scaling of EC2 has no cooldown.
                set_some(&mut settings, "EstimatedInstanceWarmup", found.warm_up.map(seconds));
                input.extend(settings);
            } else {
                set_some(&mut settings, "Cooldown", found.cooldown.map(seconds));
                set(input, "StepScalingPolicyConfiguration", Value::Object(settings));
            }
        }
        Policy::Simple(_) => return None,
    }
    Some(())
}

fn predictive_key(of_group: bool) -> &'static str {
    if of_group { "PredictiveScalingConfiguration" } else { "PredictiveScalingPolicyConfiguration" }
}

fn mode(mode: Mode) -> &'static str {
    match mode {
        Mode::ForecastAndScale => "ForecastAndScale",
        Mode::ForecastOnly => "ForecastOnly",
    }
}

/// AWS's default is that the maximum holds.
fn set_above_max(settings: &mut Map<String, Value>, above_max: AboveMax) {
    settings.remove("MaxCapacityBreachBehavior");
    settings.remove("MaxCapacityBuffer");
    if let AboveMax::Increase { percent } = above_max {
        set(settings, "MaxCapacityBreachBehavior", json!("IncreaseMaxCapacity"));
        set(settings, "MaxCapacityBuffer", json!(percent));
    }
}

/// The fields of a call that the object has. What is null is absent for the CLI.
fn picked(object: &Map<String, Value>, fields: &[&str]) -> Map<String, Value> {
    let of =
        |key: &&str| Some(((*key).to_owned(), object.get(*key).filter(|value| !is_empty(value))?.clone()));
    fields.iter().filter_map(of).collect()
}

fn is_empty(value: &Value) -> bool {
    value.is_null() || value.as_array().is_some_and(Vec::is_empty)
}

fn set(object: &mut Map<String, Value>, key: &str, value: Value) {
    object.insert(key.to_owned(), value);
}

/// A setting that is none is the one that the object has, or AWS's default.
fn set_some(object: &mut Map<String, Value>, key: &str, value: Option<Value>) {
    if let Some(value) = value {
        set(object, key, value);
    }
}

fn seconds(span: Duration) -> Value {
    json!(span.as_secs())
}

/// Fields of a recurrence of an Auto Scaling group.
const CRON_FIELDS: usize = 5;
/// The fields with the ARN of an object itself.
const ARNS: [&str; 5] =
    ["AlarmArn", "PolicyARN", "ScalableTargetARN", "AutoScalingGroupARN", "ScheduledActionARN"];
/// The fields of `put-metric-alarm`.
const ALARM: &[&str] = &[
    "AlarmName",
    "AlarmDescription",
    "ActionsEnabled",
    "OKActions",
    "AlarmActions",
    "InsufficientDataActions",
    "MetricName",
    "Namespace",
    "Statistic",
    "ExtendedStatistic",
    "Dimensions",
    "Period",
    "Unit",
    "EvaluationPeriods",
    "DatapointsToAlarm",
    "Threshold",
    "ComparisonOperator",
    "TreatMissingData",
    "EvaluateLowSampleCountPercentile",
];
/// The fields of Application Auto Scaling's `put-scaling-policy`.
const POLICY: &[&str] = &[
    "PolicyName",
    "ServiceNamespace",
    "ResourceId",
    "ScalableDimension",
    "PolicyType",
    "StepScalingPolicyConfiguration",
    "TargetTrackingScalingPolicyConfiguration",
    "PredictiveScalingPolicyConfiguration",
];
/// The fields of EC2 Auto Scaling's `put-scaling-policy`.
const GROUP_POLICY: &[&str] = &[
    "AutoScalingGroupName",
    "PolicyName",
    "PolicyType",
    "AdjustmentType",
    "MinAdjustmentMagnitude",
    "ScalingAdjustment",
    "Cooldown",
    "MetricAggregationType",
    "StepAdjustments",
    "EstimatedInstanceWarmup",
    "TargetTrackingConfiguration",
    "PredictiveScalingConfiguration",
    "Enabled",
];
/// What identifies a policy when it is removed.
const IDENTITY: &[&str] =
    &["AutoScalingGroupName", "PolicyName", "ServiceNamespace", "ResourceId", "ScalableDimension"];
/// The fields of `update-auto-scaling-group` that bounds are in.
const GROUP: &[&str] = &["AutoScalingGroupName", "MinSize", "MaxSize"];
/// The fields of `register-scalable-target` that bounds are in.
const TARGET: &[&str] =
    &["ServiceNamespace", "ResourceId", "ScalableDimension", "MinCapacity", "MaxCapacity"];
/// The fields of `put-scheduled-action`.
const SCHEDULED: &[&str] = &[
    "ServiceNamespace",
    "Schedule",
    "Timezone",
    "ScheduledActionName",
    "ResourceId",
    "ScalableDimension",
    "StartTime",
    "EndTime",
    "ScalableTargetAction",
];
/// The fields of `put-scheduled-update-group-action`.
const GROUP_SCHEDULED: &[&str] = &[
    "AutoScalingGroupName",
    "ScheduledActionName",
    "StartTime",
    "EndTime",
    "Recurrence",
    "MinSize",
    "MaxSize",
    "DesiredCapacity",
    "TimeZone",
];
