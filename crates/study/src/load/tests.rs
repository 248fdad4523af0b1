//! Runs against the built-in service on loopback.

use super::*;
use ::load::Target;
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use units::Rate;

/// A plan of 100 requests a second for `millis`, and its service.
fn plan(millis: u64) -> (sample::Running, Plan) {
    let service = sample::Service::start(sample::Config::default()).unwrap();
    let target = Target::new(&format!("http://{}/", service.addr()), "GET", &[], b"").unwrap();
    let model = Model::open(Rate::per_second_of(100.0), Arrivals::Even, None);
    let duration = Some(Duration::from_millis(millis));
    (service, Plan { duration, ..Plan::new(target, model) })
}

fn load<'a>(plan: Plan, thresholds: &[&str], interrupted: &'a (dyn Fn() -> bool + Sync)) -> Load<'a> {
    let thresholds = thresholds.iter().map(|text| text.parse().unwrap()).collect();
    Load { plan, thresholds, watching: Watching::default(), interrupted }
}

fn name(event: &Event<'_>) -> &'static str {
    match event {
        Event::Preflight { .. } => "preflight",
        Event::Begins { .. } => "begins",
        Event::Runs { .. } => "runs",
        Event::Ended(_) => "ended",
        Event::Failed(_) => "failed",
    }
}

#[test]
fn events_come_in_the_order_of_the_run() {
    let (_service, plan) = plan(350);
    let mut names = Vec::new();
    let outcome = run(&load(plan, &[], &|| false), &mut |event| names.push(name(&event))).unwrap();
    assert!(names.iter().filter(|name| **name == "runs").count() >= 2, "{names:?}");
    names.dedup();
    assert_eq!(names, ["preflight", "begins", "runs", "ended"]);
    assert_eq!((outcome.ended, outcome.verdict()), (Ended::Planned, Verdict::Met));
    assert_eq!(outcome.measured.accounting.scheduled, 35);
}

#[test]
fn a_plan_that_cannot_start_fails_as_an_event_and_as_a_result() {
    let (_service, plan) = plan(350);
    let endless = Plan { duration: None, ..plan };
    let mut names = Vec::new();
    let three = NonZeroU32::new(3).unwrap();
    let series = repeat(&load(endless, &[], &|| false), three, &mut |event| names.push(name(&event)));
    assert_eq!(names, ["preflight", "begins", "failed"]);
    assert!(series.runs.is_empty() && matches!(series.failed, Some(StartError::Endless)));
}

#[test]
fn an_interruption_ends_the_run_and_the_series() {
    let (_service, plan) = plan(60_000);
    let interrupted = AtomicBool::new(false);
    let three = NonZeroU32::new(3).unwrap();
    let is_interrupted = || interrupted.load(Ordering::Relaxed);
    let load = load(plan, &[], &is_interrupted);
    let series = repeat(&load, three, &mut |event| {
        if let Event::Runs { .. } = event {
            interrupted.store(true, Ordering::Relaxed);
        }
    });
    assert_eq!(series.runs.iter().map(|run| run.ended).collect::<Vec<_>>(), [Ended::Interrupted]);
    assert!(series.failed.is_none());
}

#[test]
fn a_missed_threshold_ends_the_run_where_it_is_told_to() {
    let (_service, plan) = plan(60_000);
    let mut load = load(plan, &["p(95)<1ns"], &|| false);
    load.thresholds = load.thresholds.into_iter().map(|one| one.aborting(Duration::ZERO)).collect();
    // On a full machine the generator is late, and a run not valid.
    let mut outcomes = (0..3).map(|_| run(&load, &mut |_| ()).unwrap());
    let outcome = outcomes.find(|outcome| outcome.verdict() != Verdict::Invalid).expect("a valid run");
    assert_eq!((outcome.ended, outcome.verdict()), (Ended::Aborted, Verdict::Missed));
}

/// The monitoring thread lowers its priority; threads inherit the priority of the thread that starts them.
#[test]
fn workers_of_every_repetition_have_the_priority_of_the_process() {
    let (_service, plan) = plan(250);
    let mut seen = Vec::new();
    let two = NonZeroU32::new(2).unwrap();
    let series = repeat(&load(plan, &[], &|| false), two, &mut |event| {
        if let Event::Runs { .. } = event {
            seen.extend(nice_of_own_workers());
        }
    });
    assert_eq!(series.runs.len(), 2);
    assert!(seen.len() >= 2 && seen.iter().all(|nice| *nice == 0), "{seen:?}");
}

/// The nice values of the threads that send load: field 19 of proc_pid_stat(5).
fn nice_of_own_workers() -> Vec<i64> {
    let tasks = fs::read_dir("/proc/self/task").unwrap().flatten();
    let stats = tasks.filter_map(|task| fs::read_to_string(task.path().join("stat")).ok());
    let nice = |stat: String| {
        let (name, fields) = stat.split_once('(')?.1.rsplit_once(')')?;
        name.starts_with("load-").then(|| fields.split_whitespace().nth(16)?.parse().ok())?
    };
    stats.filter_map(nice).collect()
}

#[test]
fn the_verdict_follows_from_thresholds_validity_and_good_responses() {
    let (_service, plan) = plan(200);
    let mut outcome = run(&load(plan, &["p(95)<10s", "failed<1%"], &|| false), &mut |_| ()).unwrap();
    outcome.measured.validity.verdict = measure::Verdict::Valid;
    assert_eq!(outcome.verdict(), Verdict::Met);
    outcome.thresholds[1].met = false;
    assert_eq!(outcome.verdict(), Verdict::Missed);
    outcome.measured.validity.verdict = measure::Verdict::Invalid;
    assert_eq!(outcome.verdict(), Verdict::Invalid);
    outcome.thresholds.clear();
    assert_eq!(outcome.verdict(), Verdict::Met, "without thresholds, nothing is claimed");
    outcome.measured = Measurement::default();
    assert_eq!(outcome.verdict(), Verdict::NothingGood);
}

#[test]
fn each_repetition_has_the_next_seed() {
    let (_service, plan) = plan(1);
    let model = Model::open(Rate::per_second_of(1.0), Arrivals::Poisson { seed: u64::MAX }, None);
    let plan = Plan { seed: 7, model, ..plan };
    let seeds = |number| match with_seed(&plan, number) {
        Plan { seed, model: Model::Open { arrivals: Arrivals::Poisson { seed: arrivals }, .. }, .. } => {
            (seed, arrivals)
        }
        other => panic!("{other:?}"),
    };
    assert_eq!([seeds(0), seeds(1), seeds(2)], [(7, u64::MAX), (8, 0), (9, 1)]);
}
