//! A plan from a case: formulas, short simulations, and the scalability law over simulated replicas.

mod answer;
mod methods;

use super::bottleneck::explained;
use super::formulas::{View, predict};
use super::parts::Parts;
use super::trial::{Trial, loaded, saturating, trial};
use super::{Asked, CONFIDENCE, Goal, Load, changes, points, response};
use documents::plan::{Interval, Kind, Method, Plan, Source};
use sim::settings::{Policy, System, Traffic};
use stats::student_t;
use units::{InstanceCount, Quantile};

/// Why a case cannot be planned.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum NoPlan {
    /// No such service.
    #[error("the case has no service `{name}`; use --service with one of: {known}")]
    NoService {
        /// What was asked for.
        name: String,
        /// The services.
        known: String,
    },
    /// The service gets no requests.
    #[error("no request reaches `{name}`; use --service with a service that the traffic reaches")]
    Idle {
        /// The service.
        name: String,
    },
    /// A load of nothing.
    #[error("the traffic of the case has no requests; use --rate or --users")]
    NoLoad,
}

/// A case, being planned.
pub(super) struct Study<'a> {
    pub(super) system: System,
    pub(super) service: usize,
    /// Replicas at present.
    pub(super) now: u32,
    pub(super) load: Load,
    pub(super) goal: Option<Goal>,
    pub(super) asked: &'a Asked,
    threads: usize,
}

/// Plans a stage of a case. `source` is its name; `service` the one whose replicas are counted, by default the first;
/// `threads` simulate at once and do not change the result.
///
/// # Errors
/// A service that is not there or gets no requests, or traffic of nothing.
pub fn of_case(
    system: &System,
    source: &str,
    service: Option<&str>,
    asked: &Asked,
    threads: usize,
) -> Result<Plan, NoPlan> {
    let study = Study::new(system, service, asked, threads)?;
    Ok(study.plan(source))
}

impl<'a> Study<'a> {
    pub(super) fn new(
        system: &System,
        service: Option<&str>,
        asked: &'a Asked,
        threads: usize,
    ) -> Result<Self, NoPlan> {
        let place = match service {
            None => 0,
            Some(name) => {
                system.services.iter().position(|service| service.name == name).ok_or_else(|| {
                    let known: Vec<&str> =
                        system.services.iter().map(|service| service.name.as_str()).collect();
                    NoPlan::NoService { name: name.to_owned(), known: known.join(", ") }
                })?
            }
        };
        let mut system = fixed(system);
        let now = system.services[place].instances.get().max(1);
        system.services[place].instances = InstanceCount::new(now);
        let load = match asked.load.or_else(|| load_of(&system.traffic)) {
            Some(load) => load.grown(asked.growth),
            None => return Err(NoPlan::NoLoad),
        };
        let of_case = system.services[place].scaling.goal.or(system.services[0].scaling.goal);
        let goal = asked.goal.or(of_case.map(|goal| Goal { quantile: goal.quantile, below: goal.below }));
        let name = system.services[place].name.clone();
        let study = Study { system, service: place, now, load, goal, asked, threads };
        let reached = study.parts(now).parts.iter().any(|part| part.kind == Kind::Replica);
        if reached { Ok(study) } else { Err(NoPlan::Idle { name }) }
    }

    /// The parts of the system with this many replicas.
    pub(super) fn parts(&self, replicas: u32) -> Parts {
        let mut system = self.system.clone();
        system.services[self.service].instances = InstanceCount::new(replicas);
        Parts::of(&system, self.service)
    }

    /// Trials of systems under a load, each with all seeds.
    pub(super) fn trials(&self, systems: &[(System, Load)]) -> Vec<Vec<Trial>> {
        let all: Vec<(&System, Load, u64)> = systems
            .iter()
            .flat_map(|(system, load)| {
                (0..SEEDS).map(move |seed| (system, *load, self.system.seed.wrapping_add(seed)))
            })
            .collect();
        let one = |&(system, load, seed): &(&System, Load, u64)| {
            let parts = Parts::of(system, self.service);
            let expected = load.per_second(parts.alone.0).min(parts.limit());
            trial(system, self.goal.as_ref(), expected, parts.alone.0, seed)
        };
        let found = sim::run_parallel(&all, self.threads, one);
        found.chunks(SEEDS as usize).map(<[Trial]>::to_vec).collect()
    }

