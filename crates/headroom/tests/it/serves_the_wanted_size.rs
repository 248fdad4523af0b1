//! `headroom scale` with `serve`: gauges, status and switches over HTTP, `headroom top --scaler`, and KEDA's protocol spoken by
//! a client of another language. Nothing is applied: a thread does what KEDA would, and sets the size that is wanted.

use crate::peers::peer;
use crate::programs::{Server, free_addresses, headroom, text};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A scaler that reads its metrics from a file.
struct World {
    folder: tempfile::TempDir,
    serve: SocketAddr,
    traffic: Arc<Traffic>,
    writer: Option<JoinHandle<()>>,
    _gateway: Server,
}

/// What the file says.
#[derive(Default)]
struct Traffic {
    ends: AtomicBool,
    per_second: AtomicU64,
    instances: AtomicU64,
}

impl World {
    fn new(more: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let [listen, admin, serve] = free_addresses();
        let gateway = folder.path().join("gateway.yaml");
        let instances =
            "pools: { web: { instances: ['127.0.0.1:1'] } }\nroutes: [{ path_prefix: /, pool: web }]\n";
        std::fs::write(&gateway, format!("listen: {listen}\nadmin: {admin}\n{instances}")).unwrap();
        let gateway = Server::start(headroom(&["gateway", gateway.to_str().unwrap()]), listen);
        let case = format!(
            "case: served
traffic: {{ rate: 10/s }}
services:
  web:
    endpoints: {{ page: {{ wait: 5ms }} }}
    server: {{ threads: 64 }}
    hosts: {{ small: {{ cores: 1 }} }}
    instances: 1
    scaling:
      min: 0
      max: 3
      keda:
        prometheus: [{{ measures: requests-per-second, threshold: 10, activation_threshold: 5, window: 1s }}]
        polling_interval: 1s
        cooldown_period: 1s
        sync_period: 1s
live:
  gateway: {{ admin: '{admin}', pool: web }}
  file: totals.json
  period: 1s
  stale_after: 30s
  state: run
  serve: {{ listen: '{serve}'{more} }}
"
        );
        std::fs::write(folder.path().join("case.yaml"), case).unwrap();
        let traffic = Arc::new(Traffic::default());
        let (of_thread, file) = (Arc::clone(&traffic), folder.path().join("totals.json"));
        write_totals(&file, 0, 0);
        let writer = std::thread::spawn(move || {
            let (mut answered, mut last) = (0.0, Instant::now());
            while !of_thread.ends.load(Ordering::Relaxed) {
                let now = Instant::now();
                let per_second = of_thread.per_second.load(Ordering::Relaxed);
                answered += per_second as f64 * now.duration_since(last).as_secs_f64();
                last = now;
                write_totals(&file, answered as u64, of_thread.instances.load(Ordering::Relaxed));
                std::thread::sleep(Duration::from_millis(50));
            }
        });
        World { folder, serve, traffic, writer: Some(writer), _gateway: gateway }
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("case.yaml")
    }

    fn scale(&self) -> Server {
        Server::start(headroom(&["scale", self.file().to_str().unwrap()]), self.serve)
    }

    fn get(&self, path: &str) -> (u16, String) {
        ask(self.serve, &format!("GET {path} HTTP/1.1\r\nHost: {}\r\n", self.serve), "")
    }

    fn post(&self, path: &str, more: &str) -> u16 {
        ask(self.serve, &format!("POST {path} HTTP/1.1\r\nHost: {}\r\n{more}", self.serve), "{}").0
    }

    fn status(&self) -> Value {
        eventually("there is a status", || self.get("/readyz").0 == 200);
        let (code, body) = self.get("/status");
        assert_eq!(code, 200, "{body}");
        serde_json::from_str(&body).unwrap()
    }

    /// Does what KEDA does with the wanted size.
    fn follow(&self) {
        let wanted = self.status()["wanted"].as_u64().unwrap();
        self.traffic.instances.store(wanted, Ordering::Relaxed);
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.traffic.ends.store(true, Ordering::Relaxed);
        if let Some(writer) = self.writer.take() {
            let _ = writer.join();
        }
    }
}

