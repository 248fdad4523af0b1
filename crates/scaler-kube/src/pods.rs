//! The pods of a resource, and their processor use as metrics.k8s.io has it.
//!
//! ## What is read how often
//! Metrics come every 15 s or more rarely, so pods and metrics are read every few seconds, and only where a policy needs
//! them. Metrics that stop are an error, so that the scaler's size becomes stale and nothing is removed.
//!
//! ## The hint before a scale-in
//! A ReplicaSet removes the pods with the lowest `pod-deletion-cost` first. The idlest get one below the others; what was
//! marked before is taken back.

use crate::api::{Api, ApiError};
use crate::rights::{self, Right};
use control::scaling::hpa::Quantity;
use scaler::{Instance, Phase, Usage};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// The pods as they were read last.
#[derive(Debug, Default)]
pub(crate) struct Pods {
    known: BTreeMap<String, Pod>,
    next: u64,
    read: Option<Instant>,
    /// The newest time of all metrics, and since when it is the newest.
    newest: Option<(String, Instant)>,
    marked: BTreeSet<String>,
}

#[derive(Debug)]
struct Pod {
    number: u64,
    phase: Phase,
    /// None: before the first reading.
    started: Option<Instant>,
    ready: Option<Instant>,
    /// Cores.
    used: Option<f64>,
    /// Bytes.
    memory: Option<u64>,
    /// Cores.
    requested: Option<f64>,
}

/// Why the pods are not known.
#[derive(Debug)]
pub(crate) enum PodsError {
    /// The server refuses, or does not respond.
    Api(ApiError, Box<Right>),
    /// Something else, in words.
    Other(String),
}

impl Pods {
    /// Reads the pods and their metrics, if the last reading is a few seconds old.
    pub(crate) fn read(
        &mut self,
        api: &Api,
        namespace: &str,
        selector: &str,
        now: Instant,
    ) -> Result<(), PodsError> {
        if self.read.is_some_and(|read| now.duration_since(read) < EACH) {
            return Ok(());
        }
        let query = format!("namespaces/{namespace}/pods?labelSelector={}", encoded(selector));
        let list = |base: &str, right: Right| {
            api.get(&format!("{base}/{query}")).map_err(|error| PodsError::Api(error, Box::new(right)))
        };
        let pods = list("/api/v1", rights::pods("list"))?;
        let metrics = list("/apis/metrics.k8s.io/v1beta1", rights::metrics())?;
        let items = |list: &Value| list["items"].as_array().cloned().unwrap_or_default();
        let (pods, metrics) = (items(&pods), items(&metrics));
        self.check_age(&metrics, now)?;
        let used: BTreeMap<&str, (f64, Option<f64>)> = metrics
            .iter()
            .filter_map(|one| {
                let name = one["metadata"]["name"].as_str()?;
                Some((name, (sum(one, "usage", "cpu")?, sum(one, "usage", "memory"))))
            })
            .collect();
        let first = self.read.is_none();
        let mut before = std::mem::take(&mut self.known);
        for pod in &pods {
            let Some(name) = pod["metadata"]["name"].as_str() else { continue };
            let Some(phase) = phase_of(pod) else { continue };
            let old = before.remove(name);
            let number = old.as_ref().map_or(self.next, |old| old.number);
            self.next = self.next.max(number + 1);
            let since = (!first).then_some(now);
            let was_ready = old.as_ref().is_some_and(|old| old.phase == Phase::Ready);
            let found = Pod {
                number,
                phase,
                started: old.as_ref().map_or(since, |old| old.started),
                ready: if was_ready { old.as_ref().and_then(|old| old.ready) } else { since },
                used: used.get(name).map(|(cores, _)| *cores),
                memory: used.get(name).and_then(|(_, memory)| *memory).map(|bytes| bytes as u64),
                requested: sum(&pod["spec"], "resources", "cpu").filter(|cores| *cores > 0.0),
            };
            self.known.insert(name.to_owned(), found);
        }
        // Metrics that are missing for all of them are no use of nothing.
        let mut ready = self.known.values().filter(|pod| pod.phase == Phase::Ready).peekable();
        if ready.peek().is_some() && ready.all(|pod| pod.used.is_none()) {
            return Err(PodsError::Other(
                "metrics.k8s.io has no metrics of the ready pods; look at metrics-server".to_owned(),
            ));
        }
        self.read = Some(now);
        Ok(())
    }

