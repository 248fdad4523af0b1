//! Many values of one variable, or several variables: each service is started anew in each round, in random order, gets load
//! that is not measured, is measured, and is stopped.
//!
//! ## Why services are started anew
//! The services of all values would need the memory of all of them at once, and what runs beside a measured one takes its
//! processor. Two processes of the same command differ for as long as they live; of processes that live for one round, the
//! differences are noise, which the intervals contain.

use super::answers::OfValues;
use super::arms::Running;
use super::block::{self, Observed};
use super::document::{answers_of, arm_answers, counted};
use super::measures::{Chosen, Known, choose};
use super::planning::{POWER, RISK};
use super::stage::{End, endpoints, lead};
use super::{Arm, Event, Failed, Recording, Wanted, data};
use crate::doctor::ENOUGH;
use crate::launch::NoLaunch;
use config::experiment::Ends;
use control::trial::answers::Budget;
use control::trial::{
    Arm as Place, Conditions, Contrast, Elimination, FactorEffect, Factorial, Failing, Finding, Limits,
    NoiseFloor, Round, Standing, Void, beside, mostly_void, plan_rounds,
};
use documents::experiment::{
    Answers, Block, BlockPart, Candidate, Data, Experiment, Fleet, Plan, Search as Shown, Tried, Verdict,
};
use stats::{Interval, Rng, median};
use std::time::{Duration, Instant};
use units::Quantile;

/// Finds the best value.
pub(super) fn best(wanted: &Wanted<'_>, events: &mut dyn FnMut(Event<'_>)) -> Result<Experiment, Failed> {
    let mut session = Session::new(wanted);
    let count = session.arms.len();
    session.first_visit(events)?;
    let measure = session.measures[0].measure;
    let (rounds, risk) = (rounds(wanted, 2), session.primary_risk());
    let mut search = Elimination::new(measure, count, rounds, risk);
    let least = Elimination::rounds_min(count, rounds, risk);
    // A pair of values.
    session.promise(&Comparison {
        least,
        risk: Elimination::risk_of_pair(count, risk),
        values: 1,
        note: None,
    })?;
    if wanted.only_plan {
        return Ok(session.best_document(&search, &End::only_plan()));
    }
    let goes_on = wanted.file.ends == Ends::Time;
    let end = loop {
        for place in session.left_out() {
            search.remove(place);
        }
        let order = match search.next(&mut session.rng) {
            Round::Done(found) if found.remaining.is_empty() => {
                break End::Other("no value has good responses".to_owned());
            }
            // Of the only value that starts, nothing may have been measured.
            Round::Done(found) if found.certain && session.middle(found.pick).is_none() => found.remaining,
            // The others may still be told from it, and their other measures.
            Round::Done(found) if found.certain && goes_on && found.remaining.len() > 1 => {
                search.order(&mut session.rng)
            }
            Round::Done(found) if found.certain => {
                break End::Other("no value is better than the best by more than the margin".to_owned());
            }
            Round::Done(_) => break End::Time,
            Round::Measure(order) => order,
        };
        let (seen, end) = session.round(&order, events)?;
        let round = session.values(&seen);
        let primary = |place: &usize| (*place, round[*place].first().copied().flatten());
        search.observe(&seen.iter().map(|(place, _)| primary(place)).collect::<Vec<_>>());
        session.kept.push(round);
        for place in search.observe_errors(&seen.iter().filter_map(errors).collect::<Vec<_>>()) {
            session.leave_out(
                place,
                "more errors than the best value in three successive rounds".to_owned(),
                events,
            );
        }
        if let Some(end) = end {
            break end;
        }
        let found = search.found();
        let is_known = session.middle(found.pick).is_some();
        let best = session.arms.get(found.pick).map(|arm| arm.arm.name.as_str()).filter(|_| is_known);
        session.tell(found.remaining.len(), best, events);
    };
    Ok(session.best_document(&search, &end))
}

