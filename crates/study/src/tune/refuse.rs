//! What cannot be tuned, with the way out.

use super::evaluate::Evaluator;
use config::case::calibration::Verdict;
use config::case::{Case, Dimension};
use sim::settings::System;

/// Why nothing was tuned.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum NoTune {
    /// A suspect model.
    #[error(
        "the model of {case} is suspect, so no saving can be promised{reasons}; measure the service again with \
         headroom calibrate"
    )]
    Suspect {
        /// The case.
        case: String,
        /// Why, in parentheses.
        reasons: String,
    },
    /// Nothing to change.
    #[error(
        "stage `{stage}` of {case} has no key to tune: no service has `scaling`, or `tune` keeps all of its keys; add \
         `scaling` with `min`, `max` and policies, name another stage with --stage, or keep fewer keys"
    )]
    Empty {
        /// The case.
        case: String,
        /// The stage.
        stage: String,
    },
    /// No prices.
    #[error(
        "stage `{stage}` of {case} has no price for host `{host}`, so nothing can become cheaper; add `prices`, such as \
         `prices: {{ table: aws-us-east-1 }}` or `prices: {{ per_hour: {{ {host}: 0.10 }} }}`"
    )]
    NoPrices {
        /// The case.
        case: String,
        /// The stage.
        stage: String,
        /// A host without a price.
        host: String,
    },
    /// No goal.
    #[error(
        "stage `{stage}` of {case} has no goal, so the cheapest fleet would be the smallest; add `goal`, such as \
         `goal: p(95)<300ms`"
    )]
    NoGoal {
        /// The case.
        case: String,
        /// The stage.
        stage: String,
    },
    /// Less than a day.
    #[error(
        "stage `{stage}` of {case} measures {found}, less than a day: policies cannot be judged without the quiet and \
         the busy hours; set `measured: {day}`, or use a traffic file of at least one day"
    )]
    TooShort {
        /// The case.
        case: String,
        /// The stage.
        stage: String,
        /// The measured time.
        found: String,
        /// The length of a day of the traffic.
        day: String,
    },
    /// A goal that no fleet meets.
    #[error(
        "no fleet of up to {instances} instances meets the goal: with all of them from the beginning, {outside:.0} of \
         {minutes:.0} minutes are outside it, with a mean p95 of {p95_ms:.0} ms; choose a goal above that, make \
         requests faster first (headroom plan shows what limits them), or let the server and the hosts change, too \
         (--also server,balancing,hosts)"
    )]
    Infeasible {
        /// The instances of the largest fleet.
        instances: u32,
        /// Minutes outside the goal.
        outside: f64,
        /// Minutes of the day.
        minutes: f64,
        /// The mean over minutes of p95.
        p95_ms: f64,
    },
    /// Ctrl-C before today was simulated.
    #[error("interrupted before today's settings were simulated; nothing was found")]
    Interrupted,
}

/// What is known without a simulation.
pub(super) fn early(case: &Case, stage: usize, dimensions: &[Dimension]) -> Result<(), NoTune> {
    let found = &case.stages[stage];
    let (name, stage) = (case.name.clone(), found.name.clone());
    if let Some(calibration) = case.calibration().filter(|found| found.verdict == Verdict::Suspect) {
        let reasons = match calibration.reasons.is_empty() {
            true => String::new(),
            false => format!(" ({})", calibration.reasons.join("; ")),
        };
        return Err(NoTune::Suspect { case: name, reasons });
    }
    if dimensions.iter().all(|dimension| dimension.choices.len() < 2) {
        return Err(NoTune::Empty { case: name, stage });
    }
    let unpriced = found.system.services.iter().find(|service| {
        service.prices.len() < service.hosts.len() || service.prices.iter().all(|price| price.per_hour <= 0.0)
    });
    if let Some(service) = unpriced {
        let host = service.hosts.get(service.prices.len().min(service.hosts.len() - 1));
        let host = host.map_or_else(String::new, |host| host.name.clone());
        return Err(NoTune::NoPrices { case: name, stage, host });
    }
    if found.system.services.iter().all(|service| service.scaling.goal.is_none()) {
        return Err(NoTune::NoGoal { case: name, stage });
    }
    if found.system.measured < found.day {
        // As a case file has it: 24 h, or what `day_length` says.
        let day = match found.day.as_secs() {
            86_400 => "1d".to_owned(),
            seconds => format!("{seconds}s"),
        };
        let found = units::show_duration(found.system.measured);
        return Err(NoTune::TooShort { case: name, stage, found: found.to_string(), day });
    }
    Ok(())
}

/// Whether a fleet at its maximum misses the goal for most of a day, and for longer than was asked for.
pub(super) fn infeasible(evaluator: &mut Evaluator<'_>, outside: Option<f64>) -> Result<(), NoTune> {
    if !evaluator.is_recordable() {
        return Ok(());
    }
    let most = |system: &System, place: usize| {
        system.services[place].scaling.policy.widest_bounds().map_or(1, |(_, most)| most.min(INSTANCES_MAX))
    };
    let found = evaluator.fixed(most);
    let (system, minutes) = (evaluator.today(), evaluator.minutes());
    if found.outside <= outside.unwrap_or(0.0).max(OUTSIDE_MAX * minutes) {
        return Ok(());
    }
    let instances = (0..system.services.len()).map(|place| most(system, place)).max().unwrap_or(1);
    Err(NoTune::Infeasible { instances, outside: found.outside, minutes, p95_ms: 1e3 * found.p95 })
}

/// A fleet at its maximum may miss the goal for this share of the day.
const OUTSIDE_MAX: f64 = 0.5;
/// The largest fleet that is tried, where a policy has no maximum.
const INSTANCES_MAX: u32 = 1000;
