//! Masks secrets in captures, so that they never reach the disk.
//!
//! A masked value is a keyed hash of the real one: within one capture, different sessions stay different, and equal
//! ones stay equal. Each capture has a new random key, kept in memory only, so that values cannot be tested against it.

use crate::key;
use crate::settings::Capture;
use http::codec::header::is_credential;
use std::borrow::Cow;
use std::hash::{BuildHasher, RandomState};

pub(crate) struct Mask {
    key: RandomState,
    headers: Vec<String>,
    query: Vec<String>,
}

impl Mask {
    pub(crate) fn new(capture: &Capture) -> Self {
        let (headers, query) = (capture.mask_headers.clone(), capture.mask_query.clone());
        Mask { key: RandomState::new(), headers, query }
    }

    /// The replacement of a value.
    pub(crate) fn value(&self, value: &[u8]) -> String {
        format!("masked-{:016x}", self.key.hash_one(value))
    }

    /// A field's value with its secrets masked.
    pub(crate) fn field<'a>(&self, name: &str, value: &'a str) -> Cow<'a, str> {
        let is = |known: &str| name.eq_ignore_ascii_case(known);
        if self.headers.iter().any(|masked| is(masked)) {
            return self.value(value.as_bytes()).into();
        }
        if is("cookie") || is("set-cookie") {
            return self.cookies(value).into();
        }
        if is_credential(name.as_bytes()) {
            // The scheme is not secret, and shows the kind of session.
            return match value.split_once(' ') {
                Some((scheme, secret)) => format!("{scheme} {}", self.value(secret.as_bytes())).into(),
                None => self.value(value.as_bytes()).into(),
            };
        }
        if is("referer") { self.target(value) } else { Cow::Borrowed(value) }
    }

    /// Names are kept, values are masked; the attributes of Set-Cookie are not needed.
    fn cookies(&self, value: &str) -> String {
        let masked =
            key::cookies(value.as_bytes()).filter(|(name, _)| !name.is_empty()).map(|(name, value)| {
                format!("{}={}", String::from_utf8_lossy(name), self.value(value.unwrap_or_default()))
            });
        masked.collect::<Vec<_>>().join("; ")
    }

    /// A path or an address with its secrets masked.
    pub(crate) fn target<'a>(&self, target: &'a str) -> Cow<'a, str> {
        let Some((path, query)) = target.split_once('?').filter(|_| !self.query.is_empty()) else {
            return Cow::Borrowed(target);
        };
        let mut masked = String::with_capacity(target.len() + 32);
        masked.push_str(path);
        for (index, pair) in query.split('&').enumerate() {
            masked.push(if index == 0 { '?' } else { '&' });
            match pair.split_once('=') {
                Some((name, value)) if self.query.iter().any(|known| *known == plain(name)) => {
                    masked.push_str(name);
                    masked.push('=');
                    masked.push_str(&self.value(value.as_bytes()));
                }
                _ => masked.push_str(pair),
            }
        }
        masked.into()
    }
}

/// A name without percent encoding, which could hide it.
fn plain(name: &str) -> String {
    let (mut bytes, mut rest) = (Vec::new(), name.as_bytes());
    while let Some((&first, behind)) = rest.split_first() {
        let digits =
            behind.get(..2).filter(|digits| first == b'%' && digits.iter().all(u8::is_ascii_hexdigit));
        let byte = digits.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok());
        bytes.push(byte.unwrap_or(first));
        rest = if byte.is_some() { &behind[2..] } else { behind };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mask() -> Mask {
        let (mask_headers, mask_query) = (vec!["X-Api-Key".to_owned()], vec!["token".to_owned()]);
        Mask::new(&Capture { mask_headers, mask_query, ..Capture::new("x".into()) })
    }

    #[test]
    fn no_secret_is_left_and_sessions_stay_apart() {
        let mask = mask();
        for (name, value, other) in [
            ("Authorization", "Bearer s3cret", "Bearer s3cret2"),
            ("authorization", "s3cret", "s3cret2"),
            ("Cookie", "sid=s3cret; theme=s3cret", "sid=s3cret2; theme=s3cret"),
            ("Set-Cookie", "sid=s3cret; HttpOnly", "sid=s3cret2; HttpOnly"),
            ("x-api-key", "s3cret", "s3cret2"),
            ("Referer", "http://a/?token=s3cret", "http://a/?token=s3cret2"),
        ] {
            let masked = mask.field(name, value);
            assert!(!masked.contains("s3cret"), "{masked}");
            assert_eq!(masked, mask.field(name, value));
            assert_ne!(masked, mask.field(name, other));
        }
        assert!(mask.field("Authorization", "Bearer x").starts_with("Bearer masked-"));
        assert!(mask.field("Cookie", "sid=x").starts_with("sid=masked-"));
        assert_eq!(mask.field("Accept", "s3cret"), "s3cret");
    }

    #[test]
    fn parameters_are_masked_by_name_however_it_is_spelt() {
        let mask = mask();
        for target in ["/a?token=s3cret&b=1", "/a?b=1&to%6ben=s3cret", "/a?token=s3cret"] {
            let masked = mask.target(target);
            assert!(!masked.contains("s3cret") && masked.contains("en=masked-"), "{masked}");
        }
        assert_eq!(mask.target("/a?b=1&c&d="), "/a?b=1&c&d=");
        assert_eq!(mask.target("/token=1"), "/token=1");
    }

    #[test]
    fn another_capture_has_another_key() {
        assert_ne!(mask().value(b"a"), mask().value(b"a"));
    }
}
