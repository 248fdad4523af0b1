//! What all cores share: the limits, the service levels and the policies that combine them.
//!
//! Rate cells and in-flight counts are atomic words on cache lines of their own. Each core counts service levels
//! separately, and any core merges its counts here every 100 ms; the same visit asks each policy whether its limits
//! apply, and passes the core's samples to adaptive limits. A reload keeps the state of every class whose name and
//! settings did not change, wherever it is in the file.

mod ids;
mod keyed;
mod limit;
mod named;
mod places;
mod route;

use ids::Ids;
pub(crate) use keyed::{ByKey, KeptKeys};
pub(crate) use limit::{Limit, WHYS, WaitingRoom};
use named::{Named, stood};
pub(crate) use places::Places;
pub(crate) use route::RouteLimits;

use crate::mirror::Mirrors;
use crate::pool::{Prepared, ProcessPool};
use crate::route::RouteIndex;
use crate::settings::{Class, ConcurrencySettings, LIMITS_MAX, Settings};
use control::SettingsError;
use control::concurrency::{Change, Samples};
use control::policy::{Gate, Policy, Transition};
use control::rate::RateClass;
use control::service_level::{ServiceLevel, ServiceLevelSettings, Tally};
use rule::{Names, Phase, PoolId, RateClassId, Rule, RuleError, ServiceLevelId};
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use thiserror::Error;
use units::{Ratio, Timestamp};

/// An invalid configuration.
#[derive(Debug, Error)]
pub enum SharedError {
    /// An invalid class or limit.
    #[error(transparent)]
    Class(#[from] ClassError),
    /// A rule that cannot run.
    #[error(transparent)]
    Rule(#[from] RuleError),
    /// More limits than there are numbers for.
    #[error(
        "{found} rate classes, concurrency limits and pools with `instance_concurrency`; at most {LIMITS_MAX} are \
         possible"
    )]
    TooManyLimits {
        /// How many there are.
        found: usize,
    },
}

/// An invalid class or limit.
#[derive(Debug, Error)]
#[error("{kind} `{name}`")]
pub struct ClassError {
    /// The kind of class.
    pub kind: &'static str,
    /// Its name.
    pub name: String,
    /// What is wrong with it.
    pub source: SettingsError,
}

/// What all cores share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) settings: Settings,
    /// Finds the route of a request.
    pub(crate) index: RouteIndex,
    /// Finds routes, pools and classes by their names.
    pub(crate) named: Named,
    /// Some route buffers bodies before it checks its limits.
    pub(crate) buffers_bodies: bool,
    pub(crate) levels: Vec<Arc<Level>>,
    pub(crate) rates: Vec<Arc<RateClass<AtomicU64>>>,
    pub(crate) keyed: Vec<Arc<ByKey>>,
    /// A second copy of the rate classes, for policies in shadow.
    tried: Vec<Tried>,
    pub(crate) concurrency: Vec<Arc<Limit>>,
    /// For each pool, the slots at its instances; `None` if there is no limit.
    pub(crate) places: Vec<Option<Places>>,
    policies: Vec<Mutex<Policy>>,
    pub(crate) routes: Vec<RouteLimits>,
    /// What all workers share about each pool; a pool is identified by its name.
    pub(crate) pools: Vec<Arc<ProcessPool>>,
    /// The compiled rules of each route, and the names that rules may use.
    pub(crate) rules: Vec<Option<Rule>>,
    pub(crate) response_rules: Vec<Option<Rule>>,
    pub(crate) names: Names,
    pub(crate) mirrors: Arc<Mirrors>,
}

/// A rate class for policies in shadow.
#[derive(Debug, Clone)]
pub(crate) struct Tried {
    rate: Arc<RateClass<AtomicU64>>,
    keyed: Arc<ByKey>,
}

/// A service level class as all cores see it.
#[derive(Debug)]
pub(crate) struct Level {
    pub(crate) settings: ServiceLevelSettings,
    window: Mutex<ServiceLevel>,
    /// The bits of the conforming share at the last merge.
    conforming: AtomicU64,
    /// The sum of all merges.
    ever: Mutex<Tally>,
}

impl Level {
    /// The sum of all merges.
    pub(crate) fn ever(&self) -> Tally {
        *lock(&self.ever)
    }

