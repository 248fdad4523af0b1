//! Errors of a ledger.

use crate::RunId;
use std::path::{Path, PathBuf};

/// Why an operation of the ledger failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The directory of the file cannot be created.
    #[error("cannot make the directory {} for the ledger; choose another place with --ledger PATH", directory.display())]
    Directory {
        /// The directory.
        directory: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// A later version of headroom wrote the file.
    #[error(
        "the ledger {} has schema version {found}, this headroom knows up to {known}; use a newer headroom, or another ledger with --ledger PATH",
        path.display()
    )]
    NewerSchema {
        /// The file.
        path: PathBuf,
        /// The version in the file.
        found: i64,
        /// The latest version that this program knows.
        known: i64,
    },
    /// The file is not a ledger: another database, not a database, or a damaged one.
    #[error(
        "{} is not a ledger of headroom, or it is damaged ({what}); move it away, or choose another ledger with --ledger PATH",
        path.display()
    )]
    NotALedger {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// The file or its directory is not writable.
    #[error(
        "the ledger {} cannot be written; allow it (the file and its directory), or choose another ledger with --ledger PATH",
        path.display()
    )]
    ReadOnly {
        /// The file.
        path: PathBuf,
    },
    /// The file cannot be opened.
    #[error("the ledger {} cannot be opened; choose another ledger with --ledger PATH", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// SQLite's error.
        source: rusqlite::Error,
    },
    /// Another process kept the ledger locked for longer than the time-out.
    #[error(
        "another process has kept the ledger {} locked for more than {}; try again when it is done",
        path.display(),
        units::show_duration(crate::store::PATIENCE)
    )]
    Locked {
        /// The file.
        path: PathBuf,
    },
    /// Any other error of the database.
    #[error("the ledger {} failed", path.display())]
    Database {
        /// The file.
        path: PathBuf,
        /// SQLite's error.
        source: rusqlite::Error,
    },
    /// There is no such run.
    #[error("the ledger has no run {id}{}", nearby(nearest))]
    UnknownRun {
        /// The requested run.
        id: RunId,
        /// The nearest existing runs in either direction.
        nearest: Vec<RunId>,
    },
    /// The run has ended already.
    #[error("run {id} has ended already; a result is written once")]
    Ended {
        /// The run.
        id: RunId,
    },
    /// The stored data of a run cannot be read.
    #[error("run {id} holds a damaged `{field}`: {what}")]
    Damaged {
        /// The run.
        id: RunId,
        /// The column.
        field: &'static str,
        /// What is wrong with it.
        what: String,
    },
}

impl Error {
    /// Converts an error of the database.
    pub(crate) fn of(path: &Path, source: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode;
        let path = path.to_owned();
        match source.sqlite_error_code() {
            Some(ErrorCode::ReadOnly) => Error::ReadOnly { path },
            Some(ErrorCode::CannotOpen) => Error::Open { path, source },
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Error::Locked { path },
            Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => {
                Error::NotALedger { path, what: source.to_string() }
            }
            _ => Error::Database { path, source },
        }
    }
}

fn nearby(nearest: &[RunId]) -> String {
    match nearest {
        [] => "; it is empty".to_owned(),
        [one] => format!("; the nearest is {one}"),
        [one, other, ..] => format!("; the nearest are {one} and {other}"),
    }
}
