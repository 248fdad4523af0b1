//! Every kind of problem of a case file has its place, what was found, the bound and the way out.

use config::case::{Given, parse};
use std::path::Path;

/// A valid file, in which parts are replaced.
const BASE: &str = "\
case: shop
traffic: { peak: 100/s, day: { '03:00': 30%, '20:00': 100% } }
prices: { table: aws-us-east-1 }
goal: p(95)<300ms
services:
  web:
    endpoints:
      list: { cpu: lognormal 5ms cv 0.6, wait: 20ms, bursts: 2 }
      buy: { steps: [{ cpu: 5ms }, { hold: db, time: 4ms }, { call: [auth/check] }] }
    server: { processes: 2, threads: 8, accept: shared }
    hosts: { c4.large: { cores: 2 } }
    balancing: { algorithm: least-outstanding, nodes: 2 }
    scaling:
      min: 2
      max: 10
      alarms:
        high: { metric: cpu, above: 60%, datapoints: 3 }
        low: { metric: cpu, below: 30%, datapoints: 3 }
      policies:
        up: { alarms: [high], change: +1 }
        down: { alarms: [low], change: -1 }
  auth:
    endpoints: { check: { cpu: 1ms } }
    server: {}
    hosts: { c4.large: { cores: 2 } }
pools: { db: { places: 10 } }
stages:
  - name: before
  - name: after
    changes: { services: { web: { scaling: { min: 3 } } } }
published:
  - { what: fewer, row: after.instances_mean < before.instances_mean }
";

/// The same with predictive scaling, and what is wrong with it.
#[test]
fn predictive_scaling() {
    let base = BASE.replace(
        "up: { alarms: [high], change: +1 }",
        "up: { alarms: [high], change: +1 }\n        soon: { predict: cpu, target: 60% }",
    );
    parsed(&base).unwrap_or_else(|problems| panic!("{problems}"));
    let told = told_of(
        &base,
        &[
            ("predict: cpu, target: 60%", "predict: memory, target: 60%"),
            ("predict: cpu, target: 60%", "predict: cpu"),
            ("predict: cpu, target: 60%", "predict: cpu, target: 5"),
            ("predict: cpu, target: 60%", "predict: cpu, track: cpu, target: 60%"),
            ("predict: cpu, target: 60%", "predict: cpu, target: 60%, buffer: 1h"),
            ("predict: cpu, target: 60%", "predict: cpu, target: 60%, max_buffer: 10%"),
            ("predict: cpu, target: 60%", "predict: cpu, target: 60%, above_max: double"),
            ("predict: cpu, target: 60%", "predict: cpu, target: 60%, mode: forecast"),
            ("predict: cpu, target: 60%", "predict: cpu, target: 60%, history: days.csv"),
            ("predict: cpu, target: 60%", "predict: requests-per-target, target: 600, history: absent.csv"),
        ],
    );
    insta::assert_snapshot!(told);
}

/// Only what is before the run is the history, and a gap of two days at most.
#[test]
fn the_history_of_predictive_scaling_ends_where_the_run_begins() {
    let folder = tempfile::tempdir().unwrap();
    let rows: String = (0..24 * 6)
        .map(|hour| format!("2026-03-{:02}T{:02}:00:00Z,{}\n", 2 + hour / 24, hour % 24, 3600 * (1 + hour)))
        .collect();
    std::fs::write(folder.path().join("days.csv"), format!("time,requests\n{rows}")).unwrap();
    let case = |begins: &str| {
        BASE.replace("case: shop", &format!("case: shop\nbegins: {begins}")).replace(
            "change: +1 }",
            "change: +1 }\n        soon: { predict: requests-per-target, target: 600, history: days.csv }",
        )
    };
    let history = |begins: &str| {
        let found = parse("case.yaml", &case(begins), folder.path(), Given::default());
        let case = found.map_err(|problems| problems.plain())?;
        let sim::settings::Policy::Aws(aws) = &case.stages[0].system.services[0].scaling.policy else {
            panic!("no policy of AWS")
        };
        let policies = &aws.scaler.policies;
        let found = policies.iter().find_map(|policy| match policy {
            control::scaling::Policy::Predictive(found) => Some(found.history.clone()),
            _ => None,
        });
        Ok::<_, String>(found.unwrap())
    };
    let middle = history("2026-03-04T12:30").unwrap();
    assert_eq!((middle.len(), middle.last().copied().flatten()), (60, Some(3600.0 * 60.0)));
    let after = history("2026-03-09T06:00").unwrap();
    assert_eq!((after.len(), after.last().copied().flatten()), (174, None));
    insta::assert_snapshot!(format!(
        "{}{}{}",
        history("2026-03-20T00:00").unwrap_err(),
        history("2026-03-02T00:30").unwrap_err(),
        history("'06:00'").unwrap_err()
    ));
}

