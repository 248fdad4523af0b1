//! Copies of live traffic: chosen, compared, counted, without effect on live requests.

use crate::support::{
    Message, Peer, Upstream, admin, change_admin, client, eventually, eventually_metric, get, metric, nobody,
    ok, rate, started, under_rate,
};
use control::mirror::{BreakerSettings, Methods};
use control::rate::Limit;
use gateway::Gateway;
use gateway::settings::{KeyBy, Mirror, Pool, Settings};
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::time::Duration;
use units::{Bytes, Rate, Ratio};

/// A gateway whose requests are all copied to these shadows.
fn mirrored(live: SocketAddr, shadows: &[SocketAddr]) -> Settings {
    let mut settings = crate::support::settings(&[live]);
    for (index, shadow) in shadows.iter().enumerate() {
        settings.pools.push(Pool::new(&format!("shadow {index}"), vec![*shadow]));
        let mut mirror = Mirror::new(&format!("next {index}"), index + 1);
        // A busy machine must not trip the breaker here.
        mirror.choice.breaker = BreakerSettings { trip_at: Duration::from_secs(60), ..Default::default() };
        mirror.deadline = Duration::from_secs(30);
        settings.mirrors.push(mirror);
        settings.routes[0].mirrors.push(index);
    }
    settings
}

fn named(what: &str) -> String {
    format!("headroom_mirror_{what}{{route=\"all\",mirror=\"next 0\"}}")
}

fn with(what: &str, label: &str, value: &str) -> String {
    format!("headroom_mirror_{what}{{route=\"all\",mirror=\"next 0\",{label}=\"{value}\"}}")
}

/// The sum of all samples of a name.
fn total(page: &str, name: &str) -> f64 {
    let samples = page.lines().filter(|line| line.starts_with(name) && line[name.len()..].starts_with('{'));
    samples.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum()
}

/// Waits until `chosen` copies were chosen, all of them have an outcome and their memory is released, which happens a
/// moment later; and checks the counts.
fn settled(gateway: &Gateway, chosen: f64) -> String {
    let mut page = String::new();
    eventually("every copy comes to its end", || {
        page = admin(gateway, "/metrics").text();
        total(&page, "headroom_mirror_chosen_total") == chosen
            && total(&page, "headroom_mirror_in_flight") == 0.0
            && page.contains("headroom_mirror_bytes 0\n")
    });
    let ends: f64 = ["compared", "dropped", "failed"]
        .iter()
        .map(|what| total(&page, &format!("headroom_mirror_{what}_total")))
        .sum();
    assert_eq!(ends, chosen, "{page}");
    page
}

#[test]
fn a_copy_is_marked_and_carries_no_credentials() {
    let (live, shadow) = (Upstream::hello(), Upstream::hello());
    let gateway = started(mirrored(live.address, &[shadow.address]));
    let answer = client(&gateway).ask(
        "GET /a?b HTTP/1.1\r\nHost: test\r\nCookie: sid=s3cret\r\nAuthorization: Basic s3cret\r\n\
         Proxy-Authorization: s3cret\r\nConnection: X-Hop\r\nX-Hop: 1\r\nX-Id: 7\r\n\r\n",
    );
    assert_eq!(answer.text(), "hello");
    settled(&gateway, 1.0);
    assert_eq!(metric(&gateway, &named("same_total")), 1.0);
    let seen = shadow.seen();
    assert!(seen.starts_with("GET /a?b HTTP/1.1\r\nHost: test\r\nX-Id: 7\r\n"), "{seen}");
    assert!(seen.contains("x-headroom-mirror: next 0\r\n") && seen.contains("x-request-start: t="), "{seen}");
    assert!(!seen.contains("s3cret") && !seen.contains("X-Hop"), "{seen}");
    assert!(
        live.seen().contains("sid=s3cret") && !live.seen().contains("headroom-mirror"),
        "{}",
        live.seen()
    );
}

