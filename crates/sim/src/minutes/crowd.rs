//! A service with more requests than its load alone would explain: the effect of one minute on the next.
//!
//! Between recorded minutes there may be a queue that grows and shrinks, over seconds or hours. It is simulated
//! instance by instance, in steps of seconds, as a fluid: the throughput of an instance with a number of requests is
//! that of a recorded one with as many, at most the highest recorded throughput. The wait of requests is the time since
//! their arrival (first come, first served); their other times are those of a recorded minute with almost no queue. A
//! new instance begins empty: under least outstanding requests it gets all new requests until it has as many as the
//! others, which continue with what they have.

use super::curves::Curve;
use super::plant::{Instance, Phase};
use super::service::Service;
use crate::plant::InstanceId;
use std::collections::VecDeque;

/// Requests at one instance.
#[derive(Debug, Clone, Default)]
pub(super) struct Queue {
    count: f64,
    /// When they arrived, in seconds, and how many of them, in order.
    came: VecDeque<(f64, f64)>,
}

/// What happened at an instance in a step.
#[derive(Debug, Clone, Copy, Default)]
struct Stepped {
    left: f64,
    refused: f64,
    /// The mean age of the requests that left, in seconds.
    age: f64,
    /// The position on the ladder of such minutes without the queue.
    place: f64,
}

impl Queue {
    fn begin(&mut self, count: f64, at: f64) {
        self.came.clear();
        self.count = count;
        self.came.push_back((at, count));
    }

    /// Advances an instance of the given strength, with this many arrivals in this many seconds, up to `now`.
    fn step(&mut self, curve: &Curve, comes: f64, strength: f64, seconds: f64, now: f64) -> Stepped {
        let strength = strength.max(f64::MIN_POSITIVE);
        let (count, load) = (self.count / strength, comes / strength / seconds);
        let at_load = curve.place(load);
        let settled = if load < curve.most { curve.count_at(at_load) } else { f64::INFINITY };
        let next = if count > settled {
            (count - (curve.most - load) * seconds).max(settled)
        } else {
            let carried = match curve.place_of_count(count) {
                place if count > curve.count_at(f64::MAX) => curve.most.max(curve.load_at(place)),
                place => curve.load_at(place),
            };
            (count + (load - carried).max(0.0) * seconds).min(settled)
        };
        let refused = (next - curve.waiting).max(0.0);
        let next = next - refused;
        let usual = curve.place_of_count(0.5 * (count + next));
        let knee = curve.knee as f64;
        let place = if load >= curve.most {
            usual.min(knee)
        } else if count > settled {
            at_load.min(knee)
        } else {
            usual.min(at_load)
        };
        let (next, refused) = (next * strength, refused * strength);
        if comes > refused {
            self.came.push_back((now, comes - refused));
        }
        let left = (self.count + comes - refused - next).max(0.0);
        self.count = next;
        Stepped { left, refused, age: self.leave(left, now), place }
    }

    /// Removes the oldest requests, and returns how long they were here.
    fn leave(&mut self, left: f64, now: f64) -> f64 {
        let (mut missing, mut ages) = (left, 0.0);
        while let Some((came, count)) = self.came.front_mut() {
            let taken = count.min(missing);
            ages += taken * (now - *came);
            missing -= taken;
            *count -= taken;
            if *count > 1e-9 {
                break;
            }
            self.came.pop_front();
        }
        if left > 0.0 { ages / left } else { 0.0 }
    }
}