fn parsed(text: &str) -> Result<config::case::Case, fields::Problems> {
    parse("case.yaml", text, Path::new(""), Given::default())
}

/// The same with the autoscalers of pods.
const PODS: &str = "\
case: pods
traffic: { rate: 100/s }
services:
  web:
    endpoints: { list: { cpu: 5ms } }
    server: {}
    hosts: { pod: { cores: 1 } }
    scaling:
      min: 1
      max: 10
      hpa:
        cpu: 70%
        behavior:
          scaleUp: { policies: [{ type: Pods, value: 2, periodSeconds: 60 }] }
          scaleDown: { selectPolicy: Disabled }
";

/// The plain lines for each change of the valid file.
fn told(changes: &[(&str, &str)]) -> String {
    told_of(BASE, changes)
}

fn told_of(base: &str, changes: &[(&str, &str)]) -> String {
    let mut told = String::new();
    for (from, to) in changes {
        assert!(base.contains(from), "{from}");
        let text = base.replacen(from, to, 1);
        match parsed(&text) {
            Ok(_) => panic!("accepted:\n{text}"),
            Err(problems) => told += &format!("--- {to}\n{}", problems.plain()),
        }
    }
    told
}

#[test]
fn the_bases_are_valid() {
    for base in [BASE, PODS] {
        parsed(base).unwrap_or_else(|problems| panic!("{problems}"));
    }
}

#[test]
fn keys_words_and_values() {
    insta::assert_snapshot!(told(&[
        ("case: shop", "cas: shop"),
        ("traffic:", "trafic:"),
        ("processes: 2", "proceses: 2"),
        ("lognormal 5ms cv 0.6", "lognormal 5ms"),
        ("accept: shared", "accept: sharred"),
        ("accept: shared", "accept: shared, linger: 1s"),
        ("algorithm: least-outstanding", "algorithm: least-outstandin"),
        ("bursts: 2", "bursts: 0"),
        ("cores: 2", "cores: two"),
        ("goal: p(95)<300ms", "goal: failed<1%"),
        ("goal: p(95)<300ms", "goal: fast"),
    ]));
}

/// What the simulator refuses stands at the key that says it.
#[test]
fn what_cannot_be_simulated() {
    insta::assert_snapshot!(told(&[
        ("goal:", "warm_up: 1s\ngoal:"),
        ("goal:", "measured: 90s\ngoal:"),
        ("server: { processes: 2", "start: { warm_up_factor: 0.5 }\n    server: { processes: 2"),
        ("server: { processes: 2", "start: { launches_per_second: 0 }\n    server: { processes: 2"),
        ("wait: 20ms", "wait: 20ms, incidents: { per_hour: 100, duration: 1h, factor: 2 }"),
        ("auth/check", "web/buy"),
        (
            "hosts: { c4.large: { cores: 2 } }\n    balancing",
            "hosts: { c4.large: { cores: 2, speed: 0 } }\n    balancing"
        ),
        (
            "{ cores: 2 } }\n    balancing",
            "{ cores: 2, memory: 1GiB, limit: 0.5, background: 0.6 } }\n    balancing"
        ),
        ("{ check: { cpu: 1ms } }", "{ check: { cpu: 1ms, errors: 2 } }"),
        ("{ check: { cpu: 1ms } }", "{ check: { cpu: 1ms, priority: high } }"),
    ]));
}

