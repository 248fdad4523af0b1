//! The effect of each balancing setting, and of instances that leave.

use super::world::*;
use crate::plant::{Plant, Window};
use crate::settings::*;
use control::admission::WaitingSettings;
use std::time::Duration;
use units::{InstanceCount, Timestamp};

fn constant(millis: u64) -> Distribution {
    Distribution::Constant(ms(millis))
}

fn wait(millis: u64) -> Vec<Step> {
    vec![work(Distribution::ZERO, constant(millis), 1)]
}

fn exponential(millis: u64) -> Distribution {
    Distribution::Exponential { mean: ms(millis) }
}

#[test]
fn patience_ends_and_the_work_goes_on() {
    let mut service = service(1, vec![work(constant(300), Distribution::ZERO, 1)]);
    service.balancing.timeout = Some(ms(100));
    let system = system(poisson(1.0), vec![service]);
    let (mut plant, instances) = plant(&system);
    plant.run_until(Timestamp::from_secs(1000));
    let mut window = Window::default();
    plant.take_window(ServiceId(0), &mut window);
    assert!(window.timed_out > 900 && window.answered == 0, "{window:?}");
    assert_eq!(window.balancer.most(), Some(0.1));
    // The server still did all of the work.
    let done = window.application.count() as f64;
    assert!(done > 900.0);
    assert_close("processor", plant.take_cpu(instances[0]), 0.3 * done, 0.01);
}

#[test]
fn network_time_is_the_balancers_and_not_the_applications() {
    let mut service = service(10, wait(20));
    service.balancing.network = ms(5);
    let window = measure(&system(poisson(1.0), vec![service]), 0.0, 1000.0);
    assert_close("balancer", window.balancer.mean().unwrap(), 0.025, 1e-6);
    assert_close("application", window.application.mean().unwrap(), 0.020, 1e-6);
}

#[test]
fn an_instance_takes_no_more_than_its_limit() {
    let mut service = service(100, wait(1000));
    service.balancing.instance_limit = Some(6);
    // Six servers without a queue, load 5.
    service.endpoints = vec![endpoint(vec![work(Distribution::ZERO, exponential(1000), 1)])];
    let window = measure(&system(poisson(5.0), vec![service]), 100.0, 200_000.0);
    assert_close("loss", window.refused as f64 / window.arrived as f64, 0.1918473, 0.01);
}

#[test]
fn requests_wait_for_a_slot_while_all_instances_are_full() {
    // Two instances with one slot each, and at most 3 waiting requests, are M/M/2/5. With the load a and r = a / 2, the
    // share of lost requests is p0 a^2/2 r^3, where 1 / p0 = 1 + a + a^2/2 (1 + r + r^2 + r^3).
    let mut service = service(100, vec![work(Distribution::ZERO, exponential(1000), 1)]);
    service.instances = InstanceCount::new(2);
    service.balancing.instance_limit = Some(1);
    let longest_wait = Duration::from_secs(1_000_000);
    let settings = WaitingSettings { target: longest_wait, ..WaitingSettings::bounded(3, longest_wait) };
    service.balancing.queue = Some(SlotQueue { settings, classes: 1 });
    let window = measure(&system(poisson(1.5), vec![service]), 100.0, 200_000.0);
    let (a, r): (f64, f64) = (1.5, 0.75);
    let tail = a * a / 2.0;
    let p0 = 1.0 / (1.0 + a + tail * (1.0 + r + r.powi(2) + r.powi(3)));
    assert_close("loss", window.refused as f64 / window.arrived as f64, p0 * tail * r.powi(3), 0.03);
    assert_eq!(window.shed.keys().copied().collect::<Vec<_>>(), ["backlog_full"]);
}

#[test]
fn retries_stay_within_their_budget() {
    let with = |most, budget| {
        let mut service = service(100, wait(1000));
        service.instances = InstanceCount::new(2);
        service.balancing.timeout = Some(ms(100));
        service.balancing.retries = Some(Retries { most, budget, backoff: ms(10) });
        measure(&system(poisson(100.0), vec![service]), 0.0, 100.0)
    };
    // Every attempt times out: the whole budget is used.
    let window = with(3, 0.2);
    assert_close("a fifth", window.retried as f64 / window.arrived as f64, 0.2, 0.02);
    assert!(window.balancer.least().unwrap() >= 0.1);
    let window = with(2, 1.0);
    assert_close("all", window.retried as f64 / window.arrived as f64, 1.0, 0.02);
    assert_eq!(with(0, 1.0).retried, 0);
}

