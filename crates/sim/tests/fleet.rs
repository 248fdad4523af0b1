//! Cloud, plant and policies together: a small fleet, request by request.

use control::alarm::{AlarmSettings, Comparison};
use control::metric::{MetricId, Statistic};
use control::scaling::hpa::{HpaSettings, Metric as HpaMetric};
use control::scaling::{AlarmId, Platform, Policy as Rule, ScalerSettings, StepScaling};
use sim::outcome::{Outcome, Row};
use sim::settings::*;
use sim::{Fidelity, run, run_many};
use std::time::Duration;
use units::{InstanceCount, Quantile};

/// 10 ms of processor time and 20 ms of wait on one core; an hour that rises from 40 to 400 requests a second and
/// falls again.
fn system(policy: Policy) -> System {
    let rates: Vec<f64> = (0..60)
        .map(|minute| 40.0 + 360.0 * (1.0 - (f64::from(minute) - 30.0).abs() / 20.0).clamp(0.0, 1.0))
        .collect();
    let time = |millis| Distribution::LogNormal { mean: Duration::from_millis(millis), cv: 0.5 };
    let work = Step::Work { cpu: time(10), wait: time(20), bursts: 2, incidents: None };
    let server = Server { accept: Accept::Shared { bound: 500 }, ..Server::new(2, 8) };
    let host = Host { background: 0.02, ..Host::new("small", 1) };
    let service = Service {
        balancing: Balancing {
            algorithm: Algorithm::LeastOutstanding,
            nodes: 2,
            connections: Connections::Kept { reuse: Reuse::Random, idle_timeout: Duration::from_secs(20) },
            ..Balancing::default()
        },
        start: Start {
            provision: Duration::from_secs(30),
            boot: Duration::from_secs(20),
            boot_cpu: 0.5,
            drain: Duration::from_secs(60),
            launches_per_second: Some(1.0),
            launch_burst: 10,
            ..Start::default()
        },
        instances: InstanceCount::new(2),
        prices: vec![Price { per_hour: 0.05, minimum: Duration::from_secs(60) }],
        scaling: Scaling {
            policy,
            goal: Some(Goal { quantile: Quantile::P95, below: Duration::from_millis(200) }),
            ..Scaling::default()
        },
        ..Service::new("web", server, host, vec![Endpoint::new("page", vec![work])])
    };
    let traffic = Traffic::Open {
        rates: rates.into(),
        bin: Duration::from_secs(60),
        arrivals: Arrivals::Poisson,
        noise: Some(Noise { sigma: 0.05, phi: 0.9 }),
    };
    System {
        warm_up: Duration::from_secs(120),
        measured: Duration::from_secs(58 * 60),
        seed: 7,
        ..System::new(traffic, vec![service])
    }
}

/// Two more above 60 %, one fewer below 30 %.
fn steps() -> Policy {
    let cpu = |comparison, threshold, periods| AlarmSettings {
        evaluation_periods: periods,
        datapoints_to_alarm: periods,
        ..AlarmSettings::new(MetricId(0), Statistic::Average, Duration::from_secs(60), comparison, threshold)
    };
    let mut scaler = ScalerSettings::new(Platform::Ecs, 2, 12);
    scaler.alarms = vec![cpu(Comparison::GreaterThan, 60.0, 1), cpu(Comparison::LessThan, 30.0, 3)];
    let cooled = |alarm, change| {
        Rule::Step(StepScaling {
            cooldown: Some(Duration::from_secs(90)),
            ..StepScaling::of(vec![AlarmId(alarm)], change)
        })
    };
    scaler.policies = vec![cooled(0, 2), cooled(1, -1)];
    Policy::Aws(Box::new(AwsScaling {
        scaler,
        metrics: vec![Published::each_minute(Metric::CpuUtilization)],
        publication_delay: Duration::from_secs(60),
        names: ScalingNames::default(),
    }))
}

fn hpa() -> Policy {
    let count = InstanceCount::new;
    let hpa = HpaSettings::new(count(2), count(12), vec![HpaMetric::cpu_utilization(60)]);
    Policy::Hpa(Box::new(HpaScaling {
        hpa,
        metrics: vec![Query::last(PodMetric::Cpu)],
        request: None,
        scheduled: Vec::new(),
    }))
}

