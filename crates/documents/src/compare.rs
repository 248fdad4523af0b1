//! Two sides of runs compared: what they differ in, by how much, and what else differs between them.
//!
//! The numbers and their intervals come from `measure::compare`. The reader is told what else differs between the sides,
//! because no interval can tell which difference made which.

mod as_json;
mod circumstances;
mod words;

pub use circumstances::{Circumstance, PASSING};

use measure::{Comparison, Numbers, Verdict};

/// The JSON Schema of the result.
pub const SCHEMA: &str = include_str!("../schemas/compare.schema.json");

/// The result of `headroom compare`: two sides, with all that is said about them.
pub struct Compared {
    /// What is compared with.
    pub a: Side,
    /// What is compared.
    pub b: Side,
    /// Which requests are compared.
    pub choice: Choice,
    /// The findings.
    pub comparison: Comparison,
    /// What differs between the sides beside their numbers.
    pub differs: Vec<Circumstance>,
    /// What a reader must know before believing the findings.
    pub warnings: Vec<String>,
}

/// Which requests are compared; all of the steady seconds where nothing is named.
#[derive(Debug, Clone, Default)]
pub struct Choice {
    /// Only those of this endpoint.
    pub endpoint: Option<String>,
    /// Only those of this stage.
    pub stage: Option<String>,
}

/// Runs that are taken as equal; at least one.
pub struct Side {
    /// The run that stands for the side where one is enough.
    pub first: Run,
    /// The others.
    pub others: Vec<Run>,
}

/// A run with all that a comparison needs.
pub struct Run {
    /// Its number in the ledger: 17 of `r17`.
    pub number: i64,
    /// The command: `load`, `find`, `demo`.
    pub command: String,
    /// What the load went to, usually a URL.
    pub target: String,
    /// The version of headroom, with the revision of its source where it is known.
    pub version: String,
    /// The configuration that resulted, as JSON.
    pub config: String,
    /// The machine that made the load.
    pub host: Vec<(String, String)>,
    /// What interrupted it; `None` if it ended by itself.
    pub interrupted: Option<String>,
    /// How far the run can be trusted.
    pub verdict: Verdict,
    /// Why, as sentences.
    pub reasons: Vec<String>,
    /// How many stages it had, its warm-up left aside.
    pub stages: usize,
    /// Whole seconds that are compared.
    pub seconds: usize,
    /// Their numbers.
    pub numbers: Numbers,
}

impl Compared {
    /// Compares two sides. `history` are sets of runs without a change, which tell of the noise from run to run.
    pub fn of(a: Side, b: Side, choice: Choice, history: &[Vec<Numbers>]) -> Self {
        let comparison = measure::compare(&a.numbers(), &b.numbers(), history);
        let differs = circumstances::differing(&a.first, &b.first);
        let warnings = circumstances::warnings(&a, &b, &choice, &differs);
        Compared { a, b, choice, comparison, differs, warnings }
    }
}

impl Side {
    /// All runs of the side.
    pub fn all(&self) -> impl Iterator<Item = &Run> {
        std::iter::once(&self.first).chain(&self.others)
    }

    fn count(&self) -> usize {
        1 + self.others.len()
    }

    fn numbers(&self) -> Vec<Numbers> {
        self.all().map(|run| run.numbers.clone()).collect()
    }

    /// How the side is called in a table: `r17`, `r1-r5`, `r1,r3,r5`, `r1 and 5 more`.
    pub fn label(&self) -> String {
        let runs: Vec<&Run> = self.all().collect();
        let in_order = runs.windows(2).all(|pair| pair[1].number == pair[0].number + 1);
        match runs[..] {
            [one] => one.id(),
            [first, .., last] if in_order && runs.len() > 2 => format!("{}-{}", first.id(), last.id()),
            [first, ..] if runs.len() > LISTED => format!("{} and {} more", first.id(), runs.len() - 1),
            _ => runs.iter().map(|run| run.id()).collect::<Vec<_>>().join(","),
        }
    }
}

impl Run {
    /// Its name in the ledger, such as `r17`.
    pub fn id(&self) -> String {
        format!("r{}", self.number)
    }
}

/// More runs than this are not listed.
const LISTED: usize = 3;
