//! The state of a pool that all workers have to agree on: ejected instances, healthy instances, the retry budget.
//!
//! ## Limits apply to the whole process
//! The cap on ejections and the retry budget are those of the pool, not of each worker. Requests take no lock for them:
//! a worker counts separately and reports ten times a second. It takes the lock only for rare events: a retry, and an
//! instance that has just had too many consecutive failures. So the budget may count requests a tenth of a second late,
//! which allows fewer retries and never more; and consecutive failures spread over several workers are detected a tenth
//! of a second late. The worker that reported gets the verdict at once, the others at their next tick.

use super::squeeze::{Held, SqueezeCounts};
use crate::metrics::FineTimes;
use crate::settings::{self, Pool};
use crate::shared::lock;
use control::SettingsError;
use control::balance::ejection::{self, Decision, Ejection, Reason, Seen};
use control::balance::{FixedShare, HealthState, InstanceId, RetryBudget, SlowStart};
use std::collections::{HashMap, HashSet};
use std::net::SocketAddr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use units::{Ratio, Timestamp};

/// What all workers share about a pool.
#[derive(Debug)]
pub(crate) struct ProcessPool {
    /// Increases with each verdict.
    version: AtomicU64,
    /// Of its responses.
    pub(crate) times: FineTimes,
    /// Of the instances of squeezes.
    pub(crate) squeezed: SqueezeCounts,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// By id. An address keeps its id for as long as the pool exists.
    instances: Vec<Member>,
    by_address: HashMap<SocketAddr, InstanceId>,
    ejection: Option<Ejection>,
    budget: RetryBudget,
    settings: Pool,
    spared: u64,
    held: Option<Held>,
}

#[derive(Debug)]
struct Member {
    address: SocketAddr,
    present: bool,
    /// `None` without checks.
    health: Option<HealthState>,
    ejected_until: Timestamp,
    counts: MemberCounts,
}

/// The process-wide counts of an instance, for the metrics.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct MemberCounts {
    /// Ejections for consecutive failures, and for a low success rate.
    pub(crate) ejections: [u64; 2],
    /// Checks that failed and that passed.
    pub(crate) checks: [u64; 2],
}

/// Settings that `control` has validated.
#[derive(Debug)]
pub(crate) struct Prepared {
    settings: Pool,
    ejection: Option<ejection::Settings>,
    health: Option<HealthState>,
    budget: RetryBudget,
}

impl Prepared {
    pub(crate) fn new(pool: &Pool) -> Result<Self, SettingsError> {
        if let Some(span) = pool.slow_start {
            SlowStart::new(span, Ratio::ZERO, 1.0)?;
        }
        let health = pool.health.as_ref();
        Ok(Prepared {
            ejection: pool.ejection.as_ref().map(settings::Ejection::checked).transpose()?,
            health: health
                .map(|health| HealthState::new(health.healthy_after, health.unhealthy_after))
                .transpose()?,
            budget: RetryBudget::new(pool.retries.budget, pool.retries.least, BUDGET_SPAN)?,
            settings: pool.clone(),
        })
    }
}

impl ProcessPool {
    pub(crate) fn new(prepared: Prepared) -> Self {
        let Prepared { settings, budget, .. } = &prepared;
        let state = State {
            instances: Vec::new(),
            by_address: HashMap::new(),
            ejection: None,
            budget: budget.clone(),
            // Without the instance-dependent state, so that all of it is new.
            settings: Pool::new(&settings.name, Vec::new()),
            spared: 0,
            held: None,
        };
        let pool = ProcessPool {
            version: AtomicU64::new(1),
            times: FineTimes::default(),
            squeezed: SqueezeCounts::default(),
            state: Mutex::new(state),
        };
        pool.configure(prepared);
        pool
    }

    /// Takes over other settings. The state of an instance stays with its address.
    pub(crate) fn configure(&self, prepared: Prepared) {
        let mut state = lock(&self.state);
        let Prepared { settings, ejection, health, budget } = prepared;
        if state.settings.retries != settings.retries {
            state.budget = budget;
        }
        let anew = state.settings.ejection != settings.ejection;
        if anew {
            state.ejection = ejection.map(Ejection::new);
            // A new detector has not ejected any instance.
            state.instances.iter_mut().for_each(|member| member.ejected_until = Timestamp::ZERO);
        }
        // The initial instances count as healthy until their first check; one that is added later may still be
        // starting.
        let first = state.instances.is_empty();
        let same_checks = state.settings.health == settings.health;
        let wanted: HashSet<SocketAddr> =
            settings.instances.iter().map(|instance| instance.address).collect();
        for index in 0..state.instances.len() {
            if state.instances[index].present && !wanted.contains(&state.instances[index].address) {
                if let Some(ejection) = &mut state.ejection {
                    ejection.removed(InstanceId(index as u32));
                }
                let member = &mut state.instances[index];
                (member.present, member.ejected_until, member.health) = (false, Timestamp::ZERO, None);
            }
        }
        for instance in &settings.instances {
            let next = InstanceId(state.instances.len() as u32);
            let id = *state.by_address.entry(instance.address).or_insert(next);
            if id == next {
                state.instances.push(Member::new(instance.address));
            }
            let member = &mut state.instances[id.0 as usize];
            let was_present = std::mem::replace(&mut member.present, true);
            member.health = match (health, member.health) {
                (None, _) => None,
                (Some(_), Some(known)) if was_present && same_checks => Some(known),
                (Some(new), Some(known)) if !known.is_healthy() => Some(new.unproven()),
                (Some(new), Some(_)) => Some(new),
                (Some(new), None) if first || was_present => Some(new),
                (Some(new), None) => Some(new.unproven()),
            };
            if let Some(ejection) = state.ejection.as_mut().filter(|_| anew || !was_present) {
                ejection.added(id);
            }
        }
        state.settings = settings;
        self.version.fetch_add(1, Ordering::Release);
    }

