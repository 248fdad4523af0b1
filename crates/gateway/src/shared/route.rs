//! The limits of one route, sorted by what they need of its requests.

use super::{ByKey, Limit, Rates};
use crate::settings::{KeyBy, Policy, Route, RoutePriority, Settings};
use control::ClassId;
use control::admission::{Admission, Limits, Shadow};
use control::policy::Transition;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use units::Timestamp;

/// The limits of one route.
#[derive(Debug)]
pub(crate) struct RouteLimits {
    pub(crate) admission: Admission<AtomicU64>,
    pub(crate) level: Option<usize>,
    /// The limits that decide and apply only while the policy is engaged.
    gated: Vec<ClassId>,
    /// None of the fields below is set, so a request needs the admission only.
    pub(crate) is_plain: bool,
    pub(crate) priority: Option<RoutePriority>,
    pub(crate) deadline_header: Option<String>,
    /// Rate classes by key: one that always applies, and the policy's.
    pub(crate) keyed: [Option<KeyedClass>; 2],
    /// Shadow limits: those that always apply, and those of the policy.
    pub(crate) shadows: [Option<Shadow<AtomicU64>>; 2],
    /// The concurrency limits that decide: the one that always applies, and the policy's.
    pub(crate) limits: [Option<usize>; 2],
    /// The adaptive limits that learn from what is in shadow here, because they decide nowhere.
    pub(crate) learning: [Option<usize>; 2],
}

/// A rate class by key.
#[derive(Debug)]
pub(crate) struct KeyedClass {
    pub(crate) by: KeyBy,
    pub(crate) classes: Arc<ByKey>,
    pub(crate) shadow: bool,
    /// The index under which each worker keeps its copies of the keys.
    pub(crate) kept: usize,
}

impl RouteLimits {
    /// The limits that a route names; `deciding` tells for each concurrency limit whether it decides on any route.
    pub(super) fn new(
        settings: &Settings,
        route: &Route,
        rates: &Rates,
        concurrency: &[Arc<Limit>],
        deciding: &[bool],
    ) -> Self {
        let Rates { rates, keyed, tried, .. } = rates;
        let policy: Option<&Policy> = route.policy.map(|index| &settings.policies[index]);
        let parts = [
            (route.rate_class, route.concurrency, false),
            policy
                .map_or((None, None, false), |policy| (policy.rate_class, policy.concurrency, policy.shadow)),
        ];
        let sorted = parts.map(|(rate, limit, shadow)| {
            let mut part = Part::default();
            if let Some(index) = rate {
                let class = &settings.rate_classes[index].settings;
                // A class that decides elsewhere must not be affected by a policy that tries it.
                let (rate, keyed) = match shadow && !class.shadow {
                    true => (&tried[index].rate, &tried[index].keyed),
                    false => (&rates[index], &keyed[index]),
                };
                let shadow = shadow || class.shadow;
                match &class.keyed {
                    Some(found) => {
                        let classes = Arc::clone(keyed);
                        let kept = 2 * index + usize::from(shadow);
                        part.keyed = Some(KeyedClass { by: found.by.clone(), classes, shadow, kept });
                        part.deciding = (!shadow).then(|| rate.id());
                    }
                    None => part.side(shadow).rate = Some(Arc::clone(rate)),
                }
            }
            if let Some(index) = limit {
                let in_shadow = settings.concurrency_limits[index].settings.shadow;
                let limit = &concurrency[index];
                let count = if shadow && !in_shadow { &limit.tried } else { &limit.count };
                let shadow = shadow || in_shadow;
                part.side(shadow).concurrency = Some(Arc::clone(count));
                part.limit = (!shadow).then_some(index);
                part.learning = (shadow && limit.is_adaptive() && !deciding[index]).then_some(index);
            }
            part
        });
        let [always, gated] = sorted;
        let extra = |index: usize| concurrency[index].waiting.is_some() || concurrency[index].is_adaptive();
        let is_plain = route.priority.is_none()
            && route.deadline_header.is_none()
            && [&always, &gated].iter().all(|part| part.keyed.is_none() && part.watching.is_none())
            && ![always.limit, gated.limit].into_iter().flatten().any(extra);
        let ours = gated.live.rate.iter().map(|class| class.id());
        let ours = ours.chain(gated.live.concurrency.iter().map(|limit| limit.id()));
        RouteLimits {
            gated: ours.chain(gated.deciding.iter().copied()).collect(),
            level: policy.map(|policy| policy.service_level).or(route.service_level),
            is_plain,
            priority: route.priority.clone(),
            deadline_header: route.deadline_header.clone(),
            limits: [always.limit, gated.limit],
            learning: [always.learning, gated.learning],
            keyed: [always.keyed, gated.keyed],
            shadows: [always.watching.map(Shadow::new), gated.watching.map(Shadow::new)],
            admission: Admission::new(always.live, gated.live),
        }
    }

    /// Applies a transition of the policy.
    pub(super) fn apply(&self, now: Timestamp, transition: &Transition) {
        self.admission.apply(now, transition);
        if let [_, Some(shadow)] = &self.shadows {
            shadow.apply(now, transition);
        }
    }

    /// Whether the limit that refused is one of the policy's.
    pub(crate) fn is_gated(&self, class: ClassId) -> bool {
        self.gated.contains(&class)
    }
}

/// The limits that always apply, or those of the policy.
#[derive(Default)]
struct Part {
    live: Limits<AtomicU64>,
    watching: Option<Limits<AtomicU64>>,
    keyed: Option<KeyedClass>,
    /// Rate classes by key that decide.
    deciding: Option<ClassId>,
    limit: Option<usize>,
    learning: Option<usize>,
}

impl Part {
    fn side(&mut self, shadow: bool) -> &mut Limits<AtomicU64> {
        if shadow { self.watching.get_or_insert_default() } else { &mut self.live }
    }
}

/// Whether each concurrency limit decides on any route. One that does must not be affected by a policy that tries it.
pub(super) fn deciding(settings: &Settings) -> Vec<bool> {
    let mut deciding = vec![false; settings.concurrency_limits.len()];
    for route in &settings.routes {
        let policy = route.policy.map(|index| &settings.policies[index]);
        let gated = policy.filter(|policy| !policy.shadow).and_then(|policy| policy.concurrency);
        for limit in [route.concurrency, gated].into_iter().flatten() {
            deciding[limit] = !settings.concurrency_limits[limit].settings.shadow;
        }
    }
    deciding
}
