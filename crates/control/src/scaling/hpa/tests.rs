use super::*;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use core::time::Duration;
use proptest::prelude::*;

const NOW: Timestamp = Timestamp::from_secs(36_000);

fn count(replicas: u32) -> InstanceCount {
    InstanceCount::new(replicas)
}

fn seconds_ago(seconds: u64) -> Timestamp {
    NOW - Duration::from_secs(seconds)
}

fn sample(value: i64) -> Sample {
    Sample { value: Milli(value), taken: NOW, window: Duration::from_secs(60) }
}

/// Readings of pods with this usage and these requests; further pods have no metric.
fn used(usage: &[i64], requests: &[i64]) -> Vec<PodReading> {
    let reading = |(index, request): (usize, &i64)| PodReading {
        sample: usage.get(index).copied().map(sample),
        request: Some(Milli(*request)),
    };
    requests.iter().enumerate().map(reading).collect()
}

/// An autoscaler between bounds, and a workload whose pods are all ready.
struct World {
    hpa: Hpa,
    replicas: u32,
}

impl World {
    fn new(bounds: (u32, u32), replicas: u32, metrics: Vec<Metric>) -> Self {
        World::with(HpaSettings::new(count(bounds.0), count(bounds.1), metrics), replicas)
    }

    fn with(settings: HpaSettings, replicas: u32) -> Self {
        let mut hpa = Hpa::new(settings).unwrap();
        // The upstream tests of the controller begin without recommendations that would limit scaling down.
        hpa.recommendations = Recommendations::of([(seconds_ago(3_600), 1)]);
        World { hpa, replicas }
    }

