//! The worked examples of AWS's scaling guides, in sections: percentages and their rounding, the choice of a step,
//! minimum and maximum, the cooldown, several policies at once, the alarms of target tracking.
//!
//! Capacities are computed by a whole scaler ([`stage`]): metrics into series, alarms, policies, a decision.

mod stage;

use super::CaseResult;
use super::reading::{At, Problem, all};
use control::scaling::{Adjustment, PRESETS, Preset, Step, StepScaling, TargetTracking, round_change};
use serde_json::Value;
use stage::{Change, Stage};

type Section = fn(&At) -> Result<Vec<CaseResult>, Problem>;

/// The sections by name; each parses one case.
const SECTIONS: [(&str, Section); 7] = [
    ("percent_change", percent_change),
    ("percent_rounding", percent_rounding),
    ("step_selection", step_selection),
    ("clamp", clamp),
    ("cooldown", cooldown),
    ("multi_policy", multi_policy),
    ("target_tracking_alarms", target_tracking_alarms),
];

/// Keys that are not sections.
const REMARKS: [&str; 4] = ["origin", "legend", "note", "notes"];

/// Whether one of the sections is there.
pub fn fits(file: &Value) -> bool {
    SECTIONS.iter().any(|(name, _)| file.get(name).is_some())
}

/// Runs all sections, in their order above.
pub fn run(file: &Value) -> Result<Vec<CaseResult>, Vec<Problem>> {
    let root = At::root(file);
    let entries = root.entries().map_err(|problem| vec![problem])?;
    let known = |name: &str| REMARKS.contains(&name) || SECTIONS.iter().any(|(known, _)| *known == name);
    let unknown = entries.into_iter().filter(|(name, _)| !known(name));
    let unknown =
        unknown.map(|(name, section)| Err(section.problem(format!("`{name}` is no known section"))));
    let sections = SECTIONS.iter().filter_map(|(name, run)| Some((root.maybe(name)?, run)));
    let cases = sections.flat_map(|(section, run)| match section.list() {
        Ok(cases) => cases.iter().map(run).collect(),
        // A single case may be without a list.
        Err(_) => vec![run(&section)],
    });
    all(unknown.chain(cases))
}

fn percent_change(case: &At) -> Result<Vec<CaseResult>, Problem> {
    let (capacity, percent) = (case.field("cap")?.count()?, case.field("pct")?.whole()?);
    let least = case.maybe("min_adjustment_magnitude").map(|least| least.count()).transpose()?;
    let asked = Adjustment::PercentChangeInCapacity.apply(capacity, percent, least);
    let mut name = format!("{percent:+} % of {capacity}");
    if let Some(least) = least {
        name += &format!(", at least {least}");
    }
    one(name, case.field("delta")?.whole()?, asked - i64::from(capacity))
}

fn percent_rounding(case: &At) -> Result<Vec<CaseResult>, Problem> {
    let value = case.field("value")?.number()?;
    one(format!("a change of {value} is rounded"), case.field("rounded")?.whole()?, round_change(value))
}

fn step_selection(case: &At) -> Result<Vec<CaseResult>, Problem> {
    let threshold = case.field("threshold")?.number()?;
    let adjustment = adjustment(&case.field("adjustment")?)?;
    let least = case.maybe("min_adjustment_magnitude").map(|least| least.count()).transpose()?;
    let policy = |name| -> Result<StepScaling, Problem> {
        let steps = case.list_of(name)?.iter().map(step).collect::<Result<Vec<_>, _>>()?;
        Ok(StepScaling {
            adjustment,
            steps,
            min_adjustment_magnitude: least,
            ..StepScaling::of(Vec::new(), 1)
        })
    };
    let (out, into) = (policy("scale_out")?, policy("scale_in")?);
    let rows = case.field("walk")?.list()?;
    let results = rows.iter().map(|row| {
        let (metric, capacity) = (row.field("metric")?.number()?, row.field("capacity")?.count()?);
        let mut stage = Stage::new(bounds(row)?);
        let policies =
            [(true, &out), (false, &into)].into_iter().filter(|(_, policy)| !policy.steps.is_empty());
        policies.for_each(|(above, policy)| stage.step_policy(above, threshold, policy.clone()));
        let found = stage.at(metric, capacity).map_err(|problem| case.problem(problem))?;
        let name = format!("{metric} for a threshold of {threshold}, at {capacity}");
        one(name, row.field("new")?.whole()?, i64::from(found))
    });
    Ok(results.collect::<Result<Vec<_>, _>>()?.concat())
}

fn step(step: &At) -> Result<Step, Problem> {
    let bound = |name| step.maybe(name).map(|bound| bound.number()).transpose();
    Ok(Step { lower: bound("lo")?, upper: bound("hi")?, change: step.field("adj")?.whole()? })
}

fn adjustment(name: &At) -> Result<Adjustment, Problem> {
    let found = name.text()?;
    Adjustment::ALL.into_iter().find(|known| known.api_name() == found).ok_or_else(|| {
        let known = Adjustment::ALL.map(Adjustment::api_name).join(", ");
        name.problem(format!("unknown adjustment `{found}`; expected one of {known}"))
    })
}

