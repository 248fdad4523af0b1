//! Counts in a line: `94,56,187,...`, as in a row of a spreadsheet or an array of a program.
//!
//! Each count is a row, in the order of reading, regardless of lines. The input is read count by count and not line by
//! line, because a year of minutes in one line has some megabytes.

use super::notice::Spot;
use super::table::{self, count};
use crate::LineError;
use crate::input::telling;
use crate::lines::BYTE_ORDER_MARK;
use capture::{Fault, shown};
use std::io::{BufRead, ErrorKind};
use std::time::Duration;

/// Other data than counts.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) counts: u64,
    pub(super) lines: u64,
    /// The width of a row according to a comment.
    pub(super) row: Option<Duration>,
    /// Each of several lines begins with the number after the previous one: it may be an index.
    pub(super) indexed: bool,
}

/// Reads all counts and passes each to `take` with its line.
///
/// # Errors
/// The first text that is not a count, with its place; nothing after it is read.
pub(super) fn read(input: impl BufRead, mut take: impl FnMut(f64, Spot)) -> Result<Found, LineError> {
    let mut tokens = Tokens::new(input);
    let mut found = Found::default();
    let (mut line, mut before, mut consecutive) = (0, None::<f64>, 0_u64);
    while let Some(token) = tokens.next() {
        let Token { text, at } = token?;
        if text.first() == Some(&b'#') {
            found.row = found.row.or_else(|| table::row_width(&text[1..]));
            continue;
        }
        let (_, amount) = count(&text).ok_or_else(|| {
            let expected = "a count such as 1200";
            at.fault(shown(&text), expected)
                .way_out("give the counts alone, or a table of a time and a count in each line")
                .on(at.line)
        })?;
        found.counts += 1;
        if at.line != line {
            line = at.line;
            found.lines += 1;
            consecutive += u64::from(before.is_some_and(|before| amount == before + 1.0));
            before = Some(amount);
        }
        take(amount, Spot::Line(at.line));
    }
    found.indexed = found.lines > 1 && found.counts > found.lines && consecutive == found.lines - 1;
    Ok(found)
}

/// Whether the first line has only counts: at least three, the first of which is not a time.
pub(super) fn looks_like_counts(head: &[u8]) -> bool {
    let Some(line) = telling(head).next() else { return false };
    let inner = line.strip_prefix(b"[").map(<[u8]>::trim_ascii_start);
    if inner.is_some_and(|inner| inner.is_empty() || inner[0].is_ascii_digit()) {
        // An array over several lines has its first number on the next one.
        return inner.is_some_and(|inner| !inner.is_empty())
            || telling(head).nth(1).is_some_and(starts_with_a_digit);
    }
    let mut cells: Vec<&[u8]> = line.split(is_separator).filter(|cell| !cell.is_empty()).collect();
    // The last one may be truncated if the line is longer than the examined part.
    if !head.contains(&b'\n') {
        cells.pop();
    }
    cells.len() > 2
        && !table::is_time(unquoted(cells[0]))
        && cells.iter().all(|cell| count(unquoted(cell)).is_some())
}

fn starts_with_a_digit(line: &[u8]) -> bool {
    line.first().is_some_and(u8::is_ascii_digit)
}

fn is_separator(byte: &u8) -> bool {
    matches!(byte, b',' | b';') || byte.is_ascii_whitespace()
}

fn unquoted(cell: &[u8]) -> &[u8] {
    cell.strip_prefix(b"\"").and_then(|inner| inner.strip_suffix(b"\"")).unwrap_or(cell)
}

/// A number or a comment, and its position.
struct Token {
    text: Vec<u8>,
    at: At,
}

#[derive(Debug, Clone, Copy)]
struct At {
    line: u64,
    column: usize,
}

impl At {
    fn fault(self, found: impl Into<String>, expected: &'static str) -> Fault {
        Fault::in_column(self.column, found, expected)
    }
}

struct Tokens<R> {
    input: R,
    at: At,
    /// Whether anything but spaces was read: only then is a bracket an error.
    begun: bool,
    /// A separator came after the last number of this line.
    separated: bool,
    closed: bool,
    failed: bool,
}

impl<R: BufRead> Tokens<R> {
    fn new(input: R) -> Self {
        let at = At { line: 1, column: 1 };
        Tokens { input, at, begun: false, separated: true, closed: false, failed: false }
    }

    fn next(&mut self) -> Option<Result<Token, LineError>> {
        if self.failed {
            return None;
        }
        let token = self.token();
        self.failed = !matches!(token, Ok(Some(_)));
        token.transpose()
    }

    fn token(&mut self) -> Result<Option<Token>, LineError> {
        let (mut text, mut at) = (Vec::new(), self.at);
        while let Some(byte) = self.peek()? {
            if (self.at.line, self.at.column) == (1, 1) && BYTE_ORDER_MARK.contains(&byte) {
                self.input.consume(1);
                continue;
            }
            let comment = text.first() == Some(&b'#');
            let ends =
                if comment { byte == b'\n' } else { is_separator(&byte) || matches!(byte, b'[' | b']') };
            if ends && !text.is_empty() {
                break;
            }
            if !ends {
                if text.is_empty() {
                    at = self.at;
                    if self.closed && byte != b'#' {
                        return Err(at.fault("more after the end of the array", "one array").on(at.line));
                    }
                }
                if !comment && text.len() > LONGEST {
                    return Err(at.fault(shown(&text), "a count such as 1200").on(at.line));
                }
                if text.len() < LONGEST_COMMENT {
                    text.push(byte);
                }
                self.skip(byte);
                continue;
            }
            match byte {
                b',' | b';' if self.separated => {
                    let fault = self.at.fault("an empty cell", "a count");
                    return Err(fault.way_out("write 0 where there was no request").on(self.at.line));
                }
                b',' | b';' => self.separated = true,
                // Lines may end in a separator, and begin without one.
                b'\n' => self.separated = !self.begun,
                b'[' if self.begun => {
                    let fault = self.at.fault("another array", "one array of counts");
                    return Err(fault.way_out("give the counts alone").on(self.at.line));
                }
                b'[' => self.begun = true,
                b']' => self.closed = true,
                _ => {}
            }
            self.skip(byte);
        }
        if text.is_empty() {
            return Ok(None);
        }
        if text.first() != Some(&b'#') {
            self.begun = true;
            self.separated = false;
        }
        Ok(Some(Token { text: unquoted(&text).to_vec(), at }))
    }

    fn peek(&mut self) -> Result<Option<u8>, LineError> {
        loop {
            match self.input.fill_buf() {
                Ok(chunk) => return Ok(chunk.first().copied()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => {
                    let fault = self.at.fault(error.to_string(), "more of the input");
                    return Err(fault.on(self.at.line));
                }
            }
        }
    }

    fn skip(&mut self, byte: u8) {
        self.input.consume(1);
        if byte == b'\n' {
            self.at = At { line: self.at.line + 1, column: 1 };
        } else if byte & 0xc0 != 0x80 {
            self.at.column += 1;
        }
    }
}

/// No count has more characters.
const LONGEST: usize = 64;
/// The part of a comment that is kept.
const LONGEST_COMMENT: usize = 128;

#[cfg(test)]
mod tests;
