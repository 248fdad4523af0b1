//! Simulates candidates: minute by minute with recorded minutes, or request by request.

use super::interruptible::Interruptible;
use super::metrics::Metrics;
use super::scenario::{SEEDS, Scenario, Scenarios};
use super::{Asked, Event, Shell, edits};
use config::case::{Case, Dimension};
use control::search::tune::{Aim, Candidate, Settings};
use sim::minutes::{Curves, Ladder, Minutes, can_record};
use sim::settings::{MINUTE, Policy, Start, System, Traffic};
use std::collections::HashMap;
use std::sync::Arc;

/// Simulates candidates, and remembers what it found.
pub(super) struct Evaluator<'a> {
    pub(super) case: &'a Case,
    pub(super) stage: usize,
    pub(super) dimensions: &'a [Dimension],
    pub(super) scenarios: Scenarios,
    pub(super) shell: &'a Shell<'a>,
    threads: usize,
    /// Recorded minutes by the system without scaling and traffic.
    curves: HashMap<String, Option<Arc<Curves>>>,
    systems: HashMap<Candidate, Option<Arc<Variant>>>,
    /// Figures of the scenarios, in their order, as far as they were simulated; none: it cannot be simulated.
    found: HashMap<Candidate, Option<Vec<Metrics>>>,
}

/// The system of a candidate, and the key of its recorded minutes.
struct Variant {
    system: System,
    key: String,
}

impl<'a> Evaluator<'a> {
    pub(super) fn new(
        case: &'a Case,
        stage: usize,
        dimensions: &'a [Dimension],
        scenarios: Scenarios,
        asked: &Asked,
        shell: &'a Shell<'a>,
    ) -> Self {
        Evaluator {
            case,
            stage,
            dimensions,
            scenarios,
            shell,
            threads: asked.threads,
            curves: HashMap::new(),
            systems: HashMap::new(),
            found: HashMap::new(),
        }
    }

    /// The size of the search: small where nothing can be recorded, unless days are short.
    pub(super) fn settings(&self, asked: &Asked, aims: Vec<Aim>) -> Settings {
        // A day with rows below a minute has few requests, so that all candidates can be simulated request by request.
        let all = self.is_recordable() || self.today().row < MINUTE;
        let budget = if all { asked.candidates } else { asked.candidates.min(BY_REQUEST) };
        Settings {
            start: budget / 5,
            levels: LEVELS,
            budget,
            confirmations: CONFIRMATIONS,
            aims,
            sketches: SKETCHES,
            seed: asked.seed,
        }
    }

    /// The system of today.
    pub(super) fn today(&self) -> &System {
        &self.case.stages[self.stage].system
    }

    /// The minutes of a usual day, or its rows where they have another length.
    pub(super) fn minutes(&self) -> f64 {
        self.scenarios.usual[0].rows(self.today().row)
    }

    pub(super) fn is_recordable(&self) -> bool {
        can_record(self.today())
    }

    /// Simulates candidates at a level: the first day, the days that are confirmed, or all scenarios.
    pub(super) fn screen(&mut self, level: usize, candidates: &[Candidate]) {
        self.screen_first(self.count(level), candidates);
    }

    /// Simulates candidates under the usual days alone.
    pub(super) fn screen_usual(&mut self, candidates: &[Candidate]) {
        self.screen_first(self.scenarios.usual.len(), candidates);
    }

    /// Simulates candidates under the first scenarios, as far as that was not done.
    fn screen_first(&mut self, wanted: usize, candidates: &[Candidate]) {
        let is_new = |candidate: &&Candidate| match self.found.get(*candidate) {
            None => true,
            Some(None) => false,
            Some(Some(found)) => found.len() < wanted,
        };
        let new: Vec<Candidate> = candidates.iter().filter(is_new).cloned().collect();
        if new.is_empty() {
            return;
        }
        if new.len() > FEW {
            (self.shell.tell)(Event::Screening(new.len()));
        }
        self.prepare(&new);
        let seen: Vec<Scenario> = self.seen().take(wanted).cloned().collect();
        let jobs: Vec<(&Candidate, usize)> = new
            .iter()
            .map(|candidate| {
                (candidate, self.found.get(candidate).and_then(Option::as_ref).map_or(0, Vec::len))
            })
            .collect();
        let results = sim::run_parallel(&jobs, self.threads, |(candidate, done)| {
            self.by_minute(candidate, &seen[*done..])
        });
        for (candidate, result) in new.into_iter().zip(results) {
            let before = self.found.entry(candidate).or_insert_with(|| Some(Vec::new()));
            match (before.as_mut(), result) {
                (Some(before), Some(result)) => before.extend(result),
                _ => *before = None,
            }
        }
    }

