//! The results of a run: histograms, the account of every arrival, time series, and the validity of the run.
//! Independent of files and wire formats.
#![warn(missing_docs)]

mod accounting;
mod blocks;
mod compare;
mod few_above;
mod heads;
mod histogram;
mod interval;
mod measurement;
mod outcome;
mod pacing;
mod part;
#[cfg(test)]
mod printed;
pub mod queueing;
mod recorded;
pub mod scalability;
pub mod scaling;
mod series;
mod sparse;
#[cfg(test)]
mod synthetic;
mod validity;
mod watched;

pub use accounting::{Accounting, Failure, Fate};
pub use blocks::{Blocks, steady, within};
pub use compare::{
    Basis, CONFIDENCE, CONFIDENCE_FROM_HISTORY, Comparison, Difference, Finding, LEAST_FREEDOM_OF_HISTORY,
    LEAST_OF_TWO_RUNS, Numbers, Quantity, Row, compare, enough_repetitions,
};
pub use few_above::{SAMPLES_ABOVE, few_above, needed_duration};
pub use heads::{Heads, Times};
pub use histogram::{Histogram, Quantiles, Value};
pub use interval::{Interval, Refusal};
pub use measurement::Measurement;
pub use outcome::{Outcome, SUCCEEDED};
pub use pacing::{Burst, Pacing};
pub use part::{Check, Endpoint, Iterations, Part, Stage};
pub use recorded::{Parts, Recorded};
pub use series::{Cell, Second, Series};
pub use sparse::SparseHistogram;
pub use validity::{Came, NoGoodAnswer, Reason, Validity, Verdict};
pub use watched::{Gap, Reading, Seen, Watched};
