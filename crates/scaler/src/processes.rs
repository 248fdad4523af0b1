//! Local processes as a target: a command on a port each, behind a pool of the gateway.
//!
//! ## Zero loss
//! An instance joins the pool when it is ready. Before it ends it is drained: the gateway sends it no new requests, and
//! it is stopped once none is in flight, or the drain time is over. Then it is removed from the pool, gets SIGTERM, and
//! after a time SIGKILL, as a process group.
//!
//! ## Why they outlive the scaler
//! A scaler that is killed must not take the service with it. Each instance is a process group of its own without pipes;
//! the state file has its process by boot, id and start time, and the next leader adopts it. One scaler leads: it holds
//! the lock of the state directory, which the kernel releases with the process.
//!
//! ## A full disk
//! It must not keep a service from its instances. The state in memory counts: what cannot be written is told, and written
//! once that is possible. A scaler that takes over meanwhile finds the state of before.
//!
//! Without `limits` an instance may use what its user may use.

mod gateway;
mod launch;
mod lead;
mod ready;
mod state;

pub use gateway::GatewayPool;
pub use lead::{Lead, LeadError};

use crate::settings::{Ends, Gateway, Processes};
use crate::source::PoolInstance;
use crate::target::{Event, Instance, Phase, Snapshot, Target, TargetError};
use host::{LimitedGroup, Limits, ProcessIdentity};
use launch::{Launch, Signalled};
use state::{Kept, KeptPhase, State};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The pool of a gateway, as this target uses it.
pub trait Pool: Send + std::fmt::Debug {
    /// Its instances.
    ///
    /// # Errors
    /// The gateway does not respond.
    fn instances(&mut self) -> Result<Vec<PoolInstance>, String>;
    /// Adds an instance, or lets one that drains get requests again.
    ///
    /// # Errors
    /// The gateway does not respond, or refuses.
    fn add(&mut self, address: SocketAddr) -> Result<(), String>;
    /// Sends it no new requests.
    ///
    /// # Errors
    /// As [`Pool::add`].
    fn drain(&mut self, address: SocketAddr) -> Result<(), String>;
    /// Removes it.
    ///
    /// # Errors
    /// As [`Pool::add`].
    fn remove(&mut self, address: SocketAddr) -> Result<(), String>;
}

/// The processes of one service.
#[derive(Debug)]
pub struct LocalProcesses {
    settings: Processes,
    folder: PathBuf,
    pool: Box<dyn Pool>,
    state: State,
    /// By number.
    live: BTreeMap<u64, Live>,
    events: Vec<Event>,
    /// Starts that failed in a row, and until when none is tried.
    failures: u32,
    wait_until: Option<Instant>,
    looked_at: Option<Instant>,
    /// The pool was compared with the state of a scaler before.
    agreed: bool,
    /// The size, or the instances, differ from what the state directory has.
    unsaved: Unsaved,
    /// The last problem with the state directory, so that it is told once.
    told: Option<String>,
    /// Why instances run without limits, so that it is told once.
    unlimited: Option<String>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Unsaved {
    size: bool,
    instances: bool,
}

/// What is known of an instance beside the state file.
#[derive(Debug, Default)]
struct Live {
    /// None: it was adopted.
    launch: Option<Launch>,
    started: Option<Instant>,
    ready: Option<Instant>,
    /// Since when it drains or is stopped.
    since: Option<Instant>,
    killed: bool,
    /// The last problem, so that it is told once.
    told: Option<String>,
}

impl LocalProcesses {
    /// The processes of a state directory, with those adopted that still run. The caller leads ([`Lead`]).
    ///
    /// # Errors
    /// The state cannot be read or written.
    pub fn adopt(
        settings: &Processes,
        gateway: &Gateway,
        folder: &Path,
        first: u32,
    ) -> Result<Self, TargetError> {
        let pool =
            GatewayPool::new(gateway).map_err(|error| TargetError(crate::poller::with_causes(&error)))?;
        LocalProcesses::with_pool(settings, Box::new(pool), folder, first)
    }

