//! Open connections, which a minute inherits from those before it.
//!
//! A connection that is kept belongs to the process that accepted it: with more connections, more requests wait for a
//! busy process while others are idle. How many are open depends on the past: each time that more requests are at an
//! instance at once than before, there are more. They are closed only where they are idle for long. So the number is a
//! state of a service. Times are recorded with few and with many; between them they grow about linearly with the
//! logarithm of the number.

use super::curves::Minute;
use crate::settings::{Accept, Connections, Reuse, Service};

/// How the minutes of a load change with the number of open connections.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Held {
    /// Typical minutes.
    few: Minute,
    many: Minute,
    /// Open connections of an instance that has just begun.
    pub(super) first: f64,
    /// How many are opened in a minute with few and with many.
    opened: [f64; 2],
}

impl Held {
    /// From recordings of one load: of instances that never had more requests, and of instances that had.
    pub(super) fn of(fresh: &[Minute], busier: &[Minute], load: f64, idle: &Idle) -> Held {
        let opened = |pair: &[Minute]| {
            let before = f64::from(pair[0].open);
            (before, f64::from(pair[1].open) - before + idle.closed(load, before, 0.0, 60.0))
        };
        let mut opened: Vec<(f64, f64)> =
            fresh.windows(2).map(opened).chain(busier.windows(2).map(opened)).collect();
        opened.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mean = |part: &[(f64, f64)]| {
            (part.iter().map(|one| one.1).sum::<f64>() / part.len().max(1) as f64).max(0.0)
        };
        let mut all: Vec<Minute> = fresh.iter().chain(busier).copied().collect();
        all.sort_by(|a, b| a.open.total_cmp(&b.open));
        let ((few, many), half) = (all.split_at(all.len() / 2), opened.len() / 2);
        Held {
            few: Minute::typical(few),
            many: Minute::typical(many),
            first: fresh.first().map_or(0.0, |minute| f64::from(minute.open)),
            opened: [mean(&opened[..half]), mean(&opened[half..])],
        }
    }

    /// 0 for as many connections as the minutes with few have, 1 for as many as those with many.
    fn towards(&self, open: f64) -> f64 {
        let (few, many) = (f64::from(self.few.open), f64::from(self.many.open));
        if few <= 0.0 || many < LEAST_DIFFERENCE * few {
            return 0.0;
        }
        (libm::log(open.max(1e-3) / few) / libm::log(many / few)).clamp(-1.0, MOST_TOWARDS)
    }

    /// A minute of this load with another number of open connections.
    pub(super) fn adjust(&self, minute: &Minute, open: f64) -> Minute {
        let typical = |open: f64| self.few.between(&self.many, self.towards(open) as f32, 1.0);
        minute.scaled(&typical(f64::from(minute.open)), &typical(open), open as f32)
    }

    /// Connections that are opened in a minute.
    pub(super) fn opened(&self, open: f64) -> f64 {
        let [few, many] = self.opened;
        (few + self.towards(open) * (many - few)).max(0.0)
    }
}

/// What closes connections.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Idle {
    reuse: Reuse,
    /// Seconds after which an idle connection is closed.
    timeout: f64,
}

impl Idle {
    /// None where connections are not kept, or where any process takes the requests of a connection.
    pub(super) fn of(service: &Service) -> Option<Idle> {
        match (&service.balancing.connections, &service.server.accept) {
            (Connections::Kept { reuse, idle_timeout }, Accept::Kept { .. }) => {
                Some(Idle { reuse: *reuse, timeout: idle_timeout.as_secs_f64() })
            }
            _ => None,
        }
    }

