//! Finds the route of a request without checking every route.
//!
//! ## How
//! The first matching route of the file decides. The routes are sorted by host, and those of a host into a tree of path
//! segments. One walk down the tree finds every route that matches, and the lowest number wins. Its time grows with the
//! length of the path, and it stops where the tree has no branch, so it is never longer than the deepest route.
//!
//! Routes of any spelling are in a second tree, in lower case, which is walked along the original path: into a segment
//! and, at `..`, out of it again. Every node on the way is spelt by some reading of the path.
//!
//! ## Why not a compiled set of patterns
//! There are only exact paths and prefixes. A tree of hash tables is built in one pass, which a reload of ten thousand
//! routes needs.

use super::names::Names;
use super::{decoded, normal, segments, without_port};
use crate::settings::{PathMatch, Route};
use std::borrow::Cow;

/// The routes of a configuration, to be searched by host and path. Numbers are indexes in the list of routes.
#[derive(Debug, Default)]
pub struct RouteIndex {
    /// How many routes there are.
    count: usize,
    /// By host in lower case, without port.
    hosts: Names<Paths>,
    /// The routes for every host.
    every_host: Paths,
}

/// The routes of one host.
#[derive(Debug, Default)]
struct Paths {
    exact: Names<usize>,
    root: Node,
    /// The routes of any spelling; `None` if there are none, as nearly always.
    spelt: Option<Box<Spelt>>,
}

/// A path of routes of any spelling, in lower case.
#[derive(Debug, Default)]
struct Spelt {
    /// The first prefix that is this path.
    here: Option<usize>,
    /// The first exact path that is this path.
    exact: Option<usize>,
    children: Names<Spelt>,
}

/// A path that prefixes begin with, without a slash at its end; the root is the empty path.
#[derive(Debug, Default)]
struct Node {
    /// The first prefix that is this path: it matches the path itself and everything below it.
    here: Option<usize>,
    /// The first prefix that is this path with a slash at its end: it matches what is below only.
    below: Option<usize>,
    children: Names<Node>,
}

impl RouteIndex {
    pub(crate) fn new(routes: &[Route]) -> Self {
        let mut index = RouteIndex::default();
        routes.iter().for_each(|route| index.add(route));
        index
    }

    /// Adds a route after the existing ones.
    pub fn add(&mut self, route: &Route) {
        let paths = match &route.host {
            None => &mut self.every_host,
            Some(host) => self.hosts.entry(host.to_ascii_lowercase().into()).or_default(),
        };
        paths.insert(&route.path, self.count);
        if route.any_spelling {
            paths.spelt.get_or_insert_default().insert(&route.path, self.count);
        }
        self.count += 1;
    }

    /// The first route that matches every request of this one, so that this one would never match after it.
    pub fn taking_all_of(&self, route: &Route) -> Option<usize> {
        let find = |paths: &Paths| match &route.path {
            // Others match only some of its spellings.
            path if route.any_spelling => {
                let spelt = paths.spelt.as_ref().and_then(|spelt| spelt.taking_all_of(path));
                first(spelt, paths.root.below)
            }
            PathMatch::Exact(path) => paths.find(&normal(path), path),
            PathMatch::Prefix(prefix) => paths.find_prefix(&normal(prefix)),
        };
        let of_host = route.host.as_deref().and_then(|host| self.hosts.get(&*host.to_ascii_lowercase()));
        first(of_host.and_then(find), find(&self.every_host))
    }

    /// The first route for this host and path. `host` may have a port; `path` has no query and is not normalized.
    pub(crate) fn find(&self, host: Option<&str>, path: &str) -> Option<usize> {
        let (came, path) = (path, &*normal(path));
        let of_host = host.filter(|_| !self.hosts.is_empty()).and_then(|host| {
            let host = without_port(host);
            let lower = match host.bytes().any(|byte| byte.is_ascii_uppercase()) {
                true => Cow::Owned(host.to_ascii_lowercase()),
                false => Cow::Borrowed(host),
            };
            self.hosts.get(&*lower)?.find(path, came)
        });
        first(of_host, self.every_host.find(path, came))
    }
}

impl Paths {
    /// Routes are stored by the normal form of their paths, since requests are searched by it.
    fn insert(&mut self, path: &PathMatch, number: usize) {
        let (PathMatch::Exact(text) | PathMatch::Prefix(text)) = path;
        let text = normal(text);
        if matches!(path, PathMatch::Exact(_)) {
            self.exact.entry(text.into()).or_insert(number);
            return;
        }
        let (prefix, below) = match text.strip_suffix('/') {
            Some(prefix) => (prefix, true),
            None => (&*text, false),
        };
        let mut node = &mut self.root;
        for segment in prefix.split('/').skip(1) {
            node = node.children.entry(segment.into()).or_default();
        }
        let place = if below { &mut node.below } else { &mut node.here };
        place.get_or_insert(number);
    }

    /// The first that matches the path in its normal form, or in its original form.
    fn find(&self, path: &str, came: &str) -> Option<usize> {
        let strict = first(self.exact.get(path).copied(), self.find_prefix(path));
        match &self.spelt {
            Some(spelt) if came.starts_with('/') => first(strict, spelt.find(came)),
            _ => strict,
        }
    }

