//! Incidents of a third party.

use super::nanos;
use crate::settings::Incidents;
use stats::Rng;

/// The current or the next incident of one step of one endpoint.
#[derive(Debug, Clone)]
pub(super) struct Incident {
    factor: f64,
    duration: u64,
    /// Mean time between an end and the next beginning, in nanoseconds.
    gap: f64,
    begins: u64,
    rng: Rng,
}

impl Incident {
    pub(super) fn new(incidents: &Incidents, seed: u64, purpose: &str) -> Self {
        let duration = nanos(incidents.duration);
        // They do not overlap, so that there are as many in an hour as configured.
        let gap = (HOUR / incidents.per_hour - duration as f64).max(0.0);
        let mut rng = Rng::new(seed, purpose);
        let begins = (gap * rng.exponential_fast()) as u64;
        Incident { factor: incidents.factor, duration, gap, begins, rng }
    }

    /// The factor of a wait that begins now.
    #[inline]
    pub(super) fn factor(&mut self, now: u64) -> f64 {
        while now >= self.begins.saturating_add(self.duration) && self.duration > 0 {
            let gap = self.gap * self.rng.exponential_fast();
            self.begins = self.begins.saturating_add(self.duration).saturating_add(gap as u64);
        }
        if now >= self.begins && self.duration > 0 { self.factor } else { 1.0 }
    }

    /// The share of incidents in a span, relative to the usual share. To be called before any factor.
    pub(super) fn share_of_usual(&mut self, from: u64, to: u64) -> f64 {
        let seconds = (from / SECOND)..(to / SECOND);
        let all = seconds.end.saturating_sub(seconds.start) as f64;
        let bad = seconds.filter(|second| self.factor(second * SECOND) > 1.0).count() as f64;
        let usual = self.duration as f64 / (self.duration as f64 + self.gap);
        if usual > 0.0 && all > 0.0 { bad / all / usual } else { 1.0 }
    }
}

const HOUR: f64 = 3600e9;
const SECOND: u64 = 1_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn incidents_come_as_often_and_last_as_long_as_set() {
        let settings = Incidents { per_hour: 2.0, duration: Duration::from_secs(240), factor: 5.0 };
        let mut incident = Incident::new(&settings, 1, "incidents");
        let (mut bad, mut begins, mut before) = (0_u32, 0_u32, 1.0);
        let hours = 2000;
        for second in 0..hours * 3600_u64 {
            let factor = incident.factor(second * 1_000_000_000);
            bad += u32::from(factor == 5.0);
            begins += u32::from(factor == 5.0 && before == 1.0);
            before = factor;
        }
        let share = f64::from(bad) / (hours as f64 * 3600.0);
        assert!((share / (480.0 / 3600.0) - 1.0).abs() < 0.05, "{share} of the time");
        assert!((f64::from(begins) / (2.0 * hours as f64) - 1.0).abs() < 0.05, "{begins} incidents");
    }
}
