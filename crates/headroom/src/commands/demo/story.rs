//! The four phases: calm, collapse, policy, after.

use super::stage::{Policy, Stage, stood_still};
use crate::output;
use crate::recorder::{About, Begun, Recorder};
use control::policy::Transition;
use documents::demo::{Phase, Story};
use measure::Measurement;
use std::num::NonZeroU32;
use std::time::Duration;
use thiserror::Error;
use units::{Rate, Timestamp, show_duration};

/// Why the story was not told to its end.
#[derive(Debug, Error)]
#[allow(missing_docs)]
pub enum StoryError {
    #[error("the built-in service cannot run")]
    Service(#[from] sample::Error),
    #[error("the gateway cannot run")]
    Gateway(#[from] ::gateway::GatewayError),
    #[error("no load can be driven")]
    Load(#[from] ::load::StartError),
    #[error("no load can be sent")]
    Target(#[from] ::load::TargetError),
    #[error("cannot listen for signals")]
    Signals(#[source] std::io::Error),
    #[error("the service was not calm after {}", show_duration(*waited))]
    NeverCalm { waited: Duration },
    #[error("interrupted")]
    Interrupted,
}

/// Tells the story, on standard error as it goes.
pub fn tell(recorder: &mut Recorder, run: Begun) -> Result<Story, StoryError> {
    let mut stage = Stage::set()?;
    output::tell(&format!(
        "headroom demo: overload of a service, without and with a policy of the gateway\n\n\
         The built-in service carries 107 requests a second, and fewer with more than 12 in flight.\n\
         The gateway in front of it listens on {}. All traffic stays on this machine.\n\n",
        stage.address()
    ));
    let mut teller = Teller { recorder, run, story: Story::default(), ended: Timestamp::ZERO };

    teller.play(&mut stage, &CALM)?;
    teller.play(&mut stage, &COLLAPSE)?;
    teller.story.calm_after = stage.until_calm()?.since(teller.ended);
    output::tell(&format!(
        "pause     no load: the service is calm again after {}\n",
        show_duration(teller.story.calm_after)
    ));

    let limit = Rate::per_second_of(100.0);
    let policy = Policy { limit, concurrency: KNEE, target: Duration::from_millis(50) };
    stage.protect(Some(policy))?;
    teller.play(&mut stage, &POLICY)?;
    let flood_ended = teller.ended;
    teller.play(&mut stage, &AFTER)?;
    teller.note_lifting(&mut stage, flood_ended);
    stage.strike()?;
    Ok(teller.story)
}

/// One phase as it is planned.
struct Act {
    name: &'static str,
    rate: f64,
    length: Duration,
    told: &'static str,
    /// A phase that continues the one before cannot be repeated alone.
    repeatable: bool,
}

const CALM: Act = Act {
    name: "calm",
    rate: 100.0,
    length: Duration::from_secs(12),
    told: "100 requests a second without a policy: below the limit of the service",
    repeatable: true,
};

const COLLAPSE: Act = Act {
    name: "collapse",
    rate: 110.0,
    length: Duration::from_secs(15),
    told: "110 requests a second without a policy: just above the limit",
    repeatable: true,
};

const POLICY: Act = Act {
    name: "policy",
    rate: 110.0,
    length: Duration::from_secs(20),
    told: "110 requests a second; while slower than 50 ms, 100/s are admitted",
    repeatable: true,
};

const AFTER: Act = Act {
    name: "after",
    rate: 90.0,
    length: Duration::from_secs(14),
    told: "90 requests a second: the policy lifts its limit by itself",
    repeatable: false,
};

/// The service's knee: up to 12 in flight it keeps its full capacity.
const KNEE: NonZeroU32 = NonZeroU32::new(12).expect("12 is not 0");

/// All repeats must end within this time of the beginning: the story is short, or nobody watches it.
const REPEAT_UNTIL: Duration = Duration::from_secs(40);

struct Teller<'a> {
    recorder: &'a mut Recorder,
    run: Begun,
    story: Story,
    /// When the schedule of the last phase ended.
    ended: Timestamp,
}

impl Teller<'_> {
    fn play(&mut self, stage: &mut Stage, act: &Act) -> Result<(), StoryError> {
        output::tell(&format!("{:<9} {}\n", act.name, act.told));
        let mut repeated = 0;
        loop {
            let config = serde_json::json!({
                "phase": act.name,
                "rate": act.rate,
                "arrivals": "even",
                "duration_s": act.length.as_secs_f64(),
            });
            let about = About {
                command: "demo",
                target: "/search.cgi of the built-in service",
                config: config.to_string(),
                parent: Some(self.run),
            };
            let part = self.recorder.begin(about);
            let start = stage.now();
            let measured = match stage.drive(Rate::per_second_of(act.rate), act.length) {
                Ok(measured) => measured,
                Err(error) => {
                    self.recorder.fail(part, &error.to_string());
                    return Err(error);
                }
            };
            self.ended = start + act.length;
            self.recorder.finish(part, Some(&measured), None);
            match stood_still(&measured) {
                Some(longest) if act.repeatable && stage.now().since(Timestamp::ZERO) < REPEAT_UNTIL => {
                    repeated += 1;
                    output::tell(&format!(
                        "          this machine paused for {}: the phase is repeated\n",
                        show_duration(longest)
                    ));
                    stage.until_calm()?;
                }
                longest => {
                    if let Some(longest) = longest {
                        output::tell(&format!(
                            "          this machine paused for {}\n",
                            show_duration(longest)
                        ));
                    }
                    self.keep(act, start, &measured, repeated);
                    return Ok(());
                }
            }
        }
    }

    fn keep(&mut self, act: &Act, start: Timestamp, measured: &Measurement, repeated: u32) {
        let phase = Phase::of(act.name, act.length, measured, repeated);
        output::tell(&format!("          {}\n", phase.line()));
        // Whole seconds, as the series has them.
        let start = Duration::from_secs(start.as_nanos().div_ceil(1_000_000_000));
        self.story.series.append(start, &measured.series);
        self.story.spans.push(report::Phase { name: act.name.to_owned(), start, end: start + act.length });
        self.story.phases.push(phase);
    }

    /// Notes what the policy did, and when its limit was lifted after the flood.
    fn note_lifting(&mut self, stage: &mut Stage, flood_ended: Timestamp) {
        let mut lifted = None;
        for change in stage.changes() {
            let label = match change.transition {
                Transition::Engaged { .. } => "limit applies",
                Transition::Lifted { .. } => {
                    if change.at >= flood_ended {
                        lifted = lifted.or(Some(change.at.since(flood_ended)));
                    }
                    "limit lifted"
                }
            };
            self.story
                .marks
                .push(report::Mark { at: change.at.since(Timestamp::ZERO), label: label.to_owned() });
        }
        match lifted {
            Some(after) => output::tell(&format!(
                "          the limit was lifted {} after the overload\n",
                show_duration(after)
            )),
            None => output::tell("          the limit was not lifted within this phase\n"),
        }
        if let Some(phase) = self.story.phases.last_mut() {
            phase.limit_lifted_after_s = Some(lifted.map(|after| after.as_secs_f64()));
        }
    }
}
