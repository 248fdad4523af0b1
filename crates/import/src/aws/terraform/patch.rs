//! Changed settings as override files of Terraform.
//!
//! An override file has only the arguments that differ: Terraform merges them into the resource of the same address. A
//! nested block replaces all blocks of its type, so it is written whole. Removing the file undoes the change.
//!
//! ## New resources
//! An override file cannot add a resource, so new policies and alarms are for a file of their own. They refer to their
//! target and to each other by address, and the names of alarms contain that of the service: a module may have several
//! instances.
//!
//! Format: *Override Files* in the documentation of the Terraform language, and its syntax specification.

use super::super::patch::{
    Change, Edit, PatchError, added, added_alarm, added_scheduled, call, free_name, other_actions,
};
use super::shape::Kind;
use super::{Entry, References, entries, parsed, rename};
use crate::origin::Origin;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// What an override file has of a resource, or a new resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Override {
    /// Whether the resource is new: no override file can add it.
    pub is_new: bool,
    /// The module whose directory the file belongs to, such as `module.web`; empty for the root.
    pub module: String,
    /// The address of the resource.
    pub address: String,
    /// A `resource` block, or a comment that says what to do by hand.
    pub text: String,
}

/// The overrides for some changes, in their order. The file is the state or plan that the case was imported from.
///
/// # Errors
/// All changes without an override, or the document is not one of Terraform.
pub fn overrides(name: &str, text: &str, changes: &[Change]) -> Result<Vec<Override>, Vec<PatchError>> {
    let broken = |problem: String| vec![PatchError::Broken { file: name.to_owned(), problem }];
    let document = parsed(name, text).map_err(|error| broken(error.to_string()))?;
    let entries = entries(&document);
    let references = References::of(&document, entries.iter().map(|entry| (entry.address, entry.kind)));
    let names = entries.iter().filter_map(|entry| Some(entry.values["name"].as_str()?.to_owned())).collect();
    let (mut found, mut errors) = (Vec::new(), Vec::new());
    for Change { origin, edit } in changes {
        let Origin::Address(address) = origin else { continue };
        let Some(entry) = entries.iter().find(|entry| entry.address == address) else {
            errors.push(PatchError::Absent(address.clone()));
            continue;
        };
        let is_new = matches!(edit, Edit::Add(..) | Edit::AddAlarm { .. } | Edit::AddScheduled { .. });
        let same = |other: &&Entry<'_>| {
            bare(&module(other.address)) == bare(&module(address))
                && local_name(other.address) == local_name(address)
                // A new resource refers to one of several instances, unless they are in several modules.
                && (!is_new || resource(other.address) == resource(address))
        };
        let several = entries.iter().filter(same).count() > 1;
        let text = match is_new {
            true => new_resource(entry, edit, &names),
            false => of_entry(entry, &references, edit),
        };
        // An instance of `for_each` cannot be counted.
        let is_keyed = matches!(edit, Edit::Remove) && address.ends_with("\"]");
        match text.map(|text| if several || is_keyed { by_hand(&text) } else { text }) {
            Some(text) => {
                found.push(Override { is_new, module: module(address), address: address.clone(), text });
            }
            None => errors.push(PatchError::Kind(address.clone())),
        }
    }
    if errors.is_empty() { Ok(found) } else { Err(errors) }
}

fn of_entry(entry: &Entry<'_>, references: &References<'_>, edit: &Edit) -> Option<String> {
    let Entry { address, kind, .. } = *entry;
    let configured = references.expressions(address);
    let renamed = rename::renamed(entry, configured, &mut BTreeMap::new());
    let mut object = renamed.as_object()?.clone();
    // Identities that a plan does not know yet do not matter here: the resource has them.
    for key in ["AlarmName", "PolicyName", "ScheduledActionName", "ResourceId"] {
        object.entry(key).or_insert_with(|| Value::String(String::new()));
    }
    if matches!(kind, Kind::Group | Kind::GroupPolicy | Kind::GroupScheduled) {
        object.entry("AutoScalingGroupName").or_insert_with(|| Value::String(String::new()));
    }
    let name = local_name(address)?;
    let opened = format!("# {address}\nresource \"{}\" \"{}\" {{\n", name.0, name.1);
    match edit {
        Edit::Disable => match other_actions(&object) {
            None => Some(format!("{opened}  actions_enabled = false\n}}\n")),
            // It tells somebody, too, and goes on doing that.
            Some(_) => Some(format!(
                "# {address}\n# The alarm has other actions, too: remove the scaling policy from its `alarm_actions` by hand.\n"
            )),
        },
        Edit::Remove => match kind {
            Kind::GroupPolicy => Some(format!("{opened}  enabled = false\n}}\n")),
            _ => Some(format!(
                "# The policy is no longer needed. If something refers to it, remove the resource instead.\n{opened}  count \
                 = 0\n}}\n"
            )),
        },
        Edit::Add(..) | Edit::AddAlarm { .. } | Edit::AddScheduled { .. } => None,
        Edit::Set { .. } => {
            let call = call(&object, edit, &BTreeSet::new())?;
            let mut text = opened;
            arguments(kind, call.undo.as_object()?, call.input.as_object()?, 1, &mut text);
            Some(text + "}\n")
        }
    }
}

