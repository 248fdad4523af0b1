//! `keda` of a service, from a ScaledObject.
//!
//! A query is not evaluated, so what it measures is a key to fill in; the query itself is the comment.

use super::super::MARK;
use super::{Place, behavior_words, cores, cpu_words, without_request};
use control::scaling::hpa::{Milli, ResourceTarget, TotalTarget};
use control::scaling::keda::{FallbackBehavior, KedaSettings, Pause, Trigger};
use import::kubernetes::{Pods, ScaledObject, TriggerSource, TriggerText};
use std::time::Duration;

/// The place of each trigger of an object; none for those that a case file does not have.
pub(in crate::case) fn places(object: &ScaledObject) -> Vec<Option<Place>> {
    let (mut queries, mut schedules, mut has_cpu) = (0, 0, false);
    let next = |count: &mut usize| {
        *count += 1;
        *count - 1
    };
    let mut place = |trigger: &Trigger| match trigger {
        Trigger::Prometheus { .. } => Some(Place::Query(next(&mut queries))),
        Trigger::Cron { .. } => Some(Place::Cron(next(&mut schedules))),
        Trigger::Resource { .. } => {
            percent(trigger, object.pods.as_ref())?;
            // A second one has no place.
            let is_first = !std::mem::replace(&mut has_cpu, true);
            is_first.then_some(Place::Cpu)
        }
    };
    object.settings.triggers.iter().map(&mut place).collect()
}

/// The content of `keda`, and whether its schedules need a date; none if no trigger can be simulated.
pub(super) fn scaling(
    object: &ScaledObject,
    left_out: &mut Vec<String>,
    assumed: &mut Vec<String>,
) -> Option<(String, bool)> {
    let (mut queries, mut schedules, mut cpu) = (String::new(), String::new(), None);
    let mut needs_date = false;
    let triggers = object.settings.triggers.iter().zip(&object.sources);
    for ((trigger, TriggerSource { spot, text }), place_of) in triggers.zip(places(object)) {
        let place = format!("{spot} (`{}`)", object.name);
        match (trigger, text) {
            (Trigger::Prometheus { target, activation, ignore_null_values }, TriggerText::Query(query)) => {
                queries += &query_words(query, *target, *activation, *ignore_null_values);
            }
            (Trigger::Cron { cron, is_total }, TriggerText::Cron { start, end, timezone, replicas }) => {
                schedules += &cron_words(start, end, *replicas, *is_total, timezone);
                needs_date |= cron.needs_date();
                assumed.push(format!(
                    "{place}: the schedule is in {timezone}; it is simulated in the `zone` of the case file, which is UTC \
                     unless set"
                ));
            }
            (Trigger::Resource { .. }, _) => match (percent(trigger, object.pods.as_ref()), place_of) {
                (Some(percent), Some(_)) => {
                    cpu = Some(percent);
                    let place = format!("{place}: cpu utilization");
                    left_out.extend(without_request(object.pods.as_ref(), &place));
                }
                (Some(_), None) => left_out.push(format!("{place}: `cpu` has a second target; left out")),
                (None, _) => {
                    left_out.push(format!("{place}: {} cannot be simulated; left out", words(trigger)))
                }
            },
            _ => {}
        }
    }
    if queries.is_empty() && schedules.is_empty() && cpu.is_none() {
        return None;
    }
    let mut text = "      keda:\n".to_owned();
    if !queries.is_empty() {
        text += &format!("        prometheus:\n{queries}");
    }
    if !schedules.is_empty() {
        text += &format!("        cron:\n{schedules}");
    }
    if let Some(percent) = cpu {
        text += &cpu_words(percent, object.pods.as_ref());
    }
    Some((text + &rest(&object.settings), needs_date))
}

/// The target of a trigger in percent of the request, if that is processor use of the whole pod.
fn percent(trigger: &Trigger, pods: Option<&Pods>) -> Option<u32> {
    let Trigger::Resource { resource, container, target: ResourceTarget::Utilization(percent) } = trigger
    else {
        return None;
    };
    let only = pods.is_some_and(|pods| match pods.containers.as_slice() {
        [only] => Some(&only.name) == container.as_ref(),
        _ => false,
    });
    (resource == "cpu" && (container.is_none() || only)).then_some(*percent)
}

