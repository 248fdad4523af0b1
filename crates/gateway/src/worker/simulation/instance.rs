//! A scripted instance: responds in every framing, late, early, partly, twice, or not at all.

use super::client::pause;
use super::{Mood, pattern, pattern_from};
use http::codec::body::Decoder;
use http::codec::header::{Header, slots};
use http::codec::request::{self, RequestHead};
use http::codec::{Body, Limits};
use http::reactor::virtual_net::{Peer, World};
use stats::Rng;
use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::time::Duration;
use units::Timestamp;

pub(super) struct Instance {
    pub(super) address: SocketAddr,
    connections: Vec<Connection>,
    pub(super) next: Timestamp,
    /// Percentage of its actions that are faults.
    trouble: usize,
    /// How often each request arrived, with its method.
    pub(super) seen: BTreeMap<u64, (String, u32)>,
}

struct Connection {
    peer: Peer,
    input: Vec<u8>,
    planned: VecDeque<(Timestamp, Act)>,
    /// It responded before the end of a request, whose rest it still reads: which request, and from which offset.
    unfinished: Option<(u64, usize, Decoder)>,
    /// It has sent 100 (Continue), or decided not to.
    told: bool,
    /// It has sent at least one response.
    used: bool,
    closed: bool,
}

enum Act {
    Send(Vec<u8>),
    Close,
    Reset,
    /// Stops reading and sending.
    Hang,
}

impl Instance {
    /// In a `calm` world it responds to everything.
    pub(super) fn new(address: SocketAddr, rng: &mut Rng, mood: Mood) -> Self {
        let trouble = if mood == Mood::Calm { 0 } else { [1, 5, 40][rng.below(3)] };
        Instance { address, connections: Vec::new(), next: Timestamp::ZERO, trouble, seen: BTreeMap::new() }
    }

    pub(super) fn act(&mut self, world: &World, rng: &mut Rng) -> Result<(), String> {
        let now = world.now();
        self.next = now + pause(rng, false).min(Duration::from_millis(5));
        while let Some(peer) = world.accept(self.address) {
            self.connections.push(Connection {
                peer,
                input: Vec::new(),
                planned: VecDeque::new(),
                unfinished: None,
                told: false,
                used: false,
                closed: false,
            });
        }
        for connection in &mut self.connections {
            while connection.planned.front().is_some_and(|(at, _)| *at <= now) && !connection.closed {
                match connection.planned.pop_front() {
                    Some((_, Act::Send(bytes))) => connection.peer.send(&bytes),
                    Some((_, Act::Close)) => connection.end(Peer::close),
                    Some((_, Act::Reset)) => connection.end(Peer::reset),
                    Some((_, Act::Hang)) | None => connection.closed = true,
                }
            }
            if connection.closed {
                continue;
            }
            let (bytes, end) = connection.peer.receive(1 + rng.below(6_000));
            connection.input.extend(bytes);
            if end.is_some() {
                connection.end(Peer::close);
                continue;
            }
            // An idle connection may be closed at any time: then a request meets a stale one.
            if connection.input.is_empty()
                && connection.planned.is_empty()
                && self.trouble > 0
                && rng.below(60) == 0
            {
                connection.end(Peer::close);
                continue;
            }
            if connection.planned.is_empty() {
                connection.serve(now, rng, self.trouble, &mut self.seen)?;
            }
        }
        self.connections.retain(|connection| !connection.closed);
        Ok(())
    }
}

impl Connection {
    fn end(&mut self, how: impl Fn(&Peer)) {
        how(&self.peer);
        self.closed = true;
    }

    fn serve(
        &mut self,
        now: Timestamp,
        rng: &mut Rng,
        trouble: usize,
        seen: &mut BTreeMap<u64, (String, u32)>,
    ) -> Result<(), String> {
        if let Some((id, at, decoder)) = &mut self.unfinished {
            let mut used = 0;
            while used < self.input.len() && !decoder.is_done() {
                let step = decoder
                    .decode(&self.input[used..])
                    .map_err(|refusal| format!("after an early response: {refusal}"))?;
                let data = &self.input[used..][step.data];
                if *id != 0 && pattern_from(*id, *at, data.len()) != data {
                    return Err(format!(
                        "other bytes came for the body of request {id}, answered before its end"
                    ));
                }
                *at += data.len();
                used += step.consumed;
            }
            let done = decoder.is_done();
            self.input.drain(..used);
            if !done {
                return Ok(());
            }
            self.unfinished = None;
        }
        let mut slots = slots();
        let head = match request::parse(&self.input, &Limits::default(), &mut slots) {
            Ok(Some(head)) => head,
            Ok(None) => return Ok(()),
            Err(refusal) => return Err(format!("an instance was sent a broken head: {refusal}")),
        };
        let id: u64 = head
            .path
            .split('?')
            .next()
            .unwrap_or_default()
            .rsplit('/')
            .next()
            .and_then(|id| id.parse().ok())
            .unwrap_or(0);
        let (mut at, mut body, mut decoder) = (head.head_len, Vec::new(), Decoder::new(head.framing));
        while !decoder.is_done() && at < self.input.len() {
            let step = decoder
                .decode(&self.input[at..])
                .map_err(|refusal| format!("a body was sent on: {refusal}"))?;
            body.extend_from_slice(&self.input[at..][step.data]);
            at += step.consumed;
        }
        // Id 0 marks requests that violate HTTP on purpose.
        if id != 0 && !pattern(id, body.len()).starts_with(&body) {
            return Err(format!("request {id} reached an instance with other bytes than its client sent"));
        }
        let early = !decoder.is_done();
        hops_are_told(&head)?;
        // The client sends one trailer that its route may forward, and one that no route forwards.
        if !early && head.framing == Body::Chunked {
            let passes = head.headers.find("trailer").is_some();
            let end = if passes { format!("0\r\nX-Sum: {id}\r\n\r\n") } else { "0\r\n\r\n".to_owned() };
            if !self.input[..at].ends_with(end.as_bytes()) {
                return Err(format!("the trailers of request {id} are not those that pass ({passes})"));
            }
        }
        if head.expect_continue && early && !std::mem::replace(&mut self.told, true) && rng.below(3) > 0 {
            if rng.below(4) == 0 {
                self.peer.send(HINTS);
            }
            self.peer.send(b"HTTP/1.1 100 Continue\r\n\r\n");
        }
        if self.used && trouble > 0 && rng.below(12) == 0 {
            // It was closing already: to the gateway this is a stale connection.
            seen.entry(id).or_insert((head.method.to_owned(), 0)).1 += 1;
            self.end(Peer::close);
            return Ok(());
        }
        if early && (trouble == 0 || rng.below(12) > 0) {
            return Ok(());
        }
        let method = head.method.to_owned();
        self.input.drain(..at);
        self.used = true;
        self.told = false;
        self.unfinished = early.then_some((id, body.len(), decoder));
        seen.entry(id).or_insert((method.clone(), 0)).1 += 1;
        self.plan(id, &method, now, rng, trouble);
        Ok(())
    }

