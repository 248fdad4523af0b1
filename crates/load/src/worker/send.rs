//! Writes requests to sockets.

use super::connect::failure_of;
use super::{RETRY_AFTER, Worker};
use crate::connection::{Job, State, What};
use crate::exchange::{Exchange, Kept, Purpose};
use crate::head;
use http::codec::response::AnswerTo;
use http::reactor::Net;
use measure::Failure;
use std::io::ErrorKind;

impl<N: Net> Worker<'_, N> {
    /// Sends a request on a connection that can take it.
    pub(super) fn send(&mut self, index: usize, job: Job) {
        let mut keeps = self.plan.collector.is_some();
        if let What::StepOf(user) = job.what {
            if self.step_of != Some(user)
                && let Err(failure) = self.write_step(user)
            {
                let now = self.now();
                self.free(index);
                return self.failed(job, failure, now);
            }
            self.step_of = None;
            keeps |= self.keeps(user);
        }
        let mut kept = keeps.then(|| self.spare_kept.pop().unwrap_or_default());
        if job.started >= self.next_head {
            self.next_head = job.started + head::EVERY;
            self.sample(&mut kept);
        }
        if self.plan.request_log.is_some() && kept.is_none() {
            kept = Some(self.spare(Purpose::Size));
        }
        self.busy += 1;
        if let State::Many(_) = self.connections[index].state {
            self.send_stream(index, job, kept);
        } else {
            self.send_one(index, job, kept);
        }
    }

    /// Marks a request whose response goes into the sample of heads.
    fn sample(&mut self, kept: &mut Option<Box<Kept>>) {
        match kept {
            Some(kept) => kept.purpose = Purpose::Both,
            None => *kept = Some(self.spare(Purpose::Sample)),
        }
    }

    fn spare(&mut self, purpose: Purpose) -> Box<Kept> {
        let mut spare = self.spare_kept.pop().unwrap_or_default();
        spare.purpose = purpose;
        spare
    }

    /// As the only request of a connection.
    fn send_one(&mut self, index: usize, job: Job, kept: Option<Box<Kept>>) {
        let wire = match job.what {
            What::Prepared(wire) | What::PreparedOf { wire, .. } => &mut self.wires[wire as usize],
            What::StepOf(_) => &mut self.step,
        };
        wire.set_number(job.number);
        let connection = &mut self.connections[index];
        let answer_to = if wire.head { AnswerTo::Head } else { AnswerTo::Other };
        connection.state = State::Busy(job, Exchange::new(answer_to, kept));
        if job.resends > 0 {
            self.recorder.resent(job.endpoint, job.intended);
        }
        let due = job.started + self.plan.timeout;
        self.timers.set((index, connection.generation), &mut connection.deadline, due);
        if let Some(session) = &mut connection.tls {
            return match session.send(&wire.bytes, &mut connection.out) {
                Ok(()) => self.write(index),
                Err(failure) => self.tls_failed(index, failure),
            };
        }
        let mut written = 0;
        while written < wire.bytes.len() {
            match self.net.write(&mut connection.stream, &wire.bytes[written..]) {
                Ok(0) => return self.broken(index, Failure::ClosedEarly),
                Ok(count) => written += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    // The next request may overwrite these bytes.
                    connection.out.extend_from_slice(&wire.bytes[written..]);
                    return;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return self.broken(index, failure_of(&error)),
            }
        }
    }

    /// As one of many on a connection. The bytes are written with those of others, at the end of the iteration.
    fn send_stream(&mut self, index: usize, job: Job, kept: Option<Box<Kept>>) {
        let wire = match job.what {
            What::Prepared(wire) | What::PreparedOf { wire, .. } => &mut self.wires[wire as usize],
            What::StepOf(_) => &mut self.step,
        };
        wire.set_number(job.number);
        let connection = &mut self.connections[index];
        let State::Many(streams) = &mut connection.state else { return };
        let secure = connection.tls.is_some();
        let out = if secure { &mut connection.clear } else { &mut connection.out };
        let head = wire.h2.as_ref().map(|h2| &h2.block).filter(|head| !head.block().is_empty());
        let Some(head) = head else {
            self.busy -= 1;
            self.recorder.first_failure(Failure::Other, || "the request cannot be said in HTTP/2".to_owned());
            let now = self.net.now();
            self.agenda.hold_until(now + RETRY_AFTER);
            return self.failed(job, Failure::Other, now);
        };
        if streams.request(head, wire.body(), job, kept, out).is_err() {
            // It took fewer than it had announced; another connection is used.
            self.busy -= 1;
            self.stash.push_back(job);
        } else if job.resends > 0 {
            self.recorder.resent(job.endpoint, job.intended);
        }
        if !streams.dirty {
            streams.dirty = true;
            self.dirty.push(index);
        }
        let due = job.started + self.plan.timeout;
        if due < connection.deadline.at() {
            self.timers.set((index, connection.generation), &mut connection.deadline, due);
        }
        if streams.listed && streams.machine.capacity() == 0 {
            streams.listed = false;
            self.upstreams[connection.server as usize].unlist(index);
        }
    }

    /// Writes the pending bytes of HTTP/2 connections.
    pub(super) fn flush(&mut self) {
        let mut dirty = std::mem::take(&mut self.dirty);
        for index in dirty.drain(..) {
            let Some(connection) = self.connections.get_mut(index) else { continue };
            let State::Many(streams) = &mut connection.state else { continue };
            streams.dirty = false;
            if let Some(session) = &mut connection.tls
                && !connection.clear.is_empty()
            {
                let sent = session.send(&connection.clear, &mut connection.out);
                connection.clear.clear();
                if let Err(failure) = sent {
                    self.tls_failed(index, failure);
                    continue;
                }
            }
            self.write(index);
        }
        // Writing marks no connection as dirty, so the memory can be reused.
        if self.dirty.is_empty() {
            self.dirty = dirty;
        }
    }

    /// Writes what could not be written before.
    pub(super) fn write(&mut self, index: usize) {
        let connection = &mut self.connections[index];
        while connection.written < connection.out.len() {
            match self.net.write(&mut connection.stream, &connection.out[connection.written..]) {
                Ok(0) => return self.write_failed(index, Failure::ClosedEarly),
                Ok(count) => connection.written += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    // On a connection that is never fully drained, written bytes would accumulate.
                    if connection.written > connection.out.len() / 2 {
                        connection.out.drain(..connection.written);
                        connection.written = 0;
                    }
                    return;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return self.write_failed(index, failure_of(&error)),
            }
        }
        connection.out.clear();
        connection.written = 0;
    }

    /// Nothing can be written on a connection any more.
    fn write_failed(&mut self, index: usize, failure: Failure) {
        let connection = &mut self.connections[index];
        let State::Many(streams) = &mut connection.state else { return self.broken(index, failure) };
        // Earlier data of the server is still to be read: a GOAWAY names the requests that it did not process.
        streams.closing = true;
        if streams.listed {
            streams.listed = false;
            self.upstreams[connection.server as usize].unlist(index);
        }
        connection.clear.clear();
        connection.out.clear();
        connection.written = 0;
        self.doomed.push((index, connection.generation, failure));
    }
}
