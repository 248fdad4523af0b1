//! What is shown is what then holds.

use super::*;
use crate::alarm::{AlarmSettings, Comparison};
use crate::metric::{MetricId, Statistic};
use crate::scaling::controller::{
    AwsScaling, Controller, Fleet, HpaScaling, Instance, KedaInput, KedaScaling, Metric, Observation, Policy,
    Published, Query, Requests, ScalingNames,
};
use crate::scaling::keda::{Cron, KedaSettings, LocalTime, Trigger};
use crate::scaling::{AlarmId, Platform, Policy as Scaling, ScalerSettings, Scheduled, StepScaling, hpa};
use alloc::boxed::Box;
use alloc::vec;
use core::time::Duration;
use stats::Sketch;
use units::InstanceCount;

const MINUTE: Duration = Duration::from_secs(60);

fn at(minute: u64) -> Timestamp {
    Timestamp::from_secs(60 * minute)
}

fn fleet(instances: &[Instance]) -> Fleet<'_> {
    Fleet { desired: instances.len() as u32, deploying: false, instances }
}

/// Three instances that are busy.
fn busy() -> Vec<Instance> {
    let one = Instance {
        started: Some(Timestamp::ZERO),
        ready_since: Some(Timestamp::ZERO),
        ending: false,
        cores: 1.0,
        used: 54.0,
        allotted: 60.0,
        credits: None,
    };
    vec![one; 3]
}

#[test]
fn a_cooldown_lasts_until_the_policy_decides_again() {
    let mut scaler = ScalerSettings::new(Platform::Application, 1, 9);
    let (cpu, above) = (MetricId(0), Comparison::GreaterThan);
    scaler.alarms.push(AlarmSettings::new(cpu, Statistic::Average, MINUTE, above, 60.0));
    let step = StepScaling { cooldown: Some(3 * MINUTE), ..StepScaling::of(vec![AlarmId(0)], 1) };
    scaler.policies.push(Scaling::Step(step));
    scaler.scheduled.push(Scheduled { at: at(9), min: Some(2), max: None, desired: None });
    let names = ScalingNames {
        alarms: vec!["busy".into()],
        policies: vec!["out".into()],
        scheduled: vec!["evening".into()],
    };
    let policy = Policy::Aws(Box::new(AwsScaling {
        scaler,
        metrics: vec![Published::each_minute(Metric::CpuUtilization)],
        publication_delay: Duration::ZERO,
        names,
    }));
    let mut controller = Controller::new(&policy, InstanceCount::new(3));
    assert_eq!(controller.view(at(0)).policies[0].state, "busy INSUFFICIENT_DATA");
    let (mut instances, times) = (busy(), Sketch::new());
    let mut held = None;
    for minute in 1..9 {
        let requests = Requests { arrived: 9, ended: 9, in_flight: 1.0, worked: 1.0, times: &times };
        let (now, fleet) = (at(minute), fleet(&instances));
        controller.read(&Observation { now, span: MINUTE, fleet, requests: Some(requests) });
        let verdict = controller.decide(now, &fleet);
        let view = controller.view(now);
        assert_eq!(
            (view.policies[0].policy.as_str(), view.policies[0].state.as_str()),
            ("out", "busy ALARM")
        );
        if let Some(desired) = verdict.desired {
            // Its own change is in progress, or was fulfilled at once.
            assert!(held.is_none_or(|until| until <= now), "{held:?} at {now:?}");
            instances.resize(desired as usize, instances[0]);
        }
        held = view.policies[0].cooldowns.iter().find(|one| one.of == "scale out").and_then(|one| one.until);
        let next = &view.upcoming[0];
        assert_eq!((next.at, next.policy.as_str(), next.kind.name()), (at(9), "evening", "scheduled"));
        assert_eq!((next.min, next.max, next.size), (Some(2), None, None));
    }
    assert!(instances.len() >= 5, "it scaled twice: {}", instances.len());
    controller.decide(at(9), &fleet(&instances));
    assert!(controller.view(at(9)).upcoming.is_empty());
}

#[test]
fn a_cron_trigger_announces_its_next_change() {
    let cron = Cron::new("0 8 * * *", "0 18 * * *", 4).unwrap();
    let trigger = |cron| Trigger::Cron { cron, is_total: false };
    let settings =
        KedaSettings { local_time: LocalTime(7 * 3_600), ..KedaSettings::new(vec![trigger(cron)]) };
    let scaling = KedaScaling { keda: settings, inputs: vec![KedaInput::Time], request: None };
    let mut controller = Controller::new(&Policy::Keda(Box::new(scaling)), InstanceCount::new(0));
    assert_eq!(controller.refused(), Vec::<String>::new());
    let next = |controller: &Controller, now| {
        let view = controller.view(now);
        view.upcoming.first().map(|next| (next.at, next.size))
    };
    // It begins at 07:00.
    assert_eq!(next(&controller, at(0)), Some((at(60), Some(4))));
    assert_eq!(next(&controller, at(60)), Some((at(11 * 60), Some(0))));
    assert_eq!(next(&controller, at(12 * 60)), Some((at(25 * 60), Some(4))));
    assert_eq!(controller.view(at(0)).policies[1].state, "no poll yet");
    // Before its time it computed that none is needed; at its time it asks for one.
    let verdict = controller.decide(at(59), &fleet(&[]));
    assert_eq!((verdict.desired, verdict.keeps), (None, true));
    let verdict = controller.decide(at(60), &fleet(&[]));
    assert_eq!((verdict.desired, verdict.keeps), (Some(1), false));
    assert!(controller.view(at(60)).policies[1].state.starts_with("KEDAScaleTargetActivated"));
}

#[test]
fn an_autoscaler_shows_its_last_sync() {
    let count = InstanceCount::new;
    let settings = hpa::HpaSettings::new(count(1), count(9), vec![hpa::Metric::cpu_utilization(50)]);
    let cpu = Query::last(super::super::PodMetric::Cpu);
    let scaling = HpaScaling { hpa: settings, metrics: vec![cpu], request: None, scheduled: vec![] };
    let mut controller = Controller::new(&Policy::Hpa(Box::new(scaling)), count(3));
    assert_eq!(controller.view(at(0)).policies[0].state, "no sync yet");
    let (instances, times) =
        (busy().iter().map(|one| Instance { used: 7.5, ..*one }).collect::<Vec<_>>(), Sketch::new());
    let span = Duration::from_secs(15);
    let now = at(10);
    let requests = Requests { arrived: 9, ended: 9, in_flight: 1.0, worked: 1.0, times: &times };
    controller.read(&Observation { now, span, fleet: fleet(&instances), requests: Some(requests) });
    let verdict = controller.decide(now, &fleet(&instances));
    assert_eq!((verdict.desired, verdict.keeps), (None, true), "half of the request is the target");
    let view = controller.view(now);
    assert_eq!(view.policies[0].computed, Some(3));
    assert!(view.policies[0].state.starts_with("ReadyForNewScale: cpu "), "{:?}", view.policies);
}
