//! ScaledObjects of KEDA (keda.sh/v1alpha1).
//!
//! A trigger of a type that is not read is reported, and left out. Metadata of triggers is text, as in KEDA: a number
//! without quotation marks is an error there too.
//!
//! Shapes: `apis/keda/v1alpha1/scaledobject_types.go` and the scalers of KEDA.

use super::field::{Field, Object, Report};
use super::object::workload;
use super::remark::{Cause, KubernetesError};
use super::{Cluster, Pods, Spot, Workload, behavior, quantity};
use control::scaling::hpa::{Milli, Quantity, ResourceTarget, TotalTarget};
use control::scaling::keda::{
    Cron, Fallback, FallbackBehavior, KedaSettings, KedaSettingsError, Pause, Trigger,
};
use std::str::FromStr;
use std::time::Duration;
use units::InstanceCount;

/// One ScaledObject.
#[derive(Debug, Clone, PartialEq)]
pub struct ScaledObject {
    /// Its name.
    pub name: String,
    /// Its namespace, where the object says it.
    pub namespace: Option<String>,
    /// What it scales.
    pub scales: Workload,
    /// How; triggers that are not read are left out.
    pub settings: KedaSettings,
    /// Where each trigger of the settings is, and its text.
    pub sources: Vec<TriggerSource>,
    /// The pods that it scales; none if no Deployment, StatefulSet or ReplicaSet in the files describes them.
    pub pods: Option<Pods>,
    /// The place of the object.
    pub spot: Spot,
}

impl ScaledObject {
    /// Namespace and workload.
    pub fn whole_name(&self) -> String {
        super::whole_name(self.namespace.as_deref(), &self.scales)
    }
}

/// A trigger in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TriggerSource {
    /// Its place.
    pub spot: Spot,
    /// Its text.
    pub text: TriggerText,
}

/// The text of a trigger that its settings do not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TriggerText {
    /// None: `cpu` and `memory`.
    Resource,
    /// The query.
    Query(String),
    /// Schedules.
    Cron {
        /// `start`.
        start: String,
        /// `end`.
        end: String,
        /// `timezone`.
        timezone: String,
        /// `desiredReplicas`.
        replicas: u32,
    },
}

/// Reads an object; none if it cannot be used.
pub(super) fn read(object: &Object<'_>, cluster: &Cluster, report: &mut Report) -> Option<ScaledObject> {
    let metadata = object.object("metadata", report)?;
    let name = metadata.text("name", report);
    let namespace = metadata.get("namespace").and_then(|namespace| namespace.text(report)).map(str::to_owned);
    let (pause, force_activation) = annotations(&metadata, report);
    object.without_effect(&["status"]);
    let spec = object.object("spec", report);
    object.done(name, report);
    let spec = spec?;
    let target = spec.object("scaleTargetRef", report);
    let scales = target.and_then(|target| {
        target.without_effect(&["envSourceContainerName"]);
        workload(&target, Some("Deployment"), name, report)
    });
    let (triggers, left_out) = triggers(&spec, name, report);
    let (triggers, sources): (Vec<Trigger>, Vec<TriggerSource>) = triggers?.into_iter().unzip();
    let usual = KedaSettings::new(triggers);
    let mut count = |field: &'static str, least: u32| {
        spec.get(field).and_then(|found| found.whole(least, i32::MAX as u32, report)).map(InstanceCount::new)
    };
    let (min, max) = (count("minReplicaCount", 0), count("maxReplicaCount", 1).unwrap_or(usual.max));
    let idle = count("idleReplicaCount", 0);
    let mut span = |field: &'static str, least: u32, usual: Duration| {
        let seconds = spec.get(field).and_then(|found| found.whole(least, i32::MAX as u32, report));
        seconds.map_or(usual, |seconds| Duration::from_secs(seconds.into()))
    };
    let settings = KedaSettings {
        min,
        max,
        idle,
        polling_interval: span("pollingInterval", 1, usual.polling_interval),
        cooldown_period: span("cooldownPeriod", 0, usual.cooldown_period),
        initial_cooldown_period: span("initialCooldownPeriod", 0, usual.initial_cooldown_period),
        fallback: spec.get("fallback").and_then(|found| fallback(&found, name, report)),
        pause,
        force_activation,
        behavior: advanced(&spec, name, report),
        controller: cluster.controller,
        version: cluster.version,
        ..usual
    };
    spec.done(name, report);
    let name = name?.to_owned();
    let of_all_triggers = |problem: &KedaSettingsError| {
        use KedaSettingsError::{FallbackOfResources, NoTrigger, ZeroWithoutActivation};
        matches!(problem, FallbackOfResources | NoTrigger | ZeroWithoutActivation)
    };
    let problems = settings.problems().into_iter().filter(|problem| !left_out || !of_all_triggers(problem));
    let before = report.errors.len();
    report.errors.extend(problems.map(|problem| KubernetesError::ScaledObject {
        spot: spec.spot(),
        name: name.clone(),
        problem,
    }));
    if report.errors.len() > before {
        return None;
    }
    Some(ScaledObject {
        name,
        namespace,
        scales: scales?,
        settings,
        sources,
        pods: None,
        spot: object.spot(),
    })
}

