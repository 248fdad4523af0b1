//! Systems with and without findings.

use super::*;
use crate::cloud::testing::{aws, host, service, system};
use crate::settings::*;
use control::alarm::{AlarmSettings, Comparison, FewSamples, Missing};
use control::metric::Statistic;
use control::scaling::hpa::{self, HpaSettings};
use control::scaling::keda;
use control::scaling::{
    Adjustment, Platform, Policy as Rules, Preset, ScaleIn, ScalerSettings, Scheduled, SimpleScaling,
    StepScaling, TargetTracking,
};
use std::time::Duration;
use units::{InstanceCount, Quantile};

const CPU: MetricId = MetricId(0);
const TIME: MetricId = MetricId(1);
const COUNT: MetricId = MetricId(2);

fn alarm(metric: MetricId, statistic: Statistic, comparison: Comparison, threshold: f64) -> AlarmSettings {
    AlarmSettings::new(metric, statistic, Duration::from_secs(60), comparison, threshold)
}

fn average(comparison: Comparison, threshold: f64) -> AlarmSettings {
    alarm(CPU, Statistic::Average, comparison, threshold)
}

/// +k above high, -j below low.
fn band(min: u32, high: f64, more: i32, low: f64, fewer: i32) -> ScalerSettings {
    let mut scaler = ScalerSettings::new(Platform::Ecs, min, 20);
    scaler.alarms = vec![average(Comparison::GreaterThan, high), average(Comparison::LessThan, low)];
    scaler.policies = vec![
        Rules::Step(StepScaling::of(vec![AlarmId(0)], more)),
        Rules::Step(StepScaling::of(vec![AlarmId(1)], -fewer)),
    ];
    scaler
}

fn linted(change: impl FnOnce(&mut Service, &mut ScalerSettings)) -> Vec<Finding> {
    let mut scaler = band(4, 60.0, 1, 20.0, 1);
    let mut service = service(4);
    change(&mut service, &mut scaler);
    service.scaling.policy =
        aws(scaler, &[Metric::CpuUtilization, Metric::ResponseTime, Metric::RequestCount]);
    lint(&system(service, &[5.0, 20.0, 20.0, 20.0]))
}

fn rules(findings: &[Finding]) -> Vec<Rule> {
    findings.iter().map(|finding| finding.rule).collect()
}

#[test]
fn a_sound_policy_has_no_findings() {
    assert_eq!(linted(|_, _| {}), []);
}

#[test]
fn narrow_bands_flap_up_to_a_number_of_instances() {
    // 60 * 4 / 5 is 48: at 50 it scales in again. 50 > 60 n / (n + 1) up to n = 4; 50 n / (n - 1) > 60 up to 5.
    let findings = linted(|_, scaler| *scaler = band(4, 60.0, 1, 50.0, 1));
    assert_eq!(rules(&findings), [Rule::FlappingBand]);
    assert!(findings[0].why.contains("at 5 instances -1 at 50 brings the metric to 62.5"), "{}", findings[0]);
    assert!(findings[0].remedy.contains("to 48 or less"), "{}", findings[0]);
    assert_eq!(linted(|_, scaler| *scaler = band(4, 60.0, 1, 47.9, 1)), []);
    let findings = linted(|_, scaler| *scaler = band(4, 60.0, 4, 40.0, 1));
    assert!(findings[0].why.contains("at 7 instances +4 at 60 brings the metric to 38.2"), "{}", findings[0]);
    let findings = linted(|_, scaler| *scaler = band(4, 50.0, 1, 60.0, 1));
    assert!(findings[0].why.contains("both ask at once"), "{}", findings[0]);
}

