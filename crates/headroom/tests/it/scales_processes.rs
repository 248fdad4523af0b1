//! `headroom scale` with real processes behind a real gateway: out and in under load, kills, standbys, mistakes.

use crate::peers::peer;
use crate::programs::{Server, Slots, beside_others, free_addresses, headroom, text};
use crate::schema::check;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A gateway whose pool begins with the first port of a range, and a case file for the processes behind it.
struct World {
    folder: tempfile::TempDir,
    listen: SocketAddr,
    admin: SocketAddr,
    first: u16,
    gateway: Option<Server>,
    /// A dozen processes disturb those that measure alone.
    _slot: Slots,
}

/// Begins with one instance; the sample service waits 5 ms for each request.
const SERVES: &str = "sample-service --listen 127.0.0.1:{port} --threads 64 --wait 5ms";

impl World {
    fn new(command: &str, more: &str) -> Self {
        let slot = beside_others();
        let folder = tempfile::tempdir().unwrap();
        let [listen, admin] = free_addresses();
        let first = range();
        let file = folder.path().join("gateway.yaml");
        let text = format!(
            "listen: {listen}\nadmin: {admin}\npools: {{ web: {{ instances: ['127.0.0.1:{first}'] }} }}\n\
             routes: [{{ path_prefix: /, pool: web }}]\n"
        );
        std::fs::write(&file, text).unwrap();
        let mut world = World { folder, listen, admin, first, gateway: None, _slot: slot };
        world.start_gateway();
        world.write(command, "web", more);
        world
    }

    fn start_gateway(&mut self) {
        let file = self.folder.path().join("gateway.yaml");
        self.gateway = Some(Server::start(headroom(&["gateway", file.to_str().unwrap()]), self.listen));
    }

