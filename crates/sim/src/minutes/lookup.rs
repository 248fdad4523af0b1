//! Reads recordings: the load, the queue and the minute at a position on the ladder.
//!
//! Positions are steps of the ladder: 0 is the lowest load, 0.5 half way to the next, -1 no load.

use super::curves::{Curve, Minute, Rung};

impl Curve {
    /// The position of a load per instance.
    pub(super) fn place(&self, load: f64) -> f64 {
        place_on(self.rungs.iter().map(|rung| rung.load), load)
    }

    /// The position at which this many requests are at each instance in equilibrium.
    pub(super) fn place_of_count(&self, count: f64) -> f64 {
        place_on(self.in_system.iter().copied(), count)
    }

    /// The load at a place.
    pub(super) fn load_at(&self, place: f64) -> f64 {
        between(place, self.rungs.len(), |rung| self.rungs[rung].load)
    }

    /// Requests at an instance at a place.
    pub(super) fn count_at(&self, place: f64) -> f64 {
        between(place, self.in_system.len(), |rung| self.in_system[rung])
    }

    /// The load of the knee.
    pub(super) fn knee_load(&self) -> f64 {
        self.rungs.get(self.knee).map_or(f64::INFINITY, |rung| rung.load)
    }

    /// The minute with this number at a position, with this number of open connections at an instance.
    pub(super) fn minute(&self, place: f64, number: u64, open: f64) -> Minute {
        let rungs = &self.rungs;
        let Some(first) = rungs.first() else { return Minute::default() };
        let number = (number % first.minutes.len().max(1) as u64) as usize;
        let at = |rung: usize| {
            let Rung { minutes, held, .. } = &rungs[rung];
            let minute = minutes.get(number).copied().unwrap_or_default();
            held.as_ref().map_or(minute, |held| held.adjust(&minute, open))
        };
        if place < 0.0 {
            let mut minute = at(0);
            let share = (1.0 + place) as f32;
            // Use falls with load down to the use without load; times hardly change.
            minute.in_system *= share;
            minute.cores = self.idle() + (minute.cores - self.idle()) * share;
            return minute;
        }
        let below = (place as usize).min(rungs.len() - 1);
        if below + 1 == rungs.len() {
            at(below)
        } else {
            let (low, high) = (rungs[below].load, rungs[below + 1].load);
            let other_load = if low > 0.0 { high / low } else { 1.0 };
            at(below).between(&at(below + 1), place.fract() as f32, other_load as f32)
        }
    }

    /// Open connections at a new instance at a position; 0 where their number does not matter.
    pub(super) fn first_open(&self, place: f64) -> f64 {
        between(place, self.rungs.len(), |rung| self.rungs[rung].held.as_ref().map_or(0.0, |held| held.first))
    }

    /// Open connections at an instance after `seconds` at a position, with `requests` in its queue.
    pub(super) fn open_after(&self, open: f64, place: f64, requests: f64, seconds: f64) -> f64 {
        let Some(idle) = &self.idle else { return 0.0 };
        let opened = |rung: usize| self.rungs[rung].held.as_ref().map_or(0.0, |held| held.opened(open));
        let opened = between(place, self.rungs.len(), opened) * seconds / 60.0;
        let needed = self.first_open(place).max(requests);
        let closed = idle.closed(self.load_at(place), open, needed, seconds);
        (open + opened - closed).max(needed)
    }

    /// Cores in use at a position, on average over the recorded minutes.
    pub(super) fn mean_cores(&self, place: f64) -> f64 {
        let idle = f64::from(self.idle());
        if place < 0.0 {
            return idle + (self.cores.first().copied().unwrap_or(idle) - idle) * (1.0 + place);
        }
        between(place, self.cores.len(), |rung| self.cores[rung])
    }

    /// Cores in use without load: extrapolated from the two lowest rungs.
    fn idle(&self) -> f32 {
        let ([low, high, ..], [low_cores, high_cores, ..]) = (&self.rungs[..], &self.cores[..]) else {
            return 0.0;
        };
        (low_cores - low.load * (high_cores - low_cores) / (high.load - low.load)).max(0.0) as f32
    }
}

/// A value between the steps of a ladder, from zero on.
fn between(place: f64, steps: usize, at: impl Fn(usize) -> f64) -> f64 {
    if steps == 0 {
        return 0.0;
    }
    if place < 0.0 {
        return at(0) * (1.0 + place);
    }
    let below = (place as usize).min(steps - 1);
    let above = (below + 1).min(steps - 1);
    at(below) + place.fract() * (at(above) - at(below))
}

/// The position of a value between the steps of a ladder: 0 is the first, 0.5 half way to the second, -1 zero.
pub(super) fn place_on(steps: impl Iterator<Item = f64>, value: f64) -> f64 {
    let (mut before, mut place) = (0.0, -1.0);
    for step in steps {
        if value < step {
            return place + (value - before) / (step - before);
        }
        (before, place) = (step, place + 1.0);
    }
    place
}