#[test]
fn bands_of_shares_and_of_simple_policies_are_judged_by_what_they_come_to() {
    // From 4 instances, +50 % is +2: 60 * 4 / 6 is 40; from 14 to the maximum of 20, it is 42.
    let shares = |low| {
        linted(|_, scaler| {
            *scaler = band(4, 60.0, 50, low, 1);
            let Rules::Step(step) = &mut scaler.policies[0] else { unreachable!("a step policy") };
            step.adjustment = Adjustment::PercentChangeInCapacity;
        })
    };
    let findings = shares(45.0);
    assert!(findings[0].why.contains("+50 % at 60 brings the metric to 42.0"), "{}", findings[0]);
    assert_eq!(shares(39.0), []);
    // A simple policy that sets a number implies nothing about the next one.
    let exact = linted(|_, scaler| {
        *scaler = band(4, 60.0, 1, 20.0, 1);
        scaler.platform = Platform::EC2;
        scaler.policies[0] = Rules::Simple(SimpleScaling {
            alarms: vec![AlarmId(0)],
            adjustment: Adjustment::ExactCapacity,
            change: 10,
            min_adjustment_magnitude: None,
            cooldown: None,
        });
    });
    assert!(!rules(&exact).contains(&Rule::FlappingBand), "{exact:?}");
    // Two are the maximum: +4 from one of them is +1, to 30 %.
    let clamped = linted(|_, scaler| {
        *scaler = band(1, 60.0, 4, 20.0, 1);
        scaler.max = 2;
    });
    assert!(!rules(&clamped).contains(&Rule::FlappingBand), "{clamped:?}");
}

#[test]
fn target_tracking_flaps_beside_steps_too() {
    let beside = |target, never_in, comparison, threshold, change| {
        linted(|_, scaler| {
            scaler.alarms = vec![average(comparison, threshold)];
            let scale_in = if never_in { ScaleIn::Disabled } else { ScaleIn::Enabled };
            let tracking = TargetTracking { scale_in, ..TargetTracking::new(CPU, target, Preset::ECS) };
            scaler.policies =
                vec![Rules::TargetTracking(tracking), Rules::Step(StepScaling::of(vec![AlarmId(0)], change))];
        })
    };
    let (below, above) = (Comparison::LessThan, Comparison::GreaterThan);
    let told = |findings: &[Finding]| {
        findings.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n").replace("they will flap ", "")
    };
    // Above 50 it scales out, below 60 the step scales in.
    assert_eq!(
        told(&beside(50.0, false, below, 60.0, -1)),
        "web: policy 0 and web: alarm 0: (flapping-band): between 50 and 60 both ask at once, at every number of \
         instances; lower the threshold of scaling in below 50"
    );
    // 48 * 20 / 19 is above 50.
    assert_eq!(
        told(&beside(50.0, true, below, 48.0, -1)),
        "web: policy 0 and web: alarm 0: (flapping-band): at 20 instances -1 at 48 brings the metric to 50.5, above \
         50, where scaling out begins; so at numbers up to 20; lower the threshold of scaling in to 40 or less, or \
         raise the minimum above 20"
    );
    assert_eq!(beside(50.0, false, below, 40.0, -1), []);
    // It scales in below 45: from 20 to 18, at which the metric is at 50.
    assert_eq!(
        told(&beside(50.0, false, above, 47.0, 1)),
        "web: alarm 0 and web: policy 0: (flapping-band): at 20 instances target tracking at 45 brings the metric to \
         50.0, above 47, where scaling out begins; so at numbers up to 20; let one policy scale out and in, or give \
         target tracking `never_in: true`"
    );
    assert_eq!(rules(&beside(50.0, false, above, 40.0, 1)), [Rule::FlappingBand]);
    assert_eq!(rules(&beside(50.0, true, above, 40.0, 1)), [Rule::NoScaleIn]);
    // The excess of a large step is removed once, without flapping.
    assert_eq!(beside(50.0, false, above, 80.0, 4), []);
}

