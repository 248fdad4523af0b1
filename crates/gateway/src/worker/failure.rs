//! An instance sent no complete response, or a request cannot go on: tries another instance where that is safe, or
//! sends an error to the client.

use super::{Worker, downstream_token};
use crate::answer::Problem;
use crate::control_room::MalformedAnswer;
use crate::local::Local;
use crate::metrics::pools::Retry;
use control::balance::Outcome;
use http::codec::Refusal;
use http::reactor::Net;
use status::reason::request;
use std::fmt;
use std::net::SocketAddr;

/// Why an instance sent no complete response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Failure {
    /// No connection: nothing was sent.
    Unreachable,
    /// No connection in time: nothing was sent.
    ConnectTimeout,
    /// The connection broke, or ended before the response did.
    Broke,
    /// No response, or no more of it, in time.
    Timeout,
    /// The response violated this rule of HTTP.
    Malformed(Broken),
}

/// The rule that a response violated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Broken {
    Rule(Refusal),
    /// It switches to a protocol that was not requested.
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

/// For people.
impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Broken::Rule(refusal) => refusal.fmt(f),
            Broken::Switched => f.write_str("it switches to a protocol that was not asked for (101)"),
        }
    }
}

impl Failure {
    pub(super) fn problem(self) -> Problem<'static> {
        let (status, name, detail) = match self {
            Failure::Unreachable => (502, request::UPSTREAM_UNREACHABLE, "no instance accepts connections"),
            Failure::ConnectTimeout => {
                (504, request::UPSTREAM_CONNECT_TIMEOUT, "no instance accepted the connection in time")
            }
            Failure::Broke => {
                (502, request::UPSTREAM_BROKE, "the instance closed the connection before the response")
            }
            Failure::Timeout => (504, request::UPSTREAM_TIMEOUT, "the instance did not respond in time"),
            Failure::Malformed(_) => {
                (502, request::UPSTREAM_MALFORMED, "the instance's response violates HTTP")
            }
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
    /// An instance sent no complete response: tries another where that is safe, or sends an error to the client.
    pub(super) fn instance_failed(&mut self, index: usize, failure: Failure) {
        let exchange = &mut self.downstreams[index].exchange;
        let Some(local) = exchange.local().cloned() else { return };
        let pool = exchange.placement.pool();
        let upstream = exchange.placement.take_upstream();
        let connection = upstream.and_then(|upstream| self.upstreams.get(upstream));
        let stale = connection.is_some_and(|connection| connection.reused && connection.input.is_empty());
        let why = match failure {
            Failure::Unreachable => Some(Retry::Unreachable),
            Failure::ConnectTimeout => Some(Retry::ConnectTimeout),
            // A connection that the instance was closing anyway is no evidence against the instance.
            Failure::Broke if stale => Some(Retry::Stale),
            Failure::Broke => Some(Retry::Broke),
            Failure::Timeout | Failure::Malformed(_) => None,
        };
        let why = why.filter(|_| !exchange.answer.is_forwarded());
        if let Some(upstream) = upstream {
            self.upstreams.remove(upstream);
        }
        if let Some(why) = why
            && self.may_retry(index, &local, why)
        {
            let now = self.now;
            let placement = &mut self.downstreams[index].exchange.placement;
            let (instance, outcome) = match why {
                Retry::Stale => (placement.again_after_stale(), Outcome::Cancelled),
                Retry::Unreachable | Retry::ConnectTimeout | Retry::Broke => {
                    (placement.again_elsewhere(), failure.outcome())
                }
            };
            local.pools[pool].borrow_mut().ended(now, instance, outcome);
            self.leave_instance(index, &local);
            if why.was_sent() {
                // The other idle connections to it are as old: they would only cost more tries.
                let number = local.pools[pool].borrow().number(instance);
                for idle in std::mem::take(&mut self.instances[number].idle) {
                    self.upstreams.remove(idle);
                }
            }
            return self.dispatch(index);
        }
        let exchange = &mut self.downstreams[index].exchange;
        exchange.answer.count_late(&local);
        let problem = failure.problem();
        local.count(exchange.route(), |count| count.failed(problem.name));
        if let Failure::Malformed(broken) = failure {
            let instance = local.pools[pool].borrow().address(exchange.placement.instance());
            exchange.answer.broke(broken.name(), instance);
            self.note_malformed(instance, broken);
        }
        self.release(index, &local, failure.outcome());
        // Where the client has nothing of the response yet, an error can be sent.
        if !self.downstreams[index].exchange.answer.take_back() {
            return self.break_off(index, problem.name);
        }
        self.answer_problem(index, problem);
        self.resume(downstream_token(index));
    }

    /// Keeps the last malformed response until the next tick, and counts them.
    #[cold]
    fn note_malformed(&mut self, instance: SocketAddr, broken: Broken) {
        let before = self.malformed.take().map_or(0, |malformed| malformed.count);
        let (rule, detail) = (broken.name(), broken.to_string());
        self.malformed = Some(MalformedAnswer { instance, rule, detail, count: before + 1 });
    }

    /// Whether a request without a response may be sent to an instance once more.
    fn may_retry(&mut self, index: usize, local: &Local, why: Retry) -> bool {
        let exchange = &self.downstreams[index].exchange;
        let (request, placement) = (&exchange.request, &exchange.placement);
        let pool = placement.pool();
        let tries = local.shared.settings.pools[pool].retries.tries;
        let mut pool = local.pools[pool].borrow_mut();
        let harmless = request.is_repeatable();
        let tried = placement.failed().len() as u32 + 1;
        let (safe, tries_left, costs) = match why {
            Retry::Unreachable | Retry::ConnectTimeout => {
                (true, tried < pool.len().min(CONNECT_TRIES), false)
            }
            // Only the first try uses a kept connection, and it does not count: as far as is known, the instance was
            // closing the connection independently of the request. But if the connection took all of the request, the
            // instance may have processed it: an instance that was killed looks the same.
            Retry::Stale => (harmless, tries > 1, placement.sends() > 0),
            // A request that may have broken an instance is not sent to the same one again.
            Retry::Broke => (harmless, placement.sends() < tries && tried < pool.len(), true),
        };
        pool.may_retry(self.now, why, safe, tries_left, costs)
    }

    /// Ends a request that cannot go on because of the gateway or the client.
    pub(super) fn fail_request(&mut self, index: usize, problem: Problem<'_>) {
        let exchange = &mut self.downstreams[index].exchange;
        if let Some(upstream) = exchange.placement.take_upstream() {
            self.upstreams.remove(upstream);
        }
        let Some(local) = exchange.local().cloned() else { return };
        local.count(exchange.route(), |count| count.failed(kind_of(problem.name)));
        self.release(index, &local, Outcome::Cancelled);
        let exchange = &mut self.downstreams[index].exchange;
        if exchange.answer.is_forwarded() {
            return self.break_off(index, problem.name);
        }
        exchange.request.close_connection();
        self.answer_problem(index, problem);
    }

    /// The client has the beginning of a response: only a broken connection tells it that the response is incomplete.
    fn break_off(&mut self, index: usize, reason: &str) {
        let local = self.downstreams[index].exchange.end();
        self.log_line(index, local.as_ref(), self.now, reason);
        self.break_downstream(index);
    }
}

/// Metrics have a few kinds; all violations of HTTP by clients are one kind.
fn kind_of(name: &str) -> &'static str {
    match name {
        request::UPSTREAM_UNREACHABLE => request::UPSTREAM_UNREACHABLE,
        request::BODY_TIMEOUT => request::BODY_TIMEOUT,
        request::BODY_TOO_LARGE => request::BODY_TOO_LARGE,
        _ => request::BAD_REQUEST,
    }
}

/// Instances that one request tries to connect to, if none of them accepts connections.
const CONNECT_TRIES: u32 = 8;
