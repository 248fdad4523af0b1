//! Messages to bytes: appended to a buffer that the caller reuses.
//!
//! The writers take parts that were checked: slices of a parsed head, constants, or operator input that passed
//! [`check_name`], [`check_value`], [`check_method`] or [`check_target`] when it was configured. Checking once at
//! configuration is cheaper than for each message, and the writers need only a few copies.

use thiserror::Error;

use super::Target;
use super::fields::is_token;

/// Text that would break the message that contains it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Unsafe {
    /// Not a token: empty, or with spaces, control characters, delimiters or non-ASCII characters.
    #[error("{what} must be letters, digits or any of !#$%&'*+-.^_`|~ and not empty")]
    Token {
        /// The part of the message.
        what: &'static str,
    },
    /// A control character in a value.
    #[error("header value has byte 0x{byte:02x} at {at}, expected no control character but the tab")]
    Value {
        /// The byte found.
        byte: u8,
        /// Its offset.
        at: usize,
    },
    /// A byte that a target cannot have.
    #[error("target has byte 0x{byte:02x} at {at}, expected printable ASCII without #; percent-encode it")]
    Target {
        /// The byte found.
        byte: u8,
        /// Its offset.
        at: usize,
    },
    /// An empty target.
    #[error("target is empty, expected at least /")]
    TargetEmpty,
}

/// Appends `METHOD target HTTP/1.1`.
#[inline]
pub fn request_line(out: &mut Vec<u8>, method: &str, target: &str) {
    out.extend_from_slice(method.as_bytes());
    out.push(b' ');
    out.extend_from_slice(target.as_bytes());
    out.extend_from_slice(b" HTTP/1.1\r\n");
}

/// Appends the request line for a request that is forwarded to an origin: see [`Target::origin_form`].
#[inline]
pub fn forwarded_request_line(out: &mut Vec<u8>, method: &str, target: &Target<'_>) {
    request_line(out, method, &target.origin_form(method));
}

/// Appends `HTTP/1.1 status reason`; the status has three digits.
#[inline]
pub fn status_line(out: &mut Vec<u8>, status: u16, reason: &str) {
    out.extend_from_slice(b"HTTP/1.1 ");
    decimal(out, u64::from(status));
    out.push(b' ');
    out.extend_from_slice(reason.as_bytes());
    out.extend_from_slice(b"\r\n");
}

/// Appends `name: value`.
#[inline]
pub fn header(out: &mut Vec<u8>, name: &str, value: &[u8]) {
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b": ");
    out.extend_from_slice(value);
    out.extend_from_slice(b"\r\n");
}

/// Appends the framing field for a body of this length.
#[inline]
pub fn content_length(out: &mut Vec<u8>, length: u64) {
    out.extend_from_slice(b"content-length: ");
    decimal(out, length);
    out.extend_from_slice(b"\r\n");
}

/// Appends the framing field for a chunked body.
#[inline]
pub fn transfer_encoding_chunked(out: &mut Vec<u8>) {
    out.extend_from_slice(b"transfer-encoding: chunked\r\n");
}

/// Appends the empty line that ends a head.
#[inline]
pub fn end_of_head(out: &mut Vec<u8>) {
    out.extend_from_slice(b"\r\n");
}

/// Appends the size line of a chunk; its data and [`chunk_end`] follow. The size is above 0, since a chunk of 0
/// ends the body.
#[inline]
pub fn chunk_start(out: &mut Vec<u8>, size: usize) {
    debug_assert!(size > 0, "a chunk of 0 ends the body");
    let digits = size.checked_ilog2().unwrap_or(0) / 4 + 1;
    for place in (0..digits).rev() {
        out.push(b"0123456789abcdef"[size >> (4 * place) & 0xf]);
    }
    out.extend_from_slice(b"\r\n");
}

/// Appends the end of a chunk.
#[inline]
pub fn chunk_end(out: &mut Vec<u8>) {
    out.extend_from_slice(b"\r\n");
}

/// Appends a whole chunk; nothing if there is no data.
#[inline]
pub fn chunk(out: &mut Vec<u8>, data: &[u8]) {
    if !data.is_empty() {
        chunk_start(out, data.len());
        out.extend_from_slice(data);
        chunk_end(out);
    }
}

/// Appends the last chunk, without trailers.
#[inline]
pub fn last_chunk(out: &mut Vec<u8>) {
    out.extend_from_slice(b"0\r\n\r\n");
}

/// Appends a number in decimal.
#[inline]
pub fn decimal(out: &mut Vec<u8>, number: u64) {
    let pair = |number: u64| [PAIRS[2 * number as usize], PAIRS[2 * number as usize + 1]];
    // Most numbers are statuses and parts of addresses: written without a loop.
    match number {
        0..10 => out.push(b'0' + number as u8),
        10..100 => out.extend_from_slice(&pair(number)),
        100..1_000 => {
            let [tens, ones] = pair(number % 100);
            out.extend_from_slice(&[b'0' + (number / 100) as u8, tens, ones]);
        }
        _ => long_decimal(out, number),
    }
}

