//! One event loop that sends requests and waits for their answers.
//!
//! ## Two system calls a request
//! Readiness is edge-triggered, so a connection is registered once. An answer is read in one call into a buffer of
//! the loop; the next request is written at once. Only the parts of an answer that wait for more are kept.

use crate::agenda::{Agenda, Who};
use crate::connection::{Connection, Job, State, What};
use crate::exchange::{Answer, Exchange};
use crate::plan::{Model, Plan, Users, Work};
use crate::record::{Finished, Recorder, Times};
use crate::run::{Slot, Watch};
use crate::target::Origin;
use crate::user::User;
use crate::wire::Wire;
use http::codec::Limits;
use http::codec::response::{AnswerTo, Scanner};
use http::reactor::{Deadline, Net, Ready, Timers, Token};
use measure::{Failure, Fate};
use slab::Slab;
use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use units::Timestamp;

/// A server that requests go to, and the connections to it that are free.
#[derive(Debug)]
struct Server {
    origin: Origin,
    /// Which of its addresses is tried.
    current: usize,
    /// Whether that address has ever answered.
    proven: bool,
    idle: Vec<usize>,
}

/// One event loop that sends requests and waits for their answers.
pub(crate) struct Worker<'a, N: Net> {
    net: N,
    plan: &'a Plan,
    watch: &'a Watch,
    limit: Option<usize>,
    end: Timestamp,
    wires: Vec<Wire>,
    servers: Vec<Server>,
    agenda: Agenda,
    users: Slab<User>,
    /// An arrival that was taken and found no connection yet.
    stash: Option<Job>,
    /// How many of the schedule's arrivals were looked at for having waited.
    waited_until: u64,
    connections: Slab<Connection<N::Stream>>,
    busy: usize,
    generation: u32,
    timers: Timers<(usize, u32)>,
    scanner: Scanner,
    buffer: Vec<u8>,
    recorder: Recorder,
    longest_stall: Duration,
}

/// What a worker brings home beside its record.
#[derive(Debug)]
pub(crate) struct Home {
    pub(crate) finished: Finished,
    pub(crate) longest_stall: Duration,
}

impl<'a, N: Net> Worker<'a, N> {
    /// Worker `index` of the plan's workers.
    pub(crate) fn new(net: N, plan: &'a Plan, watch: &'a Watch, index: u32) -> Self {
        let workers = plan.workers.get();
        let end = plan.end();
        let limit = plan.requests_of(index);
        let mut users = Slab::new();
        let agenda = match (&plan.model, plan.schedule()) {
            (Model::Open { .. }, Some(schedule)) => Agenda::open(schedule, index, workers, limit, end),
            (Model::Closed { users: Users::Stages(profile) }, _) => {
                let mut agenda = Agenda::users(index, workers, end);
                for number in profile.users_of_shard(index, workers) {
                    let user = User::staged(profile.spans_of(number));
                    if let Some(at) = user.next_at(Timestamp::ZERO) {
                        agenda.later(at, users.insert(user) as u32);
                    }
                }
                agenda
            }
            _ => Agenda::closed(limit, index, workers, end),
        };
        let mut servers: Vec<Server> = Vec::new();
        let wires = match &plan.work {
            Work::Targets(targets) => {
                let wire = |(target, &endpoint): (&crate::Target, &u32)| {
                    let origin = place_of(&mut servers, &target.origin);
                    target.wire(origin, endpoint, plan.keep_alive, plan.arrival_header.as_deref())
                };
                targets.list.iter().zip(targets.endpoint_of.iter()).map(wire).collect()
            }
        };
        Worker {
            net,
            plan,
            watch,
            limit: plan.connections_of(index).map(|limit| limit as usize),
            end,
            wires,
            servers,
            agenda,
            users,
            stash: None,
            waited_until: 0,
            connections: Slab::new(),
            busy: 0,
            generation: 0,
            timers: Timers::default(),
            scanner: Scanner::new(Limits::default()),
            buffer: vec![0; READ_BYTES],
            recorder: Recorder::new(Arc::new(plan.layout()), plan.good_within, &watch.bounds),
            longest_stall: Duration::ZERO,
        }
    }

