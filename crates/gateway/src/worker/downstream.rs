//! The client's side: reads heads, sends responses.

use super::begin::Begun;
use super::connection::{Pause, Phase};
use super::exchange::Part;
use super::gather::{TOO_LARGE, TOO_SLOW};
use super::pace::Pace;
use super::{TURN, Worker, downstream_token, upstream_token};
use crate::answer::{self, Connection, Frame, Problem};
use crate::trailers;
use http::reactor::{Net, Ready};
use status::reason::request;
use std::io::ErrorKind;
use std::time::Duration;
use units::Timestamp;

impl<N: Net> Worker<N> {
    pub(super) fn downstream_ready(&mut self, index: usize, event: Ready) {
        let Some(downstream) = self.downstreams.get_mut(index) else { return };
        // The client is gone: an unread request is not begun, however often a client sends one and resets. The event
        // may be of a connection that had the token before.
        if event.broken && !matches!(self.net.connected(&downstream.stream), Ok(true)) {
            return self.abort(index);
        }
        downstream.readable.now |= event.readable || event.closed;
        downstream.readable.closing |= event.closed;
        if event.writable && !downstream.outbox.is_empty() {
            self.flush_downstream(index);
        }
        self.read_downstream(index);
    }

    /// Continues the work of the connection, as far as its bytes allow.
    pub(super) fn read_downstream(&mut self, index: usize) {
        self.read_turn(index);
        if self.holding {
            self.let_go(index);
        }
    }

    /// Sends the held responses; returns whether the connection is still open.
    #[cold]
    fn let_go(&mut self, index: usize) -> bool {
        self.holding = false;
        let Some(downstream) = self.downstreams.get_mut(index) else { return false };
        let sent = downstream.outbox.let_go(&mut self.net, &mut downstream.stream);
        if sent.is_err() {
            self.abort(index);
        }
        sent.is_ok()
    }

    fn read_turn(&mut self, index: usize) {
        for _ in 0..TURN {
            let Some(downstream) = self.downstreams.get_mut(index) else { return };
            let goes_on = match downstream.phase {
                Phase::Head => self.read_head(index),
                Phase::Active if !downstream.exchange.request.is_whole() => self.forward_body(index),
                // No data of the client is needed now; but it matters whether it is still connected.
                Phase::Active | Phase::Waiting(_) if downstream.readable.closing => self.see_the_end(index),
                Phase::Lingering => self.linger(index),
                Phase::Active | Phase::Waiting(_) | Phase::Closing => false,
            };
            if !goes_on {
                return;
            }
        }
        self.later.push(downstream_token(index));
    }

