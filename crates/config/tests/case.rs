//! The case files that ship are valid, and their settings are read correctly.

use config::case::{Given, parse, schema_text};
use control::concurrency::Priority;
use control::scaling::hpa::{Behavior, Change, HpaSettings, Metric, Quantity, RatePolicy, Rules, Select};
use control::scaling::hpa::{Milli, ResourceTarget, Source, TotalTarget};
use control::scaling::keda::{
    Cron, Fallback, FallbackBehavior, KedaSettings, Pause, Trigger, cpu_utilization,
};
use control::scaling::knative::KnativeSettings;
use control::scaling::{Adjustment, Platform, Step};
use sim::settings::{
    HealthChecks, KedaInput, KeyId, PodMetric, Policy, Query, Recorded, RequestDeadline, RequestPriority,
    Traffic,
};
use std::path::Path;
use std::time::Duration;
use units::{InstanceCount, Quantile};

const ACCOUNTS: &str = include_str!("../../../cases/accounts.yaml");

fn accounts() -> config::case::Case {
    let case = parse("cases/accounts.yaml", ACCOUNTS, Path::new(""), Given::default());
    case.unwrap_or_else(|problems| panic!("{}", problems.plain()))
}

#[test]
fn each_stage_has_its_own_changes_and_those_before_it() {
    let case = accounts();
    let names: Vec<&str> = case.stages.iter().map(|stage| stage.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "baseline",
            "throttle-1",
            "throttle-2",
            "throttle-3",
            "threads",
            "utilise-1",
            "final",
            "threads-and-processes",
            "shared-queue",
            "on-transition"
        ]
    );
    let scaler = |place: usize| match &case.stages[place].system.services[0].scaling.policy {
        Policy::Aws(aws) => aws.scaler.clone(),
        other => panic!("{other:?}"),
    };
    let (baseline, last) = (scaler(0), scaler(6));
    assert_eq!((baseline.min, baseline.max), (15, 32));
    assert_eq!((last.min, last.max), (2, 32));
    // Of throttle-1, throttle-2 and the last stage.
    let low = &last.alarms[3];
    assert_eq!((low.period, low.threshold), (Duration::from_secs(120), 35.0));
    assert_eq!((last.alarms[1].datapoints_to_alarm, last.alarms[1].threshold), (3, 0.7));
    // Asides change their own stage, and no other stage is based on them.
    assert_eq!(case.stages[8].after, Some(0));
    let server = &case.stages[6].system.services[0].server;
    assert_eq!((server.processes, server.threads), (1, 16));
    // A task of 1 vCPU and 2 GiB.
    let price = case.stages[0].system.services[0].prices[0].per_hour;
    assert!((price - 0.04937).abs() < 1e-9, "{price}");
}

#[test]
fn what_is_paid_by_cores_and_memory_is_what_a_pod_requests() {
    let read = |host: &str, scaler: &str| {
        let text = format!(
            "case: a\ntraffic: {{ rate: 1/s }}\nprices: {{ per_hour: {{ pod: {{ vcpu: 1, gb: 0.1 }} }} }}\nservices:\n  web:\n    \
             endpoints: {{ get: {{ cpu: 1ms }} }}\n    server: {{ threads: 1 }}\n    hosts: {{ pod: {{ cores: 2, memory: 2GiB{host} }} }}\n    \
             scaling: {{ min: 1, max: 2, {scaler} }}\n"
        );
        parse("case.yaml", &text, Path::new(""), Given::default())
    };
    let hpa = "hpa: { cpu: 70% }";
    for (host, scaler, price, request) in [
        ("", hpa, 2.2, None),
        (", limit: 1.5", hpa, 1.7, None),
        (", limit: 1.5, request: { cpu: 0.5, memory: 1GiB }", hpa, 0.6, Some(0.5)),
        (", request: { memory: 1GiB }", "hpa: { cpu: 70%, request: 0.25 }", 0.35, Some(0.25)),
        (", request: { cpu: 0.5 }", "hpa: { cpu: 150% }", 0.7, Some(0.5)),
        (", request: { cpu: 0.5 }", "keda: { cpu: 70% }", 0.7, Some(0.5)),
        (", request: { cpu: 0.5 }", "knative: { concurrency: 10 }", 0.7, None),
    ] {
        let case = read(host, scaler).unwrap_or_else(|problems| panic!("{}", problems.plain()));
        let service = &case.stages[0].system.services[0];
        let of_scaler = match &service.scaling.policy {
            Policy::Hpa(hpa) => hpa.request,
            Policy::Keda(keda) => keda.request,
            _ => None,
        };
        let found = service.prices[0].per_hour;
        assert!(
            (found - price).abs() < 1e-9 && of_scaler == request,
            "{host}, {scaler}: {found}, {of_scaler:?}"
        );
    }
    let refused = |host: &str, scaler: &str| read(host, scaler).unwrap_err().plain().to_string();
    let twice = refused(", request: { cpu: 0.5 }", "hpa: { cpu: 70%, request: 0.5 }");
    assert!(
        twice.contains("`services.web.scaling.hpa.request`: `request` of a pod whose host has `request`"),
        "{twice}"
    );
    let nothing = refused(", request: { cpu: 0 }", hpa);
    assert!(nothing.contains("`services.web.hosts.pod.request.cpu`: 0 is not above 0"), "{nothing}");
}