/// The annotations that pause or force.
fn annotations(metadata: &Object<'_>, report: &mut Report) -> (Pause, bool) {
    let Some(annotations) = metadata.get("annotations").and_then(|found| found.object(report)) else {
        return (Pause::None, false);
    };
    let mut is_on =
        |key: &'static str| annotations.get(key).and_then(|found| found.text(report)).is_some_and(is_true);
    let all = is_on("autoscaling.keda.sh/paused");
    let scale_in = is_on("autoscaling.keda.sh/paused-scale-in");
    let scale_out = is_on("autoscaling.keda.sh/paused-scale-out");
    let force = is_on("autoscaling.keda.sh/force-activation");
    let replicas = annotations.get("autoscaling.keda.sh/paused-replicas").and_then(|found| {
        quoted(&found, WHOLE, report, |replicas: &u32| *replicas <= i32::MAX as u32).map(InstanceCount::new)
    });
    let pause = match replicas {
        Some(replicas) => Pause::At(replicas),
        None if all => Pause::All,
        None if scale_in || scale_out => Pause::Directions { scale_in, scale_out },
        None => Pause::None,
    };
    (pause, force)
}

/// As KEDA reads an annotation: what is not a boolean of Go is true.
fn is_true(text: &str) -> bool {
    !matches!(text, "0" | "f" | "F" | "false" | "FALSE" | "False")
}

fn advanced(
    spec: &Object<'_>,
    name: Option<&str>,
    report: &mut Report,
) -> Option<control::scaling::hpa::Behavior> {
    let advanced = spec.get("advanced")?.object(report)?;
    advanced.without_effect(&["restoreToOriginalReplicaCount"]);
    if let Some(modifiers) = advanced.get("scalingModifiers") {
        report.remark(&modifiers.spot(), name, Cause::ScalingModifiers);
    }
    let config = advanced.get("horizontalPodAutoscalerConfig").and_then(|config| config.object(report));
    advanced.done(name, report);
    let config = config?;
    config.without_effect(&["name"]);
    let found = config.get("behavior");
    config.done(name, report);
    behavior::read(&found?, name, report)?
}

fn fallback(field: &Field<'_>, name: Option<&str>, report: &mut Report) -> Option<Fallback> {
    let object = field.object(report)?;
    let mut count = |field: &'static str| {
        object
            .needed(field, "a whole number", report)
            .and_then(|found| found.whole(0, i32::MAX as u32, report))
    };
    let (failure_threshold, replicas) = (count("failureThreshold"), count("replicas"));
    let behaviors = [
        ("static", Some(FallbackBehavior::Static)),
        ("currentReplicas", Some(FallbackBehavior::CurrentReplicas)),
        ("currentReplicasIfHigher", Some(FallbackBehavior::CurrentReplicasIfHigher)),
        ("currentReplicasIfLower", Some(FallbackBehavior::CurrentReplicasIfLower)),
        ("scalingModifiers", None),
    ];
    let behavior = match object.get("behavior") {
        None => Some(FallbackBehavior::Static),
        Some(found) => {
            let behavior = found.one_of(&behaviors, report)?;
            if behavior.is_none() {
                report.remark(&found.spot(), name, Cause::ScalingModifiers);
            }
            behavior
        }
    };
    object.done(name, report);
    Some(Fallback { failure_threshold: failure_threshold?, replicas: replicas?, behavior: behavior? })
}

