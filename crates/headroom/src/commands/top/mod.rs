//! `headroom top`: a running gateway, live.
//!
//! What is shown is built once (`documents::top`), for both: a screen that redraws itself, and plain tables.

mod guard;
mod screen;

use crate::admin::{AdminArgs, Error, Gateway, TokenArgs};
use crate::exit::Exit;
use crate::output;
use documents::top::text;
use gateway::settings::AdminAddress;
use status::Status;
use std::io::{IsTerminal, stdin, stdout};
use std::path::PathBuf;

/// Show a running gateway live
///
/// Shows ten times a second: the share of responses within their target, active policies, how full each limit is,
/// rejected requests for each route by reason, and requests in flight for each instance. Rates are averages of the last
/// second.
///
/// Without --admin and --file, it asks the gateway on 127.0.0.1:9901. Without a terminal, or with --once, it prints one
/// table and exits.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    admin: AdminArgs,

    /// The same, as it was given before there was --admin
    #[arg(value_name = "ADDRESS", value_parser = crate::admin::address, conflicts_with = "admin", hide = true)]
    address: Option<AdminAddress>,

    /// Gateway file that contains the admin address and the token
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,

    #[command(flatten)]
    token: TokenArgs,

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
        Err(error) => output::complain(&error, error.exit()),
    }
}

fn show(args: &Args) -> Result<Exit, Error> {
    let address = args.admin.admin.as_ref().or(args.address.as_ref());
    let mut gateway = args.token.gateway(address, args.file.as_deref())?;
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
      headroom top --admin unix:/run/headroom.sock --once
  For a program:
      headroom top --admin 127.0.0.1:9901 --json

Exit codes: 0 done, 2 wrong usage or file, 1 other errors, such as no gateway there.";
