use super::*;
use proptest::prelude::*;

fn read(text: &str) -> (Vec<Row>, Vec<String>) {
    let mut rows = Vec::new();
    let mut errors = Vec::new();
    for row in Rows::new(text.as_bytes()) {
        match row {
            Ok(row) => rows.push(row),
            Err(error) => errors.push(error.to_string()),
        }
    }
    (rows, errors)
}

fn traffic(text: &str) -> Result<Traffic, TrafficError> {
    let (rows, errors) = read(text);
    assert_eq!(errors, [""; 0], "{text}");
    Traffic::from_rows(rows, None)
}

/// Three rows of a minute each, then the same with other spellings.
#[test]
fn reads_the_tables_that_people_have() {
    let start = 1_772_366_400_000_000;
    for text in [
        // The first rows' form of the World Cup trace.
        "minute_utc,requests\n2026-03-01 12:00:00,2\n2026-03-01 12:01:00,11\n2026-03-01 12:02:00,16\n",
        // Without names, with CRLF and without the last line break.
        "2026-03-01T12:00:00Z,2\r\n2026-03-01T12:01:00Z,11\r\n2026-03-01T12:02:00Z,16",
        // As CloudWatch and spreadsheets write it; with a mark and quotes.
        "\u{feff}\"timestamp\";\"value\"\n\"2026-03-01 12:00:00\";\"2.0\"\n\"2026-03-01 12:01:00\";11.0\n2026-03-01 12:02:00;16",
        "time\tcount\n1772366400\t2\n1772366460\t11\n1772366520\t16\n",
        "1772366400000,2\n1772366460000,11\n1772366520000,16\n",
        // Minutes since 1970.
        "29539440,2\n29539441,11\n29539442,16\n",
        // The count first, other columns beside, out of order.
        "requests,region,time\n11,eu,2026-03-01T12:01Z\n2,eu,2026-03-01T12:00Z\n16,eu,2026-03-01T12:02Z\n",
    ] {
        let got = traffic(text).unwrap();
        assert_eq!(got, Traffic { start: Some(start), bin: MINUTE, counts: vec![2, 11, 16] }, "{text}");
    }
}

#[test]
fn a_column_of_counts_has_the_width_that_the_caller_says() {
    let rows = read("226166\n1796940\n1733697\n").0;
    let hour = Duration::from_secs(3_600);
    let got = Traffic::from_rows(rows.clone(), Some(hour)).unwrap();
    assert_eq!(got, Traffic { start: None, bin: hour, counts: vec![226_166, 1_796_940, 1_733_697] });
    assert_eq!(Traffic::from_rows(rows, None).unwrap().bin, MINUTE);
    assert_eq!(traffic("requests\n5\n6\n").unwrap().counts, [5, 6]);
    assert_eq!(traffic("minute,count\n0,5\n1,6\n3,7\n").unwrap().counts, [5, 6, 0, 7]);
}

#[test]
fn rows_that_are_missing_count_zero_and_repeated_ones_are_added() {
    let text = "time,count\n2014-04-10 00:04:00,94.0\n2014-04-10 00:09:00,56.0\n2014-04-10 00:14:00,1\n2014-04-10 00:14:00,1\n2014-04-10 00:29:00,3\n";
    let got = traffic(text).unwrap();
    assert_eq!((got.bin, got.counts), (Duration::from_secs(300), vec![94, 56, 2, 0, 0, 3]));
}

#[test]
fn rows_that_make_no_traffic_are_told() {
    assert_eq!(traffic(""), Err(TrafficError::Empty));
    assert_eq!(traffic("2026-03-01T12:00:00Z,1\n"), Err(TrafficError::NoWidth));
    let long = traffic("1772366400.0,1\n1772366400.000001,1\n1972366400.0,1\n").unwrap_err();
    insta::assert_snapshot!(long);
    let rows = [Row { at: Moment::Index(0), count: 1 }, Row { at: Moment::Calendar(0), count: 1 }];
    assert_eq!(Traffic::from_rows(rows, None), Err(TrafficError::Mixed));
    assert_eq!(Traffic::from_rows([rows[0]], Some(Duration::ZERO)), Err(TrafficError::ZeroWidth));
}

#[test]
fn broken_rows_are_told_and_the_rest_is_used() {
    let text = "time,count\n2026-03-01 12:00:00,2\n2026-03-01 12:01:00,many\n2026-03-01 12:01:00,-4\n2026-03-01 12:02:00\nyesterday,3\n1772366520,3\n2026-03-01 12:02:00,\n2026-03-01 12:03:00,NaN\n2026-03-01 12:04:00,9";
    let (rows, errors) = read(text);
    assert_eq!(rows.len(), 2);
    insta::assert_snapshot!(errors.join("\n"));
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes: Vec<u8>) {
        let rows: Vec<_> = Rows::new(&bytes[..]).flatten().collect();
        let _ = Traffic::from_rows(rows, None);
    }

    #[test]
    fn every_request_is_counted_once(counts in prop::collection::vec(0_u64..1_000, 2..50)) {
        let rows = counts.iter().enumerate().map(|(n, count)| Row { at: Moment::Calendar(60_000_000 * n as i64), count: *count });
        prop_assert_eq!(Traffic::from_rows(rows, None).unwrap().counts, counts);
    }
}

#[test]
fn rows_whose_width_nothing_says_have_the_usual_one() {
    let minute = Some(Duration::from_secs(60));
    let read = |text: &str, usual_row| {
        let options = TrafficOptions { usual_row, ..Default::default() };
        read_traffic("t", text.as_bytes(), &options).map(|(traffic, _)| traffic.bin)
    };
    for text in ["5\n9\n", "time,count\n2026-03-01T12:00:00Z,5\n"] {
        assert_eq!(read(text, minute), Ok(Duration::from_secs(60)), "{text}");
        assert!(read(text, None).is_err(), "{text}");
    }
    let hours = "time,count\n2026-03-01T12:00:00Z,5\n2026-03-01T13:00:00Z,5\n";
    assert_eq!(read(hours, minute), Ok(Duration::from_secs(3_600)));
}
