//! Instances are added and removed under load, by reload and over the admin listener, without a failed request.

use crate::balances::{addresses, gone, named, number};
use crate::support::{Peer, Upstream, change_admin as admin, client, eventually, get, ok, settings, started};
use control::balance::Weight;
use gateway::settings::{Balance, Instance, KeyBy};
use gateway::{Gateway, InstanceChange, InstanceChangeError};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

/// Clients that send one request after the other, and count every request.
pub struct Generator {
    stop: Arc<AtomicBool>,
    asked: Arc<AtomicUsize>,
    clients: Vec<JoinHandle<Vec<String>>>,
}

impl Generator {
    pub fn start(gateway: &Gateway, clients: usize, method: &'static str) -> Self {
        let (stop, asked) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let address = gateway.address();
        let start = |_| {
            let (stop, asked) = (Arc::clone(&stop), Arc::clone(&asked));
            std::thread::spawn(move || {
                let (mut peer, mut failures) = (Peer::connect(address), Vec::new());
                while !stop.load(Ordering::Relaxed) {
                    peer.send(format!("{method} / HTTP/1.1\r\nHost: test\r\nContent-Length: 0\r\n\r\n"));
                    match peer.try_answer(false) {
                        Some(answer) if answer.status() == 200 => {}
                        Some(answer) => failures.push(format!("{} {}", answer.start_line(), answer.text())),
                        None => {
                            failures.push("the connection broke".to_owned());
                            peer = Peer::connect(address);
                        }
                    }
                    asked.fetch_add(1, Ordering::Relaxed);
                }
                failures
            })
        };
        let clients = (0..clients).map(start).collect();
        Generator { stop, asked, clients }
    }

    pub fn asked(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }

    /// Waits for this many more requests.
    pub fn goes_on(&self, requests: usize) {
        let begun = self.asked();
        eventually("so many requests", || self.asked() >= begun + requests);
    }

    /// The failures.
    pub fn end(self) -> Vec<String> {
        self.stop.store(true, Ordering::Relaxed);
        self.clients.into_iter().flat_map(|client| client.join().unwrap()).collect()
    }
}

#[test]
fn nothing_is_lost_when_instances_come_and_go() {
    for balance in [Balance::LeastOutstanding, Balance::RoundRobin, Balance::Hash(KeyBy::Client)] {
        let upstreams = named(3);
        let mut settings = settings(&addresses(&upstreams[..2]));
        settings.pools[0].balance = balance.clone();
        settings.pools[0].idle_connections = 1;
        settings.workers = 2.try_into().unwrap();
        let gateway = started(settings.clone());
        let load = Generator::start(&gateway, 4, "POST");
        let change = |change| gateway.change_instances("pool", change).unwrap();
        let address = upstreams[2].address;
        for _ in 0..3 {
            change(InstanceChange::Add { address, weight: Weight::new(3).unwrap() });
            load.goes_on(50);
            change(InstanceChange::Drain { address: upstreams[0].address });
            gone(&gateway, &upstreams[0]);
            load.goes_on(50);
            change(InstanceChange::Remove { address: upstreams[0].address });
            load.goes_on(50);
            change(InstanceChange::Drain { address: upstreams[1].address });
            change(InstanceChange::Resume { address: upstreams[1].address });
            // Restores the file's instances.
            gateway.reload(settings.clone()).unwrap();
            load.goes_on(50);
        }
        let asked = load.asked();
        let failures = load.end();
        assert!(failures.is_empty(), "{balance:?}: {} of {asked}: {:?}", failures.len(), failures.first());
    }
}

#[test]
fn a_removed_instance_ends_what_it_has_begun() {
    let (release, released) = mpsc::channel::<()>();
    let released = std::sync::Mutex::new(released);
    let slow = Upstream::answering(move |_| {
        let _ = released.lock().unwrap().recv_timeout(Duration::from_secs(10));
        ok("0")
    });
    let gateway = started(settings(&[slow.address]));
    let mut waiting = client(&gateway);
    waiting.send(get("/"));
    eventually("it is there", || slow.seen().contains("GET"));
    let other = Upstream::answering(|_| ok("1"));
    let change = |change| gateway.change_instances("pool", change).unwrap();
    change(InstanceChange::Add { address: other.address, weight: Weight::ONE });
    change(InstanceChange::Remove { address: slow.address });
    let shown = || {
        let pools: serde_json::Value =
            serde_json::from_str(&admin(&gateway, "GET", "/pools", "").text()).unwrap();
        let instances = pools["pools"][0]["instances"].as_array().unwrap().clone();
        instances.into_iter().find(|one| one["address"] == slow.address.to_string())
    };
    eventually("it is removed", || shown().is_some_and(|one| one["state"] == "removed"));
    assert_eq!(shown().unwrap()["in_flight"], 1);
    assert_eq!(number(&client(&gateway).ask(get("/"))), 1);
    release.send(()).unwrap();
    assert_eq!(number(&waiting.answer()), 0);
    eventually("it is gone", || shown().is_none());
}

