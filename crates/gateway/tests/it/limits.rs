//! Queues, priorities, keys, slots at instances, adaptive limits and shadow limits.

use crate::support::{
    Peer, Upstream, client, eventually, eventually_metric, get, metric, ok, rate, route, settings, started,
    under_rate,
};
use control::rate::RateSettings;
use gateway::Gateway;
use gateway::settings::{
    Adaptive, Class, ConcurrencySettings, KeyBy, Keyed, PathMatch, Queue, RateClassSettings, RoutePriority,
    Rule, Settings,
};
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use units::Ratio;

const ONE: &str = "headroom_concurrency{class=\"limit\"}";
const WAITING: &str = "headroom_concurrency_waiting{class=\"limit\"}";

/// One route with one concurrency limit.
fn limited(upstream: &Upstream, limit: ConcurrencySettings) -> Settings {
    let mut settings = settings(&[upstream.address]);
    settings.concurrency_limits = vec![Class::new("limit", limit)];
    settings.routes[0].concurrency = Some(0);
    settings
}

fn queue(places: u32, longest_wait: Duration) -> Option<Queue> {
    Some(Queue { places, longest_wait })
}

const LONG: Duration = Duration::from_secs(8);

fn reason_of(answer: &crate::support::Message) -> String {
    let text = answer.text();
    let reason = text.split("\"reason\":\"").nth(1).and_then(|rest| rest.split('"').next());
    reason.unwrap_or("none").to_owned()
}

fn shed(gateway: &Gateway, reason: &str) -> f64 {
    metric(gateway, &format!("headroom_shed_total{{route=\"all\",reason=\"{reason}\"}}"))
}

/// Sends a request that holds its slot for this many milliseconds, and waits until it has it.
fn hold(gateway: &Gateway, millis: u64) -> Peer {
    let mut holder = client(gateway);
    let before = metric(gateway, ONE);
    holder.send(get(&format!("/?{millis}")));
    eventually_metric(gateway, ONE, before + 1.0);
    holder
}

/// Sends a request that has to wait, and returns when it does.
fn wait(gateway: &Gateway, request: &str) -> Peer {
    let mut waiter = client(gateway);
    let before = metric(gateway, WAITING);
    waiter.send(request);
    eventually_metric(gateway, WAITING, before + 1.0);
    waiter
}

#[test]
fn waiters_go_on_in_their_order_and_a_full_queue_sheds() {
    let upstream = Upstream::hello();
    let limit = ConcurrencySettings { queue: queue(2, LONG), ..1.into() };
    let gateway = started(limited(&upstream, limit));
    let mut holder = hold(&gateway, 1_500);
    let mut waiters: Vec<Peer> =
        ["/first", "/second"].iter().map(|path| wait(&gateway, &get(path))).collect();
    let refused = client(&gateway).ask(get("/third"));
    assert_eq!((refused.status(), reason_of(&refused).as_str()), (503, "backlog_full"));
    assert_eq!(holder.answer().status(), 200);
    waiters.iter_mut().for_each(|waiter| assert_eq!(waiter.answer().status(), 200));
    let seen = upstream.seen();
    assert!(seen.find("/first") < seen.find("/second") && !seen.contains("/third"), "{seen}");
    eventually_metric(&gateway, "headroom_waited_total{route=\"all\"}", 2.0);
    eventually_metric(&gateway, "headroom_demand_total{route=\"all\"}", 4.0);
    assert_eq!((metric(&gateway, ONE), metric(&gateway, WAITING)), (0.0, 0.0));
}

