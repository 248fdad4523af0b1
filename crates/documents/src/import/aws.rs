//! What was read of AWS: its summary, and as JSON the names that scripts depend on. The schema is [`SCHEMA`].

use super::Drafted;
use control::scaling::predictive::{AboveMax, Load, Mode};
use import::aws::{Alarm, Effect, Fleet, Platform, Policy, Remark, Rule, Schedule, Service};
use import::{Origin, shown_time};
use serde::Serialize;
use serde_json::Value as Json;
use std::time::Duration;

/// The JSON Schema of the result.
pub const SCHEMA: &str = include_str!("../../schemas/import-aws.schema.json");

/// What `headroom import aws --json` prints.
#[derive(Debug, Serialize)]
struct Document<'a> {
    version: &'static str,
    services: Vec<ServiceDocument<'a>>,
    remarks: Vec<RemarkDocument<'a>>,
}

#[derive(Debug, Serialize)]
struct ServiceDocument<'a> {
    name: &'a str,
    platform: &'static str,
    origin: Option<String>,
    min: Option<u32>,
    max: Option<u32>,
    desired: Option<u32>,
    /// Of an Auto Scaling group.
    default_cooldown_s: Option<u64>,
    /// Of an Auto Scaling group.
    default_warm_up_s: Option<u64>,
    suspended: Suspended,
    target_group: Option<TargetGroupDocument<'a>>,
    alarms: Vec<AlarmDocument<'a>>,
    policies: Vec<PolicyDocument<'a>>,
    schedule: Vec<ScheduleDocument<'a>>,
}

#[derive(Debug, Serialize)]
struct Suspended {
    scaling_in: bool,
    scaling_out: bool,
    scheduled: bool,
}

#[derive(Debug, Serialize)]
struct TargetGroupDocument<'a> {
    algorithm: Option<&'a str>,
    deregistration_delay_s: Option<u64>,
    slow_start_s: Option<u64>,
}

#[derive(Debug, Serialize)]
struct AlarmDocument<'a> {
    name: &'a str,
    origin: Option<String>,
    metric: &'a str,
    statistic: &'a str,
    period_s: u64,
    evaluation_periods: u32,
    datapoints_to_alarm: u32,
    comparison: &'static str,
    threshold: Option<f64>,
    missing: &'static str,
    few_samples: &'static str,
}

#[derive(Debug, Serialize)]
struct PolicyDocument<'a> {
    name: &'a str,
    origin: Option<String>,
    /// The names of the alarms that call it.
    alarms: Vec<&'a str>,
    #[serde(flatten)]
    rule: RuleDocument<'a>,
}

#[derive(Debug, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
enum RuleDocument<'a> {
    Step {
        adjustment: &'static str,
        steps: Vec<StepDocument>,
        min_adjustment_magnitude: Option<u32>,
        aggregation: &'static str,
        cooldown_s: Option<u64>,
        warm_up_s: Option<u64>,
    },
    Simple {
        adjustment: &'static str,
        change: i32,
        min_adjustment_magnitude: Option<u32>,
        cooldown_s: Option<u64>,
    },
    TargetTracking {
        metric: &'a str,
        statistic: &'a str,
        resolution_s: u64,
        target: Option<f64>,
        scale_out_cooldown_s: Option<u64>,
        scale_in_cooldown_s: Option<u64>,
        disable_scale_in: bool,
        warm_up_s: Option<u64>,
    },
    Predictive {
        metric: &'static str,
        target: Option<f64>,
        mode: &'static str,
        buffer_s: Option<u64>,
        /// None where the maximum holds.
        max_buffer_percent: Option<u8>,
    },
}

#[derive(Debug, Serialize)]
struct StepDocument {
    lower: Option<f64>,
    upper: Option<f64>,
    change: i32,
}

#[derive(Debug, Serialize)]
struct ScheduleDocument<'a> {
    name: &'a str,
    origin: Option<String>,
    expression: &'a str,
    time_zone: Option<&'a str>,
    start: Option<String>,
    end: Option<String>,
    /// The next times at which it happens.
    next: Vec<String>,
    min: Option<u32>,
    max: Option<u32>,
    desired: Option<u32>,
}

#[derive(Debug, Serialize)]
struct RemarkDocument<'a> {
    file: &'a str,
    path: &'a str,
    name: Option<&'a str>,
    effect: &'static str,
    text: String,
}

