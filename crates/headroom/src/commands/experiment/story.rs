//! What happens during an experiment, on standard error.

use crate::output::tell;
use config::experiment::{Experiment, Find};
use control::trial::{Finding, Verdict};
use study::experiment::Event;
use units::show_duration;

/// Tells what happens.
pub struct Story {
    variable: String,
    /// The values of the candidates.
    candidates: Vec<String>,
    /// What a candidate is called.
    of: &'static str,
    told: usize,
    blocks: usize,
}

impl Story {
    /// Of services.
    pub fn of(file: &Experiment) -> Self {
        let candidates = file.candidates.iter().map(|arm| arm.value.clone()).collect();
        let of = if file.find == Find::Differences { "\ncandidate" } else { "value" };
        Story { variable: file.variable.clone(), candidates, of, told: 0, blocks: 0 }
    }

    /// Of a gateway with its copies and without them.
    pub fn of_mirroring() -> Self {
        let (variable, candidates) = ("mirroring".to_owned(), vec!["on".to_owned()]);
        Story { variable, candidates, of: "candidate", told: 0, blocks: 0 }
    }

    pub fn tell(&mut self, event: &Event<'_>) {
        match event {
            Event::Starts(name) => tell(&format!("starting {name} ... ")),
            Event::Started { after, .. } => tell(&format!("ready after {:.1} s\n", after.as_secs_f64())),
            Event::LeftOut { name, why } => {
                tell(&format!("{} {name} is left out: {why}\n", self.of));
            }
            Event::WarmUp(length) => tell(&format!("warm-up of {} ...\n", show_duration(*length))),
            Event::NoiseFloor { .. } => tell("noise floor ...\n"),
            Event::Restarts { occasions } => {
                let times = occasions.saturating_sub(1);
                tell(&format!("restarting the control {times} times, to see whether restarts differ ...\n"));
            }
            Event::Planned(Ok(plan)) => tell(&format!("plan: {plan}\n")),
            Event::Planned(Err(why)) => tell(&format!("no plan: {why}\n")),
            Event::Block { counted, planned, void, primary } => {
                if let Some(void) = void {
                    tell(&format!("a block is void: {void}\n"));
                }
                self.blocks += 1;
                // The first verdicts, and then from time to time.
                if self.blocks >= self.told + EVERY {
                    self.told = self.blocks;
                    let verdict = primary.map_or_else(String::new, |verdict| self.verdict(verdict));
                    tell(&format!("{counted} of {planned} blocks{verdict}\n"));
                }
            }
            Event::Round { rounds, remaining, of, best, void } => {
                let void = if *void > 0 { format!(", {void} void") } else { String::new() };
                let best = best.map_or_else(String::new, |best| {
                    format!(": {remaining} of {of} values remain, the best so far is {best}")
                });
                tell(&format!("round {rounds}{best}{void}\n"));
            }
            Event::Stopped { name, why } => tell(&format!("candidate {name} was stopped: {why}\n")),
            Event::Changed { design, why } => tell(&format!("the design is now {design}, because {why}\n")),
        }
    }

    fn verdict(&self, verdict: &Verdict) -> String {
        let Some(estimate) = verdict.estimate else { return String::new() };
        let word = match verdict.finding {
            Finding::CannotTell => String::new(),
            finding => format!(", {finding}"),
        };
        let value = self.candidates.get(verdict.candidate).map_or("", String::as_str);
        format!(": {} {value} {:+.1} %{word}", self.variable, 100.0 * estimate)
    }

    pub fn end(&self) {
        tell("\n");
    }
}

/// Blocks from one line to the next.
const EVERY: usize = 5;