#[test]
fn credentials_go_along_where_that_is_allowed() {
    let (live, shadow) = (Upstream::hello(), Upstream::hello());
    let mut settings = mirrored(live.address, &[shadow.address]);
    settings.mirrors[0].credentials = true;
    let gateway = started(settings);
    client(&gateway).ask("GET / HTTP/1.1\r\nHost: test\r\nCookie: sid=s3cret\r\n\r\n");
    settled(&gateway, 1.0);
    assert!(shadow.seen().contains("Cookie: sid=s3cret\r\n"), "{}", shadow.seen());
}

#[test]
fn answers_are_compared_by_status_size_and_body() {
    let live = Upstream::answering(|_| ok("hello"));
    let shadow = Upstream::answering(|request| match request.start_line().split(' ').nth(1) {
        Some("/status") => b"HTTP/1.1 404 Not Found\r\nContent-Length: 5\r\n\r\nhello".to_vec(),
        Some("/size") => ok("hello, world"),
        Some("/body") => ok("hullo"),
        // Another framing is not a difference.
        _ => b"HTTP/1.1 200 Fine\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n"
            .to_vec(),
    });
    let gateway = started(mirrored(live.address, &[shadow.address]));
    let mut client = client(&gateway);
    for path in ["/status", "/size", "/body", "/", "/"] {
        assert_eq!(client.ask(get(path)).text(), "hello");
    }
    let page = settled(&gateway, 5.0);
    for kind in ["status", "size", "body"] {
        assert_eq!(metric(&gateway, &with("different_total", "kind", kind)), 1.0, "{kind}");
    }
    assert_eq!(metric(&gateway, &named("same_total")), 2.0);
    assert_eq!(metric(&gateway, &named("time_ratio_count")), 5.0);
    assert!(metric(&gateway, &named("live_seconds_total")) > 0.0, "{page}");
}

#[test]
fn an_answer_to_head_is_compared_without_a_body() {
    let head = || {
        Upstream::start(|peer, _| {
            while peer.request().is_some() {
                peer.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n")
            }
        })
    };
    let (live, shadow) = (head(), head());
    let gateway = started(mirrored(live.address, &[shadow.address]));
    let mut client = client(&gateway);
    for count in [1.0, 2.0, 3.0] {
        client.send("HEAD / HTTP/1.1\r\nHost: test\r\n\r\n");
        assert_eq!(client.try_answer(true).unwrap().status(), 200);
        settled(&gateway, count);
    }
    assert_eq!(metric(&gateway, &named("same_total")), 3.0);
    assert_eq!(shadow.connections(), 1, "connections are kept");
}

/// The responses of live requests while their copies go to this shadow, and the page afterwards.
fn live_beside(shadow: SocketAddr) -> (Vec<Message>, String) {
    let live = Upstream::answering(|request| ok(request.start_line()));
    let mut settings = mirrored(live.address, &[shadow]);
    settings.mirrors[0].deadline = Duration::from_millis(400);
    settings.mirrors[0].in_flight = 8;
    settings.mirrors[0].queue = 20;
    let gateway = started(settings);
    let mut answers = Vec::new();
    let mut clients: Vec<Peer> = (0..4).map(|_| client(&gateway)).collect();
    for number in 0..100 {
        let client = &mut clients[number % 4];
        answers.push(client.ask(get(&format!("/{number}"))));
    }
    let page = settled(&gateway, 100.0);
    (answers, page)
}

/// Whatever the shadow does, every live response is the same, byte for byte, and every copy has an outcome.
fn harmless(shadow: SocketAddr) -> String {
    let (beside, page) = live_beside(shadow);
    for (number, answer) in beside.iter().enumerate() {
        assert_eq!(answer.text(), format!("GET /{number} HTTP/1.1"));
        assert_eq!(answer.head, format!("HTTP/1.1 200 OK\r\ncontent-length: {}", answer.body.len()));
    }
    page
}

