//! Recorded requests, and headroom's own captures of them: one JSON object per line, one request per object.
//!
//! The gateway writes captures, `import` reads them and other formats; each request is an [`Entry`].
//!
//! | key | holds |
//! |---|---|
//! | `at_us` | when the request arrived, in microseconds since 1970 UTC |
//! | `at_whole_second` | `true` if the time is only known to be within the second after `at_us` |
//! | `method`, `url` | required; the URL is absolute, or a path with its query |
//! | `headers` | a list of `[name, value]`, in order, with duplicates |
//! | `body_base64` | the body, padded base64; absent without a body |
//! | `user` | the user: any text that identifies the client |
//! | `status`, `response_us`, `bytes` | the outcome: status, microseconds to the end of the response, its bytes |
//! | `dropped_before` | how many requests of the same route were lost since its last line; absent if none |
//!
//! ## Why JSON lines
//! A capture may be read while it is written, truncated by a full disk, filtered with `jq` and `grep`, and joined with
//! `cat`. Headers are a list because an object preserves neither order nor duplicates. Unknown keys are ignored, so
//! that an older headroom reads the captures of a newer one.

#![warn(missing_docs)]

mod entry;
mod fault;
pub mod json;
pub mod request;

pub use entry::{At, Edge, Entry};
pub use fault::{Fault, LineError, column, plain, shown};

use serde::{Deserialize, Serialize};
use std::io::{self, Write};
use std::time::Duration;

#[derive(Serialize, Deserialize)]
struct Line {
    #[serde(skip_serializing_if = "Option::is_none")]
    at_us: Option<i64>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    at_whole_second: bool,
    method: String,
    url: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    headers: Vec<(String, String)>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    body_base64: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    user: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_us: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
    #[serde(default, skip_serializing_if = "is_zero")]
    dropped_before: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Parses one line of a capture; none for an empty line.
///
/// # Errors
/// The line is not such an object, or its request cannot be sent.
pub fn read_line(text: &[u8]) -> Result<Option<Entry>, Fault> {
    if text.trim_ascii().is_empty() {
        return Ok(None);
    }
    let line: Line = json::object(text, EXAMPLE)?;
    json::check(text, &line.method, &line.url, &line.headers)?;
    let at = line.at_us.map(|micros| At { micros, whole_second: line.at_whole_second, edge: Edge::Start });
    Ok(Some(Entry {
        at,
        body: json::body(text, &line.body_base64)?,
        method: line.method,
        url: line.url,
        headers: line.headers,
        user: line.user,
        status: line.status,
        response_time: line.response_us.map(Duration::from_micros),
        bytes: line.bytes,
    }))
}

/// How many requests a line says were lost before it; 0 for a line that cannot be read.
pub fn dropped_before(text: &[u8]) -> u64 {
    #[derive(Deserialize)]
    struct Dropped {
        #[serde(default)]
        dropped_before: u64,
    }
    serde_json::from_slice::<Dropped>(text).map_or(0, |line| line.dropped_before)
}

/// Writes one request as a line of a capture. An end time is converted to the request's start.
///
/// # Errors
/// Those of the writer.
pub fn write_line(out: &mut impl Write, entry: &Entry) -> io::Result<()> {
    write_line_after(out, entry, 0)
}

/// As [`write_line`], of a request before which so many were lost.
///
/// # Errors
/// Those of the writer.
pub fn write_line_after(out: &mut impl Write, entry: &Entry, dropped: u64) -> io::Result<()> {
    let line = Line {
        at_us: entry.at.map(|at| at.start(entry.response_time)),
        at_whole_second: entry.at.is_some_and(|at| at.whole_second),
        method: entry.method.clone(),
        url: entry.url.clone(),
        headers: entry.headers.clone(),
        body_base64: json::encode(&entry.body),
        user: entry.user.clone(),
        status: entry.status,
        response_us: entry.response_time.map(|span| u64::try_from(span.as_micros()).unwrap_or(u64::MAX)),
        bytes: entry.bytes,
        dropped_before: dropped,
    };
    serde_json::to_writer(&mut *out, &line)?;
    out.write_all(b"\n")
}

const EXAMPLE: &str =
    r#"{"at_us": 1772366405250000, "method": "GET", "url": "/path", "headers": [["Name", "value"]]}"#;
