//! What came out: a row a minute, totals, what was decided and why, and what was assumed.

mod happening;
mod log;
mod remarks;
mod row;
mod scores;
mod seen;
mod totals;

pub use control::scaling::controller::Decision;
pub use happening::Happening;
pub use log::{Log, Noted};
pub(crate) use remarks::remarks;
pub use row::{Quantiles, Row};
pub use scores::Scores;
pub use seen::Seen;
pub(crate) use totals::Whole;
pub use totals::{Averaged, FLAP_WINDOW, Totals};

use control::assumption::Assumption;
use std::time::Duration;

/// What came out of a simulation.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The services, in the order of the settings.
    pub services: Vec<ServiceOutcome>,
    /// Seconds of the measured span.
    pub measured: Duration,
    /// The seed that every draw came from.
    pub seed: u64,
    /// What no vendor publishes and was assumed, each once.
    pub assumptions: Vec<Assumption>,
}

/// What came out for a service.
#[derive(Debug, Clone, PartialEq)]
pub struct ServiceOutcome {
    /// Its name.
    pub name: String,
    /// The minutes of the measured span, in order.
    pub rows: Vec<Row>,
    /// What the autoscaler decided by, minute by minute.
    pub seen: Seen,
    /// The measured span as a whole.
    pub totals: Totals,
    /// What the policies decided, from the beginning of the simulated time.
    pub decisions: Log<Decision>,
    /// What happened to instances, from the beginning of the simulated time.
    pub happenings: Log<Happening>,
    /// What a reader of the metrics would get wrong, in sentences.
    pub remarks: Vec<String>,
}
