//! Every kind of problem has its place, what was found, the bound and the way out.

use proptest::prelude::*;
use std::path::Path;

/// A valid file, in which parts are replaced.
const BASE: &str = "\
listen: 127.0.0.1:8080
admin: 127.0.0.1:9901
pools:
  search: { instances: ['127.0.0.1:9000'] }
service_levels:
  Search timer: { target: 50ms }
rate_classes:
  Search limit: { rate: 100/s, backlog: 1 }
concurrency_limits:
  Search knee: { limit: 12 }
policies:
  protect search: { service_level: Search timer, rate_class: Search limit, concurrency: Search knee }
routes:
  - { path: /search.cgi, pool: search, policy: protect search }
";

fn problems(text: &str) -> fields::Problems {
    match config::parse("gateway.yaml", text, Path::new("")) {
        Ok(_) => panic!("accepted:\n{text}"),
        Err(problems) => problems,
    }
}

/// The plain lines for each change of the valid file.
fn told(changes: &[(&str, &str)]) -> String {
    let mut told = String::new();
    for (from, to) in changes {
        assert!(BASE.contains(from), "{from}");
        told += &format!("--- {to}\n{}", problems(&BASE.replace(from, to)).plain());
    }
    told
}

#[test]
fn the_base_is_valid() {
    let (_, warnings) =
        config::parse("gateway.yaml", BASE, Path::new("")).unwrap_or_else(|found| panic!("{found}"));
    assert!(warnings.is_empty(), "{warnings:?}");
}

#[test]
fn hops_and_server_timing() {
    insta::assert_snapshot!(told(&[
        ("admin:", "trusted_hops: 10.0.0.0/8\nadmin:"),
        (
            "admin:",
            "trusted_hops: [proxy.example, 10.1.0.0/8, 10.0.0.0/33, '::/0', 10.0.0.1, 10.0.0.1]\nadmin:"
        ),
        ("policy: protect search }", "policy: protect search, server_timing: [db, 'a b', db, '']}"),
        (
            "policy: protect search }",
            "policy: protect search, server_timing: [a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q] }"
        ),
    ]));
}

#[test]
fn keys_and_names() {
    insta::assert_snapshot!(told(&[
        ("listen:", "lisen:"),
        ("instances:", "instnaces:"),
        ("pool: search,", "pool: serach,"),
        ("rate_class: Search limit", "rate_class: Search Limit"),
        ("service_level: Search timer", "service_level: nothing like it"),
        ("policy: protect search", "policy: protect"),
        ("admin: 127.0.0.1:9901", "admin: 127.0.0.1:9901\nadmin: 127.0.0.1:9902"),
        ("rate_classes:\n", "rate_classes:\n  Search limit: { rate: 5/s }\n"),
        ("  search: {", "  \"se\\narch\": {"),
    ]));
}

#[test]
fn pools() {
    let pool = "instances: ['127.0.0.1:9000']";
    let with = |keys: &str| format!("{pool}, {keys}");
    let changes = [
        "instances: [{ address: nowhere, weight: 0 }, 5, []]".to_owned(),
        "instances: [{ address: '127.0.0.1:9000', weight: 0, drain: maybe }]".to_owned(),
        "instances: [{ address: '127.0.0.1:9000', drain: true }]".to_owned(),
        "instances: [{ weight: 3 }]".to_owned(),
        "instances: ['127.0.0.1:9000', { address: '127.0.0.1:9000', wieght: 2 }]".to_owned(),
        "instances: [{ address: '127.0.0.1:8080' }]".to_owned(),
        with("balance: fastest"),
        with("balance: { hash: session }"),
        with("balance: { hash: { header: 'a b' } }"),
        with("balance: { hash: { header: a, cookie: b } }"),
        with("balance: { hash: {} }"),
        with("balance: { hash: client }, affinity: { cookie: instance }"),
        with("affinity: { cookie: 'a;b' }"),
        with("affinity: yes"),
        with("health: { path: healthz, interval: 1ms, timeout: 0s, healthy_after: 0, status: 99..200 }"),
        with("health: { path: /, status: 300..200, unhealthy_after: 5000 }"),
        with("health: { interval: 2s }"),
        with("ejection: { consecutive_failures: 0, max_share: 110%, base: 0s }"),
        with("ejection: { base: 10s, longest: 5s }"),
        with("slow_start: 0s"),
        with("slow_start: 30"),
        with("panic_below: half"),
        with("retries: { budget: 20, least: 3, tries: 0 }"),
    ];
    let changes: Vec<(&str, &str)> = changes.iter().map(|change| (pool, change.as_str())).collect();
    insta::assert_snapshot!(told(&changes));
}

