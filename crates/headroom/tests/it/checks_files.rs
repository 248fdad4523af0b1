//! `headroom config check` says what the command that takes the file says.

use crate::programs::{headroom, text};
use std::path::Path;
use std::process::Output;

fn run(directory: &Path, arguments: &[&str]) -> Output {
    headroom(arguments).current_dir(directory).output().unwrap()
}

/// Of a gateway; of a user with one request; of a fleet.
const GATEWAY: &str = "listen: 127.0.0.1:18080
pools: { shop: { instances: ['127.0.0.1:9'] } }
routes: [{ name: all, path_prefix: /, pool: shop }]
";
const SCENARIO: &str = "scenario: shop
base: http://127.0.0.1:9
load: { users: 2, duration: 1s }
flows: [{ name: buy, steps: [{ get: / }] }]
";
const CASE: &str = "case: shop
traffic: { rate: 10/s }
";

#[test]
fn what_a_command_refuses_is_refused_in_the_same_words() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("short.token"), "short\n").unwrap();
    let gateway: &[&str] = &["gateway"];
    let load = &["load", "--scenario"];
    let simulate = &["simulate"];
    let lint = &["lint"];
    let table: [(&[&str], String, &str); 16] = [
        (gateway, format!("{GATEWAY}rutes: []\n"), "did you mean `routes`?"),
        (gateway, GATEWAY.replace("pool: shop", "pool: shup"), "shup"),
        (gateway, GATEWAY.replace("listen: 127.0.0.1:18080", "listen: here"), "here"),
        (gateway, format!("{GATEWAY}rate_classes: {{ a: {{ rate: 0/s }} }}\n"), "rate"),
        (gateway, format!("{GATEWAY}admin: {{ listen: '127.0.0.1:18081', token_file: nofile }}\n"), "nofile"),
        (
            gateway,
            format!("{GATEWAY}admin: {{ listen: '127.0.0.1:18081', token_file: short.token }}\n"),
            "16 to 1024",
        ),
        (gateway, "listen: [\n".to_owned(), "unclosed bracket"),
        (load, format!("{SCENARIO}thresholds: {{ http_req_duratio: ['p(95)<1s'] }}\n"), "http_req_duratio"),
        (load, format!("{SCENARIO}thresholds: {{ http_req_duration: ['p(95)'] }}\n"), "p(95)"),
        (
            load,
            format!("{SCENARIO}thresholds: {{ 'http_req_duration{{stage:no}}': ['p(95)<1s'] }}\n"),
            "stage",
        ),
        (
            load,
            format!("{SCENARIO}thresholds: {{ 'http_req_duration{{endpoint:/no}}': ['p(95)<1s'] }}\n"),
            "/no",
        ),
        (load, SCENARIO.replace("users: 2", "users: 0"), "no load"),
        (load, SCENARIO.replace("get: /", "get: '${people.name}'"), "people"),
        (load, SCENARIO.replace("http://127.0.0.1:9", "http://a b"), "base"),
        (simulate, CASE.to_owned(), "services"),
        (lint, format!("{CASE}sevices: {{}}\n"), "did you mean `services`?"),
    ];
    for (command, file, part) in table {
        std::fs::write(folder.path().join("file.yaml"), &file).unwrap();
        let checked = run(folder.path(), &["config", "check", "file.yaml"]);
        let run = run(folder.path(), &[command, &["file.yaml"]].concat());
        let (checked_said, run_said) = (text(&checked.stderr), text(&run.stderr));
        assert_eq!(checked_said, run_said, "{file}");
        assert!(run_said.contains(part), "{part}: {run_said}");
        assert_eq!((checked.status.code(), run.status.code()), (Some(2), Some(2)), "{file}: {run_said}");
    }
}

#[test]
fn what_is_right_is_said_to_be_of_its_kind() {
    let folder = tempfile::tempdir().unwrap();
    let loadless = SCENARIO.replace("load: { users: 2, duration: 1s }\n", "");
    // Which stages there are is up to the flags.
    let staged = format!("{loadless}thresholds: {{ 'http_reqs{{stage:50/s}}': ['count>0'] }}\n");
    for (file, kind, next) in [
        (GATEWAY, "gateway file", "next: headroom gateway file.yaml"),
        (SCENARIO, "scenario file", "next: headroom load --scenario file.yaml"),
        (&loadless, "scenario file", "next: headroom load -c 10 --scenario file.yaml"),
        (&staged, "scenario file", "next: headroom load -c 10 --scenario file.yaml"),
    ] {
        std::fs::write(folder.path().join("file.yaml"), file).unwrap();
        let output = run(folder.path(), &["config", "check", "file.yaml"]);
        let said = text(&output.stdout);
        assert!(
            said.contains(&format!("file.yaml is a valid {kind}\n{next}\n")),
            "{said}{}",
            text(&output.stderr)
        );
    }
}

#[test]
fn keys_of_no_kind_and_of_two_are_named() {
    let folder = tempfile::tempdir().unwrap();
    for (file, parts) in [
        ("hello: 1\nworld: 2\n".to_owned(), ["`hello`, `world`", "gateway file"]),
        (format!("{GATEWAY}flows: []\n"), ["`listen` of a gateway file", "`flows` of a scenario file"]),
    ] {
        std::fs::write(folder.path().join("file.yaml"), &file).unwrap();
        let output = run(folder.path(), &["config", "check", "file.yaml"]);
        let said = text(&output.stderr);
        assert!(parts.iter().all(|part| said.contains(part)), "{said}");
        assert_eq!(output.status.code(), Some(2));
    }
}

#[test]
fn a_missing_file_is_wrong_usage_in_every_command() {
    let folder = tempfile::tempdir().unwrap();
    for arguments in [
        "config check nofile",
        "gateway nofile",
        "top --file nofile",
        "top --token-file nofile",
        "explain nofile",
        "explain --admin 127.0.0.1:9 --token-file nofile",
        "load --scenario nofile",
        "load --targets nofile -c 1",
        "load http://127.0.0.1:9 --data @nofile -c 1",
        "load http://127.0.0.1:9 --trace nofile",
        "replay nofile http://127.0.0.1:9",
        "find http://127.0.0.1:9 --traffic nofile",
        "simulate nofile",
        "lint nofile",
        "conformance nofile",
        "import traffic nofile",
        "import aws nofile",
        "import kubernetes nofile",
    ] {
        let output = run(folder.path(), &arguments.split(' ').collect::<Vec<_>>());
        let said = text(&output.stderr);
        assert!(said.contains("nofile"), "{arguments}: {said}");
        assert_eq!(output.status.code(), Some(2), "{arguments}: {said}");
    }
}
