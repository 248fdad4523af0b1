//! The changes of a rule: kept separate from the message until the rule has succeeded.
//!
//! ## Why changes are deferred
//! A rule that fails half-way would leave a message that is neither the old nor the new one. So its changes are
//! collected, a rule reads back what it has set, and the caller applies them to the head that it forwards. They are
//! bounded: they are stored outside the memory of the rules.

use crate::classes::PoolId;
use crate::target::escape_path;

/// The changes of a rule that has succeeded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// Another path, unescaped as given by the rule; see [`Changes::target`].
    pub(crate) path: Option<Vec<u8>>,
    /// Another query, without the question mark; empty for none.
    pub(crate) query: Option<String>,
    /// Another pool.
    pub pool: Option<PoolId>,
    /// Another response status, with a reason phrase if the rule gave one.
    pub status: Option<(u16, Option<String>)>,
    /// Other header fields of the request or, for a response rule, of the response.
    pub fields: Fields,
}

impl Changes {
    /// Whether the forwarded head changes.
    pub fn touch_the_head(&self) -> bool {
        self.path.is_some() || self.query.is_some() || self.status.is_some() || !self.fields.edits.is_empty()
    }

    /// The changed request target; `None` if it did not change.
    pub fn target(&self, original: &str) -> Option<String> {
        if self.path.is_none() && self.query.is_none() {
            return None;
        }
        let (path, query) = match original.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (original, None),
        };
        let mut target = self.path.as_ref().map_or_else(|| path.to_owned(), |path| escape_path(path));
        match (&self.query, query) {
            (Some(query), _) if query.is_empty() => {}
            (Some(query), _) => target.extend(["?", query]),
            (None, Some(query)) => target.extend(["?", query]),
            (None, None) => {}
        }
        Some(target)
    }
}

/// Changes of header fields.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fields {
    edits: Vec<Edit>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Edit {
    name: String,
    /// `None` if the field is only removed.
    value: Option<Vec<u8>>,
    /// Existing fields of this name are removed.
    replaces: bool,
}

impl Fields {
    /// Whether the original fields of this name are removed.
    pub fn replaces(&self, name: &str) -> bool {
        self.edits.iter().any(|edit| edit.replaces && edit.name.eq_ignore_ascii_case(name))
    }

    /// The added fields, in order. Names and values are checked.
    pub fn added(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.edits.iter().filter_map(|edit| Some((edit.name.as_str(), edit.value.as_deref()?)))
    }

    /// The first value as the rule sees it.
    pub(crate) fn first<'a>(&'a self, name: &str, original: Option<&'a [u8]>) -> Option<&'a [u8]> {
        let added =
            || self.added().find(|(added, _)| added.eq_ignore_ascii_case(name)).map(|(_, value)| value);
        if self.replaces(name) { added() } else { original.or_else(added) }
    }

    /// Replaces all fields of this name by one.
    ///
    /// # Errors
    /// As for [`Fields::add`]; also if the field is `Host` and the value is not a valid host.
    pub(crate) fn set(&mut self, name: &str, value: &[u8]) -> Result<(), String> {
        check_name(name)?;
        let value = check_value(name, value)?;
        if name.eq_ignore_ascii_case("host") && !is_host(value) {
            let shown = String::from_utf8_lossy(value);
            return Err(format!(
                "{shown:?} is no host; write it as in \"example.com\" or \"example.com:8080\""
            ));
        }
        self.forget(name);
        self.push(Edit { name: name.to_owned(), value: Some(value.to_vec()), replaces: true })
    }

    /// Adds a field.
    ///
    /// # Errors
    /// What is wrong with the name or the value, or that there are too many.
    pub(crate) fn add(&mut self, name: &str, value: &[u8]) -> Result<(), String> {
        check_name(name)?;
        if name.eq_ignore_ascii_case("host") {
            return Err("a request has one Host; use http.setHeader".to_owned());
        }
        let value = check_value(name, value)?;
        self.push(Edit { name: name.to_owned(), value: Some(value.to_vec()), replaces: false })
    }

