use super::*;

fn shipped(name: &str) -> Value {
    let path = format!("{}/../headroom/tests/conformance/{name}", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).expect("it is shipped")).expect("JSON")
}

fn results(file: &Value) -> Vec<CaseResult> {
    let format = FORMATS.iter().find(|format| (format.fits)(file)).expect("a known format");
    (format.run)(file).expect("cases that can be read")
}

#[test]
fn every_shipped_case_matches() {
    for (name, cases) in [
        ("cloudwatch_missing_data.json", 21),
        ("cloudwatch_missing_data_whole.json", 42),
        ("aws_scaling_examples.json", 28),
    ] {
        let results = results(&shipped(name));
        assert_eq!(results.len(), cases, "{name}");
        for case in results {
            assert_eq!(case.found, case.expected, "{name}: {}", case.name);
        }
    }
}

/// Other cases of the same formats: the rest of the tables, and features of other files.
#[test]
fn other_files_of_the_same_formats_are_read_too() {
    let cells = serde_json::json!({ "cases": [
        // By default the range is that of the row, and all datapoints have to breach.
        { "evaluation_periods": 3, "points": ["-", "-", "X", "-", "-"],
          "expected": { "missing": "ALARM", "ignore": "RETAIN", "breaching": "ALARM", "notBreaching": "OK" } },
        { "evaluation_periods": 3, "datapoints_to_alarm": 2, "points": ["-", "-", "-", "X", "-"],
          "expected": { "missing": "ALARM", "ignore": "RETAIN", "breaching": "ALARM", "notBreaching": "OK" } },
        { "evaluation_periods": 1, "points": ["X"], "expected": { "missing": "ALARM" } },
        { "evaluation_periods": 2, "points": [], "expected": { "missing": "INSUFFICIENT_DATA" } },
        { "evaluation_periods": 3, "points": ["-", "-", "-", "X", "-"], "current_state": "ALARM",
          "expected": { "missing": "ALARM", "ignore": "RETAIN" } },
        // Two are fetched, of more in the row: the older ones do not count.
        { "evaluation_periods": 2, "evaluation_range": 2, "points": ["X", "X", "-", "0"],
          "expected": { "breaching": "OK", "notBreaching": "OK" } },
    ]});
    let examples = serde_json::json!({
        "step_selection": [
            { "threshold": 60, "adjustment": "ChangeInCapacity", "scale_out": [{ "lo": 0, "hi": null, "adj": 2 }],
              "walk": [{ "metric": 60, "capacity": 3, "new": 5 }, { "metric": 59, "capacity": 3, "new": 3 },
                       { "metric": 61, "capacity": 3, "new": 4, "max": 4 }] },
            { "threshold": 60, "adjustment": "ExactCapacity", "scale_in": [{ "hi": 0, "adj": 1 }],
              "walk": [{ "metric": 20, "capacity": 9, "new": 1 }] },
        ],
        "clamp": [{ "min": 1, "max": 9, "current": 4, "percent": -50, "new": 2 },
                  { "min": 1, "max": 9, "current": 4, "exact": 12, "new": 9 }],
        "cooldown": [{ "prev_scale_out": 2, "cooldown_running": false, "new_step": 3, "added_now": 3 },
                     { "prev_scale_out": 3, "cooldown_running": true, "new_step": 2, "added_now": 0 },
                     { "prev_scale_out": 2, "cooldown_running": true, "new_step": -1, "added_now": -1 }],
        "multi_policy": [{ "current": 5, "policies": [{ "exact": 9 }, { "change": 1 }, { "change": -2 }], "new": 9 },
                         { "current": 10, "policies": [{ "percent": 200 }], "max": 12, "new": 12 }],
        "target_tracking_alarms": [
            { "service": "dynamodb", "target": 70, "high": { "periods": 2 }, "low_threshold": 50 },
            { "service": "ecs-capacity-provider", "target": 100.0, "high": { "periods": 1, "datapoints": 1 },
              "low": { "periods": 15 }, "source": "somebody" },
        ],
    });
    for (file, cases) in [(cells, 14), (examples, 13)] {
        let results = results(&file);
        assert_eq!(results.len(), cases);
        for case in results {
            assert_eq!(case.found, case.expected, "{}", case.name);
        }
    }
}

/// The number next to 9.8 is different: read as 9.8 it would breach.
#[test]
fn numbers_are_read_exactly() {
    let text = r#"{ "step_selection": [
        { "threshold": 9.8, "adjustment": "ChangeInCapacity", "scale_out": [{ "lo": 0, "adj": 2 }],
          "walk": [{ "metric": 9.799999999999999, "capacity": 3, "new": 3 }, { "metric": 9.8, "capacity": 3, "new": 5 }] }
    ] }"#;
    let found = results(&serde_json::from_str(text).expect("JSON"));
    let shown: Vec<String> = found.iter().map(|case| format!("{}: {}", case.name, case.found)).collect();
    assert_eq!(
        shown,
        ["9.799999999999999 for a threshold of 9.8, at 3: 3", "9.8 for a threshold of 9.8, at 3: 5"]
    );
}

#[test]
fn a_state_that_depends_on_the_one_before_does_not_pass_for_one_that_does_not() {
    let row = serde_json::json!({ "cases": [
        { "evaluation_periods": 3, "points": ["-", "-", "-", "-", "-"], "expected": { "ignore": "OK" } },
    ]});
    let found = &results(&row)[0];
    assert!(!found.matches());
    assert_eq!(found.found, "OK after OK, INSUFFICIENT_DATA after INSUFFICIENT_DATA, ALARM after ALARM");
}
