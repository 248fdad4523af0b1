//! Instances that fail are taken out and return; safe requests are retried, within the budget.

use crate::balances::{addresses, named, number, shares};
use crate::changes_instances::Generator;
use crate::support::{
    Peer, Upstream, client, eventually, eventually_metric, get, metric, nobody, ok, settings, started,
};
use control::balance::Weight;
use gateway::InstanceChange;
use gateway::settings::{Balance, Ejection, Health, Retries, Settings};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
use units::{Rate, Ratio};

fn state(upstream: &Upstream, state: &str) -> String {
    let address = upstream.address;
    format!("headroom_instance_state{{pool=\"pool\",instance=\"{address}\",state=\"{state}\"}}")
}

fn in_turns(instances: &[&Upstream]) -> Settings {
    let mut settings = settings(&instances.iter().map(|upstream| upstream.address).collect::<Vec<_>>());
    settings.pools[0].balance = Balance::RoundRobin;
    settings
}

#[test]
fn an_instance_that_fails_is_ejected_and_comes_back() {
    let good = Arc::new(AtomicBool::new(false));
    let is_good = Arc::clone(&good);
    let fails = Upstream::answering(move |_| {
        if is_good.load(Ordering::Relaxed) {
            ok("0")
        } else {
            b"HTTP/1.1 500 Oh\r\nContent-Length: 1\r\n\r\n0".to_vec()
        }
    });
    let other = Upstream::answering(|_| ok("1"));
    let mut settings = in_turns(&[&fails, &other]);
    let base = Duration::from_secs(1);
    settings.pools[0].ejection = Some(Ejection { consecutive_failures: 3, base, ..Ejection::default() });
    let gateway = started(settings);
    let mut client = client(&gateway);
    // The third failure is the sixth request; from then on, all requests go to the other instance.
    assert_eq!(shares(&mut client, 6), [3, 3]);
    assert_eq!(shares(&mut client, 10), [0, 10]);
    eventually_metric(&gateway, &state(&fails, "ejected"), 1.0);
    let ejections = format!(
        "headroom_instance_ejections_total{{pool=\"pool\",instance=\"{}\",reason=\"consecutive_failures\"}}",
        fails.address
    );
    assert_eq!(metric(&gateway, &ejections), 1.0);
    good.store(true, Ordering::Relaxed);
    eventually("it is back", || number(&client.ask(get("/"))) == 0);
    eventually_metric(&gateway, &state(&fails, "available"), 1.0);
}

#[test]
fn the_last_one_is_never_ejected_and_refusals_do_not_count() {
    let fails = Upstream::answering(|_| b"HTTP/1.1 500 Oh\r\nContent-Length: 1\r\n\r\n0".to_vec());
    let busy = Upstream::answering(|_| b"HTTP/1.1 503 Busy\r\nContent-Length: 1\r\n\r\n1".to_vec());
    let mut settings = in_turns(&[&fails, &busy]);
    let all = Ratio::ONE;
    settings.pools[0].ejection =
        Some(Ejection { consecutive_failures: 1, max_share: all, ..Ejection::default() });
    let gateway = started(settings);
    let mut client = client(&gateway);
    assert_eq!(shares(&mut client, 2), [1, 1]);
    // An instance at its limit responds with 503: ejecting it would move its load to the next one.
    assert_eq!(shares(&mut client, 10), [0, 10]);
    eventually_metric(&gateway, &state(&busy, "available"), 1.0);
}

/// Responds with its number; its checks pass while the flag is set.
fn checked(number: usize, healthy: &Arc<AtomicBool>) -> Upstream {
    let healthy = Arc::clone(healthy);
    Upstream::answering(move |request| match request.start_line() {
        "GET /healthz HTTP/1.1" if healthy.load(Ordering::Relaxed) => ok("fine"),
        "GET /healthz HTTP/1.1" => b"HTTP/1.1 500 Ill\r\nContent-Length: 0\r\n\r\n".to_vec(),
        _ => ok(&number.to_string()),
    })
}

fn often() -> Option<Health> {
    let (interval, timeout) = (Duration::from_millis(30), Duration::from_secs(5));
    Some(Health { interval, timeout, ..Health::new("/healthz") })
}

