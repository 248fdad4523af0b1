//! `headroom top`: a running gateway, live.
//!
//! What is shown is built once (`documents::top`), for both: a screen that redraws itself, and plain tables.

mod guard;
mod screen;

use crate::admin::{Error, Gateway, GatewayArgs};
use crate::exit::Exit;
use crate::output;
use documents::top::text;
use gateway::settings::AdminAddress;
use status::Status;
use std::io::{IsTerminal, stdin, stdout};

/// Show a running gateway live
///
/// Shows ten times a second: the share of responses within their target, active policies, how full each limit is,
/// rejected requests for each route by reason, and requests in flight for each instance. Rates are averages of the last
/// second.
///
/// Without a terminal, or with --once, it prints one table and exits.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Admin address of the gateway: HOST:PORT or unix:PATH [default: from --file, or 127.0.0.1:9901]
    #[arg(value_name = "ADDRESS", value_parser = crate::admin::address)]
    address: Option<AdminAddress>,

    #[command(flatten)]
    gateway: GatewayArgs,

    /// Print one table and exit
    #[arg(long)]
    once: bool,

    /// Print the gateway's status as JSON and exit
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
    Ok(if is_live {
        live(gateway, first)
    } else {
        output::print(&text(&title(&gateway), &first, output::terminal()))
    })
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
Keys: q quits, p pauses, Tab selects the next table, arrow keys scroll.

Examples:
  The gateway of a file:
      headroom top --file gateway.yaml
  A gateway with another admin address, once, for a report:
      headroom top unix:/run/headroom.sock --once
  For a program:
      headroom top 127.0.0.1:9901 --json

Exit codes: 0 done, 2 wrong usage, 1 other errors, such as no gateway there.";
