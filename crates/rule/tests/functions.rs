//! Each host function, and the account's rule with all its decisions.

mod fake;

use fake::{Fake, load, run, run_response};
use rule::{Answered, Changes, Claim, Limits, Machine, Outcome, RateClassId, Response, Rule, ServiceLevelId};

const SEARCH_LIMIT: &str = include_str!("../../../examples/search-limit.luau");

/// The rule's decision and its calls of the host, in one line.
fn story(source: &str, mut host: Fake) -> String {
    let outcome = match run(source, &mut host) {
        Ok(Outcome::Pass(_)) => "pass".to_string(),
        Ok(Outcome::Respond(Response { status, reason, headers, body })) => {
            format!("{status} {reason:?} {headers:?} {:?}", String::from_utf8_lossy(&body))
        }
        Ok(Outcome::Waiting(suspended)) => format!("waits for {:?}", suspended.class()),
        Ok(Outcome::Shed(class)) => format!("shed by {class:?}"),
        Err(error) => error.to_string(),
    };
    host.asked.push(outcome);
    host.asked.join(", ")
}

#[test]
fn the_search_limit_rule_decides_as_the_account_says() {
    let search = || Fake { path: b"/search.cgi".to_vec(), ..Fake::default() };
    // Another path is not affected.
    assert_eq!(story(SEARCH_LIMIT, Fake::default()), "pass");
    // Every recent request met the target.
    assert_eq!(story(SEARCH_LIMIT, search()), "time by 7, pass");
    // One of a hundred did not, and none waits: within the rate, the request passes at once …
    let slow = || Fake { conforming: 0.99, ..search() };
    assert_eq!(story(SEARCH_LIMIT, slow()), "time by 7, use 3 None, pass");
    // … or after it has waited.
    let waits = Fake { claim: Claim::Wait, ..slow() };
    assert_eq!(story(SEARCH_LIMIT, waits), "time by 7, use 3 None, waits for RateClassId(3)");
    // Another request waits already.
    let queued = Fake { backlog: 1, ..slow() };
    insta::assert_snapshot!(
        story(SEARCH_LIMIT, queued),
        @r#"time by 7, 503 Some("Too busy") [("content-type", "text/html"), ("Pragma", "no-cache")] "<h1>We're too busy!!!</h1>""#
    );
}

#[test]
fn host_functions_answer_what_the_host_says() {
    // Each row: the rule responds with the values that it saw, as the body.
    let table = [
        ("http.getPath()", "/"),
        ("http.getMethod()", "GET"),
        ("http.getHeader('Cookie')", "session=1"),
        ("http.getQueryString()", "q=a%20b&page=2"),
        ("http.getQueryParam('q')", "a b"),
        ("tostring(http.getQueryParam('absent'))", "nil"),
        ("http.getCookie('lang')", "de"),
        ("tostring(http.getCookie('absent'))", "nil"),
        ("http.getHostHeader()", "shop.example:8080"),
        ("request.getRemoteIP()", "192.0.2.7"),
        ("tostring(http.getHeader('X-Absent'))", "nil"),
        ("tostring(slm.conforming('Search timer'))", "100"),
        ("tostring(rate.getBacklog('Search limit'))", "0"),
        ("tostring(rate.getBacklog('Search limit', 'me'))", "0"),
        ("tostring(rate.useNoQueue('Search limit'))", "1"),
        ("tostring(rate.useNoQueue('Search limit', http.getHeader('cookie')))", "1"),
    ];
    for (expression, expected) in table {
        let mut host = Fake::default();
        match run(&format!("http.sendResponse(200, '', {expression})"), &mut host) {
            Ok(Outcome::Respond(response)) => {
                assert_eq!(response.body, expected.as_bytes(), "{expression}")
            }
            other => panic!("{expression}: {other:?}"),
        }
    }
}

#[test]
fn host_functions_pass_on_class_and_key() {
    let table = [
        ("connection.setServiceLevelClass('Search timer')", "time by 7, pass"),
        ("rate.use('Search limit', 'me')", "use 3 Some(\"me\"), pass"),
        ("rate.useNoQueue('Search limit', 'me')", "use at once 3 Some(\"me\"), pass"),
        // The name may be computed.
        ("local n = 'Search' rate.use(n .. ' limit')", "use 3 None, pass"),
    ];
    for (source, expected) in table {
        assert_eq!(story(source, Fake::default()), expected, "{source}");
    }
}

