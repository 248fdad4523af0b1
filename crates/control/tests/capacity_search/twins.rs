//! Simulated twins of the services that `bench/find/run` starts, each searched twenty times, from the watch of the calm
//! service on: the interval contains the true rate, or no rate is reported, which only a service with pauses may cause.

use crate::service::Request;
use crate::{in_parallel, trial};
use control::search::rhythm::{CALM_LOOK, CalmLook, CalmWatch, Rhythm, calm_rate, late_after};
use control::search::time_bound::{step_length, whole_time};
use control::search::{CapacitySearch, Found, Goal, Report, Settings, Step, TrialOutcome, Verdict};
use stats::Rng;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::time::Duration;
use units::Rate;

const REPEATS: usize = 20;

/// A service of the bench, simulated.
#[derive(Debug, Clone, Copy)]
struct Twin {
    name: &'static str,
    goal: &'static str,
    slots: usize,
    /// Seconds for which a request holds a slot, for most requests and for one of ten.
    work_s: f64,
    slow_s: f64,
    /// Work varies by this share (standard deviation).
    noise: f64,
    /// It pauses for `length` every `every` seconds.
    pause: Option<(f64, f64)>,
    /// Requests above this many in a second are refused at once.
    limit: Option<u64>,
    /// The service itself repeats a request without a response within this time, twice; the first attempt continues.
    retry_after_s: Option<f64>,
}

const SLOTS: Twin = Twin {
    name: "8 slots of 25 ms",
    goal: "p(95)<50ms",
    slots: 8,
    work_s: 0.025,
    slow_s: 0.025,
    noise: 0.0,
    pause: None,
    limit: None,
    retry_after_s: None,
};

const TWINS: [Twin; 7] = [
    SLOTS,
    Twin { name: "4 ms of one processor", slots: 1, work_s: 0.004, slow_s: 0.004, noise: 0.1, ..SLOTS },
    Twin {
        name: "collapses under retries",
        goal: "p(95)<80ms",
        slots: 4,
        work_s: 0.02,
        slow_s: 0.02,
        retry_after_s: Some(0.1),
        ..SLOTS
    },
    Twin { name: "two modes", goal: "p(99)<150ms", work_s: 0.005, slow_s: 0.05, ..SLOTS },
    Twin { name: "5 connections", slots: 5, work_s: 0.02, slow_s: 0.02, noise: 0.02, ..SLOTS },
    Twin { name: "500s above 200/s", limit: Some(200), work_s: 0.002, slow_s: 0.002, ..SLOTS },
    Twin {
        name: "429s above 150/s",
        goal: "failed<1%",
        limit: Some(150),
        work_s: 0.002,
        slow_s: 0.002,
        ..SLOTS
    },
];

impl Twin {
    fn goal(&self) -> Goal {
        Goal::new(vec![self.goal.parse().expect("a condition")]).expect("one condition is a goal")
    }

    fn capacity(&self) -> f64 {
        let mean_s = 0.9 * self.work_s + 0.1 * self.slow_s;
        let running = self.pause.map_or(1.0, |(every_s, length_s)| 1.0 - length_s / every_s);
        self.limit.map_or(f64::INFINITY, |limit| limit as f64).min(running * self.slots as f64 / mean_s)
    }

    fn requests(&self, rate: f64, seed: u64) -> Requests {
        let mut rng = Rng::new(seed, "twin");
        let phase_s = 20.0 * rng.uniform();
        Requests {
            twin: *self,
            gap_s: 1.0 / rate,
            phase_s,
            rng,
            free_s: vec![0.0; self.slots],
            attempts: BinaryHeap::from([Reverse((nanos(1.0 / rate), 0, 0))]),
            open: VecDeque::new(),
            first_open: 0,
            window: (0, 0),
        }
    }

    /// Whether the goal holds for a run of this many seconds.
    fn holds(&self, rate: f64, seconds: f64, seed: u64) -> bool {
        let goal = self.goal();
        let (mut missed, mut of) = (vec![0_u64; goal.conditions().len()], 0_u64);
        for request in self.requests(rate, seed).take((rate * seconds) as usize) {
            of += 1;
            let response_s = request.done_s - request.arrived_s;
            for (count, condition) in missed.iter_mut().zip(goal.conditions()) {
                let late = match condition {
                    control::search::Condition::ResponseTime { below, .. } => {
                        response_s >= below.as_secs_f64()
                    }
                    control::search::Condition::Failed { .. } => false,
                };
                *count += u64::from(late || request.failed);
            }
        }
        let all = goal.conditions();
        missed.iter().zip(all).all(|(count, condition)| *count as f64 <= condition.allowed() * of as f64)
    }

