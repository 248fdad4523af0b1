//! One event loop that serves clients.
//!
//! ## The life of a request
//! `downstream` reads it, `begin` routes it, `decide` asks its limits, `upstream` sends it and reads the answer, which
//! `forwarding` brings to the client; `failure` has another instance try, or tells the client; `account` counts it out.
//! Bytes are forwarded as they come, in one read and one write each way where they fit; while one side has no room,
//! the other is not read. However fast a connection sends, it has its turn and then the others have theirs.
//!
//! ## Ten times a second
//! The loop comes by the shared state: it merges its counts of the service levels, notes requests that are late
//! already, publishes its metrics, and looks whether there is a new configuration or an end.

mod accept;
mod account;
#[cfg(test)]
mod adapts;
mod admit;
#[cfg(test)]
mod as_simulated;
mod begin;
mod claims;
mod connection;
pub(crate) mod crowd;
mod decide;
mod downstream;
mod exchange;
mod failure;
#[cfg(test)]
mod fairness;
mod forwarding;
mod gather;
#[cfg(test)]
mod holding;
#[cfg(any(test, feature = "laws"))]
pub mod laws;
mod learn;
mod mirror;
mod observe;
mod pace;
mod queue;
#[cfg(test)]
mod reloads;
#[cfg(test)]
mod replay;
#[cfg(test)]
mod retries;
mod rules;
#[cfg(test)]
mod simulation;
mod upstream;

use crate::access_log::Log;
use crate::control_room::{ControlRoom, MalformedAnswer, RuleNotes};
use crate::local::{Local, NextView};
use crate::metrics::Counts;
use connection::{Downstream, Phase, Upstream, UpstreamState};
use crowd::Crowd;
use http::reactor::{Net, Ready, Timers, Token};
use mirror::Mirroring;
use rule::RuleError;
use slab::Slab;
use stats::Rng;
use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use units::Timestamp;

/// One event loop that serves clients.
pub(crate) struct Worker<N: Net> {
    net: N,
    index: usize,
    listener: Option<N::Listener>,
    room: Arc<ControlRoom>,
    local: Rc<Local>,
    /// The view of a newer configuration, while its rules are being loaded.
    next: Option<NextView>,
    /// Views that were replaced and still have requests.
    retired: Vec<Rc<Local>>,
    /// The newest configuration that was seen; it is in force once `next` is.
    version: u64,
    downstreams: Slab<Downstream<N::Stream>>,
    upstreams: Slab<Upstream<N::Stream>>,
    instances: Vec<Instance>,
    /// Their places in that list.
    numbers: HashMap<SocketAddr, usize>,
    /// Tokens of connections to go on with once the event at hand is done with.
    resumed: Vec<usize>,
    /// Tokens of connections that have had their turn and could go on.
    later: Vec<usize>,
    /// Behind the request that is being read stands another, so that its answer may be held.
    more_follows: bool,
    /// The connection that is being read may have answers that are held.
    holding: bool,
    /// Who is given up where another client would be refused.
    crowd: Crowd,
    /// More clients may wait to be accepted than had their turn.
    more_clients: bool,
    /// Bytes of requests whose bodies are read first.
    gathered: usize,
    /// Requests that wait for a place.
    line: queue::Line,
    /// Where the key of a request is written.
    key: Vec<u8>,
    /// The time at which the event at hand began to be handled: one look at the clock an event.
    now: Timestamp,
    /// By token, told apart by generation.
    timers: Timers<(usize, u32)>,
    generation: u32,
    buffer: Vec<u8>,
    /// Where heads are written before they are sent.
    head: Vec<u8>,
    counts: Counts,
    mirroring: Mirroring,
    rule_notes: RuleNotes,
    malformed: Option<MalformedAnswer>,
    log: Log,
    rng: Rng,
    wall_clock: fn() -> u64,
    /// What the wall clock, in µs since 1970, showed at the beginning.
    wall_origin_us: u64,
    next_tick: Timestamp,
    drain_until: Option<Timestamp>,
}

/// An instance as this worker knows it: by address, whatever pools it is in.
#[derive(Debug)]
struct Instance {
    address: SocketAddr,
    idle: Vec<usize>,
    /// It is in a pool of the configuration in force.
    used: bool,
}

