//! Values of placeholders, and how each place writes them.

use super::template::Place;

/// A value from data or from a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Value {
    text: String,
    /// Whether it is JSON other than a string: a number, truth value, null, list or object.
    json: bool,
}

impl Value {
    pub(crate) fn text(text: String) -> Self {
        Value { text, json: false }
    }

    #[cfg(test)]
    pub(crate) fn json(text: &str) -> Self {
        Value { text: text.to_owned(), json: true }
    }

    /// Bytes of a response; invalid UTF-8 is replaced.
    pub(crate) fn bytes(bytes: &[u8]) -> Self {
        Value::text(String::from_utf8_lossy(bytes).into_owned())
    }

    pub(crate) fn of_json(found: &serde_json::Value) -> Self {
        match found {
            serde_json::Value::String(text) => Value::text(text.clone()),
            other => Value { text: other.to_string(), json: true },
        }
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    pub(crate) fn write(&self, place: Place, out: &mut Vec<u8>) {
        let bytes = self.text.as_bytes();
        match place {
            Place::Raw | Place::Header => out.extend_from_slice(bytes),
            Place::JsonValue if self.json => out.extend_from_slice(bytes),
            Place::JsonValue => out.extend_from_slice(quoted(&self.text).as_bytes()),
            Place::JsonText => {
                let quoted = quoted(&self.text);
                out.extend_from_slice(&quoted.as_bytes()[1..quoted.len() - 1]);
            }
            Place::Url => bytes
                .iter()
                .for_each(|&byte| if stands_in_url(byte) { out.push(byte) } else { percent(byte, out) }),
            Place::Form => bytes.iter().for_each(|&byte| match byte {
                b' ' => out.push(b'+'),
                b'-' | b'.' | b'_' | b'*' => out.push(byte),
                _ if byte.is_ascii_alphanumeric() => out.push(byte),
                _ => percent(byte, out),
            }),
        }
    }
}

/// Whether a byte may occur in a URL that is sent (RFC 3986, 2); a fragment is never sent.
pub fn stands_in_url(byte: u8) -> bool {
    byte.is_ascii_graphic() && !br##""<>\^`{|}#"##.contains(&byte)
}

fn percent(byte: u8, out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    out.extend_from_slice(&[b'%', DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
