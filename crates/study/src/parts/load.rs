//! How the parts of a procedure generate their load, and why one of them ends early.

use ::load::{Arrivals, Connecting, StartError, Target};
use std::cell::Cell;
use std::num::NonZeroU32;
use std::time::{Duration, Instant};

/// How the load is generated.
pub struct Load<'a> {
    /// The destination and the request.
    pub target: &'a Target,
    /// How connections are opened.
    pub connecting: &'a Connecting,
    /// Whether a connection carries more than one request.
    pub keep_alive: bool,
    /// How arrivals are spaced.
    pub arrivals: Arrivals,
    /// The most connections of trials at a fixed rate.
    pub connections: Option<NonZeroU32>,
    /// The time-out of a request.
    pub timeout: Duration,
    /// Whether the procedure is to end now; called many times a second.
    pub interrupted: &'a dyn Fn() -> bool,
}

/// Why a part was stopped early.
#[derive(Debug, thiserror::Error)]
pub enum Halt {
    /// [`Load::interrupted`] returned true.
    #[error("interrupted")]
    Interrupted,
    /// The time limit of the whole procedure has been reached.
    #[error("the time of the search is over")]
    OutOfTime,
    /// The load could not be generated.
    #[error(transparent)]
    Start(#[from] StartError),
}

/// The time that a procedure has taken, and may take.
#[derive(Debug)]
pub(crate) struct Time {
    begun: Instant,
    /// The time limit, since the beginning.
    ends: Cell<Option<Duration>>,
}

impl Time {
    /// A procedure that begins now, without a time limit.
    pub(crate) fn starting_now() -> Self {
        Time { begun: Instant::now(), ends: Cell::new(None) }
    }

    /// The time since the beginning.
    pub(crate) fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    /// Sets the time limit, counted from the beginning.
    pub(crate) fn ends_after(&self, whole: Duration) {
        self.ends.set(Some(whole));
    }

    /// How much time is left at most; `None` if that is not known yet.
    pub(crate) fn left(&self) -> Option<Duration> {
        self.ends.get().map(|ends| ends.saturating_sub(self.elapsed()))
    }
}
