//! Weekdays, dates and time zones in case files.

use config::case::{Case, Given, parse};
use control::scaling::Scheduled;
use sim::settings::{Policy, Traffic};
use std::path::Path;
use units::Timestamp;

fn case(keys: &str, traffic: &str, scaling: &str) -> String {
    format!(
        "
case: calendar
{keys}
traffic: {traffic}
services:
  web:
    endpoints: {{ page: {{ cpu: 10ms }} }}
    server: {{ threads: 4 }}
    hosts: {{ machine: {{ cores: 1 }} }}
    scaling: {{ min: 4, max: 40, {scaling} }}
"
    )
}

fn read(text: &str) -> Case {
    parse("case.yaml", text, Path::new(""), Given::default())
        .unwrap_or_else(|problems| panic!("{}", problems.plain()))
}

fn refused(text: &str) -> String {
    match parse("case.yaml", text, Path::new(""), Given::default()) {
        Ok(case) => panic!("accepted: {case:?}"),
        Err(problems) => problems.plain(),
    }
}

/// The times at which the bounds change, by the clock of the case, and the bounds at the beginning.
fn changes(case: &Case) -> (Vec<String>, (u32, u32)) {
    let stage = &case.stages[0];
    let (bounds, scheduled): ((u32, u32), &[Scheduled]) = match &stage.system.services[0].scaling.policy {
        Policy::Aws(aws) => ((aws.scaler.min, aws.scaler.max), &aws.scaler.scheduled),
        Policy::Hpa(hpa) => ((hpa.hpa.min.get(), hpa.hpa.max.get()), &hpa.scheduled),
        other => panic!("{other:?}"),
    };
    (scheduled.iter().map(|action| stage.clock.when(action.at)).collect(), bounds)
}

const ECS: &str = "platform: ecs";
const HPA: &str = "hpa: { cpu: 70% }";

