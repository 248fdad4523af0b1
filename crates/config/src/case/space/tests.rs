//! Dimensions of shipped cases and of small ones.

use super::*;
use crate::case::{Given, parse};
use std::path::Path;

fn accounts() -> Case {
    let text = include_str!("../../../../../cases/accounts.yaml");
    parse("accounts.yaml", text, Path::new(""), Given::default())
        .unwrap_or_else(|problems| panic!("{problems}"))
}

fn found<'a>(dimensions: &'a [Dimension], end: &str) -> &'a Dimension {
    let of_today = |dimension: &&Dimension| dimension.when.is_none_or(|(_, place)| place == 0);
    let is_it = |dimension: &&Dimension| dimension.key.ends_with(end) && of_today(dimension);
    dimensions.iter().find(is_it).unwrap_or_else(|| panic!("{end} is not among {dimensions:#?}"))
}

#[test]
fn the_policies_of_accounts_are_dimensions_with_todays_values() {
    let case = accounts();
    let dimensions = case.dimensions(0, &[]);
    for (end, today, other) in [
        ("scaling.min", "15", "8"),
        ("scaling.max", "32", "16"),
        ("alarms.slow.statistic", "p99", "p95"),
        ("alarms.slow.above", "1s", "700ms"),
        ("alarms.slow.datapoints", "1", "3"),
        ("alarms.cpu-low.below", "15%", "25%"),
        ("alarms.cpu-low.period", "5m", "2m"),
        ("policies.fast-up.change", "+3", "+1"),
        ("policies.fast-up.cooldown", "300s", "60s"),
    ] {
        let dimension = found(&dimensions, end);
        assert_eq!(dimension.choices[dimension.today].text.as_deref(), Some(today), "{end}");
        let texts: Vec<_> = dimension.choices.iter().filter_map(|choice| choice.text.as_deref()).collect();
        assert!(texts.contains(&other), "{end}: {texts:?}");
    }
    assert!(dimensions.iter().all(|dimension| !dimension.key.contains("server")));
}

#[test]
fn every_single_change_is_readable_or_refused_and_todays_changes_nothing() {
    let case = accounts();
    let dimensions = case.dimensions(0, &[Also::Server, Also::Balancing, Also::Hosts]);
    let today = format!("{:?}", case.stages[0].system);
    let (mut read, mut tried) = (0, 0);
    for dimension in &dimensions {
        let condition = dimension.when.map(|(other, place)| dimensions[other].choices[place].edits.clone());
        for (place, choice) in dimension.choices.iter().enumerate() {
            let edits = [condition.clone().unwrap_or_default(), choice.edits.clone()].concat();
            let system = case.varied(0, &edits);
            tried += 1;
            read += usize::from(system.is_ok());
            if place == dimension.today && dimension.when.is_none_or(|(_, place)| place == 0) {
                assert_eq!(format!("{:?}", system.unwrap()), today, "{}", dimension.key);
            }
        }
    }
    // 15 of at most 10 instances is refused, and little else.
    assert!(read * 10 >= tried * 9, "{read} of {tried}");
}

#[test]
fn an_alarm_with_evaluation_periods_can_have_more_datapoints() {
    for (alarm, today) in [
        ("evaluation_periods: 1, datapoints: 1", (1, 1)),
        ("evaluation_periods: 3, datapoints: 2", (2, 3)),
        ("evaluation_periods: 2", (2, 2)),
        ("datapoints: 2", (2, 2)),
    ] {
        let scaling = format!(
            "{{ min: 2, max: 9, alarms: {{ busy: {{ metric: cpu, above: 60%, period: 1m, {alarm} }} }}, \
             policies: {{ out: {{ alarms: [busy], change: +1, cooldown: 300s }} }} }}"
        );
        let case = small("", "{ h: { cores: 1 } }", &scaling);
        let dimensions = case.dimensions(0, &[]);
        let found = found(&dimensions, "busy.datapoints");
        let of = |place: usize| {
            let system = case.varied(0, &found.choices[place].edits);
            let system = system.unwrap_or_else(|problems| panic!("{alarm}: {problems:?}"));
            let control::scaling::controller::Policy::Aws(policy) = &system.services[0].scaling.policy else {
                panic!("{system:?}")
            };
            let alarm = &policy.scaler.alarms[0];
            (alarm.datapoints_to_alarm, alarm.evaluation_periods)
        };
        assert_eq!(of(found.today), today, "{alarm}");
        let all: Vec<(u32, u32)> = (0..found.choices.len()).map(of).collect();
        let periods = if alarm.contains("evaluation") { today.1 } else { 0 };
        for datapoints in [1, 2, 3, 5, 10] {
            assert!(all.contains(&(datapoints, periods.max(datapoints))), "{alarm}: {all:?}");
        }
    }
}

