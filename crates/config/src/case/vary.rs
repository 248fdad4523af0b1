//! Variants of a stage: its tree with other values at some keys, and the same as a stage of the file.
//!
//! ## Why through the tree
//! A variant is read and checked like a file that a user wrote, so no value is tried that a file cannot have, and what
//! was tried can be written back as the changes of a stage.

use super::build::{build, traffic};
use super::file::CaseTable;
use super::tree::{Absent, at, key_of, set};
use super::{Case, Given};
use fields::{Problem, Report};
use sim::settings::System;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use yaml::{Key, Kind, Node};

/// A new value of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// The keys from the top of the file; `[2]` is the third item of a list.
    pub path: Vec<String>,
    /// The value as YAML; none removes the key.
    pub value: Option<String>,
}

/// What variants are made of: the stages as trees, and what their files said.
#[derive(Debug, Clone)]
pub struct Template {
    file: String,
    text: String,
    folder: PathBuf,
    given: Given,
    stages: Vec<(String, Node, traffic::Found)>,
}

/// A stage that cannot be added to the text of a file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`stages` of {file} is not a list with an item on each line; add this stage by hand:\n{stage}")]
pub struct NotWritten {
    /// The file.
    pub file: String,
    /// The stage, as YAML.
    pub stage: String,
}

impl Edit {
    /// The path as messages show it: `services.web.scaling.min`.
    pub fn key(&self) -> String {
        key_of(&self.path)
    }
}

impl Template {
    pub(super) fn new(file: &str, text: &str, folder: &Path, given: Given) -> Self {
        let (file, text) = (file.to_owned(), text.to_owned());
        Template { file, text, folder: folder.to_owned(), given, stages: Vec::new() }
    }

    pub(super) fn add(&mut self, name: &str, tree: &Node, found: traffic::Found) {
        self.stages.push((name.to_owned(), tree.clone(), found));
    }

    pub(super) fn remove_first(&mut self) {
        self.stages.drain(..self.stages.len().min(1));
    }
}

impl Case {
    /// The file that it was read from.
    pub fn file(&self) -> &str {
        &self.template.file
    }

    /// The tree of a stage.
    pub(super) fn tree(&self, stage: usize) -> &Node {
        &self.template.stages[stage].1
    }

    /// The system of a stage with other values at some keys, under the traffic of the stage: edits of `traffic` have no
    /// effect.
    ///
    /// # Errors
    /// The problems of the file that it would be, a line each.
    pub fn varied(&self, stage: usize, edits: &[Edit]) -> Result<System, Vec<String>> {
        let Template { file, folder, given, stages, .. } = &self.template;
        let tree = edited(&stages[stage].1, edits);
        let mut report = Report::new(file, "");
        let table = <CaseTable as fields::Read>::read(&tree, "", &mut report);
        let built = table.and_then(|table| {
            let known = Some(&stages[stage].2);
            build(&tree, &table, &mut report, folder, given.clone(), self.calibration(), known)
        });
        match built {
            Some(built) if report.problems.is_empty() => Ok(built.system),
            _ => Err(report.problems.iter().map(said).collect()),
        }
    }

    /// The text of the file with another stage: `stage` with the edits. The text is kept as it is.
    ///
    /// # Errors
    /// `stages` is written on one line.
    pub fn with_stage(
        &self,
        stage: usize,
        name: &str,
        about: &str,
        edits: &[Edit],
    ) -> Result<String, NotWritten> {
        let added = self.stage_text(stage, name, about, edits);
        let Template { file, text, folder, given, stages } = &self.template;
        let mut lines: Vec<&str> = text.lines().collect();
        let begins = lines.iter().position(|line| line.starts_with("stages:"));
        let (end, indent, head) = match begins {
            None => (lines.len(), 2, format!("\nstages:\n  - name: {}\n", stages[stage].0)),
            Some(begins) => {
                let is_of_it = |line: &&str| line.is_empty() || line.starts_with([' ', '-', '#']);
                let mut end =
                    begins + 1 + lines[begins + 1..].iter().take_while(|line| is_of_it(line)).count();
                while end > begins + 1
                    && (lines[end - 1].trim().is_empty() || lines[end - 1].starts_with('#'))
                {
                    end -= 1;
                }
                let item = lines[begins + 1..end].iter().find(|line| line.trim_start().starts_with('-'));
                (end, item.map_or(2, |line| line.len() - line.trim_start().len()), "\n".to_owned())
            }
        };
        let margin = " ".repeat(indent);
        let lined = |text: &str| -> String {
            text.lines()
                .map(|line| if line.is_empty() { "\n".to_owned() } else { format!("{margin}{line}\n") })
                .collect()
        };
        let added = format!("{head}{}", lined(&added));
        let rest = lines.split_off(end);
        let mut whole = lines.join("\n") + "\n" + &added;
        if !rest.is_empty() {
            whole += &(rest.join("\n") + "\n");
        }
        match super::parse(file, &whole, folder, given.clone()) {
            Ok(_) => Ok(whole),
            Err(_) => Err(NotWritten {
                file: file.clone(),
                stage: lined(&self.stage_text(stage, name, about, edits)),
            }),
        }
    }

