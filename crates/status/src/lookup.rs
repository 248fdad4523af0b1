//! Looks up related parts of the document by name.

use crate::{Limit, LimitKind, Policy, Pool, Provenance, Route, Status};

impl Status {
    /// The policy of a route.
    pub fn policy_of(&self, route: &Route) -> Option<&Policy> {
        self.policies.iter().find(|policy| Some(&policy.name) == route.policy.as_ref())
    }

    /// The limit of this kind and name.
    pub fn limit(&self, kind: LimitKind, name: &str) -> Option<&Limit> {
        self.limits.iter().find(|limit| limit.kind == kind && limit.name == name)
    }

    /// The pool of a route.
    pub fn pool_of(&self, route: &Route) -> Option<&Pool> {
        self.pools.iter().find(|pool| pool.name == route.pool)
    }

    /// The measurements behind its values.
    pub fn provenances(&self) -> impl Iterator<Item = &Provenance> {
        let levels = self.service_levels.iter().filter_map(|class| class.provenance.as_ref());
        levels.chain(self.limits.iter().filter_map(|limit| limit.provenance.as_ref()))
    }

    /// Whether a limit refuses requests where the file applies it: a limit in shadow does not, nor does one that only
    /// policies in shadow use.
    pub fn refuses(&self, limit: &Limit) -> bool {
        let always = self.routes.iter().any(|route| limit.is_of_route(route));
        let mut policies = self.policies.iter().filter(|policy| limit.is_of_policy(policy)).peekable();
        let unused = policies.peek().is_none();
        !limit.shadow && (always || unused || policies.any(|policy| !policy.shadow))
    }
}

impl Limit {
    /// The key of limits that are separate for each client.
    pub const BY_CLIENT: &str = "client";

    /// Whether it always applies on a route.
    pub fn is_of_route(&self, route: &Route) -> bool {
        self.is(&route.rate_class, &route.concurrency)
    }

    /// Whether it applies while a policy is engaged.
    pub fn is_of_policy(&self, policy: &Policy) -> bool {
        self.is(&policy.rate_class, &policy.concurrency)
    }

    fn is(&self, rate_class: &Option<String>, concurrency: &Option<String>) -> bool {
        let name = match self.kind {
            LimitKind::RateClass => rate_class,
            LimitKind::Concurrency => concurrency,
        };
        name.as_ref() == Some(&self.name)
    }
}
