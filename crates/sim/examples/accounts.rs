//! The seven stages of the accounts case, built in code: what the cloud and the plant make of them together.
//!
//! ```text
//! cargo run --release -p sim --example accounts [STAGE...]
//! ```

use control::alarm::{AlarmSettings, Comparison};
use control::metric::{MetricId, Statistic};
use control::scaling::{AlarmId, Platform, Policy as Rule, ScalerSettings, StepScaling};
use sim::outcome::{Outcome, Row};
use sim::settings::*;
use sim::{Fidelity, lint, run_parallel};
use std::time::{Duration, Instant};
use units::{Bytes, InstanceCount, Quantile};

/// What a stage changes, with what it keeps of the one before.
#[derive(Debug, Clone, Copy)]
struct Stage {
    name: &'static str,
    min: u32,
    /// Statistic, slow-up above, fast-up above, datapoints.
    latency: (f64, f64, f64, u32),
    /// Statistic of slow-up and its threshold.
    cpu_up: (Statistic, f64),
    /// Threshold of slow-down, and its period in minutes.
    cpu_down: (f64, u64),
    algorithm: Algorithm,
    server: (u32, u32),
}

fn stages() -> Vec<Stage> {
    let baseline = Stage {
        name: "baseline",
        min: 15,
        latency: (0.99, 1.0, 3.0, 1),
        cpu_up: (Statistic::Maximum, 60.0),
        cpu_down: (15.0, 5),
        algorithm: Algorithm::RoundRobin,
        server: (6, 1),
    };
    let throttle_1 =
        Stage { name: "throttle-1", latency: (0.99, 1.0, 3.0, 3), cpu_down: (20.0, 2), ..baseline };
    let throttle_2 =
        Stage { name: "throttle-2", latency: (0.95, 0.7, 2.0, 3), cpu_down: (25.0, 2), min: 8, ..throttle_1 };
    let throttle_3 = Stage {
        name: "throttle-3",
        algorithm: Algorithm::LeastOutstanding,
        cpu_up: (Statistic::Average, 40.0),
        min: 10,
        ..throttle_2
    };
    let threads = Stage { name: "threads", server: (1, 16), ..throttle_3 };
    let utilise_1 = Stage {
        name: "utilise-1",
        cpu_up: (Statistic::Average, 55.0),
        cpu_down: (40.0, 2),
        min: 2,
        ..threads
    };
    let last = Stage { name: "final", cpu_up: (Statistic::Average, 50.0), cpu_down: (35.0, 2), ..utilise_1 };
    vec![baseline, throttle_1, throttle_2, throttle_3, threads, utilise_1, last]
}

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let stages: Vec<Stage> = stages()
        .into_iter()
        .filter(|stage| wanted.is_empty() || wanted.iter().any(|name| name == stage.name))
        .collect();
    println!(
        "{:11} {:>14} {:>7} {:>6} {:>6}  {:>18} {:>6} {:>8} {:>8} {:>6}",
        "stage",
        "instances",
        "at 32",
        "night",
        "CPU %",
        "p75/p95/p99 ms",
        "app95",
        "cost $",
        "actions",
        "time s"
    );
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let done = run_parallel(&stages, threads, |stage| {
        let began = Instant::now();
        (sim::run(&system(stage), Fidelity::Request), began.elapsed().as_secs_f64())
    });
    for (stage, (outcome, seconds)) in stages.iter().zip(&done) {
        print(stage, outcome, *seconds);
    }
    for stage in &stages {
        for finding in lint(&system(stage)) {
            println!("{}: {finding}", stage.name);
        }
    }
}

fn print(stage: &Stage, outcome: &Outcome, seconds: f64) {
    let service = &outcome.services[0];
    let totals = &service.totals;
    let rows = &service.rows;
    let at_most = rows.iter().filter(|row| row.counts.running >= 32).count() as f64 / rows.len() as f64;
    let night: Vec<&Row> = rows[150..300].iter().collect();
    let mut counts: Vec<u32> = night.iter().map(|row| row.counts.running).collect();
    counts.sort_unstable();
    let balancer = totals.balancer_by_minute.unwrap_or_default();
    let application = totals.application_by_minute.unwrap_or_default();
    println!(
        "{:11} {:>14} {:>6.0}% {:>6} {:>6.1}  {:>18} {:>6.0} {:>8.2} {:>8} {:>6.1}",
        stage.name,
        format!("{}/{:.1}/{}", totals.lowest, totals.mean, totals.highest),
        100.0 * at_most,
        counts[counts.len() / 2],
        100.0 * totals.cpu_average.unwrap_or(0.0),
        format!("{:.0}/{:.0}/{:.0}", balancer.p75 * 1e3, balancer.p95 * 1e3, balancer.p99 * 1e3),
        application.p95 * 1e3,
        totals.cost,
        format!("{}/{}", totals.actions, totals.flaps),
        seconds,
    );
}

fn system(stage: &Stage) -> System {
    // From 20:00 on the day before.
    let rates: Vec<f64> =
        (0..28 * 60).map(|minute| 320.0 * shape((20.0 + f64::from(minute) / 60.0) % 24.0)).collect();
    System {
        services: vec![service(stage)],
        pools: Vec::new(),
        traffic: Traffic::Open {
            rates: rates.into(),
            bin: Duration::from_secs(60),
            arrivals: Arrivals::Poisson,
            noise: Some(Noise { sigma: 0.06, phi: 0.9 }),
        },
        quotas: Quotas::default(),
        warm_up: Duration::from_secs(4 * 3600),
        measured: Duration::from_secs(24 * 3600),
        seed: 1,
    }
}

