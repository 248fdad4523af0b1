//! The tests of the replica calculator: pods and a metric, and the resulting number of replicas.
//!
//! The upstream harness gives each pod two containers that request and use the same, metrics without a time and with
//! a window of a minute, and pods that started long ago and are ready unless a case says otherwise.

use super::super::CaseResult;
use super::super::reading::{At, Problem, all};
use super::NOW;
use control::scaling::hpa::{
    Behavior, Calculator, HpaSettings, Metric, Milli, Observation, Phase, Pod, PodReading, Proposal,
    Quantity, Readiness, Reading, ResourceTarget, Sample, Source, TotalTarget, Usage,
};
use serde_json::Value;
use std::time::Duration;
use units::{InstanceCount, Timestamp};

/// Whether these are cases of the replica calculator.
pub fn fits(file: &Value) -> bool {
    file["cases"].as_array().is_some_and(|cases| {
        cases.iter().any(|case| case.get("kind").is_some() && case.get("current").is_some())
    })
}

/// Runs all cases.
pub fn run(file: &Value) -> Result<Vec<CaseResult>, Vec<Problem>> {
    let root = At::root(file);
    let cases = root.field("cases").and_then(|cases| cases.list()).map_err(|problem| vec![problem])?;
    let harness = Harness::read(&root).map_err(|problem| vec![problem])?;
    all(cases.iter().map(|case| harness.run(case).map(|result| vec![result])))
}

/// The common part of all cases of a file.
struct Harness {
    containers: i64,
    tolerance: f64,
    cpu_initialization_period: Duration,
    initial_readiness_delay: Duration,
}

impl Harness {
    fn read(root: &At) -> Result<Self, Problem> {
        let given = root.maybe("harness");
        let number = |field: &str, usual: f64| {
            given.as_ref().and_then(|given| given.maybe(field)).map_or(Ok(usual), |found| found.number())
        };
        let seconds = |field: &str, usual: f64| {
            let span = Duration::try_from_secs_f64(number(field, usual)?);
            span.map_err(|_| root.problem(format!("`{field}` is a number of seconds from 0 on")))
        };
        Ok(Harness {
            containers: number("containers_per_pod", 2.0)? as i64,
            tolerance: number("tolerance", 0.1)?,
            cpu_initialization_period: seconds("cpu_initialization_period_s", 120.0)?,
            initial_readiness_delay: seconds("initial_readiness_delay_s", 10.0)?,
        })
    }

    fn run(&self, case: &At) -> Result<CaseResult, Problem> {
        let current = InstanceCount::new(case.field("current")?.count()?);
        let metric = metric(case)?;
        let settings = self.settings(case, &metric)?;
        let pods = pods(case, current)?;
        let given = self.readings(case, pods.len())?;
        let reading = match metric.source {
            Source::Object { .. } | Source::External { .. } => Reading::Values(&given.values),
            _ => Reading::Pods { pods: &given.pods, others: &given.others },
        };
        let seen =
            Observation { spec_replicas: current, status_replicas: current, pods: &pods, readings: &[] };
        let proposal = Calculator::new(&settings).propose(NOW, &metric, &seen, &reading);
        let name = case.field("name")?.text()?.to_owned();
        if let Some(error) = case.maybe("expected_error") {
            let expected = error.text()?.to_owned();
            let found = match proposal {
                Ok(proposal) => shown(case, &proposal),
                // Upstream also checks only whether the error contains the expected text.
                Err(error) => {
                    let words = error.words(&metric).to_string();
                    if words.contains(&expected) { expected.clone() } else { words }
                }
            };
            return Ok(CaseResult { name, expected, found });
        }
        let found = match proposal {
            Ok(proposal) => shown(case, &proposal),
            Err(error) => error.words(&metric).to_string(),
        };
        Ok(CaseResult { name, expected: expected(case)?, found })
    }

