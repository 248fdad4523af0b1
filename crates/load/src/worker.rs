//! One event loop that sends requests and waits for their answers.
//!
//! ## Why the queue is a number
//! Arrivals that are due and have no connection yet wait in the order of the schedule. The schedule is pure, so a
//! second walk over it says which one is next: a backlog of a million arrivals takes no memory, and none is lost.
//!
//! ## Two system calls a request
//! Readiness is edge-triggered, so a connection is registered once. An answer is read in one call into a buffer of
//! the loop; the next request is written at once. Only the parts of an answer that wait for more are kept.

use crate::exchange::{Answer, Exchange};
use crate::plan::{Model, Plan};
use crate::record::{Finished, Recorder, Times};
use crate::run::{Slot, Watch};
use crate::schedule::Schedule;
use http::codec::Limits;
use http::codec::response::{AnswerTo, Scanner};
use http::reactor::{Deadline, Net, Ready, Timers, Token};
use measure::{Failure, Fate};
use slab::Slab;
use std::io::{self, ErrorKind};
use std::iter::Peekable;
use std::sync::atomic::Ordering;
use std::time::Duration;
use units::Timestamp;

/// One arrival on its way.
#[derive(Debug, Clone, Copy)]
struct Job {
    intended: Timestamp,
    started: Timestamp,
    /// It was sent once already, on a connection that the other side was closing.
    resent: bool,
}

#[derive(Debug)]
enum State {
    Connecting(Job),
    Idle,
    Busy(Job, Exchange),
}

struct Connection<S> {
    stream: S,
    state: State,
    /// Tells this connection apart from a later one in the same place.
    generation: u32,
    deadline: Deadline,
    /// How much of the request is written.
    written: usize,
    /// The beginning of an answer that waits for more.
    pending: Vec<u8>,
    /// Whether it has carried an answer before.
    reused: bool,
}

/// The arrivals that are still to come and those that wait.
#[expect(clippy::large_enum_variant, reason = "there is one a worker")]
enum Source {
    Open {
        due: Peekable<Schedule>,
        requests: u64,
        waiting: Schedule,
        waiting_count: u64,
        counted_as_waited: u64,
    },
    Closed {
        left: u64,
        end: Timestamp,
        retry_at: Timestamp,
    },
}

