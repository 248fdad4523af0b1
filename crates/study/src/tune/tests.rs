//! A small service with little traffic, whole.

use super::*;
use config::case::{Given, parse};
use std::path::Path;
use std::sync::atomic::Ordering;

/// A day of at most 10 requests a second on at least 8 cores, of which 2 to 3 are needed.
const SHOP: &str = "\
case: shop
warm_up: 1h
goal: p(95)<1s
traffic: { peak: 10/s, day: { '04:00': 20%, '12:00': 100%, '18:00': 60% }, noise: { sigma: 0.06, phi: 0.9 } }
prices: { per_hour: { small: 0.1 } }
services:
  web:
    endpoints: { page: { cpu: 200ms, wait: 50ms } }
    server: { threads: 8 }
    hosts: { small: { cores: 1 } }
    balancing: { algorithm: least-outstanding }
    start: { provision: 60s, boot: 30s }
    scaling:
      min: 8
      max: 12
      alarms:
        high: { metric: cpu, above: 30%, datapoints: 2 }
        low: { metric: cpu, below: 10%, datapoints: 5 }
      policies:
        out: { alarms: [high], change: +1, cooldown: 120s }
        in: { alarms: [low], change: -1, cooldown: 300s }
";

fn case(text: &str) -> Case {
    parse("shop.yaml", text, Path::new(""), Given::default()).unwrap_or_else(|problems| panic!("{problems}"))
}

fn asked(also: Vec<Also>) -> Asked {
    Asked {
        inputs: Vec::new(),
        also,
        growth: 0.2,
        limits: Limits { actions: Some(60.0), flaps: Some(5.0), ..Limits::default() },
        candidates: 200,
        seed: 1,
        threads: 2,
        version: "of this build",
    }
}

const QUIET: Shell<'static> = Shell { tell: &|_| {}, interrupted: &|| false };

fn refused(text: &str) -> String {
    tune(&case(text), 0, &asked(Vec::new()), &QUIET).expect_err("it is refused").to_string()
}

#[test]
fn an_oversized_fleet_becomes_cheaper_and_keeps_its_goal() {
    let shop = case(SHOP);
    let tuned = tune(&shop, 0, &asked(Vec::new()), &QUIET).expect("it can be tuned");
    let (today, best) = (&tuned.today, &tuned.best);
    assert!(best.cost_per_hour < 0.7 * today.cost_per_hour, "{tuned:#?}");
    assert!(best.outside_goal_minutes <= today.outside_goal_minutes, "{tuned:#?}");
    assert!(best.within_bounds && best.flaps <= 5.0 && best.actions <= 60.0, "{tuned:#?}");
    assert_eq!((today.seeds, best.seeds), (3, 3));
    // The confirmed saving is within the promised one, which comes from other days.
    let saving = 100.0 * (1.0 - best.cost_per_hour / today.cost_per_hour);
    let promised = tuned.promised_saving.expect("a saving is promised");
    assert!((promised.percent - saving).abs() < 10.0, "{saving} of {promised:?}");
    // The changes are the stage, and together they save what is saved.
    let sum: f64 = tuned.changes.iter().filter_map(|change| Some(change.saves?.percent)).sum();
    assert!((sum - saving).abs() < 5.0, "{sum} of {saving}: {:#?}", tuned.changes);
    assert!(tuned.frontier.iter().any(|point| point.is == documents::tune::Role::Today));
    assert!(tuned.frontier.iter().any(|point| point.is == documents::tune::Role::Best));
    let again = case(&tuned.case_file.expect("a case file"));
    let stage = again.stages.iter().position(|stage| stage.name == "tuned").expect("it has the stage");
    let minimum = again.stages[stage].system.services[0].scaling.policy.bounds().map(|(least, _)| least);
    assert!(minimum < Some(8), "{minimum:?}");
}

