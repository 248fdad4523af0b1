use super::*;
use proptest::prelude::*;
use std::fmt::Write as _;

const START: i64 = 1_772_366_400_000_000;

fn read(text: &str, options: &TrafficOptions) -> Result<(Traffic, Vec<String>), Vec<String>> {
    match read_traffic("in", text.as_bytes(), options) {
        Ok((traffic, notices)) => Ok((traffic, notices.iter().map(ToString::to_string).collect())),
        Err(errors) => Err(errors.iter().map(ToString::to_string).collect()),
    }
}

fn plain(text: &str) -> Result<(Traffic, Vec<String>), Vec<String>> {
    read(text, &TrafficOptions::default())
}

fn minutes(counts: &[u64]) -> Traffic {
    Traffic { start: Some(START), bin: MINUTE, counts: counts.to_vec() }
}

/// The result of reading, for a test: counts and notices, or errors.
fn told(result: Result<(Traffic, Vec<String>), Vec<String>>) -> String {
    match result {
        Ok((traffic, notices)) => {
            let start = traffic.start.map_or("-".to_owned(), crate::traffic::notice::shown_time);
            format!("{start} {:?} {:?}\n  {}", traffic.bin, traffic.counts, notices.join("\n  "))
        }
        Err(errors) => format!("error: {}", errors.join("\nerror: ")),
    }
}

#[test]
fn reads_tables_as_people_have_them() {
    for text in [
        "minute_utc,requests\n2026-03-01 12:00:00,2\n2026-03-01 12:01:00,11\n2026-03-01 12:02:00,16\n",
        "2026-03-01T12:00:00Z,2\r\n2026-03-01T12:01:00Z,11\r\n2026-03-01T13:02:00+01:00,16",
        "time\tcount\n1772366400\t2\n1772366460\t11\n1772366520\t16\n",
        "29539440,2\n29539441,11\n29539442,16\n",
    ] {
        assert_eq!(plain(text), Ok((minutes(&[2, 11, 16]), vec![])), "{text}");
    }
}

/// The first and the last rows of the public traces' forms.
#[test]
fn reads_public_traces() {
    let hourly = TrafficOptions { bin: Some(Duration::from_secs(3_600)), ..TrafficOptions::default() };
    insta::assert_snapshot!([
        told(plain("minute_utc,requests\n1998-04-30 21:30:00,2\n1998-04-30 21:31:00,11\n1998-04-30 21:33:00,7\n")),
        told(plain("timestamp,value\n2014-04-10 00:04:00,94.0\n2014-04-10 00:09:00,56.0\n2014-04-10 00:14:00,187.0\n2014-04-10 00:24:00,95.0\n")),
        told(plain("226166\n1796940\n1733697\n")),
        told(read("226166\n1796940\n1733697\n", &hourly)),
        told(read("226166\n1796940\n1733697\n", &TrafficOptions { start: Some(START), ..hourly })),
    ]
    .join("\n"));
}

#[test]
fn what_is_odd_in_a_table_is_told() {
    let header = "time,requests\n";
    let row = |minute: u32, count: u32| format!("2026-03-01T12:{minute:02}:00Z,{count}\n");
    let rows = |rows: &[(u32, u32)]| {
        header.to_owned() + &rows.iter().map(|(minute, count)| row(*minute, *count)).collect::<String>()
    };
    let tables = [
        ("sorted", rows(&[(2, 3), (0, 1), (1, 2)])),
        ("newest first", rows(&[(2, 3), (1, 2), (0, 1)])),
        ("gaps", rows(&[(0, 1), (1, 2), (5, 3), (6, 1), (8, 1)])),
        ("duplicates", rows(&[(0, 1), (1, 2), (1, 3), (2, 3), (2, 3)])),
        ("between", rows(&[(0, 1), (1, 2), (2, 4)]) + "2026-03-01T12:02:30Z,3\n2026-03-01T12:03:00Z,3\n"),
        ("no zone", "time,requests\n2026-03-01 12:00:00,2\n2026-03-01 12:01:00,11\n".to_owned()),
        ("a rate", "time,rps\n2026-03-01T12:00Z,2.5\n2026-03-01T12:01Z,0.5\n".to_owned()),
        (
            "a rate in words",
            "time,requests per second\n2026-03-01T12:00Z,2.5\n2026-03-01T12:05Z,0.5\n".to_owned(),
        ),
        ("another unit", "time,latency_ms\n2026-03-01T12:00Z,2.5\n2026-03-01T12:05Z,0.5\n".to_owned()),
        ("an unknown name", "time,thing\n2026-03-01T12:00Z,2\n2026-03-01T12:01Z,1\n".to_owned()),
        ("many columns", "time,shop,api\n2026-03-01T12:00Z,2,3\n2026-03-01T12:01Z,1,3\n".to_owned()),
        ("broken rows", rows(&[(0, 1), (1, 2)]) + "2026-03-01T12:02:00Z,many\nyesterday,2\n"),
        (
            "more cells than names",
            "time,requests\n2026-03-01T12:00Z,1,200\n2026-03-01T12:01Z,2,\n".to_owned(),
        ),
        ("far away", rows(&[(0, 1), (1, 2)]) + "1970-01-01T00:00:00Z,3\n"),
        ("one row", rows(&[(0, 1)])),
        ("none", header.to_owned()),
        ("empty", String::new()),
        ("text", "hello\nworld\n".to_owned()),
    ];
    let shown = tables.map(|(name, text)| format!("{name}: {}", told(plain(&text))));
    insta::assert_snapshot!(shown.join("\n"));
}

