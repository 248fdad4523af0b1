use crate::disturbance::again_if_disturbed;
use crate::peers::peer;
use crate::programs::{Server, beside_others, free_address, headroom, refused, text};
use crate::schema::check;
use serde_json::Value;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Output;

/// A control that waits for 5 ms in each request, and candidates with a name and other words of the command.
fn file(candidates: &[(&str, &str)], more: &str) -> String {
    let headroom = env!("CARGO_BIN_EXE_headroom");
    let service = |words: &str| format!("{headroom} sample-service --listen 127.0.0.1:{{port}} {words}");
    let mut text = format!(
        "experiment: wait\nvariable: wait\nload: {{ paths: [/a, /b], rate: 100/s }}\ncontrol: {{ value: 5ms, command: '{}' }}\n\
         candidates:\n",
        service("--wait 5ms")
    );
    for (value, words) in candidates {
        text += &format!("- {{ value: {value}, command: '{}' }}\n", service(words));
    }
    text + "shared: nothing\ntime: 25s\nblock: 400ms\nmax_lag: 200ms\nwarm_up: 1s\nharm: 100%\neffect: 10%\nmargin: 5%\n"
        + more
}

/// Runs an experiment: again where it ended because most blocks were void, as they are where the hypervisor takes the processor.
fn experiment(folder: &Path, file: &str, more: &[&str]) -> Output {
    let path = folder.join("experiment.yaml");
    std::fs::write(&path, file).unwrap();
    let run = || headroom(&[&["experiment", path.to_str().unwrap()], more].concat()).output().unwrap();
    let mut output = run();
    for _ in 1..ATTEMPTS {
        let said = format!("{}{}", text(&output.stdout), text(&output.stderr));
        if !(said.contains("blocks were void") || said.contains("too few of their blocks count")) {
            break;
        }
        eprintln!("repeated: {said}");
        output = run();
    }
    output
}

const ATTEMPTS: u32 = 4;

/// The document of an experiment that compared something, and what was said meanwhile.
fn document(output: &Output) -> (Value, String) {
    let story = text(&output.stderr).to_owned();
    let found: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{story}"));
    let schema = serde_json::from_str(documents::experiment::SCHEMA).unwrap();
    assert_eq!(check(&schema, &found), Vec::<String>::new());
    (found, story)
}

fn primary(found: &Value) -> &str {
    let verdicts = found["verdicts"].as_array().unwrap();
    verdicts.iter().find(|verdict| verdict["primary"] == true).unwrap()["verdict"].as_str().unwrap()
}

#[test]
fn a_slower_candidate_is_worse_and_refutes_the_finding_it_was_made_for() {
    let _slot = beside_others();
    again_if_disturbed(|| {
        let folder = tempfile::tempdir().unwrap();
        let ledger = folder.path().join("ledger.sqlite");
        let ledger = ["--ledger", ledger.to_str().unwrap()];
        let flags = [&["--json"], &ledger[..]].concat();
        let more = "ends: decided\nhypothesis: { finding: workers, run: r1 }\n";
        let file = file(&[("8ms", "--wait 8ms")], more);
        // The run of the finding is looked for before anything is started.
        let without = experiment(folder.path(), &file, &flags);
        assert_eq!(without.status.code(), Some(2), "{}", text(&without.stdout));
        assert!(text(&without.stderr).contains("the ledger has no run r1"), "{}", text(&without.stderr));
        // Port 1 refuses: the run is recorded all the same.
        headroom(&[&["load", "http://127.0.0.1:1/", "-n", "1"], &ledger[..]].concat()).output().unwrap();
        let output = experiment(folder.path(), &file, &flags);
        let (found, story) = document(&output);
        assert_eq!(output.status.code(), Some(0), "{story}");
        assert_eq!(primary(&found), "worse", "{found:#}\n{story}");
        let first = &found["verdicts"][0];
        let (low, high) = (first["low"].as_f64().unwrap(), first["high"].as_f64().unwrap());
        assert!(low < high && (0.2..0.9).contains(&first["effect"].as_f64().unwrap()), "{first:#}");
        assert_eq!((found["design"].as_str(), first["candidate"].as_str()), (Some("duet"), Some("8ms")));
        assert!(found["seconds"].as_f64().unwrap() < 26.0, "{found:#}");
        // Both routes have verdicts of their own, and both services have processor time and memory.
        for (route, measure) in
            [("/b", "p50"), ("/a", "errors"), ("all", "processor_time"), ("all", "memory")]
        {
            let is = |verdict: &Value| verdict["route"] == route && verdict["measure"] == measure;
            assert!(found["verdicts"].as_array().unwrap().iter().any(is), "{route} {measure}: {found:#}");
        }
        // The sheet of all tests has what was changed and what it brought.
        let log = headroom(&[&["log", "--format", "csv"], &ledger[..]].concat()).output().unwrap();
        let log = text(&log.stdout);
        assert!(log.contains("wait: 5ms -> 8ms") && log.contains(",worse,"), "{log}");
        // The finding is refuted, which both runs have.
        assert_eq!(found["hypothesis"]["outcome"], "refuted", "{found:#}");
        assert!(log.contains("workers of r1: refuted") && log.contains("workers: refuted by r2"), "{log}");
    });
}

