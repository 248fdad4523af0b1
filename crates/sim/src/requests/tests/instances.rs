//! The effect of each setting of a server, a host and its start.

use super::world::*;
use crate::plant::{Plant, Window};
use crate::settings::*;
use std::sync::Arc;
use std::time::Duration;
use units::{InstanceCount, Timestamp};

/// One request at this interval, the first after one interval.
fn every(gap: Duration) -> Traffic {
    let rates = Arc::from([1.0 / gap.as_secs_f64()]);
    Traffic::Open { rates, bin: Duration::from_secs(1 << 20), arrivals: Arrivals::Even, noise: None }
}

/// This many requests at once, after a second; then none for a long time.
fn burst(requests: u32) -> Traffic {
    let bin = Duration::from_micros(10);
    let mut rates = vec![0.0; 100_001];
    rates[100_000] = f64::from(requests) * 1e5 * (1.0 + 1e-9);
    rates.push(0.0);
    Traffic::Open { rates: rates.into(), bin, arrivals: Arrivals::Even, noise: None }
}

fn constant(millis: u64) -> Distribution {
    Distribution::Constant(ms(millis))
}

fn exponential(millis: u64) -> Distribution {
    Distribution::Exponential { mean: ms(millis) }
}

fn cpu(millis: u64) -> Vec<Step> {
    vec![work(constant(millis), Distribution::ZERO, 1)]
}

/// Shortest and longest time at the balancer, in milliseconds, of a burst of requests.
fn burst_times(service: Service, requests: u32) -> (f64, f64) {
    let window = measure(&system(burst(requests), vec![service]), 0.0, 100.0);
    assert_eq!(window.answered, u64::from(requests), "{window:?}");
    let times = &window.balancer;
    (times.least().unwrap() * 1e3, times.most().unwrap() * 1e3)
}

#[track_caller]
fn assert_times(what: &str, found: (f64, f64), expected: (f64, f64)) {
    let near = |one: f64, other: f64| (one - other).abs() < 0.1;
    assert!(
        near(found.0, expected.0) && near(found.1, expected.1),
        "{what}: {found:?}, expected {expected:?}"
    );
}

#[test]
fn a_lock_lets_one_thread_of_a_process_run() {
    let with = |processes, threads, lock| {
        let mut service = service(threads, cpu(30));
        service.server.processes = processes;
        service.server.lock = lock;
        service.hosts[0].cores = 4;
        service
    };
    assert_times("no lock", burst_times(with(1, 4, None), 4), (30.0, 30.0));
    assert_times("event loop", burst_times(with(1, 4, Some(Duration::MAX)), 4), (30.0, 120.0));
    // In turns of 10 ms.
    assert_times("short quantum", burst_times(with(1, 4, Some(ms(10))), 4), (90.0, 120.0));
    assert_times("two processes", burst_times(with(2, 1, Some(ms(10))), 2), (30.0, 30.0));
}

#[test]
fn waits_are_between_and_after_bursts_and_free_the_processor() {
    let steps = vec![work(constant(20), constant(40), 2)];
    assert_times("alone", burst_times(service(2, steps.clone()), 1), (60.0, 60.0));
    // 10 ms of the second fall into the first's waits; both run together only for an instant.
    let mut locked = service(2, steps);
    locked.server.lock = Some(Duration::MAX);
    assert_times("two", burst_times(locked, 2), (60.0, 70.0));
}

#[test]
fn a_full_queue_refuses() {
    let accepts = [
        Accept::Shared { bound: 3 },
        Accept::PerProcess { bound: 3 },
        Accept::Kept { bound: 3, linger: ms(200), inline: 10 },
    ];
    for accept in accepts {
        let mut service = service(2, cpu(10));
        service.server.accept = accept;
        let window = measure(&system(burst(10), vec![service]), 0.0, 10.0);
        assert_eq!((window.answered, window.refused), (5, 5), "{accept:?}");
    }
}

