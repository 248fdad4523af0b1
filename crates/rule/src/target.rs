//! The parts of a request target, and cookies: read and written in the forms that rules use.

/// Checks a path given by a rule: unescaped, as `http.getPath` returns it.
pub(crate) fn check_path(path: &[u8]) -> Result<(), String> {
    if path.first() != Some(&b'/') {
        let shown = String::from_utf8_lossy(path);
        return Err(format!("the path is {shown:?}; it begins with \"/\""));
    }
    if path.len() > TARGET_BYTES_MAX {
        return Err(format!(
            "the path has {} bytes, more than {TARGET_BYTES_MAX}; give a shorter one",
            path.len()
        ));
    }
    Ok(())
}

/// A path as in a request line (RFC 3986, section 3.3).
pub(crate) fn escape_path(path: &[u8]) -> String {
    escape(path, b"-._~!$&'()*+,;=:@/")
}

/// Checks a query given by a rule: escaped, without the question mark.
pub(crate) fn check_query(query: &str) -> Result<(), String> {
    if query.starts_with('?') {
        return Err("the query begins with \"?\"; leave that out".to_owned());
    }
    if let Some(odd) = query.chars().find(|c| !c.is_ascii_graphic() || *c == '#') {
        return Err(format!("the query has {odd:?}; percent-encode it, or use http.setQueryParam"));
    }
    check_query_length(query)
}

fn check_query_length(query: &str) -> Result<(), String> {
    if query.len() > TARGET_BYTES_MAX {
        return Err(format!(
            "the query has {} bytes, more than {TARGET_BYTES_MAX}; give a shorter one",
            query.len()
        ));
    }
    Ok(())
}

/// The first value of a parameter, unescaped.
pub(crate) fn query_param(query: &str, name: &[u8]) -> Option<Vec<u8>> {
    let value = |part: &str| {
        let (key, value) = part.split_once('=').unwrap_or((part, ""));
        (unescape(key) == name).then(|| unescape(value))
    };
    query.split('&').filter(|part| !part.is_empty()).find_map(value)
}

/// The query with all parameters of a name replaced by one or, without a value, removed.
pub(crate) fn with_query_param(query: &str, name: &[u8], value: Option<&[u8]>) -> Result<String, String> {
    if name.is_empty() {
        return Err("a parameter has a name; give one".to_owned());
    }
    let new = value.map(|value| format!("{}={}", escape(name, UNRESERVED), escape(value, UNRESERVED)));
    let is_it = |part: &str| unescape(part.split_once('=').map_or(part, |(key, _)| key)) == name;
    let mut placed = false;
    let mut parts: Vec<&str> = Vec::new();
    for part in query.split('&').filter(|part| !part.is_empty()) {
        if !is_it(part) {
            parts.push(part);
        } else if let Some(new) = new.as_deref().filter(|_| !placed) {
            parts.push(new);
            placed = true;
        }
    }
    parts.extend(new.as_deref().filter(|_| !placed));
    let query = parts.join("&");
    check_query_length(&query)?;
    Ok(query)
}

/// The value of a cookie in a Cookie field.
pub(crate) fn cookie<'a>(field: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    cookies(field).find(|(found, _)| *found == name).map(|(_, value)| value)
}

/// The Cookie field with all cookies of a name replaced by one or, without a value, removed.
pub(crate) fn with_cookie(field: &[u8], name: &[u8], value: Option<&[u8]>) -> Result<Vec<u8>, String> {
    if name.is_empty() || !name.iter().all(|byte| crate::changes::is_token(*byte)) {
        let shown = String::from_utf8_lossy(name);
        return Err(format!("{shown:?} is no name of a cookie; it has letters, digits and hyphens"));
    }
    // RFC 6265, section 4.1.1.
    let odd = |byte: &&u8| !byte.is_ascii_graphic() || b"\",;\\".contains(*byte);
    if let Some(byte) = value.and_then(|value| value.iter().find(odd)) {
        return Err(format!(
            "the value has the byte 0x{byte:02x}, which a cookie cannot have; percent-encode it"
        ));
    }
    let kept = cookies(field).filter(|(found, _)| *found != name);
    let mut all = Vec::new();
    for (name, value) in kept.chain(value.map(|value| (name, value))) {
        if !all.is_empty() {
            all.extend_from_slice(b"; ");
        }
        all.extend_from_slice(name);
        all.push(b'=');
        all.extend_from_slice(value);
    }
    Ok(all)
}

