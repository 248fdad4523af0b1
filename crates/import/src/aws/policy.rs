//! Policies, as `aws application-autoscaling describe-scaling-policies` and `aws autoscaling describe-policies` print
//! them.

use super::application;
use super::join::Parts;
use super::metric::{Metric, Named, Owner};
use super::remark::Cause;
use super::walk::{Object, Report, Spot};
use crate::origin::Origin;
use control::scaling::predictive::{AboveMax, Load, Mode};
use control::scaling::{Adjustment, Aggregation, Step};
use std::time::Duration;

/// A scaling policy.
#[derive(Debug, Clone, PartialEq)]
pub struct Policy {
    /// Its name in AWS.
    pub name: String,
    /// The object of the vendor, if the files name it.
    pub origin: Option<Origin>,
    /// The alarms that trigger it, by their index in the service; none for target tracking, which creates its own.
    pub alarms: Vec<usize>,
    /// Its rule.
    pub rule: Rule,
}

/// The rule of a policy.
#[derive(Debug, Clone, PartialEq)]
pub enum Rule {
    /// By steps, depending on how far the metric is beyond the threshold.
    Step {
        /// The type of the changes.
        adjustment: Adjustment,
        /// In the order of the file.
        steps: Vec<Step>,
        /// A percentage changes the capacity by at least this many.
        min_adjustment_magnitude: Option<u32>,
        /// How the newest datapoints are combined.
        aggregation: Aggregation,
        /// The cooldown after it scaled (ECS); none: 300 s.
        cooldown: Option<Duration>,
        /// The warm-up of an instance (EC2); none: the group's.
        warm_up: Option<Duration>,
    },
    /// By one change, then wait (EC2).
    Simple {
        /// The type of the change.
        adjustment: Adjustment,
        /// Instances, percent or the capacity itself.
        change: i32,
        /// A percentage changes the capacity by at least this many.
        min_adjustment_magnitude: Option<u32>,
        /// The wait after the last instance started or ended; none: the group's.
        cooldown: Option<Duration>,
    },
    /// Keeps a metric near a target.
    TargetTracking {
        /// The metric.
        metric: Metric,
        /// As CloudWatch writes it.
        statistic: String,
        /// Length of a point of the metric: a minute, or less for high-resolution metrics.
        resolution: Duration,
        /// In the unit of the metric; none if the file does not have it.
        target: Option<f64>,
        /// The cooldown after scaling out (ECS); none: 300 s.
        scale_out_cooldown: Option<Duration>,
        /// The cooldown after scaling in (ECS); none: 300 s.
        scale_in_cooldown: Option<Duration>,
        /// It only scales out.
        disable_scale_in: bool,
        /// The warm-up of an instance (EC2); none: the group's.
        warm_up: Option<Duration>,
    },
    /// Scales out to a forecast, before each hour.
    Predictive {
        /// The load that is forecast.
        load: Load,
        /// In percent or in requests a minute; none if the file does not have it.
        target: Option<f64>,
        /// Whether it scales.
        mode: Mode,
        /// How long before an hour its instances are launched; none: 5 min.
        buffer: Option<Duration>,
        /// What a forecast above the maximum does.
        above_max: AboveMax,
    },
}

/// A policy in a file.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PolicyPart {
    pub(super) spot: Spot,
    pub(super) origin: Option<Origin>,
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
    let origin = object.origin("PolicyARN", report);
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
    parts.policy(PolicyPart { spot, origin, arn, name, owner, alarms, rule }, report);
}