    /// Runs until the schedule is done and every answer has come or been given up, or until told to stop.
    pub(crate) fn run(mut self, slot: &Slot) -> io::Result<Home> {
        let mut ready: Vec<Ready> = Vec::with_capacity(1024);
        let mut next_report = Timestamp::ZERO + self.watch.every;
        let schedule_end = loop {
            let now = self.net.now();
            if slot.stop.load(Ordering::Relaxed) {
                break now.min(self.end);
            }
            let next_due = self.agenda.note_due(now, &mut self.recorder.lag);
            self.dispatch(now);
            if next_due == Timestamp::NEVER && self.is_done(now) {
                break now.min(self.end);
            }
            let until = next_due.min(self.timers.next()).min(next_report);
            ready.clear();
            self.net.wait(until, &mut ready)?;
            let woke = self.net.now();
            self.longest_stall = self.longest_stall.max(woke.since(until.max(now)));
            for event in &ready {
                self.ready(*event);
            }
            self.check_deadlines(woke);
            if woke >= next_report {
                self.report(slot, woke);
                // In step with the run's beginning, so that what is compared from report to report has the same length.
                next_report += self.watch.every;
                if next_report <= woke {
                    next_report = woke + self.watch.every;
                }
            }
        };
        Ok(self.finish(schedule_end, slot))
    }

    /// The next arrival whose turn has come, as a request.
    fn next_job(&mut self, now: Timestamp) -> Option<Job> {
        if let Some(job) = self.stash.take() {
            return Some(Job { started: now, ..job });
        }
        let arrival = self.agenda.take(now)?;
        let (what, wire, number) = match arrival.who {
            Who::New(number) => {
                let wire = self.in_turn(number);
                (What::Prepared(wire), wire, number)
            }
            Who::User(user) => {
                let number = self.users.get_mut(user as usize)?.next_number();
                let wire = self.in_turn(number);
                (What::PreparedOf { wire, user }, wire, number)
            }
        };
        let endpoint = self.wires[wire as usize].endpoint;
        self.recorder.scheduled(endpoint, arrival.intended);
        Some(Job { intended: arrival.intended, started: now, number, what, endpoint, resent: false })
    }

    fn in_turn(&self, number: u64) -> u32 {
        match self.wires.len() {
            1 => 0,
            count => (number % count as u64) as u32,
        }
    }

    fn wire_of(&self, job: &Job) -> &Wire {
        match job.what {
            What::Prepared(wire) | What::PreparedOf { wire, .. } => &self.wires[wire as usize],
        }
    }

    /// Sends what is due on idle connections, and opens new ones as far as that is allowed.
    fn dispatch(&mut self, now: Timestamp) {
        while self.has_room(now) {
            let Some(job) = self.next_job(now) else { return };
            if !self.place(job) {
                self.stash = Some(job);
                break;
            }
        }
        // Each arrival is counted once, when it is first left waiting; those counted before and sent since came
        // first, so what is new is what stands above the old mark.
        let noted = self.agenda.noted();
        let waiting = self.agenda.waiting() + u64::from(self.stash.is_some());
        self.recorder.waited += noted.saturating_sub(self.waited_until.max(noted.saturating_sub(waiting)));
        self.waited_until = noted;
    }

    /// Whether another request could be sent now, on some connection.
    fn has_room(&self, now: Timestamp) -> bool {
        let idle = self.servers.iter().any(|server| !server.idle.is_empty());
        idle || (self.may_open() && !self.agenda.is_held(now))
    }

    fn may_open(&self) -> bool {
        self.limit.is_none_or(|limit| self.connections.len() < limit)
    }

    /// Finds a connection for a request and sends it; says whether there was one.
    fn place(&mut self, job: Job) -> bool {
        let origin = self.wire_of(&job).origin as usize;
        if let Some(index) = self.servers[origin].idle.pop() {
            self.send(index, job);
            return true;
        }
        if !self.may_open() {
            // A connection to another server that nobody needs now makes room.
            let Some(index) = self.servers.iter().find_map(|server| server.idle.first().copied()) else {
                return false;
            };
            self.remove(index);
        }
        self.open(job);
        true
    }

    fn open(&mut self, job: Job) {
        self.generation = self.generation.wrapping_add(1);
        let origin = self.wire_of(&job).origin;
        let server = &self.servers[origin as usize];
        let address = server.origin.addresses[server.current];
        let entry = self.connections.vacant_entry();
        let index = entry.key();
        match self.net.connect(address, Token(index)) {
            Ok(stream) => {
                let mut connection = Connection {
                    stream,
                    origin,
                    state: State::Connecting(job),
                    generation: self.generation,
                    deadline: Deadline::default(),
                    asked_at: job.started,
                    out: Vec::new(),
                    written: 0,
                    pending: Vec::new(),
                    reused: false,
                };
                let owner = (index, self.generation);
                self.timers.set(owner, &mut connection.deadline, job.started + self.plan.timeout);
                entry.insert(connection);
                self.busy += 1;
            }
            Err(error) => self.connect_failed(job, origin, &error),
        }
    }

