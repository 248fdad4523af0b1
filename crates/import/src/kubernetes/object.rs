//! Objects of a cluster: lists of them, and the autoscalers and workloads among them.

use super::field::{Document, Field, Object, Report};
use super::remark::{Cause, KubernetesError};
use super::workload::{self, WorkloadPods};
use super::{Autoscaler, Cluster, ScaledObject, Spot, Workload, behavior, metric, scaled_object};
use control::scaling::hpa::{HpaSettings, Metric};
use units::InstanceCount;
use yaml::{Kind, Node};

/// The objects of all files that matter for scaling.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) autoscalers: Vec<Autoscaler>,
    pub(super) scaled_objects: Vec<ScaledObject>,
    pub(super) workloads: Vec<WorkloadPods>,
}

/// Reads one document.
pub(super) fn read(
    document: &Document<'_>,
    node: &Node,
    cluster: &Cluster,
    found: &mut Found,
    report: &mut Report,
) {
    let root = Field::root(document, node);
    if !matches!(node.kind, Kind::Table(_)) {
        report.errors.push(KubernetesError::NoObject { spot: root.spot(), found: root.found() });
        return;
    }
    any(&root, None, cluster, found, report);
}

/// Reads an object. Items of a typed list may lack `apiVersion` and `kind`, which are then those of the list.
fn any(
    field: &Field<'_>,
    of_list: Option<(&str, &str)>,
    cluster: &Cluster,
    found: &mut Found,
    report: &mut Report,
) {
    let Some(object) = field.object(report) else { return };
    let (version, kind) = match of_list.filter(|_| object.get("kind").is_none()) {
        Some((version, kind)) => {
            object.without_effect(&["apiVersion"]);
            (version, kind)
        }
        None => match (object.text("apiVersion", report), object.text("kind", report)) {
            (Some(version), Some(kind)) => (version, kind),
            _ => return,
        },
    };
    let group = version.split('/').next().unwrap_or_default();
    match kind {
        list if list.ends_with("List") => {
            let of_items = list.strip_suffix("List").filter(|kind| !kind.is_empty());
            let items = object.needed("items", "a list", report).map(|items| items.list(report));
            for item in items.into_iter().flatten() {
                any(&item, of_items.map(|kind| (version, kind)), cluster, found, report);
            }
            object.without_effect(&["metadata"]);
            object.done(None, report);
        }
        "Deployment" | "StatefulSet" | "ReplicaSet" if group == "apps" => {
            found.workloads.extend(workload::read(&object, kind, report));
        }
        "HorizontalPodAutoscaler" => {
            let api = match version {
                "autoscaling/v2" | "autoscaling/v2beta2" => Api::V2,
                "autoscaling/v1" => Api::V1,
                _ => {
                    let spot = object.spot();
                    report.errors.push(KubernetesError::ApiVersion { spot, found: version.to_owned() });
                    return;
                }
            };
            found.autoscalers.extend(autoscaler(&object, api, cluster, report));
        }
        "ScaledObject" if version == "keda.sh/v1alpha1" => {
            found.scaled_objects.extend(scaled_object::read(&object, cluster, report));
        }
        _ => {
            let name = object.get("metadata").and_then(|metadata| name_of(&metadata));
            let other = match group {
                "keda.sh" | "autoscaling.knative.dev" | "autoscaling.k8s.io" | "serving.knative.dev" => {
                    Cause::OtherScaler(kind.to_owned())
                }
                _ => Cause::OtherKind(kind.to_owned()),
            };
            report.remark(&object.spot(), name.as_deref(), other);
        }
    }
}

/// The name of an object whose other fields are not read.
fn name_of(metadata: &Field<'_>) -> Option<String> {
    let object = metadata.object(&mut Report::default())?;
    object.get("name")?.text(&mut Report::default()).map(str::to_owned)
}

/// The form of an object's settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Api {
    /// Metrics and behavior.
    V2,
    /// Only processor use; everything else is in annotations.
    V1,
}

