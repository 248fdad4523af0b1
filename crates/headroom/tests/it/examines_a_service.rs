//! `headroom doctor`: the built-in service under faults that the test makes, and what is refused.

use super::disturbance::again_if_disturbed;
use super::programs::{Server, alone, free_address, headroom, json, load, refused, text};
use super::schema::check;
use serde_json::Value;
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::process::Command;

fn service(address: SocketAddr, arguments: &[&str]) -> Server {
    let listen = address.to_string();
    let arguments = [&["sample-service", "--listen", &listen], arguments].concat();
    Server::start(headroom(&arguments), address)
}

fn doctor(id: u32) -> Command {
    headroom(&["doctor", "--pid", &id.to_string(), "-d", "4s", "--json"])
}

fn check_document(document: &Value) {
    let schema = serde_json::from_str(documents::doctor::SCHEMA).unwrap();
    assert_eq!(check(&schema, document), Vec::<String>::new(), "{document:#}");
}

fn codes(document: &Value) -> Vec<&str> {
    document["findings"].as_array().unwrap().iter().map(|found| found["code"].as_str().unwrap()).collect()
}

/// What doctor says of a service under a load of 6 s, and what the load itself says.
fn both(service: &Server, address: SocketAddr, flags: &[&str]) -> (Value, Value) {
    let url = format!("http://{address}/");
    let loading = headroom(&[&["load", &url, "-d", "6s", "--json"], flags].concat()).spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_secs(1));
    let examined = doctor(service.id()).output().unwrap();
    assert!(examined.status.success(), "{}", text(&examined.stderr));
    let examined: Value = serde_json::from_slice(&examined.stdout).unwrap();
    check_document(&examined);
    (examined, json(&loading.wait_with_output().unwrap()))
}

#[test]
fn names_the_fault_first_and_nothing_of_a_healthy_service() {
    let _alone = alone();
    again_if_disturbed(|| {
        let address = free_address();
        let healthy = service(address, &["--threads", "8", "--wait", "5ms"]);
        // With few requests in the service, about a hundred looks show the time of one inexactly.
        let (examined, loaded) = both(&healthy, address, &["-r", "150/s", "-c", "4"]);
        assert_eq!(codes(&examined), [] as [&str; 0], "{examined:#}");
        assert_eq!(codes(&loaded), [] as [&str; 0], "{loaded:#}");
        assert!(
            examined["request_ms"]["whole"].as_f64().is_some_and(|whole| (3.0..12.0).contains(&whole)),
            "{examined:#}"
        );

        let closes = both(&healthy, address, &["-r", "50/s", "-c", "4", "--no-keep-alive"]);
        assert_eq!(codes(&closes.0), ["no_keep_alive"], "{:#}", closes.0);
        assert_eq!(codes(&closes.1), ["no_keep_alive"], "{:#}", closes.1);
    });
}

#[test]
fn the_summary_and_the_ledger_name_what_limits_a_run() {
    let _alone = alone();
    again_if_disturbed(|| {
        let address = free_address();
        let _service = service(address, &["--threads", "8", "--wait", "5ms"]);
        let url = format!("http://{address}/");
        let flags = ["-r", "50/s", "-c", "4", "--no-keep-alive", "-d", "5s"];
        let folder = tempfile::tempdir().unwrap();
        let ledger = folder.path().join("ledger.sqlite");
        let with = [&flags[..], &["--ledger", ledger.to_str().unwrap()]].concat();
        let output = load(&url, &with);
        let said = "Clients open a new connection for";
        assert!(text(&output.stdout).contains(said), "{}", text(&output.stdout));
        let log = headroom(&["log", "--ledger", ledger.to_str().unwrap(), "--json"]).output().unwrap();
        assert!(text(&log.stdout).contains(said), "{}", text(&log.stdout));
        let show = headroom(&["show", "r1", "--ledger", ledger.to_str().unwrap()]).output().unwrap();
        assert!(text(&show.stdout).contains(said), "{}", text(&show.stdout));
        let left_out = load(&url, &[&flags[..4], &["--no-keep-alive", "-d", "3s", "--no-doctor"]].concat());
        assert!(!text(&left_out.stdout).contains(said), "{}", text(&left_out.stdout));
    });
}

#[test]
fn an_agent_answers_over_its_socket_and_changes_nothing() {
    let address = free_address();
    let service = service(address, &["--wait", "1ms"]);
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("agent.sock");
    let listen = format!("unix:{}", socket.display());
    let mut agent = headroom(&["agent", "--listen", &listen]).spawn().unwrap();
    let begun = std::time::Instant::now();
    let ask = |request: &str| {
        let mut stream = loop {
            match std::os::unix::net::UnixStream::connect(&socket) {
                Ok(stream) => break stream,
                Err(error) => assert!(begun.elapsed().as_secs() < 20, "{error}"),
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        };
        write!(stream, "{request} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    let answer = ask(&format!("GET /doctor?pid={}&seconds=2", service.id()));
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200"), "{answer}");
    check_document(&serde_json::from_str(body).unwrap());
    for (request, status, said) in [
        ("GET /doctor", "400", "name a service"),
        ("GET /doctor?pid=4194999", "404", "no process has the id"),
        ("GET /doctor?pid=1&seconds=900", "400", "2 to 60"),
        ("POST /doctor?pid=1", "4", ""),
    ] {
        let answer = ask(request);
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status}")) && answer.contains(said),
            "{request}: {answer}"
        );
    }
    Command::new("kill").arg(agent.id().to_string()).status().unwrap();
    assert!(agent.wait().unwrap().success());
    assert!(!socket.exists());
}

#[test]
fn what_cannot_be_examined_is_refused() {
    for (flags, said) in [
        (&["--pid", "4194999"][..], "no process has the id 4194999"),
        (&["--cgroup", "/nowhere"], "/nowhere is no control group"),
        (&["--pid", "1", "-d", "1s"], "1s is not between 2s and 1h"),
        (&[], "--pid"),
        (&["--run", "r1"], "--experiment"),
        (&["--pid", "1", "--experiment", "/nowhere/prove.yaml"], "cannot write /nowhere/prove.yaml"),
    ] {
        let output = headroom(&[&["doctor"], flags].concat()).output().unwrap();
        assert!(refused(&output).contains(said), "{}", text(&output.stderr));
    }
    let output = headroom(&["agent", "--listen", "127.0.0.1:0"]).output().unwrap();
    assert!(refused(&output).contains("give a file with a token"), "{}", text(&output.stderr));
}
