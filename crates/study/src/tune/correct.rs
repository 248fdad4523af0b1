//! What a candidate is worth: its figures minute by minute, corrected by what request by request found nearby, against
//! the bounds.

use super::Limits;
use super::evaluate::{Evaluator, LEVELS};
use super::metrics::Metrics;
use super::scenario::SEEDS;
use control::search::tune::{Aim, Candidate, Space, Worth};

/// Judges candidates.
pub(super) struct Judge {
    pub(super) limits: Limits,
    /// Today's figures first.
    pub(super) known: Vec<Known>,
}

/// A candidate that was simulated request by request.
#[derive(Debug, Clone)]
pub(super) struct Known {
    pub(super) candidate: Candidate,
    /// Figures of each seed: one for a point of the frontier, three for a candidate that is confirmed.
    pub(super) runs: Vec<Metrics>,
    /// Their means.
    pub(super) exact: Metrics,
    /// Means of the same days, minute by minute.
    screened: Metrics,
}

impl Judge {
    /// With today's figures; none if it was interrupted.
    pub(super) fn new(evaluator: &mut Evaluator<'_>, space: &Space, limits: Limits) -> Option<Self> {
        let mut judge = Judge { limits, known: Vec::new() };
        judge.measure(evaluator, &[space.today()], SEEDS);
        (!judge.known.is_empty()).then_some(judge)
    }

    pub(super) fn today(&self) -> &Known {
        &self.known[0]
    }

    /// What was found of a candidate over all seeds.
    pub(super) fn confirmed(&self, candidate: &Candidate) -> Option<&Known> {
        self.known.iter().find(|known| known.candidate == *candidate && known.runs.len() >= SEEDS)
    }

    /// The share of today's cost that a confirmed candidate saves.
    pub(super) fn saving(&self, candidate: &Candidate) -> f64 {
        let cost = self.confirmed(candidate).map_or(self.today().exact.cost, |found| found.exact.cost);
        1.0 - cost / self.today().exact.cost
    }

    /// Simulates a candidate request by request, unless that was done.
    pub(super) fn confirm(&mut self, evaluator: &mut Evaluator<'_>, candidate: &Candidate) -> Worth {
        if self.confirmed(candidate).is_none() {
            self.measure(evaluator, std::slice::from_ref(candidate), SEEDS);
        }
        match self.confirmed(candidate) {
            Some(_) => self.worth(evaluator, LEVELS - 1, candidate),
            None => IMPOSSIBLE,
        }
    }

    /// Simulates points of the frontier request by request, over one seed.
    pub(super) fn sketch(&mut self, evaluator: &mut Evaluator<'_>, candidates: &[Candidate]) -> Vec<Worth> {
        self.measure(evaluator, candidates, 1);
        self.worths(evaluator, LEVELS - 1, candidates)
    }

    /// Leaves out what is impossible, or was interrupted.
    fn measure(&mut self, evaluator: &mut Evaluator<'_>, candidates: &[Candidate], seeds: usize) {
        evaluator.screen(LEVELS - 1, candidates);
        let all_runs = evaluator.by_request(candidates, seeds);
        for (candidate, runs) in candidates.iter().zip(all_runs) {
            let (Some(runs), Some(days)) = (runs, evaluator.figures(LEVELS - 1, candidate)) else { continue };
            let (exact, screened) = (Metrics::mean(&runs), Metrics::mean(&days[..seeds]));
            let place = self.known.iter().position(|known| known.candidate == *candidate);
            let known = Known { candidate: candidate.clone(), runs, exact, screened };
            match place {
                Some(place) => self.known[place] = known,
                None => self.known.push(known),
            }
        }
    }

    /// Points of the frontier to look for: shares of the day outside the goal, and response times faster than today's.
    pub(super) fn aims(&self, evaluator: &Evaluator<'_>) -> Vec<Aim> {
        let minutes = evaluator.scenarios.usual[0].minutes();
        let bound = self.bounds().outside;
        let of_day = OUTSIDE.into_iter().map(|share| Aim { outside: share * minutes, p95: f64::INFINITY });
        let p95 = self.today().exact.p95;
        let faster = FASTER.into_iter().map(|share| Aim { outside: bound, p95: share * p95 });
        of_day.chain(faster).collect()
    }

    pub(super) fn worths(
        &self,
        evaluator: &Evaluator<'_>,
        level: usize,
        candidates: &[Candidate],
    ) -> Vec<Worth> {
        candidates.iter().map(|candidate| self.worth(evaluator, level, candidate)).collect()
    }

