use super::*;
use control::scaling::hpa::{Behavior, Change, Milli, Quantity, RatePolicy, Select, TotalTarget};
use control::scaling::keda;
use std::time::Duration;
use units::InstanceCount;

const MANIFEST: &str = "\
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  name: shop
  namespace: prod
  annotations:
    kubectl.kubernetes.io/last-applied-configuration: '{}'
spec:
  scaleTargetRef:
    apiVersion: apps/v1
    kind: Deployment
    name: shop
  minReplicas: 3
  maxReplicas: 40
  metrics:
  - type: Resource
    resource:
      name: cpu
      target:
        type: Utilization
        averageUtilization: 60
  - type: Resource
    resource:
      name: memory
      target: {type: AverageValue, averageValue: 512Mi}
  - type: ContainerResource
    containerResource:
      name: cpu
      container: app
      target: {type: Utilization, averageUtilization: 70}
  - type: Pods
    pods:
      metric:
        name: requests_per_second
      target:
        type: AverageValue
        averageValue: 1k
  - type: Object
    object:
      describedObject:
        apiVersion: networking.k8s.io/v1
        kind: Ingress
        name: main
      metric:
        name: requests-per-second
      target:
        type: Value
        value: 10k
  - type: External
    external:
      metric:
        name: queue_depth
        selector:
          matchLabels:
            queue: orders
      target:
        type: AverageValue
        averageValue: \"30\"
  behavior:
    scaleDown:
      stabilizationWindowSeconds: 600
      tolerance: 0.05
      selectPolicy: Min
      policies:
      - type: Percent
        value: 10
        periodSeconds: 60
      - {type: Pods, value: 4, periodSeconds: 120}
status:
  currentReplicas: 7
  desiredReplicas: 7
";

fn count(replicas: u32) -> InstanceCount {
    InstanceCount::new(replicas)
}

fn good(text: &str) -> Autoscalers {
    read([("hpa.yaml", text)], &Cluster::default()).unwrap()
}

fn remarks(read: &Autoscalers) -> Vec<String> {
    read.remarks.iter().map(ToString::to_string).collect()
}

/// What is wrong, a line each.
fn wrong(text: &str) -> Vec<String> {
    let errors = read([("hpa.yaml", text)], &Cluster::default()).unwrap_err();
    errors.iter().map(ToString::to_string).collect()
}

#[test]
fn a_manifest_is_read_whole() {
    let read = good(MANIFEST);
    assert_eq!(remarks(&read), [""; 0]);
    let [shop] = read.autoscalers.as_slice() else { panic!("{read:?}") };
    assert_eq!((shop.name.as_str(), shop.namespace.as_deref()), ("shop", Some("prod")));
    assert_eq!(shop.scales.to_string(), "Deployment/shop");
    let settings = &shop.settings;
    assert_eq!((settings.min, settings.max), (count(3), count(40)));
    let metric = |name: &str, source| Metric { name: name.to_owned(), source };
    let selector = "&LabelSelector{MatchLabels:map[string]string{queue: orders,},\
                    MatchExpressions:[]LabelSelectorRequirement{},}";
    assert_eq!(
        settings.metrics,
        [
            Metric::cpu_utilization(60),
            metric(
                "memory",
                Source::Resource { target: ResourceTarget::AverageValue(Milli(536_870_912_000)) }
            ),
            metric(
                "cpu",
                Source::ContainerResource {
                    container: "app".to_owned(),
                    target: ResourceTarget::Utilization(70)
                }
            ),
            metric("requests_per_second", Source::Pods { average: Milli(1_000_000) }),
            metric(
                "requests-per-second",
                Source::Object { kind: "Ingress".to_owned(), target: TotalTarget::Value(Milli(10_000_000)) }
            ),
            metric(
                "queue_depth",
                Source::External {
                    selector: Some(selector.to_owned()),
                    target: TotalTarget::AverageValue(Milli(30_000))
                }
            ),
        ]
    );
    let behavior = settings.behavior.as_ref().unwrap();
    assert_eq!(behavior.up, Behavior::default().up);
    let down = &behavior.down;
    assert_eq!(
        (down.stabilization, down.tolerance),
        (Some(Duration::from_secs(600)), Quantity::parse("50m"))
    );
    assert_eq!(down.select, Select::Min);
    let policy = |change, seconds| RatePolicy { change, period: Duration::from_secs(seconds) };
    assert_eq!(down.policies, [policy(Change::Percent(10), 60), policy(Change::Pods(4), 120)]);
}

