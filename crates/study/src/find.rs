//! The highest rate at which a service holds a goal: the search, from the first request to the recovery.
//!
//! ```text
//! Load, Wanted → find → Events while it goes on → documents::find::Outcome
//!
//! search   the stages in their order
//! drive    one piece of load each
//! watched  what the judge sees of a run
//! ```
//!
//! Which rate comes next, whether a trial is good, bad or disturbed, when the service is calm again and which limits follow
//! is decided in [`control::search`].

mod drive;
mod search;
mod watched;

pub use drive::Calm;
pub use search::SearchError;

use ::load::{Arrivals, Connecting, Progress, StartError, Target};
use control::search::closed_loop::{Knee, Measured};
use control::search::recovery::Recovery;
use control::search::{Goal, Trial};
use documents::find::{Judged, Outcome, Peak};
use measure::Measurement;
use search::Search;
use std::cell::Cell;
use std::num::NonZeroU32;
use std::time::{Duration, Instant};
use units::Rate;

/// How the load is made.
pub struct Load<'a> {
    /// Where to, and the request.
    pub target: &'a Target,
    /// How connections are made.
    pub connecting: &'a Connecting,
    /// Whether a connection carries more than one request.
    pub keep_alive: bool,
    /// How arrivals are spaced.
    pub arrivals: Arrivals,
    /// The most connections of trials at a fixed rate.
    pub connections: Option<NonZeroU32>,
    /// When a request is given up.
    pub timeout: Duration,
    /// Whether the search is to end now; asked many times a second.
    pub interrupted: &'a dyn Fn() -> bool,
}

/// What is searched for.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// What must hold; `None` where it follows from the calm response time.
    pub goal: Option<Goal>,
    /// Load time of all trials together; `None` where it follows from how fast the service is.
    pub budget: Option<Duration>,
    /// No rate above this is tried.
    pub highest: Option<Rate>,
    /// The most connections of the closed loop.
    pub concurrency_max: u32,
    /// Whether the service may be overloaded on purpose at the end.
    pub prove_overload: bool,
    /// What has to be carried.
    pub peak: Option<Peak>,
    /// Whether the other paths of the service get no limit.
    pub only_path: bool,
    /// The name of this search in the ledger.
    pub run: Option<String>,
    /// The day of it, as `2026-01-31`.
    pub date: String,
}

/// What a search says while it goes on.
pub enum Event<'a> {
    /// All of it is over after this time, counted from its beginning, at the latest.
    TimeLimit(Duration),
    /// The goal is known now.
    Goal(&'a Goal),
    /// A part begins. The next event that ends a part is its end.
    Begins(&'a Part),
    /// How a part goes on.
    Runs(&'a Part, &'a Progress),
    /// A part has ended.
    Ended {
        /// Which one.
        part: &'a Part,
        /// What came of it.
        came: Came<'a>,
        /// All that was measured.
        measured: &'a Measurement,
    },
    /// A part was broken off.
    Halted {
        /// Which one.
        part: &'a Part,
        /// Why.
        halt: &'a Halt,
    },
    /// What the closed loop found.
    Knee(&'a Knee),
    /// The service is not calm yet; the next look follows.
    Waits,
    /// A wait for a calm service is over.
    CalmAgain {
        /// Whether it is calm.
        calm: bool,
        /// How long it took.
        after: Duration,
    },
}

/// Who listens to a search.
pub type Events<'a> = dyn FnMut(Event<'_>) + 'a;

/// A piece of load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Part {
    /// Single requests, as calm as it gets.
    Calm,
    /// So many connections, each as fast as it is answered.
    ClosedStep {
        /// How many.
        connections: u32,
    },
    /// A fixed rate.
    Trial {
        /// Which one, how long and what for.
        trial: Trial,
        /// Whether it is to show an overload.
        prove: bool,
    },
    /// A fixed rate right after an overload.
    Recovery {
        /// The rate.
        rate: Rate,
    },
}

/// What came of a part.
#[derive(Debug, Clone, Copy)]
pub enum Came<'a> {
    /// Of [`Part::Calm`].
    Calm(&'a Calm),
    /// Of [`Part::ClosedStep`].
    Step(&'a Measured),
    /// Of [`Part::Trial`].
    Trial(&'a Judged),
    /// Of [`Part::Recovery`].
    Recovery(&'a Recovery),
}

/// Why a part was broken off.
#[derive(Debug, thiserror::Error)]
pub enum Halt {
    /// [`Load::interrupted`] said so.
    #[error("interrupted")]
    Interrupted,
    /// The time that the whole search may take is over.
    #[error("the time of the search is over")]
    OutOfTime,
    /// The load could not be made.
    #[error(transparent)]
    Start(#[from] StartError),
}

/// Searches, and says what goes on.
///
/// # Errors
/// Where the target does not answer as a service does, or load cannot be made.
pub fn find(load: &Load<'_>, wanted: Wanted, events: &mut Events<'_>) -> Result<Outcome, SearchError> {
    let time = Time { begun: Instant::now(), ends: Cell::new(None) };
    Search::new(load, &time, events).run(wanted)
}

/// The time that a search takes, and may take.
#[derive(Debug)]
struct Time {
    begun: Instant,
    /// When it is over at the latest, since its beginning.
    ends: Cell<Option<Duration>>,
}

impl Time {
    fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    fn ends_after(&self, whole: Duration) {
        self.ends.set(Some(whole));
    }

    /// How much is left at most; `None` where that is not known yet.
    fn left(&self) -> Option<Duration> {
        self.ends.get().map(|ends| ends.saturating_sub(self.elapsed()))
    }
}
