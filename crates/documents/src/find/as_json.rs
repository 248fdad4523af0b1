//! The result of a search as JSON: the names that scripts depend on. The schema is [`super::SCHEMA`].

use super::outcome::{Ended, Outcome, Proof};
use super::peak::Peak;
use super::scaling::{self, ScalingDocument};
use super::trials::TrialRow;
use super::words::{Gateway, rows};
use crate::doctor;
use crate::words::{Row, millis, number};
use control::concurrency::Adaptive;
use control::search::closed_loop::{Knee, Measured};
use control::search::limits::Limits;
use control::search::recovery::Recovery;
use control::search::{Found, LimitedBy};
use serde::Serialize;
use serde_json::Value as Json;
use std::path::Path;
use units::Rate;

/// What `headroom find --json` prints.
#[derive(Debug, Serialize)]
struct Document<'a> {
    version: &'static str,
    target: &'a str,
    run: Option<&'a str>,
    date: &'a str,
    summary: Vec<Row>,
    slo: Vec<String>,
    ended: &'static str,
    found: &'static str,
    sustainable_rate: Option<SustainableRate>,
    /// Why the rate is suspect.
    suspect: Vec<String>,
    limited_by: Option<&'static str>,
    findings: &'a [doctor::Found],
    not_conforming: Vec<String>,
    only_path: bool,
    binding: Option<String>,
    calm_response_time_ms: f64,
    late_clusters: LateClusters,
    knee: Option<KneeDocument>,
    overload: Option<Overload>,
    peak: Option<PeakDocument>,
    gateway: Option<GatewayDocument>,
    closed_loop: Vec<StepDocument>,
    trials: Vec<TrialRow>,
    elapsed_s: f64,
    time_limit_s: f64,
}

/// The interval of the rate, in requests a second.
#[derive(Debug, Serialize)]
struct SustainableRate {
    low: f64,
    high: Option<f64>,
    confidence: Option<f64>,
    verified: bool,
    confirmed: bool,
}

/// Clusters of late responses of the calm service.
#[derive(Debug, Serialize)]
struct LateClusters {
    count: u32,
    gap_s: Option<f64>,
}

/// The result of the closed loop.
#[derive(Debug, Serialize)]
struct KneeDocument {
    in_flight: u32,
    best_per_second: f64,
    best_in_flight: u32,
    stopped: String,
    scaling: ScalingDocument,
}

/// A step of the closed loop.
#[derive(Debug, Serialize)]
struct StepDocument {
    in_flight: u32,
    good_per_second: f64,
    p50_ms: f64,
}

/// The overload that was shown on purpose.
#[derive(Debug, Serialize)]
struct Overload {
    rate: f64,
    missed: bool,
    disturbed: bool,
    recovery: Option<RecoveryDocument>,
}

#[derive(Debug, Serialize)]
struct RecoveryDocument {
    rate: f64,
    recovered: bool,
    after_s: Option<f64>,
    limit_s: f64,
}

#[derive(Debug, Serialize)]
struct PeakDocument {
    rate: f64,
    headroom: Option<f64>,
    instances: Option<u32>,
    instances_needed: Option<u32>,
}

/// The gateway file and its limits.
#[derive(Debug, Serialize)]
struct GatewayDocument {
    file: String,
    rate: Option<f64>,
    rate_always: Option<f64>,
    in_flight: Option<u32>,
    adaptive: Option<AdaptiveDocument>,
    target_ms: Option<f64>,
    /// The limit on all paths together.
    service: Option<ServiceDocument>,
}

#[derive(Debug, Serialize)]
struct ServiceDocument {
    in_flight: u32,
    adaptive: AdaptiveDocument,
    queue_places: u32,
    longest_wait_ms: f64,
}

/// A concurrency limit that follows the service.
#[derive(Debug, Serialize)]
struct AdaptiveDocument {
    least: u32,
    most: u32,
    prior: Option<PriorDocument>,
}

#[derive(Debug, Serialize)]
struct PriorDocument {
    rate: f64,
    response_time_ms: f64,
}

/// The whole result. `file` is what became of the gateway file.
pub fn json(outcome: &Outcome, file: Gateway) -> Json {
    let knee = outcome.knee.as_ref();
    let document = Document {
        version: status::version(),
        target: &outcome.target,
        run: outcome.run.as_deref(),
        date: &outcome.date,
        summary: rows(outcome, file).into_rows(),
        slo: outcome.goal.conditions().iter().map(ToString::to_string).collect(),
        ended: ended(outcome.ended),
        found: found(&outcome.found),
        sustainable_rate: sustainable_rate(outcome),
        suspect: outcome.suspect().iter().map(ToString::to_string).collect(),
        limited_by: outcome.limited_by().map(LimitedBy::name),
        findings: &outcome.findings,
        not_conforming: outcome.not_conforming().words(),
        only_path: outcome.only_path,
        binding: outcome.binding().map(|binding| binding.to_string()),
        calm_response_time_ms: millis(outcome.calm),
        late_clusters: LateClusters {
            count: outcome.rhythm.clusters,
            gap_s: outcome.rhythm.gap.map(|gap| gap.as_secs_f64()),
        },
        knee: knee.map(KneeDocument::of),
        overload: outcome.proof.as_ref().map(Overload::of),
        peak: outcome.peak.map(|peak| PeakDocument::of(peak, outcome.low())),
        gateway: file.written().map(|(path, limits)| GatewayDocument::of(outcome, path, &limits)),
        closed_loop: knee.map_or(Vec::new(), |knee| knee.steps.iter().map(StepDocument::of).collect()),
        trials: outcome.trials.iter().map(TrialRow::of).collect(),
        elapsed_s: outcome.elapsed.as_secs_f64(),
        time_limit_s: outcome.time_limit.as_secs_f64(),
    };
    serde_json::to_value(document).expect("names are strings")
}