#[test]
fn a_candidate_that_is_beyond_the_bounds_after_two_days_is_not_simulated_a_third() {
    let days = std::sync::Mutex::new(Vec::new());
    let tell = |event: Event| {
        if let Event::Confirming(1, count) = event {
            days.lock().expect("no thread panics with the lock").push(count);
        }
    };
    let shell = Shell { tell: &tell, interrupted: &|| false };
    // A change of the number of instances is too much, so that all that is cheaper is beyond the bounds.
    let mut asked = asked(Vec::new());
    asked.limits = Limits { actions: Some(1.0), ..Limits::default() };
    let tuned = tune(&case(SHOP), 0, &asked, &shell).expect("it can be tuned");
    let days = days.into_inner().expect("no thread panics with the lock");
    let of = |count: usize| days.iter().filter(|days| **days == count).count();
    // Today's three, then two each, and the third of those only that may hold.
    assert_eq!(days[0], 3);
    assert!(of(2) > of(1), "{days:?}");
    assert!(tuned.best.within_bounds && tuned.best.seeds == 3, "{:#?}", tuned.best);
}

#[test]
fn where_today_misses_the_goal_fewer_minutes_outside_come_first() {
    let late = SHOP
        .replace("min: 8", "min: 2")
        .replace("above: 30%", "above: 97%")
        .replace("below: 10%", "below: 60%");
    let tuned = tune(&case(&late), 0, &asked(Vec::new()), &QUIET).expect("it can be tuned");
    let (today, best) = (&tuned.today, &tuned.best);
    assert!(today.outside_goal_minutes > 20.0, "{today:?}");
    assert!(best.outside_goal_minutes <= 14.4, "{best:?}");
    let note = tuned.notes.iter().find(|note| note.contains("fewer come first"));
    assert!(note.is_some_and(|note| note.contains("down to 14 (1 %)")), "{:?}", tuned.notes);
}

#[test]
fn where_today_is_the_cheapest_nothing_is_gained() {
    // One instance is the least that there is, and it carries the traffic.
    let text =
        SHOP.replace("peak: 10/s", "peak: 1/s").replace("min: 8", "min: 1").replace("max: 12", "max: 2");
    let tuned = tune(&case(&text), 0, &asked(Vec::new()), &QUIET).expect("it can be tuned");
    assert_eq!(tuned.changes, []);
    assert_eq!(tuned.promised_saving, None);
    assert_eq!(tuned.today, tuned.best);
}

#[test]
fn an_interrupted_search_has_what_it_confirmed() {
    let events = std::sync::Mutex::new(Vec::new());
    let tell = |event: Event| events.lock().expect("no thread panics with the lock").push(event);
    // After the first round of candidates.
    let interrupted = || {
        let events = events.lock().expect("no thread panics with the lock");
        events.iter().filter(|event| matches!(event, Event::Screening(_))).count() > 1
    };
    let shell = Shell { tell: &tell, interrupted: &interrupted };
    let tuned = tune(&case(SHOP), 0, &asked(Vec::new()), &shell).expect("today is known");
    assert_eq!((tuned.changes.as_slice(), tuned.interrupted), (&[][..], true));
    assert!(tuned.notes.iter().any(|note| note.starts_with("interrupted")), "{:?}", tuned.notes);
}

#[test]
fn a_run_that_is_interrupted_does_nothing_more() {
    let system = &case(SHOP).stages[0].system;
    let interrupted = std::sync::atomic::AtomicBool::new(false);
    let reads = || interrupted.load(Ordering::Relaxed);
    let plant = interruptible::Interruptible::new(system, &reads);
    let outcome = sim::run_on(system, plant, &mut |now| {
        interrupted.store(now.as_secs_f64() >= 7200.0, Ordering::Relaxed)
    });
    let (before, after) = outcome.services[0].rows.split_at(60);
    assert!(before.iter().all(|row| row.arrived > 0), "the hour after the warm-up");
    assert!(after.iter().all(|row| row.arrived == 0));
}

