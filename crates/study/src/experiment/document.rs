//! The outcome of an experiment as a document.

use super::arms::{Candidate, Running};
use super::block::Tally;
use super::planning::POWER;
use super::stage::{End, Session};
use super::{Recording, data};
use crate::calibrate::changed_server;
use config::experiment::Design as Asked;
use control::diagnosis::Outcome;
use control::trial::answers::Answers as Compared;
use control::trial::{Design, Effect, Finding, Measure, Probing, Stopped, Trial, Verdict as Found, Void};
use documents::experiment::{
    Answers, ArmAnswers, ArmExamined, Candidate as Shown, Difference, Examined, Example, Experiment, Fleet,
    Hypothesis, NoiseFloor, Part, Plan, Restarts, Verdict, Voids,
};
use stats::{Interval, median};
use std::time::Duration;

pub(super) fn document(session: &Session<'_>, trial: Option<&Trial>, end: &End) -> Experiment {
    let file = session.wanted.file;
    let (design, design_reason) = design(session, trial);
    let voids = trial.map_or(session.voids.as_slice(), Trial::void);
    let noise_floor = session.noise.map(|noise| NoiseFloor {
        spread: noise.spread,
        blocks: noise.count,
        offset: session.offset,
        source: if session.wanted.second_control.is_some() { "second_control" } else { "candidate" },
    });
    let verdicts = trial.map(|trial| verdicts(session, trial)).unwrap_or_default();
    let answers = answers(session);
    Experiment {
        version: session.wanted.version,
        name: file.name.clone(),
        variable: file.variable.clone(),
        control: file.control.value.clone(),
        design,
        design_reason,
        primary: session.measures.first().map_or("p50", |chosen| chosen.name),
        margin: file.margin,
        plan: session.plan.map(|plan| Plan {
            cost: file.fleet.and_then(|fleet| fleet.per_hour).map(|_| plan.cost),
            ..planned(&plan, file.effect)
        }),
        promised_seconds: session.promised.map(|promised| promised.as_secs_f64()),
        noise_floor,
        restarts: session.restarts.map(|restarts| Restarts {
            between: restarts.components.between,
            within: restarts.components.within,
            p: restarts.components.p,
            processes: 2 * (restarts.count - 1),
            differ: restarts.differ(),
            seconds: restarts.takes.as_secs_f64(),
        }),
        seconds: session.begun.elapsed().as_secs_f64(),
        blocks: trial.map_or(0, Trial::counted),
        void_blocks: voids.len(),
        voids: counted(voids),
        ended: end.words(),
        hypothesis: file.hypothesis.as_ref().map(|hypothesis| Hypothesis {
            finding: hypothesis.finding.code(),
            run: hypothesis.run.clone(),
            outcome: outcome(trial).name(),
        }),
        fleet: file
            .fleet
            .map(|fleet| Fleet::of(&verdicts, fleet.servers, fleet.per_hour))
            .unwrap_or_default(),
        verdicts,
        candidates: candidates(session, trial),
        examined: examined(session),
        search: None,
        mirroring: None,
        notes: notes(session, trial, &answers),
        answers,
        data: session.data.clone(),
    }
}

/// A plan for this effect, without its cost. If the time finds no effect, the promise is beyond the time.
pub(super) fn planned(plan: &control::trial::Plan, wanted: f64) -> Plan {
    let detectable = Some(plan.detectable).filter(|effect| effect.is_finite());
    Plan {
        wanted_effect: wanted,
        effect: detectable.map_or(wanted, |effect| effect.max(wanted)),
        power: POWER,
        blocks: plan.blocks,
        detectable_effect: detectable,
        cost: None,
    }
}

/// What the primary measure says of the finding that the experiment was made for.
fn outcome(trial: Option<&Trial>) -> Outcome {
    let all = trial.map(Trial::verdicts).unwrap_or_default();
    let primary = all.iter().filter(|found| found.measure == 0).map(|found| found.finding);
    Outcome::of(&primary.collect::<Vec<_>>())
}

