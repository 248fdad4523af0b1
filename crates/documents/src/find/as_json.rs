//! What a search found as JSON. The schema is [`super::SCHEMA`].

use super::outcome::{Ended, Outcome, Tried};
use super::scaling;
use crate::words::millis;
use control::concurrency::Adaptive;
use control::search::limits::Limits;
use control::search::{Found, LimitedBy};
use serde_json::{Value as Json, json};
use std::path::Path;
use units::Rate;

/// The whole result. `written` is the gateway file.
pub fn json(outcome: &Outcome, written: Option<(&Path, Limits)>) -> Json {
    let knee = outcome.knee.as_ref();
    json!({
        "version": status::version(),
        "target": outcome.target,
        "run": outcome.run,
        "date": outcome.date,
        "slo": outcome.goal.conditions().iter().map(ToString::to_string).collect::<Vec<_>>(),
        "ended": match outcome.ended {
            Ended::Done => "done",
            Ended::Interrupted => "interrupted",
            Ended::NotCalm => "not_calm",
        },
        "found": match outcome.found {
            Found::Within(_) => "within",
            Found::AtLeast { .. } => "at_least",
            Found::MissedWhenCalm { .. } => "missed_when_calm",
            Found::Unreachable { .. } => "unreachable",
            Found::Unfinished { .. } => "unfinished",
            Found::Invalid => "invalid",
        },
        "sustainable_rate": sustainable_rate(outcome),
        "limited_by": outcome.limited_by().map(LimitedBy::name),
        "not_conforming": outcome.not_conforming().words(),
        "only_path": outcome.only_path,
        "binding": outcome.binding().map(|binding| binding.to_string()),
        "calm_response_time_ms": millis(outcome.calm),
        "late_clusters": {
            "count": outcome.rhythm.clusters,
            "gap_s": outcome.rhythm.gap.map(|gap| gap.as_secs_f64()),
        },
        "knee": knee.map(|knee| json!({
            "in_flight": knee.knee,
            "best_per_second": number(knee.best),
            "best_in_flight": knee.best_at,
            "stopped": knee.stopped.to_string(),
            "scaling": scaling::json(&scaling::of(knee)),
        })),
        "overload": outcome.proof.map(|proof| json!({
            "rate": number(proof.rate),
            "missed": proof.missed,
            "disturbed": proof.disturbed,
            "recovery": proof.recovery.map(|recovery| json!({
                "rate": number(recovery.rate),
                "recovered": recovery.after.is_some(),
                "after_s": recovery.after.map(|after| after.as_secs_f64()),
                "limit_s": recovery.limit.as_secs_f64(),
            })),
        })),
        "peak": outcome.peak.map(|peak| json!({
            "rate": number(peak.rate),
            "headroom": outcome.low().and_then(|low| peak.headroom(low)).map(|share| share.get()),
            "instances": peak.instances.map(|count| count.get()),
            "instances_needed": outcome.low().and_then(|low| peak.needed(low)).map(|count| count.get()),
        })),
        "gateway": written.map(|(path, limits)| gateway(outcome, path, &limits)),
        "closed_loop": knee.map_or(Vec::new(), |knee| {
            knee.steps.iter().map(|step| json!({
                "in_flight": step.concurrency,
                "good_per_second": number(step.throughput),
                "p50_ms": millis(step.response_time),
            })).collect()
        }),
        "trials": outcome.trials.iter().map(trial).collect::<Vec<_>>(),
        "elapsed_s": outcome.elapsed.as_secs_f64(),
        "time_limit_s": outcome.time_limit.as_secs_f64(),
    })
}

/// The gateway file and its limits.
fn gateway(outcome: &Outcome, path: &Path, limits: &Limits) -> Json {
    let gated = limits.gated;
    json!({
        "file": path.display().to_string(),
        "rate": limits.rate().map(|limit| number(limit.rate)),
        "rate_always": limits.always.map(|limit| number(limit.rate)),
        "in_flight": gated.map(|gated| gated.in_flight),
        "adaptive": gated.and_then(|gated| gated.adaptive).map(adaptive),
        "target_ms": limits.target.map(millis),
        "service": (!outcome.only_path).then(|| json!({
            "in_flight": limits.service.in_flight,
            "adaptive": adaptive(limits.service.adaptive),
            "queue_places": limits.service.queue.places,
            "longest_wait_ms": millis(limits.service.queue.longest_wait),
        })),
    })
}

fn adaptive(found: Adaptive) -> Json {
    json!({
        "least": found.least,
        "most": found.most,
        "prior": found.prior.map(|prior| json!({
            "rate": number(prior.rate),
            "response_time_ms": millis(prior.response_time),
        })),
    })
}

fn sustainable_rate(outcome: &Outcome) -> Json {
    match outcome.found {
        _ if outcome.low().is_none() => Json::Null,
        Found::Within(interval) => json!({
            "low": number(interval.low),
            "high": number(interval.high),
            "confidence": interval.confidence.get(),
            "verified": interval.verified,
            "confirmed": interval.confirmed,
        }),
        Found::AtLeast { rate, verified, .. } => json!({
            "low": number(rate), "high": null, "confidence": null, "verified": verified, "confirmed": false,
        }),
        Found::MissedWhenCalm { .. }
        | Found::Unreachable { .. }
        | Found::Unfinished { .. }
        | Found::Invalid => Json::Null,
    }
}

fn trial(tried: &Tried) -> Json {
    let outcome = &tried.outcome;
    let verdict = match () {
        () if outcome.is_good() => "good",
        () if outcome.is_bad() => "bad",
        () => "disturbed",
    };
    json!({
        "rate": number(outcome.trial.rate),
        "purpose": outcome.trial.purpose.to_string(),
        "verdict": verdict,
        "reason": match &tried.disturbed_by {
            Some(what) => format!("disturbed: {what}"),
            None => outcome.verdict.to_string(),
        },
        "ran_s": outcome.ran.as_secs_f64(),
        "achieved_per_second": number(tried.achieved),
        "p50_ms": tried.p50.map(millis),
        "p95_ms": tried.p95.map(millis),
    })
}

/// Three decimals: more is noise.
fn number(rate: Rate) -> f64 {
    (rate.per_second() * 1e3).round() / 1e3
}
