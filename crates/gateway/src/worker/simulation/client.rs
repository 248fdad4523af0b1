//! A scripted client: sends requests, reads at its own pace, violates HTTP, leaves anywhere.

use super::{Asked, Mood, pattern};
use http::codec::body::Decoder;
use http::codec::header::slots;
use http::codec::response::{self, AnswerTo};
use http::codec::{Body, Limits};
use http::reactor::virtual_net::{End, Peer, World};
use stats::Rng;
use std::net::SocketAddr;
use std::time::Duration;
use units::Timestamp;

pub(super) struct Client {
    from: SocketAddr,
    peer: Option<Peer>,
    pub(super) requests: Vec<Asked>,
    script: Vec<u8>,
    sent: usize,
    /// Leaves after this many bytes are sent.
    leaves_at: Option<usize>,
    pipelines: bool,
    half_closes: bool,
    slow: bool,
    /// Sends a little at a time.
    trickles: bool,
    /// Sends a body without waiting for the 100 (Continue) that it asked for.
    impatient: bool,
    pub(super) received: Vec<u8>,
    end: Option<End>,
    pub(super) next: Timestamp,
    /// Left without waiting, or was never accepted: it expects nothing.
    pub(super) left: bool,
    pub(super) done: bool,
}

/// One response as the client parsed it.
#[derive(Debug)]
pub(super) struct Got {
    pub(super) status: u16,
    pub(super) closes: bool,
    /// The request that the instance says it responds to; `None` for the gateway's own responses.
    pub(super) id: Option<u64>,
}

impl Client {
    /// In a `calm` world it sends requests, reads, and waits for all responses.
    pub(super) fn new(number: usize, first_id: u64, rng: &mut Rng, routes: &[&str], mood: Mood) -> Self {
        let calm = mood == Mood::Calm;
        let mut client = Client {
            from: SocketAddr::from(([10, 1, 0, number as u8], 1_000)),
            peer: None,
            requests: Vec::new(),
            script: Vec::new(),
            sent: 0,
            leaves_at: None,
            pipelines: rng.below(3) == 0,
            half_closes: !calm && rng.below(5) == 0,
            slow: !calm && rng.below(6) == 0,
            trickles: rng.below(5) == 0 || mood == Mood::Uploads,
            impatient: rng.below(3) == 0,
            received: Vec::new(),
            end: None,
            next: Timestamp::from_millis(rng.below(1_000) as u64),
            left: false,
            done: false,
        };
        for id in first_id..first_id + 1 + rng.below(6) as u64 {
            client.write_request(id, rng, routes, mood);
        }
        if calm {
            return client;
        }
        match rng.below(8) {
            0 => client.script.extend_from_slice(
                b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
            ),
            1 => client.script.extend_from_slice(b"GET /half HTTP/1.1\r\nHo"),
            2 => client.script.extend_from_slice(
                b"POST /free/0 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nzz\r\n",
            ),
            _ => {}
        }
        if rng.below(4) == 0 {
            client.leaves_at = Some(rng.below(client.script.len() + 1));
        }
        client
    }

    fn write_request(&mut self, id: u64, rng: &mut Rng, routes: &[&str], mood: Mood) {
        let methods = if mood == Mood::Uploads { 1 } else { 6 };
        let method = ["PUT", "GET", "GET", "HEAD", "POST", "POST"][rng.below(methods)];
        let version = u8::from(rng.below(8) != 0);
        let route = routes[rng.below(routes.len())];
        let mut head = format!("{method} {route}/{id} HTTP/1.{version}\r\nHost: a\r\n");
        head += &super::limits::headers(rng);
        head += &super::pools::mark(id, rng);
        let mut closes = rng.below(12) == 0;
        if closes {
            head += "Connection: close\r\n";
        } else if version == 0 {
            closes = rng.below(2) == 0;
            head += if closes { "" } else { "Connection: keep-alive\r\n" };
        }
        let size = if rng.below(5) == 0 || mood == Mood::Uploads { rng.below(20_000) } else { rng.below(50) };
        let body = if matches!(method, "POST" | "PUT") { pattern(id, size) } else { Vec::new() };
        if rng.below(8) == 0 {
            head += "X-Forwarded-For: 192.0.2.1, 10.1.0.3\r\nX-Request-Start: t=1799999999999000\r\n";
        }
        if rng.below(8) == 0 {
            head += "TE: trailers\r\n";
        }
        let expects = !body.is_empty() && rng.below(4) == 0;
        if expects {
            head += "Expect: 100-continue\r\n";
        }
        let trailers = rng.below(3) == 0;
        let chunked = version == 1 && rng.below(2) == 0;
        if body.is_empty() {
            head += "\r\n";
        } else if chunked {
            head += if trailers { "Trailer: X-Sum\r\n" } else { "" };
            head += "Transfer-Encoding: chunked\r\n\r\n";
        } else {
            head += &format!("Content-Length: {}\r\n\r\n", body.len());
        }
        self.script.extend_from_slice(head.as_bytes());
        let waits_at = (expects && version == 1 && !self.impatient).then_some(self.script.len());
        if chunked && !body.is_empty() {
            for part in body.chunks(1 + rng.below(3_000)) {
                self.script.extend(format!("{:x}\r\n", part.len()).bytes());
                self.script.extend_from_slice(part);
                self.script.extend_from_slice(b"\r\n");
            }
            self.script.extend_from_slice(b"0\r\n");
            if trailers {
                self.script
                    .extend(format!("X_Forwarded_For: 10.0.0.1\r\nX-Sum: {id}\r\nCookie: a\r\n").bytes());
            }
            self.script.extend_from_slice(b"\r\n");
        } else {
            self.script.extend_from_slice(&body);
        }
        let old = version == 0;
        self.requests.push(Asked { id, method, closes, old, waits_at, ends: self.script.len() });
    }