#[test]
fn lists_documents_and_json_are_read_alike() {
    let one = good(
        "apiVersion: autoscaling/v1\nkind: HorizontalPodAutoscaler\nmetadata: {name: a}\nspec:\n  maxReplicas: 5\n  targetCPUUtilizationPercentage: 50\n  scaleTargetRef: {kind: Deployment, name: a}\n",
    );
    assert_eq!(one.autoscalers[0].settings.metrics, [Metric::cpu_utilization(50)]);
    assert_eq!(one.autoscalers[0].settings.min, count(1));
    let list = r#"{
    "apiVersion": "v1",
    "items": [{
        "apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "a"},
        "spec": {"maxReplicas": 5, "minReplicas": null, "targetCPUUtilizationPercentage": 50,
                 "scaleTargetRef": {"kind": "Deployment", "name": "a"}}
    }],
    "kind": "List",
    "metadata": {"resourceVersion": ""}
}"#;
    let settings = |read: &Autoscalers| read.autoscalers[0].settings.clone();
    assert_eq!(settings(&good(list)), settings(&one));
    let documents = format!("---\n# nothing\n---\n{MANIFEST}---\n{list}\n");
    let names: Vec<String> = good(&documents).autoscalers.into_iter().map(|one| one.name).collect();
    assert_eq!(names, ["shop", "a"]);
}

#[test]
fn what_the_files_do_not_say_is_an_argument() {
    let mut cluster = Cluster { version: Version::new(30).unwrap(), ..Cluster::default() };
    cluster.controller.tolerance = 0.02;
    let errors = read([("hpa.yaml", MANIFEST)], &cluster).unwrap_err();
    assert_eq!(
        errors[0].to_string(),
        "hpa.yaml:9:3, spec (`shop`): `scaleDown.tolerance` is set, but Kubernetes 1.30 has none of its own: leave \
         it out, or say 1.33 or later"
    );
    let without = MANIFEST.replace("      tolerance: 0.05\n", "");
    let read = read([("hpa.yaml", without.as_str())], &cluster).unwrap();
    assert_eq!(read.autoscalers[0].settings.controller.tolerance, 0.02);
    assert_eq!(read.autoscalers[0].settings.version.minor(), 30);
}

