//! Groups of EC2 Auto Scaling and their scheduled actions.

use super::join::{Parts, SchedulePart, TargetPart};
use super::metric::Owner;
use super::remark::Cause;
use super::schedule::{Recurrence, Schedule, unix_cron};
use super::walk::{Object, Report};
use super::{Platform, Suspended};
use std::time::Duration;

/// Reads one of `AutoScalingGroups`.
pub(super) fn group(object: &Object<'_>, parts: &mut Parts, report: &mut Report) {
    object.without_effect(WITHOUT_EFFECT);
    let name = object.text("AutoScalingGroupName", report);
    let Some(name) = object.needed("AutoScalingGroupName", name, "the name of the group", report) else {
        return;
    };
    let (min, max) = (object.count("MinSize", report), object.count("MaxSize", report));
    let min = object.needed_or_to_fill_in("MinSize", min, "the least size", report);
    let max = object.needed_or_to_fill_in("MaxSize", max, "the greatest size", report);
    let origin = object.origin("AutoScalingGroupARN", report);
    let desired = object.count("DesiredCapacity", report);
    let default_cooldown = object.seconds("DefaultCooldown", report).unwrap_or(FIVE_MINUTES);
    // -1 removes an earlier value.
    let warm_up =
        object.whole("DefaultInstanceWarmup", report).and_then(|seconds| u64::try_from(seconds).ok());
    let default_warm_up = warm_up.map_or(default_cooldown, Duration::from_secs);
    let mut suspended = Suspended::default();
    for process in object.list("SuspendedProcesses", report).unwrap_or_default() {
        process.without_effect(&["SuspensionReason"]);
        match process.text("ProcessName", report) {
            Some("AlarmNotification") => (suspended.scaling_in, suspended.scaling_out) = (true, true),
            Some("ScheduledActions") => suspended.scheduled = true,
            Some("HealthCheck" | "ReplaceUnhealthy" | "AZRebalance" | "InstanceRefresh") | None => {}
            Some(other) => {
                let cause = Cause::SuspendedProcess(other.to_owned());
                report.remarks.push(process.spot(Some(name)).remark(cause));
            }
        }
        process.finish(report);
    }
    for (key, what) in NOT_MODELLED {
        if object.has(key) {
            report.remarks.push(object.spot_of(key, Some(name)).remark(Cause::NotModelled(what)));
            object.without_effect(&[key]);
        }
    }
    // What a policy of predictive scaling has forecast.
    object.without_effect(&["PredictedCapacity"]);
    object.finish(report);
    let (Some(min), Some(max)) = (min, max) else { return };
    let platform = Platform::Ec2 { default_cooldown, default_warm_up };
    let (spot, owner) = (object.spot(Some(name)), Owner::Group(name.to_owned()));
    parts.target(TargetPart { spot, origin, owner, platform, min, max, desired, suspended }, report);
}

/// Reads one of `ScheduledUpdateGroupActions`.
pub(super) fn scheduled(object: &Object<'_>, parts: &mut Parts, report: &mut Report) {
    // The time is that of the next occurrence.
    let origin = object.origin("ScheduledActionARN", report);
    let group = object.text("AutoScalingGroupName", report);
    let Some(group) = object.needed("AutoScalingGroupName", group, "the name of the group", report) else {
        return;
    };
    let name = object.text("ScheduledActionName", report).unwrap_or_default();
    let zone = object.text("TimeZone", report).map(str::to_owned);
    let time = object.time("Time", report);
    let (start, end) = (object.time("StartTime", report), object.time("EndTime", report));
    let text = object.text("Recurrence", report);
    let (min, max) = (object.count("MinSize", report), object.count("MaxSize", report));
    let desired = object.count("DesiredCapacity", report);
    object.finish(report);
    let when = match (text, start.or(time)) {
        (Some(text), _) => unix_cron(text),
        (None, Some(at)) => Ok(Recurrence::Once(at)),
        (None, None) => Err("there is neither a time nor a recurrence".to_owned()),
    };
    let text = text.map_or_else(|| "once".to_owned(), str::to_owned);
    let when = when.and_then(|when| super::schedule::checked(when, zone.as_deref()));
    match when {
        Ok(when) => {
            let start = start.filter(|_| !matches!(when, Recurrence::Once(_)));
            let schedule =
                Schedule { name: name.to_owned(), origin, text, when, zone, start, end, min, max, desired };
            let owner = Owner::Group(group.to_owned());
            parts.scheduled(SchedulePart { spot: object.spot(Some(name)), owner, schedule });
        }
        Err(problem) => {
            let cause = Cause::Schedule { found: text, problem };
            report.remarks.push(object.spot_of("Recurrence", Some(name)).remark(cause));
        }
    }
}

/// AWS's default.
const FIVE_MINUTES: Duration = Duration::from_secs(300);

/// Fields that change how a group scales, and are not modelled.
const NOT_MODELLED: [(&str, &str); 4] = [
    ("MixedInstancesPolicy", "a mixture of instance types, with its weights,"),
    ("WarmPoolConfiguration", "a warm pool"),
    ("MaxInstanceLifetime", "a greatest age of instances"),
    ("InstanceMaintenancePolicy", "a maintenance policy"),
];

/// Properties of instances and their placement, and past events.
const WITHOUT_EFFECT: &[&str] = &[
    "LaunchConfigurationName",
    "LaunchTemplate",
    "AvailabilityZones",
    "AvailabilityZoneIds",
    "AvailabilityZoneDistribution",
    "AvailabilityZoneImpairmentPolicy",
    "CapacityReservationSpecification",
    "LoadBalancerNames",
    "TargetGroupARNs",
    "TrafficSources",
    "HealthCheckType",
    "HealthCheckGracePeriod",
    "Instances",
    "CreatedTime",
    "VPCZoneIdentifier",
    "EnabledMetrics",
    "Tags",
    "TerminationPolicies",
    "NewInstancesProtectedFromScaleIn",
    "ServiceLinkedRoleARN",
    "CapacityRebalance",
    "DesiredCapacityType",
    "DeletionProtection",
    "PlacementGroup",
    "Context",
    "Status",
    "WarmPoolSize",
];
