use super::*;
use proptest::prelude::*;
use serde_json::json;

const TARGETS: &str = include_str!("../../tests/aws/targets.json");
const POLICIES: &str = include_str!("../../tests/aws/policies.json");
const SCHEDULED: &str = include_str!("../../tests/aws/scheduled.json");
const ALARMS: &str = include_str!("../../tests/aws/alarms.json");

fn told(files: &[(&str, &str)]) -> String {
    match read(files.iter().copied()) {
        Ok(fleet) => {
            let remarks: String = fleet
                .remarks
                .iter()
                .map(|remark| format!("{:?}: {remark}\n", remark.cause.effect()))
                .collect();
            let policies = |service: &Service| {
                let words =
                    service.policies.iter().map(|policy| format!("{} {:?}", policy.name, policy.alarms));
                words.collect::<Vec<_>>().join(", ")
            };
            let services = fleet.services.iter().map(|service| {
                let alarms =
                    service.alarms.iter().map(|alarm| alarm.name.as_str()).collect::<Vec<_>>().join(", ");
                format!(
                    "{} {}..{}: {}; alarms {alarms}\n",
                    service.name,
                    service.min.unwrap(),
                    service.max.unwrap(),
                    policies(service)
                )
            });
            services.collect::<String>() + &remarks
        }
        Err(errors) => errors.iter().map(|error| format!("error: {error}\n")).collect(),
    }
}

/// The files with one value changed.
fn with(text: &str, pointer: &str, value: Value) -> String {
    let mut body: Value = serde_json::from_str(text).unwrap();
    match body.pointer_mut(pointer) {
        Some(place) => *place = value,
        None => {
            let (parent, key) = pointer.rsplit_once('/').unwrap();
            body.pointer_mut(parent).unwrap().as_object_mut().unwrap().insert(key.to_owned(), value);
        }
    }
    body.to_string()
}

#[test]
fn an_ecs_service_is_read_with_its_policies_and_alarms() {
    let files = [
        ("targets.json", TARGETS),
        ("policies.json", POLICIES),
        ("scheduled.json", SCHEDULED),
        ("alarms.json", ALARMS),
    ];
    let fleet = read(files).unwrap();
    insta::assert_debug_snapshot!(fleet);
    // In any order, and twice.
    let mut again: Vec<_> = files.to_vec();
    again.reverse();
    again.extend(files);
    let reversed = read(again).unwrap();
    let key = |service: &Service| (service.name.clone(), service.alarms.len(), service.policies.clone());
    assert_eq!(
        fleet.services.iter().map(key).collect::<Vec<_>>(),
        reversed.services.iter().map(key).collect::<Vec<_>>()
    );
}

#[test]
fn an_auto_scaling_group_is_read_with_its_policies_and_alarms() {
    let fleet = read([
        ("groups.json", include_str!("../../tests/aws/groups.json")),
        ("group-policies.json", include_str!("../../tests/aws/group-policies.json")),
        ("group-alarms.json", include_str!("../../tests/aws/group-alarms.json")),
        ("group-scheduled.json", include_str!("../../tests/aws/group-scheduled.json")),
    ]);
    insta::assert_debug_snapshot!(fleet.unwrap());
}

#[test]
fn pages_that_were_joined_are_read() {
    let pages = with(TARGETS, "/NextToken", json!("abc")) + POLICIES;
    let list = format!("[{TARGETS},{POLICIES}]");
    for text in [&pages, &list] {
        let fleet = read([("all.json", text.as_str()), ("alarms.json", ALARMS)]).unwrap();
        assert_eq!(fleet.services[0].policies.len(), 3);
        assert!(fleet.remarks.iter().all(|remark| remark.cause != Cause::Cut));
    }
    let fleet = read([("targets.json", with(TARGETS, "/NextToken", json!("abc")).as_str())]).unwrap();
    assert!(fleet.remarks.iter().any(|remark| remark.cause == Cause::Cut));
}

