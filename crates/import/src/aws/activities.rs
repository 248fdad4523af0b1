//! What autoscaling did: the scaling activities of Auto Scaling groups and ECS services, as the desired number of
//! instances over time.
//!
//! ```text
//! aws autoscaling describe-scaling-activities              Activities[], a cause in sentences
//! aws application-autoscaling describe-scaling-activities  ScalingActivities[], a description
//! ```
//!
//! ## Desired, not actual
//! The result is the *desired* number, which policies set. An Auto Scaling group has an activity for each instance that
//! it launches or ends; its cause says how the desired capacity changed before (`changing the desired capacity from 4 to
//! 5`), and from which actual to which desired number the activity leads (`increasing the capacity from 4 to 5`). Both
//! give the desired number, the first with the time of the change. So an activity that failed or was cancelled still
//! shows a change of a group. That of ECS shows none, because nothing was set. Activities that replace instances or
//! rebalance zones change no desired number.
//!
//! ## Why other fields are not listed
//! The settings of the service are read elsewhere, where nothing may be missed. Here only times, names, states and texts
//! count. A text that is not understood could hide a change, so these are returned with their places.
//!
//! Shapes: `DescribeScalingActivities` in the API references of Amazon EC2 Auto Scaling and of Application Auto Scaling;
//! texts: "Verify a scaling activity" in the Amazon EC2 Auto Scaling User Guide, "Describe scaling activities" in the
//! Application Auto Scaling User Guide.

mod cause;
mod series;
#[cfg(test)]
mod tests;

pub use series::{Series, SeriesError};

use super::remark::AwsError;
use super::walk::{Object, Report, kind};
use cause::Said;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// The scaling activities of a file, by service or group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Activities {
    /// By name, in the order of names.
    pub groups: Vec<Group>,
    /// Resources that are neither an Auto Scaling group nor an ECS service, with the number of their activities.
    pub others: Vec<(String, u64)>,
    /// Whether the file says that there are more activities, which it does not have.
    pub cut: bool,
}

/// An Auto Scaling group, or an ECS service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// The name of the Auto Scaling group, or `cluster/service`.
    pub name: String,
    /// When the oldest activity started, in microseconds since 1970.
    pub oldest: i64,
    /// When the newest activity started, in microseconds since 1970.
    pub newest: i64,
    /// What kinds of activities there are.
    pub counts: Counts,
    /// Changes of the desired number that follow on another number than the one before: the file does not have what
    /// happened between them.
    pub gaps: u64,
    /// Texts that were not understood.
    pub not_understood: Vec<Misread>,
    /// The changes of the desired number, the oldest first.
    changes: Vec<Change>,
}

/// The number of activities by kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// All of them, each once.
    pub read: u64,
    /// Those that failed.
    pub failed: u64,
    /// Those that were cancelled.
    pub cancelled: u64,
    /// Those that a later activity replaced before they ended.
    pub overridden: u64,
    /// Those of ECS whose number was set, but whose tasks did not start.
    pub unfulfilled: u64,
    /// Those that have not ended.
    pub in_progress: u64,
    /// Those that record why nothing was scaled.
    pub not_scaled: u64,
    /// Those that change no desired number: replaced instances, rebalanced zones, new bounds.
    pub unchanged: u64,
}

/// A text that was not understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misread {
    /// The place of the activity: file and path.
    pub place: String,
    /// The text, shortened.
    pub text: String,
}

/// A change of the desired number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Change {
    /// Microseconds since 1970.
    at: i64,
    /// The number before; none for ECS, which does not say it.
    from: Option<u32>,
    /// Whether `from` is the desired number; otherwise it is the actual one.
    desired: bool,
    /// The desired number from then on.
    to: u32,
}

/// The result of an activity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Status {
    Done,
    InProgress,
    Failed,
    Cancelled,
    Overridden,
    Unfulfilled,
}

/// A group while it is read.
#[derive(Default)]
struct Reading {
    counts: Counts,
    span: Option<(i64, i64)>,
    changes: Vec<Change>,
    not_understood: Vec<Misread>,
}

