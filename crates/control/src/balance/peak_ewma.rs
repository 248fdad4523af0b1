//! Peak EWMA: the instance with the lowest expected response time.
//!
//! ```text
//! cost = t × (requests in flight + 1) / weight
//! t:   the expected time to first byte, in seconds
//! ```
//! `t` rises at once with a slower response and falls slowly with faster ones: t ← x + (t - x) e^(-d / decay), where x
//! is the time of this response and d the time since the last. So a stall counts in full, and decays over `decay`.
//! Follows Finagle's `PeakEwma` and linkerd's.
//!
//! ## Differences
//! - Up to 16 instances, all are compared; with more, two are drawn, as in those. Of four instances, one slow and one
//!   failing, two draws select exactly these two in a sixth of all picks.
//! - An instance without responses is assumed to be twice as fast as the mean of the whole fleet: it is tried before
//!   typical ones, and gets at most twice as much. A fixed prior that is too low would send everything to a cold
//!   instance.
//! - Without new responses, the estimate for an instance decays towards the same value and not towards zero, for the
//!   same reasons. It is tried again after about `decay` × ln(2 t / mean): a minute after a failure where the mean is
//!   20 ms.
//! - A failure counts as a response after five seconds or ten mean times, or after the `Retry-After` time up to a
//!   minute, so that an instance that fails at once does not look fast.
//!
//! Use it where instances differ in speed; where they do not, least outstanding requests detects a stall sooner.

use super::members::{FEW, Members};
use super::penalty::{LONGEST_STAY, failure};
use super::{Balancer, InstanceId, Outcome, Weight};
use core::time::Duration;
use stats::Rng;
use units::Timestamp;

/// Picks the instance with the lowest expected response time.
#[derive(Debug, Clone)]
pub struct PeakEwma {
    members: Members<State>,
    /// In seconds.
    decay: f64,
    /// Over all responses of all instances.
    fleet: Option<Expected>,
}

#[derive(Debug, Clone, Copy, Default)]
struct State {
    in_flight: u32,
    /// `None` before the first response.
    expected: Option<Expected>,
}

/// An expected time, and when it was last updated.
#[derive(Debug, Clone, Copy)]
struct Expected {
    seconds: f64,
    heard: Timestamp,
}

impl Expected {
    /// Its remaining weight at `now`, as a share from 1 to 0.
    #[inline]
    fn left(self, now: Timestamp, decay: f64) -> f64 {
        if now <= self.heard { 1.0 } else { libm::exp(-now.since(self.heard).as_secs_f64() / decay) }
    }
}

impl PeakEwma {
    /// A balancer without instances, whose estimates decay over `decay` (Finagle and linkerd: 10 s).
    pub fn new(decay: Duration) -> Self {
        PeakEwma {
            members: Members::default(),
            // With a decay of zero, only the last response would count.
            decay: decay.as_secs_f64().max(1e-9),
            fleet: None,
        }
    }

    /// The expected time to first byte of an instance.
    pub fn expected(&self, now: Timestamp, id: InstanceId) -> Duration {
        let expected = self.members.known(id).and_then(|member| member.state.expected);
        Duration::from_secs_f64(self.seconds(now, expected))
    }

    /// Of the whole fleet, in seconds.
    #[inline]
    fn mean(&self) -> f64 {
        self.fleet.map_or(UNHEARD.as_secs_f64(), |fleet| fleet.seconds)
    }

    #[inline]
    fn seconds(&self, now: Timestamp, expected: Option<Expected>) -> f64 {
        let typical = self.mean() / 2.0;
        let Some(expected) = expected else { return typical };
        typical + (expected.seconds - typical) * expected.left(now, self.decay)
    }

    #[inline]
    fn cost(&self, now: Timestamp, id: InstanceId) -> f64 {
        let Some(member) = self.members.known(id) else { return f64::INFINITY };
        let requests = f64::from(member.state.in_flight) + 1.0;
        self.seconds(now, member.state.expected) * requests / f64::from(member.weight.get())
    }

    /// Starts at `first`: equal costs are common among cold instances, and a fixed order would favour the first.
    #[inline]
    fn best_of_all(&self, now: Timestamp, first: usize) -> Option<InstanceId> {
        let (before, after) = self.members.present().split_at(first);
        let (mut best, mut least) = (None, f64::INFINITY);
        for &id in after.iter().chain(before) {
            let cost = self.cost(now, id);
            if cost < least {
                (best, least) = (Some(id), cost);
            }
        }
        best
    }

    fn heard(&mut self, now: Timestamp, from: InstanceId, seconds: f64) {
        let Some(member) = self.members.known(from) else { return };
        let before = self.seconds(now, member.state.expected);
        let decay = self.decay;
        let seconds = match member.state.expected {
            Some(expected) if seconds < before => {
                seconds + (expected.seconds - seconds).max(0.0) * expected.left(now, decay)
            }
            _ => seconds,
        };
        self.members.of(from).state.expected = Some(Expected { seconds, heard: now });
    }
}

impl Default for PeakEwma {
    fn default() -> Self {
        PeakEwma::new(Duration::from_secs(10))
    }
}

impl Balancer for PeakEwma {
    fn added(&mut self, id: InstanceId, weight: Weight) {
        self.members.insert(id, weight);
    }

    fn removed(&mut self, id: InstanceId) {
        self.members.remove(id);
    }

