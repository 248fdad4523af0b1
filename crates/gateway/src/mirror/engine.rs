//! The loop that sends copies to shadow pools, reads and compares their responses, and discards them.
//!
//! It has connections of its own, at most `in_flight`, and one deadline per copy. A slow or faulty shadow affects only
//! this loop: a response of any length is hashed as it arrives and never kept; one that is longer than the live one is
//! already known to differ, and is not read further.

mod connection;
mod lane;

use super::{Answered, Bell, Copy, Difference, Dropped, Failed, Sink, Slot, Ticket};
use connection::{Connection, Job, State, Step};
use http::reactor::{Net, Ready, Timers, Token};
use lane::Lane;
use slab::Slab;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::Duration;
use units::Timestamp;

/// Sends copies and compares their responses.
pub(crate) struct Engine<N: Net> {
    net: N,
    copies: Receiver<Box<Copy>>,
    bell: Arc<Bell>,
    lanes: Slab<Lane>,
    connections: Slab<Connection<N::Stream>>,
    /// Copies whose live request is still in flight.
    waiting: Vec<Waiting>,
    /// By connection and generation.
    timers: Timers<(usize, u32)>,
    generation: u32,
    /// Connections that have used up their turn and may have more to do.
    later: Vec<usize>,
    buffer: Vec<u8>,
    now: Timestamp,
    next_look: Timestamp,
    /// No more copies will come.
    over: bool,
}

/// A copy with a response.
struct Waiting {
    ticket: Ticket,
    live: Slot,
    shadow: Answered,
}

impl<N: Net> Engine<N> {
    pub(crate) fn new(mut net: N, copies: Receiver<Box<Copy>>, bell: Arc<Bell>) -> Self {
        let now = net.now();
        Engine {
            net,
            copies,
            bell,
            lanes: Slab::new(),
            connections: Slab::new(),
            waiting: Vec::new(),
            timers: Timers::default(),
            generation: 0,
            later: Vec::new(),
            buffer: vec![0; READ_BYTES],
            now,
            next_look: Timestamp::NEVER,
            over: false,
        }
    }

    /// Runs until no more copies will come. Copies in flight then are dropped.
    pub(crate) fn run(mut self) -> io::Result<()> {
        let mut ready = Vec::with_capacity(256);
        while !self.step(&mut ready)? {}
        Ok(())
    }

    /// One iteration of the loop; true at its end.
    pub(crate) fn step(&mut self, ready: &mut Vec<Ready>) -> io::Result<bool> {
        ready.clear();
        self.now = self.net.now();
        // A copy that is queued after this wakes the loop.
        self.bell.sleeps();
        self.take_copies();
        if self.over || self.bell.ends() {
            return Ok(true);
        }
        let until =
            if self.later.is_empty() { self.next_look.min(self.timers.next()) } else { Timestamp::ZERO };
        self.net.wait(until, ready)?;
        self.bell.is_awake();
        for event in ready.iter() {
            self.now = self.net.now();
            self.ready(event);
        }
        for index in std::mem::take(&mut self.later) {
            self.now = self.net.now();
            self.read(index);
        }
        self.now = self.net.now();
        self.check_deadlines();
        if self.now >= self.next_look {
            self.look();
        }
        Ok(false)
    }

    fn take_copies(&mut self) {
        loop {
            match self.copies.try_recv() {
                Ok(copy) => {
                    let lane = self.lane(&copy);
                    self.lanes[lane].queue.push_back(copy);
                    self.start_next(lane);
                }
                Err(TryRecvError::Empty) => return,
                Err(TryRecvError::Disconnected) => {
                    self.over = true;
                    return;
                }
            }
        }
    }

    fn lane(&mut self, copy: &Copy) -> usize {
        let found = self.lanes.iter().find(|(_, lane)| Arc::ptr_eq(&lane.target, &copy.target));
        match found {
            Some((index, _)) => index,
            None => {
                self.look_by(LOOK_EVERY);
                self.lanes.insert(Lane::new(&copy.target))
            }
        }
    }

    fn look_by(&mut self, span: Duration) {
        self.next_look = self.next_look.min(self.now + span);
    }

    /// Sends as many of a lane's copies as may be in flight.
    fn start_next(&mut self, lane: usize) {
        while let Some(copy) = self.lanes[lane].next(self.now) {
            self.start(lane, copy);
        }
    }

