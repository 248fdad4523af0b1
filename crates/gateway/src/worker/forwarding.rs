//! Forwards responses of instances to clients: the head rewritten, the body as it arrives.

use super::failure::{Broken, Failure};
use super::pace::Pace;
use super::{Worker, downstream_token};
use crate::forward;
use crate::local::Local;
use crate::pool;
use crate::server_timing;
use control::balance::Outcome;
use http::codec::header::slots;
use http::codec::response::{self, ResponseHead};
use http::reactor::Net;
use std::time::Duration;

impl<N: Net> Worker<N> {
    /// Bytes of a response arrived.
    pub(super) fn received(&mut self, upstream: usize, index: usize, bytes: &[u8]) {
        if self.downstreams[index].exchange.answer.is_forwarded() {
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

    /// Reads the head of a response and forwards it with the part of the body that arrived. Returns how many bytes were
    /// used while the head is incomplete; `None` once it is complete.
    fn answer_head(&mut self, index: usize, bytes: &[u8]) -> Option<usize> {
        let mut used = 0;
        loop {
            let mut slots = slots();
            let limits = &self.local.shared.settings.limits.answer_head;
            let answer_to = self.downstreams[index].exchange.request.answer_to();
            let head = match response::parse(&bytes[used..], answer_to, limits, &mut slots) {
                Ok(Some(head)) => head,
                Ok(None) => return Some(used),
                Err(refusal) => {
                    self.instance_failed(index, Failure::Malformed(Broken::Rule(refusal)));
                    return None;
                }
            };
            used += head.head_len;
            match head.status {
                // The gateway never requests another protocol.
                101 => self.instance_failed(index, Failure::Malformed(Broken::Switched)),
                ..200 => {
                    if self.forward_interim(index, &head) {
                        continue;
                    }
                }
                _ => self.begin_answer(index, &head, &bytes[used..]),
            }
            return None;
        }
    }

    /// Forwards an interim response to a client that can use it; returns whether the client is still connected.
    fn forward_interim(&mut self, index: usize, head: &ResponseHead<'_, '_>) -> bool {
        let downstream = &mut self.downstreams[index];
        let request = &mut downstream.exchange.request;
        let is_continue = head.status == 100;
        // HTTP/1.0 has no interim responses, and 100 is for clients that wait for it.
        if !request.is_old() && (!is_continue || request.expects_continue()) {
            if is_continue {
                request.goes_on();
            }
            self.head.clear();
            forward::interim(&mut self.head, head);
            if downstream.outbox.send(&mut self.net, &mut downstream.stream, &self.head).is_err() {
                self.abort(index);
                return false;
            }
            // Interim responses are not progress: an instance cannot extend its deadline with them.
            if is_continue || !downstream.outbox.is_empty() {
                self.await_progress(index);
            }
        }
        if let Some(upstream) = self.downstreams[index].exchange.placement.upstream() {
            // The instance has received the request: if it breaks the connection now, it was not closing it before.
            self.upstreams[upstream].reused = false;
        }
        true
    }

    /// The head of the response has arrived: counts it, and forwards it with `rest`, the part of the body that arrived.
    #[inline]
    fn begin_answer(&mut self, index: usize, head: &ResponseHead<'_, '_>, rest: &[u8]) {
        let (now, draining) = (self.now, self.is_draining());
        let downstream = &mut self.downstreams[index];
        downstream.pace = Pace::of_answer(&self.local.shared.settings.limits);
        let exchange = &mut downstream.exchange;
        exchange.request.goes_on();
        let (framed, connection) = exchange.answer.begin(now, head, &exchange.request, draining);
        if let Some(local) = exchange.local() {
            let wanted = &local.shared.settings.routes[exchange.route()].server_timing;
            if !wanted.is_empty() {
                note_server_timing(local, exchange.route(), wanted, head);
            }
            exchange.answer.count(local, now.since(exchange.placement.sent()));
        }
        self.head.clear();
        forward::response(&mut self.head, head, framed, connection);
        if let Some(response) = self.ask_response_rule(index, head) {
            return self.replace_answer(index, &response, rest);
        }
        // Done after the rule, which does not see the gateway's cookie and must not remove it.
        if self.downstreams[index].exchange.placement.sets_cookie() {
            self.set_cookie(index);
        }
        self.forward_answer(index, rest);
    }

    /// Sends what is in `head` and the next bytes of the body to the client.
    fn forward_answer(&mut self, index: usize, bytes: &[u8]) {
        let exchange = &mut self.downstreams[index].exchange;
        let done = match exchange.answer.forward(bytes, &mut self.head, &mut exchange.copies) {
            Ok(done) => done,
            Err(refusal) => {
                return self.instance_failed(index, Failure::Malformed(Broken::Rule(refusal)));
            }
        };
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

    /// The response is complete.
    pub(super) fn finish(&mut self, index: usize) {
        self.finish_copies(index);
        let now = self.now;
        let exchange = &mut self.downstreams[index].exchange;
        let (Some(local), Some(forwarded)) = (exchange.end(), exchange.answer.finish()) else { return };
        let (request, answer, placement) = (&exchange.request, &exchange.answer, &mut exchange.placement);
        let upstream = placement.take_upstream();
        let (at, instance) = (placement.pool(), placement.instance());
        let pool = &local.shared.settings.pools[at];
        let first_byte = answer.first_byte().unwrap_or(now).since(placement.sent());
        let (method, status, total) = (request.method(), answer.status(), now.since(request.arrived()));
        let (waited, stay_away) = (exchange.admission.waited(), answer.stay_away());
        local.count(exchange.route(), |count| count.answered(method, status, total, first_byte, waited));
        local.shared.pools[at].times.record(total, Some(first_byte));
        local.pools[at].borrow().finished(instance, forwarded.status(), total);
        self.release(index, &local, outcome(forwarded.status(), first_byte, stay_away));
        self.log_line(index, Some(&local), now, "-");
        if let Some(upstream) = upstream {
            self.put_back(upstream, pool, forwarded.is_reusable(), now);
        }
        self.end_exchange(index, forwarded.closes() || self.is_draining(), now);
        self.resume(downstream_token(index));
    }

    /// Tells the client, in the head of its response, which instance its requests go to from now on.
    fn set_cookie(&mut self, index: usize) {
        let exchange = &self.downstreams[index].exchange;
        let Some(local) = exchange.local() else { return };
        let number = exchange.placement.pool();
        let value = local.pools[number].borrow().cookie_for(exchange.placement.instance());
        if let Some(value) = value {
            pool::add_cookie(&mut self.head, &local.shared.settings.pools[number], value);
        }
    }
}

/// Adds up the `Server-Timing` metrics of the instance that the route asks for.
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
