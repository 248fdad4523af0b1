//! What an instance carries, from the result of a measurement: the JSON of `headroom squeeze` or `headroom find`, or that of
//! `headroom show` for such a run. It is in a file, or a run has it.

use serde_json::Value;
use std::fmt;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use units::Rate;

/// Finds the results of runs that a case file names. This crate knows no ledger, so that the caller gives it.
#[derive(Clone)]
pub struct Results(Arc<Find>);

type Find = dyn Fn(&str) -> Result<String, String> + Send + Sync;

impl Results {
    /// `of` gives the result of a run as JSON, by its number, such as `r17`, or its name; or a sentence that says why there is
    /// none, in lower case.
    pub fn new(of: impl Fn(&str) -> Result<String, String> + Send + Sync + 'static) -> Self {
        Results(Arc::new(of))
    }
}

impl fmt::Debug for Results {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Results")
    }
}

/// The rate that a result says an instance carries. `named` is a file relative to `folder`, or else a run.
///
/// # Errors
/// A sentence: there is neither, or it is no such result, or it has no rate.
pub(super) fn capacity(folder: &Path, named: &str, results: Option<&Results>) -> Result<Rate, String> {
    let path = folder.join(named);
    match (std::fs::read_to_string(&path), results) {
        (Ok(text), _) => rate(&text),
        (Err(error), Some(Results(of))) if error.kind() == ErrorKind::NotFound => {
            let text = of(named).map_err(|why| {
                format!(
                    "`{named}` is neither a file nor a run: there is no file {}, and {why}",
                    path.display()
                )
            })?;
            rate(&text)
        }
        (Err(error), _) => Err(format!("cannot read {}: {error}", path.display())),
    }
}

fn rate(text: &str) -> Result<Rate, String> {
    let found: Value = serde_json::from_str(text).map_err(|error| format!("it is not JSON: {error}"))?;
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
            match (rate(text), expected) {
                (Ok(found), Ok(expected)) => assert_eq!(found.per_second(), expected, "{text}"),
                (Err(found), Err(expected)) => assert!(found.contains(expected), "{text}: {found}"),
                (found, _) => panic!("{text}: {found:?}"),
            }
        }
    }

    #[test]
    fn a_file_goes_before_a_run_of_the_same_name() {
        let result = |low: u32| format!(r#"{{"per_instance":{{"low":{low},"high":null,"verified":true}}}}"#);
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let runs = Results::new(move |name| match name {
            "r17" | "friday" => Ok(result(112)),
            other => Err(format!("the ledger has no run {other}")),
        });
        let per_second =
            |name: &str, runs: Option<&Results>| capacity(folder, name, runs).map(Rate::per_second);
        assert_eq!(per_second("r17", Some(&runs)), Ok(112.0));
        std::fs::write(folder.join("friday"), result(90)).unwrap();
        assert_eq!(per_second("friday", Some(&runs)), Ok(90.0));
        let said = per_second("sunday", Some(&runs)).unwrap_err();
        assert!(said.starts_with("`sunday` is neither a file nor a run: there is no file /"), "{said}");
        assert!(said.ends_with("sunday, and the ledger has no run sunday"), "{said}");
        assert!(per_second("r17", None).unwrap_err().contains("cannot read"));
        std::fs::create_dir(folder.join("r17")).unwrap();
        assert!(per_second("r17", Some(&runs)).unwrap_err().contains("cannot read"), "it is a folder");
    }
}
