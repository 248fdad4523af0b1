use crate::service::{Kind, Service};
use crate::{for_seeds, settings};
use control::trial::{Arm, Block, Design, Ended, Finding, Limits, Step, Trial};
use stats::Rng;
use std::time::Duration;

/// What disturbs a block, to the disadvantage of the candidate.
fn disturb(block: &mut Block, candidate: usize, what: usize) {
    let seen = &mut block.arms[candidate];
    match what {
        0 => seen.steal = 0.2,
        1 => seen.throttled = 0.4,
        2 => seen.dropped = 200,
        3 => seen.mix = vec![1_000, 1_000],
        4 => seen.offered = 1_500,
        _ => block.lag = Duration::from_millis(40),
    }
    for value in block.arms[candidate].values.iter_mut().take(3).flatten() {
        *value *= 1.3;
    }
}

/// The verdict on p95 of equal arms, of which one is disturbed in three of ten blocks.
fn disturbed(seed: u64, limits: Limits) -> (Finding, usize) {
    let mut settings = settings(Design::Duet, 40);
    settings.limits = limits;
    let mut trial = Trial::new(settings).expect("valid settings");
    let mut service = Service::new(Kind::Noisy, 0.0, seed);
    let mut rng = Rng::new(seed, "order");
    let mut machine = Rng::new(seed, "machine");
    let mut injected = 0;
    for at in 0.. {
        let assigned = match trial.next(&mut rng) {
            Step::Done(ended) => {
                assert_eq!(ended, Ended::AsPlanned, "seed {seed}");
                break;
            }
            Step::Block(assigned) => assigned,
        };
        let mut block = service.block(&assigned);
        // What is usual is known after a few blocks.
        if at >= 5 && machine.uniform() < 0.3 {
            let candidate = usize::from(assigned.arms[0] == Arm::Control);
            disturb(&mut block, candidate, machine.below(6));
            injected += 1;
        }
        trial.observe(&block);
    }
    assert!(limits != Limits::default() || trial.void().len() == injected, "seed {seed}: {:?}", trial.void());
    (trial.verdicts()[1].finding, injected)
}

#[test]
fn blocks_that_hurt_one_arm_are_void_and_do_not_bias() {
    let (lag, requests) = (Duration::MAX, 0);
    let off = Limits { lag, steal: 2.0, throttled: 2.0, dropped: 2.0, mix: 2.0, unequal: 2.0, requests };
    let wrong = |limits: Limits| {
        let findings = for_seeds(400, |seed| disturbed(seed, limits).0);
        findings.iter().filter(|finding| matches!(finding, Finding::Worse | Finding::Better)).count() as f64
            / 400.0
    };
    let (with, without) = (wrong(Limits::default()), wrong(off));
    println!("wrong findings of p95: {with:.4} with void blocks, {without:.4} if all blocks count");
    assert!(with <= 0.05, "{with}");
    assert!(without > 0.2, "the disturbance has to matter: {without}");
}
