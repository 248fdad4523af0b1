//! The tables, and the migration of older files.
//!
//! Only a writer changes the schema. A reader uses a file unchanged, so a ledger of an older version stays readable by
//! the headroom that wrote it, and can be read where it is not writable: [`select`] provides default values for missing
//! columns.
//!
//! `user_version` counts the migration steps of a file; `application_id` identifies it as a ledger, so that a mistyped
//! `--ledger` never writes into another database.

use crate::Error;
use rusqlite::{Connection, Transaction, TransactionBehavior};
use std::path::Path;

/// The version of the file that a reader has opened; 0 for an empty file.
pub(crate) fn found(connection: &Connection, path: &Path) -> Result<i64, Error> {
    // The version takes several reads, which must see the same state.
    let look = Transaction::new_unchecked(connection, TransactionBehavior::Deferred)
        .map_err(|source| Error::of(path, source))?;
    version(&look, path)
}

/// `columns` as a list for SELECT on a file of the version `found`: missing columns are replaced by their default under
/// their name.
pub(crate) fn select(columns: &[&str], found: i64) -> String {
    let column = |name: &&str| match LATER.iter().find(|(later, ..)| later == name) {
        Some((_, since, default)) if found < *since => format!("{default} AS {name}"),
        _ => (*name).to_owned(),
    };
    columns.iter().map(column).collect::<Vec<_>>().join(", ")
}

/// Brings the file to the current version.
pub(crate) fn migrate(connection: &Connection, path: &Path) -> Result<(), Error> {
    let database = |source| Error::of(path, source);
    let begin = |behavior| Transaction::new_unchecked(connection, behavior).map_err(database);
    // An immediate transaction would wait for other writers.
    if found(connection, path)? == KNOWN {
        return Ok(());
    }
    // Two processes may find a new file at once: the second waits here and finds the work done.
    let step = begin(TransactionBehavior::Immediate)?;
    let found = version(&step, path)?;
    for (statements, after) in STEPS.iter().zip(1_i64..) {
        if after > found {
            step.execute_batch(statements).map_err(database)?;
        }
    }
    step.pragma_update(None, "application_id", APPLICATION_ID).map_err(database)?;
    step.pragma_update(None, "user_version", KNOWN).map_err(database)?;
    step.commit().map_err(database)
}

/// The version of the file, if it is a ledger or new.
fn version(transaction: &Transaction<'_>, path: &Path) -> Result<i64, Error> {
    let number = |pragma: &str| {
        transaction
            .pragma_query_value(None, pragma, |row| row.get::<_, i64>(0))
            .map_err(|source| Error::of(path, source))
    };
    let (application, found) = (number("application_id")?, number("user_version")?);
    let tables: i64 = transaction
        .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
        .map_err(|source| Error::of(path, source))?;
    let is_new = application == 0 && found == 0 && tables == 0;
    if application != APPLICATION_ID && !is_new {
        return Err(Error::NotALedger {
            path: path.to_owned(),
            what: "it is a database of another program".to_owned(),
        });
    }
    if found > KNOWN {
        return Err(Error::NewerSchema { path: path.to_owned(), found, known: KNOWN });
    }
    Ok(found)
}

/// "hdrm" in ASCII.
const APPLICATION_ID: i64 = 0x6864_726d;

/// The version that this program writes.
pub(crate) const KNOWN: i64 = STEPS.len() as i64;

