//! `headroom lint`: policies that will flap or mislead, seen without running anything.

use super::simulate::{Error, SourceArgs, list_cases, refuse};
use crate::exit::Exit;
use crate::output;
use config::case::{Case, Given, Stage};
use serde_json::json;
use sim::lint::Finding;

/// Say which policies of a case will flap or mislead, without running anything
///
/// Flapping bands, percentiles of too few samples, latency in target tracking, maximum CPU, burstable types, ceilings of
/// quotas and addresses, cooldowns shorter than a start. Each finding says where, why in numbers, and the way out. Ends
/// with 99 where something was found.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    source: SourceArgs,

    /// Only these stages [default: all]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    stage: Vec<String>,

    /// As JSON
    #[arg(long)]
    json: bool,
}

/// Prints the findings.
pub fn run(args: &Args) -> Exit {
    match found(args) {
        Ok(Some((case, found))) => print(args, &case, &found),
        Ok(None) => list_cases(),
        Err(error) => refuse(&error),
    }
}

/// A finding and the stages that have it.
#[derive(Debug)]
struct Found {
    finding: Finding,
    stages: Vec<String>,
}

fn found(args: &Args) -> Result<Option<(Case, Vec<Found>)>, Error> {
    let Some(case) = args.source.read(Given::default())? else { return Ok(None) };
    for name in &args.stage {
        if case.stages.iter().all(|stage| stage.name != *name) {
            return Err(Error::UnknownStage {
                case: case.name.clone(),
                name: name.clone(),
                help: config::suggestion(name, case.stages.iter().map(|stage| stage.name.as_str())),
            });
        }
    }
    let wanted = |stage: &&Stage| args.stage.is_empty() || args.stage.contains(&stage.name);
    let mut all: Vec<Found> = Vec::new();
    for stage in case.stages.iter().filter(wanted) {
        for finding in sim::lint::lint(&stage.system) {
            match all.iter_mut().find(|known| known.finding == finding) {
                Some(known) => known.stages.push(stage.name.clone()),
                None => all.push(Found { finding, stages: vec![stage.name.clone()] }),
            }
        }
    }
    Ok(Some((case, all)))
}

fn print(args: &Args, case: &Case, found: &[Found]) -> Exit {
    let printed = if args.json {
        let findings = found.iter().map(|found| {
            let Finding { rule, place, what, why, remedy } = &found.finding;
            json!({
                "rule": rule.name(), "place": place, "what": what, "why": why, "remedy": remedy, "stages": found.stages,
            })
        });
        let whole = json!({
            "version": env!("CARGO_PKG_VERSION"),
            "case": case.name,
            "findings": findings.collect::<Vec<_>>(),
        });
        output::print(&format!("{whole:#}\n"))
    } else {
        output::print(&words(case, found))
    };
    match printed {
        Exit::Done if !found.is_empty() => Exit::Missed,
        other => other,
    }
}

fn words(case: &Case, found: &[Found]) -> String {
    if found.is_empty() {
        return format!("{}: nothing that will flap or mislead was found\n", case.name);
    }
    let mut said = String::new();
    let several = case.stages.len() > 1;
    for Found { finding: Finding { rule, place, what, why, remedy }, stages } in found {
        said += &format!("{place}: {what} [{rule}]\n");
        if several {
            said += &format!("  in:  {}\n", stages.join(", "));
        }
        said += &format!("  why: {why}\n  do:  {remedy}\n\n");
    }
    let count = match found.len() {
        1 => "1 finding".to_owned(),
        more => format!("{more} findings"),
    };
    said + &format!("{}: {count}\n", case.name)
}