#[test]
fn a_shadow_that_never_answers_harms_nobody() {
    let shadow = Upstream::start(|peer, _| while peer.request().is_some() {});
    let page = harmless(shadow.address);
    assert!(page.contains("reason=\"deadline\"") && page.contains("reason=\"queue_full\""), "{page}");
}

#[test]
fn a_shadow_that_never_accepts_harms_nobody() {
    let page = harmless(nobody());
    assert!(page.contains("reason=\"unreachable\""), "{page}");
}

#[test]
fn a_shadow_that_answers_a_byte_a_second_harms_nobody() {
    let shadow = Upstream::start(|peer, _| {
        while peer.request().is_some() {
            for byte in ok("hello") {
                peer.send([byte]);
                std::thread::sleep(Duration::from_secs(1));
            }
        }
    });
    assert!(harmless(shadow.address).contains("reason=\"deadline\""));
}

#[test]
fn a_shadow_that_resets_or_closes_early_harms_nobody() {
    let shadow = Upstream::start(|peer, number| {
        if number % 2 == 0 {
            peer.request();
            peer.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf");
        } else {
            // Unread bytes make this a reset.
            peer.head();
        }
    });
    let page = harmless(shadow.address);
    assert!(page.contains("reason=\"broke\""), "{page}");
}

#[test]
fn a_shadow_that_talks_nonsense_harms_nobody() {
    let shadow = Upstream::start(|peer, _| {
        peer.request();
        peer.send("SSH-2.0-nonsense\r\n");
    });
    assert!(harmless(shadow.address).contains("reason=\"malformed\""));
}

#[test]
fn a_shadow_that_returns_without_end_is_not_read_on() {
    let shadow = Upstream::start(|peer, _| {
        peer.request();
        peer.send("HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n");
        let part = vec![b'x'; 64 * 1024];
        // Ends when the gateway closes: writes fail then.
        while std::io::Write::write_all(&mut peer.stream, &part).is_ok() {}
    });
    let page = harmless(shadow.address);
    assert!(page.contains("kind=\"size\"") || page.contains("reason=\"deadline\""), "{page}");
}

#[test]
fn a_session_is_copied_whole_and_every_shadow_gets_the_same_requests() {
    let (live, one, other) = (Upstream::hello(), Upstream::hello(), Upstream::hello());
    let mut settings = mirrored(live.address, &[one.address, other.address]);
    for mirror in &mut settings.mirrors {
        mirror.choice.fraction = Ratio::new(0.5).unwrap();
        mirror.key = KeyBy::Cookie("sid".to_owned());
    }
    let gateway = started(settings);
    let mut client = client(&gateway);
    for session in 0..40 {
        for step in 0..3 {
            let target = format!("/{session}/{step}");
            client.ask(format!(
                "GET {target} HTTP/1.1\r\nHost: test\r\nCookie: a=b; sid=user-{session}\r\n\r\n"
            ));
        }
    }
    let paths = |shadow: &Upstream| -> BTreeSet<String> {
        shadow
            .seen()
            .lines()
            .filter_map(|line| Some(line.strip_prefix("GET ")?.split(' ').next()?.to_owned()))
            .collect()
    };
    let mut page = String::new();
    eventually("everything is asked about and settled", || {
        page = admin(&gateway, "/metrics").text();
        let asked =
            total(&page, "headroom_mirror_chosen_total") + total(&page, "headroom_mirror_not_chosen_total");
        asked == 240.0 && total(&page, "headroom_mirror_in_flight") == 0.0
    });
    assert_eq!(paths(&one), paths(&other));
    let count = paths(&one).len();
    assert!(count % 3 == 0 && (15..=105).contains(&count), "{count} of 120");
    for path in paths(&one) {
        let (session, _) = path.rsplit_once('/').unwrap();
        assert!(
            (0..3).all(|step| paths(&one).contains(&format!("{session}/{step}"))),
            "{session} is not whole"
        );
    }
}

fn echo() -> Upstream {
    Upstream::answering(|request| ok(&request.text()))
}

