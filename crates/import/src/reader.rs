//! Entries from lines, for any format.
//!
//! ## Why parsers receive lines
//! Some formats have one request per line, some several lines per request, and one line of curl can have several
//! requests. A parser receives line after line and returns complete requests; the iterator above it is the same for
//! all.

use crate::access_log;
use crate::access_log::AccessLog;
use crate::alb::Alb;
use crate::body::Bodies;
use crate::curl::Curl;
use crate::error::FormatError;
use crate::format::Format;
use crate::lines::Lines;
use crate::urls::Urls;
use crate::vegeta::{Targets, TargetsJson};
use capture::{Entry, Fault, LineError};
use std::collections::VecDeque;
use std::io::BufRead;
use std::path::PathBuf;

/// The options of the formats.
#[derive(Debug, Clone)]
pub struct Options {
    /// The pattern of an access log: nginx's `log_format` or Apache's `LogFormat`, or a name (`combined`, `common`).
    /// The default is `combined`.
    pub log_format: Option<String>,
    /// The folder of `@file` bodies; without one, they are refused.
    pub folder: Option<PathBuf>,
    /// Maximum bytes of a line, of a command of several lines, and of a body from a file.
    pub limit: usize,
}

impl Default for Options {
    fn default() -> Self {
        // A body of 8 MiB, in base64, with its headers.
        Options { log_format: None, folder: None, limit: 12 << 20 }
    }
}

/// The results of a parser.
pub(crate) type Ready = VecDeque<Result<Entry, LineError>>;

/// Turns lines into entries.
pub(crate) trait Parser {
    /// Reads the next line.
    fn line(&mut self, number: u64, line: &[u8], ready: &mut Ready);
    /// A line was lost (it was too long): an incomplete request cannot be completed.
    fn lost(&mut self, _ready: &mut Ready) {}
    /// The input has ended.
    fn end(&mut self, _ready: &mut Ready) {}
}

/// A parser of one request per line; `None` for lines without one, such as comments.
pub(crate) trait LineParser {
    fn parse(&mut self, line: &[u8]) -> Result<Option<Entry>, Fault>;
}

impl<P: LineParser> Parser for P {
    fn line(&mut self, number: u64, line: &[u8], ready: &mut Ready) {
        ready.extend(self.parse(line).map_err(|fault| fault.on(number)).transpose());
    }
}

/// headroom's own captures.
struct Capture;

impl LineParser for Capture {
    fn parse(&mut self, line: &[u8]) -> Result<Option<Entry>, Fault> {
        capture::read_line(line)
    }
}

/// The requests of an input, in its order; continues after an error.
pub struct Entries<R> {
    lines: Lines<R>,
    parser: Box<dyn Parser + Send>,
    ready: Ready,
    ended: bool,
}

/// Reads requests from text. Open compressed input with [`open`](crate::open) first.
///
/// # Errors
/// The log format is invalid, or the format has no requests.
pub fn read<R: BufRead>(format: Format, input: R, options: &Options) -> Result<Entries<R>, FormatError> {
    let bodies = Bodies { folder: options.folder.clone(), limit: options.limit };
    let pattern = options.log_format.as_deref().unwrap_or("combined");
    let parser: Box<dyn Parser + Send> = match format {
        Format::Vegeta => Box::new(Targets::new(bodies)),
        Format::VegetaJson => Box::new(TargetsJson),
        Format::Urls => Box::new(Urls),
        Format::Curl => Box::new(Curl::new(bodies)),
        Format::Nginx => Box::new(AccessLog::new(access_log::nginx(pattern)?)),
        Format::Apache => Box::new(AccessLog::new(access_log::apache(pattern)?)),
        Format::Alb => Box::new(Alb),
        Format::Capture => Box::new(Capture),
        Format::Traffic => return Err(FormatError::NotRequests { known: Format::names_of_requests() }),
    };
    Ok(Entries { lines: Lines::new(input, options.limit), parser, ready: Ready::new(), ended: false })
}

impl<R: BufRead> Iterator for Entries<R> {
    type Item = Result<Entry, LineError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(item) = self.ready.pop_front() {
                return Some(item);
            }
            if self.ended {
                return None;
            }
            match self.lines.next() {
                Some(Ok((number, line))) => self.parser.line(number, line, &mut self.ready),
                Some(Err(error)) => {
                    self.parser.lost(&mut self.ready);
                    self.ready.push_back(Err(error));
                }
                None => {
                    self.ended = true;
                    self.parser.end(&mut self.ready);
                }
            }
        }
    }
}
