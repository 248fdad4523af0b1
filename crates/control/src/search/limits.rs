//! Derives the limits that protect the service from measured facts.
//!
//! ## Why a rate and a concurrency limit
//! The rate keeps a calm service calm. Once a queue has formed, a rate near the capacity never drains it, and a service
//! whose throughput falls with concurrency does not recover. A low concurrency limit lets it recover.
//!
//! ## Why the concurrency limit is adaptive
//! A measurement describes the service of one day; a fixed limit is wrong after the next deployment. A limit that
//! adapts to the service needs to know its calm response time, and must never fall so low that the measured rate no
//! longer fits. Both were measured: the calm response time and the rate that holds are its prior. It also never exceeds
//! the concurrency for which the goal has room, which a limit that only detects queues would.
//!
//! ## Why the policy engages at the goal's own share
//! A goal of p95 allows one late response in twenty. Below that conforming share the goal is missed, and the limits
//! apply.
//!
//! ## Why the rate always applies where requests fail
//! A service that responds with 500 above its limit does so at once. By the time enough errors were counted, they have
//! already been sent, so a limit that waits for them lets the errors of every burst pass first.
//!
//! ## Why the other paths get a concurrency limit and a queue
//! Their cost is unknown, so no rate can be derived. The number of requests that the service can process concurrently
//! is known. Many cheap requests pass through a few slots, but they are not evenly spaced: the queue absorbs those that
//! arrive at the same time or while the service pauses.
//!
//! ## Why the target of the service level class is shorter than the goal
//! The class measures from sending, but users also wait for a slot before that. A service that just meets the goal
//! behind a full queue misses it for users, so the longest wait is subtracted.

use super::LimitedBy;
use super::closed_loop::Knee;
use crate::concurrency::{Adaptive, PRIOR_SAMPLES, Prior, Queue};
use core::time::Duration;
use libm::{ceil, floor, log10, pow};
use units::{Quantile, Rate, Ratio};

/// The measured facts about a service.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Facts {
    /// A verified rate that holds the goal; above zero.
    pub low: Rate,
    /// What limits higher rates.
    pub limited_by: LimitedBy,
    /// The goal's bound on response time, and its quantile.
    pub time: Option<(Duration, Quantile)>,
    /// The share of requests that may fail.
    pub failed: Ratio,
    /// The response time of the calm service.
    pub calm: Duration,
    /// The lowest concurrency with nearly the best throughput; at least 1.
    pub knee: u32,
    /// The concurrency with the best throughput; at least [`Facts::knee`].
    pub best_at: u32,
    /// The highest measured concurrency with nearly the best throughput.
    pub carried: u32,
    /// The mean response time of a single connection; `None` where there was no response.
    pub alone: Option<Duration>,
    /// Whether the measured path only gets its own limits, and not those shared with other paths.
    pub only_path: bool,
}

/// The limits to write to files.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// What limited the service.
    pub limited_by: LimitedBy,
    /// The target of the service level class, from sending: the goal's bound minus the longest wait for a slot.
    pub target: Option<Duration>,
    /// The rate class of the measured path that always applies.
    pub always: Option<RateLimit>,
    /// The limits of the measured path that apply while the service level class is not conforming.
    pub gated: Option<Gated>,
    /// The limit for all paths of the service.
    pub service: ServiceLimit,
}

/// A rate class.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateLimit {
    /// The rate.
    pub rate: Rate,
    /// The burst and the backlog, in requests; at least 1.
    pub room: u32,
    /// How long each request may wait.
    pub longest_wait: Duration,
}

/// Limits that apply while the service level class is not conforming.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gated {
    /// The rate; `None` where a rate always applies.
    pub rate: Option<RateLimit>,
    /// The concurrency limit; the initial value where it is adaptive.
    pub in_flight: u32,
    /// The bounds of the adaptive limit; `None` where it is fixed.
    pub adaptive: Option<Adaptive>,
    /// The conforming share below which they apply.
    pub enter: Ratio,
}

