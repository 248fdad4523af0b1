//! A small simulation: Poisson arrivals, instances that share their processor among the requests in flight.

use control::balance::{Balancer, InstanceId, Outcome, Weight};
use stats::Rng;
use std::time::Duration;
use units::Timestamp;

/// How an instance behaves.
#[derive(Clone, Copy)]
pub enum Behaviour {
    /// Its speed; at speed 1, a single request of one millisecond takes one millisecond.
    Works(f64),
    /// It responds at once with an error.
    FailsAtOnce,
}

/// The result of a run.
pub struct Outcomes {
    /// Response times of the requests that succeeded, in milliseconds, sorted.
    pub times_ms: Vec<f64>,
    /// Requests sent to each instance.
    pub sent: Vec<u32>,
}

impl Outcomes {
    pub fn quantile(&self, share: f64) -> f64 {
        self.times_ms[((self.times_ms.len() - 1) as f64 * share) as usize]
    }

    pub fn share_of(&self, instance: usize) -> f64 {
        f64::from(self.sent[instance]) / f64::from(self.sent.iter().sum::<u32>())
    }
}

struct Instance {
    behaviour: Behaviour,
    /// The work that each request in flight has received since the beginning, in milliseconds.
    worked: f64,
    /// The time of `worked`, in milliseconds.
    at: f64,
    /// `worked` at the end of a request, and when it was sent.
    flying: Vec<(f64, f64)>,
}

impl Instance {
    fn rate(&self) -> f64 {
        match self.behaviour {
            Behaviour::Works(speed) => speed / self.flying.len() as f64,
            Behaviour::FailsAtOnce => f64::INFINITY,
        }
    }

    fn first(&self) -> Option<usize> {
        (0..self.flying.len()).min_by(|&one, &other| self.flying[one].0.total_cmp(&self.flying[other].0))
    }

    fn next_end(&self) -> f64 {
        self.first()
            .map_or(f64::INFINITY, |first| self.at + (self.flying[first].0 - self.worked) / self.rate())
    }

    fn work_until(&mut self, now: f64) {
        if !self.flying.is_empty() {
            self.worked += (now - self.at) * self.rate();
        }
        self.at = now;
    }
}

/// Sends `requests` at `per_ms` to the instances. A request takes 10 ms of work on average: a tenth of the requests
/// takes ten times as long as the others, as in the accounts case.
pub fn run<B: Balancer>(
    mut balancer: B,
    behaviours: &[Behaviour],
    per_ms: f64,
    requests: u32,
    seed: u64,
) -> Outcomes {
    let (mut arrivals, mut work) = (Rng::new(seed, "arrivals"), Rng::new(seed, "work"));
    let mut picks = Rng::new(seed, "picks");
    let mut instances: Vec<_> = behaviours
        .iter()
        .map(|&behaviour| Instance { behaviour, worked: 0.0, at: 0.0, flying: Vec::new() })
        .collect();
    (0..instances.len() as u32).for_each(|id| balancer.added(InstanceId(id), Weight::ONE));
    let (mut times_ms, mut sent) = (Vec::new(), vec![0; instances.len()]);
    let mut next_arrival = 0.0;
    for _ in 0..requests {
        next_arrival += arrivals.exponential() / per_ms;
        loop {
            let ends = instances.iter().map(Instance::next_end).enumerate();
            let (index, end) =
                ends.min_by(|one, other| one.1.total_cmp(&other.1)).expect("there are instances");
            if end > next_arrival {
                break;
            }
            let instance = &mut instances[index];
            let first = instance.first().expect("a request ends");
            instance.work_until(end);
            let (worked, began) = instance.flying.swap_remove(first);
            instance.worked = worked;
            times_ms.push(end - began);
            let first_byte = Duration::from_secs_f64((end - began) / 1e3);
            balancer.answered(at(end), InstanceId(index as u32), Outcome::Answered { first_byte });
        }
        let id = balancer.pick(at(next_arrival), &mut picks).expect("there are instances");
        balancer.sent(at(next_arrival), id);
        sent[id.0 as usize] += 1;
        let needs = work.exponential() * if work.uniform() < 0.1 { 100.0 / 1.9 } else { 10.0 / 1.9 };
        let instance = &mut instances[id.0 as usize];
        instance.work_until(next_arrival);
        match instance.behaviour {
            Behaviour::FailsAtOnce => balancer.answered(at(next_arrival), id, Outcome::Failed),
            Behaviour::Works(_) => instance.flying.push((instance.worked + needs, next_arrival)),
        }
    }
    times_ms.sort_by(f64::total_cmp);
    Outcomes { times_ms, sent }
}

fn at(ms: f64) -> Timestamp {
    Timestamp::from_nanos((ms * 1e6) as u64)
}