    /// Metrics that do not change any more are none.
    fn check_age(&mut self, metrics: &[Value], now: Instant) -> Result<(), PodsError> {
        let Some(newest) = metrics.iter().filter_map(|one| one["timestamp"].as_str()).max() else {
            return Ok(());
        };
        match &self.newest {
            Some((known, since)) if known == newest => {
                let age = now.duration_since(*since);
                match age > OLDEST {
                    true => Err(PodsError::Other(format!(
                        "metrics.k8s.io has had no newer metrics of the pods for {} s; look at metrics-server",
                        age.as_secs()
                    ))),
                    false => Ok(()),
                }
            }
            _ => {
                self.newest = Some((newest.to_owned(), now));
                Ok(())
            }
        }
    }

    /// The pods as instances.
    pub(crate) fn instances(&self) -> Vec<Instance> {
        let instance = |pod: &Pod| Instance {
            id: pod.number,
            process: None,
            port: None,
            phase: pod.phase,
            started: pod.started,
            ready: if pod.phase == Phase::Ready { pod.ready } else { None },
            usage: Some(Usage { used: pod.used, allotted: pod.requested, memory: pod.memory }),
        };
        self.known.values().map(instance).collect()
    }

    /// Marks the idlest, so that so many of them are removed first; only as many as there is time for.
    pub(crate) fn mark_idlest(&mut self, api: &Api, namespace: &str, count: usize) -> Result<(), PodsError> {
        let mut ready: Vec<(&String, f64)> = self
            .known
            .iter()
            .filter(|(_, pod)| pod.phase == Phase::Ready)
            .map(|(name, pod)| (name, pod.used.unwrap_or(0.0)))
            .collect();
        ready.sort_by(|one, other| one.1.total_cmp(&other.1));
        let idlest: BTreeSet<String> = ready.into_iter().take(count).map(|(name, _)| name.clone()).collect();
        self.marked.retain(|name| self.known.contains_key(name));
        let back: Vec<String> = self.marked.difference(&idlest).cloned().collect();
        let new: Vec<String> = idlest.difference(&self.marked).cloned().collect();
        let until = Instant::now() + MARKING;
        for (name, is_marked) in
            back.into_iter().map(|name| (name, false)).chain(new.into_iter().map(|name| (name, true)))
        {
            if Instant::now() > until {
                break;
            }
            let path = format!("/api/v1/namespaces/{namespace}/pods/{name}");
            let cost = if is_marked { json!("-1") } else { Value::Null };
            let change = json!({ "metadata": { "annotations": { COST: cost } } });
            match api.call("PATCH", &path, Some(&change)) {
                // It is gone already.
                Err(error) if error.code() == Some(404) => {}
                Err(error) => return Err(PodsError::Api(error, Box::new(rights::pods("patch")))),
                Ok(_) => {}
            }
            if is_marked {
                self.marked.insert(name)
            } else {
                self.marked.remove(&name)
            };
        }
        Ok(())
    }
}

/// None for a pod that has ended.
fn phase_of(pod: &Value) -> Option<Phase> {
    if matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed")) {
        return None;
    }
    if pod["metadata"]["deletionTimestamp"].is_string() {
        return Some(Phase::Ending);
    }
    let conditions = pod["status"]["conditions"].as_array();
    let is_ready =
        conditions.into_iter().flatten().any(|one| one["type"] == "Ready" && one["status"] == "True");
    Some(if is_ready { Phase::Ready } else { Phase::Starting })
}

