//! Policies are engaged, shed, report and are lifted.

use crate::support::{
    Message, Upstream, client, eventually, eventually_metric, get, metric, ok, rate, route, settings, started,
};
use control::policy::Transition;
use control::service_level::ServiceLevelSettings;
use gateway::Gateway;
use gateway::settings::{Class, PathMatch, Policy, Settings, ShedAnswer};
use std::time::Duration;

/// A service level class with a target of 30 ms over half a second, and a rate class of two a second without a backlog,
/// which applies to `/limited` while the class does not conform.
pub fn protected(upstream: &Upstream, shed: ShedAnswer) -> Settings {
    let mut settings = settings(&[upstream.address]);
    let (target, window) = (Duration::from_millis(30), Duration::from_millis(500));
    settings.service_levels =
        vec![Class::new("in time", ServiceLevelSettings { window, ..ServiceLevelSettings::within(target) })];
    settings.rate_classes = vec![Class::new("two", rate("2/s", 1, 0))];
    settings.policies = vec![Policy { rate_class: Some(0), ..Policy::new("protect", 0) }];
    let mut limited = route("limited", PathMatch::Exact("/limited".to_owned()));
    limited.policy = Some(0);
    limited.shed = shed;
    settings.routes.insert(0, limited);
    settings
}

/// Makes one response late and waits until the policy is engaged.
pub fn engage(gateway: &Gateway) {
    assert_eq!(client(gateway).ask(get("/limited?60")).status(), 200);
    eventually_metric(gateway, "headroom_policy_engaged{policy=\"protect\"}", 1.0);
}

fn shed_answer(shed: ShedAnswer) -> Message {
    let upstream = Upstream::hello();
    let gateway = started(protected(&upstream, shed));
    engage(&gateway);
    // The bucket starts empty and fills within half a second: the first of two in a row may pass.
    let mut client = client(&gateway);
    (0..2).map(|_| client.ask(get("/limited"))).find(|answer| answer.status() != 200).expect("one is shed")
}

#[test]
fn a_policy_engages_sheds_and_lifts() {
    let upstream = Upstream::hello();
    let gateway = started(protected(&upstream, ShedAnswer::Problem));
    let mut client = client(&gateway);
    for _ in 0..20 {
        assert_eq!(client.ask(get("/limited")).status(), 200, "no limit applies yet");
    }
    engage(&gateway);
    let statuses: Vec<u16> = (0..20).map(|_| client.ask(get("/limited")).status()).collect();
    let shed = statuses.iter().filter(|&&status| status == 503).count();
    assert!(shed >= 18 && statuses.iter().all(|status| matches!(status, 200 | 503)), "{statuses:?}");
    for _ in 0..20 {
        assert_eq!(client.ask(get("/other")).status(), 200, "other paths are untouched");
    }
    let reason = "headroom_shed_total{route=\"limited\",reason=\"rate_class\"}";
    eventually_metric(&gateway, reason, shed as f64);
    assert!(metric(&gateway, "headroom_conforming_ratio{class=\"in time\"}") <= 1.0);
    eventually_metric(&gateway, "headroom_policy_engaged{policy=\"protect\"}", 0.0);
    for _ in 0..20 {
        assert_eq!(client.ask(get("/limited")).status(), 200, "the limit is lifted");
    }
    let changes = gateway.take_changes();
    assert!(
        matches!(
            changes.iter().map(|change| change.transition).collect::<Vec<_>>()[..],
            [Transition::Engaged { .. }, Transition::Lifted { .. }]
        ),
        "{changes:?}"
    );
}

