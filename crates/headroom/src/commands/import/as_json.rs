//! What was read of AWS, as JSON: the names that scripts depend on. The schema is `schemas/import-aws.schema.json`.

use ::import::aws::{Alarm, Effect, Fleet, Platform, Policy, Remark, Rule, Schedule, Service};
use ::import::shown_time;
use serde_json::{Value, json};
use std::time::Duration;

/// The text. Schedules say when they happen next after `now`, in microseconds since 1970.
pub fn text(fleet: &Fleet, now: i64) -> String {
    let value = json!({
        "version": status::version(),
        "services": fleet.services.iter().map(|found| service(found, now)).collect::<Vec<_>>(),
        "remarks": fleet.remarks.iter().map(remark).collect::<Vec<_>>(),
    });
    format!("{value:#}\n")
}

fn service(service: &Service, now: i64) -> Value {
    let (platform, cooldown, warm_up) = match service.platform {
        Platform::Ecs => ("ecs", None, None),
        Platform::Ec2 { default_cooldown, default_warm_up } => {
            ("ec2", Some(default_cooldown), Some(default_warm_up))
        }
    };
    json!({
        "name": service.name,
        "platform": platform,
        "min": service.min,
        "max": service.max,
        "desired": service.desired,
        "default_cooldown_s": seconds(cooldown),
        "default_warm_up_s": seconds(warm_up),
        "suspended": {
            "scaling_in": service.suspended.scaling_in,
            "scaling_out": service.suspended.scaling_out,
            "scheduled": service.suspended.scheduled,
        },
        "alarms": service.alarms.iter().map(alarm).collect::<Vec<_>>(),
        "policies": service.policies.iter().map(|found| policy(found, service)).collect::<Vec<_>>(),
        "schedule": service.schedule.iter().map(|found| schedule(found, now)).collect::<Vec<_>>(),
    })
}

fn alarm(alarm: &Alarm) -> Value {
    json!({
        "name": alarm.name,
        "metric": alarm.metric.name(),
        "statistic": alarm.statistic,
        "period_s": alarm.period.as_secs(),
        "evaluation_periods": alarm.evaluation_periods,
        "datapoints_to_alarm": alarm.datapoints_to_alarm,
        "comparison": alarm.comparison.name(),
        "threshold": alarm.threshold,
        "missing": alarm.missing.name(),
        "few_samples": alarm.few_samples.name(),
    })
}

fn policy(policy: &Policy, service: &Service) -> Value {
    let alarms = policy.alarms.iter().filter_map(|alarm| service.alarms.get(*alarm));
    let mut value = match &policy.rule {
        Rule::Step { adjustment, steps, min_adjustment_magnitude, aggregation, cooldown, warm_up } => json!({
            "kind": "step",
            "adjustment": adjustment.name(),
            "steps": steps.iter().map(|step| json!({
                "lower": step.lower, "upper": step.upper, "change": step.change,
            })).collect::<Vec<_>>(),
            "min_adjustment_magnitude": min_adjustment_magnitude,
            "aggregation": aggregation.name(),
            "cooldown_s": seconds(*cooldown),
            "warm_up_s": seconds(*warm_up),
        }),
        Rule::Simple { adjustment, change, min_adjustment_magnitude, cooldown } => json!({
            "kind": "simple",
            "adjustment": adjustment.name(),
            "change": change,
            "min_adjustment_magnitude": min_adjustment_magnitude,
            "cooldown_s": seconds(*cooldown),
        }),
        Rule::TargetTracking {
            metric,
            statistic,
            resolution,
            target,
            scale_out_cooldown,
            scale_in_cooldown,
            disable_scale_in,
            warm_up,
        } => json!({
            "kind": "target-tracking",
            "metric": metric.name(),
            "statistic": statistic,
            "resolution_s": resolution.as_secs(),
            "target": target,
            "scale_out_cooldown_s": seconds(*scale_out_cooldown),
            "scale_in_cooldown_s": seconds(*scale_in_cooldown),
            "disable_scale_in": disable_scale_in,
            "warm_up_s": seconds(*warm_up),
        }),
    };
    value["name"] = json!(policy.name);
    value["alarms"] = alarms.map(|alarm| json!(alarm.name)).collect();
    value
}

fn schedule(schedule: &Schedule, now: i64) -> Value {
    let next = schedule.between(now, now.saturating_add(YEAR));
    json!({
        "name": schedule.name,
        "expression": schedule.text,
        "time_zone": schedule.zone,
        "start": schedule.start.map(shown_time),
        "end": schedule.end.map(shown_time),
        "next": next.into_iter().take(NEXT).map(shown_time).collect::<Vec<_>>(),
        "min": schedule.min,
        "max": schedule.max,
        "desired": schedule.desired,
    })
}

fn remark(remark: &Remark) -> Value {
    json!({
        "file": remark.file,
        "path": remark.path,
        "name": remark.name,
        "effect": match remark.cause.effect() {
            Effect::LeftOut => "left-out",
            Effect::Assumed => "assumed",
            Effect::Noted => "noted",
        },
        "text": remark.cause.to_string(),
    })
}

fn seconds(span: Option<Duration>) -> Option<u64> {
    span.map(|span| span.as_secs())
}

/// In microseconds.
const YEAR: i64 = 366 * 86_400 * 1_000_000;
/// As many occurrences are told.
const NEXT: usize = 3;
