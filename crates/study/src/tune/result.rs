//! The document: today and the best, the frontier, what each change saves, and what is promised.

use super::correct::{Judge, Known, POINT_BAD, beyond};
use super::evaluate::{Evaluator, LEVELS};
use super::metrics::Metrics;
use super::{Asked, chosen, edits};
use config::case::{Also, Case, Dimension, Edit, Manifest};
use control::scaling::Platform;
use control::search::Condition;
use control::search::tune::Candidate;
use documents::tune::{
    Change, NOT_IN_PATCH, PatchManifest, Patches, Point, Role, Saving, Scenario, Setting, Tune,
};
use sim::settings::{MINUTE, Policy, System};
use stats::student_t;

pub(super) fn result(
    evaluator: &mut Evaluator<'_>,
    judge: &Judge,
    best: Candidate,
    evaluated: usize,
    asked: &Asked,
) -> Tune {
    let today = judge.today().candidate.clone();
    let mut notes = vec![evaluator.scenarios.note.clone()];
    // Such as hours that the traffic does not have.
    notes.extend(evaluator.case.stages[evaluator.stage].notes.iter().cloned());
    let row = evaluator.today().row;
    if !evaluator.is_recordable() && row == MINUTE {
        notes.push(
            "this fleet is simulated request by request only (`affinity`, `ejection`, `health`, `consistent-hash` or \
             `cross_zone: false`), so few candidates were tried"
                .to_owned(),
        );
    }
    if row < MINUTE {
        let row = units::show_duration(row);
        notes.push(format!(
            "minutes outside the goal are rows of {row} here, and disturbances are as much shorter as rows are shorter \
             than a minute"
        ));
    }
    if let (Some(allowed), None) = (judge.limits.outside, asked.limits.outside) {
        notes.push(format!(
            "today is outside the goal for {:.0} minutes: fewer come first, down to {allowed:.0} (1 %), and the cost second; --outside \
             sets another bound",
            judge.today().exact.outside
        ));
    }
    let interrupted = (evaluator.shell.interrupted)();
    let savings = if interrupted { Vec::new() } else { savings(evaluator, judge, &best) };
    // It may have come meanwhile.
    let interrupted = interrupted || (evaluator.shell.interrupted)();
    if interrupted {
        notes.push(
            "interrupted: these are the best settings so far, without a frontier and a promise".to_owned(),
        );
    }
    let savings = if interrupted { Vec::new() } else { savings };
    // What is promised is the saving of one day that the search did not see. Whether there is any is asked of their mean.
    let promised = saving(&savings, 1.0 + 1.0 / savings.len() as f64);
    let saves = saving(&savings, 1.0 / savings.len() as f64).is_some_and(|mean| mean.low > 0.0);
    // Fewer minutes outside the goal are worth their cost where today is beyond the bounds.
    let misses = beyond(judge.today().exact, judge.bounds()) > 0.0;
    let gains = best != today && (interrupted || misses || saves);
    let best = if gains { best } else { today.clone() };
    let changes = changes(evaluator, judge, &best, interrupted);
    let frontier = frontier(evaluator, judge, &best, interrupted);
    let ewma = frontier
        .iter()
        .flat_map(|point| &point.changes)
        .find(|change| change.to.as_deref() == Some("peak-ewma"));
    if let Some(Setting { key, .. }) = ewma.filter(|_| is_on_aws(evaluator.today())) {
        notes.push(format!(
            "no load balancer of AWS has `peak-ewma`, but headroom's gateway has; to leave it out, write `tune: {{ values: [{{ key: {key}, \
             values: [round-robin, least-outstanding] }}] }}`"
        ));
    }
    let stage = &evaluator.case.stages[evaluator.stage];
    let goal = stage.system.services.iter().find_map(|service| service.scaling.goal);
    let goal =
        goal.map(|goal| Condition::ResponseTime { quantile: goal.quantile, below: goal.below }.to_string());
    let patches = if gains { patches(evaluator, &best, &asked.inputs, &mut notes) } else { None };
    let Patches { calls, overrides, manifests } = patches.unwrap_or_default();
    let (stage_yaml, case_file) = if gains { written(evaluator, &best, &mut notes) } else { (None, None) };
    Tune {
        version: asked.version,
        case: evaluator.case.name.clone(),
        stage: stage.name.clone(),
        also: asked.also.iter().copied().map(Also::name).collect(),
        goal: goal.unwrap_or_default(),
        today: point(evaluator, judge, &today, Role::Today),
        best: point(evaluator, judge, &best, if gains { Role::Best } else { Role::Today }),
        frontier,
        promised_saving: promised.filter(|_| gains),
        changes,
        scenarios: scenarios(evaluator, &today, &best),
        stage_yaml,
        case_file,
        patch: (!calls.is_empty()).then_some(calls),
        overrides: (!overrides.is_empty()).then_some(overrides),
        manifests: (!manifests.is_empty()).then_some(manifests),
        evaluated,
        interrupted,
        keys: evaluator.dimensions.iter().filter(|dimension| dimension.choices.len() > 1).count(),
        notes,
    }
}

