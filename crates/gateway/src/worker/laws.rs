//! Laws for any bytes that a client or an instance may send, as functions that panic if a law is violated. The tests
//! call them with mutated messages, the fuzz targets with the input of a fuzzer.
//!
//! - Requests: an instance reads exactly the requests in the client's bytes, in order, up to the first that is refused.
//! - Responses: a client reads exactly the response in the instance's bytes, or a response of the gateway's own, or a
//!   broken connection; never a part as if it were the whole.
//!
//! Both run the whole gateway over virtual sockets, which pass on bytes in pieces chosen by a seed.
//! `HEADROOM_SIM_SEEDS=100000` mutates that many messages in the tests.

use super::{Ends, LISTENER, Worker};
use crate::control_room::ControlRoom;
use crate::settings::{ConnectionLimits, PathMatch, Pool, Route, Settings};
use crate::shared::Shared;
use http::codec::body::Decoder;
use http::codec::header::slots;
use http::codec::request;
use http::codec::response::{self, AnswerTo};
use http::codec::write::forwarded_request_line;
use http::codec::{Body, Limits};
use http::reactor::virtual_net::{End, Peer, Reach, VirtualNet, World};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use units::Timestamp;

/// A request as a reader parsed it: its request line and its body.
type Read = (Vec<u8>, Vec<u8>);

/// The law of requests: a client sends exactly these bytes. Returns how many requests the instance read.
pub fn requests(bytes: &[u8], seed: u64) -> usize {
    let mut wanted = Vec::new();
    // Bytes after a request that ends the connection are ignored.
    read_requests(bytes, &mut wanted, true);
    let mut stage = Stage::new(seed);
    let client = stage.connect();
    client.send(bytes);
    client.finish();
    let mut connections: Vec<(Peer, Vec<u8>, usize)> = Vec::new();
    let mut read = Vec::new();
    stage.run(|world| {
        client.receive(usize::MAX);
        connections.extend(world.accept(instance()).map(|peer| (peer, Vec::new(), 0)));
        for (peer, input, answered) in &mut connections {
            input.extend(peer.receive(usize::MAX).0);
            let mut here = Vec::new();
            let used = read_requests(input, &mut here, false);
            for (index, request) in here.into_iter().enumerate() {
                // 204 has no body, for HEAD and for other methods.
                peer.send(b"HTTP/1.1 204 No Content\r\n\r\n");
                *answered += index + 1;
                read.push(request);
            }
            input.drain(..used);
        }
        false
    });
    assert!(wanted.starts_with(&read), "the client sent {wanted:?}, the instance read {read:?}");
    read.len()
}

/// The law of responses: an instance responds to a request with these bytes and closes. Returns the status that the
/// client read.
pub fn answers(bytes: &[u8], head: bool, seed: u64) -> Option<u16> {
    let to = if head { AnswerTo::Head } else { AnswerTo::Other };
    let wanted = read_answer(bytes, to, true);
    let mut stage = Stage::new(seed);
    let client = stage.connect();
    client.send(if head {
        b"HEAD / HTTP/1.1\r\nHost: a\r\n\r\n"
    } else {
        b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
    });
    let (mut server, mut input, mut got, mut end) = (None, Vec::new(), Vec::new(), None);
    stage.run(|world| {
        let (bytes_now, end_now) = client.receive(usize::MAX);
        got.extend(bytes_now);
        end = end.or(end_now);
        if server.is_none()
            && let Some(peer) = world.accept(instance())
        {
            server = Some((peer, false));
        }
        if let Some((peer, answered)) = &mut server {
            input.extend(peer.receive(usize::MAX).0);
            if !*answered && input.ends_with(b"\r\n\r\n") {
                *answered = true;
                peer.send(bytes);
                peer.close();
            }
        }
        end.is_some() || read_answer(&got, to, false).is_some()
    });
    let found = read_answer(&got, to, end == Some(End::Finished));
    match (&found, &wanted) {
        (Some(found), Some(wanted)) if found == wanted => {}
        (Some((502 | 504, _)), None) | (None, _) => {}
        _ => panic!("the instance sent {wanted:?}, the client read {found:?}"),
    }
    found.map(|(status, _)| status)
}

/// Appends the complete requests at the beginning of the bytes; returns how many bytes they took.
fn read_requests(bytes: &[u8], read: &mut Vec<Read>, until_close: bool) -> usize {
    let mut used = 0;
    loop {
        let mut slots = slots();
        let rest = &bytes[used..];
        let Ok(Some(head)) = request::parse(rest, &Limits::default(), &mut slots) else { return used };
        let Some((length, body)) = whole_body(&rest[head.head_len..], head.framing, false) else {
            return used;
        };
        let mut line = Vec::new();
        forwarded_request_line(&mut line, head.method, &head.target);
        used += head.head_len + length;
        let websocket = head.upgrade.is_some_and(|it| it.eq_ignore_ascii_case(b"websocket"));
        if !websocket {
            read.push((line, body));
        }
        if until_close && (!head.keep_alive || websocket) {
            return used;
        }
    }
}

/// The status and body of the final response at the beginning of the bytes.
fn read_answer(bytes: &[u8], to: AnswerTo, closed: bool) -> Option<(u16, Vec<u8>)> {
    let mut used = 0;
    loop {
        let mut slots = slots();
        let head = response::parse(&bytes[used..], to, &Limits::default(), &mut slots).ok()??;
        used += head.head_len;
        if head.status == 101 {
            return None;
        }
        if head.status >= 200 {
            let (_, body) = whole_body(&bytes[used..], head.framing, closed)?;
            return Some((head.status, body));
        }
    }
}

