//! What the numbers of an examination belong to: processes, addresses, limits.

use documents::doctor::{Descriptors, Known};
use host::{
    Bystander, Examination, Layout, Mode, NoService, Processes, Reading, Running, Service, TcpSocket,
    TcpState, Thread, holders, modes,
};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::net::SocketAddr;
use std::time::Duration;

/// Names, as far as they are known.
pub(super) struct Names {
    /// Local ports that the service listens at.
    pub(super) listening: BTreeSet<u16>,
    /// The services that it talks to, in the order in which they were seen.
    pub(super) destinations: Vec<SocketAddr>,
    /// Cores that it may use.
    pub(super) cores: f64,
    /// How many requests it works on at a time, as its processes and threads show it.
    pub(super) slots: Option<f64>,
    /// Local ports for connections to one address.
    pub(super) ports: Option<u32>,
    /// The process that opens most of the connections to it, with its last reading.
    pub(super) client: Option<(u32, Bystander)>,
    apart: bool,
    looked_for_client: u32,
    running: Vec<Running>,
    layout: Option<Layout>,
    modes: Vec<Mode>,
    everyone: Processes,
    /// How long each thread had run when it was first seen.
    ran: BTreeMap<u32, Duration>,
    /// The most descriptors as a share of the limit.
    descriptors: Option<Descriptors>,
    queue_limit: Option<u32>,
}

impl Names {
    pub(super) fn of(examination: &Examination) -> Result<Self, NoService> {
        let running = examination.service().running()?;
        let layout = Layout::of(&running);
        let slots = layout.and_then(slots_of);
        let all = std::thread::available_parallelism().map_or(1.0, |cores| cores.get() as f64);
        Ok(Names {
            listening: BTreeSet::new(),
            destinations: Vec::new(),
            cores: examination.service().cores()?.unwrap_or(all),
            slots,
            ports: examination.ports(),
            client: None,
            apart: examination.is_apart(),
            looked_for_client: 0,
            modes: modes(&running),
            running,
            layout,
            everyone: Processes::now(),
            ran: BTreeMap::new(),
            descriptors: None,
            queue_limit: None,
        })
    }

    /// Debug modes and profilers, seen at the beginning.
    pub(super) fn modes(&self) -> &[Mode] {
        &self.modes
    }

    /// Learns names from a reading.
    pub(super) fn see(&mut self, reading: &Reading) {
        for (&id, process) in &reading.processes {
            let (Some(used), Some(limit)) = (process.descriptors, process.descriptor_limit) else { continue };
            let fill = |used: u64, limit: u64| used as f64 / limit.max(1) as f64;
            let most = self.descriptors.as_ref().map_or(0.0, |most| fill(most.used, most.limit));
            if fill(used, limit) > most {
                self.descriptors = Some(Descriptors { process: id, used, limit });
            }
        }
        if let Some(sockets) = &reading.sockets {
            self.see_sockets(sockets, reading);
        }
        for thread in reading.processes.values().flat_map(|process| &process.threads) {
            self.ran.entry(thread.id).or_insert(thread.ran);
        }
    }

    fn see_sockets(&mut self, sockets: &[TcpSocket], reading: &Reading) {
        let own = reading.inodes();
        let listeners =
            sockets.iter().filter(|one| one.state == TcpState::Listening && own.contains(&one.inode));
        for listener in listeners {
            self.listening.insert(listener.local.port());
            self.queue_limit =
                Some(self.queue_limit.map_or(listener.unsent, |least| least.min(listener.unsent)));
        }
        let going_out = |one: &&TcpSocket| self.goes_out(one) && own.contains(&one.inode);
        let found: BTreeSet<SocketAddr> = sockets.iter().filter(going_out).map(|one| one.remote).collect();
        found.into_iter().for_each(|remote| self.add_destination(remote));
        // A service without free ports has no connection that could be seen, only those that it had. Where others share the
        // namespace, they may be theirs.
        if self.apart {
            let held = sockets.iter().filter(|one| one.state == TcpState::TimeWait && self.goes_out(one));
            let mut counts: BTreeMap<SocketAddr, u32> = BTreeMap::new();
            for one in held {
                *counts.entry(one.remote).or_default() += 1;
            }
            let most = counts.into_iter().max_by_key(|&(_, count)| count);
            if let Some((remote, count)) = most
                && self.ports.is_some_and(|ports| 2 * count >= ports)
            {
                self.add_destination(remote);
            }
        }
        // Connections of clients come and go, so one look may find none.
        if self.client.is_none() && self.looked_for_client < LOOKS {
            self.looked_for_client += 1;
            let open = sockets.iter().filter(|one| one.state == TcpState::Open && one.inode != 0);
            let towards: HashSet<u32> =
                open.filter(|one| self.listening.contains(&one.remote.port())).map(|one| one.inode).collect();
            if !towards.is_empty() {
                let found = holders(&towards, &reading.processes).into_iter().max_by_key(|&(_, count)| count);
                self.client = found.map(|(id, _)| (id, Bystander::read(id)));
            }
        }
    }

