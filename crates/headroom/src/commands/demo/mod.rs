//! `headroom demo`: the story of the search-cgi account on a built-in service, through the code that users call.
//!
//! ```text
//! fleet    `headroom demo fleet`, the second demo: a simulated policy runs live
//! story    the four phases: calm, collapse, policy, after
//! stage    the service, the gateway in front of it, the load
//! ```

mod fleet;
mod stage;
mod story;

use crate::exit::Exit;
use crate::ledger_file::LedgerArgs;
use crate::output;
use crate::output_file;
use crate::recorder::{About, Recorder};
use documents::demo::Story;
use std::path::{Path, PathBuf};

/// Show in one minute how a limit protects a service
///
/// A service with a known limit of 107 requests a second runs in this process, behind a gateway; nothing leaves this
/// machine. At 100 requests a second it is fast, at 110 it collapses. Then the same load is sent again, with a policy:
/// while responses take longer than 50 ms, the gateway admits 100 a second and rejects the others. Finally, the load
/// falls to 90 a second, and the limit is lifted.
///
/// A phase is repeated, and the output says so, if this machine was too busy to measure it.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Args {
    #[command(subcommand)]
    other: Option<Other>,

    /// Print the phases as JSON
    #[arg(long)]
    json: bool,

    /// HTML report to write [default: headroom-demo.html]
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,

    #[command(flatten)]
    ledger: LedgerArgs,
}

/// Another demo.
#[derive(Debug, clap::Subcommand)]
enum Other {
    Fleet(fleet::Args),
}

/// Tells the story.
pub fn run(args: &Args) -> Exit {
    if let Some(Other::Fleet(args)) = &args.other {
        return fleet::run(args);
    }
    // Without a wish of the user's, the report is not worth the whole demo.
    if let Some(Err(error)) = args.report.as_deref().map(output_file::check) {
        return output::complain(&error, Exit::Usage);
    }
    let report = args.report.as_deref().unwrap_or(Path::new(REPORT));
    let mut recorder = Recorder::open(&args.ledger);
    let target = "the built-in service";
    let run = recorder.begin(About { command: "demo", target, config: "{}".to_owned(), parent: None });
    let story = match story::tell(&mut recorder, run) {
        Ok(story) => story,
        Err(error) => {
            recorder.fail(run, &error.to_string());
            return output::fail(&error);
        }
    };
    let phases = story.json();
    recorder.finish(run, None, Some(phases.clone()));
    if let Err(error) = output_file::write(report, |out| out.write_all(story.page().as_bytes())) {
        output::fail(&error);
    } else {
        output::tell(&format!("\nreport: {}\n", report.display()));
    }
    if let Some(name) = run.name() {
        output::tell(&format!("recorded as {name}: headroom show {name}\n"));
    }
    if args.json { output::print(&(phases + "\n")) } else { output::print(&closing(&story)) }
}

fn closing(story: &Story) -> String {
    format!("\n{}\n{NEXT}", report::text(&story.table(), output::terminal()))
}

/// The report, where no other name is given.
const REPORT: &str = "headroom-demo.html";

const NEXT: &str = "\
The same for a service of your own: find what it carries, and keep it at that
  headroom find 'http://127.0.0.1:8080/path' --slo 'p(95)<50ms'
  headroom gateway headroom-gateway.yaml
The next demo: a fleet that scales, simulated and live (three minutes)
  headroom demo fleet
";
