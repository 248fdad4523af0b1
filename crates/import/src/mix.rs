//! The mix of requests in a log: its endpoints with their shares, and requests to send in their proportions.
//!
//! ## Why numbers in paths are one endpoint
//! `/products/17` and `/products/18` are the same work with another key. A segment that is a number, a UUID or a long
//! hexadecimal number is therefore `:id` in the name of an endpoint; the request keeps its own path.

use crate::Entry;
use stats::Rng;
use std::collections::BTreeMap;

/// Requests in the proportions of a log.
#[derive(Debug, Clone, PartialEq)]
pub struct Mix {
    /// Requests of the log in random order, at most [`Mix::REQUESTS_MAX`].
    pub requests: Vec<Entry>,
    /// Endpoints that are too rare to be measured, with their shares of all requests; they are not among the requests.
    pub rare: Vec<(String, f64)>,
    /// Requests of the log that had no good response (status 200 to 399), and are left out.
    pub not_good: usize,
}

impl Mix {
    /// The mix of these requests. The same seed draws the same ones. Of more than [`Mix::ENDPOINTS_MAX`] endpoints, or
    /// of those below [`Mix::RARE`], the rarer ones are left out.
    pub fn of(entries: Vec<Entry>, seed: u64) -> Self {
        let all = entries.len();
        let good = |entry: &Entry| entry.status.is_none_or(|status| (200..400).contains(&status));
        let entries: Vec<Entry> = entries.into_iter().filter(good).collect();
        let not_good = all - entries.len();
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for entry in &entries {
            *counts.entry(endpoint(entry)).or_default() += 1;
        }
        let mut counts: Vec<(String, usize)> = counts.into_iter().collect();
        counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let share = |count: usize| count as f64 / entries.len() as f64;
        let frequent = counts.iter().take(Mix::ENDPOINTS_MAX).filter(|(_, count)| share(*count) >= Mix::RARE);
        // Among endpoints that are all rare, the most frequent ones are the mix.
        let kept = match frequent.count() {
            0 => counts.len().min(Mix::ENDPOINTS_MAX),
            some => some,
        };
        let rare: Vec<(String, f64)> =
            counts.split_off(kept).into_iter().map(|(name, count)| (name, share(count))).collect();
        let names: Vec<&str> = counts.iter().map(|(name, _)| name.as_str()).collect();
        let mut requests: Vec<Entry> =
            entries.into_iter().filter(|entry| names.contains(&endpoint(entry).as_str())).collect();
        let mut rng = Rng::new(seed, "the mix of a log");
        // Fisher and Yates, as far as requests are used.
        let used = requests.len().min(Mix::REQUESTS_MAX);
        for place in 0..used {
            let other = place + rng.below(requests.len() - place);
            requests.swap(place, other);
        }
        requests.truncate(used);
        Mix { requests, rare, not_good }
    }

    /// The most endpoints of a mix.
    pub const ENDPOINTS_MAX: usize = 20;
    /// An endpoint with a smaller share of the requests is left out.
    pub const RARE: f64 = 0.01;
    /// The most requests that are drawn.
    pub const REQUESTS_MAX: usize = 10_000;
}

/// The name of the endpoint of a request, such as `GET /products/:id`.
pub fn endpoint(entry: &Entry) -> String {
    let after_host = entry
        .url
        .split_once("://")
        .map_or(entry.url.as_str(), |(_, rest)| rest.find(['/', '?']).map_or("/", |at| &rest[at..]));
    let path = after_host.split(['?', '#']).next().unwrap_or_default();
    let segments: Vec<&str> =
        path.split('/').map(|segment| if is_key(segment) { ":id" } else { segment }).collect();
    let path = segments.join("/");
    format!("{} {}", entry.method, if path.is_empty() { "/" } else { &path })
}

/// Whether a segment of a path is a key of something: a number, a UUID, a hash.
fn is_key(segment: &str) -> bool {
    let bytes = segment.as_bytes();
    let digits = bytes.iter().filter(|byte| byte.is_ascii_digit()).count();
    let hexadecimal = bytes.iter().all(|byte| byte.is_ascii_hexdigit() || *byte == b'-');
    digits > 0 && (digits == bytes.len() || (hexadecimal && bytes.len() >= HASH))
}

/// Fewer hexadecimal digits may be a word.
const HASH: usize = 12;

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(url: &str, status: u16) -> Entry {
        Entry { method: "GET".to_owned(), url: url.to_owned(), status: Some(status), ..Entry::default() }
    }

    #[test]
    fn keys_in_paths_are_one_endpoint() {
        for (url, name) in [
            ("/products/17?page=2", "GET /products/:id"),
            ("https://shop.example/products/18#top", "GET /products/:id"),
            ("/users/6f1c9a52-40ab-4d2e-8d4e-0a1b2c3d4e5f/cart", "GET /users/:id/cart"),
            ("/commits/8dc6901f242884", "GET /commits/:id"),
            ("/v1/feed/added", "GET /v1/feed/added"),
            ("/decade", "GET /decade"),
            ("http://shop.example", "GET /"),
            ("/", "GET /"),
            ("", "GET /"),
        ] {
            assert_eq!(endpoint(&entry(url, 200)), name, "{url}");
        }
    }

    #[test]
    fn requests_keep_their_proportions_and_rare_ones_are_named() {
        let mut entries: Vec<Entry> =
            (0..700).map(|number| entry(&format!("/products/{number}"), 200)).collect();
        entries.extend((0..295).map(|_| entry("/search", 304)));
        entries.extend((0..5).map(|_| entry("/admin", 200)));
        entries.extend((0..50).map(|_| entry("/gone", 404)));
        let mix = Mix::of(entries.clone(), 7);
        assert_eq!((mix.requests.len(), mix.not_good), (995, 50));
        assert_eq!(mix.rare, [("GET /admin".to_owned(), 0.005)]);
        let first = mix.requests.iter().take(200);
        let searches = first.filter(|entry| entry.url == "/search").count();
        assert!((40..80).contains(&searches), "{searches} of 200 are not spread");
        assert_eq!(Mix::of(entries, 7), mix);
        let all_rare = (0..500).map(|number| entry(&format!("/page-{number}x"), 200)).collect();
        let mix = Mix::of(all_rare, 7);
        assert_eq!((mix.requests.len(), mix.rare.len()), (Mix::ENDPOINTS_MAX, 480));
        assert!(Mix::of(Vec::new(), 7).requests.is_empty());
    }
}
