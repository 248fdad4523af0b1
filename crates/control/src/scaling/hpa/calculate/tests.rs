//! The calculator against a naive one, which keeps sets and maps of pods by name as upstream does.

use super::*;
use crate::scaling::hpa::{HpaSettings, Phase, Readiness};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec;
use alloc::vec::Vec;
use core::time::Duration;
use proptest::prelude::*;

const NOW: u64 = 3_600;
const INIT: u64 = 300;
const DELAY: u64 = 30;

/// Pods by name; metrics by name, some of pods that are gone.
#[derive(Debug, Clone)]
struct World {
    pods: BTreeMap<usize, Pod>,
    requests: BTreeMap<usize, i64>,
    metrics: BTreeMap<usize, Sample>,
    current: u32,
}

#[derive(Debug, Default)]
struct Groups {
    ready: u32,
    unready: BTreeSet<usize>,
    missing: BTreeSet<usize>,
    ignored: BTreeSet<usize>,
}

fn groups(world: &World, is_cpu: bool) -> Groups {
    let mut groups = Groups::default();
    for (name, pod) in &world.pods {
        if pod.deleting || pod.phase == Phase::Failed {
            groups.ignored.insert(*name);
        } else if pod.phase == Phase::Pending {
            groups.unready.insert(*name);
        } else if let Some(sample) = world.metrics.get(name) {
            let unready = match (pod.ready, pod.started) {
                _ if !is_cpu => false,
                (Some(ready), Some(started)) => {
                    let seconds = |at: Timestamp| at.as_nanos() / 1_000_000_000;
                    if seconds(started) + INIT > NOW {
                        !ready.ready || seconds(sample.taken) < seconds(ready.since) + sample.window.as_secs()
                    } else {
                        !ready.ready && seconds(started) + DELAY > seconds(ready.since)
                    }
                }
                _ => true,
            };
            if unready {
                groups.unready.insert(*name);
            } else {
                groups.ready += 1;
            }
        } else {
            groups.missing.insert(*name);
        }
    }
    groups
}

fn within(ratio: f64) -> bool {
    (0.9..=1.1).contains(&ratio)
}

/// Replicas by the utilisation (a target in percent, and requests) or by the average, or nothing where upstream returns
/// an error.
fn naive(world: &World, is_cpu: bool, by_utilization: bool, target: i64) -> Option<i32> {
    if world.metrics.is_empty() || world.pods.is_empty() {
        return None;
    }
    let groups = groups(world, is_cpu);
    let mut metrics: BTreeMap<usize, i64> =
        world.metrics.iter().map(|(name, sample)| (*name, sample.value.0)).collect();
    metrics.retain(|name, _| !groups.ignored.contains(name) && !groups.unready.contains(name));
    if metrics.is_empty() {
        return None;
    }
    let ratio = |metrics: &BTreeMap<usize, i64>| {
        if !by_utilization {
            let average = metrics.values().sum::<i64>() / metrics.len() as i64;
            return Some(average as f64 / target as f64);
        }
        let known = || metrics.iter().filter_map(|(name, used)| Some((*used, *world.requests.get(name)?)));
        let requested: i64 = known().map(|(_, request)| request).sum();
        let used: i64 = known().map(|(used, _)| used).sum();
        (requested != 0).then(|| (used * 100 / requested) as f64 / target as f64)
    };
    let first = ratio(&metrics)?;
    let scale_up_with_unready = !groups.unready.is_empty() && first > 1.0;
    if !scale_up_with_unready && groups.missing.is_empty() {
        return Some(match within(first) {
            true => world.current as i32,
            false => libm::ceil(first * f64::from(groups.ready)) as i32,
        });
    }
    for name in &groups.missing {
        if first < 1.0 {
            let guess = if by_utilization { world.requests[name] * target.max(100) / 100 } else { target };
            metrics.insert(*name, guess);
        } else if first > 1.0 {
            metrics.insert(*name, 0);
        }
    }
    if scale_up_with_unready {
        metrics.extend(groups.unready.iter().map(|name| (*name, 0)));
    }
    let second = ratio(&metrics)?;
    if within(second) || (first < 1.0 && second > 1.0) || (first > 1.0 && second < 1.0) {
        return Some(world.current as i32);
    }
    let replicas = libm::ceil(second * metrics.len() as f64) as i32;
    let current = world.current as i32;
    let turned = (second < 1.0 && replicas > current) || (second > 1.0 && replicas < current);
    Some(if turned { current } else { replicas })
}

