//! What came out as JSON. The schema is [`super::SCHEMA`].

use super::fidelity::ByMinute;
use super::real::RealDocument;
use super::varied::{Varied, VariedDocument};
use super::versus::Compared;
use super::{Calibrated, Judged, RealScaling, Simulation, Stage, Verdict, Versus};
use serde::Serialize;
use serde_json::Value as Json;
use sim::outcome::{Averaged, Quantiles, ServiceOutcome, Totals, ZoneTotals};
use sim::{Fidelity, Outcome};
use std::collections::BTreeMap;

impl Simulation {
    /// The whole result; with `decisions`, also what was decided and what happened to instances.
    pub fn json(&self, decisions: bool) -> Json {
        serde_json::to_value(Document::of(self, decisions)).expect("names are strings")
    }
}

#[derive(Debug, Serialize)]
struct Document<'a> {
    version: &'static str,
    case: &'a str,
    about: &'a str,
    /// The calibration that the model comes from; null: the figures are from elsewhere.
    calibration: Option<&'a Calibrated>,
    /// Whether costs are withheld, as savings from a suspect model.
    costs_withheld: bool,
    seeds: &'a [u64],
    took_s: f64,
    recorded_s: f64,
    stages: Vec<StageRuns<'a>>,
    rows: Vec<PublishedRow<'a>>,
    /// Whether all required rows hold; null where none is required.
    met: Option<bool>,
    compare: Option<Compared<'a>>,
    /// Null where it was not asked for.
    real_scaling: Option<RealDocument<'a>>,
    minute_by_minute: Option<ByMinute>,
    /// Null without a grid.
    vary: Option<VariedDocument<'a>>,
    assumptions: Vec<Assumed>,
}

#[derive(Debug, Serialize)]
struct Assumed {
    name: &'static str,
    text: &'static str,
}

#[derive(Debug, Serialize)]
struct PublishedRow<'a> {
    what: &'a str,
    published: Option<&'a str>,
    condition: &'a str,
    required: bool,
    /// Why it is not required.
    reason: Option<&'a str>,
    met: Option<bool>,
    verdict: &'static str,
    seeds: &'a [Judged],
}

#[derive(Debug, Serialize)]
struct StageRuns<'a> {
    name: &'a str,
    fidelity: &'static str,
    about: &'a str,
    aside: bool,
    prices: Option<&'a str>,
    notes: &'a [String],
    runs: Vec<Run<'a>>,
}

#[derive(Debug, Serialize)]
struct Run<'a> {
    seed: u64,
    measured_s: f64,
    row_s: f64,
    services: Vec<Service<'a>>,
}

#[derive(Debug, Serialize)]
struct Service<'a> {
    name: &'a str,
    instances: Instances,
    cpu: Cpu,
    requests: Requests<'a>,
    connections: u64,
    ejections: u64,
    balancer_s: Option<Times>,
    application_s: Option<Times>,
    mean_of_per_minute_balancer_s: Option<MeanTimes>,
    mean_of_per_minute_application_s: Option<MeanTimes>,
    queued_s: Option<f64>,
    /// Null where nothing has a price.
    cost_usd: Option<f64>,
    minutes: Minutes,
    actions: u64,
    flaps: u64,
    scores: Option<Scores>,
    remarks: &'a [String],
    /// Null where they were not asked for.
    decisions: Option<Vec<Decision<'a>>>,
    happenings: Option<Vec<Happening>>,
    /// Empty without zones.
    zones: Vec<Zone<'a>>,
}

/// Running instances in a zone at the ends of minutes.
#[derive(Debug, Serialize)]
struct Zone<'a> {
    name: &'a str,
    lowest: u32,
    mean: f64,
    highest: u32,
}

#[derive(Debug, Serialize)]
struct Instances {
    lowest: u32,
    mean: f64,
    highest: u32,
}

#[derive(Debug, Serialize)]
struct Cpu {
    average: Option<f64>,
    maximum: Option<f64>,
    #[serde(rename = "true")]
    busy: Option<f64>,
}

#[derive(Debug, Serialize)]
struct Requests<'a> {
    arrived: u64,
    answered: u64,
    errors: u64,
    refused: u64,
    shed: &'a BTreeMap<&'static str, u64>,
    would_shed: &'a BTreeMap<&'static str, u64>,
    timed_out: u64,
    failed: u64,
    retried: u64,
}

/// Seconds.
#[derive(Debug, Serialize)]
struct Times {
    mean: f64,
    p50: f64,
    p75: f64,
    p90: f64,
    p95: f64,
    p99: f64,
}

/// Seconds.
#[derive(Debug, Serialize)]
struct MeanTimes {
    p50: f64,
    p75: f64,
    p90: f64,
    p95: f64,
    p99: f64,
}

#[derive(Debug, Serialize)]
struct Minutes {
    judged: u64,
    outside_goal: u64,
}

#[derive(Debug, Serialize)]
struct Scores {
    missing: f64,
    excess: f64,
    missing_time: f64,
    excess_time: f64,
    instability: f64,
    capacity_per_second: f64,
}

#[derive(Debug, Serialize)]
struct Decision<'a> {
    at_s: f64,
    when: String,
    from: u32,
    to: u32,
    policy: &'a str,
    reason: &'a str,
}

#[derive(Debug, Serialize)]
struct Happening {
    at_s: f64,
    when: String,
    what: String,
}