    /// Removes all fields of this name.
    ///
    /// # Errors
    /// As for [`Fields::add`].
    pub(crate) fn remove(&mut self, name: &str) -> Result<(), String> {
        check_name(name)?;
        if name.eq_ignore_ascii_case("host") {
            return Err("a request needs its Host; use http.setHeader to change it".to_owned());
        }
        self.forget(name);
        self.push(Edit { name: name.to_owned(), value: None, replaces: true })
    }

    fn forget(&mut self, name: &str) {
        self.edits.retain(|edit| !edit.name.eq_ignore_ascii_case(name));
    }

    fn push(&mut self, edit: Edit) -> Result<(), String> {
        if self.edits.len() == EDITS_MAX {
            return Err(format!("more than the {EDITS_MAX} header changes that a rule may make"));
        }
        let size = |edit: &Edit| edit.name.len() + edit.value.as_ref().map_or(0, Vec::len);
        let bytes: usize = self.edits.iter().chain([&edit]).map(size).sum();
        if bytes > EDIT_BYTES_MAX {
            return Err(format!(
                "its header changes have {bytes} bytes, more than the {EDIT_BYTES_MAX} that a rule may make"
            ));
        }
        self.edits.push(edit);
        Ok(())
    }
}

/// Checks the name of a header field that a rule may write.
pub(crate) fn check_name(name: &str) -> Result<(), String> {
    if name.is_empty() || name.len() > NAME_BYTES_MAX || !name.bytes().all(is_token) {
        return Err(format!(
            "{name:?} is no header name; it has up to {NAME_BYTES_MAX} letters, digits and hyphens"
        ));
    }
    if FORBIDDEN.iter().any(|forbidden| name.eq_ignore_ascii_case(forbidden)) {
        return Err(format!(
            "the header {name} frames the message or is meant for one connection; the gateway writes it, leave it out"
        ));
    }
    Ok(())
}

/// Checks the value of a header field, and trims blanks around it.
pub(crate) fn check_value<'a>(name: &str, value: &'a [u8]) -> Result<&'a [u8], String> {
    if let Some(byte) = value.iter().copied().find(|byte| is_control(*byte)) {
        return Err(format!(
            "the value of {name} has the control character 0x{byte:02x}; escape or remove it"
        ));
    }
    Ok(value.trim_ascii())
}

/// RFC 9110, section 5.6.2.
pub(crate) fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

pub(crate) fn is_control(byte: u8) -> bool {
    byte != b'\t' && (byte < b' ' || byte == 0x7f)
}

/// A name or address with an optional port.
fn is_host(value: &[u8]) -> bool {
    let (name, port) = match value.iter().rposition(|byte| *byte == b':') {
        // The colons of an IPv6 address are inside brackets.
        Some(colon) if !value[colon..].contains(&b']') => (&value[..colon], &value[colon + 1..]),
        _ => (value, b"".as_slice()),
    };
    let good = match name.strip_prefix(b"[").and_then(|rest| rest.strip_suffix(b"]")) {
        Some(inside) => {
            std::str::from_utf8(inside).is_ok_and(|text| text.parse::<std::net::Ipv6Addr>().is_ok())
        }
        None => {
            !name.is_empty() && name.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-._~".contains(byte))
        }
    };
    good && port.len() <= 5 && port.iter().all(u8::is_ascii_digit) && !value.ends_with(b":")
}

/// Fields that frame the message or control the connection, which rules must not change. Includes names that CGI
/// gateways treat as the same.
const FORBIDDEN: [&str; 14] = [
    "connection",
    "content-length",
    "content_length",
    "expect",
    "http2-settings",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "transfer_encoding",
    "upgrade",
];

const NAME_BYTES_MAX: usize = 100;

/// A head has room for a hundred fields; a rule that changes half of them is wrong.
const EDITS_MAX: usize = 50;