    pub(super) fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// The id of an address that is in the pool, or was.
    pub(crate) fn id(&self, address: SocketAddr) -> InstanceId {
        // A worker gets settings only after they were configured here.
        *lock(&self.state).by_address.get(&address).expect("the instances of the settings were given ids")
    }

    /// The address of a known id.
    pub(super) fn address(&self, id: InstanceId) -> SocketAddr {
        lock(&self.state).instances[id.0 as usize].address
    }

    /// Whether each instance is healthy, and until when it is ejected.
    pub(super) fn verdicts(&self, mut each: impl FnMut(InstanceId, bool, Timestamp)) {
        for (index, member) in lock(&self.state).instances.iter().enumerate() {
            let healthy = member.health.is_none_or(|health| health.is_healthy());
            each(InstanceId(index as u32), healthy, member.ejected_until);
        }
    }

    /// Puts a squeeze in force, or ends it.
    pub(super) fn hold(&self, held: Option<Held>) {
        lock(&self.state).held = held;
        self.version.fetch_add(1, Ordering::Release);
    }

    /// The squeeze in force.
    pub(crate) fn held(&self, now: Timestamp) -> Option<Held> {
        lock(&self.state).held.clone().filter(|held| now < held.until)
    }

    /// The same for balancers.
    pub(super) fn fixed_share(&self, now: Timestamp) -> Option<FixedShare> {
        let Held { squeeze, until } = self.held(now)?;
        let state = lock(&self.state);
        let members = squeeze.instances.iter().filter_map(|address| state.by_address.get(address).copied());
        Some(FixedShare::new(members.collect(), squeeze.share, until))
    }

    /// A worker has seen too many consecutive failures.
    pub(super) fn saw(&self, now: Timestamp, id: InstanceId, seen: Seen) -> Option<Decision> {
        let mut state = lock(&self.state);
        let decision = state.ejection.as_mut()?.absorb(now, id, seen)?;
        self.note(&mut state, decision);
        Some(decision)
    }

    /// Takes over what a worker has counted since its last visit.
    pub(super) fn tick(
        &self,
        now: Timestamp,
        requests: u64,
        seen: impl Iterator<Item = (InstanceId, Seen)>,
        mut decided: impl FnMut(Decision),
    ) {
        let mut state = lock(&self.state);
        state.budget.requests(now, requests);
        let Some(mut ejection) = state.ejection.take() else { return };
        let mut decisions = Vec::new();
        decisions.extend(seen.filter_map(|(id, seen)| ejection.absorb(now, id, seen)));
        ejection.check(now, |decision| decisions.push(decision));
        state.ejection = Some(ejection);
        for decision in decisions {
            self.note(&mut state, decision);
            decided(decision);
        }
    }

    fn note(&self, state: &mut State, decision: Decision) {
        match decision {
            Decision::Eject { id, until, reason, .. } => {
                let member = &mut state.instances[id.0 as usize];
                member.ejected_until = until;
                member.counts.ejections[usize::from(matches!(reason, Reason::SuccessRate { .. }))] += 1;
                self.version.fetch_add(1, Ordering::Release);
            }
            Decision::Spare { .. } => state.spared += 1,
        }
    }

    /// Whether the budget allows another retry, which is then counted. `requests` are those that were not yet added to
    /// it.
    pub(super) fn may_retry(&self, now: Timestamp, requests: u64) -> bool {
        let mut state = lock(&self.state);
        state.budget.requests(now, requests);
        state.budget.retry(now).is_ok()
    }

    /// An instance has been checked.
    pub(crate) fn checked(&self, address: SocketAddr, passed: bool) {
        let mut state = lock(&self.state);
        let Some(&id) = state.by_address.get(&address) else { return };
        let member = &mut state.instances[id.0 as usize];
        if !member.present {
            return;
        }
        member.counts.checks[usize::from(passed)] += 1;
        if let Some(health) = &mut member.health
            && health.checked(passed).is_some()
        {
            self.version.fetch_add(1, Ordering::Release);
        }
    }

    /// The process-wide counts of an instance.
    pub(crate) fn member_counts(&self, address: SocketAddr) -> MemberCounts {
        let state = lock(&self.state);
        let known = state.by_address.get(&address);
        known.map_or_else(MemberCounts::default, |id| state.instances[id.0 as usize].counts)
    }

    /// Instances that failed too often and were not ejected, because too many were ejected already.
    pub(crate) fn spared(&self) -> u64 {
        lock(&self.state).spared
    }
}

impl Member {
    fn new(address: SocketAddr) -> Self {
        Member {
            address,
            present: false,
            health: None,
            ejected_until: Timestamp::ZERO,
            counts: MemberCounts::default(),
        }
    }
}

/// The span over which requests and retries are counted.
const BUDGET_SPAN: Duration = Duration::from_secs(10);
