//! The output of a run beside its summary: exit codes, stages, files, recorded metrics, remote write.

use crate::disturbance::again_if_disturbed;
use crate::programs::{
    Server, free_address, free_addresses, headroom, json, judged, load, measured, refused, summary, text,
};
use crate::service::{self, Answer};
use serde_json::Value;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

fn url() -> String {
    format!("http://{}/", service::start(Answer::Ok))
}

#[test]
fn thresholds_decide_the_exit_code() {
    let url = url();
    let run = |flags: &[&str]| load(&url, &[&["-c", "2", "-n", "2k"], flags].concat());
    let met = run(&["--threshold", "p(95)<10s", "--threshold", "http_req_failed: rate<1%"]);
    judged(&met, 0);
    assert_eq!(text(&met.stdout).matches(": met, ").count(), 2, "{}", text(&met.stdout));
    let missed = run(&["--slo", "p(95)<1us", "--threshold", "http_reqs: count>1000", "--json"]);
    judged(&missed, 99);
    let thresholds = measured(&missed)["thresholds"].clone();
    assert_eq!((&thresholds[0]["met"], &thresholds[1]["met"]), (&false.into(), &true.into()), "{thresholds}");
    assert_eq!(thresholds[0]["threshold"], "response_time: p(95)<1µs");
}

#[test]
fn a_missed_threshold_can_end_the_run() {
    let begun = Instant::now();
    let flags =
        ["-r", "200/s", "-d", "60s", "--threshold", "p(50)<1us", "--abort-on-fail", "--delay-abort", "1s"];
    let output = load(&url(), &flags);
    judged(&output, 99);
    let took = begun.elapsed();
    assert!(took > Duration::from_secs(1) && took < Duration::from_secs(20), "{took:?}");
    let said = text(&output.stdout);
    assert!(said.contains("ended because a threshold was missed (planned: 60.0 s)"), "{said}");
}

#[test]
fn stages_have_their_own_numbers_and_no_common_quantile() {
    let directory = tempfile::tempdir().unwrap();
    let page = directory.path().join("summary.md");
    let page_path = page.display().to_string();
    let flags = ["--stage", "1s:100/s", "--stage", "1s:..300/s", "--stage", "1s:300/s"];
    let url = url();
    let output = load(&url, &[&flags[..], &["--markdown", &page_path]].concat());
    let said = summary(&output);
    let rows: Vec<Vec<&str>> = said
        .lines()
        .filter(|line| line.starts_with("1s:"))
        .map(|line| line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect())
        .collect();
    assert_eq!(
        rows.iter().map(|row| row[0]).collect::<Vec<_>>(),
        ["1s:100/s", "1s:..300/s", "1s:300/s"],
        "{said}"
    );
    assert!(rows[0][3].ends_with('s') && rows[2][3].ends_with('s'), "the median of what was held: {said}");
    assert_eq!(rows[1][3..6], ["-"; 3], "no quantile over a ramp: {said}");
    assert!(
        said.contains("quantiles over stages with different loads are not meaningful")
            && !said.contains("p99.9"),
        "{said}"
    );
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("| stage |") && !page.contains("| p95 | response"), "{page}");
    assert!(!page.contains("95 % interval |") && page.contains("different loads"), "{page}");

    let run = json(&load(&url, &[&flags[..], &["--json"]].concat()));
    for times in ["response_time_ms", "service_time_ms", "dispatch_delay_ms"] {
        assert_eq!((&run[times]["p50"], &run[times]["max"]), (&Value::Null, &Value::Null), "{times}");
    }
    let counts = run["stages"].as_array().unwrap().iter().map(|stage| &stage["accounting"]["scheduled"]);
    assert_eq!(counts.collect::<Vec<_>>(), [&100.into(), &200.into(), &300.into()] as [&Value; 3]);
    assert!(run["stages"][2]["response_time_ms"]["p50"].is_number());
    assert_eq!(run["stages"][1]["response_time_ms"]["p50"], Value::Null, "no quantile over a ramp");
}

#[test]
fn users_in_stages_are_read_as_users_bound_or_queue_bound() {
    again_if_disturbed(|| {
        // Two at a time: the third user waits.
        let output = load(&url(), &["--stage", "1s:1", "--stage", "1s:2", "--think", "20ms"]);
        let said = summary(&output);
        assert!(said.contains("1s:1 → 1s:2: ") && said.contains("users-bound: more users"), "{said}");
    });
}