fn is_on_aws(system: &System) -> bool {
    let on_aws =
        |policy: &Policy| matches!(policy, Policy::Aws(aws) if aws.scaler.platform != Platform::Local);
    system.services.iter().any(|service| on_aws(&service.scaling.policy))
}

/// The stage with the changes, and the case file with it.
fn written(
    evaluator: &Evaluator<'_>,
    best: &Candidate,
    notes: &mut Vec<String>,
) -> (Option<String>, Option<String>) {
    let edits = edits(evaluator.dimensions, best);
    let (case, stage) = (evaluator.case, evaluator.stage);
    let name = case.new_stage_name("tuned");
    let file = case.with_stage(stage, &name, ABOUT, &edits);
    if let Err(error) = &file {
        notes.push(format!("no case file is written: {error}"));
    }
    (Some(case.stage_text(stage, &name, ABOUT, &edits)), file.ok())
}

/// The changes in the formats of the objects that have them.
fn patches(
    evaluator: &Evaluator<'_>,
    best: &Candidate,
    inputs: &[(String, String)],
    notes: &mut Vec<String>,
) -> Option<Patches> {
    if inputs.is_empty() {
        return None;
    }
    let edits = edits(evaluator.dimensions, best);
    let of_kubernetes = evaluator.case.stages[evaluator.stage]
        .system
        .services
        .iter()
        .any(|service| matches!(service.scaling.policy, Policy::Hpa(_) | Policy::Keda(_)));
    if of_kubernetes {
        return manifests(&edits, inputs, notes);
    }
    let patch = match evaluator.case.patch(evaluator.stage, &edits) {
        Ok(patch) => patch,
        Err(problems) => {
            notes.push(format!("no patch: {}", problems.join("; ")));
            return None;
        }
    };
    if !patch.elsewhere.is_empty() {
        let keys = patch.elsewhere.join(", ");
        notes.push(format!("{NOT_IN_PATCH}, because the case does not say which object has them: {keys}"));
    }
    match Patches::of(inputs, &patch.changes) {
        Ok(found) if found.is_empty() => {
            notes.push("no patch: no setting that changes has an `origin` in the case file".to_owned());
            None
        }
        Ok(found) => Some(found),
        Err(errors) => {
            notes.extend(errors.iter().map(|error| format!("no patch: {error}")));
            None
        }
    }
}

/// The changes as manifests.
fn manifests(edits: &[Edit], inputs: &[(String, String)], notes: &mut Vec<String>) -> Option<Patches> {
    match Case::manifests(edits, inputs) {
        Ok(found) => {
            if !found.elsewhere.is_empty() {
                let keys = found.elsewhere.join(", ");
                notes.push(format!("{NOT_IN_PATCH}, because no object of the files has them: {keys}"));
            }
            let of = |Manifest { name, text, undo }| PatchManifest { name, text, undo };
            Some(Patches { manifests: found.changed.into_iter().map(of).collect(), ..Patches::default() })
        }
        Err(errors) => {
            notes.extend(errors.iter().map(|error| format!("no patch: {error}")));
            None
        }
    }
}

/// A confirmed candidate.
fn point(evaluator: &Evaluator<'_>, judge: &Judge, candidate: &Candidate, is: Role) -> Point {
    known_point(evaluator, judge, judge.confirmed(candidate).unwrap_or(judge.today()), is)
}

