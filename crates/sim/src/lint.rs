//! Finds policies that will flap or mislead, without running a simulation.
//!
//! Each finding has a place, a description, a reason in numbers of the system, and the way out. Findings that depend on
//! traffic use the configured rates, without their noise.

mod capacity;
mod ceilings;
mod delays;
mod directions;
mod flapping;
mod keda;
mod load;
mod metrics;
mod pods;
mod samples;
#[cfg(test)]
mod tests;
mod validity;
mod zones;

use crate::settings::{AwsScaling, HpaScaling, Policy, Service, System};
use capacity::Capacity;
use control::alarm::AlarmSettings;
use control::metric::MetricId;
use control::scaling::{AlarmId, Names, PolicyId};
use load::Load;
pub use load::{Demand, demands};
use std::fmt;

/// A property of a policy that a user should know before running it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The rule that found it.
    pub rule: Rule,
    /// Where: the service, and the alarm, policy or setting.
    pub place: String,
    /// The problem.
    pub what: String,
    /// The reason, in numbers.
    pub why: String,
    /// The way out.
    pub remedy: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Finding { rule, place, what, why, remedy } = self;
        write!(f, "{place}: {what} ({rule}): {why}; {remedy}")
    }
}

/// The rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rule {
    /// Invalid settings: the policy would not run.
    Invalid,
    /// One action brings the metric to the threshold of the opposite one.
    FlappingBand,
    /// A percentile with too few samples.
    FewSamples,
    /// Target tracking of a metric that does not fall as capacity grows.
    NotProportional,
    /// A maximum over instances: the busiest instance decides for all.
    MaximumCpu,
    /// Processor use of a type that runs on credits.
    BurstableCpu,
    /// Quotas or addresses that are exhausted before the policy's maximum.
    Ceiling,
    /// The next action comes before the effect of the last one is visible.
    ShortCooldown,
    /// Missing data that causes scaling.
    MissingData,
    /// A deployment that cannot begin.
    StuckDeployment,
    /// All instances together carry less than the peak.
    LowMaximum,
    /// At the peak, the instances of the other zones cannot carry the loss of one.
    ZoneLoss,
    /// At the peak, a target asks for more than the maximum.
    PinnedAtMaximum,
    /// A target or threshold of processor use that instances cannot reach.
    UnreachableTarget,
    /// A pod that may use less than it requests.
    LimitBelowRequest,
    /// Scaling out without scaling in.
    NoScaleIn,
    /// A target so low that a whole percent is a large part of it.
    CoarseTarget,
    /// A tolerance that hides several pods.
    CoarseTolerance,
    /// Pods that warm up and count as load.
    WarmUpLoad,
    /// A setting of KEDA that has no effect.
    UnusedSetting,
    /// Triggers that are never active while there are no pods.
    NeverActivated,
    /// An idle count of KEDA that its autoscaler raises again.
    IdleAboveZero,
    /// Without pods, more load is refused than one pod is meant to have.
    ActivationAboveTarget,
    /// A fallback that the bounds change.
    FallbackOutOfBounds,
    /// Scaling is paused.
    Paused,
}

impl Rule {
    /// Its name in output and in settings that suppress it.
    pub const fn name(self) -> &'static str {
        match self {
            Rule::Invalid => "invalid",
            Rule::FlappingBand => "flapping-band",
            Rule::FewSamples => "few-samples",
            Rule::NotProportional => "not-proportional",
            Rule::MaximumCpu => "maximum-cpu",
            Rule::BurstableCpu => "burstable-cpu",
            Rule::Ceiling => "ceiling",
            Rule::ShortCooldown => "short-cooldown",
            Rule::MissingData => "missing-data",
            Rule::StuckDeployment => "stuck-deployment",
            Rule::LowMaximum => "low-maximum",
            Rule::ZoneLoss => "zone-loss",
            Rule::PinnedAtMaximum => "pinned-at-maximum",
            Rule::UnreachableTarget => "unreachable-target",
            Rule::LimitBelowRequest => "limit-below-request",
            Rule::NoScaleIn => "no-scale-in",
            Rule::CoarseTarget => "coarse-target",
            Rule::CoarseTolerance => "coarse-tolerance",
            Rule::WarmUpLoad => "warm-up-load",
            Rule::UnusedSetting => "unused-setting",
            Rule::NeverActivated => "never-activated",
            Rule::IdleAboveZero => "idle-above-zero",
            Rule::ActivationAboveTarget => "activation-above-target",
            Rule::FallbackOutOfBounds => "fallback-out-of-bounds",
            Rule::Paused => "paused",
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// All findings, service by service.
pub fn lint(system: &System) -> Vec<Finding> {
    let loads = load::loads(system);
    let mut findings = Vec::new();
    validity::check_system(system, &mut findings);
    for (service, load) in system.services.iter().zip(&loads) {
        let subject = Subject { service, load, capacity: Capacity::of(service, load) };
        validity::check(&subject, &mut findings);
        if let Policy::Aws(aws) = &service.scaling.policy {
            let aws = Aws { subject: &subject, aws };
            flapping::check(&aws, &mut findings);
            samples::check(&aws, &mut findings);
            metrics::check(&aws, &mut findings);
            delays::check(&aws, &mut findings);
            directions::check(&aws, &mut findings);
        }
        metrics::check_pods(&subject, &mut findings);
        pods::check(&subject, &mut findings);
        keda::check(&subject, &mut findings);
        capacity::check(&subject, &mut findings);
        zones::check(&subject, &mut findings);
    }
    ceilings::check(system, &mut findings);
    findings
}

/// A service with its traffic.
struct Subject<'a> {
    service: &'a Service,
    load: &'a Load,
    /// What one instance carries at most; none if its requests cost nothing.
    capacity: Option<Capacity>,
}

impl Subject<'_> {
    /// Its horizontal pod autoscaler, also that of KEDA, and its key in a case file.
    fn autoscaler(&self) -> Option<(HpaScaling, &'static str)> {
        match &self.service.scaling.policy {
            Policy::Hpa(hpa) => Some((hpa.as_ref().clone(), "hpa")),
            Policy::Keda(keda) => Some((keda.autoscaler(), "keda")),
            _ => None,
        }
    }
}

/// A service with AWS scaling.
struct Aws<'a> {
    subject: &'a Subject<'a>,
    aws: &'a AwsScaling,
}

impl Aws<'_> {
    fn metric(&self, id: MetricId) -> Option<crate::settings::Metric> {
        self.aws.metrics.get(usize::from(id.0)).map(|published| published.metric)
    }

    fn alarm(&self, id: AlarmId) -> Option<&AlarmSettings> {
        self.aws.scaler.alarms.get(usize::from(id.0))
    }

    fn alarm_place(&self, id: AlarmId) -> String {
        let name = &self.subject.service.name;
        match self.aws.names.alarms.get(usize::from(id.0)) {
            Some(alarm) => format!("{name}: alarm {alarm}"),
            None => format!("{name}: {id}"),
        }
    }

    fn policy_place(&self, id: PolicyId) -> String {
        let name = &self.subject.service.name;
        match self.aws.names.policies.get(usize::from(id.0)) {
            Some(_) => format!("{name}: policy {}", self.aws.names.policy(id)),
            None => format!("{name}: {id}"),
        }
    }

    /// The alarms of the settings with their numbers.
    fn alarms(&self) -> impl Iterator<Item = (AlarmId, &AlarmSettings)> {
        (0..).map(AlarmId).zip(&self.aws.scaler.alarms)
    }
}
