//! A case file of workloads that Kubernetes scales.

mod keda;

pub(in crate::case) use keda::places as places_of_triggers;

use super::{Draft, application, head, key_for, original, start, to_fill_in};
use control::scaling::hpa::{
    Behavior, Change, HpaSettings, Metric, Milli, RatePolicy, ResourceTarget, Rules, Select, Source,
    TotalTarget,
};
use import::kubernetes::{Autoscaler, Autoscalers, Container, Pods, metric_words};

/// The workloads of autoscalers and of ScaledObjects.
///
/// # Errors
/// Each object whose metrics or triggers a case file does not have, with the reasons: a fleet that is sized by something
/// else would be simulated without it. [`Autoscalers::without`] leaves objects out.
pub fn kubernetes(found: &Autoscalers) -> Result<Draft, Vec<String>> {
    let (mut left_out, mut assumed, mut unusable) = (Vec::new(), Vec::new(), Vec::new());
    let mut keys = Vec::new();
    let mut services = String::new();
    for autoscaler in &found.autoscalers {
        let targets = Targets::of(autoscaler, &mut left_out, &mut assumed);
        if targets.is_empty() {
            let (spot, name) = (&autoscaler.spot, &autoscaler.name);
            unusable.push(format!(
                "{spot} (`{name}`): it has no metric that headroom can simulate (processor use, or a metric of pods, \
                 of an object or from an external source); --without {name} leaves it out"
            ));
            continue;
        }
        let key = key_for(&autoscaler.scales.name, &mut keys);
        services += &service(autoscaler, &targets, &key);
    }
    let mut dated = false;
    for object in &found.scaled_objects {
        match keda::scaling(object, &mut left_out, &mut assumed) {
            Some((scaling, needs_date)) => {
                dated |= needs_date;
                let key = key_for(&object.scales.name, &mut keys);
                let bounds = (object.settings.active_min().get(), object.settings.max.get());
                services += &pods_of(&key, &object.whole_name(), object.pods.as_ref(), bounds);
                services += &scaling;
            }
            None => unusable.push(format!(
                "{} (`{name}`): it has no trigger that headroom can simulate (`prometheus`, `cron`, or processor \
                 utilization); --without {name} leaves it out",
                object.spot,
                name = object.name
            )),
        }
    }
    if !unusable.is_empty() {
        left_out.append(&mut unusable);
        return Err(left_out);
    }
    let head = head("Kubernetes", &keys, dated.then_some("TODO"));
    Ok(Draft { text: head + &services, left_out, assumed })
}

/// Where a case file has the target of a metric or trigger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::case) enum Place {
    /// `cpu`.
    Cpu,
    /// `requests_per_second` of an HPA.
    RequestsPerSecond,
    /// `in_flight` of an HPA.
    InFlight,
    /// An entry of `metrics` of an HPA.
    Metric(usize),
    /// An entry of `prometheus` of a ScaledObject.
    Query(usize),
    /// An entry of `cron` of a ScaledObject.
    Cron(usize),
}

/// The place of each metric of an autoscaler; none for those that a case file does not have.
pub(in crate::case) fn places(autoscaler: &Autoscaler) -> Vec<Option<Place>> {
    let (mut taken, mut entries) = (Vec::new(), 0);
    let mut place = |metric: &Metric| {
        let wanted = match (&metric.source, of_requests(&metric.name)) {
            (Source::Resource { .. } | Source::ContainerResource { .. }, _) => {
                match cpu_target(metric, autoscaler.pods.as_ref())? {
                    // A second one has no place.
                    ResourceTarget::Utilization(_) if taken.contains(&Place::Cpu) => return None,
                    ResourceTarget::Utilization(_) => Some(Place::Cpu),
                    ResourceTarget::AverageValue(_) => None,
                }
            }
            (Source::Pods { .. }, Some(REQUESTS)) => Some(Place::RequestsPerSecond),
            (Source::Pods { .. }, Some(IN_FLIGHT)) => Some(Place::InFlight),
            (Source::Pods { .. } | Source::Object { .. } | Source::External { .. }, _) => None,
        };
        let found = wanted.filter(|wanted| !taken.contains(wanted)).unwrap_or_else(|| {
            entries += 1;
            Place::Metric(entries - 1)
        });
        taken.push(found);
        Some(found)
    };
    autoscaler.settings.metrics.iter().map(&mut place).collect()
}

/// The targets of an autoscaler that a case file can say.
#[derive(Debug, Default)]
struct Targets {
    /// In percent of the request.
    cpu: Option<u32>,
    requests_per_second: Option<Milli>,
    in_flight: Option<Milli>,
    /// Entries of `metrics`.
    others: String,
}

