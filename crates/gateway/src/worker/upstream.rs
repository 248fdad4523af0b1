//! The instance's side: requests out, answers in.

use super::connection::{Answer, Phase, Upstream, UpstreamState};
use super::mirror::Copies;
use super::pace::Pace;
use super::{TURN, Worker, downstream_token, learn, upstream_token};
use crate::access_log::Line;
use crate::answer::{Connection, Problem};
use crate::control_room::MalformedAnswer;
use crate::forward;
use crate::local::Local;
use crate::metrics::pools::Retry;
use crate::pool::{self, Attempt};
use crate::server_timing;
use control::balance::{Outcome, Placed};
use http::codec::body::Decoder;
use http::codec::header::slots;
use http::codec::response::{self, AnswerTo, ResponseHead};
use http::codec::{Body, Refusal};
use http::reactor::{Deadline, Net, Ready, Token};
use std::fmt;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;
use units::Timestamp;

/// Why an instance gave no whole answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Failure {
    /// No connection: nothing was sent.
    Unreachable,
    /// No connection in time: nothing was sent.
    ConnectTimeout,
    /// The connection broke, or ended before the answer.
    Broke,
    /// No answer, or no more of it, in time.
    Timeout,
    /// The answer broke this rule of HTTP.
    Malformed(Broken),
}

/// The rule that an answer broke.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Broken {
    Rule(Refusal),
    /// It changes to a protocol that nobody asked for.
    Switched,
}

impl Broken {
    /// A stable name for logs.
    fn name(self) -> &'static str {
        match self {
            Broken::Rule(refusal) => refusal.name(),
            Broken::Switched => "switched-protocols",
        }
    }
}

/// For a person.
impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Broken::Rule(refusal) => refusal.fmt(f),
            Broken::Switched => f.write_str("it switches to a protocol that was not asked for (101)"),
        }
    }
}

impl Failure {
    fn problem(self) -> Problem<'static> {
        let (status, name, detail) = match self {
            Failure::Unreachable => (502, "upstream_unreachable", "no instance accepts connections"),
            Failure::ConnectTimeout => {
                (504, "upstream_connect_timeout", "no instance accepted the connection in time")
            }
            Failure::Broke => {
                (502, "upstream_broke", "the instance closed the connection before it answered")
            }
            Failure::Timeout => (504, "upstream_timeout", "the instance did not answer in time"),
            Failure::Malformed(_) => (502, "upstream_malformed", "the instance's answer broke HTTP"),
        };
        Problem { status, name, detail }
    }

    fn outcome(self) -> Outcome {
        match self {
            Failure::Timeout | Failure::ConnectTimeout => Outcome::TimedOut,
            Failure::Unreachable | Failure::Broke | Failure::Malformed(_) => Outcome::Failed,
        }
    }
}

impl<N: Net> Worker<N> {
    /// Sends an admitted request to an instance.
    pub(super) fn dispatch(&mut self, index: usize) {
        let exchange = &mut self.downstreams[index].exchange;
        let Some(local) = exchange.local.clone() else { return };
        let pool = exchange.pool;
        let picked =
            local.pools[pool].borrow_mut().pick(self.now, exchange.key, &exchange.failed, &mut self.rng);
        let Some(picked) = picked else {
            // A service without instances conforms to nothing. A retry may have been counted as late before.
            if !std::mem::replace(&mut exchange.late, true) {
                local.tally(exchange.level, |tally| tally.record_late());
            }
            return self.fail_request(index, Failure::Unreachable.problem());
        };
        if let Some(placed) = self.place_at(index, &local, pool, picked) {
            self.send_to(index, &local, pool, placed);
        }
    }

