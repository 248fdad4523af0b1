//! Tunes the settings of a fleet: searches a case for a cheaper variant that keeps its goal.
//!
//! ```text
//! case → dimensions ─→ control::search::tune ─┬→ minutes (all scenarios, thousands of candidates)
//!                                             └→ requests (the best few, over several seeds)
//!        → frontier → worth of each change → documents::tune
//! ```
//!
//! ## Why two plants
//! A day of the minute plant takes milliseconds, and misses some of what happens within a minute: minutes outside the
//! goal and flaps differ most. So it screens, and what request by request shows of a candidate corrects the screening of
//! those nearby. Only what was confirmed request by request is promised.

mod correct;
mod evaluate;
mod interruptible;
mod metrics;
mod refuse;
mod result;
mod scenario;
#[cfg(test)]
mod tests;

pub use refuse::NoTune;

use config::case::{Also, Case, Choice, Dimension, Edit};
use control::search::tune::{self as search, Ask, Candidate, Search, Space};
use correct::Judge;
use documents::tune::Tune;
use evaluate::Evaluator;
use std::fmt;

/// What is tuned, and how.
#[derive(Debug, Clone)]
pub struct Asked {
    /// What may change beside policies.
    pub also: Vec<Also>,
    /// The growth of the traffic under which the goal has to hold too, as a share.
    pub growth: f64,
    /// Bounds in place of today's.
    pub limits: Limits,
    /// Candidates to screen, about.
    pub candidates: usize,
    /// The seed of the search.
    pub seed: u64,
    /// The number of threads; the result does not depend on it.
    pub threads: usize,
    /// Names and texts of the files that the case was imported from, for the patch; may be empty.
    pub inputs: Vec<(String, String)>,
    /// The version of headroom.
    pub version: &'static str,
}

/// Bounds of a run, in place of today's; none: as today.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// Minutes (rows, if they have another length) outside the goal.
    pub outside: Option<f64>,
    /// Share of requests without a good response.
    pub bad: Option<f64>,
    /// Scaling actions.
    pub actions: Option<f64>,
    /// Actions that reverse one of the last minutes.
    pub flaps: Option<f64>,
    /// Minutes outside the goal under a disturbance, beyond those of today under it.
    pub disturbed: f64,
}

impl Default for Limits {
    /// As today; ten minutes more under a disturbance.
    fn default() -> Self {
        Limits { outside: None, bad: None, actions: None, flaps: None, disturbed: 10.0 }
    }
}

/// How far it is.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// Minutes of a fleet are recorded.
    Recording,
    /// So many candidates are simulated minute by minute.
    Screening(usize),
    /// So many are simulated request by request, on this many days each.
    Confirming(usize, usize),
    /// The best that was confirmed saves this share.
    Found(f64),
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Event::Recording => write!(f, "recording minutes of the fleet"),
            Event::Screening(count) => write!(f, "simulating {count} candidates minute by minute"),
            Event::Confirming(count, days) => {
                write!(f, "simulating {count} request by request ({days} days each)")
            }
            Event::Found(saving) => write!(f, "best so far: {:.1} % cheaper", 100.0 * saving),
        }
    }
}

/// What the caller provides.
pub struct Shell<'a> {
    /// Is told how far it is.
    pub tell: &'a (dyn Fn(Event) + Sync),
    /// Whether to end with the best found so far.
    pub interrupted: &'a (dyn Fn() -> bool + Sync),
}

/// Tunes a stage of a case.
///
/// # Errors
/// The case cannot be tuned, or it was interrupted before anything was found.
pub fn tune(case: &Case, stage: usize, asked: &Asked, shell: &Shell<'_>) -> Result<Tune, NoTune> {
    let mut dimensions = case.dimensions(stage, &asked.also);
    refuse::early(case, stage, &dimensions)?;
    let forecasts = dimensions.iter().any(is_forecast);
    let mut scenarios = scenario::scenarios(&case.stages[stage], asked.growth, forecasts);
    if forecasts && scenarios.in_days && !scenarios.have_before() {
        dimensions.iter_mut().filter(|one| is_forecast(one)).for_each(|one| one.choices.truncate(1));
        scenarios.note += "; a forecast needs a day before each, so predictive scaling was not tried";
    }
    let mut evaluator = Evaluator::new(case, stage, &dimensions, scenarios, asked, shell);
    // Another server or another host may meet the goal.
    if asked.also.is_empty() {
        refuse::infeasible(&mut evaluator, asked.limits.outside)?;
    }
    let space = Space::new(dimensions.iter().map(plain).collect());
    let mut judge = Judge::new(&mut evaluator, &space, asked.limits).ok_or(NoTune::Interrupted)?;
    let settings = evaluator.settings(asked, judge.aims(&evaluator));
    let mut search = Search::new(space, settings);
    let best = loop {
        let found = match search.next() {
            Ask::Done(best) => break best,
            Ask::Screen { level, candidates } => judge.screen(&mut evaluator, level, &candidates),
            Ask::Confirm(candidate) => {
                let worth = judge.confirm(&mut evaluator, &candidate);
                (shell.tell)(Event::Found(judge.saving(&search.best())));
                vec![worth]
            }
            Ask::Sketch(candidates) => judge.sketch(&mut evaluator, &candidates),
        };
        if (shell.interrupted)() {
            break search.best();
        }
        search.tell(&found);
    };
    Ok(result::result(&mut evaluator, &judge, best, search.evaluated(), asked))
}

/// Whether it is predictive scaling that is not today's.
fn is_forecast(dimension: &Dimension) -> bool {
    dimension.key.ends_with("policies.forecast") && dimension.today == 0 && dimension.choices.len() > 1
}

fn plain(dimension: &Dimension) -> search::Dimension {
    let Dimension { choices, today, ordered, when, also, .. } = dimension;
    // Another server, balancer or host has minutes of its own, which are recorded first.
    search::Dimension { choices: choices.len(), today: *today, ordered: *ordered, when: *when, costly: *also }
}

/// The choices of a candidate that are not today's, with their dimensions.
fn chosen<'a>(
    dimensions: &'a [Dimension],
    candidate: &'a Candidate,
) -> impl Iterator<Item = (usize, &'a Dimension, &'a Choice)> {
    let is_active = |place: usize| match dimensions[place].when {
        // The keys of a policy that is not today's are part of the change.
        Some((other, value)) => candidate[other] == value && value != dimensions[other].today,
        None => false,
    };
    dimensions.iter().enumerate().filter_map(move |(place, dimension)| {
        let value = candidate[place];
        let differs = value != dimension.today || is_active(place);
        differs.then(|| (place, dimension, &dimension.choices[value]))
    })
}

/// The edits of a candidate.
fn edits(dimensions: &[Dimension], candidate: &Candidate) -> Vec<Edit> {
    chosen(dimensions, candidate).flat_map(|(_, _, choice)| choice.edits.iter().cloned()).collect()
}
