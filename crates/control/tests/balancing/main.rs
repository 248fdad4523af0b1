//! The balancers on simulated instances: each does what it is intended for.

mod fleet;

use control::balance::{Available, LeastOutstanding, PeakEwma, RoundRobin, WeightedRoundRobin};
use fleet::{Behaviour, Outcomes, run};
use units::Ratio;

const SEEDS: std::ops::Range<u64> = 1..6;
const REQUESTS: u32 = 20_000;

/// Four or 64 instances; the load is a share of their total capacity.
fn fleet(count: usize, first: Behaviour, load: f64) -> (Vec<Behaviour>, f64) {
    let mut behaviours = vec![Behaviour::Works(1.0); count];
    behaviours[0] = first;
    let works = |behaviour: &Behaviour| match behaviour {
        Behaviour::Works(speed) => *speed,
        Behaviour::FailsAtOnce => 0.0,
    };
    let capacity_per_ms = behaviours.iter().map(works).sum::<f64>() / 10.0;
    (behaviours, load * capacity_per_ms)
}

fn around<B: control::balance::Balancer>(balancer: B) -> Available<B> {
    Available::new(balancer, None, Ratio::ZERO)
}

#[test]
fn least_outstanding_requests_beat_round_robin_where_a_tenth_of_the_calls_is_slow() {
    for seed in SEEDS {
        for count in [4, 64] {
            let (behaviours, rate) = fleet(count, Behaviour::Works(1.0), 0.7);
            let turns = run(RoundRobin::new(), &behaviours, rate, REQUESTS, seed);
            let least = run(LeastOutstanding::new(), &behaviours, rate, REQUESTS, seed);
            for share in [0.95, 0.99] {
                let (turns, least) = (turns.quantile(share), least.quantile(share));
                assert!(
                    least < turns * 0.9,
                    "seed={seed} count={count} p{share}: {least} against {turns} ms"
                );
            }
        }
    }
}

#[test]
fn a_slow_instance_spoils_round_robin_and_not_the_others() {
    for seed in SEEDS {
        for count in [4, 64] {
            let (behaviours, rate) = fleet(count, Behaviour::Works(0.5), 0.6);
            let turns = run(RoundRobin::new(), &behaviours, rate, REQUESTS, seed);
            let smooth = run(around(WeightedRoundRobin::new()), &behaviours, rate, REQUESTS, seed);
            let least = run(LeastOutstanding::new(), &behaviours, rate, REQUESTS, seed);
            let peak = run(PeakEwma::default(), &behaviours, rate, REQUESTS, seed);
            let p99 = |outcomes: &Outcomes| outcomes.quantile(0.99);
            let all = [&turns, &smooth, &least, &peak].map(p99);
            assert!(all[2] < all[0] * 0.7 && all[2] < all[1] * 0.7, "seed={seed} count={count}: {all:?} ms");
            assert!(all[3] < all[0] && all[3] < all[1], "seed={seed} count={count}: {all:?} ms");
            let even = 1.0 / count as f64;
            assert!(least.share_of(0) < even && least.share_of(0) > even / 5.0, "seed={seed} count={count}");
        }
    }
}

#[test]
fn an_instance_that_fails_at_once_attracts_nothing() {
    for seed in SEEDS {
        for count in [4, 64] {
            for load in [0.1, 0.8] {
                let (behaviours, rate) = fleet(count, Behaviour::FailsAtOnce, load);
                let turns = run(RoundRobin::new(), &behaviours, rate, REQUESTS, seed).share_of(0);
                let least = run(LeastOutstanding::new(), &behaviours, rate, REQUESTS, seed).share_of(0);
                let within =
                    run(around(LeastOutstanding::new()), &behaviours, rate, REQUESTS, seed).share_of(0);
                let peak = run(PeakEwma::default(), &behaviours, rate, REQUESTS, seed).share_of(0);
                let even = 1.0 / count as f64;
                assert!((turns - even).abs() < 1e-3, "seed={seed} count={count} load={load}: {turns}");
                for share in [least, within, peak] {
                    assert!(share < even / 4.0, "seed={seed} count={count} load={load}: {share}");
                }
                assert!(least > 0.0, "seed={seed} count={count} load={load}: it is never tried");
            }
        }
    }
}

#[test]
fn a_seed_gives_the_same_run() {
    let (behaviours, rate) = fleet(64, Behaviour::Works(0.5), 0.7);
    let runs = [(); 2].map(|()| run(LeastOutstanding::new(), &behaviours, rate, 5_000, 3));
    assert_eq!(runs[0].times_ms, runs[1].times_ms);
    assert_eq!(runs[0].sent, runs[1].sent);
}
