//! The `headroom` command: wiring, nothing else. Each command has a file in `commands`.

mod commands;

use clap::{CommandFactory, Parser};

/// Find what a web service can carry, keep it standing at that limit, and carry the same traffic with fewer servers.
#[derive(Debug, Parser)]
#[command(name = "headroom", version, max_term_width = 100)]
struct Args {}

fn main() -> std::io::Result<()> {
    Args::parse();
    Args::command().print_help()
}
