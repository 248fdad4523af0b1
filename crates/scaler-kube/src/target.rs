//! The scale of a resource: read once a second, written when another size is wanted.
//!
//! ## A write
//! It has the resource version of the scale that was read just before. After a conflict the scale is read again: a size
//! that somebody else set meanwhile is told and not overwritten, and the guard respects it. [`scaler::Remote`] says when a size
//! that cannot be set is tried again.
//!
//! ## Instances
//! The scale has numbers only: instances count as ready when the resource counts them as replicas, and as ending when
//! there are more than wanted. Where a policy needs the processor use, they are the pods.

use crate::api::{Api, ApiError};
use crate::lease::{Election, Standing, identity};
use crate::pods::{Pods, PodsError};
use crate::rights::{self, Right};
use scaler::settings::Kubernetes;
use scaler::{Event, Instance, Phase, RemoteTarget, Snapshot, TargetError};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// A resource of Kubernetes.
pub struct KubernetesTarget {
    api: Api,
    settings: Kubernetes,
    namespace: String,
    /// The path of the scale; found by discovery.
    scale: String,
    election: Election,
    applies: bool,
    lost: bool,
    /// The pods; none: no policy needs them.
    pods: Option<Pods>,
    /// Since when an instance is seen, by number; none: before this scaler began.
    since: Vec<Option<Instant>>,
    /// A size whose writing had no answer: it may have been set.
    sent: Option<u32>,
    events: Vec<Event>,
}

impl KubernetesTarget {
    /// A target that was not looked at yet. With `usage` its pods and their processor use are read.
    ///
    /// # Errors
    /// There is no configuration of a client.
    pub fn new(settings: &Kubernetes, usage: bool) -> Result<Self, TargetError> {
        Ok(KubernetesTarget::with_api(settings, Api::of_cluster(settings)?, usage))
    }

    fn with_api(settings: &Kubernetes, api: Api, usage: bool) -> Self {
        let namespace = settings.namespace.clone().unwrap_or_else(|| api.namespace.clone());
        KubernetesTarget {
            election: Election::new(&namespace, &settings.lease, identity()),
            api,
            settings: settings.clone(),
            namespace,
            scale: String::new(),
            applies: false,
            lost: false,
            pods: usage.then(Pods::default),
            since: Vec::new(),
            sent: None,
            events: Vec::new(),
        }
    }

    /// The words for an error.
    fn refused(&self, error: ApiError, right: &Right) -> TargetError {
        let (target, namespace) = (&self.settings, &self.namespace);
        TargetError(match error {
            ApiError::Silent(why) => format!("Kubernetes does not respond: {why}"),
            ApiError::Refused { code: 401, .. } => {
                "Kubernetes does not accept the credentials (401); log in again, or renew the token"
                    .to_owned()
            }
            ApiError::Refused { code: 403, message } => format!(
                "Kubernetes forbids it (403: {message}); missing: {}; `headroom scale --print-permissions` has all",
                right.words(namespace)
            ),
            ApiError::Refused { code: 404, .. } if right.subresource == "scale" => format!(
                "there is no `{target}` in namespace {namespace} (404); look with `kubectl get {} -n {namespace}`",
                target.full_resource()
            ),
            ApiError::Refused { code, message } => {
                format!("Kubernetes refuses {}: {code} {message}", right.words(namespace))
            }
        })
    }

    /// Finds the version and the kind of the resource.
    fn discover(&mut self) -> Result<String, TargetError> {
        let target = self.settings.clone();
        let discovery = |error| match error {
            error @ (ApiError::Silent(_) | ApiError::Refused { code: 401, .. }) => {
                self.refused(error, &rights::scale(&target, "get"))
            }
            ApiError::Refused { code: 404, .. } => TargetError(format!(
                "Kubernetes has no API group `{}`, which `live.kubernetes.resource` names",
                target.group
            )),
            ApiError::Refused { code, message } => {
                TargetError(format!("Kubernetes does not tell its resources: {code} {message}"))
            }
        };
        let bases = match target.group.as_str() {
            "" => vec!["/api/v1".to_owned()],
            group => {
                let found = self.api.get(&format!("/apis/{group}")).map_err(discovery)?;
                let mut versions: Vec<String> = Vec::new();
                let preferred = std::iter::once(&found["preferredVersion"]);
                for version in preferred.chain(found["versions"].as_array().into_iter().flatten()) {
                    if let Some(version) = version["groupVersion"].as_str() {
                        versions.push(format!("/apis/{version}"));
                    }
                }
                versions
            }
        };
        let mut exists = false;
        for base in bases {
            let found = self.api.get(&base).map_err(discovery)?;
            let all = found["resources"].as_array();
            let of =
                |name: &str| all.and_then(|all| all.iter().find(|one| one["name"].as_str() == Some(name)));
            let Some(resource) = of(&target.resource) else { continue };
            exists = true;
            if of(&format!("{}/scale", target.resource)).is_none() {
                continue;
            }
            let (namespace, resources, name) = (&self.namespace, &target.resource, &target.name);
            let scale = format!("{base}/namespaces/{namespace}/{resources}/{name}/scale");
            let kind = resource["kind"].as_str().unwrap_or_default().to_owned();
            self.scale = scale;
            return Ok(kind);
        }
        Err(TargetError(if exists {
            format!("`{}` has no scale subresource, so it has no size to set", target.full_resource())
        } else {
            format!(
                "Kubernetes has no resource `{}`; write the plural name with its group, such as `deployments.apps/{}`",
                target.full_resource(),
                target.name
            )
        }))
    }

