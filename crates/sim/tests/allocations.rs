//! Events allocate nothing: four times the requests, the same few allocations.

use control::admission::WaitingSettings;
use control::rate::{Limit, RateSettings};
use sim::Requests;
use sim::plant::{Plant, Window};
use sim::settings::*;
use std::sync::Arc;
use std::time::Duration;
use units::{InstanceCount, Rate, Timestamp};

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn work(cpu: u64, wait: u64) -> Step {
    let time = |mean| Distribution::Exponential { mean: millis(mean) };
    Step::Work { cpu: time(cpu), wait: time(wait), bursts: 3, incidents: None }
}

/// Twelve cores; clients that time out now and then and retry, kept connections, threads under a lock; behind it a
/// service with front workers and a pool, and a connection for each call.
fn plain() -> Vec<Service> {
    let lock = Some(millis(100));
    let accept = Accept::Kept { bound: 500, linger: millis(20), inline: 10 };
    let call = Call { service: ServiceId(1), endpoint: 0 };
    let page =
        Endpoint { errors: 0.01, ..Endpoint::new("page", vec![work(4, 10), Step::Calls(vec![call, call])]) };
    let front = Service {
        balancing: Balancing {
            algorithm: Algorithm::LeastOutstanding,
            nodes: 3,
            connections: Connections::Kept { reuse: Reuse::Random, idle_timeout: Duration::from_secs(20) },
            timeout: Some(millis(200)),
            retries: Some(Retries { most: 2, budget: 0.2, backoff: millis(10) }),
            network: millis(1),
            ..Balancing::default()
        },
        instances: InstanceCount::new(12),
        ..Service::new(
            "front",
            Server { accept, lock, ..Server::new(2, 16) },
            Host::new("host", 1),
            vec![page],
        )
    };
    let hold = Step::Hold { pool: PoolId(0), time: Distribution::Exponential { mean: millis(5) } };
    let workers = Front {
        workers: 2,
        cpu: Distribution::Constant(millis(1)),
        wait: Distribution::Constant(millis(1)),
        bound: 100,
    };
    let behind = Service {
        instances: InstanceCount::new(8),
        ..Service::new(
            "behind",
            Server { accept: Accept::PerProcess { bound: 100 }, front: Some(workers), ..Server::new(4, 4) },
            Host::new("host", 2),
            vec![Endpoint::new("row", vec![work(1, 2), hold])],
        )
    };
    vec![front, behind]
}

/// The same behind limits at which some requests wait and some are refused, also at the lower rate.
fn limited() -> Vec<Service> {
    let mut services = plain();
    let rate = RateSettings {
        per_second: Some(Limit { rate: Rate::per_second_of(190.0), burst: 2 }),
        per_minute: None,
        backlog: 3,
        longest_wait: millis(50),
    };
    let queue = WaitingSettings { longest_wait: millis(30), ..WaitingSettings::with_capacity(10) };
    let concurrency = ConcurrencyLimit { queue: Some(queue), ..Bound::Fixed(6).into() };
    services[0].admission.always = Limits { rate: Some(rate.into()), concurrency: Some(concurrency) };
    services
}

/// Allocations and requests of ten minutes, after ten others.
fn second_half(services: Vec<Service>, rate: f64) -> (u64, u64) {
    let traffic = Traffic::Open {
        rates: Arc::from([rate]),
        bin: Duration::from_secs(60),
        arrivals: Arrivals::Poisson,
        noise: None,
    };
    let pools = vec![Pool { name: "pool".into(), places: 40, bound: 1000 }];
    let system = System { pools, ..System::new(traffic, services) };
    assert_eq!(system.problems(), []);
    let mut plant = Requests::new(&system);
    for (number, service) in (0..).map(ServiceId).zip(&system.services) {
        for _ in 0..service.instances.get() {
            let instance = plant.launch(number, 0);
            plant.serve(instance);
        }
    }
    let mut windows = vec![Window::default(); system.services.len()];
    let mut half = |minutes: std::ops::Range<u64>| {
        let mut requests = 0;
        for minute in minutes {
            plant.run_until(Timestamp::from_secs(60 * (minute + 1)));
            for (number, window) in (0..).map(ServiceId).zip(&mut windows) {
                plant.take_window(number, window);
            }
            requests += windows[0].arrived;
        }
        requests
    };
    half(0..10);
    let mut requests = 0;
    let allocated = allocation_counter::measure(|| requests = half(10..20));
    (allocated.count_total, requests)
}

#[test]
fn nothing_is_allocated_for_an_event() {
    for (what, services, rates) in
        [("plain", plain(), [150.0, 600.0]), ("limited", limited(), [200.0, 800.0])]
    {
        let [few, many] = rates.map(|rate| second_half(services.clone(), rate));
        println!("{what}: allocations and requests: {few:?}, {many:?}");
        assert!(many.1 > 3 * few.1, "{what}: {few:?} {many:?}");
        // A map of reasons in each minute with refusals, and a buffer that grows to a new maximum.
        assert!(few.0 <= MOST && many.0 <= MOST, "{what}: {few:?} {many:?}");
    }
}

/// In ten minutes of a hundred thousand requests and more.
const MOST: u64 = 20;
