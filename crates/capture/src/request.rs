//! Validation of a request: its method, its URL, its headers.

use crate::fault::{Fault, shown};

/// A method in capital letters, like all registered ones.
pub fn method(text: &[u8]) -> Option<String> {
    let capitals = !text.is_empty() && text.iter().all(|byte| byte.is_ascii_uppercase() || *byte == b'-');
    (capitals && text[0] != b'-').then(|| String::from_utf8_lossy(text).into_owned())
}

/// Checks that a text is an absolute http or https URL with a host, or a path, in visible characters.
///
/// Non-ASCII bytes are percent-encoded, as browsers do. Whether a server accepts the rest is not checked.
///
/// # Errors
/// It is none of these; with the place.
pub fn url(text: &[u8]) -> Result<String, Fault> {
    if let Some(offset) = text.iter().position(|byte| *byte <= b' ' || *byte == 0x7f) {
        let expected = "no space or control character in a URL";
        let what = if text[offset] == b' ' { "a space".to_owned() } else { shown(&text[offset..=offset]) };
        return Err(Fault::of(text, offset, what, expected).way_out("write it as %20 and so on"));
    }
    let scheme = SCHEMES.iter().find(|scheme| {
        text.get(..scheme.len()).is_some_and(|head| head.eq_ignore_ascii_case(scheme.as_bytes()))
    });
    match scheme {
        Some(scheme) => {
            let host = text.get(scheme.len()).copied();
            if matches!(host, None | Some(b'/' | b'?' | b'#' | b':')) {
                return Err(Fault::at(text, scheme.len(), "a host"));
            }
        }
        None if text.starts_with(b"/") => {}
        None => {
            return Err(Fault::at(
                text,
                0,
                "a URL that begins with http:// or https://, or a path that begins with /",
            ));
        }
    }
    Ok(visible(text))
}

/// The text with every byte outside visible ASCII percent-encoded.
pub fn visible(text: &[u8]) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text {
        if byte.is_ascii_graphic() { out.push(char::from(*byte)) } else { percent(&mut out, *byte) }
    }
    out
}

/// Writes `%2F` for `/`.
pub fn percent(out: &mut String, byte: u8) {
    const DIGITS: [char; 16] =
        ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'A', 'B', 'C', 'D', 'E', 'F'];
    out.extend(['%', DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
}

/// Checks a header given as name and value.
///
/// # Errors
/// A part cannot be sent; with what was found.
pub fn check_header(name: &str, value: &str) -> Result<(), String> {
    check_header_name(name.as_bytes())?;
    match value.chars().find(|c| c.is_control() && *c != '\t') {
        Some(control) => {
            Err(format!("a control character ({}) in the header {name}", control.escape_default()))
        }
        None => Ok(()),
    }
}

/// Checks the name of a header: a token of RFC 9110, 5.6.2.
///
/// # Errors
/// It is not a token; with what was found.
pub fn check_header_name(name: &[u8]) -> Result<(), String> {
    let token = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
    if !name.is_empty() && name.iter().all(token) {
        Ok(())
    } else {
        Err(format!("a header called {}", shown(name)))
    }
}

const SCHEMES: [&str; 2] = ["http://", "https://"];
