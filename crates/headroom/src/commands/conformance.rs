//! `headroom conformance`: what others' autoscalers answer, run through ours.
//!
//! The crate `conformance` runs the cases and `documents` has the result; files are opened here.

use crate::exit::Exit;
use crate::output;
use conformance::Error;
use documents::conformance::{CheckedFile, Conformance};
use std::io;
use std::path::{Path, PathBuf};

/// Check the autoscalers against published decisions
///
/// Each case is printed on one line. The file formats are those of tests/conformance: CloudWatch's treatment of missing
/// data, the examples in AWS's scaling guides, and others. Exit code 0: all cases match; 99: a case does not match; 2:
/// a file cannot be read or has an unknown format.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Files with cases; - for standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Print as JSON: each case with the expected and the actual decision; the schema is
    /// schemas/conformance.schema.json
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  headroom conformance crates/headroom/tests/conformance/*.json
  headroom conformance --json my-cases.json |
      jq '.files[].cases[] | select(.match | not)'";

/// Runs every case of every file.
pub fn run(args: &Args) -> Exit {
    let (mut checked, mut wrong) = (Vec::new(), String::new());
    for path in &args.files {
        match check(path) {
            Ok(file) => checked.push(file),
            Err(message) => wrong.push_str(&message),
        }
    }
    if !wrong.is_empty() {
        output::say(&wrong);
        return Exit::Usage;
    }
    let found = Conformance { files: checked };
    let printed = output::print(&if args.json { format!("{:#}\n", found.json()) } else { found.text() });
    if printed == Exit::Done && !found.matches() { Exit::Missed } else { printed }
}

/// A file's cases, run; or what is wrong with it, in lines.
fn check(path: &Path) -> Result<CheckedFile, String> {
    let file = path.display().to_string();
    let text = if file == "-" { io::read_to_string(io::stdin()) } else { std::fs::read_to_string(path) };
    let text = text.map_err(|error| format!("error: cannot read {file}: {error}\n"))?;
    match conformance::check(&text) {
        Ok(conformance::Checked { format, cases }) => Ok(CheckedFile { file, format, cases }),
        Err(error) => Err(message(&file, &error)),
    }
}

/// What is wrong with a file, in lines.
fn message(file: &str, error: &Error) -> String {
    match error {
        Error::NoJson(error) => format!("error: {file} is not JSON: {error}\n"),
        Error::UnknownFormat => {
            let known: String = conformance::formats().map(|name| format!("  {name}\n")).collect();
            format!("error: {file} has no format that is known; known are the cases of\n{known}")
        }
        Error::Cases(problems) => {
            problems.iter().map(|problem| format!("error: {file}: {problem}\n")).collect()
        }
        Error::Empty => format!("error: {file} has no cases, so nothing would be checked\n"),
    }
}
