//! The processor of a host, shared equally among all running bursts.
//!
//! ## Virtual time
//! It advances by the processor time that each running burst gets. A burst that joins at virtual time `v` with work `w`
//! ends at `v + w`, however many join and leave in between, so the order of ends never changes, and a host has one next
//! completion.
//!
//! ```text
//! speed of a burst = speed × given × min(1, (cores - background) / n)
//! speed:  of a core, 1 is the core that demands were measured on
//! given:  share of each core that the host really gets (credits, neighbours)
//! n:      bursts that run
//! ```
//!
//! ## Throttling
//! A quota applies to periods of fixed length; when it is used up, all bursts stop until the period ends (the kernel's
//! CFS bandwidth control, without its slices for each processor). That time is known as soon as a burst joins or
//! leaves, so the quota of a host that is not throttled costs nothing.

use super::nanos;
use crate::settings::Host;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The processor of a host. Work and virtual time are in nanoseconds of a core of speed 1.
#[derive(Debug, Clone)]
pub(super) struct Processor {
    /// Bursts by the virtual time at which they end, then in the order of arrival: the bits of positive numbers have
    /// the same order.
    running: BinaryHeap<Reverse<u128>>,
    sequence: u32,
    virtual_time: f64,
    /// The time of the last update of virtual time.
    advanced: u64,
    /// When the first burst ends, if nothing changes.
    completes: u64,
    speed: f64,
    given: f64,
    /// Cores without background.
    capacity: f64,
    /// Virtual time that passes in a nanosecond for a burst with its own core, and for all together when every core is
    /// busy; and their inverses.
    fastness: f64,
    power: f64,
    slowness: f64,
    crowding: f64,
    background: f64,
    /// Core nanoseconds that bursts used.
    used: f64,
    throttle: Option<Throttle>,
}

#[derive(Debug, Clone)]
struct Throttle {
    period: u64,
    /// Core nanoseconds in a period, without background.
    quota: f64,
    /// When the present period began.
    began: u64,
    left: f64,
    stopped: bool,
}

impl Processor {
    pub(super) fn new(host: &Host, now: u64) -> Self {
        let cores = f64::from(host.cores.max(1));
        let background = host.background.clamp(0.0, 0.99 * cores);
        let throttle = host.quota.filter(|quota| quota.cores < cores).map(|quota| {
            let period = nanos(quota.period).max(1);
            let quota = (quota.cores - background).max(1e-6) * period as f64;
            Throttle { period, quota, began: now, left: quota, stopped: false }
        });
        let mut processor = Processor {
            running: BinaryHeap::new(),
            sequence: 0,
            virtual_time: 0.0,
            advanced: now,
            completes: u64::MAX,
            speed: host.speed,
            given: 1.0,
            capacity: cores - background,
            fastness: 0.0,
            power: 0.0,
            slowness: 0.0,
            crowding: 0.0,
            background,
            used: 0.0,
            throttle,
        };
        processor.set_given(1.0);
        processor
    }

    fn set_given(&mut self, share: f64) {
        self.given = share.clamp(1e-9, 1.0);
        self.fastness = self.speed * self.given;
        self.power = self.fastness * self.capacity;
        (self.slowness, self.crowding) = (1.0 / self.fastness, 1.0 / self.power);
    }

    /// Cores that it may use at most on average, background included.
    pub(super) fn most(&self) -> f64 {
        let most = self.capacity + self.background;
        self.throttle
            .as_ref()
            .map_or(most, |throttle| (throttle.quota / throttle.period as f64 + self.background).min(most))
    }

    pub(super) fn background(&self) -> f64 {
        self.background
    }

    pub(super) fn speed(&self) -> f64 {
        self.speed
    }

    /// The use of bursts since the last call, in core nanoseconds.
    pub(super) fn take_used(&mut self, now: u64) -> f64 {
        self.advance(now);
        std::mem::take(&mut self.used)
    }

    /// Sets the share of each core that it gets from now on; returns the time of the next event.
    pub(super) fn give(&mut self, now: u64, share: f64) -> u64 {
        self.advance(now);
        self.set_given(share);
        self.next(now)
    }

    /// A burst joins; returns the time of the next event.
    #[inline]
    pub(super) fn start(&mut self, now: u64, work: f64, visit: u32) -> u64 {
        self.advance(now);
        let ends = self.virtual_time + work;
        self.sequence = self.sequence.wrapping_add(1);
        let key = u128::from(ends.to_bits()) << 64 | u128::from(self.sequence) << 32 | u128::from(visit);
        self.running.push(Reverse(key));
        self.next(now)
    }

