//! The tables, and the migration of older files.
//!
//! Only a writer changes the schema. A reader uses a file unchanged, so a ledger of an older version stays readable by
//! the headroom that wrote it, and can be read where it is not writable: [`select`] provides default values for missing
//! columns.
//!
//! The statements are those of SQLite; `database` says them in the words of PostgreSQL.

use crate::database::{Database, Failure};
use crate::{Error, Location, entry};

/// The version of the database that a reader has opened; 0 for an empty one.
pub(crate) fn found(database: &Database, place: &Location) -> Result<i64, Error> {
    let found = database.version(place)?;
    if found > KNOWN {
        return Err(Error::NewerSchema { place: place.clone(), found, known: KNOWN });
    }
    Ok(found)
}

/// `columns` as a list for SELECT on a database of the version `found`: missing columns are replaced by their default under
/// their name.
pub(crate) fn select(columns: &[&str], found: i64) -> String {
    let column = |name: &&str| match LATER.iter().find(|(later, ..)| later == name) {
        Some((_, since, default)) if found < *since => format!("{default} AS {name}"),
        _ => (*name).to_owned(),
    };
    columns.iter().map(column).collect::<Vec<_>>().join(", ")
}

/// Brings the database to the current version.
pub(crate) fn migrate(database: &Database, place: &Location) -> Result<(), Error> {
    // The lock of writers would wait for other writers.
    if found(database, place)? == KNOWN {
        return Ok(());
    }
    // Two processes may find a new database at once: the second waits here and finds the work done.
    let mut newer = None;
    let step = database.write(|database| {
        let found = match found(database, place) {
            Ok(found) => found,
            Err(error) => {
                newer = Some(error);
                return Ok(());
            }
        };
        for (statements, after) in STEPS.iter().zip(1_i64..) {
            if after > found {
                database.run(&database.in_its_words(statements))?;
            }
        }
        if found < KNOWN {
            database.set_version(KNOWN)?;
        }
        if found < ENTRIES {
            entry::adopt(database)?;
        }
        Ok::<_, Failure>(())
    });
    step.map_err(|source| Error::of(place, source))?;
    newer.map_or(Ok(()), Err)
}

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
    "
    CREATE TABLE entry (
        number INTEGER PRIMARY KEY,
        run INTEGER REFERENCES run (id),
        kind TEXT NOT NULL,
        about TEXT NOT NULL,
        content TEXT NOT NULL,
        at_us INTEGER NOT NULL,
        digest BLOB,
        previous BLOB NOT NULL,
        hash BLOB NOT NULL
    ) STRICT;
    CREATE INDEX entry_run ON entry (run, kind);
    CREATE INDEX entry_about ON entry (kind, about, run);
    CREATE TABLE listed (
        run INTEGER PRIMARY KEY REFERENCES run (id),
        parent INTEGER,
        command TEXT NOT NULL,
        target TEXT NOT NULL,
        state TEXT NOT NULL,
        started_us INTEGER NOT NULL,
        took_us INTEGER,
        answered INTEGER,
        lost INTEGER,
        per_1000s INTEGER,
        p95_us INTEGER
    ) STRICT;
    CREATE INDEX listed_parent ON listed (parent);
    ALTER TABLE run ADD COLUMN facts TEXT;
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
    ("facts", 6, "NULL"),
];

/// The version that added endpoints, stages and checks.
pub(crate) const PARTS: i64 = 2;

/// The version that added `repeat_of`.
pub(crate) const REPETITIONS: i64 = 3;

/// The version that added entries.
pub(crate) const ENTRIES: i64 = 6;
