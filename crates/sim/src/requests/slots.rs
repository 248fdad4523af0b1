//! The limit of requests in flight at each instance, and the queue of a service whose instances are all full, decided by
//! [`control`] as in a pool of the gateway.
//!
//! A request holds a slot from when it is sent until it has ended for its client. A request that waits for a slot is at
//! [`At::SlotQueue`].

use super::Requests;
use super::balancers::Balancers;
use super::list::NONE;
use super::placing::Brought;
use super::send::Ended;
use super::timers::Due;
use super::visit::{At, Visit};
use crate::settings::Balancing;
use control::ClassId;
use control::admission::{Line, Next, Pace, Queued, Reason, Room};
use control::balance::{InstanceId, Placed};
use control::concurrency::{Concurrency, Priority};
use std::cell::Cell;
use std::time::Duration;
use units::Timestamp;

/// The slots of a service's instances.
#[derive(Debug)]
pub(super) struct Slots {
    limit: u32,
    /// By the index of the instance.
    instances: Vec<Option<Concurrency<Cell<u64>>>>,
    queue: Option<(Room<Cell<u64>>, Line<u32>)>,
    /// By the index of the visit.
    waiting: Vec<Option<Waiting>>,
}

/// A request in the queue.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    place: Queued,
    /// What was picked for it when it arrived.
    picked: Placed,
}

impl Slots {
    /// None without a limit. Contradictory settings are among [`System::problems`](crate::settings::System::problems).
    pub(super) fn new(balancing: &Balancing) -> Option<Self> {
        let queue = balancing.queue.and_then(|queue| {
            let room = Room::new(ID, queue.settings, Default::default()).ok()?;
            let line = Line::new(&room, usize::from(queue.classes.max(1)));
            Some((room, line))
        });
        let limit = balancing.instance_limit?;
        Some(Slots { limit, instances: Vec::new(), queue, waiting: Vec::new() })
    }

    pub(super) fn added(&mut self, slot: u32) {
        let place = slot as usize;
        self.instances.resize_with(self.instances.len().max(place + 1), || None);
        self.instances[place] = Concurrency::new(ID, self.limit).ok();
    }

    pub(super) fn removed(&mut self, slot: u32) {
        if let Some(instance) = self.instances.get_mut(slot as usize) {
            *instance = None;
        }
    }

    /// A request that was sent at an instance has ended, after this time.
    pub(super) fn left(&mut self, slot: u32, held: Duration) {
        self.release(InstanceId(slot));
        if let Some((_, line)) = &mut self.queue {
            line.held(held);
        }
    }

    fn release(&self, id: InstanceId) {
        if let Some(Some(instance)) = self.instances.get(id.0 as usize) {
            instance.leave();
        }
    }

    /// Takes a slot at the picked instance or at another one.
    fn take(
        &self,
        balancers: &Balancers,
        node: u16,
        picked: InstanceId,
        failed: Option<InstanceId>,
    ) -> Option<InstanceId> {
        let enter = |id: InstanceId| match self.instances.get(id.0 as usize) {
            Some(Some(instance)) => instance.enter().is_ok().then_some(()),
            _ => None,
        };
        let count = self.instances.len() as u32;
        balancers.with_slot(node, picked, count, failed, enter)
    }

    fn is_before(&self, priority: Priority) -> bool {
        self.queue.as_ref().is_some_and(|(_, line)| line.is_before(priority))
    }

    fn pace(&self) -> Pace {
        let instances = self.instances.iter().flatten().count() as u32;
        let places = self.limit.saturating_mul(instances);
        self.queue
            .as_ref()
            .map_or(Pace { service: Duration::ZERO, limit: places }, |(_, line)| line.pace(places, 1))
    }

    /// Queues a request; returns its latest start.
    fn wait(
        &mut self,
        now: Timestamp,
        claims: (Priority, Timestamp),
        picked: Placed,
        v: u32,
    ) -> Result<Timestamp, Reason> {
        let pace = self.pace();
        let Some((room, line)) = &mut self.queue else {
            let full = self.instances.get(picked.instance().0 as usize).and_then(Option::as_ref);
            let in_flight = full.map_or(self.limit, Concurrency::in_flight);
            return Err(Reason::Concurrency { class: ID, limit: self.limit, in_flight });
        };
        let place = line.wait(room, now, claims, pace, v)?;
        let at = v as usize;
        self.waiting.resize(self.waiting.len().max(at + 1), None);
        self.waiting[at] = Some(Waiting { place, picked });
        Ok(place.latest_start())
    }

    /// It has waited as long as it may; no effect if it does not wait any more.
    fn waited_too_long(&mut self, now: Timestamp, v: u32) -> Option<Reason> {
        let pace = self.pace();
        let place = self.waiting.get(v as usize)?.as_ref()?.place;
        if place.latest_start() != now {
            return None;
        }
        self.waiting[v as usize] = None;
        let (room, line) = self.queue.as_mut()?;
        Some(line.waited_too_long(room, now, pace, place))
    }