#[test]
fn checks_take_an_instance_out_and_bring_it_back() {
    let healthy = Arc::new(AtomicBool::new(true));
    let (ill, other) = (checked(0, &healthy), checked(1, &Arc::new(AtomicBool::new(true))));
    let mut settings = in_turns(&[&ill, &other]);
    settings.pools[0].health = often();
    let gateway = started(settings);
    let mut client = client(&gateway);
    assert_eq!(shares(&mut client, 10), [5, 5]);
    healthy.store(false, Ordering::Relaxed);
    eventually_metric(&gateway, &state(&ill, "unhealthy"), 1.0);
    assert_eq!(shares(&mut client, 10), [0, 10]);
    healthy.store(true, Ordering::Relaxed);
    eventually_metric(&gateway, &state(&ill, "available"), 1.0);
    let [back, _] = shares(&mut client, 10);
    assert!(back >= 4, "{back} of 10");
    let failed = format!(
        "headroom_instance_checks_total{{pool=\"pool\",instance=\"{}\",outcome=\"failed\"}}",
        ill.address
    );
    assert!(metric(&gateway, &failed) >= 3.0);
}

#[test]
fn checks_may_begin_and_end_with_a_reload() {
    let (ill, good) =
        (checked(0, &Arc::new(AtomicBool::new(false))), checked(1, &Arc::new(AtomicBool::new(true))));
    let without = in_turns(&[&ill, &good]);
    let gateway = started(without.clone());
    let mut client = client(&gateway);
    assert_eq!(shares(&mut client, 10), [5, 5]);
    let mut with = without.clone();
    with.pools[0].health = often();
    gateway.reload(with).unwrap();
    eventually_metric(&gateway, &state(&ill, "unhealthy"), 1.0);
    assert_eq!(shares(&mut client, 10), [0, 10]);
    gateway.reload(without).unwrap();
    eventually_metric(&gateway, &state(&ill, "available"), 1.0);
}

#[test]
fn an_instance_that_is_added_proves_itself_first() {
    let healthy = Arc::new(AtomicBool::new(false));
    let (new, old) = (checked(0, &healthy), checked(1, &Arc::new(AtomicBool::new(true))));
    let third = checked(1, &Arc::new(AtomicBool::new(true)));
    let mut settings = in_turns(&[&old, &third]);
    settings.pools[0].health = often();
    let gateway = started(settings);
    gateway
        .change_instances("pool", InstanceChange::Add { address: new.address, weight: Weight::ONE })
        .unwrap();
    eventually_metric(&gateway, &state(&new, "unhealthy"), 1.0);
    let mut client = client(&gateway);
    assert_eq!(shares(&mut client, 20), [0, 20]);
    healthy.store(true, Ordering::Relaxed);
    eventually("it takes requests", || number(&client.ask(get("/"))) == 0);
}

#[test]
fn where_all_are_ill_all_are_used() {
    let healthy = Arc::new(AtomicBool::new(false));
    let (one, two) = (checked(0, &healthy), checked(1, &healthy));
    let mut settings = in_turns(&[&one, &two]);
    settings.pools[0].health = often();
    let gateway = started(settings);
    eventually_metric(&gateway, "headroom_pool_panic{pool=\"pool\"}", 1.0);
    let [first, second] = shares(&mut client(&gateway), 10);
    assert!(first >= 4 && second >= 4, "{first} and {second}");
    healthy.store(true, Ordering::Relaxed);
    eventually_metric(&gateway, "headroom_pool_panic{pool=\"pool\"}", 0.0);
}

/// Accepts requests and closes without a response.
fn breaks() -> Upstream {
    Upstream::start(|peer, _| {
        peer.request();
    })
}

fn retried(reason: &str, outcome: &str) -> String {
    format!("headroom_retries_total{{pool=\"pool\",reason=\"{reason}\",outcome=\"{outcome}\"}}")
}

#[test]
fn what_does_no_harm_is_sent_to_another_instance() {
    let (broken, good) = (breaks(), Upstream::answering(|_| ok("1")));
    let mut settings = in_turns(&[&broken, &good]);
    settings.pools[0].retries.budget = Ratio::ONE;
    let gateway = started(settings);
    let mut client = client(&gateway);
    for _ in 0..10 {
        assert_eq!(number(&client.ask(get("/"))), 1);
    }
    eventually_metric(&gateway, &retried("broke", "repeated"), broken.connections() as f64);
    // A POST may have been processed: the client has to decide.
    let post = "POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 0\r\n\r\n";
    let statuses: Vec<u16> = (0..2).map(|_| client.ask(post).status()).collect();
    assert!(statuses.contains(&502) && statuses.contains(&200), "{statuses:?}");
    eventually_metric(&gateway, &retried("broke", "not_safe"), 1.0);
}

