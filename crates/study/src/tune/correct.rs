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
    /// Whether days differ by more than noise, so that there are some like none of these.
    are_days: bool,
    /// Today's figures first.
    pub(super) known: Vec<Known>,
}

/// A candidate that was simulated request by request.
#[derive(Debug, Clone)]
pub(super) struct Known {
    pub(super) candidate: Candidate,
    /// Figures of each seed: one for a point of the frontier, two or three for a candidate that was to be confirmed.
    pub(super) runs: Vec<Metrics>,
    /// Their means.
    pub(super) exact: Metrics,
    /// Means of the same days, minute by minute.
    screened: Metrics,
    /// Means of the other days on which the best has to hold, where there are some and they were simulated. Days that were not
    /// simulated, because those before them are enough to refuse it, count as without a minute outside the goal.
    pub(super) others: Option<Metrics>,
}

impl Judge {
    /// With today's figures; none if it was interrupted.
    pub(super) fn new(evaluator: &mut Evaluator<'_>, space: &Space, limits: Limits) -> Option<Self> {
        let mut judge = Judge { limits, are_days: evaluator.scenarios.are_days, known: Vec::new() };
        judge.measure(evaluator, &[space.today()], SEEDS);
        judge.measure_others(evaluator, &space.today());
        let today = judge.known.first()?.exact;
        // It may miss the goal for this long; where it does for longer, minutes outside come first.
        let allowed = MISSED * evaluator.minutes();
        if today.outside > allowed {
            judge.limits.outside.get_or_insert(allowed);
        }
        Some(judge)
    }

    pub(super) fn today(&self) -> &Known {
        &self.known[0]
    }

    /// What was found of a candidate over all seeds.
    pub(super) fn confirmed(&self, candidate: &Candidate) -> Option<&Known> {
        self.simulated(candidate).filter(|known| known.runs.len() >= SEEDS)
    }

    /// What was found of a candidate over any number of seeds.
    fn simulated(&self, candidate: &Candidate) -> Option<&Known> {
        self.known.iter().find(|known| known.candidate == *candidate)
    }

    /// The share of today's cost that a confirmed candidate saves.
    pub(super) fn saving(&self, candidate: &Candidate) -> f64 {
        let cost = self.confirmed(candidate).map_or(self.today().exact.cost, |found| found.exact.cost);
        1.0 - cost / self.today().exact.cost
    }

    /// Simulates a candidate request by request, as far as that was not done. One that is beyond the bounds after all days
    /// but one, whatever the last one would show, is known well enough.
    pub(super) fn confirm(&mut self, evaluator: &mut Evaluator<'_>, candidate: &Candidate) -> Worth {
        for seeds in [SEEDS - 1, SEEDS] {
            self.measure(evaluator, std::slice::from_ref(candidate), seeds);
            let Some(known) = self.simulated(candidate) else { return IMPOSSIBLE };
            let excess = beyond(least(&known.runs, SEEDS), self.bounds());
            if excess > 0.0 {
                let worth = self.worth(evaluator, LEVELS - 1, candidate);
                return Worth { excess: worth.excess.max(excess), ..worth };
            }
        }
        if self.confirmed(candidate).is_none() {
            return IMPOSSIBLE;
        }
        // Three days without a minute outside the goal are soon found of many candidates. The best has to hold on all days.
        if self.worth(evaluator, LEVELS - 1, candidate).excess == 0.0 {
            self.measure_others(evaluator, candidate);
        }
        self.worth(evaluator, LEVELS - 1, candidate)
    }

    /// Simulates a candidate on the other days, request by request, until it is certain that it is beyond the bounds there,
    /// whatever the rest would show.
    fn measure_others(&mut self, evaluator: &mut Evaluator<'_>, candidate: &Candidate) {
        // Of a number of minutes that may be outside, three days of the same traffic say enough.
        if self.limits.outside.is_some() && !self.are_days {
            return;
        }
        let days = evaluator.scenarios.others();
        let mut runs = Vec::new();
        for some in days.chunks(days.len().div_ceil(PARTS).max(1)) {
            let found = evaluator.by_request(std::slice::from_ref(candidate), some);
            let Some(found) = found.into_iter().next().flatten() else { return };
            runs.extend(found);
            let least = least(&runs, days.len());
            if let Some(known) = self.known.iter_mut().find(|known| known.candidate == *candidate) {
                known.others = Some(least);
            }
            // All figures of today are bounds of the others.
            if *candidate != self.today().candidate && self.beyond_on_others(least) > 0.0 {
                return;
            }
        }
    }

