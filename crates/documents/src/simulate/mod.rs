//! What came out of a simulated case: stages and seeds, the published rows beside them, and two stages compared.
//!
//! ```text
//! Simulation (stages with an outcome a seed, verdicts, comparison) → text, JSON, CSV, page
//!
//! calibrated    what the calibration of the case says, and what is withheld because of it
//! verdict       rows beside what came out: met or not
//! varied        a grid: every combination of the values of some keys
//! real          the desired number of instances beside the one that a fleet really had
//! versus        two stages under the same requests
//! fidelity      how far minute by minute is from request by request
//! words         the text of the terminal, and its tables
//! ```

mod as_json;
mod calibrated;
mod csv;
mod fidelity;
mod page;
mod real;
mod varied;
mod verdict;
mod versus;
mod words;

pub use calibrated::Calibrated;
pub use real::RealScaling;
pub use varied::Varied;
pub use verdict::{Judged, Verdict};
pub use versus::Versus;

use control::assumption::Assumption;
use sim::outcome::{Clock, Row};
use sim::settings::MINUTE;
use sim::{Fidelity, Outcome};
use std::time::Duration;
use units::Timestamp;

/// The JSON Schema of the result.
pub const SCHEMA: &str = include_str!("../../schemas/simulate.schema.json");

/// The result of `headroom simulate`.
#[derive(Debug)]
pub struct Simulation {
    /// What came out.
    pub simulated: Simulated,
    /// The same minute by minute, where both were asked for.
    pub by_minute: Option<Simulated>,
    /// The published rows of the case.
    pub verdicts: Vec<Verdict>,
    /// Two stages compared, where that was asked for.
    pub versus: Option<Versus>,
    /// The comparison with what scaling really did, where that was asked for.
    pub real: Option<RealScaling>,
    /// The grid whose combinations are the stages, where that was asked for.
    pub varied: Option<Varied>,
}

/// What came out of the stages of a case that were run.
#[derive(Debug)]
pub struct Simulated {
    /// The name of the case.
    pub case: String,
    /// What it is about; may be empty.
    pub about: String,
    /// The calibration that the model comes from; none: the figures are from elsewhere.
    pub calibration: Option<Calibrated>,
    /// Whether a stage of the case, also one that was not run, has more than one service.
    pub several_services: bool,
    /// The stages that were run, in the order of the case.
    pub stages: Vec<Stage>,
    /// The seeds.
    pub seeds: Vec<u64>,
    /// How long it took, without what was recorded.
    pub took: Duration,
    /// How long it took to record the minutes of the fast way.
    pub recorded: Duration,
}

/// A stage that was run.
#[derive(Debug)]
pub struct Stage {
    /// Its place among the stages of the case.
    pub place: usize,
    /// Its name.
    pub name: String,
    /// What was done; may be empty.
    pub about: String,
    /// Whether it is independent of the others, such as a negative control.
    pub aside: bool,
    /// Its times of day, and its dates if they are known.
    pub clock: Clock,
    /// What is simulated before the measured time.
    pub warm_up: Duration,
    /// Whose prices its costs are; none: it has none.
    pub prices: Option<String>,
    /// Its services with a goal, and the goal.
    pub goals: Vec<(String, String)>,
    /// What was done to its traffic table.
    pub notes: Vec<String>,
    /// How closely it was simulated.
    pub fidelity: Fidelity,
    /// Whether it can be simulated minute by minute.
    pub recordable: bool,
    /// What came out, by seed.
    pub outcomes: Vec<Outcome>,
}

impl Simulated {
    /// A stage by its place in the case, where it was run.
    pub fn of(&self, place: usize) -> Option<&Stage> {
        self.stages.iter().find(|stage| stage.place == place)
    }

    /// All outcomes, stage by stage and seed by seed.
    fn outcomes(&self) -> impl Iterator<Item = &Outcome> {
        self.stages.iter().flat_map(|stage| &stage.outcomes)
    }

    /// What was assumed because no vendor publishes it, each once.
    fn assumptions(&self) -> Vec<Assumption> {
        let mut all = Vec::new();
        for assumption in self.outcomes().flat_map(|outcome| &outcome.assumptions) {
            if !all.contains(assumption) {
                all.push(*assumption);
            }
        }
        all
    }

    /// Simulated requests in all.
    fn requests(&self) -> u64 {
        let services = self.outcomes().filter_map(|outcome| outcome.services.first());
        services.map(|service| service.totals.arrived).sum()
    }
}

impl Stage {
    /// Day and time of day, such as `day 1 06:42:00`, or with the date if it is known. `nanos` count from the beginning of
    /// the simulated time.
    pub fn when(&self, nanos: u64) -> String {
        self.clock.when(Timestamp::from_nanos(nanos))
    }

    /// The beginning of a row as `06:42`, with seconds if rows are shorter than a minute, and with the date if it is known:
    /// `2026-03-02 06:42`.
    fn time_of(&self, row: &Row) -> String {
        let seconds = row.time_of_day(&self.clock).as_secs();
        let date = self.clock.date(row.at - row.span);
        let date = date.map_or(String::new(), |date| format!("{date} "));
        let second = if row.span < MINUTE { format!(":{:02}", seconds % 60) } else { String::new() };
        format!("{date}{:02}:{:02}{second}", seconds / 3600, seconds / 60 % 60)
    }

    /// The length of the rows of its outcomes.
    fn row(&self) -> Duration {
        self.outcomes.first().map_or(MINUTE, |outcome| outcome.row)
    }
}
