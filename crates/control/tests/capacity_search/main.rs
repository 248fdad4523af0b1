//! The capacity search against a thousand simulated services of known capacity.
//!
//! Each seed draws a service, its speed (capacity 20/s to 20,000/s), a goal and a hint. `HEADROOM_SIM_SEED=17` runs
//! that seed alone and prints every trial. See `catalogue` for the true rate.

mod catalogue;
mod service;
mod trial;
mod twins;

use catalogue::{Entry, Kind, Truth, entries, holds};
use control::search::{
    CapacitySearch, Condition, Found, Goal, Purpose, Report, Settings, Step, TrialOutcome, Verdict,
};
use service::{Arrivals, Service};
use stats::Rng;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use units::{Quantile, Rate};

const SEEDS: usize = 1_000;

struct Scenario {
    entry: Entry,
    service: Service,
    bound_s: f64,
    truth: f64,
    settings: Settings,
    goal: Goal,
    /// The share of the trials in which the generator's own machine was the bottleneck.
    disturbed: f64,
}

struct Outcome {
    seed: u64,
    kind: Kind,
    even: bool,
    truth: f64,
    low: f64,
    high: f64,
    load_s: f64,
    /// Load time until a low end had held in a verification, of which only the full length counts.
    shown_s: f64,
    bisection_s: f64,
    trials: usize,
    text: String,
}

impl Outcome {
    fn contains(&self) -> bool {
        self.low <= self.truth && self.truth <= self.high
    }

    fn width(&self) -> f64 {
        (self.high - self.low) / self.truth
    }
}

fn scenario(seed: u64, catalogue: &[(Entry, Truth)], disturbed: f64) -> Scenario {
    let mut rng = Rng::new(seed, "scenario");
    // Kinds in turn, so that each has a third of the seeds.
    let kind = [Kind::Steady, Kind::Noisy, Kind::Cliff][(seed % 3) as usize];
    let of_kind: Vec<&(Entry, Truth)> = catalogue.iter().filter(|(entry, _)| entry.kind == kind).collect();
    let (entry, truth) = of_kind[rng.below(of_kind.len())];
    let capacity = 20.0 * 1000.0_f64.powf(rng.uniform());
    let service = Service { work_s: entry.service.work_s / capacity, ..entry.service };
    let bound_s = entry.bound_s() / capacity;
    let p95 = Condition::ResponseTime { quantile: Quantile::P95, below: Duration::from_secs_f64(bound_s) };
    let goal = Goal::new(vec![p95]).expect("one condition is a goal");
    // A closed loop measured the capacity within a few percent; one search in four has no hint.
    let hint = Rate::per_second_of(capacity * (1.0 + 0.05 * rng.normal()));
    let slow = (100.0 / capacity).max(1.0);
    let settings = Settings {
        hint: (rng.uniform() < 0.75).then_some(hint),
        // A service slower than 100/s needs more time for as many requests.
        length_max: Duration::from_secs_f64(10.0 * slow),
        budget: Duration::from_secs_f64(75.0 * slow),
        ..Settings::default()
    };
    let lengths = CapacitySearch::new(goal.clone(), settings.clone());
    let mut rate = 0.8 * capacity;
    for _ in 0..3 {
        let length = lengths.length_at(Rate::per_second_of(rate));
        rate = capacity * truth.at(rate * length.as_secs_f64());
    }
    Scenario { entry: *entry, service, bound_s, truth: rate, settings, goal, disturbed }
}

fn search(scenario: &Scenario, seed: u64) -> Report {
    let mut search = CapacitySearch::new(scenario.goal.clone(), scenario.settings.clone());
    let mut trials = 0;
    let mut machine = Rng::new(seed, "machine");
    loop {
        match search.next() {
            Step::CoolDown => search.cooled_down(Duration::ZERO),
            Step::Done(report) => return report,
            Step::Trial(next) => {
                trials += 1;
                let requests = scenario.service.requests(next.rate.per_second(), seed * 1_000 + trials);
                let outcome = trial::run(requests, &scenario.goal, next);
                let disturbed = machine.uniform() < scenario.disturbed;
                let verdict = if disturbed { Verdict::Disturbed } else { outcome.verdict };
                search.observe(TrialOutcome { verdict, ..outcome });
            }
        }
    }
}

