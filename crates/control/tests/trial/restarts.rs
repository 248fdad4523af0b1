use crate::{for_seeds, settings};
use control::trial::{
    Assignment, Block, Design, Finding, Known, NoiseFloor, Restarts, Seen, Shared, Step, Trial, Wanted, plan,
};
use stats::{Components, Rng};
use std::time::Duration;

const BETWEEN: f64 = 0.03;
const WITHIN: f64 = 0.02;

/// Equal arms. A process keeps the level that it had after its start.
struct Processes {
    rng: Rng,
    levels: [f64; 2],
}

impl Processes {
    fn new(seed: u64) -> Self {
        let mut rng = Rng::new(seed, "processes");
        let levels = [BETWEEN * rng.normal(), BETWEEN * rng.normal()];
        Processes { rng, levels }
    }

    fn block(&mut self, assigned: &Assignment) -> Block {
        let arm = |place: usize| {
            if assigned.restart {
                self.levels[place] = BETWEEN * self.rng.normal();
            }
            let value = Some((self.levels[place] + WITHIN * self.rng.normal()).exp());
            let values = vec![value, value, value, Some(0.0), Some(1.0), Some(1.0)];
            Seen { offered: 2_000, answered: 2_000, values, ..Seen::default() }
        };
        // The control is the first process.
        let control = assigned.arms.iter().position(|arm| *arm == control::trial::Arm::Control).unwrap_or(0);
        let mut arms: Vec<Seen> = (0..2).map(arm).collect();
        if control == 1 {
            arms.reverse();
        }
        Block { arms, ..Block::default() }
    }
}

fn wrong(design: Design) -> usize {
    let findings = for_seeds(400, |seed| {
        let mut trial = Trial::new(settings(design, 30)).expect("valid settings");
        let (mut processes, mut rng) = (Processes::new(seed), Rng::new(seed, "order"));
        while let Step::Block(assigned) = trial.next(&mut rng) {
            assert_eq!(assigned.restart, design == Design::Restarts);
            trial.observe(&processes.block(&assigned));
        }
        trial.verdicts()[1].finding
    });
    findings.iter().filter(|finding| matches!(finding, Finding::Better | Finding::Worse)).count()
}

#[test]
fn where_restarts_differ_the_restart_is_the_unit() {
    let (blocks, restarts) = (wrong(Design::Slices), wrong(Design::Restarts));
    println!(
        "equal arms whose restarts differ, 400 trials: {blocks} wrong with blocks as the unit, {restarts} with restarts"
    );
    assert!(blocks > 100, "the restarts have to matter: {blocks}");
    assert!(restarts <= 20, "{restarts}");
}

#[test]
fn a_pilot_of_restarts_chooses_the_design() {
    let mut rng = Rng::new(1, "pilot");
    let groups: Vec<Vec<f64>> = (0..8)
        .map(|_| {
            let level = BETWEEN * rng.normal();
            (0..4).map(|_| level + WITHIN * rng.normal()).collect()
        })
        .collect();
    let components =
        Components::of(&groups.iter().map(Vec::as_slice).collect::<Vec<_>>()).expect("enough restarts");
    let noise = Some(NoiseFloor { spread: 0.03, count: 20 });
    let known = Known {
        copies: true,
        shared: Shared::Nothing,
        at_once: noise,
        in_turns: noise,
        restarts: Some(Restarts { components, count: 8, takes: Duration::from_secs(20) }),
        always_restart: false,
        block: Duration::from_secs(30),
        settle: Duration::from_secs(10),
        price_per_hour: 0.1,
    };
    let budget = Duration::from_secs(100_000);
    let wanted = Wanted { effect: 0.03, power: 0.8, risk: 0.025, candidates: 1, budget };
    let plan = plan(&known, &wanted).expect("a long budget");
    println!("{plan}");
    assert_eq!(plan.design, Design::Restarts);
}
