//! The instance's side: connections, sending requests, reading responses.

use super::connection::{Phase, Upstream, UpstreamState};
use super::failure::Failure;
use super::{TURN, Worker, downstream_token, upstream_token};
use crate::local::Local;
use crate::pool::Attempt;
use crate::settings::Pool;
use control::balance::Placed;
use http::reactor::{Deadline, Net, Ready, Token};
use std::io::ErrorKind;
use std::rc::Rc;
use std::time::Duration;
use units::Timestamp;

impl<N: Net> Worker<N> {
    /// Sends an admitted request to an instance.
    pub(super) fn dispatch(&mut self, index: usize) {
        let exchange = &mut self.downstreams[index].exchange;
        let Some(local) = exchange.local().cloned() else { return };
        let placement = &exchange.placement;
        let (pool, key, failed) = (placement.pool(), placement.key(), placement.failed());
        let picked = local.pools[pool].borrow_mut().pick(self.now, key, failed, &mut self.rng);
        let Some(picked) = picked else {
            // With no instance available, the request counts as a miss. A retry may have been counted as late before.
            exchange.answer.count_late(&local);
            return self.fail_request(index, Failure::Unreachable.problem());
        };
        if let Some(placed) = self.place_at(index, &local, pool, picked) {
            self.send_to(index, &local, pool, placed);
        }
    }

    /// Sends a request to an instance at which it has a slot.
    pub(super) fn send_to(&mut self, index: usize, local: &Rc<Local>, pool: usize, placed: Placed) {
        let now = self.now;
        let exchange = &mut self.downstreams[index].exchange;
        exchange.placement.place(placed, now);
        let (attempt, waited) = (exchange.placement.attempt(), exchange.admission.waited());
        let first = attempt == Attempt::First;
        if first && !waited.is_zero() {
            exchange.outgoing.say_waited(waited);
        }
        let mut pool = local.pools[pool].borrow_mut();
        pool.sent(now, placed, attempt);
        let number = pool.number(placed.instance());
        drop(pool);
        self.downstreams[index].phase = Phase::Active;
        // After a failure only a new connection is reliable.
        let idle = if first { self.instances[number].idle.pop() } else { None };
        match idle {
            Some(upstream) => {
                self.upstreams[upstream].state = UpstreamState::Busy(index);
                self.downstreams[index].exchange.placement.carry(upstream);
                self.send_request(upstream, index);
            }
            None => self.connect(index, number, local, now),
        }
    }

    fn connect(&mut self, index: usize, number: usize, local: &Rc<Local>, now: Timestamp) {
        let entry = self.upstreams.vacant_entry();
        let upstream = entry.key();
        match self.net.connect(self.instances[number].address, Token(upstream_token(upstream))) {
            Ok(stream) => {
                self.counts.upstream_opened += 1;
                self.generation = self.generation.wrapping_add(1);
                let placement = &mut self.downstreams[index].exchange.placement;
                placement.carry(upstream);
                let timeout = local.shared.settings.pools[placement.pool()].connect_timeout;
                let mut connection = Upstream {
                    stream,
                    generation: self.generation,
                    deadline: Deadline::default(),
                    readable: Default::default(),
                    input: Vec::new(),
                    outbox: Default::default(),
                    instance: number,
                    state: UpstreamState::Connecting(index),
                    reused: false,
                    since: now,
                };
                let owner = (upstream_token(upstream), self.generation);
                self.timers.set(owner, &mut connection.deadline, now + timeout);
                entry.insert(connection);
            }
            Err(_) => self.instance_failed(index, Failure::Unreachable),
        }
    }

    /// Sends the request on an open connection.
    fn send_request(&mut self, upstream: usize, index: usize) {
        let exchange = &mut self.downstreams[index].exchange;
        let connection = &mut self.upstreams[upstream];
        if connection.outbox.send(&mut self.net, &mut connection.stream, exchange.outgoing.bytes()).is_err() {
            return self.instance_failed(index, Failure::Broke);
        }
        exchange.placement.handed_over();
        self.offer_copies(index);
        self.await_progress(index);
        if !self.downstreams[index].exchange.request.is_whole() {
            self.resume(downstream_token(index));
        }
    }