    /// Figures of a candidate at a level, perhaps without disturbances; none if it cannot be simulated or was not.
    pub(super) fn figures(&self, level: usize, candidate: &Candidate) -> Option<&[Metrics]> {
        let found = self.found.get(candidate)?.as_ref()?;
        let count = self.count(level);
        (found.len() >= count.min(self.scenarios.usual.len())).then(|| &found[..count.min(found.len())])
    }

    /// Usual days, then disturbances: all that a search sees.
    pub(super) fn seen(&self) -> impl Iterator<Item = &Scenario> {
        self.scenarios.usual.iter().chain(&self.scenarios.stress)
    }

    /// The number of scenarios of a level.
    pub(super) fn count(&self, level: usize) -> usize {
        match level {
            0 => 1,
            1 => SEEDS,
            _ => self.scenarios.usual.len() + self.scenarios.stress.len(),
        }
    }

    /// Figures of candidates on days that the search does not see, minute by minute.
    pub(super) fn unseen(&mut self, candidates: &[Candidate]) -> Vec<Option<Vec<Metrics>>> {
        self.prepare(candidates);
        let days = self.scenarios.unseen.clone();
        sim::run_parallel(candidates, self.threads, |candidate| self.by_minute(candidate, &days))
    }

    /// Figures of candidates on these days, at least one, request by request.
    pub(super) fn by_request(
        &mut self,
        candidates: &[Candidate],
        days: &[Scenario],
    ) -> Vec<Option<Vec<Metrics>>> {
        (self.shell.tell)(Event::Confirming(candidates.len(), days.len()));
        self.prepare(candidates);
        let jobs: Vec<(&Candidate, &Scenario)> =
            candidates.iter().flat_map(|candidate| days.iter().map(move |day| (candidate, day))).collect();
        let results = sim::run_parallel(&jobs, self.threads, |(candidate, day)| {
            let variant = self.systems.get(*candidate)?.as_ref()?;
            let system = day.of(&variant.system);
            let outcome = sim::run_on(&system, self.by_requests(&system), &mut |_| {});
            self.goes_on().then(|| Metrics::of(&outcome))
        });
        results.chunks(days.len()).map(|runs| runs.iter().copied().collect()).collect()
    }

    /// The first usual day of a fixed fleet of this many instances of every service that scales, minute by minute.
    pub(super) fn fixed(&mut self, instances: impl Fn(&System, usize) -> u32) -> Metrics {
        let mut system = self.scenarios.usual[0].of(self.today());
        for place in 0..system.services.len() {
            let count = instances(&system, place);
            let service = &mut system.services[place];
            if !matches!(service.scaling.policy, Policy::None) {
                service.scaling.policy = Policy::None;
                service.instances = units::InstanceCount::new(count);
            }
        }
        let bare = self.bare(self.today());
        let key = format!("{bare:?}");
        self.record(&key, &bare);
        Metrics::of(&self.run(&system, &key))
    }

    /// Builds the systems of candidates and records their minutes, where that was not done yet.
    fn prepare(&mut self, candidates: &[Candidate]) {
        let new: Vec<Candidate> =
            candidates.iter().filter(|candidate| !self.systems.contains_key(*candidate)).cloned().collect();
        let built = sim::run_parallel(&new, self.threads, |candidate| {
            let system = self.case.varied(self.stage, &edits(self.dimensions, candidate)).ok()?;
            fits(&system).then(|| Arc::new(Variant { key: format!("{:?}", self.bare(&system)), system }))
        });
        if self.systems.len() > SYSTEMS_MAX {
            self.systems.clear();
        }
        self.systems.extend(new.iter().cloned().zip(built));
        for candidate in candidates {
            if !self.systems.contains_key(candidate) {
                // It was forgotten just now.
                return self.prepare(candidates);
            }
        }
        let wanted: Vec<Arc<Variant>> =
            candidates.iter().filter_map(|candidate| self.systems[candidate].clone()).collect();
        for variant in wanted {
            self.record(&variant.key, &self.bare(&variant.system));
        }
    }