    /// The addresses of the pool.
    fn members(&self) -> Vec<String> {
        let mut stream = TcpStream::connect(self.admin).unwrap();
        let host = self.admin;
        write!(stream, "GET /pools/web HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).unwrap();
        let body = &response[response.find('{').unwrap()..=response.rfind('}').unwrap()];
        let pool: Value = serde_json::from_str(body).unwrap();
        let address = |one: &Value| one["address"].as_str().unwrap().to_owned();
        pool["instances"].as_array().unwrap().iter().map(address).collect()
    }

    /// `more` follows in `live`.
    fn write(&self, command: &str, pool: &str, more: &str) {
        let (admin, first, last) = (self.admin, self.first, self.first + 12);
        let program = env!("CARGO_BIN_EXE_headroom");
        let command = command.replace("sample-service", &format!("{program} sample-service"));
        let text = format!(
            "case: scaled
traffic: {{ rate: 10/s }}
services:
  web:
    endpoints: {{ page: {{ wait: 5ms }} }}
    server: {{ threads: 64 }}
    hosts: {{ small: {{ cores: 1 }} }}
    instances: 1
    start: {{ drain: 10s }}
    scaling:
      min: 1
      max: 4
      platform: local
      repeat: each-period
      alarms:
        busy: {{ metric: requests, statistic: sum, above: '60', period: 1s }}
        idle: {{ metric: requests, statistic: sum, below: '30', period: 1s, missing: breaching }}
      policies:
        out: {{ alarms: [busy], change: '+3', cooldown: 2s }}
        in: {{ alarms: [idle], change: '-3', cooldown: 2s }}
live:
  gateway: {{ admin: '{admin}', pool: {pool} }}
  processes: {{ command: \"{command}\", ports: {first}-{last}, ready: /, start: 1s, stop: 2s }}
  period: 1s
  state: run
{more}"
        );
        std::fs::write(self.file(), text).unwrap();
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("case.yaml")
    }

    fn state(&self, name: &str) -> PathBuf {
        self.folder.path().join("run").join(name)
    }

    fn scale(&self, more: &[&str]) -> Command {
        headroom(&[&["scale", self.file().to_str().unwrap()], more].concat())
    }

    fn run(&self, more: &[&str]) -> Output {
        self.scale(more).output().unwrap()
    }

    /// The processes of the state file, with their phases.
    fn instances(&self) -> Vec<(u32, String)> {
        let Ok(text) = std::fs::read_to_string(self.state("instances.json")) else { return Vec::new() };
        let file: Value = serde_json::from_str(&text).unwrap();
        let of = |one: &Value| {
            let process = one["process"].as_str()?.split(' ').nth(1)?.parse().ok()?;
            Some((process, one["phase"].as_str()?.to_owned()))
        };
        file["instances"].as_array().unwrap().iter().filter_map(of).collect()
    }

    fn ready(&self) -> Vec<u32> {
        let all = self.instances().into_iter();
        all.filter(|(_, phase)| phase == "ready").map(|(process, _)| process).collect()
    }

    /// How many instances were started, as the state file has it.
    fn started(&self) -> u64 {
        let text = std::fs::read_to_string(self.state("instances.json")).unwrap();
        serde_json::from_str::<Value>(&text).unwrap()["next"].as_u64().unwrap()
    }

    fn set(&self, size: u32) {
        std::fs::write(self.state("size"), size.to_string()).unwrap();
    }
}

impl Drop for World {
    fn drop(&mut self) {
        for (process, _) in self.instances() {
            let _ = Command::new("kill").args(["-9", "--", &format!("-{process}")]).status();
        }
    }
}

/// The first of thirteen ports, which no other test of this process has.
fn range() -> u16 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    static BASE: OnceLock<u16> = OnceLock::new();
    let base = BASE.get_or_init(|| free_addresses::<1>()[0].port() % 50);
    let step = NEXT.fetch_add(1, Ordering::Relaxed) as u16;
    // Below the ports that the system chooses, and by the process, so that test runs beside each other differ.
    20_000 + base * 240 + step * 16
}

fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(30);
    while !holds() {
        assert!(Instant::now() < end, "not: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// A scaler that runs beside the test.
struct Scaler(Child);

impl Scaler {
    fn start(mut command: Command) -> Self {
        Scaler(command.spawn().unwrap())
    }

    fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }

    /// Ends it in an orderly way; what it printed.
    fn end(mut self) -> (String, String) {
        let _ = Command::new("kill").arg(self.0.id().to_string()).status();
        let (mut out, mut err) = (String::new(), String::new());
        self.0.stdout.take().unwrap().read_to_string(&mut out).unwrap();
        self.0.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        assert_eq!(self.0.wait().unwrap().code(), Some(0), "{err}");
        (out, err)
    }
}

impl Drop for Scaler {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Clients that ask one after the other with a pause, and keep every failure.
struct Load {
    stop: Arc<AtomicBool>,
    pause_us: Arc<AtomicU64>,
    asked: Arc<AtomicUsize>,
    clients: Vec<JoinHandle<Vec<String>>>,
}

impl Load {
    fn start(address: SocketAddr, clients: usize, pause: Duration) -> Self {
        let (stop, asked) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let pause_us = Arc::new(AtomicU64::new(pause.as_micros() as u64));
        let client = |_| {
            let (stop, asked, pause) = (Arc::clone(&stop), Arc::clone(&asked), Arc::clone(&pause_us));
            std::thread::spawn(move || {
                let mut stream = BufReader::new(TcpStream::connect(address).unwrap());
                let mut failures = Vec::new();
                while !stop.load(Ordering::Relaxed) {
                    match ask(&mut stream) {
                        Ok(line) if line.contains(" 200 ") => {}
                        Ok(line) => failures.push(line),
                        Err(error) => {
                            failures.push(error.to_string());
                            if let Ok(again) = TcpStream::connect(address) {
                                stream = BufReader::new(again);
                            }
                        }
                    }
                    asked.fetch_add(1, Ordering::Relaxed);
                    std::thread::sleep(Duration::from_micros(pause.load(Ordering::Relaxed)));
                }
                failures
            })
        };
        let clients = (0..clients).map(client).collect();
        Load { stop, pause_us, asked, clients }
    }

    fn slower(&self, pause: Duration) {
        self.pause_us.store(pause.as_micros() as u64, Ordering::Relaxed);
    }

    fn end(self) -> (usize, Vec<String>) {
        self.stop.store(true, Ordering::Relaxed);
        let failures = self.clients.into_iter().flat_map(|client| client.join().unwrap()).collect();
        (self.asked.load(Ordering::Relaxed), failures)
    }
}

/// The status line of the response.
fn ask(stream: &mut BufReader<TcpStream>) -> std::io::Result<String> {
    // A POST is not sent again, so that every lost request is seen.
    write!(stream.get_mut(), "POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 0\r\n\r\n")?;
    let (mut status, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line)? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        if status.is_empty() {
            status.clone_from(&line);
        }
        if let Some(found) = line.to_ascii_lowercase().strip_prefix("content-length: ") {
            length = found.trim().parse().unwrap();
        }
        if line == "\r\n" {
            let mut body = vec![0; length];
            stream.read_exact(&mut body)?;
            return Ok(status);
        }
    }
}

#[test]
fn scales_out_and_in_under_load_without_a_failed_request() {
    let world = World::new(SERVES, "");
    let scaler = Scaler::start(world.scale(&["--apply", "--json"]));
    eventually("the first instance serves", || world.ready().len() == 1);
    // 8 clients with a pause of 50 ms: about 140/s.
    let load = Load::start(world.listen, 8, Duration::from_millis(50));
    eventually("the policy has scaled out", || world.ready().len() == 4);
    // About 8 clients every 400 ms: 20/s.
    load.slower(Duration::from_millis(400));
    eventually("the policy has scaled in", || world.instances().len() == 1);
    let (asked, failures) = load.end();
    assert!(failures.is_empty(), "{} of {asked} failed: {failures:?}", failures.len());
    let (out, err) = scaler.end();
    let schema = serde_json::from_str(documents::scale::SCHEMA).unwrap();
    let decisions: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for decision in &decisions {
        assert_eq!(check(&schema, decision), Vec::<String>::new());
    }
    let changes = |policy: &str| {
        decisions.iter().filter(|one| one["policy"] == policy && one["applied"] == true).count()
    };
    assert!(changes("out") >= 1 && changes("in") >= 1, "{out}{err}");
    for decision in &decisions {
        assert!((1..=4).contains(&decision["to"].as_u64().unwrap()), "{decision}");
    }
    assert_eq!(err.matches("next: headroom scale --replay r").count(), 1, "{err}");
    replays(&world);
}

/// The record decides the same again; without one of its samples it does not.
fn replays(world: &World) {
    let record = world.state("record.jsonl");
    let replay = |path: &PathBuf| headroom(&["scale", "--replay", path.to_str().unwrap()]).output().unwrap();
    let same = replay(&record);
    assert_eq!(same.status.code(), Some(0), "{}{}", text(&same.stdout), text(&same.stderr));
    assert!(text(&same.stdout).contains("the same decisions at the same times"));
    let kept = std::fs::read_to_string(&record).unwrap();
    let dropped: Vec<&str> = kept.lines().filter(|line| !line.contains("\"number\":1,\"at_ns\"")).collect();
    let cut = world.state("cut.jsonl");
    std::fs::write(&cut, dropped.join("\n")).unwrap();
    let other = replay(&cut);
    assert_eq!(other.status.code(), Some(99), "{}", text(&other.stderr));
    assert!(
        text(&other.stdout).contains("1 sample missing, the first is number 1"),
        "{}",
        text(&other.stdout)
    );
}

/// A Prometheus that reads the gateway's metrics once a second; it ends with the test.
struct Prometheus {
    child: Child,
    address: SocketAddr,
}

impl Prometheus {
    fn start(program: &Path, world: &World) -> Self {
        let [address] = free_addresses();
        let config = world.folder.path().join("prometheus.yml");
        let text = format!(
            "global: {{ scrape_interval: 1s }}\nscrape_configs: [{{ job_name: gateway, static_configs: [{{ targets: ['{}'] }}] }}]\n",
            world.admin
        );
        std::fs::write(&config, text).unwrap();
        let child = Command::new(program)
            .arg(format!("--web.listen-address={address}"))
            .arg(format!("--config.file={}", config.display()))
            .arg(format!("--storage.tsdb.path={}", world.folder.path().join("data").display()))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Prometheus { child, address }
    }

    fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        self.kill();
    }
}

#[test]
fn a_prometheus_counts_the_requests() {
    let Some(program) = peer("prometheus") else { return };
    let world = World::new(SERVES, "");
    let mut prometheus = Prometheus::start(&program, &world);
    let queries = format!(
        "  prometheus:
    url: http://{}
    requests: sum(rate(headroom_requests_total[3s])) or vector(0)
    errors: sum(rate(headroom_requests_total{{status=~'5..'}}[3s]))
    in_flight: sum(headroom_in_flight)
    every: 1s
",
        prometheus.address
    );
    world.write(SERVES, "web", &queries);
    // Without a scrape there is no series of the requests in flight.
    eventually("the metrics are scraped", || world.run(&["--for", "1s"]).status.code() == Some(0));
    let scaler = Scaler::start(world.scale(&["--apply", "--json"]));
    eventually("the first instance serves", || world.ready().len() == 1);
    let load = Load::start(world.listen, 8, Duration::from_millis(50));
    eventually("the policy has scaled out", || world.ready().len() == 4);
    load.slower(Duration::from_millis(400));
    eventually("the policy has scaled in", || world.instances().len() == 1);
    // Without its metrics nothing changes, and it says why.
    prometheus.kill();
    load.slower(Duration::from_millis(50));
    std::thread::sleep(Duration::from_secs(3));
    assert_eq!(world.instances().len(), 1);
    let (asked, failures) = load.end();
    assert!(failures.is_empty(), "{} of {asked} failed: {failures:?}", failures.len());
    let (out, err) = scaler.end();
    assert!(err.contains(&format!("metrics: Prometheus http://{}", prometheus.address)), "{err}");
    assert!(
        out.lines().all(|line| !line.contains("\"applied\":true")
            || line.contains("\"to\":4")
            || line.contains("\"to\":1")),
        "{out}"
    );
    // A query that gives nothing is named before anything is changed.
    let wrong = queries.replace("headroom_requests_total[3s])) or vector(0)", "no_such_metric[3s]))");
    let mut again = Prometheus::start(&program, &world);
    let wrong = wrong.replace(&prometheus.address.to_string(), &again.address.to_string());
    world.write(SERVES, "web", &wrong);
    eventually("the query is named", || {
        let refused = world.run(&["--apply"]);
        refused.status.code() == Some(2)
            && text(&refused.stderr).contains("`requests`: the query gave no series")
    });
    again.kill();
}

#[test]
fn a_hundred_scale_ins_under_load_lose_nothing() {
    // The size is set by hand, so that the policy leaves it alone.
    let world = World::new(SERVES, "  guard: { by_hand: 1h, max: 11 }\n");
    let scaler = Scaler::start(world.scale(&["--apply"]));
    eventually("the first instance serves", || world.ready().len() == 1);
    std::fs::write(world.state("pause"), "").unwrap();
    let load = Load::start(world.listen, 8, Duration::from_millis(2));
    for round in 0..10 {
        world.set(11);
        eventually(&format!("eleven in round {round}"), || world.ready().len() == 11);
        world.set(1);
        eventually(&format!("one in round {round}"), || world.instances().len() == 1);
    }
    let (asked, failures) = load.end();
    assert!(asked > 500, "{asked}");
    assert!(failures.is_empty(), "{} of {asked} failed: {failures:?}", failures.len());
    scaler.end();
}

#[test]
fn the_ledger_keeps_each_run_with_its_decisions() {
    let world = World::new(SERVES, "");
    let ledger = world.folder.path().join("ledger.sqlite").to_str().unwrap().to_owned();
    let kept = |arguments: &[&str]| headroom(&[arguments, &["--ledger", &ledger]].concat()).output().unwrap();
    let run = |file: &str| kept(&["scale", file, "--apply", "--for", "4s"]);
    let file = world.file().to_str().unwrap().to_owned();
    let load = Load::start(world.listen, 8, Duration::from_millis(50));
    let first = run(&file);
    load.end();
    assert_eq!(first.status.code(), Some(0), "{}", text(&first.stderr));
    let shown: Value = serde_json::from_slice(&kept(&["show", "r1", "--json"]).stdout).unwrap();
    assert_eq!((&shown["command"], &shown["state"]), (&"scale".into(), &"done".into()), "{shown:#}");
    let decisions = shown["result"]["decisions"].as_array().unwrap();
    assert!(decisions.iter().any(|one| one["policy"] == "out" && one["applied"] == true), "{shown:#}");
    assert!(shown["config"]["text"].as_str().unwrap().starts_with("case: scaled"), "{shown:#}");
    let for_people = kept(&["show", "r1"]);
    let for_people = text(&for_people.stdout);
    assert!(for_people.contains("\ndecisions\n") && for_people.contains("  1 -> 4  out: "), "{for_people}");
    assert!(!for_people.contains("case: scaled"), "{for_people}");
    // The state directory keeps the samples of the last two.
    run(&file);
    for id in ["r1", "r2"] {
        let replayed = kept(&["scale", "--replay", id]);
        let (out, err) = (text(&replayed.stdout), text(&replayed.stderr));
        assert_eq!(replayed.status.code(), Some(0), "{out}{err}");
        assert!(out.contains("the same decisions at the same times"), "{out}");
    }
    run(&file);
    for (id, words) in [("r1", "the samples of run r1 are not there any more"), ("r9", "no run r9")] {
        let refused = kept(&["scale", "--replay", id]);
        assert_eq!(refused.status.code(), Some(2));
        assert!(text(&refused.stderr).contains(words), "{}", text(&refused.stderr));
    }
}

/// A process whose files may not grow, as on a full disk, until this is dropped.
struct FullDisk(u32);

impl FullDisk {
    fn of(process: u32) -> Self {
        assert!(FullDisk::limit(process, "1:"));
        FullDisk(process)
    }

    fn limit(process: u32, bytes: &str) -> bool {
        let arguments = ["--pid", &process.to_string(), &format!("--fsize={bytes}")];
        Command::new("prlimit").args(arguments).status().is_ok_and(|status| status.success())
    }
}

impl Drop for FullDisk {
    fn drop(&mut self) {
        FullDisk::limit(self.0, "unlimited:");
        if std::thread::panicking() {
            // The state is written again, by which the instances are ended.
            std::thread::sleep(Duration::from_millis(1500));
        }
    }
}

#[test]
fn a_full_disk_stops_no_decision() {
    let world = World::new(SERVES, "");
    let ledger = world.folder.path().join("ledger.sqlite").to_str().unwrap().to_owned();
    let scale = world.scale(&["--apply", "--ledger", &ledger]);
    // Without the signal of the limit, writing fails.
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\""]).arg(scale.get_program()).args(scale.get_args());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let scaler = Scaler::start(command);
    eventually("the first instance serves", || world.ready().len() == 1);
    let record = || std::fs::metadata(world.state("record.jsonl")).map_or(0, |file| file.len());
    eventually("samples are recorded", || record() > 1_000);
    let started = world.started();
    let full = FullDisk::of(scaler.0.id());
    let recorded = record();
    let load = Load::start(world.listen, 8, Duration::from_millis(50));
    eventually("the policy has scaled out", || world.members().len() == 4);
    load.slower(Duration::from_millis(400));
    eventually("the policy has scaled in", || world.members().len() == 1);
    let (asked, failures) = load.end();
    assert!(failures.is_empty(), "{} of {asked} failed: {failures:?}", failures.len());
    assert!(record() <= recorded + 1, "the disk was full");
    drop(full);
    eventually("the state is written again", || world.started() >= started + 3);
    eventually("samples are recorded again", || record() > recorded + 1);
    let (_, err) = scaler.end();
    assert!(err.contains("record.jsonl cannot be written") && err.contains("cannot write"), "{err}");
    let replayed =
        headroom(&["scale", "--replay", world.state("record.jsonl").to_str().unwrap()]).output().unwrap();
    // What was kept in memory was written later; what was not is a gap that is found.
    assert!(matches!(replayed.status.code(), Some(0 | 99)), "{}", text(&replayed.stderr));
    let shown = headroom(&["show", "r1", "--json", "--ledger", &ledger]).output().unwrap();
    let shown: Value = serde_json::from_slice(&shown.stdout).unwrap();
    let decisions = shown["result"]["decisions"].as_array().unwrap();
    assert!(decisions.iter().any(|one| one["policy"] == "in" && one["applied"] == true), "{shown:#}");
}