#[test]
fn times_of_schedules_move_on_their_days() {
    let scaling = "{ min: 2, max: 9, policies: { c: { track: cpu, target: 50% } }, schedule: [{ at: '07:30', min: 4 }, \
                   { at: 'cron(0 8 ? * MON-FRI *)', min: 4 }, { at: '50 23 * * MON-FRI', min: 2 }, \
                   { at: 'cron(0/5 8 * * ? *)', min: 2 }] }";
    let case = small("begins: 2026-03-02", "{ h: { cores: 1 } }", scaling);
    let dimensions = case.dimensions(0, &[]);
    let of = |place: u32| {
        let found = found(&dimensions, &format!("schedule[{place}].at"));
        for choice in &found.choices {
            case.varied(0, &choice.edits).unwrap_or_else(|problems| panic!("{choice:?}: {problems:?}"));
        }
        (texts(found), found.choices[found.today].text.as_deref())
    };
    assert_eq!(of(0).0, ["06:30", "07:00", "07:15", "07:25", "07:30", "07:35", "07:45", "08:00", "08:30"]);
    let (times, today) = of(1);
    assert_eq!((times.len(), times[0], times[8]), (9, "cron(0 7 ? * MON-FRI *)", "cron(0 9 ? * MON-FRI *)"));
    assert_eq!(today, Some("cron(0 8 ? * MON-FRI *)"));
    // Later would be on other days.
    let (times, today) = of(2);
    assert_eq!((times.len(), times[5], today), (6, "55 23 * * MON-FRI", Some("50 23 * * MON-FRI")));
    assert!(dimensions.iter().all(|dimension| !dimension.key.ends_with("schedule[3].at")));
}

#[test]
fn a_service_without_scaling_has_no_dimensions() {
    let text = "case: a\ntraffic: {rate: 1/s}\nservices:\n  web:\n    endpoints: {r: {cpu: 1ms}}\n    server: {}\n    hosts: {h: {cores: 1}}\n";
    let case = parse("a.yaml", text, Path::new(""), Given::default()).unwrap();
    assert_eq!(case.dimensions(0, &[]), []);
}

#[test]
fn predictive_scaling_is_tried_where_there_is_a_day_to_learn_from() {
    let of = |days: u32| {
        let text = format!(
            "case: a\nmeasured: {days}d\ntraffic: {{rate: 1/s}}\nservices:\n  web:\n    endpoints: {{r: {{cpu: 1ms}}}}\n    \
             server: {{}}\n    hosts: {{h: {{cores: 1}}}}\n    scaling: {{ min: 1, max: 5, policies: {{ c: {{ track: cpu, \
             target: 50% }} }} }}\n"
        );
        parse("a.yaml", &text, Path::new(""), Given::default())
            .unwrap_or_else(|problems| panic!("{problems}"))
    };
    let is_forecast = |dimension: &&Dimension| dimension.key.ends_with("policies.forecast");
    assert_eq!(of(1).dimensions(0, &[]).iter().find(is_forecast), None);
    let case = of(2);
    let dimensions = case.dimensions(0, &[]);
    let forecast = dimensions.iter().find(is_forecast).unwrap();
    let system = case.varied(0, &forecast.choices[1].edits).unwrap();
    assert!(format!("{system:?}").contains("PredictiveScaling"), "{system:?}");
}

#[test]
fn autoscalers_of_kubernetes_have_dimensions() {
    for (scaling, ends) in [
        ("hpa: { cpu: 50%, behavior: true }", vec!["hpa.cpu", "hpa.stabilize_down", "hpa.tolerance"]),
        ("knative: { concurrency: 10 }", vec!["knative.concurrency", "knative.utilization"]),
        (
            "keda: { prometheus: [{ measures: requests-per-second, threshold: 20 }] }",
            vec!["keda.prometheus[0].threshold", "keda.cooldown_period"],
        ),
    ] {
        let text = format!(
            "case: a\ntraffic: {{rate: 1/s}}\nservices:\n  web:\n    endpoints: {{r: {{cpu: 1ms}}}}\n    server: {{}}\n    \
             hosts: {{h: {{cores: 1}}}}\n    scaling: {{ min: 1, max: 5, {scaling} }}\n"
        );
        let case = parse("a.yaml", &text, Path::new(""), Given::default())
            .unwrap_or_else(|problems| panic!("{problems}"));
        let dimensions = case.dimensions(0, &[]);
        for end in ends {
            let dimension = found(&dimensions, end);
            for choice in &dimension.choices {
                case.varied(0, &choice.edits)
                    .unwrap_or_else(|problems| panic!("{end} {choice:?}: {problems:?}"));
            }
        }
    }
}

