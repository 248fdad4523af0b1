//! The gateway file of a search in front of a real service: floods on the measured path and on others.

use crate::disturbance::again_if_disturbed;
use crate::programs::{Server, alone, free_addresses, headroom, json, load};
use serde_json::Value;
use std::net::SocketAddr;
use std::path::Path;

/// The file that a search of the preset `search-cgi` writes: what the unit tests of `find` keep.
const FILE: &str = include_str!(
    "../../src/commands/find/snapshots/headroom__commands__find__tests__the_gateway_file_reads_back_and_says_where_it_comes_from.snap"
);

/// The measured rate, 5 % below the low end.
const LIMIT: f64 = 100.0;

/// A gateway with that file, in front of a service at another address than the file has.
fn gateway(directory: &Path, [listen, admin, service]: [SocketAddr; 3]) -> Server {
    let file = FILE.splitn(3, "---\n").nth(2).unwrap();
    let file = file.replace("127.0.0.1:8080", &listen.to_string());
    let file = file.replace("127.0.0.1:9901", &admin.to_string());
    let path = directory.join("gateway.yaml");
    std::fs::write(&path, file.replace("127.0.0.1:9000", &service.to_string())).unwrap();
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
        let _gateway = gateway(directory.path(), [listen, admin, service]);
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
