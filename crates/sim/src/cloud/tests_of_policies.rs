//! Policies of `control` on a fluid plant: their observations and results.

use super::testing::*;
use crate::outcome::{Outcome, Row};
use crate::run::run_on;
use crate::settings::*;
use control::alarm::{AlarmSettings, Comparison};
use control::metric::{MetricId, Statistic};
use control::scaling::hpa;
use control::scaling::keda::{Cron, Fallback, FallbackBehavior, KedaSettings, LocalTime, Trigger};
use control::scaling::knative::KnativeSettings;
use control::scaling::predictive::Load;
use control::scaling::{
    AlarmId, Platform, Policy as Rule, PredictiveScaling, Preset, ScalerSettings, StepScaling, TargetTracking,
};
use proptest::prelude::*;
use std::time::Duration;
use units::{InstanceCount, Timestamp};

const CPU: MetricId = MetricId(0);

fn run(system: &System) -> Outcome {
    run_on(system, Fluid::new(system), &mut |_| {})
}

fn rows(outcome: &Outcome) -> &[Row] {
    &outcome.services[0].rows
}

fn alarm(statistic: Statistic, comparison: Comparison, threshold: f64, periods: u32) -> AlarmSettings {
    AlarmSettings {
        evaluation_periods: periods,
        datapoints_to_alarm: periods,
        ..AlarmSettings::new(CPU, statistic, Duration::from_secs(60), comparison, threshold)
    }
}

/// One more instance above `high`, one fewer below `low`, on average processor use.
fn steps(platform: Platform, min: u32, max: u32, high: f64, low: f64) -> ScalerSettings {
    let mut scaler = ScalerSettings::new(platform, min, max);
    scaler.alarms.push(alarm(Statistic::Average, Comparison::GreaterThan, high, 1));
    scaler.alarms.push(alarm(Statistic::Average, Comparison::LessThan, low, 2));
    scaler.policies.push(Rule::Step(StepScaling::of(vec![AlarmId(0)], 1)));
    scaler.policies.push(Rule::Step(StepScaling::of(vec![AlarmId(1)], -1)));
    scaler
}

#[test]
fn predictive_scaling_is_there_before_the_load_on_the_second_day() {
    // The service of the tests: 100 requests a second are 100 % of an instance.
    let mut service = service(2);
    let mut scaler = ScalerSettings::new(Platform::Ecs, 2, 20);
    scaler.policies.push(Rule::Predictive(PredictiveScaling::new(Load::Requests, 60.0 * 50.0)));
    service.scaling.policy = aws(scaler, &[]);
    let rates: Vec<f64> =
        (0..48 * 60).map(|minute| if (minute / 60) % 24 < 12 { 100.0 } else { 400.0 }).collect();
    let outcome = run(&system(service, &rates));
    let desired = |minute: usize| rows(&outcome)[minute].counts.desired;
    // On the first day there is no history.
    assert_eq!((desired(12 * 60 + 30), desired(23 * 60)), (2, 2));
    let noon = 36 * 60;
    assert_eq!((desired(noon - 10), desired(noon - 4)), (2, 8));
    let reason = &outcome.services[0].decisions.notes()[0].what.reason;
    assert!(reason.starts_with("triggered policy 0 (a forecast of 2"), "{reason}");
}

#[test]
fn an_alarm_acts_on_the_minute_before_the_last() {
    let mut service = service(2);
    service.scaling.policy = aws(steps(Platform::Ecs, 1, 10, 60.0, 10.0), &[Metric::CpuUtilization]);
    // Above 60 % from 180 s on: the minute ends at 240 s and is visible at 300 s.
    let outcome = run(&system(service, &[100.0, 100.0, 100.0, 150.0, 150.0, 150.0, 150.0, 150.0]));
    let decisions = outcome.services[0].decisions.notes();
    assert_eq!(decisions[0].at, Timestamp::from_secs(300));
    assert_eq!((decisions[0].what.from, decisions[0].what.to), (2, 3));
    assert_eq!(
        decisions[0].what.reason,
        "monitor alarm 0 in state ALARM triggered policy 0 (75 is +15 past 60: +1), changing the desired capacity \
         from 2 to 3"
    );
    assert_eq!(rows(&outcome)[4].counts.desired, 2);
    assert_eq!(rows(&outcome)[5].counts.desired, 3);
    assert!(outcome.assumptions.iter().any(|assumption| assumption.name == "publication delay"));
}