/// A policy, an alarm or a scheduled action of a scalable target or an Auto Scaling group. `names` are those that a policy cannot have.
fn new_resource(entry: &Entry<'_>, edit: &Edit, names: &BTreeSet<String>) -> Option<String> {
    let address = entry.address;
    let target = resource(address);
    let of_group = entry.kind == Kind::Group;
    let mut text = format!("# New, for {address}\n");
    let (policy_type, policy_kind) = match of_group {
        true => ("aws_autoscaling_policy", Kind::GroupPolicy),
        false => ("aws_appautoscaling_policy", Kind::AppPolicy),
    };
    // Writing to a string cannot fail.
    match edit {
        Edit::Add(name, policy) => {
            let mut input = Map::new();
            added(&mut input, policy, of_group)?;
            let _ = writeln!(text, "resource \"{policy_type}\" \"{}\" {{", identifier(target, name));
            let _ = writeln!(text, "  name = {}", literal(&Value::String(free_name(name, names))));
            text += &of_target(target, of_group);
            arguments(policy_kind, &Map::new(), &input, 1, &mut text);
        }
        Edit::AddAlarm { name, settings, policies } => {
            let _ = writeln!(
                text,
                "resource \"aws_cloudwatch_metric_alarm\" \"{}\" {{",
                identifier(target, name)
            );
            // `service/CLUSTER/NAME`.
            let part = |place: u32| format!("split(\"/\", {target}.resource_id)[{place}]");
            let of = if of_group { format!("{target}.name") } else { part(2) };
            let _ = writeln!(text, "  alarm_name = \"headroom-${{{of}}}-{name}\"");
            let arns =
                policies.iter().map(|policy| format!("{policy_type}.{}.arn", identifier(target, policy)));
            let _ = writeln!(text, "  alarm_actions = [{}]", arns.collect::<Vec<_>>().join(", "));
            let dimensions = match of_group {
                true => format!("AutoScalingGroupName = {of}"),
                false => format!("ClusterName = {}, ServiceName = {of}", part(1)),
            };
            let _ = writeln!(text, "  dimensions = {{ {dimensions} }}");
            arguments(Kind::Alarm, &Map::new(), &added_alarm(settings, of_group), 1, &mut text);
        }
        Edit::AddScheduled { name, min, max, at } => {
            let mut input = added_scheduled(*min, *max, at, of_group)?;
            let (resource_type, attribute, kind) = match of_group {
                true => ("aws_autoscaling_schedule", "scheduled_action_name", Kind::GroupScheduled),
                false => ("aws_appautoscaling_scheduled_action", "name", Kind::AppScheduled),
            };
            if of_group {
                // What the provider takes for 0 if it is not there.
                for key in ["MinSize", "MaxSize", "DesiredCapacity"] {
                    input.entry(key).or_insert_with(|| Value::from(-1));
                }
            }
            let _ = writeln!(text, "resource \"{resource_type}\" \"{}\" {{", identifier(target, name));
            let name = free_name(&format!("headroom-{name}"), names);
            let _ = writeln!(text, "  {attribute} = {}", literal(&Value::String(name)));
            text += &of_target(target, of_group);
            arguments(kind, &Map::new(), &input, 1, &mut text);
        }
        Edit::Set { .. } | Edit::Disable | Edit::Remove => return None,
    }
    Some(text + "}\n")
}

/// The arguments that name the target of a new resource.
fn of_target(target: &str, of_group: bool) -> String {
    let of = |attribute: &str| format!("  {attribute} = {target}.{attribute}\n");
    match of_group {
        true => format!("  autoscaling_group_name = {target}.name\n"),
        false => ["service_namespace", "resource_id", "scalable_dimension"].map(of).concat(),
    }
}