    fn settings(&self, case: &At, metric: &Metric) -> Result<HpaSettings, Problem> {
        let count = InstanceCount::new;
        let mut settings = HpaSettings::new(count(1), count(u32::MAX), vec![metric.clone()]);
        settings.controller.tolerance =
            case.maybe("tolerance").map_or(Ok(self.tolerance), |found| found.number())?;
        if let Some(own) = case.maybe("tolerances") {
            let mut behavior = Behavior::default();
            behavior.down.tolerance = own.maybe("down").map(|found| quantity(&found)).transpose()?;
            behavior.up.tolerance = own.maybe("up").map(|found| quantity(&found)).transpose()?;
            settings.behavior = Some(behavior);
        }
        settings.controller.cpu_initialization_period = self.cpu_initialization_period;
        settings.controller.initial_readiness_delay = self.initial_readiness_delay;
        Ok(settings)
    }

    /// The metrics in the form that the metric of the case requires.
    fn readings(&self, case: &At, pods: usize) -> Result<Given, Problem> {
        if let Some(values) = case.maybe("metric_values_milli") {
            let values: Vec<Milli> = values.list()?.iter().map(milli).collect::<Result<_, _>>()?;
            let readings = PodReadings::of(pods, &[], &values, &[]);
            return Ok(Given { pods: readings.pods, others: readings.others, values });
        }
        let whole_pod = |value: &At| milli(value).map(|Milli(one)| Milli(one.wrapping_mul(self.containers)));
        let several = |field: &str| -> Result<Vec<Milli>, Problem> {
            case.field(field)?.list()?.iter().map(whole_pod).collect()
        };
        let (requests, usage) = (several("container_requests_milli")?, several("container_usage_milli")?);
        let names = case.list_of("metric_pod_names")?;
        let names: Vec<&str> = names.iter().map(At::text).collect::<Result<_, _>>()?;
        let PodReadings { pods, others } = PodReadings::of(pods, &requests, &usage, &names);
        Ok(Given { pods, others, values: Vec::new() })
    }
}

struct Given {
    pods: Vec<PodReading>,
    others: Vec<Sample>,
    values: Vec<Milli>,
}

struct PodReadings {
    pods: Vec<PodReading>,
    others: Vec<Sample>,
}

impl PodReadings {
    /// The values of the first pods; further values, and those with other names, are of pods that are gone.
    fn of(pods: usize, requests: &[Milli], values: &[Milli], names: &[&str]) -> Self {
        let pod = |index: usize| PodReading { sample: None, request: requests.get(index).copied() };
        let mut readings = PodReadings { pods: (0..pods).map(pod).collect(), others: Vec::new() };
        for (index, value) in values.iter().enumerate() {
            let sample = Sample { value: *value, taken: Timestamp::ZERO, window: Duration::from_secs(60) };
            let place = match names.get(index) {
                None => Some(index),
                Some(name) => (0..pods).find(|pod| *name == format!("test-pod-{pod}")),
            };
            match place.and_then(|place| readings.pods.get_mut(place)) {
                Some(pod) => pod.sample = Some(sample),
                None => readings.others.push(sample),
            }
        }
        readings
    }
}

fn metric(case: &At) -> Result<Metric, Problem> {
    let kind = case.field("kind")?;
    let target = || milli(&case.field("target_milli")?);
    let object = |target| Source::Object { kind: "Deployment".to_owned(), target };
    let external = |target| Source::External { selector: None, target };
    let source = match kind.text()? {
        resource if resource.starts_with("resource_") => {
            let name = resource.trim_start_matches("resource_").to_owned();
            let target = match case.maybe("target_utilization_pct") {
                Some(percent) => ResourceTarget::Utilization(percent.count()?),
                None => ResourceTarget::AverageValue(target()?),
            };
            return Ok(Metric { name, source: Source::Resource { target } });
        }
        "pods" => Source::Pods { average: target()? },
        "object" => object(TotalTarget::Value(target()?)),
        "object_per_pod" => object(TotalTarget::AverageValue(target()?)),
        "external" => external(TotalTarget::Value(target()?)),
        "external_per_pod" => external(TotalTarget::AverageValue(target()?)),
        _ => {
            return Err(kind.problem(
                "this is no kind of metric: resource_…, pods, object, object_per_pod, external, external_per_pod",
            ));
        }
    };
    Ok(Metric { name: "qps".to_owned(), source })
}