#[test]
fn what_is_being_provisioned_is_not_asked_for_again() {
    for provision in [60, 90] {
        let mut service = service(2);
        service.start.provision = Duration::from_secs(provision);
        service.scaling.policy = aws(steps(Platform::EC2, 1, 10, 60.0, 10.0), &[Metric::CpuUtilization]);
        // The alarm continues for five minutes, while the new instance starts and warms up.
        let outcome = run(&system(service, &[150.0; 8]));
        let scaled =
            outcome.services[0].decisions.notes().iter().filter(|note| note.what.to > note.what.from);
        assert_eq!(scaled.count(), 1, "{:#?}", outcome.services[0].decisions.notes());
    }
}

#[test]
fn requests_for_each_target_are_known_without_healthy_ones() {
    let mut service = service(2);
    let mut scaler = ScalerSettings::new(Platform::Ecs, 1, 10);
    scaler.policies.push(Rule::TargetTracking(TargetTracking {
        statistic: Statistic::Sum,
        ..TargetTracking::new(CPU, 2000.0, Preset::ECS)
    }));
    service.scaling.policy = aws(scaler, &[Metric::RequestCountPerTarget]);
    // All have failed, and continue to run: 3,000 a minute for each of two.
    service.failures =
        vec![Failure { at: Duration::ZERO, instances: 2, noticed_after: Duration::from_secs(3600) }];
    let outcome = run(&system(service, &[100.0; 10]));
    assert!(outcome.services[0].totals.highest >= 3, "{:#?}", outcome.services[0].decisions.notes());
}

#[test]
fn a_refusal_that_goes_on_is_told_once() {
    let mut service = service(2);
    service.scaling.policy = aws(steps(Platform::Ecs, 1, 2, 60.0, 10.0), &[Metric::CpuUtilization]);
    let outcome = run(&system(service, &[150.0; 60]));
    let reasons: Vec<&str> =
        outcome.services[0].decisions.notes().iter().map(|note| note.what.reason.as_str()).collect();
    assert_eq!(reasons.len(), 1, "{reasons:?}");
    assert!(reasons[0].ends_with("not scaled at 2: AlreadyAtMaxCapacity (maximum 2)"), "{reasons:?}");
    assert_eq!(outcome.services[0].totals.actions, 0);
}

#[test]
fn target_tracking_follows_the_load_both_ways() {
    let mut service = service(2);
    let mut scaler = ScalerSettings::new(Platform::Ecs, 2, 20);
    scaler.policies.push(Rule::TargetTracking(TargetTracking::new(CPU, 50.0, Preset::ECS)));
    service.scaling.policy = aws(scaler, &[Metric::CpuUtilization]);
    service.start.boot_cpu = 0.5;
    let rates: Vec<f64> =
        (0..240).map(|minute| if (60..120).contains(&minute) { 500.0 } else { 100.0 }).collect();
    let outcome = run(&system(service, &rates));
    // 5 processors of work at 50 %: ten, or one more by rounding up on a minute with boots.
    assert!((10..=12).contains(&rows(&outcome)[119].counts.running), "{:?}", rows(&outcome)[119].counts);
    assert_eq!(rows(&outcome)[239].counts.running, 2);
    let first = &outcome.services[0].decisions.notes()[0];
    assert!(first.what.reason.contains("TargetTracking-0-AlarmHigh"), "{}", first.what.reason);
}

