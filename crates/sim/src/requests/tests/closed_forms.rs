//! Queues with closed-form solutions.

use super::world::*;
use crate::plant::Plant;
use crate::settings::*;

fn exponential(mean: f64) -> Distribution {
    Distribution::Exponential { mean: secs(mean) }
}

/// One service time of a second, as a wait that keeps a thread, or as processor time.
fn waits(time: Distribution) -> Vec<Step> {
    vec![work(Distribution::ZERO, time, 1)]
}

fn computes(time: Distribution) -> Vec<Step> {
    vec![work(time, Distribution::ZERO, 1)]
}

#[test]
fn many_servers_with_one_queue() {
    // Servers, load, mean wait, p95 and p99 of the wait, millions of customers (the fewer servers, the longer the
    // memory).
    let rows = [
        (1, 0.9, 9.0, 28.903718, 44.998097, 20.0),
        (2, 1.6, 1.7777777778, 6.637014, 10.660609, 6.0),
        (4, 3.6, 1.9693831607, 6.892905, 10.916500, 10.0),
        (8, 7.2, 0.8769162377, 3.301556, 5.313354, 8.0),
        (10, 9.0, 0.6687315241, 2.593360, 4.202798, 8.0),
        (16, 14.4, 0.3695896212, 1.543984, 2.549882, 6.0),
        (32, 28.8, 0.1431864442, 0.692274, 1.195223, 5.0),
        (50, 45.0, 0.0727728934, 0.396952, 0.718839, 5.0),
        (100, 90.0, 0.0216940481, 0.146760, 0.307704, 14.0),
    ];
    rows.into_iter().for_each(waits_as_on_paper);
}

/// A separate test, so that it runs in parallel: it has the longest memory of all.
#[test]
fn a_hundred_servers_near_their_limit() {
    waits_as_on_paper((100, 95.0, 0.1012913708, 0.463083, 0.784971, 120.0));
}

fn waits_as_on_paper((servers, load, mean, p95, p99, millions): (u32, f64, f64, f64, f64, f64)) {
    let system = system(poisson(load), vec![service(servers, waits(exponential(1.0)))]);
    let window = measure(&system, 1000.0, millions * 1e6 / load);
    let queueing = &window.queueing;
    let row = format!("{servers} servers at {load}");
    assert_close(&format!("{row}, mean"), queueing.mean().unwrap(), mean, 0.01);
    assert_close(&format!("{row}, p95"), queueing.quantile(0.95).unwrap(), p95, 0.02);
    assert_close(&format!("{row}, p99"), queueing.quantile(0.99).unwrap(), p99, 0.02);
}

#[test]
fn one_server_with_any_service_time() {
    let mean = secs(1.0);
    let times = [
        Distribution::Constant(mean),
        Distribution::Erlang { shape: 2, mean },
        Distribution::Exponential { mean },
        Distribution::HyperExponential { mean, cv: 2.0 },
    ];
    let rows = [
        (0.5, [0.5, 0.75, 1.0, 2.5], 3.0),
        (0.8, [2.0, 3.0, 4.0, 10.0], 9.0),
        (0.9, [4.5, 6.75, 9.0, 22.5], 25.0),
    ];
    for (load, waiting, millions) in rows {
        for (time, expected) in times.iter().zip(waiting) {
            let system = system(poisson(load), vec![service(1, waits(time.clone()))]);
            let window = measure(&system, 1000.0, millions * 1e6 / load);
            assert_close(&format!("{time:?} at {load}"), window.queueing.mean().unwrap(), expected, 0.01);
        }
    }
}

#[test]
fn a_shared_processor_does_not_mind_the_distribution() {
    let mean = secs(1.0);
    let times = [
        Distribution::Constant(mean),
        Distribution::Erlang { shape: 2, mean },
        Distribution::Exponential { mean },
        Distribution::HyperExponential { mean, cv: 2.0 },
        Distribution::LogNormal { mean, cv: 1.0 },
    ];
    for time in times {
        let system = system(poisson(0.8), vec![service(100_000, computes(time.clone()))]);
        let window = measure(&system, 1000.0, 5e6);
        assert_close(&format!("{time:?}"), window.balancer.mean().unwrap(), 5.0, 0.01);
        assert_eq!(window.queueing.most(), Some(0.0));
    }
}

