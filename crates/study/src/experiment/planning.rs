//! What all comparisons with a control have in common: the noise floor, the plan, and when enough is known.

use config::experiment::Ends;
use control::trial::{
    Design, Ends as TrialEnds, Finding, Known, Limits, Measure, NoiseFloor, Plan, PlanError, Restarts,
    Settings, Shared, Trial, Wanted, plan,
};
use std::time::Duration;

/// The settings of the blocks of equal arms.
pub(super) fn pilot(
    measures: Vec<Measure>,
    design: Design,
    (settle, measured): (Duration, Duration),
    limits: Limits,
) -> Settings {
    Settings {
        measures,
        primary: 0,
        candidates: 0,
        second_control: true,
        risk: RISK,
        design,
        blocks: PILOT,
        measured,
        settle,
        spread: None,
        probes: None,
        ends: TrialEnds::AsPlanned,
        dead_after: DEAD_AFTER,
        limits,
    }
}

/// What the blocks of equal arms have shown.
pub(super) struct Noise {
    pub(super) floor: Option<NoiseFloor>,
    /// What the reader has to know of it.
    pub(super) note: Option<String>,
}

/// The noise floor after the blocks that were planned; `None` if more of them are needed.
pub(super) fn noise(trial: &Trial, elapsed: Duration, time: Duration) -> Option<Noise> {
    let noise = trial.noise_floor(0);
    let enough = noise.is_some_and(|noise| noise.count >= INDEPENDENT_MIN);
    if !enough && elapsed <= time / PILOT_SHARE && trial.counted() < PILOT_MAX {
        return None;
    }
    let floor =
        noise.map(|noise| NoiseFloor { count: if enough { noise.count } else { INDEPENDENT_MIN }, ..noise });
    let note = "calm and restless times alternated while the noise floor was measured: it may be larger, and the \
                promised time longer";
    Some(Noise { floor, note: (!enough).then(|| note.to_owned()) })
}

/// What a plan follows from.
pub(super) struct Basis {
    /// The effect that the file asks for.
    pub(super) effect: f64,
    /// The time of the file, and what of it is over.
    pub(super) time: Duration,
    pub(super) elapsed: Duration,
    pub(super) candidates: usize,
    pub(super) measures: usize,
    pub(super) noise: Option<NoiseFloor>,
    /// How much restarts differ, if they were compared, and whether they are the unit in any case.
    pub(super) restarts: Option<Restarts>,
    pub(super) always_restart: bool,
    /// Whether the arms run at once.
    pub(super) copies: bool,
    pub(super) shared: Shared,
    pub(super) settle: Duration,
    pub(super) block: Duration,
    /// What happens between the blocks, as a share of them.
    pub(super) between: f64,
    /// The price of a service for an hour.
    pub(super) price_per_hour: f64,
}

/// A plan, and when it is kept.
pub(super) struct Promise {
    pub(super) plan: Plan,
    /// From the beginning of the experiment.
    pub(super) promised: Duration,
    /// What the reader has to know of it.
    pub(super) note: Option<String>,
}