fn autoscaler(object: &Object<'_>, api: Api, cluster: &Cluster, report: &mut Report) -> Option<Autoscaler> {
    let metadata = object.object("metadata", report);
    let name = metadata.as_ref().and_then(|metadata| metadata.text("name", report));
    let namespace = metadata
        .as_ref()
        .and_then(|metadata| metadata.get("namespace"))
        .and_then(|namespace| namespace.text(report));
    if let (Some(metadata), Some(name)) = (&metadata, name) {
        carried_along(metadata, api, name, report);
    }
    // The status is a result, not a setting.
    object.without_effect(&["status"]);
    let spec = object.object("spec", report);
    object.done(name, report);
    let spec = spec?;
    let scales =
        spec.object("scaleTargetRef", report).and_then(|target| workload(&target, None, name, report));
    let replicas = |field: Option<Field<'_>>, report: &mut Report| {
        field.and_then(|field| field.whole(0, i32::MAX as u32, report)).map(InstanceCount::new)
    };
    // Kubernetes' default is 1.
    let min = match spec.get("minReplicas") {
        None => Some(InstanceCount::new(1)),
        found => replicas(found, report),
    };
    let max = spec.needed("maxReplicas", "a whole number", report);
    let max = replicas(max, report);
    let (metrics, behavior) = match api {
        Api::V2 => {
            let metrics = match spec.get("metrics") {
                None => Vec::new(),
                Some(metrics) => metric::read(&metrics, name, report)?,
            };
            let behavior = match spec.get("behavior") {
                None => None,
                Some(behavior) => behavior::read(&behavior, name, report)?,
            };
            (metrics, behavior)
        }
        Api::V1 => {
            let percent = match spec.get("targetCPUUtilizationPercentage") {
                None => None,
                Some(percent) => Some((percent.whole(1, i32::MAX as u32, report)?, percent.spot())),
            };
            let metric = percent.map(|(percent, spot)| (Metric::cpu_utilization(percent), spot));
            (metric.into_iter().collect(), None)
        }
    };
    spec.done(name, report);
    let (name, min, max) = (name?, min?, max?);
    let metrics = if metrics.is_empty() {
        report.remark(&spec.spot(), Some(name), Cause::DefaultMetric);
        vec![(Metric::cpu_utilization(DEFAULT_CPU_UTILIZATION), spec.spot())]
    } else {
        metrics
    };
    let (metrics, metric_spots): (Vec<Metric>, Vec<Spot>) = metrics.into_iter().unzip();
    let Cluster { version, controller } = *cluster;
    let settings = HpaSettings { behavior, controller, version, ..HpaSettings::new(min, max, metrics) };
    let problems = settings.problems();
    if !problems.is_empty() {
        let wrong = |problem| KubernetesError::Settings { spot: spec.spot(), name: name.to_owned(), problem };
        report.errors.extend(problems.into_iter().map(wrong));
        return None;
    }
    let namespace = namespace.map(str::to_owned);
    Some(Autoscaler {
        name: name.to_owned(),
        namespace,
        scales: scales?,
        settings,
        metric_spots,
        pods: None,
        spot: object.spot(),
    })
}

/// What is scaled; the kind is required unless there is a usual one.
pub(super) fn workload(
    target: &Object<'_>,
    usual_kind: Option<&'static str>,
    name: Option<&str>,
    report: &mut Report,
) -> Option<Workload> {
    let kind = match (target.get("kind"), usual_kind) {
        (None, Some(usual)) => Some(usual),
        _ => target.text("kind", report),
    };
    let workload = target.text("name", report);
    let api_version = target.get("apiVersion").and_then(|version| version.text(report));
    target.done(name, report);
    Some(Workload {
        kind: kind?.to_owned(),
        name: workload?.to_owned(),
        api_version: api_version.map(str::to_owned),
    })
}

/// Reports annotations and labels about scaling.
fn carried_along(metadata: &Object<'_>, api: Api, name: &str, report: &mut Report) {
    if let (Api::V1, Some(annotations)) = (api, metadata.get("annotations"))
        && let Some(annotations) = annotations.object(report)
    {
        for found in CARRIED.iter().filter_map(|key| annotations.get(key)) {
            report.remark(&found.spot(), Some(name), Cause::CarriedAlong);
        }
    }
    let labels = metadata.get("labels").and_then(|labels| labels.object(report));
    let maker = labels.as_ref().and_then(|labels| labels.get("app.kubernetes.io/managed-by"));
    if let Some(maker) = maker
        && maker.text(&mut Report::default()) == Some("keda-operator")
    {
        report.remark(&maker.spot(), Some(name), Cause::Keda);
    }
}

/// Annotations in which `autoscaling/v1` stores fields of newer versions.
const CARRIED: [&str; 2] =
    ["autoscaling.alpha.kubernetes.io/metrics", "autoscaling.alpha.kubernetes.io/behavior"];
/// Kubernetes' default for an object without metrics.
const DEFAULT_CPU_UTILIZATION: u32 = 80;
