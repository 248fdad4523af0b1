//! `headroom config`: is a file right, and what may stand in it?

use crate::exit::Exit;
use crate::next::Line;
use crate::output;
use clap::{Subcommand, ValueEnum};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Check configuration files, or print their JSON Schema
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Report all errors in a file; exit code 0 if there are none, 2 otherwise
    Check {
        /// Gateway file, scenario file (with `scenario:` or `flows:`) or case file (with `case:`)
        file: PathBuf,
    },
    /// Print the JSON Schema of a kind of file, for editors
    Schema {
        /// Kind of file
        #[arg(default_value = "gateway")]
        kind: Kind,
    },
}

/// A kind of file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// Routes, pools and limits of a gateway
    Gateway,
    /// Users' requests, for load
    Scenario,
    /// A fleet with its traffic and scaling policies, for simulate
    Case,
}

/// Checks or prints.
pub fn run(args: &Args) -> Exit {
    match &args.command {
        Command::Check { file } => check(file),
        Command::Schema { kind: Kind::Gateway } => output::print(&config::schema_text()),
        Command::Schema { kind: Kind::Case } => output::print(&config::case::schema_text()),
        Command::Schema { kind: Kind::Scenario } => output::print(&config::scenario::schema_text()),
    }
}

fn check(file: &Path) -> Exit {
    let (warnings, name, next) = match kind(file) {
        Kind::Gateway => {
            (config::read(file).map(|(_, warnings)| warnings), "gateway file", "headroom gateway")
        }
        Kind::Scenario => {
            (config::scenario::read(file, None).map(|_| Vec::new()), "scenario", "headroom load --scenario")
        }
        Kind::Case => {
            let given = config::case::Given::default();
            (config::case::read(file, given).map(|_| Vec::new()), "case file", "headroom simulate")
        }
    };
    let warnings = match warnings {
        Ok(warnings) => warnings,
        Err(problems) => {
            // Where nobody can be told, the exit code still says it.
            let _ = write!(io::stderr(), "{}", output::problems(&problems));
            return Exit::Usage;
        }
    };
    let count = warnings.len();
    if let Some(problems) = fields::Problems::of(warnings) {
        let _ = write!(io::stderr(), "{}", output::problems(&problems));
    }
    let with = match count {
        0 => String::new(),
        1 => ", with 1 warning".to_owned(),
        more => format!(", with {more} warnings"),
    };
    let file = file.display().to_string();
    let next = Line::new(next).value(&file).next();
    output::print(&format!("{file} is a valid {name}{with}\n{next}"))
}

/// What a file means to be. One that cannot be read is told so by whoever reads it.
fn kind(file: &Path) -> Kind {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let begins = |key: &str| text.lines().any(|line| line.starts_with(key));
    if begins("scenario:") || begins("flows:") {
        Kind::Scenario
    } else if begins("case:") {
        Kind::Case
    } else {
        Kind::Gateway
    }
}
