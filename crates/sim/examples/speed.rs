//! How many requests a second of one core the simulator carries, through the plant that runs the cases:
//!
//! ```text
//! cargo run --release -p sim --example speed [part of a row's name]
//! ```

use rustix::time::{ClockId, clock_gettime};
use sim::Requests;
use sim::plant::{Plant, Window};
use sim::settings::*;
use std::sync::Arc;
use std::time::Duration;
use units::{Bytes, InstanceCount, Timestamp};

fn main() {
    let rows = [
        ("M/M/10 at 8 of 10 busy", servers(), 20_000_000.0 / 8.0),
        ("three bursts, 16 instances", bursts(), 5_000_000.0 / 1120.0),
        (
            "accounts, six processes, round robin",
            accounts(6, 1, Algorithm::RoundRobin, 26),
            5_000_000.0 / 320.0,
        ),
        ("accounts, sixteen threads", accounts(1, 16, Algorithm::LeastOutstanding, 12), 5_000_000.0 / 320.0),
        ("83,000 a second over three services", three_services(), 60.0),
    ];
    let wanted = std::env::args().nth(1).unwrap_or_default();
    for (name, system, seconds) in rows.into_iter().filter(|(name, ..)| name.contains(&wanted)) {
        let rounds = (0..3).map(|_| run(&system, seconds));
        let best = rounds.max_by(|one, other| one.rate.total_cmp(&other.rate)).expect("three rounds");
        let Round { rate, requests, mean, p95, queueing, busy } = best;
        println!(
            "{name:40} {:6.2} million requests a CPU second ({requests} requests; mean {:.2} ms, p95 {:.2} ms, \
             mean queueing {:.2} ms, {:.1} % of a core busy), {:.0} simulated seconds a second",
            rate / 1e6,
            mean * 1e3,
            p95 * 1e3,
            queueing * 1e3,
            busy * 100.0,
            seconds * rate / requests as f64,
        );
    }
}

struct Round {
    rate: f64,
    requests: u64,
    mean: f64,
    p95: f64,
    queueing: f64,
    busy: f64,
}

/// Minute by minute, as the cloud does it.
fn run(system: &System, seconds: f64) -> Round {
    let mut plant = Requests::new(system);
    let service = ServiceId(0);
    let instances: Vec<_> =
        (0..system.services[0].instances.get()).map(|_| plant.launch(service, 0)).collect();
    instances.iter().for_each(|&instance| plant.serve(instance));
    let (mut window, mut all) = (Window::default(), Window::default());
    let mut busy = 0.0;
    let began = cpu_seconds();
    let minutes = (seconds / 60.0).ceil() as u64;
    for minute in 1..=minutes {
        plant.run_until(Timestamp::from_secs(60 * minute));
        plant.take_window(service, &mut window);
        all.answered += window.answered;
        all.balancer.add(&window.balancer);
        all.queued += window.queued;
        instances.iter().for_each(|&instance| busy += plant.take_cpu(instance));
    }
    Round {
        rate: all.answered as f64 / (cpu_seconds() - began),
        requests: all.answered,
        mean: all.balancer.mean().unwrap_or(0.0),
        p95: all.balancer.quantile(0.95).unwrap_or(0.0),
        queueing: all.queued / all.answered as f64,
        busy: busy / (60.0 * minutes as f64 * instances.len() as f64),
    }
}

fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// One instance, ten threads, exponential waits of a second.
fn servers() -> System {
    let time = Distribution::Exponential { mean: Duration::from_secs(1) };
    let steps = vec![work(Distribution::ZERO, time, 1)];
    system(8.0, service(vec![endpoint(1.0, steps)], server(1, 10, Accept::Shared { bound: 1000 }), 1))
}

/// 70 % busy; least outstanding requests.
fn bursts() -> System {
    let cpu = Distribution::Exponential { mean: Duration::from_millis(10) };
    let wait = Distribution::Exponential { mean: Duration::from_millis(30) };
    let steps = vec![work(cpu, wait, 3)];
    let server = server(1, 1000, Accept::Shared { bound: 1000 });
    let mut service = service(vec![endpoint(1.0, steps)], server, 16);
    service.balancing.algorithm = Algorithm::LeastOutstanding;
    system(1120.0, service)
}

