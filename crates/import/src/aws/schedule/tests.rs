use super::*;
use proptest::prelude::*;

fn at(text: &str) -> i64 {
    text.parse::<Timestamp>().unwrap().as_microsecond()
}

fn schedule(when: Recurrence, zone: Option<&str>) -> Schedule {
    let zone = zone.map(str::to_owned);
    let (name, text) = (String::new(), String::new());
    Schedule {
        name,
        origin: None,
        text,
        when,
        zone,
        start: None,
        end: None,
        min: None,
        max: None,
        desired: None,
    }
}

/// The first occurrences after the beginning of 2026, in a zone.
fn aws(text: &str, zone: Option<&str>, count: usize) -> Vec<String> {
    let schedule = schedule(recurrence(text, zone).unwrap(), zone);
    shown(&schedule, count)
}

fn shown(schedule: &Schedule, count: usize) -> Vec<String> {
    let from = at("2026-01-01T00:00:00Z");
    let times = schedule.between(from, from + 366 * DAY);
    times.into_iter().take(count).map(|at| Timestamp::from_microsecond(at).unwrap().to_string()).collect()
}

/// Expressions of AWS's guides, and difficult days.
#[test]
fn expressions_happen_when_they_say() {
    for (text, zone, want) in [
        // 10:00 each day.
        ("cron(0 10 * * ? *)", None, &["2026-01-01T10:00:00Z", "2026-01-02T10:00:00Z"][..]),
        // 12:15 each day.
        ("cron(15 12 * * ? *)", None, &["2026-01-01T12:15:00Z"]),
        // 18:00 Monday to Friday; the first is a Thursday.
        (
            "cron(0 18 ? * MON-FRI *)",
            None,
            &["2026-01-01T18:00:00Z", "2026-01-02T18:00:00Z", "2026-01-05T18:00:00Z"],
        ),
        // Days of the week by number: Sunday is 1.
        (
            "cron(0 18 ? * 2-6 *)",
            None,
            &["2026-01-01T18:00:00Z", "2026-01-02T18:00:00Z", "2026-01-05T18:00:00Z"],
        ),
        ("cron(0 8 1 * ? *)", None, &["2026-01-01T08:00:00Z", "2026-02-01T08:00:00Z"]),
        // Each quarter of an hour.
        ("cron(0/15 * * * ? *)", None, &["2026-01-01T00:00:00Z", "2026-01-01T00:15:00Z"]),
        // From 8 to 17:55 on weekdays, each 5 minutes.
        ("cron(0/5 8-17 ? * MON-FRI *)", None, &["2026-01-01T08:00:00Z", "2026-01-01T08:05:00Z"]),
        ("cron(0 0 L * ? *)", None, &["2026-01-31T00:00:00Z", "2026-02-28T00:00:00Z"]),
        // The last Friday.
        ("cron(0 0 ? * 6L *)", None, &["2026-01-30T00:00:00Z", "2026-02-27T00:00:00Z"]),
        // The third Friday, and the weekday nearest to the 1st of February and March, which are Sundays.
        ("cron(0 0 ? * FRI#3 *)", None, &["2026-01-16T00:00:00Z", "2026-02-20T00:00:00Z"]),
        ("cron(0 0 1W 2,3 ? *)", None, &["2026-02-02T00:00:00Z", "2026-03-02T00:00:00Z"]),
        ("cron(0 0 LW 2 ? *)", None, &["2026-02-27T00:00:00Z"]),
        // Across the end of the week.
        (
            "cron(0 0 ? * SAT-MON 2026)",
            None,
            &["2026-01-03T00:00:00Z", "2026-01-04T00:00:00Z", "2026-01-05T00:00:00Z"],
        ),
        ("cron(0 0 1 1 ? 2027-2030)", None, &["2027-01-01T00:00:00Z"]),
        // The skipped hour, and the repeated hour.
        ("cron(30 2 29 3 ? *)", Some("Europe/Berlin"), &["2026-03-29T01:30:00Z"]),
        ("cron(30 2 25 10 ? *)", Some("Europe/Berlin"), &["2026-10-25T00:30:00Z"]),
        ("at(2026-07-01T08:00:00)", Some("America/New_York"), &["2026-07-01T12:00:00Z"]),
    ] {
        assert_eq!(aws(text, zone, want.len()), want, "{text}");
    }
}

#[test]
fn unix_expressions_take_either_day() {
    for (text, want) in [
        ("30 0 1 1,6,12 *", &["2026-01-01T00:30:00Z", "2026-06-01T00:30:00Z", "2026-12-01T00:30:00Z"][..]),
        ("0 22 * * *", &["2026-01-01T22:00:00Z", "2026-01-02T22:00:00Z"]),
        // The 13th or a Friday.
        ("0 0 13 * 5", &["2026-01-02T00:00:00Z", "2026-01-09T00:00:00Z", "2026-01-13T00:00:00Z"]),
        // Sunday is 0 and 7.
        ("0 0 * * 0", &["2026-01-04T00:00:00Z", "2026-01-11T00:00:00Z"]),
        ("0 0 * * 7", &["2026-01-04T00:00:00Z", "2026-01-11T00:00:00Z"]),
        ("0 */12 * * sun", &["2026-01-04T00:00:00Z", "2026-01-04T12:00:00Z"]),
    ] {
        let schedule = schedule(unix_cron(text).unwrap(), None);
        assert_eq!(shown(&schedule, want.len()), want, "{text}");
    }
}

