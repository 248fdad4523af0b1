//! A handler thread: takes a connection, does the work of its requests, sends the responses.
//!
//! The order is CPU time, wait, pool. The slot comes last so that a request holds it no longer than necessary, and the
//! thread is held through all three, as in every server with a thread for each request in progress.

use crate::config::{Config, Work};
use crate::connection::{Connection, Counted, Step};
use crate::distribution::Distribution;
use crate::gate::Gate;
use crate::pace::{Stop, burn, sharpen_sleeps, sleep_until};
use crate::poller::Poller;
use crate::queue::AcceptQueue;
use crate::record::{Line, Record};
use crate::request::Request;
use crate::response::{Spent, body, send_all, served};
use stats::Rng;
use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The state that all threads of a service share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) config: Config,
    pub(crate) poller: Poller,
    pub(crate) queue: AcceptQueue,
    pub(crate) pool: Gate,
    draws: Mutex<Draws>,
    pub(crate) record: Option<Record>,
    /// Response bodies by their size.
    bodies: HashMap<u64, Vec<u8>>,
    pub(crate) served: AtomicU64,
    pub(crate) refused: AtomicU64,
    pub(crate) stop: Stop,
    started: Instant,
}

/// The random streams, one for each purpose.
#[derive(Debug)]
struct Draws {
    cpu: Rng,
    wait: Rng,
    hold: Rng,
}

impl Draws {
    fn new(seed: u64) -> Self {
        let stream = |purpose| Rng::new(seed, purpose);
        Draws { cpu: stream("sample cpu"), wait: stream("sample wait"), hold: stream("sample hold") }
    }
}

impl Shared {
    pub(crate) fn new(config: Config, poller: Poller, record: Option<Record>) -> Self {
        Shared {
            poller,
            queue: AcceptQueue::new(config.accept_queue),
            pool: Gate::new(config.pool_slots),
            draws: Mutex::new(Draws::new(config.seed)),
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
        let queue = connection.arrival.elapsed();
        let work = self.config.work(&request.path);
        let mut spent = self.work(work, lock)?;
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

    fn work(&self, work: &Work, lock: Option<&Gate>) -> Option<Spent> {
        let mut spent = Spent::default();
        if let Some(cpu) = &work.cpu {
            let amount = self.draw(cpu, |draws| &mut draws.cpu);
            spent.cpu = match lock {
                None => burn(amount, &self.stop),
                Some(lock) => self.burn_in_turns(amount, lock),
            };
        }
        if let Some(wait) = &work.wait {
            let begin = Instant::now();
            sleep_until(begin + self.draw(wait, |draws| &mut draws.wait), &self.stop);
            spent.wait = begin.elapsed();
        }
        if let Some(hold) = &work.hold {
            (spent.pool, spent.hold) = self.hold(self.draw(hold, |draws| &mut draws.hold))?;
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

    fn draw(&self, from: &Distribution, stream: impl Fn(&mut Draws) -> &mut Rng) -> Duration {
        from.draw(stream(&mut self.draws.lock().expect("nothing panics while it draws")))
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
