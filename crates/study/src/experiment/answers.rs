//! Sends some of the requests to each arm between the blocks, and compares the responses.
//!
//! ## Why not the responses of the blocks
//! A load generator that kept whole bodies would need processor time of its own while it measures. Requests between the blocks
//! cost nothing that is measured, and each arm gets exactly the same ones.
//!
//! ## Why the control is asked first and last
//! What changes with time (a clock in the page, the stock of a shop) must not look like a difference of a slow candidate.
//! Between the two responses of the control more time passes than between those of control and candidate.
//!
//! ## Many values
//! Services that run one after the other are asked at the end of their turns, always for the same requests. The first value that is
//! there is what the others are compared with, and its answers of two rounds, which are of two processes, show what differs by itself.

use super::arms::{Candidate, Running};
use super::contents::contents;
use super::stage::Session;
use super::{Failed, Recording, Wanted};
use crate::drive::Drive;
use ::load::{Collected, Collector, Model, Plan, Target, Targets, Watch, Work};
use control::trial::answers::{Answers, Budget, Pair, Response};
use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::time::{Duration, Instant};

/// The comparison of answers while the experiment runs.
pub(super) struct Compared {
    pub(super) answers: Answers,
    budget: Budget,
}

/// The responses of an arm in a round, with their routes.
type Asked = Vec<(usize, Response)>;

impl Session<'_> {
    /// Begins the comparison of answers after the warm-up.
    pub(super) fn begin_answers(&mut self) -> Result<(), Failed> {
        if !self.wanted.file.compare_answers || self.wanted.only_plan {
            return Ok(());
        }
        let routes = routes(&self.wanted.control.work);
        let candidates = self.compared().len();
        let arms = u32::try_from(candidates).unwrap_or(u32::MAX).saturating_add(2);
        let budget = Budget::new(self.response_time * arms);
        self.compared_answers = Some(Compared { answers: Answers::new(candidates, &routes), budget });
        self.compare_answers()
    }

    /// A round of requests to all arms, if one is due.
    pub(super) fn compare_answers(&mut self) -> Result<(), Failed> {
        let elapsed = self.begun.elapsed();
        let seed = self.seed();
        let Some(Compared { answers, budget }) = &mut self.compared_answers else { return Ok(()) };
        let Some((most, longest)) = budget.round(elapsed) else { return Ok(()) };
        let running = self.candidates.iter().filter_map(Candidate::running);
        let candidates = running.enumerate().filter(|(_, running)| !running.is_stopped);
        let mut others: Vec<(Pair, &Running)> =
            candidates.map(|(number, running)| (Pair::Candidate(number), running)).collect();
        if others.is_empty() {
            return Ok(());
        }
        others.push(match &self.second {
            Some(second) => (Pair::SecondControl, second),
            None => (Pair::Control, &self.control),
        });
        if let Some(kept) = self.wanted.recording.and_then(Recording::kept) {
            answers.extend(&kept);
        }
        let requests = answers.next(most);
        let begun = Instant::now();
        let round = Round { wanted: self.wanted, requests: &requests, most, until: begun + longest, seed };
        let control = round.ask(&self.control)?;
        for (pair, running) in others {
            let asked = round.ask(running)?;
            if !responds(&control) || !responds(&asked) {
                // It is down, which the blocks show.
                continue;
            }
            observe(answers, pair, &requests, &control, &asked);
        }
        budget.took(most, begun.elapsed());
        Ok(())
    }
}

/// The routes of a list of requests; none of a scenario.
fn routes(work: &Work) -> Vec<usize> {
    match work {
        Work::Targets(targets) => targets.endpoint_of().iter().map(|route| *route as usize).collect(),
        Work::Scenario { .. } => Vec::new(),
    }
}

/// Records the responses of two services to the same requests.
fn observe(answers: &mut Answers, pair: Pair, requests: &[usize], ours: &Asked, theirs: &Asked) {
    for (place, ((route, ours), (same, theirs))) in ours.iter().zip(theirs).enumerate() {
        // Users of a scenario continue as the responses say.
        if route != same {
            break;
        }
        answers.observe(pair, *route, requests.get(place).copied(), ours, theirs);
    }
}

/// The answers of values whose services run one after the other.
pub(super) struct OfValues {
    pub(super) answers: Answers,
    /// The place of the value with which the others are compared.
    pub(super) reference: Option<usize>,
    /// The same in all rounds.
    requests: Vec<usize>,
    /// What the reference answered in the round before, and what was answered in this one.
    before: Option<Asked>,
    round: BTreeMap<usize, Asked>,
}

impl OfValues {
    /// For this many values; `None` if answers are not compared.
    pub(super) fn begin(wanted: &Wanted<'_>, count: usize) -> Option<Self> {
        if !wanted.file.compare_answers || wanted.only_plan {
            return None;
        }
        let mut answers = Answers::new(count, &routes(&wanted.control.work));
        let requests = answers.next(VALUES_ASKED);
        Some(OfValues { answers, reference: None, requests, before: None, round: BTreeMap::new() })
    }

