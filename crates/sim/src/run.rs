//! Runs one or many systems.

use crate::cloud::Cloud;
use crate::minutes::{Curves, Ladder, Minutes};
use crate::outcome::Outcome;
use crate::plant::Plant;
use crate::requests::Requests;
use crate::settings::System;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use units::Timestamp;

/// The fidelity of a simulation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Fidelity {
    /// Request by request: the reference.
    #[default]
    Request,
    /// Minute by minute, from minutes that are recorded first: for searching (see [`crate::minutes`]).
    Minute,
}

/// Simulates a system without [`System::problems`]. A policy that cannot run decides nothing, and the remarks give the
/// reason.
pub fn run(system: &System, fidelity: Fidelity) -> Outcome {
    match fidelity {
        Fidelity::Request => run_on(system, Requests::new(system), &mut |_| {}),
        Fidelity::Minute => {
            let curves = Curves::record(system, Ladder::default(), 1, Requests::new);
            run_on(system, Minutes::new(system, &curves), &mut |_| {})
        }
    }
}

/// Simulates many systems on this many threads: each on one thread, so that the result does not depend on their number.
pub fn run_many(systems: &[System], fidelity: Fidelity, threads: usize) -> Vec<Outcome> {
    run_parallel(systems, threads, |system| run(system, fidelity))
}

/// Simulates a system on its own plant; `each_minute` gets the simulated time as it passes.
pub fn run_on<P: Plant>(system: &System, plant: P, each_minute: &mut dyn FnMut(Timestamp)) -> Outcome {
    Cloud::new(system, plant).run(each_minute)
}

/// Runs `work` for each item on this many threads; the results are in the order of the items. Each item is processed by
/// one thread, so that the result does not depend on the number of threads.
pub fn run_parallel<T: Sync, R: Send>(things: &[T], threads: usize, work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, R)>> = Mutex::new(Vec::with_capacity(things.len()));
    std::thread::scope(|scope| {
        for _ in 0..threads.clamp(1, things.len().max(1)) {
            scope.spawn(|| {
                while let Some((place, thing)) = {
                    let place = next.fetch_add(1, Ordering::Relaxed);
                    things.get(place).map(|thing| (place, thing))
                } {
                    let result = work(thing);
                    done.lock().expect("no thread panics with the lock").push((place, result));
                }
            });
        }
    });
    let mut done = done.into_inner().expect("no thread panics with the lock");
    done.sort_by_key(|(place, _)| *place);
    done.into_iter().map(|(_, result)| result).collect()
}