#[test]
fn percentiles_of_few_requests_are_noise() {
    let p99 = |few_samples, period: u64| {
        linted(|_, scaler| {
            scaler.alarms.push(AlarmSettings {
                few_samples,
                period: Duration::from_secs(period),
                ..alarm(TIME, Statistic::Percentile(Quantile::P99), Comparison::GreaterThan, 1.0)
            });
        })
    };
    // 1000 needed; 300 to 1200 requests a minute.
    let findings = p99(FewSamples::Evaluate, 60);
    assert_eq!(rules(&findings), [Rule::FewSamples]);
    assert!(findings[0].why.contains("there are 300, and in 25 % of the time"), "{}", findings[0]);
    assert!(findings[0].remedy.contains("4 minutes"), "{}", findings[0]);
    assert_eq!(p99(FewSamples::Ignore, 60), []);
    assert_eq!(p99(FewSamples::Evaluate, 240), []);
}

#[test]
fn latency_and_counts_are_no_targets() {
    for metric in [TIME, COUNT] {
        let findings = linted(|_, scaler| {
            scaler.policies.push(Rules::TargetTracking(TargetTracking::new(metric, 0.5, Preset::ECS)));
        });
        assert_eq!(rules(&findings), [Rule::NotProportional]);
        assert_eq!(findings[0].place, "web: policy 2");
    }
}

#[test]
fn the_maximum_is_one_instance_and_boots() {
    let maximum = |service: &mut Service, scaler: &mut ScalerSettings| {
        service.start.boot_cpu = 1.0;
        scaler.alarms.push(alarm(CPU, Statistic::Maximum, Comparison::GreaterThan, 60.0));
    };
    let findings = linted(maximum);
    assert_eq!(rules(&findings), [Rule::MaximumCpu]);
    assert!(findings[0].why.contains("uses 100 % for 40 s, above 60"), "{}", findings[0]);
}

#[test]
fn credits_mislead_alarms_on_the_processor() {
    let kind = crate::credits::burstable_type("t2.small").expect("in the table");
    let burstable = |unlimited: bool, low: f64| {
        linted(|service, scaler| {
            *scaler = band(4, 60.0, 1, low, 1);
            service.hosts = vec![Host { credits: Some(kind.credits(unlimited)), ..host() }];
        })
    };
    let findings = burstable(false, 30.0);
    assert_eq!(rules(&findings), [Rule::BurstableCpu]);
    assert!(findings[0].why.contains("reads 20.0 % under any load, below 30"), "{}", findings[0]);
    assert!(burstable(false, 10.0)[0].why.contains("never reaches 60"));
    assert_eq!(burstable(true, 30.0), []);
}

#[test]
fn quotas_below_the_maximum_are_named() {
    let mut service = service(4);
    service.scaling.policy = aws(band(4, 60.0, 1, 20.0, 1), &[Metric::CpuUtilization]);
    let mut system = system(service, &[5.0]);
    system.quotas.addresses = Some(15);
    let findings = lint(&system);
    assert_eq!(rules(&findings), [Rule::Ceiling]);
    assert!(findings[0].why.contains("may ask for 20, and there are 15"), "{}", findings[0]);
    system.quotas.addresses = Some(30);
    assert_eq!(lint(&system), []);
    system.services[0].deployments = vec![Deployment { at: Duration::ZERO, least_healthy: 1.0, most: 2.0 }];
    assert!(lint(&system)[0].why.contains("may run 40 at once, above 30"));
    // Another service in the same account is not deployed.
    let mut other = system.services[0].clone();
    other.deployments.clear();
    system.services.push(other);
    system.quotas.addresses = Some(60);
    assert_eq!(lint(&system), []);
    // A schedule may raise the maximum.
    let Policy::Aws(aws) = &mut system.services[1].scaling.policy else { unreachable!("a policy of AWS") };
    let raise = Scheduled { at: units::Timestamp::ZERO, min: None, max: Some(50), desired: None };
    aws.scaler.scheduled.push(raise);
    assert!(lint(&system)[0].why.contains("may ask for 70"), "{:?}", lint(&system));
}

