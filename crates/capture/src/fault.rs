//! Errors in a line of an input, with line and column.
//!
//! Parsers know offsets in their part of the text, not line numbers; a [`Fault`] is completed when both are known.

use std::borrow::Cow;

/// A line that cannot be used. Other lines can.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: found {found}, expected {expected}{}", also(way_out.as_deref()))]
pub struct LineError {
    /// From 1, in the input after decompression.
    pub line: u64,
    /// From 1, in characters.
    pub column: usize,
    /// The text at that place, shortened, with unprintable bytes escaped; or another description of the problem.
    pub found: String,
    /// The expected text.
    pub expected: Cow<'static, str>,
    /// What the user can do, unless the expected text implies it.
    pub way_out: Option<Cow<'static, str>>,
}

fn also(way_out: Option<&str>) -> String {
    way_out.map(|text| format!("; {text}")).unwrap_or_default()
}

/// A problem in one line, at an offset in bytes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("column {column}: found {found}, expected {expected}{}", also(way_out.as_deref()))]
pub struct Fault {
    column: usize,
    found: String,
    expected: Cow<'static, str>,
    way_out: Option<Cow<'static, str>>,
}

impl Fault {
    /// The word at `offset` is not the expected one.
    pub fn at(line: &[u8], offset: usize, expected: impl Into<Cow<'static, str>>) -> Self {
        let rest = line.get(offset..).unwrap_or_default();
        let end = rest.iter().skip(1).position(u8::is_ascii_whitespace).map_or(rest.len(), |at| at + 1);
        Fault::of(line, offset, shown(&rest[..end]), expected)
    }

    /// A problem at `offset`, in the parser's own words.
    pub fn of(
        line: &[u8],
        offset: usize,
        found: impl Into<String>,
        expected: impl Into<Cow<'static, str>>,
    ) -> Self {
        Fault::in_column(column(line, offset), found, expected)
    }

    /// A problem in a known column, from 1.
    pub fn in_column(
        column: usize,
        found: impl Into<String>,
        expected: impl Into<Cow<'static, str>>,
    ) -> Self {
        Fault { column, found: found.into(), expected: expected.into(), way_out: None }
    }

    /// Adds what the user can do, unless the expected text implies it.
    pub fn way_out(mut self, text: impl Into<Cow<'static, str>>) -> Self {
        self.way_out = Some(text.into());
        self
    }

    /// The fault in a longer line, of which the parser saw the part that begins at `offset`.
    pub fn within(mut self, line: &[u8], offset: usize) -> Self {
        self.column += column(line, offset) - 1;
        self
    }

    /// The fault with the number of its line, from 1.
    pub fn on(self, line: u64) -> LineError {
        let Fault { column, found, expected, way_out } = self;
        LineError { line, column, found, expected, way_out }
    }
}

/// The column of an offset, from 1, counted in characters: bytes that continue a character do not count.
pub fn column(line: &[u8], offset: usize) -> usize {
    let before = line.get(..offset).unwrap_or(line);
    1 + before.iter().filter(|byte| **byte & 0xc0 != 0x80).count()
}

/// A piece of input for a message: quoted, escaped, at most 40 characters.
pub fn shown(text: &[u8]) -> String {
    if text.is_empty() {
        return "the end of the line".to_owned();
    }
    let head = &text[..text.len().min(4 * LONGEST_SHOWN)];
    let mut out = String::from("`");
    for (index, character) in String::from_utf8_lossy(head).chars().enumerate() {
        if index == LONGEST_SHOWN {
            out.push('…');
            break;
        }
        match character {
            control if control.is_control() => out.extend(control.escape_default()),
            other => out.push(other),
        }
    }
    out.push('`');
    out
}

/// The message of a library, which may contain any amount of input: with spaces for control characters, at most 120
/// characters.
pub fn plain(text: &str) -> String {
    let mut out: String =
        text.chars().take(LONGEST_WORDS).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(LONGEST_WORDS).is_some() {
        out.push('…');
    }
    out
}

/// Longer messages contain a copy of the input.
const LONGEST_WORDS: usize = 120;
/// Longer pieces of input are shortened in messages, so that the rest fits on a terminal line.
const LONGEST_SHOWN: usize = 40;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters() {
        assert_eq!(column("häh x".as_bytes(), 5), 5);
        assert_eq!(column(b"abc", 99), 4);
    }

    #[test]
    fn found_text_is_short_and_printable() {
        assert_eq!(shown(b"a\x1b[0m\xff"), "`a\\u{1b}[0m\u{fffd}`");
        assert_eq!(shown(&[b'x'; 500]).chars().count(), 43);
        assert_eq!(shown(b""), "the end of the line");
    }
}
