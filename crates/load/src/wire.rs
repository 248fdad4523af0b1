//! A request as the bytes that are sent.

use std::fmt::Write;

/// A request that is ready to be sent, any number of times.
#[derive(Debug, Clone, Default)]
pub(crate) struct Wire {
    /// The place of its origin among those of the worker.
    pub(crate) origin: u32,
    /// The place of its endpoint in the results.
    pub(crate) endpoint: u32,
    /// The whole request of HTTP/1.1.
    pub(crate) bytes: Vec<u8>,
    /// Where the digits of the arrival's number are, if it carries one.
    number_at: Option<usize>,
    /// Whether the answer to it has no body whatever its head says.
    pub(crate) head: bool,
    /// Whether sending it twice does what sending it once does (RFC 9110, 9.2.2).
    pub(crate) idempotent: bool,
}

impl Wire {
    /// Writes an arrival's number into the request, where it carries one.
    pub(crate) fn set_number(&mut self, number: u64) {
        let Some(at) = self.number_at else { return };
        let mut rest = number;
        for digit in self.bytes[at..at + NUMBER_DIGITS].iter_mut().rev() {
            *digit = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
    }
}

/// What a request says.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Parts<'a> {
    pub(crate) method: &'a str,
    pub(crate) authority: &'a str,
    /// With its query; begins with a slash.
    pub(crate) path: &'a str,
    pub(crate) headers: &'a [(String, String)],
    pub(crate) body: &'a [u8],
}

impl Parts<'_> {
    /// Writes it. A `Host`, `User-Agent` or `Accept` among its headers replaces ours.
    pub(crate) fn wire(
        &self,
        origin: u32,
        endpoint: u32,
        keep_alive: bool,
        arrival_header: Option<&str>,
    ) -> Wire {
        let Parts { method, authority, path, headers, body } = *self;
        let given = |name: &str| headers.iter().any(|(given, _)| given.eq_ignore_ascii_case(name));
        let mut text = format!("{method} {path} HTTP/1.1\r\n");
        let mut line = |name: &str, value: &str| {
            // Writing to a string cannot fail.
            let _ = write!(text, "{name}: {value}\r\n");
        };
        if !given("host") {
            line("Host", authority);
        }
        if !given("user-agent") {
            line("User-Agent", USER_AGENT);
        }
        if !given("accept") {
            line("Accept", "*/*");
        }
        if !body.is_empty() || matches!(method, "POST" | "PUT" | "PATCH") {
            line("Content-Length", &body.len().to_string());
        }
        if !keep_alive && !given("connection") {
            line("Connection", "close");
        }
        headers.iter().for_each(|(name, value)| line(name, value));
        if let Some(name) = arrival_header {
            line(name, NO_NUMBER);
        }
        let number_at = arrival_header.map(|_| text.len() - 2 - NUMBER_DIGITS);
        text.push_str("\r\n");
        let mut bytes = text.into_bytes();
        bytes.extend_from_slice(body);
        Wire {
            origin,
            endpoint,
            bytes,
            number_at,
            head: method == "HEAD",
            idempotent: matches!(method, "GET" | "HEAD" | "OPTIONS" | "PUT" | "DELETE" | "TRACE"),
        }
    }
}

/// Who we are, honestly: a server's operator must be able to tell load from users.
pub(crate) const USER_AGENT: &str = concat!("headroom/", env!("CARGO_PKG_VERSION"));

const NO_NUMBER: &str = "00000000000000000000";

/// As many as the largest number has.
const NUMBER_DIGITS: usize = NO_NUMBER.len();

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_arrival_carries_its_number() {
        let parts = Parts { method: "GET", authority: "a", path: "/", headers: &[], body: b"x" };
        let mut wire = parts.wire(0, 0, false, Some("X-Headroom-Arrival"));
        for number in [0, 42, u64::MAX, 7] {
            wire.set_number(number);
            let text = String::from_utf8(wire.bytes.clone()).unwrap();
            assert!(text.contains(&format!("X-Headroom-Arrival: {number:020}\r\n\r\nx")), "{text}");
            assert!(text.contains("Connection: close\r\n"), "{text}");
        }
    }
}
