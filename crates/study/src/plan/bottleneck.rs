//! Which part limits the throughput: the one that formulas name, or the one that the simulation shows.

use super::case::{Study, throughput};
use super::parts::Parts;
use super::trial::Trial;
use super::{Load, REPLICAS_MAX};
use documents::plan::{Bottleneck, Change, Kind, per_second};

impl Study<'_> {
    pub(super) fn bottleneck(
        &self,
        parts: &Parts,
        at_limit: f64,
        at_load: &[Trial],
        changes: &[Change],
    ) -> Bottleneck {
        let Some(limit) = Limit::of(parts, at_limit, changes, &self.system.services[self.service].name)
        else {
            return Bottleneck {
                kind: Kind::Load,
                name: None,
                limit_per_second: None,
                said: "no part of the case has a limit".to_owned(),
            };
        };
        let used = throughput(at_load).value / limit.per_second;
        let full = match self.load {
            Load::Rate(rate) => rate >= SATURATED * limit.per_second,
            Load::Users { users, think } => {
                let enough = limit.per_second * (parts.alone.0 + think.as_secs_f64());
                f64::from(users) >= enough || used >= SATURATED
            }
        };
        let kind = if full { limit.kind } else { Kind::Load };
        let Limit { name, .. } = &limit;
        let rate = per_second(limit.per_second);
        let replicas = if self.now == 1 { "1 replica".to_owned() } else { format!("{} replicas", self.now) };
        let by = if limit.is_simulated {
            "; the formulas do not know this limit, the simulation shows it"
        } else {
            ""
        };
        let said = match (kind, limit.kind) {
            (Kind::Replica, _) => {
                let most = self.parts(REPLICAS_MAX);
                let next = most.tightest(Some(Kind::Shared)).map_or(String::new(), |part| {
                    let limit = per_second(part.limit());
                    format!("; more replicas help up to {limit}, the limit of {} (shared)", part.name)
                });
                format!("the replica: {name}, {rate} with {replicas}{next}{by}")
            }
            (Kind::Shared, _) => format!("a shared part: {name}, {rate}; more replicas do not help{by}"),
            (_, of) => format!(
                "none with this load: the tightest part, {name} ({}), is {:.0} % in use; its limit is {rate}{by}",
                if of == Kind::Replica { "replica" } else { "shared, more replicas do not raise it" },
                100.0 * used,
            ),
        };
        Bottleneck { kind, name: Some(limit.name), limit_per_second: Some(limit.per_second), said }
    }
}

/// The limit of a system, and the part that has it.
struct Limit {
    name: String,
    kind: Kind,
    per_second: f64,
    /// Whether formulas do not show it: locks, connections that belong to a process, balancing.
    is_simulated: bool,
}

impl Limit {
    /// That of the tightest part; where the simulation stays well below it, that of the part of which one more raises
    /// the throughput the most.
    fn of(parts: &Parts, at_limit: f64, changes: &[Change], service: &str) -> Option<Self> {
        let tight = parts.tightest(None)?;
        if explained(parts, at_limit) {
            let (name, kind) = (tight.name.clone(), tight.kind);
            return Some(Limit { name, kind, per_second: tight.limit(), is_simulated: false });
        }
        let gains = changes.iter().filter(|change| change.part.is_some());
        let most = gains.max_by(|a, b| a.limit_percent.value.total_cmp(&b.limit_percent.value));
        let most = most.filter(|change| change.limit_percent.low.is_some_and(|low| low > 0.0));
        let (name, kind) = match most {
            Some(change) => (change.part.clone().unwrap_or_default(), change.kind),
            None => (format!("queues and balancing of `{service}`"), Kind::Replica),
        };
        Some(Limit { name, kind, per_second: at_limit, is_simulated: true })
    }
}

/// Whether the formulas explain the simulated limit.
pub(super) fn explained(parts: &Parts, at_limit: f64) -> bool {
    at_limit >= EXPLAINED * parts.limit()
}

/// A simulated throughput that is lower, as a share of what the formulas give, has another cause.
const EXPLAINED: f64 = 0.85;
/// A part that is used more is at its limit.
const SATURATED: f64 = 0.8;
