//! The contents of a response, as [`control::trial::answers`] compares them.
//!
//! JSON has a field for each value, with a path as `jq` writes it; places in an array are not told apart (`.items[].price`),
//! nor are keys that are data (`.users{}.name`). Other text has a field for each line; of a line with markup, for each tag
//! with the text behind it, because pages are often one line. A body of another kind is compared by its hash.
//!
//! The address of the service itself is replaced: services write it into links, and it differs between arms.

use ::load::Collected;
use control::trial::answers::{Body, Field, Response, Value};
use serde_json::Value as Json;
use std::hash::{DefaultHasher, Hash, Hasher};

/// The contents of a response of the service at this authority (host and port).
pub(super) fn contents(collected: &Collected, authority: &str) -> Response {
    let Collected { status, content_type, body, body_bytes, .. } = collected;
    let media_type = content_type.as_deref().unwrap_or_default().split(';').next().unwrap_or_default();
    let media_type = media_type.trim().to_ascii_lowercase();
    let is_whole = body.len() as u64 == *body_bytes;
    let mut size = *body_bytes;
    // The end of a body that is not kept whole may be within a character.
    let text = match std::str::from_utf8(body) {
        Ok(text) => Some(text),
        Err(error) if !is_whole && error.error_len().is_none() => {
            std::str::from_utf8(&body[..error.valid_up_to()]).ok()
        }
        Err(_) => None,
    };
    let body = match text.filter(|text| !text.contains('\0')) {
        None => Body::Hash(hash(body)),
        Some(text) => {
            // A name without a dot or a port may be a word.
            let replaced = match authority.contains(['.', ':']) {
                true => text.replace(authority, SERVICE),
                false => text.to_owned(),
            };
            size = (size + replaced.len() as u64).saturating_sub(text.len() as u64);
            let json = is_whole.then(|| serde_json::from_str::<Json>(&replaced).ok()).flatten();
            let mut fields = Fields::default();
            match json {
                // A single number or string is no document.
                Some(json @ (Json::Object(_) | Json::Array(_))) => fields.json(&json, &mut String::new()),
                _ => fields.text(&replaced),
            }
            Body::Fields(fields.end())
        }
    };
    Response { status: *status, media_type, size, body }
}

fn hash(value: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

#[derive(Default)]
struct Fields {
    fields: Vec<Field>,
    /// What does not fit.
    rest: Vec<Field>,
}

impl Fields {
    fn add(&mut self, path: &str, value: Value) {
        let is_full = self.fields.len() >= FIELDS_MAX;
        let fields = if is_full { &mut self.rest } else { &mut self.fields };
        fields.push(Field { path: path.to_owned(), value });
    }

    fn json(&mut self, json: &Json, path: &mut String) {
        let length = path.len();
        let name = |path: &str| if path.is_empty() { ".".to_owned() } else { path.to_owned() };
        match json {
            Json::Object(members) => {
                if members.is_empty() {
                    self.add(&name(path), Value::Structure("{}".to_owned()));
                }
                let is_map = members.len() > NAMES_MAX || !members.keys().all(|key| is_name(key));
                if is_map {
                    path.push_str("{}");
                    self.add(path, Value::Structure(count(members.len(), "member")));
                }
                for (key, value) in members {
                    if !is_map {
                        path.push('.');
                        path.push_str(key);
                    }
                    self.json(value, path);
                    if !is_map {
                        path.truncate(length);
                    }
                }
            }
            Json::Array(elements) => {
                if path.is_empty() {
                    path.push('.');
                }
                path.push_str("[]");
                self.add(path, Value::Structure(count(elements.len(), "element")));
                for value in elements {
                    self.json(value, path);
                }
            }
            Json::Null => self.add(&name(path), Value::Structure("null".to_owned())),
            Json::Bool(value) => self.add(&name(path), Value::Structure(value.to_string())),
            Json::Number(value) => self.add(&name(path), Value::Data(value.to_string())),
            Json::String(value) => self.add(&name(path), Value::Data(format!("\"{value}\""))),
        }
        path.truncate(length);
    }

    fn text(&mut self, text: &str) {
        let lines: Vec<&str> = text.lines().collect();
        self.add("line", Value::Structure(count(lines.len(), "line")));
        for (number, line) in (1..).zip(lines) {
            let path = format!("line {number}");
            let parts: Vec<&str> = parts(line).collect();
            if let [part] = parts.as_slice() {
                self.add(&path, Value::Data((*part).to_owned()));
                continue;
            }
            self.add(&path, Value::Structure(count(parts.len(), "tag")));
            for (number, part) in (1..).zip(parts) {
                self.add(&format!("{path}, tag {number}"), Value::Data(part.to_owned()));
            }
        }
    }

    fn end(mut self) -> Vec<Field> {
        if !self.rest.is_empty() {
            let mut hasher = DefaultHasher::new();
            for Field { path, value: Value::Data(value) | Value::Structure(value) } in &self.rest {
                (path, value).hash(&mut hasher);
            }
            let value = Value::Data(format!("{:016x}", hasher.finish()));
            self.fields.push(Field { path: "rest".to_owned(), value });
        }
        self.fields
    }
}

fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// The parts of a line, each from one `<` to the next.
fn parts(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(line);
    std::iter::from_fn(move || {
        let text = rest.take()?;
        let end = text.char_indices().skip(1).find(|(_, c)| *c == '<').map(|(at, _)| at);
        let (part, behind) = text.split_at(end.unwrap_or(text.len()));
        rest = end.map(|_| behind);
        Some(part)
    })
}

/// Whether a key is a name that the program has, and not data, such as an id.
fn is_name(key: &str) -> bool {
    let digits = key.bytes().filter(u8::is_ascii_digit).count();
    let is_plain =
        key.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'$' | b'@'));
    is_plain
        && (1..=NAME_MAX).contains(&key.len())
        && digits <= DIGITS_MAX
        && key.rfind('@').is_none_or(|at| at == 0)
}

