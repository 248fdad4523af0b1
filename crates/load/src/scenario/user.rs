//! One user: determines the next request, and evaluates its response.

mod redirect;

use super::answer::Reader;
use super::cookies::Jar;
use super::template::{Template, Unrendered, Values};
use super::url::{Origin, split};
use super::value::Value;
use super::{Answer, Cookies, Item, Judged, Next, Rendered, Scenario, Step, StepFailure, StepId};
use redirect::Redirect;
use stats::Rng;
use std::borrow::Cow;
use std::time::Duration;
use units::Timestamp;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Between iterations.
    Idle,
    /// The next item of the flow is to be sent.
    Ready,
    /// The request of this step is written; another call returns the same request.
    Waiting(StepId),
    /// The iteration ended.
    Done { completed: bool },
}

/// A virtual user. It has no clock and no socket; the event loop asks for the next action and reports the responses.
#[derive(Debug)]
pub struct User {
    number: u64,
    /// Iterations begun.
    iteration: u64,
    arrival: u64,
    /// Draws for the content of requests; separate from think times, so that other think times do not change requests.
    choices: Rng,
    waits: Rng,
    slots: Vec<Option<Value>>,
    rows: Vec<usize>,
    jar: Jar,
    state: State,
    flow: usize,
    item: usize,
    after: Duration,
    redirect: Option<Redirect>,
    url: Vec<u8>,
    fields: Vec<u8>,
    cookie: Vec<u8>,
    body: Vec<u8>,
}

impl User {
    /// The user with this number, counted from 0, in a run with this seed.
    pub fn new(scenario: &Scenario, number: u64, seed: u64) -> Self {
        // Spreads the numbers over all bits, so that no user shares its stream with one of a nearby seed.
        let own = seed ^ number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        User {
            number,
            iteration: 0,
            arrival: 0,
            choices: Rng::new(own, "scenario choices"),
            waits: Rng::new(own, "scenario waits"),
            slots: vec![None; scenario.definition().names.len()],
            rows: Vec::with_capacity(scenario.definition().feeds.len()),
            jar: Jar::default(),
            state: State::Idle,
            flow: 0,
            item: 0,
            after: Duration::ZERO,
            redirect: None,
            url: Vec::new(),
            fields: Vec::new(),
            cookie: Vec::new(),
            body: Vec::new(),
        }
    }

    /// The next action. Between iterations this begins one, with the number `arrival`, counted from 0 over all users;
    /// otherwise `arrival` is ignored. Before a response it returns the same request again.
    pub fn next<'a>(&'a mut self, scenario: &'a Scenario, arrival: u64, now: Timestamp) -> Next<'a> {
        if self.state == State::Idle && !self.begin(scenario, arrival) {
            return Next::Stop;
        }
        if self.state == State::Ready {
            match self.pick(scenario) {
                None => self.state = State::Done { completed: true },
                Some(step) => {
                    self.redirect = None;
                    if let Err(failure) = self.write(scenario, step, now) {
                        self.end(scenario.step(step));
                        return Next::Failed { step, failure };
                    }
                    self.state = State::Waiting(step);
                }
            }
        }
        match self.state {
            State::Waiting(step) => {
                let request = self.request(scenario.step(step));
                Next::Request { step, request, after: self.after }
            }
            State::Done { completed } => {
                self.state = State::Idle;
                Next::IterationDone { completed, after: std::mem::take(&mut self.after) }
            }
            State::Idle | State::Ready => unreachable!("both were left above"),
        }
    }

    /// The response to the request that [`User::next`] returned last. `now` is when it was complete.
    pub fn answered(&mut self, scenario: &Scenario, now: Timestamp, answer: &Answer) -> Judged {
        let State::Waiting(id) = self.state else { return Judged::default() };
        let step = scenario.step(id);
        self.keep_cookies(scenario, step, now, answer);
        match self.follow(scenario, step, now, answer) {
            Some(Ok(())) => return Judged { redirected: true, ..Judged::default() },
            Some(Err(failure)) => {
                self.end(step);
                return Judged { failure: Some(failure), ..Judged::default() };
            }
            None => {}
        }
        let reader = Reader::new(*answer);
        let checks = step.checks.iter().enumerate();
        let checks = checks.map(|(index, check)| (scenario.check(id, index), check.holds(&reader))).collect();
        let mut failure = None;
        for extract in &step.extract {
            self.slots[extract.slot] = extract.from(&reader);
            if self.slots[extract.slot].is_none() {
                failure = failure.or(Some(StepFailure::NotExtracted { slot: extract.slot }));
            }
        }
        self.end(step);
        if failure.is_none() {
            self.item += 1;
            self.state = State::Ready;
        }
        Judged { checks, failure, redirected: false }
    }

    /// The request that [`User::next`] returned last got no response. Ends the iteration; the think time still applies,
    /// so that a user does not hammer a service that is down.
    pub fn failed(&mut self, scenario: &Scenario) {
        if let State::Waiting(step) = self.state {
            self.end(scenario.step(step));
        }
    }

    fn end(&mut self, step: &Step) {
        self.after = step.think.draw(&mut self.waits);
        self.state = State::Done { completed: false };
    }

