//! Balancing, and the start and end of instances.

use super::Builder;
use super::keys::COUNTED;
use super::service::share_of;
use crate::case::file::{BalancingTable, ConnectionTable, DeploymentTable, RetriesTable, StartTable};
use crate::check::{limits, pools};
use crate::file::{FileAffinity, FileHealth};
use control::admission::WaitingSettings;
use control::concurrency::Queue;
use fields::{At, Span, word};
use sim::settings::{
    Algorithm, Balancing, CLIENT, Connections, Deployment, HealthChecks, KeyId, Retries, Reuse, SlotQueue,
    Start, Zones,
};
use std::time::Duration;

impl Builder<'_> {
    pub(super) fn balancing(&mut self, table: &BalancingTable, zones: &Zones) -> Balancing {
        let algorithms = [
            ("round-robin", Algorithm::RoundRobin),
            ("weighted-round-robin", Algorithm::WeightedRoundRobin),
            ("least-outstanding", Algorithm::LeastOutstanding),
            ("peak-ewma", Algorithm::PeakEwma),
            ("consistent-hash", Algorithm::ConsistentHash { key: KeyId(0) }),
        ];
        let reuses = [
            ("random", Some(Reuse::Random)),
            ("most-recent", Some(Reuse::MostRecent)),
            ("least-recent", Some(Reuse::LeastRecent)),
            ("never", None),
        ];
        let reuse = word(table.reuse.as_ref(), &reuses, self.report);
        let connections = match reuse {
            Some(reuse) => {
                if let Some(at) = &table.connection {
                    let help = "add `reuse: never`, or remove it".to_owned();
                    self.report.wrong(&at.place, "only with `reuse: never`".to_owned(), "no effect", help);
                }
                Connections::Kept { reuse, idle_timeout: self.span(table.idle_timeout.as_ref(), IDLE) }
            }
            None => {
                let cost = table.connection.as_ref().map(|at| &at.value);
                let mut span = |pick: fn(&ConnectionTable) -> Option<&At<Span>>| {
                    self.span(cost.and_then(pick), Duration::ZERO)
                };
                Connections::PerCall {
                    caller_cpu: span(|cost| cost.caller_cpu.as_ref()),
                    server_cpu: span(|cost| cost.server_cpu.as_ref()),
                    delay: span(|cost| cost.delay.as_ref()),
                }
            }
        };
        let algorithm = word(table.algorithm.as_ref(), &algorithms, self.report);
        let algorithm = self.hashed(table, algorithm);
        let affinity = table.affinity.as_ref().and_then(|at| self.affinity(at, algorithm));
        let ejection = table.ejection.as_ref();
        let ejection = ejection.and_then(|at| pools::ejection(&at.value, self.report).checked().ok());
        let usual = gateway::settings::Pool::new("", Vec::new()).panic_below;
        let health = table.health.as_ref().map(|at| self.health(&at.value));
        let found = Balancing { algorithm, affinity, ejection, health, ..Balancing::default() };
        if let Some(at) = table.panic_below.as_ref().filter(|_| !found.is_managed()) {
            let help = "add `ejection: {}`, or remove it".to_owned();
            let message = "only with `ejection`, `health`, `affinity` or `consistent-hash`".to_owned();
            self.report.wrong(&at.place, message, "no effect", help);
        }
        if let Some(at) = table.cross_zone.as_ref().filter(|_| found.is_managed() && zones.are_separate()) {
            let help =
                "remove `cross_zone`, or `ejection`, `health`, `affinity` and `consistent-hash`".to_owned();
            let message =
                "`false` cannot be simulated with `ejection`, `health`, `affinity` or `consistent-hash`"
                    .to_owned();
            self.report.wrong(&at.place, message, "not simulated together", help);
        }
        Balancing {
            panic_below: table.panic_below.as_ref().map_or(usual, |at| at.value.0),
            nodes: self.nodes(table, zones),
            connections,
            timeout: table.timeout.as_ref().map(|at| at.value.0),
            retries: table.retries.as_ref().map(|at| {
                let RetriesTable { most, budget, backoff } = &at.value;
                Retries {
                    most: most.value.0,
                    budget: share_of(budget.as_ref(), 0.2),
                    backoff: self.span(backoff.as_ref(), Duration::ZERO),
                }
            }),
            instance_limit: table.instance_limit.as_ref().map(|at| at.value.0),
            queue: self.slot_queue(table),
            slow_start: table.slow_start.as_ref().map(|at| at.value.0),
            network: self.span(table.network.as_ref(), Duration::ZERO),
            ..found
        }
    }

    /// The queue of the requests that wait for a slot at an instance.
    fn slot_queue(&mut self, table: &BalancingTable) -> Option<SlotQueue> {
        let at = table.queue.as_ref()?;
        if table.instance_limit.is_none() {
            let message = "`queue` requires `instance_limit`: without a limit, no request waits".to_owned();
            let help = "add `instance_limit`, or remove `queue`".to_owned();
            self.report.wrong(&at.place, message, "for which slots?", help);
            return None;
        }
        let Queue { places, longest_wait } = limits::queue(&at.value, self.report);
        let settings = WaitingSettings::bounded(places, longest_wait);
        Some(SlotQueue { settings, classes: self.classes.priorities.len().max(1) as u8 })
    }

    /// The algorithm with the key that it hashes.
    fn hashed(&mut self, table: &BalancingTable, algorithm: Algorithm) -> Algorithm {
        match (algorithm, &table.hash, &table.algorithm) {
            (Algorithm::ConsistentHash { .. }, Some(at), _) => {
                let traffic = self.classes.traffic;
                let key = traffic.and_then(|traffic| self.keys.find(at, traffic, self.report));
                // Anything else, where the key was reported.
                key.map_or(Algorithm::RoundRobin, |key| Algorithm::ConsistentHash { key })
            }
            (Algorithm::ConsistentHash { .. }, None, Some(at)) => {
                let help = "add `hash: client`, `hash: { header: X-Api-Key }` or `hash: { cookie: sid }`";
                let message = "`consistent-hash` requires `hash`".to_owned();
                self.report.wrong(&at.place, message, "the hash of what?", help.to_owned());
                Algorithm::RoundRobin
            }
            (_, Some(at), _) => {
                let help = "add `algorithm: consistent-hash`, or remove it".to_owned();
                let message = "only with `algorithm: consistent-hash`".to_owned();
                self.report.wrong(&at.place, message, "no effect", help);
                algorithm
            }
            _ => algorithm,
        }
    }

    /// Active checks. All simulated responses to them have the status that passes.
    fn health(&mut self, table: &FileHealth) -> HealthChecks {
        let found = pools::health(table, self.report);
        if let Some(at) = &table.status {
            let message = "a simulated check has no status".to_owned();
            self.report.wrong(&at.place, message, "no effect", "remove it".to_owned());
        }
        HealthChecks {
            interval: found.interval,
            timeout: found.timeout,
            healthy_after: found.healthy_after,
            unhealthy_after: found.unhealthy_after,
        }
    }

    /// The clients that stay with their instance.
    fn affinity(&mut self, at: &At<FileAffinity>, algorithm: Algorithm) -> Option<KeyId> {
        if matches!(algorithm, Algorithm::ConsistentHash { .. }) {
            let message = "clients are kept together by `consistent-hash` already".to_owned();
            let help = "remove `affinity`, or balance another way".to_owned();
            self.report.wrong(&at.place, message, "a second way", help);
        }
        pools::affinity(&at.value, self.report);
        let traffic = self.classes.traffic?;
        self.keys.named(CLIENT, COUNTED, &at.place, traffic, self.report)
    }

    pub(super) fn start(&mut self, table: Option<&StartTable>) -> Start {
        let get = |pick: fn(&StartTable) -> Option<&At<Span>>| table.and_then(pick);
        let factor = table.and_then(|table| table.warm_up_factor.as_ref());
        if let Some(at) = factor.filter(|at| at.value.0 < 1.0) {
            let message = format!("{} is below 1", at.value.0);
            self.report.wrong(&at.place, message, "faster than warm", "1.5 is usual".to_owned());
        }
        let launches = table.and_then(|table| table.launches_per_second.as_ref());
        Start {
            provision: self.span(get(|table| table.provision.as_ref()), Duration::ZERO),
            boot: self.span(get(|table| table.boot.as_ref()), Duration::ZERO),
            boot_cpu: share_of(table.and_then(|table| table.boot_cpu.as_ref()), 0.0),
            warm_up: self.span(get(|table| table.warm_up.as_ref()), Duration::ZERO),
            warm_up_factor: factor.map_or(1.0, |at| at.value.0),
            drain: self.span(get(|table| table.drain.as_ref()), DRAIN),
            launches_per_second: launches.map(|at| self.above_zero(at)),
            launch_burst: table.and_then(|table| table.launch_burst.as_ref()).map_or(1, |at| at.value.0),
        }
    }

    pub(super) fn deployment(&mut self, table: &DeploymentTable) -> Deployment {
        let DeploymentTable { at, least_healthy, most } = table;
        let most_found = most.as_ref().map_or(2.0, |at| at.value.0);
        let least = share_of(least_healthy.as_ref(), 1.0);
        if let Some(at) = most.as_ref().filter(|at| at.value.0 < 1.0 || at.value.0 <= least) {
            let message = format!("at most {} of the count may run, and {least} of it must", at.value.0);
            let help = "no instance could be replaced; 2 is usual".to_owned();
            self.report.wrong(&at.place, message, "nothing can change", help);
        }
        Deployment {
            at: self.warm_up + self.span(Some(at), Duration::ZERO),
            least_healthy: least,
            most: most_found,
        }
    }
}

/// An ALB's default towards clients; towards targets it is not published.
const IDLE: Duration = Duration::from_secs(60);
/// The default of a target group's deregistration delay.
const DRAIN: Duration = Duration::from_secs(300);
