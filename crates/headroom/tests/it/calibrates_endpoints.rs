use crate::disturbance::again_if_disturbed;
use crate::programs::{beside_one, beside_others, headroom, text};
use crate::schema::check;
use crate::service::{with_bodies, with_fields};
use serde_json::Value;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Condvar, Mutex};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Places that requests hold for a time.
struct Places {
    free: Mutex<u32>,
    came: Condvar,
}

impl Places {
    fn new(count: u32) -> Self {
        Places { free: Mutex::new(count), came: Condvar::new() }
    }

    fn hold(&self, time: Duration) {
        let mut free = self.free.lock().unwrap();
        while *free == 0 {
            free = self.came.wait(free).unwrap();
        }
        *free -= 1;
        drop(free);
        sleep(time);
        *self.free.lock().unwrap() += 1;
        self.came.notify_one();
    }
}

/// Two threads; `/slow` takes 40 ms, all else 10 ms.
fn two_endpoints() -> SocketAddr {
    let threads = Places::new(2);
    with_fields(move |head| {
        threads.hold(Duration::from_millis(if head.contains(" /slow") { 40 } else { 10 }));
        String::new()
    })
}

fn calibrate(folder: &Path, more: &[&str]) -> Output {
    let file = folder.join("case.yaml");
    headroom(&[&["calibrate", "--length", "6s", "-o", file.to_str().unwrap()], more].concat())
        .output()
        .unwrap()
}

fn found(output: &Output) -> Value {
    let found = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)));
    let schema = serde_json::from_str(documents::calibrate::SCHEMA).unwrap();
    assert_eq!(check(&schema, &found), Vec::<String>::new());
    found
}

fn written(folder: &Path, name: &str, content: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, content).unwrap();
    path
}

/// The service is a mix of three quarters fast and a quarter slow requests, and the model predicts it.
fn is_the_mix(output: &Output, folder: &Path, names: [&str; 2]) {
    let found = found(output);
    let endpoints = found["endpoints"].as_array().unwrap();
    for (name, share, millis) in [(names[0], 0.75, 10.0..13.0), (names[1], 0.25, 40.0..44.0)] {
        let one = endpoints.iter().find(|one| one["name"] == name).unwrap_or_else(|| panic!("{found:#}"));
        assert!((one["share"].as_f64().unwrap() - share).abs() < 0.06, "{one:#}");
        assert!(millis.contains(&one["alone"]["value"].as_f64().unwrap()), "{one:#}");
        assert!(one["cpu"]["value"].is_null(), "{one:#}");
    }
    // Two threads of 17.5 ms on average.
    for compared in found["backtest"].as_array().unwrap().iter().filter(|one| one["what"] == "throughput") {
        let off = compared["predicted"].as_f64().unwrap() / compared["measured"].as_f64().unwrap();
        assert!((off - 1.0).abs() < 0.15, "{compared}");
    }
    let case = std::fs::read_to_string(folder.join("case.yaml")).unwrap();
    assert!(
        case.contains(&format!("      # {}\n", names[0])) && case.contains("        share: 0."),
        "{case}"
    );
    assert!(
        case.contains("      # wait alone: 1") && case.contains("from response time of one user"),
        "{case}"
    );
    let file = folder.join("case.yaml");
    for command in [&["config", "check"][..], &["simulate"]] {
        let output = headroom(&[command, &[file.to_str().unwrap()]].concat()).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    }
}

#[test]
fn the_endpoints_of_a_scenario_are_measured_in_their_mix() {
    let _slot = beside_others();
    let address = two_endpoints();
    let folder = tempfile::tempdir().unwrap();
    let scenario = format!(
        "scenario: shop\nbase: http://{address}\nload: {{ rate: 1/s, duration: 1s }}\nflows:\n  - name: visit\n    steps:\n      \
         - {{ get: /fast/one, name: look around, think: 5s }}\n      - {{ get: /fast/two, name: look around }}\n      \
         - {{ get: /fast/three, name: look around }}\n      - {{ get: /slow, name: check out }}\n"
    );
    let file = written(folder.path(), "shop.yaml", &scenario);
    let threads = ["--processes", "1", "--threads", "2", "--lock", "none", "--json"];
    let output = calibrate(folder.path(), &[&["--scenario", file.to_str().unwrap()], &threads[..]].concat());
    is_the_mix(&output, folder.path(), ["look around", "check out"]);
    let story = text(&output.stderr);
    assert!(story.contains("1 user for check out ... "), "{story}");
    let target = found(&output)["target"].as_str().unwrap().to_owned();
    assert!(target.starts_with(&format!("http://{address}/ with the requests of ")), "{target}");
}

fn log_line(path: &str, status: u16) -> String {
    format!(
        "10.0.0.7 - - [10/Oct/2025:13:55:36 +0000] \"GET {path} HTTP/1.1\" {status} 2326 \"-\" \"curl\"\n"
    )
}