/// The limit for all paths.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ServiceLimit {
    /// The initial value.
    pub in_flight: u32,
    /// How it adapts.
    pub adaptive: Adaptive,
    /// Which requests may wait for a slot.
    pub queue: Queue,
    /// The limit for proxies without adaptive limits: no lower value is known to be too high.
    pub fixed: u32,
}

impl Limits {
    /// The limits that follow from `facts`.
    pub fn of(facts: &Facts) -> Self {
        let bound = facts.bound();
        let failures = facts.limited_by.failures();
        // Failures are immediate, so a burst may not take longer than the calm response time. But if that is shorter
        // than the interval between requests, half of the requests would find no turn to wait for, and the rate would
        // not be reached.
        let always = failures.then(|| {
            let limit = RateLimit::of(rounded_down(facts.low), usual_bound(facts.calm));
            let turns = limit.rate.interval().map_or(Duration::ZERO, |interval| interval * TURNS);
            RateLimit { longest_wait: limit.longest_wait.max(turns), ..limit }
        });
        let gated = (facts.limited_by != LimitedBy::Nothing).then(|| {
            let (in_flight, adaptive) = facts.in_flight(bound);
            let (rate, enter) = match facts.time {
                Some((target, quantile)) => {
                    (Some(RateLimit::of(protected(facts.low), target)), Ratio::new(quantile.get()))
                }
                None => (None, Some(facts.failed.rest())),
            };
            Gated { rate, in_flight, adaptive, enter: enter.unwrap_or(Ratio::ONE) }
        });
        let service = facts.service(bound);
        let waits = !facts.only_path && gated.is_some();
        let wait = if waits { service.queue.longest_wait } else { Duration::ZERO };
        let target = facts.time.map(|(target, _)| target.saturating_sub(wait).max(target / 2));
        Limits { limited_by: facts.limited_by, target, always, gated, service }
    }

    /// The rate for a proxy that cannot limit only while responses are late.
    pub fn rate(&self) -> Option<RateLimit> {
        self.gated.and_then(|gated| gated.rate).or(self.always)
    }
}

impl RateLimit {
    /// Arrivals are not evenly spaced: the burst and the backlog are what `bound` has room for.
    fn of(rate: Rate, bound: Duration) -> Self {
        RateLimit { rate, room: ((rate * bound * BURST_SHARE) as u32).max(1), longest_wait: bound }
    }
}

impl Facts {
    /// The time within which a response is expected; where the goal has no bound, it is derived from the calm response
    /// time.
    fn bound(&self) -> Duration {
        self.time.map_or_else(|| usual_bound(self.calm), |(target, _)| target)
    }

    /// The highest concurrency for which the bound has room.
    fn most(&self, bound: Duration) -> u32 {
        ((self.low * bound * QUEUE_SHARE) as u32).max(self.knee)
    }

    /// Between the knee and the concurrency of the best throughput, as far as the goal has room for a queue: exactly at
    /// the knee, two requests that arrive slightly too close together would already be shed.
    fn in_flight(&self, bound: Duration) -> (u32, Option<Adaptive>) {
        let most = self.most(bound);
        let fixed = self.best_at.clamp(self.knee, most).max(1);
        let Some(prior) = self.prior() else { return (fixed, None) };
        let least = prior.floor();
        let in_flight = fixed.max(least);
        (in_flight, Some(Adaptive { least, most: most.max(in_flight), prior: Some(prior) }))
    }

    /// The measured prior of an adaptive limit: the rate that holds, and the mean response time of a single connection.
    ///
    /// The median is not used: the limit compares means, and if a few responses are slow the median is far lower. But
    /// where requests fail, most responses of a single connection are failures. The number of good responses a second
    /// then gives no response time, so the calm median is used as the mean.
    fn prior(&self) -> Option<Prior> {
        let alone = if self.limited_by.failures() { Some(self.calm) } else { self.alone };
        let micros = alone?.as_micros().max(1);
        let response_time = Duration::from_micros(u64::try_from(micros).ok()?);
        Some(Prior { rate: rounded_down(self.low), response_time, weight: PRIOR_SAMPLES })
    }

