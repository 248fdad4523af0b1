//! Checks before a run whether its plan fits on this machine, because a shortage during the run looks like a failure of
//! the service.
//!
//! ## Port arithmetic
//! A connection is identified by local address, local port, remote address and remote port. The kernel takes local
//! ports from one range, so there can be `ports × local addresses × remote addresses` connections at a time. The side
//! that closes first keeps the port for 60 s more (TIME_WAIT), so that with a new connection for each request the same
//! number bounds `rate × 60 s`. `tcp_tw_reuse` shortens that to about a second.

use crate::cgroup::Cgroup;
use crate::descriptors::Descriptors;
use crate::memory::Memory;
use crate::processor::usable_cores;
use crate::sockets::{PortRange, Sockets, somaxconn, time_wait_towards, tw_reuse};
use std::fmt;
use std::net::IpAddr;
use std::time::Duration;
use units::{Bytes, Rate, show_duration};

/// The requirements of a plan.
#[derive(Debug, Clone, PartialEq)]
pub struct Needs {
    /// The most connections at a time; `None` opens as many as the arrivals need.
    pub connections: Option<u32>,
    /// New connections a second, beyond the first ones: the whole rate with keep-alive off.
    pub new_connections: Rate,
    /// Local addresses of connections; at least 1.
    pub local_addresses: u32,
    /// The remote addresses, each with one port; none for a unix socket, which takes no ports.
    pub remote_addresses: Vec<IpAddr>,
    /// The highest rate of requests; `None` in the closed model.
    pub rate: Option<Rate>,
    /// Event loops.
    pub workers: u32,
    /// Whether connections are encrypted.
    pub tls: bool,
    /// How long the run takes; `None` if unknown.
    pub lasts: Option<Duration>,
}

/// The resources of this machine.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Host {
    /// Descriptors of this process.
    pub descriptors: Descriptors,
    /// Ports for new connections.
    pub ports: Option<PortRange>,
    /// Connections that this side closed, to the addresses of the plan if that is known.
    pub time_wait: u64,
    /// `net.ipv4.tcp_tw_reuse`.
    pub tw_reuse: Option<u64>,
    /// `net.core.somaxconn`.
    pub somaxconn: Option<u64>,
    /// Cores that this process may use.
    pub cores: Option<f64>,
    /// Whether a quota limits them.
    pub quota: bool,
    /// Available memory: of the machine, and within the limit of this process's control group.
    pub memory: Option<Bytes>,
}

impl Host {
    /// Reads the resources for a plan with these addresses.
    pub fn now(remote_addresses: &[IpAddr]) -> Self {
        let time_wait = time_wait_towards(remote_addresses).or_else(|| Some(Sockets::now()?.time_wait));
        let available = Memory::now().and_then(|memory| memory.available);
        let left = Cgroup::for_memory().and_then(|group| group.memory_left());
        let cores = usable_cores();
        let quota = Cgroup::of_this_process().and_then(|group| group.quota());
        Host {
            descriptors: Descriptors::now(),
            ports: PortRange::now(),
            time_wait: time_wait.unwrap_or(0),
            tw_reuse: tw_reuse(),
            somaxconn: somaxconn(),
            cores,
            quota: quota.is_some() && quota == cores,
            memory: [available, left].into_iter().flatten().min(),
        }
    }
}

/// The severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The run may be disturbed, and its validity will say so.
    Warning,
    /// The plan cannot be carried out here.
    Fatal,
}

/// One resource that is short.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Its severity.
    pub severity: Severity,
    /// The resource: `descriptors`, `ports`, `cores`, `memory`, `accept queue`.
    pub what: &'static str,
    /// The amount that the plan needs, as text.
    pub needed: String,
    /// The available amount, as text.
    pub found: String,
    /// What to do.
    pub remedy: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Finding { what, needed, found, remedy, .. } = self;
        write!(f, "{what}: {needed}, and this machine has {found}; {remedy}")
    }
}

/// The resources that are short on this machine now, worst first; empty if the plan fits.
pub fn preflight(needs: &Needs) -> Vec<Finding> {
    preflight_on(needs, &Host::now(&needs.remote_addresses))
}