/// How many bytes a body takes, and its data; `None` if it is broken or incomplete.
fn whole_body(bytes: &[u8], framing: Body, closed: bool) -> Option<(usize, Vec<u8>)> {
    let (mut decoder, mut used, mut data) = (Decoder::new(framing), 0, Vec::new());
    while !decoder.is_done() && used < bytes.len() {
        let step = decoder.decode(&bytes[used..]).ok()?;
        data.extend_from_slice(&bytes[used..][step.data]);
        used += step.consumed;
    }
    if closed && !decoder.is_done() {
        decoder.closed().ok()?;
    }
    decoder.is_done().then_some((used, data))
}

fn instance() -> SocketAddr {
    SocketAddr::from(([10, 2, 0, 0], 80))
}

/// A gateway with one instance.
struct Stage {
    world: World,
    worker: Worker<VirtualNet>,
}

impl Stage {
    fn new(seed: u64) -> Self {
        let second = Duration::from_secs(1);
        let limits = ConnectionLimits { head_timeout: second, idle_timeout: second, ..Default::default() };
        let pool = Pool { answer_timeout: second, ..Pool::new("pool", vec![instance()]) };
        let settings = Settings {
            limits,
            pools: vec![pool],
            routes: vec![Route::new("all", PathMatch::Prefix("/".to_owned()), 0)],
            ..Settings::new(instance())
        };
        let shared = Shared::new(settings, None, Timestamp::ZERO).expect("no classes, no rules");
        let world = World::new(seed);
        world.set_reach(instance(), Reach::Accepts);
        let ends = Ends::quiet(world.net(), world.listen(LISTENER), seed);
        let worker = Worker::new(ends, 0, Arc::new(ControlRoom::new(shared, 1))).expect("no rules");
        Stage { world, worker }
    }

    fn connect(&self) -> Peer {
        self.world.connect(SocketAddr::from(([10, 1, 0, 1], 1_000))).expect("the gateway listens")
    }

    /// Runs until `act` returns true, or the client is gone.
    fn run(&mut self, mut act: impl FnMut(&World) -> bool) {
        let (mut ready, mut was_there) = (Vec::new(), false);
        loop {
            assert!(self.world.now() < Timestamp::from_secs(60), "it does not end");
            let is_there = !self.worker.downstreams.is_empty();
            if act(&self.world) || (was_there && !is_there) {
                break;
            }
            was_there |= is_there;
            self.world.wake_at(self.world.now() + Duration::from_millis(20));
            self.worker.step(&mut ready).expect("the virtual net");
        }
        // Lets data in transit arrive.
        for _ in 0..10 {
            self.world.wake_at(self.world.now() + Duration::from_millis(20));
            self.worker.step(&mut ready).expect("the virtual net");
            act(&self.world);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stats::Rng;

    const REQUESTS: [&str; 6] = [
        "GET /a HTTP/1.1\r\nHost: a\r\n\r\nPOST /b HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabcGET /c HTTP/1.1\r\nHost: a\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nX-Sum: 1\r\n\r\nGET /c HTTP/1.1\r\nHost: a\r\n\r\n",
        "PUT / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\nhello",
        "GET http://a/x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\nGET /y HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\nGET /2 HTTP/1.0\r\n\r\n",
        "OPTIONS * HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
    ];

    const ANSWERS: [&str; 6] = [
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nX-Sum: 1\r\n\r\n",
        "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\n\r\nuntil the end",
        "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n",
        "HTTP/1.0 404 Not Found\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nno",
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
    ];

    /// Changes, drops, duplicates or moves a few bytes.
    fn mutated(text: &str, rng: &mut Rng) -> Vec<u8> {
        let mut bytes = text.as_bytes().to_vec();
        for _ in 0..rng.below(4) {
            let at = rng.below(bytes.len());
            match rng.below(5) {
                0 => bytes[at] = b"\r\n :;,0159aA\0\t\xff"[rng.below(15)],
                1 if bytes.len() > 1 => drop(bytes.remove(at)),
                2 => bytes.insert(at, b"\r\n :;,0159"[rng.below(10)]),
                3 => bytes.truncate(at + 1),
                _ => {
                    let other = rng.below(bytes.len());
                    bytes.swap(at, other);
                }
            }
        }
        bytes
    }

    #[test]
    fn the_laws_hold_for_messages_with_a_few_wrong_bytes() {
        let more = std::env::var("HEADROOM_SIM_SEEDS").ok().and_then(|text| text.parse().ok());
        for seed in 0..more.unwrap_or(600) {
            let rng = &mut Rng::new(seed, "laws");
            let (request, answer) = (REQUESTS[rng.below(6)], ANSWERS[rng.below(6)]);
            let (request, answer, head) = (mutated(request, rng), mutated(answer, rng), rng.below(4) == 0);
            let outcome = std::panic::catch_unwind(|| {
                requests(&request, seed);
                answers(&answer, head, seed);
            });
            assert!(
                outcome.is_ok(),
                "seed {seed}: {:?} {:?}",
                String::from_utf8_lossy(&request),
                String::from_utf8_lossy(&answer)
            );
        }
    }

    #[test]
    fn whole_messages_pass_whole() {
        for (index, text) in REQUESTS.iter().enumerate() {
            let mut wanted = Vec::new();
            read_requests(text.as_bytes(), &mut wanted, true);
            assert_eq!(requests(text.as_bytes(), index as u64), wanted.len(), "{text}");
        }
        for (index, text) in ANSWERS.iter().enumerate() {
            let (status, _) = read_answer(text.as_bytes(), AnswerTo::Other, true).unwrap();
            assert_eq!(answers(text.as_bytes(), false, index as u64), Some(status), "{text}");
        }
    }
}
