use super::*;
use crate::metric::{Detail, MetricId, SeriesSettings, Statistic};
use proptest::prelude::*;
use std::string::{String, ToString};

fn at(minute: u64) -> Timestamp {
    Timestamp::from_secs(60 * minute)
}

fn settings(periods: u32, datapoints: u32) -> AlarmSettings {
    AlarmSettings {
        evaluation_periods: periods,
        datapoints_to_alarm: datapoints,
        ..AlarmSettings::new(MetricId(0), Statistic::Average, MINUTE, Comparison::GreaterThan, 60.0)
    }
}

fn series(settings: &AlarmSettings, delay: Duration, detail: Detail) -> Series {
    let (resolution, history) = (MINUTE.min(settings.period), settings.history());
    Series::new(SeriesSettings { resolution, history, delay, detail }).expect("good settings")
}

/// `0` does not breach, `X` does, `-` is missing; the newest last.
fn row(shown: &str) -> impl Iterator<Item = Option<bool>> + '_ {
    shown.split(' ').rev().map(|point| match point {
        "0" => Some(false),
        "X" => Some(true),
        "-" => None,
        other => panic!("{other}"),
    })
}

#[test]
fn missing_data_is_treated_as_in_all_cells_of_the_guide() {
    use State::{Alarm as A, InsufficientData as I, Ok as O};
    // None: the previous state is kept. In order: missing, ignore, breaching, notBreaching.
    let cells: [(&str, u32, [Option<State>; 4]); 10] = [
        ("0 - X - X", 3, [Some(O), Some(O), Some(O), Some(O)]),
        ("0 - - - -", 3, [Some(O), Some(O), Some(O), Some(O)]),
        ("- - - - -", 3, [Some(I), None, Some(A), Some(O)]),
        ("0 X X - X", 3, [Some(A), Some(A), Some(A), Some(A)]),
        ("- - X - -", 3, [Some(A), None, Some(A), Some(O)]),
        ("0 - X - X", 2, [Some(A), Some(A), Some(A), Some(A)]),
        ("0 0 X 0 X", 2, [Some(A), Some(A), Some(A), Some(A)]),
        ("0 - X - -", 2, [Some(O), Some(O), Some(A), Some(O)]),
        ("- - - - 0", 2, [Some(O), Some(O), Some(A), Some(O)]),
        ("- - - X -", 2, [Some(A), None, Some(A), Some(O)]),
    ];
    let treatments = [Missing::Missing, Missing::Ignore, Missing::Breaching, Missing::NotBreaching];
    for (shown, datapoints_to_alarm, expected) in cells {
        for (missing, expected) in treatments.into_iter().zip(expected) {
            let rule = Rule { evaluation_periods: 3, datapoints_to_alarm, missing };
            for before in [O, A, I] {
                let (after, _) = evaluation::evaluate(row(shown), rule, before);
                assert_eq!(after, expected.unwrap_or(before), "{shown} {datapoints_to_alarm} {missing:?}");
            }
        }
    }
    // The guide's text next to the tables: neither becomes ALARM.
    let rule = Rule { evaluation_periods: 3, datapoints_to_alarm: 3, missing: Missing::Missing };
    for shown in ["- - - - X", "- - - X -"] {
        assert_eq!(evaluation::evaluate(row(shown), rule, O), (O, Basis::Kept), "{shown}");
    }
}

#[test]
fn periods_slide_each_minute_and_overlap() {
    let five = AlarmSettings { period: 5 * MINUTE, ..settings(1, 1) };
    let (mut alarm, mut cpu) = (Alarm::new(five).unwrap(), series(&five, Duration::ZERO, Detail::Summary));
    let mut states = String::new();
    for minute in 0..12 {
        // From minute 3 on: the mean of five passes 60 at the third high minute.
        cpu.record(at(minute), if (3..6).contains(&minute) { 80.0 } else { 45.0 });
        let found = alarm.evaluate(at(minute + 1), &cpu).expect("each minute");
        states.push(if found.new == State::Alarm {
            'X'
        } else if found.new == State::Ok {
            '0'
        } else {
            '-'
        });
    }
    // No full period before minute 5; the high minutes leave the period at minute 9.
    assert_eq!(states, "----0XXX0000");
}

#[test]
fn periods_by_the_clock_do_not_overlap() {
    let five = AlarmSettings { period: 5 * MINUTE, windows: Windows::WallClock, ..settings(1, 1) };
    let (mut alarm, mut cpu) = (Alarm::new(five).unwrap(), series(&five, Duration::ZERO, Detail::Summary));
    for minute in 0..9 {
        cpu.record(at(minute), if minute >= 5 { 90.0 } else { 10.0 });
        alarm.evaluate(at(minute + 1), &cpu);
    }
    assert_eq!(alarm.state(), State::Ok, "the second five are not over");
    cpu.record(at(9), 90.0);
    assert_eq!(alarm.evaluate(at(10), &cpu).unwrap().new, State::Alarm);
}

