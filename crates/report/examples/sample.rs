//! Prints a report on an invented run: `cargo run -p report --example sample > sample.html`.

use measure::{Accounting, Histogram, Second, Series};
use report::{
    Align, Band, Chart, LoadCurve, Mark, Phase, Point, Report, Section, Table, Timeline, TrialPoint, Trials,
    html, load_curve, rates, response_times, trials,
};
use std::time::Duration;

fn main() {
    let series = story();
    let span = Duration::from_secs;
    let phase = |name: &str, start, end| Phase { name: name.to_owned(), start: span(start), end: span(end) };
    let timeline = Timeline {
        seconds: &series,
        phases: vec![
            phase("calm", 0, 12),
            phase("collapse", 12, 27),
            phase("pause", 27, 32),
            phase("policy", 32, 52),
            phase("after", 52, 65),
        ],
        marks: vec![Mark { at: span(32), label: "policy on: at most 100/s".to_owned() }],
        end: None,
    };
    let mut table = Table::new(&[
        ("phase", Align::Left),
        ("offered", Align::Right),
        ("good", Align::Right),
        ("shed", Align::Right),
        ("p50", Align::Right),
        ("p95", Align::Right),
    ]);
    table.row(["calm", "100/s", "100/s", "0/s", "18.4 ms", "27.9 ms"]);
    table.row(["collapse", "110/s", "21.3/s", "0/s", "1.71 s", "> 3.00 s"]);
    table.row(["policy", "110/s", "99.8/s", "10.2/s", "21.0 ms", "38.2 ms"]);
    table.row(["after", "100/s", "100/s", "0/s", "18.1 ms", "27.2 ms"]);
    let chart = |title: &str, caption: &str, drawing| {
        Section::Chart(Chart { title: title.to_owned(), caption: caption.to_owned(), drawing })
    };
    let points = [
        (20, 12, 15),
        (40, 12, 16),
        (60, 13, 18),
        (80, 15, 22),
        (95, 18, 31),
        (100, 22, 45),
        (105, 60, 210),
        (110, 420, 1_900),
    ]
    .map(|(load, p50, p95)| TrialPoint {
        offered: f64::from(load),
        achieved: f64::from(load.min(103) - if load > 103 { 9 } else { 0 }),
        p50: Some(Duration::from_millis(p50)),
        p95: Some(Duration::from_millis(p95)),
        met: p95 < 50,
        says: format!("{load}/s"),
    });
    let search = Trials {
        trials: points.to_vec(),
        goals: vec![(Duration::from_millis(50), "goal: p(95)<50ms".to_owned())],
        found: Some(Band { low: 100.0, high: Some(105.0), label: "sustainable: 100/s to 105/s".to_owned() }),
        peak: Some((72.0, "peak 72/s".to_owned())),
    };
    let steps = [(1, 53, 18), (2, 104, 19), (5, 105, 47), (10, 104, 95), (20, 101, 198)];
    let curve = LoadCurve {
        points: steps
            .map(|(load, throughput, p50)| Point {
                load: f64::from(load),
                throughput: f64::from(throughput),
                p50: Some(Duration::from_millis(p50)),
            })
            .to_vec(),
        knee: Some(2.0),
        fitted: Vec::new(),
        axis: "requests in flight".to_owned(),
    };
    print!(
        "{}",
        html(&Report {
            title: "Ten requests a second too many".to_owned(),
            subtitle: "A service that carries 104 requests a second, at 100, at 110, and at 110 behind a gateway.".to_owned(),
            sections: vec![
                Section::Text("At 110 requests a second the service answers a fifth of what it can carry, because it works on requests whose users have gone. With a policy in front of it, it answers what it can carry, and refuses the rest at once.".to_owned()),
                Section::Table(table),
                chart("Good responses collapse, and come back with the policy", "Good: answered with 2xx within 500 ms of the intended start.", rates(&timeline)),
                chart("Response times grow a hundredfold, and shrink back", "From the intended start to the last byte.", response_times(&timeline)),
                Section::Heading("What the service can carry".to_owned()),
                chart("Beyond 101 requests a second, more load brings less", "Each dot is a trial of ten seconds.", trials(&search)),
                chart("More than 2 requests in flight bring only longer response times", "Each dot is a step of two seconds.", load_curve(&curve)),
                Section::Heading("The same on your service".to_owned()),
                Section::Code("headroom find http://127.0.0.1:8080/ --slo 'p(95)<50ms'\nheadroom gateway --to 127.0.0.1:8080".to_owned()),
            ],
        })
    );
}

fn story() -> Series {
    let mut seed = 7_u64;
    let mut noise = move |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    };
    let seconds = (0..65_u64)
        .map(|at| {
            let (offered, good, shed, late_ms, timed_out) = match at {
                0..12 => (100, 100, 0, 18, 0),
                12..27 => {
                    let after = at - 12;
                    let good = 104_u64.saturating_sub(after * after).max(12 + noise(9));
                    (110, good, 0, 18 + after * after * 25, if after > 8 { 30 } else { 0 })
                }
                27..32 => (0, 0, 0, 0, 0),
                32..52 => (110, 99 + noise(3), 9, 21, 0),
                _ => (100, 100, 0, 18, 0),
            };
            let mut response = Histogram::new();
            for i in 0..if offered == 0 { 0 } else { good.max(40) } {
                let slow = if i % 20 == 0 { late_ms + noise(30) } else { noise(9) };
                response.record(Duration::from_micros((late_ms + slow) * 1_000 + noise(900)));
            }
            (0..timed_out).for_each(|_| response.record_censored(Duration::from_secs(3)));
            Second {
                accounting: Accounting {
                    scheduled: offered,
                    answered: offered - shed - timed_out,
                    shed,
                    timed_out,
                    ..Accounting::default()
                },
                good,
                good_response: response.sparse(),
                response: response.sparse(),
                cells: Vec::new(),
            }
        })
        .collect();
    Series { seconds }
}
