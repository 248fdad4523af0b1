//! Two fleets over the same time, such as a simulated one and the real one: how alike their sizes and actions are.
//!
//! ## The score
//! `score = max(0, 1 - ∫|real - simulated| dt / ∫ real dt)`: 1 minus the absolute difference, in instance-hours, as a
//! share of the real instance-hours. The share is the MAD/mean ratio, also known as weighted absolute percentage error
//! (Kolassa and Schütz, "Advantages of the MAD/Mean Ratio over the MAPE", Foresight 6, 2007). Unlike the mean of
//! relative errors, a fleet of 1 instance at night does not outweigh the day, and minutes with 0 instances are defined.
//!
//! ## Why the best constant size is beside it
//! A fleet that varies little is easy to predict: a constant size can score 0.95. Only a score above that of the best
//! constant size shows that the simulation predicts the scaling. The size with the least absolute difference is the
//! median over time.
//!
//! ## Why actions are matched by time and direction
//! The score does not say whether a difference comes from other sizes or from other times. An action matches the
//! nearest action of the other fleet in the same direction, at most [`MATCH_WITHIN`] away; nearest pairs are taken
//! first, and each action is in one pair at most.

use std::time::Duration;
use units::Timestamp;

/// The number of instances of a fleet over time, in steps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sizes {
    start: u32,
    changes: Vec<Change>,
}

/// From this time on, a fleet has another size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change {
    /// The time.
    pub at: Timestamp,
    /// The number of instances from then on.
    pub to: u32,
}

/// How alike two fleets were over a span of time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Agreement {
    /// From 0 to 1; 1: the sizes were equal all the time. See the module for the formula.
    pub score: f64,
    /// The share of the time in which the sizes differed by at most one instance, from 0 to 1.
    pub within_one: f64,
    /// The share of the time in which the simulated size was within 10 % of the real size, from 0 to 1.
    pub within_tenth: f64,
    /// Mean over time of the absolute difference, in instances.
    pub mean_difference: f64,
    /// The real fleet.
    pub real: Totals,
    /// The simulated fleet.
    pub simulated: Totals,
    /// The number of pairs of matching actions.
    pub matched: usize,
    /// The median over the pairs of simulated minus real time, in seconds: positive where the simulation acts later.
    /// None without pairs.
    pub median_later: Option<f64>,
    /// The median over the pairs of the absolute difference of their times, in seconds. None without pairs.
    pub median_apart: Option<f64>,
}

/// What a fleet did in a span of time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Totals {
    /// Instances times hours.
    pub instance_hours: f64,
    /// How often it grew.
    pub scale_outs: usize,
    /// How often it shrank.
    pub scale_ins: usize,
}

/// The constant size that is nearest to a fleet.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Constant {
    /// The number of instances.
    pub size: u32,
    /// Its [score](Agreement::score).
    pub score: f64,
}

/// Actions that are further apart do not match.
pub const MATCH_WITHIN: Duration = Duration::from_secs(30 * 60);

impl Sizes {
    /// A fleet with `start` instances until the first of `changes`, in any order. Of several at one time, the last
    /// applies.
    pub fn new(start: u32, changes: impl IntoIterator<Item = Change>) -> Self {
        let mut changes: Vec<Change> = changes.into_iter().collect();
        changes.sort_by_key(|change| change.at);
        let mut kept: Vec<Change> = Vec::with_capacity(changes.len());
        for change in changes {
            kept.pop_if(|last| last.at == change.at);
            kept.push(change);
        }
        let mut size = start;
        kept.retain(|change| std::mem::replace(&mut size, change.to) != change.to);
        Sizes { start, changes: kept }
    }

    /// The size at a time.
    pub fn at(&self, at: Timestamp) -> u32 {
        let after = self.changes.partition_point(|change| change.at <= at);
        after.checked_sub(1).map_or(self.start, |last| self.changes[last].to)
    }

    /// The changes of the size from `from` on and before `until`.
    pub fn within(&self, from: Timestamp, until: Timestamp) -> &[Change] {
        let place = |at: Timestamp| self.changes.partition_point(|change| change.at < at);
        &self.changes[place(from)..place(until).max(place(from))]
    }

    /// The times of actions, those that grow the fleet and those that shrink it.
    fn actions(&self, from: Timestamp, until: Timestamp) -> [Vec<Timestamp>; 2] {
        let before = self.changes.partition_point(|change| change.at < from);
        let mut size = before.checked_sub(1).map_or(self.start, |last| self.changes[last].to);
        let (mut outs, mut ins) = (Vec::new(), Vec::new());
        for change in self.within(from, until) {
            let list = if change.to > size { &mut outs } else { &mut ins };
            list.push(change.at);
            size = change.to;
        }
        [outs, ins]
    }
}

