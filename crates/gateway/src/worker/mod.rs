//! One event loop that serves clients.
//!
//! ## The life of a request
//! `downstream` reads the request, `begin` routes it, `decide` checks its limits, `upstream` sends it and reads the
//! response, and `forwarding` passes the response to the client. On failure, `failure` tries another instance or sends
//! an error to the client. `account` does the accounting at the end. Bytes are forwarded as they arrive, in one read
//! and one write each way where they fit. While one side cannot accept data, the other side is not read. No connection
//! can starve the others: each has a limited turn.
//!
//! ## Ten times a second
//! The loop visits the shared state: it merges its service level counts, counts requests that are already late,
//! publishes its metrics, and checks for a new configuration or a shutdown.

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
    /// Replaced views that still have requests.
    retired: Vec<Rc<Local>>,
    /// The newest configuration that was seen; it is in force when `next` is.
    version: u64,
    downstreams: Slab<Downstream<N::Stream>>,
    upstreams: Slab<Upstream<N::Stream>>,
    instances: Vec<Instance>,
    /// Their indexes in that list.
    numbers: HashMap<SocketAddr, usize>,
    /// Tokens of connections to resume after the current event.
    resumed: Vec<usize>,
    /// Tokens of connections that have used up their turn and may have more to do.
    later: Vec<usize>,
    /// Another request follows the current one in the input, so the response may be held.
    more_follows: bool,
    /// The connection that is being read may have held responses.
    holding: bool,
    /// The connections that may be closed to make room for new clients.
    crowd: Crowd,
    /// More clients may be waiting to be accepted than one turn accepts.
    more_clients: bool,
    /// Bytes of requests whose bodies are buffered before they are decided.
    gathered: usize,
    /// Requests that wait for a slot.
    line: queue::Line,
    /// Buffer for the key of a request.
    key: Vec<u8>,
    /// The time at which the handling of the current event began: the clock is read once per event.
    now: Timestamp,
    /// By token and generation.
    timers: Timers<(usize, u32)>,
    generation: u32,
    buffer: Vec<u8>,
    /// Buffer for heads before they are sent.
    head: Vec<u8>,
    counts: Counts,
    mirroring: Mirroring,
    rule_notes: RuleNotes,
    malformed: Option<MalformedAnswer>,
    log: Log,
    rng: Rng,
    wall_clock: fn() -> u64,
    /// The wall clock at the start, in µs since 1970.
    wall_origin_us: u64,
    next_tick: Timestamp,
    drain_until: Option<Timestamp>,
}

/// An instance as this worker knows it: by address, independent of its pools.
#[derive(Debug)]
struct Instance {
    address: SocketAddr,
    idle: Vec<usize>,
    /// It is in a pool of the configuration in force.
    used: bool,
}

/// Where a worker gets its own outgoing connections from.
pub(crate) struct Ends<N: Net> {
    pub(crate) net: N,
    pub(crate) listener: N::Listener,
    pub(crate) log: Log,
    /// The wall clock, in µs since 1970.
    pub(crate) wall_clock: fn() -> u64,
    pub(crate) seed: u64,
}

#[cfg(test)]
impl<N: Net> Ends<N> {
    /// For a test: no access log, and a wall clock that stands still.
    fn quiet(net: N, listener: N::Listener, seed: u64) -> Self {
        let log = Log::open(&crate::settings::AccessLog::Off).expect("no file is opened");
        Ends { net, listener, log, wall_clock: || 1_800_000_000_000_000, seed }
    }
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
    /// Creates worker `index`.
    ///
    /// # Errors
    /// A rule does not fit in the rules' memory limit.
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

    /// Serves until shutdown is requested and the last request has its response, or the time for that is over.
    pub(crate) fn run(mut self) -> io::Result<()> {
        let mut ready = Vec::with_capacity(1024);
        while !self.step(&mut ready)? {}
        self.end();
        Ok(())
    }

    /// Closes the remaining client connections.
    fn end(&mut self) {
        let left: Vec<usize> = self.downstreams.iter().map(|(index, _)| index).collect();
        left.into_iter().for_each(|index| self.abort(index));
        self.log.flush();
    }

