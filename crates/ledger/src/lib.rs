//! The record of every run: its configuration, its host and its results.
//!
//! ## Why a database and not files
//! Runs are recorded by several processes at once and read by later ones; a comparison needs exactly what was measured,
//! not what was printed. SQLite provides all of this in one file that any tool can open, without a server; a team shares
//! a PostgreSQL server.
//!
//! ## Why a row before the result
//! An interrupted run is an observation too. The row is written at the start, in the state `running`, and the end of
//! the run completes it.
//!
//! Counts are plain columns, so that `sqlite3` can query them; distributions and series are lossless blobs (see
//! `blob`), because quantiles cannot be merged and everything else can be computed from the counts.
#![warn(missing_docs)]

mod blob;
mod database;
mod entry;
mod error;
mod heads;
mod list;
mod location;
mod note;
mod part;
mod row;
mod run;
mod schema;
mod store;
mod transfer;
mod wall_time;

pub use entry::{Checked, Entry, Problem};
pub use error::{Error, Source};
pub use list::{Of, Order, Selection};
pub use location::{Location, Server, default_path};
pub use note::{Change, Name, Note, Notes, Tested};
pub use run::{NewRun, NoRunId, Outcome, Run, RunId, State};
pub use store::Ledger;
pub use transfer::{ImportError, Imported};
pub use wall_time::WallTime;