/// Each step leads from one version to the next; a released step is never changed.
const STEPS: &[&str] = &[
    "
    CREATE TABLE run (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        parent INTEGER REFERENCES run (id),
        state TEXT NOT NULL,
        command TEXT NOT NULL,
        command_line TEXT NOT NULL,
        version TEXT NOT NULL,
        config TEXT NOT NULL,
        target TEXT NOT NULL,
        host TEXT NOT NULL,
        host_after TEXT NOT NULL DEFAULT '[]',
        started_us INTEGER NOT NULL,
        ended_us INTEGER,
        error TEXT,
        result TEXT
    ) STRICT;
    CREATE INDEX run_parent ON run (parent, id);
    CREATE TABLE measurement (
        run INTEGER PRIMARY KEY REFERENCES run (id),
        elapsed_ns INTEGER NOT NULL,
        scheduled INTEGER NOT NULL,
        answered INTEGER NOT NULL,
        shed INTEGER NOT NULL,
        failed INTEGER NOT NULL,
        timed_out INTEGER NOT NULL,
        unsent INTEGER NOT NULL,
        in_flight INTEGER NOT NULL,
        statuses TEXT NOT NULL,
        failures TEXT NOT NULL,
        response BLOB NOT NULL,
        service BLOB NOT NULL,
        dispatch BLOB NOT NULL,
        shed_response BLOB NOT NULL,
        series BLOB NOT NULL,
        connections INTEGER NOT NULL,
        bytes_received INTEGER NOT NULL,
        cpu_ns INTEGER NOT NULL,
        verdict TEXT NOT NULL,
        reasons TEXT NOT NULL
    ) STRICT;
",
    "
    ALTER TABLE measurement ADD COLUMN completed INTEGER;
    ALTER TABLE measurement ADD COLUMN iterations_started INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE measurement ADD COLUMN iterations_completed INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE measurement ADD COLUMN iterations_broken INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE measurement ADD COLUMN iteration_time BLOB;
    ALTER TABLE measurement ADD COLUMN connect BLOB;
    ALTER TABLE measurement ADD COLUMN tls BLOB;
    CREATE TABLE part (
        run INTEGER NOT NULL REFERENCES measurement (run),
        kind TEXT NOT NULL,
        place INTEGER NOT NULL,
        name TEXT NOT NULL,
        tags TEXT NOT NULL,
        from_ns INTEGER NOT NULL,
        until_ns INTEGER NOT NULL,
        warm_up INTEGER NOT NULL,
        scheduled INTEGER NOT NULL,
        answered INTEGER NOT NULL,
        shed INTEGER NOT NULL,
        failed INTEGER NOT NULL,
        timed_out INTEGER NOT NULL,
        unsent INTEGER NOT NULL,
        in_flight INTEGER NOT NULL,
        completed INTEGER NOT NULL,
        statuses TEXT NOT NULL,
        failures TEXT NOT NULL,
        by_outcome BLOB NOT NULL,
        service BLOB NOT NULL,
        dispatch BLOB NOT NULL,
        PRIMARY KEY (run, kind, place)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE answer_check (
        run INTEGER NOT NULL REFERENCES measurement (run),
        place INTEGER NOT NULL,
        name TEXT NOT NULL,
        passed INTEGER NOT NULL,
        failed INTEGER NOT NULL,
        PRIMARY KEY (run, place)
    ) STRICT, WITHOUT ROWID;
",
    "
    ALTER TABLE run ADD COLUMN repeat_of INTEGER REFERENCES run (id);
    CREATE INDEX run_repeat ON run (repeat_of) WHERE repeat_of IS NOT NULL;
    ALTER TABLE measurement ADD COLUMN resent INTEGER;
    ALTER TABLE part ADD COLUMN resent INTEGER;
",
    "
    ALTER TABLE run ADD COLUMN process TEXT;
",
    "
    ALTER TABLE measurement ADD COLUMN heads TEXT;
",
];

/// The columns that a version after the first added to a table: name, version, default for older files. A column has
/// the same meaning in all tables.
const LATER: &[(&str, i64, &str)] = &[
    ("completed", 2, "NULL"),
    ("iterations_started", 2, "0"),
    ("iterations_completed", 2, "0"),
    ("iterations_broken", 2, "0"),
    ("iteration_time", 2, "NULL"),
    ("connect", 2, "NULL"),
    ("tls", 2, "NULL"),
    ("repeat_of", 3, "NULL"),
    ("resent", 3, "NULL"),
    ("process", 4, "NULL"),
    ("heads", 5, "NULL"),
];

/// The version that added endpoints, stages and checks.
pub(crate) const PARTS: i64 = 2;

/// The version that added `repeat_of`.
pub(crate) const REPETITIONS: i64 = 3;