#[test]
fn the_day_has_its_shape_from_the_warm_up_on() {
    let case = accounts();
    let system = &case.stages[0].system;
    let Traffic::Open { rates, bin, .. } = &system.traffic else { panic!("closed") };
    assert_eq!((bin.as_secs(), rates.len()), (60, 28 * 60));
    // The warm-up begins at 20:00, at the peak; the night is at a quarter of it, the measured day ends as it began.
    let at = |minutes: usize| rates[minutes];
    assert!((at(10) - 364.0).abs() < 1e-9);
    assert!((at(4 * 60 + 200) - 0.24 * 364.0).abs() < 1e-9);
    assert!((at(4 * 60) - at(28 * 60 - 1)).abs() < 2.0);
}

#[test]
fn the_caller_may_say_how_long_and_with_which_seed() {
    let given = Given { measured: Some(Duration::from_secs(2 * 86_400)), seed: Some(7), ..Given::default() };
    let case = parse("cases/accounts.yaml", ACCOUNTS, Path::new(""), given).unwrap();
    let system = &case.stages[3].system;
    assert_eq!((system.measured.as_secs(), system.seed), (2 * 86_400, 7));
}

#[test]
fn rows_are_required_unless_they_say_why_not() {
    let case = accounts();
    let (reported, required): (Vec<_>, Vec<_>) = case.rows.iter().partition(|row| row.reported.is_some());
    assert_eq!((required.len(), reported.len()), (30, 10));
}

/// Half an hour of traffic from 06:00 on, and a case with additional keys.
fn small(more: &str, given: Given) -> config::case::Case {
    let folder = tempfile::tempdir().expect("a folder");
    let rows: String =
        (0..30).map(|minute| format!("2026-03-01T06:{minute:02}:00Z,{}\n", 60 * (minute + 1))).collect();
    std::fs::write(folder.path().join("traffic.csv"), rows).expect("a file of its own");
    let text = format!(
        "
case: small
warm_up: 150s
traffic: {{ file: traffic.csv, times: 2 }}
services:
  web: {{ endpoints: {{ a: {{ cpu: 1ms }} }}, server: {{}}, hosts: {{ h: {{ cores: 1 }} }} }}
{more}"
    );
    parse("small.yaml", &text, folder.path(), given).unwrap_or_else(|problems| panic!("{problems}"))
}

#[test]
fn a_table_of_traffic_is_read_beside_the_file() {
    let case = small("", Given::default());
    let stage = &case.stages[0];
    let Traffic::Open { rates, .. } = &stage.system.traffic else { panic!("closed") };
    // The warm-up consists of whole rows, at the first rate.
    assert_eq!(stage.system.warm_up.as_secs(), 180);
    assert_eq!(rates[..5], [2.0, 2.0, 2.0, 2.0, 4.0]);
    assert_eq!((stage.system.measured.as_secs(), stage.clock.begins().as_secs()), (1800, 6 * 3600));
    assert_eq!(stage.notes, Vec::<String>::new());
}

#[test]
fn a_table_that_ends_before_the_run_is_noted_with_a_way_out() {
    let note = |asked| {
        format!(
            "traffic.csv ends after 30.0 min; its last rate goes on until {asked}: measure 30.0 min or less, or bring \
             traffic for longer"
        )
    };
    let hour = small("measured: 1h", Given::default());
    let stage = &hour.stages[0];
    assert_eq!((&stage.notes, stage.system.measured.as_secs()), (&vec![note("60.0 min")], 3600));
    // Set on the command line.
    let given = Given { measured: Some(Duration::from_secs(86_400)), ..Given::default() };
    let day = small("", given);
    assert_eq!(day.stages[0].notes, [note("24.0 h")]);
    assert_eq!(small("measured: 20m", Given::default()).stages[0].notes, Vec::<String>::new());
}