#[test]
fn scale_in_waits_for_a_deployment_to_end() {
    let mut service = service(10);
    service.scaling.policy = aws(steps(Platform::Ecs, 1, 20, 90.0, 40.0), &[Metric::CpuUtilization]);
    service.start.boot_cpu = 0.0;
    service.start.boot = Duration::from_secs(1200);
    service.deployments = vec![Deployment { at: Duration::from_secs(30), least_healthy: 1.0, most: 1.5 }];
    let outcome = run(&system(service, &[100.0; 120]));
    let ended = outcome.services[0]
        .happenings
        .notes()
        .iter()
        .find(|note| note.what.to_string().contains("ended"))
        .expect("it ends")
        .at;
    let decisions = outcome.services[0].decisions.notes();
    assert!(decisions[0].what.reason.contains("TargetServicePutResourceAsUnscalable"), "{:?}", decisions[0]);
    assert!(decisions.iter().all(|note| note.what.to == note.what.from || note.at > ended));
    assert!(decisions.iter().any(|note| note.what.to < note.what.from));
}

#[test]
fn a_cpu_alarm_on_spent_credits_scales_the_wrong_way() {
    let mut service = service(4);
    let kind = crate::credits::burstable_type("t2.small").expect("in the table");
    service.hosts = vec![Host { credits: Some(kind.credits(false)), ..host() }];
    service.scaling.policy = aws(steps(Platform::Ecs, 2, 10, 80.0, 30.0), &[Metric::CpuUtilization]);
    // 45 % each while credits last; then all are limited to 20 %, appear idle, and are removed.
    let outcome = run(&system(service, &[180.0; 240]));
    let service = &outcome.services[0];
    assert_eq!(service.rows[20].counts.running, 4);
    assert_eq!(service.rows.last().expect("rows").counts.running, 2);
    assert!(service.rows.last().expect("rows").busy_average > Some(0.99));
    assert!(service.remarks[0].contains("2 times instances were taken away"), "{:?}", service.remarks);
}

#[test]
fn high_resolution_reacts_sooner() {
    let reaction = |preset: Preset, resolution: u64, delay: u64| {
        let mut service = service(2);
        let mut scaler = ScalerSettings::new(Platform::Ecs, 2, 20);
        scaler.policies.push(Rule::TargetTracking(TargetTracking::new(CPU, 50.0, preset)));
        service.scaling.policy = Policy::Aws(Box::new(AwsScaling {
            scaler,
            metrics: vec![Published {
                metric: Metric::CpuUtilization,
                resolution: Duration::from_secs(resolution),
            }],
            publication_delay: Duration::from_secs(delay),
            names: ScalingNames::default(),
        }));
        let rates: Vec<f64> = (0..40).map(|minute| if minute >= 10 { 180.0 } else { 80.0 }).collect();
        let outcome = run(&system(service, &rates));
        outcome.services[0].decisions.notes()[0].at.as_secs_f64() - 600.0
    };
    assert_eq!(reaction(Preset::ECS, 60, 60), 240.0);
    assert_eq!(reaction(Preset::ECS_HIGH_RESOLUTION, 20, 20), 80.0);
}

#[test]
fn a_local_fleet_reacts_within_seconds() {
    let mut service = service(2);
    let mut scaler = ScalerSettings::new(Platform::Local, 2, 20);
    let second = Duration::from_secs(1);
    scaler.alarms.push(AlarmSettings {
        period: second,
        ..alarm(Statistic::Average, Comparison::GreaterThan, 60.0, 3)
    });
    scaler.policies.push(Rule::Step(StepScaling::of(vec![AlarmId(0)], 1)));
    service.scaling.policy = Policy::Aws(Box::new(AwsScaling {
        scaler,
        metrics: vec![Published { metric: Metric::CpuUtilization, resolution: second }],
        publication_delay: Duration::ZERO,
        names: ScalingNames::default(),
    }));
    let rates: Vec<f64> = (0..10).map(|minute| if minute >= 5 { 180.0 } else { 80.0 }).collect();
    let outcome = run(&system(service, &rates));
    assert_eq!(outcome.services[0].remarks, Vec::<String>::new());
    let first = &outcome.services[0].decisions.notes()[0];
    assert_eq!((first.at, first.what.from, first.what.to), (Timestamp::from_secs(303), 2, 3));
    assert!(outcome.assumptions.iter().all(|assumption| assumption.name != "publication delay"));
}

