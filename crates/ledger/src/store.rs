//! The ledger: begin a run, end it, say something about it, read it back.
//!
//! Each change is one transaction that takes the lock of writers at once, so that processes that write at the same time wait
//! for each other and none fails halfway. With each goes an entry of the chain (see `entry`).

use crate::database::{Database, Failure, values};
use crate::entry::{self, Checked, Entry};
use crate::list::{self, Selection};
use crate::note::{self, Name, Note, Tested};
use crate::{Error, Location, NewRun, Notes, Outcome, Run, RunId, State, WallTime, blob, part, row, schema};
use measure::{Parts, Series};
use std::collections::BTreeMap;

/// The record of all runs, in one file or on one server; any number of processes may have it open.
#[derive(Debug)]
pub struct Ledger {
    pub(crate) database: Database,
    place: Location,
    /// The version of the schema when it was opened. Later versions only add to it.
    version: i64,
    read_only: bool,
}

impl Ledger {
    /// Opens the ledger for writing: creates it (and the directory of a file) if it is missing, and migrates an older one.
    ///
    /// # Errors
    /// The file cannot be opened or the server not reached, it is not a ledger, or it is of a later version of headroom.
    pub fn open(place: impl Into<Location>) -> Result<Self, Error> {
        let place = place.into();
        let database = Database::open(&place)?;
        schema::migrate(&database, &place)?;
        Ok(Ledger { database, place, version: schema::KNOWN, read_only: false })
    }

    /// Opens an existing ledger for reading, and changes nothing in it or in its directory: it may be of an older
    /// version, and the file and its directory need not be writable. [`Ledger::begin`] and other writes fail.
    ///
    /// If no process has the file open, it is read as a file that does not change: what a process writes that begins
    /// meanwhile is not seen.
    ///
    /// # Errors
    /// As for [`Ledger::open`], or there is no file.
    pub fn open_to_read(place: impl Into<Location>) -> Result<Self, Error> {
        let place = place.into();
        let database = Database::open_to_read(&place)?;
        let version = schema::found(&database, &place)?;
        if version > 0 {
            return Ok(Ledger { database, place, version, read_only: true });
        }
        // An empty file: a ledger without runs.
        let database = Database::in_memory().map_err(|source| Error::of(&place, source))?;
        schema::migrate(&database, &place)?;
        Ok(Ledger { database, place, version: schema::KNOWN, read_only: true })
    }

    /// Where it is.
    pub fn place(&self) -> &Location {
        &self.place
    }

    /// Adds a run that begins now; its state is [`State::Running`] until it is ended.
    ///
    /// # Errors
    /// The file cannot be written, or `parent` does not exist.
    pub fn begin(&self, run: &NewRun) -> Result<RunId, Error> {
        if let Some(parent) = run.parent {
            self.state(parent)?;
        }
        self.write(|database| {
            let id = row::insert_run(database, run)?;
            list::begun(database, id)?;
            entry::begun(database, id, "", run.started)?;
            Ok(id)
        })
    }

