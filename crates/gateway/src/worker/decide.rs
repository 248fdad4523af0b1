//! Decides whether a request may pass: checks the rule and the limits of its route, and sends the response of requests
//! that are shed.
//!
//! A rule that fails sheds nothing: its request goes on to the limits of the route, and the failure is counted.
//!
//! The limits themselves are checked in `admit`.

use super::admit::Fate;
use super::connection::{Pause, Phase, RuleTurn};
use super::exchange::Exchange;
use super::rules::Logged;
use super::{Worker, claims, downstream_token};
use crate::answer;
use crate::local::Local;
use crate::route;
use crate::settings::ShedAnswer;
use control::admission::{Brought, Reason};
use control::rate::{Claim, RateClass, Turn};
use http::codec::Limits;
use http::codec::header::slots;
use http::codec::request::{self, RequestHead};
use http::reactor::Net;
use rule::{Host, Outcome, RateClassId, RuleError, ServiceLevelId};
use status::reason;
use std::borrow::Cow;
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use units::{Ratio, Timestamp};

impl<N: Net> Worker<N> {
    /// Decides on a request that has just been read; `bytes` begin with its head.
    pub(super) fn decide(
        &mut self,
        index: usize,
        head: &RequestHead<'_, '_>,
        bytes: &[u8],
        now: Timestamp,
    ) -> Fate {
        let exchange = &mut self.downstreams[index].exchange;
        let Some(local) = exchange.local().cloned() else { return Fate::Over };
        let limits = &local.shared.routes[exchange.route()];
        if !limits.is_plain {
            let client = exchange.request.client();
            let claims = claims::read(&local, limits, head, client, now, &mut self.key);
            exchange.admission.claim(claims);
        }
        let (Some(machine), Some(rule)) = (&local.machine, &local.rules[exchange.route()]) else {
            return self.ask_limits(index, now);
        };
        let mut asked = Asked::new(&local, exchange, head, now);
        let outcome = machine.borrow_mut().run(rule, &mut asked);
        let answers = asked.answers;
        self.follow(index, outcome, answers, &bytes[..head.head_len], now)
    }

    /// Carries out the decision of a rule.
    fn follow(
        &mut self,
        index: usize,
        outcome: Result<Outcome, RuleError>,
        answers: Answers,
        head: &[u8],
        now: Timestamp,
    ) -> Fate {
        let Answers { level, turn, refused, logged } = answers;
        self.take_lines(index, logged);
        let downstream = &mut self.downstreams[index];
        let exchange = &mut downstream.exchange;
        let Some(local) = exchange.local().cloned() else { return Fate::Over };
        exchange.answer.judge_by(level);
        match (outcome, turn) {
            (Ok(Outcome::Waiting(suspended)), Some((class, turn))) => {
                let owner = (downstream_token(index), downstream.generation);
                self.timers.set(owner, &mut downstream.deadline, turn.at());
                let waiting = RuleTurn { class, turn, suspended, head: head.to_vec(), since: now };
                downstream.phase = Phase::Waiting(Pause::Rule(waiting));
                Fate::Waits
            }
            (outcome, turn) => {
                // A delay without a suspended rule: the rule has failed since.
                if let Some((class, turn)) = turn {
                    class.give_up(turn);
                }
                match outcome {
                    Ok(Outcome::Pass(changes)) => {
                        self.change_request(index, &changes, head);
                        self.ask_limits(index, now)
                    }
                    Ok(Outcome::Respond(response)) => self.respond(index, &response),
                    Ok(Outcome::Shed(class)) => match refused {
                        Some(reason) => self.shed(index, reason),
                        None => {
                            let class = local.shared.rates[class.0 as usize].id();
                            self.shed(index, Reason::BacklogFull { class, bound: 0, waiting: 0 })
                        }
                    },
                    Ok(Outcome::Waiting(_)) | Err(_) => {
                        if let Err(error) = outcome {
                            self.rule_failed(index, "request", error);
                        }
                        self.ask_limits(index, now)
                    }
                }
            }
        }
    }

    /// Sends the response of a rule.
    fn respond(&mut self, index: usize, response: &rule::Response) -> Fate {
        let exchange = &self.downstreams[index].exchange;
        if let Some(local) = exchange.local() {
            local.count(exchange.route(), |count| count.shed(reason::request::RULE));
        }
        let frame = self.frame(index);
        let body_bytes = self.write_response(response, frame);
        self.answer_self(index, response.status, reason::request::RULE, body_bytes, frame);
        Fate::Over
    }