#[test]
fn basic_monitoring_sees_five_minutes_at_once() {
    let mut service = service(2);
    let mut scaler = ScalerSettings::new(Platform::EC2, 2, 20);
    scaler.alarms.push(AlarmSettings {
        period: Duration::from_secs(300),
        ..alarm(Statistic::Maximum, Comparison::GreaterThan, 60.0, 1)
    });
    scaler.policies.push(Rule::Step(StepScaling::of(vec![AlarmId(0)], 1)));
    service.scaling.policy = Policy::Aws(Box::new(AwsScaling {
        scaler,
        metrics: vec![Published { metric: Metric::CpuUtilization, resolution: Duration::from_secs(300) }],
        publication_delay: Duration::from_secs(60),
        names: ScalingNames::default(),
    }));
    // 90 % in one minute of five is 58 % of the five; in two minutes it is 66 %, but for the rounding.
    let rates: Vec<f64> =
        (0..20).map(|minute| if [7, 12, 13].contains(&minute) { 180.0 } else { 100.0 }).collect();
    let outcome = run(&system(service, &rates));
    let first = &outcome.services[0].decisions.notes()[0];
    assert_eq!(first.at, Timestamp::from_secs(16 * 60));
    assert!(first.what.reason.contains("(65.99"), "{first:?}");
}

#[test]
fn a_group_leaves_out_those_that_warm_up() {
    let counted = |platform| {
        let mut service = service(2);
        let mut scaler = ScalerSettings::new(platform, 2, 20);
        scaler.alarms.push(alarm(Statistic::SampleCount, Comparison::GreaterThan, 2.5, 1));
        scaler.policies.push(Rule::Step(StepScaling::of(vec![AlarmId(0)], 1)));
        // A third instance is added manually; it runs from 195 s on.
        scaler.scheduled.push(control::scaling::Scheduled {
            at: Timestamp::from_secs(150),
            min: Some(3),
            max: None,
            desired: None,
        });
        service.scaling.policy = aws(scaler, &[Metric::CpuUtilization]);
        service.instances = InstanceCount::new(2);
        let outcome = run(&system(service, &[50.0; 20]));
        let decisions = outcome.services[0].decisions.notes();
        decisions
            .iter()
            .find(|note| note.what.reason.contains("alarm 0"))
            .map(|note| note.at.as_secs_f64() / 60.0)
    };
    // Warm for 300 s from 225 s on: counted in the minute that ends at 540 s, visible at 600 s.
    assert_eq!(counted(Platform::EC2), Some(10.0));
}

#[test]
fn settings_that_cannot_be_are_named_and_decide_nothing() {
    let mut service = service(2);
    let mut scaler = steps(Platform::Ecs, 9, 3, 60.0, 10.0);
    scaler.alarms[0].period = Duration::from_secs(45);
    service.scaling.policy = aws(scaler, &[Metric::CpuUtilization]);
    let outcome = run(&system(service, &[500.0; 10]));
    assert_eq!(rows(&outcome)[9].counts.desired, 2);
    assert!(outcome.services[0].remarks.len() >= 2, "{:?}", outcome.services[0].remarks);
    assert!(outcome.services[0].remarks[0].starts_with("the policy was not run: "));
}

fn hpa(percent: u32, metrics: Vec<(hpa::Metric, PodMetric)>) -> Policy {
    let mut all = vec![(hpa::Metric::cpu_utilization(percent), PodMetric::Cpu)];
    all.extend(metrics);
    let (metrics, wired): (Vec<_>, Vec<_>) = all.into_iter().unzip();
    let hpa = hpa::HpaSettings::new(InstanceCount::new(2), InstanceCount::new(20), metrics);
    Policy::Hpa(Box::new(HpaScaling {
        hpa,
        metrics: wired.into_iter().map(Query::last).collect(),
        request: None,
        scheduled: Vec::new(),
    }))
}

