//! What the client is sent, and how that counts.
//!
//! A response is forwarded from an instance, or is the gateway's own. Its service level class counts it once: when the
//! first byte of an instance's response arrives, or as late before that.

use super::Request;
use crate::answer::Connection;
use crate::local::Local;
use crate::worker::mirror::Copies;
use http::codec::body::Decoder;
use http::codec::response::ResponseHead;
use http::codec::{Body, Refusal};
use std::net::SocketAddr;
use std::time::Duration;
use units::Timestamp;

/// What the client is sent, and how that counts.
#[derive(Debug, Default)]
pub(in crate::worker) struct Answer {
    /// The service level class that counts it.
    level: Option<usize>,
    /// Counted as late before it arrived.
    late: bool,
    first_byte: Option<Timestamp>,
    status: u16,
    body_bytes: u64,
    /// The instance's `Retry-After`: how long it wants no requests.
    stay_away: Option<Duration>,
    broken: Option<(&'static str, SocketAddr)>,
    forwarding: Option<Forwarding>,
}

/// An instance's response whose head was read.
#[derive(Debug)]
pub(in crate::worker) struct Forwarding {
    status: u16,
    /// The client has been sent part of it.
    begun: bool,
    body: Decoder,
    /// The chunked coding is removed for a client that does not know it.
    unchunk: bool,
    close: bool,
    /// The end of the connection marks the end of the response.
    until_close: bool,
    reusable: bool,
}

impl Answer {
    /// Counts it in this service level class, if one is given.
    #[inline]
    pub(in crate::worker) fn judge_by(&mut self, level: Option<usize>) {
        self.level = level.or(self.level);
    }

    /// Counts it as late, at most once, and not after it has arrived.
    pub(in crate::worker) fn count_late(&mut self, local: &Local) {
        let late = std::mem::replace(&mut self.late, true);
        if !late && self.first_byte.is_none() {
            local.tally(self.level, |tally| tally.record_late());
        }
    }

    /// Counts a request that was refused by its own policy.
    pub(in crate::worker) fn count_shed(&self, local: &Local) {
        local.tally(self.level, |tally| tally.record_shed());
    }

    /// Counts it as late if its target is shorter than `elapsed`, the time since the request was sent.
    pub(super) fn note_late(&mut self, local: &Local, elapsed: Duration) {
        let Some(level) = self.level else { return };
        if self.first_byte.is_none() && local.shared.levels[level].settings.is_late(elapsed) {
            self.count_late(local);
        }
    }

    /// The head of an instance's response has arrived. Returns how the client finds the end of the body, and whether
    /// its connection closes; `draining` means that connections close.
    #[inline]
    pub(in crate::worker) fn begin(
        &mut self,
        now: Timestamp,
        head: &ResponseHead<'_, '_>,
        request: &Request,
        draining: bool,
    ) -> (Body, Connection) {
        self.first_byte = Some(now);
        self.status = head.status;
        // 429 is about one client, 503 about the instance.
        if head.status == 503 {
            self.stay_away = head.headers.find("retry-after").and_then(seconds);
        }
        let unchunk = request.is_old() && head.framing == Body::Chunked;
        let framed = if unchunk { Body::UntilClose } else { head.framing };
        // A response before the end of the request: nothing reads the rest of the request any more.
        let early = !request.is_whole();
        let until_close = framed == Body::UntilClose;
        let close = !request.keeps_connection() || until_close || early || draining;
        self.forwarding = Some(Forwarding {
            status: head.status,
            begun: false,
            body: Decoder::new(head.framing),
            unchunk,
            close,
            until_close,
            reusable: head.keep_alive && !early,
        });
        (framed, Connection::of(close, request.is_old()))
    }

    /// Counts it in its service level class; `elapsed` is the time from sending the request to the first byte.
    #[inline]
    pub(in crate::worker) fn count(&self, local: &Local, elapsed: Duration) {
        let Some(level) = self.level else { return };
        local.times.borrow_mut()[level].record(elapsed);
        if !self.late {
            let conforms = local.shared.levels[level].settings.conforms(self.status, elapsed);
            local.tally(Some(level), |tally| tally.record(conforms));
        }
    }

    /// A response rule changes its status.
    pub(in crate::worker) fn change_status(&mut self, status: u16) {
        self.status = status;
    }