/// Of the peak, by the hour of the day.
fn shape(hour: f64) -> f64 {
    let rise = |from: f64, to: f64| {
        let x = ((hour - from) / (to - from)).clamp(0.0, 1.0);
        x * x * (3.0 - 2.0 * x)
    };
    let by_day = 0.34 + 0.51 * rise(5.0, 10.0) + 0.15 * rise(15.0, 20.0);
    // From 20:30 to 02:30.
    let since = (hour - 20.5).rem_euclid(24.0) / 6.0;
    if !(2.5..20.5).contains(&hour) {
        let x = since.clamp(0.0, 1.0);
        1.0 - 0.66 * x * x * (3.0 - 2.0 * x)
    } else {
        by_day
    }
}

fn service(stage: &Stage) -> Service {
    let (processes, threads) = stage.server;
    Service {
        name: "accounts".into(),
        endpoints: endpoints(),
        server: Server {
            processes,
            threads,
            lock: Some(Duration::from_millis(100)),
            accept: Accept::Kept { bound: 1024, linger: Duration::from_millis(200), inline: 10 },
            front: None,
            memory_per_process: Bytes::new(0),
        },
        hosts: vec![Host {
            name: "fargate 1 vCPU 2 GB".into(),
            cores: 1,
            speed: 1.0,
            quota: None,
            memory: None,
            background: 0.04,
            credits: None,
            steal: None,
        }],
        balancing: Balancing {
            algorithm: stage.algorithm,
            nodes: 6,
            connections: Connections::Kept { reuse: Reuse::Random, idle_timeout: Duration::from_secs(20) },
            timeout: None,
            retries: None,
            instance_limit: None,
            slow_start: None,
            network: Duration::ZERO,
        },
        start: Start {
            provision: Duration::from_secs(45),
            boot: Duration::from_secs(40),
            boot_cpu: 1.0,
            warm_up: Duration::ZERO,
            warm_up_factor: 1.0,
            drain: Duration::from_secs(120),
            launches_per_second: None,
            launch_burst: 1,
        },
        instances: InstanceCount::new(stage.min.max(12)),
        prices: vec![Price { per_hour: 0.04937, minimum: Duration::from_secs(60) }],
        deployments: Vec::new(),
        failures: Vec::new(),
        scaling: Scaling {
            policy: policy(stage),
            goal: Some(Goal { quantile: Quantile::P95, below: Duration::from_secs(1) }),
            ..Scaling::default()
        },
    }
}

fn policy(stage: &Stage) -> Policy {
    let (cpu, time) = (MetricId(0), MetricId(1));
    let alarm = |metric, statistic, comparison, threshold, minutes: u64, periods| AlarmSettings {
        evaluation_periods: periods,
        datapoints_to_alarm: periods,
        ..AlarmSettings::new(metric, statistic, Duration::from_secs(60 * minutes), comparison, threshold)
    };
    let (quantile, slow, fast, datapoints) = stage.latency;
    let statistic = Statistic::Percentile(Quantile::new(quantile).expect("a quantile"));
    let mut scaler = ScalerSettings::new(Platform::Ecs, stage.min, 32);
    scaler.alarms = vec![
        alarm(cpu, stage.cpu_up.0, Comparison::GreaterThan, stage.cpu_up.1, 5, 2),
        alarm(time, statistic, Comparison::GreaterThan, slow, 1, datapoints),
        alarm(time, statistic, Comparison::GreaterThan, fast, 1, datapoints),
        alarm(cpu, Statistic::Average, Comparison::LessThan, stage.cpu_down.0, stage.cpu_down.1, 2),
    ];
    scaler.policies = vec![
        Rule::Step(StepScaling::of(vec![AlarmId(0), AlarmId(1)], 1)),
        Rule::Step(StepScaling::of(vec![AlarmId(2)], 3)),
        Rule::Step(StepScaling::of(vec![AlarmId(3)], -1)),
    ];
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    Policy::Aws(Box::new(AwsScaling {
        scaler,
        metrics: vec![
            Published::each_minute(Metric::CpuUtilization),
            Published::each_minute(Metric::ResponseTime),
        ],
        publication_delay: Duration::from_secs(60),
        names: ScalingNames {
            alarms: names(&["slow-up-cpu", "slow-up-latency", "fast-up-latency", "slow-down-cpu"]),
            policies: names(&["slow-up", "fast-up", "slow-down"]),
            scheduled: Vec::new(),
        },
    }))
}

/// Share, processor time and its variation, wait and the bursts that both are in.
fn endpoints() -> Vec<Endpoint> {
    let incidents = Incidents { per_hour: 1.0, duration: Duration::from_secs(240), factor: 3.0 };
    [
        ("session", 0.60, 3.5, 0.6, 36.0, 3, None),
        ("account", 0.34, 14.0, 0.6, 70.0, 8, None),
        ("login", 0.055, 120.0, 0.3, 30.0, 2, None),
        ("third party", 0.005, 30.0, 0.6, 900.0, 3, Some(incidents)),
    ]
    .map(|(name, share, cpu, cpu_cv, wait, bursts, incidents)| {
        let time =
            |millis: f64, cv| Distribution::LogNormal { mean: Duration::from_secs_f64(millis / 1e3), cv };
        let work = Step::Work { cpu: time(cpu, cpu_cv), wait: time(wait, 1.0), bursts, incidents };
        Endpoint { name: name.into(), share, steps: vec![work], errors: 0.0 }
    })
    .into()
}
