//! Entries: what happened to runs, in order.
//!
//! ## Why a chain
//! A verdict is only as good as the data behind it. Each entry holds a hash of itself and of the one before it, and the
//! entries of a run's beginning and end hold a digest of its data. So a run that was changed afterwards, and an entry that was
//! changed, removed or put in between, is found ([`check`]). What nobody can find from the ledger alone is that its last
//! entries were removed, or that all of it was written anew: for that, the hash of its last entry is kept elsewhere.
//!
//! ## Why nothing is changed
//! A name, a tag or a comment that is given later is another entry that refers to the run. The data of a run can be deleted;
//! an entry says so, and its digest stays.
//!
//! A digest leaves out columns without a value, so that a later version may add columns, and numbers of runs, so that it is
//! the same in another ledger.

use crate::database::{Database, Failure, Row, Value, values};
use crate::note::Note;
use crate::{RunId, WallTime, list};
use serde_json::json;
use sha2::{Digest as _, Sha256};
use std::collections::BTreeSet;

/// An entry of the ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its number: from 1, without gaps.
    pub number: u64,
    /// The run that it is about.
    pub run: RunId,
    /// When it was written.
    pub at: WallTime,
    /// What it says; `None` where it only tells that a run began or ended.
    pub note: Option<Note>,
}

/// What a check of the chain has found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    /// The number of entries.
    pub entries: u64,
    /// The number of runs.
    pub runs: u64,
    /// The hash of the last entry, in hexadecimal digits; `None` in an empty ledger.
    pub last: Option<String>,
    /// Whether one of the entries has the hash that was asked for.
    pub has_expected: bool,
    /// What is wrong, in the order of entries.
    pub problems: Vec<Problem>,
}

/// Something that is not as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The number of the entry that shows it; `None` where an entry is missing.
    pub entry: Option<u64>,
    /// The run.
    pub run: Option<RunId>,
    /// What is wrong.
    pub what: String,
}

/// The beginning of a run.
pub(crate) const BEGUN: &str = "begun";
/// Its end.
pub(crate) const ENDED: &str = "ended";
/// The deletion of its data.
pub(crate) const DELETED: &str = "deleted";

/// Adds the entry of a run that began; `about` is where it comes from, if not from a command.
pub(crate) fn begun(database: &Database, id: RunId, about: &str, at: WallTime) -> Result<(), Failure> {
    let content = relations(database, id)?;
    let digest = digest_of_beginning(database, id)?;
    append(database, &New { run: id, kind: BEGUN, about, content: &content, at, digest })
}

/// Adds the entry of a run that ended.
pub(crate) fn ended(database: &Database, id: RunId, about: &str, at: WallTime) -> Result<(), Failure> {
    let digest = digest_of_end(database, id)?;
    append(database, &New { run: id, kind: ENDED, about, content: "", at, digest })
}

/// Adds what somebody says about a run.
pub(crate) fn note(database: &Database, id: RunId, note: &Note, at: WallTime) -> Result<(), Failure> {
    let (kind, about, content) = note.columns();
    append(database, &New { run: id, kind, about: &about, content: &content, at, digest: None })
}

/// Adds the entry of a run whose data is deleted, and deletes it: all but its command, times and state.
pub(crate) fn delete(database: &Database, id: RunId, reason: &str, at: WallTime) -> Result<(), Failure> {
    // A run whose process is gone gets no end any more.
    let killed = "UPDATE run SET state = 'interrupted' WHERE id = ?1 AND state = 'running'";
    if database.execute(killed, values![id])? == 1 {
        ended(database, id, "", at)?;
    }
    append(database, &New { run: id, kind: DELETED, about: "", content: reason, at, digest: None })?;
    for table in ["part", "answer_check", "measurement"] {
        database.execute(&format!("DELETE FROM {table} WHERE run = ?1"), values![id])?;
    }
    database.execute(
        "UPDATE run SET command_line = '', config = '{}', target = '', host = '[]', host_after = '[]', error = NULL,
            result = NULL, process = NULL, facts = NULL
         WHERE id = ?1",
        values![id],
    )?;
    Ok(())
}

/// Adds entries for the runs of a ledger that had none.
pub(crate) fn adopt(database: &Database) -> Result<(), Failure> {
    let now = WallTime::now();
    for row in database.query("SELECT id, state FROM run ORDER BY id", &[])? {
        let (Ok(id), Ok(state)) = (row.get::<RunId>("id"), row.get::<String>("state")) else { continue };
        list::begun(database, id)?;
        begun(database, id, ADOPTED, now)?;
        if state != "running" {
            list::ended(database, id)?;
            ended(database, id, ADOPTED, now)?;
        }
    }
    Ok(())
}

