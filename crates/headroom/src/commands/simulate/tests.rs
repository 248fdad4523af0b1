//! A tiny case, whole.

use super::judge::verdicts;
use config::case::{Case, Given, parse};
use documents::simulate::{Simulated, Simulation, Verdict, Versus};
use report::Terminal;
use sim::Fidelity;
use std::path::Path;
use study::simulate::{How, simulate};

/// Ten minutes at 5 requests a second; the second stage has half the processors.
const TINY: &str = "
case: tiny
about: one service, one change
measured: 10m
warm_up: 2m
begins: '06:00'
goal: p(95)<100ms
traffic: { rate: 5/s }
prices: { table: aws-us-east-1 }
services:
  web:
    endpoints: { page: { cpu: 10ms, wait: 20ms } }
    server: { processes: 1, threads: 4 }
    hosts: { c5.large: { cores: 2 } }
    instances: 2
stages:
  - name: before
  - name: after
    about: half of the instances
    changes: { services: { web: { instances: 1 } } }
published:
  - { what: instances, says: from 2 to 1, row: before.instances_mean > after.instances_mean }
  - { what: cost, row: before.cost / after.cost in 1.99..2.01 }
  - { what: by the clock, row: 'before.p95(06:02..06:04) < 100ms' }
  - { what: wrong, row: after.p95 > 1s }
  - { what: wrong too, row: after.p95 > 1s, reported: it was never so slow }
";

fn tiny() -> Case {
    parse("tiny.yaml", TINY, Path::new(""), Given::default()).unwrap_or_else(|problems| panic!("{problems}"))
}

fn run(case: &Case, chosen: &[usize], seeds: &[u64], threads: usize) -> Simulated {
    simulate(case, chosen, seeds, How { threads, fidelity: Fidelity::Request, or_faster: true }, None)
}

/// With the rows of the case judged.
fn judged(case: &Case, simulated: Simulated) -> Simulation {
    let verdicts = verdicts(case, &simulated);
    Simulation { simulated, by_minute: None, verdicts, versus: None, real: None, varied: None }
}

fn words_of(simulation: &Simulation) -> Vec<&'static str> {
    simulation.verdicts.iter().map(Verdict::word).collect()
}

#[test]
fn rows_are_judged_and_only_required_ones_are_missed() {
    let case = tiny();
    let simulation = judged(&case, run(&case, &[0, 1], &[1, 2], 2));
    assert_eq!(words_of(&simulation), ["met", "met", "met", "missed", "missed"]);
    assert_eq!(simulation.verdicts.iter().filter(|verdict| verdict.missed()).count(), 1);
    let said = simulation.text(false, Terminal::of_width(200));
    assert!(said.contains("3 of 4 required rows met, 1 missed"), "{said}");
    assert!(said.contains("wrong too: reported only, because it was never so slow"), "{said}");
    let value = simulation.json(true);
    assert_eq!(value["met"], false);
    assert_eq!(value["stages"][1]["runs"][1]["seed"], 2);
    let arrived = value["stages"][0]["runs"][0]["services"][0]["requests"]["arrived"].as_u64().unwrap();
    assert!((2_500..3_500).contains(&arrived), "{arrived}");
}

#[test]
fn json_keeps_its_names_and_numbers() {
    let case = tiny();
    let simulated = run(&case, &[0, 1], &[1], 2);
    let mut by_minute = run(&case, &[0, 1], &[1], 2);
    by_minute.took = std::time::Duration::ZERO;
    let versus = Versus::of(&simulated, 0, 1);
    let mut simulation = Simulation { by_minute: Some(by_minute), versus, ..judged(&case, simulated) };
    simulation.simulated.took = std::time::Duration::ZERO;
    let mut json = simulation.json(true);
    json["version"] = "of this build".into();
    insta::assert_snapshot!(format!("{json:#}"));
}

#[test]
fn the_reason_of_a_reported_row_is_said_where_it_is_met_too() {
    let text = TINY.replace("row: after.p95 > 1s, reported", "row: after.p95 < 1s, reported");
    let text =
        format!("{text}  - {{ what: as well, row: after.p99 > 1s, reported: it was never so slow }}\n");
    let case = parse("tiny.yaml", &text, Path::new(""), Given::default())
        .unwrap_or_else(|problems| panic!("{problems}"));
    let simulation = judged(&case, run(&case, &[0, 1], &[1], 2));
    assert_eq!(words_of(&simulation)[4..], ["met", "missed"]);
    let said = simulation.text(false, Terminal::of_width(200));
    assert!(said.contains("\nwrong too; as well: reported only, because it was never so slow\n"), "{said}");
}

