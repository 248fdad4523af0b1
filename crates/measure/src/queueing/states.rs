//! State probabilities of birth-death processes, and the waiting time of arrivals in them.

use libm::{exp, lgamma, log};

/// The share of the time in each state from 0 to `most`; `upward(n)` is the rate from n−1 to n over that from n to n−1.
pub(super) fn shares(most: u32, upward: impl Fn(u32) -> f64) -> Vec<f64> {
    let mut shares = vec![1.0];
    let mut last = 1.0_f64;
    for count in 1..=most {
        last *= upward(count);
        if last > HUGE {
            // The rest is negligible compared with what follows; ratios stay.
            shares.iter_mut().for_each(|share| *share /= last);
            last = 1.0;
        }
        shares.push(last);
    }
    let sum: f64 = shares.iter().sum();
    shares.iter_mut().for_each(|share| *share /= sum);
    shares
}

/// The probability that an arrival waits for longer than `seconds`; `seen` is the weight of each state that arrivals
/// find, starting with all servers busy, and `end_rate` how many services end a second while all are.
pub(super) fn wait_exceeds(seen: &[f64], end_rate: f64, seconds: f64) -> f64 {
    // With j in the queue before it, it waits for j + 1 services; longer than `seconds` if at most j end in that time.
    let ends = end_rate * seconds.max(0.0);
    let mut at_most = 0.0;
    let mut longer = 0.0;
    for (ended, share) in (0_u32..).map(f64::from).zip(seen) {
        at_most += match (ends == 0.0, ended == 0.0) {
            (true, is_none) => f64::from(u8::from(is_none)),
            (false, _) => exp(ended * log(ends) - ends - lgamma(ended + 1.0)),
        };
        longer += share * at_most;
    }
    longer
}

/// The mean number of services that an arrival waits for, for states as in [`wait_exceeds`].
pub(super) fn mean_turns(seen: &[f64]) -> f64 {
    (1_u32..).map(f64::from).zip(seen).map(|(turns, share)| turns * share).sum()
}

/// Far below the largest double, far above any ratio that matters.
const HUGE: f64 = 1e250;