#[test]
fn a_cooldown_shorter_than_start_up_adds_twice() {
    let findings = linted(|service, scaler| {
        service.start.boot = Duration::from_secs(120);
        scaler.policies[0] = Rules::Step(StepScaling {
            cooldown: Some(Duration::from_secs(60)),
            ..StepScaling::of(vec![AlarmId(0)], 1)
        });
    });
    assert_eq!(rules(&findings), [Rule::ShortCooldown]);
    assert!(findings[0].why.contains("60 s of cooldown, and 120 s until"), "{}", findings[0]);
}

#[test]
fn missing_data_should_not_scale_out() {
    let findings = linted(|_, scaler| {
        scaler.alarms.push(AlarmSettings {
            missing: Missing::Breaching,
            ..alarm(TIME, Statistic::Average, Comparison::GreaterThan, 1.0)
        });
    });
    assert_eq!(rules(&findings), [Rule::MissingData]);
}

#[test]
fn settings_that_cannot_be_are_found() {
    let findings = linted(|service, scaler| {
        scaler.alarms[0].period = Duration::from_secs(45);
        service.instances = InstanceCount::new(40);
        service.deployments = vec![Deployment { at: Duration::ZERO, least_healthy: 1.0, most: 1.0 }];
    });
    assert_eq!(rules(&findings), [Rule::Invalid, Rule::Invalid, Rule::StuckDeployment]);
}

#[test]
fn calls_carry_the_load_on() {
    let mut front = service(2);
    front.name = "front".to_owned();
    let call = Call { service: ServiceId(1), endpoint: 0 };
    front.endpoints[0].steps.push(Step::Calls(vec![call, call]));
    let mut behind = service(4);
    let mut scaler = band(4, 60.0, 1, 20.0, 1);
    // 200 needed: 60 to 240 requests a minute enter, twice as many come here.
    scaler.alarms.push(alarm(TIME, Statistic::Percentile(Quantile::P95), Comparison::GreaterThan, 1.0));
    behind.scaling.policy = aws(scaler, &[Metric::CpuUtilization, Metric::ResponseTime]);
    let mut system = system(front, &[1.0, 4.0]);
    system.services.push(behind);
    let findings = lint(&system);
    assert_eq!(rules(&findings), [Rule::FewSamples]);
    assert!(findings[0].why.contains("there are 120, and in 50 %"), "{}", findings[0]);
}

#[test]
fn a_system_that_cannot_be_is_told_with_its_places() {
    let mut service = service(4);
    service.prices[0].per_hour = -1.0;
    service.start.launches_per_second = Some(0.0);
    service.deployments = vec![Deployment { at: Duration::ZERO, least_healthy: 1.5, most: 0.5 }];
    service.scaling.goal = Some(Goal { quantile: Quantile::P95, below: Duration::ZERO });
    let mut system = system(service, &[5.0]);
    system.measured = Duration::from_secs(90);
    let places: Vec<String> = lint(&system).into_iter().map(|finding| finding.place).collect();
    let expected = [
        "services[0].start.launches_per_second",
        "services[0].prices[0].per_hour",
        "services[0].deployments[0].least_healthy",
        "services[0].deployments[0].most",
        "services[0].scaling.goal.below",
        "measured",
    ];
    assert_eq!(places[..6], expected, "{places:?}");
}

/// One of the rules on a service with an autoscaler of pods.
fn hpa_linted(percent: u32, change: impl FnOnce(&mut Service, &mut HpaScaling)) -> Vec<Finding> {
    let settings = HpaSettings::new(
        InstanceCount::new(2),
        InstanceCount::new(20),
        vec![hpa::Metric::cpu_utilization(percent)],
    );
    let mut scaling = HpaScaling {
        hpa: settings,
        metrics: vec![Query::last(PodMetric::Cpu)],
        request: Some(0.5),
        scheduled: Vec::new(),
    };
    let mut service = service(2);
    change(&mut service, &mut scaling);
    service.scaling.policy = Policy::Hpa(Box::new(scaling));
    lint(&system(service, &[50.0, 200.0, 100.0, 60.0]))
}

