//! `headroom note`: says something about a run.

use super::runs::{EMPTY, more};
use crate::exit::Exit;
use crate::ledger_file::{Error, LedgerArgs, RunName};
use crate::output;
use ledger::{Change, Name, Note, RunId};

/// Say something about a run: a name, tags, a comment, what changed, what follows
///
/// Notes are added to the ledger and never change: a later name, tag, hypothesis, change, bottleneck or decision takes the
/// place of the earlier one, and comments add up. Commands that take a run such as r17 take its name, too.
#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("notes").required(true).multiple(true))]
pub struct Args {
    /// Run, such as r17, or its name
    #[arg(value_name = "RUN")]
    run: RunName,

    /// Comment
    #[arg(value_name = "COMMENT", group = "notes")]
    comment: Option<String>,

    /// Name for the run; a name that another run has moves to this one
    #[arg(long, value_name = "NAME", group = "notes")]
    name: Option<Name>,

    /// Tag, such as team=search; may be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = tag, group = "notes")]
    tag: Vec<(String, String)>,

    /// Tag to take away; may be repeated
    #[arg(long, value_name = "KEY", group = "notes")]
    untag: Vec<String>,

    /// What the run should show
    #[arg(long, value_name = "TEXT", group = "notes")]
    hypothesis: Option<String>,

    /// What differs from the run before, such as 'threads: 5 -> 16'
    #[arg(long, value_name = "CHANGE", group = "notes")]
    change: Option<Change>,

    /// What limited the run
    #[arg(long, value_name = "TEXT", group = "notes")]
    bottleneck: Option<String>,

    /// What follows from the run
    #[arg(long, value_name = "TEXT", group = "notes")]
    decision: Option<String>,

    #[command(flatten)]
    ledger: LedgerArgs,
}

fn tag(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err(format!("`{text}` is no tag: expected KEY=VALUE, such as team=search")),
    }
}

/// Adds the notes.
pub fn run(args: &Args) -> Exit {
    match add(args) {
        Ok(Some(id)) => {
            output::say(&more(&id.to_string()));
            Exit::Done
        }
        Ok(None) => {
            output::say(&format!("{EMPTY}\n"));
            Exit::Failed
        }
        Err(error) => output::fail(&error),
    }
}

fn add(args: &Args) -> Result<Option<RunId>, Error> {
    let Some(ledger) = args.ledger.change_existing()? else { return Ok(None) };
    let id = args.run.of(&ledger)?;
    for note in notes(args) {
        ledger.note(id, &note)?;
    }
    Ok(Some(id))
}

fn notes(args: &Args) -> Vec<Note> {
    let tags = args.tag.iter().map(|(key, value)| Note::Tag { key: key.clone(), value: Some(value.clone()) });
    let untags = args.untag.iter().map(|key| Note::Tag { key: key.clone(), value: None });
    let others = [
        args.name.clone().map(Note::Name),
        args.hypothesis.clone().map(Note::Hypothesis),
        args.change.clone().map(Note::Change),
        args.bottleneck.clone().map(Note::Bottleneck),
        args.decision.clone().map(Note::Decision),
        args.comment.clone().map(Note::Comment),
    ];
    tags.chain(untags).chain(others.into_iter().flatten()).collect()
}
