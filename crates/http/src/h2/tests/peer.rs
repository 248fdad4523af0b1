//! The client against the server of the `h2` crate, in memory: bytes that were not written for a test.

use std::io::Cursor;

use h2::Reason;
use h2::server::{Builder, SendResponse};
use http_types::{Request, Response};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

use crate::h2::client::{Connection, Settings};
use crate::h2::error::ErrorCode;
use crate::h2::hpack::RequestHead;
use crate::h2::laws::{Event, Recorder};

/// Bytes in transit in one direction before the sender waits, fewer than most bodies.
const PIPE_BYTES: usize = 50_000;

#[test]
fn a_thousand_requests_on_a_hundred_streams() {
    for header_table_size in [0, 4096] {
        let outcome = exchange(1000, header_table_size, None);
        assert_eq!(outcome.sent, 1000);
        for (key, result) in outcome.results.iter().enumerate() {
            match kind(key) {
                "/reset" => assert_eq!(*result, Outcome::Reset(ErrorCode::INTERNAL_ERROR, false)),
                "/refuse" => assert_eq!(*result, Outcome::Reset(ErrorCode::REFUSED_STREAM, true)),
                _ => assert_eq!(*result, Outcome::Answered, "key {key}"),
            }
        }
    }
}

#[test]
fn a_goaway_in_the_middle_loses_no_request() {
    let outcome = exchange(1000, 4096, Some(200));
    assert!((200..1000).contains(&outcome.sent), "{} sent", outcome.sent);
    assert_eq!(outcome.goaway, Some(ErrorCode::NO_ERROR));
    for (key, result) in outcome.results[..outcome.sent].iter().enumerate() {
        let not_begun = *result == Outcome::Reset(ErrorCode::NO_ERROR, true);
        assert!(*result != Outcome::None, "key {key} has an outcome");
        assert!(kind(key) != "/echo" || *result == Outcome::Answered || not_begun, "key {key}: {result:?}");
    }
    let answered = outcome.results.iter().filter(|result| **result == Outcome::Answered).count();
    assert!(answered >= 150, "{answered} answered");
}

#[derive(Clone, Debug, PartialEq)]
enum Outcome {
    None,
    /// With its own complete body.
    Answered,
    Reset(ErrorCode, bool),
}

struct Exchange {
    sent: usize,
    results: Vec<Outcome>,
    goaway: Option<ErrorCode>,
}

/// The behaviour requested from the server for this key.
fn kind(key: usize) -> &'static str {
    match key % 50 {
        7 => "/reset",
        9 => "/refuse",
        _ => "/echo",
    }
}

/// Empty, small, larger than the windows of a stream, larger than that of the connection.
fn body(key: usize) -> Vec<u8> {
    let len = match key % 20 {
        0 => 90_000,
        1..4 => 5_000,
        4..10 => 0,
        _ => 100,
    };
    (0..len).map(|at| (at * 7 + key * 13) as u8).collect()
}

/// Sends requests until all are sent or no more may be, and until each has its outcome.
fn exchange(requests: usize, header_table_size: u32, goaway_after: Option<usize>) -> Exchange {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let (ours, theirs) = tokio::io::duplex(PIPE_BYTES);
        let server = tokio::spawn(serve(theirs, goaway_after));
        let exchange = drive(ours, requests, header_table_size).await;
        server.await.unwrap();
        exchange
    })
}

