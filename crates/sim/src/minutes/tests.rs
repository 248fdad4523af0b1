use super::*;
use crate::cloud::testing::{aws, service, system};
use crate::outcome::{Outcome, Row, Totals};
use crate::run::run_on;
use crate::settings::{Arrivals, Distribution, Metric, Noise, Step, System, Traffic};
use crate::{Fidelity, Requests, run};
use control::metric::MetricId;
use control::rate::{Limit, RateSettings};
use control::scaling::{Platform, Policy as Rule, Preset, ScalerSettings, TargetTracking};
use std::time::Duration;

/// A service with its pages between 20 and 80 ms under a day's wave, and a policy that follows it.
fn wave(minutes: u32, policy: bool) -> System {
    let mut service = service(4);
    service.endpoints[0].steps = vec![Step::Work {
        cpu: Distribution::LogNormal { mean: Duration::from_millis(10), cv: 1.0 },
        wait: Distribution::Exponential { mean: Duration::from_millis(30) },
        bursts: 3,
        incidents: None,
    }];
    if policy {
        let mut scaler = ScalerSettings::new(Platform::Ecs, 2, 20);
        scaler.policies.push(Rule::TargetTracking(TargetTracking::new(MetricId(0), 50.0, Preset::ECS)));
        service.scaling.policy = aws(scaler, &[Metric::CpuUtilization]);
    }
    let rate = |minute: u32| 150.0 * (1.3 - (f64::from(minute) * std::f64::consts::TAU / 480.0).cos());
    let mut system = system(service, &(0..minutes).map(rate).collect::<Vec<_>>());
    if let Traffic::Open { arrivals, noise, .. } = &mut system.traffic {
        *arrivals = Arrivals::Poisson;
        *noise = Some(Noise { sigma: 0.05, phi: 0.8 });
    }
    system
}

fn totals(outcome: &Outcome) -> &Totals {
    &outcome.services[0].totals
}

#[test]
fn minutes_come_close_to_requests() {
    let system = wave(480, true);
    let (truth, fast) = (run(&system, Fidelity::Request), run(&system, Fidelity::Minute));
    let (truth, fast) = (totals(&truth), totals(&fast));
    let close = |what: &str, found: f64, expected: f64, share: f64| {
        assert!((found / expected - 1.0).abs() < share, "{what}: {found} for {expected}");
    };
    close("requests", fast.arrived as f64, truth.arrived as f64, 0.005);
    close("instances", fast.mean, truth.mean, 0.05);
    close("cost", fast.cost, truth.cost, 0.05);
    close("processors", fast.cpu_average.unwrap(), truth.cpu_average.unwrap(), 0.05);
    close("p95", fast.balancer_by_minute.unwrap().p95, truth.balancer_by_minute.unwrap().p95, 0.10);
}

#[test]
fn what_is_recorded_does_not_depend_on_the_number_of_threads() {
    let system = wave(10, false);
    let ladder = Ladder { rungs: 3, minutes: 3, warm_up: 1, ..Ladder::default() };
    let one = Curves::record(&system, ladder, 1, Requests::new);
    assert_eq!(one, Curves::record(&system, ladder, 3, Requests::new));
}

#[test]
fn bursts_that_outrun_the_policy_come_close_to_requests() {
    // Twice the capacity of the fleet, for one minute and for three, at sizes that the policy has changed.
    let mut system = wave(240, true);
    if let Traffic::Open { rates, noise, .. } = &mut system.traffic {
        let burst = |minute: usize| minute % 40 == 20 || (100..103).contains(&minute);
        *rates = (0..240).map(|minute| if burst(minute) { 1000.0 } else { 200.0 }).collect();
        *noise = None;
    }
    let (truth, fast) = (run(&system, Fidelity::Request), run(&system, Fidelity::Minute));
    let (rows, fast_rows) = (&truth.services[0].rows, &fast.services[0].rows);
    let p95 = |row: &Row| row.balancer.map_or(0.0, |times| times.p95);
    // The slow minutes are equally slow and equally many, and the minutes after them are not slow.
    let slow = |rows: &[Row]| rows.iter().filter(|row| p95(row) > 0.5).count();
    assert!(
        slow(rows) >= 5 && slow(rows).abs_diff(slow(fast_rows)) <= 3,
        "{} {}",
        slow(rows),
        slow(fast_rows)
    );
    let (truth, fast) = (totals(&truth), totals(&fast));
    let by_minute = |totals: &Totals| totals.balancer_by_minute.unwrap();
    for (what, found, expected, share) in [
        ("instances", fast.mean, truth.mean, 0.05),
        ("p95", by_minute(fast).p95, by_minute(truth).p95, 0.15),
        ("p99", by_minute(fast).p99, by_minute(truth).p99, 0.15),
    ] {
        assert!((found / expected - 1.0).abs() < share, "{what}: {found} for {expected}");
    }
    assert!(fast.flaps.abs_diff(truth.flaps) <= 2, "{} for {}", fast.flaps, truth.flaps);
}

