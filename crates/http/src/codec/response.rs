//! Response heads: in full for the gateway, and only the framing facts for the load generator.
//!
//! ## Why a scanner remembers
//! Under load, nearly all heads of one target are the same bytes until the date changes. The same bytes have the same
//! reading, so a [`Scanner`] compares with the last head it read before it parses: 5 ns in place of 145 ns for a head
//! of 148 bytes (the example `codec_cost` measures it), and it is exactly as strict as [`parse`].

use httparse::{Error, Status};

use super::fields::{Fields, check_head_len, check_line_ends};
use super::header::{Headers, Slots, slots};
use super::{Body, Limits, Refusal};

/// The kind of request, which decides whether the response has a body (RFC 9112 section 6.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerTo {
    /// A HEAD request: the framing fields describe a body that is not sent.
    Head,
    /// A CONNECT request: after a 2xx the connection is a tunnel.
    Connect,
    /// Any other request.
    Other,
}

/// A response head, borrowed from the buffer it was read from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ResponseHead<'h, 'b> {
    /// The status, 100 to 999. Below 200 it is interim and another head follows; after 101 the connection is no
    /// longer HTTP.
    pub status: u16,
    /// The reason phrase; empty when absent or not ASCII.
    pub reason: &'b str,
    /// The minor version: 0 or 1.
    pub version: u8,
    /// The header fields.
    pub headers: Headers<'h, 'b>,
    /// Bytes of the head, including its empty line: the body begins here.
    pub head_len: usize,
    /// Where the body ends.
    pub framing: Body,
    /// The stated length, even if no body is sent (HEAD, 304); `None` where stating one is an error (204).
    pub content_length: Option<u64>,
    /// Whether the connection may carry another request.
    pub keep_alive: bool,
    /// The protocol of a 101 response, or the one that a 426 response asks for.
    pub upgrade: Option<&'b [u8]>,
}

/// The facts of a response head that framing needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scan {
    /// The status, 100 to 999.
    pub status: u16,
    /// Where the body ends.
    pub framing: Body,
    /// Whether the connection may carry another request.
    pub keep_alive: bool,
    /// Bytes of the head, including its empty line.
    pub head_len: usize,
}

/// Reads a response head from the beginning of `buf`; `None` when it is not complete yet.
#[inline]
pub fn parse<'h, 'b>(
    buf: &'b [u8],
    answer_to: AnswerTo,
    limits: &Limits,
    slots: &'h mut Slots<'b>,
) -> Result<Option<ResponseHead<'h, 'b>>, Refusal> {
    // `httparse` skips empty lines before a status line. An upstream has no reason to send any, and after a body of the
    // wrong length they are the first symptom.
    if let Some(b'\r' | b'\n') = buf.first() {
        return Err(Refusal::LeadingLines { found: 1 });
    }
    let bound = limits.headers_max.min(slots.len());
    let mut raw = httparse::Response::new(&mut []);
    let config = httparse::ParserConfig::default();
    let head_len = match config.parse_response_with_uninit_headers(&mut raw, buf, &mut slots[..bound]) {
        Ok(Status::Complete(head_len)) => head_len,
        Ok(Status::Partial) => {
            check_head_len(buf.len(), false, limits)?;
            return Ok(None);
        }
        Err(error) => return Err(refusal(error, bound)),
    };
    check_head_len(head_len, true, limits)?;
    let (Some(status), Some(version)) = (raw.code, raw.version) else { return Err(Refusal::StatusLine) };
    if status < 100 {
        return Err(Refusal::StatusRange { found: status });
    }
    let headers: &'h [_] = raw.headers;
    check_line_ends(buf, head_len, headers)?;
    let fields = Fields::read(headers, version)?;
    let framing = framing(status, answer_to, &fields)?;
    // A sender that states a length with 204 may send that many bytes as well, against RFC 9112, 6.3: there is no body,
    // and the bytes after the head belong to no message.
    let content_length = fields.content_length.filter(|_| status != 204);
    let is_clean = status != 204 || fields.content_length.is_none_or(|length| length == 0);
    Ok(Some(ResponseHead {
        status,
        reason: raw.reason.unwrap_or_default(),
        version,
        headers: Headers { all: headers, withheld: fields.withheld },
        head_len,
        framing,
        content_length,
        keep_alive: fields.keep_alive(version) && framing != Body::UntilClose && is_clean,
        upgrade: fields.upgrade(),
    }))
}

/// Reads only the framing facts from the head at the beginning of `buf`.
#[inline]
pub fn scan(buf: &[u8], answer_to: AnswerTo, limits: &Limits) -> Result<Option<Scan>, Refusal> {
    let mut slots = slots();
    Ok(parse(buf, answer_to, limits, &mut slots)?.map(|head| Scan {
        status: head.status,
        framing: head.framing,
        keep_alive: head.keep_alive,
        head_len: head.head_len,
    }))
}

/// [`scan`] with a cache of the last head: one per worker, or one per connection.
#[derive(Clone, Debug)]
pub struct Scanner {
    limits: Limits,
    /// The bytes of the last head and the kind of its request; empty before the first.
    last_head: Vec<u8>,
    last: Option<(AnswerTo, Scan)>,
}

impl Scanner {
    /// A scanner with an empty cache.
    pub fn new(limits: Limits) -> Scanner {
        Scanner { limits, last_head: Vec::new(), last: None }
    }

    /// The same result as [`scan`], faster if heads repeat.
    #[inline]
    pub fn scan(&mut self, buf: &[u8], answer_to: AnswerTo) -> Result<Option<Scan>, Refusal> {
        if let Some((last_answer_to, scan)) = self.last
            && last_answer_to == answer_to
            && buf.starts_with(&self.last_head)
        {
            return Ok(Some(scan));
        }
        self.read(buf, answer_to)
    }

    fn read(&mut self, buf: &[u8], answer_to: AnswerTo) -> Result<Option<Scan>, Refusal> {
        let scan = scan(buf, answer_to, &self.limits)?;
        if let Some(scan) = scan {
            self.last_head.clear();
            self.last_head.extend_from_slice(&buf[..scan.head_len]);
            self.last = Some((answer_to, scan));
        }
        Ok(scan)
    }
}

/// RFC 9112 section 6.3, in its order.
#[inline]
fn framing(status: u16, answer_to: AnswerTo, fields: &Fields<'_>) -> Result<Body, Refusal> {
    if status < 200 || status == 204 {
        // Peers differ on whether such a body is read, so an announced one cannot be trusted either way. A length with
        // 204 is a common mistake, and harmless if the connection is not used again.
        let length = fields.content_length.is_some_and(|length| length > 0);
        if fields.chunked || (length && status != 204) {
            return Err(Refusal::BodyForbidden { status });
        }
        return Ok(Body::None);
    }
    if status == 304 || answer_to == AnswerTo::Head {
        return Ok(Body::None);
    }
    if answer_to == AnswerTo::Connect && status < 300 {
        return Ok(Body::None);
    }
    Ok(fields.framing().unwrap_or(Body::UntilClose))
}

#[cold]
fn refusal(error: Error, headers_max: usize) -> Refusal {
    match error {
        Error::HeaderName => Refusal::HeaderName,
        Error::HeaderValue => Refusal::HeaderValue,
        Error::NewLine => Refusal::BareCr,
        Error::TooManyHeaders => Refusal::TooManyHeaders { bound: headers_max },
        Error::Status | Error::Token => Refusal::StatusLine,
        Error::Version => Refusal::Version,
    }
}
