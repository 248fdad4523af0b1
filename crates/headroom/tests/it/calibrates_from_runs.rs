use crate::programs::{Server, beside_others, free_address, headroom, text};
use serde_json::Value;
use std::path::Path;
use std::process::Output;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

struct Runs<'a> {
    folder: &'a Path,
}

impl Runs<'_> {
    fn headroom(&self, command: &[&str]) -> Output {
        let ledger = self.folder.join("ledger.sqlite");
        headroom(&[command, &["--ledger", ledger.to_str().unwrap()]].concat()).output().unwrap()
    }

    fn load(&self, url: &str, how: &[&str]) {
        let output = self.headroom(&[&["load", url], how].concat());
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    }

    fn calibrate(&self, runs: &[&str]) -> Output {
        let file = self.folder.join("case.yaml");
        self.headroom(&[&["calibrate"], runs, &["-o", file.to_str().unwrap(), "--json"]].concat())
    }

    fn refused(&self, runs: &[&str]) -> String {
        let output = self.calibrate(runs);
        assert_eq!(output.status.code(), Some(1), "{runs:?}: {}", text(&output.stdout));
        text(&output.stderr).to_owned()
    }
}

#[test]
fn runs_of_the_ledger_become_a_model() {
    let _slot = beside_others();
    let address = free_address();
    let listen = address.to_string();
    let command = headroom(&["sample-service", "--listen", &listen, "--threads", "2", "--wait", "20ms"]);
    let _server = Server::start(command, address);
    let url = format!("http://{address}/page");
    let folder = tempfile::tempdir().unwrap();
    let runs = Runs { folder: folder.path() };
    runs.load(&url, &["-c", "1", "-d", "3s"]);
    runs.load(&url, &["-r", "150/s", "-d", "9s"]);
    runs.load(&url, &["-r", "60/s", "--arrivals", "poisson", "-d", "4s"]);
    runs.load(&format!("http://{address}/other"), &["-c", "1", "-d", "2s"]);
    runs.load(&url, &["--stage", "1s:10/s", "--stage", "1s:20/s"]);

    let output = runs.calibrate(&["r1", "r2", "r3"]);
    let found: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)));
    let schema = serde_json::from_str(documents::calibrate::SCHEMA).unwrap();
    assert_eq!(crate::schema::check(&schema, &found), Vec::<String>::new());
    assert_eq!(found["target"], url.as_str());
    assert!(found["limited_by"].as_str().unwrap().starts_with("2 requests at once"), "{found:#}");
    assert!(found["unknown"].as_array().unwrap().contains(&"cpu".into()), "{found:#}");
    let backtest = found["backtest"].as_array().unwrap();
    assert!(!backtest.is_empty() && backtest.iter().all(|row| row["rate_per_second"] == 60.0), "{found:#}");

    // Without the overload, the limit is unknown, and the command that shows it is named.
    let output = runs.calibrate(&["r1", "r3"]);
    let found: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)));
    assert!(found["unknown"].as_array().unwrap().contains(&"throughput".into()), "{found:#}");
    let wish = format!("make one: headroom load {url} -c 64 -d 30s");
    assert!(found["reasons"].to_string().contains(&wish), "{found:#}");

    // Without a light run, the throughput is known, the wait is not, and the command that shows it is named.
    let output = runs.calibrate(&["r2", "r3"]);
    assert_eq!(output.status.code(), Some(99), "{}", text(&output.stderr));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let figure = |name: &str| {
        let figures = found["figures"].as_array().unwrap();
        figures.iter().find(|figure| figure["name"] == name).unwrap()["value"].clone()
    };
    let limit = |value: &Value| value.as_f64().is_some_and(|rate| (75.0..=110.0).contains(&rate));
    assert!(limit(&found["levels"][0]["per_second"]), "{found:#}");
    // Unknown where it varies too much, on a busy machine.
    assert!(figure("best throughput").is_null() || limit(&figure("best throughput")), "{found:#}");
    assert!(figure("wait").is_null() && figure("response time alone").is_null(), "{found:#}");
    assert!(found["unknown"].as_array().unwrap().contains(&"wait".into()), "{found:#}");
    let wish = format!("make one: headroom load {url} -c 1 -d 30s, and name it too");
    assert!(found["reasons"].to_string().contains(&wish), "{found:#}");
    assert_eq!(found["limited_by"], "unknown: no run of one user, so nothing shows it");

    // A trial alone shows neither.
    let told = runs.refused(&["r3"]);
    assert!(told.contains(&format!("make one: headroom load {url} -c 1 -d 30s")), "{told}");
    let told = runs.refused(&["r1", "r4"]);
    assert!(
        told.contains("run r1 is of") && told.contains("run r4 is of") && told.contains("/other"),
        "{told}"
    );
    let told = runs.refused(&["r1", "r5"]);
    assert!(told.contains("run r5 has no constant load"), "{told}");
    runs.load(&url, &["-r", "150/s", "-d", "4s"]);
    let told = runs.refused(&["r1", "r6"]);
    assert!(told.contains("run r6 is too short"), "{told}");
    let told = runs.refused(&["r1", "r99"]);
    assert!(told.contains("r99"), "{told}");
    let usage = runs.calibrate(&["r1", &url]);
    assert_eq!(usage.status.code(), Some(2));
    assert!(text(&usage.stderr).contains("expected one URL, or runs"), "{}", text(&usage.stderr));
}

#[test]
fn runs_in_which_the_service_shed_are_refused_by_name() {
    let _slot = beside_others();
    let service = crate::service::refusing_above(50.0, 503);
    let folder = tempfile::tempdir().unwrap();
    let runs = Runs { folder: folder.path() };
    runs.load(&format!("http://{service}/"), &["-r", "100/s", "-d", "3s"]);
    let told = runs.refused(&["r1"]);
    assert!(told.contains("run r1:") && told.contains("requests were shed (429 or 503)"), "{told}");
}

#[test]
fn runs_of_a_cache_or_of_two_versions_of_a_service_are_refused_by_name() {
    let _slot = beside_others();
    let served = AtomicU32::new(0);
    let service = crate::service::with_fields(move |head| {
        std::thread::sleep(Duration::from_millis(5));
        let version = if served.fetch_add(1, Ordering::Relaxed) < 100 { 1 } else { 2 };
        let cache = if head.contains(" /cached") { "X-Cache: HIT\r\n" } else { "" };
        format!("Server: shop/{version}\r\n{cache}")
    });
    let folder = tempfile::tempdir().unwrap();
    let runs = Runs { folder: folder.path() };
    let url = format!("http://{service}/");
    runs.load(&url, &["-c", "1", "-n", "100"]);
    runs.load(&url, &["-c", "1", "-n", "100"]);
    runs.load(&format!("http://{service}/cached"), &["-c", "1", "-n", "100"]);
    let told = runs.refused(&["r1", "r2"]);
    assert!(
        told.contains("changed between runs r1 and r2: its Server field was shop/1, then shop/2"),
        "{told}"
    );
    let told = runs.refused(&["r3"]);
    assert!(told.contains("run r3: ") && told.contains("come from a cache (X-Cache: HIT)"), "{told}");
}
