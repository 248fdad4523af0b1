//! Requests that wait for a slot at a concurrency limit or at an instance.
//!
//! ## Which request gets a slot
//! A worker that frees a slot gives it to its own next waiting request before it does anything else. Slots freed by
//! other workers, by a limit that grew or by a policy that was lifted are found by polling: every few milliseconds
//! while requests wait, and not at all otherwise. [`control::admission::Line`] decides which request is next.

use super::admit::Fate;
use super::connection::{Pause, Phase, Queued};
use super::{Worker, downstream_token};
use crate::local::Local;
use crate::queues::At;
use crate::shared::WaitingRoom;
use control::admission::{Brought, Held, Line as Waiters, Next, Pace, Reason, Served, Set};
use control::balance::{InstanceId, Placed};
use control::concurrency::Concurrency;
use http::reactor::Net;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;
use units::Timestamp;

/// The requests of one worker that wait for a slot.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) waiting: usize,
    /// A slot may have become free.
    pub(super) freed: bool,
    /// When to look for slots that other workers have freed.
    look_at: Timestamp,
}

impl Default for Line {
    fn default() -> Self {
        Line { waiting: 0, freed: false, look_at: Timestamp::NEVER }
    }
}

impl Line {
    /// When to poll next; never if no request waits.
    pub(super) fn look_at(&self) -> Timestamp {
        if self.waiting > 0 { self.look_at } else { Timestamp::NEVER }
    }

    /// Polls if it is time.
    pub(super) fn look(&mut self, now: Timestamp) {
        if now >= self.look_at() {
            self.freed = true;
            self.look_at = now + LOOK_EVERY;
        }
    }
}

impl<N: Net> Worker<N> {
    /// Queues a request for a slot from `now` on, or sheds it.
    pub(super) fn wait_in_line(
        &mut self,
        index: usize,
        local: &Rc<Local>,
        at: At,
        had_turn: bool,
        now: Timestamp,
    ) -> Fate {
        let Some(room) = room(local, at) else { return Fate::Over };
        let admission = &self.downstreams[index].exchange.admission;
        let claims = (admission.priority(), admission.deadline());
        let mut queues = local.queues.borrow_mut();
        let line = queues.at_mut(at).expect("what has a waiting room has a line");
        let entered = line.wait(room, now, claims, pace(line, local, at), index);
        drop(queues);
        let place = match entered {
            Ok(place) => place,
            Err(reason) => return self.shed(index, reason),
        };
        let downstream = &mut self.downstreams[index];
        let owner = (downstream_token(index), downstream.generation);
        self.timers.set(owner, &mut downstream.deadline, place.latest_start());
        downstream.phase = Phase::Waiting(Pause::Queue(Queued { at, place, since: now, had_turn }));
        if self.line.waiting == 0 {
            self.line.look_at = self.now + LOOK_EVERY;
        }
        self.line.waiting += 1;
        Fate::Waits
    }

    /// Removes a request from its queue.
    pub(super) fn leave_line(&mut self, local: &Local, queued: &Queued) {
        let mut queues = local.queues.borrow_mut();
        if let (Some(room), Some(line)) = (room(local, queued.at), queues.at_mut(queued.at)) {
            line.give_up(room, queued.place);
        }
        self.line.waiting -= 1;
    }

    /// A request has reached its longest wait.
    pub(super) fn waited_too_long(
        &mut self,
        index: usize,
        local: &Local,
        queued: &Queued,
        now: Timestamp,
    ) -> Fate {
        self.line.waiting -= 1;
        self.downstreams[index].exchange.admission.add_wait(now.since(queued.since));
        let mut queues = local.queues.borrow_mut();
        let (Some(room), Some(line)) = (room(local, queued.at), queues.at_mut(queued.at)) else {
            return Fate::Over;
        };
        let reason = line.waited_too_long(room, now, pace(line, local, queued.at), queued.place);
        drop(queues);
        self.shed(index, reason)
    }

