//! The tables of `live`: where a running service is measured and how its size is changed.

use super::words::Number;
use fields::{At, Count, Names, Size, Span, Switch, Text, tables};

tables! {
    /// The running service that `headroom scale` reads and changes.
    LiveTable {
        /// The service of this file. Default: the first one.
        service: Option<At<Text>>,
        /// The gateway before the service. With `kubernetes`, `ecs` or `auto_scaling_group` it may be left out.
        gateway: Option<At<LiveGatewayTable>>,
        /// A file that another program writes, with the JSON of the gateway's `GET /pools/POOL`, from which requests and
        /// response times are read. Default: the gateway.
        file: Option<At<Text>>,
        /// Queries of a Prometheus, by which requests and response times are read. Default: the gateway.
        prometheus: Option<At<LivePrometheusTable>>,
        /// Instances that are processes of this machine. Default: none; then sizes are only recommended.
        processes: Option<At<LiveProcessesTable>>,
        /// A resource of Kubernetes whose scale is read and set. Default: none. Needs a build with the feature `kube`.
        kubernetes: Option<At<LiveKubernetesTable>>,
        /// A service of ECS whose desired count is read and set. Default: none. Needs a build with the feature `aws`.
        ecs: Option<At<LiveEcsTable>>,
        /// An Auto Scaling group of EC2 whose desired capacity is read and set. Default: none. Needs a build with the feature
        /// `aws`.
        auto_scaling_group: Option<At<LiveGroupTable>>,
        /// Guard rails. Default: the bounds of the policy.
        guard: Option<At<LiveGuardTable>>,
        /// The time over which the goal is evaluated: it divides a minute, or is made of whole ones. Default: 1m.
        period: Option<At<Span>>,
        /// Metrics that are older are stale. Default: 10s.
        stale_after: Option<At<Span>>,
        /// Where others read the wanted size: Prometheus, KEDA, `headroom top`. Default: nowhere.
        serve: Option<At<LiveServeTable>>,
        /// The directory with the state and the record of the scaler, created if absent. Files in it named `pause` and
        /// `kill` stop the scaler from changing anything, and `size` has the wanted size.
        state: At<Text>,
    }

    /// A gateway.
    LiveGatewayTable {
        /// Its admin address: HOST:PORT or unix:PATH.
        admin: At<Text>,
        /// The pool with the instances.
        pool: At<Text>,
        /// The file with its token.
        token_file: Option<At<Text>>,
    }

    /// Queries of a Prometheus, in PromQL. Each gives what is true a second, so that instances may come and go: `rate(...)`.
    LivePrometheusTable {
        /// The base URL, such as `http://127.0.0.1:9090` or `https://USER:PASSWORD@HOST/prometheus`.
        url: At<Text>,
        /// The file with a bearer token. Default: none.
        token_file: Option<At<Text>>,
        /// Requests a second, such as `sum(rate(http_requests_total[1m]))`.
        requests: At<Text>,
        /// Those of them with a status of 500 or more. Default: none have one.
        errors: Option<At<Text>>,
        /// Requests in the service now. Default: not known.
        in_flight: Option<At<Text>>,
        /// Requests a second by the bounds of a histogram of response times in seconds, such as
        /// `sum by (le) (rate(http_request_duration_seconds_bucket[1m]))`. Default: not known.
        times: Option<At<Text>>,
        /// The time from one query to the next, at least 1s. Default: 5s.
        every: Option<At<Span>>,
    }

    /// Instances that are processes of this machine.
    LiveProcessesTable {
        /// The command of an instance, for `/bin/sh`. `{port}` is replaced by its port, which `PORT` has too.
        command: At<Text>,
        /// The ports of 127.0.0.1 on which instances listen, such as `9100-9130`.
        ports: At<Text>,
        /// More environment variables.
        environment: Option<Names<At<Text>>>,
        /// The path of the readiness check, which responds with a status from 200 to 399. Default: an instance is ready
        /// as soon as its port accepts connections.
        ready: Option<At<Text>>,
        /// The path of the instances' own metrics, with `process_cpu_seconds_total`. Default: the processor time of
        /// their processes.
        usage: Option<At<Text>>,
        /// The cores that an instance may use, by which its processor use is divided. Default: those of the
        /// service's first host.
        cores: Option<At<Number>>,
        /// What an instance may use, by control groups. Default: as much as there is.
        limits: Option<At<LiveLimitsTable>>,
        /// The longest time until an instance is ready; then it is replaced. Default: 1m.
        start: Option<At<Span>>,
        /// The longest time for draining an instance. Default: that of the service.
        drain: Option<At<Span>>,
        /// The time from SIGTERM to SIGKILL. Default: 10s.
        stop: Option<At<Span>>,
    }

    /// What an instance may use. Where this process may make no control groups, instances start without, which it says.
    LiveLimitsTable {
        /// Cores, also by which the processor use is divided unless `cores` is given. Default: no limit.
        cores: Option<At<Number>>,
        /// Memory, without swap. An instance that needs more is killed; with control groups of version 1 a process of it.
        /// Default: no limit.
        memory: Option<At<Size>>,
    }

    /// A resource of Kubernetes with a scale subresource.
    LiveKubernetesTable {
        /// RESOURCE.GROUP/NAME, as `kubectl` writes it, such as `deployments.apps/web`.
        resource: At<Text>,
        /// Its namespace. Default: that of the context, or of the pod.
        namespace: Option<At<Text>>,
        /// The kubeconfig. Default: that of KUBECONFIG, or ~/.kube/config.
        kubeconfig: Option<At<Text>>,
        /// The context of the kubeconfig. Default: the current one; in a pod its service account.
        context: Option<At<Text>>,
        /// The name of the Lease that the leader holds. Default: `headroom-` and the name of the object.
        lease: Option<At<Text>>,
    }

    /// A service of ECS.
    LiveEcsTable {
        /// The name of its cluster.
        cluster: At<Text>,
        /// Its name.
        service: At<Text>,
        /// Its region. Default: that of AWS_REGION, or of the profile.
        region: Option<At<Text>>,
        /// The profile with the credentials. Default: as the CLI of AWS finds them.
        profile: Option<At<Text>>,
    }

    /// An Auto Scaling group of EC2.
    LiveGroupTable {
        /// Its name.
        name: At<Text>,
        /// Its region. Default: that of AWS_REGION, or of the profile.
        region: Option<At<Text>>,
        /// The profile with the credentials. Default: as the CLI of AWS finds them.
        profile: Option<At<Text>>,
    }

    /// Guard rails: what of a policy's decision is carried out.
    LiveGuardTable {
        /// Minimum number of instances. Default: that of the policy.
        min: Option<At<Count>>,
        /// Maximum number of instances. Default: that of the policy.
        max: Option<At<Count>>,
        /// The most instances that one decision adds. Default: no bound.
        step_out: Option<At<Count>>,
        /// The most instances that one decision removes. Default: no bound.
        step_in: Option<At<Count>>,
        /// The most instances that are added and removed within a time. Default: no bound.
        rate: Option<At<LiveRateTable>>,
        /// Whether a policy may remove instances while metrics are stale, missing or contradicting. Default: false.
        scale_in_without_data: Option<At<Switch>>,
        /// How long a size that somebody else set is left as it is. Default: 15m.
        by_hand: Option<At<Span>>,
        /// The least time from one rollback to the next; 0s: none. After a scale-in, two periods that miss the goal set
        /// the size back. Default: 10m.
        rollback: Option<At<Span>>,
    }

    /// An address on which the wanted size is served.
    LiveServeTable {
        /// The address: HOST:PORT or unix:PATH. On an address that other machines reach, the scaler is paused and stopped
        /// with a token only.
        listen: At<Text>,
        /// The file with the token that requests for a change have to carry.
        token_file: Option<At<Text>>,
    }

    /// A rate of change.
    LiveRateTable {
        /// Instances.
        instances: At<Count>,
        /// The time.
        within: At<Span>,
    }
}
