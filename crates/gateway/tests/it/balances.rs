//! Each balancing method distributes requests as documented, and affinity keeps clients.

use crate::support::{
    Message, Peer, Upstream, admin, client, eventually, eventually_metric, get, metric, ok, settings, started,
};
use control::balance::Weight;
use gateway::settings::{Affinity, Balance, Instance, KeyBy, Settings};
use gateway::{Gateway, InstanceChange};
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// `count` instances that respond with their number.
pub fn named(count: usize) -> Vec<Upstream> {
    (0..count).map(|number| Upstream::answering(move |_| ok(&number.to_string()))).collect()
}

pub fn addresses(upstreams: &[Upstream]) -> Vec<SocketAddr> {
    upstreams.iter().map(|upstream| upstream.address).collect()
}

fn balanced(upstreams: &[Upstream], balance: Balance) -> Settings {
    let mut settings = settings(&addresses(upstreams));
    settings.pools[0].balance = balance;
    settings
}

/// The number of the instance that sent the response.
pub fn number(answer: &Message) -> usize {
    answer.text().parse().unwrap_or_else(|_| panic!("{}: {}", answer.status(), answer.text()))
}

/// How many of the requests each instance serves.
pub fn shares<const N: usize>(client: &mut Peer, requests: usize) -> [usize; N] {
    let mut shares = [0; N];
    (0..requests).for_each(|_| shares[number(&client.ask(get("/")))] += 1);
    shares
}

#[test]
fn turns_are_taken_by_weight() {
    let upstreams = named(3);
    let mut settings = balanced(&upstreams, Balance::RoundRobin);
    for (weight, instance) in (1..).zip(&mut settings.pools[0].instances) {
        instance.weight = Weight::new(weight).unwrap();
    }
    let gateway = started(settings);
    assert_eq!(shares(&mut client(&gateway), 60), [10, 20, 30]);
    let first = format!("{{pool=\"pool\",instance=\"{}\"}}", upstreams[0].address);
    eventually_metric(&gateway, &format!("headroom_instance_requests_total{first}"), 10.0);
    eventually_metric(&gateway, &format!("headroom_instance_in_flight{first}"), 0.0);
    assert_eq!(metric(&gateway, &format!("headroom_instance_up{first}")), 1.0);
}

#[test]
fn idle_instances_take_turns_and_one_that_stalls_gets_nothing_more() {
    let (release, released) = mpsc::channel::<()>();
    let released = Arc::new(Mutex::new(released));
    let stalls = Upstream::answering(move |request| {
        if request.start_line().contains("/stall") {
            let _ = released.lock().unwrap().recv_timeout(Duration::from_secs(10));
        }
        ok("0")
    });
    let other = Upstream::answering(|_| ok("1"));
    let gateway = started(settings(&[stalls.address, other.address]));
    let mut asks = client(&gateway);
    assert_eq!(shares(&mut asks, 20), [10, 10]);
    // The other one responds to its requests, so that only the first is left with one in flight.
    let stalled: Vec<Peer> = (0..2)
        .map(|_| {
            let mut stalled = client(&gateway);
            stalled.send(get("/stall"));
            stalled
        })
        .collect();
    let first = format!("{{pool=\"pool\",instance=\"{}\"}}", stalls.address);
    eventually_metric(&gateway, &format!("headroom_instance_in_flight{first}"), 1.0);
    assert_eq!(shares(&mut asks, 20), [0, 20], "in flight says which one stalls");
    release.send(()).unwrap();
    drop(stalled);
    eventually_metric(&gateway, &format!("headroom_instance_in_flight{first}"), 0.0);
    let [found, _] = shares(&mut asks, 20);
    assert!(found >= 9, "{found} of 20 after it came back");
}

#[test]
fn the_faster_one_is_preferred() {
    let slow = Upstream::answering(|_| {
        std::thread::sleep(Duration::from_millis(60));
        ok("0")
    });
    let fast = Upstream::answering(|_| ok("1"));
    let mut settings = settings(&[slow.address, fast.address]);
    settings.pools[0].balance = Balance::PeakEwma;
    let gateway = started(settings);
    let [_, fast] = shares(&mut client(&gateway), 60);
    assert!(fast >= 45, "{fast} of 60");
}

#[test]
fn a_key_stays_with_its_instance() {
    let upstreams = named(4);
    for (key, field) in [
        (KeyBy::Header("x-user".to_owned()), "X-User: "),
        (KeyBy::Cookie("session".to_owned()), "Cookie: a=b; session="),
    ] {
        let gateway = started(balanced(&upstreams, Balance::Hash(key)));
        let mut client = client(&gateway);
        let mut ask = |user: u32| {
            let request = format!("GET / HTTP/1.1\r\nHost: test\r\n{field}user{user}\r\n\r\n");
            number(&client.ask(request))
        };
        let first: Vec<usize> = (0..40).map(&mut ask).collect();
        let again: Vec<usize> = (0..40).map(&mut ask).collect();
        assert_eq!(first, again);
        assert_eq!(first.iter().collect::<BTreeSet<_>>().len(), 4, "all have a share: {first:?}");
        let without: BTreeSet<usize> = (0..40).map(|_| number(&client.ask(get("/")))).collect();
        assert_eq!(without.len(), 4, "a request without a key goes anywhere");
    }
    let gateway = started(balanced(&upstreams, Balance::Hash(KeyBy::Client)));
    let answers: BTreeSet<usize> = (0..20).map(|_| number(&client(&gateway).ask(get("/")))).collect();
    assert_eq!(answers.len(), 1, "this client has one address: {answers:?}");
}