#[test]
fn actions_happen_on_their_weekdays_and_dates() {
    for (keys, entry, want) in [
        // From Thursday on, over a weekend.
        (
            "begins: 2026-03-05\nmeasured: 5d",
            "{ at: '0 8 * * MON-FRI', min: 10 }",
            &["Thu 2026-03-05 08:00:00", "Fri 2026-03-06 08:00:00", "Mon 2026-03-09 08:00:00"][..],
        ),
        (
            "begins: 2026-03-05\nmeasured: 5d",
            "{ at: cron(0 8 ? * MON-FRI *), min: 10 }",
            &["Thu 2026-03-05 08:00:00", "Fri 2026-03-06 08:00:00", "Mon 2026-03-09 08:00:00"],
        ),
        // The last day of a month, in a leap year.
        (
            "begins: 2028-02-27\nmeasured: 4d",
            "{ at: 'cron(0 0 L * ? *)', min: 10 }",
            &["Tue 2028-02-29 00:00:00"],
        ),
        (
            "begins: 2027-02-27\nmeasured: 4d",
            "{ at: 'cron(0 12 L * ? *)', min: 10 }",
            &["Sun 2027-02-28 12:00:00"],
        ),
        // Once.
        (
            "begins: 2026-11-26\nmeasured: 3d",
            "{ at: 2026-11-27T06:00, max: 80 }",
            &["Fri 2026-11-27 06:00:00"],
        ),
        (
            "begins: 2026-11-26\nmeasured: 3d",
            "{ at: 2026-11-27T06:00+02:00, max: 80 }",
            &["Fri 2026-11-27 04:00:00"],
        ),
        (
            "begins: 2026-11-26\nmeasured: 3d",
            "{ at: 'at(2026-11-27T06:00:00)', max: 80 }",
            &["Fri 2026-11-27 06:00:00"],
        ),
        // A rate counts from its start, and ends.
        (
            "begins: 2026-03-02\nmeasured: 1d",
            "{ at: rate(6 hours), start: 2026-03-01T03:00, end: 2026-03-02T15:00, min: 9 }",
            &["Mon 2026-03-02 03:00:00", "Mon 2026-03-02 09:00:00", "Mon 2026-03-02 15:00:00"],
        ),
        // Another zone than that of the file, and the zone of the file.
        (
            "begins: 2026-03-02T00:00\nzone: Europe/Berlin\nmeasured: 1d",
            "{ at: '08:00', zone: America/New_York, min: 9 }",
            &["Mon 2026-03-02 14:00:00"],
        ),
        (
            "begins: 2026-03-02T00:00\nzone: Europe/Berlin\nmeasured: 1d",
            "{ at: '08:00', min: 9 }",
            &["Mon 2026-03-02 08:00:00"],
        ),
        // Clocks go forward on the 29th of March and back on the 25th of October: 08:00 stays 08:00.
        (
            "begins: 2026-03-28T12:00\nzone: Europe/Berlin\nmeasured: 2d",
            "{ at: '08:00', min: 9 }",
            &["Sun 2026-03-29 08:00:00", "Mon 2026-03-30 08:00:00"],
        ),
        (
            "begins: 2026-10-24T12:00\nzone: Europe/Berlin\nmeasured: 2d",
            "{ at: '08:00', min: 9 }",
            &["Sun 2026-10-25 08:00:00", "Mon 2026-10-26 08:00:00"],
        ),
        // A time that clocks skip is later; of a time that they repeat, the first counts.
        (
            "begins: 2026-03-29\nzone: Europe/Berlin\nmeasured: 1d",
            "{ at: '02:30', min: 9 }",
            &["Sun 2026-03-29 03:30:00"],
        ),
        (
            "begins: 2026-10-25\nzone: Europe/Berlin\nmeasured: 1d",
            "{ at: '02:30', min: 9 }",
            &["Sun 2026-10-25 02:30:00"],
        ),
        // The same every day: no date is needed.
        ("begins: '06:00'\nmeasured: 1d", "{ at: '0 8 * * *', min: 9 }", &["day 1 08:00:00"]),
        ("begins: '06:00'\nzone: '+05:30'\nmeasured: 1d", "{ at: '08:00', min: 9 }", &["day 1 08:00:00"]),
        ("begins: '06:00'\nmeasured: 1d", "{ at: '08:00', zone: '+01:00', min: 9 }", &["day 1 07:00:00"]),
    ] {
        for scaling in [ECS, HPA] {
            let text = case(keys, "{ rate: 5/s }", &format!("{scaling}, schedule: [{entry}]"));
            assert_eq!(changes(&read(&text)).0, want, "{keys} {entry} {scaling}");
        }
    }
}

#[test]
fn a_run_begins_with_what_was_last_set() {
    for (begins, schedule, bounds) in [
        // On Monday at six, the bounds of Friday evening.
        (
            "2026-03-02T06:00",
            "{ at: '0 8 * * MON-FRI', min: 10 }, { at: '0 20 * * MON-FRI', min: 2 }",
            (2, 40),
        ),
        // On Monday at nine, those of the morning.
        (
            "2026-03-02T09:00",
            "{ at: '0 8 * * MON-FRI', min: 10 }, { at: '0 20 * * MON-FRI', min: 2 }",
            (10, 40),
        ),
        // Once, months ago; and once in the future.
        ("2026-03-02T09:00", "{ at: 2025-11-27T06:00, max: 80 }", (4, 80)),
        ("2026-03-02T09:00", "{ at: 2026-11-27T06:00, max: 80 }", (4, 40)),
        // It has ended since, but what it set last stays.
        ("2026-03-02T09:00", "{ at: '08:00', end: 2026-02-01, min: 7 }", (7, 40)),
        // It has not started yet.
        ("2026-03-02T09:00", "{ at: '08:00', start: 2026-04-01, min: 7 }", (4, 40)),
    ] {
        for scaling in [ECS, HPA] {
            let keys = format!("begins: {begins}\nmeasured: 1h");
            let text = case(&keys, "{ rate: 5/s }", &format!("{scaling}, schedule: [{schedule}]"));
            let case = read(&text);
            assert_eq!(changes(&case).1, bounds, "{begins} {schedule}");
            assert_eq!(case.stages[0].system.services[0].instances.get(), bounds.0, "{begins} {schedule}");
        }
    }
}

