use crate::client::Client;
use sample::{Config, Error, Running, Service, WhenFull};
use stats::Rng;
use std::io::Write;
use std::thread;
use std::time::{Duration, Instant};

fn within(limit: Duration, mut holds: impl FnMut() -> bool) -> bool {
    let begin = Instant::now();
    while begin.elapsed() < limit {
        if holds() {
            return true;
        }
        thread::sleep(Duration::from_millis(2));
    }
    false
}

/// One thread and one place in the queue, both taken by requests that wait.
fn full(when_full: WhenFull) -> (Running, [Client; 2]) {
    let service = Service::start(Config {
        threads: 1,
        accept_queue: 1,
        when_full,
        routes: vec!["/slow wait=400ms".parse().unwrap()],
        ..Config::default()
    })
    .unwrap();
    let mut count = 0;
    let clients = [(); 2].map(|()| {
        let mut client = Client::connect(service.addr());
        client.send("GET /slow HTTP/1.1\r\nHost: h\r\n\r\n");
        count += 1;
        // The first must be with the thread before the second takes the place.
        assert!(within(Duration::from_secs(5), || service.totals().in_flight == count));
        thread::sleep(Duration::from_millis(30));
        client
    });
    (service, clients)
}

#[test]
fn closes_at_once_when_the_queue_is_full() {
    let (service, mut waiting) = full(WhenFull::Close);
    let begin = Instant::now();
    let mut third = Client::connect(service.addr());
    third.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    assert!(third.response().is_none());
    assert!(begin.elapsed() < Duration::from_millis(250), "took {:?}", begin.elapsed());
    for client in &mut waiting {
        assert_eq!(client.response().unwrap().status, 200, "those in line are served");
    }
    assert_eq!(service.stop().unwrap().turned_away, 1);
}

#[test]
fn answers_503_at_once_when_told_so() {
    let (service, _waiting) = full(WhenFull::Unavailable);
    let mut third = Client::connect(service.addr());
    third.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    assert_eq!(third.response().unwrap().status, 503);
    assert!(third.is_closed());
}

#[test]
fn idle_and_slow_clients_hold_no_thread() {
    let service = Service::start(Config { threads: 1, ..Config::default() }).unwrap();
    let mut slow: Vec<Client> = (0..20).map(|_| Client::connect(service.addr())).collect();
    let mut others = Client::connect(service.addr());
    for byte in "GET / HTTP/1.1\r\nHost: h\r\n\r\n".chars() {
        for client in &mut slow {
            client.send(&byte.to_string());
        }
        assert_eq!(others.get("/").unwrap().status, 200);
    }
    for client in &mut slow {
        assert_eq!(client.response().unwrap().status, 200, "slow clients are served in the end");
    }
}

#[test]
fn survives_any_bytes() {
    let service = Service::start(Config { threads: 1, ..Config::default() }).unwrap();
    let seed = 20;
    let mut rng = Rng::new(seed, "bytes");
    let whole = b"POST /a?b HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabcGET / HTTP/1.0\r\n\r\n";
    for step in 0..200 {
        let mut bytes = whole.to_vec();
        for _ in 0..rng.below(4) {
            let at = rng.below(bytes.len());
            bytes[at] = rng.bits() as u8;
        }
        bytes.truncate(1 + rng.below(bytes.len()));
        let mut client = Client::connect(service.addr());
        // The service may have closed already.
        let _ = client.0.get_mut().write_all(&bytes);
        drop(client);
        let answered = Client::connect(service.addr()).get("/");
        assert_eq!(answered.map(|response| response.status), Some(200), "seed={seed} step={step}");
    }
}

#[test]
fn gives_up_a_request_that_does_not_come() {
    let read_timeout = Duration::from_millis(100);
    let service = Service::start(Config { read_timeout, ..Config::default() }).unwrap();
    let mut client = Client::connect(service.addr());
    client.send("GET / HT");
    let begin = Instant::now();
    assert!(client.is_closed());
    assert!(begin.elapsed() < Duration::from_secs(5));
}

#[test]
fn stops_within_a_second_whatever_it_does() {
    let config = Config {
        threads: 6,
        routes: ["/wait wait=60s", "/cpu cpu=60s", "/hold hold=60s"].map(|r| r.parse().unwrap()).into(),
        ..Config::default()
    };
    let service = Service::start(config).unwrap();
    let paths = ["/wait", "/cpu", "/hold", "/hold"];
    let clients = paths.map(|path| {
        let mut client = Client::connect(service.addr());
        client.send(&format!("GET {path} HTTP/1.1\r\nHost: h\r\n\r\n"));
        client
    });
    assert!(within(Duration::from_secs(5), || service.totals().in_flight == clients.len()));
    let begin = Instant::now();
    service.stop().unwrap();
    assert!(begin.elapsed() < Duration::from_secs(1), "took {:?}", begin.elapsed());
    for mut client in clients {
        assert!(client.is_closed());
    }
}

#[test]
fn says_when_the_address_is_in_use() {
    let first = Service::start(Config::default()).unwrap();
    let error = Service::start(Config { listen: first.addr(), ..Config::default() }).unwrap_err();
    assert!(matches!(error, Error::AddressInUse { .. }) && error.to_string().contains("choose another port"));
    let listen = first.addr();
    drop(first);
    Service::start(Config { listen, ..Config::default() }).expect("a stopped service frees its port");
}
