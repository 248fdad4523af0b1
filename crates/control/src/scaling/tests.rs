//! A service whose instances start at once, or when a test says so.

mod application;
mod ec2;
mod tracking;
mod worked;

use super::*;
use crate::alarm::{AlarmSettings, Comparison};
use crate::metric::{Detail, MetricId, Series, SeriesSettings, Statistic};
use core::time::Duration;
use proptest::prelude::*;
use std::string::{String, ToString};
use std::vec::Vec;
use units::Timestamp;

const MINUTE: Duration = Duration::from_secs(60);
const CPU: MetricId = MetricId(0);
const OTHER: MetricId = MetricId(1);

fn above(metric: MetricId, threshold: f64) -> AlarmSettings {
    AlarmSettings::new(metric, Statistic::Average, MINUTE, Comparison::GreaterThanOrEqualTo, threshold)
}

fn below(metric: MetricId, threshold: f64) -> AlarmSettings {
    AlarmSettings::new(metric, Statistic::Average, MINUTE, Comparison::LessThan, threshold)
}

fn step(alarms: &[u16], change: i32) -> Policy {
    Policy::Step(StepScaling::of(alarms.iter().copied().map(AlarmId).collect(), change))
}

fn steps(alarm: u16, steps: &[(Option<f64>, Option<f64>, i32)], adjustment: Adjustment) -> Policy {
    let steps =
        steps.iter().map(|(lower, upper, change)| Step { lower: *lower, upper: *upper, change: *change });
    let policy = StepScaling::of(std::vec![AlarmId(alarm)], 1);
    Policy::Step(StepScaling { adjustment, steps: steps.collect(), ..policy })
}

fn settings(
    platform: Platform,
    (min, max): (u32, u32),
    alarms: &[AlarmSettings],
    policies: &[Policy],
) -> ScalerSettings {
    ScalerSettings {
        alarms: alarms.to_vec(),
        policies: policies.to_vec(),
        ..ScalerSettings::new(platform, min, max)
    }
}

/// A scaler with its two metrics and its instances.
struct Stage {
    scaler: Scaler,
    series: [Series; 2],
    minute: u64,
    facts: Facts,
    /// The last step's decisions, in words.
    said: Vec<String>,
}

impl Stage {
    fn new(settings: ScalerSettings, count: u32) -> Self {
        let series = [CPU, OTHER].map(|metric| {
            let history = settings.history(metric).max(MINUTE);
            let (delay, detail) = (Duration::ZERO, Detail::Summary);
            Series::new(SeriesSettings { resolution: MINUTE, history, delay, detail }).expect("minutes")
        });
        assert_eq!(settings.unreadable(&series), []);
        let facts = Facts { running: count, desired: count, ..Facts::default() };
        let scaler = Scaler::new(settings).expect("good settings");
        Stage { scaler, series, minute: 0, facts, said: Vec::new() }
    }

    /// A minute with these metrics; decisions are applied, and instances run at once.
    fn minute(&mut self, cpu: f64, other: Option<f64>) -> u32 {
        self.starting(Some(cpu), other);
        self.facts.running = self.facts.desired;
        self.facts.desired
    }

    /// The same, but no instance starts or ends yet.
    fn starting(&mut self, cpu: Option<f64>, other: Option<f64>) -> u32 {
        let began = Timestamp::from_secs(60 * self.minute);
        for (series, value) in self.series.iter_mut().zip([cpu, other]) {
            value.into_iter().for_each(|value| series.record(began, value));
        }
        self.minute += 1;
        let decisions = self.scaler.step(began + MINUTE, &self.series, &self.facts);
        for decision in decisions.iter().filter(|decision| decision.scaled()) {
            assert_eq!(decision.from, self.facts.desired);
            assert_ne!(decision.from, decision.to);
            self.facts.desired = decision.to;
        }
        self.said = decisions.iter().map(ToString::to_string).collect();
        self.facts.desired
    }

    /// What the last minute decided was not set, but this.
    fn limited(&mut self, from: u32, to: u32) {
        self.scaler.was_limited(from, to);
        (self.facts.desired, self.facts.running) = (to, to);
    }