/// Adds an entry that vouches for data that is not there any more.
pub(crate) fn vouched(
    database: &Database,
    id: RunId,
    kind: &str,
    at: WallTime,
    digest: Vec<u8>,
) -> Result<(), Failure> {
    let content = if kind == BEGUN { relations(database, id)? } else { String::new() };
    append(database, &New { run: id, kind, about: "imported", content: &content, at, digest: Some(digest) })
}

/// The digests of a run's beginning and end.
pub(crate) fn digests(database: &Database, id: RunId) -> Result<[Option<Vec<u8>>; 2], Failure> {
    Ok([digest_of_beginning(database, id)?, digest_of_end(database, id)?])
}

struct New<'a> {
    run: RunId,
    kind: &'a str,
    about: &'a str,
    content: &'a str,
    at: WallTime,
    digest: Option<Vec<u8>>,
}

/// Adds an entry at the end, within a transaction that holds the lock of writers.
fn append(database: &Database, new: &New<'_>) -> Result<(), Failure> {
    let last = database.row("SELECT number, hash FROM entry ORDER BY number DESC LIMIT 1", &[])?;
    let number = last.as_ref().and_then(|row| row.get::<i64>("number").ok()).unwrap_or(0) + 1;
    let previous: Vec<u8> = last.and_then(|row| row.get("hash").ok()).unwrap_or_default();
    let columns = Columns {
        number,
        run: Some(new.run),
        kind: new.kind.to_owned(),
        about: new.about.to_owned(),
        content: new.content.to_owned(),
        at_us: new.at.micros(),
        digest: new.digest.clone(),
        previous,
        hash: Vec::new(),
    };
    let hash = columns.computed();
    database.execute(
        "INSERT INTO entry (number, run, kind, about, content, at_us, digest, previous, hash)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        values![
            columns.number,
            columns.run,
            &columns.kind,
            &columns.about,
            &columns.content,
            columns.at_us,
            columns.digest,
            columns.previous,
            hash,
        ],
    )?;
    Ok(())
}

/// A row of the table.
#[derive(Debug, Clone)]
pub(crate) struct Columns {
    number: i64,
    pub(crate) run: Option<RunId>,
    pub(crate) kind: String,
    pub(crate) about: String,
    pub(crate) content: String,
    pub(crate) at_us: i64,
    pub(crate) digest: Option<Vec<u8>>,
    previous: Vec<u8>,
    pub(crate) hash: Vec<u8>,
}

/// The columns of [`Columns`].
pub(crate) const COLUMNS: &str = "number, run, kind, about, content, at_us, digest, previous, hash";

impl Columns {
    pub(crate) fn of(row: &Row) -> Result<Self, String> {
        Ok(Columns {
            number: row.get("number")?,
            run: row.get("run")?,
            kind: row.get("kind")?,
            about: row.get("about")?,
            content: row.get("content")?,
            at_us: row.get("at_us")?,
            digest: row.get("digest")?,
            previous: row.get("previous")?,
            hash: row.get("hash")?,
        })
    }

    fn computed(&self) -> Vec<u8> {
        let mut hash = Sha256::new();
        let mut part = |bytes: &[u8]| {
            hash.update((bytes.len() as u64).to_be_bytes());
            hash.update(bytes);
        };
        part(DOMAIN);
        part(&self.previous);
        part(&self.number.to_be_bytes());
        part(&self.run.map_or(-1, RunId::number).to_be_bytes());
        part(self.kind.as_bytes());
        part(self.about.as_bytes());
        part(self.content.as_bytes());
        part(&self.at_us.to_be_bytes());
        // No digest is not the same as an empty one.
        part(&[u8::from(self.digest.is_some())]);
        part(self.digest.as_deref().unwrap_or_default());
        hash.finalize().to_vec()
    }

    /// The entry, if it is about a run.
    pub(crate) fn entry(&self) -> Option<Entry> {
        Some(Entry {
            number: self.number.unsigned_abs(),
            run: self.run?,
            at: WallTime::from_micros(self.at_us),
            note: Note::of_columns(&self.kind, &self.about, &self.content),
        })
    }
}

