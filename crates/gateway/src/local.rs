//! One worker's view of a configuration.
//!
//! A request keeps the view that it began with, so that a reload changes nothing under its feet; a view that was
//! replaced retires with its last request.

use crate::metrics::RouteCounts;
use crate::queues::Queues;
use crate::shared::{KeptKeys, Shared};
use control::balance::{Balancer, InstanceId, RoundRobin, Weight};
use control::concurrency::Samples;
use control::service_level::Tally;
use rule::{LoadedRule, Machine, RuleError};
use std::cell::RefCell;
use std::sync::Arc;

pub(crate) struct Local {
    pub(crate) shared: Arc<Shared>,
    /// One for each pool. Instances have the numbers of their place in the pool.
    pub(crate) balancers: Vec<RefCell<RoundRobin>>,
    /// For each pool, the worker's own number of each instance.
    pub(crate) instances: Vec<Vec<usize>>,
    /// For each service level class, what was counted since the last merge.
    pub(crate) tallies: RefCell<Vec<Tally>>,
    pub(crate) counts: RefCell<Vec<RouteCounts>>,
    /// For each concurrency limit that adapts, what was sampled since the last step.
    pub(crate) samples: RefCell<Vec<Option<Box<Samples>>>>,
    /// For each rate class, the keys that decide and those in shadow.
    pub(crate) keys: RefCell<Vec<KeptKeys>>,
    /// The requests that wait for a place.
    pub(crate) queues: RefCell<Queues>,
    /// The rules of this worker; `None` where no route has one.
    pub(crate) machine: Option<RefCell<Machine>>,
    /// The rule of each route.
    pub(crate) rules: Vec<Option<LoadedRule>>,
}

impl Local {
    /// A view; `number` gives the worker's number for an address.
    ///
    /// # Errors
    /// A rule that does not fit the machine's memory. That it compiles has been checked before.
    pub(crate) fn new(
        shared: Arc<Shared>,
        mut number: impl FnMut(std::net::SocketAddr) -> usize,
    ) -> Result<Self, RuleError> {
        let (mut balancers, mut instances) = (Vec::new(), Vec::new());
        for pool in &shared.settings.pools {
            let mut balancer = RoundRobin::default();
            (0..pool.instances.len()).for_each(|index| balancer.added(InstanceId(index as u32), Weight::ONE));
            balancers.push(RefCell::new(balancer));
            instances.push(pool.instances.iter().map(|&address| number(address)).collect());
        }
        let tallies = RefCell::new(vec![Tally::default(); shared.levels.len()]);
        let counts = RefCell::new(vec![RouteCounts::default(); shared.routes.len()]);
        let sampled = shared.concurrency.iter().map(|limit| limit.is_adaptive().then(Box::default));
        let samples = RefCell::new(sampled.collect());
        let keys = RefCell::new((0..2 * shared.keyed.len()).map(|_| KeptKeys::default()).collect());
        let queues = RefCell::new(Queues::new(&shared));
        let mut machine = None;
        let mut rules = Vec::new();
        for rule in &shared.rules {
            let Some(rule) = rule else {
                rules.push(None);
                continue;
            };
            let machine = match &mut machine {
                Some(machine) => machine,
                none => none.insert(Machine::new(rule::Limits::default())?),
            };
            rules.push(Some(machine.load(rule, &shared.names)?));
        }
        let machine = machine.map(RefCell::new);
        Ok(Local { shared, balancers, instances, tallies, counts, samples, keys, queues, machine, rules })
    }

    /// Counts for a service level class, if there is one.
    pub(crate) fn tally(&self, level: Option<usize>, count: impl FnOnce(&mut Tally)) {
        if let Some(level) = level {
            count(&mut self.tallies.borrow_mut()[level]);
        }
    }

    /// Counts for a route.
    pub(crate) fn count(&self, route: usize, count: impl FnOnce(&mut RouteCounts)) {
        count(&mut self.counts.borrow_mut()[route]);
    }
}
