//! How services scale today, from what the AWS CLI prints as JSON.
//!
//! The files are read together, in any order and number: scalable targets and Auto Scaling groups, their policies,
//! scheduled actions, and alarms. Alarms are joined to policies by their ARNs, in both directions.
//!
//! ## Why what is not understood is named
//! A simulation without one of the alarms answers another question than the one that was asked, and looks just as
//! good. So every field is either read, known to have no effect on scaling, or named in a [`Remark`] with its place;
//! a metric that is not modelled takes its alarm with it, and the remark says so. Nothing is guessed.
//!
//! Shapes: the API references of Application Auto Scaling, Amazon EC2 Auto Scaling and Amazon CloudWatch.

mod alarm;
mod application;
mod commands;
mod cron;
mod group;
mod join;
mod metric;
mod policy;
mod remark;
mod schedule;
mod walk;

pub use alarm::Alarm;
pub use commands::{Command, Wanted, commands};
pub use metric::Metric;
pub use policy::{Policy, Rule};
pub use remark::{AwsError, Cause, Effect, Remark};
pub use schedule::{Recurrence, Schedule};

use control::scaling::Preset;
use join::Parts;
use serde_json::Value;
use std::time::Duration;
use walk::{Object, Report};

/// A service with everything that scales it.
#[derive(Debug, Clone, PartialEq)]
pub struct Service {
    /// As AWS names it: `cluster/service` of ECS, or the name of the Auto Scaling group.
    pub name: String,
    /// Whose rules hold.
    pub platform: Platform,
    /// Never fewer.
    pub min: u32,
    /// Never more.
    pub max: u32,
    /// How many there are now, where the files say it.
    pub desired: Option<u32>,
    /// What is switched off.
    pub suspended: Suspended,
    /// The alarms that policies name, in their order.
    pub alarms: Vec<Alarm>,
    /// What changes the capacity.
    pub policies: Vec<Policy>,
    /// What happens at set times.
    pub schedule: Vec<Schedule>,
}

/// Whose rules hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Platform {
    /// An ECS service, through Application Auto Scaling.
    Ecs,
    /// An Auto Scaling group.
    Ec2 {
        /// The cooldown of simple scaling where a policy names none.
        default_cooldown: Duration,
        /// The warm-up where a policy names none.
        default_warm_up: Duration,
    },
}

impl Platform {
    /// What target tracking is taken to make of a target, by the length of its metric's points; none where that is not
    /// known.
    pub fn preset(self, resolution: Duration) -> Option<Preset> {
        let known = match self {
            Platform::Ecs => [Preset::ECS, Preset::ECS_HIGH_RESOLUTION].as_slice(),
            Platform::Ec2 { .. } => &[Preset::EC2],
        };
        let period = resolution.min(Preset::ECS.high.period);
        known.iter().find(|preset| preset.high.period == period).copied()
    }
}

/// What is switched off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Suspended {
    /// No policy scales in.
    pub scaling_in: bool,
    /// No policy scales out.
    pub scaling_out: bool,
    /// Nothing that was scheduled happens.
    pub scheduled: bool,
}

/// What the files say.
#[derive(Debug, Clone, PartialEq)]
pub struct Fleet {
    /// In the order of the files.
    pub services: Vec<Service>,
    /// What was left out or assumed, and why.
    pub remarks: Vec<Remark>,
}

/// Reads files together: names and texts.
///
/// # Errors
/// Everything that is wrong with them, or that they hold no service.
pub fn read<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Fleet, Vec<AwsError>> {
    let mut report = Report::default();
    let mut parts = Parts::default();
    for (name, text) in files {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut empty = true;
        for (page, document) in serde_json::Deserializer::from_str(text).into_iter::<Value>().enumerate() {
            empty = false;
            match document {
                Ok(Value::Array(pages)) => {
                    for (index, page) in pages.iter().enumerate() {
                        file(name, &format!("[{index}]"), page, &mut parts, &mut report);
                    }
                }
                Ok(body) => {
                    let path = if page > 0 { format!("(page {})", page + 1) } else { String::new() };
                    file(name, &path, &body, &mut parts, &mut report);
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

/// Reads one answer, whatever command it is of.
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
    if answer.has("MetricDataResults") || answer.has("Datapoints") {
        return report.errors.push(AwsError::Traffic { file: name.to_owned() });
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

/// The lists of all answers.
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