/// Reads all entries, and the data that they vouch for. `expected` is a hash that one of them should have.
pub(crate) fn check(database: &Database, expected: Option<&str>) -> Result<Checked, Failure> {
    let ids =
        |rows: Vec<Row>| -> BTreeSet<RunId> { rows.iter().filter_map(|row| row.get("run").ok()).collect() };
    let query = format!("SELECT {COLUMNS} FROM entry WHERE kind = ?1");
    // Where such an entry was changed, the data has to be as it was.
    let deletions = database.query(&query, values![DELETED])?;
    let deletions = deletions.iter().filter_map(|row| Columns::of(row).ok());
    let deleted: BTreeSet<RunId> =
        deletions.filter(|entry| entry.computed() == entry.hash).filter_map(|entry| entry.run).collect();
    let mut checked =
        Checked { entries: 0, runs: 0, last: None, has_expected: expected.is_none(), problems: Vec::new() };
    let (mut previous, mut number) = (Vec::new(), 0_i64);
    let mut after = i64::MIN;
    let query = format!("SELECT {COLUMNS} FROM entry WHERE number > ?1 ORDER BY number LIMIT {PAGE}");
    loop {
        let rows = database.query(&query, values![after])?;
        if rows.is_empty() {
            break;
        }
        for row in rows {
            let at: i64 = row.get("number").unwrap_or(number + 1);
            let problem = |run: Option<RunId>, what: &str| Problem {
                entry: Some(at.unsigned_abs()),
                run,
                what: what.to_owned(),
            };
            after = at;
            if at < 1 {
                checked
                    .problems
                    .push(problem(row.get("run").ok(), "it has no number from 1 on: it was put in between"));
                continue;
            }
            if at != number + 1 {
                let missing = match at - number - 1 {
                    1 => format!("entry {} is missing", number + 1),
                    _ => format!("entries {} to {} are missing", number + 1, at - 1),
                };
                checked.problems.push(Problem { entry: None, run: None, what: missing });
            }
            number = at;
            checked.entries += 1;
            let columns = match Columns::of(&row) {
                Ok(columns) => columns,
                Err(what) => {
                    checked.problems.push(problem(None, &format!("it cannot be read: {what}")));
                    continue;
                }
            };
            if columns.previous != previous && at == checked.entries as i64 {
                checked.problems.push(problem(columns.run, "it does not follow the entry before it"));
            }
            if columns.computed() != columns.hash {
                checked.problems.push(problem(columns.run, "it was changed"));
            }
            if let Some(run) = columns.run.filter(|run| !deleted.contains(run))
                && let Some(what) = compared(database, run, &columns)?
            {
                checked.problems.push(problem(Some(run), what));
            }
            let hash = hexadecimal(&columns.hash);
            checked.has_expected |= expected.is_some_and(|expected| expected.eq_ignore_ascii_case(&hash));
            checked.last = Some(hash);
            previous = columns.hash;
        }
    }
    let entries = |kind: &str| format!("(SELECT 1 FROM entry WHERE entry.run = run.id AND kind = '{kind}')");
    let data = "EXISTS (SELECT 1 FROM measurement WHERE measurement.run = run.id)
                OR EXISTS (SELECT 1 FROM part WHERE part.run = run.id)
                OR EXISTS (SELECT 1 FROM answer_check WHERE answer_check.run = run.id)
                OR result IS NOT NULL OR error IS NOT NULL";
    let line = "SELECT 1 FROM listed WHERE listed.run = run.id AND listed.command = run.command
                AND listed.target = run.target AND listed.started_us = run.started_us
                AND coalesce(listed.parent, 0) = coalesce(run.parent, 0) AND coalesce(listed.answered, -1) =
                coalesce((SELECT answered FROM measurement WHERE measurement.run = run.id), -1)";
    let (begun, ended, deleted) = (entries(BEGUN), entries(ENDED), entries(DELETED));
    for (condition, what) in [
        (format!("NOT EXISTS {begun}"), "no entry says that it began"),
        (format!("state <> 'running' AND NOT EXISTS {ended}"), "no entry says that it ended"),
        (
            format!("NOT EXISTS {ended} AND ({data} OR ended_us IS NOT NULL)"),
            "it has results, and no entry says that it ended",
        ),
        (
            format!(
                "EXISTS {deleted} AND ({data} OR command_line <> '' OR config <> '{{}}' OR target <> '')"
            ),
            "it has data, and an entry says that it was deleted",
        ),
        (format!("NOT EXISTS ({line})"), "lists leave it out, or show something else of it"),
    ] {
        let missing =
            ids(database.query(&format!("SELECT id AS run FROM run WHERE {condition} ORDER BY id"), &[])?);
        checked.problems.extend(missing.into_iter().map(|run| Problem {
            entry: None,
            run: Some(run),
            what: what.to_owned(),
        }));
    }
    let runs = database.row("SELECT count(*) AS runs FROM run", &[])?;
    checked.runs = runs.and_then(|row| row.get::<i64>("runs").ok()).unwrap_or(0).unsigned_abs();
    Ok(checked)
}

