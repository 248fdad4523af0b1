//! SQLite in a file.
//!
//! `user_version` counts the steps of the schema; `application_id` identifies the file as a ledger, so that a mistyped
//! `--ledger` never writes into another database. A write takes the lock at once, so that processes that write at the same
//! time wait for each other and none fails halfway; the write-ahead log lets readers continue meanwhile.

use super::{Failure, Row, Value};
use crate::{Error, Location};
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ErrorCode, OpenFlags, ToSql, Transaction, TransactionBehavior, params_from_iter};
use std::ffi::{OsStr, OsString};
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// An open file.
#[derive(Debug)]
pub(crate) struct Sqlite {
    pub(crate) connection: Connection,
}

impl Sqlite {
    pub(super) fn open(path: &Path, place: &Location) -> Result<Self, Error> {
        if let Some(directory) = path.parent() {
            std::fs::create_dir_all(directory)
                .map_err(|source| Error::Directory { directory: directory.to_owned(), source })?;
        }
        let open = || {
            let connection = Connection::open(path)?;
            connection.busy_timeout(PATIENCE)?;
            connection.pragma_update(None, "foreign_keys", true)?;
            Ok::<_, rusqlite::Error>(connection)
        };
        let connection = open().map_err(|source| Error::of(place, source.into()))?;
        let sqlite = Sqlite { connection };
        // Whose it is comes before any change.
        sqlite.version(place)?;
        write_ahead(&sqlite.connection).map_err(|source| Error::of(place, source.into()))?;
        Ok(sqlite)
    }

    /// Changes nothing in the file or in its directory: they need not be writable. If no process has the file open, it is read
    /// as a file that does not change: what a process writes that begins meanwhile is not seen.
    pub(super) fn open_to_read(path: &Path, place: &Location) -> Result<Self, Error> {
        let checked = |connection: rusqlite::Result<Connection>| {
            let sqlite = Sqlite { connection: connection.map_err(|source| Error::of(place, source.into()))? };
            sqlite.version(place)?;
            Ok(sqlite)
        };
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let shared = || {
            let connection = Connection::open_with_flags(path, flags)?;
            connection.busy_timeout(PATIENCE)?;
            Ok(connection)
        };
        match may_stand_alone(path) {
            // Processes that have the file open at once share an index beside it. To open it with others would make one.
            true if has_write_ahead_log(path) && !beside(path, "-shm").exists() => checked(alone(path)),
            true => match checked(shared()) {
                // An index that may not be used.
                Err(Error::Open { .. } | Error::ReadOnly { .. }) => checked(alone(path)),
                opened => opened,
            },
            false => checked(shared()),
        }
    }

    pub(super) fn in_memory() -> Result<Self, Failure> {
        Ok(Sqlite { connection: Connection::open_in_memory()? })
    }

    pub(super) fn execute(&self, statement: &str, values: &[Value]) -> Result<u64, Failure> {
        let mut statement = self.connection.prepare_cached(statement)?;
        Ok(statement.execute(params_from_iter(values))? as u64)
    }

