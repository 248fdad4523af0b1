//! A trial: which block to run next, when to stop, and the verdicts.
//!
//! Verdicts are valid at every look and after any stop, so that the caller may look, stop or extend a trial at any time.
//!
//! ## How soon harm is found
//! A sign is worth at most a doubling of the evidence, so that no difference is certain before about ten blocks, however
//! large it is. Short blocks find harm sooner. A candidate that gives no response at all is stopped after a few blocks,
//! without statistics.

use super::block::{Arm, Assignment, Block, Purpose, Seen};
use super::design::{Design, Why};
use super::ended::{Ended, Stopped, mostly_void};
use super::measure::Measure;
use super::noise::NoiseFloor;
use super::probes::{Probes, Probing};
use super::settings::{Ends, Settings, TrialError};
use super::verdict::{Finding, Verdict, finding};
use super::void::{Usual, Void};
use alloc::vec;
use alloc::vec::Vec;
use core::time::Duration;
use stats::{Centre, Interval, Rng};

/// What the caller does next.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Run this block and report it to [`Trial::observe`].
    Block(Assignment),
    /// The trial has ended.
    Done(Ended),
}

/// What a block changed.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Looked {
    /// Why the block does not count.
    pub void: Option<Void>,
    /// Candidates that were stopped at this look.
    pub stopped: Vec<(usize, Stopped)>,
    /// The design that the trial changed to, and why. The blocks so far do not count any more, and as many as planned are
    /// run again; the noise of the new design may need more ([`Trial::extend`]).
    pub changed: Option<(Design, Why)>,
}

/// The trial as a state machine.
#[derive(Debug, Clone)]
pub struct Trial {
    settings: Settings,
    design: Design,
    candidates: Vec<Candidate>,
    probes: Option<Probes>,
    /// The next blocks, the last one first.
    pending: Vec<Assignment>,
    /// The control's primary measure in the two blocks of a probe, once they are observed.
    alone: Option<Option<f64>>,
    among_others: Option<Option<f64>>,
    usual: Usual,
    usual_alone: Usual,
    /// Differences of the second control, by measure.
    noise: Vec<Vec<f64>>,
    /// Successive blocks without a response of the control, and of the second control.
    silent: [u32; 2],
    counted: usize,
    void: Vec<Void>,
    abandoned: usize,
}

#[derive(Debug, Clone)]
struct Candidate {
    /// One for each measure.
    centres: Vec<Centre>,
    /// Successive blocks without a response.
    dead: u32,
    stopped: Option<Stopped>,
}

impl Trial {
    /// A trial that has not started.
    ///
    /// # Errors
    /// Without a candidate or a primary measure, or with a risk that is no probability.
    pub fn new(settings: Settings) -> Result<Self, TrialError> {
        settings.check()?;
        let probes = settings.probes.filter(|_| settings.design.is_at_once());
        let settings = Settings { probes, ..settings };
        let probes = probes.map(|bound| Probes::new(settings.measures[settings.primary], bound));
        let candidate = Candidate { centres: centres(&settings, settings.spread), dead: 0, stopped: None };
        Ok(Trial {
            design: settings.design,
            candidates: vec![candidate; settings.candidates],
            probes,
            pending: Vec::new(),
            alone: None,
            among_others: None,
            usual: Usual::default(),
            usual_alone: Usual::default(),
            noise: vec![Vec::new(); settings.measures.len()],
            silent: [0; 2],
            counted: 0,
            void: Vec::new(),
            abandoned: 0,
            settings,
        })
    }

    /// What to do next. Repeated calls return the same step, until it is observed.
    pub fn next(&mut self, rng: &mut Rng) -> Step {
        if let Some(ended) = self.ended() {
            return Step::Done(ended);
        }
        if self.pending.is_empty() {
            self.pending.push(self.compare(rng));
            if self.probing() == Some(Probing::Open) {
                let at = rng.below(2);
                self.pending.insert(at, self.probe());
            }
        }
        let next = self.pending.last().expect("a block was added above");
        Step::Block(next.clone())
    }

    /// Records what was observed in the requested block. Without a request nothing is recorded.
    pub fn observe(&mut self, block: &Block) -> Looked {
        let Some(assigned) = self.pending.pop() else { return Looked::default() };
        let usual = match assigned.purpose {
            Purpose::Compare => &mut self.usual,
            Purpose::Probe => &mut self.usual_alone,
        };
        let mut looked =
            Looked { void: usual.judge(&self.settings.limits, &assigned.arms, block), ..Looked::default() };
        if assigned.purpose == Purpose::Compare {
            self.find_dead(&assigned, block);
        }
        match looked.void {
            Some(void) => {
                self.void.push(void);
                // Half of a probe says nothing.
                (self.alone, self.among_others) = (None, None);
                self.pending.retain(|next| next.purpose == Purpose::Compare);
            }
            None if assigned.purpose == Purpose::Compare => {
                self.counted += 1;
                self.add(&assigned, block);
            }
            None => self.alone = block.arms.first().map(|seen| self.primary_of(seen)),
        }
        let requests = block.arms.first().map_or(0, |seen| seen.offered);
        looked.changed = self.find_disturbance(requests);
        looked.stopped = self.stop();
        looked
    }

