//! Admission: what passes to the balancer of a service, and when. All of it is decided in `control`, as at the gateway.

use super::check::Check;
use control::admission::{Room, WaitingSettings};
use control::concurrency::{AdaptiveLimit, AdaptiveSettings, Concurrency, Priorities};
use control::policy::{Policy, PolicySettings};
use control::rate::{RateClass, RateSettings};
use control::service_level::{ServiceLevel, ServiceLevelSettings};
use control::{ClassId, SettingsError};
use std::cell::Cell;

/// The limits of a service; one stage for all its balancer nodes, as one gateway is.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Admission {
    /// What always applies.
    pub always: Limits,
    /// What applies while a service level class does not conform.
    pub policy: Option<Gated>,
}

/// Limits that apply together.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Limits {
    /// How often requests may pass.
    pub rate: Option<RateSettings>,
    /// How many may be in flight.
    pub concurrency: Option<ConcurrencyLimit>,
}

/// A bound on requests in flight.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ConcurrencyLimit {
    /// The bound, at least 1.
    pub bound: Bound,
    /// Who may wait for a place; nobody without.
    pub queue: Option<WaitingSettings>,
}

/// Where a bound comes from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bound {
    /// It stays.
    Fixed(u32),
    /// It follows the service.
    Adaptive(AdaptiveSettings),
}

/// Limits with the class that brings them into force.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gated {
    /// The class.
    pub service_level: ServiceLevelSettings,
    /// When its limits apply.
    pub policy: PolicySettings,
    /// The limits.
    pub limits: Limits,
}

impl Admission {
    /// Whether there is nothing that could ever refuse a request or let it wait.
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
        self.limits(&format!("{at}.always"), &admission.always);
        if let Some(gated) = &admission.policy {
            self.control(&format!("{at}.policy.service_level"), ServiceLevel::new(gated.service_level).err());
            self.control(&format!("{at}.policy.policy"), Policy::new(gated.policy).err());
            self.limits(&format!("{at}.policy.limits"), &gated.limits);
        }
    }

    fn limits(&mut self, at: &str, limits: &Limits) {
        if let Some(rate) = limits.rate {
            self.control(&format!("{at}.rate"), RateClass::<Cell<u64>>::new(ClassId(0), rate).err());
        }
        let Some(ConcurrencyLimit { bound, queue }) = limits.concurrency else { return };
        let wrong = match bound {
            Bound::Fixed(limit) => Concurrency::<Cell<u64>>::new(ClassId(0), limit).err(),
            Bound::Adaptive(settings) => AdaptiveLimit::new(settings).err(),
        };
        self.control(&format!("{at}.concurrency.bound"), wrong);
        if let Some(queue) = queue {
            let room = Room::<Cell<u64>>::new(ClassId(0), queue, Priorities::NONE);
            self.control(&format!("{at}.concurrency.queue"), room.err());
        }
    }

    /// What `control` says of its settings.
    fn control(&mut self, at: &str, wrong: Option<SettingsError>) {
        if let Some(wrong) = wrong {
            self.that(false, at.to_owned(), wrong, "settings that do not contradict themselves");
        }
    }
}
