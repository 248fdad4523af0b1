//! The balancer nodes of a service: each has its own pointer and counts, as the nodes of a real balancer.

use super::placing::Brought;
use crate::settings::{Algorithm, Balancing, Zones};
use control::balance::{
    Available, Balancer, InstanceId, LeastOutstanding, Method, Outcome, PeakEwma, Picker, Placed, RoundRobin,
    SlowStart, Weight, WeightedRoundRobin,
};
use stats::Rng;
use std::time::Duration;
use units::{Ratio, Timestamp};

/// All nodes of a service run the same algorithm.
#[derive(Debug, Clone)]
pub(super) struct Balancers {
    nodes: Nodes,
    slow_start: Option<SlowStart>,
    /// The first instances have their whole share at once.
    began: bool,
    /// The number of zones, if a node sends only to its own: the n-th node is in the n-th zone, cyclically.
    zones: Option<u16>,
    panic_below: Ratio,
}

#[derive(Debug, Clone)]
enum Nodes {
    RoundRobin(Vec<RoundRobin>),
    Weighted(Vec<WeightedRoundRobin>),
    Least(Vec<LeastOutstanding>),
    Ewma(Vec<PeakEwma>),
    SlowWeighted(Vec<Available<WeightedRoundRobin>>),
    SlowLeast(Vec<Available<LeastOutstanding>>),
    SlowEwma(Vec<Available<PeakEwma>>),
    /// As in the gateway, where clients, failures or limits of instances matter.
    Managed(Vec<Picker>),
}

macro_rules! on {
    ($nodes:expr, $name:ident => $do:expr) => {
        match $nodes {
            Nodes::RoundRobin($name) => $do,
            Nodes::Weighted($name) => $do,
            Nodes::Least($name) => $do,
            Nodes::Ewma($name) => $do,
            Nodes::SlowWeighted($name) => $do,
            Nodes::SlowLeast($name) => $do,
            Nodes::SlowEwma($name) => $do,
            Nodes::Managed($name) => $do,
        }
    };
}

impl Balancers {
    pub(super) fn new(balancing: &Balancing, zones: &Zones) -> Self {
        let n = balancing.nodes.max(1) as usize;
        // Cloud balancers start at about zero and rise linearly.
        let slow_start = balancing
            .slow_start
            .filter(|span| !span.is_zero())
            .and_then(|span| SlowStart::new(span, Ratio::ZERO, 1.0).ok());
        let nodes = match (balancing.algorithm, slow_start.is_some()) {
            (algorithm, _) if balancing.is_managed() || balancing.instance_limit.is_some() => {
                Nodes::Managed(vec![picker(method(algorithm), balancing.panic_below); n])
            }
            (Algorithm::RoundRobin, false) => Nodes::RoundRobin(vec![RoundRobin::new(); n]),
            (Algorithm::WeightedRoundRobin, false) => Nodes::Weighted(vec![WeightedRoundRobin::new(); n]),
            (Algorithm::LeastOutstanding, false) => Nodes::Least(vec![LeastOutstanding::new(); n]),
            (Algorithm::PeakEwma, false) => Nodes::Ewma(vec![PeakEwma::default(); n]),
            // Growing shares are weights, and plain round robin picks an instance as often in a row as its weight.
            (Algorithm::RoundRobin | Algorithm::WeightedRoundRobin, true) => {
                Nodes::SlowWeighted(vec![around(WeightedRoundRobin::new()); n])
            }
            (Algorithm::LeastOutstanding, true) => Nodes::SlowLeast(vec![around(LeastOutstanding::new()); n]),
            (Algorithm::PeakEwma, true) => Nodes::SlowEwma(vec![around(PeakEwma::default()); n]),
            (Algorithm::ConsistentHash { .. }, _) => {
                Nodes::Managed(vec![picker(Method::Hash, balancing.panic_below); n])
            }
        };
        let zones = zones.are_separate().then(|| zones.names.len().min(usize::from(u16::MAX)) as u16);
        Balancers { nodes, slow_start, began: false, zones, panic_below: balancing.panic_below }
    }

