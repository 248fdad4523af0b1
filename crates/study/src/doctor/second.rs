//! Readings of a second, or of another span, as what was seen in it.

use super::names::Names;
use control::diagnosis::{Client, Seen, Throttled, To};
use host::{Bystander, Doing, NetworkCounts, Quota, Reading, TcpSocket, TcpState, Thread, Ticks};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::net::SocketAddr;
use std::time::Duration;

/// Collects readings until they cover a second, or another span.
pub(super) struct Seconds {
    span: Duration,
    /// The last reading of the second before.
    before: Reading,
    client_before: Option<(u32, Bystander)>,
    readings: Vec<Reading>,
}

type Key = (SocketAddr, SocketAddr);

impl Seconds {
    pub(super) fn begin(first: Reading, span: Duration) -> Self {
        Seconds { span, before: first, client_before: None, readings: Vec::new() }
    }

    /// The last reading of the last complete second.
    pub(super) fn last(&self) -> &Reading {
        &self.before
    }

    /// Adds a reading; what was seen, where a second is complete.
    pub(super) fn add(&mut self, reading: Reading, names: &mut Names) -> Option<Seen> {
        let complete = reading.at.saturating_duration_since(self.before.at) >= self.span;
        self.readings.push(reading);
        if !complete {
            return None;
        }
        if let Some((id, client)) = &mut names.client {
            *client = Bystander::read(*id);
        }
        let readings = std::mem::take(&mut self.readings);
        let seen = self.fold(&readings, names);
        self.client_before = names.client.clone();
        self.before = readings.into_iter().next_back()?;
        Some(seen)
    }

    fn fold(&self, readings: &[Reading], names: &Names) -> Seen {
        let (before, after) = (&self.before, readings.last().unwrap_or(&self.before));
        let seconds = after.at.saturating_duration_since(before.at).as_secs_f64().max(1e-3);
        let moments = readings.len().max(1) as f64;
        let used = after.used.saturating_sub(before.used).as_secs_f64() / seconds;
        let mut seen = Seen {
            moments: u32::try_from(readings.len()).unwrap_or(u32::MAX),
            cores: names.cores,
            used,
            slots: names.slots,
            ..Seen::default()
        };

        let busy =
            after.cores.iter().filter_map(|(core, ticks)| Some(ticks.since(*before.cores.get(core)?).busy));
        let busy = busy.sum::<u64>() as f64 / 100.0 / seconds;
        seen.others = (!after.cores.is_empty()).then(|| (busy - used).max(0.0));
        let ticks = before.machine.zip(after.machine).map(|(before, after)| after.since(before));
        let share = |of: u64, ticks: Ticks| of as f64 / ticks.total().max(1) as f64;
        seen.stolen = ticks.map(|ticks| share(ticks.stolen, ticks));
        seen.idle = ticks.map(|ticks| share(ticks.idle, ticks));
        let waits = |reading: &Reading| reading.pressure.memory.map(|stalls| stalls.some);
        seen.memory_wait = waits(before)
            .zip(waits(after))
            .map(|(before, after)| after.saturating_sub(before).as_secs_f64() / seconds);
        let reached =
            |reading: &Reading| reading.memory_limits.iter().map(|limit| limit.reached).sum::<u64>();
        seen.reclaims = Some(reached(after).saturating_sub(reached(before)) as f64 / seconds);
        seen.throttled = throttled(&before.quotas, &after.quotas, seconds);

        self.threads(&mut seen, readings, seconds);
        let fill = |reading: &Reading| {
            let of = reading.processes.values().filter_map(|process| {
                Some(process.descriptors? as f64 / process.descriptor_limit?.max(1) as f64)
            });
            of.max_by(f64::total_cmp)
        };
        seen.descriptors = readings.iter().filter_map(fill).max_by(f64::total_cmp);
        let counts = before.network.zip(after.network).map(|(before, after)| after.since(before));
        seen.table = table(after, counts.as_ref());
        // The counter is of the namespace. Sockets tell whose queue it was, where they are read.
        seen.overflows = counts.map(|counts| counts.queue_full as f64 / seconds);
        seen.sent_again = counts
            .filter(|counts| counts.data_sent >= FEW_SEGMENTS)
            .map(|counts| counts.sent_again as f64 / (counts.data_sent + counts.sent_again) as f64);
        if let Some(sockets) =
            readings.iter().map(|reading| reading.sockets.as_deref()).collect::<Option<Vec<_>>>()
        {
            self.connections(&mut seen, &sockets, readings, names, seconds, counts.as_ref());
            // Threads that wait for a socket work on a request, unless they are the ones that accept, one a process, or hold
            // a connection without a request.
            let waits = waiting_threads(&self.before, readings) / moments;
            let idle = after.processes.len() as f64 + idle_connections(&sockets, names) / moments;
            let awaiting: f64 = seen.to.iter().map(|to| to.awaiting).sum();
            seen.working += awaiting.max(waits - idle);
        }
        seen.client = self.client(names, seconds);
        seen
    }