/// Load time of a plain bisection: the same first rate, trials of the same full length, each run to its end and judged
/// by its share of misses; doubling or halving until one rate held and one did not, then the geometric mean, until high
/// / low is at most `ratio`.
fn bisection_s(scenario: &Scenario, ratio: f64, seed: u64) -> f64 {
    let lengths = CapacitySearch::new(scenario.goal.clone(), scenario.settings.clone());
    let hint = scenario.settings.hint.map(|hint| hint.per_second() * 0.9);
    let mut rate = hint.unwrap_or(scenario.settings.start.per_second());
    let (mut low, mut high, mut spent_s) = (None::<f64>, None::<f64>, 0.0);
    for trial in 1..60 {
        let length_s = lengths.length_at(Rate::per_second_of(rate)).as_secs_f64();
        spent_s += length_s;
        let requests = (rate * length_s) as usize;
        let held = holds(&scenario.service, scenario.bound_s, rate, requests, seed * 1_000 + 500 + trial);
        if held {
            low = Some(rate)
        } else {
            high = Some(rate)
        }
        rate = match (low, high) {
            (Some(low), Some(high)) if high / low <= ratio => break,
            (Some(low), Some(high)) => (low * high).sqrt(),
            (Some(low), None) => low * 2.0,
            (None, _) => rate / 2.0,
        };
    }
    spent_s
}

fn run(seed: u64, catalogue: &[(Entry, Truth)], disturbed: f64) -> Outcome {
    let scenario = scenario(seed, catalogue, disturbed);
    let report = search(&scenario, seed);
    let (low, high) = match report.found {
        Found::Within(interval) => (interval.low.per_second(), interval.high.per_second()),
        Found::AtLeast { rate, .. } => (rate.per_second(), f64::INFINITY),
        _ => (0.0, 0.0),
    };
    let ratio = if low > 0.0 && high.is_finite() { (high / low).max(1.002) } else { 1.05 };
    let trials: String = report.trials.iter().map(|trial| format!("    {trial}\n")).collect();
    let text = format!(
        "seed {seed}: {:?} x{}, hint {:?}, truth {:.2}\n{trials}    {}\n",
        scenario.entry.service,
        scenario.entry.tightness,
        scenario.settings.hint,
        scenario.truth,
        report.found
    );
    Outcome {
        seed,
        kind: scenario.entry.kind,
        even: scenario.service.arrivals == Arrivals::Even,
        truth: scenario.truth,
        low,
        high,
        load_s: report.load_time.as_secs_f64(),
        shown_s: shown_s(&report),
        bisection_s: bisection_s(&scenario, ratio, seed),
        trials: report.trials.len(),
        text,
    }
}

fn shown_s(report: &Report) -> f64 {
    let mut load_s = 0.0;
    for trial in &report.trials {
        if trial.trial.purpose == Purpose::Verify && trial.held_to_the_end() {
            return load_s + trial.ran.min(report.full_length).as_secs_f64();
        }
        load_s += trial.ran.as_secs_f64();
    }
    load_s
}

/// `work` for every index below `count`, on all processors, in order.
fn in_parallel<T: Send>(count: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let worker = || {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            if at >= count {
                return done;
            }
            done.push((at, work(at)));
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut all: Vec<(usize, T)> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("no worker panics")).collect()
    });
    all.sort_by_key(|(at, _)| *at);
    all.into_iter().map(|(_, result)| result).collect()
}

fn mean(values: impl Iterator<Item = f64> + Clone) -> f64 {
    values.clone().sum::<f64>() / values.count().max(1) as f64
}

fn summary(name: &str, of: &[&Outcome]) -> (f64, f64, f64, f64) {
    let coverage = mean(of.iter().map(|one| f64::from(u8::from(one.contains()))));
    let mut widths: Vec<f64> = of.iter().map(|one| one.width()).collect();
    widths.sort_by(f64::total_cmp);
    let width = widths[widths.len() / 2];
    let load = mean(of.iter().map(|one| one.load_s));
    let (shown, bisection) =
        (mean(of.iter().map(|one| one.shown_s)), mean(of.iter().map(|one| one.bisection_s)));
    let over = of.iter().filter(|one| one.truth > one.high).count();
    let under = of.iter().filter(|one| one.truth < one.low).count();
    println!(
        "{name:16} {:4} seeds: contains the truth {:.1} % (above {over}, below {under}), median width {:.1} %, \
         load {load:.1} s in {:.1} trials, shown after {shown:.1} s, bisection {bisection:.1} s",
        of.len(),
        100.0 * coverage,
        100.0 * width,
        mean(of.iter().map(|one| one.trials as f64)),
    );
    (coverage, width, shown, bisection)
}