fn known_point(evaluator: &Evaluator<'_>, judge: &Judge, known: &Known, is: Role) -> Point {
    let found = known.exact;
    Point {
        cost_per_hour: found.cost,
        p95_ms: 1e3 * found.p95,
        outside_goal_minutes: found.outside,
        bad_share: found.bad,
        actions: found.actions,
        flaps: found.flaps,
        seeds: known.runs.len(),
        is,
        within_bounds: beyond(found, judge.bounds()) == 0.0,
        changes: settings(evaluator.dimensions, &known.candidate),
    }
}

fn settings(dimensions: &[Dimension], candidate: &Candidate) -> Vec<Setting> {
    let setting = |(_, dimension, choice): (usize, &Dimension, &config::case::Choice)| Setting {
        key: dimension.key.clone(),
        from: from(dimensions, dimension),
        to: choice.text.clone(),
    };
    chosen(dimensions, candidate).map(setting).collect()
}

/// Today's value of a key; none for keys of policies that are not today's.
fn from(dimensions: &[Dimension], dimension: &Dimension) -> Option<String> {
    let is_fresh = dimension.when.is_some_and(|(other, value)| value != dimensions[other].today);
    if is_fresh { None } else { dimension.choices[dimension.today].text.clone() }
}

/// Savings of each day in percent of today's cost.
fn saving(savings: &[f64], spread: f64) -> Option<Saving> {
    let count = savings.len() as f64;
    if savings.is_empty() {
        return None;
    }
    let percent = savings.iter().sum::<f64>() / count;
    let variance = savings.iter().map(|one| (one - percent).powi(2)).sum::<f64>() / (count - 1.0).max(1.0);
    let half =
        if savings.len() > 1 { student_t(0.05, count - 1.0) * (variance * spread).sqrt() } else { 0.0 };
    Some(Saving { percent, low: percent - half, high: percent + half })
}

/// What the best saves on days that the search did not see, in percent.
fn savings(evaluator: &mut Evaluator<'_>, judge: &Judge, best: &Candidate) -> Vec<f64> {
    let today = judge.today().candidate.clone();
    let found = evaluator.unseen(&[today.clone(), best.clone()]);
    let [Some(now), Some(then)] = &found[..] else { return Vec::new() };
    let ratio = judge.cost_ratio(best) / judge.cost_ratio(&today);
    // A day without requests may cost nothing.
    let days = now.iter().zip(then).filter(|(now, _)| now.cost > 0.0);
    days.map(|(now, then)| 100.0 * (1.0 - ratio * then.cost / now.cost)).collect()
}

/// The changes, each with what it saves after those before it: the one that saves most first.
fn changes(evaluator: &mut Evaluator<'_>, judge: &Judge, best: &Candidate, interrupted: bool) -> Vec<Change> {
    let dimensions = evaluator.dimensions;
    let mut current = judge.today().candidate.clone();
    let places: Vec<usize> = chosen(dimensions, best).map(|(place, ..)| place).collect();
    let is_fresh =
        |place: usize| dimensions[place].when.is_some_and(|(other, value)| value != dimensions[other].today);
    let mut units: Vec<Vec<usize>> =
        places.iter().filter(|place| !is_fresh(**place)).map(|place| vec![*place]).collect();
    for unit in &mut units {
        let belongs = |place: &&usize| {
            dimensions[**place].when.is_some_and(|(other, _)| other == unit[0]) && is_fresh(**place)
        };
        unit.extend(places.iter().filter(belongs).copied().collect::<Vec<_>>());
    }
    let with = |candidate: &Candidate, unit: &[usize]| {
        let mut candidate = candidate.clone();
        unit.iter().for_each(|place| candidate[*place] = best[*place]);
        candidate
    };
    let change = |place: usize, saves: Option<Saving>| Change {
        key: dimensions[place].key.clone(),
        from: from(dimensions, &dimensions[place]),
        to: dimensions[place].choices[best[place]].text.clone(),
        saves,
    };
    let mut found = Vec::new();
    let first = if interrupted { None } else { evaluator.unseen(std::slice::from_ref(&current)).remove(0) };
    let mut before = first.clone();
    let scale = scale(evaluator, judge, best, first.as_deref());
    while !units.is_empty() {
        let next: Vec<Candidate> = units.iter().map(|unit| with(&current, unit)).collect();
        let days = if before.is_some() { evaluator.unseen(&next) } else { vec![None; next.len()] };
        let cost =
            |days: &Option<Vec<Metrics>>| days.as_ref().map_or(f64::MAX, |days| Metrics::mean(days).cost);
        let cheapest =
            (0..units.len()).min_by(|one, other| cost(&days[*one]).total_cmp(&cost(&days[*other])));
        let place = cheapest.unwrap_or(0);
        let saves = match (&first, &before, &days[place]) {
            (Some(first), Some(before), Some(after)) => {
                let of = |((first, before), after): ((&Metrics, &Metrics), &Metrics)| {
                    100.0 * scale * (before.cost - after.cost) / first.cost
                };
                let days = first.iter().zip(before).zip(after);
                let savings: Vec<f64> = days.filter(|((first, _), _)| first.cost > 0.0).map(of).collect();
                saving(&savings, 1.0 / savings.len() as f64)
            }
            _ => None,
        };
        // A change that is impossible without others is counted with the next one that is possible.
        if days[place].is_some() {
            before.clone_from(&days[place]);
        }
        let unit = units.remove(place);
        current = with(&current, &unit);
        found.extend(
            unit.iter().enumerate().map(|(number, place)| change(*place, saves.filter(|_| number == 0))),
        );
    }
    found
}