#[test]
fn nobody_waits_longer_than_he_may() {
    let upstream = Upstream::hello();
    let limit = ConcurrencySettings { queue: queue(5, Duration::from_millis(150)), ..1.into() };
    let gateway = started(limited(&upstream, limit));
    let mut holder = hold(&gateway, 1_500);
    let begin = Instant::now();
    let refused = client(&gateway).ask(get("/"));
    assert_eq!((refused.status(), reason_of(&refused).as_str()), (503, "deadline"));
    assert!(begin.elapsed() >= Duration::from_millis(140), "{:?}", begin.elapsed());
    assert!(begin.elapsed() < Duration::from_millis(1_400), "before a place was free: {:?}", begin.elapsed());
    assert_eq!(holder.answer().status(), 200);
}

#[test]
fn a_client_says_how_long_it_waits() {
    let upstream = Upstream::hello();
    let mut settings = limited(&upstream, ConcurrencySettings { queue: queue(5, LONG), ..1.into() });
    settings.routes[0].deadline_header = Some("x-request-timeout".to_owned());
    let gateway = started(settings);
    let mut holder = hold(&gateway, 1_500);
    let request = "GET / HTTP/1.1\r\nHost: test\r\nX-Request-Timeout: 100ms\r\n\r\n";
    let refused = client(&gateway).ask(request);
    assert_eq!((refused.status(), reason_of(&refused).as_str()), (503, "deadline"));
    assert_eq!(shed(&gateway, "deadline").max(1.0), 1.0);
    assert_eq!(holder.answer().status(), 200);
}

#[test]
fn a_turn_after_a_client_has_left_is_not_given() {
    let upstream = Upstream::hello();
    let ruled = |mut settings: Settings| {
        settings.routes[0].rate_class = None;
        settings.routes[0].rule =
            Some(Rule { name: "test.luau".to_owned(), source: "rate.use(\"rate\")".to_owned() });
        settings
    };
    let joined = under_rate(settings(&[upstream.address]), rate("1/s", 1, 5));
    let by_key = keyed(&upstream, KeyBy::Client, rate("1/s", 1, 5));
    for mut settings in [ruled(joined.clone()), joined, by_key] {
        settings.routes[0].deadline_header = Some("x-request-timeout".to_owned());
        let gateway = started(settings);
        assert_eq!(client(&gateway).ask(get("/")).status(), 200);
        let begin = Instant::now();
        let refused =
            client(&gateway).ask("GET / HTTP/1.1\r\nHost: test\r\nX-Request-Timeout: 100ms\r\n\r\n");
        assert_eq!((refused.status(), reason_of(&refused).as_str()), (503, "deadline"));
        assert!(begin.elapsed() < Duration::from_millis(500), "at once: {:?}", begin.elapsed());
        assert_eq!(client(&gateway).ask(get("/")).status(), 200, "who has time gets the turn");
    }
}

#[test]
fn a_waiter_that_leaves_gives_up_its_place() {
    let upstream = Upstream::hello();
    let gateway = started(limited(&upstream, ConcurrencySettings { queue: queue(1, LONG), ..1.into() }));
    let mut holder = hold(&gateway, 1_500);
    drop(wait(&gateway, &get("/leaves")));
    eventually_metric(&gateway, WAITING, 0.0);
    let mut stays = wait(&gateway, &get("/stays"));
    assert_eq!((holder.answer().status(), stays.answer().status()), (200, 200));
    assert!(!upstream.seen().contains("/leaves"));
}

#[test]
fn a_queue_that_stands_serves_the_newest_and_sheds_the_old() {
    let upstream = Upstream::hello();
    // Standing after 300 ms with a wait above 60 ms.
    let limit = ConcurrencySettings { queue: queue(20, Duration::from_millis(300)), ..1.into() };
    let gateway = started(limited(&upstream, limit));
    let end = Instant::now() + Duration::from_secs(2);
    let threads: Vec<_> = (0..12)
        .map(|_| {
            let mut client = client(&gateway);
            std::thread::spawn(move || {
                let mut reasons = Vec::new();
                while Instant::now() < end {
                    reasons.push(reason_of(&client.ask(get("/?40"))));
                }
                reasons
            })
        })
        .collect();
    let reasons: Vec<String> = threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
    assert!(reasons.iter().any(|reason| reason == "standing_queue"), "{reasons:?}");
    assert!(reasons.iter().filter(|reason| *reason == "none").count() >= 15, "{reasons:?}");
    eventually_metric(&gateway, ONE, 0.0);
    assert_eq!(metric(&gateway, WAITING), 0.0);
}

