//! Who decides, wired to what it sees. The decisions themselves are made in `control`.

mod aws;
mod hpa;
mod knative;

use super::MINUTE;
use super::fleet::{Counts, Fleet};
use crate::outcome::{Decision, Log};
use crate::plant::Window;
use crate::settings::{Policy, Service};
use aws::Aws;
use control::assumption::Assumption;
use hpa::Hpa;
use knative::Knative;
use std::time::Duration;
use units::{InstanceCount, Timestamp};

/// What a policy sees.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seen<'s> {
    pub(crate) now: Timestamp,
    pub(crate) fleet: &'s Fleet<'s>,
    pub(crate) counts: Counts,
    /// What happened since it last saw something.
    pub(crate) window: &'s Window,
}

/// How often a controller reads and decides.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rhythm {
    /// At most a minute.
    pub(crate) reads: Duration,
    /// At most a minute.
    pub(crate) decides: Duration,
    /// What it reads least often: at least a minute.
    pub(crate) coarse: Duration,
}

/// Who decides.
#[derive(Debug)]
pub(crate) enum Controller {
    /// Nobody.
    None,
    /// Nobody, because its settings cannot be.
    Refused(Vec<String>),
    /// CloudWatch and Auto Scaling.
    Aws(Box<Aws>),
    /// Kubernetes.
    Hpa(Box<Hpa>),
    /// Knative.
    Knative(Box<Knative>),
}

impl Controller {
    /// `ready` instances serve at the beginning.
    pub(crate) fn new(policy: &Policy, ready: InstanceCount) -> Self {
        match policy {
            Policy::None => Controller::None,
            Policy::Aws(settings) => match Aws::new(settings) {
                Ok(aws) => Controller::Aws(Box::new(aws)),
                Err(problems) => Controller::Refused(problems),
            },
            Policy::Hpa(settings) => match Hpa::new(settings) {
                Ok(hpa) => Controller::Hpa(Box::new(hpa)),
                Err(problems) => Controller::Refused(problems),
            },
            Policy::Knative(settings) => match Knative::new(settings, ready) {
                Ok(knative) => Controller::Knative(Box::new(knative)),
                Err(problems) => Controller::Refused(problems),
            },
        }
    }

    /// How often its metrics are read, and how often it decides; both divide a minute.
    pub(crate) fn rhythm(&self) -> Rhythm {
        match self {
            Controller::None | Controller::Refused(_) => {
                Rhythm { reads: MINUTE, decides: MINUTE, coarse: MINUTE }
            }
            Controller::Aws(aws) => aws.rhythm(),
            Controller::Hpa(hpa) => hpa.rhythm(),
            Controller::Knative(_) => Knative::RHYTHM,
        }
    }

    pub(crate) fn assumptions(&self) -> Vec<Assumption> {
        match self {
            Controller::None | Controller::Refused(_) => Vec::new(),
            Controller::Aws(aws) => aws.assumptions(),
            Controller::Hpa(_) => Hpa::assumptions(),
            Controller::Knative(_) => Knative::assumptions(),
        }
    }

    /// Why it decides nothing.
    pub(crate) fn refused(&self) -> &[String] {
        match self {
            Controller::Refused(problems) => problems,
            _ => &[],
        }
    }

    /// The most instances that it may ask for now, where that changes.
    pub(crate) fn max(&self) -> Option<u32> {
        match self {
            Controller::Aws(aws) => Some(aws.max()),
            _ => None,
        }
    }

    /// The time between two of its readings has passed, where that is shorter than a minute.
    pub(crate) fn see_step(&mut self, seen: Seen<'_>) {
        match self {
            Controller::None | Controller::Refused(_) => {}
            Controller::Aws(aws) => aws.see_step(seen),
            Controller::Hpa(hpa) => hpa.see_step(seen),
            Controller::Knative(knative) => knative.see_step(seen),
        }
    }

    /// A minute has passed.
    pub(crate) fn see_minute(&mut self, seen: Seen<'_>) {
        match self {
            Controller::None | Controller::Refused(_) | Controller::Hpa(_) | Controller::Knative(_) => {}
            Controller::Aws(aws) => aws.see_minute(seen),
        }
    }

    /// How many instances it wants, where it says so.
    pub(crate) fn decide(&mut self, seen: Seen<'_>, log: &mut Log<Decision>) -> Option<u32> {
        match self {
            Controller::None | Controller::Refused(_) => None,
            Controller::Aws(aws) => aws.decide(seen, log),
            Controller::Hpa(hpa) => hpa.decide(seen, log),
            Controller::Knative(knative) => knative.decide(seen, log),
        }
    }
}

/// Why the policy of a service would not run, in words.
pub(crate) fn policy_problems(service: &Service) -> Vec<String> {
    match Controller::new(&service.scaling.policy, service.instances) {
        Controller::Refused(problems) => problems,
        _ => Vec::new(),
    }
}
