//! `headroom config`: is a gateway file right, and what may stand in it?

use crate::exit::Exit;
use clap::Subcommand;
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;

/// Check a gateway file, or print the JSON Schema of gateway files
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Say everything that is wrong with a gateway file; ends with 0 if nothing is, with 2 otherwise
    Check {
        /// The gateway file
        file: PathBuf,
    },
    /// Print the JSON Schema of gateway files, for editors
    Schema,
}

/// Checks or prints.
pub fn run(args: &Args) -> Exit {
    let printed = match &args.command {
        Command::Check { file } => return check(file),
        Command::Schema => io::stdout().write_all(config::schema_text().as_bytes()),
    };
    if printed.is_ok() { Exit::Done } else { Exit::Failed }
}

fn check(file: &std::path::Path) -> Exit {
    let pictures = io::stderr().is_terminal();
    let shown = |problem: &config::Problem| if pictures { problem.graphical() } else { problem.plain() };
    let (told, answer, exit) = match config::read(file) {
        Ok((_, warnings)) => {
            let told: String = warnings.iter().map(shown).collect();
            let answer = match warnings.len() {
                0 => format!("{} is a valid gateway file\n", file.display()),
                1 => format!("{} is a valid gateway file, with 1 warning\n", file.display()),
                more => format!("{} is a valid gateway file, with {more} warnings\n", file.display()),
            };
            (told, answer + &format!("next: headroom gateway {}\n", file.display()), Exit::Done)
        }
        Err(problems) => (problems.iter().map(shown).collect(), String::new(), Exit::Usage),
    };
    let printed = io::stderr()
        .write_all(told.as_bytes())
        .and_then(|()| io::stdout().write_all(answer.as_bytes()))
        .and_then(|()| io::stdout().flush());
    if printed.is_ok() { exit } else { Exit::Failed }
}