/// Plans the comparison for the wanted effect, or for the smallest one that the rest of the time finds.
///
/// # Errors
/// Why there is no plan, in words.
pub(super) fn promise(basis: &Basis) -> Result<Promise, String> {
    let with_rest = 1.0 + basis.between;
    let budget = basis.time.saturating_sub(basis.elapsed).div_f64(with_rest);
    let share = if basis.measures > 1 { 0.5 } else { 1.0 };
    let risk = RISK * share / basis.candidates as f64;
    let mut wanted =
        Wanted { effect: basis.effect, power: POWER, risk, candidates: basis.candidates, budget };
    let known = Known {
        copies: basis.copies,
        shared: basis.shared,
        at_once: basis.noise.filter(|_| basis.copies),
        in_turns: basis.noise.filter(|_| !basis.copies),
        restarts: basis.restarts,
        always_restart: basis.always_restart,
        block: basis.block,
        settle: basis.settle,
        price_per_hour: basis.price_per_hour,
    };
    if let Err(PlanError::Budget { detectable, .. }) = plan(&known, &wanted)
        && detectable.is_finite()
        && detectable > basis.effect
    {
        // The smallest effect that the rest of the time finds.
        wanted.effect = detectable * ROUNDING;
    }
    let planned = match plan(&known, &wanted) {
        // Even the fewest blocks take this long; the promise is beyond the time.
        Err(PlanError::Budget { needed, detectable, .. }) => {
            plan(&known, &Wanted { budget: needed, ..wanted })
                // The budget of the file, and not the one that is needed, finds this.
                .map(|plan| Plan { detectable, ..plan })
        }
        planned => planned,
    };
    let plan = planned.map_err(|error| error.to_string())?;
    let promised = basis.elapsed + plan.promised.mul_f64(with_rest);
    let note = (promised > basis.time).then(|| {
        format!(
            "the promised time is longer than the time of the experiment: give it {}",
            units::show_duration(promised)
        )
    });
    Ok(Promise { plan, promised, note })
}

/// The settings of the comparison.
pub(super) fn comparison(
    plan: &Plan,
    measures: Vec<Measure>,
    effect: f64,
    ends: Ends,
    limits: Limits,
) -> Settings {
    Settings {
        risk: RISK,
        ends: match ends {
            Ends::Decided => TrialEnds::WhenDecided,
            Ends::Precise(precision) => TrialEnds::WhenPrecise(precision),
            Ends::Planned | Ends::Time => TrialEnds::AsPlanned,
        },
        dead_after: DEAD_AFTER,
        limits,
        ..Settings::of(plan, measures, effect)
    }
}

/// Whether a trial with all planned blocks has what it was for: a finding on the primary measure of each candidate that runs.
pub(super) fn is_over(trial: &Trial, ends: Ends) -> bool {
    let decided =
        trial.verdicts().iter().filter(|verdict| verdict.measure == 0).all(|verdict| {
            trial.stopped(verdict.candidate).is_some() || verdict.finding != Finding::CannotTell
        });
    matches!(ends, Ends::Planned | Ends::Decided) && decided
}

/// One experiment of twenty may have a wrong verdict.
pub(super) const RISK: f64 = 0.05;
/// The planned effect is found in nine of ten experiments.
pub(super) const POWER: f64 = 0.9;
/// Blocks for the noise floor: at first, at most, and how many are added where they are not independent.
pub(super) const PILOT: usize = 12;
const PILOT_MAX: usize = 30;
pub(super) const PILOT_MORE: usize = 6;
/// The part of the time after which no block is added to the noise floor.
const PILOT_SHARE: u32 = 3;
/// Differences that a plan needs.
const INDEPENDENT_MIN: usize = 8;
/// Blocks without a response after which a candidate is stopped.
const DEAD_AFTER: u32 = 3;
/// Blocks that are added at a time while the time lasts.
pub(super) const MORE: usize = 5;
/// A plan for exactly the detectable effect may exceed the time by a block.
const ROUNDING: f64 = 1.02;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_a_plan_however_short_the_rest_of_the_time_is() {
        for elapsed in 0..120 {
            let basis = Basis {
                effect: 0.05,
                time: Duration::from_secs(120),
                elapsed: Duration::from_secs(elapsed),
                candidates: 1,
                measures: 5,
                noise: Some(NoiseFloor { spread: 0.2, count: 12 }),
                restarts: None,
                always_restart: false,
                copies: false,
                shared: Shared::Nothing,
                settle: Duration::from_millis(100),
                block: Duration::from_millis(200),
                between: 0.0,
                price_per_hour: 0.0,
            };
            let promise = promise(&basis).unwrap_or_else(|why| panic!("after {elapsed} s: {why}"));
            assert_eq!(promise.note.is_some(), promise.promised > basis.time, "after {elapsed} s");
        }
    }
}
