use super::*;
use measure::{Accounting, Histogram};

/// One second with these counts, and all responses after `ms`.
fn second(scheduled: u64, good: u64, shed: u64, ms: u64) -> Second {
    let mut histogram = Histogram::new();
    (0..good).for_each(|_| histogram.record(Duration::from_millis(ms)));
    let accounting = Accounting { scheduled, answered: good, shed, ..Accounting::default() };
    Second {
        accounting,
        good,
        good_response: histogram.sparse(),
        response: histogram.sparse(),
        cells: Vec::new(),
    }
}

fn story() -> Series {
    Series { seconds: vec![second(100, 100, 0, 20), second(110, 40, 0, 2_000), second(110, 100, 10, 30)] }
}

fn timeline(seconds: &Series) -> Timeline<'_> {
    let span = Duration::from_secs;
    Timeline {
        seconds,
        phases: vec![
            Phase { name: "calm <1>".to_owned(), start: span(0), end: span(1) },
            Phase { name: "overload & collapse".to_owned(), start: span(1), end: span(3) },
        ],
        marks: vec![Mark { at: span(2), label: "policy \"on\"".to_owned() }],
        end: None,
    }
}

/// All charts of a timeline, well-formed and without values that are not numbers.
fn pictures(timeline: &Timeline<'_>) -> Vec<String> {
    let (rates, times) = (rates(timeline), response_times(timeline));
    let all = vec![rates.wide, rates.narrow, times.wide, times.narrow];
    for picture in &all {
        roxmltree::Document::parse(picture).unwrap();
        assert!(!picture.contains("NaN") && !picture.contains("inf"), "{picture}");
    }
    all
}

#[test]
fn a_small_story_is_drawn() {
    insta::assert_snapshot!(rates(&timeline(&story())).wide);
}

#[test]
fn names_and_labels_are_escaped() {
    let series = story();
    for picture in pictures(&timeline(&series)) {
        assert!(picture.contains("calm &lt;1&gt;") && picture.contains("policy &quot;on&quot;"));
    }
}

#[test]
fn odd_series_are_drawn() {
    let huge = Second {
        accounting: Accounting { scheduled: u64::MAX, shed: u64::MAX, ..Accounting::default() },
        good: u64::MAX,
        ..second(0, 1, 0, 100_000_000)
    };
    let odd: [Vec<Second>; 5] = [
        vec![],
        vec![second(5, 5, 0, 10)],
        vec![second(0, 0, 0, 0); 30],
        vec![huge, second(1, 1, 0, 0)],
        vec![second(3, 2, 1, 10); 5_000],
    ];
    for seconds in odd {
        let series = Series { seconds };
        pictures(&timeline(&series));
        pictures(&Timeline { phases: vec![], marks: vec![], ..timeline(&series) });
    }
}

#[test]
fn a_long_run_has_a_bounded_picture_that_keeps_its_extremes() {
    let mut seconds = vec![second(3, 2, 1, 10); 40_000];
    seconds[12_345] = second(500, 400, 1, 2_000);
    let series = Series { seconds };
    let stretches = || Timeline { phases: vec![], marks: vec![], ..timeline(&series) };
    let timeline = stretches();
    let offered: Vec<Sample> = timeline
        .stretches()
        .filter_map(|stretch| stretch.rate(|second| second.accounting.scheduled))
        .collect();
    assert!(offered.len() <= MOST_POINTS);
    assert!(
        offered.iter().filter(|sample| sample.value == 3.0).count() >= offered.len() - 1,
        "a second, not a point"
    );
    assert_eq!(offered.iter().map(|sample| sample.high).fold(0.0, f64::max), 500.0);
    let drawing = load_over_time(&timeline, &[], &[]);
    for picture in [&drawing.wide, &drawing.narrow] {
        assert!(picture.len() < 200_000, "{}", picture.len());
        assert!(
            picture.contains("offered: 3 to 500") && picture.contains("max: 10.01 ms to 2 s"),
            "{picture}"
        );
    }
}

#[test]
fn a_last_second_that_was_shorter_does_not_read_as_a_drop() {
    let series = Series { seconds: vec![second(100, 100, 0, 20), second(40, 40, 0, 20)] };
    let timeline = Timeline { end: Some(Duration::from_millis(1_400)), ..timeline(&series) };
    let rates: Vec<f64> = timeline
        .stretches()
        .filter_map(|stretch| stretch.rate(|second| second.accounting.scheduled))
        .map(|sample| sample.value.round())
        .collect();
    assert_eq!(rates, [100.0, 100.0]);
}

#[test]
fn a_run_of_load_has_lines_for_what_occurred() {
    let calm = Series { seconds: vec![second(100, 100, 0, 20); 3] };
    let goals = [(Duration::from_millis(50), "p(95)<50ms".to_owned())];
    let mut watched = Watched::new("hosts", "sum(up)");
    watched.record(units::Timestamp::from_secs(1), -3.0);
    let picture = load_over_time(&timeline(&calm), &goals, &[("hosts".to_owned(), &watched)]).wide;
    assert!(!picture.contains(">shed<") && !picture.contains(">failed<"), "{picture}");
    assert!(picture.contains(">p(95)&lt;50ms<") && picture.contains(">hosts<"));
    let picture = load_over_time(&timeline(&story()), &[], &[]).wide;
    // Of the 110 arrivals of the second second 40 were good, and none was shed.
    assert!(picture.contains(">shed<") && picture.contains("failed: 0 to 70"), "{picture}");
}

#[test]
fn a_second_without_answers_is_a_gap() {
    let series = Series { seconds: vec![second(1, 1, 0, 10), second(1, 0, 0, 0), second(1, 1, 0, 10)] };
    let picture = response_times(&timeline(&series)).wide;
    assert_eq!(picture.matches("<circle").count(), 6, "{picture}");
}

#[test]
fn responses_that_were_given_up_are_marked() {
    let mut histogram = Histogram::new();
    (0..9).for_each(|_| histogram.record(Duration::from_millis(10)));
    histogram.record_censored(Duration::from_secs(3));
    let censored = Second { response: histogram.sparse(), ..second(10, 9, 0, 10) };
    let series = Series { seconds: vec![second(9, 9, 0, 10), censored] };
    let picture = response_times(&timeline(&series)).wide;
    // p95 and p99 of the second one, and the explanation.
    assert_eq!(picture.matches("class=\"censored\"").count(), 3);
    assert!(picture.contains("at least: requests timed out"));
    assert!(picture.contains(">10 ms<") && picture.contains(">1 s<"), "a range of 1 to 300 is logarithmic");
}