/// A service with this scaling.
fn scaled(scaling: &str) -> Policy {
    let text = format!(
        "case: pods\ntraffic: {{ rate: 10/s }}\nservices:\n  web:\n    endpoints: {{ page: {{ cpu: 5ms }} }}\n    \
         server: {{}}\n    hosts: {{ pod: {{ cores: 1 }} }}\n    scaling: {{ min: 1, max: 10, {scaling} }}\n"
    );
    let case = parse("case.yaml", &text, Path::new(""), Given::default());
    let case = case.unwrap_or_else(|problems| panic!("{}", problems.plain()));
    case.stages[0].system.services[0].scaling.policy.clone()
}

fn hpa(words: &str) -> HpaSettings {
    let Policy::Hpa(scaling) = scaled(&format!("hpa: {{ {words} }}")) else { panic!("no pods") };
    scaling.hpa
}

#[test]
fn the_behavior_of_a_manifest_arrives() {
    let behavior = |words: &str| hpa(&format!("cpu: 70%, {words}")).behavior;
    let usual = Behavior::default();
    assert_eq!(behavior("version: 30"), None);
    assert_eq!(behavior("behavior: false"), None);
    assert_eq!(behavior("behavior: true"), Some(usual.clone()));
    let seconds = Duration::from_secs;
    let down = Rules { stabilization: Some(seconds(60)), ..usual.down.clone() };
    assert_eq!(
        behavior("behavior: true, stabilize_down: 1m"),
        Some(Behavior { down: down.clone(), ..usual.clone() })
    );
    assert_eq!(
        behavior("behavior: { scaleDown: { stabilizationWindowSeconds: 60 } }"),
        Some(Behavior { down, ..usual.clone() })
    );
    let said = behavior(
        "behavior: {
            scaleUp: { stabilizationWindowSeconds: 30, selectPolicy: Min, tolerance: 50m, policies: [
                { type: Pods, value: 2, periodSeconds: 60 }, { type: Percent, value: 50, periodSeconds: 15 } ] },
            scaleDown: { selectPolicy: Disabled } }",
    );
    let pods = RatePolicy { change: Change::Pods(2), period: seconds(60) };
    let percent = RatePolicy { change: Change::Percent(50), period: seconds(15) };
    let up = Rules {
        stabilization: Some(seconds(30)),
        select: Select::Min,
        tolerance: Quantity::parse("0.05"),
        ..Rules::of(vec![pods, percent])
    };
    assert_eq!(said, Some(Behavior { up, down: Rules { select: Select::Disabled, ..usual.down } }));
}

/// A manifest's own words, percentages, and tolerances above 1.
#[test]
fn tolerances_of_pods_are_quantities() {
    for (written, quantity) in [("0.7", "700m"), ("700m", "700m"), ("70%", "700m"), ("2", "2"), ("0", "0")] {
        let text = format!("cpu: 70%, behavior: {{ scaleUp: {{ tolerance: {written} }} }}");
        let found = hpa(&text).behavior.unwrap().up.tolerance.unwrap();
        assert_eq!(found.to_string(), quantity, "{written}");
    }
}

#[test]
fn pods_may_use_more_than_they_request() {
    assert_eq!(hpa("cpu: 150%, request: 0.5").metrics, [Metric::cpu_utilization(150)]);
    assert_eq!(hpa("cpu: 0.7").metrics, [Metric::cpu_utilization(70)]);
}

#[test]
fn basic_monitoring_has_a_point_every_five_minutes() {
    let rest = "platform: ec2, alarms: { high: { metric: cpu, above: 60%, period: 5m }, slow: { metric: latency, above: \
                1s } }, policies: { up: { alarms: [high, slow], change: +1 } }";
    let resolutions = |said: &str| -> Vec<u64> {
        let Policy::Aws(aws) = scaled(&format!("{said}{rest}")) else { panic!("no alarms") };
        aws.metrics.iter().map(|metric| metric.resolution.as_secs()).collect()
    };
    assert_eq!(resolutions(""), [60, 60]);
    assert_eq!(resolutions("monitoring: detailed, "), [60, 60]);
    // The balancer's metrics are not affected by EC2's monitoring.
    assert_eq!(resolutions("monitoring: basic, "), [300, 60]);
}