    /// The codes of the decisions that did not scale in the last minute.
    fn codes(&self) -> Vec<&str> {
        let reasons = self.said.iter().filter_map(|said| said.split_once("not scaled at "));
        let codes = reasons.filter_map(|(_, reason)| reason.split(' ').nth(1));
        codes.collect()
    }
}

#[test]
fn decisions_are_told_in_words() {
    struct Called;
    impl Names for Called {
        fn alarm(&self, _: AlarmId) -> &str {
            "web-cpu-high"
        }
        fn policy(&self, _: PolicyId) -> &str {
            "slow-up"
        }
        fn scheduled(&self, _: u16) -> &str {
            "morning"
        }
    }
    let settings = settings(Platform::Ecs, (2, 5), &[above(CPU, 60.0)], &[step(&[0], 1)]);
    let mut scaler = Scaler::new(settings).expect("good settings");
    let mut series = [Series::new(SeriesSettings {
        resolution: MINUTE,
        history: 10 * MINUTE,
        delay: Duration::ZERO,
        detail: Detail::Summary,
    })
    .expect("minutes")];
    let mut words = Vec::new();
    for (minute, count) in [(0, 4), (1, 5)] {
        series[0].record(Timestamp::from_secs(60 * minute), 75.5);
        let facts = Facts { running: count, desired: count, ..Facts::default() };
        let decisions = scaler.step(Timestamp::from_secs(60 * minute + 60), &series, &facts);
        words.extend(decisions.iter().map(|decision| decision.with_names(&Called).to_string()));
    }
    assert_eq!(
        words,
        [
            "monitor alarm web-cpu-high in state ALARM triggered policy slow-up (75.5 is +15.5 past 60: +1), changing \
             the desired capacity from 4 to 5",
            "monitor alarm web-cpu-high in state ALARM triggered policy slow-up (75.5 is +15.5 past 60: +1), not \
             scaled at 5: AlreadyAtMaxCapacity (maximum 5)",
        ]
    );
}

#[test]
fn reasons_tell_a_change_from_a_share_and_from_a_number() {
    let said = |adjustment: Adjustment, simple: bool| {
        let alarms = std::vec![AlarmId(0)];
        let policy = if simple {
            let (min_adjustment_magnitude, cooldown) = (None, None);
            Policy::Simple(SimpleScaling {
                alarms,
                adjustment,
                change: 9,
                min_adjustment_magnitude,
                cooldown,
            })
        } else {
            Policy::Step(StepScaling { adjustment, ..StepScaling::of(alarms, 9) })
        };
        let mut stage = Stage::new(settings(Platform::EC2, (1, 99), &[above(CPU, 60.0)], &[policy]), 4);
        stage.minute(75.0, None);
        stage.said.remove(0)
    };
    for (adjustment, step, simple) in [
        (Adjustment::ChangeInCapacity, "(75 is +15 past 60: +9)", "(+9)"),
        (Adjustment::PercentChangeInCapacity, "(75 is +15 past 60: +9%)", "(+9%)"),
        (Adjustment::ExactCapacity, "(75 is +15 past 60: =9)", "(=9)"),
    ] {
        let found = [said(adjustment, false), said(adjustment, true)];
        assert!(found[0].contains(step) && found[1].contains(simple), "{found:?}");
    }
}

