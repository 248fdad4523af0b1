//! Runs in which no request gets a good response: the first line, the exit code, the next command.

use crate::programs::{headroom, json, judged, load, text};
use crate::service::{self, Answer};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::process::Output;

const FEW: [&str; 4] = ["-n", "20", "-c", "2"];

fn nobody() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

/// Not one good response: `first` stands in the first line.
fn says_so(output: &Output, first: &str) {
    let said = text(&output.stdout);
    let line = said.lines().next().unwrap_or_default();
    assert!(line.starts_with("NO GOOD RESPONSE: ") && line.contains(first), "{first}: {said}");
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("validity   suspect") || said.contains("validity   invalid"), "{said}");
    assert!(said.contains("0 %: 0 of 20 scheduled requests"), "{said}");
    assert!(!said.contains("headroom find"), "{said}");
    assert!(said.contains("next: curl -v"), "{said}");
}

#[test]
fn answers_that_are_all_errors() {
    let url = format!("http://{}/", service::start(Answer::Status(404)));
    let output = load(&url, &FEW);
    says_so(&output, "all 20 were answered with 404");
    let run: Value = json(&load(&url, &[&FEW[..], &["--json"]].concat()));
    assert_eq!((&run["good_share"], &run["status"]["404"]), (&0.0.into(), &20.into()));
    assert_ne!(run["validity"]["verdict"], "valid");
    // Whoever asks for something in particular gets the answer to that.
    for (threshold, code) in [("p(95)<10s", 0), ("p(95)<1us", 99)] {
        judged(&load(&url, &[&FEW[..], &["--threshold", threshold]].concat()), code);
    }
}

#[test]
fn nothing_that_connects() {
    let output = load(&format!("http://{}/", nobody()), &FEW);
    says_so(&output, "all 20 failed: connection refused");
}

#[test]
fn tls_with_a_server_that_speaks_none() {
    // A server that closes before it has read the whole hello resets the connection, after its answer.
    for read in [100, 100_000] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let _ = stream.read(&mut vec![0; read]);
                let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
            }
        });
        let output = load(&format!("https://{address}/"), &FEW);
        says_so(&output, "all 20 failed: TLS handshake failed (what arrived is not TLS");
    }
}

#[test]
fn a_replay_says_so_too() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("access.log");
    let line = "127.0.0.1 - - [21/Nov/2026:10:00:00 +0000] \"GET /a HTTP/1.1\" 200 2 \"-\" \"-\"\n";
    std::fs::write(&log, line.repeat(20)).unwrap();
    let url = format!("http://{}", service::start(Answer::Status(500)));
    let output = headroom(&["replay", log.to_str().unwrap(), &url]).output().unwrap();
    says_so(&output, "all 20 were answered with 500");
}

#[test]
fn some_good_answers_are_told_as_a_share() {
    let output = load(&format!("http://{}/", service::start(Answer::Ok)), &FEW);
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.starts_with("target") && said.contains("100 %: 20 of 20 scheduled requests"), "{said}");
}