    /// How far a candidate is beyond the bounds on the other days.
    fn beyond_on_others(&self, found: Metrics) -> f64 {
        let Some(now) = self.today().others else { return 0.0 };
        let outside = self.limits.outside.unwrap_or(now.outside);
        let bound = Metrics { outside, actions: f64::INFINITY, flaps: f64::INFINITY, ..now };
        // A goal that is held without a reserve on these days is missed on others.
        let needs_reserve = self.are_days && self.limits.outside.is_none();
        let near = (found.beyond.at(NEAR) - now.beyond.at(NEAR) - NEAR_SLACK).max(0.0);
        beyond(found, bound) + if needs_reserve { near } else { 0.0 }
    }

    /// Simulates points of the frontier request by request, over one seed.
    pub(super) fn sketch(&mut self, evaluator: &mut Evaluator<'_>, candidates: &[Candidate]) -> Vec<Worth> {
        self.measure(evaluator, candidates, 1);
        self.worths(evaluator, LEVELS - 1, candidates)
    }

    /// Simulates this number of days of each, as far as that was not done. Leaves out what is impossible, or was interrupted.
    fn measure(&mut self, evaluator: &mut Evaluator<'_>, candidates: &[Candidate], seeds: usize) {
        evaluator.screen(LEVELS - 1, candidates);
        let runs = |candidate: &Candidate| self.simulated(candidate).map_or(0, |known| known.runs.len());
        let new: Vec<Candidate> =
            candidates.iter().filter(|candidate| runs(candidate) < seeds).cloned().collect();
        let Some(done) = new.iter().map(runs).min() else { return };
        let days = evaluator.scenarios.usual[done..seeds].to_vec();
        let all_runs = evaluator.by_request(&new, &days);
        for (candidate, runs) in new.iter().zip(all_runs) {
            let (Some(runs), Some(days)) = (runs, evaluator.figures(LEVELS - 1, candidate)) else { continue };
            let before = self.simulated(candidate).map_or(&[][..], |known| &known.runs[..done]);
            let runs = [before, &runs].concat();
            let (exact, screened) = (Metrics::mean(&runs), Metrics::mean(&days[..seeds]));
            let known = Known { candidate: candidate.clone(), runs, exact, screened, others: None };
            match self.known.iter().position(|known| known.candidate == *candidate) {
                Some(place) => self.known[place] = known,
                None => self.known.push(known),
            }
        }
    }

    /// Points of the frontier to look for: shares of the day outside the goal, and response times faster than today's.
    pub(super) fn aims(&self, evaluator: &Evaluator<'_>) -> Vec<Aim> {
        let minutes = evaluator.minutes();
        let bound = self.bounds().outside;
        let of_day = OUTSIDE.into_iter().map(|share| Aim { outside: share * minutes, p95: f64::INFINITY });
        let p95 = self.today().exact.p95;
        let faster = FASTER.into_iter().map(|share| Aim { outside: bound, p95: share * p95 });
        of_day.chain(faster).collect()
    }

    /// Simulates candidates at a level minute by minute: what each is worth. Under disturbances only those that are within the
    /// bounds without them.
    pub(super) fn screen(
        &self,
        evaluator: &mut Evaluator<'_>,
        level: usize,
        candidates: &[Candidate],
    ) -> Vec<Worth> {
        if level + 1 < LEVELS {
            evaluator.screen(level, candidates);
        } else {
            evaluator.screen_usual(candidates);
            let holds = |candidate: &&Candidate| self.worth(evaluator, level, candidate).excess == 0.0;
            let held: Vec<Candidate> = candidates.iter().filter(holds).cloned().collect();
            evaluator.screen(level, &held);
        }
        self.worths(evaluator, level, candidates)
    }

