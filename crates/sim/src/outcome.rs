//! The results: a row for each minute (or for each span of another length), totals, decisions with their reasons, and assumptions.

mod clock;
mod happening;
mod log;
mod remarks;
mod row;
mod scores;
mod seen;
mod totals;
mod zones;

pub use clock::Clock;
pub use control::scaling::controller::Decision;
pub use happening::Happening;
pub use log::{Log, Noted};
pub(crate) use remarks::remarks;
pub use row::{Quantiles, Row};
pub use scores::Scores;
pub use seen::Seen;
pub(crate) use totals::Whole;
pub use totals::{Averaged, FLAP_ROWS, Totals};
pub use zones::ZoneTotals;

use control::assumption::Assumption;
use std::time::Duration;

/// The result of a simulation.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The services, in the order of the settings.
    pub services: Vec<ServiceOutcome>,
    /// Seconds of the measured span.
    pub measured: Duration,
    /// The length of a row.
    pub row: Duration,
    /// The seed that every draw came from.
    pub seed: u64,
    /// Assumptions about what vendors do not publish, each once.
    pub assumptions: Vec<Assumption>,
}

/// The result of a service.
#[derive(Debug, Clone, PartialEq)]
pub struct ServiceOutcome {
    /// Its name.
    pub name: String,
    /// Running instances in each zone; empty without zones.
    pub zones: Vec<ZoneTotals>,
    /// The rows of the measured span, in order: minutes, unless settings say another length.
    pub rows: Vec<Row>,
    /// The metrics that the autoscaler used, minute by minute.
    pub seen: Seen,
    /// Totals of the measured span.
    pub totals: Totals,
    /// The decisions of the policies, from the beginning of the simulated time.
    pub decisions: Log<Decision>,
    /// Events of instances, from the beginning of the simulated time.
    pub happenings: Log<Happening>,
    /// What could mislead a reader of the metrics, in sentences.
    pub remarks: Vec<String>,
}
