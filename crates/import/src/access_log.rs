//! Access logs whose lines follow a pattern: nginx's `log_format` and Apache's `LogFormat`.
//!
//! ## Why patterns are read and not guessed
//! A log says nothing about itself, and two that look alike differ in what a number means. The user has the line
//! of the server's configuration; it is compiled into literals and fields, and a line of the log is matched from
//! left to right, each field up to the next literal. Servers escape quotes inside fields, so that is exact.

mod apache;
mod nginx;
mod pattern;
mod record;

pub(crate) use apache::apache;
pub(crate) use nginx::nginx;
pub(crate) use pattern::{Pattern, unescaped};

use crate::Entry;
use crate::reader::LineParser;
use capture::Fault;
use record::Record;

/// Reads the lines that a pattern describes.
#[derive(Debug)]
pub(crate) struct AccessLog(Pattern);

impl AccessLog {
    pub(crate) fn new(pattern: Pattern) -> Self {
        AccessLog(pattern)
    }
}

impl LineParser for AccessLog {
    fn parse(&mut self, line: &[u8]) -> Result<Option<Entry>, Fault> {
        if line.trim_ascii().is_empty() {
            return Ok(None);
        }
        let mut record = Record::default();
        self.0.fields(line, |field, offset, raw| {
            record.take(field, raw).map_err(|fault| fault.within(line, offset))
        })?;
        record.entry().map(Some)
    }
}

/// What a field of a log line is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Field {
    /// Known or not, a replay has no use for it.
    Ignored,
    ClientAddress,
    ForwardedFor,
    RequestLine,
    Method,
    /// Path and query as they came.
    Target,
    Path,
    /// With or without its question mark.
    Query,
    Host,
    Scheme,
    /// A request header, by the name to send it under.
    Header(String),
    Status,
    Bytes,
    /// In units of so many microseconds; a list of upstreams' times is summed.
    ResponseTime(Unit),
    UpstreamTime,
    CommonLogTime(crate::Edge),
    Iso8601(crate::Edge),
    /// Seconds, milliseconds or microseconds since 1970.
    Epoch(Unit, crate::Edge),
}

/// What a number counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    Seconds,
    Millis,
    Micros,
}

#[cfg(test)]
mod tests;
