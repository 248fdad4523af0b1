//! vegeta's targets, as text and as JSON lines.
//!
//! Follows vegeta's own reading (<https://github.com/tsenart/vegeta>, README, `-format`). The text has a method and a
//! URL, then headers, then perhaps `@file` with the body; a blank line, the body or the next method ends it. If a line
//! is wrong the whole target is left out: half a target would be a different request.

use crate::body::Bodies;
use crate::header::header;
use crate::reader::{LineParser, Parser, Ready};
use capture::request::{method, url};
use capture::{Entry, Fault, json};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use std::fmt;

/// The text form.
#[derive(Debug)]
pub(crate) struct Targets {
    bodies: Bodies,
    state: State,
}

#[derive(Debug)]
enum State {
    Between,
    Open(Box<Entry>),
    /// Inside a target with an error.
    Broken,
}

impl Targets {
    pub(crate) fn new(bodies: Bodies) -> Self {
        Targets { bodies, state: State::Between }
    }

    fn finish(&mut self, ready: &mut Ready) {
        if let State::Open(entry) = std::mem::replace(&mut self.state, State::Between) {
            ready.push_back(Ok(*entry));
        }
    }

    fn step(&mut self, text: &[u8], ready: &mut Ready) -> Result<(), Fault> {
        if text.starts_with(b"#") {
            return Ok(());
        }
        if text.is_empty() {
            self.finish(ready);
            self.state = State::Between;
            return Ok(());
        }
        match &mut self.state {
            _ if begins_with_a_method(text) => {
                self.finish(ready);
                self.state = State::Open(Box::new(target(text)?));
            }
            State::Between => return Err(Fault::at(text, 0, "a target such as `GET http://host/path`")),
            State::Open(entry) if text.starts_with(b"@") => {
                entry.body = self.bodies.read(text, 1)?;
                self.finish(ready);
            }
            State::Open(entry) => entry.headers.push(header(text)?),
            State::Broken => {}
        }
        Ok(())
    }
}

impl Parser for Targets {
    fn line(&mut self, number: u64, line: &[u8], ready: &mut Ready) {
        let offset = line.len() - line.trim_ascii_start().len();
        if let Err(fault) = self.step(line.trim_ascii(), ready) {
            self.state = State::Broken;
            ready.push_back(Err(fault.within(line, offset).on(number)));
        }
    }

    fn lost(&mut self, _ready: &mut Ready) {
        self.state = State::Broken;
    }

    fn end(&mut self, ready: &mut Ready) {
        self.finish(ready);
    }
}

fn begins_with_a_method(text: &[u8]) -> bool {
    let end = text.iter().position(u8::is_ascii_whitespace);
    end.is_some_and(|end| method(&text[..end]).is_some())
}

fn target(text: &[u8]) -> Result<Entry, Fault> {
    let end = text.iter().position(u8::is_ascii_whitespace).unwrap_or(text.len());
    let method = method(&text[..end]).ok_or_else(|| Fault::at(text, 0, "a method such as GET"))?;
    let rest = text[end..].trim_ascii_start();
    let url = url(rest).map_err(|fault| fault.within(text, text.len() - rest.len()))?;
    Ok(Entry { method, url, ..Entry::default() })
}

/// The JSON form, one object a line.
#[derive(Debug)]
pub(crate) struct TargetsJson;

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Target {
    method: String,
    url: String,
    body: Option<String>,
    #[serde(default)]
    header: HeaderLists,
}

impl LineParser for TargetsJson {
    fn parse(&mut self, line: &[u8]) -> Result<Option<Entry>, Fault> {
        if line.trim_ascii().is_empty() {
            return Ok(None);
        }
        let target: Target = json::object(line, EXAMPLE)?;
        let headers = target.header.0;
        json::check(line, &target.method, &target.url, &headers)?;
        let body = json::body(line, target.body.as_deref().unwrap_or_default())?;
        Ok(Some(Entry { method: target.method, url: target.url, headers, body, ..Entry::default() }))
    }
}

/// An object of names and lists of values, in the order of the text.
#[derive(Debug, Default)]
struct HeaderLists(Vec<(String, String)>);

impl<'de> Deserialize<'de> for HeaderLists {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Lists;
        impl<'de> Visitor<'de> for Lists {
            type Value = HeaderLists;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of header names, each with a list of values")
            }

            fn visit_unit<E>(self) -> Result<HeaderLists, E> {
                Ok(HeaderLists::default())
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<HeaderLists, A::Error> {
                let mut out = Vec::new();
                while let Some((name, values)) = map.next_entry::<String, Vec<String>>()? {
                    out.extend(values.into_iter().map(|value| (name.clone(), value)));
                }
                Ok(HeaderLists(out))
            }
        }
        deserializer.deserialize_any(Lists)
    }
}

const EXAMPLE: &str =
    r#"{"method": "GET", "url": "http://host/path", "header": {"Name": ["value"]}, "body": "base64"}"#;