#[test]
fn a_sound_autoscaler_of_pods_has_no_findings() {
    assert_eq!(hpa_linted(60, |_, _| {}), []);
}

#[test]
fn a_maximum_that_cannot_carry_the_peak_is_found() {
    // A core at 10 ms a request: 100 requests/s.
    let of = |max: u32| {
        linted(|_, scaler| {
            *scaler = band(4, 60.0, 1, 20.0, 1);
            scaler.max = max;
        })
    };
    assert_eq!(of(4), []);
    let low = |max: u32, rate: f64| {
        let mut service = service(1);
        let mut scaler = band(1, 60.0, 1, 20.0, 1);
        scaler.max = max;
        service.scaling.policy = aws(scaler, &[Metric::CpuUtilization]);
        lint(&system(service, &[50.0, rate, 50.0, 50.0]))
    };
    assert_eq!(low(4, 400.0), []);
    let findings = low(2, 400.0);
    assert_eq!(rules(&findings), [Rule::LowMaximum]);
    assert_eq!(findings[0].place, "web: scaling.max");
    assert!(
        findings[0]
            .why
            .contains("2 instances answer at most 200 requests/s (100.0 each, limited by its processors)")
            && findings[0].why.contains("50 % of its requests"),
        "{}",
        findings[0]
    );
    assert!(findings[0].remedy.contains("more than 4"), "{}", findings[0]);
    // A schedule that raises the maximum counts.
    let mut service = service(1);
    let mut scaler = band(1, 60.0, 1, 20.0, 1);
    scaler.max = 2;
    scaler.scheduled = vec![Scheduled { at: units::Timestamp::ZERO, min: None, max: Some(8), desired: None }];
    service.scaling.policy = aws(scaler, &[Metric::CpuUtilization]);
    assert_eq!(lint(&system(service, &[400.0])), []);
}

#[test]
fn a_target_that_asks_for_more_than_the_maximum_is_found() {
    let requests = |target: i64| {
        hpa_linted(60, |_, scaling| {
            let average = hpa::Milli(1000 * target);
            let source = hpa::Source::Pods { average };
            scaling.hpa.metrics.push(hpa::Metric { name: "requests".to_owned(), source });
            scaling.metrics.push(Query::last(PodMetric::RequestsPerSecond));
        })
    };
    assert_eq!(requests(10), []);
    let findings = requests(5);
    assert_eq!(rules(&findings), [Rule::PinnedAtMaximum]);
    assert!(findings[0].why.contains("`requests_per_second: 5` asks for 40 instances"), "{}", findings[0]);
    // 200/s at 10 ms are two cores; at 10 % of half a core each that is 40 pods.
    let findings = hpa_linted(15, |_, scaling| scaling.request = Some(0.3));
    assert_eq!(rules(&findings), [Rule::PinnedAtMaximum]);
    assert!(findings[0].why.contains("`cpu: 15%` asks for 45 instances"), "{}", findings[0]);
}