    pub(super) fn act(&mut self, world: &World, rng: &mut Rng) {
        let now = world.now();
        self.next = now + pause(rng, self.slow);
        let Some(peer) = &self.peer else {
            self.peer = world.connect(self.from);
            // The listener is closed.
            (self.left, self.done) = (self.peer.is_none(), self.peer.is_none());
            return;
        };
        let (bytes, end) = peer.receive(1 + rng.below(if self.slow { 300 } else { 8_000 }));
        self.received.extend(bytes);
        if end.is_some() {
            self.end = end;
            self.done = true;
            peer.close();
            return;
        }
        let (answered, leave) = self.read().map_or((0, false), |(got, leave)| (got.len(), leave));
        let allowed = match self.requests.get(answered) {
            Some(request) if !self.pipelines => match request.waits_at {
                Some(head) if !leave => head,
                _ => request.ends,
            },
            _ => self.script.len(),
        };
        let until = allowed.min(self.leaves_at.unwrap_or(usize::MAX));
        if self.sent < until {
            let most = if self.trickles { 600.min(until - self.sent) } else { until - self.sent };
            let count = if rng.below(3) == 0 { 1 + rng.below(most) } else { most };
            peer.send(&self.script[self.sent..self.sent + count]);
            self.sent += count;
        }
        if self.leaves_at == Some(self.sent) {
            if rng.below(2) == 0 {
                peer.reset()
            } else {
                peer.close()
            }
            (self.left, self.done) = (true, true);
        } else if self.sent == self.script.len() && self.half_closes {
            peer.finish();
            self.half_closes = false;
        } else if self.requests.last().is_some_and(|last| last.ends == self.script.len())
            && answered == self.requests.len()
        {
            peer.close();
            self.done = true;
        }
    }

    /// The complete responses so far.
    ///
    /// # Errors
    /// Bytes that are not a response, or a response body that is not what its instance sent.
    pub(super) fn answers(&self) -> Result<Vec<Got>, String> {
        self.read().map(|(answers, _)| answers)
    }

    /// The complete responses so far, and whether a 100 (Continue) for the next request has arrived.
    fn read(&self) -> Result<(Vec<Got>, bool), String> {
        let (mut rest, mut answers, mut leave) = (&self.received[..], Vec::new(), false);
        while !rest.is_empty() {
            let asked = self.requests.get(answers.len());
            let heads = asked.is_some_and(|asked| asked.method == "HEAD");
            // A gateway that gives up on a request head cannot know that the method would have been HEAD.
            let gave_up = [&b"HTTP/1.1 400"[..], b"HTTP/1.1 408"].iter().any(|line| rest.starts_with(line));
            let to = if heads && !gave_up { AnswerTo::Head } else { AnswerTo::Other };
            let mut slots = slots();
            let head = match response::parse(rest, to, &Limits::default(), &mut slots) {
                Ok(Some(head)) => head,
                Ok(None) => break,
                Err(refusal) => return Err(format!("{refusal}: {:?}", String::from_utf8_lossy(rest))),
            };
            rest = &rest[head.head_len..];
            if head.status < 200 {
                if asked.is_some_and(|asked| asked.old) {
                    return Err(format!("{} to a client of HTTP/1.0", head.status));
                }
                leave |= head.status == 100;
                continue;
            }
            let number = |name| {
                head.headers.find(name).and_then(|value| std::str::from_utf8(value).ok()?.parse::<u64>().ok())
            };
            let (mut decoder, mut body) = (Decoder::new(head.framing), Vec::new());
            while !decoder.is_done() && !rest.is_empty() {
                let step = decoder.decode(rest).map_err(|refusal| format!("{refusal} in a body"))?;
                body.extend_from_slice(&rest[step.data]);
                rest = &rest[step.consumed..];
            }
            if head.framing == Body::UntilClose && self.end == Some(End::Finished) {
                decoder.closed().map_err(|refusal| refusal.to_string())?;
            }
            let id = number("x-id");
            if let Some(id) = id {
                if !pattern(id, body.len()).starts_with(&body) {
                    return Err(format!("the response to {id} has other bytes than its instance sent"));
                }
                let whole = number("x-length").unwrap_or(0);
                if decoder.is_done() && to == AnswerTo::Other && body.len() as u64 != whole {
                    return Err(format!("the response to {id} ends after {} of {whole} bytes", body.len()));
                }
            }
            if !decoder.is_done() {
                break;
            }
            answers.push(Got { status: head.status, closes: !head.keep_alive, id });
            leave = false;
        }
        Ok((answers, leave))
    }

    /// Whether all its requests have a response.
    ///
    /// # Errors
    /// See [`Client::answers`].
    pub(super) fn is_served(&self) -> Result<bool, String> {
        let answers = self.answers()?;
        let closes = |asked: &Asked| asked.closes;
        // No response is expected after one that closes the connection.
        let owed = self.requests.iter().position(closes).map_or(self.requests.len(), |last| last + 1);
        Ok(answers.len() >= owed || answers.last().is_some_and(|last| last.closes))
    }

    /// Requests that were sent completely.
    pub(super) fn asked(&self) -> usize {
        self.requests.iter().filter(|request| request.ends <= self.sent).count()
    }
}

/// Nearly no time, some time, or long enough to exceed every time-out.
pub(super) fn pause(rng: &mut Rng, slow: bool) -> Duration {
    let most = match rng.below(if slow { 40 } else { 150 }) {
        0 => 1_500_000,
        1..=10 => 60_000,
        _ => 3_000,
    };
    Duration::from_micros(rng.below(most) as u64)
}
