//! What the client asks for, and how much of its body has arrived.

use http::codec::body::Decoder;
use http::codec::request::RequestHead;
use http::codec::response::AnswerTo;
use http::codec::{Body, Refusal, method};
use std::net::{IpAddr, Ipv4Addr};
use units::Timestamp;

/// When a request came, and from whom.
#[derive(Debug, Clone, Copy)]
pub(in crate::worker) struct Arrival {
    pub(in crate::worker) at: Timestamp,
    /// The wall clock then, in µs since 1970.
    pub(in crate::worker) wall_us: u64,
    /// The client address, beyond the trusted hops: the one for logs, keys and hashes.
    pub(in crate::worker) client: IpAddr,
}

/// What the client asks for.
#[derive(Debug)]
pub(in crate::worker) struct Request {
    arrival: Arrival,
    method: Vec<u8>,
    target: Vec<u8>,
    /// The original head, if a response rule may read it; otherwise empty.
    head: Vec<u8>,
    /// Referer and user agent, with a zero byte between them, if the log needs them.
    agent: Vec<u8>,
    body: Decoder,
    /// All of it arrived at once, so that it is kept.
    came_whole: bool,
    idempotent: bool,
    head_only: bool,
    old: bool,
    keep_alive: bool,
    expects_continue: bool,
}

/// The part of a request's body that has arrived.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::worker) struct Part {
    /// Bytes of the input that belong to the body.
    pub(in crate::worker) used: usize,
    /// How many of them are before its trailers.
    pub(in crate::worker) before_trailers: usize,
}

impl Default for Request {
    fn default() -> Self {
        let client = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
        Request {
            arrival: Arrival { at: Timestamp::ZERO, wall_us: 0, client },
            method: Vec::new(),
            target: Vec::new(),
            head: Vec::new(),
            agent: Vec::new(),
            body: Decoder::new(Body::None),
            came_whole: true,
            idempotent: false,
            head_only: false,
            old: false,
            keep_alive: true,
            expects_continue: false,
        }
    }
}

impl Request {
    /// For input that could not be read, so that its connection closes.
    pub(super) fn unread(arrival: Arrival) -> Self {
        Request { arrival, keep_alive: false, ..Request::default() }
    }

    /// A head was read. `target` is in origin form; `alone` means that nothing followed the head.
    #[inline]
    pub(super) fn begin(&mut self, arrival: Arrival, head: &RequestHead<'_, '_>, target: &str, alone: bool) {
        *self = Request {
            arrival,
            method: refilled(&mut self.method, head.method.as_bytes()),
            target: refilled(&mut self.target, target.as_bytes()),
            head: refilled(&mut self.head, b""),
            agent: refilled(&mut self.agent, b""),
            body: Decoder::new(head.framing),
            came_whole: true,
            idempotent: method::is_idempotent(head.method.as_bytes()),
            head_only: head.method == "HEAD",
            old: head.version == 0,
            keep_alive: head.keep_alive,
            expects_continue: head.expect_continue && alone,
        };
    }

    /// Keeps what the log needs of the client's program.
    pub(in crate::worker) fn keep_agent(&mut self, head: &RequestHead<'_, '_>) {
        self.agent.extend_from_slice(head.headers.find("referer").unwrap_or_default());
        self.agent.push(0);
        self.agent.extend_from_slice(head.headers.find("user-agent").unwrap_or_default());
    }

    /// Keeps the head, for a response rule.
    pub(in crate::worker) fn keep_head(&mut self, head: &[u8]) {
        self.head.extend_from_slice(head);
    }

    /// Reads the part of the body that arrived with the head.
    #[inline]
    pub(in crate::worker) fn begin_body(&mut self, input: &[u8]) -> Result<Part, Refusal> {
        let part = self.read_body(input)?;
        self.came_whole = self.body.is_done();
        Ok(part)
    }

    /// Reads the body as far as the input goes.
    pub(in crate::worker) fn read_body(&mut self, input: &[u8]) -> Result<Part, Refusal> {
        let mut part = Part::default();
        while part.used < input.len() && !self.body.is_done() {
            let is_behind = self.body.is_in_trailers();
            part.used += self.body.decode(&input[part.used..])?.consumed;
            if !is_behind {
                part.before_trailers = part.used;
            }
        }
        Ok(part)
    }

    /// The client no longer waits for 100 (Continue): it was sent, or the client did not wait.
    #[inline]
    pub(in crate::worker) fn goes_on(&mut self) {
        self.expects_continue = false;
    }

