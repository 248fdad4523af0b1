//! Replicas by queueing formulas: M/M/c for a rate, mean value analysis for users.
//!
//! ## What the interval is made of
//! Formulas for networks have no distribution of response times. Two assumptions bound it. In the favourable one, all
//! replicas share a queue, and the times of a request vary independently. In the other one, each replica has a queue of its own, and
//! the worst of all times coincide.
//!
//! A station with c servers is a queue that is c times as fast, and a delay: A. Seidmann, P. Schweitzer, S.
//! Shalev-Oren, "Computerized Closed Queueing Network Models of Flexible Manufacturing Systems", Large Scale Systems
//! 12, 1987.

use super::parts::{Part, Parts};
use super::{Goal, Load};
use measure::queueing::{Centre, Network, Servers};
use stats::student_t;
use units::Quantile;

/// Which end of the interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum View {
    Favourable,
    Unfavourable,
}

/// What the formulas predict.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Predicted {
    /// Requests a second.
    pub(super) per_second: f64,
    /// Mean response time in seconds; infinite if the queue grows without end.
    pub(super) mean: f64,
    /// Its quantile.
    pub(super) quantile: f64,
    /// Mean wait at each part, in seconds.
    pub(super) waits: Vec<f64>,
}

/// The prediction for a load.
pub(super) fn predict(parts: &Parts, load: Load, quantile: Quantile, view: View) -> Predicted {
    match load {
        Load::Rate(rate) => open(parts, rate, quantile, view),
        Load::Users { users, think } => closed(parts, users, think.as_secs_f64(), quantile, view),
    }
}

/// Whether the load is carried, within the goal if there is one.
pub(super) fn meets(parts: &Parts, load: Load, goal: Option<&Goal>, view: View) -> bool {
    let found = predict(parts, load, goal.map_or(Quantile::P95, |goal| goal.quantile), view);
    match goal {
        Some(goal) => found.quantile < goal.seconds(),
        None => found.per_second >= CARRIED * load.per_second(parts.alone.0) && found.mean.is_finite(),
    }
}

fn open(parts: &Parts, rate: f64, quantile: Quantile, view: View) -> Predicted {
    let alone = alone(parts, quantile);
    let mut waits = Vec::new();
    let (mut wait, mut late, mut spread) = (0.0, 0.0, (alone - parts.alone.0).powi(2));
    for part in &parts.parts {
        let (mean, at) = if part.inside { (0.0, 0.0) } else { waiting(part, rate, quantile, view) };
        if !mean.is_finite() {
            let waits = parts.parts.iter().map(|_| f64::INFINITY).collect();
            return Predicted { per_second: parts.limit(), mean, quantile: mean, waits };
        }
        waits.push(mean);
        wait += mean;
        late += at;
        spread += (at - mean).max(0.0).powi(2);
    }
    let mean = parts.alone.0 + wait;
    let quantile = match view {
        View::Favourable => mean + spread.sqrt(),
        View::Unfavourable => alone + late,
    };
    Predicted { per_second: rate, mean, quantile, waits }
}

/// Mean and quantile of the wait at a part: M/M/c, by the correction of Allen and Cunneen for other distributions.
fn waiting(part: &Part, rate: f64, quantile: Quantile, view: View) -> (f64, f64) {
    let (rate, servers) = match view {
        View::Favourable => (rate, part.servers.saturating_mul(part.copies)),
        View::Unfavourable => (rate / f64::from(part.copies), part.servers),
    };
    let factor = f64::midpoint(1.0, part.variation);
    Servers::new(rate, 1.0 / part.demand, servers.min(SERVERS_MAX))
        .map_or((f64::INFINITY, f64::INFINITY), |queue| {
            (factor * queue.mean_wait(), factor * queue.wait_quantile(quantile))
        })
}

fn closed(parts: &Parts, users: u32, think: f64, quantile: Quantile, view: View) -> Predicted {
    let mut centres = vec![Centre::Delay(think + parts.delay)];
    let mut owners = vec![None];
    let mut fixed = parts.delay;
    for (place, part) in parts.parts.iter().enumerate().filter(|(_, part)| !part.inside) {
        let copies = f64::from(part.copies);
        let (queues, servers) = match view {
            View::Favourable => (1, f64::from(part.servers) * copies),
            View::Unfavourable => (part.copies, f64::from(part.servers)),
        };
        let each = part.demand / f64::from(queues);
        for _ in 0..queues {
            centres.push(Centre::Queue(each / servers));
            owners.push(Some((place, each)));
        }
        let in_service = (part.service - each / servers).max(0.0);
        centres.push(Centre::Delay(in_service));
        owners.push(None);
        fixed += in_service;
    }
    let Ok(network) = Network::new(centres.clone()) else {
        return Predicted { per_second: f64::INFINITY, mean: 0.0, quantile: 0.0, waits: Vec::new() };
    };
    let at = network.with(users);
    let mut waits = vec![0.0; parts.parts.len()];
    for ((there, owner), centre) in at.at_centres.iter().zip(&owners).zip(&centres) {
        if let (Some((place, _)), Centre::Queue(demand)) = (owner, centre) {
            waits[*place] += (there / at.throughput - demand).max(0.0);
        }
    }
    let mean = at.response_time + fixed;
    let wait: f64 = waits.iter().sum();
    let alone = alone(parts, quantile);
    let quantile = match view {
        View::Favourable => alone + wait,
        View::Unfavourable => alone + wait * -(1.0 - quantile.get()).ln(),
    };
    Predicted { per_second: at.throughput, mean, quantile, waits }
}

/// The quantile of the response time without other requests, as of a log-normal distribution with its mean and
/// variance.
fn alone(parts: &Parts, quantile: Quantile) -> f64 {
    let (mean, variance) = parts.alone;
    if mean == 0.0 {
        return 0.0;
    }
    let spread = (1.0 + variance / (mean * mean)).ln();
    let beyond = 1.0 - quantile.get();
    let z = if beyond < 0.5 { student_t(2.0 * beyond, 1e6) } else { -student_t(2.0 * quantile.get(), 1e6) };
    mean * (z * spread.sqrt() - 0.5 * spread).exp()
}

/// A load of users is carried with this share of the throughput that they have without queues; so is a rate.
pub(super) const CARRIED: f64 = 0.9;
/// More servers make no difference to waits.
const SERVERS_MAX: u32 = 100_000;