/// What is read of a file.
#[derive(Default)]
struct Parts {
    groups: BTreeMap<String, Reading>,
    others: BTreeMap<String, u64>,
    /// The activities so far, by group and identifier: pages may overlap.
    known: BTreeSet<(String, String)>,
    cut: bool,
}

/// Reads a file: one or more outputs of the AWS CLI, one after the other or in a list. `name` is its name in messages.
///
/// # Errors
/// All problems of the file, or it has no activities.
pub fn read(name: &str, text: &str) -> Result<Activities, Vec<AwsError>> {
    let mut report = Report::default();
    let mut parts = Parts::default();
    super::pages(name, text, &mut report, |path, body, report| output(name, path, body, &mut parts, report));
    if parts.groups.is_empty() && report.errors.is_empty() {
        let others = parts.others.keys().cloned().collect();
        report.errors.push(AwsError::NoActivity { file: name.to_owned(), others });
    }
    if !report.errors.is_empty() {
        return Err(report.errors);
    }
    let groups = parts.groups.into_iter().filter_map(|(name, reading)| reading.finish(name)).collect();
    Ok(Activities { groups, others: parts.others.into_iter().collect(), cut: parts.cut })
}

/// Reads one output.
fn output(file: &str, path: &str, body: &Value, parts: &mut Parts, report: &mut Report) {
    let Some(object) = Object::of(file, path, body) else {
        return report.errors.push(AwsError::NotActivities { file: file.to_owned(), found: kind(body) });
    };
    if object.has("ActivityId") {
        // `--query` prints the list without the key.
        let read = if object.has("AutoScalingGroupName") { of_group } else { of_target };
        return read(&object, parts, report);
    }
    if !has_activities(&object) {
        let found = object.keys().take(3).map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ");
        let found = if found.is_empty() { "an empty object".to_owned() } else { found };
        return report.errors.push(AwsError::NotActivities { file: file.to_owned(), found });
    }
    for (key, read) in KINDS {
        for activity in object.list(key, report).into_iter().flatten() {
            read(&activity, parts, report);
        }
    }
    // Of several outputs, the last one says whether there are more.
    parts.cut = object.text("NextToken", report).is_some_and(|token| !token.is_empty());
}

/// Whether an output has a list of activities.
pub(super) fn has_activities(output: &Object<'_>) -> bool {
    KINDS.iter().any(|(key, _)| output.has(key))
}