/// The account service at its peak, or near it.
fn accounts(processes: u32, threads: u32, algorithm: Algorithm, instances: u32) -> System {
    let request = |share, cpu: f64, cpu_cv, wait: f64, bursts| {
        let time =
            |millis: f64, cv| Distribution::LogNormal { mean: Duration::from_secs_f64(millis / 1e3), cv };
        endpoint(share, vec![work(time(cpu, cpu_cv), time(wait, 1.0), bursts)])
    };
    let endpoints = vec![
        request(0.60, 3.5, 0.6, 36.0, 3),
        request(0.34, 14.0, 0.6, 70.0, 8),
        request(0.055, 120.0, 0.3, 30.0, 2),
        request(0.005, 30.0, 0.6, 900.0, 3),
    ];
    let accept = Accept::Kept { bound: 1024, linger: Duration::from_millis(200), inline: 10 };
    let mut service = service(endpoints, server(processes, threads, accept), instances);
    service.server.lock = Some(Duration::from_millis(100));
    service.hosts[0].background = 0.04;
    service.balancing.algorithm = algorithm;
    service.balancing.nodes = 6;
    service.balancing.connections =
        Connections::Kept { reuse: Reuse::Random, idle_timeout: Duration::from_secs(20) };
    system(320.0, service)
}

/// A front that asks two others for each request; 660 instances.
fn three_services() -> System {
    let millis = |millis: f64| Distribution::Exponential { mean: Duration::from_secs_f64(millis / 1e3) };
    let behind = |cpu, wait, instances| {
        let endpoints = vec![endpoint(1.0, vec![work(millis(cpu), millis(wait), 2)])];
        let mut service = service(endpoints, server(1, 1000, Accept::Shared { bound: 1000 }), instances);
        service.server.lock = Some(Duration::MAX);
        service.balancing.algorithm = Algorithm::LeastOutstanding;
        service
    };
    let call = |number| Call { service: ServiceId(number), endpoint: 0 };
    let mut front = behind(1.5, 1.0, 220);
    front.endpoints[0].steps.push(Step::Calls(vec![call(1), call(2)]));
    let mut system = system(83_000.0, front);
    system.services.extend([behind(1.5, 2.0, 220), behind(1.5, 5.0, 220)]);
    system
}

fn work(cpu: Distribution, wait: Distribution, bursts: u32) -> Step {
    Step::Work { cpu, wait, bursts, incidents: None }
}

fn endpoint(share: f64, steps: Vec<Step>) -> Endpoint {
    Endpoint { name: "endpoint".into(), share, steps, errors: 0.0 }
}

fn server(processes: u32, threads: u32, accept: Accept) -> Server {
    Server { processes, threads, lock: None, accept, front: None, memory_per_process: Bytes::new(0) }
}

fn service(endpoints: Vec<Endpoint>, server: Server, instances: u32) -> Service {
    Service {
        name: "service".into(),
        endpoints,
        server,
        hosts: vec![Host {
            name: "host".into(),
            cores: 1,
            speed: 1.0,
            quota: None,
            memory: None,
            background: 0.0,
            credits: None,
            steal: None,
        }],
        balancing: Balancing {
            algorithm: Algorithm::RoundRobin,
            nodes: 1,
            connections: Connections::PerCall {
                caller_cpu: Duration::ZERO,
                server_cpu: Duration::ZERO,
                delay: Duration::ZERO,
            },
            timeout: None,
            retries: None,
            instance_limit: None,
            slow_start: None,
            network: Duration::ZERO,
        },
        start: Start {
            provision: Duration::ZERO,
            boot: Duration::ZERO,
            boot_cpu: 1.0,
            warm_up: Duration::ZERO,
            warm_up_factor: 1.0,
            drain: Duration::ZERO,
            launches_per_second: None,
            launch_burst: 1,
        },
        instances: InstanceCount::new(instances),
        prices: Vec::new(),
        deployments: Vec::new(),
        failures: Vec::new(),
        scaling: Scaling::default(),
    }
}

fn system(rate: f64, service: Service) -> System {
    System {
        services: vec![service],
        pools: Vec::new(),
        traffic: Traffic::Open {
            rates: Arc::from([rate]),
            bin: Duration::from_secs(60),
            arrivals: Arrivals::Poisson,
            noise: None,
        },
        quotas: Quotas::default(),
        warm_up: Duration::ZERO,
        measured: Duration::ZERO,
        seed: 1,
    }
}
