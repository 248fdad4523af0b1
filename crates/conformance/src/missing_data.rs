//! CloudWatch's tables of missing data: a row of datapoints, and the state for each treatment.
//!
//! A row goes through a whole alarm: datapoints into a series, an evaluation at the end of the newest. It is run from
//! each of the three states, because a state that does not depend on the previous one must result from all of them, and
//! `RETAIN` means that each is kept. `NOT_ALARM` is any state but `ALARM`, for an alarm that was not in it before.

use super::CaseResult;
use super::reading::{At, Problem, all};
use control::alarm::{Alarm, AlarmSettings, Comparison, Missing, State};
use control::metric::{Detail, MetricId, Series, SeriesSettings, Statistic};
use serde_json::Value;
use std::time::Duration;
use units::Timestamp;

/// Whether these are rows of datapoints.
pub fn fits(file: &Value) -> bool {
    file["cases"].as_array().is_some_and(|cases| {
        cases.iter().any(|case| case.get("points").is_some() && case.get("evaluation_periods").is_some())
    })
}

/// Runs all rows.
pub fn run(file: &Value) -> Result<Vec<CaseResult>, Vec<Problem>> {
    let cases =
        At::root(file).field("cases").and_then(|cases| cases.list()).map_err(|problem| vec![problem])?;
    all(cases.iter().map(row))
}

fn row(case: &At) -> Result<Vec<CaseResult>, Problem> {
    let points = case.field("points")?.list()?.iter().map(point).collect::<Result<Vec<_>, _>>()?;
    let evaluation_periods = case.field("evaluation_periods")?.count()?;
    let datapoints = case.maybe("datapoints_to_alarm");
    let datapoints_to_alarm = datapoints.map_or(Ok(evaluation_periods), |found| found.count())?;
    let range = case.maybe("evaluation_range").map(|range| range.count()).transpose()?;
    let settings = AlarmSettings {
        evaluation_periods,
        datapoints_to_alarm,
        // A row shows the fetched datapoints.
        evaluation_range: Some(range.unwrap_or((points.len() as u32).max(evaluation_periods))),
        ..AlarmSettings::new(MetricId(0), Statistic::Average, MINUTE, Comparison::GreaterThan, 0.5)
    };
    if let Some(problem) = settings.problems().first() {
        return Err(case.problem(problem));
    }
    let shown: Vec<&str> = points.iter().map(|point| point.shown).collect();
    let shown = format!("{} · {datapoints_to_alarm} of {evaluation_periods}", shown.join(" "));
    let expected = case.field("expected")?.entries()?;
    let before = case.maybe("current_state").map(|state| known_state(&state)).transpose()?;
    let results = expected.iter().map(|(name, expected)| {
        let missing = treatment(name).ok_or_else(|| {
            let known = Missing::ALL.map(Missing::api_name).join(", ");
            expected.problem(format!("unknown treatment of missing data; expected one of {known}"))
        })?;
        let settings = AlarmSettings { missing, ..settings };
        let found = found(&Expected::read(expected)?, before, |state| evaluate(settings, &points, state));
        let name = format!("{shown}, missing data {name}");
        Ok(CaseResult { name, expected: expected.text()?.to_owned(), found })
    });
    results.collect()
}

struct Point {
    shown: &'static str,
    value: Option<f64>,
}

fn point(point: &At) -> Result<Point, Problem> {
    match point.text()? {
        "0" => Ok(Point { shown: "0", value: Some(0.0) }),
        "X" | "x" => Ok(Point { shown: "X", value: Some(1.0) }),
        "-" => Ok(Point { shown: "-", value: None }),
        _ => Err(point.problem("this is no datapoint: 0 (does not breach), X (breaches), - (missing)")),
    }
}

fn treatment(name: &str) -> Option<Missing> {
    Missing::ALL.into_iter().find(|missing| missing.api_name() == name)
}

enum Expected {
    State,
    Retain,
    NotAlarm,
}

impl Expected {
    fn read(expected: &At) -> Result<Self, Problem> {
        match expected.text()? {
            "RETAIN" => Ok(Expected::Retain),
            "NOT_ALARM" => Ok(Expected::NotAlarm),
            _ => known_state(expected).map(|_| Expected::State),
        }
    }
}

fn known_state(state: &At) -> Result<State, Problem> {
    let found = state.text()?;
    STATES.into_iter().find(|state| state.to_string() == found).ok_or_else(|| {
        state.problem(format!("`{found}` is no state: OK, ALARM, INSUFFICIENT_DATA, RETAIN, NOT_ALARM"))
    })
}

/// The result, in the words of the expectation.
fn found(expected: &Expected, before: Option<State>, evaluate: impl Fn(State) -> State) -> String {
    let states: Vec<(State, State)> = STATES
        .into_iter()
        .filter(|state| before.is_none_or(|before| before == *state))
        .filter(|state| before.is_some() || !matches!(expected, Expected::NotAlarm) || *state != State::Alarm)
        .map(|state| (state, evaluate(state)))
        .collect();
    let first = states[0].1;
    let same = states.iter().all(|(_, after)| *after == first);
    match expected {
        Expected::Retain if states.iter().all(|(before, after)| before == after) => "RETAIN".to_owned(),
        Expected::NotAlarm if states.iter().all(|(_, after)| *after != State::Alarm) => {
            "NOT_ALARM".to_owned()
        }
        _ if same => first.to_string(),
        _ => {
            let each: Vec<String> =
                states.iter().map(|(before, after)| format!("{after} after {before}")).collect();
            each.join(", ")
        }
    }
}

fn evaluate(settings: AlarmSettings, points: &[Point], before: State) -> State {
    let mut alarm = Alarm::new(settings).expect("the settings were checked");
    let history = settings.history() + MINUTE * points.len() as u32;
    let series =
        SeriesSettings { resolution: MINUTE, history, delay: Duration::ZERO, detail: Detail::Summary };
    let mut series = Series::new(series).expect("as long as a row");
    let at = |minute: usize| Timestamp::ZERO + MINUTE * minute as u32;
    for (minute, point) in points.iter().enumerate() {
        if let Some(value) = point.value {
            series.record(at(minute), value);
        }
    }
    alarm.set_state(before);
    alarm.evaluate(at(points.len()), &series);
    alarm.state()
}

const STATES: [State; 3] = [State::Ok, State::InsufficientData, State::Alarm];

const MINUTE: Duration = Duration::from_secs(60);