    /// Takes the next bytes of an instance's body: appends to `out` what the client is sent of them. Returns whether it
    /// was the last part. It has one caller, and a separate call would cost each exchange 40 instructions.
    #[inline(always)]
    pub(in crate::worker) fn forward(
        &mut self,
        bytes: &[u8],
        out: &mut Vec<u8>,
        copies: &mut Copies,
    ) -> Result<bool, Refusal> {
        let Some(forwarding) = &mut self.forwarding else { return Ok(false) };
        let mut used = 0;
        loop {
            let step = forwarding.body.decode(&bytes[used..])?;
            self.body_bytes += step.data.len() as u64;
            let data = &bytes[used..][step.data];
            copies.answered(data);
            if forwarding.unchunk {
                out.extend_from_slice(data);
            }
            used += step.consumed;
            if step.done || used == bytes.len() {
                break;
            }
        }
        if !forwarding.unchunk {
            out.extend_from_slice(&bytes[..used]);
        }
        // Bytes after the response were not requested.
        forwarding.reusable &= used == bytes.len();
        forwarding.begun = true;
        Ok(forwarding.body.is_done())
    }

    /// The response of a response rule replaces that of the instance, of whose body `rest` has arrived; `close` means
    /// that the client's connection closes after it.
    pub(in crate::worker) fn replace(&mut self, status: u16, body_bytes: u64, rest: &[u8], close: bool) {
        if let Some(forwarding) = &mut self.forwarding {
            forwarding.replaced(rest, close);
            (self.status, self.body_bytes) = (status, body_bytes);
        }
    }

    /// The gateway sends its own response.
    #[inline]
    pub(in crate::worker) fn own(&mut self, status: u16, body_bytes: u64) {
        (self.status, self.body_bytes) = (status, body_bytes);
    }

    /// The client left before the end of the response.
    pub(in crate::worker) fn client_left(&mut self) {
        if self.forwarding.is_none() {
            self.status = CLIENT_LEFT;
        }
    }

    /// It violated this rule of HTTP, and came from this instance.
    pub(in crate::worker) fn broke(&mut self, rule: &'static str, instance: SocketAddr) {
        self.broken = Some((rule, instance));
    }

    /// Drops an instance's response of which the client has received nothing, so that another can be sent; false if the
    /// client has received part of it.
    pub(in crate::worker) fn take_back(&mut self) -> bool {
        self.forwarding.take_if(|forwarding| !forwarding.begun);
        self.forwarding.is_none()
    }

    /// The instance has closed its connection: returns whether that is the end of the response.
    pub(in crate::worker) fn ends_here(&mut self) -> bool {
        self.forwarding.as_mut().is_some_and(|forwarding| forwarding.body.closed().is_ok())
    }

    /// It was sent completely: returns what was forwarded.
    #[inline]
    pub(in crate::worker) fn finish(&mut self) -> Option<Forwarding> {
        self.forwarding.take()
    }

    /// The head of an instance's response has arrived.
    #[inline]
    pub(in crate::worker) fn is_forwarded(&self) -> bool {
        self.forwarding.is_some()
    }

    /// Whether a client could take the end of its connection for the end of the response.
    pub(in crate::worker) fn is_until_close(&self) -> bool {
        self.forwarding.as_ref().is_some_and(|forwarding| forwarding.until_close)
    }

    /// The status that the instance sent, whether or not a rule changed it.
    pub(in crate::worker) fn status_of_instance(&self) -> u16 {
        self.forwarding.as_ref().map_or(self.status, |forwarding| forwarding.status)
    }

    /// The status that the client is sent.
    #[inline]
    pub(in crate::worker) fn status(&self) -> u16 {
        self.status
    }

    #[inline]
    pub(in crate::worker) fn body_bytes(&self) -> u64 {
        self.body_bytes
    }

    /// When the first byte of an instance's response arrived.
    #[inline]
    pub(in crate::worker) fn first_byte(&self) -> Option<Timestamp> {
        self.first_byte
    }

    /// The instance's `Retry-After`: how long it wants no requests.
    #[inline]
    pub(in crate::worker) fn stay_away(&self) -> Option<Duration> {
        self.stay_away
    }

    /// The rule that it violated, and the instance that sent it.
    #[inline]
    pub(in crate::worker) fn broken(&self) -> Option<(&'static str, SocketAddr)> {
        self.broken
    }
}

impl Forwarding {
    /// Another response replaces it.
    fn replaced(&mut self, rest: &[u8], close: bool) {
        // The connection is kept only if the whole of the other body is already there: reading and dropping an unknown
        // amount costs more than a new connection.
        let mut used = 0;
        while !self.body.is_done() && used < rest.len() {
            match self.body.decode(&rest[used..]) {
                Ok(step) => used += step.consumed,
                Err(_) => break,
            }
        }
        self.reusable &= self.body.is_done() && used == rest.len();
        (self.until_close, self.close) = (false, close);
    }