/// The fleet as JSON. Schedules have the times at which they happen next after `now`, in microseconds since 1970.
pub fn json(fleet: &Fleet, now: i64) -> Json {
    let document = Document {
        version: status::version(),
        services: fleet.services.iter().map(|service| ServiceDocument::of(service, now)).collect(),
        remarks: fleet.remarks.iter().map(RemarkDocument::of).collect(),
    };
    serde_json::to_value(document).expect("names are strings")
}

/// A line for each service, policy and schedule, what was left out, and the command that follows.
pub fn summary(fleet: &Fleet, drafted: &Drafted<'_>) -> String {
    let text: String = fleet.services.iter().map(of_service).collect();
    let left_out = fleet.remarks.iter().filter(|remark| remark.cause.effect() == Effect::LeftOut).count();
    text + &drafted.end(left_out)
}

/// A service with its policies and schedules, a line each.
fn of_service(service: &Service) -> String {
    let platform = match service.platform {
        Platform::Ecs => "ECS service",
        Platform::Ec2 { .. } => "Auto Scaling group",
    };
    let kind = |rule: &Rule| match rule {
        Rule::Step { .. } => "step",
        Rule::Simple { .. } => "simple",
        Rule::TargetTracking { .. } => "target tracking",
        Rule::Predictive { .. } => "predictive",
    };
    let mut text = format!("{platform} {}: {} to {}", service.name, bound(service.min), bound(service.max));
    for policy in &service.policies {
        let alarms = policy.alarms.iter().filter_map(|alarm| service.alarms.get(*alarm));
        let alarms = alarms.map(|alarm| alarm.name.as_str()).collect::<Vec<_>>().join(", ");
        let by = if alarms.is_empty() { String::new() } else { format!(", by {alarms}") };
        text += &format!("\n  {} ({}){by}", policy.name, kind(&policy.rule));
    }
    for schedule in &service.schedule {
        text += &format!("\n  {} (scheduled, {})", schedule.name, schedule.text);
    }
    if !service.scales() {
        text += "\n  nothing scales it";
    }
    text + "\n"
}

impl<'a> ServiceDocument<'a> {
    fn of(service: &'a Service, now: i64) -> Self {
        let (platform, cooldown, warm_up) = match service.platform {
            Platform::Ecs => ("ecs", None, None),
            Platform::Ec2 { default_cooldown, default_warm_up } => {
                ("ec2", Some(default_cooldown), Some(default_warm_up))
            }
        };
        ServiceDocument {
            name: &service.name,
            platform,
            origin: shown_origin(&service.origin),
            min: service.min,
            max: service.max,
            desired: service.desired,
            default_cooldown_s: seconds(cooldown),
            default_warm_up_s: seconds(warm_up),
            suspended: Suspended {
                scaling_in: service.suspended.scaling_in,
                scaling_out: service.suspended.scaling_out,
                scheduled: service.suspended.scheduled,
            },
            target_group: service.target_group.as_ref().map(|group| TargetGroupDocument {
                algorithm: group.algorithm.as_deref(),
                deregistration_delay_s: seconds(group.deregistration_delay),
                slow_start_s: seconds(group.slow_start),
            }),
            alarms: service.alarms.iter().map(AlarmDocument::of).collect(),
            policies: service.policies.iter().map(|policy| PolicyDocument::of(policy, service)).collect(),
            schedule: service.schedule.iter().map(|schedule| ScheduleDocument::of(schedule, now)).collect(),
        }
    }
}

impl<'a> AlarmDocument<'a> {
    fn of(alarm: &'a Alarm) -> Self {
        AlarmDocument {
            name: &alarm.name,
            origin: shown_origin(&alarm.origin),
            metric: alarm.metric.name(),
            statistic: &alarm.statistic,
            period_s: alarm.period.as_secs(),
            evaluation_periods: alarm.evaluation_periods,
            datapoints_to_alarm: alarm.datapoints_to_alarm,
            comparison: alarm.comparison.name(),
            threshold: alarm.threshold,
            missing: alarm.missing.name(),
            few_samples: alarm.few_samples.name(),
        }
    }
}