    /// Ends a run with its outcome.
    ///
    /// # Errors
    /// The file cannot be written, the run does not exist, or it has already ended.
    pub fn finish(&self, id: RunId, outcome: &Outcome<'_>) -> Result<(), Error> {
        let changed = self.write(|database| {
            let changed = database.execute(
                "UPDATE run SET state = ?2, ended_us = ?3, result = ?4, host_after = ?5, error = ?6
                 WHERE id = ?1 AND state = 'running'",
                values![
                    id,
                    if outcome.interrupted.is_some() { State::Interrupted } else { State::Done }.name(),
                    outcome.ended.micros(),
                    outcome.result.as_ref(),
                    row::pairs(&outcome.host_after),
                    outcome.interrupted.as_ref()
                ],
            )?;
            if let Some(measurement) = outcome.measurement.filter(|_| changed == 1) {
                row::insert_measurement(database, id, measurement)?;
                part::insert(database, id, measurement)?;
            }
            if changed == 1 {
                list::ended(database, id)?;
                entry::ended(database, id, "", outcome.ended)?;
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
        let changed = self.write(|database| {
            let changed = database.execute(
                "UPDATE run SET state = ?2, ended_us = ?3, error = ?4 WHERE id = ?1 AND state = 'running'",
                values![id, State::Failed.name(), ended.micros(), error],
            )?;
            if changed == 1 {
                list::ended(database, id)?;
                entry::ended(database, id, "", ended)?;
            }
            Ok(changed)
        })?;
        self.was_running(id, changed)
    }

    /// Says something about a run.
    ///
    /// # Errors
    /// The ledger cannot be written, or the run does not exist.
    pub fn note(&self, id: RunId, note: &Note) -> Result<(), Error> {
        self.state(id)?;
        self.write(|database| entry::note(database, id, note, WallTime::now()))
    }

    /// Deletes the data of runs: all but their commands, times and states. Their entries stay, with the digests of what
    /// was deleted. All of them are deleted or none.
    ///
    /// # Errors
    /// The ledger cannot be written, a run does not exist, or it still runs.
    pub fn delete(&self, ids: &[RunId], reason: &str) -> Result<(), Error> {
        for id in ids {
            if self.run(*id)?.state == State::Running {
                return Err(Error::Running { id: *id });
            }
        }
        self.write(|database| {
            for id in ids {
                entry::delete(database, *id, reason, WallTime::now())?;
                list::deleted(database, *id)?;
            }
            Ok(())
        })
    }

    /// The numbers of selected runs, which may be many. Of a state, runs without an end count as running and as interrupted.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn ids(&self, selection: &Selection) -> Result<Vec<RunId>, Error> {
        list::ids(&self.database, self.version, selection, selection.limit, 0)
            .map_err(|source| self.failed(source))
    }

    /// Reads all entries, and the data that they vouch for; `expected` is a hash that one of them should have.
    ///
    /// # Errors
    /// The ledger cannot be read, or it is of a version without entries.
    pub fn check(&self, expected: Option<&str>) -> Result<Checked, Error> {
        self.has_entries()?;
        let check = |database: &Database| entry::check(database, expected);
        self.database.at_once(check).map_err(|source| self.failed(source))
    }

    /// What was said about runs.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn notes(&self, ids: &[RunId]) -> Result<BTreeMap<RunId, Notes>, Error> {
        let mut found: BTreeMap<RunId, Notes> = BTreeMap::new();
        for entry in self.entries(ids)? {
            if let Some(note) = entry.note {
                found.entry(entry.run).or_default().add(note);
            }
        }
        for (experiment, tested) in self.tested(ids)? {
            if let Some(run) = tested.run {
                found.entry(run).or_default().tested_by.push((experiment, tested));
            }
        }
        // A name may have moved to another run.
        for (id, notes) in &mut found {
            if let Some(name) = &notes.name
                && self.named(name)? != Some(*id)
            {
                notes.name = None;
            }
        }
        Ok(found)
    }

    /// What experiments say of findings of runs, in the order in which they said it.
    fn tested(&self, ids: &[RunId]) -> Result<Vec<(RunId, Tested)>, Error> {
        let mut found = Vec::new();
        if self.version < schema::ENTRIES {
            return Ok(found);
        }
        for ids in ids.chunks(MOST_AT_ONCE) {
            let ids: Vec<String> = ids.iter().map(|id| format!("'{id}'")).collect();
            let query = format!(
                "SELECT {} FROM entry WHERE kind = ?1 AND about IN ({}) ORDER BY number",
                entry::COLUMNS,
                ids.join(", ")
            );
            let rows = self.database.query(&query, values![note::TESTED]);
            for row in rows.map_err(|source| self.failed(source))? {
                let entry = entry::Columns::of(&row).ok().and_then(|columns| columns.entry());
                if let Some(Entry { run, note: Some(Note::Tested(tested)), .. }) = entry {
                    found.push((run, tested));
                }
            }
        }
        Ok(found)
    }

    /// The entries of runs, in order.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn entries(&self, ids: &[RunId]) -> Result<Vec<Entry>, Error> {
        let mut entries = Vec::new();
        if self.version < schema::ENTRIES {
            return Ok(entries);
        }
        for ids in ids.chunks(MOST_AT_ONCE) {
            let ids: Vec<String> = ids.iter().map(|id| id.number().to_string()).collect();
            let query = format!(
                "SELECT {} FROM entry WHERE run IN ({}) ORDER BY number",
                entry::COLUMNS,
                ids.join(", ")
            );
            let rows = self.database.query(&query, &[]).map_err(|source| self.failed(source))?;
            entries.extend(rows.iter().filter_map(|row| entry::Columns::of(row).ok()?.entry()));
        }
        entries.sort_by_key(|entry| entry.number);
        Ok(entries)
    }

