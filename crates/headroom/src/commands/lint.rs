//! `headroom lint`: policies that will flap or mislead, seen without running anything.

use super::simulate::{Error, SourceArgs, list_cases, refuse};
use crate::exit::Exit;
use crate::output;
use config::case::{Given, Stage};
use documents::lint::{Found, Linted};

/// Find scaling policies that will flap or mislead
///
/// Finds flapping bands, a maximum that cannot carry the peak, targets that are never reached, scaling out without
/// scaling in, percentiles of too few samples, target tracking of latency, alarms on maximum CPU, burstable instance
/// types, quotas and addresses that are too few, cooldowns shorter than the start of an instance, and traps of
/// Kubernetes' autoscaler. Each finding has its place, the reason in numbers, and what to change. The exit code is 99
/// if there are findings.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    source: SourceArgs,

    /// Check only these stages [default: all]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    stage: Vec<String>,

    /// Print findings as JSON
    #[arg(long)]
    json: bool,
}

/// Prints the findings.
pub fn run(args: &Args) -> Exit {
    match found(args) {
        Ok(Some(linted)) => print(args, &linted),
        Ok(None) => list_cases(),
        Err(error) => refuse(&error),
    }
}

fn print(args: &Args, linted: &Linted) -> Exit {
    let printed = match args.json {
        true => output::print(&format!("{:#}\n", linted.json())),
        false => {
            let next = args.source.line("headroom simulate").next();
            output::print(&format!("{}{next}", linted.text()))
        }
    };
    match printed {
        Exit::Done if !linted.findings.is_empty() => Exit::Missed,
        other => other,
    }
}

fn found(args: &Args) -> Result<Option<Linted>, Error> {
    let Some(case) = args.source.read(Given::default())? else { return Ok(None) };
    for name in &args.stage {
        if case.stages.iter().all(|stage| stage.name != *name) {
            return Err(Error::UnknownStage {
                case: case.name.clone(),
                name: name.clone(),
                help: fields::suggestion(name, case.stages.iter().map(|stage| stage.name.as_str())),
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
    Ok(Some(Linted { case: case.name, several_stages: case.stages.len() > 1, findings: all }))
}