#[test]
fn values_and_units() {
    insta::assert_snapshot!(told(&[
        ("target: 50ms", "target: 50"),
        ("target: 50ms", "target: 0s"),
        ("target: 50ms", "target: 50ms, window: 10us"),
        ("target: 50ms", "target: [50ms]"),
        ("target: 50ms", "target:"),
        ("rate: 100/s", "rate: 100/fortnight"),
        ("rate: 100/s", "rate: 100"),
        ("rate: 100/s", "rate: 0/s"),
        ("limit: 12", "limit: 0"),
        ("limit: 12", "limit: twelve"),
        ("admin: 127.0.0.1:9901", "admin: 127.0.0.1:9901\nworkers: 0"),
        ("admin: 127.0.0.1:9901", "admin: 127.0.0.1:9901\nlimits: { head_timeout: 0s, idle_timeout: 900d }"),
        ("instances: ['127.0.0.1:9000']", "instances: 127.0.0.1:9000"),
        ("{ limit: 12 }", "12"),
    ]));
}

#[test]
fn heads_and_trailers() {
    let said = |from: &str, to: &str, expected: &[&str]| {
        let plain = problems(&BASE.replace(from, to)).plain();
        assert_eq!(plain.matches(" error: ").count(), expected.len(), "{plain}");
        for message in expected {
            assert!(plain.contains(message), "{message}: {plain}");
        }
    };
    let limits = |keys: &str| format!("admin: 127.0.0.1:9901\nlimits: {{ {keys} }}");
    said(
        "admin: 127.0.0.1:9901",
        &limits("request_head_max: 1MiB, request_fields_max: 1000, request_target_max: 10"),
        &[
            "`limits.request_head_max`: 1.0 MB is outside 1.0 kB to 262.1 kB",
            "`limits.request_fields_max`: 1000 is outside 8 to 512",
            "`limits.request_target_max`: 10 B is outside 256 B to 262.1 kB",
        ],
    );
    said(
        "admin: 127.0.0.1:9901",
        &limits("request_head_max: 4KiB, request_target_max: 8KiB, answer_fields_max: 0"),
        &[
            "`limits.request_target_max`: `request_target_max` (8.2 kB) exceeds `request_head_max` (4.1 kB)",
            "`limits.answer_fields_max`: 0 is outside 8 to 512",
        ],
    );
    said(
        "policy: protect search",
        "policy: protect search, request_trailers: [X_Forwarded-For, cookie, 'a b', Content-Type, x-sum, X-Sum]",
        &[
            "`X_Forwarded-For` cannot be forwarded as a trailer: a field that identifies the client",
            "`cookie` cannot be forwarded as a trailer",
            "`a b` cannot be forwarded as a trailer: no field name",
            "`Content-Type` cannot be forwarded as a trailer",
            "duplicate name `X-Sum`",
        ],
    );
}