impl Service<'_> {
    /// Simulates arrivals at a rate for this long, from `at` seconds on.
    pub(super) fn crowd(
        &mut self,
        rate: f64,
        seconds: f64,
        number: u64,
        at: f64,
        instances: &mut [Instance],
    ) {
        let curve = self.curve;
        if !self.is_crowded {
            self.is_crowded = true;
            let each = curve.count_at(curve.place(self.load));
            for id in &self.serving {
                let instance = &mut instances[id.0 as usize];
                instance.queue.begin(each * instance.strength, at);
            }
        }
        self.load = rate / self.strength;
        let steps = (seconds / STEP).ceil().max(1.0);
        let step = seconds / steps;
        let mut shares: Vec<(InstanceId, f64)> = Vec::with_capacity(self.serving.len() + self.leaving.len());
        for number_of_step in 1..=steps as u32 {
            let now = at + f64::from(number_of_step) * step;
            let comes = rate * step;
            let failed = comes * self.failing;
            self.share_out(comes - failed, step, instances, &mut shares);
            let (mut left, mut refused, mut held, mut places) = (0.0, 0.0, 0.0, 0.0);
            for &(id, share) in &shares {
                let instance = &mut instances[id.0 as usize];
                let done = instance.queue.step(curve, share, instance.strength, step, now);
                instance.in_hand = instance.queue.count;
                held += instance.queue.count;
                let carried = done.left / step / instance.strength.max(f64::MIN_POSITIVE);
                instance.use_cores(curve.mean_cores(curve.place(carried.min(curve.most))), step);
                let usual = curve.count_at(done.place) / curve.load_at(done.place).max(f64::MIN_POSITIVE);
                let minute = curve.minute(done.place, number, self.connections);
                self.count(&minute, done.left, (done.age - usual).max(0.0), false);
                if done.age > self.patience {
                    self.open.timed_out += done.left;
                }
                left += done.left;
                refused += done.refused;
                places += done.place;
            }
            let place = places / shares.len().max(1) as f64;
            self.keep_connections(place, step, instances, |one| {
                one.queue.count / one.strength.max(f64::MIN_POSITIVE)
            });
            self.open.arrived += comes;
            self.open.ended += left + refused + failed;
            self.open.refused += refused;
            self.open.failed += failed;
            self.open.in_system += held * step;
            self.open.place += place * step;
            self.open.seconds += step;
        }
        let usual = curve.in_system.get(curve.knee).copied().unwrap_or(0.0) + 1e-6;
        self.leaving.retain(|id| {
            let one = &mut instances[id.0 as usize];
            let stays = one.queue.count >= 1.0;
            if !stays {
                one.in_hand = 0.0;
            }
            stays
        });
        let is_usual = |id: &InstanceId| {
            let one = &instances[id.0 as usize];
            one.queue.count <= usual * one.strength
        };
        self.is_crowded =
            self.load > curve.knee_load() || !self.leaving.is_empty() || !self.serving.iter().all(is_usual);
    }

    /// Distributes arrivals over the instances; draining instances get none.
    fn share_out(&self, comes: f64, step: f64, instances: &[Instance], into: &mut Vec<(InstanceId, f64)>) {
        into.clear();
        let one = |id: &InstanceId| &instances[id.0 as usize];
        let well = self.serving.iter().filter(|id| one(id).phase == Phase::Serving && one(id).strength > 0.0);
        let strength: f64 = well.clone().map(|id| one(id).strength).sum();
        if self.levels {
            // The rest at each instance after the step without arrivals; negative where it has spare capacity.
            let level = |id: &InstanceId| one(id).queue.count / one(id).strength - self.curve.most * step;
            into.extend(well.map(|id| (*id, level(id))));
            into.sort_by(|a, b| a.1.total_cmp(&b.1));
            let (mut sum, mut held, mut up_to) = (0.0, comes, f64::INFINITY);
            for (id, level) in into.iter() {
                if *level >= up_to {
                    break;
                }
                sum += one(id).strength;
                held += level * one(id).strength;
                up_to = held / sum;
            }
            for (id, level) in into.iter_mut() {
                *level = (up_to - *level).max(0.0) * one(id).strength;
            }
        } else {
            into.extend(well.map(|id| (*id, comes * one(id).strength / strength)));
        }
        into.extend(self.leaving.iter().map(|id| (*id, 0.0)));
    }
}

/// The length of a step, in seconds.
const STEP: f64 = 2.0;
