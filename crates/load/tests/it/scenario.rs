//! Users who execute a scenario.

mod parts;

use crate::disturbance::again_if_disturbed;
use crate::servers::{adds_up, answer_each, header, nobody, ok, path, plan, run_plan, server, slow};
use crate::servers::{closed, open, stop_in_the_middle};
use load::scenario::{
    Check, Cookies, Definition, Demand, Extract, Feed, Flow, Item, OnEnd, Order, Part, Scope, StepId, Test,
    Think,
};
use load::{Model, Plan, Protocol, start};
use measure::{Failure, Measurement};
use parts::{get, one_flow, step, work};
use std::collections::BTreeMap;
use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The requests of a server: path and cookie.
type Asked = Arc<Mutex<Vec<(String, String)>>>;

/// A server of `answer(path)`: status, header lines, body.
fn site(answer: impl Fn(&str) -> (u16, String, String) + Send + Sync + 'static) -> (SocketAddr, Asked) {
    let asked = Asked::default();
    let seen = Arc::clone(&asked);
    let address = server(move |stream: TcpStream| {
        answer_each(stream, |stream, head| {
            let cookie = header(head, "cookie").unwrap_or_default().to_owned();
            seen.lock().unwrap().push((path(head).to_owned(), cookie));
            let (status, fields, body) = answer(path(head));
            let length = body.len();
            // In one piece, as a server writes: in several, Nagle's algorithm would hold back the rest.
            let answer = format!("HTTP/1.1 {status} Said\r\n{fields}Content-Length: {length}\r\n\r\n{body}");
            stream.write_all(answer.as_bytes()).is_ok()
        });
    });
    (address, asked)
}

fn said(status: u16, fields: &str, body: &str) -> (u16, String, String) {
    (status, fields.to_owned(), body.to_owned())
}

fn run(
    address: SocketAddr,
    definition: Definition,
    model: Model,
    change: impl FnOnce(&mut Plan),
) -> Measurement {
    let mut plan = plan(work(address, definition), model);
    plan.duration = Some(Duration::from_millis(600));
    change(&mut plan);
    let measured = run_plan(plan);
    let walks = &measured.iterations;
    assert!(walks.completed + walks.broken <= walks.started, "{walks:?}");
    assert_eq!(walks.time.count(), walks.completed);
    measured
}

fn cart() -> Definition {
    let scope = Scope { extracted: [("cart".to_owned(), 0)].into(), ..Scope::default() };
    let mut first = step("POST", "/carts", &scope);
    first.extract = vec![Extract { slot: 0, part: Part::Json("/id".into()), regex: None }];
    let is_created = Check { name: "created".into(), demand: Demand::Status(vec![(201, 201)]) };
    let is_small = Check {
        name: "says hello".into(),
        demand: Demand::Part(Part::Header("x-greeting".into()), Test::Equals("hello".into())),
    };
    first.checks = vec![is_created, is_small];
    one_flow(vec![first, step("GET", "/carts/${cart}", &scope)], &["cart"])
}

