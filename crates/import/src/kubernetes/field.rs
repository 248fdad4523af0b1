//! Reads objects field by field, and reports fields that were not read.

use super::remark::{Cause, KubernetesError, Remark, Spot};
use capture::shown;
use std::cell::RefCell;
use std::ops::Range;
use yaml::{Kind, Node};

/// The remarks and errors.
#[derive(Debug, Default)]
pub(super) struct Report {
    pub(super) errors: Vec<KubernetesError>,
    pub(super) remarks: Vec<Remark>,
}

impl Report {
    pub(super) fn remark(&mut self, spot: &Spot, name: Option<&str>, cause: Cause) {
        self.remarks.push(Remark { spot: spot.clone(), name: name.map(str::to_owned), cause });
    }

    fn wrong(&mut self, field: &Field<'_>, expected: impl Into<String>) {
        let found = field.found();
        self.errors.push(KubernetesError::Field { spot: field.spot(), found, expected: expected.into() });
    }
}

/// A file, its text, and the beginnings of its lines.
#[derive(Debug)]
pub(super) struct Document<'a> {
    file: &'a str,
    text: &'a str,
    lines: Vec<usize>,
}

impl<'a> Document<'a> {
    pub(super) fn new(file: &'a str, text: &'a str) -> Self {
        let after = |(at, _): (usize, &str)| at + 1;
        let lines = std::iter::once(0).chain(text.match_indices('\n').map(after)).collect();
        Document { file, text, lines }
    }

    pub(super) fn spot(&self, span: &Range<usize>, path: &str) -> Spot {
        let line = self.lines.partition_point(|begin| *begin <= span.start);
        let begin = self.lines.get(line.saturating_sub(1)).copied().unwrap_or_default();
        let column = self.text.get(begin..span.start).map_or(0, |before| before.chars().count()) + 1;
        Spot { file: self.file.to_owned(), line, column, path: path.to_owned() }
    }
}

/// A value and its place.
#[derive(Debug, Clone)]
pub(super) struct Field<'a> {
    document: &'a Document<'a>,
    path: String,
    node: &'a Node,
}

impl<'a> Field<'a> {
    pub(super) fn root(document: &'a Document<'a>, node: &'a Node) -> Self {
        Field { document, path: String::new(), node }
    }

    pub(super) fn spot(&self) -> Spot {
        self.document.spot(&self.node.span, &self.path)
    }

    /// What was found here, for a message.
    pub(super) fn found(&self) -> String {
        match &self.node.kind {
            Kind::Scalar(text) => shown(text.as_bytes()),
            kind => kind.shown().to_owned(),
        }
    }

    pub(super) fn kind(&self) -> &'a Kind {
        &self.node.kind
    }

    fn is_empty(&self) -> bool {
        matches!(self.node.kind, Kind::Empty)
    }

    /// An object; an error if it is not one.
    pub(super) fn object(&self, report: &mut Report) -> Option<Object<'a>> {
        let Kind::Table(entries) = &self.node.kind else {
            report.wrong(self, "an object");
            return None;
        };
        for (index, (key, _)) in entries.iter().enumerate() {
            if let Some((first, _)) = entries[..index].iter().find(|(before, _)| before.name == key.name) {
                let spot = self.document.spot(&key.span, &self.path);
                let first = self.document.spot(&first.span, "").line;
                report.errors.push(KubernetesError::Twice { spot, key: key.name.clone(), first });
            }
        }
        Some(Object { field: self.clone(), seen: RefCell::default() })
    }

    /// The values of a list; an error if it is not one.
    pub(super) fn list(&self, report: &mut Report) -> Vec<Field<'a>> {
        let Kind::List(items) = &self.node.kind else {
            report.wrong(self, "a list");
            return Vec::new();
        };
        let item =
            |(index, node)| Field { document: self.document, path: format!("{}[{index}]", self.path), node };
        items.iter().enumerate().map(item).collect()
    }

    /// A text; an error if it is not one.
    pub(super) fn text(&self, report: &mut Report) -> Option<&'a str> {
        self.quoted("a text", report)
    }

    /// A text with a meaning, which the error names; a number is none.
    pub(super) fn quoted(&self, expected: &str, report: &mut Report) -> Option<&'a str> {
        match &self.node.kind {
            Kind::Scalar(text) if !self.node.inferred => Some(text),
            _ => {
                report.wrong(self, expected);
                None
            }
        }
    }

    /// A number or a text as written; an error if it is neither.
    pub(super) fn spelled(&self, expected: &str, report: &mut Report) -> Option<&'a str> {
        match &self.node.kind {
            Kind::Scalar(text) => Some(text),
            _ => {
                report.wrong(self, expected);
                None
            }
        }
    }

    /// A whole number from `least` to `most`; an error if it is not one. Like Kubernetes, a number in quotation marks
    /// is not accepted.
    pub(super) fn whole(&self, least: u32, most: u32, report: &mut Report) -> Option<u32> {
        let number = match &self.node.kind {
            Kind::Scalar(text) if self.node.inferred => text.parse().ok(),
            _ => None,
        };
        let number = number.filter(|number| (least..=most).contains(number));
        if number.is_none() {
            report.wrong(self, format!("a whole number from {least} to {most}, without quotation marks"));
        }
        number
    }

    /// One of several words; an error if it is none of them.
    pub(super) fn one_of<T: Copy>(&self, words: &[(&str, T)], report: &mut Report) -> Option<T> {
        let text = self.text(report)?;
        let known = words.iter().find(|(word, _)| *word == text).map(|(_, value)| *value);
        if known.is_none() {
            let words: Vec<String> = words.iter().map(|(word, _)| format!("`{word}`")).collect();
            report.wrong(self, words.join(", "));
        }
        known
    }

    pub(super) fn refuse(&self, expected: impl Into<String>, report: &mut Report) {
        report.wrong(self, expected);
    }
}

