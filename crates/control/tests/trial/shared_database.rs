use crate::{for_seeds, settings};
use control::trial::{
    Arm, Assignment, Block, Design, Finding, Looked, Probing, Purpose, Seen, Settings, Step, Trial, Why,
};
use libm::exp;
use stats::Rng;

/// Arms that wait for one database. A busy database slows down every arm alike.
struct Pair {
    /// How much the second arm slows down a request of either; 0 if the arms share nothing.
    coupling: f64,
    /// How much more of everything the candidate needs than the control.
    more: f64,
    rng: Rng,
    level: f64,
}

impl Pair {
    fn block(&mut self, assigned: &Assignment) -> Block {
        let work = |arm: &Arm| if matches!(arm, Arm::Candidate(_)) { 1.0 + self.more } else { 1.0 };
        let mut arms = Vec::new();
        self.level += 0.01 * self.rng.normal();
        for arm in &assigned.arms {
            let own = 1.0 - self.coupling;
            let response_time = if assigned.at_once && self.coupling > 0.0 {
                // The queue of the database has the work of both: each waits for it as long as the other.
                let all: f64 = assigned.arms.iter().map(work).sum();
                own + self.coupling * all
            } else {
                own * work(arm) + self.coupling * work(arm)
            };
            let noise = self.level + 0.02 * self.rng.normal();
            let value = Some(response_time * exp(noise));
            let values = vec![value, value, value, Some(0.0), Some(1.0), Some(1.0)];
            arms.push(Seen { offered: 2_000, answered: 2_000, values, ..Seen::default() });
        }
        Block { arms, ..Block::default() }
    }
}

struct Outcome {
    finding: Finding,
    design: Design,
    effect: (f64, f64),
    probing: Option<Probing>,
    abandoned: usize,
}

fn compared(coupling: f64, more: f64, probes: Option<f64>, seed: u64) -> Outcome {
    let settings = Settings { probes, ..settings(Design::Duet, 60) };
    let mut trial = Trial::new(settings).expect("valid settings");
    let mut pair = Pair { coupling, more, rng: Rng::new(seed, "pair"), level: 0.0 };
    let mut rng = Rng::new(seed, "order");
    while let Step::Block(assigned) = trial.next(&mut rng) {
        let Looked { changed, .. } = trial.observe(&pair.block(&assigned));
        assert!(assigned.purpose == Purpose::Compare || assigned.arms == [Arm::Control]);
        if let Some((design, why)) = changed {
            assert!(
                design == Design::Slices && matches!(why, Why::Disturbed { at_least } if at_least > 0.015)
            );
        }
    }
    let verdict = trial.verdicts()[1];
    Outcome {
        finding: verdict.finding,
        design: trial.design(),
        effect: (verdict.effect.low, verdict.effect.high),
        probing: trial.probes().map(|probes| probes.state()),
        abandoned: trial.abandoned(),
    }
}

#[test]
fn a_shared_database_is_found_and_the_arms_take_turns() {
    let share = |outcomes: &[Outcome], of: fn(&Outcome) -> bool| {
        outcomes.iter().filter(|each| of(each)).count() as f64 / outcomes.len() as f64
    };
    let covers = |outcome: &Outcome| outcome.effect.0 <= 0.06 && outcome.effect.1 >= 0.06;
    let naive = for_seeds(100, |seed| compared(0.4, 0.06, None, seed));
    let probed = for_seeds(100, |seed| compared(0.4, 0.06, Some(0.015), seed));
    let (missed, found) = (share(&naive, covers), share(&probed, |each| each.finding == Finding::Worse));
    println!(
        "without probes {missed:.2} of the intervals contain the effect; with probes {:.2}",
        share(&probed, covers)
    );
    let blocks = probed.iter().map(|each| each.abandoned).sum::<usize>() as f64 / 100.0;
    println!("with probes: worse {found:.2}, found after {blocks:.1} blocks (mean)");
    assert!(missed < 0.1, "the naive duet has to be wrong: {missed}");
    assert!(share(&probed, |each| each.design == Design::Slices) >= 0.99);
    assert!(share(&probed, covers) >= 0.95 && found >= 0.8, "{found}");
}

#[test]
fn arms_that_share_nothing_stay_a_duet() {
    let outcomes = for_seeds(200, |seed| compared(0.0, 0.06, Some(0.015), seed));
    let slices = outcomes.iter().filter(|each| each.design == Design::Slices).count();
    let worse = outcomes.iter().filter(|each| each.finding == Finding::Worse).count();
    let clear = outcomes.iter().filter(|each| each.probing == Some(Probing::Clear)).count();
    println!("of 200 without anything shared: {slices} changed to slices, {clear} clear, {worse} found");
    assert!(slices <= 10, "{slices}");
    assert!(worse >= 190, "{worse}");
}

#[test]
fn equal_arms_that_share_a_database_are_rarely_called_different() {
    let outcomes = for_seeds(200, |seed| compared(0.4, 0.0, Some(0.015), 1_000 + seed));
    let slices = outcomes.iter().filter(|each| each.design == Design::Slices).count();
    let wrong =
        outcomes.iter().filter(|each| matches!(each.finding, Finding::Worse | Finding::Better)).count();
    println!("of 200 equal pairs with a shared database: {slices} changed to slices, {wrong} wrong");
    assert!(slices >= 198 && wrong <= 10, "{slices} {wrong}");
}