#[test]
fn what_is_not_understood_is_named() {
    let text = "\
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  name: shop
  labels: {app.kubernetes.io/managed-by: keda-operator}
spec:
  scaleTargetRef: {kind: Deployment, name: shop, uid: x}
  maxReplicas: 4
  metric: []
  behavior: {}
---
apiVersion: autoscaling/v1
kind: HorizontalPodAutoscaler
metadata:
  name: other
  annotations:
    autoscaling.alpha.kubernetes.io/behavior: '{}'
spec:
  scaleTargetRef: {kind: Deployment, name: shop}
  maxReplicas: 4
  targetCPUUtilizationPercentage: 80
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: blog}
spec: {template: {spec: {containers: [{name: app}]}}}
---
apiVersion: keda.sh/v1alpha1
kind: ScaledJob
metadata: {name: shop}
";
    let read = good(text);
    assert_eq!(
        remarks(&read),
        [
            "hpa.yaml:5:42, metadata.labels.app.kubernetes.io/managed-by (`shop`): KEDA made this autoscaler: what it \
             does by itself (from and to zero, pausing, fallback) is not in it; left out",
            "hpa.yaml:7:50, spec.scaleTargetRef.uid (`shop`): this field is not known; what it does is left out",
            "hpa.yaml:9:3, spec.metric (`shop`): this field is not known (did you mean `metrics`?); what it does is \
             left out",
            "hpa.yaml:7:3, spec (`shop`): no metric is named, so Kubernetes takes a processor utilization of 80 %",
            "hpa.yaml:17:47, metadata.annotations.autoscaling.alpha.kubernetes.io/behavior (`other`): this annotation \
             carries what `autoscaling/v1` cannot say, and is not read; left out: get the object with `kubectl get \
             hpa.v2.autoscaling -o yaml`",
            "hpa.yaml:28:1 (`shop`): a ScaledJob scales by rules of its own, which are not modelled; left out",
            "hpa.yaml:12:1 (`other`): `shop` scales Deployment/shop too: Kubernetes then follows neither \
             (AmbiguousSelector), each is read as if alone",
            "hpa.yaml:23:1 (`blog`): no HorizontalPodAutoscaler or ScaledObject in the files scales this Deployment; left out",
        ]
    );
    assert_eq!(read.autoscalers[0].settings.behavior, None);
    assert_eq!(read.autoscalers[0].settings.metrics, [Metric::cpu_utilization(80)]);
    let effects: Vec<Effect> = read.remarks.iter().map(|remark| remark.cause.effect()).collect();
    assert_eq!(effects[3], Effect::Assumed);
    assert_eq!(effects[7], Effect::Noted);
}

#[test]
fn everything_that_is_wrong_is_told_at_once() {
    let text = "\
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: shop}
spec:
  scaleTargetRef: {kind: Deployment}
  minReplicas: \"2\"
  minReplicas: -1
  metrics:
  - type: Resources
    resource: {name: cpu}
  - type: Resource
    resource: {name: cpu, target: {type: Utilization, averageValue: 3}}
  - type: Pods
    pods: {metric: {name: rps}, target: {type: AverageValue, averageValue: 1q}}
";
    assert_eq!(
        wrong(text),
        [
            "hpa.yaml:7:3, spec: `minReplicas` is there again, first in line 6: take one of them out",
            "hpa.yaml:5:19, spec.scaleTargetRef: no `name`, expected a text",
            "hpa.yaml:6:16, spec.minReplicas: found `2`, expected a whole number from 0 to 2147483647, without quotation marks",
            "hpa.yaml:5:3, spec: no `maxReplicas`, expected a whole number",
            "hpa.yaml:9:11, spec.metrics[0].type: found `Resources`, expected `Resource`, `ContainerResource`, `Pods`, `Object`, `External`",
            "hpa.yaml:12:35, spec.metrics[1].resource.target: no `averageUtilization`, expected a percentage",
            "hpa.yaml:14:76, spec.metrics[2].pods.target.averageValue: found `1q`, expected a quantity such as 500m, 2 or 1Gi",
        ]
    );
}

#[test]
fn files_without_an_autoscaler_say_what_they_hold() {
    assert_eq!(wrong(""), ["hpa.yaml: is empty; did the command fail?"]);
    assert_eq!(
        wrong("- a\n"),
        ["hpa.yaml:1:1: found a list, expected an object with `apiVersion` and `kind`"]
    );
    assert_eq!(
        wrong("apiVersion: v1\nkind: Service\nmetadata: {name: a}\n"),
        [
            "no HorizontalPodAutoscaler or ScaledObject was found (hpa.yaml:1:1 (`a`): a Service does not scale pods and is not \
             needed; left out); give the output of `kubectl get hpa --all-namespaces -o yaml`, or of `kubectl get scaledobject`"
        ]
    );
    assert_eq!(
        wrong("apiVersion: autoscaling/v2beta1\nkind: HorizontalPodAutoscaler\nmetadata: {name: a}\n"),
        ["hpa.yaml:1:1: `autoscaling/v2beta1` is not read, expected autoscaling/v2, autoscaling/v2beta2 or \
             autoscaling/v1; get the object with `kubectl get hpa.v2.autoscaling -o yaml`"]
    );
    let broken = wrong("a: [\n");
    assert!(broken[0].starts_with("hpa.yaml:") && broken[0].contains("expected YAML or JSON"), "{broken:?}");
}

