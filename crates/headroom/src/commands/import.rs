//! `headroom import`: what people already have, as files that headroom reads.

mod as_json;
mod aws;
mod section;
mod traffic;

use crate::exit::Exit;
use clap::Subcommand;
use std::io::{self, Write};
use std::path::Path;

/// Bring in what you have: how services scale on AWS, and their traffic
///
/// Reads files, and asks no cloud: `headroom import aws --print-commands` lists the commands that make them. What is
/// not understood is named with its place, and never guessed.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Aws(aws::Args),
    Traffic(traffic::Args),
}

/// Reads, says what was left out, and prints or writes the rest.
pub fn run(args: &Args) -> Exit {
    match &args.command {
        Command::Aws(args) => aws::run(args),
        Command::Traffic(args) => traffic::run(args),
    }
}

/// Writes a result to a file.
fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    std::fs::write(path, bytes).map_err(|error| format!("cannot write {}: {error}", path.display()))
}

/// Says everything that is wrong, a line each.
fn refuse<T: std::fmt::Display>(errors: &[T]) -> Exit {
    for error in errors {
        // Where nobody can be told, the exit code still says it.
        let _ = writeln!(io::stderr(), "error: {error}");
    }
    Exit::Usage
}
