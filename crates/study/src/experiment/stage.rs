//! The steps of an experiment, in their order: warm-up, noise floor, plan, blocks.

use super::answers::Compared;
use super::arms::{Candidate, Running, start};
use super::block::{self, Observed};
use super::measures::{Chosen, Known, ROUTES_MAX, choose};
use super::planning::{self, Basis, MORE, PILOT, PILOT_MORE};
use super::started::one_variable;
use super::{Event, Failed, OTHER, Wanted, data, document};
use crate::doctor::{ENOUGH, knows_workers};
use config::experiment::{Design as Asked, SecondControl, Shared};
use control::trial::answers::Budget;
use control::trial::{
    Arm, Assignment, Block, Design, Ended, NoiseFloor, Plan, Purpose, Restarts, Settings, Shared as Sharing,
    Step, Trial, Void,
};
use documents::experiment::{Data, Experiment};
use stats::{Rng, median};
use std::time::{Duration, Instant};
use units::Quantile;

/// An experiment while it runs.
pub(super) struct Session<'a> {
    pub(super) wanted: &'a Wanted<'a>,
    pub(super) begun: Instant,
    pub(super) control: Running,
    pub(super) second: Option<Running>,
    pub(super) candidates: Vec<Candidate>,
    pub(super) measures: Vec<Chosen>,
    /// The median response time of the control in the warm-up.
    pub(super) response_time: Duration,
    /// Names of endpoints.
    pub(super) routes: Vec<String>,
    /// The differences of equal arms.
    pub(super) noise: Option<NoiseFloor>,
    /// The median effect between the control and the second control.
    pub(super) offset: Option<f64>,
    pub(super) plan: Option<Plan>,
    /// How much restarts differ; `None` if they were not compared.
    pub(super) restarts: Option<Restarts>,
    /// The longest time from the start of a command to its first good response.
    pub(super) started_within: Duration,
    /// From the beginning until the promised end.
    pub(super) promised: Option<Duration>,
    /// Parts in which the generator had no processor time left.
    pub(super) busy: usize,
    pub(super) notes: Vec<String>,
    /// Why blocks of equal services did not count, if the experiment ended with them.
    pub(super) voids: Vec<Void>,
    /// How long blocks took, and how long they were planned to take.
    blocks: (Duration, Duration),
    /// The blocks of the comparison.
    pub(super) data: Data,
    /// The comparison of answers; `None` if they are not compared.
    pub(super) compared_answers: Option<Compared>,
    rng: Rng,
    seed: u64,
}

/// Why no more blocks are run.
pub(super) enum End {
    /// The trial says so.
    Trial(Ended),
    /// The time is over.
    Time,
    /// Somebody asked for it.
    Interrupted,
    /// Something else.
    Other(String),
}

/// The two services of the noise floor after a block.
enum Equals {
    /// Both run.
    Run,
    /// One is gone, and the experiment ends.
    Gone(End),
    /// The candidate in the place of the second control is gone; there is another one.
    LeftOut,
}

impl End {
    pub(super) fn only_plan() -> Self {
        End::Other("only the plan was asked for".to_owned())
    }

    /// Why, in words.
    pub(super) fn words(&self) -> String {
        match self {
            End::Trial(ended) => ended.to_string(),
            End::Time => "the time is over".to_owned(),
            End::Interrupted => "interrupted".to_owned(),
            End::Other(why) => why.clone(),
        }
    }
}

