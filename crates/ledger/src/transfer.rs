//! Runs as lines of JSON: to keep them elsewhere, and to bring them into another ledger.
//!
//! The first line names the format. Each other line is a run with its rows, its entries and the digests of its data, by
//! which a reader finds out whether it was changed on the way. Numbers of runs are those of the ledger that it comes from; a
//! ledger that takes the run in gives it a number of its own, and takes a run that it already has only once.

use crate::database::{Database, Failure, Value, values};
use crate::entry::{self, BEGUN, ENDED};
use crate::note::{Name, Note, Tested};
use crate::store::Ledger;
use crate::{Error, RunId, WallTime, list};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, Write};

/// What an import has done.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Imported {
    /// Numbers in the file, and in this ledger.
    pub runs: Vec<(RunId, RunId)>,
    /// How many it had already.
    pub known: u64,
}

/// Why runs were not imported. Nothing of the file was.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// It cannot be read.
    #[error("line {line} cannot be read")]
    Read {
        /// The line, from 1.
        line: u64,
        /// The system's error.
        source: std::io::Error,
    },
    /// It is not what an export writes.
    #[error("line {line}: {what}; expected what `headroom ledger export` writes")]
    Format {
        /// The line, from 1.
        line: u64,
        /// What is wrong.
        what: String,
    },
    /// The data of a run is not what its digests say.
    #[error("line {line}: {run} was changed after it was recorded; take its line out to import the others")]
    Changed {
        /// The line, from 1.
        line: u64,
        /// The run in the file.
        run: RunId,
    },
    /// The ledger cannot be written.
    #[error(transparent)]
    Ledger(#[from] Error),
}

/// The tables of a run, with the column of its number.
const TABLES: [(&str, &str); 4] =
    [("run", "id"), ("measurement", "run"), ("part", "run"), ("answer_check", "run")];

/// The first line.
const FORMAT: &str = "headroom ledger";
/// The version of the format, which is that of the schema.
const VERSION: i64 = crate::schema::KNOWN;

impl Ledger {
    /// Writes runs as lines, with their parts; returns how many.
    ///
    /// # Errors
    /// The ledger cannot be read, or the lines cannot be written: then the system's error is inside.
    pub fn export(&self, ids: &[RunId], into: &mut dyn Write) -> Result<u64, Error> {
        self.has_entries()?;
        let written = |source| Error::Write { source };
        writeln!(into, "{}", json!({ "format": FORMAT, "version": VERSION })).map_err(written)?;
        let all = self.with_parts(ids)?;
        for &id in &all {
            // A run may end meanwhile.
            let line = self.database.at_once(|database| exported(database, id));
            let mut line = line.map_err(|source| self.failed(source))?;
            let notes = self.notes(&[id])?.remove(&id).unwrap_or_default();
            line.insert("name".to_owned(), json!(notes.name.map(|name| name.to_string())));
            writeln!(into, "{}", Json::from(line)).map_err(written)?;
        }
        Ok(all.len() as u64)
    }

    /// Takes in what [`Ledger::export`] wrote, all of it or nothing.
    ///
    /// # Errors
    /// The lines cannot be read, are not what an export writes, or were changed; or the ledger cannot be written.
    pub fn import(&self, lines: &mut dyn BufRead) -> Result<Imported, ImportError> {
        let mut failed = None;
        let done = self.write(|database| match import(database, lines)? {
            Ok(imported) => Ok(imported),
            Err(error) => {
                failed = Some(error);
                // Takes back what was written.
                Err(Failure::GivenUp)
            }
        });
        match failed {
            Some(error) => Err(error),
            None => Ok(done?),
        }
    }

    /// Runs with all their parts, in the order of their numbers.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn with_parts(&self, ids: &[RunId]) -> Result<Vec<RunId>, Error> {
        let mut all: BTreeSet<RunId> = ids.iter().copied().collect();
        let mut new: Vec<RunId> = ids.to_vec();
        while let Some(id) = new.pop() {
            let parts = self.database.query("SELECT id FROM run WHERE parent = ?1", values![id]);
            for part in parts.map_err(|source| self.failed(source))? {
                if let Ok(part) = part.get::<RunId>("id")
                    && all.insert(part)
                {
                    new.push(part);
                }
            }
        }
        Ok(all.into_iter().collect())
    }
}

