//! The tables that say who changes the number of instances, and on which metrics.

use super::behavior_file::FileBehavior;
use super::words::{Change, Number, Percentage, TimeOfDay, Utilization};
use fields::{At, Count, Frequency, Names, Share, Span, Switch, Text, tables};

tables! {
    /// Who decides how many instances there are: alarms with policies and the clock, `hpa`, or `knative`.
    ScalingTable {
        /// The fewest instances that a policy may ask for.
        min: At<Count>,
        /// The most instances that a policy may ask for.
        max: At<Count>,
        /// From the end of a period until alarms see its datapoint. Default: 1m; 0s for
        /// `platform: local`.
        publication_delay: Option<At<Span>>,
        /// For `platform: ec2`: whether `cpu` has a point each minute (`detailed`) or every five (`basic`, which is EC2's
        /// default). Default: detailed.
        monitoring: Option<At<Text>>,
        /// Which instances end when there are too many: `oldest` or `newest`. Default: oldest.
        ends: Option<At<Text>>,
        /// Requests that one instance carries within the goal; the supply is scored with it. Default: as the run shows.
        capacity: Option<At<Frequency>>,
        /// From when a cooldown runs: `fulfilled` (the instances are there) or `decision`. Default: fulfilled.
        cooldown_from: Option<At<Text>>,
        /// Whom a cooldown holds back: `target` (all policies of the service) or `policy` (the one that scaled).
        /// Default: target.
        cooldown_scope: Option<At<Text>>,
        /// Whether an alarm invokes its policy `each-minute` while it lasts, or `on-transition` only. Default:
        /// each-minute, as CloudWatch does.
        repeat: Option<At<Text>>,
        /// Whose rules hold: `ecs`, `application` (other targets of Application Auto Scaling), `ec2` (Auto Scaling
        /// groups) or `local` (a fleet whose autoscaler reads its instances itself: periods from 1s). Default: ecs.
        platform: Option<At<Text>>,
        /// Alarms by name.
        alarms: Option<Names<At<AlarmTable>>>,
        /// Policies by name.
        policies: Option<Names<At<PolicyTable>>>,
        /// Changes of the bounds by the clock, every day: those of the day before hold at the beginning.
        schedule: Option<Vec<At<ScheduleTable>>>,
        /// A Kubernetes HorizontalPodAutoscaler, in place of alarms and policies.
        hpa: Option<At<HpaTable>>,
        /// Knative's autoscaler, in place of alarms and policies.
        knative: Option<At<KnativeTable>>,
    }

    /// A HorizontalPodAutoscaler (autoscaling/v2). Give it at least one of its targets.
    HpaTable {
        /// Processor use over what pods request, such as `70%`; above 100% where they may use more than `request`.
        cpu: Option<At<Utilization>>,
        /// Requests a second that a pod should have.
        requests_per_second: Option<At<Number>>,
        /// Requests in flight that a pod should have.
        in_flight: Option<At<Number>>,
        /// Cores that a pod requests. Default: what it is allotted.
        request: Option<At<Number>>,
        /// How fast pods may come and go: what a manifest has under `spec.behavior`, in its own words, or `true` for the
        /// defaults of autoscaling/v2; without it the rules of old hold. Default: false.
        behavior: Option<At<FileBehavior>>,
        /// With `behavior: true`: how long a lower count must be recommended. Default: 5m.
        stabilize_down: Option<At<Span>>,
        /// With `behavior: true`: how long a higher count must be recommended. Default: 0.
        stabilize_up: Option<At<Span>>,
        /// How far a metric may be off its target. Default: 10%.
        tolerance: Option<At<Share>>,
        /// From tick to tick. Default: 15s.
        sync_period: Option<At<Span>>,
        /// The minor version of Kubernetes whose rules hold, such as 27 for 1.27. Default: the newest that is known.
        version: Option<At<Count>>,
    }

    /// Knative's pod autoscaler. One of `concurrency` and `requests_per_second`.
    KnativeTable {
        /// Requests in flight that a pod can carry. Default: 100.
        concurrency: Option<At<Number>>,
        /// Requests a second that a pod can carry.
        requests_per_second: Option<At<Number>>,
        /// The share of that which is aimed at. Default: 70%.
        utilization: Option<At<Share>>,
        /// The window of calm decisions. Default: 60s.
        stable_window: Option<At<Span>>,
        /// How long fewer pods must be enough before there are fewer. Default: 0.
        scale_down_delay: Option<At<Span>>,
        /// The window of panic, in percent of the stable one: 1 to 100. Default: 10.
        panic_window_percentage: Option<At<Percentage>>,
        /// A panic begins where the short window wants so many percent of the ready pods: 110 to 1000. Default: 200.
        panic_threshold_percentage: Option<At<Percentage>>,
        /// How many times the ready pods may be wanted at once; above 1. Default: 1000.
        max_scale_up_rate: Option<At<Number>>,
        /// By how much the ready pods may be divided at once; above 1. Default: 2.
        max_scale_down_rate: Option<At<Number>>,
        /// The fewest pods once there is any traffic; at least 1. Default: 1.
        activation_scale: Option<At<Count>>,
    }

    /// Has a metric been beyond a threshold for long enough? As CloudWatch's alarms.
    AlarmTable {
        /// `cpu`, `latency`, `requests`, `requests-per-target` or `credits`.
        metric: At<Text>,
        /// `average`, `maximum`, `minimum`, `sum`, `samples`, a percentile such as `p95`, or a trimmed mean such as
        /// `tm99`. Default: average.
        statistic: Option<At<Text>>,
        /// The alarm is on where the statistic is greater than this: a share for `cpu`, a time for `latency`.
        above: Option<At<Text>>,
        /// ... greater than or equal to this.
        at_least: Option<At<Text>>,
        /// ... less than this.
        below: Option<At<Text>>,
        /// ... less than or equal to this.
        at_most: Option<At<Text>>,
        /// What a datapoint is made of: 10s, 20s, 30s or whole minutes; for `platform: local` any whole seconds that
        /// divide a minute. Default: 1m.
        period: Option<At<Span>>,
        /// How many periods are looked at. Default: as many as `datapoints`.
        evaluation_periods: Option<At<Count>>,
        /// How many of them must be beyond the threshold. Default: all.
        datapoints: Option<At<Count>>,
        /// What a period without data counts as: `missing`, `ignore`, `breaching` or `not-breaching`. Default:
        /// missing.
        missing: Option<At<Text>>,
        /// Where periods end: `sliding` (at every minute) or `wall-clock`. Default: sliding.
        windows: Option<At<Text>>,
        /// Whether percentiles of few samples are looked at: `evaluate` or `ignore`. Default: evaluate.
        few_samples: Option<At<Text>>,
    }

    /// One of a step policy (`alarms` with `change` or `steps`) and target tracking (`track` with `target`).
    PolicyTable {
        /// Any of these alarms invokes it.
        alarms: Option<At<Vec<At<Text>>>>,
        /// The change: instances such as `+1`, or a share of them such as `+10%`; or the number itself, such as `=4`.
        change: Option<At<Change>>,
        /// Changes by how far the metric is beyond the threshold.
        steps: Option<At<Vec<At<SizeStepTable>>>>,
        /// The least change by a share, in instances.
        least: Option<At<Count>>,
        /// Which of the latest datapoints is compared with the steps: `average`, `maximum` or `minimum`. Default:
        /// average.
        aggregation: Option<At<Text>>,
        /// After a change, for how long it waits. Default: 5m.
        cooldown: Option<At<Span>>,
        /// Only for target tracking: after instances were taken away. Default: as `cooldown`.
        cooldown_in: Option<At<Span>>,
        /// For `platform: ec2`: after so long an instance counts. Default: 5m.
        warm_up: Option<At<Span>>,
        /// For `platform: ec2`: simple scaling waits until instances are launched and the cooldown is over. Default:
        /// false.
        simple: Option<At<Switch>>,
        /// Target tracking: `cpu` or `requests-per-target`.
        track: Option<At<Text>>,
        /// What it keeps that metric at: a share for `cpu`, a number of requests a minute for the other.
        target: Option<At<Text>>,
        /// What target tracking makes of the target: `ecs`, `ecs-high-resolution`, `ecs-capacity-provider`,
        /// `application`, `dynamodb`, `ec2-asg`, `custom` or `response-time`. Default: by the platform.
        preset: Option<At<Text>>,
        /// Only ever out. Default: false.
        never_in: Option<At<Switch>>,
    }

    /// A step: from `from` to `to` beyond the threshold.
    SizeStepTable {
        /// Relative to the threshold. Default: without bound.
        from: Option<At<Text>>,
        /// Relative to the threshold. Default: without bound.
        to: Option<At<Text>>,
        /// The change.
        change: At<Change>,
    }

    /// New bounds at a time of each day.
    ScheduleTable {
        /// When.
        at: At<TimeOfDay>,
        /// The fewest from then on.
        min: Option<At<Count>>,
        /// The most from then on.
        max: Option<At<Count>>,
        /// The number to set, for `platform: ec2` and `local`.
        desired: Option<At<Count>>,
    }
}