fn small(more: &str, hosts: &str, scaling: &str) -> Case {
    let text = format!(
        "case: a\n{more}\ntraffic: {{peak: 10/s, day: {{'04:00': 20%, '12:00': 100%}}}}\nservices:\n  web:\n    \
         endpoints: {{r: {{cpu: 1ms}}}}\n    server: {{}}\n    hosts: {hosts}\n    scaling: {scaling}\n"
    );
    parse("a.yaml", &text, Path::new(""), Given::default()).unwrap_or_else(|problems| panic!("{problems}"))
}

fn texts(dimension: &Dimension) -> Vec<&str> {
    dimension.choices.iter().filter_map(|choice| choice.text.as_deref()).collect()
}

#[test]
fn sizes_of_fargate_keep_what_is_not_their_size() {
    let scaling = "{ min: 2, max: 9, policies: { c: { track: cpu, target: 50% } } }";
    let half = "{ task: { cores: 1, limit: 0.5, speed: 0.8, memory: 1GiB, price: fargate } }";
    let case = small("prices: { table: aws-us-east-1 }", half, scaling);
    let price = case.stages[0].system.services[0].prices[0].per_hour;
    let dimensions = case.dimensions(0, &[Also::Hosts]);
    let hosts = found(&dimensions, "web.hosts");
    assert_eq!(texts(hosts), ["task", "fargate-1-vcpu-2-gb", "fargate-2-vcpu-4-gb", "fargate-4-vcpu-8-gb"]);
    let varied = case.varied(0, &hosts.choices[1].edits).unwrap_or_else(|problems| panic!("{problems:?}"));
    let service = &varied.services[0];
    let host = &service.hosts[0];
    assert_eq!((host.cores, host.speed, host.quota), (1, 0.8, None));
    assert!((service.prices[0].per_hour / price - 2.0).abs() < 1e-9, "{}", service.prices[0].per_hour);
}

#[test]
fn sizes_of_the_same_family_of_ec2_are_tried_where_they_have_a_price() {
    let scaling = "{ min: 2, max: 9, policies: { c: { track: cpu, target: 50% } } }";
    let hosts = "{ c5.large: { cores: 2, memory: 4GiB, background: 0.1 } }";
    let case = small("prices: { table: aws-us-east-1, per_hour: { c5.9xlarge: 1.53 } }", hosts, scaling);
    let dimensions = case.dimensions(0, &[Also::Hosts]);
    let sizes = found(&dimensions, "web.hosts");
    assert_eq!(texts(sizes), ["c5.large", "c5.xlarge", "c5.2xlarge", "c5.4xlarge"]);
    let system = case.varied(0, &sizes.choices[2].edits).unwrap();
    let (host, price) = (&system.services[0].hosts[0], system.services[0].prices[0]);
    assert_eq!((host.name.as_str(), host.cores, price.per_hour), ("c5.2xlarge", 8, 0.34));
    assert_eq!(host.memory.map(|memory| memory.get() >> 30), Some(16));
    // Only what the file has a price for; the credits of burstable types are not known.
    let own = small("prices: { per_hour: { c5.large: 0.1, c5.xlarge: 0.2 } }", hosts, scaling);
    assert_eq!(texts(found(&own.dimensions(0, &[Also::Hosts]), "web.hosts")), ["c5.large", "c5.xlarge"]);
    let burstable = small("prices: { table: aws-us-east-1 }", "{ t3.large: { cores: 2 } }", scaling);
    assert!(burstable.dimensions(0, &[Also::Hosts]).iter().all(|found| !found.key.ends_with("hosts")));
}

#[test]
fn daily_times_of_schedules_move_and_a_schedule_is_added_where_there_is_none() {
    let hosts = "{ h: { cores: 1 } }";
    let has = "{ min: 2, max: 9, hpa: { cpu: 50% }, schedule: [{ at: '00:10', min: 4 }] }";
    let case = small("begins: 2026-03-02T00:00", hosts, has);
    let dimensions = case.dimensions(0, &[]);
    let times = found(&dimensions, "schedule[0].at");
    assert_eq!(texts(times)[..4], ["23:10", "23:40", "23:55", "00:05"]);
    assert_eq!((times.choices[times.today].text.as_deref(), times.ordered), (Some("00:10"), true));
    for choice in &times.choices {
        case.varied(0, &choice.edits).unwrap_or_else(|problems| panic!("{choice:?}: {problems:?}"));
    }

    let case = small("", hosts, "{ min: 2, max: 9, policies: { c: { track: cpu, target: 50% } } }");
    let dimensions = case.dimensions(0, &[]);
    let place = dimensions.iter().position(|found| found.key.ends_with("scaling.schedule")).unwrap();
    let keys: Vec<_> = dimensions.iter().filter(|found| found.when == Some((place, 1))).collect();
    assert_eq!(keys.len(), 4);
    for key in keys {
        for choice in &key.choices {
            let edits = [dimensions[place].choices[1].edits.clone(), choice.edits.clone()].concat();
            case.varied(0, &edits).unwrap_or_else(|problems| panic!("{choice:?}: {problems:?}"));
        }
    }
}
