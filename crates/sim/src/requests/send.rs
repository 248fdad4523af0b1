//! The client's side of a request: balancer, connection, time-out, attempts.

use super::Requests;
use super::balancers::took;
use super::instance::IdlePool;
use super::list::NONE;
use super::program::Called;
use super::service::Link;
use super::timers::Due;
use super::visit::{At, From, Visit};
use crate::settings::Reuse;
use control::balance::{InstanceId, Outcome};
use stats::SplitMix;
use std::time::Duration;
use units::Timestamp;

/// How an attempt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    Answered,
    Error,
    Refused,
    /// Refused because the instances are at their limit.
    Full,
    TimedOut,
    Failed,
}

impl Ended {
    /// The status of the response; `None` without a response.
    pub(super) fn status(self) -> Option<u16> {
        match self {
            Ended::Answered => Some(200),
            Ended::Error => Some(500),
            Ended::Refused | Ended::Full => Some(503),
            Ended::TimedOut | Ended::Failed => None,
        }
    }

    /// What it means for the instance; a response arrives whole with its first byte.
    pub(super) fn outcome(self, first_byte: Duration) -> Outcome {
        match self {
            Ended::Answered => Outcome::Answered { first_byte },
            Ended::Error => Outcome::ServerError { first_byte },
            Ended::Refused | Ended::Full => Outcome::Refused { retry_after: None },
            Ended::TimedOut => Outcome::TimedOut,
            Ended::Failed => Outcome::Failed,
        }
    }
}

impl Requests {
    /// A request enters the system.
    #[inline]
    pub(super) fn enter(&mut self, mut rng: SplitMix, from: From, origin: u32) {
        let identity = match from {
            From::User => u64::from(origin),
            From::Open | From::Visit => self.keys.identity(rng),
        };
        let endpoint = self.services[0].endpoint(rng.uniform());
        self.begin(Called { service: 0, endpoint }, (rng, identity), from, origin);
    }

    /// A request arrives at a service, with its random draws and its identity.
    #[inline]
    pub(super) fn begin(&mut self, to: Called, draws: (SplitMix, u64), from: From, origin: u32) {
        let now = self.now;
        let state = &mut self.services[to.service as usize];
        state.arrived(now);
        let limited = state.admission.is_some();
        let visit = self.visits.begin(Visit::new(now, to, draws, from, origin));
        if limited { self.ask(visit) } else { self.send(visit) }
    }

    /// An attempt of a request goes to an instance.
    #[inline]
    pub(super) fn send(&mut self, v: u32) {
        let now = self.now;
        let visit = &mut self.visits.slots[v as usize];
        let service = &mut self.services[visit.service as usize];
        if let (0, Some(retries)) = (visit.attempt, &mut service.retries) {
            retries.budget.request(Timestamp::from_nanos(now));
        }
        visit.op = service.endpoints[visit.endpoint as usize];
        visit.node = service.open[visit.rng.below(service.open.len())];
        let (node, failed) = (visit.node, visit.instance);
        if service.slots.is_some() {
            return self.send_to_slot(v);
        }
        let picked = match (&service.placing, visit.attempt) {
            (None, 0) => service.balancers.send(node, now, &mut self.balance),
            (None, _) => service.balancers.send_again(node, now, failed, &mut self.balance),
            (Some(placing), attempt) => {
                let brought = placing.brought(&self.keys, visit.identity);
                let failed = (attempt > 0 && failed != NONE).then_some(InstanceId(failed));
                let picked = service.balancers.place(node, now, brought, failed, &mut self.balance);
                visit.keeps_cookie = picked.is_some_and(|picked| !picked.sets_cookie());
                picked.map(|picked| picked.instance().0)
            }
        };
        self.set_off(v, picked);
    }

    /// A request sets off to the instance that was picked for it.
    #[inline]
    pub(super) fn set_off(&mut self, v: u32, picked: Option<u32>) {
        let now = self.now;
        let visit = &mut self.visits.slots[v as usize];
        let (node, number) = (visit.node, visit.service);
        let service = &mut self.services[number as usize];
        visit.sent = now;
        visit.instance = picked.unwrap_or(NONE);
        if let Some(timeout) = service.timeout {
            service.patience.push(&mut self.visits.slots, v);
            if !std::mem::replace(&mut service.patience_armed, true) {
                self.timers.push(now.saturating_add(timeout), Due::Patience(number));
            }
        }
        let Some(picked) = picked else {
            self.end(v, Ended::Failed);
            return self.visits.end(v);
        };
        let instance = &mut self.instances[picked as usize];
        instance.in_flight += 1;
        let pool = instance.pools + u32::from(node);
        let travel = service.travel;
        self.connect(v, number, pool);
        if travel > 0 {
            self.visits.slots[v as usize].at = At::Travelling;
            self.timers.push(now + travel, Due::Visit(v));
        } else {
            self.reach(v);
        }
    }

