//! What all cores share: the limits, the service levels and the policies that join them.
//!
//! Rate cells and in-flight counts are atomic words on cache lines of their own. Service levels are counted by each
//! core and merged here every 100 ms by whichever core comes by; the same visit asks each policy whether its limits
//! apply. A reload takes over every class whose name, place in the file and settings did not change,
//! with all that it knows.

use crate::settings::Settings;
use control::admission::{Admission, Limits};
use control::concurrency::Concurrency;
use control::policy::{Gate, Policy, Transition};
use control::rate::{KeyedRateClasses, RateClass};
use control::service_level::{ServiceLevel, Tally};
use control::{ClassId, SettingsError};
use rule::{Names, RateClassId, Rule, RuleError, ServiceLevelId};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use thiserror::Error;
use units::{Ratio, Timestamp};

/// A configuration that cannot be.
#[derive(Debug, Error)]
pub enum SharedError {
    /// A class or limit that cannot be.
    #[error(transparent)]
    Class(#[from] ClassError),
    /// A rule that cannot run.
    #[error(transparent)]
    Rule(#[from] RuleError),
}

/// A class or limit that cannot be.
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

/// A rate class with a limit for each key.
type ByKey = Mutex<KeyedRateClasses<Vec<u8>, AtomicU64>>;

/// What all cores share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) settings: Settings,
    pub(crate) levels: Vec<Arc<Level>>,
    pub(crate) rates: Vec<Arc<RateClass<AtomicU64>>>,
    pub(crate) keyed: Vec<Arc<ByKey>>,
    pub(crate) concurrency: Vec<Arc<Concurrency<AtomicU64>>>,
    policies: Vec<Mutex<Policy>>,
    pub(crate) routes: Vec<RouteLimits>,
    /// The compiled rule of each route, and the names that rules may use.
    pub(crate) rules: Vec<Option<Rule>>,
    pub(crate) names: Names,
}

/// A service level class as all cores see it.
#[derive(Debug)]
pub(crate) struct Level {
    pub(crate) target: Duration,
    window: Mutex<ServiceLevel>,
    /// The bits of the conforming share at the last merge.
    conforming: AtomicU64,
    /// All that was ever merged.
    ever: Mutex<Tally>,
}

impl Level {
    /// All that was ever merged.
    pub(crate) fn ever(&self) -> Tally {
        *lock(&self.ever)
    }

    /// The share of responses within the target, as of the last merge; one where there were none.
    pub(crate) fn conforming(&self) -> Ratio {
        Ratio::new(f64::from_bits(self.conforming.load(Ordering::Relaxed))).unwrap_or(Ratio::ONE)
    }

