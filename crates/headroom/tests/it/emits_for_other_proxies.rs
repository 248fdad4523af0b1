//! `headroom show --emit`: the proxies accept the files, and keep to the limit.

use crate::peers::peer;
use crate::programs::{Server, beside_one, free_addresses, headroom, json, load, text};
use crate::service::{self, Answer};
use ledger::{Ledger, NewRun, Outcome, WallTime};
use serde_json::json;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// A ledger with a finished search of a service at this address, and one with a run of another kind.
fn ledger(directory: &Path, service: SocketAddr) -> String {
    let path = directory.join("ledger.sqlite");
    let ledger = Ledger::open(&path).unwrap();
    let target = format!("http://{service}/search.cgi?q=1");
    let result = json!({
        "target": target, "run": "r1", "date": "2026-11-21", "slo": ["p(95)<50ms"], "ended": "done", "found": "within",
        "sustainable_rate": { "low": 105.92, "high": 108.49, "confidence": 0.96, "verified": true, "confirmed": true },
        "binding": "p(95)<50ms",
        "knee": { "in_flight": 40, "best_per_second": 107.5, "best_in_flight": 50, "stopped": "flat" },
    });
    for (command, result) in [("find", Some(result.to_string())), ("load", None)] {
        let run = NewRun {
            parent: None,
            repeat_of: None,
            command: command.to_owned(),
            command_line: format!("headroom {command}"),
            version: "0.1.0".to_owned(),
            config: "{}".to_owned(),
            target: target.clone(),
            host: Vec::new(),
            facts: Vec::new(),
            started: WallTime::now(),
            process: None,
        };
        let id = ledger.begin(&run).unwrap();
        let outcome = Outcome {
            ended: WallTime::now(),
            measurement: None,
            result,
            interrupted: None,
            host_after: Vec::new(),
        };
        ledger.finish(id, &outcome).unwrap();
    }
    path.display().to_string()
}