    /// Begins a round.
    pub(super) fn begin_round(&mut self) {
        self.round.clear();
    }

    /// Asks a service that runs at the moment, for at most this long.
    pub(super) fn ask(
        &mut self,
        wanted: &Wanted<'_>,
        place: usize,
        running: &Running,
        longest: Duration,
    ) -> Result<(), Failed> {
        let until = Instant::now() + longest;
        let round = Round { wanted, requests: &self.requests, most: VALUES_ASKED, until, seed: wanted.seed };
        let asked = round.ask(running)?;
        if responds(&asked) {
            self.round.insert(place, asked);
        }
        Ok(())
    }

    /// Compares what was answered in the round.
    pub(super) fn compare(&mut self) {
        let mut round = std::mem::take(&mut self.round);
        let Some(reference) = self.reference.or_else(|| round.keys().next().copied()) else { return };
        self.reference = Some(reference);
        let Some(ours) = round.remove(&reference) else { return };
        if let Some(before) = self.before.take() {
            observe(&mut self.answers, Pair::SecondControl, &self.requests, &ours, &before);
        }
        for (place, theirs) in &round {
            observe(&mut self.answers, Pair::Candidate(*place), &self.requests, &ours, theirs);
        }
        self.before = Some(ours);
    }
}

/// The same requests to each arm.
struct Round<'a> {
    wanted: &'a Wanted<'a>,
    /// Places in the list; empty for a scenario.
    requests: &'a [usize],
    /// The number of requests, or of iterations of a scenario.
    most: usize,
    until: Instant,
    seed: u64,
}

impl Round<'_> {
    /// Sends the requests one after the other. At the end of the round, the responses so far are all.
    fn ask(&self, running: &Running) -> Result<Asked, Failed> {
        let work = &running.arm.work;
        let (work, routes, authority) = match work {
            Work::Targets(targets) => {
                let recording = self.wanted.recording;
                let (list, routes): (Vec<Target>, Vec<usize>) =
                    match recording.and_then(|from| Some((from, from.kept()?))) {
                        Some((from, kept)) => {
                            let list = from.kept_targets(&running.arm, self.requests);
                            let routes = self.requests.iter().map(|place| kept[*place]).collect();
                            (list.map_err(Failed::Recording)?, routes)
                        }
                        None => {
                            let request = |&place: &usize| {
                                (targets.list[place].clone(), targets.endpoint_of()[place] as usize)
                            };
                            self.requests.iter().map(request).unzip()
                        }
                    };
                // A compressed body could only be compared as a whole.
                let list: Vec<Target> =
                    list.into_iter().map(|target| target.without_header(ENCODING)).collect();
                let authority = list.first().map(|target| target.server.origin.authority.clone());
                (Work::Targets(Targets::new(list)), Some(routes), authority)
            }
            Work::Scenario { servers, .. } => {
                let authority = servers.first().map(|server| server.origin.authority.clone());
                (work.without_think(), None, authority)
            }
        };
        let authority = authority.unwrap_or_default();
        let collector = Collector::new(RESPONSES_MAX, BODY_MAX);
        let plan = Plan {
            requests: Some(self.most as u64),
            timeout: self.wanted.file.timeout,
            connecting: self.wanted.connecting.clone(),
            seed: self.seed,
            collector: Some(collector.clone()),
            ..Plan::new(work, Model::closed(NonZeroU32::MIN))
        };
        let mut drive = Drive::start(plan, &Watch { every: LOOK, ..Watch::default() })?;
        loop {
            let look = drive.look(|_| (self.wanted.interrupted)().then_some(Failed::Interrupted))?;
            if look.finished {
                break;
            }
            if Instant::now() >= self.until {
                drive.running().stop();
            }
        }
        drive.finish()?;
        let contents = |(place, collected): (usize, Collected)| {
            let route = routes.as_ref().map_or(Some(collected.endpoint), |routes| routes.get(place).copied());
            Some((route?, contents(&collected, &authority)))
        };
        Ok(collector.take().into_iter().enumerate().filter_map(contents).collect())
    }
}

/// Whether there is any response.
fn responds(asked: &Asked) -> bool {
    asked.iter().any(|(_, response)| response.status.is_some())
}

/// Requests to each of many values in its turn.
const VALUES_ASKED: usize = 16;
/// How often a round is looked at.
const LOOK: Duration = Duration::from_millis(2);
/// Responses of an arm in a round that are kept, and bytes of each.
const RESPONSES_MAX: usize = 64;
const BODY_MAX: usize = 64 << 10;
const ENCODING: &str = "accept-encoding";
