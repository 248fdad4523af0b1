//! The highest rate at which a service holds a goal: the search, from the first request to the recovery.
//!
//! ```text
//! Load, Wanted → find → Events during the search → documents::find::Outcome
//!
//! search        the stages in their order
//! gateway_file  the limits that were found, as a gateway file
//! ```
//!
//! [`control::search`] decides which rate comes next, whether a trial is good, bad or disturbed, when the service is
//! calm again and which limits follow.

pub mod gateway_file;
mod search;

pub use crate::parts::{Calm, Halt, Load};
pub use search::SearchError;

use crate::parts::Time;
use ::load::Progress;
use control::search::closed_loop::{Knee, Measured};
use control::search::recovery::Recovery;
use control::search::{Goal, Trial};
use documents::find::{Judged, Outcome, Peak};
use measure::Measurement;
use search::Search;
use std::time::Duration;
use units::Rate;

/// What to search for.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// The goal; `None` to derive it from the calm response time.
    pub goal: Option<Goal>,
    /// Load time of all trials together; `None` to derive it from the speed of the service.
    pub budget: Option<Duration>,
    /// The highest rate to try.
    pub highest: Option<Rate>,
    /// The most connections of the closed loop.
    pub concurrency_max: u32,
    /// Whether the service may be overloaded on purpose at the end.
    pub prove_overload: bool,
    /// The peak to carry.
    pub peak: Option<Peak>,
    /// Whether the other paths of the service get no limit.
    pub only_path: bool,
    /// Whether the service is examined for what limits it, if it is on this machine.
    pub doctor: bool,
    /// The name of this search in the ledger.
    pub run: Option<String>,
    /// Its date, as `2026-01-31`.
    pub date: String,
}

/// The events of a search.
pub enum Event<'a> {
    /// The search ends after this time, counted from its beginning, at the latest.
    TimeLimit(Duration),
    /// The goal is determined.
    Goal(&'a Goal),
    /// A part begins. The next event that ends a part is its end.
    Begins(&'a Part),
    /// The progress of a part.
    Runs(&'a Part, &'a Progress),
    /// A part has ended.
    Ended {
        /// The part.
        part: &'a Part,
        /// Its result.
        came: Came<'a>,
        /// All its measurements.
        measured: &'a Measurement,
    },
    /// A part was stopped early.
    Halted {
        /// The part.
        part: &'a Part,
        /// Why.
        halt: &'a Halt,
    },
    /// The result of the closed loop.
    Knee(&'a Knee),
    /// The service is not calm yet; another check follows.
    Waits,
    /// A wait for a calm service is over.
    CalmAgain {
        /// Whether it is calm.
        calm: bool,
        /// How long it took.
        after: Duration,
    },
}

/// The receiver of a search's events.
pub type Events<'a> = dyn FnMut(Event<'_>) + 'a;

/// A part of the load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Part {
    /// Single requests without other load.
    Calm,
    /// A number of connections, each of which sends its next request after a response.
    ClosedStep {
        /// How many.
        connections: u32,
    },
    /// A fixed rate.
    Trial {
        /// Its rate, length and purpose.
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

/// The result of a part.
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

/// Runs a search, and reports its events.
///
/// # Errors
/// The target does not respond like a service, or load cannot be generated.
pub fn find(load: &Load<'_>, wanted: Wanted, events: &mut Events<'_>) -> Result<Outcome, SearchError> {
    let time = Time::starting_now();
    Search::new(load, &time, events).run(wanted)
}
