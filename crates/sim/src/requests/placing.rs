//! What balancing knows of clients and of failures: keys that are hashed, cookies, ejection, checks.
//!
//! A client's cookie names an instance by its slot and the number of its launch: slots are used again, and a cookie for
//! an instance that is gone names none. A client gets its cookie with a response.

use super::balancers::Balancers;
use super::health::Health;
use super::keys::Keys;
use crate::settings::{Algorithm, Balancing, KeyId};
use control::balance::ejection::{Decision, Ejection};
use control::balance::{InstanceId, Outcome};
use units::Timestamp;

/// The state of a service whose balancing is more than an algorithm.
#[derive(Debug)]
pub(super) struct Placing {
    /// The key that is hashed.
    hashed: Option<KeyId>,
    affinity: Option<Affinity>,
    pub(super) ejection: Option<Ejection>,
    health: Option<Health>,
    /// Ejections since the last window.
    pub(super) ejections: u64,
}

#[derive(Debug)]
struct Affinity {
    client: KeyId,
    /// By client.
    cookies: Vec<Option<Cookie>>,
    /// How many instances each slot has had.
    launches: Vec<u32>,
}

#[derive(Debug, Clone, Copy)]
struct Cookie {
    slot: u32,
    launch: u32,
}

/// What a request brings to the balancer.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Brought {
    /// Its hashed key.
    pub(super) key: Option<u64>,
    /// The instance that its cookie names.
    pub(super) cookie: Option<InstanceId>,
}

impl Placing {
    /// `None` where the algorithm decides alone.
    pub(super) fn new(balancing: &Balancing) -> Option<Self> {
        if !balancing.is_managed() {
            return None;
        }
        Some(Placing {
            hashed: match balancing.algorithm {
                Algorithm::ConsistentHash { key } => Some(key),
                _ => None,
            },
            affinity: balancing.affinity.map(|client| Affinity {
                client,
                cookies: Vec::new(),
                launches: Vec::new(),
            }),
            ejection: balancing.ejection.map(Ejection::new),
            health: balancing.health.and_then(Health::new),
            ejections: 0,
        })
    }

    /// Whether it needs a periodic tick.
    pub(super) fn ticks(&self) -> bool {
        self.ejection.is_some() || self.health.is_some()
    }

    /// What a request of this identity brings.
    pub(super) fn brought(&self, keys: &Keys, identity: u64) -> Brought {
        let hashed = self.hashed.and_then(|key| keys.value(key, identity));
        Brought {
            key: hashed.map(u64::from),
            cookie: self.affinity.as_ref().and_then(|affinity| affinity.cookie(keys, identity)),
        }
    }

    pub(super) fn added(&mut self, now: u64, slot: u32, balancers: &mut Balancers) {
        let now = Timestamp::from_nanos(now);
        if let Some(Affinity { launches, .. }) = &mut self.affinity {
            let place = slot as usize;
            launches.resize(launches.len().max(place + 1), 0);
            launches[place] += 1;
        }
        if let Some(ejection) = &mut self.ejection {
            ejection.added(InstanceId(slot));
        }
        if let Some(health) = &mut self.health {
            let healthy = health.added(now, slot);
            balancers.set_healthy(now, InstanceId(slot), healthy);
        }
    }

    pub(super) fn removed(&mut self, slot: u32) {
        if let Some(ejection) = &mut self.ejection {
            ejection.removed(InstanceId(slot));
        }
        if let Some(health) = &mut self.health {
            health.removed(slot);
        }
    }

    /// A response with which its client gets a cookie.
    pub(super) fn responded(&mut self, keys: &Keys, identity: u64, slot: u32) {
        if let Some(affinity) = &mut self.affinity {
            affinity.set(keys, identity, slot);
        }
    }

    /// A request that was sent has ended.
    pub(super) fn ended(&mut self, now: u64, slot: u32, outcome: Outcome, balancers: &mut Balancers) {
        let now = Timestamp::from_nanos(now);
        let decision = self.ejection.as_mut().and_then(|one| one.ended(now, InstanceId(slot), outcome));
        self.ejections += decision.map_or(0, |decision| eject(now, decision, balancers));
    }

    /// Checks and compares the instances, and makes the changes of balancers that are due. `responds` is whether the
    /// instance of a slot responds to checks.
    pub(super) fn tick(&mut self, now: Timestamp, balancers: &mut Balancers, responds: impl Fn(u32) -> bool) {
        if let Some(health) = &mut self.health {
            health.tick(now, responds, |id, healthy| balancers.set_healthy(now, id, healthy));
        }
        let mut ejections = 0;
        if let Some(ejection) = &mut self.ejection {
            ejection.check(now, |decision| ejections += eject(now, decision, balancers));
        }
        self.ejections += ejections;
    }
}

/// How many instances a decision ejects.
fn eject(now: Timestamp, decision: Decision, balancers: &mut Balancers) -> u64 {
    match decision {
        Decision::Eject { id, until, .. } => {
            balancers.eject(now, id, until);
            1
        }
        Decision::Spare { .. } => 0,
    }
}

impl Affinity {
    fn cookie(&self, keys: &Keys, identity: u64) -> Option<InstanceId> {
        let client = keys.value(self.client, identity)?;
        let Cookie { slot, launch } = (*self.cookies.get(client as usize)?)?;
        let is_there = self.launches.get(slot as usize) == Some(&launch);
        Some(if is_there { InstanceId(slot) } else { UNKNOWN })
    }

    fn set(&mut self, keys: &Keys, identity: u64, slot: u32) {
        let Some(client) = keys.value(self.client, identity) else { return };
        let place = client as usize;
        if self.cookies.len() <= place {
            self.cookies.resize(place + 1, None);
        }
        let launch = self.launches.get(slot as usize).copied().unwrap_or(0);
        self.cookies[place] = Some(Cookie { slot, launch });
    }
}

/// An id that no instance has.
const UNKNOWN: InstanceId = InstanceId(u32::MAX);
