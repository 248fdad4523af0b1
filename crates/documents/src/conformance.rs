//! What `headroom conformance` found: each case with the expected and the actual decision, in words and as JSON.

use crate::words::counted;
use conformance::CaseResult;
use serde::Serialize;
use serde_json::Value as Json;

/// The JSON Schema of the result.
pub const SCHEMA: &str = include_str!("../schemas/conformance.schema.json");

/// The files that were checked.
#[derive(Debug)]
pub struct Conformance {
    /// In the order in which they were given.
    pub files: Vec<CheckedFile>,
}

/// A file, its cases run.
#[derive(Debug)]
pub struct CheckedFile {
    /// Its path as it was given.
    pub file: String,
    /// The name of its format.
    pub format: &'static str,
    /// Its cases, at least one.
    pub cases: Vec<CaseResult>,
}

#[derive(Debug, Serialize)]
struct Document<'a> {
    files: Vec<FileDocument<'a>>,
    total: usize,
    matched: usize,
}

#[derive(Debug, Serialize)]
struct FileDocument<'a> {
    file: &'a str,
    format: &'a str,
    cases: Vec<CaseDocument<'a>>,
}

#[derive(Debug, Serialize)]
struct CaseDocument<'a> {
    case: &'a str,
    expected: &'a str,
    found: &'a str,
    r#match: bool,
}

impl Conformance {
    /// Whether all cases match.
    pub fn matches(&self) -> bool {
        self.cases().all(CaseResult::matches)
    }

    /// A line for each case, and the totals.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for CheckedFile { file, format, cases } in &self.files {
            text += &format!("{file}: {format}\n");
            for CaseResult { name, expected, found } in cases {
                text += &match expected == found {
                    true => format!("  ok    {name}: {found}\n"),
                    false => format!("  MISS  {name}: expected {expected}, found {found}\n"),
                };
            }
        }
        let cases = counted(self.cases().count() as u64, "case");
        let files = counted(self.files.len() as u64, "file");
        text + &format!("{} of {cases} match, in {files}\n", self.matched())
    }

    /// The result as JSON.
    pub fn json(&self) -> Json {
        let document = Document {
            files: self.files.iter().map(FileDocument::of).collect(),
            total: self.cases().count(),
            matched: self.matched(),
        };
        serde_json::to_value(document).expect("names are strings")
    }

    fn cases(&self) -> impl Iterator<Item = &CaseResult> {
        self.files.iter().flat_map(|file| &file.cases)
    }

    fn matched(&self) -> usize {
        self.cases().filter(|case| case.matches()).count()
    }
}

impl<'a> FileDocument<'a> {
    fn of(checked: &'a CheckedFile) -> Self {
        let case = |case: &'a CaseResult| CaseDocument {
            case: &case.name,
            expected: &case.expected,
            found: &case.found,
            r#match: case.matches(),
        };
        FileDocument {
            file: &checked.file,
            format: checked.format,
            cases: checked.cases.iter().map(case).collect(),
        }
    }
}
