//! The search for points of the frontier, one aim after the other.

use super::worth::Order;
use super::{Candidate, Local, Phase, Search};
use alloc::vec::Vec;

impl Search {
    /// A local search for an aim. A small search has what was found on the way to the best only.
    pub(super) fn begin_aim(&mut self, place: usize) {
        // The second pass begins where the first one ended.
        let all = self.settings.budget / 2 / self.passes.max(1);
        match all / self.settings.aims.len().max(1) {
            each if each < LEAST => self.look_closely(),
            each => self.begin_local(Local::Aim(place), each),
        }
    }

    /// Asks for the points that were found.
    pub(super) fn look_closely(&mut self) {
        self.asked = self.points();
        match self.asked.is_empty() {
            true => self.confirm_or_go_on(false),
            false => self.phase = Phase::Sketching,
        }
    }

    /// Points of the frontier that are not known closely: of each aim the cheapest candidate.
    pub(super) fn points(&self) -> Vec<Candidate> {
        let mut points: Vec<Candidate> = Vec::new();
        for aim in &self.settings.aims {
            let point = self.best_by(Order::Aimed(*aim));
            let is_met = self.pool.get(&point).is_some_and(|worth| aim.missed(worth) == 0.0);
            let is_known = self.confirmed.contains_key(&point) || self.sketched.contains(&point);
            if is_met && !is_known && !points.contains(&point) {
                points.push(point);
            }
        }
        points.truncate(self.settings.sketches);
        points
    }
}

/// Fewer evaluations are no local search.
const LEAST: usize = 20;