#[test]
fn a_retry_goes_elsewhere_and_its_whole_time_counts() {
    let mut service = service(100, wait(50));
    service.instances = InstanceCount::new(2);
    service.balancing.retries = Some(Retries { most: 1, budget: 1.0, backoff: ms(10) });
    let system = system(poisson(50.0), vec![service]);
    let (mut plant, instances) = plant(&system);
    plant.fail(instances[0]);
    plant.run_until(Timestamp::from_secs(100));
    let mut window = Window::default();
    plant.take_window(ServiceId(0), &mut window);
    assert!(window.retried > 2000 && window.failed == 0, "{window:?}");
    assert_close("longest", window.balancer.most().unwrap(), 0.06, 1e-6);
    assert_close("shortest", window.balancer.least().unwrap(), 0.05, 1e-6);
}

#[test]
fn a_failed_instance_fails_what_it_has_and_what_is_sent_to_it() {
    let mut service = service(100, wait(1000));
    service.instances = InstanceCount::new(2);
    let system = system(poisson(100.0), vec![service]);
    let (mut plant, instances) = plant(&system);
    let mut window = Window::default();
    plant.run_until(Timestamp::from_secs(10));
    let in_hand = plant.in_flight(instances[0]);
    plant.take_window(ServiceId(0), &mut window);
    assert!(in_hand > 30);
    plant.fail(instances[0]);
    plant.take_window(ServiceId(0), &mut window);
    assert_eq!((window.failed, plant.in_flight(instances[0])), (u64::from(in_hand), 0));
    // Until detection, every second request fails.
    plant.run_until(Timestamp::from_secs(20));
    plant.take_window(ServiceId(0), &mut window);
    assert_close("half", window.failed as f64 / window.arrived as f64, 0.5, 0.01);
    plant.drain(instances[0]);
    plant.run_until(Timestamp::from_secs(30));
    plant.take_window(ServiceId(0), &mut window);
    assert_eq!(window.failed, 0);
}

#[test]
fn a_draining_instance_finishes_and_a_stopped_one_does_not() {
    let mut service = service(100, wait(1000));
    service.instances = InstanceCount::new(2);
    let system = system(poisson(100.0), vec![service]);
    let (mut plant, instances) = plant(&system);
    let mut window = Window::default();
    plant.run_until(Timestamp::from_secs(10));
    plant.drain(instances[0]);
    let other = plant.in_flight(instances[1]);
    plant.run_until(Timestamp::from_millis(11_500));
    assert_eq!(plant.in_flight(instances[0]), 0);
    assert!(plant.in_flight(instances[1]) > other + 30);
    plant.stop(instances[0]);
    plant.take_window(ServiceId(0), &mut window);
    assert_eq!(window.failed, 0);
    let in_hand = plant.in_flight(instances[1]);
    plant.stop(instances[1]);
    plant.run_until(Timestamp::from_secs(12));
    plant.take_window(ServiceId(0), &mut window);
    // And no instance is left for new requests.
    assert_eq!(window.failed, u64::from(in_hand) + window.arrived);
    assert_eq!(window.answered, 0);
}

#[test]
fn nothing_is_sent_to_an_instance_that_boots() {
    let (mut plant, _) = plant(&system(poisson(100.0), vec![service(100, wait(1000))]));
    let booting = plant.launch(ServiceId(0), 0);
    plant.run_until(Timestamp::from_secs(10));
    assert_eq!(plant.in_flight(booting), 0);
    plant.serve(booting);
    plant.run_until(Timestamp::from_secs(20));
    assert!(plant.in_flight(booting) > 30);
}