    /// What the threads show: busy ones, those that wait for a core, a disk or each other.
    fn threads(&self, seen: &mut Seen, readings: &[Reading], seconds: f64) {
        let Some(after) = readings.last() else { return };
        let moments = readings.len().max(1) as f64;
        for (id, process) in &after.processes {
            let (mut whole, mut busy) = (0.0, 0);
            for (thread, earlier) in
                since(self.before.processes.get(id).map(|process| &*process.threads), &process.threads)
            {
                let ran = thread.ran.saturating_sub(earlier.ran).as_secs_f64() / seconds;
                whole += ran;
                busy += u32::from(ran >= 0.05);
                seen.busiest_thread = seen.busiest_thread.max(ran);
                seen.waiting += thread.waited.saturating_sub(earlier.waited).as_secs_f64() / seconds;
                seen.on_disk += thread.disk.saturating_sub(earlier.disk).as_secs_f64() / seconds;
            }
            if whole > seen.busiest_process {
                (seen.busiest_process, seen.busy_threads) = (whole, busy);
            }
        }
        let (mut disk, mut working, mut locked) = (0.0, 0.0, 0.0);
        let before = threads_of(&self.before);
        for reading in readings {
            for process in reading.processes.values() {
                for thread in &process.threads {
                    let active = before.get(&thread.id).is_none_or(|earlier| thread.slept > earlier.slept);
                    match thread.doing {
                        Doing::Runs => working += 1.0,
                        Doing::Disk => (disk, working) = (disk + 1.0, working + 1.0),
                        Doing::Sleeps if active => working += 1.0,
                        Doing::Lock if active => locked += 1.0,
                        _ => {}
                    }
                }
            }
        }
        // Where the kernel does not count waits for disks, they are seen at moments.
        seen.on_disk = seen.on_disk.max(disk / moments);
        (seen.working, seen.locked) = (working / moments, locked / moments);
    }

