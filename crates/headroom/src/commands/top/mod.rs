//! `headroom top`: a running gateway or scaler, live.
//!
//! What is shown is built once (`documents::top`), for both: a screen that redraws itself, and plain tables.

mod guard;
mod screen;

use crate::admin::{AdminArgs, Error, Gateway, Look, TokenArgs};
use crate::exit::Exit;
use crate::output;
use documents::top::{scaler_text, text};
use gateway::settings::AdminAddress;
use std::io::{IsTerminal, stdin, stdout};
use std::path::PathBuf;

/// Show a running gateway or scaler live
///
/// Shows ten times a second: the share of responses within their target, active policies, how full each limit is,
/// rejected requests for each route by reason, and requests in flight for each instance. Rates are averages of the last
/// second.
///
/// With --scaler, it shows a running `headroom scale`: wanted and actual size, the opinion and the cooldowns of each policy,
/// the next changes, and why nothing happens.
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

    /// Address of a scaler, as in `serve` of its file: HOST:PORT or unix:PATH
    #[arg(
        long,
        value_name = "ADDRESS",
        value_parser = crate::admin::address,
        conflicts_with_all = ["admin", "address", "file", "token_file"]
    )]
    scaler: Option<AdminAddress>,

    #[command(flatten)]
    token: TokenArgs,

    /// Print one table and exit
    #[arg(long)]
    once: bool,

    /// Print the status as JSON and exit
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
    let mut gateway = match &args.scaler {
        Some(address) => Gateway::scaler(address),
        None => args.token.gateway(address, args.file.as_deref())?,
    };
    if args.json {
        return Ok(output::print(&gateway.status_text()?));
    }
    let first = gateway.look()?;
    let is_live = !args.once && stdout().is_terminal() && stdin().is_terminal();
    Ok(if is_live {
        live(gateway, first)
    } else {
        let (title, terminal) = (title(&gateway, &first), output::terminal());
        output::print(&match &first {
            Look::Gateway(status) => text(&title, status, terminal),
            Look::Scaler(status) => scaler_text(&title, status, terminal),
        })
    })
}

fn live(gateway: Gateway, first: Look) -> Exit {
    match screen::watch(gateway, first) {
        Ok(()) => Exit::Done,
        Err(error) => output::fail(&error),
    }
}

fn title(gateway: &Gateway, look: &Look) -> String {
    let what = match look {
        Look::Gateway(_) => "gateway",
        Look::Scaler(_) => "scaler",
    };
    format!("{what} on {}", gateway.address())
}

const EXAMPLES: &str = "\
Keys: q quits, p pauses, Tab selects the next table, arrow keys scroll.

Examples:
  The gateway of a file:
      headroom top --file gateway.yaml
  A gateway with another admin address, once, for a report:
      headroom top --admin unix:/run/headroom.sock --once
  A scaler, with why nothing happens:
      headroom top --scaler 127.0.0.1:9902
  For a program:
      headroom top --admin 127.0.0.1:9901 --json

Exit codes: 0 done, 2 wrong usage or file, 1 other errors, such as no gateway there.";
