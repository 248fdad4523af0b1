//! YAML text as a tree in which every key and value has its place. The only module that uses the parser.
//!
//! ## Why a tree, and not structs read by serde
//! Serde stops at the first error. Users want all errors at once, so the text is first parsed into a tree, and the
//! tables are read from it one key at a time.
//!
//! ## Why scalars stay text
//! `1.10`, `017` and `2026-11-21` are kept as written; only the field knows whether it is a number.
#![warn(missing_docs)]

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::{DuplicateKeyPolicy, Location, NonFiniteFloatPolicy, Spanned};
use std::fmt;
use std::ops::Range;

/// A gateway file has a few kilobytes; this protects memory against a wrong file name.
pub const TEXT_BYTES_MAX: usize = 1024 * 1024;
/// The deepest table in use is at depth five.
const DEPTH_MAX: usize = 32;
/// Aliases may repeat a part of the file, but not multiply it.
const ALIAS_EVENTS_MAX: usize = 10_000;

/// A value and its place, in bytes from the start of the text.
#[derive(Debug, Clone)]
pub struct Node {
    /// Its kind.
    pub kind: Kind,
    /// Its place.
    pub span: Range<usize>,
    /// Whether YAML reads it as a number or a boolean: `5`, but not `"5"`.
    pub inferred: bool,
}

/// The kind of a value.
#[derive(Debug, Clone)]
pub enum Kind {
    /// Nothing, as in `key:`.
    Empty,
    /// A single value, as written.
    Scalar(String),
    /// In the order of the file.
    List(Vec<Node>),
    /// In the order of the file, including duplicate keys.
    Table(Vec<(Key, Node)>),
}

impl Kind {
    /// Its kind in messages.
    pub fn shown(&self) -> &'static str {
        match self {
            Kind::Empty => "nothing",
            Kind::Scalar(_) => "a single value",
            Kind::List(_) => "a list",
            Kind::Table(_) => "a mapping",
        }
    }
}

/// A key of a table and its place.
#[derive(Debug, Clone)]
pub struct Key {
    /// Its text.
    pub name: String,
    /// Its place.
    pub span: Range<usize>,
}

/// Why the text is not YAML.
#[derive(Debug, Clone)]
pub struct Malformed {
    /// The parser's message, without the place.
    pub message: String,
    /// The place of the error.
    pub span: Range<usize>,
}

/// Parses one YAML document of at most [`TEXT_BYTES_MAX`].
///
/// # Errors
/// The text is longer, not YAML, or more than one document.
pub fn tree(text: &str) -> Result<Node, Malformed> {
    within(text, TEXT_BYTES_MAX)?;
    let bytes = Bytes::new(text);
    match serde_saphyr::from_str_with_options::<Spanned<RawKind>>(text, options()) {
        Ok(raw) => Ok(node(raw, text, &bytes)),
        Err(error) => Err(malformed(&error, &bytes)),
    }
}

/// Parses all YAML documents of a text of at most this many bytes; empty ones are left out.
///
/// # Errors
/// The text is longer, or not YAML.
pub fn documents(text: &str, bytes_max: usize) -> Result<Vec<Node>, Malformed> {
    within(text, bytes_max)?;
    let bytes = Bytes::new(text);
    let mut options = options();
    if let Some(budget) = &mut options.budget {
        // The length bounds the documents and nodes; aliases have their own bound.
        budget.max_documents = text.len();
        budget.max_nodes = budget.max_nodes.max(text.len() + ALIAS_EVENTS_MAX);
        budget.max_events = budget.max_events.max(2 * budget.max_nodes);
    }
    match serde_saphyr::from_multiple_with_options::<Spanned<RawKind>>(text, options) {
        Ok(raw) => Ok(raw.into_iter().map(|raw| node(raw, text, &bytes)).collect()),
        Err(error) => Err(malformed(&error, &bytes)),
    }
}

fn within(text: &str, bytes_max: usize) -> Result<(), Malformed> {
    if text.len() <= bytes_max {
        return Ok(());
    }
    let message = format!("the file has {} bytes, more than the {bytes_max} that are read", text.len());
    Err(Malformed { message, span: 0..0 })
}