#[test]
fn front_workers_are_busy_while_they_wait() {
    let with = |workers, bound| {
        let mut service = service(100, cpu(0));
        service.server.front = Some(Front { workers, cpu: constant(1), wait: constant(9), bound });
        service.hosts[0].cores = 8;
        service
    };
    assert_times("one", burst_times(with(1, 100), 4), (10.0, 40.0));
    assert_times("four", burst_times(with(4, 100), 4), (10.0, 10.0));
    let window = measure(&system(burst(10), vec![with(1, 3)]), 0.0, 10.0);
    assert_eq!((window.answered, window.refused), (4, 6));
}

/// Mean queueing in milliseconds of a service like the account's: six processes, a third of each busy.
fn kept(accept: Accept, nodes: u32, reuse: Reuse) -> f64 {
    let mut service = service(1, vec![work(exponential(4), exponential(36), 3)]);
    service.server.processes = 6;
    service.server.accept = accept;
    service.instances = InstanceCount::new(4);
    service.balancing.nodes = nodes;
    service.balancing.connections = Connections::Kept { reuse, idle_timeout: Duration::from_secs(20) };
    let window = measure(&system(poisson(150.0), vec![service]), 60.0, 3000.0);
    window.queueing.mean().unwrap() * 1e3
}

#[test]
fn connections_that_belong_to_processes_make_requests_wait() {
    let accept = |linger, inline| Accept::Kept { bound: 1000, linger: ms(linger), inline };
    let shared = kept(Accept::Shared { bound: 1000 }, 1, Reuse::Random);
    let bound_to = kept(accept(0, 10), 1, Reuse::Random);
    let lingering = kept(accept(200, 10), 1, Reuse::Random);
    let never_inline = kept(accept(200, 1), 1, Reuse::Random);
    assert!(
        shared < 1.0 && bound_to > 5.0 * shared && lingering > 1.3 * bound_to,
        "{shared} {bound_to} {lingering}"
    );
    assert_close("one in a row is no lingering", never_inline, bound_to, 0.05);
    // The connection on which a thread still lingers is found more often.
    let recent = kept(accept(200, 10), 1, Reuse::MostRecent);
    assert!(recent < 0.9 * lingering, "{recent} with the most recent, {lingering} with any");
}

#[test]
fn nodes_know_nothing_of_each_other() {
    let shared = Accept::Shared { bound: 1000 };
    let mean = |nodes| {
        let mut service = service(1, vec![work(Distribution::ZERO, constant(10), 1)]);
        service.server.accept = shared;
        service.instances = InstanceCount::new(10);
        service.balancing.nodes = nodes;
        let window = measure(&system(every(Duration::from_micros(1250)), vec![service]), 1.0, 100.0);
        window.queueing.mean().unwrap() * 1e3
    };
    // In turn, a request every 1.25 ms finds its instance free again.
    assert_eq!(mean(1), 0.0);
    assert!(mean(6) > 3.0, "{}", mean(6));
}

#[test]
fn connections_are_used_again_until_they_were_idle_too_long() {
    let opened = |gap, idle_timeout| {
        let mut service = service(1, cpu(1));
        service.balancing.connections = Connections::Kept { reuse: Reuse::Random, idle_timeout };
        measure(&system(every(gap), vec![service]), 0.0, 100.5).connections
    };
    assert_eq!(opened(secs(1.0), secs(5.0)), 1);
    assert_eq!(opened(secs(1.0), secs(0.5)), 100);
    let mut per_call = service(1, cpu(1));
    per_call.balancing.network = ms(2);
    assert_eq!(measure(&system(every(secs(1.0)), vec![per_call]), 0.0, 100.5).connections, 100);
}