#[test]
fn at_the_maximum_is_at_that_of_the_minute() {
    // 2 of at most 2 for five minutes, then 3 of at most 4.
    let scaling = "instances: 2\n    scaling: { min: 2, max: 9, platform: ec2, \
                   schedule: [{ at: '05:00', min: 2, max: 2 }, { at: '06:05', min: 3, max: 4 }] }";
    let text = TINY.replace("instances: 2\nstages", &format!("{scaling}\nstages"));
    let rows = text.find("published:").expect("there are rows");
    let text = format!(
        "{}published:\n  - {{ what: half, row: before.at_max in 49%..51% }}\n  \
         - {{ what: first, row: 'before.at_max(06:00..06:05) = 100%' }}\n",
        &text[..rows]
    );
    let case = parse("tiny.yaml", &text, Path::new(""), Given::default())
        .unwrap_or_else(|problems| panic!("{problems}"));
    let simulation = judged(&case, run(&case, &[0], &[1], 1));
    let rows = &simulation.simulated.stages[0].outcomes[0].services[0].rows;
    assert_eq!(words_of(&simulation), ["met", "met"], "{rows:?}");
}

#[test]
fn rows_of_stages_that_were_not_run_are_not_judged() {
    let case = tiny();
    let simulation = judged(&case, run(&case, &[0], &[1], 1));
    assert_eq!(words_of(&simulation), ["not run", "not run", "met", "not run", "not run"]);
    assert!(!simulation.verdicts.iter().any(Verdict::missed));
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let case = tiny();
    let outcomes =
        |threads| run(&case, &[0, 1], &[1, 2], threads).stages.into_iter().map(|stage| stage.outcomes);
    assert!(outcomes(1).eq(outcomes(3)));
}

#[test]
fn stages_are_compared_under_the_same_requests() {
    let case = tiny();
    let simulated = run(&case, &[0, 1], &[1], 2);
    let arrived = |place: usize| simulated.of(place).unwrap().outcomes[0].services[0].totals.arrived;
    assert_eq!(arrived(0), arrived(1));
    let versus = Versus::of(&simulated, 0, 1);
    let value = Simulation { versus, ..judged(&case, simulated) }.json(false);
    assert_eq!(value["compare"]["rows"][0]["quantity"], "instances");
    assert_eq!(value["compare"]["rows"][0]["finding"], "less");
}

#[test]
fn minutes_leave_as_csv_and_as_a_page() {
    let case = tiny();
    let simulation = judged(&case, run(&case, &[0], &[1], 1));
    let mut bytes = Vec::new();
    simulation.csv(&mut bytes).unwrap();
    let text = String::from_utf8(bytes).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 11);
    let width = lines[0].split(',').count();
    assert!(lines.iter().all(|line| line.split(',').count() == width), "{text}");
    assert!(lines[1].starts_with("before,1,web,0,06:00,2,2,2,0,"), "{}", lines[1]);
    let page = simulation.page();
    for part in ["Simulated: tiny", ">running instances<", ">average processor use<", ">response time, p95<"]
    {
        assert!(page.contains(part), "{part}");
    }
}

#[test]
fn times_are_said_by_the_clock() {
    let case = tiny();
    let simulated = run(&case, &[0], &[1], 1);
    let at = |seconds: u64| simulated.stages[0].when(seconds * 1_000_000_000);
    assert_eq!(at(0), "day 1 05:58:00");
    assert_eq!(at(120), "day 1 06:00:00");
    assert_eq!(at(86_400 + 120), "day 2 06:00:00");
}