#[test]
fn addresses() {
    insta::assert_snapshot!(told(&[
        ("listen: 127.0.0.1:8080", "listen: localhost:8080"),
        ("listen: 127.0.0.1:8080", "listen: 127.0.0.1:0"),
        ("admin: 127.0.0.1:9901", "admin: 0.0.0.0:9901"),
        ("admin: 127.0.0.1:9901", "admin: 127.0.0.1:8080"),
        ("admin: 127.0.0.1:9901", "admin: localhost:9901"),
        ("admin: 127.0.0.1:9901", "admin: 127.0.0.1:0"),
        ("admin: 127.0.0.1:9901", "admin: 'unix:'"),
        ("admin: 127.0.0.1:9901", "admin: { listen: '0.0.0.0:9901' }"),
        ("admin: 127.0.0.1:9901", "admin: { listen: '0.0.0.0:9901', tokenfile: a }"),
        ("admin: 127.0.0.1:9901", "admin: { listen: '0.0.0.0:9901', token_file: '' }"),
        (
            "admin: 127.0.0.1:9901",
            "admin: unix:/a/path/that/is/much/too/long/for/a/socket/in/the/file/system/because/the/kernel/has/a/bound/for/it.sock",
        ),
        ("['127.0.0.1:9000']", "[]"),
        ("['127.0.0.1:9000']", "['127.0.0.1:9000', '127.0.0.1:9000']"),
        ("['127.0.0.1:9000']", "['127.0.0.1:8080']"),
    ]));
}

#[test]
fn access_logs() {
    insta::assert_snapshot!(told(&[
        ("listen:", "access_log: { file: a.log, format: jsn }\nlisten:"),
        ("listen:", "access_log: { file: a.log, format: common }\nlisten:"),
        ("listen:", "access_log: { format: json }\nlisten:"),
        ("listen:", "access_log: { file: a.log, buffer: 1KiB, flush: 10ms }\nlisten:"),
        ("listen:", "access_log: { file: a.log, buffer: 64GB, flush: 2m }\nlisten:"),
        ("listen:", "access_log: { file: a.log, buffer: lots, flush: 1 }\nlisten:"),
        ("listen:", "access_log: [a.log]\nlisten:"),
    ]));
}

#[test]
fn contradictions() {
    insta::assert_snapshot!(told(&[
        ("rate: 100/s", "rate: 100/s, per_minute: 6001"),
        ("rate: 100/s,", ""),
        ("rate: 100/s", "per_minute: 10, burst: 2"),
        ("backlog: 1", "backlog: 1, longest_wait: 0s"),
        ("backlog: 1", "burst: 0"),
        ("rate: 100/s, backlog: 1", "rate: 0.001/s, burst: 4000000"),
        ("target: 50ms", "window: 10s"),
        ("target: 50ms", "not_conforming: []"),
        ("target: 50ms", "not_conforming: [5xx, 600, error]"),
        ("target: 50ms", "not_conforming: 5xx"),
        ("service_level: Search timer", "service_level: Search timer, leave_at: 50%"),
        ("service_level: Search timer", "service_level: Search timer, enter_below: 0%"),
        ("service_level: Search timer", "service_level: Search timer, min_samples: 0"),
        (", rate_class: Search limit, concurrency: Search knee", ""),
        ("policy: protect search", "policy: protect search, rate_class: Search limit"),
        ("policy: protect search", "policy: protect search, concurrency: Search knee"),
        ("policies:", "x: &x { target: 1s }\npolicies:",),
    ]));
}

