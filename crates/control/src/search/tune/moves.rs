//! Candidates made from others.

use super::space::{Candidate, Space};
use alloc::vec::Vec;
use stats::Rng;

impl Space {
    /// Candidates that differ in one value: the next two on either side of an ordered one, any other one.
    pub(super) fn neighbours(&self, centre: &Candidate) -> Vec<Candidate> {
        let mut found = Vec::new();
        for (place, dimension) in self.0.iter().enumerate() {
            if !self.is_active(centre, place) {
                continue;
            }
            let now = centre[place];
            let is_near = |value: &usize| !dimension.ordered || value.abs_diff(now) <= NEAR;
            let values = (0..dimension.choices).filter(|value| *value != now).filter(is_near);
            found.extend(values.map(|value| self.with(centre, place, value)));
        }
        found
    }

    /// The first one, the first two and so on of what helped, together.
    pub(super) fn together(&self, centre: &Candidate, helped: &[Candidate]) -> Vec<Candidate> {
        let mut whole = centre.clone();
        let mut found = Vec::new();
        for (number, one) in helped.iter().enumerate() {
            for (place, value) in one.iter().enumerate() {
                if *value != centre[place] {
                    whole[place] = *value;
                }
            }
            if number > 0 {
                found.push(self.plain(whole.clone()));
            }
        }
        found
    }

    /// The candidate with so many random changes, of what is not costly where there is such.
    pub(super) fn changed(&self, from: &Candidate, changes: usize, rng: &mut Rng) -> Candidate {
        let mut candidate = from.clone();
        for _ in 0..changes {
            let mut active: Vec<usize> =
                (0..self.0.len()).filter(|place| self.is_active(&candidate, *place)).collect();
            if active.iter().any(|place| !self.0[*place].costly) {
                active.retain(|place| !self.0[*place].costly);
            }
            if active.is_empty() {
                break;
            }
            let place = active[rng.below(active.len())];
            candidate[place] = rng.below(self.0[place].choices);
            candidate = self.plain(candidate);
        }
        candidate
    }

    /// The candidate with two values moved a little: what one of them brings, the other one may pay for. At most one of them is
    /// costly.
    pub(super) fn shifted(&self, from: &Candidate, rng: &mut Rng) -> Candidate {
        let mut candidate = from.clone();
        for _ in 0..2 {
            let is_costly = self.differ_in_costly(&candidate, from);
            let mut near = self.neighbours(&candidate);
            near.retain(|next| !is_costly || !self.differ_in_costly(next, &candidate));
            if !near.is_empty() {
                candidate.clone_from(&near[rng.below(near.len())]);
            }
        }
        candidate
    }

    /// So many candidates that fill the space: each value of a dimension is used equally often (a Latin hypercube). There are
    /// a few combinations only of values that are costly.
    pub(super) fn filling(&self, count: usize, rng: &mut Rng) -> Vec<Candidate> {
        let mut candidates: Vec<Candidate> = (0..count).map(|_| self.today()).collect();
        for (place, dimension) in self.0.iter().enumerate() {
            let of = if dimension.costly { COMBINATIONS.min(count) } else { count };
            let mut strata: Vec<usize> = (0..of).collect();
            rng.shuffle(&mut strata);
            for (candidate, stratum) in candidates.iter_mut().zip(strata.into_iter().cycle()) {
                candidate[place] = stratum * dimension.choices / of;
            }
        }
        candidates.into_iter().map(|candidate| self.plain(candidate)).collect()
    }

    /// The candidate with one change after the other taken back; changes that depend on it go with it.
    pub(super) fn reverted(&self, candidate: &Candidate) -> Vec<Candidate> {
        let differs = |place: &usize| {
            candidate[*place] != self.0[*place].today
                && self.0[*place].when.is_none_or(|(other, value)| value == self.0[other].today)
        };
        (0..self.0.len())
            .filter(differs)
            .map(|place| self.with(candidate, place, self.0[place].today))
            .collect()
    }

    fn differ_in_costly(&self, one: &Candidate, other: &Candidate) -> bool {
        self.0
            .iter()
            .zip(one.iter().zip(other))
            .any(|(dimension, (one, other))| dimension.costly && one != other)
    }

    fn with(&self, candidate: &Candidate, place: usize, value: usize) -> Candidate {
        let mut changed = candidate.clone();
        changed[place] = value;
        self.plain(changed)
    }
}

/// How far a move goes.
const NEAR: usize = 2;
/// Combinations of costly values in candidates that fill the space.
const COMBINATIONS: usize = 12;
