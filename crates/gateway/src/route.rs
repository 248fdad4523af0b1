//! Which route is a request for?

use crate::settings::{PathMatch, Route};

/// The first route for this host and path. `host` may carry a port; `path` has no query.
pub(crate) fn find(routes: &[Route], host: Option<&str>, path: &str) -> Option<usize> {
    let host = host.map(without_port);
    routes.iter().position(|route| {
        let host_fits = match (&route.host, host) {
            (None, _) => true,
            (Some(wanted), Some(found)) => wanted.eq_ignore_ascii_case(found),
            (Some(_), None) => false,
        };
        host_fits && path_fits(&route.path, path)
    })
}

/// The path of a request target, without query.
pub(crate) fn path_of(target: &str) -> &str {
    target.split_once('?').map_or(target, |(path, _)| path)
}

fn path_fits(wanted: &PathMatch, path: &str) -> bool {
    match wanted {
        PathMatch::Exact(wanted) => path == wanted,
        // `/api` is for `/api` and `/api/x`, not for `/apix`.
        PathMatch::Prefix(prefix) => path
            .strip_prefix(prefix.as_str())
            .is_some_and(|rest| rest.is_empty() || prefix.ends_with('/') || rest.starts_with('/')),
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
    use crate::settings::ShedAnswer;

    fn route(host: Option<&str>, path: PathMatch) -> Route {
        Route {
            name: String::new(),
            host: host.map(str::to_owned),
            path,
            pool: 0,
            service_level: None,
            rate_class: None,
            concurrency: None,
            policy: None,
            rule: None,
            shed: ShedAnswer::Problem,
        }
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
        }
        assert_eq!(path_of("/a?b=/c"), "/a");
    }
}