#[test]
fn contradictions_are_named_all_at_once_with_the_way_out() {
    let ecs =
        |alarms: &[AlarmSettings], policies: &[Policy]| settings(Platform::Ecs, (1, 9), alarms, policies);
    let (up, change) = (above(CPU, 60.0), Adjustment::ChangeInCapacity);
    let bounds = |list: &[(Option<f64>, Option<f64>, i32)]| ecs(&[up], &[steps(0, list, change)]);
    let with = |edit: fn(&mut StepScaling)| {
        let mut policy = StepScaling::of(std::vec![AlarmId(0)], 1);
        edit(&mut policy);
        ecs(&[up], &[Policy::Step(policy)])
    };
    let track = |edit: fn(&mut TargetTracking)| {
        let mut policy = TargetTracking::new(CPU, 50.0, Preset::ECS);
        edit(&mut policy);
        ecs(&[], &[Policy::TargetTracking(policy)])
    };
    let simple = Policy::Simple(SimpleScaling {
        alarms: std::vec![AlarmId(0)],
        adjustment: change,
        change: 1,
        min_adjustment_magnitude: None,
        cooldown: None,
    });
    let scheduled = |min, max, desired| ScalerSettings {
        scheduled: std::vec![Scheduled { at: Timestamp::ZERO, min, max, desired }],
        ..ecs(&[], &[])
    };
    for (settings, parts) in [
        (settings(Platform::Ecs, (9, 3), &[], &[]), &["`min` is 9, above `max` at 3"][..]),
        (ecs(&[], &[step(&[0], 1)]), &["policy 0: it names alarm 0, which does not exist"]),
        (ecs(&[], &[step(&[], 1)]), &["no alarm triggers it"]),
        (bounds(&[]), &["it has no steps"]),
        (bounds(&[(None, None, 1)]), &["step 0 has neither"]),
        (bounds(&[(Some(0.0), Some(10.0), 1)]), &["the highest step ends at 10"]),
        (bounds(&[(Some(-5.0), None, 1)]), &["the lowest step begins at -5"]),
        (bounds(&[(Some(0.0), Some(5.0), 1), (Some(7.0), None, 2)]), &["no step covers 5 to 7"]),
        (bounds(&[(Some(0.0), Some(9.0), 1), (Some(7.0), None, 2)]), &["steps 0 and 1 overlap"]),
        (bounds(&[(Some(0.0), None, 1), (Some(7.0), None, 2)]), &["steps 0 and 1 overlap"]),
        (
            bounds(&[(Some(5.0), Some(5.0), 1), (Some(5.0), None, 1)]),
            &["goes from 5 to 5, which holds nothing"],
        ),
        (bounds(&[(Some(f64::NAN), None, 1)]), &["no finite number"]),
        (with(|policy| policy.warm_up = Some(MINUTE)), &["`warm_up` is not for ECS", "set `cooldown`"]),
        (with(|policy| policy.min_adjustment_magnitude = Some(2)), &["PercentChangeInCapacity only"]),
        (
            with(|policy| (policy.adjustment, policy.steps[0].change) = (Adjustment::ExactCapacity, -1)),
            &["the exact capacity is -1"],
        ),
        (ecs(&[up], &[simple]), &["simple scaling is not for ECS: use step scaling"]),
        (track(|policy| policy.target = 0.0), &["`target` is 0"]),
        (track(|policy| policy.preset.low_threshold = LowThreshold::Share(1.0)), &["it would never rest"]),
        (
            track(|policy| policy.preset.high.period = Duration::from_secs(7)),
            &["AlarmHigh: `period` is 7.00 s"],
        ),
        (scheduled(None, None, None), &["scheduled action 0 sets nothing"]),
        (scheduled(Some(5), Some(4), None), &["scheduled action 0: `min` is 5"]),
        (scheduled(None, None, Some(4)), &["Application Auto Scaling schedules `min` and `max` only"]),
        (
            ecs(&[AlarmSettings { threshold: f64::NAN, ..up }], &[step(&[1], 1), step(&[], 1)]),
            &["alarm 0: `threshold`", "policy 0: it names alarm 1", "policy 1: no alarm"],
        ),
    ] {
        let problems = Scaler::new(settings).expect_err("they contradict themselves");
        let said: Vec<String> = problems.iter().map(ToString::to_string).collect();
        for part in parts {
            assert!(said.iter().any(|said| said.contains(part)), "{part}: {said:?}");
        }
        assert!(said.len() <= parts.len(), "nothing else is wrong: {said:?}");
    }
}

