//! A squeeze of a pool: some instances get a fixed share of its requests, for as long as its holder renews that.
//!
//! ## Why the gateway ends it
//! A program that measures may be killed, or lose its connection. So what it holds is a lease: each worker compares the
//! end with the time at each request, and after it the pool is balanced as the file says. No thread, file or message
//! takes part in that.

use super::ProcessPool;
use crate::control_room::ControlRoom;
use crate::metrics::FineTimes;
use crate::settings::Pool;
use crate::shared::Shared;
use control::balance::Outcome;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use thiserror::Error;
use units::{Ratio, Timestamp};

/// What a squeeze asks for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Squeeze {
    /// Who holds it. Nobody else can change it before it ends.
    pub(crate) holder: String,
    /// The instances that get the share; at least one, each once.
    pub(crate) instances: Vec<SocketAddr>,
    /// Their share of the pool's requests, together.
    pub(crate) share: Ratio,
    /// How long it lasts, unless it is renewed.
    pub(crate) lasts: Duration,
}

/// A squeeze in force.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Held {
    pub(crate) squeeze: Squeeze,
    pub(crate) until: Timestamp,
}

/// Why a squeeze was refused.
#[derive(Debug, Error)]
pub(crate) enum SqueezeError {
    /// The pool does not exist.
    #[error("there is no pool `{pool}`; the pools are {known}")]
    UnknownPool {
        /// The requested pool.
        pool: String,
        /// The existing pools.
        known: String,
    },
    /// The instance does not exist.
    #[error("pool `{pool}` has no instance {address}; its instances are {known}")]
    UnknownInstance {
        /// The pool.
        pool: String,
        /// The requested instance.
        address: SocketAddr,
        /// The existing instances.
        known: String,
    },
    /// No instance would be left that can take over.
    #[error("pool `{pool}` has no other instance that could take over; leave out at least one")]
    NoneLeft {
        /// The pool.
        pool: String,
    },
    /// Another squeeze of the pool is in force.
    #[error("pool `{pool}` is squeezed by {holder}, for {} more unless it is renewed; wait for its end", units::show_duration(*.left))]
    Held {
        /// The pool.
        pool: String,
        /// Who holds it.
        holder: String,
        /// For how long.
        left: Duration,
    },
}

/// What the instances of squeezes have done, since the pool exists. All counts only grow.
#[derive(Debug, Default)]
pub(crate) struct SqueezeCounts {
    sent: AtomicU64,
    answered: AtomicU64,
    failed: AtomicU64,
    timed_out: AtomicU64,
    /// Of responses, except those that refuse for load (429 and 503).
    pub(crate) times: FineTimes,
}

/// A reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct SqueezeReading {
    /// Requests sent to them.
    pub(crate) sent: u64,
    /// Responses below 500, except 429.
    pub(crate) answered: u64,
    /// The other requests that ended: 429, 5xx, and no response. Without those whose client left.
    pub(crate) failed: u64,
    /// Those of `failed` that had no response in time.
    pub(crate) timed_out: u64,
}

impl SqueezeCounts {
    pub(super) fn sent(&self) {
        self.sent.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn ended(&self, outcome: Outcome) {
        let count = match outcome {
            Outcome::Answered { .. } => &self.answered,
            Outcome::TimedOut => {
                self.timed_out.fetch_add(1, Ordering::Relaxed);
                &self.failed
            }
            Outcome::ServerError { .. } | Outcome::Limited | Outcome::Refused { .. } | Outcome::Failed => {
                &self.failed
            }
            Outcome::Cancelled => return,
        };
        count.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn read(&self) -> SqueezeReading {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        SqueezeReading {
            sent: of(&self.sent),
            answered: of(&self.answered),
            failed: of(&self.failed),
            timed_out: of(&self.timed_out),
        }
    }
}

impl ControlRoom {
    /// Begins a squeeze of a pool, changes or renews it.
    pub(crate) fn squeeze(&self, pool: &str, squeeze: Squeeze, now: Timestamp) -> Result<(), SqueezeError> {
        let _alone = self.alone();
        let (_, shared) = self.current();
        let (process, settings) = of_pool(&shared, pool)?;
        let in_pool = |address| settings.instances.iter().any(|one| one.address == address);
        if let Some(&address) = squeeze.instances.iter().find(|address| !in_pool(**address)) {
            let known = list(settings.instances.iter().map(|one| one.address.to_string()));
            return Err(SqueezeError::UnknownInstance { pool: pool.to_owned(), address, known });
        }
        let mut others = settings.instances.iter().filter(|one| !squeeze.instances.contains(&one.address));
        if others.all(|one| one.draining) {
            return Err(SqueezeError::NoneLeft { pool: pool.to_owned() });
        }
        if let Some(Held { squeeze: Squeeze { holder, .. }, until }) = process.held(now)
            && holder != squeeze.holder
        {
            return Err(SqueezeError::Held { pool: pool.to_owned(), holder, left: until.since(now) });
        }
        process.hold(Some(Held { until: now + squeeze.lasts, squeeze }));
        Ok(())
    }

    /// Ends the squeeze that `holder` has. Returns whether there was one: it may have ended by itself.
    pub(crate) fn end_squeeze(&self, pool: &str, holder: &str, now: Timestamp) -> Result<bool, SqueezeError> {
        let _alone = self.alone();
        let (_, shared) = self.current();
        let (process, _) = of_pool(&shared, pool)?;
        let is_held = process.held(now).is_some_and(|held| held.squeeze.holder == holder);
        if is_held {
            process.hold(None);
        }
        Ok(is_held)
    }
}

fn of_pool<'a>(shared: &'a Shared, pool: &str) -> Result<(&'a ProcessPool, &'a Pool), SqueezeError> {
    let pools = &shared.settings.pools;
    match shared.named.pool(pool) {
        Some(index) => Ok((&shared.pools[index], &pools[index])),
        None => {
            let known = list(pools.iter().map(|found| format!("`{}`", found.name)));
            Err(SqueezeError::UnknownPool { pool: pool.to_owned(), known })
        }
    }
}

fn list(names: impl Iterator<Item = String>) -> String {
    names.collect::<Vec<_>>().join(", ")
}
