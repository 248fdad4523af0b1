use super::*;
use crate::search::{Condition, Judge, Trial, Verdict};
use alloc::vec;
use stats::Rng;
use std::println;
use units::Quantile;

/// An instance with slots and a queue, under random arrivals.
#[derive(Debug, Clone, Copy)]
struct Instance {
    slots: usize,
    /// The mean of an exponential service time.
    mean: f64,
}

/// Requests a second of four instances.
const TRAFFIC: f64 = 240.0;

fn goal() -> Goal {
    let below = Duration::from_millis(100);
    Goal::new(vec![Condition::ResponseTime { quantile: Quantile::P95, below }]).unwrap()
}

fn settings() -> Settings {
    Settings {
        instances: 4,
        squeezed: 1,
        traffic: Rate::per_second_of(TRAFFIC),
        step: Ratio::new(0.1).unwrap(),
        precision: Ratio::new(0.03).unwrap(),
        time: Duration::from_secs(300),
    }
}

/// Sends a trial's share of the traffic, of which there is more or less than is known.
fn try_out(
    instance: Instance,
    squeeze: &Squeeze,
    trial: Trial,
    traffic: f64,
    rng: &mut Rng,
) -> (TrialOutcome, Rate) {
    let share = squeeze.share(trial.rate, settings().traffic).get();
    let (mut judge, mut watch) = (Judge::new(&goal(), &trial), TrialWatch::new(trial.length));
    let (mut free, mut at) = (vec![0.0_f64; instance.slots], 0.0);
    // (sent, done)
    let mut requests: Vec<(f64, f64)> = Vec::new();
    let until = trial.length.as_secs_f64() + 1.0;
    while at < until {
        at += rng.exponential() / (traffic * share);
        let slot = (0..free.len()).min_by(|one, other| free[*one].total_cmp(&free[*other])).unwrap();
        free[slot] = free[slot].max(at) + rng.exponential() * instance.mean;
        requests.push((at, free[slot]));
    }
    loop {
        let elapsed = judge.elapsed() + judge.look_every();
        let now = elapsed.as_secs_f64();
        let times = requests
            .iter()
            .filter(|(_, done)| *done <= now)
            .map(|(sent, done)| Duration::from_secs_f64(done - sent));
        let times: Vec<(Duration, u64)> = times.map(|time| (time, 1)).collect();
        let counts = Counts {
            elapsed,
            sent: requests.iter().filter(|(sent, _)| *sent <= now).count() as u64,
            answered: times.len() as u64,
            total: times.iter().map(|(time, _)| *time).sum(),
            times,
            ..Counts::default()
        };
        let verdict = judge.observe(&watch.progress(&goal(), &counts));
        if verdict != Verdict::Undecided {
            let carried = Rate::per_second_of(share * traffic);
            return (TrialOutcome::of(trial, &judge, verdict), carried);
        }
    }
}

/// Squeezes an instance to the end. `traffic` is that of a trial.
fn squeeze(
    instance: Instance,
    seed: u64,
    mut traffic: impl FnMut(usize) -> f64,
) -> (Capacity, Vec<TrialOutcome>) {
    let (mut squeeze, mut rng) = (Squeeze::new(goal(), settings()), Rng::new(seed, "squeeze"));
    for step in 0..100 {
        match squeeze.next() {
            Step::CoolDown => squeeze.cooled_down(Duration::from_secs(1)),
            Step::Trial(trial) => {
                let now = traffic(step);
                let (outcome, carried) = try_out(instance, &squeeze, trial, now, &mut rng);
                squeeze.observe(outcome, carried);
            }
            Step::Done(report) => return (squeeze.capacity(&report, &[]), squeeze.trials().to_vec()),
        }
    }
    panic!("seed {seed}: a hundred steps and no end");
}