impl<'a> PolicyDocument<'a> {
    fn of(policy: &'a Policy, service: &'a Service) -> Self {
        let alarms = policy.alarms.iter().filter_map(|alarm| service.alarms.get(*alarm));
        PolicyDocument {
            name: &policy.name,
            origin: shown_origin(&policy.origin),
            alarms: alarms.map(|alarm| alarm.name.as_str()).collect(),
            rule: RuleDocument::of(&policy.rule),
        }
    }
}

impl<'a> RuleDocument<'a> {
    fn of(rule: &'a Rule) -> Self {
        match rule {
            Rule::Step { adjustment, steps, min_adjustment_magnitude, aggregation, cooldown, warm_up } => {
                RuleDocument::Step {
                    adjustment: adjustment.name(),
                    steps: steps
                        .iter()
                        .map(|step| StepDocument {
                            lower: step.lower,
                            upper: step.upper,
                            change: step.change,
                        })
                        .collect(),
                    min_adjustment_magnitude: *min_adjustment_magnitude,
                    aggregation: aggregation.name(),
                    cooldown_s: seconds(*cooldown),
                    warm_up_s: seconds(*warm_up),
                }
            }
            Rule::Simple { adjustment, change, min_adjustment_magnitude, cooldown } => RuleDocument::Simple {
                adjustment: adjustment.name(),
                change: *change,
                min_adjustment_magnitude: *min_adjustment_magnitude,
                cooldown_s: seconds(*cooldown),
            },
            Rule::TargetTracking {
                metric,
                statistic,
                resolution,
                target,
                scale_out_cooldown,
                scale_in_cooldown,
                disable_scale_in,
                warm_up,
            } => RuleDocument::TargetTracking {
                metric: metric.name(),
                statistic,
                resolution_s: resolution.as_secs(),
                target: *target,
                scale_out_cooldown_s: seconds(*scale_out_cooldown),
                scale_in_cooldown_s: seconds(*scale_in_cooldown),
                disable_scale_in: *disable_scale_in,
                warm_up_s: seconds(*warm_up),
            },
            Rule::Predictive { load, target, mode, buffer, above_max } => RuleDocument::Predictive {
                metric: match load {
                    Load::Cpu => "cpu",
                    Load::Requests => "requests-per-target",
                },
                target: *target,
                mode: match mode {
                    Mode::ForecastAndScale => "forecast-and-scale",
                    Mode::ForecastOnly => "forecast-only",
                },
                buffer_s: seconds(*buffer),
                max_buffer_percent: match above_max {
                    AboveMax::Honor => None,
                    AboveMax::Increase { percent } => Some(*percent),
                },
            },
        }
    }
}

impl<'a> ScheduleDocument<'a> {
    fn of(schedule: &'a Schedule, now: i64) -> Self {
        let next = schedule.between(now, now.saturating_add(YEAR));
        ScheduleDocument {
            name: &schedule.name,
            origin: shown_origin(&schedule.origin),
            expression: &schedule.text,
            time_zone: schedule.zone.as_deref(),
            start: schedule.start.map(shown_time),
            end: schedule.end.map(shown_time),
            next: next.into_iter().take(NEXT).map(shown_time).collect(),
            min: schedule.min,
            max: schedule.max,
            desired: schedule.desired,
        }
    }
}

impl<'a> RemarkDocument<'a> {
    fn of(remark: &'a Remark) -> Self {
        RemarkDocument {
            file: &remark.file,
            path: &remark.path,
            name: remark.name.as_deref(),
            effect: match remark.cause.effect() {
                Effect::LeftOut => "left-out",
                Effect::Assumed => "assumed",
                Effect::Noted => "noted",
            },
            text: remark.cause.to_string(),
        }
    }
}

/// An ARN or the address of a resource.
fn shown_origin(origin: &Option<Origin>) -> Option<String> {
    origin.as_ref().map(ToString::to_string)
}

/// A bound, if the files have it.
fn bound(bound: Option<u32>) -> String {
    bound.map_or_else(|| "?".to_owned(), |bound| bound.to_string())
}

fn seconds(span: Option<Duration>) -> Option<u64> {
    span.map(|span| span.as_secs())
}

/// A year, in microseconds.
const YEAR: i64 = 366 * 86_400 * 1_000_000;
/// The most times of a schedule that are listed.
const NEXT: usize = 3;