impl<'a> Document<'a> {
    fn of(simulation: &'a Simulation, decisions: bool) -> Self {
        let Simulation { simulated, by_minute, verdicts, versus, real, varied } = simulation;
        let missed = verdicts.iter().any(Verdict::missed);
        let required = verdicts.iter().any(Verdict::required);
        let assumptions = simulated.assumptions().into_iter();
        Document {
            version: status::version(),
            case: &simulated.case,
            about: &simulated.about,
            calibration: simulated.calibration.as_ref(),
            costs_withheld: simulated.withholds_costs(),
            seeds: &simulated.seeds,
            took_s: simulated.took.as_secs_f64(),
            recorded_s: simulated.recorded.as_secs_f64(),
            stages: simulated.stages.iter().map(|stage| StageRuns::of(stage, decisions)).collect(),
            rows: verdicts.iter().map(PublishedRow::of).collect(),
            met: required.then_some(!missed),
            compare: versus.as_ref().map(Versus::document),
            real_scaling: real.as_ref().map(RealScaling::document),
            minute_by_minute: by_minute.as_ref().map(|fast| ByMinute::of(simulated, fast)),
            vary: varied.as_ref().map(|varied| Varied::document(varied, simulated)),
            assumptions: assumptions.map(|of| Assumed { name: of.name, text: of.text }).collect(),
        }
    }
}

impl<'a> PublishedRow<'a> {
    fn of(verdict: &'a Verdict) -> Self {
        PublishedRow {
            what: &verdict.what,
            published: verdict.says.as_deref(),
            condition: &verdict.condition,
            required: verdict.required(),
            reason: verdict.reported.as_deref(),
            met: verdict.met(),
            verdict: verdict.word(),
            seeds: &verdict.judged,
        }
    }
}

impl<'a> StageRuns<'a> {
    fn of(stage: &'a Stage, decisions: bool) -> Self {
        let run = |outcome: &'a Outcome| Run {
            seed: outcome.seed,
            measured_s: outcome.measured.as_secs_f64(),
            row_s: outcome.row.as_secs_f64(),
            services: outcome.services.iter().map(|service| Service::of(stage, service, decisions)).collect(),
        };
        StageRuns {
            name: &stage.name,
            fidelity: match stage.fidelity {
                Fidelity::Request => "request",
                Fidelity::Minute => "minute",
            },
            about: &stage.about,
            aside: stage.aside,
            prices: stage.prices.as_deref(),
            notes: &stage.notes,
            runs: stage.outcomes.iter().map(run).collect(),
        }
    }
}

impl<'a> Zone<'a> {
    fn of(zone: &'a ZoneTotals) -> Self {
        Zone { name: &zone.name, lowest: zone.lowest, mean: zone.mean, highest: zone.highest }
    }
}

impl<'a> Service<'a> {
    fn of(stage: &Stage, service: &'a ServiceOutcome, decisions: bool) -> Self {
        let totals = &service.totals;
        Service {
            name: &service.name,
            zones: service.zones.iter().map(Zone::of).collect(),
            instances: Instances { lowest: totals.lowest, mean: totals.mean, highest: totals.highest },
            cpu: Cpu { average: totals.cpu_average, maximum: totals.cpu_maximum, busy: totals.busy },
            requests: Requests::of(totals),
            connections: totals.connections,
            ejections: totals.ejections,
            balancer_s: totals.balancer.map(Times::of),
            application_s: totals.application.map(Times::of),
            mean_of_per_minute_balancer_s: totals.balancer_by_minute.map(MeanTimes::of),
            mean_of_per_minute_application_s: totals.application_by_minute.map(MeanTimes::of),
            queued_s: totals.queued,
            cost_usd: stage.prices.is_some().then_some(totals.cost),
            minutes: Minutes { judged: totals.minutes_judged, outside_goal: totals.minutes_outside },
            actions: totals.actions,
            flaps: totals.flaps,
            scores: totals.scores.map(Scores::of),
            remarks: &service.remarks,
            decisions: decisions.then(|| decided(stage, service)),
            happenings: decisions.then(|| happened(stage, service)),
        }
    }
}

fn decided<'a>(stage: &Stage, service: &'a ServiceOutcome) -> Vec<Decision<'a>> {
    let decisions = service.decisions.notes().iter().map(|noted| Decision {
        at_s: noted.at.as_secs_f64(),
        when: stage.when(noted.at.as_nanos()),
        from: noted.what.from,
        to: noted.what.to,
        policy: &noted.what.policy,
        reason: &noted.what.reason,
    });
    decisions.collect()
}

fn happened(stage: &Stage, service: &ServiceOutcome) -> Vec<Happening> {
    let happenings = service.happenings.notes().iter().map(|noted| Happening {
        at_s: noted.at.as_secs_f64(),
        when: stage.when(noted.at.as_nanos()),
        what: noted.what.to_string(),
    });
    happenings.collect()
}

impl<'a> Requests<'a> {
    fn of(totals: &'a Totals) -> Self {
        Requests {
            arrived: totals.arrived,
            answered: totals.answered,
            errors: totals.errors,
            refused: totals.refused,
            shed: &totals.shed,
            would_shed: &totals.would_shed,
            timed_out: totals.timed_out,
            failed: totals.failed,
            retried: totals.retried,
        }
    }
}

impl Times {
    fn of(times: Quantiles) -> Self {
        let Quantiles { mean, p50, p75, p90, p95, p99 } = times;
        Times { mean, p50, p75, p90, p95, p99 }
    }
}

impl MeanTimes {
    fn of(times: Averaged) -> Self {
        let Averaged { p50, p75, p90, p95, p99 } = times;
        MeanTimes { p50, p75, p90, p95, p99 }
    }
}

impl Scores {
    fn of(scores: sim::outcome::Scores) -> Self {
        Scores {
            missing: scores.missing,
            excess: scores.excess,
            missing_time: scores.missing_time,
            excess_time: scores.excess_time,
            instability: scores.instability,
            capacity_per_second: scores.capacity,
        }
    }
}