    /// An idle connection, or a new one.
    #[inline]
    fn connect(&mut self, v: u32, service: u16, pool: u32) {
        let state = &mut self.services[service as usize];
        let Link::Kept { reuse, idle_timeout } = state.link else {
            state.window.connections += 1;
            return;
        };
        let oldest = self.now.saturating_sub(idle_timeout);
        while let Some((since, connection)) =
            next_idle(&mut self.pools[pool as usize], reuse, &mut self.reuse)
        {
            if since > oldest || idle_timeout == u64::MAX || since + idle_timeout > self.now {
                self.visits.slots[v as usize].connection = connection;
                return;
            }
            self.close(service, connection);
        }
        let state = &mut self.services[service as usize];
        state.window.connections += 1;
        if state.affinity {
            self.visits.slots[v as usize].connection = self.connections.open();
        }
    }

    /// The longest-waiting client of the service may time out.
    pub(super) fn lose_patience(&mut self, number: u16) {
        loop {
            let service = &mut self.services[number as usize];
            service.patience_armed = false;
            let (Some(v), Some(timeout)) = (service.patience.first(), service.timeout) else { return };
            let until = self.visits.slots[v as usize].sent.saturating_add(timeout);
            if until > self.now {
                service.patience_armed = true;
                return self.timers.push(until, Due::Patience(number));
            }
            self.end(v, Ended::TimedOut);
            // The instance does not notice, and continues.
            self.visits.slots[v as usize].abandoned = true;
        }
    }

    /// An attempt has ended for its client, which may retry. The slot remains.
    #[inline]
    pub(super) fn end(&mut self, v: u32, ended: Ended) {
        let now = self.now;
        let visit = &self.visits.slots[v as usize];
        let number = visit.service;
        let service = &mut self.services[number as usize];
        if visit.instance != NONE {
            let first_byte = took(now - visit.sent);
            let outcome = ended.outcome(first_byte);
            service.balancers.answered(visit.node, now, visit.instance, outcome);
            if let Some(placing) = &mut service.placing {
                placing.ended(now, visit.instance, outcome, &mut service.balancers);
                if ended.status().is_some() && !visit.keeps_cookie {
                    placing.responded(&self.keys, visit.identity, visit.instance);
                }
            }
        }
        let slotted = visit.instance != NONE && service.slots.is_some();
        if let (true, Some(slots)) = (slotted, &mut service.slots) {
            slots.left(visit.instance, took(now - visit.sent));
        }
        if service.timeout.is_some() {
            service.patience.remove(&mut self.visits.slots, v);
        }
        if slotted {
            self.serve_slots(number);
        }
        if matches!(ended, Ended::TimedOut | Ended::Failed) && self.try_again(v) {
            return;
        }
        if self.services[number as usize].admission.is_some() {
            self.leave_door(v, number, ended);
        }
        self.conclude(v, ended);
    }

    /// A request leaves its service.
    #[inline]
    pub(super) fn conclude(&mut self, v: u32, ended: Ended) {
        let now = self.now;
        let visit = &self.visits.slots[v as usize];
        let (arrived, from, origin, number) = (visit.arrived, visit.from, visit.origin, visit.service);
        let service = &mut self.services[number as usize];
        service.left(now, arrived);
        let window = &mut service.window;
        match ended {
            Ended::Answered => window.answered += 1,
            Ended::Error => window.errors += 1,
            Ended::Refused | Ended::Full => window.refused += 1,
            Ended::TimedOut => window.timed_out += 1,
            Ended::Failed => window.failed += 1,
        }
        let in_vain = matches!(ended, Ended::Refused | Ended::Full | Ended::Failed);
        if !in_vain {
            window.balancer.record((now - arrived) as f64 * 1e-9);
        }
        match from {
            From::Open => {}
            From::User => self.think(origin, if in_vain { AGAIN } else { 0 }),
            From::Visit => self.called(origin, ended == Ended::Answered),
        }
    }

    fn try_again(&mut self, v: u32) -> bool {
        let visit = &self.visits.slots[v as usize];
        let service = &mut self.services[visit.service as usize];
        let Some(retries) = &mut service.retries else { return false };
        if visit.attempt >= retries.most || retries.budget.retry(Timestamp::from_nanos(self.now)).is_err() {
            return false;
        }
        service.window.retried += 1;
        let at = self.now.saturating_add(retries.backoff);
        let again = visit.again();
        let number = again.service;
        let again = self.visits.begin(again);
        if let Some(admission) = &mut self.services[number as usize].admission {
            admission.becomes(v, again, at);
        }
        self.timers.push(at, Due::Visit(again));
        true
    }

    /// A user thinks, for at least this long.
    pub(super) fn think(&mut self, user: u32, least: u64) {
        let time = self.thinking.draw(&mut self.users[user as usize]);
        self.timers.push(self.now.saturating_add((time as u64).max(least)), Due::User(user));
    }

    /// A user's think time is over.
    pub(super) fn user_sends(&mut self, user: u32) {
        let rng = self.users[user as usize].fork();
        self.enter(rng, From::User, user);
    }
}

/// A user whose request was refused or whose connection broke does not continue at the same time: simulated time would
/// not advance.
const AGAIN: u64 = 1_000_000;

#[inline]
fn next_idle(pool: &mut IdlePool, reuse: Reuse, rng: &mut stats::Rng) -> Option<(u64, u32)> {
    match reuse {
        Reuse::LeastRecent => pool.pop_front(),
        Reuse::MostRecent => pool.pop_back(),
        Reuse::Random => {
            let at = rng.below(pool.len());
            pool.swap_remove_back(at)
        }
    }
}
