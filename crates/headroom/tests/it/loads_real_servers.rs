//! Load on widely used servers. Each gets a closed run, an open run, and one with a connection for each
//! request; the server answers 200 only where it was spoken to by the protocol that was asked for.

use crate::certificates::Certificates;
use crate::nginx::Nginx;
use crate::peers::peer;
use crate::programs::{Server, beside_one, free_address, free_addresses, json, load};
use serde_json::Value;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

const APPS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/servers");

/// A run in which everything came out well; how many requests and connections it took.
fn went_well(name: &str, url: &str, flags: &[&str], http2: bool) -> (u64, u64) {
    let run = json(&load(url, &[flags, &["--json", "--timeout", "10s"]].concat()));
    let count = run["accounting"]["answered"].as_u64().unwrap();
    let said = format!("{name}, {flags:?}: {run:#}");
    assert_eq!(run["accounting"]["scheduled"], count, "{said}");
    assert_eq!(run["status"], serde_json::json!({ "200": count }), "{said}");
    assert_eq!(run["failures"], serde_json::json!({}), "{said}");
    let (protocol, streams) = if http2 { ("http/2", Value::from(1)) } else { ("http/1.1", Value::Null) };
    assert_eq!(run["protocol"], protocol, "{said}");
    if run["model"] == "closed" {
        assert_eq!(run["streams"], streams, "{said}");
    }
    let connections = run["connections_opened"].as_u64().unwrap();
    assert_eq!(run["connect_time_ms"]["count"], connections, "{said}");
    let handshakes = if url.starts_with("https") { connections } else { 0 };
    assert_eq!(run["tls_time_ms"]["count"], handshakes, "{said}");
    (count, connections)
}

/// The three runs by HTTP/1.1; `kept` where the server keeps connections.
fn carries_http1(name: &str, url: &str, flags: &[&str], kept: bool) -> u64 {
    let (closed, connections) = went_well(name, url, &[&["-c", "4", "-d", "1s"], flags].concat(), false);
    assert!(closed > 100, "{name}: {closed} in a second");
    assert_eq!(connections, if kept { 4 } else { closed }, "{name}: connections of {closed} requests");
    let (open, connections) = went_well(name, url, &[&["-r", "200/s", "-d", "1s"], flags].concat(), false);
    assert_eq!(open, 200, "{name}");
    assert!(if kept { connections <= open } else { connections == open }, "{name}: {connections}");
    let once = [&["-c", "4", "-n", "100", "--no-keep-alive"], flags].concat();
    assert_eq!(went_well(name, url, &once, false), (100, 100), "{name}: a connection for each request");
    closed + open + 100
}

/// The three runs by HTTP/2.
fn carries_http2(name: &str, url: &str, flags: &[&str]) -> u64 {
    let (closed, connections) = went_well(name, url, &[&["-c", "4", "-d", "1s"], flags].concat(), true);
    assert!(closed > 100, "{name}: {closed} in a second");
    assert_eq!(connections, 4, "{name}: connections of {closed} requests");
    let (open, connections) = went_well(name, url, &[&["-r", "200/s", "-d", "1s"], flags].concat(), true);
    assert_eq!(open, 200, "{name}");
    // A hundred streams on each.
    assert!((1..=3).contains(&connections), "{name}: {connections} connections");
    let once = [&["-c", "4", "-n", "100", "--no-keep-alive"], flags].concat();
    assert_eq!(went_well(name, url, &once, true), (100, 100), "{name}: a connection for each request");
    closed + open + 100
}

#[test]
fn nginx_agrees_with_the_account_by_every_protocol() {
    let _slot = beside_one();
    let Some(nginx) = Nginx::start() else { return };
    let authority = nginx.certificates.authority();
    let trust = ["--cacert", authority.as_str()];
    let count = carries_http1("nginx", &format!("http://{}/", nginx.plain), &[], true);
    assert_eq!(nginx.answered(nginx.plain, count), [("HTTP/1.1 - 200".to_owned(), count)].into());
    let url = format!("https://{}/", nginx.tls);
    for (flags, form) in
        [(&["--tls-max", "1.2"][..], "HTTP/1.1 TLSv1.2 200"), (&["--tlsv1.3"], "HTTP/1.1 TLSv1.3 200")]
    {
        let count = carries_http1("nginx with TLS", &url, &[&trust, flags].concat(), true);
        assert_eq!(nginx.answered(nginx.tls, count), [(form.to_owned(), count)].into(), "{flags:?}");
    }
    let count = carries_http2("nginx with HTTP/2", &url, &[&trust[..], &["--http2"]].concat());
    assert_eq!(nginx.answered(nginx.tls, count), [("HTTP/2.0 TLSv1.3 200".to_owned(), count)].into());
}