#[test]
fn the_endpoints_of_an_access_log_are_measured_in_their_mix() {
    let _slot = beside_others();
    let address = two_endpoints();
    let folder = tempfile::tempdir().unwrap();
    let mut log = String::new();
    for number in 0..300 {
        log += &log_line(&format!("/products/{number}?page=2"), 200);
        if number % 3 == 0 {
            log += &log_line("/slow", 200);
        }
    }
    log += &log_line("/gone", 404);
    log += &log_line("/admin", 200);
    log += &log_line("/admin/2", 200).replace("GET", "POST");
    let file = written(folder.path(), "access.log", &log);
    let url = format!("http://{address}");
    let of_log = [&url, "--access-log", file.to_str().unwrap()];
    let threads = ["--processes", "1", "--threads", "2", "--lock", "none", "--json"];
    let output = calibrate(folder.path(), &[&of_log, &threads[..]].concat());
    is_the_mix(&output, folder.path(), ["GET /products/:id", "GET /slow"]);
    let assumed = found(&output)["assumptions"].to_string();
    assert!(assumed.contains("too rare to be measured is left out: GET /admin (0.25 %)"), "{assumed}");
    let story = text(&output.stderr);
    assert!(story.contains("1 of 403 requests change things and are left out"), "{story}");
    assert!(story.contains("left out: 1 request without a good status (200 to 399)"), "{story}");
}

#[test]
fn mixes_that_cannot_be_used_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let bad = written(folder.path(), "bad.log", "what is this\n");
    let gone = written(folder.path(), "gone.log", &log_line("/gone", 404));
    let (bad, gone) = (bad.to_str().unwrap(), gone.to_str().unwrap());
    let url = "http://127.0.0.1:9";
    for (arguments, said) in [
        (&["--scenario", "none.yaml"][..], "none.yaml"),
        (&[url, "--access-log", bad], "bad.log"),
        (&[url, "--access-log", gone], "gone.log has no request that could be sent"),
        (&["--access-log", gone], "TARGET"),
        (&["r1", "--access-log", gone], "--access-log is not used with runs of the ledger"),
        (&[url, "--access-log", gone, "--scenario", "a.yaml"], "cannot be used with"),
        (&[url, "--unsafe-methods"], "--access-log"),
    ] {
        let output = calibrate(folder.path(), arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", text(&output.stderr));
        assert!(text(&output.stderr).contains(said), "{arguments:?}: {}", text(&output.stderr));
    }
    assert!(!folder.path().join("case.yaml").exists());
}

#[test]
fn a_cache_that_only_its_fields_show_is_not_calibrated() {
    let _slot = beside_one();
    let folder = tempfile::tempdir().unwrap();
    let address = with_fields(|_| "X-Cache: HIT from edge\r\nAge: 7\r\n".to_owned());
    let output = calibrate(folder.path(), &[&format!("http://{address}/")]);
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("come from a cache (X-Cache: HIT from edge) with 1 users"), "{told}");
    assert!(!folder.path().join("case.yaml").exists());
}

#[test]
fn a_service_that_is_replaced_makes_the_model_suspect() {
    let _slot = beside_others();
    let folder = tempfile::tempdir().unwrap();
    let (threads, served) = (Places::new(2), AtomicU32::new(0));
    let address = with_fields(move |_| {
        threads.hold(Duration::from_millis(10));
        // One user alone has at most 1,200 responses in 12 s.
        let version = 1 + served.fetch_add(1, Ordering::Relaxed) / 1500;
        format!("Server: shop/{}\r\n", version.min(2))
    });
    let output = calibrate(folder.path(), &[&format!("http://{address}/"), "--json"]);
    let found = found(&output);
    let reasons = found["reasons"].to_string();
    assert!(reasons.contains("its Server field was shop/1 with one user, and shop/"), "{found:#}");
    assert_eq!((found["verdict"].as_str(), output.status.code()), (Some("suspect"), Some(99)));
}

#[test]
fn the_pool_is_the_part_that_the_service_reports() {
    let _slot = beside_others();
    let folder = tempfile::tempdir().unwrap();
    let pool = Places::new(2);
    let address = with_fields(move |_| {
        sleep(Duration::from_millis(10));
        pool.hold(Duration::from_millis(20));
        "Server-Timing: db;dur=20.2;desc=\"orders, stock\", log;dur=0.1\r\n".to_owned()
    });
    let threads = ["--processes", "1", "--threads", "16", "--lock", "none", "--json"];
    let output = calibrate(folder.path(), &[&[format!("http://{address}/").as_str()], &threads[..]].concat());
    let found = found(&output);
    let parts = found["parts"].as_array().unwrap();
    assert_eq!(
        (parts[0]["name"].as_str(), parts[1]["name"].as_str()),
        (Some("db"), Some("log")),
        "{found:#}"
    );
    assert!((parts[0]["alone"]["value"].as_f64().unwrap() - 20.2).abs() < 0.01, "{found:#}");
    let limit = found["limited_by"].as_str().unwrap();
    assert!(limit.starts_with("a shared pool of 2 places for `db` (Server-Timing)"), "{found:#}");
    let case = std::fs::read_to_string(folder.path().join("case.yaml")).unwrap();
    assert!(case.contains("pools:\n  db: { places: 2 }") && case.contains("- hold: db"), "{case}");
    let file = folder.path().join("case.yaml");
    let checked = headroom(&["config", "check", file.to_str().unwrap()]).output().unwrap();
    assert_eq!(checked.status.code(), Some(0), "{}", text(&checked.stderr));
}

