//! The part of URLs that a scenario needs: where a request is sent, and where a redirect leads (RFC 3986).

use super::value::stands_in_url;

/// Scheme, host and port: the destination of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// `https` rather than `http`.
    pub secure: bool,
    /// Host and, where it was given, port; in lower case.
    pub authority: String,
}

impl Origin {
    /// The host without its port and without the brackets of an IPv6 address.
    pub fn host(&self) -> &str {
        if let Some(rest) = self.authority.strip_prefix('[') {
            return rest.split(']').next().unwrap_or(rest);
        }
        self.authority.split(':').next().unwrap_or_default()
    }

    fn scheme(&self) -> &'static str {
        if self.secure { "https" } else { "http" }
    }
}

/// Splits `http://host:port/path?query` into origin and path with query, which begins with `/` or is empty. `None` if
/// it is not such a URL, or contains something that cannot be sent.
pub fn split(url: &str) -> Option<(Origin, &str)> {
    let (scheme, rest) = url.split_once("://")?;
    let secure = match scheme {
        _ if scheme.eq_ignore_ascii_case("http") => false,
        _ if scheme.eq_ignore_ascii_case("https") => true,
        _ => return None,
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let path = path.split('#').next().unwrap_or_default();
    let sendable = url.bytes().all(|byte| stands_in_url(byte) || byte == b'#');
    // A query without a path (`http://host?x`) is rare enough to be refused.
    if authority.is_empty() || authority.contains('@') || path.starts_with('?') || !sendable {
        return None;
    }
    Some((Origin { secure, authority: authority.to_ascii_lowercase() }, path))
}

/// The target of `reference`, such as the value of `Location`, relative to `path` of `origin`: origin, and path with
/// query. `None` if it is not HTTP, or cannot be sent.
pub(crate) fn resolve(origin: &Origin, path: &str, reference: &str) -> Option<(Origin, String)> {
    let reference = reference.split('#').next().unwrap_or_default();
    if !reference.bytes().all(stands_in_url) {
        return None;
    }
    let scheme_end = reference.find(':').filter(|&end| !reference[..end].contains(['/', '?']));
    if scheme_end.is_some() {
        let (origin, path) = split(reference)?;
        return Some((origin, without_dots(if path.is_empty() { "/" } else { path })));
    }
    if reference.starts_with("//") {
        return resolve(origin, path, &format!("{}:{reference}", origin.scheme()));
    }
    let own_path = path.split('?').next().unwrap_or_default();
    let target = match reference.bytes().next() {
        None => path.to_owned(),
        Some(b'/') => reference.to_owned(),
        Some(b'?') => format!("{own_path}{reference}"),
        Some(_) => {
            let folder = own_path.rfind('/').map_or("/", |slash| &own_path[..=slash]);
            format!("{folder}{reference}")
        }
    };
    Some((origin.clone(), without_dots(&target)))
}

/// Removes `.` and `..` from a path that may have a query (RFC 3986, 5.2.4).
fn without_dots(path: &str) -> String {
    let (path, query) = path.find('?').map_or((path, ""), |at| path.split_at(at));
    let mut kept: Vec<&str> = Vec::new();
    let mut parts = path.split('/').skip(1).peekable();
    while let Some(part) = parts.next() {
        let last = parts.peek().is_none();
        match part {
            "." | ".." => {
                if part == ".." {
                    kept.pop();
                }
                if last {
                    kept.push("");
                }
            }
            _ => kept.push(part),
        }
    }
    format!("/{}{query}", kept.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_lead_where_rfc_3986_says() {
        let (origin, path) = split("http://A.example:81/b/c/d?q").unwrap();
        for (reference, expected) in [
            ("g", "http://a.example:81/b/c/g"),
            ("./g/", "http://a.example:81/b/c/g/"),
            ("/g", "http://a.example:81/g"),
            ("?y", "http://a.example:81/b/c/d?y"),
            ("", "http://a.example:81/b/c/d?q"),
            ("#s", "http://a.example:81/b/c/d?q"),
            ("../g?z=../x", "http://a.example:81/b/g?z=../x"),
            ("../../../g", "http://a.example:81/g"),
            ("..", "http://a.example:81/b/"),
            ("//other/g", "http://other/g"),
            ("https://other", "https://other/"),
            ("a?b:c", "http://a.example:81/b/c/a?b:c"),
        ] {
            let (to, path) = resolve(&origin, path, reference).unwrap();
            assert_eq!(format!("{}://{}{path}", to.scheme(), to.authority), expected, "{reference}");
        }
        for refused in ["ftp://x/", "javascript:x", "/a b", "/\r\nx", "//", "//me@x/"] {
            assert_eq!(resolve(&origin, path, refused), None, "{refused}");
        }
    }

    #[test]
    fn hosts_lose_port_and_brackets() {
        for (url, host) in [("http://a:1", "a"), ("http://[::1]:80/", "::1"), ("HTTPS://A/", "a")] {
            assert_eq!(split(url).unwrap().0.host(), host);
        }
    }
}