    /// The number of zones, if a node sends only to its own.
    pub(super) fn zones(&self) -> Option<u16> {
        self.zones
    }

    /// An instance gets requests from all nodes, or from those of its zone.
    pub(super) fn add(&mut self, now: u64, id: u32, weight: Weight, zone: u16) {
        if now > 0 && !std::mem::replace(&mut self.began, true) {
            let at = Timestamp::from_nanos(now);
            match &mut self.nodes {
                Nodes::SlowWeighted(nodes) => configure(nodes, at, self.slow_start),
                Nodes::SlowLeast(nodes) => configure(nodes, at, self.slow_start),
                Nodes::SlowEwma(nodes) => configure(nodes, at, self.slow_start),
                Nodes::Managed(nodes) => {
                    let (slow_start, panic_below) = (self.slow_start, self.panic_below);
                    nodes.iter_mut().for_each(|node| node.configure(at, slow_start, panic_below));
                }
                _ => {}
            }
        }
        let at = Timestamp::from_nanos(now);
        let (id, zones) = (InstanceId(id), self.zones);
        let here = |node: usize| zones.is_none_or(|zones| node % usize::from(zones) == usize::from(zone));
        match &mut self.nodes {
            Nodes::SlowWeighted(nodes) => each(nodes, here, |node| node.add(at, id, weight)),
            Nodes::SlowLeast(nodes) => each(nodes, here, |node| node.add(at, id, weight)),
            Nodes::SlowEwma(nodes) => each(nodes, here, |node| node.add(at, id, weight)),
            Nodes::Managed(nodes) => each(nodes, here, |node| node.add(at, id, weight)),
            nodes => on!(nodes, nodes => each(nodes, here, |node| node.added(id, weight))),
        }
    }

    /// Sends no new requests to an instance, except those of its clients.
    pub(super) fn drain(&mut self, now: u64, id: u32) {
        let at = Timestamp::from_nanos(now);
        match &mut self.nodes {
            Nodes::Managed(nodes) => nodes.iter_mut().for_each(|node| node.drain(at, InstanceId(id))),
            _ => self.remove(id),
        }
    }

    pub(super) fn eject(&mut self, now: Timestamp, id: InstanceId, until: Timestamp) {
        if let Nodes::Managed(nodes) = &mut self.nodes {
            nodes.iter_mut().for_each(|node| node.eject(now, id, until));
        }
    }

    pub(super) fn set_healthy(&mut self, now: Timestamp, id: InstanceId, healthy: bool) {
        if let Nodes::Managed(nodes) = &mut self.nodes {
            nodes.iter_mut().for_each(|node| node.set_healthy(now, id, healthy));
        }
    }

    /// Picks the instance for what a request brings, another one than the failed one. Counts nothing.
    pub(super) fn pick(
        &mut self,
        node: u16,
        now: Timestamp,
        brought: Brought,
        failed: Option<InstanceId>,
        rng: &mut Rng,
    ) -> Option<Placed> {
        let Nodes::Managed(nodes) = &mut self.nodes else { return None };
        let node = &mut nodes[node as usize];
        let Brought { key, cookie } = brought;
        match failed {
            Some(failed) => node.place_elsewhere(now, key, &[failed], rng),
            None => node.place(now, key, cookie, rng),
        }
    }

    /// Takes a slot at the picked instance or at another one: see [`Picker::with_slot`].
    pub(super) fn with_slot(
        &self,
        node: u16,
        picked: InstanceId,
        count: u32,
        failed: Option<InstanceId>,
        enter: impl FnMut(InstanceId) -> Option<()>,
    ) -> Option<InstanceId> {
        let Nodes::Managed(nodes) = &self.nodes else { return None };
        let found = nodes[node as usize].with_slot(picked, count, failed.as_slice(), enter);
        found.map(|(id, ())| id)
    }

    /// A request goes to an instance that was picked.
    pub(super) fn sent(&mut self, node: u16, now: Timestamp, id: InstanceId) {
        if let Nodes::Managed(nodes) = &mut self.nodes {
            nodes[node as usize].sent(now, id);
        }
    }

