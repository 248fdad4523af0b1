//! Joins the parts of all files: targets with their policies, policies with their alarms.
//!
//! An alarm names the policies that it triggers, and a policy names its alarms; truncated outputs or outputs of
//! different times contain only one of the two, so either is enough.

use super::alarm::{Alarm, AlarmPart, is_modelled};
use super::metric::{Metric, Owner};
use super::policy::{Policy, PolicyPart, Rule};
use super::remark::{AwsError, Cause};
use super::schedule::Schedule;
use super::walk::{Report, Spot};
use super::{Platform, Service, Suspended, TargetGroup};
use crate::origin::Origin;
use control::alarm::Comparison;
use control::scaling::predictive::Load;
use control::scaling::{Periods, Preset};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// The parts, not yet joined.
#[derive(Debug, Default)]
pub(super) struct Parts {
    targets: Vec<TargetPart>,
    policies: Vec<PolicyPart>,
    schedules: Vec<SchedulePart>,
    alarms: Vec<AlarmPart>,
    /// What the files say about services beside their scaling.
    contexts: Vec<ContextPart>,
    /// Target groups, by their identity.
    target_groups: Vec<(String, TargetGroup)>,
    /// Files whose last page has a continuation token.
    cut: BTreeMap<String, bool>,
    /// The vendor's tool whose output the files are.
    tool: Tool,
}

/// The vendor's tool whose output the files are: where users look for what is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Tool {
    #[default]
    AwsCli,
    Terraform,
}

/// Facts about a service beside its scaling.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ContextPart {
    pub(super) owner: Owner,
    pub(super) desired: Option<u32>,
    /// The target groups that its instances register with.
    pub(super) target_groups: Vec<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct TargetPart {
    pub(super) spot: Spot,
    pub(super) origin: Option<Origin>,
    pub(super) owner: Owner,
    pub(super) platform: Platform,
    pub(super) min: Option<u32>,
    pub(super) max: Option<u32>,
    pub(super) desired: Option<u32>,
    pub(super) suspended: Suspended,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct SchedulePart {
    pub(super) spot: Spot,
    pub(super) owner: Owner,
    pub(super) schedule: Schedule,
}

/// Adds a new part. An identical part is an overlap of files; the same name with other settings is an error.
fn add<T: PartialEq + Clone>(
    all: &mut Vec<T>,
    new: T,
    same: impl Fn(&T, &T) -> bool,
    spot: impl Fn(&mut T) -> &mut Spot,
    report: &mut Report,
) {
    let Some(known) = all.iter().find(|known| same(known, &new)) else { return all.push(new) };
    let (mut first, mut second) = (known.clone(), new);
    let first_place = spot(&mut first).clone();
    let place = std::mem::replace(spot(&mut second), first_place.clone());
    if first != second {
        report.errors.push(AwsError::Contradiction {
            file: place.file,
            path: place.path,
            name: place.name.unwrap_or_default(),
            first: first_place.shown(),
        });
    }
}

impl Parts {
    pub(super) fn of(tool: Tool) -> Parts {
        Parts { tool, ..Parts::default() }
    }

    pub(super) fn target(&mut self, part: TargetPart, report: &mut Report) {
        add(&mut self.targets, part, |a, b| a.owner == b.owner, |part| &mut part.spot, report);
    }

    pub(super) fn policy(&mut self, part: PolicyPart, report: &mut Report) {
        add(&mut self.policies, part, |a, b| a.arn == b.arn, |part| &mut part.spot, report);
    }

    pub(super) fn alarm(&mut self, mut part: AlarmPart, report: &mut Report) {
        let unknown = std::mem::take(&mut part.unknown);
        let count = self.alarms.len();
        add(&mut self.alarms, part, |a, b| a.arn == b.arn, |part| &mut part.spot, report);
        if let Some(new) = self.alarms.get_mut(count) {
            new.unknown = unknown;
        }
    }

    pub(super) fn scheduled(&mut self, part: SchedulePart) {
        let same = |known: &SchedulePart| known.owner == part.owner && known.schedule == part.schedule;
        if !self.schedules.iter().any(same) {
            self.schedules.push(part);
        }
    }

    pub(super) fn context(&mut self, part: ContextPart) {
        self.contexts.push(part);
    }

    pub(super) fn target_group(&mut self, id: String, group: TargetGroup) {
        self.target_groups.push((id, group));
    }

    pub(super) fn cut(&mut self, file: &str) {
        self.cut.insert(file.to_owned(), true);
    }

    pub(super) fn whole(&mut self, file: &str) {
        self.cut.insert(file.to_owned(), false);
    }
}

/// Joins everything.
pub(super) fn services(parts: Parts, report: &mut Report) -> Vec<Service> {
    for (file, _) in parts.cut.iter().filter(|(_, cut)| **cut) {
        let spot = Spot { file: file.clone(), path: String::new(), name: None };
        report.remarks.push(spot.remark(Cause::Cut));
    }
    let missing = |owner: &Owner| parts.targets.iter().all(|target| target.owner != *owner);
    let others = parts.policies.iter().map(|part| (&part.spot, &part.owner));
    let others = others.chain(parts.schedules.iter().map(|part| (&part.spot, &part.owner)));
    for (spot, owner) in others.filter(|(_, owner)| missing(owner)) {
        let cause = match (parts.tool, owner) {
            (Tool::AwsCli, Owner::Ecs(..)) => {
                Cause::TargetMissing(owner.name(), "aws application-autoscaling describe-scalable-targets")
            }
            (Tool::AwsCli, Owner::Group(_)) => {
                Cause::TargetMissing(owner.name(), "aws autoscaling describe-auto-scaling-groups")
            }
            (Tool::Terraform, Owner::Ecs(..)) => {
                Cause::TargetElsewhere(owner.name(), "aws_appautoscaling_target")
            }
            (Tool::Terraform, Owner::Group(_)) => {
                Cause::TargetElsewhere(owner.name(), "aws_autoscaling_group")
            }
        };
        report.remarks.push(spot.remark(cause));
    }
    let mut used = BTreeSet::new();
    let services = parts.targets.iter().map(|target| service(target, &parts, &mut used, report)).collect();
    let unused: Vec<_> = parts.alarms.iter().filter(|alarm| !used.contains(&alarm.arn)).collect();
    if let Some(first) = unused.first() {
        let spot = Spot { file: first.spot.file.clone(), path: String::new(), name: None };
        report.remarks.push(spot.remark(Cause::OtherAlarms(unused.len())));
    }
    services
}

fn service(target: &TargetPart, parts: &Parts, used: &mut BTreeSet<String>, report: &mut Report) -> Service {
    if let (Some(min), Some(max)) = (target.min, target.max)
        && min > max
    {
        report.errors.push(AwsError::Field {
            file: target.spot.file.clone(),
            path: target.spot.path.clone(),
            found: format!("a minimum of {min} above a maximum of {max}"),
            expected: "bounds that a count fits between".to_owned(),
        });
    }
    let mut joined = Joined { owner: &target.owner, parts, alarms: Vec::new(), balancer: None, used, report };
    let policies = parts.policies.iter().filter(|policy| policy.owner == target.owner);
    let policies = policies.filter_map(|policy| joined.policy(policy, target.platform)).collect();
    let alarms = joined.alarms.into_iter().map(|(_, alarm)| alarm).collect();
    let schedules = parts.schedules.iter().filter(|part| part.owner == target.owner);
    let contexts = parts.contexts.iter().filter(|part| part.owner == target.owner);
    let groups: Vec<_> = contexts.clone().flat_map(|part| &part.target_groups).collect();
    let mut groups = parts.target_groups.iter().filter(|(id, _)| groups.contains(&id));
    Service {
        name: target.owner.name(),
        origin: target.origin.clone(),
        platform: target.platform,
        min: target.min,
        max: target.max,
        desired: target.desired.or_else(|| contexts.clone().find_map(|part| part.desired)),
        suspended: target.suspended,
        alarms,
        policies,
        schedule: schedules.map(|part| part.schedule.clone()).collect(),
        target_group: groups.next().map(|(_, group)| group.clone()),
    }
}

/// A service while its policies are joined.
struct Joined<'a> {
    owner: &'a Owner,
    parts: &'a Parts,
    /// The alarms of the service with their ARNs.
    alarms: Vec<(String, Alarm)>,
    /// The first load balancer of an alarm.
    balancer: Option<String>,
    used: &'a mut BTreeSet<String>,
    report: &'a mut Report,
}