/// What is written for a proxy, for a search of a service at `service`, listening at `listen`.
fn emitted(directory: &Path, proxy: &str, service: SocketAddr, listen: SocketAddr) -> String {
    let ledger = ledger(directory, service);
    let output = headroom(&["show", "r1", "--emit", proxy, "--ledger", &ledger]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let said = text(&output.stdout).to_owned();
    assert!(said.contains("r1 in the ledger, 2026-11-21") && said.contains("105.9/s to 108.5/s"), "{said}");
    let port = format!("port_value: {}", listen.port());
    said.replace("127.0.0.1:8080", &listen.to_string()).replace("port_value: 8080", &port)
}

/// The file of nginx in the least that makes a whole configuration.
fn nginx_folder(directory: &Path, file: &str) {
    let whole = format!(
        "worker_processes 1;\ndaemon off;\nmaster_process off;\npid nginx.pid;\nerror_log error.log crit;\n\
         events {{ worker_connections 1024; }}\nhttp {{\naccess_log off;\nclient_body_temp_path body;\n\
         proxy_temp_path proxy;\nfastcgi_temp_path fastcgi;\nuwsgi_temp_path uwsgi;\nscgi_temp_path scgi;\n{file}}}\n"
    );
    std::fs::write(directory.join("nginx.conf"), whole).unwrap();
}

fn nginx(program: &Path, directory: &Path) -> Command {
    let mut command = Command::new(program);
    command.arg("-p").arg(directory).args(["-e", "error.log", "-c", "nginx.conf"]);
    command
}

#[test]
fn nginx_takes_its_file() {
    let Some(program) = peer("nginx") else { return };
    let directory = tempfile::tempdir().unwrap();
    let [service, listen] = free_addresses();
    nginx_folder(directory.path(), &emitted(directory.path(), "nginx", service, listen));
    let output = nginx(&program, directory.path()).arg("-t").output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(!text(&output.stderr).contains("warn"), "{}", text(&output.stderr));
}

#[test]
fn haproxy_takes_its_file() {
    let Some(program) = peer("haproxy") else { return };
    let directory = tempfile::tempdir().unwrap();
    let [service, listen] = free_addresses();
    let file = directory.path().join("haproxy.cfg");
    std::fs::write(&file, emitted(directory.path(), "haproxy", service, listen)).unwrap();
    let output = Command::new(program).arg("-c").arg("-f").arg(&file).output().unwrap();
    let said = format!("{}{}", text(&output.stdout), text(&output.stderr));
    assert!(output.status.success() && !said.contains("WARNING"), "{said}");
}

/// Spellings of the limited path that services take for it, and what is below it.
const SPELLINGS: [&str; 8] = [
    "/SEARCH.cgi",
    "/search.cgi/info",
    "//search.cgi",
    "/./search.cgi",
    "/x/../search.cgi",
    "/x%2f..%2fsearch.cgi",
    "/search.cgi;x=1",
    "/search.cgi/..",
];

/// No spelling passes more than the limit.
fn no_spelling_leads_past(proxy: &str, listen: SocketAddr, spellings: &[&str]) {
    for path in spellings {
        let output = load(&format!("http://{listen}{path}"), &["-r", "300/s", "-d", "1s", "--json"]);
        let value = json(&output);
        let shed = value["status"]["503"].as_u64().unwrap_or(0);
        assert!(shed >= 100, "{proxy} {path}: {shed} shed\n{value}");
    }
}

/// Answers by status of two hundred requests a second for three seconds, at the path that is limited, spelt with an
/// escape that leads past no limit, and at another.
fn flood(listen: SocketAddr) -> [(u64, u64); 2] {
    ["searc%68.cgi?q=2", "other"].map(|path| {
        let output = load(&format!("http://{listen}/{path}"), &["-r", "200/s", "-d", "3s", "--json"]);
        let value = json(&output);
        let count = |status: &str| value["status"][status].as_u64().unwrap_or(0);
        (count("200"), count("503"))
    })
}

/// The limit is 100 a second, and two may come at once.
fn keeps_to_the_limit(proxy: &str, [(passed, shed), (others, others_shed)]: [(u64, u64); 2]) {
    // The clocks of generator and proxy begin at other times, and a busy machine makes both late.
    assert!((200..=360).contains(&passed) && shed >= 200, "{proxy}: {passed} passed, {shed} shed");
    assert!(others >= 500 && others_shed == 0, "{proxy}: {others} passed, {others_shed} shed elsewhere");
}

#[test]
fn nginx_sheds_above_the_limit() {
    let Some(program) = peer("nginx") else { return };
    let _slot = beside_one();
    let directory = tempfile::tempdir().unwrap();
    let [listen] = free_addresses();
    nginx_folder(directory.path(), &emitted(directory.path(), "nginx", service::start(Answer::Ok), listen));
    let _server = Server::start(nginx(&program, directory.path()), listen);
    keeps_to_the_limit("nginx", flood(listen));
    no_spelling_leads_past("nginx", listen, &SPELLINGS);
}

#[test]
fn haproxy_sheds_above_the_limit() {
    let Some(program) = peer("haproxy") else { return };
    let _slot = beside_one();
    let directory = tempfile::tempdir().unwrap();
    let [listen] = free_addresses();
    let file = directory.path().join("haproxy.cfg");
    std::fs::write(&file, emitted(directory.path(), "haproxy", service::start(Answer::Ok), listen)).unwrap();
    let mut command = Command::new(program);
    command.arg("-f").arg(&file);
    let _server = Server::start(command, listen);
    keeps_to_the_limit("HAProxy", flood(listen));
    no_spelling_leads_past("HAProxy", listen, &SPELLINGS);
}

#[test]
fn envoy_takes_its_file_and_sheds_above_the_limit() {
    let Some(program) = peer("envoy") else { return };
    let _slot = beside_one();
    let directory = tempfile::tempdir().unwrap();
    let [listen] = free_addresses();
    let file = directory.path().join("envoy.yaml");
    std::fs::write(&file, emitted(directory.path(), "envoy", service::start(Answer::Ok), listen)).unwrap();
    let envoy = || {
        let mut command = Command::new(&program);
        command.arg("-c").arg(&file).args(["-l", "error", "--concurrency", "1", "--use-dynamic-base-id"]);
        command
    };
    let checked = envoy().args(["--mode", "validate"]).output().unwrap();
    let said = format!("{}{}", text(&checked.stdout), text(&checked.stderr));
    assert!(checked.status.success() && said.contains("OK"), "{said}");
    let _server = Server::start(envoy(), listen);
    keeps_to_the_limit("Envoy", flood(listen));
    // It sends the path on without its dot segments: the last one is no longer the limited path.
    no_spelling_leads_past("Envoy", listen, &SPELLINGS[..SPELLINGS.len() - 1]);
}

#[test]
fn haproxy_bounds_what_waits() {
    let Some(program) = peer("haproxy") else { return };
    let _slot = beside_one();
    let directory = tempfile::tempdir().unwrap();
    let [listen] = free_addresses();
    let file = directory.path().join("haproxy.cfg");
    let slow = service::start(Answer::After(Duration::from_millis(700)));
    std::fs::write(
        &file,
        emitted(directory.path(), "haproxy", slow, listen).replace("maxconn 40", "maxconn 2"),
    )
    .unwrap();
    let mut command = Command::new(program);
    command.arg("-f").arg(&file);
    let _server = Server::start(command, listen);
    let output = load(&format!("http://{listen}/search.cgi"), &["-c", "30", "-n", "30", "--json"]);
    let value = json(&output);
    let count = |status: &str| value["status"][status].as_u64().unwrap_or(0);
    // Whoever waits is refused after the 50 ms that the goal allows.
    assert_eq!((count("200"), count("503")), (2, 28), "{value}");
}

#[test]
fn only_a_search_has_a_limit() {
    let directory = tempfile::tempdir().unwrap();
    let [service] = free_addresses();
    let ledger = ledger(directory.path(), service);
    let output = headroom(&["show", "r2", "--emit", "nginx", "--ledger", &ledger]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("run r2 is no finished search"), "{}", text(&output.stderr));
    assert!(output.stdout.is_empty());
}