#[test]
fn answers_that_fail_at_once_engage_the_policy() {
    let upstream = Upstream::answering(|request| match request.start_line().contains("?429") {
        true => b"HTTP/1.1 429 Too Many Requests\r\nContent-Length: 0\r\n\r\n".to_vec(),
        false => ok("hello"),
    });
    for target in [None, Some(Duration::from_secs(10))] {
        let mut settings = protected(&upstream, ShedAnswer::Problem);
        let class = &mut settings.service_levels[0].settings;
        (class.target, class.not_conforming) = (target, "5xx, 429".parse().unwrap());
        let gateway = started(settings);
        let mut client = client(&gateway);
        (0..20).for_each(|_| assert_eq!(client.ask(get("/limited")).status(), 200));
        assert_eq!(metric(&gateway, "headroom_policy_engaged{policy=\"protect\"}"), 0.0);
        assert_eq!(client.ask(get("/limited?429")).status(), 429);
        eventually_metric(&gateway, "headroom_policy_engaged{policy=\"protect\"}", 1.0);
        let statuses: Vec<u16> = (0..20).map(|_| client.ask(get("/limited")).status()).collect();
        assert!(statuses.iter().filter(|&&status| status == 503).count() >= 18, "{statuses:?}");
    }
}

#[test]
fn a_service_that_hangs_engages_the_policy_before_it_answers() {
    let upstream = Upstream::hello();
    let gateway = started(protected(&upstream, ShedAnswer::Problem));
    let mut hanging = client(&gateway);
    hanging.send(get("/limited?1000"));
    eventually_metric(&gateway, "headroom_policy_engaged{policy=\"protect\"}", 1.0);
    assert_eq!(hanging.answer().status(), 200);
}

#[test]
fn a_shed_request_learns_why_and_when_to_come_back() {
    let answer = shed_answer(ShedAnswer::Problem);
    assert_eq!(answer.status(), 503);
    assert_eq!(answer.header("content-type"), Some("application/problem+json"));
    let after: u64 = answer.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=4).contains(&after), "{after}");
    assert!(answer.text().contains("\"status\":503") && answer.text().contains("\"reason\":\"rate_class\""));
}

#[test]
fn a_shed_request_may_be_shown_a_page() {
    let body = b"<h1>Later</h1>".to_vec();
    let answer = shed_answer(ShedAnswer::Page { content_type: "text/html".to_owned(), body });
    assert_eq!((answer.status(), answer.header("content-type")), (503, Some("text/html")));
    assert_eq!(answer.text(), "<h1>Later</h1>");
    assert!(answer.header("retry-after").is_some());
}

#[test]
fn a_shed_request_may_be_sent_elsewhere() {
    let answer = shed_answer(ShedAnswer::Redirect { location: "/sorry".to_owned() });
    assert_eq!((answer.status(), answer.header("location")), (302, Some("/sorry")));
}

#[test]
fn a_shed_post_keeps_its_connection_where_its_body_was_whole() {
    let upstream = Upstream::hello();
    let gateway = started(protected(&upstream, ShedAnswer::Problem));
    engage(&gateway);
    let mut client = client(&gateway);
    let post = "POST /limited HTTP/1.1\r\nHost: test\r\nContent-Length: 2\r\n\r\nhi";
    let statuses: Vec<u16> = (0..5).map(|_| client.ask(post).status()).collect();
    assert!(statuses.contains(&503), "{statuses:?}");
    assert_eq!(client.ask(get("/other")).text(), "hello");
}

#[test]
fn a_concurrency_limit_counts_what_is_in_flight() {
    let upstream = Upstream::hello();
    let mut settings = settings(&[upstream.address]);
    settings.concurrency_limits = vec![Class::new("two", 2)];
    settings.routes[0].concurrency = Some(0);
    let gateway = started(settings);
    let mut busy = [client(&gateway), client(&gateway)];
    busy.iter_mut().for_each(|client| client.send(get("/?400")));
    eventually_metric(&gateway, "headroom_concurrency{class=\"two\"}", 2.0);
    let answer = client(&gateway).ask(get("/"));
    assert_eq!(answer.status(), 503);
    assert!(answer.text().contains("\"reason\":\"concurrency\""), "{}", answer.text());
    busy.iter_mut().for_each(|client| assert_eq!(client.answer().status(), 200));
    eventually("both have left", || client(&gateway).ask(get("/")).status() == 200);
    eventually_metric(&gateway, "headroom_concurrency{class=\"two\"}", 0.0);
}
