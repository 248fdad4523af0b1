//! Who decides, wired to what it sees. The decisions themselves are made in `control`.

use super::MINUTE;
use super::fleet::{Counts, Fleet};
use crate::outcome::{Decision, Log};
use crate::plant::Window;
use crate::settings::{Policy, Scaling};
use control::assumption::Assumption;
use std::time::Duration;
use units::{InstanceCount, Timestamp};

/// What a policy knows besides metrics.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Facts {
    pub(crate) counts: Counts,
    /// A deployment is in progress.
    pub(crate) rolling: bool,
}

/// Who decides.
#[derive(Debug)]
pub(crate) enum Controller {
    /// Nobody.
    None,
    /// A list of times.
    Manual { changes: Vec<(Duration, InstanceCount)>, done: usize },
}

impl Controller {
    pub(crate) fn new(scaling: &Scaling) -> Self {
        match &scaling.policy {
            Policy::None => Controller::None,
            Policy::Manual(changes) => Controller::Manual { changes: changes.clone(), done: 0 },
        }
    }

    /// How often it looks; divides a minute.
    pub(crate) fn step(&self) -> Duration {
        MINUTE
    }

    pub(crate) fn assumptions(&self) -> Vec<Assumption> {
        Vec::new()
    }

    /// A step has passed.
    pub(crate) fn see(&mut self, _now: Timestamp, _window: &Window, _fleet: &Fleet<'_>) {}

    /// A minute has passed.
    pub(crate) fn publish(&mut self, _now: Timestamp, _minute: &Window, _fleet: &Fleet<'_>) {}

    /// How many instances it wants, where it says so.
    pub(crate) fn decide(
        &mut self,
        now: Timestamp,
        _whole_minute: bool,
        facts: Facts,
        log: &mut Log<Decision>,
    ) -> Option<u32> {
        match self {
            Controller::None => None,
            Controller::Manual { changes, done } => {
                let mut wanted = None;
                while let Some((at, count)) =
                    changes.get(*done).filter(|(at, _)| Timestamp::ZERO + *at <= now)
                {
                    *done += 1;
                    wanted = Some(count.get());
                    let from = facts.counts.desired;
                    log.note_with(now, || Decision {
                        from,
                        to: count.get(),
                        policy: "by hand".to_owned(),
                        reason: format!("planned for {} s", at.as_secs()),
                    });
                }
                wanted
            }
        }
    }
}