pub(super) fn run(wanted: &Wanted<'_>, events: &mut dyn FnMut(Event<'_>)) -> Result<Experiment, Failed> {
    let begun = Instant::now();
    let mut started_within = Duration::ZERO;
    let (control, second, candidates) = start(wanted, &mut |event| {
        if let Event::Started { after, .. } = event {
            started_within = started_within.max(after);
        }
        events(event);
    })?;
    one_variable(&control, &candidates)?;
    let mut session = Session {
        wanted,
        begun,
        control,
        second,
        candidates,
        measures: Vec::new(),
        response_time: Duration::ZERO,
        routes: Vec::new(),
        noise: None,
        offset: None,
        restarts: None,
        started_within,
        plan: None,
        promised: None,
        busy: 0,
        notes: Vec::new(),
        voids: Vec::new(),
        blocks: Default::default(),
        data: Data::default(),
        compared_answers: None,
        rng: Rng::new(wanted.seed, "experiment"),
        seed: wanted.seed,
    };
    session.warm_up(events)?;
    if session.compared().is_empty() {
        let why = "no candidate has a good response".to_owned();
        return Ok(document::document(&session, None, &End::Other(why)));
    }
    session.begin_answers()?;
    let design = session.design();
    if let Some(end) = session.measure_noise(design, events)? {
        return Ok(document::document(&session, None, &end));
    }
    if let Some(end) = session.measure_restarts(events)? {
        return Ok(document::document(&session, None, &end));
    }
    if let Err(why) = session.make_plan(design) {
        events(Event::Planned(Err(&why)));
        return Ok(document::document(&session, None, &End::Other(why)));
    }
    if let Some(plan) = &session.plan {
        events(Event::Planned(Ok(plan)));
    }
    if wanted.only_plan {
        return Ok(document::document(&session, None, &End::only_plan()));
    }
    if wanted.file.second_control == SecondControl::First {
        session.second = None;
    }
    let (trial, end) = session.compare(events)?;
    Ok(document::document(&session, Some(&trial), &end))
}