fn ours(world: &World, metric: Metric) -> Option<i32> {
    let count = InstanceCount::new;
    let settings = HpaSettings::new(count(1), count(1_000), vec![metric.clone()]);
    let pods: Vec<Pod> = world.pods.values().copied().collect();
    let reading = |name: &usize| PodReading {
        sample: world.metrics.get(name).copied(),
        request: world.requests.get(name).copied().map(Milli),
    };
    let readings: Vec<PodReading> = world.pods.keys().map(reading).collect();
    let gone = world.metrics.iter().filter(|(name, _)| !world.pods.contains_key(name));
    let others: Vec<Sample> = gone.map(|(_, sample)| *sample).collect();
    let seen = Observation {
        spec_replicas: count(world.current),
        status_replicas: count(world.current),
        pods: &pods,
        readings: &[],
    };
    let reading = Reading::Pods { pods: &readings, others: &others };
    let proposal = Calculator::new(&settings).propose(Timestamp::from_secs(NOW), &metric, &seen, &reading);
    proposal.ok().map(|proposal| proposal.replicas)
}

fn world() -> impl Strategy<Value = World> {
    let phase = prop_oneof![
        6 => Just(Phase::Running),
        1 => Just(Phase::Pending),
        1 => Just(Phase::Failed),
        1 => Just(Phase::Succeeded),
    ];
    let age = prop_oneof![0_u64..60, 250_u64..350, Just(3_000_u64)];
    let pod = (phase, prop::bool::weighted(0.1), age, 0_u64..100, prop::bool::weighted(0.8)).prop_map(
        |(phase, deleting, age, later, ready)| {
            let since = (NOW - age + later).min(NOW);
            let started = Timestamp::from_secs(NOW - age);
            let ready = Some(Readiness { ready, since: Timestamp::from_secs(since) });
            Pod { phase, deleting, started: Some(started), ready }
        },
    );
    let sample = (0_i64..2_000, 0_u64..90).prop_map(|(value, age)| Sample {
        value: Milli(value),
        taken: Timestamp::from_secs(NOW - age),
        window: Duration::from_secs(60),
    });
    let one = (pod, 1_i64..1_500, prop::option::weighted(0.85, sample.clone()));
    (prop::collection::vec(one, 1..12), prop::collection::vec(sample, 0..2), 1_u32..12).prop_map(
        |(pods, gone, current)| {
            let mut world =
                World { pods: BTreeMap::new(), requests: BTreeMap::new(), metrics: BTreeMap::new(), current };
            for (name, (pod, request, sample)) in pods.into_iter().enumerate() {
                world.pods.insert(name, pod);
                world.requests.insert(name, request);
                world.metrics.extend(sample.map(|sample| (name, sample)));
            }
            world.metrics.extend(gone.into_iter().enumerate().map(|(index, sample)| (100 + index, sample)));
            world
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn utilisations_agree_with_sets_and_maps(world in world(), target in 1_u32..250) {
        let found = ours(&world, Metric::cpu_utilization(target));
        prop_assert_eq!(found, naive(&world, true, true, i64::from(target)));
    }

    #[test]
    fn averages_agree_with_sets_and_maps(world in world(), target in 1_i64..2_000, is_cpu: bool) {
        let source = if is_cpu {
            Source::Resource { target: ResourceTarget::AverageValue(Milli(target)) }
        } else {
            Source::Pods { average: Milli(target) }
        };
        let found = ours(&world, Metric { name: "cpu".into(), source });
        prop_assert_eq!(found, naive(&world, is_cpu, false, target));
    }
}