impl Targets {
    /// Reports each metric that a case file cannot say, and each that was taken for one that it can.
    fn of(autoscaler: &Autoscaler, left_out: &mut Vec<String>, assumed: &mut Vec<String>) -> Self {
        let mut targets = Targets::default();
        let pods = autoscaler.pods.as_ref();
        let metrics = autoscaler.settings.metrics.iter().zip(&autoscaler.metric_spots);
        for ((metric, spot), place_of) in metrics.zip(places(autoscaler)) {
            let place = format!("{spot} (`{}`): {}", autoscaler.name, metric_words(metric));
            let measures = of_requests(&metric.name);
            match (&metric.source, place_of) {
                (Source::Resource { .. } | Source::ContainerResource { .. }, found) => {
                    match (cpu_target(metric, pods), found) {
                        (Some(ResourceTarget::Utilization(percent)), Some(_)) => {
                            targets.cpu = Some(percent);
                            left_out.extend(without_request(pods, &place));
                        }
                        (Some(ResourceTarget::Utilization(_)), None) => {
                            left_out.push(format!("{place} has a second target; left out"));
                        }
                        (Some(ResourceTarget::AverageValue(average)), _) => {
                            let target = TotalTarget::AverageValue(average);
                            targets.others += &entry("Resource", metric, Some("cpu"), target);
                        }
                        (None, _) => left_out.push(format!("{place} cannot be simulated; left out")),
                    }
                }
                (Source::Pods { average }, Some(Place::RequestsPerSecond)) => {
                    targets.requests_per_second = Some(*average);
                    assumed.push(format!("{place} is taken for the requests per second of a pod"));
                }
                (Source::Pods { average }, Some(Place::InFlight)) => {
                    targets.in_flight = Some(*average);
                    assumed.push(format!("{place} is taken for the requests in flight at a pod"));
                }
                (Source::Pods { average }, _) => {
                    targets.others += &entry("Pods", metric, measures, TotalTarget::AverageValue(*average));
                    assumed.extend(measures.map(|measures| format!("{place} is taken for `{measures}`")));
                }
                (Source::Object { target, .. }, _) => {
                    targets.others += &entry("Object", metric, measures, *target);
                    assumed.extend(measures.map(|measures| format!("{place} is taken for `{measures}`")));
                }
                (Source::External { target, .. }, _) => {
                    targets.others += &entry("External", metric, measures, *target);
                    assumed.extend(measures.map(|measures| format!("{place} is taken for `{measures}`")));
                }
            }
        }
        targets
    }

    fn is_empty(&self) -> bool {
        self.cpu.is_none()
            && self.requests_per_second.is_none()
            && self.in_flight.is_none()
            && self.others.is_empty()
    }
}

/// The target of processor use of the whole pod.
fn cpu_target(metric: &Metric, pods: Option<&Pods>) -> Option<ResourceTarget> {
    let only = pods.and_then(|pods| match pods.containers.as_slice() {
        [only] => Some(only.name.as_str()),
        _ => None,
    });
    match &metric.source {
        Source::Resource { target } if metric.name == "cpu" => Some(*target),
        // The only container is the pod.
        Source::ContainerResource { container, target }
            if metric.name == "cpu" && only == Some(container) =>
        {
            Some(*target)
        }
        _ => None,
    }
}

/// What a metric measures, by its name: adapters name it after the metric that they read.
fn of_requests(name: &str) -> Option<&'static str> {
    let name = name.to_ascii_lowercase().replace(['-', '.', ':'], "_");
    let has = |part: &str| name.contains(part);
    if has("in_flight") || has("inflight") || has("concurrent_requests") || has("active_requests") {
        Some(IN_FLIGHT)
    } else if (has("request") && has("per_second")) || name == "http_requests" || has("rps") || has("qps") {
        Some(REQUESTS)
    } else {
        None
    }
}

/// An entry of `metrics`. What an unknown metric measures is a key to fill in.
fn entry(kind: &str, metric: &Metric, measures: Option<&str>, target: TotalTarget) -> String {
    let mut text = format!("          - type: {kind}\n");
    let mut key = |key: &str, value: &str| text += &format!("            {key}: {value}\n");
    if kind != "Resource" {
        key("name", &quoted(&metric.name));
    }
    if let Source::Object { kind, .. } = &metric.source {
        key("object", &quoted(kind));
    }
    match measures {
        Some(measures) => key("measures", measures),
        None => {
            let what = "what the metric is: requests-per-second, in-flight, queue-length, cpu, p95, or recorded with \
                        `file`";
            key("measures", &format!("TODO # {what}"));
        }
    }
    let (threshold, is_total) = match target {
        TotalTarget::AverageValue(target) => (target, false),
        TotalTarget::Value(target) => (target, true),
    };
    key("threshold", &cores(threshold).to_string());
    if is_total {
        key("metric_type", "Value");
    }
    text
}

