//! A JSON Schema validator for the keywords that our schemas use. Any other keyword is an error, so that none is ignored.

use serde_json::Value;

/// All that is wrong with `value`, each with its place.
pub fn check(schema: &Value, value: &Value) -> Vec<String> {
    let mut wrong = Vec::new();
    visit(schema, schema, value, "$", &mut wrong);
    wrong
}

fn visit(root: &Value, schema: &Value, value: &Value, place: &str, wrong: &mut Vec<String>) {
    for (word, rule) in schema.as_object().expect("a schema is an object") {
        let holds = match word.as_str() {
            "$schema" | "$defs" | "title" | "description" | "properties" => true,
            "$ref" => {
                let path = rule.as_str().and_then(|text| text.strip_prefix('#')).expect("a local reference");
                visit(root, root.pointer(path).expect("a definition"), value, place, wrong);
                true
            }
            "type" => match rule {
                Value::Array(kinds) => kinds.iter().any(|kind| is(value, kind)),
                kind => is(value, kind),
            },
            "enum" => rule.as_array().unwrap().contains(value),
            "minimum" => value.is_null() || value.as_f64() >= rule.as_f64(),
            "required" => {
                // Of what may be null, only the object has names.
                let named = |name: &Value| value.get(name.as_str().unwrap()).is_some();
                !value.is_object() || rule.as_array().unwrap().iter().all(named)
            }
            "items" => {
                for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                    visit(root, rule, item, &format!("{place}[{index}]"), wrong);
                }
                true
            }
            "additionalProperties" => value.as_object().into_iter().flatten().all(|(name, inner)| {
                let known = schema.get("properties").and_then(|known| known.get(name));
                let inner_schema = known.or(rule.is_object().then_some(rule));
                if let Some(inner_schema) = inner_schema {
                    visit(root, inner_schema, inner, &format!("{place}.{name}"), wrong);
                }
                inner_schema.is_some()
            }),
            other => panic!("the checker does not know `{other}`"),
        };
        if !holds {
            wrong.push(format!("{place}: {value} breaks {word} {rule}"));
        }
    }
}

fn is(value: &Value, kind: &Value) -> bool {
    match kind.as_str().unwrap() {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "number" => value.is_number(),
        "integer" => value.is_u64() || value.is_i64(),
        other => panic!("the checker does not know the type `{other}`"),
    }
}

#[test]
fn finds_what_breaks_a_schema() {
    let schema = serde_json::json!({
        "type": "object", "required": ["a"], "additionalProperties": false,
        "properties": { "a": { "$ref": "#/$defs/a" }, "b": { "type": "array", "items": { "enum": ["x"] } } },
        "$defs": { "a": { "type": ["integer", "null"], "minimum": 0 } }
    });
    assert!(check(&schema, &serde_json::json!({ "a": 1, "b": ["x"] })).is_empty());
    assert!(check(&schema, &serde_json::json!({ "a": null })).is_empty());
    for broken in [
        serde_json::json!({}),
        serde_json::json!({ "a": -1 }),
        serde_json::json!({ "a": 1.5 }),
        serde_json::json!({ "a": 1, "b": ["y"] }),
        serde_json::json!({ "a": 1, "c": 1 }),
        serde_json::json!([]),
    ] {
        assert!(!check(&schema, &broken).is_empty(), "{broken}");
    }
}
