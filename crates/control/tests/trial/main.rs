//! Trials on virtual services with known effects: false findings, coverage, power, void blocks, arms that share something,
//! and the best of many values. `cargo test -p control --test trial -- --nocapture` prints all figures.

/// Successive elimination among the numbers of processes.
mod best_of_many;
/// Shares of errors, which are rare and lopsided.
mod errors;
/// Two thousand trials of a control against itself, and as many with an effect.
mod false_findings;
/// A slowdown is found within the promised time.
mod found_in_time;
/// Intervals of any series.
mod intervals;
/// Each start of a process has a level of its own.
mod restarts;
mod service;
/// Arms that slow each other down through a database.
mod shared_database;
/// Blocks that hurt one arm are void.
mod void_blocks;

use control::trial::{Design, Ends, Figure, Limits, Measure, Settings, Step, Trial};
use service::Service;
use stats::Rng;
use std::time::Duration;
use units::Quantile;

/// A trial of all measures of a virtual service, with p95 as the primary one.
fn settings(design: Design, blocks: usize) -> Settings {
    let response_time = |quantile| Measure::new(Figure::ResponseTime(quantile));
    Settings {
        measures: vec![
            response_time(Quantile::P50),
            response_time(Quantile::P95),
            response_time(Quantile::P99),
            Measure::new(Figure::Errors),
            Measure::new(Figure::ProcessorTime),
            Measure::new(Figure::Memory),
        ],
        primary: 1,
        candidates: 1,
        second_control: false,
        risk: 0.05,
        design,
        blocks,
        measured: Duration::from_secs(30),
        settle: Duration::from_secs(10),
        spread: None,
        probes: None,
        ends: Ends::AsPlanned,
        dead_after: 3,
        limits: Limits::default(),
    }
}

/// Runs a trial, with a look after each block.
fn run(trial: &mut Trial, service: &mut Service, seed: u64, mut look: impl FnMut(&Trial)) {
    let mut rng = Rng::new(seed, "order");
    while let Step::Block(assigned) = trial.next(&mut rng) {
        trial.observe(&service.block(&assigned));
        look(trial);
    }
}

/// Does `work` for each seed, on all processors; the results are in the order of the seeds.
fn for_seeds<T: Send>(seeds: u64, work: impl Fn(u64) -> T + Sync) -> Vec<T> {
    let threads = std::thread::available_parallelism().map_or(1, |count| count.get() as u64);
    let work = &work;
    let mut results: Vec<(u64, T)> = std::thread::scope(|scope| {
        let of_thread = |thread: u64| {
            let seeds = (thread..seeds).step_by(threads as usize);
            seeds.map(|seed| (seed, work(seed))).collect::<Vec<_>>()
        };
        let running: Vec<_> = (0..threads).map(|thread| scope.spawn(move || of_thread(thread))).collect();
        running.into_iter().flat_map(|thread| thread.join().expect("a thread does not panic")).collect()
    });
    results.sort_by_key(|(seed, _)| *seed);
    results.into_iter().map(|(_, result)| result).collect()
}
