//! Policies, as `aws application-autoscaling describe-scaling-policies` and `aws autoscaling describe-policies` print
//! them.

use super::application;
use super::join::Parts;
use super::metric::{Metric, Named, Owner};
use super::remark::Cause;
use super::walk::{Object, Report, Spot};
use control::scaling::{Adjustment, Aggregation, Step};
use std::time::Duration;

/// What changes the capacity.
#[derive(Debug, Clone, PartialEq)]
pub struct Policy {
    /// As AWS names it.
    pub name: String,
    /// The alarms that trigger it, by their place in the service; none for target tracking, which makes its own.
    pub alarms: Vec<usize>,
    /// By how much.
    pub rule: Rule,
}

/// By how much.
#[derive(Debug, Clone, PartialEq)]
pub enum Rule {
    /// By steps, as far as the metric is past the threshold.
    Step {
        /// What changes mean.
        adjustment: Adjustment,
        /// In the order of the file.
        steps: Vec<Step>,
        /// A percentage changes the capacity by at least so many.
        min_adjustment_magnitude: Option<u32>,
        /// How the newest datapoints become one.
        aggregation: Aggregation,
        /// Holds back after it scaled (ECS); none: 300 s.
        cooldown: Option<Duration>,
        /// After so long an instance counts (EC2); none: the group's.
        warm_up: Option<Duration>,
    },
    /// By one change, then wait (EC2).
    Simple {
        /// What the change means.
        adjustment: Adjustment,
        /// Instances, percent or the capacity itself.
        change: i32,
        /// A percentage changes the capacity by at least so many.
        min_adjustment_magnitude: Option<u32>,
        /// Waits so long after the last instance started or ended; none: the group's.
        cooldown: Option<Duration>,
    },
    /// So that a metric stays near a target.
    TargetTracking {
        /// The metric.
        metric: Metric,
        /// As CloudWatch writes it.
        statistic: String,
        /// Length of a point of the metric: a minute, or less for metrics of high resolution.
        resolution: Duration,
        /// In the unit of the metric.
        target: f64,
        /// Holds back after scaling out (ECS); none: 300 s.
        scale_out_cooldown: Option<Duration>,
        /// Holds back after scaling in (ECS); none: 300 s.
        scale_in_cooldown: Option<Duration>,
        /// It only scales out.
        disable_scale_in: bool,
        /// After so long an instance counts (EC2); none: the group's.
        warm_up: Option<Duration>,
    },
}

/// A policy as it stands in a file.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PolicyPart {
    pub(super) spot: Spot,
    pub(super) arn: String,
    pub(super) name: String,
    pub(super) owner: Owner,
    /// Name and ARN of each alarm.
    pub(super) alarms: Vec<(String, String)>,
    pub(super) rule: Result<Rule, Cause>,
}

/// Reads one of `ScalingPolicies`, of either service.
pub(super) fn read(object: &Object<'_>, parts: &mut Parts, report: &mut Report) {
    object.without_effect(&["CreationTime", "MinAdjustmentStep"]);
    let name = object.text("PolicyName", report);
    let Some(name) = object.needed("PolicyName", name, "the name of the policy", report) else { return };
    let arn = object.text("PolicyARN", report);
    let Some(arn) = object.needed("PolicyARN", arn, "the ARN of the policy", report) else { return };
    let owner = match object.text("AutoScalingGroupName", report) {
        Some(group) => Some(Owner::Group(group.to_owned())),
        None => application::owner(object, report),
    };
    let Some(owner) = owner else { return };
    let mut alarms = Vec::new();
    for alarm in object.list("Alarms", report).unwrap_or_default() {
        let text = |key, report: &mut Report| alarm.text(key, report).unwrap_or_default().to_owned();
        alarms.push((text("AlarmName", report), text("AlarmARN", report)));
        alarm.finish(report);
    }
    let rule = rule(object, &owner, report);
    let disabled = object.flag("Enabled", report) == Some(false);
    let rule = match rule {
        Some(_) if disabled => Err(Cause::PolicyDisabled),
        Some(rule) => rule,
        None => return,
    };
    object.finish(report);
    let (spot, arn, name) = (object.spot(Some(name)), arn.to_owned(), name.to_owned());
    parts.policy(PolicyPart { spot, arn, name, owner, alarms, rule }, report);
}

