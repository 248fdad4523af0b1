//! The JSON Schema of a case file. The changes of a stage have the shape of the file itself, but nothing is required,
//! and any key may be empty to remove it.

use super::NOT_CHANGED;
use super::file::CaseTable;
use serde_json::{Map, Value, json};

/// The schema of a case file, as draft 2020-12.
pub fn schema() -> Value {
    let mut schema = fields::schema_of::<CaseTable>("headroom case file");
    let mut whole = json!({ "type": "object", "additionalProperties": false });
    whole["properties"] = schema["properties"].clone();
    if let Some(properties) = whole["properties"].as_object_mut() {
        properties.retain(|key, _| !NOT_CHANGED.contains(&key.as_str()));
    }
    let mut relaxed = Map::new();
    relaxed.insert(CHANGES.to_owned(), changed(&whole));
    for (name, found) in schema["$defs"].as_object().into_iter().flatten() {
        relaxed.insert(format!("{name}{CHANGES}"), changed(found));
    }
    let changes = &mut schema["$defs"]["StageTable"]["properties"]["changes"];
    let about = changes["description"].take();
    *changes = json!({ "$ref": format!("#/$defs/{CHANGES}"), "description": about });
    if let Some(kinds) = schema["$defs"].as_object_mut() {
        // Stages contain no stages.
        relaxed.retain(|name, _| !["StageTable", "RowTable"].iter().any(|kind| name.starts_with(kind)));
        kinds.extend(relaxed);
    }
    schema
}

/// The schema as it is stored in the repository, with a final newline.
pub fn schema_text() -> String {
    format!("{:#}\n", schema())
}

/// The same without required keys, and with keys that may be empty.
fn changed(schema: &Value) -> Value {
    match schema {
        Value::Object(object) => {
            let kept = object.iter().filter(|(key, _)| *key != "required");
            let changed = kept.map(|(key, value)| {
                let value = match (key.as_str(), value) {
                    ("$ref", Value::String(path)) => Value::String(format!("{path}{CHANGES}")),
                    ("properties", Value::Object(inner)) => Value::Object(
                        inner.iter().map(|(key, value)| (key.clone(), or_empty(value))).collect(),
                    ),
                    ("additionalProperties", Value::Object(_)) => or_empty(value),
                    // Lists are replaced as a whole.
                    ("items", _) => value.clone(),
                    _ => changed(value),
                };
                (key.clone(), value)
            });
            Value::Object(changed.collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(changed).collect()),
        other => other.clone(),
    }
}

fn or_empty(schema: &Value) -> Value {
    json!({ "anyOf": [changed(schema), { "type": "null" }] })
}

const CHANGES: &str = "Changes";