#[test]
fn a_policy_may_set_the_number_itself() {
    let policy = |platform: &str, words: &str| {
        let alarm = "alarms: { high: { metric: cpu, above: 60% } }";
        let policies = format!("policies: {{ set: {{ alarms: [high], {words} }} }}");
        let Policy::Aws(aws) = scaled(&format!("platform: {platform}, {alarm}, {policies}")) else {
            panic!("no alarms")
        };
        aws.scaler.policies[0].clone()
    };
    let steps = |words: &str| {
        let control::scaling::Policy::Step(step) = policy("ecs", words) else { panic!("no steps") };
        assert_eq!(step.adjustment, Adjustment::ExactCapacity);
        step.steps
    };
    let step = |lower, upper, change| Step { lower, upper, change };
    assert_eq!(steps("change: =8"), [step(None, Some(0.0), 8), step(Some(0.0), None, 8)]);
    assert_eq!(steps("change: =0").len(), 2);
    assert_eq!(
        steps("steps: [{ from: 0%, to: 20%, change: =8 }, { from: 20%, change: =9 }]"),
        [step(Some(0.0), Some(20.0), 8), step(Some(20.0), None, 9)]
    );
    let control::scaling::Policy::Simple(simple) = policy("ec2", "change: =8, simple: true") else {
        panic!("not simple")
    };
    assert_eq!((simple.adjustment, simple.change), (Adjustment::ExactCapacity, 8));
}

#[test]
fn a_local_fleet_has_periods_of_a_second() {
    let rest = "alarms: { high: { metric: cpu, above: 60%, period: 1s, datapoints: 5 } }, policies: { up: { alarms: \
                [high], change: +1 }, hold: { track: cpu, target: 50% } }";
    let Policy::Aws(aws) = scaled(&format!("platform: local, {rest}")) else { panic!("no alarms") };
    assert_eq!(aws.scaler.platform, Platform::Local);
    assert_eq!(
        (aws.scaler.alarms[0].period, aws.publication_delay),
        (Duration::from_secs(1), Duration::ZERO)
    );
    let Policy::Aws(late) = scaled(&format!("platform: local, publication_delay: 5s, {rest}")) else {
        panic!("no alarms")
    };
    assert_eq!(late.publication_delay, Duration::from_secs(5));
    let Policy::Hpa(pods) = scaled("platform: local, hpa: { cpu: 70%, sync_period: 1s }") else {
        panic!("no pods")
    };
    assert_eq!(pods.hpa.controller.sync_period, Duration::from_secs(1));
}

/// A fleet that scales within seconds, with a day of two minutes.
const FINE: &str = "
case: fine
rows: 1s
warm_up: 10s
goal: p(95)<300ms
traffic: { peak: 100/s, day: { '00:00': 20%, '12:00': 100% }, rises: straight, day_length: 2m }
services:
  web:
    endpoints: { page: { cpu: 5ms } }
    server: {}
    hosts: { pod: { cores: 1 } }
    scaling:
      min: 1
      max: 8
      platform: local
      repeat: each-period
      alarms:
        high: { metric: cpu, above: 60%, period: 2s }
        low: { metric: cpu, below: 30%, period: 5s }
      policies:
        up: { alarms: [high], change: +1, cooldown: 2s }
        down: { alarms: [low], change: -1, cooldown: 5s }
        hold: { track: cpu, target: 50%, period: 1s, datapoints: 2, datapoints_in: 10, cooldown: 1s }
";

#[test]
fn a_day_of_two_minutes_is_played_in_rows_of_a_second() {
    let case = parse("fine.yaml", FINE, Path::new(""), Given::default()).unwrap();
    let stage = &case.stages[0];
    let second = Duration::from_secs(1);
    assert_eq!((stage.system.row, stage.system.measured, stage.day), (second, 120 * second, 120 * second));
    let Traffic::Open { rates, bin, .. } = &stage.system.traffic else { panic!("users") };
    assert_eq!((rates.len(), *bin), (130, second));
    // After the warm-up the day begins at its lowest point, and is at its peak after a minute.
    let near =
        |place: usize, rate: f64| assert!((rates[place] - rate).abs() < 1.0, "{place}: {}", rates[place]);
    near(10, 20.0);
    near(40, 60.0);
    near(70, 100.0);
    near(100, 60.0);
    near(0, 33.0);
}

#[test]
fn a_fine_fleet_has_one_resolution_and_acts_each_period() {
    let case = parse("fine.yaml", FINE, Path::new(""), Given::default()).unwrap();
    let Policy::Aws(aws) = &case.stages[0].system.services[0].scaling.policy else { panic!("no alarms") };
    assert!(aws.metrics.iter().all(|published| published.resolution == Duration::from_secs(1)), "{aws:?}");
    assert!(aws.scaler.all_alarms().iter().all(|alarm| alarm.repeat == control::alarm::Repeat::EachPeriod));
    let periods: Vec<_> = aws.scaler.all_alarms().iter().map(|alarm| alarm.period.as_secs()).collect();
    assert_eq!(periods, [2, 5, 1, 1]);
    let counts: Vec<_> = aws.scaler.all_alarms().iter().map(|alarm| alarm.datapoints_to_alarm).collect();
    assert_eq!(counts, [1, 1, 2, 10]);
    assert_eq!(aws.scaler.problems(), []);
}

