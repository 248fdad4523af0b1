//! The server: the part of a URL before its path.

use super::OriginError;
use std::net::{IpAddr, Ipv6Addr};

/// The protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// HTTP without TLS.
    Http,
    /// HTTP over TLS.
    Https,
}

impl Scheme {
    /// The port if the URL names none.
    pub const fn default_port(self) -> u16 {
        match self {
            Scheme::Http => 80,
            Scheme::Https => 443,
        }
    }

    /// The name in a URL.
    pub const fn name(self) -> &'static str {
        match self {
            Scheme::Http => "http",
            Scheme::Https => "https",
        }
    }
}

/// The server of a URL.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Origin {
    /// The protocol.
    pub scheme: Scheme,
    /// The host name in lower case, or the address without brackets. It is what a certificate must carry.
    pub host: String,
    /// The port, 1 to 65535.
    pub port: u16,
    /// Host and port as they were given, for the `Host` field.
    pub authority: String,
}

impl Origin {
    /// Splits the origin off a URL: the origin, and the part after it without the fragment, which begins with `/` or
    /// `?` or is empty. Without a scheme the URL is read as `http`.
    ///
    /// # Errors
    /// What is wrong with the URL, and how to write it.
    pub fn of_url(url: &str) -> Result<(Origin, &str), OriginError> {
        let wrong = |why| OriginError { url: url.to_owned(), why };
        let (scheme, rest) = match url.split_once("://") {
            // A URL may contain another one in its query.
            Some((scheme, _)) if scheme.contains(['/', '?', '#']) => (Scheme::Http, url),
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => (Scheme::Http, rest),
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("https") => (Scheme::Https, rest),
            Some(_) => return Err(wrong("its scheme is neither http nor https")),
            None => (Scheme::Http, url),
        };
        let rest = rest.split('#').next().unwrap_or(rest);
        if rest.bytes().any(|byte| byte <= b' ' || byte == 0x7f) {
            return Err(wrong("it contains a space or a control character"));
        }
        let (authority, rest) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        Ok((Origin::new(scheme, authority).map_err(|error| wrong(error.why))?, rest))
    }

    /// An origin from `host`, `host:port`, `[address]` or `[address]:port`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn new(scheme: Scheme, authority: &str) -> Result<Origin, OriginError> {
        let wrong = |why| OriginError { url: format!("{}://{authority}", scheme.name()), why };
        if authority.is_empty() {
            return Err(wrong("it has no host"));
        }
        if authority.contains('@') {
            return Err(wrong("credentials belong in a header (-H 'Authorization: …')"));
        }
        let (host, port) = split_port(authority).map_err(wrong)?;
        let port = match port {
            None => scheme.default_port(),
            Some(port) => self::port(port).map_err(wrong)?,
        };
        let authority = authority.strip_suffix(':').unwrap_or(authority).to_owned();
        Ok(Origin { scheme, host: self::host(host).map_err(wrong)?, port, authority })
    }

    /// The host as an address, if it is one.
    pub fn ip(&self) -> Option<IpAddr> {
        self.host.parse().ok()
    }
}

/// Splits `host:port`; an empty port counts as none.
fn split_port(text: &str) -> Result<(&str, Option<&str>), &'static str> {
    let (host, rest) = if text.starts_with('[') {
        let end = text.find(']').ok_or("its address has no closing bracket")?;
        text.split_at(end + 1)
    } else {
        text.split_at(text.find(':').unwrap_or(text.len()))
    };
    if rest.matches(':').count() > 1 {
        return Err("an IPv6 address needs brackets, as in http://[::1]:8080/");
    }
    match rest.strip_prefix(':') {
        Some("") => Ok((host, None)),
        Some(port) => Ok((host, Some(port))),
        None if rest.is_empty() => Ok((host, None)),
        None => Err("something stands between its address and its port"),
    }
}

