//! Simulates stages with seeds, on all cores.
//!
//! Each run is done by one thread alone, so the same bytes come out whatever the number of cores.

use config::case::Case;
use config::case::calibration::{Calibration, Verdict};
use control::search::Condition;
use documents::simulate::{Calibrated, Simulated, Stage};
use sim::minutes::{Curves, Ladder, Minutes, can_record, work};
use sim::settings::{Goal, Service, System};
use sim::{Fidelity, Requests};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How stages are run.
#[derive(Debug, Clone, Copy)]
pub struct How {
    /// So many at once.
    pub threads: usize,
    /// How closely.
    pub fidelity: Fidelity,
    /// Stages whose minutes take longer to record than to simulate request by request are simulated so.
    pub or_faster: bool,
}

/// How far a simulation is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// The share of the simulated minutes that is done, 0 to 1.
    pub share: f64,
    /// The real time that is left, about.
    pub left: Duration,
}

/// Simulates the stages at `chosen` of a case with each of the seeds. `tell` gets the progress twice a second; none: it
/// is not determined.
pub fn simulate(
    case: &Case,
    chosen: &[usize],
    seeds: &[u64],
    how: How,
    tell: Option<&(dyn Fn(Progress) + Sync)>,
) -> Simulated {
    let began = Instant::now();
    let mut systems: Vec<System> = Vec::new();
    for place in chosen {
        for seed in seeds {
            systems.push(System { seed: *seed, ..case.stages[*place].system.clone() });
        }
    }
    let minutes: u64 = systems.iter().map(|system| (system.warm_up + system.measured).as_secs() / 60).sum();
    let watched = Watched { done: AtomicU64::new(0), ended: AtomicBool::new(false) };
    let mut recording = Duration::ZERO;
    let mut fidelities = Vec::new();
    let mut flat = std::thread::scope(|scope| {
        if let Some(tell) = tell {
            scope.spawn(|| watched.tell(minutes, began, tell));
        }
        let a_minute = |_| {
            watched.done.fetch_add(1, Ordering::Relaxed);
        };
        let recorded: Vec<Option<Curves>> = match how.fidelity {
            Fidelity::Request => chosen.iter().map(|_| None).collect(),
            // What is recorded of a stage serves all of its seeds.
            Fidelity::Minute => {
                let of_stage = systems.chunks(seeds.len().max(1));
                let record = |runs: &[System]| {
                    let most = if how.or_faster { runs.iter().map(work).sum() } else { f64::INFINITY };
                    Curves::record_within(&runs[0], Ladder::default(), most, how.threads, Requests::new)
                };
                of_stage.map(record).collect()
            }
        };
        recording = if recorded.iter().any(Option::is_some) { began.elapsed() } else { Duration::ZERO };
        fidelities = recorded
            .iter()
            .map(|curves| if curves.is_some() { Fidelity::Minute } else { Fidelity::Request })
            .collect();
        let runs: Vec<(&System, &Option<Curves>)> = systems
            .iter()
            .enumerate()
            .map(|(place, system)| (system, &recorded[place / seeds.len().max(1)]))
            .collect();
        let outcomes = sim::run_parallel(&runs, how.threads, |(system, curves)| match curves {
            Some(curves) => sim::run_on(system, Minutes::new(system, curves), &mut a_minute.clone()),
            None => sim::run_on(system, Requests::new(system), &mut a_minute.clone()),
        });
        watched.ended.store(true, Ordering::Relaxed);
        outcomes.into_iter()
    });
    let stage = |(&place, fidelity): (&usize, Fidelity)| {
        let stage = &case.stages[place];
        Stage {
            place,
            name: stage.name.clone(),
            about: stage.about.clone(),
            aside: stage.aside,
            clock: stage.clock.clone(),
            warm_up: stage.system.warm_up,
            prices: stage.prices.clone(),
            goals: goals(&stage.system),
            notes: stage.notes.clone(),
            fidelity,
            recordable: can_record(&stage.system),
            outcomes: flat.by_ref().take(seeds.len()).collect(),
        }
    };
    let stages = chosen.iter().zip(fidelities).map(stage).collect();
    let simulated = Simulated {
        case: case.name.clone(),
        about: case.about.clone(),
        calibration: case.calibration().map(calibrated),
        several_services: case.stages.iter().any(|stage| stage.system.services.len() > 1),
        stages,
        seeds: seeds.to_vec(),
        took: began.elapsed() - recording,
        recorded: recording,
    };
    simulated.withheld()
}

/// What the calibration of a case says.
pub fn calibrated(of: &Calibration) -> Calibrated {
    Calibrated {
        verdict: match of.verdict {
            Verdict::Valid => documents::calibrate::Verdict::Valid,
            Verdict::Suspect => documents::calibrate::Verdict::Suspect,
        },
        reasons: of.reasons.clone(),
        unknown: of.unknown.iter().map(|figure| figure.name()).collect(),
    }
}

/// The services with a goal, and the goal as case files have it.
fn goals(system: &System) -> Vec<(String, String)> {
    let goal = |service: &Service| {
        let Goal { quantile, below } = service.scaling.goal?;
        Some((service.name.clone(), Condition::ResponseTime { quantile, below }.to_string()))
    };
    system.services.iter().filter_map(goal).collect()
}

struct Watched {
    done: AtomicU64,
    ended: AtomicBool,
}

impl Watched {
    fn tell(&self, minutes: u64, began: Instant, tell: &(dyn Fn(Progress) + Sync)) {
        let mut told = Instant::now();
        while !self.ended.load(Ordering::Relaxed) {
            std::thread::sleep(LOOK_EVERY);
            if told.elapsed() < TELL_EVERY {
                continue;
            }
            told = Instant::now();
            let share = self.done.load(Ordering::Relaxed) as f64 / minutes.max(1) as f64;
            tell(Progress { share, left: began.elapsed().mul_f64((1.0 - share).max(0.0) / share.max(1e-6)) });
        }
    }
}

const LOOK_EVERY: Duration = Duration::from_millis(50);
const TELL_EVERY: Duration = Duration::from_millis(500);