    /// What the window holds.
    pub(crate) fn tally(&self, now: Timestamp) -> Tally {
        lock(&self.window).tally(now)
    }
}

/// The limits of one route.
#[derive(Debug)]
pub(crate) struct RouteLimits {
    pub(crate) admission: Admission<AtomicU64>,
    pub(crate) level: Option<usize>,
}

impl Shared {
    /// Makes the classes of a configuration, or takes them over from the one before where they did not change.
    pub(crate) fn new(
        settings: Settings,
        before: Option<&Shared>,
        now: Timestamp,
    ) -> Result<Self, SharedError> {
        let mut levels = Vec::new();
        for class in &settings.service_levels {
            let kept = before.and_then(|before| {
                let index = before
                    .settings
                    .service_levels
                    .iter()
                    .position(|old| (&old.name, old.settings) == (&class.name, class.settings))?;
                before.levels.get(index).cloned()
            });
            levels.push(match kept {
                Some(kept) => kept,
                None => Arc::new(Level {
                    target: class.settings.target,
                    window: Mutex::new(
                        ServiceLevel::new(class.settings)
                            .map_err(|source| wrong("service level class", &class.name, source))?,
                    ),
                    conforming: AtomicU64::new(1.0_f64.to_bits()),
                    ever: Mutex::default(),
                }),
            });
        }
        let (mut rates, mut keyed) = (Vec::new(), Vec::new());
        for (index, class) in settings.rate_classes.iter().enumerate() {
            let id = ClassId(index as u16);
            let refused = |source| wrong("rate class", &class.name, source);
            let kept = before.and_then(|before| {
                let old = before.settings.rate_classes.get(index)?;
                ((&old.name, old.settings) == (&class.name, class.settings))
                    .then(|| Some((before.rates.get(index).cloned()?, before.keyed.get(index).cloned()?)))?
            });
            let (rate, by_key) = match kept {
                Some(kept) => kept,
                None => {
                    let by_key = KeyedRateClasses::new(id, class.settings, KEYS_MAX).map_err(refused)?;
                    let rate = RateClass::new(id, class.settings).map_err(refused)?;
                    (Arc::new(rate), Arc::new(Mutex::new(by_key)))
                }
            };
            rates.push(rate);
            keyed.push(by_key);
        }
        let mut concurrency = Vec::new();
        for (index, class) in settings.concurrency_limits.iter().enumerate() {
            // Numbers go on after the rate classes, so that a reason names one class.
            let id = ClassId((settings.rate_classes.len() + index) as u16);
            let kept = before.and_then(|before| {
                let old = before.settings.concurrency_limits.get(index)?;
                let same = (&old.name, old.settings) == (&class.name, class.settings)
                    && before.settings.rate_classes.len() == settings.rate_classes.len();
                same.then(|| before.concurrency.get(index).cloned())?
            });
            concurrency.push(match kept {
                Some(kept) => kept,
                None => Arc::new(
                    Concurrency::new(id, class.settings)
                        .map_err(|source| wrong("concurrency limit", &class.name, source))?,
                ),
            });
        }
        let limits = |rate: Option<usize>, in_flight: Option<usize>| Limits {
            rate: rate.map(|index| Arc::clone(&rates[index])),
            concurrency: in_flight.map(|index| Arc::clone(&concurrency[index])),
        };
        let mut policies = Vec::new();
        for policy in &settings.policies {
            let kept = before.and_then(|before| {
                let index = before.settings.policies.iter().position(|old| old == policy)?;
                before.policies.get(index).map(|policy| *lock(policy))
            });
            policies.push(match kept {
                Some(kept) => kept,
                None => {
                    Policy::new(policy.settings).map_err(|source| wrong("policy", &policy.name, source))?
                }
            });
        }
        let routes = settings
            .routes
            .iter()
            .map(|route| {
                let policy = route.policy.map(|index| &settings.policies[index]);
                let gated = policy
                    .map_or_else(Limits::default, |policy| limits(policy.rate_class, policy.concurrency));
                let admission = Admission::new(limits(route.rate_class, route.concurrency), gated);
                if let Some(Gate::Engaged { reason, .. }) = route.policy.map(|index| policies[index].gate()) {
                    admission.apply(now, &Transition::Engaged { reason });
                }
                RouteLimits {
                    admission,
                    level: policy.map(|policy| policy.service_level).or(route.service_level),
                }
            })
            .collect();
        let policies = policies.into_iter().map(Mutex::new).collect();
        let mut names = Names::new();
        for (index, class) in (0..).zip(&settings.service_levels) {
            names = names.service_level(&class.name, ServiceLevelId(index));
        }
        for (index, class) in (0..).zip(&settings.rate_classes) {
            names = names.rate(&class.name, RateClassId(index));
        }
        let mut rules = Vec::new();
        for route in &settings.routes {
            let rule = route.rule.as_ref().map(|rule| Rule::compile(&rule.name, &rule.source)).transpose()?;
            if let Some(unknown) =
                rule.as_ref().and_then(|rule| rule.unknown_classes(&names).into_iter().next())
            {
                return Err(unknown.into());
            }
            rules.push(rule);
        }
        Ok(Shared { settings, levels, rates, keyed, concurrency, policies, routes, rules, names })
    }

    /// Merges what a core has counted since it was here last. The counts are cleared.
    pub(crate) fn merge(&self, now: Timestamp, tallies: &mut [Tally]) {
        for (level, tally) in self.levels.iter().zip(tallies) {
            *lock(&level.ever) += *tally;
            let mut window = lock(&level.window);
            window.absorb(now, std::mem::take(tally));
            let share = window.conforming(now).unwrap_or(Ratio::ONE);
            level.conforming.store(share.get().to_bits(), Ordering::Relaxed);
        }
    }

    /// Asks the policies whether their limits apply. For the configuration in force only: one that was replaced
    /// admits nobody any more.
    pub(crate) fn ask_policies(&self, now: Timestamp) -> Vec<(usize, Transition)> {
        let mut transitions = Vec::new();
        for (index, policy) in self.policies.iter().enumerate() {
            let level = &self.levels[self.settings.policies[index].service_level];
            let transition = lock(policy).tick(now, &lock(&level.window));
            if let Some(transition) = transition {
                for (route, limits) in self.settings.routes.iter().zip(&self.routes) {
                    if route.policy == Some(index) {
                        limits.admission.apply(now, &transition);
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

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What these guard is consistent between any two statements.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn wrong(kind: &'static str, name: &str, source: SettingsError) -> ClassError {
    ClassError { kind, name: name.to_owned(), source }
}

/// Keys that a rate class remembers, about 200 bytes each.
const KEYS_MAX: usize = 10_000;