    /// The instance's response, whether or not a rule changed it.
    #[inline]
    pub(in crate::worker) fn status(&self) -> u16 {
        self.status
    }

    /// The client's connection closes after it.
    #[inline]
    pub(in crate::worker) fn closes(&self) -> bool {
        self.close
    }

    /// The upstream's connection may carry another request.
    #[inline]
    pub(in crate::worker) fn is_reusable(&self) -> bool {
        self.reusable
    }
}

/// `Retry-After` in seconds; a date is rare enough to be left to the penalty of the balancer.
fn seconds(value: &[u8]) -> Option<Duration> {
    std::str::from_utf8(value).ok()?.parse().ok().map(Duration::from_secs)
}

/// The status in the log of a request whose client did not wait for the response.
const CLIENT_LEFT: u16 = 499;

#[cfg(test)]
mod tests {
    use super::super::request::tests::begun;
    use super::*;
    use http::codec::Limits;
    use http::codec::header::slots;
    use http::codec::response;

    /// A response that has begun with this text's head, what the client gets, and the rest of the text.
    fn answering<'a>(request: &Request, text: &'a str) -> (Answer, (Body, Connection), &'a [u8]) {
        let mut slots = slots();
        let bytes = text.as_bytes();
        let head =
            response::parse(bytes, request.answer_to(), &Limits::default(), &mut slots).unwrap().unwrap();
        let mut answer = Answer::default();
        let told = answer.begin(Timestamp::from_secs(1), &head, request, false);
        (answer, told, &bytes[head.head_len..])
    }

    const CHUNKED: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";

    #[test]
    fn chunks_are_taken_apart_for_a_client_that_does_not_know_them() {
        for (request, framed, connection, sent) in [
            ("GET / HTTP/1.1\r\nHost: a\r\n\r\n", Body::Chunked, Connection::Stays, "3\r\nabc\r\n0\r\n\r\n"),
            ("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", Body::UntilClose, Connection::Closes, "abc"),
        ] {
            let (mut answer, told, rest) = answering(&begun(request), CHUNKED);
            assert_eq!(told, (framed, connection), "{request}");
            let mut out = Vec::new();
            assert_eq!(answer.forward(rest, &mut out, &mut Copies::default()), Ok(true));
            assert_eq!(out, sent.as_bytes(), "{request}");
            assert_eq!(answer.body_bytes(), 3);
            assert_eq!(answer.is_until_close(), framed == Body::UntilClose);
            assert!(answer.finish().is_some_and(|forwarded| forwarded.is_reusable()));
        }
    }

    #[test]
    fn an_answer_before_the_end_of_its_request_ends_both_connections() {
        let request = begun("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\n");
        let (mut answer, (_, connection), _) = answering(&request, CHUNKED);
        assert_eq!(connection, Connection::Closes);
        let forwarded = answer.finish().unwrap();
        assert!(forwarded.closes() && !forwarded.is_reusable());
    }

    #[test]
    fn an_answer_is_taken_back_until_the_client_has_had_some_of_it() {
        let request = begun("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        let (mut answer, _, _) = answering(&request, CHUNKED);
        assert!(answer.take_back() && !answer.is_forwarded());
        let (mut answer, _, rest) = answering(&request, CHUNKED);
        answer.forward(&rest[..2], &mut Vec::new(), &mut Copies::default()).unwrap();
        assert!(!answer.take_back() && answer.is_forwarded());
    }

    #[test]
    fn an_answer_in_the_place_of_another_keeps_the_connection_where_that_one_is_whole() {
        let request = begun("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        for (missing, reusable) in [(0, true), (1, false)] {
            let (mut answer, _, rest) = answering(&request, CHUNKED);
            answer.replace(418, 5, &rest[..rest.len() - missing], false);
            assert_eq!((answer.status(), answer.status_of_instance(), answer.body_bytes()), (418, 200, 5));
            assert_eq!(answer.finish().unwrap().is_reusable(), reusable);
        }
    }

    #[test]
    fn what_503_asks_for_is_kept_and_what_429_asks_for_is_the_clients() {
        let request = begun("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        for (status, expected) in [(503, Some(Duration::from_secs(7))), (429, None)] {
            let text = format!("HTTP/1.1 {status} X\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n");
            assert_eq!(answering(&request, &text).0.stay_away(), expected);
        }
    }
}
