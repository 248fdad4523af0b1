//! Texts with placeholders: `/carts/${cart}`, compiled once and rendered for each request.
//!
//! ## Why placeholders and not a script
//! A script engine needs an interpreter per user and hides from the reader what is sent. A placeholder costs a copy,
//! and every name in it can be checked before the run.
//!
//! ## Why each place escapes in its own way
//! Values come from files and from responses. Without escaping, a blank in one would end a request line, a quote would
//! end a JSON string, and a line break would begin another header.

use super::feed::Feed;
use super::value::Value;
use stats::Rng;
use std::collections::BTreeMap;
use std::ops::Range;
use thiserror::Error;

/// The position of a text, which determines how the values in it are escaped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// A URL: invalid bytes are percent-encoded; `/`, `?`, `&` and `%` stay, so that a value may be a link.
    Url,
    /// A name or value of a query or form (`application/x-www-form-urlencoded`): everything except letters, digits and
    /// `-._*` is encoded, in the fixed text too.
    Form,
    /// A header field: unchanged; a value with a line break is refused.
    Header,
    /// Inside a JSON string, between its quotes, the fixed text too.
    JsonText,
    /// A whole JSON value: quoted, unless the value is a number, truth value, list or object itself.
    JsonValue,
    /// Unchanged.
    Raw,
}

/// The names that a text may use.
#[derive(Debug, Clone, Default)]
pub struct Scope<'a> {
    /// Fixed values.
    pub variables: BTreeMap<String, String>,
    /// Data, whose columns are `${feed.column}`.
    pub feeds: &'a [Feed],
    /// The values that earlier steps extract, and their slots.
    pub extracted: BTreeMap<String, usize>,
}

impl Scope<'_> {
    /// Whether a name is predefined in every text, so that nothing else may have it.
    pub fn is_builtin(name: &str) -> bool {
        BUILTINS.contains(&name) || name.starts_with("random.")
    }

    /// All names, the builtins last.
    pub fn names(&self) -> Vec<String> {
        let columns = self
            .feeds
            .iter()
            .flat_map(|feed| feed.columns().iter().map(move |column| format!("{}.{column}", feed.name())));
        let own = self.variables.keys().chain(self.extracted.keys()).cloned();
        own.chain(columns).chain(BUILTINS.iter().map(|&name| name.to_owned())).collect()
    }
}

/// Names that every text may use.
const BUILTINS: [&str; 5] = ["user", "iteration", "arrival", "uuid", "random.int(1,100)"];

/// Why a text is not a valid template. Ranges are bytes of the text.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TemplateError {
    /// `${` without its `}`.
    #[error("`${{` has no `}}`")]
    Unclosed {
        /// The rest of the text.
        at: Range<usize>,
    },
    /// An unknown name.
    #[error("unknown name `{name}`")]
    Unknown {
        /// The name as it was written.
        name: String,
        /// The placeholder.
        at: Range<usize>,
    },
    /// `random.int` without two whole numbers in order.
    #[error("`{name}` is not `random.int(from,to)` with whole numbers, `from` at most `to`")]
    Random {
        /// The name as it was written.
        name: String,
        /// The placeholder.
        at: Range<usize>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    Column { feed: usize, column: usize },
    Slot(usize),
    User,
    Iteration,
    Arrival,
    Uuid,
    RandomInt { from: i64, to: i64 },
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Segment {
    Fixed(Vec<u8>),
    Placeholder { source: Source, place: Place },
}

/// A compiled text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Template(Vec<Segment>);

/// The current values of a user's placeholders.
#[derive(Debug)]
pub(crate) struct Values<'a> {
    pub(crate) feeds: &'a [Feed],
    pub(crate) rows: &'a [usize],
    pub(crate) slots: &'a [Option<Value>],
    pub(crate) user: u64,
    pub(crate) iteration: u64,
    pub(crate) arrival: u64,
}

/// Why a text could not be rendered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unrendered {
    /// Nothing was extracted into this slot.
    Missing(usize),
    /// A value for a header has a line break.
    LineBreak,
}

impl Template {
    /// Compiles a text. `$${` stands for `${`.
    ///
    /// # Errors
    /// The first invalid placeholder.
    pub fn compile(text: &str, place: Place, scope: &Scope) -> Result<Self, TemplateError> {
        let mut template = Template::default();
        template.append(text, place, scope)?;
        Ok(template)
    }

    /// Adds text that has no placeholders and is not escaped.
    pub fn fixed(&mut self, bytes: &[u8]) {
        match self.0.last_mut() {
            Some(Segment::Fixed(last)) => last.extend_from_slice(bytes),
            _ if bytes.is_empty() => {}
            _ => self.0.push(Segment::Fixed(bytes.to_vec())),
        }
    }

    /// Adds a text, see [`Template::compile`].
    ///
    /// # Errors
    /// The first invalid placeholder.
    pub fn append(&mut self, text: &str, place: Place, scope: &Scope) -> Result<(), TemplateError> {
        let mut at = 0;
        while let Some(found) = text[at..].find("${").map(|found| at + found) {
            if text[at..found].ends_with('$') {
                // The first `$` is removed; the rest is text.
                self.literal(&text[at..found - 1], place);
                self.literal("${", place);
                at = found + 2;
                continue;
            }
            self.literal(&text[at..found], place);
            let Some(len) = text[found..].find('}') else {
                return Err(TemplateError::Unclosed { at: found..text.len() });
            };
            let whole = found..found + len + 1;
            let name = text[found + 2..found + len].trim();
            if let Some(value) = scope.variables.get(name) {
                let mut escaped = Vec::new();
                Value::text(value.clone()).write(place, &mut escaped);
                self.fixed(&escaped);
            } else {
                let source = source(name, whole.clone(), scope)?;
                self.0.push(Segment::Placeholder { source, place });
            }
            at = whole.end;
        }
        self.literal(&text[at..], place);
        Ok(())
    }