/// Where a worker's own connections to the outside come from.
pub(crate) struct Ends<N: Net> {
    pub(crate) net: N,
    pub(crate) listener: N::Listener,
    pub(crate) log: Log,
    /// The wall clock, in µs since 1970.
    pub(crate) wall_clock: fn() -> u64,
    pub(crate) seed: u64,
}

/// The token of the listening socket; connections have smaller ones.
pub(crate) const LISTENER: Token = Token(usize::MAX / 2);

fn downstream_token(index: usize) -> usize {
    index * 2
}

fn upstream_token(index: usize) -> usize {
    index * 2 + 1
}

impl<N: Net> Worker<N> {
    /// Worker `index`.
    ///
    /// # Errors
    /// A rule that does not fit the memory of the rules.
    pub(crate) fn new(mut ends: Ends<N>, index: usize, room: Arc<ControlRoom>) -> Result<Self, RuleError> {
        let now = ends.net.now();
        let (version, shared) = room.current();
        let (mut instances, mut numbers) = (Vec::new(), HashMap::new());
        let number = |address| number(&mut instances, &mut numbers, address);
        let local = Rc::new(Local::first(shared, now, number)?);
        Ok(Worker {
            net: ends.net,
            index,
            listener: Some(ends.listener),
            room,
            local,
            next: None,
            retired: Vec::new(),
            version,
            downstreams: Slab::new(),
            upstreams: Slab::new(),
            instances,
            numbers,
            resumed: Vec::new(),
            later: Vec::new(),
            more_follows: false,
            holding: false,
            crowd: Crowd::default(),
            more_clients: false,
            gathered: 0,
            line: queue::Line::default(),
            key: Vec::new(),
            now,
            timers: Timers::default(),
            generation: 0,
            buffer: vec![0; READ_BYTES],
            head: Vec::with_capacity(4 * 1024),
            counts: Counts::default(),
            mirroring: Mirroring::default(),
            rule_notes: RuleNotes::default(),
            malformed: None,
            log: ends.log,
            rng: Rng::new(ends.seed, "gateway"),
            wall_clock: ends.wall_clock,
            wall_origin_us: (ends.wall_clock)().saturating_sub(now.as_nanos() / 1_000),
            next_tick: now + TICK,
            drain_until: None,
        })
    }

    /// Serves until it is told to end and the last request is answered, or the time for that is over.
    pub(crate) fn run(mut self) -> io::Result<()> {
        let mut ready = Vec::with_capacity(1024);
        while !self.step(&mut ready)? {}
        self.end();
        Ok(())
    }

    /// Lets go of the clients that are still there.
    fn end(&mut self) {
        let left: Vec<usize> = self.downstreams.iter().map(|(index, _)| index).collect();
        left.into_iter().for_each(|index| self.abort(index));
        self.log.flush();
    }

    /// One turn of the loop; true at its end.
    pub(crate) fn step(&mut self, ready: &mut Vec<Ready>) -> io::Result<bool> {
        ready.clear();
        let alarm = self.next_tick.min(self.timers.next() + GATHERED).min(self.line.look_at());
        let more_to_do = !self.later.is_empty() || self.more_clients || self.next.is_some();
        let until = if more_to_do { Timestamp::ZERO } else { alarm };
        self.net.wait(until, ready)?;
        for event in ready.iter() {
            self.now = self.net.now();
            if event.token == LISTENER {
                self.accept();
            } else if event.token.0 % 2 == 0 {
                self.downstream_ready(event.token.0 / 2, *event);
            } else {
                self.upstream_ready(event.token.0 / 2, *event);
            }
            self.go_on();
        }
        if self.more_clients {
            self.now = self.net.now();
            self.accept();
            self.go_on();
        }
        for token in std::mem::take(&mut self.later) {
            self.now = self.net.now();
            self.resume(token);
            self.go_on();
        }
        let now = self.net.now();
        self.now = now;
        if self.room.crowds[self.index].is_asked() {
            self.give_places();
        }
        self.check_deadlines(now);
        self.line.look(now);
        self.load_rules();
        if now >= self.next_tick {
            self.tick(now);
        }
        self.go_on();
        self.wake_mirror();
        Ok(self.drain_until.is_some_and(|until| self.downstreams.is_empty() || now >= until))
    }

    /// Goes on with a connection once the event at hand is done with. Directly, one connection's progress would
    /// run into the middle of another's, which holds the loop's buffers.
    fn resume(&mut self, token: usize) {
        self.resumed.push(token);
    }

