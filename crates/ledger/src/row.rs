//! Converts between the columns of the tables and the values of this crate.

use crate::database::{Database, Failure, Read, Row, values};
use crate::{Error, NewRun, Run, RunId, State, WallTime, blob, heads, schema};
use host::{NoProcess, ProcessIdentity};
use measure::{
    Accounting, Failure as FailureOfRequest, Iterations, Measurement, Recorded, SparseHistogram, Verdict,
};
use serde_json::json;
use std::collections::BTreeMap;
use std::time::Duration;

/// Reads all that [`run`] needs from a file of the version `found`: everything except the series, which may be large.
pub(crate) fn select(found: i64) -> String {
    let columns = schema::select(COLUMNS, found);
    format!("SELECT {columns} FROM run LEFT JOIN measurement ON measurement.run = run.id")
}

const COLUMNS: &[&str] = &[
    "id",
    "parent",
    "repeat_of",
    "state",
    "command",
    "command_line",
    "version",
    "config",
    "target",
    "host",
    "host_after",
    "facts",
    "started_us",
    "process",
    "ended_us",
    "error",
    "result",
    "elapsed_ns",
    "scheduled",
    "answered",
    "shed",
    "failed",
    "timed_out",
    "unsent",
    "in_flight",
    "resent",
    "statuses",
    "failures",
    "response",
    "service",
    "dispatch",
    "shed_response",
    "connections",
    "bytes_received",
    "cpu_ns",
    "verdict",
    "reasons",
    "completed",
    "iterations_started",
    "iterations_completed",
    "iterations_broken",
    "iteration_time",
    "connect",
    "tls",
    "heads",
];

/// Writes the row of a run that begins.
pub(crate) fn insert_run(database: &Database, run: &NewRun) -> Result<RunId, Failure> {
    let row = database.row(
        "INSERT INTO run (parent, state, command, command_line, version, config, target, host, started_us, repeat_of, process, facts)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
         RETURNING id",
        values![
            run.parent,
            State::Running.name(),
            &run.command,
            &run.command_line,
            &run.version,
            &run.config,
            &run.target,
            pairs(&run.host),
            run.started.micros(),
            run.repeat_of,
            run.process.as_ref().map(ToString::to_string),
            (!run.facts.is_empty()).then(|| pairs(&run.facts)),
        ],
    )?;
    Ok(row.and_then(|row| row.get("id").ok()).unwrap_or(RunId::new(0)))
}

/// Writes the measurements of a run.
pub(crate) fn insert_measurement(
    database: &Database,
    id: RunId,
    measurement: &Measurement,
) -> Result<(), Failure> {
    let recorded = Recorded::from(measurement);
    let Accounting { scheduled, answered, shed, failed, timed_out, unsent, in_flight, resent } =
        recorded.accounting;
    database.execute(
        "INSERT INTO measurement (run, elapsed_ns, scheduled, answered, shed, failed, timed_out, unsent, in_flight,
            statuses, failures, response, service, dispatch, shed_response, series, connections, bytes_received,
            cpu_ns, verdict, reasons, completed, iterations_started, iterations_completed, iterations_broken,
            iteration_time, connect, tls, resent, heads)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21,
            ?22, ?23, ?24, ?25, ?26, ?27, ?28, ?29, ?30)",
        values![
            id,
            nanos(recorded.elapsed),
            integer(scheduled),
            integer(answered),
            integer(shed),
            integer(failed),
            integer(timed_out),
            integer(unsent),
            integer(in_flight),
            statuses(&recorded.statuses),
            failures(&recorded.failures),
            blob::of_histogram(&recorded.response),
            blob::of_histogram(&recorded.service),
            blob::of_histogram(&recorded.dispatch),
            blob::of_histogram(&recorded.shed_response),
            blob::of_series(&measurement.series),
            integer(recorded.connections),
            integer(recorded.bytes_received),
            nanos(recorded.cpu),
            recorded.verdict.name(),
            json!(recorded.reasons).to_string(),
            recorded.completed.map(integer),
            integer(recorded.iterations.started),
            integer(recorded.iterations.completed),
            integer(recorded.iterations.broken),
            blob::of_histogram(&recorded.iterations.time.sparse()),
            blob::of_histogram(&recorded.connect),
            blob::of_histogram(&recorded.tls),
            integer(resent),
            heads::text(&recorded.heads),
        ],
    )?;
    Ok(())
}