#[test]
fn a_use_that_is_never_reached_is_found() {
    // The limit is what a pod requests: 100 %, of which 95 % and the tolerance are never exceeded.
    let limited = |percent| {
        hpa_linted(percent, |service, scaling| {
            service.hosts[0].quota = Some(Quota { cores: 0.5, period: Duration::from_millis(100) });
            scaling.request = Some(0.5);
        })
    };
    assert_eq!(limited(80), []);
    let findings = limited(95);
    assert_eq!(rules(&findings), [Rule::UnreachableTarget]);
    assert_eq!(findings[0].place, "web: scaling.hpa.cpu");
    assert!(findings[0].why.contains("its limit of 0.5 cores"), "{}", findings[0]);
    // One thread that waits 90 ms for 10 ms of work uses a tenth of a core.
    let waits = |service: &mut Service| {
        service.server = Server::new(1, 1);
        service.endpoints[0].steps = vec![Step::Work {
            cpu: Distribution::Constant(Duration::from_millis(10)),
            wait: Distribution::Constant(Duration::from_millis(90)),
            bursts: 1,
            incidents: None,
        }];
    };
    let findings = hpa_linted(60, |service, _| waits(service));
    assert!(rules(&findings).contains(&Rule::UnreachableTarget), "{findings:?}");
    let found = findings.iter().find(|one| one.rule == Rule::UnreachableTarget).unwrap();
    assert!(found.why.contains("limited by the threads of its server"), "{found}");
    let of_aws = linted(|service, _| {
        waits(service);
        service.start.boot_cpu = 0.0;
    });
    assert_eq!(rules(&of_aws), [Rule::UnreachableTarget]);
    assert_eq!(of_aws[0].place, "web: alarm 0");
    assert!(of_aws[0].why.contains("about 10 % of its processors, below 60"), "{}", of_aws[0]);
}

#[test]
fn requests_above_the_limit_are_found() {
    let findings = hpa_linted(60, |service, scaling| {
        service.hosts[0].quota = Some(Quota { cores: 0.5, period: Duration::from_millis(100) });
        scaling.request = Some(0.6);
    });
    assert_eq!(rules(&findings), [Rule::LimitBelowRequest]);
    assert!(findings[0].why.contains("requests 0.6 cores and may use 0.5"), "{}", findings[0]);
}

#[test]
fn scaling_out_without_scaling_in_is_found() {
    let findings = linted(|_, scaler| drop(scaler.policies.pop()));
    assert_eq!(rules(&findings), [Rule::NoScaleIn]);
    assert!(findings[0].why.contains("up to 20 instances run on"), "{}", findings[0]);
    let never = |scale_in| {
        linted(|_, scaler| {
            scaler.alarms.clear();
            let tracking = TargetTracking { scale_in, ..TargetTracking::new(CPU, 50.0, Preset::ECS) };
            scaler.policies = vec![Rules::TargetTracking(tracking)];
        })
    };
    assert_eq!(never(ScaleIn::Enabled), []);
    assert_eq!(rules(&never(ScaleIn::Disabled)), [Rule::NoScaleIn]);
    // A schedule takes instances away.
    let scheduled = linted(|_, scaler| {
        scaler.policies.pop();
        scaler.scheduled =
            vec![Scheduled { at: units::Timestamp::ZERO, min: None, max: Some(4), desired: None }];
    });
    assert_eq!(scheduled, []);
    let findings = hpa_linted(60, |_, scaling| {
        let mut behavior = hpa::Behavior::default();
        behavior.down.select = hpa::Select::Disabled;
        scaling.hpa.behavior = Some(behavior);
    });
    assert_eq!(rules(&findings), [Rule::NoScaleIn]);
}

#[test]
fn traps_of_pods_are_told_with_their_numbers() {
    let findings = hpa_linted(10, |_, scaling| scaling.request = Some(1.0));
    assert_eq!(rules(&findings), [Rule::CoarseTarget]);
    assert!(findings[0].why.contains("scales out from 12 % on, 20 % above the target"), "{}", findings[0]);
    let findings = hpa_linted(60, |_, scaling| scaling.hpa.max = InstanceCount::new(60));
    assert_eq!(rules(&findings), [Rule::CoarseTolerance]);
    assert!(findings[0].why.contains("near the maximum of 60, 6 pods may be missing"), "{}", findings[0]);
    let findings = hpa_linted(60, |service, scaling| {
        service.start.warm_up = Duration::from_secs(240);
        service.start.warm_up_factor = 5.0;
        scaling.hpa.min = InstanceCount::new(10);
        service.instances = InstanceCount::new(10);
    });
    assert_eq!(rules(&findings), [Rule::WarmUpLoad]);
    assert!(findings[0].why.contains("11 pods have 120 % of the utilization that 10 had"), "{}", findings[0]);
    assert!(findings[0].remedy.contains("stabilizationWindowSeconds` to 240"), "{}", findings[0]);
}