    /// Text written by the author of the file: a URL and a header are used as written.
    fn literal(&mut self, text: &str, place: Place) {
        match place {
            Place::Form | Place::JsonText if !text.is_empty() => {
                let mut escaped = Vec::new();
                Value::text(text.to_owned()).write(place, &mut escaped);
                self.fixed(&escaped);
            }
            _ => self.fixed(text.as_bytes()),
        }
    }

    /// Adds another template.
    pub fn extend(&mut self, other: Template) {
        for segment in other.0 {
            match segment {
                Segment::Fixed(bytes) => self.fixed(&bytes),
                placeholder => self.0.push(placeholder),
            }
        }
    }

    /// The bytes, if there is no placeholder.
    pub fn as_fixed(&self) -> Option<&[u8]> {
        match self.0.as_slice() {
            [] => Some(b""),
            [Segment::Fixed(bytes)] => Some(bytes),
            _ => None,
        }
    }

    /// The text before the first placeholder.
    pub fn prefix(&self) -> &[u8] {
        match self.0.first() {
            Some(Segment::Fixed(bytes)) => bytes,
            _ => b"",
        }
    }

    /// The parts without placeholders.
    pub fn fixed_parts(&self) -> impl Iterator<Item = &[u8]> {
        self.0.iter().filter_map(|segment| match segment {
            Segment::Fixed(bytes) => Some(bytes.as_slice()),
            Segment::Placeholder { .. } => None,
        })
    }

    /// Adds the rendered text to `out`.
    pub(crate) fn render(&self, values: &Values, rng: &mut Rng, out: &mut Vec<u8>) -> Result<(), Unrendered> {
        for segment in &self.0 {
            let (source, place) = match segment {
                Segment::Fixed(bytes) => {
                    out.extend_from_slice(bytes);
                    continue;
                }
                Segment::Placeholder { source, place } => (*source, *place),
            };
            let start = out.len();
            match source {
                Source::Column { feed, column } => {
                    values.feeds[feed].cell(values.rows[feed], column).write(place, out);
                }
                Source::Slot(slot) => {
                    let value = values.slots[slot].as_ref().ok_or(Unrendered::Missing(slot))?;
                    value.write(place, out);
                }
                Source::User => number(values.user, out),
                Source::Iteration => number(values.iteration, out),
                Source::Arrival => number(values.arrival, out),
                Source::Uuid => Value::text(uuid(rng)).write(place, out),
                Source::RandomInt { from, to } => {
                    // The span of two i64 fits 64 bits, and one more is zero only for all of them.
                    let span = to.abs_diff(from).wrapping_add(1);
                    let draw = if span == 0 { rng.bits() } else { below(rng, span) };
                    out.extend_from_slice(from.wrapping_add_unsigned(draw).to_string().as_bytes());
                }
            }
            let broken = |byte: &u8| matches!(byte, b'\r' | b'\n' | 0);
            if place == Place::Header && out[start..].iter().any(broken) {
                return Err(Unrendered::LineBreak);
            }
        }
        Ok(())
    }
}

fn source(name: &str, at: Range<usize>, scope: &Scope) -> Result<Source, TemplateError> {
    if let Some(slot) = scope.extracted.get(name) {
        return Ok(Source::Slot(*slot));
    }
    for (feed, found) in scope.feeds.iter().enumerate() {
        let column = name.strip_prefix(found.name()).and_then(|rest| rest.strip_prefix('.'));
        let column = column.and_then(|wanted| found.columns().iter().position(|known| known == wanted));
        if let Some(column) = column {
            return Ok(Source::Column { feed, column });
        }
    }
    if let Some(arguments) = name.strip_prefix("random.int") {
        let bounds = arguments.trim().strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
        let bounds = bounds.and_then(|both| both.split_once(','));
        let bounds = bounds.and_then(|(from, to)| Some((from.trim().parse().ok()?, to.trim().parse().ok()?)));
        return match bounds {
            Some((from, to)) if from <= to => Ok(Source::RandomInt { from, to }),
            _ => Err(TemplateError::Random { name: name.to_owned(), at }),
        };
    }
    match name {
        "user" => Ok(Source::User),
        "iteration" => Ok(Source::Iteration),
        "arrival" => Ok(Source::Arrival),
        "uuid" => Ok(Source::Uuid),
        _ => Err(TemplateError::Unknown { name: name.to_owned(), at }),
    }
}

fn number(number: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(number.to_string().as_bytes());
}

/// A uniform number below `bound`, which is above zero; its bias is below bound / 2^64.
fn below(rng: &mut Rng, bound: u64) -> u64 {
    ((u128::from(rng.bits()) * u128::from(bound)) >> 64) as u64
}

/// A random UUID, version 4 (RFC 9562, 5.4).
fn uuid(rng: &mut Rng) -> String {
    let (high, low) = (rng.bits(), rng.bits());
    let high = (high & !0xf000) | 0x4000;
    let low = (low & !(0b11 << 62)) | (0b10 << 62);
    format!(
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        high >> 32,
        (high >> 16) & 0xffff,
        high & 0xffff,
        low >> 48,
        low & 0xffff_ffff_ffff
    )
}

#[cfg(test)]
mod tests;
