//! A log line as literals and fields, and its matching.

use super::Field;
use crate::FormatError;
use capture::{Fault, shown};
use std::borrow::Cow;

/// The contents of a line, from left to right. Two fields are never adjacent.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Pattern {
    /// A literal before each field (only the first may be empty), and the field's name in messages.
    pieces: Vec<Piece>,
    /// The text after the last field.
    tail: Vec<u8>,
}

#[derive(Debug, PartialEq, Eq)]
struct Piece {
    before: Vec<u8>,
    field: Field,
    name: String,
}

impl Pattern {
    pub(crate) fn literal(&mut self, text: &[u8]) {
        self.tail.extend_from_slice(text);
    }

    /// Adds a field at `offset` of the pattern's own `text`.
    pub(crate) fn field(
        &mut self,
        field: Field,
        name: &str,
        text: &str,
        offset: usize,
    ) -> Result<(), FormatError> {
        if self.tail.is_empty() && !self.pieces.is_empty() {
            let expected = "text between two fields, or a line could be read in several ways";
            return Err(FormatError::pattern(text, offset, shown(name.as_bytes()), expected));
        }
        let before = std::mem::take(&mut self.tail);
        self.pieces.push(Piece { before, field, name: name.to_owned() });
        Ok(())
    }

    /// The pattern, if it has the fields of a request.
    pub(crate) fn complete(self, text: &str, wanted: &'static str) -> Result<Self, FormatError> {
        let tells = |field: &Field| matches!(field, Field::RequestLine | Field::Target | Field::Path);
        if self.pieces.iter().any(|piece| tells(&piece.field)) {
            return Ok(self);
        }
        Err(FormatError::pattern(
            text,
            text.len(),
            "no field that names the path of a request".to_owned(),
            wanted,
        ))
    }

    /// Passes each field of a line, with its offset, to `take`.
    pub(crate) fn fields(
        &self,
        line: &[u8],
        mut take: impl FnMut(&Field, usize, &[u8]) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let mut at = 0;
        for (index, piece) in self.pieces.iter().enumerate() {
            // Only the first literal can be missing here: the search for a field's end found the others.
            if !line[at..].starts_with(&piece.before) {
                return Err(Fault::at(line, at, format!("{} before `{}`", shown(&piece.before), piece.name))
                    .way_out(OTHER_FORMAT));
            }
            at += piece.before.len();
            let next = self.pieces.get(index + 1).map_or(&self.tail, |next| &next.before);
            let last = index + 1 == self.pieces.len();
            let end = if next.is_empty() { Some(line.len()) } else { ending(line, at, next, last) };
            let Some(end) = end else {
                let expected = format!("{} after `{}`", shown(next), piece.name);
                return Err(Fault::of(line, at, shown(&line[at..]), expected).way_out(OTHER_FORMAT));
            };
            take(&piece.field, at, &line[at..end])?;
            at = end;
        }
        if line[at..] != self.tail {
            return Err(Fault::at(line, at + self.tail.len(), "the end of the line").way_out(OTHER_FORMAT));
        }
        Ok(())
    }
}

/// The beginning of the literal that ends a field. A character after a backslash is part of the field.
fn ending(line: &[u8], from: usize, literal: &[u8], last: bool) -> Option<usize> {
    let mut at = from;
    while at < line.len() {
        if line[at] == b'\\' && literal[0] != b'\\' {
            at += 2;
        } else if line[at..].starts_with(literal)
            && (!last || line.len() - at == literal.len() || literal[0] == b'"')
        {
            return Some(at);
        } else {
            at += 1;
        }
    }
    None
}

/// A field without escapes: `\x22` and `\"` of both servers, `\u0022` of nginx's JSON, `\n` and similar.
pub(crate) fn unescaped(raw: &[u8]) -> Cow<'_, [u8]> {
    if !raw.contains(&b'\\') {
        return Cow::Borrowed(raw);
    }
    let mut out = Vec::with_capacity(raw.len());
    let mut rest = raw;
    while let Some((byte, tail)) = rest.split_first() {
        rest = tail;
        if *byte != b'\\' {
            out.push(*byte);
            continue;
        }
        let hex = |digits: Option<&[u8]>| {
            let text = std::str::from_utf8(digits?).ok()?;
            text.bytes().all(|digit| digit.is_ascii_hexdigit()).then(|| u32::from_str_radix(text, 16).ok())?
        };
        let (escape, used) = match tail.first() {
            Some(b'x') => (hex(tail.get(1..3)).and_then(|code| u8::try_from(code).ok()), 3),
            Some(b'u') => (hex(tail.get(1..5)).and_then(|code| u8::try_from(code).ok()), 5),
            Some(b'n') => (Some(b'\n'), 1),
            Some(b'r') => (Some(b'\r'), 1),
            Some(b't') => (Some(b'\t'), 1),
            Some(b'b') => (Some(8), 1),
            Some(b'f') => (Some(12), 1),
            Some(b'v') => (Some(11), 1),
            Some(quoted @ (b'"' | b'\\' | b'/')) => (Some(*quoted), 1),
            _ => (None, 0),
        };
        match escape {
            Some(value) => {
                out.push(value);
                rest = &tail[used..];
            }
            // Not an escape that a server writes: a literal backslash.
            None => out.push(b'\\'),
        }
    }
    Cow::Owned(out)
}

const OTHER_FORMAT: &str = "if all lines fail, give the log format of the server's configuration";
