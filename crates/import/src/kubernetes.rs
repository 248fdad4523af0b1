//! How workloads scale today, from HorizontalPodAutoscaler and ScaledObject objects in YAML or JSON, with the pods that
//! they scale.
//!
//! Files are read as people have them: a manifest, several documents in one file, a list as
//! `kubectl get hpa,deployment --all-namespaces -o yaml` prints it, in `autoscaling/v2`, `v2beta2` or `v1`. Deployments,
//! StatefulSets and ReplicaSets add what their pods request and may use.
//!
//! ## Why what is not understood is named
//! A simulation without one of the metrics answers another question than the one that was asked, and looks just as
//! good. So every field is either read, known to have no effect on scaling, or named in a [`Remark`] with its place.
//! Nothing is guessed; what Kubernetes itself takes where a field is absent is taken, and told.
//!
//! ## Why the cluster is an argument
//! The same object scales differently on another version, or under other flags of the controller; the files say
//! neither.
//!
//! Shapes: the API reference of `autoscaling/v2`; `keda.sh/v1alpha1` of KEDA.

mod behavior;
mod field;
mod metric;
mod object;
mod quantity;
mod remark;
mod scaled_object;
#[cfg(test)]
mod tests;
mod workload;

pub use remark::{Cause, Effect, KubernetesError, Remark, Spot};
pub use scaled_object::{ScaledObject, TriggerSource, TriggerText};
pub use workload::{Container, Pods};

use control::scaling::hpa::{Controller, HpaSettings, Metric, ResourceTarget, Source, Version};
use field::{Document, Report};
use object::Found;
use std::collections::BTreeMap;
use std::fmt;
use workload::Scaler;

/// What the files do not say.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Cluster {
    /// Its version.
    pub version: Version,
    /// The flags of its controller.
    pub controller: Controller,
}

/// One horizontal pod autoscaler.
#[derive(Debug, Clone, PartialEq)]
pub struct Autoscaler {
    /// Its name.
    pub name: String,
    /// Its namespace, where the object says it.
    pub namespace: Option<String>,
    /// What it scales.
    pub scales: Workload,
    /// How.
    pub settings: HpaSettings,
    /// The place of each metric of the settings, in their order.
    pub metric_spots: Vec<Spot>,
    /// The pods that it scales; none if no Deployment, StatefulSet or ReplicaSet in the files describes them.
    pub pods: Option<Pods>,
    /// The place of the object.
    pub spot: Spot,
}

impl Autoscaler {
    /// Namespace and workload.
    pub fn whole_name(&self) -> String {
        whole_name(self.namespace.as_deref(), &self.scales)
    }
}

fn whole_name(namespace: Option<&str>, scales: &Workload) -> String {
    match namespace {
        Some(namespace) => format!("{namespace} {scales}"),
        None => scales.to_string(),
    }
}

/// What is scaled.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Workload {
    /// Such as `Deployment`.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// Such as `apps/v1`.
    pub api_version: Option<String>,
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.kind, self.name)
    }
}

/// A metric in a few words, without its selector.
pub fn metric_words(metric: &Metric) -> String {
    let name = &metric.name;
    match &metric.source {
        Source::Resource { target: ResourceTarget::Utilization(_) } => format!("{name} utilization"),
        Source::Resource { .. } => format!("average {name}"),
        Source::ContainerResource { container, .. } => format!("{name} of container {container}"),
        Source::Pods { .. } => format!("Pods metric {name}"),
        Source::Object { kind, .. } => format!("{kind} metric {name}"),
        Source::External { .. } => format!("External metric {name}"),
    }
}

/// What the files say.
#[derive(Debug, Clone, PartialEq)]
pub struct Autoscalers {
    /// Horizontal pod autoscalers, in the order of the files; without those that KEDA makes of the ScaledObjects.
    pub autoscalers: Vec<Autoscaler>,
    /// ScaledObjects, in the order of the files.
    pub scaled_objects: Vec<ScaledObject>,
    /// What was left out or assumed, and why.
    pub remarks: Vec<Remark>,
}

impl Autoscalers {
    /// Without the objects of these names.
    ///
    /// # Errors
    /// Names that no object has, or nothing is left.
    pub fn without(mut self, names: &[String]) -> Result<Self, Vec<String>> {
        let has = |name: &String| {
            let mut found = self.autoscalers.iter().map(|one| &one.name);
            found.any(|one| one == name) || self.scaled_objects.iter().any(|one| one.name == *name)
        };
        let unknown: Vec<String> = names
            .iter()
            .filter(|name| !has(name))
            .map(|name| format!("--without {name}: no autoscaler in the files has this name"))
            .collect();
        if !unknown.is_empty() {
            return Err(unknown);
        }
        self.autoscalers.retain(|one| !names.contains(&one.name));
        self.scaled_objects.retain(|one| !names.contains(&one.name));
        if self.autoscalers.is_empty() && self.scaled_objects.is_empty() {
            return Err(vec!["--without leaves no autoscaler to import".to_owned()]);
        }
        Ok(self)
    }
}

