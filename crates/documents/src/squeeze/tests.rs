use super::*;
use serde_json::json;

fn found() -> Squeeze {
    Squeeze {
        version: "0.1.0",
        name: "search".to_owned(),
        gateway: "127.0.0.1:9901".to_owned(),
        pool: "search".to_owned(),
        goal: "p(95)<100ms and failed<1 %".to_owned(),
        instances: 4,
        squeezed: vec!["127.0.0.1:9001".to_owned()],
        traffic_per_second: 240.0,
        median_ms: 18.4,
        per_instance: PerInstance { low: Some(112.0), high: Some(115.5), verified: true },
        ran_out_first: "processor",
        ran_out_sentence: ran_out_sentence(&RanOut::Cause(Cause::Processor), None),
        sizing: Some(Sizing {
            traffic: "week.csv".to_owned(),
            peak_per_second: 730.0,
            instances_needed: Some(7),
        }),
        completed: true,
        ended: "no more can be found out".to_owned(),
        restored: true,
        restored_seconds: Some(0.3),
        requests: Some(48_211),
        failed_requests: Some(0),
        seconds: 201.2,
        trials: vec![Tried {
            rate_per_second: 60.0,
            carried_per_second: 60.3,
            seconds: 2.3,
            verdict: "good",
            reason: "good, clearly: 0 of 138 requests (0.0 %) missed p(95)<100ms, 5.0 % may".to_owned(),
        }],
    }
}

#[test]
fn the_result_is_said_in_rows() {
    let lost = Squeeze {
        per_instance: PerInstance { low: Some(96.2), high: None, verified: false },
        ran_out_first: "unknown",
        ran_out_sentence: ran_out_sentence(&RanOut::Unknown, None),
        sizing: None,
        completed: false,
        ended: "the gateway could not be used any more".to_owned(),
        restored: false,
        restored_seconds: None,
        requests: None,
        failed_requests: None,
        ..found()
    };
    insta::assert_snapshot!(format!("{}\n{}", found().text(Terminal::PIPE), lost.text(Terminal::PIPE)));
}

#[test]
fn what_is_kept_is_read_back() {
    let kept = Kept::of(&found().json().to_string()).unwrap();
    assert_eq!((kept.low, kept.high, kept.verified), (Some(112.0), Some(115.5), true));
    assert_eq!(kept.ran_out, "processor: the instance uses all of its cores");
    assert_eq!(Kept::of("{}"), None);
    let nothing = Squeeze { per_instance: PerInstance { low: None, high: None, verified: false }, ..found() };
    assert_eq!(Kept::of(&nothing.json().to_string()).unwrap().low, None);
}

#[test]
fn the_schema_names_every_key() {
    let schema: serde_json::Value = serde_json::from_str(SCHEMA).unwrap();
    let document = found().json();
    let keys: Vec<&String> = document.as_object().unwrap().keys().collect();
    let mut named: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
    named.sort();
    assert_eq!(named, keys);
    assert_eq!(schema["required"].as_array().unwrap().len(), keys.len());
    let codes = schema["properties"]["ran_out_first"]["enum"].as_array().unwrap();
    let limited = [LimitedBy::ResponseTime, LimitedBy::Failures, LimitedBy::Both];
    let of = Cause::ALL.map(RanOut::Cause).into_iter().chain(limited.map(RanOut::Goal));
    for what in of.chain([RanOut::Nothing, RanOut::Unknown]) {
        assert!(codes.contains(&json!(ran_out(&what))), "{what:?}");
        assert!(!ran_out_sentence(&what, Some(2.0)).is_empty());
    }
}