#[test]
fn the_same_object_twice_is_one_and_two_states_are_an_error() {
    let twice = [("a.yaml", MANIFEST), ("b.yaml", MANIFEST)];
    assert_eq!(read(twice, &Cluster::default()).unwrap().autoscalers.len(), 1);
    let other = MANIFEST.replace("maxReplicas: 40", "maxReplicas: 50");
    let errors = read([("a.yaml", MANIFEST), ("b.yaml", other.as_str())], &Cluster::default()).unwrap_err();
    assert_eq!(
        errors[0].to_string(),
        "b.yaml:1:1: `shop` is there again, and not the same as at a.yaml:1:1; give one state of the cluster"
    );
}

#[test]
fn more_documents_than_a_parser_usually_allows_are_read() {
    let object = |index: usize| {
        format!(
            "apiVersion: autoscaling/v1\nkind: HorizontalPodAutoscaler\nmetadata: {{name: a{index}}}\nspec: \
             {{maxReplicas: 5, targetCPUUtilizationPercentage: 50, scaleTargetRef: {{kind: Deployment, name: \
             a{index}}}}}\n---\n"
        )
    };
    let read = good(&(0..1_100).map(object).collect::<String>());
    assert_eq!(read.autoscalers.len(), 1_100);
    assert_eq!(read.autoscalers[1_099].spot.line, 1_099 * 5 + 1);
}

#[test]
fn a_helm_template_is_called_one() {
    let whole = "{{- if .Values.autoscaling.enabled }}\napiVersion: autoscaling/v2\n{{- end }}\n";
    let value = MANIFEST.replace("maxReplicas: 40", "maxReplicas: {{ .Values.max }}");
    let quoted = MANIFEST.replacen("  name: shop", "  name: \"{{ .Release.Name }}-shop\"", 1);
    for (text, line) in [(whole, 1), (value.as_str(), 14), (quoted.as_str(), 4)] {
        let told = wrong(text);
        let begins = format!("hpa.yaml:{line}:");
        assert!(
            told.len() == 1 && told[0].starts_with(&begins) && told[0].contains("Helm template"),
            "{told:?}"
        );
        assert!(told[0].contains("helm template RELEASE CHART | headroom import kubernetes -"), "{told:?}");
    }
    // Templates of others, such as alerts, are texts.
    good(&MANIFEST.replace("'{}'", "'{{ $labels.pod }} {{ $value }}'"));
    good(&format!("# {{{{ .Values.max }}}}\n{MANIFEST}"));
}

/// A Deployment with one container.
const DEPLOYMENT: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: shop, labels: {tier: web}}
spec:
  replicas: 5
  selector: {matchLabels: {app: shop}}
  template:
    spec:
      containers:
      - name: app
        image: shop:1
        resources:
          requests: {cpu: 250m, memory: 1Gi}
          limits: {cpu: 500m, memory: 1Gi}
      - name: sidecar
        resources: {limits: {cpu: 100m}}
";