#[test]
fn instances_outlive_a_killed_scaler_and_a_standby_takes_over() {
    let world = World::new(SERVES, "  guard: { min: 2 }\n");
    let mut first = Scaler::start(world.scale(&["--apply"]));
    eventually("two instances serve", || world.ready().len() == 2);
    let standby = Scaler::start(world.scale(&["--apply"]));
    std::thread::sleep(Duration::from_millis(500));
    let before = world.ready();
    // Neither busy nor idle.
    let load = Load::start(world.listen, 1, Duration::from_millis(20));
    std::thread::sleep(Duration::from_secs(5));
    let while_it_waited = load.asked.load(Ordering::Relaxed) as u64;
    first.kill();
    let killed = Instant::now();
    std::fs::remove_file(world.state("record.jsonl")).unwrap();
    let leads = || {
        let lock = std::fs::read_to_string(world.state("lock")).unwrap_or_default();
        lock.trim() == standby.0.id().to_string()
    };
    eventually("the standby leads", leads);
    assert!(killed.elapsed() < Duration::from_secs(15));
    // It adopts the instances, and works with them.
    world.set(3);
    eventually("it starts a third one", || world.ready().len() == 3);
    assert!(before.iter().all(|process| world.ready().contains(process)), "{before:?} {:?}", world.ready());
    let first_sample = || {
        let record = std::fs::read_to_string(world.state("record.jsonl")).ok()?;
        let mut lines = record.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        lines.find(|line| line["line"] == "sample")
    };
    eventually("its first step is over", || first_sample().is_some());
    let (asked, failures) = load.end();
    assert!(failures.is_empty(), "{} of {asked} failed: {failures:?}", failures.len());
    let (_, err) = standby.end();
    assert!(err.contains("standby: another scaler leads"), "{err}");
    assert!(err.contains("adopted 2 running instances"), "{err}");
    assert_eq!(world.ready().len(), 3, "they outlive the scaler that ends, too");
    // Its first step has the requests of that step, and not those of the time in which it waited.
    let first = first_sample().unwrap();
    let arrived = first["requests"]["arrived"].as_u64().unwrap();
    assert!(arrived < while_it_waited, "{arrived} of {while_it_waited}");
}