    fn connect_failed(&mut self, job: Job, origin: u32, error: &io::Error) {
        let now = self.net.now();
        let server = &mut self.servers[origin as usize];
        if !server.proven && server.current + 1 < server.origin.addresses.len() {
            // A name often has an address that nobody listens on, such as ::1 for localhost.
            server.current += 1;
            return self.open(Job { started: now, ..job });
        }
        self.agenda.hold_until(now + RETRY_AFTER);
        self.failed(job, failure_of(error), now);
    }

    /// Writes the request on a connection that is ready for one.
    fn send(&mut self, index: usize, job: Job) {
        let connection = &mut self.connections[index];
        let wire = match job.what {
            What::Prepared(wire) | What::PreparedOf { wire, .. } => &mut self.wires[wire as usize],
        };
        wire.set_number(job.number);
        let answer_to = if wire.head { AnswerTo::Head } else { AnswerTo::Other };
        connection.state = State::Busy(job, Exchange::new(answer_to));
        self.timers.set(
            (index, connection.generation),
            &mut connection.deadline,
            job.started + self.plan.timeout,
        );
        self.busy += 1;
        let mut written = 0;
        while written < wire.bytes.len() {
            match self.net.write(&mut connection.stream, &wire.bytes[written..]) {
                Ok(0) => return self.broken(index, Failure::ClosedEarly),
                Ok(count) => written += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    // The next request may overwrite these bytes.
                    connection.out.clear();
                    connection.out.extend_from_slice(&wire.bytes[written..]);
                    connection.written = 0;
                    return;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return self.broken(index, failure_of(&error)),
            }
        }
    }

    /// Writes what could not be written before.
    fn write(&mut self, index: usize) {
        let connection = &mut self.connections[index];
        while connection.written < connection.out.len() {
            match self.net.write(&mut connection.stream, &connection.out[connection.written..]) {
                Ok(0) => return self.broken(index, Failure::ClosedEarly),
                Ok(count) => connection.written += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return self.broken(index, failure_of(&error)),
            }
        }
        connection.out.clear();
        connection.written = 0;
    }

    fn ready(&mut self, event: Ready) {
        let index = event.token.0;
        let Some(connection) = self.connections.get_mut(index) else { return };
        if let State::Connecting(job) = connection.state {
            match self.net.connected(&connection.stream) {
                Ok(false) => return,
                Ok(true) => {
                    self.busy -= 1;
                    self.recorder.connections += 1;
                    self.recorder.connect.record(self.net.now().since(connection.asked_at));
                    self.servers[connection.origin as usize].proven = true;
                    self.send(index, job);
                }
                Err(error) => {
                    let origin = connection.origin;
                    self.remove(index);
                    self.connect_failed(job, origin, &error);
                    return;
                }
            }
        } else if event.writable && !connection.out.is_empty() {
            self.write(index);
        }
        if event.readable || event.closed {
            self.read(index, event.closed);
        }
    }

    fn read(&mut self, index: usize, closed: bool) {
        loop {
            let Some(connection) = self.connections.get_mut(index) else { return };
            let count = match self.net.read(&mut connection.stream, &mut self.buffer) {
                Ok(0) => return self.closed(index),
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return self.broken(index, failure_of(&error)),
            };
            self.recorder.bytes_received += count as u64;
            let State::Busy(job, exchange) = &mut connection.state else {
                // Bytes that nobody asked for: the connection cannot be trusted with another request.
                self.remove(index);
                return;
            };
            let job = *job;
            let input = if connection.pending.is_empty() {
                &self.buffer[..count]
            } else {
                connection.pending.extend_from_slice(&self.buffer[..count]);
                &connection.pending[..]
            };
            match exchange.received(&mut self.scanner, input) {
                Err(_) => return self.broken(index, Failure::Malformed),
                Ok((used, Some(mut answer))) => {
                    // Bytes after the answer were not asked for either, and a server that answers before it has
                    // the whole request will not read the rest.
                    answer.keep_alive &= used == input.len() && connection.out.is_empty();
                    connection.pending.clear();
                    self.answered(index, job, answer);
                }
                Ok((used, None)) => {
                    if connection.pending.is_empty() {
                        connection.pending.extend_from_slice(&self.buffer[used..count]);
                    } else {
                        connection.pending.drain(..used);
                    }
                }
            }
            // A short read has taken everything; only the end of the stream may still be behind it.
            if count < self.buffer.len() && !closed {
                return;
            }
        }
    }