#[test]
fn more_than_can_be_carried_waits_and_is_refused_in_the_end() {
    let mut system = wave(60, false);
    let curves = Curves::record(
        &system,
        Ladder { rungs: 4, minutes: 5, warm_up: 1, ..Ladder::default() },
        2,
        Requests::new,
    );
    // Four processors carry 400 a second.
    let Traffic::Open { rates, .. } = &mut system.traffic else { unreachable!("the traffic is open") };
    *rates = (0..60).map(|minute| if (10..40).contains(&minute) { 700.0 } else { 100.0 }).collect();
    let outcome = run_on(&system, Minutes::new(&system, &curves), &mut |_| {});
    let rows = &outcome.services[0].rows;
    assert_eq!(rows[5].refused, 0);
    assert!(rows[30].refused > 10_000, "{:?}", rows[30]);
    assert!(rows[30].balancer.unwrap().p50 > 3.0, "{:?}", rows[30].balancer);
    assert!(rows[50].balancer.unwrap().p50 < 0.1, "{:?}", rows[50].balancer);
    assert_eq!(rows.iter().map(|row| row.arrived).sum::<u64>(), totals(&outcome).arrived);
    // Queued requests got their responses later, and none is left at the end.
    let ended = |row: &Row| row.answered + row.errors + row.refused + row.timed_out + row.failed;
    assert!(ended(&rows[10]) < rows[10].arrived && ended(&rows[40]) > rows[40].arrived);
    assert!(rows.iter().map(ended).sum::<u64>().abs_diff(totals(&outcome).arrived) < 20);
}

#[test]
fn nobody_waits_longer_than_the_time_out() {
    let mut system = wave(30, false);
    system.services[0].balancing.timeout = Some(Duration::from_secs(2));
    let curves = Curves::record(
        &system,
        Ladder { rungs: 4, minutes: 5, warm_up: 1, ..Ladder::default() },
        2,
        Requests::new,
    );
    let Traffic::Open { rates, .. } = &mut system.traffic else { unreachable!("the traffic is open") };
    *rates = [700.0].into();
    let outcome = run_on(&system, Minutes::new(&system, &curves), &mut |_| {});
    let times = outcome.services[0].rows[20].balancer.unwrap();
    assert!((1.0..2.02).contains(&times.p50) && times.p99 < 2.02, "{times:?}");
}

#[test]
fn limits_before_the_balancer_keep_what_is_let_in_good() {
    let mut system = wave(20, false);
    let rate = Limit { rate: units::Rate::per_second_of(200.0), burst: 20 };
    let second = Duration::from_secs(1);
    let limit = RateSettings { per_second: Some(rate), per_minute: None, backlog: 10, longest_wait: second };
    system.services[0].admission.always.rate = Some(limit.into());
    let curves = Curves::record(
        &system,
        Ladder { rungs: 8, minutes: 10, warm_up: 1, ..Ladder::default() },
        2,
        Requests::new,
    );
    // Below the limit, slightly above, and far above all recorded loads.
    for rate in [100.0, 230.0, 500.0, 3000.0] {
        let Traffic::Open { rates, noise, .. } = &mut system.traffic else { unreachable!("it is open") };
        (*rates, *noise) = ([rate].into(), None);
        let fast = run_on(&system, Minutes::new(&system, &curves), &mut |_| {});
        let truth = run(&system, Fidelity::Request);
        let (fast, truth) = (totals(&fast), totals(&truth));
        let answered = fast.answered as f64 / truth.answered as f64;
        assert!((answered - 1.0).abs() < 0.03, "{rate}/s: answered {answered}");
        assert_eq!(fast.arrived, fast.answered + fast.refused);
        let p95 = fast.balancer.unwrap().p95 / truth.balancer.unwrap().p95;
        assert!((p95 - 1.0).abs() < 0.1, "{rate}/s: p95 {p95}");
    }
}