fn words(trigger: &Trigger) -> String {
    let Trigger::Resource { resource, container, target } = trigger else { return String::new() };
    let kind = match target {
        ResourceTarget::Utilization(_) => "utilization",
        ResourceTarget::AverageValue(_) => "average value",
    };
    match container {
        Some(container) => format!("`{resource}` {kind} of container {container}"),
        None => format!("`{resource}` {kind}"),
    }
}

fn query_words(query: &str, target: TotalTarget, activation: f64, ignore_null_values: bool) -> String {
    let line: Vec<&str> = query.split_whitespace().collect();
    let what = "what the query measures, requests-per-second, in-flight, queue-length, cpu, p95 or recorded";
    let mut text = format!("          - measures{MARK} # {what}: {}\n", line.join(" "));
    let (threshold, is_total) = match target {
        TotalTarget::AverageValue(target) => (target, false),
        TotalTarget::Value(target) => (target, true),
    };
    let mut key = |key: &str, value: &str| text += &format!("            {key}: {value}\n");
    key("threshold", &number(threshold));
    if activation != 0.0 {
        key("activation_threshold", &activation.to_string());
    }
    if is_total {
        key("metric_type", "Value");
    }
    if !ignore_null_values {
        key("ignore_null_values", "false");
    }
    if let Some(window) = window(query) {
        key("window", window);
    }
    text
}

/// The span of the only range of a query, unless it is the usual one.
fn window(query: &str) -> Option<&str> {
    let mut ranges = query.split('[').skip(1).filter_map(|rest| Some(rest.split_once(']')?.0));
    let range = ranges.next().filter(|_| ranges.next().is_none())?;
    let span = units::parse_duration(range).ok()?;
    (span != Duration::from_secs(60)).then_some(range)
}

fn cron_words(start: &str, end: &str, replicas: u32, is_total: bool, timezone: &str) -> String {
    let metric_type = if is_total { ", metric_type: Value" } else { "" };
    let zone: String = timezone.chars().filter(|c| !c.is_control()).collect();
    format!("          - {{ start: '{start}', end: '{end}', replicas: {replicas}{metric_type} }} # {zone}\n")
}

/// The settings that are not KEDA's defaults.
fn rest(keda: &KedaSettings) -> String {
    let usual = KedaSettings::new(Vec::new());
    let mut text = String::new();
    let mut key = |key: &str, value: String| text += &format!("        {key}: {value}\n");
    let spans = [
        ("polling_interval", keda.polling_interval, usual.polling_interval),
        ("cooldown_period", keda.cooldown_period, usual.cooldown_period),
        ("initial_cooldown_period", keda.initial_cooldown_period, usual.initial_cooldown_period),
    ];
    for (name, found, _) in spans.into_iter().filter(|(_, found, usual)| found != usual) {
        key(name, format!("{}s", found.as_secs()));
    }
    if let Some(idle) = keda.idle {
        key("idle", idle.to_string());
    }
    if let Some(fallback) = keda.fallback {
        let behavior = match fallback.behavior {
            FallbackBehavior::Static => "",
            FallbackBehavior::CurrentReplicas => ", behavior: currentReplicas",
            FallbackBehavior::CurrentReplicasIfHigher => ", behavior: currentReplicasIfHigher",
            FallbackBehavior::CurrentReplicasIfLower => ", behavior: currentReplicasIfLower",
        };
        let (threshold, replicas) = (fallback.failure_threshold, fallback.replicas);
        key("fallback", format!("{{ failure_threshold: {threshold}, replicas: {replicas}{behavior} }}"));
    }
    let mut on = |name: &str, is: bool| {
        if is {
            key(name, "true".to_owned());
        }
    };
    on("force_activation", keda.force_activation);
    match keda.pause {
        Pause::None => {}
        Pause::All => on("paused", true),
        Pause::At(replicas) => key("paused_replicas", replicas.to_string()),
        Pause::Directions { scale_in, scale_out } => {
            on("paused_scale_in", scale_in);
            on("paused_scale_out", scale_out);
        }
    }
    if let Some(behavior) = &keda.behavior {
        text += &format!("        {}\n", behavior_words(behavior));
    }
    text
}

fn number(found: Milli) -> String {
    cores(found).to_string()
}