impl Session<'_> {
    /// Load on all arms. Candidates without a good response are left out.
    fn warm_up(&mut self, events: &mut dyn FnMut(Event<'_>)) -> Result<(), Failed> {
        let length = self.wanted.file.warm_up.max(WARM_UP_MIN);
        events(Event::WarmUp(length));
        let seed = self.next_seed();
        let wanted = self.wanted;
        let mut arms: Vec<&mut Running> = vec![&mut self.control];
        arms.extend(&mut self.second);
        arms.extend(self.candidates.iter_mut().filter_map(Candidate::running_mut));
        let observed = block::run(wanted, &mut arms, (Duration::ZERO, length), seed)?;
        if self.control.tally.good() == 0 {
            return Err(Failed::NoGoodResponse(self.control.tally.most()));
        }
        for candidate in &mut self.candidates {
            let Candidate::Runs(running) = candidate else { continue };
            if running.tally.good() > 0 {
                continue;
            }
            let name = running.arm.name.clone();
            let why = running.ended().unwrap_or_else(|| format!("in the warm-up, {}", running.tally.most()));
            events(Event::LeftOut { name: &name, why: &why });
            *candidate = Candidate::LeftOut { name, why };
        }
        let of_control = &observed[0];
        let block = (self.wanted.file.block - lead(self.wanted.file.block)).as_secs_f64();
        let share = block / length.as_secs_f64();
        let requests: Vec<f64> =
            of_control.routes.iter().map(|route| route.requests() as f64 * share).collect();
        self.routes = endpoints(&self.wanted.control.work);
        if self.wanted.file.pace == config::experiment::Pace::Live {
            self.routes.push(OTHER.to_owned());
        }
        let is_known = |candidate: &Candidate| matches!(candidate, Candidate::Runs(running) if running.service.is_some());
        let has_service = self.control.service.is_some() && self.candidates.iter().any(is_known);
        self.response_time =
            of_control.all.quantile(Quantile::P50).map(Duration::from_secs_f64).unwrap_or_default();
        let known = Known {
            processes: has_service,
            queues: self.wanted.doctor && self.wanted.file.block >= ENOUGH && self.all_workers_are_known(),
            response_time: self.response_time,
        };
        self.measures = choose(self.wanted.file, &requests, known);
        let more = requests.iter().filter(|requests| **requests > 0.0).count().saturating_sub(ROUTES_MAX);
        if more > 0 {
            self.notes.push(format!(
                "the {ROUTES_MAX} routes with the most requests have verdicts of their own; {more} others count in `all`"
            ));
        }
        Ok(())
    }

    /// Whether it is known of all services how many requests they work on at a time: otherwise what waits in one would be
    /// compared with what waits before another.
    fn all_workers_are_known(&self) -> bool {
        let candidates = self.candidates.iter().filter_map(Candidate::running);
        let mut all = std::iter::once(&self.control).chain(candidates);
        all.all(|running| running.service.as_ref().is_some_and(knows_workers))
    }

    /// The places of the candidates that are compared.
    pub(super) fn compared(&self) -> Vec<usize> {
        let runs = |(place, candidate): (usize, &Candidate)| {
            matches!(candidate, Candidate::Runs(_)).then_some(place)
        };
        self.candidates.iter().enumerate().filter_map(runs).collect()
    }

    /// The design in which the noise floor is measured.
    pub(super) fn design(&self) -> Design {
        match (self.wanted.file.design, self.wanted.file.shared) {
            (Some(Asked::Duet), _) => Design::Duet,
            (Some(Asked::Alternating), _) => Design::Alternating,
            (Some(Asked::Slices), _) | (None | Some(Asked::Restarts), Shared::Something) => Design::Slices,
            (None | Some(Asked::Restarts), _) => Design::Duet,
        }
    }

    fn settle(&self, design: Design) -> Duration {
        if design == Design::Alternating { Duration::ZERO } else { self.settle_of_turns() }
    }

    /// How long an arm needs to reach its level after it takes over.
    pub(super) fn settle_of_turns(&self) -> Duration {
        self.wanted.file.block / SETTLE
    }

    /// Blocks of equal arms, or without a second control of the control and the first candidate, whose mean difference is not
    /// noise. Why the experiment ends, if it does.
    fn measure_noise(
        &mut self,
        design: Design,
        events: &mut dyn FnMut(Event<'_>),
    ) -> Result<Option<End>, Failed> {
        events(Event::NoiseFloor { blocks: PILOT });
        let measures = self.measures.iter().map(|chosen| chosen.measure).collect();
        let times = (self.settle(design), self.wanted.file.block);
        let settings = planning::pilot(measures, design, times, self.limits());
        let mut trial = Trial::new(settings)?;
        let mut differences = Vec::new();
        loop {
            match trial.next(&mut self.rng) {
                Step::Block(assignment) => {
                    if self.is_late_for(&assignment) {
                        let why = "the time was over before the noise floor was known: give more time, or shorter blocks";
                        return Ok(Some(End::Other(why.to_owned())));
                    }
                    let block = match self.block(&assignment) {
                        Ok((block, _)) => block,
                        Err(Failed::Interrupted) => return Ok(Some(End::Interrupted)),
                        Err(error) => return Err(error),
                    };
                    match self.check_equals(events) {
                        Equals::Run => {}
                        Equals::Gone(end) => return Ok(Some(end)),
                        // Candidates have other numbers now.
                        Equals::LeftOut => match self.begin_answers() {
                            Ok(()) => return self.measure_noise(design, events),
                            Err(Failed::Interrupted) => return Ok(Some(End::Interrupted)),
                            Err(error) => return Err(error),
                        },
                    }
                    let looked = trial.observe(&block);
                    if looked.void.is_none() {
                        differences.extend(self.difference(&assignment, &block));
                    }
                    let (counted, planned) = (trial.counted(), trial.settings().blocks);
                    events(Event::Block { counted, planned, void: looked.void, primary: None });
                    match self.compare_answers() {
                        Ok(()) => {}
                        Err(Failed::Interrupted) => return Ok(Some(End::Interrupted)),
                        Err(error) => return Err(error),
                    }
                }
                Step::Done(Ended::AsPlanned) => {
                    match planning::noise(&trial, self.begun.elapsed(), self.wanted.file.time) {
                        None => trial.extend(PILOT_MORE),
                        Some(noise) => {
                            self.noise = noise.floor;
                            self.notes.extend(noise.note);
                            if self.second.is_some() && !differences.is_empty() {
                                self.offset = Some(median(&differences));
                            }
                            return Ok(None);
                        }
                    }
                }
                Step::Done(ended) => {
                    self.voids = trial.void().to_vec();
                    return Ok(Some(End::Other(format!("the noise floor could not be measured: {ended}"))));
                }
            }
        }
    }

    /// Whether both services of the noise floor are there. A candidate that stands for the second control, and has ended, is left
    /// out.
    fn check_equals(&mut self, events: &mut dyn FnMut(Event<'_>)) -> Equals {
        let gone = |what: &str, why: String| Equals::Gone(End::Other(format!("the {what} is gone: {why}")));
        if let Some(why) = self.control.ended() {
            return gone("control", why);
        }
        if let Some(second) = &mut self.second {
            return second.ended().map_or(Equals::Run, |why| gone("second control", why));
        }
        let Some(place) = self.compared().first().copied() else { return Equals::Run };
        let Some((name, why)) =
            self.candidate(0).and_then(|running| Some((running.arm.name.clone(), running.ended()?)))
        else {
            return Equals::Run;
        };
        events(Event::LeftOut { name: &name, why: &why });
        self.candidates[place] = Candidate::LeftOut { name, why };
        match self.compared().is_empty() {
            true => Equals::Gone(End::Other("no candidate runs any more".to_owned())),
            false => Equals::LeftOut,
        }
    }

    /// The effect between the control and the second control in a block, on the primary measure.
    fn difference(&self, assignment: &Assignment, block: &Block) -> Option<f64> {
        let value = |arm: Arm| {
            let place = assignment.arms.iter().position(|each| *each == arm)?;
            block.arms.get(place)?.values.first().copied().flatten()
        };
        let (ours, theirs) = (value(Arm::Control)?, value(Arm::SecondControl)?);
        let effect = match self.measures.first()?.measure.effect {
            control::trial::Effect::Ratio => theirs / ours - 1.0,
            control::trial::Effect::Difference => theirs - ours,
        };
        effect.is_finite().then_some(effect)
    }

    /// Plans the comparison.
    fn make_plan(&mut self, design: Design) -> Result<(), String> {
        let file = self.wanted.file;
        let promise = planning::promise(&Basis {
            effect: file.effect,
            time: file.time,
            elapsed: self.begun.elapsed(),
            candidates: self.compared().len(),
            measures: self.measures.len(),
            noise: self.noise,
            restarts: self.restarts,
            always_restart: file.design == Some(Asked::Restarts),
            copies: design == Design::Duet,
            shared: match (file.design, file.shared) {
                (Some(_), _) | (None, Shared::Nothing) => Sharing::Nothing,
                (None, Shared::Unknown) => Sharing::Unknown,
                (None, Shared::Something) => Sharing::Something,
            },
            settle: self.settle(design),
            block: file.block,
            // Blocks end with the last response, and answers are compared between them.
            between: self.overrun() + if file.compare_answers { Budget::SHARE } else { 0.0 },
            price_per_hour: file.fleet.and_then(|fleet| fleet.per_hour).unwrap_or_default(),
        })?;
        self.notes.extend(promise.note);
        self.promised = Some(promise.promised);
        self.plan = Some(promise.plan);
        Ok(())
    }

    /// Whether the time is over before this block is.
    fn is_late_for(&self, assignment: &Assignment) -> bool {
        self.begun.elapsed() + self.length(assignment).mul_f64(1.0 + self.overrun()) > self.wanted.file.time
    }

    /// Runs blocks until the trial ends, or the time.
    fn compare(&mut self, events: &mut dyn FnMut(Event<'_>)) -> Result<(Trial, End), Failed> {
        let plan = self.plan.expect("it was made before");
        let compared = self.compared();
        let measures = self.measures.iter().map(|chosen| chosen.measure).collect();
        let file = self.wanted.file;
        let mut trial = Trial::new(Settings {
            candidates: compared.len(),
            second_control: self.second.is_some(),
            ..planning::comparison(&plan, measures, file.effect, file.ends, self.limits())
        })?;
        let has_second = self.second.is_some();
        self.data = data::begin(self.arm_names(), &self.measures, &self.routes);
        let end = loop {
            let assignment = match trial.next(&mut self.rng) {
                Step::Block(assignment) => assignment,
                // The planned blocks find the effect with the planned probability; the rest of the time raises it.
                Step::Done(Ended::AsPlanned) if !planning::is_over(&trial, file.ends) => {
                    trial.extend(MORE);
                    continue;
                }
                Step::Done(ended) => break End::Trial(ended),
            };
            if self.is_late_for(&assignment) {
                break End::Time;
            }
            let (block, mut observed) = match self.block(&assignment) {
                Ok(block) => block,
                Err(Failed::Interrupted) => break End::Interrupted,
                Err(error) => break End::Other(error.to_string()),
            };
            let looked = trial.observe(&block);
            let place = |arm| match arm {
                Arm::Control => 0,
                Arm::SecondControl => 1,
                Arm::Candidate(number) => number + 1 + usize::from(has_second),
            };
            let why = match assignment.purpose {
                Purpose::Compare => looked.void.as_ref().map(ToString::to_string),
                Purpose::Probe => {
                    Some("the control alone, to find out whether the services disturb each other".to_owned())
                }
            };
            if looked.changed.is_some() {
                self.data.give_up("the services disturbed each other, and the design has changed");
            }
            self.data.add(data::block(self.begun.elapsed(), why, &assignment, &block, place));
            if looked.void.is_none() && assignment.purpose == Purpose::Compare {
                self.keep(&assignment, &mut observed);
            }
            let verdicts = trial.verdicts();
            let (counted, planned) = (trial.counted(), trial.settings().blocks);
            events(Event::Block { counted, planned, void: looked.void, primary: verdicts.first() });
            for (candidate, why) in looked.stopped {
                let Some(running) = self.candidate(candidate) else { continue };
                events(Event::Stopped { name: &running.arm.name, why });
                let ended = running.ended();
                running.stop();
                if let Some(ended) = ended {
                    let note = format!("candidate {}: {ended}", running.arm.name);
                    self.notes.push(note);
                }
            }
            if let Some((design, why)) = looked.changed {
                events(Event::Changed { design, why });
                self.promised = None;
                self.notes.push(
                    "the promise was for services that run at once, and the design has changed".to_owned(),
                );
            }
            if let Some(why) = self.control.ended() {
                break End::Other(format!("the control is gone: {why}"));
            }
            match self.compare_answers() {
                Ok(()) => {}
                Err(Failed::Interrupted) => break End::Interrupted,
                Err(error) => break End::Other(error.to_string()),
            }
        };
        Ok((trial, end))
    }

    /// The services that are compared.
    fn arm_names(&self) -> Vec<String> {
        let second = self.second.as_ref().map(|_| "second control".to_owned());
        let running = self.candidates.iter().filter_map(Candidate::running);
        let candidates = running.map(|running| running.arm.name.clone());
        std::iter::once("control".to_owned()).chain(second).chain(candidates).collect()
    }

    /// Runs a block: its arms at once, or one after the other.
    fn block(&mut self, assignment: &Assignment) -> Result<(Block, Vec<Observed>), Failed> {
        let seed = self.next_seed();
        let times = self.times(assignment.settle, assignment.measured, assignment.restart);
        let groups: Vec<Vec<Arm>> = match assignment.at_once {
            true => vec![assignment.arms.clone()],
            false => assignment.arms.iter().map(|arm| vec![*arm]).collect(),
        };
        let begun = Instant::now();
        let mut parts = Vec::new();
        for group in groups {
            let runs = match group.as_slice() {
                [arm] if assignment.restart => self.restart_before_turn(*arm)?,
                _ => true,
            };
            match runs {
                true => parts.extend(self.part(&group, times, seed)?.into_iter().map(Some)),
                false => parts.push(None),
            }
        }
        self.blocks.0 += begun.elapsed();
        self.blocks.1 += self.length(assignment);
        // The control runs, or the experiment has ended.
        let of_another = parts.iter().flatten().next().map(Observed::failed);
        let observed: Vec<Observed> = parts
            .into_iter()
            .map(|part| part.or_else(|| of_another.as_ref().map(Observed::failed)).unwrap_or_default())
            .collect();
        let seen = observed.iter().map(|one| {
            let values = self.measures.iter().map(|chosen| chosen.value(one)).collect();
            control::trial::Seen { values, ..one.seen.clone() }
        });
        let block =
            Block { lag: observed.iter().map(|one| one.lag).max().unwrap_or_default(), arms: seen.collect() };
        self.busy += usize::from(observed.iter().any(|one| one.generator_busy));
        Ok((block, observed))
    }

    /// The part of a turn that is not measured, and the part that is. What was restarted is warmed up first.
    pub(super) fn times(
        &self,
        settle: Duration,
        measured: Duration,
        restarted: bool,
    ) -> (Duration, Duration) {
        let warm_up = if restarted { self.wanted.file.warm_up } else { Duration::ZERO };
        (settle.max(lead(measured)).max(warm_up), measured - lead(measured))
    }

    /// How much longer blocks take than planned, as a share: they end with the last response.
    fn overrun(&self) -> f64 {
        let (took, planned) = self.blocks;
        (took.as_secs_f64() / planned.as_secs_f64().max(1e-3) - 1.0).max(0.0)
    }

    /// How long a block takes.
    fn length(&self, assignment: &Assignment) -> Duration {
        let restarts =
            if assignment.restart { self.restart_time(assignment.arms.len()) } else { Duration::ZERO };
        length(assignment) + restarts
    }

    /// How long it takes until so many restarted arms are at the level at which a turn begins.
    pub(super) fn restart_time(&self, arms: usize) -> Duration {
        let one = self.restarts.map_or(Duration::ZERO, |restarts| restarts.takes);
        one * u32::try_from(arms).unwrap_or(1)
    }

    pub(super) fn part(
        &mut self,
        arms: &[Arm],
        times: (Duration, Duration),
        seed: u64,
    ) -> Result<Vec<Observed>, Failed> {
        let wanted = self.wanted;
        let mut places: Vec<(usize, &mut Running)> = Vec::new();
        let place_of = |arm: Arm| arms.iter().position(|each| *each == arm);
        if let Some(place) = place_of(Arm::Control) {
            places.push((place, &mut self.control));
        }
        // Without a second control, the first candidate is in its place.
        let has_second = self.second.is_some();
        if let (Some(place), Some(second)) = (place_of(Arm::SecondControl), &mut self.second) {
            places.push((place, second));
        }
        let running = self.candidates.iter_mut().filter_map(Candidate::running_mut);
        for (at, running) in running.enumerate() {
            let stands_in = || place_of(Arm::SecondControl).filter(|_| at == 0 && !has_second);
            if let Some(place) = place_of(Arm::Candidate(at)).or_else(stands_in) {
                places.push((place, running));
            }
        }
        places.sort_by_key(|(place, _)| *place);
        let mut running: Vec<&mut Running> = places.into_iter().map(|(_, running)| running).collect();
        block::run(wanted, &mut running, times, seed)
    }

    /// Keeps the values of a block that counts.
    fn keep(&mut self, assignment: &Assignment, observed: &mut [Observed]) {
        for (arm, one) in assignment.arms.iter().zip(observed) {
            let values: Vec<Option<f64>> = self.measures.iter().map(|chosen| chosen.value(one)).collect();
            let running = match arm {
                Arm::Control => &mut self.control,
                Arm::SecondControl => continue,
                Arm::Candidate(at) => match self.candidate(*at) {
                    Some(running) => running,
                    None => continue,
                },
            };
            running.values.resize(values.len(), Vec::new());
            for (kept, value) in running.values.iter_mut().zip(values) {
                kept.extend(value);
            }
            if let Some(watched) = one.watched.take() {
                running.parts.add(watched);
            }
        }
    }

    /// The candidate that the trial calls so.
    pub(super) fn candidate(&mut self, at: usize) -> Option<&mut Running> {
        let place = *self.compared().get(at)?;
        self.candidates[place].running_mut()
    }

    pub(super) fn limits(&self) -> control::trial::Limits {
        let usual = control::trial::Limits::default();
        // In the closed model a faster service gets more requests.
        let unequal = match self.wanted.file.pace {
            config::experiment::Pace::Users(_) => 1.0,
            _ => usual.unequal,
        };
        control::trial::Limits { unequal, lag: self.wanted.file.max_lag, ..usual }
    }

    /// The seed of the latest block.
    pub(super) fn seed(&self) -> u64 {
        self.seed
    }

    pub(super) fn next_seed(&mut self) -> u64 {
        self.seed = self.seed.wrapping_add(1);
        self.seed
    }
}

/// Connections are opened in the first part.
pub(super) fn lead(measured: Duration) -> Duration {
    measured / LEAD
}

/// How long a block takes.
pub(super) fn length(assignment: &Assignment) -> Duration {
    let one = assignment.measured + assignment.settle.saturating_sub(lead(assignment.measured));
    if assignment.at_once { one } else { one * u32::try_from(assignment.arms.len()).unwrap_or(1) }
}

/// The names of the endpoints of some work, in the order of its results.
pub(super) fn endpoints(work: &::load::Work) -> Vec<String> {
    match work {
        ::load::Work::Targets(targets) => targets.endpoints().to_vec(),
        ::load::Work::Scenario { scenario, .. } => {
            scenario.endpoints().iter().map(|endpoint| endpoint.name.clone()).collect()
        }
    }
}

/// The part of a block in which connections are opened, and the part in which an arm reaches its level.
const LEAD: u32 = 10;
const SETTLE: u32 = 3;
const WARM_UP_MIN: Duration = Duration::from_secs(1);
