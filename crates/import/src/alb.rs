//! Access logs of AWS Application Load Balancers.
//!
//! Fields: <https://docs.aws.amazon.com/elasticloadbalancing/latest/application/load-balancer-access-logs.html>. They
//! are separated by spaces, and fields that may contain spaces are quoted. AWS sometimes adds fields at the end, so
//! later fields are ignored.
//!
//! ## When a request arrived
//! `time` is when the response was sent; `request_creation_time` is when the request arrived. Older lines have only the
//! first, from which the three times are subtracted.

use crate::access_log::unescaped;
use crate::reader::LineParser;
use crate::request_line::request_line;
use crate::{At, Edge, Entry, header, time};
use capture::Fault;
use std::borrow::Cow;
use std::time::Duration;

#[derive(Debug)]
pub(crate) struct Alb;

impl LineParser for Alb {
    fn parse(&mut self, line: &[u8]) -> Result<Option<Entry>, Fault> {
        if line.trim_ascii().is_empty() {
            return Ok(None);
        }
        let fields = Fields::of(line)?;
        let (offset, kind) = fields.required(line, KIND, "the type of the request")?;
        if !KINDS.contains(&kind) {
            return Err(Fault::at(line, offset, "http, https, h2, grpcs, ws or wss")
                .way_out("is this a log of an Application Load Balancer?"));
        }
        let (offset, raw) = fields.required(line, TIME, "the time of the response")?;
        let ended = time::iso_8601(raw).ok_or_else(|| Fault::at(line, offset, A_TIME))?;
        let (offset, raw) = fields.required(line, REQUEST, "the request line in quotes")?;
        let request =
            request_line(&over_http(&unescaped(raw))).map_err(|fault| fault.within(line, offset))?;
        let created = match fields.get(CREATED) {
            Some((_, b"-")) | None => None,
            Some((offset, raw)) => Some(time::iso_8601(raw).ok_or_else(|| Fault::at(line, offset, A_TIME))?),
        };
        let (instant, edge) = created.map_or((ended, Edge::End), |created| (created, Edge::Start));
        let mut entry = Entry {
            at: Some(At { micros: instant.micros, whole_second: instant.whole_second, edge }),
            method: request.method,
            url: url(request.target),
            user: fields.text(CLIENT).map(address),
            ..Entry::default()
        };
        entry.status = fields.number(line, STATUS, "a status such as 200")?;
        entry.bytes = fields.number(line, SENT, "a number of bytes")?;
        entry.response_time = fields.response_time(line)?;
        if let Some((_, agent)) = fields.get(AGENT).filter(|(_, raw)| !raw.is_empty() && *raw != b"-") {
            entry.headers.push(("User-Agent".to_owned(), header::sendable(&unescaped(agent))));
        }
        Ok(Some(entry))
    }
}

/// The log always contains the port, even the scheme's default port.
fn url(target: String) -> String {
    let (scheme, rest) = match target.split_once("://") {
        Some((scheme @ ("http" | "https"), rest)) => (scheme, rest),
        _ => return target,
    };
    let port = if scheme == "http" { ":80" } else { ":443" };
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (host, path) = rest.split_at(end);
    format!("{scheme}://{}{path}", host.strip_suffix(port).unwrap_or(host))
}

/// WebSockets have their own scheme in the log; their request is an HTTP request.
fn over_http(request: &[u8]) -> Cow<'_, [u8]> {
    let target = request.iter().position(|byte| *byte == b' ').map_or(0, |space| space + 1);
    match request[target..].strip_prefix(b"ws") {
        Some(rest) if rest.starts_with(b"://") || rest.starts_with(b"s://") => {
            [&request[..target], b"http", rest].concat().into()
        }
        _ => request.into(),
    }
}

/// Without the port, which changes with each connection.
fn address(client: &str) -> String {
    client.rsplit_once(':').map_or(client, |(address, _)| address).to_owned()
}

/// The fields as offset and raw text, without their quotes.
struct Fields<'a>(Vec<(usize, &'a [u8])>);

impl<'a> Fields<'a> {
    fn of(line: &'a [u8]) -> Result<Self, Fault> {
        let mut fields = Vec::with_capacity(CREATED + 1);
        let mut at = 0;
        while at < line.len() && fields.len() <= CREATED {
            if line[at] == b' ' {
                at += 1;
                continue;
            }
            let (start, closing) = if line[at] == b'"' { (at + 1, b'"') } else { (at, b' ') };
            let end = line[start..].iter().position(|byte| *byte == closing).map(|length| start + length);
            let end = match end {
                Some(end) => end,
                None if closing == b' ' => line.len(),
                None => return Err(Fault::at(line, at, "a quote that closes this field")),
            };
            fields.push((start, &line[start..end]));
            at = end + 1;
        }
        Ok(Fields(fields))
    }

    fn get(&self, index: usize) -> Option<(usize, &'a [u8])> {
        self.0.get(index).copied()
    }

    fn required(&self, line: &[u8], index: usize, what: &'static str) -> Result<(usize, &'a [u8]), Fault> {
        self.get(index).ok_or_else(|| {
            let last = self.0.last().map_or(0, |(offset, raw)| offset + raw.len());
            let expected = format!("{what} (field {})", index + 1);
            Fault::of(line, last, "the end of the line", expected)
        })
    }

    fn text(&self, index: usize) -> Option<&'a str> {
        let (_, raw) = self.get(index)?;
        std::str::from_utf8(raw).ok().filter(|text| !text.is_empty() && *text != "-")
    }

    /// A number, if present: `-` means that there was none.
    fn number<N: TryFrom<u64>>(
        &self,
        line: &[u8],
        index: usize,
        what: &'static str,
    ) -> Result<Option<N>, Fault> {
        match self.get(index) {
            None | Some((_, b"-")) => Ok(None),
            Some((offset, raw)) => match time::whole(raw).and_then(|number| N::try_from(number).ok()) {
                Some(number) => Ok(Some(number)),
                None => Err(Fault::at(line, offset, what)),
            },
        }
    }

    /// The sum of the three times; each is -1 if the request did not get that far.
    fn response_time(&self, line: &[u8]) -> Result<Option<Duration>, Fault> {
        let mut sum = Some(Duration::ZERO);
        for index in REQUEST_TIME..=RESPONSE_TIME {
            match self.get(index) {
                None | Some((_, b"-1" | b"-")) => sum = None,
                Some((offset, raw)) => {
                    let span = time::seconds(raw);
                    let span = span.ok_or_else(|| Fault::at(line, offset, "a time in seconds, or -1"))?;
                    sum = sum.and_then(|sum| sum.checked_add(span));
                }
            }
        }
        Ok(sum)
    }
}

const KINDS: [&[u8]; 6] = [b"http", b"https", b"h2", b"grpcs", b"ws", b"wss"];
const A_TIME: &str = "a time such as 2026-03-01T12:00:05.123456Z";

// Positions of the fields, from 0.
const KIND: usize = 0;
const TIME: usize = 1;
const CLIENT: usize = 3;
const REQUEST_TIME: usize = 5;
const RESPONSE_TIME: usize = 7;
const STATUS: usize = 8;
const SENT: usize = 11;
const REQUEST: usize = 12;
const AGENT: usize = 13;
const CREATED: usize = 21;