#[test]
fn a_point_counts_when_its_delay_is_over() {
    let one = settings(1, 1);
    let (mut alarm, mut cpu) = (Alarm::new(one).unwrap(), series(&one, MINUTE, Detail::Summary));
    cpu.record(at(0), 90.0);
    assert_eq!(alarm.evaluate(at(1), &cpu).unwrap().new, State::InsufficientData);
    assert_eq!(alarm.evaluate(at(2), &cpu).unwrap().new, State::Alarm);
}

#[test]
fn it_is_evaluated_once_a_minute_or_once_in_ten_seconds() {
    let mut fast = settings(1, 1);
    fast.period = Duration::from_secs(20);
    for (settings, evaluations) in [(settings(1, 1), 10), (fast, 60)] {
        let (mut alarm, cpu) =
            (Alarm::new(settings).unwrap(), series(&settings, Duration::ZERO, Detail::Summary));
        let found = (0..600).filter(|second| alarm.evaluate(Timestamp::from_secs(*second), &cpu).is_some());
        assert_eq!(found.count(), evaluations);
    }
}

#[test]
fn actions_are_repeated_once_a_minute_while_the_state_lasts() {
    for (repeat, expected) in [(Repeat::EachMinute, 5), (Repeat::OnTransition, 1)] {
        let mut fast = AlarmSettings { repeat, ..settings(1, 1) };
        fast.period = TEN_SECONDS;
        for settings in [AlarmSettings { repeat, ..settings(1, 1) }, fast] {
            let mut alarm = Alarm::new(settings).unwrap();
            let mut cpu = series(&settings, Duration::ZERO, Detail::Summary);
            let mut invoked = 0;
            for ten in 1..=30 {
                let now = Timestamp::from_secs(10 * ten);
                cpu.record(now - TEN_SECONDS, 90.0);
                invoked += u32::from(alarm.evaluate(now, &cpu).is_some_and(|found| found.invoked));
            }
            assert_eq!(invoked, expected, "{repeat:?} {:?}", settings.period);
        }
    }
}

#[test]
fn actions_are_repeated_each_period_where_settings_say_so() {
    for (period, grid, expected) in [(1, Grid::Local, 300), (10, Grid::Local, 30), (120, Grid::CloudWatch, 4)]
    {
        let mut one = AlarmSettings { repeat: Repeat::EachPeriod, grid, ..settings(1, 1) };
        one.period = Duration::from_secs(period);
        let mut alarm = Alarm::new(one).unwrap();
        let resolution = Duration::from_secs(period.min(60));
        let mut cpu = Series::new(SeriesSettings {
            resolution,
            history: one.history(),
            delay: Duration::ZERO,
            detail: Detail::Summary,
        })
        .unwrap();
        let mut invoked = 0;
        for second in 1..=300 {
            let now = Timestamp::from_secs(second);
            if second % resolution.as_secs() == 0 {
                cpu.record(now - resolution, 90.0);
            }
            invoked += u32::from(alarm.evaluate(now, &cpu).is_some_and(|found| found.invoked));
        }
        assert_eq!(invoked, expected, "{period} s");
    }
}

#[test]
fn nothing_is_invoked_where_nothing_changes() {
    let one = settings(1, 1);
    let (mut alarm, cpu) = (Alarm::new(one).unwrap(), series(&one, Duration::ZERO, Detail::Summary));
    for minute in 1..5 {
        let found = alarm.evaluate(at(minute), &cpu).unwrap();
        assert!(!found.invoked && !found.changed());
    }
    alarm.set_state(State::Alarm);
    let found = alarm.evaluate(at(5), &cpu).unwrap();
    assert_eq!((found.old, found.new, found.invoked), (State::Alarm, State::InsufficientData, true));
}

#[test]
fn a_percentile_of_few_samples_leaves_the_state_where_it_should() {
    let p99 = Statistic::Percentile(units::Quantile::P99);
    for (few_samples, count, expected) in [
        (FewSamples::Evaluate, 10, State::Alarm),
        (FewSamples::Ignore, 999, State::InsufficientData),
        (FewSamples::Ignore, 1000, State::Alarm),
    ] {
        let settings = AlarmSettings { statistic: p99, threshold: 1.0, few_samples, ..settings(1, 1) };
        let (mut alarm, mut times) =
            (Alarm::new(settings).unwrap(), series(&settings, Duration::ZERO, Detail::Sketch));
        (0..count).for_each(|_| times.record(at(0), 3.0));
        let found = alarm.evaluate(at(1), &times).unwrap();
        assert_eq!(found.new, expected, "{few_samples:?} {count}");
        if expected != State::Alarm {
            assert_eq!(found.reason.to_string(), "Unchanged: 999 samples are too few for the percentile.");
        }
    }
    for (quantile, needed) in [(0.99, 1000.0), (0.95, 200.0), (0.9, 100.0), (0.5, 20.0), (0.1, 100.0)] {
        let statistic = Statistic::Percentile(units::Quantile::new(quantile).unwrap());
        assert_eq!(AlarmSettings { statistic, ..settings(1, 1) }.samples_needed(), Some(needed));
    }
}

