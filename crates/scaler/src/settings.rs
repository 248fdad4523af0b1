//! What a live scaler works with: the `live` section of a case file.

use control::scaling::guard::GuardSettings;
pub use host::Limits;
use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// Sources, a target and guard rails.
#[derive(Debug, Clone, PartialEq)]
pub struct Live {
    /// The service of the case, by its index.
    pub service: usize,
    /// The gateway before the service; none: another target knows its instances.
    pub gateway: Option<Gateway>,
    /// Where the counts of requests come from.
    pub requests: Requests,
    /// Local processes; none: nothing can be changed, the gateway's pool is the fleet.
    pub processes: Option<Processes>,
    /// A resource of Kubernetes; none: nothing of a cluster is changed.
    pub kubernetes: Option<Kubernetes>,
    /// A fleet on AWS; none: nothing of AWS is changed.
    pub aws: Option<Aws>,
    /// Guard rails.
    pub guard: GuardSettings,
    /// The length of a period of the goal.
    pub period: Duration,
    /// Metrics that are older are stale.
    pub stale_after: Duration,
    /// Where decisions and samples are recorded.
    pub state: PathBuf,
    /// Where the wanted size is served; none: nowhere.
    pub serve: Option<Serve>,
}

/// Where the counts of requests come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Requests {
    /// From the gateway.
    Gateway,
    /// From a file with the same JSON as the gateway's `GET /pools/POOL`.
    File(PathBuf),
    /// From queries of a Prometheus.
    Prometheus(Prometheus),
    /// From nowhere: no policy needs them.
    Nowhere,
}

/// Queries of a Prometheus, each of which gives what is true a second.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prometheus {
    /// Its base URL, with or without `user:password@`.
    pub url: String,
    /// The file with its bearer token.
    pub token_file: Option<PathBuf>,
    /// Requests a second.
    pub requests: String,
    /// Those of them with a status of 500 or more; none: there are none.
    pub errors: Option<String>,
    /// Requests in the service now; none: not known.
    pub in_flight: Option<String>,
    /// Requests a second by the label `le` of a histogram of response times in seconds; none: not known.
    pub times: Option<String>,
    /// The time from one query to the next.
    pub every: Duration,
}

/// An address on which others read the wanted size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Serve {
    /// The address.
    pub listen: Address,
    /// The file with the token that requests for a change have to carry.
    pub token_file: Option<PathBuf>,
}

/// A gateway, by its admin interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gateway {
    /// Its admin address.
    pub admin: Address,
    /// The pool with the instances.
    pub pool: String,
    /// The file with its token.
    pub token_file: Option<PathBuf>,
}

/// An address with a port, or a socket in the file system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// An address with a port.
    Tcp(SocketAddr),
    /// A socket.
    Unix(PathBuf),
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Tcp(address) => address.fmt(f),
            Address::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// Instances that are processes of this machine.
#[derive(Debug, Clone, PartialEq)]
pub struct Processes {
    /// The command of an instance, for `sh`; `{port}` is replaced by its port.
    pub command: String,
    /// The first and the last port.
    pub ports: (u16, u16),
    /// More environment variables.
    pub environment: Vec<(String, String)>,
    /// The path of the readiness check; none: an instance is ready as soon as its port accepts connections.
    pub ready: Option<String>,
    /// The path with `process_cpu_seconds_total`, and `process_resident_memory_bytes` where it is there, if the instances
    /// report them; none: those of their processes.
    pub usage: Option<String>,
    /// The cores that an instance may use, for its processor use; none: those of this machine that it may run on.
    pub cores: Option<f64>,
    /// What an instance may use.
    pub limits: Limits,
    /// The longest time from the start of an instance until it is ready.
    pub start: Duration,
    /// The longest time for draining an instance.
    pub drain: Duration,
    /// The time from SIGTERM to SIGKILL.
    pub stop: Duration,
    /// Which instances end first.
    pub ends: Ends,
}

impl Processes {
    /// The most instances that the ports allow.
    pub fn most(&self) -> u32 {
        u32::from(self.ports.1.saturating_sub(self.ports.0)) + 1
    }
}

