//! A squeeze: how many requests a second does an instance behind a gateway carry, under the traffic that is there?
//!
//! ```text
//! squeeze file, Live (the gateway, the clock) → run → Events meanwhile → documents::squeeze::Squeeze
//!
//! stage    the watch before, trials, pauses, and the restore
//! counts   what a gateway has counted, and what of it is new
//! ```
//!
//! [`control::squeeze`] decides which rate comes next, whether it held and when a guard ends it. What a procedure asks of
//! the gateway is a lease that ends by itself ([`LEASE`]), so that the pool is as before also where this program is killed.

mod counts;
mod stage;
#[cfg(test)]
mod tests;

pub use counts::{Pool, Seen, Times};

use control::search::{Trial, TrialOutcome};
use control::squeeze::Crossed;
use documents::squeeze::Squeeze;
use std::net::SocketAddr;
use std::time::Duration;
use units::{Rate, Ratio};

/// The gateway and the clock of a squeeze.
pub trait Live {
    /// Time since any beginning.
    fn now(&self) -> Duration;

    /// Waits.
    fn sleep(&mut self, time: Duration);

    /// Whether to end now.
    fn is_interrupted(&self) -> bool;

    /// What the gateway has counted of the pool.
    ///
    /// # Errors
    /// It does not answer.
    fn read(&mut self) -> Result<Pool, Lost>;

    /// Gives these instances a share of the pool's requests for [`LEASE`].
    ///
    /// # Errors
    /// It does not answer, or refuses.
    fn hold(&mut self, instances: &[SocketAddr], share: Ratio) -> Result<(), Lost>;

    /// Ends that.
    ///
    /// # Errors
    /// It does not answer.
    fn release(&mut self) -> Result<(), Lost>;

    /// The share of this machine's processor time that was used since the last call; `None` where it is not known.
    fn processor(&mut self) -> Option<Ratio>;

    /// Begins to examine an instance, if it is on this machine.
    fn attend(&mut self, instance: SocketAddr);

    /// Ends that: what was seen in each second.
    fn seen(&mut self) -> Vec<control::diagnosis::Seen>;
}

/// The gateway does not do what it was asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Lost {
    /// It does not answer.
    #[error("{0}")]
    Silent(String),
    /// It refuses.
    #[error("{0}")]
    Refused(String),
}

/// What is squeezed, and how.
#[derive(Debug, Clone)]
pub struct Wanted<'a> {
    /// The squeeze file.
    pub file: &'a config::squeeze::Squeeze,
    /// The peak of the traffic to count instances for, with the name of its file.
    pub peak: Option<(Rate, String)>,
    /// The version of headroom.
    pub version: &'static str,
}

/// What happens during a squeeze.
#[derive(Debug)]
pub enum Event<'a> {
    /// The traffic is watched before anything is changed.
    Watches(Duration),
    /// What was seen of it.
    Watched {
        /// Requests a second of the pool.
        traffic: Rate,
        /// The median response time.
        median: Duration,
        /// Instances that take requests.
        instances: usize,
        /// Those that get the larger share.
        squeezed: &'a [SocketAddr],
    },
    /// A trial begins.
    Begins {
        /// It.
        trial: &'a Trial,
        /// The share of the pool's requests for the squeezed instances.
        share: Ratio,
    },
    /// A trial has ended.
    Tried(&'a TrialOutcome),
    /// A trial was too much; the share is that of before until the instance is calm.
    Pauses,
    /// A guard ended the squeeze.
    Crossed(&'a Crossed),
    /// The squeeze ended early, and why.
    Ends(&'a str),
    /// The pool is balanced as before, or that is not known.
    Restored(bool),
}

/// Why nothing was squeezed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Failed {
    /// The gateway does not answer, or refuses.
    #[error(transparent)]
    Gateway(#[from] Lost),
    /// Too few instances take requests.
    #[error(
        "{taking} of {all} instances of pool `{pool}` take requests; to squeeze {wanted}, at least {} must, so that another one can take over",
        wanted + 1
    )]
    TooFew {
        /// The pool.
        pool: String,
        /// Instances that take requests.
        taking: usize,
        /// All instances.
        all: usize,
        /// How many are to be squeezed.
        wanted: usize,
    },
    /// Somebody else squeezes the pool.
    #[error("pool `{pool}` is squeezed by {holder} already; wait for its end")]
    Held {
        /// The pool.
        pool: String,
        /// By whom.
        holder: String,
    },
    /// There is too little traffic to measure with.
    #[error(
        "pool `{pool}` got {requests} requests in {}; a squeeze uses the traffic that is there: wait for more, or send load to the \
         gateway with `headroom load`",
        units::show_duration(WATCH)
    )]
    NoTraffic {
        /// The pool.
        pool: String,
        /// How many.
        requests: u64,
    },
    /// A guard does not hold without a squeeze.
    #[error("nothing was squeezed, because a guard did not hold before: {0}")]
    Guard(Crossed),
    /// Somebody asked for the end before anything was measured.
    #[error("interrupted before anything was squeezed")]
    Interrupted,
}

/// Squeezes a pool. The gateway balances it as before when this returns, whatever it returns, or at the latest [`LEASE`]
/// later if the gateway does not answer.
///
/// # Errors
/// Nothing was squeezed. A squeeze that ends early is no error: its result says why.
pub fn run(
    live: &mut dyn Live,
    wanted: &Wanted<'_>,
    events: &mut dyn FnMut(Event<'_>),
) -> Result<Squeeze, Failed> {
    stage::run(live, wanted, events)
}

/// The gateway ends a squeeze that was not renewed for this long.
pub const LEASE: Duration = Duration::from_secs(5);

/// How long the traffic is watched before.
const WATCH: Duration = Duration::from_secs(10);