    fn service(&self, bound: Duration) -> ServiceLimit {
        let prior = self.prior();
        // It does not fall below its initial value: where cheap and expensive paths mix, response times vary without a
        // queue, and this concurrency was measured with the best throughput.
        let room = ((self.low * bound * IN_FLIGHT_SHARE) as u32).max(self.knee);
        let in_flight = self.best_at.min(room).max(prior.map_or(1, |prior| prior.floor())).max(1);
        let least = in_flight;
        let most = in_flight.saturating_mul(MOST_TIMES).max(MOST_AT_LEAST);
        // A request that finds all slots taken gets its response after those in flight, for which the limit grows.
        let taken = f64::from(in_flight) / self.low.per_second() * GROWN;
        let taken = Duration::try_from_secs_f64(taken).unwrap_or(bound);
        let left = bound.mul_f64(QUEUE_SHARE).saturating_sub(taken);
        let least_wait = bound.mul_f64(LEAST_WAIT_SHARE).max(LEAST_WAIT);
        let wait = left.max(least_wait).min(bound.mul_f64(BURST_SHARE)).max(SHORTEST_WAIT);
        let longest_wait = Duration::from_micros(u64::try_from(wait.as_micros()).unwrap_or(u64::MAX));
        let places = ceil(self.low * longest_wait * CHEAPER);
        ServiceLimit {
            in_flight,
            adaptive: Adaptive { least, most, prior },
            queue: Queue { places: (places as u32).clamp(LEAST_PLACES, MOST_PLACES), longest_wait },
            fixed: self.carried.max(in_flight),
        }
    }
}

/// The rate that keeps a service calm: 5 % below `low`, the low end of its sustainable rate.
pub fn protected(low: Rate) -> Rate {
    rounded_down(low * BELOW_LOW)
}

/// The bound on response time where the goal has none.
pub fn usual_bound(calm: Duration) -> Duration {
    let micros = calm.mul_f64(CALM_TIMES).as_micros().max(1);
    Duration::from_micros(u64::try_from(micros).unwrap_or(u64::MAX))
}

/// The mean response time of a single connection: from the throughput of the first step, by Little's law.
pub fn alone(concurrency: u32, throughput: Rate) -> Option<Duration> {
    if throughput <= Rate::ZERO {
        return None;
    }
    Duration::try_from_secs_f64(f64::from(concurrency) / throughput.per_second()).ok()
}

/// The highest concurrency of these steps with nearly the best throughput.
pub fn carried(steps: impl Iterator<Item = (u32, Rate)> + Clone) -> u32 {
    let best = steps.clone().map(|(_, throughput)| throughput.per_second()).fold(0.0, f64::max);
    let near = steps.filter(|(_, throughput)| throughput.per_second() >= best * NEARLY);
    near.map(|(concurrency, _)| concurrency).max().unwrap_or(1)
}

/// The same from the closed loop.
pub fn of_knee(knee: &Knee) -> (Option<Duration>, u32) {
    let alone = knee.steps.first().and_then(|step| alone(step.concurrency, step.throughput));
    (alone, carried(knee.steps.iter().map(|step| (step.concurrency, step.throughput))))
}

/// More than three digits would exceed the precision of the interval.
fn rounded_down(rate: Rate) -> Rate {
    let digits = pow(10.0, 2.0 - floor(log10(rate.per_second())));
    Rate::try_per_second(floor(rate.per_second() * digits) / digits).unwrap_or(rate)
}

