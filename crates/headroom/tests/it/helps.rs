//! Help texts at 80 columns. Each is a snapshot, so that every change of one is reviewed.

use super::programs::headroom;

/// Every command, by the words that it is called with.
const COMMANDS: [&[&str]; 45] = [
    &[],
    &["load"],
    &["find"],
    &["doctor"],
    &["agent"],
    &["replay"],
    &["compare"],
    &["experiment"],
    &["squeeze"],
    &["fidelity"],
    &["gateway"],
    &["top"],
    &["explain"],
    &["simulate"],
    &["calibrate"],
    &["plan"],
    &["forecast"],
    &["tune"],
    &["lint"],
    &["scale"],
    &["import"],
    &["import", "aws"],
    &["import", "kubernetes"],
    &["import", "terraform"],
    &["import", "traffic"],
    &["conformance"],
    &["runs"],
    &["show"],
    &["log"],
    &["bisect"],
    &["note"],
    &["ledger"],
    &["ledger", "check"],
    &["ledger", "delete"],
    &["ledger", "prune"],
    &["ledger", "export"],
    &["ledger", "import"],
    &["demo"],
    &["demo", "fleet"],
    &["sample-service"],
    &["config"],
    &["config", "check"],
    &["config", "schema"],
    &["completions"],
    &["man"],
];

fn help(command: &[&str], flag: &str) -> String {
    let args: Vec<&str> = command.iter().copied().chain([flag]).collect();
    let output = headroom(&args).env("COLUMNS", "80").output().unwrap();
    assert!(output.status.success(), "{args:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn every_help_is_as_it_was_last_read() {
    for command in COMMANDS {
        let name = if command.is_empty() { "headroom".to_owned() } else { command.join("-") };
        insta::assert_snapshot!(format!("{name}_short"), help(command, "-h"));
        insta::assert_snapshot!(name, help(command, "--help"));
    }
}

#[test]
fn short_helps_fit_a_screen_and_begin_with_an_example() {
    for command in ["load", "find", "replay", "gateway", "simulate", "plan", "tune", "compare", "experiment"]
    {
        let text = help(&[command], "-h");
        assert!(text.starts_with("Example:\n"), "{text}");
        assert!(text.lines().count() <= SCREEN, "{command}: {} lines\n{text}", text.lines().count());
    }
}

/// Lines of a usual window of a terminal.
const SCREEN: usize = 50;

#[test]
fn examples_can_be_copied() {
    for command in COMMANDS {
        let text = help(command, "--help");
        let Some((_, examples)) = text.split_once("Examples:\n") else { continue };
        let mut goes_on = false;
        for line in examples.lines().take_while(|line| !line.is_empty()) {
            let of_others =
                ["curl ", "ssh ", "terraform "].iter().any(|name| line.trim_start().starts_with(name));
            let is_command = line.contains("headroom ") || of_others || goes_on;
            assert!(is_command || line.ends_with([':', '?']), "{command:?} is broken in this line: {line}");
            goes_on = is_command && line.ends_with(['\\', '|']);
        }
    }
}
