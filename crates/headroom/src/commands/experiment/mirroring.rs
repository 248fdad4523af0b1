//! What the copies of a running gateway cost: the gateway with them and without them.

use super::gateway::Gateway;
use super::story::Story;
use super::{Args, refuse, say};
use crate::exit::Exit;
use crate::live::Interrupts;
use crate::output::{complain, fail};
use crate::recorder::{About, Recorder};
use config::experiment::Mirroring;
use serde_json::json;
use study::experiment::mirroring::{Failed, Wanted};

/// Runs the experiment of such a file.
pub fn run(args: &Args, file: &Mirroring) -> Exit {
    let interrupts = match Interrupts::listen() {
        Ok(interrupts) => interrupts,
        Err(error) => return fail(&error),
    };
    let mut live = match Gateway::new(file, &interrupts) {
        Ok(live) => live,
        Err(error) => return refuse(&error.into()),
    };
    let mut recorder = Recorder::open(&args.ledger);
    let about = About { command: "experiment", target: &file.name, config: recorded(file), parent: None };
    let begun = recorder.begin(about);
    let wanted = Wanted { file, only_plan: args.plan, seed: args.seed, version: status::version() };
    let mut story = Story::of_mirroring();
    let found = study::experiment::mirroring::run(&mut live, &wanted, &mut |event| story.tell(&event));
    story.end();
    match found {
        Ok(found) => {
            recorder.finish(begun, None, Some(found.json().to_string()));
            say(args, &found)
        }
        Err(error) => {
            recorder.fail(begun, &error.to_string());
            complain(&error, exit(&error))
        }
    }
}

/// The experiment as the ledger has it.
fn recorded(file: &Mirroring) -> String {
    json!({
        "experiment": file.name, "mirroring": file.gateway.listen.to_string(),
        "margin": file.margin, "effect": file.effect, "harm": file.harm,
        "time_seconds": file.time.as_secs_f64(), "block_seconds": file.block.as_secs_f64(),
        "warm_up_seconds": file.warm_up.as_secs_f64(),
    })
    .to_string()
}

fn exit(error: &Failed) -> Exit {
    match error {
        Failed::NoMirror { .. } | Failed::NoProcessorTime | Failed::Trial(_) => Exit::Usage,
        Failed::Gateway(_)
        | Failed::Held { .. }
        | Failed::NoTraffic { .. }
        | Failed::NothingCopied { .. }
        | Failed::Interrupted => Exit::Failed,
    }
}
