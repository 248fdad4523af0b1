//! `headroom experiment`: a control against candidates, from a file.
//!
//! ```text
//! Args and file → plan (arms with their requests) → study::experiment → documents::experiment → summary or JSON, ledger
//!
//! plan       ports, requests and processes of each arm
//! recording  requests with times of their own
//! mirroring  a gateway with its copies and without them
//! gateway    its admin listener, and the clock
//! story      what happens meanwhile, on standard error
//! ```

mod gateway;
mod mirroring;
mod plan;
mod recording;
mod story;

use super::load;
use crate::connect::{ConnectArgs, ConnectError};
use crate::descriptors;
use crate::exit::Exit;
use crate::guard::{GuardArgs, GuardError};
use crate::inputs::InputError;
use crate::ledger_file::LedgerArgs;
use crate::live::Interrupts;
use crate::output::{self, complain, fail, print, terminal};
use crate::recorder::{About, Recorder};
use ::load::TargetError;
use config::experiment::File;
use documents::experiment::Experiment;
use host::{NoService, without_secrets};
use std::path::{Path, PathBuf};
use std::time::Duration;
use study::experiment::{Differs, Failed, Wanted};
use thiserror::Error;

/// Compare a control with candidates: better, worse or the same
///
/// FILE (YAML) names a control and one or more candidates, the one variable that differs between them, and the load. headroom
/// starts and stops services that have a command; others need a url. All services get load that is not measured
/// (warm_up). Then the control runs against a second control: their differences are the noise floor. From it follows the
/// plan: which effect is found in which time. Then blocks of a few seconds compare the candidates with the control, until
/// the planned blocks were run and the primary measure is decided, or the time is over.
///
/// Each route and measure has a verdict with an interval, which is valid whenever the experiment ends: better, worse, same
/// (within the margin), or cannot tell, with the time that is missing. One experiment of twenty may have a wrong
/// verdict. Blocks that were disturbed (generator late, steal, throttling) do not count. A candidate that is worse by more
/// than harm, has more errors or does not respond is stopped.
///
/// Between the blocks, the responses of the services to some of the requests are compared: status, media type, size and body.
/// What differs between two responses of the control too is ignored; differences of a candidate are listed, masked.
///
/// With `vary` and `service` in place of control and candidates, FILE gives a variable many values, such as
/// `processes: 4..20`. Each is started anew in each round and measured by itself; values that are not the best for certain
/// are eliminated. With several variables the best combination is found, or (find: effects) the effect of each variable and
/// whether they depend on each other.
///
/// With `mirroring: ADDRESS` in place of all that, FILE names the admin listener of a running gateway: its mirrors and its capture
/// are paused and continued in random order under the traffic that is there, and the result says what they cost in
/// processor time and response times. The gateway copies again at the latest 5 s after headroom was killed.
///
/// Services that run on this machine, and whose processes are known, are examined meanwhile: the result names what limits each,
/// such as the workers of a value that lost.
///
/// An experiment file of `headroom doctor --experiment` names the finding that it is to prove: the result says whether it is
/// confirmed or refuted, and the ledger keeps that with the run of the finding.
///
/// A candidate whose command differs from that of the control in more than one place is refused. Requests that change data are
/// refused, unless the service that gets copies of them has own_store: true.
///
/// Progress is written to standard error, the result to standard output. Ctrl-C ends the experiment; its verdicts so far
/// are printed.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Experiment file; `headroom config schema experiment` prints its schema
    file: PathBuf,

    /// Longest time of the experiment, in place of that of the file
    #[arg(long, value_name = "SPAN", value_parser = load::span)]
    time: Option<Duration>,

    /// Measure the noise floor, print which effect is found in which time, and end
    #[arg(long)]
    plan: bool,

    /// Header of each request, in place of recorded ones of its name, as 'Name: value'; can be repeated
    ///
    /// Such as credentials, which a capture does not have. The ledger keeps the name.
    #[arg(short = 'H', long = "header", value_name = "HEADER")]
    headers: Vec<String>,

    /// Seed for arrivals and for the order of the services
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,

    /// Do not examine the services for what limits them, as headroom doctor does
    #[arg(long)]
    no_doctor: bool,

    #[command(flatten)]
    connect: ConnectArgs,

    #[command(flatten)]
    guard: GuardArgs,

    #[command(flatten, next_help_heading = "Output")]
    ledger: LedgerArgs,

    /// Print the result as JSON; the schema is schemas/experiment.schema.json
    #[arg(long, help_heading = "Output")]
    json: bool,
}