/// Finds the effects of variables with two values each.
pub(super) fn effects(
    wanted: &Wanted<'_>,
    variables: usize,
    events: &mut dyn FnMut(Event<'_>),
) -> Result<Experiment, Failed> {
    let mut session = Session::new(wanted);
    let count = session.arms.len();
    session.first_visit(events)?;
    let (rounds, risk) = (rounds(wanted, count), session.primary_risk());
    let mut factorial = Factorial::new(session.measures[0].measure, variables, rounds, risk);
    let least = Factorial::replicates_min(variables, rounds, risk);
    // One half of the values with the other.
    let risk = Factorial::risk_of_effect(variables, risk);
    let note = Some("what two variables do together is found in that time if it is twice as large");
    session.promise(&Comparison { least, risk, values: count / 2, note })?;
    if wanted.only_plan {
        return Ok(session.effects_document(&factorial, variables, &End::only_plan()));
    }
    let mut failing = Failing::new(count);
    let end = loop {
        if let Some((place, why)) =
            session.left_out().first().map(|place| (*place, session.out[*place].clone()))
        {
            let name = &session.arms[place].arm.name;
            break End::Other(format!(
                "{name} cannot be measured, and effects need all: {}",
                why.unwrap_or_default()
            ));
        }
        let order = factorial.replicate(&mut session.rng);
        let (seen, end) = session.round(&order, events)?;
        if let Some(end) = end {
            break end;
        }
        if let Some(place) = failing.observe(&seen.iter().filter_map(errors).collect::<Vec<_>>()).first() {
            let name = &session.arms[*place].arm.name;
            break End::Other(format!(
                "{name} had more errors than others in three successive rounds, and response times are those of good responses"
            ));
        }
        let round = session.values(&seen);
        factorial.observe(&of_measure(&round, 0));
        session.kept.push(round);
        session.tell(count, None, events);
        let is_decided = |effect: &FactorEffect| effect.finding != Finding::CannotTell;
        if wanted.file.ends != Ends::Time && factorial.effects().iter().all(is_decided) {
            break End::Other("all effects are decided".to_owned());
        }
    };
    Ok(session.effects_document(&factorial, variables, &end))
}

/// The share of errors of a service in a round.
fn errors((place, observed): &(usize, Option<Observed>)) -> Option<(usize, f64)> {
    Some((*place, observed.as_ref()?.all.errors()?))
}

/// What was measured.
struct Session<'a> {
    wanted: &'a Wanted<'a>,
    begun: Instant,
    arms: Vec<Running>,
    /// Why a value is not measured any more.
    out: Vec<Option<String>>,
    /// Successive rounds in which it did not start.
    not_started: Vec<u32>,
    measures: Vec<Chosen>,
    routes: Vec<String>,
    conditions: Conditions,
    void: Vec<Void>,
    void_of_round: usize,
    /// Parts that count.
    counted: usize,
    rounds: usize,
    /// The longest part so far.
    longest: Duration,
    /// The plan and its time, if it was asked for.
    planned: Option<Plan>,
    promised: Option<Duration>,
    notes: Vec<String>,
    /// The parts of all values.
    data: Data,
    /// The values of each round that count, by place and measure; without any where none was measured.
    kept: Vec<Vec<Vec<Option<f64>>>>,
    /// Requests of a part.
    requests: u64,
    /// The comparison of answers; `None` if they are not compared.
    answers: Option<OfValues>,
    rng: Rng,
    seed: u64,
}

