//! A header line as users write it: `Name: value`.

use capture::request::check_header_name;
use capture::{Fault, shown};

/// Splits and checks a header, so that exactly one valid header is sent.
pub(crate) fn header(line: &[u8]) -> Result<(String, String), Fault> {
    let Some(colon) = line.iter().position(|byte| *byte == b':') else {
        return Err(Fault::at(line, 0, "a header such as `Name: value`"));
    };
    let name = line[..colon].trim_ascii();
    check_header_name(name).map_err(|_| Fault::at(line, 0, "the name of a header before the colon"))?;
    let value = line[colon + 1..].trim_ascii();
    if let Some(offset) = line.iter().position(|byte| byte.is_ascii_control() && *byte != b'\t') {
        return Err(Fault::of(
            line,
            offset,
            shown(&line[offset..=offset]),
            "no control character in a header",
        ));
    }
    Ok((String::from_utf8_lossy(name).into_owned(), String::from_utf8_lossy(value).into_owned()))
}

/// The value of a header from a log. Line breaks sent by the client cannot be sent again.
pub(crate) fn sendable(value: &[u8]) -> String {
    String::from_utf8_lossy(value).replace(char::is_control, " ")
}
