//! Runs a plan: one thread per worker, watched and stopped from outside.

use crate::plan::Plan;
use crate::validity::{OwnSigns, judge};
use crate::worker::{Home, Worker};
use host::{Disturbance, Sample};
use http::dial::dns::Lookup;
use http::reactor::{Clock, KernelNet, Waker};
use measure::{Accounting, Histogram, Measurement};
use std::io;
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use thiserror::Error;
use units::Timestamp;

/// Why a run could not start or ended without a measurement.
#[derive(Debug, Error)]
pub enum StartError {
    /// The plan never ends.
    #[error("a run needs an end: a duration (-d) or a number of requests (-n)")]
    Endless,
    /// There is nothing to send.
    #[error("a rate of 0/s sends nothing; expected more than 0/s")]
    NoRate,
    /// The event loop or its thread could not be created.
    #[error("cannot set up worker {worker}; see `ulimit -n` and `ulimit -u`")]
    Worker {
        /// The index of the worker.
        worker: u32,
        /// The system's error.
        source: io::Error,
    },
    /// A worker ended before its work.
    #[error("a worker ended before its work was done")]
    Lost,
}

/// The progress of a run, for all its workers together.
#[derive(Debug, Clone, Default)]
pub struct Progress {
    /// The time of the report, since the start of the run.
    pub at: Timestamp,
    /// The outcomes of the arrivals of all seconds so far.
    pub accounting: Accounting,
    /// Sent, without a response yet.
    pub in_flight: u64,
    /// Due, and waiting for a connection.
    pub waiting: u64,
    /// The intended start of the oldest arrival that is not finished.
    pub oldest: Option<Timestamp>,
    /// Open connections.
    pub connections: u64,
    /// Response times of the responses and time-outs since the last call.
    pub recent: Histogram,
    /// Dispatch delays of the same requests.
    pub recent_dispatch: Histogram,
    /// How many of them were good.
    pub recent_good: u64,
    /// How late the event loops handled due arrivals, at p99 of the run so far: the generator's own part of the dispatch
    /// delay.
    pub lag: Duration,
    /// The longest time for which a loop that was ready to run did not run.
    pub longest_stall: Duration,
    /// Responses with a status from 200 to 399.
    pub succeeded: u64,
    /// How many responses, shed ones excepted, were within each of the [`Watch::bounds`].
    pub within: Vec<u64>,
    /// Requests without an end that are older than each of the bounds.
    pub overdue: Vec<u64>,
}

/// How closely a run is watched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Watch {
    /// Response times by which requests are counted in [`Progress`]; a response is within a bound if it is below it.
    pub bounds: Vec<Duration>,
    /// How often the workers report their progress.
    pub every: Duration,
}

impl Default for Watch {
    /// Ten times a second, without bounds.
    fn default() -> Self {
        Watch { bounds: Vec::new(), every: Duration::from_millis(100) }
    }
}

/// Where a worker stores its progress and checks whether to stop.
#[derive(Debug, Default)]
pub(crate) struct Slot {
    pub(crate) stop: AtomicBool,
    /// Whether a snapshot of the results was requested.
    wants_snapshot: AtomicBool,
    snapshot: Mutex<Option<Box<Measurement>>>,
    progress: Mutex<Progress>,
}

impl Slot {
    pub(crate) fn wants_snapshot(&self) -> bool {
        self.wants_snapshot.swap(false, Ordering::Relaxed)
    }

