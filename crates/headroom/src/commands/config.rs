//! `headroom config`: is a file right, and what may stand in it?

use super::simulate::refuse;
use super::{experiment, gateway, load, simulate, squeeze};
use crate::exit::Exit;
use crate::next::Line;
use crate::output;
use clap::{Subcommand, ValueEnum};
use config::case::Given;
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
        /// Gateway, scenario, case, experiment or squeeze file; its keys tell which
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
    /// A control and candidates, for experiment
    Experiment,
    /// A pool whose instances get more load, for squeeze
    Squeeze,
}

/// Checks or prints.
pub fn run(args: &Args) -> Exit {
    match &args.command {
        Command::Check { file } => check(file),
        Command::Schema { kind: Kind::Gateway } => output::print(&config::schema_text()),
        Command::Schema { kind: Kind::Case } => output::print(&config::case::schema_text()),
        Command::Schema { kind: Kind::Experiment } => output::print(&config::experiment::schema_text()),
        Command::Schema { kind: Kind::Squeeze } => output::print(&config::squeeze::schema_text()),
        Command::Schema { kind: Kind::Scenario } => output::print(&config::scenario::schema_text()),
    }
}

/// Reads the file as its command does, so that both say the same.
fn check(file: &Path) -> Exit {
    let kind = match config::kind(file) {
        Ok(kind) => kind,
        Err(problems) => return output::refuse(&problems),
    };
    let checked = match kind {
        config::Kind::Gateway => gateway::checked(file).map(|(_, warnings)| (warnings, "headroom gateway")),
        config::Kind::Scenario => load::check(file).map(|next| (0, next)),
        config::Kind::Case => match simulate::read(file, Given::default()) {
            Ok(_) => Ok((0, "headroom simulate")),
            Err(error) => Err(refuse(&error)),
        },
        config::Kind::Experiment => experiment::check(file).map(|()| (0, "headroom experiment")),
        config::Kind::Squeeze => squeeze::check(file).map(|()| (0, "headroom squeeze")),
    };
    let (warnings, next) = match checked {
        Ok(checked) => checked,
        Err(exit) => return exit,
    };
    let with = match warnings {
        0 => String::new(),
        1 => ", with 1 warning".to_owned(),
        more => format!(", with {more} warnings"),
    };
    let (file, name) = (file.display().to_string(), kind.name());
    let next = Line::new(next).value(&file).next();
    output::print(&format!("{file} is a valid {name}{with}\n{next}"))
}