#[test]
fn what_only_a_local_fleet_has_is_refused_elsewhere() {
    for (from, to, message) in [
        ("rows: 1s", "rows: 7s", "rows of 7.00 s"),
        ("rows: 1s", "rows: 10s", "a day of 2.00 min has fewer than 24 rows of 10.0 s"),
        ("warm_up: 10s", "warm_up: 10500ms", "a multiple of `rows`"),
        ("platform: local", "platform: ecs", "`each-period` is not for ECS"),
        ("platform: local", "platform: ecs", "`datapoints_in` of target tracking is not for ECS"),
    ] {
        let text = FINE.replace(from, to);
        let problems = parse("fine.yaml", &text, Path::new(""), Given::default()).unwrap_err().plain();
        assert!(problems.contains(message), "{problems}");
    }
}

#[test]
fn periods_that_are_not_of_the_platform_are_refused_with_its_own() {
    let refused = |platform: &str, period: &str| {
        let text = format!(
            "case: periods\ntraffic: {{ rate: 10/s }}\nservices:\n  web:\n    endpoints: {{ page: {{ cpu: 5ms }} }}\n    \
             server: {{}}\n    hosts: {{ pod: {{ cores: 1 }} }}\n    scaling: {{ min: 1, max: 10, platform: {platform}, \
             alarms: {{ high: {{ metric: cpu, above: 60%, period: {period} }} }}, policies: {{ up: {{ alarms: [high], \
             change: +1 }} }} }}\n"
        );
        let read = parse("case.yaml", &text, Path::new(""), Given::default());
        read.err().map(|problems| problems.plain()).unwrap_or_default()
    };
    for vendor in ["ecs", "application", "ec2"] {
        let said = refused(vendor, "1s");
        assert!(
            said.contains("`period` is 1.00 s, but CloudWatch folds to 10s, 20s, 30s or whole minutes"),
            "{said}"
        );
        assert_eq!(refused(vendor, "10s"), "");
    }
    let said = refused("local", "7s");
    assert!(said.contains("`period` is 7.00 s, but `platform` is local"), "{said}");
    assert!(said.contains("10s is usual"), "{said}");
}

#[test]
fn knative_has_its_own_names() {
    let knative = |words: &str| {
        let Policy::Knative(scaling) = scaled(&format!("knative: {{ concurrency: 10, {words} }}")) else {
            panic!("no revision")
        };
        scaling.knative
    };
    let count = InstanceCount::new;
    let usual = KnativeSettings { min: count(1), max: Some(count(10)), ..KnativeSettings::concurrency(10.0) };
    assert_eq!(knative("utilization: 70%"), usual);
    assert_eq!(
        knative("panic_window_percentage: 10, panic_threshold_percentage: 200%, max_scale_up_rate: 1000"),
        usual
    );
    assert_eq!(
        knative(
            "panic_window_percentage: 20.5, panic_threshold_percentage: 150, max_scale_up_rate: 10, \
             max_scale_down_rate: 1.5, activation_scale: 3"
        ),
        KnativeSettings {
            panic_window_share: 0.205,
            panic_threshold: 1.5,
            max_scale_up_rate: 10.0,
            max_scale_down_rate: 1.5,
            activation_scale: count(3),
            ..usual
        }
    );
}