    /// Gives free slots to waiting requests; returns whether there may have been any.
    #[inline]
    pub(super) fn serve_line(&mut self) -> bool {
        if !self.line.freed || self.line.waiting == 0 {
            return false;
        }
        self.line.freed = false;
        // Requests of earlier configurations have waited longest.
        for number in 0..=self.retired.len() {
            let local = Rc::clone(self.retired.get(number).unwrap_or(&self.local));
            for limit in 0..local.shared.concurrency.len() {
                if local.queues.borrow().has(At::Limit(limit)) {
                    self.serve_limit(&local, limit);
                }
            }
            for pool in 0..local.shared.places.len() {
                if local.queues.borrow().has(At::Pool(pool)) {
                    self.serve_pool(&local, pool);
                }
            }
        }
        true
    }

    fn serve_limit(&mut self, local: &Rc<Local>, index: usize) {
        let limit = &local.shared.concurrency[index];
        let at = At::Limit(index);
        let Some(room) = room(local, at) else { return };
        // A policy may have lifted its limit since.
        let applies = local.shared.routes.iter().any(|route| {
            let asks =
                |set: &Set| route.limits[*set as usize] == Some(index) && route.admission.applies(*set);
            Set::BOTH.iter().any(asks)
        });
        let next = |now| {
            let mut queues = local.queues.borrow_mut();
            let line = queues.at_mut(at)?;
            line.serve(room, now, pace(line, local, at), (&limit.count, applies))
        };
        while let Some(served) = next(self.now) {
            match served {
                Served::Start { request, in_flight } => match self.left_line(request) {
                    Some(queued) => self.go_on_with(request, local, &queued, in_flight),
                    None => limit.count.leave(),
                },
                Served::Shed { request, reason } => self.refuse_in_line(request, reason),
            }
        }
    }

    /// A request was taken from its queue.
    fn left_line(&mut self, request: usize) -> Option<Queued> {
        self.line.waiting -= 1;
        let downstream = &mut self.downstreams[request];
        downstream.deadline.clear();
        let phase = std::mem::replace(&mut downstream.phase, Phase::Active);
        let Phase::Waiting(Pause::Queue(queued)) = phase else { return None };
        downstream.exchange.admission.add_wait(self.now.since(queued.since));
        Some(queued)
    }

    fn refuse_in_line(&mut self, request: usize, reason: Reason) {
        if self.left_line(request).is_some() {
            let _ = self.shed(request, reason);
            self.resume(downstream_token(request));
        }
    }

    /// A request got the slot at the limit that it waited for.
    fn go_on_with(&mut self, index: usize, local: &Rc<Local>, queued: &Queued, in_flight: u32) {
        let exchange = &self.downstreams[index].exchange;
        let always = At::Limit(local.shared.routes[exchange.route()].limits[0].unwrap_or(usize::MAX));
        let place = if queued.at == always { Held::Always(in_flight) } else { Held::Gated(in_flight) };
        let brought = Brought { place: Some(place), had_turn: queued.had_turn };
        let fate = self.ask_admission(index, brought, self.now);
        self.send_if(fate, index);
        self.resume(downstream_token(index));
    }

    fn serve_pool(&mut self, local: &Rc<Local>, pool: usize) {
        let at = At::Pool(pool);
        let front = || local.queues.borrow().at(at).and_then(|line| line.front().copied());
        while let Some(front) = front() {
            // The next request is not known yet, so no key or cookie decides.
            let picked = local.pools[pool].borrow_mut().pick(self.now, None, &[], &mut self.rng);
            let Some(picked) = picked else { return };
            let failed = self.downstreams[front].exchange.placement.failed();
            let Some(found) = self.free_place(local, pool, picked.instance(), failed) else { return };
            // The slot was found for the first request in the queue: if that one is refused, the next may have failed
            // there.
            let Some(request) = self.next_in_line(local, at) else {
                found.place.iter().for_each(|place| place.leave());
                continue;
            };
            let placement = &mut self.downstreams[request].exchange.placement;
            placement.hold(found.place);
            let picked = placement.take_picked().unwrap_or(Placed::Kept(found.id));
            self.send_to(request, local, pool, picked.moved_to(found.id));
            self.resume(downstream_token(request));
        }
    }

    /// Takes the next request from a pool's queue; `None` if it had to be refused, or the queue is empty.
    fn next_in_line(&mut self, local: &Local, at: At) -> Option<usize> {
        let room = room(local, at)?;
        let next = {
            let mut queues = local.queues.borrow_mut();
            let line = queues.at_mut(at)?;
            line.next(room, self.now, pace(line, local, at))?
        };
        match next {
            Next::Start { request, .. } => self.left_line(request).map(|_| request),
            Next::Shed { request, reason } => {
                self.refuse_in_line(request, reason);
                None
            }
        }
    }

