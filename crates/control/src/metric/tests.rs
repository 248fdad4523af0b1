use super::*;
use units::Quantile;

const MINUTE: Duration = Duration::from_secs(60);

fn series(detail: Detail) -> Series {
    let settings = SeriesSettings { resolution: MINUTE, history: 10 * MINUTE, delay: MINUTE, detail };
    Series::new(settings).expect("settings are good")
}

fn minute(number: u64) -> Timestamp {
    Timestamp::from_secs(60 * number)
}

#[test]
fn a_period_is_folded_over_all_minutes_that_exist() {
    let mut cpu = series(Detail::Summary);
    for (at, value) in [(0, 10.0), (0, 30.0), (1, 50.0), (3, 70.0)] {
        cpu.record(minute(at), value);
    }
    for (statistic, expected) in [
        (Statistic::Average, 40.0),
        (Statistic::Minimum, 10.0),
        (Statistic::Maximum, 70.0),
        (Statistic::Sum, 160.0),
        (Statistic::SampleCount, 4.0),
    ] {
        let found = cpu.datapoint(minute(5), 5 * MINUTE, statistic).expect("there are samples");
        assert_eq!((found.at, found.value, found.samples), (minute(0), expected, 4.0), "{statistic}");
    }
    assert_eq!(cpu.datapoint(minute(3), MINUTE, Statistic::Sum), None, "a minute without samples is missing");
    assert_eq!(cpu.datapoint(minute(3), 5 * MINUTE, Statistic::Sum), None, "it begins before everything");
}

#[test]
fn only_whole_points_that_are_published_are_seen() {
    let cpu = series(Detail::Summary);
    for (seconds, seen) in [(59, 0), (119, 0), (120, 60), (179, 60), (180, 120)] {
        assert_eq!(cpu.seen(Timestamp::from_secs(seconds), MINUTE), Timestamp::from_secs(seen), "{seconds}");
    }
}

#[test]
fn what_is_older_than_the_history_is_dropped_and_does_not_come_back() {
    let mut cpu = series(Detail::Sketch);
    (0..40).for_each(|at| cpu.record(minute(at), at as f64));
    cpu.record(minute(0), 99.0);
    assert_eq!(cpu.datapoint(minute(1), MINUTE, Statistic::Sum), None);
    let p50 = Statistic::Percentile(Quantile::P50);
    let found = cpu.datapoint(minute(40), 3 * MINUTE, p50).expect("the newest three");
    assert!((found.value - 38.0).abs() < 0.2, "{found:?}");
}

#[test]
fn percentiles_over_several_points_are_those_of_all_samples() {
    let mut times = series(Detail::Sketch);
    let mut all = Vec::new();
    for at in 0..5 {
        let mut sketch = Sketch::new();
        for n in 0..200 {
            let value = 0.01 * (1.0 + at as f64) * (1.0 + n as f64 * 0.01);
            sketch.record(value);
            all.push(value);
        }
        times.add_sketch(minute(at), &sketch);
    }
    all.sort_by(f64::total_cmp);
    for share in [0.1, 0.5, 0.9, 0.95, 0.99] {
        let statistic = Statistic::Percentile(Quantile::new(share).expect("a share"));
        let found = times.datapoint(minute(5), 5 * MINUTE, statistic).expect("samples").value;
        let exact = all[(share * 1000.0_f64).ceil() as usize - 1];
        assert!((found / exact - 1.0).abs() < 0.004, "{share}: {found} for {exact}");
    }
}

#[test]
fn a_statistic_set_has_percentiles_only_where_all_its_samples_are_equal() {
    let p90 = Statistic::Percentile(Quantile::P90);
    let mut cpu = series(Detail::Summary);
    cpu.add(minute(0), Point { count: 7.0, sum: 21.0, least: 3.0, most: 3.0 });
    assert_eq!(cpu.datapoint(minute(1), MINUTE, p90).map(|found| found.value), Some(3.0));
    cpu.add(minute(0), Point::of(4.0));
    assert_eq!(cpu.datapoint(minute(1), MINUTE, p90), None);
    assert!(!cpu.tells(p90) && cpu.tells(Statistic::Maximum));
}

#[test]
fn there_are_no_percentiles_of_negative_values() {
    let mut change = series(Detail::Sketch);
    change.record(minute(0), -1.0);
    change.record(minute(0), 5.0);
    assert_eq!(change.datapoint(minute(1), MINUTE, Statistic::Percentile(Quantile::P90)), None);
    assert_eq!(change.datapoint(minute(1), MINUTE, Statistic::Average).map(|found| found.value), Some(2.0));
}