    fn connections(
        &self,
        seen: &mut Seen,
        sockets: &[&[TcpSocket]],
        readings: &[Reading],
        names: &Names,
        seconds: f64,
        counts: Option<&NetworkCounts>,
    ) {
        let moments = sockets.len().max(1) as f64;
        let looks = sockets.iter().copied().zip(readings.iter().map(Reading::inodes));
        let inner = inner_ports(&names.listening, looks);
        let serves = |port: u16| names.listening.contains(&port) && !inner.contains(&port);
        let inbound = |one: &&TcpSocket| one.state != TcpState::Listening && serves(one.local.port());
        let (mut owed, mut queued, mut unserved) = (0.0, 0.0, 0.0);
        let (mut own_queue, mut others_queue) = (0, 0);
        let mut to = vec![To::default(); names.destinations.len()];
        // Connections that may wait for an answer.
        let mut perhaps = vec![0.0; to.len()];
        let places: HashMap<SocketAddr, usize> =
            names.destinations.iter().enumerate().map(|(place, &address)| (address, place)).collect();
        for (all, reading) in sockets.iter().zip(readings) {
            let own = reading.inodes();
            let mut held = vec![0_u32; to.len()];
            let before: f64 = owed + queued;
            for one in *all {
                if one.state == TcpState::Listening {
                    let ours = own.contains(&one.inode) || names.listening.contains(&one.local.port());
                    let queue = if ours { &mut own_queue } else { &mut others_queue };
                    *queue = one.unread.max(*queue);
                    queued +=
                        if ours && !inner.contains(&one.local.port()) { f64::from(one.unread) } else { 0.0 };
                } else if inbound(&one) {
                    owed += f64::from(u8::from(one.inode != 0 && one.owes_an_answer()));
                } else if names.goes_out(one)
                    && let Some(&place) = places.get(&one.remote)
                {
                    held[place] += 1;
                    match one.awaits_an_answer().filter(|_| own.contains(&one.inode)) {
                        Some(awaits) => to[place].awaiting += f64::from(u8::from(awaits)) / moments,
                        None if own.contains(&one.inode) => perhaps[place] += 1.0 / moments,
                        None => {}
                    }
                }
            }
            for (to, held) in to.iter_mut().zip(held) {
                let share = f64::from(held) / f64::from(names.ports.unwrap_or(u32::MAX).max(1));
                to.ports = to.ports.max(share.min(1.0));
            }
            unserved += (owed + queued - before - names.slots.unwrap_or(0.0)).max(0.0);
        }
        let listens = !names.listening.is_empty();
        seen.unserved = (listens && names.slots.is_some()).then_some(unserved / moments);
        seen.in_flight = listens.then_some(owed / moments);
        // As many of them do as there are requests that nothing else is seen to hold up.
        let held: f64 = seen.working + seen.locked + to.iter().map(|to| to.awaiting).sum::<f64>();
        let rest = (owed / moments - held).max(0.0) / perhaps.iter().sum::<f64>().max(1e-9);
        to.iter_mut().zip(perhaps).for_each(|(to, perhaps)| to.awaiting += perhaps * rest.min(1.0));
        seen.queued = listens.then_some(queued / moments);
        // Where no descriptors of the service are shown, neither its queue nor its connections are known.
        let shown = seen.descriptors.is_some();
        // A queue of another service that was seen full explains the counter.
        if shown && own_queue == 0 && others_queue > 0 {
            seen.overflows = seen.overflows.map(|_| 0.0);
        }
        let ports = to.iter().map(|to| to.ports).fold(0.0, f64::max);
        seen.ports = names.ports.filter(|_| shown).map(|_| ports);

        let (Some(first), Some(last)) = (self.before.sockets.as_deref(), sockets.last()) else {
            seen.to = to;
            return;
        };
        let closed_before: HashSet<Key> = closed(first).map(key).collect();
        let open_before: HashMap<Key, u32> =
            open(first).filter_map(|one| Some((key(one), one.carried?.segments_received))).collect();
        let mut opened = 0.0;
        for one in closed(last).filter(|one| !closed_before.contains(&key(one))) {
            let [local, remote] = [one.local, one.remote];
            // The side that closed first holds the connection; on one machine either may be the client.
            if serves(local.port()) || serves(remote.port()) {
                opened += 1.0;
            } else if let Some(&place) = places.get(&remote).or_else(|| places.get(&local)) {
                to[place].opened += 1.0 / seconds;
            }
        }
        // Connections that a client elsewhere closes leave nothing here; if the namespace has no other service, they are
        // those that were accepted.
        let only = last
            .iter()
            .filter(|one| one.state == TcpState::Listening)
            .all(|one| names.listening.contains(&one.local.port()));
        // Where others share the namespace, its counter counts theirs, too.
        if !only && !has_sent_again(first, last, &readings.iter().flat_map(Reading::inodes).collect()) {
            seen.sent_again = seen.sent_again.map(|_| 0.0);
        }
        if let Some(counts) = counts.filter(|_| only && inner.is_empty()) {
            let grown =
                open(last).filter(inbound).count().saturating_sub(open(first).filter(inbound).count());
            opened = f64::max(opened, counts.accepted as f64 - grown as f64);
        }
        let (mut requests, mut answers) = (0.0, vec![0.0; to.len()]);
        for one in open(last) {
            let (Some(before), Some(carried)) = (open_before.get(&key(one)), one.carried) else { continue };
            let received = f64::from(carried.segments_received.saturating_sub(*before));
            if inbound(&one) {
                requests += received;
            } else if names.goes_out(one)
                && let Some(&place) = places.get(&one.remote)
            {
                answers[place] += received;
            }
        }
        (seen.opened, seen.requests) = (Some(opened / seconds), Some(requests / seconds));
        to.iter_mut().zip(answers).for_each(|(to, answers)| to.answers = answers / seconds);
        seen.to = to;
    }

    fn client(&self, names: &Names, seconds: f64) -> Option<Client> {
        let ((id, after), (earlier_id, before)) = (names.client.as_ref()?, self.client_before.as_ref()?);
        if id != earlier_id || after.threads.is_empty() {
            return None;
        }
        let mut client = Client {
            throttled: throttled(&before.quotas, &after.quotas, seconds).map(|it| it.share),
            ..Client::default()
        };
        for (thread, earlier) in since(Some(&before.threads), &after.threads) {
            let ran = thread.ran.saturating_sub(earlier.ran).as_secs_f64() / seconds;
            client.used += ran;
            client.busiest_thread = client.busiest_thread.max(ran);
            client.waiting += thread.waited.saturating_sub(earlier.waited).as_secs_f64() / seconds;
        }
        Some(client)
    }
}