#[test]
fn rates_count_from_their_start_and_bounds_hold() {
    let start = at("2026-01-01T00:30:00Z");
    let mut schedule = schedule(recurrence("rate(6 hours)", None).unwrap(), None);
    schedule.start = Some(start);
    assert_eq!(shown(&schedule, 2), ["2026-01-01T00:30:00Z", "2026-01-01T06:30:00Z"]);
    schedule.end = Some(start + 7 * 60 * MINUTE);
    assert_eq!(schedule.between(start, start + DAY).len(), 2);
    schedule.when = recurrence("cron(0 * * * ? *)", None).unwrap();
    assert_eq!(schedule.between(0, i64::MAX).len(), 7);
    assert!(!schedule.is_daily());
    (schedule.start, schedule.end) = (None, None);
    assert!(schedule.is_daily());
}

/// The state before a run follows from the last time of each action.
#[test]
fn the_last_time_is_found_however_long_ago() {
    for (text, until, want) in [
        // At that time, and before it.
        ("0 8 * * *", "2026-03-04T08:00:00Z", Some("2026-03-04T08:00:00Z")),
        ("0 8 * * *", "2026-03-04T07:59:59Z", Some("2026-03-03T08:00:00Z")),
        // On Monday, that of Friday.
        ("0 20 * * MON-FRI", "2026-03-02T06:00:00Z", Some("2026-02-27T20:00:00Z")),
        // The last day of a short month.
        ("cron(0 0 L * ? *)", "2026-03-15T00:00:00Z", Some("2026-02-28T00:00:00Z")),
        // A leap day, also across 2100, which has none.
        ("0 0 29 2 *", "2027-12-01T00:00:00Z", Some("2024-02-29T00:00:00Z")),
        ("0 0 29 2 *", "2104-02-01T00:00:00Z", Some("2096-02-29T00:00:00Z")),
        ("at(2026-01-01T00:00:00)", "2026-03-01T00:00:00Z", Some("2026-01-01T00:00:00Z")),
        ("at(2026-04-01T00:00:00)", "2026-03-01T00:00:00Z", None),
    ] {
        let schedule = schedule(Recurrence::parse(text, None).unwrap(), None);
        let shown =
            schedule.last_until(at(until)).map(|at| Timestamp::from_microsecond(at).unwrap().to_string());
        assert_eq!(shown.as_deref(), want, "{text} until {until}");
    }
    let mut rate = schedule(recurrence("rate(1 minute)", None).unwrap(), None);
    (rate.start, rate.end) = (Some(at("2020-01-01T00:00:00Z")), Some(at("2020-02-01T00:00:30Z")));
    assert_eq!(rate.last_until(at("2026-01-01T00:00:00Z")), Some(at("2020-02-01T00:00:00Z")));
    assert_eq!(rate.last_until(at("2019-01-01T00:00:00Z")), None);
}

#[test]
fn what_is_no_expression_is_told() {
    let zoned = |text| recurrence(text, Some("Mars/Olympus")).unwrap_err();
    let mut told: Vec<_> = [
        "0 10 * * ? *",
        "cron(0 10 * * *)",
        "cron(0 10 * * * *)",
        "cron(60 10 * * ? *)",
        "cron(0 10 ? * FUN *)",
        "cron(0 10 ? * MON#6 *)",
        "cron(0/0 10 * * ? *)",
        "cron(0 10 * * ? 1492)",
        "rate(5)",
        "rate(0 minutes)",
        "rate(2 fortnights)",
        "at(tomorrow)",
    ]
    .map(|text| format!("{text}: {}", recurrence(text, None).unwrap_err()))
    .into();
    told.push(zoned("cron(0 10 * * ? *)"));
    told.push(unix_cron("@daily").unwrap_err());
    insta::assert_snapshot!(told.join("\n"));
}

proptest! {
    #[test]
    fn no_expression_panics(text in r"(cron|rate|at)\([0-9*?/,#LW MONa-z-]{0,30}\)") {
        if let Ok(when) = recurrence(&text, None) {
            let _ = schedule(when, None).between(0, 400 * DAY);
        }
    }

    #[test]
    fn a_daily_time_comes_once_a_day_in_any_zone(hour in 0_u8..24, minute in 0_u8..60, days in 1_i64..400) {
        for zone in ["Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe"] {
            let cron = recurrence(&format!("cron({minute} {hour} * * ? *)"), Some(zone)).unwrap();
            let schedule = schedule(cron, Some(zone));
            let from = at("2026-01-01T00:00:00Z");
            let count = schedule.between(from, from + days * DAY).len() as i64;
            prop_assert!((count - days).abs() <= 1, "{zone}: {count} in {days} days");
            prop_assert!(schedule.is_daily());
        }
    }
}