#[test]
fn places_that_another_worker_frees_are_found() {
    let upstream = Upstream::hello();
    let limit = ConcurrencySettings { queue: queue(50, LONG), ..2.into() };
    let mut settings = limited(&upstream, limit);
    settings.workers = NonZeroU32::new(4).unwrap();
    let gateway = started(settings);
    let threads: Vec<_> = (0..24)
        .map(|_| {
            let mut client = client(&gateway);
            std::thread::spawn(move || (0..4).map(|_| client.ask(get("/?5")).status()).collect::<Vec<_>>())
        })
        .collect();
    let statuses: Vec<u16> = threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
    // The queue may be standing here and shed; but no request may be lost.
    assert!(statuses.iter().filter(|&&status| status == 200).count() >= 24, "{statuses:?}");
    eventually_metric(&gateway, ONE, 0.0);
    assert_eq!(metric(&gateway, WAITING), 0.0);
}

fn with_priorities(upstream: &Upstream, limit: ConcurrencySettings) -> Settings {
    let half = Ratio::new(0.5).unwrap();
    let mut settings = limited(upstream, ConcurrencySettings { priorities: vec![half, Ratio::ONE], ..limit });
    settings.priorities = vec!["background".to_owned(), "user".to_owned()];
    settings.routes[0].priority = Some(RoutePriority::Header { name: "x-priority".to_owned(), otherwise: 0 });
    settings
}

const USER: &str = "GET /user HTTP/1.1\r\nHost: test\r\nX-Priority: User\r\n\r\n";

#[test]
fn lower_classes_fill_their_share_only() {
    let upstream = Upstream::hello();
    let gateway = started(with_priorities(&upstream, 4.into()));
    let mut holders = [hold(&gateway, 1_500), hold(&gateway, 1_500)];
    let refused = client(&gateway).ask(get("/background"));
    assert_eq!((refused.status(), reason_of(&refused).as_str()), (503, "priority"));
    assert_eq!(client(&gateway).ask(USER).status(), 200);
    holders.iter_mut().for_each(|holder| assert_eq!(holder.answer().status(), 200));
}

#[test]
fn a_higher_class_overtakes_in_the_queue() {
    let upstream = Upstream::hello();
    let limit = ConcurrencySettings { queue: queue(10, LONG), ..1.into() };
    let gateway = started(with_priorities(&upstream, limit));
    let mut holder = hold(&gateway, 1_500);
    let mut background = wait(&gateway, &get("/background"));
    let mut user = wait(&gateway, USER);
    assert_eq!(holder.answer().status(), 200);
    assert_eq!((user.answer().status(), background.answer().status()), (200, 200));
    let seen = upstream.seen();
    assert!(seen.find("/user") < seen.find("/background"), "{seen}");
}

#[test]
fn under_overload_the_higher_class_is_served() {
    let upstream = Upstream::hello();
    let gateway = Arc::new(started(with_priorities(&upstream, 4.into())));
    let end = Instant::now() + Duration::from_millis(1_500);
    let flood: Vec<_> = (0..8)
        .map(|_| {
            let mut client = client(&gateway);
            std::thread::spawn(move || {
                let mut shed = 0;
                while Instant::now() < end {
                    shed += usize::from(client.ask(get("/?20")).status() == 503);
                }
                shed
            })
        })
        .collect();
    // Two at once fit beside the flood's share.
    let users: Vec<_> = (0..2)
        .map(|_| {
            let mut client = client(&gateway);
            std::thread::spawn(move || {
                let mut statuses = Vec::new();
                while Instant::now() < end {
                    statuses.push(client.ask(USER.replace("/user", "/user?20")).status());
                }
                statuses
            })
        })
        .collect();
    let statuses: Vec<u16> = users.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
    let shed: usize = flood.into_iter().map(|thread| thread.join().unwrap()).sum();
    assert!(statuses.iter().all(|&status| status == 200), "{statuses:?}");
    assert!(shed > 0, "the flood was shed");
}

