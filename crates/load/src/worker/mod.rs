//! One event loop that sends requests and waits for their responses.
//!
//! ```text
//! agenda (what is due) → next_job → place (which connection) → send → receive → answered → next_job …
//! ```
//!
//! ## Two system calls a request
//! Readiness is edge-triggered, so a connection is registered once. A response is read in one call into a buffer of the
//! loop; the next request is written at once. Only incomplete responses are kept.

mod connect;
mod receive;
mod report;
mod send;
#[cfg(test)]
mod simulation;
mod walk;

use crate::agenda::{Agenda, Who};
use crate::connecting::Server;
use crate::connection::{Connection, Job, State, What};
use crate::exchange::Kept;
use crate::plan::{Model, Plan, Targets, Users, Work};
use crate::record::{Finished, Recorder, Times};
use crate::request_log::{Logged, Sent};
use crate::run::{Slot, Watch};
use crate::streams::Ending;
use crate::user::{User, Walk};
use crate::wire::{Form, Wire};
use crate::{Protocol, UserSpan};
use connect::Resolving;
use http::codec::response::Scanner;
use http::dial::Scheme;
use http::dial::dns::Lookup;
use http::reactor::{Net, Ready, Timers};
use measure::Failure;
use slab::Slab;
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use units::Timestamp;
use walk::Came;

/// A server that requests are sent to, and its free connections.
#[derive(Debug)]
struct Upstream {
    server: Server,
    /// Which of its addresses is tried.
    current: usize,
    /// Whether that address has ever sent a response.
    proven: bool,
    /// Connections that are being opened.
    opening: usize,
    /// HTTP/2 connections whose server has not sent its stream limit yet.
    unsettled: usize,
    /// HTTP/2 was offered and it speaks HTTP/1.1.
    single: bool,
    /// The connection that was used last carries the next request; the one that was free for longest is the first to be
    /// closed by the server.
    idle: VecDeque<usize>,
}

impl Upstream {
    /// Removes a connection from the free ones: nearly always the first or the last in the list.
    fn unlist(&mut self, index: usize) {
        if self.idle.back() == Some(&index) {
            self.idle.pop_back();
        } else if let Some(place) = self.idle.iter().position(|&idle| idle == index) {
            self.idle.remove(place);
        }
    }
}

/// One event loop that sends requests and waits for their responses.
pub(crate) struct Worker<'a, N: Net> {
    net: N,
    plan: &'a Plan,
    watch: &'a Watch,
    form: Form,
    limit: Option<usize>,
    end: Timestamp,
    wires: Vec<Wire>,
    /// The request of a scenario's user, rendered when it is sent, and its user.
    step: Wire,
    step_of: Option<u32>,
    upstreams: Vec<Upstream>,
    /// Servers that redirects and values led to and that cannot or must not be loaded: scheme, authority, reason.
    unreachable: Vec<(Scheme, String, Failure)>,
    agenda: Agenda,
    users: Slab<User>,
    /// How many iterations users may still begin, and the number of the next.
    iterations_left: u64,
    next_iteration: u64,
    /// Requests that were taken and found no connection yet, or lost it.
    stash: VecDeque<Job>,
    /// How many of the schedule's arrivals were already checked for having waited.
    waited_until: u64,
    connections: Slab<Connection<N::Stream>>,
    resolving: Resolving,
    /// Requests in flight, including those whose connection is being opened.
    busy: usize,
    generation: u32,
    /// Counts connections, to use local addresses in turn.
    opened: usize,
    timers: Timers<(usize, u32)>,
    scanner: Scanner,
    buffer: Vec<u8>,
    plain: Vec<u8>,
    /// HTTP/2 connections with something to write.
    dirty: Vec<usize>,
    /// HTTP/2 connections that cannot be written any more, each with its generation and the reason.
    doomed: Vec<(usize, u32, Failure)>,
    ended: Vec<(u32, Ending)>,
    #[expect(clippy::vec_box, reason = "an exchange holds a pointer, which goes back and forth")]
    spare_kept: Vec<Box<Kept>>,
    /// When the head of the next response is read.
    next_head: Timestamp,
    recorder: Recorder,
    longest_stall: Duration,
    /// Whether arrivals are so close together that several are handled at a time. At such rates a loop would sleep for
    /// a few microseconds between two, and spend more on falling asleep and waking up than on sending.
    dense: bool,
}

/// A worker's results besides its record.
#[derive(Debug)]
pub(crate) struct Home {
    pub(crate) finished: Finished,
    pub(crate) longest_stall: Duration,
}

