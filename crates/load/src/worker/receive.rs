//! Reads responses from sockets, and handles requests that get none.

use super::connect::failure_of;
use super::walk::Came;
use super::{RETRY_AFTER, Worker, times};
use crate::connection::{Job, State, What};
use crate::exchange::{Kept, Purpose};
use crate::streams::Ending;
use http::reactor::{Net, Ready};
use measure::Failure;
use std::io::ErrorKind;
use std::mem;
use units::Timestamp;

impl<N: Net> Worker<'_, N> {
    pub(super) fn ready(&mut self, event: Ready) {
        let index = event.token.0;
        let Some(connection) = self.connections.get_mut(index) else { return };
        if let State::Connecting(job) = connection.state {
            match self.net.connected(&connection.stream) {
                Ok(false) => return,
                Ok(true) => self.connected(index, job),
                Err(error) => {
                    let (server, place) = (connection.server as usize, connection.address);
                    self.remove(index);
                    return self.connect_failed(job, server, place, &error);
                }
            }
        } else if event.writable && !connection.out.is_empty() {
            self.write(index);
        }
        if event.readable || event.closed {
            self.read(index, event.closed);
        }
    }

    fn read(&mut self, index: usize, closed: bool) {
        let mut buffer = mem::take(&mut self.buffer);
        while let Some(connection) = self.connections.get_mut(index) {
            let generation = connection.generation;
            let count = match self.net.read(&mut connection.stream, &mut buffer) {
                Ok(0) => {
                    self.closed(index);
                    break;
                }
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => {
                    self.broken(index, failure_of(&error));
                    break;
                }
            };
            self.recorder.bytes_received += count as u64;
            if connection.tls.is_some() {
                self.decrypt(index, &mut buffer[..count]);
            } else {
                self.received(index, &buffer[..count]);
            }
            // A short read has taken everything; only the end of the stream may still follow. And another connection
            // may have this index by now.
            if !self.is_still(index, generation) || (count < buffer.len() && !closed) {
                break;
            }
        }
        self.buffer = buffer;
    }

    /// Whether the connection with this index is still the same.
    fn is_still(&self, index: usize, generation: u32) -> bool {
        self.connections.get(index).is_some_and(|found| found.generation == generation)
    }

    fn decrypt(&mut self, index: usize, input: &mut [u8]) {
        let mut plain = mem::take(&mut self.plain);
        plain.clear();
        let connection = &mut self.connections[index];
        let generation = connection.generation;
        let Some(session) = &mut connection.tls else { return };
        let taken = session.received(input, &mut plain);
        // Of a session that failed, `tls_failed` sends the alert once the failure is known: the server may have gone, and why TLS
        // failed says more than that.
        if taken.is_ok() {
            session.flush(&mut connection.out);
            if !connection.out.is_empty() {
                self.write(index);
            }
        }
        if self.is_still(index, generation) {
            self.shaken(index);
        }
        if !plain.is_empty() && self.is_still(index, generation) {
            self.received(index, &plain);
        }
        self.plain = plain;
        if !self.is_still(index, generation) {
            return;
        }
        let ended = self.connections[index].tls.as_ref().is_some_and(|session| session.peer_closed());
        if let Err(failure) = taken {
            self.tls_failed(index, failure);
        } else if ended {
            // A close_notify ends the data, whatever happens to the socket.
            self.closed(index);
        }
    }

    /// Takes bytes of responses.
    fn received(&mut self, index: usize, input: &[u8]) {
        let connection = &mut self.connections[index];
        match &mut connection.state {
            State::Busy(job, exchange) => {
                let job = *job;
                let whole = if connection.pending.is_empty() {
                    input
                } else {
                    connection.pending.extend_from_slice(input);
                    &connection.pending[..]
                };
                match exchange.received(&mut self.scanner, whole) {
                    Err(refusal) => {
                        self.recorder.first_failure(Failure::Malformed, || refusal.to_string());
                        self.broken(index, Failure::Malformed);
                    }
                    Ok((used, Some(answer))) => {
                        // Bytes after the response were not requested, and a server that responds before it has the
                        // whole request will not read the rest.
                        let ended = connection.tls.as_ref().is_some_and(|session| session.peer_closed());
                        let clean = used == whole.len() && connection.out.is_empty() && !ended;
                        connection.pending.clear();
                        let kept = exchange.kept.take();
                        let keep_alive = answer.keep_alive && clean && self.plan.keep_alive;
                        self.answered(index, job, answer.status, kept, keep_alive);
                    }
                    Ok((used, None)) => {
                        if connection.pending.is_empty() {
                            connection.pending.extend_from_slice(&input[used..]);
                        } else {
                            connection.pending.drain(..used);
                        }
                    }
                }
            }
            State::Many(streams) => {
                let mut ended = mem::take(&mut self.ended);
                let out = if connection.tls.is_some() { &mut connection.clear } else { &mut connection.out };
                let taken = streams.received(input, out, &mut ended);
                if !streams.settled && streams.machine.has_settings() {
                    streams.settled = true;
                    self.upstreams[connection.server as usize].unsettled -= 1;
                }
                if !out.is_empty() && !streams.dirty {
                    streams.dirty = true;
                    self.dirty.push(index);
                }
                for (key, ending) in ended.drain(..) {
                    self.stream_ended(index, key, ending);
                }
                self.ended = ended;
                if let Err(error) = taken {
                    self.recorder.first_failure(Failure::Malformed, || error.to_string());
                    self.broken(index, Failure::Malformed);
                } else {
                    self.offer(index);
                }
            }
            // Unrequested bytes: the connection is not reliable for a request.
            State::Idle => self.remove(index),
            State::Connecting(_) | State::Handshaking(_) => self.broken(index, Failure::Malformed),
        }
    }

    /// Logs a response, and reads its head if it is in the sample. What is kept for nothing else is taken.
    fn note(&mut self, kept: &mut Option<Box<Kept>>, job: &Job, status: u16, now: Timestamp) {
        let Some(found) = kept.as_ref() else { return };
        self.log(job, Some((status, found.body_bytes)), now);
        if found.purpose.samples() {
            self.recorder.head(job.intended, status, &found.head);
        }
        if let Some(mut sample) = kept.take_if(|kept| matches!(kept.purpose, Purpose::Sample | Purpose::Size))
        {
            sample.clear();
            self.spare_kept.push(sample);
        }
    }

    fn stream_ended(&mut self, index: usize, key: u32, ending: Ending) {
        let Some(connection) = self.connections.get_mut(index) else { return };
        let State::Many(streams) = &mut connection.state else { return };
        let Some(mut stream) = streams.take(key) else { return };
        connection.reused |= !matches!(ending, Ending::Reset { unseen: true, .. });
        // The server processes some of this connection's requests, so it processes the rest elsewhere.
        let is_leaving = streams.machine.last_stream().is_some_and(|last| last > 0);
        self.busy -= 1;
        let now = self.net.now();
        match ending {
            Ending::Answered => {
                self.recorder.answered(times(&stream.job, now), stream.status);
                self.note(&mut stream.kept, &stream.job, stream.status, now);
                self.over(&stream.job, Came::Answer(stream.status, stream.kept), now);
            }
            Ending::Reset { unseen: true, code } => {
                let Job { resends, .. } = stream.job;
                if self.plan.connecting.no_resend || (!is_leaving && resends >= REFUSALS_MAX) {
                    self.recorder.first_failure(Failure::StreamRefused, || code.to_string());
                    self.failed(stream.job, Failure::StreamRefused, now);
                } else {
                    self.stash.push_back(Job { resends: resends.saturating_add(1), ..stream.job });
                }
            }
            Ending::Reset { code, .. } => {
                self.recorder.first_failure(Failure::StreamReset, || code.to_string());
                self.failed(stream.job, Failure::StreamReset, now);
            }
            Ending::Malformed(why) => {
                self.recorder.first_failure(Failure::Malformed, || why.to_string());
                self.failed(stream.job, Failure::Malformed, now);
            }
        }
    }

    /// An HTTP/2 connection may have a free stream again, or have ended.
    fn offer(&mut self, index: usize) {
        let Some(connection) = self.connections.get_mut(index) else { return };
        let State::Many(streams) = &mut connection.state else { return };
        if streams.len() == 0 {
            connection.deadline.clear();
        }
        let is_over = streams.machine.is_over() || !self.plan.keep_alive || streams.closing;
        if is_over && streams.len() == 0 {
            let fruitless = !connection.reused && self.plan.keep_alive;
            if fruitless {
                // As for a close by the server: the next one is unlikely to do better.
                let now = self.net.now();
                self.agenda.hold_until(now + RETRY_AFTER);
            }
            return self.remove(index);
        }
        if !streams.listed && !is_over && streams.machine.capacity() > 0 {
            streams.listed = true;
            self.upstreams[connection.server as usize].idle.push_back(index);
        }
        let now = self.net.now();
        self.dispatch(now);
    }

    fn answered(
        &mut self,
        index: usize,
        job: Job,
        status: u16,
        mut kept: Option<Box<Kept>>,
        keep_alive: bool,
    ) {
        let now = self.net.now();
        self.recorder.answered(times(&job, now), status);
        self.note(&mut kept, &job, status, now);
        if !keep_alive {
            self.remove(index);
            return self.over(&job, Came::Answer(status, kept), now);
        }
        self.busy -= 1;
        let connection = &mut self.connections[index];
        connection.state = State::Idle;
        connection.deadline.clear();
        connection.reused = true;
        self.over(&job, Came::Answer(status, kept), now);
        if self.upstreams.len() == 1 {
            match self.next_job(now) {
                Some(job) => match self.server_of(&job) {
                    Ok(0) => self.send(index, job),
                    _ => {
                        // A server that was unknown until now.
                        self.stash.push_front(job);
                        self.free(index);
                        self.dispatch(now);
                    }
                },
                None => self.free(index),
            }
        } else {
            self.free(index);
            self.dispatch(now);
        }
    }

    /// A connection has become free.
    pub(super) fn free(&mut self, index: usize) {
        let connection = &mut self.connections[index];
        if let State::Idle = connection.state {
            self.upstreams[connection.server as usize].idle.push_back(index);
        }
    }

    /// The other side will send no more.
    fn closed(&mut self, index: usize) {
        match &mut self.connections[index].state {
            State::Busy(job, exchange) => {
                let job = *job;
                match exchange.closed() {
                    Some(answer) => {
                        let kept = exchange.kept.take();
                        self.answered(index, job, answer.status, kept, false);
                    }
                    None => self.broken(index, Failure::ClosedEarly),
                }
            }
            _ => self.broken(index, Failure::ClosedEarly),
        }
    }

    /// The connection cannot be used any more.
    pub(super) fn broken(&mut self, index: usize, failure: Failure) {
        let connection = &self.connections[index];
        let untouched = connection.reused && connection.pending.is_empty();
        let jobs: Vec<Job> = connection.jobs().collect();
        let begun = matches!(&connection.state, State::Busy(_, exchange) if exchange.has_begun());
        let single = matches!(connection.state, State::Busy(..));
        let server = connection.server as usize;
        // It never carried a request: the next one is unlikely to, and nothing else would delay it.
        let fruitless = match connection.state {
            State::Handshaking(_) => true,
            State::Many(_) => !connection.reused,
            _ => false,
        };
        self.remove(index);
        let now = self.net.now();
        if fruitless {
            self.agenda.hold_until(now + RETRY_AFTER);
        }
        for job in jobs {
            // The other side closed an idle connection while the request was in transit: that says nothing about the
            // request, and a client may send it again (RFC 9112, 9.3.1).
            let closing = matches!(failure, Failure::Reset | Failure::ClosedEarly);
            let again = single && untouched && closing && !begun && job.resends == 0;
            if again && self.is_idempotent(&job) {
                if self.plan.connecting.no_resend {
                    self.recorder.first_failure(Failure::KeptClosed, || failure.to_string());
                    self.failed(job, Failure::KeptClosed, now);
                } else {
                    self.open(Job { resends: 1, ..job }, server);
                }
            } else {
                self.failed(job, failure, now);
            }
        }
    }

    /// Reads what is left on connections that cannot be written, and removes them; returns whether there were any.
    pub(super) fn bury(&mut self) -> bool {
        let doomed = mem::take(&mut self.doomed);
        for &(index, generation, failure) in &doomed {
            if self.is_still(index, generation) {
                self.read(index, true);
            }
            if self.is_still(index, generation) {
                self.broken(index, failure);
            }
        }
        !doomed.is_empty()
    }

    fn is_idempotent(&mut self, job: &Job) -> bool {
        match job.what {
            What::Prepared(wire) | What::PreparedOf { wire, .. } => self.wires[wire as usize].idempotent,
            What::StepOf(user) => self.write_step(user).is_ok() && self.step.idempotent,
        }
    }

    /// Removes a connection; its requests were handled, or the caller handles them.
    pub(super) fn remove(&mut self, index: usize) {
        let connection = self.connections.remove(index);
        let upstream = &mut self.upstreams[connection.server as usize];
        match connection.state {
            State::Idle => upstream.unlist(index),
            State::Connecting(_) | State::Handshaking(_) => {
                upstream.opening -= 1;
                self.busy -= 1;
            }
            State::Busy(..) => self.busy -= 1,
            State::Many(streams) => {
                self.busy -= streams.len();
                if !streams.settled {
                    upstream.unsettled -= 1;
                }
                if streams.listed {
                    upstream.unlist(index);
                }
            }
        }
    }

    pub(super) fn check_deadlines(&mut self, now: Timestamp) {
        while let Some(owner) = self.timers.pop(now) {
            let (index, generation) = owner;
            let Some(connection) =
                self.connections.get_mut(index).filter(|found| found.generation == generation)
            else {
                continue;
            };
            if !self.timers.is_due(owner, &mut connection.deadline, now) {
                continue;
            }
            let timeout = self.plan.timeout;
            let overdue: Vec<Job> = match &mut connection.state {
                State::Many(streams) => {
                    let out =
                        if connection.tls.is_some() { &mut connection.clear } else { &mut connection.out };
                    let before =
                        Timestamp::from_nanos(now.as_nanos().saturating_sub(timeout.as_nanos() as u64));
                    let given_up = streams.give_up(before, out);
                    if !streams.settled {
                        streams.settled = true;
                        streams.machine.presume_settings();
                        self.upstreams[connection.server as usize].unsettled -= 1;
                    }
                    if !streams.dirty {
                        streams.dirty = true;
                        self.dirty.push(index);
                    }
                    if let Some(oldest) = streams.oldest_start() {
                        self.timers.set(owner, &mut connection.deadline, oldest + timeout);
                    }
                    self.busy -= given_up.len();
                    given_up.into_iter().map(|stream| stream.job).collect()
                }
                _ => {
                    let jobs = connection.jobs().collect();
                    self.remove(index);
                    jobs
                }
            };
            for job in overdue {
                self.recorder.timed_out(times(&job, now));
                self.log(&job, None, now);
                self.over(&job, Came::Nothing, now);
            }
            if self.connections.contains(index) {
                self.offer(index);
            }
        }
    }
}

/// After this many refusals on a connection that stays open, a request counts as failed: the server refuses more than
/// its settings allow.
const REFUSALS_MAX: u8 = 3;