#[test]
fn weights_follow_the_speed_of_hosts() {
    let busy = |algorithm| {
        let mut service = service(100, vec![work(exponential(10), Distribution::ZERO, 1)]);
        service.balancing.algorithm = algorithm;
        service.hosts = vec![host(1), Host { speed: 3.0, ..host(1) }];
        service.instances = InstanceCount::new(2);
        let (mut plant, instances) = plant(&system(poisson(150.0), vec![service]));
        plant.run_until(Timestamp::from_secs(2000));
        let busy: Vec<f64> = instances.iter().map(|&instance| plant.take_cpu(instance) / 2000.0).collect();
        (busy[0], busy[1])
    };
    let (slow, fast) = busy(Algorithm::RoundRobin);
    assert_close("slow in turn", slow, 0.75, 0.03);
    assert_close("fast in turn", fast, 0.25, 0.03);
    let (slow, fast) = busy(Algorithm::WeightedRoundRobin);
    assert_close("slow by weight", slow, 0.375, 0.03);
    assert_close("fast by weight", fast, 0.375, 0.03);
    for algorithm in [Algorithm::LeastOutstanding, Algorithm::PeakEwma] {
        let (slow, fast) = busy(algorithm);
        assert!(slow < 0.7 && fast > 0.26, "{algorithm:?}: {slow} {fast}");
    }
}

#[test]
fn a_new_instance_gets_its_share_slowly() {
    let share = |slow_start| {
        let mut service = service(1000, wait(10));
        service.balancing.slow_start = slow_start;
        let (mut plant, first) = plant(&system(poisson(500.0), vec![service]));
        plant.run_until(Timestamp::from_secs(10));
        let second = plant.launch(ServiceId(0), 0);
        plant.serve(second);
        let mut shares = [0.0; 2];
        for (from, share) in [10, 110].into_iter().zip(&mut shares) {
            plant.run_until(Timestamp::from_secs(from));
            let (mut at_new, mut at_old) = (0, 0);
            for step in 1..1000 {
                plant.run_until(Timestamp::from_millis(from * 1000 + step * 10));
                at_new += plant.in_flight(second);
                at_old += plant.in_flight(first[0]);
            }
            *share = f64::from(at_new) / f64::from(at_new + at_old);
        }
        shares
    };
    let [early, late] = share(Some(Duration::from_secs(100)));
    assert!(early < 0.12 && late > 0.45, "{early} and then {late}");
    let [early, _] = share(None);
    assert_close("without", early, 0.5, 0.06);
}

#[test]
fn users_think_after_each_answer_whatever_it_was() {
    let mut service = service(1, wait(1000));
    service.server.accept = Accept::Shared { bound: 0 };
    let traffic = Traffic::Closed { users: 2, think: constant(1000) };
    let window = measure(&system(traffic, vec![service]), 0.0, 1000.5);
    // One is served while the other is refused and thinks, and so on.
    assert!(window.answered > 400 && window.refused > 400, "{window:?}");
}

#[test]
fn two_policies_see_the_same_requests() {
    let run = |algorithm, nodes| {
        let mut service = service(100, vec![work(exponential(20), exponential(50), 3)]);
        service.instances = InstanceCount::new(5);
        service.balancing.algorithm = algorithm;
        service.balancing.nodes = nodes;
        let rates = std::sync::Arc::from([100.0, 0.0]);
        let arrivals = Arrivals::Poisson;
        let traffic = Traffic::Open { rates, bin: Duration::from_secs(100), arrivals, noise: None };
        let (mut plant, instances) = plant(&system(traffic, vec![service]));
        plant.run_until(Timestamp::from_secs(1000));
        let mut window = Window::default();
        plant.take_window(ServiceId(0), &mut window);
        let used: f64 = instances.iter().map(|&instance| plant.take_cpu(instance)).sum();
        (window.answered, used, window.balancer.mean().unwrap())
    };
    let (requests, used, mean) = run(Algorithm::RoundRobin, 1);
    for (algorithm, nodes) in
        [(Algorithm::LeastOutstanding, 1), (Algorithm::RoundRobin, 6), (Algorithm::PeakEwma, 2)]
    {
        let other = run(algorithm, nodes);
        assert_eq!(other.0, requests);
        assert_close("work", other.1, used, 1e-6);
        assert!(other.2 != mean);
    }
}

#[test]
fn a_failed_call_is_an_error_of_the_caller() {
    let mut called = service(1, wait(100));
    called.endpoints[0].errors = 0.25;
    let steps = vec![
        Step::Calls(vec![Call { service: ServiceId(1), endpoint: 0 }]),
        work(constant(100), Distribution::ZERO, 1),
    ];
    let window = measure(&system(poisson(1.0), vec![service(100, steps), called]), 0.0, 20_000.0);
    assert_close("errors", window.errors as f64 / window.arrived as f64, 0.25, 0.05);
}