#[test]
fn the_idle_connection_that_is_used_again_is_chosen() {
    let opened = |reuse| {
        let mut service = service(100, vec![work(Distribution::ZERO, exponential(100), 1)]);
        service.balancing.connections = Connections::Kept { reuse, idle_timeout: ms(1500) };
        measure(&system(poisson(100.0), vec![service]), 0.0, 1000.0).connections
    };
    let (most, least) = (opened(Reuse::MostRecent), opened(Reuse::LeastRecent));
    // In turn none is idle for long; most recent first lets the others close.
    assert!(least < 60 && most > 4 * least, "most recent {most}, least recent {least}");
}

#[test]
fn a_connection_for_every_call_costs_what_it_says() {
    let mut called = service(10, cpu(5));
    called.balancing.connections =
        Connections::PerCall { caller_cpu: ms(3), server_cpu: ms(2), delay: ms(10) };
    called.balancing.network = ms(1);
    let call = Call { service: ServiceId(1), endpoint: 0 };
    let system = system(every(secs(1.0)), vec![service(10, vec![Step::Calls(vec![call])]), called]);
    let (mut plant, instances) = plant(&system);
    plant.run_until(Timestamp::from_millis(100_500));
    let mut windows = [Window::default(), Window::default()];
    plant.take_window(ServiceId(0), &mut windows[0]);
    plant.take_window(ServiceId(1), &mut windows[1]);
    assert_close("caller's time", windows[0].balancer.mean().unwrap(), 0.021, 1e-6);
    assert_close("called one's time", windows[1].balancer.mean().unwrap(), 0.018, 1e-6);
    assert_close("its application's", windows[1].application.mean().unwrap(), 0.007, 1e-6);
    assert_close("on the way", windows[1].queued / 100.0, 0.011, 1e-6);
    assert_close("caller's processor", plant.take_cpu(instances[0]), 0.3, 1e-6);
    assert_close("called one's processor", plant.take_cpu(instances[1]), 0.7, 1e-6);
}

#[test]
fn background_and_boot_use_the_processor() {
    let mut service = service(1, cpu(100));
    service.hosts[0].background = 0.2;
    service.start.boot_cpu = 0.5;
    let (mut plant, instances) = plant(&system(every(secs(1.0)), vec![service]));
    plant.run_until(Timestamp::from_millis(10_900));
    // Ten requests, and 20 % background.
    assert_close("serving", plant.take_cpu(instances[0]), 1.0 + 0.2 * 10.9, 1e-6);
    let booting = plant.launch(ServiceId(0), 0);
    plant.run_until(Timestamp::from_millis(20_900));
    assert_close("booting", plant.take_cpu(booting), 5.0, 1e-6);
    let mut window = Window::default();
    plant.take_window(ServiceId(0), &mut window);
    // Background slows them.
    assert_close("time", window.balancer.mean().unwrap(), 0.125, 1e-6);
}

#[test]
fn a_new_instance_is_slow_until_it_is_warm() {
    let mut service = service(1, cpu(100));
    service.start.warm_up = secs(10.0);
    service.start.warm_up_factor = 3.0;
    let system = system(every(secs(1.0)), vec![service]);
    let (mut plant, first) = plant(&system);
    let mut window = Window::default();
    plant.run_until(Timestamp::from_millis(2500));
    plant.take_window(ServiceId(0), &mut window);
    assert_close("the first instances are warm", window.balancer.most().unwrap(), 0.1, 1e-6);
    plant.drain(first[0]);
    let second = plant.launch(ServiceId(0), 0);
    plant.serve(second);
    for (at, factor) in [(3, 2.9), (4, 2.7), (8, 1.9), (12, 1.1), (13, 1.0)] {
        plant.run_until(Timestamp::from_millis(at * 1000 - 100));
        plant.take_window(ServiceId(0), &mut window);
        plant.run_until(Timestamp::from_millis(at * 1000 + 400));
        plant.take_window(ServiceId(0), &mut window);
        assert_close(&format!("after {at} s"), window.balancer.mean().unwrap(), 0.1 * factor, 1e-6);
    }
}