    fn with_pool(
        settings: &Processes,
        pool: Box<dyn Pool>,
        folder: &Path,
        first: u32,
    ) -> Result<Self, TargetError> {
        let mut state = State::read(folder, first).map_err(TargetError)?;
        let before = state.instances.len();
        state.instances.retain(|kept| kept.is_alive());
        let (adopted, gone) = (state.instances.len(), before - state.instances.len());
        let mut events = Vec::new();
        if adopted > 0 {
            events.push(Event(format!("adopted {adopted} running instances of {}", folder.display())));
        }
        if gone > 0 {
            events.push(Event(format!("{gone} instances of {} have ended meanwhile", folder.display())));
        }
        let live = state.instances.iter().map(|kept| (kept.id, Live::default())).collect();
        let mut target = LocalProcesses {
            settings: settings.clone(),
            folder: folder.to_owned(),
            pool,
            state,
            live,
            events,
            failures: 0,
            wait_until: None,
            looked_at: None,
            agreed: false,
            unsaved: Unsaved { size: false, instances: true },
            told: None,
            unlimited: None,
        };
        let problem = target.save();
        target.tell_once(problem);
        Ok(target)
    }

    /// Starts one instance, unless some run, and waits a moment: a command that ends at once is refused before anything
    /// is changed.
    ///
    /// # Errors
    /// The command cannot be started, or ended at once.
    pub fn try_command(&mut self) -> Result<(), TargetError> {
        if !self.state.instances.is_empty() || self.state.size == 0 {
            return Ok(());
        }
        let id = self.launch(Instant::now())?;
        self.unsaved.instances = true;
        let until = Instant::now() + AT_ONCE;
        while Instant::now() < until {
            let port = self.state.get(id).map_or(0, |kept| kept.port);
            let ended = self.live.get_mut(&id).and_then(|live| live.launch.as_mut()?.ended());
            if let Some(how) = ended {
                let last = launch::last_lines(&self.folder, port);
                self.forget(id);
                let _ = self.save();
                return Err(TargetError(format!(
                    "`live.processes.command` ended at once on port {port} ({how}): {last}; try it in a shell: {}",
                    launch::command_of(&self.settings, port)
                )));
            }
            if ready::is_ready(port, self.settings.ready.as_deref()) {
                break;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let problem = self.save();
        self.tell_once(problem);
        Ok(())
    }

    /// Tells an event once while it lasts.
    fn tell(&mut self, id: u64, text: String) {
        let live = self.live.entry(id).or_default();
        if live.told.as_ref() != Some(&text) {
            self.events.push(Event(text.clone()));
            live.told = Some(text);
        }
    }

    /// Writes what the state directory lacks; why that is not possible.
    fn save(&mut self) -> Option<String> {
        let mut problem = None;
        if self.unsaved.size {
            problem = self.state.write_size(&self.folder).err();
            self.unsaved.size = problem.is_some();
        }
        if self.unsaved.instances {
            let failed = self.state.write(&self.folder).err();
            self.unsaved.instances = failed.is_some();
            problem = problem.or(failed);
        }
        problem
            .map(|why| format!("{why}: changes go on, but a scaler that takes over now does not know them"))
    }

    /// Tells a problem of the state directory, once while it lasts.
    fn tell_once(&mut self, problem: Option<String>) {
        if let Some(text) = problem.as_ref().filter(|_| self.told != problem) {
            self.events.push(Event(text.clone()));
        }
        self.told = problem;
    }

    fn forget(&mut self, id: u64) {
        let port = self.state.instances.iter().find(|kept| kept.id == id).map(|kept| kept.port);
        if let Some(name) = port.and_then(|port| self.group_name(port)) {
            // A process that the kernel still ends keeps it; the next instance on the port takes it.
            LimitedGroup::remove(&name);
        }
        self.state.instances.retain(|kept| kept.id != id);
        self.live.remove(&id);
    }

    /// The name of the control group of a port: no other state directory has the same; none without limits.
    fn group_name(&self, port: u16) -> Option<String> {
        let folder = std::fs::metadata(&self.folder).ok()?;
        let is_limited = self.settings.limits != Limits::default();
        is_limited.then(|| format!("headroom-{}-{}-{port}", folder.dev(), folder.ino()))
    }

    /// The control group of a port; none without limits, or where this process may make none, which it tells.
    fn group(&mut self, port: u16) -> Option<LimitedGroup> {
        let created = LimitedGroup::create(&self.group_name(port)?, self.settings.limits);
        let why = match created {
            Ok(group) => return Some(group),
            Err(why) => why,
        };
        if self.unlimited.as_ref() != Some(&why) {
            self.events.push(Event(format!("instances start without `limits`: {why}")));
            self.unlimited = Some(why);
        }
        None
    }

    /// Starts a process on a free port.
    fn launch(&mut self, now: Instant) -> Result<u64, TargetError> {
        let port = launch::free_port(&self.settings, &self.state).ok_or_else(|| {
            let (first, last) = self.settings.ports;
            TargetError(format!("no port of {first} to {last} is free; widen `live.processes.ports`"))
        })?;
        let group = self.group(port);
        let launch = Launch::start(&self.settings, port, &self.folder, group.as_ref());
        let launch = launch.map_err(TargetError)?;
        let process = ProcessIdentity::of(launch.id());
        let id = self.state.next;
        self.state.next += 1;
        self.state.instances.push(Kept { id, port, process, phase: KeptPhase::Starting });
        self.live.insert(id, Live { launch: Some(launch), started: Some(now), ..Live::default() });
        Ok(id)
    }

    /// The next attempt waits longer after each failure.
    fn failed(&mut self, now: Instant) {
        let wait = FIRST_WAIT.saturating_mul(1 << self.failures.min(6));
        self.failures += 1;
        self.wait_until = Some(now + wait);
    }

    /// Takes out what has ended.
    fn bury(&mut self, now: Instant) {
        for kept in self.state.instances.clone() {
            let how = match self.live.get_mut(&kept.id).and_then(|live| live.launch.as_mut()) {
                Some(launch) => launch.ended(),
                None if kept.is_alive() => None,
                None => Some("ended".to_owned()),
            };
            let Some(how) = how else { continue };
            let port = kept.port;
            // A shell may have ended before its command.
            self.signal(kept.id, Signalled::Kill);
            match kept.phase {
                KeptPhase::Starting => {
                    self.failed(now);
                    let last = launch::last_lines(&self.folder, port);
                    self.events.push(Event(format!(
                        "the instance on port {port} ended before it was ready ({how}): {last}"
                    )));
                }
                KeptPhase::Ready | KeptPhase::Draining => {
                    self.events.push(Event(format!("the instance on port {port} ended by itself ({how})")));
                    self.leave(port);
                }
                KeptPhase::Stopping => {}
            }
            self.forget(kept.id);
        }
    }

    /// Removes an address from the pool; a gateway that does not respond is asked again later, when it is a stranger.
    fn leave(&mut self, port: u16) {
        let _ = self.pool.remove(address(port));
    }

    /// Instances that have become ready join the pool; those that take too long are stopped.
    fn welcome(&mut self, now: Instant) {
        for kept in self.state.instances.clone() {
            let Some(live) = self.live.get_mut(&kept.id) else { continue };
            if kept.phase != KeptPhase::Starting {
                continue;
            }
            let started = *live.started.get_or_insert(now);
            if ready::is_ready(kept.port, self.settings.ready.as_deref()) {
                match self.pool.add(address(kept.port)) {
                    Ok(()) => {
                        self.failures = 0;
                        self.wait_until = None;
                        if let Some(live) = self.live.get_mut(&kept.id) {
                            live.ready = Some(now);
                        }
                        self.state.set(kept.id, KeptPhase::Ready);
                    }
                    Err(why) => self.tell(kept.id, format!("port {} cannot join the pool: {why}", kept.port)),
                }
            } else if now.duration_since(started) > self.settings.start {
                self.failed(now);
                self.events.push(Event(format!(
                    "the instance on port {} was not ready within {:?}; it is replaced: {}",
                    kept.port,
                    self.settings.start,
                    launch::last_lines(&self.folder, kept.port)
                )));
                self.stop(kept.id, now);
            }
        }
    }

    fn stop(&mut self, id: u64, now: Instant) {
        self.state.set(id, KeptPhase::Stopping);
        if let Some(live) = self.live.get_mut(&id) {
            (live.since, live.killed) = (Some(now), false);
        }
        self.signal(id, Signalled::Term);
    }

    fn signal(&self, id: u64, signal: Signalled) {
        if let Some(process) = self.state.get(id).and_then(|kept| kept.process.as_ref()) {
            launch::signal(process, signal);
        }
    }

    /// Instances that end: drained, then stopped, then killed.
    fn send_off(&mut self, now: Instant, members: &[PoolInstance]) {
        for kept in self.state.instances.clone() {
            let (drain, stop) = (self.settings.drain, self.settings.stop);
            let Some(live) = self.live.get_mut(&kept.id) else { continue };
            match kept.phase {
                KeptPhase::Starting | KeptPhase::Ready => {}
                KeptPhase::Draining => {
                    let since = *live.since.get_or_insert(now);
                    let member = members.iter().find(|one| one.address == address(kept.port).to_string());
                    let over = now.duration_since(since) >= drain;
                    let drained = member.is_none_or(|one| !one.takes_requests && one.in_flight == 0);
                    // The counts of a gateway are up to a tenth of a second old.
                    if over || (drained && now.duration_since(since) >= SETTLED) {
                        if let Some(left) = member.map(|one| one.in_flight).filter(|left| *left > 0) {
                            self.events.push(Event(format!(
                                "port {} still had {left} requests after {drain:?} of draining",
                                kept.port
                            )));
                        }
                        self.leave(kept.port);
                        self.stop(kept.id, now);
                    }
                }
                KeptPhase::Stopping => {
                    let since = *live.since.get_or_insert(now);
                    if now.duration_since(since) >= stop && !live.killed {
                        live.killed = true;
                        self.signal(kept.id, Signalled::Kill);
                    }
                }
            }
        }
    }

    /// Starts missing instances, drains excess ones.
    fn reconcile(&mut self, now: Instant) {
        let live = |state: &State| state.instances.iter().filter(|kept| kept.counts()).count() as u32;
        while live(&self.state) < self.state.size && self.wait_until.is_none_or(|until| now >= until) {
            if let Err(error) = self.launch(now) {
                self.failed(now);
                self.events.push(Event(error.0));
                return;
            }
        }
        let excess = live(&self.state).saturating_sub(self.state.size);
        for _ in 0..excess {
            let Some(kept) = self.first_to_end() else { return };
            if kept.phase == KeptPhase::Starting {
                self.stop(kept.id, now);
                continue;
            }
            match self.pool.drain(address(kept.port)) {
                Ok(()) => {
                    self.state.set(kept.id, KeptPhase::Draining);
                    if let Some(live) = self.live.get_mut(&kept.id) {
                        live.since = Some(now);
                    }
                }
                Err(why) => {
                    self.tell(kept.id, format!("port {} cannot be drained: {why}", kept.port));
                    return;
                }
            }
        }
    }

    /// Those that are not ready yet come first.
    fn first_to_end(&self) -> Option<Kept> {
        let candidates = self.state.instances.iter().filter(|kept| kept.counts());
        let rank = |kept: &&Kept| {
            let age = match self.settings.ends {
                Ends::Oldest => kept.id,
                Ends::Newest => u64::MAX - kept.id,
            };
            (kept.phase != KeptPhase::Starting, age)
        };
        candidates.min_by_key(rank).cloned()
    }

    /// The pool has instances of ours that it should not have, or lacks some: another scaler was killed, or the gateway
    /// was restarted with its file.
    fn agree(&mut self, members: &[PoolInstance]) {
        let ready: Vec<(u64, u16)> = self
            .state
            .instances
            .iter()
            .filter(|kept| kept.phase == KeptPhase::Ready)
            .map(|kept| (kept.id, kept.port))
            .collect();
        for &(id, port) in &ready {
            let member = members.iter().find(|one| one.address == address(port).to_string());
            // A scaler may have been killed after it drained the instance; later, somebody else drained it.
            let was_ours = |one: &PoolInstance| one.state == "draining" && !self.agreed;
            if member.is_none_or(|one| one.state == "removed" || was_ours(one))
                && let Err(why) = self.pool.add(address(port))
            {
                self.tell(id, format!("port {port} cannot join the pool: {why}"));
            }
        }
        self.agreed = true;
        let (first, last) = self.settings.ports;
        let takes = |port: u16| ready.iter().any(|(_, of)| *of == port);
        // The last instance of a pool stays, so that there is always one.
        if !members.iter().any(|one| port_of(one).is_some_and(takes) && one.takes_requests) {
            return;
        }
        let known = |port: u16| self.state.instances.iter().any(|kept| kept.port == port);
        let in_range = |port: &u16| (first..=last).contains(port) && !known(*port);
        let strangers: Vec<u16> = members.iter().filter_map(port_of).filter(in_range).collect();
        for port in strangers {
            self.leave(port);
        }
    }

    fn snapshot(&self) -> Snapshot {
        let instance = |kept: &Kept| {
            let live = self.live.get(&kept.id);
            Instance {
                id: kept.id,
                process: kept.process.as_ref().map(ProcessIdentity::id),
                port: Some(kept.port),
                phase: match kept.phase {
                    KeptPhase::Starting => Phase::Starting,
                    KeptPhase::Ready => Phase::Ready,
                    KeptPhase::Draining | KeptPhase::Stopping => Phase::Ending,
                },
                started: live.and_then(|live| live.launch.as_ref().and(live.started)),
                ready: live.and_then(|live| live.ready),
                usage: None,
            }
        };
        let instances = self.state.instances.iter().map(instance).collect();
        Snapshot { size: self.state.size, instances, withdrawn: false, stale: false }
    }
}

impl Target for LocalProcesses {
    fn work(&mut self, set: Option<u32>) -> Result<Snapshot, TargetError> {
        let now = Instant::now();
        let before = self.state.clone();
        let mut problem = None;
        match set {
            Some(size) => (self.state.size, self.unsaved.size) = (size, true),
            // A size that could not be written is newer than the file.
            None if self.unsaved.size => {}
            None => {
                let failed = self.state.read_size(&self.folder).err();
                problem = failed.map(|why| format!("{why}: the size stays {}", self.state.size));
            }
        }
        self.bury(now);
        self.welcome(now);
        let looks = self.looked_at.is_none_or(|at| now.duration_since(at) >= LOOKS)
            || self.state.instances.iter().any(|kept| kept.phase == KeptPhase::Draining);
        if looks {
            self.looked_at = Some(now);
            match self.pool.instances() {
                Ok(members) => {
                    self.send_off(now, &members);
                    self.agree(&members);
                }
                // Without the gateway nothing is drained, so that nothing is lost; what is stopped may be killed.
                Err(_) => self.send_off_stopping(now),
            }
        } else {
            self.send_off_stopping(now);
        }
        self.reconcile(now);
        self.unsaved.instances |= self.state != before;
        let unsaved = self.save();
        self.tell_once(problem.or(unsaved));
        Ok(self.snapshot())
    }

    fn events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }
}

impl LocalProcesses {
    fn send_off_stopping(&mut self, now: Instant) {
        let draining: Vec<u64> = self
            .state
            .instances
            .iter()
            .filter(|kept| kept.phase == KeptPhase::Draining)
            .map(|kept| kept.id)
            .collect();
        if draining.is_empty() {
            self.send_off(now, &[]);
        }
    }
}

/// Instances of this machine without a lock and without changes: what runs there now.
pub fn watch(folder: &Path) -> Option<Snapshot> {
    let state = State::read(folder, 0).ok()?;
    let instance = |kept: &Kept| Instance {
        id: kept.id,
        process: kept.process.as_ref().map(ProcessIdentity::id),
        port: Some(kept.port),
        phase: match kept.phase {
            KeptPhase::Starting => Phase::Starting,
            KeptPhase::Ready => Phase::Ready,
            KeptPhase::Draining | KeptPhase::Stopping => Phase::Ending,
        },
        started: None,
        ready: None,
        usage: None,
    };
    let instances: Vec<Instance> =
        state.instances.iter().filter(|kept| kept.is_alive()).map(instance).collect();
    (!instances.is_empty()).then_some(Snapshot {
        size: state.size,
        instances,
        withdrawn: false,
        stale: false,
    })
}

fn port_of(one: &PoolInstance) -> Option<u16> {
    let address = one.address.parse::<SocketAddr>().ok()?;
    address.ip().is_loopback().then(|| address.port())
}

/// Where an instance listens.
fn address(port: u16) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], port))
}

/// A command that ends within this ends at once.
const AT_ONCE: Duration = Duration::from_secs(1);

/// The wait after a failed start, doubled with each further one up to about a minute.
const FIRST_WAIT: Duration = Duration::from_secs(1);

/// How often the gateway's pool is looked at while nothing drains.
const LOOKS: Duration = Duration::from_secs(1);

/// From the order to drain until the gateway's counts can be relied on: three of its publications.
const SETTLED: Duration = Duration::from_millis(300);

#[cfg(test)]
mod tests;