#[test]
fn an_instance_that_is_killed_or_never_ready_is_replaced() {
    let world = World::new(SERVES, "");
    let scaler = Scaler::start(world.scale(&["--apply"]));
    eventually("the first instance serves", || world.ready().len() == 1);
    let victim = world.ready()[0];
    assert!(Command::new("kill").args(["-9", &victim.to_string()]).status().unwrap().success());
    eventually("another one serves", || world.ready().first().is_some_and(|process| *process != victim));
    let (_, err) = scaler.end();
    assert!(err.contains("ended by itself (signal: 9 (SIGKILL))"), "{err}");

    let never = World::new("sleep 60 # {port}", "");
    let output = never.run(&["--apply", "--for", "4s"]);
    let err = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{err}");
    assert!(err.contains("was not ready within 1s; it is replaced"), "{err}");
    assert!(never.ready().is_empty());
}

#[test]
fn a_gateway_that_was_killed_gets_its_instances_again() {
    let mut world = World::new(SERVES, "");
    let scaler = Scaler::start(world.scale(&["--apply"]));
    eventually("the first instance serves", || world.ready().len() == 1);
    let load = Load::start(world.listen, 8, Duration::from_millis(50));
    eventually("the policy has scaled out", || world.ready().len() == 4);
    let before = world.ready();
    world.gateway.as_mut().unwrap().kill();
    // Nothing is known of the load now, which is not the same as no load: nothing is removed, and none is replaced.
    let end = Instant::now() + Duration::from_secs(6);
    while Instant::now() < end {
        assert_eq!(world.ready(), before);
        std::thread::sleep(Duration::from_millis(100));
    }
    // It reads its file again, which has one of the four. The policy is to leave the size as it is meanwhile.
    std::fs::write(world.state("pause"), "").unwrap();
    world.start_gateway();
    eventually("the pool has all of them", || world.members().len() == 4);
    assert_eq!(world.ready(), before);
    load.end();
    let (_, err) = scaler.end();
    assert!(err.contains("metrics: "), "{err}");
}

