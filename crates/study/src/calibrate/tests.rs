//! Services that are simulated are measured, and the truth is found again.

use super::*;
use sim::plant::{Plant, Window};
use sim::settings::{Distribution, Server, ServiceId};
use stats::Rng;
use units::Timestamp;

fn ms(value: f64) -> Duration {
    Duration::from_secs_f64(value / 1e3)
}

/// Measures a level of a simulated service, as a run would: 80 spans of equal length, after one that is left out.
fn level(model: &Model, users: u32, seconds: f64, seed: u64) -> Level {
    let system = model.system(Load::Users(users), seed);
    let mut plant = sim::Requests::new(&system);
    let instance = plant.launch(ServiceId(0), 0);
    plant.serve(instance);
    let mut window = Window::default();
    let mut level = Level { users, slices: Vec::new(), times: Histogram::default(), known: None };
    let (mut used, mut counted) = (0.0, 0.0);
    let span = seconds / 80.0;
    for number in 1..=81 {
        window.clear();
        plant.run_until(Timestamp::ZERO + Duration::from_secs_f64(span * f64::from(number)));
        plant.take_window(ServiceId(0), &mut window);
        used += plant.take_cpu(instance);
        // As the kernel counts it.
        let ticks = (used * 100.0).floor() / 100.0;
        let cpu_seconds = Some(ticks - counted);
        counted = ticks;
        if number == 1 {
            continue;
        }
        level.slices.push(Slice { seconds: span, responses: window.answered, cpu_seconds });
        for (time, count) in window.balancer.occupied() {
            for _ in 0..count {
                level.times.record(Duration::from_secs_f64(time));
            }
        }
    }
    level
}

/// Levels until throughput does not grow any more, as the closed steps of a calibration do.
fn levels(model: &Model, seed: u64) -> Vec<Level> {
    let mut found: Vec<Level> = Vec::new();
    let rate = |level: &Level| level.slices.iter().map(|slice| slice.responses).sum::<u64>() as f64;
    for users in [1, 2, 4, 8, 16, 32, 64, 128, 256] {
        found.push(level(model, users, 20.0, seed + u64::from(users)));
        if let [.., before, last] = &found[..]
            && rate(last) < 1.03 * rate(before)
        {
            break;
        }
    }
    found
}

/// A service with random processor time, waits, cores, processes and threads, and in a third of them a pool.
fn service(seed: u64) -> (Model, Known) {
    let mut rng = Rng::new(seed, "calibrated services");
    let mut one_of = |of: &[u32]| of[rng.below(of.len())];
    let (cores, processes) = (one_of(&[1, 2, 4]), one_of(&[1, 2, 4]));
    let threads = one_of(&[1, 2, 4, 8, 16]);
    let all = threads * processes;
    let pooled = one_of(&[0, 0, 1]) == 1 && all > 2;
    let places = 1 + one_of(&[0, 1, 2, 3]).min(all / 2);
    let mut between = |low: f64, high: f64| low * (high / low).powf(rng.uniform());
    let cpu = Distribution::LogNormal { mean: ms(between(1.0, 20.0)), cv: between(0.2, 1.0) };
    let wait = Distribution::LogNormal { mean: ms(between(1.0, 60.0)), cv: between(0.3, 1.2) };
    let pool = pooled.then_some(Pool { places });
    let server = Server::new(processes, threads);
    let model = Model { cpu, wait, cores: f64::from(cores), background: 0.0, server, pool };
    let known = Known {
        cores: Some(f64::from(cores)),
        processes: Some(processes),
        threads: Some(threads),
        lock: Some(Lock::Free),
        ..Known::default()
    };
    (model, known)
}

fn holds(figure: Figure, truth: f64) -> bool {
    (figure.low..=figure.high).contains(&truth)
}

/// The throughput of a model with more users than it has threads.
fn capacity(model: &Model) -> f64 {
    predict(model, Load::Users(256), 20.0, 99).per_second
}

/// Whether the pool limits: without it there would be clearly more throughput.
fn pool_limits(model: &Model) -> bool {
    let without = Model { pool: None, ..model.clone() };
    model.pool.is_some() && capacity(model) < 0.9 * capacity(&without)
}

#[test]
fn the_truth_of_simulated_services_is_found_again() {
    let (mut wrong, mut figures, mut held) = (Vec::new(), 0, 0);
    for seed in 1..=100 {
        let (model, known) = service(seed);
        let fitted = fit(&levels(&model, seed), &known);
        let (cpu_s, wait_s) = (model.cpu.mean().as_secs_f64(), model.wait.mean().as_secs_f64());
        let mut ok = |held_one: bool| {
            figures += 1;
            held += u32::from(held_one);
            held_one
        };
        let right = fitted.as_ref().is_ok_and(|fitted| {
            let (cpu, wait) =
                (ok(fitted.cpu.is_some_and(|cpu| holds(cpu, cpu_s))), ok(holds(fitted.wait, wait_s)));
            let bound = match (fitted.bound, model.pool) {
                (Bound::Pool(places), Some(pool)) => holds(places, f64::from(pool.places)),
                (Bound::Pool(_), None) => false,
                _ => !pool_limits(&model),
            };
            cpu && wait && ok(bound)
        });
        if !right {
            let said = fitted
                .map(|f| format!("cpu {:?} wait {:?} best {:?} bound {:?}", f.cpu, f.wait, f.best, f.bound));
            wrong.push(format!(
                "{seed}: cpu {cpu_s:.5} wait {wait_s:.5} {known:?} pool {:?}: {said:?}",
                model.pool
            ));
        }
    }
    println!("{held} of {figures} figures held\n{}", wrong.join("\n"));
    assert!(wrong.len() <= 15, "{} of 100", wrong.len());
}