#[test]
fn the_load_of_a_pool_is_one_page() {
    let slow = Upstream::answering(|_| {
        std::thread::sleep(Duration::from_millis(40));
        ok("0")
    });
    let gateway = started(settings(&[slow.address]));
    let mut client = client(&gateway);
    for _ in 0..3 {
        client.ask(get("/"));
    }
    let page = || -> serde_json::Value {
        serde_json::from_str(&admin(&gateway, "GET", "/pools/pool", "").text()).unwrap()
    };
    eventually("three are counted", || page()["answered"] == 3);
    let page = page();
    assert_eq!((&page["arrived"], &page["in_flight"], &page["errors"]), (&3.into(), &0.into(), &0.into()));
    let buckets = page["response_times"]["buckets"].as_array().unwrap();
    let times: Vec<(f64, u64)> =
        buckets.iter().map(|of| (of[0].as_f64().unwrap(), of[1].as_u64().unwrap())).collect();
    assert_eq!(times.iter().map(|(_, count)| count).sum::<u64>(), 3);
    assert!(times.iter().all(|(seconds, _)| (0.039..2.0).contains(seconds)), "{times:?}");
    let sum = page["response_times"]["sum_s"].as_f64().unwrap();
    assert!(sum >= 0.12 && page["upstream_sum_s"].as_f64().unwrap() <= sum);
    assert_eq!(page["instances"][0]["requests"], 3);
    let other = admin(&gateway, "GET", "/pools/other", "");
    assert!(other.text().contains("no pool `other`; there are `pool`"), "{}", other.text());
}

#[test]
fn the_admin_listener_takes_changes_and_says_what_is_wrong() {
    let upstreams = named(2);
    let [one, two] = [upstreams[0].address, upstreams[1].address];
    let mut settings = settings(&[one]);
    settings.pools[0].name = "the pool".to_owned();
    let gateway = started(settings);
    let instances = "/pools/the%20pool/instances";
    for (method, path, body, status, says) in [
        ("POST", instances.to_owned(), format!("{{\"address\":\"{two}\",\"weight\":3}}"), 200, "changed"),
        ("POST", instances.to_owned(), format!("{{\"address\":\"{two}\"}}"), 409, "already"),
        ("POST", instances.to_owned(), "{\"address\":\"localhost:1\"}".to_owned(), 400, "no IP address"),
        ("POST", instances.to_owned(), "{\"adress\":\"127.0.0.1:1\"}".to_owned(), 400, "unknown field"),
        ("POST", instances.to_owned(), "nonsense".to_owned(), 400, "the body is no instance"),
        (
            "POST",
            instances.to_owned(),
            "{\"address\":\"127.0.0.1:1\",\"weight\":0}".to_owned(),
            400,
            "weight",
        ),
        (
            "POST",
            "/pools/other/instances".to_owned(),
            "{\"address\":\"127.0.0.1:1\"}".to_owned(),
            404,
            "`the pool`",
        ),
        ("POST", format!("{instances}/{one}/drain"), String::new(), 200, "changed"),
        ("POST", format!("{instances}/{two}/drain"), String::new(), 409, "last instance"),
        ("DELETE", format!("{instances}/{two}"), String::new(), 409, "last instance"),
        ("POST", format!("{instances}/{one}/resume"), String::new(), 200, "changed"),
        ("POST", format!("{instances}/nonsense/resume"), String::new(), 400, "no IP address"),
        ("DELETE", format!("{instances}/{two}"), String::new(), 200, "changed"),
        ("DELETE", format!("{instances}/{two}"), String::new(), 404, "has no instance"),
    ] {
        let answer = admin(&gateway, method, &path, &body);
        assert_eq!(answer.status(), status, "{method} {path} {body}: {}", answer.text());
        assert!(answer.text().contains(says), "{method} {path} {body}: {}", answer.text());
    }
    let error = gateway.change_instances("nobody", InstanceChange::Drain { address: one }).unwrap_err();
    assert!(matches!(error, InstanceChangeError::UnknownPool { .. }), "{error}");
    let page: serde_json::Value = serde_json::from_str(&admin(&gateway, "GET", "/pools", "").text()).unwrap();
    assert_eq!(page["pools"][0]["name"], "the pool");
    assert_eq!(page["pools"][0]["instances"][0]["address"], one.to_string());
    assert_eq!(page["pools"][0]["instances"].as_array().unwrap().len(), 1);
}

