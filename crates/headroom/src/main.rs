//! The `headroom` command: wiring, nothing else. Each command has a file in `commands`.

// They panic where the stream is closed; `output` does not.
#![deny(clippy::print_stderr, clippy::print_stdout)]

mod admin;
mod commands;
mod connect;
mod descriptors;
mod emit;
mod exit;
mod guard;
mod help;
mod inputs;
mod ledger_file;
mod live;
mod next;
mod output;
mod outputs;
mod recorder;
mod remote;
mod request;
mod stored;
mod version;

use clap::{FromArgMatches, Parser, Subcommand};
use commands::*;
use exit::Exit;
use host::output_file;

/// Find the limit of a web service, protect it at that limit, and simulate its autoscaling
#[derive(Debug, Parser)]
#[command(name = "headroom", version = version::SHORT, long_version = version::LONG, max_term_width = 100)]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Demo(demo::Args),
    Load(Box<load::Args>),
    Find(Box<find::Args>),
    Doctor(doctor::Args),
    Agent(agent::Args),
    Calibrate(Box<calibrate::Args>),
    Replay(Box<replay::Args>),
    Simulate(simulate::Args),
    Plan(plan::Args),
    Forecast(forecast::Args),
    Tune(tune::Args),
    Lint(lint::Args),
    Scale(scale::Args),
    Gateway(gateway::Args),
    Top(top::Args),
    Explain(explain::Args),
    Import(import::Args),
    Config(config::Args),
    Completions(completions::Args),
    Man(man::Args),
    Conformance(conformance::Args),
    Runs(runs::Args),
    Log(log::Args),
    Bisect(bisect::Args),
    Show(show::Args),
    Note(note::Args),
    Ledger(ledger::Args),
    Compare(compare::Args),
    Experiment(Box<experiment::Args>),
    Fidelity(fidelity::Args),
    Squeeze(squeeze::Args),
    SampleService(sample_service::Args),
}

fn main() -> Exit {
    status::set_version(version::RECORDED);
    let mut matches = help::command().get_matches();
    let args = Args::from_arg_matches_mut(&mut matches).unwrap_or_else(|error| error.exit());
    match args.command {
        Command::Demo(args) => demo::run(&args),
        Command::Load(args) => load::run(&args),
        Command::Find(args) => find::run(&args),
        Command::Doctor(args) => doctor::run(&args),
        Command::Agent(args) => agent::run(&args),
        Command::Calibrate(args) => calibrate::run(&args),
        Command::Replay(args) => replay::run(&args),
        Command::Simulate(args) => simulate::run(&args),
        Command::Forecast(args) => forecast::run(&args),
        Command::Plan(args) => plan::run(&args),
        Command::Tune(args) => tune::run(&args),
        Command::Lint(args) => lint::run(&args),
        Command::Scale(args) => scale::run(&args),
        Command::Gateway(args) => gateway::run(&args),
        Command::Top(args) => top::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Import(args) => import::run(&args),
        Command::Config(args) => config::run(&args),
        Command::Completions(args) => completions::run(&args),
        Command::Man(args) => man::run(&args),
        Command::Conformance(args) => conformance::run(&args),
        Command::Runs(args) => runs::run(&args),
        Command::Log(args) => log::run(&args),
        Command::Bisect(args) => bisect::run(&args),
        Command::Note(args) => note::run(&args),
        Command::Ledger(args) => ledger::run(&args),
        Command::Show(args) => show::run(&args),
        Command::Compare(args) => compare::run(&args),
        Command::Experiment(args) => experiment::run(&args),
        Command::Fidelity(args) => fidelity::run(&args),
        Command::Squeeze(args) => squeeze::run(&args),
        Command::SampleService(args) => sample_service::run(&args),
    }
}