#[test]
fn metrics_that_run_backwards_never_remove_an_instance() {
    let world = World::new(SERVES, "  file: totals.json\n");
    let (path, stop) = (world.folder.path().join("totals.json"), Arc::new(AtomicBool::new(false)));
    // Requests that each writing adds. 200 a second: the policy wants all four.
    let adds = Arc::new(AtomicI64::new(10));
    let write = move |total: i64| {
        let new = path.with_extension("new");
        std::fs::write(&new, format!(r#"{{"arrived":{total},"answered":{total},"in_flight":0}}"#)).unwrap();
        std::fs::rename(&new, &path).unwrap();
    };
    write(1_000_000);
    let writer = std::thread::spawn({
        let (stop, adds) = (Arc::clone(&stop), Arc::clone(&adds));
        move || {
            let mut total = 1_000_000;
            while !stop.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(50));
                total += adds.load(Ordering::Relaxed);
                write(total);
            }
        }
    });
    let scaler = Scaler::start(world.scale(&["--apply", "--json"]));
    eventually("the policy has scaled out", || world.ready().len() == 4);
    adds.store(-10, Ordering::Relaxed);
    let end = Instant::now() + Duration::from_secs(6);
    while Instant::now() < end {
        assert_eq!(world.instances().len(), 4);
        std::thread::sleep(Duration::from_millis(100));
    }
    adds.store(0, Ordering::Relaxed);
    eventually("with metrics the policy scales in", || world.instances().len() == 1);
    stop.store(true, Ordering::Relaxed);
    writer.join().unwrap();
    let (out, err) = scaler.end();
    assert!(out.contains("metrics contradict each other; nothing is removed"), "{out}{err}");
}

