//! Bodies that are buffered whole before a request waits for a slot at its limits.
//!
//! With `buffer_body`, a slow client holds only its own connection. Its request is parsed again when the body is
//! complete, so that from there on it is a request whose body arrived with its head.

use super::begin::Begun;
use super::connection::Phase;
use super::pace::Pace;
use super::{Worker, downstream_token};
use crate::answer::Problem;
use crate::route;
use http::codec::Body;
use http::codec::body::Decoder;
use http::codec::request::RequestHead;
use http::reactor::Net;
use status::reason::request;
use std::rc::Rc;
use units::Timestamp;

/// A request whose body is buffered before it goes on.
#[derive(Debug)]
pub(super) struct Gathering {
    body: Decoder,
    /// The offset in the input at which the body continues.
    at: usize,
    /// The most bytes that head and body may take together.
    room: usize,
    since: Timestamp,
}

impl<N: Net> Worker<N> {
    /// Whether the body of a request has to be buffered first and is incomplete; if so, begins to buffer it. `bytes`
    /// begin with the head.
    pub(super) fn gathers(
        &mut self,
        index: usize,
        head: &RequestHead<'_, '_>,
        bytes: &[u8],
    ) -> Option<Begun> {
        if head.framing == Body::None {
            return None;
        }
        let local = Rc::clone(&self.local);
        let settings = &local.shared.settings;
        let target = head.target.origin_form(head.method);
        let route = local.shared.index.find(head.host, route::path_of(&target))?;
        let most = settings.routes[route].buffer_body?;
        let most = settings.limits.body_max.map_or(most, |largest| largest.min(most)).get();
        let length = match head.framing {
            Body::Length(length) => length,
            _ => 0,
        };
        let mut body = Decoder::new(head.framing);
        let mut at = head.head_len;
        while at < bytes.len() && !body.is_done() {
            match body.decode(&bytes[at..]) {
                Ok(step) => at += step.consumed,
                // The code that begins the request finds this error too, and reports it.
                Err(_) => return None,
            }
        }
        let room = head.head_len.saturating_add(usize::try_from(most).unwrap_or(usize::MAX));
        if length > most || at > room {
            return Some(self.give_up_body(index, TOO_LARGE, bytes.len()));
        }
        if body.is_done() {
            return None;
        }
        if self.gathered + bytes.len() > self.gathered_max() {
            return Some(self.give_up_body(index, NO_ROOM, bytes.len()));
        }
        let downstream = &mut self.downstreams[index];
        if head.expect_continue && at == head.head_len {
            let go_on = b"HTTP/1.1 100 Continue\r\n\r\n";
            if downstream.outbox.send(&mut self.net, &mut downstream.stream, go_on).is_err() {
                self.abort(index);
                return Some(Begun::Used(bytes.len()));
            }
        }
        downstream.head_since = None;
        downstream.pace = Pace::of_upload(&settings.limits, (at - head.head_len) as u64);
        downstream.gathering = Some(Box::new(Gathering { body, at, room, since: self.now }));
        self.gathered += bytes.len();
        self.await_body(index);
        Some(Begun::More)
    }

    /// Reads more; returns whether there may be more to do.
    pub(super) fn gather(&mut self, index: usize) -> bool {
        let Some(count) = self.receive(index) else { return false };
        let downstream = &mut self.downstreams[index];
        downstream.input.extend_from_slice(&self.buffer[..count]);
        downstream.pace.moved(self.now, count, &self.local.shared.settings.limits);
        self.gathered += count;
        let Some(gathering) = &mut downstream.gathering else { return true };
        let mut broken = false;
        while gathering.at < downstream.input.len() && !gathering.body.is_done() && !broken {
            match gathering.body.decode(&downstream.input[gathering.at..]) {
                Ok(step) => gathering.at += step.consumed,
                Err(_) => broken = true,
            }
        }
        if gathering.at > gathering.room {
            return self.end_gathering(index, TOO_LARGE);
        }
        if gathering.body.is_done() || broken {
            // The request begins; broken framing is found and reported there.
            self.gathered_no_more(index);
            return true;
        }
        if self.gathered > self.gathered_max() {
            return self.end_gathering(index, NO_ROOM);
        }
        self.await_body(index);
        true
    }

    /// A body arrived too slowly.
    pub(super) fn body_too_slow(&mut self, index: usize) {
        self.end_gathering(index, TOO_SLOW);
    }

    fn end_gathering(&mut self, index: usize, problem: Problem<'_>) -> bool {
        self.gathered_no_more(index);
        self.downstreams[index].input.clear();
        self.give_up_body(index, problem, 0);
        false
    }

    /// The current body is no longer buffered.
    pub(super) fn gathered_no_more(&mut self, index: usize) {
        let downstream = &mut self.downstreams[index];
        if downstream.gathering.take().is_some() {
            self.gathered -= downstream.input.len();
        }
    }

    fn give_up_body(&mut self, index: usize, problem: Problem<'_>, used: usize) -> Begun {
        self.counts.bad_requests += 1;
        self.begin_nothing(index);
        self.answer_problem(index, problem);
        Begun::Used(used)
    }

    fn await_body(&mut self, index: usize) {
        let downstream = &mut self.downstreams[index];
        let limits = &self.local.shared.settings.limits;
        let Some(gathering) = &downstream.gathering else { return };
        debug_assert!(matches!(downstream.phase, Phase::Head), "a request has begun");
        let mut until = downstream.pace.wait(self.now);
        if let Some(whole) = limits.body_timeout {
            until = until.min(gathering.since + whole);
        }
        let owner = (downstream_token(index), downstream.generation);
        self.timers.set(owner, &mut downstream.deadline, until);
    }

    /// The most bytes that all buffered bodies of this worker may take together.
    fn gathered_max(&self) -> usize {
        GATHERED_MAX / self.local.shared.settings.workers.get() as usize
    }
}

pub(super) const TOO_SLOW: Problem<'static> = Problem {
    status: 408,
    name: request::BODY_TIMEOUT,
    detail: "the body of the request did not arrive in time, or more slowly than the least rate",
};

pub(super) const TOO_LARGE: Problem<'static> = Problem {
    status: 413,
    name: request::BODY_TOO_LARGE,
    detail: "the body of the request is longer than this service takes",
};

const NO_ROOM: Problem<'static> = Problem {
    status: 503,
    name: request::BODY_MEMORY,
    detail: "too many bodies are on their way at once; try again later",
};

/// The most bytes that buffered bodies may take, in all workers together.
const GATHERED_MAX: usize = 64 << 20;