#[test]
fn an_equal_candidate_is_neither_better_nor_worse() {
    let _slot = beside_others();
    again_if_disturbed(|| {
        let folder = tempfile::tempdir().unwrap();
        let output = experiment(folder.path(), &file(&[("again", "--wait 5ms")], ""), &[]);
        let said = format!("{}{}", text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(0), "{said}");
        let first = text(&output.stdout).lines().next().unwrap();
        assert!(first.contains("SAME") || first.contains("CANNOT TELL"), "{said}");
        assert!(said.contains("promised") && said.contains("noise"), "{said}");
        assert!(said.contains("answers    ") && !said.contains("DIFFERENT"), "{said}");
    });
}

#[test]
fn a_candidate_that_does_not_start_or_answers_differently_is_named() {
    let _slot = beside_others();
    let folder = tempfile::tempdir().unwrap();
    let candidates = [("broken", "--wait nonsense"), ("large", "--wait 5ms --body 2KiB")];
    let (found, story) = document(&experiment(folder.path(), &file(&candidates, ""), &["--json"]));
    let broken = &found["candidates"][0];
    assert_eq!((broken["value"].as_str(), broken["state"].as_str()), (Some("broken"), Some("left_out")));
    assert!(broken["reason"].as_str().unwrap().contains("ended with exit status: 2"), "{found:#}\n{story}");
    assert!(found["verdicts"].as_array().unwrap().iter().all(|verdict| verdict["candidate"] == "large"));
    let is_size = |one: &&Value| one["candidate"] == "large" && one["what"] == "size" && one["route"] == "/a";
    let size = found["answers"]["differences"].as_array().unwrap().iter().find(is_size);
    // On a busy machine too few answers may be compared; then the mean size is noted.
    let noted = found["notes"].to_string().contains("large answers differently");
    assert!(size.is_some() || noted, "{found:#}\n{story}");
    if let Some(size) = size {
        assert_eq!(size["count"], size["of"], "{size:#}");
        assert_eq!(size["examples"][0]["candidate"], "2048 bytes", "{size:#}");
    }
    // Alone, there is nothing to compare.
    let output = experiment(folder.path(), &file(&candidates[..1], ""), &["--json"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let (found, _) = document(&output);
    assert_eq!(found["verdicts"].as_array().unwrap().len(), 0);
}

#[test]
fn a_candidate_that_dies_is_stopped_with_its_reason() {
    let _slot = beside_others();
    let folder = tempfile::tempdir().unwrap();
    let mut text = file(&[("dies", "--wait 5ms")], "ends: time\n");
    let service = format!("{} sample-service", env!("CARGO_BIN_EXE_headroom"));
    let place = text.rfind(&service).unwrap();
    text.insert_str(place, "timeout 12 ");
    let (found, story) = document(&experiment(folder.path(), &text, &["--json"]));
    assert_eq!(found["candidates"][0]["state"], "ended", "{found:#}\n{story}");
    assert!(found["notes"].to_string().contains("its command ended with"), "{found:#}\n{story}");
}

#[test]
fn what_could_not_be_attributed_or_would_change_data_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let two = file(&[("both", "--wait 8ms --body 2KiB")], "");
    let said = refused(&experiment(folder.path(), &two, &[])).to_owned();
    assert!(said.contains("differs from the control in 2 places"), "{said}");
    std::fs::write(folder.path().join("list"), "GET http://127.0.0.1/a\n\nPOST http://127.0.0.1/b\n")
        .unwrap();
    let writes = file(&[("8ms", "--wait 8ms")], "").replace("paths: [/a, /b]", "requests: list");
    let said = refused(&experiment(folder.path(), &writes, &[])).to_owned();
    assert!(
        said.contains("POST") && said.contains("own_store: true") && said.contains("reads_only"),
        "{said}"
    );
    let checked = headroom(&["config", "check", folder.path().join("experiment.yaml").to_str().unwrap()]);
    assert_eq!(refused(&{ checked }.output().unwrap()), said);
    // The control would write again what it has written for its users.
    let writes = writes.replace("8ms' }", "8ms', own_store: true }");
    let said = refused(&experiment(folder.path(), &writes, &[])).to_owned();
    assert!(said.contains("POST") && said.contains("the control `5ms`"), "{said}");
}

#[test]
fn processes_of_two_commits_may_not_differ_in_anything_else() {
    let _slot = beside_others();
    let folder = tempfile::tempdir().unwrap();
    let service = |checkout: &str, commit: &str, words: &[&str], variable: &str| {
        let directory = folder.path().join(checkout);
        std::fs::create_dir_all(directory.join(".git")).unwrap();
        std::fs::write(directory.join(".git/HEAD"), commit.repeat(40)).unwrap();
        let address = free_address();
        let mut command = headroom(&["sample-service", "--listen", &address.to_string()]);
        command.args(words).current_dir(directory).env("CACHE", variable);
        let server = Server::start(command, address);
        let declared = format!("{{ value: {checkout}, url: 'http://{address}', pid: {} }}", server.id());
        (server, declared)
    };
    let control = service("old", "1", &[], "on");
    let refused = |candidate: &(Server, String)| {
        let file = format!(
            "experiment: e\nvariable: revision\nload: {{ paths: [/], rate: 100/s }}\ncontrol: {}\ncandidates: [{}]\n\
             time: 10s\nblock: 500ms\nmax_lag: 200ms\nwarm_up: 100ms\n",
            control.1, candidate.1
        );
        let output = experiment(folder.path(), &file, &[]);
        let said = text(&output.stderr).to_owned();
        (output.status.code() == Some(2)).then_some(said)
    };
    assert_eq!(refused(&service("new", "2", &[], "on")), None);
    let said = refused(&service("slower", "2", &["--wait", "1ms"], "off")).unwrap();
    for part in
        ["in 3 places", "`--wait 1ms`", "`CACHE`", "commit 111111111111 of the sources is 222222222222"]
    {
        assert!(said.contains(part), "{part}: {said}");
    }
}

#[test]
fn a_process_and_a_command_may_not_differ_in_two_places() {
    let _slot = beside_others();
    let folder = tempfile::tempdir().unwrap();
    let address = free_address();
    let server = Server::start(headroom(&["sample-service", "--listen", &address.to_string()]), address);
    let compared = |words: &str, variable: &str| {
        let file = format!(
            "experiment: e\nvariable: wait\nload: {{ paths: [/], rate: 100/s }}\n\
             control: {{ value: running, url: 'http://{address}', pid: {} }}\n\
             candidates: [{{ value: started, command: '{} sample-service --listen 127.0.0.1:{{port}} {words}', {variable} }}]\n\
             time: 10s\nblock: 500ms\nmax_lag: 200ms\nwarm_up: 100ms\n",
            server.id(),
            env!("CARGO_BIN_EXE_headroom")
        );
        let output = experiment(folder.path(), &file, &["--plan"]);
        (output.status.code(), text(&output.stderr).to_owned())
    };
    let (code, said) = compared("--wait 1ms", "env: {}");
    assert_ne!(code, Some(2), "{said}");
    let (code, said) = compared("--wait 1ms", "env: { CACHE: off }");
    assert_eq!(code, Some(2), "{said}");
    for part in ["`started`", "in 2 places", "nothing is `--wait 1ms`", "`CACHE`", "change one variable"] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

#[test]
fn what_listens_on_this_machine_is_examined_and_may_not_differ_in_two_places() {
    let _slot = beside_others();
    let folder = tempfile::tempdir().unwrap();
    let service = |wait: &str, body: &str| {
        let address = free_address();
        let listen = address.to_string();
        let command = headroom(&["sample-service", "--listen", &listen, "--wait", wait, "--body", body]);
        (Server::start(command, address), address)
    };
    let (one, other, third) = (service("5ms", "50"), service("6ms", "50"), service("6ms", "60"));
    let file = |candidate: &(Server, SocketAddr)| {
        format!(
            "experiment: e\nvariable: wait\nload: {{ paths: [/], rate: 50/s }}\ncontrol: {{ value: 5, url: 'http://{}' }}\n\
             candidates: [{{ value: 6, url: 'http://{}' }}]\nshared: nothing\ntime: 25s\nblock: 1s\nmax_lag: 200ms\nwarm_up: 500ms\n",
            one.1, candidate.1
        )
    };
    let said = refused(&experiment(folder.path(), &file(&third), &[])).to_owned();
    assert!(said.contains("in 2 places: `5ms` is `6ms`; `50` is `60`"), "{said}");
    let (found, story) = document(&experiment(folder.path(), &file(&other), &["--json"]));
    let examined = found["examined"].as_array().unwrap();
    assert_eq!(examined.len(), 2, "{found:#}\n{story}");
    assert!(examined.iter().all(|arm| arm["seconds"].as_f64().unwrap() > 1.0), "{examined:#?}");
    let verdicts = found["verdicts"].as_array().unwrap();
    assert!(verdicts.iter().all(|one| one["measure"] != "processor_time"), "{verdicts:#?}");
}

#[test]
fn effects_are_not_measured_on_the_good_responses_of_a_service_that_fails() {
    let _slot = beside_others();
    let folder = tempfile::tempdir().unwrap();
    // One thread carries 33 requests a second, and the queue is full at once.
    let file = format!(
        "experiment: e\nvary: {{ threads: [1, 8], body: [1KiB, 2KiB] }}\nfind: effects\nload: {{ paths: [/], rate: 100/s }}\n\
         service: {{ command: '{} sample-service --listen 127.0.0.1:{{port}} --wait 30ms --threads {{threads}} --body {{body}} \
         --accept-queue 1 --when-full 503' }}\ntime: 60s\nblock: 500ms\nmax_lag: 200ms\nwarm_up: 100ms\n",
        env!("CARGO_BIN_EXE_headroom")
    );
    let (found, story) = document(&experiment(folder.path(), &file, &["--json"]));
    let ended = found["ended"].as_str().unwrap();
    assert!(ended.contains("more errors than others in three successive rounds"), "{found:#}\n{story}");
    assert!(
        found["verdicts"].as_array().unwrap().iter().all(|one| one["verdict"] == "cannot_tell"),
        "{found:#}"
    );
}

#[test]
fn the_best_of_many_values_is_found_with_recorded_requests() {
    let _slot = beside_others();
    again_if_disturbed(|| {
        let folder = tempfile::tempdir().unwrap();
        let at = |number: u64| 1_700_000_000_000_000 + number * 7_000;
        let line = |number| format!("{{\"at_us\":{},\"method\":\"GET\",\"url\":\"/a\"}}\n", at(number));
        std::fs::write(folder.path().join("capture"), (0..400).map(line).collect::<String>()).unwrap();
        let file = format!(
            "experiment: wait\nvary: {{ wait: [9, 4, 5, nonsense] }}\nload: {{ requests: capture, times: recorded }}\n\
             service: {{ command: '{} sample-service --listen 127.0.0.1:{{port}} --threads 1 --wait {{wait}}ms' }}\n\
             time: 30s\nblock: 300ms\nmax_lag: 200ms\nwarm_up: 100ms\nmargin: 10%\n",
            env!("CARGO_BIN_EXE_headroom")
        );
        let ledger = folder.path().join("ledger.sqlite");
        let ledger = ["--ledger", ledger.to_str().unwrap()];
        let (found, story) =
            document(&experiment(folder.path(), &file, &[&["--json"], &ledger[..]].concat()));
        let search = &found["search"];
        assert_eq!(
            (search["best"].as_str(), &search["certain"]),
            (Some("4"), &Value::Bool(true)),
            "{found:#}\n{story}"
        );
        let state = |value: &str| {
            let candidates = found["candidates"].as_array().unwrap();
            candidates.iter().find(|candidate| candidate["value"] == value).unwrap()["state"]
                .as_str()
                .unwrap()
        };
        assert_eq!((state("9"), state("nonsense")), ("eliminated", "left_out"), "{found:#}\n{story}");
        assert_eq!(found["design"], "restarts");
        // The only thread cannot serve a request of 9 ms every 7 ms; of 4 ms it can.
        let limit = |value: &str| {
            let values = search["values"].as_array().unwrap();
            &values.iter().find(|tried| tried["value"] == value).unwrap()["examined"]["bottleneck"]["code"]
        };
        assert_eq!((limit("9"), limit("4")), (&Value::from("workers"), &Value::Null), "{found:#}\n{story}");
        let log = headroom(&[&["log", "--format", "csv"], &ledger[..]].concat()).output().unwrap();
        let log = text(&log.stdout);
        assert!(log.contains("wait: 4 of 4 values") && log.contains("workers with 9"), "{log}");
    });
}

/// More threads shorten the queue, and larger bodies need more processor time.
#[test]
fn many_values_have_verdicts_on_all_measures_and_routes_and_in_servers() {
    let _slot = beside_others();
    again_if_disturbed(|| {
        let folder = tempfile::tempdir().unwrap();
        let file = format!(
            "experiment: threads\nvary: {{ threads: [1, 2] }}\nload: {{ paths: [/a, /b], rate: 60/s }}\n\
             service: {{ command: '{} sample-service --listen 127.0.0.1:{{port}} --threads {{threads}} --wait 12ms --body {{threads}}00KiB' }}\n\
             fleet: {{ servers: 4, per_hour: 0.5 }}\ntime: 60s\nblock: 500ms\nmax_lag: 200ms\nwarm_up: 100ms\n",
            env!("CARGO_BIN_EXE_headroom")
        );
        let (found, story) = document(&experiment(folder.path(), &file, &["--json", "--no-doctor"]));
        assert_eq!(found["search"]["best"], "2", "{found:#}\n{story}");
        let all = found["verdicts"].as_array().unwrap();
        assert!(all.iter().all(|one| one["candidate"] == "1"), "{found:#}");
        let of = |route: &str, measure: &str| {
            all.iter().find(|one| one["route"] == route && one["measure"] == measure).unwrap()
        };
        assert_eq!(of("all", "p50")["primary"], true);
        assert_eq!(all.iter().filter(|one| one["primary"] == true).count(), 1, "{found:#}");
        // The smaller bodies need less processor time.
        let time = of("all", "processor_time");
        // The search ends once the response times are known, which may be before the others are.
        assert!(time["verdict"] != "worse" && time["effect"].as_f64().unwrap() < 0.0, "{found:#}\n{story}");
        for (route, measure) in [("all", "memory"), ("all", "errors"), ("/a", "p50"), ("/b", "errors")] {
            assert_eq!(of(route, measure)["blocks"], time["blocks"], "{route} {measure}: {found:#}");
        }
        // Today the servers run with 1 thread; with 2 they need more.
        let fleet = &found["fleet"][0];
        assert_eq!((&fleet["candidate"], &fleet["today"]), (&"2".into(), &4.into()), "{found:#}");
        let expected = 4.0 / (1.0 + time["effect"].as_f64().unwrap());
        assert!((fleet["servers"].as_f64().unwrap() - expected).abs() < 1e-9, "{found:#}");
    });
}

#[test]
fn the_only_value_that_starts_is_the_best() {
    let _slot = beside_others();
    let folder = tempfile::tempdir().unwrap();
    let file = format!(
        "experiment: wait\nvary: {{ wait: [nonsense, 4] }}\nload: {{ paths: [/], rate: 50/s }}\n\
         service: {{ command: '{} sample-service --listen 127.0.0.1:{{port}} --wait {{wait}}ms' }}\n\
         time: 20s\nblock: 300ms\nmax_lag: 200ms\nwarm_up: 100ms\n",
        env!("CARGO_BIN_EXE_headroom")
    );
    let (found, story) = document(&experiment(folder.path(), &file, &["--json"]));
    assert_eq!(found["search"]["best"], "4", "{found:#}\n{story}");
    assert_eq!(found["candidates"][0]["state"], "left_out", "{found:#}\n{story}");
}

#[test]
fn answers_of_many_values_are_compared_with_those_of_the_first() {
    let _slot = beside_others();
    let folder = tempfile::tempdir().unwrap();
    let file = format!(
        "experiment: body\nvary: {{ body: [1KiB, 2KiB, 1024] }}\nload: {{ paths: [/a], rate: 50/s }}\n\
         service: {{ command: '{} sample-service --listen 127.0.0.1:{{port}} --body {{body}}' }}\n\
         time: 12s\nblock: 300ms\nmax_lag: 200ms\nwarm_up: 100ms\n",
        env!("CARGO_BIN_EXE_headroom")
    );
    let (found, story) = document(&experiment(folder.path(), &file, &["--json", "--no-doctor"]));
    let answers = &found["answers"];
    assert_eq!(answers["arms"][0]["arm"], "1KiB", "{found:#}\n{story}");
    let differences = answers["differences"].as_array().unwrap();
    let is_larger = |one: &Value| one["candidate"] == "2KiB" && one["route"] == "/a";
    assert!(!differences.is_empty() && differences.iter().all(is_larger), "{found:#}\n{story}");
    let shown = text(&experiment(folder.path(), &file, &["--no-doctor"]).stdout).to_owned();
    assert!(shown.contains("DIFFERENT: 2KiB does not answer as 1KiB does"), "{shown}");
}

/// A service that asks for a token.
const PRIVATE: &str = r#"import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        known = self.headers.get_all("Authorization") == ["Bearer of-a-test"]
        self.send_response(200 if known else 401)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"#;

#[test]
fn a_header_of_the_command_line_replaces_one_that_was_masked() {
    let Some(python) = peer("python3") else { return };
    let _slot = beside_others();
    let folder = tempfile::tempdir().unwrap();
    let service = folder.path().join("private.py");
    std::fs::write(&service, PRIVATE).unwrap();
    std::fs::write(folder.path().join("list"), "curl -H 'Authorization: 8f3a' http://127.0.0.1/a\n").unwrap();
    let command = format!("'{} {} {{port}} {{word}}'", python.display(), service.display());
    let file = format!(
        "experiment: word\nvary: {{ word: [a, b] }}\nload: {{ requests: list, rate: 50/s }}\nservice: {{ command: {command} }}\n\
         time: 10s\nblock: 300ms\nmax_lag: 200ms\nwarm_up: 100ms\nready_within: 2s\n"
    );
    let ledger = folder.path().join("ledger.sqlite");
    let flags = ["--no-doctor", "--json", "--ledger", ledger.to_str().unwrap()];
    // Nothing that is answered with 401 is ready.
    let without = experiment(folder.path(), &file, &flags);
    assert_eq!(without.status.code(), Some(1), "{}", text(&without.stderr));
    let header = ["-H", "Authorization: Bearer of-a-test"];
    let patient = file.replace("ready_within: 2s", "ready_within: 20s");
    let (found, story) = document(&experiment(folder.path(), &patient, &[&flags[..], &header].concat()));
    let candidates = found["candidates"].as_array().unwrap();
    assert!(candidates.iter().all(|one| one["state"] != "left_out"), "{found:#}\n{story}");
    let runs = headroom(&["show", "r2", "--json", "--ledger", ledger.to_str().unwrap()]).output().unwrap();
    let shown = text(&runs.stdout);
    assert!(shown.contains("Authorization") && !shown.contains("of-a-test"), "{shown}");
    let scenario = file.replace("requests: list", "scenario: list");
    let said = refused(&experiment(folder.path(), &scenario, &header)).to_owned();
    assert!(said.contains("-H is for `load` with `paths` or `requests`"), "{said}");
}

/// Processes of one command, each of which waits for a time that it chose when it started.
#[test]
fn where_restarts_differ_the_restart_is_the_unit() {
    let _slot = beside_others();
    let folder = tempfile::tempdir().unwrap();
    let by_chance = "--wait $(shuf -i 3-9 -n 1)ms";
    let text = file(&[("again", by_chance)], "")
        .replace("--wait 5ms", by_chance)
        .replace("warm_up: 1s", "warm_up: 500ms");
    // Long enough for restarts to be compared; the comparison itself is not run.
    let (found, story) =
        document(&experiment(folder.path(), &text.replace("time: 25s", "time: 240s"), &["--plan", "--json"]));
    assert_eq!(
        (&found["design"], &found["restarts"]["differ"]),
        (&"restarts".into(), &true.into()),
        "{found:#}\n{story}"
    );
    assert!(found["design_reason"].as_str().unwrap().contains("restarts differ by"), "{found:#}");
    let text = text.replace("time: 25s", "time: 60s\ndesign: restarts\ncompare_answers: false");
    // One in twenty may call equal services different.
    let mut tries = (0..3).map(|_| document(&experiment(folder.path(), &text, &["--json"])));
    let (found, story) = tries.find(|(found, _)| primary(found) == "cannot_tell").expect("a right verdict");
    assert!(found["blocks"].as_u64().unwrap() >= 5, "{found:#}\n{story}");
}

/// Only the noise floor is measured.
#[test]
fn a_plan_says_what_can_be_found() {
    let _slot = beside_others();
    let folder = tempfile::tempdir().unwrap();
    let output = experiment(folder.path(), &file(&[("8ms", "--wait 8ms")], ""), &["--plan"]);
    let said = format!("{}{}", text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(text(&output.stdout).contains("promised   an effect of"), "{said}");
    assert!(!text(&output.stdout).contains("verdict"), "{said}");
}

#[test]
fn more_threads_shorten_the_queue_and_each_block_is_kept() {
    let _slot = beside_others();
    again_if_disturbed(|| {
        let folder = tempfile::tempdir().unwrap();
        let service = |threads: u32| {
            format!(
                "{} sample-service --listen 127.0.0.1:{{port}} --threads {threads} --wait 12ms",
                env!("CARGO_BIN_EXE_headroom")
            )
        };
        let file = format!(
            "experiment: queue\nvariable: threads\nload: {{ paths: [/], rate: 60/s }}\n\
             control: {{ value: 1, command: '{}' }}\ncandidates: [{{ value: 4, command: '{}' }}]\n\
             shared: nothing\ntime: 65s\nblock: 2500ms\nmax_lag: 200ms\nwarm_up: 1s\n",
            service(1),
            service(4)
        );
        let (found, story) = document(&experiment(folder.path(), &file, &["--json"]));
        let all = found["verdicts"].as_array().unwrap();
        let queue = all.iter().find(|verdict| verdict["measure"] == "queue_time").unwrap();
        assert_eq!(queue["unit"], "s");
        // 60 requests a second of 12 ms each at one thread wait 15 ms on average (M/D/1). A verdict would take longer.
        let value = |of: &str| queue[of].as_f64().unwrap();
        assert!((0.002..0.3).contains(&value("control_value")), "{found:#}\n{story}");
        assert!(value("candidate_value") < 0.002 && value("effect") < -0.001, "{found:#}\n{story}");
        assert_ne!(queue["verdict"], "worse", "{found:#}\n{story}");
        let data = &found["data"];
        assert_eq!(data["arms"], serde_json::json!(["control", "4"]), "{data:#}");
        let blocks = data["blocks"].as_array().unwrap();
        let counted = blocks.iter().filter(|block| block["void"].is_null()).count();
        assert_eq!(found["blocks"], counted, "{found:#}");
        let columns = data["measures"].as_array().unwrap().len();
        let parts = blocks.iter().flat_map(|block| block["parts"].as_array().unwrap());
        let is_whole = |part: &Value| part["values"].as_array().unwrap().len() == columns;
        assert!(parts.clone().count() == 2 * blocks.len() && parts.into_iter().all(is_whole), "{data:#}");
    });
}

#[test]
fn a_plan_of_many_values_says_which_difference_is_found_at_which_cost() {
    let _slot = beside_others();
    again_if_disturbed(|| {
        let folder = tempfile::tempdir().unwrap();
        let file = format!(
            "experiment: wait\nvary: {{ wait: [2, 4, 6] }}\nload: {{ paths: [/], rate: 50/s }}\n\
         service: {{ command: '{} sample-service --listen 127.0.0.1:{{port}} --wait {{wait}}ms' }}\n\
         fleet: {{ servers: 1, per_hour: 3.6 }}\ntime: 20m\nblock: 300ms\nmax_lag: 200ms\nwarm_up: 100ms\n",
            env!("CARGO_BIN_EXE_headroom")
        );
        let (found, story) = document(&experiment(folder.path(), &file, &["--json", "--plan"]));
        let (plan, promised) = (&found["plan"], found["promised_seconds"].as_f64().unwrap());
        let number = |key: &str| plan[key].as_f64().unwrap();
        assert!(promised <= 1_200.0 && number("effect") >= number("wanted_effect"), "{found:#}\n{story}");
        // A dollar in 1,000 seconds.
        assert!((number("cost") - promised / 1_000.0).abs() < 1e-6, "{found:#}\n{story}");
        assert!(number("blocks") >= 30.0 && number("detectable_effect") > 0.0, "{found:#}\n{story}");
    });
}
