//! The story of the demo: its phases in numbers, its course, and when the policy acted.

mod numbers;
mod page;

pub use numbers::Phase;

use measure::Series;
use report::Table;
use std::time::Duration;

/// The result of `headroom demo`.
#[derive(Debug, Default)]
pub struct Story {
    /// The phases in numbers, in order.
    pub phases: Vec<Phase>,
    /// All of it, second by second.
    pub series: Series,
    /// When each phase was, in the time of `series`.
    pub spans: Vec<report::Phase>,
    /// When the policy acted.
    pub marks: Vec<report::Mark>,
    /// How long the service needed to be calm after its collapse.
    pub calm_after: Duration,
}

impl Story {
    /// The phases as JSON text.
    pub fn json(&self) -> String {
        serde_json::to_string_pretty(&self.phases).expect("names are strings and numbers are finite")
    }

    /// The phases as a table.
    pub fn table(&self) -> Table {
        numbers::table(&self.phases)
    }
}