fn post(body: &str) -> String {
    format!("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

#[test]
fn what_may_change_something_is_copied_only_where_that_is_allowed() {
    let (live, shadow) = (echo(), echo());
    let settings = mirrored(live.address, &[shadow.address]);
    let gateway = started(settings.clone());
    assert_eq!(client(&gateway).ask(post("one")).text(), "one");
    settled(&gateway, 1.0);
    assert_eq!(metric(&gateway, &with("dropped_total", "reason", "unsafe_method")), 1.0);
    assert_eq!(shadow.seen(), "");

    let mut settings = settings;
    settings.mirrors[0].choice.methods = Methods::All;
    let gateway = started(settings);
    let mut client = client(&gateway);
    assert_eq!(client.ask(post("two")).text(), "two");
    let chunked = "POST / HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n";
    client.send(chunked);
    for part in ["5\r\nthree\r\n", "5\r\n four\r\n", "0\r\n\r\n"] {
        std::thread::sleep(Duration::from_millis(30));
        client.send(part);
    }
    assert_eq!(client.answer().text(), "three four");
    let large = "x".repeat(50_000);
    assert_eq!(client.ask(post(&large)).text(), large);
    settled(&gateway, 3.0);
    assert_eq!(metric(&gateway, &named("same_total")), 3.0, "{}", shadow.seen());
}

#[test]
fn a_body_that_is_too_long_or_never_whole_is_not_copied() {
    let (live, shadow) = (echo(), echo());
    let mut settings = mirrored(live.address, &[shadow.address]);
    settings.mirrors[0].choice.methods = Methods::All;
    settings.mirrors[0].body_max = Bytes::new(1_000);
    let gateway = started(settings);
    let large = "x".repeat(200_000);
    assert_eq!(client(&gateway).ask(post(&large)).text(), large);
    let mut client = client(&gateway);
    client.send("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 100\r\n\r\nhalf");
    eventually("the half is sent on", || live.seen().ends_with("half"));
    drop(client);
    settled(&gateway, 2.0);
    assert_eq!(metric(&gateway, &with("dropped_total", "reason", "body_too_large")), 1.0);
    assert_eq!(metric(&gateway, &with("dropped_total", "reason", "body_incomplete")), 1.0);
    assert_eq!(shadow.seen(), "");
}

#[test]
fn a_live_answer_that_breaks_off_is_not_compared() {
    let live = Upstream::start(|peer, _| {
        peer.request();
        peer.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf");
    });
    let shadow = Upstream::hello();
    let gateway = started(mirrored(live.address, &[shadow.address]));
    let mut client = client(&gateway);
    client.send(get("/"));
    assert!(client.try_answer(false).is_none());
    settled(&gateway, 1.0);
    assert_eq!(metric(&gateway, &with("failed_total", "reason", "live_incomplete")), 1.0);
}

#[test]
fn a_live_answer_may_take_longer_than_the_shadow() {
    let (live, shadow) = (Upstream::hello(), Upstream::answering(|_| ok("hello")));
    let gateway = started(mirrored(live.address, &[shadow.address]));
    assert_eq!(client(&gateway).ask(get("/?300")).text(), "hello");
    settled(&gateway, 1.0);
    assert_eq!(metric(&gateway, &named("same_total")), 1.0);
    let (slow, fast) = (named("live_seconds_total"), named("shadow_seconds_total"));
    assert!(metric(&gateway, &slow) > 0.25 && metric(&gateway, &fast) < metric(&gateway, &slow));
}

#[test]
fn an_absolute_limit_holds() {
    let (live, shadow) = (Upstream::hello(), Upstream::hello());
    let mut settings = mirrored(live.address, &[shadow.address]);
    settings.mirrors[0].choice.limit = Some(Limit { rate: Rate::per_second_of(0.001), burst: 5 });
    let gateway = started(settings);
    let mut client = client(&gateway);
    (0..20).for_each(|_| assert_eq!(client.ask(get("/")).text(), "hello"));
    settled(&gateway, 20.0);
    assert_eq!(metric(&gateway, &with("dropped_total", "reason", "over_limit")), 15.0);
    assert_eq!(metric(&gateway, &named("same_total")), 5.0);
}

#[test]
fn the_breaker_trips_on_the_gateways_own_lag_and_admits_again() {
    let (live, shadow) = (Upstream::hello(), Upstream::hello());
    let mut settings = mirrored(live.address, &[shadow.address]);
    // Every loop is late by a nanosecond.
    let (trip_at, admit_below) = (Duration::from_nanos(1), Duration::ZERO);
    settings.mirrors[0].choice.breaker =
        BreakerSettings { trip_at, admit_below, admit_after: Duration::ZERO };
    let gateway = started(settings.clone());
    eventually_metric(&gateway, "headroom_mirror_tripped{mirror=\"next 0\"}", 1.0);
    let mut client = client(&gateway);
    assert_eq!(client.ask(get("/")).text(), "hello");
    settled(&gateway, 1.0);
    assert_eq!(metric(&gateway, &with("dropped_total", "reason", "tripped")), 1.0);
    settings.mirrors[0].choice.breaker.trip_at = Duration::from_secs(60);
    gateway.reload(settings).unwrap();
    eventually_metric(&gateway, "headroom_mirror_tripped{mirror=\"next 0\"}", 0.0);
    eventually("copies go again", || {
        client.ask(get("/"));
        metric(&gateway, &named("same_total")) >= 1.0
    });
}

#[test]
fn a_reload_changes_mirrors_while_copies_are_under_way() {
    let (live, slow, next) = (Upstream::hello(), Upstream::hello(), Upstream::hello());
    let plain = crate::support::settings(&[live.address]);
    let gateway = started(plain.clone());
    let mut client = client(&gateway);
    assert_eq!(client.ask(get("/")).text(), "hello");

    let with_mirror = mirrored(live.address, &[slow.address]);
    gateway.reload(Settings { listen: plain.listen, ..with_mirror.clone() }).unwrap();
    eventually("the mirror is in force", || {
        client.ask(get("/"));
        metric(&gateway, &named("same_total")) >= 1.0
    });
    let before = metric(&gateway, &named("chosen_total"));
    // At the shadow this takes as long as at the live instance.
    client.send(get("/?400"));
    eventually("the copy is under way", || slow.seen().contains("/?400"));
    let mut changed = with_mirror;
    changed.pools[1].instances = vec![gateway::settings::Instance::new(next.address)];
    gateway.reload(changed).unwrap();
    assert_eq!(client.answer().text(), "hello");
    eventually("copies go elsewhere", || {
        client.ask(get("/next"));
        next.seen().contains("/next")
    });
    let page = admin(&gateway, "/metrics").text();
    assert!(metric(&gateway, &named("chosen_total")) > before, "counts go on: {page}");
    eventually("all are settled", || {
        metric(&gateway, &named("in_flight")) == 0.0
            && metric(&gateway, &named("same_total")) == metric(&gateway, &named("chosen_total"))
    });
    gateway.reload(plain).unwrap();
    eventually("nothing is copied any more", || {
        !admin(&gateway, "/metrics").text().contains("headroom_mirror_")
    });
    assert_eq!(client.ask(get("/")).text(), "hello");
}

#[test]
fn what_is_shed_is_not_copied() {
    let (live, shadow) = (Upstream::hello(), Upstream::hello());
    let settings = mirrored(live.address, &[shadow.address]);
    let gateway = started(under_rate(settings, rate("0.001/s", 1, 0)));
    let mut client = client(&gateway);
    assert_eq!(client.ask(get("/")).status(), 200);
    assert_eq!(client.ask(get("/")).status(), 503);
    settled(&gateway, 1.0);
}

#[test]
fn a_gateway_with_copies_under_way_ends_in_time() {
    let live = Upstream::hello();
    let shadow = Upstream::start(|peer, _| while peer.request().is_some() {});
    let gateway = started(mirrored(live.address, &[shadow.address]));
    assert_eq!(client(&gateway).ask(get("/")).text(), "hello");
    let begin = std::time::Instant::now();
    gateway.drain();
    assert!(begin.elapsed() < Duration::from_secs(4), "{:?}", begin.elapsed());
}

#[test]
fn two_clients_with_one_pipeline_each_are_copied_in_full() {
    let echo_target = || Upstream::answering(|request| ok(request.start_line()));
    let (live, shadow) = (echo_target(), echo_target());
    let mut settings = mirrored(live.address, &[shadow.address]);
    settings.workers = std::num::NonZeroU32::new(2).unwrap();
    let gateway = started(settings);
    let mut clients = [client(&gateway), client(&gateway)];
    for (number, client) in clients.iter_mut().enumerate() {
        client.send((0..50).map(|index| get(&format!("/{number}/{index}"))).collect::<String>());
    }
    for (number, client) in clients.iter_mut().enumerate() {
        for index in 0..50 {
            assert_eq!(client.answer().text(), format!("GET /{number}/{index} HTTP/1.1"));
        }
    }
    settled(&gateway, 100.0);
    assert_eq!(metric(&gateway, &named("same_total")), 100.0);
}

#[test]
fn a_capture_is_written_and_accounted_for_beside_a_mirror() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("capture.ndjson");
    let (live, shadow) = (Upstream::hello(), Upstream::hello());
    let mut settings = mirrored(live.address, &[shadow.address]);
    settings.capture = Some(gateway::settings::Capture::new(file.clone()));
    let gateway = started(settings.clone());
    let mut client = client(&gateway);
    for _ in 0..10 {
        client.ask("GET /a HTTP/1.1\r\nHost: test\r\nCookie: sid=s3cret\r\n\r\n");
    }
    assert_eq!(client.ask(post("body")).text(), "hello");
    eventually_metric(&gateway, "headroom_capture_written_total{route=\"all\"}", 11.0);
    assert_eq!(metric(&gateway, "headroom_capture_chosen_total{route=\"all\"}"), 11.0);
    assert_eq!(metric(&gateway, "headroom_capture_in_flight{route=\"all\"}"), 0.0);

    // The configuration in force stays when a change is refused.
    let elsewhere = gateway::settings::Capture::new(folder.path().join("elsewhere"));
    let refused = gateway.reload(Settings { capture: Some(elsewhere), ..settings.clone() }).unwrap_err();
    assert!(refused.to_string().starts_with("`capture` cannot change while the gateway runs"), "{refused}");
    gateway.reload(settings).unwrap();
    client.send("HEAD /last HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n");
    client.until_end();
    gateway.drain();
    let text = std::fs::read_to_string(&file).unwrap();
    assert_eq!(text.lines().count(), 12, "{text}");
    assert!(text.lines().last().unwrap().contains("/last") && !text.contains("s3cret"), "{text}");
    assert!(!shadow.seen().contains("POST"), "{}", shadow.seen());
}

#[test]
fn an_endless_shadow_is_let_go_where_the_live_answer_broke_off() {
    let live = Upstream::start(|peer, _| {
        peer.request();
        peer.send("HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\nhalf");
    });
    let shadow = Upstream::start(|peer, _| {
        peer.request();
        peer.send("HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n");
        let part = vec![b'x'; 64 * 1024];
        while std::io::Write::write_all(&mut peer.stream, &part).is_ok() {}
    });
    // Long before its deadline, which is longer than this test waits.
    let gateway = started(mirrored(live.address, &[shadow.address]));
    let mut client = client(&gateway);
    client.send(get("/"));
    assert!(client.try_answer(false).is_none());
    settled(&gateway, 1.0);
    assert_eq!(metric(&gateway, &with("failed_total", "reason", "live_incomplete")), 1.0);
}

fn page(gateway: &Gateway, path: &str) -> serde_json::Value {
    serde_json::from_str(&admin(gateway, path).text()).unwrap()
}

#[test]
fn a_pause_is_renewed_by_its_holder_and_ends_without_one() {
    let folder = tempfile::tempdir().unwrap();
    let (live, shadow) = (Upstream::hello(), Upstream::hello());
    let mut settings = mirrored(live.address, &[shadow.address]);
    settings.capture = Some(gateway::settings::Capture::new(folder.path().join("capture.ndjson")));
    let gateway = started(settings.clone());
    let mut client = client(&gateway);
    let mut ask = |path: &str, times: usize| {
        (0..times).for_each(|_| assert_eq!(client.ask(get(path)).text(), "hello"));
    };
    ask("/before", 3);
    let asked =
        |holder: &str, seconds: f64| serde_json::json!({ "holder": holder, "seconds": seconds }).to_string();
    for (method, body, status, says) in [
        ("PUT", asked("a", 1.5), 200, "paused"),
        ("PUT", asked("b", 1.5), 409, "copies are paused by a"),
        ("PUT", asked("a", 60.0), 400, "outside 1 to 10"),
        ("PUT", asked("", 1.5), 400, "`holder`"),
        ("PUT", "nonsense".to_owned(), 400, "no pause"),
        ("DELETE", "{\"holder\":\"b\"}".to_owned(), 200, "false"),
        ("DELETE", "{}".to_owned(), 400, "holder"),
        ("DELETE", "{\"holder\":\"a\"}".to_owned(), 200, "true"),
        // Long enough for a busy machine.
        ("PUT", asked("a", 3.0), 200, "paused"),
    ] {
        let answer = change_admin(&gateway, method, "/mirroring/pause", &body);
        assert_eq!(answer.status(), status, "{method} {body}: {}", answer.text());
        assert!(answer.text().contains(says), "{method} {body}: {}", answer.text());
    }
    // A reload keeps it.
    gateway.reload(Settings { listen: settings.listen, ..settings }).unwrap();
    ask("/paused", 5);
    let held = page(&gateway, "/mirroring");
    assert_eq!(held["paused"]["holder"], "a", "{held:#}");
    assert_eq!(page(&gateway, "/status")["copies_paused"]["holder"], "a");
    assert_eq!(metric(&gateway, "headroom_mirror_paused"), 1.0);
    // The requests of the pause are not chosen, and every request is accounted for.
    settled(&gateway, 3.0);
    eventually_metric(&gateway, &named("not_chosen_total"), 5.0);
    assert_eq!(metric(&gateway, "headroom_capture_chosen_total{route=\"all\"}"), 3.0);
    assert!(!shadow.seen().contains("/paused"), "{}", shadow.seen());
    // Nobody renews it, as after a `kill -9` of its holder.
    eventually("it ends", || page(&gateway, "/mirroring")["paused"].is_null());
    assert_eq!(metric(&gateway, "headroom_mirror_paused"), 0.0);
    ask("/after", 2);
    settled(&gateway, 5.0);
    eventually_metric(&gateway, "headroom_capture_written_total{route=\"all\"}", 5.0);
    eventually("its counts are of all requests", || page(&gateway, "/mirroring")["arrived"] == 10);
    let found = page(&gateway, "/mirroring");
    let times = found["response_times"]["buckets"].as_array().unwrap();
    assert_eq!(times.iter().map(|bucket| bucket[1].as_u64().unwrap()).sum::<u64>(), 10, "{found:#}");
    assert_eq!((&found["copies"][0]["mirror"], &found["copies"][0]["chosen"]), (&"next 0".into(), &5.into()));
    assert!(found["copies"][1]["mirror"].is_null() && found["copies"][1]["dropped"] == 0, "{found:#}");
    assert!(found["processor"]["workers_s"].as_f64().unwrap() > 0.0, "{found:#}");
}
