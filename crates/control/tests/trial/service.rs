//! Virtual services: what a block of each arm would measure, for four kinds of noise.

use control::trial::{Arm, Assignment, Block, Seen};
use libm::{exp, log, pow, sin, sqrt};
use stats::Rng;
use std::time::Duration;

/// How the noise of a service behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The same spread in every block.
    Noisy,
    /// A random walk and the time of the day move all arms by more than the noise.
    Drifting,
    /// Bursts with Pareto tails, of all arms or of one.
    Bursty,
    /// The spread itself changes slowly, by a factor of two and more.
    Unsteady,
}

pub const KINDS: [Kind; 4] = [Kind::Noisy, Kind::Drifting, Kind::Bursty, Kind::Unsteady];
/// Median, 95th and 99th percentile of the response time, errors, processor time, memory.
pub const MEASURES: usize = 6;

/// A service with its arms.
pub struct Service {
    kind: Kind,
    /// The effect on response and processor times of the candidate, as a logarithm.
    effect: f64,
    rng: Rng,
    blocks: f64,
    walk: f64,
    spread: f64,
    /// The places of the measures that it reports.
    reported: Vec<usize>,
}

impl Service {
    pub fn new(kind: Kind, effect: f64, seed: u64) -> Self {
        let (rng, reported) = (Rng::new(seed, "service"), (0..MEASURES).collect());
        Service { kind, effect, rng, blocks: 0.0, walk: 0.0, spread: 0.0, reported }
    }

    /// Reports these measures only, in this order.
    pub fn only(self, reported: &[usize]) -> Self {
        Service { reported: reported.to_vec(), ..self }
    }

    /// What the arms measure in a block.
    pub fn block(&mut self, assigned: &Assignment) -> Block {
        let mut arms = Vec::new();
        if assigned.at_once {
            self.advance();
        }
        let burst = self.burst();
        for arm in &assigned.arms {
            if !assigned.at_once {
                self.advance();
            }
            let own = self.burst();
            let level = self.level() + if assigned.at_once { burst } else { 0.0 } + own;
            arms.push(self.arm(*arm, level));
        }
        Block { lag: Duration::from_millis(1), arms }
    }

    fn advance(&mut self) {
        self.blocks += 1.0;
        self.walk += 0.02 * self.rng.normal();
        self.spread = 0.9 * self.spread + 0.3 * self.rng.normal();
    }

    fn level(&self) -> f64 {
        match self.kind {
            Kind::Drifting => self.walk + 0.3 * sin(self.blocks / 40.0),
            _ => 0.0,
        }
    }

    fn burst(&mut self) -> f64 {
        if self.kind == Kind::Bursty && self.rng.uniform() < 0.08 {
            // How much longer than usual: at least 1.1 times, with an infinite variance.
            log(1.0 + 0.1 * pow(self.rng.uniform().max(1e-9), -1.0 / 1.5))
        } else {
            0.0
        }
    }

    fn arm(&mut self, arm: Arm, level: f64) -> Seen {
        let noise = match self.kind {
            Kind::Unsteady => 0.03 * exp(self.spread),
            _ => 0.03,
        };
        let effect = if matches!(arm, Arm::Candidate(_)) { self.effect } else { 0.0 };
        // Measures of an arm share half of their noise.
        let shared = self.rng.normal_fast();
        let mut value = |sensitivity: f64, effect: f64| {
            let own = (shared + self.rng.normal_fast()) / sqrt(2.0);
            Some(exp(effect + sensitivity * (level + noise * own)))
        };
        let times = [value(0.7, effect), value(1.0, effect), value(1.8, effect)];
        let (processor, memory) = (value(0.3, effect), value(0.1, 0.0));
        let errors = Some(errors(&mut self.rng, 2.0 * (1.0 + level.max(0.0))) / 2_000.0);
        let all = [times[0], times[1], times[2], errors, processor, memory];
        let values = self.reported.iter().map(|place| all[*place]).collect();
        Seen { offered: 2_000, answered: 2_000, mix: vec![1_400, 600], values, ..Seen::default() }
    }
}

/// A Poisson number with this mean.
pub fn errors(rng: &mut Rng, mean: f64) -> f64 {
    let (least, mut product, mut count) = (exp(-mean), rng.uniform(), 0.0);
    while product > least {
        product *= rng.uniform();
        count += 1.0;
    }
    count
}
