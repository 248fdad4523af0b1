//! Reads tables from the tree key by key, and reports all problems.
//!
//! [`tables!`](crate::tables) declares a table once: its keys, their types, their descriptions. The reader and the JSON
//! Schema are both generated from it, so they cannot disagree.

use crate::problem::{Place, Problem, Source, source};
use crate::suggest::{close, suggestion};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use std::borrow::Cow;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use yaml::{Key, Kind, Node};

/// The problems found so far.
pub struct Report {
    /// The text, for excerpts.
    pub source: Source,
    /// In the order in which they were found.
    pub problems: Vec<Problem>,
}

impl Report {
    /// A report without problems; `name` is the name of the text in messages.
    pub fn new(name: &str, text: &str) -> Self {
        Report { source: source(name, text), problems: Vec::new() }
    }

    /// Adds a problem: what was found at a place, the label in the excerpt, and the way out.
    pub fn wrong(&mut self, place: &Place, message: String, label: &str, help: String) {
        self.problems.push(Problem::error(&self.source, place, message).label(label).help(help));
    }

    /// Whether there is a problem at this path or below it: a key that seems absent may have that problem.
    pub fn knows_of(&self, path: &str) -> bool {
        let below = |rest: &str| rest.is_empty() || rest.starts_with(['.', '[']);
        self.problems.iter().any(|problem| problem.path.strip_prefix(path).is_some_and(below))
    }
}

/// A value that can be read from the tree. With `None`, the report has at least one more problem.
pub trait Read: Sized {
    /// Reads a value; `path` is its key in the whole file.
    fn read(node: &Node, path: &str, report: &mut Report) -> Option<Self>;

    /// The value of an absent key; `None` if the key is required.
    fn absent() -> Option<Self> {
        None
    }
}

/// An optional key. A value that cannot be read counts as absent: the report has the problem, and the rest is still
/// checked.
impl<T: Read> Read for Option<T> {
    fn read(node: &Node, path: &str, report: &mut Report) -> Option<Self> {
        Some(T::read(node, path, report))
    }
    fn absent() -> Option<Self> {
        Some(None)
    }
}

/// A list.
impl<T: Read> Read for Vec<T> {
    fn read(node: &Node, path: &str, report: &mut Report) -> Option<Self> {
        let Kind::List(items) = &node.kind else {
            report.wrong(
                &place(node, path),
                format!("expected a list, found {}", node.kind.shown()),
                "not a list",
                "use `[a, b]`, or one item on each line, after `- `".to_owned(),
            );
            return None;
        };
        let items = items.iter().enumerate();
        Some(items.filter_map(|(index, item)| T::read(item, &format!("{path}[{index}]"), report)).collect())
    }
}

/// A value and its place.
#[derive(Debug, Clone)]
pub struct At<T> {
    /// The value.
    pub value: T,
    /// Its place.
    pub place: Place,
}

impl<T: Read> Read for At<T> {
    fn read(node: &Node, path: &str, report: &mut Report) -> Option<Self> {
        T::read(node, path, report).map(|value| At { value, place: place(node, path) })
    }
}

/// Any YAML.
#[derive(Debug, Clone)]
pub struct Tree(pub Node);

impl Read for Tree {
    fn read(node: &Node, _: &str, _: &mut Report) -> Option<Self> {
        Some(Tree(node.clone()))
    }
}

impl JsonSchema for Tree {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Tree".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        Schema::default()
    }
}

/// A required key in a table that is useful without it. With `None`, the report has the problem.
#[derive(Debug)]
pub struct Needed<T>(pub Option<T>);

impl<T: Read> Read for Needed<T> {
    fn read(node: &Node, path: &str, report: &mut Report) -> Option<Self> {
        Some(Needed(T::read(node, path, report)))
    }
}

/// A table whose keys are names chosen by the user, in the order of the file.
#[derive(Debug)]
pub struct Names<T> {
    all: Vec<Named<T>>,
    /// The position of each name in the list.
    places: BTreeMap<String, usize>,
}

