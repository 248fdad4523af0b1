//! Errors of a ledger.

use crate::database::Failure;
use crate::{Location, RunId};
use std::path::PathBuf;

/// The error of a database.
pub type Source = Box<dyn std::error::Error + Send + Sync>;

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
        "the ledger {place} has schema version {found}, this headroom knows up to {known}; use a newer headroom, or another ledger with --ledger PATH"
    )]
    NewerSchema {
        /// Where it is.
        place: Location,
        /// The version in the file.
        found: i64,
        /// The latest version that this program knows.
        known: i64,
    },
    /// The file is not a ledger: another database, not a database, or a damaged one.
    #[error(
        "{place} is not a ledger of headroom, or it is damaged ({what}); move it away, or choose another ledger with --ledger PATH"
    )]
    NotALedger {
        /// Where it is.
        place: Location,
        /// What is wrong with it.
        what: String,
    },
    /// The file or its directory is not writable.
    #[error(
        "the ledger {place} cannot be written; allow it (the file and its directory), or choose another ledger with --ledger PATH"
    )]
    ReadOnly {
        /// Where it is.
        place: Location,
    },
    /// The file cannot be opened.
    #[error("the ledger {place} cannot be opened; choose another ledger with --ledger PATH")]
    Open {
        /// Where it is.
        place: Location,
        /// The database's error.
        source: Source,
    },
    /// Another process kept the ledger locked for longer than the time-out.
    #[error(
        "another process has kept the ledger {place} locked for more than {}; try again when it is done",
        units::show_duration(crate::database::PATIENCE)
    )]
    Locked {
        /// Where it is.
        place: Location,
    },
    /// There is no room for what is written.
    #[error(
        "the ledger {place} cannot grow: its disk is full; make room, or choose another ledger with --ledger PATH"
    )]
    Full {
        /// Where it is.
        place: Location,
    },
    /// The URL of a server is not one.
    #[error(
        "{place} is no URL of a PostgreSQL database ({what}); expected postgres://USER@HOST:PORT/DATABASE, as for psql"
    )]
    Address {
        /// The URL.
        place: Location,
        /// What is wrong with it.
        what: String,
    },
    /// The server cannot be reached, or refuses the connection.
    #[error(
        "the ledger {place} cannot be reached; check the URL with psql (the server's certificate must be one that this machine trusts, or sslmode=disable), or choose another ledger with --ledger PATH"
    )]
    Unreachable {
        /// Where it is.
        place: Location,
        /// The client's error.
        source: Source,
    },
    /// The connection to the server is gone.
    #[error("the connection to the ledger {place} is lost; try again when it is back")]
    Lost {
        /// Where it is.
        place: Location,
        /// The client's error.
        source: Source,
    },
    /// Any other error of the database.
    #[error("the ledger {place} failed")]
    Database {
        /// Where it is.
        place: Location,
        /// The database's error.
        source: Source,
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
    /// No run has this name.
    #[error(
        "no run of the ledger has the name `{name}`; headroom runs lists them, headroom note gives a name"
    )]
    UnknownName {
        /// The name.
        name: String,
    },
    /// An export cannot be written.
    #[error("the runs cannot be written")]
    Write {
        /// The system's error.
        source: std::io::Error,
    },
    /// The run has not ended.
    #[error("run {id} has not ended yet; wait for its end, or stop it")]
    Running {
        /// The run.
        id: RunId,
    },
    /// The ledger was written by a headroom that kept no entries.
    #[error(
        "the ledger {place} has schema version {found}, which keeps no entries to check; the next command that writes to it adds them"
    )]
    NoEntries {
        /// Where it is.
        place: Location,
        /// The version in the file.
        found: i64,
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
    pub(crate) fn of(place: &Location, source: Failure) -> Self {
        use rusqlite::ErrorCode;
        let place = place.clone();
        let code = match &source {
            Failure::Sqlite(error) => error.sqlite_error_code(),
            // Codes of states: <https://www.postgresql.org/docs/current/errcodes-appendix.html>.
            Failure::Postgres(error) => match error.code().map(postgres::error::SqlState::code) {
                None => return Error::Lost { place, source: source.into() },
                // A shutdown, a crash, a start; and all that is about the connection.
                Some(code) if code.starts_with("57P0") || code.starts_with("08") => {
                    return Error::Lost { place, source: source.into() };
                }
                // The time-out of a lock.
                Some("55P03") => Some(ErrorCode::DatabaseLocked),
                Some("53100") => Some(ErrorCode::DiskFull),
                Some("25006") => Some(ErrorCode::ReadOnly),
                Some(_) => None,
            },
            Failure::Tls(_) | Failure::GivenUp => None,
        };
        match code {
            Some(ErrorCode::ReadOnly) => Error::ReadOnly { place },
            Some(ErrorCode::CannotOpen) => Error::Open { place, source: source.into() },
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Error::Locked { place },
            Some(ErrorCode::DiskFull) => Error::Full { place },
            Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => {
                Error::NotALedger { place, what: source.to_string() }
            }
            _ => Error::Database { place, source: source.into() },
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
