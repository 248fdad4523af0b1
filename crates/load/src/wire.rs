//! A rendered request.

use http::codec::method::is_idempotent;
use http::h2::RequestHead;

/// A request that is ready to be sent, any number of times.
#[derive(Debug, Clone, Default)]
pub(crate) struct Wire {
    /// The index of its server in the worker.
    pub(crate) server: u32,
    /// The index of its endpoint in the results.
    pub(crate) endpoint: u32,
    /// The whole request of HTTP/1.1.
    pub(crate) bytes: Vec<u8>,
    /// The offset of its body.
    body_at: usize,
    /// The head for HTTP/2, if that is used.
    pub(crate) h2: Option<Box<H2Head>>,
    /// The offset of the digits of the arrival's number, if it carries one.
    number_at: Option<usize>,
    /// Whether its response has no body whatever the response head states.
    pub(crate) head: bool,
    /// Whether sending it twice has the same effect as sending it once (RFC 9110, 9.2.2).
    pub(crate) idempotent: bool,
}

/// The head of a request in HTTP/2.
#[derive(Debug, Clone, Default)]
pub(crate) struct H2Head {
    pub(crate) block: RequestHead,
    /// The parts to render it again with for each arrival's number: method, scheme, authority, path, headers.
    numbered: Option<[String; 4]>,
    headers: Vec<(String, Vec<u8>)>,
}

/// What all requests of a plan share.
#[derive(Debug, Clone)]
pub(crate) struct Form {
    pub(crate) keep_alive: bool,
    /// The header that carries the number of each arrival.
    pub(crate) arrival_header: Option<String>,
    /// Whether HTTP/2 may be used.
    pub(crate) h2: bool,
}

impl Default for Form {
    fn default() -> Self {
        Form { keep_alive: true, arrival_header: None, h2: false }
    }
}

impl Wire {
    /// The body, unchanged.
    pub(crate) fn body(&self) -> &[u8] {
        &self.bytes[self.body_at..]
    }

    /// Writes an arrival's number into the request, if it carries one.
    pub(crate) fn set_number(&mut self, number: u64) {
        let Some(at) = self.number_at else { return };
        let mut digits = [b'0'; NUMBER_DIGITS];
        let mut rest = number;
        for digit in digits.iter_mut().rev() {
            *digit = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        self.bytes[at..at + NUMBER_DIGITS].copy_from_slice(&digits);
        if let Some(h2) = &mut self.h2
            && let Some([method, scheme, authority, path]) = &h2.numbered
        {
            if let Some((_, value)) = h2.headers.last_mut() {
                value.clear();
                value.extend_from_slice(&digits);
            }
            let headers = h2.headers.iter().map(|(name, value)| (name.as_str(), value.as_slice()));
            // It was rendered before with other digits, so it cannot be refused because of digits.
            let _ = h2.block.render(method, scheme, authority, path, headers);
        }
    }
}

/// The content of a request, except its headers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Parts<'a> {
    pub(crate) method: &'a str,
    pub(crate) secure: bool,
    pub(crate) authority: &'a str,
    /// With its query; begins with a slash.
    pub(crate) path: &'a str,
    pub(crate) body: &'a [u8],
}