#[test]
fn limits() {
    let named = "priorities: [low, high]\nconcurrency_limits:";
    insta::assert_snapshot!(told(&[
        ("backlog: 1", "key: address"),
        ("backlog: 1", "key: { header: X-Api-Key, cookie: sid }"),
        ("backlog: 1", "key: {}"),
        ("backlog: 1", "key: { header: 'X Api Key' }"),
        ("backlog: 1", "key: { cookie: 'a=b' }"),
        ("backlog: 1", "key: client, keys: 0"),
        ("backlog: 1", "keys: 10"),
        ("backlog: 1", "shadow: maybe"),
        ("limit: 12", "limit: 12, adaptive: { least: 20, most: 200 }"),
        ("limit: 12", "limit: 12, adaptive: { least: 2 }"),
        (
            "limit: 12",
            "limit: 12, adaptive: { least: 2, most: 50, prior: { rate: 0/s, response_time: 20ms } }"
        ),
        ("limit: 12", "limit: 12, queue: { places: 0, longest_wait: 0s }"),
        ("limit: 12", "limit: 12, priorities: [50%, 100%]"),
        ("concurrency_limits:", "priorities: [low, Low]\nconcurrency_limits:"),
        ("concurrency_limits:", "priorities: []\nconcurrency_limits:"),
        ("['127.0.0.1:9000'] }", "['127.0.0.1:9000'], queue: { places: 5, longest_wait: 1s } }"),
        ("['127.0.0.1:9000'] }", "['127.0.0.1:9000'], instance_concurrency: 0 }"),
        ("policy: protect search", "policy: protect search, priority: low"),
        ("policy: protect search", "policy: protect search, priority: { header: 'a b' }"),
        ("policy: protect search", "policy: protect search, deadline_header: ''"),
    ]));
    let mut shares = String::new();
    for given in ["[100%]", "[60%, 50%]", "[50%, 90%]", "[0%, 100%]"] {
        let text = BASE.replace("limit: 12", &format!("limit: 12, priorities: {given}"));
        shares += &format!("--- {given}\n{}", problems(&text.replace("concurrency_limits:", named)).plain());
    }
    insta::assert_snapshot!(shares);
}

#[test]
fn more_limits_than_can_be_told_apart() {
    let most = gateway::settings::LIMITS_MAX;
    // The file already has a rate class and a concurrency limit.
    let with = |count: usize| {
        let classes: String =
            (1..count).map(|number| format!("  class {number}: {{ rate: 1/s }}\n")).collect();
        BASE.replace("concurrency_limits:", &format!("{classes}concurrency_limits:"))
    };
    assert!(config::parse("gateway.yaml", &with(most - 1), Path::new("")).is_ok());
    let told = problems(&with(most)).plain();
    let expected =
        "32769 rate classes, concurrency limits and pools with `instance_concurrency`, but at most 32768 are";
    assert_eq!(told.matches("error:").count(), 1, "{told}");
    assert!(told.contains(expected), "{told}");
}

#[test]
fn more_rules_than_a_core_holds() {
    let with = |count: usize| {
        let route = |number| {
            format!(
                "  - {{ path: /{number}, pool: search, rule: {{ name: rule {number}, text: \"http.getPath()\" }} }}\n"
            )
        };
        let routes: String = (0..count).map(route).collect();
        BASE.replace("routes:\n", &format!("routes:\n{routes}"))
    };
    assert!(config::parse("gateway.yaml", &with(500), Path::new("")).is_ok());
    let told = problems(&with(1_500)).plain();
    assert_eq!(told.matches("error:").count(), 1, "{told}");
    assert!(told.contains("1500 rules are more than a core holds: "), "{told}");
    assert!(told.contains("give many routes one rule"), "{told}");
}

