//! The rights that a scaler uses, for its messages and as the policy of IAM that grants them.

use scaler::settings::{Aws, AwsFleet};
use serde_json::json;

/// A right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Right {
    /// The action of IAM, such as `ecs:UpdateService`.
    pub action: &'static str,
    /// The ARN of the resource, or `*` where IAM has no narrower one for the action.
    pub resource: String,
}

/// All rights that are used: those of recommending, and with `apply` that of setting sizes. With `usage` the processor use is
/// read.
///
/// Resources: "Actions, resources, and condition keys" of the Service Authorization Reference.
pub fn of(target: &Aws, apply: bool, usage: bool) -> Vec<Right> {
    let any = |action| Right { action, resource: "*".to_owned() };
    let mut all = match &target.fleet {
        AwsFleet::Ecs { .. } => {
            vec![read(target), any(POLICIES_OF_SERVICES), any(SCHEDULES_OF_SERVICES), any(TARGETS)]
        }
        AwsFleet::Group { .. } => vec![read(target), any(POLICIES_OF_GROUPS), any(SCHEDULES_OF_GROUPS)],
    };
    if usage {
        all.push(any(METRICS));
    }
    if apply {
        all.push(set(target));
    }
    all
}

/// The right to read the size.
pub(crate) fn read(target: &Aws) -> Right {
    match &target.fleet {
        AwsFleet::Ecs { .. } => Right { action: "ecs:DescribeServices", resource: arn(target) },
        AwsFleet::Group { .. } => {
            Right { action: "autoscaling:DescribeAutoScalingGroups", resource: "*".to_owned() }
        }
    }
}

/// The right to set the size.
pub(crate) fn set(target: &Aws) -> Right {
    let action = match &target.fleet {
        AwsFleet::Ecs { .. } => "ecs:UpdateService",
        AwsFleet::Group { .. } => "autoscaling:SetDesiredCapacity",
    };
    Right { action, resource: arn(target) }
}

/// One of the rights without a narrower resource.
pub(crate) fn any(action: &'static str) -> Right {
    Right { action, resource: "*".to_owned() }
}

fn arn(target: &Aws) -> String {
    let region = target.region.as_deref().unwrap_or("*");
    let partition = match region {
        region if region.starts_with("cn-") => "aws-cn",
        region if region.starts_with("us-gov-") => "aws-us-gov",
        _ => "aws",
    };
    match &target.fleet {
        AwsFleet::Ecs { cluster, service } => {
            format!("arn:{partition}:ecs:{region}:*:service/{cluster}/{service}")
        }
        AwsFleet::Group { name } => {
            format!("arn:{partition}:autoscaling:{region}:*:autoScalingGroup:*:autoScalingGroupName/{name}")
        }
    }
}

/// A policy of IAM with exactly these rights, as JSON.
pub fn policy(target: &Aws, usage: bool) -> String {
    let mut statements: Vec<(String, Vec<&str>)> = Vec::new();
    for Right { action, resource } in of(target, true, usage) {
        match statements.iter_mut().find(|(other, _)| *other == resource) {
            Some((_, actions)) => actions.push(action),
            None => statements.push((resource, vec![action])),
        }
    }
    let statements: Vec<_> = statements
        .iter()
        .map(|(resource, actions)| json!({ "Effect": "Allow", "Action": actions, "Resource": resource }))
        .collect();
    format!("{:#}\n", json!({ "Version": "2012-10-17", "Statement": statements }))
}

pub(crate) const POLICIES_OF_SERVICES: &str = "application-autoscaling:DescribeScalingPolicies";
pub(crate) const SCHEDULES_OF_SERVICES: &str = "application-autoscaling:DescribeScheduledActions";
pub(crate) const TARGETS: &str = "application-autoscaling:DescribeScalableTargets";
pub(crate) const POLICIES_OF_GROUPS: &str = "autoscaling:DescribePolicies";
pub(crate) const SCHEDULES_OF_GROUPS: &str = "autoscaling:DescribeScheduledActions";
pub(crate) const METRICS: &str = "cloudwatch:GetMetricData";
