//! One request and its response in HTTP/1.1, from the client's side, as a state machine without I/O.

use http::codec::Refusal;
use http::codec::body::Decoder;
use http::codec::response::{AnswerTo, Scan, Scanner};

/// The response to one request, as far as it has arrived.
#[derive(Debug)]
pub(crate) struct Exchange {
    answer_to: AnswerTo,
    head: Option<Scan>,
    body: Decoder,
    /// The kept part of the response, if a scenario reads it.
    pub(crate) kept: Option<Box<Kept>>,
}

/// A complete response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// Whether the connection may carry another request.
    pub(crate) keep_alive: bool,
}

/// The kept part of a response, for a scenario that reads it, for the collector of the plan, or for the sample of heads.
#[derive(Debug, Clone, Default)]
pub(crate) struct Kept {
    /// Header lines with their line ends.
    pub(crate) head: Vec<u8>,
    /// The body, up to [`Kept::BODY_MAX`].
    pub(crate) body: Vec<u8>,
    /// The length of the body.
    pub(crate) body_bytes: u64,
    /// What else it is kept for.
    pub(crate) purpose: Purpose,
}

/// What a response is kept for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// For the scenario or the collector of the plan.
    #[default]
    Scenario,
    /// For the sample of heads too.
    Both,
    /// For the sample of heads only: no bytes of the body are kept.
    Sample,
    /// For the size of the body only, which the request log has: no bytes are kept.
    Size,
}

impl Purpose {
    /// Whether the body is read.
    fn reads_body(self) -> bool {
        matches!(self, Purpose::Scenario | Purpose::Both)
    }

    /// Whether the head goes into the sample.
    pub(crate) fn samples(self) -> bool {
        matches!(self, Purpose::Sample | Purpose::Both)
    }
}

impl Kept {
    /// Takes a part of the head.
    pub(crate) fn head(&mut self, part: &[u8]) {
        if self.purpose != Purpose::Size {
            self.head.extend_from_slice(part);
        }
    }

    /// Takes a part of the body.
    pub(crate) fn data(&mut self, data: &[u8]) {
        self.body_bytes += data.len() as u64;
        let most = if self.purpose.reads_body() { Kept::BODY_MAX } else { 0 };
        let room = most.saturating_sub(self.body.len());
        self.body.extend_from_slice(&data[..data.len().min(room)]);
    }

    /// Clears it and keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.head.clear();
        self.body.clear();
        self.body_bytes = 0;
        self.purpose = Purpose::Scenario;
    }

    /// Bytes beyond this are counted and not kept: no scenario reads values from the end of a download.
    pub(crate) const BODY_MAX: usize = 4 << 20;
}

impl Exchange {
    pub(crate) fn new(answer_to: AnswerTo, kept: Option<Box<Kept>>) -> Self {
        Exchange { answer_to, head: None, body: Decoder::new(http::codec::Body::None), kept }
    }

    /// Takes bytes that arrived: returns how many were used, and the response once it is complete. The caller passes
    /// unused bytes of a head again with the bytes that follow.
    pub(crate) fn received(
        &mut self,
        scanner: &mut Scanner,
        input: &[u8],
    ) -> Result<(usize, Option<Answer>), Refusal> {
        let mut used = 0;
        loop {
            if let Some(head) = self.head {
                let (consumed, done) = self.body(&input[used..])?;
                let answer = Answer { status: head.status, keep_alive: head.keep_alive };
                return Ok((used + consumed, done.then_some(answer)));
            }
            let Some(scan) = scanner.scan(&input[used..], self.answer_to)? else {
                return Ok((used, None));
            };
            let end = used + scan.head_len;
            // An interim response: the final one is still to come.
            if scan.status >= 200 {
                if let Some(kept) = &mut self.kept {
                    kept.head(&input[used..end]);
                }
                self.body = Decoder::new(scan.framing);
                self.head = Some(scan);
            }
            used = end;
        }
    }

    fn body(&mut self, input: &[u8]) -> Result<(usize, bool), Refusal> {
        let Some(kept) = &mut self.kept else {
            let skipped = self.body.skip(input)?;
            return Ok((skipped.consumed, skipped.done));
        };
        let mut used = 0;
        loop {
            let step = self.body.decode(&input[used..])?;
            kept.data(&input[used..][step.data]);
            used += step.consumed;
            if step.done || used == input.len() {
                return Ok((used, step.done));
            }
        }
    }

    /// Whether any part of the response has arrived, except interim responses.
    pub(crate) fn has_begun(&self) -> bool {
        self.head.is_some()
    }

    /// The other side closed: returns the response if that was its end.
    pub(crate) fn closed(&mut self) -> Option<Answer> {
        let head = self.head?;
        self.body.closed().ok()?;
        Some(Answer { status: head.status, keep_alive: false })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::codec::Limits;

    fn read(parts: &[&str]) -> Result<Option<Answer>, Refusal> {
        let plain = read_keeping(parts, None).map(|(answer, _)| answer);
        let kept = read_keeping(parts, Some(Box::default())).map(|(answer, _)| answer);
        assert_eq!(plain, kept, "what is kept changes nothing");
        plain
    }

    fn read_keeping(
        parts: &[&str],
        kept: Option<Box<Kept>>,
    ) -> Result<(Option<Answer>, Option<Box<Kept>>), Refusal> {
        let mut scanner = Scanner::new(Limits::default());
        let mut exchange = Exchange::new(AnswerTo::Other, kept);
        let mut pending = Vec::new();
        for part in parts {
            pending.extend_from_slice(part.as_bytes());
            let (used, answer) = exchange.received(&mut scanner, &pending)?;
            pending.drain(..used);
            if answer.is_some() {
                return Ok((answer, exchange.kept));
            }
        }
        Ok((exchange.closed(), exchange.kept))
    }

    #[test]
    fn answers_end_where_their_framing_says() {
        for (parts, status, keep_alive) in [
            (&["HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"][..], 200, true),
            (&["HTTP/1.1 200 OK\r\nConte", "nt-Length: 5\r\n\r\nhel", "lo"], 200, true),
            (&["HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"], 200, true),
            (&["HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n"], 204, true),
            // Without a length the close ends it.
            (&["HTTP/1.0 200 OK\r\n\r\nhello"], 200, false),
            (&["HTTP/1.1 503 Busy\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"], 503, false),
        ] {
            assert_eq!(read(parts), Ok(Some(Answer { status, keep_alive })), "{parts:?}");
        }
    }

    #[test]
    fn half_an_answer_is_none() {
        for parts in [&["HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell"][..], &["HTTP/1.1 200"], &[]] {
            assert_eq!(read(parts), Ok(None), "{parts:?}");
        }
        assert!(read(&["SSH-2.0-OpenSSH\r\n"]).is_err());
    }

    #[test]
    fn what_is_kept_is_the_body_without_its_framing() {
        let parts = &[
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nA: b\r\n\r\n2\r\nhe",
            "\r\n3\r\nllo\r\n0\r\n\r\n",
        ];
        let kept = read_keeping(parts, Some(Box::default())).unwrap().1.unwrap();
        assert_eq!((kept.body.as_slice(), kept.body_bytes), (&b"hello"[..], 5));
        assert!(kept.head.ends_with(b"A: b\r\n\r\n"));
    }
}