fn keyed(upstream: &Upstream, by: KeyBy, rate: RateSettings) -> Settings {
    let keyed = Some(Keyed { by, keys: 100 });
    under_rate(settings(&[upstream.address]), RateClassSettings { rate, keyed, shadow: false })
}

#[test]
fn each_key_has_a_rate_of_its_own() {
    let upstream = Upstream::hello();
    let by = KeyBy::Header("x-api-key".to_owned());
    let mut settings = keyed(&upstream, by, rate("1/s", 2, 0));
    settings.workers = NonZeroU32::new(2).unwrap();
    let gateway = started(settings);
    for key in ["ann", "bob"] {
        let request = format!("GET / HTTP/1.1\r\nHost: test\r\nX-Api-Key: {key}\r\n\r\n");
        // On every worker, the limit of a key is the same.
        let statuses: Vec<u16> = (0..8).map(|_| client(&gateway).ask(&request).status()).collect();
        assert_eq!(statuses[..2], [200, 200], "{key}: {statuses:?}");
        assert!(statuses.iter().filter(|&&status| status == 503).count() >= 4, "{key}: {statuses:?}");
    }
    assert_eq!(metric(&gateway, "headroom_rate_keys{class=\"rate\"}"), 2.0);
    assert_eq!(metric(&gateway, "headroom_rate_keys_shared_total{class=\"rate\"}"), 0.0);
}

#[test]
fn a_key_may_wait_for_its_turn() {
    let upstream = Upstream::hello();
    let gateway = started(keyed(&upstream, KeyBy::Client, rate("5/s", 1, 1)));
    let begin = Instant::now();
    let mut client = client(&gateway);
    assert_eq!((client.ask(get("/")).status(), client.ask(get("/")).status()), (200, 200));
    assert!(begin.elapsed() >= Duration::from_millis(190), "{:?}", begin.elapsed());
    eventually_metric(&gateway, "headroom_waited_total{route=\"all\"}", 1.0);
}

/// Two instances with `each` slots, and for each the highest number of requests at once.
fn pool(each: u32, queue: Option<Queue>) -> (Gateway, Vec<Arc<AtomicUsize>>, Vec<Upstream>) {
    let (mut most, mut upstreams) = (Vec::new(), Vec::new());
    for _ in 0..2 {
        let highest = Arc::new(AtomicUsize::new(0));
        most.push(Arc::clone(&highest));
        let now = AtomicUsize::new(0);
        upstreams.push(Upstream::answering(move |_| {
            let busy = now.fetch_add(1, Ordering::SeqCst) + 1;
            highest.fetch_max(busy, Ordering::SeqCst);
            std::thread::sleep(Duration::from_millis(30));
            now.fetch_sub(1, Ordering::SeqCst);
            ok("hello")
        }));
    }
    let addresses: Vec<_> = upstreams.iter().map(|upstream| upstream.address).collect();
    let mut settings = settings(&addresses);
    settings.workers = NonZeroU32::new(2).unwrap();
    settings.pools[0].instance_concurrency = Some(each);
    settings.pools[0].queue = queue;
    (started(settings), most, upstreams)
}

fn all_at_once(gateway: &Gateway, clients: usize, each: usize) -> Vec<u16> {
    let threads: Vec<_> = (0..clients)
        .map(|_| {
            let mut client = client(gateway);
            std::thread::spawn(move || (0..each).map(|_| client.ask(get("/")).status()).collect::<Vec<_>>())
        })
        .collect();
    threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
}