    /// The verdicts so far: for each candidate, one for each measure. While probes are open there is no finding, because
    /// arms that disturb each other are compared wrongly.
    pub fn verdicts(&self) -> Vec<Verdict> {
        let open = self.probing() == Some(Probing::Open);
        let of_candidate = |(candidate, each): (usize, &Candidate)| {
            let measures = self.settings.measures.iter().zip(&each.centres).enumerate();
            let verdict = measures.map(move |(place, (measure, centre))| {
                let verdict = Verdict::new(candidate, place, measure, centre);
                if open { verdict.withheld() } else { verdict }
            });
            verdict.collect::<Vec<_>>()
        };
        self.candidates.iter().enumerate().flat_map(of_candidate).collect()
    }

    /// Why the trial ended; `None` while it runs.
    pub fn ended(&self) -> Option<Ended> {
        if !self.candidates.is_empty() && self.candidates.iter().all(|each| each.stopped.is_some()) {
            return Some(Ended::Stopped);
        }
        for (arm, blocks) in [Arm::Control, Arm::SecondControl].into_iter().zip(self.silent) {
            if blocks >= self.settings.dead_after.max(1) {
                return Some(Ended::Silent { arm, blocks });
            }
        }
        if let Some(ended) = mostly_void(&self.void, self.counted) {
            return Some(ended);
        }
        if self.probing() == Some(Probing::Open) {
            return None;
        }
        let primary = self.settings.primary;
        let measure = &self.settings.measures[primary];
        let is_decided = |each: &Candidate| finding(measure, &each.centres[primary]) != Finding::CannotTell;
        let half_width = |each: &Candidate| {
            let Interval { low, high } = each.centres[primary].interval();
            0.5 * (measure.shown(high) - measure.shown(low))
        };
        let mut running = self.candidates.iter().filter(|each| each.stopped.is_none());
        let early = match self.settings.ends {
            _ if self.candidates.is_empty() => None,
            Ends::AsPlanned => None,
            Ends::WhenDecided => running.all(is_decided).then_some(Ended::Decided),
            // An interval without any value is none.
            Ends::WhenPrecise(wanted) => {
                running.all(|each| (0.0..=wanted).contains(&half_width(each))).then_some(Ended::Precise)
            }
        };
        early.or_else(|| (self.counted >= self.settings.blocks).then_some(Ended::AsPlanned))
    }

    /// Plans more blocks: the verdicts of a longer trial are as valid, and a little wider than if it had been planned so.
    pub fn extend(&mut self, blocks: usize) {
        self.settings.blocks = self.settings.blocks.saturating_add(blocks);
    }

    /// The present design.
    pub fn design(&self) -> Design {
        self.design
    }

    /// The settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Blocks that count.
    pub fn counted(&self) -> usize {
        self.counted
    }

    /// The reasons of the blocks that do not.
    pub fn void(&self) -> &[Void] {
        &self.void
    }

    /// Blocks that were given up with an earlier design.
    pub fn abandoned(&self) -> usize {
        self.abandoned
    }

    /// Whether and why a candidate was stopped.
    pub fn stopped(&self, candidate: usize) -> Option<Stopped> {
        self.candidates.get(candidate).and_then(|each| each.stopped)
    }

    /// What the other arms change of the control; `None` if it is not probed.
    pub fn probes(&self) -> Option<&Probes> {
        self.probes.as_ref()
    }

    /// How much the second control differs from the control, in one measure; `None` without a second control.
    pub fn noise_floor(&self, measure: usize) -> Option<NoiseFloor> {
        let differences = self.noise.get(measure).filter(|each| !each.is_empty())?;
        Some(NoiseFloor::of(differences))
    }

    fn probing(&self) -> Option<Probing> {
        self.probes.as_ref().map(Probes::state)
    }

    /// A block that compares all arms, in random order.
    fn compare(&self, rng: &mut Rng) -> Assignment {
        let running = self.candidates.iter().enumerate().filter(|(_, each)| each.stopped.is_none());
        let mut arms: Vec<Arm> = core::iter::once(Arm::Control)
            .chain(self.settings.second_control.then_some(Arm::SecondControl))
            .chain(running.map(|(at, _)| Arm::Candidate(at)))
            .collect();
        rng.shuffle(&mut arms);
        let is_first = self.counted + self.void.len() + self.abandoned == 0;
        let settles = match self.design {
            // Arms that were stopped for a probe start again.
            Design::Duet => is_first || self.probing() == Some(Probing::Open),
            Design::Alternating => is_first,
            Design::Slices | Design::Restarts => true,
        };
        Assignment {
            purpose: Purpose::Compare,
            arms,
            at_once: self.design.is_at_once(),
            restart: self.design == Design::Restarts,
            settle: if settles { self.settings.settle } else { Duration::ZERO },
            measured: self.settings.measured,
        }
    }

