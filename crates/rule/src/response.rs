//! A response that a rule sends in place of the service.

use crate::changes::{check_name, is_control, is_token};

/// A response made by a rule, checked so that it can be written unchanged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    /// From 200 to 599.
    pub status: u16,
    /// The reason phrase, if the rule gave one.
    pub reason: Option<String>,
    /// Header fields in order. Never the framing fields, which the gateway writes.
    pub headers: Vec<(String, String)>,
    /// The body; empty for 204 and 304.
    pub body: Vec<u8>,
}

/// The arguments of `http.sendResponse`, in order.
pub(crate) struct Draft<'a> {
    pub(crate) status: f64,
    pub(crate) reason_or_type: &'a str,
    pub(crate) body: &'a [u8],
    pub(crate) headers: &'a str,
}

impl Draft<'_> {
    /// Checks the draft. The second argument is a content type if it has a slash, otherwise a reason phrase; a body
    /// without a content type is `text/html`.
    ///
    /// # Errors
    /// What is wrong and how to write it.
    pub(crate) fn finish(self) -> Result<Response, String> {
        let status = check_status(self.status)?;
        if !self.body.is_empty() && matches!(status, 204 | 304) {
            return Err(format!("a response with status {status} has no body; give an empty string"));
        }
        let second = self.reason_or_type;
        if second.bytes().any(is_control) {
            return Err(format!("the second argument is {second:?}; it has no control characters"));
        }
        let (content_type, reason) =
            if second.contains('/') { (Some(second), None) } else { (None, Some(second)) };
        let mut headers = parse_headers(self.headers)?;
        let typed = headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type"));
        if typed && content_type.is_some() {
            return Err("the content type is given twice; leave it out of the headers".to_string());
        }
        if !typed && !self.body.is_empty() {
            headers.insert(0, ("content-type".to_string(), content_type.unwrap_or("text/html").to_string()));
        }
        let reason = reason.filter(|reason| !reason.is_empty()).map(str::to_string);
        Ok(Response { status, reason, headers, body: self.body.to_vec() })
    }
}

/// A valid response status.
///
/// # Errors
/// The valid range.
pub(crate) fn check_status(status: f64) -> Result<u16, String> {
    if status.fract() != 0.0 || !(200.0..600.0).contains(&status) {
        return Err(format!("the status is {status}; it is a whole number from 200 to 599"));
    }
    Ok(status as u16)
}

/// A 302 to another address.
///
/// # Errors
/// What is wrong with the address.
pub(crate) fn redirect(url: &str) -> Result<Response, String> {
    if url.is_empty() || !url.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(format!(
            "the address is {url:?}; it is visible ASCII without spaces, percent-encode the rest"
        ));
    }
    let headers = vec![("location".to_string(), url.to_string())];
    Ok(Response { status: 302, reason: None, headers, body: Vec::new() })
}

/// Reads `Name: value` lines.
fn parse_headers(text: &str) -> Result<Vec<(String, String)>, String> {
    let mut headers = Vec::new();
    for line in text.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line)) {
        if line.is_empty() {
            continue;
        }
        let wrong =
            || format!("the header line is {line:?}; it reads \"Name: value\", lines end with \"\\n\"");
        let (name, value) = line.split_once(':').ok_or_else(wrong)?;
        let value = value.trim_matches([' ', '\t']);
        if name.is_empty() || !name.bytes().all(is_token) || value.bytes().any(is_control) {
            return Err(wrong());
        }
        check_name(name)?;
        headers.push((name.to_string(), value.to_string()));
    }
    Ok(headers)
}
