use super::*;

fn shipped(name: &str) -> Value {
    let path = format!("{}/tests/conformance/{name}", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).expect("it is shipped")).expect("JSON")
}

fn results(file: &Value) -> Vec<CaseResult> {
    let format = FORMATS.iter().find(|format| (format.fits)(file)).expect("a known format");
    (format.run)(file).expect("cases that can be read")
}

#[test]
fn every_shipped_case_matches() {
    for (name, cases) in [("cloudwatch_missing_data.json", 21), ("aws_scaling_examples.json", 28)] {
        let results = results(&shipped(name));
        assert_eq!(results.len(), cases, "{name}");
        for case in results {
            assert_eq!(case.found, case.expected, "{name}: {}", case.name);
        }
    }
}
