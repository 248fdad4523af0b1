//! What a scenario reads from a response: extraction and checks.

use super::value::Value;
use regex::bytes::Regex;
use std::cell::OnceCell;
use std::time::Duration;
use units::Bytes;

/// One complete response.
#[derive(Debug, Clone, Copy)]
pub struct Answer<'a> {
    /// The status, 100 to 999.
    pub status: u16,
    /// The header fields as lines `Name: value`; a status line before them is skipped. May be empty if no step reads
    /// it, see [`super::Scenario::needs_head`].
    pub head: &'a [u8],
    /// The body without framing. May be empty if no step reads it, see [`super::Scenario::needs_body`].
    pub body: &'a [u8],
    /// The size of the body, even if `body` was not kept.
    pub body_bytes: u64,
    /// From the intended start to the last byte.
    pub response_time: Duration,
}

impl<'a> Answer<'a> {
    /// The values of a header, in their order.
    pub(crate) fn headers(&self, name: &str) -> impl Iterator<Item = &'a [u8]> {
        let lines = self.head.split(|&byte| byte == b'\n');
        lines.filter_map(move |line| {
            let colon = line.iter().position(|&byte| byte == b':')?;
            line[..colon].eq_ignore_ascii_case(name.as_bytes()).then(|| line[colon + 1..].trim_ascii())
        })
    }
}

/// A part of a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// The body.
    Body,
    /// The first header field of this name.
    Header(String),
    /// A value of a JSON body, by JSON pointer (RFC 6901).
    Json(String),
}

/// A response whose body is parsed as JSON at most once.
pub(crate) struct Reader<'a> {
    pub(crate) answer: Answer<'a>,
    json: OnceCell<Option<serde_json::Value>>,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(answer: Answer<'a>) -> Self {
        Reader { answer, json: OnceCell::new() }
    }

    /// The bytes of a part; `None` if the response has no such part.
    fn find<R>(&self, part: &Part, read: impl FnOnce(Found) -> R) -> Option<R> {
        match part {
            Part::Body => Some(read(Found::Bytes(self.answer.body))),
            Part::Header(name) => self.answer.headers(name).next().map(|value| read(Found::Bytes(value))),
            Part::Json(pointer) => {
                let json = self.json.get_or_init(|| serde_json::from_slice(self.answer.body).ok());
                json.as_ref()?.pointer(pointer).map(|value| read(Found::Value(Value::of_json(value))))
            }
        }
    }
}

enum Found<'a> {
    Bytes(&'a [u8]),
    Value(Value),
}

impl Found<'_> {
    fn bytes(&self) -> &[u8] {
        match self {
            Found::Bytes(bytes) => bytes,
            Found::Value(value) => value.as_str().as_bytes(),
        }
    }

    fn into_value(self) -> Value {
        match self {
            Found::Bytes(bytes) => Value::bytes(bytes),
            Found::Value(value) => value,
        }
    }
}

/// A value that later steps use.
#[derive(Debug, Clone)]
pub struct Extract {
    /// Where it is kept: an index of [`super::Definition::names`].
    pub slot: usize,
    /// The part to read it from.
    pub part: Part,
    /// The first group of this, or the whole match; without it, the whole part.
    pub regex: Option<Regex>,
}

/// Longer values are rejected as a mistake: each user keeps a copy.
const EXTRACTED_BYTES_MAX: usize = 64 * 1024;

impl Extract {
    /// The value, or `None` if the response does not have it, or if it is longer than 64 KiB.
    pub(crate) fn from(&self, reader: &Reader) -> Option<Value> {
        let value = reader.find(&self.part, |found| match &self.regex {
            None => (found.bytes().len() <= EXTRACTED_BYTES_MAX).then(|| found.into_value()),
            Some(regex) => {
                let groups = regex.captures(found.bytes())?;
                Some(Value::bytes(groups.get(1).or_else(|| groups.get(0))?.as_bytes()))
            }
        });
        value.flatten().filter(|value| value.as_str().len() <= EXTRACTED_BYTES_MAX)
    }
}

/// A condition on a response. Its result is counted; it does not end the iteration.
#[derive(Debug, Clone)]
pub struct Check {
    /// Its name in results.
    pub name: String,
    /// The condition.
    pub demand: Demand,
}

/// The condition of a check.
#[derive(Debug, Clone)]
pub enum Demand {
    /// The status is in one of these ranges, both ends included.
    Status(Vec<(u16, u16)>),
    /// The part exists, and passes the test.
    Part(Part, Test),
    /// The body has at most this size.
    SizeMax(Bytes),
    /// The response time is at most this.
    Within(Duration),
}

/// The condition on a part.
#[derive(Debug, Clone)]
pub enum Test {
    /// It exists.
    Exists,
    /// It equals this; a JSON value other than a string is compared as compact JSON.
    Equals(String),
    /// It contains this.
    Contains(String),
    /// A match in any position.
    Matches(Regex),
}

