//! Measures how long a service takes to start, and how much processor time.
//!
//! It is started several times: one start-up does not show how much start-ups vary.

use super::figure::{CONFIDENCE, Figure};
use super::measure::Wanted;
use crate::launch::{Launched, NoLaunch, Probe, is_in_use};
use stats::student_t;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// What starts of a service showed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StartUp {
    /// From the start of the command to the first good response, in seconds.
    pub ready: Figure,
    /// Processor time until then, in seconds.
    pub cpu: Figure,
}

impl StartUp {
    /// The time until ready, and the share of the cores that it uses meanwhile, where their number is known.
    pub fn boot(&self, cores: Option<f64>) -> (Duration, Option<f64>) {
        let ready = self.ready.value.max(f64::MIN_POSITIVE);
        (Duration::from_secs_f64(ready), cores.map(|cores| self.cpu.value / ready / cores))
    }
}

/// Starts the command several times; the last one keeps running. `wanted` has no service yet.
///
/// # Errors
/// See [`NoLaunch`].
pub fn launch(command: &str, within: Duration, wanted: &Wanted<'_>) -> Result<(Launched, StartUp), NoLaunch> {
    let probe = Probe {
        work: wanted.work,
        connecting: wanted.connecting,
        keep_alive: wanted.keep_alive,
        timeout: wanted.timeout,
        interrupted: wanted.interrupted,
    };
    if is_in_use(&probe) {
        return Err(NoLaunch::InUse);
    }
    let (mut ready, mut cpu) = (Vec::new(), Vec::new());
    loop {
        let begun = Instant::now();
        let mut launched = Launched::start(command, &BTreeMap::new())?;
        launched.wait(begun + within, within, &probe)?;
        ready.push(begun.elapsed().as_secs_f64());
        cpu.push(launched.service().cpu().unwrap_or_default().as_secs_f64());
        if ready.len() >= STARTS {
            return Ok((launched, StartUp { ready: mean(&ready), cpu: mean(&cpu) }));
        }
    }
}

fn mean(values: &[f64]) -> Figure {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Figure::new(mean, student_t(1.0 - CONFIDENCE, count - 1.0) * (squares / (count - 1.0) / count).sqrt())
}

/// Starts of the service.
const STARTS: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_of_three_starts_is_that_of_students_t() {
        let figure = mean(&[1.0, 1.1, 1.2]);
        assert!(
            (figure.value - 1.1).abs() < 1e-9 && (figure.half_width() - 0.1686).abs() < 1e-3,
            "{figure:?}"
        );
    }
}
