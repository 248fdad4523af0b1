//! The database under a ledger: SQLite in a file, or a PostgreSQL server.
//!
//! Statements are written once, for both: `?1` stands for the first value, and only what both understand is used. Values are
//! integers of 64 bits, texts and bytes, and nothing else, so that a row has the same form in both.

mod postgres;
mod sqlite;
mod value;

pub(crate) use value::{Read, Row, Value, values};

use crate::{Error, Location};

/// An open database.
#[derive(Debug)]
pub(crate) enum Database {
    /// A file.
    Sqlite(sqlite::Sqlite),
    /// A server.
    Postgres(Box<postgres::Postgres>),
}

/// Why a statement failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
    #[error(transparent)]
    Postgres(#[from] ::postgres::Error),
    /// The certificates of authorities cannot be read, or are missing.
    #[error("{0}")]
    Tls(String),
    /// The caller takes the transaction back.
    #[error("it was taken back")]
    GivenUp,
}

impl Database {
    /// Opens a database for writing; a file is made if it is missing.
    pub(crate) fn open(place: &Location) -> Result<Self, Error> {
        match place {
            Location::File(path) => Ok(Database::Sqlite(sqlite::Sqlite::open(path, place)?)),
            Location::Server(server) => {
                Ok(Database::Postgres(Box::new(postgres::Postgres::open(server, place)?)))
            }
        }
    }

    /// Opens an existing database for reading.
    pub(crate) fn open_to_read(place: &Location) -> Result<Self, Error> {
        match place {
            Location::File(path) => Ok(Database::Sqlite(sqlite::Sqlite::open_to_read(path, place)?)),
            Location::Server(_) => Self::open(place),
        }
    }

    /// An empty database in memory.
    pub(crate) fn in_memory() -> Result<Self, Failure> {
        Ok(Database::Sqlite(sqlite::Sqlite::in_memory()?))
    }

    /// Runs a statement, and returns how many rows it changed.
    pub(crate) fn execute(&self, statement: &str, values: &[Value]) -> Result<u64, Failure> {
        match self {
            Database::Sqlite(sqlite) => sqlite.execute(statement, values),
            Database::Postgres(postgres) => postgres.execute(statement, values),
        }
    }

    /// The rows of a query.
    pub(crate) fn query(&self, query: &str, values: &[Value]) -> Result<Vec<Row>, Failure> {
        match self {
            Database::Sqlite(sqlite) => sqlite.query(query, values),
            Database::Postgres(postgres) => postgres.query(query, values),
        }
    }

    /// The first row of a query, if there is one.
    pub(crate) fn row(&self, query: &str, values: &[Value]) -> Result<Option<Row>, Failure> {
        Ok(self.query(query, values)?.into_iter().next())
    }

    /// A transaction that holds the lock of writers from its beginning to its end. An error takes all of it back.
    pub(crate) fn write<T>(
        &self,
        change: impl FnOnce(&Database) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let done = self.begin_to_write().and_then(|()| change(self)).and_then(|value| {
            self.run("COMMIT")?;
            Ok(value)
        });
        if done.is_err() {
            // Where the connection is gone, or nothing was begun, there is nothing to take back.
            let _ = self.run("ROLLBACK");
        }
        done
    }

    /// Reads that all see the same state.
    pub(crate) fn at_once<T>(
        &self,
        read: impl FnOnce(&Database) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        self.run(match self {
            Database::Sqlite(_) => "BEGIN",
            Database::Postgres(_) => "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
        })?;
        let found = read(self);
        let ended = self.run("ROLLBACK");
        found.and_then(|found| ended.map(|()| found))
    }

    fn begin_to_write(&self) -> Result<(), Failure> {
        match self {
            Database::Sqlite(_) => self.run("BEGIN IMMEDIATE"),
            Database::Postgres(postgres) => postgres.begin_to_write(),
        }
    }

    /// Runs statements without values.
    pub(crate) fn run(&self, statements: &str) -> Result<(), Failure> {
        match self {
            Database::Sqlite(sqlite) => sqlite.run(statements),
            Database::Postgres(postgres) => postgres.run(statements),
        }
    }

    /// The version of the schema; 0 in an empty database. Fails where it belongs to another program.
    pub(crate) fn version(&self, place: &Location) -> Result<i64, Error> {
        match self {
            Database::Sqlite(sqlite) => sqlite.version(place),
            Database::Postgres(postgres) => postgres.version().map_err(|source| Error::of(place, source)),
        }
    }

    /// Notes the version of the schema, within a transaction.
    pub(crate) fn set_version(&self, version: i64) -> Result<(), Failure> {
        match self {
            Database::Sqlite(sqlite) => sqlite.set_version(version),
            Database::Postgres(postgres) => postgres.set_version(version),
        }
    }

    /// A statement of the schema, which is written for SQLite, in the words of this database.
    pub(crate) fn in_its_words(&self, statements: &str) -> String {
        match self {
            Database::Sqlite(_) => statements.to_owned(),
            Database::Postgres(_) => postgres::schema(statements),
        }
    }
}

pub(crate) use sqlite::PATIENCE;