/// What limits and balancing tell requests apart by.
#[test]
fn keys_of_requests() {
    let limited = |traffic: &str, class: &str, admission: &str| {
        format!(
            "traffic: {{ {traffic} }}\npriorities: [low, high]\nrate_classes: {{ each: {{ rate: 5/s, key: {class} }} }}\n\
             services:\n  web:\n    admission: {{ rate_class: each{admission} }}"
        )
    };
    let base = "traffic: { peak: 100/s, day: { '03:00': 30%, '20:00': 100% } }";
    let whole = format!("{base}\nprices: {{ table: aws-us-east-1 }}\ngoal: p(95)<300ms\nservices:\n  web:");
    let rows = [
        ("rate: 1/s", "client", ""),
        ("rate: 1/s, keys: { x-api-key: { count: 9 } }", "{ header: X-Api-Kye }", ""),
        ("rate: 1/s, keys: { client: {} }", "client", ""),
        ("rate: 1/s, keys: { client: { count: 9, shares: { a: 1% } } }", "client", ""),
        ("rate: 1/s, keys: { client: { count: 0 } }", "client", ""),
        ("rate: 1/s, keys: { client: { count: 9, zipf: 50 } }", "client", ""),
        ("rate: 1/s, keys: { client: { shares: { a: 60%, b: 60% }, zipf: 1 } }", "client", ""),
        ("users: 9, keys: { client: { count: 9 } }", "client", ""),
        ("rate: 1/s, keys: { client: { count: 9 }, Client: { count: 9 } }", "client", ""),
        ("users: 9", "client", ", priority: hihg"),
        ("users: 9", "client", ", priority: { header: x-class }"),
        ("users: 9, keys: { x-class: { count: 3 } }", "client", ", priority: { header: x-class }"),
        (
            "users: 9, keys: { x-class: { shares: { hihg: 3% } } }",
            "client",
            ", priority: { header: x-class }",
        ),
        ("users: 9", "client", ", deadline_header: x-timeout"),
        ("users: 9, keys: { x-timeout: { count: 3 } }", "client", ", deadline_header: x-timeout"),
        ("users: 9, keys: { x-timeout: { shares: { soon: 3% } } }", "client", ", deadline_header: x-timeout"),
    ];
    let changes: Vec<String> =
        rows.iter().map(|(traffic, class, admission)| limited(traffic, class, admission)).collect();
    let changes: Vec<(&str, &str)> = changes.iter().map(|to| (whole.as_str(), to.as_str())).collect();
    insta::assert_snapshot!(told(&changes));
}

/// Balancing that depends on clients and failures.
#[test]
fn managed_balancing() {
    let balancing = |to: &str| format!("balancing: {{ {to} }}");
    let rows = [
        "algorithm: consistent-hash",
        "algorithm: consistent-hash, hash: client",
        "algorithm: round-robin, hash: client",
        "affinity: { cookie: instance }",
        "algorithm: consistent-hash, hash: { header: a b }, affinity: { cookie: instance }",
        "ejection: { base: 0s }",
        "ejection: { consecutive_failures: 0, base: 1m, longest: 1s }",
        "panic_below: 50%",
        "health: { interval: 2s }",
        "health: { path: healthz, interval: 0s, unhealthy_after: 0, status: 200..299 }",
    ];
    let rows: Vec<String> = rows.iter().map(|to| balancing(to)).collect();
    let from = "balancing: { algorithm: least-outstanding, nodes: 2 }";
    let changes: Vec<(&str, &str)> = rows.iter().map(|to| (from, to.as_str())).collect();
    insta::assert_snapshot!(told(&changes));
}