#[test]
fn keda_has_the_settings_of_a_scaled_object() {
    let keda = |words: &str| {
        let Policy::Keda(scaling) = scaled(&format!("keda: {{ {words} }}")) else { panic!("no object") };
        *scaling
    };
    let count = InstanceCount::new;
    let query = |metric, of_pods| {
        let window = Duration::from_secs(60);
        KedaInput::Query(Query { window, of_pods, ..Query::last(metric) })
    };
    let usual = keda("prometheus: [{ measures: requests-per-second, threshold: 0.5 }]");
    let target = TotalTarget::AverageValue(Milli(500));
    let trigger = Trigger::Prometheus { target, activation: 0.0, ignore_null_values: true };
    let local_time = usual.keda.local_time;
    let settings =
        KedaSettings { min: Some(count(1)), max: count(10), local_time, ..KedaSettings::new(vec![trigger]) };
    assert_eq!(usual.keda, settings);
    assert_eq!(usual.inputs, [query(PodMetric::RequestsPerSecond, false)]);
    let full = keda(
        "cpu: 70%, request: 0.5, prometheus: [{ measures: in-flight, threshold: 10, activation_threshold: 2.5, \
         metric_type: Value, source: pods, ignore_null_values: false }], cron: [{ start: '0 8 * * *', end: '0 18 * * *', \
         replicas: 4 }], polling_interval: 10s, cooldown_period: 2m, initial_cooldown_period: \
         1m, idle: 0, fallback: { failure_threshold: 3, replicas: 6, behavior: currentReplicasIfHigher }, behavior: \
         true, paused_scale_in: true, version: 30",
    );
    let target = TotalTarget::Value(Milli(10_000));
    let fallback =
        Fallback { failure_threshold: 3, replicas: 6, behavior: FallbackBehavior::CurrentReplicasIfHigher };
    let triggers = vec![
        Trigger::Prometheus { target, activation: 2.5, ignore_null_values: false },
        Trigger::Cron { cron: Cron::new("0 8 * * *", "0 18 * * *", 4).unwrap(), is_total: false },
        cpu_utilization(70),
    ];
    let expected = KedaSettings {
        idle: Some(count(0)),
        polling_interval: Duration::from_secs(10),
        cooldown_period: Duration::from_secs(120),
        initial_cooldown_period: Duration::from_secs(60),
        fallback: Some(fallback),
        pause: Pause::Directions { scale_in: true, scale_out: false },
        behavior: Some(Behavior::default()),
        version: full.keda.version,
        local_time: full.keda.local_time,
        triggers,
        ..settings
    };
    assert_eq!(full.keda, expected);
    assert_eq!(full.keda.version.minor(), 30);
    assert_eq!(full.keda.local_time.0 % 86_400, 0);
    assert_eq!(full.inputs, [query(PodMetric::InFlight, true), KedaInput::Time, KedaInput::Cpu]);
    assert_eq!(full.request, Some(0.5));
    // A number of pods takes precedence over a pause.
    assert_eq!(keda("cpu: 70%, paused: true, paused_replicas: 3").keda.pause, Pause::At(count(3)));
}

#[test]
fn metrics_of_an_hpa_have_any_source_and_target() {
    let scaling = |words: &str| {
        let Policy::Hpa(scaling) = scaled(&format!("hpa: {{ metrics: [{words}] }}")) else {
            panic!("no HPA")
        };
        *scaling
    };
    let window = Duration::from_secs(60);
    let usual = |metric| Query { window, ..Query::last(metric) };
    let found = scaling(
        "{ type: External, name: depth, measures: queue-length, factor: 0.5, threshold: 30 }, \
         { type: Object, object: Ingress, measures: requests-per-second, threshold: 200, metric_type: Value, window: \
         2m }, { type: Pods, measures: p95, threshold: 0.25, source: pods }, { type: Resource, measures: cpu, \
         threshold: 0.5 }",
    );
    let sources: Vec<(&str, &Source)> =
        found.hpa.metrics.iter().map(|metric| (metric.name.as_str(), &metric.source)).collect();
    let external = TotalTarget::AverageValue(Milli(30_000));
    let object = TotalTarget::Value(Milli(200_000));
    assert_eq!(
        sources,
        [
            ("depth", &Source::External { selector: None, target: external }),
            ("requests-per-second", &Source::Object { kind: "Ingress".to_owned(), target: object }),
            ("p95", &Source::Pods { average: Milli(250) }),
            ("cpu", &Source::Resource { target: ResourceTarget::AverageValue(Milli(500)) }),
        ]
    );
    assert_eq!(
        found.metrics,
        [
            Query { factor: 0.5, ..usual(PodMetric::Queued) },
            Query { window: window * 2, ..usual(PodMetric::RequestsPerSecond) },
            Query { of_pods: true, ..usual(PodMetric::ResponseTime(Quantile::P95)) },
            usual(PodMetric::Cpu),
        ]
    );
}

