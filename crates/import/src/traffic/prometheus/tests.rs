use crate::{Gaps, TrafficFormat, TrafficOptions, read_traffic};
use serde_json::{Value, json};
use std::time::Duration;

fn told(text: &str, options: &TrafficOptions) -> String {
    match read_traffic("q.json", text.as_bytes(), options) {
        Ok((traffic, notices)) => {
            let start = traffic.start.map_or_else(String::new, crate::traffic::notice::shown_time);
            let notices: String = notices.iter().map(|notice| format!("\n  {notice}")).collect();
            format!("{start} {:?} {:?}{notices}\n", traffic.bin, traffic.counts)
        }
        Err(errors) => errors.iter().map(|error| format!("error: {error}\n")).collect(),
    }
}

/// Values a minute apart, from 2026-03-01T12:01:00Z on.
fn series(labels: Value, values: &[&str]) -> Value {
    let values = values.iter().zip(0..).map(|(value, minute)| json!([1_772_366_460 + 60 * minute, value]));
    json!({ "metric": labels, "values": values.collect::<Vec<_>>() })
}

fn matrix(result: &[Value]) -> String {
    json!({ "status": "success", "data": { "resultType": "matrix", "result": result } }).to_string()
}

#[test]
fn a_rate_becomes_the_requests_of_the_step_before_its_time() {
    let text = matrix(&[series(json!({}), &["1", "0.5", "2"])]);
    let (traffic, _) = read_traffic("q.json", text.as_bytes(), &TrafficOptions::default()).unwrap();
    // 2026-03-01T12:00:00Z.
    assert_eq!(traffic.start, Some(1_772_366_400_000_000));
    assert_eq!((traffic.bin, traffic.counts), (Duration::from_secs(60), vec![60, 30, 120]));
}

/// The length of a queue is no rate, has any name, and may only grow.
#[test]
fn values_are_kept_in_thousandths_from_their_times_on() {
    let growing: Vec<String> = (0..12).map(|value| value.to_string()).collect();
    let growing: Vec<&str> = growing.iter().map(String::as_str).collect();
    let text = matrix(&[series(json!({ "__name__": "sqs_messages_total" }), &growing)]);
    let options = TrafficOptions { values: true, gaps: Gaps::Hold, ..TrafficOptions::default() };
    let (traffic, notices) = read_traffic("q.json", text.as_bytes(), &options).unwrap();
    assert!(notices.is_empty(), "{notices:?}");
    assert_eq!(traffic.start, Some(1_772_366_460_000_000));
    assert_eq!(traffic.counts[..3], [0, 1_000, 2_000]);
    assert!(read_traffic("q.json", text.as_bytes(), &TrafficOptions::default()).is_err());
    let gap = matrix(&[series(json!({}), &["1.5", "NaN", "0.25"])]);
    let (traffic, _) = read_traffic("q.json", gap.as_bytes(), &options).unwrap();
    assert_eq!(traffic.counts, [1_500, 1_500, 250]);
    let (table, _) = read_traffic(
        "q.csv",
        &b"time,depth\n2026-03-01T12:01:00Z,7\n2026-03-01T12:02:00Z,0.5\n"[..],
        &options,
    )
    .unwrap();
    assert_eq!(table.counts, [7_000, 500]);
}

#[test]
fn what_is_odd_in_a_range_is_told() {
    let of = |job: &str, values: &[&str]| series(json!({ "job": job }), values);
    let one = of("web", &["1", "NaN", "2", "3"]);
    let two = matrix(&[of("web", &["1", "NaN", "2"]), of("api", &["4", "5", "6"])]);
    let mut late = one.clone();
    late["values"][3][0] = json!(1_772_366_760);
    let pick = |wanted: &str| TrafficOptions { pick: Some(wanted.to_owned()), ..TrafficOptions::default() };
    let usual = TrafficOptions::default();
    let sum = TrafficOptions { sum: true, ..TrafficOptions::default() };
    let mut warned: Value = serde_json::from_str(&matrix(&[of("web", &["1", "2"])])).unwrap();
    warned["warnings"] = json!(["results truncated"]);
    insta::assert_snapshot!(
        [
            told(&matrix(&[one]), &usual),
            told(&matrix(&[late]), &usual),
            told(&two, &usual),
            told(&two, &sum),
            told(&two, &pick("job=\"api\"")),
            told(&two, &pick("{job=\"api\"}")),
            told(&two, &pick("job=mail")),
            told(&warned.to_string(), &usual),
            told(&matrix(&[of("web", &["1"])]), &usual),
            told(
                &matrix(&[of("web", &["1"])]),
                &TrafficOptions { row: Some(Duration::from_secs(30)), ..usual.clone() }
            ),
        ]
        .concat()
    );
}

#[test]
fn what_is_no_rate_is_refused_with_the_way_out() {
    let usual = TrafficOptions::default();
    let counts: Vec<String> = (0..12).map(|count| (count * 100).to_string()).collect();
    let counts: Vec<&str> = counts.iter().map(String::as_str).collect();
    let counter = matrix(&[series(json!({}), &counts)]);
    let named = |name: &str| matrix(&[series(json!({ "__name__": name }), &["1", "2"])]);
    insta::assert_snapshot!(
        [
            told(&named("http_requests_total"), &usual),
            told(&named("http_request_duration_seconds"), &usual),
            told(&counter, &usual),
            told(
                "time,requests\n2026-03-01T12:00Z,1\n2026-03-01T12:01Z,2\n",
                &TrafficOptions { sum: true, ..usual.clone() }
            ),
            told(&matrix(&[]), &usual),
            told(&matrix(&[series(json!({}), &["-1", "+Inf", "x"])]), &usual),
            told(&matrix(&[json!({ "metric": {}, "histograms": [] })]), &usual),
            told(
                &json!({ "status": "success", "data": { "resultType": "vector", "result": [] } }).to_string(),
                &usual
            ),
            told(
                &json!({ "status": "error", "errorType": "bad_data", "error": "parse error" }).to_string(),
                &usual
            ),
            told("{\"status\":\"success\",\"data\":{\"resultType\":\"matrix\",", &usual),
        ]
        .concat()
    );
    let rates = TrafficOptions { format: Some(TrafficFormat::Prometheus), ..usual };
    assert!(told(&counter, &rates).contains("[0, 6000, 12000,"));
}