/// Threads with what they were before; nothing for those that are new in a process that was there.
fn since<'a>(
    before: Option<&'a [Thread]>,
    after: &'a [Thread],
) -> impl Iterator<Item = (&'a Thread, Thread)> {
    let known: BTreeMap<u32, &Thread> =
        before.unwrap_or_default().iter().map(|thread| (thread.id, thread)).collect();
    after.iter().map(move |thread| {
        (thread, known.get(&thread.id).map_or_else(Thread::default, |earlier| (*earlier).clone()))
    })
}

fn threads_of(reading: &Reading) -> HashMap<u32, &Thread> {
    reading
        .processes
        .values()
        .flat_map(|process| &process.threads)
        .map(|thread| (thread.id, thread))
        .collect()
}

/// The sum over the readings of threads that wait for a socket and have had work.
fn waiting_threads(before: &Reading, readings: &[Reading]) -> f64 {
    let before = threads_of(before);
    let threads =
        readings.iter().flat_map(|reading| reading.processes.values()).flat_map(|process| &process.threads);
    let active = |thread: &&Thread| before.get(&thread.id).is_none_or(|earlier| thread.slept > earlier.slept);
    threads.filter(|thread| thread.doing == Doing::Waits).filter(active).count() as f64
}

/// Ports at which only other processes of the service ask, such as those of an application server behind its own proxy: what waits there
/// waits at the proxy, too, and is one request. None where nobody else asks the service.
pub(super) fn inner_ports<'a>(
    listening: &BTreeSet<u16>,
    looks: impl Iterator<Item = (&'a [TcpSocket], HashSet<u32>)>,
) -> HashSet<u16> {
    let (mut inner, mut outer) = (HashSet::new(), HashSet::new());
    if listening.len() < 2 {
        return inner;
    }
    for (all, own) in looks {
        let ends: HashSet<Key> = open(all).filter(|one| own.contains(&one.inode)).map(key).collect();
        for one in open(all).filter(|one| listening.contains(&one.local.port())) {
            let asked_by = if ends.contains(&(one.remote, one.local)) { &mut inner } else { &mut outer };
            asked_by.insert(one.local.port());
        }
    }
    inner.retain(|port| !outer.contains(port));
    if outer.is_empty() { HashSet::new() } else { inner }
}

/// The sum over the readings of connections to the service without a request.
fn idle_connections(sockets: &[&[TcpSocket]], names: &Names) -> f64 {
    let inbound = |one: &&TcpSocket| names.listening.contains(&one.local.port());
    let idle = |all: &&[TcpSocket]| open(all).filter(inbound).filter(|one| !one.owes_an_answer()).count();
    sockets.iter().map(idle).sum::<usize>() as f64
}

/// Of several quotas the one that was used up most.
fn throttled(before: &[Quota], after: &[Quota], seconds: f64) -> Option<Throttled> {
    let found = Quota::throttling_between(before, after)?;
    Some(Throttled { share: found.share(), threads: found.waited.as_secs_f64() / seconds })
}

fn table(after: &Reading, counts: Option<&NetworkCounts>) -> Option<f64> {
    let table = after.table?;
    let dropped = counts.is_some_and(|counts| counts.untracked > 0);
    Some(if dropped { 1.0 } else { table.used as f64 / table.limit.max(1) as f64 })
}

/// Whether one of these connections sent a segment again from one reading to another.
fn has_sent_again(first: &[TcpSocket], last: &[TcpSocket], own: &HashSet<u32>) -> bool {
    let again = |one: &TcpSocket| one.carried.map_or(0, |carried| carried.sent_again);
    let before: HashMap<Key, u32> = open(first).map(|one| (key(one), again(one))).collect();
    let mut own = open(last).filter(|one| own.contains(&one.inode));
    own.any(|one| again(one) > before.get(&key(one)).copied().unwrap_or(0))
}

fn closed(sockets: &[TcpSocket]) -> impl Iterator<Item = &TcpSocket> {
    sockets.iter().filter(|one| one.state == TcpState::TimeWait)
}

fn open(sockets: &[TcpSocket]) -> impl Iterator<Item = &TcpSocket> {
    sockets.iter().filter(|one| one.state == TcpState::Open)
}

fn key(one: &TcpSocket) -> Key {
    (one.local, one.remote)
}

/// With fewer segments in a second, one that was sent again is no share.
const FEW_SEGMENTS: u64 = 20;