impl<'a, N: Net> Worker<'a, N> {
    /// Worker `index` of the plan's workers. `lookup` is present if each connection resolves its name.
    pub(crate) fn new(net: N, plan: &'a Plan, watch: &'a Watch, index: u32, lookup: Option<Lookup>) -> Self {
        let workers = plan.workers.get();
        let end = plan.end();
        let limit = plan.requests_of(index);
        let mut users = Slab::new();
        let agenda = match (&plan.model, plan.schedule()) {
            (Model::Open { .. }, Some(schedule)) => Agenda::open(schedule, index, workers, limit, end),
            (Model::Closed { users: who }, _) => match (who, &plan.work) {
                (Users::Constant(_), Work::Targets(_)) => Agenda::closed(limit, index, workers, end),
                _ => closed_users(plan, who, index, &mut users),
            },
            (Model::Open { .. }, None) => Agenda::users(index, workers, end),
        };
        let form = Form {
            keep_alive: plan.keep_alive,
            arrival_header: plan.arrival_header.clone(),
            h2: matches!(plan.connecting.protocol, Protocol::Http2 { .. }),
        };
        // A scenario's user has a connection to each server that it uses, like a browser; it has one request in flight,
        // which is the bound.
        let is_walked = matches!((&plan.model, &plan.work), (Model::Closed { .. }, Work::Scenario { .. }));
        let mut worker = Worker {
            net,
            plan,
            watch,
            form,
            limit: plan.connections_of(index).map(|limit| limit as usize).filter(|_| !is_walked),
            end,
            wires: Vec::new(),
            step: Wire::default(),
            step_of: None,
            upstreams: Vec::new(),
            unreachable: Vec::new(),
            agenda,
            users,
            iterations_left: limit,
            next_iteration: u64::from(index),
            stash: VecDeque::new(),
            waited_until: 0,
            connections: Slab::new(),
            resolving: Resolving::new(lookup),
            busy: 0,
            generation: 0,
            opened: index as usize,
            timers: Timers::default(),
            scanner: Scanner::new(plan.connecting.answer_head),
            buffer: vec![0; READ_BYTES],
            plain: Vec::new(),
            dirty: Vec::new(),
            doomed: Vec::new(),
            ended: Vec::new(),
            spare_kept: Vec::new(),
            next_head: Timestamp::ZERO,
            recorder: Recorder::new(Arc::new(plan.layout()), plan.good_within, &watch.bounds),
            longest_stall: Duration::ZERO,
            dense: plan.model.peak_rate().is_some_and(|rate| rate.per_second() / f64::from(workers) > DENSE),
        };
        match &plan.work {
            Work::Targets(targets) => {
                for (target, &endpoint) in targets.list.iter().zip(targets.endpoint_of.iter()) {
                    let server = worker.upstream_of(&target.server);
                    worker.wires.push(target.wire(server, endpoint, &worker.form));
                }
            }
            Work::Scenario { servers, .. } => servers.iter().for_each(|server| {
                worker.upstream_of(server);
            }),
        }
        worker
    }

    /// Runs until the schedule is done and every request has a response or was given up, or until it is stopped.
    pub(crate) fn run(mut self, slot: &Slot) -> io::Result<Home> {
        let mut ready: Vec<Ready> = Vec::with_capacity(1024);
        let mut next_report = Timestamp::ZERO + self.watch.every;
        let counts_until = self.plan.counts_until();
        let schedule_end = loop {
            let now = self.net.now();
            if slot.stop.load(Ordering::Relaxed) {
                break now.min(counts_until);
            }
            let next_due = self.agenda.note_due(now, &mut self.recorder.lag);
            self.dispatch(now);
            self.flush();
            while self.bury() {
                self.flush();
            }
            if next_due == Timestamp::NEVER && self.is_done(now) {
                break now.min(counts_until);
            }
            let mut until = next_due.min(self.timers.next()).min(next_report);
            if self.dense && next_due != Timestamp::NEVER {
                // Everything that becomes due or arrives until the end of the beat is handled together.
                until = beat_after(now);
                self.net.nap(until);
            }
            ready.clear();
            self.net.wait(until, &mut ready)?;
            let woke = self.net.now();
            self.longest_stall = self.longest_stall.max(woke.since(until.max(now)));
            for event in &ready {
                self.ready(*event);
            }
            self.resolved();
            self.check_deadlines(woke);
            if woke >= next_report {
                self.report(slot, woke, next_due);
                // Aligned with the start of the run, so that successive reports cover the same length.
                next_report += self.watch.every;
                if next_report <= woke {
                    next_report = woke + self.watch.every;
                }
            }
        };
        Ok(self.finish(schedule_end, slot))
    }

    /// The index of a server in this worker.
    fn upstream_of(&mut self, server: &Server) -> u32 {
        let known = self.upstreams.iter().position(|known| known.server.origin == server.origin);
        let place = known.unwrap_or_else(|| {
            let server = server.clone();
            self.upstreams.push(Upstream {
                server,
                current: 0,
                proven: false,
                opening: 0,
                unsettled: 0,
                single: false,
                idle: VecDeque::new(),
            });
            self.upstreams.len() - 1
        });
        place as u32
    }

