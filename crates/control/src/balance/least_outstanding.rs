//! Least outstanding requests: the instance with the fewest in flight for its weight.
//!
//! ## Why
//! Requests differ and instances stall. Round robin continues to send requests to a stalled instance; requests in
//! flight show a stall while it lasts, before any response does.
//!
//! ## Exact for few, two choices for many
//! Up to 16 instances, all are compared. With more, two are drawn and the better one is picked (Mitzenmacher 2001):
//! nearly as good, and the time of a pick does not depend on their number. The two are always different: drawn with
//! replacement, the busier of two instances would be picked a quarter of the time.
//!
//! ## Ties
//! With light traffic nothing is in flight anywhere, and the tie-break decides. The instance that got a request longest
//! ago is picked. Age is counted in turns: each request moves its instance 1 / weight turns behind the present turn. So
//! equal instances are picked in the order of their last requests, and one with half the weight (or in its slow start)
//! half as often. A fixed order would send everything to the first; a random one would give the unluckiest instance
//! twice the load of the luckiest (HAProxy had both problems).
//!
//! ## No starvation
//! An instance without requests in flight and without penalty (see `penalty.rs`) has the lowest possible load. Exact:
//! with equal weights it gets one of the next 2 n requests, because each other instance gets at most one more before
//! its turn. With two choices: it is drawn with probability 2 / n for each request, and only another idle instance
//! whose last request is older can win. A penalty ends, see there.
//!
//! With two choices, a heavy instance gets at most 2 / n of the draws, so with light traffic, weights that differ by
//! more than that do not give proportional shares. An idle instance of small weight may get one request, because there
//! is no half request.

use super::members::{FEW, Members};
use super::penalty::Penalty;
use super::{Balancer, InstanceId, Outcome, Weight};
use alloc::vec::Vec;
use stats::Rng;
use units::Timestamp;

/// Picks the instance with the fewest requests in flight for its weight.
#[derive(Debug, Clone, Default)]
pub struct LeastOutstanding {
    members: Members<State>,
    /// The present turn: the latest in which a request was sent.
    turn: f64,
    /// The tie-break keys (see [`State::key`]), in the order of the members: scanning them is much faster than reading
    /// each member.
    keys: Vec<u128>,
    /// Weights differ.
    uneven: bool,
    /// An instance may have a penalty.
    penalised: bool,
}

#[derive(Debug, Clone, Copy, Default)]
struct State {
    in_flight: u32,
    /// The turn in which it is due.
    due: f64,
    penalty: Penalty,
}

impl State {
    /// Fewer requests, then the earlier turn, as one number. Turns are never negative, so their bits have the same
    /// order.
    #[inline]
    fn key(&self) -> u128 {
        u128::from(self.in_flight) << 64 | u128::from(self.due.to_bits())
    }
}

/// The values that are compared.
#[derive(Debug, Clone, Copy)]
struct Load {
    /// Requests in flight plus the penalty.
    requests: u64,
    weight: u64,
    due: f64,
}

impl Load {
    #[inline]
    fn is_better_than(self, other: Load) -> bool {
        // Equal weights are common, and four multiplications are half of a comparison.
        if self.weight == other.weight {
            return self.requests < other.requests
                || (self.requests == other.requests && self.due < other.due);
        }
        let (mine, theirs) = (scale(self.requests, other.weight), scale(other.requests, self.weight));
        mine < theirs || (mine == theirs && self.due < other.due)
    }
}

#[inline]
fn scale(count: u64, weight: u64) -> u128 {
    u128::from(count) * u128::from(weight)
}

impl LeastOutstanding {
    /// A balancer without instances.
    pub fn new() -> Self {
        Self::default()
    }

    /// How many requests an instance has in flight, without its penalty.
    pub fn in_flight(&self, id: InstanceId) -> u32 {
        self.members.known(id).map_or(0, |member| member.state.in_flight)
    }