/// Reads files together: names and texts.
///
/// # Errors
/// All problems of the files, or they contain no autoscaler and no ScaledObject.
pub fn read<'a>(
    files: impl IntoIterator<Item = (&'a str, &'a str)>,
    cluster: &Cluster,
) -> Result<Autoscalers, Vec<KubernetesError>> {
    let mut report = Report::default();
    let mut found = Found::default();
    for (file, text) in files {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let errors = report.errors.len();
        let (known, objects) = (found.autoscalers.len(), found.scaled_objects.len());
        one_file(file, text, cluster, &mut found, &mut report);
        let new = found.autoscalers.iter().skip(known).map(|one| &one.name);
        let mut new = new.chain(found.scaled_objects.iter().skip(objects).map(|one| &one.name));
        if (report.errors.len() > errors || new.any(|name| is_template(name)))
            && let Some(spot) = template(file, text)
        {
            report.errors.truncate(errors);
            report.errors.push(KubernetesError::Template { spot });
        }
    }
    let mut scaled_objects = different(found.scaled_objects, &mut report);
    let mut autoscalers = apart(found.autoscalers, &mut report);
    autoscalers.retain(|autoscaler| !is_made_by(autoscaler, &scaled_objects, &mut report));
    let mut scalers: Vec<Scaler<'_>> = Vec::new();
    scalers.extend(autoscalers.iter_mut().map(|one| Scaler {
        namespace: &one.namespace,
        scales: &one.scales,
        pods: &mut one.pods,
    }));
    scalers.extend(scaled_objects.iter_mut().map(|one| Scaler {
        namespace: &one.namespace,
        scales: &one.scales,
        pods: &mut one.pods,
    }));
    workload::join(found.workloads, scalers, &mut report);
    if autoscalers.is_empty() && scaled_objects.is_empty() && report.errors.is_empty() {
        let remarks = report.remarks.iter().map(ToString::to_string).collect();
        report.errors.push(KubernetesError::NoAutoscaler { remarks });
    }
    if report.errors.is_empty() {
        Ok(Autoscalers { autoscalers, scaled_objects, remarks: report.remarks })
    } else {
        Err(report.errors)
    }
}

fn one_file(file: &str, text: &str, cluster: &Cluster, found: &mut Found, report: &mut Report) {
    let whole = Document::new(file, text);
    match yaml::documents(text, TEXT_BYTES_MAX) {
        Ok(documents) if documents.is_empty() => {
            report.errors.push(KubernetesError::Empty { file: file.to_owned() });
        }
        Ok(documents) => {
            for node in &documents {
                object::read(&whole, node, cluster, found, report);
            }
        }
        Err(malformed) => {
            let spot = whole.spot(&malformed.span, "");
            let problem = capture::plain(&malformed.message);
            report.errors.push(KubernetesError::NoYaml { spot, problem });
        }
    }
}

/// The first action of a Helm template, outside comments.
fn template(file: &str, text: &str) -> Option<Spot> {
    let (index, line) = text
        .lines()
        .enumerate()
        .find(|(_, line)| is_template(line) && !line.trim_start().starts_with('#'))?;
    let column = line.find(ACTION).map_or(0, |at| line[..at].chars().count()) + 1;
    Some(Spot { file: file.to_owned(), line: index + 1, column, path: String::new() })
}

fn is_template(text: &str) -> bool {
    text.contains(ACTION)
}

/// One of each: the same object in two files is one, and an object with the same name that says something else is
/// an error.
fn apart(read: Vec<Autoscaler>, report: &mut Report) -> Vec<Autoscaler> {
    let mut by_name: BTreeMap<(Option<String>, String), usize> = BTreeMap::new();
    let mut by_workload: BTreeMap<(Option<String>, Workload), usize> = BTreeMap::new();
    let mut apart: Vec<Autoscaler> = Vec::new();
    for autoscaler in read {
        let name = (autoscaler.namespace.clone(), autoscaler.name.clone());
        if let Some(first) = by_name.get(&name).and_then(|index| apart.get(*index)) {
            if first.settings != autoscaler.settings || first.scales != autoscaler.scales {
                report.errors.push(KubernetesError::Contradiction {
                    spot: autoscaler.spot,
                    name: autoscaler.name,
                    first: first.spot.clone(),
                });
            }
            continue;
        }
        let workload = (autoscaler.namespace.clone(), autoscaler.scales.clone());
        if let Some(first) = by_workload.get(&workload).and_then(|index| apart.get(*index)) {
            let cause = Cause::SameWorkload { other: first.name.clone(), workload: first.scales.to_string() };
            report.remark(&autoscaler.spot, Some(&autoscaler.name), cause);
        }
        by_name.insert(name, apart.len());
        by_workload.insert(workload, apart.len());
        apart.push(autoscaler);
    }
    apart
}

/// ScaledObjects, each once: the same object in two files is one.
fn different(read: Vec<ScaledObject>, report: &mut Report) -> Vec<ScaledObject> {
    let mut different: Vec<ScaledObject> = Vec::new();
    for object in read {
        let same = |other: &&ScaledObject| other.name == object.name && other.namespace == object.namespace;
        match different.iter().find(same) {
            None => different.push(object),
            Some(first) if first.settings == object.settings && first.scales == object.scales => {}
            Some(first) => report.errors.push(KubernetesError::Contradiction {
                first: first.spot.clone(),
                spot: object.spot,
                name: object.name,
            }),
        }
    }
    different
}

/// Whether KEDA makes this autoscaler of one of the objects. KEDA refuses a workload that another autoscaler scales.
fn is_made_by(autoscaler: &Autoscaler, objects: &[ScaledObject], report: &mut Report) -> bool {
    let scales = |object: &&ScaledObject| {
        object.namespace == autoscaler.namespace
            && object.scales.kind == autoscaler.scales.kind
            && object.scales.name == autoscaler.scales.name
    };
    let Some(object) = objects.iter().find(scales) else { return false };
    let name = Some(autoscaler.name.clone());
    report.remarks.retain(|remark| remark.cause != Cause::Keda || remark.name != name);
    let cause = Cause::MadeByKeda(object.name.clone());
    report.remark(&autoscaler.spot, Some(&autoscaler.name), cause);
    true
}

/// What begins an action of Go templates, which Helm uses.
const ACTION: &str = "{{";
/// A list of all autoscalers of a large cluster has a few megabytes.
const TEXT_BYTES_MAX: usize = 32 * 1024 * 1024;