#[test]
fn workloads_say_what_their_pods_request_and_may_use() {
    for (text, namespaces) in [
        (format!("{DEPLOYMENT}---\n{MANIFEST}"), true),
        (format!("{MANIFEST}---\n{DEPLOYMENT}"), true),
        (
            format!("{MANIFEST}---\n{}", DEPLOYMENT.replace("name: shop,", "name: shop, namespace: test,")),
            false,
        ),
        (format!("{MANIFEST}---\n{}", DEPLOYMENT.replace("kind: Deployment", "kind: StatefulSet")), false),
    ] {
        let read = good(&text);
        let Some(pods) = &read.autoscalers[0].pods else {
            assert!(!namespaces, "{text}");
            assert!(
                remarks(&read)[0].contains("no HorizontalPodAutoscaler or ScaledObject in the files scales"),
                "{read:?}"
            );
            continue;
        };
        assert!(namespaces && remarks(&read).is_empty(), "{read:?}");
        assert_eq!(pods.replicas, Some(5));
        // A limit without a request is the request, as in Kubernetes.
        assert_eq!(pods.sum(|one| one.cpu_request), Some(Milli(350)));
        assert_eq!(pods.sum(|one| one.cpu_limit), Some(Milli(600)));
        assert_eq!(pods.sum(|one| one.memory_limit), None);
        assert_eq!(pods.containers[0].memory_limit, Some(Milli(1_073_741_824_000)));
    }
    let told = wrong(&format!("{MANIFEST}---\n{}", DEPLOYMENT.replace("cpu: 250m", "cpu: 250q")));
    assert!(told[0].contains("containers[0].resources.requests.cpu: found `250q`"), "{told:?}");
}

#[test]
fn items_of_a_typed_list_need_no_kind() {
    let read = good(
        "kind: HorizontalPodAutoscalerList\napiVersion: autoscaling/v2\nitems:\n- metadata: {name: a}\n  spec:\n    \
         maxReplicas: 5\n    scaleTargetRef: {kind: Deployment, name: a}\n    metrics:\n    - {type: Resource, resource: \
         {name: cpu, target: {type: Utilization, averageUtilization: 50}}}\n",
    );
    assert_eq!(read.autoscalers[0].settings.metrics, [Metric::cpu_utilization(50)]);
    assert_eq!(read.autoscalers[0].metric_spots[0].line, 9);
}

