//! `headroom import`: what people already have, as files that headroom reads.

mod aws;
mod kubernetes;
mod terraform;
mod traffic;

pub(super) use traffic::instant;

use crate::exit::Exit;
use crate::next::quoted;
use crate::output::{note, print};
use crate::output_file::{self, WriteError};
use ::import::aws::Fleet;
use clap::Subcommand;
use config::case::write::Draft;
use documents::import::{Drafted, aws as document};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Import policies and traffic from AWS, Terraform, Kubernetes and logs
///
/// Reads files and contacts no cloud. `headroom import aws --print-commands` prints the commands that create the files.
/// Everything that cannot be imported is reported with its place in the file.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Aws(aws::Args),
    Terraform(terraform::Args),
    Kubernetes(kubernetes::Args),
    Traffic(traffic::Args),
}

/// Reads, says what was left out, and prints or writes the rest.
pub fn run(args: &Args) -> Exit {
    match &args.command {
        Command::Aws(args) => aws::run(args),
        Command::Terraform(args) => terraform::run(args),
        Command::Kubernetes(args) => kubernetes::run(args),
        Command::Traffic(args) => traffic::run(args),
    }
}

/// The names and texts of files.
pub(super) fn read(files: &[PathBuf]) -> Result<Vec<(String, String)>, Vec<String>> {
    let mut texts = Vec::new();
    let mut errors = Vec::new();
    for file in files {
        let (name, text) = if file == Path::new("-") {
            let mut text = String::new();
            ("standard input".to_owned(), io::stdin().read_to_string(&mut text).map(|_| text))
        } else {
            (file.display().to_string(), std::fs::read_to_string(file))
        };
        match text {
            Ok(text) => texts.push((name, text)),
            Err(error) => errors.push(format!("cannot read {name}: {error}")),
        }
    }
    if errors.is_empty() { Ok(texts) } else { Err(errors) }
}

/// Writes a result to a file.
fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    let failed = |error: WriteError| format!("{error}: {}", error.source);
    output_file::write(path, |out| out.write_all(bytes)).map_err(failed)
}

/// Says what was left out of a fleet, and prints it as JSON, or prints or writes the draft of its case file.
fn finish(fleet: &Fleet, draft: &Draft, now: i64, json: bool, output: Option<&Path>) -> Exit {
    if json {
        return print(&format!("{:#}\n", document::json(fleet, now)));
    }
    fleet.remarks.iter().for_each(|remark| note(&remark.to_string()));
    draft.left_out.iter().chain(&draft.assumed).for_each(|told| note(told));
    match output {
        None => print(&format!("{}# {}", draft.text, drafted(draft, "CASE.yaml").next())),
        Some(path) => match write(path, draft.text.as_bytes()) {
            Ok(()) => print(&document::summary(fleet, &drafted(draft, &quoted(&path.display().to_string())))),
            Err(error) => {
                refuse(&[error]);
                Exit::Failed
            }
        },
    }
}

/// In microseconds since 1970.
fn now() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_micros()).unwrap_or(i64::MAX)
}

/// What is left to do with a draft of a case file at `path`.
fn drafted<'a>(draft: &Draft, path: &'a str) -> Drafted<'a> {
    Drafted { left_out: draft.left_out.len(), to_fill_in: draft.to_fill_in(), path }
}

/// Reports all problems, one per line.
pub(super) fn refuse<T: std::fmt::Display>(errors: &[T]) -> Exit {
    for error in errors {
        // Where nobody can be told, the exit code still says it.
        let _ = writeln!(io::stderr(), "error: {error}");
    }
    Exit::Usage
}
