//! The tests of the controller: windows, rates and bounds, a section for each.

use super::super::CaseResult;
use super::super::reading::{At, Problem, all};
use super::{NOW, ago};
use control::scaling::hpa::{
    Behavior, Bounds, Change, RatePolicy, Recommendations, Rules, ScaleEvents, Select, Version, Windows,
    scale_down_limit, scale_up_limit, within_behavior, within_defaults,
};
use serde_json::Value;
use std::fmt::Display;
use std::time::Duration;
use units::Timestamp;

type Section = fn(&At, &Behavior) -> Result<CaseResult, Problem>;

/// The sections by name; each parses one case.
const SECTIONS: [(&str, Section); 6] = [
    ("scaling_with_rules", scaling_with_rules),
    ("stabilize_with_behaviors", stabilize_with_behaviors),
    ("normalize_desired_replicas", normalize_desired_replicas),
    ("convert_desired_replicas_with_rules", convert_desired_replicas_with_rules),
    ("store_scale_events", store_scale_events),
    ("select_policy_min", select_policy),
];

/// Whether one of the sections is there.
pub fn fits(file: &Value) -> bool {
    SECTIONS.iter().any(|(name, _)| file["tests"].get(name).is_some())
}

/// Runs all sections, in the order of the file.
pub fn run(file: &Value) -> Result<Vec<CaseResult>, Vec<Problem>> {
    let root = At::root(file);
    let read = || Ok((root.field("tests")?.entries()?, defaults(&root)?));
    let (sections, defaults) = read().map_err(|problem: Problem| vec![problem])?;
    all(sections.into_iter().flat_map(|(name, section)| {
        let Some((_, run)) = SECTIONS.iter().find(|(known, _)| *known == name) else {
            return vec![Err(section.problem(format!("`{name}` is no section that is known")))];
        };
        let run = |case: &At| {
            let CaseResult { name: case, expected, found } = run(case, &defaults)?;
            Ok(vec![CaseResult { name: format!("{name}: {case}"), expected, found }])
        };
        section.list().map_or_else(|wrong| vec![Err(wrong)], |cases| cases.iter().map(run).collect())
    }))
}

fn scaling_with_rules(case: &At, defaults: &Behavior) -> Result<CaseResult, Problem> {
    let behavior = Behavior {
        up: rules_or(case, "scale_up_rules", &defaults.up)?,
        down: rules_or(case, "scale_down_rules", &defaults.down)?,
    };
    let events = (&events(case, "scale_up_events")?, &events(case, "scale_down_events")?);
    let (current, desired) = (case.field("current")?.whole()?, case.field("desired")?.whole()?);
    let (to, limit) =
        within_behavior(NOW, current, desired, bounds(case)?, &behavior, events, Version::NEWEST);
    let name = case.field("name")?.text()?.to_owned();
    let expected = format!("{}, {}", case.field("expected")?.whole()?, case.field("condition")?.text()?);
    Ok(CaseResult { name, expected, found: format!("{to}, {}", limit.reason()) })
}

fn stabilize_with_behaviors(case: &At, _: &Behavior) -> Result<CaseResult, Problem> {
    let mut made = recommendations(case)?;
    let windows =
        Windows { up: seconds(case, "scale_up_window_s")?, down: seconds(case, "scale_down_window_s")? };
    let (current, desired) = (case.field("current")?.whole()?, case.field("desired")?.whole()?);
    let stabilized = made.stabilize(NOW, current, desired, windows, Version::NEWEST);
    let name = case.field("name")?.text()?.to_owned();
    let mut expected = case.field("expected")?.whole()?.to_string();
    let mut found = stabilized.to_string();
    if let Some(log) = case.maybe("expected_log") {
        let log = log.list()?.iter().map(At::whole).collect::<Result<Vec<_>, _>>()?;
        expected += &format!(", remembers {log:?}");
        found += &format!(", remembers {:?}", made.values().collect::<Vec<_>>());
    }
    Ok(CaseResult { name, expected, found })
}

fn normalize_desired_replicas(case: &At, _: &Behavior) -> Result<CaseResult, Problem> {
    let mut made = recommendations(case)?;
    let highest = made.highest(NOW, case.field("desired")?.whole()?, seconds(case, "window_s")?);
    let name = case.field("name")?.text()?.to_owned();
    let shown = |highest: i32, length: usize| format!("{highest}, remembers {length} recommendations");
    let length = case.field("expected_log_length")?.count()? as usize;
    let expected = shown(case.field("expected")?.whole()?, length);
    Ok(CaseResult { name, expected, found: shown(highest, made.values().count()) })
}

fn convert_desired_replicas_with_rules(case: &At, _: &Behavior) -> Result<CaseResult, Problem> {
    let (current, desired) = (case.field("current")?.whole()?, case.field("desired")?.whole()?);
    let bounds = bounds(case)?;
    let (to, limit) = within_defaults(current, desired, bounds);
    let name = format!("from {current} to {desired}, within {} and {}", bounds.min, bounds.max);
    let expected = format!("{}, {}", case.field("expected")?.whole()?, case.field("condition")?.text()?);
    Ok(CaseResult { name, expected, found: format!("{to}, {}", limit.reason()) })
}