    /// The next request that is due.
    fn next_job(&mut self, now: Timestamp) -> Option<Job> {
        while let Some(job) = self.stash.pop_front() {
            if job.resends == 0 {
                return Some(Job { started: now, ..job });
            }
            // It was sent before: its time-out and its service time count from then.
            if now == Timestamp::NEVER || now.since(job.started) < self.plan.timeout {
                return Some(job);
            }
            self.recorder.timed_out(times(&job, now));
            self.log(&job, None, now);
            self.over(&job, Came::Nothing, now);
        }
        loop {
            let arrival = self.agenda.take(now)?;
            let intended = arrival.intended;
            let job = match arrival.who {
                Who::New(number) => {
                    let job = match &self.plan.work {
                        Work::Targets(_) => Some(self.prepared(number, intended, now, None)),
                        Work::Scenario { scenario, .. } => {
                            let walk = Walk::new(scenario, number, self.plan.seed);
                            let user = self.users.insert(User::passing(walk)) as u32;
                            self.begin(user, number, intended);
                            self.step_job(user, intended, now)
                        }
                    };
                    if matches!(self.plan.model, Model::Open { .. }) && now != Timestamp::NEVER {
                        self.recorder.pacing.started(intended, now);
                    }
                    job
                }
                Who::User(user) => match self.users.get(user as usize) {
                    Some(User { walk: Some(_), .. }) => self.step_job(user, intended, now),
                    Some(_) => {
                        self.iteration().map(|number| self.prepared(number, intended, now, Some(user)))
                    }
                    None => None,
                },
            };
            if let Some(job) = job {
                self.recorder.scheduled(job.endpoint, intended);
                return Some(job);
            }
        }
    }

    /// The number of an iteration that begins now, if another is allowed.
    fn iteration(&mut self) -> Option<u64> {
        let Some(left) = self.iterations_left.checked_sub(1) else {
            self.agenda.exhausted();
            return None;
        };
        self.iterations_left = left;
        let number = self.next_iteration;
        self.next_iteration += u64::from(self.plan.workers.get());
        Some(number)
    }

    fn prepared(&self, number: u64, intended: Timestamp, started: Timestamp, user: Option<u32>) -> Job {
        let wire = match (&self.plan.work, self.wires.len()) {
            (Work::Targets(Targets { order: Some(order), .. }), _) => {
                order.get(number as usize).copied().unwrap_or(0)
            }
            (_, 1) => 0,
            (_, count) => (number % count as u64) as u32,
        };
        let what = user.map_or(What::Prepared(wire), |user| What::PreparedOf { wire, user });
        let endpoint = self.wires[wire as usize].endpoint;
        let label = match &self.plan.work {
            Work::Targets(Targets { labels: Some(labels), .. }) => labels.get(number as usize),
            _ => None,
        };
        let number = label.map_or(number, |&label| u64::from(label));
        Job { intended, started, number, what, endpoint, resends: 0 }
    }

    /// Sends what is due on free connections, and opens new ones if allowed.
    fn dispatch(&mut self, mut now: Timestamp) {
        let mut first = true;
        let held = self.agenda.held_until();
        // If one fails at once in the closed model, nothing else delays the next.
        while self.has_room(now) && self.agenda.held_until() == held {
            if !first {
                // Each of many that are due at once has its own actual start.
                now = self.net.now();
            }
            first = false;
            let Some(job) = self.next_job(now) else { break };
            if !self.place(job) {
                self.stash.push_front(job);
                break;
            }
        }
        // Each arrival is counted once, when it first has to wait; those counted before and sent since were earlier in
        // the schedule, so the new ones are above the old mark.
        let noted = self.agenda.noted();
        let waiting = self.agenda.waiting() + self.stash.len() as u64;
        self.recorder.waited += noted.saturating_sub(self.waited_until.max(noted.saturating_sub(waiting)));
        self.waited_until = noted;
    }

    /// Whether another request could be sent now, on some connection.
    fn has_room(&self, now: Timestamp) -> bool {
        let idle = self.upstreams.iter().any(|upstream| !upstream.idle.is_empty());
        idle || (self.may_open() && now >= self.agenda.held_until())
    }

    fn may_open(&self) -> bool {
        self.limit.is_none_or(|limit| self.connections.len() + self.resolving.len() < limit)
    }