    fn worths(&self, evaluator: &Evaluator<'_>, level: usize, candidates: &[Candidate]) -> Vec<Worth> {
        candidates.iter().map(|candidate| self.worth(evaluator, level, candidate)).collect()
    }

    fn worth(&self, evaluator: &Evaluator<'_>, level: usize, candidate: &Candidate) -> Worth {
        let today = &self.today().candidate;
        let (Some(found), Some(now)) = (evaluator.figures(level, candidate), evaluator.figures(level, today))
        else {
            return IMPOSSIBLE;
        };
        let usual = evaluator.scenarios.usual.len().min(found.len());
        let bounded = evaluator.figures(LEVELS - 1, today).map_or(now, |now| &now[..SEEDS.min(now.len())]);
        let means = [&found[..usual], &now[..usual], bounded].map(Metrics::mean);
        let mean = self.corrected(candidate, on_days_of_bounds(means));
        let mut excess = beyond(mean, self.bounds());
        if let Some(found) = self.confirmed(candidate).and_then(|known| known.others) {
            excess += self.beyond_on_others(found);
        }
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

    /// The bounds of a usual day. Actions and flaps of today are counts of a few days: they are no more than today where they
    /// are within a standard error of today's mean, as independent counts have it.
    pub(super) fn bounds(&self) -> Metrics {
        let known = self.today();
        let (today, days) = (known.exact, known.runs.len() as f64);
        let counted = |count: f64| count + (count / days).sqrt();
        let Limits { outside, bad, actions, flaps, .. } = self.limits;
        Metrics {
            outside: outside.unwrap_or(today.outside),
            bad: bad.unwrap_or(today.bad),
            actions: actions.unwrap_or(counted(today.actions)),
            flaps: flaps.unwrap_or(counted(today.flaps)),
            ..today
        }
    }

    /// How much more a confirmed candidate costs request by request than minute by minute.
    pub(super) fn cost_ratio(&self, candidate: &Candidate) -> f64 {
        self.confirmed(candidate).map_or(1.0, |found| found.exact.cost / found.screened.cost)
    }

    /// Figures of usual days as request by request would find them, from the nearest known candidates; exact for a
    /// confirmed one. What minutes see too much is corrected by the ratio, minutes outside the goal by another bound of the
    /// goal; what they miss is added, and fades with the distance in cost: queues that minutes do not see depend on how busy the
    /// fleet is. What is counted is as bad as any of the nearest few says: a search takes what looks best, which is often what a
    /// correction is most wrong about.
    pub(super) fn corrected(&self, candidate: &Candidate, found: Metrics) -> Metrics {
        if let Some(confirmed) = self.confirmed(candidate) {
            return confirmed.exact;
        }
        let away = |known: &Known| (found.cost / known.screened.cost).ln().abs();
        let distance =
            |known: &Known| Space::distance(&known.candidate, candidate) as f64 + away(known) / COST_STEP;
        let mut near: Vec<(f64, &Known)> = self.known.iter().map(|known| (distance(known), known)).collect();
        near.sort_by(|one, other| one.0.total_cmp(&other.0));
        near.truncate(NEAREST);
        let Some((least, nearest)) = near.first().copied() else { return found };
        let within = if least <= BESIDE { least } else { least + AS_NEAR };
        near.retain(|(distance, _)| *distance <= within);
        let (exact, screened) = (nearest.exact, nearest.screened);
        let scaled = |found: f64, exact: f64, screened: f64| found * exact / screened.max(1e-9);
        let counted = |of: fn(&Metrics) -> f64, least: f64| {
            let by = |known: &Known| {
                let (found, exact, screened) = (of(&found), of(&known.exact), of(&known.screened));
                match (-away(known) / FADES).exp() * (exact - screened) {
                    missed if missed >= least => found + missed,
                    _ if exact < screened => scaled(found, exact, screened),
                    _ => found,
                }
            };
            near.iter().map(|(_, known)| by(known)).fold(0.0, f64::max)
        };
        // Minutes see all response times a little too low or too high: that is another bound of the goal. What they do not
        // see at all is added.
        let outside = |known: &Known| {
            let fades = (-away(known) / FADES).exp();
            let times = known.screened.beyond.times(known.exact.outside);
            let unseen = (known.exact.outside - known.screened.beyond.at(times)).max(0.0);
            found.beyond.at(times.powf(fades)) + fades * unseen
        };
        Metrics {
            cost: scaled(found.cost, exact.cost, screened.cost),
            p95: scaled(found.p95, exact.p95, screened.p95),
            outside: near.iter().map(|(_, known)| outside(known)).fold(0.0, f64::max),
            beyond: found.beyond,
            bad: counted(|metrics| metrics.bad, BAD_SLACK),
            actions: counted(|metrics| metrics.actions, 0.5),
            flaps: counted(|metrics| metrics.flaps, 0.5),
        }
    }
}

/// Figures of the days that the bounds come from: of a candidate on other days, today's on the same, and today's on the days
/// of the bounds. A day with a match has more minutes outside the goal whatever the policy.
pub(super) fn on_days_of_bounds([found, now, bounded]: [Metrics; 3]) -> Metrics {
    let moved = |found: f64, now: f64, bounded: f64| (found - now + bounded).max(0.0);
    let scaled = |found: f64, now: f64, bounded: f64| if now > 0.0 { found * bounded / now } else { found };
    Metrics {
        cost: scaled(found.cost, now.cost, bounded.cost),
        p95: scaled(found.p95, now.p95, bounded.p95),
        outside: moved(found.outside, now.outside, bounded.outside),
        beyond: found
            .beyond
            .with(now.beyond, &|found, now| found - now)
            .with(bounded.beyond, &|moved, bounded| (moved + bounded).max(0.0)),
        bad: moved(found.bad, now.bad, bounded.bad),
        actions: moved(found.actions, now.actions, bounded.actions),
        flaps: moved(found.flaps, now.flaps, bounded.flaps),
    }
}

/// The least that figures can be, on average over this number of days, if those that were not simulated have none.
fn least(runs: &[Metrics], days: usize) -> Metrics {
    let share = runs.len() as f64 / days as f64;
    Metrics::mean(runs).with(Metrics::default(), |mean, _| share * mean)
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

/// The share of the minutes outside the goal from which today misses it.
const MISSED: f64 = 0.01;
/// Shares of the minutes of a run that may be outside the goal, for a point of the frontier each.
const OUTSIDE: [f64; 8] = [0.0, 0.005, 0.01, 0.02, 0.05, 0.15, 0.4, 0.48];
/// Response times of points of the frontier, as shares of today's.
const FASTER: [f64; 3] = [0.85, 0.7, 0.55];
/// Shares of bad responses that differ by less are equal.
const BAD_SLACK: f64 = 1e-5;
/// How much greater than today's the share of bad responses may be under a disturbance.
const DISTURBED_BAD: f64 = 1e-3;
/// So much of the logarithm of the cost is as far as another value.
const COST_STEP: f64 = 0.1;
/// The share of the goal's response time above which a minute is near it.
const NEAR: f64 = 0.8;
/// So many more minutes of a day than today may be near the goal: one in a hundred days.
const NEAR_SLACK: f64 = 0.01;
/// The other days are simulated in so many parts.
const PARTS: usize = 4;
/// A candidate that is no further away than a value and a small difference in cost is corrected by the nearest alone.
const BESIDE: f64 = 1.5;
/// At most so many known candidates correct what is counted,
const NEAREST: usize = 3;
/// of those that are further away than the nearest by no more values than this.
const AS_NEAR: f64 = 2.0;
/// Over so much of the logarithm of the cost, what minutes miss fades.
const FADES: f64 = 0.2;
/// A point of the frontier may have a share of bad responses that is greater than today's by this.
pub(super) const POINT_BAD: f64 = 1e-3;
/// The worth of a candidate that cannot be simulated.
pub(super) const IMPOSSIBLE: Worth =
    Worth { excess: f64::INFINITY, cost: f64::MAX, outside: f64::INFINITY, p95: f64::INFINITY };
