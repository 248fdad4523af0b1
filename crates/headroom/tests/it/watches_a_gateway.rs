//! A running gateway: `headroom top`, `headroom explain`, reloads, its access log as the input of a replay.

use crate::programs::{Server, free_addresses, headroom, refused, summary, text};
use crate::service::{self, Answer};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

/// A gateway of a file, with a folder for what belongs to it.
pub struct World {
    folder: tempfile::TempDir,
    listen: SocketAddr,
    gateway: Option<Server>,
}

impl World {
    /// `more` follows the address in the file, `rate` is that of the only limit.
    pub fn new(more: &str, rate: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let [listen] = free_addresses();
        let mut world = World { folder, listen, gateway: None };
        world.write(more, rate);
        let file = world.path("gateway.yaml");
        world.gateway = Some(Server::start(headroom(&["gateway", file.to_str().unwrap()]), listen));
        world
    }

    fn write(&self, more: &str, rate: &str) {
        let upstream = self.path("upstream");
        if !upstream.exists() {
            std::fs::write(&upstream, service::start(Answer::Ok).to_string()).unwrap();
        }
        let (listen, upstream) = (self.listen, std::fs::read_to_string(upstream).unwrap());
        let text = format!(
            "listen: {listen}\n{more}\npools: {{ shop: {{ instances: ['{upstream}'] }} }}\n\
             rate_classes: {{ Shop limit: {{ rate: {rate}, provenance: {{ run: r4711, date: 2026-11-21, target: x }} }} }}\n\
             routes: [{{ name: all, path_prefix: /, pool: shop, rate_class: Shop limit }}]\n"
        );
        std::fs::write(self.path("gateway.yaml"), text).unwrap();
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn file(&self) -> String {
        self.path("gateway.yaml").to_str().unwrap().to_owned()
    }

    fn get(&self, target: &str) -> String {
        let mut stream = TcpStream::connect(self.listen).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let request = format!(
            "GET {target} HTTP/1.1\r\nHost: shop.example\r\nUser-Agent: test \"1\"\r\nReferer: http://a/\r\nConnection: close\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    fn status(&self) -> Value {
        let output = headroom(&["top", "--file", &self.file(), "--json"]).output().unwrap();
        serde_json::from_str(summary(&output)).unwrap()
    }
}

fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < end, "never: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

const PATIENCE: Duration = Duration::from_secs(20);

#[test]
fn top_prints_a_table_where_there_is_no_terminal() {
    let world = World::new("admin: unix:admin.sock", "1/m");
    assert!(world.get("/").starts_with("HTTP/1.1 200"));
    assert!(world.get("/").starts_with("HTTP/1.1 503"));
    eventually("both are counted", || world.status()["routes"][0]["demand"]["total"] == 2);
    let output =
        headroom(&["top", &format!("unix:{}", world.path("admin.sock").display())]).output().unwrap();
    let text = summary(&output);
    for part in ["gateway on unix:", "Shop limit", "run r4711 of 2026-11-21", "rate_class", "1 worker"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains('\u{1b}'), "{text}");
}

#[test]
fn top_wants_the_gateways_token() {
    let [admin] = free_addresses();
    let folder = tempfile::tempdir().unwrap();
    let token = folder.path().join("token");
    std::fs::write(&token, "a-token-of-some-length\n").unwrap();
    let world =
        World::new(&format!("admin: {{ listen: '{admin}', token_file: '{}' }}", token.display()), "9/s");
    assert_eq!(world.status()["limits"][0]["per_second"], 9.0);
    let admin = admin.to_string();
    let output = headroom(&["top", &admin, "--once"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("401") && text(&output.stderr).contains("--token-file"));
    let output = headroom(&[
        "top",
        &admin.replace("127.0.0.1", "localhost"),
        "--once",
        "--token-file",
        token.to_str().unwrap(),
    ])
    .output()
    .unwrap();
    assert!(summary(&output).contains("Shop limit"));
}

#[test]
fn top_says_where_it_found_nobody() {
    let [nobody] = free_addresses();
    let output = headroom(&["top", &nobody.to_string()]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stderr);
    assert!(said.contains(&nobody.to_string()) && said.contains("refused"), "{said}");
    // Somebody who is no gateway.
    let other = service::start(Answer::Ok).to_string();
    let output = headroom(&["top", &other, "--once"]).output().unwrap();
    assert!(text(&output.stderr).contains("no status"), "{}", text(&output.stderr));
    assert!(refused(&headroom(&["top", "localhost"]).output().unwrap()).contains("unix:"));
}

#[test]
fn explain_answers_for_files_gateways_names_and_reasons() {
    let world = World::new("admin: unix:admin.sock", "9/s");
    let explain = |arguments: &[&str]| headroom(&[&["explain"], arguments].concat()).output().unwrap();
    let file = world.file();
    let output = explain(&[&file]);
    for part in
        ["route `all`", "1. rate class `Shop limit`: 9/s", "run r4711 of 2026-11-21, at x", "problem details"]
    {
        assert!(summary(&output).contains(part), "{part}: {}", summary(&output));
    }
    let output = explain(&["--admin", &format!("unix:{}", world.path("admin.sock").display()), "Shop limit"]);
    let found = summary(&output);
    assert!(found.starts_with("rate class `Shop limit`") && found.contains("now"), "{found}");
    let output = explain(&[&file, "shop limit"]);
    assert!(refused(&output).contains("did you mean `Shop limit`?"), "{}", text(&output.stderr));
    assert!(summary(&explain(&["--reason", "wait_too_long"])).contains("longest_wait"));
    assert!(refused(&explain(&["--reason", "backlog_ful"])).contains("did you mean `backlog_full`?"));
    assert!(refused(&explain(&[])).contains("--reason"));
    std::fs::write(world.path("broken.yaml"), "listen: nowhere\n").unwrap();
    let output = explain(&[world.path("broken.yaml").to_str().unwrap()]);
    assert!(refused(&output).contains("broken.yaml:1:9"), "{}", text(&output.stderr));
}

#[test]
fn a_reload_by_request_does_what_the_signal_does() {
    let [admin] = free_addresses();
    let more = format!("admin: {admin}");
    let world = World::new(&more, "9/s");
    let reload = || {
        let mut stream = TcpStream::connect(admin).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let request = format!(
            "POST /reload HTTP/1.1\r\nHost: {admin}\r\nContent-Type: application/json\r\nContent-Length: 0\r\n\
             Connection: close\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    world.write(&more, "8/s");
    assert!(reload().starts_with("HTTP/1.1 200"));
    assert_eq!(world.status()["limits"][0]["per_second"], 8.0);
    world.write(&more, "fast");
    let answer = reload();
    assert!(
        answer.starts_with("HTTP/1.1 422") && answer.contains("rate_classes.Shop limit.rate"),
        "{answer}"
    );
    world.write(&more, "7/s");
    let pid = world.gateway.as_ref().unwrap().id().to_string();
    assert!(Command::new("kill").args(["-HUP", &pid]).status().unwrap().success());
    eventually("the signal counts", || world.status()["limits"][0]["per_second"] == 7.0);
}

#[test]
fn a_combined_log_is_rotated_and_replayed() {
    let world = World::new("access_log: { file: access.log, format: combined, flush: 100ms }", "1000/s");
    for number in 0..20 {
        assert!(world.get(&format!("/{number}?q=\"")).starts_with("HTTP/1.1 "));
    }
    let log = world.path("access.log");
    let lines = |path: &PathBuf| std::fs::read_to_string(path).unwrap_or_default().lines().count();
    eventually("the lines are written", || lines(&log) == 20);
    let rotated = world.path("access.log.1");
    std::fs::rename(&log, &rotated).unwrap();
    let pid = world.gateway.as_ref().unwrap().id().to_string();
    assert!(Command::new("kill").args(["-USR1", &pid]).status().unwrap().success());
    eventually("there is a new log", || log.exists());
    world.get("/after");
    eventually("it goes on there", || lines(&log) == 1);
    assert_eq!(lines(&rotated), 20);

    let target = service::start(Answer::Ok);
    let replay = ["replay", rotated.to_str().unwrap(), &format!("http://{target}/"), "--json"];
    let output = headroom(&replay).output().unwrap();
    let run: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)));
    assert_eq!(run["accounting"]["scheduled"], 20, "{run:#}");
    assert_eq!(run["status"], serde_json::json!({ "200": 20 }), "{run:#}");
}

#[test]
fn the_short_form_writes_an_access_log_too() {
    let (folder, [listen, other]) = (tempfile::tempdir().unwrap(), free_addresses());
    let to = service::start(Answer::Ok).to_string();
    let log = folder.path().join("access.log");
    let command = |at: SocketAddr, log: &str| {
        headroom(&["gateway", "--to", &to, "--listen", &at.to_string(), "--access-log", log])
    };
    let gateway = Server::start(command(listen, log.to_str().unwrap()), listen);
    let world = World { folder, listen, gateway: Some(gateway) };
    assert!(world.get("/a?b").starts_with("HTTP/1.1 200"));
    let begun = Instant::now();
    while !std::fs::read_to_string(&log).unwrap().contains("\"GET /a?b HTTP/1.1\" 200 ") {
        assert!(begun.elapsed() < PATIENCE, "{}", std::fs::read_to_string(&log).unwrap());
        std::thread::sleep(Duration::from_millis(50));
    }
    let nowhere = command(other, "/nowhere/at/all").output().unwrap();
    assert!(text(&nowhere.stderr).contains("/nowhere/at/all"), "{}", text(&nowhere.stderr));
    assert_eq!(nowhere.status.code(), Some(1));
    let file = world.path("access.log").display().to_string();
    let both = headroom(&["gateway", &file, "--access-log", "-"]).output().unwrap();
    assert!(refused(&both).contains("cannot be used with"), "{}", refused(&both));
}