#[test]
fn what_an_answer_holds_stands_in_the_next_request() {
    let (address, asked) = site(|path| match path {
        "/carts" => said(201, "X-Greeting: hi\r\n", r#"{"id":"a b"}"#),
        "/carts/a%20b" => said(200, "", ""),
        other => said(404, "", other),
    });
    for model in [closed(2), open(50.0, 0)] {
        let measured = run(address, cart(), model, |plan| plan.requests = Some(20));
        let walks = &measured.iterations;
        assert_eq!((walks.started, walks.completed, walks.broken), (20, 20, 0));
        assert_eq!(measured.statuses, BTreeMap::from([(200, 20), (201, 20)]));
        let checks: Vec<_> =
            measured.checks.iter().map(|check| (check.name.as_str(), check.passed, check.failed)).collect();
        assert_eq!(checks, [("created", 20, 0), ("says hello", 0, 20)]);
        assert_eq!(measured.endpoints.len(), 2);
        assert_eq!(asked.lock().unwrap().drain(..).count(), 40);
    }
}

#[test]
fn a_value_that_is_not_there_breaks_the_walk_and_is_counted() {
    let (address, _) = site(|_| said(500, "", "<h1>Too busy</h1>"));
    for model in [closed(2), open(50.0, 0)] {
        let measured = run(address, cart(), model, |_| {});
        let walks = &measured.iterations;
        assert_eq!((walks.completed, walks.broken), (0, walks.started), "{walks:?}");
        assert!((10..=60).contains(&walks.started), "it does not spin: {walks:?}");
        let reasons: Vec<_> = measured.step_failures.iter().collect();
        assert_eq!(
            reasons,
            [(&"POST /carts: the response does not contain `cart`".to_owned(), &walks.broken)]
        );
        assert_eq!(measured.accounting.answered, walks.started);
    }
}

#[test]
fn a_first_step_that_cannot_be_written_does_not_spin() {
    let (address, asked) = site(|_| said(200, "", ""));
    let mut definition = cart();
    definition.flows[0].items = vec![Item::Step(StepId(1))];
    for model in [closed(2), open(50.0, 0)] {
        let measured = run(address, definition.clone(), model, |_| {});
        let walks = &measured.iterations;
        assert_eq!((walks.broken, measured.accounting.scheduled), (walks.started, 0), "{walks:?}");
        assert!((10..=60).contains(&walks.started), "{walks:?}");
        assert_eq!(
            measured.step_failures["GET /carts/${cart}: no earlier response contained `cart`"],
            walks.broken
        );
        assert!(asked.lock().unwrap().is_empty());
    }
}

#[test]
fn a_service_that_is_down_is_not_hammered() {
    let measured = run(nobody(), cart(), closed(3), |_| {});
    assert!(measured.accounting.failed < 60, "{:?}", measured.accounting);
    assert_eq!(measured.failures[&Failure::ConnectionRefused], measured.accounting.failed);
    assert_eq!(measured.iterations.broken, measured.iterations.started);
}

#[test]
fn cookies_come_back_for_as_long_as_they_are_kept() {
    let (address, asked) = site(|path| match path {
        "/login" => said(200, "Set-Cookie: session=me; Path=/\r\n", ""),
        _ => said(200, "", ""),
    });
    let scope = Scope::default();
    for (cookies, with_first, with_second) in
        [(Cookies::Off, 0, 0), (Cookies::Iteration, 0, 10), (Cookies::User, 9, 10)]
    {
        let steps = vec![step("GET", "/login", &scope), step("GET", "/page", &scope)];
        let definition = Definition { cookies, ..one_flow(steps, &[]) };
        let measured = run(address, definition, closed(1), |plan| plan.requests = Some(10));
        assert_eq!(measured.iterations.completed, 10);
        let asked: Vec<_> = asked.lock().unwrap().drain(..).collect();
        let with =
            |page: &str| asked.iter().filter(|(path, cookie)| path == page && cookie == "session=me").count();
        assert_eq!((with("/login"), with("/page")), (with_first, with_second), "{cookies:?}");
    }
}

#[test]
fn redirects_are_followed_and_a_loop_of_them_ends() {
    let other = slow(Duration::ZERO);
    let (address, asked) = site(move |path| match path {
        "/first" => said(302, "Location: /second\r\n", ""),
        "/second" => said(200, "", ""),
        "/away" => said(307, &format!("Location: http://{other}/there\r\n"), ""),
        _ => said(301, "Location: /round\r\n", ""),
    });
    let followed = |url: &str, redirects| Definition {
        redirects,
        ..one_flow(vec![step("GET", url, &Scope::default())], &[])
    };
    for model in [closed(2), open(50.0, 0), open(50.0, 1)] {
        let twenty = |plan: &mut Plan| plan.requests = Some(20);
        let measured = run(address, followed("/first", 5), model.clone(), twenty);
        assert_eq!(measured.iterations.completed, 20);
        assert_eq!(measured.statuses, BTreeMap::from([(200, 20), (302, 20)]));
        let measured = run(address, followed("/first", 0), model.clone(), twenty);
        assert_eq!(measured.statuses, BTreeMap::from([(302, 20)]));
        let measured = run(address, followed("/away", 5), model.clone(), twenty);
        assert_eq!(measured.iterations.completed, 20, "{:?}", measured.first_failures);
        assert_eq!(measured.statuses, BTreeMap::from([(200, 20), (307, 20)]));
        asked.lock().unwrap().clear();
        let measured = run(address, followed("/round", 4), model, |plan| {
            plan.requests = Some(10);
            plan.duration = Some(Duration::from_secs(2));
        });
        assert_eq!((measured.iterations.broken, measured.statuses[&301]), (10, 50));
        assert_eq!(measured.step_failures["GET /round: too many redirects"], 10);
    }
}

#[test]
fn a_redirect_to_where_nothing_may_be_sent_is_a_failure() {
    // An address of the internet, to which nothing must be sent: the guard checks before connecting.
    for (location, failure, text) in [
        ("http://nowhere.invalid/", Failure::NameNotResolved, "nowhere.invalid"),
        ("http://1.1.1.1:9/", Failure::HostNotAllowed, "1.1.1.1"),
    ] {
        let fields = format!("Location: {location}\r\n");
        let (address, _) = site(move |_| said(302, &fields, ""));
        let step = step("GET", "/", &Scope::default());
        for model in [closed(2), open(50.0, 0)] {
            let definition = Definition { redirects: 3, ..one_flow(vec![step.clone()], &[]) };
            let measured = run(address, definition, model, |plan| plan.requests = Some(12));
            assert_eq!(measured.failures.get(&failure), Some(&12), "{:?}", measured.failures);
            assert!(measured.first_failures[&failure].contains(text), "{:?}", measured.first_failures);
            assert_eq!(measured.iterations.broken, 12);
        }
    }
}

#[test]
fn data_that_ends_ends_the_walks() {
    let (address, asked) = site(|_| said(200, "", ""));
    for (model, workers) in [(closed(2), 1), (closed(4), 2), (open(100.0, 0), 1)] {
        let rows = "name\nann\nbob\ncid\ndan\n";
        let feeds = vec![Feed::csv("people", rows.as_bytes(), Order::InOrder, OnEnd::Stop).unwrap()];
        let step = step("GET", "/${people.name}", &Scope { feeds: &feeds, ..Scope::default() });
        let definition = Definition { feeds: feeds.clone(), ..one_flow(vec![step], &[]) };
        let began = std::time::Instant::now();
        let is_closed = matches!(model, Model::Closed { .. });
        let measured = run(address, definition, model, |plan| {
            plan.workers = NonZeroU32::new(workers).unwrap();
            plan.duration = Some(Duration::from_millis(if is_closed { 20_000 } else { 900 }));
        });
        let mut paths: Vec<_> = asked.lock().unwrap().drain(..).map(|(path, _)| path).collect();
        paths.sort();
        assert_eq!(paths, ["/ann", "/bob", "/cid", "/dan"]);
        assert_eq!((measured.iterations.started, measured.iterations.completed), (4, 4));
        assert!(!is_closed || began.elapsed() < Duration::from_secs(10), "no user is left to send");
    }
}

#[test]
fn flows_are_drawn_by_weight() {
    let (address, _) = site(|_| said(200, "", ""));
    let steps = ["/often", "/seldom", "/never"].map(|url| step("GET", url, &Scope::default())).to_vec();
    let flow = |index: usize, weight| Flow {
        name: format!("flow {index}"),
        weight,
        items: vec![Item::Step(StepId(index))],
    };
    let definition = Definition { flows: vec![flow(0, 3), flow(1, 1), flow(2, 0)], ..one_flow(steps, &[]) };
    for model in [closed(4), open(1_000.0, 0)] {
        let measured = run(address, definition.clone(), model, |plan| {
            plan.requests = Some(400);
            plan.duration = Some(Duration::from_secs(5));
        });
        let counts: Vec<_> =
            measured.endpoints.iter().map(|endpoint| endpoint.part.accounting.answered).collect();
        assert_eq!(counts.iter().sum::<u64>(), 400);
        assert!((260..340).contains(&counts[0]) && counts[2] == 0, "{counts:?}");
    }
}

#[test]
fn users_think_between_their_requests() {
    again_if_disturbed(users_think);
}

fn users_think() {
    let (address, _) = site(|_| said(200, "", ""));
    let mut steps = ["/a", "/b"].map(|url| step("GET", url, &Scope::default())).to_vec();
    steps[0].think = Think::Constant(Duration::from_millis(50));
    steps[1].think = Think::Constant(Duration::from_millis(100));
    let measured = run(address, one_flow(steps.clone(), &[]), closed(2), |_| {});
    // Two users, 600 ms, 150 ms an iteration.
    assert!((6..=8).contains(&measured.iterations.started), "{:?}", measured.iterations);
    let time = measured.iterations.time.quantile(units::Quantile::P50).unwrap().at;
    assert!(time >= Duration::from_millis(49) && time < Duration::from_millis(90), "{time:?}");
    // The response time excludes the think time.
    assert!(measured.response.max().unwrap().at < Duration::from_millis(49), "{:?}", measured.response.max());
    assert_eq!(measured.accounting.answered, measured.accounting.scheduled);
    // In the open model each arrival is a new user.
    let measured = run(address, one_flow(steps, &[]), open(50.0, 0), |_| {});
    assert_eq!(measured.iterations.started, 30);
    assert!(measured.iterations.completed >= 25, "{:?}", measured.iterations);
    assert!(measured.response.max().unwrap().at < Duration::from_millis(49));
}

#[test]
fn a_number_of_iterations_ends_the_run() {
    let (address, asked) = site(|_| said(200, "", ""));
    let steps = ["/a", "/b", "/c"].map(|url| step("GET", url, &Scope::default())).to_vec();
    for (model, workers) in
        [(closed(3), 1), (closed(1), 2), (closed(5), 2), (open(300.0, 0), 2), (open(300.0, 1), 1)]
    {
        let measured = run(address, one_flow(steps.clone(), &[]), model, |plan| {
            plan.requests = Some(31);
            plan.duration = None;
            plan.workers = NonZeroU32::new(workers).unwrap();
        });
        let walks = &measured.iterations;
        assert_eq!((walks.started, walks.completed), (31, 31), "{workers} workers");
        assert_eq!(measured.accounting.answered, 93);
        assert_eq!(asked.lock().unwrap().drain(..).count(), 93);
    }
}

#[test]
fn a_number_of_iterations_ends_the_run_before_its_time() {
    let (address, _) = site(|_| said(200, "", ""));
    let began = std::time::Instant::now();
    let steps = vec![step("GET", "/", &Scope::default())];
    let measured = run(address, one_flow(steps, &[]), closed(2), |plan| {
        plan.requests = Some(20);
        plan.duration = Some(Duration::from_secs(30));
    });
    assert_eq!(measured.iterations.completed, 20);
    assert!(began.elapsed() < Duration::from_secs(20));
}

#[test]
fn steps_may_go_to_several_servers() {
    let (first, second) = (slow(Duration::ZERO), slow(Duration::ZERO));
    let there = format!("http://{second}/there");
    let steps = ["/here", &there].map(|url| step("GET", url, &Scope::default())).to_vec();
    for (model, most, is_bounded) in [
        (closed(1), 2, false),
        (closed(3), 6, false),
        (open(100.0, 0), 20, false),
        (open(100.0, 1), 60, true),
    ] {
        let measured = run(first, one_flow(steps.clone(), &[]), model, |plan| plan.requests = Some(30));
        assert_eq!((measured.iterations.completed, measured.accounting.answered), (30, 60));
        // Only if one connection must serve both it is opened again each time.
        let bounded = measured.connections >= 30;
        assert_eq!(bounded, is_bounded, "{}", measured.connections);
        assert!(bounded || measured.connections <= most, "{}", measured.connections);
    }
}

#[test]
fn a_step_that_times_out_breaks_the_walk() {
    let address = server(|stream| answer_each(stream, |stream, head| path(head) == "/b" || ok(stream)));
    let steps = ["/a", "/b", "/c"].map(|url| step("GET", url, &Scope::default())).to_vec();
    for model in [closed(2), open(20.0, 0)] {
        let measured = run(address, one_flow(steps.clone(), &[]), model, |plan| {
            plan.timeout = Duration::from_millis(100);
        });
        let counts: Vec<_> = measured
            .endpoints
            .iter()
            .map(|endpoint| (endpoint.part.accounting.answered, endpoint.part.accounting.timed_out))
            .collect();
        assert!(counts[0].0 > 4 && counts[0].0 == counts[1].1 && counts[2] == (0, 0), "{counts:?}");
        assert_eq!(measured.iterations.broken, measured.iterations.started);
    }
}

#[test]
fn a_walk_goes_over_http2_too() {
    let address = crate::http2::fine();
    let scope = Scope { extracted: [("cookie".to_owned(), 0)].into(), ..Scope::default() };
    let mut first = step("GET", "/wait/2", &scope);
    first.extract = vec![Extract { slot: 0, part: Part::Header("set-cookie".into()), regex: None }];
    let definition =
        one_flow(vec![first, get("/size/3000"), step("POST", "/x?c=${cookie}", &scope)], &["cookie"]);
    for model in [closed(4), open(100.0, 0), open(100.0, 1)] {
        let measured = run(address, definition.clone(), model, |plan| {
            let streams = NonZeroU32::new(5).unwrap();
            plan.connecting.protocol = Protocol::Http2 { streams, prior_knowledge: false };
            plan.requests = Some(40);
        });
        assert_eq!(
            (measured.iterations.completed, measured.accounting.answered),
            (40, 120),
            "{:?}",
            measured.failures
        );
        assert!(measured.connections <= 4);
    }
}

#[test]
fn walks_can_be_looked_at_and_stopped_in_the_middle() {
    let (address, _) = site(|_| said(201, "", r#"{"id":1}"#));
    for model in [closed(2), open(100.0, 0)] {
        let plan = plan(work(address, cart()), model);
        let measured = stop_in_the_middle(Plan { duration: Some(Duration::from_secs(60)), ..plan });
        assert!(measured.iterations.completed > 10);
    }
    // Stopped at once.
    let running = start(plan(work(address, cart()), open(1_000.0, 1))).unwrap();
    running.stop();
    adds_up(&running.finish().unwrap());
}
