//! Combinations of features: affinity with full instances, retries with full instances, queues with new instances,
//! rules with cookies, rules with keys.

use crate::support::{Message, Upstream, client, eventually, get, nobody, ok, settings, started};
use control::balance::Weight;
use gateway::InstanceChange;
use gateway::settings::{Affinity, Balance, Queue, Rule};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

const QUEUE: Queue = Queue { places: 50, longest_wait: Duration::from_secs(10) };

/// Holds each response until it is released, and counts the most that it had at once.
struct Slow {
    upstream: Upstream,
    most: Arc<AtomicUsize>,
    release: mpsc::Sender<()>,
}

impl Slow {
    fn start() -> Self {
        let (release, released) = mpsc::channel::<()>();
        let (released, now, most) =
            (Mutex::new(released), AtomicUsize::new(0), Arc::new(AtomicUsize::new(0)));
        let highest = Arc::clone(&most);
        let upstream = Upstream::answering(move |_| {
            highest.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            let _ = released.lock().unwrap().recv_timeout(Duration::from_secs(10));
            now.fetch_sub(1, Ordering::SeqCst);
            ok("slow")
        });
        Slow { upstream, most, release }
    }

    fn has(&self, path: &str) -> bool {
        self.upstream.seen().contains(path)
    }
}

fn cookie(answer: &Message) -> Option<&str> {
    answer.header("set-cookie").filter(|cookie| cookie.starts_with("instance="))
}

#[test]
fn a_new_client_gets_its_cookie_also_where_an_instance_is_full() {
    let (slow, quick) = (Slow::start(), Upstream::answering(|_| ok("quick")));
    let mut settings = settings(&[slow.upstream.address, quick.address]);
    settings.pools[0].balance = Balance::RoundRobin;
    settings.pools[0].instance_concurrency = Some(1);
    settings.pools[0].queue = Some(QUEUE);
    settings.pools[0].affinity = Some(Affinity { cookie: "instance".to_owned() });
    let gateway = started(settings);
    let mut held = client(&gateway);
    held.send(get("/held"));
    eventually("it is there", || slow.has("/held"));
    // Every second one is picked for the full instance.
    for _ in 0..4 {
        let answer = client(&gateway).ask(get("/"));
        assert_eq!((answer.text().as_str(), cookie(&answer).is_some()), ("quick", true), "{}", answer.head);
    }
    slow.release.send(()).unwrap();
    assert!(cookie(&held.answer()).is_some());
}

#[test]
fn a_client_that_waited_gets_its_cookie() {
    let slow = Slow::start();
    let mut settings = settings(&[slow.upstream.address]);
    settings.pools[0].instance_concurrency = Some(1);
    settings.pools[0].queue = Some(QUEUE);
    settings.pools[0].affinity = Some(Affinity { cookie: "instance".to_owned() });
    let gateway = started(settings);
    let mut clients: Vec<_> = ["/first", "/second"]
        .into_iter()
        .map(|path| {
            let mut client = client(&gateway);
            client.send(get(path));
            client
        })
        .collect();
    eventually("one is there", || slow.has("/first") || slow.has("/second"));
    (0..2).for_each(|_| slow.release.send(()).unwrap());
    for client in &mut clients {
        let answer = client.answer();
        assert!(cookie(&answer).is_some(), "{}", answer.head);
    }
}

#[test]
fn those_who_wait_do_not_fall_upon_an_instance_that_comes() {
    let (first, second) = (Slow::start(), Slow::start());
    let mut settings = settings(&[first.upstream.address]);
    settings.pools[0].instance_concurrency = Some(2);
    settings.pools[0].queue = Some(QUEUE);
    let gateway = started(settings);
    let mut clients: Vec<_> = (0..12)
        .map(|number| {
            let mut client = client(&gateway);
            client.send(get(&format!("/{number}")));
            client
        })
        .collect();
    eventually("it is full", || first.most.load(Ordering::SeqCst) == 2);
    let address = second.upstream.address;
    gateway.change_instances("pool", InstanceChange::Add { address, weight: Weight::ONE }).unwrap();
    eventually("the new one has work", || second.most.load(Ordering::SeqCst) > 0);
    std::thread::sleep(Duration::from_millis(100));
    for slow in [&first, &second] {
        for _ in 0..12 {
            slow.release.send(()).unwrap();
        }
    }
    for client in &mut clients {
        assert_eq!(client.answer().status(), 200);
    }
    assert_eq!([&first, &second].map(|slow| slow.most.load(Ordering::SeqCst)), [2, 2]);
}

#[test]
fn a_retry_waits_for_another_instance_rather_than_the_one_that_failed() {
    let slow = Slow::start();
    let mut settings = settings(&[nobody(), slow.upstream.address]);
    settings.pools[0].balance = Balance::RoundRobin;
    settings.pools[0].instance_concurrency = Some(1);
    settings.pools[0].queue = Some(QUEUE);
    let gateway = started(settings);
    let mut clients: Vec<_> = (0..6)
        .map(|number| {
            let mut client = client(&gateway);
            client.send(get(&format!("/{number}")));
            client
        })
        .collect();
    eventually("one is there", || slow.most.load(Ordering::SeqCst) == 1);
    (0..6).for_each(|_| slow.release.send(()).unwrap());
    for client in &mut clients {
        let answer = client.answer();
        assert_eq!(answer.status(), 200, "{} {}", answer.head, answer.text());
    }
}

#[test]
fn a_response_rule_cannot_take_away_the_cookie_of_the_pool() {
    let upstream = Upstream::answering(|_| {
        b"HTTP/1.1 200 OK\r\nSet-Cookie: theirs=1\r\nContent-Length: 0\r\n\r\n".to_vec()
    });
    let mut settings = settings(&[upstream.address]);
    settings.pools[0].affinity = Some(Affinity { cookie: "instance".to_owned() });
    let source = "http.removeResponseHeader('Set-Cookie')".to_owned();
    settings.routes[0].response_rule = Some(Rule { name: "rule".to_owned(), source });
    let answer = client(&started(settings)).ask(get("/"));
    assert!(cookie(&answer).is_some() && !answer.head.contains("theirs"), "{}", answer.head);
}
