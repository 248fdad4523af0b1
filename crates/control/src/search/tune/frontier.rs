//! The search for points of the frontier, one aim after the other.

use super::worth::{NOTHING, Order};
use super::{Candidate, Local, Phase, Search};
use alloc::vec::Vec;

impl Search {
    /// A local search for an aim. A small search has what was found on the way to the best only.
    pub(super) fn begin_aim(&mut self, place: usize) {
        // The second pass begins where the first one ended.
        let all = self.settings.budget / 2 / (1 + self.passes);
        match all.checked_div(self.settings.aims.len()) {
            Some(each) if each >= LEAST => self.begin_local(Local::Aim(place), each),
            _ => self.after_aims(),
        }
    }

    /// The best after the first pass, a close look at the points after the second.
    pub(super) fn after_aims(&mut self) {
        match self.passes {
            0 => {
                let rest = self.settings.budget.saturating_sub(self.evaluated);
                self.begin_local(Local::Best, rest.max(self.settings.budget / 4));
            }
            _ => self.look_closely(),
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
            let Some(worth) = self.pool.get(&point).filter(|worth| aim.missed(worth) == 0.0) else {
                continue;
            };
            let is_near = |known: &Candidate| {
                let found = self.pool.get(known);
                found.is_some_and(|found| {
                    aim.missed(found) == 0.0 && found.cost <= worth.cost * (1.0 + NOTHING)
                })
            };
            let is_known = self.confirmed.keys().chain(&self.sketched).chain(&points).any(is_near);
            if !is_known {
                points.push(point);
            }
        }
        points.truncate(self.settings.sketches);
        points
    }
}

/// Fewer evaluations are no local search.
const LEAST: usize = 20;