/// A rule's changes in one line: target, pool, status, removed fields, added fields.
fn told(changes: &Changes) -> String {
    let mut told: Vec<String> = changes.target("/old?q=1").into_iter().collect();
    told.extend(changes.pool.map(|pool| format!("pool {}", pool.0)));
    told.extend(changes.status.as_ref().map(|(status, reason)| format!("{status} {reason:?}")));
    let gone = ["X-A", "Cookie", "Server", "Host"].into_iter().filter(|name| changes.fields.replaces(name));
    told.extend(gone.map(|name| format!("-{name}")));
    let added = changes.fields.added();
    told.extend(added.map(|(name, value)| format!("+{name}: {}", String::from_utf8_lossy(value))));
    told.join(" ")
}

#[test]
fn a_request_rule_changes_what_the_service_sees() {
    // Each row: a rule, and its changes of a request for `/old?q=1`.
    let table = [
        ("local nothing = http.getPath()", ""),
        ("http.setPath('/v2' .. http.getPath()) http.setPath(http.getPath() .. '!')", "/v2/!?q=1"),
        ("http.setQueryString('')", "/old"),
        ("http.setQueryString('x=1')", "/old?x=1"),
        ("http.setQueryParam('page', '3')", "/old?q=a%20b&page=3"),
        ("http.setQueryParam('new', http.getQueryParam('q'))", "/old?q=a%20b&page=2&new=a%20b"),
        ("http.removeQueryParam('q') http.removeQueryParam('page')", "/old"),
        (
            "http.setHeader('X-A', '1') http.addHeader('X-A', http.getHeader('x-a') .. '2')",
            "-X-A +X-A: 1 +X-A: 12",
        ),
        ("http.addHeader('X-A', ' 1 ')", "+X-A: 1"),
        (
            "http.removeHeader('Cookie') assert(http.getHeader('cookie') == nil and http.getCookie('lang') == nil)",
            "-Cookie",
        ),
        ("http.setHeader('Host', 'a:80') assert(http.getHostHeader() == 'a:80')", "-Host +Host: a:80"),
        (
            "http.setCookie('lang', 'en') assert(http.getCookie('lang') == 'en')",
            "-Cookie +cookie: session=1; lang=en",
        ),
        ("http.removeCookie('lang') http.removeCookie('session')", "-Cookie"),
        ("pool.select('canary') http.setHeader('X-A', '1')", "pool 5 -X-A +X-A: 1"),
        ("pool.use('canary') http.setHeader('X-A', '1')", "pool 5"),
        ("pool.use('canary') rate.use('Search limit')", "pool 5"),
    ];
    for (source, expected) in table {
        match run(source, &mut Fake::default()) {
            Ok(Outcome::Pass(changes)) => {
                assert_eq!(told(&changes), expected, "{source}");
                assert_eq!(changes.touch_the_head(), expected.contains(['/', '+', '-']), "{source}");
            }
            other => panic!("{source}: {other:?}"),
        }
    }
}

