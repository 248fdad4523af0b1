//! The outcome as a document: that of any experiment, and what the copies cost in cores and milliseconds.

use super::super::document::{counted, is_bounded, planned, word};
use super::stage::{End, Session};
use control::trial::{Finding, Stopped, Trial, Verdict as Found};
use documents::experiment::{Answers, Candidate, Cost, Experiment, Mirroring, NoiseFloor, Verdict};
use stats::median;

/// The values of the variable.
pub(super) const OFF: &str = "off";
pub(super) const ON: &str = "on";

pub(super) fn document(
    session: &Session<'_>,
    trial: Option<&Trial>,
    end: &End,
    resumed: bool,
    seconds: f64,
) -> Experiment {
    let file = session.wanted.file;
    let voids = trial.map(Trial::void).unwrap_or_default();
    let mut verdicts: Vec<Verdict> = trial
        .iter()
        .flat_map(|trial| trial.verdicts())
        .filter_map(|found| verdict(session, &found))
        .collect();
    verdicts.sort_by_key(|verdict| !verdict.primary);
    let stopped = trial.and_then(|trial| trial.stopped(0));
    let mut notes = session.notes.clone();
    if !resumed {
        notes.push("the gateway did not confirm that it copies again; its pause ends by itself".to_owned());
    }
    Experiment {
        version: session.wanted.version,
        name: file.name.clone(),
        variable: "mirroring".to_owned(),
        control: OFF.to_owned(),
        design: "slices",
        design_reason: "a gateway copies or it does not, and copies that are under way have to end"
            .to_owned(),
        primary: session.measures.first().map_or("processor_time", |chosen| chosen.name),
        margin: file.margin,
        plan: session.plan.map(|plan| planned(&plan, file.effect)),
        promised_seconds: session.promised.map(|promised| promised.as_secs_f64()),
        restarts: None,
        noise_floor: session.noise.map(|noise| NoiseFloor {
            spread: noise.spread,
            blocks: noise.count,
            offset: (!session.equal.is_empty()).then(|| median(&session.equal)),
            source: "second_control",
        }),
        seconds,
        blocks: trial.map_or(0, Trial::counted),
        void_blocks: voids.len(),
        voids: counted(voids),
        ended: end.words(),
        hypothesis: None,
        mirroring: Some(mirroring(session, &verdicts, resumed)),
        verdicts,
        candidates: vec![candidate(session, stopped)],
        fleet: Vec::new(),
        answers: Answers { complete: true, ..Answers::default() },
        examined: Vec::new(),
        search: None,
        notes,
        data: session.data.clone(),
    }
}

fn candidate(session: &Session<'_>, stopped: Option<Stopped>) -> Candidate {
    let (state, of) = match stopped {
        None => ("compared", String::new()),
        Some(Stopped::Dead { .. }) => ("ended", String::new()),
        Some(Stopped::Harm { measure, .. }) => (
            "stopped",
            session.measures.get(measure).map_or(String::new(), |chosen| format!("{} is ", chosen.name)),
        ),
    };
    Candidate { value: ON.to_owned(), state, reason: stopped.map(|why| format!("{of}{why}")) }
}

fn verdict(session: &Session<'_>, found: &Found) -> Option<Verdict> {
    let chosen = session.measures.get(found.measure)?;
    let end = |value: f64| value.is_finite().then_some(value);
    let [off, on] = session.values.each_ref().map(|values| {
        let values = values.get(found.measure).filter(|values| !values.is_empty())?;
        Some(median(values))
    });
    let block = session.plan.map_or(0.0, |plan| 2.0 * (plan.measured + plan.settle).as_secs_f64());
    Some(Verdict {
        route: "all".to_owned(),
        measure: chosen.name,
        candidate: ON.to_owned(),
        verdict: word(found.finding),
        effect: found.estimate.and_then(end),
        low: end(found.effect.low).filter(|_| found.steady && is_bounded(&chosen.measure, found.effect)),
        high: end(found.effect.high).filter(|_| found.steady),
        primary: found.measure == 0,
        control_value: off,
        candidate_value: on,
        unit: chosen.unit,
        blocks: found.blocks,
        more_seconds: found
            .more_blocks
            .filter(|_| found.finding == Finding::CannotTell)
            .map(|more| more as f64 * block),
        steady: found.steady,
    })
}

/// The cost: effects are shares of what the gateway needs without copies, which is known at the traffic of the experiment.
fn mirroring(session: &Session<'_>, verdicts: &[Verdict], resumed: bool) -> Mirroring {
    let [off, on] = session.parts;
    let time = (off.time + on.time).as_secs_f64();
    let rate = (time > 0.0).then(|| (off.responses + on.responses) as f64 / time);
    let cost = |measure: &str, times: Option<f64>| {
        let verdict = verdicts.iter().find(|verdict| verdict.measure == measure)?;
        let scale = verdict.control_value? * times?;
        let of = |effect: Option<f64>| effect.map(|effect| effect * scale);
        Some(Cost { value: of(verdict.effect)?, low: of(verdict.low), high: of(verdict.high) })
    };
    let mut mirrors: Vec<String> =
        session.first.copies.iter().filter_map(|copied| copied.mirror.clone()).collect();
    mirrors.sort();
    mirrors.dedup();
    Mirroring {
        gateway: session.wanted.file.gateway.listen.to_string(),
        mirrors,
        capture: session.first.copies.iter().any(|copied| copied.mirror.is_none()),
        responses_per_second: rate,
        copies_per_request: (on.arrived > 0).then(|| on.copies as f64 / on.arrived as f64),
        cores: cost("processor_time", rate),
        live_cores: cost("live_processor_time", rate),
        p99_seconds: cost("p99", Some(1.0)),
        resumed,
    }
}
