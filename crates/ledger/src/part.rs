//! The parts of a run as rows: endpoints, stages, checks.
//!
//! Counts are plain columns here too, so that `sqlite3` can show which endpoint failed; see the crate documentation.

use crate::database::{Database, Failure, Row, values};
use crate::row::{Columns, failures, integer, nanos, statuses};
use crate::{Error, RunId, blob, schema};
use measure::{Accounting, Check, Endpoint, Measurement, Part, Parts, SparseHistogram, Stage};
use serde_json::json;
use std::collections::BTreeMap;
use std::time::Duration;
use units::Timestamp;

/// Writes the measured parts of a run.
pub(crate) fn insert(database: &Database, id: RunId, measurement: &Measurement) -> Result<(), Failure> {
    for (place, endpoint) in (0_u32..).zip(&measurement.endpoints) {
        let named = Named { kind: ENDPOINT, place, name: &endpoint.name, tags: &endpoint.tags, stage: None };
        insert_part(database, id, &named, &endpoint.part)?;
    }
    for (place, stage) in (0_u32..).zip(&measurement.stages) {
        let tags = &BTreeMap::new();
        let named = Named { kind: STAGE, place, name: &stage.name, tags, stage: Some(stage) };
        insert_part(database, id, &named, &stage.part)?;
    }
    for (place, Check { name, passed, failed }) in (0_u32..).zip(&measurement.checks) {
        database.execute(
            "INSERT INTO answer_check (run, place, name, passed, failed) VALUES (?1, ?2, ?3, ?4, ?5)",
            values![id, place, name, integer(*passed), integer(*failed)],
        )?;
    }
    Ok(())
}

struct Named<'a> {
    kind: &'static str,
    place: u32,
    name: &'a str,
    tags: &'a BTreeMap<String, String>,
    stage: Option<&'a Stage>,
}

fn insert_part(database: &Database, id: RunId, named: &Named<'_>, part: &Part) -> Result<(), Failure> {
    let Accounting { scheduled, answered, shed, failed, timed_out, unsent, in_flight, resent } =
        part.accounting;
    let by_outcome: Vec<_> =
        part.by_outcome.iter().map(|(&outcome, times)| (outcome, times.sparse())).collect();
    let since = |at: fn(&Stage) -> Timestamp| named.stage.map_or(Timestamp::ZERO, at).since(Timestamp::ZERO);
    database.execute(
        "INSERT INTO part (run, kind, place, name, tags, from_ns, until_ns, warm_up, scheduled, answered, shed,
            failed, timed_out, unsent, in_flight, completed, statuses, failures, by_outcome, service, dispatch,
            resent)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21,
            ?22)",
        values![
            id,
            named.kind,
            named.place,
            named.name,
            json!(named.tags).to_string(),
            nanos(since(|stage| stage.from)),
            nanos(since(|stage| stage.until)),
            named.stage.is_some_and(|stage| stage.warm_up),
            integer(scheduled),
            integer(answered),
            integer(shed),
            integer(failed),
            integer(timed_out),
            integer(unsent),
            integer(in_flight),
            integer(part.completed),
            statuses(&part.statuses),
            failures(&part.failures),
            blob::of_outcomes(&by_outcome),
            blob::of_histogram(&part.service.sparse()),
            blob::of_histogram(&part.dispatch.sparse()),
            integer(resent),
        ],
    )?;
    Ok(())
}

/// Reads the parts of a run from a database of the version `found`. The outer error is the database's, the inner one a
/// damaged column.
pub(crate) fn read(database: &Database, found: i64, id: RunId) -> Result<Result<Parts, Error>, Failure> {
    if found < schema::PARTS {
        return Ok(Ok(Parts::default()));
    }
    let columns = schema::select(COLUMNS, found);
    let query = format!("SELECT {columns} FROM part WHERE run = ?1 AND kind = ?2 ORDER BY place");
    let endpoints = database.query(&query, values![id, ENDPOINT])?;
    let stages = database.query(&query, values![id, STAGE])?;
    let checks = database.query("SELECT * FROM answer_check WHERE run = ?1 ORDER BY place", values![id])?;
    let all = || {
        Ok(Parts {
            endpoints: endpoints.iter().map(|row| endpoint(id, row)).collect::<Result<_, _>>()?,
            stages: stages.iter().map(|row| stage(id, row)).collect::<Result<_, _>>()?,
            checks: checks.iter().map(|row| check(id, row)).collect::<Result<_, _>>()?,
        })
    };
    Ok(all())
}

fn endpoint(id: RunId, row: &Row) -> Result<Endpoint, Error> {
    let columns = Columns { id, row };
    Ok(Endpoint { name: columns.column("name")?, tags: columns.json("tags")?, part: part(&columns)? })
}

fn stage(id: RunId, row: &Row) -> Result<Stage, Error> {
    let columns = Columns { id, row };
    let at = |field| Ok::<_, Error>(Timestamp::ZERO + Duration::from_nanos(columns.count(field)?));
    Ok(Stage {
        name: columns.column("name")?,
        from: at("from_ns")?,
        until: at("until_ns")?,
        warm_up: columns.column("warm_up")?,
        part: part(&columns)?,
    })
}

fn check(id: RunId, row: &Row) -> Result<Check, Error> {
    let columns = Columns { id, row };
    Ok(Check {
        name: columns.column("name")?,
        passed: columns.count("passed")?,
        failed: columns.count("failed")?,
    })
}

fn part(columns: &Columns<'_>) -> Result<Part, Error> {
    let by_outcome = columns.read("by_outcome", |bytes: Vec<u8>| blob::outcomes(&bytes))?;
    let dense = |(outcome, times): (_, SparseHistogram)| (outcome, times.dense());
    Ok(Part {
        accounting: columns.accounting()?,
        completed: columns.count("completed")?,
        statuses: columns.json("statuses")?,
        failures: columns.failures()?,
        by_outcome: by_outcome.into_iter().map(dense).collect(),
        service: columns.histogram("service")?.dense(),
        dispatch: columns.histogram("dispatch")?.dense(),
    })
}

const COLUMNS: &[&str] = &[
    "name",
    "tags",
    "from_ns",
    "until_ns",
    "warm_up",
    "scheduled",
    "answered",
    "shed",
    "failed",
    "timed_out",
    "unsent",
    "in_flight",
    "resent",
    "completed",
    "statuses",
    "failures",
    "by_outcome",
    "service",
    "dispatch",
];

const ENDPOINT: &str = "endpoint";
const STAGE: &str = "stage";