#[test]
fn cases_that_cannot_be_tuned_are_refused_with_the_way_out() {
    let scaling = SHOP.find("    scaling:").expect("there is scaling");
    for (text, says) in [
        (SHOP[..scaling].to_owned(), ["no key to tune", "add `scaling`"]),
        (
            SHOP.replace("prices: { per_hour: { small: 0.1 } }\n", ""),
            ["no price for host `small`", "add `prices`"],
        ),
        (SHOP.replace("goal: p(95)<1s\n", ""), ["no goal", "goal: p(95)<300ms"]),
        (SHOP.replace("warm_up: 1h", "measured: 23h"), ["measures 23", "measured: 1d"]),
        (SHOP.replace("p(95)<1s", "p(95)<100ms"), ["up to 12 instances", "choose a goal above"]),
        (
            SHOP.replace("warm_up: 1h", "calibration: { verdict: suspect, reasons: [p95 is 31 % off] }"),
            ["suspect", "p95 is 31 % off"],
        ),
    ] {
        let found = refused(&text);
        for part in says {
            assert!(found.contains(part), "{found}");
        }
    }
}

/// The case with a week of traffic: on the first day 60 requests an hour, on each day
/// after it 60 more.
fn week(text: &str) -> Case {
    let rates: Vec<String> = (0..7 * 24).map(|hour| format!("{}", 60 * (1 + hour / 24))).collect();
    let folder = tempfile::tempdir().expect("a folder");
    let csv = format!("requests\n{}\n", rates.join("\n"));
    std::fs::write(folder.path().join("week.csv"), csv).expect("a file");
    let traffic = "traffic: { file: week.csv, bin: 1h }";
    let text = text.lines().map(|line| if line.starts_with("traffic:") { traffic } else { line });
    let text: String = text.map(|line| format!("{line}\n")).collect();
    parse("week.yaml", &text, folder.path(), Given::default()).unwrap_or_else(|problems| panic!("{problems}"))
}

#[test]
fn the_best_has_to_hold_on_many_other_days_unless_they_are_large() {
    let others = |text: &str| scenario::scenarios(&case(text).stages[0], 0.0, false).others().len();
    // Half a million requests a day, ten times as many, and so few that there is no end but the number.
    assert!((5..12).contains(&others(SHOP)), "{}", others(SHOP));
    assert_eq!(others(&SHOP.replace("peak: 10/s", "peak: 100/s")), 0);
    assert_eq!(others(&SHOP.replace("peak: 10/s", "peak: 0.01/s")), 12 + 7 * 15);
    // A week: each of its days eight times, without the three that are confirmed.
    assert_eq!(scenario::scenarios(&week(SHOP).stages[0], 0.0, false).others().len(), 8 * 7 - 3);
}

#[test]
fn today_is_known_on_all_other_days_whatever_bound_is_asked_for() {
    // Every minute with a request is outside this goal.
    let case = week(&SHOP.replace("p(95)<1s", "p(95)<10ms"));
    let (dimensions, asked) = (case.dimensions(0, &[]), asked(Vec::new()));
    let space = Space::new(dimensions.iter().map(plain).collect());
    let others = |outside: Option<f64>| {
        let scenarios = scenario::scenarios(&case.stages[0], 0.0, false);
        let mut evaluator = Evaluator::new(&case, 0, &dimensions, scenarios, &asked, &QUIET);
        let limits = Limits { outside, ..Limits::default() };
        let judge = Judge::new(&mut evaluator, &space, limits).expect("nothing interrupts it");
        judge.today().others.expect("a week has other days")
    };
    assert!(others(None).outside > 60.0);
    assert_eq!(others(Some(0.0)), others(None));
}

