//! The attributes of a resource under the names of the API.

use super::super::walk::{Hidden, Resource};
use super::Entry;
use super::shape::{BLOCKS, COMMON, Kind, NUMBERS};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// The attributes of a resource as the API would print them, and in `hidden` those whose values are not used.
///
/// `configured` is the expressions of the resource in the configuration, if the document has them: an attribute that is
/// unknown and not configured has the default of AWS.
pub(super) fn renamed(
    entry: &Entry<'_>,
    configured: Option<&Value>,
    hidden: &mut BTreeMap<String, Hidden>,
) -> Value {
    let mut renaming = Renaming { kind: entry.kind, hidden };
    let is_configured = |key: &str| configured.is_none_or(|expressions| !expressions[key].is_null());
    let policy_type = entry.values["policy_type"].as_str().unwrap_or("SimpleScaling");
    let skip = |key: &str| {
        COMMON.contains(&key)
            || entry.kind.without_effect().contains(&key)
            || !entry.kind.is_of_policy(key, policy_type)
            || (entry.unknown[key] == Value::Bool(true) && (key == "arn" || !is_configured(key)))
    };
    if matches!(entry.kind, Kind::EcsService | Kind::TargetGroup) {
        return json!({});
    }
    renaming.map(entry.address, entry.values, entry.unknown, entry.sensitive, &skip)
}

/// Whether anything in a tree of marks is marked.
pub(super) fn is_marked(marks: &Value) -> bool {
    match marks {
        Value::Bool(marked) => *marked,
        Value::Array(items) => items.iter().any(is_marked),
        Value::Object(map) => map.values().any(is_marked),
        _ => false,
    }
}

/// The attribute that has a field of the API.
pub(in super::super) fn shown(resource: &Resource, field: &str) -> String {
    if let Some((_, attribute)) = resource.renamed.iter().find(|(api, _)| *api == field) {
        return (*attribute).to_owned();
    }
    words(field)
}

/// The words of a field of the API, as attributes are written: `metric_interval_lower_bound`.
pub(super) fn words(field: &str) -> String {
    let mut words = String::new();
    for (place, letter) in field.char_indices() {
        if letter.is_ascii_uppercase() && place > 0 {
            words.push('_');
        }
        words.push(letter.to_ascii_lowercase());
    }
    words
}

struct Renaming<'a> {
    kind: Kind,
    hidden: &'a mut BTreeMap<String, Hidden>,
}

impl Renaming<'_> {
    fn map(
        &mut self,
        path: &str,
        values: &Value,
        unknown: &Value,
        sensitive: &Value,
        skip: &dyn Fn(&str) -> bool,
    ) -> Value {
        let keys = [values, unknown].map(|map| map.as_object().into_iter().flat_map(Map::keys));
        let keys: BTreeSet<&String> = keys.into_iter().flatten().collect();
        let mut renamed = Map::new();
        for key in keys.into_iter().filter(|key| !skip(key)) {
            let path = format!("{path}.{key}");
            if unknown[key] == Value::Bool(true) {
                self.hidden.insert(path, Hidden::Unknown);
            } else if sensitive[key] == Value::Bool(true) {
                self.hidden.insert(path, Hidden::Sensitive);
            } else if let Some(value) = self.value(&path, key, &values[key], &unknown[key], &sensitive[key]) {
                renamed.insert(self.field(key), value);
            }
        }
        Value::Object(renamed)
    }

    /// A value; none if the API would not print it.
    fn value(
        &mut self,
        path: &str,
        key: &str,
        value: &Value,
        unknown: &Value,
        sensitive: &Value,
    ) -> Option<Value> {
        Some(match value {
            Value::Null => return None,
            Value::String(text) if text.is_empty() => return None,
            Value::String(text) if NUMBERS.contains(&key) => {
                text.parse::<f64>().ok().map_or_else(|| value.clone(), whole_or_not)
            }
            Value::Number(number) if self.is_nothing(key, number.as_i64()) => return None,
            Value::Array(items) if items.is_empty() => return None,
            Value::Array(items) if BLOCKS.contains(&key) && items.len() == 1 => {
                self.map(path, &items[0], &unknown[0], &sensitive[0], &|_| false)
            }
            // Only that there is an expression matters.
            Value::Array(_) if key == "metric_query" || key == "metrics" => value.clone(),
            Value::Array(items) if key == "alarm_arns" => items.iter().filter_map(alarm).collect(),
            Value::Array(items) if key == "suspended_processes" => {
                items.iter().map(|process| json!({ "ProcessName": process })).collect()
            }
            Value::Array(items) => items
                .iter()
                .enumerate()
                .map(|(index, item)| match item {
                    Value::Object(_) => {
                        let path = format!("{path}[{index}]");
                        self.map(&path, item, &unknown[index], &sensitive[index], &|_| false)
                    }
                    other => other.clone(),
                })
                .collect(),
            Value::Object(map) if key == "dimensions" => {
                map.iter().map(|(name, value)| json!({ "Name": name, "Value": value })).collect()
            }
            other => other.clone(),
        })
    }

    /// Whether the provider has a number for a field that the API does not have.
    fn is_nothing(&self, key: &str, number: Option<i64>) -> bool {
        let unchanged = ["min_size", "max_size", "desired_capacity"];
        match number {
            Some(0) => self.kind.zero_is_nothing().contains(&key),
            Some(-1) => self.kind == Kind::GroupScheduled && unchanged.contains(&key),
            _ => false,
        }
    }

    /// The field of the API that has an attribute.
    fn field(&self, attribute: &str) -> String {
        if let Some((api, _)) = self.kind.renamed().iter().find(|(_, known)| *known == attribute) {
            return (*api).to_owned();
        }
        attribute.split('_').map(capitalized).collect()
    }
}

fn capitalized(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| first.to_ascii_uppercase().to_string() + letters.as_str())
}

fn whole_or_not(number: f64) -> Value {
    let whole = number as i64;
    if whole as f64 == number { json!(whole) } else { json!(number) }
}

/// An alarm as policies name it.
fn alarm(arn: &Value) -> Option<Value> {
    let arn = arn.as_str()?;
    let name = arn.split_once(":alarm:").map_or(arn, |(_, name)| name);
    Some(json!({ "AlarmName": name, "AlarmARN": arn }))
}
