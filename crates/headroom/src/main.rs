//! The `headroom` command: wiring, nothing else. Each command has a file in `commands`.

mod commands;
mod exit;

use clap::{Parser, Subcommand};
use commands::sample_service;
use exit::Exit;

/// Find what a web service can carry, keep it standing at that limit, and carry the same traffic with fewer servers.
#[derive(Debug, Parser)]
#[command(name = "headroom", version, max_term_width = 100)]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    SampleService(sample_service::Args),
}

fn main() -> Exit {
    match Args::parse().command {
        Command::SampleService(args) => sample_service::run(&args),
    }
}
