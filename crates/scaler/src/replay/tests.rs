//! A recorded run decides the same again, and a gap is seen.

use super::*;
use crate::brain::Brain;
use crate::sample::{Counts, InstanceSample, Quality};
use control::scaling::controller::{KnativeScaling, Policy};
use control::scaling::guard::GuardSettings;
use control::scaling::knative::KnativeSettings;
use std::time::Duration;
use units::InstanceCount;

fn brain() -> Brain {
    let knative = KnativeSettings { max: Some(InstanceCount::new(9)), ..KnativeSettings::concurrency(100.0) };
    let policy = Policy::Knative(Box::new(KnativeScaling { knative }));
    Brain::new(&policy, 1, GuardSettings::new(1, 5), None, Duration::from_secs(10))
}

/// A run of two minutes whose load rises and falls; each decision is applied at once.
fn record() -> Vec<String> {
    let mut brain = brain();
    let step_ns = brain.step().as_nanos() as u64;
    assert_eq!(step_ns, 1_000_000_000);
    let begin = Begin {
        version: String::new(),
        case: "a.yaml".to_owned(),
        stage: "now".to_owned(),
        size: 1,
        step_ns,
        applies: true,
        run: None,
        began_us: None,
    };
    let mut lines = vec![serde_json::to_string(&Line::Begin(begin)).unwrap()];
    let mut size = 1;
    for number in 0..120 {
        let in_flight = if (20..60).contains(&number) { 400.0 } else { 30.0 };
        let sample = Sample {
            number,
            at_ns: (number + 1) * step_ns,
            size,
            quality: Quality::Fresh,
            paused: false,
            killed: false,
            withdrawn: false,
            requests: Counts { arrived: 50, answered: 50, in_flight, ..Counts::default() },
            instances: (0..u64::from(size))
                .map(|id| InstanceSample {
                    id,
                    started_ns: Some(0),
                    ready_ns: Some(0),
                    ending: false,
                    cores: 1.0,
                    used: 0.1 + 0.2,
                    allotted: 1.0,
                    memory: None,
                })
                .collect(),
        };
        lines.push(serde_json::to_string(&Line::Sample(sample.clone())).unwrap());
        let decided = brain.take(&sample);
        let applied = decided.ruling.changes();
        if applied {
            brain.applied(decided.at, decided.ruling.from, decided.ruling.to);
            size = decided.ruling.to;
        }
        if decided.is_told() {
            let line = Line::Decision(Box::new(decision_line(&sample, &decided, applied)));
            lines.push(serde_json::to_string(&line).unwrap());
        }
    }
    lines
}

#[test]
fn the_same_samples_give_the_same_decisions() {
    let lines = record();
    let found = replay(&lines.join("\n"), brain()).unwrap();
    assert!(found.is_same(), "{found:?}");
    assert_eq!(found.samples, 120);
    assert!(found.decisions > 3, "it scales out and in, and meets the guard's maximum: {found:?}");
    assert!(lines.iter().any(|line| line.contains("\"rule\":\"maximum\"")));
}

#[test]
fn a_dropped_sample_and_another_decision_are_seen() {
    let mut lines = record();
    let place =
        lines.iter().position(|line| line.contains("\"number\":30,") && line.contains("sample")).unwrap();
    lines.remove(place);
    let found = replay(&lines.join("\n"), brain()).unwrap();
    assert_eq!(found.missing, [30]);
    assert!(!found.is_same());

    let mut lines = record();
    let place = lines.iter().position(|line| line.contains("\"line\":\"decision\"")).unwrap();
    lines.remove(place);
    let found = replay(&lines.join("\n"), brain()).unwrap();
    assert!(found.different[0].starts_with("recorded: nothing; now: at "), "{found:?}");
}

#[test]
fn other_files_are_refused() {
    assert!(matches!(replay("", brain()), Err(ReplayError::NoBegin)));
    assert!(matches!(replay("{}", brain()), Err(ReplayError::Line { line: 1, .. })));
    let mut lines = record();
    lines[0] = lines[0].replace("\"step_ns\":1000000000", "\"step_ns\":2000000000");
    assert!(matches!(replay(&lines.join("\n"), brain()), Err(ReplayError::Step { .. })));
}