    fn go_on(&mut self) {
        loop {
            while let Some(token) = self.resumed.pop() {
                if token % 2 == 0 {
                    self.read_downstream(token / 2);
                } else {
                    self.read_upstream(token / 2);
                }
            }
            if !self.serve_line() {
                return;
            }
        }
    }

    fn wall_us(&self, now: Timestamp) -> u64 {
        self.wall_origin_us + now.as_nanos() / 1_000
    }

    fn check_deadlines(&mut self, now: Timestamp) {
        while let Some(owner) = self.timers.pop(now) {
            let (token, generation) = owner;
            let index = token / 2;
            if token % 2 == 0 {
                let Some(found) =
                    self.downstreams.get_mut(index).filter(|found| found.generation == generation)
                else {
                    continue;
                };
                if self.timers.is_due(owner, &mut found.deadline, now) {
                    self.downstream_due(index, now);
                }
            } else {
                let Some(found) =
                    self.upstreams.get_mut(index).filter(|found| found.generation == generation)
                else {
                    continue;
                };
                if self.timers.is_due(owner, &mut found.deadline, now) {
                    self.upstream_due(index);
                }
            }
        }
    }

    /// What happens ten times a second.
    fn tick(&mut self, now: Timestamp) {
        let lag = now.since(self.next_tick);
        self.next_tick = now + TICK;
        self.wall_origin_us = (self.wall_clock)().saturating_sub(now.as_nanos() / 1_000);
        self.reload();
        self.tick_mirrors(now, lag);
        let under_way = self.note_late(now);
        for local in self.retired.iter().chain([&self.local]) {
            let mut tallies = local.tallies.borrow_mut();
            local.shared.merge(now, &mut tallies);
            let changes = local.shared.adapt(now, &mut local.samples.borrow_mut());
            self.room.note_limits(&local.shared, changes);
        }
        let shared = &self.local.shared;
        self.room.note(shared, now, shared.ask_policies(now));
        self.retire();
        self.tell_of_rules();
        if let Some(malformed) = self.malformed.take() {
            self.room.note_malformed(malformed);
        }
        self.publish(now, &under_way);
        self.log.tick(now, self.room.log_reopenings());
        self.may_be_asked();
        self.accept();
        if self.drain_until.is_none() && self.room.is_draining() {
            self.drain(now);
        }
    }

    /// Counts requests as late whose target has passed without an answer: a service that hangs would otherwise look
    /// idle. Gives the requests in flight of each route, and those that wait.
    fn note_late(&mut self, now: Timestamp) -> HashMap<usize, (u64, u64)> {
        let mut under_way = HashMap::new();
        for (_, downstream) in &mut self.downstreams {
            let exchange = &mut downstream.exchange;
            let (Phase::Active | Phase::Waiting(_), Some(local)) = (&downstream.phase, exchange.local())
            else {
                continue;
            };
            let waits = matches!(downstream.phase, Phase::Waiting(_));
            let route = if Rc::ptr_eq(local, &self.local) {
                Some(exchange.route())
            } else {
                let name = &local.shared.settings.routes[exchange.route()].name;
                self.local.shared.named.route(name)
            };
            if let Some(route) = route {
                let (in_flight, waiting) = under_way.entry(route).or_insert((0, 0));
                *(if waits { waiting } else { in_flight }) += 1;
            }
            if !waits {
                exchange.note_late(now);
            }
        }
        under_way
    }

    /// Takes over what retired views have counted, and lets go of those without requests.
    fn retire(&mut self) {
        let current = Rc::clone(&self.local);
        self.retired.retain(|old| {
            let (routes, named) = (&old.shared.settings.routes, &current.shared.named);
            let mut counts = current.counts.borrow_mut();
            counts.absorb(&mut old.counts.borrow_mut(), |route| named.route(&routes[route].name));
            for (class, times) in
                old.shared.settings.service_levels.iter().zip(old.times.borrow_mut().iter_mut())
            {
                if let Some(same) = named.level(&class.name) {
                    current.times.borrow_mut()[same].add(&std::mem::take(times));
                }
            }
            Rc::strong_count(old) > 1
        });
    }

