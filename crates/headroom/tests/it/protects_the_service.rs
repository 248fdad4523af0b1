//! The gateway file of a search, used in front of a real service: overload on the measured path and on others, and a
//! service that fails immediately.

use crate::disturbance::again_if_disturbed;
use crate::programs::{Server, alone, beside_others, free_addresses, headroom, json, load, text};
use crate::service;
use serde_json::Value;
use std::net::SocketAddr;
use std::path::Path;

/// The file that a search of the preset `search-cgi` writes: what the unit tests of `find` keep.
const FILE: &str = include_str!(
    "../../src/commands/find/snapshots/headroom__commands__find__tests__the_gateway_file_reads_back_and_says_where_it_comes_from.snap"
);

/// The measured rate, 5 % below the low end.
const LIMIT: f64 = 100.0;

/// A gateway with a file that `find` wrote, in front of a service at another address than the file has.
fn gateway(
    directory: &Path,
    file: &str,
    [listen, admin]: [SocketAddr; 2],
    service: Option<SocketAddr>,
) -> Server {
    let mut file = file.replace("127.0.0.1:8080", &listen.to_string());
    file = file.replace("127.0.0.1:9901", &admin.to_string());
    if let Some(service) = service {
        file = file.replace("127.0.0.1:9000", &service.to_string());
    }
    let path = directory.join("gateway-in-use.yaml");
    std::fs::write(&path, file).unwrap();
    Server::start(headroom(&["gateway", path.to_str().unwrap()]), listen)
}

/// The preset, with a second path of the same cost; every other path answers at once.
fn preset(listen: SocketAddr) -> Server {
    let address = listen.to_string();
    let flags = ["--preset", "search-cgi", "--route", "/other hold=18.6ms", "--listen", &address];
    Server::start(headroom(&[&["sample-service"][..], &flags].concat()), listen)
}

fn with_gateway(test: impl Fn(SocketAddr)) {
    let _alone = alone();
    again_if_disturbed(|| {
        let directory = tempfile::tempdir().unwrap();
        let [service, listen, admin] = free_addresses();
        let _service = preset(service);
        let file = FILE.splitn(3, "---\n").nth(2).unwrap();
        let _gateway = gateway(directory.path(), file, [listen, admin], Some(service));
        test(listen);
    });
}

/// Answers of this status.
fn count(value: &Value, status: &str) -> f64 {
    value["status"][status].as_f64().unwrap_or(0.0)
}

fn flood(listen: SocketAddr, path: &str, per_second: f64, seconds: u32) -> Value {
    let (rate, length) = (format!("{per_second}/s"), format!("{seconds}s"));
    json(&load(&format!("http://{listen}{path}"), &["-r", &rate, "-d", &length, "--timeout", "2s", "--json"]))
}

#[test]
fn a_flood_on_a_path_that_was_not_measured_does_not_collapse_the_service() {
    with_gateway(|listen| {
        let value = flood(listen, "/other", 1.8 * LIMIT, 10);
        let (good, timed_out) = (count(&value, "200"), value["accounting"]["timed_out"].as_u64());
        assert!(good >= 0.8 * LIMIT * 10.0 && timed_out == Some(0), "{value}");
        assert!(count(&value, "503") > 0.5 * LIMIT * 10.0, "{value}");
    });
}

#[test]
fn floods_on_both_paths_leave_the_service_at_its_best() {
    with_gateway(|listen| {
        let other = std::thread::spawn(move || flood(listen, "/other", 1.5 * LIMIT, 10));
        let measured = flood(listen, "/search.cgi", 1.5 * LIMIT, 10);
        let other = other.join().unwrap();
        let good = count(&measured, "200") + count(&other, "200");
        assert!(good >= 0.8 * LIMIT * 10.0, "{measured}\n{other}");
    });
}

#[test]
fn cheap_paths_in_great_numbers_are_not_shed_in_calm() {
    // Where the machine stands still for longer than a place may be waited for, some are shed, and rightly.
    with_gateway(|listen| {
        let measured = std::thread::spawn(move || flood(listen, "/search.cgi", 0.5 * LIMIT, 5));
        let cheap = flood(listen, "/cheap", 30.0 * LIMIT, 5);
        for value in [measured.join().unwrap(), cheap] {
            let scheduled = value["accounting"]["scheduled"].as_f64().unwrap();
            assert!(count(&value, "200") >= 0.95 * scheduled, "{value}");
        }
    });
}

/// Answers of a service that refuses above 150 a second, of a flood of 1.5 times that through the file that `find`
/// wrote for this goal: good ones, and refusals of the service itself.
fn refusals(status: u16, goal: &[&str]) {
    let _slot = beside_others();
    again_if_disturbed(|| {
        let directory = tempfile::tempdir().unwrap();
        let service = service::refusing_above(150.0, status);
        let file = directory.path().join("written.yaml");
        let url = format!("http://{service}/pay");
        let mut command = headroom(&["find", &url, "--budget", "60s", "--json"]);
        for condition in goal {
            command.args(["--slo", condition]);
        }
        let output = command.arg("--write").arg(&file).output().unwrap();
        let story = text(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{story}");
        let found: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(found["limited_by"], "failures", "{story}");
        let low = found["sustainable_rate"]["low"].as_f64().unwrap();
        let always = found["gateway"]["rate_always"].as_f64().unwrap();
        assert!(always <= low && always > 0.99 * low, "{low} {always}");
        let written = std::fs::read_to_string(&file).unwrap();
        assert!(
            written.contains("not_conforming: [429, 5xx]") && written.contains("Limited by failures"),
            "{written}"
        );
        let [listen, admin] = free_addresses();
        let _gateway = gateway(directory.path(), &written, [listen, admin], None);
        // Spelt in another way, and the path below it: it has one limit.
        for path in ["/pay", "/PAY/info", "/%70ay;x=1", "//pay/../pay"] {
            let value = flood(listen, path, 1.5 * low, 4);
            let (good, failed) = (count(&value, "200"), count(&value, "500") + count(&value, "429"));
            assert!(good > 0.85 * low * 4.0, "{path}: {value}");
            assert!(failed < 0.01 * (good + failed), "{path}: {failed} of {}\n{value}", good + failed);
        }
    });
}

#[test]
fn a_service_that_answers_429_above_its_limit_is_protected() {
    refusals(429, &["failed<1%"]);
}

#[test]
fn a_service_that_answers_500_above_its_limit_is_protected() {
    refusals(500, &["p(95)<100ms", "failed<1%"]);
}