    /// Sends a request to an instance that has a place for it.
    pub(super) fn send_to(&mut self, index: usize, local: &Rc<Local>, pool: usize, placed: Placed) {
        let now = self.now;
        let exchange = &mut self.downstreams[index].exchange;
        exchange.instance = placed.instance();
        exchange.sets_cookie = placed.sets_cookie();
        exchange.placed = true;
        exchange.sent = now;
        let first = exchange.attempt == Attempt::First;
        if first && !exchange.waited.is_zero() {
            forward::waited(&mut exchange.request, exchange.place, exchange.waited);
        }
        let mut pool = local.pools[pool].borrow_mut();
        pool.sent(now, placed, exchange.attempt);
        let number = pool.number(exchange.instance);
        drop(pool);
        self.downstreams[index].phase = Phase::Active;
        // After a failure only a new connection can be trusted.
        let idle = if first { self.instances[number].idle.pop() } else { None };
        match idle {
            Some(upstream) => {
                self.upstreams[upstream].state = UpstreamState::Busy(index);
                self.downstreams[index].exchange.upstream = Some(upstream);
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
                let pool = self.downstreams[index].exchange.pool;
                let timeout = local.shared.settings.pools[pool].connect_timeout;
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
                self.downstreams[index].exchange.upstream = Some(upstream);
            }
            Err(_) => self.instance_failed(index, Failure::Unreachable),
        }
    }

    /// Sends the request on a connection that is open.
    fn send_request(&mut self, upstream: usize, index: usize) {
        let exchange = &mut self.downstreams[index].exchange;
        let request = std::mem::take(&mut exchange.request);
        let connection = &mut self.upstreams[upstream];
        let sent = connection.outbox.send(&mut self.net, &mut connection.stream, &request);
        let exchange = &mut self.downstreams[index].exchange;
        exchange.request = request;
        if sent.is_err() {
            return self.instance_failed(index, Failure::Broke);
        }
        exchange.sends += 1;
        self.offer_copies(index);
        self.await_progress(index);
        if !self.downstreams[index].exchange.body.is_done() {
            self.resume(downstream_token(index));
        }
    }

    /// The instance has not said whether it wants the body, as one of HTTP/1.0 never does. The client was not meant to
    /// wait for ever (RFC 9110, 10.1.1), but some do.
    pub(super) fn go_ahead(&mut self, index: usize) {
        let downstream = &mut self.downstreams[index];
        downstream.exchange.expects_continue = false;
        let go_on = b"HTTP/1.1 100 Continue\r\n\r\n";
        if downstream.outbox.send(&mut self.net, &mut downstream.stream, go_on).is_err() {
            return self.abort(index);
        }
        self.await_progress(index);
    }

    /// Whose time counts now? The client's while it has to take or to send something, else the instance's. Asked at
    /// each progress, so that whoever makes none is the one whose time ends.
    pub(super) fn await_progress(&mut self, index: usize) {
        let downstream = &mut self.downstreams[index];
        let exchange = &downstream.exchange;
        let (Some(upstream), Some(local)) = (exchange.upstream, &exchange.local) else { return };
        let connection = &mut self.upstreams[upstream];
        let settings = &local.shared.settings;
        if !downstream.outbox.is_empty() || (!exchange.body.is_done() && connection.outbox.is_empty()) {
            connection.deadline.clear();
            let limits = &settings.limits;
            // The instance has the word first: whether it wants the body at all.
            let until = if exchange.expects_continue {
                self.now + limits.idle_timeout.min(CONTINUE_WAIT)
            } else {
                let until = downstream.pace.wait(self.now);
                let whole = limits.body_timeout.filter(|_| !exchange.body.is_done());
                whole.map_or(until, |whole| until.min(exchange.arrived + whole))
            };
            let owner = (downstream_token(index), downstream.generation);
            self.timers.set(owner, &mut downstream.deadline, until);
        } else {
            downstream.deadline.clear();
            downstream.pace.pause(self.now);
            let until = self.now + settings.pools[exchange.pool].answer_timeout;
            let owner = (upstream_token(upstream), connection.generation);
            self.timers.set(owner, &mut connection.deadline, until);
        }
    }

