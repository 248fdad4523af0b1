//! Request heads: the trust boundary for client bytes.

use httparse::{Error, Status};

use super::fields::{Fields, check_head_len, check_line_ends, offset};
use super::header::{Headers, Slots};
use super::target::{is_authority, is_same_authority};
use super::{Body, Limits, Refusal, Target};

/// A request head, borrowed from the buffer it was read from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RequestHead<'h, 'b> {
    /// The method: a token, case unchanged.
    pub method: &'b str,
    /// The target as it was sent: printable ASCII, and other UTF-8, which a forwarder has to percent-encode.
    pub path: &'b str,
    /// The target by its form.
    pub target: Target<'b>,
    /// The minor version: 0 or 1.
    pub version: u8,
    /// The header fields.
    pub headers: Headers<'h, 'b>,
    /// Bytes of the head, including its empty line: the body begins here.
    pub head_len: usize,
    /// Where the body ends; never [`Body::UntilClose`].
    pub framing: Body,
    /// Whether the client accepts another response on this connection.
    pub keep_alive: bool,
    /// Whether the client waits for 100 (Continue) before it sends the body. The Expect field is not among the fields
    /// to forward; a forwarder that does not respond itself writes it again.
    pub expect_continue: bool,
    /// Whether the client accepts trailers (`TE: trailers`); a hop-by-hop field, which a forwarder writes again.
    pub trailers: bool,
    /// Host and optional port, checked; `None` only in HTTP/1.0.
    pub host: Option<&'b str>,
    /// The protocol that the client asks to change to. Not forwarded unless the gateway adds it again, and bytes after
    /// the head belong to the new protocol only after the upstream has responded with 101.
    pub upgrade: Option<&'b [u8]>,
}

/// Reads a request head from the beginning of `buf`; `None` when it is not complete yet.
#[inline]
pub fn parse<'h, 'b>(
    buf: &'b [u8],
    limits: &Limits,
    slots: &'h mut Slots<'b>,
) -> Result<Option<RequestHead<'h, 'b>>, Refusal> {
    let bound = limits.headers_max.min(slots.len());
    let mut raw = httparse::Request::new(&mut []);
    let status = raw.parse_with_uninit_headers(buf, &mut slots[..bound]);
    let head_len = match status {
        Ok(Status::Complete(head_len)) => head_len,
        Ok(Status::Partial) => {
            check_target_so_far(buf, &raw, limits)?;
            check_head_len(buf.len(), false, limits)?;
            return Ok(None);
        }
        Err(error) => return Err(refusal(error, buf, bound)),
    };
    check_target_so_far(buf, &raw, limits)?;
    check_head_len(head_len, true, limits)?;
    let (Some(method), Some(path), Some(version)) = (raw.method, raw.path, raw.version) else {
        return Err(Refusal::RequestLine);
    };
    let headers: &'h [_] = raw.headers;
    check_leading(buf, method)?;
    check_line_ends(buf, head_len, headers)?;
    let fields = Fields::read(headers, version)?;
    if fields.lookalike {
        return Err(Refusal::FramingLookalike);
    }
    let target = Target::read(method, path)?;
    let host = host(&fields, version, &target)?;
    Ok(Some(RequestHead {
        method,
        path,
        target,
        version,
        headers: Headers { all: headers, withheld: fields.withheld },
        head_len,
        framing: fields.framing().unwrap_or(Body::None),
        keep_alive: fields.keep_alive(version),
        expect_continue: expect_continue(&fields, version)?,
        trailers: fields.trailers && version == 1,
        host,
        upgrade: fields.upgrade().filter(|_| version == 1),
    }))
}

/// The bound on the target, also for an incomplete one.
fn check_target_so_far(buf: &[u8], raw: &httparse::Request<'_, '_>, limits: &Limits) -> Result<(), Refusal> {
    let found = match (raw.method, raw.path) {
        (_, Some(path)) => path.len(),
        (Some(method), None) => {
            buf.len().saturating_sub(offset(buf, method.as_bytes()) + method.len() + " ".len())
        }
        (None, None) => 0,
    };
    let bound = limits.target_bytes_max;
    if found > bound { Err(Refusal::TargetTooLong { found, bound }) } else { Ok(()) }
}

/// RFC 9112 section 2.2 asks a server to skip at least one empty line before the request line.
fn check_leading(buf: &[u8], method: &str) -> Result<(), Refusal> {
    match offset(buf, method.as_bytes()) {
        0 => Ok(()),
        2 if buf.starts_with(b"\r\n") => Ok(()),
        found => Err(Refusal::LeadingLines { found }),
    }
}

fn host<'b>(fields: &Fields<'b>, version: u8, target: &Target<'b>) -> Result<Option<&'b str>, Refusal> {
    let host = match fields.host {
        None if version == 1 => return Err(Refusal::HostMissing),
        None => None,
        Some(value) => {
            let host = std::str::from_utf8(value).map_err(|_| Refusal::HostInvalid)?;
            if !is_authority(host) {
                return Err(Refusal::HostInvalid);
            }
            Some(host)
        }
    };
    match *target {
        Target::Absolute { authority, default_port, .. } => match host {
            Some(host) if !is_same_authority(host, authority, default_port) => Err(Refusal::HostDiffers),
            _ => Ok(Some(authority)),
        },
        Target::Origin(_) | Target::Asterisk => Ok(host),
    }
}

/// HTTP/1.0 has no interim responses, so an expectation in it is ignored.
fn expect_continue(fields: &Fields<'_>, version: u8) -> Result<bool, Refusal> {
    if version == 0 {
        return Ok(false);
    }
    if fields.expects_other { Err(Refusal::ExpectationUnknown) } else { Ok(fields.expects_continue) }
}

#[cold]
fn refusal(error: Error, buf: &[u8], headers_max: usize) -> Refusal {
    match error {
        Error::HeaderName => Refusal::HeaderName,
        Error::HeaderValue => Refusal::HeaderValue,
        Error::NewLine => Refusal::BareCr,
        Error::TooManyHeaders => Refusal::TooManyHeaders { bound: headers_max },
        Error::Status | Error::Token => Refusal::RequestLine,
        Error::Version => version_refusal(buf),
    }
}

fn version_refusal(buf: &[u8]) -> Refusal {
    let line = buf.trim_ascii_start();
    if line.starts_with(b"PRI * HTTP/2") {
        return Refusal::Http2Preface;
    }
    let line = line.split(|&b| b == b'\r' || b == b'\n').next().unwrap_or_default();
    let mut words = line.split(|&b| b == b' ').skip(2);
    match (words.next(), words.next()) {
        (Some([b'H', b'T', b'T', b'P', b'/', major, b'.', minor]), None)
            if major.is_ascii_digit() && minor.is_ascii_digit() =>
        {
            Refusal::VersionUnsupported
        }
        (_, Some(_)) => Refusal::RequestLine,
        _ => Refusal::Version,
    }
}
