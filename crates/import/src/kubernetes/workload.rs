//! Pods of a Deployment, StatefulSet or ReplicaSet: how many, what they request and what they may use.
//!
//! Only these fields are read. Everything else of a workload has no effect on scaling, so unlike in an autoscaler,
//! unknown fields are not reported.

use super::field::{Field, Object, Report};
use super::remark::{Cause, Spot};
use super::{Workload, quantity};
use control::scaling::hpa::Milli;

/// The pods of a workload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pods {
    /// The number of pods in the file; none if it does not say.
    pub replicas: Option<u32>,
    /// The containers that run as long as the pod, sidecars included.
    pub containers: Vec<Container>,
    /// The place of the workload.
    pub spot: Spot,
}

/// Resources of a container. Processors in thousandths of a core, memory in thousandths of a byte.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Container {
    /// Its name.
    pub name: String,
    /// Processor request; the limit if only that is set, as in Kubernetes.
    pub cpu_request: Option<Milli>,
    /// Processor limit.
    pub cpu_limit: Option<Milli>,
    /// Memory request; the limit if only that is set.
    pub memory_request: Option<Milli>,
    /// Memory limit.
    pub memory_limit: Option<Milli>,
}

impl Pods {
    /// The sum of a resource over all containers; none if a container does not set it.
    pub fn sum(&self, resource: impl Fn(&Container) -> Option<Milli>) -> Option<Milli> {
        let all: Option<Vec<i64>> =
            self.containers.iter().map(|container| resource(container).map(|found| found.0)).collect();
        all.filter(|all| !all.is_empty()).map(|all| Milli(all.into_iter().fold(0, i64::saturating_add)))
    }
}

/// A workload and its pods.
#[derive(Debug)]
pub(super) struct WorkloadPods {
    namespace: Option<String>,
    workload: Workload,
    pods: Pods,
}

/// Reads a workload; none if it has no name or no pods.
pub(super) fn read(object: &Object<'_>, kind: &str, report: &mut Report) -> Option<WorkloadPods> {
    let metadata = object.object("metadata", report)?;
    let name = metadata.text("name", report)?.to_owned();
    let namespace = metadata.get("namespace").and_then(|namespace| namespace.text(report)).map(str::to_owned);
    let spec = object.object("spec", report)?;
    let replicas = spec.get("replicas").and_then(|replicas| replicas.whole(0, i32::MAX as u32, report));
    let pod = spec.object("template", report)?.object("spec", report)?;
    let mut containers: Vec<Container> = pod
        .needed("containers", "a list", report)?
        .list(report)
        .iter()
        .filter_map(|entry| container(entry, report))
        .collect();
    if let Some(first) = pod.get("initContainers") {
        let sidecars = first.list(report);
        containers.extend(
            sidecars.iter().filter(|entry| is_sidecar(entry)).filter_map(|entry| container(entry, report)),
        );
    }
    let workload = Workload { kind: kind.to_owned(), name, api_version: None };
    Some(WorkloadPods { namespace, workload, pods: Pods { replicas, containers, spot: object.spot() } })
}

/// Whether a container among `initContainers` keeps running (a native sidecar).
fn is_sidecar(entry: &Field<'_>) -> bool {
    let mut nobody = Report::default();
    let policy = entry.object(&mut nobody).and_then(|container| container.get("restartPolicy"));
    policy.is_some_and(|policy| policy.text(&mut nobody) == Some("Always"))
}

fn container(entry: &Field<'_>, report: &mut Report) -> Option<Container> {
    let object = entry.object(report)?;
    let name = object.text("name", report)?.to_owned();
    let resources = object.get("resources").and_then(|resources| resources.object(report));
    let mut of = |which: &'static str, resource: &'static str| {
        let table = resources.as_ref()?.get(which)?.object(report)?;
        quantity::read(&table.get(resource)?, report)
    };
    let (cpu_limit, memory_limit) = (of("limits", "cpu"), of("limits", "memory"));
    Some(Container {
        name,
        cpu_request: of("requests", "cpu").or(cpu_limit),
        cpu_limit,
        memory_request: of("requests", "memory").or(memory_limit),
        memory_limit,
    })
}

/// An object that scales a workload, and the place for the workload's pods.
pub(super) struct Scaler<'a> {
    pub(super) namespace: &'a Option<String>,
    pub(super) scales: &'a Workload,
    pub(super) pods: &'a mut Option<Pods>,
}

/// Gives each scaler the pods that it scales. A namespace that only one of the two states is taken for the same.
pub(super) fn join(workloads: Vec<WorkloadPods>, mut scalers: Vec<Scaler<'_>>, report: &mut Report) {
    for WorkloadPods { namespace, workload, pods } in workloads {
        let scales = |one: &&mut Scaler<'_>| {
            let apart = one.namespace.is_some() && namespace.is_some() && *one.namespace != namespace;
            one.scales.kind == workload.kind && one.scales.name == workload.name && !apart
        };
        let mut scaled = false;
        for scaler in scalers.iter_mut().filter(scales) {
            scaled = true;
            scaler.pods.get_or_insert(pods.clone());
        }
        if !scaled {
            report.remark(&pods.spot, Some(&workload.name), Cause::NotScaled(workload.kind));
        }
    }
}