#[test]
fn an_hpa_scales_out_within_its_sync_period_and_in_after_five_minutes() {
    let mut service = service(2);
    service.start = Start { provision: Duration::from_secs(5), boot: Duration::from_secs(5), ..start() };
    service.scaling.policy = hpa(50, Vec::new());
    let rates: Vec<f64> =
        (0..40).map(|minute| if (10..20).contains(&minute) { 190.0 } else { 80.0 }).collect();
    let outcome = run(&system(service, &rates));
    let decisions = outcome.services[0].decisions.notes();
    assert_eq!(decisions[0].at, Timestamp::from_secs(615));
    // 95 % of one each, at a target of 50 %.
    assert_eq!((decisions[0].what.from, decisions[0].what.to), (2, 4));
    assert_eq!(
        decisions[0].what.reason,
        "New size: 4; reason: cpu resource utilization (percentage of request) above target (cpu 95%, target 50%)"
    );
    assert_eq!(rows(&outcome)[10].counts.serving, 4);
    let inward = decisions.iter().find(|note| note.what.to < note.what.from).expect("it scales in");
    // The last sync with load was at 1200 s; its recommendation holds for five minutes.
    assert_eq!(inward.at, Timestamp::from_secs(1200 + 300 + 15));
    assert_eq!(inward.what.reason, "New size: 2; reason: All metrics below target (cpu 20%, target 50%)");
    // What it saw at the end of each minute.
    let seen = &outcome.services[0].seen;
    assert_eq!(seen.names(), ["cpu"]);
    assert_eq!((seen.minute(0), seen.minute(19)), (&[Some(40.0)][..], &[Some(47.0)][..]));
}

#[test]
fn an_hpa_may_sync_once_a_minute() {
    let mut service = service(2);
    service.start = Start { provision: Duration::from_secs(5), boot: Duration::from_secs(5), ..start() };
    service.scaling.policy = hpa(50, Vec::new());
    let Policy::Hpa(scaling) = &mut service.scaling.policy else { unreachable!() };
    scaling.hpa.controller.sync_period = Duration::from_secs(60);
    let rates: Vec<f64> = (0..20).map(|minute| if minute >= 10 { 190.0 } else { 80.0 }).collect();
    let outcome = run(&system(service, &rates));
    let decision = &outcome.services[0].decisions.notes()[0];
    assert_eq!((decision.at, decision.what.from, decision.what.to), (Timestamp::from_secs(660), 2, 4));
}

#[test]
fn pods_that_boot_do_not_drive_an_hpa_on() {
    let mut service = service(2);
    service.start = Start { provision: Duration::from_secs(5), boot: Duration::from_secs(120), ..start() };
    service.scaling.policy = hpa(50, Vec::new());
    let rates: Vec<f64> = (0..20).map(|minute| if minute >= 5 { 130.0 } else { 90.0 }).collect();
    let outcome = run(&system(service, &rates));
    let highest = rows(&outcome).iter().map(|row| row.counts.desired).max();
    assert_eq!(highest, Some(3));
}

#[test]
fn an_hpa_takes_the_metric_that_asks_for_most() {
    let mut service = service(2);
    let average = hpa::Milli(20_000);
    let metric = hpa::Metric { name: "requests".to_owned(), source: hpa::Source::Pods { average } };
    service.scaling.policy = hpa(90, vec![(metric, PodMetric::RequestsPerSecond)]);
    let outcome = run(&system(service, &[100.0; 10]));
    assert_eq!(rows(&outcome)[9].counts.desired, 5);
    let reason = &outcome.services[0].decisions.notes()[0].what.reason;
    assert!(reason.ends_with("pods metric requests above target (requests 50, target 20)"), "{reason}");
}

/// An HPA on the queue of a third party: 10 messages, 100 from minute 10 on, and 20 for a pod.
fn of_queue(target: hpa::TotalTarget, outages: Vec<Outage>) -> Policy {
    let values = (0..40).map(|minute| if minute < 10 { 10.0 } else { 100.0 }).collect();
    let recorded = Recorded { begins: 0, step: Duration::from_secs(60), values };
    let source = hpa::Source::External { selector: None, target };
    let metric = hpa::Metric { name: "depth".to_owned(), source };
    let mut policy = hpa(50, vec![(metric, recorded.into())]);
    let Policy::Hpa(scaling) = &mut policy else { unreachable!("an HPA") };
    scaling.metrics[1].outages = outages;
    policy
}

