//! What was left out or assumed, and what is wrong, each with its place.

use control::scaling::hpa::HpaSettingsError;
use control::scaling::keda::{CronError, KedaSettingsError};
use std::fmt;

/// A place in a file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Spot {
    /// Which file.
    pub file: String,
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
    /// Such as `items[2].spec.metrics[0]`; empty for the whole object.
    pub path: String,
}

impl fmt::Display for Spot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)?;
        if self.path.is_empty() { Ok(()) } else { write!(f, ", {}", self.path) }
    }
}

/// Something in the files that the result does not have as it is there.
#[derive(Debug, Clone, PartialEq)]
pub struct Remark {
    /// Where.
    pub spot: Spot,
    /// The name of the object that it is about, where it has one.
    pub name: Option<String>,
    /// Why.
    pub cause: Cause,
}

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.spot.fmt(f)?;
        if let Some(name) = &self.name {
            write!(f, " (`{name}`)")?;
        }
        write!(f, ": {}", self.cause)
    }
}

/// The effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// It is not in the result, which may scale otherwise than the workload does.
    LeftOut,
    /// The result rests on it.
    Assumed,
    /// It has no effect on scaling here, and is told for completeness.
    Noted,
}

/// Why something is not in the result as it is in the files.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Cause {
    /// A field that is not known.
    #[error("this field is not known{}; what it does is left out", meant(nearest.as_deref()))]
    UnknownField {
        /// A known field with a similar name.
        nearest: Option<String>,
    },
    /// An object of another kind.
    #[error("a {0} does not scale pods and is not needed; left out")]
    OtherKind(String),
    /// A workload that no autoscaler in the files scales.
    #[error("no HorizontalPodAutoscaler or ScaledObject in the files scales this {0}; left out")]
    NotScaled(String),
    /// An object that scales by other rules.
    #[error("a {0} scales by rules of its own, which are not modelled; left out")]
    OtherScaler(String),
    /// An autoscaler that KEDA made.
    #[error(
        "KEDA made this autoscaler: what it does by itself (from and to zero, pausing, fallback) is not in it; left out"
    )]
    Keda,
    /// An autoscaler of a workload that a ScaledObject in the files scales.
    #[error("the ScaledObject `{0}` scales the same workload and makes this autoscaler; left out")]
    MadeByKeda(String),
    /// A trigger of another type.
    #[error("a `{0}` trigger cannot be simulated; left out")]
    OtherTrigger(String),
    /// A formula over the triggers.
    #[error("scaling modifiers cannot be simulated; left out")]
    ScalingModifiers,
    /// Fields of a newer API that an older one carries along.
    #[error(
        "this annotation carries what `autoscaling/v1` cannot say, and is not read; left out: get the object with \
         `kubectl get hpa.v2.autoscaling -o yaml`"
    )]
    CarriedAlong,
    /// No metric.
    #[error("no metric is named, so Kubernetes takes a processor utilization of 80 %")]
    DefaultMetric,
    /// Two autoscalers of one workload.
    #[error(
        "`{other}` scales {workload} too: Kubernetes then follows neither (AmbiguousSelector), each is read as if alone"
    )]
    SameWorkload {
        /// The other.
        other: String,
        /// What both scale.
        workload: String,
    },
}

fn meant(nearest: Option<&str>) -> String {
    nearest.map(|name| format!(" (did you mean `{name}`?)")).unwrap_or_default()
}

impl Cause {
    /// The effect.
    pub fn effect(&self) -> Effect {
        match self {
            Cause::DefaultMetric | Cause::SameWorkload { .. } => Effect::Assumed,
            Cause::OtherKind(_) | Cause::NotScaled(_) | Cause::MadeByKeda(_) => Effect::Noted,
            _ => Effect::LeftOut,
        }
    }
}

/// Why the files cannot be used.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum KubernetesError {
    /// No YAML.
    #[error("{spot}: {problem}; expected YAML or JSON as `kubectl get hpa -o yaml` prints it")]
    NoYaml {
        /// Where.
        spot: Spot,
        /// What is wrong.
        problem: String,
    },
    /// A template, which is YAML only after Helm rendered it.
    #[error(
        "{spot}: this file is a Helm template, not a manifest; render it first: `helm template RELEASE CHART | \
         headroom import kubernetes -`"
    )]
    Template {
        /// Where its first action is.
        spot: Spot,
    },
    /// Nothing at all.
    #[error("{file}: is empty; did the command fail?")]
    Empty {
        /// Which file.
        file: String,
    },
    /// A document that is no object.
    #[error("{spot}: found {found}, expected an object with `apiVersion` and `kind`")]
    NoObject {
        /// Where.
        spot: Spot,
        /// What stands there.
        found: String,
    },
    /// A version of the API whose fields have other names.
    #[error(
        "{spot}: `{found}` is not read, expected autoscaling/v2, autoscaling/v2beta2 or autoscaling/v1; get the \
         object with `kubectl get hpa.v2.autoscaling -o yaml`"
    )]
    ApiVersion {
        /// Where.
        spot: Spot,
        /// What stands there.
        found: String,
    },
    /// A field that is not there.
    #[error("{spot}: no `{field}`, expected {expected}")]
    Absent {
        /// Where.
        spot: Spot,
        /// Which field.
        field: &'static str,
        /// What it should be.
        expected: String,
    },
    /// A field of another type or out of its bounds.
    #[error("{spot}: found {found}, expected {expected}")]
    Field {
        /// Where.
        spot: Spot,
        /// What stands there.
        found: String,
        /// What it should be.
        expected: String,
    },
    /// A key that is there twice.
    #[error("{spot}: `{key}` is there again, first in line {first}: take one of them out")]
    Twice {
        /// Where.
        spot: Spot,
        /// Which.
        key: String,
        /// The line of the first, from 1.
        first: usize,
    },
    /// An object that Kubernetes would refuse, or that contradicts the cluster.
    #[error("{spot} (`{name}`): {problem}")]
    Settings {
        /// Where.
        spot: Spot,
        /// The name of the object.
        name: String,
        /// What is wrong.
        problem: HpaSettingsError,
    },
    /// A ScaledObject that KEDA would refuse.
    #[error("{spot} (`{name}`): {problem}")]
    ScaledObject {
        /// Where.
        spot: Spot,
        /// The name of the object.
        name: String,
        /// What is wrong.
        problem: KedaSettingsError,
    },
    /// A cron trigger that KEDA would refuse.
    #[error("{spot}: {problem}")]
    Cron {
        /// Where.
        spot: Spot,
        /// What is wrong.
        problem: CronError,
    },
    /// The same name with different contents.
    #[error("{spot}: `{name}` is there again, and not the same as at {first}; give one state of the cluster")]
    Contradiction {
        /// Where.
        spot: Spot,
        /// The name of the object.
        name: String,
        /// Where the other is.
        first: Spot,
    },
    /// Everything was left out, or there was nothing.
    #[error(
        "no HorizontalPodAutoscaler or ScaledObject was found{}; give the output of `kubectl get hpa --all-namespaces -o \
         yaml`, or of `kubectl get scaledobject`",
        because(remarks)
    )]
    NoAutoscaler {
        /// What was left out.
        remarks: Vec<String>,
    },
}

fn because(remarks: &[String]) -> String {
    if remarks.is_empty() { String::new() } else { format!(" ({})", remarks.join("; ")) }
}