    /// The instance has not said whether it wants the body; an HTTP/1.0 instance never does. The client should not wait
    /// for ever (RFC 9110, 10.1.1), but some clients do.
    pub(super) fn go_ahead(&mut self, index: usize) {
        let downstream = &mut self.downstreams[index];
        downstream.exchange.request.goes_on();
        let go_on = b"HTTP/1.1 100 Continue\r\n\r\n";
        if downstream.outbox.send(&mut self.net, &mut downstream.stream, go_on).is_err() {
            return self.abort(index);
        }
        self.await_progress(index);
    }

    /// Sets the deadline that applies now: the client's while the gateway waits for the client, else the instance's.
    /// Called at each progress, so that the deadline of the side without progress expires.
    pub(super) fn await_progress(&mut self, index: usize) {
        let downstream = &mut self.downstreams[index];
        let exchange = &downstream.exchange;
        let (Some(upstream), Some(local)) = (exchange.placement.upstream(), exchange.local()) else { return };
        let request = &exchange.request;
        let connection = &mut self.upstreams[upstream];
        let settings = &local.shared.settings;
        if !downstream.outbox.is_empty() || (!request.is_whole() && connection.outbox.is_empty()) {
            connection.deadline.clear();
            let limits = &settings.limits;
            // The instance decides first whether it wants the body at all.
            let until = if request.expects_continue() {
                self.now + limits.idle_timeout.min(CONTINUE_WAIT)
            } else {
                let until = downstream.pace.wait(self.now);
                let whole = limits.body_timeout.filter(|_| !request.is_whole());
                whole.map_or(until, |whole| until.min(request.arrived() + whole))
            };
            let owner = (downstream_token(index), downstream.generation);
            self.timers.set(owner, &mut downstream.deadline, until);
        } else {
            downstream.deadline.clear();
            downstream.pace.pause(self.now);
            let until = self.now + settings.pools[exchange.placement.pool()].answer_timeout;
            let owner = (upstream_token(upstream), connection.generation);
            self.timers.set(owner, &mut connection.deadline, until);
        }
    }

    /// The instance has closed, but it may have sent a response before: then it can be read.
    fn takes_no_more(&mut self, upstream: usize) {
        let connection = &mut self.upstreams[upstream];
        connection.readable.now = true;
        connection.readable.closing = true;
        connection.outbox.clear();
        self.resume(upstream_token(upstream));
    }

    /// Whether a part of a request's body may be forwarded.
    pub(super) fn upstream_takes_more(&self, upstream: usize) -> bool {
        let connection = &self.upstreams[upstream];
        matches!(connection.state, UpstreamState::Busy(_)) && connection.outbox.is_empty()
    }

    /// Forwards a part of a request's body; returns whether more may be sent.
    pub(super) fn send_upstream(&mut self, upstream: usize, bytes: &[u8]) -> bool {
        let connection = &mut self.upstreams[upstream];
        let UpstreamState::Busy(index) = connection.state else { return false };
        if connection.outbox.send(&mut self.net, &mut connection.stream, bytes).is_err() {
            self.takes_no_more(upstream);
            return false;
        }
        self.copy_body(index, bytes);
        self.await_progress(index);
        self.downstreams.contains(index)
    }

    pub(super) fn upstream_ready(&mut self, upstream: usize, event: Ready) {
        let Some(connection) = self.upstreams.get_mut(upstream) else { return };
        connection.readable.now |= event.readable || event.closed;
        connection.readable.closing |= event.closed;
        if let UpstreamState::Connecting(index) = connection.state {
            match self.net.connected(&connection.stream) {
                Ok(false) => {}
                Ok(true) => {
                    connection.state = UpstreamState::Busy(index);
                    self.counts.connections.connected(self.now.since(connection.since));
                    self.send_request(upstream, index);
                }
                Err(_) => self.instance_failed(index, Failure::Unreachable),
            }
            return;
        }
        if event.writable && !connection.outbox.is_empty() {
            let flushed = connection.outbox.flush(&mut self.net, &mut connection.stream);
            let state = connection.state;
            if flushed.is_err() {
                self.takes_no_more(upstream);
            } else if let UpstreamState::Busy(index) = state {
                self.await_progress(index);
                self.resume(downstream_token(index));
            }
        }
        self.read_upstream(upstream);
    }