/// A resource of Kubernetes with a scale subresource.
#[derive(Debug, Clone, PartialEq)]
pub struct Kubernetes {
    /// The plural name of the resource, such as `deployments`.
    pub resource: String,
    /// Its API group; empty for the core group.
    pub group: String,
    /// The name of the object.
    pub name: String,
    /// Its namespace; none: that of the context.
    pub namespace: Option<String>,
    /// The kubeconfig; none: that of KUBECONFIG, or `~/.kube/config`.
    pub kubeconfig: Option<PathBuf>,
    /// The context of the kubeconfig; none: the current one, or that of the pod.
    pub context: Option<String>,
    /// The name of the Lease of the leader.
    pub lease: String,
    /// The cores of a pod without a request; none: those of this machine.
    pub cores: Option<f64>,
}

impl Live {
    /// Whether there is a target that tells the processor use of its instances.
    pub fn has_target(&self) -> bool {
        self.processes.is_some() || self.needs().is_some()
    }

    /// Why a metric of a policy is not known, as the way out; none: it is.
    pub fn lacks(&self, metric: &str) -> Option<&'static str> {
        let has = |key: fn(&Prometheus) -> bool| match &self.requests {
            Requests::Gateway | Requests::File(_) => true,
            Requests::Prometheus(queries) => key(queries),
            Requests::Nowhere => false,
        };
        match metric {
            "cpu" if !self.has_target() => Some(
                "add `processes`, `kubernetes`, `ecs` or `auto_scaling_group` to `live`, whose processor use is read",
            ),
            "credits" => Some("processor credits exist on burstable instances of a cloud only; use `cpu`"),
            "recorded" => Some("values of a file exist in a simulation only; use a metric of the gateway"),
            "requests" if !has(|_| true) => Some("add `live.gateway`, `live.prometheus` or `live.file`"),
            "in_flight" if !has(|queries| queries.in_flight.is_some()) => {
                Some("add `live.gateway` or `live.prometheus.in_flight`")
            }
            "response_time" if !has(|queries| queries.times.is_some()) => {
                Some("add `live.gateway` or `live.prometheus.times`")
            }
            // Prometheus does not tell the time in the application.
            "queued" if !has(|_| false) => Some("add `live.gateway`"),
            _ => None,
        }
    }

    /// The key of a target over a network, and the feature of the build that it needs.
    pub fn needs(&self) -> Option<(&'static str, &'static str)> {
        let of_aws = self.aws.as_ref().map(|aws| (aws.fleet.key(), "aws"));
        of_aws.or_else(|| self.kubernetes.as_ref().map(|_| ("kubernetes", "kube")))
    }
}

impl Kubernetes {
    /// The resource with its group, as `kubectl` writes it.
    pub fn full_resource(&self) -> String {
        match self.group.as_str() {
            "" => self.resource.clone(),
            group => format!("{}.{group}", self.resource),
        }
    }
}

impl fmt::Display for Kubernetes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.full_resource(), self.name)
    }
}

/// A fleet on AWS.
#[derive(Debug, Clone, PartialEq)]
pub struct Aws {
    /// The fleet.
    pub fleet: AwsFleet,
    /// Its region; none: that of AWS_REGION, or of the profile.
    pub region: Option<String>,
    /// The profile with the credentials; none: as the CLI of AWS finds them.
    pub profile: Option<String>,
    /// The cores of an instance; none: its use is that of one core.
    pub cores: Option<f64>,
}

/// What of AWS is scaled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AwsFleet {
    /// A service of ECS.
    Ecs {
        /// The name of its cluster.
        cluster: String,
        /// Its name.
        service: String,
    },
    /// An Auto Scaling group of EC2.
    Group {
        /// Its name.
        name: String,
    },
}

impl AwsFleet {
    /// The key of the `live` section.
    pub fn key(&self) -> &'static str {
        match self {
            AwsFleet::Ecs { .. } => "ecs",
            AwsFleet::Group { .. } => "auto_scaling_group",
        }
    }
}

impl fmt::Display for Aws {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.fleet {
            AwsFleet::Ecs { cluster, service } => write!(f, "{cluster}/{service}"),
            AwsFleet::Group { name } => f.write_str(name),
        }
    }
}

/// Which instances end first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ends {
    /// Those that were started first.
    #[default]
    Oldest,
    /// Those that were started last.
    Newest,
}
