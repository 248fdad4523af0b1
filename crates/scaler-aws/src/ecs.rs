//! Services of ECS.

use crate::client::{Client, Refused};
use crate::rights::{self, any};
use crate::target::Described;
use aws_sdk_applicationautoscaling::types::ServiceNamespace;
use aws_sdk_ecs::types::{SchedulingStrategy, Service};
use scaler::settings::Aws;
use scaler::{Phase, TargetError};

/// Reads a service.
pub(crate) fn read(
    client: &Client,
    settings: &Aws,
    cluster: &str,
    service: &str,
) -> Result<Described, TargetError> {
    let call = client.ecs.describe_services().cluster(cluster).services(service);
    let found = client.call(&rights::read(settings), call.send())?;
    let active = found.services().iter().find(|found| found.status() != Some("INACTIVE"));
    let Some(found) = active else {
        return Err(TargetError(format!(
            "there is no service `{service}` in the cluster `{cluster}`; look with `aws ecs list-services --cluster {cluster}`"
        )));
    };
    if found.scheduling_strategy() == Some(&SchedulingStrategy::Daemon) {
        return Err(TargetError(format!(
            "the service `{service}` runs one task on each host (DAEMON), so it has no size to set"
        )));
    }
    Ok(described(found))
}

/// Tasks have no names here: those that run count as ready, as many as are wanted, and those above it as ending.
fn described(found: &Service) -> Described {
    let [size, running, pending] = [found.desired_count(), found.running_count(), found.pending_count()]
        .map(|count| u32::try_from(count).unwrap_or(0));
    let of_running = (0..running).map(|number| if number < size { Phase::Ready } else { Phase::Ending });
    let phases = of_running.chain((0..pending).map(|_| Phase::Starting));
    let instances = phases.enumerate().map(|(number, phase)| (number.to_string(), phase)).collect();
    Described { size, bounds: None, instances }
}

/// Sets the desired count.
pub(crate) fn write(
    client: &Client,
    settings: &Aws,
    cluster: &str,
    service: &str,
    size: u32,
) -> Result<(), Refused> {
    let count = i32::try_from(size).unwrap_or(i32::MAX);
    let call = client.ecs.update_service().cluster(cluster).service(service).desired_count(count);
    client.call(&rights::set(settings), call.send()).map(|_| ())
}

/// The policies and schedules of Application Auto Scaling that set the same count, in words; not those that are suspended.
pub(crate) fn others(client: &Client, cluster: &str, service: &str) -> Result<Vec<String>, TargetError> {
    let (resource, ecs) = (format!("service/{cluster}/{service}"), ServiceNamespace::Ecs);
    let call = client.policies.describe_scalable_targets();
    let call = call.service_namespace(ecs.clone()).resource_ids(&resource);
    let targets = client.call(&any(rights::TARGETS), call.send())?;
    let suspended = targets.scalable_targets().first().and_then(|target| target.suspended_state());
    let policies_stopped = suspended.is_some_and(|state| {
        state.dynamic_scaling_in_suspended() == Some(true)
            && state.dynamic_scaling_out_suspended() == Some(true)
    });
    let schedules_stopped = suspended.is_some_and(|state| state.scheduled_scaling_suspended() == Some(true));
    let call = client.policies.describe_scaling_policies();
    let call = call.service_namespace(ecs.clone()).resource_id(&resource);
    let policies = client.call(&any(rights::POLICIES_OF_SERVICES), call.send())?;
    let call = client.policies.describe_scheduled_actions();
    let call = call.service_namespace(ecs).resource_id(&resource);
    let schedules = client.call(&any(rights::SCHEDULES_OF_SERVICES), call.send())?;
    let policies = policies
        .scaling_policies()
        .iter()
        .filter(|_| !policies_stopped)
        .map(|policy| format!("the scaling policy `{}`", policy.policy_name()));
    let schedules = schedules
        .scheduled_actions()
        .iter()
        .filter(|_| !schedules_stopped)
        .map(|action| format!("the scheduled action `{}`", action.scheduled_action_name()));
    Ok(policies.chain(schedules).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_above_the_wanted_count_are_ending() {
        let service = Service::builder().desired_count(2).running_count(3).pending_count(1).build();
        let found = described(&service);
        let phases: Vec<Phase> = found.instances.iter().map(|(_, phase)| *phase).collect();
        assert_eq!(phases, [Phase::Ready, Phase::Ready, Phase::Ending, Phase::Starting]);
        assert_eq!((found.size, found.bounds), (2, None));
    }
}
