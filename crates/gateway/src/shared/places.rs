//! The limits of requests in flight at each instance, counted for the whole process.

use super::limit::{WaitingRoom, waiting_room};
use super::{ClassError, Ids, Shared, wrong};
use crate::settings::{Pool, Settings};
use control::concurrency::{Concurrency, Priorities};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// The slots of a pool's instances.
#[derive(Debug)]
pub(crate) struct Places {
    /// By the instance's address.
    pub(crate) instances: BTreeMap<SocketAddr, Arc<Concurrency<AtomicU64>>>,
    pub(crate) waiting: Option<Arc<WaitingRoom>>,
}

impl Places {
    /// Puts the limits of a configuration into force; the counts may be shared with earlier configurations.
    pub(super) fn put_into_force(shared: &Shared) {
        for (pool, places) in shared.settings.pools.iter().zip(&shared.places) {
            if let (Some(limit), Some(places)) = (pool.instance_concurrency, places) {
                places.instances.values().for_each(|instance| instance.set_limit(limit));
            }
        }
    }

    /// The slots of each pool; `None` for those without a limit. Instances keep their count by pool and address, so
    /// that a reload loses no request in flight.
    pub(super) fn of(
        settings: &Settings,
        before: Option<&Shared>,
        ids: &mut Ids,
    ) -> Result<Vec<Option<Places>>, ClassError> {
        let mut all = Vec::new();
        for pool in &settings.pools {
            let Some(limit) = pool.instance_concurrency else {
                all.push(None);
                continue;
            };
            let refused = |source| wrong("pool", &pool.name, source);
            let old = before.and_then(|before| Kept::find(before, &pool.name));
            let id = old.as_ref().and_then(Kept::id).unwrap_or_else(|| ids.fresh());
            let mut instances = BTreeMap::new();
            for instance in &pool.instances {
                let kept = old.as_ref().and_then(|old| old.instance(instance.address));
                let places = kept.map_or_else(|| Concurrency::new(id, limit).map(Arc::new), Ok);
                instances.insert(instance.address, places.map_err(refused)?);
            }
            let waiting = match pool.queue {
                None => None,
                Some(queue) => Some(match old.as_ref().and_then(|old| old.waiting(pool)) {
                    Some(kept) => kept,
                    None => Arc::new(waiting_room(id, queue, Priorities::NONE).map_err(refused)?),
                }),
            };
            all.push(Some(Places { instances, waiting }));
        }
        Ok(all)
    }
}

/// The pool of this name in the previous configuration.
struct Kept<'a> {
    pool: &'a Pool,
    places: &'a Places,
}

impl<'a> Kept<'a> {
    fn find(before: &'a Shared, name: &str) -> Option<Self> {
        let index = before.named.pool(name)?;
        let (pool, places) = (&before.settings.pools[index], before.places[index].as_ref()?);
        Some(Kept { pool, places })
    }

    fn id(&self) -> Option<control::ClassId> {
        self.places.instances.values().next().map(|places| places.id())
    }

    fn instance(&self, address: SocketAddr) -> Option<Arc<Concurrency<AtomicU64>>> {
        self.places.instances.get(&address).cloned()
    }

    fn waiting(&self, now: &Pool) -> Option<Arc<WaitingRoom>> {
        (self.pool.queue == now.queue).then(|| self.places.waiting.clone()).flatten()
    }
}
