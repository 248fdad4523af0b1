use crate::disturbance::again_if_disturbed;
use crate::programs::{Server, beside_one, beside_others, free_address, headroom, text};
use crate::schema::check;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Output, Stdio};

/// Two threads that each hold a request for 20 ms.
fn waiting_service() -> (Server, String) {
    let address = free_address();
    let listen = address.to_string();
    let command = headroom(&["sample-service", "--listen", &listen, "--threads", "2", "--wait", "20ms"]);
    (Server::start(command, address), format!("http://{address}/page"))
}

fn calibrate(url: &str, folder: &Path, more: &[&str]) -> Output {
    let file = folder.join("case.yaml");
    let arguments = ["calibrate", url, "--length", "4s", "-o", file.to_str().unwrap()];
    headroom(&[&arguments[..], more].concat()).output().unwrap()
}

#[test]
fn a_service_of_two_threads_becomes_a_model_that_predicts_it() {
    let _slot = beside_others();
    again_if_disturbed(|| {
        let (server, url) = waiting_service();
        let folder = tempfile::tempdir().unwrap();
        let pid = server.id().to_string();
        let service = ["--pid", &pid, "--processes", "1", "--threads", "2", "--lock", "none"];
        let output = calibrate(&url, folder.path(), &[&service[..], &["--json", "--name", "page"]].concat());
        let story = text(&output.stderr);
        let found: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{story}"));
        let schema = serde_json::from_str(documents::calibrate::SCHEMA).unwrap();
        assert_eq!(check(&schema, &found), Vec::<String>::new());
        // In trials of eight seconds, p95 may be far from that of the model by chance; the load generator may be late because of
        // the tests beside this one.
        let reasons = found["reasons"].as_array().unwrap();
        let expected = |reason: &str| {
            reason.starts_with("p95") || reason.ends_with("because this machine was busy with others")
        };
        assert!(reasons.iter().all(|reason| expected(reason.as_str().unwrap())), "{found:#}\n{story}");
        let verdict = if reasons.is_empty() { ("valid", 0) } else { ("suspect", 99) };
        assert_eq!((found["verdict"].as_str().unwrap(), output.status.code().unwrap()), verdict, "{found:#}");
        let figure = |name: &str| {
            let figures = found["figures"].as_array().unwrap();
            figures.iter().find(|figure| figure["name"] == name).unwrap()["value"].as_f64()
        };
        // Two threads of 20 ms and a little more carry somewhat less than 100 a second.
        let best = figure("best throughput").unwrap();
        assert!((88.0..=100.0).contains(&best), "{best}\n{found:#}");
        assert!(found["limited_by"].as_str().unwrap().starts_with("threads"), "{found:#}");
        assert_eq!(found["findings"][0]["code"], "workers", "{found:#}");
        for compared in found["backtest"].as_array().unwrap() {
            if compared["what"] == "throughput" {
                let off = compared["predicted"].as_f64().unwrap() / compared["measured"].as_f64().unwrap();
                assert!((off - 1.0).abs() < 0.1, "{compared}");
            }
        }
        // Five figures of three rates, throughput and processor use at the limit.
        assert_eq!(found["backtest"].as_array().unwrap().len(), 17, "{found:#}");
    });
}

#[test]
fn what_cannot_be_calibrated_is_refused() {
    let (server, url) = waiting_service();
    let folder = tempfile::tempdir().unwrap();
    for (more, said) in [
        (&["--pid", "4194305"][..], "no process has the id 4194305"),
        (&["--cgroup", "/proc"], "/proc is no control group"),
        (&["--cores", "0"], "--cores 0 is not a number of cores"),
        (&["--lock", "sometimes"], "none, held, or a time above 0"),
        (&["--name", "my shop"], "letters, digits"),
    ] {
        let output = calibrate(&url, folder.path(), more);
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{more:?}: {error}");
        assert!(error.contains(said), "{more:?}: {error}");
        assert!(!folder.path().join("case.yaml").exists(), "{more:?}");
    }
    let file = folder.path().join("case.yaml");
    let output =
        headroom(&["calibrate", &url, "--length", "1s", "-o", file.to_str().unwrap()]).output().unwrap();
    assert!(text(&output.stderr).contains("use at least 3s"), "{}", text(&output.stderr));
    drop(server);
    let output = calibrate(&url, folder.path(), &[]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    assert!(!folder.path().join("case.yaml").exists());
}

#[test]
fn a_service_that_sheds_is_not_calibrated() {
    let _slot = beside_one();
    let service = crate::service::refusing_above(50.0, 503);
    let folder = tempfile::tempdir().unwrap();
    let output = calibrate(&format!("http://{service}/"), folder.path(), &[]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stdout));
    assert!(text(&output.stderr).contains("so they had no good response"), "{}", text(&output.stderr));
    assert!(!folder.path().join("case.yaml").exists());
}

