//! Users in scenarios: what they send, and how they continue after a response.

use super::{RETRY_AFTER, Worker};
use crate::connecting::Server;
use crate::connection::{Job, What};
use crate::exchange::Kept;
use crate::plan::Work;
use crate::scenario::{self, Next, Scenario, StepId};
use crate::wire::Parts;
use http::dial::{Address, Origin, Scheme};
use http::reactor::Net;
use measure::Failure;
use std::sync::Arc;
use std::time::Duration;
use units::Timestamp;

/// The outcome of a request.
#[derive(Debug)]
pub(super) enum Came {
    /// A response with this status, and its kept part.
    Answer(u16, Option<Box<Kept>>),
    /// No response.
    Nothing,
}

impl Came {
    /// The status and the kept part of the response.
    fn response(&self) -> Option<(u16, &Kept)> {
        match self {
            Came::Answer(status, Some(kept)) => Some((*status, kept)),
            Came::Answer(_, None) | Came::Nothing => None,
        }
    }
}

impl<N: Net> Worker<'_, N> {
    fn scenario(&self) -> Option<Arc<Scenario>> {
        match &self.plan.work {
            Work::Scenario { scenario, .. } => Some(Arc::clone(scenario)),
            Work::Targets(_) => None,
        }
    }

    /// A user begins an iteration.
    pub(super) fn begin(&mut self, user: u32, number: u64, now: Timestamp) {
        if let Some(walk) = self.users.get_mut(user as usize).and_then(|user| user.walk.as_mut()) {
            walk.iteration = Some(number);
            walk.began = now;
            self.recorder.iterations.started += 1;
        }
    }

    /// The current request of a user's iteration, if there is one.
    pub(super) fn step_job(&mut self, user: u32, intended: Timestamp, now: Timestamp) -> Option<Job> {
        let scenario = self.scenario()?;
        if self.users.get(user as usize)?.walk.as_ref()?.iteration.is_none() {
            let Some(number) = self.iteration() else {
                self.users.remove(user as usize);
                return None;
            };
            self.begin(user, number, intended);
        }
        let (step, _) = self.advance(&scenario, user, intended)?;
        let number = self.users.get(user as usize)?.walk.as_ref()?.iteration.unwrap_or_default();
        let endpoint = scenario.endpoint(step) as u32;
        Some(Job { intended, started: now, number, what: What::StepOf(user), endpoint, resends: 0 })
    }

    /// Moves an iteration to its next request: which step, and how long the user thinks before it. At the end of an
    /// iteration, the user's next one goes into the agenda, or the user leaves.
    fn advance(&mut self, scenario: &Scenario, user: u32, now: Timestamp) -> Option<(StepId, Duration)> {
        loop {
            let entry = self.users.get_mut(user as usize)?;
            let walk = entry.walk.as_mut()?;
            match walk.user.next(scenario, walk.iteration.unwrap_or_default(), now) {
                Next::Request { step, after, .. } => {
                    walk.step = Some(step);
                    return Some((step, after));
                }
                Next::Failed { step, failure } => self.recorder.step_failed(scenario, step, failure),
                Next::IterationDone { completed, after } => {
                    walk.iteration = None;
                    self.recorder.iteration_over(completed, now.since(walk.began));
                    // An iteration that fails before it sends anything must not turn into an endless loop.
                    let pause = if completed { after } else { after.max(RETRY_AFTER) };
                    let next = if entry.is_passing() { None } else { entry.next_at(now + pause) };
                    match next.filter(|&at| at < self.end) {
                        Some(at) => {
                            self.agenda.later(at, user);
                            return None;
                        }
                        None => break,
                    }
                }
                Next::Stop => {
                    // There was no data for it, so it did not begin.
                    self.recorder.iterations.started -= 1;
                    self.agenda.exhausted();
                    break;
                }
            }
        }
        self.users.remove(user as usize);
        None
    }

    /// A request has ended: its user continues.
    pub(super) fn over(&mut self, job: &Job, came: Came, now: Timestamp) {
        if let Some(collector) = &self.plan.collector {
            collector.add(job.endpoint, came.response());
        }
        let Some(key) = job.what.user() else { return };
        if self.step_of == Some(key) {
            self.step_of = None;
        }
        let next = match job.what {
            What::StepOf(_) => {
                let Some(scenario) = self.scenario() else { return };
                self.heard(&scenario, key, job, came, now);
                let Some((_, after)) = self.advance(&scenario, key, now) else { return };
                Some(now + after)
            }
            _ => self.users.get(key as usize).and_then(|user| user.next_at(now)),
        };
        match next.filter(|&at| at < self.end) {
            Some(at) => self.agenda.later(at, key),
            None => {
                self.users.try_remove(key as usize);
            }
        }
    }

    /// Passes the response of its request to a user, or that there is none.
    fn heard(&mut self, scenario: &Scenario, key: u32, job: &Job, came: Came, now: Timestamp) {
        let Some(walk) = self.users.get_mut(key as usize).and_then(|user| user.walk.as_mut()) else { return };
        let Came::Answer(status, kept) = came else { return walk.user.failed(scenario) };
        let (head, body, body_bytes) =
            kept.as_ref().map_or((&[][..], &[][..], 0), |kept| (&kept.head, &kept.body, kept.body_bytes));
        let response_time = now.since(job.intended);
        let answer = scenario::Answer { status, head, body, body_bytes, response_time };
        let judged = walk.user.answered(scenario, now, &answer);
        for (check, passed) in judged.checks {
            self.recorder.checked(check.0, passed);
        }
        if let (Some(failure), Some(step)) = (judged.failure, walk.step) {
            self.recorder.step_failed(scenario, step, failure);
        }
        if let Some(mut kept) = kept {
            kept.clear();
            self.spare_kept.push(kept);
        }
    }

    /// Whether any part of the response to a user's request is read.
    pub(super) fn keeps(&self, user: u32) -> bool {
        let Work::Scenario { scenario, .. } = &self.plan.work else { return false };
        let walk = self.users.get(user as usize).and_then(|user| user.walk.as_ref());
        walk.and_then(|walk| walk.step).is_some_and(|step| {
            let reads = scenario.needs_head(step) || scenario.needs_body(step);
            reads || !scenario.step(step).checks.is_empty()
        })
    }

    /// The destination of a request: the index of its server.
    pub(super) fn server_of(&mut self, job: &Job) -> Result<u32, Failure> {
        match job.what {
            What::Prepared(wire) | What::PreparedOf { wire, .. } => Ok(self.wires[wire as usize].server),
            What::StepOf(user) => {
                self.write_step(user)?;
                Ok(self.step.server)
            }
        }
    }

    /// Renders the current request of a user's iteration.
    pub(super) fn write_step(&mut self, key: u32) -> Result<(), Failure> {
        let Some(scenario) = self.scenario() else { return Err(Failure::Other) };
        let now = self.net.now();
        // The user is taken out, so that its request can be rendered while the user is borrowed.
        let Some(mut walk) = self.users.get_mut(key as usize).and_then(|user| user.walk.take()) else {
            return Err(Failure::Other);
        };
        let written = self.write_request(&scenario, &mut walk.user, walk.iteration.unwrap_or_default(), now);
        if let Some(user) = self.users.get_mut(key as usize) {
            user.walk = Some(walk);
        }
        self.step_of = written.is_ok().then_some(key);
        written
    }

    fn write_request(
        &mut self,
        scenario: &Scenario,
        user: &mut scenario::User,
        iteration: u64,
        now: Timestamp,
    ) -> Result<(), Failure> {
        // Called again before the response, a user returns the same request.
        let Next::Request { step, request, .. } = user.next(scenario, iteration, now) else {
            return Err(Failure::Other);
        };
        let elsewhere = scenario::split_url(request.url);
        let (origin, path) = match &elsewhere {
            Some((origin, path)) => (origin, *path),
            None => (scenario.definition().base.as_ref().ok_or(Failure::Other)?, request.url),
        };
        let server = self.server_named(origin)?;
        let parts = Parts {
            method: request.method,
            secure: origin.secure,
            authority: &origin.authority,
            path: if path.is_empty() { "/" } else { path },
            body: request.body,
        };
        let headers: Vec<_> = request.headers().collect();
        parts.write(headers.iter().copied(), &self.form, &mut self.step);
        self.step.server = server;
        self.step.endpoint = scenario.endpoint(step) as u32;
        Ok(())
    }

    /// The index of a server that a request names; an unknown one is resolved.
    fn server_named(&mut self, origin: &scenario::Origin) -> Result<u32, Failure> {
        let scheme = if origin.secure { Scheme::Https } else { Scheme::Http };
        let same = |known: &Origin| known.scheme == scheme && known.authority == origin.authority;
        if let Some(place) = self.upstreams.iter().position(|known| same(&known.server.origin)) {
            return Ok(place as u32);
        }
        let tried = |(known, authority, _): &&(Scheme, String, Failure)| {
            *known == scheme && *authority == origin.authority
        };
        if let Some(&(.., failure)) = self.unreachable.iter().find(tried) {
            return Err(failure);
        }
        self.find_server(scheme, &origin.authority).inspect_err(|&failure| {
            // A value may lead to any number of names; those beyond are resolved again.
            if self.unreachable.len() < UNREACHABLE_MAX {
                self.unreachable.push((scheme, origin.authority.clone(), failure));
            }
        })
    }

    /// Resolves a server. This blocks the loop, once for each server that a redirect or a value leads to.
    fn find_server(&mut self, scheme: Scheme, authority: &str) -> Result<u32, Failure> {
        let named = Origin::new(scheme, authority).map_err(|_| Failure::NameNotResolved)?;
        let addresses = self.plan.connecting.resolver.addresses(&named).map_err(|error| {
            self.recorder.first_failure(Failure::NameNotResolved, || error.to_string());
            Failure::NameNotResolved
        })?;
        let stranger = |address: &Address| match address {
            Address::Tcp(address) => host::is_public(address.ip()),
            Address::Unix(_) => false,
        };
        if !self.plan.connecting.strangers && addresses.iter().any(stranger) {
            self.recorder.first_failure(Failure::HostNotAllowed, || named.host.clone());
            return Err(Failure::HostNotAllowed);
        }
        Ok(self.upstream_of(&Server { origin: Arc::new(named), addresses: addresses.into() }))
    }
}

/// The most unresolvable names that are remembered.
const UNREACHABLE_MAX: usize = 1_000;
