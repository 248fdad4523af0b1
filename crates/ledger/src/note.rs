//! What people and commands say about a run.

use crate::RunId;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt;

/// A statement about a run. A later one of the same kind (and of the same key, for tags) takes the place of an earlier one;
/// comments add up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Note {
    /// A name for it, by which commands find it. Given to another run, it moves there.
    Name(Name),
    /// A tag; without a value it is taken away.
    Tag {
        /// Its key.
        key: String,
        /// Its value.
        value: Option<String>,
    },
    /// A comment.
    Comment(String),
    /// What it should show, said before or after it.
    Hypothesis(String),
    /// What differs from the run that it is compared with.
    Change(Change),
    /// What limited it.
    Bottleneck(String),
    /// What follows from it.
    Decision(String),
    /// What it says, as an experiment, of something that was found before.
    Tested(Tested),
    /// Its data was deleted, for this reason.
    Deleted(String),
}

/// What an experiment says of a finding. The entry belongs to the experiment, and refers to the earlier run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tested {
    /// The code of the finding.
    pub finding: String,
    /// `confirmed`, `refuted` or `open`.
    pub outcome: String,
    /// The run in which it was found; `None` if it was not found in a run of this ledger.
    pub run: Option<RunId>,
}

/// A change of one variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// What was changed.
    pub variable: String,
    /// Its value before.
    pub before: String,
    /// Its value now.
    pub after: String,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} -> {}", self.variable, self.before, self.after)
    }
}

impl std::str::FromStr for Change {
    type Err = String;

    /// Reads `VARIABLE: BEFORE -> AFTER`.
    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || {
            format!("`{text}` is no change: expected VARIABLE: BEFORE -> AFTER, such as `threads: 5 -> 16`")
        };
        let (variable, values) = text.split_once(':').ok_or_else(expected)?;
        let (before, after) = values.split_once("->").ok_or_else(expected)?;
        let [variable, before, after] = [variable, before, after].map(|part| part.trim().to_owned());
        if variable.is_empty() || before.is_empty() || after.is_empty() {
            return Err(expected());
        }
        Ok(Change { variable, before, after })
    }
}

/// A name of a run: letters, digits, `-`, `_` and `.`; it does not begin as a run's number such as `r17`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name(String);

impl Name {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl std::str::FromStr for Name {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let may_stand = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if text.is_empty() || text.len() > LONGEST || !text.chars().all(may_stand) {
            return Err(format!(
                "`{text}` is no name: expected at most {LONGEST} letters, digits, `-`, `_` and `.`"
            ));
        }
        let number = text.trim_start_matches(['r', 'R']);
        if number.starts_with(|c: char| c.is_ascii_digit()) {
            return Err(format!("`{text}` begins as the number of a run; a name begins otherwise"));
        }
        Ok(Name(text.to_owned()))
    }
}

impl Note {
    /// Its kind, its subject and its content, as columns.
    pub(crate) fn columns(&self) -> (&'static str, String, String) {
        let plain = |kind, text: &String| (kind, String::new(), text.clone());
        match self {
            Note::Name(name) => (NAME, name.to_string(), String::new()),
            Note::Tag { key, value } => (TAG, key.clone(), json!(value).to_string()),
            Note::Comment(text) => plain(COMMENT, text),
            Note::Hypothesis(text) => plain(HYPOTHESIS, text),
            Note::Change(change) => {
                (CHANGE, change.variable.clone(), json!([change.before, change.after]).to_string())
            }
            Note::Bottleneck(text) => plain(BOTTLENECK, text),
            Note::Decision(text) => plain(DECISION, text),
            Note::Tested(Tested { finding, outcome, run }) => {
                let run = run.map_or(String::new(), |run| run.to_string());
                (TESTED, run, json!([finding, outcome]).to_string())
            }
            Note::Deleted(reason) => plain(crate::entry::DELETED, reason),
        }
    }