#[test]
fn keys_stay_where_they_are_when_another_instance_goes() {
    let upstreams = named(4);
    let gateway = started(balanced(&upstreams, Balance::Hash(KeyBy::Header("x-user".to_owned()))));
    let mut client = client(&gateway);
    let mut ask =
        |user: u32| number(&client.ask(format!("GET / HTTP/1.1\r\nHost: test\r\nX-User: {user}\r\n\r\n")));
    let before: Vec<usize> = (0..60).map(&mut ask).collect();
    gateway.change_instances("pool", InstanceChange::Remove { address: upstreams[2].address }).unwrap();
    gone(&gateway, &upstreams[2]);
    for (user, &before) in (0..60).zip(&before) {
        let after = ask(user);
        assert!(after == before || before == 2, "{user} moved from {before} to {after}");
        assert_ne!(after, 2);
    }
}

/// Waits until the workers send no more requests to an instance.
pub fn gone(gateway: &Gateway, upstream: &Upstream) {
    let up = format!("headroom_instance_up{{pool=\"pool\",instance=\"{}\"}} 1", upstream.address);
    eventually("nobody sends it anything", || {
        let page = admin(gateway, "/metrics").text();
        // Before the first tick the page has no instances.
        page.contains("headroom_instance_up{") && !page.contains(&up)
    });
}

fn with_cookie(cookie: &str) -> String {
    format!("GET / HTTP/1.1\r\nHost: test\r\nCookie: x=y; {cookie}\r\n\r\n")
}

#[test]
fn a_client_stays_while_its_instance_is_there() {
    let upstreams = named(2);
    let mut settings = settings(&addresses(&upstreams));
    settings.pools[0].affinity = Some(Affinity { cookie: "instance".to_owned() });
    let gateway = started(settings.clone());
    let mut client = client(&gateway);
    let first = client.ask(get("/"));
    let home = number(&first);
    let cookie = first.header("set-cookie").unwrap().to_owned();
    let (value, attributes) = cookie.split_once("; ").unwrap();
    assert_eq!(attributes, "Path=/; HttpOnly; SameSite=Lax");
    assert!(!cookie.contains("127.0.0.1"), "{cookie}");
    for _ in 0..5 {
        let answer = client.ask(with_cookie(value));
        assert_eq!((number(&answer), answer.header("set-cookie")), (home, None));
    }
    eventually_metric(&gateway, "headroom_affinity_total{pool=\"pool\",placed=\"kept\"}", 5.0);
    // Draining: known clients stay, no new ones are assigned.
    let address = upstreams[home].address;
    gateway.change_instances("pool", InstanceChange::Drain { address }).unwrap();
    gone(&gateway, &upstreams[home]);
    assert_eq!(number(&client.ask(with_cookie(value))), home);
    let other = client.ask(get("/"));
    assert_eq!(number(&other), 1 - home);
    // Removed: its clients move, and get a new cookie.
    gateway.change_instances("pool", InstanceChange::Remove { address }).unwrap();
    let moved = std::iter::repeat_with(|| {
        std::thread::sleep(Duration::from_millis(20));
        client.ask(with_cookie(value))
    })
    .take(500)
    .find(|answer| answer.header("set-cookie").is_some())
    .unwrap();
    assert_eq!(number(&moved), 1 - home);
    assert_eq!(moved.header("set-cookie"), other.header("set-cookie"));
    eventually_metric(&gateway, "headroom_affinity_total{pool=\"pool\",placed=\"moved\"}", 1.0);
    // A second or restarted gateway knows the cookie.
    let again = started(settings);
    let answer = Peer::connect(again.address()).ask(with_cookie(value));
    assert_eq!((number(&answer), answer.header("set-cookie")), (home, None));
}

#[test]
fn a_new_instance_begins_with_a_small_share() {
    let upstreams = named(2);
    let mut settings = settings(&[upstreams[0].address]);
    settings.pools[0].slow_start = Some(Duration::from_secs(600));
    let gateway = started(settings);
    let first = format!("pool=\"pool\",instance=\"{}\"", upstreams[0].address);
    assert_eq!(shares(&mut client(&gateway), 10), [10, 0]);
    eventually_metric(&gateway, &format!("headroom_instance_state{{{first},state=\"available\"}}"), 1.0);
    let address = upstreams[1].address;
    gateway.change_instances("pool", InstanceChange::Add { address, weight: Weight::ONE }).unwrap();
    let state = format!("headroom_instance_state{{pool=\"pool\",instance=\"{address}\",state=\"warming\"}}");
    eventually_metric(&gateway, &state, 1.0);
    let [_, new] = shares(&mut client(&gateway), 110);
    assert!((5..=20).contains(&new), "{new} of 110, where a tenth of the weight is 10");
}

#[test]
fn a_balancer_that_is_changed_goes_on_with_what_is_in_flight() {
    let upstreams = named(3);
    let gateway = started(balanced(&upstreams, Balance::RoundRobin));
    assert_eq!(shares(&mut client(&gateway), 30), [10, 10, 10]);
    let mut changed = balanced(&upstreams, Balance::LeastOutstanding);
    changed.pools[0].instances.push(Instance::new(crate::support::nobody()));
    gateway.reload(changed).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    let found: [usize; 3] = shares(&mut client(&gateway), 30);
    assert!(found.iter().all(|&share| share >= 9), "{found:?}");
}