#[test]
fn the_caller_says_what_becomes_of_gaps_and_duplicates() {
    let text = "time,requests\n2026-03-01T12:00Z,10\n2026-03-01T12:01Z,20\n2026-03-01T12:01Z,4\n2026-03-01T12:02Z,10\n2026-03-01T12:03Z,10\n2026-03-01T12:06Z,40\n";
    for (gaps, duplicates, want) in [
        (Gaps::Zero, Duplicates::Add, Some([10, 24, 10, 10, 0, 0, 40])),
        (Gaps::Hold, Duplicates::First, Some([10, 20, 10, 10, 10, 10, 40])),
        (Gaps::Interpolate, Duplicates::Last, Some([10, 4, 10, 10, 20, 30, 40])),
        (Gaps::Refuse, Duplicates::Last, None),
        (Gaps::Zero, Duplicates::Refuse, None),
    ] {
        let got = read(text, &TrafficOptions { gaps, duplicates, ..TrafficOptions::default() });
        let counts = got.ok().map(|(traffic, notices)| {
            assert_eq!(notices.len(), 2, "{notices:?}");
            traffic.counts
        });
        assert_eq!(counts, want.map(|counts| counts.to_vec()), "{gaps:?} {duplicates:?}");
    }
}

/// A night of ten-minute rows on the wall clock of Berlin.
fn berlin(day: &str, times: &[(u32, u32)]) -> String {
    let mut text = "time,requests\n".to_owned();
    for (index, (hour, minute)) in times.iter().enumerate() {
        let _ = writeln!(text, "{day} {hour:02}:{minute:02}:00,{}", index + 1);
    }
    text
}

#[test]
fn local_times_over_a_change_of_the_clock_are_right_in_their_zone_and_told_without_it() {
    let tens = |hour: u32| (0..6).map(move |ten| (hour, 10 * ten));
    let autumn: Vec<_> = tens(1).chain(tens(2)).chain(tens(2)).chain(tens(3)).collect();
    let autumn = berlin("2026-10-25", &autumn);
    let spring = berlin("2026-03-29", &tens(1).chain(tens(3)).collect::<Vec<_>>());
    let never = berlin("2026-03-29", &tens(1).chain(tens(2)).collect::<Vec<_>>());
    let local = TrafficOptions { time_zone: Some("Europe/Berlin".to_owned()), ..TrafficOptions::default() };
    let (traffic, _) = read(&autumn, &local).unwrap();
    assert_eq!(traffic.counts, (1..=24).collect::<Vec<u64>>());
    // Newest first.
    let mut backwards: Vec<_> = autumn.lines().skip(1).collect();
    backwards.reverse();
    let (traffic, _) = read(&format!("time,requests\n{}\n", backwards.join("\n")), &local).unwrap();
    assert_eq!(traffic.counts, (1..=24).collect::<Vec<u64>>());
    let hourly = berlin("2026-10-25", &[(0, 0), (1, 0), (2, 0), (2, 0), (3, 0)]);
    assert_eq!(read(&hourly, &local).unwrap().0.counts, [1, 2, 3, 4, 5]);
    let (traffic, _) = read(&spring, &local).unwrap();
    assert_eq!(traffic.counts, (1..=12).collect::<Vec<u64>>());
    insta::assert_snapshot!(
        [
            told(read(&autumn, &local)),
            told(plain(&autumn)),
            told(plain(&spring)),
            told(read(&never, &local)),
            told(read(&spring.replace("time,", "time_utc,"), &local)),
            told(read(&spring, &TrafficOptions { time_zone: Some("Berlin".to_owned()), ..local })),
        ]
        .join("\n")
    );
}

