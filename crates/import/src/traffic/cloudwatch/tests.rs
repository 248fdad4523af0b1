use crate::{Duplicates, TrafficOptions, TrafficReader, read_traffic};
use std::time::Duration;

fn told(text: &str, options: &TrafficOptions) -> String {
    match read_traffic("m.json", text.as_bytes(), options) {
        Ok((traffic, notices)) => {
            let start = traffic.start.map_or_else(String::new, crate::traffic::notice::shown_time);
            let notices: String = notices.iter().map(|notice| format!("\n  {notice}")).collect();
            format!("{start} {:?} {:?}{notices}", traffic.bin, traffic.counts)
        }
        Err(errors) => errors.iter().map(|error| format!("error: {error}")).collect::<Vec<_>>().join("\n"),
    }
}

/// As the AWS CLI prints it: newest first.
fn data(results: &str, rest: &str) -> String {
    format!("{{\n    \"MetricDataResults\": [{results}],\n    \"Messages\": []{rest}\n}}\n")
}

fn result(id: &str, label: &str, minutes: &[(u32, f64)]) -> String {
    let stamps: Vec<_> =
        minutes.iter().map(|(minute, _)| format!("\"2026-03-01T12:{minute:02}:00+00:00\"")).collect();
    let values: Vec<_> = minutes.iter().map(|(_, value)| format!("{value:?}")).collect();
    format!(
        r#"{{"Id": "{id}", "Label": "{label}", "Timestamps": [{}], "Values": [{}], "StatusCode": "Complete"}}"#,
        stamps.join(", "),
        values.join(", ")
    )
}

#[test]
fn metric_data_is_read_in_any_order_and_pages() {
    let one = data(&result("m1", "RequestCount", &[(3, 4.0), (1, 2.0), (2, 3.0)]), "");
    let page = data(&result("m1", "RequestCount", &[(3, 4.0), (2, 3.0)]), r#", "NextToken": "abc""#);
    let last = data(&result("m1", "RequestCount", &[(2, 3.0), (1, 2.0)]), "");
    let partial = page.replace("Complete", "PartialData");
    let array = format!("[{partial},{last}]");
    let wire = one.replace("\"2026-03-01T12:01:00+00:00\"", "1772366460.0");
    for text in [&one, &format!("{partial}{last}"), &array, &wire] {
        let got = told(text, &TrafficOptions::default());
        assert!(got.starts_with("2026-03-01T12:01:00Z 60s [2, 3, 4]"), "{got}");
    }
    let other = data(&result("m1", "RequestCount", &[(2, 30.0), (1, 2.0)]), "");
    insta::assert_snapshot!(
        [
            told(&format!("{partial}{last}"), &TrafficOptions::default()),
            told(&page, &TrafficOptions::default()),
            told(&partial.replace(r#""abc""#, "null"), &TrafficOptions::default()),
            told(&format!("{page}{other}"), &TrafficOptions::default()),
            told(
                &format!("{page}{other}"),
                &TrafficOptions { duplicates: Duplicates::Last, ..TrafficOptions::default() }
            ),
            told(
                &one.replace(
                    "\"Messages\": []",
                    r#""Messages": [{"Code": "MaxMetricsExceeded", "Value": "too many"}]"#
                ),
                &TrafficOptions::default()
            ),
        ]
        .join("\n")
    );
}

#[test]
fn balancers_in_files_of_their_own_are_added_where_it_is_said() {
    let of = |second: f64| data(&result("m1", "RequestCount", &[(1, 2.0), (2, second)]), "");
    let read = |duplicates, second: f64| {
        let mut reader = TrafficReader::new(TrafficOptions { duplicates, ..TrafficOptions::default() });
        reader.add("a.json", of(3.0).as_bytes());
        reader.add("b.json", of(second).as_bytes());
        reader.finish().ok().map(|(traffic, _)| traffic.counts)
    };
    assert_eq!(read(Duplicates::Add, 4.0), Some(vec![4, 7]));
    assert_eq!(read(Duplicates::Refuse, 4.0), None);
    // Pages that overlap.
    assert_eq!(read(Duplicates::Refuse, 3.0), Some(vec![2, 3]));
}

#[test]
fn one_of_several_results_is_chosen_by_id_or_label() {
    let text = data(
        &[
            result("m1", "app/shop RequestCount", &[(1, 2.0), (2, 3.0)]),
            result("m2", "app/api RequestCount", &[(1, 5.0), (2, 6.0)]),
        ]
        .join(","),
        "",
    );
    let pick = |name: &str| TrafficOptions { pick: Some(name.to_owned()), ..TrafficOptions::default() };
    insta::assert_snapshot!(
        [
            told(&text, &TrafficOptions::default()),
            told(&text, &pick("m2")),
            told(&text, &pick("app/shop RequestCount")),
            told(&text, &pick("m3")),
        ]
        .join("\n")
    );
}

/// The shape of the CLI's own example, and the output of other requests.
#[test]
fn metric_statistics_are_read_and_other_units_refused() {
    let points = |points: &str| format!("{{\"Datapoints\": [{points}], \"Label\": \"RequestCount\"}}");
    let good = points(
        r#"{"Timestamp": "2026-03-01T12:05:00Z", "Sum": 44.0, "Unit": "Count"},
           {"Timestamp": "2026-03-01T12:00:00Z", "Sum": 56.0, "Unit": "Count"},
           {"Timestamp": "2026-03-01T12:15:00Z", "Sum": 7.0, "Unit": "Count"},
           {"Timestamp": "2026-03-01T12:20:00Z", "Sum": 8.0, "Unit": "Count"}"#,
    );
    let hour = TrafficOptions { bin: Some(Duration::from_secs(600)), ..TrafficOptions::default() };
    insta::assert_snapshot!(
        [
            told(&good, &TrafficOptions::default()),
            told(&good, &hour),
            told(&good.replace("Sum", "Average"), &TrafficOptions::default()),
            told(&good.replace("\"Count\"", "\"Count/Second\""), &TrafficOptions::default()),
            told(&good.replace("RequestCount\"", "TargetResponseTime\""), &TrafficOptions::default()),
            told(&good.replace("RequestCount\"", "RequestCountPerTarget\""), &TrafficOptions::default()),
            told(&good.replace("44.0", "-1"), &TrafficOptions::default()),
            told(&good.replace("2026-03-01T12:05:00Z", "noon"), &TrafficOptions::default()),
            told(&points(""), &TrafficOptions::default()),
            told(&good[..good.len() - 1], &TrafficOptions::default()),
            told(r#"{"MetricAlarms": []}"#, &TrafficOptions::default()),
            told("[1]", &TrafficOptions::default()),
        ]
        .join("\n")
    );
}
