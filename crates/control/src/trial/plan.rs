//! Which difference can be found in which time, and with which design: decided before a trial starts.
//!
//! The number of blocks follows from the noise floor, the wanted effect and the power ([`stats::planned_count`]). A noise
//! floor from a short pilot may be too low by chance, so its upper limit is used, and a tenth of the time is for void
//! blocks.

use super::design::{Design, Why};
use super::noise::{NoiseFloor, Restarts};
use super::probes::PROBES_MAX;
use super::settings::PROBED_RISK;
use core::fmt;
use core::time::Duration;
use libm::{expm1, log1p};
use stats::{found_effect, planned_count};
use units::show_duration;

/// Whether the arms use something together that both load, such as a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shared {
    /// They share nothing.
    Nothing,
    /// Not known: [`Probes`](super::Probes) find out.
    Unknown,
    /// They do.
    Something,
}

/// What is known before a trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Known {
    /// Whether the arms can run at once, on copies of the same requests.
    pub copies: bool,
    /// Whether they share something.
    pub shared: Shared,
    /// The noise floor of arms that run at once.
    pub at_once: Option<NoiseFloor>,
    /// The noise floor of arms that run one after the other.
    pub in_turns: Option<NoiseFloor>,
    /// What restarts showed; `None` if none was tried, and restarts are then assumed to be equal.
    pub restarts: Option<Restarts>,
    /// Whether the restart is the unit even if restarts do not differ.
    pub always_restart: bool,
    /// How long an arm is measured in a block.
    pub block: Duration,
    /// How long an arm needs to reach its level after it takes over.
    pub settle: Duration,
    /// The price of one arm for an hour, in any currency.
    pub price_per_hour: f64,
}

/// What a trial has to find.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Wanted {
    /// The relative effect on the primary measure, above 0.
    pub effect: f64,
    /// The probability of finding it, from 0.5 to 1.
    pub power: f64,
    /// The risk of the primary measure in a trial without probes: [`Settings::risk_of`](super::Settings::risk_of).
    pub risk: f64,
    /// How many candidates are compared with the control.
    pub candidates: usize,
    /// The time that the trial may take.
    pub budget: Duration,
}

/// A plan.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Plan {
    /// The design.
    pub design: Design,
    /// Why it was chosen.
    pub why: Why,
    /// How many blocks have to count.
    pub blocks: usize,
    /// How long an arm is measured in a block.
    pub measured: Duration,
    /// How long it runs before.
    pub settle: Duration,
    /// Whether blocks with the control alone are needed.
    pub probes: bool,
    /// The noise floor that the plan is made with.
    pub noise: NoiseFloor,
    /// The time in which the wanted effect is found with the wanted power, unless probes change the design.
    pub promised: Duration,
    /// The smallest relative effect that the whole budget would find with the same power.
    pub detectable: f64,
    /// What the arms cost in the promised time.
    pub cost: f64,
}

/// Why there is no plan, and what is needed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PlanError {
    /// The noise floor of the design is not known, or from too few differences.
    Pilot {
        /// The design that was chosen.
        design: Design,
        /// How many independent differences of a control and a second control there are.
        found: usize,
    },
    /// The wanted effect is not above 0, or the power not between 0.5 and 1.
    Wanted,
    /// The budget is too short.
    Budget {
        /// The time that is needed.
        needed: Duration,
        /// The budget.
        budget: Duration,
        /// The smallest relative effect that the budget would find; infinite if it is too short for a single block.
        detectable: f64,
    },
}

