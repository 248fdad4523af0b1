//! The tables of scaling: alarms, policies, schedules and autoscalers.

use super::behavior_file::FileBehavior;
use super::keda_file::{KedaTable, OutageTable};
use super::words::{
    CapacityText, Change, Moment, Number, OriginText, Percentage, QueryMetric, Utilization, Zone,
};
use fields::{At, Count, Names, Share, Span, Switch, Text, tables};

tables! {
    /// What scales a service: alarms with policies and schedules, `hpa`, `keda`, or `knative`.
    ScalingTable {
        /// The object with the bounds: the ARN of a scalable target or Auto Scaling group, or the address of its
        /// resource in Terraform.
        origin: Option<At<OriginText>>,
        /// Minimum number of instances.
        min: At<Count>,
        /// Maximum number of instances.
        max: At<Count>,
        /// Time from the end of a period until alarms see its datapoint. Default: 1m; 0s for `platform: local`.
        publication_delay: Option<At<Span>>,
        /// For `platform: ec2`: whether `cpu` has a point each minute (`detailed`) or every five (`basic`, which is
        /// EC2's default). Default: detailed.
        monitoring: Option<At<Text>>,
        /// Which instances are stopped first: `oldest` or `newest`. Default: oldest.
        ends: Option<At<Text>>,
        /// What one instance carries within the goal, for the elasticity scores and `headroom plan`: a rate, the JSON of
        /// `headroom squeeze` or `headroom find` as a file relative to this one, or such a run of the ledger by its number or name.
        /// Default: measured in the run.
        capacity: Option<At<CapacityText>>,
        /// When a cooldown begins: `fulfilled` (the instances run) or `decision`. Default: fulfilled.
        cooldown_from: Option<At<Text>>,
        /// The policies to which a cooldown applies: `target` (all of the service) or `policy` (the one that scaled).
        /// Default: target.
        cooldown_scope: Option<At<Text>>,
        /// When an alarm invokes its policies: `each-minute` while it is in ALARM, or only `on-transition` to it; for
        /// `platform: local` also `each-period` of the alarm while it is in ALARM. Default: each-minute, like CloudWatch.
        repeat: Option<At<Text>>,
        /// The platform, which selects the rules: `ecs`, `application` (other targets of Application Auto Scaling),
        /// `ec2` (Auto Scaling groups) or `local` (a fleet whose autoscaler reads its instances itself: periods from
        /// 1s). Default: ecs.
        platform: Option<At<Text>>,
        /// Alarms by name.
        alarms: Option<Names<At<AlarmTable>>>,
        /// Policies by name.
        policies: Option<Names<At<PolicyTable>>>,
        /// Changes of the bounds at times of day, on weekdays or on dates. A run begins with the bounds that earlier
        /// actions have set. With `hpa`: changes of `min` and `max` by a cron job.
        schedule: Option<Vec<At<ScheduleTable>>>,
        /// A Kubernetes HorizontalPodAutoscaler, instead of alarms and policies.
        hpa: Option<At<HpaTable>>,
        /// A ScaledObject of KEDA, instead of alarms and policies.
        keda: Option<At<KedaTable>>,
        /// Knative's autoscaler, instead of alarms and policies.
        knative: Option<At<KnativeTable>>,
    }

    /// A HorizontalPodAutoscaler (autoscaling/v2). At least one target is required.
    HpaTable {
        /// Target of processor use relative to the request, such as `70%`; above 100% if pods may use more than
        /// `request`.
        cpu: Option<At<Utilization>>,
        /// Target of requests per second of a pod.
        requests_per_second: Option<At<Number>>,
        /// Target of requests in flight at a pod.
        in_flight: Option<At<Number>>,
        /// Metrics of other names and sources.
        metrics: Option<Vec<At<HpaMetricTable>>>,
        /// Processor request of a pod, in cores. Default: `request` of its host, its limit, or all cores.
        request: Option<At<Number>>,
        /// How fast it may scale: the content of `spec.behavior` of a manifest, or `true` for the defaults of
        /// autoscaling/v2; without it, the rules before `behavior` existed. Default: false.
        behavior: Option<At<FileBehavior>>,
        /// With `behavior: true`: stabilization window of scaling down. Default: 5m.
        stabilize_down: Option<At<Span>>,
        /// With `behavior: true`: stabilization window of scaling up. Default: 0.
        stabilize_up: Option<At<Span>>,
        /// How far a metric may be from its target without scaling. Default: 10%.
        tolerance: Option<At<Share>>,
        /// Time between two decisions. Default: 15s.
        sync_period: Option<At<Span>>,
        /// Minor version of Kubernetes, such as 27 for 1.27. Default: the newest that is supported.
        version: Option<At<Count>>,
    }

    /// A metric of an HPA: an entry of `spec.metrics`. Metrics are not queried: `measures` says what the metric is.
    HpaMetricTable {
        /// `External`, `Object` or `Pods` (of each pod), or `Resource` for the average processor use of a pod in cores.
        r#type: At<Text>,
        /// The name of the metric, for the output. Default: that of `measures`.
        name: Option<At<Text>>,
        /// With `Object`: the kind of the object, for the output. Default: Service.
        object: Option<At<Text>>,
        /// What the metric is: `requests-per-second`, `in-flight`, `queue-length` (requests that wait for a thread or at a
        /// limit), `cpu` (cores), a percentile of response times such as `p95` (seconds), or `recorded`. Of the whole
        /// service for `External` and `Object`; of a pod for `Pods`.
        measures: At<QueryMetric>,
        /// The metric is what is measured times this. Default: 1.
        factor: Option<At<Number>>,
        /// With `recorded`: a file with the values over time: a table, or the JSON of Prometheus' query_range. The path
        /// is relative to the case file.
        file: Option<At<Text>>,
        /// With `file`: the width of a row, for tables without times.
        bin: Option<At<Span>>,
        /// Target of the metric.
        threshold: At<Number>,
        /// `AverageValue` (the metric divided by the pods) or `Value` (the metric itself, only with `External` and
        /// `Object`). Default: AverageValue.
        metric_type: Option<At<Text>>,
        /// Where the metric comes from: `balancer`, or `pods`, without a value while no pod is ready. Default: balancer.
        source: Option<At<Text>>,
        /// Span over which the metric averages, such as 2m for `rate(...[2m])`. Default: 1m.
        window: Option<At<Span>>,
        /// Times of each day at which the metric cannot be read.
        outages: Option<Vec<At<OutageTable>>>,
    }

    /// Knative's pod autoscaler, with a target of `concurrency` or `requests_per_second`.
    KnativeTable {
        /// Requests in flight that a pod can carry. Default: 100.
        concurrency: Option<At<Number>>,
        /// Requests per second that a pod can carry.
        requests_per_second: Option<At<Number>>,
        /// Target utilization of that capacity. Default: 70%.
        utilization: Option<At<Share>>,
        /// Stable window. Default: 60s.
        stable_window: Option<At<Span>>,
        /// How long a lower count must be recommended before it is applied. Default: 0.
        scale_down_delay: Option<At<Span>>,
        /// Panic window, in percent of the stable window: 1 to 100. Default: 10.
        panic_window_percentage: Option<At<Percentage>>,
        /// Panic mode begins when the panic window asks for this percentage of the ready pods: 110 to 1000. Default:
        /// 200.
        panic_threshold_percentage: Option<At<Percentage>>,
        /// Largest ratio of new to ready pods in one decision; above 1. Default: 1000.
        max_scale_up_rate: Option<At<Number>>,
        /// Largest ratio of ready to new pods in one decision; above 1. Default: 2.
        max_scale_down_rate: Option<At<Number>>,
        /// Minimum number of pods when there is traffic; at least 1. Default: 1.
        activation_scale: Option<At<Count>>,
    }

    /// An alarm on a metric, like those of CloudWatch.
    AlarmTable {
        /// `cpu`, `latency`, `requests`, `requests-per-target` or `credits`.
        metric: At<Text>,
        /// `average`, `maximum`, `minimum`, `sum`, `samples`, a percentile such as `p95`, or a trimmed mean such as
        /// `tm99`. Default: average.
        statistic: Option<At<Text>>,
        /// Breached if the statistic is greater than this: a share for `cpu`, a time for `latency`.
        above: Option<At<Text>>,
        /// Breached if the statistic is greater than or equal to this.
        at_least: Option<At<Text>>,
        /// Breached if the statistic is less than this.
        below: Option<At<Text>>,
        /// Breached if the statistic is less than or equal to this.
        at_most: Option<At<Text>>,
        /// Time that a datapoint covers: 10s, 20s, 30s or whole minutes; for `platform: local` any whole seconds that
        /// divide a minute. Default: 1m.
        period: Option<At<Span>>,
        /// Number of periods that are evaluated. Default: as many as `datapoints`.
        evaluation_periods: Option<At<Count>>,
        /// Number of datapoints that must breach. Default: all evaluation periods.
        datapoints: Option<At<Count>>,
        /// How a period without data is treated: `missing`, `ignore`, `breaching` or `not-breaching`. Default:
        /// missing.
        missing: Option<At<Text>>,
        /// When periods end: `sliding` (at every minute) or `wall-clock`. Default: sliding.
        windows: Option<At<Text>>,
        /// Percentiles of few samples: `evaluate` or `ignore` them. Default: evaluate.
        few_samples: Option<At<Text>>,
        /// The alarm that this is a copy of: its ARN, or the address of its resource in Terraform.
        origin: Option<At<OriginText>>,
    }

    /// One of a step policy (`alarms` with `change` or `steps`), target tracking (`track` with `target`) and predictive
    /// scaling (`predict` with `target`).
    PolicyTable {
        /// Alarms, any of which invokes the policy.
        alarms: Option<At<Vec<At<Text>>>>,
        /// The change: instances such as `+1`, a percentage such as `+10%`, or an exact capacity such as `=4`.
        change: Option<At<Change>>,
        /// Changes that depend on how far the metric is beyond the threshold.
        steps: Option<At<Vec<At<SizeStepTable>>>>,
        /// Minimum change of a percentage, in instances.
        least: Option<At<Count>>,
        /// How the breaching datapoints are combined before they select a step: `average`, `maximum` or `minimum`.
        /// Default: average.
        aggregation: Option<At<Text>>,
        /// Time after a change during which it waits. Default: 5m; 0s for target tracking with the presets
        /// `application` and `dynamodb`.
        cooldown: Option<At<Span>>,
        /// Target tracking only: cooldown of scaling in. Default: as `cooldown`.
        cooldown_in: Option<At<Span>>,
        /// For `platform: ec2`: time until a new instance counts in the metrics. Default: 5m.
        warm_up: Option<At<Span>>,
        /// For `platform: ec2`: simple scaling waits until instances are launched and the cooldown is over. Default:
        /// false.
        simple: Option<At<Switch>>,
        /// Target tracking: `cpu` or `requests-per-target`.
        track: Option<At<Text>>,
        /// Target of that metric: a share for `cpu`, requests per minute for `requests-per-target`.
        target: Option<At<Text>>,
        /// Target tracking for `platform: local`: time that a datapoint of its alarms covers. Default: that of the preset.
        period: Option<At<Span>>,
        /// Target tracking for `platform: local`: number of datapoints above the target that scale out. Default: that of
        /// the preset.
        datapoints: Option<At<Count>>,
        /// Target tracking for `platform: local`: number of datapoints below the target that scale in. Default: that of the
        /// preset.
        datapoints_in: Option<At<Count>>,
        /// Alarms that target tracking creates, as observed at a kind of service: `ecs`, `ecs-high-resolution`,
        /// `ecs-capacity-provider`, `application`, `dynamodb`, `ec2-asg`, `custom` or `response-time`. Default: by
        /// the platform.
        preset: Option<At<Text>>,
        /// Never scale in. Default: false.
        never_in: Option<At<Switch>>,
        /// Predictive scaling: scale out to a forecast of `cpu` or `requests-per-target`, hour by hour, before each
        /// hour begins. Until its end, no other policy scales in below that. `target` is that of each instance.
        predict: Option<At<Text>>,
        /// Predictive scaling: `forecast-and-scale`, or `forecast-only`, which does nothing. Default:
        /// forecast-and-scale.
        mode: Option<At<Text>>,
        /// Predictive scaling: how long before an hour its instances are launched, below 1h. Default: 5m.
        buffer: Option<At<Span>>,
        /// Predictive scaling: what a forecast above `max` does: `honor` keeps `max`, `increase` raises it for that time.
        /// Default: honor.
        above_max: Option<At<Text>>,
        /// Predictive scaling with `above_max: increase`: by how much of a forecast `max` is raised above it, up to
        /// 100%. Default: 10%.
        max_buffer: Option<At<Share>>,
        /// Predictive scaling with `predict: requests-per-target`: a file with the requests of this service before the
        /// simulated time, as for `traffic: file`. Rows with times of and after its beginning are not used; rows without
        /// times end where it begins. Default: none; the forecast begins after a simulated day.
        history: Option<At<Text>>,
        /// The policy that this is a copy of: its ARN, or the address of its resource in Terraform.
        origin: Option<At<OriginText>>,
    }

    /// A step between two distances from the threshold.
    SizeStepTable {
        /// Lower bound, relative to the threshold. Default: no bound.
        from: Option<At<Text>>,
        /// Upper bound, relative to the threshold. Default: no bound.
        to: Option<At<Text>>,
        /// The change.
        change: At<Change>,
    }

    /// New bounds at a time that recurs, or once.
    ScheduleTable {
        /// A time of day (`'07:30'`: every day), a date with a time (`2026-11-27T06:00`: once), five fields of cron (`0 8
        /// * * MON-FRI`, as EC2 Auto Scaling and Kubernetes have them), or an expression of Application Auto Scaling:
        /// `cron(0 8 ? * MON-FRI *)`, `at(2026-11-27T06:00:00)` or `rate(1 day)`.
        at: At<Text>,
        /// The time zone of `at`, `start` and `end`. Default: `zone` of the file.
        zone: Option<At<Zone>>,
        /// Not before this time. A `rate(...)` counts from it.
        start: Option<At<Moment>>,
        /// Not after this time.
        end: Option<At<Moment>>,
        /// Minimum number of instances from then on.
        min: Option<At<Count>>,
        /// Maximum number of instances from then on.
        max: Option<At<Count>>,
        /// Number of instances to set, for `platform: ec2` and `local`.
        desired: Option<At<Count>>,
        /// The scheduled action that this is a copy of: its ARN, or the address of its resource in Terraform.
        origin: Option<At<OriginText>>,
    }
}