#[test]
fn an_hpa_follows_recorded_values_of_another_source() {
    let mut service = service(2);
    service.start = Start { provision: Duration::from_secs(5), boot: Duration::from_secs(5), ..start() };
    service.scaling.policy = of_queue(hpa::TotalTarget::AverageValue(hpa::Milli(20_000)), Vec::new());
    let outcome = run(&system(service, &[20.0; 20]));
    // Five are needed; without `behavior`, at most four at first.
    let told = reasons(&outcome);
    let words = |size, depth| {
        format!(
            "New size: {size}; reason: external metric depth(nil) above target (depth {depth}, target 20)"
        )
    };
    assert_eq!(told, [(600, words(4, 50)), (615, words(5, 25))]);
    assert_eq!(outcome.services[0].seen.names(), ["cpu", "depth"]);
    assert_eq!(rows(&outcome)[19].counts.desired, 5);
}

#[test]
fn a_total_changes_the_count_in_proportion() {
    let mut service = service(2);
    service.start = Start { provision: Duration::from_secs(5), boot: Duration::from_secs(5), ..start() };
    service.scaling.policy = of_queue(hpa::TotalTarget::Value(hpa::Milli(50_000)), Vec::new());
    let outcome = run(&system(service, &[20.0; 11]));
    // Twice the target: twice as many, again and again, because the queue is not this service's.
    assert_eq!(rows(&outcome)[10].counts.desired, 20);
}

/// Kubernetes does not scale in while a metric cannot be read, and scales out by the others.
#[test]
fn a_metric_that_cannot_be_read_keeps_the_count() {
    let outage = Outage { from: Timestamp::from_secs(300), until: Timestamp::from_secs(1800) };
    let mut busy = service(8);
    busy.start = Start { provision: Duration::from_secs(5), boot: Duration::from_secs(5), ..start() };
    busy.scaling.policy = of_queue(hpa::TotalTarget::AverageValue(hpa::Milli(1_000)), vec![outage]);
    let rates: Vec<f64> = (0..35).map(|minute| if minute < 5 { 400.0 } else { 20.0 }).collect();
    let outcome = run(&system(busy, &rates));
    let counts: Vec<u32> = rows(&outcome).iter().map(|row| row.counts.desired).collect();
    assert_eq!(counts[4], 10, "{counts:?}");
    assert_eq!(counts[29], 10, "{counts:?}");
    assert_eq!(counts[34], 20, "{counts:?}");
    let told = reasons(&outcome);
    assert!(
        told.iter().any(|(at, what)| *at == 300 && what.starts_with("FailedGetExternalMetric")),
        "{told:?}"
    );
}

#[test]
fn a_metric_of_pods_has_an_equal_part_for_each() {
    let mut service = service(2);
    service.start = Start { provision: Duration::from_secs(5), boot: Duration::from_secs(5), ..start() };
    let average = hpa::Milli(1_000);
    let metric = hpa::Metric { name: "jobs".to_owned(), source: hpa::Source::Pods { average } };
    service.scaling.policy = hpa(90, vec![(metric, PodMetric::RequestsPerSecond)]);
    let Policy::Hpa(scaling) = &mut service.scaling.policy else { unreachable!("an HPA") };
    // 100 requests a second are 5 jobs.
    (scaling.metrics[1].factor, scaling.metrics[1].window) = (0.05, Duration::from_secs(60));
    let outcome = run(&system(service, &[100.0; 10]));
    assert_eq!(rows(&outcome)[9].counts.desired, 5);
}

