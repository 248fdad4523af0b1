//! Queues whose answers are known on paper.

use super::world::*;
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
        (1, 0.9, 9.0, 28.903718, 44.998097, 25.0),
        (2, 1.6, 1.7777777778, 6.637014, 10.660609, 8.0),
        (4, 3.6, 1.9693831607, 6.892905, 10.916500, 18.0),
        (8, 7.2, 0.8769162377, 3.301556, 5.313354, 14.0),
        (10, 9.0, 0.6687315241, 2.593360, 4.202798, 12.0),
        (16, 14.4, 0.3695896212, 1.543984, 2.549882, 10.0),
        (32, 28.8, 0.1431864442, 0.692274, 1.195223, 10.0),
        (50, 45.0, 0.0727728934, 0.396952, 0.718839, 10.0),
        (100, 90.0, 0.0216940481, 0.146760, 0.307704, 12.0),
    ];
    for (servers, load, mean, p95, p99, millions) in rows {
        let system = system(poisson(load), vec![service(servers, waits(exponential(1.0)))]);
        let window = measure(&system, 1000.0, millions * 1e6 / load);
        let queueing = &window.queueing;
        let row = format!("{servers} servers at {load}");
        assert_close(&format!("{row}, mean"), queueing.mean().unwrap(), mean, 0.01);
        assert_close(&format!("{row}, p95"), queueing.quantile(0.95).unwrap(), p95, 0.02);
        assert_close(&format!("{row}, p99"), queueing.quantile(0.99).unwrap(), p99, 0.02);
    }
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
    let rows = [(0.5, [0.5, 0.75, 1.0, 2.5], 6.0), (0.8, [2.0, 3.0, 4.0, 10.0], 16.0)];
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
        let window = measure(&system, 1000.0, 8e6);
        assert_close(&format!("{time:?}"), window.balancer.mean().unwrap(), 5.0, 0.01);
        assert_eq!(window.queueing.most(), Some(0.0));
    }
}
