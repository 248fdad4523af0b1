//! Requests from files that people have: the flags, and reading them.

use crate::output;
use ::load::{Base, Recorded, Servers, Target, TargetError};
use clap::ValueEnum;
use documents::words::counted;
use http::codec::method::is_safe;
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
    /// Nothing is left.
    #[error(
        "all {0} requests of the recording change things (POST, PUT, DELETE, ...); send them too with --unsafe-methods"
    )]
    AllUnsafe(usize),
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

/// Leaves out requests that change something, unless they are asked for, and says how many.
///
/// # Errors
/// None is left.
pub fn without_unsafe(entries: &mut Vec<Entry>, unsafe_methods: bool) -> Result<(), InputError> {
    let all = entries.len();
    if !unsafe_methods {
        entries.retain(|entry| is_safe(entry.method.as_bytes()));
    }
    match all - entries.len() {
        0 => {}
        left_out if left_out == all => return Err(InputError::AllUnsafe(all)),
        left_out => output::note(&format!(
            "{left_out} of {all} requests change things and are left out; --unsafe-methods sends them too"
        )),
    }
    Ok(())
}

/// The requests of entries.
pub fn recorded(entries: &[Entry]) -> impl Iterator<Item = Recorded<'_>> {
    entries.iter().map(|Entry { method, url, headers, body, .. }| Recorded { method, url, headers, body })
}

/// Requests as targets. A path is sent to `base`; with `only_base`, what has a host of its own is sent there too.
///
/// # Errors
/// Names the first request that cannot be sent.
pub fn targets<'a>(
    servers: &mut Servers<'_>,
    path: &Path,
    requests: impl Iterator<Item = Recorded<'a>>,
    base: Base<'_>,
    more_headers: &[String],
) -> Result<Vec<Target>, InputError> {
    let one = |(index, request): (usize, Recorded<'a>)| {
        request.target(servers, base, more_headers).map_err(|source| InputError::Target {
            path: path.to_owned(),
            number: index + 1,
            url: base.whole(request.url),
            source,
        })
    };
    requests.enumerate().map(one).collect()
}

/// More lines than this are counted, not named.
const TOLD: usize = 10;