    fn start(&mut self, index: usize, mut copy: Box<Copy>) {
        copy.place = None;
        let lane = &mut self.lanes[index];
        let Sink::Shadow(shadow) = &copy.target.sink else { return copy.ticket.dropped(Dropped::Ending) };
        let deadline = copy.sent + shadow.deadline();
        let Some((instance, address)) = lane.pick(shadow.instances()) else {
            return copy.ticket.failed(Failed::Unreachable);
        };
        copy.ticket.sent();
        lane.active += 1;
        let job = Job::new(copy, self.now);
        match self.lanes[index].idle(instance) {
            Some(connection) => {
                self.connections[connection].state = State::Busy(job);
                let generation = self.connections[connection].generation;
                self.timers.set(
                    (connection, generation),
                    &mut self.connections[connection].deadline,
                    deadline,
                );
                self.write(connection);
            }
            None => self.connect(index, instance, address, job, deadline),
        }
    }

    fn connect(
        &mut self,
        lane: usize,
        instance: usize,
        address: SocketAddr,
        job: Box<Job>,
        deadline: Timestamp,
    ) {
        let entry = self.connections.vacant_entry();
        let index = entry.key();
        let stream = match self.net.connect(address, Token(index)) {
            Ok(stream) => stream,
            Err(_) => {
                self.lanes[lane].active -= 1;
                return job.copy.ticket.failed(Failed::Unreachable);
            }
        };
        self.generation = self.generation.wrapping_add(1);
        let connect_by = match &job.copy.target.sink {
            Sink::Shadow(shadow) => self.now + shadow.connect_timeout(),
            Sink::Capture(_) => deadline,
        };
        let mut connection = Connection::new(stream, self.generation, lane, instance, job);
        let owner = (index, self.generation);
        self.timers.set(owner, &mut connection.deadline, connect_by.min(deadline));
        entry.insert(connection);
    }

    fn ready(&mut self, event: &Ready) {
        let index = event.token.0;
        let Some(connection) = self.connections.get_mut(index) else { return };
        if matches!(connection.state, State::Connecting(_)) {
            match self.net.connected(&connection.stream) {
                Ok(false) => return,
                Err(_) => return self.fail(index, Failed::Unreachable),
                Ok(true) => {
                    if let Some(deadline) = connection.connected() {
                        let owner = (index, connection.generation);
                        self.timers.set(owner, &mut connection.deadline, deadline);
                    }
                    self.write(index);
                }
            }
        } else if event.writable {
            self.write(index);
        }
        if event.readable || event.closed {
            self.read(index);
        }
    }

    /// Sends the rest of the request, as far as it fits. A shadow that accepts no more may have sent a response.
    fn write(&mut self, index: usize) {
        let Some(connection) = self.connections.get_mut(index) else { return };
        let State::Busy(job) = &mut connection.state else { return };
        loop {
            let left = job.left();
            if left.is_empty() {
                return;
            }
            match self.net.write(&mut connection.stream, left) {
                Ok(0) => return self.read(index),
                Ok(count) => job.wrote(count),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => {
                    job.refused = true;
                    return self.read(index);
                }
            }
        }
    }

    fn read(&mut self, index: usize) {
        for _ in 0..TURN {
            let Some(connection) = self.connections.get_mut(index) else { return };
            if matches!(connection.state, State::Connecting(_)) {
                return;
            }
            let count = match self.net.read(&mut connection.stream, &mut self.buffer) {
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    if connection.is_refused() {
                        self.broke(index);
                    }
                    return;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(_) => return self.broke(index),
            };
            let State::Busy(job) = &mut connection.state else {
                // Closed while idle, or unrequested bytes.
                return self.remove_idle(index);
            };
            let step = if count == 0 { job.ended() } else { job.received(&self.buffer[..count], self.now) };
            match step {
                Step::More => {}
                Step::Whole { reusable } => return self.finish(index, reusable),
                Step::Broke => return self.broke(index),
                Step::Malformed => return self.fail(index, Failed::Malformed),
            }
        }
        self.later.push(index);
    }

    /// The connection ended before the response. If it had carried others, it may only have been too old.
    fn broke(&mut self, index: usize) {
        let connection = &mut self.connections[index];
        let (lane, instance) = (connection.lane, connection.instance);
        match std::mem::replace(&mut connection.state, State::Idle) {
            State::Busy(mut job) if connection.reused && job.may_repeat() => {
                self.connections.remove(index);
                // The others are as old.
                for idle in self.lanes[lane].forget(instance) {
                    self.connections.remove(idle);
                }
                job.again();
                let Sink::Shadow(shadow) = &job.copy.target.sink else { return };
                let (address, deadline) = (shadow.instances()[instance], job.copy.sent + shadow.deadline());
                self.connect(lane, instance, address, job, deadline);
                // The copy may have failed at once, and others wait.
                self.start_next(lane);
            }
            State::Idle => self.remove_idle(index),
            state => {
                connection.state = state;
                self.fail(index, Failed::Broke);
            }
        }
    }