#[test]
fn a_response_rule_changes_what_the_client_sees() {
    let table = [
        ("assert(http.getResponseCode() == 500 and http.getResponseHeader('SERVER') == 'old/1.0')", ""),
        ("http.setResponseCode(502) assert(http.getResponseCode() == 502)", "502 None"),
        ("http.setResponseCode(502, 'Not well')", "502 Some(\"Not well\")"),
        (
            "http.removeResponseHeader('Server') http.addResponseHeader('Set-Cookie', 'a=b')",
            "-Server +Set-Cookie: a=b",
        ),
        (
            "http.setResponseHeader('X-A', http.getPath() .. http.getHeader('cookie'))",
            "-X-A +X-A: /session=1",
        ),
        (
            "http.setResponseHeader('Cookie', 'x') assert(http.getHeader('cookie') == 'session=1')",
            "-Cookie +Cookie: x",
        ),
    ];
    for (source, expected) in table {
        match run_response(source, 500) {
            Ok(Answered::Pass(changes)) => assert_eq!(told(&changes), expected, "{source}"),
            other => panic!("{source}: {other:?}"),
        }
    }
    match run_response("http.sendResponse(503, 'text/plain', 'sorry')", 500) {
        Ok(Answered::Replace(response)) => {
            assert_eq!((response.status, response.body), (503, b"sorry".to_vec()))
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_a_rule_changed_before_it_waited_is_there_after_it() {
    let mut machine = Machine::new(Limits::default()).unwrap();
    let rule = load(
        &mut machine,
        "http.setPath('/new') rate.use('Search limit') http.addHeader('X-A', http.getPath())",
    );
    let mut host = Fake { claim: Claim::Wait, ..Fake::default() };
    let Ok(Outcome::Waiting(waiting)) = machine.run(&rule, &mut host) else { panic!("did not wait") };
    let Ok(Outcome::Pass(changes)) = machine.resume(waiting, &mut host) else { panic!("did not pass") };
    assert_eq!(told(&changes), "/new?q=1 +X-A: /new");
}

#[test]
fn a_logged_line_is_one_line_and_bounded() {
    let mut host = Fake::default();
    run("log.info('a\\nb\\27[31m\\xff') log.info(('x'):rep(10000))", &mut host).unwrap();
    assert_eq!(host.asked[0], "log \"a b [31m\u{fffd}\"");
    assert_eq!(host.asked[1].len(), "log \"\"".len() + 300);
}

#[test]
fn over_the_limit_use_no_queue_says_zero_and_use_sheds() {
    let full = || Fake { claim: Claim::Shed, ..Fake::default() };
    let no_queue = "if rate.useNoQueue('Search limit') == 0 then http.redirect('/sorry.html') end";
    assert_eq!(
        story(no_queue, full()),
        "use at once 3 None, 302 None [(\"location\", \"/sorry.html\")] \"\""
    );
    assert_eq!(story("rate.use('Search limit')", full()), "use 3 None, shed by RateClassId(3)");
}

#[test]
fn an_answer_ends_the_rule_even_inside_pcall() {
    let source =
        "pcall(function() http.sendResponse(200, 'text/plain', 'hello') end) rate.use('Search limit')";
    assert_eq!(story(source, Fake::default()), "200 None [(\"content-type\", \"text/plain\")] \"hello\"");
}

#[test]
fn a_hundred_rules_wait_while_another_runs_and_each_goes_on_with_its_own_request() {
    let mut machine = Machine::new(Limits::default()).unwrap();
    let source = "local path = http.getPath() rate.use('Search limit') http.sendResponse(200, '', path)";
    let waiter = load(&mut machine, source);
    let mut waiting = Vec::new();
    for number in 0..100 {
        let path = format!("/{number}").into_bytes();
        let mut host = Fake { path, claim: Claim::Wait, ..Fake::default() };
        match machine.run(&waiter, &mut host) {
            Ok(Outcome::Waiting(suspended)) => waiting.push(suspended),
            other => panic!("{other:?}"),
        }
    }
    assert!(matches!(machine.run(&waiter, &mut Fake::default()), Ok(Outcome::Respond(_))));
    for (number, suspended) in waiting.into_iter().enumerate().rev() {
        assert_eq!(suspended.class(), RateClassId(3));
        // Every third client leaves while it waits.
        if number % 3 == 0 {
            continue;
        }
        match machine.resume(suspended, &mut Fake::default()) {
            Ok(Outcome::Respond(response)) => assert_eq!(response.body, format!("/{number}").into_bytes()),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_rule_may_wait_twice() {
    let mut machine = Machine::new(Limits::default()).unwrap();
    let source = "rate.use('Search limit') rate.use('Search limit', 'me')";
    let rule = load(&mut machine, source);
    let mut host = Fake { claim: Claim::Wait, ..Fake::default() };
    let Ok(Outcome::Waiting(first)) = machine.run(&rule, &mut host) else { panic!("did not wait") };
    let Ok(Outcome::Waiting(second)) = machine.resume(first, &mut host) else { panic!("did not wait again") };
    assert!(matches!(machine.resume(second, &mut host), Ok(Outcome::Pass(_))));
    assert_eq!(host.asked, ["use 3 None", "use 3 Some(\"me\")"]);
}

#[test]
fn two_rules_of_one_machine_know_their_own_classes() {
    let mut machine = Machine::new(Limits::default()).unwrap();
    let rule = Rule::compile("same", "connection.setServiceLevelClass('T')").unwrap();
    let before = rule::Names::new().service_level("T", ServiceLevelId(1));
    let after = rule::Names::new().service_level("T", ServiceLevelId(2));
    let (before, after) = (machine.load(&rule, &before).unwrap(), machine.load(&rule, &after).unwrap());
    let mut host = Fake::default();
    machine.run(&after, &mut host).unwrap();
    machine.run(&before, &mut host).unwrap();
    assert_eq!(host.asked, ["time by 2", "time by 1"]);
}