#[test]
fn a_schedule_is_of_the_clock_for_a_standby_too() {
    let world = World::new(SERVES, "");
    let begun = Instant::now();
    let at = Command::new("date").args(["-u", "-d", "+12 seconds", "+%FT%TZ"]).output().unwrap();
    let schedule =
        format!("      schedule: [{{ at: '{}', min: 3 }}]\n      alarms:\n", text(&at.stdout).trim());
    let case = std::fs::read_to_string(world.file()).unwrap().replacen("      alarms:\n", &schedule, 1);
    std::fs::write(world.file(), case).unwrap();
    let mut first = Scaler::start(world.scale(&["--apply"]));
    eventually("the first instance serves", || world.ready().len() == 1);
    let standby = Scaler::start(world.scale(&["--apply"]));
    std::thread::sleep(Duration::from_secs(2));
    first.kill();
    while begun.elapsed() < Duration::from_secs(10) {
        assert!(world.ready().len() < 2, "not yet");
        std::thread::sleep(Duration::from_millis(100));
    }
    eventually("it is time for three", || world.ready().len() == 3);
    standby.end();
    replays(&world);
}

#[test]
fn a_clock_that_is_set_changes_nothing() {
    let Some(library) = peer("libfaketime.so.1") else { return };
    let world = World::new(SERVES, "");
    let offset = world.folder.path().join("offset");
    let set = |text: &str| {
        let new = offset.with_extension("new");
        std::fs::write(&new, text).unwrap();
        std::fs::rename(&new, &offset).unwrap();
    };
    set("+0");
    let mut scaler = world.scale(&["--apply"]);
    // The clock of the scaler and of its instances only; the monotonic one cannot be set.
    scaler.env("LD_PRELOAD", library).env("FAKETIME_TIMESTAMP_FILE", &offset);
    scaler.envs([("FAKETIME_NO_CACHE", "1"), ("FAKETIME_DONT_FAKE_MONOTONIC", "1")]);
    let scaler = Scaler::start(scaler);
    eventually("the first instance serves", || world.ready().len() == 1);
    let load = Load::start(world.listen, 8, Duration::from_millis(50));
    eventually("the policy has scaled out", || world.ready().len() == 4);
    let before = world.ready();
    for step in ["+3600", "-7200", "+0"] {
        set(step);
        let end = Instant::now() + Duration::from_secs(3);
        while Instant::now() < end {
            assert_eq!(world.ready(), before, "after {step}");
            std::thread::sleep(Duration::from_millis(100));
        }
    }
    let (asked, failures) = load.end();
    assert!(failures.is_empty(), "{} of {asked} failed: {failures:?}", failures.len());
    eventually("it still scales in", || world.ready().len() == 1);
    scaler.end();
    let record = std::fs::read_to_string(world.state("record.jsonl")).unwrap();
    let lines = record.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let samples: Vec<Value> = lines.filter(|line| line["line"] == "sample").collect();
    for (number, sample) in samples.iter().enumerate() {
        assert_eq!(sample["number"], number);
        assert_eq!(sample["at_ns"], (number as u64 + 1) * 1_000_000_000, "each second has its step");
    }
    assert!(samples.len() > 9);
}

