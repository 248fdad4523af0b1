use crate::service::{KINDS, Kind, Service};
use crate::{for_seeds, run, settings};
use control::trial::{Design, Finding, Known, PlanError, Settings, Shared, Trial, Wanted};
use std::time::Duration;

const EFFECT: f64 = 0.03;
/// Blocks of a pilot; as many more as long as the planner asks for them.
const PILOT: usize = 20;
/// p95, the primary measure, and errors: the primary risk is that of a trial with many measures.
const REPORTED: [usize; 2] = [1, 3];

struct Outcome {
    found: bool,
    wrong: bool,
    blocks: usize,
    in_time: bool,
}

/// A pilot of a control against a second control, a plan with its noise floor, and the trial as planned.
fn planned(kind: Kind, design: Design, seed: u64) -> Outcome {
    let settings = |blocks| {
        let all = settings(design, blocks);
        Settings { measures: REPORTED.map(|place| all.measures[place]).to_vec(), primary: 0, ..all }
    };
    let mut pilot =
        Trial::new(Settings { candidates: 0, second_control: true, ..settings(0) }).expect("valid settings");
    let mut service = Service::new(kind, 0.0, seed).only(&REPORTED);
    let plan = loop {
        pilot.extend(PILOT);
        run(&mut pilot, &mut service, seed, |_| {});
        let noise = pilot.noise_floor(0);
        let known = Known {
            copies: design == Design::Duet,
            shared: Shared::Nothing,
            at_once: noise,
            in_turns: noise,
            restarts: None,
            always_restart: false,
            block: Duration::from_secs(30),
            settle: Duration::ZERO,
            price_per_hour: 0.1,
        };
        let budget = Duration::from_secs(1_000_000);
        let risk = settings(1).risk_of(0);
        let wanted = Wanted { effect: EFFECT, power: 0.8, risk, candidates: 1, budget };
        match control::trial::plan(&known, &wanted) {
            Ok(plan) => break plan,
            Err(PlanError::Pilot { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    };
    let settings = settings(1);
    let settings = Settings { blocks: plan.blocks, spread: Some(plan.noise.spread), ..settings };
    let mut trial = Trial::new(settings).expect("valid settings");
    let mut service = Service::new(kind, EFFECT.ln_1p(), 5_000 + seed).only(&REPORTED);
    run(&mut trial, &mut service, seed, |_| {});
    let finding = trial.verdicts()[0].finding;
    let arms = if design == Design::Duet { 1 } else { 2 };
    let ran = Duration::from_secs(30) * (arms * (trial.counted() + trial.void().len())) as u32;
    Outcome {
        found: finding == Finding::Worse,
        wrong: matches!(finding, Finding::Better | Finding::Same),
        blocks: plan.blocks,
        in_time: ran <= plan.promised,
    }
}

#[test]
fn a_slowdown_of_three_percent_is_found_within_the_promised_time() {
    for (kind, design) in KINDS
        .map(|kind| (kind, Design::Duet))
        .into_iter()
        .chain([(Kind::Noisy, Design::Alternating), (Kind::Drifting, Design::Alternating)])
    {
        let outcomes = for_seeds(200, |seed| planned(kind, design, seed));
        let share = |of: fn(&Outcome) -> bool| {
            outcomes.iter().filter(|each| of(each)).count() as f64 / outcomes.len() as f64
        };
        let (found, wrong) = (share(|each| each.found), share(|each| each.wrong));
        let blocks = outcomes.iter().map(|each| each.blocks).sum::<usize>() / outcomes.len();
        println!("{kind:?}, {design}: found {found:.3}, wrong {wrong:.3}, planned blocks {blocks} (mean)");
        assert!(found >= 0.8, "{kind:?} {design}: {found}");
        assert!(wrong <= 0.05, "{kind:?} {design}: {wrong}");
        assert!(outcomes.iter().all(|each| each.in_time), "{kind:?} {design}: longer than promised");
    }
}

/// Trials that cannot tell say how many more blocks they need. The estimate is for a typical rest of the trial, so about
/// half of them should have a finding after that number.
#[test]
fn a_trial_that_cannot_tell_says_how_much_longer_it_takes() {
    let asked = for_seeds(200, |seed| {
        let mut trial = Trial::new(settings(Design::Duet, 30)).expect("valid settings");
        let mut service = Service::new(Kind::Noisy, EFFECT.ln_1p(), 20_000 + seed);
        run(&mut trial, &mut service, seed, |_| {});
        let verdict = trial.verdicts()[1];
        let more = verdict.more_blocks.filter(|_| verdict.finding == Finding::CannotTell)?;
        trial.extend(more);
        run(&mut trial, &mut service, seed + 1, |_| {});
        Some((more, trial.verdicts()[1].finding != Finding::CannotTell))
    });
    let extended: Vec<(usize, bool)> = asked.into_iter().flatten().collect();
    let told = extended.iter().filter(|(_, told)| *told).count();
    let blocks = extended.iter().map(|(more, _)| more).sum::<usize>() / extended.len();
    println!(
        "{} of 200 could not tell and asked for {blocks} blocks (mean); then {told} could",
        extended.len()
    );
    assert!(extended.len() > 50 && told * 10 >= extended.len() * 4, "{told} of {}", extended.len());
}