impl Check {
    pub(crate) fn holds(&self, reader: &Reader) -> bool {
        match &self.demand {
            Demand::Status(ranges) => {
                ranges.iter().any(|&(from, to)| (from..=to).contains(&reader.answer.status))
            }
            Demand::SizeMax(most) => reader.answer.body_bytes <= most.get(),
            Demand::Within(most) => reader.answer.response_time <= *most,
            Demand::Part(part, test) => reader.find(part, |found| test.holds(found.bytes())).unwrap_or(false),
        }
    }
}

impl Test {
    fn holds(&self, found: &[u8]) -> bool {
        match self {
            Test::Exists => true,
            Test::Equals(text) => found == text.as_bytes(),
            Test::Contains(text) => {
                text.is_empty() || found.windows(text.len()).any(|window| window == text.as_bytes())
            }
            Test::Matches(regex) => regex.is_match(found),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &[u8] = b"HTTP/1.1 200 OK: fine\r\nContent-Type: text/html\r\nlocation:  /a/7 \r\n\r\n";
    const BODY: &[u8] = br#"{"items":[{"id":5,"name":"a \"b\""}],"big":false}"#;

    fn answer() -> Answer<'static> {
        let response_time = Duration::from_millis(20);
        Answer { status: 201, head: HEAD, body: BODY, body_bytes: BODY.len() as u64, response_time }
    }

    fn extracted(part: Part, regex: Option<&str>) -> Option<String> {
        let regex = regex.map(|text| Regex::new(text).unwrap());
        let value = Extract { slot: 0, part, regex }.from(&Reader::new(answer()))?;
        Some(value.as_str().to_owned())
    }

    #[test]
    fn extracts_from_json_headers_and_text() {
        let json = |pointer: &str| extracted(Part::Json(pointer.to_owned()), None);
        assert_eq!(json("/items/0/id").as_deref(), Some("5"));
        assert_eq!(json("/items/0/name").as_deref(), Some("a \"b\""));
        assert_eq!(json("/items/0").as_deref(), Some(r#"{"id":5,"name":"a \"b\""}"#));
        assert_eq!(json("/items/1"), None);
        let header = |name: &str, regex| extracted(Part::Header(name.to_owned()), regex);
        assert_eq!(header("Location", None).as_deref(), Some("/a/7"));
        assert_eq!(header("LOCATION", Some(r"/(\d+)$")).as_deref(), Some("7"));
        assert_eq!(header("location", Some("x")), None);
        assert_eq!(header("etag", None), None);
        assert_eq!(extracted(Part::Body, Some(r#""id":\d"#)).as_deref(), Some("\"id\":5"));
    }

    #[test]
    fn a_long_value_is_not_kept() {
        let body = vec![b'x'; EXTRACTED_BYTES_MAX + 1];
        let answer = Answer { body: &body, ..answer() };
        let extract = |regex: Option<&str>| {
            let regex = regex.map(|text| Regex::new(text).unwrap());
            Extract { slot: 0, part: Part::Body, regex }.from(&Reader::new(answer))
        };
        assert_eq!(extract(None), None);
        assert_eq!(extract(Some("x+")), None);
        assert!(extract(Some("x{9}")).is_some());
    }

    #[test]
    fn checks_hold_or_not() {
        let json = || Part::Json("/items/0/id".into());
        let kind = || Part::Header("content-type".into());
        for (demand, expected) in [
            (Demand::Status(vec![(200, 299)]), true),
            (Demand::Status(vec![(200, 200), (404, 404)]), false),
            (Demand::Part(json(), Test::Exists), true),
            (Demand::Part(json(), Test::Equals("5".into())), true),
            (Demand::Part(json(), Test::Equals("6".into())), false),
            (Demand::Part(Part::Json("/none".into()), Test::Exists), false),
            (Demand::Part(kind(), Test::Contains("html".into())), true),
            (Demand::Part(kind(), Test::Equals("html".into())), false),
            (Demand::Part(Part::Header("etag".into()), Test::Contains("".into())), false),
            (Demand::Part(Part::Body, Test::Matches(Regex::new("big.*false").unwrap())), true),
            (Demand::Part(Part::Body, Test::Contains("nothing like it".into())), false),
            (Demand::SizeMax(Bytes::new(10)), false),
            (Demand::Within(Duration::from_millis(20)), true),
            (Demand::Within(Duration::from_millis(19)), false),
        ] {
            let check = Check { name: String::new(), demand };
            assert_eq!(check.holds(&Reader::new(answer())), expected, "{check:?}");
        }
    }

    #[test]
    fn a_body_that_is_no_json_has_no_values() {
        for body in [b"".as_slice(), b"<html>", b"{\"a\":", &[0xff; 4], &[b'['; 100_000]] {
            let reader = Reader::new(Answer { body, ..answer() });
            assert!(reader.find(&Part::Json("".into()), |_| ()).is_none());
        }
    }
}
