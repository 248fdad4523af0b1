//! Rules change requests and responses, and choose the pool. The rules in examples/ do what they document.

use crate::support::{
    Message, Upstream, client, eventually, eventually_metric, get, metric, nobody, ok, route, settings,
    started,
};
use gateway::Gateway;
use gateway::settings::{PathMatch, Pool, Rule};
use std::time::{Duration, Instant};

fn rule(source: &str) -> Option<Rule> {
    Some(Rule { name: "test.luau".to_owned(), source: source.to_owned() })
}

/// A gateway whose one route has these rules; the pool `canary` has only the second instance.
fn ruled(upstream: &Upstream, canary: Option<&Upstream>, request: &str, response: &str) -> Gateway {
    let mut settings = settings(&[upstream.address]);
    settings.pools.push(Pool::new("canary", vec![canary.map_or_else(nobody, |canary| canary.address)]));
    settings.routes[0].rule = rule(request).filter(|_| !request.is_empty());
    settings.routes[0].response_rule = rule(response).filter(|_| !response.is_empty());
    started(settings)
}

/// Responds with the head that it has received, and with the received body.
fn mirror() -> Upstream {
    Upstream::answering(|request| ok(&format!("{}\n{}", request.head, request.text())))
}

fn saw(answer: &Message) -> Message {
    let (head, body) =
        answer.text().rsplit_once('\n').map(|(head, body)| (head.to_owned(), body.into())).unwrap();
    Message { head, body }
}

fn ask(headers: &str, target: &str) -> String {
    format!("GET {target} HTTP/1.1\r\nHost: www.shop.example\r\n{headers}\r\n")
}

fn error_metric(rule: &str, kind: &str) -> String {
    format!("headroom_rule_errors_total{{route=\"all\",rule=\"{rule}\",kind=\"{kind}\"}}")
}

#[test]
fn the_service_sees_what_a_rule_has_changed() {
    let upstream = mirror();
    let source = "http.setPath('/new' .. http.getPath()) http.setQueryParam('b', 'x y')
        http.setHeader('X-A', '1') http.addHeader('X-B', '2') http.removeHeader('X-C') http.setCookie('d', '4')";
    let gateway = ruled(&upstream, None, source, "");
    let mut client = client(&gateway);
    for body in ["", "hello"] {
        let head = "X-a: 0\r\nX-B: 1\r\nX-C: 3\r\nCookie: c=3\r\nCookie: e=5\r\n";
        let length = body.len();
        let request = format!(
            "POST /a%20b?b=1&c=2 HTTP/1.1\r\nHost: test\r\n{head}Content-Length: {length}\r\n\r\n{body}"
        );
        let seen = saw(&client.ask(request));
        assert_eq!(seen.start_line(), "POST /new/a%20b?b=x%20y&c=2 HTTP/1.1");
        assert_eq!((seen.header("x-a"), seen.header("x-c")), (Some("1"), None));
        assert_eq!(seen.head.to_lowercase().matches("x-b: ").count(), 2, "{}", seen.head);
        assert_eq!(seen.header("cookie"), Some("c=3; e=5; d=4"));
        assert_eq!(seen.head.to_lowercase().matches("cookie: ").count(), 1, "{}", seen.head);
        assert_eq!(seen.text(), body);
    }
    assert_eq!(client.ask(get("/")).status(), 200);
}

#[test]
fn a_rule_that_fails_half_way_has_changed_nothing() {
    let upstream = mirror();
    let gateway = ruled(&upstream, None, "http.setPath('/new') pool.select('canary') error('no')", "");
    let seen = saw(&client(&gateway).ask(get("/old")));
    assert_eq!(seen.start_line(), "GET /old HTTP/1.1");
    eventually_metric(&gateway, &error_metric("request", "failed"), 1.0);
    assert_eq!(metric(&gateway, "headroom_rule_rerouted_total{route=\"all\"}"), 0.0);
}

