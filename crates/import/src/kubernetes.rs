//! How workloads scale today, from HorizontalPodAutoscaler objects in YAML or JSON, with the pods that they scale.
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
//! Shapes: the API reference of `autoscaling/v2`.

mod behavior;
mod field;
mod metric;
mod object;
mod quantity;
mod remark;
#[cfg(test)]
mod tests;
mod workload;

pub use remark::{Cause, Effect, KubernetesError, Remark, Spot};
pub use workload::{Container, Pods};

use control::scaling::hpa::{Controller, HpaSettings, Metric, ResourceTarget, Source, Version};
use field::{Document, Report};
use object::Found;
use std::collections::BTreeMap;
use std::fmt;

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
        match &self.namespace {
            Some(namespace) => format!("{namespace} {}", self.scales),
            None => self.scales.to_string(),
        }
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
    /// In the order of the files.
    pub autoscalers: Vec<Autoscaler>,
    /// What was left out or assumed, and why.
    pub remarks: Vec<Remark>,
}

/// Reads files together: names and texts.
///
/// # Errors
/// All problems of the files, or they contain no autoscaler.
pub fn read<'a>(
    files: impl IntoIterator<Item = (&'a str, &'a str)>,
    cluster: &Cluster,
) -> Result<Autoscalers, Vec<KubernetesError>> {
    let mut report = Report::default();
    let mut found = Found::default();
    for (file, text) in files {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let (errors, known) = (report.errors.len(), found.autoscalers.len());
        one_file(file, text, cluster, &mut found, &mut report);
        let mut new = found.autoscalers.iter().skip(known);
        if (report.errors.len() > errors || new.any(|one| is_template(&one.name)))
            && let Some(spot) = template(file, text)
        {
            report.errors.truncate(errors);
            report.errors.push(KubernetesError::Template { spot });
        }
    }
    let mut autoscalers = apart(found.autoscalers, &mut report);
    workload::join(found.workloads, &mut autoscalers, &mut report);
    if autoscalers.is_empty() && report.errors.is_empty() {
        let remarks = report.remarks.iter().map(ToString::to_string).collect();
        report.errors.push(KubernetesError::NoAutoscaler { remarks });
    }
    if report.errors.is_empty() {
        Ok(Autoscalers { autoscalers, remarks: report.remarks })
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

/// What begins an action of Go templates, which Helm uses.
const ACTION: &str = "{{";
/// A list of all autoscalers of a large cluster has a few megabytes.
const TEXT_BYTES_MAX: usize = 32 * 1024 * 1024;