fn options() -> serde_saphyr::Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! { max_depth: DEPTH_MAX },
        duplicate_keys: DuplicateKeyPolicy::PassThrough,
        non_finite_float_policy: NonFiniteFloatPolicy::AsString,
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: ALIAS_EVENTS_MAX },
        with_snippet: false,
    }
}

fn malformed(error: &serde_saphyr::Error, bytes: &Bytes) -> Malformed {
    let span = error.location().map_or(0..0, |at| bytes.range(&at, 1));
    Malformed { message: message(error), span }
}

/// The parser's message, without the place, which is displayed separately, and without its hints for programmers.
fn message(error: &serde_saphyr::Error) -> String {
    if let serde_saphyr::Error::MultipleDocuments { .. } = error {
        return "expected one YAML document, found another after `---`".to_owned();
    }
    let text = error.to_string();
    let line = text.lines().next().unwrap_or("this is not YAML");
    line.split(" at line ").next().unwrap_or(line).to_owned()
}

/// The byte offset of each character, for a parser that counts characters.
struct Bytes {
    starts: Vec<usize>,
    len: usize,
}

impl Bytes {
    fn new(text: &str) -> Self {
        Bytes { starts: text.char_indices().map(|(at, _)| at).collect(), len: text.len() }
    }

    fn at(&self, character: u64) -> usize {
        usize::try_from(character).ok().and_then(|at| self.starts.get(at).copied()).unwrap_or(self.len)
    }

    fn range(&self, location: &Location, least: u64) -> Range<usize> {
        let span = location.span();
        self.at(span.offset())..self.at(span.offset() + span.len().max(least))
    }
}

/// Values from serde: numbers and booleans have lost their notation.
enum RawKind {
    Empty,
    Text(String),
    Inferred,
    List(Vec<Spanned<RawKind>>),
    Table(Vec<(Spanned<String>, Spanned<RawKind>)>),
}

fn node(raw: Spanned<RawKind>, text: &str, bytes: &Bytes) -> Node {
    let span = bytes.range(&raw.referenced, 0);
    let inferred = matches!(raw.value, RawKind::Inferred);
    let kind = match raw.value {
        RawKind::Empty => Kind::Empty,
        RawKind::Text(found) => Kind::Scalar(found),
        RawKind::Inferred => Kind::Scalar(spelling(&raw.defined, text, bytes)),
        RawKind::List(items) => Kind::List(items.into_iter().map(|item| node(item, text, bytes)).collect()),
        RawKind::Table(entries) => Kind::Table(
            entries.into_iter().map(|(name, value)| (key(name, bytes), node(value, text, bytes))).collect(),
        ),
    };
    Node { kind, span, inferred }
}

fn key(raw: Spanned<String>, bytes: &Bytes) -> Key {
    Key { span: bytes.range(&raw.referenced, 0), name: raw.value }
}

/// A number or boolean as written in the file.
fn spelling(location: &Location, text: &str, bytes: &Bytes) -> String {
    text.get(bytes.range(location, 0)).unwrap_or_default().trim().to_owned()
}

impl<'de> Deserialize<'de> for RawKind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RawVisitor)
    }
}

struct RawVisitor;

