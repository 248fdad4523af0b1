//! Runs of the ledger as measured points.
//!
//! The concurrency of a run is that of Little's law, so that runs of a rate count too.

#[cfg(test)]
mod tests;

use super::points::{Axis, Point, Points};
use crate::calibrate::{NotUsable, same, usable};
use documents::stored::{Load, Run};
use measure::Verdict;
use std::num::NonZeroU32;
use units::Quantile;

/// Why runs are no points.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum NotPoints {
    /// A run that cannot be used, or runs of different services.
    #[error(transparent)]
    NotUsable(#[from] NotUsable),
    /// A run that was named twice.
    #[error("run {id} is named twice; each run counts once")]
    Twice {
        /// The run.
        id: String,
    },
    /// A mean of so few responses says little.
    #[error(
        "run {id} is too short: {responses} responses; a point needs at least {ENOUGH}: measure for longer, such as \
         headroom load {target} -d 30s"
    )]
    TooShort {
        /// The run.
        id: String,
        /// Its responses.
        responses: u64,
        /// Its target.
        target: String,
    },
    /// Several loads in one run.
    #[error(
        "run {id} has no constant load (stages, a trace or a replay); a point is one rate (load -r) or one number of users \
         (load -c): measure each in a run of its own"
    )]
    Varied {
        /// The run.
        id: String,
    },
    /// Not a number of replicas for each run.
    #[error("--replicas has {found} numbers for {runs} runs; give one for each run, in their order")]
    Replicas {
        /// How many numbers.
        found: usize,
        /// How many runs.
        runs: usize,
    },
}

/// Runs as points, with this quantile of their response times; `replicas` is empty, or has the number of each run.
///
/// # Errors
/// Runs that are invalid, not done, too short, without a constant load, without good responses, or of different targets
/// or versions.
pub fn from_runs(
    runs: &[Run],
    replicas: &[NonZeroU32],
    quantile: Option<Quantile>,
) -> Result<Points, NotPoints> {
    if !replicas.is_empty() && replicas.len() != runs.len() {
        return Err(NotPoints::Replicas { found: replicas.len(), runs: runs.len() });
    }
    let mut points = Vec::new();
    let mut few = Vec::new();
    let mut notes = Vec::new();
    for (place, run) in runs.iter().enumerate() {
        if runs[..place].iter().any(|earlier| earlier.id == run.id) {
            return Err(NotPoints::Twice { id: run.id.clone() });
        }
        same(&runs[0], run)?;
        let mut point = point(run, quantile, &mut few)?;
        if let Some(replicas) = replicas.get(place) {
            point.at = f64::from(replicas.get());
        }
        points.push(point);
        notes.extend(suspect(run));
    }
    notes.extend(quantile.filter(|_| !few.is_empty()).map(|quantile| {
        format!("{quantile} of {} has fewer than 30 samples above it; measure for longer", few.join(", "))
    }));
    Ok(Points {
        kind: "runs",
        name: runs.first().map_or_else(String::new, |run| run.target.clone()),
        axis: if replicas.is_empty() { Axis::Concurrency } else { Axis::Replicas },
        points,
        notes,
    })
}

fn point(run: &Run, quantile: Option<Quantile>, few: &mut Vec<String>) -> Result<Point, NotPoints> {
    let not_measured = || NotUsable::NotMeasured { id: run.id.clone(), state: run.state };
    let recorded = run.recorded.as_ref().filter(|_| run.done).ok_or_else(not_measured)?;
    usable(run, recorded)?;
    if varied(run) {
        return Err(NotPoints::Varied { id: run.id.clone() });
    }
    let responses = recorded.completed.unwrap_or(recorded.accounting.answered);
    if responses < ENOUGH {
        return Err(NotPoints::TooShort { id: run.id.clone(), responses, target: run.target.clone() });
    }
    let times = recorded.response.dense();
    let mean =
        times.mean().map(|mean| mean.as_secs_f64()).filter(|mean| *mean > 0.0).ok_or_else(not_measured)?;
    let per_second = responses as f64 / recorded.elapsed.as_secs_f64().max(f64::MIN_POSITIVE);
    let quantile = quantile.and_then(|at| times.quantile(at));
    if quantile.is_some_and(|value| value.few_above.is_some()) {
        few.push(run.id.clone());
    }
    let in_flight = per_second * mean;
    let users = match run.load(None) {
        Some(Load::Users(users)) => {
            Some(f64::from(users)).filter(|users| (in_flight / users - 1.0).abs() < ALL_WAIT)
        }
        _ => None,
    };
    let quantile = quantile.map(|value| value.at.as_secs_f64());
    Ok(Point { at: users.unwrap_or(in_flight), per_second, mean: Some(mean), quantile })
}

/// Why a run is suspect, if it is.
fn suspect(run: &Run) -> Option<String> {
    let recorded = run.recorded.as_ref().filter(|recorded| recorded.verdict == Verdict::Suspect)?;
    Some(format!("run {} is suspect: {}", run.id, recorded.reasons.join("; ")))
}

/// Whether the load changed during a run.
fn varied(run: &Run) -> bool {
    let changes = |word: &str| word.starts_with("--stage") || word.starts_with("--trace");
    run.command == "replay" || run.command_line.split_whitespace().any(changes)
}

/// The fewest responses of a point.
const ENOUGH: u64 = 20;
/// Users without think time have a request in flight nearly always.
const ALL_WAIT: f64 = 0.1;
