//! The scaling of services in a Terraform or OpenTofu state or plan, as `terraform show -json` prints it.
//!
//! ## Why the attributes are renamed, and not read anew
//! The AWS provider has the API's fields under names of its own: `step_adjustment[0].metric_interval_lower_bound` for
//! `StepAdjustments[0].MetricIntervalLowerBound`. So each resource is renamed to the object that the API would print,
//! and the readers of the AWS CLI's output read it. What a field means is decided in one place.
//!
//! ## Values that are not in the document
//! A plan does not have values that AWS chooses, and marks sensitive ones. Users fill in a bound, a threshold or a
//! target; what needs another such value is left out and reported. Names and ARNs only connect resources, and their
//! expressions in the configuration name the resources that they come from (`refer`).
//!
//! Format: <https://developer.hashicorp.com/terraform/internals/json-format>, version 1. Attributes: the documentation of
//! the AWS provider.

pub mod patch;
mod refer;
mod rename;
mod shape;

use super::join::{self, ContextPart, Parts, Tool};
use super::metric::Owner;
use super::remark::{AwsError, Cause};
use super::walk::{Hidden, Object, Report, Resource, kind};
use super::{Fleet, TargetGroup, alarm, application, group, policy};
use refer::References;
use serde_json::{Value, json};
use shape::Kind;
use std::collections::BTreeMap;
use std::time::Duration;

pub(super) use rename::shown;

/// A resource of the document.
struct Entry<'a> {
    address: &'a str,
    kind: Kind,
    values: &'a Value,
    unknown: &'a Value,
    sensitive: &'a Value,
}

/// Reads a document: its name and its text.
///
/// # Errors
/// All problems of the document, or it contains no service.
pub fn read(name: &str, text: &str) -> Result<Fleet, Vec<AwsError>> {
    let document = parsed(name, text).map_err(|error| vec![error])?;
    let mut report = Report::default();
    let entries = entries(&document);
    let references = References::of(&document, entries.iter().map(|entry| (entry.address, entry.kind)));
    let mut parts = Parts::of(Tool::Terraform);
    let names = Names::of(&entries);
    for entry in &entries {
        Reader { file: name, entry, references: &references, names: &names }.read(&mut parts, &mut report);
    }
    let services = join::services(parts, &mut report);
    if services.is_empty() && report.errors.is_empty() {
        let remarks = report.remarks.iter().map(ToString::to_string).collect();
        report.errors.push(AwsError::NoResource { file: name.to_owned(), remarks });
    }
    if report.errors.is_empty() {
        Ok(Fleet { services, remarks: report.remarks })
    } else {
        Err(report.errors)
    }
}

/// The document, if it is one of a version that is known.
fn parsed(name: &str, text: &str) -> Result<Value, AwsError> {
    let other = |found: String| AwsError::NotTerraform { file: name.to_owned(), found };
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.trim().is_empty() {
        return Err(other("an empty file".to_owned()));
    }
    let document: Value = serde_json::from_str(text)
        .map_err(|error| other(format!("text that is not JSON ({})", capture::plain(&error.to_string()))))?;
    let Some(map) = document.as_object() else { return Err(other(kind(&document))) };
    if map.contains_key("lineage") {
        return Err(other("a state file as Terraform stores it (`lineage`)".to_owned()));
    }
    let Some(version) = map.get("format_version") else {
        let keys = map.keys().take(3).map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ");
        return Err(other(if keys.is_empty() { "an empty object".to_owned() } else { keys }));
    };
    let major = version.as_str().and_then(|version| version.split('.').next());
    if major != Some("1") {
        let found = capture::shown(version.to_string().as_bytes());
        return Err(AwsError::FormatVersion { file: name.to_owned(), found });
    }
    Ok(document)
}

/// The resources of all modules that are read. An empty state has no `values`.
fn entries(document: &Value) -> Vec<Entry<'_>> {
    let changes = document["resource_changes"].as_array();
    let unknown: BTreeMap<&str, &Value> = changes
        .into_iter()
        .flatten()
        .filter_map(|change| Some((change["address"].as_str()?, &change["change"]["after_unknown"])))
        .collect();
    let root = ["planned_values", "values"].into_iter().find_map(|key| document.get(key));
    let mut entries = Vec::new();
    let mut modules = vec![root.map_or(&Value::Null, |values| &values["root_module"])];
    while let Some(module) = modules.pop() {
        for resource in module["resources"].as_array().into_iter().flatten() {
            let kind = resource["type"].as_str().and_then(Kind::of);
            let (Some(kind), Some(address)) = (kind, resource["address"].as_str()) else { continue };
            if resource["mode"].as_str() == Some("managed") {
                let unknown = unknown.get(address).copied().unwrap_or(&Value::Null);
                let (values, sensitive) = (&resource["values"], &resource["sensitive_values"]);
                entries.push(Entry { address, kind, values, unknown, sensitive });
            }
        }
        // In the order of the document.
        modules.extend(module["child_modules"].as_array().into_iter().flatten().rev());
    }
    entries
}

