//! Kubernetes' tests of its horizontal pod autoscaler: the proposal of one metric, and its processing.

pub mod behaviors;
pub mod calculator;

use super::reading::{At, Problem};
use std::time::Duration;
use units::Timestamp;

/// Late enough for all earlier events of a case.
const NOW: Timestamp = Timestamp::from_secs(100_000_000);

/// A time that a case gives as an age in seconds.
fn ago(case: &At, field: &str) -> Result<Timestamp, Problem> {
    let age = case.field(field)?;
    let span = Duration::try_from_secs_f64(age.number()?);
    span.map(|span| NOW - span).map_err(|_| age.problem("an age is a number of seconds from 0 on"))
}

#[cfg(test)]
mod tests {
    use super::super::CaseResult;
    use super::*;
    use serde_json::{Value, json};

    fn shipped(name: &str) -> Value {
        let path = format!("{}/../headroom/tests/conformance/{name}", env!("CARGO_MANIFEST_DIR"));
        serde_json::from_str(&std::fs::read_to_string(path).expect("it is shipped")).expect("JSON")
    }

    fn missed(cases: &[CaseResult]) -> Vec<String> {
        let missed = cases.iter().filter(|case| !case.matches());
        missed.map(|case| format!("{}: {} and not {}", case.name, case.found, case.expected)).collect()
    }

    #[test]
    fn every_shipped_case_of_the_calculator_matches() {
        let file = shipped("hpa_replica_calculator.json");
        assert!(calculator::fits(&file) && !behaviors::fits(&file));
        let cases = calculator::run(&file).unwrap();
        assert_eq!((cases.len(), missed(&cases)), (24, vec![]));
    }

    #[test]
    fn every_shipped_case_of_behaviors_matches() {
        let file = shipped("hpa_behaviors.json");
        assert!(behaviors::fits(&file) && !calculator::fits(&file));
        let cases = behaviors::run(&file).unwrap();
        assert_eq!((cases.len(), missed(&cases)), (35, vec![]));
    }

    #[test]
    fn a_wrong_expectation_is_missed() {
        let mut file = shipped("hpa_replica_calculator.json");
        file["cases"][0]["expected_raw_avg_milli"] = json!(601);
        let cases = calculator::run(&file).unwrap();
        assert_eq!(
            missed(&cases),
            ["ScaleDownIgnoreHotCpuPods: 2 replicas, 30 %, 600m and not 2 replicas, 30 %, 601m"]
        );
        let mut file = shipped("hpa_behaviors.json");
        file["tests"]["scaling_with_rules"][0]["condition"] = json!("TooManyReplicas");
        assert_eq!(missed(&behaviors::run(&file).unwrap()).len(), 1);
    }

    #[test]
    fn tolerances_of_each_direction_and_errors_can_be_expected() {
        let case = |tolerances: Value, expected: u32| {
            json!({ "name": "own", "kind": "pods", "current": 3, "expected": expected, "target_milli": 20_000,
                    "metric_values_milli": [20_000, 21_000, 21_000], "tolerances": tolerances })
        };
        let gone = json!({ "name": "gone", "kind": "resource_cpu", "current": 1, "expected": null,
            "expected_error": "no metrics returned matched known pods", "container_requests_milli": [1000],
            "container_usage_milli": [100], "target_utilization_pct": 100, "metric_pod_names": ["an-older-pod"] });
        let file = json!({ "cases": [case(json!({ "up": 0.01 }), 4), case(json!({ "up": 0.05 }), 3), gone] });
        assert_eq!(missed(&calculator::run(&file).unwrap()), [""; 0]);
    }

    /// A number in `tolerances` is a quantity too, as it is in a manifest.
    #[test]
    fn own_tolerances_are_quantities() {
        let case = |tolerances: Value, value: i64| {
            json!({ "name": "own", "kind": "object", "current": 10, "expected": 10, "target_milli": 100_000,
                    "metric_values_milli": [value], "tolerances": tolerances })
        };
        let file = json!({ "cases": [
            case(json!({ "down": 0.7 }), 30_000),
            case(json!({ "down": "0.7" }), 30_000),
            case(json!({ "down": "700m" }), 30_000),
            case(json!({ "up": 0.57 }), 157_000),
            case(json!({ "up": 0.00001 }), 100_001),
        ] });
        assert_eq!(missed(&calculator::run(&file).unwrap()), [""; 0]);
        let wrong = calculator::run(&json!({ "cases": [case(json!({ "up": "ten" }), 1)] })).unwrap_err();
        assert_eq!(
            wrong[0].to_string(),
            "$.cases[0].tolerances.up: a quantity was expected, such as 0.7 or \"700m\""
        );
    }

    #[test]
    fn what_cannot_be_read_is_named_with_its_place() {
        let file = json!({ "cases": [
            { "name": "a", "kind": "cheddar", "current": 1, "expected": 1 },
            { "name": "b", "kind": "pods", "current": -1, "expected": 1 },
        ] });
        let problems: Vec<String> =
            calculator::run(&file).unwrap_err().iter().map(ToString::to_string).collect();
        assert!(problems[0].starts_with("$.cases[0].kind: this is no kind of metric"), "{problems:?}");
        assert!(problems[1].starts_with("$.cases[1].current: "), "{problems:?}");
        let file = json!({ "tests": { "scaling_with_rules": [], "cheddar": [] } });
        assert_eq!(
            behaviors::run(&file).unwrap_err()[0].to_string(),
            "$.tests.cheddar: `cheddar` is no section that is known"
        );
    }
}
