//! Do candidates answer as the control does?
//!
//! ```text
//! next → the caller sends these requests to all arms → observe, pair by pair → found
//!
//! budget   how many requests a round has
//! compare  in which parts two responses differ
//! mask     values as results show them
//! ```
//!
//! ## Why the control is compared with itself
//! Times, tokens and counters differ in any two responses. So each request is sent to the control twice (or to the control
//! and to a second control, which also shows what each process has of its own). A part of the responses of a route counts as
//! a difference of a candidate if it differs more often than between control and control, by Fisher's exact test. A part that
//! differs between control and control as often is ignored.
//!
//! ## Why requests are repeated
//! One difference may be chance: a value that changes once a minute changes between any two requests. A request with a
//! difference that is not decided is sent again in the next rounds, until it is.
//!
//! ## Not the comparison of the mirror
//! The mirror of the gateway compares the status, the size and a hash of each response while it passes, and counts. It has
//! one response of each kind, so it cannot know what differs by itself.

mod budget;
mod compare;
mod mask;

pub use budget::Budget;
pub use compare::{Body, Field, Part, Response, Value};
pub use mask::Example;

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::vec;
use alloc::vec::Vec;
use compare::compare;
use stats::{Share, more_often};

/// What is compared with the control.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pair {
    /// The control itself.
    Control,
    /// The second control.
    SecondControl,
    /// The candidate with this number.
    Candidate(usize),
}

/// Learns which parts of responses differ by themselves, and which differ because of a candidate.
#[derive(Debug, Clone)]
pub struct Answers {
    candidates: usize,
    /// The requests in the order in which they are sent, the first of each route before the others.
    order: Vec<usize>,
    next: usize,
    /// Requests to be repeated, and how often each was.
    again: VecDeque<usize>,
    repeated: BTreeMap<usize, u32>,
    /// Pairs by route, and those of them that differ in a part.
    pairs: BTreeMap<usize, Counts>,
    places: BTreeMap<(usize, Part), Place>,
    complete: bool,
}

/// Pairs by what was compared.
#[derive(Debug, Clone, Default)]
struct Counts {
    control: u64,
    second_control: u64,
    candidates: Vec<u64>,
}

/// Differing pairs of a part of the responses of a route.
#[derive(Debug, Clone, Default)]
struct Place {
    differ: Counts,
    /// By candidate.
    examples: Vec<Vec<Example>>,
}

/// What is known of a part and a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Finding {
    Difference,
    Ignored,
    Open,
}

/// What the comparison found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Found {
    /// Pairs of responses of control and candidate.
    pub compared: u64,
    /// Pairs of responses of control and control.
    pub control_pairs: u64,
    /// Parts that differ between control and control too, by route.
    pub ignored: Vec<(usize, Part)>,
    /// Differences of candidates.
    pub differences: Vec<Difference>,
    /// How many parts differed so rarely that it may be chance.
    pub open: usize,
    /// Whether all parts that differed were kept.
    pub complete: bool,
}

/// A part in which a candidate answers differently.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The number of the candidate.
    pub candidate: usize,
    /// The route.
    pub route: usize,
    /// What differs.
    pub part: Part,
    /// In how many pairs of the route.
    pub count: u64,
    /// Of how many.
    pub of: u64,
    /// The first different ones, masked.
    pub examples: Vec<Example>,
}

impl Answers {
    /// For this many candidates and a list of requests, by the route of each; empty if the requests are not known beforehand.
    pub fn new(candidates: usize, routes: &[usize]) -> Self {
        let mut known = BTreeSet::new();
        let is_first = |at: &usize| known.insert(routes[*at]);
        let (mut order, others): (Vec<usize>, Vec<usize>) = (0..routes.len()).partition(is_first);
        order.extend(others);
        Answers {
            candidates,
            order,
            next: 0,
            again: VecDeque::new(),
            repeated: BTreeMap::new(),
            pairs: BTreeMap::new(),
            places: BTreeMap::new(),
            complete: true,
        }
    }

    /// More requests, behind those that are known: the routes of all, by place.
    pub fn extend(&mut self, routes: &[usize]) {
        self.order.extend(self.order.len()..routes.len());
    }

    /// The requests of the next round, at most this many: up to half of them repeat undecided ones, the rest walks through the
    /// list.
    pub fn next(&mut self, most: usize) -> Vec<usize> {
        let repeat = self.again.len().min(most.div_ceil(2));
        let mut requests: Vec<usize> = self.again.drain(..repeat).collect();
        while requests.len() < most && !self.order.is_empty() {
            requests.push(self.order[self.next]);
            self.next = (self.next + 1) % self.order.len();
        }
        requests
    }