    /// The names of the autoscalers that set the same scale.
    fn autoscalers(&self, kind: &str) -> Result<Vec<String>, TargetError> {
        let path = format!("/apis/autoscaling/v2/namespaces/{}/horizontalpodautoscalers", self.namespace);
        let found = self.api.get(&path).map_err(|error| self.refused(error, &rights::autoscalers()))?;
        let all = found["items"].as_array().into_iter().flatten();
        let same = all.filter(|one| {
            let target = &one["spec"]["scaleTargetRef"];
            let group = target["apiVersion"].as_str().and_then(|version| version.split_once('/'));
            target["kind"].as_str() == Some(kind)
                && target["name"].as_str() == Some(&*self.settings.name)
                && group.map_or("", |(group, _)| group) == self.settings.group
        });
        Ok(same.filter_map(|one| Some(one["metadata"]["name"].as_str()?.to_owned())).collect())
    }

    /// The rights that are missing; none where that cannot be asked.
    fn missing(&self, apply: bool) -> Vec<Right> {
        let lacks = |right: &Right| {
            let attributes = json!({
                "namespace": self.namespace, "verb": right.verb, "group": right.group,
                "resource": right.resource, "subresource": right.subresource,
                "name": right.name.clone().unwrap_or_default(),
            });
            let review = json!({
                "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
                "spec": { "resourceAttributes": attributes },
            });
            let path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
            let found = self.api.call("POST", path, Some(&review));
            found.is_ok_and(|found| found["status"]["allowed"].as_bool() == Some(false))
        };
        rights::of(&self.settings, apply, self.pods.is_some()).into_iter().filter(lacks).collect()
    }

    fn read(&self) -> Result<Value, TargetError> {
        self.api.get(&self.scale).map_err(|error| self.refused(error, &rights::scale(&self.settings, "get")))
    }

    /// Reads the pods that a scale selects, where they are needed.
    fn read_pods(&mut self, scale: &Value, now: Instant) -> Result<(), TargetError> {
        let Some(mut pods) = self.pods.take() else { return Ok(()) };
        let found = match scale["status"]["selector"].as_str() {
            Some(selector) if !selector.is_empty() => pods.read(&self.api, &self.namespace, selector, now),
            _ => Err(PodsError::Other(format!(
                "the scale of `{}` has no selector of pods, which a policy on `cpu` needs; add `labelSelectorPath` to its definition",
                self.settings
            ))),
        };
        self.pods = Some(pods);
        found.map_err(|error| self.of_pods(error))
    }

    fn of_pods(&self, error: PodsError) -> TargetError {
        match error {
            PodsError::Api(ApiError::Refused { code: 404 | 503, .. }, right)
                if right.group == "metrics.k8s.io" =>
            {
                TargetError(
                    "Kubernetes has no metrics.k8s.io, which a policy on `cpu` needs; install metrics-server"
                        .to_owned(),
                )
            }
            PodsError::Api(error, right) => self.refused(error, &right),
            PodsError::Other(text) => TargetError(text),
        }
    }

    /// A hint which pods are to end first. A scale-in does not wait for it.
    fn mark_idlest(&mut self, fewer: u32) {
        let Some(mut pods) = self.pods.take() else { return };
        let marked = pods.mark_idlest(&self.api, &self.namespace, fewer as usize);
        self.pods = Some(pods);
        if let Err(error) = marked {
            let TargetError(text) = self.of_pods(error);
            self.events.push(Event(format!("the idlest pods are not marked: {text}")));
        }
    }

    /// Reads the scale, and sets it where it is still what was told last.
    fn set(&mut self, size: u32, last: Option<&Snapshot>) -> Result<Snapshot, TargetError> {
        let told = last.map(|snapshot| snapshot.size);
        let right = rights::scale(&self.settings, "update");
        for _ in 0..CONFLICTS {
            let mut scale = self.read()?;
            let found = size_of(&scale);
            let by_others = told.is_some_and(|told| told != found) && self.sent != Some(found);
            if found == size || by_others {
                return Ok(self.after_setting(&scale, last));
            }
            if size < found {
                self.mark_idlest(found - size);
            }
            // A request takes up to three seconds, so that the lead is still this one's when it arrives.
            if !self.election.leads(Instant::now()) {
                return Err(TargetError(format!(
                    "the Lease `{}` was not renewed in time",
                    self.settings.lease
                )));
            }
            scale["spec"]["replicas"] = json!(size);
            self.sent = Some(size);
            match self.api.call("PUT", &self.scale, Some(&scale)) {
                Ok(written) => return Ok(self.after_setting(&written, last)),
                Err(error) if error.code() == Some(409) => self.sent = None,
                Err(error) => {
                    if error.code().is_some() {
                        self.sent = None;
                    }
                    return Err(self.refused(error, &right));
                }
            }
        }
        Err(TargetError(format!(
            "`{}` was changed at each of {CONFLICTS} attempts to set its size",
            self.settings
        )))
    }