/// An object that records which fields were read.
pub(super) struct Object<'a> {
    field: Field<'a>,
    seen: RefCell<Vec<&'static str>>,
}

impl<'a> Object<'a> {
    pub(super) fn spot(&self) -> Spot {
        self.field.spot()
    }

    /// A field; none if it is absent or null.
    pub(super) fn get(&self, name: &'static str) -> Option<Field<'a>> {
        self.seen.borrow_mut().push(name);
        let Kind::Table(entries) = &self.field.node.kind else { return None };
        let (_, node) = entries.iter().find(|(key, _)| key.name == name)?;
        let path =
            if self.field.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.field.path) };
        let field = Field { document: self.field.document, path, node };
        (!field.is_empty()).then_some(field)
    }

    /// A required field; an error if it is missing.
    pub(super) fn needed(
        &self,
        name: &'static str,
        expected: impl Into<String>,
        report: &mut Report,
    ) -> Option<Field<'a>> {
        let field = self.get(name);
        if field.is_none() {
            let expected = expected.into();
            report.errors.push(KubernetesError::Absent { spot: self.spot(), field: name, expected });
        }
        field
    }

    /// The object of a required field.
    pub(super) fn object(&self, name: &'static str, report: &mut Report) -> Option<Object<'a>> {
        self.needed(name, "an object", report)?.object(report)
    }

    /// The text of a required field.
    pub(super) fn text(&self, name: &'static str, report: &mut Report) -> Option<&'a str> {
        self.needed(name, "a text", report)?.text(report)
    }

    /// Fields without effect on scaling.
    pub(super) fn without_effect(&self, names: &[&'static str]) {
        self.seen.borrow_mut().extend(names);
    }

    /// Reports every field that was not read.
    pub(super) fn done(&self, name: Option<&str>, report: &mut Report) {
        let Kind::Table(entries) = &self.field.node.kind else { return };
        let seen = self.seen.borrow();
        for (key, _) in entries.iter().filter(|(key, _)| !seen.contains(&key.name.as_str())) {
            let path = if self.field.path.is_empty() {
                key.name.clone()
            } else {
                format!("{}.{}", self.field.path, key.name)
            };
            let nearest = seen
                .iter()
                .map(|known| (strsim::osa_distance(known, &key.name), *known))
                .filter(|(distance, _)| *distance <= (key.name.len() / LETTERS_A_MISTAKE).max(1))
                .min()
                .map(|(_, known)| known.to_owned());
            let spot = self.field.document.spot(&key.span, &path);
            report.remark(&spot, name, Cause::UnknownField { nearest });
        }
    }
}

/// A suggestion may differ in one of this many letters.
const LETTERS_A_MISTAKE: usize = 4;