/// The same, for a given machine.
pub fn preflight_on(needs: &Needs, host: &Host) -> Vec<Finding> {
    let checks = [descriptors, ports, time_wait, workers, load, memory, accept_queue];
    let mut findings: Vec<Finding> = checks.iter().filter_map(|check| check(needs, host)).collect();
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    findings
}

/// The program raises its soft limit itself, so only the hard one counts.
fn descriptors(needs: &Needs, host: &Host) -> Option<Finding> {
    let limit = host.descriptors.hard?;
    let own = host.descriptors.in_use.unwrap_or(0) + OWN_DESCRIPTORS * u64::from(needs.workers);
    let free = limit.saturating_sub(own);
    let found = format!("{free} (a limit of {limit}, less those of the program itself)");
    if let Some(connections) = needs.connections {
        return (u64::from(connections) > free).then(|| Finding {
            severity: Severity::Fatal,
            what: "descriptors",
            needed: format!("{connections} connections take one each"),
            found,
            remedy: format!(
                "raise the hard limit to {} (`ulimit -Hn`), or lower -c",
                own + u64::from(connections)
            ),
        });
    }
    let rate = needs.rate.filter(|rate| rate.per_second() > 0.0)?;
    let patience = free as f64 / rate.per_second();
    (patience < PATIENCE.as_secs_f64()).then(|| Finding {
        severity: Severity::Warning,
        what: "descriptors",
        needed: format!(
            "without a bound on connections, {rate} take {} when responses take {}",
            (rate * PATIENCE).ceil(),
            show_duration(PATIENCE)
        ),
        found,
        remedy: "raise the hard limit (`ulimit -Hn`), or bound the connections with -c".to_owned(),
    })
}

fn ports(needs: &Needs, host: &Host) -> Option<Finding> {
    let (connections, places) = (needs.connections?, places(needs, host)?);
    (u64::from(connections) > places).then(|| Finding {
        severity: Severity::Fatal,
        what: "ports",
        needed: format!("{connections} connections at a time take one each"),
        found: places_in_words(needs, host, places),
        remedy: "widen net.ipv4.ip_local_port_range, use more local addresses, or lower -c".to_owned(),
    })
}

fn time_wait(needs: &Needs, host: &Host) -> Option<Finding> {
    let places = places(needs, host)?;
    let reused = matches!((host.tw_reuse, loopback(needs)), (Some(1), _) | (Some(2), true));
    let held = if reused { REUSED_AFTER } else { TIME_WAIT };
    let waiting = if reused { 0 } else { host.time_wait };
    let free = places.saturating_sub(u64::from(needs.connections.unwrap_or(0))).saturating_sub(waiting);
    let most = (needs.new_connections * needs.lasts.map_or(held, |lasts| lasts.min(held))).ceil();
    let reuse = if reused { "" } else { ", set net.ipv4.tcp_tw_reuse to 1" };
    (most > free as f64).then(|| Finding {
        severity: Severity::Warning,
        what: "ports",
        needed: format!(
            "{} new connections a second, each of which holds its port for {} after it is closed, take {most}",
            needs.new_connections.per_second(),
            show_duration(held)
        ),
        found: format!(
            "{free} free of {} (they last for {})",
            places_in_words(needs, host, places),
            show_duration(lasting(free, needs.new_connections))
        ),
        remedy: format!(
            "keep connections alive{reuse}, widen net.ipv4.ip_local_port_range, or use more local addresses"
        ),
    })
}

/// How many connections there can be; `None` if they take no ports.
fn places(needs: &Needs, host: &Host) -> Option<u64> {
    let (ports, local, remote) =
        (host.ports?.count(), needs.local_addresses.max(1), needs.remote_addresses.len());
    (remote > 0).then(|| u64::from(ports).saturating_mul(u64::from(local)).saturating_mul(remote as u64))
}

/// The kernel reuses ports earlier on loopback, and the service is on this machine.
fn loopback(needs: &Needs) -> bool {
    !needs.remote_addresses.is_empty()
        && needs.remote_addresses.iter().all(|address| address.to_canonical().is_loopback())
}

