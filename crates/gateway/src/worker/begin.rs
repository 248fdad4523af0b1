//! A request begins: its head is read and routed, decided about and written anew for the instance.

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

    /// A head was read: it takes the place of the request before. Gives what is known of its way to us.
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

    /// The route of a request; `None` where there is none or the request is for a WebSocket, and the client was told.
    #[inline]
    fn find_route(&mut self, index: usize, head: &RequestHead<'_, '_>, target: &str) -> Option<usize> {
        let Some(route) = self.local.shared.index.find(head.host, route::path_of(target)) else {
            self.counts.unrouted += 1;
            let detail = "no route of the gateway is for this host and path";
            self.answer_problem(index, Problem { status: 404, name: reason::request::NO_ROUTE, detail });
            return None;
        };
        if head.upgrade.is_some_and(|protocol| protocol.eq_ignore_ascii_case(b"websocket")) {
            // What stands behind may be of the other protocol already.
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

    /// Follows what came of the body, which goes along with the head; `None` where it breaks its framing and the client
    /// was told.
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

    /// From here on the request is of a route of the configuration in force. `head` is its head as it came.
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

    /// Whether a body is longer than this service takes, by what its head says or by what came of it.
    #[inline]
    fn is_too_large(&self, head: &RequestHead<'_, '_>, came: &Part) -> bool {
        let Some(most) = self.local.shared.settings.limits.body_max else { return false };
        let said = if let Body::Length(length) = head.framing { length } else { 0 };
        said.max(came.used as u64) > most.get()
    }

    /// Asks rule and limits about a request, and sends it on if it may; `bytes` begin with its head.
    #[inline]
    fn let_in(&mut self, index: usize, route: usize, unwritten: &Unwritten<'_>, bytes: &[u8]) {
        // A rule changes what is written.
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
