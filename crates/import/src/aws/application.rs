//! Targets and scheduled actions of Application Auto Scaling.

use super::join::{Parts, SchedulePart, TargetPart};
use super::metric::Owner;
use super::remark::Cause;
use super::schedule::{Schedule, recurrence};
use super::walk::{Object, Report};
use super::{Platform, Suspended};

/// The ECS service of an entry; none for others, which are reported.
pub(super) fn owner(object: &Object<'_>, report: &mut Report) -> Option<Owner> {
    let namespace = object.text("ServiceNamespace", report);
    let namespace = object.needed("ServiceNamespace", namespace, "a service such as ecs", report)?;
    let resource = object.text("ResourceId", report);
    let resource = object.needed("ResourceId", resource, "such as service/cluster/name", report)?;
    let dimension = object.text("ScalableDimension", report).unwrap_or("ecs:service:DesiredCount");
    let parts: Vec<_> = resource.split('/').collect();
    match (namespace, dimension, &parts[..]) {
        ("ecs", "ecs:service:DesiredCount", ["service", cluster, service]) => {
            Some(Owner::Ecs((*cluster).to_owned(), (*service).to_owned()))
        }
        // Older ARNs do not contain the cluster.
        ("ecs", "ecs:service:DesiredCount", ["service", service]) => {
            Some(Owner::Ecs("default".to_owned(), (*service).to_owned()))
        }
        _ => {
            let what = format!("{namespace} {resource}");
            report.remarks.push(object.spot(None).remark(Cause::OtherTarget(what)));
            None
        }
    }
}

/// Reads one of `ScalableTargets`.
pub(super) fn target(object: &Object<'_>, parts: &mut Parts, report: &mut Report) {
    object.without_effect(&["RoleARN", "CreationTime"]);
    let Some(owner) = owner(object, report) else { return };
    let (min, max) = (object.count("MinCapacity", report), object.count("MaxCapacity", report));
    let min = object.needed_or_to_fill_in("MinCapacity", min, "the least capacity", report);
    let max = object.needed_or_to_fill_in("MaxCapacity", max, "the greatest capacity", report);
    let origin = object.origin("ScalableTargetARN", report);
    let mut suspended = Suspended::default();
    if let Some(state) = object.object("SuspendedState", report) {
        suspended.scaling_in = state.flag("DynamicScalingInSuspended", report).unwrap_or(false);
        suspended.scaling_out = state.flag("DynamicScalingOutSuspended", report).unwrap_or(false);
        suspended.scheduled = state.flag("ScheduledScalingSuspended", report).unwrap_or(false);
        state.finish(report);
    }
    // What a policy of predictive scaling has forecast.
    object.without_effect(&["PredictedCapacity"]);
    object.finish(report);
    let (Some(min), Some(max)) = (min, max) else { return };
    let spot = object.spot(Some(&owner.name()));
    let platform = Platform::Ecs;
    parts.target(TargetPart { spot, origin, owner, platform, min, max, desired: None, suspended }, report);
}

/// Reads one of `ScheduledActions`.
pub(super) fn scheduled(object: &Object<'_>, parts: &mut Parts, report: &mut Report) {
    let origin = object.origin("ScheduledActionARN", report);
    let name = object.text("ScheduledActionName", report);
    let Some(name) = object.needed("ScheduledActionName", name, "the name of the action", report) else {
        return;
    };
    let Some(owner) = owner(object, report) else { return };
    let schedule = object.text("Schedule", report);
    let Some(text) = object.needed("Schedule", schedule, "such as cron(0 8 * * ? *)", report) else { return };
    let zone = object.text("Timezone", report).map(str::to_owned);
    let (start, end) = (object.time("StartTime", report), object.time("EndTime", report));
    let created = object.time("CreationTime", report);
    let action = object.object("ScalableTargetAction", report);
    let Some(action) = object.needed("ScalableTargetAction", action, "what it sets", report) else { return };
    let (min, max) = (action.count("MinCapacity", report), action.count("MaxCapacity", report));
    action.finish(report);
    object.finish(report);
    match recurrence(text, zone.as_deref()) {
        Ok(when) => {
            // A rate counts from its beginning.
            let start = start.or(created.filter(|_| when.is_rate()));
            let schedule = Schedule {
                name: name.to_owned(),
                origin,
                text: text.to_owned(),
                when,
                zone,
                start,
                end,
                min,
                max,
                desired: None,
            };
            parts.scheduled(SchedulePart { spot: object.spot(Some(name)), owner, schedule });
        }
        Err(problem) => {
            let cause = Cause::Schedule { found: text.to_owned(), problem };
            report.remarks.push(object.spot_of("Schedule", Some(name)).remark(cause));
        }
    }
}