#[test]
fn knative_panics_at_a_burst_and_comes_down_to_nothing() {
    let mut service = service(1);
    service.start = Start { provision: Duration::from_secs(2), boot: Duration::from_secs(2), ..start() };
    let knative =
        KnativeSettings { max: Some(InstanceCount::new(30)), ..KnativeSettings::requests_per_second(100.0) };
    service.scaling.policy = Policy::Knative(Box::new(KnativeScaling { knative }));
    let rates: Vec<f64> = (0..15)
        .map(|minute| {
            if minute < 5 {
                50.0
            } else if minute < 8 {
                700.0
            } else {
                0.0
            }
        })
        .collect();
    let outcome = run(&system(service, &rates));
    let decisions = outcome.services[0].decisions.notes();
    assert!(decisions[0].at <= Timestamp::from_secs(306), "{:?}", decisions[0]);
    assert!(decisions[0].what.reason.contains("PANICKING"), "{:?}", decisions[0]);
    // 700 a second at 70 % of 100 each.
    assert_eq!(rows(&outcome)[7].counts.serving, 10);
    assert_eq!(rows(&outcome)[14].counts.running, 0);
}

#[test]
fn knative_comes_back_from_nothing_when_a_request_comes() {
    let mut service = service(1);
    service.start = Start { provision: Duration::from_secs(2), boot: Duration::from_secs(2), ..start() };
    let knative = KnativeSettings::requests_per_second(100.0);
    service.scaling.policy = Policy::Knative(Box::new(KnativeScaling { knative }));
    let rates: Vec<f64> = (0..12).map(|minute| if minute >= 8 { 50.0 } else { 0.0 }).collect();
    let outcome = run(&system(service, &rates));
    assert_eq!(rows(&outcome)[6].counts.running, 0);
    assert_eq!(rows(&outcome)[9].counts.serving, 1);
    // Requests of the first seconds found no instance.
    assert!((1..600).contains(&rows(&outcome)[8].refused), "{}", rows(&outcome)[8].refused);
}

/// A trigger on requests a second at the balancer, 20 of them a pod.
fn keda(change: impl FnOnce(&mut KedaScaling)) -> Policy {
    let target = hpa::TotalTarget::AverageValue(hpa::Milli(20_000));
    let trigger = Trigger::Prometheus { target, activation: 1.0, ignore_null_values: true };
    let query = Query { window: Duration::from_secs(60), ..Query::last(PodMetric::RequestsPerSecond) };
    let mut settings = KedaSettings::new(vec![trigger]);
    settings.max = InstanceCount::new(10);
    let mut scaling = KedaScaling { keda: settings, inputs: vec![KedaInput::Query(query)], request: None };
    change(&mut scaling);
    Policy::Keda(Box::new(scaling))
}

fn reasons(outcome: &Outcome) -> Vec<(u64, String)> {
    let notes = outcome.services[0].decisions.notes();
    notes.iter().map(|note| (note.at.since(Timestamp::ZERO).as_secs(), note.what.reason.clone())).collect()
}

#[test]
fn keda_activates_at_load_and_goes_to_zero_after_its_cooldown() {
    let mut service = service(0);
    service.start = Start { provision: Duration::from_secs(2), boot: Duration::from_secs(2), ..start() };
    service.scaling.policy = keda(|_| {});
    let rates: Vec<f64> = (0..16).map(|minute| if (2..6).contains(&minute) { 100.0 } else { 0.0 }).collect();
    let outcome = run(&system(service, &rates));
    let counts: Vec<u32> = rows(&outcome).iter().map(|row| row.counts.desired).collect();
    let reasons = reasons(&outcome);
    // The poll half a minute after the load begins; the autoscaler a sync period later, limited to four pods more.
    assert_eq!(reasons[0].0, 150, "{reasons:?}");
    assert!(reasons[0].1.starts_with("KEDAScaleTargetActivated: triggers are active (s0-prometheus)"));
    assert_eq!(counts[1], 0, "{counts:?}");
    assert_eq!(counts[4], 5, "{counts:?}");
    let last = reasons.last().unwrap();
    assert!(last.1.starts_with("KEDAScaleTargetDeactivated"), "{reasons:?}");
    // Active until the minute of the last requests is over, and then 300 s.
    assert_eq!(last.0, 720, "{reasons:?}");
    assert_eq!(counts[15], 0, "{counts:?}");
}

