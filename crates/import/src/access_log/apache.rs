//! Apache's `LogFormat`, as a name, as its text, or as the directive from the configuration.
//!
//! Directives: <https://httpd.apache.org/docs/2.4/mod/mod_log_config.html>. Their set is closed, so an unknown one is
//! an error. `%t` is the time at which the request arrived, unlike in nginx, unless it has `end:`.

use super::{Field, Pattern, Unit};
use crate::{Edge, FormatError};
use capture::request::check_header_name;
use capture::shown;

/// Compiles a log format.
pub(crate) fn apache(given: &str) -> Result<Pattern, FormatError> {
    let text = match given.trim() {
        "combined" => COMBINED.to_owned(),
        "common" => COMMON.to_owned(),
        other => unquoted(other),
    };
    let mut pattern = Pattern::default();
    let mut rest = text.as_str();
    while let Some(percent) = rest.find('%') {
        pattern.literal(&rest.as_bytes()[..percent]);
        let offset = text.len() - rest.len() + percent;
        let wrong = |expected| {
            FormatError::pattern(&text, offset, shown(first_word(&rest[percent..]).as_bytes()), expected)
        };
        let mut tail = &rest[percent + 1..];
        // Which request after an internal redirect: irrelevant for a replay.
        tail = tail.trim_start_matches(['<', '>']);
        if tail.starts_with(|c: char| c == '!' || c.is_ascii_digit()) {
            return Err(wrong("a directive for all statuses (a condition leaves fields empty)"));
        }
        let mut argument = "";
        if let Some(inner) = tail.strip_prefix('{') {
            let end = inner.find('}').ok_or_else(|| wrong("a } that closes the {"))?;
            argument = &inner[..end];
            tail = inner[end + 1..].trim_start_matches(['<', '>']);
        }
        let Some(letter) = tail.chars().next() else { return Err(wrong("a letter after %")) };
        let mut length = letter.len_utf8();
        if letter == '^' {
            length = tail.char_indices().nth(3).map_or(tail.len(), |(index, _)| index);
        }
        rest = &tail[length..];
        if letter == '%' {
            pattern.literal(b"%");
            continue;
        }
        let name = &text[offset..text.len() - rest.len()];
        if letter == 't' && argument.is_empty() {
            pattern.literal(b"[");
            pattern.field(Field::CommonLogTime(Edge::Start), name, &text, offset)?;
            pattern.literal(b"]");
            continue;
        }
        let field = directive(letter, argument).ok_or_else(|| {
            wrong(match letter {
                't' => "%t, %{sec}t, %{msec}t or %{usec}t, with begin: or end: before the unit",
                'T' => "%T, %{s}T, %{ms}T or %{us}T",
                _ => "a directive of mod_log_config, such as %h, %r or %{User-Agent}i",
            })
        })?;
        // `%U%q` is the only adjacent pair in practice: the query includes its question mark.
        if letter == 'U' && rest.starts_with("%q") {
            rest = &rest[2..];
            pattern.field(Field::Target, "%U%q", &text, offset)?;
        } else {
            pattern.field(field, name, &text, offset)?;
        }
    }
    pattern.literal(rest.as_bytes());
    pattern.complete(&text, "%r or %U")
}

fn directive(letter: char, argument: &str) -> Option<Field> {
    Some(match letter {
        'a' | 'h' => Field::ClientAddress,
        'r' => Field::RequestLine,
        'm' => Field::Method,
        'U' => Field::Path,
        'q' => Field::Query,
        'v' | 'V' => Field::Host,
        's' => Field::Status,
        'b' | 'B' | 'O' => Field::Bytes,
        'D' => Field::ResponseTime(Unit::Micros),
        'T' => Field::ResponseTime(match argument {
            "" | "s" => Unit::Seconds,
            "ms" => Unit::Millis,
            "us" => Unit::Micros,
            _ => return None,
        }),
        't' => {
            let (edge, unit) = match argument.split_once(':') {
                Some(("end", unit)) => (Edge::End, unit),
                Some(("begin", unit)) => (Edge::Start, unit),
                _ => (Edge::Start, argument),
            };
            let unit = match unit {
                "sec" => Unit::Seconds,
                "msec" => Unit::Millis,
                "usec" => Unit::Micros,
                _ => return None,
            };
            Field::Epoch(unit, edge)
        }
        'i' if argument.eq_ignore_ascii_case("host") => Field::Host,
        'i' if argument.eq_ignore_ascii_case("x-forwarded-for") => Field::ForwardedFor,
        'i' if check_header_name(argument.as_bytes()).is_ok() => Field::Header(argument.to_owned()),
        'A' | 'C' | 'e' | 'f' | 'H' | 'I' | 'k' | 'l' | 'L' | 'n' | 'o' | 'p' | 'P' | 'R' | 'S' | 'u'
        | 'X' | '^' => Field::Ignored,
        _ => return None,
    })
}

/// The text of `LogFormat "..." name`, or the text itself.
fn unquoted(given: &str) -> String {
    let text = given.strip_prefix("LogFormat").map_or(given, str::trim_start);
    let Some(inner) = text.strip_prefix('"').filter(|_| text.len() < given.len() || text.contains("\\\""))
    else {
        return text.to_owned();
    };
    let mut out = String::new();
    let mut escaped = false;
    for character in inner.chars() {
        match character {
            '\\' if !escaped => escaped = true,
            '"' if !escaped => break,
            't' if escaped => {
                out.push('\t');
                escaped = false;
            }
            other => {
                out.push(other);
                escaped = false;
            }
        }
    }
    out
}

fn first_word(text: &str) -> &str {
    text.split(char::is_whitespace).next().unwrap_or(text)
}

const COMBINED: &str = r#"%h %l %u %t "%r" %>s %b "%{Referer}i" "%{User-Agent}i""#;
const COMMON: &str = r#"%h %l %u %t "%r" %>s %b"#;
