//! The gateway's own responses.

use crate::settings::ShedAnswer;
use http::codec::write;
use std::time::Duration;

/// Why the gateway sends its own response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Problem<'a> {
    pub(crate) status: u16,
    /// The stable name, such as `concurrency` or `upstream_unreachable`.
    pub(crate) name: &'a str,
    /// A sentence for people.
    pub(crate) detail: &'a str,
}

/// The connection-related properties of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Frame {
    /// The request was HEAD: the head describes a body that is not sent.
    pub(crate) head_only: bool,
    /// What happens to the connection after it.
    pub(crate) connection: Connection,
}

/// What happens to a client's connection after a response, and so what the response states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Connection {
    /// It stays open, the default.
    Stays,
    /// It stays open, and the client speaks HTTP/1.0 and has to be told.
    StaysForOld,
    /// It closes.
    Closes,
}

impl Connection {
    pub(crate) fn of(close: bool, old: bool) -> Self {
        match (close, old) {
            (true, _) => Connection::Closes,
            (false, true) => Connection::StaysForOld,
            (false, false) => Connection::Stays,
        }
    }

    /// Appends the field that states this.
    pub(crate) fn write(self, out: &mut Vec<u8>) {
        match self {
            Connection::Stays => {}
            Connection::StaysForOld => write::header(out, "connection", b"keep-alive"),
            Connection::Closes => write::header(out, "connection", b"close"),
        }
    }
}

/// Appends problem details (RFC 9457). Returns how many bytes of it are the body, as do all functions here that write a
/// response.
pub(crate) fn problem(
    out: &mut Vec<u8>,
    problem: Problem<'_>,
    retry_after: Option<Duration>,
    frame: Frame,
) -> usize {
    let title = write::reason(problem.status);
    let mut body = Vec::with_capacity(160);
    body.extend_from_slice(b"{\"type\":\"about:blank\",\"title\":");
    json_string(&mut body, title);
    body.extend_from_slice(b",\"status\":");
    write::decimal(&mut body, u64::from(problem.status));
    body.extend_from_slice(b",\"detail\":");
    json_string(&mut body, problem.detail);
    body.extend_from_slice(b",\"reason\":");
    json_string(&mut body, problem.name);
    body.extend_from_slice(b"}\n");
    whole(
        out,
        problem.status,
        title,
        &[("content-type", b"application/problem+json")],
        &body,
        retry_after,
        frame,
    )
}

/// Appends the response for a shed request.
pub(crate) fn shed(
    out: &mut Vec<u8>,
    answer: &ShedAnswer,
    reason: &str,
    retry_after: Duration,
    frame: Frame,
) -> usize {
    let no_store: (&str, &[u8]) = ("cache-control", b"no-store");
    match answer {
        ShedAnswer::Problem => shed_problem(out, reason, retry_after, frame),
        ShedAnswer::Page { content_type, body } => {
            let headers = [("content-type", content_type.as_bytes()), no_store];
            whole(out, 503, write::reason(503), &headers, body, Some(retry_after), frame)
        }
        ShedAnswer::Redirect { location } => {
            let headers = [("location", location.as_bytes()), no_store];
            whole(out, 302, write::reason(302), &headers, b"", None, frame)
        }
    }
}

/// Like [`problem`] with a fixed detail, in few pieces: shedding has to be cheap, and this is most of its work outside
/// the kernel.
fn shed_problem(out: &mut Vec<u8>, reason: &str, retry_after: Duration, frame: Frame) -> usize {
    out.extend_from_slice(
        b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/problem+json\r\nretry-after: ",
    );
    write::decimal(out, retry_after.as_secs());
    out.extend_from_slice(b"\r\n");
    let body_bytes = SHED_BODY.len() + reason.len() + SHED_BODY_END.len();
    write::content_length(out, body_bytes as u64);
    frame.connection.write(out);
    write::end_of_head(out);
    if !frame.head_only {
        out.extend_from_slice(SHED_BODY);
        // A reason's name consists of letters and underscores.
        out.extend_from_slice(reason.as_bytes());
        out.extend_from_slice(SHED_BODY_END);
    }
    if frame.head_only { 0 } else { body_bytes }
}

const SHED_BODY: &[u8] = b"{\"type\":\"about:blank\",\"title\":\"Service Unavailable\",\"status\":503,\
    \"detail\":\"the service is at its limit, try again later\",\"reason\":\"";

