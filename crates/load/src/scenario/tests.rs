use super::*;
use regex::bytes::Regex;
use std::time::Duration;
use units::Timestamp;

const NOW: Timestamp = Timestamp::from_secs(100);

fn step(url: &str, scope: &Scope) -> Step {
    Step {
        name: format!("GET {url}"),
        method: "GET".into(),
        url: Template::compile(url, Place::Url, scope).unwrap(),
        ..Step::default()
    }
}

fn base() -> Option<Origin> {
    Some(split_url("http://127.0.0.1:8080").unwrap().0)
}

fn one_flow(steps: Vec<Step>, names: &[&str]) -> Definition {
    let items = (0..steps.len()).map(|index| Item::Step(StepId(index))).collect();
    Definition {
        base: base(),
        names: names.iter().map(|&name| name.to_owned()).collect(),
        flows: vec![Flow { name: "all".into(), weight: 1, items }],
        steps,
        ..Definition::default()
    }
}

fn answer<'a>(status: u16, head: &'a str, body: &'a str) -> Answer<'a> {
    let response_time = Duration::from_millis(5);
    let (head, body) = (head.as_bytes(), body.as_bytes());
    Answer { status, head, body, body_bytes: body.len() as u64, response_time }
}

/// The next action, in a line.
fn told(user: &mut User, scenario: &Scenario) -> String {
    match user.next(scenario, 0, NOW) {
        Next::Request { step, request, .. } => {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).replace("\r\n", ";");
            let (fields, cookie) = (text(request.fields), text(request.cookie));
            let line = format!(
                "{} {} {} {fields}{cookie}{}",
                step.0,
                request.method,
                request.url,
                text(request.body)
            );
            line.trim_end().to_owned()
        }
        Next::Failed { step, failure } => format!("{} failed: {}", step.0, scenario.describe(failure)),
        Next::IterationDone { completed, .. } => format!("done {completed}"),
        Next::Stop => "stop".into(),
    }
}

fn cart() -> Definition {
    let scope = Scope { extracted: [("cart".to_owned(), 0)].into(), ..Scope::default() };
    let mut first = step("/carts", &scope);
    first.extract = vec![Extract { slot: 0, part: Part::Json("/id".into()), regex: None }];
    first.checks = vec![
        Check { name: "ok".into(), demand: Demand::Status(vec![(200, 299)]) },
        Check { name: "fast".into(), demand: Demand::Within(Duration::from_millis(1)) },
    ];
    one_flow(vec![first, step("/carts/${cart}", &scope)], &["cart"])
}