#[test]
fn finds_the_limit_of_one_of_four_under_their_traffic() {
    // The 95th percentile of an M/M/1 queue is ln 20 / (mu - lambda).
    let mean = 1.0 / 150.0;
    let limit = 150.0 - libm::log(20.0) / 0.1;
    let (mut inside, mut off, mut highest) = (0, Vec::new(), 0.0_f64);
    let seeds = 60;
    for seed in 0..seeds {
        let (capacity, trials) = squeeze(Instance { slots: 1, mean }, seed, |_| TRAFFIC);
        let (Some(low), Some(high)) = (capacity.low, capacity.high) else {
            panic!("seed={seed}: {capacity:?}")
        };
        let (low, high) = (low.per_second(), high.per_second());
        inside += usize::from(low <= limit && limit <= high);
        off.push((low / limit - 1.0).abs());
        assert!(low <= high, "seed={seed}");
        assert_eq!(capacity.ran_out, RanOut::Goal(LimitedBy::ResponseTime), "seed={seed}");
        let of_trials = trials.iter().map(|trial| trial.trial.rate.per_second());
        highest = highest.max(of_trials.clone().fold(0.0, f64::max));
        // Nothing below what the instance had before.
        assert!(of_trials.fold(f64::INFINITY, f64::min) >= TRAFFIC / 4.0 * 0.999, "seed={seed}");
    }
    off.sort_by(f64::total_cmp);
    let (median, most) = (off[off.len() / 2], off[off.len() * 95 / 100]);
    println!(
        "inside {inside} of {seeds}, off {median:.3} in the median, {most:.3} in 95 %, highest {highest:.1}"
    );
    assert!(inside * 100 >= 85 * seeds as usize, "{inside} of {seeds}");
    // Trials of seconds near the limit of a single server differ this much.
    assert!(median < 0.07 && most < 0.14, "{median} {most}");
    assert!(highest < limit * 1.35, "overloaded by {}", highest / limit);
}

#[test]
fn traffic_that_is_too_little_is_said_and_no_limit_is_invented() {
    for seed in 0..5 {
        let (capacity, trials) = squeeze(Instance { slots: 4, mean: 0.004 }, seed, |_| TRAFFIC);
        assert_eq!((capacity.high, capacity.ran_out), (None, RanOut::Nothing), "seed={seed}");
        assert!(capacity.verified, "seed={seed}");
        let low = capacity.low.unwrap().per_second();
        assert!((low / TRAFFIC - 0.98).abs() < 0.03, "seed={seed}: {low}");
        assert!(trials.len() < 25, "seed={seed}: {}", trials.len());
    }
}

#[test]
fn traffic_that_falls_or_rises_during_the_squeeze_changes_nothing() {
    let mean = 1.0 / 150.0;
    let limit = 150.0 - libm::log(20.0) / 0.1;
    for seed in 0..10 {
        // What the trial gets differs from what it asked for, and counts.
        let traffic = |step: usize| TRAFFIC * (1.0 + 0.08 * libm::sin(step as f64));
        let (capacity, _) = squeeze(Instance { slots: 1, mean }, seed, traffic);
        let (low, high) = (capacity.low.unwrap().per_second(), capacity.high.unwrap().per_second());
        assert!(low > 0.85 * limit && low <= high && high < 1.2 * limit, "seed={seed}: {low} to {high}");
    }
}

#[test]
fn a_service_that_misses_the_goal_before_is_not_squeezed() {
    let (capacity, trials) = squeeze(Instance { slots: 1, mean: 1.0 / 65.0 }, 1, |_| TRAFFIC);
    assert_eq!((capacity.low, capacity.high), (None, Some(Rate::per_second_of(60.0))));
    assert!(trials.iter().all(|trial| trial.trial.rate == Rate::per_second_of(60.0)));
}

