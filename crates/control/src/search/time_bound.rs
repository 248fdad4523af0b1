//! How long a whole search may take: one formula, which `--help` states and the caller enforces.
//!
//! `60 s + 10 S + 2 B`, where `S` is a step of the closed loop, `B` the load time, and the gap between clusters of late
//! answers is a term of `B` unless `B` was given.

use super::rhythm::Rhythm;
use core::time::Duration;
use units::Rate;

/// The length of a step of the closed loop, where a single response takes `first`.
pub fn step_length(first: Duration) -> Duration {
    (first * STEP_ANSWERS).clamp(STEP_MIN, STEP_MAX)
}

/// The full length of a trial of a service whose best throughput is `best`.
pub fn full_length(best: Rate, rhythm: &Rhythm) -> Duration {
    TRIAL_MIN.mul_f64(slowness(best)).max(rhythm.shortest_trial())
}

/// The default load time of all trials, as a number of full trials.
pub fn load_time(best: Rate, rhythm: &Rhythm) -> Duration {
    full_length(best, rhythm).mul_f64(TRIALS)
}

/// The total time that a search may wait between trials until the service is calm.
pub fn waiting_time(load: Duration) -> Duration {
    load / 2
}

/// The longest total time, from the first request to the end of the recovery.
pub fn whole_time(step: Duration, load: Duration) -> Duration {
    FIXED.saturating_add(step * STEPS_MAX).saturating_add(load.saturating_mul(2))
}

/// How many times longer than usual a trial takes to have enough requests.
fn slowness(best: Rate) -> f64 {
    (ENOUGH_A_SECOND / best.per_second().max(1e-3)).clamp(1.0, SLOWEST)
}

/// A closed-loop step takes as long as this many calm responses, within bounds.
const STEP_ANSWERS: u32 = 40;
const STEP_MIN: Duration = Duration::from_secs(2);
const STEP_MAX: Duration = Duration::from_secs(10);
/// 1, 2, 5, 10, ... 1,000 connections.
const STEPS_MAX: u32 = 10;
/// The watch of the calm service, the first responses, the recovery.
const FIXED: Duration = Duration::from_secs(60);
/// The shortest full length of a trial. Real services are faster in some seconds than in others, and a rate that is one
/// percent too high for a queue of a few milliseconds becomes visible only after seconds.
pub const TRIAL_MIN: Duration = Duration::from_secs(10);
/// The default load time, in full trials.
pub const TRIALS: f64 = 7.5;
/// From this rate on, a trial of the usual length has enough requests.
const ENOUGH_A_SECOND: f64 = 100.0;
/// The usual length is multiplied by at most this for slow services.
const SLOWEST: f64 = 3.0;

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn the_bound_is_the_formula_of_the_help() {
        let rate = Rate::per_second_of;
        let every = |gap| Rhythm { clusters: 3, gap: Some(Duration::from_secs(gap)) };
        for (best, rhythm, first_ms, full, load, whole) in [
            (rate(1_000.0), Rhythm::default(), 20, 10, 75, 60 + 20 + 150),
            // 50/s: 1,000 requests take 20 s; 40 responses of 100 ms take 4 s.
            (rate(50.0), Rhythm::default(), 100, 20, 150, 60 + 40 + 300),
            (rate(1.0), Rhythm::default(), 1_000, 30, 225, 60 + 100 + 450),
            // Five gaps of 4 s, of 20 s.
            (rate(1_000.0), every(4), 20, 20, 150, 60 + 20 + 300),
            (rate(1_000.0), every(20), 20, 100, 750, 60 + 20 + 1_500),
        ] {
            assert_eq!(full_length(best, &rhythm), seconds(full), "{best}");
            assert_eq!(load_time(best, &rhythm), seconds(load), "{best}");
            let step = step_length(Duration::from_millis(first_ms));
            assert_eq!(whole_time(step, load_time(best, &rhythm)), seconds(whole), "{best}");
        }
    }
}
