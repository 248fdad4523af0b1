//! `headroom conformance`: what others' autoscalers answer, run through ours.
//!
//! A format is recognised by what is in the file, never by its name, and a file that no format fits is an error: what
//! was not understood was not checked. Each format reads its cases, asks `control`, and gives what was expected beside
//! what was found; [`FORMATS`] lists them.

mod aws_scaling;
mod hpa;
mod knative;
mod missing_data;
mod reading;

use crate::exit::Exit;
use crate::output;
use reading::Problem;
use serde_json::{Value, json};
use std::fmt::Write;
use std::io;
use std::path::{Path, PathBuf};

/// Run files of published autoscaler decisions through headroom's own, one line a case
///
/// The formats are those of tests/conformance: CloudWatch's treatment of missing data, the examples of AWS's scaling
/// guides, and others' likewise. Exit code 0: all cases match; 99: one does not; 2: a file cannot be read, or has no
/// known format.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Files of cases; - for standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// As JSON: each case with what was expected and what was found; the schema is schemas/conformance.schema.json
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  headroom conformance crates/headroom/tests/conformance/*.json
  headroom conformance --json my-cases.json | jq '.files[].cases[] | select(.match | not)'";

/// A kind of file.
struct Format {
    /// What it is of.
    name: &'static str,
    /// Whether a file is one.
    fits: fn(&Value) -> bool,
    /// Its cases, run.
    run: fn(&Value) -> Result<Vec<CaseResult>, Vec<Problem>>,
}

/// All that are known, the first that fits counts.
const FORMATS: &[Format] = &[
    Format { name: "CloudWatch alarms with missing data", fits: missing_data::fits, run: missing_data::run },
    Format { name: "AWS scaling policies", fits: aws_scaling::fits, run: aws_scaling::run },
    Format { name: "Kubernetes replica calculator", fits: hpa::calculator::fits, run: hpa::calculator::run },
    Format { name: "Kubernetes scaling behaviors", fits: hpa::behaviors::fits, run: hpa::behaviors::run },
    Format { name: "Knative pod autoscaler", fits: knative::fits, run: knative::run },
];

/// What came of one case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaseResult {
    /// What it is about, in a line.
    pub name: String,
    /// What the file says.
    pub expected: String,
    /// What `control` says, in the same words where it is the same.
    pub found: String,
}

impl CaseResult {
    /// Whether it is what was expected.
    pub fn matches(&self) -> bool {
        self.expected == self.found
    }
}

struct Checked {
    file: String,
    format: &'static str,
    cases: Vec<CaseResult>,
}

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
        eprint!("{wrong}");
        return Exit::Usage;
    }
    let printed = output::print(&if args.json { as_json(&checked) } else { as_text(&checked) });
    let missed = checked.iter().flat_map(|file| &file.cases).any(|case| !case.matches());
    if missed && printed == Exit::Done { Exit::Missed } else { printed }
}

/// A file's cases, run; or what is wrong with it, in lines.
fn check(path: &Path) -> Result<Checked, String> {
    let file = path.display().to_string();
    let text = if file == "-" { io::read_to_string(io::stdin()) } else { std::fs::read_to_string(path) };
    let text = text.map_err(|error| format!("error: cannot read {file}: {error}\n"))?;
    let value: Value =
        serde_json::from_str(&text).map_err(|error| format!("error: {file} is no JSON: {error}\n"))?;
    let format = FORMATS.iter().find(|format| (format.fits)(&value)).ok_or_else(|| {
        let known: String = FORMATS.iter().map(|format| format!("  {}\n", format.name)).collect();
        format!("error: {file} has no format that is known; known are the cases of\n{known}")
    })?;
    let cases = (format.run)(&value).map_err(|problems| {
        problems.iter().map(|problem| format!("error: {file}: {problem}\n")).collect::<String>()
    })?;
    if cases.is_empty() {
        return Err(format!("error: {file} has no cases, so nothing would be checked\n"));
    }
    Ok(Checked { file, format: format.name, cases })
}

fn as_text(checked: &[Checked]) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    for file in checked {
        let _ = writeln!(text, "{}: {}", file.file, file.format);
        for case in &file.cases {
            let CaseResult { name, expected, found } = case;
            let _ = match case.matches() {
                true => writeln!(text, "  ok    {name}: {found}"),
                false => writeln!(text, "  MISS  {name}: expected {expected}, found {found}"),
            };
        }
    }
    let (matched, total) = totals(checked);
    let plural = |count: usize| if count == 1 { "" } else { "s" };
    let files = checked.len();
    let _ =
        writeln!(text, "{matched} of {total} case{} match, in {files} file{}", plural(total), plural(files));
    text
}

fn as_json(checked: &[Checked]) -> String {
    let files = checked.iter().map(|file| {
        let cases = file.cases.iter().map(|case| {
            json!({
                "case": case.name,
                "expected": case.expected,
                "found": case.found,
                "match": case.matches(),
            })
        });
        json!({ "file": file.file, "format": file.format, "cases": cases.collect::<Value>() })
    });
    let (matched, total) = totals(checked);
    let all = json!({ "files": files.collect::<Value>(), "total": total, "matched": matched });
    format!("{all:#}\n")
}

/// How many cases match, of how many.
fn totals(checked: &[Checked]) -> (usize, usize) {
    let cases = || checked.iter().flat_map(|file| &file.cases);
    (cases().filter(|case| case.matches()).count(), cases().count())
}

#[cfg(test)]
mod tests;
