use super::*;
use crate::scaling::{
    Cause, Facts, Platform, Policy, PolicyId, Scaler, ScalerSettings, Scheduled, StepScaling,
};
use alloc::vec;

/// Requests of an hour: 100 a minute at night, 1,000 from 08:00 to 20:00.
fn load(hour: usize) -> f64 {
    if (8..20).contains(&(hour % 24)) { 60_000.0 } else { 6_000.0 }
}

fn with_days(days: usize) -> PredictiveScaling {
    let history = (0..24 * days).map(|hour| Some(load(hour))).collect::<Vec<_>>();
    PredictiveScaling { history: Arc::from(history), ..PredictiveScaling::new(Load::Requests, 100.0) }
}

fn at(hours: u64, minutes: u64) -> Timestamp {
    Timestamp::from_secs(3600 * hours + 60 * minutes)
}

/// Passes the minutes of some hours, each with its load.
fn pass(policy: &mut Predictive, hours: core::ops::Range<usize>) {
    for hour in hours {
        for minute in 1..=60 {
            policy.read(at(hour as u64, minute), Some(load(hour) / 60.0));
        }
    }
}

fn capacity(policy: &Predictive, now: Timestamp) -> Option<u32> {
    policy.needed(now).map(|needed| needed.capacity)
}

#[test]
fn instances_are_there_some_minutes_before_their_hour_and_until_its_end() {
    let policy = Predictive::new(&with_days(3));
    assert_eq!(capacity(&policy, at(7, 54)), Some(1));
    assert_eq!(capacity(&policy, at(7, 55)), Some(10));
    assert_eq!(capacity(&policy, at(19, 59)), Some(10));
    assert_eq!(capacity(&policy, at(20, 0)), Some(1));
    // It forecasts 48 hours, and then has none.
    assert_eq!(capacity(&policy, at(47, 54)), Some(1));
    assert_eq!(capacity(&policy, at(48, 0)), None);
}

#[test]
fn the_next_change_is_known_beforehand() {
    let mut settings = with_days(3);
    let policy = Predictive::new(&settings);
    assert_eq!(policy.upcoming(at(7, 0)), Some((at(7, 55), 10)));
    assert_eq!(policy.upcoming(at(7, 55)), Some((at(20, 0), 1)));
    assert_eq!(policy.upcoming(at(47, 0)), None, "no change is forecast");
    // What it announces is what it then needs.
    for minute in 0..24 * 60 {
        let now = at(0, minute);
        let (next, size) = policy.upcoming(now).expect("one a day");
        assert_eq!(capacity(&policy, next), Some(size));
        let before = Timestamp::from_nanos(next.as_nanos() - 1);
        assert_eq!(capacity(&policy, before), capacity(&policy, now), "nothing in between: {minute}");
    }
    settings.mode = Mode::ForecastOnly;
    assert_eq!(Predictive::new(&settings).upcoming(at(7, 0)), None);
}

#[test]
fn without_history_it_begins_after_a_day() {
    let mut policy = Predictive::new(&with_days(0));
    pass(&mut policy, 0..23);
    assert_eq!(capacity(&policy, at(23, 0)), None);
    pass(&mut policy, 23..24);
    assert_eq!(capacity(&policy, at(24, 0)), Some(1));
    assert_eq!(capacity(&policy, at(32, 0)), Some(10));
}

#[test]
fn it_forecasts_again_each_six_hours() {
    let mut policy = Predictive::new(&with_days(3));
    // The service is used ten times as much from now on.
    let ten = |policy: &mut Predictive, hours: core::ops::Range<usize>| {
        for hour in hours {
            for minute in 1..=60 {
                policy.read(at(hour as u64, minute), Some(load(hour) / 6.0));
            }
        }
    };
    ten(&mut policy, 0..5);
    assert_eq!(capacity(&policy, at(5, 1)), Some(1), "the forecast is that of the beginning");
    ten(&mut policy, 5..6);
    assert!(capacity(&policy, at(6, 1)) > Some(1));
}

#[test]
fn it_counts_from_the_hour_of_the_clock_in_which_it_begins() {
    let settings = PredictiveScaling { into_hour: Duration::from_secs(40 * 60), ..with_days(3) };
    let policy = Predictive::new(&settings);
    // 07:55 is 7 h 15 min after 00:40.
    assert_eq!(capacity(&policy, at(7, 14)), Some(1));
    assert_eq!(capacity(&policy, at(7, 15)), Some(10));
}

#[test]
fn the_maximum_holds_or_is_raised() {
    let raised = |above_max| {
        let policy = Predictive::new(&PredictiveScaling { above_max, ..with_days(3) });
        policy.needed(at(8, 0)).unwrap().raised_max
    };
    assert_eq!(raised(AboveMax::Honor), None);
    assert_eq!(raised(AboveMax::Increase { percent: 10 }), Some(11));
    let only = PredictiveScaling { mode: Mode::ForecastOnly, ..with_days(3) };
    assert_eq!(Predictive::new(&only).needed(at(8, 0)), None);
}

fn scaler(max: u32, above_max: AboveMax) -> (Scaler, Predictive) {
    let mut settings = ScalerSettings::new(Platform::EC2, 1, max);
    let policy = PredictiveScaling { above_max, ..with_days(3) };
    settings.policies.push(Policy::Predictive(policy.clone()));
    (Scaler::new(settings).unwrap(), Predictive::new(&policy))
}

