//! The cost of the codec: nanoseconds per message on this machine, best of several rounds.
//!
//! Run: `cargo run --release -p headroom-http --example codec_cost`.

use std::hint::black_box;
use std::time::Instant;

use http::codec::body::Decoder;
use http::codec::header::slots;
use http::codec::response::{self, AnswerTo, Scanner};
use http::codec::{Body, Limits, request, write};

const RESPONSE: &[u8] = b"HTTP/1.1 200 OK\r\nServer: nginx/1.27.4\r\nDate: Sat, 01 Aug 2026 12:00:00 GMT\r\n\
    Content-Type: text/plain\r\nContent-Length: 13\r\nConnection: keep-alive\r\n\r\nHello, world!";

const REQUEST: &[u8] =
    b"GET /search?q=headroom HTTP/1.1\r\nHost: www.example.com\r\nUser-Agent: curl/8.14.1\r\n\
    Accept: */*\r\nAccept-Encoding: gzip, br\r\nCookie: session=0123456789abcdef\r\n\r\n";

const MESSAGES_A_ROUND: u32 = 200_000;
const ROUNDS: u32 = 15;

fn main() {
    let limits = Limits::default();
    let head_len =
        response::scan(RESPONSE, AnswerTo::Other, &limits).ok().flatten().map_or(0, |scan| scan.head_len);
    println!("response head of {head_len} bytes, request head of {} bytes", REQUEST.len());

    measure("httparse alone, response", || {
        let mut slots = slots();
        let mut raw = httparse::Response::new(&mut []);
        let config = httparse::ParserConfig::default();
        let status = config.parse_response_with_uninit_headers(&mut raw, black_box(RESPONSE), &mut slots);
        black_box(status).is_ok()
    });
    measure("response::parse", || {
        let mut slots = slots();
        black_box(response::parse(black_box(RESPONSE), AnswerTo::Other, &limits, &mut slots)).is_ok()
    });
    measure("response::scan", || {
        black_box(response::scan(black_box(RESPONSE), AnswerTo::Other, &limits)).is_ok()
    });
    let mut scanner = Scanner::new(limits);
    measure("Scanner::scan, same head", || {
        black_box(scanner.scan(black_box(RESPONSE), AnswerTo::Other)).is_ok()
    });
    let other = RESPONSE.to_ascii_uppercase();
    let mut turn = false;
    measure("Scanner::scan, another head each time", || {
        turn = !turn;
        let bytes = if turn { RESPONSE } else { &other };
        black_box(scanner.scan(black_box(bytes), AnswerTo::Other)).is_ok()
    });
    measure("Scanner::scan and skip of the body", || {
        let Ok(Some(scan)) = scanner.scan(black_box(RESPONSE), AnswerTo::Other) else { return false };
        black_box(Decoder::new(scan.framing).skip(&RESPONSE[scan.head_len..])).is_ok()
    });
    measure("httparse alone, request", || {
        let mut slots = slots();
        let mut raw = httparse::Request::new(&mut []);
        black_box(raw.parse_with_uninit_headers(black_box(REQUEST), &mut slots)).is_ok()
    });
    measure("request::parse", || {
        let mut slots = slots();
        black_box(request::parse(black_box(REQUEST), &limits, &mut slots)).is_ok()
    });
    let mut out = Vec::new();
    measure("request::parse and forward", || {
        let mut slots = slots();
        let Ok(Some(head)) = request::parse(black_box(REQUEST), &limits, &mut slots) else { return false };
        out.clear();
        write::forwarded_request_line(&mut out, head.method, &head.target);
        head.headers.end_to_end().for_each(|header| write::header(&mut out, header.name, header.value));
        write::end_of_head(&mut out);
        !black_box(&out).is_empty()
    });
    let mut chunks = Vec::new();
    (0..16).for_each(|_| write::chunk(&mut chunks, &[b'x'; 1024]));
    write::last_chunk(&mut chunks);
    measure("skip of 16 chunks of 1 KiB", || {
        black_box(Decoder::new(Body::Chunked).skip(black_box(&chunks))).is_ok()
    });
}

fn measure(what: &str, mut message: impl FnMut() -> bool) {
    let best = (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            let good = (0..MESSAGES_A_ROUND).filter(|_| message()).count();
            assert_eq!(good, MESSAGES_A_ROUND as usize, "{what}: every message is good");
            start.elapsed()
        })
        .min()
        .unwrap_or_default();
    println!("{:8.1} ns  {what}", best.as_secs_f64() * 1e9 / f64::from(MESSAGES_A_ROUND));
}
