//! How workloads scale on Kubernetes.

use super::{Section, key_for, original};
use control::scaling::hpa::{
    Behavior, Change, HpaSettings, Metric, RatePolicy, ResourceTarget, Rules, Select, Source,
};
use import::kubernetes::{Autoscaler, Autoscalers};

/// The workloads of autoscalers.
pub fn kubernetes(found: &Autoscalers) -> Section {
    let mut text =
        "# How workloads scale, as Kubernetes has them. Servers, hosts and traffic are yours to add.\n\
                    services:\n"
            .to_owned();
    let (mut left_out, mut keys) = (Vec::new(), Vec::new());
    for autoscaler in &found.autoscalers {
        let Some(words) = words(autoscaler, &mut left_out) else { continue };
        let key = key_for(&autoscaler.scales.name, &mut keys);
        let name = original(&key, &autoscaler.whole_name());
        let HpaSettings { min, max, .. } = &autoscaler.settings;
        let (min, max) = (min.get(), max.get());
        text += &format!(
            "  {key}:{name}\n    scaling:\n      min: {min}\n      max: {max}\n      hpa: {{ {words} }}\n"
        );
    }
    Section { text, left_out }
}

/// The words of an autoscaler, or none where a case file cannot say any of its metrics.
fn words(autoscaler: &Autoscaler, left_out: &mut Vec<String>) -> Option<String> {
    let HpaSettings { metrics, behavior, .. } = &autoscaler.settings;
    let place = format!("{} (`{}`)", autoscaler.spot, autoscaler.name);
    let mut cpu = None;
    for metric in metrics {
        match utilization(metric) {
            Some(percent) if cpu.is_none() => cpu = Some(percent),
            _ => {
                left_out.push(format!("{place}: {metric} is a target that a case file cannot say; left out"))
            }
        }
    }
    let Some(cpu) = cpu else {
        left_out.push(format!("{place}: no metric is left that a case file can say; left out"));
        return None;
    };
    let mut words = vec![format!("cpu: {cpu}%")];
    if let Some(behavior) = behavior {
        words.push(behavior_words(behavior));
    }
    Some(words.join(", "))
}

fn utilization(metric: &Metric) -> Option<u32> {
    match &metric.source {
        Source::Resource { target: ResourceTarget::Utilization(percent) } if metric.name == "cpu" => {
            Some(*percent)
        }
        _ => None,
    }
}

/// What is not Kubernetes' default, in its own words.
fn behavior_words(behavior: &Behavior) -> String {
    let usual = Behavior::default();
    let ways = [("scaleUp", &behavior.up, &usual.up), ("scaleDown", &behavior.down, &usual.down)];
    let mut words = Vec::new();
    for (way, rules, usual) in ways {
        let said = rules_words(rules, usual);
        if !said.is_empty() {
            words.push(format!("{way}: {{ {} }}", said.join(", ")));
        }
    }
    if words.is_empty() {
        "behavior: true".to_owned()
    } else {
        format!("behavior: {{ {} }}", words.join(", "))
    }
}

fn rules_words(rules: &Rules, usual: &Rules) -> Vec<String> {
    let mut words = Vec::new();
    if let Some(window) = rules.stabilization.filter(|_| rules.stabilization != usual.stabilization) {
        words.push(format!("stabilizationWindowSeconds: {}", window.as_secs()));
    }
    match rules.select {
        Select::Max => {}
        Select::Min => words.push("selectPolicy: Min".to_owned()),
        Select::Disabled => words.push("selectPolicy: Disabled".to_owned()),
    }
    if rules.policies != usual.policies {
        let policies: Vec<String> = rules.policies.iter().map(rate_words).collect();
        words.push(format!("policies: [{}]", policies.join(", ")));
    }
    if let Some(tolerance) = rules.tolerance {
        words.push(format!("tolerance: {tolerance}"));
    }
    words
}

