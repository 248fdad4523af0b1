//! What came out as JSON. The schema is `schemas/simulate.schema.json` of the crate `headroom`.

use super::{Simulation, Stage, Verdict, Versus, fidelity};
use serde_json::{Value as Json, json};
use sim::Fidelity;
use sim::outcome::{Averaged, Quantiles, ServiceOutcome};

impl Simulation {
    /// The whole result; with `decisions`, also what was decided and what happened to instances.
    pub fn json(&self, decisions: bool) -> Json {
        let Simulation { simulated, by_minute, verdicts, versus } = self;
        let missed = verdicts.iter().any(Verdict::missed);
        let required = verdicts.iter().any(Verdict::required);
        let assumptions = simulated.assumptions().into_iter();
        json!({
            "version": env!("CARGO_PKG_VERSION"),
            "case": simulated.case,
            "about": simulated.about,
            "seeds": simulated.seeds,
            "took_s": simulated.took.as_secs_f64(),
            "recorded_s": simulated.recorded.as_secs_f64(),
            "stages": simulated.stages.iter().map(|stage| stage_json(stage, decisions)).collect::<Vec<_>>(),
            "rows": verdicts.iter().map(row).collect::<Vec<_>>(),
            "met": required.then_some(!missed),
            "compare": versus.as_ref().map(Versus::json),
            "minute_by_minute": by_minute.as_ref().map(|fast| fidelity::json(simulated, fast)),
            "assumptions": assumptions
                .map(|assumption| json!({ "name": assumption.name, "text": assumption.text }))
                .collect::<Vec<_>>(),
        })
    }
}

fn row(verdict: &Verdict) -> Json {
    json!({
        "what": verdict.what,
        "published": verdict.says,
        "condition": verdict.condition,
        "required": verdict.required(),
        "reason": verdict.reported,
        "met": verdict.met(),
        "verdict": verdict.word(),
        "seeds": verdict.judged.iter().map(|judged| json!({
            "met": judged.met,
            "values": judged.values,
            "simulated": judged.found,
        })).collect::<Vec<_>>(),
    })
}

fn stage_json(stage: &Stage, decisions: bool) -> Json {
    json!({
        "name": stage.name,
        "fidelity": match stage.fidelity {
            Fidelity::Request => "request",
            Fidelity::Minute => "minute",
        },
        "about": stage.about,
        "aside": stage.aside,
        "prices": stage.prices,
        "notes": stage.notes,
        "runs": stage.outcomes.iter().map(|outcome| json!({
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
                    "when": stage.when(noted.at.as_nanos()),
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
                "when": stage.when(noted.at.as_nanos()),
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
