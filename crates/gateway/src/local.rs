//! One worker's view of a configuration.
//!
//! A request keeps the view that it began with, so a reload does not affect it; a replaced view is dropped after its
//! last request.
//!
//! The next view loads its rules a few at a time: loading thousands of them at once would block the event loop.

use crate::metrics::pools::PoolCounts;
use crate::metrics::{RouteCounts, RouteTable, Times};
use crate::pool::WorkerPool;
use crate::queues::Queues;
use crate::shared::{KeptKeys, Shared};
use control::concurrency::Samples;
use control::service_level::Tally;
use rule::{LoadedRule, Machine, RuleError};
use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use units::Timestamp;

pub(crate) struct Local {
    pub(crate) shared: Arc<Shared>,
    /// Each pool; successive views share the pools that stay.
    pub(crate) pools: Vec<Rc<RefCell<WorkerPool>>>,
    /// For each service level class, the counts since the last merge.
    pub(crate) tallies: RefCell<Vec<Tally>>,
    pub(crate) counts: RefCell<RouteTable>,
    /// For each adaptive concurrency limit, the samples since the last step.
    pub(crate) samples: RefCell<Vec<Option<Box<Samples>>>>,
    /// For each rate class, the keys that decide and those in shadow.
    pub(crate) keys: RefCell<Vec<KeptKeys>>,
    /// The requests that wait for a slot.
    pub(crate) queues: RefCell<Queues>,
    /// For each service level class, the times from sending upstream to the first byte.
    pub(crate) times: RefCell<Vec<Times>>,
    /// The Luau machine of this worker; `None` if no route has a rule.
    pub(crate) machine: Option<RefCell<Machine>>,
    /// The rules of each route.
    pub(crate) rules: Vec<Option<LoadedRule>>,
    pub(crate) response_rules: Vec<Option<LoadedRule>>,
}

/// A view under construction.
pub(crate) struct NextView {
    shared: Arc<Shared>,
    machine: Option<Machine>,
    /// The rules of the first routes, as far as they are loaded.
    rules: Vec<Option<LoadedRule>>,
    response_rules: Vec<Option<LoadedRule>>,
}

impl NextView {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        NextView { shared, machine: None, rules: Vec::new(), response_rules: Vec::new() }
    }

    /// Loads at most this many rules; true once all are loaded.
    ///
    /// # Errors
    /// A rule does not fit in the machine's memory. It was compiled successfully before.
    pub(crate) fn load(&mut self, most: usize) -> Result<bool, RuleError> {
        let (shared, mut left) = (&self.shared, most);
        for (rules, loaded) in
            [(&shared.rules, &mut self.rules), (&shared.response_rules, &mut self.response_rules)]
        {
            for rule in &rules[loaded.len()..] {
                let Some(rule) = rule else {
                    loaded.push(None);
                    continue;
                };
                if left == 0 {
                    return Ok(false);
                }
                left -= 1;
                let machine = match &mut self.machine {
                    Some(machine) => machine,
                    none => none.insert(Machine::new(rule::Limits::default())?),
                };
                loaded.push(Some(machine.load(rule, &shared.names)?));
            }
        }
        Ok(true)
    }

    /// The view that replaces `before`, once all rules are loaded; `number` returns the worker's index for an address.
    pub(crate) fn finish(
        self,
        before: Option<&Local>,
        now: Timestamp,
        mut number: impl FnMut(SocketAddr) -> usize,
    ) -> Local {
        let NextView { shared, machine, rules, response_rules } = self;
        let mut pools: Vec<Rc<RefCell<WorkerPool>>> = Vec::new();
        for (settings, process) in shared.settings.pools.iter().zip(&shared.pools) {
            let known = before.and_then(|before| {
                let index = before.shared.named.pool(&settings.name)?;
                let same = Arc::ptr_eq(&before.shared.pools[index], process);
                same.then(|| Rc::clone(&before.pools[index]))
            });
            let pool = known
                .unwrap_or_else(|| Rc::new(RefCell::new(WorkerPool::new(Arc::clone(process), settings))));
            pool.borrow_mut().configure(now, settings, process, &mut number);
            pools.push(pool);
        }
        let sampled = shared.concurrency.iter().map(|limit| limit.is_adaptive().then(Box::default));
        Local {
            pools,
            tallies: RefCell::new(vec![Tally::default(); shared.levels.len()]),
            counts: RefCell::new(RouteTable::new(shared.routes.len())),
            samples: RefCell::new(sampled.collect()),
            keys: RefCell::new((0..2 * shared.keyed.len()).map(|_| KeptKeys::default()).collect()),
            queues: RefCell::new(Queues::new(&shared)),
            times: RefCell::new(vec![Times::default(); shared.levels.len()]),
            machine: machine.map(RefCell::new),
            rules,
            response_rules,
            shared,
        }
    }
}

impl Local {
    /// A worker's first view; `number` returns the worker's index for an address.
    ///
    /// # Errors
    /// A rule does not fit in the machine's memory.
    pub(crate) fn first(
        shared: Arc<Shared>,
        now: Timestamp,
        number: impl FnMut(SocketAddr) -> usize,
    ) -> Result<Self, RuleError> {
        let mut next = NextView::new(shared);
        next.load(usize::MAX)?;
        Ok(next.finish(None, now, number))
    }

    /// Counts for a service level class, if there is one.
    pub(crate) fn tally(&self, level: Option<usize>, count: impl FnOnce(&mut Tally)) {
        if let Some(level) = level {
            count(&mut self.tallies.borrow_mut()[level]);
        }
    }

    /// The pools' work ten times a second; returns their counts.
    pub(crate) fn tick_pools(&self, now: Timestamp) -> Vec<Arc<PoolCounts>> {
        let tick = |pool: &Rc<RefCell<WorkerPool>>| {
            let mut pool = pool.borrow_mut();
            pool.tick(now);
            pool.counts()
        };
        self.pools.iter().map(tick).collect()
    }

    /// Counts for a route.
    pub(crate) fn count(&self, route: usize, count: impl FnOnce(&mut RouteCounts)) {
        count(self.counts.borrow_mut().change(route));
    }
}
