//! A handler thread: takes a connection, does the work of its requests, sends the responses.
//!
//! The order is CPU time (of the machine, or of the [virtual processor](crate::allotment)), wait, pool. The slot comes last so that a request holds it no longer than necessary, and the
//! thread is held through all three, as in every server with a thread for each request in progress.

use crate::allotment::VirtualProcessor;
use crate::config::{Boot, Config};
use crate::connection::{Connection, Counted, Step};
use crate::gate::Gate;
use crate::pace::{Stop, burn, sharpen_sleeps, sleep_until};
use crate::poller::Poller;
use crate::queue::AcceptQueue;
use crate::record::{Line, Record};
use crate::request::Request;
use crate::response::{Own, Spent, body, send_all, served};
use crate::times::{Draws, Times};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The state that all threads of a service share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) config: Config,
    pub(crate) poller: Poller,
    pub(crate) queue: AcceptQueue,
    pub(crate) pool: Gate,
    /// The virtual processor, if CPU time is virtual.
    pub(crate) processor: Option<VirtualProcessor>,
    draws: Draws,
    pub(crate) record: Option<Record>,
    /// Response bodies by their size.
    bodies: HashMap<u64, Vec<u8>>,
    pub(crate) served: AtomicU64,
    pub(crate) refused: AtomicU64,
    pub(crate) stop: Stop,
    started: Instant,
}

impl Shared {
    pub(crate) fn new(config: Config, poller: Poller, record: Option<Record>) -> Self {
        Shared {
            poller,
            queue: AcceptQueue::new(config.accept_queue),
            pool: Gate::new(config.pool_slots),
            processor: config.cores.map(VirtualProcessor::new),
            draws: Draws::new(config.seed, config.numbered),
            record,
            bodies: bodies(&config),
            served: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            stop: Stop::default(),
            started: Instant::now(),
            config,
        }
    }

    /// A handler thread: takes connections from the accept queue until the service stops.
    pub(crate) fn handle(&self, lock: Option<&Gate>) {
        sharpen_sleeps();
        while let Some(connection) = self.queue.take() {
            self.serve(connection, lock);
        }
    }

    /// Serves all requests that have arrived on a connection, in order, and returns it to the poller.
    fn serve(&self, mut connection: Connection, lock: Option<&Gate>) {
        let mut step = connection.receive();
        loop {
            step = match step {
                Step::Serve(request) => {
                    let keep_alive = request.keep_alive;
                    if self.answer(&mut connection, &request, lock).is_none() {
                        return;
                    }
                    if !keep_alive {
                        connection.close_gently();
                        return self.poller.watch(connection);
                    }
                    // A pipelined request counts as arriving now, after the last response.
                    let next = connection.next();
                    if !connection.is_between_requests() || matches!(next, Step::Serve(_)) {
                        let (presence, in_flight) = Counted::new(&self.poller.in_flight);
                        (connection.presence, connection.in_flight) = (Some(presence), in_flight);
                        connection.arrival = Instant::now();
                    }
                    next
                }
                Step::Continue => {
                    let timeout = self.config.read_timeout;
                    if send_all(&connection.stream, CONTINUE, timeout, &self.stop).is_err() {
                        return;
                    }
                    Step::Wait
                }
                Step::Wait => return self.poller.watch(connection),
                Step::Refuse(refusal) => {
                    self.refused.fetch_add(1, Ordering::Relaxed);
                    self.note(&connection, "", refusal.status(), "");
                    let timeout = self.config.read_timeout;
                    if send_all(&connection.stream, &refusal.answer(), timeout, &self.stop).is_err() {
                        return;
                    }
                    connection.close_gently();
                    return self.poller.watch(connection);
                }
                Step::Gone => return,
            };
        }
    }

    /// Does the work of a request and sends its response; `None` if the connection is lost or the service stops.
    fn answer(&self, connection: &mut Connection, request: &Request, lock: Option<&Gate>) -> Option<()> {
        if let Some(stall) = &self.config.stall {
            sleep_until(Instant::now() + stall.wait(self.started.elapsed()), &self.stop);
        }
        if let Some(own) = self.own_answer(&request.path) {
            connection.presence = None;
            let bytes = own.bytes(request);
            return send_all(&connection.stream, &bytes, self.config.read_timeout, &self.stop).ok();
        }
        let queue = connection.arrival.elapsed();
        let work = self.config.work(&request.path);
        let mut spent = self.work(self.draws.times(work, &request.arrival), lock)?;
        spent.queue = queue;
        let body = self.bodies.get(&work.body.get()).map_or(&[][..], Vec::as_slice);
        let answer = served(request, &spent, body);
        // The client may send its next request as soon as it has the response, so this one ends before.
        connection.presence = None;
        self.served.fetch_add(1, Ordering::Relaxed);
        let sent = send_all(&connection.stream, &answer, self.config.read_timeout, &self.stop);
        self.note(connection, &request.path, 200, &request.arrival);
        sent.ok()
    }

