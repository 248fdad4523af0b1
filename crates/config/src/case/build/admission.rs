//! The limits before the balancer of a service: classes, limits and policies with the keys of a gateway file.

use super::Builder;
use crate::case::file::{AdmissionTable, CaseTable};
use crate::check::classes::{Classes, concurrency_limits, or_empty, policies, rate_classes, service_levels};
use control::admission::WaitingSettings;
use control::concurrency::AdaptiveSettings;
use control::service_level::ServiceLevelSettings;
use fields::{At, Place, Report, find};
use gateway::settings::{Class, ConcurrencySettings, Policy, RateClassSettings};
use sim::settings::{Admission, Bound, ConcurrencyLimit, Gated, Limits};

/// The classes of a case by their index.
pub(super) struct Known<'a> {
    tables: Classes<'a>,
    levels: Vec<Class<ServiceLevelSettings>>,
    rates: Vec<Class<RateClassSettings>>,
    limits: Vec<Class<ConcurrencySettings>>,
    policies: Vec<Policy>,
}

impl<'a> Known<'a> {
    pub(super) fn of(table: &'a CaseTable, report: &mut Report) -> Self {
        let tables = Classes {
            service_levels: or_empty(table.service_levels.as_ref()),
            rate_classes: or_empty(table.rate_classes.as_ref()),
            concurrency_limits: or_empty(table.concurrency_limits.as_ref()),
            policies: or_empty(table.policies.as_ref()),
            priorities: None,
            mirrors: or_empty(None),
        };
        not_simulated(&tables, report);
        Known {
            levels: service_levels(&tables, report),
            rates: rate_classes(&tables, report),
            limits: concurrency_limits(&tables, report),
            policies: policies(&tables, report),
            tables,
        }
    }

    fn limits(&self, rate: Option<usize>, limit: Option<usize>) -> Limits {
        Limits {
            rate: rate.and_then(|rate| Some(self.rates.get(rate)?.settings.rate)),
            concurrency: limit.and_then(|limit| Some(concurrency(&self.limits.get(limit)?.settings))),
        }
    }

    fn gated(&self, policy: usize) -> Option<Gated> {
        let policy = self.policies.get(policy)?;
        Some(Gated {
            service_level: self.levels.get(policy.service_level)?.settings,
            policy: policy.settings,
            limits: self.limits(policy.rate_class, policy.concurrency),
        })
    }
}

/// Simulated requests have no client or key, and shadow limits have no effect.
fn not_simulated(tables: &Classes, report: &mut Report) {
    let mut wrong = |place: &Place, what: &str, help: &str| {
        report.wrong(place, what.to_owned(), "not simulated", help.to_owned());
    };
    for class in tables.rate_classes.iter().filter_map(|named| named.value.as_ref()) {
        if let Some(key) = &class.key {
            wrong(&key.place, "simulated requests have no clients to tell apart", "leave `key` out");
        }
    }
    let shadows = [
        tables
            .rate_classes
            .iter()
            .filter_map(|named| named.value.as_ref()?.shadow.as_ref())
            .collect::<Vec<_>>(),
        tables.concurrency_limits.iter().filter_map(|named| named.value.as_ref()?.shadow.as_ref()).collect(),
        tables.policies.iter().filter_map(|named| named.value.as_ref()?.shadow.as_ref()).collect(),
    ];
    for shadow in shadows.iter().flatten().filter(|at| at.value.0) {
        let help = "leave `shadow` out: nothing is at risk here, so try the limit itself";
        wrong(&shadow.place, "what only watches changes nothing", help);
    }
}

fn concurrency(found: &ConcurrencySettings) -> ConcurrencyLimit {
    ConcurrencyLimit {
        bound: match &found.adaptive {
            None => Bound::Fixed(found.limit),
            Some(adaptive) => Bound::Adaptive(AdaptiveSettings {
                initial: found.limit,
                least: adaptive.least,
                most: adaptive.most,
                prior: adaptive.prior,
            }),
        },
        queue: found.queue.map(|queue| WaitingSettings::bounded(queue.places, queue.longest_wait)),
    }
}

impl Builder<'_> {
    pub(super) fn admission(&mut self, table: Option<&At<AdmissionTable>>) -> Admission {
        let Some(At { value: table, place }) = table else { return Admission::default() };
        let AdmissionTable { rate_class, concurrency, policy } = table;
        if rate_class.is_none()
            && concurrency.is_none()
            && policy.is_none()
            && !self.report.knows_of(&place.path)
        {
            let help = "add `rate_class`, `concurrency` or `policy`".to_owned();
            self.report.wrong(place, "limits nothing".to_owned(), "empty", help);
        }
        let tables = &self.classes.tables;
        let rate = rate_class.as_ref();
        let rate = rate.and_then(|wanted| find(tables.rate_classes, "rate class", wanted, self.report));
        let limit = concurrency.as_ref();
        let limit = limit
            .and_then(|wanted| find(tables.concurrency_limits, "concurrency limit", wanted, self.report));
        let found = policy.as_ref();
        let found = found.and_then(|wanted| find(tables.policies, "policy", wanted, self.report));
        if let (Some(at), Some(gated)) = (policy, found.and_then(|place| self.classes.policies.get(place))) {
            let twice = [
                rate.filter(|rate| gated.rate_class == Some(*rate)).map(|_| "rate class"),
                limit.filter(|limit| gated.concurrency == Some(*limit)).map(|_| "concurrency limit"),
            ];
            for what in twice.into_iter().flatten() {
                let message = format!("the {what} of the policy `{}` applies always already", gated.name);
                let help = "leave it out here, or give the policy one of its own".to_owned();
                self.report.wrong(&at.place, message, "applied twice", help);
            }
        }
        Admission {
            always: self.classes.limits(rate, limit),
            policy: found.and_then(|policy| self.classes.gated(policy)),
        }
    }
}
