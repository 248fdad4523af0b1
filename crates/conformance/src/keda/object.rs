//! ScaledObjects: their bounds, their polls, and their metrics while a trigger fails.

use super::super::CaseResult;
use super::super::reading::{At, Problem};
use super::only;
use control::scaling::hpa::{Milli, Pod, TotalTarget};
use control::scaling::keda::{
    Fallback, FallbackBehavior, Keda, KedaSettings, Observation, Pause, Reading, Trigger, cpu_utilization,
};
use std::time::Duration;
use units::{InstanceCount, Timestamp};

/// Whether KEDA accepts minimum, maximum, idle count and fallback.
pub(super) fn bounds(at: &At) -> Result<CaseResult, Problem> {
    only(at, &["name", "min", "max", "idle", "fallback", "triggers", "valid", "note"])?;
    let settings = settings(at, 1)?;
    let words = |valid: bool| if valid { "accepted" } else { "refused" }.to_owned();
    let expected = words(at.field("valid")?.truth()?);
    let found = words(settings.problems().is_empty());
    Ok(CaseResult { name: at.field("name")?.text()?.to_owned(), expected, found })
}

/// The replicas after a poll, and whether the time of the last activity was set.
pub(super) fn poll(at: &At) -> Result<CaseResult, Problem> {
    only(
        at,
        &[
            "name",
            "min",
            "max",
            "idle",
            "fallback",
            "annotations",
            "current",
            "active",
            "error",
            "last_active_s_ago",
            "cooldown_s",
            "initial_cooldown_s",
            "want",
            "want_last_active",
            "note",
        ],
    )?;
    let settings = settings(at, 2)?;
    let mut keda = Keda::new(Timestamp::ZERO, settings).map_err(|problem| at.problem(problem))?;
    if let Some(ago) = at.maybe("last_active_s_ago") {
        keda = keda.with_last_active(NOW - Duration::from_secs(ago.count()?.into()));
    }
    let before = keda.last_active();
    let is = |name: &str| at.maybe(name).map_or(Ok(false), |at| at.truth());
    let readings = [
        Reading::Value(if is("active")? { 1.0 } else { 0.0 }),
        if is("error")? { Reading::Failed } else { Reading::Value(0.0) },
    ];
    let poll = keda.poll(NOW, &observation(at, &[], &readings)?);
    let words = |replicas: u32, active: bool| {
        format!("{replicas} replicas, {}", if active { "activity recorded" } else { "no activity recorded" })
    };
    let active = keda.last_active().is_some() && keda.last_active() != before;
    let expected = words(at.field("want")?.count()?, at.field("want_last_active")?.truth()?);
    Ok(CaseResult {
        name: at.field("name")?.text()?.to_owned(),
        expected,
        found: words(poll.to.get(), active),
    })
}

/// The value of a metric, or its error, and the failures after it was read.
pub(super) fn metric(at: &At) -> Result<CaseResult, Problem> {
    only(
        at,
        &[
            "name",
            "fallback",
            "target",
            "metric_type",
            "value",
            "failures",
            "current",
            "ready",
            "want",
            "want_failures",
            "note",
        ],
    )?;
    let target = Milli((at.field("target")?.number()? * 1_000.0) as i64);
    let target = match at.maybe("metric_type").map(|at| at.text()).transpose()? {
        None | Some("AverageValue") => TotalTarget::AverageValue(target),
        Some("Value") => TotalTarget::Value(target),
        Some(_) => return Err(at.problem("expected the metric type AverageValue or Value")),
    };
    let mut settings = settings(at, 0)?;
    settings.triggers = vec![Trigger::Prometheus { target, activation: 0.0, ignore_null_values: true }];
    let mut keda = Keda::new(Timestamp::ZERO, settings).map_err(|problem| at.problem(problem))?;
    if let Some(failures) = at.maybe("failures") {
        keda = keda.with_failures(0, failures.count()?);
    }
    let reading = match at.maybe("value") {
        Some(value) => Reading::Value(value.number()?),
        None => Reading::Failed,
    };
    let ready = at.maybe("ready").map_or(Ok(0), |at| at.count())?;
    let pods = vec![Pod::running_since(Timestamp::ZERO); ready as usize];
    let found = keda.metric(NOW, 0, &observation(at, &pods, &[reading])?);
    let words = |value: Option<f64>, failures: u32| {
        format!("{}, failures {failures}", value.map_or("an error".to_owned(), |value| value.to_string()))
    };
    let want = at.maybe("want").map(|at| at.number()).transpose()?;
    Ok(CaseResult {
        name: at.field("name")?.text()?.to_owned(),
        expected: words(want, at.field("want_failures")?.count()?),
        found: words(found.map(Milli::fraction), keda.failures(0)),
    })
}