/// How much more request by request saves than minute by minute.
fn scale(evaluator: &mut Evaluator<'_>, judge: &Judge, best: &Candidate, first: Option<&[Metrics]>) -> f64 {
    let last = evaluator.unseen(std::slice::from_ref(best)).remove(0);
    let (Some(first), Some(last)) = (first, last) else { return 1.0 };
    let minute = 1.0 - Metrics::mean(&last).cost / Metrics::mean(first).cost;
    let scale = judge.saving(best) / minute;
    if scale.is_finite() && (0.5..=2.0).contains(&scale) { scale } else { 1.0 }
}

/// Points of which no other is better in cost, p95 and minutes outside the goal; today's and the best always.
fn frontier(evaluator: &Evaluator<'_>, judge: &Judge, best: &Candidate, interrupted: bool) -> Vec<Point> {
    let today = judge.today().candidate.clone();
    let mut points = Vec::new();
    if !interrupted {
        let others = judge.known.iter().filter(|found| found.candidate != today && found.candidate != *best);
        points.extend(others.map(|found| known_point(evaluator, judge, found, Role::Other)));
        points.retain(|point| point.bad_share <= judge.today().exact.bad + POINT_BAD);
    }
    points.push(point(evaluator, judge, &today, Role::Today));
    if *best != today {
        points.push(point(evaluator, judge, best, Role::Best));
    }
    let is_better = |one: &Point, other: &Point| {
        let no_worse = one.cost_per_hour <= other.cost_per_hour
            && one.p95_ms <= other.p95_ms
            && one.outside_goal_minutes <= other.outside_goal_minutes;
        no_worse && one != other
    };
    let mut frontier: Vec<Point> = points
        .iter()
        .filter(|point| point.is != Role::Other || !points.iter().any(|other| is_better(other, point)))
        .cloned()
        .collect();
    frontier.sort_by(|one, other| one.cost_per_hour.total_cmp(&other.cost_per_hour));
    frontier
}

fn scenarios(evaluator: &Evaluator<'_>, today: &Candidate, best: &Candidate) -> Vec<Scenario> {
    let (Some(now), Some(then)) = (evaluator.figures(LEVELS - 1, today), evaluator.figures(LEVELS - 1, best))
    else {
        return Vec::new();
    };
    let scenario = |((scenario, now), then): ((&super::scenario::Scenario, &Metrics), &Metrics)| Scenario {
        name: scenario.name.clone(),
        today_outside_minutes: now.outside,
        best_outside_minutes: then.outside,
        today_cost_per_hour: now.cost,
        best_cost_per_hour: then.cost,
    };
    evaluator.seen().zip(now).zip(then).map(scenario).collect()
}

/// The description of the stage.
const ABOUT: &str = "found by headroom tune";