    /// What a service with a virtual processor answers itself.
    fn own_answer(&self, path: &str) -> Option<Own> {
        let processor = self.processor.as_ref()?;
        let boot = self.config.boot.unwrap_or(Boot { span: Duration::ZERO, cpu: 0.0 });
        let up = self.started.elapsed();
        match path {
            "/metrics" => {
                let booted = boot.cpu * processor.cores() * up.min(boot.span).as_secs_f64();
                Some(Own::Metrics {
                    used: processor.used() + booted,
                    cores: processor.cores(),
                    // Without the request for the metrics.
                    in_flight: self.poller.in_flight.load(Ordering::Relaxed).saturating_sub(1),
                    served: self.served.load(Ordering::Relaxed),
                    up,
                })
            }
            _ if up < boot.span => Some(Own::Booting),
            "/ready" => Some(Own::Ready),
            _ => None,
        }
    }

    fn work(&self, times: Times, lock: Option<&Gate>) -> Option<Spent> {
        let mut spent = Spent::default();
        // The end of the work as planned: a late wake-up does not make the wait longer.
        let mut planned = None;
        if !times.cpu.is_zero() {
            spent.cpu = match (&self.processor, lock) {
                (Some(processor), _) => {
                    planned = Some(processor.work(times.cpu)?);
                    times.cpu
                }
                (None, None) => burn(times.cpu, &self.stop),
                (None, Some(lock)) => self.burn_in_turns(times.cpu, lock),
            };
        }
        if !times.wait.is_zero() {
            let begin = planned.unwrap_or_else(Instant::now);
            sleep_until(begin + times.wait, &self.stop);
            spent.wait = begin.elapsed();
        }
        if !times.hold.is_zero() {
            (spent.pool, spent.hold) = self.hold(times.hold)?;
        }
        if self.stop.is_asked() { None } else { Some(spent) }
    }

    /// Uses CPU time while holding the worker's global lock, one switch interval at a time.
    fn burn_in_turns(&self, amount: Duration, lock: &Gate) -> Duration {
        let mut burnt = Duration::ZERO;
        while burnt < amount && !self.stop.is_asked() {
            // The lock is never closed: its holders detect that the service stops, and release it.
            if lock.enter().is_none() {
                break;
            }
            burnt += burn((amount - burnt).min(TURN), &self.stop);
            lock.leave(Instant::now());
        }
        burnt
    }

    /// Waits for a slot of the pool and holds it: returns how long each took.
    fn hold(&self, span: Duration) -> Option<(Duration, Duration)> {
        let begin = Instant::now();
        let grant = self.pool.enter()?;
        let planned = grant.start + slowed(span, grant.present, self.config.slow_above);
        sleep_until(planned, &self.stop);
        self.pool.leave(planned);
        Some((grant.start.saturating_duration_since(begin), grant.start.elapsed()))
    }

    fn note(&self, connection: &Connection, path: &str, status: u16, generator: &str) {
        if let Some(record) = &self.record {
            record.write(&Line {
                arrival: connection.arrival,
                departure: Instant::now(),
                connection: connection.number,
                path,
                status,
                in_flight: connection.in_flight,
                generator,
            });
        }
    }
}

/// A hold with `present` requests at the pool: n / threshold times as long if n is above the threshold.
fn slowed(span: Duration, present: usize, threshold: Option<usize>) -> Duration {
    match threshold {
        Some(threshold) if present > threshold => span.mul_f64(present as f64 / threshold as f64),
        _ => span,
    }
}

fn bodies(config: &Config) -> HashMap<u64, Vec<u8>> {
    let works = config.routes.iter().map(|route| &route.work).chain([&config.otherwise]);
    works.map(|work| work.body.get()).map(|size| (size, body(size as usize))).collect()
}

const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";
/// CPython's switch interval.
const TURN: Duration = Duration::from_millis(5);
