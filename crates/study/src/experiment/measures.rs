//! What is compared: chosen by how many requests a block has, because a quantile of a few requests is chance.

use super::block::{Observed, Timed};
use crate::doctor::EVERY;
use config::experiment::{Experiment, Primary};
use control::trial::{Figure, Measure, RouteId};
use std::time::Duration;
use units::Quantile;

/// A measure of a trial, and how results name it.
#[derive(Debug, Clone)]
pub(super) struct Chosen {
    pub(super) measure: Measure,
    pub(super) name: &'static str,
    /// The place of the route among the endpoints; `None` for all requests.
    pub(super) route: Option<usize>,
    pub(super) unit: &'static str,
}

/// What is known of the services that are compared.
#[derive(Debug, Clone, Copy)]
pub(super) struct Known {
    /// Their processes.
    pub(super) processes: bool,
    /// What their requests wait for: their workers are known, and they are examined in blocks that are long enough.
    pub(super) queues: bool,
    /// The median response time of the control.
    pub(super) response_time: Duration,
}

/// The measures, the primary one first. `requests` are those of a block, by endpoint.
pub(super) fn choose(file: &Experiment, requests: &[f64], known: Known) -> Vec<Chosen> {
    let all: f64 = requests.iter().sum();
    let asked = Asked { primary: file.primary, margin: file.margin, harm: file.harm };
    let primary = figure(file.primary);
    let mut chosen = vec![asked.of(primary, None)];
    let add = |figure: Figure, route: Option<usize>, chosen: &mut Vec<Chosen>| {
        if route.is_some() || figure != primary {
            chosen.push(asked.of(figure, route));
        }
    };
    for quantile in [Quantile::P50, Quantile::P95, Quantile::P99] {
        if is_known(quantile, all) {
            add(Figure::ResponseTime(quantile), None, &mut chosen);
        }
    }
    add(Figure::Errors, None, &mut chosen);
    if known.processes {
        add(Figure::ProcessorTime, None, &mut chosen);
        add(Figure::Memory, None, &mut chosen);
    }
    if known.processes && known.queues {
        let mut queue_time = asked.of(Figure::QueueTime, None);
        // A block does not tell less than one request that waits at one of its moments.
        let finest = EVERY.as_secs_f64() / all.max(1.0);
        queue_time.measure.margin = finest.max(QUEUE_MARGIN * known.response_time.as_secs_f64());
        chosen.push(queue_time);
    }
    if requests.len() > 1 {
        let mut routes: Vec<usize> = (0..requests.len()).collect();
        routes.sort_by(|one, other| requests[*other].total_cmp(&requests[*one]));
        for route in routes.into_iter().take(ROUTES_MAX) {
            let before = chosen.len();
            for quantile in [Quantile::P50, Quantile::P95, Quantile::P99] {
                if is_known(quantile, requests[route]) {
                    add(Figure::ResponseTime(quantile), Some(route), &mut chosen);
                }
            }
            if chosen.len() > before {
                add(Figure::Errors, Some(route), &mut chosen);
            }
        }
    }
    chosen
}

pub(super) fn is_known(quantile: Quantile, requests: f64) -> bool {
    (1.0 - quantile.get()) * requests >= ABOVE_MIN
}

pub(super) fn figure(primary: Primary) -> Figure {
    match primary {
        Primary::P50 => Figure::ResponseTime(Quantile::P50),
        Primary::P95 => Figure::ResponseTime(Quantile::P95),
        Primary::P99 => Figure::ResponseTime(Quantile::P99),
        Primary::Errors => Figure::Errors,
        Primary::ProcessorTime => Figure::ProcessorTime,
        Primary::LiveProcessorTime => LIVE_PROCESSOR_TIME,
        Primary::Memory => Figure::Memory,
    }
}

/// What a file says of its measures.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked {
    pub(super) primary: Primary,
    pub(super) margin: f64,
    pub(super) harm: f64,
}

impl Asked {
    /// A measure with the margin and the harm of the file.
    pub(super) fn of(self, what: Figure, route: Option<usize>) -> Chosen {
        let usual = Measure::new(what);
        let is_primary = route.is_none() && what == figure(self.primary);
        let (name, unit) = match what {
            Figure::ResponseTime(quantile) if quantile == Quantile::P95 => ("p95", "s"),
            Figure::ResponseTime(quantile) if quantile == Quantile::P99 => ("p99", "s"),
            Figure::ResponseTime(_) => ("p50", "s"),
            Figure::QueueTime => ("queue_time", "s"),
            Figure::Errors => ("errors", "share"),
            Figure::ProcessorTime => ("processor_time", "s"),
            LIVE_PROCESSOR_TIME => ("live_processor_time", "s"),
            Figure::Memory | Figure::Other(_) => ("memory", "bytes"),
        };
        let margin = match what {
            // A share has no use for a relative margin.
            Figure::Errors if !is_primary => usual.margin,
            Figure::Memory if !is_primary => self.margin.max(MEMORY_MARGIN),
            _ => self.margin,
        };
        let harm = if is_primary && what != Figure::Errors {
            Some(self.harm)
        } else {
            usual.harm.filter(|_| route.is_none())
        };
        let id = route.and_then(|route| u16::try_from(route).ok()).map(RouteId);
        // As the primary measure it decides whether restarts are compared.
        let beyond_margin = matches!(what, Figure::Memory | Figure::QueueTime) && !is_primary;
        Chosen { measure: Measure { route: id, margin, beyond_margin, harm, ..usual }, name, route, unit }
    }
}

impl Chosen {
    /// The value that was observed; `None` where a block has none.
    pub(super) fn value(&self, observed: &Observed) -> Option<f64> {
        let times = match self.route {
            None => Some(&observed.all),
            Some(route) => observed.routes.get(route),
        };
        match self.measure.figure {
            Figure::ResponseTime(quantile) => times.and_then(|times| times.quantile(quantile)),
            Figure::Errors => times.and_then(Timed::errors),
            Figure::ProcessorTime => observed.processor_time,
            Figure::Memory => observed.memory,
            Figure::QueueTime => observed.queue_time,
            Figure::Other(_) => None,
        }
    }
}

/// Processor time of the workers of a gateway, for a response: its threads for copies are left out.
pub(super) const LIVE_PROCESSOR_TIME: Figure = Figure::Other(0);
/// Memory hardly differs from block to block, but processes of the same command do: by 1 % for the built-in service, and by a tenth
/// for a while where they collect garbage at different times (Node.js).
const MEMORY_MARGIN: f64 = 0.1;
/// Times in a queue that differ by less than this share of the median response time are the same.
const QUEUE_MARGIN: f64 = 0.05;
/// Requests of a block above a quantile. Differences of blocks are compared by their signs and sizes, so that a few are
/// enough.
pub(super) const ABOVE_MIN: f64 = 5.0;
/// Each measure takes a share of the risk from the others.
pub(super) const ROUTES_MAX: usize = 8;
