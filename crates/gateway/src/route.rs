//! Finds the route of a request.
//!
//! ## Why by the normal form of the path
//! Services treat `/%73earch.cgi`, `//search.cgi` and `/x/../search.cgi` as `/search.cgi`. If a route did not, such
//! requests would bypass its limits. The path that is forwarded is not changed. The path of a route is normalized too:
//! `/a%20b` in a file matches `/a%20b`, and not `/a%2520b`.
//!
//! ## Why some routes match any spelling
//! How a service reads a path depends on the service: some ignore case, some cut `;` parameters off, some leave dot
//! segments alone and take `/search.cgi/../x` for `/search.cgi` with a path after it. A route that protects a path must
//! match all of these; a route that divides paths between pools must not. So the route's settings decide.

mod index;
mod names;

pub use index::RouteIndex;

use std::borrow::Cow;

/// The first route for this host and path, by checking each: the reference for [`RouteIndex`]. `host` may have a port;
/// `path` has no query and is in its normal form.
#[cfg(test)]
pub(crate) fn find(routes: &[crate::settings::Route], host: Option<&str>, path: &str) -> Option<usize> {
    routes.iter().position(|route| {
        let host_fits = match (&route.host, host) {
            (None, _) => true,
            (Some(wanted), Some(found)) => wanted.eq_ignore_ascii_case(without_port(found)),
            (Some(_), None) => false,
        };
        host_fits && path_fits(&route.path, path)
    })
}

/// The path of a request target, without query.
pub(crate) fn path_of(target: &str) -> &str {
    // Targets are short: a vectorized search costs more than it saves.
    target.bytes().position(|byte| byte == b'?').map_or(target, |end| &target[..end])
}

/// The path with escapes resolved, without empty and dot segments (RFC 3986, 6.2.2).
pub(crate) fn normal(path: &str) -> Cow<'_, str> {
    if is_plain(path) || !path.starts_with('/') {
        return Cow::Borrowed(path);
    }
    let text = decoded(path);
    let mut segments = Vec::new();
    let (mut ends_in_folder, mut all) = (false, text.split('/').skip(1).peekable());
    while let Some(segment) = all.next() {
        let last = all.peek().is_none();
        match segment {
            "" | "." => ends_in_folder = last,
            ".." => {
                segments.pop();
                ends_in_folder = last;
            }
            name => segments.push(name),
        }
    }
    let end = if ends_in_folder && !segments.is_empty() { "/" } else { "" };
    Cow::Owned(format!("/{}{end}", segments.join("/")))
}

/// The path with escapes resolved, and backslashes as slashes.
fn decoded(path: &str) -> String {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((&first, behind)) = rest.split_first() {
        let escaped =
            behind.get(..2).filter(|digits| first == b'%' && digits.iter().all(u8::is_ascii_hexdigit));
        let byte = escaped.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok());
        bytes.push(byte.unwrap_or(first));
        rest = if byte.is_some() { &behind[2..] } else { behind };
    }
    String::from_utf8_lossy(&bytes).replace('\\', "/")
}

/// The non-empty segments of a decoded path, without their `;` parameters; `..` is included.
fn segments(path: &str) -> impl Iterator<Item = &str> {
    let names = path.split('/').map(|segment| segment.split(';').next().unwrap_or_default());
    names.filter(|name| !matches!(*name, "" | "."))
}

/// Whether a path is already in its normal form, as nearly all are: no escape, no backslash, no segment that is empty
/// or begins with a dot. One pass, since four searches took a twentieth of an exchange's instructions.
fn is_plain(path: &str) -> bool {
    let mut before = 0;
    path.bytes().all(|byte| {
        let after_slash = std::mem::replace(&mut before, byte) == b'/';
        !(matches!(byte, b'%' | b'\\') || (after_slash && matches!(byte, b'/' | b'.')))
    })
}

