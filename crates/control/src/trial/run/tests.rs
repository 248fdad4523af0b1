use super::super::{Figure, Limits, Measure, Void};
use super::*;
use alloc::string::ToString;
use units::Quantile;

fn settings() -> Settings {
    let response_time = Measure { harm: Some(0.1), ..Measure::new(Figure::ResponseTime(Quantile::P95)) };
    Settings {
        measures: vec![response_time, Measure::new(Figure::Errors)],
        primary: 0,
        candidates: 1,
        second_control: false,
        risk: 0.05,
        design: Design::Duet,
        blocks: 40,
        measured: Duration::from_secs(30),
        settle: Duration::from_secs(5),
        spread: Some(0.03),
        probes: None,
        ends: Ends::AsPlanned,
        dead_after: 3,
        limits: Limits::default(),
    }
}

fn seen(rng: &mut Rng, effect: f64) -> Seen {
    let response_time = libm::exp(effect + 0.02 * rng.normal());
    Seen { offered: 1_000, answered: 1_000, values: vec![Some(response_time), Some(0.0)], ..Seen::default() }
}

/// Runs a trial to its end; `change` changes what was observed of each arm in each block.
fn run(settings: Settings, effect: f64, mut change: impl FnMut(usize, Arm, &mut Seen)) -> (Trial, Ended) {
    let mut rng = Rng::new(1, "trial");
    let mut trial = Trial::new(settings).expect("valid settings");
    for at in 0.. {
        let assigned = match trial.next(&mut rng) {
            Step::Done(ended) => return (trial, ended),
            Step::Block(assigned) => assigned,
        };
        assert_eq!(trial.next(&mut rng), Step::Block(assigned.clone()), "the same until it is observed");
        let arms = assigned.arms.iter().map(|arm| {
            let mut seen = seen(&mut rng, if let Arm::Candidate(_) = arm { effect } else { 0.0 });
            change(at, *arm, &mut seen);
            seen
        });
        let block = Block { arms: arms.collect(), ..Block::default() };
        trial.observe(&block);
    }
    unreachable!("a trial ends")
}

fn unchanged(_: usize, _: Arm, _: &mut Seen) {}

#[test]
fn runs_the_planned_blocks_in_both_orders() {
    let mut first = 0;
    let (trial, ended) = run(settings(), 0.0, unchanged);
    assert_eq!((ended, trial.counted()), (Ended::AsPlanned, 40));
    let mut rng = Rng::new(2, "order");
    for _ in 0..200 {
        let Step::Block(assigned) = Trial::new(settings()).unwrap().next(&mut rng) else { panic!("a block") };
        first += usize::from(assigned.arms[0] == Arm::Control);
    }
    assert!((70..130).contains(&first), "{first}");
    let errors = trial.verdicts()[1];
    assert_eq!(errors.finding, Finding::Same, "no errors at all: {errors:?}");
}

#[test]
fn arms_settle_before_the_first_block_and_around_probes() {
    let settled = |settings: Settings| {
        let mut rng = Rng::new(4, "settle");
        let mut trial = Trial::new(settings).unwrap();
        let settled = (0..4).map(|_| {
            let Step::Block(assigned) = trial.next(&mut rng) else { panic!("a block") };
            let arms = assigned.arms.iter().map(|_| seen(&mut rng, 0.0)).collect();
            trial.observe(&Block { arms, ..Block::default() });
            !assigned.settle.is_zero()
        });
        settled.collect::<Vec<_>>()
    };
    assert_eq!(settled(settings()), [true, false, false, false]);
    assert_eq!(settled(Settings { probes: Some(0.01), ..settings() }), [true; 4]);
    assert_eq!(settled(Settings { design: Design::Alternating, ..settings() }), [true, false, false, false]);
    assert_eq!(settled(Settings { design: Design::Slices, ..settings() }), [true; 4]);
}

#[test]
fn a_longer_trial_continues() {
    let (mut trial, _) = run(settings(), 0.0, unchanged);
    trial.extend(5);
    assert!(matches!(trial.next(&mut Rng::new(1, "more")), Step::Block(_)));
}

#[test]
fn ends_early_if_it_may() {
    let (trial, ended) = run(Settings { ends: Ends::WhenDecided, ..settings() }, 0.05, unchanged);
    assert_eq!(ended, Ended::Decided);
    assert!(trial.counted() < 30, "{}", trial.counted());
    assert_eq!(trial.verdicts()[0].finding, Finding::Worse);
}

#[test]
fn ends_as_soon_as_the_interval_is_narrow_enough() {
    let precise = |wanted| run(Settings { ends: Ends::WhenPrecise(wanted), ..settings() }, 0.0, unchanged);
    let (trial, ended) = precise(0.02);
    assert_eq!(ended, Ended::Precise);
    let half_width = trial.verdicts()[0].effect.half_width();
    assert!(half_width <= 0.02 && (10..35).contains(&trial.counted()), "{half_width} {}", trial.counted());
    assert_eq!(precise(0.002).1, Ended::AsPlanned);
}

#[test]
fn a_harmful_candidate_is_stopped_soon() {
    let (trial, ended) = run(settings(), 0.3, unchanged);
    assert_eq!(ended, Ended::Stopped);
    assert!(trial.counted() <= 12, "{}", trial.counted());
    let Some(Stopped::Harm { measure: 0, at_least }) = trial.stopped(0) else {
        panic!("{:?}", trial.stopped(0))
    };
    assert!(at_least > 0.1 && at_least < 0.35, "{at_least}");
}