    /// Reads into the loop's buffer: how many bytes; `None` where there are none now, or the connection is closed.
    pub(super) fn receive(&mut self, index: usize) -> Option<usize> {
        let downstream = &mut self.downstreams[index];
        while downstream.readable.now {
            match self.net.read(&mut downstream.stream, &mut self.buffer) {
                Ok(0) => {
                    self.client_left(index);
                    return None;
                }
                Ok(count) => {
                    downstream.readable.took(count, self.buffer.len());
                    return Some(count);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => downstream.readable.now = false,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => {
                    self.abort(index);
                    return None;
                }
            }
        }
        None
    }

    /// The client will send no more. Its complete requests still get responses: it may have closed only its sending
    /// half. A request that is delayed by a rate class gives up its position.
    fn client_left(&mut self, index: usize) {
        let downstream = &mut self.downstreams[index];
        downstream.readable = Default::default();
        downstream.ended = true;
        match downstream.phase {
            Phase::Active if downstream.exchange.request.is_whole() => {}
            Phase::Closing => {}
            Phase::Head | Phase::Waiting(_) | Phase::Active | Phase::Lingering => self.abort(index),
        }
    }

    /// Drops a client and its request.
    pub(super) fn abort(&mut self, index: usize) {
        let downstream = &mut self.downstreams[index];
        let phase = std::mem::replace(&mut downstream.phase, Phase::Closing);
        let exchange = &mut downstream.exchange;
        if let Some(local) = exchange.local().cloned() {
            exchange.answer.client_left();
            if let Phase::Waiting(pause) = &phase {
                exchange.admission.add_wait(self.now.since(pause.since()));
            }
            match phase {
                Phase::Waiting(Pause::Limits(ticket)) => {
                    local.shared.routes[exchange.route()].admission.give_up(ticket);
                }
                Phase::Waiting(Pause::Rule(waiting)) => waiting.class.give_up(waiting.turn),
                Phase::Waiting(Pause::Key(waiting)) => waiting.give_up(),
                Phase::Waiting(Pause::Queue(queued)) => self.leave_line(&local, &queued),
                _ => {}
            }
            let exchange = &self.downstreams[index].exchange;
            local.count(exchange.route(), |count| count.failed(request::CLIENT_LEFT));
            self.log_line(index, Some(&local), self.now, request::CLIENT_LEFT);
            self.release(index, &local, control::balance::Outcome::Cancelled);
        }
        if let Some(upstream) = self.downstreams[index].exchange.placement.take_upstream() {
            self.remove_upstream(upstream);
        }
        self.break_downstream(index);
    }

    fn read_head(&mut self, index: usize) -> bool {
        let downstream = &mut self.downstreams[index];
        if !downstream.outbox.is_empty() {
            // The last response goes first: pipelined requests wait in the socket.
            return false;
        }
        if downstream.gathering.is_some() {
            return self.gather(index);
        }
        if !downstream.input.is_empty() {
            let input = std::mem::take(&mut downstream.input);
            let begun = self.begin(index, &input);
            let Some(downstream) = self.downstreams.get_mut(index) else { return false };
            downstream.input = input;
            if let Begun::Used(count) = begun {
                downstream.input.drain(..count);
                return true;
            }
            if downstream.gathering.is_some() {
                return true;
            }
        }
        // The input holds no complete request.
        if self.holding && !self.let_go(index) {
            return false;
        }
        let downstream = &mut self.downstreams[index];
        if downstream.ended {
            self.abort(index);
            return false;
        }
        if self.drain_until.is_some() && downstream.input.is_empty() && !downstream.readable.now {
            self.remove_downstream(index);
            return false;
        }
        let Some(count) = self.receive(index) else {
            self.await_head(index);
            return false;
        };
        let downstream = &mut self.downstreams[index];
        if !downstream.input.is_empty() {
            downstream.input.extend_from_slice(&self.buffer[..count]);
            return true;
        }
        if downstream.silent {
            downstream.silent = false;
            self.counts.connections.spoke(self.now.since(downstream.accepted));
            self.no_longer_silent();
        }
        let buffer = std::mem::take(&mut self.buffer);
        let begun = self.begin(index, &buffer[..count]);
        let used = match begun {
            Begun::More => 0,
            Begun::Used(used) => used,
        };
        if let Some(downstream) = self.downstreams.get_mut(index) {
            downstream.input.extend_from_slice(&buffer[used..count]);
        }
        self.buffer = buffer;
        // A complete head is handled at once. An incomplete one was parsed already: only new bytes can change the
        // result.
        if matches!(begun, Begun::Used(_))
            || self.downstreams.get(index).is_some_and(|found| found.readable.now)
        {
            return true;
        }
        self.await_head(index);
        false
    }

    /// Sets the deadline of a head. The deadline of the first one began when the connection was accepted.
    fn await_head(&mut self, index: usize) {
        let Some(downstream) = self.downstreams.get_mut(index) else { return };
        if downstream.gathering.is_some() {
            return;
        }
        let limits = &self.local.shared.settings.limits;
        let owner = (downstream_token(index), downstream.generation);
        if downstream.input.is_empty() {
            downstream.head_since = None;
        } else if downstream.head_since.is_none() {
            let since = if downstream.requests == 0 { downstream.accepted } else { self.now };
            downstream.head_since = Some(since);
            self.timers.set(owner, &mut downstream.deadline, since + limits.head_timeout);
        }
    }

    /// Forwards the request body as far as it has arrived.
    fn forward_body(&mut self, index: usize) -> bool {
        let downstream = &mut self.downstreams[index];
        let Some(upstream) = downstream.exchange.placement.upstream() else { return false };
        if !self.upstream_takes_more(upstream) {
            return false;
        }
        let downstream = &mut self.downstreams[index];
        if downstream.input.is_empty() {
            let Some(count) = self.receive(index) else { return false };
            let downstream = &mut self.downstreams[index];
            downstream.input.extend_from_slice(&self.buffer[..count]);
            downstream.pace.moved(self.now, count, &self.local.shared.settings.limits);
        }
        let downstream = &mut self.downstreams[index];
        // It no longer waits for 100 (Continue).
        downstream.exchange.request.goes_on();
        let Part { used, before_trailers } = match downstream.exchange.request.read_body(&downstream.input) {
            Ok(part) => part,
            Err(refusal) => {
                self.counts.bad_requests += 1;
                // The upstream has the beginning of the body: it must not take what follows for its end.
                self.fail_request(index, Problem { status: 400, name: refusal.name(), detail: BODY_BROKEN });
                return false;
            }
        };
        downstream.pace.received += used as u64;
        if self
            .local
            .shared
            .settings
            .limits
            .body_max
            .is_some_and(|most| downstream.pace.received > most.get())
        {
            self.fail_request(index, TOO_LARGE);
            return false;
        }
        // The bytes after the body are the next request.
        let behind = downstream.input.split_off(used);
        let mut part = std::mem::replace(&mut downstream.input, behind);
        if before_trailers < used {
            downstream.trailers.extend_from_slice(&part[before_trailers..]);
            part.truncate(before_trailers);
            if downstream.exchange.request.is_whole()
                && let Some(local) = downstream.exchange.local()
            {
                let route = &local.shared.settings.routes[downstream.exchange.route()];
                trailers::end(&mut part, &downstream.trailers, &route.request_trailers);
            }
        }
        self.send_upstream(upstream, &part)
    }

    /// The connection was reported as closing while none of its data is needed: reads what is there, to check.
    fn see_the_end(&mut self, index: usize) -> bool {
        if self.downstreams[index].input.len() > super::READ_BYTES {
            return false;
        }
        let Some(count) = self.receive(index) else { return false };
        self.downstreams[index].input.extend_from_slice(&self.buffer[..count]);
        true
    }

    /// Responds with the gateway's own problem details.
    pub(super) fn answer_problem(&mut self, index: usize, problem: Problem<'_>) {
        let frame = self.frame(index);
        self.head.clear();
        let body_bytes = answer::problem(&mut self.head, problem, None, frame);
        self.answer_self(index, problem.status, problem.name, body_bytes, frame);
    }

    pub(super) fn frame(&self, index: usize) -> Frame {
        self.downstreams[index].exchange.frame(self.is_draining())
    }

    /// Sends the response in `head`, whose last `body_bytes` are its body, and ends the exchange.
    pub(super) fn answer_self(
        &mut self,
        index: usize,
        status: u16,
        reason: &str,
        body_bytes: usize,
        frame: Frame,
    ) {
        let now = self.now;
        let exchange = &mut self.downstreams[index].exchange;
        exchange.answer.own(status, body_bytes as u64);
        exchange.copies.forget();
        let local = exchange.end();
        self.log_line(index, local.as_ref(), now, reason);
        let downstream = &mut self.downstreams[index];
        let head = std::mem::take(&mut self.head);
        let closes = frame.connection == Connection::Closes;
        let sent = if self.more_follows && !closes {
            self.holding = true;
            downstream.outbox.hold(&mut self.net, &mut downstream.stream, &head)
        } else {
            downstream.outbox.send(&mut self.net, &mut downstream.stream, &head)
        };
        self.head = head;
        match sent {
            Ok(()) => self.end_exchange(index, closes, now),
            Err(_) => self.abort(index),
        }
    }

    /// The response is being sent: continues with the next request, or with the end of the connection.
    pub(super) fn end_exchange(&mut self, index: usize, close: bool, now: Timestamp) {
        let limits = &self.local.shared.settings.limits;
        let downstream = &mut self.downstreams[index];
        let owner = (downstream_token(index), downstream.generation);
        self.timers.set(owner, &mut downstream.deadline, now + limits.idle_timeout);
        downstream.idle_since = now;
        if downstream.outbox.bytes() > 0 {
            downstream.pace = Pace::of_answer(limits);
        }
        if !close {
            downstream.phase = Phase::Head;
            return;
        }
        downstream.phase = Phase::Closing;
        if downstream.outbox.is_empty() {
            self.say_goodbye(index);
        }
    }

    /// All is sent. Closing while the client still sends would give it a reset in place of the response, so its bytes
    /// are read for a while.
    fn say_goodbye(&mut self, index: usize) {
        let now = self.now;
        let downstream = &mut self.downstreams[index];
        self.net.shut_down(&mut downstream.stream);
        downstream.phase = Phase::Lingering;
        let owner = (downstream_token(index), downstream.generation);
        self.timers.set(owner, &mut downstream.deadline, now + LINGER);
    }

    fn linger(&mut self, index: usize) -> bool {
        self.receive(index).is_some()
    }

    pub(super) fn flush_downstream(&mut self, index: usize) {
        let downstream = &mut self.downstreams[index];
        let before = downstream.outbox.bytes();
        if downstream.outbox.flush(&mut self.net, &mut downstream.stream).is_err() {
            self.abort(index);
            return;
        }
        let taken = before - downstream.outbox.bytes();
        downstream.pace.moved(self.now, taken, &self.local.shared.settings.limits);
        if let (Phase::Active, Some(upstream)) = (&downstream.phase, downstream.exchange.placement.upstream())
        {
            self.await_progress(index);
            self.resume(upstream_token(upstream));
            return;
        }
        if matches!(downstream.phase, Phase::Waiting(_)) || downstream.gathering.is_some() {
            // Its deadline is that of its delay, or of its body.
            return;
        }
        // The client is slow, but makes progress.
        let idle = self.local.shared.settings.limits.idle_timeout;
        let until =
            if downstream.outbox.is_empty() { self.now + idle } else { downstream.pace.wait(self.now) };
        let owner = (downstream_token(index), downstream.generation);
        self.timers.set(owner, &mut downstream.deadline, until);
        if matches!(downstream.phase, Phase::Closing) && downstream.outbox.is_empty() {
            self.say_goodbye(index);
        }
    }

    /// The deadline of a client connection has expired.
    pub(super) fn downstream_due(&mut self, index: usize, now: Timestamp) {
        let downstream = &mut self.downstreams[index];
        match &downstream.phase {
            Phase::Waiting(_) => self.turn_came(index, now),
            Phase::Head if downstream.gathering.is_some() => self.body_too_slow(index),
            Phase::Head if downstream.head_since.is_some() => {
                self.counts.bad_requests += 1;
                self.begin_nothing(index);
                let detail = "the head of the request did not arrive in time";
                self.answer_problem(index, Problem { status: 408, name: request::HEAD_TIMEOUT, detail });
            }
            Phase::Active
                if downstream.outbox.is_empty() && downstream.exchange.request.expects_continue() =>
            {
                self.go_ahead(index);
            }
            Phase::Active if downstream.outbox.is_empty() && !downstream.exchange.request.is_whole() => {
                self.fail_request(index, TOO_SLOW);
            }
            Phase::Head | Phase::Active | Phase::Closing | Phase::Lingering => self.abort(index),
        }
    }
}

const BODY_BROKEN: &str = "the body of the request breaks its framing";

/// How long a client may take to receive the last response.
const LINGER: Duration = Duration::from_secs(2);