    fn remove_idle(&mut self, index: usize) {
        let connection = self.connections.remove(index);
        self.lanes[connection.lane].gone(connection.instance, index);
    }

    /// Ends a copy without a complete response.
    fn fail(&mut self, index: usize, why: Failed) {
        let connection = self.connections.remove(index);
        let lane = connection.lane;
        if let State::Connecting(job) | State::Busy(job) = connection.state {
            job.copy.ticket.failed(why);
        }
        self.lanes[lane].active -= 1;
        self.start_next(lane);
    }

    /// The response is complete, or too long to be the same.
    fn finish(&mut self, index: usize, reusable: bool) {
        let connection = &mut self.connections[index];
        let (lane, instance, generation) = (connection.lane, connection.instance, connection.generation);
        let State::Busy(job) = std::mem::replace(&mut connection.state, State::Idle) else { return };
        let shadow = job.outcome(self.now);
        let Sink::Shadow(pool) = &job.copy.target.sink else { return };
        let (idle, idle_timeout) = (pool.idle_connections(), pool.idle_timeout());
        if reusable && job.left().is_empty() && self.lanes[lane].put_back(instance, index, idle) {
            connection.reused = true;
            self.timers.set((index, generation), &mut connection.deadline, self.now + idle_timeout);
        } else {
            self.connections.remove(index);
        }
        self.lanes[lane].active -= 1;
        let Job { copy, .. } = *job;
        let waiting = Waiting { ticket: copy.ticket, live: copy.live, shadow };
        if waiting.live.get().is_some() {
            waiting.compare();
        } else {
            self.waiting.push(waiting);
            self.look_by(COMPARE_EVERY);
        }
        self.start_next(lane);
    }

    fn check_deadlines(&mut self) {
        while let Some(owner) = self.timers.pop(self.now) {
            let (index, generation) = owner;
            let Some(connection) = self.connections.get_mut(index) else { continue };
            if connection.generation != generation
                || !self.timers.is_due(owner, &mut connection.deadline, self.now)
            {
                continue;
            }
            match connection.state {
                State::Idle => self.remove_idle(index),
                State::Connecting(_) => self.fail(index, Failed::Unreachable),
                State::Busy(_) => self.fail(index, Failed::Deadline),
            }
        }
    }

    /// Compares the copies that can be compared by now, and drops mirrors that no configuration has any more.
    fn look(&mut self) {
        let (ready, waiting) = std::mem::take(&mut self.waiting)
            .into_iter()
            .partition::<Vec<_>, _>(|waiting| waiting.live.get().is_some());
        self.waiting = waiting;
        ready.into_iter().for_each(Waiting::compare);
        let gone: Vec<usize> =
            self.lanes.iter().filter(|(_, lane)| lane.is_over()).map(|(at, _)| at).collect();
        for lane in gone {
            for idle in self.lanes.remove(lane).all_idle() {
                self.connections.remove(idle);
            }
        }
        self.next_look = Timestamp::NEVER;
        if !self.waiting.is_empty() {
            self.look_by(COMPARE_EVERY);
        } else if !self.lanes.is_empty() {
            self.look_by(LOOK_EVERY);
        }
    }
}

impl Waiting {
    fn compare(self) {
        match self.live.get().copied().flatten() {
            Some(live) => {
                let difference = difference(&live, &self.shadow);
                self.ticket.compared(difference, live.first_byte, self.shadow.first_byte);
            }
            None => self.ticket.failed(Failed::LiveIncomplete),
        }
    }
}

/// The first property in which two responses differ.
fn difference(live: &Answered, shadow: &Answered) -> Option<Difference> {
    if live.status != shadow.status {
        Some(Difference::Status)
    } else if live.bytes != shadow.bytes {
        Some(Difference::Size)
    } else {
        (live.hash != shadow.hash).then_some(Difference::Body)
    }
}

const READ_BYTES: usize = 64 * 1024;

/// Reads of one connection before others are served.
const TURN: usize = 16;

/// How often copies are checked whose live request takes longer than the shadow.
const COMPARE_EVERY: Duration = Duration::from_millis(50);

/// How often mirrors that no configuration has any more are looked for.
const LOOK_EVERY: Duration = Duration::from_secs(1);
