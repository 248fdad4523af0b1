//! What can be chosen: dimensions with a number of values each.

use alloc::vec::Vec;

/// A value that can be chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dimension {
    /// The number of its values; at least 1.
    pub choices: usize,
    /// Today's value.
    pub today: usize,
    /// Whether a value is close to those beside it.
    pub ordered: bool,
    /// It has an effect only where an earlier dimension has this value.
    pub when: Option<(usize, usize)>,
    /// The first evaluation of another value takes much longer than others do.
    pub costly: bool,
}

/// A value for each dimension. Dimensions without effect have today's.
pub type Candidate = Vec<usize>;

/// All dimensions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Space(pub(super) Vec<Dimension>);

impl Space {
    /// A space of these dimensions; a condition names an earlier one.
    pub fn new(dimensions: Vec<Dimension>) -> Self {
        Space(dimensions)
    }

    /// The candidate of today.
    pub fn today(&self) -> Candidate {
        self.0.iter().map(|dimension| dimension.today).collect()
    }

    /// Whether a dimension has an effect.
    pub fn is_active(&self, candidate: &Candidate, dimension: usize) -> bool {
        let condition = self.0[dimension].when;
        condition.is_none_or(|(other, value)| candidate[other] == value && self.is_active(candidate, other))
    }

    /// The number of dimensions in which two candidates differ.
    pub fn distance(one: &Candidate, other: &Candidate) -> usize {
        one.iter().zip(other).filter(|(one, other)| one != other).count()
    }

    /// The candidate with today's values where a value has no effect.
    pub(super) fn plain(&self, mut candidate: Candidate) -> Candidate {
        for place in 0..self.0.len() {
            if !self.is_active(&candidate, place) {
                candidate[place] = self.0[place].today;
            }
        }
        candidate
    }
}
