//! `headroom plan`: from a case, from runs that the binary itself recorded, and from tables.

use crate::disturbance::again_if_disturbed;
use crate::programs::{Server, beside_one, beside_others, free_address, headroom, text};
use crate::schema::check;
use serde_json::Value;
use std::fs;

/// The result of a command that ends with 0 or 99, which keeps to the schema.
fn planned(arguments: &[&str]) -> (Value, i32) {
    let output = headroom(&[&["plan", "--json"], arguments].concat()).output().unwrap();
    let found: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)));
    let schema = serde_json::from_str(documents::plan::SCHEMA).unwrap();
    assert_eq!(check(&schema, &found), Vec::<String>::new());
    (found, output.status.code().unwrap())
}

#[test]
fn the_bottleneck_of_each_stage_of_the_stress_test_is_named() {
    let _slot = beside_one();
    let (pool, processors) = ("pool `ingress`", "processor limit of `health`");
    // Without a limit, 30 users do not saturate anything, and the ingress, which all replicas share, is next. With a
    // limit, it is the processors of the replica, unless there are too few users.
    for (stage, kind, name) in [
        ("one", "load", pool),
        ("two-on-node01", "load", pool),
        ("two-distributed", "load", pool),
        ("one-10m", "replica", processors),
        ("distributed-10m", "replica", processors),
        ("one-50m", "replica", processors),
        ("two-50m", "replica", processors),
        ("users-1", "load", processors),
        ("users-10", "load", processors),
        ("users-100", "replica", processors),
        ("users-1000", "replica", processors),
    ] {
        let (found, _) = planned(&["--case", "stresstest", "--stage", stage]);
        let bottleneck = &found["bottleneck"];
        assert_eq!(
            (bottleneck["kind"].as_str(), bottleneck["name"].as_str()),
            (Some(kind), Some(name)),
            "{stage}"
        );
        let gain = |what: &str| {
            let changes = found["changes"].as_array().unwrap().iter();
            let mut changes = changes.filter(|change| change["what"].as_str().unwrap().starts_with(what));
            changes.next().unwrap()["throughput_percent"]["value"].as_f64().unwrap()
        };
        match stage {
            // The account: a second replica brought nothing without a limit, and 1.7 times the throughput at 50 m.
            "one" => assert!(gain("replica").abs() < 2.0, "{found:#}"),
            "one-50m" => assert!((50.0..=95.0).contains(&gain("replica")), "{found:#}"),
            _ => (),
        }
    }
}

#[test]
fn a_load_beyond_a_shared_part_has_no_number_of_replicas() {
    let (found, code) = planned(&["--case", "stresstest", "--stage", "one-50m", "--rate", "5000/s"]);
    assert_eq!((code, found["answer"]["replicas"].as_u64()), (99, None));
    assert!(found["answer"]["why"].as_str().unwrap().contains("pool `ingress`"), "{found:#}");
    let (found, code) = planned(&[
        "--case",
        "stresstest",
        "--stage",
        "one-50m",
        "-r",
        "1000/s",
        "--growth",
        "20%",
        "--slo",
        "p(95)<90ms",
    ]);
    assert_eq!((code, found["load"]["per_second"].as_f64()), (0, Some(1200.0)));
    assert!(found["answer"]["replicas"].as_u64() > Some(1), "{found:#}");
}

#[test]
fn a_suspect_model_promises_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let case =
        fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../cases/stresstest.yaml")).unwrap();
    let calibration = "calibration: { verdict: suspect, reasons: [p95_ms is 40 % off], unknown: [cpu] }\n";
    fs::write(folder.path().join("case.yaml"), format!("{calibration}{case}")).unwrap();
    let file = folder.path().join("case.yaml");
    let arguments = [file.to_str().unwrap(), "--stage", "one-50m", "--slo", "p(95)<30ms"];
    let (found, code) = planned(&arguments);
    let answer = &found["answer"];
    assert_eq!(code, 99, "{found:#}");
    assert!(["replicas", "low", "high", "trusted"].iter().all(|key| answer[key].is_null()), "{answer:#}");
    assert!(answer["why"].as_str().unwrap().starts_with("The model is suspect"), "{answer:#}");
    let output = headroom(&[&["plan"], &arguments[..]].concat()).output().unwrap();
    let said = text(&output.stdout);
    let words = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("replicas not determined The model is suspect"), "{said}");
    assert!(words.contains("p95_ms is 40 % off") && words.contains("left unknown: cpu"), "{said}");
    assert!(said.ends_with("next: headroom calibrate --help\n"), "{said}");
}

