//! Turns the events of a search into progress on standard error, and records each of its parts in the ledger.

use super::story::Story;
use crate::recorder::{About, Begun, Recorder};
use control::search::rhythm::Rhythm;
use report::{quantile, rate};
use serde_json::{Value as Json, json};
use std::time::Duration;
use study::find::{Came, Event, Part};
use units::{Quantile, show_duration};

/// Receives the events of a search.
pub struct Listener<'a> {
    story: &'a Story,
    recorder: &'a mut Recorder,
    /// The search, which the parts belong to.
    run: Begun,
    target: &'a str,
    /// The part in progress.
    part: Option<Begun>,
}

impl<'a> Listener<'a> {
    /// No part has started yet; the parts belong to `run`.
    pub fn new(story: &'a Story, recorder: &'a mut Recorder, run: Begun, target: &'a str) -> Self {
        Listener { story, recorder, run, target, part: None }
    }

    /// Receives one event.
    pub fn hear(&mut self, event: Event<'_>) {
        match event {
            Event::TimeLimit(whole) => self.story.ends_after(whole),
            Event::Goal(goal) => self.story.tell(&format!("the goal: {goal}")),
            Event::Begins(part) => {
                let command = format!("find: {}", name(part));
                let config = config(part).to_string();
                let about = About { command: &command, target: self.target, config, parent: Some(self.run) };
                self.part = Some(self.recorder.begin(about));
            }
            Event::Runs(part, now) => self.story.show(&name(part), now),
            Event::Ended { part, came, measured } => {
                if let Some(begun) = self.part.take() {
                    self.recorder.finish(begun, Some(measured), Some(result(&came).to_string()));
                }
                let p50 = || quantile(&measured.response, Quantile::P50);
                self.story.tell(&format!("{}: {}", name(part), words(&came, p50)));
            }
            Event::Halted { halt, .. } => {
                if let Some(begun) = self.part.take() {
                    self.recorder.fail(begun, &halt.to_string());
                }
            }
            Event::Knee(knee) => self.story.tell(&format!(
                "the knee: {} in flight; at best {}; {}",
                knee.knee,
                rate(knee.best),
                knee.stopped
            )),
            Event::Waits => self.story.waiting("waiting until the service is calm"),
            Event::CalmAgain { calm: false, after } => {
                self.story.tell(&format!("not calm again after {}", show_duration(after)));
            }
            Event::CalmAgain { after, .. } => {
                if after >= WORTH_TELLING {
                    self.story.tell(&format!("calm again after {}", show_duration(after)));
                }
            }
        }
    }
}

fn name(part: &Part) -> String {
    match part {
        Part::Calm => "calm".to_owned(),
        Part::ClosedStep { connections } => format!("closed loop, {connections} in flight"),
        Part::Trial { trial, .. } => format!("{} ({})", rate(trial.rate), purpose(part)),
        Part::Recovery { rate: back } => format!("{} ({})", rate(*back), purpose(part)),
    }
}

fn purpose(part: &Part) -> String {
    match part {
        Part::Calm => "calm".to_owned(),
        Part::ClosedStep { .. } => "closed loop".to_owned(),
        Part::Trial { prove: true, .. } => "show the overload".to_owned(),
        Part::Trial { trial, .. } => trial.purpose.to_string(),
        Part::Recovery { .. } => "recovery".to_owned(),
    }
}

/// What the ledger records of a part when it starts.
fn config(part: &Part) -> Json {
    let purpose = purpose(part);
    match part {
        Part::Calm => json!({ "purpose": purpose }),
        Part::ClosedStep { connections } => json!({ "purpose": purpose, "connections": connections }),
        Part::Trial { trial, .. } => json!({ "purpose": purpose, "rate": trial.rate.per_second() }),
        Part::Recovery { rate } => json!({ "purpose": purpose, "rate": rate.per_second() }),
    }
}

/// What the ledger records of a part when it has ended.
fn result(came: &Came<'_>) -> Json {
    let seconds = |span: Duration| span.as_secs_f64();
    match came {
        Came::Calm(calm) => {
            json!({ "clusters": calm.rhythm.clusters, "gap_s": calm.rhythm.gap.map(seconds) })
        }
        Came::Step(measured) => json!({ "throughput_per_second": measured.throughput.per_second() }),
        Came::Trial(judged) => {
            json!({ "verdict": judged.verdict(), "ran_s": seconds(judged.outcome.ran) })
        }
        Came::Recovery(recovery) => json!({ "after_s": recovery.after.map(seconds) }),
    }
}

fn words(came: &Came<'_>, p50: impl FnOnce() -> String) -> String {
    match came {
        Came::Calm(calm) => {
            format!("{} at the median; {}", show_duration(calm.median), rhythm(&calm.rhythm))
        }
        Came::Step(measured) => format!("{}, p50 {}", rate(measured.throughput), p50()),
        Came::Trial(judged) => {
            format!("{}; {} of load", judged.verdict(), show_duration(judged.outcome.ran))
        }
        Came::Recovery(recovery) => match recovery.after {
            Some(after) => format!("the goal holds again after {}", show_duration(after)),
            None => format!("the goal does not hold again within {}", show_duration(recovery.limit)),
        },
    }
}

fn rhythm(rhythm: &Rhythm) -> String {
    match (rhythm.clusters, rhythm.gap) {
        (0, _) => "no clusters of late responses".to_owned(),
        (_, Some(gap)) => format!(
            "late responses in clusters, one every {}, so a full trial lasts at least {}",
            show_duration(gap),
            show_duration(rhythm.shortest_trial())
        ),
        (_, None) => "one cluster of late responses".to_owned(),
    }
}

/// Shorter waits are normal and not printed.
const WORTH_TELLING: Duration = Duration::from_secs(2);