    /// As [`send`](Self::send), for what a request brings, and to another instance than the failed one.
    pub(super) fn place(
        &mut self,
        node: u16,
        now: u64,
        brought: Brought,
        failed: Option<InstanceId>,
        rng: &mut Rng,
    ) -> Option<Placed> {
        let now = Timestamp::from_nanos(now);
        let placed = self.pick(node, now, brought, failed, rng)?;
        self.sent(node, now, placed.instance());
        Some(placed)
    }

    pub(super) fn remove(&mut self, id: u32) {
        on!(&mut self.nodes, nodes => nodes.iter_mut().for_each(|node| node.removed(InstanceId(id))));
    }

    /// Picks the instance for a request and counts it there.
    #[inline]
    pub(super) fn send(&mut self, node: u16, now: u64, rng: &mut Rng) -> Option<u32> {
        let now = Timestamp::from_nanos(now);
        on!(&mut self.nodes, nodes => {
            let node = &mut nodes[node as usize];
            let picked = node.pick(now, rng)?;
            node.sent(now, picked);
            Some(picked.0)
        })
    }

    /// As [`send`](Self::send), but to another instance than the failed one, if there is one.
    pub(super) fn send_again(&mut self, node: u16, now: u64, failed: u32, rng: &mut Rng) -> Option<u32> {
        let now = Timestamp::from_nanos(now);
        on!(&mut self.nodes, nodes => {
            let node = &mut nodes[node as usize];
            let mut picked = node.pick(now, rng)?;
            for _ in 0..TRIES {
                if picked.0 != failed {
                    break;
                }
                picked = node.pick(now, rng)?;
            }
            node.sent(now, picked);
            Some(picked.0)
        })
    }

    /// A request that was sent has ended.
    #[inline]
    pub(super) fn answered(&mut self, node: u16, now: u64, id: u32, outcome: Outcome) {
        let now = Timestamp::from_nanos(now);
        on!(&mut self.nodes, nodes => nodes[node as usize].answered(now, InstanceId(id), outcome));
    }
}

/// Runs for each of the nodes that `here` selects by their number.
fn each<B>(nodes: &mut [B], here: impl Fn(usize) -> bool, run: impl FnMut(&mut B)) {
    nodes.iter_mut().enumerate().filter(|(number, _)| here(*number)).map(|(_, node)| node).for_each(run);
}

fn method(algorithm: Algorithm) -> Method {
    match algorithm {
        Algorithm::RoundRobin | Algorithm::WeightedRoundRobin => Method::RoundRobin,
        Algorithm::LeastOutstanding => Method::LeastOutstanding,
        Algorithm::PeakEwma => Method::PeakEwma,
        Algorithm::ConsistentHash { .. } => Method::Hash,
    }
}

/// A picker whose first instances have their whole share at once.
fn picker(method: Method, panic_below: Ratio) -> Picker {
    let mut picker = Picker::new(method);
    picker.configure(Timestamp::ZERO, None, panic_below);
    picker
}

fn around<B: Balancer>(inner: B) -> Available<B> {
    Available::new(inner, None, Ratio::ZERO)
}

fn configure<B: Balancer>(nodes: &mut [Available<B>], now: Timestamp, slow_start: Option<SlowStart>) {
    nodes.iter_mut().for_each(|node| node.configure(now, slow_start, Ratio::ZERO));
}

/// By speed, in hundredths, because weights are whole numbers.
pub(super) fn weight(algorithm: Algorithm, speed: f64, cores: u32) -> Weight {
    let weight = match algorithm {
        Algorithm::WeightedRoundRobin => (100.0 * speed * f64::from(cores)).round(),
        _ => 1.0,
    };
    Weight::new(weight.clamp(1.0, 1e6) as u32).unwrap_or(Weight::ONE)
}

/// The time to first byte, which equals that of the whole response here.
#[inline]
pub(super) fn took(nanos: u64) -> Duration {
    Duration::from_nanos(nanos)
}

/// Picks of another instance that are attempted before the same one is accepted.
const TRIES: u32 = 4;
