//! Laws for any bytes that a server sends, as functions that panic if a law is violated. The property tests call them
//! with generated input, the fuzz target with the input of a fuzzer.
//!
//! - Split: the same events, output and error however the bytes are split.
//! - Headers: a sink that requests headers gets the same events as one that does not, and the headers.
//! - Account: each request has at most one last event, and is in flight until then.
//! - Bounds: memory does not grow with the input, output only in proportion to it.

use super::answer::Headers;
use super::client::{Connection, Settings, Sink};
use super::error::{ErrorCode, H2Error, Malformed};
use super::frame::{self, kind};
use super::hpack::RequestHead;

/// The laws of a client whose server has sent its settings and then `bytes`.
pub fn client(bytes: &[u8]) {
    let mut input = Vec::new();
    frame::header(&mut input, 0, kind::SETTINGS, 0, 0);
    input.extend_from_slice(bytes);
    client_from_the_start(&input);
}

/// The laws of a client whose server has sent `bytes`.
pub fn client_from_the_start(bytes: &[u8]) {
    let whole = run(bytes, bytes.len(), true);
    for step in [1, 2, 3, 7, 10, 64] {
        assert_eq!(run(bytes, step, true), whole, "in steps of {step}");
    }
    let mut asked = whole;
    let unasked = run(bytes, bytes.len(), false);
    for event in &mut asked.events {
        if let Event::Head(_, _, headers) = event {
            headers.clear();
        }
    }
    assert_eq!(asked, unasked, "asking must not change a reading");
}

/// The events of a client, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the methods of the sink are described there")]
pub enum Event {
    Head(u32, u16, Vec<(String, String)>),
    Data(u32, Vec<u8>),
    End(u32),
    Reset(u32, ErrorCode, bool),
    Malformed(u32, Malformed),
    Goaway(ErrorCode, Vec<u8>),
}

/// A sink that records everything.
#[derive(Debug, Default)]
pub struct Recorder {
    /// The events so far; data of one request that arrived in several pieces is one event.
    pub events: Vec<Event>,
    /// Whether headers are wanted.
    pub wants_headers: bool,
}

impl Sink for Recorder {
    fn wants_headers(&mut self, _: u32) -> bool {
        self.wants_headers
    }

    fn head(&mut self, key: u32, status: u16, headers: Headers<'_>) {
        let text = |bytes: &[u8]| bytes.iter().copied().map(char::from).collect();
        let headers = headers.map(|(name, value)| (text(name), text(value))).collect();
        self.events.push(Event::Head(key, status, headers));
    }

    fn data(&mut self, key: u32, data: &[u8]) {
        assert!(!data.is_empty());
        match self.events.last_mut() {
            Some(Event::Data(last_key, last)) if *last_key == key => last.extend_from_slice(data),
            _ => self.events.push(Event::Data(key, data.to_vec())),
        }
    }

    fn end(&mut self, key: u32) {
        self.events.push(Event::End(key));
    }

    fn reset(&mut self, key: u32, code: ErrorCode, retry_safe: bool) {
        self.events.push(Event::Reset(key, code, retry_safe));
    }

    fn malformed(&mut self, key: u32, malformed: Malformed) {
        self.events.push(Event::Malformed(key, malformed));
    }

    fn goaway(&mut self, code: ErrorCode, debug: &[u8]) {
        self.events.push(Event::Goaway(code, debug.to_vec()));
    }
}

#[derive(Debug, PartialEq)]
struct Outcome {
    events: Vec<Event>,
    out: Vec<u8>,
    result: Result<(), H2Error>,
}

fn run(bytes: &[u8], step: usize, wants_headers: bool) -> Outcome {
    let settings =
        Settings { streams_max: 6, stream_window: 100, connection_window: 0, ..Settings::default() };
    let mut out = Vec::new();
    let mut connection = Connection::new(settings, &mut out);
    // Whether or not the bytes contain the peer's settings, several requests are in flight.
    connection.presume_settings();
    let head = RequestHead::new("GET", "http", "a", "/", []).expect("a good head");
    let uploads = RequestHead::new("POST", "http", "a", "/", []).expect("a good head");
    for key in 0..REQUESTS {
        let (head, body) = if key == 2 { (&uploads, &[b'x'; 66_000][..]) } else { (&head, &[][..]) };
        connection.request(head, body, key, &mut out).expect("as many as there may be");
    }
    connection.cancel(1, &mut out);
    let sent = out.len() + 66_000;
    let mut recorder = Recorder { events: Vec::new(), wants_headers };
    let mut result = Ok(());
    for piece in bytes.chunks(step.max(1)) {
        result = connection.received(piece, &mut out, &mut recorder);
        assert!(connection.grown_bytes() < 1 << 20);
        if result.is_err() {
            break;
        }
    }
    assert!(out.len() <= sent + 10 * bytes.len() + 100, "{} bytes for {}", out.len(), bytes.len());
    let last_events =
        (0..REQUESTS).map(|key| recorder.events.iter().filter(|event| ends(event, key)).count());
    let ended = last_events.inspect(|&count| assert!(count <= 1)).sum::<usize>() as u32;
    assert_eq!(connection.in_flight() + ended + 1, REQUESTS, "one was cancelled");
    Outcome { events: recorder.events, out, result }
}

fn ends(event: &Event, request: u32) -> bool {
    matches!(event, Event::End(key) | Event::Reset(key, ..) | Event::Malformed(key, _) if *key == request)
}

const REQUESTS: u32 = 6;
