//! One scaler leads: the holder of a Lease.
//!
//! ## When another one takes over
//! Clocks of machines differ, so no time of the Lease is compared with a clock of ours. A standby takes over when it has
//! seen the same renewal for the whole duration, by its own clock, and writes with the resource version that it has
//! read, so that of two standbys one wins. A leader sets no size once its last renewal is nearly a duration old.

use crate::api::{Api, ApiError};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// The part of one scaler.
#[derive(Debug)]
pub(crate) struct Election {
    /// The path of the leases of the namespace, and the name of ours.
    leases: String,
    name: String,
    /// Who this scaler is.
    me: String,
    /// The last renewal of another one, and since when it was seen.
    seen: Option<(Value, Instant)>,
    /// When the renewal that counts was requested; none: this one does not lead.
    renewed: Option<Instant>,
}

/// The outcome of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Standing {
    /// This scaler leads.
    Leads,
    /// Another one does.
    Other(String),
}

impl Election {
    pub(crate) fn new(namespace: &str, name: &str, me: String) -> Self {
        let leases = format!("/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases");
        Election { leases, name: name.to_owned(), me, seen: None, renewed: None }
    }

    /// Whether sizes may be set.
    pub(crate) fn leads(&self, now: Instant) -> bool {
        self.renewed.is_some_and(|renewed| now.duration_since(renewed) < DEADLINE)
    }

    /// Whether the Lease is to be renewed.
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        self.renewed.is_some_and(|renewed| now.duration_since(renewed) >= RENEW)
    }

    /// Takes the Lease, or renews it.
    pub(crate) fn attempt(&mut self, api: &Api, now: Instant) -> Result<Standing, ApiError> {
        let path = format!("{}/{}", self.leases, self.name);
        let written = match api.get(&path) {
            Ok(lease) => match self.claim(lease, now) {
                Ok(lease) => api.call("PUT", &path, Some(&lease)),
                Err(other) => {
                    self.renewed = None;
                    return Ok(Standing::Other(other));
                }
            },
            Err(error) if error.code() == Some(404) => {
                let lease = json!({
                    "apiVersion": "coordination.k8s.io/v1",
                    "kind": "Lease",
                    "metadata": { "name": self.name },
                    "spec": self.spec(0, None),
                });
                api.call("POST", &self.leases, Some(&lease))
            }
            Err(error) => return Err(error),
        };
        match written {
            Ok(_) => {
                self.renewed = Some(now);
                self.seen = None;
                Ok(Standing::Leads)
            }
            // Another one was first; the next attempt sees which.
            Err(error) if error.code() == Some(409) && self.renewed.is_none() => {
                Ok(Standing::Other("another scaler".to_owned()))
            }
            Err(error) => Err(error),
        }
    }

    /// The Lease as this scaler wants it; otherwise its holder.
    fn claim(&mut self, mut lease: Value, now: Instant) -> Result<Value, String> {
        let spec = &lease["spec"];
        let holder = spec["holderIdentity"].as_str().unwrap_or_default().to_owned();
        let mine = holder == self.me;
        if !mine && !holder.is_empty() {
            let renewal = json!([holder, spec["renewTime"], spec["acquireTime"]]);
            let since = match &self.seen {
                Some((seen, since)) if *seen == renewal => *since,
                _ => {
                    self.seen = Some((renewal, now));
                    now
                }
            };
            let duration = spec["leaseDurationSeconds"].as_u64().map_or(DURATION, Duration::from_secs);
            if now.duration_since(since) < duration {
                return Err(holder);
            }
        }
        let transitions = spec["leaseTransitions"].as_u64().unwrap_or(0) + u64::from(!mine);
        let acquired = mine.then(|| spec["acquireTime"].clone());
        lease["spec"] = self.spec(transitions, acquired);
        Ok(lease)
    }

    fn spec(&self, transitions: u64, acquired: Option<Value>) -> Value {
        // For people: the time is compared with none.
        let now = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string();
        json!({
            "holderIdentity": self.me,
            "leaseDurationSeconds": DURATION.as_secs(),
            "acquireTime": acquired.unwrap_or_else(|| json!(now)),
            "renewTime": now,
            "leaseTransitions": transitions,
        })
    }

    /// Gives the Lease up, so that a standby need not wait.
    pub(crate) fn release(&mut self, api: &Api) {
        if self.renewed.take().is_none() {
            return;
        }
        let path = format!("{}/{}", self.leases, self.name);
        let Ok(mut lease) = api.get(&path) else { return };
        if lease["spec"]["holderIdentity"].as_str() == Some(&*self.me) {
            lease["spec"]["holderIdentity"] = json!("");
            let _ = api.call("PUT", &path, Some(&lease));
        }
    }
}

/// Who a scaler is: its host (in a pod, the pod's name), its process, and when it was started.
pub(crate) fn identity() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let started = jiff::Timestamp::now().as_millisecond();
    format!("{}_{}_{started:x}", host.trim(), std::process::id())
}

/// How long a renewal counts. With the time between two attempts of a standby, another one leads within 15 s.
const DURATION: Duration = Duration::from_secs(10);

/// A leader without a renewal for this long sets nothing: a request and its answer take up to three seconds.
const DEADLINE: Duration = Duration::from_secs(6);

/// How often the Lease is renewed.
const RENEW: Duration = Duration::from_secs(2);
