//! Calm, collapse, drained, calm.
//!
//! At 110 a second 12 are in flight after 4 s; from then on the capacity falls, to 32 a second with all 40 threads at
//! the pool. A request that finds a full accept queue is refused, one that gets its last place waits 2.5 s. On a busy
//! machine the collapse begins earlier, because capacity that was not used while the client was late is lost: 10 ms of
//! it cost one request, and 0.4 s. So the bands are wide.

use crate::client::{Arrival, open_loop, quantile};
use sample::{Config, Service};
use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(3);

fn calm(to: SocketAddr, seconds: u64) {
    let arrivals = open_loop(to, "/search.cgi", 100.0, Duration::from_secs(seconds), PATIENCE);
    let (median, p95) = (quantile(&arrivals, 0.5).unwrap(), quantile(&arrivals, 0.95).unwrap());
    println!("calm at 100/s: median {median:?}, p95 {p95:?}");
    assert!(arrivals.iter().all(|arrival| arrival.good.is_some()), "every request has a response");
    let expected = Duration::from_micros(18_600)..Duration::from_millis(30);
    assert!(expected.contains(&median), "about 19 ms, not {median:?}");
}

fn story(flood_seconds: u64) {
    let service = Service::start(Config::search_cgi()).unwrap();
    let to = service.addr();
    calm(to, 2);

    // The clients may still wait when the overload is over, so another thread watches the service.
    let begin = Instant::now();
    let flood_ends = begin + Duration::from_secs(flood_seconds);
    let flood = thread::spawn(move || {
        open_loop(to, "/search.cgi", 110.0, Duration::from_secs(flood_seconds), PATIENCE)
    });
    thread::sleep(flood_ends - begin);
    while service.totals().in_flight > 0 && flood_ends.elapsed() < Duration::from_secs(30) {
        thread::sleep(Duration::from_millis(10));
    }
    let drained = flood_ends.elapsed();
    let arrivals = flood.join().unwrap();

    let from = |second: u64| -> Vec<Arrival> {
        arrivals.iter().filter(|arrival| arrival.start >= Duration::from_secs(second)).copied().collect()
    };
    let good = |some: &[Arrival]| some.iter().filter(|arrival| arrival.good.is_some()).count();
    let by_second: Vec<usize> = (0..flood_seconds).map(|s| good(&from(s)) - good(&from(s + 1))).collect();
    let late = from(5);
    let rate = good(&late) as f64 / (flood_seconds - 5) as f64;
    let p95 = quantile(&late, 0.95).unwrap();
    println!("flood at 110/s: good a second {by_second:?}; from second 5 on {rate}/s, p95 {p95:?}");
    println!("drained {drained:?} after the flood; {:?}", service.totals());
    assert!(by_second[0] > 100, "the first second is still good: {by_second:?}");
    assert!(rate < 60.0, "good responses fall steeply: {by_second:?}");
    assert!(p95 > Duration::from_secs(1), "response times climb: {p95:?}");
    assert!((1..=10).contains(&drained.as_secs()), "the effect outlasts the flood: {drained:?}");

    calm(to, 2);
}

#[test]
fn calm_then_collapse_then_drained_then_calm() {
    story(10);
}

#[test]
#[ignore = "the same at the length of the account; to see the figures"]
fn collapse_at_full_length() {
    story(15);
}
