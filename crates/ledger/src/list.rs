//! Lists of runs: by which they are found, in what order.
//!
//! ## Why a table of its own
//! A row of a run has its configuration, and one of a measurement its histograms and seconds: to walk over a hundred thousand
//! of them for a list takes seconds. The table `listed` has only what lists select and sort by, in a hundredth of the space.

use crate::database::{Database, Failure, Value, values};
use crate::note::{NAME, Name, TAG};
use crate::{RunId, State, WallTime, blob, schema};

/// Selects runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    /// Whose parts they are.
    pub of: Of,
    /// Their command, such as `load`.
    pub command: Option<String>,
    /// Their target, whole.
    pub target: Option<String>,
    /// A text that their target contains; letters of ASCII in any case.
    pub about: Option<String>,
    /// Their state.
    pub state: Option<State>,
    /// Tags that all of them have: a key, and its value if that matters.
    pub tags: Vec<(String, Option<String>)>,
    /// Those that began at this time or later.
    pub since: Option<WallTime>,
    /// Those that began before this time.
    pub until: Option<WallTime>,
    /// Their order.
    pub order: Order,
    /// At most so many.
    pub limit: u32,
}

impl Default for Selection {
    /// All runs that are not parts of others, the latest first.
    fn default() -> Self {
        Selection {
            of: Of::TopLevel,
            command: None,
            target: None,
            about: None,
            state: None,
            tags: Vec::new(),
            since: None,
            until: None,
            order: Order::Latest,
            limit: u32::MAX,
        }
    }
}

/// Whose parts runs are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Of {
    /// Runs that are not a part of another.
    TopLevel,
    /// The parts of this run.
    PartsOf(RunId),
    /// All runs.
    Any,
}

/// The order of runs. Runs without the value come last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// The latest first.
    Latest,
    /// The earliest first.
    Earliest,
    /// The one with the most good responses a second first.
    Rate,
    /// The one with the lowest 95th percentile of the response time first.
    P95,
    /// The one with the most requests without a good response first.
    Lost,
    /// The longest first.
    Took,
}

/// Lists a run that began.
pub(crate) fn begun(database: &Database, id: RunId) -> Result<(), Failure> {
    database.execute(
        "INSERT INTO listed (run, parent, command, target, state, started_us)
         SELECT id, parent, command, target, state, started_us FROM run WHERE id = ?1",
        values![id],
    )?;
    Ok(())
}

/// Adds what is known at its end.
pub(crate) fn ended(database: &Database, id: RunId) -> Result<(), Failure> {
    let query = "SELECT state, started_us, ended_us, elapsed_ns, answered, scheduled, response
                 FROM run LEFT JOIN measurement ON measurement.run = run.id WHERE id = ?1";
    let Some(row) = database.row(query, values![id])? else { return Ok(()) };
    let number = |name: &str| row.get::<Option<i64>>(name).ok().flatten();
    let took = number("ended_us").zip(number("started_us")).map(|(ended, started)| ended - started);
    let per_1000s = |(answered, elapsed): (i64, i64)| {
        (elapsed > 0).then(|| (1e12 * answered as f64 / elapsed as f64) as i64)
    };
    let response = row.get::<Option<Vec<u8>>>("response").ok().flatten();
    let quantiles = response.and_then(|bytes| blob::histogram(&bytes).ok()?.dense().quantiles());
    let p95 = quantiles.map(|quantiles| quantiles.p95.at.as_micros() as i64);
    database.execute(
        "UPDATE listed SET state = ?2, took_us = ?3, answered = ?4, lost = ?5, per_1000s = ?6, p95_us = ?7
         WHERE run = ?1",
        values![
            id,
            row.get::<String>("state").unwrap_or_default(),
            took,
            number("answered"),
            number("scheduled").zip(number("answered")).map(|(scheduled, answered)| scheduled - answered),
            number("answered").zip(number("elapsed_ns")).and_then(per_1000s),
            p95,
        ],
    )?;
    Ok(())
}

/// Takes what was deleted out of a run's line.
pub(crate) fn deleted(database: &Database, id: RunId) -> Result<(), Failure> {
    database.execute(
        "UPDATE listed SET target = '', answered = NULL, lost = NULL, per_1000s = NULL, p95_us = NULL WHERE run = ?1",
        values![id],
    )?;
    Ok(())
}