    /// Checks the limits of the route.
    fn ask_limits(&mut self, index: usize, now: Timestamp) -> Fate {
        let exchange = &self.downstreams[index].exchange;
        let Some(local) = exchange.local() else { return Fate::Over };
        if local.shared.routes[exchange.route()].is_plain {
            self.ask_admission(index, Brought::default(), now)
        } else {
            self.ask_keyed(index, 0, now)
        }
    }

    /// The delay of a waiting request is over, or its time to wait has expired.
    pub(super) fn turn_came(&mut self, index: usize, now: Timestamp) {
        let downstream = &mut self.downstreams[index];
        let exchange = &mut downstream.exchange;
        let Some(local) = exchange.local().cloned() else { return };
        let fate = match std::mem::replace(&mut downstream.phase, Phase::Active) {
            // The loop may notice a turn a little later. The limits decide as of the turn, so that the precision of
            // timers does not change their decisions.
            Phase::Waiting(Pause::Limits(ticket)) => {
                let turn = ticket.at();
                self.have_turn(index, ticket, turn)
            }
            Phase::Waiting(Pause::Rule(waiting)) => self.resume_rule(index, &local, waiting, now),
            Phase::Waiting(Pause::Key(waiting)) => {
                let turn = waiting.at();
                exchange.admission.add_wait(turn.since(waiting.since()));
                self.ask_keyed(index, waiting.came(), turn)
            }
            Phase::Waiting(Pause::Queue(queued)) => self.waited_too_long(index, &local, &queued, now),
            phase => {
                downstream.phase = phase;
                Fate::Over
            }
        };
        self.send_if(fate, index);
        self.resume(downstream_token(index));
    }

    fn resume_rule(&mut self, index: usize, local: &Rc<Local>, waiting: RuleTurn, now: Timestamp) -> Fate {
        self.downstreams[index].exchange.admission.add_wait(now.since(waiting.since));
        waiting.class.turn_came(waiting.turn);
        let mut slots = slots();
        let head = request::parse(&waiting.head, &Limits::WIDEST, &mut slots);
        let (Ok(Some(head)), Some(machine)) = (head, &local.machine) else {
            return self.ask_limits(index, now);
        };
        let mut asked = Asked::new(local, &self.downstreams[index].exchange, &head, now);
        let outcome = machine.borrow_mut().resume(waiting.suspended, &mut asked);
        let answers = asked.answers;
        self.follow(index, outcome, answers, &waiting.head, now)
    }

    /// Sheds a request: sends its response.
    pub(super) fn shed(&mut self, index: usize, reason: Reason) -> Fate {
        let exchange = &mut self.downstreams[index].exchange;
        let Some(local) = exchange.local().cloned() else { return Fate::Over };
        let route = &local.shared.settings.routes[exchange.route()];
        local.count(exchange.route(), |count| count.shed(reason.name()));
        // A policy stays engaged while its own limits refuse; limits that always apply do not indicate overload.
        if local.shared.routes[exchange.route()].is_gated(reason.class()) {
            exchange.answer.count_shed(&local);
        }
        if exchange.admission.is_admitted() {
            // It was being sent to an instance.
            self.release(index, &local, control::balance::Outcome::Cancelled);
        }
        let retry_after = reason.retry_after(&mut self.rng);
        let frame = self.frame(index);
        self.head.clear();
        let body_bytes = answer::shed(&mut self.head, &route.shed, reason.name(), retry_after, frame);
        let status = if matches!(route.shed, ShedAnswer::Redirect { .. }) { 302 } else { 503 };
        self.answer_self(index, status, reason.name(), body_bytes, frame);
        Fate::Over
    }
}

/// What a rule can read and use, for one activation.
pub(super) struct Asked<'a> {
    local: &'a Rc<Local>,
    route: usize,
    head: &'a RequestHead<'a, 'a>,
    path: Cow<'a, str>,
    query: Option<&'a str>,
    client: IpAddr,
    client_leaves: Timestamp,
    now: Timestamp,
    pub(super) answers: Answers,
}