/// A name of Kubernetes as a text in YAML.
fn quoted(name: &str) -> String {
    format!("'{}'", name.replace('\'', "''"))
}

const REQUESTS: &str = "requests-per-second";
const IN_FLIGHT: &str = "in-flight";

/// Containers without a request, for which Kubernetes computes no utilization.
fn without_request(pods: Option<&Pods>, place: &str) -> Vec<String> {
    let lacking = |container: &&Container| container.cpu_request.is_none();
    let containers = pods.iter().flat_map(|pods| pods.containers.iter().filter(lacking));
    containers
        .map(|container| {
            format!(
                "{place}: container `{}` has no processor request, so Kubernetes computes no utilization and never \
                 scales on it (FailedGetResourceMetric); set `resources.requests.cpu`. The case file assumes that it \
                 is set",
                container.name
            )
        })
        .collect()
}

/// A service up to the content of its `scaling`, with the bounds.
fn pods_of(key: &str, name: &str, pods: Option<&Pods>, (min, max): (u32, u32)) -> String {
    let mut text = format!("  {key}:{}\n", original(key, name));
    text += &application();
    text += &host(pods);
    text += &start();
    let replicas = pods.and_then(|pods| pods.replicas);
    if let Some(replicas) = replicas.filter(|replicas| (min..=max).contains(replicas) && *replicas > 0) {
        text += &format!("    instances: {replicas}\n");
    }
    text + &format!("    scaling:\n      min: {min}\n      max: {max}\n")
}

/// The target of processor use; with the request of a pod, where its host does not have it.
fn cpu_words(percent: u32, pods: Option<&Pods>) -> String {
    let request = match request_of(pods) {
        Some(_) => String::new(),
        None => to_fill_in(4, "request", "cores that a pod requests (resources.requests.cpu), such as 0.5"),
    };
    format!("        cpu: {percent}%\n{request}")
}

fn service(autoscaler: &Autoscaler, targets: &Targets, key: &str) -> String {
    let HpaSettings { min, max, behavior, .. } = &autoscaler.settings;
    let pods = autoscaler.pods.as_ref();
    let mut text = pods_of(key, &autoscaler.whole_name(), pods, (min.get(), max.get()));
    text += "      hpa:\n";
    if let Some(percent) = targets.cpu {
        text += &cpu_words(percent, pods);
    }
    let of_pods = [("requests_per_second", targets.requests_per_second), ("in_flight", targets.in_flight)];
    for (key, target) in of_pods {
        text += &target.map_or_else(String::new, |target| format!("        {key}: {}\n", cores(target)));
    }
    if !targets.others.is_empty() {
        text += &format!("        metrics:\n{}", targets.others);
    }
    if let Some(behavior) = behavior {
        text += &format!("        {}\n", behavior_words(behavior));
    }
    text
}

/// The processor request of a pod.
fn request_of(pods: Option<&Pods>) -> Option<Milli> {
    pods.and_then(|pods| pods.sum(|one| one.cpu_request)).filter(|request| request.0 > 0)
}

/// What a pod runs on: as many cores as its limit needs, or those of its node.
fn host(pods: Option<&Pods>) -> String {
    let mut text = "    hosts:\n      pod:\n".to_owned();
    match pods.and_then(|pods| pods.sum(|one| one.cpu_limit)).filter(|limit| limit.0 > 0) {
        Some(limit) => {
            let whole = limit.0.unsigned_abs().div_ceil(1000);
            text += &format!("        cores: {whole}\n");
            if limit.0.unsigned_abs() != whole * 1000 {
                text += &format!("        limit: {}\n", cores(limit));
            }
        }
        None => {
            text += &to_fill_in(
                4,
                "cores",
                "cores that a pod can use: no limit is known, so those of its node; add `limit` if it has one",
            );
        }
    }
    if let Some(memory) = pods.and_then(|pods| pods.sum(|one| one.memory_limit)) {
        text += &format!("        memory: {}\n", size(memory.0.unsigned_abs() / 1000));
    }
    let requests = [
        request_of(pods).map(|cpu| format!("cpu: {}", cores(cpu))),
        pods.and_then(|pods| pods.sum(|one| one.memory_request))
            .map(|memory| format!("memory: {}", size(memory.0.unsigned_abs() / 1000))),
    ];
    let requests: Vec<String> = requests.into_iter().flatten().collect();
    if !requests.is_empty() {
        text += &format!("        request: {{ {} }}\n", requests.join(", "));
    }
    text
}