/// None if there is a problem, which is reported.
fn rule(object: &Object<'_>, owner: &Owner, report: &mut Report) -> Option<Result<Rule, Cause>> {
    let kind = object.text("PolicyType", report).unwrap_or("SimpleScaling");
    // Policies of EC2 have their settings next to the name, the others in an object.
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
            // AWS prints an empty list next to it.
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
            object.without_effect(&["StepAdjustments"]);
            let key = match owner {
                Owner::Ecs(..) => "PredictiveScalingPolicyConfiguration",
                Owner::Group(_) => "PredictiveScalingConfiguration",
            };
            let settings = nested(key, report)?;
            let rule = predictive(&settings, report);
            settings.finish(report);
            rule
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
    let target = settings.needed_or_to_fill_in("TargetValue", target, "a number", report)?;
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

fn predictive(settings: &Object<'_>, report: &mut Report) -> Option<Result<Rule, Cause>> {
    let list = settings.list("MetricSpecifications", report);
    let list = settings.needed("MetricSpecifications", list, "the metric to forecast", report)?;
    let modes = [("ForecastOnly", Mode::ForecastOnly), ("ForecastAndScale", Mode::ForecastAndScale)];
    let mode = settings.word("Mode", &modes, report).unwrap_or_default();
    let buffer = settings.seconds("SchedulingBufferTime", report);
    let behaviors = [("HonorMaxCapacity", false), ("IncreaseMaxCapacity", true)];
    let increases = settings.word("MaxCapacityBreachBehavior", &behaviors, report).unwrap_or(false);
    let percent = settings.count("MaxCapacityBuffer", report).unwrap_or(0);
    // AWS has at most 100.
    let percent = u8::try_from(percent).unwrap_or(u8::MAX);
    let above_max = if increases { AboveMax::Increase { percent } } else { AboveMax::Honor };
    // AWS allows one.
    let metric = settings.needed("MetricSpecifications", list.first(), "the metric to forecast", report)?;
    let target = metric.number("TargetValue", report);
    let target = metric.needed_or_to_fill_in("TargetValue", target, "a number", report)?;
    let load = forecast_load(metric, report);
    metric.finish(report);
    Some(load?.map(|load| Rule::Predictive { load, target, mode, buffer, above_max }))
}

/// The load that a metric specification forecasts: that of a pair, or that of two metrics which belong together.
fn forecast_load(metric: &Object<'_>, report: &mut Report) -> Option<Result<Load, Cause>> {
    let mut kind = |key: &'static str| {
        let predefined = metric.object(key, report)?;
        predefined.without_effect(&["ResourceLabel"]);
        let kind = predefined.text("PredefinedMetricType", report);
        predefined.finish(report);
        kind
    };
    let pair = kind("PredefinedMetricPairSpecification");
    let (load, scaling) =
        (kind("PredefinedLoadMetricSpecification"), kind("PredefinedScalingMetricSpecification"));
    let found = match (pair, load, scaling) {
        (Some(pair), _, _) => pair,
        (
            None,
            Some("ASGTotalCPUUtilization" | "ECSServiceTotalCPUUtilization"),
            Some("ASGAverageCPUUtilization" | "ECSServiceAverageCPUUtilization"),
        ) => return Some(Ok(Load::Cpu)),
        (None, Some("ALBTargetGroupRequestCount"), Some("ALBRequestCountPerTarget")) => {
            return Some(Ok(Load::Requests));
        }
        (None, Some(load), _) => load,
        (None, None, _) => {
            let customized = [
                "CustomizedLoadMetricSpecification",
                "CustomizedScalingMetricSpecification",
                "CustomizedCapacityMetricSpecification",
            ];
            let is_customized = metric.has(customized[0]);
            metric.without_effect(&customized);
            if is_customized {
                return Some(Err(Cause::MetricMath));
            }
            return metric.needed(
                "PredefinedMetricPairSpecification",
                None,
                "the metric to forecast",
                report,
            );
        }
    };
    Some(match found {
        "ASGCPUUtilization" | "ECSServiceCPUUtilization" => Ok(Load::Cpu),
        "ALBRequestCount" => Ok(Load::Requests),
        other => Err(Cause::OtherMetric { namespace: "predefined".to_owned(), name: other.to_owned() }),
    })
}

const MINUTE: Duration = Duration::from_secs(60);
/// The resolution of ECS's high-resolution metrics.
const TWENTY_SECONDS: Duration = Duration::from_secs(20);