#[test]
fn a_zone_whose_loss_the_others_cannot_carry_is_found() {
    let of = |zones: usize, percent: u32, min: u32, max: u32| {
        hpa_linted(percent, |service, scaling| {
            service.zones.names = (0..zones).map(|zone| format!("zone-{zone}")).collect();
            scaling.request = None;
            service.instances = InstanceCount::new(min);
            (scaling.hpa.min, scaling.hpa.max) = (InstanceCount::new(min), InstanceCount::new(max));
        })
    };
    // 200 requests/s at the peak, 100 for each instance. At 50 %, four run, and two are left of two zones.
    assert_eq!(of(2, 50, 2, 20), []);
    // At 60 %, four run too; at 80 %, three, of which one is left of two zones and two of three.
    assert_eq!(of(3, 80, 2, 20), []);
    let findings = of(2, 80, 2, 20);
    assert_eq!(rules(&findings), [Rule::ZoneLoss]);
    let why = &findings[0].why;
    assert!(why.contains("3 instances run in 2 zones; without one zone, 1 are left"), "{why}");
    assert!(why.contains("at most 100/s") && why.contains("50 % of the requests"), "{why}");
    // Provisioned in 45 s, booted in 40 s.
    assert!(why.contains("at least 85.0 s"), "{why}");
    assert!(findings[0].remedy.contains("run 4 instances or more"), "{}", findings[0]);
    // The minimum keeps four; a maximum of three does not allow them; without zones nothing is said.
    assert_eq!(of(2, 80, 4, 20), []);
    assert!(of(2, 80, 2, 3)[0].remedy.contains("`max: 4`"));
    assert_eq!(of(0, 80, 2, 20), []);
    assert_eq!(rules(&of(1, 50, 2, 20)), [Rule::ZoneLoss]);
}

#[test]
fn step_scaling_ends_where_no_alarm_fires_any_more() {
    // 200 requests/s at the peak, 100 for each instance: the processors of n instances are used by 200 / n percent.
    let of = |comparison, threshold, change: fn(&mut ScalerSettings)| {
        let mut scaler = band(2, threshold, 1, 10.0, 1);
        scaler.alarms[0].comparison = comparison;
        change(&mut scaler);
        let mut service = service(2);
        service.zones.names = ["a", "b"].map(String::from).to_vec();
        service.scaling.policy = aws(scaler, &[Metric::CpuUtilization, Metric::ResponseTime]);
        let findings = lint(&system(service, &[50.0, 200.0, 200.0]));
        findings.into_iter().find(|one| one.rule == Rule::ZoneLoss).map(|one| one.why)
    };
    let (above, from) = (Comparison::GreaterThan, Comparison::GreaterThanOrEqualTo);
    // Silent at 4 instances (50 %), of which two zones keep 2.
    assert_eq!(of(above, 60.0, |_| {}), None);
    // Silent at 3 (67 %), of which 1 is left.
    let why = of(above, 80.0, |_| {}).expect("a finding");
    assert!(why.contains("3 instances run in 2 zones; without one zone, 1 are left"), "{why}");
    // At exactly 100 %, 2 instances are silent only if the alarm needs more.
    assert!(of(above, 100.0, |_| {}).expect("a finding").contains("2 instances run"));
    assert!(of(from, 100.0, |_| {}).expect("a finding").contains("3 instances run"));
    // A step that begins 25 above the threshold adds from 80 % on.
    let late_step: fn(&mut ScalerSettings) = |scaler| {
        let Rules::Step(step) = &mut scaler.policies[0] else { unreachable!("a step policy") };
        step.steps[0].lower = Some(25.0);
    };
    assert!(of(above, 55.0, late_step).expect("a finding").contains("3 instances run"));
    // How many instances an alarm on the response time leaves is unknown: the maximum.
    let by_time: fn(&mut ScalerSettings) = |scaler| {
        scaler.alarms.push(alarm(TIME, Statistic::Average, Comparison::GreaterThan, 1.0));
        scaler.policies.push(Rules::Step(StepScaling::of(vec![AlarmId(2)], 1)));
    };
    assert_eq!(of(above, 80.0, by_time), None);
}

