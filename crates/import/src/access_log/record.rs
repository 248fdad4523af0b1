//! The fields of one line, which are combined into an entry.

use super::pattern::unescaped;
use super::{Field, Unit};
use crate::request_line::{request_line, target_of};
use crate::time::{self, Instant};
use crate::{At, Edge, Entry, header};
use capture::Fault;
use capture::request::{method, visible};
use std::time::Duration;

#[derive(Debug, Default)]
pub(super) struct Record {
    entry: Entry,
    target: Option<String>,
    path: Option<String>,
    query: Option<String>,
    host: Option<String>,
    scheme: Option<String>,
    forwarded_for: Option<String>,
    upstream_time: Option<Duration>,
}

impl Record {
    /// Records a field; `-` and an empty field both mean that the server had no value.
    pub(super) fn take(&mut self, field: &Field, raw: &[u8]) -> Result<(), Fault> {
        if *field == Field::Ignored {
            return Ok(());
        }
        if raw == b"-" || raw.is_empty() {
            return if *field == Field::RequestLine { request_line(raw).map(drop) } else { Ok(()) };
        }
        let value = unescaped(raw);
        let wrong = |expected: &'static str| Fault::at(raw, 0, expected);
        match field {
            Field::Ignored => {}
            Field::ClientAddress => self.entry.user = Some(text(&value)),
            // The first is the client, the others are proxies.
            Field::ForwardedFor => {
                let first = value.split(|byte| *byte == b',').next().unwrap_or_default();
                self.forwarded_for = Some(text(first.trim_ascii())).filter(|first| !first.is_empty());
            }
            Field::RequestLine => {
                let line = request_line(&value)?;
                self.entry.method = line.method;
                self.target = Some(line.target);
            }
            Field::Method => {
                self.entry.method = method(&value).ok_or_else(|| wrong("a method such as GET"))?
            }
            Field::Target => self.target = Some(target_of(&value)?),
            Field::Path => self.path = Some(target_of(&value)?),
            Field::Query => self.query = Some(visible(value.strip_prefix(b"?").unwrap_or(&value))),
            Field::Host => self.host = Some(host(&value).ok_or_else(|| wrong("the name of a host"))?),
            Field::Scheme => self.scheme = Some(text(&value)),
            Field::Header(name) => {
                self.entry.headers.push((name.clone(), header::sendable(&value)));
            }
            Field::Status => {
                let status = time::whole(raw).and_then(|status| u16::try_from(status).ok());
                self.entry.status = Some(status.ok_or_else(|| wrong("a status such as 200"))?);
            }
            Field::Bytes => {
                self.entry.bytes = Some(time::whole(raw).ok_or_else(|| wrong("a number of bytes"))?);
            }
            Field::ResponseTime(unit) => {
                let span = span(raw, *unit).ok_or_else(|| wrong("a response time"))?;
                // Apache writes %T in whole seconds: a finer time in the same line takes precedence.
                let coarse = *unit == Unit::Seconds && !raw.contains(&b'.');
                if self.entry.response_time.is_none() || !coarse {
                    self.entry.response_time = Some(span);
                }
            }
            Field::UpstreamTime => {
                self.upstream_time = Some(upstreams(raw).ok_or_else(|| wrong("times in seconds"))?);
            }
            Field::CommonLogTime(edge) => {
                let instant = time::common_log(raw);
                self.at(instant.ok_or_else(|| wrong("a time such as 10/Oct/2000:13:55:36 -0700"))?, *edge);
            }
            Field::Iso8601(edge) => {
                let instant = time::iso_8601(raw);
                self.at(instant.ok_or_else(|| wrong("a time such as 2026-03-01T12:00:05+00:00"))?, *edge);
            }
            Field::Epoch(unit, edge) => {
                self.at(epoch(raw, *unit).ok_or_else(|| wrong("a time since 1970"))?, *edge);
            }
        }
        Ok(())
    }

    /// Of several times in a line, the finest counts; of equal ones the first.
    fn at(&mut self, instant: Instant, edge: Edge) {
        let at = At { micros: instant.micros, whole_second: instant.whole_second, edge };
        if self.entry.at.is_none_or(|old| old.whole_second && !at.whole_second) {
            self.entry.at = Some(at);
        }
    }

    pub(super) fn entry(self) -> Result<Entry, Fault> {
        let Record { mut entry, target, path, query, host, scheme, forwarded_for, upstream_time } = self;
        let target = target.or_else(|| {
            let path = path?;
            Some(match query {
                Some(query) if !query.is_empty() => format!("{path}?{query}"),
                _ => path,
            })
        });
        let target = target.ok_or_else(|| Fault::of(b"", 0, "no path", "the path of a request"))?;
        entry.url = match host {
            Some(host) if target.starts_with('/') => {
                format!("{}://{host}{target}", scheme.as_deref().unwrap_or("http"))
            }
            _ => target,
        };
        if entry.method.is_empty() {
            "GET".clone_into(&mut entry.method);
        }
        entry.user = forwarded_for.or(entry.user);
        entry.response_time = entry.response_time.or(upstream_time);
        Ok(entry)
    }
}

fn text(value: &[u8]) -> String {
    String::from_utf8_lossy(value).into_owned()
}

fn host(value: &[u8]) -> Option<String> {
    let fits = |byte: &u8| byte.is_ascii_alphanumeric() || b".-_:[]".contains(byte);
    value.iter().all(fits).then(|| text(value))
}

fn span(raw: &[u8], unit: Unit) -> Option<Duration> {
    match unit {
        Unit::Seconds => time::seconds(raw),
        Unit::Millis => time::whole(raw).map(Duration::from_millis),
        Unit::Micros => time::whole(raw).map(Duration::from_micros),
    }
}

fn epoch(raw: &[u8], unit: Unit) -> Option<Instant> {
    let micros = match unit {
        Unit::Seconds => return time::epoch_seconds(raw),
        Unit::Millis => time::whole(raw)?.checked_mul(1_000)?,
        Unit::Micros => time::whole(raw)?,
    };
    Some(Instant { micros: i64::try_from(micros).ok()?, whole_second: false })
}

/// nginx lists a time for each upstream that was tried, separated by `, ` and ` : `; `-` if none was reached.
fn upstreams(raw: &[u8]) -> Option<Duration> {
    let words = raw.split(|byte| b", :".contains(byte)).filter(|word| !word.is_empty() && *word != b"-");
    let mut sum = Duration::ZERO;
    for word in words {
        sum = sum.checked_add(time::seconds(word)?)?;
    }
    Some(sum)
}