const SHED_BODY_END: &[u8] = b"\"}\n";

/// Appends a complete response. The caller has checked names and values of the headers.
pub(crate) fn whole(
    out: &mut Vec<u8>,
    status: u16,
    reason: &str,
    headers: &[(&str, &[u8])],
    body: &[u8],
    retry_after: Option<Duration>,
    frame: Frame,
) -> usize {
    write::status_line(out, status, reason);
    for &(name, value) in headers {
        write::header(out, name, value);
    }
    if let Some(after) = retry_after {
        out.extend_from_slice(b"retry-after: ");
        write::decimal(out, after.as_secs());
        out.extend_from_slice(b"\r\n");
    }
    // These have no body in any case, and 204 must not announce one (RFC 9110, 8.6).
    if !matches!(status, 204 | 304) {
        write::content_length(out, body.len() as u64);
    }
    frame.connection.write(out);
    write::end_of_head(out);
    if !frame.head_only {
        out.extend_from_slice(body);
    }
    if frame.head_only { 0 } else { body.len() }
}

fn json_string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    for character in text.chars() {
        match character {
            '"' | '\\' => out.extend_from_slice(&[b'\\', character as u8]),
            control if control < ' ' => {
                out.extend_from_slice(format!("\\u{:04x}", control as u32).as_bytes())
            }
            other => out.extend_from_slice(other.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shed_request_learns_why_and_when() {
        let mut out = Vec::new();
        let frame = Frame { head_only: false, connection: Connection::Stays };
        shed(&mut out, &ShedAnswer::Problem, "backlog_full", Duration::from_secs(2), frame);
        let text = String::from_utf8(out).unwrap();
        assert!(text.starts_with("HTTP/1.1 503 Service Unavailable\r\n"), "{text}");
        assert!(text.contains("retry-after: 2\r\n") && text.contains("application/problem+json"), "{text}");
        assert!(text.ends_with("\"reason\":\"backlog_full\"}\n"), "{text}");
    }

    #[test]
    fn a_shed_request_gets_problem_details_like_any_other_problem() {
        for head_only in [false, true] {
            let frame = Frame { head_only, connection: Connection::Closes };
            let (mut quick, mut usual) = (Vec::new(), Vec::new());
            shed(&mut quick, &ShedAnswer::Problem, "rate_class", Duration::from_secs(12), frame);
            let detail = "the service is at its limit, try again later";
            let as_usual = Problem { status: 503, name: "rate_class", detail };
            problem(&mut usual, as_usual, Some(Duration::from_secs(12)), frame);
            assert_eq!(String::from_utf8(quick).unwrap(), String::from_utf8(usual).unwrap());
        }
    }

    #[test]
    fn an_operator_may_send_elsewhere() {
        let mut out = Vec::new();
        let answer = ShedAnswer::Redirect { location: "/sorry".into() };
        shed(
            &mut out,
            &answer,
            "x",
            Duration::ZERO,
            Frame { head_only: true, connection: Connection::Closes },
        );
        let text = String::from_utf8(out).unwrap();
        assert!(text.starts_with("HTTP/1.1 302 Found\r\nlocation: /sorry\r\n"), "{text}");
        assert!(text.contains("connection: close\r\n"), "{text}");
    }

    #[test]
    fn the_log_is_told_what_was_sent_of_a_body() {
        for (head_only, expected) in [(false, 5), (true, 0)] {
            let mut out = Vec::new();
            let frame = Frame { head_only, connection: Connection::Stays };
            let body_bytes = whole(&mut out, 503, "Busy", &[], b"a\r\n\r\n", None, frame);
            assert_eq!(body_bytes, expected);
            let mut out = Vec::new();
            let body_bytes = shed(&mut out, &ShedAnswer::Problem, "rate_class", Duration::ZERO, frame);
            let head = memchr::memmem::find(&out, b"\r\n\r\n").unwrap() + 4;
            assert_eq!(body_bytes, out.len() - head);
        }
    }

    #[test]
    fn text_is_escaped() {
        let mut out = Vec::new();
        json_string(&mut out, "a\"b\\c\nd€");
        assert_eq!(String::from_utf8(out).unwrap(), "\"a\\\"b\\\\c\\u000ad€\"");
    }
}