#[test]
fn an_alarm_is_joined_by_either_side() {
    let by_policy = with(ALARMS, "/MetricAlarms/0/AlarmActions", json!([]));
    let by_alarm = with(POLICIES, "/ScalingPolicies/0/Alarms", json!([]));
    for (policies, alarms) in [(POLICIES, by_policy.as_str()), (by_alarm.as_str(), ALARMS)] {
        let fleet = read([("t", TARGETS), ("p", policies), ("a", alarms)]).unwrap();
        assert_eq!(fleet.services[0].policies[0].alarms.len(), 2);
    }
}

#[test]
fn what_is_not_understood_is_named() {
    let alarm = |key: &str, value: Value| with(ALARMS, &format!("/MetricAlarms/0/{key}"), value);
    let policy = |key: &str, value: Value| with(POLICIES, &format!("/ScalingPolicies/0/{key}"), value);
    let custom = json!({"TargetValue": 50.0, "CustomizedMetricSpecification": {"Metrics": [{"Id": "m1"}]}});
    let memory = json!({"TargetValue": 50.0, "PredefinedMetricSpecification": {"PredefinedMetricType": "ECSServiceAverageMemoryUtilization"}});
    let quick = json!({"TargetValue": 50.0, "PredefinedMetricSpecification": {"PredefinedMetricType": "ECSServiceAverageCPUUtilizationHighResolution"}});
    let fine = json!({"TargetValue": 50.0, "CustomizedMetricSpecification": {"Namespace": "AWS/ECS", "MetricName": "CPUUtilization", "Dimensions": [{"Name": "ClusterName", "Value": "shop"}, {"Name": "ServiceName", "Value": "accounts"}], "Statistic": "Average", "Period": 10}});
    let track = |settings: Value| {
        let text = policy("PolicyType", json!("TargetTrackingScaling"));
        with(&text, "/ScalingPolicies/0/TargetTrackingScalingPolicyConfiguration", settings)
    };
    let composite = with(
        ALARMS,
        "/CompositeAlarms",
        json!([{"AlarmName": "both", "AlarmArn": "arn:both", "AlarmRule": "ALARM(a) AND ALARM(b)", "AlarmActions": [serde_json::from_str::<Value>(POLICIES).unwrap()["ScalingPolicies"][0]["PolicyARN"]]}]),
    );
    let other_states = alarm(
        "OKActions",
        json!([serde_json::from_str::<Value>(POLICIES).unwrap()["ScalingPolicies"][1]["PolicyARN"]]),
    );
    let alarms = [
        ("metric math", alarm("Metrics", json!([{"Id": "e1", "Expression": "m1/m2"}]))),
        ("anomaly detection", alarm("ThresholdMetricId", json!("ad1"))),
        ("a composite alarm", composite),
        ("another namespace", alarm("Namespace", json!("AWS/SQS"))),
        (
            "another service's",
            alarm(
                "Dimensions",
                json!([{"Name": "ClusterName", "Value": "shop"}, {"Name": "ServiceName", "Value": "web"}]),
            ),
        ),
        ("a whole cluster's", alarm("Dimensions", json!([{"Name": "ClusterName", "Value": "shop"}]))),
        ("one zone's", with(ALARMS, "/MetricAlarms/1/Dimensions/0/Name", json!("AvailabilityZone"))),
        ("another unit", alarm("Unit", json!("Count"))),
        ("a rank", alarm("Statistic", json!("PR(:0.5)"))),
        ("switched off", alarm("ActionsEnabled", json!(false))),
        ("another state", other_states),
        ("a new field", alarm("EvaluationWindow", json!("WALL_CLOCK"))),
        ("two balancers", with(ALARMS, "/MetricAlarms/2/Dimensions/0/Value", json!("app/other/1"))),
        ("no alarms", r#"{"MetricAlarms": []}"#.to_owned()),
    ];
    let mut shown = String::new();
    for (what, alarms) in alarms {
        shown += &format!(
            "# {what}\n{}\n",
            told(&[("targets.json", TARGETS), ("policies.json", POLICIES), ("alarms.json", &alarms)])
        );
    }
    let policies = [
        ("a new type", policy("PolicyType", json!("ClairvoyantScaling"))),
        ("tracked math", track(custom)),
        ("tracked memory", track(memory)),
        ("tracked in 20 s", track(quick)),
        ("tracked in 10 s", track(fine)),
        ("a new field", policy("Mood", json!("good"))),
        ("a new field within", policy("StepScalingPolicyConfiguration/Mood", json!("good"))),
        ("another target", policy("ResourceId", json!("service/shop/web"))),
    ];
    for (what, policies) in policies {
        shown += &format!(
            "# {what}\n{}\n",
            told(&[("targets.json", TARGETS), ("policies.json", &policies), ("alarms.json", ALARMS)])
        );
    }
    insta::assert_snapshot!(shown);
}

/// The JSON of the user guide of EC2 Auto Scaling (*Predictive scaling policies*), as policies of a group and of a service.
#[test]
fn policies_of_predictive_scaling_are_read() {
    let groups = include_str!("../../tests/aws/groups.json");
    let target = |target: u32, kind: &str| json!({ "TargetValue": target, "PredefinedMetricPairSpecification": { "PredefinedMetricType": kind } });
    let two = json!({
        "TargetValue": 900,
        "PredefinedScalingMetricSpecification": {
            "PredefinedMetricType": "ALBRequestCountPerTarget",
            "ResourceLabel": "app/my-alb/1/targetgroup/my-tg/2",
        },
        "PredefinedLoadMetricSpecification": {
            "PredefinedMetricType": "ALBTargetGroupRequestCount",
            "ResourceLabel": "app/my-alb/1/targetgroup/my-tg/2",
        },
    });
    let custom = json!({
        "TargetValue": 40,
        "CustomizedScalingMetricSpecification": { "MetricDataQueries": [{ "Id": "a", "Expression": "1" }] },
        "CustomizedLoadMetricSpecification": { "MetricDataQueries": [{ "Id": "b", "Expression": "2" }] },
    });
    let mut shown = String::new();
    for settings in [
        json!({ "MetricSpecifications": [target(40, "ASGCPUUtilization")], "Mode": "ForecastOnly" }),
        json!({
            "MetricSpecifications": [target(1000, "ALBRequestCount")],
            "Mode": "ForecastAndScale",
            "MaxCapacityBreachBehavior": "IncreaseMaxCapacity",
            "MaxCapacityBuffer": 10,
            "SchedulingBufferTime": 600,
        }),
        json!({ "MetricSpecifications": [two] }),
        json!({ "MetricSpecifications": [target(40, "ASGNetworkIn")] }),
        json!({ "MetricSpecifications": [custom] }),
        json!({ "MetricSpecifications": [], "Mode": "Always" }),
        json!({ "Mode": "ForecastOnly" }),
    ] {
        let policy = json!({ "ScalingPolicies": [{
            "AutoScalingGroupName": "my-asg",
            "PolicyName": "predictive",
            "PolicyARN": "arn:aws:autoscaling:eu-west-1:123456789012:scalingPolicy:1:autoScalingGroupName/my-asg:policyName/p",
            "PolicyType": "PredictiveScaling",
            "Alarms": [],
            "PredictiveScalingConfiguration": settings,
            "Enabled": true,
        }] });
        let policy = policy.to_string();
        let files = [("groups.json", groups), ("policies.json", &policy)];
        shown += &told(&files);
        if let Ok(fleet) = read(files) {
            shown +=
                &fleet.services[0].policies.iter().map(|one| format!("{:?}\n", one.rule)).collect::<String>();
        }
        shown += "\n";
    }
    let settings = json!({ "MetricSpecifications": [target(40, "ECSServiceCPUUtilization")], "Mode": "ForecastAndScale" });
    let policy = |key: &str, value: Value| with(POLICIES, &format!("/ScalingPolicies/2/{key}"), value);
    let policies = with(
        &policy("PolicyType", json!("PredictiveScaling")),
        "/ScalingPolicies/2/PredictiveScalingPolicyConfiguration",
        settings,
    );
    let fleet =
        read([("targets.json", TARGETS), ("policies.json", &policies), ("alarms.json", ALARMS)]).unwrap();
    shown += &format!("{:?}", fleet.services[0].policies[2].rule);
    insta::assert_snapshot!(shown);
}

#[test]
fn alarms_that_aws_made_are_compared_with_the_assumption() {
    let groups = include_str!("../../tests/aws/groups.json");
    let policies = include_str!("../../tests/aws/group-policies.json");
    let alarms = include_str!("../../tests/aws/group-alarms.json");
    let as_assumed = with(alarms, "/MetricAlarms/1/Threshold", json!(700.0));
    let other = |text: &str| {
        let fleet = read([("g", groups), ("p", policies), ("a", text)]).unwrap();
        fleet.remarks.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    };
    assert_eq!(other(&as_assumed), "");
    insta::assert_snapshot!(other(alarms));
}

#[test]
fn what_is_wrong_is_told_at_once() {
    let target = |key: &str, value: Value| with(TARGETS, &format!("/ScalableTargets/0/{key}"), value);
    let mut shown = String::new();
    for files in [
        vec![("broken.json", "{\"ScalableTargets\": [".to_owned()), ("empty.json", String::new())],
        vec![("other.json", "{\"Reservations\": []}".to_owned()), ("text.json", "5".to_owned())],
        vec![("requests.json", "{\"MetricDataResults\": []}".to_owned())],
        vec![
            ("targets.json", target("MinCapacity", json!("15"))),
            ("again.json", target("MaxCapacity", json!(-1))),
        ],
        vec![("targets.json", target("MinCapacity", json!(40)))],
        vec![("monday.json", TARGETS.to_owned()), ("tuesday.json", target("MinCapacity", json!(8)))],
        vec![("targets.json", target("ResourceId", json!(null)))],
        vec![
            ("targets.json", TARGETS.to_owned()),
            (
                "policies.json",
                with(
                    POLICIES,
                    "/ScalingPolicies/0/StepScalingPolicyConfiguration/AdjustmentType",
                    json!("Double"),
                ),
            ),
        ],
        vec![("alarms.json", ALARMS.to_owned())],
        vec![("targets.json", target("ServiceNamespace", json!("lambda")))],
    ] {
        let files: Vec<_> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
        shown += &told(&files);
        shown += "\n";
    }
    insta::assert_snapshot!(shown);
}

#[test]
fn the_commands_that_produce_the_files_are_listed() {
    let shown = |wanted: &Wanted| {
        let all = commands(wanted, 1_772_366_405_000_000);
        all.iter()
            .map(|command| format!("# {}\n{} > {}\n", command.what, command.line, command.file))
            .collect::<String>()
    };
    let service = Wanted {
        service: Some("shop/accounts".to_owned()),
        load_balancer: Some(
            "arn:aws:elasticloadbalancing:eu-west-1:123456789012:loadbalancer/app/accounts/50dc6c495c0c9188"
                .to_owned(),
        ),
        days: 7,
        group: None,
    };
    let group = Wanted {
        group: Some("it's mine".to_owned()),
        days: 60,
        load_balancer: Some("app/a/1".to_owned()),
        service: None,
    };
    insta::assert_snapshot!([shown(&service), shown(&group), shown(&Wanted::default())].join("\n"));
}

proptest! {
    /// Any field of any file may have another type or be missing.
    #[test]
    fn no_field_panics(file in 0_usize..4, place in 0_usize..200, other in 0_usize..6) {
        let mut texts = [TARGETS, POLICIES, SCHEDULED, ALARMS].map(str::to_owned);
        let mut body: Value = serde_json::from_str(&texts[file]).unwrap();
        let others = [json!(null), json!("x"), json!(-1.5), json!([1, {}]), json!({"a": 1}), json!(true)];
        let mut places = Vec::new();
        pointers(&body, "", &mut places);
        let pointer = &places[place % places.len()];
        *body.pointer_mut(pointer).unwrap() = others[other].clone();
        texts[file] = body.to_string();
        let _ = read(texts.iter().map(|text| ("file.json", text.as_str())));
    }
}

/// The paths of all values.
fn pointers(value: &Value, place: &str, all: &mut Vec<String>) {
    let children: Vec<(String, &Value)> = match value {
        Value::Object(map) => map.iter().map(|(key, value)| (key.clone(), value)).collect(),
        Value::Array(items) => {
            items.iter().enumerate().map(|(index, value)| (index.to_string(), value)).collect()
        }
        _ => Vec::new(),
    };
    for (key, value) in children {
        let place = format!("{place}/{key}");
        all.push(place.clone());
        pointers(value, &place, all);
    }
}
