//! The present scaling of services, from the JSON output of the AWS CLI.
//!
//! The files are read together, in any order and number: scalable targets and Auto Scaling groups, their policies,
//! scheduled actions, and alarms. Alarms are joined to policies by their ARNs, in both directions.
//!
//! ## Why unknown fields are listed
//! A simulation without one of the alarms gives a plausible but wrong result. So every field is either read, known to
//! have no effect on scaling, or listed in a [`Remark`] with its place; the alarm of a metric that is not modelled is
//! left out, and the remark says so. Nothing is guessed.
//!
//! Shapes: the API references of Application Auto Scaling, Amazon EC2 Auto Scaling and Amazon CloudWatch.

pub mod activities;
mod alarm;
mod application;
mod commands;
mod cron;
mod group;
mod join;
mod metric;
pub mod patch;
mod policy;
mod remark;
mod schedule;
pub mod terraform;
mod walk;

pub use alarm::Alarm;
pub use commands::{Command, Wanted, commands};
pub use metric::Metric;
pub use policy::{Policy, Rule};
pub use remark::{AwsError, Cause, Effect, Remark};
pub use schedule::{Recurrence, Schedule};

use crate::origin::Origin;
use control::scaling::Preset;
use join::Parts;
use serde_json::Value;
use std::time::Duration;
use walk::{Object, Report};

/// A service with its scaling.
#[derive(Debug, Clone, PartialEq)]
pub struct Service {
    /// Its name in AWS: `cluster/service` for ECS, or the name of the Auto Scaling group.
    pub name: String,
    /// The object of the vendor that has its bounds, if the files name it.
    pub origin: Option<Origin>,
    /// The platform whose rules apply.
    pub platform: Platform,
    /// The minimum; none if the file does not have it.
    pub min: Option<u32>,
    /// The maximum; none if the file does not have it.
    pub max: Option<u32>,
    /// The present number, if the files have it.
    pub desired: Option<u32>,
    /// Suspended processes.
    pub suspended: Suspended,
    /// The alarms that policies name, in their order.
    pub alarms: Vec<Alarm>,
    /// The scaling policies.
    pub policies: Vec<Policy>,
    /// Scheduled actions.
    pub schedule: Vec<Schedule>,
    /// The target group that its instances register with, if the files have it.
    pub target_group: Option<TargetGroup>,
}

/// The platform whose rules apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Platform {
    /// An ECS service, through Application Auto Scaling.
    Ecs,
    /// An Auto Scaling group.
    Ec2 {
        /// The cooldown of simple scaling where a policy sets none.
        default_cooldown: Duration,
        /// The warm-up where a policy sets none.
        default_warm_up: Duration,
    },
}

impl Platform {
    /// The assumed preset of target tracking, by the length of its metric's points; none if it is unknown.
    pub fn preset(self, resolution: Duration) -> Option<Preset> {
        let known = match self {
            Platform::Ecs => [Preset::ECS, Preset::ECS_HIGH_RESOLUTION].as_slice(),
            Platform::Ec2 { .. } => &[Preset::EC2],
        };
        let period = resolution.min(Preset::ECS.high.period);
        known.iter().find(|preset| preset.high.period == period).copied()
    }
}

/// Settings of a target group that change how requests reach instances.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TargetGroup {
    /// Its algorithm: `round_robin`, `least_outstanding_requests` or `weighted_random`.
    pub algorithm: Option<String>,
    /// The longest time for draining a target.
    pub deregistration_delay: Option<Duration>,
    /// The time in which a new target's share of requests grows; none: no slow start.
    pub slow_start: Option<Duration>,
}

/// Suspended processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Suspended {
    /// No policy scales in.
    pub scaling_in: bool,
    /// No policy scales out.
    pub scaling_out: bool,
    /// No scheduled action happens.
    pub scheduled: bool,
}

/// The contents of the files.
#[derive(Debug, Clone, PartialEq)]
pub struct Fleet {
    /// In the order of the files.
    pub services: Vec<Service>,
    /// What was left out or assumed, with reasons.
    pub remarks: Vec<Remark>,
}

/// Reads several files together: names and texts.
///
/// # Errors
/// All problems of the files, or they contain no service.
pub fn read<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Fleet, Vec<AwsError>> {
    let mut report = Report::default();
    let mut parts = Parts::default();
    for (name, text) in files {
        pages(name, text, &mut report, |path, body, report| file(name, path, body, &mut parts, report));
    }
    let services = join::services(parts, &mut report);
    if services.is_empty() && report.errors.is_empty() {
        let found = report.remarks.iter().map(ToString::to_string).collect();
        report.errors.push(AwsError::NoService { remarks: found });
    }
    if report.errors.is_empty() {
        Ok(Fleet { services, remarks: report.remarks })
    } else {
        Err(report.errors)
    }
}

/// Reads each output of the AWS CLI in a text, one after the other or in a list, with its path in the text.
fn pages(name: &str, text: &str, report: &mut Report, mut read: impl FnMut(&str, &Value, &mut Report)) {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut empty = true;
    for (page, document) in serde_json::Deserializer::from_str(text).into_iter::<Value>().enumerate() {
        empty = false;
        match document {
            Ok(Value::Array(pages)) => {
                for (index, page) in pages.iter().enumerate() {
                    read(&format!("[{index}]"), page, report);
                }
            }
            Ok(body) => {
                let path = if page > 0 { format!("(page {})", page + 1) } else { String::new() };
                read(&path, &body, report);
            }
            Err(error) => {
                report.errors.push(AwsError::broken(name, &error));
                break;
            }
        }
    }
    if empty {
        report.errors.push(AwsError::Empty { file: name.to_owned() });
    }
}

/// Reads the output of any of the commands.
fn file(name: &str, path: &str, body: &Value, parts: &mut Parts, report: &mut Report) {
    let Some(answer) = Object::of(name, path, body) else {
        return report.errors.push(AwsError::NotAnAnswer { file: name.to_owned(), found: walk::kind(body) });
    };
    let mut known = false;
    for (key, read) in KINDS {
        if let Some(list) = answer.list(key, report) {
            known = true;
            for object in list {
                read(&object, parts, report);
            }
        }
    }
    if answer.has("format_version") {
        return report.errors.push(AwsError::Terraform { file: name.to_owned() });
    }
    if answer.has("MetricDataResults") || answer.has("Datapoints") {
        return report.errors.push(AwsError::Traffic { file: name.to_owned() });
    }
    if activities::has_activities(&answer) {
        return report.errors.push(AwsError::Activities { file: name.to_owned() });
    }
    if !known {
        let found = answer.keys().take(3).map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ");
        return report.errors.push(AwsError::NotAnAnswer { file: name.to_owned(), found });
    }
    answer.without_effect(&["ResponseMetadata"]);
    if answer.text("NextToken", report).is_some_and(|token| !token.is_empty()) {
        parts.cut(name);
    } else {
        parts.whole(name);
    }
    answer.finish(report);
}

type Read = fn(&Object<'_>, &mut Parts, &mut Report);

/// The lists in the outputs.
const KINDS: [(&str, Read); 7] = [
    ("ScalableTargets", application::target),
    ("ScalingPolicies", policy::read),
    ("ScheduledActions", application::scheduled),
    ("AutoScalingGroups", group::group),
    ("ScheduledUpdateGroupActions", group::scheduled),
    ("MetricAlarms", alarm::metric),
    ("CompositeAlarms", alarm::composite),
];

#[cfg(test)]
mod tests;