    pub(super) fn query(&self, query: &str, values: &[Value]) -> Result<Vec<Row>, Failure> {
        let mut statement = self.connection.prepare_cached(query)?;
        let names: Rc<[String]> = statement.column_names().map(str::to_owned).collect();
        let count = names.len();
        let rows = statement.query_map(params_from_iter(values), |row| {
            let values = (0..count).map(|place| row.get_ref(place).map(value)).collect::<Result<_, _>>()?;
            Ok(Row { names: Rc::clone(&names), values })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    pub(super) fn run(&self, statements: &str) -> Result<(), Failure> {
        Ok(self.connection.execute_batch(statements)?)
    }

    /// The version of the file, if it is a ledger or new.
    pub(super) fn version(&self, place: &Location) -> Result<i64, Error> {
        let failed = |source: rusqlite::Error| Error::of(place, source.into());
        // It takes several reads, which must see the same state; a transaction of a writer may be open already.
        let look = (self.connection.is_autocommit())
            .then(|| Transaction::new_unchecked(&self.connection, TransactionBehavior::Deferred))
            .transpose()
            .map_err(failed)?;
        let number = |pragma: &str| {
            self.connection.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0)).map_err(failed)
        };
        let (application, found) = (number("application_id")?, number("user_version")?);
        let tables: i64 = self
            .connection
            .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
            .map_err(failed)?;
        drop(look);
        let is_new = application == 0 && found == 0 && tables == 0;
        if application != APPLICATION_ID && !is_new {
            return Err(Error::NotALedger {
                place: place.clone(),
                what: "it is a database of another program".to_owned(),
            });
        }
        Ok(found)
    }

    pub(super) fn set_version(&self, version: i64) -> Result<(), Failure> {
        self.connection.pragma_update(None, "application_id", APPLICATION_ID)?;
        Ok(self.connection.pragma_update(None, "user_version", version)?)
    }
}

impl ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self {
            Value::Null => ToSqlOutput::Borrowed(ValueRef::Null),
            Value::Integer(number) => ToSqlOutput::Borrowed(ValueRef::Integer(*number)),
            Value::Text(text) => ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes())),
            Value::Blob(bytes) => ToSqlOutput::Borrowed(ValueRef::Blob(bytes)),
        })
    }
}

/// The value of a column. Tables are strict and have no column of floating point; a damaged file may have anything.
fn value(found: ValueRef<'_>) -> Value {
    match found {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => Value::Integer(number),
        ValueRef::Real(number) => Value::Text(number.to_string()),
        ValueRef::Text(text) => Value::Text(String::from_utf8_lossy(text).into_owned()),
        ValueRef::Blob(bytes) => Value::Blob(bytes.to_vec()),
    }
}

/// Turns the write-ahead log on. Changing the journal locks the file for a moment, and SQLite does not wait for that as
/// it waits for a write, so this does.
fn write_ahead(connection: &Connection) -> rusqlite::Result<()> {
    let begun = Instant::now();
    loop {
        let mode: String = connection.pragma_query_value(None, "journal_mode", |row| row.get(0))?;
        if mode == "wal" {
            return Ok(());
        }
        match connection.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(())) {
            Err(error)
                if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
                    && begun.elapsed() < PATIENCE =>
            {
                sleep(Duration::from_millis(10));
            }
            // Without the log (a read-only file, a file system without shared memory) everything is slower but correct.
            _ => return Ok(()),
        }
    }
}

/// Whether the file contains all written data: data in a log or journal file next to it is missing.
fn may_stand_alone(path: &Path) -> bool {
    let is_empty = |suffix| std::fs::metadata(beside(path, suffix)).map_or(true, |beside| beside.len() == 0);
    ["-wal", "-journal"].into_iter().all(is_empty)
}

/// The file beside a ledger whose name ends so.
fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Whether writers keep a write-ahead log: byte 18 of the file says so (<https://www.sqlite.org/fileformat.html>).
fn has_write_ahead_log(path: &Path) -> bool {
    let mut head = [0; 19];
    let read = std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut head));
    read.is_ok() && head[18] == 2
}

/// Opens a file that no process writes, without the index file that readers and writers share.
fn alone(path: &Path) -> rusqlite::Result<Connection> {
    let flags =
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
    Connection::open_with_flags(uri(path), flags)
}

/// The file as a URI with the flag for immutable files (<https://www.sqlite.org/uri.html>).
fn uri(path: &Path) -> OsString {
    // Without an authority, SQLite would take what follows two slashes for one.
    let mut uri = OsString::from(if path.is_absolute() { "file://" } else { "file:" });
    for &byte in path.as_os_str().as_bytes() {
        match byte {
            b'%' | b'?' | b'#' => uri.push(format!("%{byte:02X}")),
            _ => uri.push(OsStr::from_bytes(&[byte])),
        }
    }
    uri.push("?immutable=1");
    uri
}

/// "hdrm" in ASCII.
const APPLICATION_ID: i64 = 0x6864_726d;

/// How long a writer waits for others: they hold the lock for milliseconds, but a disk may stall.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);