/// Replaced in one step, so that no reader sees a half.
fn write_totals(file: &Path, answered: u64, instances: u64) {
    let instances = (0..instances).map(|number| {
        serde_json::json!({
            "address": format!("10.0.0.{number}:80"), "state": "available", "takes_requests": true, "in_flight": 0
        })
    });
    let totals = serde_json::json!({
        "arrived": answered, "answered": answered, "in_flight": 0, "instances": instances.collect::<Vec<_>>()
    });
    let new = file.with_extension("new");
    std::fs::write(&new, totals.to_string()).unwrap();
    std::fs::rename(&new, file).unwrap();
}

/// Status and body of the response.
fn ask(address: SocketAddr, head: &str, body: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    write!(stream, "{head}Content-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len()).unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    let (head, body) = response.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !holds() {
        assert!(Instant::now() < end, "not: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn gauges_and_status_say_what_is_wanted_and_why() {
    let world = World::new("");
    let _scaler = world.scale();
    let idle = world.status();
    assert_eq!(
        (&idle["wanted"], &idle["actual"], &idle["applies"]),
        (&0.into(), &0.into(), &false.into()),
        "{idle}"
    );
    assert_eq!((idle["service"].as_str(), idle["case"].as_str()), (Some("web"), Some("served")));
    world.traffic.per_second.store(500, Ordering::Relaxed);
    eventually("an instance is wanted", || world.status()["wanted"] != 0);
    // Nobody has set it yet.
    let asked = world.status();
    assert_eq!(asked["quiet"], "the size is recommended, and was not set yet", "{asked}");
    eventually("the maximum is wanted and set", || {
        world.follow();
        let status = world.status();
        status["wanted"] == 3 && status["actual"] == 3
    });
    let (code, page) = world.get("/metrics");
    assert_eq!(code, 200);
    for line in [
        "headroom_scaler_up{service=\"web\"} 1",
        "headroom_scaler_wanted_instances{service=\"web\"} 3",
        "headroom_scaler_max_instances{service=\"web\"} 3",
        "headroom_scaler_leader{service=\"web\"} 0",
        "headroom_scaler_policy_wanted_instances{service=\"web\",policy=\"horizontal pod autoscaler\"}",
    ] {
        assert!(page.contains(line), "{line}: {page}");
    }
    let names: Vec<String> = world.status()["policies"]
        .as_array()
        .unwrap()
        .iter()
        .map(|policy| policy["name"].as_str().unwrap().to_owned())
        .collect();
    assert!(names.starts_with(&["horizontal pod autoscaler".to_owned(), "KEDA".to_owned()]), "{names:?}");
    let address = world.serve.to_string();
    let shown = headroom(&["top", "--scaler", &address, "--once"]).output().unwrap();
    let table = text(&shown.stdout);
    assert!(
        shown.status.success() && table.contains("why nothing happens"),
        "{table}{}",
        text(&shown.stderr)
    );
    assert!(table.contains(&format!("scaler on {address}")) && table.contains("recommends"), "{table}");
    let json = headroom(&["top", "--scaler", &address, "--json"]).output().unwrap();
    assert_eq!(serde_json::from_slice::<Value>(&json.stdout).unwrap()["service"], "web");
    let (code, body) = world.get("/nothing");
    assert!(code == 404 && body.contains("/metrics"), "{code} {body}");
}

#[test]
fn the_gauges_please_promtool() {
    let Some(promtool) = peer("promtool") else { return };
    let world = World::new("");
    let _scaler = world.scale();
    world.traffic.per_second.store(500, Ordering::Relaxed);
    eventually("an instance is wanted", || world.status()["wanted"] != 0);
    let mut check = Command::new(promtool);
    check.args(["check", "metrics"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut check = check.spawn().unwrap();
    check.stdin.take().unwrap().write_all(world.get("/metrics").1.as_bytes()).unwrap();
    let output = check.wait_with_output().unwrap();
    let said = format!("{}{}", text(&output.stderr), text(&output.stdout));
    assert!(output.status.success() && said.trim().is_empty(), "{said}");
}

#[test]
fn changes_are_paused_stopped_and_continued() {
    let world = World::new("");
    let _scaler = world.scale();
    assert_eq!(world.status()["paused"], false);
    const JSON: &str = "Content-Type: application/json\r\n";
    // A form of a page that somebody visits, and a page with a name of its own.
    assert_eq!(world.post("/pause", "Content-Type: text/plain\r\n"), 415);
    let foreign = "POST /kill HTTP/1.1\r\nHost: evil.example\r\nContent-Type: application/json\r\n";
    assert_eq!(ask(world.serve, foreign, "{}").0, 403);
    assert_eq!(world.get("/kill").0, 405);
    assert_eq!(world.post("/pause", JSON), 200);
    eventually("it is paused", || world.status()["paused"] == true);
    world.traffic.per_second.store(500, Ordering::Relaxed);
    // Longer than the policy takes.
    eventually("the load is seen", || world.status()["demand"].as_f64().unwrap() > 100.0);
    let paused = world.status();
    assert_eq!(
        (&paused["wanted"], paused["quiet"].as_str()),
        (&0.into(), Some("the scaler is paused")),
        "{paused}"
    );
    assert_eq!(world.post("/kill", JSON), 200);
    eventually("it is killed", || world.status()["killed"] == true);
    assert!(world.folder.path().join("run/kill").exists(), "the same switch as the file");
    assert_eq!(world.post("/continue", JSON), 200);
    eventually("it continues", || world.status()["wanted"] != 0);
}

#[test]
fn a_token_guards_changes_and_an_address_in_use_is_named() {
    let world = World::new(", token_file: token");
    let refused = headroom(&["scale", world.file().to_str().unwrap()]).output().unwrap();
    let err = text(&refused.stderr);
    assert!(
        refused.status.code() == Some(2) && err.contains("cannot serve") && err.contains("token"),
        "{err}"
    );
    std::fs::write(world.folder.path().join("token"), "0123456789abcdef\n").unwrap();
    let _scaler = world.scale();
    assert_eq!(world.status()["killed"], false, "reading takes no token");
    let json = "Content-Type: application/json\r\n";
    assert_eq!(world.post("/kill", json), 401);
    assert_eq!(world.post("/kill", &format!("{json}Authorization: Bearer 0123456789abcdef\r\n")), 200);
    eventually("it is killed", || world.status()["killed"] == true);
    let second = headroom(&["scale", world.file().to_str().unwrap()]).output().unwrap();
    let err = text(&second.stderr);
    assert!(second.status.code() == Some(2) && err.contains("`live.serve.listen`"), "{err}");
}

#[test]
fn keda_follows_the_wanted_size_from_and_to_zero() {
    let Some(python) = peer("python-grpc") else { return };
    let world = World::new("");
    let _scaler = world.scale();
    eventually("it is ready", || world.get("/readyz").0 == 200);
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let stubs = world.folder.path().join("stubs");
    std::fs::create_dir(&stubs).unwrap();
    let mut keda = Command::new(python);
    keda.arg(here.join("tests/it/keda.py"))
        .arg(here.join("../scaler-api/proto"))
        .arg(world.serve.to_string());
    keda.arg(&stubs).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut keda = keda.spawn().unwrap();
    let (mut answers, told) = (keda.stdin.take().unwrap(), BufReader::new(keda.stdout.take().unwrap()));
    let mut steps = Vec::new();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (of_thread, world) = (&done, &world);
        scope.spawn(move || {
            while !of_thread.load(Ordering::Relaxed) {
                world.follow();
                std::thread::sleep(Duration::from_millis(100));
            }
        });
        for step in told.lines() {
            let step = step.unwrap();
            match step.as_str() {
                "inactive" => world.traffic.per_second.store(500, Ordering::Relaxed),
                "active" => world.traffic.per_second.store(0, Ordering::Relaxed),
                _ => {}
            }
            steps.push(step);
            answers.write_all(b"\n").unwrap();
        }
        done.store(true, Ordering::Relaxed);
    });
    let ended = keda.wait_with_output().unwrap();
    assert!(ended.status.success(), "{steps:?}: {}", text(&ended.stderr));
    assert_eq!(steps, ["inactive", "active", "done"]);
}