    /// The first prefix that matches.
    fn find_prefix(&self, path: &str) -> Option<usize> {
        let Some(segments) = path.strip_prefix('/') else {
            // A request about the server itself (OPTIONS): for the route that matches everything.
            return self.root.below.filter(|_| path == "*");
        };
        let (mut found, mut node) = (None, &self.root);
        for segment in segments.split('/') {
            found = first(found, node.below);
            match node.children.get(segment) {
                Some(child) => node = child,
                None => return found,
            }
            found = first(found, node.here);
        }
        found
    }
}

impl Spelt {
    fn insert(&mut self, path: &PathMatch, number: usize) {
        let (PathMatch::Exact(text) | PathMatch::Prefix(text)) = path;
        let mut node = self;
        for segment in segments(&decoded(text).to_ascii_lowercase()) {
            node = node.children.entry(segment.into()).or_default();
        }
        let place = if matches!(path, PathMatch::Exact(_)) { &mut node.exact } else { &mut node.here };
        place.get_or_insert(number);
    }

    /// The first that some reading of the path matches.
    fn find(&self, path: &str) -> Option<usize> {
        let text = decoded(path).to_ascii_lowercase();
        // `None` is a path that no route begins with.
        let mut way = vec![Some(self)];
        let mut found = self.here;
        for segment in segments(&text) {
            if segment == ".." {
                way.truncate(way.len().saturating_sub(1).max(1));
                continue;
            }
            let next = way.last().copied().flatten().and_then(|node| node.children.get(segment));
            found = first(found, next.and_then(|node| node.here));
            way.push(next);
        }
        first(found, way.last().copied().flatten().and_then(|node| node.exact))
    }

    /// The first that matches every spelling of another route's path.
    fn taking_all_of(&self, path: &PathMatch) -> Option<usize> {
        let (PathMatch::Exact(text) | PathMatch::Prefix(text)) = path;
        let (mut found, mut node) = (self.here, self);
        for segment in segments(&decoded(text).to_ascii_lowercase()) {
            match node.children.get(segment) {
                Some(child) => node = child,
                None => return found,
            }
            found = first(found, node.here);
        }
        first(found, node.exact.filter(|_| matches!(path, PathMatch::Exact(_))))
    }
}

fn first(one: Option<usize>, other: Option<usize>) -> Option<usize> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::route::{find, normal};
    use proptest::prelude::*;

    fn paths() -> impl Strategy<Value = String> {
        // Few names, so that prefixes of each other are frequent.
        let segment = prop_oneof![Just("a"), Just("b"), Just("ab"), Just("")];
        proptest::collection::vec(segment, 0..5).prop_map(|segments| format!("/{}", segments.join("/")))
    }

    fn routes() -> impl Strategy<Value = Vec<Route>> {
        let path = (paths(), any::<bool>()).prop_map(|(path, exact)| match exact {
            true => PathMatch::Exact(path),
            false => PathMatch::Prefix(path),
        });
        let host = prop_oneof![Just(None), Just(Some("a.example")), Just(Some("[::1]"))];
        let route = (host, path)
            .prop_map(|(host, path)| Route { host: host.map(str::to_owned), ..Route::new("", path, 0) });
        proptest::collection::vec(route, 0..12)
    }

    proptest! {
        #[test]
        fn agrees_with_a_search_of_every_route(
            routes in routes(),
            host in prop_oneof![Just(None), Just(Some("a.example")), Just(Some("A.Example:80")), Just(Some("[::1]:80"))],
            path in prop_oneof![9 => paths(), 1 => Just("*".to_owned())],
        ) {
            let index = RouteIndex::new(&routes);
            let path = normal(&path);
            prop_assert_eq!(index.find(host, &path), find(&routes, host, &path));
        }
    }

    proptest! {
        #[test]
        fn what_takes_all_of_a_route_takes_each_of_its_requests(
            routes in routes(), path in paths(), host in prop_oneof![Just(None), Just(Some("a.example"))],
        ) {
            let Some((last, before)) = routes.split_last() else { return Ok(()) };
            let taken = RouteIndex::new(before).taking_all_of(last).is_some();
            let path = normal(&path);
            if taken && find(std::slice::from_ref(last), host, &path).is_some() {
                prop_assert!(find(before, host, &path).is_some());
            }
        }
    }

    #[test]
    fn finds_any_of_ten_thousand() {
        let path = |number: usize| format!("/team{}/service{number}", number % 100);
        let routes: Vec<Route> = (0..10_000).map(|n| Route::new("", PathMatch::Prefix(path(n)), 0)).collect();
        let index = RouteIndex::new(&routes);
        for number in [0, 1, 4_711, 9_999] {
            assert_eq!(index.find(None, &path(number)), Some(number));
            assert_eq!(index.find(Some("any"), &format!("{}/x/y", path(number))), Some(number));
        }
        assert_eq!(index.find(None, "/team1"), None);
    }
}
