//! Auto Scaling groups of EC2.

use crate::client::{Client, Refused};
use crate::rights::{self, any};
use crate::target::Described;
use aws_sdk_autoscaling::types::{AutoScalingGroup, LifecycleState, PredictiveScalingMode};
use scaler::settings::Aws;
use scaler::{Phase, TargetError};

/// Reads a group.
pub(crate) fn read(client: &Client, settings: &Aws, name: &str) -> Result<Described, TargetError> {
    group(client, settings, name).map(|found| described(&found))
}

fn group(client: &Client, settings: &Aws, name: &str) -> Result<AutoScalingGroup, TargetError> {
    let call = client.groups.describe_auto_scaling_groups().auto_scaling_group_names(name);
    let found = client.call(&rights::read(settings), call.send())?;
    found.auto_scaling_groups.into_iter().flatten().next().ok_or_else(|| {
        TargetError(format!(
            "there is no Auto Scaling group `{name}`; look with `aws autoscaling describe-auto-scaling-groups`"
        ))
    })
}

fn described(found: &AutoScalingGroup) -> Described {
    let [size, min, max] = [found.desired_capacity(), found.min_size(), found.max_size()]
        .map(|count| count.and_then(|count| u32::try_from(count).ok()).unwrap_or(0));
    let instances = found.instances().iter().filter_map(|one| {
        let name = one.instance_id()?.to_owned();
        Some((name, phase_of(one.lifecycle_state()?)?))
    });
    Described { size, bounds: Some((min, max)), instances: instances.collect() }
}

/// None: it does not belong to the fleet, as those of a warm pool.
fn phase_of(state: &LifecycleState) -> Option<Phase> {
    match state.as_str() {
        "InService" => Some(Phase::Ready),
        state if state.starts_with("Pending") => Some(Phase::Starting),
        state if state.starts_with("Warmed") => None,
        _ => Some(Phase::Ending),
    }
}

/// Sets the desired capacity.
pub(crate) fn write(client: &Client, settings: &Aws, name: &str, size: u32) -> Result<(), Refused> {
    let capacity = i32::try_from(size).unwrap_or(i32::MAX);
    let call = client.groups.set_desired_capacity();
    // The policy and the guard have their own cooldowns.
    let call = call.auto_scaling_group_name(name).desired_capacity(capacity).honor_cooldown(false);
    client.call(&rights::set(settings), call.send()).map(|_| ())
}

/// The policies and schedules that set the same capacity, in words; not those that are disabled, or whose process is suspended.
pub(crate) fn others(client: &Client, settings: &Aws, name: &str) -> Result<Vec<String>, TargetError> {
    let found = group(client, settings, name)?;
    let is_suspended = |process: &str| {
        found.suspended_processes().iter().any(|suspended| suspended.process_name() == Some(process))
    };
    let call = client.groups.describe_policies().auto_scaling_group_name(name);
    let policies = client.call(&any(rights::POLICIES_OF_GROUPS), call.send())?;
    let call = client.groups.describe_scheduled_actions().auto_scaling_group_name(name);
    let schedules = client.call(&any(rights::SCHEDULES_OF_GROUPS), call.send())?;
    let policies = policies
        .scaling_policies()
        .iter()
        .filter(|policy| {
            let mode = policy.predictive_scaling_configuration().and_then(|forecast| forecast.mode());
            match policy.policy_type() {
                // No alarm invokes it.
                Some("PredictiveScaling") => mode == Some(&PredictiveScalingMode::ForecastAndScale),
                _ => policy.enabled() != Some(false) && !is_suspended("AlarmNotification"),
            }
        })
        .map(|policy| format!("the scaling policy `{}`", policy.policy_name().unwrap_or_default()));
    let schedules =
        schedules.scheduled_update_group_actions().iter().filter(|_| !is_suspended("ScheduledActions")).map(
            |action| format!("the scheduled action `{}`", action.scheduled_action_name().unwrap_or_default()),
        );
    Ok(policies.chain(schedules).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_of_the_lifecycle_are_phases() {
        for (state, phase) in [
            ("InService", Some(Phase::Ready)),
            ("Pending", Some(Phase::Starting)),
            ("Pending:Wait", Some(Phase::Starting)),
            ("Terminating:Proceed", Some(Phase::Ending)),
            ("Standby", Some(Phase::Ending)),
            ("Warmed:Stopped", None),
        ] {
            assert_eq!(phase_of(&LifecycleState::from(state)), phase, "{state}");
        }
    }
}