    /// The highest rate of a ladder with steps of half a percent that most runs of 30 s hold; `None` where not even a
    /// tenth of the capacity does.
    fn truth(&self) -> Option<f64> {
        let mostly = |rate: f64| (0..9).filter(|seed| self.holds(rate, 30.0, 7_000 + seed)).count() >= 5;
        let mut rate = 1.05 * self.capacity();
        while !mostly(rate) {
            rate /= 1.005;
            if rate < 0.1 * self.capacity() {
                return None;
            }
        }
        Some(rate)
    }
}

fn nanos(seconds: f64) -> u64 {
    (seconds * 1e9) as u64
}

/// Requests of a twin in the order of their arrival.
struct Requests {
    twin: Twin,
    gap_s: f64,
    phase_s: f64,
    rng: Rng,
    free_s: Vec<f64>,
    /// When the next attempts begin: nanoseconds, request, number of the attempt.
    attempts: BinaryHeap<Reverse<(u64, usize, u32)>>,
    /// Requests that were not returned yet, and whether all their attempts are known.
    open: VecDeque<(Request, bool)>,
    first_open: usize,
    /// The current second of the limit, and its requests.
    window: (u64, u64),
}

impl Requests {
    /// The end of work that begins at `start_s`, with pauses.
    fn finish(&self, start_s: f64, work_s: f64) -> f64 {
        let Some((every_s, length_s)) = self.twin.pause else { return start_s + work_s };
        let (mut at_s, mut left_s) = (start_s + self.phase_s, work_s);
        loop {
            let begin_s = (at_s / every_s).floor() * every_s;
            // A pause is at the beginning of each period.
            at_s = at_s.max(begin_s + length_s);
            let until_s = begin_s + every_s - at_s;
            if left_s <= until_s {
                return at_s + left_s - self.phase_s;
            }
            left_s -= until_s;
            at_s = begin_s + every_s;
        }
    }

    fn attempt(&mut self, at_ns: u64, request: usize, number: u32) {
        let at_s = at_ns as f64 / 1e9;
        if number == 0 {
            let arrived_s = self.gap_s * (request + 1) as f64;
            self.open.push_back((Request { arrived_s, done_s: f64::INFINITY, failed: false }, false));
            self.attempts.push(Reverse((nanos(self.gap_s * (request + 2) as f64), request + 1, 0)));
        }
        let place = request - self.first_open;
        if let Some(limit) = self.twin.limit {
            let second = (at_s + self.phase_s) as u64;
            self.window = if self.window.0 == second { (second, self.window.1 + 1) } else { (second, 1) };
            if self.window.1 > limit {
                let (open, known) = &mut self.open[place];
                (open.done_s, open.failed, *known) = (at_s + 0.001, true, true);
                return;
            }
        }
        let slow = self.rng.uniform() < 0.1;
        let mean_s = if slow { self.twin.slow_s } else { self.twin.work_s };
        let work_s = mean_s * (1.0 + self.twin.noise * self.rng.normal()).max(0.1);
        let slot = (0..self.free_s.len())
            .min_by(|one, other| self.free_s[*one].total_cmp(&self.free_s[*other]))
            .expect("a slot");
        let done_s = self.finish(self.free_s[slot].max(at_s), work_s);
        self.free_s[slot] = done_s;
        let (open, known) = &mut self.open[place];
        open.done_s = open.done_s.min(done_s);
        match self.twin.retry_after_s {
            Some(after_s) if number < 2 && done_s > at_s + after_s => {
                self.attempts.push(Reverse((nanos(at_s + after_s), request, number + 1)));
            }
            _ => *known = true,
        }
    }
}

impl Iterator for Requests {
    type Item = Request;

    fn next(&mut self) -> Option<Request> {
        while !self.open.front().is_some_and(|(_, known)| *known) {
            let Reverse((at_ns, request, number)) = self.attempts.pop()?;
            self.attempt(at_ns, request, number);
        }
        self.first_open += 1;
        self.open.pop_front().map(|(request, _)| request)
    }
}

/// Watches the calm twin, as the binary does. Returns how long it took.
fn watch(twin: &Twin, seed: u64) -> (Rhythm, Duration) {
    let first = Duration::from_secs_f64(twin.work_s);
    let late_s = late_after(first, Some(&twin.goal())).as_secs_f64();
    let look_s = CALM_LOOK.as_secs_f64();
    let mut looks = vec![(0, 0); 400];
    let rate = calm_rate(first).per_second();
    for request in twin.requests(rate, seed).take_while(|request| request.arrived_s < 32.0) {
        let late = request.done_s - request.arrived_s >= late_s;
        looks[(request.done_s / look_s) as usize].0 += 1;
        if late {
            looks[((request.arrived_s + late_s) / look_s) as usize].1 += 1;
        }
    }
    let mut watch = CalmWatch::new();
    for (at, (ended, late)) in (1_u32..).zip(looks) {
        let elapsed = CALM_LOOK * at;
        watch.observe(&CalmLook { elapsed, ended, late, disturbed: false });
        if watch.is_over() {
            return (watch.rhythm(), elapsed);
        }
    }
    panic!("a watch without end");
}