/// Responses by status as JSON.
pub(crate) fn statuses(counts: &BTreeMap<u16, u64>) -> String {
    let named: BTreeMap<String, u64> =
        counts.iter().map(|(status, &count)| (status.to_string(), count)).collect();
    json!(named).to_string()
}

/// Failures by their names as JSON.
pub(crate) fn failures(counts: &BTreeMap<FailureOfRequest, u64>) -> String {
    let named: BTreeMap<&str, u64> = counts.iter().map(|(failure, &count)| (failure.name(), count)).collect();
    json!(named).to_string()
}

/// Names and values as JSON, in order.
pub(crate) fn pairs(pairs: &[(String, String)]) -> String {
    json!(pairs).to_string()
}

/// Reads a row of [`select`].
pub(crate) fn run(row: &Row) -> Result<Run, Error> {
    let id = row.get("id").map_err(|what| Error::Damaged { id: RunId::new(0), field: "id", what })?;
    Columns { id, row }.run()
}

/// What ended a run whose process is gone.
const GONE: &str = "its process ended without recording a result";

/// Whether the process of a run without an end has ended. Of another machine's, this one knows nothing.
fn is_gone(process: Option<&ProcessIdentity>, host: &[(String, String)]) -> bool {
    let Some(process) = process else { return true };
    let name = |host: &[(String, String)]| host.iter().find(|(fact, _)| fact == "host name").cloned();
    let is_here = name(host).is_none_or(|there| name(&host::host_facts()) == Some(there));
    is_here && !process.is_alive()
}

/// The columns of a row that belongs to a run; an error names the run and the column.
pub(crate) struct Columns<'r> {
    pub(crate) id: RunId,
    pub(crate) row: &'r Row,
}

