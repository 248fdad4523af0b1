//! Answers of instances on their way to the client: head rewritten, body as it comes.

use super::exchange::Answer;
use super::failure::{Broken, Failure};
use super::mirror::Copies;
use super::pace::Pace;
use super::{Worker, downstream_token};
use crate::answer::Connection;
use crate::forward;
use crate::local::Local;
use crate::pool;
use crate::server_timing;
use control::balance::Outcome;
use http::codec::Body;
use http::codec::body::Decoder;
use http::codec::header::slots;
use http::codec::response::{self, AnswerTo, ResponseHead};
use http::reactor::Net;
use std::time::Duration;

impl<N: Net> Worker<N> {
    /// Bytes of an answer.
    pub(super) fn received(&mut self, upstream: usize, index: usize, bytes: &[u8]) {
        if self.downstreams[index].exchange.answer.is_some() {
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

    /// Reads an answer's head and forwards it with what came of the body. Gives how many bytes were used while the
    /// head is not whole; `None` once it is.
    fn answer_head(&mut self, index: usize, bytes: &[u8]) -> Option<usize> {
        let mut used = 0;
        loop {
            let mut slots = slots();
            let limits = &self.local.shared.settings.limits.answer_head;
            let exchange = &mut self.downstreams[index].exchange;
            let answer_to = if exchange.head_only { AnswerTo::Head } else { AnswerTo::Other };
            let head = match response::parse(&bytes[used..], answer_to, limits, &mut slots) {
                Ok(Some(head)) => head,
                Ok(None) => return Some(used),
                Err(refusal) => {
                    self.instance_failed(index, Failure::Malformed(Broken::Rule(refusal)));
                    return None;
                }
            };
            used += head.head_len;
            if head.status == 101 {
                // We never ask for another protocol.
                self.instance_failed(index, Failure::Malformed(Broken::Switched));
                return None;
            }
            if head.status < 200 {
                // HTTP/1.0 knows none, and who does not wait for leave has no use for it.
                if !exchange.old && (head.status != 100 || exchange.expects_continue) {
                    exchange.expects_continue &= head.status != 100;
                    self.head.clear();
                    forward::interim(&mut self.head, &head);
                    let downstream = &mut self.downstreams[index];
                    if downstream.outbox.send(&mut self.net, &mut downstream.stream, &self.head).is_err() {
                        self.abort(index);
                        return None;
                    }
                    // Hints are no progress: an instance cannot live on them for ever.
                    if head.status == 100 || !downstream.outbox.is_empty() {
                        self.await_progress(index);
                    }
                }
                if let Some(upstream) = self.downstreams[index].exchange.upstream {
                    // It has seen the request: should it break now, it was not closing before.
                    self.upstreams[upstream].reused = false;
                }
                continue;
            }
            exchange.expects_continue = false;
            let now = self.now;
            exchange.first_byte = Some(now);
            exchange.status = head.status;
            self.downstreams[index].pace = Pace::of_answer(&self.local.shared.settings.limits);
            let exchange = &mut self.downstreams[index].exchange;
            let unchunk = exchange.old && head.framing == Body::Chunked;
            let until_close = head.framing == Body::UntilClose;
            // An answer before the end of the request: the rest of the request has no reader any more.
            let early = !exchange.body.is_done();
            let close = !exchange.keep_alive || unchunk || until_close || early || self.drain_until.is_some();
            let framed = if unchunk { Body::UntilClose } else { head.framing };
            exchange.answer = Some(Answer {
                status: head.status,
                begun: false,
                body: Decoder::new(head.framing),
                unchunk,
                close,
                until_close: framed == Body::UntilClose,
                reusable: head.keep_alive && !early,
            });
            if let Some(local) = &exchange.local {
                let wanted = &local.shared.settings.routes[exchange.route].server_timing;
                if !wanted.is_empty() {
                    note_server_timing(local, exchange.route, wanted, &head);
                }
            }
            if let (Some(local), Some(level)) = (&exchange.local, exchange.level) {
                let elapsed = now.since(exchange.sent);
                local.times.borrow_mut()[level].record(elapsed);
                if !exchange.late {
                    let conforms = local.shared.levels[level].settings.conforms(head.status, elapsed);
                    local.tally(Some(level), |tally| tally.record(conforms));
                }
            }
            // 429 speaks to one client, 503 of the instance.
            if head.status == 503 {
                exchange.stay_away = head.headers.find("retry-after").and_then(seconds);
            }
            self.head.clear();
            forward::response(&mut self.head, &head, framed, Connection::of(close, exchange.old));
            match self.ask_response_rule(index, &head) {
                None => {
                    // After the rule, which knows nothing of our cookie and may not take it away.
                    if self.downstreams[index].exchange.sets_cookie {
                        self.set_cookie(index);
                    }
                    self.forward_answer(index, &bytes[used..]);
                }
                Some(response) => self.replace_answer(index, &response, &bytes[used..]),
            }
            return None;
        }
    }

    /// Sends what stands in `head` and the body's next bytes to the client.
    fn forward_answer(&mut self, index: usize, bytes: &[u8]) {
        let exchange = &mut self.downstreams[index].exchange;
        let Some(answer) = &mut exchange.answer else { return };
        let mut used = 0;
        loop {
            let step = match answer.body.decode(&bytes[used..]) {
                Ok(step) => step,
                Err(refusal) => {
                    return self.instance_failed(index, Failure::Malformed(Broken::Rule(refusal)));
                }
            };
            exchange.body_bytes += step.data.len() as u64;
            if let Copies::Some(taken) = &mut exchange.copies {
                taken.answered(&bytes[used..][step.data.clone()]);
            }
            if answer.unchunk {
                self.head.extend_from_slice(&bytes[used..][step.data]);
            }
            used += step.consumed;
            if step.done || used == bytes.len() {
                break;
            }
        }
        if !answer.unchunk {
            self.head.extend_from_slice(&bytes[..used]);
        }
        // Bytes behind the answer were not asked for.
        answer.reusable &= used == bytes.len();
        answer.begun = true;
        let done = answer.body.is_done();
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

    /// The answer is whole.
    pub(super) fn finish(&mut self, index: usize) {
        self.finish_copies(index);
        let now = self.now;
        let exchange = &mut self.downstreams[index].exchange;
        let (Some(local), Some(answer)) = (exchange.local.take(), exchange.answer.take()) else { return };
        let upstream = exchange.upstream.take();
        let first_byte = exchange.first_byte.unwrap_or(now).since(exchange.sent);
        let (status, waited, total) = (exchange.status, exchange.waited, now.since(exchange.arrived));
        let stay_away = exchange.stay_away;
        let method = &exchange.method;
        local.count(exchange.route, |count| count.answered(method, status, total, first_byte, waited));
        self.release(index, &local, outcome(answer.status, first_byte, stay_away));
        self.downstreams[index].exchange.local = Some(local);
        self.log_line(index, now, "-");
        if let Some(upstream) = upstream {
            self.put_back(upstream, index, answer.reusable, now);
        }
        self.downstreams[index].exchange.local = None;
        self.end_exchange(index, answer.close || self.is_draining(), now);
        self.resume(downstream_token(index));
    }

    /// Tells the client in the head of its answer which instance it belongs to from now on.
    fn set_cookie(&mut self, index: usize) {
        let exchange = &self.downstreams[index].exchange;
        let Some(local) = &exchange.local else { return };
        let number = exchange.pool;
        let value = local.pools[number].borrow().cookie_for(exchange.instance);
        if let Some(value) = value {
            pool::add_cookie(&mut self.head, &local.shared.settings.pools[number], value);
        }
    }
}

/// Adds up what the instance says of the metrics that the route asks for.
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

/// `Retry-After` in seconds; a date is rare enough to be left to the penalty of the balancer.
fn seconds(value: &[u8]) -> Option<Duration> {
    std::str::from_utf8(value).ok()?.parse().ok().map(Duration::from_secs)
}