    fn sync(&mut self, readings: &[Reading<'_>]) -> Decision {
        self.sync_with(readings, self.replicas)
    }

    fn sync_with(&mut self, readings: &[Reading<'_>], status: u32) -> Decision {
        let pods = vec![Pod::running_since(Timestamp::ZERO); status as usize];
        let spec_replicas = count(self.replicas);
        self.hpa
            .sync(NOW, &Observation { spec_replicas, status_replicas: count(status), pods: &pods, readings })
    }

    fn cpu(&mut self, usage: &[i64], requests: &[i64]) -> Decision {
        let pods = used(usage, requests);
        self.sync_with(&[Reading::Pods { pods: &pods, others: &[] }], requests.len() as u32)
    }

    fn event(&self, decision: &Decision) -> String {
        self.hpa.rescale_words(decision).map(|words| words.to_string()).unwrap_or_default()
    }

    fn active(&self, decision: &Decision) -> (&'static str, String) {
        let (reason, words) = self.hpa.scaling_active_words(decision.scaling_active.unwrap());
        (reason, words.to_string())
    }
}

fn cpu(percent: u32) -> Vec<Metric> {
    vec![Metric::cpu_utilization(percent)]
}

/// KEDA, and an adapter of Prometheus, pass on a size that another program computed: an average of 1 for each replica.
#[test]
fn a_metric_that_is_the_wanted_size_gives_that_size() {
    let recommended = |tolerance: f64, current: u32, wanted: u32| {
        let target = TotalTarget::AverageValue(Milli(1_000));
        let metric =
            Metric { name: "wanted".to_string(), source: Source::External { selector: None, target } };
        let mut settings = HpaSettings::new(count(1), count(100), vec![metric]);
        settings.controller.tolerance = tolerance;
        let decision =
            World::with(settings, current).sync(&[Reading::Values(&[Milli(1_000 * i64::from(wanted))])]);
        decision.recommended.expect("a proposal").1.replicas.unsigned_abs()
    };
    for current in 1..=60 {
        for wanted in 1..=60 {
            assert_eq!(recommended(0.0, current, wanted), wanted, "from {current}");
            // By default, a difference of a tenth is none.
            let is_near = 10 * wanted.abs_diff(current) <= current;
            let expected = if is_near { current } else { wanted };
            assert_eq!(recommended(0.1, current, wanted), expected, "from {current} to {wanted}");
        }
    }
}

fn queue(target: i64) -> Metric {
    let target = TotalTarget::Value(Milli(target));
    Metric { name: "qps".to_string(), source: Source::External { selector: None, target } }
}

#[test]
fn a_workload_without_replicas_is_left_alone() {
    let decision = World::new((3, 5), 0, cpu(90)).sync(&[]);
    assert_eq!((decision.to, decision.rescale), (count(0), None));
    assert_eq!(decision.scaling_active, Some(ScalingActive::ScalingDisabled));
    assert_eq!(decision.able_to_scale.reason(), "SucceededGetScale");
}

#[test]
fn bounds_hold_without_asking_metrics() {
    let mut few = World::new((3, 5), 2, cpu(90));
    let decision = few.sync(&[Reading::Unavailable]);
    assert_eq!(decision.to, count(3));
    assert_eq!(
        few.event(&decision),
        "New size: 3; reason: Current number of replicas below Spec.MinReplicas"
    );
    let mut many = World::new((3, 5), 10, cpu(90));
    let decision = many.sync(&[Reading::Unavailable]);
    assert_eq!(decision.to, count(5));
    assert_eq!(
        many.event(&decision),
        "New size: 5; reason: Current number of replicas above Spec.MaxReplicas"
    );
    assert_eq!(decision.able_to_scale.reason(), "SucceededRescale");
}

/// The upstream tests of the controller with a processor metric and no behavior.
#[test]
fn sizes_follow_the_processor_as_upstream() {
    // (bounds, replicas, target, usage, requests, expected, limit)
    type Row = ((u32, u32), u32, u32, &'static [i64], &'static [i64], u32, Limit);
    let rows: [Row; 8] = [
        // The maximum size is a bound.
        ((2, 5), 3, 90, &[8_000, 9_500, 1_000], &[900, 1_000, 1_100], 5, Limit::TooManyReplicas),
        // Two of four pods have no metric: they count as using their whole request.
        ((2, 6), 4, 100, &[400, 95], &[1_000; 4], 3, Limit::DesiredWithinRange),
        // At most twice as many.
        ((1, 100), 3, 10, &[100, 200, 300], &[100; 3], 6, Limit::ScaleUpLimit),
        ((1, 5), 1, 50, &[200], &[200], 2, Limit::DesiredWithinRange),
        ((1, 5), 2, 50, &[200, 200], &[400; 2], 2, Limit::DesiredWithinRange),
        // Five pods during a surge, four wanted: within the tolerance the wanted ones stay.
        ((1, 8), 4, 50, &[500; 5], &[1_000; 5], 4, Limit::DesiredWithinRange),
        ((2, 6), 3, 30, &[300, 500, 700], &[1_000; 3], 5, Limit::DesiredWithinRange),
        ((2, 6), 5, 50, &[100, 300, 500, 250, 250], &[1_000; 5], 3, Limit::DesiredWithinRange),
    ];
    for (bounds, replicas, target, usage, requests, expected, limit) in rows {
        let decision = World::new(bounds, replicas, cpu(target)).cpu(usage, requests);
        assert_eq!((decision.to, decision.scaling_limited), (count(expected), Some(limit)), "{usage:?}");
    }
}

#[test]
fn the_largest_metric_wins_and_is_named() {
    let pods = Metric { name: "qps".to_string(), source: Source::Pods { average: Milli(15_000) } };
    let mut world = World::new((1, 5), 3, vec![pods, Metric::cpu_utilization(10)]);
    let rates = used(&[20_000, 10_000, 30_000], &[0; 3]);
    let load = used(&[200, 100, 300], &[1_000; 3]);
    let reading = |pods| Reading::Pods { pods, others: &[] };
    let decision = world.sync(&[reading(&rates), reading(&load)]);
    // 4 by the rate, 6 by the processor.
    assert_eq!(decision.to, count(5));
    assert_eq!(decision.scaling_limited, Some(Limit::TooManyReplicas));
    assert_eq!(
        world.event(&decision),
        "New size: 5; reason: cpu resource utilization (percentage of request) above target"
    );
    let only = World::new((1, 5), 3, vec![world.hpa.settings().metrics[0].clone()]).sync(&[reading(&rates)]);
    assert_eq!(only.to, count(4));
}

#[test]
fn a_metric_that_fails_blocks_scaling_down_but_not_up() {
    let metrics = || vec![queue(1_000_000), Metric::cpu_utilization(50)];
    let low = used(&[100, 300, 500, 250, 250], &[1_000; 5]);
    let readings = [Reading::Unavailable, Reading::Pods { pods: &low, others: &[] }];
    let mut world = World::new((2, 6), 5, metrics());
    let decision = world.sync(&readings);
    assert_eq!((decision.to, decision.failed_metrics), (count(5), 1));
    assert_eq!(decision.able_to_scale.reason(), "SucceededGetScale");
    let expected = "the HPA was unable to compute the replica count: failed to get external metric qps: unable to \
                    get external metric qps: unable to fetch metrics from external metrics API";
    assert_eq!(world.active(&decision), ("FailedGetExternalMetric", expected.to_string()));

    let high = used(&[600, 700, 800, 900, 900], &[1_000; 5]);
    let readings = [Reading::Unavailable, Reading::Pods { pods: &high, others: &[] }];
    let decision = World::new((2, 10), 5, metrics()).sync(&readings);
    assert_eq!((decision.to, decision.failed_metrics), (count(8), 1));

    // It did not before 1.21.
    let mut settings = HpaSettings::new(count(2), count(6), metrics());
    settings.version = Version::new(20).unwrap();
    let readings = [Reading::Unavailable, Reading::Pods { pods: &low, others: &[] }];
    assert_eq!(World::with(settings, 5).sync(&readings).to, count(3));
}

#[test]
fn failures_are_told_in_upstreams_words() {
    let mut world = World::new((1, 5), 1, cpu(100));
    let decision = world.sync(&[Reading::Pods { pods: &[PodReading::default()], others: &[] }]);
    let expected = "the HPA was unable to compute the replica count: failed to get cpu utilization: unable to get \
                    metrics for resource cpu: no metrics returned from resource metrics API";
    assert_eq!(world.active(&decision), ("FailedGetResourceMetric", expected.to_string()));
    let without_request = PodReading { sample: Some(sample(200)), request: None };
    let decision = world.sync(&[Reading::Pods { pods: &[without_request], others: &[] }]);
    let expected = "the HPA was unable to compute the replica count: failed to get cpu utilization: missing request \
                    for cpu in Pod 0";
    assert_eq!(world.active(&decision), ("FailedGetResourceMetric", expected.to_string()));
}

#[test]
fn the_first_size_seen_holds_a_workload_up_for_the_window() {
    let settings = HpaSettings::new(count(1), count(10), cpu(50));
    let mut hpa = Hpa::new(settings).unwrap();
    let pods = [Pod::running_since(Timestamp::ZERO); 8];
    let idle = used(&[50; 8], &[1_000; 8]);
    let readings = [Reading::Pods { pods: &idle, others: &[] }];
    let seen =
        Observation { spec_replicas: count(8), status_replicas: count(8), pods: &pods, readings: &readings };
    for second in (0..=300).step_by(15) {
        let decision = hpa.sync(NOW + Duration::from_secs(second), &seen);
        assert_eq!(decision.to, count(8), "after {second} s");
        assert_eq!(decision.able_to_scale.reason(), "ScaleDownStabilized");
    }
    let decision = hpa.sync(NOW + Duration::from_secs(315), &seen);
    assert_eq!((decision.to, decision.rescale), (count(1), Some(RescaleReason::AllBelowTarget)));
}

#[test]
fn from_zero_the_ratio_alone_counts() {
    let mut world = World::new((0, 10), 0, vec![queue(1_000)]);
    assert_eq!(world.sync(&[Reading::Values(&[Milli(0)])]).to, count(0));
    assert_eq!(world.sync(&[Reading::Values(&[Milli(2_100)])]).to, count(3));
}

#[test]
fn an_empty_queue_scales_back_to_zero() {
    let decision = World::new((0, 10), 2, vec![queue(1_000)]).sync(&[Reading::Values(&[Milli(0)])]);
    assert_eq!((decision.to, decision.scaling_limited), (count(0), Some(Limit::DesiredWithinRange)));
}

fn averages(version: u16, usage: &[i64], requests: usize) -> u32 {
    let average = Source::Pods { average: Milli(100) };
    let metric = Metric { name: "qps".to_string(), source: average };
    let mut settings = HpaSettings::new(count(1), count(100), vec![metric]);
    settings.version = Version::new(version).unwrap();
    let pods = used(usage, &vec![0; requests]);
    World::with(settings, requests as u32).sync(&[Reading::Pods { pods: &pods, others: &[] }]).to.get()
}

#[test]
fn an_average_at_its_target_stays_since_1_28() {
    // Two of four pods have no metric. Before, they counted as idle, which halves the average.
    assert_eq!(averages(28, &[100, 100], 4), 4);
    assert_eq!(averages(27, &[100, 100], 4), 2);
}

#[test]
fn missing_pods_count_as_at_the_target_above_100_percent_since_1_26() {
    let replicas = |version| {
        let mut settings = HpaSettings::new(count(1), count(100), cpu(300));
        settings.version = Version::new(version).unwrap();
        World::with(settings, 4).cpu(&[100, 100, 100], &[1_000; 4]).to.get()
    };
    // ⌈82 / 300 × 4⌉ and ⌈32 / 300 × 4⌉
    assert_eq!((replicas(26), replicas(25)), (2, 1));
}

#[test]
fn both_windows_bound_a_recommendation_since_1_21() {
    let stabilized = |version| {
        let mut made = Recommendations::of([(seconds_ago(180), 3)]);
        let window = Duration::from_secs(300);
        made.stabilize(NOW, 2, 1, Windows { up: window, down: window }, Version::new(version).unwrap())
    };
    // The old version scales up although fewer were requested.
    assert_eq!((stabilized(21), stabilized(20)), (2, 3));
}

#[test]
fn rates_count_both_directions_since_1_25() {
    let limit = |version| {
        let rules =
            Rules::of(vec![RatePolicy { change: Change::Percent(300), period: Duration::from_secs(300) }]);
        let events = (&ScaleEvents::of([(seconds_ago(60), 4)]), &ScaleEvents::of([(seconds_ago(60), 2)]));
        scale_up_limit(NOW, 6, events, &rules, Version::new(version).unwrap())
    };
    assert_eq!((limit(25), limit(24)), (16, 8));
}

#[test]
fn disabled_directions_do_not_scale() {
    let mut behavior = Behavior::default();
    behavior.down.select = Select::Disabled;
    let mut settings = HpaSettings::new(count(1), count(10), cpu(50));
    settings.behavior = Some(behavior);
    let decision = World::with(settings, 8).cpu(&[10; 8], &[1_000; 8]);
    assert_eq!((decision.to, decision.scaling_limited), (count(8), Some(Limit::ScaleDownLimit)));
}

#[test]
fn ten_percent_of_seventy_two_is_eight() {
    let rules = Rules::of(vec![RatePolicy { change: Change::Percent(10), period: Duration::from_secs(60) }]);
    let none = (&ScaleEvents::default(), &ScaleEvents::default());
    assert_eq!(scale_down_limit(NOW, 72, none, &rules, Version::NEWEST), 64);
}

#[test]
fn all_problems_of_settings_are_found() {
    let mut settings = HpaSettings::new(count(5), count(2), vec![]);
    let mut behavior = Behavior::default();
    behavior.up.stabilization = Some(Duration::from_secs(7_200));
    behavior.up.policies.clear();
    behavior.down.policies[0].period = Duration::from_secs(1_801);
    behavior.down.tolerance = Quantity::parse("50m");
    settings.behavior = Some(behavior);
    settings.version = Version::new(30).unwrap();
    let problems: Vec<String> = settings.problems().iter().map(ToString::to_string).collect();
    assert_eq!(
        problems,
        [
            "`minReplicas` is 5, above `maxReplicas` at 2: lower `minReplicas`, or raise `maxReplicas`",
            "there is no metric to scale by: Kubernetes would take a processor utilization of 80 %",
            "`scaleUp.stabilizationWindowSeconds` is 7200, above the most of 3600: lower it",
            "`scaleUp.policies` is empty, so nothing would be allowed: add one, or set `selectPolicy` to `Disabled`",
            "`scaleDown.policies[0].periodSeconds` is 1801, but it may be from 1 to 1800: 15 is usual",
            "`scaleDown.tolerance` is set, but Kubernetes 1.30 has none of its own: leave it out, or say 1.33 or later",
        ]
    );
    assert!(Hpa::new(settings).is_err());
    assert_eq!(
        HpaSettings::new(count(0), count(2), cpu(0)).problems(),
        [HpaSettingsError::ZeroMin, HpaSettingsError::Target { metric: 0 }]
    );
}

proptest! {
    /// For any input, sizes stay within the bounds and nothing panics; the history stays bounded.
    #[test]
    fn sizes_stay_within_the_bounds(
        min in 1_u32..20,
        extra in 0_u32..100,
        start in 0_u32..200,
        target in 1_u32..200,
        with_behavior: bool,
        loads in prop::collection::vec((0_i64..5_000, 0_usize..5, any::<bool>()), 1..60),
    ) {
        let mut settings = HpaSettings::new(count(min), count(min + extra), cpu(target));
        settings.behavior = with_behavior.then(Behavior::default);
        let mut hpa = Hpa::new(settings).unwrap();
        let mut replicas = start;
        for (step, (load, without, young)) in loads.iter().enumerate() {
            let now = Timestamp::from_secs(15 * step as u64);
            let started = if *young { now } else { Timestamp::ZERO };
            let pods = vec![Pod::running_since(started); replicas as usize];
            let usage = vec![*load; (replicas as usize).saturating_sub(*without)];
            let readings = used(&usage, &vec![500; replicas as usize]);
            let seen = Observation {
                spec_replicas: count(replicas),
                status_replicas: count(replicas),
                pods: &pods,
                readings: &[Reading::Pods { pods: &readings, others: &[] }],
            };
            let decision = hpa.sync(now, &seen);
            prop_assert_eq!(decision.rescale.is_some(), decision.to != decision.from);
            replicas = decision.to.get();
            prop_assert!(replicas == 0 && start == 0 || (min..=min + extra).contains(&replicas));
        }
        prop_assert!(hpa.recommendations.values().count() <= 22);
    }
}