    /// The state with the size that was set. Pods that cannot be read do not undo it.
    fn after_setting(&mut self, scale: &Value, last: Option<&Snapshot>) -> Snapshot {
        self.sent = None;
        let stale = self.read_pods(scale, Instant::now()).is_err();
        Snapshot { stale, ..self.snapshot(scale, last) }
    }

    fn snapshot(&mut self, scale: &Value, last: Option<&Snapshot>) -> Snapshot {
        let (size, there) = (size_of(scale), count(&scale["status"]["replicas"]));
        if let Some(pods) = &self.pods {
            return Snapshot { size, instances: pods.instances(), withdrawn: false, stale: false };
        }
        let began = last.is_none();
        self.since.resize(there as usize, (!began).then(Instant::now));
        let instances = self.since.iter().enumerate().map(|(id, since)| Instance {
            id: id as u64,
            process: None,
            port: None,
            phase: if id < size as usize { Phase::Ready } else { Phase::Ending },
            started: *since,
            ready: *since,
            usage: None,
        });
        Snapshot { size, instances: instances.collect(), withdrawn: false, stale: false }
    }

    /// Renews the Lease where it is due.
    fn keep_lead(&mut self, now: Instant) -> Result<(), TargetError> {
        if !self.applies || !self.election.is_due(now) {
            return Ok(());
        }
        match self.election.attempt(&self.api, now) {
            Ok(Standing::Leads) => Ok(()),
            Ok(Standing::Other(who)) => {
                self.lost = true;
                Err(TargetError(format!("{who} holds the Lease `{}` now", self.settings.lease)))
            }
            Err(error) => Err(self.refused(error, &rights::lease(&self.settings, "update"))),
        }
    }
}

impl RemoteTarget for KubernetesTarget {
    fn name(&self) -> String {
        self.settings.to_string()
    }

    fn each(&self) -> Duration {
        EACH
    }

    fn check(&mut self, apply: bool) -> Result<(), TargetError> {
        let kind = self.discover()?;
        let missing: Vec<String> =
            self.missing(apply).iter().map(|right| right.words(&self.namespace)).collect();
        if !missing.is_empty() {
            return Err(TargetError(format!(
                "Kubernetes forbids what `live.kubernetes` needs; missing: {}; `headroom scale --print-permissions` has \
                 all",
                missing.join(", ")
            )));
        }
        let scale = self.read()?;
        self.read_pods(&scale, Instant::now())?;
        let others = self.autoscalers(&kind)?;
        if let Some(other) = others.first() {
            if apply {
                return Err(TargetError(format!(
                    "the HorizontalPodAutoscaler `{other}` sets the size of `{}` too; delete it (`kubectl delete hpa \
                     {other} -n {}`), or leave --apply out and let it act on the wanted size (`live.serve`)",
                    self.settings, self.namespace
                )));
            }
            self.events.push(Event(format!("the HorizontalPodAutoscaler `{other}` sets the size now")));
        }
        Ok(())
    }

    fn lead(&mut self) -> Result<Option<String>, TargetError> {
        self.applies = true;
        let attempt = self.election.attempt(&self.api, Instant::now());
        match attempt.map_err(|error| self.refused(error, &rights::lease(&self.settings, "update")))? {
            Standing::Leads => Ok(None),
            Standing::Other(who) => Ok(Some(who)),
        }
    }

    fn attempt(&mut self, set: Option<u32>, last: Option<&Snapshot>) -> Result<Snapshot, TargetError> {
        let now = Instant::now();
        self.keep_lead(now)?;
        let Some(size) = set else {
            let scale = self.read()?;
            self.read_pods(&scale, now)?;
            return Ok(self.snapshot(&scale, last));
        };
        self.set(size, last)
    }

    fn events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }

    fn lost_lead(&self) -> bool {
        self.lost
    }
}

impl Drop for KubernetesTarget {
    fn drop(&mut self) {
        self.election.release(&self.api);
    }
}

fn size_of(scale: &Value) -> u32 {
    count(&scale["spec"]["replicas"])
}

/// A count that is zero where it is left out.
fn count(value: &Value) -> u32 {
    value.as_u64().and_then(|count| u32::try_from(count).ok()).unwrap_or(0)
}

/// How often the scale is read.
const EACH: Duration = Duration::from_secs(1);

/// Attempts to write after conflicts.
const CONFLICTS: u32 = 5;

#[cfg(test)]
mod tests;
