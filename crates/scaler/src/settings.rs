//! What a live scaler works with: the `live` section of a case file.

use control::scaling::guard::GuardSettings;
use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// Sources, a target and guard rails.
#[derive(Debug, Clone, PartialEq)]
pub struct Live {
    /// The service of the case, by its index.
    pub service: usize,
    /// The gateway before the service.
    pub gateway: Gateway,
    /// Where the counts of requests come from, if not from the gateway: a file with the same JSON as the gateway's
    /// `GET /pools/POOL`.
    pub file: Option<PathBuf>,
    /// Local processes; none: nothing can be changed, the gateway's pool is the fleet.
    pub processes: Option<Processes>,
    /// A resource of Kubernetes; none: nothing of a cluster is changed.
    pub kubernetes: Option<Kubernetes>,
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
    /// The path with `process_cpu_seconds_total`, if the instances report their processor time; none: that of their
    /// processes.
    pub usage: Option<String>,
    /// The cores that an instance may use, for its processor use; none: those of this machine that it may run on.
    pub cores: Option<f64>,
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

/// Which instances end first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ends {
    /// Those that were started first.
    #[default]
    Oldest,
    /// Those that were started last.
    Newest,
}
