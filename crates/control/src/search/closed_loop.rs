//! Closed loop: the highest throughput of the service, and the number of connections that reaches it.
//!
//! This is the first stage of the account: it raises the number of connections step by step until throughput stops
//! growing. It gives the open-loop search its hint, the calm response time, and the knee.
//!
//! ## Why the knee is interpolated between two steps
//! Concurrency is throughput times response time (Little's law, N = X R: Little, "A proof for the queuing formula L =
//! λW", Operations Research 9, 1961), and below the knee the response time does not grow yet. So the knee is the wanted
//! throughput times the response time of the last step below it. This is more precise than the steps, which double.
//!
//! ## Why falling throughput ends it
//! The throughput of some services falls with concurrency. More connections would only slow such a service further, and
//! its recovery would be measured instead of its capacity.

use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;
use units::{Rate, Timestamp};

/// What one step measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measured {
    /// Connections, each with one request at a time.
    pub concurrency: u32,
    /// Good responses a second.
    pub throughput: Rate,
    /// The median response time.
    pub response_time: Duration,
}

/// What to do next.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    /// Measure with this many connections.
    Measure(u32),
    /// Enough is known.
    Done(Knee),
    /// No step had a good response.
    NothingAnswered,
}

/// What the closed loop found.
#[derive(Debug, Clone, PartialEq)]
pub struct Knee {
    /// The highest throughput of any step.
    pub best: Rate,
    /// The concurrency of that step.
    pub best_at: u32,
    /// The median response time of the step with the fewest connections.
    pub calm: Duration,
    /// The smallest concurrency with [`KNEE_SHARE`] of the best throughput.
    pub knee: u32,
    /// Why no more connections were tried.
    pub stopped: Stopped,
    /// Every step in order.
    pub steps: Vec<Measured>,
}

/// Why the closed loop ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Stopped {
    /// Two steps in a row gained little.
    Flat,
    /// Throughput fell: the service gets slower with concurrency.
    Falling,
    /// No more connections are allowed.
    ConcurrencyMax,
}

/// The closed loop as a state machine.
#[derive(Debug, Clone)]
pub struct ClosedLoop {
    concurrency_max: u32,
    steps: Vec<Measured>,
}

impl ClosedLoop {
    /// A closed loop with up to `concurrency_max` connections (at least one).
    pub fn new(concurrency_max: u32) -> Self {
        ClosedLoop { concurrency_max: concurrency_max.max(1), steps: Vec::new() }
    }

    /// Records a step.
    pub fn observe(&mut self, measured: Measured) {
        self.steps.push(measured);
    }

    /// What to do next.
    pub fn next(&self) -> Next {
        match self.stopped() {
            None => {
                let before = self.steps.last().map_or(0, |last| last.concurrency);
                Next::Measure(step_after(before).min(self.concurrency_max))
            }
            Some(stopped) => self.done(stopped),
        }
    }

    fn stopped(&self) -> Option<Stopped> {
        let last = self.steps.last()?;
        let best_before = |count: usize| {
            let before = &self.steps[..self.steps.len().saturating_sub(count)];
            before
                .iter()
                .map(|step| step.throughput)
                .fold(Rate::ZERO, |one, other| if other > one { other } else { one })
        };
        if last.throughput < best_before(1) * FALLEN {
            return Some(Stopped::Falling);
        }
        // One flat step may be noise; two in a row are not.
        let flat = |step: &Measured| step.throughput < best_before(2) * GAIN;
        if self.steps.len() >= 3 && self.steps.iter().rev().take(2).all(flat) {
            return Some(Stopped::Flat);
        }
        (last.concurrency >= self.concurrency_max).then_some(Stopped::ConcurrencyMax)
    }

    fn done(&self, stopped: Stopped) -> Next {
        let faster = |one: &&Measured, other: &&Measured| {
            one.throughput.per_second().total_cmp(&other.throughput.per_second())
        };
        let Some(best) = self.steps.iter().max_by(faster).filter(|best| best.throughput > Rate::ZERO) else {
            return Next::NothingAnswered;
        };
        Next::Done(Knee {
            best: best.throughput,
            best_at: best.concurrency,
            calm: self.steps[0].response_time,
            knee: self.knee(best.throughput),
            stopped,
            steps: self.steps.clone(),
        })
    }

    fn knee(&self, best: Rate) -> u32 {
        let wanted = best.per_second() * KNEE_SHARE;
        let mut before: Option<&Measured> = None;
        for step in &self.steps {
            if step.throughput.per_second() >= wanted {
                let Some(before) = before else { return step.concurrency };
                let at_knee = wanted * before.response_time.as_secs_f64();
                let rounded = libm::ceil(at_knee - 1e-9) as u32;
                return rounded.clamp(before.concurrency.saturating_add(1), step.concurrency);
            }
            before = Some(step);
        }
        // Unreachable in practice: the best step always reaches its own share.
        self.steps.last().map_or(1, |last| last.concurrency)
    }
}

/// One step of the closed loop while it runs: its throughput, and whether to continue.
#[derive(Debug, Clone)]
pub struct StepWatch {
    best: Rate,
    /// When throughput began to count, and the good responses until then.
    from: Option<(Timestamp, u64)>,
    throughput: Rate,
}

impl StepWatch {
    /// A step that begins now; `best` is the highest throughput of the steps before.
    pub fn new(best: Rate) -> Self {
        StepWatch { best, from: None, throughput: Rate::ZERO }
    }