pub(super) fn port(text: &str) -> Result<u16, &'static str> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse() {
        Ok(port @ 1..) if digits => Ok(port),
        _ => Err("its port is no number from 1 to 65535"),
    }
}

/// A host name in lower case, or an address without its brackets.
pub(super) fn host(text: &str) -> Result<String, &'static str> {
    if let Some(address) = text.strip_prefix('[') {
        let address = address.strip_suffix(']').ok_or("its address has no closing bracket")?;
        if address.contains('%') {
            return Err("an address with a zone is not supported");
        }
        let address: Ipv6Addr = address.parse().map_err(|_| "what stands in brackets is no IPv6 address")?;
        return Ok(address.to_string());
    }
    if text.is_empty() {
        return Err("it has no host");
    }
    if !text.is_ascii() {
        return Err("its host is not ASCII (write it as the name system does, xn--…)");
    }
    if !text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte)) {
        return Err("its host contains something other than letters, digits, dots and dashes");
    }
    Ok(text.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_taken_off_its_url() {
        for (url, scheme, host, port, authority, rest) in [
            ("http://a.example/x?y#z", Scheme::Http, "a.example", 80, "a.example", "/x?y"),
            ("https://A.example", Scheme::Https, "a.example", 443, "A.example", ""),
            ("HTTPS://a_b:8443?x", Scheme::Https, "a_b", 8443, "a_b:8443", "?x"),
            // Without a scheme.
            ("127.0.0.1:8080/", Scheme::Http, "127.0.0.1", 8080, "127.0.0.1:8080", "/"),
            ("localhost", Scheme::Http, "localhost", 80, "localhost", ""),
            ("localhost?to=http://other", Scheme::Http, "localhost", 80, "localhost", "?to=http://other"),
            // An address in brackets, in its shortest form.
            ("http://[::1]/", Scheme::Http, "::1", 80, "[::1]", "/"),
            ("https://[0:0::0001]:1", Scheme::Https, "::1", 1, "[0:0::0001]:1", ""),
            // An empty port counts as none.
            ("http://a:/", Scheme::Http, "a", 80, "a", "/"),
            ("http://[::1]:/", Scheme::Http, "::1", 80, "[::1]", "/"),
        ] {
            let (origin, found_rest) = Origin::of_url(url).unwrap();
            let expected = Origin { scheme, host: host.to_owned(), port, authority: authority.to_owned() };
            assert_eq!((origin, found_rest), (expected, rest), "{url}");
        }
    }

    #[test]
    fn a_url_that_leads_nowhere_is_refused_with_the_reason() {
        for (url, why) in [
            ("ftp://a/", "its scheme is neither http nor https"),
            ("http:///x", "it has no host"),
            ("", "it has no host"),
            ("http://:80/", "it has no host"),
            ("http://a b/", "it contains a space or a control character"),
            ("http://a/b c", "it contains a space or a control character"),
            ("http://me@a/", "credentials belong in a header"),
            ("http://me:secret@a/", "credentials belong in a header"),
            ("http://a:0/", "its port is no number from 1 to 65535"),
            ("http://a:65536/", "its port is no number from 1 to 65535"),
            ("http://a:+1/", "its port is no number from 1 to 65535"),
            ("http://a:http/", "its port is no number from 1 to 65535"),
            ("http://::1/", "an IPv6 address needs brackets"),
            ("http://[::1/", "its address has no closing bracket"),
            ("http://[::1]80/", "something stands between its address and its port"),
            ("http://[a]/", "what stands in brackets is no IPv6 address"),
            ("http://[fe80::1%25eth0]/", "an address with a zone is not supported"),
            ("http://müller.example/", "its host is not ASCII"),
            ("http://a%20b/", "its host contains something other than letters"),
        ] {
            let error = Origin::of_url(url).unwrap_err();
            assert!(error.why.starts_with(why), "{url}: {error}");
            assert!(error.to_string().starts_with(&format!("`{url}` is no URL")), "{error}");
        }
    }
}
