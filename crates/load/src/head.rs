//! What a run notes of the heads of some responses.
//!
//! ## Why a sample
//! Reading fields costs time that the loop needs to send. What they show (a cache, the software, its own times) is a
//! property of the service, which some hundred responses show as well as all of them. So a worker reads at most one head
//! every [`EVERY`]; all others cost one comparison.
//!
//! `Age`: RFC 9111, 5.1. `Cache-Status`: RFC 9211. `X-Cache`, `X-Cache-Status`, `CF-Cache-Status`: Varnish and CDNs,
//! nginx, Cloudflare. `Server-Timing`: W3C, *Server Timing*.

use measure::Heads;
use std::time::Duration;

/// Notes the fields of a good response, in lines as [`crate::exchange::Kept`] has them.
pub(crate) fn note(heads: &mut Heads, head: &[u8]) {
    heads.sampled += 1;
    let mut parts: Vec<(&str, f64)> = Vec::new();
    let mut cached_by = None;
    for line in head.split(|&byte| byte == b'\n') {
        let Ok(line) = std::str::from_utf8(line) else { continue };
        let Some((name, value)) = line.split_once(':') else { continue };
        let value = value.trim();
        if name.eq_ignore_ascii_case("server") {
            heads.add_server(cut(value));
        } else if name.eq_ignore_ascii_case("server-timing") {
            metrics(value, &mut parts);
        } else if cached_by.is_none() && shows_cache(name, value) {
            cached_by = Some(format!("{name}: {}", cut(value)));
        }
    }
    for (name, seconds) in parts {
        heads.add_part(name, seconds);
    }
    if cached_by.is_some() {
        heads.cached += 1;
        heads.cached_by = heads.cached_by.take().or(cached_by);
    }
}

/// Whether a field says that a cache responded without the service.
fn shows_cache(name: &str, value: &str) -> bool {
    let is = |known: &str| name.eq_ignore_ascii_case(known);
    let mut words = value.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
    let mut has = |known: &[&str]| words.any(|word| known.iter().any(|one| word.eq_ignore_ascii_case(one)));
    if is("age") {
        value.parse::<u64>().is_ok_and(|seconds| seconds > 0)
    } else if is("x-cache") {
        // One word for each cache on the way, and `TCP_HIT` of Squid and CDNs.
        has(&["hit"])
    } else if is("x-cache-status") || is("cf-cache-status") {
        has(&["hit", "stale", "updating"])
    } else if is("cache-status") {
        value.split(',').any(|cache| cache.split(';').skip(1).any(|part| part.trim() == "hit"))
    } else {
        false
    }
}

/// The times of `Server-Timing`, in seconds: `db;dur=12.3;desc="a, b", app;dur=4`. The times of one name are added.
fn metrics<'a>(value: &'a str, parts: &mut Vec<(&'a str, f64)>) {
    for metric in unquoted(value, ',') {
        let mut of_metric = unquoted(metric, ';');
        let Some(name) = of_metric.next().map(str::trim).filter(|name| !name.is_empty()) else { continue };
        let duration = of_metric.find_map(|parameter| {
            let (key, value) = parameter.split_once('=')?;
            key.trim()
                .eq_ignore_ascii_case("dur")
                .then(|| value.trim().trim_matches('"').parse::<f64>().ok())?
        });
        let Some(millis) = duration.filter(|millis| millis.is_finite() && *millis >= 0.0) else { continue };
        let (name, seconds) = (cut(name), millis / 1e3);
        match parts.iter_mut().find(|(known, _)| *known == name) {
            Some((_, sum)) => *sum += seconds,
            None => parts.push((name, seconds)),
        }
    }
}

/// The parts of a list, whose quoted strings may contain the separator.
fn unquoted(list: &str, separator: char) -> impl Iterator<Item = &str> {
    let mut quoted = false;
    list.split(move |c| {
        quoted ^= c == '"';
        c == separator && !quoted
    })
}

/// The beginning of a value that nobody bounded.
fn cut(value: &str) -> &str {
    let end = value.char_indices().nth(VALUE_MAX).map_or(value.len(), |(at, _)| at);
    &value[..end]
}

/// The time between two heads that a worker reads.
pub(crate) const EVERY: Duration = Duration::from_millis(10);
/// Characters of a value that are kept.
const VALUE_MAX: usize = 60;

#[cfg(test)]
mod tests {
    use super::*;

    fn noted(head: &str) -> Heads {
        let mut heads = Heads::default();
        note(&mut heads, head.as_bytes());
        heads
    }

    #[test]
    fn caches_are_seen_by_their_fields() {
        for (field, cached) in [
            ("Age: 5", true),
            // A cache that has just fetched it.
            ("Age: 0", false),
            ("X-Cache: HIT", true),
            ("x-cache: Hit from cloudfront", true),
            ("X-Cache: MISS, HIT", true),
            ("X-Cache: TCP_HIT", true),
            ("X-Cache: MISS", false),
            ("X-Cache: Miss from cloudfront", false),
            ("CF-Cache-Status: HIT", true),
            ("CF-Cache-Status: DYNAMIC", false),
            ("X-Cache-Status: STALE", true),
            ("X-Cache-Status: EXPIRED", false),
            ("Cache-Status: Origin; fwd=miss, CDN; hit; ttl=5", true),
            ("Cache-Status: CDN; fwd=uri-miss", false),
            ("X-Hit: HIT", false),
        ] {
            let heads = noted(&format!("HTTP/1.1 200 OK\r\nServer: nginx\r\n{field}\r\n\r\n"));
            assert_eq!((heads.sampled, heads.cached), (1, u64::from(cached)), "{field}");
            assert_eq!(heads.cached_by.is_some(), cached, "{field}");
            assert_eq!(heads.servers["nginx"], 1);
        }
    }

    #[test]
    fn times_of_parts_are_read_and_nonsense_is_not() {
        let heads = noted(
            "Server-Timing: db;dur=10;desc=\"a, b;dur=9\", cache;desc=miss, app; DUR=\"2.5\"\r\nserver-timing: db;dur=1\r\n\
             Server-Timing: bad;dur=x, worse;dur=-1, ;dur=1, inf;dur=inf, nan;dur=NaN,,\r\n",
        );
        let parts: Vec<(&str, f64)> =
            heads.parts.iter().map(|(name, times)| (name.as_str(), times.sum)).collect();
        assert_eq!(parts, [("app", 0.0025), ("db", 0.011)]);
        let long = noted(&format!("Server: {}\r\nServer-Timing: {};dur=1", "é".repeat(500), "x".repeat(500)));
        assert_eq!(long.servers.keys().next().unwrap().chars().count(), VALUE_MAX);
        assert_eq!(noted("Server: \u{0}\r\n\n:\nServer-Timing:").sampled, 1);
    }
}