/// Half of the limit of a head.
const EDIT_BYTES_MAX: usize = 8 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    fn told(fields: &Fields) -> Vec<String> {
        fields.added().map(|(name, value)| format!("{name}={}", String::from_utf8_lossy(value))).collect()
    }

    #[test]
    fn the_last_word_on_a_field_counts() {
        let mut fields = Fields::default();
        fields.add("X-A", b"1").unwrap();
        assert!(!fields.replaces("x-a"));
        assert_eq!(fields.first("x-a", Some(b"0")), Some(b"0".as_slice()));
        assert_eq!(fields.first("x-a", None), Some(b"1".as_slice()));
        fields.set("x-a", b" 2 ").unwrap();
        fields.add("X-a", b"3").unwrap();
        assert_eq!(told(&fields), ["x-a=2", "X-a=3"]);
        assert_eq!(fields.first("X-A", Some(b"0")), Some(b"2".as_slice()));
        fields.remove("X-A").unwrap();
        assert!(fields.replaces("x-A") && told(&fields).is_empty());
        assert_eq!(fields.first("X-A", Some(b"0")), None);
        fields.add("X-A", b"4").unwrap();
        assert_eq!(fields.first("X-A", Some(b"0")), Some(b"4".as_slice()));
    }

    #[test]
    fn what_frames_a_message_or_breaks_a_line_is_refused() {
        let mut fields = Fields::default();
        for name in
            ["", "a b", "a:", "ä", "Content-Length", "TRANSFER-ENCODING", "te", "Upgrade", "content_length"]
        {
            assert!(fields.set(name, b"1").is_err(), "{name}");
            assert!(fields.add(name, b"1").is_err(), "{name}");
            assert!(fields.remove(name).is_err(), "{name}");
        }
        for value in [b"a\r\nb".as_slice(), b"a\nb", b"a\0", b"\x7f"] {
            assert!(fields.set("X", value).is_err() && fields.add("X", value).is_err(), "{value:?}");
        }
        for host in ["", "a b", "a/b", "a,b", "a:b", "a:", "[::1", "[x]", "a@b"] {
            assert!(fields.set("Host", host.as_bytes()).is_err(), "{host}");
        }
        assert!(fields.add("Host", b"a").is_err() && fields.remove("host").is_err());
        assert!(told(&fields).is_empty());
        for host in ["a", "a.b:80", "127.0.0.1", "[::1]", "[::1]:80"] {
            fields.set("Host", host.as_bytes()).unwrap();
        }
        assert_eq!(told(&fields), ["Host=[::1]:80"]);
    }

    #[test]
    fn changes_are_bounded() {
        let mut fields = Fields::default();
        let fitting = (0..1_000).take_while(|number| fields.add(&format!("X-{number}"), b"").is_ok()).count();
        assert_eq!(fitting, EDITS_MAX);
        let mut fields = Fields::default();
        let big = vec![b'x'; EDIT_BYTES_MAX / 2];
        fields.set("A", &big).unwrap();
        fields.set("A", &big).unwrap();
        assert!(fields.set("B", &big).is_err());
    }

    #[test]
    fn path_and_query_change_apart() {
        let changes = |path: Option<&str>, query: Option<&str>| Changes {
            path: path.map(|path| path.as_bytes().to_vec()),
            query: query.map(str::to_owned),
            ..Changes::default()
        };
        for (path, query, expected) in [
            (None, None, None),
            (Some("/v2/x"), None, Some("/v2/x?a=b")),
            (None, Some("c=d"), Some("/x%20y?c=d")),
            (None, Some(""), Some("/x%20y")),
            (Some("/a b?c#d%e/ä"), Some("f"), Some("/a%20b%3Fc%23d%25e/%C3%A4?f")),
        ] {
            assert_eq!(changes(path, query).target("/x%20y?a=b").as_deref(), expected);
        }
        assert_eq!(changes(Some("/y"), None).target("/x").as_deref(), Some("/y"));
    }
}