#[test]
fn a_cron_trigger_scales_before_the_load_comes() {
    let mut service = service(0);
    service.start = Start { provision: Duration::from_secs(2), boot: Duration::from_secs(2), ..start() };
    service.scaling.policy = keda(|scaling| {
        let cron = Cron::new("0 8 * * *", "10 8 * * *", 5).unwrap();
        scaling.keda.triggers = vec![Trigger::Cron { cron, is_total: false }];
        scaling.inputs = vec![KedaInput::Time];
        scaling.keda.cooldown_period = Duration::from_secs(60);
        scaling.keda.local_time = LocalTime(8 * 3_600 - 300);
    });
    let outcome = run(&system(service, &[0.0; 20]));
    let counts: Vec<u32> = rows(&outcome).iter().map(|row| row.counts.desired).collect();
    assert_eq!((counts[3], counts[6], counts[14], counts[18]), (0, 5, 5, 0), "{counts:?}");
}

#[test]
fn a_query_that_fails_falls_back() {
    let mut service = service(2);
    service.scaling.policy = keda(|scaling| {
        scaling.keda.min = Some(InstanceCount::new(1));
        let behavior = FallbackBehavior::Static;
        scaling.keda.fallback = Some(Fallback { failure_threshold: 3, replicas: 4, behavior });
        let KedaInput::Query(query) = &mut scaling.inputs[0] else { unreachable!("a query") };
        query.outages = vec![Outage { from: Timestamp::from_secs(300), until: Timestamp::from_secs(600) }];
    });
    let outcome = run(&system(service, &[40.0; 20]));
    let counts: Vec<u32> = rows(&outcome).iter().map(|row| row.counts.desired).collect();
    assert_eq!((counts[3], counts[8]), (2, 4), "{counts:?}");
    let reasons = reasons(&outcome);
    let words: Vec<&str> = reasons.iter().filter_map(|(_, reason)| reason.split(':').next()).collect();
    assert!(words.contains(&"ScaledObjectFallbackActivated"), "{reasons:?}");
    assert!(words.contains(&"ScaledObjectFallbackDeactivated"), "{reasons:?}");
    // Afterwards the autoscaler waits for its window of five minutes.
    assert_eq!((counts[12], counts[16]), (4, 2), "{counts:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn no_policy_leaves_its_bounds(
        ecs in any::<bool>(),
        min in 1_u32..5,
        more in 0_u32..12,
        high in 10.0_f64..95.0,
        low in 1.0_f64..95.0,
        out in 1_i32..8,
        inward in 1_i32..8,
        cooldown in 0_u64..600,
        tracking in prop::option::of(10.0_f64..90.0),
        rates in prop::collection::vec(0.0_f64..1500.0, 30..120),
    ) {
        let max = min + more;
        let platform = if ecs { Platform::Ecs } else { Platform::EC2 };
        let mut scaler = steps(platform, min, max, high, low);
        let step = |alarm: u16, change: i32| {
            let cooldown = ecs.then(|| Duration::from_secs(cooldown));
            Rule::Step(StepScaling { cooldown, ..StepScaling::of(vec![AlarmId(alarm)], change) })
        };
        scaler.policies = vec![step(0, out), step(1, -inward)];
        if let Some(target) = tracking {
            let preset = if ecs { Preset::ECS } else { Preset::EC2 };
            scaler.policies.push(Rule::TargetTracking(TargetTracking::new(CPU, target, preset)));
        }
        let mut service = service(min);
        service.scaling.policy = aws(scaler, &[Metric::CpuUtilization]);
        let system = system(service, &rates);
        let outcome = run(&system);
        prop_assert!(outcome.services[0].remarks.is_empty(), "{:?}", outcome.services[0].remarks);
        for row in rows(&outcome) {
            let counts = row.counts;
            prop_assert!((min..=max).contains(&counts.desired), "{counts:?}");
            prop_assert!(counts.running + counts.provisioning <= max, "{counts:?}");
            prop_assert!(counts.serving >= min, "{counts:?}");
        }
    }
}
