//! Runs of the ledger as measured points.
//!
//! The concurrency of a run is that of Little's law, so that runs of a rate count too.

use super::points::{Axis, Point, Points};
use crate::calibrate::{NotUsable, same, usable};
use documents::stored::{Load, Run};
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
/// Runs that are invalid, not done, without good responses, or of different targets or versions.
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
    }
    let few = quantile.filter(|_| !few.is_empty()).map(|quantile| {
        format!("{quantile} of {} has fewer than 30 samples above it; measure for longer", few.join(", "))
    });
    Ok(Points {
        kind: "runs",
        name: runs.first().map_or_else(String::new, |run| run.target.clone()),
        axis: if replicas.is_empty() { Axis::Concurrency } else { Axis::Replicas },
        points,
        notes: few.into_iter().collect(),
    })
}

fn point(run: &Run, quantile: Option<Quantile>, few: &mut Vec<String>) -> Result<Point, NotUsable> {
    let not_measured = || NotUsable::NotMeasured { id: run.id.clone(), state: run.state };
    let recorded = run.recorded.as_ref().filter(|_| run.done).ok_or_else(not_measured)?;
    usable(run, recorded)?;
    let times = recorded.response.dense();
    let mean =
        times.mean().map(|mean| mean.as_secs_f64()).filter(|mean| *mean > 0.0).ok_or_else(not_measured)?;
    let responses = recorded.completed.unwrap_or(recorded.accounting.answered) as f64;
    let per_second = responses / recorded.elapsed.as_secs_f64().max(f64::MIN_POSITIVE);
    if per_second == 0.0 {
        return Err(not_measured());
    }
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

/// Users without think time have a request in flight nearly always.
const ALL_WAIT: f64 = 0.1;
