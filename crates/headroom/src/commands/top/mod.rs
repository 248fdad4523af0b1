//! `headroom top`: a running gateway, live.
//!
//! What is shown is built once, as sections of cells, for both: a screen that redraws itself, and plain tables.

mod guard;
mod history;
mod plain;
mod screen;
pub mod sections;

use crate::admin::{Error, Gateway, GatewayArgs};
use crate::exit::Exit;
use crate::output;
use gateway::settings::AdminAddress;
use status::Status;
use std::io::{IsTerminal, stdin, stdout};

/// Watch a running gateway: service levels, limits, requests in flight, what is shed and why
///
/// Ten times a second: how many responses come in time, which policies apply and since when, how full each limit is,
/// what each route does and why requests are shed, and how many requests each instance has. Rates are those of the
/// last second.
///
/// Without a terminal, and with --once, it prints one table and ends. It ends with its terminal, and on SIGTERM.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Where the gateway's `admin` listens: HOST:PORT or unix:PATH [default: the one of --file, else 127.0.0.1:9901]
    #[arg(value_name = "ADDRESS", value_parser = crate::admin::address)]
    address: Option<AdminAddress>,

    #[command(flatten)]
    gateway: GatewayArgs,

    /// Print one table and end
    #[arg(long)]
    once: bool,

    /// Print the gateway's status as JSON and end
    #[arg(long, conflicts_with = "once")]
    json: bool,
}

/// Shows the gateway until the user has seen enough.
pub fn run(args: &Args) -> Exit {
    match show(args) {
        Ok(exit) => exit,
        Err(error) => output::fail(&error),
    }
}

fn show(args: &Args) -> Result<Exit, Error> {
    let mut gateway = args.gateway.gateway(args.address.as_ref())?;
    if args.json {
        return Ok(output::print(&gateway.status_text()?));
    }
    let first = gateway.status()?;
    let is_live = !args.once && stdout().is_terminal() && stdin().is_terminal();
    Ok(if is_live { live(gateway, first) } else { output::print(&plain::text(&title(&gateway), &first)) })
}

fn live(gateway: Gateway, first: Status) -> Exit {
    match screen::watch(gateway, first) {
        Ok(()) => Exit::Done,
        Err(error) => output::fail(&error),
    }
}

fn title(gateway: &Gateway) -> String {
    format!("gateway on {}", gateway.address())
}

const EXAMPLES: &str = "\
Keys: q quits, p holds the picture and lets it go on, Tab goes to the next table, the arrows move in it.

Examples:
  The gateway of a file, live:
      headroom top --file gateway.yaml
  One that listens elsewhere, once, for a report:
      headroom top unix:/run/headroom.sock --once
  For a program:
      headroom top 127.0.0.1:9901 --json

Exit codes: 0 seen, 2 wrong usage, 1 anything else, such as no gateway there.";