#[test]
fn forecasts_know_the_days_before_each_day() {
    let reactive = week(SHOP);
    let policies = "policies:\n        forecast: { predict: cpu, target: 50% }\n";
    let predictive = week(&SHOP.replace("policies:\n", policies));
    let scenarios = scenario::scenarios(&reactive.stages[0], 0.0, true);
    let days: Vec<_> = scenarios.usual.iter().chain(&scenarios.unseen).collect();
    // The first day has none before it.
    assert_eq!(days.len(), 6);
    let mut hours = Vec::new();
    for day in days {
        let system = day.of(&predictive.stages[0].system);
        let sim::settings::Policy::Aws(aws) = &system.services[0].scaling.policy else { panic!("of AWS") };
        let history = aws.scaler.policies.iter().find_map(|policy| match policy {
            control::scaling::Policy::Predictive(forecast) => Some(&forecast.history),
            _ => None,
        });
        let history = history.expect("a forecast");
        // 200 ms of one core each, in percent of an instance minute by minute. The warm-up is an hour before the first day.
        for (hour, load) in history.iter().enumerate() {
            let requests = 60.0 * (1 + hour.saturating_sub(1) / 24) as f64;
            assert!((load.expect("a load") - requests * 0.2 * 100.0 / 60.0).abs() < 1e-6, "{hour}: {load:?}");
        }
        hours.push(history.len());
    }
    hours.sort_unstable();
    assert_eq!(hours, [24, 48, 72, 96, 120, 144]);
}

#[test]
fn days_of_a_week_are_cut_from_its_traffic() {
    let case = week(SHOP);
    let system = &case.stages[0].system;
    let scenarios = scenario::scenarios(&case.stages[0], 0.0, false);
    let mean = |scenario: &scenario::Scenario| {
        let day = scenario.of(system);
        assert_eq!(day.measured, std::time::Duration::from_secs(86_400));
        (sim::minutes::work(&day) / 60.0 / 24.0).round()
    };
    assert_eq!(scenarios.usual.len() + scenarios.unseen.len(), 7);
    let mut all: Vec<f64> = scenarios.usual.iter().chain(&scenarios.unseen).map(mean).collect();
    all.sort_by(f64::total_cmp);
    all.dedup();
    assert_eq!(all.len(), 7, "{all:?}");
}

#[test]
fn what_is_scheduled_happens_on_each_of_the_days_that_are_cut() {
    let schedule = "schedule: [{ at: '07:00', min: 6 }, { at: '19:00', min: 2 }]\n      alarms:\n";
    let case = week(&SHOP.replace("alarms:\n        high", &format!("{schedule}        high")));
    let scenarios = scenario::scenarios(&case.stages[0], 0.0, false);
    let days: Vec<_> = scenarios.usual.iter().chain(&scenarios.unseen).collect();
    assert_eq!(days.len(), 7, "{}", scenarios.note);
    for day in days {
        let system = day.of(&case.stages[0].system);
        let sim::settings::Policy::Aws(aws) = &system.services[0].scaling.policy else { panic!("of AWS") };
        let mut next: Vec<_> = aws.scaler.scheduled.iter().map(|action| (action.at, action.min)).collect();
        next.sort_unstable();
        // The warm-up is an hour before the day.
        let at = |hour: u64| units::Timestamp::from_secs(3_600 * hour);
        assert_eq!(next[..2], [(at(8), Some(6)), (at(20), Some(2))], "{}", day.name);
    }
}

#[test]
fn a_candidate_is_compared_with_today_on_the_same_days() {
    use metrics::Metrics;
    let today = Metrics { cost: 2.0, p95: 0.4, outside: 10.0, flaps: 4.0, ..Metrics::default() };
    let of_bounds = Metrics { cost: 1.0, p95: 0.3, outside: 1.0, flaps: 5.0, ..today };
    // Today is on other days what it is on those of the bounds, whatever the days are like.
    assert_eq!(correct::on_days_of_bounds([today, today, of_bounds]), of_bounds);
    let cheaper = Metrics { cost: 1.0, outside: 12.0, flaps: 0.0, ..today };
    let found = correct::on_days_of_bounds([cheaper, today, of_bounds]);
    assert_eq!((found.cost, found.p95, found.outside, found.flaps), (0.5, 0.3, 3.0, 1.0));
}