    /// A name for a new stage that no other stage has.
    pub fn new_stage_name(&self, wanted: &str) -> String {
        let numbered = (2..).map(|number| format!("{wanted}-{number}"));
        let is_free = |name: &String| self.stages.iter().all(|stage| stage.name != *name);
        std::iter::once(wanted.to_owned()).chain(numbered).find(is_free).unwrap_or_default()
    }

    /// A stage as an item of `stages`.
    pub fn stage_text(&self, stage: usize, name: &str, about: &str, edits: &[Edit]) -> String {
        let (before, tree, _) = &self.template.stages[stage];
        let after = edited(tree, edits);
        let mut text =
            format!("- name: {name}\n  about: {}\n  after: {before}\n", crate::write::quoted(about));
        if let Some(changes) = difference(tree, &after) {
            text += "  changes:\n";
            write_table(&changes, 4, &mut text);
        }
        text
    }
}

fn said(problem: &Problem) -> String {
    format!("{}: {}", problem.path, problem.message)
}

/// A tree with other values.
pub(super) fn edited(tree: &Node, edits: &[Edit]) -> Node {
    let mut tree = tree.clone();
    for edit in edits {
        let value = edit.value.as_deref().and_then(|text| yaml::tree(text).ok());
        // A list has no such item: the variant is that of the other edits.
        let _ = set(&mut tree, &edit.path, value, Absent::Added);
    }
    tree
}

/// What has to be merged into the first tree to get the second; none if they are equal.
fn difference(before: &Node, after: &Node) -> Option<Node> {
    if flow(before) == flow(after) {
        return None;
    }
    let (Kind::Table(old), Kind::Table(new)) = (&before.kind, &after.kind) else {
        return Some(after.clone());
    };
    let found = |entries: &[(Key, Node)], name: &str| entries.iter().position(|(key, _)| key.name == name);
    let mut entries = Vec::new();
    for (key, value) in old {
        match found(new, &key.name) {
            None => entries.push((key.clone(), Node { kind: Kind::Empty, span: 0..0, inferred: false })),
            Some(place) => {
                entries.extend(difference(value, &new[place].1).map(|value| (key.clone(), value)));
            }
        }
    }
    let added = new.iter().filter(|(key, _)| found(old, &key.name).is_none());
    entries.extend(added.cloned());
    Some(Node { kind: Kind::Table(entries), span: 0..0, inferred: false })
}

/// A table with a key on each line; tables without tables are written on one line.
fn write_table(node: &Node, indent: usize, text: &mut String) {
    let Kind::Table(entries) = &node.kind else { return };
    for (key, value) in entries {
        let is_deep =
            |entries: &[(Key, Node)]| entries.iter().any(|(_, value)| matches!(value.kind, Kind::Table(_)));
        // Writing to a string cannot fail.
        let _ = write!(text, "{:indent$}{}:", "", key.name);
        match &value.kind {
            Kind::Table(inner) if is_deep(inner) => {
                text.push('\n');
                write_table(value, indent + 2, text);
            }
            _ => {
                let _ = writeln!(text, " {}", flow(value));
            }
        }
    }
}

/// The value of a key of a tree with other values, as YAML on one line.
pub(super) fn value_of(tree: &Node, edits: &[Edit], path: &[String]) -> Option<String> {
    at(&edited(tree, edits), path).map(flow)
}

