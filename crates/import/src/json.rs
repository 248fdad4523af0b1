//! What the two formats of one JSON object a line have in common: errors, base64, and headers in their order.

use crate::error::{Fault, plain};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use std::fmt;

/// Reads an object; `example` is what a line should look like.
pub(crate) fn object<'a, T: Deserialize<'a>>(line: &'a [u8], example: &'static str) -> Result<T, Fault> {
    serde_json::from_slice(line).map_err(|error| {
        let message = error.to_string();
        let what = plain(message.rfind(" at line ").map_or(message.as_str(), |end| &message[..end]));
        Fault::of(
            line,
            error.column().saturating_sub(1).min(line.len()),
            what,
            format!("a line such as {example}"),
        )
    })
}

/// Decodes a body, of which `line` is told where it is wrong.
pub(crate) fn body(line: &[u8], text: &str) -> Result<Vec<u8>, Fault> {
    STANDARD.decode(text).map_err(|error| {
        fault(line, text, format!("a body that is not base64 ({error})"), "base64 with padding")
    })
}

pub(crate) fn encode(body: &[u8]) -> String {
    STANDARD.encode(body)
}

/// A fault about a value that the line holds somewhere.
pub(crate) fn fault(line: &[u8], value: &str, found: String, expected: &'static str) -> Fault {
    let at = line.windows(value.len().max(1)).position(|window| window == value.as_bytes()).unwrap_or(0);
    Fault::of(line, at, found, expected)
}

/// An object of names and lists of values, in the order of the text.
#[derive(Debug, Default)]
pub(crate) struct HeaderLists(pub(crate) Vec<(String, String)>);

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
