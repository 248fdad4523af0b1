//! How long a pick takes, including its related calls: `cargo run --release -p control --example picks`.
//!
//! A million requests for each balancer and number of instances, with two requests in flight for each instance; the
//! minimum of eleven runs, because other processes on the machine can only add time.

use control::balance::{
    Available, Balancer, ConsistentHash, InstanceId, LeastOutstanding, Outcome, PeakEwma, RoundRobin, Weight,
    WeightedRoundRobin,
};
use stats::Rng;
use std::time::{Duration, Instant};
use units::{Ratio, Timestamp};

const COUNTS: [u32; 3] = [4, 64, 1_024];
const REQUESTS: u64 = 1_000_000;
const RUNS: usize = 11;

fn main() {
    println!("ns for pick, sent and answered");
    println!("{:<34}{:>8}{:>8}{:>8}", "instances", COUNTS[0], COUNTS[1], COUNTS[2]);
    let weighted = |id| Weight::new(id % 5 + 1).unwrap_or_default();
    let equal = |_| Weight::ONE;
    row("round robin", RoundRobin::new, equal);
    row("weighted round robin, equal", WeightedRoundRobin::new, equal);
    row("weighted round robin, 1 to 5", WeightedRoundRobin::new, weighted);
    row("least outstanding requests", LeastOutstanding::new, equal);
    row("the same within availability", || Available::new(LeastOutstanding::new(), None, Ratio::ZERO), equal);
    row("peak EWMA", PeakEwma::default, equal);
    row("consistent hash", || ConsistentHash::new(1.25, Weight::ONE).expect("1.25 is above 1"), equal);
}

fn row<B: Balancer>(name: &str, new: impl Fn() -> B, weight: impl Fn(u32) -> Weight) {
    let nanos = COUNTS.map(|count| {
        let runs = (0..RUNS).map(|_| {
            let mut balancer = new();
            (0..count).for_each(|id| balancer.added(InstanceId(id), weight(id)));
            run(balancer, count)
        });
        runs.fold(f64::INFINITY, f64::min)
    });
    println!("{name:<34}{:>8.1}{:>8.1}{:>8.1}", nanos[0], nanos[1], nanos[2]);
}

fn run(mut balancer: impl Balancer, count: u32) -> f64 {
    let mut rng = Rng::new(1, "picks");
    let outcome = Outcome::Answered { first_byte: Duration::from_millis(10) };
    let mut flying = vec![None; 2 * count as usize];
    let began = Instant::now();
    let mut place = 0;
    for number in 0..REQUESTS {
        let now = Timestamp::from_nanos(number * 1_000);
        if let Some(id) = flying[place].take() {
            balancer.answered(now, id, outcome);
        }
        let id = balancer.pick(now, &mut rng).expect("there are instances");
        balancer.sent(now, id);
        flying[place] = Some(id);
        place = if place + 1 == flying.len() { 0 } else { place + 1 };
    }
    began.elapsed().as_nanos() as f64 / REQUESTS as f64
}
