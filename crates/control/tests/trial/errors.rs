use crate::service::errors;
use crate::{for_seeds, settings};
use control::trial::{Arm, Block, Design, Finding, Seen, Settings, Step, Trial};
use stats::Rng;

const REQUESTS: u64 = 2_000;

/// The finding on errors, and whether the interval contains the true difference of shares.
fn compared(control: f64, candidate: f64, seed: u64) -> (Finding, bool) {
    let all = settings(Design::Duet, 60);
    let settings = Settings { measures: vec![all.measures[1], all.measures[3]], primary: 0, ..all };
    let mut trial = Trial::new(settings).expect("valid settings");
    let (mut service, mut rng) = (Rng::new(seed, "service"), Rng::new(seed, "order"));
    while let Step::Block(assigned) = trial.next(&mut rng) {
        let arms = assigned.arms.iter().map(|arm| {
            let share = if *arm == Arm::Control { control } else { candidate };
            let failed = errors(&mut service, share * REQUESTS as f64) / REQUESTS as f64;
            let response_time = (0.03 * service.normal()).exp();
            let values = vec![Some(response_time), Some(failed)];
            Seen { offered: REQUESTS, answered: REQUESTS, values, ..Seen::default() }
        });
        trial.observe(&Block { arms: arms.collect(), ..Block::default() });
    }
    let verdict = trial.verdicts()[1];
    (verdict.finding, verdict.effect.contains(candidate - control))
}

#[test]
fn shares_of_errors_are_compared_by_their_difference() {
    for (control, candidate, worse) in [
        (0.0, 0.0, 0.0),
        (0.0002, 0.0002, 0.0),
        (0.002, 0.002, 0.0),
        (0.0, 0.0002, 0.0),
        (0.0, 0.002, 0.95),
        (0.001, 0.003, 0.95),
        (0.01, 0.013, 0.95),
    ] {
        let seen = for_seeds(200, |seed| compared(control, candidate, seed));
        let share =
            |of: fn(&(Finding, bool)) -> bool| seen.iter().filter(|each| of(each)).count() as f64 / 200.0;
        let (found, covered) = (share(|each| each.0 == Finding::Worse), share(|each| each.1));
        let same = share(|each| each.0 == Finding::Same);
        println!("errors {control} and {candidate}: worse {found:.3}, same {same:.3}, covered {covered:.3}");
        assert!(covered >= 0.95, "{control} {candidate}: {covered}");
        assert!(found >= worse, "{control} {candidate}: {found}");
        assert!(candidate > control || found <= 0.025, "{control} {candidate}: {found}");
    }
}
