//! The simulated services, by kind, and the true sustainable rate of each.
//!
//! ## The truth
//! One definition for all kinds: the highest rate at which a run that starts calm and is [`HORIZON`] times as long
//! as the search's full trial at that rate holds the goal with probability one half or more.
//! - For even arrivals into steady slots that is their capacity, plus the excess at which a queue does not reach the
//!   bound within the run: the bound divided by the run's length, mostly below one percent.
//! - For queues that settle it is the long-run rate: longer horizons do not change it.
//! - A cliff under Poisson arrivals collapses sooner or later at any rate; the horizon defines how late is acceptable.
//!
//! It is found by simulation: for each of several seeds the highest rate that holds, by bisection on common random
//! numbers; then the median. The problem scales with time: a service twice as fast holds twice the rate. So true rates
//! are computed once for services of capacity 1/s, at three horizons, and interpolated (or extrapolated) in the
//! horizon's logarithm.

use crate::service::{Arrivals, Service, Work};
use control::search::HORIZON;

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    Steady,
    Noisy,
    Cliff,
}

/// A service of capacity 1/s and how its goal compares with its calm response time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Entry {
    pub kind: Kind,
    pub service: Service,
    /// The goal's bound on p95, as a multiple of the calm median.
    pub tightness: f64,
}

impl Entry {
    pub fn bound_s(&self) -> f64 {
        self.tightness * self.service.calm_s()
    }
}

/// Every kind with every combination of arrivals, slots and tightness that is reachable.
pub fn entries() -> Vec<Entry> {
    let mut entries = Vec::new();
    for arrivals in [Arrivals::Even, Arrivals::Poisson] {
        for slots in [1, 2, 4, 8] {
            let mut add = |kind, work, drift, paused, cliff, tightness: &[f64]| {
                let work_s = slots as f64 * (1.0 - paused);
                let service = Service { slots, work_s, work, drift, paused, cliff, arrivals };
                entries.extend(tightness.iter().map(|&tightness| Entry { kind, service, tightness }));
            };
            add(Kind::Steady, Work::Same, 0.0, 0.0, None, &[2.0, 3.0, 5.0, 10.0]);
            // The 95th percentile of an exponential is 4.3 times its median, of these lognormals 1.6 and 2.3 times.
            add(Kind::Noisy, Work::Exponential, 0.0, 0.0, None, &[7.0, 10.0]);
            add(Kind::Noisy, Work::Lognormal(0.3), 0.1, 0.0, None, &[3.0, 6.0]);
            add(Kind::Noisy, Work::Lognormal(0.5), 0.0, 0.02, None, &[5.0, 9.0]);
            if slots == 2 || slots == 4 {
                add(Kind::Cliff, Work::Same, 0.0, 0.0, Some(6.0 * slots as f64), &[2.0, 3.0, 5.0, 10.0]);
            }
        }
    }
    entries
}

/// The true rate of one entry at several horizons.
#[derive(Debug, Clone)]
pub struct Truth(Vec<(f64, f64)>);

impl Truth {
    pub fn of(entry: &Entry) -> Truth {
        let mut nodes: Vec<(f64, f64)> = Vec::new();
        let mut guess = 0.7;
        for (requests, seeds) in [(1_500, 31), (9_000, 15), (50_000, 7)] {
            let mut found = Vec::new();
            for seed in 0..seeds {
                guess = highest(entry, guess, requests, seed);
                found.push(guess);
            }
            found.sort_by(f64::total_cmp);
            nodes.push(((requests as f64).ln(), found[found.len() / 2]));
        }
        Truth(nodes)
    }

    /// As a share of capacity, for a full trial with this many requests.
    pub fn at(&self, trial_requests: f64) -> f64 {
        let x = (HORIZON * trial_requests).ln();
        let above = self.0.iter().position(|node| node.0 >= x).unwrap_or(self.0.len() - 1).max(1);
        let (one, other) = (self.0[above - 1], self.0[above]);
        let share = (x - one.0) / (other.0 - one.0);
        one.1 + share * (other.1 - one.1)
    }
}

/// The highest rate that holds, searched outwards from an estimate and then by bisection.
fn highest(entry: &Entry, guess: f64, requests: usize, seed: u64) -> f64 {
    let held = |rate| holds(&entry.service, entry.bound_s(), rate, requests, 0x7275_7468 + seed);
    let (mut low, mut high, mut step) = (guess, guess, 1.01);
    if held(guess) {
        loop {
            high *= step;
            if !held(high) {
                break;
            }
            (low, step) = (high, step * step);
        }
    } else {
        loop {
            low /= step;
            if held(low) {
                break;
            }
            (high, step) = (low, step * step);
        }
    }
    while high / low > 1.003 {
        let rate = (low * high).sqrt();
        if held(rate) { low = rate } else { high = rate }
    }
    (low * high).sqrt()
}

/// Whether 95 % of the first `requests` requests get their response within the bound.
pub fn holds(service: &Service, bound_s: f64, rate: f64, requests: usize, seed: u64) -> bool {
    let budget = requests / 20;
    let late =
        service.requests(rate, seed).take(requests).filter(|one| one.done_s - one.arrived_s >= bound_s);
    late.take(budget + 1).count() <= budget
}
