//! What the threads, connections and limits of a service show, read again and again while it works.
//!
//! A reading takes some hundred small files for each process. [`Examination::read`] is for twice a second, not for a hundred
//! times.

use crate::cgroup::{Cgroup, MemoryLimit, Quota};
use crate::network::{ConnectionTable, NetworkCounts};
use crate::pressure::Pressure;
use crate::processor::{Ticks, cores_of};
use crate::service::{NoService, Service};
use crate::sockets::{PortRange, Sockets};
use crate::stat;
use crate::tcp_sockets::{TcpSocket, TcpSockets};
use crate::text::{read, soft_limit};
use crate::threads::Thread;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// A service that is examined.
#[derive(Debug)]
pub struct Examination {
    service: Service,
    sockets: Option<TcpSockets>,
}

/// What is seen of a service at a moment.
#[derive(Debug, Clone)]
pub struct Reading {
    /// When.
    pub at: Instant,
    /// Processor time of each core that its processes may run on.
    pub cores: BTreeMap<usize, Ticks>,
    /// Processor time of the whole machine.
    pub machine: Option<Ticks>,
    /// Processor time of the service, as in [`crate::Usage::cpu`].
    pub used: Duration,
    /// Its processes, by id.
    pub processes: BTreeMap<u32, ProcessReading>,
    /// Its quotas: of the groups of its processes and of those above.
    pub quotas: Vec<Quota>,
    /// Its memory limits, likewise.
    pub memory_limits: Vec<MemoryLimit>,
    /// How long tasks of its control group waited, or of the machine.
    pub pressure: Pressure,
    /// What happened in its network namespace.
    pub network: Option<NetworkCounts>,
    /// The connection table of this process's network namespace.
    pub table: Option<ConnectionTable>,
    /// All TCP sockets of its network namespace; `None` where they are not shown or more than [`MOST_SOCKETS`], or a process
    /// has more than [`MOST_DESCRIPTORS`] open.
    pub sockets: Option<Vec<TcpSocket>>,
}

/// What is seen of a process.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProcessReading {
    /// Its threads.
    pub threads: Vec<Thread>,
    /// Open descriptors.
    pub descriptors: Option<u64>,
    /// How many it may open (soft limit).
    pub descriptor_limit: Option<u64>,
    /// Inodes of its sockets; empty where they are not shown or were not read.
    pub sockets: HashSet<u32>,
}

impl Examination {
    /// Of a service.
    ///
    /// # Errors
    /// Where it has ended.
    pub fn of(service: Service) -> Result<Self, NoService> {
        let sockets = service.ids()?.into_keys().find_map(TcpSockets::of_process);
        Ok(Examination { service, sockets })
    }

    /// The service.
    pub fn service(&self) -> &Service {
        &self.service
    }

    /// How many local ports there are for connections from its network namespace to one address.
    pub fn ports(&self) -> Option<u32> {
        self.sockets.as_ref()?.ports().map(PortRange::count)
    }

    /// Whether its network namespace is another than that of this process, so that few others are in it.
    pub fn is_apart(&self) -> bool {
        let link = |id: &str| std::fs::read_link(format!("/proc/{id}/ns/net")).ok();
        let first = self.service.ids().ok().and_then(|ids| ids.into_keys().next());
        first.is_some_and(|id| link(&id.to_string()) != link("self"))
    }

    /// What is seen now.
    ///
    /// # Errors
    /// Where it has ended.
    pub fn read(&self) -> Result<Reading, NoService> {
        let at = Instant::now();
        let ids: Vec<u32> = self.service.ids()?.into_keys().collect();
        let allowed: BTreeSet<usize> = ids.iter().filter_map(|&id| cores_of(id)).flatten().collect();
        let mut cores = Ticks::of_cores();
        cores.retain(|core, _| allowed.contains(core));
        let first = ids.first().copied().unwrap_or_default();
        let mut reading = Reading {
            at,
            cores,
            machine: Ticks::now(),
            used: self.service.cpu()?,
            quotas: of_groups(&ids, Cgroup::of_process, Cgroup::quotas, |quota| &quota.folder),
            memory_limits: of_groups(&ids, Cgroup::for_memory_of, Cgroup::memory_limits, |limit| {
                &limit.folder
            }),
            pressure: self.service.pressure(),
            network: NetworkCounts::of_process(first),
            table: ConnectionTable::now(),
            sockets: self.sockets_of(first),
            processes: BTreeMap::new(),
        };
        // Inodes only tell which of the sockets are its own.
        let most = if reading.sockets.is_some() { MOST_DESCRIPTORS } else { 0 };
        reading.processes = ids.into_iter().map(|id| (id, ProcessReading::of(id, most))).collect();
        // Without all inodes, connections of the service would look like those of others.
        if reading.processes.values().any(|process| process.descriptors > Some(MOST_DESCRIPTORS)) {
            reading.sockets = None;
        }
        Ok(reading)
    }

    fn sockets_of(&self, process: u32) -> Option<Vec<TcpSocket>> {
        let text = |name: &str| read(format!("/proc/{process}/net/{name}")).unwrap_or_default();
        let counted = Sockets::parse(&text("sockstat"), &text("sockstat6"))?;
        let few = counted.in_use.saturating_add(counted.time_wait) <= MOST_SOCKETS;
        self.sockets.as_ref().filter(|_| few)?.now().ok()
    }
}

impl Reading {
    /// Inodes of the sockets of the service.
    pub fn inodes(&self) -> HashSet<u32> {
        self.processes.values().flat_map(|process| &process.sockets).copied().collect()
    }
}