    fn front(&self) -> Option<u32> {
        self.queue.as_ref()?.1.front().copied()
    }

    /// The request that gets a slot, with what was picked for it, or one that is refused.
    fn next(&mut self, now: Timestamp) -> Option<(u32, Result<Placed, Reason>)> {
        let pace = self.pace();
        let (room, line) = self.queue.as_mut()?;
        let (v, reason) = match line.next(room, now, pace)? {
            Next::Start { request, .. } => (request, None),
            Next::Shed { request, reason } => (request, Some(reason)),
        };
        let waiting = self.waiting[v as usize].take()?;
        Some((v, reason.map_or(Ok(waiting.picked), Err)))
    }
}

impl Requests {
    /// Sends a request to the instance that is picked for it, or to another if that one is full. If all are full, it
    /// waits or is refused.
    pub(super) fn send_to_slot(&mut self, v: u32) {
        let now = Timestamp::from_nanos(self.now);
        let visit = &mut self.visits.slots[v as usize];
        let service = &mut self.services[usize::from(visit.service)];
        let Some(slots) = &mut service.slots else { return };
        let claims = service.admission.as_mut().map_or(ANYONE, |admission| admission.claims(v));
        let placing = service.placing.as_ref();
        let brought = placing.map_or(Brought::default(), |one| one.brought(&self.keys, visit.identity));
        let failed = failed(visit);
        let picked = service.balancers.pick(visit.node, now, brought, failed, &mut self.balance);
        let Some(picked) = picked else {
            return self.set_off(v, None);
        };
        let found = match slots.is_before(claims.0) {
            true => None,
            false => slots.take(&service.balancers, visit.node, picked.instance(), failed),
        };
        if let Some(id) = found {
            visit.keeps_cookie = !picked.sets_cookie();
            service.balancers.sent(visit.node, now, id);
            return self.set_off(v, Some(id.0));
        }
        match slots.wait(now, claims, picked, v) {
            Ok(until) => {
                visit.at = At::SlotQueue;
                if let Some(admission) = &mut service.admission {
                    admission.waits_to_be_sent(v);
                }
                self.timers.push(until.as_nanos(), Due::Line(v));
            }
            Err(reason) => self.refuse_slot(v, reason),
        }
    }

    /// Gives free slots to the requests that wait for one. They are sent later: the request that has just left may be in
    /// the middle of an operation.
    pub(super) fn serve_slots(&mut self, number: u16) {
        let now = Timestamp::from_nanos(self.now);
        loop {
            let service = &mut self.services[usize::from(number)];
            let Some(slots) = &mut service.slots else { return };
            let Some(front) = slots.front() else { return };
            let visit = &self.visits.slots[front as usize];
            // The next request is not known yet, so no key or cookie decides.
            let picked = service.balancers.pick(visit.node, now, Brought::default(), None, &mut self.balance);
            let Some(picked) = picked else { return };
            let found = slots.take(&service.balancers, visit.node, picked.instance(), failed(visit));
            let Some(id) = found else { return };
            match slots.next(now) {
                Some((v, Ok(picked))) => {
                    let visit = &mut self.visits.slots[v as usize];
                    visit.keeps_cookie = !picked.sets_cookie();
                    (visit.instance, visit.at) = (id.0, At::Placed);
                    service.balancers.sent(visit.node, now, id);
                    if let Some(admission) = &mut service.admission {
                        admission.is_sent(v, now);
                    }
                    self.timers.push(self.now, Due::Visit(v));
                }
                Some((v, Err(reason))) => {
                    slots.release(id);
                    self.refuse_slot(v, reason);
                }
                None => return slots.release(id),
            }
        }
    }

    /// A request may have waited for a slot for as long as it may.
    pub(super) fn slot_wait_ends(&mut self, v: u32) {
        let now = Timestamp::from_nanos(self.now);
        let service = &mut self.services[usize::from(self.visits.slots[v as usize].service)];
        let reason = service.slots.as_mut().and_then(|slots| slots.waited_too_long(now, v));
        if let Some(reason) = reason {
            self.refuse_slot(v, reason);
        }
    }

    /// A request gets no slot: it is refused before it was sent.
    fn refuse_slot(&mut self, v: u32, reason: Reason) {
        let number = self.visits.slots[v as usize].service;
        self.services[usize::from(number)].window.shed(reason.name());
        self.leave_door(v, number, Ended::Full);
        self.conclude(v, Ended::Full);
        self.visits.end(v);
    }
}

/// The instance that has failed a request at its previous attempt.
fn failed(visit: &Visit) -> Option<InstanceId> {
    (visit.attempt > 0 && visit.instance != NONE).then_some(InstanceId(visit.instance))
}

/// The limits before the balancer have lower ids.
const ID: ClassId = ClassId(4);
/// The claims of requests without priority class or deadline.
const ANYONE: (Priority, Timestamp) = (Priority::HIGHEST, Timestamp::NEVER);