/// The rates of some hours after the beginning.
fn rates(keys: &str, traffic: &str, hours: &[f64]) -> Vec<f64> {
    let case = read(&case(keys, traffic, ECS));
    let Traffic::Open { rates, bin, .. } = &case.stages[0].system.traffic else { panic!("closed") };
    let at = |hour: &f64| rates[(hour * 3600.0 / bin.as_secs_f64()) as usize];
    hours.iter().map(|hour| at(hour).round()).collect()
}

#[test]
fn weekdays_have_their_shapes() {
    // Points a minute after midnight and before it, so that each day is level.
    let level = |share: u32| format!("{{ '00:01': {share}%, '23:59': {share}% }}");
    let week = format!("{{ peak: 100/s, week: {{ mon-fri: {}, sat-sun: {} }} }}", level(100), level(20));
    // From Friday noon: Friday, Saturday, Sunday, Monday.
    let days = [6.0, 24.0, 48.0, 72.0];
    assert_eq!(rates("begins: 2026-03-06T12:00\nmeasured: 4d", &week, &days), [100.0, 20.0, 20.0, 100.0]);
    // `day` is for the days that `week` does not name; the zone decides which day it is.
    let sunday = format!("{{ peak: 100/s, day: {}, week: {{ sun: {} }} }}", level(50), level(10));
    let keys = "begins: 2026-03-07T23:30\nmeasured: 1h";
    assert_eq!(rates(keys, &sunday, &[0.1, 0.9]), [50.0, 10.0]);
    let tokyo = "begins: 2026-03-07T23:30Z\nzone: Asia/Tokyo\nmeasured: 1h";
    assert_eq!(rates(tokyo, &sunday, &[0.1, 0.9]), [10.0, 10.0]);
    // When clocks go forward, the morning comes an hour earlier.
    let morning = "{ peak: 100/s, rises: straight, day: { '00:00': 0%, '12:00': 100% } }";
    let forward = "begins: 2026-03-29T00:00\nzone: Europe/Berlin\nmeasured: 12h";
    assert_eq!(rates(forward, morning, &[1.0, 5.0]), [8.0, 50.0]);
}

#[test]
fn what_needs_a_date_or_is_wrong_is_told_with_a_way_out() {
    let mut told = String::new();
    for (keys, traffic, scaling) in [
        ("", "{ rate: 5/s }", "schedule: [{ at: '0 8 * * MON-FRI', min: 9 }]"),
        ("", "{ rate: 5/s }", "schedule: [{ at: 2026-11-27T06:00, min: 9 }]"),
        ("", "{ rate: 5/s }", "schedule: [{ at: '08:00', zone: Europe/Berlin, min: 9 }]"),
        ("zone: Europe/Berlin", "{ rate: 5/s }", ECS),
        ("zone: Europe/Berlni", "{ rate: 5/s }", ECS),
        ("begins: 2026-02-29", "{ rate: 5/s }", ECS),
        ("", "{ peak: 5/s, day: { '12:00': 100% }, week: { sun: { '12:00': 50% } } }", ECS),
        ("begins: 2026-03-02", "{ peak: 5/s, week: { mon-fri: { '12:00': 50% } } }", ECS),
        (
            "begins: 2026-03-02",
            "{ peak: 5/s, week: { mon-sun: { '12:00': 50% }, fri: { '12:00': 5% } } }",
            ECS,
        ),
        (
            "begins: 2026-03-02",
            "{ peak: 5/s, week: { monday: { '12:00': 50% }, sun: { '24:00': 5% } } }",
            ECS,
        ),
        ("begins: 2026-03-02", "{ rate: 5/s }", "schedule: [{ at: cron(0 8 * * MON *), min: 9 }]"),
        ("begins: 2026-03-02", "{ rate: 5/s }", "schedule: [{ at: eight, min: 9 }]"),
        ("begins: 2026-03-02", "{ rate: 5/s }", "schedule: [{ at: rate(1 hour), min: 9 }]"),
        (
            "begins: 2026-03-02\nmeasured: 60d",
            "{ rate: 5/s }",
            "schedule: [{ at: rate(1 minute), start: 2026-03-02, min: 9 }]",
        ),
        ("", "{ rate: 5/s }", "schedule: [{ at: '08:00', start: 2026-03-02, end: 2026-03-01, min: 9 }]"),
        ("", "{ rate: 5/s }", "hpa: { cpu: 70% }, schedule: [{ at: '08:00', desired: 9 }]"),
        ("", "{ rate: 5/s }", "hpa: { cpu: 70% }, schedule: [{ at: '08:00', min: 0 }]"),
        ("", "{ rate: 5/s }", "knative: {}, schedule: [{ at: '08:00', min: 9 }]"),
    ] {
        let found = refused(&case(keys, traffic, scaling));
        told += &format!("{keys} | {traffic} | {scaling}\n{found}\n");
    }
    insta::assert_snapshot!(told);
}

