//! The autoscaler of one service: what it reads, how often, and what it decides.
//!
//! ## Scope
//! A shell, simulated or live, turns its fleet into an [`Observation`] as often as the [`Rhythm`] says, asks for a
//! [`Verdict`], and applies it. Everything between the two is in this module: which samples form which metric, when a
//! policy is evaluated, which refusals are reported again, and which assumptions are made.

mod aws;
mod hpa;
mod keda;
mod knative;
mod observation;
mod query;
mod settings;
mod shell;
mod view;

pub use observation::{Fleet, Instance, Observation, Requests};
pub use query::Recorded;
pub use settings::{
    AwsScaling, HpaScaling, KedaInput, KedaScaling, KnativeScaling, Metric, Outage, PodMetric, Policy,
    Published, Query, ScalingNames,
};
pub use shell::{Instances, Part, Shell, Span, is_due};
pub use view::{Cooldown, PolicyView, Upcoming, UpcomingKind, View};

use crate::assumption::Assumption;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use aws::Aws;
use core::time::Duration;
use hpa::Hpa;
use keda::Keda;
use knative::Knative;
use units::{InstanceCount, Timestamp};

/// How often a controller reads and decides. The shell reads at multiples of `reads`, of a minute and of `coarse`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rhythm {
    /// The shortest span that it reads: at most a minute, and a divisor of it.
    pub reads: Duration,
    /// The time from one decision to the next: at most a minute, and a divisor of it.
    pub decides: Duration,
    /// The longest span that it reads: a minute or a multiple of it.
    pub coarse: Duration,
}

/// The decision of a controller.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verdict {
    /// The desired number of instances, if it decided one.
    pub desired: Option<u32>,
    /// The size as it is was computed to be the right one. Policies that only request changes do not compute it.
    pub keeps: bool,
    /// The decisions to report.
    pub decisions: Vec<Decision>,
}

/// A policy's decision to change the count, or its reason not to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// The desired count before.
    pub from: u32,
    /// The desired count from now on; the same where nothing changes.
    pub to: u32,
    /// The policy that decided, by its name in the settings.
    pub policy: String,
    /// The reason, in the vendor's own words.
    pub reason: String,
}

/// The autoscaler of one service.
#[derive(Debug)]
pub struct Controller(Kind);

#[derive(Debug)]
enum Kind {
    /// No autoscaler.
    None,
    /// No autoscaler, because its settings are invalid.
    Refused(Vec<String>),
    /// CloudWatch and Auto Scaling.
    Aws(Box<Aws>),
    /// Kubernetes.
    Hpa(Box<Hpa>),
    /// KEDA.
    Keda(Box<Keda>),
    /// Knative.
    Knative(Box<Knative>),
}

impl Controller {
    /// An autoscaler without history; `ready` instances serve at the beginning. With invalid settings it decides
    /// nothing, see [`Controller::refused`].
    pub fn new(policy: &Policy, ready: InstanceCount) -> Self {
        Controller(match policy {
            Policy::None => Kind::None,
            Policy::Aws(settings) => match Aws::new(settings) {
                Ok(aws) => Kind::Aws(Box::new(aws)),
                Err(problems) => Kind::Refused(problems),
            },
            Policy::Hpa(settings) => match Hpa::new(settings) {
                Ok(hpa) => Kind::Hpa(Box::new(hpa)),
                Err(problems) => Kind::Refused(problems),
            },
            Policy::Keda(settings) => match Keda::new(settings) {
                Ok(keda) => Kind::Keda(Box::new(keda)),
                Err(problems) => Kind::Refused(problems),
            },
            Policy::Knative(settings) => match Knative::new(settings, ready) {
                Ok(knative) => Kind::Knative(Box::new(knative)),
                Err(problems) => Kind::Refused(problems),
            },
        })
    }

    /// How often it reads and decides.
    pub fn rhythm(&self) -> Rhythm {
        match &self.0 {
            Kind::None | Kind::Refused(_) => Rhythm { reads: MINUTE, decides: MINUTE, coarse: MINUTE },
            Kind::Aws(aws) => aws.rhythm(),
            Kind::Hpa(hpa) => hpa.rhythm(),
            Kind::Keda(keda) => keda.rhythm(),
            Kind::Knative(_) => Knative::RHYTHM,
        }
    }

