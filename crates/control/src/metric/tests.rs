use super::*;

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
