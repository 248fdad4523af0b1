//! `keda` of a service: a ScaledObject.

use super::behavior_file::FileBehavior;
use super::words::{Number, QueryMetric, TimeOfDay, Utilization};
use fields::{At, Count, Share, Span, Switch, Text, tables};

tables! {
    /// A ScaledObject of KEDA (keda.sh/v1alpha1), with `min` as its minReplicaCount and `max` as its maxReplicaCount.
    /// At least one trigger is required: `prometheus`, `cron` or `cpu`.
    KedaTable {
        /// Triggers of type `prometheus`.
        prometheus: Option<Vec<At<PrometheusTable>>>,
        /// Triggers of type `cron`.
        cron: Option<Vec<At<CronTable>>>,
        /// The trigger `cpu`: target of processor use relative to the request, such as `70%`. It never activates.
        cpu: Option<At<Utilization>>,
        /// Processor request of a pod, in cores. Default: `request` of its host, its limit, or all cores.
        request: Option<At<Number>>,
        /// How often triggers are asked whether they are active (pollingInterval); at least 1s. Default: 30s.
        polling_interval: Option<At<Span>>,
        /// Time from the last activity to the scale-in to zero or `idle` (cooldownPeriod). Default: 5m.
        cooldown_period: Option<At<Span>>,
        /// The same from the beginning, while no trigger has been active (initialCooldownPeriod). Default: 0.
        initial_cooldown_period: Option<At<Span>>,
        /// Number of pods while no trigger is active (idleReplicaCount); below `min`. Default: none.
        idle: Option<At<Count>>,
        /// Number of pods while a trigger fails. Default: none; a failed trigger then changes nothing.
        fallback: Option<At<FallbackTable>>,
        /// Scaling is paused (annotation `paused`). Default: false.
        paused: Option<At<Switch>>,
        /// Scaling is paused with this number of pods (annotation `paused-replicas`).
        paused_replicas: Option<At<Count>>,
        /// Scaling in is paused (annotation `paused-scale-in`). Default: false.
        paused_scale_in: Option<At<Switch>>,
        /// Scaling out is paused (annotation `paused-scale-out`). Default: false.
        paused_scale_out: Option<At<Switch>>,
        /// Activated without an active trigger (annotation `force-activation`). Default: false.
        force_activation: Option<At<Switch>>,
        /// How fast its autoscaler may scale (horizontalPodAutoscalerConfig.behavior): the content of `behavior` of a
        /// manifest, or `true` for the defaults of autoscaling/v2; without it, the rules before `behavior` existed.
        /// Default: false.
        behavior: Option<At<FileBehavior>>,
        /// How far a metric may be from its target without scaling. Default: 10%.
        tolerance: Option<At<Share>>,
        /// Time between two decisions of the autoscaler. Default: 15s.
        sync_period: Option<At<Span>>,
        /// Minor version of Kubernetes, such as 27 for 1.27. Default: the newest that is supported.
        version: Option<At<Count>>,
    }

    /// A trigger of type `prometheus`. A query is not evaluated: `measures` says what its result is.
    PrometheusTable {
        /// The result of the query, for the whole service: `requests-per-second`, `in-flight`, `queue-length` (requests
        /// that wait for a thread or at a limit), `cpu` (cores), a percentile of response times such as `p95` (seconds),
        /// or `recorded`.
        measures: At<QueryMetric>,
        /// The result is what is measured times this. Default: 1.
        factor: Option<At<Number>>,
        /// With `recorded`: a file with the values over time: a table, or the JSON of Prometheus' query_range. The path
        /// is relative to the case file.
        file: Option<At<Text>>,
        /// With `file`: the width of a row, for tables without times.
        bin: Option<At<Span>>,
        /// Target of the result.
        threshold: At<Number>,
        /// The trigger is active above this result (activationThreshold). Default: 0.
        activation_threshold: Option<At<Number>>,
        /// `AverageValue` (the result divided by the pods) or `Value` (the result itself). Default: AverageValue.
        metric_type: Option<At<Text>>,
        /// Where the query's data comes from: `balancer`, or `pods`, whose result is empty while no pod is ready.
        /// Default: balancer.
        source: Option<At<Text>>,
        /// Whether an empty result counts as 0; otherwise it is a failure (ignoreNullValues). Default: true.
        ignore_null_values: Option<At<Switch>>,
        /// Span over which the query averages, such as 2m for `rate(...[2m])`. Default: 1m.
        window: Option<At<Span>>,
        /// Times of each day at which the query fails.
        outages: Option<Vec<At<OutageTable>>>,
    }

    /// A span of each day in which a query fails.
    OutageTable {
        /// The time of day at which it begins.
        at: At<TimeOfDay>,
        /// Its length.
        lasts: At<Span>,
    }

    /// A trigger of type `cron`. Schedules are in the time zone of the case file, with its offset at the beginning.
    CronTable {
        /// When it begins: minute, hour, day of month, month and day of week, such as `0 8 * * 1-5`.
        start: At<Text>,
        /// When it ends, in the same form.
        end: At<Text>,
        /// Number of pods in between (desiredReplicas).
        replicas: At<Count>,
        /// `AverageValue` or `Value`. Default: AverageValue.
        metric_type: Option<At<Text>>,
    }

    /// The number of pods while a trigger fails.
    FallbackTable {
        /// Number of failures in a row after which the fallback begins with the next (failureThreshold). Polls and
        /// syncs of the autoscaler both count.
        failure_threshold: At<Count>,
        /// The number of pods.
        replicas: At<Count>,
        /// `static`, `currentReplicas`, `currentReplicasIfHigher` or `currentReplicasIfLower`. Default: static.
        behavior: Option<At<Text>>,
    }
}