impl Joined<'_> {
    fn policy(&mut self, policy: &PolicyPart, platform: Platform) -> Option<Policy> {
        let triggers: Vec<_> = self
            .parts
            .alarms
            .iter()
            .filter(|alarm| {
                policy.alarms.iter().any(|(_, arn)| *arn == alarm.arn) || alarm.actions.contains(&policy.arn)
            })
            .collect();
        self.used.extend(triggers.iter().map(|alarm| alarm.arn.clone()));
        for alarm in &self.parts.alarms {
            for (arn, list) in alarm.other_states.iter().filter(|(arn, _)| *arn == policy.arn) {
                self.used.insert(alarm.arn.clone());
                let cause = Cause::OtherState { policy: policy.name.clone(), list };
                let _ = arn;
                self.report.remarks.push(alarm.spot.remark(cause));
            }
        }
        let rule = match &policy.rule {
            Ok(rule) => rule.clone(),
            Err(cause) => {
                self.report.remarks.push(policy.spot.remark(cause.clone()));
                return None;
            }
        };
        if let Rule::TargetTracking { target, resolution, .. } = &rule {
            match platform.preset(*resolution) {
                Some(preset) => {
                    if preset == Preset::ECS_HIGH_RESOLUTION {
                        self.report.remarks.push(policy.spot.remark(Cause::HighResolution));
                    }
                    if let Some(target) = *target {
                        triggers.into_iter().for_each(|alarm| self.made(alarm, target, preset));
                    }
                }
                None => {
                    let cause = Cause::OtherResolution(resolution.as_secs());
                    self.report.remarks.push(policy.spot.remark(cause));
                }
            }
            let (name, origin) = (policy.name.clone(), policy.origin.clone());
            return Some(Policy { name, origin, alarms: Vec::new(), rule });
        }
        if let Rule::Predictive { .. } = &rule {
            let (name, origin) = (policy.name.clone(), policy.origin.clone());
            return Some(Policy { name, origin, alarms: Vec::new(), rule });
        }
        for (name, arn) in &policy.alarms {
            if self.parts.alarms.iter().all(|alarm| alarm.arn != *arn) {
                let cause = match self.parts.tool {
                    Tool::AwsCli => Cause::AlarmMissing(name.clone()),
                    Tool::Terraform => Cause::AlarmElsewhere(name.clone()),
                };
                self.report.remarks.push(policy.spot.remark(cause));
            }
        }
        let alarms: Vec<_> = triggers.into_iter().filter_map(|alarm| self.alarm(alarm)).collect();
        if alarms.is_empty() {
            self.report.remarks.push(policy.spot.remark(Cause::NoAlarm));
            return None;
        }
        Some(Policy { name: policy.name.clone(), origin: policy.origin.clone(), alarms, rule })
    }

    /// The index of an alarm in the service.
    fn alarm(&mut self, part: &AlarmPart) -> Option<usize> {
        if let Some(place) = self.alarms.iter().position(|(arn, _)| *arn == part.arn) {
            return Some(place);
        }
        let mut leave_out = |cause| {
            let remark = part.spot.remark(cause);
            if !self.report.remarks.contains(&remark) {
                self.report.remarks.push(remark);
            }
            None
        };
        if !part.enabled {
            return leave_out(Cause::ActionsDisabled);
        }
        let named = match &part.metric {
            Ok(named) => named,
            Err(cause) => return leave_out(cause.clone()),
        };
        let metric = match named.of(self.owner) {
            Ok(metric) => metric,
            Err(cause) => return leave_out(cause),
        };
        // Its problem was already reported.
        let settings = part.settings.clone()?;
        if !is_modelled(&settings.statistic) {
            return leave_out(Cause::OtherStatistic(settings.statistic));
        }
        self.report.remarks.extend(part.unknown.iter().cloned());
        if let Some(balancer) = named.dimension("LoadBalancer") {
            match &self.balancer {
                Some(other) if other != balancer => {
                    let (found, other) = (balancer.to_owned(), other.clone());
                    self.report.remarks.push(part.spot.remark(Cause::SeveralBalancers { found, other }));
                }
                Some(_) => {}
                None => self.balancer = Some(balancer.to_owned()),
            }
        }
        self.alarms.push((part.arn.clone(), Alarm { metric, ..settings }));
        Some(self.alarms.len() - 1)
    }

    /// Compares an alarm that target tracking created with the simulator's assumption.
    fn made(&mut self, part: &AlarmPart, target: f64, preset: Preset) {
        let Some(alarm) = &part.settings else { return };
        let Some(made) = alarm.threshold else { return };
        let (comparison, threshold, expected) = if alarm.comparison.is_upward() {
            (Comparison::GreaterThan, target, preset.high)
        } else {
            (Comparison::LessThan, preset.low_threshold.of(target), preset.low)
        };
        let Periods { period, evaluation_periods, datapoints_to_alarm } = expected;
        let as_assumed = alarm.comparison == comparison
            && (made - threshold).abs() <= 1e-6 * target.abs()
            && alarm.evaluation_periods == evaluation_periods
            && alarm.datapoints_to_alarm == datapoints_to_alarm
            && alarm.period == period;
        if as_assumed {
            return;
        }
        let words = |threshold: f64, datapoints: u32, periods: u32, period: Duration| {
            format!("{threshold} for {datapoints} of {periods} periods of {} s", period.as_secs())
        };
        let found = words(made, alarm.datapoints_to_alarm, alarm.evaluation_periods, alarm.period);
        let assumed = words(threshold, datapoints_to_alarm, evaluation_periods, period);
        self.report.remarks.push(part.spot.remark(Cause::MadeAlarm { found, assumed }));
    }
}

impl Service {
    /// Whether anything changes its capacity.
    pub fn scales(&self) -> bool {
        !self.policies.is_empty() || !self.schedule.is_empty()
    }

    /// The metrics of its alarms and policies, each once.
    pub fn metrics(&self) -> Vec<Metric> {
        let tracked = self.policies.iter().filter_map(|policy| match &policy.rule {
            Rule::TargetTracking { metric, .. } => Some(*metric),
            Rule::Predictive { load: Load::Cpu, .. } => Some(Metric::Cpu),
            Rule::Predictive { load: Load::Requests, .. } => Some(Metric::RequestsPerTarget),
            Rule::Step { .. } | Rule::Simple { .. } => None,
        });
        let mut metrics: Vec<Metric> = Vec::new();
        for metric in self.alarms.iter().map(|alarm| alarm.metric).chain(tracked) {
            if !metrics.contains(&metric) {
                metrics.push(metric);
            }
        }
        metrics
    }
}