#[test]
fn rows_are_brought_to_wider_bins() {
    let text: String = (0..13).map(|row| format!("2026-03-01T12:{:02}:00Z,{}\n", 4 + row, row)).collect();
    let bin =
        |seconds| TrafficOptions { bin: Some(Duration::from_secs(seconds)), ..TrafficOptions::default() };
    insta::assert_snapshot!(
        [300, 90, 30, 3_600, 0].map(|seconds| told(read(&text, &bin(seconds)))).join("\n")
    );
}

#[test]
fn what_is_written_is_read_again_without_any_option() {
    for traffic in [
        minutes(&[1, 0, 0, 5]),
        minutes(&[7]),
        Traffic { start: None, bin: Duration::from_secs(3_600), counts: vec![3, 4] },
        Traffic { start: Some(START + 17), bin: Duration::from_millis(250), counts: vec![3, 4] },
    ] {
        let mut text = Vec::new();
        crate::write_traffic(&traffic, &mut text).unwrap();
        let (read, notices) = plain(std::str::from_utf8(&text).unwrap()).unwrap();
        assert_eq!((read, notices), (traffic, vec![]));
    }
}

#[test]
fn kinds_are_not_mixed() {
    let mut reader = TrafficReader::new(TrafficOptions::default());
    reader.add("a.csv", &b"2026-03-01T12:00Z,1\n2026-03-01T12:01Z,1\n"[..]);
    reader
        .add("b.log", &br#"192.0.2.7 - ann [10/Oct/2000:13:55:36 -0700] "GET /a?b=1 HTTP/1.1" 200 2326"#[..]);
    reader.add_file(Path::new("does/not/exist"));
    let errors: Vec<_> = reader.finish().unwrap_err().iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(errors.join("\n"));
    let together = |second: &str| {
        let mut reader = TrafficReader::new(TrafficOptions::default());
        reader.add("a.csv", &b"2026-03-01T12:00Z,1\n2026-03-01T12:01Z,1\n"[..]);
        reader.add("b.csv", second.as_bytes());
        reader.finish().unwrap_err()[0].to_string()
    };
    insta::assert_snapshot!(
        together("2026-03-01T12:02Z,1\n2026-03-01T12:07Z,1\n") + "\n" + &together("5\n6\n")
    );
}

#[test]
fn formats_have_names() {
    for format in TrafficFormat::ALL {
        assert_eq!(format.name().parse(), Ok(format));
    }
    assert_eq!(
        "tabel".parse::<TrafficFormat>().unwrap_err(),
        "there is no traffic format `tabel`; there are table, counts, events, cloudwatch, prometheus, alb, nginx, apache, capture"
    );
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes: Vec<u8>) {
        let _ = read_traffic("in", &bytes[..], &TrafficOptions::default());
    }

    /// Some minutes of a day are missing, and rows are in any order.
    #[test]
    fn a_table_in_any_order_is_what_counting_by_hand_gives(
        rows in prop::collection::btree_map(0_i64..1_440, 0_u64..1_000, 3..200),
        seed: u64,
    ) {
        let mut lines: Vec<_> = rows.iter().map(|(minute, count)| (*minute, *count)).collect();
        lines.sort_by_key(|(minute, _)| minute.wrapping_mul(0x9E37_79B9).rotate_left(seed as u32 % 64));
        let mut text = "time,requests\n".to_owned();
        for (minute, count) in &lines {
            let _ = writeln!(text, "{},{count}", START / 1_000_000 + 60 * minute);
        }
        let row = Some(MINUTE);
        let (traffic, _) = read(&text, &TrafficOptions { row, ..TrafficOptions::default() }).unwrap();
        let first = *rows.keys().next().unwrap();
        prop_assert_eq!(traffic.start, Some(START + 60_000_000 * first));
        prop_assert_eq!(traffic.counts.iter().sum::<u64>(), rows.values().sum::<u64>());
        for (index, count) in traffic.counts.iter().enumerate() {
            prop_assert_eq!(*count, rows.get(&(first + index as i64)).copied().unwrap_or(0));
        }
    }

    #[test]
    fn no_json_panics(text in r#"[\[\]{}",:a-z0-9]{0,60}"#) {
        let options = TrafficOptions { format: Some(TrafficFormat::CloudWatch), ..TrafficOptions::default() };
        let _ = read_traffic("in", text.as_bytes(), &options);
    }
}