fn observation<'a>(
    at: &At,
    pods: &'a [Pod],
    readings: &'a [Reading<'a>],
) -> Result<Observation<'a>, Problem> {
    let current = at.maybe("current").map_or(Ok(0), |at| at.count())?;
    let current = InstanceCount::new(current);
    Ok(Observation { spec_replicas: current, status_replicas: current, pods, readings })
}

/// The settings of a case, with this many triggers unless it names them.
fn settings(at: &At, triggers: usize) -> Result<KedaSettings, Problem> {
    let target = TotalTarget::AverageValue(Milli(1_000));
    let external = Trigger::Prometheus { target, activation: 0.0, ignore_null_values: true };
    let mut settings = KedaSettings::new(vec![external.clone(); triggers]);
    if let Some(kinds) = at.maybe("triggers") {
        settings.triggers.clear();
        for kind in kinds.list()? {
            settings.triggers.push(match kind.text()? {
                "cpu" | "memory" => cpu_utilization(50),
                _ => external.clone(),
            });
        }
    }
    let count = |name: &str| at.maybe(name).map(|at| at.count().map(InstanceCount::new)).transpose();
    let span = |name: &str, usual: Duration| match at.maybe(name) {
        Some(at) => at.count().map(|seconds| Duration::from_secs(seconds.into())),
        None => Ok(usual),
    };
    settings.min = count("min")?;
    settings.max = count("max")?.unwrap_or(settings.max);
    settings.idle = count("idle")?;
    settings.cooldown_period = span("cooldown_s", settings.cooldown_period)?;
    settings.initial_cooldown_period = span("initial_cooldown_s", settings.initial_cooldown_period)?;
    if let Some(found) = at.maybe("fallback") {
        only(&found, &["failure_threshold", "replicas", "behavior"])?;
        settings.fallback = Some(Fallback {
            failure_threshold: found.field("failure_threshold")?.count()?,
            replicas: found.field("replicas")?.count()?,
            behavior: behavior(&found)?,
        });
    }
    for annotation in at.list_of("annotations")? {
        match annotation.text()? {
            "force-activation" => settings.force_activation = true,
            "paused" => settings.pause = Pause::All,
            "paused-scale-in" => {
                settings.pause = Pause::Directions { scale_in: true, scale_out: false };
            }
            "paused-scale-out" => {
                settings.pause = Pause::Directions { scale_in: false, scale_out: true };
            }
            _ => return Err(annotation.problem("this is no annotation that is known")),
        }
    }
    Ok(settings)
}

fn behavior(fallback: &At) -> Result<FallbackBehavior, Problem> {
    let Some(found) = fallback.maybe("behavior") else { return Ok(FallbackBehavior::Static) };
    match found.text()? {
        "static" => Ok(FallbackBehavior::Static),
        "currentReplicas" => Ok(FallbackBehavior::CurrentReplicas),
        "currentReplicasIfHigher" => Ok(FallbackBehavior::CurrentReplicasIfHigher),
        "currentReplicasIfLower" => Ok(FallbackBehavior::CurrentReplicasIfLower),
        _ => Err(found.problem("this is no behavior that is known")),
    }
}

/// When a case happens: long after the object was created.
const NOW: Timestamp = Timestamp::from_secs(1_000_000);