/// A whole search. On every second seed a tenth of the trials is disturbed.
fn search(twin: &Twin, seed: u64) -> Report {
    let (rhythm, watched) = watch(twin, seed);
    let mut machine = Rng::new(seed, "machine");
    let best = twin.capacity() * (1.0 + 0.03 * machine.normal());
    let settings = Settings::for_service(Rate::per_second_of(best), rhythm, None);
    let goal = twin.goal();
    let whole = whole_time(step_length(Duration::from_secs_f64(twin.work_s)), settings.budget);
    let mut search = CapacitySearch::new(goal.clone(), settings);
    let mut trials = 0;
    loop {
        match search.next() {
            Step::CoolDown => search.cooled_down(Duration::ZERO),
            Step::Done(report) => {
                assert!(watched + report.load_time < whole, "{}: {:?}", twin.name, report.load_time);
                return report;
            }
            Step::Trial(next) => {
                trials += 1;
                let requests = twin.requests(next.rate.per_second(), seed * 1_000 + trials);
                let outcome = trial::run(requests, &goal, next);
                let disturbed = seed % 2 == 1 && machine.uniform() < 0.1;
                let verdict = if disturbed { Verdict::Disturbed } else { outcome.verdict };
                search.observe(TrialOutcome { verdict, ..outcome });
            }
        }
    }
}

/// The result of twenty searches: how many contain the true rate, how many report no rate, and the others in words.
fn searched(twin: &Twin) -> (usize, usize, String) {
    let truth = twin.truth();
    let reports = in_parallel(REPEATS, |seed| search(twin, seed as u64));
    let (mut right, mut silent, mut wrong) = (0, 0, String::new());
    let mut load_s = 0.0;
    for (seed, report) in reports.iter().enumerate() {
        load_s += report.load_time.as_secs_f64() / REPEATS as f64;
        let interval = match report.found {
            Found::Within(found) if found.verified => Some((found.low, found.high.per_second())),
            Found::AtLeast { rate, verified: true, .. } => Some((rate, f64::INFINITY)),
            _ => None,
        };
        // The ladder's steps are half a percent.
        match (interval, truth) {
            (None, _) => silent += 1,
            (Some((low, high)), Some(truth))
                if low.per_second() <= 1.005 * truth && truth <= 1.005 * high =>
            {
                right += 1;
            }
            _ => {
                let trials: String = report.trials.iter().map(|trial| format!("    {trial}\n")).collect();
                wrong += &format!("  seed {seed}: {}\n{trials}", report.found);
            }
        }
    }
    println!(
        "{:28} {:12} truth {truth:.1?}: {right} contain it, {silent} not found, {load_s:.0} s of load, first: {}",
        twin.name, twin.goal, reports[0].found
    );
    (right, silent, wrong)
}

#[test]
fn the_interval_contains_the_truth_about_the_services_of_the_bench() {
    for twin in &TWINS {
        let (right, silent, wrong) = searched(twin);
        assert!(
            right + 1 >= REPEATS && silent <= 1,
            "{}: {right} right, {silent} silent\n{wrong}",
            twin.name
        );
    }
}

/// The goal has no room for the pauses, or only for those of a calm service.
#[test]
fn a_service_that_pauses_is_found_out_whatever_its_period() {
    for (every_s, length_s) in [(0.5, 0.15), (1.0, 0.2), (3.0, 0.2), (5.0, 0.3), (10.0, 0.4)] {
        for goal in ["p(99)<100ms", "p(90)<100ms"] {
            let twin = Twin { name: "pauses", goal, pause: Some((every_s, length_s)), ..SLOTS };
            let (right, silent, wrong) = searched(&twin);
            let told = format!(
                "every {every_s} s for {length_s} s, {goal}: {right} right, {silent} silent\n{wrong}"
            );
            assert!(right + silent + 1 >= REPEATS, "{told}");
            if goal == "p(99)<100ms" {
                assert!(right == 0 && silent == REPEATS, "no rate holds it: {told}");
            }
        }
    }
}

/// The twins' model compared with closed formulas.
#[test]
fn the_truth_about_the_twins_is_their_closed_form() {
    for (twin, closed) in TWINS.iter().zip([320.0, 250.0, 200.0, f64::NAN, 250.0, 200.0 / 0.99, 150.0 / 0.99])
    {
        let truth = twin.truth().expect("a truth");
        assert!(closed.is_nan() || (truth / closed - 1.0).abs() < 0.02, "{}: {truth} {closed}", twin.name);
    }
    let pauses = Twin { goal: "p(99)<100ms", pause: Some((3.0, 0.2)), ..SLOTS };
    assert_eq!(pauses.truth(), None, "3.3 % of the time an arrival is late, 1 % may");
}
