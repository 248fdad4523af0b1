//! In which parts two responses differ.
//!
//! The parts are compared from the outside to the inside, and a difference ends the comparison of what is inside: of two
//! responses with another status nobody wants to know how their bodies differ, and of two lists of another length not how
//! their elements do.

use super::mask::{Example, example};
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// A response, as far as it is compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    /// The status; `None` if there was no response.
    pub status: Option<u16>,
    /// The media type of the body, without parameters; empty without one.
    pub media_type: String,
    /// The size of the body in bytes.
    pub size: u64,
    /// Its contents.
    pub body: Body,
}

/// The contents of a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    /// Fields, in their order; a path may have several.
    Fields(Vec<Field>),
    /// A hash of a body without a known structure.
    Hash(u64),
}

/// A value of a body and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// The place. `.`, `[`, `{`, `,` and a space separate it from places within it.
    pub path: String,
    /// The value.
    pub value: Value,
}

/// A value of a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// Data, which is masked in results.
    Data(String),
    /// Structure, such as the number of elements.
    Structure(String),
}

/// A part of a response.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// The status, or that there is a response.
    Status,
    /// The media type.
    MediaType,
    /// The size of the body.
    Size,
    /// A body without a known structure, or one of which hardly anything is equal.
    Body,
    /// The field with this path.
    Field(String),
}

impl Part {
    /// Its name in results.
    pub fn name(&self) -> &'static str {
        match self {
            Part::Status => "status",
            Part::MediaType => "media_type",
            Part::Size => "size",
            Part::Body => "body",
            Part::Field(_) => "field",
        }
    }

    /// The path of a field.
    pub fn path(&self) -> Option<&str> {
        match self {
            Part::Field(path) => Some(path),
            _ => None,
        }
    }

    /// Fields explain more than the size that they change.
    pub(super) fn rank(&self) -> u8 {
        match self {
            Part::Status => 0,
            Part::MediaType => 1,
            Part::Field(_) => 2,
            Part::Body => 3,
            Part::Size => 4,
        }
    }
}

/// The parts that differ, with what the control and the other have there.
pub(super) fn compare(control: &Response, other: &Response) -> Vec<(Part, Example)> {
    let shown = |control: &dyn ToString, candidate: &dyn ToString| Example {
        control: Some(control.to_string()),
        candidate: Some(candidate.to_string()),
    };
    let mut found = Vec::new();
    if control.status != other.status {
        let status = |response: &Response| match response.status {
            Some(status) => status.to_string(),
            None => "no response".to_string(),
        };
        found.push((Part::Status, shown(&status(control), &status(other))));
    } else if control.media_type != other.media_type {
        let named = |response: &Response| match response.media_type.as_str() {
            "" => "none".to_string(),
            named => named.chars().filter(|c| c.is_ascii_graphic()).take(MEDIA_TYPE_MAX).collect(),
        };
        found.push((Part::MediaType, shown(&named(control), &named(other))));
    } else {
        let bytes = |response: &Response| format!("{} bytes", response.size);
        let both = || shown(&bytes(control), &bytes(other));
        if control.size != other.size {
            found.push((Part::Size, both()));
        }
        match (&control.body, &other.body) {
            (Body::Fields(ours), Body::Fields(theirs)) => {
                let fields = fields(ours, theirs);
                if fields.len() > FIELDS_MAX {
                    found.push((Part::Body, both()));
                } else {
                    found.extend(fields);
                }
            }
            (ours, theirs) if ours != theirs => found.push((Part::Body, both())),
            _ => {}
        }
    }
    found
}

fn fields(ours: &[Field], theirs: &[Field]) -> Vec<(Part, Example)> {
    let mut paths: BTreeMap<&str, [Vec<&Value>; 2]> = BTreeMap::new();
    for (side, fields) in [ours, theirs].into_iter().enumerate() {
        for field in fields {
            paths.entry(&field.path).or_default()[side].push(&field.value);
        }
    }
    let mut found = Vec::new();
    let mut outer: Option<&str> = None;
    for (path, [ours, theirs]) in paths {
        if ours == theirs || outer.is_some_and(|outer| is_within(path, outer)) {
            continue;
        }
        outer = Some(path);
        let place = ours.iter().zip(&theirs).position(|(ours, theirs)| ours != theirs);
        let place = place.unwrap_or(ours.len().min(theirs.len()));
        let example = example(ours.get(place).copied(), theirs.get(place).copied());
        found.push((Part::Field(path.to_string()), example));
    }
    found
}

fn is_within(path: &str, outer: &str) -> bool {
    path.strip_prefix(outer).is_some_and(|rest| rest.starts_with(['.', '[', '{', ',', ' ']))
}

/// More differing fields are not shown one by one.
const FIELDS_MAX: usize = 100;
/// Characters of a media type.
const MEDIA_TYPE_MAX: usize = 60;