/// Requests in flight may take this share of the bound; the rest is for variation.
const QUEUE_SHARE: f64 = 0.75;
/// The requests in flight on all paths together may take this share of it, because others wait for slots.
const IN_FLIGHT_SHARE: f64 = 0.5;
/// A burst, and the backlog, may each take this share of the bound.
const BURST_SHARE: f64 = 0.25;
/// The rate class, as a share of the interval's low end.
const BELOW_LOW: f64 = 0.95;
/// The bound on response time where the goal has none, as a multiple of the calm median.
const CALM_TIMES: f64 = 2.5;
/// Other paths may need more concurrency than the measured one: for example those that wait for another service.
const MOST_TIMES: u32 = 20;
const MOST_AT_LEAST: u32 = 100;
/// Paths that cost a thirtieth of the measured one may arrive at thirty times its rate; this many may wait.
const CHEAPER: f64 = 30.0;
/// For cheap requests that arrive while the machine is stalled; the longest wait bounds the others.
const LEAST_PLACES: u32 = 40;
const MOST_PLACES: u32 = 10_000;
/// An adaptive limit lets response times grow to about this multiple of calm before it falls.
const GROWN: f64 = 1.5;
/// The longest wait for a slot is at least this share of the bound.
const LEAST_WAIT_SHARE: f64 = 0.2;
/// The gateway checks its queues at this interval.
const LEAST_WAIT: Duration = Duration::from_millis(2);
/// The shortest value that a gateway file accepts.
const SHORTEST_WAIT: Duration = Duration::from_millis(1);
/// A rate that always applies lets a request wait for this many turns.
const TURNS: u32 = 2;
/// A throughput of at least this share of the best is nearly the best.
const NEARLY: f64 = 0.9;

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(per_second: f64) -> Rate {
        Rate::per_second_of(per_second)
    }

    fn millis(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    /// Two slots of 18.8 ms, measured for p(95)<50ms.
    fn facts() -> Facts {
        Facts {
            low: rate(105.92),
            limited_by: LimitedBy::ResponseTime,
            time: Some((millis(50), Quantile::P95)),
            failed: Ratio::new(0.01).unwrap(),
            calm: Duration::from_micros(18_900),
            knee: 2,
            best_at: 5,
            carried: 10,
            alone: Some(Duration::from_micros(18_832)),
            only_path: false,
        }
    }

    #[test]
    fn each_row_of_the_table_has_its_limits() {
        let of = |limited_by, time| Limits::of(&Facts { limited_by, time, ..facts() });
        let time = facts().time;
        // Limited by response time: limits under the policy only.
        let limits = of(LimitedBy::ResponseTime, time);
        let gated = limits.gated.unwrap();
        assert_eq!((limits.always, limits.target), (None, Some(millis(40))), "less the wait");
        let alone = Limits::of(&Facts { only_path: true, ..facts() });
        assert_eq!(alone.target, Some(millis(50)), "nothing to wait for");
        assert_eq!((gated.rate.unwrap().rate, gated.enter), (rate(100.0), Ratio::new(0.95).unwrap()));
        assert_eq!((gated.in_flight, gated.adaptive.unwrap().most), (3, 3), "the goal has room for three");
        // Limited by failures, alone or with response time: the low end always, the rest under the policy.
        for limited_by in [LimitedBy::Failures, LimitedBy::Both] {
            let failures = of(limited_by, time);
            assert_eq!(failures.always.unwrap().rate, rate(105.0));
            assert_eq!(failures.gated.unwrap().rate, gated.rate);
            assert_eq!(failures.gated.unwrap().in_flight, gated.in_flight);
        }
        // Failures and no goal for response time: everything is derived from the calm response time.
        let failures = of(LimitedBy::Failures, None);
        let (always, gated) = (failures.always.unwrap(), failures.gated.unwrap());
        assert_eq!((failures.target, gated.rate), (None, None));
        assert_eq!((always.rate, always.room), (rate(105.0), 1));
        assert_eq!(always.longest_wait, Duration::from_micros(47_250));
        let fast = Facts { limited_by: LimitedBy::Failures, calm: Duration::from_micros(200), ..facts() };
        let fast = Limits::of(&Facts { time: None, ..fast });
        assert_eq!(fast.always.unwrap().longest_wait.as_millis(), 19, "two turns of 105 a second");
        assert_eq!(fast.service.queue.longest_wait, millis(1), "a gateway file has no shorter one");
        assert_eq!((gated.enter, gated.in_flight), (Ratio::new(0.99).unwrap(), 3));
        let prior = gated.adaptive.and_then(|adaptive| adaptive.prior).unwrap();
        assert_eq!(prior.response_time, facts().calm, "single connections are answered with failures too");
        // Not limited: only the other paths get a bound.
        let nothing = of(LimitedBy::Nothing, time);
        assert_eq!((nothing.always, nothing.gated, nothing.target), (None, None, Some(millis(50))));
        for limits in [limits, failures, nothing] {
            let ServiceLimit { in_flight, adaptive, .. } = limits.service;
            assert_eq!((in_flight, adaptive.least), (2, 2), "for more the goal has no room");
        }
        let roomy = Limits::of(&Facts { time: Some((millis(500), Quantile::P95)), ..facts() });
        assert_eq!(roomy.service.in_flight, 5, "from the best concurrency on");
    }

    #[test]
    fn the_wait_for_a_place_leaves_the_goal_room() {
        let wait = |bound, best_at| {
            let facts = Facts { time: Some((millis(bound), Quantile::P95)), best_at, ..facts() };
            Limits::of(&facts).service.queue.longest_wait.as_secs_f64() * 1e3
        };
        // Two in flight take 28.3 of 37.5 ms, five 70.8 of 75; of 60 ms, two leave more than a quarter of 80.
        for (bound, best_at, expected) in
            [(50, 5, 10.0), (100, 5, 20.0), (80, 2, 20.0), (500, 10, 125.0), (8, 5, 2.0), (2, 5, 1.0)]
        {
            let found = wait(bound, best_at);
            assert!((found - expected).abs() < 0.01, "{bound} ms, {best_at}: {found}");
        }
    }

    #[test]
    fn the_limit_keeps_five_percent_below_the_low_end() {
        for (low, limit) in [(105.92, 100.0), (100.0, 95.0), (7.77, 7.38), (1_234.0, 1_170.0), (0.5, 0.475)] {
            let limits = Limits::of(&Facts { low: rate(low), ..facts() });
            let found = limits.rate().unwrap().rate.per_second();
            assert!((found - limit).abs() < 1e-9, "{low}: {found}");
        }
    }

    #[test]
    fn the_concurrency_limit_follows_the_service_from_what_was_measured() {
        let roomy = Limits::of(&Facts { time: Some((millis(500), Quantile::P95)), ..facts() });
        let gated = roomy.gated.unwrap();
        let adaptive = gated.adaptive.unwrap();
        assert_eq!((adaptive.least, gated.in_flight, adaptive.most), (2, 5, 39));
        let prior = adaptive.prior.unwrap();
        assert_eq!((prior.rate, prior.response_time), (rate(105.0), Duration::from_micros(18_832)));
        assert_eq!(roomy.service.adaptive.prior, Some(prior));
        let unknown = Limits::of(&Facts { alone: None, ..facts() });
        assert_eq!(unknown.gated.unwrap().adaptive, None, "nothing is known of calm");
        assert_eq!(unknown.service.adaptive.prior, None);
    }

    #[test]
    fn what_was_carried_is_read_off_the_steps() {
        let steps = [(1, 53.1), (2, 106.2), (5, 107.5), (10, 98.0), (20, 60.0)];
        let steps = steps.map(|(concurrency, throughput)| (concurrency, rate(throughput)));
        assert_eq!(carried(steps.into_iter()), 10);
        assert_eq!(carried([].into_iter()), 1);
        assert_eq!(alone(2, rate(100.0)), Some(millis(20)));
        assert_eq!(alone(1, Rate::ZERO), None);
    }
}