#[test]
fn an_extracted_value_stands_in_the_next_request() {
    let scenario = Scenario::new(cart());
    let mut user = User::new(&scenario, 0, 1);
    assert_eq!(told(&mut user, &scenario), "0 GET /carts");
    let judged = user.answered(&scenario, NOW, &answer(200, "", r#"{"id":"a b"}"#));
    assert_eq!(judged.checks, [(CheckId(0), true), (CheckId(1), false)]);
    assert_eq!(judged.failure, None);
    assert_eq!(told(&mut user, &scenario), "1 GET /carts/a%20b");
    assert_eq!(told(&mut user, &scenario), "1 GET /carts/a%20b", "asked again, the same again");
    user.answered(&scenario, NOW, &answer(500, "", ""));
    assert_eq!(told(&mut user, &scenario), "done true", "a status is the business of checks");
    assert_eq!(told(&mut user, &scenario), "0 GET /carts");
}

#[test]
fn what_the_answer_lacks_is_counted_and_ends_the_iteration() {
    let scenario = Scenario::new(cart());
    let mut user = User::new(&scenario, 0, 1);
    told(&mut user, &scenario);
    let judged = user.answered(&scenario, NOW, &answer(503, "", "<h1>Too busy</h1>"));
    assert_eq!(judged.failure, Some(StepFailure::NotExtracted { slot: 0 }));
    assert_eq!(scenario.describe(judged.failure.unwrap()), "the response does not contain `cart`");
    assert_eq!(judged.checks[0], (CheckId(0), false));
    assert_eq!(told(&mut user, &scenario), "done false");
    assert_eq!(told(&mut user, &scenario), "0 GET /carts");
    user.failed(&scenario);
    assert_eq!(told(&mut user, &scenario), "done false");
}

#[test]
fn a_step_whose_value_is_missing_is_not_sent() {
    let mut definition = cart();
    // Another branch of a mix, which extracts nothing.
    definition.flows[0].items = vec![Item::Step(StepId(1))];
    let scenario = Scenario::new(definition);
    let mut user = User::new(&scenario, 0, 1);
    assert_eq!(told(&mut user, &scenario), "1 failed: no earlier response contained `cart`");
    assert_eq!(told(&mut user, &scenario), "done false");
}

#[test]
fn a_fixed_request_is_borrowed_from_the_scenario() {
    let scenario = Scenario::new(one_flow(vec![step("/fixed", &Scope::default())], &[]));
    let mut user = User::new(&scenario, 0, 1);
    let Next::Request { request, .. } = user.next(&scenario, 0, NOW) else { panic!() };
    let fixed = scenario.step(StepId(0)).url.as_fixed().unwrap();
    assert_eq!(request.url.as_ptr(), fixed.as_ptr());
}

#[test]
fn think_times_count_from_the_answer_and_the_last_one_follows_the_iteration() {
    let mut definition = cart();
    definition.steps[0].think = Think::Constant(Duration::from_secs(2));
    definition.steps[1].think = Think::Constant(Duration::from_secs(3));
    let scenario = Scenario::new(definition);
    let mut user = User::new(&scenario, 0, 1);
    let mut waits = Vec::new();
    for _ in 0..6 {
        let after = match user.next(&scenario, 0, NOW) {
            Next::Request { after, .. } | Next::IterationDone { after, .. } => after,
            other => panic!("{other:?}"),
        };
        waits.push(after.as_secs());
        user.answered(&scenario, NOW, &answer(200, "", r#"{"id":1}"#));
    }
    assert_eq!(waits, [0, 2, 3, 0, 2, 3]);
}

#[test]
fn cookies_come_back() {
    for (cookies, second, third) in [
        (Cookies::User, "1 GET /carts/1 Cookie: a=b;", "0 GET /carts Cookie: a=b;"),
        (Cookies::Iteration, "1 GET /carts/1 Cookie: a=b;", "0 GET /carts"),
        (Cookies::Off, "1 GET /carts/1", "0 GET /carts"),
    ] {
        let scenario = Scenario::new(Definition { cookies, ..cart() });
        let mut user = User::new(&scenario, 0, 1);
        told(&mut user, &scenario);
        user.answered(&scenario, NOW, &answer(200, "Set-Cookie: a=b; Path=/\r\n", r#"{"id":1}"#));
        assert_eq!(told(&mut user, &scenario), second);
        user.answered(&scenario, NOW, &answer(200, "", ""));
        told(&mut user, &scenario);
        assert_eq!(told(&mut user, &scenario), third);
    }
}

fn post(redirects: u32) -> Scenario {
    let scope = Scope::default();
    let mut post = step("/a/b", &scope);
    post.method = "POST".into();
    post.headers.fixed(b"Content-Type: text/plain\r\nAuthorization: x\r\n");
    post.body.fixed(b"hello");
    post.checks = vec![Check { name: "ok".into(), demand: Demand::Status(vec![(200, 200)]) }];
    Scenario::new(Definition { redirects, ..one_flow(vec![post], &[]) })
}

#[test]
fn redirects_are_followed_as_they_say() {
    let sent = "Content-Type: text/plain;Authorization: x;";
    for (status, location, expected) in [
        (303, "c?d", "0 GET /a/c?d Authorization: x;".to_owned()),
        (302, "/c", "0 GET /c Authorization: x;".to_owned()),
        (307, "http://127.0.0.1:8080/c", format!("0 POST /c {sent}hello")),
        (308, "//other/c", "0 POST http://other/c Content-Type: text/plain;hello".to_owned()),
    ] {
        let scenario = post(1);
        let mut user = User::new(&scenario, 0, 1);
        assert_eq!(told(&mut user, &scenario), format!("0 POST /a/b {sent}hello"));
        let judged = user.answered(&scenario, NOW, &answer(status, &format!("Location: {location}\r\n"), ""));
        assert_eq!(judged, Judged { redirected: true, ..Judged::default() });
        assert_eq!(told(&mut user, &scenario), expected);
        let judged = user.answered(&scenario, NOW, &answer(200, "", ""));
        assert_eq!(judged.checks, [(CheckId(0), true)], "checks apply to the last response");
        assert_eq!(told(&mut user, &scenario), "done true");
    }
}

#[test]
fn a_redirect_loop_ends_and_is_counted() {
    let scenario = post(3);
    let mut user = User::new(&scenario, 0, 1);
    for hop in 0..=3 {
        told(&mut user, &scenario);
        let judged = user.answered(&scenario, NOW, &answer(302, "Location: /a/b\r\n", ""));
        assert_eq!(judged.redirected, hop < 3);
        assert_eq!(judged.failure, (hop == 3).then_some(StepFailure::TooManyRedirects));
    }
    assert_eq!(told(&mut user, &scenario), "done false");
}

#[test]
fn redirects_that_lead_nowhere_are_counted_and_others_are_answers() {
    for (redirects, head, expected) in [
        (1, "Location: ftp://x/\r\n", Some(StepFailure::BadRedirect)),
        (1, "Location: /a b\r\n", Some(StepFailure::BadRedirect)),
        (1, "", None),
        (0, "Location: /c\r\n", None),
    ] {
        let scenario = post(redirects);
        let mut user = User::new(&scenario, 0, 1);
        told(&mut user, &scenario);
        let judged = user.answered(&scenario, NOW, &answer(302, head, ""));
        assert_eq!((judged.failure, judged.redirected), (expected, false), "{head}");
    }
}

#[test]
fn a_link_of_an_answer_is_followed_wherever_it_leads() {
    let scope = Scope { extracted: [("link".to_owned(), 0)].into(), ..Scope::default() };
    let mut first = step("/", &scope);
    let regex = Some(Regex::new("href=(.*)").unwrap());
    first.extract = vec![Extract { slot: 0, part: Part::Body, regex }];
    let scenario = Scenario::new(one_flow(vec![first, step("${link}", &scope)], &["link"]));
    for (link, expected) in [
        ("/b?c", "1 GET /b?c"),
        ("http://other:1/x", "1 GET http://other:1/x"),
        ("b", "1 failed: bad URL"),
        ("ftp://x/", "1 failed: bad URL"),
    ] {
        let mut user = User::new(&scenario, 0, 1);
        told(&mut user, &scenario);
        user.answered(&scenario, NOW, &answer(200, "", &format!("href={link}")));
        assert_eq!(told(&mut user, &scenario), expected);
    }
}

#[test]
fn the_run_stops_where_the_data_ends() {
    let feed = Feed::csv("people", b"name\nann\nbob\n", Order::InOrder, OnEnd::Stop).unwrap();
    let feeds = vec![feed];
    let scope = Scope { feeds: &feeds, ..Scope::default() };
    let steps = vec![step("/${people.name}", &scope)];
    let scenario = Scenario::new(Definition { feeds: feeds.clone(), ..one_flow(steps, &[]) });
    let mut user = User::new(&scenario, 0, 1);
    for (arrival, expected) in [(1, Some("/bob")), (0, Some("/ann")), (2, None)] {
        match user.next(&scenario, arrival, NOW) {
            Next::Request { request, .. } => assert_eq!(Some(request.url), expected),
            Next::Stop => assert_eq!(expected, None),
            other => panic!("{other:?}"),
        }
        user.failed(&scenario);
        told(&mut user, &scenario);
    }
}

/// Two flows of weights 3 and 1; the second has a mix of weights 1, 0 and 2.
fn weighted() -> Scenario {
    let scope = Scope::default();
    let url = "/${random.int(1,1000000)}";
    let steps: Vec<Step> = (0..4).map(|_| step(url, &scope)).collect();
    let mix = vec![(1, StepId(1)), (0, StepId(2)), (2, StepId(3))];
    let flow = |name: &str, weight, item| Flow { name: name.to_owned(), weight, items: vec![item] };
    let flows = vec![flow("a", 3, Item::Step(StepId(0))), flow("b", 1, Item::Mix(mix))];
    Scenario::new(Definition { flows, ..one_flow(steps, &[]) })
}

fn requests(scenario: &Scenario, number: u64, seed: u64, count: usize) -> Vec<String> {
    let mut user = User::new(scenario, number, seed);
    let mut lines = Vec::new();
    while lines.len() < count {
        lines.push(told(&mut user, scenario));
        user.answered(scenario, NOW, &answer(200, "", ""));
    }
    lines
}

#[test]
fn weights_hold_within_statistics() {
    let scenario = weighted();
    let mut counts = [0_u32; 4];
    for number in 0..1_000 {
        for line in requests(&scenario, number, 7, 24).iter().filter(|line| !line.starts_with("done")) {
            counts[line[..1].parse::<usize>().unwrap()] += 1;
        }
    }
    // 12,000 draws: four standard deviations are below 200.
    for (found, expected) in counts.into_iter().zip([9_000, 1_000, 0, 2_000]) {
        assert!(found.abs_diff(expected) <= 200 * u32::from(expected > 0), "{counts:?}");
    }
}

#[test]
fn what_nobody_reads_is_not_needed() {
    let needs = |definition| {
        let scenario = Scenario::new(definition);
        (scenario.needs_head(StepId(1)), scenario.needs_body(StepId(1)))
    };
    let bare = || Definition { cookies: Cookies::Off, ..cart() };
    assert_eq!(needs(bare()), (false, false));
    assert_eq!(needs(cart()), (true, false));
    assert_eq!(needs(Definition { redirects: 1, ..bare() }), (true, false));
    assert!(Scenario::new(bare()).needs_body(StepId(0)));
    let mut header = bare();
    let demand = Demand::Part(Part::Header("etag".into()), Test::Exists);
    header.steps[1].checks = vec![Check { name: String::new(), demand }];
    assert_eq!(needs(header), (true, false));
}

#[test]
fn steps_of_one_name_are_one_endpoint() {
    let scope = Scope::default();
    let mut tagged = step("/a", &scope);
    tagged.tags.insert("kind".into(), "page".into());
    let scenario = Scenario::new(one_flow(
        vec![step("/a", &scope), step("/b", &scope), step("/a", &scope), tagged],
        &[],
    ));
    let of: Vec<usize> = (0..4).map(|index| scenario.endpoint(StepId(index))).collect();
    assert_eq!(of, [0, 1, 0, 2]);
    assert_eq!(scenario.endpoints().len(), 3);
}

proptest::proptest! {
    #[test]
    fn a_user_with_the_same_seed_makes_the_same_requests(number in 0_u64..1_000, seed: u64) {
        let scenario = weighted();
        let first = requests(&scenario, number, seed, 20);
        proptest::prop_assert_eq!(&first, &requests(&scenario, number, seed, 20));
        proptest::prop_assert_ne!(&first, &requests(&scenario, number + 1, seed, 20));
    }

    #[test]
    fn no_answer_panics(status in 100_u16..1000, head in "[A-Za-z:;=,/? \r\n-]{0,80}", body: String) {
        for scenario in [Scenario::new(cart()), post(2)] {
            let mut user = User::new(&scenario, 0, 1);
            for name in ["", "Location: ", "Set-Cookie: ", "Date: "] {
                told(&mut user, &scenario);
                user.answered(&scenario, NOW, &answer(status, &format!("{name}{head}"), &body));
            }
        }
    }
}
