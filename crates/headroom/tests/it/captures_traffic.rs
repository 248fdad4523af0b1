//! `headroom gateway --capture` and `headroom replay` of the file that it wrote.

use crate::programs::{Server, free_address, headroom, json, refused};
use crate::service;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// When, what head, what body.
type Seen = Arc<Mutex<Vec<(Instant, String, Vec<u8>)>>>;

/// A service that remembers its requests.
fn remembering() -> (SocketAddr, Seen) {
    let seen = Seen::default();
    let memory = Arc::clone(&seen);
    let address = service::respond(move |head, body| {
        memory.lock().unwrap().push((Instant::now(), head.to_owned(), body.to_vec()));
        "ok".to_owned()
    });
    (address, seen)
}

fn ask(gateway: SocketAddr, head: &str, body: &str) {
    let mut stream = TcpStream::connect(gateway).unwrap();
    write!(
        stream,
        "{head}\r\nHost: shop.example\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("ok"), "{answer}");
}

fn start_line(head: &str) -> &str {
    head.lines().next().unwrap_or("")
}

fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
}

#[test]
fn what_was_captured_can_be_replayed() {
    let _alone = crate::programs::alone();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("capture.ndjson");
    let (live, _) = remembering();
    let listen = free_address();
    let [to, at, capture] = [live.to_string(), listen.to_string(), file.display().to_string()];
    let flags = ["--capture", &capture, "--mask", "X-Api-Key", "--mask-query", "token"];
    let gateway =
        Server::start(headroom(&[&["gateway", "--to", &to, "--listen", &at][..], &flags].concat()), listen);
    for session in ["one", "two", "one"] {
        let head = format!(
            "GET /cart?token=s3cret&n={session} HTTP/1.1\r\nCookie: sid=s3cret-{session}\r\n\
             Authorization: Bearer s3cret-{session}\r\nX-Api-Key: s3cret"
        );
        ask(listen, &head, "");
        std::thread::sleep(Duration::from_millis(300));
    }
    ask(listen, "POST /order HTTP/1.1", "{\"id\": 7}");
    // It ends as it is told, and writes what it still has.
    drop(gateway);

    let text = std::fs::read_to_string(&file).unwrap();
    assert_eq!(text.lines().count(), 4, "{text}");
    for secret in ["s3cret", "127.0.0.1", "x-forwarded-for", "x-request-start"] {
        assert!(!text.to_lowercase().contains(secret), "{secret} in {text}");
    }
    assert!(
        text.contains("\"status\":200") && text.contains("\"url\":\"http://shop.example/order\""),
        "{text}"
    );

    let (next, seen) = remembering();
    let output =
        headroom(&["replay", &capture, &format!("http://{next}"), "--unsafe-methods", "--json"]).output();
    let result = json(&output.unwrap());
    assert_eq!(result["accounting"]["scheduled"], 4);
    let seen = seen.lock().unwrap();
    let lines: Vec<&str> = seen.iter().map(|(_, head, _)| start_line(head)).collect();
    assert_eq!(lines.len(), 4, "{lines:?}");
    assert!(lines[..3].iter().all(|line| line.starts_with("get /cart?token=masked-")), "{lines:?}");
    assert!(lines[3].starts_with("post /order "), "{lines:?}");
    assert_eq!(seen[3].2, b"{\"id\": 7}");
    let cookie = |index: usize| header(&seen[index].1, "cookie").unwrap();
    assert!(cookie(0).starts_with("sid=masked-"), "{}", cookie(0));
    assert_eq!(cookie(0), cookie(2));
    assert_ne!(cookie(0), cookie(1), "sessions stay apart");
    let took = seen[3].0 - seen[0].0;
    assert!(took >= Duration::from_millis(700), "at their own times: {took:?}");
}

#[test]
fn a_capture_that_cannot_be_is_refused() {
    let to = free_address().to_string();
    for (flags, told) in [
        (&["--mask", "X-Api-Key"][..], "--capture <FILE>"),
        (&["--capture", "x", "--capture-fraction", "0"], "a share of 0 captures nothing"),
        (&["--capture", "x", "--mask", "X: y"], "not the name of a header"),
        (&["--capture", "x", "--capture-body-max", "1GB"], "is above 16.8 MB"),
    ] {
        let output = headroom(&[&["gateway", "--to", &to][..], flags].concat()).output().unwrap();
        let said = refused(&output);
        assert!(said.contains(told), "{said}");
    }
    let listen = free_address().to_string();
    let nowhere = ["gateway", "--to", &to, "--listen", &listen, "--capture", "/nowhere/at/all"];
    let output = headroom(&nowhere).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("cannot write the capture /nowhere/at/all"), "{said}");
}
