//! Admission: which requests pass to the balancer of a service, and when. `control` makes all decisions, as in the
//! gateway.

use super::KeyId;
use super::check::Check;
use control::admission::{Room, WaitingSettings};
use control::concurrency::{AdaptiveLimit, AdaptiveSettings, Concurrency, Priorities, Priority};
use control::policy::{Policy, PolicySettings};
use control::rate::{RateClass, RateSettings};
use control::service_level::{ServiceLevel, ServiceLevelSettings};
use control::{ClassId, SettingsError};
use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

/// The limits of a service; one stage for all its balancer nodes, as a single gateway.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Admission {
    /// The limits that always apply.
    pub always: Limits,
    /// The priority class of each request whose endpoint has none.
    pub priority: RequestPriority,
    /// When the client of each request leaves.
    pub deadline: Option<RequestDeadline>,
    /// The limits that apply while a service level class does not conform.
    pub policy: Option<Gated>,
}

/// A rate class and a concurrency limit that apply together.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Limits {
    /// The rate class.
    pub rate: Option<RateLimit>,
    /// The concurrency limit.
    pub concurrency: Option<ConcurrencyLimit>,
}

/// The priority class of each request.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum RequestPriority {
    /// There are no classes.
    #[default]
    None,
    /// The same for all.
    Class(Priority),
    /// By the value of a key.
    ByKey {
        /// The key.
        key: KeyId,
        /// The class of each value.
        classes: Arc<[Priority]>,
        /// The class of requests without a value.
        otherwise: Priority,
    },
}

/// How long clients wait, as their requests say.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestDeadline {
    /// The key that says it.
    pub key: KeyId,
    /// The time from the arrival that each value says; none for one that says nothing.
    pub values: Arc<[Option<Duration>]>,
}

/// A bound on the rate of requests.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateLimit {
    /// How often requests may pass.
    pub rate: RateSettings,
    /// A limit for each key; `None` is one limit for all requests together.
    pub keyed: Option<Keyed>,
    /// It counts what it would have shed, and lets every request pass.
    pub shadow: bool,
}

impl From<RateSettings> for RateLimit {
    fn from(rate: RateSettings) -> Self {
        RateLimit { rate, keyed: None, shadow: false }
    }
}

/// A limit for each key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keyed {
    /// The key.
    pub by: KeyId,
    /// The key of requests that have no value of it: the client.
    pub otherwise: Option<KeyId>,
    /// The number of keys that are remembered, at least 1. New keys beyond it share a few limits.
    pub keys: u32,
}

/// A bound on requests in flight.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ConcurrencyLimit {
    /// The bound, at least 1.
    pub bound: Bound,
    /// The queue of requests that wait for a slot; without it none may wait.
    pub queue: Option<WaitingSettings>,
    /// The share of the bound, and of the queue, that each priority class may fill.
    pub priorities: Priorities,
    /// The number of priority classes, at least 1.
    pub classes: u8,
    /// It counts what it would have shed, and lets every request pass.
    pub shadow: bool,
}

impl From<Bound> for ConcurrencyLimit {
    /// Without queue and priority classes.
    fn from(bound: Bound) -> Self {
        ConcurrencyLimit { bound, queue: None, priorities: Priorities::NONE, classes: 1, shadow: false }
    }
}

/// The kind of a bound.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bound {
    /// A constant bound.
    Fixed(u32),
    /// A bound that adapts to the service.
    Adaptive(AdaptiveSettings),
}

/// Limits with the service level class that engages them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gated {
    /// The class.
    pub service_level: ServiceLevelSettings,
    /// When the limits apply.
    pub policy: PolicySettings,
    /// The limits.
    pub limits: Limits,
}

impl Admission {
    /// Whether no limit could ever refuse or delay a request.
    pub fn is_open(&self) -> bool {
        self.always.is_none() && self.policy.is_none()
    }
}

impl Limits {
    fn is_none(&self) -> bool {
        self.rate.is_none() && self.concurrency.is_none()
    }
}

impl Check<'_> {
    pub(super) fn admission(&mut self, at: &str, admission: &Admission) {
        if let RequestPriority::ByKey { key, .. } = admission.priority {
            self.key(format!("{at}.priority"), key);
        }
        if let Some(deadline) = &admission.deadline {
            self.key(format!("{at}.deadline"), deadline.key);
        }
        self.limits(&format!("{at}.always"), &admission.always);
        if let Some(gated) = &admission.policy {
            self.control(&format!("{at}.policy.service_level"), ServiceLevel::new(gated.service_level).err());
            self.control(&format!("{at}.policy.policy"), Policy::new(gated.policy).err());
            self.limits(&format!("{at}.policy.limits"), &gated.limits);
        }
    }

    fn limits(&mut self, at: &str, limits: &Limits) {
        if let Some(RateLimit { rate, keyed, .. }) = limits.rate {
            self.control(&format!("{at}.rate"), RateClass::<Cell<u64>>::new(ClassId(0), rate).err());
            if let Some(Keyed { by, otherwise, keys }) = keyed {
                self.key(format!("{at}.rate.key"), by);
                otherwise.into_iter().for_each(|key| self.key(format!("{at}.rate.otherwise"), key));
                self.at_least_one(format!("{at}.rate.keys"), keys);
            }
        }
        let Some(ConcurrencyLimit { bound, queue, priorities, .. }) = limits.concurrency else { return };
        let wrong = match bound {
            Bound::Fixed(limit) => Concurrency::<Cell<u64>>::new(ClassId(0), limit).err(),
            Bound::Adaptive(settings) => AdaptiveLimit::new(settings).err(),
        };
        self.control(&format!("{at}.concurrency.bound"), wrong);
        if let Some(queue) = queue {
            let room = Room::<Cell<u64>>::new(ClassId(0), queue, priorities);
            self.control(&format!("{at}.concurrency.queue"), room.err());
        }
    }

    /// The errors that `control` finds in its settings.
    fn control(&mut self, at: &str, wrong: Option<SettingsError>) {
        if let Some(wrong) = wrong {
            self.that(false, at.to_owned(), wrong, "settings that do not contradict themselves");
        }
    }
}