/// Compares two fleets from `from` to `until`; none if that is no time.
pub fn agreement(real: &Sizes, simulated: &Sizes, from: Timestamp, until: Timestamp) -> Option<Agreement> {
    let total = until.since(from).as_nanos();
    if total == 0 {
        return None;
    }
    let (mut apart, mut one, mut tenth, mut of_real, mut of_simulated) = (0, 0, 0, 0, 0);
    for (nanos, real, simulated) in pieces(real, simulated, from, until) {
        let difference = real.abs_diff(simulated);
        let instances = |count: u32| u128::from(count) * nanos;
        apart += instances(difference);
        of_real += instances(real);
        of_simulated += instances(simulated);
        one += if difference <= 1 { nanos } else { 0 };
        tenth += if u64::from(difference) * 10 <= u64::from(real) { nanos } else { 0 };
    }
    let (acted, simulated_acted) = (real.actions(from, until), simulated.actions(from, until));
    let activity = |instance_nanos: u128, [outs, ins]: &[Vec<Timestamp>; 2]| Totals {
        instance_hours: instance_nanos as f64 / NANOS_PER_HOUR,
        scale_outs: outs.len(),
        scale_ins: ins.len(),
    };
    let later: Vec<f64> =
        acted.iter().zip(&simulated_acted).flat_map(|(real, simulated)| pairs(real, simulated)).collect();
    let distances: Vec<f64> = later.iter().map(|later| later.abs()).collect();
    let share = |nanos: u128| nanos as f64 / total as f64;
    Some(Agreement {
        score: score(apart, of_real),
        within_one: share(one),
        within_tenth: share(tenth),
        mean_difference: share(apart),
        real: activity(of_real, &acted),
        simulated: activity(of_simulated, &simulated_acted),
        matched: later.len(),
        median_later: median_of(&later),
        median_apart: median_of(&distances),
    })
}

/// The constant size with the highest score; none if the span is no time.
pub fn best_constant(real: &Sizes, from: Timestamp, until: Timestamp) -> Option<Constant> {
    let total = until.since(from).as_nanos();
    let mut by_size: Vec<(u32, u128)> =
        pieces(real, real, from, until).into_iter().map(|(nanos, size, _)| (size, nanos)).collect();
    by_size.sort_unstable();
    let mut below = 0;
    let size = by_size.iter().find_map(|&(size, nanos)| {
        below += nanos;
        (below * 2 >= total && total > 0).then_some(size)
    })?;
    let apart = by_size.iter().map(|&(found, nanos)| u128::from(found.abs_diff(size)) * nanos).sum();
    let of_real = by_size.iter().map(|&(found, nanos)| u128::from(found) * nanos).sum();
    Some(Constant { size, score: score(apart, of_real) })
}

fn score(apart: u128, of_real: u128) -> f64 {
    match (apart, of_real) {
        (0, _) => 1.0,
        (_, 0) => 0.0,
        (apart, of_real) => (1.0 - apart as f64 / of_real as f64).max(0.0),
    }
}

/// The spans in which neither fleet changes: nanoseconds, the size of `a` and the size of `b`.
fn pieces(a: &Sizes, b: &Sizes, from: Timestamp, until: Timestamp) -> Vec<(u128, u32, u32)> {
    let changes = a.within(from, until).iter().chain(b.within(from, until));
    let mut edges: Vec<Timestamp> = changes.map(|change| change.at).chain([from, until]).collect();
    edges.sort_unstable();
    edges.dedup();
    let piece = |edge: &[Timestamp]| (edge[1].since(edge[0]).as_nanos(), a.at(edge[0]), b.at(edge[0]));
    edges.windows(2).map(piece).collect()
}

/// Simulated minus real time of matching actions, in seconds. Both lists are in order of time.
fn pairs(real: &[Timestamp], simulated: &[Timestamp]) -> Vec<f64> {
    let mut near = Vec::new();
    for (place, &at) in real.iter().enumerate() {
        let first = simulated.partition_point(|other| *other + MATCH_WITHIN < at);
        let candidates = simulated[first..].iter().take_while(|other| **other <= at + MATCH_WITHIN);
        near.extend(candidates.enumerate().map(|(index, &other)| {
            let apart = at.since(other).max(other.since(at));
            (apart, place, first + index)
        }));
    }
    near.sort_unstable();
    let (mut taken, mut used) = (vec![false; real.len()], vec![false; simulated.len()]);
    let mut found = Vec::new();
    for (_, place, other) in near {
        if taken[place] || used[other] {
            continue;
        }
        (taken[place], used[other]) = (true, true);
        found.push(simulated[other].as_secs_f64() - real[place].as_secs_f64());
    }
    found
}

/// `None` without values.
fn median_of(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| stats::median(values))
}

const NANOS_PER_HOUR: f64 = 3.6e12;

#[cfg(test)]
mod tests;