#[test]
fn a_percentile_that_was_told_before_is_the_same_and_late_samples_count() {
    let p95 = Statistic::Percentile(units::Quantile::P95);
    let settings = AlarmSettings { statistic: p95, threshold: 1.0, ..settings(2, 2) };
    let mut times = series(&settings, Duration::ZERO, Detail::Sketch);
    let mut alarm = Alarm::new(settings).unwrap();
    times.record(at(0), 3.0);
    times.record(at(1), 0.5);
    assert_eq!(alarm.evaluate(at(2), &times).unwrap().new, State::Ok);
    // A late sample of minute 1 makes its percentile breach.
    times.record(at(1), 4.0);
    assert_eq!(alarm.evaluate(at(3), &times).unwrap().new, State::Alarm, "the newest two that exist breach");
}

#[test]
fn reasons_are_in_cloudwatchs_words() {
    let told = |settings: AlarmSettings, points: &str| {
        let (mut alarm, mut cpu) =
            (Alarm::new(settings).unwrap(), series(&settings, Duration::ZERO, Detail::Summary));
        let values = points.split_whitespace();
        let count = values.clone().count() as u64;
        (0..).zip(values).filter(|(_, value)| *value != "-").for_each(|(minute, value)| {
            cpu.record(at(minute), value.parse().unwrap());
        });
        alarm.evaluate(at(count), &cpu).unwrap().reason.to_string()
    };
    let with = |missing| AlarmSettings { missing, ..settings(3, 3) };
    for (settings, points, words) in [
        (
            settings(1, 1),
            "61.5",
            "Threshold Crossed: 1 out of the last 1 datapoints [61.5 (00:00:00)] was greater than the threshold \
             (60.0) (minimum 1 datapoint for OK -> ALARM transition).",
        ),
        (
            settings(1, 1),
            "9",
            "Threshold Crossed: 1 out of the last 1 datapoints [9.0 (00:00:00)] was not greater than the threshold \
             (60.0) (minimum 1 datapoint for ALARM -> OK transition).",
        ),
        (
            settings(3, 2),
            "61 9 63",
            "Threshold Crossed: 2 out of the last 3 datapoints [63.0 (00:02:00), 61.0 (00:00:00)] were greater than \
             the threshold (60.0) (minimum 2 datapoints for OK -> ALARM transition).",
        ),
        (
            settings(6, 6),
            "61 62 63 64 65 66",
            "Threshold Crossed: 6 out of the last 6 datapoints were greater than the threshold (60.0). The most \
             recent datapoints which crossed the threshold: [66.0 (00:05:00), 65.0 (00:04:00), 64.0 (00:03:00), \
             63.0 (00:02:00), 62.0 (00:01:00)] (minimum 6 datapoints for OK -> ALARM transition).",
        ),
        (
            with(Missing::Breaching),
            "- - - - -",
            "Threshold Crossed: no datapoints were received for 3 periods and 3 missing datapoints were treated as \
             [Breaching].",
        ),
        (
            with(Missing::NotBreaching),
            "- - - 70 -",
            "Threshold Crossed: 1 datapoint was received for 3 periods and 2 missing datapoints were treated as \
             [NonBreaching].",
        ),
        (with(Missing::Missing), "- - - - -", "Insufficient Data: 3 datapoints were unknown."),
        (with(Missing::Ignore), "- - - - 70", "Unchanged: 2 datapoints are missing."),
    ] {
        assert_eq!(told(settings, points), words);
    }
}

#[test]
fn the_most_recent_that_do_not_cross_are_not_said_to_cross() {
    let low = AlarmSettings { comparison: Comparison::LessThanOrEqualTo, ..settings(7, 7) };
    let (mut alarm, mut cpu) = (Alarm::new(low).unwrap(), series(&low, Duration::ZERO, Detail::Summary));
    (0..7).for_each(|minute| cpu.record(at(minute), 90.0));
    let words = alarm.evaluate(at(7), &cpu).unwrap().reason.to_string();
    assert!(
        words.starts_with("Threshold Crossed: 7 out of the last 7 datapoints were not less than or equal to")
    );
}