/// A name and its value; `None` where that could not be read.
#[derive(Debug)]
pub struct Named<T> {
    /// The name.
    pub name: String,
    /// The place of the name.
    pub place: Place,
    /// Its value.
    pub value: Option<T>,
}

impl<T> Names<T> {
    /// No name.
    pub const EMPTY: Names<T> = Names { all: Vec::new(), places: BTreeMap::new() };

    /// In the order of the file.
    pub fn iter(&self) -> std::slice::Iter<'_, Named<T>> {
        self.all.iter()
    }

    /// Whether there is no name.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The name at a position of the file.
    pub fn get(&self, index: usize) -> Option<&Named<T>> {
        self.all.get(index)
    }

    /// The position of a name in the file, from 0.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.places.get(name).copied()
    }
}

impl<T> Default for Names<T> {
    fn default() -> Self {
        Names::EMPTY
    }
}

/// Names appear in logs and metrics.
const NAME_CHARACTERS_MAX: usize = 100;

impl<T: Read> Read for Names<T> {
    fn read(node: &Node, path: &str, report: &mut Report) -> Option<Self> {
        let entries = entries(node, path, report)?;
        once_each(entries, path, report);
        let mut names = Names::EMPTY;
        for (key, value) in entries {
            let path = child(path, &key.name);
            let place = Place { path: path.clone(), span: key.span.clone() };
            check_name(&key.name, &place, report);
            let value = T::read(value, &path, report);
            if let Entry::Vacant(free) = names.places.entry(key.name.clone()) {
                free.insert(names.all.len());
                names.all.push(Named { name: key.name.clone(), place, value });
            }
        }
        Some(names)
    }
}

/// Reports a name that is not suitable for logs and metrics.
pub fn check_name(name: &str, place: &Place, report: &mut Report) {
    let long = name.chars().count() > NAME_CHARACTERS_MAX;
    if name.is_empty() || name.trim() != name || name.chars().any(char::is_control) || long {
        report.wrong(
            place,
            format!("{name:?} is not a valid name"),
            "a name",
            format!(
                "use 1 to {NAME_CHARACTERS_MAX} printable characters, without leading or trailing spaces"
            ),
        );
    }
}

/// A table with known keys, during reading.
pub struct Table<'a> {
    entries: &'a [(Key, Node)],
    path: &'a str,
    place: Place,
    unknown: Vec<&'a str>,
}

impl<'a> Table<'a> {
    /// Reports unknown and duplicate keys.
    pub fn open(node: &'a Node, path: &'a str, known: &[&str], report: &mut Report) -> Option<Self> {
        let entries = entries(node, path, report)?;
        once_each(entries, path, report);
        let unknown = entries.iter().map(|(key, _)| key).filter(|key| !known.contains(&key.name.as_str()));
        for key in unknown.clone() {
            let place = Place { path: child(path, &key.name), span: key.span.clone() };
            let help = suggestion(&key.name, known.iter().copied());
            report.wrong(&place, format!("unknown key `{}`", key.name), "unknown key", help);
        }
        // A block table extends to its end; its first line is sufficient.
        let end = entries.first().map_or(node.span.end, |(key, _)| key.span.end);
        let span = node.span.start.min(end)..end;
        Some(Table {
            entries,
            path,
            unknown: unknown.map(|key| key.name.as_str()).collect(),
            place: Place { path: path.to_owned(), span },
        })
    }

    /// Reads the value of a key.
    pub fn field<T: Read>(&self, name: &str, report: &mut Report) -> Option<T> {
        match self.entries.iter().find(|(key, _)| key.name == name) {
            Some((_, value)) => T::read(value, &child(self.path, name), report),
            None => T::absent().or_else(|| {
                // A similar unknown key was already reported with this one as its suggestion.
                if self.unknown.iter().any(|unknown| close(unknown, name)) {
                    return None;
                }
                let message = format!("`{name}` is missing");
                report.wrong(&self.place, message, "in this table", format!("add `{name}: …`"));
                None
            }),
        }
    }
}