/// How resources are identified in others: by names and ARNs, or by addresses where these are not known yet.
struct Names(BTreeMap<String, String>);

impl Names {
    fn of(entries: &[Entry<'_>]) -> Names {
        let mut names = BTreeMap::new();
        for entry in entries {
            let text = |key: &str| entry.values[key].as_str().filter(|text| !text.is_empty());
            let name = match entry.kind {
                Kind::AppTarget => text("resource_id").map_or_else(
                    || format!("service/{UNKNOWN}/{}", entry.address.replace('/', "-")),
                    str::to_owned,
                ),
                Kind::Group => text("name").unwrap_or(entry.address).to_owned(),
                _ => text("arn").unwrap_or(entry.address).to_owned(),
            };
            names.insert(entry.address.to_owned(), name);
        }
        Names(names)
    }

    fn get(&self, address: &str) -> Option<String> {
        self.0.get(address).cloned()
    }
}

/// Reads one resource.
struct Reader<'a> {
    file: &'a str,
    entry: &'a Entry<'a>,
    references: &'a References<'a>,
    names: &'a Names,
}

impl Reader<'_> {
    fn read(&self, parts: &mut Parts, report: &mut Report) {
        let Entry { address, kind, .. } = *self.entry;
        let configured = self.references.expressions(address);
        let mut hidden = BTreeMap::new();
        let mut value = rename::renamed(self.entry, configured, &mut hidden);
        self.connect(&mut value, &mut hidden);
        let resource = Resource { address: address.to_owned(), renamed: kind.renamed(), hidden };
        let Some(object) = Object::of_resource(self.file, &resource, &value) else { return };
        match kind {
            Kind::AppTarget => application::target(&object, parts, report),
            Kind::AppScheduled => application::scheduled(&object, parts, report),
            Kind::AppPolicy | Kind::GroupPolicy => policy::read(&object, parts, report),
            Kind::Group => {
                group::group(&object, parts, report);
                self.group_context(parts);
            }
            Kind::GroupScheduled => group::scheduled(&object, parts, report),
            Kind::Alarm => {
                alarm::metric(&object, parts, report);
                self.actions(&object, report);
            }
            Kind::EcsService => self.ecs_context(parts),
            Kind::TargetGroup => self.target_group(parts),
        }
        self.not_used(&object, &resource.hidden, report);
    }

    /// Names of other resources where the document does not have them yet.
    fn connect(&self, value: &mut Value, hidden: &mut BTreeMap<String, Hidden>) {
        let Entry { address, kind, .. } = *self.entry;
        let mut set = |api: &str, key: &str, found: Option<String>| {
            if value[api].is_null()
                && let Some(found) = found
            {
                hidden.remove(&format!("{address}.{key}"));
                value[api] = Value::String(found);
            }
        };
        let of = |key: &str, kind: Kind| self.referred(key, kind).into_iter().next();
        match kind {
            Kind::AppTarget => set("ResourceId", "resource_id", self.names.get(address)),
            Kind::AppPolicy | Kind::AppScheduled => {
                set("ResourceId", "resource_id", of("resource_id", Kind::AppTarget));
                set("PolicyARN", "arn", self.names.get(address));
            }
            Kind::Group => set("AutoScalingGroupName", "name", self.names.get(address)),
            Kind::GroupPolicy | Kind::GroupScheduled => {
                set(
                    "AutoScalingGroupName",
                    "autoscaling_group_name",
                    of("autoscaling_group_name", Kind::Group),
                );
                set("PolicyARN", "arn", self.names.get(address));
            }
            Kind::Alarm => {
                set("AlarmArn", "arn", self.names.get(address));
                self.connect_alarm(value, hidden);
            }
            Kind::EcsService | Kind::TargetGroup => {}
        }
        if kind == Kind::GroupScheduled || kind == Kind::AppScheduled {
            value.as_object_mut().map(|map| map.remove("PolicyARN"));
        }
    }

    /// The policies that an alarm triggers, and the group that it observes.
    fn connect_alarm(&self, value: &mut Value, hidden: &mut BTreeMap<String, Hidden>) {
        let Entry { address, unknown, .. } = *self.entry;
        let lists = [
            ("AlarmActions", "alarm_actions"),
            ("OKActions", "ok_actions"),
            ("InsufficientDataActions", "insufficient_data_actions"),
        ];
        for (api, key) in lists.into_iter().filter(|(_, key)| rename::is_marked(&unknown[*key])) {
            hidden.remove(&format!("{address}.{key}"));
            let known =
                value[api].as_array().into_iter().flatten().filter(|action| action.is_string()).cloned();
            let policies = [Kind::AppPolicy, Kind::GroupPolicy].map(|kind| self.referred(key, kind)).concat();
            value[api] = known.chain(policies.into_iter().map(Value::String)).collect();
        }
        if rename::is_marked(&unknown["dimensions"]) {
            hidden.remove(&format!("{address}.dimensions"));
            let missing = self.entry.values["dimensions"]["AutoScalingGroupName"].is_null();
            if let ([group], true) = (&self.referred("dimensions", Kind::Group)[..], missing) {
                let dimension = json!({ "Name": "AutoScalingGroupName", "Value": group });
                match value["Dimensions"].as_array_mut() {
                    Some(dimensions) => dimensions.push(dimension),
                    None => value["Dimensions"] = json!([dimension]),
                }
            }
        }
    }

    /// The identities of the resources of a kind that the expression of an attribute refers to.
    fn referred(&self, key: &str, kind: Kind) -> Vec<String> {
        let found = self.references.of_attribute(self.entry.address, key);
        let found = found.resources.iter().filter(|(_, found)| *found == kind);
        found.filter_map(|(address, _)| self.names.get(address)).collect()
    }

    /// Reports an alarm whose actions are not known and come from elsewhere.
    fn actions(&self, object: &Object<'_>, report: &mut Report) {
        if !rename::is_marked(&self.entry.unknown["alarm_actions"]) {
            return;
        }
        let found = self.references.of_attribute(self.entry.address, "alarm_actions");
        let policy = |kind: Kind| kind == Kind::AppPolicy || kind == Kind::GroupPolicy;
        if found.elsewhere && !found.resources.iter().any(|(_, kind)| policy(*kind)) {
            report.remarks.push(object.spot_of("AlarmActions", None).remark(Cause::UnknownActions));
        }
    }

    /// Reports the values that are not used, apart from those that users fill in.
    fn not_used(&self, object: &Object<'_>, hidden: &BTreeMap<String, Hidden>, report: &mut Report) {
        for (path, why) in hidden {
            let told = report.remarks.iter().any(|remark| remark.path == *path);
            if !told && !matches!(self.entry.kind, Kind::EcsService | Kind::TargetGroup) {
                let remark = object.spot(None).remark(Cause::Hidden(why.words()));
                report.remarks.push(super::Remark { path: path.clone(), ..remark });
            }
        }
    }

    fn text(&self, key: &str) -> Option<&str> {
        self.entry.values[key].as_str().filter(|text| !text.is_empty())
    }

    /// A count that is known and may be shown.
    fn count(&self, key: &str) -> Option<u32> {
        let count =
            self.entry.values[key].as_u64().filter(|_| !rename::is_marked(&self.entry.sensitive[key]))?;
        u32::try_from(count).ok()
    }

    /// Known ARNs and those of resources that an expression refers to.
    fn target_groups(&self, known: Vec<&str>, key: &str) -> Vec<String> {
        let known = known.into_iter().map(str::to_owned);
        known.chain(self.referred(key, Kind::TargetGroup)).collect()
    }

    fn ecs_context(&self, parts: &mut Parts) {
        let (Some(name), Some(cluster)) = (self.text("name"), self.text("cluster")) else { return };
        let cluster = cluster.rsplit('/').next().unwrap_or(cluster).to_owned();
        let balancers = self.entry.values["load_balancer"].as_array().into_iter().flatten();
        let known = balancers.filter_map(|balancer| balancer["target_group_arn"].as_str()).collect();
        parts.context(ContextPart {
            owner: Owner::Ecs(cluster, name.to_owned()),
            desired: self.count("desired_count"),
            target_groups: self.target_groups(known, "load_balancer"),
        });
    }

    fn group_context(&self, parts: &mut Parts) {
        let Some(name) = self.names.get(self.entry.address) else { return };
        let known = self.entry.values["target_group_arns"].as_array().into_iter().flatten();
        let known = known.filter_map(Value::as_str).collect();
        let target_groups = self.target_groups(known, "target_group_arns");
        parts.context(ContextPart { owner: Owner::Group(name), desired: None, target_groups });
    }

    fn target_group(&self, parts: &mut Parts) {
        let Some(id) = self.names.get(self.entry.address) else { return };
        // The provider has the delay as text.
        let delay = self.text("deregistration_delay").and_then(|text| text.parse().ok());
        let delay = delay.or_else(|| self.count("deregistration_delay"));
        let seconds = |count: u32| Duration::from_secs(count.into());
        let group = TargetGroup {
            algorithm: self.text("load_balancing_algorithm_type").map(str::to_owned),
            deregistration_delay: delay.map(seconds),
            slow_start: self.count("slow_start").filter(|count| *count > 0).map(seconds),
        };
        parts.target_group(id, group);
    }
}

/// The cluster of a service whose name is not known before apply.
const UNKNOWN: &str = "unknown";

#[cfg(test)]
mod tests;
