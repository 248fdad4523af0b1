//! A list of URLs, one a line; lines that begin with `#` are comments.

use crate::Entry;
use crate::error::Fault;
use crate::reader::LineParser;

#[derive(Debug)]
pub(crate) struct Urls;

impl LineParser for Urls {
    fn parse(&mut self, line: &[u8]) -> Result<Option<Entry>, Fault> {
        let text = line.trim_ascii();
        if text.is_empty() || text.starts_with(b"#") {
            return Ok(None);
        }
        let offset = line.len() - line.trim_ascii_start().len();
        let url = url(text).map_err(|fault| fault.within(line, offset))?;
        Ok(Some(Entry { method: "GET".to_owned(), url, ..Entry::default() }))
    }
}

/// Checks that a text is an absolute http or https URL with a host, or a path, in visible characters.
///
/// Bytes beyond ASCII are percent-encoded, as browsers do. Whether a server likes the rest is its business.
pub(crate) fn url(text: &[u8]) -> Result<String, Fault> {
    if let Some(offset) = text.iter().position(|byte| *byte <= b' ' || *byte == 0x7f) {
        let expected = "no space or control character in a URL";
        let what = if text[offset] == b' ' {
            "a space".to_owned()
        } else {
            crate::error::shown(&text[offset..=offset])
        };
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
pub(crate) fn visible(text: &[u8]) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text {
        if byte.is_ascii_graphic() { out.push(char::from(*byte)) } else { percent(&mut out, *byte) }
    }
    out
}

/// Writes `%2F` for `/`.
pub(crate) fn percent(out: &mut String, byte: u8) {
    const DIGITS: [char; 16] =
        ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'A', 'B', 'C', 'D', 'E', 'F'];
    out.extend(['%', DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
}

const SCHEMES: [&str; 2] = ["http://", "https://"];