fn design(session: &Session<'_>, trial: Option<&Trial>) -> (&'static str, String) {
    let asked = session.wanted.file.design;
    let name = |design: Design| match design {
        Design::Duet => "duet",
        Design::Alternating => "alternating",
        Design::Slices => "slices",
        Design::Restarts => "restarts",
    };
    let planned = session.plan.map(|plan| match plan.probes {
        true => (plan.design, "the arms can run at once; blocks with the control alone test it".to_owned()),
        false => (plan.design, plan.why.to_string()),
    });
    match (trial, planned, asked) {
        (Some(trial), Some((design, _)), _) if trial.design() != design => {
            (name(trial.design()), "probes found that the arms disturb each other".to_owned())
        }
        (_, _, Some(asked)) => {
            let name = match asked {
                Asked::Duet => "duet",
                Asked::Alternating => "alternating",
                Asked::Slices => "slices",
                Asked::Restarts => "restarts",
            };
            (name, "the file asks for it".to_owned())
        }
        (_, Some((design, why)), None) => (name(design), why),
        (_, None, None) => (name(session.design()), "the plan was not made".to_owned()),
    }
}

pub(super) fn counted(voids: &[Void]) -> Vec<Voids> {
    let mut found: Vec<Voids> = Vec::new();
    for void in voids {
        let reason = match void {
            Void::Incomplete => "incomplete",
            Void::GeneratorLag(_) => "generator_lag",
            Void::StealChanged { .. } => "steal",
            Void::ThrottlingChanged { .. } => "throttling",
            Void::CopiesDropped { .. } => "dropped",
            Void::MixMoved { .. } => "mix",
            Void::ArmsUnequal { .. } => "unequal",
            Void::FewRequests { .. } => "few_requests",
        };
        let last = void.to_string();
        match found.iter_mut().find(|voids| voids.reason == reason) {
            Some(voids) => (voids.count, voids.last) = (voids.count + 1, last),
            None => found.push(Voids { reason, count: 1, last }),
        }
    }
    found
}

/// The verdicts, those of the primary measure first.
fn verdicts(session: &Session<'_>, trial: &Trial) -> Vec<Verdict> {
    let block = session.plan.map_or(0.0, |plan| {
        let parts = if trial.design().is_at_once() { 1 } else { session.compared().len() + 1 };
        let restarts = match trial.design() {
            Design::Restarts => session.restart_time(parts),
            _ => Duration::ZERO,
        };
        let settle = if parts > 1 { plan.settle } else { Duration::ZERO };
        (plan.measured + settle).as_secs_f64() * parts as f64 + restarts.as_secs_f64()
    });
    let running = running(session);
    let mut shown: Vec<Verdict> = trial
        .verdicts()
        .iter()
        .filter_map(|found| verdict(session, running.get(found.candidate)?, found, block))
        .collect();
    shown.sort_by_key(|verdict| !verdict.primary);
    shown
}

fn verdict(session: &Session<'_>, running: &Running, found: &Found, block: f64) -> Option<Verdict> {
    let chosen = session.measures.get(found.measure)?;
    let end = |value: f64| value.is_finite().then_some(value);
    let middle = |running: &Running| {
        let values = running.values.get(found.measure).filter(|values| !values.is_empty())?;
        Some(median(values))
    };
    Some(Verdict {
        route: data::route_of(chosen, &session.routes),
        measure: chosen.name,
        candidate: running.arm.name.clone(),
        verdict: word(found.finding),
        effect: found.estimate.and_then(end),
        low: end(found.effect.low).filter(|_| found.steady && is_bounded(&chosen.measure, found.effect)),
        high: end(found.effect.high).filter(|_| found.steady),
        primary: found.measure == 0,
        control_value: middle(&session.control),
        candidate_value: middle(running),
        unit: chosen.unit,
        blocks: found.blocks,
        more_seconds: found
            .more_blocks
            .filter(|_| found.finding == Finding::CannotTell)
            .map(|more| more as f64 * block),
        steady: found.steady,
    })
}