/// Why there is no experiment.
#[derive(Debug, Error)]
pub enum UsageError {
    /// The file has problems.
    #[error("the experiment file cannot be used")]
    File(fields::Problems),
    /// So has the scenario, or a URL.
    #[error(transparent)]
    Load(#[from] load::UsageError),
    /// The list of requests.
    #[error(transparent)]
    Input(#[from] InputError),
    /// A path cannot be sent.
    #[error("the path `{path}` cannot be sent")]
    Target {
        /// The path.
        path: String,
        /// Why.
        source: TargetError,
    },
    /// The recording has no times, or times that cannot be.
    #[error("{}: {why}", .file.display())]
    Recording {
        /// The file.
        file: PathBuf,
        /// Why.
        why: String,
    },
    /// Copies of requests that change data.
    #[error(
        "{what} change data ({methods}), and {arm} would get copies of them: declare `own_store: true` there if its writes \
         go to a store of its own{or}"
    )]
    Unsafe {
        /// What has them.
        what: String,
        /// Their methods.
        methods: String,
        /// Which service.
        arm: String,
        /// Another way out.
        or: &'static str,
    },
    /// `-H` with requests that are not made from a list.
    #[error("-H is for `load` with `paths` or `requests`; {} {why}", .file.display())]
    Headers {
        /// The file that says what is sent.
        file: PathBuf,
        /// Why it has no use for it.
        why: &'static str,
    },
    /// `--time` is too short.
    #[error("--time {} is shorter than 20 blocks of {}; give more, or a shorter `block` in the file", units::show_duration(*.time), units::show_duration(*.block))]
    Time {
        /// The time.
        time: Duration,
        /// A block.
        block: Duration,
    },
    /// The run of the hypothesis.
    #[error(
        "the run of `hypothesis` is not there; give the ledger that has it with --ledger, or remove `run` from the file"
    )]
    Run(#[source] ledger::Error),
    /// It is named by what is no name of a run.
    #[error("`hypothesis.run`: {0}")]
    RunName(String),
    /// No port is free.
    #[error("no free port on 127.0.0.1")]
    Port(#[source] std::io::Error),
    /// There is no such process.
    #[error(transparent)]
    Service(#[from] NoService),
    /// Two processes differ in more than one place.
    #[error(transparent)]
    Differs(#[from] Differs),
    /// The token of the gateway.
    #[error(transparent)]
    Gateway(#[from] scaler::AdminError),
    /// Connections.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// Public hosts.
    #[error(transparent)]
    Guard(#[from] GuardError),
}

/// Runs the command.
pub fn run(args: &Args) -> Exit {
    let planned = match plan::read(args) {
        Ok(File::Mirroring(file)) => return mirroring::run(args, &file),
        Ok(File::Services(file)) => plan::plan(args, *file),
        Err(error) => Err(error),
    };
    let planned = match planned {
        Ok(planned) => planned,
        Err(error) => return refuse(&error),
    };
    let interrupts = match Interrupts::listen() {
        Ok(interrupts) => interrupts,
        Err(error) => return fail(&error),
    };
    descriptors::raise_limit();
    let wanted = Wanted {
        file: &planned.file,
        control: planned.control,
        second_control: planned.second_control,
        candidates: planned.candidates,
        recording: planned.recording.as_deref(),
        connecting: &planned.connecting,
        only_plan: args.plan,
        doctor: !args.no_doctor && !args.plan,
        seed: args.seed,
        version: status::version(),
        interrupted: &|| interrupts.came(),
    };
    let mut recorder = Recorder::open(&args.ledger);
    let earlier = match planned.finding_of.as_ref().map(|run| recorder.earlier(run)).transpose() {
        Ok(earlier) => earlier.flatten(),
        Err(source) => return refuse(&UsageError::Run(source)),
    };
    let config = plan::recorded(&planned.file, &planned.commands, &args.headers).to_string();
    let target = planned.file.name.as_str();
    let begun = recorder.begin(About { command: "experiment", target, config, parent: None });
    let mut story = story::Story::of(&planned.file);
    let found = study::experiment::run(&wanted, &mut |event| story.tell(&event));
    story.end();
    match found {
        Ok(found) => {
            recorder.finish(begun, None, Some(found.json().to_string()));
            if let Some(hypothesis) = found.hypothesis.as_ref().filter(|_| !args.plan) {
                recorder.tested(begun, hypothesis.finding, hypothesis.outcome, earlier);
            }
            say(args, &found)
        }
        Err(error) => {
            recorder.fail(begun, &without_secrets(&error.to_string()));
            match error {
                Failed::Differs(error) => refuse(&UsageError::Differs(error)),
                other => fail(&other),
            }
        }
    }
}

fn say(args: &Args, found: &Experiment) -> Exit {
    let text = match (args.json, args.plan) {
        (true, _) => format!("{:#}\n", found.json()),
        (false, true) => found.plan_text(terminal()),
        (false, false) => found.text(terminal()),
    };
    let nothing = if args.plan { found.plan.is_none() } else { found.verdicts.is_empty() };
    match print(&text) {
        Exit::Done if nothing => Exit::Failed,
        printed => printed,
    }
}

/// Refuses what a run of the file refuses, without starting anything.
///
/// # Errors
/// The exit code; the reason has been said.
pub fn check(file: &Path) -> Result<(), Exit> {
    plan::check(file).map_err(|error| refuse(&error))
}

fn refuse(error: &UsageError) -> Exit {
    match error {
        UsageError::File(problems) => output::refuse(problems),
        UsageError::Load(error) => load::refuse(error),
        other => complain(other, Exit::Usage),
    }
}

const EXAMPLES: &str = "\
Examples:
  What is compared, and how, is in the file:
      headroom experiment examples/experiment.yaml
  Which effect can be found in three minutes?
      headroom experiment examples/experiment.yaml --plan --time 3m
  What do the mirrors of a running gateway cost?
      headroom experiment examples/mirroring.yaml
  For a script:
      headroom experiment examples/experiment.yaml --json > verdicts.json

Exit codes:
  0   there are verdicts, whatever they say
  1   nothing could be compared
  2   wrong usage, or an experiment that is refused";