    /// Reads the response as far as it has arrived, while the client accepts data.
    pub(super) fn read_upstream(&mut self, upstream: usize) {
        for _ in 0..TURN {
            let Some(connection) = self.upstreams.get_mut(upstream) else { return };
            match connection.state {
                UpstreamState::Busy(index) if !self.downstreams[index].outbox.is_empty() => return,
                UpstreamState::Connecting(_) => return,
                UpstreamState::Busy(_) | UpstreamState::Idle => {}
            }
            if !connection.readable.now {
                return;
            }
            match self.net.read(&mut connection.stream, &mut self.buffer) {
                Ok(0) => return self.upstream_ended(upstream),
                Ok(count) => {
                    connection.readable.took(count, self.buffer.len());
                    let UpstreamState::Busy(index) = connection.state else {
                        // Unrequested data: the connection is not reliable for another request.
                        return self.remove_upstream(upstream);
                    };
                    let buffer = std::mem::take(&mut self.buffer);
                    self.received(upstream, index, &buffer[..count]);
                    self.buffer = buffer;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => connection.readable.now = false,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return self.upstream_broke(upstream),
            }
        }
        self.later.push(upstream_token(upstream));
    }

    /// The instance will send no more.
    fn upstream_ended(&mut self, upstream: usize) {
        let UpstreamState::Busy(index) = self.upstreams[upstream].state else {
            return self.remove_upstream(upstream);
        };
        if self.downstreams[index].exchange.answer.ends_here() {
            self.finish(index);
        } else {
            self.instance_failed(index, Failure::Broke);
        }
    }

    fn upstream_broke(&mut self, upstream: usize) {
        match self.upstreams[upstream].state {
            UpstreamState::Idle => self.remove_upstream(upstream),
            UpstreamState::Connecting(index) => self.instance_failed(index, Failure::Unreachable),
            UpstreamState::Busy(index) => self.instance_failed(index, Failure::Broke),
        }
    }

    /// Keeps a connection that has carried a response of this pool for the next request, if possible.
    pub(super) fn put_back(&mut self, upstream: usize, pool: &Pool, reusable: bool, now: Timestamp) {
        let (room, idle_timeout) = (pool.idle_connections as usize, pool.idle_timeout);
        let connection = &mut self.upstreams[upstream];
        let instance = &mut self.instances[connection.instance];
        if !reusable
            || !connection.outbox.is_empty()
            || connection.readable.closing
            // There may be more data than was requested.
            || connection.readable.now
            || instance.idle.len() >= room
            // The instance was removed in the meantime.
            || !instance.used
        {
            self.upstreams.remove(upstream);
            return;
        }
        connection.state = UpstreamState::Idle;
        connection.reused = true;
        connection.input.clear();
        instance.idle.push(upstream);
        let owner = (upstream_token(upstream), connection.generation);
        self.timers.set(owner, &mut connection.deadline, now + idle_timeout);
    }

    /// The deadline of an upstream connection has expired.
    pub(super) fn upstream_due(&mut self, upstream: usize) {
        match self.upstreams[upstream].state {
            UpstreamState::Idle => self.remove_upstream(upstream),
            UpstreamState::Connecting(index) => self.instance_failed(index, Failure::ConnectTimeout),
            UpstreamState::Busy(index) => self.instance_failed(index, Failure::Timeout),
        }
    }
}

/// How long an instance may take to send 100 (Continue) before the gateway sends it to the client.
const CONTINUE_WAIT: Duration = Duration::from_secs(1);
