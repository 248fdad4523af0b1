//! `headroom fidelity`: how like copies of a workload are.

use super::replay::USER_HEADER;
use crate::exit::Exit;
use crate::inputs::{FormatArgs, InputError};
use crate::output::{complain, print, terminal};
use documents::fidelity::{Copy, Fidelity, Recorded};
use import::{RecordingError, Workload};
use std::path::{Path, PathBuf};
use std::time::Duration;
use thiserror::Error;
use units::{Ratio, parse_duration};

/// Score how like copies of a workload are
///
/// ORIGINAL and each COPY are recordings with times: an access log, a capture of the gateway, or the requests that load,
/// replay and simulate write with --request-log. Each copy gets a score from 0 (nothing in common) to 1 (no further apart than two
/// recordings of the same workload), with a 95 % confidence interval, for the rate over time, the gaps between requests, the
/// mix of endpoints, the length of sessions and the size of responses. The score of the copy is that of the worst aspect.
///
/// Both recordings are compared from their first request as far as the shorter one goes. What one of them does not have
/// (users, sizes, times finer than a second), or has too little of, is not compared, and said.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Recording of the workload; - for standard input, may be gzip-compressed
    original: PathBuf,

    /// Recordings to compare with it
    #[arg(required = true, value_name = "COPY")]
    copies: Vec<PathBuf>,

    /// Compare only the first SPAN of the recordings
    #[arg(short, long, value_name = "SPAN", value_parser = parse_duration)]
    duration: Option<Duration>,

    /// Compare the course of the rate, whatever its level, such as for a copy of a tenth of the users
    #[arg(long)]
    any_rate: bool,

    /// Header that identifies the user of a request, where a recording has headers
    #[arg(long, value_name = "NAME", default_value = USER_HEADER)]
    user_header: String,

    /// Lowest score that each copy must have, such as 0.9; otherwise the exit code is 99
    #[arg(long, value_name = "SCORE")]
    at_least: Option<Ratio>,

    #[command(flatten)]
    format: FormatArgs,

    /// Print as JSON; the schema is schemas/fidelity.schema.json
    #[arg(long)]
    json: bool,
}

/// Why recordings are not compared.
#[derive(Debug, Error)]
enum Error {
    #[error(transparent)]
    Input(#[from] InputError),
    #[error("{}: {error}", .file.display())]
    Recording { file: PathBuf, error: RecordingError },
}

/// Runs the command.
pub fn run(args: &Args) -> Exit {
    let found = match compare(args) {
        Ok(found) => found,
        Err(error) => return complain(&error, Exit::Usage),
    };
    let text = if args.json { format!("{:#}\n", found.json()) } else { found.text(terminal()) };
    match print(&text) {
        Exit::Done
            if args.at_least.is_some_and(|least| found.least().is_none_or(|score| score < least.get())) =>
        {
            Exit::Missed
        }
        printed => printed,
    }
}

fn compare(args: &Args) -> Result<Fidelity, Error> {
    let (original, name) = read(args, &args.original)?;
    let mut copies = Vec::new();
    for file in &args.copies {
        let (copy, recorded) = read(args, file)?;
        copies.push(Copy::of(recorded, &original.compare(&copy, args.duration, args.any_rate)));
    }
    Ok(Fidelity { version: status::version(), original: name, any_rate: args.any_rate, copies })
}

fn read(args: &Args, file: &Path) -> Result<(Workload, Recorded), Error> {
    let entries = args.format.entries(file)?;
    let workload = Workload::new(entries, &args.user_header, SEED)
        .map_err(|error| Error::Recording { file: file.to_owned(), error })?;
    let recorded = Recorded::of(file.display().to_string(), &workload);
    Ok((workload, recorded))
}

/// For times within whole seconds, of which no order is compared.
const SEED: u64 = 1;

const EXAMPLES: &str = "\
Examples:
  Whether a replay was like the log:
      headroom replay access.log http://127.0.0.1:8080 \\
          --request-log replayed.ndjson
      headroom fidelity access.log replayed.ndjson
  A capture of live traffic against a generated and a simulated workload:
      headroom fidelity live.ndjson generated.ndjson simulated.ndjson \\
          --at-least 0.9
  A tenth of the users, copied to a shadow pool:
      headroom fidelity access.log shadow-access.log --any-rate";
