use super::*;
use measure::{Accounting, Check, Endpoint, Outcome, Stage, Validity, Verdict};

/// A histogram of 1 ms, 2 ms and so on.
fn times(count: u64) -> Histogram {
    let mut times = Histogram::new();
    (1..=count).for_each(|ms| times.record(Duration::from_millis(ms)));
    times
}

fn part(count: u64) -> Part {
    Part {
        accounting: Accounting { scheduled: count, answered: count, ..Accounting::default() },
        statuses: [(200, count)].into(),
        by_outcome: [(Outcome::Success, times(count))].into(),
        service: times(count),
        ..Part::default()
    }
}

/// 1,000 responses within ten seconds, one of them with 404, and 5 shed, 3 failed, 2 given up, 4 unsent, 6 in flight.
fn run() -> Measurement {
    let endpoint = |name: &str, team: &str, count| Endpoint {
        name: name.to_string(),
        tags: [("team".to_string(), team.to_string())].into(),
        part: part(count),
    };
    let mut measured = Measurement {
        elapsed: Duration::from_secs(10),
        accounting: Accounting {
            scheduled: 1_020,
            answered: 1_000,
            shed: 5,
            failed: 3,
            timed_out: 2,
            unsent: 4,
            in_flight: 6,
            ..Accounting::default()
        },
        statuses: [(200, 999), (404, 1), (503, 5)].into(),
        response: times(1_000),
        service: times(100),
        endpoints: vec![
            endpoint("login", "a", 100),
            endpoint("search", "a", 200),
            endpoint("home", "b", 400),
        ],
        stages: vec![Stage {
            name: "50/s".to_string(),
            from: Timestamp::from_secs(2),
            until: Timestamp::from_secs(4),
            part: part(100),
            ..Stage::default()
        }],
        checks: vec![
            Check { name: "has id".to_string(), passed: 99, failed: 1 },
            Check { name: "is short".to_string(), passed: 0, failed: 100 },
        ],
        ..Measurement::default()
    };
    measured.iterations.completed = 7;
    measured
}

fn judged(text: &str, measured: &Measurement) -> Judged {
    let threshold: Threshold = text.parse().unwrap_or_else(|error| panic!("{error}"));
    evaluate(&[threshold], measured).remove(0)
}

#[test]
fn judges_every_metric_by_its_own_numbers() {
    for (text, met, shown) in [
        ("p(95)<1s", true, "950 ms"),
        ("p(95)<900ms", false, "950 ms"),
        ("avg<501ms", true, "501 ms"),
        ("min<=1", true, "1.00 ms"),
        ("max>999", true, "1.00 s"),
        ("service_time: med<51ms", true, "50.0 ms"),
        ("http_req_failed: rate<1%", false, "1.48 %"),
        ("http_req_failed: rate<1.5%", true, "1.48 %"),
        ("shed: rate<0.5%", true, "0.5 %"),
        ("http_reqs: count==1016", true, "1016"),
        ("http_reqs: rate>=101.6/s", true, "101.6/s"),
        ("dropped_iterations: count<4", false, "4"),
        ("unsent: rate<1/s", true, "0.4/s"),
        ("iterations: count!=7", false, "7"),
        ("checks: rate>49%", true, "49.5 %"),
        ("checks{check:has id}: rate>99%", false, "99 %"),
        ("response_time{endpoint:login}: max<=101ms", true, "100 ms"),
        ("response_time{team:a}: max<101ms", false, "200 ms"),
        ("http_reqs{name:search,team:a}: count==200", true, "200"),
        ("http_reqs{stage:50/s}: rate==50/s", true, "50/s"),
        ("http_req_failed{team:b}: rate==0", true, "0 %"),
    ] {
        let judged = judged(text, &run());
        assert_eq!((judged.met, judged.observed.to_string().as_str()), (met, shown), "{text}");
    }
}

#[test]
fn a_quantile_among_the_given_up_is_never_below_a_bound() {
    let mut measured = run();
    for _ in 0..1_000 {
        measured.response.record_censored(Duration::from_secs(1));
    }
    assert!(!judged("p(95)<2s", &measured).met);
    assert!(!judged("avg<2s", &measured).met);
    assert!(!judged("max==1s", &measured).met);
    assert!(judged("p(95)>900ms", &measured).met);
    assert!(judged("p(25)<2s", &measured).met);
    assert_eq!(judged("p(95)<2s", &measured).observed.to_string(), "> 1.00 s");
}

#[test]
fn too_few_samples_are_judged_and_said() {
    let few = judged("p(99)<2s", &run());
    assert!(few.met);
    assert!(few.to_string().ends_with("met, ~990 ms, 10 above"), "{few}");
    // 1,000 samples in ten seconds, of 3,000 that are needed.
    assert_eq!(
        few.suspect().unwrap().to_string(),
        "the threshold response_time: p(99)<2s judges a quantile with 10 samples above it; 30 make it repeatable: \
         at this rate, run for at least 30 s"
    );
    let mut validity = Validity::of(Vec::new());
    validity.add(few.suspect());
    assert_eq!(validity.verdict, Verdict::Suspect);
    // A stage has a length of its own: 100 samples in two seconds.
    let stage = judged("response_time{stage:50/s}: p(95)<2s", &run());
    assert_eq!(stage.few_samples, Some(FewSamples { above: 5, needs: Some(Duration::from_secs(12)) }));
    for enough in ["p(97)<2s", "min>0", "max<2s", "avg<2s"] {
        assert_eq!(judged(enough, &run()).suspect(), None, "{enough}");
    }
}

#[test]
fn what_was_not_measured_does_not_hold() {
    let empty = Measurement::default();
    for text in ["p(95)<1s", "http_req_failed: rate<1%", "checks: rate>0%", "iteration_duration: avg<1s"] {
        let judged = judged(text, &empty);
        assert_eq!((judged.met, judged.observed), (false, Observed::Nothing), "{text}");
    }
    assert!(judged("dropped_iterations: count<1", &empty).met);
}

#[test]
fn aborts_when_told_to_and_not_before_its_delay() {
    let missed = || "p(95)<1ms".parse::<Threshold>().unwrap();
    let at = Timestamp::from_secs;
    let aborts = |threshold: Threshold, measured: &Measurement, second| {
        evaluate(&[threshold], measured)[0].aborts(at(second))
    };
    assert!(!aborts(missed(), &run(), 60));
    let aborting = missed().aborting(Duration::from_secs(5));
    assert!(!aborts(aborting.clone(), &run(), 4));
    assert!(aborts(aborting.clone(), &run(), 5));
    assert!(!aborts(aborting, &Measurement::default(), 5), "nothing was seen yet");
}