#[test]
fn cores_that_are_taken_away_slow_what_runs() {
    let mut service = service(10, cpu(100));
    service.hosts[0].cores = 2;
    let system = system(every(secs(1.0)), vec![service]);
    let (mut plant, instances) = plant(&system);
    let mut window = Window::default();
    plant.run_until(Timestamp::from_millis(1050));
    plant.set_cores(instances[0], 0.5);
    plant.run_until(Timestamp::from_millis(1900));
    plant.take_window(ServiceId(0), &mut window);
    // Half of it alone on a core, half on a quarter of one.
    assert_close("time", window.balancer.mean().unwrap(), 0.05 + 0.2, 1e-6);
    assert_close("used", plant.take_cpu(instances[0]), 0.1, 1e-6);
}

#[test]
fn a_quota_bounds_throughput_and_makes_the_tail() {
    let traffic = Traffic::Closed { users: 30, think: Distribution::ZERO };
    let mut service = service(
        1000,
        vec![work(
            Distribution::Constant(Duration::from_micros(75)),
            Distribution::Constant(Duration::from_micros(500)),
            1,
        )],
    );
    service.hosts[0].cores = 4;
    service.hosts[0].quota = Some(Quota { cores: 0.05, period: ms(100) });
    let mut system = system(traffic, vec![service]);
    let one = measure(&system, 10.0, 100.0);
    assert_close("rate of one", one.answered as f64 / 100.0, 0.05 / 75e-6, 0.02);
    // Fast until the quota is spent, then nothing until the period ends.
    assert!(
        one.balancer.quantile(0.5).unwrap() < 0.002 && one.balancer.most().unwrap() > 0.09,
        "{:?}",
        one.balancer.most()
    );
    system.services[0].instances = InstanceCount::new(2);
    let two = measure(&system, 10.0, 100.0);
    let ratio = two.answered as f64 / one.answered as f64;
    assert!((1.5..=2.05).contains(&ratio), "two replicas give {ratio} times one");
}

#[test]
fn a_share_of_requests_ends_with_an_error() {
    let mut service = service(1, cpu(1));
    service.endpoints[0].errors = 0.1;
    let window = measure(&system(poisson(100.0), vec![service]), 0.0, 1000.0);
    assert_close("share", window.errors as f64 / window.arrived as f64, 0.1, 0.05);
    assert_eq!(window.balancer.count(), window.answered + window.errors);
}

#[test]
fn endpoints_get_their_shares() {
    let mut service = service(1000, Vec::new());
    let one =
        |share, millis| Endpoint { share, ..endpoint(vec![work(Distribution::ZERO, constant(millis), 1)]) };
    service.endpoints = vec![one(6.0, 10), one(0.0, 1000), one(3.0, 20), one(1.0, 40)];
    let window = measure(&system(poisson(100.0), vec![service]), 0.0, 1000.0);
    assert_close("mean", window.balancer.mean().unwrap(), 0.6 * 0.01 + 0.3 * 0.02 + 0.1 * 0.04, 0.01);
    assert!(window.balancer.most().unwrap() < 0.041);
}

#[test]
fn a_bad_hour_of_a_third_party_makes_waits_longer() {
    let mut service = service(1000, Vec::new());
    let incidents = Some(Incidents { per_hour: 6.0, duration: Duration::from_secs(60), factor: 11.0 });
    let step = Step::Work { cpu: Distribution::ZERO, wait: constant(100), bursts: 1, incidents };
    service.endpoints = vec![endpoint(vec![step])];
    let window = measure(&system(every(ms(100)), vec![service]), 0.0, 400_000.0);
    // A tenth of the time eleven times as long.
    assert_close("mean", window.balancer.mean().unwrap(), 0.2, 0.08);
    assert_close("longest", window.balancer.most().unwrap(), 1.1, 1e-6);
}