/// Three hours of traffic from 06:00 on, in rows of an hour.
fn dated(keys: &str) -> Result<Case, String> {
    let folder = tempfile::tempdir().expect("a folder");
    let rows = "2026-03-02T06:00:00Z,3600\n2026-03-02T07:00:00Z,7200\n2026-03-02T08:00:00Z,10800\n";
    std::fs::write(folder.path().join("traffic.csv"), rows).expect("a file of its own");
    let text = case(keys, "{ file: traffic.csv }", "schedule: [{ at: '0 8 * * MON', min: 9 }]");
    parse("case.yaml", &text, folder.path(), Given::default()).map_err(|problems| problems.plain())
}

#[test]
fn a_traffic_file_brings_its_dates() {
    let rates = |case: &Case| match &case.stages[0].system.traffic {
        Traffic::Open { rates, .. } => rates.to_vec(),
        Traffic::Closed { .. } => panic!("closed"),
    };
    let of = |keys: &str| {
        let case = dated(keys).unwrap();
        let stage = &case.stages[0];
        let begins = stage.clock.when(Timestamp::ZERO + stage.system.warm_up);
        (begins, changes(&case).0, rates(&case), stage.notes.clone())
    };
    // A Monday: the schedule needs no other date.
    let (begins, changes, found, notes) = of("");
    assert_eq!((begins.as_str(), found.as_slice()), ("Mon 2026-03-02 06:00:00", &[1.0, 2.0, 3.0][..]));
    assert_eq!((changes, notes), (vec!["Mon 2026-03-02 08:00:00".to_owned()], Vec::new()));
    // In another zone, it is an hour later.
    let (begins, changes, ..) = of("zone: Europe/Berlin");
    assert_eq!(
        (begins.as_str(), changes[0].as_str()),
        ("Mon 2026-03-02 07:00:00", "Mon 2026-03-02 08:00:00")
    );
    // Later in the file: the warm-up has the rows before, and before them the rate of the first.
    let (begins, _, found, _) = of("begins: 2026-03-02T07:00\nwarm_up: 2h");
    assert_eq!((begins.as_str(), found.as_slice()), ("Mon 2026-03-02 07:00:00", &[1.0, 1.0, 2.0, 3.0][..]));
    let (_, _, found, _) = of("begins: 2026-03-02T08:00\nwarm_up: 1h");
    assert_eq!(found, [2.0, 3.0]);
    // Not in the file, or not at the beginning of a row; and a time of day that is not used.
    let told: Vec<String> = ["begins: 2026-03-03", "begins: 2026-03-02T05:00", "begins: 2026-03-02T07:30"]
        .map(|keys| dated(keys).unwrap_err())
        .into();
    insta::assert_snapshot!(format!("{}\n{}", told.join("\n"), of("begins: '08:00'").3.join("\n")));
}
