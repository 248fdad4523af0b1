//! Runs one trial of a search against a simulated service, as a load generator would.

use crate::service::Request;
use control::search::{CONDITIONS_MAX, Condition, Goal, Judge, Progress, Trial, TrialOutcome, Verdict};
use std::time::Duration;

/// Runs `trial`, starting with a calm service, until its judge decides. `arriving` are the requests of its rate, in
/// order and without end.
pub fn run(mut arriving: impl Iterator<Item = Request>, goal: &Goal, trial: Trial) -> TrialOutcome {
    let longest_s = goal.longest_bound().unwrap_or_default().as_secs_f64();
    let length_s = trial.length.as_secs_f64();
    let mut judge = Judge::new(goal, &trial);
    let look_s = judge.look_every().as_secs_f64();
    let looks = ((length_s + longest_s) / look_s).ceil() as usize + 2;
    let mut bins = vec![Bin::default(); looks];
    let mut requests: Vec<(f64, f64)> = Vec::new();
    let mut oldest = 0;
    let mut sums = Progress::default();
    let mut look = 0;
    let mut next = arriving.next().expect("requests do not end");
    loop {
        let end_s = look_s * (look + 1) as f64;
        while next.arrived_s <= end_s && next.arrived_s <= length_s {
            bins[look].scheduled += 1;
            note(&mut bins, look_s, goal, &next);
            requests.push((next.arrived_s, next.done_s));
            next = arriving.next().expect("requests do not end");
        }
        let bin = bins[look];
        while oldest < requests.len() && requests[oldest].1 <= end_s {
            oldest += 1;
        }
        sums.elapsed = Duration::from_secs_f64(end_s);
        sums.scheduled += bin.scheduled;
        for at in 0..CONDITIONS_MAX {
            sums.held[at] += bin.held[at];
            sums.missed[at] += bin.missed[at];
        }
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

/// Adds a request to the looks in which it ends, and meets or misses each condition. Those that fail in time were shed
/// and say nothing about response times.
fn note(bins: &mut [Bin], look_s: f64, goal: &Goal, request: &Request) {
    let response_s = request.done_s - request.arrived_s;
    let at = |second: f64| (second / look_s) as usize;
    if let Some(bin) = bins.get_mut(at(request.done_s)) {
        bin.ended += 1;
        bin.response_s += response_s;
    }
    for (number, condition) in goal.conditions().iter().enumerate() {
        let (missed, known_s) = match condition {
            Condition::ResponseTime { below, .. } if response_s >= below.as_secs_f64() => {
                (true, request.arrived_s + below.as_secs_f64())
            }
            Condition::ResponseTime { .. } if request.failed => continue,
            Condition::ResponseTime { .. } => (false, request.done_s),
            Condition::Failed { .. } => (request.failed, request.done_s),
        };
        if let Some(bin) = bins.get_mut(at(known_s)) {
            let count = if missed { &mut bin.missed } else { &mut bin.held };
            count[number] += 1;
        }
    }
}

#[derive(Clone, Copy, Default)]
struct Bin {
    scheduled: u64,
    ended: u64,
    held: [u64; CONDITIONS_MAX],
    missed: [u64; CONDITIONS_MAX],
    response_s: f64,
}
