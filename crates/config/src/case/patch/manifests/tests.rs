use super::*;

const MANIFESTS: &str = "\
apiVersion: v1
kind: List
items:
- apiVersion: autoscaling/v2
  kind: HorizontalPodAutoscaler
  metadata:
    name: shop
    namespace: prod
    resourceVersion: \"12\"
    labels: { app.kubernetes.io/name: shop, tier: \"1\" }
    annotations: { kubectl.kubernetes.io/last-applied-configuration: '{}' }
  spec:
    scaleTargetRef: { apiVersion: apps/v1, kind: Deployment, name: shop }
    minReplicas: 3
    maxReplicas: 40
    metrics:
    - type: Pods
      pods: { metric: { name: http_requests_per_second }, target: { type: AverageValue, averageValue: \"30\" } }
    - type: Resource
      resource: { name: cpu, target: { type: Utilization, averageUtilization: 50 } }
    behavior:
      scaleDown: { policies: [{ type: Percent, value: 10, periodSeconds: 60 }] }
  status: { currentReplicas: 7 }
---
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata: { name: mails, namespace: prod }
spec:
  scaleTargetRef: { name: mails }
  pollingInterval: 30
  triggers:
  - type: cron
    metadata: { timezone: Europe/Berlin, start: 0 8 * * *, end: 0 18 * * *, desiredReplicas: \"5\" }
  - type: prometheus
    metadata: { serverAddress: http://prometheus, query: up, threshold: \"50\" }
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: { name: keda-hpa-mails, namespace: prod, labels: { app.kubernetes.io/managed-by: keda-operator } }
spec: { scaleTargetRef: { kind: Deployment, name: mails }, maxReplicas: 9 }
";

fn edit(path: &str, value: Option<&str>) -> Edit {
    Edit { path: path.split('/').map(str::to_owned).collect(), value: value.map(str::to_owned) }
}

fn files() -> Vec<(String, String)> {
    vec![("all.yaml".to_owned(), MANIFESTS.to_owned())]
}

#[test]
fn keys_of_the_case_are_fields_of_the_objects() {
    let edits = [
        edit("services/shop/scaling/min", Some("2")),
        edit("services/shop/scaling/hpa/cpu", Some("75%")),
        edit("services/shop/scaling/hpa/behavior/scaleDown/policies/[0]/value", Some("20")),
        edit("services/shop/scaling/hpa/behavior/scaleUp/stabilizationWindowSeconds", Some("60")),
        edit("services/mails/scaling/max", Some("12")),
        edit("services/mails/scaling/keda/polling_interval", Some("10s")),
        edit("services/mails/scaling/keda/prometheus/[0]/threshold", Some("80")),
        edit("services/mails/scaling/keda/cron/[0]/replicas", Some("3")),
        edit("services/shop/scaling/hpa/tolerance", Some("5%")),
        edit("services/shop/server/threads", Some("5")),
        edit("services/other/scaling/min", Some("5")),
    ];
    let found = Case::manifests(&edits, &files()).unwrap();
    assert_eq!(
        found.elsewhere,
        ["services.shop.scaling.hpa.tolerance", "services.shop.server.threads", "services.other.scaling.min"]
    );
    let said = found.changed.iter().map(|one| format!("# {}\n{}---\n", one.name, one.text));
    insta::assert_snapshot!(said.collect::<String>());
    // They are read as what they are, and undone as what they were.
    for one in &found.changed {
        let [text, undo] = [&one.text, &one.undo].map(|text| {
            let files = [("a.yaml", text.as_str())];
            import::kubernetes::read(files, &import::kubernetes::Cluster::default()).unwrap()
        });
        assert_eq!((text.remarks.len(), undo.remarks.len()), (0, 0), "{text:?}");
        match (&text.autoscalers[..], &undo.autoscalers[..]) {
            ([text], [undo]) => {
                assert_eq!((text.settings.min.get(), undo.settings.min.get()), (2, 3));
                assert!(format!("{:?}", text.settings.metrics).contains("Utilization(75)"));
                assert!(format!("{:?}", undo.settings.metrics).contains("Utilization(50)"));
            }
            _ => {
                let (text, undo) = (&text.scaled_objects[0], &undo.scaled_objects[0]);
                assert_eq!((text.settings.max.get(), undo.settings.max.get()), (12, 100));
            }
        }
    }
}

#[test]
fn a_file_that_is_not_yaml_is_named() {
    let errors = Case::manifests(&[], &[("a.yaml".to_owned(), "a: [".to_owned())]).unwrap_err();
    assert!(errors[0].starts_with("a.yaml:1:"), "{errors:?}");
}

/// Workloads whose pods the autoscalers of `OBJECTS` scale.
const PODS: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: { name: shop, namespace: prod }
spec: { template: { spec: { containers: [{ name: app, resources: { requests: { cpu: 500m }, limits: { cpu: 1 } } }] } } }
---
apiVersion: apps/v1
kind: Deployment
metadata: { name: mails, namespace: prod }
spec:
  template:
    spec:
      containers:
      - { name: app, resources: { requests: { cpu: 500m }, limits: { cpu: 1 } } }
      - { name: mesh, resources: { requests: { cpu: 100m }, limits: { cpu: 1 } } }
";

/// Files, each with an object that has other forms of the same settings.
const OBJECTS: [(&str, &str); 5] = [
    (
        "horizontalpodautoscaler-shop",
        "\
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: { name: shop, namespace: prod }
spec:
  scaleTargetRef: { apiVersion: apps/v1, kind: Deployment, name: shop }
  minReplicas: 3
  maxReplicas: 40
  metrics:
  - type: Object
    object:
      describedObject: { apiVersion: networking.k8s.io/v1, kind: Ingress, name: shop }
      metric: { name: queue }
      target: { type: Value, value: 2k }
  - type: Pods
    pods: { metric: { name: requests_per_second }, target: { type: AverageValue, averageValue: \"30\" } }
  - type: Pods
    pods: { metric: { name: in_flight }, target: { type: AverageValue, averageValue: 4500m } }
  - type: ContainerResource
    containerResource: { container: app, name: cpu, target: { type: Utilization, averageUtilization: 50 } }
  - type: External
    external:
      metric: { name: lag, selector: { matchLabels: { queue: orders } } }
      target: { type: AverageValue, averageValue: 0.5 }
  - type: Resource
    resource: { name: cpu, target: { type: AverageValue, averageValue: 400m } }
  behavior:
    scaleUp: { stabilizationWindowSeconds: 30, policies: [{ type: Pods, value: 4, periodSeconds: 60 }] }
    scaleDown:
      policies:
      - { type: Percent, value: 10, periodSeconds: 60 }
      - { type: Pods, value: 2, periodSeconds: 120 }
",
    ),
    (
        "horizontalpodautoscaler-old",
        "\
apiVersion: autoscaling/v1
kind: HorizontalPodAutoscaler
metadata: { name: old }
spec:
  scaleTargetRef: { apiVersion: apps/v1, kind: Deployment, name: old }
  maxReplicas: 10
  targetCPUUtilizationPercentage: 60
",
    ),
    (
        "horizontalpodautoscaler-bare",
        "\
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: { name: bare }
spec: { scaleTargetRef: { kind: Deployment, name: bare }, minReplicas: 2, maxReplicas: 10 }
",
    ),
    (
        "horizontalpodautoscaler-usual",
        "\
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: { name: usual }
spec:
  scaleTargetRef: { kind: Deployment, name: usual }
  maxReplicas: 10
  metrics: [{ type: Resource, resource: { name: cpu, target: { type: Utilization, averageUtilization: 70 } } }]
  behavior: { scaleDown: { stabilizationWindowSeconds: 300 } }
",
    ),
    (
        "scaledobject-mails",
        "\
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata: { name: mails, namespace: prod }
spec:
  scaleTargetRef: { name: mails }
  minReplicaCount: 2
  maxReplicaCount: 30
  triggers:
  - type: kafka
    metadata: { topic: orders, lagThreshold: \"10\" }
  - type: cpu
    metricType: Utilization
    metadata: { value: \"40\", containerName: app }
  - type: prometheus
    metadata: { serverAddress: http://prometheus, query: up, threshold: \"50\" }
  - type: cron
    metadata: { timezone: Europe/Berlin, start: 0 8 * * *, end: 0 18 * * *, desiredReplicas: \"5\" }
  - type: cpu
    metricType: Utilization
    metadata: { value: \"60\" }
  - type: prometheus
    metricType: Value
    metadata: { serverAddress: http://prometheus, query: down, threshold: \"2.5\" }
  advanced:
    horizontalPodAutoscalerConfig:
      behavior: { scaleDown: { policies: [{ type: Pods, value: 3, periodSeconds: 60 }] } }
",
    ),
];

/// The case of an import, with what users fill in.
fn case(files: &[(String, String)]) -> Case {
    let named = files.iter().map(|(name, text)| (name.as_str(), text.as_str()));
    let found = import::kubernetes::read(named, &import::kubernetes::Cluster::default()).unwrap();
    let draft = crate::case::write::kubernetes(&found).unwrap().text;
    let values = [
        ("rate", "10/s"),
        ("cpu", "5ms"),
        ("wait", "20ms"),
        ("provision", "30s"),
        ("boot", "10s"),
        ("measures", "requests-per-second"),
    ];
    let filled = values.iter().fold(draft, |text, (key, value)| {
        text.replace(&format!(" {key}: TODO"), &format!(" {key}: {value}"))
    });
    let text = format!("measured: 5m\n{}", filled.replace(": TODO", ": 1"));
    crate::case::parse("case.yaml", &text, std::path::Path::new(""), crate::case::Given::default())
        .unwrap_or_else(|problems| panic!("{problems}\n{text}"))
}

fn policies<'a>(services: impl IntoIterator<Item = &'a sim::settings::Service>) -> String {
    services.into_iter().map(|service| format!("{:#?}\n", service.scaling.policy)).collect()
}

/// Every key that `tune` can change is in the manifests, or is said not to be: what is applied and imported again is the
/// changed case, and undone it is the case.
#[test]
fn every_change_of_one_key_comes_back_by_an_import() {
    let mut files = vec![("pods".to_owned(), PODS.to_owned())];
    files.extend(OBJECTS.map(|(name, text)| (name.to_owned(), text.to_owned())));
    let case = case(&files);
    let before = policies(&case.stages[0].system.services);
    let applied = |manifests: &[Manifest], text: fn(&Manifest) -> &String| {
        let of = |(name, file): &(String, String)| {
            let found = manifests.iter().find(|one| one.name == *name).map(text);
            (name.clone(), found.unwrap_or(file).clone())
        };
        policies(&self::case(&files.iter().map(of).collect::<Vec<_>>()).stages[0].system.services)
    };
    let mut tried = std::collections::BTreeSet::new();
    for dimension in case.dimensions(0, &[]) {
        for choice in &dimension.choices {
            let Ok(wanted) = case.varied(0, &choice.edits) else { continue };
            let wanted = policies(&wanted.services);
            let found = Case::manifests(&choice.edits, &files).unwrap();
            if dimension.key.ends_with(".hpa.tolerance") {
                // A flag of the controller.
                assert_eq!((found.changed.len(), found.elsewhere), (0, vec![dimension.key.clone()]));
                continue;
            }
            assert_eq!(found.elsewhere, [""; 0], "{choice:?}");
            assert!(
                applied(&found.changed, |one| &one.text) == wanted,
                "{} {choice:?}: {found:#?}",
                dimension.key
            );
            assert!(
                applied(&found.changed, |one| &one.undo) == before,
                "{} {choice:?}: {found:#?}",
                dimension.key
            );
            if wanted != before {
                tried.insert(dimension.key.clone());
            }
        }
    }
    insta::assert_snapshot!(tried.into_iter().collect::<Vec<_>>().join("\n"));
}