    /// How many of an instance's open connections are closed in `seconds`, at a rate of requests a second of which
    /// `needed` are there at once.
    pub(super) fn closed(&self, rate: f64, open: f64, needed: f64, seconds: f64) -> f64 {
        let each = match self.reuse {
            // Uses are independent: the share of them after which the next one comes too late.
            Reuse::Random => rate * libm::exp(-rate * self.timeout / open.max(1e-3)),
            // Connections take turns: those that do not get theirs in time.
            Reuse::LeastRecent => (open - rate * self.timeout).max(0.0) / self.timeout,
            // What is not needed stays idle.
            Reuse::MostRecent => (open - needed).max(0.0) / self.timeout,
        };
        (each * seconds).min((open - needed).max(0.0))
    }
}

/// Fewer times as many connections are no difference.
const LEAST_DIFFERENCE: f64 = 1.1;
/// As far as can be extrapolated.
const MOST_TOWARDS: f64 = 2.5;

#[cfg(test)]
mod tests {
    use super::*;

    const RANDOM: Idle = Idle { reuse: Reuse::Random, timeout: 60.0 };

    fn minute(open: f32, queued: f32) -> Minute {
        Minute { open, queued, in_system: 1.0, ..Minute::default() }
    }

    #[test]
    fn connections_close_that_are_not_used_in_time() {
        let close = |reuse, open| Idle { reuse, timeout: 60.0 }.closed(10.0, open, 20.0, 60.0);
        // 600 requests come in a time-out. A tenth of as many connections stay, ten times as many do not.
        assert!(close(Reuse::Random, 60.0) < 0.1);
        assert!((close(Reuse::Random, 600.0) - 600.0 * libm::exp(-1.0)).abs() < 1e-9);
        assert_eq!(close(Reuse::LeastRecent, 600.0), 0.0);
        assert_eq!(close(Reuse::LeastRecent, 700.0), 100.0);
        assert_eq!(close(Reuse::MostRecent, 60.0), 40.0);
        // Those that are needed remain.
        for reuse in [Reuse::Random, Reuse::LeastRecent, Reuse::MostRecent] {
            assert!(close(reuse, 6000.0) <= 5980.0 && close(reuse, 20.0) == 0.0, "{reuse:?}");
        }
    }

    #[test]
    fn times_grow_with_the_logarithm_of_the_connections() {
        let held = Held::of(&[minute(10.0, 1.0); 3], &[minute(40.0, 3.0); 3], 10.0, &RANDOM);
        let queued = |open: f64| held.adjust(&minute(40.0, 3.0), open).queued;
        for (open, expected) in [(10.0, 1.0), (20.0, 2.0), (40.0, 3.0), (80.0, 4.0)] {
            assert!((queued(open) - expected).abs() < 1e-5, "{open}: {}", queued(open));
        }
        // Not beyond what can be extrapolated.
        assert_eq!(queued(1e6), queued(1e9));
        // A minute of few connections is adjusted by the same curve.
        let busier = held.adjust(&minute(20.0, 2.5), 40.0);
        assert!((busier.queued - 3.75).abs() < 1e-5 && busier.open == 40.0, "{busier:?}");
    }

    #[test]
    fn without_a_difference_nothing_is_adjusted() {
        let held = Held::of(&[minute(10.0, 1.0); 3], &[minute(10.5, 3.0); 3], 10.0, &RANDOM);
        assert_eq!(held.adjust(&minute(10.0, 1.0), 30.0), minute(30.0, 1.0));
    }

    #[test]
    fn fewer_are_opened_the_more_there_are() {
        let fresh = [10.0, 12.0, 14.0].map(|open| minute(open, 1.0));
        let busier = [40.0, 41.0, 42.0].map(|open| minute(open, 3.0));
        let held = Held::of(&fresh, &busier, 10.0, &RANDOM);
        assert_eq!(held.first, 10.0);
        let opened = [12.0, 20.0, 41.0, 120.0].map(|open| held.opened(open));
        assert!((opened[0] - 2.0).abs() < 1e-6 && (opened[2] - 1.0).abs() < 0.01, "{opened:?}");
        assert!(opened.is_sorted_by(|a, b| a > b) && opened[3] >= 0.0, "{opened:?}");
    }
}
