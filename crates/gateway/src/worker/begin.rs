//! A request begins: its head is read and routed, decided about and written anew for the instance.

use super::Worker;
use super::admit::Fate;
use super::exchange::{Arrival, Exchange};
use super::gather::TOO_LARGE;
use super::pace::Pace;
use crate::answer::Problem;
use crate::hops::Hops;
use crate::pool;
use crate::route;
use http::codec::header::slots;
use http::codec::request::RequestHead;
use http::codec::{Body, Refusal, request};
use http::reactor::Net;

/// What became of the bytes of a head.
pub(super) enum Begun {
    /// There is no whole head in them yet, or a body that is read first is not whole.
    More,
    /// So many were used.
    Used(usize),
}

/// A request that was read, and what is to be written of it.
struct Unwritten<'a> {
    head: &'a RequestHead<'a, 'a>,
    /// In origin form.
    target: &'a str,
    hops: &'a Hops,
    /// What came of the body along with the head.
    body: &'a [u8],
    /// What came behind that of its trailers.
    trailers: &'a [u8],
}

impl<N: Net> Worker<N> {
    pub(super) fn begin(&mut self, index: usize, bytes: &[u8]) -> Begun {
        let mut slots = slots();
        match request::parse(bytes, &self.local.shared.settings.limits.request_head, &mut slots) {
            Ok(None) => Begun::More,
            Ok(Some(head)) => {
                if self.local.shared.buffers_bodies
                    && let Some(begun) = self.gathers(index, &head, bytes)
                {
                    return begun;
                }
                Begun::Used(self.begin_request(index, &head, bytes))
            }
            Err(refusal) => {
                self.begin_nothing(index);
                self.refuse(index, refusal);
                Begun::Used(bytes.len())
            }
        }
    }

    /// What stands there is no request: forgets the one before, so that its answer says nothing of it.
    pub(super) fn begin_nothing(&mut self, index: usize) {
        let (at, wall_us) = (self.now, self.wall_us(self.now));
        let downstream = &mut self.downstreams[index];
        let arrival = Arrival { at, wall_us, client: downstream.client.ip() };
        downstream.exchange = Exchange::without_request(arrival);
    }

    /// Begins a request, whose head stands at the beginning of `bytes`; gives how many bytes of head and body were
    /// used.
    fn begin_request(&mut self, index: usize, head: &RequestHead<'_, '_>, bytes: &[u8]) -> usize {
        let rest = &bytes[head.head_len..];
        let now = self.now;
        let arrived_us = self.wall_us(now);
        let downstream = &mut self.downstreams[index];
        downstream.head_since = None;
        downstream.deadline.clear();
        downstream.requests = downstream.requests.saturating_add(1);
        downstream.pace = Pace::of_answer(&self.local.shared.settings.limits);
        let peer = downstream.client.ip();
        let trusted = &self.local.shared.settings.trusted_hops;
        let hops =
            if trusted.is_empty() { Hops::none(peer) } else { Hops::of(head, peer, trusted, arrived_us) };
        let target = head.target.origin_form(head.method);
        let target: &str = &target;
        let exchange = &mut downstream.exchange;
        let arrival = Arrival { at: now, wall_us: arrived_us, client: hops.client };
        exchange.begin(arrival, head, target, rest.is_empty());
        if self.log.wants_agent() {
            exchange.request.keep_agent(head);
        }
        let Some(route) = self.local.shared.index.find(head.host, route::path_of(target)) else {
            self.counts.unrouted += 1;
            let detail = "no route of the gateway is for this host and path";
            self.answer_problem(index, Problem { status: 404, name: "no_route", detail });
            return head.head_len;
        };
        if head.upgrade.is_some_and(|protocol| protocol.eq_ignore_ascii_case(b"websocket")) {
            // What stands behind may be of the other protocol already.
            exchange.request.close_connection();
            self.counts.bad_requests += 1;
            let detail = "the gateway carries no WebSocket: connect to the service itself";
            self.answer_problem(index, Problem { status: 501, name: "upgrade_unsupported", detail });
            return head.head_len;
        }
        let (mut used, mut before_trailers) = (0, 0);
        if !exchange.request.is_whole() {
            downstream.trailers.clear();
            // What came of the body goes along with the head.
            match exchange.request.begin_body(rest) {
                Ok(part) => (used, before_trailers) = (part.used, part.before_trailers),
                Err(refusal) => {
                    self.refuse(index, refusal);
                    return head.head_len + rest.len();
                }
            }
            downstream.pace = Pace::of_upload(&self.local.shared.settings.limits, used as u64);
        }
        exchange.take_route(&self.local, route);
        if self.local.response_rules[route].is_some() {
            exchange.request.keep_head(&bytes[..head.head_len]);
        }
        if let Some(age) = hops.age {
            self.local.count(route, |count| count.reported.before(age));
        }
        if let Some(most) = self.local.shared.settings.limits.body_max
            && (matches!(head.framing, Body::Length(length) if length > most.get())
                || used as u64 > most.get())
        {
            self.fail_request(index, TOO_LARGE);
            return head.head_len + used;
        }
        let (body, trailers) = rest[..used].split_at(before_trailers);
        let unwritten = Unwritten { head, target, hops: &hops, body, trailers };
        // A rule changes what is written.
        let has_rule = self.local.rules[route].is_some();
        if has_rule {
            self.write_request(index, &unwritten);
        }
        self.more_follows = bytes.len() > head.head_len + used;
        let fate = self.decide(index, head, bytes, now);
        if fate != Fate::Over && !has_rule {
            self.write_request(index, &unwritten);
        }
        self.send_if(fate, index);
        self.more_follows = false;
        head.head_len + used
    }

    /// Writes what the instance is sent: the head, and what came of the body along with it. Not before the request is
    /// let in, since refusals have to be cheap.
    #[inline]
    fn write_request(&mut self, index: usize, unwritten: &Unwritten<'_>) {
        let Unwritten { head, target, hops, body, trailers } = unwritten;
        let downstream = &mut self.downstreams[index];
        let exchange = &mut downstream.exchange;
        let settings = &self.local.shared.settings;
        let pool = &settings.pools[exchange.placement.pool()];
        let names = &settings.routes[exchange.route()].request_trailers;
        let (request, outgoing) = (&exchange.request, &mut exchange.outgoing);
        outgoing.write_head(head, target, hops, request.arrived_us(), pool, names);
        outgoing.add_body(body);
        if !trailers.is_empty() {
            downstream.trailers.extend_from_slice(trailers);
            if request.is_whole() {
                outgoing.end_body(&downstream.trailers, names);
            }
        }
        exchange.placement.balance_by(pool::key_of(pool, head, request.client()));
    }

    /// Answers a request that broke HTTP, and closes.
    fn refuse(&mut self, index: usize, refusal: Refusal) {
        self.counts.bad_requests += 1;
        let exchange = &mut self.downstreams[index].exchange;
        exchange.request.close_connection();
        let detail = refusal.to_string();
        self.answer_problem(
            index,
            Problem { status: refusal.status(), name: refusal.name(), detail: &detail },
        );
    }
}