/// At most `limit` selected runs, after the first `skipped`. A state is selected as far as the table has it: of a run without
/// an end, the caller finds out whether it is interrupted.
pub(crate) fn ids(
    database: &Database,
    version: i64,
    selection: &Selection,
    limit: u32,
    skipped: u64,
) -> Result<Vec<RunId>, Failure> {
    let has_entries = version >= schema::ENTRIES;
    let mut values: Vec<Value> = Vec::new();
    let mut conditions: Vec<String> = Vec::new();
    let mut add = |condition: &str, new: Vec<Value>| {
        let mut condition = condition.to_owned();
        for value in new {
            values.push(value);
            condition = condition.replacen("??", &format!("?{}", values.len()), 1);
        }
        conditions.push(condition);
    };
    match selection.of {
        Of::TopLevel => add("parent IS NULL", vec![]),
        Of::PartsOf(parent) => add("parent = ??", vec![parent.into()]),
        Of::Any => {}
    }
    if let Some(command) = &selection.command {
        add("command = ??", vec![command.into()]);
    }
    if let Some(target) = &selection.target {
        add("target = ??", vec![target.into()]);
    }
    if let Some(about) = &selection.about {
        let escaped: String = about
            .to_ascii_lowercase()
            .chars()
            .flat_map(|c| if "%_!".contains(c) { vec!['!', c] } else { vec![c] })
            .collect();
        add("lower(target) LIKE ?? ESCAPE '!'", vec![format!("%{escaped}%").into()]);
    }
    match selection.state {
        Some(State::Running | State::Interrupted) => add("state IN ('running', 'interrupted')", vec![]),
        Some(state) => add("state = ??", vec![state.name().into()]),
        None => {}
    }
    if let Some(since) = selection.since {
        add("started_us >= ??", vec![since.micros().into()]);
    }
    if let Some(until) = selection.until {
        add("started_us < ??", vec![until.micros().into()]);
    }
    for (key, value) in &selection.tags {
        // The latest entry of a key is its value; `null` takes it away.
        let latest = "SELECT max(number) FROM entry WHERE run = listed.run AND kind = ?? AND about = ??";
        let content = if value.is_some() { "content = ??" } else { "content <> ??" };
        let content_of = |value: &Option<String>| Value::from(serde_json::json!(value).to_string());
        match has_entries {
            // A run of which any entry has the value is looked at, and not each run.
            true => add(
                &format!(
                    "run IN (SELECT run FROM entry WHERE kind = ?? AND about = ?? AND {content}) \
                     AND EXISTS (SELECT 1 FROM entry WHERE number = ({latest}) AND {content})"
                ),
                vec![TAG.into(), key.into(), content_of(value), TAG.into(), key.into(), content_of(value)],
            ),
            false => add("1 = 0", vec![]),
        }
    }
    let order = match selection.order {
        Order::Latest => "run DESC",
        Order::Earliest => "run",
        // Of older ledgers nothing else is known.
        _ if !has_entries => "run DESC",
        Order::Rate => "per_1000s DESC NULLS LAST, run DESC",
        Order::P95 => "p95_us NULLS LAST, run DESC",
        Order::Lost => "lost DESC NULLS LAST, run DESC",
        Order::Took => "took_us DESC NULLS LAST, run DESC",
    };
    let table = match has_entries {
        true => "listed",
        false => "(SELECT id AS run, parent, command, target, state, started_us FROM run) AS listed",
    };
    let conditions = if conditions.is_empty() { "1 = 1".to_owned() } else { conditions.join(" AND ") };
    let query =
        format!("SELECT run FROM {table} WHERE {conditions} ORDER BY {order} LIMIT {limit} OFFSET {skipped}");
    let rows = database.query(&query, &values)?;
    Ok(rows.iter().filter_map(|row| row.get("run").ok()).collect())
}

/// The run that was given a name last, if it still has it.
pub(crate) fn named(database: &Database, name: &Name) -> Result<Option<RunId>, Failure> {
    let query = "SELECT run FROM entry WHERE kind = ?1 AND about = ?2 ORDER BY number DESC LIMIT 1";
    let Some(row) = database.row(query, values![NAME, name.as_str()])? else { return Ok(None) };
    let Ok(id) = row.get::<RunId>("run") else { return Ok(None) };
    let query = "SELECT about FROM entry WHERE run = ?1 AND kind = ?2 ORDER BY number DESC LIMIT 1";
    let now = database.row(query, values![id, NAME])?;
    let now: Option<String> = now.and_then(|row| row.get("about").ok());
    Ok((now.as_deref() == Some(name.as_str())).then_some(id))
}