#[test]
fn routes() {
    insta::assert_snapshot!(told(&[
        ("path: /search.cgi,", ""),
        ("path: /search.cgi", "path: /search.cgi, path_prefix: /"),
        ("path: /search.cgi", "path: search.cgi"),
        ("path: /search.cgi", "path: /search.cgi?q=x"),
        ("path: /search.cgi", "host: 'http://example.com', path: /search.cgi"),
        ("  - {", "  - { path_prefix: /, pool: search }\n  - {"),
        ("  - {", "  - { path: /x, pool: search, name: a }\n  - { path: /y, pool: search, name: a }\n  - {"),
        ("routes:\n  - { path: /search.cgi, pool: search, policy: protect search }", "routes: []"),
        ("policy: protect search", "policy: protect search, shed: sorry"),
        ("policy: protect search", "policy: protect search, shed: { redirect: \"/x\\r\\nSet-Cookie: a\" }"),
        (
            "policy: protect search",
            "policy: protect search, shed: { text: x, content_type: \"text/html\\n\" }"
        ),
        ("policy: protect search", "policy: protect search, shed: { text: x, redirect: /x }"),
        ("policy: protect search", "policy: protect search, shed: { page: none.such.html }"),
        ("policy: protect search", "policy: protect search, rule: none.luau"),
        ("policy: protect search", "policy: protect search, rule: { name: r, text: 'if then' }"),
        ("policy: protect search", "policy: protect search, rule: { name: r, text: 'rate.use(\"Search\")' }"),
        (
            "policy: protect search",
            "policy: protect search, rule: { name: r, text: 'pool.use(\"serch\") http.getpath()' }"
        ),
        (
            "policy: protect search",
            "policy: protect search, rule: { name: r, text: 'http.setResponseCode(200)' }"
        ),
        (
            "policy: protect search",
            "policy: protect search, response_rule: { name: r, text: 'rate.use(\"x\")' }"
        ),
        (
            "policy: protect search",
            "policy: protect search, response_rule: { name: r, text: 'os.time() print(1)' }"
        ),
        ("policy: protect search", "policy: protect search, response_rule: none.luau"),
    ]));
}

#[test]
fn text_that_is_no_yaml() {
    let mut told = String::new();
    for text in
        ["", "listen", "a: [1", "a: 'x", "a: b: c", "- a\nb: c", "*x", "\t- a", "a: 1\n---\nb: 2", "\0"]
    {
        told += &format!("--- {text:?}\n{}", problems(text).plain());
    }
    insta::assert_snapshot!(told);
}

#[test]
fn all_problems_are_told_with_pictures() {
    let text = "# größe\nlisten: 127.0.0.1:8080\nadmn: 127.0.0.1:9901\npools:\n  search: { instances: ['nowhere'] }\n\
                rate_classes:\n  Search limit: { rate: 100/fortnight, brust: 1 }\n\
                policies:\n  protect: { service_level: Search timer, enter_below: 100%, leave_at: 50% }\n\
                routes:\n  - { path: /a, pool: serch }\n";
    let problems = problems(text);
    let pictures: String = problems.iter().map(fields::Problem::monochrome).collect();
    insta::assert_snapshot!(pictures);
}

fn words() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "listen",
        "pools",
        "routes",
        "path",
        "pool",
        "instances",
        "rate_classes",
        "rate",
        "rule",
        "shed",
        "policies",
        ": ",
        ":",
        "- ",
        "\n",
        "\n  ",
        "\n    ",
        "{",
        "}",
        "[",
        "]",
        ",",
        "&a ",
        "*a",
        "<<: ",
        "!!int ",
        "!x ",
        "|\n",
        ">",
        "'",
        "\"",
        "#",
        "ö",
        "\u{feff}",
        "\t",
        "\0",
        "---\n",
        "50ms",
        "100/s",
        "127.0.0.1:80",
        "99999999999999999999/s",
        ".nan",
        "0",
        "-1",
        "1e999",
        "? ",
        "% ",
        "@",
        "\\",
        "9999999999999d",
    ]);
    prop::collection::vec(
        prop_oneof![9 => word.prop_map(str::to_owned), 1 => any::<char>().prop_map(String::from)],
        0..60,
    )
    .prop_map(|words| words.concat())
}

proptest! {
    #[test]
    fn no_text_panics_and_every_refusal_can_be_shown(text in words()) {
        if let Err(problems) = config::parse("x.yaml", &text, Path::new("")) {
            prop_assert!(!problems.plain().is_empty());
            prop_assert!(!problems.graphical().is_empty());
        }
    }

    #[test]
    fn no_change_of_a_valid_file_panics(at in 0..BASE.len(), len in 0_usize..30, word in words()) {
        let end = (at + len).min(BASE.len());
        let text = format!("{}{word}{}", &BASE[..at], &BASE[end..]);
        if let Err(problems) = config::parse("x.yaml", &text, Path::new("")) {
            prop_assert!(!problems.graphical().is_empty());
        }
    }
}