    /// Handles the next event: a burst may end. Also returns the time of the following event.
    #[inline]
    pub(super) fn happen(&mut self, now: u64) -> (Option<u32>, u64) {
        self.advance(now);
        let mut ended = None;
        if now >= self.completes
            && let Some(Reverse(key)) = self.running.pop()
        {
            ended = Some(key as u32);
            // The time of an event is rounded up to a nanosecond; virtual time is not.
            self.virtual_time = self.virtual_time.max(f64::from_bits((key >> 64) as u64));
            if self.running.is_empty() {
                self.virtual_time = 0.0;
            }
        } else {
            let in_use = self.in_use();
            if let Some(throttle) = &mut self.throttle {
                // The time of the event was rounded down to a nanosecond.
                throttle.stopped = throttle.left < in_use + 1e-3;
            }
        }
        (ended, self.next(now))
    }

    /// Removes all running bursts.
    pub(super) fn clear(&mut self, now: u64) {
        self.advance(now);
        self.running.clear();
        self.virtual_time = 0.0;
        self.completes = u64::MAX;
    }

    /// Cores that bursts use in total.
    #[inline]
    fn in_use(&self) -> f64 {
        self.given * (self.running.len() as f64).min(self.capacity)
    }

    #[inline]
    fn advance(&mut self, now: u64) {
        let passed = (now - self.advanced) as i64 as f64;
        let from = std::mem::replace(&mut self.advanced, now);
        let n = self.running.len();
        if n == 0 || from == now {
            return;
        }
        let (mut worked, in_use) = (passed, self.in_use());
        if let Some(throttle) = &mut self.throttle {
            worked = throttle.advance(from, now, in_use);
        }
        self.used += worked * in_use;
        self.virtual_time += worked * self.fastness.min(self.power * reciprocal(n));
    }

    /// The time of the next event: the end of a burst, of the quota or of a throttled period.
    #[inline]
    fn next(&mut self, now: u64) -> u64 {
        let Some(Reverse(first)) = self.running.peek() else {
            self.completes = u64::MAX;
            return u64::MAX;
        };
        let left = f64::from_bits((first >> 64) as u64) - self.virtual_time;
        let wait = left * self.slowness.max(self.running.len() as f64 * self.crowding);
        // Up to a nanosecond late; events more than 292 years ahead never happen.
        self.completes = now.saturating_add((wait + 0.999) as i64 as u64);
        let in_use = self.in_use();
        let Some(throttle) = &mut self.throttle else { return self.completes };
        let (stops, runs) = throttle.next(now, in_use);
        if !runs {
            self.completes = u64::MAX;
        }
        self.completes.min(stops)
    }
}

impl Throttle {
    fn ends(&self) -> u64 {
        self.began + self.period
    }

    /// How much of the time since `from` it ran. In between it neither stopped nor, except at the end, continued.
    fn advance(&mut self, from: u64, now: u64, in_use: f64) -> f64 {
        self.enter(from);
        if self.stopped {
            self.enter(now);
            return 0.0;
        }
        self.left -= (now.min(self.ends()) - from) as f64 * in_use;
        if now >= self.ends() {
            self.enter(now);
            self.left -= (now - self.began) as f64 * in_use;
        }
        (now - from) as f64
    }

    fn enter(&mut self, now: u64) {
        if now >= self.ends() {
            self.began = now - (now - self.began) % self.period;
            self.left = self.quota;
            self.stopped = false;
        }
    }

    /// When it stops or continues, and whether it runs.
    fn next(&mut self, now: u64, in_use: f64) -> (u64, bool) {
        self.enter(now);
        if self.stopped {
            return (self.ends(), false);
        }
        let stops = now.saturating_add((self.left.max(0.0) / in_use) as u64);
        if stops < self.ends() {
            return (stops, true);
        }
        // Not in this period; at the earliest in the next one.
        let span = self.quota / in_use;
        let later = if span < self.period as f64 { self.ends() + span as u64 } else { u64::MAX };
        (later, true)
    }
}

/// On most hosts so few bursts run that the quotient can be looked up.
#[inline]
fn reciprocal(n: usize) -> f64 {
    match RECIPROCALS.get(n) {
        Some(reciprocal) => *reciprocal,
        None => 1.0 / n as f64,
    }
}

static RECIPROCALS: [f64; 64] = {
    let mut table = [1.0; 64];
    let mut n = 1;
    while n < 64 {
        table[n] = 1.0 / n as f64;
        n += 1;
    }
    table
};

#[cfg(test)]
mod tests;
