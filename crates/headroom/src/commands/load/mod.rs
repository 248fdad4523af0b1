//! `headroom load`: sends load to a URL and shows what became of every request.
//!
//! ```text
//! Args (what was typed) → Plan (what will happen) → study::load → summary, JSON, files, exit code
//!
//! args      the flags
//! plan      from flags to a plan
//! drive     runs a plan, for `load` and `replay`
//! listener  from events to screen, ledger and results
//! ```

mod args;
pub mod drive;
mod listener;
mod plan;

pub use args::{Args, span};

use crate::exit::Exit;
use crate::output;
use crate::output::{complain, print};
use ::load::{Plan, Work};
use http::dial::{Origin, Scheme};
use measure::Measurement;
use plan::UsageError;
use study::load::asked;

/// Runs the command.
pub fn run(args: &Args) -> Exit {
    let planned = match plan::plan(args) {
        Ok(planned) => planned,
        Err(UsageError::Scenario(problems)) => {
            eprint!("{}", output::problems(&problems));
            return Exit::Usage;
        }
        Err(error) => return complain(&error, Exit::Usage),
    };
    if args.dry_run {
        let thresholds = planned.thresholds.iter().map(ToString::to_string).collect::<Vec<_>>();
        return print(&asked(&planned.plan).text(&thresholds));
    }
    drive::run(&drive::Run {
        command: "load",
        plan: planned.plan,
        thresholds: planned.thresholds,
        repeat: args.repeat,
        json: args.json,
        plain: args.plain,
        outputs: &args.outputs,
        ledger: &args.ledger,
        next,
    })
}

/// The next sensible command.
fn next(plan: &Plan, measured: &Measurement, run: Option<&str>) -> String {
    let url = match &plan.work {
        Work::Targets(_) => plan.url().to_owned(),
        Work::Scenario { servers, .. } => {
            servers.first().map_or(String::new(), |server| origin(&server.origin))
        }
    };
    if measured.good() == 0 {
        format!("next: curl -v '{url}'   (no good answer came)\n")
    } else if let (Some(run), Work::Scenario { .. }) = (run, &plan.work) {
        format!("next: headroom compare {run} RUN   (after a change, with the run that follows)\n")
    } else {
        format!("next: headroom find '{url}' --slo 'p(95)<50ms'\n")
    }
}

fn origin(Origin { scheme, authority, .. }: &Origin) -> String {
    let scheme = match scheme {
        Scheme::Http => "http",
        Scheme::Https => "https",
    };
    format!("{scheme}://{authority}/")
}

const EXAMPLES: &str = "\
Examples:
  As fast as the service answers, with 50 connections for 10 s:
      headroom load http://127.0.0.1:8080/
  500 requests a second for a minute:
      headroom load http://127.0.0.1:8080/ -r 500/s -d 1m
  The same with random arrivals, reproducible by its seed:
      headroom load http://127.0.0.1:8080/ -r 500/s -d 1m \\
          --arrivals poisson --seed 7
  1, 10 and 100 users; shows where more users only increase response times:
      headroom load http://127.0.0.1:8080/ \\
          --stage 30s:1 --stage 30s:10 --stage 30s:100
  HTTP/2 over TLS, with a threshold for a pipeline (exit code 99 if missed):
      headroom load https://127.0.0.1:8443/ --http2 -k -r 2000/s \\
          --threshold 'p(99)<20ms'
  A scenario:
      headroom load --scenario examples/scenario.yaml http://127.0.0.1:8080
  Five runs, so that `headroom compare` can measure run-to-run noise:
      headroom load http://127.0.0.1:8080/ -r 500/s -d 30s --repeat 5
  One number for a script:
      headroom load http://127.0.0.1:8080/ -n 10k -c 8 --json |
          jq .response_time_ms.p99

Exit codes:
  0   done; the summary says whether the run is valid
  1   no good answer (status 200 to 399) without thresholds, or another error
  2   wrong usage
  3   a threshold was given and the run is invalid
  99  a threshold was missed";