    /// The connection closes after the response.
    #[inline]
    pub(in crate::worker) fn close_connection(&mut self) {
        self.keep_alive = false;
    }

    #[inline]
    pub(in crate::worker) fn arrived(&self) -> Timestamp {
        self.arrival.at
    }

    /// When it came, in µs since 1970.
    #[inline]
    pub(in crate::worker) fn arrived_us(&self) -> u64 {
        self.arrival.wall_us
    }

    /// The client, beyond the trusted hops.
    #[inline]
    pub(in crate::worker) fn client(&self) -> IpAddr {
        self.arrival.client
    }

    #[inline]
    pub(in crate::worker) fn method(&self) -> &[u8] {
        &self.method
    }

    /// In origin form.
    #[inline]
    pub(in crate::worker) fn target(&self) -> &[u8] {
        &self.target
    }

    /// The original head, if it was kept; otherwise empty.
    pub(in crate::worker) fn head(&self) -> &[u8] {
        &self.head
    }

    /// Referer and user agent, with a zero byte between them, if they were kept; otherwise empty.
    #[inline]
    pub(in crate::worker) fn agent(&self) -> &[u8] {
        &self.agent
    }

    /// All of the body has arrived.
    #[inline]
    pub(in crate::worker) fn is_whole(&self) -> bool {
        self.body.is_done()
    }

    /// Sending it twice has the same effect as sending it once.
    pub(in crate::worker) fn is_idempotent(&self) -> bool {
        self.idempotent
    }

    /// It can be sent again without harm.
    pub(in crate::worker) fn is_repeatable(&self) -> bool {
        self.came_whole && self.idempotent
    }

    /// Its response has no body.
    #[inline]
    pub(in crate::worker) fn is_head_only(&self) -> bool {
        self.head_only
    }

    /// The kind of request that its response is parsed for.
    #[inline]
    pub(in crate::worker) fn answer_to(&self) -> AnswerTo {
        if self.head_only { AnswerTo::Head } else { AnswerTo::Other }
    }

    /// The client speaks HTTP/1.0 and does not know the chunked coding.
    #[inline]
    pub(in crate::worker) fn is_old(&self) -> bool {
        self.old
    }

    /// The connection may carry another request after it.
    #[inline]
    pub(in crate::worker) fn keeps_connection(&self) -> bool {
        self.keep_alive
    }

    /// The client waits for 100 (Continue), which was not sent yet.
    #[inline]
    pub(in crate::worker) fn expects_continue(&self) -> bool {
        self.expects_continue
    }
}

/// Takes the buffer out and puts other bytes in its place.
#[inline]
fn refilled(buffer: &mut Vec<u8>, bytes: &[u8]) -> Vec<u8> {
    let mut buffer = std::mem::take(buffer);
    buffer.clear();
    buffer.extend_from_slice(bytes);
    buffer
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use http::codec::Limits;
    use http::codec::header::slots;
    use http::codec::request;

    /// A request whose head was read; nothing of a body has come.
    pub(in super::super) fn begun(text: &str) -> Request {
        let mut slots = slots();
        let head = request::parse(text.as_bytes(), &Limits::default(), &mut slots).unwrap().unwrap();
        let mut request = Request::default();
        request.begin(request.arrival, &head, "/", text.len() == head.head_len);
        request
    }

    #[test]
    fn only_what_came_at_once_and_does_no_harm_is_repeatable() {
        for (method, came, expected) in [("PUT", "abc", true), ("PUT", "ab", false), ("POST", "abc", false)] {
            let mut request = begun(&format!("{method} / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\n"));
            request.begin_body(came.as_bytes()).unwrap();
            assert_eq!(request.is_repeatable(), expected, "{method} {came}");
            assert_eq!(request.is_whole(), came == "abc");
            request.read_body(b"c").unwrap();
            assert_eq!(request.is_repeatable(), expected, "what came later is not kept");
        }
        assert!(begun("GET / HTTP/1.1\r\nHost: a\r\n\r\n").is_repeatable());
    }

    #[test]
    fn trailers_are_told_from_the_body_and_from_the_next_request() {
        let mut request = begun("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
        let input = b"3\r\nabc\r\n0\r\nX-Sum: 1\r\n\r\nGET";
        let part = request.begin_body(input).unwrap();
        assert_eq!((part.before_trailers, part.used), (11, input.len() - 3));
    }
}