#[test]
fn a_rule_sees_the_path_of_every_form_of_a_target() {
    let upstream = mirror();
    let gateway = ruled(&upstream, None, "if http.getPath() == '/x' then http.redirect('/y') end", "");
    let mut client = client(&gateway);
    for target in ["/x", "/%78", "//x", "http://test/x", "http://test/a/../x?q"] {
        assert_eq!(client.ask(get(target)).status(), 302, "{target}");
    }
}

#[test]
fn the_client_sees_what_a_response_rule_has_changed() {
    let answer = "HTTP/1.1 404 Not Found\r\nServer: old/1\r\nX-A: 0\r\nContent-Length: 5\r\n\r\nhello";
    let upstream = Upstream::answering(|_| answer.as_bytes().to_vec());
    let source = "http.removeResponseHeader('server') http.setResponseHeader('X-A', http.getMethod() .. http.getPath())
        http.addResponseHeader('Set-Cookie', 'a=b') http.addResponseHeader('Set-Cookie', 'c=d')
        http.setResponseCode(410, 'Gone for good')";
    let gateway = ruled(&upstream, None, "http.setPath('/other')", source);
    let mut client = client(&gateway);
    for _ in 0..2 {
        let answer = client.ask(get("/a"));
        assert_eq!(answer.start_line(), "HTTP/1.1 410 Gone for good");
        assert_eq!((answer.header("server"), answer.header("x-a")), (None, Some("GET/a")));
        assert_eq!(answer.head.matches("Set-Cookie: ").count(), 2, "{}", answer.head);
        assert_eq!(answer.text(), "hello");
    }
    eventually_metric(&gateway, "headroom_requests_total{route=\"all\",status=\"410\"}", 2.0);
}

#[test]
fn a_response_rule_replaces_an_answer_by_its_own() {
    let upstream = Upstream::answering(|request| match request.start_line() {
        line if line.contains("/chunked") => {
            b"HTTP/1.1 500 No\r\nTransfer-Encoding: chunked\r\n\r\n3\r\noh \r\n2\r\nno\r\n0\r\n\r\n".to_vec()
        }
        line if line.contains("/close") => b"HTTP/1.1 500 No\r\nConnection: close\r\n\r\ntrace".to_vec(),
        line if line.contains("/never") => b"HTTP/1.1 500 No\r\nContent-Length: 100000\r\n\r\ntra".to_vec(),
        line if line.contains("/nothing") => b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n".to_vec(),
        _ => ok("fine"),
    });
    let source = "if http.getResponseCode() >= 500 then
        http.sendResponse(503, 'text/plain', 'sorry', 'X-A: ' .. http.getPath()) end";
    let gateway = ruled(&upstream, None, "", source);
    let mut client = client(&gateway);
    let mut asked = 0;
    for target in ["/chunked", "/ok", "/never", "/ok", "/nothing", "/close", "/ok"] {
        let answer = client.ask(get(target));
        match target {
            "/ok" => assert_eq!((answer.status(), answer.text().as_str()), (200, "fine")),
            _ => {
                assert_eq!((answer.status(), answer.text().as_str()), (503, "sorry"), "{target}");
                assert_eq!(answer.header("x-a"), Some(target));
                asked += 1;
            }
        }
    }
    client.send("HEAD /nothing HTTP/1.1\r\nHost: test\r\n\r\n");
    let answer = client.try_answer(true).expect("a response");
    assert_eq!((answer.status(), answer.header("content-length")), (503, Some("5")));
    assert_eq!(client.ask(get("/ok")).text(), "fine", "the connection goes on");
    eventually_metric(&gateway, "headroom_rule_replaced_total{route=\"all\"}", f64::from(asked) + 1.0);
    eventually_metric(
        &gateway,
        "headroom_requests_total{route=\"all\",status=\"503\"}",
        f64::from(asked) + 1.0,
    );
}