    #[inline]
    fn load(&mut self, now: Timestamp, id: InstanceId) -> Load {
        let member = self.members.of(id);
        let State { in_flight, due, penalty } = &mut member.state;
        Load {
            requests: u64::from(*in_flight) + u64::from(penalty.at(now)),
            weight: u64::from(member.weight.get()),
            due: *due,
        }
    }

    fn best_of_all(&mut self, now: Timestamp) -> Option<InstanceId> {
        if self.uneven || self.penalised {
            return self.best_by_load(now);
        }
        let (mut best, mut least) = (0, *self.keys.first()?);
        for (place, &key) in self.keys.iter().enumerate().skip(1) {
            if key < least {
                (best, least) = (place, key);
            }
        }
        self.members.present().get(best).copied()
    }

    #[cold]
    fn best_by_load(&mut self, now: Timestamp) -> Option<InstanceId> {
        let mut best = *self.members.present().first()?;
        let mut least = self.load(now, best);
        let mut penalised = self.members.of(best).state.penalty.is_some();
        for index in 1..self.members.present().len() {
            let id = self.members.present()[index];
            let load = self.load(now, id);
            penalised |= self.members.of(id).state.penalty.is_some();
            if load.is_better_than(least) {
                (best, least) = (id, load);
            }
        }
        self.penalised = penalised;
        Some(best)
    }

    /// Members were added, removed or changed.
    fn changed(&mut self) {
        let members = self.members.present().iter().filter_map(|id| self.members.known(*id));
        self.keys.clear();
        if self.members.present().len() <= FEW {
            self.keys.extend(members.clone().map(|member| member.state.key()));
        }
        let mut weights = members.map(|member| member.weight);
        let first = weights.next();
        self.uneven = weights.any(|weight| Some(weight) != first);
        // An instance that came back may have kept its penalty.
        self.penalised = true;
    }
}

impl Balancer for LeastOutstanding {
    fn added(&mut self, id: InstanceId, weight: Weight) {
        self.members.insert(id, weight);
        self.changed();
    }

    fn removed(&mut self, id: InstanceId) {
        self.members.remove(id);
        self.changed();
    }

    #[inline]
    fn pick(&mut self, now: Timestamp, rng: &mut Rng) -> Option<InstanceId> {
        if self.members.present().len() <= FEW {
            return self.best_of_all(now);
        }
        let (one, other) = self.members.two(rng)?;
        let better = self.load(now, other).is_better_than(self.load(now, one));
        Some(if better { other } else { one })
    }

    #[inline]
    fn sent(&mut self, _now: Timestamp, to: InstanceId) {
        if let Some(member) = self.members.known_mut(to) {
            member.state.in_flight += 1;
            self.turn = self.turn.max(member.state.due);
            member.state.due = self.turn + 1.0 / f64::from(member.weight.get());
            if let Some(key) = self.keys.get_mut(member.place()) {
                *key = member.state.key();
            }
        }
    }

