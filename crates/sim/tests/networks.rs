//! Twenty random networks that Ciw simulated (`bench/sim/references`), simulated here: the same response times, within
//! the errors of both.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use serde_json::Value;
use sim::Requests;
use sim::plant::{Plant, Window};
use sim::settings::*;
use std::time::Duration;
use units::Timestamp;

const REFERENCES: &str = include_str!("../../../bench/sim/references/networks.json");
const RUNS: u64 = 12;
const REQUESTS: f64 = 20_000.0;
const WARM_UP: f64 = 2_000.0;
/// By chance, one of eighty values is this many standard errors away once in a few hundred times; the seeds are fixed.
const FAR: f64 = 4.0;
/// Quantiles are read from buckets.
const READING: f64 = 0.004;

fn number(value: &Value, key: &str) -> f64 {
    value[key].as_f64().unwrap_or_else(|| panic!("no number {key} in {value}"))
}

/// One instance with this many threads and one queue; the network requests themselves cost nothing.
fn service(threads: u32, endpoints: Vec<Endpoint>) -> Service {
    Service::new("service", Server::new(1, threads), Host::new("host", 1), endpoints)
}

/// A service that calls the others one after the other; a kind of request for each route.
fn system(network: &Value, seed: u64) -> (System, f64) {
    let mut called: Vec<Vec<Endpoint>> =
        network["services"].as_array().unwrap().iter().map(|_| Vec::new()).collect();
    let mut routes = Vec::new();
    for route in network["routes"].as_array().unwrap() {
        let steps = route["visits"].as_array().unwrap().iter().map(|visit| {
            let place = visit["service"].as_u64().unwrap() as usize;
            let wait = Distribution::Exponential { mean: Duration::from_secs_f64(number(visit, "mean_s")) };
            let work = Step::Work { cpu: Distribution::ZERO, wait, bursts: 1, incidents: None };
            called[place].push(Endpoint { share: 0.0, ..Endpoint::new("visit", vec![work]) });
            let endpoint = called[place].len() as u16 - 1;
            Step::Calls(vec![Call { service: ServiceId(place as u16 + 1), endpoint }])
        });
        let steps = steps.collect();
        routes.push(Endpoint { share: number(route, "per_second"), ..Endpoint::new("route", steps) });
    }
    let rate: f64 = routes.iter().map(|route| route.share).sum();
    let mut services = vec![service(1_000_000, routes)];
    for (endpoints, settings) in called.into_iter().zip(network["services"].as_array().unwrap()) {
        services.push(service(settings["servers"].as_u64().unwrap() as u32, endpoints));
    }
    let system = System {
        services,
        pools: Vec::new(),
        traffic: Traffic::Open {
            rates: [rate].into(),
            bin: Duration::from_secs(3600),
            arrivals: Arrivals::Poisson,
            noise: None,
        },
        keys: Vec::new(),
        quotas: Quotas::default(),
        warm_up: Duration::ZERO,
        measured: Duration::ZERO,
        row: MINUTE,
        seed,
    };
    (system, rate)
}

/// Mean, p50, p95 and p99 of the response times of a run.
fn run(network: &Value, seed: u64) -> [f64; 4] {
    let (system, rate) = system(network, seed);
    let mut plant = Requests::new(&system);
    for service in 0..system.services.len() {
        let instance = plant.launch(ServiceId(service as u16), 0);
        plant.serve(instance);
    }
    let mut window = Window::default();
    let at = |requests: f64| Timestamp::ZERO + Duration::from_secs_f64(requests / rate);
    plant.run_until(at(WARM_UP));
    plant.take_window(ServiceId(0), &mut window);
    window.clear();
    plant.run_until(at(WARM_UP + REQUESTS));
    plant.take_window(ServiceId(0), &mut window);
    let quantile = |share| window.balancer.quantile(share).unwrap();
    [window.balancer.mean().unwrap(), quantile(0.5), quantile(0.95), quantile(0.99)]
}

#[test]
fn random_networks_have_the_response_times_that_ciw_has() {
    let references: Value = serde_json::from_str(REFERENCES).unwrap();
    let mut off = Vec::new();
    let networks = references["networks"].as_array().unwrap();
    for network in networks {
        let runs: Vec<[f64; 4]> = (1..=RUNS).map(|seed| run(network, seed)).collect();
        for (place, key) in ["mean", "p50", "p95", "p99"].into_iter().enumerate() {
            let n = RUNS as f64;
            let mean = runs.iter().map(|run| run[place]).sum::<f64>() / n;
            let variance = runs.iter().map(|run| (run[place] - mean).powi(2)).sum::<f64>() / (n - 1.0);
            let theirs = &network["response_s"][key];
            let error = (variance / n + number(theirs, "standard_error").powi(2)).sqrt();
            let expected = number(theirs, "mean");
            if (mean - expected).abs() > FAR * error + READING * expected {
                off.push(format!("{} {key}: {mean} for {expected} ± {error}", network["name"]));
            }
        }
    }
    assert_eq!(networks.len(), 20);
    assert!(off.is_empty(), "{off:#?}");
}