    fn worth(&self, evaluator: &Evaluator<'_>, level: usize, candidate: &Candidate) -> Worth {
        let today = &self.today().candidate;
        let (Some(found), Some(now)) = (evaluator.figures(level, candidate), evaluator.figures(level, today))
        else {
            return IMPOSSIBLE;
        };
        let usual = evaluator.scenarios.usual.len().min(found.len());
        let mean = self.corrected(candidate, Metrics::mean(&found[..usual]));
        let mut excess = beyond(mean, self.bounds());
        // Disturbances are compared with today's under the same disturbance, both minute by minute.
        for (found, now) in found.iter().zip(now).skip(usual) {
            let loose = Metrics {
                outside: now.outside + self.limits.disturbed,
                bad: now.bad + DISTURBED_BAD,
                actions: f64::INFINITY,
                flaps: f64::INFINITY,
                ..*now
            };
            excess += beyond(*found, loose);
        }
        let is_point = mean.bad <= self.today().exact.bad + POINT_BAD;
        let outside = if is_point { mean.outside } else { f64::INFINITY };
        Worth { excess, cost: mean.cost.max(f64::MIN_POSITIVE), outside, p95: mean.p95 }
    }

    /// The bounds of a usual day.
    pub(super) fn bounds(&self) -> Metrics {
        let today = self.today().exact;
        let Limits { outside, bad, actions, flaps, .. } = self.limits;
        Metrics {
            outside: outside.unwrap_or(today.outside),
            bad: bad.unwrap_or(today.bad),
            actions: actions.unwrap_or(today.actions),
            flaps: flaps.unwrap_or(today.flaps),
            ..today
        }
    }

    /// How much more a confirmed candidate costs request by request than minute by minute.
    pub(super) fn cost_ratio(&self, candidate: &Candidate) -> f64 {
        self.confirmed(candidate).map_or(1.0, |found| found.exact.cost / found.screened.cost)
    }

    /// Figures of usual days as request by request would find them, from the nearest known candidate; exact for a
    /// confirmed one. What minutes see too much is corrected by the ratio; what they miss is added, and fades with the
    /// distance in cost: queues that minutes do not see depend on how busy the fleet is.
    pub(super) fn corrected(&self, candidate: &Candidate, found: Metrics) -> Metrics {
        let away = |known: &Known| (found.cost / known.screened.cost).ln().abs();
        let distance =
            |known: &Known| Space::distance(&known.candidate, candidate) as f64 + away(known) / COST_STEP;
        if let Some(confirmed) = self.confirmed(candidate) {
            return confirmed.exact;
        }
        let nearest = self.known.iter().min_by(|one, other| distance(one).total_cmp(&distance(other)));
        let Some(nearest) = nearest else { return found };
        let share = (-away(nearest) / FADES).exp();
        let (exact, screened) = (nearest.exact, nearest.screened);
        let scaled = |found: f64, exact: f64, screened: f64| found * exact / screened.max(1e-9);
        let counted = |found: f64, exact: f64, screened: f64, least: f64| match share * (exact - screened) {
            missed if missed >= least => found + missed,
            _ if exact < screened => scaled(found, exact, screened),
            _ => found,
        };
        Metrics {
            cost: scaled(found.cost, exact.cost, screened.cost),
            p95: scaled(found.p95, exact.p95, screened.p95),
            outside: counted(found.outside, exact.outside, screened.outside, 0.5),
            bad: counted(found.bad, exact.bad, screened.bad, BAD_SLACK),
            actions: counted(found.actions, exact.actions, screened.actions, 0.5),
            flaps: counted(found.flaps, exact.flaps, screened.flaps, 0.5),
        }
    }
}

/// How far figures are beyond bounds: the sum of the shares by which each is.
pub(super) fn beyond(found: Metrics, bound: Metrics) -> f64 {
    let over = |found: f64, bound: f64, scale: f64| (found - bound).max(0.0) / (bound + scale).max(scale);
    let all = over(found.outside, bound.outside, 5.0)
        + over(found.bad, bound.bad + BAD_SLACK, 1e-3)
        + if bound.actions.is_finite() { over(found.actions, bound.actions, 5.0) } else { 0.0 }
        + if bound.flaps.is_finite() { over(found.flaps, bound.flaps, 5.0) } else { 0.0 };
    if all < 1e-9 { 0.0 } else { all }
}

/// Shares of the minutes of a run that may be outside the goal, for a point of the frontier each.
const OUTSIDE: [f64; 8] = [0.0, 0.002, 0.005, 0.01, 0.02, 0.05, 0.15, 0.4];
/// Response times of points of the frontier, as shares of today's.
const FASTER: [f64; 3] = [1.0, 0.75, 0.5];
/// Shares of bad responses that differ by less are equal.
const BAD_SLACK: f64 = 1e-5;
/// How much greater than today's the share of bad responses may be under a disturbance.
const DISTURBED_BAD: f64 = 1e-3;
/// So much of the logarithm of the cost is as far as another value.
const COST_STEP: f64 = 0.1;
/// Over so much of the logarithm of the cost, what minutes miss fades.
const FADES: f64 = 0.2;
/// A point of the frontier may have a share of bad responses that is greater than today's by this.
pub(super) const POINT_BAD: f64 = 1e-3;
/// The worth of a candidate that cannot be simulated.
pub(super) const IMPOSSIBLE: Worth =
    Worth { excess: f64::INFINITY, cost: f64::MAX, outside: f64::INFINITY, p95: f64::INFINITY };
