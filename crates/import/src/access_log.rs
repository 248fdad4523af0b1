//! Access logs with a pattern for lines: nginx's `log_format` and Apache's `LogFormat`.
//!
//! ## Why patterns are given and not guessed
//! A log does not describe itself, and in two similar logs a number may have different meanings. The user has the line
//! of the server's configuration; it is compiled into literals and fields, and a line of the log is matched from left
//! to right, each field up to the next literal. Servers escape quotes inside fields, so the match is exact.

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

/// Parses lines with a pattern.
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

/// The meaning of a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Field {
    /// Not needed for a replay, whether known or not.
    Ignored,
    ClientAddress,
    ForwardedFor,
    RequestLine,
    Method,
    /// Path and query as they were sent.
    Target,
    Path,
    /// With or without its question mark.
    Query,
    Host,
    Scheme,
    /// A request header, with the name to send it under.
    Header(String),
    Status,
    Bytes,
    /// In this unit; the times of several upstreams are added.
    ResponseTime(Unit),
    UpstreamTime,
    CommonLogTime(crate::Edge),
    Iso8601(crate::Edge),
    /// Seconds, milliseconds or microseconds since 1970.
    Epoch(Unit, crate::Edge),
}

/// The unit of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    Seconds,
    Millis,
    Micros,
}

#[cfg(test)]
mod tests;