#[test]
fn checks_deadlines_and_classes_are_those_of_a_gateway() {
    let text = "case: checks\npriorities: [low, high]\nconcurrency_limits: { slots: { limit: 5, priorities: [50%, 100%] } }\n\
                traffic: { rate: 10/s, keys: { X-Timeout-Ms: { shares: { '250': 20%, 2s: 50% } } } }\n\
                services:\n  web:\n    endpoints: { page: { cpu: 5ms }, pay: { cpu: 5ms, priority: high } }\n    \
                server: {}\n    hosts: { pod: { cores: 1 } }\n    admission: { concurrency: slots, priority: low, \
                deadline_header: x-timeout-ms }\n    balancing: { health: { path: /up, interval: 5s, healthy_after: 1 } }\n";
    let case = parse("case.yaml", text, Path::new(""), Given::default());
    let case = case.unwrap_or_else(|problems| panic!("{}", problems.plain()));
    let service = &case.stages[0].system.services[0];
    let class = |class| RequestPriority::Class(Priority(class));
    assert_eq!(service.admission.priority, class(0));
    let endpoints: Vec<_> = service.endpoints.iter().map(|one| one.priority.clone()).collect();
    assert_eq!(endpoints, [RequestPriority::None, class(1)]);
    let times = [250, 2_000].map(|millis| Some(Duration::from_millis(millis)));
    let deadline = RequestDeadline { key: KeyId(0), values: times.into() };
    assert_eq!(service.admission.deadline, Some(deadline));
    let [interval, timeout] = [5, 1].map(Duration::from_secs);
    let checks = HealthChecks { interval, timeout, healthy_after: 1, unhealthy_after: 3 };
    assert_eq!(service.balancing.health, Some(checks));
}

#[test]
fn a_recorded_metric_has_the_values_of_its_file() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(
        folder.path().join("depth.csv"),
        "time,depth\n2026-03-02T08:00:00Z,4\n2026-03-02T08:05:00Z,12.5\n",
    )
    .unwrap();
    let case = |begins: &str| {
        let text = format!(
            "case: recorded\n{begins}warm_up: 5m\nmeasured: 1h\ntraffic: {{ rate: 10/s }}\nservices: {{ web: {{ endpoints: {{ all: {{ cpu: \
             5ms }} }}, server: {{ threads: 5 }}, hosts: {{ pod: {{ cores: 1 }} }}, scaling: {{ min: 1, max: 5, hpa: {{ \
             metrics: [{{ type: External, measures: recorded, file: depth.csv, threshold: 5 }}] }} }} }} }}\n"
        );
        parse("case.yaml", &text, folder.path(), Given::default())
    };
    let recorded = |begins: &str| {
        let case = case(begins).unwrap_or_else(|problems| panic!("{}", problems.plain()));
        let Policy::Hpa(scaling) = &case.stages[0].system.services[0].scaling.policy else {
            panic!("no HPA")
        };
        let PodMetric::Recorded(recorded) = &scaling.metrics[0].metric else { panic!("{scaling:?}") };
        (**recorded).clone()
    };
    let five = Duration::from_secs(300);
    let expected =
        |begins: i64| Recorded { begins: begins * 1_000_000_000, step: five, values: vec![4.0, 12.5] };
    // By date, after the warm-up; without a date, from the measured time on.
    assert_eq!(recorded("begins: 2026-03-02T08:00\n"), expected(300));
    assert_eq!(recorded("begins: 2026-03-02T08:05\n"), expected(0));
    assert_eq!(recorded("begins: 2026-03-02T07:30\n"), expected(2100));
    assert_eq!(recorded("begins: '20:00'\n"), expected(300));
    let late = case("begins: 2026-03-03T08:00\n").unwrap_err().plain();
    assert!(
        late.contains("`depth.csv` begins at 2026-03-02 08:00, and the run at 2026-03-03 07:55"),
        "{late}"
    );
}

#[test]
fn the_schema_in_the_repository_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas/case.schema.json");
    let current = schema_text();
    if std::env::var_os("UPDATE_SCHEMA").is_some() {
        std::fs::write(&path, &current).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == current, "run `UPDATE_SCHEMA=1 cargo test -p config` and commit the schema");
}

/// From 11:00 to 18:00, between 4 and 40 except for scheduled changes.
fn scheduled(schedule: &str) -> config::case::Case {
    let text = format!(
        "
case: scheduled
begins: '12:00'
warm_up: 1h
measured: 6h
traffic: {{ rate: 5/s }}
services:
  web:
    endpoints: {{ page: {{ cpu: 10ms }} }}
    server: {{ threads: 4 }}
    hosts: {{ machine: {{ cores: 1 }} }}
    scaling: {{ min: 4, max: 40, platform: ec2, schedule: [{schedule}] }}
"
    );
    let case = parse("scheduled.yaml", &text, Path::new(""), Given::default());
    case.unwrap_or_else(|problems| panic!("{}", problems.plain()))
}