/// The sum of `usage` or `resources.requests` of a resource over the containers that run beside each other; none where one of
/// them has none.
fn sum(of: &Value, key: &str, resource: &str) -> Option<f64> {
    let sidecars =
        of["initContainers"].as_array().into_iter().flatten().filter(|one| one["restartPolicy"] == "Always");
    let containers = of["containers"].as_array()?.iter().chain(sidecars);
    let found = |one: &Value| {
        let found = if key == "usage" { &one[key][resource] } else { &one[key]["requests"][resource] };
        Quantity::parse(found.as_str()?).map(Quantity::approximate)
    };
    containers.map(found).sum()
}

/// A query's value, with what is not a letter, a digit or one of `-._~` percent-encoded.
fn encoded(text: &str) -> String {
    let one = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(one).collect()
}

/// The annotation that orders the removal of pods: `PodDeletionCost` of the API of Kubernetes.
const COST: &str = "controller.kubernetes.io/pod-deletion-cost";

/// How long pods are marked: the lead has to be kept meanwhile.
const MARKING: Duration = Duration::from_secs(1);

/// How often pods and metrics are read.
const EACH: Duration = Duration::from_secs(5);

/// Metrics that are older are none: metrics-server has new ones every 15 s, or every minute where it is set so.
const OLDEST: Duration = Duration::from_secs(150);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn use_is_the_sum_of_the_containers() {
        let metrics =
            json!({ "containers": [{ "usage": { "cpu": "123456789n" } }, { "usage": { "cpu": "50m" } }] });
        assert!((sum(&metrics, "usage", "cpu").unwrap() - 0.173_456_789).abs() < 1e-9);
        let memory =
            json!({ "containers": [{ "usage": { "memory": "5Mi" } }, { "usage": { "memory": "1M" } }] });
        assert_eq!(sum(&memory, "usage", "memory"), Some(6_242_880.0));
        let requests =
            json!({ "containers": [{ "resources": { "requests": { "cpu": "1" } } }, { "resources": {} }] });
        assert_eq!(sum(&requests, "resources", "cpu"), None, "a request that is not known is no sum");
        let asks = |cpu: &str| json!({ "requests": { "cpu": cpu } });
        let sidecar = json!({
            "containers": [{ "resources": asks("1") }],
            "initContainers": [{ "resources": asks("4") }, { "resources": asks("250m"), "restartPolicy": "Always" }],
        });
        assert_eq!(sum(&sidecar, "resources", "cpu"), Some(1.25));
    }

    #[test]
    fn a_pod_has_a_phase_until_it_has_ended() {
        let ready = json!([{ "type": "Ready", "status": "True" }]);
        for (pod, expected) in [
            (json!({ "status": { "phase": "Pending" } }), Some(Phase::Starting)),
            (json!({ "status": { "phase": "Running", "conditions": ready } }), Some(Phase::Ready)),
            (
                json!({ "metadata": { "deletionTimestamp": "2026-01-01T00:00:00Z" }, "status": { "conditions": ready } }),
                Some(Phase::Ending),
            ),
            (json!({ "status": { "phase": "Failed", "conditions": ready } }), None),
        ] {
            assert_eq!(phase_of(&pod), expected, "{pod}");
        }
    }

    #[test]
    fn metrics_that_stop_are_none() {
        let mut pods = Pods::default();
        let metrics = [json!({ "timestamp": "2026-01-01T00:00:00Z" })];
        let begun = Instant::now();
        pods.check_age(&metrics, begun).unwrap();
        pods.check_age(&metrics, begun + OLDEST).unwrap();
        let error = pods.check_age(&metrics, begun + OLDEST + Duration::from_secs(1)).unwrap_err();
        assert!(matches!(error, PodsError::Other(text) if text.contains("metrics-server")));
        pods.check_age(&[json!({ "timestamp": "2026-01-01T00:03:00Z" })], begun + OLDEST + EACH).unwrap();
    }

    #[test]
    fn a_selector_is_encoded() {
        assert_eq!(encoded("app=web,tier in (a,b)"), "app%3Dweb%2Ctier%20in%20%28a%2Cb%29");
    }
}