    fn answered(&mut self, index: usize, job: Job, answer: Answer) {
        let now = self.net.now();
        self.recorder.answered(times(&job, now), answer.status);
        self.over(&job, now);
        if !answer.keep_alive || !self.plan.keep_alive {
            self.remove(index);
            return;
        }
        self.busy -= 1;
        let connection = &mut self.connections[index];
        connection.state = State::Idle;
        connection.deadline.clear();
        connection.reused = true;
        let origin = connection.origin as usize;
        if self.servers.len() == 1 {
            match self.next_job(now) {
                Some(job) => self.send(index, job),
                None => self.servers[0].idle.push(index),
            }
        } else {
            self.servers[origin].idle.push(index);
            self.dispatch(now);
        }
    }

    /// A request has come to its end: its user goes on.
    fn over(&mut self, job: &Job, now: Timestamp) {
        let Some(key) = job.what.user() else { return };
        let Some(user) = self.users.get_mut(key as usize) else { return };
        match user.next_at(now).filter(|&at| at < self.end) {
            Some(at) => self.agenda.later(at, key),
            None => {
                self.users.remove(key as usize);
            }
        }
    }

    fn failed(&mut self, job: Job, failure: Failure, now: Timestamp) {
        self.recorder.failed(times(&job, now), failure);
        // Nothing else would slow down a user whose connections are refused.
        self.over(&job, now + RETRY_AFTER);
    }

    /// The other side will send no more.
    fn closed(&mut self, index: usize) {
        if let State::Busy(job, exchange) = &mut self.connections[index].state {
            let job = *job;
            match exchange.closed() {
                Some(answer) => self.answered(index, job, answer),
                None => self.broken(index, Failure::ClosedEarly),
            }
        } else {
            self.remove(index);
        }
    }

    /// The connection is of no further use.
    fn broken(&mut self, index: usize, failure: Failure) {
        let connection = &self.connections[index];
        let untouched = connection.reused && connection.pending.is_empty();
        let State::Busy(job, ref exchange) = connection.state else {
            self.remove(index);
            return;
        };
        // The other side closed an idle connection while our request was on its way: that says nothing about the
        // request, and a client may send it again (RFC 9112, 9.3.1).
        let closing = matches!(failure, Failure::Reset | Failure::ClosedEarly);
        let again =
            untouched && closing && !exchange.has_begun() && self.wire_of(&job).idempotent && !job.resent;
        self.remove(index);
        if again {
            self.open(Job { resent: true, ..job });
        } else {
            let now = self.net.now();
            self.failed(job, failure, now);
        }
    }

    fn remove(&mut self, index: usize) {
        let connection = self.connections.remove(index);
        match connection.state {
            State::Idle => self.servers[connection.origin as usize].idle.retain(|&idle| idle != index),
            State::Connecting(_) | State::Busy(..) => self.busy -= 1,
        }
    }

    fn check_deadlines(&mut self, now: Timestamp) {
        while let Some(owner) = self.timers.pop(now) {
            let (index, generation) = owner;
            let Some(connection) =
                self.connections.get_mut(index).filter(|found| found.generation == generation)
            else {
                continue;
            };
            if !self.timers.is_due(owner, &mut connection.deadline, now) {
                continue;
            }
            let job = connection.job();
            self.remove(index);
            if let Some(job) = job {
                self.recorder.timed_out(times(&job, now));
                self.over(&job, now);
            }
        }
    }

    /// Nothing more will come: all was sent and answered, or the time for answers has passed too.
    fn is_done(&self, now: Timestamp) -> bool {
        let grace_over = now >= self.end + self.plan.timeout;
        let waiting = self.agenda.waiting() > 0 || self.stash.is_some() || self.agenda.has_thinkers();
        grace_over || (!waiting && self.busy == 0)
    }