fn desired(scaler: &mut Scaler, policy: &Predictive, now: Timestamp, desired: u32) -> Option<(u32, Cause)> {
    scaler.foresee(policy.needed(now).map(|needed| (PolicyId(0), needed)));
    let facts = Facts { running: desired, desired, ..Facts::default() };
    let decisions = scaler.step(now, &[], &facts);
    decisions.last().filter(|decision| decision.scaled()).map(|decision| (decision.to, decision.cause))
}

#[test]
fn it_scales_out_to_the_forecast_and_never_in() {
    let (mut scaler, policy) = scaler(20, AboveMax::Honor);
    let cause = Cause::Forecast { load: 1000.0, target: 100.0 };
    let (to, found) = desired(&mut scaler, &policy, at(8, 0), 3).unwrap();
    let Cause::Forecast { load, target } = found else { panic!("{found:?} is not {cause:?}") };
    assert!(to == 10 && (load - 1000.0).abs() < 1.0 && target == 100.0, "{to} {found:?}");
    assert_eq!(desired(&mut scaler, &policy, at(8, 1), 14), None);
    assert_eq!(desired(&mut scaler, &policy, at(20, 0), 10), None, "a reactive policy scales in");
}

#[test]
fn a_forecast_above_the_maximum_is_cut_or_raises_it() {
    let (mut scaler, policy) = scaler(6, AboveMax::Honor);
    assert_eq!(desired(&mut scaler, &policy, at(8, 0), 3).unwrap().0, 6);
    assert_eq!(scaler.bounds(), (6, 6));
    let (mut scaler, policy) = self::scaler(6, AboveMax::Increase { percent: 10 });
    assert_eq!(desired(&mut scaler, &policy, at(8, 0), 3).unwrap().0, 10);
    assert_eq!(scaler.bounds(), (10, 11));
    // At night, the maximum is what it was.
    assert_eq!(desired(&mut scaler, &policy, at(21, 0), 10).unwrap().0, 6);
    assert_eq!(scaler.bounds(), (1, 6));
}

#[test]
fn no_other_policy_scales_in_below_the_forecast() {
    use crate::alarm::{AlarmSettings, Comparison};
    use crate::metric::{Detail, MetricId, Series, SeriesSettings, Statistic};
    use crate::scaling::AlarmId;
    let minute = Duration::from_secs(60);
    let low = AlarmSettings::new(MetricId(0), Statistic::Average, minute, Comparison::LessThan, 50.0);
    let mut settings = ScalerSettings::new(Platform::Application, 1, 20);
    settings.alarms.push(low);
    settings.policies.push(Policy::Step(StepScaling::of(vec![AlarmId(0)], -8)));
    settings.policies.push(Policy::Predictive(with_days(3)));
    let history = settings.history(MetricId(0));
    let mut scaler = Scaler::new(settings).unwrap();
    let policy = Predictive::new(&with_days(3));
    let detail = Detail::Summary;
    let series = SeriesSettings { resolution: minute, history, delay: Duration::ZERO, detail };
    let mut series = [Series::new(series).unwrap()];
    series[0].record(at(9, 0), 10.0);
    let now = at(9, 1);
    scaler.foresee(policy.needed(now).map(|needed| (PolicyId(1), needed)));
    let facts = Facts { running: 12, desired: 12, ..Facts::default() };
    let to = scaler.step(now, &series, &facts).last().unwrap().to;
    assert_eq!(to, 10);
}

#[test]
fn a_scheduled_minimum_above_the_forecast_holds() {
    let mut settings = ScalerSettings::new(Platform::EC2, 1, 20);
    settings.policies.push(Policy::Predictive(with_days(3)));
    settings.scheduled.push(Scheduled { at: at(8, 0), min: Some(15), max: None, desired: None });
    let mut scaler = Scaler::new(settings).unwrap();
    let policy = Predictive::new(&with_days(3));
    assert_eq!(desired(&mut scaler, &policy, at(8, 0), 3).unwrap().0, 15);
}

#[test]
fn what_is_wrong_is_told() {
    let bad = PredictiveScaling {
        target: 0.0,
        buffer: Duration::from_secs(3600),
        above_max: AboveMax::Increase { percent: 101 },
        ..PredictiveScaling::new(Load::Cpu, 1.0)
    };
    let mut found = vec![];
    bad.problems(|problem| found.push(problem.refusal().problem));
    assert_eq!(
        found,
        [
            "`target` is 0, but a target is a finite number above 0",
            "instances are launched 60.0 min before their hour, but a buffer time is below an hour",
            "the maximum is raised by 101 % of a forecast, but at most by 100 %",
        ]
    );
}

#[test]
fn gaps_and_loads_that_are_none_teach_nothing_and_break_nothing() {
    let mut forecaster = Forecaster::new();
    for hour in 0..24 * 7 {
        let odd = match hour % 29 {
            0 => None,
            1 => Some(f64::NAN),
            2 => Some(-5.0),
            _ => Some(load(hour)),
        };
        forecaster.observe(odd);
    }
    for ahead in 1..=MOST_AHEAD {
        let found = forecaster.expect(ahead).unwrap();
        let truth = load(24 * 7 + ahead - 1);
        assert!((found.load / truth - 1.0).abs() < 0.1, "{ahead}: {found:?}, {truth}");
        assert!(found.low <= found.load && found.load <= found.high);
    }
    assert_eq!((forecaster.expect(0), forecaster.expect(MOST_AHEAD + 1)), (None, None));
}

#[test]
fn a_service_without_traffic_is_forecast_without_traffic() {
    let mut forecaster = Forecaster::new();
    (0..200).for_each(|_| forecaster.observe(Some(0.0)));
    let found = forecaster.expect(24).unwrap();
    assert!(found.load < 2.0 && found.low >= 0.0, "{found:?}");
}