#[test]
fn an_instance_may_begin_in_draining() {
    let upstreams = named(2);
    let mut settings = settings(&addresses(&upstreams));
    settings.pools[0].instances[0] = Instance { draining: true, ..Instance::new(upstreams[0].address) };
    let gateway = started(settings);
    let mut client = client(&gateway);
    (0..10).for_each(|_| assert_eq!(number(&client.ask(get("/"))), 1));
}

#[test]
fn a_squeeze_is_renewed_by_its_holder_and_ends_without_one() {
    let upstreams = named(3);
    let mut settings = settings(&addresses(&upstreams));
    settings.workers = 2.try_into().unwrap();
    let gateway = started(settings);
    let load = Generator::start(&gateway, 4, "POST");
    let asked = |holder: &str, instances: &[usize], share: f64, seconds: f64| {
        let instances: Vec<_> = instances.iter().map(|at| upstreams[*at].address.to_string()).collect();
        serde_json::json!({ "holder": holder, "instances": instances, "share": share, "seconds": seconds })
            .to_string()
    };
    for (method, pool, body, status, says) in [
        ("PUT", "pool", asked("a", &[1], 1.0, 1.5), 200, "squeezed"),
        ("PUT", "pool", asked("b", &[0], 1.0, 1.5), 409, "is squeezed by a"),
        ("PUT", "pool", asked("a", &[1, 1], 1.0, 1.5), 400, "each once"),
        ("PUT", "pool", asked("a", &[0, 1, 2], 1.0, 1.5), 409, "no other instance"),
        ("PUT", "pool", asked("a", &[1], 1.1, 1.5), 400, "outside 0 to 1"),
        ("PUT", "pool", asked("a", &[1], 1.0, 60.0), 400, "outside 1 to 10"),
        ("PUT", "pool", asked("", &[1], 1.0, 1.5), 400, "`holder`"),
        ("PUT", "pool", "nonsense".to_owned(), 400, "no squeeze"),
        ("PUT", "other", asked("a", &[1], 1.0, 1.5), 404, "`pool`"),
        ("DELETE", "pool", "{\"holder\":\"b\"}".to_owned(), 200, "false"),
        ("DELETE", "pool", "{}".to_owned(), 400, "holder"),
        ("PUT", "pool", asked("a", &[1], 1.0, 1.5), 200, "squeezed"),
    ] {
        let answer = admin(&gateway, method, &format!("/pools/{pool}/squeeze"), &body);
        assert_eq!(answer.status(), status, "{method} {pool} {body}: {}", answer.text());
        assert!(answer.text().contains(says), "{method} {pool} {body}: {}", answer.text());
    }
    let page = || -> serde_json::Value {
        serde_json::from_str(&admin(&gateway, "GET", "/pools/pool", "").text()).unwrap()
    };
    eventually("all go to the second", || page()["squeezed"]["answered"].as_u64() > Some(20));
    assert_eq!(page()["squeeze"]["instances"][0], upstreams[1].address.to_string());
    // Nobody renews it, as after a `kill -9` of its holder.
    eventually("it ends", || page()["squeeze"].is_null());
    let before = page();
    load.goes_on(300);
    let requests = |page: &serde_json::Value| -> Vec<u64> {
        page["instances"].as_array().unwrap().iter().map(|one| one["requests"].as_u64().unwrap()).collect()
    };
    eventually("all get requests", || {
        let now = requests(&page());
        now.iter().zip(requests(&before)).all(|(now, before)| *now > before + 50)
    });
    assert!(load.end().is_empty());
}
