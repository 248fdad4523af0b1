//! Pools of which requests hold slots.

use super::Requests;
use super::list::Queue;
use super::program::Op;
use super::send::Ended;
use super::timers::Due;
use super::visit::At;
use crate::settings::Pool;

#[derive(Debug, Clone)]
pub(super) struct PoolState {
    #[cfg(test)]
    places: u32,
    free: u32,
    bound: u32,
    queue: Queue,
    /// Requests in the queue whose instance still exists.
    pub(super) waiting: u32,
}

impl PoolState {
    pub(super) fn new(pool: &Pool) -> Self {
        PoolState {
            #[cfg(test)]
            places: pool.places.max(1),
            free: pool.places.max(1),
            bound: pool.bound,
            queue: Queue::default(),
            waiting: 0,
        }
    }
}

impl Requests {
    /// A request requests a slot; its thread waits with it.
    pub(super) fn hold(&mut self, v: u32, pool: u16) {
        let state = &mut self.shared[pool as usize];
        if state.free > 0 {
            state.free -= 1;
            self.held(v);
        } else if state.waiting < state.bound {
            state.waiting += 1;
            self.visits.slots[v as usize].at = At::PoolQueue;
            state.queue.push(&mut self.visits.slots, v);
        } else {
            self.finish(v, Ended::Refused);
        }
    }

    fn held(&mut self, v: u32) {
        let visit = &mut self.visits.slots[v as usize];
        let Op::Hold { time, .. } = &self.program.ops[visit.op as usize] else { return };
        let time = time.draw(&mut visit.rng);
        visit.at = At::Holding;
        self.timers.push(self.now.saturating_add(time as u64), Due::Visit(v));
    }

    /// A request releases its slot.
    pub(super) fn give_back(&mut self, pool: u16) {
        let state = &mut self.shared[pool as usize];
        while let Some(next) = state.queue.pop(&mut self.visits.slots) {
            if self.visits.slots[next as usize].at == At::Gone {
                self.visits.end(next);
                continue;
            }
            state.waiting -= 1;
            return self.held(next);
        }
        state.free += 1;
    }

    pub(super) fn pool_of(&self, v: u32) -> Option<u16> {
        match self.program.ops[self.visits.slots[v as usize].op as usize] {
            Op::Hold { pool, .. } => Some(pool),
            _ => None,
        }
    }
}

#[cfg(test)]
impl Requests {
    /// Every slot is free, and no request waits.
    pub(super) fn assert_pools_free(&self) {
        assert!(
            self.shared.iter().all(|pool| pool.waiting == 0 && pool.queue.len() == 0),
            "{:?}",
            self.shared
        );
        assert!(self.shared.iter().all(|pool| pool.free == pool.places), "{:?}", self.shared);
    }
}