/// The fixed name of a verdict.
pub(super) fn word(finding: Finding) -> &'static str {
    match finding {
        Finding::Better => "better",
        Finding::Worse => "worse",
        Finding::Same => "same",
        Finding::CannotTell => "cannot_tell",
    }
}

/// Whether the lower end says anything: a ratio without one is more than -100 %.
pub(super) fn is_bounded(measure: &Measure, effect: Interval) -> bool {
    measure.effect == Effect::Difference || effect.low > -1.0
}

/// What limits each service that was examined.
fn examined(session: &Session<'_>) -> Vec<ArmExamined> {
    let all = std::iter::once(&session.control).chain(running(session));
    let examined = all.map(|running| {
        let Examined { seconds, bottleneck } = running.examined();
        ArmExamined { arm: running.arm.name.clone(), seconds, bottleneck }
    });
    examined.filter(|one| one.seconds > 0.0).collect()
}

fn running<'a>(session: &'a Session<'_>) -> Vec<&'a Running> {
    session.candidates.iter().filter_map(Candidate::running).collect()
}

fn candidates(session: &Session<'_>, trial: Option<&Trial>) -> Vec<Shown> {
    let mut compared = 0;
    let mut shown = Vec::new();
    for candidate in &session.candidates {
        shown.push(match candidate {
            Candidate::LeftOut { name, why } => {
                Shown { value: name.clone(), state: "left_out", reason: Some(why.clone()) }
            }
            Candidate::Runs(running) => {
                let stopped = trial.and_then(|trial| trial.stopped(compared));
                compared += 1;
                let value = running.arm.name.clone();
                match stopped {
                    None => Shown { value, state: "compared", reason: None },
                    Some(Stopped::Dead { .. }) => {
                        Shown { value, state: "ended", reason: stopped.map(|why| why.to_string()) }
                    }
                    Some(Stopped::Harm { measure, .. }) => {
                        let of = session.measures.get(measure).map_or("", |chosen| chosen.name);
                        let reason = stopped.map(|why| format!("{of} is {why}"));
                        Shown { value, state: "stopped", reason }
                    }
                }
            }
        });
    }
    shown
}

/// What the services answered, and what the comparison found.
fn answers(session: &Session<'_>) -> Answers {
    let running = running(session);
    let candidates = running.iter().map(|running| arm_answers(&running.arm.name, &running.tally));
    let arms = std::iter::once(arm_answers("control", &session.control.tally)).chain(candidates).collect();
    let compared = session.compared_answers.as_ref().map(|compared| &compared.answers);
    let names: Vec<&str> = running.iter().map(|running| running.arm.name.as_str()).collect();
    answers_of(arms, compared, &names, &session.routes)
}

/// What a service answered.
pub(super) fn arm_answers(arm: &str, tally: &Tally) -> ArmAnswers {
    ArmAnswers {
        arm: arm.to_owned(),
        requests: tally.requests,
        statuses: tally.statuses.clone(),
        no_response: tally.requests.saturating_sub(tally.responses()),
        bytes_per_response: bytes(tally),
    }
}