/// The parts of a service with a pool of two places, by the metrics of the service: seconds in it, times `unit`.
fn with_metrics(unit: f64) -> SocketAddr {
    let (pool, spent) = (Places::new(2), Mutex::new(0.0));
    with_bodies(move |head| {
        if head.contains(" /metrics") {
            let spent: f64 = unit * *spent.lock().unwrap();
            return format!(
                "# TYPE db_seconds histogram\ndb_seconds_bucket{{le=\"+Inf\"}} 9\ndb_seconds_sum {spent}\ndb_seconds_count 9\n\
                 # TYPE other_seconds_total counter\nother_seconds_total 7\n# TYPE used gauge\nused 1\n"
            );
        }
        sleep(Duration::from_millis(10));
        let begun = Instant::now();
        pool.hold(Duration::from_millis(20));
        *spent.lock().unwrap() += begun.elapsed().as_secs_f64();
        String::new()
    })
}

#[test]
fn the_pool_is_the_part_that_a_metric_of_the_service_counts() {
    let _slot = beside_others();
    again_if_disturbed(|| {
        let folder = tempfile::tempdir().unwrap();
        let address = with_metrics(1.0);
        let (url, metrics) = (format!("http://{address}/"), format!("http://{address}/metrics"));
        let threads = ["--processes", "1", "--threads", "16", "--lock", "none", "--json"];
        let part = [&url, "--watch-metrics", &metrics, "--part", "db=db_seconds"];
        let found = found(&calibrate(folder.path(), &[&part, &threads[..]].concat()));
        let [part] = found["parts"].as_array().unwrap().as_slice() else { panic!("{found:#}") };
        let (alone, full) = (&part["alone"], part["full"]["value"].as_f64().unwrap());
        assert_eq!(
            (&part["name"], &alone["source"]),
            (&"db".into(), &"metric db_seconds".into()),
            "{found:#}"
        );
        assert!((20.0..22.0).contains(&alone["value"].as_f64().unwrap()) && full > 25.0, "{found:#}");
        let limit = found["limited_by"].as_str().unwrap();
        assert!(limit.starts_with("a shared pool of 2 places for `db` (db_seconds)"), "{found:#}");
        let case = std::fs::read_to_string(folder.path().join("case.yaml")).unwrap();
        assert!(case.contains("pools:\n  db: { places: 2 }") && case.contains("- hold: db"), "{case}");
    });
}

#[test]
fn metrics_that_do_not_show_a_part_are_named() {
    let _slot = beside_others();
    let folder = tempfile::tempdir().unwrap();
    let address = with_metrics(1000.0);
    let (url, metrics) = (format!("http://{address}/"), format!("http://{address}/metrics"));
    let gone = "http://127.0.0.1:9/metrics";
    let named = format!("{metrics}#db_seconds");
    for (watched, part, code, said) in [
        (metrics.as_str(), "db=db_query_seconds", 1, "there: db_seconds, other_seconds_total"),
        (&metrics, "db=other_seconds_total", 1, "did not grow during"),
        (&metrics, "db=db_seconds", 1, "either it is not in seconds"),
        (&metrics, "db=used", 1, "used is a gauge"),
        (gone, "db=db_seconds", 1, "cannot read --watch-metrics http://127.0.0.1:9/metrics"),
        (&named, "db=db_seconds", 2, "name each with --part NAME=db_seconds"),
        (&metrics, "db_seconds", 2, "write NAME=METRIC"),
        (&metrics, "db=db_query_ms", 2, "is not in seconds by its name"),
    ] {
        let file = folder.path().join("case.yaml");
        let arguments = ["calibrate", &url, "--length", "3s", "-o", file.to_str().unwrap()];
        let output = headroom(&[&arguments[..], &["--watch-metrics", watched, "--part", part]].concat());
        let output = { output }.output().unwrap();
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{watched} {part}: {told}");
        assert!(told.contains(said), "{watched} {part}: {told}");
        assert!(!file.exists(), "{watched} {part}");
    }
    let runs =
        headroom(&["calibrate", "r1", "--watch-metrics", gone, "--part", "db=a_seconds"]).output().unwrap();
    assert!(text(&runs.stderr).contains("--watch-metrics is not used with runs"), "{}", text(&runs.stderr));
}
