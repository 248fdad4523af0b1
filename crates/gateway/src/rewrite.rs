//! Applies the changes of a rule to a head that is already written.
//!
//! ## Why afterwards
//! Most requests have no rule, and most rules change nothing: the head is written once, directly from the input. Only
//! if a rule has changed something, the head is copied line by line. Its lines were written by the gateway, so they
//! need no parser.

use http::codec::write;
use rule::Changes;

/// Changes the head of a request at the beginning of `message`; what follows the head stays. Returns the offset after
/// the last field, where another one may be added.
pub(crate) fn request(message: &mut Vec<u8>, changes: &Changes) -> Option<usize> {
    rewrite(message, changes, |out, line| {
        let mut parts = line.split(' ');
        let (Some(method), Some(target)) = (parts.next(), parts.next()) else { return false };
        let Some(target) = changes.target(target) else { return false };
        write::request_line(out, method, &target);
        true
    })
}

/// Changes the head of a response at the beginning of `message`.
pub(crate) fn answer(message: &mut Vec<u8>, changes: &Changes) -> Option<usize> {
    rewrite(message, changes, |out, _| {
        let Some((status, reason)) = &changes.status else { return false };
        write::status_line(out, *status, reason.as_deref().unwrap_or_else(|| write::reason(*status)));
        true
    })
}

/// Copies the head; `first` writes another first line, or returns false if it stays. Returns the offset after the last
/// field; `None` if there is no head.
fn rewrite(
    message: &mut Vec<u8>,
    changes: &Changes,
    first: impl Fn(&mut Vec<u8>, &str) -> bool,
) -> Option<usize> {
    let end = message.windows(4).position(|four| four == b"\r\n\r\n")?;
    let mut out = Vec::with_capacity(message.len() + 256);
    // Including the line end of the last field.
    let mut lines = message[..end + 2].split_inclusive(|byte| *byte == b'\n');
    let line = lines.next().unwrap_or_default();
    if !std::str::from_utf8(line).is_ok_and(|line| first(&mut out, line)) {
        out.extend_from_slice(line);
    }
    for line in lines {
        let name = line.split(|byte| *byte == b':').next().unwrap_or_default();
        if !std::str::from_utf8(name).is_ok_and(|name| changes.fields.replaces(name)) {
            out.extend_from_slice(line);
        }
    }
    for (name, value) in changes.fields.added() {
        write::header(&mut out, name, value);
    }
    let place = out.len();
    out.extend_from_slice(&message[end + 2..]);
    *message = out;
    Some(place)
}