impl<'a> Session<'a> {
    fn new(wanted: &'a Wanted<'a>) -> Self {
        let arms: Vec<&Arm> = std::iter::once(&wanted.control).chain(&wanted.candidates).collect();
        Session {
            wanted,
            begun: Instant::now(),
            out: vec![None; arms.len()],
            not_started: vec![0; arms.len()],
            arms: arms.into_iter().map(Running::new).collect(),
            measures: Vec::new(),
            routes: endpoints(&wanted.control.work),
            conditions: Conditions::new(Limits { lag: wanted.file.max_lag, ..Limits::default() }),
            void: Vec::new(),
            void_of_round: 0,
            counted: 0,
            rounds: 0,
            longest: Duration::ZERO,
            planned: None,
            promised: None,
            notes: Vec::new(),
            data: Data::default(),
            kept: Vec::new(),
            requests: 1,
            answers: OfValues::begin(wanted, wanted.candidates.len() + 1),
            rng: Rng::new(wanted.seed, "experiment"),
            seed: wanted.seed,
        }
    }

    /// Measures services until one has good responses: how many requests a block has says which measures there are.
    fn first_visit(&mut self, events: &mut dyn FnMut(Event<'_>)) -> Result<(), Failed> {
        let mut last = String::new();
        for place in 0..self.arms.len() {
            match self.visit(place)? {
                Ok(observed) if self.arms[place].tally.good() > 0 => {
                    let requests: Vec<f64> =
                        observed.routes.iter().map(|route| route.requests() as f64).collect();
                    let response_time = observed.all.quantile(Quantile::P50);
                    let known = Known {
                        processes: true,
                        queues: observed.queue_time.is_some() && self.wanted.file.block >= ENOUGH,
                        response_time: response_time.map(Duration::from_secs_f64).unwrap_or_default(),
                    };
                    self.measures = choose(self.wanted.file, &requests, known);
                    self.requests = observed.all.requests().max(1);
                    let names = self.arms.iter().map(|running| running.arm.name.clone());
                    self.data = data::begin(names.collect(), &self.measures, &self.routes);
                    return Ok(());
                }
                Ok(_) => {
                    last = self.arms[place].tally.most();
                    self.leave_out(place, last.clone(), events);
                }
                Err(why) => {
                    last.clone_from(&why);
                    self.leave_out(place, why, events);
                }
            }
        }
        Err(Failed::NoGoodResponse(last))
    }

    /// Starts a service, sends load and stops it: what was observed, or why it did not start.
    fn visit(&mut self, place: usize) -> Result<Result<Observed, String>, Failed> {
        let (file, begun) = (self.wanted.file, Instant::now());
        let running = &mut self.arms[place];
        match running.launch(self.wanted) {
            Ok(_) => (),
            Err(NoLaunch::Interrupted) => return Err(Failed::Interrupted),
            Err(error) => return Ok(Err(error.to_string())),
        }
        let times = (file.warm_up.max(lead(file.block)), file.block);
        let observed = block::run(self.wanted, &mut [&mut *running], times, self.seed);
        let ended = running.ended();
        if let Some(answers) = self.answers.as_mut().filter(|_| ended.is_none() && observed.is_ok()) {
            answers.ask(self.wanted, place, running, (times.0 + times.1).mul_f64(Budget::SHARE))?;
        }
        running.stop();
        self.longest = self.longest.max(begun.elapsed());
        match (ended, observed) {
            (Some(why), Ok(_)) => Ok(Err(why)),
            (_, Ok(mut observed)) => Ok(Ok(observed.remove(0))),
            (_, Err(error)) => Err(error),
        }
    }

    /// Measures services in this order: what was observed of each, `None` where that does not count, and why the experiment
    /// ends.
    fn round(
        &mut self,
        order: &[usize],
        events: &mut dyn FnMut(Event<'_>),
    ) -> Result<(Seen, Option<End>), Failed> {
        // The same arrivals for all services of a round.
        self.seed = self.seed.wrapping_add(1);
        self.void_of_round = 0;
        if let Some(answers) = &mut self.answers {
            answers.begin_round();
        }
        let mut seen = Vec::new();
        for place in order {
            let (observed, end) = self.part(*place, events)?;
            seen.push((*place, observed));
            if end.is_some() {
                return Ok((seen, end));
            }
        }
        self.rounds += 1;
        if let Some(answers) = &mut self.answers {
            answers.compare();
        }
        Ok((seen, None))
    }

    /// Measures a service, again if what was measured does not count: what was observed, and why the experiment ends.
    fn part(
        &mut self,
        place: usize,
        events: &mut dyn FnMut(Event<'_>),
    ) -> Result<(Option<Observed>, Option<End>), Failed> {
        for _ in 0..ATTEMPTS {
            if self.begun.elapsed() + self.longest > self.wanted.file.time {
                return Ok((None, Some(End::Time)));
            }
            let mut observed = match self.visit(place) {
                Ok(Ok(observed)) => observed,
                Ok(Err(why)) => {
                    self.not_started[place] += 1;
                    if self.rounds == 0 || self.not_started[place] >= NOT_STARTED_MAX {
                        self.leave_out(place, why, events);
                    }
                    return Ok((None, None));
                }
                Err(Failed::Interrupted) => return Ok((None, Some(End::Interrupted))),
                Err(error) => return Err(error),
            };
            self.not_started[place] = 0;
            let void = self.conditions.judge(Place::Candidate(place), observed.lag, &observed.seen);
            let values = self.measures.iter().map(|chosen| chosen.value(&observed)).collect();
            self.data.add(Block {
                ended: self.begun.elapsed().as_secs_f64(),
                void: void.as_ref().map(ToString::to_string),
                parts: vec![BlockPart { arm: place, requests: observed.seen.offered, values }],
            });
            match void {
                None => {
                    self.counted += 1;
                    self.keep(place, &mut observed);
                    return Ok((Some(observed), None));
                }
                Some(void) => {
                    self.void.push(void);
                    self.void_of_round += 1;
                    if let Some(ended) = mostly_void(&self.void, self.counted) {
                        return Ok((None, Some(End::Trial(ended))));
                    }
                }
            }
        }
        Ok((None, None))
    }

    /// The values of a round, by place and measure.
    fn values(&self, seen: &Seen) -> Vec<Vec<Option<f64>>> {
        let mut round = vec![Vec::new(); self.arms.len()];
        for (place, observed) in seen {
            let of =
                |observed: &Observed| self.measures.iter().map(|chosen| chosen.value(observed)).collect();
            round[*place] = observed.as_ref().map(of).unwrap_or_default();
        }
        round
    }

    fn primary_risk(&self) -> f64 {
        beside::primary_risk(self.measures.len(), RISK)
    }

    fn keep(&mut self, place: usize, observed: &mut Observed) {
        let running = &mut self.arms[place];
        if let Some(watched) = observed.watched.take() {
            running.parts.add(watched);
        }
        running.values.resize(self.measures.len(), Vec::new());
        for (kept, chosen) in running.values.iter_mut().zip(&self.measures) {
            kept.extend(chosen.value(observed));
        }
    }

    fn leave_out(&mut self, place: usize, why: String, events: &mut dyn FnMut(Event<'_>)) {
        events(Event::LeftOut { name: &self.arms[place].arm.name, why: &why });
        self.out[place] = Some(why);
    }

    fn left_out(&self) -> Vec<usize> {
        (0..self.out.len()).filter(|place| self.out[*place].is_some()).collect()
    }

    fn tell(&self, remaining: usize, best: Option<&str>, events: &mut dyn FnMut(Event<'_>)) {
        let (rounds, of, void) = (self.rounds, self.arms.len(), self.void_of_round);
        events(Event::Round { rounds, remaining, of, best, void });
    }

    /// Says how long the first finding takes, if the plan is asked for or the time is too short for it. If it is asked for, or
    /// takes a small part of the time, the service of the middle value is measured some times: how much that differs says which
    /// effect is found in which time.
    fn promise(&mut self, comparison: &Comparison) -> Result<(), Failed> {
        // Visits that take a small part of the time are worth a promise in any case.
        let visits = self.longest * PLAN_VISITS as u32;
        if self.wanted.only_plan || visits * PLAN_PART <= self.wanted.file.time {
            self.plan(comparison)?;
        }
        let (count, rounds_min) = (self.arms.len(), comparison.least);
        let round = self.longest * u32::try_from(count).unwrap_or(u32::MAX);
        let needed = round * u32::try_from(rounds_min).unwrap_or(u32::MAX);
        let is_short = self.begun.elapsed() + needed > self.wanted.file.time;
        if is_short || self.wanted.only_plan {
            let seconds =
                |time: Duration| units::show_duration(Duration::from_secs(time.as_secs_f64().ceil() as u64));
            let way_out = if is_short { ": give it more time, fewer values or shorter blocks" } else { "" };
            self.notes.push(format!(
                "a round of {count} services takes about {}, and the first finding takes {rounds_min} rounds, about {}{way_out}",
                seconds(round),
                seconds(needed)
            ));
        }
        Ok(())
    }

    fn plan(&mut self, comparison: &Comparison) -> Result<(), Failed> {
        let chosen = self.measures[0].clone();
        // At the ends of the list are values under which a service is often at its limit, where its noise is largest.
        let there: Vec<usize> = (0..self.arms.len()).filter(|place| self.out[*place].is_none()).collect();
        let Some(place) = there.get(there.len() / 2).copied() else { return Ok(()) };
        let mut distances = Vec::new();
        // Always the same requests, as in a round. Parts that do not count are repeated.
        self.seed = self.seed.wrapping_add(1);
        for _ in 0..ATTEMPTS as usize * PLAN_VISITS {
            // A service that does not start again says nothing of the noise.
            let Ok(observed) = self.visit(place)? else { continue };
            if self.conditions.judge(Place::Candidate(place), observed.lag, &observed.seen).is_none() {
                distances.extend(chosen.value(&observed).and_then(|value| chosen.measure.distance(value)));
            }
            if distances.len() >= PLAN_VISITS {
                break;
            }
        }
        let file = self.wanted.file;
        let answers = if file.compare_answers { Budget::SHARE } else { 0.0 };
        let round = self.longest.mul_f64(self.arms.len() as f64 * (1.0 + answers));
        let rounds = file.time.as_secs_f64() / round.as_secs_f64();
        let noise = NoiseFloor::of_repeats(&distances, comparison.values);
        let limits = (rounds, comparison.least);
        let plan = noise.and_then(|noise| plan_rounds(noise, limits, comparison.risk, file.effect, POWER));
        let Some(plan) = plan else {
            let why = match noise {
                Some(_) => "the time is too short to promise an effect",
                None => "no effect is promised: the noise of the service could not be measured",
            };
            self.notes.push(why.to_owned());
            return Ok(());
        };
        self.notes.extend(comparison.note.map(str::to_owned));
        let promised = round.mul_f64(plan.rounds as f64);
        // One service runs at a time.
        let price = file.fleet.and_then(|fleet| fleet.per_hour);
        self.planned = Some(Plan {
            wanted_effect: file.effect,
            effect: plan.effect,
            power: POWER,
            blocks: plan.rounds * self.arms.len(),
            detectable_effect: Some(plan.detectable),
            cost: price.map(|price| price * promised.as_secs_f64() / 3_600.0),
        });
        self.promised = Some(promised);
        Ok(())
    }

    fn document(&self, end: &End) -> Experiment {
        let file = self.wanted.file;
        Experiment {
            version: self.wanted.version,
            name: file.name.clone(),
            variable: file.variable.clone(),
            control: file.control.value.clone(),
            design: "restarts",
            design_reason: "each combination of values is a service that is started anew in each round"
                .to_owned(),
            primary: self.measures.first().map_or("p50", |chosen| chosen.name),
            margin: file.margin,
            plan: self.planned,
            promised_seconds: self.promised.map(|promised| promised.as_secs_f64()),
            noise_floor: None,
            restarts: None,
            seconds: self.begun.elapsed().as_secs_f64(),
            blocks: self.counted,
            void_blocks: self.void.len(),
            voids: counted(&self.void),
            ended: end.words(),
            verdicts: Vec::new(),
            candidates: Vec::new(),
            hypothesis: None,
            fleet: Vec::new(),
            examined: Vec::new(),
            answers: self.answers(),
            search: None,
            mirroring: None,
            data: self.data.clone(),
            notes: self
                .notes
                .iter()
                .cloned()
                .chain(self.wanted.recording.and_then(Recording::note))
                .collect(),
        }
    }

    /// What the services answered: first the one with which the others are compared.
    fn answers(&self) -> Answers {
        let reference = self.answers.as_ref().and_then(|answers| answers.reference);
        let others = (0..self.arms.len()).filter(|place| Some(*place) != reference);
        let of = |place: usize| arm_answers(&self.arms[place].arm.name, &self.arms[place].tally);
        let arms = reference.into_iter().chain(others).map(of).collect();
        let names: Vec<&str> = self.arms.iter().map(|running| running.arm.name.as_str()).collect();
        let compared = self.answers.as_ref().map(|answers| &answers.answers);
        answers_of(arms, compared, &names, &self.routes)
    }

    fn best_document(&self, search: &Elimination, end: &End) -> Experiment {
        let found = search.found();
        let name = |place: usize| self.arms[place].arm.name.clone();
        let standings = search.standings();
        let state = |place: usize| match () {
            () if self.out[place].is_some() => "left_out",
            () if found.remaining.contains(&place) => "compared",
            () => "eliminated",
        };
        let places = || 0..self.arms.len();
        let has_best = !found.remaining.is_empty() && self.middle(found.pick).is_some();
        let compared = || standings.iter().filter(|of| has_best && self.out[of.place].is_none());
        let primary = compared().map(|of| self.standing(found.pick, &found.remaining, of));
        let others = compared().flat_map(|of| {
            (1..self.measures.len())
                .map(|measure| self.beside(measure, (found.pick, of.place), &found.remaining))
        });
        let verdicts: Vec<Verdict> = primary.chain(others).collect();
        let of_best = self.wanted.file.fleet.and_then(|fleet| {
            let today =
                verdicts.iter().find(|of| of.is_processor_time() && of.candidate == name(fleet.value))?;
            Fleet::in_place_of(today, name(found.pick), fleet.servers, fleet.per_hour)
        });
        Experiment {
            control: if has_best { name(found.pick) } else { self.wanted.file.control.value.clone() },
            verdicts,
            fleet: of_best.into_iter().collect(),
            candidates: places()
                .map(|place| Candidate {
                    value: name(place),
                    state: state(place),
                    reason: self.out[place].clone(),
                })
                .collect(),
            search: Some(Shown {
                best: has_best.then(|| name(found.pick)),
                certain: has_best && found.certain,
                remaining: found.remaining.iter().map(|place| name(*place)).collect(),
                rounds: self.rounds,
                values: self.tried(),
            }),
            ..self.document(end)
        }
    }

    fn tried(&self) -> Vec<Tried> {
        let tried = |running: &Running| {
            let medians = self
                .measures
                .iter()
                .zip(&running.values)
                .filter(|(chosen, values)| chosen.route.is_none() && !values.is_empty());
            Tried {
                value: running.arm.name.clone(),
                rounds: running.values.first().map_or(0, Vec::len),
                measures: medians.map(|(chosen, values)| (chosen.name, median(values))).collect(),
                examined: running.examined(),
            }
        };
        self.arms.iter().map(tried).collect()
    }

    /// The verdict on the primary measure of a value, compared with the pick.
    fn standing(&self, pick: usize, remaining: &[usize], standing: &Standing) -> Verdict {
        self.verdict(Found {
            measure: 0,
            candidate: self.arms[standing.place].arm.name.clone(),
            finding: standing.finding,
            effect: standing.effect,
            estimate: standing.estimate,
            blocks: standing.rounds,
            steady: !standing.effect.is_empty(),
            values: (self.middle(pick), self.middle(standing.place)),
            more: self.time_of(standing.more_rounds, standing.place, remaining),
        })
    }

    /// The verdict on another measure of a value, compared with the pick.
    fn beside(&self, measure: usize, (pick, place): (usize, usize), remaining: &[usize]) -> Verdict {
        let count = self.arms.len();
        let risk = beside::risk_beside(self.measures.len(), RISK);
        let of = |round: &[Vec<Option<f64>>], place: usize| round[place].get(measure).copied().flatten();
        let values = self.kept.iter().map(|round| (of(round, pick), of(round, place)));
        let planned = (rounds(self.wanted, count), self.requests);
        let found = beside::compare(&self.measures[measure].measure, values, (count, risk), planned);
        let more = found.more_blocks.filter(|_| found.finding == Finding::CannotTell);
        self.verdict(Found {
            measure,
            candidate: self.arms[place].arm.name.clone(),
            finding: found.finding,
            effect: found.effect,
            estimate: found.estimate,
            blocks: found.blocks,
            steady: found.steady,
            values: (self.middle_of(pick, measure), self.middle_of(place, measure)),
            more: self.time_of(more, place, remaining),
        })
    }

    /// The time of so many rounds of the values that remain, if this is one of them.
    fn time_of(&self, rounds: Option<usize>, place: usize, remaining: &[usize]) -> Option<Duration> {
        let round = self.longest * u32::try_from(remaining.len()).unwrap_or(u32::MAX);
        Some(round.mul_f64(rounds.filter(|_| remaining.contains(&place))? as f64))
    }

    fn middle(&self, place: usize) -> Option<f64> {
        self.middle_of(place, 0)
    }

    fn middle_of(&self, place: usize, measure: usize) -> Option<f64> {
        let values = self.arms[place].values.get(measure).filter(|values| !values.is_empty())?;
        Some(median(values))
    }

    fn verdict(&self, found: Found) -> Verdict {
        let chosen = &self.measures[found.measure];
        let end = |value: f64| value.is_finite().then_some(value);
        let is_bounded = found.steady && super::document::is_bounded(&chosen.measure, found.effect);
        Verdict {
            route: data::route_of(chosen, &self.routes),
            measure: chosen.name,
            candidate: found.candidate,
            verdict: super::document::word(found.finding),
            effect: found.estimate.and_then(end),
            low: end(found.effect.low).filter(|_| is_bounded),
            high: end(found.effect.high).filter(|_| found.steady),
            primary: found.measure == 0,
            control_value: found.values.0,
            candidate_value: found.values.1,
            unit: chosen.unit,
            blocks: found.blocks,
            more_seconds: found.more.map(|more| more.as_secs_f64()),
            steady: found.steady,
        }
    }

    fn effects_document(&self, primary: &Factorial, variables: usize, end: &End) -> Experiment {
        let risk = beside::risk_beside(self.measures.len(), RISK);
        let planned = rounds(self.wanted, self.arms.len());
        let others = self.measures.iter().enumerate().skip(1).map(|(place, chosen)| {
            let mut factorial = Factorial::new(chosen.measure, variables, planned, risk);
            self.kept.iter().for_each(|round| factorial.observe(&of_measure(round, place)));
            (place, factorial.effects())
        });
        let verdicts: Vec<Verdict> = std::iter::once((0, primary.effects()))
            .chain(others)
            .flat_map(|(place, effects)| {
                effects.into_iter().map(move |effect| self.effect(place, &effect)).collect::<Vec<_>>()
            })
            .collect();
        let fleet = self.wanted.file.fleet.map(|fleet| {
            // Those of single variables come first.
            let mains = verdicts.chunks(primary.effects().len()).flat_map(|all| &all[..variables]);
            Fleet::of(mains, fleet.servers, fleet.per_hour)
        });
        let candidate = |(running, out): (&Running, &Option<String>)| Candidate {
            value: running.arm.name.clone(),
            state: if out.is_some() { "left_out" } else { "compared" },
            reason: out.clone(),
        };
        Experiment {
            verdicts,
            fleet: fleet.unwrap_or_default(),
            candidates: self.arms.iter().zip(&self.out).map(candidate).collect(),
            search: Some(Shown {
                best: None,
                certain: false,
                remaining: Vec::new(),
                rounds: self.rounds,
                values: self.tried(),
            }),
            ..self.document(end)
        }
    }

    /// The verdict on an effect; its values are the medians over the services with either level.
    fn effect(&self, measure: usize, effect: &FactorEffect) -> Verdict {
        let names: Vec<&str> = self.wanted.file.variable.split(", ").collect();
        let name = |place: usize| names.get(place).copied().unwrap_or_default();
        let over = |is: &dyn Fn(usize) -> bool| {
            let middles: Vec<f64> = (0..self.arms.len())
                .filter(|place| is(*place))
                .filter_map(|place| self.middle_of(place, measure))
                .collect();
            (!middles.is_empty()).then(|| median(&middles))
        };
        let (candidate, values) = match effect.contrast {
            Contrast::Main(variable) => {
                let is_high = |place: usize| (place >> variable) & 1 == 1;
                (name(variable).to_owned(), (over(&|place| !is_high(place)), over(&is_high)))
            }
            Contrast::Interaction(one, other) => (format!("{} x {}", name(one), name(other)), (None, None)),
        };
        self.verdict(Found {
            measure,
            candidate,
            finding: effect.finding,
            effect: effect.effect,
            estimate: effect.estimate,
            blocks: effect.replicates,
            steady: !effect.effect.is_empty(),
            values,
            more: None,
        })
    }
}

/// What a search compares in each round.
struct Comparison {
    /// Rounds before the first finding.
    least: usize,
    /// The risk of one comparison.
    risk: f64,
    /// How many values each side is the mean of.
    values: usize,
    /// What the reader has to know of a promise.
    note: Option<&'static str>,
}

/// What was observed of services, by place; `None` where that does not count.
type Seen = Vec<(usize, Option<Observed>)>;

/// A verdict.
struct Found {
    /// The place of the measure.
    measure: usize,
    candidate: String,
    finding: Finding,
    effect: Interval,
    estimate: Option<f64>,
    blocks: usize,
    /// Whether one effect explains all rounds.
    steady: bool,
    /// How long until there is a finding, if the rest is like the rounds so far; `None` if it is not in sight.
    more: Option<Duration>,
    /// The medians of the pick or the low level, and of the value or the high level.
    values: (Option<f64>, Option<f64>),
}

/// The values of a measure in a round, by place.
fn of_measure(round: &[Vec<Option<f64>>], measure: usize) -> Vec<Option<f64>> {
    round.iter().map(|values| values.get(measure).copied().flatten()).collect()
}

/// Rounds of this many services that the time has, at most.
fn rounds(wanted: &Wanted<'_>, services: usize) -> usize {
    let file = wanted.file;
    let part = (file.warm_up + file.block).as_secs_f64() * services as f64;
    ((file.time.as_secs_f64() / part) as usize).max(1)
}

/// How often a service is measured for a plan, to know its noise.
const PLAN_VISITS: usize = 5;
/// The part of the time that they take at most, unless the plan is asked for.
const PLAN_PART: u32 = 20;
/// Successive rounds in which a service does not start.
const NOT_STARTED_MAX: u32 = 3;
/// How often a part is measured until it counts.
const ATTEMPTS: u32 = 3;
