//! nginx's `log_format`, as a name, as its text, or as the directive from the configuration.
//!
//! Variables: <https://nginx.org/en/docs/varindex.html>. There are hundreds, and modules and `set` add more, so
//! variables that do not describe the request are matched and ignored. nginx writes a line when the response has been
//! sent, so its times are end times.

use super::{Field, Pattern, Unit};
use crate::{Edge, FormatError};
use capture::shown;

/// Compiles a log format.
pub(crate) fn nginx(given: &str) -> Result<Pattern, FormatError> {
    let text = match given.trim() {
        "combined" => COMBINED.to_owned(),
        "common" => COMMON.to_owned(),
        other => unquoted(other)?,
    };
    let mut pattern = Pattern::default();
    let mut rest = text.as_str();
    while let Some(dollar) = rest.find('$') {
        pattern.literal(&rest.as_bytes()[..dollar]);
        let offset = text.len() - rest.len() + dollar;
        let tail = &rest[dollar + 1..];
        let braced = tail.starts_with('{');
        let start = &tail[usize::from(braced)..];
        let length = start.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(start.len());
        let name = &start[..length];
        if name.is_empty() || braced && !start[length..].starts_with('}') {
            let found = shown(&rest.as_bytes()[dollar..]);
            return Err(FormatError::pattern(
                &text,
                offset,
                found,
                "the name of a variable such as $request",
            ));
        }
        pattern.field(variable(name), &format!("${name}"), &text, offset)?;
        rest = &start[length + usize::from(braced)..];
    }
    pattern.literal(rest.as_bytes());
    pattern.complete(&text, "$request, $request_uri or $uri")
}

fn variable(name: &str) -> Field {
    match name {
        "remote_addr" | "realip_remote_addr" => Field::ClientAddress,
        "http_x_forwarded_for" | "proxy_add_x_forwarded_for" => Field::ForwardedFor,
        "request" => Field::RequestLine,
        "request_method" => Field::Method,
        "request_uri" => Field::Target,
        "uri" | "document_uri" => Field::Path,
        "args" | "query_string" => Field::Query,
        "host" | "http_host" => Field::Host,
        "scheme" => Field::Scheme,
        "status" => Field::Status,
        "body_bytes_sent" | "bytes_sent" => Field::Bytes,
        "request_time" => Field::ResponseTime(Unit::Seconds),
        "upstream_response_time" => Field::UpstreamTime,
        "time_local" => Field::CommonLogTime(Edge::End),
        "time_iso8601" => Field::Iso8601(Edge::End),
        "msec" => Field::Epoch(Unit::Seconds, Edge::End),
        "content_type" => Field::Header("Content-Type".to_owned()),
        _ => match name.strip_prefix("http_") {
            Some(header) if !header.is_empty() => Field::Header(header_name(header)),
            _ => Field::Ignored,
        },
    }
}

/// `user_agent` becomes `User-Agent`.
fn header_name(variable: &str) -> String {
    let words = variable.split('_').map(|word| {
        let (first, rest) = word.split_at(word.len().min(1));
        first.to_ascii_uppercase() + rest
    });
    words.collect::<Vec<_>>().join("-")
}

/// The text of a directive: `log_format main escape=json '...' '...';` or only its quoted strings. Other text is used
/// unchanged.
fn unquoted(given: &str) -> Result<String, FormatError> {
    let mut rest = given;
    if let Some(tail) = given.strip_prefix("log_format").filter(|tail| tail.starts_with(char::is_whitespace))
    {
        let tail = tail.trim_start();
        rest = tail[tail.find(char::is_whitespace).unwrap_or(tail.len())..].trim_start();
        if rest.starts_with("escape=") {
            rest = rest[rest.find(char::is_whitespace).unwrap_or(rest.len())..].trim_start();
        }
    } else if !given.starts_with('\'') {
        return Ok(given.to_owned());
    }
    let mut text = String::new();
    loop {
        rest = rest.trim_start();
        let offset = given.len() - rest.len();
        let Some(quote) = rest.chars().next().filter(|c| matches!(c, '\'' | '"')) else {
            if rest.is_empty() || rest == ";" {
                return Ok(text);
            }
            let expected = "a quoted string, or ; at the end of the directive";
            return Err(FormatError::pattern(given, offset, shown(rest.as_bytes()), expected));
        };
        let mut escaped = false;
        let mut closed = None;
        for (index, character) in rest.char_indices().skip(1) {
            if escaped || (character != quote && character != '\\') {
                text.push(character);
                escaped = false;
            } else if character == '\\' {
                escaped = true;
            } else {
                closed = Some(index);
                break;
            }
        }
        let Some(closed) = closed else {
            let found = format!("no {quote} that closes the string");
            return Err(FormatError::pattern(given, offset, found, "a quoted string"));
        };
        rest = &rest[closed + 1..];
    }
}

const COMBINED: &str = r#"$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent""#;
const COMMON: &str = r#"$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent"#;
