//! The ledger: begin a run, end it, read it back.
//!
//! Each call is one transaction that takes the write lock at once, so that processes that write at the same time wait
//! for each other and none fails halfway. The write-ahead log lets readers continue meanwhile.

use crate::{Error, NewRun, Outcome, Run, RunId, State, WallTime, blob, part, row, schema};
use measure::{Parts, Series};
use rusqlite::{
    Connection, ErrorCode, OpenFlags, OptionalExtension, Transaction, TransactionBehavior, params,
};
use std::ffi::{OsStr, OsString};
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The record of all runs, in one file; any number of processes may have it open.
#[derive(Debug)]
pub struct Ledger {
    connection: Connection,
    path: PathBuf,
    /// The version of the schema when the file was opened. Later versions only add to it.
    version: i64,
    read_only: bool,
}

/// Selects runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Filter {
    /// Runs that are not a part of another.
    TopLevel,
    /// The parts of this run.
    PartsOf(RunId),
}

impl Ledger {
    /// Opens the ledger for writing: creates it (and its directory) if it is missing, and migrates an older one.
    ///
    /// # Errors
    /// The file cannot be opened, is not a ledger, or is of a later version of headroom.
    pub fn open(path: &Path) -> Result<Self, Error> {
        if let Some(directory) = path.parent() {
            std::fs::create_dir_all(directory)
                .map_err(|source| Error::Directory { directory: directory.to_owned(), source })?;
        }
        let failed = |source| Error::of(path, source);
        let connection = Connection::open(path).map_err(failed)?;
        connection.busy_timeout(PATIENCE).map_err(failed)?;
        connection.pragma_update(None, "foreign_keys", true).map_err(failed)?;
        schema::migrate(&connection, path)?;
        write_ahead(&connection).map_err(failed)?;
        Ok(Ledger { connection, path: path.to_owned(), version: schema::KNOWN, read_only: false })
    }

    /// Opens an existing ledger for reading, and changes nothing in it or in its directory: it may be of an older
    /// version, and the file and its directory need not be writable. [`Ledger::begin`] and other writes fail.
    ///
    /// If no process has the file open, it is read as a file that does not change: what a process writes that begins
    /// meanwhile is not seen.
    ///
    /// # Errors
    /// As for [`Ledger::open`], or there is no file.
    pub fn open_to_read(path: &Path) -> Result<Self, Error> {
        let failed = |source| Error::of(path, source);
        let alone = || {
            let connection = alone(path).map_err(failed)?;
            let version = schema::found(&connection, path)?;
            Ok((connection, version))
        };
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let shared = || {
            let connection = Connection::open_with_flags(path, flags).map_err(failed)?;
            connection.busy_timeout(PATIENCE).map_err(failed)?;
            let version = schema::found(&connection, path)?;
            Ok((connection, version))
        };
        let (connection, version) = match may_stand_alone(path) {
            // Processes that have the file open at once share an index beside it. To open it with others would make one.
            true if has_write_ahead_log(path) && !beside(path, "-shm").exists() => alone()?,
            true => match shared() {
                // An index that may not be used.
                Err(Error::Open { .. } | Error::ReadOnly { .. }) => alone()?,
                opened => opened?,
            },
            false => shared()?,
        };
        if version > 0 {
            return Ok(Ledger { connection, path: path.to_owned(), version, read_only: true });
        }
        // An empty file: a ledger without runs.
        let connection = Connection::open_in_memory().map_err(failed)?;
        schema::migrate(&connection, path)?;
        Ok(Ledger { connection, path: path.to_owned(), version: schema::KNOWN, read_only: true })
    }

    /// Adds a run that begins now; its state is [`State::Running`] until it is ended.
    ///
    /// # Errors
    /// The file cannot be written, or `parent` does not exist.
    pub fn begin(&self, run: &NewRun) -> Result<RunId, Error> {
        if let Some(parent) = run.parent {
            self.state(parent)?;
        }
        self.write(|transaction| row::insert_run(transaction, run))
    }

    /// Ends a run with its outcome.
    ///
    /// # Errors
    /// The file cannot be written, the run does not exist, or it has already ended.
    pub fn finish(&self, id: RunId, outcome: &Outcome<'_>) -> Result<(), Error> {
        let changed = self.write(|transaction| {
            let changed = transaction.execute(
                "UPDATE run SET state = ?2, ended_us = ?3, result = ?4, host_after = ?5, error = ?6
                 WHERE id = ?1 AND state = 'running'",
                params![
                    id,
                    if outcome.interrupted.is_some() { State::Interrupted } else { State::Done }.name(),
                    outcome.ended.micros(),
                    outcome.result,
                    row::pairs(&outcome.host_after),
                    outcome.interrupted
                ],
            )?;
            if let Some(measurement) = outcome.measurement.filter(|_| changed == 1) {
                row::insert_measurement(transaction, id, measurement)?;
                part::insert(transaction, id, measurement)?;
            }
            Ok(changed)
        })?;
        self.was_running(id, changed)
    }

    /// Ends a run that failed; `error` is the reason.
    ///
    /// # Errors
    /// As for [`Ledger::finish`].
    pub fn fail(&self, id: RunId, ended: WallTime, error: &str) -> Result<(), Error> {
        let changed = self.write(|transaction| {
            transaction.execute(
                "UPDATE run SET state = ?2, ended_us = ?3, error = ?4 WHERE id = ?1 AND state = 'running'",
                params![id, State::Failed.name(), ended.micros(), error],
            )
        })?;
        self.was_running(id, changed)
    }