    /// None for the kinds of entries that are no statement.
    pub(crate) fn of_columns(kind: &str, about: &str, content: &str) -> Option<Self> {
        let text = || content.to_owned();
        let pair = || {
            let values: Value = serde_json::from_str(content).unwrap_or_default();
            [0, 1].map(|place| values[place].as_str().unwrap_or_default().to_owned())
        };
        match kind {
            NAME => Some(Note::Name(Name(about.to_owned()))),
            TAG => {
                let value = serde_json::from_str(content).unwrap_or(None);
                Some(Note::Tag { key: about.to_owned(), value })
            }
            COMMENT => Some(Note::Comment(text())),
            HYPOTHESIS => Some(Note::Hypothesis(text())),
            CHANGE => {
                let [before, after] = pair();
                Some(Note::Change(Change { variable: about.to_owned(), before, after }))
            }
            TESTED => {
                let [finding, outcome] = pair();
                Some(Note::Tested(Tested { finding, outcome, run: about.parse().ok() }))
            }
            BOTTLENECK => Some(Note::Bottleneck(text())),
            DECISION => Some(Note::Decision(text())),
            crate::entry::DELETED => Some(Note::Deleted(text())),
            _ => None,
        }
    }
}

/// All that was said about a run, as it holds now.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Notes {
    /// Its name.
    pub name: Option<Name>,
    /// Its tags.
    pub tags: BTreeMap<String, String>,
    /// Comments, in order.
    pub comments: Vec<String>,
    /// What it should show.
    pub hypothesis: Option<String>,
    /// What differs from the run that it is compared with.
    pub change: Option<Change>,
    /// What limited it.
    pub bottleneck: Option<String>,
    /// What follows from it.
    pub decision: Option<String>,
    /// What it says of earlier findings, as an experiment.
    pub tested: Vec<Tested>,
    /// What later experiments say of its findings, in order.
    pub tested_by: Vec<(RunId, Tested)>,
    /// Why its data was deleted.
    pub deleted: Option<String>,
}

impl Notes {
    /// Adds a later note.
    pub(crate) fn add(&mut self, note: Note) {
        match note {
            Note::Name(name) => self.name = Some(name),
            Note::Tag { key, value: Some(value) } => {
                self.tags.insert(key, value);
            }
            Note::Tag { key, value: None } => {
                self.tags.remove(&key);
            }
            Note::Comment(text) => self.comments.push(text),
            Note::Hypothesis(text) => self.hypothesis = Some(text),
            Note::Change(change) => self.change = Some(change),
            Note::Bottleneck(text) => self.bottleneck = Some(text),
            Note::Decision(text) => self.decision = Some(text),
            Note::Tested(tested) => self.tested.push(tested),
            Note::Deleted(reason) => self.deleted = Some(reason),
        }
    }
}

pub(crate) const NAME: &str = "name";
pub(crate) const TAG: &str = "tag";
const COMMENT: &str = "comment";
const HYPOTHESIS: &str = "hypothesis";
const CHANGE: &str = "change";
const BOTTLENECK: &str = "bottleneck";
const DECISION: &str = "decision";
pub(crate) const TESTED: &str = "tested";

/// The length of the longest name.
const LONGEST: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_read_as_it_is_shown() {
        let change: Change = "threads: 5 -> 16".parse().unwrap();
        assert_eq!(change.to_string(), "threads: 5 -> 16");
        for text in ["", "threads", "threads: 5", ": 5 -> 6", "threads: -> 6", "threads: 5 ->"] {
            assert!(text.parse::<Change>().unwrap_err().contains("VARIABLE: BEFORE -> AFTER"), "{text}");
        }
    }

    #[test]
    fn a_name_is_no_number_of_a_run() {
        assert_eq!("after-16.threads".parse::<Name>().unwrap().as_str(), "after-16.threads");
        for text in ["", "r17", "17", "r1-r5", "two words", "ü", &"x".repeat(65)] {
            assert!(text.parse::<Name>().is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_noted_is_read() {
        let tested =
            |run| Note::Tested(Tested { finding: "workers".to_owned(), outcome: "open".to_owned(), run });
        let notes = [
            Note::Name("base".parse().unwrap()),
            Note::Tag { key: "team".to_owned(), value: Some("a \"b\"".to_owned()) },
            Note::Tag { key: "team".to_owned(), value: None },
            Note::Comment("c".to_owned()),
            Note::Hypothesis("h".to_owned()),
            Note::Change("threads: 5 -> 16".parse().unwrap()),
            Note::Bottleneck("b".to_owned()),
            Note::Decision("d".to_owned()),
            tested(Some(RunId::new(5))),
            tested(None),
            Note::Deleted("r".to_owned()),
        ];
        for note in notes {
            let (kind, about, content) = note.columns();
            assert_eq!(Note::of_columns(kind, &about, &content).as_ref(), Some(&note));
        }
        assert_eq!(Note::of_columns("begun", "", ""), None);
    }
}