    /// The requests that were sent and have no end.
    fn jobs(&self) -> impl Iterator<Item = Job> + '_ {
        self.connections.iter().filter_map(|(_, connection)| connection.job()).chain(self.stash)
    }

    /// How many arrivals that are not finished are older than each of the watched bounds.
    fn overdue(&self, now: Timestamp) -> Vec<u64> {
        let older = |&bound: &Duration| {
            let sent = self.jobs().filter(|job| now.since(job.intended) >= bound).count() as u64;
            let before = now.as_nanos().checked_sub(bound.as_nanos() as u64).map(Timestamp::from_nanos);
            sent + before.map_or(0, |before| self.agenda.waiting_since(before))
        };
        self.watch.bounds.iter().map(older).collect()
    }

    fn report(&mut self, slot: &Slot, now: Timestamp) {
        let sent = self.jobs().map(|job| job.intended).min();
        let oldest = [sent, self.agenda.oldest()].into_iter().flatten().min();
        self.recorder.close_before(oldest.unwrap_or(now).min(now));
        let waiting = self.agenda.waiting() + u64::from(self.stash.is_some());
        let (recent, good) = self.recorder.take_recent();
        let overdue = self.overdue(now);
        let mut accounting = self.recorder.accounting();
        accounting.scheduled += self.agenda.waiting();
        slot.report(|progress| {
            progress.at = now;
            progress.accounting = accounting;
            progress.in_flight = self.busy as u64;
            progress.waiting = waiting;
            progress.oldest = oldest;
            progress.connections = self.connections.len() as u64;
            progress.recent.add(&recent);
            progress.recent_good += good;
            progress.longest_stall = self.longest_stall;
            let (succeeded, within) = self.recorder.succeeded();
            progress.succeeded = succeeded;
            progress.within.clear();
            progress.within.extend_from_slice(within);
            progress.overdue = overdue;
            progress.lag =
                self.recorder.lag.quantile(units::Quantile::P99).map_or(Duration::ZERO, |p99| p99.at);
        });
    }

    fn finish(mut self, end: Timestamp, slot: &Slot) -> Home {
        let unsent = self.stash.take();
        let in_flight: Vec<Job> = self.jobs().collect();
        for job in in_flight {
            self.recorder.enter(job.endpoint, job.intended, Fate::InFlight);
        }
        if let Some(job) = unsent {
            self.recorder.enter(job.endpoint, job.intended, Fate::Unsent);
        }
        // What is due and was not sent, with the endpoint that it would have gone to.
        self.busy = 0;
        self.connections.clear();
        while self.agenda.waiting() > 0
            && let Some(job) = self.next_job(Timestamp::NEVER)
        {
            self.recorder.enter(job.endpoint, job.intended, Fate::Unsent);
        }
        self.report(slot, end);
        let finished = self.recorder.finish(end.since(Timestamp::ZERO), thread_cpu());
        Home { finished, longest_stall: self.longest_stall }
    }
}

fn place_of(servers: &mut Vec<Server>, origin: &Origin) -> u32 {
    let place = servers.iter().position(|known| known.origin == *origin).unwrap_or_else(|| {
        servers.push(Server { origin: origin.clone(), current: 0, proven: false, idle: Vec::new() });
        servers.len() - 1
    });
    place as u32
}

fn times(job: &Job, ended: Timestamp) -> Times {
    Times { endpoint: job.endpoint, intended: job.intended, started: job.started, ended }
}

fn failure_of(error: &io::Error) -> Failure {
    match error.kind() {
        ErrorKind::ConnectionRefused => Failure::ConnectionRefused,
        ErrorKind::ConnectionReset | ErrorKind::BrokenPipe | ErrorKind::ConnectionAborted => Failure::Reset,
        ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable | ErrorKind::TimedOut => {
            Failure::Unreachable
        }
        ErrorKind::AddrNotAvailable => Failure::NoPorts,
        ErrorKind::OutOfMemory => Failure::OutOfResources,
        _ => {
            use rustix::io::Errno;
            match Errno::from_io_error(error) {
                Some(Errno::MFILE | Errno::NFILE) => Failure::NoDescriptors,
                Some(Errno::NOBUFS) => Failure::OutOfResources,
                _ => Failure::Other,
            }
        }
    }
}

/// The processor time of the calling thread.
fn thread_cpu() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// A loop's read buffer: an answer of a page or a picture's first part in one call.
const READ_BYTES: usize = 64 * 1024;

/// After a failed connection attempt, the closed model waits this long: nothing else would slow it down.
const RETRY_AFTER: Duration = Duration::from_millis(50);