fn cookies(field: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    field.split(|byte| *byte == b';').filter_map(|pair| {
        let equals = pair.iter().position(|byte| *byte == b'=')?;
        Some((pair[..equals].trim_ascii(), pair[equals + 1..].trim_ascii()))
    })
}

fn escape(bytes: &[u8], plain: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for &byte in bytes {
        if byte.is_ascii_alphanumeric() || plain.contains(&byte) {
            text.push(char::from(byte));
        } else {
            text.push('%');
            text.push(char::from(b"0123456789ABCDEF"[usize::from(byte >> 4)]));
            text.push(char::from(b"0123456789ABCDEF"[usize::from(byte & 0xf)]));
        }
    }
    text
}

/// Resolves escapes and plus signs; invalid escapes stay.
fn unescape(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, behind)) = rest.split_first() {
        let digit = |at: usize| behind.get(at).and_then(|byte| char::from(*byte).to_digit(16));
        match (first, digit(0), digit(1)) {
            (b'%', Some(high), Some(low)) => {
                bytes.push((high * 16 + low) as u8);
                rest = &behind[2..];
                continue;
            }
            (b'+', ..) => bytes.push(b' '),
            (other, ..) => bytes.push(other),
        }
        rest = behind;
    }
    bytes
}

const UNRESERVED: &[u8] = b"-._~";

/// The longest path or query from a rule; services accept some 8 kB for both.
const TARGET_BYTES_MAX: usize = 4 * 1024;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn parameters_are_read_and_written_by_their_meaning() {
        assert_eq!(query_param("a=1&b=x%20y+z&b=2&c", b"b").as_deref(), Some(b"x y z".as_slice()));
        assert_eq!(query_param("a=1&c", b"c").as_deref(), Some(b"".as_slice()));
        assert_eq!(query_param("%61=1", b"a").as_deref(), Some(b"1".as_slice()));
        assert_eq!(query_param("", b""), None);
        for (query, value, expected) in [
            ("", Some("1"), "b=1"),
            ("a=1", Some("x y&"), "a=1&b=x%20y%26"),
            ("b=1&a=2&%62=3", Some("4"), "b=4&a=2"),
            ("b&a=2&b=", None, "a=2"),
        ] {
            assert_eq!(with_query_param(query, b"b", value.map(str::as_bytes)).as_deref(), Ok(expected));
        }
    }

    #[test]
    fn cookies_are_read_and_written() {
        assert_eq!(cookie(b"a=1; b=2=3;c=\"4\"", b"b"), Some(b"2=3".as_slice()));
        assert_eq!(cookie(b"ab=1; b", b"b"), None);
        let with = |field: &str, value: Option<&str>| {
            with_cookie(field.as_bytes(), b"b", value.map(str::as_bytes))
                .map(|all| String::from_utf8(all).unwrap())
        };
        assert_eq!(with("a=1; b=2; c=3; b=4", Some("5")).as_deref(), Ok("a=1; c=3; b=5"));
        assert_eq!(with("b=2", None).as_deref(), Ok(""));
        assert!(with("", Some("a;b")).is_err() && with("", Some("a\r\n")).is_err());
    }

    proptest! {
        #[test]
        fn what_was_set_is_what_is_read(query in "[ -~]{0,30}", name in prop::collection::vec(any::<u8>(), 1..9), value in any::<Vec<u8>>()) {
            let query: String = query.chars().filter(|c| *c != '#' && *c != ' ').collect();
            let with = with_query_param(&query, &name, Some(&value)).unwrap();
            prop_assert_eq!(query_param(&with, &name), Some(value));
            prop_assert!(with.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#'));
            let without = with_query_param(&with, &name, None).unwrap();
            prop_assert_eq!(query_param(&without, &name), None);
        }
    }
}
