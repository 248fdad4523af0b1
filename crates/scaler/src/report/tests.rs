//! What a reader sees: opinions, refusals, changes that are not carried out.

use super::*;
use crate::sample::{Counts, InstanceSample};
use control::scaling::controller::{KnativeScaling, Policy as Settings};
use control::scaling::guard::GuardSettings;
use control::scaling::knative::KnativeSettings;
use units::InstanceCount;

fn brain(step_out: Option<u32>) -> Brain {
    let knative = KnativeSettings { max: Some(InstanceCount::new(9)), ..KnativeSettings::concurrency(100.0) };
    let policy = Settings::Knative(Box::new(KnativeScaling { knative }));
    let guard = GuardSettings { step_out, ..GuardSettings::new(1, 9) };
    Brain::new(&policy, 2, guard, None, Duration::from_secs(10))
}

fn sample(number: u64, in_flight: f64) -> Sample {
    let instance = |id| InstanceSample {
        id,
        started_ns: Some(0),
        ready_ns: (id < 2).then_some(0),
        ending: id == 3,
        cores: 1.0,
        used: 0.2,
        allotted: 1.0,
        memory: Some(40 << 20),
    };
    Sample {
        number,
        at_ns: (number + 1) * 1_000_000_000,
        size: 3,
        quality: Quality::Fresh,
        paused: false,
        killed: false,
        withdrawn: false,
        requests: Counts {
            arrived: 50,
            answered: 50,
            in_flight,
            times: vec![(0.05, 50)],
            ..Counts::default()
        },
        instances: (0..4).map(instance).collect(),
    }
}

fn status(brain: &mut Brain, reporter: &mut Reporter, sample: &Sample) -> Scaler {
    let decided = brain.take(sample);
    let wanted = brain.wanted();
    reporter.after(&Step { brain, sample, decided: &decided, applied: false, wanted, error: Some("none") })
}

#[test]
fn opinions_are_remembered_and_what_is_not_carried_out_is_named() {
    let (mut brain, mut reporter) =
        (brain(Some(1)), Reporter::new(Scaler { service: "web".into(), ..Scaler::default() }));
    let mut last = Scaler::default();
    for number in 0..30 {
        last = status(&mut brain, &mut reporter, &sample(number, 800.0));
    }
    assert_eq!((last.service.as_str(), last.actual, last.wanted, last.min, last.max), ("web", 3, 4, 1, 9));
    assert_eq!(last.instances, Instances { starting: 1, ready: 2, ending: 1 });
    assert_eq!(last.memory, Some(Memory { mean_bytes: 40 << 20, most_bytes: 40 << 20 }));
    assert_eq!(last.quiet, "the size is recommended, and was not set yet");
    assert_eq!(last.metrics.error.as_deref(), Some("none"));
    let names: Vec<&str> = last.policies.iter().map(|policy| policy.name.as_str()).collect();
    assert_eq!(names, ["Knative pod autoscaler", "guard"]);
    assert!(last.policies[0].wanted > Some(4) && last.policies[0].changed > 0, "{:?}", last.policies);
    assert_eq!(last.policies[1].reason, "limited to 1 in one step");
    let change = last.last_change.expect("a change");
    assert_eq!((change.policy.as_str(), change.from, change.to, change.applied), ("guard", 3, 4, false));
    let later = status(&mut brain, &mut reporter, &Sample { paused: true, ..sample(30, 800.0) });
    assert_eq!((later.quiet.as_str(), later.wanted, later.paused), ("the scaler is paused", 4, true));
}

#[test]
fn nothing_to_do_is_said_so() {
    let (mut brain, mut reporter) = (brain(None), Reporter::new(Scaler::default()));
    let mut last = Scaler::default();
    for number in 0..10 {
        // 70 % of 100 an instance.
        last = status(&mut brain, &mut reporter, &sample(number, 200.0));
    }
    assert_eq!((last.wanted, last.quiet.as_str()), (3, "no policy requests another size"));
    reporter.period(12.5, Some(true));
    last = status(&mut brain, &mut reporter, &Sample { quality: Quality::Stale, ..sample(10, 200.0) });
    assert_eq!(last.quiet, "no policy requests another size; metrics are stale");
    assert_eq!((last.demand, last.goal_held), (12.5, Some(true)));
}