impl Columns<'_> {
    fn run(&self) -> Result<Run, Error> {
        let state = self.read("state", |text: String| {
            State::named(&text).ok_or_else(|| format!("`{text}` is no state"))
        })?;
        let process: Option<ProcessIdentity> = self.read("process", |text: Option<String>| {
            text.map(|text| text.parse().map_err(|error: NoProcess| error.to_string())).transpose()
        })?;
        let host: Vec<(String, String)> = self.json("host")?;
        let is_gone = state == State::Running && is_gone(process.as_ref(), &host);
        Ok(Run {
            id: self.id,
            state: if is_gone { State::Interrupted } else { state },
            begun: NewRun {
                parent: self.column("parent")?,
                repeat_of: self.column("repeat_of")?,
                command: self.column("command")?,
                command_line: self.column("command_line")?,
                version: self.column("version")?,
                config: self.column("config")?,
                target: self.column("target")?,
                host,
                facts: self.read("facts", |text: Option<String>| {
                    let facts = text.map(|text| serde_json::from_str(&text)).transpose();
                    facts.map(Option::unwrap_or_default).map_err(|error| error.to_string())
                })?,
                started: WallTime::from_micros(self.column("started_us")?),
                process,
            },
            ended: self.column::<Option<i64>>("ended_us")?.map(WallTime::from_micros),
            error: if is_gone { Some(GONE.to_owned()) } else { self.column("error")? },
            result: self.column("result")?,
            host_after: self.json("host_after")?,
            recorded: match self.column::<Option<i64>>("elapsed_ns")? {
                Some(_) => Some(self.recorded()?),
                None => None,
            },
        })
    }

    fn recorded(&self) -> Result<Recorded, Error> {
        Ok(Recorded {
            elapsed: Duration::from_nanos(self.count("elapsed_ns")?),
            accounting: self.accounting()?,
            completed: self.later_count("completed")?,
            counts_resent: self.later_count("resent")?.is_some(),
            statuses: self.json("statuses")?,
            failures: self.failures()?,
            response: self.histogram("response")?,
            service: self.histogram("service")?,
            dispatch: self.histogram("dispatch")?,
            shed_response: self.histogram("shed_response")?,
            iterations: Iterations {
                started: self.count("iterations_started")?,
                completed: self.count("iterations_completed")?,
                broken: self.count("iterations_broken")?,
                time: self.later_histogram("iteration_time")?.dense(),
            },
            connect: self.later_histogram("connect")?,
            tls: self.later_histogram("tls")?,
            heads: self.read("heads", |text: Option<String>| heads::of_text(text.as_deref()))?,
            connections: self.count("connections")?,
            bytes_received: self.count("bytes_received")?,
            cpu: Duration::from_nanos(self.count("cpu_ns")?),
            verdict: self.read("verdict", |text: String| {
                Verdict::named(&text).ok_or_else(|| format!("`{text}` is no verdict"))
            })?,
            reasons: self.json("reasons")?,
        })
    }

    pub(crate) fn accounting(&self) -> Result<Accounting, Error> {
        Ok(Accounting {
            scheduled: self.count("scheduled")?,
            answered: self.count("answered")?,
            shed: self.count("shed")?,
            failed: self.count("failed")?,
            timed_out: self.count("timed_out")?,
            unsent: self.count("unsent")?,
            in_flight: self.count("in_flight")?,
            resent: self.later_count("resent")?.unwrap_or(0),
        })
    }

    pub(crate) fn failures(&self) -> Result<BTreeMap<FailureOfRequest, u64>, Error> {
        let counts: BTreeMap<String, u64> = self.json("failures")?;
        let named = counts.into_iter().map(|(name, count)| {
            let damaged =
                || Error::Damaged { id: self.id, field: "failures", what: format!("`{name}` is no failure") };
            Ok((FailureOfRequest::named(&name).ok_or_else(damaged)?, count))
        });
        named.collect()
    }

    /// A column, converted by `parse`.
    pub(crate) fn read<C: Read, T>(
        &self,
        field: &'static str,
        parse: impl FnOnce(C) -> Result<T, String>,
    ) -> Result<T, Error> {
        self.row.get(field).and_then(parse).map_err(|what| Error::Damaged { id: self.id, field, what })
    }

    pub(crate) fn column<T: Read>(&self, field: &'static str) -> Result<T, Error> {
        self.read(field, Ok)
    }

    pub(crate) fn count(&self, field: &'static str) -> Result<u64, Error> {
        self.read(field, |number: i64| u64::try_from(number).map_err(|_| format!("{number} is no count")))
    }

    pub(crate) fn json<T: serde::de::DeserializeOwned>(&self, field: &'static str) -> Result<T, Error> {
        self.read(field, |text: String| serde_json::from_str(&text).map_err(|error| error.to_string()))
    }

    pub(crate) fn histogram(&self, field: &'static str) -> Result<SparseHistogram, Error> {
        self.read(field, |bytes: Vec<u8>| blob::histogram(&bytes))
    }

    /// A count that runs of an older schema do not have.
    fn later_count(&self, field: &'static str) -> Result<Option<u64>, Error> {
        match self.column::<Option<i64>>(field)? {
            Some(_) => self.count(field).map(Some),
            None => Ok(None),
        }
    }

    /// A distribution that runs of the first schema do not have.
    fn later_histogram(&self, field: &'static str) -> Result<SparseHistogram, Error> {
        match self.column::<Option<Vec<u8>>>(field)? {
            Some(_) => self.histogram(field),
            None => Ok(SparseHistogram::default()),
        }
    }
}

/// Databases store counts in 63 bits: enough for a million a second for 290,000 years.
pub(crate) fn integer(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

pub(crate) fn nanos(span: Duration) -> i64 {
    i64::try_from(span.as_nanos()).unwrap_or(i64::MAX)
}
