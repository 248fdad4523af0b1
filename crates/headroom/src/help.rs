//! The command line as people see it: commands in groups, `-h` on one screen, examples first.
//!
//! Help texts stand beside the arguments. Here is what holds for all of them: `-h` shows the first example and the options
//! that most readers need, `--help` everything.

use crate::Args;
use clap::{Command, CommandFactory};

/// The whole command line.
pub fn command() -> Command {
    let command = Args::command().mut_subcommands(on_one_screen);
    let groups = groups(&command);
    command
        .help_template(format!("{{about}}\n\n{{usage-heading}} {{usage}}\n{groups}\nOptions:\n{{options}}"))
}

/// The commands in their groups, a line each.
fn groups(command: &Command) -> String {
    let about = |name: &str| {
        let command = command.get_subcommands().find(|command| command.get_name() == name);
        // clap adds `help` later.
        let usual = || "Print the help of a command".to_owned();
        command.and_then(Command::get_about).map_or_else(usual, ToString::to_string)
    };
    let mut text = String::new();
    for (group, names) in GROUPS {
        text += &format!("\n{group}:\n");
        for name in names {
            text += &format!("  {name:<15} {}\n", about(name));
        }
    }
    text
}

/// The same command with a short `-h`.
fn on_one_screen(command: Command) -> Command {
    let Some(whole) = command.get_after_help().map(ToString::to_string) else { return command };
    let example = first_example(&whole);
    let command = command.mut_args(|arg| {
        let heading = arg.get_help_heading().is_some_and(|heading| RARE_GROUPS.contains(&heading));
        let option = arg.get_long().is_some_and(|long| RARE.contains(&long));
        if heading || option { arg.hide_short_help(true) } else { arg }
    });
    let command =
        if example.is_empty() { command } else { command.before_help(format!("Example:\n{example}")) };
    command.after_help("Use --help for all options and more examples.").after_long_help(whole)
}

/// The first command line among examples, with the lines that it goes on in.
fn first_example(examples: &str) -> String {
    let lines = examples.lines().skip_while(|line| !is_command(line));
    let mut text = String::new();
    for line in lines {
        text += line;
        if !line.ends_with(['\\', '|']) {
            break;
        }
        text.push('\n');
    }
    text
}

fn is_command(line: &str) -> bool {
    line.starts_with("  ") && line.contains("headroom ") && !line.ends_with(':')
}

/// The commands by what they are for.
const GROUPS: [(&str, &[&str]); 5] = [
    (
        "Measure",
        &["load", "find", "doctor", "agent", "replay", "compare", "experiment", "squeeze", "fidelity"],
    ),
    ("Protect", &["gateway", "top", "explain"]),
    (
        "Scale",
        &["calibrate", "simulate", "plan", "tune", "forecast", "lint", "scale", "import", "conformance"],
    ),
    ("Results", &["runs", "show", "log", "bisect", "note", "ledger"]),
    ("Other", &["demo", "sample-service", "config", "completions", "man", "help"]),
];
/// Groups of options that `-h` leaves out.
const RARE_GROUPS: [&str; 5] = ["Connections", "TLS", "Safety", "Watching", "Capture"];
/// Options that `-h` leaves out.
const RARE: [&str; 23] = [
    "arrival-header",
    "bad-lines",
    "delay-abort",
    "emit-to",
    "force",
    "format",
    "hgrm",
    "hlog",
    "ledger",
    "log-format",
    "markdown",
    "max-rate",
    "plain",
    "prove-overload",
    "seed",
    "timeout",
    "request-log",
    "trace-bin",
    "trace-scale",
    "trace-speed",
    "unsafe-methods",
    "user-header",
    "workers",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_in_one_group() {
        let mut command = command();
        command.build();
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        let mut all: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
        grouped.sort_unstable();
        all.sort_unstable();
        assert_eq!(grouped, all);
    }

    #[test]
    fn rare_options_are_options() {
        let command = command();
        for rare in RARE {
            let known = |command: &Command| command.get_arguments().any(|arg| arg.get_long() == Some(rare));
            assert!(command.get_subcommands().any(known), "--{rare}");
        }
    }

    #[test]
    fn an_example_is_a_whole_command() {
        let text = "Examples:\n  With a pipe, such as `headroom load`:\n      headroom load URL \\\n          --json |\n          jq .\n  Next:\n";
        assert_eq!(first_example(text), "      headroom load URL \\\n          --json |\n          jq .");
    }
}