#[test]
fn names_of_other_things() {
    insta::assert_snapshot!(told(&[
        ("hold: db", "hold: bd"),
        ("hold: db, time: 4ms", "hold: db"),
        ("auth/check", "auht/check"),
        ("auth/check", "auth/chek"),
        ("{ hold: db, time: 4ms }", "{ time: 4ms }"),
        ("  web:", "  my web:"),
        ("c4.large: { cores: 2 } }\n    balancing", "c4.lrage: { cores: 2 } }\n    balancing"),
        ("aws-us-east-1", "aws-us-east"),
        ("table: aws-us-east-1", "per_hour: { c4.large: free }"),
    ]));
}

#[test]
fn traffic() {
    insta::assert_snapshot!(told(&[
        ("peak: 100/s, ", "peak: 100/s, rate: 10/s, "),
        ("peak: 100/s", "peak: 0/s"),
        ("peak: 100/s", "peak: 100"),
        (", day: { '03:00': 30%, '20:00': 100% }", ""),
        ("'03:00': 30%", "'3 am': 30%"),
        ("'03:00': 30%", "'00:00': 30%, '24:00': 40%"),
        ("peak: 100/s, day: { '03:00': 30%, '20:00': 100% }", "file: no-such.csv"),
        ("peak: 100/s, day: { '03:00': 30%, '20:00': 100% }", "users: 10, noise: { sigma: 0.1 }"),
        ("100% } }", "100% }, noise: { sigma: 6, phi: 100% } }"),
    ]));
}

#[test]
fn scaling() {
    insta::assert_snapshot!(told(&[
        ("min: 2", "min: 12"),
        ("above: 60%, datapoints: 3", "above: 60%, datapoints: 5, evaluation_periods: 3"),
        ("above: 60%", "above: 60ms"),
        ("above: 60%", "above: 60%, below: 10%"),
        ("above: 60%", "above: 60%, period: 45s"),
        ("metric: cpu, above", "metric: cpus, above"),
        ("metric: cpu, above", "metric: cpu, statistic: avrage, above"),
        ("alarms: [high]", "alarms: [hihg]"),
        ("alarms: [high], change: +1", "alarms: [high], change: 0"),
        ("alarms: [high], change: +1", "alarms: [high], change: some"),
        ("alarms: [high], change: +1", "alarms: [high], change: =-1"),
        (
            "alarms: [high], change: +1",
            "alarms: [high], steps: [{ from: 0%, to: 10%, change: +1 }, { from: 10%, change: =9 }]",
        ),
        ("alarms: [high], change: +1", "alarms: [high], change: =9, least: 2"),
        ("alarms: [high], change: +1", "alarms: [high], track: cpu, target: 50%"),
        ("alarms: [high], change: +1", "track: cpu, target: 50%"),
        ("alarms: [high], change: +1", "alarms: [high], steps: [{ from: 0%, to: 10%, change: +1 }]"),
        ("alarms: [high], change: +1", "alarms: [high], change: +1, simple: true"),
        ("min: 2", "min: 2\n      monitoring: basic"),
        ("min: 2", "min: 2\n      platform: ec2\n      monitoring: some"),
        ("min: 2", "min: 2\n      platform: ec2\n      monitoring: basic"),
        (
            "down: { alarms: [low], change: -1 }",
            "down: { alarms: [low], change: -1 }
        keep: { track: cpu, target: 50% }
      platform: ec2
      monitoring: basic",
        ),
    ]));
}