/// The built-in service of the search-cgi account: two slots of 18.6 ms, and 12/n of that beyond 12 in flight.
fn preset(arrivals: Arrivals) -> Report {
    let work_s = 0.0186;
    let work = service::Work::Same;
    let service = Service { slots: 2, work_s, work, drift: 0.0, paused: 0.0, cliff: Some(12.0), arrivals };
    let p95 = Condition::ResponseTime { quantile: Quantile::P95, below: Duration::from_millis(50) };
    let goal = Goal::new(vec![p95]).expect("one condition is a goal");
    let settings = Settings { hint: Some(Rate::per_second_of(107.0)), ..Settings::default() };
    let entry = Entry { kind: Kind::Cliff, service, tightness: 0.05 / work_s };
    let report =
        search(&Scenario { entry, service, bound_s: 0.05, truth: 107.5, settings, goal, disturbed: 0.0 }, 1);
    println!("{arrivals:?}: {} after {:.1?} of load", report.found, report.load_time);
    report
}

#[test]
fn finds_the_limit_of_the_account_within_100_seconds_of_load() {
    let even = preset(Arrivals::Even);
    let Found::Within(found) = even.found else { panic!("{}", even.found) };
    assert!(found.low.per_second() <= 107.5 && found.high.per_second() >= 107.5, "{found}");
    assert!(found.low.per_second() >= 100.0 && found.verified && found.confirmed, "{found}");
    assert!(even.load_time < Duration::from_secs(60), "{:?}", even.load_time);
    // With random arrivals two slots hold p(95)<50ms up to about three quarters of their capacity.
    let poisson = preset(Arrivals::Poisson);
    let Found::Within(found) = poisson.found else { panic!("{}", poisson.found) };
    assert!(found.low.per_second() >= 60.0 && found.high.per_second() <= 105.0, "{found}");
    assert!(poisson.load_time < Duration::from_secs(100), "{:?}", poisson.load_time);
}

#[test]
fn finds_the_sustainable_rate_of_a_thousand_services() {
    let began = std::time::Instant::now();
    let entries = entries();
    let truths = in_parallel(entries.len(), |at| Truth::of(&entries[at]));
    let catalogue: Vec<(Entry, Truth)> = entries.into_iter().zip(truths).collect();
    println!("truths of {} services after {:.1?}", catalogue.len(), began.elapsed());
    if let Ok(seed) = std::env::var("HEADROOM_SIM_SEED") {
        let one = run(seed.parse().expect("HEADROOM_SIM_SEED is a number"), &catalogue, 0.0);
        println!("{}    load {:.1} s, bisection {:.1} s", one.text, one.load_s, one.bisection_s);
        return;
    }
    let outcomes = in_parallel(SEEDS, |seed| run(seed as u64, &catalogue, 0.0));
    println!("searches after {:.1?}", began.elapsed());
    for kind in [Kind::Steady, Kind::Noisy, Kind::Cliff] {
        let of_kind = || outcomes.iter().filter(move |one| one.kind == kind);
        summary(&format!("{kind:?}, even"), &of_kind().filter(|one| one.even).collect::<Vec<_>>());
        summary(&format!("{kind:?}, Poisson"), &of_kind().filter(|one| !one.even).collect::<Vec<_>>());
        let (coverage, ..) = summary(&format!("{kind:?}"), &of_kind().collect::<Vec<_>>());
        assert!(
            coverage >= 0.94,
            "{kind:?}: only {:.1} % of the intervals contain the truth",
            100.0 * coverage
        );
    }
    let (coverage, width, shown, bisection) = summary("all", &outcomes.iter().collect::<Vec<_>>());
    let missed: Vec<u64> = outcomes.iter().filter(|one| !one.contains()).map(|one| one.seed).collect();
    let replay = format!("HEADROOM_SIM_SEED replays one of the seeds that miss: {missed:?}");
    assert!(coverage >= 0.945, "only {:.1} % of the intervals contain the truth; {replay}", 100.0 * coverage);
    assert!(width <= 0.06, "the median interval is {:.1} % wide; {replay}", 100.0 * width);
    // A bisection ends without a verification. The remaining load time narrows the upper end.
    assert!(
        shown < 1.5 * bisection,
        "shown after {shown:.1} s of load, bisection {bisection:.1} s; {replay}"
    );
    // On a machine that disturbs every third trial, it takes longer and finds the same result.
    let outcomes = in_parallel(SEEDS / 4, |seed| run(seed as u64, &catalogue, 1.0 / 3.0));
    let (coverage, width, ..) = summary("disturbed", &outcomes.iter().collect::<Vec<_>>());
    assert!(coverage >= 0.93, "only {:.1} % of the intervals contain the truth", 100.0 * coverage);
    assert!(width <= 0.085, "the median interval is {:.1} % wide", 100.0 * width);
}