#[test]
fn held_back_trials_are_predicted() {
    let mut off: [Vec<f64>; 2] = Default::default();
    for seed in 101..=150 {
        let (model, known) = service(seed);
        let fitted = fit(&levels(&model, seed), &known).unwrap();
        let rate = Load::Rate(0.7 * fitted.best.value);
        let seconds = 60_000.0 / fitted.best.value;
        let (truth, found) = (predict(&model, rate, seconds, seed), predict(&fitted.model, rate, seconds, 1));
        let p95 = |of: &Predicted| of.times.quantile(0.95).unwrap();
        off[0].push(capacity(&fitted.model) / capacity(&model) - 1.0);
        off[1].push(p95(&found) / p95(&truth) - 1.0);
        println!(
            "{seed} {:+.3} {:+.3} {:?} {known:?} {:?}",
            off[0].last().unwrap(),
            off[1].last().unwrap(),
            fitted.bound,
            model.pool
        );
    }
    for (name, mut off, bounds) in off
        .into_iter()
        .zip([("throughput", (0.05, 0.10)), ("p95", (0.15, 0.30))])
        .map(|(off, (name, bounds))| (name, off, bounds))
    {
        off.iter_mut().for_each(|off| *off = off.abs());
        off.sort_by(f64::total_cmp);
        let (median, worst) = (off[off.len() / 2], off[off.len() - 1]);
        println!("{name}: median {median:.3}, worst {worst:.3}");
        assert!(median <= bounds.0 && worst <= bounds.1, "{name}: median {median:.3}, worst {worst:.3}");
    }
}

/// Eight users on eight places: throughput is the same with more users, by chance less.
#[test]
fn a_limit_is_seen_where_the_best_level_has_as_many_users_as_places() {
    let wait = Distribution::LogNormal { mean: ms(40.0), cv: 0.5 };
    let cpu = Distribution::Constant(ms(0.5));
    let truth = Model { cpu, wait, cores: 4.0, background: 0.0, server: Server::new(1, 8), pool: None };
    for seed in 1..=8 {
        let levels: Vec<Level> =
            [1, 2, 4, 8, 16, 32].map(|users| level(&truth, users, 20.0, seed + u64::from(users))).into();
        let fitted = fit(&levels, &Known { cores: Some(4.0), ..Known::default() }).unwrap();
        let Bound::Places(places) = fitted.bound else { panic!("seed {seed}: {:?}", fitted.bound) };
        assert!(holds(places, 8.0), "seed {seed}: {places:?}");
    }
}

#[test]
fn a_service_that_answers_nothing_has_no_model() {
    let level = Level {
        users: 1,
        slices: vec![Slice { seconds: 1.0, responses: 0, cpu_seconds: None }; 8],
        times: Histogram::default(),
        known: None,
    };
    assert!(matches!(fit(&[level], &Known::default()), Err(NoFit::TooShort { users: 1, .. })));
    assert!(matches!(fit(&[], &Known::default()), Err(NoFit::NobodyAlone)));
}

fn trial_of(model: &Model, rate: f64) -> Trial {
    let predicted = predict(model, Load::Rate(rate), 20.0, 5);
    let mut times = Histogram::default();
    for (time, count) in predicted.times.occupied() {
        (0..count).for_each(|_| times.record(Duration::from_secs_f64(time)));
    }
    let slice = Slice { seconds: 1.0, responses: rate as u64, cpu_seconds: None };
    Trial { rate, load: Load::Rate(rate), slices: vec![slice; 20], times }
}

#[test]
fn a_backtest_that_is_ended_keeps_the_trials_until_then() {
    let (model, known) = service(3);
    let fitted = fit(&levels(&model, 3), &known).unwrap();
    let trials = [0.3, 0.5].map(|share| trial_of(&model, share * fitted.best.value));
    let mut compared = Vec::new();
    assert_eq!(backtest(&fitted, &trials, &mut compared, &mut |share| share < 0.6), Err(Stopped));
    assert!(!compared.is_empty() && compared.iter().all(|one| one.rate == trials[0].rate), "{compared:?}");
    let mut shares = Vec::new();
    let mut go_on = |share| {
        shares.push(share);
        true
    };
    compared.clear();
    assert_eq!(backtest(&fitted, &trials, &mut compared, &mut go_on), Ok(()));
    assert!(shares.is_sorted() && shares.iter().all(|share| (0.0..1.0).contains(share)), "{shares:?}");
    assert!(compared.iter().any(|one| one.rate == trials[1].rate));
}

/// Between requests, a generator leaves cores idle that are the limit all the same.
#[test]
fn cores_that_are_nearly_full_are_not_a_pool() {
    let wait = Distribution::Constant(ms(5.0));
    let cpu = Distribution::LogNormal { mean: ms(5.0), cv: 0.5 };
    let truth = Model { cpu, wait, cores: 1.0, background: 0.0, server: Server::new(1, 64), pool: None };
    let mut levels: Vec<Level> =
        [1, 2, 4, 8, 16, 32].map(|users| level(&truth, users, 20.0, 7 + u64::from(users))).into();
    for level in levels.iter_mut().filter(|level| level.users > 2) {
        // The same work in 10 % more time.
        level.slices.iter_mut().for_each(|slice| slice.seconds *= 1.1);
    }
    let known = Known {
        cores: Some(1.0),
        processes: Some(1),
        threads: Some(64),
        lock: Some(Lock::Free),
        ..Known::default()
    };
    let fitted = fit(&levels, &known).unwrap();
    assert_eq!(fitted.bound, Bound::Cores, "{:?} cores busy", fitted.busy);
    assert!(fitted.is_between(&known), "{:?} cores busy", fitted.busy);
    assert!(fitted.model.pool.is_none());
}
