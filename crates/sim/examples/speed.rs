//! How many requests a second of one core the simulator carries, through the engine that runs the cases, each row run
//! once:
//!
//! ```text
//! cargo run --release -p sim --example speed [part of a row's name]
//! ```

use control::alarm::{AlarmSettings, Comparison};
use control::metric::{MetricId, Statistic};
use control::scaling::{AlarmId, Platform, Policy as Rule, ScalerSettings, StepScaling};
use rustix::time::{ClockId, clock_gettime};
use sim::settings::*;
use std::sync::Arc;
use std::time::Duration;
use units::InstanceCount;

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
        ("500 instances", many(500), 600.0),
        ("1,000 instances", many(1000), 300.0),
        ("2,000 instances", many(2000), 300.0),
        ("5,000 instances", many(5000), 60.0),
        ("5,000 instances, five minutes", many(5000), 300.0),
        ("10,000 instances", many(10_000), 60.0),
    ];
    let wanted = std::env::args().nth(1).unwrap_or_default();
    for (name, system, seconds) in rows.into_iter().filter(|(name, ..)| name.contains(&wanted)) {
        let Run { rate, requests, mean, p95, queueing, busy } = run(&system, seconds);
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

struct Run {
    rate: f64,
    requests: u64,
    mean: f64,
    p95: f64,
    queueing: f64,
    busy: f64,
}

/// As cases are run: the plant within the cloud, with its metrics and alarms.
fn run(system: &System, seconds: f64) -> Run {
    let minutes = (seconds / 60.0).ceil() as u64;
    let system = System { measured: Duration::from_secs(60 * minutes), ..system.clone() };
    let began = cpu_seconds();
    let outcome = sim::run(&system, sim::Fidelity::Request);
    let took = cpu_seconds() - began;
    // Requests to the first service, not counting calls to others.
    let totals = &outcome.services[0].totals;
    let times = totals.balancer.unwrap_or_default();
    Run {
        rate: totals.answered as f64 / took,
        requests: totals.answered,
        mean: times.mean,
        p95: times.p95,
        queueing: totals.queued.unwrap_or(0.0),
        busy: totals.busy.unwrap_or(0.0),
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
    service.scaling.policy = alarms();
    system(1120.0, service)
}

/// Two alarms on processor use, visible a minute late, that never fire at 70 %.
fn alarms() -> Policy {
    let alarm = |comparison, threshold| {
        AlarmSettings::new(MetricId(0), Statistic::Average, Duration::from_secs(60), comparison, threshold)
    };
    let mut scaler = ScalerSettings::new(Platform::EC2, 16, 32);
    scaler.alarms = vec![alarm(Comparison::GreaterThan, 90.0), alarm(Comparison::LessThan, 30.0)];
    let steps = |alarm, change| Rule::Step(StepScaling::of(vec![AlarmId(alarm)], change));
    scaler.policies = vec![steps(0, 2), steps(1, -1)];
    Policy::Aws(Box::new(AwsScaling {
        scaler,
        metrics: vec![Published::each_minute(Metric::CpuUtilization)],
        publication_delay: Duration::from_secs(60),
        names: ScalingNames::default(),
    }))
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

/// A front service that calls two others for each request; 660 instances.
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

/// 70 % busy; least outstanding requests.
fn many(instances: u32) -> System {
    let cpu = Distribution::Exponential { mean: Duration::from_millis(50) };
    let wait = Distribution::Exponential { mean: Duration::from_millis(150) };
    let server = server(1, 1000, Accept::Shared { bound: 1000 });
    let mut service = service(vec![endpoint(1.0, vec![work(cpu, wait, 1)])], server, instances);
    service.balancing.algorithm = Algorithm::LeastOutstanding;
    system(14.0 * f64::from(instances), service)
}

fn work(cpu: Distribution, wait: Distribution, bursts: u32) -> Step {
    Step::Work { cpu, wait, bursts, incidents: None }
}

fn endpoint(share: f64, steps: Vec<Step>) -> Endpoint {
    Endpoint { share, ..Endpoint::new("endpoint", steps) }
}

fn server(processes: u32, threads: u32, accept: Accept) -> Server {
    Server { accept, ..Server::new(processes, threads) }
}

fn service(endpoints: Vec<Endpoint>, server: Server, instances: u32) -> Service {
    Service {
        instances: InstanceCount::new(instances),
        ..Service::new("service", server, Host::new("host", 1), endpoints)
    }
}

fn system(rate: f64, service: Service) -> System {
    let traffic = Traffic::Open {
        rates: Arc::from([rate]),
        bin: Duration::from_secs(60),
        arrivals: Arrivals::Poisson,
        noise: None,
    };
    System::new(traffic, vec![service])
}