    /// The instance has closed, but it may have answered first: then the answer is there to be read.
    fn takes_no_more(&mut self, upstream: usize) {
        let connection = &mut self.upstreams[upstream];
        connection.readable.now = true;
        connection.readable.closing = true;
        connection.outbox.clear();
        self.resume(upstream_token(upstream));
    }

    /// Whether a part of a request's body may be sent on.
    pub(super) fn upstream_takes_more(&self, upstream: usize) -> bool {
        let connection = &self.upstreams[upstream];
        matches!(connection.state, UpstreamState::Busy(_)) && connection.outbox.is_empty()
    }

    /// Sends a part of a request's body; whether there may be more.
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

    /// Reads what came of an answer, as long as the client has room for it.
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
                        // Nobody asked: it cannot be trusted with another request.
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
        let ended = match &mut self.downstreams[index].exchange.answer {
            Some(answer) => answer.body.closed().is_ok(),
            None => false,
        };
        if ended {
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

    /// Bytes of an answer.
    fn received(&mut self, upstream: usize, index: usize, bytes: &[u8]) {
        if self.downstreams[index].exchange.answer.is_some() {
            self.head.clear();
            return self.forward_answer(index, bytes);
        }
        let connection = &mut self.upstreams[upstream];
        if connection.input.is_empty() {
            let used = self.answer_head(index, bytes);
            if let Some(rest) = used.and_then(|used| bytes.get(used..))
                && let Some(connection) = self.upstreams.get_mut(upstream)
            {
                connection.input.extend_from_slice(rest);
            }
        } else {
            connection.input.extend_from_slice(bytes);
            let input = std::mem::take(&mut connection.input);
            let used = self.answer_head(index, &input);
            if let Some(rest) = used.and_then(|used| input.get(used..))
                && let Some(connection) = self.upstreams.get_mut(upstream)
            {
                connection.input.extend_from_slice(rest);
            }
        }
    }

    /// Reads an answer's head and forwards it with what came of the body. Gives how many bytes were used while the
    /// head is not whole; `None` once it is.
    fn answer_head(&mut self, index: usize, bytes: &[u8]) -> Option<usize> {
        let mut used = 0;
        loop {
            let mut slots = slots();
            let limits = &self.local.shared.settings.limits.answer_head;
            let exchange = &mut self.downstreams[index].exchange;
            let answer_to = if exchange.head_only { AnswerTo::Head } else { AnswerTo::Other };
            let head = match response::parse(&bytes[used..], answer_to, limits, &mut slots) {
                Ok(Some(head)) => head,
                Ok(None) => return Some(used),
                Err(refusal) => {
                    self.instance_failed(index, Failure::Malformed(Broken::Rule(refusal)));
                    return None;
                }
            };
            used += head.head_len;
            if head.status == 101 {
                // We never ask for another protocol.
                self.instance_failed(index, Failure::Malformed(Broken::Switched));
                return None;
            }
            if head.status < 200 {
                // HTTP/1.0 knows none, and who does not wait for leave has no use for it.
                if !exchange.old && (head.status != 100 || exchange.expects_continue) {
                    exchange.expects_continue &= head.status != 100;
                    self.head.clear();
                    forward::interim(&mut self.head, &head);
                    let downstream = &mut self.downstreams[index];
                    if downstream.outbox.send(&mut self.net, &mut downstream.stream, &self.head).is_err() {
                        self.abort(index);
                        return None;
                    }
                    // Hints are no progress: an instance cannot live on them for ever.
                    if head.status == 100 || !downstream.outbox.is_empty() {
                        self.await_progress(index);
                    }
                }
                if let Some(upstream) = self.downstreams[index].exchange.upstream {
                    // It has seen the request: should it break now, it was not closing before.
                    self.upstreams[upstream].reused = false;
                }
                continue;
            }
            exchange.expects_continue = false;
            let now = self.now;
            exchange.first_byte = Some(now);
            exchange.status = head.status;
            self.downstreams[index].pace = Pace::of_answer(&self.local.shared.settings.limits);
            let exchange = &mut self.downstreams[index].exchange;
            let unchunk = exchange.old && head.framing == Body::Chunked;
            let until_close = head.framing == Body::UntilClose;
            // An answer before the end of the request: the rest of the request has no reader any more.
            let early = !exchange.body.is_done();
            let close = !exchange.keep_alive || unchunk || until_close || early || self.drain_until.is_some();
            let framed = if unchunk { Body::UntilClose } else { head.framing };
            exchange.answer = Some(Answer {
                status: head.status,
                begun: false,
                body: Decoder::new(head.framing),
                unchunk,
                close,
                until_close: framed == Body::UntilClose,
                reusable: head.keep_alive && !early,
            });
            if let Some(local) = &exchange.local {
                let wanted = &local.shared.settings.routes[exchange.route].server_timing;
                if !wanted.is_empty() {
                    note_server_timing(local, exchange.route, wanted, &head);
                }
            }
            if let (Some(local), Some(level)) = (&exchange.local, exchange.level) {
                let elapsed = now.since(exchange.sent);
                local.times.borrow_mut()[level].record(elapsed);
                if !exchange.late {
                    let conforms = local.shared.levels[level].settings.conforms(head.status, elapsed);
                    local.tally(Some(level), |tally| tally.record(conforms));
                }
            }
            // 429 speaks to one client, 503 of the instance.
            if head.status == 503 {
                exchange.stay_away = head.headers.find("retry-after").and_then(seconds);
            }
            self.head.clear();
            forward::response(&mut self.head, &head, framed, Connection::of(close, exchange.old));
            match self.ask_response_rule(index, &head) {
                None => {
                    // After the rule, which knows nothing of our cookie and may not take it away.
                    if self.downstreams[index].exchange.sets_cookie {
                        self.set_cookie(index);
                    }
                    self.forward_answer(index, &bytes[used..]);
                }
                Some(response) => self.replace_answer(index, &response, &bytes[used..]),
            }
            return None;
        }
    }

    /// Sends what stands in `head` and the body's next bytes to the client.
    fn forward_answer(&mut self, index: usize, bytes: &[u8]) {
        let exchange = &mut self.downstreams[index].exchange;
        let Some(answer) = &mut exchange.answer else { return };
        let mut used = 0;
        loop {
            let step = match answer.body.decode(&bytes[used..]) {
                Ok(step) => step,
                Err(refusal) => {
                    return self.instance_failed(index, Failure::Malformed(Broken::Rule(refusal)));
                }
            };
            exchange.body_bytes += step.data.len() as u64;
            if let Copies::Some(taken) = &mut exchange.copies {
                taken.answered(&bytes[used..][step.data.clone()]);
            }
            if answer.unchunk {
                self.head.extend_from_slice(&bytes[used..][step.data]);
            }
            used += step.consumed;
            if step.done || used == bytes.len() {
                break;
            }
        }
        if !answer.unchunk {
            self.head.extend_from_slice(&bytes[..used]);
        }
        // Bytes behind the answer were not asked for.
        answer.reusable &= used == bytes.len();
        answer.begun = true;
        let done = answer.body.is_done();
        let head = std::mem::take(&mut self.head);
        let downstream = &mut self.downstreams[index];
        let sent = downstream.outbox.send(&mut self.net, &mut downstream.stream, &head);
        self.head = head;
        if sent.is_err() {
            return self.abort(index);
        }
        if done {
            self.finish(index);
        } else {
            self.await_progress(index);
        }
    }

    /// The answer is whole.
    pub(super) fn finish(&mut self, index: usize) {
        self.finish_copies(index);
        let now = self.now;
        let exchange = &mut self.downstreams[index].exchange;
        let (Some(local), Some(answer)) = (exchange.local.take(), exchange.answer.take()) else { return };
        let upstream = exchange.upstream.take();
        let first_byte = exchange.first_byte.unwrap_or(now).since(exchange.sent);
        let (status, waited, total) = (exchange.status, exchange.waited, now.since(exchange.arrived));
        let stay_away = exchange.stay_away;
        let method = &exchange.method;
        local.count(exchange.route, |count| count.answered(method, status, total, first_byte, waited));
        self.release(index, &local, outcome(answer.status, first_byte, stay_away));
        self.downstreams[index].exchange.local = Some(local);
        self.log_line(index, now, "-");
        if let Some(upstream) = upstream {
            self.put_back(upstream, index, answer.reusable, now);
        }
        self.downstreams[index].exchange.local = None;
        self.end_exchange(index, answer.close || self.is_draining(), now);
        self.resume(downstream_token(index));
    }

    fn put_back(&mut self, upstream: usize, index: usize, reusable: bool, now: Timestamp) {
        let exchange = &self.downstreams[index].exchange;
        let Some(local) = &exchange.local else { return };
        let pool = &local.shared.settings.pools[exchange.pool];
        let (room, idle_timeout) = (pool.idle_connections as usize, pool.idle_timeout);
        let connection = &mut self.upstreams[upstream];
        let instance = &mut self.instances[connection.instance];
        if !reusable
            || !connection.outbox.is_empty()
            || connection.readable.closing
            // There may be more than was asked for.
            || connection.readable.now
            || instance.idle.len() >= room
            // It was removed in the meantime.
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

    /// Gives back what an exchange holds at its limits and tells the balancer.
    pub(super) fn release(&mut self, index: usize, local: &Rc<Local>, outcome: Outcome) {
        let now = self.now;
        let exchange = &mut self.downstreams[index].exchange;
        if std::mem::take(&mut exchange.placed) {
            local.pools[exchange.pool].borrow_mut().ended(now, exchange.instance, outcome);
        }
        self.leave_instance(index, local);
        let exchange = &mut self.downstreams[index].exchange;
        if let Some(admitted) = exchange.admitted.take() {
            if !local.shared.routes[exchange.route].is_plain {
                learn::learn(exchange, local, &admitted, outcome, now);
            }
            self.line.freed = true;
            local.shared.routes[exchange.route].admission.finished(admitted);
        }
    }

    /// An instance gave no whole answer: tries another where that is safe, or tells the client.
    pub(super) fn instance_failed(&mut self, index: usize, failure: Failure) {
        let exchange = &mut self.downstreams[index].exchange;
        let Some(local) = exchange.local.clone() else { return };
        let pool = exchange.pool;
        let upstream = exchange.upstream.take();
        let connection = upstream.and_then(|upstream| self.upstreams.get(upstream));
        let stale = connection.is_some_and(|connection| connection.reused && connection.input.is_empty());
        let why = match failure {
            Failure::Unreachable => Some(Retry::Unreachable),
            Failure::ConnectTimeout => Some(Retry::ConnectTimeout),
            // A connection that the instance was closing says nothing of the instance.
            Failure::Broke if stale => Some(Retry::Stale),
            Failure::Broke => Some(Retry::Broke),
            Failure::Timeout | Failure::Malformed(_) => None,
        };
        let why = why.filter(|_| exchange.answer.is_none());
        if let Some(upstream) = upstream {
            self.upstreams.remove(upstream);
        }
        if let Some(why) = why
            && self.may_retry(index, &local, why)
        {
            let now = self.now;
            let exchange = &mut self.downstreams[index].exchange;
            (exchange.attempt, exchange.placed) = (Attempt::Again, false);
            let outcome = match why {
                Retry::Stale => {
                    exchange.sends = 0;
                    Outcome::Cancelled
                }
                Retry::Unreachable | Retry::ConnectTimeout | Retry::Broke => {
                    if !exchange.failed.contains(&exchange.instance) {
                        exchange.failed.push(exchange.instance);
                    }
                    failure.outcome()
                }
            };
            local.pools[pool].borrow_mut().ended(now, exchange.instance, outcome);
            self.leave_instance(index, &local);
            if why.was_sent() {
                let exchange = &self.downstreams[index].exchange;
                // The other idle connections to it are as old: they would only cost more tries.
                let number = local.pools[pool].borrow().number(exchange.instance);
                for idle in std::mem::take(&mut self.instances[number].idle) {
                    self.upstreams.remove(idle);
                }
            }
            return self.dispatch(index);
        }
        let exchange = &mut self.downstreams[index].exchange;
        let late = std::mem::replace(&mut exchange.late, true);
        if !late && exchange.first_byte.is_none() {
            local.tally(exchange.level, |tally| tally.record_late());
        }
        let problem = failure.problem();
        local.count(exchange.route, |count| count.failed(problem.name));
        if let Failure::Malformed(broken) = failure {
            let instance = local.pools[pool].borrow().address(exchange.instance);
            exchange.broken = Some((broken.name(), instance));
            self.note_malformed(instance, broken);
        }
        self.release(index, &local, failure.outcome());
        let exchange = &mut self.downstreams[index].exchange;
        // Where the client has had nothing of the answer yet, it can be told.
        if exchange.answer.take_if(|answer| !answer.begun).is_none() && exchange.answer.is_some() {
            return self.break_off(index, problem.name);
        }
        self.answer_problem(index, problem);
        self.resume(downstream_token(index));
    }

    /// Keeps the last malformed answer until the next tick, and counts them.
    #[cold]
    fn note_malformed(&mut self, instance: SocketAddr, broken: Broken) {
        let before = self.malformed.take().map_or(0, |malformed| malformed.count);
        let (rule, detail) = (broken.name(), broken.to_string());
        self.malformed = Some(MalformedAnswer { instance, rule, detail, count: before + 1 });
    }

    /// Whether a request that got no answer may be given to an instance once more.
    fn may_retry(&mut self, index: usize, local: &Local, why: Retry) -> bool {
        let exchange = &self.downstreams[index].exchange;
        let pool = exchange.pool;
        let tries = local.shared.settings.pools[pool].retries.tries;
        let mut pool = local.pools[pool].borrow_mut();
        let harmless = exchange.replayable && exchange.idempotent;
        let tried = exchange.failed.len() as u32 + 1;
        let (safe, tries_left, costs) = match why {
            Retry::Unreachable | Retry::ConnectTimeout => {
                (true, tried < pool.len().min(CONNECT_TRIES), false)
            }
            // Only the first try uses a kept connection, and it does not count: the instance was closing the connection
            // without regard to the request, as far as anybody knows. Where the connection took all of the request it
            // may have worked on it, though: an instance that was killed looks the same.
            Retry::Stale => (harmless, tries > 1, exchange.sends > 0),
            // What has broken an instance is not sent to the same one again.
            Retry::Broke => (harmless, exchange.sends < tries && tried < pool.len(), true),
        };
        pool.may_retry(self.now, why, safe, tries_left, costs)
    }

    /// Tells the client in the head of its answer which instance it belongs to from now on.
    fn set_cookie(&mut self, index: usize) {
        let exchange = &self.downstreams[index].exchange;
        let Some(local) = &exchange.local else { return };
        let number = exchange.pool;
        let value = local.pools[number].borrow().cookie_for(exchange.instance);
        if let Some(value) = value {
            pool::add_cookie(&mut self.head, &local.shared.settings.pools[number], value);
        }
    }

    /// Ends a request that cannot go on for a reason of ours or the client's.
    pub(super) fn fail_request(&mut self, index: usize, problem: Problem<'_>) {
        let exchange = &mut self.downstreams[index].exchange;
        if let Some(upstream) = exchange.upstream.take() {
            self.upstreams.remove(upstream);
        }
        let Some(local) = self.downstreams[index].exchange.local.clone() else { return };
        local.count(self.downstreams[index].exchange.route, |count| count.failed(kind_of(problem.name)));
        self.release(index, &local, Outcome::Cancelled);
        if self.downstreams[index].exchange.answer.is_some() {
            return self.break_off(index, problem.name);
        }
        self.downstreams[index].exchange.keep_alive = false;
        self.answer_problem(index, problem);
    }

    /// The client has had the beginning of an answer: only a broken connection tells it that this is not the end.
    fn break_off(&mut self, index: usize, reason: &str) {
        self.log_line(index, self.now, reason);
        self.break_downstream(index);
    }

    /// An upstream connection's time is over.
    pub(super) fn upstream_due(&mut self, upstream: usize) {
        match self.upstreams[upstream].state {
            UpstreamState::Idle => self.remove_upstream(upstream),
            UpstreamState::Connecting(index) => self.instance_failed(index, Failure::ConnectTimeout),
            UpstreamState::Busy(index) => self.instance_failed(index, Failure::Timeout),
        }
    }

    /// Writes the line of a request that is over; `-` is the reason where an instance answered. The time of other
    /// answers is counted here, because each of them has a line.
    pub(super) fn log_line(&mut self, index: usize, now: Timestamp, reason: &str) {
        let downstream = &self.downstreams[index];
        let exchange = &downstream.exchange;
        if let (Some(local), true) = (&exchange.local, reason != "-") {
            let total = now.since(exchange.arrived);
            local.count(exchange.route, |count| count.own(&exchange.method, exchange.status, reason, total));
        }
        if !self.log.is_on() {
            return;
        }
        let route =
            exchange.local.as_ref().map_or("-", |local| &local.shared.settings.routes[exchange.route].name);
        self.log.write(&Line {
            client: exchange.client,
            arrived_us: exchange.arrived_us,
            method: &exchange.method,
            target: &exchange.target,
            old: exchange.old,
            agent: &exchange.agent,
            status: exchange.status,
            body_bytes: exchange.body_bytes,
            route,
            total: now.since(exchange.arrived),
            upstream: exchange.first_byte.map(|at| at.since(exchange.sent)),
            waited: exchange.waited,
            reason,
            broken: exchange.broken,
        });
    }
}

/// Adds up what the instance says of the metrics that the route asks for.
fn note_server_timing(local: &Local, route: usize, wanted: &[String], head: &ResponseHead<'_, '_>) {
    let fields = head.headers.all().iter().filter(|field| field.name.eq_ignore_ascii_case("server-timing"));
    for field in fields {
        server_timing::read(field.value, |name, took| {
            if let Some(name) = wanted.iter().find(|wanted| *wanted == name) {
                local.count(route, |count| count.reported.server(name, took));
            }
        });
    }
}

fn outcome(status: u16, first_byte: Duration, stay_away: Option<Duration>) -> Outcome {
    match status {
        429 => Outcome::Limited,
        503 => Outcome::Refused { retry_after: stay_away },
        500.. => Outcome::ServerError { first_byte },
        _ => Outcome::Answered { first_byte },
    }
}

/// `Retry-After` in seconds; a date is rare enough to be left to the penalty of the balancer.
fn seconds(value: &[u8]) -> Option<Duration> {
    std::str::from_utf8(value).ok()?.parse().ok().map(Duration::from_secs)
}

/// Metrics know a few kinds; a client's many ways to break HTTP are one.
fn kind_of(name: &str) -> &'static str {
    match name {
        "upstream_unreachable" => "upstream_unreachable",
        "body_timeout" => "body_timeout",
        "body_too_large" => "body_too_large",
        _ => "bad_request",
    }
}

/// How long an instance may think about whether it wants a body before the client is told to send it.
const CONTINUE_WAIT: Duration = Duration::from_secs(1);

/// Instances that one request tries to reach, where none of them accepts connections.
const CONNECT_TRIES: u32 = 8;
