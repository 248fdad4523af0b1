//! Requests from files that people have: the flags, and reading them.

use crate::output;
use ::load::{Servers, Target, TargetError, Targets};
use clap::ValueEnum;
use documents::words::counted;
use import::{Entry, Format, FormatError, LineError, Options};
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Where requests come from.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Request")]
pub struct InputArgs {
    /// File of requests, sent in turn; - for standard input
    ///
    /// Formats: vegeta targets, URLs, curl commands, access logs.
    #[arg(long, value_name = "FILE")]
    pub targets: Option<PathBuf>,

    #[command(flatten)]
    pub format: FormatArgs,
}

/// How a file of requests is written.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Request")]
pub struct FormatArgs {
    /// Format of the file: auto, vegeta, vegeta-json, urls, curl, nginx, apache, alb, capture
    #[arg(long, value_name = "NAME", default_value = "auto")]
    pub format: String,

    /// Format of an access log, as nginx's log_format or Apache's LogFormat [default: combined]
    #[arg(long, value_name = "FORMAT")]
    pub log_format: Option<String>,

    /// What to do with lines that cannot be parsed
    #[arg(long, value_name = "WHAT", default_value = "refuse")]
    pub bad_lines: BadLines,
}

/// What to do with a line that cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum BadLines {
    /// Report them and send nothing
    Refuse,
    /// Skip them, and report their number and the first one
    Skip,
}

/// A file of requests cannot be used.
#[derive(Debug, Error)]
pub enum InputError {
    /// It cannot be read.
    #[error("cannot read {}", .0.display())]
    Read(PathBuf, #[source] io::Error),
    /// Nobody can tell how it is written.
    #[error("cannot tell how {} is written; name it with --format ({formats})", .path.display())]
    Unclear {
        /// The file.
        path: PathBuf,
        /// What there is.
        formats: String,
    },
    /// The format is unknown, or the log format cannot be understood.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// Lines that cannot be read.
    #[error(
        "{} cannot be parsed (see above); correct them, or skip them with --bad-lines skip",
        lines(*.count, .path)
    )]
    BadLines {
        /// The file.
        path: PathBuf,
        /// How many.
        count: u64,
    },
    /// No request at all.
    #[error("{} has no request that could be sent", .0.display())]
    Empty(PathBuf),
    /// A request that cannot be sent.
    #[error("{}: request {number} (`{url}`) cannot be sent", .path.display())]
    Target {
        /// The file.
        path: PathBuf,
        /// Which one, from 1.
        number: usize,
        /// Its URL.
        url: String,
        /// Why.
        source: TargetError,
    },
}

impl FormatArgs {
    /// Reads the requests of a file. What cannot be read is said on standard error.
    ///
    /// # Errors
    /// Names the file and what to do.
    pub fn entries(&self, path: &Path) -> Result<Vec<Entry>, InputError> {
        let unreadable = |error| InputError::Read(path.to_owned(), error);
        let input: Box<dyn Read> = if path == Path::new("-") {
            Box::new(io::stdin())
        } else {
            Box::new(File::open(path).map_err(unreadable)?)
        };
        let input = import::open(BufReader::new(input)).map_err(unreadable)?;
        let format = match self.format.as_str() {
            "auto" => import::detect(&input.head).ok_or_else(|| InputError::Unclear {
                path: path.to_owned(),
                formats: Format::ALL.map(Format::name).join(", "),
            })?,
            name => name.parse()?,
        };
        // Without its name, Apache's log is recognised in the common form only: what is combined looks like nginx's.
        let common = self.format == "auto" && format == Format::Apache;
        let options = Options {
            log_format: self.log_format.clone().or_else(|| common.then(|| "common".to_owned())),
            folder: path.parent().map(Path::to_owned),
            ..Options::default()
        };
        let mut entries = Vec::new();
        let mut bad = Bad::default();
        for entry in import::read(format, input.text, &options)? {
            match entry {
                Ok(entry) => entries.push(entry),
                Err(error) => bad.add(error),
            }
        }
        match self.bad_lines {
            _ if bad.count == 0 => {}
            BadLines::Refuse => {
                bad.tell(path);
                return Err(InputError::BadLines { path: path.to_owned(), count: bad.count });
            }
            BadLines::Skip => output::note(&bad.skipped(path, entries.len())),
        }
        if entries.is_empty() { Err(InputError::Empty(path.to_owned())) } else { Ok(entries) }
    }
}