/// A value as YAML on one line.
pub(super) fn flow(node: &Node) -> String {
    match &node.kind {
        Kind::Empty => "~".to_owned(),
        Kind::Scalar(text) if node.inferred || is_plain(text) => text.clone(),
        Kind::Scalar(text) => crate::write::quoted(text),
        Kind::List(items) => format!("[{}]", items.iter().map(flow).collect::<Vec<_>>().join(", ")),
        Kind::Table(entries) if entries.is_empty() => "{}".to_owned(),
        Kind::Table(entries) => {
            let entry = |(key, value): &(Key, Node)| format!("{}: {}", key.name, flow(value));
            format!("{{ {} }}", entries.iter().map(entry).collect::<Vec<_>>().join(", "))
        }
    }
}

/// Whether YAML reads it as text without quotation marks: `60%`, `lognormal 3ms cv 1`.
fn is_plain(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphanumeric() || "+-=".contains(c))
        && text.len() > 1
        && text.chars().all(|c| c.is_ascii_alphanumeric() || " %+-=._/".contains(c))
        && text.parse::<f64>().is_err()
        && !["true", "false", "yes", "no", "on", "off", "null"].contains(&text.to_lowercase().as_str())
        && !text.ends_with(' ')
        && !text.starts_with("- ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::parse;

    const CASE: &str = "\
case: shop
traffic: { rate: 5/s }
services:
  web:
    endpoints: { page: { cpu: 10ms } }
    server: { threads: 4 } # four
    hosts: { c5.large: { cores: 2 } }
    scaling:
      min: 2
      max: 9
      alarms: { high: { metric: cpu, above: 60%, period: 5m }, low: { metric: cpu, below: 20% } }
      policies:
        out: { alarms: [high], steps: [{ from: 0%, to: 10%, change: +1 }, { from: 10%, change: +2 }] }
        in: { alarms: [low], change: -1 }
";

    fn case(text: &str) -> Case {
        parse("shop.yaml", text, Path::new(""), Given::default())
            .unwrap_or_else(|problems| panic!("{problems}"))
    }

    fn edit(path: &str, value: Option<&str>) -> Edit {
        Edit { path: path.split(' ').map(str::to_owned).collect(), value: value.map(str::to_owned) }
    }

    #[test]
    fn a_variant_is_the_stage_that_is_written_from_it() {
        let edits = [
            edit("services web scaling min", Some("3")),
            edit("services web scaling alarms high above", Some("55%")),
            edit("services web scaling alarms high period", None),
            edit("services web scaling policies out steps [1] change", Some("+4")),
            edit("services web hosts c5.large speed", Some("1.5")),
        ];
        for text in [
            CASE.to_owned(),
            format!("{CASE}stages:\n- name: now\n  changes: {{ seed: 3 }}\n# end\nseed: 2\n"),
        ] {
            let case = case(&text);
            let varied = case.varied(0, &edits).unwrap();
            let written = case.with_stage(0, "tuned", "made: by hand", &edits).unwrap();
            assert!(written.starts_with(&text[..CASE.len()]), "{written}");
            let again = self::case(&written);
            let tuned = again.stages.iter().find(|stage| stage.name == "tuned").unwrap();
            assert_eq!(format!("{:?}", tuned.system), format!("{varied:?}"), "{written}");
            assert_eq!(tuned.about, "made: by hand");
            assert_eq!(again.stages[0].name, "now");
        }
    }

    #[test]
    fn only_what_differs_is_written() {
        let edits =
            [edit("services web scaling min", Some("3")), edit("services web scaling max", Some("9"))];
        let text = case(CASE).stage_text(0, "tuned", "x", &edits);
        assert_eq!(
            text,
            "- name: tuned\n  about: x\n  after: now\n  changes:\n    services:\n      web:\n        scaling: { min: 3 }\n"
        );
    }

    #[test]
    fn values_that_a_file_cannot_have_are_refused() {
        let edits = [edit("services web scaling min", Some("12"))];
        let problems = case(CASE).varied(0, &edits).unwrap_err();
        assert!(problems[0].contains("min"), "{problems:?}");
    }

    #[test]
    fn stages_on_one_line_are_left_to_the_user() {
        let case = case(&format!("{CASE}stages: [{{ name: now }}]\n"));
        let edits = [edit("services web scaling min", Some("3"))];
        let error = case.with_stage(0, "tuned", "x", &edits).unwrap_err();
        assert!(error.to_string().contains("name: tuned"), "{error}");
    }
}