/// Plans a trial.
///
/// # Errors
/// Without a noise floor of the chosen design, and if the budget is too short: the error then says which time is needed, and
/// which effect the budget would find.
pub fn plan(known: &Known, wanted: &Wanted) -> Result<Plan, PlanError> {
    if !(wanted.effect > 0.0 && wanted.power >= 0.5 && wanted.power < 1.0) {
        return Err(PlanError::Wanted);
    }
    let (design, why) = design(known);
    let (block_s, settle_s) = (known.block.as_secs_f64(), known.settle.as_secs_f64());
    let restarts = known.restarts.filter(|_| design == Design::Restarts);
    let start_s = restarts.map_or(0.0, |restarts| restarts.takes.as_secs_f64()) + settle_s;
    let each = restarts.map_or(1, |restarts| restarts.blocks_each(block_s, start_s));
    let noise = match design {
        Design::Duet => known.at_once,
        Design::Alternating | Design::Slices => known.in_turns,
        Design::Restarts => restarts.map(|restarts| restarts.noise(each)),
    };
    let found = noise.map_or(0, |noise| noise.count);
    let least = if design == Design::Restarts { RESTARTS_MIN } else { PILOT_MIN };
    let noise = noise.filter(|_| found >= least).ok_or(PlanError::Pilot { design, found })?;

    let probes = design == Design::Duet && known.shared == Shared::Unknown;
    let arms = wanted.candidates.max(1) as f64 + 1.0;
    let one_s = f64::from(each) * block_s;
    let unit_s = match design {
        Design::Duet => one_s,
        Design::Alternating => arms * one_s,
        Design::Slices | Design::Restarts => arms * (start_s + one_s),
    };
    // A probe stops the other arms and starts them again.
    let probes_s = if probes { PROBES_MAX as f64 * (block_s + 2.0 * settle_s) } else { 0.0 };
    let risk = wanted.risk * if probes { PROBED_RISK } else { 1.0 };
    let blocks = planned_count(log1p(wanted.effect), noise.upper(), risk, wanted.power);
    let promised_s = (blocks * unit_s + probes_s) * WITH_VOID;
    let affordable = (wanted.budget.as_secs_f64() / WITH_VOID - probes_s) / unit_s;
    let detectable = if affordable >= 1.0 {
        expm1(found_effect(affordable, noise.upper(), risk, wanted.power))
    } else {
        f64::INFINITY
    };
    let promised = Duration::try_from_secs_f64(promised_s).unwrap_or(Duration::MAX);
    let plan = Plan {
        design,
        why,
        blocks: blocks as usize,
        measured: known.block.saturating_mul(each),
        settle: if design == Design::Alternating { Duration::ZERO } else { known.settle },
        probes,
        noise,
        promised,
        detectable,
        cost: known.price_per_hour * arms * promised_s / 3_600.0,
    };
    if promised > wanted.budget {
        return Err(PlanError::Budget { needed: promised, budget: wanted.budget, detectable });
    }
    Ok(plan)
}

/// What a search in rounds promises, in each of which every value is measured once.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RoundsPlan {
    /// Rounds in which the effect is found with the wanted power, with those that are void.
    pub rounds: usize,
    /// The effect: the wanted one, or the smallest that all rounds find if that is larger.
    pub effect: f64,
    /// The smallest effect that all rounds find.
    pub detectable: f64,
}

/// Plans a search that has time for `rounds` rounds, the first finding of which needs `least`. `noise` is that of a difference in
/// one round, `risk` that of one comparison; of [`Wanted`], as there, `effect` is above 0 and `power` from 0.5 to below 1. `None` if
/// the time is too short for a finding.
pub fn plan_rounds(
    noise: NoiseFloor,
    (rounds, least): (f64, usize),
    risk: f64,
    effect: f64,
    power: f64,
) -> Option<RoundsPlan> {
    let counted = rounds / WITH_VOID;
    if counted < least as f64 {
        return None;
    }
    let spread = noise.upper() * OTHER_ROUNDS;
    let detectable = expm1(found_effect(counted, spread, risk, power));
    let needed = planned_count(log1p(effect), spread, risk, power);
    Some(match needed <= counted {
        true => {
            let needed = libm::ceil(needed * WITH_VOID).min(rounds);
            RoundsPlan { rounds: needed as usize, effect, detectable }
        }
        false => RoundsPlan { rounds: rounds as usize, effect: detectable.max(effect), detectable },
    })
}

fn design(known: &Known) -> (Design, Why) {
    let is_unit = |restarts: &Restarts| known.always_restart || restarts.differ();
    if let Some(Restarts { components, .. }) = known.restarts.filter(is_unit) {
        let why =
            Why::RestartsDiffer { between: components.between, within: components.within, p: components.p };
        return (Design::Restarts, why);
    }
    match known.shared {
        Shared::Something => (Design::Slices, Why::Shared),
        _ if known.copies => (Design::Duet, Why::AtOnce),
        _ if known.settle.is_zero() => (Design::Alternating, Why::InTurns),
        _ => (Design::Slices, Why::CarriesOver),
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} blocks in {}", self.design, self.blocks, show_duration(self.promised))?;
        write!(f, ", because {}", self.why)
    }
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlanError::Pilot { design, found } => write!(
                f,
                "the noise floor of the design `{design}` is from {found} independent differences: run a control \
                 against a second control until it has {PILOT_MIN}, or {RESTARTS_MIN} restarts"
            ),
            PlanError::Wanted => {
                f.write_str("the wanted effect must be above 0, and the power from 0.5 to below 1")
            }
            PlanError::Budget { needed, budget, detectable } => {
                let (needed, budget) = (show_duration(*needed), show_duration(*budget));
                write!(f, "the effect needs {needed}, the budget is {budget}")?;
                if detectable.is_finite() {
                    write!(f, ", which is enough for an effect of {:.1} %", 100.0 * detectable)?;
                }
                Ok(())
            }
        }
    }
}