#[test]
fn an_instance_never_has_more_than_its_places() {
    let (gateway, most, _upstreams) = pool(2, queue(50, LONG));
    let statuses = all_at_once(&gateway, 12, 5);
    assert!(statuses.iter().all(|&status| status == 200), "{statuses:?}");
    let most: Vec<usize> = most.iter().map(|most| most.load(Ordering::SeqCst)).collect();
    assert_eq!(most, [2, 2], "both are filled and none is passed");
    let waited = metric(&gateway, "headroom_waited_total{route=\"all\"}");
    assert!(waited > 0.0, "somebody waited");
    assert_eq!(metric(&gateway, "headroom_pool_waiting{pool=\"pool\"}"), 0.0);
}

#[test]
fn a_higher_class_goes_first_to_an_instance() {
    let upstream = Upstream::hello();
    let mut settings = with_priorities(&upstream, 100.into());
    settings.pools[0].instance_concurrency = Some(1);
    settings.pools[0].queue = queue(10, LONG);
    let gateway = started(settings);
    let mut holder = hold(&gateway, 1_500);
    let mut waiters = Vec::new();
    for (number, request) in [get("/background"), USER.to_owned()].into_iter().enumerate() {
        waiters.push(client(&gateway));
        waiters[number].send(request);
        eventually_metric(&gateway, "headroom_pool_waiting{pool=\"pool\"}", number as f64 + 1.0);
    }
    assert_eq!(holder.answer().status(), 200);
    waiters.iter_mut().for_each(|waiter| assert_eq!(waiter.answer().status(), 200));
    let seen = upstream.seen();
    assert!(seen.find("/user") < seen.find("/background"), "{seen}");
}

#[test]
fn where_nobody_may_wait_a_full_pool_sheds() {
    let (gateway, most, _upstreams) = pool(1, None);
    let statuses = all_at_once(&gateway, 12, 5);
    assert!(statuses.iter().all(|status| matches!(status, 200 | 503)), "{statuses:?}");
    assert!(statuses.contains(&503) && statuses.contains(&200), "{statuses:?}");
    assert!(most.iter().all(|most| most.load(Ordering::SeqCst) == 1));
    eventually("all were counted", || {
        let count = statuses.iter().filter(|&&status| status == 503).count();
        shed(&gateway, "concurrency") == count as f64
    });
}

#[test]
fn places_at_instances_outlive_a_reload() {
    let upstream = Upstream::hello();
    let mut settings = settings(&[upstream.address]);
    settings.pools[0].instance_concurrency = Some(1);
    let gateway = started(settings.clone());
    let mut holder = client(&gateway);
    holder.send(get("/?1500"));
    eventually("it is there", || upstream.seen().contains("/?1500"));
    settings.routes.insert(0, route("new", PathMatch::Exact("/new".to_owned())));
    gateway.reload(settings).unwrap();
    std::thread::sleep(Duration::from_millis(250));
    assert_eq!(client(&gateway).ask(get("/new")).status(), 503, "the place is still taken");
    assert_eq!(holder.answer().status(), 200);
    eventually("the place is free", || client(&gateway).ask(get("/new")).status() == 200);
}