    /// The share of responses that conformed, as of the last merge; one if there were none.
    pub(crate) fn conforming(&self) -> Ratio {
        Ratio::new(f64::from_bits(self.conforming.load(Ordering::Relaxed))).unwrap_or(Ratio::ONE)
    }

    /// The counts in the window.
    pub(crate) fn tally(&self, now: Timestamp) -> Tally {
        lock(&self.window).tally(now)
    }
}

impl Shared {
    /// Makes the classes of a configuration, or takes them over from the previous one if they did not change.
    pub(crate) fn new(
        settings: Settings,
        before: Option<&Shared>,
        now: Timestamp,
    ) -> Result<Self, SharedError> {
        let found = settings.limit_count();
        if found > LIMITS_MAX {
            return Err(SharedError::TooManyLimits { found });
        }
        let mut ids = Ids::beside(before);
        let levels = levels(&settings, before)?;
        let rates = Rates::new(&settings, before, &mut ids)?;
        let concurrency = concurrency(&settings, before, &mut ids)?;
        let places = Places::of(&settings, before, &mut ids)?;
        let policies = policies(&settings, before)?;
        let deciding = route::deciding(&settings);
        let mut routes = Vec::with_capacity(settings.routes.len());
        for route in &settings.routes {
            let limits = RouteLimits::new(&settings, route, &rates, &concurrency, &deciding);
            if let Some(index) = route.policy
                && let Gate::Engaged { reason, .. } = policies[index].gate()
            {
                let goes_on = |class: usize| rates.stood[class].is_some();
                if settings.policies[index].rate_class.is_none_or(goes_on) {
                    limits.admission.stay_engaged();
                } else {
                    limits.apply(now, &Transition::Engaged { reason });
                }
            }
            routes.push(limits);
        }
        let policies = policies.into_iter().map(Mutex::new).collect();
        let names = names(&settings);
        let (mut rules, mut response_rules) = (Vec::new(), Vec::new());
        for route in &settings.routes {
            rules.push(compile(Phase::Request, route.rule.as_ref(), &names)?);
            response_rules.push(compile(Phase::Response, route.response_rule.as_ref(), &names)?);
        }
        // They also hold the names that they may use.
        let same = |before: &Shared| before.names == names && same_rules(&before.settings, &settings);
        if !before.is_some_and(same) {
            rule::fit(rules.iter().chain(&response_rules).flatten(), &names, rule::Limits::default())?;
        }
        let mirrors = Arc::new(Mirrors::new(&settings, before.map(|before| &*before.mirrors))?);
        let pools = pools(&settings, before)?;
        let Rates { rates, keyed, tried, .. } = rates;
        let buffers_bodies = settings.routes.iter().any(|route| route.buffer_body.is_some());
        let shared = Shared {
            index: RouteIndex::new(&settings.routes),
            named: Named::new(&settings),
            settings,
            buffers_bodies,
            levels,
            rates,
            keyed,
            tried,
            concurrency,
            places,
            policies,
            routes,
            pools,
            rules,
            response_rules,
            names,
            mirrors,
        };
        // Done only when all else has succeeded: on failure, the previous configuration stays in force.
        Places::put_into_force(&shared);
        Ok(shared)
    }

    /// The index in this configuration of each route of another one.
    pub(crate) fn places_of(&self, other: &Shared) -> Vec<Option<usize>> {
        if std::ptr::eq(self, other) {
            return (0..self.settings.routes.len()).map(Some).collect();
        }
        other.settings.routes.iter().map(|route| self.named.route(&route.name)).collect()
    }

    /// Merges the counts of a core since its last visit, and clears them.
    pub(crate) fn merge(&self, now: Timestamp, tallies: &mut [Tally]) {
        for (level, tally) in self.levels.iter().zip(tallies) {
            *lock(&level.ever) += *tally;
            let mut window = lock(&level.window);
            window.absorb(now, std::mem::take(tally));
            let share = window.conforming(now).unwrap_or(Ratio::ONE);
            level.conforming.store(share.get().to_bits(), Ordering::Relaxed);
        }
    }