/// What services answered, and what a comparison of them found, with the names of the candidates and of the routes.
pub(super) fn answers_of(
    arms: Vec<ArmAnswers>,
    compared: Option<&Compared>,
    names: &[&str],
    routes: &[String],
) -> Answers {
    let Some(compared) = compared else {
        return Answers { arms, complete: true, ..Answers::default() };
    };
    let found = compared.found();
    let route = |route: usize| routes.get(route).cloned().unwrap_or_default();
    let differences = found.differences.iter().map(|difference| Difference {
        candidate: names.get(difference.candidate).map_or_else(String::new, |name| (*name).to_owned()),
        route: route(difference.route),
        what: difference.part.name(),
        path: difference.part.path().map(str::to_owned),
        count: difference.count,
        of: difference.of,
        examples: difference
            .examples
            .iter()
            .map(|example| Example { control: example.control.clone(), candidate: example.candidate.clone() })
            .collect(),
    });
    let ignored = found.ignored.iter().map(|(of, part)| Part {
        route: route(*of),
        what: part.name(),
        path: part.path().map(str::to_owned),
    });
    Answers {
        arms,
        wanted: true,
        compared: found.compared,
        control_pairs: found.control_pairs,
        ignored: ignored.take(PARTS_MAX).collect(),
        differences: differences.take(PARTS_MAX).collect(),
        undecided: found.open,
        complete: found.complete && found.ignored.len() <= PARTS_MAX && found.differences.len() <= PARTS_MAX,
    }
}

fn bytes(tally: &Tally) -> Option<f64> {
    let (bytes, responses) = tally.sized;
    (responses > 0).then(|| bytes as f64 / responses as f64)
}

/// What the reader has to know.
fn notes(session: &Session<'_>, trial: Option<&Trial>, answers: &Answers) -> Vec<String> {
    let mut notes = session.notes.clone();
    notes.extend(session.wanted.recording.and_then(Recording::note));
    for running in running(session) {
        notes.extend(running.failed_starts_in_words());
    }
    if let Some(offset) = session.offset.filter(|offset| offset.abs() > session.wanted.file.margin) {
        notes.push(format!(
            "the second control differs from the control by {:+.1} %: an effect of this size may be one of processes and \
             not of {}; repeat the experiment, which starts new ones",
            100.0 * offset, session.wanted.file.variable
        ));
    }
    let control = &session.control.tally;
    for running in running(session) {
        let (name, tally) = (&running.arm.name, &running.tally);
        let share = |tally: &Tally, status: u16| {
            *tally.statuses.get(&status).unwrap_or(&0) as f64 / tally.requests.max(1) as f64
        };
        let statuses: std::collections::BTreeSet<u16> =
            control.statuses.keys().chain(tally.statuses.keys()).copied().collect();
        let differs =
            |what: &str| answers.differences.iter().any(|one| one.candidate == *name && one.what == what);
        // Under load a candidate may answer with a status that it does not have otherwise.
        for status in statuses.into_iter().filter(|_| !differs("status")) {
            let [ours, theirs] = [control, tally].map(|tally| share(tally, status));
            if (ours - theirs).abs() > ANSWERS_DIFFER {
                notes.push(format!(
                    "candidate {name} answers differently: {:.1} % with status {status}, the control {:.1} %",
                    100.0 * theirs,
                    100.0 * ours
                ));
            }
        }
        if let (Some(ours), Some(theirs)) = (bytes(control), bytes(tally))
            && !answers.differences.iter().any(|one| one.candidate == *name)
            && (theirs / ours - 1.0).abs() > SIZES_DIFFER
        {
            notes.push(format!(
                "candidate {name} answers differently: its responses have {theirs:.0} bytes, those of the control {ours:.0}"
            ));
        }
        if let Some((ours, theirs)) = changed_server(&control.heads, &tally.heads) {
            notes.push(format!("candidate {name} answers as the server {theirs}, the control as {ours}"));
        }
    }
    if trial.and_then(Trial::probes).is_some_and(|probes| probes.state() == Probing::Unclear) {
        let note = "whether the arms disturb each other is not known: `shared: nothing` or `shared: something` says so";
        notes.push(note.to_owned());
    }
    if session.busy > 0 {
        notes.push(format!(
            "in {} blocks the generator had no processor time left: response times include its own delay",
            session.busy
        ));
    }
    notes
}

/// Shares of a status that differ by more are shown.
const ANSWERS_DIFFER: f64 = 0.01;
/// Sizes of responses that differ by more are shown.
const SIZES_DIFFER: f64 = 0.05;
/// Parts of answers that are listed.
const PARTS_MAX: usize = 100;