/// An override is of all instances of a resource, so one of several is changed by hand.
fn by_hand(text: &str) -> String {
    let lines =
        text.lines().map(|line| format!("{}\n", format!("# {}", line.trim_start_matches("# ")).trim_end()));
    format!(
        "# One of several instances; an override would change all. Change the configuration so that it gets:\n{}",
        lines.collect::<String>()
    )
}

/// What differs, as arguments and blocks.
fn arguments(
    kind: Kind,
    before: &Map<String, Value>,
    after: &Map<String, Value>,
    depth: usize,
    text: &mut String,
) {
    let keys: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let margin = "  ".repeat(depth);
    for key in keys.into_iter().filter(|key| before.get(*key) != after.get(*key)) {
        let name = attribute_of(kind, key);
        let blocks = match after.get(key) {
            Some(block @ Value::Object(_)) => std::slice::from_ref(block),
            Some(Value::Array(items)) if items.iter().all(Value::is_object) => items.as_slice(),
            other => {
                // Writing to a string cannot fail.
                let _ = writeln!(text, "{margin}{name} = {}", other.map_or("null".to_owned(), literal));
                continue;
            }
        };
        for block in blocks {
            let _ = writeln!(text, "{margin}{name} {{");
            arguments(kind, &Map::new(), block.as_object().unwrap_or(&Map::new()), depth + 1, text);
            let _ = writeln!(text, "{margin}}}");
        }
    }
}

/// The attribute of the provider for a field of the API.
fn attribute_of(kind: Kind, field: &str) -> String {
    match kind.renamed().iter().find(|(api, _)| *api == field) {
        Some((_, attribute)) => (*attribute).to_owned(),
        None => rename::words(field),
    }
}

fn literal(value: &Value) -> String {
    match value {
        Value::String(found) => {
            let plain = found.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            // Templates begin with these.
            format!("\"{}\"", plain.replace("${", "$${").replace("%{", "%%{"))
        }
        Value::Array(items) => {
            format!("[{}]", items.iter().map(literal).collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

/// `module.a[0].module.b` of `module.a[0].module.b.TYPE.NAME`.
fn module(address: &str) -> String {
    let resource = resource(address);
    address[..address.len() - resource.len()].trim_end_matches('.').to_owned()
}

/// `TYPE.NAME[INDEX]` of an address. Types of the provider begin with `aws_`, and keys in brackets may contain anything.
fn resource(address: &str) -> &str {
    let mut depth = 0_u32;
    let mut begins = 0;
    for (place, letter) in address.char_indices() {
        match letter {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            '.' if depth == 0 && address[place + 1..].starts_with("aws_") => {
                begins = place + 1;
                break;
            }
            _ => {}
        }
    }
    &address[begins..]
}

/// Type and name of a resource, without its index.
fn local_name(address: &str) -> Option<(&str, &str)> {
    let (of, name) = resource(address).split_once('.')?;
    Some((of, name.split('[').next()?))
}

/// The name of a new resource for a target, of characters that Terraform accepts.
fn identifier(target: &str, name: &str) -> String {
    let target = target.split_once('.').map_or(target, |(_, name)| name);
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '_' };
    format!("headroom_{target}_{name}").chars().map(plain).collect()
}

/// The path of a module without the places of its instances.
fn bare(module: &str) -> String {
    let mut depth = 0_u32;
    let is_outside = |letter: &char| {
        depth += u32::from(*letter == '[');
        let is = depth == 0;
        depth -= u32::from(*letter == ']' && depth > 0);
        is
    };
    module.chars().filter(is_outside).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_taken_apart() {
        for (address, in_module, name) in [
            ("aws_appautoscaling_policy.out", "", ("aws_appautoscaling_policy", "out")),
            ("aws_autoscaling_policy.out[0]", "", ("aws_autoscaling_policy", "out")),
            (
                "module.a[\"aws_x.y\"].module.b.aws_cloudwatch_metric_alarm.cpu[\"a.b\"]",
                "module.a[\"aws_x.y\"].module.b",
                ("aws_cloudwatch_metric_alarm", "cpu"),
            ),
        ] {
            assert_eq!((module(address).as_str(), local_name(address)), (in_module, Some(name)), "{address}");
        }
    }

    #[test]
    fn texts_with_templates_and_quotes_are_literal() {
        assert_eq!(identifier("aws_appautoscaling_target.web[\"a\"]", "out"), "headroom_web__a___out");
        assert_eq!(bare("module.a[\"x.y\"].module.b"), "module.a.module.b");
        assert_eq!(literal(&Value::String("a\"b\\${c}%{d}\n".to_owned())), r#""a\"b\\$${c}%%{d}\n""#);
    }
}
