//! Each host function, and the account's rule with all that it can decide.

mod fake;

use fake::{Fake, load, run};
use rule::{Claim, Limits, Machine, Outcome, RateClassId, Response, Rule, ServiceLevelId};

const SEARCH_LIMIT: &str = include_str!("../../../examples/search-limit.luau");

/// What the rule decided and what it asked of the host, in one line.
fn story(source: &str, mut host: Fake) -> String {
    let outcome = match run(source, &mut host) {
        Ok(Outcome::Pass) => "pass".to_string(),
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
    // Another path is left alone.
    assert_eq!(story(SEARCH_LIMIT, Fake::default()), "pass");
    // Every recent request met the target.
    assert_eq!(story(SEARCH_LIMIT, search()), "time by 7, pass");
    // One of a hundred did not, nobody waits: at the rate, the request passes at once …
    let slow = || Fake { conforming: 0.99, ..search() };
    assert_eq!(story(SEARCH_LIMIT, slow()), "time by 7, use 3 None, pass");
    // … or after it has waited.
    let waits = Fake { claim: Claim::Wait, ..slow() };
    assert_eq!(story(SEARCH_LIMIT, waits), "time by 7, use 3 None, waits for RateClassId(3)");
    // Somebody waits already.
    let queued = Fake { backlog: 1, ..slow() };
    insta::assert_snapshot!(
        story(SEARCH_LIMIT, queued),
        @r#"time by 7, 503 Some("Too busy") [("content-type", "text/html"), ("Pragma", "no-cache")] "<h1>We're too busy!!!</h1>""#
    );
}

#[test]
fn host_functions_answer_what_the_host_says() {
    // A row: the rule answers with what it saw, as the body.
    let table = [
        ("http.getPath()", "/"),
        ("http.getMethod()", "GET"),
        ("http.getHeader('Cookie')", "session=1"),
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
        // Every third client goes away while it waits.
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
    assert!(matches!(machine.resume(second, &mut host), Ok(Outcome::Pass)));
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