#[test]
fn known_quantiles_are_given_back_and_several_points_are_mixed() {
    let known = std::vec![Quantile::P50, Quantile::P95, Quantile::P99];
    let mut times = series(Detail::Quantiles(known));
    let point = |count| Point { count, sum: count * 0.2, least: 0.1, most: 2.0 };
    times.set_quantiles(minute(0), point(100.0), &[0.2, 0.5, 1.0]);
    times.set_quantiles(minute(1), point(300.0), &[0.4, 1.0, 1.5]);
    let told = |end, span: u32, quantile| {
        times.datapoint(minute(end), span * MINUTE, Statistic::Percentile(quantile)).expect("samples").value
    };
    assert!((told(1, 1, Quantile::P95) - 0.5).abs() < 1e-9);
    assert!((told(2, 1, Quantile::P99) - 1.5).abs() < 1e-9);
    let mixed = told(2, 2, Quantile::P95);
    assert!(mixed > 0.5 && mixed < 1.0, "{mixed}");
    // A quarter of the samples has nearly nothing above 1.0, the others 5 %: 0.25 * 1 % + 0.75 * 5 % = 4 %.
    assert!((told(2, 2, Quantile::new(0.96).expect("a share")) - 1.0).abs() < 1e-6);
    assert!(!times.tells("TM(10%:90%)".parse().expect("a statistic")));
}

#[test]
fn trimmed_statistics_keep_what_lies_within() {
    let mut times = series(Detail::Sketch);
    // Powers of two: the middles of their buckets are within 0.4 %.
    (0..10).for_each(|n| times.record(minute(0), f64::from(1 << n)));
    let close = |text: &str, expected: f64| {
        let statistic: Statistic = text.parse().expect(text);
        let found = times.datapoint(minute(1), MINUTE, statistic).expect(text).value;
        assert!((found / expected - 1.0).abs() < 0.005, "{text}: {found} for {expected}");
    };
    close("tm90", 511.0 / 9.0);
    close("TM(10%:90%)", 510.0 / 8.0);
    close("IQM", (0.5 * 4.0 + 8.0 + 16.0 + 32.0 + 64.0 + 0.5 * 128.0) / 5.0);
    close("TC(0%:50%)", 5.0);
    close("ts50", 31.0);
    close("wm90", (511.0 + 256.0) / 10.0);
    close("TM(10:70)", (16.0 + 32.0 + 64.0) / 3.0);
    close("PR(:70)", 70.0);
    close("PR(10:70)", 30.0);
    close("p50", 16.0);
    close("p100", 512.0);
}

#[test]
fn statistics_are_read_and_written_as_cloudwatch_does() {
    for text in ["Average", "Minimum", "Maximum", "Sum", "SampleCount", "p95", "p99.9", "IQM", "PR(:0.5)"] {
        assert_eq!(text.parse::<Statistic>().map(|found| std::format!("{found}")), Ok(text.into()), "{text}");
    }
    for (text, shown) in [("tm90", "TM(0%:90%)"), ("WM(10%:)", "WM(10%:100%)"), ("TS(80:)", "TS(80:)")] {
        assert_eq!(
            text.parse::<Statistic>().map(|found| std::format!("{found}")),
            Ok(shown.into()),
            "{text}"
        );
    }
    for text in
        ["", "p", "p101", "p-5", "95", "mean", "TM(90%:10%)", "TM(:)", "PR(1%:2%)", "tm", "xx90", "p9é"]
    {
        assert!(text.parse::<Statistic>().is_err(), "{text}");
    }
}

#[test]
fn settings_that_cannot_be_are_refused_with_the_way_out() {
    let good =
        SeriesSettings { resolution: MINUTE, history: 10 * MINUTE, delay: MINUTE, detail: Detail::Summary };
    let falling = Detail::Quantiles(std::vec![Quantile::P95, Quantile::P50]);
    for (settings, part) in [
        (SeriesSettings { resolution: Duration::ZERO, ..good.clone() }, "60s is usual"),
        (SeriesSettings { history: Duration::MAX, ..good.clone() }, "shorten it or coarsen"),
        (SeriesSettings { history: 4000 * MINUTE, detail: Detail::Sketch, ..good.clone() }, "bound of 3000"),
        (SeriesSettings { detail: falling, ..good }, "p50 after p95"),
    ] {
        let message = std::format!("{}", Series::new(settings).expect_err("it cannot be"));
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn what_is_no_number_is_no_sample() {
    let mut cpu = series(Detail::Sketch);
    for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        cpu.record(minute(0), value);
        cpu.add(minute(0), Point { sum: value, ..Point::of(1.0) });
    }
    cpu.add(minute(0), Point::EMPTY);
    assert_eq!(cpu.fold(minute(1), MINUTE), None);
    cpu.record(minute(0), 5.0);
    assert_eq!(cpu.fold(minute(1), MINUTE), Some(Point::of(5.0)));
}
