//! Runs one trial of a search against a simulated service, as a load generator would.

use crate::service::Service;
use control::search::{Goal, Judge, Progress, Trial, TrialOutcome, Verdict};
use std::time::Duration;

/// Runs `trial` from calm until its judge decides. The goal's first condition is the bound, its second the failures.
pub fn run(service: &Service, goal: &Goal, trial: Trial, seed: u64) -> TrialOutcome {
    let bound_s = goal.shortest_bound().expect("the goal has a bound").as_secs_f64();
    let length_s = trial.length.as_secs_f64();
    let mut judge = Judge::new(goal, &trial);
    let look_s = judge.look_every().as_secs_f64();
    let looks = ((length_s + bound_s) / look_s).ceil() as usize + 1;
    let mut bins = vec![Bin::default(); looks];
    let mut requests: Vec<(f64, f64)> = Vec::new();
    let mut oldest = 0;
    let mut sums = Progress::default();
    let mut look = 0;
    let mut arriving = service.requests(trial.rate.per_second(), seed);
    let mut next = arriving.next().expect("requests do not end");
    loop {
        let end_s = look_s * (look + 1) as f64;
        while next.arrived_s <= end_s && next.arrived_s <= length_s {
            let response_s = next.done_s - next.arrived_s;
            bins[look].scheduled += 1;
            if let Some(bin) = bins.get_mut((next.done_s / look_s) as usize) {
                bin.ended += 1;
                bin.response_s += response_s;
                bin.held += u64::from(response_s < bound_s);
            }
            if response_s >= bound_s
                && let Some(bin) = bins.get_mut(((next.arrived_s + bound_s) / look_s) as usize)
            {
                bin.missed += 1;
            }
            requests.push((next.arrived_s, next.done_s));
            next = arriving.next().expect("requests do not end");
        }
        let bin = bins[look];
        while oldest < requests.len() && requests[oldest].1 <= end_s {
            oldest += 1;
        }
        sums.elapsed = Duration::from_secs_f64(end_s);
        sums.scheduled += bin.scheduled;
        sums.held[0] += bin.held;
        sums.missed[0] += bin.missed;
        sums.held[1] += bin.ended;
        sums.response_time =
            (bin.ended > 0).then(|| Duration::from_secs_f64(bin.response_s / bin.ended as f64));
        let age_s = requests.get(oldest).map_or(0.0, |request| end_s - request.0);
        sums.oldest = Duration::from_secs_f64(age_s.max(0.0));
        let verdict = judge.observe(&sums);
        if verdict != Verdict::Undecided {
            return TrialOutcome::of(trial, &judge, verdict);
        }
        look += 1;
        assert!(look < looks, "no verdict after {look} looks: {trial:?} {sums:?}");
    }
}

#[derive(Clone, Copy, Default)]
struct Bin {
    scheduled: u64,
    ended: u64,
    held: u64,
    missed: u64,
    response_s: f64,
}