fn places_in_words(needs: &Needs, host: &Host, places: u64) -> String {
    let ports = host.ports.map_or(0, PortRange::count);
    let (local, remote) = (needs.local_addresses.max(1), needs.remote_addresses.len());
    format!("{places} ({ports} ports × {local} local × {remote} remote)")
}

fn lasting(free: u64, rate: Rate) -> Duration {
    let seconds = free as f64 / rate.per_second();
    Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
}

fn workers(needs: &Needs, host: &Host) -> Option<Finding> {
    let cores = host.cores?;
    (f64::from(needs.workers) > cores.max(1.0)).then(|| Finding {
        severity: Severity::Warning,
        what: "cores",
        needed: format!("{} workers keep one busy each", needs.workers),
        found: cores_in_words(host, cores),
        remedy: format!("use {} workers, or give this process more cores", cores.max(1.0).floor()),
    })
}

fn load(needs: &Needs, host: &Host) -> Option<Finding> {
    let cores = host.cores?.min(f64::from(needs.workers));
    let (request, connect) = if needs.tls { (TLS_REQUEST, HANDSHAKE) } else { (REQUEST, CONNECT) };
    let rate = needs.rate?;
    let busy = rate * request + needs.new_connections * connect;
    (busy > cores).then(|| Finding {
        severity: Severity::Warning,
        what: "cores",
        needed: format!("{rate} keep about {busy:.1} of them busy"),
        found: cores_in_words(host, cores),
        remedy: "lower the rate, or share it among more cores or machines".to_owned(),
    })
}

fn cores_in_words(host: &Host, cores: f64) -> String {
    let cores = (cores * 100.0).round() / 100.0;
    if host.quota {
        format!("{cores} to use (the quota of its control group)")
    } else {
        format!("{cores} to use")
    }
}

fn memory(needs: &Needs, host: &Host) -> Option<Finding> {
    let (connections, available) = (needs.connections?, host.memory?);
    let each = if needs.tls { TLS_CONNECTION } else { CONNECTION };
    let taken = Bytes::new(each.saturating_mul(u64::from(connections)));
    (taken > available).then(|| Finding {
        severity: Severity::Warning,
        what: "memory",
        needed: format!("{connections} connections take about {taken}"),
        found: format!("{available} available"),
        remedy: "lower -c, or use a machine with more memory".to_owned(),
    })
}

/// The limit is known only if the service is on this machine.
fn accept_queue(needs: &Needs, host: &Host) -> Option<Finding> {
    let (connections, queue) = (needs.connections?, host.somaxconn?);
    (loopback(needs) && u64::from(connections) > queue).then(|| Finding {
        severity: Severity::Warning,
        what: "accept queue",
        needed: format!(
            "{connections} connections at once wait in the service's queue until it accepts them"
        ),
        found: format!("net.core.somaxconn = {queue}"),
        remedy: "raise it, or expect some connections to take a second or more to open".to_owned(),
    })
}

/// The descriptors of each event loop itself: the poll, the waker, a timer.
const OWN_DESCRIPTORS: u64 = 8;

/// The longest response time for which connections are reserved.
const PATIENCE: Duration = Duration::from_secs(2);

/// The kernel's fixed time.
const TIME_WAIT: Duration = Duration::from_secs(60);

/// With `tcp_tw_reuse`, by the clock of TCP timestamps.
const REUSED_AFTER: Duration = Duration::from_secs(1);

// Processor time of the generator, a rough and high estimate: for a warning, not a guarantee.
const REQUEST: Duration = Duration::from_micros(12);
const TLS_REQUEST: Duration = Duration::from_micros(20);
const CONNECT: Duration = Duration::from_micros(40);
const HANDSHAKE: Duration = Duration::from_micros(800);

/// Bytes in the generator and in the kernel for a waiting connection.
const CONNECTION: u64 = 20 * 1024;
/// The same with TLS, which buffers a record each way.
const TLS_CONNECTION: u64 = 60 * 1024;

#[cfg(test)]
mod tests;
