//! Do restarts of the same service differ, for as long as a process lives?
//!
//! The control and the second control are two processes of one command. They are measured in turns, twice each, and then both
//! are restarted: that is one occasion. Within an occasion the blocks of one process are as far apart as those of two, so that
//! a machine that becomes slower makes no difference of processes.

use super::arms::Candidate;
use super::block::Observed;
use super::stage::{End, Session};
use super::{Event, Failed};
use crate::launch::NoLaunch;
use config::experiment::Design as Asked;
use control::trial::{Arm, Conditions, Effect, Restarts};
use stats::Components;
use std::time::{Duration, Instant};

impl Session<'_> {
    /// Restarts the control and the second control several times, if the file asks for it, or if all services can be restarted and
    /// it takes at most a tenth of the time. Why the experiment ends, if it does.
    pub(super) fn measure_restarts(
        &mut self,
        events: &mut dyn FnMut(Event<'_>),
    ) -> Result<Option<End>, Failed> {
        let Some(occasions) = self.occasions() else { return Ok(None) };
        events(Event::Restarts { occasions });
        let mut conditions = Conditions::new(self.limits());
        let mut found: Vec<[Vec<f64>; 2]> = Vec::new();
        let (mut restarted, mut took) = (0_u32, Duration::ZERO);
        for attempt in 0..occasions + VOID_MAX {
            if found.len() == occasions {
                break;
            }
            // The processes that run already are the first occasion.
            if attempt > 0 {
                for arm in CONTROLS {
                    match self.restart(arm) {
                        Ok(after) => (restarted, took) = (restarted + 1, took + after),
                        Err(NoLaunch::Interrupted) => return Ok(Some(End::Interrupted)),
                        Err(why) => {
                            return Ok(Some(End::Other(format!("the control did not start again: {why}"))));
                        }
                    }
                }
            }
            match self.occasion(attempt > 0, &mut conditions) {
                Ok(values) => found.extend(values),
                Err(Failed::Interrupted) => return Ok(Some(End::Interrupted)),
                Err(error) => return Err(error),
            }
            if let Some(why) = self.control.ended() {
                return Ok(Some(End::Other(format!("the control is gone: {why}"))));
            }
        }
        let groups: Vec<Vec<&[f64]>> =
            found.iter().map(|processes| processes.iter().map(Vec::as_slice).collect()).collect();
        let takes = took / restarted.max(1) + self.warm_up_after_restart();
        // With fewer, no plan can be made of them.
        let enough = found.len() >= OCCASIONS_MIN;
        self.restarts = Components::of_occasions(&groups).filter(|_| enough).map(|components| Restarts {
            components,
            // Each occasion has one degree of freedom; so many restarts in a row have as many.
            count: found.len() + 1,
            takes,
        });
        let is_asked = self.wanted.file.design == Some(Asked::Restarts);
        let without = self.restarts.is_none() && is_asked;
        Ok(without
            .then(|| End::Other("restarts could not be compared: too few of their blocks count".to_owned())))
    }

    /// How often to restart; `None` if restarts are not compared.
    fn occasions(&self) -> Option<usize> {
        let file = self.wanted.file;
        self.second.as_ref()?;
        let is_asked = file.design == Some(Asked::Restarts);
        let has_command = |candidate: &Candidate| match candidate {
            Candidate::Runs(running) => running.arm.command.is_some(),
            Candidate::LeftOut { .. } => true,
        };
        let can = file.design.is_none() && self.candidates.iter().all(has_command);
        if !is_asked && !can {
            return None;
        }
        let part = file.block + self.settle_of_turns();
        let one = 2 * (self.started_within + file.warm_up) + 4 * part;
        let fits = (file.time / PART).as_secs_f64() / one.as_secs_f64().max(1e-3);
        let fits = (fits as usize).min(OCCASIONS_MAX);
        if is_asked {
            Some(fits.max(OCCASIONS_MIN))
        } else {
            Some(fits).filter(|fits| *fits >= OCCASIONS_MIN)
        }
    }

    /// The primary measure of both processes, in turns; `None` if a part does not count.
    fn occasion(
        &mut self,
        is_new: bool,
        conditions: &mut Conditions,
    ) -> Result<Option<[Vec<f64>; 2]>, Failed> {
        let seed = self.next_seed();
        let block = self.wanted.file.block;
        let mut values = [Vec::new(), Vec::new()];
        // The order is turned round, so that what rises steadily is the same for both.
        for (turn, order) in [[0, 1], [1, 0]].into_iter().enumerate() {
            for place in order {
                let times = self.times(self.settle_of_turns(), block, is_new && turn == 0);
                let observed = self.part(&[CONTROLS[place]], times, seed)?;
                let Some(one) = observed.first() else { return Ok(None) };
                if conditions.judge(CONTROLS[place], one.lag, &one.seen).is_some() {
                    return Ok(None);
                }
                values[place].extend(self.level(one));
            }
        }
        Ok(Some(values))
    }

    /// The primary measure, so that differences are effects.
    fn level(&self, observed: &Observed) -> Option<f64> {
        let chosen = self.measures.first()?;
        let value = chosen.value(observed)?;
        let level = match chosen.measure.effect {
            Effect::Ratio => value.ln(),
            Effect::Difference => value,
        };
        level.is_finite().then_some(level)
    }

    /// Starts the command of an arm anew: how long that took.
    fn restart(&mut self, arm: Arm) -> Result<Duration, NoLaunch> {
        let wanted = self.wanted;
        let begun = Instant::now();
        let running = match arm {
            Arm::Control => Some(&mut self.control),
            Arm::SecondControl => self.second.as_mut(),
            Arm::Candidate(at) => self.candidate(at),
        };
        let Some(running) = running else { return Ok(Duration::ZERO) };
        running.relaunch(wanted)?;
        Ok(begun.elapsed())
    }

    /// Restarts an arm before its turn: whether it runs. A candidate may fail to start.
    pub(super) fn restart_before_turn(&mut self, arm: Arm) -> Result<bool, Failed> {
        match (self.restart(arm), arm) {
            (Ok(_), _) => Ok(true),
            (Err(NoLaunch::Interrupted), _) => Err(Failed::Interrupted),
            (Err(_), Arm::Candidate(_)) => Ok(false),
            (Err(why), Arm::Control | Arm::SecondControl) => Err(Failed::Control(why)),
        }
    }

    /// What a new process needs beyond what each turn begins with.
    fn warm_up_after_restart(&self) -> Duration {
        self.wanted.file.warm_up.saturating_sub(self.settle_of_turns())
    }
}

const CONTROLS: [Arm; 2] = [Arm::Control, Arm::SecondControl];
/// With fewer occasions, only very different restarts are found.
const OCCASIONS_MIN: usize = 4;
const OCCASIONS_MAX: usize = 12;
/// Occasions that may be void.
const VOID_MAX: usize = 4;
/// The part of the time that restarts may take, if the file does not ask for them.
const PART: u32 = 10;