fn conserves(outcome: &Outcome) {
    for service in &outcome.services {
        let totals = &service.totals;
        let ended = totals.answered + totals.errors + totals.refused + totals.timed_out + totals.failed;
        // Requests in flight at the beginning are included, and those at the end are not.
        let in_hand = 2000;
        assert!(totals.arrived.abs_diff(ended) < in_hand, "{} came, {ended} ended", totals.arrived);
        for row in &service.rows {
            assert!(row.cpu_average <= row.cpu_maximum);
            assert!(row.cpu_maximum.unwrap_or(0.0) < 1.02, "{row:?}");
            let answer = row.balancer.expect("there is traffic all the time");
            assert!(answer.p50 <= answer.p75 && answer.p75 <= answer.p95 && answer.p95 <= answer.p99);
            // For the minute's own requests: the rest are those from the minute before, and those that remain for the
            // next.
            let little = stays(row) / 60.0;
            assert!((row.in_system - little).abs() < 0.05 * little.max(1.0), "{} {little}", row.in_system);
        }
        // Nearly exact over the whole time; the plant itself checks that it is exact.
        let (inside, stayed): (f64, f64) =
            service.rows.iter().fold((0.0, 0.0), |(a, b), row| (a + 60.0 * row.in_system, b + stays(row)));
        assert!((inside - stayed).abs() < 0.005 * stayed, "{inside} {stayed}");
    }
}

/// The total time that requests which ended in a minute were there, in seconds, without refused ones.
fn stays(row: &Row) -> f64 {
    let mean = row.balancer.map_or(0.0, |times| times.mean);
    (row.answered + row.errors + row.timed_out) as f64 * mean
}

#[test]
fn a_fleet_follows_its_load() {
    for policy in [steps(), hpa()] {
        let outcome = run(&system(policy), Fidelity::Request);
        conserves(&outcome);
        let service = &outcome.services[0];
        assert!(service.totals.highest >= 6, "{:?}", service.totals);
        assert!(service.totals.lowest == 2 && service.totals.actions >= 4, "{:?}", service.totals);
        assert!(service.totals.answered > 500_000, "{:?}", service.totals);
        assert!(service.totals.scores.is_some());
        // Work for up to four cores at 10 ms, compared with two that suffice at night.
        let cpu = service.totals.busy.expect("there are instances");
        assert!((0.25..0.75).contains(&cpu), "{cpu}");
    }
}

#[test]
fn too_few_for_the_load_are_outside_the_goal() {
    let mut fixed = system(Policy::None);
    fixed.services[0].instances = InstanceCount::new(3);
    let outcome = run(&fixed, Fidelity::Request);
    let totals = &outcome.services[0].totals;
    assert!((8..40).contains(&totals.minutes_outside), "{totals:?}");
    assert!(totals.refused > 1000, "{totals:?}");
    assert_eq!(totals.actions, 0);
}

#[test]
fn instances_that_fail_and_a_deployment_lose_only_what_they_had() {
    let mut fixed = system(Policy::None);
    fixed.services[0].instances = InstanceCount::new(8);
    fixed.services[0].failures =
        vec![Failure { at: Duration::from_secs(600), instances: 2, noticed_after: Duration::from_secs(20) }];
    fixed.services[0].deployments =
        vec![Deployment { at: Duration::from_secs(1500), least_healthy: 1.0, most: 1.5 }];
    let outcome = run(&fixed, Fidelity::Request);
    conserves(&outcome);
    let service = &outcome.services[0];
    // 20 s at two of eight instances, at some 100 requests a second.
    assert!((1..3000).contains(&service.totals.failed), "{:?}", service.totals);
    let after: u64 = service.rows.iter().skip(12).map(|row| row.failed).sum();
    assert_eq!(after, 0, "a deployment drains");
    assert!(service.happenings.notes().iter().any(|note| note.what.to_string().contains("ended")));
    assert_eq!(service.rows.last().expect("rows").counts.serving, 8);
}

#[test]
fn the_same_seed_gives_the_same_whatever_the_number_of_threads() {
    let mut other = system(steps());
    other.seed = 8;
    let mut short = [system(steps()), system(hpa()), other];
    short.iter_mut().for_each(|system| system.measured = Duration::from_secs(20 * 60));
    let one = run_many(&short, Fidelity::Request, 1);
    assert_eq!(one, run_many(&short, Fidelity::Request, 3));
    assert_ne!(one[0], one[2]);
}