    /// Records a response of the control and that of another arm to the same request, which has this place in the list.
    pub fn observe(
        &mut self,
        pair: Pair,
        route: usize,
        request: Option<usize>,
        control: &Response,
        other: &Response,
    ) {
        let candidates = self.candidates;
        *self.pairs.entry(route).or_default().of(pair, candidates) += 1;
        let mut is_open = false;
        for (part, example) in compare(control, other) {
            let key = (route, part);
            if !self.places.contains_key(&key) && self.places.len() >= PLACES_MAX {
                self.complete = false;
                continue;
            }
            let place = self.places.entry(key.clone()).or_default();
            *place.differ.of(pair, candidates) += 1;
            if let Pair::Candidate(candidate) = pair {
                place.examples.resize(candidates, Vec::new());
                let examples = &mut place.examples[candidate];
                if examples.len() < EXAMPLES_MAX && !examples.contains(&example) {
                    examples.push(example);
                }
                is_open |= self.finding(&key, candidate) == Finding::Open;
            }
        }
        if let Some(request) = request.filter(|_| is_open) {
            self.repeat(request);
        }
    }

    fn repeat(&mut self, request: usize) {
        if self.again.contains(&request) || self.again.len() >= REPEATED_MAX {
            return;
        }
        let times = self.repeated.entry(request).or_default();
        if *times < REPEATS_MAX {
            *times += 1;
            self.again.push_back(request);
        }
    }

    fn finding(&self, key: &(usize, Part), candidate: usize) -> Finding {
        let (Some(pairs), Some(Place { differ, .. })) = (self.pairs.get(&key.0), self.places.get(key)) else {
            return Finding::Open;
        };
        let of = |counts: &Counts| counts.candidates.get(candidate).copied().unwrap_or(0);
        let here = Share { count: of(differ), of: of(pairs) };
        let control = Share { count: differ.control, of: pairs.control };
        let second = Share { count: differ.second_control, of: pairs.second_control };
        // A part that each process has of its own is equal in all pairs of the control with itself.
        let by_chance = if second.count > 0 {
            let with_itself = if control.of > 0 { more_often(here, control) } else { 0.0 };
            more_often(here, second).max(with_itself)
        } else {
            more_often(here, Share { count: control.count, of: control.of + second.of })
        };
        match () {
            () if by_chance <= RISK => Finding::Difference,
            () if control.count + second.count > 0 => Finding::Ignored,
            () => Finding::Open,
        }
    }

    /// What has been found so far.
    pub fn found(&self) -> Found {
        let sum = |of: fn(&Counts) -> u64| self.pairs.values().map(of).sum();
        let mut found = Found {
            compared: sum(|pairs| pairs.candidates.iter().sum()),
            control_pairs: sum(|pairs| pairs.control + pairs.second_control),
            complete: self.complete,
            ..Found::default()
        };
        for (key, place) in &self.places {
            let mut is_ignored = place.differ.control + place.differ.second_control > 0;
            let differing =
                |candidate: &usize| place.differ.candidates.get(*candidate).is_some_and(|n| *n > 0);
            for candidate in (0..self.candidates).filter(differing) {
                match self.finding(key, candidate) {
                    Finding::Difference => {
                        is_ignored = false;
                        found.differences.push(self.difference(key, place, candidate));
                    }
                    Finding::Open => found.open += 1,
                    Finding::Ignored => {}
                }
            }
            if is_ignored {
                found.ignored.push(key.clone());
            }
        }
        found.differences.sort_by_key(|one| (one.candidate, one.part.rank(), core::cmp::Reverse(one.count)));
        found
    }

    fn difference(&self, key: &(usize, Part), place: &Place, candidate: usize) -> Difference {
        let of = self.pairs.get(&key.0).and_then(|pairs| pairs.candidates.get(candidate));
        Difference {
            candidate,
            route: key.0,
            part: key.1.clone(),
            count: place.differ.candidates.get(candidate).copied().unwrap_or(0),
            of: of.copied().unwrap_or(0),
            examples: place.examples.get(candidate).cloned().unwrap_or_default(),
        }
    }
}

impl Counts {
    fn of(&mut self, pair: Pair, candidates: usize) -> &mut u64 {
        if self.candidates.is_empty() {
            self.candidates = vec![0; candidates];
        }
        match pair {
            Pair::Control => &mut self.control,
            Pair::SecondControl => &mut self.second_control,
            Pair::Candidate(candidate) => &mut self.candidates[candidate],
        }
    }
}

/// The probability of calling a part a difference that differs as often between control and control. A part that always
/// differs needs seven pairs of each.
const RISK: f64 = 0.001;
/// Parts of routes that are kept if they ever differed.
const PLACES_MAX: usize = 1_000;
/// Examples of a difference.
const EXAMPLES_MAX: usize = 3;
/// How often a request is repeated, and how many wait for it.
const REPEATS_MAX: u32 = 12;
const REPEATED_MAX: usize = 1_000;

#[cfg(test)]
mod tests;
