//! The JSON Schema of a file, for editors.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

/// The schema of the file whose tables begin with `T`, as draft 2020-12.
pub fn schema_of<T: JsonSchema>(title: &str) -> Value {
    let mut schema =
        SchemaSettings::draft2020_12().for_deserialize().into_generator().into_root_schema_for::<T>();
    schema.insert("title".to_owned(), title.into());
    let mut schema = schema.to_value();
    without_null(&mut schema);
    schema
}

/// An optional key may be left out, but a key without a value is an error.
fn without_null(value: &mut Value) {
    match value {
        Value::Object(object) => {
            object.values_mut().for_each(without_null);
            if let Some(Value::Array(types)) = object.get_mut("type") {
                types.retain(|name| name != "null");
                if let [only] = types.as_slice() {
                    let only = only.clone();
                    object.insert("type".to_owned(), only);
                }
            }
            if let Some(Value::Array(choices)) = object.get_mut("anyOf") {
                choices.retain(|choice| choice.get("type").is_none_or(|name| name != "null"));
                if let [Value::Object(only)] = choices.as_slice() {
                    let only = only.clone();
                    object.remove("anyOf");
                    object.extend(only);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(without_null),
        _ => {}
    }
}