fn ended(ended: Ended) -> &'static str {
    match ended {
        Ended::Done => "done",
        Ended::Interrupted => "interrupted",
        Ended::NotCalm => "not_calm",
    }
}

fn found(found: &Found) -> &'static str {
    match found {
        Found::Within(_) => "within",
        Found::AtLeast { .. } => "at_least",
        Found::MissedWhenCalm { .. } => "missed_when_calm",
        Found::Unreachable { .. } => "unreachable",
        Found::Unfinished { .. } => "unfinished",
        Found::Invalid => "invalid",
    }
}

/// `None` unless a rate passed a verification.
fn sustainable_rate(outcome: &Outcome) -> Option<SustainableRate> {
    outcome.low()?;
    match outcome.found {
        Found::Within(interval) => Some(SustainableRate {
            low: number(interval.low),
            high: Some(number(interval.high)),
            confidence: Some(interval.confidence.get()),
            verified: interval.verified,
            confirmed: interval.confirmed,
        }),
        Found::AtLeast { rate, verified, .. } => Some(SustainableRate {
            low: number(rate),
            high: None,
            confidence: None,
            verified,
            confirmed: false,
        }),
        Found::MissedWhenCalm { .. }
        | Found::Unreachable { .. }
        | Found::Unfinished { .. }
        | Found::Invalid => None,
    }
}

impl KneeDocument {
    fn of(knee: &Knee) -> Self {
        KneeDocument {
            in_flight: knee.knee,
            best_per_second: number(knee.best),
            best_in_flight: knee.best_at,
            stopped: knee.stopped.to_string(),
            scaling: scaling::document(&scaling::of(knee)),
        }
    }
}

impl StepDocument {
    fn of(step: &Measured) -> Self {
        StepDocument {
            in_flight: step.concurrency,
            good_per_second: number(step.throughput),
            p50_ms: millis(step.response_time),
        }
    }
}

impl Overload {
    fn of(proof: &Proof) -> Self {
        let recovery = |recovery: Recovery| RecoveryDocument {
            rate: number(recovery.rate),
            recovered: recovery.after.is_some(),
            after_s: recovery.after.map(|after| after.as_secs_f64()),
            limit_s: recovery.limit.as_secs_f64(),
        };
        Overload {
            rate: number(proof.rate),
            missed: proof.missed,
            disturbed: proof.disturbed,
            recovery: proof.recovery.map(recovery),
        }
    }
}

impl PeakDocument {
    /// The peak, at a service that carries `low`.
    fn of(peak: Peak, low: Option<Rate>) -> Self {
        PeakDocument {
            rate: number(peak.rate),
            headroom: low.and_then(|low| peak.headroom(low)).map(|share| share.get()),
            instances: peak.instances.map(|count| count.get()),
            instances_needed: low.and_then(|low| peak.needed(low)).map(|count| count.get()),
        }
    }
}

impl GatewayDocument {
    fn of(outcome: &Outcome, path: &Path, limits: &Limits) -> Self {
        let gated = limits.gated;
        GatewayDocument {
            file: path.display().to_string(),
            rate: limits.rate().map(|limit| number(limit.rate)),
            rate_always: limits.always.map(|limit| number(limit.rate)),
            in_flight: gated.map(|gated| gated.in_flight),
            adaptive: gated.and_then(|gated| gated.adaptive).map(AdaptiveDocument::of),
            target_ms: limits.target.map(millis),
            service: (!outcome.only_path).then(|| ServiceDocument {
                in_flight: limits.service.in_flight,
                adaptive: AdaptiveDocument::of(limits.service.adaptive),
                queue_places: limits.service.queue.places,
                longest_wait_ms: millis(limits.service.queue.longest_wait),
            }),
        }
    }
}

impl AdaptiveDocument {
    fn of(found: Adaptive) -> Self {
        AdaptiveDocument {
            least: found.least,
            most: found.most,
            prior: found.prior.map(|prior| PriorDocument {
                rate: number(prior.rate),
                response_time_ms: millis(prior.response_time),
            }),
        }
    }
}