impl<'de> Visitor<'de> for RawVisitor {
    type Value = RawKind;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text, a number, a list or a table")
    }
    fn visit_bool<E>(self, _: bool) -> Result<RawKind, E> {
        Ok(RawKind::Inferred)
    }
    fn visit_i64<E>(self, _: i64) -> Result<RawKind, E> {
        Ok(RawKind::Inferred)
    }
    fn visit_i128<E>(self, _: i128) -> Result<RawKind, E> {
        Ok(RawKind::Inferred)
    }
    fn visit_u64<E>(self, _: u64) -> Result<RawKind, E> {
        Ok(RawKind::Inferred)
    }
    fn visit_u128<E>(self, _: u128) -> Result<RawKind, E> {
        Ok(RawKind::Inferred)
    }
    fn visit_f64<E>(self, _: f64) -> Result<RawKind, E> {
        Ok(RawKind::Inferred)
    }
    fn visit_str<E>(self, text: &str) -> Result<RawKind, E> {
        Ok(RawKind::Text(text.to_owned()))
    }
    fn visit_unit<E>(self) -> Result<RawKind, E> {
        Ok(RawKind::Empty)
    }
    fn visit_none<E>(self) -> Result<RawKind, E> {
        Ok(RawKind::Empty)
    }
    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<RawKind, D::Error> {
        RawKind::deserialize(deserializer)
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<RawKind, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(RawKind::List(list))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<RawKind, A::Error> {
        let mut table = Vec::new();
        while let Some(entry) = entries.next_entry()? {
            table.push(entry);
        }
        Ok(RawKind::Table(table))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(text: &str) -> Vec<(Key, Node)> {
        match tree(text).unwrap().kind {
            Kind::Table(entries) => entries,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn scalars_keep_their_spelling() {
        let text = "a: 1.10\nb: 017\nc: yes\nd: 'x y'\ne: 1_000\nf: .nan\ng: 2026-11-21\nh: 0x1F\n5: *no\n";
        let text = text.replace("5: *no\n", "5: true\n");
        let found: Vec<String> = entries(&text)
            .into_iter()
            .map(|(key, value)| match value.kind {
                Kind::Scalar(scalar) => format!("{}={scalar}", key.name),
                other => panic!("{other:?}"),
            })
            .collect();
        let expected =
            ["a=1.10", "b=017", "c=yes", "d=x y", "e=1_000", "f=.nan", "g=2026-11-21", "h=0x1F", "5=true"];
        assert_eq!(found, expected);
    }

    #[test]
    fn spans_are_bytes_also_after_umlauts() {
        let text = "größe: 1\nüber: { straße: \"ö\" }\n";
        let entries = entries(text);
        assert_eq!(&text[entries[0].0.span.clone()], "größe");
        assert_eq!(&text[entries[0].1.span.clone()], "1");
        let Kind::Table(inner) = &entries[1].1.kind else { panic!() };
        assert_eq!(&text[inner[0].0.span.clone()], "straße");
        assert_eq!(&text[inner[0].1.span.clone()], "\"ö\"");
    }

    #[test]
    fn keys_that_stand_twice_are_kept() {
        assert_eq!(entries("a: 1\na: 2\n").len(), 2);
    }

    #[test]
    fn documents_are_read_one_after_the_other_with_spans_of_the_whole_text() {
        let text = "a: 1\n---\n# nothing\n---\nb: [x, y]\n...\n";
        let documents = documents(text, 100).unwrap();
        assert_eq!(documents.len(), 2);
        let Kind::Table(entries) = &documents[1].kind else { panic!() };
        assert_eq!(&text[entries[0].0.span.clone()], "b");
        assert!(super::documents(text, 10).unwrap_err().message.contains("more than the 10"));
        assert!(super::documents("a: [\n", 100).is_err());
    }

    #[test]
    fn json_is_read_too() {
        let text = "{\n\t\"a\": \"x\\/\\u00fc\\ud83d\\ude00\",\n\t\"b\": [1, null, {}]\n}\n";
        let Kind::Table(entries) = tree(text).unwrap().kind else { panic!() };
        let Kind::Scalar(a) = &entries[0].1.kind else { panic!() };
        assert_eq!(a, "x/\u{fc}\u{1f600}");
        let Kind::List(b) = &entries[1].1.kind else { panic!() };
        assert!(matches!(b[1].kind, Kind::Empty));
    }

    #[test]
    fn bombs_are_refused() {
        let deep = format!("{}1{}", "[".repeat(5_000), "]".repeat(5_000));
        assert!(tree(&deep).is_err());
        let mut bomb = String::from("a: &a [x, x, x, x, x, x, x, x, x, x]\n");
        for (before, name) in ["a", "b", "c", "d", "e", "f"].iter().zip(["b", "c", "d", "e", "f", "g"]) {
            bomb += &format!("{name}: &{name} [{}]\n", vec![format!("*{before}"); 10].join(", "));
        }
        assert!(tree(&bomb).is_err());
    }
}
