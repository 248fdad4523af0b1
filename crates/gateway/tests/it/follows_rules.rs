//! Rules in Luau decide.

use crate::support::{Upstream, client, eventually_metric, get, metric, rate, settings, started};
use control::service_level::ServiceLevelSettings;
use gateway::settings::{Class, Rule, Settings};
use std::time::{Duration, Instant};

fn ruled(upstream: &Upstream, source: &str) -> Settings {
    let mut settings = settings(&[upstream.address]);
    let (target, window) = (Duration::from_millis(30), Duration::from_millis(800));
    settings.service_levels = vec![Class::new(
        "Search timer",
        ServiceLevelSettings { window, ..ServiceLevelSettings::within(target) },
    )];
    settings.rate_classes = vec![Class::new("Search limit", rate("4/s", 1, 1))];
    settings.routes[0].rule = Some(Rule { name: "test.luau".to_owned(), source: source.to_owned() });
    settings
}

const ACCOUNT: &str = include_str!("../../../../examples/search-limit.luau");

#[test]
fn the_accounts_rule_in_its_outcomes() {
    let upstream = Upstream::hello();
    let gateway = started(ruled(&upstream, ACCOUNT));
    let mut first = client(&gateway);
    for _ in 0..10 {
        assert_eq!(first.ask(get("/search.cgi")).status(), 200, "all is well: nothing to do");
    }
    assert_eq!(first.ask(get("/search.cgi?60")).status(), 200);
    eventually_metric(&gateway, "headroom_conforming_ratio{class=\"Search timer\"}", 10.0 / 11.0);
    // One passes or waits, the next one waits, the third is refused.
    let mut waiting = [client(&gateway), client(&gateway)];
    waiting.iter_mut().for_each(|client| client.send(get("/search.cgi?1")));
    eventually_metric(&gateway, "headroom_backlog{class=\"Search limit\"}", 1.0);
    let answer = first.ask(get("/search.cgi"));
    assert_eq!(answer.start_line(), "HTTP/1.1 503 Too busy");
    assert_eq!(answer.text(), "<h1>We're too busy!!!</h1>");
    assert_eq!(answer.header("pragma"), Some("no-cache"));
    assert_eq!(first.ask(get("/other")).status(), 200, "other paths are untouched");
    waiting.iter_mut().for_each(|client| assert_eq!(client.answer().status(), 200));
    eventually_metric(&gateway, "headroom_shed_total{route=\"all\",reason=\"rule\"}", 1.0);
    eventually_metric(&gateway, "headroom_backlog{class=\"Search limit\"}", 0.0);
    eventually_metric(&gateway, "headroom_conforming_ratio{class=\"Search timer\"}", 1.0);
    let errors = "headroom_rule_errors_total{route=\"all\",rule=\"request\",kind=\"failed\"}";
    assert_eq!(metric(&gateway, errors), 0.0);
}

#[test]
fn a_request_that_waits_for_its_turn_is_answered_after_it() {
    let upstream = Upstream::hello();
    let gateway = started(ruled(&upstream, "rate.use(\"Search limit\")"));
    let begin = Instant::now();
    let mut client = client(&gateway);
    for _ in 0..3 {
        assert_eq!(client.ask(get("/")).status(), 200);
    }
    let took = begin.elapsed();
    assert!((500..1_500).contains(&(took.as_millis() as u64)), "four a second: {took:?}");
    eventually_metric(&gateway, "headroom_waited_total{route=\"all\"}", 2.0);
}

#[test]
fn a_full_backlog_sheds() {
    let upstream = Upstream::hello();
    let gateway = started(ruled(&upstream, "rate.use(\"Search limit\")"));
    let mut clients: Vec<_> = (0..6).map(|_| client(&gateway)).collect();
    clients.iter_mut().for_each(|client| client.send(get("/")));
    let mut statuses: Vec<u16> = clients.iter_mut().map(|client| client.answer().status()).collect();
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 200, 503, 503, 503, 503]);
    eventually_metric(&gateway, "headroom_shed_total{route=\"all\",reason=\"backlog_full\"}", 4.0);
}

#[test]
fn who_leaves_while_its_rule_waits_gives_its_turn_back() {
    let upstream = Upstream::hello();
    let gateway = started(ruled(&upstream, "rate.use(\"Search limit\")"));
    client(&gateway).ask(get("/"));
    let mut waiting = client(&gateway);
    waiting.send(get("/"));
    eventually_metric(&gateway, "headroom_backlog{class=\"Search limit\"}", 1.0);
    drop(waiting);
    eventually_metric(&gateway, "headroom_backlog{class=\"Search limit\"}", 0.0);
    assert_eq!(client(&gateway).ask(get("/")).status(), 200);
}

#[test]
fn a_rule_that_fails_lets_its_request_pass_and_is_counted() {
    let upstream = Upstream::hello();
    for (source, kind) in [
        ("error('no')", "failed"),
        ("local t = nil; t.x = 1", "failed"),
        ("while true do end", "time_limit"),
        // Few steps: on a busy machine, many could reach the time limit first.
        ("local s = 'x'; while true do s = s .. s end", "memory_limit"),
    ] {
        let gateway = started(ruled(&upstream, source));
        let mut client = client(&gateway);
        let begin = Instant::now();
        assert_eq!(client.ask(get("/")).text(), "hello", "{source}");
        assert!(begin.elapsed() < Duration::from_secs(2), "{source}");
        assert_eq!(client.ask(get("/")).text(), "hello", "{source}");
        let errors = format!("headroom_rule_errors_total{{route=\"all\",rule=\"request\",kind=\"{kind}\"}}");
        eventually_metric(&gateway, &errors, 2.0);
        let error = gateway.take_rule_error().expect("the error is kept");
        assert!(error.to_string().contains("test.luau"), "{error}");
        assert!(gateway.take_rule_error().is_none());
    }
}

#[test]
fn an_answer_without_a_body_says_nothing_of_its_length() {
    let upstream = Upstream::hello();
    let gateway =
        started(ruled(&upstream, "if http.getPath() == '/no' then http.sendResponse(204, '', '') end"));
    let mut client = client(&gateway);
    let answer = client.ask(get("/no"));
    assert_eq!((answer.status(), answer.header("content-length")), (204, None));
    assert_eq!(client.ask(get("/")).text(), "hello", "the connection goes on");
}

#[test]
fn a_rule_may_answer_or_redirect() {
    let upstream = Upstream::hello();
    let source = "if http.getHeader('X-Go') then http.redirect('/there') end \
        http.sendResponse(418, 'text/plain', http.getMethod() .. http.getPath(), 'X-A: b')";
    let gateway = started(ruled(&upstream, source));
    let mut client = client(&gateway);
    let answer = client.ask("GET /a?b HTTP/1.1\r\nHost: test\r\nx-go: 1\r\n\r\n");
    assert_eq!((answer.status(), answer.header("location")), (302, Some("/there")));
    let answer = client.ask(get("/a?b"));
    assert_eq!((answer.status(), answer.text().as_str()), (418, "GET/a"));
    assert_eq!((answer.header("x-a"), answer.header("content-type")), (Some("b"), Some("text/plain")));
    assert_eq!(upstream.seen(), "");
}
