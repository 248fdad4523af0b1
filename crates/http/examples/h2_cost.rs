//! The cost of the HTTP/2 client: nanoseconds per request on this machine, for the client alone: requests on 100
//! streams, and their responses of 100 bytes from a server stream recorded before.
//!
//! Each round of 100 is timed separately and the median is shown: a round takes a few microseconds, so that other work
//! on the machine disturbs few of them.
//!
//! Run: `cargo run --release -p headroom-http --example h2_cost`.

use std::hint::black_box;
use std::time::{Duration, Instant};

use http::h2::{Connection, ErrorCode, Headers, Malformed, RequestHead, Settings, Sink};

const STREAMS: u32 = 100;
const ROUNDS: u32 = 10_000;
const BODY: [u8; 100] = [b'x'; 100];

fn main() {
    println!("{STREAMS} streams, responses of {} bytes", BODY.len());
    println!("server that sends literals, as nginx does:");
    measure("the same head each time", 4096, false, &|_| literals(None));
    measure("the same head each time, table of 0", 0, false, &|_| literals(None));
    measure("another head each time", 4096, false, &|answer| literals(Some(answer)));
    measure("another head each time, headers wanted", 4096, true, &|answer| literals(Some(answer)));
    println!("server that uses the table; without one, it sends literals too:");
    measure("the same head each time", 4096, false, &|answer| indices(answer, None));
    measure("another head each time", 4096, false, &|answer| indices(answer, Some(answer)));
    measure("another head each time, headers wanted", 4096, true, &|answer| indices(answer, Some(answer)));
}

/// A head of literals without indexing; the values of date and content type are Huffman coded.
fn literals(id: Option<u32>) -> Vec<u8> {
    let mut block = vec![0x88];
    fields(&mut block, [&[0x0f, 0x27], &[0x0f, 0x12], &[0x0f, 0x10], &[0x0f, 0x0d]]);
    request_id(&mut block, id);
    block
}

/// The same head from a server that indexes it with its first response and refers to it from then on.
fn indices(answer: u32, id: Option<u32>) -> Vec<u8> {
    let mut block = vec![0x88];
    match answer {
        0 => fields(&mut block, [&[0x76], &[0x61], &[0x5f], &[0x5c]]),
        _ => block.extend_from_slice(&[0xc1, 0xc0, 0xbf, 0xbe]),
    }
    request_id(&mut block, id);
    block
}

/// Server, date, content type and length, each after the bytes for its name and indexing.
fn fields(block: &mut Vec<u8>, names: [&[u8]; 4]) {
    let date =
        b"\x96\xd0\x7a\xbe\x94\x10\x54\xd4\x44\xa8\x20\x05\x95\x04\x0b\x81\x66\xe0\x84\xa6\x2d\x1b\xff";
    let values = [&b"\x0cnginx/1.27.4"[..], date, b"\x87\x49\x7c\xa5\x89\xd3\x4d\x1f", b"\x03100"];
    for (name, value) in names.into_iter().zip(values) {
        block.extend_from_slice(name);
        block.extend_from_slice(value);
    }
}

fn request_id(block: &mut Vec<u8>, id: Option<u32>) {
    if let Some(id) = id {
        block.extend_from_slice(b"\x00\x0cx-request-id\x08");
        block.extend_from_slice(format!("{id:08}").as_bytes());
    }
}

fn measure(what: &str, header_table_size: u32, wants_headers: bool, block: &dyn Fn(u32) -> Vec<u8>) {
    let mut rounds = run(header_table_size, wants_headers, block);
    rounds.sort_unstable();
    let median = rounds[rounds.len() / 2];
    let wire_bytes = 18 + block(1).len() + BODY.len();
    let ns = median.as_secs_f64() * 1e9 / f64::from(STREAMS);
    println!("{ns:8.1} ns  {what} ({wire_bytes} bytes per response)");
}

/// The time in the client for each round of requests and responses on a connection.
fn run(header_table_size: u32, wants_headers: bool, block: &dyn Fn(u32) -> Vec<u8>) -> Vec<Duration> {
    let head = RequestHead::new("GET", "http", "www.example.com", "/", [("user-agent", &b"headroom"[..])])
        .expect("a good head");
    let mut out = Vec::new();
    let mut connection = Connection::new(Settings { header_table_size, ..Settings::default() }, &mut out);
    let mut counts = Counts { wants_headers, ..Counts::default() };
    let mut server_stream = Vec::new();
    frame(&mut server_stream, 4, 0, 0, b"");
    let mut rounds = Vec::with_capacity(ROUNDS as usize);
    for round in 0..ROUNDS {
        for answer in round * STREAMS..(round + 1) * STREAMS {
            let stream = 2 * answer + 1;
            frame(&mut server_stream, 1, 0x4, stream, &block(answer));
            frame(&mut server_stream, 0, 0x1, stream, &BODY);
        }
        let start = Instant::now();
        for key in 0..STREAMS {
            connection.request(black_box(&head), b"", key, &mut out).expect("a stream is free");
        }
        connection.received(black_box(&server_stream), &mut out, &mut counts).expect("a good stream");
        rounds.push(start.elapsed());
        black_box(&out);
        out.clear();
        server_stream.clear();
    }
    assert_eq!((counts.heads, counts.ends, counts.failures), (STREAMS * ROUNDS, STREAMS * ROUNDS, 0));
    assert_eq!(counts.bytes, BODY.len() * (STREAMS * ROUNDS) as usize);
    rounds
}

fn frame(out: &mut Vec<u8>, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
    out.extend_from_slice(&(payload.len() as u32).to_be_bytes()[1..]);
    out.extend_from_slice(&[kind, flags]);
    out.extend_from_slice(&stream.to_be_bytes());
    out.extend_from_slice(payload);
}

#[derive(Default)]
struct Counts {
    wants_headers: bool,
    heads: u32,
    header_bytes: usize,
    bytes: usize,
    ends: u32,
    failures: u32,
}

impl Sink for Counts {
    fn wants_headers(&mut self, _: u32) -> bool {
        self.wants_headers
    }

    fn head(&mut self, _: u32, status: u16, headers: Headers<'_>) {
        self.heads += u32::from(status == 200);
        self.header_bytes += headers.map(|(name, value)| name.len() + value.len()).sum::<usize>();
    }

    fn data(&mut self, _: u32, data: &[u8]) {
        self.bytes += data.len();
    }

    fn end(&mut self, _: u32) {
        self.ends += 1;
    }

    fn reset(&mut self, _: u32, _: ErrorCode, _: bool) {
        self.failures += 1;
    }

    fn malformed(&mut self, _: u32, _: Malformed) {
        self.failures += 1;
    }

    fn goaway(&mut self, _: ErrorCode, _: &[u8]) {
        self.failures += 1;
    }
}