impl ProcessReading {
    /// Of a process; empty where it has ended. Its sockets are read if it has at most `most` descriptors open.
    pub fn of(id: u32, most: u64) -> Self {
        let links = std::fs::read_dir(format!("/proc/{id}/fd")).ok().map(Iterator::collect::<Vec<_>>);
        let few = links.iter().filter(|links| links.len() as u64 <= most).flatten().flatten();
        let sockets = few.filter_map(|link| inode(std::fs::read_link(link.path()).ok()?.to_str()?));
        let limits = read(format!("/proc/{id}/limits")).unwrap_or_default();
        ProcessReading {
            threads: Thread::of_process(id),
            sockets: sockets.collect(),
            descriptors: links.map(|links| links.len() as u64),
            descriptor_limit: soft_limit(&limits, "Max open files").and_then(|limit| limit.parse().ok()),
        }
    }
}

/// The processes of this machine, beside those that are left out, that hold one of these sockets: how many each.
pub fn holders(inodes: &HashSet<u32>, without: &BTreeMap<u32, ProcessReading>) -> BTreeMap<u32, usize> {
    let of = |id: u32| {
        let links = std::fs::read_dir(format!("/proc/{id}/fd")).ok()?.flatten();
        let held = links.filter_map(|link| inode(std::fs::read_link(link.path()).ok()?.to_str()?));
        let count = held.filter(|inode| inodes.contains(inode)).count();
        (count > 0).then_some((id, count))
    };
    stat::ids().filter(|id| !without.contains_key(id)).filter_map(of).collect()
}

/// A process that is watched from the side.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Bystander {
    /// Its name, as the kernel has it.
    pub name: String,
    /// Its threads; none once it has ended.
    pub threads: Vec<Thread>,
    /// Its quotas.
    pub quotas: Vec<Quota>,
}

impl Bystander {
    /// What is seen of it now.
    pub fn read(id: u32) -> Self {
        Bystander {
            name: read(format!("/proc/{id}/comm")).unwrap_or_default().trim().to_owned(),
            threads: Thread::of_process(id),
            quotas: Quota::of_process(id),
        }
    }
}

/// What the groups of several processes have, each group once.
fn of_groups<T>(
    ids: &[u32],
    group_of: fn(u32) -> Option<Cgroup>,
    all: fn(&Cgroup) -> Vec<T>,
    folder: fn(&T) -> &PathBuf,
) -> Vec<T> {
    let mut groups: Vec<Cgroup> = Vec::new();
    for group in ids.iter().filter_map(|&id| group_of(id)) {
        if !groups.contains(&group) {
            groups.push(group);
        }
    }
    let mut found: BTreeMap<PathBuf, T> = BTreeMap::new();
    for one in groups.iter().flat_map(all) {
        found.insert(folder(&one).clone(), one);
    }
    found.into_values().collect()
}

/// From `socket:[4711]`.
fn inode(link: &str) -> Option<u32> {
    link.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
}

/// If the network namespace has more TCP sockets than this, none are read.
///
/// ## What it is enough for
/// The 28,232 ports of the default range, all in use towards one address, and 60,000 connections in TIME_WAIT beside them: those
/// of a service that opens and closes 1,000 connections a second. Full ports may need more: the range can be widened to 64,512
/// ports, connections to each address can use all of it, and one between two processes of this machine has two sockets.
///
/// ## What it costs
/// A socket takes 128 bytes: a reading 13 MB at most, 17 MB with the spare room of its vector. A caller that reads five times a
/// second and keeps those of a second and the last one before holds six, 100 MB. The kernel takes less than 1 µs for a socket.
pub const MOST_SOCKETS: u64 = 100_000;

/// If a process has more descriptors open than this, it is not read which of them are sockets: each takes the kernel several
/// microseconds. It is enough for one process that holds all ports of the default range.
pub const MOST_DESCRIPTORS: u64 = 30_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_a_process_of_this_machine() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let service = Service::of_process(std::process::id()).unwrap();
        let examination = Examination::of(service).unwrap();
        let reading = examination.read().unwrap();
        let own = &reading.processes[&std::process::id()];
        assert!(
            !own.threads.is_empty() && own.descriptors > Some(3) && own.descriptor_limit > Some(3),
            "{own:?}"
        );
        assert!(!reading.cores.is_empty());
        let sockets = reading.sockets.unwrap();
        let mine = sockets.iter().find(|one| one.local == listener.local_addr().unwrap()).unwrap();
        assert!(own.sockets.contains(&mine.inode));
        let held = holders(&HashSet::from([mine.inode]), &BTreeMap::new());
        assert_eq!(held, BTreeMap::from([(std::process::id(), 1)]));
        assert!(holders(&HashSet::from([mine.inode]), &reading.processes).is_empty());
    }

    #[test]
    fn sockets_of_too_many_descriptors_are_not_read() {
        let _listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let own = |most| ProcessReading::of(std::process::id(), most);
        assert!(!own(MOST_DESCRIPTORS).sockets.is_empty());
        assert!(own(1).sockets.is_empty() && own(1).descriptors > Some(1));
    }

    #[test]
    fn the_memory_for_sockets_is_bounded() {
        assert!(MOST_SOCKETS as usize * size_of::<TcpSocket>() <= 13_000_000);
    }

    #[test]
    fn reads_links() {
        assert_eq!(inode("socket:[4711]"), Some(4711));
        assert_eq!(inode("pipe:[4711]"), None);
    }
}