fn pods(case: &At, current: InstanceCount) -> Result<Vec<Pod>, Problem> {
    let (ready, start) = (case.list_of("ready")?, case.list_of("start")?);
    let (phase, deleting) = (case.list_of("phase")?, case.list_of("deleting")?);
    // Pods that failed are not among the current replicas.
    let count = phase.len().max(current.get() as usize);
    let pod = |index: usize| {
        let started = start.get(index).map_or(Ok(Timestamp::ZERO), started)?;
        let ready = ready.get(index).map_or(Ok(true), |ready| ready.truth())?;
        Ok(Pod {
            phase: phase.get(index).map_or(Ok(Phase::Running), known_phase)?,
            deleting: deleting.get(index).map_or(Ok(false), |deleting| deleting.truth())?,
            started: Some(started),
            ready: Some(Readiness { ready, since: Timestamp::ZERO }),
        })
    };
    (0..count).map(pod).collect()
}

fn started(start: &At) -> Result<Timestamp, Problem> {
    match start.text()? {
        "hot" => Ok(NOW),
        "cool" => Ok(NOW - Duration::from_secs(180)),
        _ => Err(start.problem("this is no start of a pod: hot (now) or cool (3 min ago)")),
    }
}

fn known_phase(phase: &At) -> Result<Phase, Problem> {
    Ok(match phase.text()? {
        "Pending" => Phase::Pending,
        "Running" => Phase::Running,
        "Succeeded" => Phase::Succeeded,
        "Failed" => Phase::Failed,
        _ => return Err(phase.problem("this is no phase of a pod: Pending, Running, Succeeded, Failed")),
    })
}

fn milli(value: &At) -> Result<Milli, Problem> {
    let found = value.value().as_i64();
    found.map(Milli).ok_or_else(|| value.problem("a whole number of thousandths was expected"))
}

/// A tolerance of the autoscaler's own, as a manifest has it: `"0.7"`, `"700m"` or 0.7.
fn quantity(value: &At) -> Result<Quantity, Problem> {
    let text = value.value().as_str().map_or_else(|| value.value().to_string(), str::to_owned);
    Quantity::parse(&text).ok_or_else(|| value.problem("a quantity was expected, such as 0.7 or \"700m\""))
}

/// The expected values; only those that the file contains.
fn expected(case: &At) -> Result<String, Problem> {
    let mut words = vec![format!("{} replicas", case.field("expected")?.whole()?)];
    if let Some(percent) = case.maybe("expected_utilization_pct") {
        words.push(format!("{} %", percent.whole()?));
    }
    for field in USAGES {
        if let Some(usage) = case.maybe(field) {
            words.push(format!("{}m", milli(&usage)?.0));
        }
    }
    Ok(words.join(", "))
}

/// The found values, as far as the file has expectations.
fn shown(case: &At, proposal: &Proposal) -> String {
    let mut words = vec![format!("{} replicas", proposal.replicas)];
    let (percent, usage) = match proposal.usage {
        Usage::Utilization { percent, average } => (Some(percent), average),
        Usage::Average(usage) | Usage::Value(usage) => (None, usage),
    };
    if let (Some(percent), true) = (percent, case.maybe("expected_utilization_pct").is_some()) {
        words.push(format!("{percent} %"));
    }
    for _ in USAGES.iter().filter(|field| case.maybe(field).is_some()) {
        words.push(format!("{}m", usage.0));
    }
    words.join(", ")
}

const USAGES: [&str; 2] = ["expected_raw_avg_milli", "expected_usage_milli"];
