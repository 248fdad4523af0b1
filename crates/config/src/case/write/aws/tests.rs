use super::*;
use import::aws::read;
use std::path::Path;

/// 2026-07-01T12:00:00Z, when Berlin is two hours ahead.
const NOON: i64 = 1_782_907_200_000_000;

/// The files of the importer's own tests.
fn fleet(names: &[&str]) -> Fleet {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../import/tests/aws");
    let files: Vec<_> =
        names.iter().map(|name| (*name, std::fs::read_to_string(folder.join(name)).unwrap())).collect();
    read(files.iter().map(|(name, text)| (*name, text.as_str()))).unwrap()
}

fn shown(fleet: &Fleet) -> String {
    let Draft { text, left_out, .. } = aws(fleet, NOON);
    format!("{text}---\n{}", left_out.join("\n"))
}

#[test]
fn services_are_written_as_a_case_file_has_them() {
    insta::assert_snapshot!(shown(&fleet(&[
        "targets.json",
        "policies.json",
        "scheduled.json",
        "alarms.json"
    ])));
    insta::assert_snapshot!(shown(&fleet(&[
        "groups.json",
        "group-policies.json",
        "group-alarms.json",
        "group-scheduled.json"
    ])));
}

/// The documents of the importer's own tests.
fn of_terraform(name: &str) -> Fleet {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../import/tests/terraform");
    import::aws::terraform::read(name, &std::fs::read_to_string(folder.join(name)).unwrap()).unwrap()
}

#[test]
fn resources_of_terraform_are_written_with_their_addresses() {
    for name in ["state.json", "plan.json"] {
        let Draft { text, left_out, .. } = terraform(&of_terraform(name), NOON);
        insta::assert_snapshot!(format!("{text}---\n{}", left_out.join("\n")));
    }
}

/// What was written is what is read: each policy, alarm and bound knows its object.
#[test]
fn origins_are_read_back() {
    let draft = aws(&fleet(&["targets.json", "policies.json", "scheduled.json", "alarms.json"]), NOON).text;
    let resources = terraform(&of_terraform("state.json"), NOON).text;
    for text in [draft, resources] {
        let values =
            [("rate", "50/s"), ("cpu", "5ms"), ("wait", "20ms"), ("provision", "30s"), ("boot", "10s")];
        let filled = values.iter().fold(text.clone(), |text, (key, value)| {
            text.replace(&format!(" {key}: TODO"), &format!(" {key}: {value}"))
        });
        let filled = format!("measured: 5m\n{}", filled.replace(": TODO", ": 1"));
        let given = crate::case::Given::default();
        let case = crate::case::parse("case.yaml", &filled, Path::new(""), given).unwrap();
        let origins = &case.stages[0].origins;
        assert_eq!(origins.len(), text.matches("origin: ").count(), "{text}");
        for sourced in origins {
            let quoted = format!("origin: '{}'", sourced.origin);
            assert!(text.contains(&quoted), "{quoted}: {text}");
        }
    }
}

#[test]
fn keys_to_fill_in_are_all_that_is_wrong_with_a_draft() {
    for names in [
        &["targets.json", "policies.json", "scheduled.json", "alarms.json"][..],
        &["groups.json", "group-policies.json", "group-alarms.json", "group-scheduled.json"],
        &["targets.json"],
        &["groups.json"],
    ] {
        only_keys_to_fill_in(&aws(&fleet(names), NOON));
    }
    for name in ["state.json", "plan.json"] {
        only_keys_to_fill_in(&terraform(&of_terraform(name), NOON));
    }
}

fn only_keys_to_fill_in(draft: &Draft) {
    let given = crate::case::Given::default();
    let problems = crate::case::parse("case.yaml", &draft.text, Path::new(""), given).unwrap_err();
    let told = problems.plain();
    let errors = told.lines().filter(|line| line.contains(": error: ")).count();
    assert_eq!(errors, told.matches("fill in this key").count(), "{told}\n{}", draft.text);
    assert_eq!(errors, draft.to_fill_in(), "{told}\n{}", draft.text);
}

#[test]
fn what_a_case_file_cannot_say_is_told() {
    let mut fleet = fleet(&["targets.json", "policies.json", "alarms.json"]);
    let service = &mut fleet.services[0];
    if let Rule::Step { steps, .. } = &mut service.policies[0].rule {
        steps[0].upper = Some(12.5);
    }
    service.policies[2] = Policy {
        name: "track".to_owned(),
        origin: None,
        alarms: Vec::new(),
        rule: Rule::TargetTracking {
            metric: Metric::Latency,
            statistic: "p90".to_owned(),
            resolution: MINUTE,
            target: Some(0.25),
            scale_out_cooldown: None,
            scale_in_cooldown: None,
            disable_scale_in: false,
            warm_up: None,
        },
    };
    insta::assert_snapshot!(shown(&fleet));
}