    /// A slot for a request at the instance that was picked for it, or at another; `None` if it is queued or was shed.
    pub(super) fn place_at(
        &mut self,
        index: usize,
        local: &Rc<Local>,
        pool: usize,
        picked: Placed,
    ) -> Option<Placed> {
        let Some(found) = &local.shared.places[pool] else { return Some(picked) };
        let exchange = &self.downstreams[index].exchange;
        let (priority, failed) = (exchange.admission.priority(), exchange.placement.failed());
        let waits = |line: &Waiters<usize>| line.is_before(priority);
        if !local.queues.borrow().at(At::Pool(pool)).is_some_and(waits)
            && let Some(found) = self.free_place(local, pool, picked.instance(), failed)
        {
            self.downstreams[index].exchange.placement.hold(found.place);
            return Some(picked.moved_to(found.id));
        }
        if found.waiting.is_some() {
            self.downstreams[index].exchange.placement.wait_for(picked);
            let _ = self.wait_in_line(index, local, At::Pool(pool), false, self.now);
        } else {
            let address = local.pools[pool].borrow().address(picked.instance());
            let Some(full) = found.instances.get(&address) else { return Some(picked) };
            let (limit, in_flight) = (full.limit(), full.in_flight());
            let _ = self.shed(index, Reason::Concurrency { class: full.id(), limit, in_flight });
            self.resume(downstream_token(index));
        }
        None
    }

    /// A request has left its instance.
    pub(super) fn leave_instance(&mut self, index: usize, local: &Local) {
        let now = self.now;
        let placement = &mut self.downstreams[index].exchange.placement;
        let Some(place) = placement.take_place() else { return };
        place.leave();
        if let Some(line) = local.queues.borrow_mut().at_mut(At::Pool(placement.pool())) {
            line.held(now.since(placement.sent()));
        }
        self.line.freed = true;
    }

    /// Takes a slot at the instance that was picked, or else at the next instance of its pool with a free slot; at
    /// one that has failed the request only if there is no other at all.
    fn free_place(
        &self,
        local: &Local,
        pool: usize,
        picked: InstanceId,
        failed: &[InstanceId],
    ) -> Option<Found> {
        let enter = |address| {
            // An instance that was added later has the limit of the new instances.
            let places = places_at(local, pool, address).or_else(|| {
                let name = &local.shared.settings.pools[pool].name;
                let settings = &self.local.shared.settings;
                places_at(&self.local, settings.pools.iter().position(|now| now.name == *name)?, address)
            });
            match places {
                Some(place) => place.enter().is_ok().then(|| Some(Arc::clone(place))),
                None => Some(None),
            }
        };
        let found = local.pools[pool].borrow().with_slot(picked, failed, enter);
        found.map(|(id, place)| Found { id, place })
    }
}

/// An instance with a slot taken at it, if it has a limit.
struct Found {
    id: InstanceId,
    place: Option<Arc<Concurrency<AtomicU64>>>,
}

fn places_at(local: &Local, pool: usize, address: SocketAddr) -> Option<&Arc<Concurrency<AtomicU64>>> {
    local.shared.places.get(pool)?.as_ref()?.instances.get(&address)
}

fn room(local: &Local, at: At) -> Option<&WaitingRoom> {
    match at {
        At::Limit(limit) => local.shared.concurrency[limit].waiting.as_ref(),
        At::Pool(pool) => local.shared.places[pool].as_ref()?.waiting.as_deref(),
    }
}

/// How fast slots become free for this worker.
fn pace(line: &Waiters<usize>, local: &Local, at: At) -> Pace {
    line.pace(places(local, at), local.shared.settings.workers.get())
}

/// How many slots there are, in all workers together.
fn places(local: &Local, at: At) -> u32 {
    match at {
        At::Limit(limit) => local.shared.concurrency[limit].count.limit(),
        At::Pool(pool) => {
            let instances = local.shared.places[pool].iter().flat_map(|places| places.instances.values());
            instances.map(|instance| instance.limit()).fold(0, u32::saturating_add)
        }
    }
}

/// How long a slot that another worker has freed may stay unused.
const LOOK_EVERY: Duration = Duration::from_millis(2);