#[test]
fn places_that_run_out() {
    // Servers, places in all, load, share refused, mean time of the others.
    let rows = [
        (1, 10, 0.9, 0.0508137, 4.64660),
        (1, 10, 1.1, 0.1399665, 6.27454),
        (6, 6, 5.0, 0.1918473, 1.0),
        (16, 32, 17.6, 0.1044036, 1.59572),
        (16, 16, 17.6, 0.2238676, 1.0),
    ];
    for (servers, places, load, loss, time) in rows {
        let mut service = service(servers, waits(exponential(1.0)));
        service.server.accept = Accept::Shared { bound: places - servers };
        let window = measure(&system(poisson(load), vec![service]), 1000.0, 3e6 / load);
        let row = format!("{servers} servers, {places} places at {load}");
        assert_close(&format!("{row}, loss"), window.refused as f64 / window.arrived as f64, loss, 0.01);
        assert_close(&format!("{row}, time"), window.balancer.mean().unwrap(), time, 0.01);
    }
}

#[test]
fn several_cores_shared_by_all() {
    // State probabilities of three servers, load 10 / 12: the number of bursts on three cores has the same.
    let [one, two, three] = [0.3601108033240997, 0.1500461680517082, 0.0416794911254745];
    let ratio = 10.0 / 36.0;
    let mean = one + 2.0 * two + three * (3.0 / (1.0 - ratio) + ratio / (1.0_f64 - ratio).powi(2));
    let mut service = service(1000, computes(exponential(1.0 / 12.0)));
    service.hosts[0].cores = 3;
    let window = measure(&system(poisson(10.0), vec![service]), 100.0, 3e5);
    assert_close("mean number", window.in_system, mean, 0.01);
}

#[test]
fn users_who_wait_for_answers() {
    // Users, throughput, mean response in milliseconds: exact mean value analysis, 10 ms of processor, 1 s of thought.
    let rows = [
        (1, 0.990099, 10.0),
        (10, 9.89153, 10.966),
        (50, 49.0695, 18.962),
        (100, 92.42995, 81.90),
        (200, 100.0, 1000.0),
    ];
    for (users, rate, response) in rows {
        let traffic = Traffic::Closed { users, think: exponential(1.0) };
        let time = 3e6 / rate;
        let window = measure(&system(traffic, vec![service(1000, computes(exponential(0.01)))]), 200.0, time);
        assert_close(&format!("{users} users, rate"), window.answered as f64 / time, rate, 0.01);
        assert_close(&format!("{users} users, time"), window.balancer.mean().unwrap() * 1e3, response, 0.01);
    }
}

#[test]
fn a_queue_for_each_process_is_as_many_small_systems() {
    let mut service = service(1, waits(exponential(1.0)));
    service.server.processes = 4;
    service.server.accept = Accept::PerProcess { bound: u32::MAX };
    let window = measure(&system(poisson(2.8), vec![service]), 1000.0, 2e6);
    // One server at 0.7.
    assert_close("mean wait", window.queueing.mean().unwrap(), 0.7 / 0.3, 0.01);
}

#[test]
fn a_pool_is_a_queue_for_those_who_hold_a_thread() {
    let mut system = system(
        poisson(3.6),
        vec![service(100_000, vec![Step::Hold { pool: PoolId(0), time: exponential(1.0) }])],
    );
    system.pools = vec![Pool { name: "terminals".into(), places: 4, bound: u32::MAX }];
    let window = measure(&system, 1000.0, 2.5e6);
    assert_close("mean time", window.application.mean().unwrap(), 1.0 + 1.9693831607, 0.01);
    system.pools[0] = Pool { name: "terminals".into(), places: 6, bound: 0 };
    system.traffic = poisson(5.0);
    let window = measure(&system, 1000.0, 5e5);
    assert_close("loss", window.refused as f64 / window.arrived as f64, 0.1918473, 0.01);
}

#[test]
fn called_services_work_at_the_same_time() {
    let called = || service(100_000, waits(exponential(1.0)));
    let call = |number| Call { service: ServiceId(number), endpoint: 0 };
    let front = service(100_000, vec![Step::Calls(vec![call(1), call(2)])]);
    let window = measure(&system(poisson(10.0), vec![front, called(), called()]), 100.0, 1e5);
    // The longer of two exponential times.
    assert_close("mean time", window.balancer.mean().unwrap(), 1.5, 0.01);
}

#[test]
fn little_and_the_law_of_utilisation_hold() {
    let mut service = service(16, vec![work(exponential(0.014), exponential(0.07), 8)]);
    service.server.lock = Some(ms(100));
    service.instances = units::InstanceCount::new(3);
    let system = system(poisson(120.0), vec![service]);
    let (mut plant, instances) = plant(&system);
    let mut window = crate::plant::Window::default();
    for minute in 1..=30 {
        plant.run_until(units::Timestamp::from_secs(60 * minute));
        plant.take_window(ServiceId(0), &mut window);
        let rate = window.answered as f64 / 60.0;
        assert_close("Little", window.in_system, rate * window.balancer.mean().unwrap(), 0.02);
        let used: f64 = instances.iter().map(|&instance| plant.take_cpu(instance)).sum();
        assert_close("utilisation", used / 60.0, rate * 0.014, 0.06);
    }
}