    fn add_destination(&mut self, remote: SocketAddr) {
        if !self.destinations.contains(&remote) && self.destinations.len() < MOST_DESTINATIONS {
            self.destinations.push(remote);
        }
    }

    /// Whether a connection was opened by this side, and not to the service itself.
    pub(super) fn goes_out(&self, one: &TcpSocket) -> bool {
        let ports = [one.local.port(), one.remote.port()];
        one.state != TcpState::Listening && !ports.iter().any(|port| self.listening.contains(port))
    }

    /// For people.
    pub(super) fn known(self, last: &Reading) -> Known {
        let first = self.running.first();
        let since = |thread: &Thread| {
            thread.ran.saturating_sub(self.ran.get(&thread.id).copied().unwrap_or_default())
        };
        let threads = last
            .processes
            .iter()
            .flat_map(|(id, process)| process.threads.iter().map(move |thread| (id, thread)));
        let busiest = threads.max_by_key(|(_, thread)| since(thread));
        let busiest = busiest.map(|(id, thread)| format!("{} of process {id}", thread.name));
        let own = &last.processes;
        let others = Processes::now().busiest_since(&self.everyone, 8);
        let others =
            others.into_iter().filter(|one| !own.contains_key(&one.id) && one.id != std::process::id());
        let memory: u64 = self.running.iter().map(|one| one.memory.get()).sum();
        Known {
            service: first.map_or(String::new(), |one| one.command.clone()),
            processes: self.running.len(),
            cores: self.cores,
            quota_cores: last.quotas.iter().map(|quota| quota.cores).min_by(f64::total_cmp),
            memory_limit: last.memory_limits.iter().map(|limit| limit.limit).min(),
            room: host::Memory::now()
                .and_then(|machine| machine.available)
                .map(|available| units::Bytes::new(available.get().saturating_add(memory))),
            memory: units::Bytes::new(memory),
            layout: self.layout.map(in_words),
            slots: self.slots,
            workers: self.layout.map(|layout| layout.processes),
            listening: self.listening.into_iter().collect(),
            destinations: self.destinations.iter().map(ToString::to_string).collect(),
            client: self.client.map(|(id, client)| format!("{} ({id})", client.name)),
            others: others.take(3).map(|one| one.to_string()).collect(),
            busiest_thread: busiest,
            descriptors: self.descriptors,
            ports: self.ports,
            queue_limit: self.queue_limit,
            debug: self
                .modes
                .iter()
                .filter_map(|mode| if let Mode::Debug(shown) = mode { Some(shown.clone()) } else { None })
                .collect(),
            profilers: self
                .modes
                .iter()
                .filter_map(|mode| if let Mode::Profiler(shown) = mode { Some(shown.clone()) } else { None })
                .collect(),
        }
    }
}

fn slots_of(layout: Layout) -> Option<f64> {
    Some(f64::from(layout.processes) * f64::from(layout.threads?))
}

/// Whether it is known how many requests a service works on at a time.
pub(crate) fn knows_workers(service: &Service) -> bool {
    service.running().ok().and_then(|running| Layout::of(&running)).and_then(slots_of).is_some()
}

fn in_words(layout: Layout) -> String {
    match layout.threads {
        Some(threads) if threads > 1 => {
            format!("{}: {} × {threads} threads", layout.server, layout.processes)
        }
        _ => format!("{}: {}", layout.server, layout.processes),
    }
}

/// Connections to more addresses than this are not told apart.
pub(super) const MOST_DESTINATIONS: usize = 32;
/// Each look reads the descriptors of all processes.
const LOOKS: u32 = 10;