#[test]
fn limits_and_those_who_wait_outlive_a_reload_wherever_they_stand() {
    let upstream = Upstream::hello();
    let limit = ConcurrencySettings { queue: queue(5, LONG), ..1.into() };
    let mut settings = limited(&upstream, limit);
    settings.rate_classes = vec![Class::new("slow", rate("1/s", 2, 0))];
    settings.routes.insert(0, route("slow", PathMatch::Exact("/slow".to_owned())));
    settings.routes[0].rate_class = Some(0);
    let gateway = started(settings.clone());
    let statuses: Vec<u16> = (0..4).map(|_| client(&gateway).ask(get("/slow")).status()).collect();
    assert_eq!(statuses, [200, 200, 503, 503]);
    let mut holder = hold(&gateway, 1_500);
    let mut waiter = wait(&gateway, &get("/waiter"));
    // Another class and another limit before them, and another route.
    settings.rate_classes.insert(0, Class::new("fast", rate("1/s", 2, 0)));
    settings.concurrency_limits.insert(0, Class::new("other", 7));
    settings.routes[0].rate_class = Some(1);
    settings.routes[1].concurrency = Some(1);
    gateway.reload(settings).unwrap();
    eventually_metric(&gateway, "headroom_concurrency{class=\"other\"}", 0.0);
    assert_eq!((metric(&gateway, ONE), metric(&gateway, WAITING)), (1.0, 1.0));
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(client(&gateway).ask(get("/slow")).status(), 503, "its bucket is as empty as before");
    assert_eq!((holder.answer().status(), waiter.answer().status()), (200, 200));
    eventually_metric(&gateway, ONE, 0.0);
}

#[test]
fn no_request_is_lost_while_limits_come_and_go() {
    let upstream = Upstream::hello();
    let limit = ConcurrencySettings { queue: queue(100, LONG), ..2.into() };
    let mut settings = limited(&upstream, limit);
    settings.workers = NonZeroU32::new(2).unwrap();
    settings.pools[0].instance_concurrency = Some(3);
    settings.pools[0].queue = queue(100, LONG);
    let gateway = Arc::new(started(settings.clone()));
    let end = Instant::now() + Duration::from_secs(2);
    let threads: Vec<_> = (0..8)
        .map(|_| {
            let mut client = client(&gateway);
            std::thread::spawn(move || {
                let mut statuses = Vec::new();
                while Instant::now() < end {
                    statuses.push(client.ask(get("/?3")).status());
                }
                statuses
            })
        })
        .collect();
    for turn in 0.. {
        if Instant::now() >= end {
            break;
        }
        // Another limit before it, another value, another number of slots.
        let mut next = settings.clone();
        next.concurrency_limits[0].settings.limit = 2 + turn % 2;
        next.pools[0].instance_concurrency = Some(1 + turn % 3);
        if turn % 4 > 1 {
            next.concurrency_limits.insert(0, Class::new("other", 1));
            next.routes[0].concurrency = Some(1);
        }
        gateway.reload(next).unwrap();
        std::thread::sleep(Duration::from_millis(70));
    }
    let statuses: Vec<u16> = threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
    assert!(statuses.len() > 50 && statuses.iter().all(|&status| status == 200), "{statuses:?}");
    let count = statuses.len() as f64;
    eventually_metric(&gateway, "headroom_requests_total{route=\"all\",status=\"200\"}", count);
    eventually_metric(&gateway, "headroom_demand_total{route=\"all\"}", count);
    for gauge in [ONE, WAITING, "headroom_pool_waiting{pool=\"pool\"}"] {
        eventually_metric(&gateway, gauge, 0.0);
    }
}

#[test]
fn a_limit_in_shadow_counts_what_the_live_one_sheds() {
    let upstream = Upstream::hello();
    let mut settings = settings(&[upstream.address]);
    let rate = rate("1/s", 2, 0);
    settings.rate_classes = vec![
        Class::new("live", rate),
        Class::new("tried", RateClassSettings { shadow: true, ..rate.into() }),
    ];
    settings.routes.insert(0, route("live", PathMatch::Exact("/live".to_owned())));
    settings.routes.insert(1, route("tried", PathMatch::Exact("/tried".to_owned())));
    settings.routes[0].rate_class = Some(0);
    settings.routes[1].rate_class = Some(1);
    let gateway = started(settings);
    let mut client = client(&gateway);
    let mut refused = 0;
    for _ in 0..20 {
        // In the same iteration as the other, so that both otherwise see the same times.
        refused += u32::from(client.ask(get("/live")).status() == 503);
        assert_eq!(client.ask(get("/tried")).status(), 200, "it lets pass");
    }
    assert!(refused >= 10, "{refused}");
    let would = "headroom_would_shed_total{route=\"tried\",reason=\"rate_class\"}";
    eventually("both are counted", || metric(&gateway, would) > 0.0);
    eventually("they agree", || (metric(&gateway, would) - f64::from(refused)).abs() <= 1.0);
    assert_eq!(metric(&gateway, "headroom_shed_total{route=\"tried\",reason=\"rate_class\"}"), 0.0);
}