#[test]
fn settings_that_cannot_be_are_refused_with_the_way_out() {
    let good = settings(3, 2);
    let of = |period: u64, periods: u32| AlarmSettings {
        period: Duration::from_secs(period),
        ..settings(periods, 1)
    };
    for (settings, part) in [
        (of(45, 1), "60s is usual"),
        (of(0, 1), "60s is usual"),
        (of(90, 1), "whole minutes"),
        (settings(0, 1), "`evaluation_periods` is 0"),
        (settings(3, 4), "4 of the last 3 can never breach: raise `evaluation_periods` to 4"),
        (of(60, 1441), "above the bound of 24.0 h (1440 periods)"),
        (of(10, 8641), "8640 periods"),
        (of(3600, 169), "168 periods"),
        (AlarmSettings { threshold: f64::NAN, ..good }, "set a finite number"),
        (AlarmSettings { evaluation_range: Some(2), ..good }, "raise it to at least 3"),
    ] {
        let problems: String = settings.problems().iter().map(ToString::to_string).collect();
        assert!(problems.contains(part), "{problems}");
        assert!(Alarm::new(settings).is_err());
    }
    for good in [of(60, 1440), of(10, 8640), of(20, 3), of(30, 1), of(3600, 168), of(86_400, 7)] {
        assert_eq!(good.problems(), [], "{good:?}");
    }
    let local = |period: u64| AlarmSettings { grid: Grid::Local, ..of(period, 1) };
    for fits in [1, 2, 5, 15, 30, 60, 120] {
        assert_eq!(local(fits).problems(), [], "{fits}");
    }
    for odd in [local(0), local(7), local(45), local(90), AlarmSettings { period: MINUTE / 120, ..local(1) }]
    {
        let problem = odd.problems()[0].to_string();
        assert!(problem.contains("that divide a minute, or to whole minutes: 10s is usual"), "{problem}");
    }
    assert_eq!((local(1).step(), local(60).step()), (Duration::from_secs(1), MINUTE));
    let both = settings(0, 0).problems();
    assert_eq!(both.len(), 2, "all problems at once");
}

#[test]
fn what_is_assumed_is_listed() {
    let names = |settings: AlarmSettings| settings.assumptions().map(|one| one.name).collect::<Vec<_>>();
    assert_eq!(names(settings(2, 2)), ["newest period", "evaluation range", "kept state"]);
    let told = AlarmSettings { evaluation_range: Some(2), missing: Missing::Breaching, ..settings(2, 2) };
    assert_eq!(names(told), ["newest period"]);
}

/// A direct implementation of the rules over the whole row.
fn naive(row: &[Option<bool>], rule: Rule, current: State) -> State {
    let (n, m) = (rule.evaluation_periods as usize, rule.datapoints_to_alarm as usize);
    let real: Vec<bool> = row.iter().rev().copied().flatten().collect();
    let breaching = |points: &[bool]| points.iter().filter(|breaches| **breaches).count();
    let alarm = |count: usize| if count >= m { State::Alarm } else { State::Ok };
    if real.len() >= n {
        return alarm(breaching(&real[..n]));
    }
    let oldest = row.iter().rev().rposition(|point| *point == Some(true)).map_or(0, |place| place + 1);
    match rule.missing {
        Missing::Breaching => alarm(breaching(&real) + n - real.len()),
        Missing::NotBreaching => alarm(breaching(&real)),
        Missing::Missing if real.is_empty() => State::InsufficientData,
        Missing::Ignore if real.is_empty() => current,
        _ if breaching(&real) >= m => State::Alarm,
        _ if real.contains(&false) => State::Ok,
        Missing::Missing if oldest >= m => State::Alarm,
        _ => current,
    }
}

proptest! {
    #[test]
    fn the_alarm_agrees_with_the_rules_written_down(
        shown in proptest::collection::vec(proptest::option::of(any::<bool>()), 0..24),
        (periods, datapoints) in (1_u32..6).prop_flat_map(|periods| (Just(periods), 1..=periods)),
        extra in 0_u32..4,
        missing in proptest::sample::select(
            std::vec![Missing::Missing, Missing::Ignore, Missing::Breaching, Missing::NotBreaching]
        ),
    ) {
        let settings = AlarmSettings {
            missing,
            evaluation_range: Some(periods + extra),
            ..settings(periods, datapoints)
        };
        let (mut alarm, mut cpu) = (Alarm::new(settings).unwrap(), series(&settings, Duration::ZERO, Detail::Summary));
        let mut state = State::InsufficientData;
        for (minute, point) in (0..).zip(&shown) {
            if let Some(breaches) = point {
                cpu.record(at(minute), if *breaches { 61.0 } else { 60.0 });
            }
            let seen = minute as usize + 1;
            let range = &shown[seen.saturating_sub((periods + extra) as usize)..seen];
            state = naive(range, settings.rule(), state);
            let found = alarm.evaluate(at(minute + 1), &cpu).unwrap();
            prop_assert_eq!(found.new, state, "minute {}", minute);
            prop_assert!(!found.reason.to_string().is_empty());
        }
    }
}