#[test]
fn a_slower_candidate_without_harm_continues() {
    let (trial, ended) = run(settings(), 0.05, unchanged);
    assert_eq!((ended, trial.verdicts()[0].finding), (Ended::AsPlanned, Finding::Worse));
}

#[test]
fn errors_stop_a_candidate() {
    let (trial, ended) = run(settings(), 0.0, |_, arm, seen| {
        if arm == Arm::Candidate(0) {
            seen.values[1] = Some(0.05);
        }
    });
    assert_eq!(ended, Ended::Stopped);
    assert!(matches!(trial.stopped(0), Some(Stopped::Harm { measure: 1, .. })));
}

#[test]
fn a_dead_candidate_is_stopped_and_the_other_continues() {
    let two = Settings { candidates: 2, ..settings() };
    let (trial, ended) = run(two, 0.0, |at, arm, seen| {
        if arm == Arm::Candidate(1) && at >= 5 {
            (seen.answered, seen.throttled, seen.values) = (0, 0.9, vec![None, Some(1.0)]);
        }
    });
    assert_eq!((trial.stopped(0), trial.stopped(1)), (None, Some(Stopped::Dead { blocks: 3 })));
    assert_eq!((ended, trial.void().len()), (Ended::AsPlanned, 3));
}

#[test]
fn each_candidate_has_its_own_verdicts() {
    let (trial, _) = run(Settings { candidates: 3, ..settings() }, 0.0, |_, arm, seen| {
        let factor = match arm {
            Arm::Candidate(1) => 1.06,
            Arm::Candidate(2) => 0.94,
            _ => 1.0,
        };
        seen.values[0] = seen.values[0].map(|value| factor * value);
    });
    let findings = trial.verdicts().into_iter().filter(|verdict| verdict.measure == 0);
    let findings: Vec<Finding> = findings.map(|verdict| verdict.finding).collect();
    assert_eq!(findings, [Finding::CannotTell, Finding::Worse, Finding::Better]);
}

#[test]
fn a_trial_of_void_blocks_is_given_up() {
    let (trial, ended) = run(settings(), 0.0, |_, _, seen| seen.dropped = 100);
    assert!(
        matches!(ended, Ended::MostlyVoid { void: 10, of: 10, last: Void::CopiesDropped { .. } }),
        "{ended:?}"
    );
    assert_eq!(trial.verdicts()[0].blocks, 0);
    assert_eq!(
        ended.to_string(),
        "10 of 10 blocks were void, the last one because 10.0 % of copies were dropped"
    );
}

#[test]
fn without_a_control_nothing_is_compared() {
    for (arm, words) in
        [(Arm::Control, "the control gave"), (Arm::SecondControl, "the service beside the control gave")]
    {
        let both = Settings { second_control: true, ..settings() };
        let (trial, ended) = run(both, 0.0, |number, of, seen| {
            if of == arm && number >= 5 {
                (seen.answered, seen.values[0]) = (0, None);
            }
        });
        assert_eq!(ended, Ended::Silent { arm, blocks: 3 });
        assert!(ended.to_string().starts_with(words), "{ended}");
        assert_eq!(trial.counted(), 8);
    }
}

#[test]
fn a_second_control_gives_the_noise_floor() {
    let alone = Settings { candidates: 0, second_control: true, ..settings() };
    assert_eq!(run(alone, 0.0, unchanged).0.noise_floor(0).map(|floor| floor.count > 10), Some(true));
    let (trial, _) = run(Settings { second_control: true, ..settings() }, 0.0, unchanged);
    let floor = trial.noise_floor(0).unwrap();
    assert!(floor.count > 10 && (floor.spread - 0.028).abs() < 0.012, "{floor:?}");
}

#[test]
fn observations_that_fit_nothing_are_no_panic() {
    let mut trial = Trial::new(settings()).unwrap();
    let mut rng = Rng::new(3, "odd");
    assert_eq!(trial.observe(&Block::default()), Looked::default(), "nothing was requested");
    for value in [f64::NAN, f64::INFINITY, -1.0, 0.0, 1e300] {
        trial.next(&mut rng);
        let seen = Seen { offered: 1, values: vec![Some(value)], steal: value, ..Seen::default() };
        trial.observe(&Block { arms: vec![seen.clone(), seen.clone(), seen], ..Block::default() });
        trial.next(&mut rng);
        let seen = Seen { offered: 1, values: vec![Some(value)], ..Seen::default() };
        trial.observe(&Block { arms: vec![seen.clone(), seen], ..Block::default() });
    }
    assert_eq!(trial.verdicts().len(), 2);
}

#[test]
fn refuses_settings_without_a_question() {
    let refused = |settings| Trial::new(settings).map(|_| ()).unwrap_err();
    assert_eq!(refused(Settings { candidates: 0, ..settings() }), TrialError::NoCandidate);
    assert!(matches!(refused(Settings { primary: 2, ..settings() }), TrialError::NoPrimary { .. }));
    assert!(matches!(refused(Settings { risk: f64::NAN, ..settings() }), TrialError::Risk { .. }));
}
