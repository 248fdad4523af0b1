//! The cost of TLS for a client: processor time of one keep-alive exchange in memory, and of one handshake, best of
//! several rounds. Only the client's side is counted, without codec and system calls.
//!
//! Run: `cargo run --release -p headroom-http --example tls_cost`.

#[path = "../tests/tls/server.rs"]
mod server;

use http::tls::{Client, ClientSettings, Version};
use rustix::time::{ClockId, clock_gettime};
use server::{Pair, Serving, World};
use std::hint::black_box;
use std::io::Read;
use std::time::Duration;

const REQUEST: &[u8] =
    b"GET /search?q=headroom HTTP/1.1\r\nHost: www.example.com\r\nUser-Agent: headroom\r\n\
    Accept: */*\r\n\r\n";

/// The server responds to all of them at once, so that the cost of reading the clock is not included.
const EXCHANGES_A_ROUND: usize = 500;
const ROUNDS: usize = 100;

fn main() {
    let world = World::new();
    let server = world.server(&world.valid(), &Serving::default());
    for (version, cipher) in [
        (Version::Tls13, "TLS_AES_128_GCM_SHA256"),
        (Version::Tls13, "TLS_AES_256_GCM_SHA384"),
        (Version::Tls13, "TLS_CHACHA20_POLY1305_SHA256"),
        (Version::Tls12, "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"),
    ] {
        let settings = ClientSettings {
            min: version,
            max: version,
            ciphers: vec![cipher.to_owned()],
            ..world.trusting()
        };
        let client = Client::new(&settings).expect("the files of this world are in order");
        for answer_len in [150, 16_000] {
            let mut pair = Pair::new(&client, &server);
            pair.settle().expect("both sides fit");
            let answer = vec![b'a'; answer_len];
            let best = (0..ROUNDS).map(|_| round(&mut pair, &answer)).min().unwrap_or_default();
            println!(
                "{version} {cipher}: {:>6} ns an exchange, request of {} bytes, response of {answer_len}",
                best.as_nanos() / EXCHANGES_A_ROUND as u128,
                REQUEST.len()
            );
        }
    }
    for resumption in [false, true] {
        let client = Client::new(&ClientSettings { resumption, ..world.trusting() })
            .expect("the files of this world are in order");
        let best = (0..ROUNDS).map(|_| handshake(&client, &server, resumption)).min().unwrap_or_default();
        let kind = if resumption { "resumed" } else { "full" };
        println!("{kind} handshake: {:>6} µs", best.as_micros());
    }
    println!("a session takes {} bytes, and what rustls keeps on the heap", size_of::<http::tls::Session>());
}

fn round(pair: &mut Pair, answer: &[u8]) -> Duration {
    let mut out = Vec::with_capacity(1024);
    let mut spent = Duration::ZERO;
    let mut wire = Vec::new();
    let started = cpu();
    for _ in 0..EXCHANGES_A_ROUND {
        out.clear();
        pair.client.send(black_box(REQUEST), &mut out).expect("the session is intact");
        wire.extend_from_slice(&out);
    }
    spent += cpu().saturating_sub(started);
    let mut bytes = &wire[..];
    let mut part = [0; 16 * 1024];
    while !bytes.is_empty() {
        pair.server.read_tls(&mut bytes).expect("a vector");
        pair.server.process_new_packets().expect("the session is intact");
        while matches!(pair.server.reader().read(&mut part), Ok(1..)) {}
    }
    let mut answers: Vec<Vec<u8>> = Vec::with_capacity(EXCHANGES_A_ROUND);
    for _ in 0..EXCHANGES_A_ROUND {
        pair.server_says(answer);
        let mut wire = Vec::new();
        while pair.server.wants_write() {
            pair.server.write_tls(&mut wire).expect("a vector");
        }
        answers.push(wire);
    }
    let started = cpu();
    for wire in &mut answers {
        pair.plain.clear();
        pair.client.received(wire, &mut pair.plain).expect("the session is intact");
        assert_eq!(pair.plain.len(), answer.len());
    }
    spent + cpu().saturating_sub(started)
}

fn handshake(client: &Client, server: &std::sync::Arc<rustls::ServerConfig>, resumption: bool) -> Duration {
    let mut started = cpu();
    let mut session = client.session("localhost").expect("a good name");
    let mut to_server = Vec::new();
    session.flush(&mut to_server);
    let mut spent = cpu().saturating_sub(started);
    let mut server = rustls::ServerConnection::new(std::sync::Arc::clone(server)).expect("a good server");
    while !to_server.is_empty() || server.wants_write() {
        server.read_tls(&mut &to_server[..]).expect("a vector");
        server.process_new_packets().expect("the session is intact");
        to_server.clear();
        let mut wire = Vec::new();
        while server.wants_write() {
            server.write_tls(&mut wire).expect("a vector");
        }
        started = cpu();
        session.received(&mut wire, &mut Vec::new()).expect("the session is intact");
        session.flush(&mut to_server);
        spent += cpu().saturating_sub(started);
    }
    // The first session has nothing to resume.
    if resumption && !session.resumed() { Duration::MAX } else { spent }
}

fn cpu() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}