#[test]
fn a_concurrency_limit_in_shadow_lets_pass_and_counts() {
    let upstream = Upstream::hello();
    let gateway = started(limited(&upstream, ConcurrencySettings { shadow: true, ..1.into() }));
    let mut holder = hold(&gateway, 500);
    assert_eq!(client(&gateway).ask(get("/")).status(), 200);
    assert_eq!(holder.answer().status(), 200);
    eventually_metric(&gateway, "headroom_would_shed_total{route=\"all\",reason=\"concurrency\"}", 1.0);
    eventually_metric(&gateway, ONE, 0.0);
}

#[test]
fn a_policy_in_shadow_engages_and_sheds_nobody() {
    let upstream = Upstream::hello();
    let mut settings = crate::sheds::protected(&upstream, gateway::settings::ShedAnswer::Problem);
    settings.policies[0].shadow = true;
    let gateway = started(settings);
    crate::sheds::engage(&gateway);
    let mut client = client(&gateway);
    for _ in 0..20 {
        assert_eq!(client.ask(get("/limited")).status(), 200);
    }
    let would = "headroom_would_shed_total{route=\"limited\",reason=\"rate_class\"}";
    eventually("it would have shed", || metric(&gateway, would) >= 15.0);
}

/// A service that processes two requests at once, 20 ms each; the others queue in it.
fn two_slots() -> Upstream {
    let (slots, turn) = ([Mutex::new(()), Mutex::new(())], AtomicUsize::new(0));
    Upstream::answering(move |_| {
        let slot = turn.fetch_add(1, Ordering::SeqCst) % 2;
        let _busy = slots[slot].lock().unwrap();
        std::thread::sleep(Duration::from_millis(20));
        ok("hello")
    })
}

#[test]
fn an_adaptive_limit_falls_where_requests_queue_in_the_service() {
    let upstream = two_slots();
    let limit = ConcurrencySettings {
        adaptive: Some(Adaptive {
            least: 1,
            most: 100,
            prior: Some(control::concurrency::Prior {
                rate: "50/s".parse().unwrap(),
                response_time: Duration::from_millis(25),
                weight: 500,
            }),
        }),
        ..40.into()
    };
    let gateway = started(limited(&upstream, limit));
    assert_eq!(metric(&gateway, "headroom_concurrency_origin{class=\"limit\",origin=\"measured\"}"), 1.0);
    let over = Arc::new(AtomicBool::new(false));
    let threads: Vec<_> = (0..40)
        .map(|_| {
            let (mut client, over) = (client(&gateway), Arc::clone(&over));
            std::thread::spawn(move || {
                while !over.load(Ordering::SeqCst) {
                    if client.ask(get("/")).status() == 503 {
                        std::thread::sleep(Duration::from_millis(20));
                    }
                }
            })
        })
        .collect();
    // A test in virtual time asserts how far it falls: here the speed of the service depends on the machine's load.
    let (begin, mut changes) = (Instant::now(), Vec::new());
    while !changes.iter().any(|change: &gateway::LimitChange| change.change.to < 40) {
        assert!(begin.elapsed() < Duration::from_secs(40), "it does not fall: {changes:#?}");
        std::thread::sleep(Duration::from_millis(50));
        changes.extend(gateway.take_limit_changes());
    }
    over.store(true, Ordering::SeqCst);
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert!(changes.iter().all(|change| change.limit == "limit"), "{changes:?}");
    let queueing = "headroom_concurrency_changes_total{class=\"limit\",why=\"queueing\"}";
    assert!(metric(&gateway, queueing) > 0.0);
    assert_eq!(metric(&gateway, "headroom_concurrency_origin{class=\"limit\",origin=\"adapted\"}"), 1.0);
    assert!(metric(&gateway, "headroom_concurrency_baseline_seconds{class=\"limit\"}") > 0.0);
}