#[cfg(test)]
fn path_fits(wanted: &crate::settings::PathMatch, path: &str) -> bool {
    use crate::settings::PathMatch;
    match wanted {
        PathMatch::Exact(wanted) => path == normal(wanted),
        // A request about the server itself (OPTIONS): for a route that matches everything.
        PathMatch::Prefix(prefix) if path == "*" => normal(prefix) == "/",
        // `/api` matches `/api` and `/api/x`, not `/apix`.
        PathMatch::Prefix(prefix) => {
            let prefix = normal(prefix);
            path.strip_prefix(&*prefix)
                .is_some_and(|rest| rest.is_empty() || prefix.ends_with('/') || rest.starts_with('/'))
        }
    }
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        // The colons of a bare IPv6 address are inside brackets.
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{PathMatch, Route};

    fn route(host: Option<&str>, path: PathMatch) -> Route {
        Route { host: host.map(str::to_owned), ..Route::new("", path, 0) }
    }

    #[test]
    fn no_spelling_of_a_path_gets_past_its_route() {
        for (path, expected) in [
            ("/search.cgi", "/search.cgi"),
            ("/%73earch.cgi", "/search.cgi"),
            ("//search.cgi", "/search.cgi"),
            ("/./search.cgi", "/search.cgi"),
            ("/x/../search.cgi", "/search.cgi"),
            ("/x/%2e%2E/search.cgi", "/search.cgi"),
            ("/x/..%2fsearch.cgi", "/search.cgi"),
            ("/x\\..\\search.cgi", "/search.cgi"),
            ("/../../search.cgi", "/search.cgi"),
            ("/search.cgi/", "/search.cgi/"),
            ("/a//b/", "/a/b/"),
            ("/a/.", "/a/"),
            ("//", "/"),
            ("/100%", "/100%"),
            ("/%", "/%"),
            ("/%zz", "/%zz"),
            ("/%+f", "/%+f"),
            ("*", "*"),
        ] {
            assert_eq!(normal(path), expected, "{path}");
        }
    }

    #[test]
    fn a_route_of_any_spelling_is_dodged_by_none() {
        let (prefix, root) = (PathMatch::Prefix("/a/search.cgi".into()), PathMatch::Exact("/".into()));
        let escaped = PathMatch::Prefix("/a%20b/".into());
        for (wanted, path, expected) in [
            (&prefix, "/a/search.cgi", true),
            (&prefix, "/a/search.cgi/", true),
            (&prefix, "/a/search.cgi/info/more", true),
            (&prefix, "/A/Search.CGI", true),
            (&prefix, "/A/Search.CGI/info", true),
            (&prefix, "/%61/sea%72ch.cgi", true),
            (&prefix, "//a//search.cgi", true),
            (&prefix, "/./a/./search.cgi", true),
            (&prefix, "/x/../a/search.cgi", true),
            (&prefix, "/a%2fsearch.cgi", true),
            (&prefix, "/a%5csearch.cgi", true),
            (&prefix, "/a\\search.cgi", true),
            (&prefix, "/a/search.cgi;jsessionid=1", true),
            (&prefix, "/a;x=1/search.cgi;y/z", true),
            (&prefix, "/a/search.cgi%3Bx", true),
            (&prefix, "/a/search.cgi/..", true),
            (&prefix, "/a/search.cgi/../../x", true),
            (&prefix, "/a/search.cgi/%2e%2e/x", true),
            (&prefix, "/a/search.cgix", false),
            (&prefix, "/a/search.cg", false),
            (&prefix, "/b/search.cgi", false),
            (&prefix, "/search.cgi", false),
            (&prefix, "/a", false),
            (&prefix, "/", false),
            (&prefix, "*", false),
            (&root, "/", true),
            (&root, "//", true),
            (&root, "/;x", true),
            (&root, "/./", true),
            (&root, "/x/..", true),
            (&root, "/x", false),
            (&root, "/%78", false),
            (&escaped, "/a%20b", true),
            (&escaped, "/A%20B/c", true),
            (&escaped, "/a%20bc", false),
        ] {
            let any = Route { any_spelling: true, ..route(None, wanted.clone()) };
            let rest = route(None, PathMatch::Prefix("/".into()));
            let found = RouteIndex::new(&[any, rest]).find(Some("a.example"), path);
            assert_eq!(found, Some(usize::from(!expected)), "{wanted} {path}");
        }
        let any =
            |host, path: &str| Route { any_spelling: true, ..route(host, PathMatch::Prefix(path.into())) };
        let strict = route(None, PathMatch::Prefix("/a/b".into()));
        let routes = [strict, any(Some("a.example"), "/a"), any(None, "/a"), any(None, "/")];
        let index = RouteIndex::new(&routes);
        for (host, path, expected) in [
            (Some("a.example"), "/a/b", 0),
            (Some("A.example"), "/A/b", 1),
            (None, "/A/b", 2),
            (None, "//y/..", 3),
            (None, "*", 3),
        ] {
            assert_eq!(index.find(host, path), Some(expected), "{host:?} {path}");
        }
        // The previous route does not match every spelling of it, unless it matches everything.
        let taken = |before: &[Route]| RouteIndex::new(before).taking_all_of(&any(None, "/a"));
        assert_eq!(taken(&[route(None, PathMatch::Prefix("/a".into()))]), None);
        assert_eq!(taken(&[any(None, "/a")]), Some(0));
        assert_eq!(taken(&[route(None, PathMatch::Prefix("/".into()))]), Some(0));
    }

    #[test]
    fn a_route_is_found_by_any_escaped_form_of_its_path() {
        let exact = |path: &str| PathMatch::Exact(path.into());
        let prefix = |path: &str| PathMatch::Prefix(path.into());
        for (wanted, path, expected) in [
            (exact("/a%20b"), "/a%20b", true),
            (exact("/a%20b"), "/%61%20b", true),
            // The escape itself is escaped: this is another path.
            (exact("/a%20b"), "/a%2520b", false),
            (exact("/a%2520b"), "/a%2520b", true),
            (exact("/%7euser"), "/~user", true),
            (exact("/~user"), "/%7Euser", true),
            (exact("/caf%C3%A9"), "/caf%c3%a9", true),
            (exact("/a%2Fb"), "/a/b", true),
            (exact("/a//b/./c"), "/a/b/c", true),
            (exact("/100%"), "/100%", true),
            (prefix("/a%20b"), "/a%20b", true),
            (prefix("/a%20b"), "/a%20b/c", true),
            (prefix("/a%20b"), "/a%20bc", false),
            (prefix("/a%20b/"), "/a%20b/c", true),
            (prefix("/a%20b/"), "/a%20b", false),
            (prefix("/x/../a"), "/a/b", true),
        ] {
            let routes = [route(None, wanted.clone())];
            let found = RouteIndex::new(&routes).find(None, path);
            assert_eq!(found.is_some(), expected, "{wanted} {path}");
            assert_eq!(find(&routes, None, &normal(path)), found, "{wanted} {path}");
        }
        // A route that is spelt differently never matches after it.
        let before = RouteIndex::new(&[route(None, prefix("/a%20b"))]);
        assert_eq!(before.taking_all_of(&route(None, exact("/%61%20b/c"))), Some(0));
        assert_eq!(before.taking_all_of(&route(None, exact("/a%2520b"))), None);
    }

    #[test]
    fn the_first_that_fits_decides() {
        let routes = [
            route(Some("a.example"), PathMatch::Exact("/search.cgi".into())),
            route(None, PathMatch::Prefix("/api".into())),
            route(Some("[::1]"), PathMatch::Prefix("/".into())),
            route(Some("a.example"), PathMatch::Prefix("/".into())),
        ];
        for (host, path, expected) in [
            (Some("a.example"), "/search.cgi", Some(0)),
            (Some("A.Example:8080"), "/search.cgi", Some(0)),
            (Some("a.example"), "/search.cgi/x", Some(3)),
            (Some("b.example"), "/api", Some(1)),
            (Some("b.example"), "/api/x", Some(1)),
            (Some("b.example"), "/apix", None),
            (Some("[::1]:80"), "/", Some(2)),
            (None, "/search.cgi", None),
        ] {
            assert_eq!(find(&routes, host, path), expected, "{host:?} {path}");
            assert_eq!(RouteIndex::new(&routes).find(host, path), expected, "{host:?} {path}");
        }
        assert_eq!(path_of("/a?b=/c"), "/a");
    }
}