    /// Assumptions about behaviour that its vendor does not publish.
    pub fn assumptions(&self) -> Vec<Assumption> {
        match &self.0 {
            Kind::None | Kind::Refused(_) => Vec::new(),
            Kind::Aws(aws) => aws.assumptions(),
            Kind::Hpa(_) => Hpa::assumptions(),
            Kind::Keda(_) => Keda::assumptions(),
            Kind::Knative(_) => Knative::assumptions(),
        }
    }

    /// Why it decides nothing: every problem of its settings, in words.
    pub fn refused(&self) -> &[String] {
        match &self.0 {
            Kind::Refused(problems) => problems,
            _ => &[],
        }
    }

    /// The highest number of instances that it may request now, where that changes.
    pub fn max(&self) -> Option<u32> {
        match &self.0 {
            Kind::Aws(aws) => Some(aws.max()),
            Kind::Hpa(hpa) => Some(hpa.max()),
            _ => None,
        }
    }

    /// The names of what it decides by: alarms, or metrics of a horizontal pod autoscaler, also of KEDA's. Empty for others.
    pub fn watched(&self) -> Vec<String> {
        match &self.0 {
            Kind::None | Kind::Refused(_) | Kind::Knative(_) => Vec::new(),
            Kind::Aws(aws) => aws.watched(),
            Kind::Hpa(hpa) => hpa.watched(),
            Kind::Keda(keda) => keda.watched(),
        }
    }

    /// Adds the newest value of each of [`Controller::watched`], in their order, as of the last decision: in percent,
    /// seconds or a number, as the vendor has it; none if there was no datapoint.
    pub fn seen(&self, values: &mut Vec<Option<f64>>) {
        match &self.0 {
            Kind::None | Kind::Refused(_) | Kind::Knative(_) => {}
            Kind::Aws(aws) => values.extend(aws.seen()),
            Kind::Hpa(hpa) => values.extend(hpa.seen()),
            Kind::Keda(keda) => values.extend(keda.seen()),
        }
    }

    /// Its state and the changes that it knows of, as of the last decision.
    pub fn view(&self, now: Timestamp) -> View {
        match &self.0 {
            Kind::None | Kind::Refused(_) => View::default(),
            Kind::Aws(aws) => aws.view(now),
            Kind::Hpa(hpa) => hpa.view(),
            Kind::Keda(keda) => keda.view(now),
            Kind::Knative(knative) => knative.view(),
        }
    }

    /// A span of its rhythm has passed. Spans that it does not read are ignored.
    pub fn read(&mut self, seen: &Observation<'_>) {
        match &mut self.0 {
            Kind::None | Kind::Refused(_) => {}
            Kind::Aws(aws) => aws.read(seen),
            Kind::Hpa(hpa) => hpa.read(seen),
            Kind::Keda(keda) => keda.read(seen),
            Kind::Knative(knative) => knative.read(seen),
        }
    }

    /// Decides from the readings so far; to be called each [`Rhythm::decides`], after the readings of that time. The
    /// resource use of the instances is not read.
    pub fn decide(&mut self, now: Timestamp, fleet: &Fleet<'_>) -> Verdict {
        match &mut self.0 {
            Kind::None | Kind::Refused(_) => Verdict::default(),
            Kind::Aws(aws) => aws.decide(now, fleet),
            Kind::Hpa(hpa) => hpa.decide(now, fleet),
            Kind::Keda(keda) => keda.decide(now, fleet),
            Kind::Knative(knative) => knative.decide(now, fleet),
        }
    }

    /// The desired number that it decided last was not set, but `to`: somebody else limited it, or nothing was changed at all
    /// (`to` is `from`). Changes that it waits for would not come otherwise.
    pub fn was_limited(&mut self, from: u32, to: u32) {
        match &mut self.0 {
            Kind::Aws(aws) => aws.was_limited(from, to),
            // These compare with the number of instances as it is, each time.
            Kind::None | Kind::Refused(_) | Kind::Hpa(_) | Kind::Keda(_) | Kind::Knative(_) => {}
        }
    }
}

/// The greatest common step of both.
pub fn common_step(one: Duration, other: Duration) -> Duration {
    let (mut a, mut b) = (one.as_nanos() as u64, other.as_nanos() as u64);
    while b > 0 {
        (a, b) = (b, a % b);
    }
    Duration::from_nanos(a)
}

const MINUTE: Duration = Duration::from_secs(60);