    /// One iteration of the loop; true at the end.
    pub(crate) fn step(&mut self, ready: &mut Vec<Ready>) -> io::Result<bool> {
        ready.clear();
        let alarm = self.next_tick.min(self.timers.next() + GATHERED).min(self.line.look_at());
        let more_to_do = !self.later.is_empty() || self.more_clients || self.next.is_some();
        let until = if more_to_do { Timestamp::ZERO } else { alarm };
        self.net.wait(until, ready)?;
        self.have_turns();
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

    /// Resumes a connection after the current event. Resuming it at once would interrupt the work on another
    /// connection, which uses the loop's buffers.
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

    /// Continues with the requests whose turn at a rate class came before the events of this iteration: a slot that
    /// one of these events frees is not free at their turn. Time-outs come after the events, so that a response that is
    /// there is read before its request times out.
    fn have_turns(&mut self) {
        if self.timers.next() == Timestamp::NEVER {
            return;
        }
        self.now = self.net.now();
        while let Some((token, generation)) = self.timers.front(self.now) {
            let has_turn = |found: &Downstream<N::Stream>| {
                found.generation == generation && found.phase.waits_for_turn()
            };
            if token % 2 != 0 || !self.downstreams.get(token / 2).is_some_and(has_turn) {
                return;
            }
            self.check_deadline(self.now);
            self.go_on();
        }
    }

    fn check_deadlines(&mut self, now: Timestamp) {
        while self.check_deadline(now) {}
    }

    /// Acts on the first deadline if it has expired; false if no entry has come up.
    fn check_deadline(&mut self, now: Timestamp) -> bool {
        let Some(owner) = self.timers.pop(now) else { return false };
        let (token, generation) = owner;
        let index = token / 2;
        if token % 2 == 0 {
            if let Some(found) = self.downstreams.get_mut(index)
                && found.generation == generation
                && self.timers.is_due(owner, &mut found.deadline, now)
            {
                self.downstream_due(index, now);
            }
        } else if let Some(found) = self.upstreams.get_mut(index)
            && found.generation == generation
            && self.timers.is_due(owner, &mut found.deadline, now)
        {
            self.upstream_due(index);
        }
        true
    }

    /// The work done ten times a second.
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

    /// Counts requests as late whose target has passed without a response: otherwise a service that hangs would look
    /// idle. Returns the requests in flight and the waiting requests of each route.
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

    /// Takes over the counts of retired views, and drops the views that have no requests.
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

    /// Begins to load a newer configuration, whether or not the previous one is already in force.
    fn reload(&mut self) {
        let (version, shared) = self.room.current();
        if version == self.version {
            return;
        }
        self.version = version;
        self.next = Some(NextView::new(shared));
        self.load_rules();
    }

    /// Loads some rules of a newer configuration, and puts it in force when all are loaded.
    fn load_rules(&mut self) {
        let Some(mut next) = self.next.take() else { return };
        match next.load(RULES_A_TURN) {
            Ok(true) => self.put_in_force(next),
            Ok(false) => self.next = Some(next),
            // The rules were compiled before. If there is no memory for them, the old configuration stays in force.
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

    /// Accepts no more clients, and closes the connections without a request.
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

    /// Removes a connection from the counts, and returns its state.
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

    /// Closes a connection in the middle of a request or response. The connection is reset where the client could take
    /// its end for the end of the response.
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

/// The worker's index for an address.
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

/// The loop's read buffer: the most data that one read can leave waiting for the other side.
const READ_BYTES: usize = 64 * 1024;

/// Reads or requests of one connection before others are served.
const TURN: usize = 16;

/// Rules of a newer configuration that are loaded before connections are served again.
const RULES_A_TURN: usize = 4;

const TICK: Duration = Duration::from_millis(100);

/// How long a timer that has expired may wait before the loop wakes for it alone. At some thousand events a second,
/// many timers are found expired at another event, and those of one moment are handled together. With the slack of the
/// kernel's wait, this is the precision of delays by rate classes: 100 µs. No delay ends early, and no rate is
/// exceeded.
const GATHERED: Duration = Duration::from_micros(50);
