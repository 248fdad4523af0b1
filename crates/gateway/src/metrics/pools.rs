//! Counts of pools and their instances. The labels of instances are their addresses, as in the file.

use super::page::Page;
use crate::shared::Shared;
use control::balance::Availability;
use status::reason::{retried, retry};
use status::{metric, state};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

/// One worker's counts of one pool.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct PoolCounts {
    pub(crate) instances: BTreeMap<SocketAddr, InstanceCounts>,
    pub(crate) retries: [u64; Retry::COUNT],
    /// Clients that were kept, were new, and had to move.
    pub(crate) placed: [u64; 3],
    pub(crate) panic: bool,
}

/// One worker's counts of one instance.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct InstanceCounts {
    pub(crate) state: InstanceState,
    pub(crate) in_flight: u64,
    pub(crate) requests: u64,
    pub(crate) failures: u64,
}

/// The state of an instance. The worker that sends it most decides, so that an instance is draining only when no worker
/// sends it new requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum InstanceState {
    Available,
    Warming,
    Ejected,
    Unhealthy,
    Draining,
    /// No longer in the configuration, with requests in flight.
    Removed,
}

impl InstanceState {
    const ALL: [InstanceState; 6] = [
        InstanceState::Available,
        InstanceState::Warming,
        InstanceState::Ejected,
        InstanceState::Unhealthy,
        InstanceState::Draining,
        InstanceState::Removed,
    ];

    pub(crate) fn of(availability: Availability) -> Self {
        match availability {
            Availability::Available => InstanceState::Available,
            Availability::Warming => InstanceState::Warming,
            Availability::Draining => InstanceState::Draining,
            Availability::Ejected { .. } => InstanceState::Ejected,
            Availability::Unhealthy => InstanceState::Unhealthy,
        }
    }

    pub(crate) const fn name(self) -> &'static str {
        match self {
            InstanceState::Available => state::AVAILABLE,
            InstanceState::Warming => state::WARMING,
            InstanceState::Ejected => state::EJECTED,
            InstanceState::Unhealthy => state::UNHEALTHY,
            InstanceState::Draining => state::DRAINING,
            InstanceState::Removed => state::REMOVED,
        }
    }
}

/// Why a request should be sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Retry {
    /// No connection: nothing was sent.
    Unreachable,
    /// No connection in time: nothing was sent.
    ConnectTimeout,
    /// A kept connection that the instance was closing.
    Stale,
    /// The connection broke before a response.
    Broke,
}

/// The decision on a retry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Retried {
    Repeated,
    /// The instance may have processed it already.
    NotSafe,
    OutOfTries,
    OutOfBudget,
}

impl Retry {
    pub(crate) const COUNT: usize = 4 * 4;
    const ALL: [Retry; 4] = [Retry::Unreachable, Retry::ConnectTimeout, Retry::Stale, Retry::Broke];

    /// Whether the instance may have seen the request.
    pub(crate) const fn was_sent(self) -> bool {
        matches!(self, Retry::Stale | Retry::Broke)
    }

    pub(crate) const fn index(self, outcome: Retried) -> usize {
        self as usize * 4 + outcome as usize
    }

    const fn name(self) -> &'static str {
        match self {
            Retry::Unreachable => retry::UNREACHABLE,
            Retry::ConnectTimeout => retry::CONNECT_TIMEOUT,
            Retry::Stale => retry::STALE,
            Retry::Broke => retry::BROKE,
        }
    }
}

impl Retried {
    const ALL: [Retried; 4] =
        [Retried::Repeated, Retried::NotSafe, Retried::OutOfTries, Retried::OutOfBudget];

    const fn name(self) -> &'static str {
        match self {
            Retried::Repeated => retried::REPEATED,
            Retried::NotSafe => retried::NOT_SAFE,
            Retried::OutOfTries => retried::OUT_OF_TRIES,
            Retried::OutOfBudget => retried::OUT_OF_BUDGET,
        }
    }
}

impl PoolCounts {
    /// Whether it stays unchanged over time: slow starts and ejections end by themselves.
    pub(crate) fn is_steady(&self) -> bool {
        let ends = |of: &InstanceCounts| matches!(of.state, InstanceState::Warming | InstanceState::Ejected);
        !self.panic && !self.instances.values().any(ends)
    }

    /// Adds the counts of another worker.
    pub(crate) fn add(&mut self, other: &PoolCounts) {
        for (&address, theirs) in &other.instances {
            match self.instances.get_mut(&address) {
                None => {
                    self.instances.insert(address, theirs.clone());
                }
                Some(ours) => {
                    ours.state = ours.state.min(theirs.state);
                    ours.in_flight += theirs.in_flight;
                    ours.requests += theirs.requests;
                    ours.failures += theirs.failures;
                }
            }
        }
        self.retries.iter_mut().zip(other.retries).for_each(|(ours, theirs)| *ours += theirs);
        self.placed.iter_mut().zip(other.placed).for_each(|(ours, theirs)| *ours += theirs);
        self.panic |= other.panic;
    }
}