fn entries<'a>(node: &'a Node, path: &str, report: &mut Report) -> Option<&'a [(Key, Node)]> {
    if let Kind::Table(entries) = &node.kind {
        return Some(entries);
    }
    let message = format!("expected a mapping, found {}", node.kind.shown());
    report.wrong(&place(node, path), message, "not a table", "write `{ key: value }`".to_owned());
    None
}

fn once_each(entries: &[(Key, Node)], path: &str, report: &mut Report) {
    let mut seen = BTreeSet::new();
    for (key, _) in entries {
        if !seen.insert(key.name.as_str()) {
            let place = Place { path: child(path, &key.name), span: key.span.clone() };
            let message = format!("duplicate key `{}`", key.name);
            report.wrong(&place, message, "again", "remove or rename one of them".to_owned());
        }
    }
}

/// The place of a node that is read at `path`.
pub fn place(node: &Node, path: &str) -> Place {
    Place { path: path.to_owned(), span: node.span.clone() }
}

/// The path of a key in the table at `path`.
pub fn child(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

/// A table whose keys are declared.
pub trait Keys {
    /// The keys, in the order of their declaration.
    fn keys() -> Vec<&'static str>;
}

/// The key of a field: Rust's `r#type` is `type` in the file.
pub fn key(field: &'static str) -> &'static str {
    field.strip_prefix("r#").unwrap_or(field)
}

/// Declares tables of a file: for each a struct of the calling crate, its reader and its JSON Schema. Descriptions of
/// fields are used in the schema.
#[macro_export]
macro_rules! tables {
    ($( $(#[$meta:meta])* $name:ident { $( $(#[$field_meta:meta])* $field:ident: $type:ty, )* } )*) => { $(
        $(#[$meta])*
        #[derive(Debug, schemars::JsonSchema)]
        #[schemars(deny_unknown_fields)]
        pub(crate) struct $name { $( $(#[$field_meta])* pub(crate) $field: $type, )* }

        impl $crate::Keys for $name {
            fn keys() -> Vec<&'static str> {
                vec![$($crate::key(stringify!($field))),*]
            }
        }

        impl $crate::Read for $name {
            fn read(
                node: &$crate::yaml::Node,
                path: &str,
                report: &mut $crate::Report,
            ) -> Option<Self> {
                let known = <Self as $crate::Keys>::keys();
                let table = $crate::Table::open(node, path, &known, report)?;
                // All are read before the first `?`, so that the problems of each are reported.
                $( let $field = table.field($crate::key(stringify!($field)), report); )*
                Some($name { $( $field: $field?, )* })
            }
        }
    )* };
}
/// The schema of a value that is written as a single word or as a table.
#[macro_export]
macro_rules! schema_of_word_or_table {
    ($name:ident, $word:tt, $table:ty) => {
        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }
            fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ "anyOf": [$word, generator.subschema_for::<$table>()] })
            }
        }
    };
}
/// A wrapper has the schema of its content.
macro_rules! schema_of_content {
    ($($wrapper:ident),*) => { $(
        impl<T: JsonSchema> JsonSchema for $wrapper<T> {
            fn inline_schema() -> bool {
                T::inline_schema()
            }
            fn schema_name() -> Cow<'static, str> {
                T::schema_name()
            }
            fn schema_id() -> Cow<'static, str> {
                T::schema_id()
            }
            fn json_schema(generator: &mut SchemaGenerator) -> Schema {
                T::json_schema(generator)
            }
        }
    )* };
}
schema_of_content!(At, Needed);

impl<T: JsonSchema> JsonSchema for Names<T> {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        format!("Named{}", T::schema_name()).into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "object", "additionalProperties": generator.subschema_for::<T>() })
    }
}