#[test]
fn the_warm_up_is_left_out() {
    let run = json(&load(&url(), &["-r", "200/s", "-d", "2s", "--warm-up", "1s", "--json"]));
    assert_eq!((&run["accounting"]["scheduled"], &run["elapsed_s"]), (&200.into(), &1.0.into()));
    assert_eq!(run["response_time_ms"]["count"], 200);
    let stages: Vec<_> = run["stages"].as_array().unwrap().iter().map(|stage| &stage["warm_up"]).collect();
    assert_eq!(stages, [&Value::Bool(true), &Value::Bool(false)]);
    let output = load("http://127.0.0.1:1/", &["-d", "2s", "--warm-up", "2s"]);
    assert!(refused(&output).contains("takes the whole run"), "{}", refused(&output));
}

#[test]
fn files_hold_the_run_in_the_forms_of_others() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).display().to_string();
    let [csv, hlog, hgrm, markdown, report] =
        ["run.csv", "run.hlog", "run.hgrm", "run.md", "run.html"].map(path);
    let files =
        ["--csv", &csv, "--hlog", &hlog, "--hgrm", &hgrm, "--markdown", &markdown, "--report", &report];
    let output = load(&url(), &[&["-r", "400/s", "-d", "2s", "--json"], &files[..]].concat());
    let run = json(&output);
    let [csv, hlog, hgrm, markdown, report] =
        [csv, hlog, hgrm, markdown, report].map(|file| std::fs::read_to_string(file).unwrap());

    let table: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    let column = |name: &str| table[0].iter().position(|heading| *heading == name).unwrap();
    assert!(table.iter().all(|row| row.len() == table[0].len()), "{csv}");
    let all = table.iter().filter(|row| row[column("endpoint")] == "all");
    let answered: u64 = all.map(|row| row[column("answered")].parse::<u64>().unwrap()).sum();
    assert_eq!(answered, 800, "{csv}");

    let intervals: Vec<&str> = hlog.lines().filter(|line| line.contains("HISTFAAA")).collect();
    assert_eq!(intervals.len(), 2, "{hlog}");
    for (second, line) in intervals.iter().enumerate() {
        let cells: Vec<&str> = line.split(',').collect();
        assert_eq!((cells.len(), cells[0].parse::<f64>()), (4, Ok(second as f64)), "{line}");
    }

    let rows = hgrm.lines().filter(|line| !line.starts_with('#')).filter_map(|line| {
        let cells: Vec<f64> = line.split_whitespace().map_while(|cell| cell.parse().ok()).collect();
        <[f64; 3]>::try_from(cells.get(..3)?).ok()
    });
    let rows: Vec<[f64; 3]> = rows.collect();
    assert!(rows.is_sorted_by(|a, b| a[0] <= b[0] && a[1] <= b[1] && a[2] <= b[2]), "{hgrm}");
    let median = rows.iter().find(|row| row[1] >= 0.5).unwrap()[0];
    // The table steps in percentiles, and the histogram keeps three digits.
    let told = run["response_time_ms"]["p50"].as_f64().unwrap();
    assert!((median - told).abs() <= 0.01 * told + 0.002, "{median} {told}\n{hgrm}");
    assert_eq!(rows.last().unwrap()[2], 800.0, "{hgrm}");

    for part in ["### headroom load", "| 800 | 800 | 0 | 0 | 0 | 0 | 0 |", "| p95 |"] {
        assert!(markdown.contains(part), "{part}\n{markdown}");
    }
    for part in ["800 requests were scheduled", "good: ", "<title>Quantiles of the response time</title>"] {
        assert!(report.contains(part), "{part}\n{report}");
    }
    assert!(!report.contains("<script") && !report.contains("src="), "one file that needs nothing else");
}