/// The triggers that are read, and whether others were left out; none if one cannot be read.
fn triggers(
    spec: &Object<'_>,
    name: Option<&str>,
    report: &mut Report,
) -> (Option<Vec<(Trigger, TriggerSource)>>, bool) {
    let Some(list) = spec.needed("triggers", "a list", report) else { return (None, false) };
    let (mut read, mut whole, mut left_out) = (Vec::new(), true, false);
    for entry in list.list(report) {
        match trigger(&entry, name, report) {
            Some(Some((trigger, text))) => read.push((trigger, TriggerSource { spot: entry.spot(), text })),
            Some(None) => left_out = true,
            None => whole = false,
        }
    }
    (whole.then_some(read), left_out)
}

/// A trigger; the inner none if it was left out.
fn trigger(
    entry: &Field<'_>,
    name: Option<&str>,
    report: &mut Report,
) -> Option<Option<(Trigger, TriggerText)>> {
    let object = entry.object(report)?;
    let kind = object.text("type", report)?;
    let metric_type = match object.get("metricType") {
        None => None,
        Some(found) => Some((found.clone(), found.one_of(&METRIC_TYPES, report)?)),
    };
    if !["cpu", "memory", "cron", "prometheus"].contains(&kind) {
        report.remark(&entry.spot(), name, Cause::OtherTrigger(kind.to_owned()));
        return Some(None);
    }
    object.without_effect(&["name", "authenticationRef"]);
    let metadata = object.object("metadata", report)?;
    let trigger = match kind {
        "cron" => cron(&metadata, metric_type, report),
        "prometheus" => prometheus(&metadata, metric_type, report),
        _ => resource(kind, &metadata, metric_type, report),
    };
    metadata.done(name, report);
    object.done(name, report);
    trigger.map(Some)
}

/// `metricType` and its place.
type FoundType<'a> = Option<(Field<'a>, MetricType)>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MetricType {
    AverageValue,
    Value,
    Utilization,
}

const METRIC_TYPES: [(&str, MetricType); 3] = [
    ("AverageValue", MetricType::AverageValue),
    ("Value", MetricType::Value),
    ("Utilization", MetricType::Utilization),
];

fn resource(
    kind: &str,
    metadata: &Object<'_>,
    metric_type: FoundType<'_>,
    report: &mut Report,
) -> Option<(Trigger, TriggerText)> {
    let value = metadata.needed("value", "a text", report);
    let container = metadata.get("containerName").and_then(|found| found.text(report)).map(str::to_owned);
    // Until KEDA 2.17 the type could be in the metadata.
    let metric_type = match (metric_type, metadata.get("type")) {
        (Some(found), _) => Some(found),
        (None, Some(found)) => Some((found.clone(), found.one_of(&METRIC_TYPES, report)?)),
        (None, None) => None,
    };
    let value = value?;
    let target = match metric_type {
        Some((_, MetricType::Utilization)) => {
            ResourceTarget::Utilization(quoted(&value, PERCENTAGE, report, |percent| *percent > 0)?)
        }
        Some((_, MetricType::AverageValue)) => ResourceTarget::AverageValue(quantity::read(&value, report)?),
        Some((field, MetricType::Value)) => {
            field.refuse("`Utilization` or `AverageValue`", report);
            return None;
        }
        None => {
            let (spot, expected) = (metadata.spot(), "`Utilization` or `AverageValue`".to_owned());
            report.errors.push(KubernetesError::Absent { spot, field: "metricType", expected });
            return None;
        }
    };
    Some((Trigger::Resource { resource: kind.to_owned(), container, target }, TriggerText::Resource))
}

