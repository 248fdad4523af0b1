//! Mirrors in a gateway file.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use control::mirror::Methods;
use gateway::settings::{KeyBy, Mirror, Settings};
use std::path::Path;
use std::time::Duration;

/// A valid file, in which parts are replaced.
const BASE: &str = "\
listen: 127.0.0.1:8080
pools:
  search: { instances: ['127.0.0.1:9000'] }
  shadow: { instances: ['127.0.0.1:9100'] }
mirrors:
  next:
    pool: shadow
    fraction: 10%
    key: { cookie: sid }
    limit: 100/s
    burst: 5
    methods: safe
    credentials: false
    deadline: 5s
    queue: 1000
    in_flight: 64
    body_max: 64KiB
    breaker: { trip_at: 5ms, admit_below: 1ms, admit_after: 5s }
    salt: 7
routes:
  - { path_prefix: /, pool: search, mirror: next }
";

/// The settings, and the plain lines of the warnings.
fn parsed(text: &str) -> (Settings, usize) {
    let (settings, warnings) =
        config::parse("gateway.yaml", text, Path::new("")).unwrap_or_else(|found| panic!("{found}"));
    (settings, warnings.len())
}

#[test]
fn a_mirror_has_the_usual_bounds_where_the_file_says_nothing() {
    let (settings, warnings) = parsed(
        "listen: 127.0.0.1:8080\n\
         pools: { a: { instances: ['127.0.0.1:9000'] }, b: { instances: ['127.0.0.1:9100'] } }\n\
         mirrors: { next: { pool: b, fraction: 100% }, other: { pool: b, fraction: 100%, limit: 250/s } }\n\
         routes: [{ path_prefix: /, pool: a, mirror: [other, next] }]\n",
    );
    assert_eq!(warnings, 0, "a shadow pool is used");
    assert_eq!(settings.mirrors[0], Mirror::new("next", 1));
    assert_eq!(settings.mirrors[1].choice.limit.map(|limit| limit.burst), Some(25));
    assert_eq!(settings.routes[0].mirrors, [1, 0]);
}

#[test]
fn every_key_is_read() {
    let (settings, warnings) = parsed(&BASE.replace("safe", "all").replace("false", "true"));
    assert_eq!(warnings, 0);
    let mirror = &settings.mirrors[0];
    assert_eq!((mirror.choice.methods, mirror.credentials, mirror.choice.salt), (Methods::All, true, 7));
    assert_eq!(mirror.key, KeyBy::Cookie("sid".to_owned()));
    assert_eq!(mirror.choice.breaker.admit_after, Duration::from_secs(5));
}

#[test]
fn a_mirror_that_nobody_uses_is_told() {
    assert_eq!(parsed(&BASE.replace(", mirror: next", "")).1, 1);
}

#[test]
fn the_example_of_the_guide_is_valid() {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/gateway.md");
    let guide = std::fs::read_to_string(guide).unwrap();
    let section = guide.split("\n## ").find(|section| section.starts_with("Mirror and capture\n")).unwrap();
    let example = section.split("```yaml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let (settings, warnings) = parsed(example);
    assert_eq!((settings.routes[0].mirrors.len(), warnings), (1, 0));
}

#[test]
fn bad_values_say_where_what_and_the_way_out() {
    let mut told = String::new();
    for (from, to) in [
        ("    pool: shadow\n", ""),
        ("    pool: shadow", "    pool: shadows"),
        ("    pool: shadow", "    pool: search"),
        ("    fraction: 10%\n", ""),
        ("fraction: 10%", "fraction: 0%"),
        ("fraction: 10%", "fraction: 110%"),
        ("key: { cookie: sid }", "key: address"),
        ("key: { cookie: sid }", "key: { cookie: sid, header: X-User }"),
        ("key: { cookie: sid }", "key: {}"),
        ("key: { cookie: sid }", "key: { cookie: 'a b' }"),
        ("key: { cookie: sid }", "key: { query: q }"),
        ("limit: 100/s", "limit: 0/s"),
        ("limit: 100/s", "limit: 100"),
        ("    limit: 100/s\n", ""),
        ("burst: 5", "burst: 0"),
        ("methods: safe", "methods: some"),
        ("credentials: false", "credentials: maybe"),
        ("deadline: 5s", "deadline: 0s"),
        ("deadline: 5s", "deadline: 5"),
        ("queue: 1000", "queue: 0"),
        ("queue: 1000", "queue: 100000"),
        ("in_flight: 64", "in_flight: 0"),
        ("body_max: 64KiB", "body_max: 1GiB"),
        ("admit_below: 1ms", "admit_below: 5ms"),
        ("breaker: { trip_at: 5ms,", "breaker: { trip: 5ms,"),
        ("salt: 7", "salt: -1"),
        ("mirror: next", "mirror: nxt"),
        ("mirror: next", "mirror: [next, next]"),
        ("mirror: next", "mirror: { next: 1 }"),
    ] {
        assert!(BASE.contains(from), "{from}");
        let changed = BASE.replace(from, to);
        let Err(problems) = config::parse("gateway.yaml", &changed, Path::new("")) else {
            panic!("accepted:\n{changed}");
        };
        told += &format!("--- {to}\n{}", problems.plain());
    }
    insta::assert_snapshot!(told);
}