#[test]
fn a_client_at_ten_times_the_limit_leaves_the_others_alone() {
    let upstream = Upstream::hello();
    let by = KeyBy::Header("x-api-key".to_owned());
    let gateway = started(keyed(&upstream, by, rate("20/s", 5, 0)));
    let end = Instant::now() + Duration::from_millis(1_500);
    let greedy = {
        let mut client = client(&gateway);
        std::thread::spawn(move || {
            let request = "GET / HTTP/1.1\r\nHost: test\r\nX-Api-Key: greedy\r\n\r\n";
            let (mut passed, mut shed) = (0, 0);
            while Instant::now() < end {
                let status = client.ask(request).status();
                (passed, shed) = (passed + u32::from(status == 200), shed + u32::from(status == 503));
                std::thread::sleep(Duration::from_millis(3));
            }
            (passed, shed)
        })
    };
    let mut modest = client(&gateway);
    let request = "GET / HTTP/1.1\r\nHost: test\r\nX-Api-Key: modest\r\n\r\n";
    while Instant::now() < end {
        assert_eq!(modest.ask(request).status(), 200);
        std::thread::sleep(Duration::from_millis(100));
    }
    let (passed, shed) = greedy.join().unwrap();
    assert!(passed <= 5 + 20 * 2 && shed > passed, "{passed} passed, {shed} were shed");
}

#[test]
fn a_policy_in_shadow_leaves_the_limits_of_others_alone() {
    let upstream = Upstream::hello();
    let mut settings = crate::sheds::protected(&upstream, gateway::settings::ShedAnswer::Problem);
    settings.policies[0].shadow = true;
    settings.policies[0].concurrency = Some(0);
    settings.concurrency_limits = vec![Class::new("limit", 1)];
    // Another route applies the same classes.
    let mut live = route("live", PathMatch::Exact("/live".to_owned()));
    (live.rate_class, live.concurrency) = (Some(0), Some(0));
    settings.routes.insert(0, live);
    let gateway = started(settings);
    crate::sheds::engage(&gateway);
    let mut tried = client(&gateway);
    tried.send(get("/limited?1500"));
    eventually("it is there", || upstream.seen().contains("?1500"));
    (0..10).for_each(|_| assert_eq!(client(&gateway).ask(get("/limited")).status(), 200));
    assert_eq!(metric(&gateway, ONE), 0.0, "nobody is in flight under the limit itself");
    assert_eq!(client(&gateway).ask(get("/live")).status(), 200, "its bucket is full");
    assert_eq!(tried.answer().status(), 200);
    eventually("it would have shed", || {
        let would = |reason: &str| {
            metric(&gateway, &format!("headroom_would_shed_total{{route=\"limited\",reason=\"{reason}\"}}"))
        };
        would("concurrency") + would("rate_class") >= 10.0
    });
}

#[test]
fn a_gateway_that_knows_no_service_time_yet_lets_wait_as_long_as_it_says() {
    let upstream = Upstream::hello();
    let mut settings = settings(&[upstream.address]);
    settings.pools[0].instance_concurrency = Some(1);
    settings.pools[0].queue = queue(5, Duration::from_millis(800));
    let gateway = started(settings);
    // The first response takes longer than the rest of the longest wait.
    let mut first = client(&gateway);
    first.send(get("/?500"));
    eventually("it is there", || upstream.seen().contains("/?500"));
    let mut second = client(&gateway);
    second.send(get("/second"));
    assert_eq!((first.answer().status(), second.answer().status()), (200, 200));
}
