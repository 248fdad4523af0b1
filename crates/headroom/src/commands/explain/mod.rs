//! `headroom explain`: where a limit comes from, and why a request was refused.
//!
//! Both kinds of sources, a file and a running gateway, are read as the same document
//! ([`status::Status`]), so that they are explained in the same words (`documents::explain`); a running gateway adds how it
//! is now.

mod measured;

use crate::admin::{AdminArgs, Error as AdminError, TokenArgs};
use crate::exit::Exit;
use crate::ledger_file::LedgerArgs;
use crate::output;
use documents::explain::{self as words, Reasons};
use http::codec::Refusal;
use status::Status;

/// Explain a gateway's limits, and why a request was rejected
///
/// For each route: the order in which a request meets the limits, and the response to a rejected request. For each
/// limit, class and policy: its values, the run that they come from (with goal and interval), and where it applies.
/// With a NAME, only that one. With --reason, the meaning of a reason in logs, metrics and responses, and what to do
/// about it.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, mut_arg("token_file", |arg| arg.requires("admin")))]
pub struct Args {
    /// Gateway file; not with --admin
    #[arg(value_name = "FILE")]
    first: Option<String>,

    /// Name of a route, limit, class, policy or pool; with --admin the only argument
    #[arg(value_name = "NAME")]
    second: Option<String>,

    #[command(flatten)]
    admin: AdminArgs,

    #[command(flatten)]
    token: TokenArgs,

    /// Name of a reason, such as backlog_full
    #[arg(long, value_name = "REASON")]
    reason: Option<String>,

    #[command(flatten)]
    ledger: LedgerArgs,
}

/// Why there is nothing to explain.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error("nothing to explain: give a gateway file, --admin ADDRESS or --reason NAME")]
    Nothing,
    #[error("with --admin there is one argument, the name; `{0}` is too much")]
    TooMuch(String),
    #[error("nothing is called `{name}`; {help}")]
    UnknownName { name: String, help: String },
    #[error("no reason is called `{name}`; {help}")]
    UnknownReason { name: String, help: String },
    #[error("{} is no gateway file that can be used", .0)]
    File(String),
    #[error(transparent)]
    Admin(#[from] AdminError),
}

/// Explains.
pub fn run(args: &Args) -> Exit {
    match explain(args) {
        Ok(text) => output::print(&printable(&text)),
        Err(Error::Admin(error)) => output::complain(&error, error.exit()),
        Err(error) => output::complain(&error, Exit::Usage),
    }
}

/// Control characters out of somebody's names must not reach the terminal.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && c != '\n' { '\u{fffd}' } else { c }).collect()
}

fn explain(args: &Args) -> Result<String, Error> {
    let (status, name) = subject(args)?;
    if let Some(reason) = &args.reason {
        let known = known();
        let found = known.find(reason);
        if found.is_empty() {
            return Err(Error::UnknownReason { name: reason.clone(), help: near(reason, &known) });
        }
        return Ok(words::reason(&found, status.as_ref()));
    }
    let status = status.ok_or(Error::Nothing)?;
    let measured = measured::of(&status, &args.ledger);
    match name {
        None => Ok(words::all(&status, &measured)),
        Some(name) => words::named(&status, &measured, &name).ok_or_else(|| {
            let names = words::names(&status);
            Error::UnknownName { help: fields::suggestion(&name, names), name: name.clone() }
        }),
    }
}

/// All reasons that a gateway gives.
fn known() -> Reasons {
    Reasons::with_refusals(Refusal::names_of_requests())
}

/// The reasons that may be meant: the closest, those that share a word with what was typed, or all.
fn near(typed: &str, reasons: &Reasons) -> String {
    if let Some(name) = fields::closest(typed, reasons.names()) {
        return format!("did you mean `{name}`?");
    }
    let words =
        |name: &str| name.to_lowercase().split(['_', '-', ' ']).map(str::to_owned).collect::<Vec<_>>();
    let typed = words(typed);
    let shares = |name: &&str| words(name).iter().any(|word| typed.contains(word));
    let similar: Vec<&str> = reasons.names().filter(shares).collect();
    let (said, names) = match similar.is_empty() {
        false => ("these are like it", similar),
        true => ("these are known", reasons.names().collect()),
    };
    let lines = report::fold(&names.join(", "), COLUMNS);
    format!("{said}:\n  {}", lines.join("\n  "))
}

/// Of 80 columns, without the indent.
const COLUMNS: usize = 78;

/// The gateway that is meant, if one is, and the name in it.
fn subject(args: &Args) -> Result<(Option<Status>, Option<String>), Error> {
    if let Some(address) = &args.admin.admin {
        if let Some(more) = &args.second {
            return Err(Error::TooMuch(more.clone()));
        }
        let mut gateway = args.token.gateway(Some(address), None)?;
        return Ok((Some(gateway.status()?), args.first.clone()));
    }
    let Some(file) = &args.first else { return Ok((None, None)) };
    let settings = config::read(file.as_ref()).map_err(|problems| {
        output::refuse(&problems);
        Error::File(file.clone())
    });
    Ok((Some(gateway::status_of(&settings?.0)), args.second.clone()))
}

const EXAMPLES: &str = "\
Examples:
  The limits of a gateway file, in the order in which requests meet them:
      headroom explain gateway.yaml
  One limit, and the run that it comes from:
      headroom explain gateway.yaml 'Search limit'
  The same for a running gateway, with its current state:
      headroom explain --admin 127.0.0.1:9901 'Search limit'
  A reason from a log, a metric or a rejected request:
      headroom explain --reason backlog_full

Exit codes: 0 done, 2 wrong usage, file or name, 1 other errors.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_reason_is_answered_with_those_that_may_be_meant() {
        assert_eq!(near("backlog_ful", &known()), "did you mean `backlog_full`?");
        let like = near("timeout", &known());
        assert!(like.contains("head_timeout") && !like.contains("backlog_full"), "{like}");
        let all = near("zzzzzzzz", &known());
        assert!(all.contains("rate_class") && all.lines().all(|line| line.len() <= 80), "{all}");
    }

    #[test]
    fn a_broken_request_has_one_explanation() {
        let known = known();
        for name in Refusal::names_of_requests() {
            assert_eq!(known.find(name).len(), 1, "{name}");
        }
    }
}