#[test]
fn a_guard_that_is_crossed_ends_it() {
    let mut squeeze = Squeeze::new(goal(), settings());
    let mut rng = Rng::new(1, "squeeze");
    for _ in 0..3 {
        let Step::Trial(trial) = squeeze.next() else { panic!("it is calm") };
        let (outcome, carried) =
            try_out(Instance { slots: 4, mean: 0.004 }, &squeeze, trial, TRAFFIC, &mut rng);
        squeeze.observe(outcome, carried);
    }
    let held = squeeze.trials().last().unwrap().trial.rate;
    let crossed = Crossed::Processor { share: Ratio::ONE, most: Ratio::new(0.9).unwrap() };
    let at = held * 1.1;
    squeeze.crossed(crossed, at);
    let Step::Done(report) = squeeze.next() else { panic!("it has ended") };
    let capacity = squeeze.capacity(&report, &[]);
    assert_eq!((capacity.low, capacity.high), (Some(held), Some(at)));
    assert_eq!((capacity.verified, capacity.ran_out), (false, RanOut::Guard(crossed)));
    // A resource of the instance says more than the guard.
    let busy = Seen { cores: 1.0, used: 0.99, requests: Some(70.0), ..Seen::default() };
    let seen: Vec<(Rate, Seen)> = (0..8).map(|_| (at, busy.clone())).collect();
    assert_eq!(squeeze.capacity(&report, &seen).ran_out, RanOut::Cause(Cause::Processor));
    // Two workers that are both busy in every third second only: no second after which they mostly are.
    let second = |(in_flight, unserved)| Seen {
        moments: 5,
        cores: 2.0,
        used: 0.1,
        in_flight: Some(in_flight),
        slots: Some(2.0),
        unserved: Some(unserved),
        ..Seen::default()
    };
    let seconds = [(3.4, 1.5), (1.2, 0.2), (1.2, 0.2)].into_iter().cycle().take(8);
    let seen: Vec<(Rate, Seen)> = seconds.map(|one| (at, second(one))).collect();
    assert_eq!(squeeze.capacity(&report, &seen).ran_out, RanOut::Cause(Cause::Workers));
    // Seconds of smaller trials do not count.
    let seen: Vec<(Rate, Seen)> = (0..8).map(|_| (held * 0.8, busy.clone())).collect();
    assert_eq!(squeeze.capacity(&report, &seen).ran_out, RanOut::Guard(crossed));
}

#[test]
fn what_ran_out_is_known_also_where_the_limit_is_estimated_above_all_trials() {
    let busy = Seen { cores: 1.0, used: 0.99, requests: Some(70.0), ..Seen::default() };
    let mut above = 0;
    for seed in 0..20 {
        let (mut squeeze, mut rng) = (Squeeze::new(goal(), settings()), Rng::new(seed, "squeeze"));
        let report = loop {
            match squeeze.next() {
                Step::CoolDown => squeeze.cooled_down(Duration::from_secs(1)),
                Step::Trial(trial) => {
                    let instance = Instance { slots: 1, mean: 1.0 / 150.0 };
                    let (outcome, carried) = try_out(instance, &squeeze, trial, TRAFFIC, &mut rng);
                    squeeze.observe(outcome, carried);
                }
                Step::Done(report) => break report,
            }
        };
        let bad = squeeze.trials().iter().filter(|trial| trial.is_bad()).map(|trial| trial.trial.rate);
        let bad: Vec<Rate> = bad.collect();
        let highest = bad.iter().map(|rate| rate.per_second()).fold(0.0, f64::max);
        let seen: Vec<(Rate, Seen)> =
            bad.iter().flat_map(|rate| [(*rate, busy.clone()), (*rate, busy.clone())]).collect();
        let capacity = squeeze.capacity(&report, &seen);
        above += u32::from(capacity.high.is_some_and(|high| NEAR * high.per_second() > highest));
        assert_eq!(capacity.ran_out, RanOut::Cause(Cause::Processor), "seed={seed}: {capacity:?}");
    }
    assert!(above > 0, "it was not tried");
}

#[test]
fn an_instance_is_calm_when_it_is_about_as_fast_as_before() {
    let before = Duration::from_millis(20);
    assert!(is_calm(before, Some(Duration::from_millis(35))));
    assert!(!is_calm(before, Some(Duration::from_millis(36))) && !is_calm(before, None));
}
