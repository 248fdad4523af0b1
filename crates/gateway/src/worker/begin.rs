//! The start of a request: its head is read, routed, decided on, and rewritten for the instance.

use super::Worker;
use super::admit::Fate;
use super::exchange::{Arrival, Exchange, Part};
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
use status::reason;

/// What was done with the bytes of a head.
pub(super) enum Begun {
    /// The head, or a body that is buffered first, is not complete.
    More,
    /// This many bytes were used.
    Used(usize),
}

/// A request that was read, and the parts of it to be written.
struct Unwritten<'a> {
    head: &'a RequestHead<'a, 'a>,
    /// In origin form.
    target: &'a str,
    hops: &'a Hops,
    /// The part of the body that arrived with the head.
    body: &'a [u8],
    /// The part of its trailers that followed.
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

    /// The input is not a request: clears the previous one, so that the response carries nothing of it.
    pub(super) fn begin_nothing(&mut self, index: usize) {
        let (at, wall_us) = (self.now, self.wall_us(self.now));
        let downstream = &mut self.downstreams[index];
        let arrival = Arrival { at, wall_us, client: downstream.client.ip() };
        downstream.exchange = Exchange::without_request(arrival);
    }

    /// Begins a request, whose head is at the start of `bytes`; returns how many bytes of head and body were used.
    fn begin_request(&mut self, index: usize, head: &RequestHead<'_, '_>, bytes: &[u8]) -> usize {
        let rest = &bytes[head.head_len..];
        let target: &str = &head.target.origin_form(head.method);
        let hops = self.take_request(index, head, target, rest.is_empty());
        let Some(route) = self.find_route(index, head, target) else { return head.head_len };
        let Some(came) = self.begin_body(index, rest) else { return bytes.len() };
        let used = head.head_len + came.used;
        self.take_route(index, route, &bytes[..head.head_len], &hops);
        if self.is_too_large(head, &came) {
            self.fail_request(index, TOO_LARGE);
            return used;
        }
        let (body, trailers) = rest[..came.used].split_at(came.before_trailers);
        let unwritten = Unwritten { head, target, hops: &hops, body, trailers };
        self.more_follows = bytes.len() > used;
        self.let_in(index, route, &unwritten, bytes);
        self.more_follows = false;
        used
    }

    /// Replaces the previous request by a head that was just read. Returns what is known of the hops before the
    /// gateway.
    #[inline]
    fn take_request(&mut self, index: usize, head: &RequestHead<'_, '_>, target: &str, alone: bool) -> Hops {
        let (at, wall_us) = (self.now, self.wall_us(self.now));
        let settings = &self.local.shared.settings;
        let downstream = &mut self.downstreams[index];
        downstream.head_since = None;
        downstream.deadline.clear();
        downstream.requests = downstream.requests.saturating_add(1);
        downstream.pace = Pace::of_answer(&settings.limits);
        let (peer, trusted) = (downstream.client.ip(), &settings.trusted_hops);
        let hops = if trusted.is_empty() { Hops::none(peer) } else { Hops::of(head, peer, trusted, wall_us) };
        let arrival = Arrival { at, wall_us, client: hops.client };
        downstream.exchange.begin(arrival, head, target, alone);
        if self.log.wants_agent() {
            downstream.exchange.request.keep_agent(head);
        }
        hops
    }

    /// The route of a request; `None` if there is none or the request is for a WebSocket, and an error was sent.
    #[inline]
    fn find_route(&mut self, index: usize, head: &RequestHead<'_, '_>, target: &str) -> Option<usize> {
        let Some(route) = self.local.shared.index.find(head.host, route::path_of(target)) else {
            self.counts.unrouted += 1;
            let detail = "no route of the gateway is for this host and path";
            self.answer_problem(index, Problem { status: 404, name: reason::request::NO_ROUTE, detail });
            return None;
        };
        if head.upgrade.is_some_and(|protocol| protocol.eq_ignore_ascii_case(b"websocket")) {
            // The bytes that follow may already belong to the other protocol.
            self.downstreams[index].exchange.request.close_connection();
            self.counts.bad_requests += 1;
            let detail = "the gateway carries no WebSocket: connect to the service itself";
            self.answer_problem(
                index,
                Problem { status: 501, name: reason::request::UPGRADE_UNSUPPORTED, detail },
            );
            return None;
        }
        Some(route)
    }

    /// Reads the part of the body that arrived with the head; `None` if its framing is broken and an error was sent.
    #[inline]
    fn begin_body(&mut self, index: usize, rest: &[u8]) -> Option<Part> {
        let downstream = &mut self.downstreams[index];
        if downstream.exchange.request.is_whole() {
            return Some(Part::default());
        }
        downstream.trailers.clear();
        match downstream.exchange.request.begin_body(rest) {
            Ok(came) => {
                downstream.pace = Pace::of_upload(&self.local.shared.settings.limits, came.used as u64);
                Some(came)
            }
            Err(refusal) => {
                self.refuse(index, refusal);
                None
            }
        }
    }

    /// Binds the request to a route of the configuration in force. `head` is its original head.
    #[inline]
    fn take_route(&mut self, index: usize, route: usize, head: &[u8], hops: &Hops) {
        let exchange = &mut self.downstreams[index].exchange;
        exchange.take_route(&self.local, route);
        if self.local.response_rules[route].is_some() {
            exchange.request.keep_head(head);
        }
        if let Some(age) = hops.age {
            self.local.count(route, |count| count.reported.before(age));
        }
    }

    /// Whether a body is longer than this service accepts, by its head or by what has arrived.
    #[inline]
    fn is_too_large(&self, head: &RequestHead<'_, '_>, came: &Part) -> bool {
        let Some(most) = self.local.shared.settings.limits.body_max else { return false };
        let said = if let Body::Length(length) = head.framing { length } else { 0 };
        said.max(came.used as u64) > most.get()
    }

    /// Checks rule and limits for a request, and sends it if it is admitted; `bytes` begin with its head.
    #[inline]
    fn let_in(&mut self, index: usize, route: usize, unwritten: &Unwritten<'_>, bytes: &[u8]) {
        // A rule changes the rewritten head.
        let has_rule = self.local.rules[route].is_some();
        if has_rule {
            self.write_request(index, unwritten);
        }
        let fate = self.decide(index, unwritten.head, bytes, self.now);
        if fate != Fate::Over && !has_rule {
            self.write_request(index, unwritten);
        }
        self.send_if(fate, index);
    }

    /// Writes what the instance is sent: the head, and the part of the body that arrived with it. This waits until the
    /// request is admitted, since refusals have to be cheap.
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

    /// Sends an error for a request that violates HTTP, and closes the connection.
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
