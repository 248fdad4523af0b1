//! `headroom forecast`: files with and without times, a case file, the backtest, and histories that are refused.

use crate::programs::{headroom, text};
use crate::schema::check;
use serde_json::Value;
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// Requests of each hour of three weeks, fewer at night and at weekends; no row for the 100th to 104th hour.
fn table() -> String {
    let mut table = "time,requests\n".to_owned();
    for hour in (0..24 * 21).filter(|hour| !(100..104).contains(hour)) {
        let (day, of_day) = (hour / 24, hour % 24);
        let weekend = if day % 7 < 5 { 10 } else { 5 };
        let requests = weekend * (if of_day < 8 { 720 } else { 3600 }) + (hour * 37) % 100;
        let _ = writeln!(table, "2026-03-{:02}T{of_day:02}:00:00Z,{requests}", day + 2);
    }
    table
}

fn run(folder: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = headroom(arguments).current_dir(folder).env("COLUMNS", "80").output().unwrap();
    (output.status.code(), text(&output.stdout).to_owned(), text(&output.stderr).to_owned())
}

#[test]
fn a_history_with_times_is_forecast_hour_by_hour() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("traffic.csv"), table()).unwrap();
    let (code, json, said) =
        run(folder.path(), &["forecast", "traffic.csv", "--json", "--backtest", "backtest.csv"]);
    assert_eq!(code, Some(0), "{said}");
    let json: Value = serde_json::from_str(&json).unwrap();
    let schema: Value = serde_json::from_str(documents::forecast::SCHEMA).unwrap();
    assert_eq!(check(&schema, &json), Vec::<String>::new());
    assert_eq!((&json["hours"], &json["missing_hours"]), (&Value::from(504), &Value::from(4)));
    let points = json["points"].as_array().unwrap();
    assert_eq!(points.len(), 48);
    assert_eq!(points[0]["at"], "2026-03-23T00:00:00Z");
    // A Monday: 2 requests a second at night, and 10 by day.
    let rate = |hour: usize| points[hour]["rate_per_second"].as_f64().unwrap();
    assert!((rate(3) - 2.0).abs() < 0.2 && (rate(12) - 10.0).abs() < 0.5, "{points:#?}");
    let backtest = fs::read_to_string(folder.path().join("backtest.csv")).unwrap();
    assert!(backtest.starts_with("known_hours,ahead_hours,expected,low,high,requests\n"), "{backtest}");
    let (code, summary, _) = run(folder.path(), &["forecast", "traffic.csv", "--hours", "12"]);
    assert_eq!(code, Some(0));
    for part in ["history", "4 hours of them not measured", "Backtest", "2026-03-23T11:00:00Z"] {
        assert!(summary.contains(part), "`{part}` is not in\n{summary}");
    }
    assert!(!summary.contains("2026-03-23T12:00:00Z"), "{summary}");
}

#[test]
fn counts_without_times_and_the_traffic_of_a_case_are_histories_too() {
    let folder = tempfile::tempdir().unwrap();
    let counts: Vec<String> = (0..72).map(|hour| (3600 * (1 + hour % 24)).to_string()).collect();
    fs::write(folder.path().join("hourly.txt"), counts.join("\n")).unwrap();
    let (code, json, said) = run(folder.path(), &["forecast", "hourly.txt", "--row", "1h", "--json"]);
    assert_eq!(code, Some(0), "{said}");
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["points"][0]["at"], "+1h");
    let case = "case: shop\nmeasured: 2d\ntraffic: { peak: 40/s, day: { '04:00': 20%, '12:00': 100% } }\nservices:\n  web:\n    \
                endpoints: { page: { cpu: 5ms } }\n    server: { threads: 8 }\n    hosts: { small: { cores: 1 } }\n";
    fs::write(folder.path().join("shop.yaml"), case).unwrap();
    let (code, json, said) = run(folder.path(), &["forecast", "shop.yaml", "--json"]);
    assert_eq!(code, Some(0), "{said}");
    let json: Value = serde_json::from_str(&json).unwrap();
    let schema: Value = serde_json::from_str(documents::forecast::SCHEMA).unwrap();
    assert_eq!(check(&schema, &json), Vec::<String>::new());
    let noon = json["points"][12]["rate_per_second"].as_f64().unwrap();
    assert!((30.0..45.0).contains(&noon), "{json:#}");
}

#[test]
fn histories_that_cannot_be_forecast_are_refused_with_a_way_out() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("short.txt"), "5\n6\n7\n").unwrap();
    fs::write(folder.path().join("days.txt"), "5\n6\n7\n").unwrap();
    let users = "case: a\ntraffic: { users: 5 }\nservices:\n  web:\n    endpoints: { r: { cpu: 1ms } }\n    server: {}\n    \
                 hosts: { h: { cores: 1 } }\n";
    fs::write(folder.path().join("users.yaml"), users).unwrap();
    for (arguments, part) in [
        (&["forecast", "short.txt", "--row", "1h"][..], "3.00 h of history: a forecast needs 24.0 h"),
        (&["forecast", "days.txt", "--row", "1d"], "needs rows of an hour or of a part of it"),
        (&["forecast", "users.yaml"], "the traffic of the case is users"),
        (&["forecast", "absent.csv"], "absent.csv"),
        (&["forecast", "short.txt", "--row", "1h", "--hours", "49"], "49"),
        (&["forecast", "short.txt", "--row", "1h", "--backtest", "no/such/file"], "no/such/file"),
    ] {
        let (code, out, said) = run(folder.path(), arguments);
        assert_eq!(code, Some(2), "{arguments:?}: {out}{said}");
        assert!(said.contains(part), "{arguments:?}: {said}");
    }
}