    /// Records the minutes of a system, if there are none.
    fn record(&mut self, key: &str, system: &System) {
        if self.curves.contains_key(key) {
            return;
        }
        if self.curves.len() * system.services.len() >= CURVES_MAX {
            self.curves.clear();
        }
        // Today's fleet is recorded as closely as `simulate` does it, others more coarsely.
        let ladder = if self.curves.is_empty() { Ladder::default() } else { coarse(system) };
        let curves = (can_record(system) && self.goes_on()).then(|| {
            if self.curves.is_empty() {
                (self.shell.tell)(Event::Recording);
            }
            Arc::new(Curves::record(system, ladder, self.threads, |system| self.by_requests(system)))
        });
        self.curves.insert(key.to_owned(), curves.filter(|_| self.goes_on()));
    }

    /// The system without what a recording of its minutes does not depend on, with today's number of instances.
    fn bare(&self, system: &System) -> System {
        let mut system = system.clone();
        for (service, today) in system.services.iter_mut().zip(&self.today().services) {
            service.scaling.policy = Policy::None;
            service.start = Start::default();
            service.instances = today.instances;
            service.failures.clear();
            service.deployments.clear();
        }
        if let Traffic::Open { rates, noise, .. } = &mut system.traffic {
            (*rates, *noise) = (Arc::from([1.0]), None);
        }
        system
    }

    fn by_minute(&self, candidate: &Candidate, days: &[Scenario]) -> Option<Vec<Metrics>> {
        let variant = self.systems.get(candidate)?.as_ref()?;
        let day = |day: &Scenario| {
            let outcome = self.goes_on().then(|| self.run(&day.of(&variant.system), &variant.key))?;
            self.goes_on().then(|| Metrics::of(&outcome))
        };
        days.iter().map(day).collect()
    }

    fn run(&self, system: &System, key: &str) -> sim::Outcome {
        match self.curves.get(key).and_then(Option::as_deref) {
            Some(curves) => sim::run_on(system, Minutes::new(system, curves), &mut |_| {}),
            None => sim::run_on(system, self.by_requests(system), &mut |_| {}),
        }
    }

    fn goes_on(&self) -> bool {
        !(self.shell.interrupted)()
    }

    fn by_requests(&self, system: &System) -> Interruptible<'a> {
        Interruptible::new(system, self.shell.interrupted)
    }
}

/// A recording that is made for a few candidates, one after the other: short, and of a small fleet.
fn coarse(system: &System) -> Ladder {
    let sizes = || system.services.iter().map(|service| service.instances.get().max(1));
    let cores =
        |service: &sim::settings::Service| service.hosts.iter().map(|host| host.cores).max().unwrap_or(1);
    let largest = system.services.iter().max_by_key(|service| service.instances.get()).map_or(1, cores);
    let fleet = (CORES / largest.max(1)).max(LEAST_INSTANCES);
    // Of the smallest service one instance is left, and the others are as much larger as they are.
    let kept = sizes().max().unwrap_or(1).div_ceil(sizes().min().unwrap_or(1));
    Ladder { rungs: 8, minutes: 12, warm_up: 4, fleet: fleet.max(kept) }
}

/// Whether the processes of each service fit into the memory of its hosts.
fn fits(system: &System) -> bool {
    system.services.iter().all(|service| {
        let needed = service.server.memory_per_process.get() * u64::from(service.server.processes);
        service.hosts.iter().all(|host| host.memory.is_none_or(|memory| needed <= memory.get()))
    })
}

/// Levels of evaluation: a day, the days that are confirmed, all scenarios.
pub(super) const LEVELS: usize = 3;
/// Candidates to screen where nothing can be recorded.
const BY_REQUEST: usize = 40;
/// Candidates to confirm besides today's and the last one.
const CONFIRMATIONS: usize = 4;
/// Points of the frontier to simulate request by request, in each of two passes.
const SKETCHES: usize = 11;
/// Fewer candidates are not announced.
const FEW: usize = 20;
/// Recordings of services: each has about 200 kB, so these have about 256 MB.
const CURVES_MAX: usize = 1000;
const SYSTEMS_MAX: usize = 50_000;
/// Cores of the largest service of a fleet that is recorded coarsely, in as many instances as that makes,
const CORES: u32 = 8;
/// but not fewer than this: one has nothing to balance.
const LEAST_INSTANCES: u32 = 3;