fn exported(database: &Database, id: RunId) -> Result<Map<String, Json>, Failure> {
    let mut line = Map::new();
    line.insert("id".to_owned(), json!(id.number()));
    for (table, key) in TABLES {
        let order = if table == "part" { "kind, place" } else { key };
        let rows = database
            .query(&format!("SELECT * FROM {table} WHERE {key} = ?1 ORDER BY {order}"), values![id])?;
        let columns = |row: &crate::database::Row| -> Json {
            let named = row.columns().filter(|(name, value)| *name != key && **value != Value::Null);
            named.map(|(name, value)| (name.to_owned(), to_json(value))).collect::<Map<_, _>>().into()
        };
        line.insert(table.to_owned(), rows.iter().map(columns).collect());
    }
    let query = format!("SELECT {} FROM entry WHERE run = ?1 ORDER BY number", entry::COLUMNS);
    let entries = database.query(&query, values![id])?;
    let entry = |row: &crate::database::Row| {
        let entry = entry::Columns::of(row).ok()?;
        Some(json!({
            "kind": entry.kind,
            "about": entry.about,
            "content": entry.content,
            "at_us": entry.at_us,
            "digest": entry.digest.as_deref().map(entry::hexadecimal),
            "hash": entry::hexadecimal(&entry.hash),
        }))
    };
    line.insert("entries".to_owned(), entries.iter().filter_map(entry).collect());
    Ok(line)
}

fn to_json(value: &Value) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Integer(number) => json!(number),
        Value::Text(text) => json!(text),
        Value::Blob(bytes) => json!({ "base64": STANDARD.encode(bytes) }),
    }
}

fn of_json(value: &Json) -> Option<Value> {
    match value {
        Json::Null => Some(Value::Null),
        Json::Number(number) => number.as_i64().map(Value::Integer),
        Json::String(text) => Some(Value::Text(text.clone())),
        Json::Object(entries) => {
            let text = entries.get("base64")?.as_str()?;
            STANDARD.decode(text).ok().map(Value::Blob)
        }
        Json::Bool(_) | Json::Array(_) => None,
    }
}