fn clamp(case: &At) -> Result<Vec<CaseResult>, Problem> {
    let (min, max) = (case.field("min")?.count()?, case.field("max")?.count()?);
    let (current, change) = (case.field("current")?.count()?, Change::read(case)?);
    let mut stage = Stage::new((min, max));
    stage.policy(change, current);
    let found = stage.breaching(current).map_err(|problem| case.problem(problem))?;
    one(format!("{change} at {current}, from {min} to {max}"), case.field("new")?.whole()?, i64::from(found))
}

fn cooldown(case: &At) -> Result<Vec<CaseResult>, Problem> {
    let (before, now) = (case.field("prev_scale_out")?.count()?, case.field("new_step")?.whole()?);
    let running = case.maybe("cooldown_running").map_or(Ok(true), |running| running.truth())?;
    let found = stage::after_scale_out(before, running, now).map_err(|problem| case.problem(problem))?;
    let when = if running { "during" } else { "after" };
    let name = format!("{now:+} {when} the cooldown of {:+}", i64::from(before));
    one(name, case.field("added_now")?.whole()?, found)
}

fn multi_policy(case: &At) -> Result<Vec<CaseResult>, Problem> {
    let current = case.field("current")?.count()?;
    let changes = case.field("policies")?.list()?.iter().map(Change::read).collect::<Result<Vec<_>, _>>()?;
    let mut stage = Stage::new(bounds(case)?);
    changes.iter().for_each(|change| stage.policy(*change, current));
    let found = stage.breaching(current).map_err(|problem| case.problem(problem))?;
    let shown: Vec<String> = changes.iter().map(Change::to_string).collect();
    one(format!("{} at {current}", shown.join(" and ")), case.field("new")?.whole()?, i64::from(found))
}

/// Minimum and maximum, where a case has them.
fn bounds(case: &At) -> Result<(u32, u32), Problem> {
    let bound = |name, open| case.maybe(name).map_or(Ok(open), |bound| bound.count());
    Ok((bound("min", 0)?, bound("max", 1_000_000)?))
}

fn target_tracking_alarms(case: &At) -> Result<Vec<CaseResult>, Problem> {
    let (service, target) = (case.field("service")?, case.field("target")?.number()?);
    let name = service.text()?;
    let preset = PRESETS.iter().find(|preset| preset.name == name).ok_or_else(|| {
        let known: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
        service.problem(format!("`{name}` is no service whose alarms are known: {}", known.join(", ")))
    })?;
    let (mut expected, mut found) = (Vec::new(), Vec::new());
    for (name, value) in case.entries()?.into_iter().filter(|(name, _)| !["service", "target"].contains(name))
    {
        for (what, value) in facts(name, &value)? {
            found.push(format!(
                "{what} {}",
                of_alarm(preset, target, &what)
                    .ok_or_else(|| value.problem("this is nothing that is known of an alarm"))?
            ));
            let shown = value.value().as_str().map_or_else(|| plain(value.value()), str::to_owned);
            expected.push(format!("{what} {shown}"));
        }
    }
    let name = format!("alarms of {name} for a target of {target}");
    Ok(vec![CaseResult { name, expected: expected.join(", "), found: found.join(", ") }])
}

/// The facts of a row about an alarm: `high_threshold`, or `high` with several facts.
fn facts<'a>(name: &str, value: &At<'a>) -> Result<Vec<(String, At<'a>)>, Problem> {
    match name {
        "high" | "low" => {
            Ok(value.entries()?.into_iter().map(|(inner, at)| (format!("{name}_{inner}"), at)).collect())
        }
        "source" | "note" => Ok(Vec::new()),
        _ => Ok(vec![(name.to_owned(), value.clone())]),
    }
}

fn of_alarm(preset: &Preset, target: f64, what: &str) -> Option<String> {
    use control::alarm::Comparison::{GreaterThan, GreaterThanOrEqualTo, LessThan, LessThanOrEqualTo};
    let [high, low] = TargetTracking::new(control::metric::MetricId(0), target, *preset).alarms();
    let (alarm, fact) = match what.split_once('_')? {
        ("high", fact) => (high, fact),
        ("low", fact) => (low, fact),
        _ => return None,
    };
    Some(match fact {
        "threshold" => alarm.threshold.to_string(),
        "periods" => alarm.evaluation_periods.to_string(),
        "datapoints" => alarm.datapoints_to_alarm.to_string(),
        "period_s" => alarm.period.as_secs().to_string(),
        "op" => match alarm.comparison {
            GreaterThan => ">",
            GreaterThanOrEqualTo => ">=",
            LessThan => "<",
            LessThanOrEqualTo => "<=",
        }
        .to_owned(),
        _ => return None,
    })
}

/// A number as `control` shows it: 30.0 and 30 are the same.
fn plain(value: &Value) -> String {
    value.as_f64().map_or_else(|| value.to_string(), |number| number.to_string())
}

fn one(name: String, expected: i32, found: i64) -> Result<Vec<CaseResult>, Problem> {
    Ok(vec![CaseResult { name, expected: expected.to_string(), found: found.to_string() }])
}