type Read = fn(&Object<'_>, &mut Parts, &mut Report);

/// The lists in the outputs.
const KINDS: [(&str, Read); 2] = [("Activities", of_group), ("ScalingActivities", of_target)];

/// What both kinds of activities have; none where something of it is missing or was read before. `name` is that of the
/// group or the resource.
fn common(
    object: &Object<'_>,
    name: &str,
    parts: &mut Parts,
    report: &mut Report,
) -> Option<(i64, Option<Status>)> {
    let start = object.time("StartTime", report);
    let start = object.needed("StartTime", start, "the time at which the activity started", report);
    let status = object.text("StatusCode", report);
    let status = object.needed("StatusCode", status, "the state of the activity", report);
    let id = object.text("ActivityId", report);
    let id = object.needed("ActivityId", id, "the identifier of the activity", report)?;
    let (start, status) = (start?, status?);
    parts.known.insert((name.to_owned(), id.to_owned())).then(|| (start, Status::of(status)))
}

/// An activity of an Auto Scaling group.
fn of_group(object: &Object<'_>, parts: &mut Parts, report: &mut Report) {
    let name = object.text("AutoScalingGroupName", report);
    let name = object.needed("AutoScalingGroupName", name, "the name of the group", report);
    let cause = object.text("Cause", report);
    let cause = object.needed("Cause", cause, "the reason of the activity", report);
    let (Some(name), Some(cause)) = (name, cause) else { return };
    let Some((start, status)) = common(object, name, parts, report) else { return };
    let not_scaled = object.has_items("NotScaledReasons");
    let said = if not_scaled { Said::Unchanged } else { cause::of_group(cause, start) };
    let reading = parts.groups.entry(name.to_owned()).or_default();
    reading.count(start, status, not_scaled);
    reading.take(said, cause, &object.spot(None).shown());
}

/// An activity of Application Auto Scaling.
fn of_target(object: &Object<'_>, parts: &mut Parts, report: &mut Report) {
    let id = object.text("ResourceId", report);
    let id = object.needed("ResourceId", id, "the resource, such as service/shop/web", report);
    let description = object.text("Description", report);
    let description = object.needed("Description", description, "what the activity did", report);
    let (Some(id), Some(description)) = (id, description) else { return };
    let namespace = object.text("ServiceNamespace", report);
    let Some((start, status)) = common(object, id, parts, report) else { return };
    let Some(name) = id.strip_prefix("service/").filter(|_| namespace.is_none_or(|name| name == "ecs"))
    else {
        *parts.others.entry(id.to_owned()).or_default() += 1;
        return;
    };
    let not_scaled = object.has_items("NotScaledReasons");
    let said = match status {
        _ if not_scaled => Said::Unchanged,
        // Nothing was set.
        Some(Status::Failed | Status::Cancelled) => Said::Unchanged,
        _ => cause::of_target(description, start),
    };
    let reading = parts.groups.entry(name.to_owned()).or_default();
    reading.count(start, status, not_scaled);
    reading.take(said, description, &object.spot(None).shown());
}

impl Status {
    /// The codes of both services; none for one that is not known.
    fn of(code: &str) -> Option<Status> {
        Some(match code {
            "Successful" => Status::Done,
            "Failed" => Status::Failed,
            "Cancelled" => Status::Cancelled,
            "Overridden" => Status::Overridden,
            "Unfulfilled" => Status::Unfulfilled,
            "Pending" | "InProgress" | "PreInService" | "MidLifecycleAction" | "PendingSpotBidPlacement" => {
                Status::InProgress
            }
            waits if waits.starts_with("WaitingFor") => Status::InProgress,
            _ => return None,
        })
    }
}

impl Reading {
    fn count(&mut self, start: i64, status: Option<Status>, not_scaled: bool) {
        let (oldest, newest) = self.span.unwrap_or((start, start));
        self.span = Some((oldest.min(start), newest.max(start)));
        self.counts.read += 1;
        let counts = &mut self.counts;
        match status {
            _ if not_scaled => counts.not_scaled += 1,
            Some(Status::Failed) => counts.failed += 1,
            Some(Status::Cancelled) => counts.cancelled += 1,
            Some(Status::Overridden) => counts.overridden += 1,
            Some(Status::Unfulfilled) => counts.unfulfilled += 1,
            Some(Status::InProgress) => counts.in_progress += 1,
            Some(Status::Done) | None => {}
        }
    }

    fn take(&mut self, said: Said, text: &str, place: &str) {
        match said {
            Said::Changes(changes) => self.changes.extend(changes),
            Said::Unchanged => self.counts.unchanged += 1,
            Said::Unclear => {
                let text = capture::plain(text);
                self.not_understood.push(Misread { place: place.to_owned(), text });
            }
        }
    }

    fn finish(mut self, name: String) -> Option<Group> {
        let (oldest, newest) = self.span?;
        // Activities of one change repeat it.
        self.changes.sort_unstable();
        self.changes.dedup();
        let follows = |pair: &&[Change]| {
            pair[1].desired && pair[1].from.is_some_and(|from| from != pair[0].to) && pair[1].to != pair[0].to
        };
        let gaps = self.changes.windows(2).filter(follows).count() as u64;
        let Reading { counts, changes, not_understood, .. } = self;
        Some(Group { name, oldest, newest, counts, gaps, not_understood, changes })
    }
}

impl fmt::Display for Misread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: \"{}\"", self.place, self.text)
    }
}