#[test]
fn autoscalers_of_pods() {
    let policies = "policies: [{ type: Pods, value: 2, periodSeconds: 60 }]";
    let rules = "behavior:
          scaleUp: { policies: [{ type: Pods, value: 2, periodSeconds: 60 }] }
          scaleDown: { selectPolicy: Disabled }";
    insta::assert_snapshot!(told_of(
        PODS,
        &[
            ("scaleUp", "scaleup"),
            ("type: Pods", "type: Pod"),
            ("value: 2", "value: 0"),
            ("periodSeconds: 60", "periodSeconds: 1801"),
            ("periodSeconds: 60", "periodSeconds: 60s"),
            (policies, "policies: []"),
            (policies, "stabilizationWindowSeconds: 3601"),
            ("selectPolicy: Disabled", "selectPolicy: disabled"),
            ("selectPolicy: Disabled }", "tolerance: 5% }\n        version: 32"),
            ("selectPolicy: Disabled }", "tolerance: -1 }"),
            ("cpu: 70%", "cpu: 70%\n        stabilize_down: 1m"),
            ("cpu: 70%", "cpu: 150%"),
            ("cpu: 70%", "cpu: 70"),
            (rules, "stabilize_down: 1m"),
            (rules, "behavior: {}"),
            (rules, "behavior: yes"),
        ]
    ));
}

#[test]
fn knative() {
    let base = PODS.split("      hpa:").next().unwrap().to_owned() + "      knative: { concurrency: 10 }\n";
    let with = |words| format!("knative: {{ {words}");
    let words = [
        "panic_window_percentage: 0.5,",
        "panic_threshold_percentage: 2.0,",
        "panic_threshold_percentage: 1001%,",
        "panic_window_percentage: some,",
        "max_scale_up_rate: 1,",
        "max_scale_down_rate: 0.5,",
        "activation_scale: 0,",
        "stable_window: 5s,",
    ]
    .map(with);
    let changes: Vec<_> = words.iter().map(|words| ("knative: {", words.as_str())).collect();
    insta::assert_snapshot!(told_of(&base, &changes));
}

#[test]
fn metrics_of_an_hpa() {
    let base = PODS.split("      hpa:").next().unwrap().to_owned()
        + "      hpa: { metrics: [{ type: External, measures: in-flight, threshold: 10 }] }\n";
    insta::assert_snapshot!(told_of(
        &base,
        &[
            ("External", "Extern"),
            ("in-flight", "memory"),
            ("in-flight", "p100"),
            ("in-flight", "recorded"),
            ("in-flight", "recorded, file: none.csv"),
            ("threshold: 10", "threshold: 0"),
            ("threshold: 10", "threshold: 10, factor: 1e12"),
            ("threshold: 10", "threshold: 10, object: Ingress"),
            ("External", "Pods, metric_type: Value"),
            ("External", "Resource"),
            ("External, measures: in-flight", "Pods, measures: cpu, window: 2m"),
            ("metrics: [{ type: External, measures: in-flight, threshold: 10 }]", "metrics: []"),
        ]
    ));
}