    /// Finds a connection for a request and sends it; returns whether there was one.
    fn place(&mut self, job: Job) -> bool {
        let server = match self.server_of(&job) {
            Ok(server) => server as usize,
            Err(failure) => {
                let now = self.net.now();
                self.failed(job, failure, now);
                return true;
            }
        };
        if let Some(&index) = self.upstreams[server].idle.back() {
            if matches!(self.connections[index].state, State::Idle) {
                self.upstreams[server].idle.pop_back();
            }
            self.send(index, job);
            return true;
        }
        if !self.may_open() {
            // An unused connection to another server is closed to make room.
            let free = self.upstreams.iter().flat_map(|upstream| &upstream.idle);
            let unused = free.copied().find(|&index| self.connections[index].jobs().next().is_none());
            let Some(index) = unused else { return false };
            self.remove(index);
        }
        // An HTTP/2 connection that is being opened will take many: one at a time is enough for a schedule.
        let upstream = &self.upstreams[server];
        let shared = self.form.h2 && self.plan.keep_alive && !upstream.single;
        let many = shared && matches!(self.plan.model, Model::Open { .. });
        if many && (upstream.opening + upstream.unsettled > 0 || self.resolving.asks_for(server)) {
            return false;
        }
        self.open(job, server);
        true
    }

    /// Nothing more will come: all was sent and has its response, or the time for responses has passed too.
    fn is_done(&self, now: Timestamp) -> bool {
        let grace_over = now >= self.end + self.plan.timeout;
        let waiting = self.agenda.waiting() > 0
            || !self.stash.is_empty()
            || self.agenda.has_thinkers()
            || self.agenda.has_more_after(now);
        grace_over || (!waiting && self.busy == 0)
    }

    /// Whether this run uses HTTP/2 on a connection without TLS, or on one without ALPN.
    fn speaks_h2(&self, agreed: Option<&[u8]>, secure: bool) -> bool {
        match self.plan.connecting.protocol {
            Protocol::Http1 => false,
            Protocol::Http2 { prior_knowledge, .. } => !secure || prior_knowledge || agreed == Some(b"h2"),
        }
    }

    /// Enters a request that has ended into the log, if there is one: with status and bytes of the body of its response.
    fn log(&self, job: &Job, response: Option<(u16, u64)>, now: Timestamp) {
        let Some(log) = &self.plan.request_log else { return };
        let labelled = matches!(&self.plan.work, Work::Targets(targets) if targets.labels.is_some());
        let (sent, user) = match job.what {
            What::Prepared(wire) => (Sent::Prepared(wire), labelled.then_some(job.number)),
            What::PreparedOf { wire, user } => (Sent::Prepared(wire), Some(u64::from(user))),
            // The users of an iteration are reused; an iteration is a session.
            What::StepOf(_) => (Sent::Step(job.endpoint), Some(job.number)),
        };
        log.add(Logged { started: job.started, ended: now, response, sent, user });
    }

    fn failed(&mut self, job: Job, failure: Failure, now: Timestamp) {
        self.recorder.failed(times(&job, now), failure);
        self.log(&job, None, now);
        // Nothing else would slow down a user whose connections are refused.
        self.over(&job, Came::Nothing, now + RETRY_AFTER);
    }
}

/// The users of the closed model whose iterations need an agenda.
fn closed_users(plan: &Plan, who: &Users, index: u32, users: &mut Slab<User>) -> Agenda {
    let workers = plan.workers.get();
    let mut agenda = Agenda::users(index, workers, plan.end());
    let numbers = (index..who.max()).step_by(workers as usize);
    for number in numbers {
        let walk = match &plan.work {
            Work::Scenario { scenario, .. } => Some(Walk::new(scenario, u64::from(number), plan.seed)),
            Work::Targets(_) => None,
        };
        let user = match who {
            Users::Constant(_) => {
                let always = UserSpan { start: Timestamp::ZERO, stop: Timestamp::NEVER };
                User::running(std::iter::once(always), walk)
            }
            Users::Stages(profile) => User::running(profile.spans_of(number), walk),
        };
        if let Some(at) = user.next_at(Timestamp::ZERO).filter(|&at| at < plan.end()) {
            agenda.later(at, users.insert(user) as u32);
        }
    }
    agenda
}

fn times(job: &Job, ended: Timestamp) -> Times {
    Times { endpoint: job.endpoint, intended: job.intended, started: job.started, ended }
}

/// The end of the beat at an instant.
fn beat_after(now: Timestamp) -> Timestamp {
    let beat = BEAT.as_nanos() as u64;
    Timestamp::from_nanos((now.as_nanos() / beat + 1) * beat)
}

/// With more arrivals a second than this, a loop handles several at a time.
const DENSE: f64 = 30_000.0;

/// The length of a beat: requests start, and responses are seen, up to this much late, which is part of the response
/// time. A closed loop at its limit sees responses later than that.
const BEAT: Duration = Duration::from_micros(80);

/// A loop's read buffer: holds the response for a page or the first part of a picture in one call.
const READ_BYTES: usize = 64 * 1024;

/// After a failed connection attempt, the closed model waits this long: nothing else would slow it down.
const RETRY_AFTER: Duration = Duration::from_millis(50);
