//! How workloads scale today, from HorizontalPodAutoscaler objects in YAML or JSON.
//!
//! Files are read as people have them: a manifest, several documents in one file, a list as
//! `kubectl get hpa --all-namespaces -o yaml` prints it, in `autoscaling/v2`, `v2beta2` or `v1`.
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

pub use remark::{Cause, Effect, KubernetesError, Remark, Spot};

use control::scaling::hpa::{Controller, HpaSettings, Version};
use field::{Document, Report};
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
    /// Where it stands.
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
/// Everything that is wrong with them, or that they hold no autoscaler.
pub fn read<'a>(
    files: impl IntoIterator<Item = (&'a str, &'a str)>,
    cluster: &Cluster,
) -> Result<Autoscalers, Vec<KubernetesError>> {
    let mut report = Report::default();
    let mut autoscalers = Vec::new();
    for (file, text) in files {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let whole = Document::new(file, text);
        match yaml::documents(text, TEXT_BYTES_MAX) {
            Ok(documents) if documents.is_empty() => {
                report.errors.push(KubernetesError::Empty { file: file.to_owned() });
            }
            Ok(documents) => {
                for node in &documents {
                    object::read(&whole, node, cluster, &mut autoscalers, &mut report);
                }
            }
            Err(malformed) => {
                let spot = whole.spot(&malformed.span, "");
                let problem = capture::plain(&malformed.message);
                report.errors.push(KubernetesError::NoYaml { spot, problem });
            }
        }
    }
    let autoscalers = apart(autoscalers, &mut report);
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

/// A list of all autoscalers of a large cluster has a few megabytes.
const TEXT_BYTES_MAX: usize = 32 * 1024 * 1024;
