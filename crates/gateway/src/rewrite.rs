//! Puts what a rule has changed into a head that is written already.
//!
//! ## Why afterwards
//! Most requests have no rule, and most rules change nothing: the head is written once, straight from what arrived. Only
//! where a rule has changed something, it is copied line by line. Its lines are our own, so that they need no parser.

use http::codec::write;
use rule::Changes;

/// Changes the head of a request that stands at the beginning of `message`; what is behind it stays. Gives the place
/// behind the last field, where another one may be put.
pub(crate) fn request(message: &mut Vec<u8>, changes: &Changes) -> Option<usize> {
    rewrite(message, changes, |out, line| {
        let mut parts = line.split(' ');
        let (Some(method), Some(target)) = (parts.next(), parts.next()) else { return false };
        let Some(target) = changes.target(target) else { return false };
        write::request_line(out, method, &target);
        true
    })
}

/// Changes the head of an answer that stands at the beginning of `message`.
pub(crate) fn answer(message: &mut Vec<u8>, changes: &Changes) -> Option<usize> {
    rewrite(message, changes, |out, _| {
        let Some((status, reason)) = &changes.status else { return false };
        write::status_line(out, *status, reason.as_deref().unwrap_or_else(|| write::reason(*status)));
        true
    })
}

/// Copies the head; `first` writes another first line, or gives false where it stays. Gives the place behind the last
/// field; `None` where there is no head.
fn rewrite(
    message: &mut Vec<u8>,
    changes: &Changes,
    first: impl Fn(&mut Vec<u8>, &str) -> bool,
) -> Option<usize> {
    let end = message.windows(4).position(|four| four == b"\r\n\r\n")?;
    let mut out = Vec::with_capacity(message.len() + 256);
    // With the line end of the last field.
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
