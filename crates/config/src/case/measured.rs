//! What an instance carries, from the result of a measurement: the JSON of `headroom squeeze` or `headroom find`, or that of
//! `headroom show` for such a run.

use serde_json::Value;
use std::path::Path;
use units::Rate;

/// The rate that a result says an instance carries.
///
/// # Errors
/// A sentence: the file cannot be read, is no such result, or has no rate.
pub(super) fn capacity(path: &Path) -> Result<Rate, String> {
    let text =
        std::fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let found: Value = serde_json::from_str(&text).map_err(|error| format!("it is not JSON: {error}"))?;
    let result = found.get("result").filter(|result| result.is_object()).unwrap_or(&found);
    let of = |key: &str| result.get(key).map(|rate| (key.to_owned(), rate.clone()));
    let Some((key, rate)) = of("per_instance").or_else(|| of("sustainable_rate")) else {
        return Err(
            "it has neither `per_instance` of `headroom squeeze` nor `sustainable_rate` of `headroom find`"
                .to_owned(),
        );
    };
    if rate["verified"] != true {
        return Err(format!("no rate of `{key}` held in trials of full length"));
    }
    let low = rate["low"].as_f64().filter(|low| *low > 0.0);
    low.map(Rate::per_second_of).ok_or_else(|| format!("`{key}` has no rate in `low`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_of_both_commands_are_read_and_others_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("result.json");
        for (text, expected) in [
            (r#"{"per_instance":{"low":112.5,"high":null,"verified":true}}"#, Ok(112.5)),
            (r#"{"sustainable_rate":{"low":99,"high":101,"verified":true}}"#, Ok(99.0)),
            (r#"{"id":"r12","result":{"per_instance":{"low":7,"high":8,"verified":true}}}"#, Ok(7.0)),
            (r#"{"per_instance":{"low":112.5,"high":120,"verified":false}}"#, Err("full length")),
            (r#"{"per_instance":{"low":null,"high":60,"verified":true}}"#, Err("no rate in `low`")),
            (r#"{"sustainable_rate":null}"#, Err("full length")),
            (r#"{"throughput":1}"#, Err("neither `per_instance`")),
            ("nonsense", Err("not JSON")),
        ] {
            std::fs::write(&path, text).unwrap();
            match (capacity(&path), expected) {
                (Ok(found), Ok(expected)) => assert_eq!(found.per_second(), expected, "{text}"),
                (Err(found), Err(expected)) => assert!(found.contains(expected), "{text}: {found}"),
                (found, _) => panic!("{text}: {found:?}"),
            }
        }
        assert!(capacity(&folder.path().join("none.json")).unwrap_err().contains("cannot read"));
    }
}
