//! A calibration as a case file: the model, with the figures and the backtest as comments.

use super::document::Asked;
use super::fit::Fitted;
use super::measure::Measured;
use super::model::Kind;
use config::case::Calibration as Mark;
use config::case::calibration::{Unknown, Verdict, Worst};
use config::case::write::{Endpoint, Measured as Written, Pool, measured as case_text};
use documents::calibrate::{self as said, Calibration};
use units::Rate;

/// The case file of a calibration, for a service of this name.
pub fn case_file(
    name: &str,
    found: &Calibration,
    fitted: &Fitted,
    asked: &Asked<'_>,
    measured: &Measured,
) -> String {
    let known = asked.known;
    let notes = format!(
        "Written by headroom calibrate {} on {} from {}.\n\n{}",
        found.version,
        found.date,
        found.target,
        found.notes()
    );
    let p95_ms = found.levels.first().and_then(|level| level.p95_ms).unwrap_or(100.0);
    let endpoints = endpoints(found, fitted);
    let endpoints: Vec<Endpoint<'_>> = endpoints.iter().map(Described::endpoint).collect();
    let pool = fitted.model.pool.map(|pool| Pool {
        name: fitted.pooled.as_deref().unwrap_or("shared"),
        places: pool.places,
        held: pool.held,
    });
    case_text(&Written {
        name,
        about: &format!("calibrated from {} on {}", found.target, found.date),
        notes: &notes,
        calibration: &mark(found),
        endpoints: &endpoints,
        server: &fitted.model.server,
        cores: known.cores,
        pool,
        rate: fitted.best.value / 2.0,
        background: fitted.model.background,
        start: asked.start.map(|start| start.boot(known.cores)),
        memory_per_process: measured
            .memory
            .zip(known.processes)
            .map(|([_, used], processes)| used / u64::from(processes)),
        goal: &format!("p(95)<{:.0}ms", (GOAL * p95_ms).ceil()),
    })
}

/// An endpoint of the model, and what its figures are.
struct Described {
    kind: Kind,
    share: Option<f64>,
    notes: String,
}

impl Described {
    fn endpoint(&self) -> Endpoint<'_> {
        let Described { kind, share, notes } = self;
        Endpoint { name: &kind.name, share: *share, cpu: &kind.cpu, wait: &kind.wait, notes }
    }
}

fn endpoints(found: &Calibration, fitted: &Fitted) -> Vec<Described> {
    let several = fitted.model.kinds.len() > 1;
    let notes = |kind: &Kind| {
        let said = found.endpoints.iter().find(|one| one.name == kind.name);
        said.map_or_else(String::new, said::Endpoint::notes)
    };
    let one = |kind: Kind| Described { notes: notes(&kind), share: several.then_some(kind.share), kind };
    fitted.model.endpoints().into_iter().map(one).collect()
}

/// What the case file says of its own model.
fn mark(found: &Calibration) -> Mark {
    Mark {
        verdict: match found.verdict {
            said::Verdict::Valid => Verdict::Valid,
            said::Verdict::Suspect => Verdict::Suspect,
        },
        reasons: found.reasons.clone(),
        worst: found.worst.as_ref().map(|worst| Worst {
            what: worst.what.to_owned(),
            at: Rate::per_second_of(worst.rate_per_second),
            predicted: worst.predicted,
            measured: worst.measured,
        }),
        unknown: Unknown::ALL.into_iter().filter(|figure| found.unknown.contains(&figure.name())).collect(),
    }
}

/// The goal of the case file, as a multiple of p95 of one user: something to begin with.
const GOAL: f64 = 3.0;