/// Bytes in the largest unit of which they are whole.
fn size(bytes: u64) -> String {
    let units = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    match units.iter().find(|(_, unit)| bytes >= *unit && bytes.is_multiple_of(*unit)) {
        Some((name, unit)) => format!("{}{name}", bytes / unit),
        None => bytes.to_string(),
    }
}

/// Thousandths as a decimal number.
fn cores(found: Milli) -> f64 {
    found.0 as f64 / 1000.0
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

    pub(super) fn shown(text: &str) -> String {
        let found = read([("hpa.yaml", text)], &Cluster::default()).unwrap();
        match kubernetes(&found) {
            Ok(Draft { text, left_out, assumed }) => {
                format!("{text}---\n{}\n---\n{}", left_out.join("\n"), assumed.join("\n"))
            }
            Err(errors) => errors.join("\n"),
        }
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

    /// A value for each key that is left to users.
    pub(super) fn filled_in(text: &str) -> String {
        let values = [
            ("rate", "10/s"),
            ("cpu", "5ms"),
            ("wait", "20ms"),
            ("processes", "1"),
            ("threads", "50"),
            ("provision", "30s"),
            ("boot", "10s"),
            ("cores", "1"),
            ("request", "0.5"),
            ("measures", "requests-per-second"),
        ];
        values.iter().fold(text.to_owned(), |text, (key, value)| {
            text.replace(&format!(" {key}: TODO"), &format!(" {key}: {value}"))
        })
    }

    pub(super) fn parsed(text: &str) -> Result<crate::case::Case, String> {
        parse("case.yaml", text, Path::new(""), Given::default()).map_err(|problems| problems.plain())
    }

    /// The draft with what it leaves to users, read as a case file.
    fn read_again(draft: &str) -> HpaSettings {
        let text = filled_in(draft);
        let case = parsed(&text).unwrap_or_else(|problems| panic!("{problems}\n{text}"));
        match &case.stages[0].system.services[0].scaling.policy {
            sim::settings::Policy::Hpa(scaling) => scaling.hpa.clone(),
            other => panic!("{other:?}"),
        }
    }

    /// Two workloads, one of them with pods that have two containers and a limit.
    const SHOP: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: { name: php-apache, namespace: shop }
spec:
  replicas: 2
  template:
    spec:
      initContainers:
        - { name: migrate, resources: { requests: { cpu: 4 } } }
        - { name: mesh, restartPolicy: Always, resources: { requests: { cpu: 100m }, limits: { cpu: 500m, memory: 64Mi } } }
      containers:
        - name: app
          resources: { requests: { cpu: 400m, memory: 256Mi }, limits: { cpu: \"1\", memory: 512Mi } }
---
apiVersion: apps/v1
kind: StatefulSet
metadata: { name: search }
spec:
  template: { spec: { containers: [{ name: app, resources: { requests: { cpu: 2 } } }] } }
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: { name: search, namespace: shop }
spec:
  scaleTargetRef: { apiVersion: apps/v1, kind: StatefulSet, name: search }
  maxReplicas: 8
  metrics:
    - type: ContainerResource
      containerResource: { name: cpu, container: app, target: { type: Utilization, averageUtilization: 80 } }
    - type: Pods
      pods: { metric: { name: http_requests_per_second }, target: { type: AverageValue, averageValue: 500m } }
    - type: Pods
      pods: { metric: { name: http_server_active_requests }, target: { type: AverageValue, averageValue: 20 } }
---
";

    #[test]
    fn workloads_give_requests_limits_and_replicas() {
        let draft = shown(&format!("{SHOP}{PHP}"));
        insta::assert_snapshot!(draft);
        let text = filled_in(draft.split("---").next().unwrap());
        let case = parsed(&text).unwrap_or_else(|problems| panic!("{problems}\n{text}"));
        let services = &case.stages[0].system.services;
        let sim::settings::Policy::Hpa(search) = &services[0].scaling.policy else { panic!("{text}") };
        assert_eq!(search.request, Some(2.0));
        assert_eq!(search.hpa.metrics[1].source, Source::Pods { average: Milli(500) });
        assert_eq!(services[1].hosts[0].quota.map(|quota| quota.cores), Some(1.5));
        assert_eq!(services[1].instances.get(), 2);
    }

    #[test]
    fn keys_to_fill_in_are_all_that_is_wrong_with_a_draft() {
        for text in
            [PHP.to_owned(), format!("{SHOP}{PHP}"), PHP.replace("Utilization: 50", "Utilization: 150")]
        {
            let found = read([("hpa.yaml", text.as_str())], &Cluster::default()).unwrap();
            let draft = kubernetes(&found).unwrap();
            let problems = parsed(&draft.text).unwrap_err();
            let told = problems.lines().filter(|line| line.contains(": error: ")).count();
            assert_eq!(told, problems.matches("fill in this key").count(), "{problems}");
            assert_eq!(told, draft.to_fill_in(), "{problems}\n{}", draft.text);
        }
    }

    #[test]
    fn a_container_without_a_request_is_reported() {
        let text = format!("{SHOP}{PHP}")
            .replace("requests: { cpu: 400m, memory: 256Mi }, limits: { cpu: \"1\", memory: 512Mi }", "");
        let told = shown(&text);
        assert!(told.contains("container `app` has no processor request"), "{told}");
        assert!(told.contains("request: TODO"), "{told}");
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
            let Draft { text: section, left_out, .. } = kubernetes(&found).unwrap();
            assert_eq!(left_out, Vec::<String>::new());
            assert_eq!(read_again(&section).behavior, found.autoscalers[0].settings.behavior);
            shown += section.lines().last().unwrap();
            shown += "\n";
        }
        insta::assert_snapshot!(shown);
    }

    /// A metric of each kind, with names that say what they measure and names that do not.
    const OTHERS: &str = "    - type: Resource
      resource: { name: cpu, target: { type: AverageValue, averageValue: 300m } }
    - type: Pods
      pods: { metric: { name: packets }, target: { type: AverageValue, averageValue: 1k } }
    - type: Object
      object:
        metric: { name: requests_per_second }
        describedObject: { apiVersion: networking.k8s.io/v1, kind: Ingress, name: main }
        target: { type: Value, value: 2k }
    - type: External
      external:
        metric: { name: \"sqs:it's\", selector: { matchLabels: { queue: orders } } }
        target: { type: AverageValue, averageValue: 30 }
";

    #[test]
    fn metrics_of_other_sources_are_entries_with_what_they_measure_to_fill_in() {
        let text = format!("{PHP}{OTHERS}");
        insta::assert_snapshot!(shown(&text));
        let found = read([("hpa.yaml", text.as_str())], &Cluster::default()).unwrap();
        let draft = kubernetes(&found).unwrap();
        assert_eq!(draft.left_out, Vec::<String>::new());
        let mut expected = found.autoscalers[0].settings.metrics.clone();
        // The selector is not needed: the metric is not queried.
        let Source::External { selector, .. } = &mut expected[4].source else { panic!("{expected:?}") };
        *selector = None;
        assert_eq!(read_again(&draft.text).metrics, expected);
        let problems = parsed(&draft.text).unwrap_err();
        assert_eq!(problems.matches("fill in this key").count(), draft.to_fill_in(), "{problems}");
    }

    #[test]
    fn a_target_above_what_is_requested_is_carried() {
        let text = PHP.replace("averageUtilization: 50", "averageUtilization: 150");
        let found = read([("hpa.yaml", text.as_str())], &Cluster::default()).unwrap();
        let Draft { text: section, left_out, .. } = kubernetes(&found).unwrap();
        assert_eq!(left_out, Vec::<String>::new());
        assert_eq!(read_again(&section).metrics, [Metric::cpu_utilization(150)]);
    }

    #[test]
    fn what_a_case_file_cannot_say_is_told() {
        let more = "    - type: Resource
      resource: { name: memory, target: { type: Utilization, averageUtilization: 60 } }
  behavior: { scaleDown: { tolerance: 2 } }
";
        insta::assert_snapshot!(shown(&format!("{PHP}{more}")));
    }

    #[test]
    fn an_autoscaler_without_a_usable_metric_is_an_error_until_it_is_left_out() {
        let worker = PHP.replace("name: cpu", "name: memory").replace("php-apache", "worker");
        insta::assert_snapshot!(shown(&format!("{PHP}---\n{worker}")));
        let both = || {
            let text = format!("{PHP}---\n{worker}");
            read([("hpa.yaml", text.as_str())], &Cluster::default()).unwrap()
        };
        let found = both().without(&["worker".to_owned()]).unwrap();
        assert!(kubernetes(&found).unwrap().text.contains("php-apache:"));
        let unknown = "--without work: no autoscaler in the files has this name";
        assert_eq!(both().without(&["work".to_owned()]).unwrap_err(), [unknown]);
        let all = ["worker", "php-apache"].map(str::to_owned);
        assert_eq!(both().without(&all).unwrap_err(), ["--without leaves no autoscaler to import"]);
    }
}