/// A policy of predictive scaling is what a case file says of it.
#[test]
fn predictive_scaling_is_written_and_read_back() {
    use control::scaling::predictive::{AboveMax, Load, Mode};
    let mut fleet = fleet(&["targets.json", "policies.json", "alarms.json"]);
    for (load, target, mode, buffer, above_max, words) in [
        (Load::Cpu, 40.0, Mode::ForecastAndScale, None, AboveMax::Honor, "predict: cpu, target: 40%"),
        (
            Load::Requests,
            900.0,
            Mode::ForecastOnly,
            Some(Duration::from_secs(600)),
            AboveMax::Increase { percent: 25 },
            "predict: requests-per-target, target: 900, mode: forecast-only, buffer: 10m, above_max: increase, max_buffer: 25%",
        ),
    ] {
        fleet.services[0].policies = vec![Policy {
            name: "forecast".to_owned(),
            origin: None,
            alarms: Vec::new(),
            rule: Rule::Predictive { load, target: Some(target), mode, buffer, above_max },
        }];
        let Draft { text, .. } = aws(&fleet, NOON);
        assert!(text.contains(&format!("forecast: {{ {words} }}")), "{text}");
        only_keys_to_fill_in(&aws(&fleet, NOON));
    }
}

#[test]
fn metrics_of_high_resolution_have_their_preset() {
    let mut fleet = fleet(&["targets.json", "policies.json", "alarms.json"]);
    let mut tracked = |resolution: u64, platform: Platform| {
        fleet.services[0].platform = platform;
        fleet.services[0].policies = vec![Policy {
            name: "track".to_owned(),
            origin: None,
            alarms: Vec::new(),
            rule: Rule::TargetTracking {
                metric: Metric::Cpu,
                statistic: "Average".to_owned(),
                resolution: Duration::from_secs(resolution),
                target: Some(50.0),
                scale_out_cooldown: None,
                scale_in_cooldown: None,
                disable_scale_in: false,
                warm_up: None,
            },
        }];
        let Draft { text, .. } = aws(&fleet, NOON);
        text.lines().last().unwrap().trim().to_owned()
    };
    let group = Platform::Ec2 { default_cooldown: FIVE_MINUTES, default_warm_up: FIVE_MINUTES };
    assert_eq!(tracked(60, Platform::Ecs), "track: { track: cpu, target: 50% }");
    assert_eq!(tracked(20, Platform::Ecs), "track: { track: cpu, target: 50%, preset: ecs-high-resolution }");
    // These have no known preset.
    assert_eq!(tracked(10, Platform::Ecs), "track: { track: cpu, target: 50% }");
    assert_eq!(tracked(10, group), "track: { track: cpu, target: 50%, warm_up: 5m }");
}

#[test]
fn an_exact_capacity_is_carried() {
    let mut fleet = fleet(&["groups.json", "group-policies.json", "group-alarms.json"]);
    for policy in &mut fleet.services[0].policies {
        if let Rule::Step { adjustment, .. } | Rule::Simple { adjustment, .. } = &mut policy.rule {
            *adjustment = Adjustment::ExactCapacity;
        }
        if let Rule::Step { min_adjustment_magnitude, .. } = &mut policy.rule {
            *min_adjustment_magnitude = None;
        }
        if let Rule::Simple { change, .. } = &mut policy.rule {
            *change = 3;
        }
    }
    let Draft { text, left_out, .. } = aws(&fleet, NOON);
    assert_eq!(left_out, Vec::<String>::new());
    assert!(
        text.contains("steps: [{ from: 0%, to: 10%, change: =10 }, { from: 10%, change: =30 }]"),
        "{text}"
    );
    assert!(text.contains("change: =3, simple: true"), "{text}");
    fleet.services[0].suspended.scaling_in = true;
    let Draft { text, left_out, .. } = aws(&fleet, NOON);
    assert!(!text.contains('='), "{text}");
    assert!(left_out.iter().any(|told| told.contains("of an exact capacity")), "{left_out:?}");
}

#[test]
fn amounts_have_the_units_of_case_files() {
    for (value, metric, want) in [
        (60.0, Metric::Cpu, "60%"),
        (-12.5, Metric::Cpu, "-12.5%"),
        (0.7, Metric::Latency, "700ms"),
        (-1.0, Metric::Latency, "-1s"),
        (0.0, Metric::Latency, "0us"),
        (0.000_3, Metric::Latency, "300us"),
        (1_000.0, Metric::RequestsPerTarget, "1000"),
    ] {
        assert_eq!(amount(value, metric), want);
    }
}

#[test]
fn what_is_suspended_does_nothing() {
    let of_aws = fleet(&["targets.json", "policies.json", "scheduled.json", "alarms.json"]);
    let policies = |scaling_in: bool, scaling_out: bool| {
        let mut fleet = of_aws.clone();
        fleet.services[0].suspended = Suspended { scaling_in, scaling_out, scheduled: true };
        let Draft { text, left_out, .. } = aws(&fleet, NOON);
        assert!(
            !text.contains("schedule:") && left_out.iter().any(|told| told.contains("scheduled scaling"))
        );
        ["slow-up:", "fast-up:", "slow-down:"].map(|name| text.contains(name))
    };
    assert_eq!(policies(false, false), [true, true, true]);
    assert_eq!(policies(true, false), [true, true, false]);
    assert_eq!(policies(false, true), [false, false, true]);
    assert_eq!(policies(true, true), [false, false, false]);
}