/// What a rule has set, logged and reserved.
#[derive(Default)]
pub(super) struct Answers {
    level: Option<usize>,
    turn: Option<(Arc<RateClass<AtomicU64>>, Turn)>,
    refused: Option<Reason>,
    pub(super) logged: Logged,
}

impl<'a> Asked<'a> {
    /// For the request with this `head`.
    pub(super) fn new(
        local: &'a Rc<Local>,
        exchange: &'a Exchange,
        head: &'a RequestHead<'a, 'a>,
        now: Timestamp,
    ) -> Self {
        // In origin form and ASCII, whatever its original form.
        let target = std::str::from_utf8(exchange.request.target()).unwrap_or_default();
        let path = route::normal(route::path_of(target));
        let query = target.split_once('?').map(|(_, query)| query);
        let (route, client) = (exchange.route(), exchange.request.client());
        let client_leaves = exchange.admission.deadline();
        Asked { local, route, head, path, query, client, client_leaves, now, answers: Answers::default() }
    }

    fn class(&self, class: RateClassId, key: Option<&[u8]>) -> Arc<RateClass<AtomicU64>> {
        let index = class.0 as usize;
        match key {
            None => Arc::clone(&self.local.shared.rates[index]),
            Some(value) => {
                let mut key = Vec::new();
                claims::write_value(value, &mut key);
                self.local.shared.keyed[index].class(self.now, &key)
            }
        }
    }
}

impl Asked<'_> {
    fn is_shadow(&self, class: RateClassId) -> bool {
        self.local.shared.settings.rate_classes[class.0 as usize].settings.shadow
    }

    /// A rate class in shadow counts, and lets every request pass.
    fn watch(&self, class: &RateClass<AtomicU64>) {
        if let Err(reason) = class.watch(self.now) {
            self.local.count(self.route, |count| count.would_shed(reason.name()));
        }
    }
}

impl Host for Asked<'_> {
    fn path(&self) -> &[u8] {
        self.path.as_bytes()
    }

    fn method(&self) -> &[u8] {
        self.head.method.as_bytes()
    }

    fn header(&self, name: &[u8]) -> Option<&[u8]> {
        self.head.headers.find(std::str::from_utf8(name).ok()?)
    }

    fn query(&self) -> Option<&str> {
        self.query
    }

    fn host(&self) -> Option<&str> {
        self.head.host
    }

    fn cookies(&self) -> Cow<'_, [u8]> {
        let mut fields =
            self.head.headers.all().iter().filter(|field| field.name.eq_ignore_ascii_case("cookie"));
        let first = fields.next().map_or(b"".as_slice(), |field| field.value);
        fields.fold(Cow::Borrowed(first), |mut all, field| {
            all.to_mut().extend_from_slice(b"; ");
            all.to_mut().extend_from_slice(field.value);
            all
        })
    }

    fn client(&self) -> IpAddr {
        self.client
    }

    fn log(&mut self, line: &str) {
        self.answers.logged.add(line);
    }

    fn set_service_level(&mut self, class: ServiceLevelId) {
        self.answers.level = Some(class.0 as usize);
    }

    fn conforming(&self, class: ServiceLevelId) -> Ratio {
        self.local.shared.levels[class.0 as usize].conforming()
    }

    fn backlog(&self, class: RateClassId, key: Option<&[u8]>) -> u32 {
        self.class(class, key).backlog()
    }

    fn claim(&mut self, class: RateClassId, key: Option<&[u8]>) -> rule::Claim {
        let shadow = self.is_shadow(class);
        let class = self.class(class, key);
        if shadow {
            self.watch(&class);
            return rule::Claim::Now;
        }
        match class.claim_before(self.now, self.client_leaves) {
            Claim::Now => rule::Claim::Now,
            Claim::At(turn) => {
                self.answers.turn = Some((class, turn));
                rule::Claim::Wait
            }
            Claim::Shed(reason) => {
                self.answers.refused = Some(reason);
                rule::Claim::Shed
            }
        }
    }

    fn claim_at_once(&mut self, class: RateClassId, key: Option<&[u8]>) -> bool {
        let shadow = self.is_shadow(class);
        let class = self.class(class, key);
        if shadow {
            self.watch(&class);
            return true;
        }
        class.claim_no_queue(self.now).is_ok()
    }
}