    /// The time between two looks at a step of this length.
    pub fn look_every(length: Duration) -> Duration {
        length / LOOKS
    }

    /// Records the good responses until `now`, at the look with this number, counted from 1. Returns whether the step
    /// is over: at its end, or earlier if its throughput is far below the best.
    pub fn observe(&mut self, number: u32, now: Timestamp, good: u64) -> bool {
        if number == WARM_UP {
            self.from = Some((now, good));
        } else if let Some((since, before)) = self.from.filter(|_| number <= LOOKS) {
            self.throughput = Rate::of(good.saturating_sub(before), now.since(since));
            if number >= ENOUGH && self.throughput < self.best * FAR_BELOW {
                return true;
            }
        }
        // Responses after the end would only prolong the step.
        number >= LOOKS
    }

    /// Good responses a second after the warm-up.
    pub fn throughput(&self) -> Rate {
        self.throughput
    }
}

/// 1, 2, 5, 10, 20, 50 and so on.
fn step_after(concurrency: u32) -> u32 {
    let mut decade: u32 = 1;
    loop {
        for factor in [1, 2, 5] {
            let step = decade.saturating_mul(factor);
            if step > concurrency || step == u32::MAX {
                return step;
            }
        }
        decade = decade.saturating_mul(10);
    }
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Stopped::Flat => "more connections brought no more responses",
            Stopped::Falling => "more connections brought fewer responses",
            Stopped::ConcurrencyMax => "no more connections are allowed",
        })
    }
}

/// The share of the best throughput that marks the knee.
pub const KNEE_SHARE: f64 = 0.95;
/// A step gains if its throughput is 3 % more than the best before.
const GAIN: f64 = 1.03;
/// A fall by a tenth is not noise.
const FALLEN: f64 = 0.9;
/// Looks in a step.
const LOOKS: u32 = 40;
/// Looks in which connections are opened and queues fill up, before throughput counts.
const WARM_UP: u32 = 8;
/// Looks after which a step with a far lower throughput may end.
const ENOUGH: u32 = 20;
/// The throughput of a step below this share of the best is falling.
const FAR_BELOW: f64 = 0.75;

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs against a throughput for each concurrency.
    fn run(concurrency_max: u32, throughput: impl Fn(f64) -> f64) -> Next {
        let mut closed = ClosedLoop::new(concurrency_max);
        for _ in 0..100 {
            let Next::Measure(concurrency) = closed.next() else { return closed.next() };
            let throughput = Rate::per_second_of(throughput(f64::from(concurrency)));
            let seconds = f64::from(concurrency) / throughput.per_second().max(1e-3);
            let response_time = Duration::from_secs_f64(seconds);
            closed.observe(Measured { concurrency, throughput, response_time });
        }
        panic!("a hundred steps and no end");
    }

    #[test]
    fn steps_are_those_of_the_account() {
        let mut steps = Vec::new();
        let mut at = 0;
        for _ in 0..8 {
            at = step_after(at);
            steps.push(at);
        }
        assert_eq!(steps, [1, 2, 5, 10, 20, 50, 100, 200]);
        assert_eq!(step_after(u32::MAX), u32::MAX);
    }

    #[test]
    fn finds_the_knee_of_slots() {
        // 12 slots of 120 ms: 100 a second from 12 connections on.
        let Next::Done(found) = run(1_000, |n| n.min(12.0) / 0.12) else { panic!("no knee") };
        assert_eq!(found.stopped, Stopped::Flat);
        assert!((found.best.per_second() - 100.0).abs() < 1e-6);
        assert!((11..=12).contains(&found.knee), "knee {}", found.knee);
        assert_eq!(found.calm, Duration::from_millis(120));
    }

    #[test]
    fn stops_where_throughput_falls() {
        // Four slots of 20 ms that slow down beyond 6 in flight.
        let cliff = |n: f64| n.min(4.0) / 0.020 * (6.0 / n).min(1.0);
        let Next::Done(found) = run(10_000, cliff) else { panic!("no knee") };
        assert_eq!((found.stopped, found.best_at, found.knee), (Stopped::Falling, 5, 4));
        assert!((found.best.per_second() - 200.0).abs() < 1e-6);
        assert_eq!(found.steps.len(), 4, "went on down the cliff: {:?}", found.steps);
    }

    #[test]
    fn stops_at_the_connections_allowed() {
        let Next::Done(found) = run(30, |n| n * 10.0) else { panic!("no knee") };
        assert_eq!((found.stopped, found.best_at), (Stopped::ConcurrencyMax, 30));
        assert_eq!(found.knee, 29);
    }

    #[test]
    fn a_step_counts_after_its_warm_up_and_ends_early_where_it_brings_far_less() {
        let every = StepWatch::look_every(Duration::from_secs(4));
        let run = |best: f64| {
            let mut watch = StepWatch::new(Rate::per_second_of(best));
            // No response in the first 500 ms, then 100 a second.
            let good = |number: u32| u64::from(number.saturating_sub(5)) * 10;
            let ended = (1..=60)
                .find(|&number| watch.observe(number, Timestamp::ZERO + every * number, good(number)));
            (ended, watch.throughput().per_second().round())
        };
        assert_eq!(run(0.0), (Some(40), 100.0));
        assert_eq!(run(130.0), (Some(40), 100.0));
        assert_eq!(run(140.0), (Some(20), 100.0));
    }

    #[test]
    fn says_so_when_nothing_answers() {
        assert_eq!(run(5, |_| 0.0), Next::NothingAnswered);
    }
}