/// What was measured is kept, and the reason is named.
#[test]
fn a_service_that_ends_during_the_trials_leaves_a_suspect_model() {
    let _slot = beside_others();
    let (server, url) = waiting_service();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("case.yaml");
    let pid = server.id().to_string();
    let service = ["--pid", &pid, "--processes", "1", "--threads", "2", "--lock", "none"];
    let arguments = ["calibrate", &url, "--length", "4s", "--json", "-o", file.to_str().unwrap()];
    let mut command = headroom(&[&arguments[..], &service].concat());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut story = BufReader::new(child.stderr.take().unwrap()).lines();
    // The result of the first trial and the announcement of the second are one line each.
    let trials = story.by_ref().map(Result::unwrap).find(|line| line.starts_with("trial"));
    assert!(trials.is_some());
    drop(server);
    let rest: Vec<String> = story.map(Result::unwrap).collect();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(99), "{rest:?}");
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found["verdict"], "suspect");
    let reasons = found["reasons"].to_string();
    assert!(reasons.contains("not measured to the end"), "{found:#}");
    assert!(rest.iter().any(|line| line.contains("what was measured until then is used")), "{rest:?}");
    assert!(!found["levels"].as_array().unwrap().is_empty() && file.exists(), "{found:#}");
}

/// The built-in service as a command of the shell, with a child that stays.
fn command(address: &str, before: &str) -> String {
    let headroom = env!("CARGO_BIN_EXE_headroom");
    format!("sleep 600 & {before} exec {headroom} sample-service --listen {address} --threads 2 --wait 20ms")
}

fn of_command(address: &str, command: &str, folder: &Path, more: &[&str]) -> Output {
    let url = format!("http://{address}/page");
    calibrate(&url, folder, &[&["--command", command, "--processes", "1", "--threads", "2"], more].concat())
}

#[test]
fn a_command_is_started_measured_and_stopped() {
    let _slot = beside_others();
    let address = free_address().to_string();
    let folder = tempfile::tempdir().unwrap();
    let output = of_command(&address, &command(&address, "sleep 0.5;"), folder.path(), &["--json"]);
    let story = text(&output.stderr);
    let found: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{story}"));
    let figures = found["figures"].as_array().unwrap();
    let start = figures.iter().find(|figure| figure["name"] == "start-up time").unwrap();
    // Unknown where starts vary too much, on a busy machine.
    assert!(start["value"].is_null() || start["value"].as_f64().unwrap() >= 500.0, "{start:#}");
    let case = std::fs::read_to_string(folder.path().join("case.yaml")).unwrap();
    assert!(case.contains("    start: { boot: ") && case.contains("memory_per_process: "), "{case}");
    assert!(std::net::TcpStream::connect(&address).is_err(), "the service still runs");
    is_a_case_for_every_command(&folder.path().join("case.yaml"), found["verdict"] == "valid");
}

/// The file goes through the commands that read cases, and each names a next command.
fn is_a_case_for_every_command(file: &Path, valid: bool) {
    let file = file.to_str().unwrap();
    // A suspect model promises no number of replicas.
    let planned = if valid { 0 } else { 99 };
    for (command, code) in [
        (&["config", "check", file][..], 0),
        (&["lint", file], 0),
        (&["simulate", file], 0),
        (&["plan", file, "--rate", "150/s", "--slo", "p(95)<300ms"], planned),
    ] {
        let output = headroom(command).output().unwrap();
        let (told, story) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(code), "{command:?}: {told}{story}");
        let end = if command[0] == "simulate" { story } else { told };
        assert!(end.lines().any(|line| line.starts_with("next: headroom ")), "{command:?}: {told}{story}");
        // Two threads of 20 ms carry 100/s at most.
        if command[0] == "plan" && valid {
            let replicas =
                |from: &str| told.lines().any(|line| line.starts_with("replicas") && line.contains(from));
            assert!(replicas(" 2") || replicas(" 3"), "{told}");
        }
    }
}

#[test]
fn commands_that_never_get_ready_are_named_with_what_they_printed() {
    let _slot = beside_others();
    let address = free_address().to_string();
    let folder = tempfile::tempdir().unwrap();
    let ends = of_command(&address, "echo no database >&2; exit 7", folder.path(), &[]);
    let told = text(&ends.stderr);
    assert_eq!(ends.status.code(), Some(1), "{told}");
    assert!(told.contains("ended with exit status: 7") && told.contains("\n  no database"), "{told}");
    let hangs = of_command(&address, "echo waiting; sleep 600", folder.path(), &["--ready-within", "1s"]);
    let told = text(&hangs.stderr);
    assert!(told.contains("no good response within 1") && told.contains("\n  waiting"), "{told}");
    let (server, url) = waiting_service();
    let there = calibrate(&url, folder.path(), &["--command", "sleep 600"]);
    drop(server);
    assert!(text(&there.stderr).contains("responds before the command"), "{}", text(&there.stderr));
    assert!(!folder.path().join("case.yaml").exists());
}