    fn plan(&mut self, id: u64, method: &str, now: Timestamp, rng: &mut Rng, trouble: usize) {
        let late = if rng.below(10) == 0 && trouble > 0 { rng.below(600_000) } else { rng.below(20_000) };
        let at = now + Duration::from_micros(late as u64);
        let size = if rng.below(4) == 0 { rng.below(30_000) } else { rng.below(100) };
        let (body, mut out, mut ends, mut framed) = (pattern(id, size), Vec::new(), false, true);
        if rng.below(10) == 0 {
            out.extend_from_slice(HINTS);
        }
        let status = [200, 200, 200, 404, 500, 503][rng.below(6)];
        out.extend(format!("HTTP/1.1 {status} X\r\nx-id: {id}\r\nx-length: {size}\r\n").bytes());
        if rng.below(6) == 0 {
            out.extend_from_slice(b"Server-Timing: app;dur=1.5, db\r\n");
        }
        if rng.below(12) == 0 {
            out.extend_from_slice(b"Connection: close\r\n");
            ends = true;
        }
        match rng.below(8) {
            0 if method != "HEAD" => {
                out.extend_from_slice(b"\r\n");
                out.extend_from_slice(&body);
                (ends, framed) = (true, false);
            }
            1..=3 => {
                out.extend_from_slice(b"Transfer-Encoding: chunked\r\n\r\n");
                if method != "HEAD" {
                    for part in body.chunks(20 + rng.below(5_000)) {
                        out.extend(format!("{:x};a=b\r\n", part.len()).bytes());
                        out.extend_from_slice(part);
                        out.extend_from_slice(b"\r\n");
                    }
                    out.extend_from_slice(b"0\r\nX-Sum: 1\r\n\r\n");
                }
            }
            _ => {
                out.extend(format!("Content-Length: {size}\r\n\r\n").bytes());
                if method != "HEAD" {
                    out.extend_from_slice(&body);
                }
            }
        }
        let mut plan = |act| self.planned.push_back((at, act));
        if rng.below(100) >= trouble {
            plan(Act::Send(out));
            if ends {
                plan(Act::Close);
            }
            return;
        }
        match rng.below(7) {
            0 => plan(Act::Hang),
            1 => plan(Act::Close),
            2 => plan(Act::Reset),
            kind @ 3..=4 => {
                // Not the last byte, so that the response is incomplete in any framing that shows it; otherwise the
                // reset shows it.
                let half = rng.below(out.len());
                out.truncate(half);
                plan(Act::Send(out));
                plan(if kind == 3 { Act::Reset } else { Act::Hang });
            }
            5 => plan(Act::Send(b"SSH-2.0-nonsense\r\n".to_vec())),
            _ => {
                // Extra bytes, where they are not part of the body.
                if framed {
                    out.extend_from_slice(EXTRA);
                }
                plan(Act::Send(out));
                if !framed || late % 2 == 0 {
                    plan(Act::Close);
                }
            }
        }
    }
}

/// Each request states once where and when it arrived.
fn hops_are_told(head: &RequestHead<'_, '_>) -> Result<(), String> {
    let values = |name: &'static str| {
        let named = move |field: &&Header<'_>| field.name.eq_ignore_ascii_case(name);
        head.headers.all().iter().filter(named).map(|field| String::from_utf8_lossy(field.value))
    };
    let (from, start): (Vec<_>, Vec<_>) =
        (values("x-forwarded-for").collect(), values("x-request-start").collect());
    match (&from[..], &start[..]) {
        ([from], [start])
            if from.rsplit(", ").next().is_some_and(|last| last.starts_with("10.1.0."))
                && start.starts_with("t=1") =>
        {
            Ok(())
        }
        _ => Err(format!("an instance was told of hops {from:?} and of the beginning {start:?}")),
    }
}

const HINTS: &[u8] = b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n";

const EXTRA: &[u8] = b"HTTP/1.1 200 OK\r\nx-id: 999999\r\nContent-Length: 0\r\n\r\n";