    /// Passes the samples of a core since its last visit to the adaptive limits, and clears them.
    pub(crate) fn adapt(&self, now: Timestamp, samples: &mut [Option<Box<Samples>>]) -> Vec<(usize, Change)> {
        let mut changes = Vec::new();
        for (index, (limit, samples)) in self.concurrency.iter().zip(samples).enumerate() {
            if let Some(samples) = samples {
                changes
                    .extend(limit.adapt(now, &std::mem::take(&mut **samples)).map(|change| (index, change)));
            }
        }
        changes
    }

    /// Asks the policies whether their limits apply. Only for the configuration in force: a replaced one admits no more
    /// requests.
    pub(crate) fn ask_policies(&self, now: Timestamp) -> Vec<(usize, Transition)> {
        let mut transitions = Vec::new();
        for (index, policy) in self.policies.iter().enumerate() {
            let level = &self.levels[self.settings.policies[index].service_level];
            let transition = lock(policy).tick(now, &lock(&level.window));
            if let Some(transition) = transition {
                for (route, limits) in self.settings.routes.iter().zip(&self.routes) {
                    if route.policy == Some(index) {
                        limits.apply(now, &transition);
                    }
                }
                transitions.push((index, transition));
            }
        }
        transitions
    }

    /// Whether a policy's limits apply now.
    pub(crate) fn is_engaged(&self, policy: usize) -> bool {
        matches!(self.gate(policy), Gate::Engaged { .. })
    }

    /// Whether a policy's limits apply now, since when and why.
    pub(crate) fn gate(&self, policy: usize) -> Gate {
        lock(&self.policies[policy]).gate()
    }
}

fn levels(settings: &Settings, before: Option<&Shared>) -> Result<Vec<Arc<Level>>, ClassError> {
    let classes = &settings.service_levels;
    let stood = stood(classes, before.map(|before| &*before.settings.service_levels));
    let level = |(class, stood): (&Class<ServiceLevelSettings>, Option<usize>)| {
        if let (Some(before), Some(index)) = (before, stood) {
            return Ok(Arc::clone(&before.levels[index]));
        }
        let window = ServiceLevel::new(class.settings)
            .map_err(|source| wrong("service level class", &class.name, source))?;
        let conforming = AtomicU64::new(1.0_f64.to_bits());
        let (settings, ever) = (class.settings, Mutex::default());
        Ok(Arc::new(Level { settings, window: Mutex::new(window), ever, conforming }))
    };
    classes.iter().zip(stood).map(level).collect()
}

/// The rate classes: for all requests together, by key, and a second copy for policies in shadow.
struct Rates {
    rates: Vec<Arc<RateClass<AtomicU64>>>,
    keyed: Vec<Arc<ByKey>>,
    tried: Vec<Tried>,
    /// The index of each class in the previous configuration; `None` for those that start again.
    stood: Vec<Option<usize>>,
}

impl Rates {
    fn new(settings: &Settings, before: Option<&Shared>, ids: &mut Ids) -> Result<Self, ClassError> {
        let classes = &settings.rate_classes;
        let stood = stood(classes, before.map(|before| &*before.settings.rate_classes));
        let (mut rates, mut keyed, mut tried) = (Vec::new(), Vec::new(), Vec::new());
        for (class, stood) in classes.iter().zip(&stood) {
            if let (Some(before), Some(index)) = (before, *stood) {
                rates.push(Arc::clone(&before.rates[index]));
                keyed.push(Arc::clone(&before.keyed[index]));
                tried.push(before.tried[index].clone());
                continue;
            }
            let refused = |source| wrong("rate class", &class.name, source);
            let (id, rate) = (ids.fresh(), class.settings.rate);
            let keys = class.settings.keyed.as_ref().map_or(KEYS, |keyed| keyed.keys);
            let made = || Ok(Arc::new(RateClass::new(id, rate).map_err(refused)?));
            let by_key = || Ok(Arc::new(ByKey::new(id, rate, keys).map_err(refused)?));
            rates.push(made()?);
            keyed.push(by_key()?);
            tried.push(Tried { rate: made()?, keyed: by_key()? });
        }
        Ok(Rates { rates, keyed, tried, stood })
    }
}