/// What is wrong with the data that an entry vouches for.
fn compared(database: &Database, run: RunId, columns: &Columns) -> Result<Option<&'static str>, Failure> {
    let now = match columns.kind.as_str() {
        BEGUN => digest_of_beginning(database, run)?,
        ENDED => digest_of_end(database, run)?,
        _ => return Ok(None),
    };
    let is_same =
        now == columns.digest && (columns.kind != BEGUN || columns.content == relations(database, run)?);
    Ok(match (is_same, now.is_some(), columns.kind.as_str()) {
        (true, ..) => None,
        (false, false, _) => Some("the run is gone"),
        (false, true, BEGUN) => Some("what was recorded at the beginning of the run was changed"),
        (false, true, _) => Some("what was recorded at the end of the run was changed"),
    })
}

/// The runs that a run belongs to, as JSON.
fn relations(database: &Database, id: RunId) -> Result<String, Failure> {
    let row = database.row("SELECT parent, repeat_of FROM run WHERE id = ?1", values![id])?;
    let of = |name| row.as_ref().and_then(|row| row.get::<Option<i64>>(name).ok().flatten());
    Ok(json!({ "parent": of("parent"), "repeat_of": of("repeat_of") }).to_string())
}

/// None where there is no such run.
fn digest_of_beginning(database: &Database, id: RunId) -> Result<Option<Vec<u8>>, Failure> {
    let query = "SELECT command, command_line, version, config, target, host, facts, started_us, process
                 FROM run WHERE id = ?1";
    let row = database.row(query, values![id])?;
    Ok(row.map(|row| digest(&[("run", &row)])))
}

/// None where there is no such run.
fn digest_of_end(database: &Database, id: RunId) -> Result<Option<Vec<u8>>, Failure> {
    let query = "SELECT state, ended_us, error, result, host_after FROM run WHERE id = ?1";
    let Some(run) = database.row(query, values![id])? else { return Ok(None) };
    let rows = |table: &str, order: &str| {
        database.query(&format!("SELECT * FROM {table} WHERE run = ?1 ORDER BY {order}"), values![id])
    };
    let measured = rows("measurement", "run")?;
    let parts = rows("part", "kind, place")?;
    let checks = rows("answer_check", "place")?;
    let all: Vec<(&str, &Row)> = std::iter::once(("run", &run))
        .chain(measured.iter().map(|row| ("measurement", row)))
        .chain(parts.iter().map(|row| ("part", row)))
        .chain(checks.iter().map(|row| ("answer_check", row)))
        .collect();
    Ok(Some(digest(&all)))
}

/// A digest of rows: of the names and values of their columns, in the order of names.
fn digest(rows: &[(&str, &Row)]) -> Vec<u8> {
    let mut hash = Sha256::new();
    let mut part = |kind: u8, bytes: &[u8]| {
        hash.update([kind]);
        hash.update((bytes.len() as u64).to_be_bytes());
        hash.update(bytes);
    };
    for (table, row) in rows {
        part(b'T', table.as_bytes());
        let mut columns: Vec<(&str, &Value)> = row.columns().filter(|(name, _)| *name != "run").collect();
        columns.sort_unstable_by_key(|(name, _)| *name);
        for (name, value) in columns {
            let mut named = |kind: u8, bytes: &[u8]| {
                part(b'N', name.as_bytes());
                part(kind, bytes);
            };
            match value {
                Value::Null => {}
                Value::Integer(number) => named(b'I', &number.to_be_bytes()),
                Value::Text(text) => named(b'S', text.as_bytes()),
                Value::Blob(bytes) => named(b'B', bytes),
            }
        }
    }
    hash.finalize().to_vec()
}

pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The first part of every hash, so that it is never one of something else.
const DOMAIN: &[u8] = b"headroom ledger 1";
/// Where runs come from that a ledger without entries had.
const ADOPTED: &str = "adopted";
/// Entries that are read at once.
const PAGE: u32 = 1000;