    /// Begins an iteration if every feed has a row for it; returns whether it began.
    fn begin(&mut self, scenario: &Scenario, arrival: u64) -> bool {
        let definition = scenario.definition();
        self.rows.clear();
        for feed in &definition.feeds {
            let Some(row) = feed.row(self.number, arrival, &mut self.choices) else { return false };
            self.rows.push(row);
        }
        if definition.cookies == Cookies::Iteration {
            self.jar.clear();
        }
        self.slots.fill(None);
        self.arrival = arrival;
        self.flow = drawn(&mut self.choices, definition.flows.iter().map(|flow| flow.weight));
        (self.item, self.after, self.state) = (0, Duration::ZERO, State::Ready);
        self.iteration += 1;
        true
    }

    /// The step at the current place of the flow.
    fn pick(&mut self, scenario: &Scenario) -> Option<StepId> {
        match scenario.definition().flows[self.flow].items.get(self.item)? {
            Item::Step(step) => Some(*step),
            Item::Mix(mix) => {
                let weights = mix.iter().map(|&(weight, _)| weight);
                Some(mix[drawn(&mut self.choices, weights)].1)
            }
        }
    }

    /// Renders the parts of a step's request that are not fixed.
    fn write(&mut self, scenario: &Scenario, id: StepId, now: Timestamp) -> Result<(), StepFailure> {
        let step = scenario.step(id);
        let values = Values {
            feeds: &scenario.definition().feeds,
            rows: &self.rows,
            slots: &self.slots,
            user: self.number,
            iteration: self.iteration - 1,
            arrival: self.arrival,
        };
        let parts =
            [(&step.url, &mut self.url), (&step.headers, &mut self.fields), (&step.body, &mut self.body)];
        for (template, out) in parts {
            out.clear();
            if template.as_fixed().is_none() {
                template.render(&values, &mut self.choices, out).map_err(|why| match why {
                    Unrendered::Missing(slot) => StepFailure::Missing { slot },
                    Unrendered::LineBreak => StepFailure::LineBreak,
                })?;
            }
        }
        // A fixed URL was checked when the file was read; its parts are needed again only for cookies.
        let cookies = scenario.definition().cookies != Cookies::Off;
        if cookies || step.url.as_fixed().is_none() {
            self.write_cookies(scenario, step, now)?;
        }
        Ok(())
    }

    fn write_cookies(&mut self, scenario: &Scenario, step: &Step, now: Timestamp) -> Result<(), StepFailure> {
        let mut cookie = std::mem::take(&mut self.cookie);
        cookie.clear();
        let (origin, path) = self.place(scenario, step).ok_or(StepFailure::BadUrl)?;
        self.jar.write(now, &origin, path, &mut cookie);
        self.cookie = cookie;
        Ok(())
    }

    /// Origin and path of the rendered request.
    fn place<'a>(&'a self, scenario: &'a Scenario, step: &'a Step) -> Option<(Cow<'a, Origin>, &'a str)> {
        let url = self.request(step).url;
        if url.starts_with('/') {
            return Some((Cow::Borrowed(scenario.definition().base.as_ref()?), url));
        }
        let (origin, path) = split(url)?;
        Some((Cow::Owned(origin), if path.is_empty() { "/" } else { path }))
    }

    fn keep_cookies(&mut self, scenario: &Scenario, step: &Step, now: Timestamp, answer: &Answer) {
        if scenario.definition().cookies == Cookies::Off {
            return;
        }
        let mut lines = answer.headers("set-cookie").peekable();
        if lines.peek().is_none() {
            return;
        }
        let date = answer.headers("date").next();
        let mut jar = std::mem::take(&mut self.jar);
        if let Some((origin, path)) = self.place(scenario, step) {
            lines.for_each(|line| jar.set(now, &origin, path, line, date));
        }
        self.jar = jar;
    }

    /// The rendered request.
    fn request<'a>(&'a self, step: &'a Step) -> Rendered<'a> {
        let redirect = self.redirect.as_ref();
        let becomes_get = redirect.is_some_and(|redirect| redirect.becomes_get);
        let changed = redirect.is_some_and(|redirect| redirect.becomes_get || redirect.foreign);
        // Templates are text, and values are text; a URL's other bytes are percent-encoded.
        let url = std::str::from_utf8(whole(&step.url, &self.url)).unwrap_or_default();
        Rendered {
            method: if becomes_get { "GET" } else { &step.method },
            url: redirect.map_or(url, |redirect| &redirect.url),
            fields: if changed { &self.fields } else { whole(&step.headers, &self.fields) },
            cookie: &self.cookie,
            body: if becomes_get { b"" } else { whole(&step.body, &self.body) },
        }
    }
}

/// The fixed bytes of a template, or its rendered text.
fn whole<'a>(template: &'a Template, written: &'a [u8]) -> &'a [u8] {
    template.as_fixed().unwrap_or(written)
}

/// An index, drawn by weight; one weight is above zero.
fn drawn(rng: &mut Rng, weights: impl Iterator<Item = u32> + Clone) -> usize {
    let total: u64 = weights.clone().map(u64::from).sum();
    let mut left = rng.below(usize::try_from(total).unwrap_or(usize::MAX)) as u64;
    for (index, weight) in weights.enumerate() {
        match left.checked_sub(u64::from(weight)) {
            None => return index,
            Some(rest) => left = rest,
        }
    }
    0
}
