//! A simulated service: first come, first served into a few slots, request by request.
//!
//! It has its own small model instead of the simulator's: a search that is tested with the code that it shares would
//! not reveal errors in it.

use stats::Rng;
use std::collections::VecDeque;

/// How requests arrive.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Arrivals {
    /// Evenly spaced.
    Even,
    /// With exponential gaps.
    Poisson,
}

/// How long one request holds a slot, relative to the mean.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Work {
    /// Always the mean.
    Same,
    /// Exponential.
    Exponential,
    /// Lognormal with this standard deviation of the logarithm.
    Lognormal(f64),
}

/// A service of known behaviour.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Service {
    /// Requests that are processed at once.
    pub slots: usize,
    /// The mean time for which a request holds its slot when calm, in seconds.
    pub work_s: f64,
    pub work: Work,
    /// Work times vary slowly by this share around their mean (period: 200 work times).
    pub drift: f64,
    /// Share of the time in which the service is paused (pauses of 3 work times).
    pub paused: f64,
    /// Above this many in flight, work slows down by (in flight / this).
    pub cliff: Option<f64>,
    pub arrivals: Arrivals,
}

/// One request: when it should start, and when its response came.
#[derive(Debug, Clone, Copy)]
pub struct Request {
    pub arrived_s: f64,
    pub done_s: f64,
    /// Whether the response was an error.
    pub failed: bool,
}

impl Service {
    /// The response time of a single calm request, seconds: the median.
    pub fn calm_s(&self) -> f64 {
        self.work_s
            * match self.work {
                Work::Same => 1.0,
                Work::Exponential => std::f64::consts::LN_2,
                Work::Lognormal(sigma) => (-sigma * sigma / 2.0).exp(),
            }
    }

    /// Requests in the order of their arrival, without end, from a calm start.
    pub fn requests(&self, rate: f64, seed: u64) -> Requests {
        Requests {
            service: *self,
            gap_s: 1.0 / rate,
            arrivals: Rng::new(seed, "arrivals"),
            work: Rng::new(seed, "work"),
            pauses: Rng::new(seed, "pauses"),
            clock_s: 0.0,
            queue: VecDeque::new(),
            free_s: vec![0.0; self.slots],
            pause_s: None,
            phase: Rng::new(seed, "phase").uniform(),
        }
    }
}

/// The slowdown is bounded by this: clients give up, and the work of a request stays finite.
const SLOWEST: f64 = 8.0;

/// What [`Service::requests`] returns.
pub struct Requests {
    service: Service,
    gap_s: f64,
    arrivals: Rng,
    work: Rng,
    pauses: Rng,
    clock_s: f64,
    /// Arrivals that have been drawn and not yet started.
    queue: VecDeque<f64>,
    free_s: Vec<f64>,
    /// The next pause: from, to.
    pause_s: Option<(f64, f64)>,
    phase: f64,
}

impl Requests {
    fn draw_arrival(&mut self) {
        self.clock_s += match self.service.arrivals {
            Arrivals::Even => self.gap_s,
            Arrivals::Poisson => self.gap_s * self.arrivals.exponential(),
        };
        self.queue.push_back(self.clock_s);
    }

    fn next_pause(&mut self, after_s: f64) -> (f64, f64) {
        let length = 3.0 * self.service.work_s;
        let between = length * (1.0 - self.service.paused) / self.service.paused;
        let from = after_s + between * self.pauses.exponential();
        (from, from + length)
    }

    /// A start or an end within a pause waits for the end of the pause; work is extended by the pauses in it.
    fn finish(&mut self, start_s: f64, work_s: f64) -> f64 {
        if self.service.paused == 0.0 {
            return start_s + work_s;
        }
        let (mut from, mut to) = match self.pause_s {
            Some(pause) => pause,
            None => self.next_pause(0.0),
        };
        while to <= start_s {
            (from, to) = self.next_pause(to);
        }
        self.pause_s = Some((from, to));
        if start_s + work_s <= from { start_s + work_s } else { to + work_s - (from - start_s).max(0.0) }
    }
}

impl Iterator for Requests {
    type Item = Request;

    fn next(&mut self) -> Option<Request> {
        if self.queue.is_empty() {
            self.draw_arrival();
        }
        let arrived_s = self.queue.pop_front()?;
        let mut slot = 0;
        for (at, free) in self.free_s.iter().enumerate() {
            if *free < self.free_s[slot] {
                slot = at;
            }
        }
        let start_s = self.free_s[slot].max(arrived_s);
        let mut work_s = self.service.work_s
            * match self.service.work {
                Work::Same => 1.0,
                Work::Exponential => self.work.exponential(),
                Work::Lognormal(sigma) => (sigma * self.work.normal() - sigma * sigma / 2.0).exp(),
            };
        if self.service.drift > 0.0 {
            let turn = start_s / (200.0 * self.service.work_s) + self.phase;
            work_s *= 1.0 + self.service.drift * (turn * std::f64::consts::TAU).sin();
        }
        if let Some(limit) = self.service.cliff {
            while self.clock_s <= start_s {
                self.draw_arrival();
            }
            let busy = self.free_s.iter().filter(|free| **free > start_s).count();
            // The last one drawn has not arrived yet.
            let in_flight = (1 + busy + self.queue.len() - 1) as f64;
            work_s *= (in_flight / limit).clamp(1.0, SLOWEST);
        }
        let done_s = self.finish(start_s, work_s);
        self.free_s[slot] = done_s;
        Some(Request { arrived_s, done_s, failed: false })
    }
}
