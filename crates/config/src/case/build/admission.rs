//! The limits before the balancer of a service: classes, limits and policies with the keys of a gateway file.

use super::Builder;
use super::keys::{Keys, classes};
use crate::case::file::{AdmissionTable, CaseTable, TrafficTable};
use crate::check::classes::{Classes, concurrency_limits, or_empty, policies, rate_classes, service_levels};
use crate::check::key::header_name;
use crate::check::limits;
use crate::file::FilePriority;
use control::admission::{WaitingSettings, patience};
use control::concurrency::{AdaptiveSettings, Priorities, Priority};
use control::service_level::ServiceLevelSettings;
use fields::{At, Report, Text, find};
use gateway::settings::{Class, ConcurrencySettings, Policy, RateClassSettings, RoutePriority};
use sim::settings::{
    Admission, Bound, ConcurrencyLimit, Gated, Keyed, Limits, RateLimit, RequestDeadline, RequestPriority,
};

/// The classes of a case by their index.
pub(super) struct Known<'a> {
    tables: Classes<'a>,
    levels: Vec<Class<ServiceLevelSettings>>,
    rates: Vec<Class<RateClassSettings>>,
    limits: Vec<Class<ConcurrencySettings>>,
    policies: Vec<Policy>,
    /// The names of the priority classes, the lowest first.
    pub(super) priorities: Vec<String>,
    /// The key of each rate class that has one.
    keyed: Vec<Option<Keyed>>,
    pub(super) traffic: Option<&'a TrafficTable>,
}

impl<'a> Known<'a> {
    pub(super) fn of(table: &'a CaseTable, keys: &Keys, report: &mut Report) -> Self {
        let tables = Classes {
            service_levels: or_empty(table.service_levels.as_ref()),
            rate_classes: or_empty(table.rate_classes.as_ref()),
            concurrency_limits: or_empty(table.concurrency_limits.as_ref()),
            policies: or_empty(table.policies.as_ref()),
            priorities: table.priorities.as_ref().map(|list| list.value.len()),
            mirrors: or_empty(None),
        };
        let traffic = table.traffic.0.as_ref().map(|at| &at.value);
        let rates = rate_classes(&tables, report);
        let readable = tables.rate_classes.iter().filter_map(|named| named.value.as_ref());
        let keyed = readable.zip(&rates).map(|(class, found)| {
            let by = keys.find(class.key.as_ref()?, traffic?, report)?;
            Some(Keyed { by, otherwise: keys.client(), keys: found.settings.keyed.as_ref()?.keys })
        });
        Known {
            keyed: keyed.collect(),
            priorities: limits::priorities(table.priorities.as_ref(), report),
            traffic,
            levels: service_levels(&tables, report),
            rates,
            limits: concurrency_limits(&tables, report),
            policies: policies(&tables, report),
            tables,
        }
    }

    fn limits(&self, rate: Option<usize>, limit: Option<usize>, shadow: bool) -> Limits {
        let rate = rate.and_then(|rate| {
            let found = &self.rates.get(rate)?.settings;
            let keyed = self.keyed.get(rate).copied().flatten();
            Some(RateLimit { rate: found.rate, keyed, shadow: found.shadow || shadow })
        });
        let concurrency = limit.and_then(|limit| {
            let found = concurrency(&self.limits.get(limit)?.settings);
            Some(ConcurrencyLimit { shadow: found.shadow || shadow, ..found })
        });
        Limits { rate, concurrency }
    }

    fn gated(&self, policy: usize) -> Option<Gated> {
        let policy = self.policies.get(policy)?;
        Some(Gated {
            service_level: self.levels.get(policy.service_level)?.settings,
            policy: policy.settings,
            limits: self.limits(policy.rate_class, policy.concurrency, policy.shadow),
        })
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
        // Shares that contradict each other are among the problems.
        priorities: Priorities::new(&found.priorities).unwrap_or(Priorities::NONE),
        classes: found.priorities.len().max(1) as u8,
        shadow: found.shadow,
    }
}

impl Builder<'_> {
    pub(super) fn admission(&mut self, table: Option<&At<AdmissionTable>>) -> Admission {
        let Some(At { value: table, place }) = table else { return Admission::default() };
        let AdmissionTable { rate_class, concurrency, policy, priority, deadline_header } = table;
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
            priority: priority.as_ref().map_or(RequestPriority::None, |at| self.priority(at)),
            deadline: deadline_header.as_ref().and_then(|at| self.deadline(at)),
            always: self.classes.limits(rate, limit, false),
            policy: found.and_then(|policy| self.classes.gated(policy)),
        }
    }

    /// The key that says how long clients wait, with the time of each of its values.
    fn deadline(&mut self, at: &At<Text>) -> Option<RequestDeadline> {
        let header = header_name(at, self.report);
        let example = "shares: { 250ms: 20%, 2s: 80% }";
        let key = self.keys.named(&header, example, &at.place, self.classes.traffic?, self.report)?;
        let names = self.keys.names(key);
        let help = format!("write `{header}: {{ {example} }}` in `traffic.keys`");
        if names.is_empty() {
            let message = format!("the values of `{header}` have no names");
            self.report.wrong(&at.place, message, "how long is each?", help.clone());
        }
        let values: Vec<_> = names.iter().map(|name| patience(&header, name.as_bytes())).collect();
        for (name, _) in names.iter().zip(&values).filter(|(_, found)| found.is_none()) {
            let message = format!("the value `{name}` of `{header}` is not a time of at most a day");
            self.report.wrong(&at.place, message, "ignored by a gateway", help.clone());
        }
        Some(RequestDeadline { key, values: values.into() })
    }

    pub(super) fn priority(&mut self, at: &At<FilePriority>) -> RequestPriority {
        let names: Vec<&str> = self.classes.priorities.iter().map(String::as_str).collect();
        let (header, otherwise) = match limits::priority(at, &names, self.report) {
            RoutePriority::Class(class) => return RequestPriority::Class(Priority(class)),
            RoutePriority::Header { name, otherwise } => (name, otherwise),
        };
        let traffic = self.classes.traffic;
        let example = format!("shares: {{ {}: 20% }}", names.last().unwrap_or(&"high"));
        let key =
            traffic.and_then(|traffic| self.keys.named(&header, &example, &at.place, traffic, self.report));
        let Some(key) = key else { return RequestPriority::None };
        let classes = classes(self.keys.names(key), &names, &header, &at.place, self.report);
        let classes = classes.into_iter().map(Priority).collect();
        RequestPriority::ByKey { key, classes, otherwise: Priority(otherwise) }
    }
}