fn rate_words(policy: &RatePolicy) -> String {
    let (kind, value) = match policy.change {
        Change::Pods(pods) => ("Pods", pods),
        Change::Percent(percent) => ("Percent", percent),
    };
    format!("{{ type: {kind}, value: {value}, periodSeconds: {} }}", policy.period.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::{Given, parse};
    use import::kubernetes::{Cluster, read};
    use std::path::Path;

    fn shown(text: &str) -> String {
        let found = read([("hpa.yaml", text)], &Cluster::default()).unwrap();
        let Section { text, left_out } = kubernetes(&found);
        format!("{text}---\n{}", left_out.join("\n"))
    }

    /// The shape of Kubernetes' own example.
    const PHP: &str = "\
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  name: php-apache
  namespace: shop
spec:
  scaleTargetRef: { apiVersion: apps/v1, kind: Deployment, name: php-apache }
  minReplicas: 1
  maxReplicas: 10
  metrics:
    - type: Resource
      resource: { name: cpu, target: { type: Utilization, averageUtilization: 50 } }
";

    #[test]
    fn autoscalers_are_written_as_a_case_file_has_them() {
        insta::assert_snapshot!(shown(PHP));
    }

    /// The section with what it leaves to users, read as a case file.
    fn read_again(section: &str, request: &str) -> HpaSettings {
        let rest =
            "    endpoints: { page: { cpu: 5ms } }\n    server: {}\n    hosts: { pod: { cores: 1 } }\n";
        let whole = section
            .replace("    scaling:", &format!("{rest}    scaling:"))
            .replace("hpa: {", &format!("hpa: {{ {request}"));
        let text = format!("case: shop\ntraffic: {{ rate: 10/s }}\n{whole}");
        let case = parse("case.yaml", &text, Path::new(""), Given::default());
        let case = case.unwrap_or_else(|problems| panic!("{}\n{text}", problems.plain()));
        match &case.stages[0].system.services[0].scaling.policy {
            sim::settings::Policy::Hpa(scaling) => scaling.hpa.clone(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn behavior_is_carried_as_it_is() {
        let mut shown = String::new();
        for behavior in [
            "{ scaleDown: { selectPolicy: Disabled } }",
            "{ scaleUp: { policies: [{ type: Pods, value: 4, periodSeconds: 15 }, { type: Percent, value: 100, \
             periodSeconds: 15 }] } }",
            "{ scaleUp: { stabilizationWindowSeconds: 30, selectPolicy: Min, policies: [{ type: Percent, value: 10, \
             periodSeconds: 60 }, { type: Pods, value: 2, periodSeconds: 120 }], tolerance: 70m }, scaleDown: { \
             stabilizationWindowSeconds: 0, tolerance: 0 } }",
        ] {
            let text = format!("{PHP}  behavior: {behavior}\n");
            let found = read([("hpa.yaml", text.as_str())], &Cluster::default()).unwrap();
            let Section { text: section, left_out } = kubernetes(&found);
            assert_eq!(left_out, Vec::<String>::new());
            assert_eq!(read_again(&section, "").behavior, found.autoscalers[0].settings.behavior);
            shown += section.lines().last().unwrap();
            shown += "\n";
        }
        insta::assert_snapshot!(shown);
    }

    #[test]
    fn a_target_above_what_is_requested_is_carried() {
        let text = PHP.replace("averageUtilization: 50", "averageUtilization: 150");
        let found = read([("hpa.yaml", text.as_str())], &Cluster::default()).unwrap();
        let Section { text: section, left_out } = kubernetes(&found);
        assert_eq!(left_out, Vec::<String>::new());
        assert_eq!(read_again(&section, "request: 0.5, ").metrics, [Metric::cpu_utilization(150)]);
    }

    #[test]
    fn what_a_case_file_cannot_say_is_told() {
        let more = "    - type: Resource
      resource: { name: memory, target: { type: Utilization, averageUtilization: 60 } }
  behavior: { scaleDown: { tolerance: 2 } }
";
        insta::assert_snapshot!(shown(&format!("{PHP}{more}")));
        insta::assert_snapshot!(shown(&PHP.replace("name: cpu", "name: memory")));
    }
}