    /// At most `limit` runs, the latest first.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn runs(&self, filter: Filter, limit: u32) -> Result<Vec<Run>, Error> {
        let parent = match filter {
            Filter::TopLevel => None,
            Filter::PartsOf(parent) => Some(parent),
        };
        let read = || {
            let query = format!("{} WHERE parent IS ?1 ORDER BY id DESC LIMIT ?2", row::select(self.version));
            let mut statement = self.connection.prepare_cached(&query)?;
            let rows = statement.query_map(params![parent, limit], row::run)?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        };
        read().map_err(|source| self.failed(source))?.into_iter().collect()
    }

    /// At most `limit` runs of a command and target that are not parts of others, the latest first.
    ///
    /// # Errors
    /// As for [`Ledger::runs`].
    pub fn runs_of(&self, command: &str, target: &str, limit: u32) -> Result<Vec<Run>, Error> {
        let read = || {
            let query = format!(
                "{} WHERE parent IS NULL AND command = ?1 AND target = ?2 ORDER BY id DESC LIMIT ?3",
                row::select(self.version)
            );
            let mut statement = self.connection.prepare_cached(&query)?;
            let rows = statement.query_map(params![command, target, limit], row::run)?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        };
        read().map_err(|source| self.failed(source))?.into_iter().collect()
    }

    /// The runs that repeat this one (`load --repeat`), in order and without itself.
    ///
    /// # Errors
    /// As for [`Ledger::run`].
    pub fn repetitions(&self, first: RunId) -> Result<Vec<RunId>, Error> {
        self.state(first)?;
        if self.version < schema::REPETITIONS {
            return Ok(Vec::new());
        }
        let read = || {
            let query = "SELECT id FROM run WHERE repeat_of = ?1 ORDER BY id";
            let mut statement = self.connection.prepare_cached(query)?;
            let rows = statement.query_map([first], |row| row.get(0))?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        };
        read().map_err(|source| self.failed(source))
    }

    /// One run.
    ///
    /// # Errors
    /// It does not exist (the error names the nearest), or the stored data cannot be read.
    pub fn run(&self, id: RunId) -> Result<Run, Error> {
        let found = self
            .connection
            .query_row(&format!("{} WHERE id = ?1", row::select(self.version)), [id], row::run)
            .optional()
            .map_err(|source| self.failed(source))?;
        found.unwrap_or_else(|| Err(self.unknown(id)))
    }

    /// The measurements of a run by second; empty if it measured nothing.
    ///
    /// # Errors
    /// As for [`Ledger::run`].
    pub fn series(&self, id: RunId) -> Result<Series, Error> {
        self.state(id)?;
        let bytes: Option<Vec<u8>> = self
            .connection
            .query_row("SELECT series FROM measurement WHERE run = ?1", [id], |row| row.get(0))
            .optional()
            .map_err(|source| self.failed(source))?;
        let damaged = |what| Error::Damaged { id, field: "series", what };
        bytes.map_or(Ok(Series::default()), |bytes| blob::series(&bytes).map_err(damaged))
    }

    /// The endpoints, stages and checks of a run; empty if it had none.
    ///
    /// # Errors
    /// As for [`Ledger::run`].
    pub fn parts(&self, id: RunId) -> Result<Parts, Error> {
        self.state(id)?;
        part::read(&self.connection, self.version, id).unwrap_or_else(|source| Err(self.failed(source)))
    }

    fn write<T>(&self, change: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>) -> Result<T, Error> {
        if self.read_only {
            return Err(Error::ReadOnly { path: self.path.clone() });
        }
        let transact = || {
            let transaction = Transaction::new_unchecked(&self.connection, TransactionBehavior::Immediate)?;
            let value = change(&transaction)?;
            transaction.commit()?;
            Ok(value)
        };
        transact().map_err(|source| self.failed(source))
    }

    fn state(&self, id: RunId) -> Result<State, Error> {
        let name: Option<String> = self
            .connection
            .query_row("SELECT state FROM run WHERE id = ?1", [id], |row| row.get(0))
            .optional()
            .map_err(|source| self.failed(source))?;
        let name = name.ok_or_else(|| self.unknown(id))?;
        State::named(&name).ok_or(Error::Damaged {
            id,
            field: "state",
            what: format!("`{name}` is no state"),
        })
    }

    /// Explains an update that found no running run.
    fn was_running(&self, id: RunId, changed: usize) -> Result<(), Error> {
        if changed == 1 {
            return Ok(());
        }
        self.state(id)?;
        Err(Error::Ended { id })
    }

    fn unknown(&self, id: RunId) -> Error {
        let query = "SELECT id FROM (SELECT max(id) AS id FROM run WHERE id < ?1)
                     UNION SELECT id FROM (SELECT min(id) AS id FROM run WHERE id > ?1) ORDER BY id";
        let nearest = || {
            let mut statement = self.connection.prepare(query)?;
            let rows = statement.query_map([id], |row| row.get::<_, Option<RunId>>(0))?;
            rows.filter_map(Result::transpose).collect::<rusqlite::Result<Vec<_>>>()
        };
        match nearest() {
            Ok(nearest) => Error::UnknownRun { id, nearest },
            Err(source) => self.failed(source),
        }
    }

    fn failed(&self, source: rusqlite::Error) -> Error {
        Error::of(&self.path, source)
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

/// How long a writer waits for others: they hold the lock for milliseconds, but a disk may stall.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests;
