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
        let ticks = (used * 250.0).floor() / 250.0;
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
    let pool = pooled.then_some(Pool { places, held: 1.0 });
    let server = Server::new(processes, threads);
    let model =
        Model { cpu, wait, kinds: Vec::new(), cores: f64::from(cores), background: 0.0, server, pool };
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

/// Two services with random figures: one that its threads limit, and the same with a pool that does.
fn limited(seed: u64) -> [(Model, Known); 2] {
    let mut rng = Rng::new(seed, "services of known limits");
    let mut one_of = |of: &[u32]| of[rng.below(of.len())];
    let (cores, threads) = (f64::from(one_of(&[1, 2, 4])), one_of(&[2, 3, 4, 6, 8, 12, 16]));
    let places = one_of(&[1, 2, 3, 4, 6]).min(threads / 2);
    let mut between = |low: f64, high: f64| low * (high / low).powf(rng.uniform());
    let cpu = between(0.5, 10.0);
    // Processors stay clearly below their limit.
    let wait = between(5.0, 60.0).max(2.0 * cpu * f64::from(threads) / cores);
    let model = Model {
        cpu: Distribution::LogNormal { mean: ms(cpu), cv: between(0.2, 1.0) },
        wait: Distribution::LogNormal { mean: ms(wait), cv: between(0.3, 1.2) },
        kinds: Vec::new(),
        cores,
        background: 0.0,
        server: Server::new(1, threads),
        pool: None,
    };
    let known = Known { cores: Some(cores), processes: Some(1), lock: Some(Lock::Free), ..Known::default() };
    let pooled = Model { pool: Some(Pool { places, held: 1.0 }), ..model.clone() };
    [(model, known), (pooled, Known { threads: Some(threads), ..known })]
}

#[test]
fn each_figure_of_a_hundred_services_is_inside_its_interval() {
    let names = ["processor time", "wait", "threads", "pool"];
    let halves = [1..=50, 51..=100].map(|seeds| std::thread::spawn(move || figures_outside(&names, seeds)));
    let mut found: [(u32, Vec<String>); 4] = Default::default();
    for half in halves {
        for ((count, missed), (more, others)) in found.iter_mut().zip(half.join().unwrap()) {
            *count += more;
            missed.extend(others);
        }
    }
    for (name, (count, missed)) in names.iter().zip(found) {
        println!("{name}: {} of {count} missed\n{}", missed.len(), missed.join("\n"));
        assert!(100 * missed.len() as u32 <= 15 * count, "{name}: {} of {count} missed", missed.len());
    }
}