/// The inner error is the file's.
fn import(database: &Database, lines: &mut dyn BufRead) -> Result<Result<Imported, ImportError>, Failure> {
    let mut imported = Imported::default();
    // By the digest of its beginning, a run is known wherever it is.
    let rows = database.query("SELECT run, digest FROM entry WHERE kind = ?1", values![BEGUN])?;
    let mut known: BTreeMap<Vec<u8>, RunId> = rows
        .iter()
        .filter_map(|row| Some((row.get::<Vec<u8>>("digest").ok()?, row.get("run").ok()?)))
        .collect();
    let mut numbers: BTreeMap<i64, RunId> = BTreeMap::new();
    for (number, line) in lines.lines().enumerate() {
        let line_number = number as u64 + 1;
        let wrong = |what: &str| ImportError::Format { line: line_number, what: what.to_owned() };
        let line = match line {
            Ok(line) => line,
            Err(source) => return Ok(Err(ImportError::Read { line: line_number, source })),
        };
        let line: Json = match serde_json::from_str(&line) {
            Ok(line) => line,
            Err(error) => return Ok(Err(wrong(&format!("it is not JSON ({error})")))),
        };
        if number == 0 {
            if line["format"] != FORMAT {
                return Ok(Err(wrong("it does not name the format")));
            }
            if line["version"].as_i64().is_none_or(|version| version > VERSION) {
                return Ok(Err(wrong(&format!(
                    "it has version {}, this headroom knows up to {VERSION}",
                    line["version"]
                ))));
            }
            continue;
        }
        let Some(old) = line["id"].as_i64().filter(|id| *id > 0) else {
            return Ok(Err(wrong("it has no number of a run")));
        };
        let Some(entries) = line["entries"].as_array() else { return Ok(Err(wrong("it has no entries"))) };
        let digest = |kind: &str| {
            let entry = entries.iter().find(|entry| entry["kind"] == kind);
            entry.and_then(|entry| entry["digest"].as_str()).map(str::to_owned)
        };
        let Some(begun) = digest(BEGUN).and_then(|digest| bytes_of(&digest)) else {
            return Ok(Err(wrong("no entry says that the run began")));
        };
        let has_rows = |table: &str| line[table].as_array().is_some_and(|rows| !rows.is_empty());
        let is_running = line["run"][0]["state"] == "running";
        if is_running == digest(ENDED).is_some() {
            return Ok(Err(wrong("its state and its entries do not agree on whether it ended")));
        }
        if let Some(&id) = known.get(&begun) {
            // It may have ended since it was taken in, or be the end of a run that began here.
            if digest(ENDED).is_some() && has_no_end(database, id)? {
                if let Err(what) = complete(database, &line, id)? {
                    return Ok(Err(wrong(&what)));
                }
                if entry::digests(database, id)?[1].as_deref().map(entry::hexadecimal) != digest(ENDED) {
                    return Ok(Err(ImportError::Changed { line: line_number, run: RunId::new(old) }));
                }
                list::ended(database, id)?;
                entry::ended(database, id, IMPORTED, WallTime::now())?;
                imported.runs.push((RunId::new(old), id));
            } else {
                imported.known += 1;
            }
            numbers.insert(old, id);
            continue;
        }
        let is_deleted = entries.iter().any(|entry| entry["kind"] == entry::DELETED);
        let has_data = ["measurement", "part", "answer_check"].into_iter().any(has_rows);
        if is_deleted && has_data {
            return Ok(Err(ImportError::Changed { line: line_number, run: RunId::new(old) }));
        }
        let id = match insert(database, &line, &numbers)? {
            Ok(id) => id,
            Err(what) => return Ok(Err(wrong(&what))),
        };
        let now = entry::digests(database, id)?;
        let is_same = |kind: &str, now: &Option<Vec<u8>>| {
            digest(kind).is_none_or(|digest| now.as_deref().map(entry::hexadecimal) == Some(digest))
        };
        let is_unchanged = is_same(BEGUN, &now[0]) && is_same(ENDED, &now[1]);
        if !is_deleted && !is_unchanged {
            return Ok(Err(ImportError::Changed { line: line_number, run: RunId::new(old) }));
        }
        list::begun(database, id)?;
        let keeps = is_deleted.then(|| begun.clone());
        let mut has_begun = false;
        for entry in entries {
            let text = |name: &str| entry[name].as_str().unwrap_or_default();
            let at = WallTime::from_micros(entry["at_us"].as_i64().unwrap_or_default());
            match text("kind") {
                BEGUN if !has_begun => {
                    has_begun = true;
                    match &keeps {
                        Some(digest) => entry::vouched(database, id, BEGUN, at, digest.clone())?,
                        None => entry::begun(database, id, IMPORTED, at)?,
                    }
                }
                ENDED => {
                    list::ended(database, id)?;
                    match keeps.is_some().then(|| bytes_of(text("digest"))).flatten() {
                        Some(digest) => entry::vouched(database, id, ENDED, at, digest)?,
                        None => entry::ended(database, id, IMPORTED, at)?,
                    }
                }
                kind => {
                    // Of names, the one that holds follows.
                    match Note::of_columns(kind, text("about"), text("content")) {
                        None | Some(Note::Name(_)) => {}
                        // The run that it refers to came before it, or is in another file.
                        Some(Note::Tested(tested)) => {
                            let run = tested.run.and_then(|run| numbers.get(&run.number()).copied());
                            entry::note(database, id, &Note::Tested(Tested { run, ..tested }), at)?;
                        }
                        Some(note) => entry::note(database, id, &note, at)?,
                    }
                }
            }
        }
        let name: Option<Name> = line["name"].as_str().and_then(|name| name.parse().ok());
        if let Some(name) = name
            && list::named(database, &name)?.is_none()
        {
            entry::note(database, id, &Note::Name(name), WallTime::now())?;
        }
        known.insert(begun, id);
        numbers.insert(old, id);
        imported.runs.push((RunId::new(old), id));
    }
    Ok(Ok(imported))
}