/// Adds the pools to the page.
pub(super) fn write(page: &mut Page, pools: &[Arc<PoolCounts>], shared: &Shared) {
    let found = || {
        let settings = shared.settings.pools.iter().zip(&shared.pools);
        settings.zip(pools).map(|((pool, process), counts)| (pool, process, counts))
    };
    let instances = || {
        found().flat_map(|(pool, process, counts)| {
            let named = counts.instances.iter().map(|(address, of)| (*address, address.to_string(), of));
            named.map(move |(address, name, of)| (&pool.name, process, address, name, of))
        })
    };
    page.head(metric::INSTANCE_UP, "gauge", "1 while the instance receives new requests, otherwise 0.");
    for (pool, _, _, instance, of) in instances() {
        let up = matches!(of.state, InstanceState::Available | InstanceState::Warming);
        page.line(metric::INSTANCE_UP, &[("pool", pool), ("instance", &instance)], &u8::from(up));
    }
    page.head(
        "headroom_instance_state",
        "gauge",
        "1 for the current state of the instance, 0 for the others.",
    );
    for (pool, _, _, instance, of) in instances() {
        for state in InstanceState::ALL {
            let labels = [("pool", pool.as_str()), ("instance", &instance), ("state", state.name())];
            page.line("headroom_instance_state", &labels, &u8::from(of.state == state));
        }
    }
    page.head("headroom_instance_in_flight", "gauge", "Requests currently in flight to the instance.");
    for (pool, _, _, instance, of) in instances() {
        page.line("headroom_instance_in_flight", &[("pool", pool), ("instance", &instance)], &of.in_flight);
    }
    page.head(
        "headroom_instance_requests_total",
        "counter",
        "Requests sent to the instance, including retries.",
    );
    for (pool, _, _, instance, of) in instances() {
        page.line(
            "headroom_instance_requests_total",
            &[("pool", pool), ("instance", &instance)],
            &of.requests,
        );
    }
    page.head(
        "headroom_instance_failures_total",
        "counter",
        "Requests to the instance that got no response, or a 5xx other than 503.",
    );
    for (pool, _, _, instance, of) in instances() {
        page.line(
            "headroom_instance_failures_total",
            &[("pool", pool), ("instance", &instance)],
            &of.failures,
        );
    }
    page.head("headroom_instance_ejections_total", "counter", "Ejections of the instance, by reason.");
    for (pool, process, address, instance, _) in instances() {
        let counts = process.member_counts(address).ejections;
        for (reason, count) in ["consecutive_failures", "success_rate"].into_iter().zip(counts) {
            let labels = [("pool", pool.as_str()), ("instance", &instance), ("reason", reason)];
            page.line("headroom_instance_ejections_total", &labels, &count);
        }
    }
    page.head(
        "headroom_instance_checks_total",
        "counter",
        "Active health checks of the instance, by outcome.",
    );
    for (pool, process, address, instance, _) in instances() {
        for (outcome, count) in ["failed", "passed"].into_iter().zip(process.member_counts(address).checks) {
            let labels = [("pool", pool.as_str()), ("instance", &instance), ("outcome", outcome)];
            page.line("headroom_instance_checks_total", &labels, &count);
        }
    }
    page.head(
        "headroom_ejections_spared_total",
        "counter",
        "Ejections skipped because too many instances were ejected already.",
    );
    for (pool, process, _) in found() {
        page.line("headroom_ejections_spared_total", &[("pool", &pool.name)], &process.spared());
    }
    page.head(
        "headroom_pool_panic",
        "gauge",
        "1 while too few instances are available, so that all of them receive requests.",
    );
    for (pool, _, counts) in found() {
        page.line("headroom_pool_panic", &[("pool", &pool.name)], &u8::from(counts.panic));
    }
    page.head(metric::RETRIES, "counter", "Failed attempts, by reason and by whether they were retried.");
    for (pool, _, counts) in found() {
        for retry in Retry::ALL {
            for outcome in Retried::ALL {
                let labels =
                    [("pool", pool.name.as_str()), ("reason", retry.name()), ("outcome", outcome.name())];
                page.line(metric::RETRIES, &labels, &counts.retries[retry.index(outcome)]);
            }
        }
    }
    page.head(
        "headroom_affinity_total",
        "counter",
        "Requests to a pool with affinity, by whether the client was kept, new or moved.",
    );
    for (pool, _, counts) in found().filter(|(pool, ..)| pool.affinity.is_some()) {
        for (placed, count) in ["kept", "new", "moved"].into_iter().zip(counts.placed) {
            page.line("headroom_affinity_total", &[("pool", &pool.name), ("placed", placed)], &count);
        }
    }
}