async fn drive(io: DuplexStream, requests: usize, header_table_size: u32) -> Exchange {
    let settings = Settings {
        streams_max: 200,
        stream_window: 3000,
        connection_window: 0,
        header_table_size,
        ..Settings::default()
    };
    let mut out = Vec::new();
    let mut connection = Connection::new(settings, &mut out);
    let mut recorder = Recorder { events: Vec::new(), wants_headers: true };
    let mut head = RequestHead::default();
    let (mut reader, mut writer) = tokio::io::split(io);
    let (mut sent, mut input) = (0, vec![0; 7000]);
    loop {
        while sent < requests && connection.capacity() > 0 {
            let (key, body) = (sent.to_string(), body(sent));
            head.render("POST", "http", "a", kind(sent), [("X-Key", key.as_bytes())]).unwrap();
            connection.request(&head, &body, sent as u32, &mut out).unwrap();
            sent += 1;
        }
        if connection.is_idle() && (sent == requests || connection.goaway().is_some()) {
            break;
        }
        assert!(connection.in_flight() <= 100);
        tokio::select! {
            // After a GOAWAY the server closes when it has sent everything; later output of the client is lost, and the
            // server's output is still to be read.
            written = writer.write(&out), if !out.is_empty() => {
                out.drain(..written.unwrap_or(out.len()));
            }
            read = reader.read(&mut input) => {
                let read = read.unwrap();
                assert!(read > 0, "the server leaves {} requests alone", connection.in_flight());
                connection.received(&input[..read], &mut out, &mut recorder).unwrap();
            }
        }
    }
    Exchange { sent, results: results(requests, recorder.events), goaway: connection.goaway() }
}

/// Checks the events of each request and returns its outcome.
fn results(requests: usize, events: Vec<Event>) -> Vec<Outcome> {
    let mut results = vec![Outcome::None; requests];
    let mut bodies: Vec<Option<Vec<u8>>> = vec![None; requests];
    for event in events {
        match event {
            Event::Head(key, status, headers) => {
                assert_eq!(status, 200);
                assert!(headers.contains(&("x-key".to_owned(), key.to_string())));
                assert!(bodies[key as usize].replace(Vec::new()).is_none(), "one head for key {key}");
            }
            Event::Data(key, data) => bodies[key as usize].as_mut().unwrap().extend(data),
            Event::End(key) => {
                assert!(bodies[key as usize].as_ref() == Some(&body(key as usize)), "the body of key {key}");
                results[key as usize] = Outcome::Answered;
            }
            Event::Reset(key, code, retry_safe) => results[key as usize] = Outcome::Reset(code, retry_safe),
            Event::Malformed(key, malformed) => panic!("key {key}: {malformed}"),
            Event::Goaway(..) => {}
        }
    }
    results
}

async fn serve(io: DuplexStream, goaway_after: Option<usize>) {
    let mut builder = Builder::new();
    builder.max_concurrent_streams(100).initial_window_size(4000);
    let mut connection = builder.handshake::<_, Cursor<Vec<u8>>>(io).await.unwrap();
    let mut accepted = 0;
    while let Some(request) = connection.accept().await {
        // The client leaves without GOAWAY when it has received everything.
        let Ok((request, respond)) = request else { break };
        accepted += 1;
        if goaway_after == Some(accepted) {
            connection.graceful_shutdown();
        }
        tokio::spawn(answer(request, respond));
    }
}

/// Sends the request body back in parts, after it has received all of it.
async fn answer(request: Request<h2::RecvStream>, mut respond: SendResponse<Cursor<Vec<u8>>>) {
    let (head, mut stream) = request.into_parts();
    match head.uri.path() {
        "/reset" => return respond.send_reset(Reason::INTERNAL_ERROR),
        "/refuse" => return respond.send_reset(Reason::REFUSED_STREAM),
        _ => {}
    }
    let mut body = Vec::new();
    while let Some(part) = stream.data().await {
        let part = part.unwrap();
        stream.flow_control().release_capacity(part.len()).unwrap();
        body.extend_from_slice(&part);
    }
    let response = Response::builder()
        .header("x-key", &head.headers["x-key"])
        .header("content-length", body.len())
        .header("server", "h2");
    let mut sender = respond.send_response(response.body(()).unwrap(), body.is_empty()).unwrap();
    let mut parts = body.chunks(1500).peekable();
    while let Some(part) = parts.next() {
        sender.send_data(Cursor::new(part.to_vec()), parts.peek().is_none()).unwrap();
    }
}
