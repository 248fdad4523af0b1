//! One worker's requests that wait for a slot: at a concurrency limit, or at an instance of a pool.

use crate::shared::{Shared, WaitingRoom};
use control::admission::Line;

/// What a request waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum At {
    /// A slot under a concurrency limit.
    Limit(usize),
    /// A slot at an instance of a pool.
    Pool(usize),
}

/// The queues of one worker's view; requests by the index of their client's connection.
#[derive(Debug)]
pub(crate) struct Queues {
    limits: Vec<Option<Line<usize>>>,
    pools: Vec<Option<Line<usize>>>,
}

impl Queues {
    pub(crate) fn new(shared: &Shared) -> Self {
        let classes = shared.settings.priorities.len();
        let line = |room: &WaitingRoom, classes| Line::new(room, classes);
        let limits = shared.concurrency.iter();
        let pools = shared.places.iter();
        Queues {
            limits: limits.map(|limit| Some(line(limit.waiting.as_ref()?, limit.classes))).collect(),
            pools: pools.map(|pool| Some(line(pool.as_ref()?.waiting.as_deref()?, classes))).collect(),
        }
    }

    /// The queue of a limit or pool, if it has one.
    pub(crate) fn at(&self, at: At) -> Option<&Line<usize>> {
        match at {
            At::Limit(limit) => self.limits.get(limit)?.as_ref(),
            At::Pool(pool) => self.pools.get(pool)?.as_ref(),
        }
    }

    /// The queue of a limit or pool, if it has one.
    pub(crate) fn at_mut(&mut self, at: At) -> Option<&mut Line<usize>> {
        match at {
            At::Limit(limit) => self.limits.get_mut(limit)?.as_mut(),
            At::Pool(pool) => self.pools.get_mut(pool)?.as_mut(),
        }
    }

    /// Whether a request waits for a limit or pool.
    pub(crate) fn has(&self, at: At) -> bool {
        self.at(at).is_some_and(|line| !line.is_empty())
    }
}
