//! Keys of requests, and the names of header fields and cookies.

use crate::file::{FileKey, FileKeyTable};
use fields::{At, Report, Text};
use gateway::settings::KeyBy;
use http::codec::write::check_name;

/// A key; the client if the key has a problem.
pub(crate) fn key(at: &At<FileKey>, report: &mut Report) -> KeyBy {
    match &at.value {
        FileKey::Client => KeyBy::Client,
        FileKey::Table(FileKeyTable { header: Some(header), cookie: None }) => {
            KeyBy::Header(header_name(header, report))
        }
        FileKey::Table(FileKeyTable { header: None, cookie: Some(cookie) }) => {
            KeyBy::Cookie(cookie_name(cookie, "sid", report))
        }
        FileKey::Table(_) => {
            // A key that could not be read is not missing.
            if !report.knows_of(&at.place.path) {
                let message = "expected exactly one of `header` and `cookie`".to_owned();
                report.wrong(&at.place, message, "which key?", FileKey::HELP.to_owned());
            }
            KeyBy::Client
        }
    }
}

/// The name of a header field, in lower case.
pub(crate) fn header_name(at: &At<Text>, report: &mut Report) -> String {
    token(at, "a header field", (NAME_BYTES_MAX, "X-Api-Key"), report);
    at.value.0.to_ascii_lowercase()
}

/// The name of a cookie.
pub(super) fn cookie_name(at: &At<Text>, example: &str, report: &mut Report) -> String {
    token(at, "a cookie", (NAME_BYTES_MAX, example), report);
    at.value.0.clone()
}

/// Whether a name is an HTTP token.
pub(super) fn token(
    At { value: Text(name), place }: &At<Text>,
    of: &str,
    (most, example): (usize, &str),
    report: &mut Report,
) -> bool {
    let fits = name.len() <= most && check_name(name).is_ok();
    if !fits {
        let message = format!("{name:?} cannot be the name of {of}");
        let help = format!("use 1 to {most} letters, digits and any of `-_.`, as in `{example}`");
        report.wrong(place, message, "this value", help);
    }
    fits
}

/// The maximum length of header field and cookie names.
const NAME_BYTES_MAX: usize = 100;
