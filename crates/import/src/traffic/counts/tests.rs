use crate::{Gaps, Traffic, TrafficFormat, TrafficOptions, read_traffic};
use std::time::Duration;

const MINUTE: Duration = Duration::from_secs(60);

fn options() -> TrafficOptions {
    TrafficOptions { row: Some(MINUTE), ..TrafficOptions::default() }
}

fn read(text: &str, options: &TrafficOptions) -> Result<(Traffic, Vec<String>), String> {
    match read_traffic("in", text.as_bytes(), options) {
        Ok((traffic, notices)) => Ok((traffic, notices.iter().map(ToString::to_string).collect())),
        Err(errors) => Err(errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")),
    }
}

fn counts(text: &str) -> Result<Vec<u64>, String> {
    read(text, &options()).map(|(traffic, _)| traffic.counts)
}

#[test]
fn a_day_of_minutes_in_one_line_is_a_day_of_rows() {
    let day: Vec<u64> = (0..1_440).map(|minute| 100 + minute * 37 % 900).collect();
    let words: Vec<String> = day.iter().map(ToString::to_string).collect();
    for text in [
        words.join(","),
        words.join(",") + "\n",
        words.join(", ") + ",\r\n",
        words.join(";") + "\n",
        words.join("\t") + "\n",
        words.join(" ") + "\n",
        format!("[{}]\n", words.join(",")),
        format!("[\n  {}\n]\n", words.join(",\n  ")),
        format!("# made by hand\n\n{}\n", words.join(",")),
        format!("\u{feff}{}\n", words.join(",")),
        // Sixty a line, as people wrap them.
        words.chunks(60).map(|hour| hour.join(",") + "\n").collect(),
        words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(","),
    ] {
        let (traffic, notices) = read(&text, &options()).unwrap();
        assert_eq!(traffic, Traffic { start: None, bin: MINUTE, counts: day.clone() }, "{}", &text[..40]);
        assert!(notices.iter().any(|notice| notice.contains("1440 counts")), "{notices:?}");
    }
}

#[test]
fn a_line_of_any_length_is_read() {
    let year = vec!["1234"; 525_600].join(",");
    assert_eq!(counts(&year).unwrap().len(), 525_600);
}

#[test]
fn what_is_no_line_of_counts_is_refused_with_its_place_and_the_way_out() {
    let texts = [
        ("no width", "94,56,187\n", TrafficOptions::default()),
        ("a word", "94,56,many,3\n", TrafficOptions { format: Some(TrafficFormat::Counts), ..options() }),
        ("an empty cell", "94,56,187\n12,,3\n", options()),
        ("a negative one", "94,56,187\n-3,1,2\n", options()),
        (
            "pairs",
            "[[1772366400,94],[1772366460,56]]\n",
            TrafficOptions { format: Some(TrafficFormat::Counts), ..options() },
        ),
        ("two arrays", "[1,2,3]\n[4]\n", options()),
        ("an index", "0,94,3\n1,56,4\n2,187,1\n", options()),
        ("two numbers", "94,56\n", options()),
        ("a time and two columns", "1772366400,94,3\n1772366460,56,4\n", options()),
        ("a date and two columns", "2026-03-01T12:00Z,94,3\n2026-03-01T12:01Z,56,4\n", options()),
        ("a number with separators", "2026-03-01T12:00Z,94\n2026-03-01T12:01Z,1,056\n", options()),
    ];
    let shown = texts.map(|(name, text, options)| match read(text, &options) {
        Ok(read) => panic!("{name}: {read:?}"),
        Err(errors) => format!("{name}: {errors}"),
    });
    insta::assert_snapshot!(shown.join("\n"));
}

#[test]
fn a_column_without_a_name_is_chosen_by_its_number() {
    let text = "2026-03-01T12:00Z,94,3\n2026-03-01T12:01Z,56,4\n";
    let picked = |pick: &str| {
        let options = TrafficOptions { pick: Some(pick.to_owned()), ..TrafficOptions::default() };
        read(text, &options).map(|(traffic, _)| traffic.counts)
    };
    assert_eq!(picked("2"), Ok(vec![94, 56]));
    assert_eq!(picked("3"), Ok(vec![3, 4]));
    assert!(picked("4").unwrap_err().contains("`4`"), "{:?}", picked("4"));
    // Only one column can be a count.
    assert_eq!(counts("2026-03-01T12:00Z,eu,94\n2026-03-01T12:01Z,us,56\n"), Ok(vec![94, 56]));
}

#[test]
fn lines_that_only_look_like_an_index_can_be_said_to_be_counts() {
    let options = TrafficOptions { format: Some(TrafficFormat::Counts), gaps: Gaps::Refuse, ..options() };
    assert_eq!(read("0,94\n1,56\n", &options).unwrap().0.counts, [0, 94, 1, 56]);
}
