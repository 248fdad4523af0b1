//! The examples of the documentation are gateway files.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

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