    /// The run that has a name.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn named(&self, name: &Name) -> Result<Option<RunId>, Error> {
        if self.version < schema::ENTRIES {
            return Ok(None);
        }
        list::named(&self.database, name).map_err(|source| self.failed(source))
    }

    /// The run that a text means: a number such as `r17`, or a name.
    ///
    /// # Errors
    /// The ledger cannot be read, or no run has the name. Whether a run with the number exists is not looked up.
    pub fn meant(&self, text: &str) -> Result<RunId, Error> {
        if let Ok(id) = text.parse() {
            return Ok(id);
        }
        let name = text.parse().ok();
        let found = name.map(|name| self.named(&name)).transpose()?.flatten();
        found.ok_or_else(|| Error::UnknownName { name: text.to_owned() })
    }

    /// The selected runs.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn runs(&self, selection: &Selection) -> Result<Vec<Run>, Error> {
        let most = selection.limit as usize;
        let (mut found, mut seen) = (Vec::new(), 0_u64);
        loop {
            // A state leaves out some of them.
            let wanted = if selection.state.is_some() { MOST_AT_ONCE } else { most - found.len() };
            let page = wanted.min(MOST_AT_ONCE) as u32;
            let ids = list::ids(&self.database, self.version, selection, page, seen)
                .map_err(|source| self.failed(source))?;
            seen += ids.len() as u64;
            let mut runs = self.by_ids(&ids)?;
            // A run that has no end may be interrupted.
            runs.retain(|run| selection.state.is_none_or(|state| run.state == state));
            found.extend(runs);
            if ids.len() < page as usize || found.len() >= most {
                found.truncate(most);
                return Ok(found);
            }
        }
    }

    /// Runs in the order of their numbers given; those that do not exist are left out.
    fn by_ids(&self, ids: &[RunId]) -> Result<Vec<Run>, Error> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let numbers: Vec<String> = ids.iter().map(|id| id.number().to_string()).collect();
        let query = format!("{} WHERE id IN ({})", row::select(self.version), numbers.join(", "));
        let rows = self.database.query(&query, &[]).map_err(|source| self.failed(source))?;
        let runs: Result<Vec<Run>, Error> = rows.iter().map(row::run).collect();
        let mut by_id: BTreeMap<RunId, Run> = runs?.into_iter().map(|run| (run.id, run)).collect();
        Ok(ids.iter().filter_map(|id| by_id.remove(id)).collect())
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
        let query = "SELECT id FROM run WHERE repeat_of = ?1 ORDER BY id";
        let rows = self.database.query(query, values![first]).map_err(|source| self.failed(source))?;
        Ok(rows.iter().filter_map(|row| row.get("id").ok()).collect())
    }

    /// One run.
    ///
    /// # Errors
    /// It does not exist (the error names the nearest), or the stored data cannot be read.
    pub fn run(&self, id: RunId) -> Result<Run, Error> {
        let query = format!("{} WHERE id = ?1", row::select(self.version));
        let found = self.database.row(&query, values![id]).map_err(|source| self.failed(source))?;
        found.map_or_else(|| Err(self.unknown(id)), |found| row::run(&found))
    }

    /// The measurements of a run by second; empty if it measured nothing.
    ///
    /// # Errors
    /// As for [`Ledger::run`].
    pub fn series(&self, id: RunId) -> Result<Series, Error> {
        self.state(id)?;
        let query = "SELECT series FROM measurement WHERE run = ?1";
        let row = self.database.row(query, values![id]).map_err(|source| self.failed(source))?;
        let damaged = |what| Error::Damaged { id, field: "series", what };
        let bytes: Option<Vec<u8>> = row.map(|row| row.get("series")).transpose().map_err(damaged)?;
        bytes.map_or(Ok(Series::default()), |bytes| blob::series(&bytes).map_err(damaged))
    }

    /// The endpoints, stages and checks of a run; empty if it had none.
    ///
    /// # Errors
    /// As for [`Ledger::run`].
    pub fn parts(&self, id: RunId) -> Result<Parts, Error> {
        self.state(id)?;
        part::read(&self.database, self.version, id).unwrap_or_else(|source| Err(self.failed(source)))
    }

    pub(crate) fn write<T>(&self, change: impl FnOnce(&Database) -> Result<T, Failure>) -> Result<T, Error> {
        if self.read_only {
            return Err(Error::ReadOnly { place: self.place.clone() });
        }
        self.database.write(change).map_err(|source| self.failed(source))
    }

    pub(crate) fn has_entries(&self) -> Result<(), Error> {
        match self.version {
            version if version < schema::ENTRIES => {
                Err(Error::NoEntries { place: self.place.clone(), found: version })
            }
            _ => Ok(()),
        }
    }

    fn state(&self, id: RunId) -> Result<State, Error> {
        let row = self.database.row("SELECT state FROM run WHERE id = ?1", values![id]);
        let row = row.map_err(|source| self.failed(source))?.ok_or_else(|| self.unknown(id))?;
        let damaged = |what| Error::Damaged { id, field: "state", what };
        let name: String = row.get("state").map_err(damaged)?;
        State::named(&name).ok_or_else(|| damaged(format!("`{name}` is no state")))
    }

    /// Explains an update that found no running run.
    fn was_running(&self, id: RunId, changed: u64) -> Result<(), Error> {
        if changed == 1 {
            return Ok(());
        }
        self.state(id)?;
        Err(Error::Ended { id })
    }

    fn unknown(&self, id: RunId) -> Error {
        let query = "SELECT max(id) AS below, (SELECT min(id) FROM run WHERE id > ?1) AS above FROM run WHERE id < ?1";
        match self.database.row(query, values![id]) {
            Ok(row) => {
                let of = |name| row.as_ref().and_then(|row| row.get::<Option<RunId>>(name).ok().flatten());
                Error::UnknownRun { id, nearest: [of("below"), of("above")].into_iter().flatten().collect() }
            }
            Err(source) => self.failed(source),
        }
    }

    pub(crate) fn failed(&self, source: Failure) -> Error {
        Error::of(&self.place, source)
    }
}

/// Rows that are asked for by their numbers in one query.
const MOST_AT_ONCE: usize = 1000;

#[cfg(test)]
mod tests;
