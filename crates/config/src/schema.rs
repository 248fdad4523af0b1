//! The JSON Schemas of the files, for editors.

use crate::file::File;
use fields::schema_of;
use serde_json::Value;

/// The schema of a gateway file, as draft 2020-12.
pub fn schema() -> Value {
    schema_of::<File>("headroom gateway file")
}

/// The schema of a gateway file as it is stored in the repository, with a final newline.
pub fn schema_text() -> String {
    format!("{:#}\n", schema())
}

#[cfg(test)]
mod tests {
    use super::schema;
    use serde_json::Value;

    /// The part of JSON Schema that the schema uses, except patterns and bounds.
    fn fits(value: &Value, schema: &Value, root: &Value) -> Result<(), String> {
        if let Some(reference) = schema["$ref"].as_str() {
            let target = root.pointer(reference.trim_start_matches('#')).ok_or("dangling reference")?;
            return fits(value, target, root);
        }
        if let Some(choices) = schema["anyOf"].as_array() {
            let any = choices.iter().any(|choice| fits(value, choice, root).is_ok());
            return any.then_some(()).ok_or(format!("{value} fits no choice"));
        }
        if let Some(word) = schema.get("const") {
            return (value == word).then_some(()).ok_or(format!("{value} is not {word}"));
        }
        if schema["type"].is_null() {
            return Ok(());
        }
        let kind = match value {
            Value::Object(_) => "object",
            Value::Array(_) => "array",
            Value::String(_) => "string",
            Value::Number(_) => "integer",
            Value::Null if schema["type"] == "null" => "null",
            Value::Bool(_) if schema["type"] == "boolean" => "boolean",
            // The reader accepts any scalar as a text.
            Value::Bool(_) | Value::Null => "string",
        };
        let types = schema["type"].to_string().replace("number", "integer");
        if !types.contains(kind) {
            return Err(format!("{value} is no {types}"));
        }
        for (key, inner) in value.as_object().into_iter().flatten() {
            let known = schema["properties"].get(key).unwrap_or(&schema["additionalProperties"]);
            if *known == Value::Bool(false) {
                return Err(format!("unknown key {key}"));
            }
            fits(inner, known, root)?;
        }
        for key in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            value.get(key).ok_or(format!("{key} is missing"))?;
        }
        value.as_array().into_iter().flatten().try_for_each(|item| fits(item, &schema["items"], root))
    }

    #[test]
    fn the_examples_fit_the_schema_and_a_wrong_key_does_not() {
        let schema = schema();
        for text in [
            include_str!("../../../examples/gateway.yaml"),
            include_str!("../../../examples/gateway-rule.yaml"),
        ] {
            let mut value: Value = serde_saphyr::from_str(text).unwrap();
            assert_eq!(fits(&value, &schema, &schema), Ok(()));
            value["pools"]["search"]["instnaces"] = 1.into();
            assert_eq!(fits(&value, &schema, &schema), Err("unknown key instnaces".into()));
        }
    }

    #[test]
    fn the_example_of_a_scenario_fits_its_schema_and_a_wrong_key_does_not() {
        let schema = crate::scenario::schema();
        let text = include_str!("../../../examples/scenario.yaml");
        let mut value: Value = serde_saphyr::from_str(text).unwrap();
        assert_eq!(fits(&value, &schema, &schema), Ok(()));
        value["flows"][0]["steps"][0]["thnk"] = "1s".into();
        assert_eq!(fits(&value, &schema, &schema), Err("unknown key thnk".into()));
    }

    #[test]
    fn the_shipped_cases_fit_their_schema_and_a_wrong_key_does_not() {
        let schema = crate::case::schema();
        for text in [
            include_str!("../../../cases/accounts.yaml"),
            include_str!("../../../cases/five-million.yaml"),
            include_str!("../../../cases/ngin.yaml"),
            include_str!("../../../cases/search-cgi.yaml"),
            include_str!("../../../cases/stresstest.yaml"),
        ] {
            let mut value: Value = serde_saphyr::from_str(text).unwrap();
            assert_eq!(fits(&value, &schema, &schema), Ok(()));
            value["stages"][1]["changes"]["servises"] = 1.into();
            assert_eq!(fits(&value, &schema, &schema), Err("unknown key servises".into()));
        }
    }

    #[test]
    fn no_key_may_be_empty() {
        for schema in [schema(), crate::scenario::schema()] {
            assert!(!schema.to_string().contains("\"null\""));
        }
    }
}
