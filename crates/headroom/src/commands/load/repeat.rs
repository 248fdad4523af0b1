//! `load --repeat`: the same run several times, so that what runs differ by without a change is known.
//!
//! Each repetition has the next seed: with one seed for all, a run's own draw of arrivals would be the same in each, and be
//! taken for a property of the service. Otherwise the runs are what `load` makes without the flag, and each is printed as it
//! ends; with `--json` there is a document for each run, one after the other.

use super::args::Args;
use super::drive::{self, Once, Run};
use super::plan::Planned;
use crate::exit::Exit;
use crate::output::{note, print};
use crate::recorder::Begun;
use ::load::{Arrivals, Model, Plan};
use documents::run::repeated;

/// Runs the plan as often as was asked; ends early where a run fails or is interrupted. The exit code is that of the first
/// run that did not end well.
pub fn run(args: &Args, planned: &Planned) -> Exit {
    let times = args.repeat.get();
    let (mut first, mut exit): (Option<Begun>, Exit) = (None, Exit::Done);
    let mut measured = Vec::new();
    for number in 0..times {
        note(&format!("run {} of {times}", number + 1));
        let run = Run {
            command: "load",
            plan: seeded(&planned.plan, number),
            thresholds: planned.thresholds.clone(),
            json: args.json,
            plain: args.plain,
            outputs: &args.outputs,
            ledger: &args.ledger,
            next: |_, _, _| String::new(),
        };
        let Once { exit: ended_as, begun, ended } = drive::once(&run, first);
        first = first.or(begun);
        if exit == Exit::Done {
            exit = ended_as;
        }
        let Some((one, interrupted)) = ended else { break };
        measured.push((begun.and_then(Begun::name), one));
        if interrupted {
            break;
        }
    }
    let name = first.and_then(Begun::name);
    if args.json || measured.len() < 2 {
        return exit;
    }
    match print(&repeated(&measured, name.as_deref())) {
        Exit::Done => exit,
        said => said,
    }
}

/// The plan with the seed of this repetition; the first has the seed that was given.
fn seeded(plan: &Plan, number: u32) -> Plan {
    let mut plan = plan.clone();
    plan.seed = plan.seed.wrapping_add(u64::from(number));
    if let Model::Open { arrivals: Arrivals::Poisson { seed }, .. } = &mut plan.model {
        *seed = seed.wrapping_add(u64::from(number));
    }
    plan
}