#[test]
fn runs_at_several_concurrencies_give_copies_of_the_target() {
    let _slot = beside_others();
    again_if_disturbed(|| {
        let folder = tempfile::tempdir().unwrap();
        let ledger = folder.path().join("ledger.sqlite").display().to_string();
        let address = free_address();
        let listen = address.to_string();
        // Two threads that each hold a request for 20 ms: 100/s at most.
        let command = headroom(&["sample-service", "--listen", &listen, "--threads", "2", "--wait", "20ms"]);
        let _server = Server::start(command, address);
        let url = format!("http://{address}/");
        for users in ["1", "2", "8"] {
            let output =
                headroom(&["load", &url, "-c", users, "-d", "3s", "--ledger", &ledger]).output().unwrap();
            assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        }
        let plan = ["r1", "r2", "r3", "--ledger", &ledger];
        let with_goal = |goal: &str| planned(&[&plan[..], &["--rate", "450/s", "--slo", goal]].concat());
        // One copy carries nearly 100/s, less on a busy machine; at 8 users, the median is 80 ms.
        let (found, code) = with_goal("p(50)<60ms");
        let copy = found["methods"][0]["per_second"]["value"].as_f64().unwrap();
        assert!((50.0..=100.0).contains(&copy), "{found:#}");
        let needed = (450.0 / copy).ceil() as u64;
        assert_eq!((code, found["answer"]["replicas"].as_u64()), (0, Some(needed)), "{found:#}");
        let notes = with_goal("p(95)<10s").0["notes"].to_string();
        assert!(notes.contains("fewer than 30 samples"), "{notes}");
        assert_eq!(found["bottleneck"]["kind"], "unknown");
        let other = format!("{url}other");
        for how in [
            &[&url[..], "-n", "5"][..],
            &[&url, "--stage", "1s:30/s", "--stage", "1s:60/s"],
            &[&other, "-n", "50"],
        ] {
            let output = headroom(&[&["load"], how, &["--ledger", &ledger]].concat()).output().unwrap();
            assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        }
        let refused = |arguments: &[&str]| {
            let output = headroom(&[&["plan"], arguments, &["--ledger", &ledger]].concat()).output().unwrap();
            (output.status.code().unwrap(), text(&output.stderr).to_owned())
        };
        for (arguments, code, part) in [
            (&["r1", "r2", "--rate", "1/s"][..], 2, "at least 3"),
            (&["r1", "r2", "r2", "--rate", "1/s"], 2, "named twice"),
            (&["r1", "r2", "r3"], 2, "no load to plan for"),
            (&["r1", "r2", "r9", "--rate", "1/s"], 1, "r9"),
            (&["r1", "r2", "r3", "--replicas", "1,2", "--rate", "1/s"], 2, "2 numbers for 3 runs"),
            (&["r1", "case.yaml", "--rate", "1/s"], 2, "give one case file, or runs only"),
            (&["r1", "r2", "r4", "--rate", "1/s"], 2, "run r4 is too short: 5 responses"),
            (&["r1", "r2", "r5", "--rate", "1/s"], 2, "run r5 has no constant load"),
            (&["r1", "r2", "r6", "--rate", "1/s"], 2, "name runs of one target"),
        ] {
            let (found, said) = refused(arguments);
            assert!(found == code && said.contains(part), "{arguments:?}: {found} {said}");
        }
    });
}

#[test]
fn a_table_gives_a_plan_in_words() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("points.csv");
    fs::write(&file, "replicas,throughput\n1,100\n2,190\n3,270\n4,340\n6,450\n8,520\n").unwrap();
    let output =
        headroom(&["plan", "--table", "points.csv", "--rate", "400/s"]).current_dir(folder.path()).output();
    let output = output.unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    insta::assert_snapshot!(text(&output.stdout));
    for (arguments, part) in [
        (&["--table", "points.csv"][..], "no load to plan for"),
        (&["--table", "points.csv", "-r", "1/s", "--slo", "p(95)<1s"], "no response times"),
        (&["--table", "none.csv", "-r", "1/s"], "none.csv"),
        (&["--table", "points.csv", "-r", "1/s", "--service", "x"], "--service is for case files only"),
        (&[], "name a case file, runs such as r3 r4 r5, or --table"),
        (&["--case", "stresstest", "--service", "x"], "use --service with one of: health"),
        (&["--case", "stresstest", "-r", "0/s"], "above 0"),
        (&["--case", "stresstest", "--slo", "failed<1%"], "bound above 0 on response times"),
        (&["--case", "stresstest", "--growth", "lots"], "percentage"),
    ] {
        let output = headroom(&[&["plan"], arguments].concat()).current_dir(folder.path()).output().unwrap();
        let said = text(&output.stderr);
        assert!(output.status.code() == Some(2) && said.contains(part), "{arguments:?}: {said}");
    }
}
