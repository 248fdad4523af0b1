//! `headroom completions`: what a shell needs to complete commands, options and values.

use crate::exit::Exit;
use crate::{help, output};
use clap_complete::{Shell, generate};

/// Print completions for a shell
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Shell
    shell: Shell,
}

/// Prints them.
pub fn run(args: &Args) -> Exit {
    let mut text = Vec::new();
    generate(args.shell, &mut help::command(), "headroom", &mut text);
    output::print(&String::from_utf8_lossy(&text))
}

const EXAMPLES: &str = "\
Examples:
  headroom completions bash > /etc/bash_completion.d/headroom
  headroom completions zsh > ~/.zfunc/_headroom
  headroom completions fish > ~/.config/fish/completions/headroom.fish";
