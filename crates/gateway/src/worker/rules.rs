//! Applies what rules change, in the request before it is sent and in the response before it is forwarded, and collects
//! their errors and log lines.
//!
//! ## Why a failed rule changes nothing
//! A rule that fails half-way would leave a message that is partly changed. Its request goes on to the limits, and its
//! response to the client, unchanged; the failure is counted, and the last error is kept for observers.

use super::Worker;
use super::decide::Asked;
use crate::answer::{self, Connection, Frame};
use crate::pool;
use crate::rewrite;
use http::codec::header::slots;
use http::codec::response::ResponseHead;
use http::codec::{Limits, request, write};
use http::reactor::Net;
use rule::{Answered, Changes, RuleError};

/// Lines logged by one run of a rule.
#[derive(Default)]
pub(super) struct Logged {
    kept: Vec<String>,
    count: u64,
}

impl Logged {
    pub(super) fn add(&mut self, line: &str) {
        self.count += 1;
        if self.kept.len() < LINES_PER_TICK {
            self.kept.push(line.to_owned());
        }
    }
}

impl<N: Net> Worker<N> {
    /// Applies the changes of a rule to the request that is about to be sent; `head` is its original head.
    pub(super) fn change_request(&mut self, index: usize, changes: &Changes, head: &[u8]) {
        let exchange = &mut self.downstreams[index].exchange;
        if let Some(pool) = changes.pool {
            let pool = pool.0 as usize;
            if pool != exchange.placement.pool()
                && let Some(local) = exchange.local()
            {
                local.count(exchange.route(), |count| count.rules.rerouted());
                let mut slots = slots();
                // It was parsed before.
                if let Ok(Some(head)) = request::parse(head, &Limits::WIDEST, &mut slots) {
                    let client = exchange.request.client();
                    let key = pool::key_of(&local.shared.settings.pools[pool], &head, client);
                    exchange.placement.balance_by(key);
                }
            }
            exchange.placement.choose_pool(pool);
        }
        if changes.touch_the_head() {
            exchange.outgoing.change(changes);
        }
    }

    /// Runs the response rule of the route on the response whose head is in `head`, and applies the rule's changes to
    /// it. Returns the response that the client gets instead, if there is one.
    pub(super) fn ask_response_rule(
        &mut self,
        index: usize,
        answer: &ResponseHead<'_, '_>,
    ) -> Option<rule::Response> {
        let downstream = &self.downstreams[index];
        let exchange = &downstream.exchange;
        let route = exchange.route();
        let local = exchange.local().filter(|local| local.response_rules[route].is_some())?.clone();
        let (rule, machine) = (local.response_rules[route].as_ref()?, local.machine.as_ref()?);
        let mut slots = slots();
        // It was parsed before.
        let head = request::parse(exchange.request.head(), &Limits::WIDEST, &mut slots).ok()??;
        let mut asked = Asked::new(&local, exchange, &head, self.now);
        let outcome = machine.borrow_mut().run_response(rule, &mut asked, &Seen(answer));
        let logged = asked.answers.logged;
        self.take_lines(index, logged);
        match outcome {
            Ok(Answered::Pass(changes)) => {
                if let Some((status, _)) = changes.status {
                    self.downstreams[index].exchange.answer.change_status(status);
                }
                if changes.touch_the_head() {
                    rewrite::answer(&mut self.head, &changes);
                }
                None
            }
            Ok(Answered::Replace(response)) => Some(response),
            Err(error) => {
                self.rule_failed(index, "response", error);
                None
            }
        }
    }

    /// Sends the response of a response rule in place of the instance's; `rest` is the part of the instance's body that
    /// has arrived.
    pub(super) fn replace_answer(&mut self, index: usize, response: &rule::Response, rest: &[u8]) {
        let draining = self.is_draining();
        let exchange = &mut self.downstreams[index].exchange;
        let frame = exchange.frame(draining);
        let body_bytes = if frame.head_only { 0 } else { response.body.len() as u64 };
        exchange.answer.replace(response.status, body_bytes, rest, frame.connection == Connection::Closes);
        // The instance's response is not read to its end, so there is nothing to compare copies with.
        exchange.copies.forget();
        if let Some(local) = exchange.local() {
            local.count(exchange.route(), |count| count.rules.replaced());
        }
        self.write_response(response, frame);
        let head = std::mem::take(&mut self.head);
        let downstream = &mut self.downstreams[index];
        let sent = downstream.outbox.send(&mut self.net, &mut downstream.stream, &head);
        self.head = head;
        match sent {
            Ok(()) => self.finish(index),
            Err(_) => self.abort(index),
        }
    }

    /// Writes a rule's response into `head`; returns how many bytes of it are the body.
    pub(super) fn write_response(&mut self, response: &rule::Response, frame: Frame) -> usize {
        let reason = response.reason.as_deref().unwrap_or_else(|| write::reason(response.status));
        let headers: Vec<(&str, &[u8])> =
            response.headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
        self.head.clear();
        answer::whole(&mut self.head, response.status, reason, &headers, &response.body, None, frame)
    }

    /// Counts a rule that failed, and keeps its message until the next tick.
    pub(super) fn rule_failed(&mut self, index: usize, rule: &'static str, error: RuleError) {
        let exchange = &self.downstreams[index].exchange;
        if let Some(local) = exchange.local() {
            local.count(exchange.route(), |count| count.rules.failed(rule, error.kind()));
        }
        self.rule_notes.error = Some(error);
    }

    /// Counts the lines that a rule has logged, and keeps the first ones until the next tick.
    pub(super) fn take_lines(&mut self, index: usize, logged: Logged) {
        if logged.count == 0 {
            return;
        }
        let exchange = &self.downstreams[index].exchange;
        let Some(local) = exchange.local() else { return };
        local.count(exchange.route(), |count| count.rules.logged(logged.count));
        let route = &local.shared.settings.routes[exchange.route()].name;
        let room = LINES_PER_TICK.saturating_sub(self.rule_notes.lines.len());
        self.rule_notes.lines.extend(logged.kept.iter().take(room).map(|line| format!("{route}: {line}")));
    }

    /// Passes on the errors and lines of rules since the last tick.
    pub(super) fn tell_of_rules(&mut self) {
        if self.rule_notes.error.is_some() || !self.rule_notes.lines.is_empty() {
            self.room.note_rules(&mut self.rule_notes);
        }
    }
}

/// An instance's response as a rule sees it.
struct Seen<'a>(&'a ResponseHead<'a, 'a>);

impl rule::Answer for Seen<'_> {
    fn status(&self) -> u16 {
        self.0.status
    }

    fn header(&self, name: &[u8]) -> Option<&[u8]> {
        self.0.headers.find(std::str::from_utf8(name).ok()?)
    }
}

/// Lines that a worker shows in a tenth of a second: people read no more, and rules may log for each request.
const LINES_PER_TICK: usize = 2;