impl core::error::Error for PlanError {}

/// With fewer independent differences, a noise floor is mostly chance.
const PILOT_MIN: usize = 8;
/// Restarts are expensive; the upper limit of their noise allows for the few.
const RESTARTS_MIN: usize = 5;
/// Of the time, a tenth is for blocks that are void.
const WITH_VOID: f64 = 1.1;
/// Intervals are narrowest at the number of rounds that they are made for. Those of a search are made for more than a plan counts on,
/// because it measures only the last few values in all of them.
const OTHER_ROUNDS: f64 = 1.1;

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use stats::Components;

    fn known() -> Known {
        let noise = Some(NoiseFloor { spread: 0.05, count: 40 });
        Known {
            copies: true,
            shared: Shared::Nothing,
            at_once: noise,
            in_turns: noise,
            restarts: None,
            always_restart: false,
            block: Duration::from_secs(30),
            settle: Duration::from_secs(10),
            price_per_hour: 0.1,
        }
    }

    fn wanted() -> Wanted {
        let budget = Duration::from_secs(10 * 3_600);
        Wanted { effect: 0.03, power: 0.8, risk: 0.025, candidates: 1, budget }
    }

    #[test]
    fn the_design_follows_from_what_is_known() {
        let components = |p| Components { between: 0.03, within: 0.03, p };
        let restarts = |p| {
            let takes = Duration::from_secs(20);
            Some(Restarts { components: components(p), count: 8, takes })
        };
        for (what, known, design) in [
            ("both at once", known(), Design::Duet),
            (
                "nothing to copy, at its level at once",
                Known { copies: false, settle: Duration::ZERO, ..known() },
                Design::Alternating,
            ),
            ("nothing to copy", Known { copies: false, ..known() }, Design::Slices),
            ("a database of both", Known { shared: Shared::Something, ..known() }, Design::Slices),
            ("restarts differ", Known { restarts: restarts(0.001), ..known() }, Design::Restarts),
            ("restarts do not differ", Known { restarts: restarts(0.3), ..known() }, Design::Duet),
            (
                "restarts are asked for",
                Known { restarts: restarts(0.3), always_restart: true, ..known() },
                Design::Restarts,
            ),
        ] {
            assert_eq!(plan(&known, &wanted()).map(|plan| plan.design), Ok(design), "{what}");
        }
    }

    #[test]
    fn the_promised_time_finds_the_effect_and_the_budget_a_smaller_one() {
        let plan = plan(&known(), &wanted()).unwrap();
        assert!((50..80).contains(&plan.blocks), "{plan:?}");
        assert!(plan.promised < wanted().budget && plan.detectable < 0.03 && plan.cost > 0.0);
        assert_eq!(
            plan.to_string(),
            std::format!(
                "duet: {} blocks in {}, because the arms can run at once and share nothing",
                plan.blocks,
                show_duration(plan.promised)
            )
        );
    }

    #[test]
    fn a_search_promises_what_its_rounds_find() {
        let noise = NoiseFloor { spread: 0.05, count: 1_000 };
        let plan = |rounds: f64| plan_rounds(noise, (rounds, 10), 0.01, 0.05, 0.9);
        assert_eq!(plan(10.0), None, "a tenth of the rounds may be void");
        let (short, long) = (plan(20.0).unwrap(), plan(200.0).unwrap());
        assert!(short.rounds == 20 && short.effect > 0.05 && short.effect == short.detectable, "{short:?}");
        assert!(long.rounds < 60 && long.effect == 0.05 && long.detectable < 0.025, "{long:?}");
    }

    #[test]
    fn an_error_says_what_is_needed() {
        let short = Wanted { budget: Duration::from_secs(900), ..wanted() };
        let Err(PlanError::Budget { needed, detectable, .. }) = plan(&known(), &short) else {
            panic!("too short")
        };
        assert!(needed > short.budget && detectable > 0.03, "{needed:?} {detectable}");
        let pilot = Known { at_once: None, ..known() };
        assert_eq!(plan(&pilot, &wanted()), Err(PlanError::Pilot { design: Design::Duet, found: 0 }));
        for effect in [0.0, -1.0, f64::NAN] {
            assert_eq!(plan(&known(), &Wanted { effect, ..wanted() }), Err(PlanError::Wanted));
        }
    }
}