#[test]
fn a_response_rule_that_fails_leaves_the_answer_as_it_came() {
    let upstream = Upstream::hello();
    for (source, kind) in [
        ("http.setResponseHeader('X-A', '1') error('no')", "failed"),
        ("http.setResponseCode(204)", "failed"),
        ("http.setResponseHeader('X-A', '1') while true do end", "time_limit"),
        // Few steps: on a busy machine, many could reach the time limit first.
        ("http.setResponseHeader('X-A', '1') local s = 'x' while true do s = s .. s end", "memory_limit"),
    ] {
        let gateway = ruled(&upstream, None, "", source);
        let mut client = client(&gateway);
        for _ in 0..2 {
            let answer = client.ask(get("/"));
            assert_eq!((answer.status(), answer.text().as_str()), (200, "hello"), "{source}");
            assert_eq!(answer.header("x-a"), None, "{source}");
        }
        eventually("an error is kept", || match gateway.take_rule_error() {
            Some(error) => {
                assert!(error.to_string().contains("test.luau") && error.kind() == kind, "{kind}: {error}");
                true
            }
            None => false,
        });
        eventually_metric(&gateway, &error_metric("response", kind), 2.0);
    }
}

#[test]
fn a_rule_chooses_the_pool() {
    let (main, canary) = (Upstream::answering(|_| ok("main")), Upstream::answering(|_| ok("canary")));
    let source = "if http.getHeader('X-Canary') then pool.use('canary') end";
    let gateway = ruled(&main, Some(&canary), source, "");
    let mut client = client(&gateway);
    for _ in 0..3 {
        assert_eq!(client.ask(get("/")).text(), "main");
        assert_eq!(client.ask(ask("X-Canary: 1\r\n", "/")).text(), "canary");
    }
    assert_eq!((main.connections(), canary.connections()), (1, 1), "each pool keeps its connections");
    eventually_metric(&gateway, "headroom_rule_rerouted_total{route=\"all\"}", 3.0);
}

#[test]
fn what_a_rule_logs_is_counted_and_shown_in_bounds() {
    let upstream = Upstream::hello();
    let gateway = ruled(
        &upstream,
        None,
        "for i = 1, 5 do log.info('seen ' .. http.getPath() .. i) end",
        "log.info('back')",
    );
    let mut client = client(&gateway);
    for _ in 0..20 {
        client.ask(get("/a"));
    }
    eventually_metric(&gateway, "headroom_rule_log_lines_total{route=\"all\"}", 120.0);
    let lines = gateway.take_rule_lines();
    assert_eq!(lines.first().map(String::as_str), Some("all: seen /a1"));
    assert!(lines.len() < 60, "{lines:?}");
    // Later lines are shown again.
    let end = Instant::now() + Duration::from_secs(10);
    while gateway.take_rule_lines().is_empty() {
        client.ask(get("/a"));
        assert!(Instant::now() < end);
    }
}

const CANARY: &str = include_str!("../../../../examples/canary.luau");
const HEADERS: &str = include_str!("../../../../examples/headers.luau");
const MAINTENANCE: &str = include_str!("../../../../examples/maintenance.luau");
const API_VERSION: &str = include_str!("../../../../examples/api-version.luau");
const RESPONSE_HEADERS: &str = include_str!("../../../../examples/response-headers.luau");

#[test]
fn the_example_of_a_canary() {
    let (main, canary) = (Upstream::answering(|_| ok("main")), mirror());
    let gateway = ruled(&main, Some(&canary), CANARY, "");
    let mut client = client(&gateway);
    assert_eq!(client.ask(ask("Cookie: canary=no\r\n", "/a?b=c")).text(), "main");
    for (headers, target) in [("Cookie: a=b; canary=yes\r\n", "/a?b=c"), ("", "/a?canary=yes&b=c")] {
        let seen = saw(&client.ask(ask(headers, target)));
        assert_eq!((seen.start_line(), seen.header("x-canary")), ("GET /a?b=c HTTP/1.1", Some("yes")));
    }
    assert_eq!(metric(&gateway, &error_metric("request", "failed")), 0.0);
}

