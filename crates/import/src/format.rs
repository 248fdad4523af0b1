//! The formats by name, and their detection.

use crate::FormatError;
use crate::access_log;
use crate::input::telling;
use crate::lines::BYTE_ORDER_MARK;
use crate::reader::LineParser;
use std::fmt;
use std::str::FromStr;

/// The format of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// vegeta's targets as text.
    Vegeta,
    /// vegeta's targets as JSON lines.
    VegetaJson,
    /// URLs, one per line.
    Urls,
    /// curl command lines.
    Curl,
    /// An access log of nginx.
    Nginx,
    /// An access log of Apache's httpd.
    Apache,
    /// An access log of an AWS Application Load Balancer.
    Alb,
    /// headroom's own captures.
    Capture,
    /// A table of counts over time, read by [`Rows`](crate::Rows).
    Traffic,
}

impl Format {
    /// All values.
    pub const ALL: [Format; 9] = [
        Format::Vegeta,
        Format::VegetaJson,
        Format::Urls,
        Format::Curl,
        Format::Nginx,
        Format::Apache,
        Format::Alb,
        Format::Capture,
        Format::Traffic,
    ];

    /// Its name in flags.
    pub fn name(self) -> &'static str {
        match self {
            Format::Vegeta => "vegeta",
            Format::VegetaJson => "vegeta-json",
            Format::Urls => "urls",
            Format::Curl => "curl",
            Format::Nginx => "nginx",
            Format::Apache => "apache",
            Format::Alb => "alb",
            Format::Capture => "capture",
            Format::Traffic => "traffic",
        }
    }

    pub(crate) fn names_of_requests() -> String {
        let names: Vec<_> =
            Format::ALL.into_iter().filter(|format| *format != Format::Traffic).map(Format::name).collect();
        names.join(", ")
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Format {
    type Err = FormatError;

    /// By its name; the caller handles `auto` with [`detect`].
    fn from_str(text: &str) -> Result<Self, FormatError> {
        if let Some(format) = Format::ALL.into_iter().find(|format| format.name() == text) {
            return Ok(format);
        }
        let near =
            Format::ALL.map(|format| (strsim::damerau_levenshtein(format.name(), text), format.name()));
        let nearest =
            near.into_iter().filter(|(distance, _)| *distance <= 2).min().map(|(_, name)| name.to_owned());
        let known = Format::ALL.map(Format::name).join(", ");
        Err(FormatError::Unknown { name: text.to_owned(), nearest, known })
    }
}

/// The format of the first lines of an input; `None` if no format is recognised.
///
/// The first line that is neither blank nor a comment decides. A line in the combined format is assumed to be nginx's,
/// one in the common format Apache's; the server itself is not visible.
pub fn detect(head: &[u8]) -> Option<Format> {
    let line = telling(head).next()?;
    let first = line.split(u8::is_ascii_whitespace).next().unwrap_or_default();
    let has = |key: &str| line.windows(key.len()).any(|window| window == key.as_bytes());
    if line.starts_with(b"{") {
        return match (has("\"at_us\"") || has("\"headers\"") || has("\"body_base64\""), has("\"url\"")) {
            (true, true) => Some(Format::Capture),
            (false, true) => Some(Format::VegetaJson),
            _ => None,
        };
    }
    if first == b"curl" || first.ends_with(b"/curl") || line.starts_with(b"$ curl ") {
        return Some(Format::Curl);
    }
    if parses(&mut crate::alb::Alb, line) {
        return Some(Format::Alb);
    }
    if parses(&mut crate::urls::Urls, line) {
        return Some(Format::Urls);
    }
    if capture::request::method(first).is_some() && begins_a_url(line[first.len()..].trim_ascii_start()) {
        return Some(Format::Vegeta);
    }
    for (format, pattern) in
        [(Format::Nginx, access_log::nginx("combined")), (Format::Apache, access_log::apache("common"))]
    {
        if pattern.is_ok_and(|pattern| parses(&mut access_log::AccessLog::new(pattern), line)) {
            return Some(format);
        }
    }
    let text = head.strip_prefix(BYTE_ORDER_MARK).unwrap_or(head);
    crate::traffic::looks_like_counts(text).then_some(Format::Traffic)
}

fn parses(parser: &mut impl LineParser, line: &[u8]) -> bool {
    parser.parse(line).is_ok_and(|entry| entry.is_some())
}

fn begins_a_url(text: &[u8]) -> bool {
    text.starts_with(b"/") || text.starts_with(b"http://") || text.starts_with(b"https://")
}