/// Starts `command`, in the folder of the apps, and drives HTTP/1.1 load at it.
fn carries_load(name: &str, mut command: Command, address: SocketAddr, kept: bool) -> Server {
    command.current_dir(APPS).env("PYTHONDONTWRITEBYTECODE", "1");
    let server = Server::start(command, address);
    carries_http1(name, &format!("http://{address}/HTTP/1.1"), &[], kept);
    server
}

#[test]
fn gunicorn_carries_load_with_threads_that_keep_connections() {
    let _slot = beside_one();
    let (Some(gunicorn), address) = (peer("gunicorn"), free_address()) else { return };
    let mut command = Command::new(gunicorn);
    command.args(["-b", &address.to_string(), "-w", "1", "--threads", "8", "--keep-alive", "75", "app:app"]);
    carries_load("gunicorn, threads", command, address, true);
}

#[test]
fn gunicorn_carries_load_with_workers_that_close_each_connection() {
    let _slot = beside_one();
    let (Some(gunicorn), address) = (peer("gunicorn"), free_address()) else { return };
    let mut command = Command::new(gunicorn);
    command.args(["-b", &address.to_string(), "-w", "2", "app:app"]);
    carries_load("gunicorn, sync", command, address, false);
}

#[test]
fn puma_carries_load() {
    let _slot = beside_one();
    let (Some(puma), address) = (peer("puma"), free_address()) else { return };
    let mut command = Command::new(puma);
    command.args(["-b", &format!("tcp://{address}"), "-w", "0", "-t", "8:8", "config.ru"]);
    carries_load("puma", command, address, true);
}

#[test]
fn node_carries_load_by_http1_and_by_http2_in_clear_text() {
    let _slot = beside_one();
    let (Some(node), [address, http2]) = (peer("node"), free_addresses()) else { return };
    let mut command = Command::new(node);
    command.args(["server.js", &address.port().to_string(), &http2.port().to_string()]);
    let _server = carries_load("node", command, address, true);
    let url = format!("http://{http2}/HTTP/2.0");
    carries_http2("node, http2", &url, &["--http2-prior-knowledge"]);
}

#[test]
fn go_carries_load_by_http1_and_by_http2_over_tls() {
    let _slot = beside_one();
    let (Some(go), Some(certificates)) = (peer("go"), Certificates::make()) else { return };
    let (server, [address, tls]) = (certificates.file("server"), free_addresses());
    let mut build = Command::new(go);
    build.env("GOTOOLCHAIN", "local").current_dir(APPS).args(["build", "-o"]).arg(&server).arg("server.go");
    assert!(build.status().unwrap().success(), "{build:?}");
    let mut command = Command::new(server);
    let [certificate, key] = ["good.pem", "good.key"].map(|name| certificates.file(name));
    command.args([address.to_string(), tls.to_string()]).args([certificate, key]);
    let _server = carries_load("go", command, address, true);
    let (url, authority) = (format!("https://{tls}/HTTP/2.0"), certificates.authority());
    carries_http2("go, http2", &url, &["--http2", "--cacert", &authority]);
}

#[test]
fn h2o_carries_load_by_http2_over_tls() {
    let _slot = beside_one();
    let (Some(h2o), Some(certificates)) = (peer("h2o"), Certificates::make()) else { return };
    let (address, log) = (free_address(), certificates.file("h2o.log"));
    let file = certificates.file("h2o.yaml");
    std::fs::write(&file, h2o_configuration(certificates.folder(), address)).unwrap();
    let mut command = Command::new(h2o);
    command.arg("-c").arg(file);
    let server = Server::start(command, address);
    let (url, authority) = (format!("https://{address}/ca.conf"), certificates.authority());
    let count = carries_http2("h2o", &url, &["--http2", "--cacert", &authority]);
    // It writes its log when it ends, at the latest.
    drop(server);
    let log = std::fs::read_to_string(log).unwrap();
    assert!(log.lines().all(|line| line == "HTTP/2 200"), "{log}");
    assert_eq!(log.lines().count() as u64, count);
}

fn h2o_configuration(folder: &Path, address: SocketAddr) -> String {
    let root = Command::new("id").arg("-u").output().is_ok_and(|id| id.stdout == b"0\n");
    // As root it would become another user, who cannot write there.
    let user = if root { "user: root\n" } else { "" };
    let (folder, port) = (folder.display(), address.port());
    format!(
        "{user}num-threads: 1
listen: {{ host: 127.0.0.1, port: {port}, ssl: {{ certificate-file: {folder}/good.pem, key-file: {folder}/good.key, ocsp-update-interval: 0 }} }}
access-log: {{ path: {folder}/h2o.log, format: \"%H %s\" }}
hosts: {{ default: {{ paths: {{ /: {{ file.dir: {folder} }} }} }} }}
"
    )
}
