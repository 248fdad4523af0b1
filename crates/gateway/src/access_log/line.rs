//! The content of a log line, in each format.
//!
//! Written by hand into the buffer: no allocation and no general formatter per line. Client input is escaped, so that
//! no request can forge a line: as nginx does in the combined format (`\x22`), as JSON does in JSON. In the request
//! line of the extended format only quotes have to be escaped: the codec has refused the rest.

use crate::address;
use crate::settings::LogFormat;
use http::codec::write::decimal;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// The content of a log line.
#[derive(Debug)]
pub(crate) struct Line<'a> {
    pub(crate) client: IpAddr,
    /// When the request arrived, in µs since 1970.
    pub(crate) arrived_us: u64,
    /// Empty if the request could not be read.
    pub(crate) method: &'a [u8],
    pub(crate) target: &'a [u8],
    /// The client speaks HTTP/1.0.
    pub(crate) old: bool,
    /// Referer and user agent, with a zero byte between them; empty if not needed.
    pub(crate) agent: &'a [u8],
    pub(crate) status: u16,
    pub(crate) body_bytes: u64,
    pub(crate) route: &'a str,
    pub(crate) total: Duration,
    /// From sending upstream to the first byte; `None` if nothing was sent.
    pub(crate) upstream: Option<Duration>,
    pub(crate) waited: Duration,
    /// Why the gateway sent its own response; `-` if it did not.
    pub(crate) reason: &'a str,
    /// The rule that an instance's response violated, and the instance.
    pub(crate) broken: Option<(&'static str, SocketAddr)>,
}

impl Line<'_> {
    /// Appends the line.
    pub(super) fn write(&self, format: LogFormat, out: &mut Vec<u8>, date: &mut Date) {
        match format {
            LogFormat::Extended => self.extended(out, date),
            LogFormat::Combined => self.combined(out, date),
            LogFormat::Json => self.json(out, date),
        }
    }

    /// The combined format followed by the gateway's own fields.
    fn extended(&self, out: &mut Vec<u8>, date: &mut Date) {
        self.head(out, date);
        if self.method.is_empty() {
            out.extend_from_slice(b"-\" ");
        } else {
            out.extend_from_slice(self.method);
            out.push(b' ');
            // A target has no space or control character: the codec has refused them.
            let start = out.len();
            out.extend_from_slice(self.target);
            // Writes every byte, so that the compiler can vectorize the loop.
            out[start..].iter_mut().for_each(|byte| *byte = if *byte == b'"' { b'\'' } else { *byte });
            out.extend_from_slice(self.protocol());
        }
        decimal(out, u64::from(self.status));
        out.push(b' ');
        decimal(out, self.body_bytes);
        out.extend_from_slice(b" \"-\" \"-\" route=\"");
        out.extend_from_slice(self.route.as_bytes());
        out.extend_from_slice(b"\" total_us=");
        decimal(out, self.total.as_micros() as u64);
        if let Some(upstream) = self.upstream {
            out.extend_from_slice(b" upstream_us=");
            decimal(out, upstream.as_micros() as u64);
        }
        if !self.waited.is_zero() {
            out.extend_from_slice(b" waited_us=");
            decimal(out, self.waited.as_micros() as u64);
        }
        if self.reason != "-" {
            out.extend_from_slice(b" reason=");
            out.extend_from_slice(self.reason.as_bytes());
        }
        if let Some((rule, instance)) = self.broken {
            out.extend_from_slice(format!(" rule={rule} instance={instance}").as_bytes());
        }
        out.push(b'\n');
    }

    /// nginx's `combined`; the user of the basic scheme is omitted.
    fn combined(&self, out: &mut Vec<u8>, date: &mut Date) {
        self.head(out, date);
        if self.method.is_empty() {
            out.extend_from_slice(b"-\" ");
        } else {
            escaped(out, self.method);
            out.push(b' ');
            escaped(out, self.target);
            out.extend_from_slice(self.protocol());
        }
        decimal(out, u64::from(self.status));
        out.push(b' ');
        decimal(out, self.body_bytes);
        let mut agent = self.agent.splitn(2, |&byte| byte == 0);
        for _ in 0..2 {
            out.extend_from_slice(b" \"");
            match agent.next() {
                None | Some(b"") => out.push(b'-'),
                Some(text) => escaped(out, text),
            }
            out.push(b'"');
        }
        out.push(b'\n');
    }

    /// An object. Omitted: the request line of unreadable input, upstream values if nothing was sent upstream, the
    /// reason if there is none.
    fn json(&self, out: &mut Vec<u8>, date: &mut Date) {
        out.extend_from_slice(b"{\"time\":\"");
        out.extend_from_slice(date.iso(self.arrived_us));
        out.extend_from_slice(b".");
        let mut micros = self.arrived_us % 1_000_000;
        let mut digits = [b'0'; 6];
        for digit in digits.iter_mut().rev() {
            *digit += (micros % 10) as u8;
            micros /= 10;
        }
        out.extend_from_slice(&digits);
        out.extend_from_slice(b"Z\",\"client\":\"");
        address::write(out, self.client);
        out.push(b'"');
        if !self.method.is_empty() {
            out.extend_from_slice(b",\"method\":\"");
            json_text(out, self.method);
            out.extend_from_slice(b"\",\"target\":\"");
            json_text(out, self.target);
            out.extend_from_slice(if self.old {
                b"\",\"protocol\":\"HTTP/1.0\""
            } else {
                b"\",\"protocol\":\"HTTP/1.1\""
            });
        }
        out.extend_from_slice(b",\"status\":");
        decimal(out, u64::from(self.status));
        out.extend_from_slice(b",\"bytes\":");
        decimal(out, self.body_bytes);
        if self.route != "-" {
            out.extend_from_slice(b",\"route\":\"");
            json_text(out, self.route.as_bytes());
            out.push(b'"');
        }
        out.extend_from_slice(b",\"total_us\":");
        decimal(out, self.total.as_micros() as u64);
        if let Some(upstream) = self.upstream {
            out.extend_from_slice(b",\"upstream_us\":");
            decimal(out, upstream.as_micros() as u64);
        }
        out.extend_from_slice(b",\"waited_us\":");
        decimal(out, self.waited.as_micros() as u64);
        if self.reason != "-" {
            out.extend_from_slice(b",\"reason\":\"");
            json_text(out, self.reason.as_bytes());
            out.push(b'"');
        }
        if let Some((rule, instance)) = self.broken {
            out.extend_from_slice(format!(",\"rule\":\"{rule}\",\"instance\":\"{instance}\"").as_bytes());
        }
        out.extend_from_slice(b"}\n");
    }

    /// Address and time, up to the request's opening quote.
    fn head(&self, out: &mut Vec<u8>, date: &mut Date) {
        address::write(out, self.client);
        out.extend_from_slice(b" - - [");
        out.extend_from_slice(date.common(self.arrived_us));
        out.extend_from_slice(b"] \"");
    }

    /// The end of the request line, with its closing quote.
    fn protocol(&self) -> &'static [u8] {
        if self.old { b" HTTP/1.0\" " } else { b" HTTP/1.1\" " }
    }
}