impl Parts<'_> {
    /// Writes it into `wire`, reusing its memory. A `Host`, `User-Agent` or `Accept` among the headers replaces the
    /// default.
    pub(crate) fn write<'h>(
        &self,
        headers: impl Iterator<Item = (&'h [u8], &'h [u8])> + Clone,
        form: &Form,
        wire: &mut Wire,
    ) {
        let Parts { method, authority, path, body, .. } = *self;
        let given =
            |name: &str| headers.clone().any(|(given, _)| given.eq_ignore_ascii_case(name.as_bytes()));
        let length =
            (!body.is_empty() || matches!(method, "POST" | "PUT" | "PATCH")).then(|| body.len().to_string());
        let agent = (!given("user-agent")).then_some(USER_AGENT);
        let accept = (!given("accept")).then_some("*/*");
        let bytes = &mut wire.bytes;
        bytes.clear();
        for part in [method, " ", path, " HTTP/1.1\r\n"] {
            bytes.extend_from_slice(part.as_bytes());
        }
        let mut line = |name: &[u8], value: &[u8]| {
            for part in [name, b": ", value, b"\r\n"] {
                bytes.extend_from_slice(part);
            }
        };
        if !given("host") {
            line(b"Host", authority.as_bytes());
        }
        if let Some(agent) = agent {
            line(b"User-Agent", agent.as_bytes());
        }
        if let Some(accept) = accept {
            line(b"Accept", accept.as_bytes());
        }
        headers.clone().for_each(|(name, value)| line(name, value));
        if let Some(length) = &length {
            line(b"Content-Length", length.as_bytes());
        }
        if !form.keep_alive && !given("connection") {
            line(b"Connection", b"close");
        }
        if let Some(name) = &form.arrival_header {
            line(name.as_bytes(), NO_NUMBER.as_bytes());
        }
        wire.number_at = form.arrival_header.as_ref().map(|_| bytes.len() - 2 - NUMBER_DIGITS);
        bytes.extend_from_slice(b"\r\n");
        wire.body_at = bytes.len();
        bytes.extend_from_slice(body);
        wire.head = method == "HEAD";
        wire.idempotent = is_idempotent(method.as_bytes());
        if form.h2 {
            let ours = [("user-agent", agent), ("accept", accept), ("content-length", length.as_deref())];
            self.write_h2(ours, headers, form, wire);
        }
    }

    fn write_h2<'h>(
        &self,
        ours: [(&'static str, Option<&str>); 3],
        headers: impl Iterator<Item = (&'h [u8], &'h [u8])>,
        form: &Form,
        wire: &mut Wire,
    ) {
        let h2 = wire.h2.get_or_insert_default();
        h2.headers.clear();
        let ours = ours.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?.into())));
        h2.headers.extend(ours);
        // Like curl: fields about a connection of HTTP/1.1 are left out.
        let kept = headers.filter(|(name, _)| !HOP_BY_HOP.iter().any(|hop| name.eq_ignore_ascii_case(hop)));
        h2.headers
            .extend(kept.map(|(name, value)| (String::from_utf8_lossy(name).into_owned(), value.to_vec())));
        if let Some(name) = &form.arrival_header {
            h2.headers.push((name.clone(), NO_NUMBER.into()));
        }
        let scheme = if self.secure { "https" } else { "http" };
        let fields = h2.headers.iter().map(|(name, value)| (name.as_str(), value.as_slice()));
        // Fields that HTTP/1.1 accepts and HTTP/2 does not were left out; a head that is refused anyway stays empty,
        // and sending it fails.
        let _ = h2.block.render(self.method, scheme, self.authority, self.path, fields);
        h2.numbered = form
            .arrival_header
            .as_ref()
            .map(|_| [self.method, scheme, self.authority, self.path].map(str::to_owned));
    }
}

const HOP_BY_HOP: [&[u8]; 5] =
    [b"connection", b"keep-alive", b"proxy-connection", b"transfer-encoding", b"upgrade"];

/// An honest user agent: a server's operator must be able to tell load from users.
pub(crate) const USER_AGENT: &str = concat!("headroom/", env!("CARGO_PKG_VERSION"));

const NO_NUMBER: &str = "00000000000000000000";

/// As many as the largest number has.
const NUMBER_DIGITS: usize = NO_NUMBER.len();

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_arrival_carries_its_number() {
        let parts = Parts { method: "GET", secure: false, authority: "a", path: "/", body: b"x" };
        let form =
            Form { keep_alive: false, arrival_header: Some("X-Headroom-Arrival".to_owned()), h2: true };
        let mut wire = Wire::default();
        parts.write(std::iter::empty(), &form, &mut wire);
        for number in [0, 42, u64::MAX, 7] {
            wire.set_number(number);
            let text = String::from_utf8(wire.bytes.clone()).unwrap();
            assert!(text.contains(&format!("X-Headroom-Arrival: {number:020}\r\n\r\nx")), "{text}");
            assert!(text.contains("Connection: close\r\n"), "{text}");
            assert!(!wire.h2.as_ref().unwrap().block.block().is_empty());
        }
        assert_eq!(wire.body(), b"x");
    }
}
