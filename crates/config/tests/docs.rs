//! The examples of the documentation are gateway files and case files.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use config::case::Given;
use std::path::Path;

#[test]
fn every_whole_example_is_accepted() {
    let text = include_str!("../../../docs/gateway.md");
    let examples: Vec<&str> = text
        .split("```yaml\n")
        .skip(1)
        .map(|rest| rest.split_once("```").unwrap().0)
        .filter(|example| example.starts_with("listen:"))
        .collect();
    assert!(examples.len() >= 2, "{examples:?}");
    for example in examples {
        let found = config::parse("gateway.yaml", example, Path::new("../../examples"));
        let (_, warnings) = found.unwrap_or_else(|problems| panic!("{problems}\n{example}"));
        assert!(warnings.is_empty(), "{warnings:?}\n{example}");
    }
}

/// Parts are inserted into a small case: next to its keys, or next to those of its service.
#[test]
fn every_case_and_part_of_one_in_the_guide_is_accepted() {
    let text = include_str!("../../../docs/simulate.md");
    let blocks = text.split("```yaml\n").skip(1).map(|rest| rest.split_once("```").unwrap().0);
    let (whole, parts): (Vec<&str>, Vec<&str>) = blocks.partition(|block| block.starts_with("case:"));
    assert!(!whole.is_empty() && !parts.is_empty());
    let cases = whole.into_iter().map(str::to_owned).chain(parts.into_iter().map(completed));
    for case in cases {
        let found = config::case::parse("case.yaml", &case, Path::new("../../docs"), Given::default());
        found.unwrap_or_else(|problems| panic!("{}\n{case}", problems.plain()));
    }
}

fn completed(part: &str) -> String {
    let says = |key: &str| part.lines().any(|line| line.starts_with(&format!("{key}:")));
    let missing = |keys: &[(&str, &str)], indent: &str| -> String {
        let missing = keys.iter().filter(|(key, _)| !says(key));
        missing.map(|(key, value)| format!("{indent}{key}: {value}\n")).collect()
    };
    let top = missing(&[("case", "part"), ("begins", "2026-11-23"), ("traffic", "{ rate: 10/s }")], "");
    let usual =
        [("endpoints", "{ page: { cpu: 10ms } }"), ("server", "{}"), ("hosts", "{ machine: { cores: 1 } }")];
    let service = missing(&usual, "    ");
    let of_a_service =
        ["balancing", "zones", "start", "scaling", "deployments", "failures", "endpoints", "server", "hosts"];
    if of_a_service.into_iter().any(says) {
        let part: String = part.lines().map(|line| format!("    {line}\n")).collect();
        return format!("{top}services:\n  web:\n{service}{part}");
    }
    let services = if says("services") { String::new() } else { format!("services:\n  web:\n{service}") };
    format!("{top}{services}{part}")
}
