//! Changed settings as override files of Terraform.
//!
//! An override file has only the arguments that differ: Terraform merges them into the resource of the same address. A
//! nested block replaces all blocks of its type, so it is written whole. Removing the file undoes the change.
//!
//! Format: *Override Files* in the documentation of the Terraform language, and its syntax specification.

use super::super::patch::{Change, Edit, PatchError, call};
use super::shape::Kind;
use super::{Entry, References, entries, parsed, rename};
use crate::origin::Origin;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// What an override file has of a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Override {
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
    let (mut found, mut errors) = (Vec::new(), Vec::new());
    for Change { origin, edit } in changes {
        let Origin::Address(address) = origin else { continue };
        let Some(entry) = entries.iter().find(|entry| entry.address == address) else {
            errors.push(PatchError::Absent(address.clone()));
            continue;
        };
        let same = |other: &&Entry<'_>| {
            (module(other.address), local_name(other.address)) == (module(address), local_name(address))
        };
        let several = entries.iter().filter(same).count() > 1;
        match of_entry(entry, &references, edit).map(|text| if several { by_hand(&text) } else { text }) {
            Some(text) => found.push(Override { module: module(address), address: address.clone(), text }),
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
        Edit::Disable => Some(format!("{opened}  actions_enabled = false\n}}\n")),
        Edit::Remove => Some(format!("# Remove the resource {address}: the policy is no longer needed.\n")),
        Edit::Add(policy, _) => {
            let call = call(&object, edit)?;
            let (of, target) = match kind {
                Kind::Group => ("aws_autoscaling_policy", [("AutoScalingGroupName", "name")].as_slice()),
                _ => (
                    "aws_appautoscaling_policy",
                    [
                        ("ServiceNamespace", "service_namespace"),
                        ("ResourceId", "resource_id"),
                        ("ScalableDimension", "scalable_dimension"),
                    ]
                    .as_slice(),
                ),
            };
            let kind = if kind == Kind::Group { Kind::GroupPolicy } else { Kind::AppPolicy };
            let mut text = format!("# New, for {address}\nresource \"{of}\" \"{}\" {{\n", identifier(policy));
            let mut input = call.input.as_object()?.clone();
            for (field, attribute) in target {
                input.remove(*field);
                let index = address.strip_prefix(&module(address)).unwrap_or(address).trim_start_matches('.');
                let _ = writeln!(text, "  {} = {index}.{attribute}", attribute_of(kind, field));
            }
            arguments(kind, &Map::new(), &input, 1, &mut text);
            Some(text + "}\n")
        }
        Edit::Set { .. } => {
            let call = call(&object, edit)?;
            let mut text = opened;
            arguments(kind, call.undo.as_object()?, call.input.as_object()?, 1, &mut text);
            Some(text + "}\n")
        }
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

/// A name that Terraform accepts.
fn identifier(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '_' };
    format!("headroom_{}", name.chars().map(plain).collect::<String>())
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
        assert_eq!(literal(&Value::String("a\"b\\${c}%{d}\n".to_owned())), r#""a\"b\\$${c}%%{d}\n""#);
    }
}