/// One event loop that sends requests and waits for their answers.
pub(crate) struct Worker<'a, N: Net> {
    net: N,
    plan: &'a Plan,
    watch: &'a Watch,
    answer_to: AnswerTo,
    limit: Option<usize>,
    source: Source,
    connections: Slab<Connection<N::Stream>>,
    idle: Vec<usize>,
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
        let source = match plan.model {
            Model::Open { rate, arrivals, .. } => {
                let schedule =
                    Schedule::constant(rate, arrivals, plan.duration, plan.requests).shard(index, workers);
                Source::Open {
                    due: schedule.clone().peekable(),
                    requests: plan.requests_of(index),
                    waiting: schedule,
                    waiting_count: 0,
                    counted_as_waited: 0,
                }
            }
            Model::Closed { .. } => {
                Source::Closed { left: plan.requests_of(index), end: plan.end(), retry_at: Timestamp::ZERO }
            }
        };
        Worker {
            net,
            plan,
            watch,
            answer_to: if plan.target.head { AnswerTo::Head } else { AnswerTo::Other },
            limit: plan.connections_of(index).map(|limit| limit as usize),
            source,
            connections: Slab::new(),
            idle: Vec::new(),
            busy: 0,
            generation: 0,
            timers: Timers::default(),
            scanner: Scanner::new(Limits::default()),
            buffer: vec![0; READ_BYTES],
            recorder: Recorder::new(plan.good_within, plan.end(), &watch.bounds),
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
                break now.min(self.plan.end());
            }
            let next_due = self.note_due(now);
            self.dispatch(now);
            if next_due == Timestamp::NEVER && self.is_done(now) {
                break now.min(self.plan.end());
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

    /// Counts the arrivals that have come due, and says when the next one will.
    fn note_due(&mut self, now: Timestamp) -> Timestamp {
        match &mut self.source {
            Source::Open { due, requests, waiting_count, .. } => {
                while let Some(intended) = due.next_if(|&intended| intended <= now) {
                    self.recorder.scheduled(intended);
                    self.recorder.lag.record(now.since(intended));
                    *waiting_count += 1;
                }
                // The last gap belongs to the schedule: ten arrivals at 1/s take ten seconds, not nine.
                let over = now >= self.plan.end() || self.recorder.accounting().scheduled >= *requests;
                let end = if over { Timestamp::NEVER } else { self.plan.end() };
                due.peek().copied().unwrap_or(end)
            }
            Source::Closed { left, end, retry_at } => {
                if *left == 0 || now >= *end {
                    Timestamp::NEVER
                } else if *retry_at > now {
                    *retry_at
                } else {
                    *end
                }
            }
        }
    }

    fn next_arrival(&mut self, now: Timestamp) -> Option<Timestamp> {
        match &mut self.source {
            Source::Open { waiting, waiting_count, .. } => {
                *waiting_count = waiting_count.checked_sub(1)?;
                waiting.next()
            }
            Source::Closed { left, end, .. } => {
                if *left == 0 || now >= *end {
                    return None;
                }
                *left -= 1;
                self.recorder.scheduled(now);
                Some(now)
            }
        }
    }

    /// Sends what is due on idle connections, and opens new ones as far as that is allowed.
    fn dispatch(&mut self, now: Timestamp) {
        while let Some(&index) = self.idle.last() {
            let Some(intended) = self.next_arrival(now) else { return };
            self.idle.pop();
            self.send(index, Job { intended, started: now, resent: false });
        }
        if let Source::Closed { retry_at, .. } = self.source
            && now < retry_at
        {
            return;
        }
        while self.limit.is_none_or(|limit| self.connections.len() < limit) {
            let Some(intended) = self.next_arrival(now) else { return };
            self.open(Job { intended, started: now, resent: false });
            if matches!(self.source, Source::Closed { retry_at, .. } if retry_at > now) {
                return;
            }
        }
        if let Source::Open { waiting_count, counted_as_waited, .. } = &mut self.source {
            // Each arrival is counted once, when it is first left waiting; those counted before and sent since
            // came first, so what is new is what stands above the old mark.
            let scheduled = self.recorder.accounting().scheduled;
            let first_waiting = scheduled - *waiting_count;
            self.recorder.waited += scheduled - (*counted_as_waited).max(first_waiting);
            *counted_as_waited = scheduled;
        }
    }

    fn open(&mut self, job: Job) {
        self.generation = self.generation.wrapping_add(1);
        let entry = self.connections.vacant_entry();
        let index = entry.key();
        match self.net.connect(self.plan.target.address, Token(index)) {
            Ok(stream) => {
                let mut connection = Connection {
                    stream,
                    state: State::Connecting(job),
                    generation: self.generation,
                    deadline: Deadline::default(),
                    written: 0,
                    pending: Vec::new(),
                    reused: false,
                };
                let owner = (index, self.generation);
                self.timers.set(owner, &mut connection.deadline, job.started + self.plan.timeout);
                entry.insert(connection);
                self.busy += 1;
            }
            Err(error) => self.connect_failed(job, &error),
        }
    }

    fn connect_failed(&mut self, job: Job, error: &io::Error) {
        self.recorder.failed(job.intended, failure_of(error));
        if let Source::Closed { retry_at, .. } = &mut self.source {
            *retry_at = self.net.now() + RETRY_AFTER;
        }
    }

    /// Writes the request on a connection that is ready for one.
    fn send(&mut self, index: usize, job: Job) {
        let connection = &mut self.connections[index];
        connection.state = State::Busy(job, Exchange::new(self.answer_to));
        connection.written = 0;
        self.timers.set(
            (index, connection.generation),
            &mut connection.deadline,
            job.started + self.plan.timeout,
        );
        self.busy += 1;
        self.write(index);
    }

    fn write(&mut self, index: usize) {
        let connection = &mut self.connections[index];
        let request = &self.plan.target.request;
        while connection.written < request.len() {
            match self.net.write(&mut connection.stream, &request[connection.written..]) {
                Ok(0) => return self.broken(index, Failure::ClosedEarly),
                Ok(count) => connection.written += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return self.broken(index, failure_of(&error)),
            }
        }
    }

    fn ready(&mut self, event: Ready) {
        let index = event.token.0;
        let Some(connection) = self.connections.get_mut(index) else { return };
        if let State::Connecting(job) = connection.state {
            match self.net.connected(&connection.stream) {
                Ok(false) => return,
                Ok(true) => {
                    self.busy -= 1;
                    self.recorder.connected();
                    self.send(index, job);
                }
                Err(error) => {
                    self.remove(index);
                    self.connect_failed(job, &error);
                    return;
                }
            }
        } else if event.writable && matches!(connection.state, State::Busy(..)) {
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
            self.recorder.received(count);
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
                    // Bytes after the answer were not asked for either.
                    answer.keep_alive &= used == input.len();
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
        self.recorder
            .answered(Times { intended: job.intended, started: job.started, ended: now }, answer.status);
        if !answer.keep_alive {
            self.remove(index);
            return;
        }
        self.busy -= 1;
        let connection = &mut self.connections[index];
        connection.state = State::Idle;
        connection.deadline.clear();
        connection.reused = true;
        match self.next_arrival(now) {
            Some(intended) => self.send(index, Job { intended, started: now, resent: false }),
            None => self.idle.push(index),
        }
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
            untouched && closing && !exchange.has_begun() && self.plan.target.idempotent && !job.resent;
        self.remove(index);
        if again {
            self.open(Job { resent: true, ..job });
        } else {
            self.recorder.failed(job.intended, failure);
        }
    }

    fn remove(&mut self, index: usize) {
        let connection = self.connections.remove(index);
        match connection.state {
            State::Idle => self.idle.retain(|&idle| idle != index),
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
            if let State::Busy(job, _) | State::Connecting(job) = connection.state {
                self.recorder.timed_out(Times { intended: job.intended, started: job.started, ended: now });
            }
            self.remove(index);
        }
    }

    /// Nothing more will come: all was sent and answered, or the time for answers has passed too.
    fn is_done(&self, now: Timestamp) -> bool {
        let waiting = match &self.source {
            Source::Open { waiting_count, .. } => *waiting_count,
            Source::Closed { .. } => 0,
        };
        let grace_over = now >= self.plan.end() + self.plan.timeout;
        grace_over || (waiting == 0 && self.busy == 0)
    }

    /// The intended start of the oldest arrival that is not finished.
    fn oldest(&self) -> Option<Timestamp> {
        let waiting = match &self.source {
            Source::Open { waiting, waiting_count, .. } if *waiting_count > 0 => waiting.clone().next(),
            _ => None,
        };
        let sent = self.connections.iter().filter_map(|(_, connection)| match connection.state {
            State::Connecting(job) | State::Busy(job, _) => Some(job.intended),
            State::Idle => None,
        });
        sent.chain(waiting).min()
    }

    /// How many arrivals that are not finished are older than each of the watched bounds.
    fn overdue(&self, now: Timestamp) -> Vec<u64> {
        let older = |bound: Duration, intended: Timestamp| now.since(intended) >= bound;
        let sent = |bound| {
            let jobs = self.connections.iter().filter_map(|(_, connection)| match connection.state {
                State::Connecting(job) | State::Busy(job, _) => Some(job.intended),
                State::Idle => None,
            });
            jobs.filter(|&intended| older(bound, intended)).count() as u64
        };
        let waiting = |bound| match &self.source {
            Source::Open { waiting, waiting_count, .. } => {
                let due = waiting.clone().take(usize::try_from(*waiting_count).unwrap_or(usize::MAX));
                due.take_while(|&intended| older(bound, intended)).count() as u64
            }
            Source::Closed { .. } => 0,
        };
        self.watch.bounds.iter().map(|&bound| sent(bound) + waiting(bound)).collect()
    }

    fn report(&mut self, slot: &Slot, now: Timestamp) {
        let oldest = self.oldest();
        self.recorder.close_before(oldest.unwrap_or(now).min(now));
        let waiting = match &self.source {
            Source::Open { waiting_count, .. } => *waiting_count,
            Source::Closed { .. } => 0,
        };
        let (recent, good) = self.recorder.take_recent();
        let overdue = self.overdue(now);
        slot.report(|progress| {
            progress.at = now;
            progress.accounting = self.recorder.accounting();
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
        let open: Vec<Job> = self
            .connections
            .iter()
            .filter_map(|(_, connection)| match connection.state {
                State::Connecting(job) | State::Busy(job, _) => Some(job),
                State::Idle => None,
            })
            .collect();
        for job in open {
            self.recorder.enter(job.intended, Fate::InFlight);
        }
        if let Source::Open { waiting, waiting_count, .. } = &mut self.source {
            for intended in waiting.take(usize::try_from(*waiting_count).unwrap_or(usize::MAX)) {
                self.recorder.enter(intended, Fate::Unsent);
            }
            *waiting_count = 0;
        }
        self.busy = 0;
        self.connections.clear();
        self.idle.clear();
        self.report(slot, end);
        let finished = self.recorder.finish(end.since(Timestamp::ZERO), thread_cpu());
        Home { finished, longest_stall: self.longest_stall }
    }
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