    pub(super) fn with(&self, replicas: u32, load: Load) -> (System, Load) {
        (loaded(&self.system, self.service, replicas, load), load)
    }

    fn plan(&self, source: &str) -> Plan {
        let parts = self.parts(self.now);
        let saturating = saturating(&parts);
        let now = self.trials(&[self.with(self.now, self.load), self.with(self.now, saturating)]);
        let (at_load, at_limit) = (&now[0], &now[1]);
        let formula = self.by_formulas(&parts);
        let simulated = self.by_simulation(formula.replicas.or(formula.low), at_limit);
        let mean = mean(at_load.iter().filter_map(|trial| trial.mean));
        let load = self.load.document(self.asked.growth, self.steady_mean(&simulated, mean));
        let (by_law, fit) = self.by_law(load.per_second.unwrap_or_default(), simulated.replicas);
        let methods: Vec<Method> =
            [simulated, formula, by_law].into_iter().chain(self.by_capacity()).collect();
        let changes = changes::of(self, at_load, at_limit, saturating);
        let bottleneck = self.bottleneck(&parts, throughput(at_limit).value, at_load, &changes);
        Plan {
            version: self.asked.version,
            source: Source {
                kind: "case",
                axis: None,
                name: source.to_owned(),
                replica: format!("`{}`", self.system.services[self.service].name),
                replicas: Some(self.now),
                points: Vec::new(),
            },
            load,
            goal: self.goal.map(|goal| goal.text()),
            answer: self.answer(&methods, &bottleneck),
            changes,
            response: mean
                .map(|mean| response::of(self, &parts, mean, explained(&parts, throughput(at_limit).value))),
            parts: response::parts(&parts, throughput(at_load).value),
            law: fit.as_ref().map(|fit| points::law(fit, "replicas")),
            notes: self.notes(),
            methods,
            bottleneck,
        }
    }

    /// The mean response time at the planned number of replicas, for the response time law.
    fn steady_mean(&self, simulated: &Method, now: Option<f64>) -> Option<f64> {
        let Some(replicas) = simulated.replicas.filter(|replicas| *replicas != self.now) else { return now };
        let found = self.trials(&[self.with(replicas, self.load)]);
        mean(found[0].iter().filter_map(|trial| trial.mean))
    }

    /// What requests wait for at this load, by formulas.
    pub(super) fn waits(&self, parts: &Parts) -> Vec<f64> {
        let quantile = self.goal.map_or(Quantile::P95, |goal| goal.quantile);
        predict(parts, self.load, quantile, View::Unfavourable).waits
    }
}

/// The system with constant instances, and without what happens on the way.
fn fixed(system: &System) -> System {
    let mut system = system.clone();
    for service in &mut system.services {
        service.scaling.policy = Policy::None;
        service.deployments.clear();
        service.failures.clear();
    }
    system
}

fn load_of(traffic: &Traffic) -> Option<Load> {
    match traffic {
        Traffic::Open { rates, .. } => {
            let most = rates.iter().copied().fold(0.0, f64::max);
            (most > 0.0).then_some(Load::Rate(most))
        }
        Traffic::Closed { users, think } => {
            (*users > 0).then(|| Load::Users { users: *users, think: think.mean() })
        }
    }
}

/// Mean throughput of trials, with its interval.
pub(super) fn throughput(trials: &[Trial]) -> Interval {
    interval(&trials.iter().map(|trial| trial.per_second).collect::<Vec<_>>())
}

/// The mean of values, with its interval of 95 %.
pub(super) fn interval(values: &[f64]) -> Interval {
    let count = values.len() as f64;
    let value = values.iter().sum::<f64>() / count.max(1.0);
    if values.len() < 2 {
        return Interval::exact(value);
    }
    let variance = values.iter().map(|each| (each - value).powi(2)).sum::<f64>() / (count - 1.0);
    let half = student_t(1.0 - CONFIDENCE.get(), count - 1.0) * (variance / count).sqrt();
    Interval { value, low: Some(value - half), high: Some(value + half) }
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0_u32), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}

pub(super) const SIMULATION: &str = "simulation";
/// Seeds of a trial.
pub(super) const SEEDS: u64 = 3;