fn store_scale_events(case: &At, _: &Behavior) -> Result<CaseResult, Problem> {
    let mut events = events(case, "prev")?;
    let changed = events.within(NOW, Duration::from_secs(60));
    // Without behavior nothing is recorded, because nothing would read it.
    if case.maybe("rules").is_some() {
        // The stored history depends only on the policies of the case.
        let rules = rules_or(case, "rules", &Rules::of(Vec::new()))?;
        let longest = rules.policies.iter().map(|policy| policy.period).max().unwrap_or_default();
        events.store(NOW, case.field("replica_change")?.whole()?, longest);
    }
    let name = case.field("name")?.text()?.to_owned();
    let shown = |changed: i32, log: &[(i32, bool)]| {
        let log: Vec<String> = log
            .iter()
            .map(|(change, outdated)| format!("{change}{}", if *outdated { " (outdated)" } else { "" }))
            .collect();
        format!("{changed} in 60 s, remembers [{}]", log.join(", "))
    };
    let log = case.field("expected_log")?.list()?;
    let log =
        log.iter().map(|event| Ok((event.field("change")?.whole()?, event.field("outdated")?.truth()?)));
    let expected = case.field("expected_change_last_60s")?.whole()?;
    let expected = shown(expected, &log.collect::<Result<Vec<_>, Problem>>()?);
    let found = shown(changed, &events.values().collect::<Vec<_>>());
    Ok(CaseResult { name, expected, found })
}

fn select_policy(case: &At, _: &Behavior) -> Result<CaseResult, Problem> {
    let rules = Rules {
        select: select(&case.field("select")?)?,
        ..Rules::of(case.field("policies")?.list()?.iter().map(policy).collect::<Result<_, _>>()?)
    };
    let current = case.field("current")?.whole()?;
    let none = (&ScaleEvents::default(), &ScaleEvents::default());
    let kind = case.field("kind")?;
    let limit = match kind.text()? {
        "scale_up_limit" => scale_up_limit(NOW, current, none, &rules, Version::NEWEST),
        "scale_down_limit" => scale_down_limit(NOW, current, none, &rules, Version::NEWEST),
        _ => return Err(kind.problem("this is no limit: scale_up_limit or scale_down_limit")),
    };
    let name = format!("{} of {current}, select {:?}", kind.text()?, rules.select);
    Ok(result(name, case.field("expected")?.whole()?, limit))
}

fn result(name: String, expected: impl Display, found: impl Display) -> CaseResult {
    CaseResult { name, expected: expected.to_string(), found: found.to_string() }
}

/// The rules of the file for cases without their own.
fn defaults(root: &At) -> Result<Behavior, Problem> {
    let usual = Behavior::default();
    let Some(given) = root.maybe("defaults") else { return Ok(usual) };
    let direction = |field: &str, usual: Rules| -> Result<Rules, Problem> {
        let Some(given) = given.maybe(field) else { return Ok(usual) };
        let policies = given.field("policies")?.list()?.iter().map(policy).collect::<Result<_, _>>()?;
        let select = given.maybe("select").map_or(Ok(Select::Max), |found| select(&found))?;
        let stabilization = Some(seconds(&given, "stabilization_s")?);
        Ok(Rules { stabilization, select, ..Rules::of(policies) })
    };
    Ok(Behavior { up: direction("scale_up", usual.up)?, down: direction("scale_down", usual.down)? })
}

/// The rules of a case, with the defaults for missing ones.
fn rules_or(case: &At, field: &str, defaults: &Rules) -> Result<Rules, Problem> {
    let Some(given) = case.maybe(field) else { return Ok(defaults.clone()) };
    let mut rules = defaults.clone();
    let mut policies = Vec::new();
    for (value, period, change) in [
        ("pods", "pods_period", Change::Pods as fn(u32) -> Change),
        ("percent", "percent_period", Change::Percent),
    ] {
        let value = given.maybe(value).map_or(Ok(0), |found| found.count())?;
        if value != 0 {
            policies.push(RatePolicy { change: change(value), period: seconds(&given, period)? });
        }
    }
    if !policies.is_empty() {
        rules.policies = policies;
    }
    if let Some(found) = given.maybe("select") {
        rules.select = select(&found)?;
    }
    if given.maybe("stabilization_s").is_some() {
        rules.stabilization = Some(seconds(&given, "stabilization_s")?);
    }
    Ok(rules)
}

/// `["Pods", 4, 15]`
fn policy(policy: &At) -> Result<RatePolicy, Problem> {
    let parts = policy.list()?;
    let [kind, value, period] = parts.as_slice() else {
        return Err(policy.problem("a policy is its type, its value and its period in seconds"));
    };
    let change = match kind.text()? {
        "Pods" => Change::Pods(value.count()?),
        "Percent" => Change::Percent(value.count()?),
        _ => return Err(kind.problem("this is no type of policy: Pods or Percent")),
    };
    Ok(RatePolicy { change, period: Duration::from_secs(u64::from(period.count()?)) })
}

fn select(select: &At) -> Result<Select, Problem> {
    Ok(match select.text()? {
        "Max" => Select::Max,
        "Min" => Select::Min,
        "Disabled" => Select::Disabled,
        _ => return Err(select.problem("this selects no policy: Max, Min or Disabled")),
    })
}

fn bounds(case: &At) -> Result<Bounds, Problem> {
    Ok(Bounds { min: case.field("min")?.whole()?, max: case.field("max")?.whole()? })
}

fn recommendations(case: &At) -> Result<Recommendations, Problem> {
    Ok(Recommendations::of(timed(case, "recommendations", "value")?))
}

fn events(case: &At, field: &str) -> Result<ScaleEvents, Problem> {
    Ok(ScaleEvents::of(timed(case, field, "change")?))
}

fn timed(case: &At, field: &str, value: &str) -> Result<Vec<(Timestamp, i32)>, Problem> {
    let read = |entry: &At| Ok((ago(entry, "age_s")?, entry.field(value)?.whole()?));
    case.list_of(field)?.iter().map(read).collect()
}

fn seconds(case: &At, field: &str) -> Result<Duration, Problem> {
    let found = case.field(field)?;
    let span = Duration::try_from_secs_f64(found.number()?);
    span.map_err(|_| found.problem("a number of seconds from 0 on was expected"))
}