fn long_decimal(out: &mut Vec<u8>, mut number: u64) {
    let mut digits = [0; DECIMAL_DIGITS_MAX];
    let mut at = digits.len();
    // Two digits per division: numbers are a tenth of what an exchange writes.
    while number >= 100 {
        at -= 2;
        let pair = 2 * (number % 100) as usize;
        digits[at..at + 2].copy_from_slice(&PAIRS[pair..pair + 2]);
        number /= 100;
    }
    if number >= 10 {
        at -= 2;
        let pair = 2 * number as usize;
        digits[at..at + 2].copy_from_slice(&PAIRS[pair..pair + 2]);
    } else {
        at -= 1;
        digits[at] = b'0' + number as u8;
    }
    out.extend_from_slice(&digits[at..]);
}

/// `00` to `99`.
const PAIRS: [u8; 200] = {
    let mut pairs = [0; 200];
    let mut number = 0;
    while number < 100 {
        pairs[2 * number] = b'0' + (number / 10) as u8;
        pairs[2 * number + 1] = b'0' + (number % 10) as u8;
        number += 1;
    }
    pairs
};

/// The standard reason phrase; empty for a status without one.
pub fn reason(status: u16) -> &'static str {
    match status {
        100 => "Continue",
        101 => "Switching Protocols",
        200 => "OK",
        201 => "Created",
        202 => "Accepted",
        204 => "No Content",
        206 => "Partial Content",
        301 => "Moved Permanently",
        302 => "Found",
        303 => "See Other",
        304 => "Not Modified",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        409 => "Conflict",
        411 => "Length Required",
        413 => "Content Too Large",
        414 => "URI Too Long",
        417 => "Expectation Failed",
        421 => "Misdirected Request",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        505 => "HTTP Version Not Supported",
        _ => "",
    }
}

/// Checks the name of a header field.
pub fn check_name(name: &str) -> Result<(), Unsafe> {
    if is_token(name.as_bytes()) { Ok(()) } else { Err(Unsafe::Token { what: "header name" }) }
}

/// Checks a method.
pub fn check_method(method: &str) -> Result<(), Unsafe> {
    if is_token(method.as_bytes()) { Ok(()) } else { Err(Unsafe::Token { what: "method" }) }
}

/// Checks the value of a header field; line ends are refused.
pub fn check_value(value: &[u8]) -> Result<(), Unsafe> {
    match value.iter().position(|&b| b != b'\t' && b.is_ascii_control()) {
        Some(at) => Err(Unsafe::Value { byte: value[at], at }),
        None => Ok(()),
    }
}

/// Checks a request target.
pub fn check_target(target: &str) -> Result<(), Unsafe> {
    if target.is_empty() {
        return Err(Unsafe::TargetEmpty);
    }
    match target.bytes().position(|b| !b.is_ascii_graphic() || b == b'#') {
        Some(at) => Err(Unsafe::Target { byte: target.as_bytes()[at], at }),
        None => Ok(()),
    }
}

/// Digits of the largest number.
const DECIMAL_DIGITS_MAX: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_the_standard_library_writes_them() {
        for number in (0..=10_000).chain([12_345, u64::from(u32::MAX), u64::MAX - 1, u64::MAX]) {
            let mut out = Vec::new();
            decimal(&mut out, number);
            assert_eq!(out, number.to_string().into_bytes());
        }
        for size in [1, 9, 15, 16, 255, 256, 65_535, 65_536, usize::MAX] {
            let mut out = Vec::new();
            chunk_start(&mut out, size);
            assert_eq!(out, format!("{size:x}\r\n").into_bytes());
        }
    }

    #[test]
    fn an_origin_is_sent_a_path() {
        let absolute = |path| Target::Absolute { authority: "a", default_port: 80, path };
        let cases = [
            ("GET", Target::Origin("/a?b"), "/a?b"),
            ("OPTIONS", Target::Asterisk, "*"),
            ("OPTIONS", absolute(""), "*"),
            ("OPTIONS", absolute("/"), "/"),
            ("GET", absolute(""), "/"),
            ("GET", absolute("?b"), "/?b"),
            ("GET", absolute("/a"), "/a"),
        ];
        for (method, target, expected) in cases {
            let mut out = Vec::new();
            forwarded_request_line(&mut out, method, &target);
            assert_eq!(out, format!("{method} {expected} HTTP/1.1\r\n").into_bytes());
        }
    }

    #[test]
    fn no_line_end_passes_the_checks() {
        assert!(check_value(b"a\tb \xc3\xa4").is_ok());
        for value in [&b"a\r\nx: y"[..], b"a\nb", b"a\rb", b"a\0b", b"a\x7fb"] {
            assert!(check_value(value).is_err(), "{value:?}");
        }
        for name in ["", "a b", "a:", "a\r\n", "ä", "a\0"] {
            assert!(check_name(name).is_err() && check_method(name).is_err(), "{name:?}");
        }
        for target in ["", "/a b", "/\r\n", "/#a", "/ä", "/\x7f"] {
            assert!(check_target(target).is_err(), "{target:?}");
        }
        assert!(check_name("X-A").is_ok() && check_method("GET").is_ok() && check_target("/a?b=%20").is_ok());
    }
}