#[test]
fn recommends_without_changing_anything() {
    let world = World::new(SERVES, "");
    let first = format!("127.0.0.1:{}", world.first);
    let flags = ["sample-service", "--listen", &first, "--wait", "5ms", "--threads", "64"];
    let _instance = Server::start(headroom(&flags), first.parse().unwrap());
    let load = Load::start(world.listen, 8, Duration::from_millis(50));
    let output = world.run(&["--for", "5s"]);
    let (_, failures) = load.end();
    assert!(failures.is_empty(), "{failures:?}");
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(out.contains("1 -> 4 recommended  out: monitor alarm busy in state ALARM"), "{out}{err}");
    assert!(out.contains("1 instance wanted, 1 ready"), "{out}");
    assert!(err.contains("instance-minutes; as recommended"), "{err}");
    assert!(world.instances().is_empty() && !world.state("size").exists());
}

#[test]
fn mistakes_are_named_before_anything_is_changed() {
    let world = World::new(SERVES, "");
    let refused = |world: &World, more: &[&str], words: &[&str]| {
        let output = world.run(more);
        let err = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{err}");
        for word in words {
            assert!(err.contains(word), "{word}: {err}");
        }
        assert!(world.instances().is_empty());
    };
    world.write("sh -c 'exit 3' {port}", "web", "");
    refused(&world, &["--apply"], &["ended at once", "exit status: 3", "try it in a shell"]);
    world.write(SERVES, "wed", "");
    refused(&world, &["--apply"], &["no pool `wed`; there are `web`"]);
    world.write(SERVES, "web", "  guard: { min: 20, max: 30 }\n");
    refused(
        &world,
        &["--apply"],
        &["the minimum is 20", "`live.processes.ports`", "allows 13", "widen the range"],
    );
    let text = std::fs::read_to_string(world.file()).unwrap();
    std::fs::write(world.file(), text.split("live:").next().unwrap()).unwrap();
    refused(&world, &[], &["has no `live` section"]);
}