    #[inline]
    fn answered(&mut self, now: Timestamp, from: InstanceId, outcome: Outcome) {
        if let Some(member) = self.members.known_mut(from) {
            member.state.in_flight = member.state.in_flight.saturating_sub(1);
            member.state.penalty.count(now, outcome);
            self.penalised |= member.state.penalty.is_some();
            if let Some(key) = self.keys.get_mut(member.place()) {
                *key = member.state.key();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::balance::penalty;
    use core::time::Duration;
    use proptest::prelude::{any, prop_assert, proptest};

    const OK: Outcome = Outcome::Answered { first_byte: Duration::from_millis(1) };

    fn of(weights: &[u32]) -> LeastOutstanding {
        let mut balancer = LeastOutstanding::new();
        for (id, &weight) in weights.iter().enumerate() {
            balancer.added(InstanceId(id as u32), Weight::new(weight).unwrap());
        }
        balancer
    }

    fn send(balancer: &mut LeastOutstanding, now: Timestamp, rng: &mut Rng) -> InstanceId {
        let id = balancer.pick(now, rng).unwrap();
        balancer.sent(now, id);
        id
    }

    proptest! {
        /// The scan of the keys picks the same instance as a comparison of all members, for any input.
        #[test]
        fn the_scan_agrees_with_a_look_at_each(
            deeds in proptest::collection::vec((0_u8..9, 0_u32..6, 1_u32..3), 1..300),
            even: bool,
        ) {
            let (mut balancer, mut rng) = (of(&[1, 1, 1, 1]), Rng::new(1, "picks"));
            let mut now = Timestamp::ZERO;
            for (deed, id, weight) in deeds {
                let id = InstanceId(id);
                let weight = Weight::new(if even { 1 } else { weight }).unwrap();
                now += Duration::from_millis(u64::from(deed) * 300);
                match deed {
                    0 => balancer.added(id, weight),
                    1 => balancer.removed(id),
                    2 => balancer.answered(now, id, Outcome::Failed),
                    3..6 => balancer.answered(now, id, OK),
                    _ => {
                        let expected = balancer.clone().best_by_load(now);
                        let picked = balancer.pick(now, &mut rng);
                        assert_eq!(picked, expected);
                        picked.into_iter().for_each(|id| balancer.sent(now, id));
                    }
                }
            }
        }
    }

    #[test]
    fn picks_nothing_from_nothing() {
        assert_eq!(of(&[]).pick(Timestamp::ZERO, &mut Rng::new(1, "picks")), None);
    }

    #[test]
    fn fills_instances_by_weight() {
        let (mut balancer, mut rng) = (of(&[1, 2, 3]), Rng::new(1, "picks"));
        (0..60).for_each(|_| {
            send(&mut balancer, Timestamp::ZERO, &mut rng);
        });
        assert_eq!([0, 1, 2].map(|id| balancer.in_flight(InstanceId(id))), [10, 20, 30]);
    }

    #[test]
    fn idle_instances_share_by_weight() {
        for (weights, requests, shares) in
            [([1, 1, 1], 300, [100, 100, 100]), ([1, 2, 3], 600, [100, 200, 300])]
        {
            let (mut balancer, mut rng) = (of(&weights), Rng::new(1, "picks"));
            let mut counts = [0; 3];
            for _ in 0..requests {
                let id = send(&mut balancer, Timestamp::ZERO, &mut rng);
                balancer.answered(Timestamp::ZERO, id, OK);
                counts[id.0 as usize] += 1;
            }
            for (count, share) in counts.iter().zip(shares) {
                assert!(i32::abs(count - share) <= 1, "{counts:?} for {weights:?}");
            }
        }
    }

    #[test]
    fn requests_in_flight_are_remembered_over_a_removal() {
        let (mut balancer, mut rng) = (of(&[1, 1]), Rng::new(1, "picks"));
        (0..4).for_each(|_| {
            send(&mut balancer, Timestamp::ZERO, &mut rng);
        });
        balancer.removed(InstanceId(0));
        balancer.answered(Timestamp::ZERO, InstanceId(0), OK);
        balancer.added(InstanceId(0), Weight::ONE);
        assert_eq!(balancer.in_flight(InstanceId(0)), 1);
        assert_eq!(send(&mut balancer, Timestamp::ZERO, &mut rng), InstanceId(0));
    }

    #[test]
    fn a_failing_instance_is_tried_about_once_a_second_and_comes_back() {
        for instances in [4, 64] {
            let (mut balancer, mut rng) = (of(&vec_of_ones(instances)), Rng::new(3, "picks"));
            // 1,000 requests a second for a minute; the others respond after 20 ms, the first one fails at once.
            let mut waiting = std::collections::VecDeque::new();
            let mut run = |from: u64, fails: bool| {
                let mut tries = 0;
                for millis in from..from + 60_000 {
                    let now = Timestamp::from_millis(millis);
                    while waiting.front().is_some_and(|&(due, _)| due <= now) {
                        let (_, id) = waiting.pop_front().unwrap();
                        balancer.answered(now, id, OK);
                    }
                    let id = send(&mut balancer, now, &mut rng);
                    tries += u32::from(id.0 == 0);
                    if id.0 == 0 && fails {
                        balancer.answered(now, id, Outcome::Failed);
                    } else {
                        waiting.push_back((now + Duration::from_millis(20), id));
                    }
                }
                tries
            };
            let while_it_fails = run(0, true);
            assert!((20..=90).contains(&while_it_fails), "{while_it_fails} of {instances}");
            let afterwards = run(60_000, false);
            assert!(afterwards > 60_000 / instances as u32 / 2, "{afterwards} of {instances}");
        }
    }

    fn vec_of_ones(count: usize) -> Vec<u32> {
        (0..count).map(|_| 1).collect()
    }

    #[test]
    fn one_of_many_that_is_idle_is_not_starved() {
        // Seeded: the chance of missing it in 20 n draws of two is e^-40.
        for count in [17, 64, 1_024] {
            for seed in 0..5 {
                let (mut balancer, mut rng) = (of(&vec_of_ones(count)), Rng::new(seed, "picks"));
                (0..3 * count).for_each(|_| {
                    send(&mut balancer, Timestamp::ZERO, &mut rng);
                });
                let idle = InstanceId(7);
                (0..balancer.in_flight(idle)).for_each(|_| balancer.answered(Timestamp::ZERO, idle, OK));
                let found = (0..20 * count).any(|_| send(&mut balancer, Timestamp::ZERO, &mut rng) == idle);
                assert!(found, "seed {seed}, {count} instances");
            }
        }
    }

    #[test]
    fn two_choices_keep_the_most_loaded_near_the_mean() {
        let (mut balancer, mut rng) = (of(&vec_of_ones(1_024)), Rng::new(1, "picks"));
        (0..10 * 1_024).for_each(|_| {
            send(&mut balancer, Timestamp::ZERO, &mut rng);
        });
        let most = (0..1_024).map(|id| balancer.in_flight(InstanceId(id))).max().unwrap();
        // Random picks would give about 22.
        assert!(most <= 14, "{most} in flight where the mean is 10");
    }

    proptest! {
        /// Exact: no instance has fewer in flight for its weight than the picked one.
        #[test]
        fn never_picks_one_with_more_in_flight_for_its_weight(
            weights in proptest::collection::vec(1_u32..9, 1..FEW),
            steps in proptest::collection::vec((any::<bool>(), 0_usize..99), 1..300),
        ) {
            let (mut balancer, mut rng) = (of(&weights), Rng::new(1, "picks"));
            let mut flying = Vec::new();
            for (answer, which) in steps {
                if answer && !flying.is_empty() {
                    let id = flying.swap_remove(which % flying.len());
                    balancer.answered(Timestamp::ZERO, id, OK);
                } else {
                    let picked = balancer.pick(Timestamp::ZERO, &mut rng).unwrap();
                    let (mine, my_weight) = (balancer.in_flight(picked), weights[picked.0 as usize]);
                    for (id, weight) in weights.iter().enumerate() {
                        let theirs = balancer.in_flight(InstanceId(id as u32));
                        prop_assert!(mine * weight <= theirs * my_weight);
                    }
                    balancer.sent(Timestamp::ZERO, picked);
                    flying.push(picked);
                }
            }
        }

        /// Exact: an instance with nothing in flight gets one of the next requests, for any history.
        #[test]
        fn nobody_is_starved(count in 1_usize..FEW, failures in 0_usize..100, starved in 0_usize..FEW) {
            let (mut balancer, mut rng) = (of(&vec_of_ones(count)), Rng::new(1, "picks"));
            let starved = InstanceId((starved % count) as u32);
            for _ in 0..failures {
                balancer.sent(Timestamp::ZERO, starved);
                balancer.answered(Timestamp::ZERO, starved, Outcome::Failed);
            }
            let now = Timestamp::ZERO + penalty::LONGEST;
            let mut sent = 0;
            loop {
                let id = send(&mut balancer, now, &mut rng);
                if id == starved {
                    break;
                }
                balancer.answered(now, id, OK);
                sent += 1;
                prop_assert!(sent < 2 * count, "{} requests went to others", sent);
            }
        }
    }
}