#[test]
fn the_example_of_headers() {
    let upstream = mirror();
    let gateway = ruled(&upstream, None, HEADERS, "");
    let seen = saw(&client(&gateway).ask(ask("X-User: root\r\nUser-Agent: GoodBot/2.1\r\n", "/")));
    assert_eq!((seen.header("x-user"), seen.header("x-client")), (None, Some("127.0.0.1")));
    assert_eq!((seen.header("host"), seen.header("x-robot")), (Some("shop.example"), Some("yes")));
    assert_eq!(seen.head.to_lowercase().matches("\nhost: ").count(), 1, "{}", seen.head);
}

#[test]
fn the_example_of_maintenance() {
    let upstream = Upstream::hello();
    let gateway = ruled(&upstream, None, MAINTENANCE, "");
    let mut client = client(&gateway);
    let answer = client.ask(get("/shop"));
    assert_eq!((answer.status(), answer.header("retry-after")), (503, Some("600")));
    assert!(answer.text().contains("Back in a moment"));
    assert_eq!(client.ask(get("/healthz")).text(), "hello");
}

#[test]
fn the_example_of_an_api_version() {
    let upstream = mirror();
    let gateway = ruled(&upstream, None, API_VERSION, "");
    let mut client = client(&gateway);
    for (request, expected) in [
        (ask("", "/v1/users/5?full=1"), "GET /v2/users/5?full=1 HTTP/1.1"),
        (ask("", "/v2/users"), "GET /v2/users HTTP/1.1"),
        (ask("X-Api-Version: 3\r\n", "/users"), "GET /v3/users HTTP/1.1"),
        (ask("", "/v10/users"), "GET /v10/users HTTP/1.1"),
    ] {
        assert_eq!(saw(&client.ask(request)).start_line(), expected);
    }
}

#[test]
fn the_example_of_response_headers() {
    let upstream = Upstream::answering(|request| match request.start_line().contains("/boom") {
        true => b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 11\r\n\r\nstack trace".to_vec(),
        false => {
            b"HTTP/1.1 200 OK\r\nServer: a/1\r\nX-Powered-By: b/2\r\nContent-Length: 2\r\n\r\nok".to_vec()
        }
    });
    let gateway = ruled(&upstream, None, "", RESPONSE_HEADERS);
    let mut client = client(&gateway);
    let answer = client.ask(get("/"));
    assert_eq!((answer.header("server"), answer.header("x-powered-by")), (None, None));
    assert_eq!((answer.header("x-content-type-options"), answer.text().as_str()), (Some("nosniff"), "ok"));
    let answer = client.ask(get("/boom"));
    assert!(answer.status() == 500 && answer.text().contains("We have been told"), "{answer:?}");
}

#[test]
fn rules_come_and_go_with_a_reload() {
    let upstream = mirror();
    let ours = |request: &str| {
        let mut settings = settings(&[upstream.address]);
        settings.routes = vec![route("all", PathMatch::Prefix("/".to_owned()))];
        settings.routes[0].rule = rule(request);
        settings
    };
    let gateway = started(ours("http.setPath('/one')"));
    let mut client = client(&gateway);
    assert_eq!(saw(&client.ask(get("/"))).start_line(), "GET /one HTTP/1.1");
    assert!(gateway.reload(ours("http.setPth('/two')")).is_err(), "the function is not there");
    assert_eq!(saw(&client.ask(get("/"))).start_line(), "GET /one HTTP/1.1");
    gateway.reload(ours("http.setPath('/two')")).unwrap();
    let end = Instant::now() + Duration::from_secs(10);
    while saw(&client.ask(get("/"))).start_line() != "GET /two HTTP/1.1" {
        assert!(Instant::now() < end);
    }
}
