//! A plan from a case: formulas, short simulations, and the scalability law over simulated replicas.

use super::bottleneck::explained;
use super::formulas::{View, meets, predict};
use super::parts::{Part, Parts};
use super::search::fewest;
use super::trial::{Trial, loaded, saturating, trial};
use super::{Asked, CONFIDENCE, Goal, Load, REPLICAS_MAX, changes, points, response};
use documents::plan::{Answer, Bottleneck, Interval, Kind, Method, Plan, Source, per_second, time};
use measure::scalability::{self, Fit};
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
        let methods = vec![simulated, formula, by_law];
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

    fn by_formulas(&self, parts: &Parts) -> Method {
        let fewest = |view| {
            let meets = |replicas| meets(&self.parts(replicas), self.load, self.goal.as_ref(), view);
            fewest(self.now, REPLICAS_MAX, meets)
        };
        let (low, high) = (fewest(View::Favourable), fewest(View::Unfavourable));
        let limit = parts.limit();
        Method {
            name: "queueing formulas",
            // The upper end: what is too few by it is a risk.
            replicas: high.or(low),
            low,
            high,
            per_second: limit.is_finite().then(|| Interval::exact(limit)),
            remark: "from means; ends: one queue, or one a replica".to_owned(),
        }
    }

    fn by_simulation(&self, guess: Option<u32>, at_limit: &[Trial]) -> Method {
        let mut known: Vec<(u32, u32)> = Vec::new();
        let alone = self.parts(self.now).alone.0;
        let mut passed = |replicas: u32| match known.iter().find(|(of, _)| *of == replicas) {
            Some((_, passed)) => *passed,
            None => {
                let found = self.trials(&[self.with(replicas, self.load)]);
                let meets = |trial: &&Trial| trial.meets(self.load, self.goal.as_ref(), alone);
                let passed = found[0].iter().filter(meets).count() as u32;
                known.push((replicas, passed));
                passed
            }
        };
        let guess = guess.unwrap_or_else(|| self.estimate());
        let most =
            guess.max(self.now).max(self.estimate()).saturating_mul(4).saturating_add(8).min(REPLICAS_MAX);
        let majority = fewest(guess, most, |replicas| 2 * passed(replicas) > SEEDS as u32);
        let (mut low, mut high) = (majority, majority);
        if let Some(replicas) = majority {
            let below = (1..replicas).rev().take_while(|fewer| passed(*fewer) > 0).last();
            low = below.or(low);
            high = (replicas..=most).find(|more| passed(*more) == SEEDS as u32);
        }
        let remark = match majority {
            Some(_) => format!("request by request, {SEEDS} seeds"),
            None if self.goal.is_none() => {
                format!("{SEEDS} seeds: {most} replicas do not carry the load either")
            }
            None => format!("{SEEDS} seeds: {most} replicas miss the goal too"),
        };
        let per_second = Some(throughput(at_limit)).filter(|_| self.parts(self.now).limit().is_finite());
        Method { name: SIMULATION, replicas: majority, low, high, per_second, remark }
    }

    /// Replicas whose limits carry the load, if nothing has to wait.
    fn estimate(&self) -> u32 {
        let one = self.parts(1);
        let limit = one.tightest(Some(Kind::Replica)).map_or(f64::INFINITY, Part::limit);
        ((self.load.per_second(one.alone.0) / limit).ceil() as u32).clamp(1, REPLICAS_MAX)
    }

    /// The law over simulated throughput at the limit, for this many requests a second.
    fn by_law(&self, wanted: f64, replicas: Option<u32>) -> (Method, Option<Fit>) {
        let none = |remark: String| {
            (Method { name: LAW, replicas: None, low: None, high: None, per_second: None, remark }, None)
        };
        if self.parts(self.now).limit().is_infinite() {
            return none("no part of the case has a limit".to_owned());
        }
        let levels = levels(replicas.unwrap_or(1));
        let most = levels[levels.len() - 1];
        // The same users at every level, so that only the replicas differ.
        let users = saturating(&self.parts(most));
        let systems: Vec<_> = levels.iter().map(|replicas| self.with(*replicas, users)).collect();
        let found = self.trials(&systems);
        let measured: Vec<scalability::Point> = levels
            .iter()
            .zip(&found)
            .flat_map(|(replicas, trials)| {
                trials.iter().map(|trial| scalability::Point {
                    concurrency: f64::from(*replicas),
                    throughput: trial.per_second,
                })
            })
            .collect();
        let fit = match scalability::fit(&measured) {
            Ok(fit) => fit,
            Err(error) => return none(error.to_string()),
        };
        if let Err(refusal) = fit.trusted() {
            let (mut method, _) = none(refusal.to_string());
            method.remark += ": replicas that differ, or a sharp limit";
            return (method, Some(fit));
        }
        let (low, replicas, high) = points::by_law(&fit, wanted);
        let interval = fit.throughput_interval(f64::from(self.now), CONFIDENCE);
        let method = Method {
            name: LAW,
            replicas,
            low,
            high,
            per_second: Some(Interval {
                value: fit.law().throughput(f64::from(self.now)),
                low: interval.map(|(low, _)| low.max(0.0)),
                high: interval.map(|(_, high)| high),
            }),
            remark: format!(
                "1 to {most} simulated replicas; no response times{}",
                if replicas.is_none() { "; never reaches the load" } else { "" }
            ),
        };
        (method, Some(fit))
    }

    fn answer(&self, methods: &[Method], bottleneck: &Bottleneck) -> Answer {
        let simulated = &methods[0];
        let disagree: Vec<&Method> =
            methods[1..].iter().filter(|method| !overlap(simulated, method)).collect();
        let agree = disagree.is_empty();
        let mut why = if agree {
            "the methods agree within their intervals; the simulation is the closest to the case".to_owned()
        } else {
            let reasons = disagree.iter().map(|method| format!("{}: {}", method.name, self.left_out(method)));
            format!(
                "trusted: the simulation. Outside its interval: {}",
                reasons.collect::<Vec<_>>().join("; ")
            )
        };
        if simulated.replicas.is_none() {
            why = match self.parts(REPLICAS_MAX).tightest(Some(Kind::Shared)) {
                Some(part) if part.limit() <= self.load.per_second(self.parts(1).alone.0) => format!(
                    "{}, which all replicas share, carries at most {}; raise that limit first",
                    part.name,
                    per_second(part.limit())
                ),
                _ => format!(
                    "{}; without other requests a response takes {} on average: change the goal or the service",
                    simulated.remark.rsplit(": ").next().unwrap_or_default(),
                    time(1e3 * self.parts(1).alone.0)
                ),
            };
        } else if bottleneck.kind == Kind::Load && simulated.replicas < Some(self.now) {
            why += "; fewer replicas than now carry the load";
        }
        Answer {
            replicas: simulated.replicas,
            low: simulated.low,
            high: simulated.high,
            trusted: Some(SIMULATION),
            agree,
            why,
        }
    }

    /// What another method leaves out in this case.
    fn left_out(&self, method: &Method) -> String {
        let service = &self.system.services[self.service];
        if method.name == LAW {
            return "it knows no response times, and a part that is shared has a corner that the law lacks"
                .to_owned();
        }
        let mut left = Vec::new();
        if service.hosts.iter().any(|host| host.quota.is_some()) {
            left.push("they spread a processor limit evenly over its periods");
        }
        if service.server.lock.is_some() {
            left.push("they do not know how threads exchange a lock");
        }
        if service.hosts.len() > 1 {
            left.push("they take all replicas as equal");
        }
        left.push(
            "they know the means of the times, and neither their distributions nor how they are balanced",
        );
        left.join(", ")
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.asked.load.is_none() {
            notes.push(match self.system.traffic {
                Traffic::Open { .. } => "the load is the highest rate of the case's traffic".to_owned(),
                Traffic::Closed { .. } => "the load is that of the case".to_owned(),
            });
        }
        if let Load::Users { think, .. } = self.load
            && !think.is_zero()
        {
            notes.push("think times are exponential".to_owned());
        }
        let service = &self.system.services[self.service];
        if service.hosts.iter().any(|host| host.credits.is_some_and(|credits| !credits.unlimited)) {
            notes.push("processor credits are taken as spent".to_owned());
        }
        if service.hosts.len() > 1 {
            let names: Vec<&str> = service.hosts.iter().map(|host| host.name.as_str()).collect();
            notes.push(format!("replicas are placed on {} in turn", names.join(", ")));
        }
        notes.push(
            "each replica has a host of its own; policies, deployments and failures are left out".to_owned(),
        );
        notes
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

/// Replicas over which the law is fitted: as many levels as it needs to be trusted, around the answer.
fn levels(answer: u32) -> [u32; 6] {
    if answer <= 6 {
        return [1, 2, 3, 4, 6, 8];
    }
    [1, 2, 4, 6, 8, 10].map(|eighths| (answer * eighths).div_ceil(8))
}

fn overlap(a: &Method, b: &Method) -> bool {
    if a.replicas.is_none() || b.replicas.is_none() {
        // A method that does not apply contradicts nothing; one that finds a number where there is none does.
        return a.replicas.is_some() || b.replicas.is_none();
    }
    let ends = |method: &Method| (method.low.unwrap_or(1), method.high.unwrap_or(u32::MAX));
    let ((a_low, a_high), (b_low, b_high)) = (ends(a), ends(b));
    a_low <= b_high && b_low <= a_high
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
const LAW: &str = "scalability law";