/// Lines that cannot be parsed.
#[derive(Default)]
struct Bad {
    count: u64,
    first: Vec<LineError>,
}

impl Bad {
    fn add(&mut self, error: LineError) {
        self.count += 1;
        if self.first.len() < TOLD {
            self.first.push(error);
        }
    }

    /// Names them on standard error.
    fn tell(&self, path: &Path) {
        self.first.iter().for_each(|error| output::note(&format!("{}: {error}", path.display())));
        match self.count - self.first.len() as u64 {
            0 => {}
            more => output::note(&format!("and {}", lines(more, path))),
        }
    }

    /// What was skipped, and what is left.
    fn skipped(&self, path: &Path, used: usize) -> String {
        let first = self.first.first().map_or_else(String::new, |error| format!("; the first: {error}"));
        let used = counted(used as u64, "request");
        format!("skipped {} that cannot be parsed, read {used}{first}", lines(self.count, path))
    }
}

fn lines(count: u64, path: &Path) -> String {
    format!("{} of {}", counted(count, "line"), path.display())
}

/// Requests as targets. A path is sent to `base`; with `only_base`, what has a host of its own is sent there too.
///
/// # Errors
/// Names the first request that cannot be sent.
pub fn targets<'a>(
    servers: &mut Servers<'_>,
    path: &Path,
    requests: impl Iterator<Item = (&'a str, &'a str, &'a [(String, String)], &'a [u8])>,
    base: Option<&str>,
    only_base: bool,
    more_headers: &[String],
) -> Result<Targets, InputError> {
    let mut list = Vec::new();
    for (index, (method, url, headers, body)) in requests.enumerate() {
        let whole = absolute(url, base, only_base);
        let mut lines: Vec<String> = headers
            .iter()
            .filter(|(name, _)| !(framing(name) || only_base && name.eq_ignore_ascii_case("host")))
            .map(|(name, value)| format!("{name}: {value}"))
            .collect();
        lines.extend_from_slice(more_headers);
        let target = Target::at(servers, &whole, method, &lines, body).map_err(|source| {
            InputError::Target { path: path.to_owned(), number: index + 1, url: whole.clone(), source }
        })?;
        let name = format!("{method} {}", target.path);
        list.push(target.named(&name));
    }
    Ok(Targets::new(list))
}

/// The framing of a request is ours to write.
fn framing(name: &str) -> bool {
    ["content-length", "transfer-encoding", "connection"].iter().any(|ours| name.eq_ignore_ascii_case(ours))
}

fn absolute(url: &str, base: Option<&str>, only_base: bool) -> String {
    let Some(base) = base else { return url.to_owned() };
    let path = match url.split_once("://") {
        Some((_, rest)) if only_base => rest.find(['/', '?']).map_or("/", |at| &rest[at..]),
        Some(_) => return url.to_owned(),
        None => url,
    };
    let slash = if path.starts_with('/') { "" } else { "/" };
    format!("{}{slash}{path}", base.trim_end_matches('/'))
}

/// More lines than this are counted, not named.
const TOLD: usize = 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_goes_to_the_base_and_a_host_only_where_it_is_asked_for() {
        let base = Some("http://127.0.0.1:8080/");
        for (url, only_base, whole) in [
            ("/a?b", false, "http://127.0.0.1:8080/a?b"),
            ("a", false, "http://127.0.0.1:8080/a"),
            ("http://example.org/a", false, "http://example.org/a"),
            ("http://example.org/a?b", true, "http://127.0.0.1:8080/a?b"),
            ("http://example.org", true, "http://127.0.0.1:8080/"),
        ] {
            assert_eq!(absolute(url, base, only_base), whole, "{url}");
        }
    }
}
