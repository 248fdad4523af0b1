//! The record of every run: what was asked, on what host, what came of it.
//!
//! ## Why a database and not files
//! Runs are made by several processes at once and read by later ones; a comparison needs exactly what was measured,
//! not what was printed. SQLite gives all of this in one file that any tool can open, without a server.
//!
//! ## Why a row before the result
//! A run that was interrupted is an observation too. The row is there from the first moment, in the state
//! `running`, and the end of the run completes it.
//!
//! Counts are plain columns, so that `sqlite3` answers simple questions; distributions and series are lossless
//! blobs (see `blob`), because quantiles cannot be merged and everything else can be computed from the counts.
#![warn(missing_docs)]

mod blob;
mod error;
mod location;
mod part;
mod row;
mod run;
mod schema;
mod store;
mod wall_time;

pub use error::Error;
pub use location::default_path;
pub use run::{NewRun, NoRunId, Outcome, Run, RunId, State};
pub use store::{Filter, Ledger};
pub use wall_time::WallTime;