/// In place of the address of the service.
const SERVICE: &str = "{service}";
/// Fields of a response that are told apart.
const FIELDS_MAX: usize = 4_000;
/// An object with more members, with longer names, or with names with more digits is a map whose keys are data.
const NAMES_MAX: usize = 100;
const NAME_MAX: usize = 40;
const DIGITS_MAX: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;

    fn response(content_type: &str, body: &str) -> Response {
        let collected = Collected {
            endpoint: 0,
            status: Some(200),
            content_type: Some(content_type.to_owned()),
            body: body.as_bytes().to_vec(),
            body_bytes: body.len() as u64,
        };
        contents(&collected, "127.0.0.1:8001")
    }

    fn fields(body: &str) -> Vec<String> {
        let Body::Fields(fields) = response("", body).body else { panic!("{body}") };
        let shown = |Field { path, value }: &Field| match value {
            Value::Data(value) => format!("{path} = {value}"),
            Value::Structure(value) => format!("{path}: {value}"),
        };
        fields.iter().map(shown).collect()
    }

    #[test]
    fn json_has_paths_without_places_and_data() {
        let body = r#"{"a":{"b":[1,{"c":"x"}],"d":null,"e":{}},"users":{"4711":{"name":"A"},"jane@example.org":[]}}"#;
        assert_eq!(
            fields(body),
            [
                ".a.b[]: 2 elements",
                ".a.b[] = 1",
                ".a.b[].c = \"x\"",
                ".a.d: null",
                ".a.e: {}",
                ".users{}: 2 members",
                ".users{}.name = \"A\"",
                ".users{}[]: 0 elements",
            ]
        );
        assert_eq!(
            fields("[[true],[]]"),
            [".[]: 2 elements", ".[][]: 1 element", ".[][]: true", ".[][]: 0 elements"]
        );
        assert_eq!(fields(&"[".repeat(10_000)).len(), 2, "too deep, so it is text");
    }

    #[test]
    fn text_has_lines_and_pages_have_tags() {
        assert_eq!(fields("a\nb"), ["line: 2 lines", "line 1 = a", "line 2 = b"]);
        assert_eq!(fields("42"), ["line: 1 line", "line 1 = 42"]);
        assert_eq!(
            fields("<p>é<b>x</b>"),
            [
                "line: 1 line",
                "line 1: 3 tags",
                "line 1, tag 1 = <p>é",
                "line 1, tag 2 = <b>x",
                "line 1, tag 3 = </b>"
            ]
        );
        assert_eq!(fields(""), ["line: 0 lines"]);
    }

    #[test]
    fn the_address_of_the_service_is_no_difference() {
        let ours = response("Text/HTML; charset=utf-8", "<a href='http://127.0.0.1:8001/x'>");
        let theirs = contents(
            &Collected {
                endpoint: 0,
                status: Some(200),
                content_type: Some("text/html".to_owned()),
                body: b"<a href='http://127.0.0.1:10001/x'>".to_vec(),
                body_bytes: 35,
            },
            "127.0.0.1:10001",
        );
        assert_eq!(ours, theirs);
    }

    #[test]
    fn a_part_of_a_body_is_compared_as_text_and_bytes_by_their_hash() {
        let part = |body: &[u8]| {
            let collected = Collected {
                endpoint: 0,
                status: Some(200),
                content_type: None,
                body: body.to_vec(),
                body_bytes: 100_000,
            };
            contents(&collected, "127.0.0.1:8001")
        };
        let Body::Fields(found) = part("{\"a\":\"é".as_bytes().split_last().unwrap().1).body else {
            panic!()
        };
        assert_eq!((found.len(), found[1].value.clone()), (2, Value::Data("{\"a\":\"".to_owned())));
        assert_eq!(part(b"a").size, 100_000);
        assert!(matches!(part(&[0xff, 0x00, 0x01]).body, Body::Hash(_)));
        assert!(matches!(part(b"a\0b").body, Body::Hash(_)));
        assert_ne!(part(&[0xff, 0x00, 0x01]).body, part(&[0xff, 0x00, 0x02]).body);
    }

    #[test]
    fn the_number_of_fields_is_bounded() {
        let body =
            |last: usize| format!("{:?}", (0..FIELDS_MAX + 50).map(|n| n.min(last)).collect::<Vec<_>>());
        let Body::Fields(found) = response("", &body(9_999)).body else { panic!() };
        assert_eq!((found.len(), found.last().unwrap().path.as_str()), (FIELDS_MAX + 1, "rest"));
        assert_ne!(response("", &body(9_999)).body, response("", &body(FIELDS_MAX + 20)).body);
    }
}
