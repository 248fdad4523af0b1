//! The resources that are read, and the names of their attributes in the API.

/// A type of resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    AppTarget,
    AppPolicy,
    AppScheduled,
    Group,
    GroupPolicy,
    GroupScheduled,
    Alarm,
    EcsService,
    TargetGroup,
}

impl Kind {
    /// The kind of a type of the AWS provider.
    pub(super) fn of(name: &str) -> Option<Kind> {
        Some(match name {
            "aws_appautoscaling_target" => Kind::AppTarget,
            "aws_appautoscaling_policy" => Kind::AppPolicy,
            "aws_appautoscaling_scheduled_action" => Kind::AppScheduled,
            "aws_autoscaling_group" => Kind::Group,
            "aws_autoscaling_policy" => Kind::GroupPolicy,
            "aws_autoscaling_schedule" => Kind::GroupScheduled,
            "aws_cloudwatch_metric_alarm" => Kind::Alarm,
            "aws_ecs_service" => Kind::EcsService,
            "aws_lb_target_group" | "aws_alb_target_group" => Kind::TargetGroup,
            _ => return None,
        })
    }

    /// Names of the API that are not the attribute's words in another case, with the attribute.
    pub(super) fn renamed(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Kind::AppTarget => &[("ScalableTargetARN", "arn")],
            Kind::AppPolicy => &[
                ("PolicyARN", "arn"),
                ("PolicyName", "name"),
                ("Alarms", "alarm_arns"),
                ("StepAdjustments", "step_adjustment"),
                ("MetricSpecifications", "metric_specification"),
            ],
            Kind::AppScheduled => &[("ScheduledActionARN", "arn"), ("ScheduledActionName", "name")],
            Kind::Group => &[
                ("AutoScalingGroupARN", "arn"),
                ("AutoScalingGroupName", "name"),
                ("WarmPoolConfiguration", "warm_pool"),
            ],
            Kind::GroupPolicy => &[
                ("PolicyARN", "arn"),
                ("PolicyName", "name"),
                ("AutoScalingGroupName", "autoscaling_group_name"),
                ("StepAdjustments", "step_adjustment"),
                ("Dimensions", "metric_dimension"),
                ("MetricSpecifications", "metric_specification"),
            ],
            Kind::GroupScheduled => {
                &[("ScheduledActionARN", "arn"), ("AutoScalingGroupName", "autoscaling_group_name")]
            }
            Kind::Alarm => &[
                ("AlarmArn", "arn"),
                ("OKActions", "ok_actions"),
                ("EvaluateLowSampleCountPercentile", "evaluate_low_sample_count_percentiles"),
                ("Metrics", "metric_query"),
            ],
            Kind::EcsService | Kind::TargetGroup => &[],
        }
    }

    /// Attributes without effect on scaling.
    pub(super) fn without_effect(self) -> &'static [&'static str] {
        match self {
            Kind::AppTarget => &["role_arn"],
            Kind::AppPolicy | Kind::AppScheduled | Kind::GroupPolicy | Kind::GroupScheduled => &[],
            Kind::Alarm => &["alarm_description"],
            Kind::Group => &[
                "availability_zone_distribution",
                "availability_zones",
                "capacity_rebalance",
                "capacity_reservation_specification",
                "context",
                "deletion_protection",
                "desired_capacity_type",
                "enabled_metrics",
                "force_delete",
                "force_delete_warm_pool",
                "health_check_grace_period",
                "health_check_type",
                "ignore_failed_scaling_activities",
                "instance_refresh",
                "launch_configuration",
                "launch_template",
                "load_balancers",
                "metrics_granularity",
                "min_elb_capacity",
                "name_prefix",
                "placement_group",
                "protect_from_scale_in",
                "service_linked_role_arn",
                "tag",
                "target_group_arns",
                "termination_policies",
                "traffic_source",
                "vpc_zone_identifier",
                "wait_for_capacity_timeout",
                "wait_for_elb_capacity",
                "warm_pool_size",
            ],
            // Only some attributes of these are looked up.
            Kind::EcsService | Kind::TargetGroup => &[],
        }
    }

    /// Attributes in which the provider has 0 where the API has nothing.
    pub(super) fn zero_is_nothing(self) -> &'static [&'static str] {
        match self {
            Kind::Group => &["default_instance_warmup", "max_instance_lifetime", "predicted_capacity"],
            Kind::AppPolicy | Kind::GroupPolicy => &["min_adjustment_magnitude"],
            Kind::Alarm => &["datapoints_to_alarm", "period", "evaluation_interval"],
            _ => &[],
        }
    }

    /// Whether an attribute has an effect in a policy of this type; the provider has placeholders for the others.
    pub(super) fn is_of_policy(self, key: &str, policy_type: &str) -> bool {
        match key {
            "scaling_adjustment" | "cooldown" if self == Kind::GroupPolicy => policy_type == "SimpleScaling",
            "estimated_instance_warmup" => policy_type != "SimpleScaling",
            "adjustment_type" | "metric_aggregation_type" => {
                !["TargetTrackingScaling", "PredictiveScaling"].contains(&policy_type)
            }
            _ => true,
        }
    }
}

/// Attributes of every resource without effect on scaling.
pub(super) const COMMON: [&str; 5] = ["id", "region", "tags", "tags_all", "timeouts"];

/// Blocks that occur once, which the document has as lists.
pub(super) const BLOCKS: [&str; 17] = [
    "suspended_state",
    "step_scaling_policy_configuration",
    "target_tracking_scaling_policy_configuration",
    "target_tracking_configuration",
    "predictive_scaling_policy_configuration",
    "predictive_scaling_configuration",
    "predefined_metric_pair_specification",
    "predefined_load_metric_specification",
    "predefined_scaling_metric_specification",
    "customized_load_metric_specification",
    "customized_scaling_metric_specification",
    "customized_capacity_metric_specification",
    "predefined_metric_specification",
    "customized_metric_specification",
    "scalable_target_action",
    "warm_pool",
    "instance_maintenance_policy",
];

/// Numbers that the provider has as text.
pub(super) const NUMBERS: [&str; 6] = [
    "metric_interval_lower_bound",
    "metric_interval_upper_bound",
    "min_capacity",
    "max_capacity",
    "scheduling_buffer_time",
    "max_capacity_buffer",
];
