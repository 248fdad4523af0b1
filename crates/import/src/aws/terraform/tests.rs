//! The documents are written by hand after the JSON output format of Terraform and the attributes of the AWS provider;
//! their structure (modules, `after_unknown`, `references`) was compared with what Terraform 1.11 prints.

use super::*;
use crate::aws::Rule;
use crate::origin::Origin;

const STATE: &str = include_str!("../../../tests/terraform/state.json");
const PLAN: &str = include_str!("../../../tests/terraform/plan.json");

fn shown(text: &str) -> String {
    match read("tf.json", text) {
        Ok(fleet) => {
            let remarks =
                fleet.remarks.iter().map(|remark| format!("{:?}: {remark}\n", remark.cause.effect()));
            format!("{:#?}\n{}", fleet.services, remarks.collect::<String>())
        }
        Err(errors) => errors.iter().map(|error| format!("error: {error}\n")).collect(),
    }
}

/// A document with one value changed.
fn with(text: &str, pointer: &str, value: Value) -> String {
    let mut body: Value = serde_json::from_str(text).unwrap();
    *body.pointer_mut(pointer).unwrap() = value;
    body.to_string()
}

#[test]
fn a_state_is_read_with_its_modules() {
    insta::assert_snapshot!(shown(STATE));
}

#[test]
fn a_plan_is_connected_by_its_references() {
    insta::assert_snapshot!(shown(PLAN));
}

/// The same settings, as the AWS CLI and as Terraform print them.
#[test]
fn a_resource_means_what_the_api_says() {
    let of_state = read("state.json", STATE).unwrap();
    let files = ["targets.json", "policies.json", "alarms.json"];
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/aws");
    let texts = files.map(|name| std::fs::read_to_string(folder.join(name)).unwrap());
    let of_cli = super::super::read(files.iter().copied().zip(texts.iter().map(String::as_str))).unwrap();
    let (one, other) = (&of_state.services[0], &of_cli.services[0]);
    assert_eq!((&one.name, one.min, one.max), (&other.name, other.min, other.max));
    let policy = |service: &crate::aws::Service| service.policies[0].rule.clone();
    assert_eq!(policy(one), policy(other));
    assert_eq!(
        one.origin,
        Some(Origin::Address("module.accounts.aws_appautoscaling_target.service".to_owned()))
    );
    assert!(matches!(other.origin, Some(Origin::Arn(_))));
}

#[test]
fn values_that_are_not_shown_are_to_fill_in() {
    let fleet = read("plan.json", PLAN).unwrap();
    let service = &fleet.services[0];
    assert_eq!((service.min, service.max), (None, Some(12)));
    let track = service.policies.iter().find(|policy| policy.name == "track").unwrap();
    assert!(matches!(track.rule, Rule::TargetTracking { target: None, .. }));
}

#[test]
fn each_instance_triggers_its_own_policy() {
    let fleet = read("plan.json", PLAN).unwrap();
    let service = &fleet.services[0];
    let alarms = |name: &str| {
        let policy = service.policies.iter().find(|policy| policy.name == name).unwrap();
        policy.alarms.iter().map(|alarm| service.alarms[*alarm].name.as_str()).collect::<Vec<_>>()
    };
    assert_eq!(alarms("out"), ["cpu-high"]);
    assert_eq!(alarms("in"), ["cpu-low"]);
}

#[test]
fn other_documents_are_named_with_the_way_out() {
    let deep = (0..70).fold(json!({}), |inner, _| json!({ "address": "module.a", "child_modules": [inner] }));
    let texts = [
        String::new(),
        "PK\u{3}\u{4}".to_owned(),
        "[]".to_owned(),
        "{}".to_owned(),
        json!({ "version": 4, "lineage": "f1", "resources": [] }).to_string(),
        json!({ "ScalableTargets": [] }).to_string(),
        with(STATE, "/format_version", json!("2.0")),
        with(STATE, "/format_version", json!(1)),
        json!({ "format_version": "1.0" }).to_string(),
        json!({ "format_version": "1.0", "values": { "root_module": deep } }).to_string(),
        with(STATE, "/values/root_module/child_modules/0/resources/0/values/min_capacity", json!("many")),
        with(STATE, "/values/root_module/child_modules/0/resources/0/values/min_capacity", json!(33)),
    ];
    insta::assert_snapshot!(texts.map(|text| shown(&text)).concat());
}

#[test]
fn a_document_is_not_taken_for_the_output_of_the_aws_cli() {
    let errors = super::super::read([("plan.json", PLAN)]).unwrap_err();
    assert!(errors[0].to_string().contains("`headroom import terraform plan.json`"), "{errors:?}");
}

/// A value that cannot be filled in leaves its resource out, with the reason.
#[test]
fn what_needs_a_value_that_is_not_shown_is_left_out() {
    let mut plan: Value = serde_json::from_str(PLAN).unwrap();
    let resources =
        plan["planned_values"]["root_module"]["child_modules"][0]["resources"].as_array_mut().unwrap();
    let alarm = resources.iter_mut().find(|found| found["values"]["alarm_name"] == "cpu-low").unwrap();
    alarm["sensitive_values"] = json!({ "evaluation_periods": true });
    let fleet = read("plan.json", &plan.to_string()).unwrap();
    let path = "module.web[0].aws_cloudwatch_metric_alarm.cpu[1].evaluation_periods";
    let told = fleet.remarks.iter().find(|remark| remark.path == path).unwrap().to_string();
    assert!(told.ends_with("its value is sensitive; left out, and so is what needs it"), "{told}");
    assert!(fleet.services[0].policies.iter().all(|policy| policy.name != "in"));
}