    /// Begins to take over a newer configuration, whether or not the one before is in force by now.
    fn reload(&mut self) {
        let (version, shared) = self.room.current();
        if version == self.version {
            return;
        }
        self.version = version;
        self.next = Some(NextView::new(shared));
        self.load_rules();
    }

    /// Loads some of the rules of a newer configuration, and puts it in force once all are loaded.
    fn load_rules(&mut self) {
        let Some(mut next) = self.next.take() else { return };
        match next.load(RULES_A_TURN) {
            Ok(true) => self.put_in_force(next),
            Ok(false) => self.next = Some(next),
            // The rules were compiled before; where there is no memory for them, the old configuration goes on.
            Err(_) => {}
        }
    }

    fn put_in_force(&mut self, next: NextView) {
        let (instances, numbers) = (&mut self.instances, &mut self.numbers);
        let new = next.finish(Some(&self.local), self.now, |address| number(instances, numbers, address));
        let (old, settings) = (&self.local.shared.settings, &new.shared.settings);
        if (&settings.access_log, settings.log_form) != (&old.access_log, old.log_form)
            && let Ok(log) = Log::with_form(&settings.access_log, settings.log_form)
        {
            self.log.replace(log);
        }
        self.retired.push(std::mem::replace(&mut self.local, Rc::new(new)));
        self.instances.iter_mut().for_each(|instance| instance.used = false);
        for pool in &self.local.pools {
            pool.borrow().numbers().for_each(|number| self.instances[number].used = true);
        }
        for instance in self.instances.iter_mut().filter(|instance| !instance.used) {
            for idle in instance.idle.drain(..) {
                self.upstreams.remove(idle);
            }
        }
    }

    /// Takes no more clients and lets those go that have no request.
    fn drain(&mut self, now: Timestamp) {
        self.drain_until = Some(now + self.local.shared.settings.limits.drain_timeout);
        if let Some(listener) = self.listener.take() {
            self.net.stop_listening(listener);
        }
        let idle = self.downstreams.iter().filter(|(_, found)| matches!(found.phase, Phase::Head));
        self.resumed.extend(idle.map(|(index, _)| downstream_token(index)));
    }

    fn is_draining(&self) -> bool {
        self.drain_until.is_some()
    }

    fn remove_downstream(&mut self, index: usize) {
        self.closed(index);
    }

    /// Counts a connection out, and gives what is left of it.
    fn closed(&mut self, index: usize) -> Downstream<N::Stream> {
        self.gathered_no_more(index);
        let closed = self.downstreams.remove(index);
        self.room.connection_closed();
        if closed.counted {
            self.room.clients.leave(closed.client.ip());
        }
        self.counts.connections_open -= 1;
        self.counts.connections.ended(closed.requests);
        if closed.silent {
            self.no_longer_silent();
        }
        closed
    }

    /// Closes a connection in the middle of whatever it was about. Where the client could take the end of the
    /// connection for the end of its answer, it is reset.
    fn break_downstream(&mut self, index: usize) {
        let broken = self.closed(index);
        if broken.exchange.answer.is_until_close() || !broken.outbox.is_empty() {
            self.net.reset(broken.stream);
        }
    }

    fn remove_upstream(&mut self, index: usize) {
        let removed = self.upstreams.remove(index);
        if removed.state == UpstreamState::Idle {
            self.instances[removed.instance].idle.retain(|&idle| idle != index);
        }
    }
}

/// The worker's number for an address.
fn number(
    instances: &mut Vec<Instance>,
    numbers: &mut HashMap<SocketAddr, usize>,
    address: SocketAddr,
) -> usize {
    *numbers.entry(address).or_insert_with(|| {
        instances.push(Instance { address, idle: Vec::new(), used: true });
        instances.len() - 1
    })
}

/// The loop's read buffer, and so the most that one read can leave waiting for the other side.
const READ_BYTES: usize = 64 * 1024;

/// Reads or requests of one connection before others have their turn.
const TURN: usize = 16;

/// Rules of a newer configuration that are loaded before connections have their turn again.
const RULES_A_TURN: usize = 4;

const TICK: Duration = Duration::from_millis(100);

/// How long a turn or the end of a time that has come may stand until the loop wakes for it alone: at some thousand
/// events a second many are found due beside one of these, and those of one moment together. With the slack of the
/// kernel's wait this is the precision of turns, 100 µs; nothing comes early, and no rate is passed.
const GATHERED: Duration = Duration::from_micros(50);
