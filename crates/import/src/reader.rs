//! Entries from lines, whatever the format.
//!
//! ## Why a parser is fed
//! Some formats have one request a line, some take several lines, and one line of curl can make several requests.
//! A parser is fed line after line and hands out what is complete; the iterator above it is the same for all.

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

/// What the formats need to know besides their text.
#[derive(Debug, Clone)]
pub struct Options {
    /// How an access log is written: nginx's `log_format` or Apache's `LogFormat`, or a name (`combined`, `common`).
    /// `combined` where there is none.
    pub log_format: Option<String>,
    /// The folder that `@file` bodies are relative to; without one, they are refused.
    pub folder: Option<PathBuf>,
    /// Bytes that a line may have, and a command of several lines, and a body from a file.
    pub limit: usize,
}

impl Default for Options {
    fn default() -> Self {
        // A body of 8 MiB, in base64, with its headers.
        Options { log_format: None, folder: None, limit: 12 << 20 }
    }
}

/// What a parser hands out.
pub(crate) type Ready = VecDeque<Result<Entry, LineError>>;

/// Turns lines into entries.
pub(crate) trait Parser {
    /// Takes the next line.
    fn line(&mut self, number: u64, line: &[u8], ready: &mut Ready);
    /// A line was lost (it was too long): whatever is open is not complete.
    fn lost(&mut self, _ready: &mut Ready) {}
    /// There are no more lines.
    fn end(&mut self, _ready: &mut Ready) {}
}

/// A parser of one request a line; `None` for lines without one, such as comments.
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

/// The requests of an input, in its order; goes on after an error.
pub struct Entries<R> {
    lines: Lines<R>,
    parser: Box<dyn Parser + Send>,
    ready: Ready,
    ended: bool,
}

/// Reads requests from text. Compressed input goes through [`open`](crate::open) first.
///
/// # Errors
/// Where the log format cannot be understood, or the format has no requests.
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
