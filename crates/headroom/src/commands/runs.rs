//! `headroom runs`: the latest runs, one line each.

use crate::exit::Exit;
use crate::ledger_file::{self, Error, LedgerArgs};
use crate::next::{Line, Typed};
use crate::output;
use documents::stored::{Run, table};
use ledger::{Order, Selection, State, WallTime};
use serde_json::Value as Json;
use std::str::FromStr;
use units::parse_duration;

/// List the runs in the ledger, newest first
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    ledger: LedgerArgs,

    /// Order of the list: latest, rate (highest first), p95 (lowest first), lost (most first), took (longest first)
    #[arg(long, value_name = "ORDER", value_enum, default_value_t = Sort::Latest, hide_possible_values = true)]
    sort: Sort,

    /// Maximum number of runs
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: u32,

    /// Print as JSON: an array with an object for each run
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    select: Select,
}

/// Flags that select runs.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Selection")]
pub struct Select {
    /// Runs of this command only, such as load
    #[arg(long, value_name = "COMMAND")]
    command: Option<String>,

    /// Runs whose target contains this text only
    #[arg(long, value_name = "TEXT")]
    target: Option<String>,

    /// Runs in this state only: running, done, interrupted, failed
    #[arg(long, value_name = "STATE", value_parser = state)]
    state: Option<State>,

    /// Runs with this tag only, such as team or team=search; may be repeated
    #[arg(long, value_name = "KEY[=VALUE]")]
    tag: Vec<String>,

    /// Runs that began at this time or later: a date or time in UTC such as 2026-03-01, or a span before now such as 7d
    #[arg(long, value_name = "TIME")]
    since: Option<Time>,

    /// Runs that began before this time
    #[arg(long, value_name = "TIME")]
    until: Option<Time>,
}

/// The order of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Sort {
    Latest,
    Rate,
    P95,
    Lost,
    Took,
}

/// A time as it is typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Time(pub WallTime);

impl FromStr for Time {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(span) = parse_duration(text) {
            let before = i64::try_from(span.as_micros()).unwrap_or(i64::MAX);
            return Ok(Time(WallTime::from_micros(WallTime::now().micros().saturating_sub(before))));
        }
        text.parse().map(Time).map_err(|()| {
            format!(
                "`{text}` is no time: expected a date such as 2026-03-01, a time such as 2026-03-01T12:00:00Z, or a span before now such as 7d"
            )
        })
    }
}

fn state(text: &str) -> Result<State, String> {
    let all = [State::Running, State::Done, State::Interrupted, State::Failed];
    let found = all.into_iter().find(|state| state.name() == text);
    found.ok_or_else(|| "expected running, done, interrupted or failed".to_owned())
}

impl Select {
    /// What it selects.
    pub fn selection(&self) -> Selection {
        let tag = |tag: &String| match tag.split_once('=') {
            Some((key, value)) => (key.to_owned(), Some(value.to_owned())),
            None => (tag.clone(), None),
        };
        Selection {
            command: self.command.clone(),
            about: self.target.clone(),
            state: self.state,
            tags: self.tag.iter().map(tag).collect(),
            since: self.since.map(|time| time.0),
            until: self.until.map(|time| time.0),
            ..Selection::default()
        }
    }

    fn is_empty(&self) -> bool {
        self.selection() == Selection::default()
    }
}

impl Sort {
    fn order(self) -> Order {
        match self {
            Sort::Latest => Order::Latest,
            Sort::Rate => Order::Rate,
            Sort::P95 => Order::P95,
            Sort::Lost => Order::Lost,
            Sort::Took => Order::Took,
        }
    }
}

/// Prints the list.
pub fn run(args: &Args) -> Exit {
    let runs = match read(args) {
        Ok(runs) => runs,
        Err(error) => return output::fail(&error),
    };
    if args.json {
        let all: Json = runs.iter().map(Run::json).collect();
        return output::print(&format!("{all:#}\n"));
    }
    let Some(latest) = runs.first() else {
        output::say(&format!("{}\n", if args.select.is_empty() { EMPTY } else { NONE }));
        return Exit::Done;
    };
    let exit = output::print(&report::text(&table(&runs), output::terminal()));
    output::say(&format!("\n{}", more(&latest.id)));
    exit
}

/// The command that shows a run whole.
pub fn more(run: &str) -> String {
    Line::new("headroom show").value(run).repeated(&Typed::now(), "show", &["ledger"]).next()
}

/// What is said where no run is kept yet.
pub const EMPTY: &str =
    "The ledger is empty. A run enters it by itself: headroom load URL, or headroom demo.";
/// What is said where none is selected.
pub const NONE: &str = "No run in the ledger is selected by these flags; headroom runs lists all.";

fn read(args: &Args) -> Result<Vec<Run>, Error> {
    let selection = Selection { order: args.sort.order(), limit: args.limit, ..args.select.selection() };
    match args.ledger.open_existing()? {
        Some(ledger) => Ok(ledger_file::runs(&ledger, &selection)?),
        None => Ok(Vec::new()),
    }
}
