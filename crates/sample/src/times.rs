//! The times of a request: from the streams of the service, or from the request's number.
//!
//! ## Why by number
//! Requests reach a service in an order that depends on the network and on other instances. Where their times depend on
//! their number alone, every instance gives a request the same times, and so does `headroom simulate` for the arrival of
//! that number with the same seed: both draw from [`stats::NumberedRequests`] in the same order.

use crate::config::{Config, Work};
use crate::distribution::Distribution;
use stats::{NumberedRequests, Rng, SplitMix};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

/// The times of a request; zero for a part that it does not have.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Times {
    /// CPU time.
    pub cpu: Duration,
    /// The wait after it.
    pub wait: Duration,
    /// How long it holds a slot of the pool.
    pub hold: Duration,
}

/// The times that a service with these settings gives a request of a number.
#[derive(Debug)]
pub struct Numbered<'a> {
    config: &'a Config,
    draws: Draws,
}

impl<'a> Numbered<'a> {
    /// Of a service whose requests are numbered.
    pub fn new(config: &'a Config) -> Self {
        Numbered { config, draws: Draws::new(config.seed, true) }
    }

    /// The times of the request of this number, from 0, to a path.
    pub fn times(&self, path: &str, number: u64) -> Times {
        self.draws.times(self.config.work(path), &number.to_string())
    }
}

/// Draws the times of requests.
#[derive(Debug)]
pub(crate) struct Draws {
    streams: Mutex<Streams>,
    numbered: Option<Mutex<NumberedRequests>>,
}

/// The random streams, one for each purpose.
#[derive(Debug)]
struct Streams {
    cpu: Rng,
    wait: Rng,
    hold: Rng,
}

impl Draws {
    pub(crate) fn new(seed: u64, numbered: bool) -> Self {
        let stream = |purpose| Rng::new(seed, purpose);
        let streams =
            Streams { cpu: stream("sample cpu"), wait: stream("sample wait"), hold: stream("sample hold") };
        let numbered = numbered.then(|| Mutex::new(NumberedRequests::new(seed)));
        Draws { streams: Mutex::new(streams), numbered }
    }

    /// The times of a request with this number, if it has one.
    pub(crate) fn times(&self, work: &Work, number: &str) -> Times {
        let stream = self.numbered.as_ref().and_then(|requests| {
            let number = number.parse().ok()?;
            requests.lock().expect(UNPOISONED).request(number)
        });
        if let Some(stream) = stream {
            return Times::of(work, stream);
        }
        let mut streams = self.streams();
        let Streams { cpu, wait, hold } = &mut *streams;
        let draw =
            |from: &Option<Distribution>, rng: &mut Rng| from.map_or(Duration::ZERO, |of| of.draw(rng));
        Times { cpu: draw(&work.cpu, cpu), wait: draw(&work.wait, wait), hold: draw(&work.hold, hold) }
    }

    fn streams(&self) -> MutexGuard<'_, Streams> {
        self.streams.lock().expect(UNPOISONED)
    }
}

impl Times {
    /// The times of a request with this stream. Its first value selected the endpoint.
    fn of(work: &Work, mut stream: SplitMix) -> Self {
        stream.bits();
        let mut draw = |from: &Option<Distribution>| {
            from.map_or(Duration::ZERO, |of| {
                let nanos = of.numbered().draw(&mut stream);
                Duration::from_nanos(nanos as u64).min(Distribution::LONGEST)
            })
        };
        Times { cpu: draw(&work.cpu), wait: draw(&work.wait), hold: draw(&work.hold) }
    }
}

const UNPOISONED: &str = "nothing panics while it draws";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_has_the_same_times_in_every_order() {
        let work = Work {
            cpu: "lognormal(20ms,cv=0.5)".parse().ok(),
            wait: "exp(80ms)".parse().ok(),
            ..Work::default()
        };
        let (one, other) = (Draws::new(7, true), Draws::new(7, true));
        let forwards: Vec<Times> = (0..1000).map(|number| one.times(&work, &number.to_string())).collect();
        let backwards: Vec<Times> =
            (0..1000).rev().map(|number| other.times(&work, &format!("{number:020}"))).collect();
        assert!(forwards.iter().eq(backwards.iter().rev()));
        let mean = forwards.iter().map(|times| times.cpu.as_secs_f64()).sum::<f64>() / 1000.0;
        assert!((0.018..0.022).contains(&mean), "{mean}");
    }

    #[test]
    fn a_request_without_a_number_draws_from_the_streams() {
        let work = Work { wait: "exp(80ms)".parse().ok(), ..Work::default() };
        let (numbered, usual) = (Draws::new(7, true), Draws::new(7, false));
        for number in ["", "x", "-1", "99999999999"] {
            assert_eq!(numbered.times(&work, number), usual.times(&work, "3"), "{number}");
        }
    }
}