    fn probe(&self) -> Assignment {
        Assignment {
            purpose: Purpose::Probe,
            arms: vec![Arm::Control],
            at_once: false,
            restart: false,
            settle: self.settings.settle,
            measured: self.settings.measured,
        }
    }

    fn primary_of(&self, seen: &Seen) -> Option<f64> {
        seen.values.get(self.settings.primary).copied().flatten()
    }

    fn add(&mut self, assigned: &Assignment, block: &Block) {
        let of = |arm: Arm| {
            let place = assigned.arms.iter().position(|each| *each == arm)?;
            block.arms.get(place)
        };
        let Some(control) = of(Arm::Control) else { return };
        self.among_others = Some(self.primary_of(control));
        let value = |seen: &Seen, place: usize| seen.values.get(place).copied().flatten();
        for (place, measure) in self.settings.measures.iter().enumerate() {
            let difference = |seen: &Seen| measure.difference(value(control, place), value(seen, place));
            for (at, candidate) in self.candidates.iter_mut().enumerate() {
                let Some(seen) = of(Arm::Candidate(at)) else { continue };
                if let Some(difference) = difference(seen) {
                    let requests = control.offered.min(seen.offered);
                    candidate.centres[place].add(difference, measure.resolution(requests));
                }
            }
            self.noise[place].extend(of(Arm::SecondControl).and_then(difference));
        }
    }

    /// Counts blocks in which a control does not respond, or a candidate while the control does, whether they are void or not:
    /// what a dead service does to its host may make them so.
    fn find_dead(&mut self, assigned: &Assignment, block: &Block) {
        let arms = || assigned.arms.iter().zip(&block.arms);
        let responds = arms().any(|(arm, seen)| *arm == Arm::Control && seen.answered > 0);
        for (arm, seen) in arms() {
            let count = match *arm {
                Arm::Control => &mut self.silent[0],
                Arm::SecondControl => &mut self.silent[1],
                Arm::Candidate(at) if responds => &mut self.candidates[at].dead,
                Arm::Candidate(_) => continue,
            };
            let is_silent = seen.answered == 0 && seen.offered > 0;
            *count = if is_silent { *count + 1 } else { 0 };
        }
    }

    /// Ends the probes when they are decided, and changes the design if the arms disturb each other.
    fn find_disturbance(&mut self, requests: u64) -> Option<(Design, Why)> {
        if self.probing() != Some(Probing::Open) || !self.pending.is_empty() {
            return None;
        }
        let probes = self.probes.as_mut()?;
        if let (Some(alone), Some(among)) = (self.alone.take(), self.among_others.take()) {
            probes.add(alone, among, requests);
        }
        if probes.state() != Probing::Disturbed {
            return None;
        }
        let change = probes.change();
        let at_least = if change.low > 0.0 { change.low } else { change.high };
        self.design = Design::Slices;
        self.usual = Usual::default();
        self.abandoned = self.counted;
        self.counted = 0;
        self.void.clear();
        self.noise.iter_mut().for_each(Vec::clear);
        for candidate in &mut self.candidates {
            // The noise of the duet is not that of the slices.
            candidate.centres = centres(&self.settings, None);
        }
        Some((self.design, Why::Disturbed { at_least }))
    }

    /// Stops candidates that are dead or do harm.
    fn stop(&mut self) -> Vec<(usize, Stopped)> {
        let Settings { measures, dead_after, .. } = &self.settings;
        let mut stopped = Vec::new();
        for (at, candidate) in self.candidates.iter_mut().enumerate() {
            if candidate.stopped.is_none() {
                candidate.stopped = candidate.dead_for(*dead_after).or_else(|| candidate.harm(measures));
                stopped.extend(candidate.stopped.map(|why| (at, why)));
            }
        }
        if !stopped.is_empty() {
            // The next block is without them.
            self.pending.clear();
            (self.alone, self.among_others) = (None, None);
        }
        stopped
    }
}

impl Candidate {
    fn dead_for(&self, after: u32) -> Option<Stopped> {
        (self.dead >= after.max(1)).then_some(Stopped::Dead { blocks: self.dead })
    }

    fn harm(&self, measures: &[Measure]) -> Option<Stopped> {
        measures.iter().zip(&self.centres).enumerate().find_map(|(place, (measure, centre))| {
            let interval = Some(centre.interval()).filter(|interval| !interval.is_empty())?;
            let at_least = measure.worse_by(interval);
            (at_least > measure.harm?).then_some(Stopped::Harm { measure: place, at_least })
        })
    }
}

/// The intervals of one candidate.
fn centres(settings: &Settings, spread: Option<f64>) -> Vec<Centre> {
    let of = |measure: usize| {
        let centre = Centre::new(settings.risk_of(measure), settings.blocks);
        match spread.filter(|_| measure == settings.primary) {
            Some(spread) => centre.with_scale(spread),
            None => centre,
        }
    };
    (0..settings.measures.len()).map(of).collect()
}

#[cfg(test)]
mod tests;