fn keda_linted(change: impl FnOnce(&mut KedaScaling)) -> Vec<Finding> {
    let mut service = service(1);
    service.hosts[0].cores = 1;
    let target = hpa::TotalTarget::AverageValue(hpa::Milli(20_000));
    let trigger = keda::Trigger::Prometheus { target, activation: 1.0, ignore_null_values: true };
    let query = Query { window: Duration::from_secs(60), ..Query::last(PodMetric::RequestsPerSecond) };
    let mut settings = keda::KedaSettings::new(vec![trigger]);
    settings.max = InstanceCount::new(10);
    let mut scaling = KedaScaling { keda: settings, inputs: vec![KedaInput::Query(query)], request: None };
    change(&mut scaling);
    service.instances = scaling.keda.bounds().0;
    service.scaling.policy = Policy::Keda(Box::new(scaling));
    lint(&system(service, &[5.0, 20.0, 20.0, 20.0]))
}

#[test]
fn settings_of_keda_that_do_nothing_are_found() {
    let count = InstanceCount::new;
    assert_eq!(keda_linted(|_| {}), []);
    let findings = keda_linted(|scaling| {
        scaling.keda.min = Some(count(1));
        scaling.keda.cooldown_period = Duration::from_secs(600);
    });
    assert_eq!(rules(&findings), [Rule::UnusedSetting]);
    assert!(findings[0].why.contains("KEDA waits 10.0 min"), "{}", findings[0]);
    let findings = keda_linted(|scaling| {
        let KedaInput::Query(query) = &mut scaling.inputs[0] else { unreachable!("a query") };
        query.of_pods = true;
    });
    assert_eq!(rules(&findings), [Rule::NeverActivated]);
    let findings =
        keda_linted(|scaling| (scaling.keda.min, scaling.keda.idle) = (Some(count(3)), Some(count(1))));
    assert_eq!(rules(&findings), [Rule::IdleAboveZero]);
    let findings = keda_linted(|scaling| {
        let behavior = keda::FallbackBehavior::Static;
        scaling.keda.fallback = Some(keda::Fallback { failure_threshold: 3, replicas: 30, behavior });
    });
    assert_eq!(rules(&findings), [Rule::FallbackOutOfBounds]);
    assert_eq!(rules(&keda_linted(|scaling| scaling.keda.pause = keda::Pause::All)), [Rule::Paused]);
    let findings = keda_linted(|scaling| {
        let keda::Trigger::Prometheus { activation, .. } = &mut scaling.keda.triggers[0] else { return };
        *activation = 20.0;
    });
    assert_eq!(rules(&findings), [Rule::ActivationAboveTarget]);
    // What KEDA refuses is invalid.
    let findings = keda_linted(|scaling| scaling.keda.idle = Some(count(0)));
    assert_eq!(rules(&findings), [Rule::Invalid]);
}

/// The autoscaler that KEDA makes has the traps of any other.
#[test]
fn the_autoscaler_of_keda_is_checked_too() {
    let findings = keda_linted(|scaling| {
        scaling.keda.min = Some(InstanceCount::new(1));
        scaling.keda.triggers.push(keda::cpu_utilization(95));
        scaling.inputs.push(KedaInput::Cpu);
    });
    assert_eq!(rules(&findings), [Rule::UnreachableTarget]);
    assert!(findings[0].place.ends_with("scaling.keda.cpu"), "{}", findings[0]);
}
