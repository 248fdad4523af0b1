//! The common parts of formats with one JSON object per line: errors, base64, and validation.

use crate::fault::{Fault, plain, shown};
use crate::request;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

/// Parses an object; `example` is an example of a line.
///
/// # Errors
/// The line is not JSON, or not such an object.
pub fn object<'a, T: Deserialize<'a>>(line: &'a [u8], example: &'static str) -> Result<T, Fault> {
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

/// Decodes a body; `line` is used for the place of an error.
///
/// # Errors
/// It is not base64.
pub fn body(line: &[u8], text: &str) -> Result<Vec<u8>, Fault> {
    STANDARD.decode(text).map_err(|error| {
        fault(line, text, format!("a body that is not base64 ({error})"), "base64 with padding")
    })
}

/// Encodes a body for [`body`].
pub fn encode(body: &[u8]) -> String {
    STANDARD.encode(body)
}

/// Checks what JSON does not, so that exactly one request is sent.
///
/// # Errors
/// Method, URL or a header cannot be sent.
pub fn check(line: &[u8], name: &str, address: &str, headers: &[(String, String)]) -> Result<(), Fault> {
    if request::method(name.as_bytes()).is_none() {
        let found = format!("the method {}", shown(name.as_bytes()));
        return Err(fault(line, name, found, "a method such as GET"));
    }
    if address != "*" && request::url(address.as_bytes()).as_deref() != Ok(address) {
        let found = format!("the URL {}", shown(address.as_bytes()));
        return Err(fault(line, address, found, "an http or https URL or a path, in visible ASCII"));
    }
    for (name, value) in headers {
        request::check_header(name, value)
            .map_err(|found| fault(line, name, found, "a header that can be sent"))?;
    }
    Ok(())
}

/// A fault about a value somewhere in the line.
fn fault(line: &[u8], value: &str, found: String, expected: &'static str) -> Fault {
    let at = line.windows(value.len().max(1)).position(|window| window == value.as_bytes()).unwrap_or(0);
    Fault::of(line, at, found, expected)
}