/// None where something is wrong, which is told.
fn rule(object: &Object<'_>, owner: &Owner, report: &mut Report) -> Option<Result<Rule, Cause>> {
    let kind = object.text("PolicyType", report).unwrap_or("SimpleScaling");
    // Policies of EC2 have their settings beside the name, the others in an object.
    let nested = |key, report: &mut Report| {
        let found = object.object(key, report);
        object.needed(key, found, "the settings of the policy", report)
    };
    match kind {
        "StepScaling" if object.has("StepScalingPolicyConfiguration") => {
            let settings = nested("StepScalingPolicyConfiguration", report)?;
            let rule = step(&settings, report);
            settings.finish(report);
            rule.map(Ok)
        }
        "StepScaling" => step(object, report).map(Ok),
        "SimpleScaling" => {
            // AWS prints an empty list beside it.
            object.without_effect(&["StepAdjustments"]);
            let change = object.whole("ScalingAdjustment", report);
            Some(Ok(Rule::Simple {
                adjustment: adjustment(object, report)?,
                change: object.needed("ScalingAdjustment", change, "a change", report)?,
                min_adjustment_magnitude: object.count("MinAdjustmentMagnitude", report),
                cooldown: object.seconds("Cooldown", report),
            }))
        }
        "TargetTrackingScaling" => {
            object.without_effect(&["StepAdjustments"]);
            let key = match owner {
                Owner::Ecs(..) => "TargetTrackingScalingPolicyConfiguration",
                Owner::Group(_) => "TargetTrackingConfiguration",
            };
            let settings = nested(key, report)?;
            let rule = track(&settings, object, owner, report);
            settings.finish(report);
            rule
        }
        "PredictiveScaling" => {
            object
                .without_effect(&["PredictiveScalingConfiguration", "PredictiveScalingPolicyConfiguration"]);
            object.without_effect(&["StepAdjustments"]);
            Some(Err(Cause::Predictive))
        }
        other => Some(Err(Cause::OtherPolicy(other.to_owned()))),
    }
}

fn adjustment(object: &Object<'_>, report: &mut Report) -> Option<Adjustment> {
    let words = Adjustment::ALL.map(|known| (known.api_name(), known));
    let found = object.word("AdjustmentType", &words, report);
    object.needed("AdjustmentType", found, "such as ChangeInCapacity", report)
}

fn step(object: &Object<'_>, report: &mut Report) -> Option<Rule> {
    let aggregations = Aggregation::ALL.map(|known| (known.api_name(), known));
    let mut steps = Vec::new();
    let list = object.list("StepAdjustments", report);
    for step in object.needed("StepAdjustments", list, "a list of steps", report)? {
        let change = step.whole("ScalingAdjustment", report);
        let change = step.needed("ScalingAdjustment", change, "a change", report);
        steps.push(Step {
            lower: step.number("MetricIntervalLowerBound", report),
            upper: step.number("MetricIntervalUpperBound", report),
            change: change?,
        });
        step.finish(report);
    }
    Some(Rule::Step {
        adjustment: adjustment(object, report)?,
        steps,
        min_adjustment_magnitude: object.count("MinAdjustmentMagnitude", report),
        aggregation: object.word("MetricAggregationType", &aggregations, report).unwrap_or_default(),
        cooldown: object.seconds("Cooldown", report),
        warm_up: object.seconds("EstimatedInstanceWarmup", report),
    })
}

fn track(
    settings: &Object<'_>,
    policy: &Object<'_>,
    owner: &Owner,
    report: &mut Report,
) -> Option<Result<Rule, Cause>> {
    let target = settings.number("TargetValue", report);
    let target = settings.needed("TargetValue", target, "a number", report)?;
    let scale_out_cooldown = settings.seconds("ScaleOutCooldown", report);
    let scale_in_cooldown = settings.seconds("ScaleInCooldown", report);
    let disable_scale_in = settings.flag("DisableScaleIn", report).unwrap_or(false);
    let warm_up = policy.seconds("EstimatedInstanceWarmup", report);
    let (metric, statistic, resolution) = match (
        settings.object("PredefinedMetricSpecification", report),
        settings.object("CustomizedMetricSpecification", report),
    ) {
        (Some(predefined), _) => {
            predefined.without_effect(&["ResourceLabel"]);
            let kind = predefined.text("PredefinedMetricType", report)?;
            predefined.finish(report);
            match kind {
                "ECSServiceAverageCPUUtilization" | "ASGAverageCPUUtilization" => {
                    (Metric::Cpu, "Average", MINUTE)
                }
                "ECSServiceAverageCPUUtilizationHighResolution" => (Metric::Cpu, "Average", TWENTY_SECONDS),
                "ALBRequestCountPerTarget" => (Metric::RequestsPerTarget, "Sum", MINUTE),
                _ => {
                    let (namespace, name) = ("predefined".to_owned(), kind.to_owned());
                    return Some(Err(Cause::OtherMetric { namespace, name }));
                }
            }
        }
        (None, Some(custom)) => {
            if custom.list("Metrics", report).is_some_and(|metrics| !metrics.is_empty()) {
                return Some(Err(Cause::MetricMath));
            }
            let named = Named::read(&custom, report);
            let statistic = custom.text("Statistic", report).unwrap_or("Average");
            let resolution = custom.seconds("Period", report).unwrap_or(MINUTE);
            custom.finish(report);
            match named.of(owner) {
                Ok(metric) => (metric, statistic, resolution),
                Err(cause) => return Some(Err(cause)),
            }
        }
        (None, None) => {
            return settings.needed("PredefinedMetricSpecification", None, "the metric to track", report);
        }
    };
    let statistic = statistic.to_owned();
    Some(Ok(Rule::TargetTracking {
        metric,
        statistic,
        resolution,
        target,
        scale_out_cooldown,
        scale_in_cooldown,
        disable_scale_in,
        warm_up,
    }))
}

const MINUTE: Duration = Duration::from_secs(60);
/// Of ECS's metrics of high resolution.
const TWENTY_SECONDS: Duration = Duration::from_secs(20);