#[test]
fn an_instance_that_dies_slowly_loses_no_get() {
    // It closes a kept connection, and accepts one more request before it ends: so does a process that is killed.
    let (dying, good) = (
        Upstream::start(|peer, number| {
            if peer.request().is_some() && number == 0 {
                peer.send(ok("0"));
                peer.request();
            }
        }),
        Upstream::answering(|_| ok("1")),
    );
    let gateway = started(in_turns(&[&dying, &good]));
    let mut client = client(&gateway);
    assert_eq!(shares(&mut client, 2), [1, 1]);
    assert_eq!(shares(&mut client, 2), [0, 2]);
    assert_eq!(dying.connections(), 2);
    eventually_metric(&gateway, &retried("stale", "repeated"), 1.0);
    eventually_metric(&gateway, &retried("broke", "repeated"), 1.0);
}

#[test]
fn a_budget_bounds_what_is_sent_again() {
    let (broken, good) = (breaks(), Upstream::answering(|_| ok("1")));
    for (retries, repeated) in [
        (Retries { budget: Ratio::ZERO, least: Rate::per_second_of(0.3), tries: 2 }, 3),
        (Retries { budget: Ratio::ONE, least: Rate::ZERO, tries: 1 }, 0),
    ] {
        let mut settings = in_turns(&[&broken, &good]);
        settings.pools[0].retries = retries;
        let gateway = started(settings);
        let mut client = client(&gateway);
        let failed = (0..20).filter(|_| client.ask(get("/")).status() == 502).count();
        eventually_metric(&gateway, &retried("broke", "repeated"), repeated as f64);
        let outcome = if repeated > 0 { "out_of_budget" } else { "out_of_tries" };
        eventually_metric(&gateway, &retried("broke", outcome), failed as f64);
        assert!(failed >= 7, "{failed} of 20");
    }
}

#[test]
fn a_refusal_is_never_sent_again() {
    let asked = Arc::new(AtomicUsize::new(0));
    let counts = Arc::clone(&asked);
    let busy = move |status: &'static str| {
        let asked = Arc::clone(&counts);
        Upstream::answering(move |_| {
            asked.fetch_add(1, Ordering::Relaxed);
            format!("HTTP/1.1 {status} Busy\r\nRetry-After: 30\r\nContent-Length: 0\r\n\r\n").into_bytes()
        })
    };
    let (one, two) = (busy("503"), busy("429"));
    let gateway = started(in_turns(&[&one, &two]));
    let mut client = client(&gateway);
    (0..10).for_each(|_| assert!(matches!(client.ask(get("/")).status(), 429 | 503)));
    assert_eq!(asked.load(Ordering::Relaxed), 10);
}

#[test]
fn an_instance_that_asked_for_calm_is_left_alone() {
    let busy = Upstream::answering(|_| {
        b"HTTP/1.1 503 Busy\r\nRetry-After: 30\r\nContent-Length: 1\r\n\r\n0".to_vec()
    });
    let other = Upstream::answering(|_| ok("1"));
    let gateway = started(settings(&[busy.address, other.address]));
    let mut client = client(&gateway);
    let [asked, _] = shares(&mut client, 40);
    assert_eq!(asked, 1, "until its time is over");
}

#[test]
fn one_that_refuses_connections_costs_no_request_whatever_the_balancer() {
    for balance in [Balance::RoundRobin, Balance::LeastOutstanding, Balance::PeakEwma] {
        let upstreams = named(2);
        let mut all = addresses(&upstreams);
        all.push(nobody());
        let mut settings = settings(&all);
        settings.pools[0].balance = balance;
        settings.pools[0].retries = Retries { budget: Ratio::ZERO, least: Rate::ZERO, tries: 1 };
        let gateway = started(settings);
        let load = Generator::start(&gateway, 4, "POST");
        load.goes_on(200);
        let failures = load.end();
        assert!(failures.is_empty(), "{} failed, such as {:?}", failures.len(), failures.first());
        eventually("it is counted", || metric(&gateway, &retried("unreachable", "repeated")) >= 1.0);
    }
}

#[test]
fn a_check_that_hangs_has_failed() {
    let hangs = Upstream::start(|peer, _| {
        while let Some(request) = peer.request() {
            if !request.start_line().contains("/healthz") {
                peer.send(ok("0"));
            }
        }
    });
    let good = checked(1, &Arc::new(AtomicBool::new(true)));
    let mut settings = in_turns(&[&hangs, &good]);
    let timeout = Duration::from_millis(50);
    settings.pools[0].health = often().map(|health| Health { timeout, unhealthy_after: 1, ..health });
    // The machine may be too busy for the other one's response to arrive in time as well.
    settings.pools[0].panic_below = Ratio::ZERO;
    let gateway = started(settings);
    eventually_metric(&gateway, &state(&hangs, "unhealthy"), 1.0);
    let mut peer = Peer::connect(gateway.address());
    eventually("the other responds", || peer.ask(get("/")).text() == "1");
}