#[test]
fn what_a_series_cannot_tell_is_said_before_it_runs() {
    let of = |alarm: AlarmSettings| settings(Platform::Ecs, (1, 9), &[alarm], &[step(&[0], 1)]);
    let seconds = Duration::from_secs;
    let series = |resolution, history| {
        let (delay, detail) = (Duration::ZERO, Detail::Summary);
        [Series::new(SeriesSettings { resolution, history, delay, detail }).expect("good settings")]
    };
    let p99 = Statistic::Percentile(units::Quantile::P99);
    for (alarm, series, part) in [
        (above(OTHER, 1.0), series(MINUTE, MINUTE), "of which there is no series"),
        (above(CPU, 1.0), series(seconds(300), seconds(3600)), "not a multiple of its metric's 5.00 min"),
        (above(CPU, 1.0), series(MINUTE, MINUTE), "keep more"),
        (AlarmSettings { statistic: p99, ..above(CPU, 1.0) }, series(MINUTE, seconds(3600)), "looks at p99"),
    ] {
        let said: Vec<String> = of(alarm).unreadable(&series).iter().map(ToString::to_string).collect();
        assert!(said.len() == 1 && said[0].contains(part), "{part}: {said:?}");
    }
}

#[test]
fn what_is_assumed_is_listed_once() {
    let policies = [step(&[0], 1), Policy::TargetTracking(TargetTracking::new(CPU, 50.0, Preset::ECS))];
    let settings = settings(Platform::Ecs, (1, 9), &[above(CPU, 60.0)], &policies);
    let names: Vec<&str> = settings.assumptions().iter().map(|one| one.name).collect();
    assert_eq!(
        names,
        [
            "newest period",
            "evaluation range",
            "kept state",
            "step value",
            "held scale-out",
            "cooldown scope",
            "fulfilled within",
            "target tracking size",
            "target tracking alarms",
        ]
    );
}

fn any_policy() -> impl Strategy<Value = Policy> {
    let adjustment = proptest::sample::select(std::vec![
        Adjustment::ChangeInCapacity,
        Adjustment::PercentChangeInCapacity,
        Adjustment::ExactCapacity,
    ]);
    let step = (0_u16..2, adjustment, -60_i32..60).prop_map(|(alarm, adjustment, change)| {
        let change = if adjustment == Adjustment::ExactCapacity { change.abs() } else { change };
        let policy = StepScaling::of(std::vec![AlarmId(alarm)], if alarm == 0 { 1 } else { -1 });
        let steps = policy.steps.iter().map(|step| Step { change, ..*step }).collect();
        Policy::Step(StepScaling { adjustment, steps, ..policy })
    });
    let tracking = (1_u8..100, any::<bool>()).prop_map(|(target, scale_in)| {
        let scale_in = if scale_in { ScaleIn::Enabled } else { ScaleIn::Disabled };
        let short = Preset { low: Periods::all(4, 60), ..Preset::ECS };
        Policy::TargetTracking(TargetTracking {
            scale_in,
            ..TargetTracking::new(OTHER, f64::from(target), short)
        })
    });
    proptest::prop_oneof![step, tracking]
}

proptest! {
    #[test]
    fn nothing_leaves_minimum_and_maximum_whatever_happens(
        platform in proptest::sample::select(std::vec![Platform::Ecs, Platform::Application, Platform::EC2]),
        policies in proptest::collection::vec(any_policy(), 1..4),
        (min, max) in (0_u32..10).prop_flat_map(|min| (Just(min), min..40)),
        minutes in proptest::collection::vec(
            (proptest::option::of(0.0..120.0_f64), proptest::option::of(0.0..300.0_f64), 0_u32..50, 0_u32..4, any::<bool>()),
            1..60,
        ),
        start in 0_u32..50,
    ) {
        let settings = settings(platform, (min, max), &[above(CPU, 70.0), below(CPU, 30.0)], &policies);
        let mut stage = Stage::new(settings, start);
        for (cpu, other, running, warming_up, deploying) in minutes {
            let before = stage.facts.desired;
            stage.facts = Facts { running, warming_up, deploying, terminating: warming_up, ..stage.facts };
            let after = stage.starting(cpu, other);
            // A count outside the bounds stays there until something scales, and then moves inside.
            prop_assert!(after == before || (min..=max).contains(&after), "{:?}", stage.said);
            if matches!(platform, Platform::Ec2 { .. }) {
                prop_assert!((min..=max).contains(&after));
            }
            if deploying && platform == Platform::Ecs {
                prop_assert!(after >= before, "{:?}", stage.said);
            }
        }
    }
}