/// Whether the type of an external metric is `Value`.
fn is_total(metric_type: FoundType<'_>, report: &mut Report) -> Option<bool> {
    match metric_type {
        Some((field, MetricType::Utilization)) => {
            field.refuse("`AverageValue` or `Value`: `Utilization` is for `cpu` and `memory`", report);
            None
        }
        Some((_, found)) => Some(found == MetricType::Value),
        None => Some(false),
    }
}

fn cron(
    metadata: &Object<'_>,
    metric_type: FoundType<'_>,
    report: &mut Report,
) -> Option<(Trigger, TriggerText)> {
    let is_total = is_total(metric_type, report);
    let (start, end) = (metadata.text("start", report), metadata.text("end", report));
    let timezone = metadata.text("timezone", report);
    let replicas = metadata.needed("desiredReplicas", WHOLE, report);
    let replicas = replicas.and_then(|found| quoted(&found, WHOLE, report, |_| true));
    let (start, end, timezone, replicas) = (start?, end?, timezone?.to_owned(), replicas?);
    match Cron::new(start, end, replicas) {
        Ok(cron) => {
            let text = TriggerText::Cron { start: start.to_owned(), end: end.to_owned(), timezone, replicas };
            Some((Trigger::Cron { cron, is_total: is_total? }, text))
        }
        Err(problem) => {
            report.errors.push(KubernetesError::Cron { spot: metadata.spot(), problem });
            None
        }
    }
}

fn prometheus(
    metadata: &Object<'_>,
    metric_type: FoundType<'_>,
    report: &mut Report,
) -> Option<(Trigger, TriggerText)> {
    let is_total = is_total(metric_type, report);
    let query = metadata.text("query", report);
    let threshold = metadata.needed("threshold", NUMBER, report);
    let threshold = threshold.and_then(|found| {
        quoted(&found, ABOVE_ZERO, report, |number: &f64| number.is_finite() && *number >= 0.001)
    });
    let activation = match metadata.get("activationThreshold") {
        None => Some(0.0),
        Some(found) => quoted(&found, NUMBER, report, |number: &f64| number.is_finite() && *number >= 0.0),
    };
    let ignore = metadata.get("ignoreNullValues").and_then(|found| found.text(report));
    metadata.without_effect(&[
        "serverAddress",
        "metricName",
        "namespace",
        "customHeaders",
        "queryParameters",
        "authModes",
        "unsafeSsl",
        "timeout",
        "awsRegion",
        "identityOwner",
    ]);
    let threshold: f64 = threshold?;
    let target = Quantity::parse(&format!("{threshold:.3}")).map_or(Milli(i64::MAX), Quantity::milli);
    let target = if is_total? { TotalTarget::Value(target) } else { TotalTarget::AverageValue(target) };
    let ignore_null_values = ignore.is_none_or(is_true);
    let trigger = Trigger::Prometheus { target, activation: activation?, ignore_null_values };
    Some((trigger, TriggerText::Query(query?.to_owned())))
}

/// A number in a text, as KEDA has it; an error if it is not one or not allowed.
fn quoted<T: FromStr>(
    field: &Field<'_>,
    expected: &str,
    report: &mut Report,
    is_allowed: impl Fn(&T) -> bool,
) -> Option<T> {
    let number = field.quoted(expected, report)?.parse().ok().filter(is_allowed);
    if number.is_none() {
        field.refuse(expected, report);
    }
    number
}

const WHOLE: &str = "a whole number in quotation marks, such as \"3\"";
const PERCENTAGE: &str = "a percentage in quotation marks, such as \"60\"";
const NUMBER: &str = "a number in quotation marks, such as \"100\"";
const ABOVE_ZERO: &str = "a number above 0 in quotation marks, such as \"100\"";
