use crate::service::{KINDS, MEASURES, Service};
use crate::{for_seeds, settings};
use control::trial::{Arm, Design, Finding, Step, Trial};
use stats::{Rng, student_t};

const TRIALS: u64 = 2_000;
const BLOCKS: usize = 40;

/// One trial: whether any look had a wrong finding or interval, of the primary measure and of any.
struct Seen {
    wrong: [bool; 2],
    missed: [bool; MEASURES],
    /// Half widths at the end, as multiples of those of a fixed-sample interval with the same correction.
    widths: [f64; MEASURES],
}

fn trial(seed: u64, effect: f64) -> Seen {
    let design = if (seed / 4).is_multiple_of(4) { Design::Alternating } else { Design::Duet };
    let settings = settings(design, BLOCKS);
    let kind = KINDS[(seed % 4) as usize];
    let mut trial = Trial::new(settings.clone()).expect("valid settings");
    let mut seen = Seen { wrong: [false; 2], missed: [false; MEASURES], widths: [0.0; MEASURES] };
    // The differences of each measure, for the fixed-sample interval.
    let mut differences = vec![Vec::new(); MEASURES];
    let mut service = Service::new(kind, effect, seed);
    let mut rng = Rng::new(seed, "order");
    while let Step::Block(assigned) = trial.next(&mut rng) {
        let block = service.block(&assigned);
        trial.observe(&block);
        let at = usize::from(assigned.arms[0] != Arm::Control);
        for (measure, of_measure) in differences.iter_mut().enumerate() {
            let value =
                |arm: usize| block.arms[arm].values[measure].expect("virtual services have all values");
            let (control, candidate) = (value(at), value(1 - at));
            of_measure.push(if measure == ERRORS { candidate - control } else { (candidate / control).ln() });
        }
        for verdict in trial.verdicts() {
            // Errors and memory have no effect.
            let none = effect == 0.0 || verdict.measure == ERRORS || verdict.measure == MEMORY;
            let truth = if none { 0.0 } else { effect.exp() - 1.0 };
            let wrong = match verdict.finding {
                Finding::CannotTell => false,
                Finding::Same => truth.abs() > trial.settings().measures[verdict.measure].margin,
                Finding::Worse => truth <= 0.0,
                Finding::Better => truth >= 0.0,
            };
            seen.wrong[0] |= wrong && verdict.measure == trial.settings().primary;
            seen.wrong[1] |= wrong;
            seen.missed[verdict.measure] |= !verdict.effect.contains(truth);
        }
    }
    for verdict in trial.verdicts() {
        let of = |end: f64| if verdict.measure == ERRORS { end } else { end.ln_1p() };
        let half = 0.5 * (of(verdict.effect.high) - of(verdict.effect.low));
        seen.widths[verdict.measure] =
            half / student(&differences[verdict.measure], settings.risk_of(verdict.measure));
    }
    seen
}

fn student(values: &[f64], risk: f64) -> f64 {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    student_t(risk, count - 1.0) * (squares / (count - 1.0) / count).sqrt()
}

fn share(seen: &[Seen], of: impl Fn(&Seen) -> bool) -> f64 {
    seen.iter().filter(|each| of(each)).count() as f64 / seen.len() as f64
}

fn report(what: &str, seen: &[Seen]) {
    let [primary, any] = [0, 1].map(|at| share(seen, |each| each.wrong[at]));
    println!("{what}: seeds 0 to {}: wrong findings: primary {primary:.4}, any {any:.4}", seen.len() - 1);
    assert!(primary <= 0.05 && any <= 0.05, "{what}: {primary} {any}");
    for measure in 0..MEASURES {
        let missed = share(seen, |each| each.missed[measure]);
        println!("  measure {measure}: intervals miss the effect at some look: {missed:.4}");
        assert!(missed <= 0.05, "{what}: measure {measure}: {missed}");
    }
}

/// Looks after each of 40 blocks of four kinds of service, one in four of them with alternating blocks.
#[test]
fn equal_arms_are_rarely_called_different_at_any_look() {
    let seen = for_seeds(TRIALS, |seed| trial(seed, 0.0));
    report("equal arms", &seen);
    for (at, kind) in KINDS.iter().enumerate() {
        // Errors have the resolution of one request, and a fixed-sample interval of equal counts has none.
        for measure in 0..MEASURES {
            let mut widths: Vec<f64> =
                seen.iter().skip(at).step_by(4).map(|each| each.widths[measure]).collect();
            widths.sort_by(f64::total_cmp);
            let mean = widths.iter().sum::<f64>() / widths.len() as f64;
            let p95 = widths[widths.len() * 95 / 100];
            println!("  {kind:?} {measure}: width / fixed-sample width: mean {mean:.3}, p95 {p95:.3}");
            assert!(mean <= 1.6, "{kind:?} {measure}: {mean}");
        }
    }
}

#[test]
fn intervals_contain_an_effect_at_every_look() {
    let seen = for_seeds(TRIALS / 2, |seed| trial(10_000 + seed, 0.03_f64.ln_1p()));
    report("3 % slower", &seen);
}

const ERRORS: usize = 3;
const MEMORY: usize = 5;