/// Whether a run has begun here, and neither its end nor its deletion is known.
fn has_no_end(database: &Database, id: RunId) -> Result<bool, Failure> {
    let query = "SELECT id FROM run WHERE id = ?1 AND state = 'running' AND NOT EXISTS
                    (SELECT 1 FROM entry WHERE entry.run = run.id AND kind IN (?2, ?3))";
    Ok(database.row(query, values![id, ENDED, entry::DELETED])?.is_some())
}

/// Inserts the rows of a run; the inner error is what is wrong with them.
fn insert(
    database: &Database,
    line: &Json,
    numbers: &BTreeMap<i64, RunId>,
) -> Result<Result<RunId, String>, Failure> {
    let rows = match rows(line, "run") {
        Ok(rows) => rows,
        Err(what) => return Ok(Err(what)),
    };
    let [row] = rows.as_slice() else { return Ok(Err("it has not one row of `run`".to_owned())) };
    let of_here = |(name, value): &(String, Value)| match value {
        // A run that it belongs to may be in another file.
        Value::Integer(number) if name == "parent" || name == "repeat_of" => {
            (name.clone(), numbers.get(number).map_or(Value::Null, |id| Value::from(*id)))
        }
        value => (name.clone(), value.clone()),
    };
    let (statement, row_values) = insertion("run", row.iter().map(of_here).collect());
    let found = database.row(&format!("{statement} RETURNING id"), &row_values)?;
    let Some(id) = found.and_then(|row| row.get("id").ok()) else {
        return Ok(Err("it has no run".to_owned()));
    };
    Ok(insert_measured(database, line, id)?.map(|()| id))
}

/// Adds the end of a run that began here.
fn complete(database: &Database, line: &Json, id: RunId) -> Result<Result<(), String>, Failure> {
    let rows = match rows(line, "run") {
        Ok(rows) => rows,
        Err(what) => return Ok(Err(what)),
    };
    let of = |name: &str| {
        let found = rows.iter().flatten().find(|(known, _)| known == name);
        found.map_or(Value::Null, |(_, value)| value.clone())
    };
    let [state, ended, error, result, host_after] =
        ["state", "ended_us", "error", "result", "host_after"].map(of);
    database.execute(
        "UPDATE run SET state = ?2, ended_us = ?3, error = ?4, result = ?5, host_after = ?6 WHERE id = ?1",
        &[id.into(), state, ended, error, result, host_after],
    )?;
    insert_measured(database, line, id)
}

fn insert_measured(database: &Database, line: &Json, id: RunId) -> Result<Result<(), String>, Failure> {
    for (table, key) in &TABLES[1..] {
        let rows = match rows(line, table) {
            Ok(rows) => rows,
            Err(what) => return Ok(Err(what)),
        };
        for mut row in rows {
            row.push(((*key).to_owned(), id.into()));
            let (statement, row_values) = insertion(table, row);
            database.execute(&statement, &row_values)?;
        }
    }
    Ok(Ok(()))
}

/// The rows of a table in a line: names and values of columns.
fn rows(line: &Json, table: &str) -> Result<Vec<Vec<(String, Value)>>, String> {
    let rows = line[table].as_array().ok_or_else(|| format!("it has no rows of `{table}`"))?;
    let row = |row: &Json| {
        let row = row.as_object().ok_or_else(|| format!("a row of `{table}` is no object"))?;
        let column = |(name, value): (&String, &Json)| {
            // The names come from a file: none but a plain word gets into a statement.
            let is_word = name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
            let value = of_json(value).filter(|_| is_word);
            let value = value.ok_or_else(|| format!("`{name}` of `{table}` is no column with a value"))?;
            Ok((name.clone(), value))
        };
        row.iter().map(column).collect()
    };
    rows.iter().map(row).collect()
}

fn insertion(table: &str, row: Vec<(String, Value)>) -> (String, Vec<Value>) {
    let (names, row_values): (Vec<String>, Vec<Value>) = row.into_iter().unzip();
    let places: Vec<String> = (1..=names.len()).map(|place| format!("?{place}")).collect();
    (format!("INSERT INTO {table} ({}) VALUES ({})", names.join(", "), places.join(", ")), row_values)
}

fn bytes_of(hexadecimal: &str) -> Option<Vec<u8>> {
    let pairs = hexadecimal.as_bytes().chunks(2);
    pairs.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
}

/// Where a run comes from that another ledger had.
const IMPORTED: &str = "imported";