    pub(crate) fn snapshot(&self, measured: Measurement) {
        *self.snapshot.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(measured));
    }

    pub(crate) fn report(&self, write: impl FnOnce(&mut Progress)) {
        write(&mut self.progress.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// A running load. Dropping it stops it.
#[derive(Debug)]
pub struct Running {
    plan: Plan,
    /// The sample of the machine before the run.
    before: Sample,
    workers: Vec<Thread>,
}

#[derive(Debug)]
struct Thread {
    slot: Arc<Slot>,
    waker: Arc<Waker>,
    /// Taken when it is joined.
    handle: Option<JoinHandle<io::Result<Home>>>,
}

/// Starts a run.
///
/// # Errors
/// The plan never ends or sends nothing, or the system provides no thread or descriptor.
pub fn start(plan: Plan) -> Result<Running, StartError> {
    start_watched(plan, &Watch::default())
}

/// Starts a run with more detailed progress.
///
/// # Errors
/// As for [`start`].
pub fn start_watched(mut plan: Plan, watch: &Watch) -> Result<Running, StartError> {
    if plan.end() == Timestamp::NEVER && plan.requests.is_none() {
        return Err(StartError::Endless);
    }
    if plan.model.peak_rate() == Some(units::Rate::ZERO) {
        return Err(StartError::NoRate);
    }
    // A worker without a connection would not send its part of the arrivals.
    if let Some(connections) = plan.model.connections() {
        plan.workers = plan.workers.min(connections);
    }
    let mut prepared = Vec::new();
    // The loops are created first, so that the clock starts when everything is ready.
    let clock = Clock::starting_now();
    for worker in 0..plan.workers.get() {
        let net = KernelNet::new(clock).map_err(|source| StartError::Worker { worker, source })?;
        let waker = net.waker().map_err(|source| StartError::Worker { worker, source })?;
        let lookup = plan.connecting.resolve_each.then(|| {
            let (resolver, waker) = (plan.connecting.resolver.clone(), Arc::clone(&waker));
            // A worker that cannot be woken sees the result with its next report.
            Lookup::start(resolver, LOOKUPS, move || drop(waker.wake()))
        });
        let lookup = lookup.transpose().map_err(|source| StartError::Worker { worker, source })?;
        prepared.push((net, waker, lookup));
    }
    let mut running = Running { plan, before: Sample::now(), workers: Vec::new() };
    for (worker, (net, waker, lookup)) in (0..).zip(prepared) {
        let slot = Arc::new(Slot::default());
        let handle = {
            let (plan, watch, slot) = (running.plan.clone(), watch.clone(), Arc::clone(&slot));
            std::thread::Builder::new()
                .name(format!("load-{worker}"))
                .spawn(move || {
                    // Makes sleeps end on time; if that is refused, they end 50 µs later.
                    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
                    Worker::new(net, &plan, &watch, worker, lookup).run(&slot)
                })
                .map_err(|source| StartError::Worker { worker, source })?
        };
        running.workers.push(Thread { slot, waker, handle: Some(handle) });
    }
    Ok(running)
}

impl Running {
    /// The progress of the run; the recent part covers the time since the last call.
    pub fn progress(&self) -> Progress {
        let mut all = Progress::default();
        for worker in &self.workers {
            let mut progress = worker.slot.progress.lock().unwrap_or_else(PoisonError::into_inner);
            all.at = all.at.max(progress.at);
            all.accounting += progress.accounting;
            all.in_flight += progress.in_flight;
            all.waiting += progress.waiting;
            all.oldest = [all.oldest, progress.oldest].into_iter().flatten().min();
            all.connections += progress.connections;
            all.recent.add(&progress.recent);
            all.recent_dispatch.add(&progress.recent_dispatch);
            all.recent_good += progress.recent_good;
            all.lag = all.lag.max(progress.lag);
            all.longest_stall = all.longest_stall.max(progress.longest_stall);
            all.succeeded += progress.succeeded;
            add_each(&mut all.within, &progress.within);
            add_each(&mut all.overdue, &progress.overdue);
            progress.recent.clear();
            progress.recent_dispatch.clear();
            progress.recent_good = 0;
        }
        all
    }

    /// The results at the last call, without the series; `None` if not all workers have reported them yet. They report
    /// them again with one of their next reports.
    pub fn so_far(&self) -> Option<Measurement> {
        let mut all = Measurement::default();
        let mut complete = true;
        for worker in &self.workers {
            let slot = &worker.slot;
            match slot.snapshot.lock().unwrap_or_else(PoisonError::into_inner).as_deref() {
                Some(part) => all.add(part),
                None => complete = false,
            }
            slot.wants_snapshot.store(true, Ordering::Relaxed);
        }
        complete.then_some(all)
    }

    /// Tells the workers to stop at once; requests in flight are counted as in flight.
    pub fn stop(&self) {
        for worker in &self.workers {
            worker.slot.stop.store(true, Ordering::Relaxed);
            // A worker that cannot be woken looks at its next report.
            let _ = worker.waker.wake();
        }
    }

    /// Whether all workers are done.
    pub fn is_finished(&self) -> bool {
        self.workers.iter().all(|worker| worker.handle.as_ref().is_none_or(JoinHandle::is_finished))
    }

    /// Waits for the end and returns the whole measurement.
    ///
    /// # Errors
    /// A worker ended before its work was done.
    pub fn finish(mut self) -> Result<Measurement, StartError> {
        let mut measured = Measurement::default();
        let mut lag = Histogram::new();
        let (mut waited, mut busiest, mut longest_stall) = (0, 0.0_f64, Duration::ZERO);
        for (worker, thread) in (0..).zip(&mut self.workers) {
            let Some(handle) = thread.handle.take() else { continue };
            let home = handle.join().map_err(|_| StartError::Lost)?;
            let home = home.map_err(|source| StartError::Worker { worker, source })?;
            let part = home.finished.measurement;
            if !home.finished.ran.is_zero() {
                busiest = busiest.max(part.cpu.as_secs_f64() / home.finished.ran.as_secs_f64());
            }
            lag.add(&home.finished.lag);
            waited += home.finished.waited;
            longest_stall = longest_stall.max(home.longest_stall);
            measured.add(&part);
        }
        let disturbance = Disturbance::between(&self.before, &Sample::now());
        let signs = OwnSigns { lag: &lag, waited, busiest, longest_stall, disturbance };
        measured.validity = judge(&self.plan, &measured, &signs);
        Ok(measured)
    }
}

/// The most names of one worker that wait for resolution.
const LOOKUPS: usize = 4_096;

/// Adds element by element; the shorter one grows.
fn add_each(sums: &mut Vec<u64>, counts: &[u64]) {
    sums.resize(sums.len().max(counts.len()), 0);
    for (sum, count) in sums.iter_mut().zip(counts) {
        *sum += count;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop();
    }
}
