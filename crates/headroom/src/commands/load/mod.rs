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
pub use plan::{UsageError, methods, scenario};

use crate::exit::Exit;
use crate::next::{Line, Typed};
use crate::output;
use crate::output::{complain, print, terminal};
use ::load::{Plan, Work};
use control::search::{CONDITIONS_MAX, Condition};
use http::dial::{Origin, Scheme};
use measure::Measurement;
use std::path::Path;
use study::load::asked;

/// Runs the command.
pub fn run(args: &Args) -> Exit {
    let planned = match plan::plan(args) {
        Ok(planned) => planned,
        Err(error) => return refuse(&error),
    };
    if args.dry_run {
        let thresholds = planned.thresholds.iter().map(ToString::to_string).collect::<Vec<_>>();
        return print(&asked(&planned.plan).text(&thresholds, terminal()));
    }
    drive::run(drive::Run {
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

/// Says why there is no plan.
pub fn refuse(error: &UsageError) -> Exit {
    match error {
        UsageError::Scenario(problems) => output::refuse(problems),
        error => complain(error, Exit::Usage),
    }
}

/// Refuses what a run of the scenario file refuses of it, without a request. The command that runs it.
///
/// # Errors
/// The exit code, once what is wrong was said.
pub fn check(file: &Path) -> Result<&'static str, Exit> {
    match plan::check(file) {
        Ok(true) => Ok("headroom load --scenario"),
        Ok(false) => Ok("headroom load -c 10 --scenario"),
        Err(error) => Err(refuse(&error)),
    }
}

/// The next sensible command.
fn next(plan: &Plan, measured: &Measurement, run: Option<&str>) -> String {
    let url = match &plan.work {
        Work::Targets(_) => plan.url().to_owned(),
        Work::Scenario { servers, .. } => {
            servers.first().map_or(String::new(), |server| origin(&server.origin))
        }
    };
    let typed = Typed::now();
    if measured.good() == 0 {
        return no_good_response(&typed, &url);
    }
    match (run, &plan.work) {
        (Some(run), Work::Scenario { .. }) => again(&typed, "headroom load", run),
        _ => find(&typed, &url).next(),
    }
}

/// What the service answers to one request like those of the run.
pub fn no_good_response(typed: &Typed, url: &str) -> String {
    Line::new("curl -v").value(url).with_curl_flags(typed).remark("no request got a good response").next()
}

/// The same run after a change, to be compared with `run`.
pub fn again(typed: &Typed, command: &str, run: &str) -> String {
    let ledger = |line: Line| typed.values("ledger").fold(line, |line, path| line.flag("ledger", path));
    let compare = ledger(Line::new("headroom compare").value(run).value("RUN"));
    let then = format!("after a change, to be compared by `{compare}`");
    Line::new(command).same(typed).remark(&then).next()
}

/// The search for the limit, with the thresholds of the run as far as they are goals.
fn find(typed: &Typed, url: &str) -> Line {
    let mut line = Line::new("headroom find").value(url);
    let goals = typed.values("threshold").filter(|text| text.parse::<Condition>().is_ok());
    let goals: Vec<&str> = goals.take(GOALS).collect();
    for goal in &goals {
        line = line.flag("slo", goal);
    }
    line = line.repeated(typed, "find", &["arrivals", "seed", "timeout", "ledger"]);
    if goals.is_empty() { line.remark("--slo sets a goal, such as --slo 'p(95)<50ms'") } else { line }
}

/// A search has room for so many conditions beside the one on failures that it adds.
const GOALS: usize = CONDITIONS_MAX - 1;

/// The URL of a server.
pub fn origin(Origin { scheme, authority, .. }: &Origin) -> String {
    let scheme = match scheme {
        Scheme::Http => "http",
        Scheme::Https => "https",
    };
    format!("{scheme}://{authority}/")
}

const EXAMPLES: &str = "\
Examples:
  As fast as the service responds, with 50 connections for 10 s:
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
  A report with charts, as one HTML file:
      headroom load http://127.0.0.1:8080/ -r 500/s -d 1m --report load.html
  A scenario:
      headroom load --scenario examples/scenario.yaml http://127.0.0.1:8080
  Five runs, so that `headroom compare` can measure run-to-run noise:
      headroom load http://127.0.0.1:8080/ -r 500/s -d 30s --repeat 5
  One number for a script:
      headroom load http://127.0.0.1:8080/ -n 10k -c 8 --json |
          jq .response_time_ms.p99

Exit codes:
  0   done; the summary says whether the run is valid
  1   no good response (status 200 to 399) without thresholds, or another error
  2   wrong usage
  3   a threshold was given and the run is invalid
  99  a threshold was missed";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::next::tests::{accepted, typed};

    #[test]
    fn the_search_has_the_goals_of_the_run() {
        let load = typed(
            "headroom load http://127.0.0.1:1/ -r 5/s -H 'X-Key: a b' --threshold 'p(95)<50ms' --slo 'failed<1%' \
             --threshold 'http_req_duration{endpoint:a}: p(99)<1s'",
        );
        let bare = typed("headroom load http://127.0.0.1:1/");
        let url = "http://127.0.0.1:1/";
        insta::assert_snapshot!(format!("{}\n{}", accepted(&find(&load, url)), accepted(&find(&bare, url))));
    }

    #[test]
    fn a_scenario_runs_again_and_is_compared() {
        let load =
            typed("headroom load --scenario 'my shop.yaml' http://127.0.0.1:1 -c 5 --ledger l.sqlite --json");
        insta::assert_snapshot!(again(&load, "headroom load", "r7"));
    }
}