#[test]
fn keda() {
    let base = PODS.split("      hpa:").next().unwrap().to_owned()
        + "      keda: { prometheus: [{ measures: in-flight, threshold: 10 }] }\n";
    let with = |words| format!("keda: {{ {words}");
    let words = [
        "idle: 1,",
        "polling_interval: 0s,",
        "cooldown_period: 1500ms,",
        "sync_period: 7s,",
        "cron: [{ start: '0 8 * *', end: '0 18 * * *', replicas: 2 }],",
        "cron: [{ start: '0 8 * * *', end: '0 18 * * 7', replicas: 2 }],",
        "cron: [{ start: '0 8 * * *', end: '0 8 * * *', replicas: 2 }],",
        "cron: [{ start: '0 8 * * *', end: '0 18 * * *', replicas: 0 }],",
        "cron: [{ start: '0 8 * * 1-5', end: '0 18 * * 1-5', replicas: 2 }],",
        "fallback: { failure_threshold: 3, replicas: 6, behavior: curentReplicas },",
        "fallback: { replicas: 6 },",
        "cpu: 150%,",
        "behavior: { scaleDown: { stabilizationWindowSeconds: 3601 } },",
        "cooldownPeriod: 5m,",
        "knative: {},",
    ]
    .map(with);
    let mut changes: Vec<_> = words.iter().map(|words| ("keda: {", words.as_str())).collect();
    changes.extend([
        ("in-flight", "memory"),
        ("in-flight", "recorded"),
        ("in-flight", "recorded, file: none.csv, window: 1m"),
        ("threshold: 10", "threshold: 10, file: depth.csv"),
        ("threshold: 10", "threshold: 0"),
        ("threshold: 10", "threshold: 10, metric_type: Utilization"),
        ("prometheus: [{ measures: in-flight, threshold: 10 }]", "idle: 0"),
        (
            "prometheus: [{ measures: in-flight, threshold: 10 }]",
            "hpa: ~, cpu: 70%, fallback: { replicas: 1, failure_threshold: 1 }",
        ),
        ("min: 1", "min: 20"),
        ("keda:", "hpa: { cpu: 70% }\n      keda:"),
    ]);
    insta::assert_snapshot!(told_of(&base, &changes));
}

#[test]
fn stages_and_rows() {
    insta::assert_snapshot!(told(&[
        ("min: 3", "mni: 3"),
        ("min: 3", "min: 30"),
        ("name: after", "name: before"),
        ("name: after", "name: after all"),
        ("name: after", "name: after\n    after: befor"),
        ("changes: {", "changes: { case: x,"),
        ("changes: { services: { web: { scaling: { min: 3 } } } }", "changes: []"),
        ("before.instances_mean", "befor.instances_mean"),
        ("after.instances_mean <", "after.instances_men <"),
        ("after.instances_mean <", "after.p95 <"),
    ]));
}

#[test]
fn all_problems_are_told_with_pictures() {
    let text = BASE
        .replacen("above: 60%, datapoints: 3", "above: 60%, datapoints: 5, evaluation_periods: 3", 1)
        .replacen("hold: db", "hold: bd", 1)
        .replacen("min: 3", "mni: 3", 1);
    let problems = parsed(&text).unwrap_err();
    let drawn: String = problems.iter().map(fields::Problem::monochrome).collect();
    insta::assert_snapshot!(drawn);
}

/// Policies on processor use of a model without processor times, and the section itself.
#[test]
fn calibrations() {
    let suspect = "traffic: {";
    let section = |keys: &str| format!("calibration: {{ {keys} }}\ntraffic: {{");
    let unknown = section("verdict: suspect, unknown: [cpu, cpu, wait]");
    let keys = [
        unknown.as_str(),
        &section("verdict: good"),
        &section("reasons: [slow]"),
        &section("verdict: valid, unknown: [cpus]"),
        &section("verdict: valid, worst: { what: p95_ms, at: 3, predicted: -1, measured: 2 }"),
    ];
    let changes = keys.map(|key| (suspect, key));
    let stage = ("{ services: { web: { scaling: { min: 3 } } } }", "{ calibration: { verdict: valid } }");
    let told = told(&changes) + &told_of(PODS, &[(suspect, &unknown)]) + &told_of(BASE, &[stage]);
    insta::assert_snapshot!(told);
}

#[test]
fn a_model_without_processor_times_scales_on_other_metrics() {
    let text = BASE
        .replacen("traffic: {", "calibration: { verdict: suspect, unknown: [cpu] }\ntraffic: {", 1)
        .replacen("metric: cpu, above: 60%", "metric: latency, above: 200ms", 1)
        .replacen("metric: cpu, below: 30%", "metric: requests-per-target, below: 100", 1);
    let case = parsed(&text).unwrap_or_else(|problems| panic!("{problems}"));
    let found = case.calibration().unwrap();
    assert!(found.is_suspect() && !found.knows_cpu(), "{found:?}");
}