#[test]
fn what_was_scheduled_before_the_beginning_is_in_force() {
    for (schedule, bounds, instances, later) in [
        // The last one counts, regardless of the order in the file.
        ("{ at: '07:30', min: 10 }, { at: '22:00', min: 4 }", (10, 40), 10, vec![]),
        ("{ at: '22:00', min: 4 }, { at: '07:30', min: 10 }", (10, 40), 10, vec![]),
        // That of the previous evening.
        ("{ at: '22:00', min: 6, max: 8 }", (6, 8), 6, vec![]),
        // A change later today also happened yesterday.
        ("{ at: '12:30', min: 10 }, { at: '15:00', min: 5 }", (5, 40), 5, vec![90, 240]),
        // Exactly at the beginning.
        ("{ at: '11:00', min: 9 }, { at: '10:59', min: 8 }", (9, 40), 9, vec![]),
        // A bound moves the other one; a count is what was last set, within the bounds.
        ("{ at: '09:00', max: 3 }", (3, 3), 3, vec![]),
        ("{ at: '08:00', desired: 12 }, { at: '09:00', min: 5 }", (5, 40), 12, vec![]),
        ("{ at: '08:00', desired: 12 }, { at: '09:00', max: 7 }", (4, 7), 7, vec![]),
    ] {
        let case = scheduled(schedule);
        let service = &case.stages[0].system.services[0];
        let Policy::Aws(aws) = &service.scaling.policy else { panic!("no policy of AWS") };
        assert_eq!((aws.scaler.min, aws.scaler.max), bounds, "{schedule}");
        assert_eq!(service.instances.get(), instances, "{schedule}");
        let minutes: Vec<u64> =
            aws.scaler.scheduled.iter().map(|one| one.at.as_nanos() / 60_000_000_000).collect();
        assert_eq!(minutes, later, "{schedule}");
    }
}

/// A service with these keys.
fn with(keys: &str) -> Result<sim::settings::Service, String> {
    let text = format!(
        "case: zones\ntraffic: {{ rate: 10/s }}\nwarm_up: 1h\nmeasured: 4h\nservices:\n  web:\n    \
         endpoints: {{ page: {{ cpu: 5ms }} }}\n    server: {{}}\n    hosts: {{ h: {{ cores: 1 }} }}\n{keys}"
    );
    let case = parse("zones.yaml", &text, Path::new(""), Given::default());
    case.map(|case| case.stages[0].system.services[0].clone()).map_err(|problems| problems.plain())
}

#[test]
fn zones_are_read_with_their_failures() {
    let found = with(
        "    zones: 3\n    balancing: { cross_zone: false }\n    \
         failures: [{ at: 1h, zone: b, lasts: 30m, noticed_after: 20s }, { at: 3h, zone: c }, { at: 2h, instances: 1 }]",
    )
    .unwrap();
    assert_eq!(found.zones.names, ["a", "b", "c"]);
    // A node in each zone, unless it is said.
    assert!(!found.zones.across && found.balancing.nodes == 3);
    let minutes = |span: Duration| span.as_secs() / 60;
    let failures: Vec<_> =
        found.zones.failures.iter().map(|one| (one.zone, minutes(one.at), minutes(one.lasts))).collect();
    // After the warm-up; to the end of the run unless it is said.
    assert_eq!(failures, [(1, 120, 30), (2, 240, 60)]);
    assert_eq!((found.failures.len(), found.zones.failures[0].noticed_after.as_secs()), (1, 20));
    let named = with("    zones: [east-1, east-2]\n    balancing: { nodes: 6 }").unwrap();
    assert!(named.zones.across && named.zones.names == ["east-1", "east-2"] && named.balancing.nodes == 6);
    let none = with("").unwrap();
    assert_eq!((none.zones, none.balancing.nodes), (sim::settings::Zones::default(), 1));
}

#[test]
fn what_is_wrong_with_zones_is_told_with_a_way_out() {
    let told: Vec<String> = [
        "    zones: 0",
        "    zones: []",
        "    zones: [a, b, a]",
        "    balancing: { cross_zone: false }",
        "    zones: 3\n    balancing: { cross_zone: false, nodes: 4 }",
        "    zones: 3\n    balancing: { cross_zone: false, ejection: {} }",
        "    zones: [east, west]\n    failures: [{ at: 1h, zone: wets }]",
        "    failures: [{ at: 1h, zone: a }]",
        "    zones: 2\n    failures: [{ at: 1h, zone: a, instances: 1 }]",
        "    failures: [{ at: 1h }]",
        "    failures: [{ at: 1h, instances: 1, lasts: 5m }]",
    ]
    .map(|keys| format!("{keys}\n{}", with(keys).unwrap_err()))
    .into();
    insta::assert_snapshot!(told.join("\n"));
}