#[test]
fn metrics_of_the_service_are_watched_beside_the_run() {
    let asked = AtomicU64::new(0);
    let metrics = service::respond(move |_, _| {
        let asked = asked.fetch_add(1, Ordering::Relaxed);
        format!(
            "# TYPE pool_busy gauge\npool_busy 7\n# TYPE jobs_total counter\njobs_total {}\n",
            1_000 * asked
        )
    });
    let sources =
        [format!("http://{metrics}/metrics#pool_busy"), format!("http://{metrics}/metrics#missing")];
    let watching = ["--watch-metrics", &sources[0], "--watch-metrics", &sources[1], "--watch-every", "200ms"];
    let flags = [&["-r", "100/s", "-d", "2s"], &watching[..]].concat();
    let url = url();
    let run = json(&load(&url, &[&flags[..], &["--json"]].concat()));
    let [busy, missing] = [&run["watched"][0], &run["watched"][1]];
    assert_eq!((&busy["name"], &busy["reading"]), (&"pool_busy".into(), &"value".into()), "{busy:#}");
    assert_eq!((&busy["summary"]["min"], &busy["summary"]["max"]), (&7.0.into(), &7.0.into()), "{busy:#}");
    let times: Vec<f64> =
        busy["samples"].as_array().unwrap().iter().map(|sample| sample[0].as_f64().unwrap()).collect();
    assert!(
        times.len() >= 5 && times.is_sorted() && times.iter().all(|at| (0.0..4.0).contains(at)),
        "{times:?}"
    );
    assert_eq!(missing["summary"], Value::Null, "{missing:#}");
    assert!(missing["gaps"]["absent"].as_u64() > Some(0), "{missing:#}");
    let output = load(&url, &flags);
    assert!(
        summary(&output).contains("watched    pool_busy: min 7, mean 7, max 7, last 7"),
        "{}",
        summary(&output)
    );
}

#[test]
fn the_gateways_own_metrics_can_be_watched() {
    let upstream = service::start(Answer::Ok);
    let [listen, admin] = free_addresses();
    let [to, listen_text, admin_text] = [upstream, listen, admin].map(|address| address.to_string());
    let gateway = headroom(&["gateway", "--to", &to, "--listen", &listen_text, "--admin", &admin_text]);
    let _gateway = Server::start(gateway, admin);
    let [total, open] = ["headroom_requests_total", "headroom_connections_open"]
        .map(|name| format!("http://{admin}/metrics#{name}"));
    let sources = ["--watch-metrics", &total, "--watch-metrics", &open, "--watch-every", "500ms"];
    let flags = [&["-r", "100/s", "-d", "3s", "--json"], &sources[..]].concat();
    let run = json(&load(&format!("http://{listen}/"), &flags));
    assert_eq!(run["status"], serde_json::json!({ "200": 300 }));
    let [total, open] = [&run["watched"][0], &run["watched"][1]];
    // What the gateway says it answered grows as fast as we ask.
    assert_eq!(total["reading"], "per_second", "{total:#}");
    let highest = total["summary"]["max"].as_f64();
    assert!(highest > Some(80.0) && highest < Some(160.0), "{total:#}");
    assert!(open["summary"]["max"].as_f64() >= Some(1.0), "{open:#}");
}

#[test]
fn a_run_is_sent_to_a_prometheus_as_it_goes() {
    let received: Arc<Mutex<Vec<(String, usize)>>> = Arc::default();
    let kept = Arc::clone(&received);
    let receiver = service::respond(move |head, body| {
        kept.lock().unwrap().push((head.to_owned(), body.len()));
        String::new()
    });
    let write = format!("http://{receiver}/api/v1/write");
    let output = load(&url(), &["-r", "100/s", "-d", "3s", "--remote-write", &write, "--json"]);
    json(&output);
    assert!(!text(&output.stderr).contains("not accepted"), "{}", text(&output.stderr));
    let received = received.lock().unwrap();
    assert!(received.len() >= 2, "as it goes: {received:?}");
    for (head, length) in received.iter() {
        let fields = [
            "post /api/v1/write http/1.1",
            "content-encoding: snappy",
            "x-prometheus-remote-write-version: 0.1.0",
        ];
        assert!(fields.iter().all(|field| head.contains(field)) && *length > 100, "{head}");
    }
    // Nobody there: the run continues, and says what was lost.
    let nobody = format!("http://{}/api/v1/write", free_address());
    let output = load(&url(), &["-r", "100/s", "-d", "1s", "--remote-write", &nobody, "--json"]);
    assert_eq!(json(&output)["accounting"]["answered"], 100);
    assert!(text(&output.stderr).contains("were not accepted by --remote-write"), "{}", text(&output.stderr));
}

#[test]
fn files_are_checked_before_the_run_and_the_summary_is_printed_where_they_fail_after_it() {
    let service = url();
    let begun = Instant::now();
    let output = load(&service, &["-r", "10/s", "-d", "60s", "--csv", "/no/such/place/run.csv"]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("cannot write /no/such/place/run.csv"), "{}", text(&output.stderr));
    assert!(begun.elapsed() < Duration::from_secs(20), "it is said before the run");
    // A disk that is full after the run.
    let output = load(&service, &["-n", "100", "-c", "1", "--csv", "/dev/full"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("cannot write /dev/full"), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("answered 100"), "{}", text(&output.stdout));
}