/// nginx's escaping: quotes, backslashes and all that is not printable ASCII.
fn escaped(out: &mut Vec<u8>, text: &[u8]) {
    for &byte in text {
        if matches!(byte, b'"' | b'\\') || !(b' '..0x7F).contains(&byte) {
            out.extend_from_slice(&[b'\\', b'x', HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
        } else {
            out.push(byte);
        }
    }
}

/// JSON's escaping. A byte that is not ASCII is written as its number, whatever its encoding.
fn json_text(out: &mut Vec<u8>, text: &[u8]) {
    match std::str::from_utf8(text) {
        Ok(_) => text.iter().for_each(|&byte| json_byte(out, byte, true)),
        Err(_) => text.iter().for_each(|&byte| json_byte(out, byte, false)),
    }
}

fn json_byte(out: &mut Vec<u8>, byte: u8, utf8: bool) {
    match byte {
        b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
        b' '..=b'~' => out.push(byte),
        0x80.. if utf8 => out.push(byte),
        _ => {
            out.extend_from_slice(b"\\u00");
            out.extend_from_slice(&[
                HEX[usize::from(byte >> 4)].to_ascii_lowercase(),
                HEX[usize::from(byte & 15)].to_ascii_lowercase(),
            ]);
        }
    }
}

const HEX: &[u8; 16] = b"0123456789ABCDEF";

/// The last second written, as text: most lines have the same one.
#[derive(Debug, Default)]
pub(super) struct Date {
    second: u64,
    text: String,
}

impl Date {
    /// `21/Nov/2026:13:05:01 +0000`, in UTC.
    fn common(&mut self, us: u64) -> &[u8] {
        self.of(us, |time| {
            format!(
                "{:02}/{}/{:04}:{:02}:{:02}:{:02} +0000",
                time.day(),
                MONTHS[usize::from(time.month().unsigned_abs() - 1) % 12],
                time.year(),
                time.hour(),
                time.minute(),
                time.second()
            )
        })
    }

    /// `2026-11-21T13:05:01`, in UTC.
    fn iso(&mut self, us: u64) -> &[u8] {
        self.of(us, |time| {
            format!(
                "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}",
                time.year(),
                time.month(),
                time.day(),
                time.hour(),
                time.minute(),
                time.second()
            )
        })
    }

    fn of(&mut self, us: u64, text: impl FnOnce(jiff::civil::DateTime) -> String) -> &[u8] {
        let second = us / 1_000_000;
        if second != self.second || self.text.is_empty() {
            let time =
                i64::try_from(second).ok().and_then(|second| jiff::Timestamp::from_second(second).ok());
            self.second = second;
            self.text = text(time.unwrap_or_default().to_zoned(jiff::tz::TimeZone::UTC).datetime());
        }
        self.text.as_bytes()
    }
}

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

#[cfg(test)]
mod tests {
    use super::*;
    use status::reason::request;

    fn text(line: &Line<'_>, format: LogFormat) -> String {
        let mut out = Vec::new();
        line.write(format, &mut out, &mut Date::default());
        String::from_utf8(out).unwrap()
    }

    fn answered() -> Line<'static> {
        Line {
            client: IpAddr::from([127, 0, 0, 1]),
            arrived_us: 1_795_266_301_000_250,
            method: b"GET",
            target: b"/search.cgi?q=\"1\"",
            old: false,
            agent: b"",
            status: 200,
            body_bytes: 100,
            route: "search",
            total: Duration::from_micros(19_000),
            upstream: Some(Duration::from_micros(18_600)),
            waited: Duration::ZERO,
            reason: "-",
            broken: None,
        }
    }

    /// For bytes that are not a request.
    fn broken() -> Line<'static> {
        Line {
            method: b"",
            target: b"",
            status: 400,
            body_bytes: 0,
            route: "-",
            total: Duration::ZERO,
            upstream: None,
            reason: "bad_head",
            ..answered()
        }
    }

    #[test]
    fn an_extended_line_is_what_log_readers_know() {
        assert_eq!(
            text(&answered(), LogFormat::Extended),
            "127.0.0.1 - - [21/Nov/2026:13:05:01 +0000] \"GET /search.cgi?q='1' HTTP/1.1\" 200 100 \"-\" \"-\" \
             route=\"search\" total_us=19000 upstream_us=18600\n"
        );
    }

    #[test]
    fn a_malformed_answer_is_told_with_its_rule_and_instance() {
        let broken = Some(("chunk-size", SocketAddr::from(([10, 0, 0, 1], 80))));
        let line = Line { status: 502, reason: request::UPSTREAM_MALFORMED, broken, ..answered() };
        let extended = text(&line, LogFormat::Extended);
        assert!(
            extended.ends_with(" reason=upstream_malformed rule=chunk-size instance=10.0.0.1:80\n"),
            "{extended}"
        );
        let json: serde_json::Value = serde_json::from_str(&text(&line, LogFormat::Json)).unwrap();
        assert_eq!((&json["rule"], &json["instance"]), (&"chunk-size".into(), &"10.0.0.1:80".into()));
    }

    #[test]
    fn a_combined_line_is_that_of_nginx() {
        let line = Line { agent: b"http://a/\0curl \"8\" \\ \xff\x1b", old: true, ..answered() };
        assert_eq!(
            text(&line, LogFormat::Combined),
            "127.0.0.1 - - [21/Nov/2026:13:05:01 +0000] \"GET /search.cgi?q=\\x221\\x22 HTTP/1.0\" 200 100 \
             \"http://a/\" \"curl \\x228\\x22 \\x5C \\xFF\\x1B\"\n"
        );
        let line = Line { agent: b"\0curl", ..answered() };
        assert!(text(&line, LogFormat::Combined).ends_with(" 200 100 \"-\" \"curl\"\n"));
        assert_eq!(
            text(&broken(), LogFormat::Combined),
            "127.0.0.1 - - [21/Nov/2026:13:05:01 +0000] \"-\" 400 0 \"-\" \"-\"\n"
        );
    }

    #[test]
    fn a_json_line_is_an_object_that_says_what_is_known() {
        assert_eq!(
            text(&answered(), LogFormat::Json),
            "{\"time\":\"2026-11-21T13:05:01.000250Z\",\"client\":\"127.0.0.1\",\"method\":\"GET\",\
             \"target\":\"/search.cgi?q=\\\"1\\\"\",\"protocol\":\"HTTP/1.1\",\"status\":200,\"bytes\":100,\
             \"route\":\"search\",\"total_us\":19000,\"upstream_us\":18600,\"waited_us\":0}\n"
        );
        assert_eq!(
            text(&broken(), LogFormat::Json),
            "{\"time\":\"2026-11-21T13:05:01.000250Z\",\"client\":\"127.0.0.1\",\"status\":400,\"bytes\":0,\
             \"total_us\":0,\"waited_us\":0,\"reason\":\"bad_head\"}\n"
        );
    }

    #[test]
    fn nothing_that_a_client_sends_ends_a_line() {
        for target in [&b"/\n\r\0\x7f\"\\"[..], b"/\xff\xfe", "/é".as_bytes()] {
            for form in [LogFormat::Combined, LogFormat::Json] {
                let line = text(&Line { target, agent: target, ..answered() }, form);
                assert_eq!(line.chars().filter(|c| c.is_control()).count(), 1, "{line:?}");
            }
            let json = text(&Line { target, ..answered() }, LogFormat::Json);
            serde_json::from_str::<serde_json::Value>(&json).unwrap();
        }
    }
}