#[cfg(test)]
mod tests {
    use super::super::tests::{filled_in, parsed, shown};
    use import::kubernetes::{Cluster, read};
    use sim::settings::Policy;

    const SHOP: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: { name: shop, namespace: prod }
spec:
  replicas: 2
  template: { spec: { containers: [{ name: app, resources: { requests: { cpu: 500m }, limits: { cpu: 1 } } }] } }
---
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata:
  name: shop
  namespace: prod
  annotations: { autoscaling.keda.sh/paused-scale-in: \"true\" }
spec:
  scaleTargetRef: { name: shop }
  minReplicaCount: 0
  maxReplicaCount: 20
  pollingInterval: 15
  cooldownPeriod: 120
  fallback: { failureThreshold: 3, replicas: 6, behavior: currentReplicasIfHigher }
  advanced:
    restoreToOriginalReplicaCount: true
    horizontalPodAutoscalerConfig:
      behavior: { scaleDown: { stabilizationWindowSeconds: 60 } }
  triggers:
    - type: prometheus
      name: ingress
      metadata:
        serverAddress: http://prometheus:9090
        query: |
          sum(rate(nginx_ingress_controller_requests{service=\"shop\"}[2m]))
        threshold: \"50\"
        activationThreshold: \"0.5\"
        ignoreNullValues: \"false\"
    - type: cron
      metadata: { timezone: Europe/Berlin, start: 0 8 * * 1-5, end: 0 18 * * 1-5, desiredReplicas: \"3\" }
    - type: cpu
      metricType: Utilization
      metadata: { value: \"70\" }
    - type: memory
      metricType: AverageValue
      metadata: { value: 512Mi }
    - type: kafka
      metadata: { topic: orders, lagThreshold: \"10\" }
";

    #[test]
    fn scaled_objects_are_written_as_a_case_file_has_them() {
        insta::assert_snapshot!(shown(SHOP));
    }

    /// The draft, filled in and read as a case file, has the settings of the object.
    #[test]
    fn a_draft_has_the_settings_of_the_object() {
        for (from, to) in [
            ("", ""),
            ("minReplicaCount: 0", "minReplicaCount: 2\n  idleReplicaCount: 0\n  initialCooldownPeriod: 90"),
            ("paused-scale-in: \"true\"", "paused-replicas: \"4\""),
            ("paused-scale-in: \"true\"", "paused: \"true\""),
            ("paused-scale-in: \"true\"", "force-activation: \"true\""),
            ("    - type: cron\n", "    - type: cron\n      metricType: Value\n"),
            (", behavior: currentReplicasIfHigher", ""),
        ] {
            let text = SHOP.replacen(from, to, 1);
            let found = read([("keda.yaml", text.as_str())], &Cluster::default()).unwrap();
            let object = &found.scaled_objects[0];
            let draft = super::super::kubernetes(&found).unwrap().text;
            let filled = filled_in(&draft).replace("begins: TODO", "begins: 1970-01-01");
            let case = parsed(&filled).unwrap_or_else(|problems| panic!("{problems}\n{filled}"));
            let Policy::Keda(scaling) = &case.stages[0].system.services[0].scaling.policy else {
                panic!("{filled}")
            };
            let mut expected = object.settings.clone();
            // Memory is not simulated.
            expected.triggers.pop();
            assert_eq!(scaling.keda, expected, "{draft}");
        }
    }

    #[test]
    fn keys_to_fill_in_are_all_that_is_wrong_with_a_draft() {
        let found = read([("keda.yaml", SHOP)], &Cluster::default()).unwrap();
        let draft = super::super::kubernetes(&found).unwrap();
        let problems = parsed(&draft.text).unwrap_err();
        let told = problems.lines().filter(|line| line.contains(": error: ")).count();
        assert_eq!(told, problems.matches("fill in this key").count(), "{problems}");
        assert_eq!(told, draft.to_fill_in(), "{problems}\n{}", draft.text);
    }

    #[test]
    fn an_object_without_triggers_that_can_be_simulated_is_refused() {
        let kafka = &SHOP[SHOP.find("    - type: memory").unwrap()..];
        let text = format!("{}{kafka}", &SHOP[..SHOP.find("    - type: prometheus").unwrap()]);
        insta::assert_snapshot!(shown(&text));
    }
}
