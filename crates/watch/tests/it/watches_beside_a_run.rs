use crate::fakes::start;
use measure::{Gap, Reading, Watched};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread::sleep;
use std::time::{Duration, Instant};
use units::Timestamp;
use watch::{Endpoint, Source, Watcher};

const EVERY: Duration = Duration::from_millis(100);

fn vector(value: &str) -> String {
    let result = format!(r#"[{{"metric":{{}},"value":[1435781451.781,"{value}"]}}]"#);
    format!(r#"{{"status":"success","data":{{"resultType":"vector","result":{result}}}}}"#)
}

fn prometheus(base: &str, queries: &[&str]) -> Source {
    let queries = queries.iter().map(|query| query.parse().unwrap()).collect();
    Source::prometheus(&Endpoint::new(base).unwrap(), queries)
}

/// Queries until each series has this many samples and gaps together.
fn watched(sources: Vec<Source>, samples: u64) -> Vec<Watched> {
    let begun = Instant::now();
    let watcher = Watcher::start(sources, EVERY, begun);
    let enough =
        |watched: &Watched| watched.missing() + watched.seen().map_or(0, |seen| seen.count) >= samples;
    while !watcher.so_far().iter().all(enough) {
        assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", watcher.so_far());
        sleep(Duration::from_millis(10));
    }
    watcher.stop()
}

#[test]
fn asks_a_prometheus_on_the_time_axis_of_the_run() {
    let fake = start(|_, request| {
        let value = if request.target.contains("up") { "3" } else { "0.25" };
        (200, vector(value))
    });
    let base = format!("http://me:secret@{}/prefix/", fake.address);
    let queries = [r#"healthy hosts=sum(up{job="a b"})"#, "cpu=rate(cpu[1m])"];
    let series = watched(vec![prometheus(&base, &queries)], 3);
    assert_eq!([&*series[0].name, &*series[1].name], ["healthy hosts", "cpu"]);
    assert!(series[0].samples.iter().all(|&(_, value)| value == 3.0));
    assert!(series[1].samples.iter().all(|&(_, value)| value == 0.25));
    assert!(series[0].samples.is_sorted_by(|one, two| one.0 < two.0));
    assert!(series[0].samples[0].0 < Timestamp::from_secs(5));
    assert_eq!(series[0].missing(), series[0].gaps.get(&Gap::Late).copied().unwrap_or(0));
    let asked = fake.asked.lock().unwrap();
    assert!(asked[0].target.starts_with("/prefix/api/v1/query?query=sum"), "{}", asked[0].target);
    assert!(!asked[0].target.contains([' ', '"', '{']), "{}", asked[0].target);
    assert_eq!(asked[0].header("authorization"), Some("Basic bWU6c2VjcmV0"));
}

#[test]
fn reads_what_the_target_says_of_itself() {
    let fake = start(|number, _| {
        let (count, sum) = (10 * number, 2 * number);
        let text = format!(
            "# TYPE requests_total counter\nrequests_total {count}\n# TYPE busy gauge\nbusy{{a=\"b\"}} 5\n\
             # TYPE took histogram\ntook_sum {sum}\ntook_count {count}\n"
        );
        (200, text)
    });
    let url = format!("http://{}/metrics#requests_total,busy{{a=\"b\"}},took,absent", fake.address);
    let series = watched(vec![Source::metrics(&url).unwrap()], 3);
    let [requests, busy, took, absent] = series.as_slice() else { panic!("{series:?}") };
    assert_eq!((requests.reading, busy.reading), (Reading::PerSecond, Reading::Value));
    // Ten more each tenth of a second, or later on a busy machine.
    let rate = requests.seen().unwrap();
    assert!(rate.min > 0.0 && rate.max < 10.0 / 0.05, "{rate:?}");
    assert_eq!((busy.name.as_str(), busy.seen().unwrap().mean), ("busy{a=\"b\"}", 5.0));
    assert_eq!(took.reading, Reading::Mean);
    assert!((took.seen().unwrap().mean - 0.2).abs() < 1e-9);
    assert_eq!((absent.seen(), absent.gaps.contains_key(&Gap::Absent)), (None, true));
}

#[test]
fn what_fails_is_a_gap_and_the_watch_goes_on() {
    let fake = start(|number, _| match number {
        0 => (200, vector("1")),
        1 => (503, "<html>".to_owned()),
        2 => (200, "garbage".to_owned()),
        _ => (200, vector("2")),
    });
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let sources = vec![
        prometheus(&format!("http://{}", fake.address), &["up"]),
        prometheus(&format!("http://{nobody}"), &["up"]),
    ];
    let series = watched(sources, 5);
    assert_eq!(series[0].gaps.get(&Gap::Refused), Some(&1));
    assert_eq!(series[0].gaps.get(&Gap::Unreadable), Some(&1));
    assert_eq!(series[0].first_gap.as_deref(), Some("status 503: no reason given"));
    assert_eq!((series[0].seen().unwrap().min, series[0].seen().unwrap().last), (1.0, 2.0));
    assert_eq!(series[1].seen(), None);
    assert!(series[1].gaps[&Gap::Unreachable] >= 4, "{:?}", series[1].gaps);
}

#[test]
fn a_source_that_does_not_answer_delays_neither_the_others_nor_the_end() {
    let silent = start(|_, _| {
        sleep(Duration::from_secs(60));
        (200, String::new())
    });
    let quick = start(|_, _| (200, vector("1")));
    let sources = [&silent, &quick].map(|fake| prometheus(&format!("http://{}", fake.address), &["up"]));
    let begun = Instant::now();
    let watcher = Watcher::start(sources.to_vec(), EVERY, begun);
    while watcher.so_far()[1].samples.len() < 5 {
        assert!(begun.elapsed() < Duration::from_secs(20));
        sleep(Duration::from_millis(10));
    }
    let stopping = Instant::now();
    let series = watcher.stop();
    assert!(stopping.elapsed() < Duration::from_millis(500), "{:?}", stopping.elapsed());
    assert_eq!(series[0].seen(), None);
}

#[test]
fn samples_that_were_due_while_an_answer_was_out_are_late() {
    let slow = start(|_, _| {
        sleep(Duration::from_millis(450));
        (200, vector("1"))
    });
    let series = watched(vec![prometheus(&format!("http://{}", slow.address), &["up"])], 8);
    assert!(series[0].gaps[&Gap::Late] >= 3, "{:?}", series[0]);
    assert!(series[0].seen().is_some());
}

#[test]
fn a_target_that_hangs_up_after_each_answer_leaves_no_gap() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/metrics#up", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            // It sends no `Connection: close`, like a server whose keep-alive has just expired.
            let _ = stream.read(&mut [0; 4_096]);
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nup 1\n");
        }
    });
    let series = watched(vec![Source::metrics(&url).unwrap()], 5);
    let failed: Vec<_> = series[0].gaps.keys().filter(|gap| **gap != Gap::Late).collect();
    assert!(failed.is_empty(), "{:?}", series[0]);
}
