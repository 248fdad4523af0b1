use crate::{BadLines, Traffic, TrafficFormat, TrafficOptions, read_traffic};
use std::time::Duration;

/// 2026-03-01T12:00:00Z in microseconds.
const NOON: i64 = 1_772_366_400_000_000;

fn options(time: Option<&str>) -> TrafficOptions {
    TrafficOptions {
        format: Some(TrafficFormat::Events),
        bin: Some(Duration::from_secs(60)),
        time: time.map(str::to_owned),
        ..TrafficOptions::default()
    }
}

fn read(text: &str, options: &TrafficOptions) -> Result<(Traffic, Vec<String>), String> {
    match read_traffic("in", text.as_bytes(), options) {
        Ok((traffic, notices)) => Ok((traffic, notices.iter().map(ToString::to_string).collect())),
        Err(errors) => Err(errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")),
    }
}

/// Two events in the first minute, one in the second, none in the third, one in the fourth.
#[test]
fn events_are_counted_wherever_their_time_is() {
    for (time, text) in [
        (None, "2026-03-01T12:00:00Z\n2026-03-01T12:00:59.9Z\n2026-03-01T12:01:00Z\n2026-03-01T12:03:07Z\n"),
        (None, "1772366400 GET /\n1772366459 GET /a\n1772366460 GET /b\n1772366587 GET /c"),
        (None, "1772366400000,a\n1772366459000,b\n1772366460000,c\n1772366587000,d\n"),
        (None, "1772366400000123 a\n1772366459000000 b\n1772366460000000 c\n1772366587000000 d\n"),
        (None, "1772366400.5 a\n1772366459.25 b\n1772366460.0 c\n1772366587.0 d\n"),
        (
            None,
            "2026-03-01 12:00:00,123 INFO one\n2026-03-01 12:00:59,9 INFO two\n2026-03-01 12:01:00,000 WARN three\n2026-03-01 12:03:00,1 INFO four\n",
        ),
        (
            None,
            "[01/Mar/2026:12:00:00 +0000] a\n[01/Mar/2026:13:00:59 +0100] b\n[01/Mar/2026:12:01:00 +0000] c\n[01/Mar/2026:12:03:00 +0000] d\n",
        ),
        (
            None,
            "{\"ts\":1772366400.5,\"m\":\"a\"}\n{\"ts\":1772366401}\n{\"m\":1,\"ts\":1772366460}\n{\"ts\":1772366580}\n",
        ),
        (
            Some("when"),
            "{\"when\":\"2026-03-01T12:00:00Z\"}\n{\"when\":\"2026-03-01T12:00:01Z\"}\n{\"when\":\"2026-03-01T12:01:00Z\"}\n{\"when\":\"2026-03-01T12:03:00Z\"}\n",
        ),
        (
            Some("started"),
            "path,Started,status\n/a,2026-03-01T12:00:00Z,200\n\"/b,c\",2026-03-01T12:00:30Z,200\n/d,2026-03-01T12:01:00Z,500\n/e,2026-03-01T12:03:00Z,200\n",
        ),
        (
            None,
            "path;time\n/a;2026-03-01T12:00:00Z\n/b;2026-03-01T12:00:30Z\n/d;2026-03-01T12:01:00Z\n/e;2026-03-01T12:03:00Z\n",
        ),
        (Some("2"), "a\t1772366400\nb\t1772366401\nc\t1772366460\nd\t1772366580\n"),
        (Some("2"), "a 1772366400 x\nb 1772366401 x\nc 1772366460 x\nd 1772366580 x\n"),
        // In any order.
        (None, "1772366580\n1772366400\n1772366460\n1772366401\n"),
    ] {
        let (traffic, notices) = read(text, &options(time)).unwrap_or_else(|error| panic!("{text}: {error}"));
        let want = Traffic { start: Some(NOON), bin: Duration::from_secs(60), counts: vec![2, 1, 0, 1] };
        assert_eq!(traffic, want, "{text}");
        assert!(notices.iter().any(|notice| notice.contains("4 events")), "{notices:?}");
        assert!(notices.iter().any(|notice| notice.contains("1 of 4 bins")), "{notices:?}");
    }
}

#[test]
fn a_column_of_times_means_events() {
    let auto = TrafficOptions { format: None, ..options(Some("at")) };
    assert_eq!(read("at,path\n1772366400,/a\n1772366401,/b\n", &auto).unwrap().0.counts, [2]);
}

#[test]
fn every_line_is_accounted_for() {
    let good = "2026-03-01T12:00:00Z /a\n".repeat(300);
    let text = format!("# made by hand\n\n{good}2026-03-01T12:0");
    let (traffic, notices) = read(&text, &options(None)).unwrap();
    assert_eq!(traffic.counts, [300]);
    insta::assert_snapshot!(notices.join("\n"));
    let names = format!("time,path\n{}", "2026-03-01T12:00:00Z,/a\n".repeat(3));
    assert!(read(&names, &options(None)).unwrap().1[0].contains("1 line of names"), "{names}");
}

#[test]
fn what_is_no_event_log_is_refused_with_the_way_out() {
    let many = "2026-03-01T12:00:00Z /a\n".repeat(20) + "what\n";
    let strict = TrafficOptions { bad_lines: BadLines::Refuse, ..options(None) };
    let texts = [
        ("no time", "hello world\nagain\n", options(None)),
        (
            "several times",
            "1772366400,1772366401\n",
            TrafficOptions { time: Some("3".to_owned()), ..options(None) },
        ),
        ("no such column", "time,path\n1772366400,/a\n", options(Some("when"))),
        ("too many broken lines", many.as_str(), options(None)),
        ("one broken line", many.as_str(), strict),
        ("seconds and milliseconds", "1772366400 a\n1772366400000 b\n", options(None)),
        ("far away", "1772366400 a\n4102444800 b\n", options(None)),
        ("nothing", "", options(None)),
        (
            "no such zone",
            "2026-03-01T12:00:00 a\n",
            TrafficOptions { time_zone: Some("Berlin".to_owned()), ..options(None) },
        ),
    ];
    let shown = texts.map(|(name, text, options)| match read(text, &options) {
        Ok(read) => panic!("{name}: {read:?}"),
        Err(errors) => format!("{name}: {errors}"),
    });
    insta::assert_snapshot!(shown.join("\n"));
}

/// The hour from 2 to 3 is shown twice on this night in Berlin.
#[test]
fn an_hour_that_comes_twice_is_two_hours_in_its_zone_and_told_without() {
    let mut text = String::new();
    for hour in ["01", "02", "02", "03"] {
        (0..60).for_each(|minute| text += &format!("2026-10-25 {hour}:{minute:02}:30 GET /\n"));
    }
    let hourly = TrafficOptions { bin: Some(Duration::from_secs(3_600)), ..options(None) };
    let local = TrafficOptions { time_zone: Some("Europe/Berlin".to_owned()), ..hourly.clone() };
    assert_eq!(read(&text, &local).unwrap().0.counts, [60, 60, 60, 60]);
    let (traffic, notices) = read(&text, &hourly).unwrap();
    assert_eq!(traffic.counts, [60, 120, 60]);
    insta::assert_snapshot!(notices.join("\n"));
}

proptest::proptest! {
    #[test]
    fn no_bytes_panic(bytes: Vec<u8>, line in r#"[\[\]{}",:;a-z0-9 \-TZ./]{0,60}"#) {
        let _ = read_traffic("in", &bytes[..], &options(None));
        let _ = read_traffic("in", line.as_bytes(), &options(Some("2")));
        let counts = TrafficOptions { format: Some(TrafficFormat::Counts), ..options(None) };
        let _ = read_traffic("in", line.as_bytes(), &counts);
    }
}