const SCALED: &str = "\
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata: { name: shop, namespace: prod }
spec:
  scaleTargetRef: { name: shop }
  triggers:
    - type: prometheus
      metadata: { serverAddress: http://prometheus, query: up, threshold: \"50\" }
";

fn scaled(text: &str) -> Result<Autoscalers, String> {
    read([("keda.yaml", text)], &Cluster::default())
        .map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
}

#[test]
fn a_scaled_object_has_the_defaults_of_keda() {
    let found = scaled(SCALED).unwrap();
    assert_eq!(found.remarks, []);
    let [object] = found.scaled_objects.as_slice() else { panic!("{found:?}") };
    assert_eq!(object.whole_name(), "prod Deployment/shop");
    let target = TotalTarget::AverageValue(Milli(50_000));
    let trigger = keda::Trigger::Prometheus { target, activation: 0.0, ignore_null_values: true };
    assert_eq!(object.settings, keda::KedaSettings::new(vec![trigger]));
    assert_eq!(object.sources[0].text, TriggerText::Query("up".to_owned()));
}

#[test]
fn annotations_are_read_as_keda_reads_them() {
    let pause = |annotations: &str| {
        let text = SCALED.replace("namespace: prod", &format!("annotations: {{ {annotations} }}"));
        scaled(&text).map(|found| found.scaled_objects[0].settings.pause)
    };
    let prefix = "autoscaling.keda.sh";
    assert_eq!(pause(&format!("{prefix}/paused: \"false\"")), Ok(keda::Pause::None));
    assert_eq!(pause(&format!("{prefix}/paused: \"yes please\"")), Ok(keda::Pause::All));
    let both = format!("{prefix}/paused: \"true\", {prefix}/paused-replicas: \"3\"");
    assert_eq!(pause(&both), Ok(keda::Pause::At(count(3))));
    let directions = keda::Pause::Directions { scale_in: false, scale_out: true };
    assert_eq!(pause(&format!("{prefix}/paused-scale-out: \"1\"")), Ok(directions));
    let error = pause(&format!("{prefix}/paused-replicas: \"many\"")).unwrap_err();
    assert!(
        error.ends_with("found `many`, expected a whole number in quotation marks, such as \"3\""),
        "{error}"
    );
}

/// An autoscaler of the same workload is the one that KEDA makes; its own remark about KEDA is not repeated.
#[test]
fn the_autoscaler_that_keda_makes_is_left_out() {
    let hpa = "\
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: { name: keda-hpa-shop, namespace: prod, labels: { app.kubernetes.io/managed-by: keda-operator } }
spec:
  scaleTargetRef: { apiVersion: apps/v1, kind: Deployment, name: shop }
  maxReplicas: 100
  metrics:
    - type: External
      external: { metric: { name: s0-prometheus }, target: { type: AverageValue, averageValue: \"50\" } }
";
    let found = scaled(&format!("{hpa}---\n{SCALED}")).unwrap();
    assert_eq!((found.autoscalers.len(), found.scaled_objects.len()), (0, 1));
    let remarks: Vec<String> = found.remarks.iter().map(|remark| remark.cause.to_string()).collect();
    assert_eq!(
        remarks,
        ["the ScaledObject `shop` scales the same workload and makes this autoscaler; left out"]
    );
    // Without the object, the autoscaler is read, with the remark.
    let alone = scaled(hpa).unwrap();
    assert_eq!((alone.autoscalers.len(), &alone.remarks[0].cause), (1, &Cause::Keda));
}

#[test]
fn what_keda_would_refuse_is_refused_with_its_place() {
    let mut told = String::new();
    for (from, to) in [
        ("threshold: \"50\"", "threshold: 50"),
        ("threshold: \"50\"", "threshold: \"-1\""),
        ("threshold: \"50\"", "threshold: \"0\""),
        ("query: up, ", ""),
        ("    - type: prometheus", "    - metricType: Utilization\n      type: prometheus"),
        ("  triggers:", "  minReplicaCount: 5\n  maxReplicaCount: 4\n  triggers:"),
        ("  triggers:", "  idleReplicaCount: 0\n  triggers:"),
        ("  triggers:", "  pollingInterval: 0\n  triggers:"),
        ("  triggers:", "  fallback: { replicas: 3 }\n  triggers:"),
        ("  triggers:", "  fallback: { failureThreshold: 3, replicas: 3, behavior: sometimes }\n  triggers:"),
        (
            "  triggers:",
            "  triggers:\n    - { type: cron, metadata: { timezone: UTC, start: 0 25 * * *, end: 0 9 * * *, \
             desiredReplicas: \"3\" } }",
        ),
        (
            "  triggers:",
            "  triggers:\n    - { type: cron, metadata: { timezone: UTC, start: 0 5 * * *, end: 0 9 * * *, \
             desiredReplicas: 3 } }",
        ),
        ("  triggers:", "  triggers:\n    - { type: cpu, metadata: { value: \"70\" } }"),
        ("  triggers:", "  triggers:\n    - { type: cpu, metricType: Value, metadata: { value: \"70\" } }"),
        (
            "  triggers:",
            "  triggers:\n    - { type: cpu, metricType: Utilization, metadata: { value: 70% } }",
        ),
        ("  triggers:", "  tiggers:"),
    ] {
        assert!(SCALED.contains(from), "{from}");
        let error = scaled(&SCALED.replacen(from, to, 1)).expect_err(to);
        told += &format!("--- {to}\n{error}\n");
    }
    insta::assert_snapshot!(told);
}

#[test]
fn what_is_not_read_of_a_scaled_object_is_told() {
    let text = SCALED
        .replace("  triggers:", "  advanced: { scalingModifiers: { formula: a } }\n  fallback: { failureThreshold: 1, \
                 replicas: 1, behavior: scalingModifiers }\n  coolDownPeriod: 10\n  triggers:\n    - { type: kafka, \
                 metadata: { topic: orders } }")
        .replace("      metadata", "      useCachedMetrics: true\n      metadata");
    let remarks = scaled(&text).unwrap().remarks;
    let remarks: Vec<String> = remarks.iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(remarks.join("\n"));
}