#[test]
fn minutes_are_recorded_only_where_that_is_faster() {
    let case = tiny();
    let minute = |or_faster| {
        simulate(&case, &[0], &[1], How { threads: 1, fidelity: Fidelity::Minute, or_faster }, None)
    };
    // Twelve minutes are less than an hour of each load.
    let chosen = minute(true);
    assert_eq!(chosen.stages[0].fidelity, Fidelity::Request);
    assert_eq!(chosen.recorded, std::time::Duration::ZERO);
    assert_eq!(chosen.stages[0].outcomes, run(&case, &[0], &[1], 1).stages[0].outcomes);
    let said = chosen.chosen_by_request().expect("it is said");
    assert!(said.starts_with("request by request, because recording minutes takes longer: "), "{said}");
    let value = judged(&case, chosen).json(false);
    assert_eq!(value["stages"][0]["fidelity"], "request");
    let forced = minute(false);
    assert_eq!(forced.stages[0].fidelity, Fidelity::Minute);
    assert_eq!(forced.chosen_by_request(), None);
    let value = judged(&case, forced).json(false);
    assert_eq!(value["stages"][0]["fidelity"], "minute");
}

#[test]
fn what_minutes_do_not_model_is_said() {
    let text = TINY.replace("    instances: 2\n", "    instances: 2\n    balancing: { ejection: {} }\n");
    let case = parse("tiny.yaml", &text, Path::new(""), Given::default()).unwrap();
    let how = How { threads: 1, fidelity: Fidelity::Minute, or_faster: false };
    let said = simulate(&case, &[0, 1], &[1], how, None).chosen_by_request();
    let want = "request by request, because minutes do not model `cross_zone: false`, `consistent-hash`, `affinity`, \
                `ejection` and `rows` below a minute: before, after";
    assert_eq!(said.as_deref(), Some(want));
}

#[test]
fn csv_has_the_date_if_it_is_known() {
    for (begins, want) in [("'06:00'", ",06:00,"), ("2026-03-02T06:00", ",2026-03-02 06:00,")] {
        let text = TINY.replace("'06:00'", begins);
        let case = parse("tiny.yaml", &text, Path::new(""), Given::default()).unwrap();
        let mut csv = Vec::new();
        judged(&case, run(&case, &[0], &[1], 1)).csv(&mut csv).unwrap();
        let csv = String::from_utf8(csv).unwrap();
        let first = csv.lines().nth(1).unwrap();
        assert!(first.starts_with(&format!("before,1,web,0{want}")), "{first}");
    }
}

/// The tiny case with a calibration.
fn calibrated(section: &str) -> Case {
    let text = TINY.replacen("traffic:", &format!("calibration: {section}\ntraffic:"), 1);
    parse("tiny.yaml", &text, Path::new(""), Given::default()).unwrap_or_else(|problems| panic!("{problems}"))
}

#[test]
fn a_suspect_model_shows_no_costs_of_several_stages() {
    let case = calibrated("{ verdict: suspect, reasons: [p95 is 31 % off] }");
    let simulated = run(&case, &[0, 1], &[1], 2);
    let versus = Versus::of(&simulated, 0, 1);
    let verdicts = verdicts(&case, &simulated);
    let simulation = Simulation { simulated, by_minute: None, verdicts, versus, real: None, varied: None };
    assert_eq!(words_of(&simulation)[1], "unknown", "cost");
    for said in [simulation.text(true, Terminal::of_width(400)), simulation.page()] {
        assert!(said.contains("The model is suspect") && said.contains("p95 is 31 % off"), "{said}");
        assert!(said.contains("Costs are withheld"), "{said}");
        assert!(!said.contains('$') && !said.contains("cost an hour"), "{said}");
    }
    let json = simulation.json(true);
    assert_eq!((&json["calibration"]["verdict"], &json["costs_withheld"]), (&"suspect".into(), &true.into()));
    assert!(json["stages"][1]["runs"][0]["services"][0]["cost_usd"].is_null(), "{json:#}");
    let mut csv = Vec::new();
    simulation.csv(&mut csv).unwrap();
    let csv = String::from_utf8(csv).unwrap();
    assert!(csv.lines().skip(1).all(|line| line.contains(",0.000000,")), "{csv}");
}

#[test]
fn a_model_without_processor_times_has_no_processor_use() {
    let case = calibrated("{ verdict: valid, unknown: [cpu, server] }");
    let simulation = judged(&case, run(&case, &[0, 1], &[1], 2));
    let said = simulation.text(false, Terminal::of_width(400));
    assert!(said.contains("Processor use is unknown") && said.contains("unknown: server."), "{said}");
    assert!(!said.contains("suspect") && said.contains('$'), "{said}");
    let json = simulation.json(false);
    let cpu = &json["stages"][0]["runs"][0]["services"][0]["cpu"];
    assert!(["average", "maximum", "true"].into_iter().all(|name| cpu[name].is_null()), "{cpu:#}");
}
