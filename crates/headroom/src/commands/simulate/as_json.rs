//! What came out as JSON. The schema is `schemas/simulate.schema.json`.

use super::drive::Done;
use super::verdict::Verdict;
use super::versus::Versus;
use super::words::when;
use config::case::Stage;
use serde_json::{Value as Json, json};
use sim::outcome::{Averaged, Quantiles, ServiceOutcome};
use sim::{Fidelity, Outcome};

/// The whole result.
pub fn json(
    done: &Done<'_>,
    fast: Option<&Done<'_>>,
    verdicts: &[Verdict<'_>],
    versus: Option<&Versus>,
    decisions: bool,
) -> Json {
    let stages = done.stages().zip(&done.fidelities);
    let missed = verdicts.iter().any(Verdict::missed);
    let required = verdicts.iter().any(Verdict::required);
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "case": done.case.name,
        "about": done.case.about,
        "seeds": done.seeds,
        "took_s": done.took.as_secs_f64(),
        "recorded_s": done.recorded.as_secs_f64(),
        "stages": stages
            .map(|((stage, outcomes), fidelity)| stage_json(stage, *fidelity, outcomes, decisions))
            .collect::<Vec<_>>(),
        "rows": verdicts.iter().map(row).collect::<Vec<_>>(),
        "met": required.then_some(!missed),
        "compare": versus.map(Versus::json),
        "minute_by_minute": fast.map(|fast| super::fidelity::json(done, fast)),
        "assumptions": assumptions(done),
    })
}

fn assumptions(done: &Done<'_>) -> Vec<Json> {
    let mut all = Vec::new();
    for assumption in done.outcomes.iter().flatten().flat_map(|outcome| &outcome.assumptions) {
        if !all.contains(assumption) {
            all.push(*assumption);
        }
    }
    all.iter().map(|assumption| json!({ "name": assumption.name, "text": assumption.text })).collect()
}

fn row(verdict: &Verdict<'_>) -> Json {
    json!({
        "what": verdict.row.what,
        "published": verdict.row.says,
        "condition": verdict.row.text,
        "required": verdict.required(),
        "reason": verdict.row.reported,
        "met": verdict.met(),
        "verdict": verdict.word(),
        "seeds": verdict.judged.iter().map(|judged| json!({
            "met": judged.met,
            "values": judged.values,
            "simulated": judged.found,
        })).collect::<Vec<_>>(),
    })
}

fn stage_json(stage: &Stage, fidelity: Fidelity, outcomes: &[Outcome], decisions: bool) -> Json {
    json!({
        "name": stage.name,
        "fidelity": match fidelity {
            Fidelity::Request => "request",
            Fidelity::Minute => "minute",
        },
        "about": stage.about,
        "aside": stage.aside,
        "prices": stage.prices,
        "notes": stage.notes,
        "runs": outcomes.iter().map(|outcome| json!({
            "seed": outcome.seed,
            "measured_s": outcome.measured.as_secs_f64(),
            "services": outcome.services.iter().map(|service| service_json(stage, service, decisions)).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
    })
}

fn service_json(stage: &Stage, service: &ServiceOutcome, decisions: bool) -> Json {
    let totals = &service.totals;
    let decided = decisions.then(|| {
        let notes = service.decisions.notes().iter();
        notes
            .map(|noted| {
                json!({
                    "at_s": noted.at.as_secs_f64(),
                    "when": when(stage, noted.at.as_nanos()),
                    "from": noted.what.from,
                    "to": noted.what.to,
                    "policy": noted.what.policy,
                    "reason": noted.what.reason,
                })
            })
            .collect::<Vec<_>>()
    });
    let happened = decisions.then(|| {
        let notes = service.happenings.notes().iter();
        let shown = notes.map(|noted| {
            json!({
                "at_s": noted.at.as_secs_f64(),
                "when": when(stage, noted.at.as_nanos()),
                "what": noted.what.to_string(),
            })
        });
        shown.collect::<Vec<_>>()
    });
    json!({
        "name": service.name,
        "instances": { "lowest": totals.lowest, "mean": totals.mean, "highest": totals.highest },
        "cpu": { "average": totals.cpu_average, "maximum": totals.cpu_maximum, "true": totals.busy },
        "requests": {
            "arrived": totals.arrived,
            "answered": totals.answered,
            "errors": totals.errors,
            "refused": totals.refused,
            "shed": totals.shed,
            "timed_out": totals.timed_out,
            "failed": totals.failed,
            "retried": totals.retried,
        },
        "connections": totals.connections,
        "balancer_s": totals.balancer.map(quantiles),
        "application_s": totals.application.map(quantiles),
        "mean_of_per_minute_balancer_s": totals.balancer_by_minute.map(averaged),
        "mean_of_per_minute_application_s": totals.application_by_minute.map(averaged),
        "queued_s": totals.queued,
        "cost_usd": stage.prices.is_some().then_some(totals.cost),
        "minutes": { "judged": totals.minutes_judged, "outside_goal": totals.minutes_outside },
        "actions": totals.actions,
        "flaps": totals.flaps,
        "scores": totals.scores.map(|scores| json!({
            "missing": scores.missing,
            "excess": scores.excess,
            "missing_time": scores.missing_time,
            "excess_time": scores.excess_time,
            "instability": scores.instability,
            "capacity_per_second": scores.capacity,
        })),
        "remarks": service.remarks,
        "decisions": decided,
        "happenings": happened,
    })
}

fn quantiles(times: Quantiles) -> Json {
    let Quantiles { mean, p50, p75, p90, p95, p99 } = times;
    json!({ "mean": mean, "p50": p50, "p75": p75, "p90": p90, "p95": p95, "p99": p99 })
}

fn averaged(times: Averaged) -> Json {
    let Averaged { p50, p75, p90, p95, p99 } = times;
    json!({ "p50": p50, "p75": p75, "p90": p90, "p95": p95, "p99": p99 })
}