    #[inline]
    fn pick(&mut self, now: Timestamp, rng: &mut Rng) -> Option<InstanceId> {
        let count = self.members.present().len();
        if count <= FEW {
            return self.best_of_all(now, rng.below(count));
        }
        let (one, other) = self.members.two(rng)?;
        Some(if self.cost(now, other) < self.cost(now, one) { other } else { one })
    }

    #[inline]
    fn sent(&mut self, _now: Timestamp, to: InstanceId) {
        if let Some(member) = self.members.known_mut(to) {
            member.state.in_flight += 1;
        }
    }

    #[inline]
    fn answered(&mut self, now: Timestamp, from: InstanceId, outcome: Outcome) {
        if let Some(member) = self.members.known_mut(from) {
            member.state.in_flight = member.state.in_flight.saturating_sub(1);
        }
        if let Outcome::Answered { first_byte } = outcome {
            let seconds = first_byte.as_secs_f64();
            let mean = match self.fleet {
                Some(fleet) => seconds + (fleet.seconds - seconds) * fleet.left(now, self.decay),
                None => seconds,
            };
            self.fleet = Some(Expected { seconds: mean, heard: now });
            self.heard(now, from, seconds);
        } else if let Some(stay_away) = failure(outcome) {
            let counts_as = stay_away.clamp(FAILED, LONGEST_STAY).as_secs_f64();
            self.heard(now, from, counts_as.max(SLOW * self.mean()));
        }
    }
}

/// The expected time before any response. It only has to be below the value of a failure.
const UNHEARD: Duration = Duration::from_millis(100);

/// A failure counts as a response after this time, as in linkerd.
const FAILED: Duration = Duration::from_secs(5);

/// If responses take seconds, five more would look fast: a failure counts as at least this many mean times.
const SLOW: f64 = 10.0;

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(millis: u64) -> Outcome {
        Outcome::Answered { first_byte: Duration::from_millis(millis) }
    }

    fn of(count: u32) -> PeakEwma {
        let mut balancer = PeakEwma::default();
        (0..count).for_each(|id| balancer.added(InstanceId(id), Weight::ONE));
        balancer
    }

    /// One request after another, a millisecond apart; returns the requests sent to each instance.
    fn run<const N: usize>(
        balancer: &mut PeakEwma,
        from: Timestamp,
        requests: u64,
        outcome: impl Fn(usize) -> Outcome,
    ) -> [u32; N] {
        let mut rng = Rng::new(5, "picks");
        let mut counts = [0; N];
        for number in 0..requests {
            let now = from + Duration::from_millis(number);
            let id = balancer.pick(now, &mut rng).unwrap();
            balancer.sent(now, id);
            balancer.answered(now, id, outcome(id.0 as usize));
            counts[id.0 as usize] += 1;
        }
        counts
    }

    #[test]
    fn picks_nothing_from_nothing() {
        assert_eq!(of(0).pick(Timestamp::ZERO, &mut Rng::new(1, "picks")), None);
    }

    #[test]
    fn rises_at_once_and_falls_slowly() {
        let mut balancer = of(1);
        let id = InstanceId(0);
        let at = Timestamp::from_secs;
        balancer.answered(at(1), id, answer(10));
        assert_eq!(balancer.expected(at(1), id), Duration::from_millis(10));
        balancer.answered(at(1), id, answer(1_000));
        assert_eq!(balancer.expected(at(1), id), Duration::from_secs(1));
        balancer.answered(at(2), id, answer(10));
        let after_a_second = balancer.expected(at(2), id).as_secs_f64();
        // 10 ms + 990 ms × e^(-1/10)
        assert!((after_a_second - 0.9058).abs() < 1e-3, "{after_a_second}");
    }

    #[test]
    fn a_cold_instance_is_expected_to_be_twice_as_fast_as_the_fleet() {
        let mut balancer = of(2);
        balancer.answered(Timestamp::from_secs(1), InstanceId(0), answer(500));
        assert_eq!(balancer.expected(Timestamp::from_secs(1), InstanceId(1)), Duration::from_millis(250));
    }

    #[test]
    fn a_cold_instance_is_not_flooded() {
        let (mut balancer, mut rng) = (of(4), Rng::new(1, "picks"));
        (0..3).for_each(|id| balancer.answered(Timestamp::from_secs(1), InstanceId(id), answer(500)));
        let mut cold = 0;
        for _ in 0..400 {
            let id = balancer.pick(Timestamp::from_secs(1), &mut rng).unwrap();
            balancer.sent(Timestamp::from_secs(1), id);
            cold += u32::from(id.0 == 3);
        }
        // Two fifths.
        assert!((155..=165).contains(&cold), "{cold} of 400");
    }

    #[test]
    fn a_slow_instance_gets_less_and_a_failing_one_almost_nothing() {
        let mut balancer = of(4);
        let counts: [u32; 4] = run(&mut balancer, Timestamp::ZERO, 20_000, |id| match id {
            2 => answer(200),
            3 => Outcome::Failed,
            _ => answer(10),
        });
        assert!(counts[3] < 20, "{counts:?}");
        assert!(counts[2] < counts[0] / 4 && counts[2] > 0, "{counts:?}");
    }

    #[test]
    fn an_instance_that_failed_is_tried_again() {
        let mut balancer = of(4);
        let failing: [u32; 4] =
            run(
                &mut balancer,
                Timestamp::ZERO,
                1_000,
                |id| if id == 3 { Outcome::Failed } else { answer(10) },
            );
        let after: [u32; 4] = run(&mut balancer, Timestamp::from_secs(1), 100_000, |_| answer(10));
        assert!(failing[3] < 5 && after[3] > 1_000, "{failing:?}, then {after:?}");
    }
}