fn concurrency(
    settings: &Settings,
    before: Option<&Shared>,
    ids: &mut Ids,
) -> Result<Vec<Arc<Limit>>, ClassError> {
    let classes = &settings.concurrency_limits;
    let stood = stood(classes, before.map(|before| &*before.settings.concurrency_limits));
    let limit = |(class, stood): (&Class<ConcurrencySettings>, Option<usize>)| {
        if let (Some(before), Some(index)) = (before, stood) {
            return Ok(Arc::clone(&before.concurrency[index]));
        }
        let limit = Limit::new(ids.fresh(), &class.settings);
        limit.map(Arc::new).map_err(|source| wrong("concurrency limit", &class.name, source))
    };
    classes.iter().zip(stood).map(limit).collect()
}

/// A policy keeps its state if it watches the same class with the same conditions, whatever its limits are now.
fn policies(settings: &Settings, before: Option<&Shared>) -> Result<Vec<Policy>, ClassError> {
    fn watched<'a>(settings: &'a Settings, policy: &crate::settings::Policy) -> &'a str {
        &settings.service_levels[policy.service_level].name
    }
    let old = before.into_iter().flat_map(|before| before.settings.policies.iter().zip(&before.policies));
    let old: HashMap<&str, _> = old.map(|(old, policy)| (&*old.name, (old, policy))).collect();
    let policy = |policy: &crate::settings::Policy| {
        let kept = before.and_then(|before| {
            let (old, kept) = old.get(&*policy.name)?;
            let same = old.settings == policy.settings
                && watched(&before.settings, old) == watched(settings, policy);
            same.then(|| *lock(kept))
        });
        let make = || Policy::new(policy.settings).map_err(|source| wrong("policy", &policy.name, source));
        kept.map_or_else(make, Ok)
    };
    settings.policies.iter().map(policy).collect()
}

fn names(settings: &Settings) -> Names {
    let mut names = Names::new();
    for (index, class) in (0..).zip(&settings.service_levels) {
        names = names.service_level(&class.name, ServiceLevelId(index));
    }
    for (index, class) in (0..).zip(&settings.rate_classes) {
        names = names.rate(&class.name, RateClassId(index));
    }
    for (index, pool) in (0..).zip(&settings.pools) {
        names = names.pool(&pool.name, PoolId(index));
    }
    names
}

/// Changes what is shared about the pools. Done last: pools that continue are in force already.
fn pools(settings: &Settings, before: Option<&Shared>) -> Result<Vec<Arc<ProcessPool>>, ClassError> {
    let prepare = |pool| Prepared::new(pool).map_err(|source| wrong("pool", &pool.name, source));
    let prepared: Vec<Prepared> = settings.pools.iter().map(prepare).collect::<Result<_, _>>()?;
    let mut seen = HashSet::new();
    let pools = settings.pools.iter().zip(prepared).map(|(pool, prepared)| {
        let is_first = seen.insert(&*pool.name);
        let known = before.filter(|_| is_first).and_then(|before| {
            let index = before.named.pool(&pool.name)?;
            before.pools.get(index)
        });
        match known {
            Some(known) => {
                known.configure(prepared);
                Arc::clone(known)
            }
            None => Arc::new(ProcessPool::new(prepared)),
        }
    });
    Ok(pools.collect())
}

/// Compiles the rule of a route, and checks that all functions and names that it uses exist.
fn compile(
    phase: Phase,
    rule: Option<&crate::settings::Rule>,
    names: &Names,
) -> Result<Option<Rule>, RuleError> {
    let Some(rule) = rule else { return Ok(None) };
    let rule = Rule::compile_for(phase, &rule.name, &rule.source)?;
    match rule.unknown(names).into_iter().next() {
        Some(unknown) => Err(unknown),
        None => Ok(Some(rule)),
    }
}

/// Whether two configurations have the same rules in the same order.
fn same_rules(one: &Settings, other: &Settings) -> bool {
    fn rules(settings: &Settings) -> impl Iterator<Item = [Option<&crate::settings::Rule>; 2]> {
        settings.routes.iter().map(|route| [route.rule.as_ref(), route.response_rule.as_ref()])
    }
    rules(one).eq(rules(other))
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // The data is consistent between any two statements.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn wrong(kind: &'static str, name: &str, source: SettingsError) -> ClassError {
    ClassError { kind, name: name.to_owned(), source }
}

/// The most keys that a rate class remembers for rules.
const KEYS: u32 = 10_000;
