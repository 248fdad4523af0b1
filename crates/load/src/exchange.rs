//! One request and its answer, from the client's side, as a state machine without I/O.

use http::codec::Refusal;
use http::codec::body::Decoder;
use http::codec::response::{AnswerTo, Scan, Scanner};

/// The answer to one request, as far as it has come.
#[derive(Debug)]
pub(crate) struct Exchange {
    answer_to: AnswerTo,
    head: Option<Scan>,
    body: Decoder,
}

/// A whole answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// Whether the connection may carry another request.
    pub(crate) keep_alive: bool,
}

impl Exchange {
    pub(crate) fn new(answer_to: AnswerTo) -> Self {
        Exchange { answer_to, head: None, body: Decoder::new(http::codec::Body::None) }
    }

    /// Takes bytes that arrived: how many were used, and the answer once it is whole. Unused bytes of a head come
    /// again with what arrives next.
    pub(crate) fn received(
        &mut self,
        scanner: &mut Scanner,
        input: &[u8],
    ) -> Result<(usize, Option<Answer>), Refusal> {
        let mut used = 0;
        loop {
            if let Some(head) = self.head {
                let skipped = self.body.skip(&input[used..])?;
                let answer = Answer { status: head.status, keep_alive: head.keep_alive };
                return Ok((used + skipped.consumed, skipped.done.then_some(answer)));
            }
            let Some(scan) = scanner.scan(&input[used..], self.answer_to)? else {
                return Ok((used, None));
            };
            used += scan.head_len;
            // An interim answer: the one that counts is still to come.
            if scan.status >= 200 {
                self.body = Decoder::new(scan.framing);
                self.head = Some(scan);
            }
        }
    }

    /// Whether any of the answer has come, interim ones left aside.
    pub(crate) fn has_begun(&self) -> bool {
        self.head.is_some()
    }

    /// The other side closed: was that the end of the answer?
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
        let mut scanner = Scanner::new(Limits::default());
        let mut exchange = Exchange::new(AnswerTo::Other);
        let mut pending = Vec::new();
        for part in parts {
            pending.extend_from_slice(part.as_bytes());
            let (used, answer) = exchange.received(&mut scanner, &pending)?;
            pending.drain(..used);
            if answer.is_some() {
                return Ok(answer);
            }
        }
        Ok(exchange.closed())
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
}