#[test]
fn closed_users_wait_for_each_other() {
    let mut system = wave(20, false);
    let think = Distribution::Constant(Duration::from_secs(1));
    system.traffic = Traffic::Closed { users: 700, think: think.clone() };
    let curves = Curves::record(
        &system,
        Ladder { rungs: 8, minutes: 5, warm_up: 1, ..Ladder::default() },
        2,
        Requests::new,
    );
    // Below, on and above the recorded numbers.
    for users in [50, 300, 700, 3000] {
        system.traffic = Traffic::Closed { users, think: think.clone() };
        let fast = run_on(&system, Minutes::new(&system, &curves), &mut |_| {});
        let truth = run(&system, Fidelity::Request);
        let (fast, truth) = (totals(&fast), totals(&truth));
        let rate = fast.arrived as f64 / truth.arrived as f64;
        assert!((rate - 1.0).abs() < 0.03, "{users} users: {rate}");
        let p50 = fast.balancer.unwrap().p50 / truth.balancer.unwrap().p50;
        assert!((p50 - 1.0).abs() < 0.1, "{users} users: {p50}");
    }
}

#[test]
fn requests_that_always_fail_are_no_overload() {
    // One in twelve hangs at a third party until its client times out; one in twenty is an error.
    let mut system = wave(30, false);
    let service = &mut system.services[0];
    service.balancing.timeout = Some(Duration::from_secs(1));
    service.server.threads = 200;
    let mut hangs = service.endpoints[0].clone();
    hangs.share = 1.0 / 11.0;
    hangs.steps = vec![Step::Work {
        cpu: Distribution::ZERO,
        wait: Distribution::Constant(Duration::from_secs(5)),
        bursts: 1,
        incidents: None,
    }];
    service.endpoints[0].errors = 0.05;
    service.endpoints.push(hangs);
    let (truth, fast) = (run(&system, Fidelity::Request), run(&system, Fidelity::Minute));
    let (truth, fast) = (totals(&truth), totals(&fast));
    let close = |what: &str, found: u64, expected: u64| {
        assert!((found as f64 / expected as f64 - 1.0).abs() < 0.15, "{what}: {found} for {expected}");
    };
    close("answered", fast.answered, truth.answered);
    close("errors", fast.errors, truth.errors);
    close("timed out", fast.timed_out, truth.timed_out);
    let times = |totals: &Totals| totals.balancer.unwrap();
    assert!((times(fast).p50 / times(truth).p50 - 1.0).abs() < 0.1, "{:?} {:?}", times(fast), times(truth));
    assert!((times(fast).p95 / times(truth).p95 - 1.0).abs() < 0.1, "{:?} {:?}", times(fast), times(truth));
}

#[test]
fn a_burst_leaves_connections_that_make_later_minutes_slower() {
    // Six processes, each of which takes the requests of its own connections.
    let mut system = wave(150, false);
    let service = &mut system.services[0];
    service.server = crate::settings::Server {
        processes: 6,
        threads: 1,
        accept: crate::settings::Accept::Kept { bound: 1024, linger: Duration::ZERO, inline: 10 },
        ..service.server.clone()
    };
    service.balancing.connections = crate::settings::Connections::Kept {
        reuse: crate::settings::Reuse::Random,
        idle_timeout: Duration::from_secs(60),
    };
    let Traffic::Open { rates, noise, .. } = &mut system.traffic else { unreachable!("the traffic is open") };
    let burst = |minute: usize| (50..60).contains(&minute);
    *rates = (0..150).map(|minute| if burst(minute) { 420.0 } else { 220.0 }).collect();
    *noise = None;
    let (truth, fast) = (run(&system, Fidelity::Request), run(&system, Fidelity::Minute));
    let p95 = |outcome: &Outcome, minutes: std::ops::Range<usize>| {
        let rows = &outcome.services[0].rows[minutes.clone()];
        rows.iter().map(|row| row.balancer.unwrap().p95).sum::<f64>() / minutes.len() as f64
    };
    for minutes in [10..50, 70..110, 110..150] {
        let (fast, truth) = (p95(&fast, minutes.clone()), p95(&truth, minutes.clone()));
        assert!((fast / truth - 1.0).abs() < 0.1, "{minutes:?}: {fast} for {truth}");
    }
    assert!(p95(&truth, 70..110) > 1.2 * p95(&truth, 10..50), "the burst made no difference");
}