/// How many figures were checked, and which are outside, by name.
fn figures_outside(names: &[&str; 4], seeds: std::ops::RangeInclusive<u64>) -> [(u32, Vec<String>); 4] {
    let mut found: [(u32, Vec<String>); 4] = Default::default();
    for seed in seeds {
        for (model, known) in limited(seed) {
            let fitted = fit(&levels(&model, seed), &known);
            let figures = fitted.as_ref().ok();
            let mut check = |name: &str, figure: Option<Figure>, truth: f64| {
                let (count, missed) = &mut found[names.iter().position(|one| *one == name).unwrap()];
                *count += 1;
                if !figure.is_some_and(|figure| holds(figure, truth)) {
                    missed.push(format!("{name} of seed {seed}: {truth} found as {figure:?}, {known:?}"));
                }
            };
            check("processor time", figures.and_then(|figures| figures.cpu), model.cpu.mean().as_secs_f64());
            check("wait", figures.map(|figures| figures.wait), model.wait.mean().as_secs_f64());
            let bound = figures.map(|figures| figures.bound);
            match model.pool {
                None => {
                    let places =
                        bound.and_then(|bound| if let Bound::Places(n) = bound { Some(n) } else { None });
                    check("threads", places, f64::from(model.server.threads));
                }
                Some(pool) => {
                    let places =
                        bound.and_then(|bound| if let Bound::Pool(n) = bound { Some(n) } else { None });
                    check("pool", places, f64::from(pool.places));
                }
            }
        }
    }
    found
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
    let truth = Model {
        cpu,
        wait,
        kinds: Vec::new(),
        cores: 4.0,
        background: 0.0,
        server: Server::new(1, 8),
        pool: None,
    };
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
    Trial { rate, at_limit: false, load: Load::Rate(rate), slices: vec![slice; 20], times }
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
    let truth = Model {
        cpu,
        wait,
        kinds: Vec::new(),
        cores: 1.0,
        background: 0.0,
        server: Server::new(1, 64),
        pool: None,
    };
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

/// Puma with kept connections: a thread that stays on one connection keeps the others waiting.
#[test]
fn threads_that_stay_on_connections_make_others_wait() {
    let wait = Distribution::LogNormal { mean: ms(20.0), cv: 1.0 };
    let cpu = Distribution::Constant(ms(4.0));
    let server = Server::new(1, 4);
    let truth = Model { cpu, wait, kinds: Vec::new(), cores: 1.0, background: 0.0, server, pool: None };
    let known = Known {
        cores: Some(1.0),
        processes: Some(1),
        threads: Some(4),
        lock: Some(Lock::After(ms(100.0))),
        ..Known::default()
    };
    let levels = levels(&truth, 11);
    let p95 = |known: &Known| {
        let fitted = fit(&levels, known).unwrap();
        predict(&fitted.model, Load::Rate(0.5 * fitted.best.value), 300.0, 1).times.quantile(0.95).unwrap()
    };
    let (free, kept) = (p95(&known), p95(&Known { stays_on_connection: true, ..known }));
    assert!(kept > 3.0 * free, "{kept} s, {free} s without kept connections");
}

#[test]
fn a_pool_is_held_during_the_part_that_the_service_reports() {
    let wait = Distribution::LogNormal { mean: ms(30.0), cv: 0.3 };
    let truth = Model {
        cpu: Distribution::Constant(ms(1.0)),
        wait,
        kinds: Vec::new(),
        cores: 4.0,
        background: 0.0,
        server: Server::new(1, 32),
        pool: Some(Pool { places: 3, held: 0.5 }),
    };
    let levels: Vec<Level> =
        [1, 2, 4, 8, 16, 32, 64].map(|users| level(&truth, users, 20.0, 3 + u64::from(users))).into();
    let known = Known {
        cores: Some(4.0),
        processes: Some(1),
        threads: Some(32),
        lock: Some(Lock::Free),
        ..Known::default()
    };
    let mut heads = ::measure::Heads { sampled: 100, ..::measure::Heads::default() };
    (0..100).for_each(|number| heads.add_part("db", 0.0145 + 0.001 * f64::from(number % 2)));
    let found = |heads: Vec<(u32, ::measure::Heads)>| {
        let fitted = fit_measured(&Measured { levels: levels.clone(), heads, ..Measured::default() }, &known);
        let fitted = fitted.unwrap();
        let Bound::Pool(places) = fitted.bound else { panic!("{:?}", fitted.bound) };
        (places, fitted.pooled)
    };
    let (places, pooled) = found(vec![(1, heads)]);
    assert!(holds(places, 3.0) && pooled.as_deref() == Some("db"), "{places:?} {pooled:?}");
    // If nothing is reported, the whole wait holds a place, of more places.
    let (places, pooled) = found(Vec::new());
    assert!(places.low > 4.0 && pooled.is_none(), "{places:?} {pooled:?}");
}

#[test]
fn a_mix_of_endpoints_is_predicted() {
    let wait = |mean| Distribution::LogNormal { mean: ms(mean), cv: 0.4 };
    let cpu = |mean| Distribution::LogNormal { mean: ms(mean), cv: 0.3 };
    let kind = |name: &str, share, cpu, wait| Kind { name: name.to_owned(), share, cpu, wait };
    let kinds = vec![kind("fast", 0.8, cpu(2.0), wait(5.0)), kind("slow", 0.2, cpu(10.0), wait(60.0))];
    // The means of the mix: what a request of it takes.
    let whole = Model {
        cpu: cpu(3.6),
        wait: wait(16.0),
        kinds,
        cores: 2.0,
        background: 0.0,
        server: Server::new(1, 8),
        pool: None,
    };
    let known = Known {
        cores: Some(2.0),
        processes: Some(1),
        threads: Some(8),
        lock: Some(Lock::Free),
        ..Known::default()
    };
    let singles = whole.kinds.iter().map(|kind| {
        let alone = Model { kinds: vec![kind.clone()], ..whole.clone() };
        Single { name: kind.name.clone(), share: kind.share, alone: Some(level(&alone, 1, 20.0, 5)) }
    });
    let measured = Measured { levels: levels(&whole, 11), singles: singles.collect(), ..Measured::default() };
    let fitted = fit_measured(&measured, &known).unwrap();
    for (cost, kind) in fitted.costs.iter().zip(&whole.kinds) {
        let (cpu, wait) = (kind.cpu.mean().as_secs_f64(), kind.wait.mean().as_secs_f64());
        let near = |figure: Figure, truth: f64| (figure.value / truth - 1.0).abs() < 0.1;
        assert!(near(cost.cpu.unwrap(), cpu) && near(cost.wait, wait), "{cost:?}");
    }
    let rate = Load::Rate(0.7 * fitted.best.value);
    let (truth, found) = (predict(&whole, rate, 200.0, 1), predict(&fitted.model, rate, 200.0, 2));
    for share in [0.5, 0.95] {
        let of = |of: &Predicted| of.times.quantile(share).unwrap();
        let off = of(&found) / of(&truth) - 1.0;
        assert!(off.abs() < 0.15, "{share}: {off:+.3}");
    }
}

/// Below its limit, a service is served at its rate by the model of any faster one.
#[test]
fn the_model_of_a_faster_service_fails_at_the_limit_only() {
    let (model, known) = service(3);
    let fitted = fit(&levels(&model, 3), &known).unwrap();
    let mut slower = fitted.clone();
    slower.model.cpu = slower.model.cpu.scaled(1.5);
    slower.model.wait = slower.model.wait.scaled(1.5);
    let (slow, users) = (predict(&slower.model, Load::Users(64), 20.0, 5), 64);
    let slice = Slice { seconds: 1.0, responses: slow.per_second as u64, cpu_seconds: None };
    let load = Load::Users(users);
    let (slices, times) = (vec![slice; 20], Histogram::default());
    let at_limit = Trial { rate: slow.per_second, at_limit: true, load, slices, times };
    let below = trial_of(&slower.model, 0.5 * slow.per_second);
    let mut compared = Vec::new();
    backtest(&fitted, &[below, at_limit], &mut compared, &mut |_| true).unwrap();
    let throughput: Vec<_> = compared.iter().filter(|one| one.what == What::Throughput).collect();
    assert!(throughput[0].off().abs() < 0.05 && throughput[1].off() > 0.3, "{throughput:?}");
    assert!(compared.iter().all(|one| one.load != load || matches!(one.what, What::Throughput | What::Cpu)));
}

/// A short level is the highest by chance; the best throughput is that of the long one.
#[test]
fn the_best_throughput_is_not_the_highest_by_chance() {
    let level = |users: u32, count: usize, even: u64, odd: u64| {
        let slice = |at: usize| {
            let responses = if at.is_multiple_of(2) { even } else { odd };
            Slice { seconds: 0.1, responses, cpu_seconds: None }
        };
        let mut times = Histogram::default();
        (0..1000).for_each(|_| times.record(ms(30.0)));
        Level { users, slices: (0..count).map(slice).collect(), times, known: None }
    };
    let levels = [level(1, 60, 3, 3), level(4, 60, 5, 9), level(16, 12, 4, 11)];
    let fitted = fit(&levels, &Known { below_limit: true, ..Known::default() }).unwrap();
    assert!((fitted.best.value - 70.0).abs() < 0.1, "{:?}", fitted.best);
}

/// The rarer the requests of a trial, the less its percentiles say; what says too little is unknown, not a number.
#[test]
fn predictions_with_wide_intervals_are_unknown() {
    let wait = Distribution::LogNormal { mean: ms(12.0), cv: 0.3 };
    let cpu = Distribution::Constant(ms(4.0));
    let server = Server::new(2, 1);
    let truth = Model { cpu, wait, kinds: Vec::new(), cores: 1.0, background: 0.0, server, pool: None };
    let known = Known {
        cores: Some(1.0),
        processes: Some(2),
        threads: Some(1),
        lock: Some(Lock::Free),
        ..Known::default()
    };
    let levels = levels(&truth, 17);
    let fitted = fit(&levels, &known).unwrap();
    let compared = |requests: f64| {
        let rate = 0.7 * fitted.best.value;
        let mut trial = trial_of(&truth, rate);
        (trial.load, trial.slices) = (Load::Rate(rate), trial.slices[..1].to_vec());
        trial.slices[0] = Slice { seconds: requests / rate, responses: requests as u64, cpu_seconds: None };
        let mut compared = Vec::new();
        backtest(&fitted, &[trial], &mut compared, &mut |_| true).unwrap();
        compared
    };
    let p99 = |of: &[Compared]| *of.iter().find(|one| one.what == What::P99).unwrap();
    let (short, long) = (compared(100.0), compared(5_600.0));
    assert!(p99(&short).known().is_none(), "{short:?}");
    assert!(
        long.iter().filter(|one| one.what != What::Throughput).all(|one| one.known().is_some()),
        "{long:?}"
    );
}
