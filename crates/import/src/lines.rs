//! Lines of bounded length.
//!
//! A file without line breaks must not be read into memory as a whole, so the length of a line is bounded. A longer
//! line is skipped without being stored, and is an error. A byte order mark and carriage returns belong to the file,
//! not to the line.

use capture::{Fault, LineError};
use std::io::{BufRead, ErrorKind};

/// Reads line by line into one buffer.
#[derive(Debug)]
pub(crate) struct Lines<R> {
    input: R,
    limit: usize,
    number: u64,
    buffer: Vec<u8>,
    failed: bool,
}

impl<R: BufRead> Lines<R> {
    pub(crate) fn new(input: R, limit: usize) -> Self {
        Lines { input, limit, number: 0, buffer: Vec::new(), failed: false }
    }

    /// The next line and its number from 1, without its line break. Ends after the input and after an error of the
    /// input itself.
    pub(crate) fn next(&mut self) -> Option<Result<(u64, &[u8]), LineError>> {
        if self.failed {
            return None;
        }
        self.buffer.clear();
        let mut length = 0_usize;
        loop {
            let chunk = match self.input.fill_buf() {
                Ok(chunk) => chunk,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => {
                    self.failed = true;
                    let fault =
                        Fault::of(&self.buffer, self.buffer.len(), error.to_string(), "more of the input");
                    return Some(Err(fault.way_out("nothing after this place is read").on(self.number + 1)));
                }
            };
            if chunk.is_empty() && length == 0 {
                return None;
            }
            let end = chunk.iter().position(|byte| *byte == b'\n');
            let taken = end.unwrap_or(chunk.len());
            length = length.saturating_add(taken);
            let room = (self.limit + 1).saturating_sub(self.buffer.len());
            self.buffer.extend_from_slice(&chunk[..taken.min(room)]);
            let over = chunk.is_empty() || end.is_some();
            // A lone line break is a line of length zero.
            let consumed = taken + usize::from(end.is_some());
            self.input.consume(consumed);
            if over {
                break;
            }
        }
        self.number += 1;
        if length > self.limit {
            let found = format!("a line of {length} bytes");
            let fault = Fault::of(&self.buffer, self.limit, found, format!("at most {}", self.limit));
            return Some(Err(fault.on(self.number)));
        }
        let mut line = &self.buffer[..];
        if self.number == 1 {
            line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
        }
        Some(Ok((self.number, line.strip_suffix(b"\r").unwrap_or(line))))
    }
}

/// The byte order mark of UTF-8, which some editors write at the beginning of a file.
pub(crate) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufReader, Read};

    fn all(text: &[u8], limit: usize, chunk: usize) -> Vec<Result<(u64, String), String>> {
        let mut lines = Lines::new(BufReader::with_capacity(chunk, text), limit);
        let mut out = Vec::new();
        while let Some(line) = lines.next() {
            out.push(match line {
                Ok((number, line)) => Ok((number, String::from_utf8_lossy(line).into_owned())),
                Err(error) => Err(error.to_string()),
            });
        }
        out
    }

    #[test]
    fn marks_and_line_breaks_are_not_part_of_a_line() {
        for chunk in [1, 2, 100] {
            let lines = all(b"\xef\xbb\xbfone\r\n\r\n\ntwo", 10, chunk);
            let want = [(1, "one"), (2, ""), (3, ""), (4, "two")].map(|(n, line)| Ok((n, line.to_owned())));
            assert_eq!(lines, want);
        }
    }

    #[test]
    fn a_line_over_the_bound_is_skipped_and_told() {
        for chunk in [1, 3, 100] {
            let lines = all(b"12345678901\nok\n", 10, chunk);
            let error = "line 1, column 11: found a line of 11 bytes, expected at most 10";
            assert_eq!(lines, [Err(error.to_owned()), Ok((2, "ok".to_owned()))]);
        }
    }

    #[test]
    fn an_input_that_fails_ends_the_lines() {
        struct Broken;
        impl Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
                Err(std::io::Error::other("the disk is gone"))
            }
        }
        let mut lines = Lines::new(BufReader::new(b"one\ntw".chain(Broken)), 10);
        assert!(lines.next().is_some_and(|line| line.is_ok()));
        let error = lines.next().and_then(Result::err).map(|error| error.to_string());
        let want = "line 2, column 3: found the disk is gone, expected more of the input; nothing after this place is read";
        assert_eq!(error.as_deref(), Some(want));
        assert!(lines.next().is_none());
    }
}
